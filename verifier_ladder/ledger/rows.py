"""Index rows: what a block leaves in the tables beside its entry."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.artifacts import keep
from verifier_ladder.ledger.columns import pack_shared
from verifier_ladder.ledger.counting import counted_in
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.encoding import encode, leaf
from verifier_ladder.ledger.numbers import numbers_of
from verifier_ladder.ledger.records import (
    Block,
    CandidateRow,
    OvertakenError,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.ledger.samples import IDENTITY, SUPERSEDING, contiguous
from verifier_ladder.ledger.sections import Columns, verdict_columns
from verifier_ladder.ledger.store import prefixes
from verifier_ladder.ledger.table import columns_of
from verifier_ladder.ledger.values import dumps
from verifier_ladder.ledger.verdicts import OUTCOME_CODES, pack_verdict, plain_flags
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from sqlalchemy import Connection


_ANY = 2**62
"""Beyond any entry."""


class Draft:
    """A block made ready to be written: its bytes are made when they are first asked for."""

    def __init__(
        self,
        block: Block,
        now: float | None = None,
        *,
        sealed: bool = False,
        as_of: int | None = None,
    ) -> None:
        """Write a block as one of this moment, or of `now`; in a sealed ledger it is sealed.

        See `Ledger.append` for `as_of`.
        """
        self.block, self.as_of = block, _ANY if as_of is None else as_of
        self.recorded_at = time.time() if now is None else now
        self.verdicts = verdict_columns(block.verdicts) if block.verdicts else None
        self._sealed = sealed

    @cached_property
    def encoded(self) -> tuple[bytes, bytes]:
        """The entry's body and its leaf."""
        body = encode(self.block, self.recorded_at, self.verdicts, sealed=self._sealed)
        return body, leaf(body)


def write(connection: Connection, draft: Draft) -> int:
    """Write an entry and its index rows inside a running transaction; return its id."""
    block, dialect = draft.block, dialect_of(connection)
    told, aliases = _index_rows(connection, block, draft.verdicts)

    def insert(entry: int, *, is_new: bool) -> None:
        _insert(connection, block, told, aliases, entry, is_new=is_new, as_of=draft.as_of)
        if told and not is_new:
            dialect.check_order(connection, entry, told["check_key"])
        _write_entry(connection, draft, entry)

    rows = len(block.verdicts) + len(block.candidates)
    written = dialect.together(connection, insert, rows=rows, asks=block.kind in SUPERSEDING)
    counted_in(connection).add(block, draft.verdicts)
    if draft.verdicts is not None and any(draft.verdicts["artifacts"]):
        keep(connection, block)
    return written


def write_index(connection: Connection, block: Block, entry: int) -> None:
    """Write what an entry leaves in the tables beside it, but for names of campaigns and runs."""
    verdicts = verdict_columns(block.verdicts) if block.verdicts else None
    told, aliases = _index_rows(connection, block, verdicts)
    _insert(connection, block, told, aliases, entry, is_new=False)
    if block.samples is not None:
        _write_spans(connection, block.campaign, block.samples, entry)


def _index_rows(
    connection: Connection, block: Block, verdicts: Columns | None
) -> tuple[Columns, Columns]:
    """Verdicts, without their entry, and aliases."""
    told = _verdict_rows(connection, block.verdicts, verdicts)
    return told, _alias_rows(connection, block.candidates)


def _insert(
    connection: Connection,
    block: Block,
    told: Columns,
    aliases: Columns,
    entry: int,
    *,
    is_new: bool,
    as_of: int = _ANY,
) -> None:
    dialect = dialect_of(connection)
    if told:
        told = {**told, "entry_id": [entry] * len(told["check_key"])}
    if told and block.kind in SUPERSEDING:
        for row in zip(*told.values(), strict=True):
            _supersede(connection, row, as_of)
        told = {}
    if aliases:
        dialect.insert(connection, "alias", aliases)
    if told:
        dialect.insert_verdicts(connection, _told_once(told), is_new=is_new)


def _write_entry(connection: Connection, draft: Draft, entry: int) -> None:
    block = draft.block
    body, leaf = draft.encoded
    dialect_of(connection).bound(connection, [body])
    connection.exec_driver_sql(
        "INSERT INTO entry (id, kind, campaign, recorded_at, leaf, body) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (entry, block.kind, block.campaign, draft.recorded_at, leaf, body),
    )
    if block.samples is not None:
        _write_spans(connection, block.campaign, block.samples, entry)


# -- aliases -------------------------------------------------------------------------------------


def _alias_rows(connection: Connection, rows: Sequence[CandidateRow]) -> Columns:
    """The columns of the table; empty if there is nothing to write."""
    if not rows:
        return {}
    raws, contents, _, _, forms, makers, verdicts = columns_of(rows)
    ids = {key: _canonicaliser_id(connection, key) for key in sorted(set(makers) - {IDENTITY})}
    if not ids:
        return {}
    details = _alias_details(forms, verdicts)
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
    return _chosen(columns, kept)


def _alias_details(
    forms: Sequence[str | bytes | None], verdicts: Sequence[Verdict | None]
) -> list[bytes | None]:
    """What the other columns of each row can't hold; nearly always nothing."""
    is_plain = not any(verdicts) and set(map(type, forms)) <= {str, type(None)}
    if is_plain and _is_text("".join([form for form in forms if form])):  # type: ignore[misc]
        return [None] * len(forms)
    return list(map(_alias_detail, forms, verdicts))


def _alias_detail(canonical: str | bytes | None, verdict: Verdict | None) -> bytes | None:
    """What the other columns can't hold."""
    if verdict is None and _is_text(canonical):
        return None
    said = None if verdict is None else pack_verdict(verdict)
    return dumps({"canonical": canonical, "verdict": said})


def _is_text(value: str | bytes | None) -> bool:
    """Whether a column gives the value back as it is: text without lone surrogates and NUL."""
    if value is None:
        return True
    if not isinstance(value, str) or "\0" in value:
        return False
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    return True


def _canonicaliser_id(connection: Connection, digest: bytes) -> int:
    """Number of a canonicaliser, given when it is first seen."""
    numbers = numbers_of(connection)
    if digest not in numbers:
        numbers[digest] = _number(
            connection, "SELECT id FROM canonicaliser WHERE digest = ?",
            "INSERT INTO canonicaliser (digest) VALUES (?) ON CONFLICT DO NOTHING", (digest,),
        )  # fmt: skip
    return numbers[digest]


def _number(connection: Connection, look: str, make: str, values: tuple[Any, ...]) -> int:
    """The id of a row that is made when it is first needed, by whoever is first."""
    found = connection.exec_driver_sql(look, values).scalar()
    if found is None:
        connection.exec_driver_sql(make, values)
        found = connection.exec_driver_sql(look, values).scalar_one()
    return int(found)


# -- verdicts ------------------------------------------------------------------------------------

_NEWEST = "SELECT coalesce(max(entry_id), 0) FROM verdict WHERE key = ?1 AND check_key = ?2"
_NEWER_VERDICT = (
    "INSERT INTO verdict (key, check_key, verifier, outcome, score, uncertainty, seconds, detail, "
    "entry_id, supersedes) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
    "(SELECT max(id) FROM verdict WHERE key = ?1 AND check_key = ?2) "
    f"WHERE ({_NEWEST}) <= ?10 ON CONFLICT DO NOTHING RETURNING 1"
)


def _verdict_rows(
    connection: Connection, rows: Sequence[VerdictRow], columns: Columns | None
) -> Columns:
    """The columns of the table; empty if nothing was answered."""
    if columns is not None and any(columns["failed_at"]):
        rows = [row for row in rows if row.verdict.is_answer]
        columns = verdict_columns(rows) if rows else None
    return {} if columns is None else _verdict_values(connection, rows, columns)


def _told_once(columns: Columns) -> Columns:
    """A check that is told twice keeps what was said first."""
    first: dict[bytes, int] = {}
    for place, key in enumerate(columns.get("check_key", ())):
        first.setdefault(key, place)
    return _chosen(columns, list(first.values()))


def _supersede(connection: Connection, row: Sequence[Any], as_of: int) -> None:
    """Put a verdict in the place of the current one; of two at once one comes after the other.

    Raises:
        OvertakenError: If the current one came after `as_of`.
    """
    key, check_key, *_ = row
    while connection.exec_driver_sql(_NEWER_VERDICT, (*row, as_of)).first() is None:
        if connection.exec_driver_sql(_NEWEST, (key, check_key)).scalar_one() > as_of:
            raise OvertakenError(f"the case {check_key.hex()[:16]} was told of meanwhile")


def _verdict_values(
    connection: Connection,
    rows: Sequence[VerdictRow],
    columns: Columns,
) -> dict[str, Sequence[Any]]:
    """The columns of the table, in the order of `_NEWER_VERDICT`; the entry comes last."""
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
        "seconds": _seconds(columns["cost"]), "detail": details,
    }  # fmt: skip


def _seconds(costs: Sequence[Cost | None]) -> list[float | None]:
    return pack_shared(costs, lambda cost: None if cost is None else float(cost.seconds))


def _verifier_ids(connection: Connection, columns: Columns) -> list[int]:
    parts = [columns[name] for name in ("verifier", "version", "tier", "unit")]
    if all(part.count(part[0]) == len(part) for part in parts):
        return [_verifier_id(connection, tuple(part[0] for part in parts))] * len(parts[0])
    named = list(zip(*parts, strict=True))
    ids = {name: _verifier_id(connection, name) for name in sorted(set(named))}
    return [ids[name] for name in named]


def _verifier_id(connection: Connection, name: tuple[Any, ...]) -> int:
    numbers = numbers_of(connection)
    if name not in numbers:
        numbers[name] = _number(
            connection,
            "SELECT id FROM verifier WHERE name = ? AND version = ? AND tier = ? AND unit = ?",
            "INSERT INTO verifier (name, version, tier, unit) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            (name[0], name[1], int(name[2]), name[3]),
        )
    return numbers[name]


# -- rows --------------------------------------------------------------------------------------


def _chosen(
    columns: Mapping[str, Sequence[Any]], places: Sequence[int]
) -> Mapping[str, Sequence[Any]]:
    """Some of the rows; `places` differ, so as many as there are rows means all of them."""
    if not columns or len(places) == len(next(iter(columns.values()))):
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
