"""Checks, without the ledger and without this project, what a ledger has proven.

This one file needs Python 3.11 or newer and the package `cryptography`, nothing else. It reads a
proof (`vladder ledger prove`) or an export (`vladder ledger export --format tiles`):

    python verify.py PROOF.json [--key KEY]
    python verify.py EXPORT_FOLDER [--key KEY] [--checkpoint SAVED.txt]

Exit codes: 0 everything holds, 1 something does not, 2 the files can't be read.

What is proven: these records stood in a log of this size, and the holder of the key has signed
for that log. A key that comes with the proof says only that one party signed all of it; give
`--key` with what the ledger's owner has published. Whoever holds the key can sign another
history: a checkpoint that was saved elsewhere (`--checkpoint`) shows that.

A value that its owner keeps to himself stands in the log as `{"$sealed": …}`, the hash over a
random salt and the value. Shown with its salt it is checked like everything else.

Hashes are those of RFC 6962 (SHA-256; 0x00 before a leaf, 0x01 before two nodes), proofs are
checked as RFC 9162 sections 2.1.3.2 and 2.1.4.2 describe, checkpoints are signed notes and tiles
lie as the C2SP specifications signed-note, tlog-checkpoint and tlog-tiles tell.
"""

from __future__ import annotations

import argparse
import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

PROOF = "verifier-ladder/proof/1"
GROWTH = "verifier-ladder/growth/1"
WIDTH = 256
"""Hashes of a full tile."""
LONGEST = 0xFFFF
"""Bytes of the longest entry that an entry bundle can hold."""
SEALED = "$sealed"
"""Marks a sealed value: `{"$sealed": HASH}` stands in its place."""
SALT = 16
"""Bytes of a salt. Of no other length: its end could be told for the value's beginning."""
_SIZE = 32
_ED25519 = b"\x01"
_TIME = "time "
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)


class RejectedError(Exception):
    """Something is not as the signature says."""


# -- the tree ------------------------------------------------------------------------------------


def leaf_hash(data: bytes) -> bytes:
    """Hash of a leaf."""
    hash_ = sha256(b"\0")
    hash_.update(data)  # Not as one value: the part of an entry may be long, and is there twice.
    return hash_.digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of the node above two."""
    return sha256(b"\1" + left + right).digest()


class Frontier:
    """The roots of the complete subtrees of a tree, largest first: all that appending needs."""

    def __init__(self, size: int = 0, roots: Iterable[bytes] = ()) -> None:
        """Go on with a tree of this size."""
        self.size = size
        self.roots = list(roots)

    def append(self, leaf: bytes) -> None:
        """Add the hash of one leaf."""
        full = self.size
        while full & 1:
            leaf = node_hash(self.roots.pop(), leaf)
            full >>= 1
        self.roots.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """Hash of the whole tree."""
        if not self.roots:
            return sha256().digest()
        *left, root = self.roots
        for other in reversed(left):
            root = node_hash(other, root)
        return root


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Hash of the tree over these hashes of leaves."""
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    return frontier.root()


def root_by_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """The root that an inclusion proof leads to.

    Raises:
        RejectedError: If no tree of this size has such a proof.
    """
    if not 0 <= index < size:
        raise RejectedError(f"a log of {size} entries has no entry {index}")
    last = size - 1
    root = leaf
    for other in path:
        if last == 0:
            raise RejectedError("the inclusion proof is too long")
        if index & 1 or index == last:
            root = node_hash(other, root)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            root = node_hash(root, other)
        index, last = index >> 1, last >> 1
    if last:
        raise RejectedError("the inclusion proof is too short")
    return root


def check_growth(old: Checkpoint, new: Checkpoint, path: Sequence[bytes]) -> None:
    """Check that the newer log begins with the older one.

    Raises:
        RejectedError: If it does not, or the consistency proof does not show it.
    """
    if old.size > new.size:
        raise RejectedError(f"the log has shrunk from {old.size} to {new.size} entries")
    if old.size == new.size:
        if old.root != new.root:
            raise RejectedError(f"two different logs of {new.size} entries have been signed")
        if old.time and new.time:
            check_time(old, new.time)
        return
    if old.size == 0:
        return
    found = _grown(old, new, path)
    if found != (old.root, new.root):
        raise RejectedError(
            f"the log of {new.size} entries does not begin with the {old.size} signed before"
        )


def _grown(old: Checkpoint, new: Checkpoint, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The two roots that a consistency proof leads to."""
    is_complete = old.size & (old.size - 1) == 0
    hashes = [old.root, *path] if is_complete else list(path)
    first, last = old.size - 1, new.size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    if not hashes:
        raise RejectedError("the consistency proof is empty")
    before = after = hashes[0]
    for other in hashes[1:]:
        if last == 0:
            raise RejectedError("the consistency proof is too long")
        if first & 1 or first == last:
            before, after = node_hash(other, before), node_hash(other, after)
            while first and not first & 1:
                first, last = first >> 1, last >> 1
        else:
            after = node_hash(after, other)
        first, last = first >> 1, last >> 1
    if last:
        raise RejectedError("the consistency proof is too short")
    return before, after


# -- signed checkpoints --------------------------------------------------------------------------


class Key(NamedTuple):
    """Who signs: a public key with a name."""

    name: str
    public: bytes

    @property
    def hint(self) -> bytes:
        """The four bytes by which a signature names its key."""
        return sha256(self.name.encode() + b"\n" + _ED25519 + self.public).digest()[:4]

    def __str__(self) -> str:
        """The key as C2SP signed-note writes it."""
        code = b64encode(_ED25519 + self.public).decode()
        return f"{self.name}+{self.hint.hex()}+{code}"

    @classmethod
    def read(cls, text: str) -> Key:
        """Read a key.

        Raises:
            RejectedError: If it is none.
        """
        try:
            name, hint, code = text.strip().split("+", 2)
            data = b64decode(code, validate=True)
        except ValueError:
            raise RejectedError(f"{text!r} is no key of the form NAME+HASH+KEY") from None
        key = cls(name, data[1:])
        if data[:1] != _ED25519 or len(key.public) != _SIZE or key.hint.hex() != hint:
            raise RejectedError(f"{text!r} is no Ed25519 key, or it was copied incompletely")
        return key


class Checkpoint(NamedTuple):
    """A log at one moment: whose it is, how many entries, and the hash over all of them."""

    origin: str
    size: int
    root: bytes
    time: str = ""
    """When its last entry was recorded, as `time_text` writes it; "" where nobody has said."""

    def text(self) -> str:
        """What is signed; the time is an extension line, as tlog-checkpoint allows."""
        told = f"{_TIME}{self.time}\n" if self.time else ""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n{told}"


def time_text(seconds: Any) -> str:
    """A time as checkpoints tell it, in UTC; "" for what is none.

    Example:
        >>> time_text(0.25)
        '1970-01-01T00:00:00.250000+00:00'
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")
    except (TypeError, ValueError, OverflowError, OSError):  # SQLite keeps values of any type.
        return ""


def note(text: str, key: Key, signature: bytes) -> str:
    """A text with its signature below."""
    return f"{text}\n\u2014 {key.name} {b64encode(key.hint + signature).decode()}\n"


def read_checkpoint(signed: str) -> Checkpoint:
    """Read a checkpoint without looking at its signature.

    Raises:
        RejectedError: If it is none.
    """
    try:
        text, _, _ = signed.rpartition("\n\n")
        origin, size, root, *more = text.split("\n")
        times = [line.removeprefix(_TIME) for line in more if line.startswith(_TIME)]
        found = Checkpoint(origin, int(size), b64decode(root, validate=True), "".join(times))
    except (AttributeError, TypeError, ValueError):  # SQLite keeps values of any type.
        raise RejectedError("this is no checkpoint") from None
    whole = signed.endswith("\n")
    if (
        not whole
        or not origin
        or str(found.size) != size
        or found.size < 0
        or len(found.root) != _SIZE
        or len(times) != bool(found.time)  # Of two, readers could each believe another one.
    ):
        raise RejectedError("this is no checkpoint")
    return found


def check_time(checkpoint: Checkpoint, recorded: str) -> None:
    """Compare when a checkpoint says that its last entry was recorded with when that was.

    Args:
        checkpoint: The checkpoint; one of an older version tells no time.
        recorded: The time in the entry's head, as `time_text` writes it.

    Raises:
        RejectedError: If it was another time.
    """
    if checkpoint.time not in {"", recorded}:
        raise RejectedError(
            f"the last of the {checkpoint.size} entries was not recorded at {checkpoint.time}, as "
            "their checkpoint says"
        )


def open_checkpoint(signed: str, keys: Iterable[Key]) -> tuple[Checkpoint, Key]:
    """Read a checkpoint that one of the keys has signed.

    Raises:
        RejectedError: If none has.
    """
    checkpoint = read_checkpoint(signed)
    text, _, lines = signed.rpartition("\n\n")
    signatures = [line.split(" ") for line in lines.split("\n")]
    for key in keys:
        for parts in signatures:
            if parts[:2] == ["\u2014", key.name] and _has_signed(key, text + "\n", parts[-1]):
                return checkpoint, key
    raise RejectedError(
        f"the checkpoint of {checkpoint.size} entries is not signed by the given key, "
        "or was changed"
    )


def _has_signed(key: Key, text: str, code: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        data = b64decode(code, validate=True)
        if data[:4] != key.hint:
            return False
        Ed25519PublicKey.from_public_bytes(key.public).verify(data[4:], text.encode())
    except (ValueError, InvalidSignature):
        return False
    return True


# -- entries -------------------------------------------------------------------------------------


def parts_of(body: bytes) -> tuple[bytes, list[bytes]]:
    """The head of an entry and the parts that hold its records, one a line.

    What opens sealed values comes behind an empty line, and is neither.
    """
    head, *parts = body.split(b"\n")
    return head, parts[: parts.index(b"")] if b"" in parts[:-1] else parts


def logged(body: bytes) -> bytes:
    """What the log holds of an entry: its head and the hash over its parts.

    An entry of the first format is one line without parts, and is logged whole.
    """
    head, parts = parts_of(body)
    if not parts:
        return head
    leaves = list(map(leaf_hash, parts))
    return head + b"\n" + (root_of(leaves) if len(leaves) > 1 else leaves[0])


def recorded_in(body: bytes) -> str:
    """When an entry was recorded, as its head tells; "" where that can't be read."""
    try:
        return time_text(json.loads(parts_of(body)[0])["recorded_at"])
    except _DAMAGE:
        return ""


Opening = tuple[str, str]
"""What opens a sealed value: its salt in hexadecimal digits, and the value as JSON text."""


def seal_hash(salt: bytes, text: str) -> str:
    """The hash that stands in the place of a sealed value."""
    return sha256(b"\2" + salt + text.encode()).hexdigest()


def openings_of(body: bytes) -> list[Opening]:
    """What opens the sealed values of an entry.

    Raises:
        RejectedError: If there is something else behind its parts.
    """
    _, is_there, rest = body.partition(b"\n\n")
    try:
        found = json.loads(rest) if is_there else []
        openings = [(str(salt), str(text)) for salt, text in found]
    except (TypeError, ValueError, RecursionError):
        openings = []
    if is_there and not openings:
        raise RejectedError("what stands behind the parts of the entry opens nothing")
    return openings


def unseal(values: Any, openings: Iterable[Opening]) -> Any:
    """Put values in the place of their seals; those that nothing opens stay sealed.

    Raises:
        RejectedError: If a value or its salt is not what was sealed.
    """
    try:
        known = {seal_hash(_salt(salt), text): json.loads(text) for salt, text in openings}
    except (TypeError, ValueError, RecursionError):
        raise RejectedError("what should open a sealed value can't be read") from None
    used: set[str] = set()
    opened = _unsealed(values, known, used) if known else values
    if len(used) < len(known):
        raise RejectedError("a value that is shown, or its salt, is not what was sealed")
    return opened


def _salt(digits: str) -> bytes:
    salt = bytes.fromhex(digits)
    if len(salt) != SALT or salt.hex() != digits:
        raise ValueError
    return salt


def _unsealed(value: Any, known: dict[str, Any], used: set[str]) -> Any:
    if isinstance(value, list):
        return [_unsealed(v, known, used) if isinstance(v, (list, dict)) else v for v in value]
    if not isinstance(value, dict):
        return value
    if (seal := _seal(value)) in known:
        used.add(seal)
        return known[seal]
    return {name: _unsealed(part, known, used) for name, part in value.items()}


def _seal(value: dict[str, Any]) -> str:
    """The hash in the place of a sealed value; empty for a value that is not sealed."""
    return str(value[SEALED]) if len(value) == 1 and SEALED in value else ""


def check_openings(body: bytes) -> None:
    """Check what opens the sealed values of an entry, if there is anything.

    Raises:
        RejectedError: If a value or its salt is not what was sealed.
    """
    if not (openings := openings_of(body)):
        return
    try:
        parts = [json.loads(part) for part in parts_of(body)[1]]
        text = json.dumps(openings, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        raise RejectedError("the parts of the entry, or what opens them, can't be read") from None
    if text != body.partition(b"\n\n")[2]:
        raise RejectedError("what opens the sealed values of the entry was written anew")
    unseal(parts, openings)


def seals_in(value: Any) -> Iterator[str]:
    """The hashes of all sealed values in a value."""
    if isinstance(value, list):
        for part in value:
            if isinstance(part, (list, dict)):
                yield from seals_in(part)
    elif isinstance(value, dict):
        if seal := _seal(value):
            yield seal
        for part in value.values():
            yield from seals_in(part)


def records_of(part: dict[str, Any], section: str, row: int) -> Iterator[dict[str, Any]]:
    """A record as people read it.

    Args:
        part: One part of an entry.
        section: Which section; for the decisions of one round `decisions.ROUND`.
        row: Which record, counted from the part's first.
    """
    name, _, number = section.partition(".")
    columns = part.get(name)
    for place in columns if isinstance(columns, list) else [columns] if columns else []:
        if row < place["count"] and number in {"", str(place.get("round", 0))}:
            yield {name: _cell(part, place, name, row) for name in place if name != "count"}


def _cell(part: dict[str, Any], place: dict[str, Any], name: str, row: int) -> Any:
    column = place[name]
    if name in {"run", "step", "policy", "reasons", "belief", "prices", "round"}:
        return column
    if name == "checks":
        widths = [_cell(part, place, "widths", at) for at in range(row + 1)]
        first = sum(widths[:-1])
        return [_value(part, column, at) for at in range(first, first + widths[-1])]
    return _value(part, column, row)


def _value(part: dict[str, Any], column: Any, row: int) -> Any:
    if isinstance(column, list):
        return column[row]
    if "keys" in column:
        return column["keys"][2 * _SIZE * row : 2 * _SIZE * (row + 1)]
    if "same" in column:
        section, name = column["same"].split(".")
        return _value(part, part[section][name], row)
    if "names" in column:
        values = [_value(part, other, row) for other in column["columns"]]
        return dict(zip(column["names"], values, strict=True))
    return column["from"] + row if "from" in column else column["all"]


# -- proofs --------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """What was proven."""

    checkpoint: Checkpoint
    key: Key
    head: dict[str, Any]
    """Kind, campaign and time of the entry; empty if no entry was asked about."""
    records: Sequence[dict[str, Any]]
    """The records that the proof is about."""


def check_proof(proof: dict[str, Any], key: Key | None = None) -> Finding:
    """Check a proof.

    Args:
        proof: What `vladder ledger prove` wrote.
        key: Who must have signed; by default the key that lies with the proof.

    Raises:
        RejectedError: If it proves nothing.
    """
    try:
        keys = [key or Key.read(proof["key"])]
        if proof["format"] == GROWTH:
            return _check_growth_proof(proof, keys)
        if proof["format"] != PROOF:
            raise RejectedError(f"unknown form of proof: {proof['format']!r}")
        checkpoint, signer = open_checkpoint(proof["checkpoint"], keys)
        head, data, records = _shown(proof)
        root = root_by_path(
            leaf_hash(data), proof["index"], checkpoint.size, _hashes(proof["path"])
        )
        if root != checkpoint.root:
            raise RejectedError("the entry is not the one that stands in the log at this place")
        if proof["index"] == checkpoint.size - 1:
            check_time(checkpoint, time_text(head.get("recorded_at")))
        return Finding(checkpoint, signer, head, records)
    except _DAMAGE as error:
        raise RejectedError(f"the proof is damaged: {error!r}") from error


def _check_growth_proof(proof: dict[str, Any], keys: Sequence[Key]) -> Finding:
    old, _ = open_checkpoint(proof["old"], keys)
    new, signer = open_checkpoint(proof["new"], keys)
    check_growth(old, new, _hashes(proof["path"]))
    return Finding(new, signer, {}, [])


def _shown(proof: dict[str, Any]) -> tuple[dict[str, Any], bytes, list[dict[str, Any]]]:
    """Head, logged bytes and records of the entry that a proof shows, whole or in part."""
    if "body" in proof:
        body = proof["body"].encode()
        first, lines = parts_of(body)
        shown = unseal([json.loads(line) for line in lines], openings_of(body))
        return json.loads(first), logged(body), shown
    head = json.loads(proof["head"])
    root = bytes.fromhex(proof["root"])
    parts = {}
    for shown in proof["parts"]:
        leaf = leaf_hash(shown["text"].encode())
        at = shown["index"]
        if root_by_path(leaf, at, head["parts"], _hashes(shown["path"])) != root:
            raise RejectedError(f"part {at} is not the one that the entry was made of")
        parts[at] = json.loads(shown["text"])
    records = [
        {"section": section, "row": row, **found}
        for section, row in proof["records"]
        for found in records_of(parts[row // head["rows"]], section, row % head["rows"])
    ]
    if proof["records"] and not records:
        raise RejectedError("the entry has no such record")
    records = unseal(records, proof.get("openings", ()))
    return head, proof["head"].encode() + b"\n" + root, records


def _hashes(texts: Iterable[str]) -> list[bytes]:
    hashes = [bytes.fromhex(text) for text in texts]
    if any(len(found) != _SIZE for found in hashes):
        raise RejectedError("a hash in the proof has the wrong length")
    return hashes


# -- exports -------------------------------------------------------------------------------------


def tile_path(level: int | str, index: int, width: int = WIDTH) -> str:
    """Where a tile lies in an export, as C2SP tlog-tiles tells.

    Example:
        >>> tile_path(0, 1234067, 5)
        'tile/0/x001/x234/067.p/5'
    """
    digits = f"{index:03d}"
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    place = "/".join([f"x{group}" for group in groups[:-1]] + groups[-1:])
    return f"tile/{level}/{place}" + (f".p/{width}" if width < WIDTH else "")


def check_export(
    folder: Path, key: Key | None = None, saved: str | None = None
) -> tuple[Checkpoint, Key]:
    """Check every byte of an export against its checkpoint.

    Args:
        folder: What `vladder ledger export --format tiles` wrote.
        key: Who must have signed; by default the key that lies with the export.
        saved: A checkpoint that was kept elsewhere and must be of the same log.

    Raises:
        RejectedError: If anything differs.
    """
    known = [Key.read(line) for line in (folder / "keys").read_text("utf-8").splitlines()]
    signed = (folder / "checkpoint").read_text("utf-8")
    checkpoint, signer = open_checkpoint(signed, [key] if key else known)
    older = open_checkpoint(saved, [key] if key else known)[0] if saved else checkpoint
    if older.size > checkpoint.size:
        raise RejectedError(f"the log has shrunk from {older.size} to {checkpoint.size} entries")
    log, time = Frontier(), ""
    roots = []
    for first in range(0, checkpoint.size, WIDTH):
        width = min(WIDTH, checkpoint.size - first)
        entries = _bundle(folder, first // WIDTH, width)
        for leaf, time in entries:
            log.append(leaf)
            if log.size == older.size:
                _compare(older, log, time)
        if width == WIDTH:
            roots.append(root_of(leaf for leaf, _ in entries))
    _check_upper_tiles(folder, roots)
    _compare(checkpoint, log, time)
    return checkpoint, signer


def _compare(checkpoint: Checkpoint, log: Frontier, time: str) -> None:
    """Compare a checkpoint with the entries before it, the last of which is of this time."""
    if log.root() != checkpoint.root:
        raise RejectedError(f"the first {checkpoint.size} entries are not those that were signed")
    check_time(checkpoint, time)


def artifact_path(digest: str) -> str:
    """Where the bytes of an artifact lie in an export.

    Example:
        >>> artifact_path("ab" * 32)[:15]
        'artifacts/ab/ab'
    """
    return f"artifacts/{digest[:2]}/{digest}"


def check_artifacts(folder: Path) -> tuple[int, int]:
    """Compare the artifacts of an export with the digests that its entries hold.

    Returns:
        How many are there, and how many that entries name are not.

    Raises:
        RejectedError: If one is not what its digest says, or no entry names it.
    """
    named = set(_artifacts_named(folder))
    found = {path.name: path for path in (folder / "artifacts").rglob("*") if path.is_file()}
    for digest, path in found.items():
        hashed = sha256()
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                hashed.update(part)
        if hashed.hexdigest() != digest:
            raise RejectedError(f"artifact {digest} was changed")
        if digest not in named:
            raise RejectedError(f"artifact {digest} is named by no entry")
    return len(found), len(named - found.keys())


def _artifacts_named(folder: Path) -> Iterator[str]:
    """The digests of artifacts that entries say are kept; those that are sealed are not told."""
    for path in sorted((folder / "tile" / "records").rglob("*")):
        if not path.is_file():
            continue
        with path.open("rb") as file:
            while file.tell() < path.stat().st_size:
                body = _framed(file, 8)
                for part in parts_of(body)[1]:
                    if b'"artifacts":' in part:
                        yield from _digests(unseal(json.loads(part), openings_of(body)))


def _digests(part: dict[str, Any]) -> Iterator[str]:
    column = part.get("verdicts", {}).get("artifacts", [])
    for named in column.values() if isinstance(column, dict) else column:
        for told in named.values():
            if isinstance(told, list) and not told[3]:
                yield told[0]


def _check_upper_tiles(folder: Path, roots: list[bytes]) -> None:
    """Compare the tiles above level 0 with the roots of the full tiles below them."""
    level = 1
    while roots:
        parts = [roots[first : first + WIDTH] for first in range(0, len(roots), WIDTH)]
        for index, part in enumerate(parts):
            if (folder / tile_path(level, index, len(part))).read_bytes() != b"".join(part):
                raise RejectedError(f"tile {index} of level {level} is not made of those below")
        roots = [root_of(part) for part in parts if len(part) == WIDTH]
        level += 1


def _bundle(folder: Path, index: int, width: int) -> list[tuple[bytes, str]]:
    """Hash and time of each entry below one tile; bodies, bundle and tile must agree."""
    tile = (folder / tile_path(0, index, width)).read_bytes()
    found = []
    with (
        (folder / tile_path("entries", index, width)).open("rb") as entries,
        (folder / tile_path("records", index, width)).open("rb") as bodies,
    ):
        for _ in range(width):
            body = _framed(bodies, 8)
            check_openings(body)
            data = logged(body)
            if _framed(entries, 2) != (data if len(data) <= LONGEST else b""):
                raise RejectedError(f"bundle {index}: an entry differs from its records")
            found.append((leaf_hash(data), recorded_in(body)))
        if entries.read(1) or bodies.read(1):
            raise RejectedError(f"bundle {index} holds more than {width} entries")
    if b"".join(leaf for leaf, _ in found) != tile:
        raise RejectedError(f"tile {index} is not made of its entries")
    return found


def _framed(file: BinaryIO, width: int) -> bytes:
    """Read bytes that their length stands before."""
    head = file.read(width)
    length = int.from_bytes(head, "big")
    if len(head) != width or length > Path(file.name).stat().st_size - file.tell():
        raise RejectedError(f"{file.name} ends too early")
    return file.read(length)


# -- the command ---------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a file or a folder; returns the exit code."""
    parser = argparse.ArgumentParser(description="Check what a ledger has proven.")
    parser.add_argument("path", type=Path, help="a proof, or the folder of an export")
    parser.add_argument("--key", help="who must have signed: NAME+HASH+KEY")
    parser.add_argument("--checkpoint", type=Path, help="saved earlier; must be of the same log")
    options = parser.parse_args(arguments)
    try:
        for line in _told(options.path, options.key, options.checkpoint):
            print(_plain(line))  # noqa: T201 - a command
    except RejectedError as error:
        print(_plain(f"REJECTED: {error}"), file=sys.stderr)  # noqa: T201
        return 1
    except (OSError, ValueError) as error:
        print(_plain(f"can't be read: {error}"), file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _plain(text: str) -> str:
    """One line in which a terminal finds nothing to obey: names come from whoever signed."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _told(path: Path, given: str | None, saved: Path | None) -> list[str]:
    key = Key.read(given) if given else None
    if path.is_dir():
        text = saved.read_text("utf-8") if saved else None
        checkpoint, signer = check_export(path, key, text)
        lines = [f"{checkpoint.size} entries are those of the checkpoint"]
        kept, missing = check_artifacts(path)
        if kept or missing:
            lines.append(f"{kept} artifacts are what the entries say, {missing} are not here")
    else:
        found = check_proof(json.loads(path.read_text("utf-8")), key)
        checkpoint, signer = found.checkpoint, found.key
        lines = [json.dumps(found.head)] if found.head else []
        lines += [json.dumps(record) for record in found.records]
    trust = "as asked" if key else "the key that lies beside it; compare it with a published one"
    until = f", the last of {checkpoint.time}" if checkpoint.time else ""
    lines.append(f"checkpoint of {checkpoint.size} entries{until}")
    return [*lines, f"log {checkpoint.origin}, signed by {signer} ({trust})", "OK"]


if __name__ == "__main__":
    raise SystemExit(main())
