"""Proofs: files that show somebody else that a record stands in a ledger.

`offline` checks them. A proof of an entry shows all its records; a proof of single records shows
only the parts in which they lie, with the hashes of the others. Sealed values stay sealed, but
for those that are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import orjson

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.log import SqlLog
from verifier_ladder.ledger.offline import (
    GROWTH,
    PROOF,
    Opening,
    RejectedError,
    check_growth,
    check_openings,
    check_time,
    leaf_hash,
    open_checkpoint,
    parts_of,
    read_checkpoint,
    recorded_in,
    records_of,
    root_of,
)
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sealing import openings_for, revealing
from verifier_ladder.ledger.tree import consistency, inclusion, nodes_of

Record = tuple[str, int]
"""A record of an entry: its section and its row, such as `("verdicts", 17)`.

Sections are candidates, verdicts, samples, rewards, and for each round `decisions.ROUND`.
"""


def prove(
    log: SqlLog,
    entry: int,
    records: Sequence[Record] = (),
    *,
    reveal: Collection[str] = (),
    under: str | None = None,
) -> dict[str, Any]:
    """Prove that an entry, or some of its records, stand in the log.

    Args:
        log: The ledger; entries that wait for their place get it first.
        entry: Id of the entry.
        records: Those to show; the whole entry if there are none.
        reveal: Which sealed values of them to show, from `sealing.NAMES`.
        under: A checkpoint that was published; the newest one if left out.

    Returns:
        JSON values, for `offline.check_proof` and the stand-alone verifier.

    Raises:
        ConfigError: If there is no such entry or record, or it came after that checkpoint.
        RejectedError: If the entry, or what opens its sealed values, was changed; or if the log
            is not a sequel of that checkpoint.
    """
    signed, newest = log.signed()
    place = log.place(entry)
    if place is None or place >= newest.size:
        raise ConfigError(f"the ledger has no entry {entry}; `vladder ledger ls` lists them")
    size = newest.size
    if under is not None:
        prove_growth(log, under)
        signed, size = under, read_checkpoint(under).size
        if place >= size:
            raise ConfigError(
                f"entry {entry} stands at place {place} of the log, and the checkpoint covers "
                f"{size}: it came later"
            )
    (leaf,) = log.leaves(after=place - 1, until=place + 1)
    proof = {
        "format": PROOF, "checkpoint": signed, "key": str(_signer(log, signed)), "index": place,
        "path": _texts(inclusion(log.tiles(size).node, place, size)),
    }  # fmt: skip
    body = leaf.entry.body
    if not isinstance(body, bytes):  # SQLite keeps values of any type.
        raise RejectedError(f"entry {entry} was changed: it holds no bytes")
    check_openings(body)
    if not records:
        return {**proof, "body": revealing(body, reveal).decode()}
    return {**proof, **_shown(body, records), **_opened(body, records, reveal)}


def prove_growth(log: SqlLog, older: str) -> dict[str, Any]:
    """Prove that the log begins with what an older checkpoint was signed for.

    Raises:
        RejectedError: If it does not, or the older checkpoint tells another time than the entry
            that was its last.
    """
    signed, new = log.signed()
    old = read_checkpoint(older)
    path: list[bytes] = []
    if old.size < new.size:
        path = consistency(log.tiles(new.size).node, old.size, new.size)
    check_growth(old, new, path)
    last = log.leaves(after=old.size - 2, until=old.size)
    check_time(old, "".join(recorded_in(leaf.entry.body) for leaf in last))
    key = str(_signer(log, signed))
    return {"format": GROWTH, "old": older, "new": signed, "key": key, "path": _texts(path)}


def _signer(log: SqlLog, signed: str) -> Any:
    return open_checkpoint(signed, log.signers())[1]


def _shown(body: bytes, records: Sequence[Record]) -> dict[str, Any]:
    """The head of an entry and the parts that hold these records, each with its path."""
    head, parts = parts_of(body)
    if not parts:
        raise ConfigError(
            "this entry was written before records could be shown one by one; prove it whole"
        )
    known = orjson.loads(head)
    for section, row in records:
        if not 0 <= row < _count(known["counts"], section):
            raise ConfigError(f"the entry has no record {section}:{row}; it has {known['counts']}")
    leaves = [leaf_hash(part) for part in parts]
    node = nodes_of(leaves)
    return {
        "head": head.decode(), "root": root_of(leaves).hex(), "records": [*map(list, records)],
        "parts": [
            {
                "index": at, "text": parts[at].decode(),
                "path": _texts(inclusion(node, at, len(parts))),
            }
            for at in sorted({row // known["rows"] for _, row in records})
        ],
    }  # fmt: skip


def _opened(
    body: bytes, records: Sequence[Record], names: Collection[str]
) -> dict[str, list[Opening]]:
    """What opens sealed values of these records, if there is something to open."""
    head, parts = parts_of(body)
    rows = orjson.loads(head)["rows"]
    found = [
        {"section": section, **record}
        for section, row in records
        for record in records_of(orjson.loads(parts[row // rows]), section, row % rows)
    ]
    openings = openings_for(body, names, found)
    return {"openings": openings} if openings else {}


def _count(counts: dict[str, Any], section: str) -> int:
    """How many records a section has; the decisions of each round are a section."""
    name, _, number = section.partition(".")
    count = counts.get(name, 0)
    if not isinstance(count, list):
        return int(count)
    return int(count[int(number)]) if number.isdecimal() and int(number) < len(count) else 0


def _texts(hashes: Iterable[bytes]) -> list[str]:
    return [found.hex() for found in hashes]


def find_records(
    log: SqlLog, entry: int, *, check: str | None = None, position: int | None = None
) -> list[Record]:
    """The records of an entry that are about a check, or about the sample at a position.

    Args:
        log: The ledger.
        entry: Id of the entry.
        check: The first digits of the check key.
        position: Position of the sample: the sample itself, its reward and its decisions.

    Raises:
        ConfigError: If the entry has none.
    """
    if check is None and position is None:
        return []
    found = next(log.entries(after=entry - 1, limit=1), None)
    if found is None or found.id != entry:
        raise ConfigError(f"the ledger has no entry {entry}; `vladder ledger ls` lists them")
    block = log.read(found)
    records = [
        ("verdicts", row)
        for row, verdict in enumerate(block.verdicts)
        if check is not None and verdict.check_key.hex().startswith(check.lower())
    ]
    if position is not None and block.samples is not None:
        records += _of_sample(block, listed(block.samples.positions), position)
    if not records:
        of = f"the check {check}" if check else "a sample at this position"
        raise ConfigError(f"entry {entry} has no record of {of}; leave it out to prove all of it")
    return records


def _of_sample(block: Block, positions: Sequence[int], position: int) -> Iterator[Record]:
    for row, other in enumerate(positions):
        if other == position:
            yield "samples", row
            if block.rewards:
                yield "rewards", row
            for number, columns in enumerate(block.decisions):
                for place, sample in enumerate(listed(columns.sample)):
                    if sample == row:
                        yield f"decisions.{number}", place
