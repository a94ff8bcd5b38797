"""Index rows: what a block leaves in the tables beside its entry."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.encoding import encode, leaf, verdict_columns
from verifier_ladder.ledger.records import Block, CandidateRow, SampleColumns, VerdictRow
from verifier_ladder.ledger.samples import IDENTITY, SUPERSEDING, contiguous
from verifier_ladder.ledger.store import keys_json, prefixes
from verifier_ladder.ledger.values import dumps
from verifier_ladder.ledger.verdicts import OUTCOME_CODES, pack_verdict, plain_flags

if TYPE_CHECKING:
    from sqlalchemy import Connection

_first = itemgetter(0)


class Draft(NamedTuple):
    """A block made ready to be written; making it needs no lock."""

    block: Block
    recorded_at: float
    body: bytes
    verdicts: dict[str, Sequence[Any]] | None


def draft(block: Block, now: float | None = None) -> Draft:
    """Encode a block."""
    now = time.time() if now is None else now
    columns = verdict_columns(block.verdicts) if block.verdicts else None
    return Draft(block, now, encode(block, now, columns), columns)


def write(connection: Connection, draft: Draft) -> int:
    """Write an entry and its index rows inside a running transaction; return its id."""
    block = draft.block
    entry = connection.exec_driver_sql(
        "INSERT INTO entry (kind, campaign, recorded_at, leaf, body) VALUES (?, ?, ?, ?, ?)",
        (block.kind, block.campaign, draft.recorded_at, leaf(draft.body), draft.body),
    ).lastrowid
    if block.candidates:
        _write_aliases(connection, block.candidates)
    if draft.verdicts is not None:
        _write_verdicts(connection, draft, draft.verdicts, entry)
    if block.samples is not None:
        _write_spans(connection, block.campaign, block.samples, entry)
    return entry


# -- aliases -------------------------------------------------------------------------------------


def _write_aliases(connection: Connection, rows: Sequence[CandidateRow]) -> None:
    kept = [
        row for row in rows
        if row.canonicaliser != IDENTITY and (row.verdict is None or row.verdict.is_answer)
    ]  # fmt: skip
    if not kept:
        return
    ids = {key: canonicaliser_id(connection, key) for key in {row.canonicaliser for row in kept}}
    keys = prefixes([row.raw_key for row in kept])
    connection.exec_driver_sql(
        "INSERT INTO alias (key, raw_key, canonicaliser, content_key, canonical, detail) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        sorted(map(_alias_row, keys, kept, repeat(ids)), key=_first),
    )


def _alias_row(key: int, row: CandidateRow, ids: Mapping[bytes, int]) -> tuple[Any, ...]:
    canonical, detail = row.canonical, None
    if row.verdict is not None or not _is_text(canonical):
        verdict = None if row.verdict is None else pack_verdict(row.verdict)
        canonical, detail = None, dumps({"canonical": canonical, "verdict": verdict})
    return key, row.raw_key, ids[row.canonicaliser], row.content_key, canonical, detail


def _is_text(value: str | bytes | None) -> bool:
    """Whether a column gives the value back as it is; lone surrogates are no text to SQLite."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    return True


def canonicaliser_id(connection: Connection, digest: bytes) -> int:
    """Number of a canonicaliser, given when it is first seen."""
    connection.exec_driver_sql(
        "INSERT INTO canonicaliser (digest) VALUES (?) ON CONFLICT DO NOTHING", (digest,)
    )
    found = connection.exec_driver_sql("SELECT id FROM canonicaliser WHERE digest = ?", (digest,))
    return int(found.scalar_one())


# -- verdicts ------------------------------------------------------------------------------------

_VERDICT = (
    "INSERT INTO verdict (key, check_key, verifier, outcome, score, uncertainty, seconds, detail, "
    "entry_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_NEWER_VERDICT = (
    "INSERT INTO verdict (key, check_key, verifier, outcome, score, uncertainty, seconds, detail, "
    "entry_id, supersedes) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
    "(SELECT max(id) FROM verdict WHERE key = ?1 AND check_key = ?2)"
)


def _write_verdicts(
    connection: Connection, draft: Draft, columns: dict[str, Sequence[Any]], entry: int
) -> None:
    rows = draft.block.verdicts
    if any(columns["failed_at"]):
        rows = [row for row in rows if row.verdict.is_answer]
        if not rows:
            return
        columns = verdict_columns(rows)
    if draft.block.kind in SUPERSEDING:
        values = sorted(_verdict_rows(connection, rows, columns, entry), key=_first)
        connection.exec_driver_sql(_NEWER_VERDICT, values)
        return
    known = _known(connection, columns["check_key"])
    values = list(_verdict_rows(connection, rows, columns, entry))
    if known or len(set(columns["check_key"])) < len(values):
        fresh = {row[1]: row for row in reversed(values) if row[1] not in known}
        values = list(fresh.values())
    if values:
        values.sort(key=_first)  # In the order of the index, neighbours share a page.
        connection.exec_driver_sql(_VERDICT, values)


def _known(connection: Connection, check_keys: Sequence[bytes]) -> set[bytes]:
    """Those of the checks that have a current verdict.

    Asked in one query: `INSERT … WHERE NOT EXISTS` would take twice the time of the insert.
    """
    rows = connection.exec_driver_sql(
        "SELECT v.check_key FROM json_each(?) j CROSS JOIN verdict v ON v.key = j.value",
        (keys_json(check_keys),),
    )
    return {key for (key,) in rows}


def _verdict_rows(
    connection: Connection,
    rows: Sequence[VerdictRow],
    columns: dict[str, Sequence[Any]],
    entry: int,
) -> Iterator[tuple[Any, ...]]:
    details: Iterable[bytes | None] = repeat(None)
    flags = plain_flags(columns)
    if flags is not None:
        details = [
            None if plain else dumps(pack_verdict(row.verdict))
            for plain, row in zip(flags, rows, strict=True)
        ]
    keys = columns["check_key"]
    # Repeated values have no length of their own, so this zip can't be strict.
    return zip(
        prefixes(keys), keys, _verifier_ids(connection, columns),
        map(OUTCOME_CODES.__getitem__, columns["outcome"]), columns["score"],
        columns["uncertainty"], _seconds(columns["cost"]), details, repeat(entry),
    )  # fmt: skip


def _seconds(costs: Sequence[Cost | None]) -> Iterable[float | None]:
    if costs.count(None) == len(costs):
        return repeat(None)
    return [None if cost is None else float(cost.seconds) for cost in costs]


def _verifier_ids(connection: Connection, columns: dict[str, Sequence[Any]]) -> Iterable[int]:
    parts = [columns[name] for name in ("verifier", "version", "tier", "unit")]
    if all(part.count(part[0]) == len(part) for part in parts):
        return repeat(_verifier_id(connection, tuple(part[0] for part in parts)))
    named = list(zip(*parts, strict=True))
    ids = {name: _verifier_id(connection, name) for name in set(named)}
    return [ids[name] for name in named]


def _verifier_id(connection: Connection, name: tuple[Any, ...]) -> int:
    values = (name[0], name[1], int(name[2]), name[3])
    connection.exec_driver_sql(
        "INSERT INTO verifier (name, version, tier, unit) VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        values,
    )
    found = connection.exec_driver_sql(
        "SELECT id FROM verifier WHERE name = ? AND version = ? AND tier = ? AND unit = ?", values
    )
    return int(found.scalar_one())


# -- samples -------------------------------------------------------------------------------------


def _write_spans(
    connection: Connection, campaign: str, samples: SampleColumns, entry: int
) -> None:
    spans = list(contiguous(samples.positions))
    if spans:
        connection.exec_driver_sql(
            "INSERT INTO span (campaign, run, step, entry_id, first, last) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(campaign, samples.run, samples.step, entry, *span) for span in spans],
        )
