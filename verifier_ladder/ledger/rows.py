"""Index rows: what a block leaves in the tables beside its entry."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.columns import pack_shared
from verifier_ladder.ledger.encoding import encode, leaf, verdict_columns
from verifier_ladder.ledger.records import Block, CandidateRow, SampleColumns, VerdictRow
from verifier_ladder.ledger.samples import IDENTITY, SUPERSEDING, contiguous
from verifier_ladder.ledger.store import keys_json, marks, prefixes
from verifier_ladder.ledger.table import columns_of
from verifier_ladder.ledger.values import dumps
from verifier_ladder.ledger.verdicts import OUTCOME_CODES, pack_verdict, plain_flags
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from sqlalchemy import Connection

_first = itemgetter(0)
_AT_ONCE = 64
"""Rows that one statement inserts."""


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
    raws, contents, _, _, forms, makers, verdicts = columns_of(rows)
    ids = {key: canonicaliser_id(connection, key) for key in set(makers) - {IDENTITY}}
    if not ids:
        return
    details = list(map(_alias_detail, forms, verdicts))
    columns = {
        "key": prefixes(raws), "raw_key": raws, "canonicaliser": list(map(ids.get, makers)),
        "content_key": contents, "detail": details,
        "canonical": [
            form if detail is None else None for form, detail in zip(forms, details, strict=True)
        ],
    }  # fmt: skip
    kept = [
        place for place, (by, verdict) in enumerate(zip(makers, verdicts, strict=True))
        if by in ids and (verdict is None or verdict.is_answer)
    ]  # fmt: skip
    insert(connection, "alias", _chosen(columns, kept))


def _alias_detail(canonical: str | bytes | None, verdict: Verdict | None) -> bytes | None:
    """What the other columns can't hold."""
    if verdict is None and _is_text(canonical):
        return None
    said = None if verdict is None else pack_verdict(verdict)
    return dumps({"canonical": canonical, "verdict": said})


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
    values = _verdict_values(connection, rows, columns, entry)
    if draft.block.kind in SUPERSEDING:
        connection.exec_driver_sql(_NEWER_VERDICT, list(zip(*values.values(), strict=True)))
        return
    known = _known(connection, values["check_key"])
    first: dict[bytes, int] = {}  # A check that is told twice keeps what was said first.
    for place, key in enumerate(values["check_key"]):
        first.setdefault(key, place)
    insert(connection, "verdict", _chosen(
        values, [place for key, place in first.items() if key not in known]
    ))  # fmt: skip


def _known(connection: Connection, check_keys: Sequence[bytes]) -> set[bytes]:
    """Those of the checks that have a current verdict.

    Asked in one query: `INSERT … WHERE NOT EXISTS` would take twice the time of the insert.
    """
    rows = connection.exec_driver_sql(
        "SELECT v.check_key FROM json_each(?) j CROSS JOIN verdict v ON v.key = j.value",
        (keys_json(check_keys),),
    )
    return {key for (key,) in rows}


def _verdict_values(
    connection: Connection,
    rows: Sequence[VerdictRow],
    columns: dict[str, Sequence[Any]],
    entry: int,
) -> dict[str, Sequence[Any]]:
    """The columns of the table, in the order of `_NEWER_VERDICT`."""
    keys, flags = columns["check_key"], plain_flags(columns)
    details: Sequence[bytes | None] = [None] * len(keys)
    if flags is not None:
        details = [
            None if plain else dumps(pack_verdict(row.verdict))
            for plain, row in zip(flags, rows, strict=True)
        ]
    return {
        "key": prefixes(keys), "check_key": keys, "verifier": _verifier_ids(connection, columns),
        "outcome": list(map(OUTCOME_CODES.__getitem__, columns["outcome"])),
        "score": columns["score"], "uncertainty": columns["uncertainty"],
        "seconds": _seconds(columns["cost"]), "detail": details, "entry_id": [entry] * len(keys),
    }  # fmt: skip


def _seconds(costs: Sequence[Cost | None]) -> list[float | None]:
    return pack_shared(costs, lambda cost: None if cost is None else float(cost.seconds))


def _verifier_ids(connection: Connection, columns: dict[str, Sequence[Any]]) -> list[int]:
    parts = [columns[name] for name in ("verifier", "version", "tier", "unit")]
    if all(part.count(part[0]) == len(part) for part in parts):
        return [_verifier_id(connection, tuple(part[0] for part in parts))] * len(parts[0])
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


# -- rows ----------------------------------------------------------------------------------------


def insert(connection: Connection, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows, given as columns of equal length; the first is an index's.

    A statement takes many rows, and columns without a value are left out: every statement lets
    go of the interpreter and gets it back, and every value that is bound costs.
    """
    used = {name: values for name, values in columns.items() if values.count(None) < len(values)}
    # In the order of the index, neighbours share a page.
    rows = sorted(zip(*used.values(), strict=True), key=_first)
    single = len(rows) % _AT_ONCE
    for size, part in ((1, rows[:single]), (_AT_ONCE, rows[single:])):
        if part:
            values = ", ".join([f"({marks(len(used))})"] * size)
            connection.exec_driver_sql(
                f"INSERT INTO {table} ({', '.join(used)}) VALUES {values}",
                [tuple(chain(*part[i : i + size])) for i in range(0, len(part), size)],
            )


def _chosen(
    columns: Mapping[str, Sequence[Any]], places: Sequence[int]
) -> Mapping[str, Sequence[Any]]:
    """Some of the rows; `places` differ, so as many as there are rows means all of them."""
    if len(places) == len(next(iter(columns.values()))):
        return columns
    return {name: [values[place] for place in places] for name, values in columns.items()}


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
