"""Encoding: a block of records as the bytes that an entry stores, and back.

The body is lines of JSON. The first is the head: kind, campaign, time, how many records of each
section there are. Each further line is a part: `rows` records of every section (see `sections`),
the first part the first ones, and so on; facts, if there are any, are the last part. The entry's
leaf in the log covers the head and a hash over the parts, so that one part, and the records in
it, can be shown without the others. Entries of format 1 are one line with all sections; those of
format 3 are sealed (see `sealing`), and what opens them stands behind an empty line.

Numbers keep every bit; text keeps every character.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from verifier_ladder.errors import ConfigError, LedgerError, VerifierError
from verifier_ladder.ledger.columns import KeyColumns
from verifier_ladder.ledger.facts import check_facts
from verifier_ladder.ledger.offline import (
    RejectedError,
    leaf_hash,
    logged,
    openings_of,
    parts_of,
    seals_in,
    unseal,
)
from verifier_ladder.ledger.records import Block, DecisionColumns, SampleColumns
from verifier_ladder.ledger.sealing import Seal
from verifier_ladder.ledger.sections import (
    Columns,
    cut,
    join_decisions,
    join_samples,
    pack_candidates,
    pack_decisions,
    pack_rewards,
    pack_samples,
    pack_verdicts,
    unpack_candidates,
    unpack_decisions,
    unpack_rewards,
    unpack_samples,
    unpack_verdicts,
    verdict_columns,
)
from verifier_ladder.ledger.values import pack, unpack
from verifier_ladder.text import printable

FORMAT = 2
ROWS = 128
"""Records of a section that one part holds: what a proof of one record shows."""
_FIRST_FORMAT = 1
_SEALED_FORMAT = 3
_MOST_RECORDS = 2**20
"""Records of an entry of the first format, which is not cut: more than anybody submits at once."""
_SECTIONS = ("candidates", "verdicts", "samples", "decisions", "rewards")
DAMAGE = (
    KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, OverflowError,
    VerifierError, ConfigError,
)  # fmt: skip
"""What reading damaged JSON ends in."""


@contextmanager
def reading(entry: int, what: str = "it") -> Iterator[None]:
    """Have an entry named in the error that reading it ends in, if it is damaged or forged.

    Args:
        entry: Its number.
        what: What of it is read.

    Raises:
        LedgerError: Instead of whatever else that ends in.
    """
    try:
        yield
    except DAMAGE as error:
        raise LedgerError(
            f"entry {entry} of the ledger is damaged: {what} can't be read "
            f"({printable(repr(error), 500)}). Run `vladder ledger verify`, and restore a backup"
        ) from error


def leaf(body: bytes) -> bytes:
    """Hash of an entry's exact bytes, as a leaf of the log's tree (RFC 6962)."""
    return leaf_hash(logged(body))


def encode(
    block: Block, recorded_at: float, verdicts: Columns | None = None, *, sealed: bool = False
) -> bytes:
    """Write a block as the body of an entry.

    Args:
        block: The records.
        recorded_at: Seconds since 1970; stored, so that the hash covers it.
        verdicts: `verdict_columns` of the block's verdicts, if they are made already.
        sealed: Whether the log is to hold only hashes of what candidates hold and verifiers say.

    Raises:
        LedgerError: If columns that belong together differ in length.
    """
    sections = _sections(block, verdicts)
    seal = Seal(block.kind) if sealed else None
    parts = [orjson.dumps(seal.part(part) if seal else part) for part in _parts(sections)]
    if block.facts:
        facts = pack(block.facts)
        parts.append(orjson.dumps({"facts": seal.facts(facts) if seal else facts}))
    openings = [b"", orjson.dumps(seal.openings)] if seal and seal.openings else []
    head = {
        "format": _SEALED_FORMAT if openings else FORMAT, "kind": block.kind,
        "campaign": pack(block.campaign),
        "recorded_at": recorded_at, "counts": {n: _counts(s) for n, s in sections.items()},
        "rows": ROWS, "parts": len(parts),
    }  # fmt: skip
    return b"\n".join([orjson.dumps(head), *parts, *openings])


def _sections(block: Block, verdicts: Columns | None) -> dict[str, Any]:
    """What there is to write; of decisions one section a round."""
    keys = KeyColumns()
    sections: dict[str, Any] = {}
    if block.candidates:
        sections["candidates"] = pack_candidates(block.candidates, keys)
    if block.verdicts:
        sections["verdicts"] = pack_verdicts(verdicts or verdict_columns(block.verdicts), keys)
    if block.samples is not None:
        sections["samples"] = pack_samples(block.samples, keys)
    if block.decisions:
        rounds = enumerate(block.decisions)
        sections["decisions"] = [{"round": n, **pack_decisions(columns)} for n, columns in rounds]
    if block.rewards:
        sections["rewards"] = pack_rewards(block.rewards)
    return sections


def _counts(section: Any) -> Any:
    return [_counts(s) for s in section] if isinstance(section, list) else section["count"]


def _parts(sections: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Cut sections into parts, first to last."""
    flat = [s for section in sections.values() for s in _listed(section)]
    longest = max((section["count"] for section in flat), default=0)
    # The first part keeps sections without rows too: they have run, step, policy and reasons.
    for first in range(0, max(longest, 1 if flat else 0), ROWS):
        part: dict[str, Any] = {}
        for name, section in sections.items():
            cuts = [
                cut(s, first, first + ROWS)
                for s in _listed(section)
                if first == 0 or first < s["count"]
            ]
            if cuts:
                part[name] = cuts if isinstance(section, list) else cuts[0]
        yield part


def _listed(section: Any) -> list[Any]:
    return section if isinstance(section, list) else [section]


def decode(body: bytes) -> Block:
    """Read the body of an entry.

    What it takes is bounded by the bytes of the body, whoever has written it.

    Raises:
        LedgerError: If the body is damaged, or of a format this version does not know.
    """
    try:
        head = orjson.loads(parts_of(body)[0])
        form = head["format"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise LedgerError(f"an entry of the ledger is damaged: {error}") from error
    if form not in [_FIRST_FORMAT, FORMAT, _SEALED_FORMAT]:
        raise LedgerError(
            f"an entry has format {form}; this version reads formats up to {_SEALED_FORMAT}: "
            "upgrade verifier-ladder"
        )
    try:
        return _block(head, _read(body))
    except DAMAGE as error:
        raise LedgerError(f"an entry of the ledger is damaged: {error!r}") from error


def _read(body: bytes) -> list[dict[str, Any]]:
    """The parts of an entry; one of the first format is its own only part."""
    first, lines = parts_of(body)
    head, parts = orjson.loads(first), list(map(orjson.loads, lines))
    is_first = head["format"] == _FIRST_FORMAT
    _check_counts([head] if is_first else parts, is_cut=not is_first)
    if is_first:
        return [head]
    if len(parts) != head["parts"]:
        raise ValueError(f"it has {len(parts)} parts instead of {head['parts']}")
    return _opened(parts, body) if head["format"] == _SEALED_FORMAT else parts


def _check_counts(parts: Sequence[Mapping[str, Any]], *, is_cut: bool) -> None:
    """Refuse numbers of records that no program writes: a column may be one value, so many times.

    Raises:
        ValueError: If there are such.
    """
    counts = [
        section["count"]
        for part in parts
        for name in part.keys() & _SECTIONS
        for section in _listed(part[name])
    ]
    if any(type(count) is not int or count < 0 for count in counts):
        raise ValueError("its records are not counted")
    if max(counts, default=0) > ROWS if is_cut else sum(counts) > _MOST_RECORDS:
        raise ValueError(f"no program writes {max(counts):,} records together")


def lines_of(body: bytes) -> list[dict[str, Any]]:
    """The head of an entry and its parts, with what was sealed where it belongs."""
    head, parts = parts_of(body)
    return [orjson.loads(head), *(_read(body) if parts else [])]


def _opened(parts: list[dict[str, Any]], body: bytes) -> list[dict[str, Any]]:
    try:
        opened: list[dict[str, Any]] = unseal(parts, openings_of(body))
    except RejectedError as error:
        raise ValueError(error) from error
    if next(seals_in(opened), None) is not None:
        raise ValueError("what opens its sealed values was taken out")
    return opened


def _block(head: dict[str, Any], parts: Sequence[dict[str, Any]]) -> Block:
    block = Block(head["kind"], unpack(head["campaign"]))
    candidates, verdicts, rewards = [], [], []
    samples: list[SampleColumns] = []
    rounds: dict[int, list[DecisionColumns]] = {}
    for part in parts:
        keys = KeyColumns()
        if "candidates" in part:
            candidates += unpack_candidates(part["candidates"], keys)
        if "verdicts" in part:
            verdicts += unpack_verdicts(part["verdicts"], keys)
        if "samples" in part:
            samples.append(unpack_samples(part["samples"], keys))
        for number, section in enumerate(part.get("decisions", ())):
            columns = unpack_decisions(section)
            rounds.setdefault(section.get("round", number), []).append(columns)
        if "rewards" in part:
            rewards += unpack_rewards(part["rewards"])
        if "facts" in part:
            block.facts = unpack(part["facts"])
    block.candidates, block.verdicts, block.rewards = candidates, verdicts, rewards
    check_facts(block.kind, block.facts)
    block.samples = join_samples(samples) if samples else None
    block.decisions = [join_decisions(rounds[number]) for number in sorted(rounds)]
    return block


def holds(body: bytes, *sections: str) -> bool:
    """Whether an entry has records of one of these sections, by what its head counts.

    One whose head counts nothing, such as a damaged one, may have them.

    Args:
        body: The body of the entry.
        sections: Such as `"verdicts"`.
    """
    try:
        counts = orjson.loads(body.partition(b"\n")[0])["counts"]
        return any(name in counts for name in sections)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return True


def mentioned(body: bytes) -> dict[bytes, int]:
    """The content keys that an entry mentions.

    Returns:
        For each key its first place among the entry's candidates, -1 if it is not one of them.
    """
    found: dict[bytes, int] = {}
    others: list[bytes] = []
    place = 0
    for part in _read(body):
        keys = KeyColumns()
        for key in _candidate_keys(part.get("candidates"), keys):
            found.setdefault(key, place)
            place += 1
        others += _other_keys(part, keys)
    for key in others:
        found.setdefault(key, -1)
    return found


def _candidate_keys(section: Mapping[str, Any] | None, keys: KeyColumns) -> Sequence[bytes]:
    if section is None:
        return ()
    columns = {
        name: keys.unpack(f"candidates.{name}", section[name], section["count"])
        for name in ("raw_key", "content_key", "canonicaliser")
    }
    return columns["content_key"]


def _other_keys(part: Mapping[str, Any], keys: KeyColumns) -> Iterator[bytes]:
    if verdicts := part.get("verdicts"):
        keys.unpack("verdicts.check_key", verdicts["check_key"], verdicts["count"])
        yield from keys.unpack("verdicts.content_key", verdicts["content_key"], verdicts["count"])
    if samples := part.get("samples"):
        yield from keys.unpack("samples.contents", samples["contents"], samples["count"])
