"""Index rows: what a block leaves in the tables beside its entry."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from verifier_ladder.ledger.encoding import encode, leaf, verdict_columns
from verifier_ladder.ledger.records import Block, CandidateRow, SampleColumns, VerdictRow
from verifier_ladder.ledger.samples import IDENTITY, SUPERSEDING, contiguous
from verifier_ladder.ledger.store import prefix
from verifier_ladder.ledger.values import dumps, pack
from verifier_ladder.ledger.verdicts import OUTCOME_CODES, pack_verdict, plain_flags

if TYPE_CHECKING:
    from sqlalchemy import Connection

_first = itemgetter(0)


def write_block(connection: Connection, block: Block, now: float | None = None) -> int:
    """Write an entry and its index rows inside a running transaction; return its id."""
    now = time.time() if now is None else now
    return write_entry(connection, block, encode(block, now), now)


def write_entry(connection: Connection, block: Block, body: bytes, now: float) -> int:
    """Write an entry whose body is already encoded, and its index rows."""
    entry = connection.exec_driver_sql(
        "INSERT INTO entry (kind, campaign, recorded_at, leaf, body) VALUES (?, ?, ?, ?, ?)",
        (block.kind, block.campaign, now, leaf(body), body),
    ).lastrowid
    if block.candidates:
        _write_aliases(connection, block.candidates)
    if block.verdicts:
        _write_verdicts(connection, block.verdicts, entry, supersede=block.kind in SUPERSEDING)
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
    connection.exec_driver_sql(
        "INSERT INTO alias (key, raw_key, canonicaliser, content_key, canonical, detail) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        sorted((_alias_row(row, ids[row.canonicaliser]) for row in kept), key=_first),
    )


def _alias_row(row: CandidateRow, canonicaliser: int) -> tuple[Any, ...]:
    canonical, detail = row.canonical, None
    if row.verdict is not None or not _is_text(canonical):
        verdict = None if row.verdict is None else pack_verdict(row.verdict)
        canonical, detail = None, dumps({"canonical": pack(canonical), "verdict": verdict})
    return (
        prefix(row.raw_key), row.raw_key, canonicaliser, row.content_key, canonical, detail
    )  # fmt: skip


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

_VERDICT_COLUMNS = (
    "key, check_key, verifier, outcome, score, uncertainty, seconds, detail, entry_id"
)
_NEW_VERDICT = (
    f"INSERT INTO verdict ({_VERDICT_COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 "
    "WHERE NOT EXISTS (SELECT 1 FROM verdict WHERE key = ?1 AND check_key = ?2)"
)
_NEWER_VERDICT = (
    f"INSERT INTO verdict ({_VERDICT_COLUMNS}, supersedes) "
    "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
    "(SELECT max(id) FROM verdict WHERE key = ?1 AND check_key = ?2)"
)


def _write_verdicts(
    connection: Connection, rows: Sequence[VerdictRow], entry: int, *, supersede: bool
) -> None:
    columns = verdict_columns(rows)
    if any(columns["failed_at"]):
        rows = [row for row in rows if row.verdict.is_answer]
        if not rows:
            return
        columns = verdict_columns(rows)
    columns["verifier"] = _verifier_ids(connection, columns)
    statement = _NEWER_VERDICT if supersede else _NEW_VERDICT
    # In the order of the index, neighbours share a page.
    values = sorted(_verdict_rows(rows, columns, entry), key=_first)
    connection.exec_driver_sql(statement, values)


def _verdict_rows(
    rows: Sequence[VerdictRow], columns: dict[str, Sequence[Any]], entry: int
) -> Iterator[tuple[Any, ...]]:
    count = len(rows)
    details: list[bytes | None] = [None] * count
    flags = plain_flags(columns)
    if flags is not None:
        details = [
            None if plain else dumps(pack_verdict(row.verdict))
            for plain, row in zip(flags, rows, strict=True)
        ]
        columns["score"] = [_number(score) for score in columns["score"]]
        columns["uncertainty"] = [_number(value) for value in columns["uncertainty"]]
    keys = columns["check_key"]
    return zip(
        map(prefix, keys), keys, columns["verifier"],
        map(OUTCOME_CODES.__getitem__, columns["outcome"]),
        columns["score"], columns["uncertainty"],
        [None if cost is None else cost.seconds for cost in columns["cost"]],
        details, [entry] * count,
        strict=True,
    )  # fmt: skip


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _verifier_ids(connection: Connection, columns: dict[str, Sequence[Any]]) -> Sequence[int]:
    named = list(
        zip(
            columns["verifier"], columns["version"], columns["tier"], columns["unit"],
            strict=True,
        )
    )  # fmt: skip
    ids = {name: _verifier_id(connection, name) for name in set(named)}
    return [ids[name] for name in named]


def _verifier_id(connection: Connection, name: tuple[str, str, int, str]) -> int:
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
