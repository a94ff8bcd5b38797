"""Merging: what other ledgers know becomes part of this one.

Each entry of the other ledger that holds verdicts or spellings becomes an entry here, with its
origin, its id and its hash there. Its verdicts answer for their checks here from then on. Samples,
decisions and rewards stay where they were made: they belong to the runs of their own ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.case import MOST_APART
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.log import SqlLog
from verifier_ladder.ledger.records import Block, Entry, VerdictRow
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.samples import SUPERSEDING

if TYPE_CHECKING:
    from sqlalchemy import Connection

KIND = "merge"
"""Kind of the entries that come from another ledger."""
_PREFIX = "merged/"
"""Begins the campaign of such entries; no campaign can be called so."""
_AT_ONCE = 64


class Merged(NamedTuple):
    """What a merge has brought."""

    entries: int
    """Entries that were taken over."""
    verdicts: int
    """Verdicts in them."""
    known: int
    """Entries that an earlier merge had brought already."""


def merge(ledger: SqlLog, other: SqlLog) -> Merged:
    """Take over what another ledger knows; the other one is not changed.

    A check that has a verdict here keeps it, unless the other ledger holds a correction (a review
    or an import) that is newer. Merging again brings only what has come since.

    Args:
        ledger: The ledger that grows.
        other: The ledger to read.

    Raises:
        ConfigError: If the other ledger is this one, is sealed and this one is not, or holds
            entries of a time that has not come.
    """
    if ledger.origin() == other.origin() != "" or _is_same(ledger, other):
        raise ConfigError(
            f"{other.url} is {ledger.url} or a copy of it: a ledger can't be merged with itself; "
            "name another one"
        )
    if other.is_sealed and not ledger.is_sealed:
        raise ConfigError(
            f"{other.url} is sealed, and what it knows would stand open in the log of "
            f"{ledger.url}; seal this one too, with `vladder ledger seal`"
        )
    _refuse_future(ledger, other)
    mine, origin = ledger.origin(), other.origin() or other.url
    entries = verdicts = known = 0
    for found in _batches(other):
        sealed = ledger.is_sealed
        now = ledger.clock()  # What an entry tells of was known when it was first written.
        drafts = [(entry, Draft(block, max(now, entry.recorded_at))) for entry, block in found]
        with ledger._writing() as connection:  # noqa: SLF001 - several entries at once
            for entry, made in drafts:
                source = _source(entry, made.block, origin)
                if source["origin"] == mine or not _is_new(connection, source, now):
                    known += 1
                    continue
                _fetch(other, made.block)
                _write(connection, entry, made, source, sealed=sealed)
                _let_go(made.block)
                entries += 1
                verdicts += len(made.block.verdicts)
    return Merged(entries, verdicts, known)


def _refuse_future(ledger: SqlLog, other: SqlLog) -> None:
    """Refuse entries that would stand ahead of the clock here for good: no sample is in time then.

    Raises:
        ConfigError: If there are such entries.
    """
    ahead = other.latest()[1] - ledger.clock()
    if ahead > MOST_APART:
        raise ConfigError(
            f"{other.url} holds entries that are {ahead:,.3g} s ahead of the clock of "
            f"{ledger.url}; see to the clocks, and merge once their time has come"
        )


def _fetch(other: SqlLog, block: Block) -> None:
    """Read the bytes of an entry's artifacts from the ledger that it comes from."""
    for row in block.verdicts:
        for artifact in row.verdict.files.values():
            object.__setattr__(artifact, "data", other.artifact(artifact.digest))


def _let_go(block: Block) -> None:
    """Forget these bytes, for they are written, and there may be many such entries."""
    for row in block.verdicts:
        for artifact in row.verdict.files.values():
            artifact.drop()


def _is_same(ledger: SqlLog, other: SqlLog) -> bool:
    """Whether both are one, though nothing was signed for it yet."""
    first, second = (next(log.entries(limit=1), None) for log in (ledger, other))
    return ledger.url == other.url or (first is not None and first == second)


def _batches(other: SqlLog) -> Iterator[list[tuple[Entry, Block]]]:
    """What is worth taking over, a few entries at a time."""
    found: list[tuple[Entry, Block]] = []
    for entry in other.entries():
        block = other.read(entry)
        if block.verdicts or block.candidates:
            found.append((entry, block))
        if len(found) == _AT_ONCE:
            yield found
            found = []
    yield found


def _source(entry: Entry, block: Block, origin: str) -> Mapping[str, Any]:
    """Where an entry was first written: what was merged once keeps its source."""
    if entry.campaign.startswith(_PREFIX):
        return block.facts
    return {
        "origin": origin, "entry": entry.id, "leaf": entry.leaf.hex(), "kind": entry.kind,
        "recorded_at": entry.recorded_at,
    }  # fmt: skip


def _is_new(connection: Connection, source: Mapping[str, Any], now: float) -> bool:
    """Note that an entry comes; False if it has come before, on whatever way."""
    fresh = connection.exec_driver_sql(
        "INSERT INTO inbox (source, event, received_at) VALUES (?, ?, ?) "
        "ON CONFLICT DO NOTHING RETURNING 1",
        (KIND, f"{source['leaf']} {source['kind']}", now),
    ).first()
    return fresh is not None


def _write(
    connection: Connection, entry: Entry, made: Draft, source: Mapping[str, Any], *, sealed: bool
) -> None:
    """Write an entry of another ledger.

    Corrections that are older than what stands here stay apart, for they must not replace it.
    """
    campaign = _PREFIX + entry.campaign.removeprefix(_PREFIX)
    rows = made.block
    block = Block(KIND, campaign, rows.candidates, rows.verdicts, facts=source)
    newer: list[VerdictRow] = []
    if entry.kind in SUPERSEDING:
        standing = _standing(connection, block)
        newer = [
            row for row in block.verdicts if standing.get(row.check_key, -1.0) < entry.recorded_at
        ]
    if newer:
        rest = [row for row in block.verdicts if row not in newer]
        corrections = replace(block, kind=entry.kind, verdicts=newer)
        write(connection, Draft(corrections, made.recorded_at, sealed=sealed))
        block = replace(block, candidates=(), verdicts=rest)
    if block.candidates or block.verdicts:
        write(connection, Draft(block, made.recorded_at, sealed=sealed))


def _standing(connection: Connection, block: Block) -> dict[bytes, float]:
    """When the current verdict of each check was given."""
    dialect = dialect_of(connection)
    keys = {row.check_key for row in block.verdicts}
    rows = connection.exec_driver_sql(
        "SELECT v.check_key, e.recorded_at "
        f"{dialect.matching('verdict', 'v')} JOIN entry e ON e.id = v.entry_id "
        "ORDER BY v.id",
        (dialect.keys(keys),),
    ).all()
    return {bytes(key): at for key, at in rows if bytes(key) in keys}
