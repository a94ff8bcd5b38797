"""Export: verdicts and rewards as flat rows, for other programs to read.

Every row has the same columns, in this order; what a row does not have is null. Nothing is lost
to spreadsheets: in CSV, text that a spreadsheet would run as a formula is quoted. What is sealed
is null too, unless it is asked for.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from verifier_ladder.artifact import artifact_json
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.records import Block, Entry, VerdictRow
from verifier_ladder.ledger.sealing import NAMES, is_sealed
from verifier_ladder.ledger.values import pack
from verifier_ladder.private import check_other_file, replacing, unwritable
from verifier_ladder.reward import Reward
from verifier_ladder.text import csv_cell, mended
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import TurnVerdict

COLUMNS: Mapping[str, str] = {
    "record": "string", "entry": "int64", "recorded_at": "float64", "campaign": "string",
    "kind": "string", "candidate": "string", "check": "string", "verifier": "string",
    "version": "string", "tier": "string", "outcome": "string", "score": "float64",
    "uncertainty": "float64", "unit": "string", "reason": "string", "feedback": "string",
    "failed_at": "string", "seconds": "float64", "attempt": "int64", "evidence": "string",
    "run": "string", "step": "int64", "position": "int64", "group": "string",
    "learner_version": "string", "reward": "float64", "revision": "int64", "pending": "bool_",
    "components": "string", "turns": "string", "scores": "string", "artifacts": "string",
}  # fmt: skip
"""Names and Arrow types of the columns; `record` is `verdict` or `reward`."""

_SEALED = {
    "candidate": "keys", "check": "keys", "reason": "feedback", "feedback": "feedback",
    "evidence": "evidence", "group": "groups", "turns": "feedback",
    "artifacts": "evidence",
}  # fmt: skip
"""Columns that may be sealed, and the names under which they are shown."""
_ROWS = 20_000


def export_jsonl(
    ledger: Ledger, path: str | Path, campaign: str | None = None, *, reveal: Collection[str] = ()
) -> int:
    """Write one JSON object per line.

    Args:
        ledger: The ledger.
        path: The file; it is written anew.
        campaign: Only this campaign's; None for all.
        reveal: Which sealed values to write, from `sealing.NAMES`; others are null.

    Returns:
        How many rows were written.

    Raises:
        ConfigError: If the file can't be written there; LedgerError if the disk is full.
    """
    return _write_lines(ledger, path, flat_rows(ledger, campaign, reveal))


def export_csv(
    ledger: Ledger, path: str | Path, campaign: str | None = None, *, reveal: Collection[str] = ()
) -> int:
    """Write a CSV table; text that begins like a formula gets an apostrophe in front.

    Args:
        ledger: The ledger.
        path: The file; it is written anew.
        campaign: Only this campaign's; None for all.
        reveal: Which sealed values to write, from `sealing.NAMES`; others are null.

    Returns:
        How many rows were written.

    Raises:
        ConfigError: If the file can't be written there; LedgerError if the disk is full.
    """
    count = 0
    with _written(ledger, path) as target, target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in flat_rows(ledger, campaign, reveal):
            writer.writerow(map(csv_cell, row.values()))
            count += 1
    return count


def export_parquet(
    ledger: Ledger, path: str | Path, campaign: str | None = None, *, reveal: Collection[str] = ()
) -> int:
    """Write a Parquet table.

    Args:
        ledger: The ledger.
        path: The file; it is written anew.
        campaign: Only this campaign's; None for all.
        reveal: Which sealed values to write, from `sealing.NAMES`; others are null.

    Returns:
        How many rows were written.

    Raises:
        ConfigError: If pyarrow is not installed.
        ConfigError: If the file can't be written there; LedgerError if the disk is full.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError(
            "Parquet needs pyarrow: pip install '.[frames]' in a clone, or export to JSON lines"
        ) from error
    fields = [(name, getattr(pa, kind)()) for name, kind in COLUMNS.items()]
    schema = pa.schema(fields)
    rows = flat_rows(ledger, campaign, reveal)
    count = 0
    with _written(ledger, path) as target, parquet.ParquetWriter(target, schema) as writer:
        while part := list(islice(rows, _ROWS)):  # A million rows must not lie in memory at once.
            writer.write_table(pa.Table.from_pylist(part, schema=schema))
            count += len(part)
    return count


def export_statements(
    ledger: Ledger, path: str | Path, campaign: str | None = None, *, reveal: Collection[str] = ()
) -> int:
    """Write every accept and reject as an in-toto statement, one JSON object per line.

    Args:
        ledger: The ledger; one on disk.
        path: The file; it is written anew.
        campaign: Only this campaign's; None for all.
        reveal: Which sealed values to write, from `sealing.NAMES`; others are null.

    Returns:
        How many statements were written.

    Raises:
        ConfigError: If the ledger has no signed log, or it is sealed and keys are not to be
            written.
        ConfigError: If the file can't be written there; LedgerError if the disk is full.
    """
    from verifier_ladder.ledger.log import SqlLog
    from verifier_ladder.ledger.statements import statements

    if not isinstance(ledger, SqlLog):
        raise ConfigError("statements name a place in a signed log; a ledger in memory has none")
    return _write_lines(ledger, path, statements(ledger, campaign, reveal))


def _write_lines(ledger: Ledger, path: str | Path, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with _written(ledger, path) as target, target.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row) + b"\n")
            count += 1
    return count


def flat_rows(
    ledger: Ledger, campaign: str | None = None, reveal: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """Every verdict and every reward as one row, in the order of the ledger."""
    for entry in ledger.entries(campaign=campaign):
        yield from entry_rows(ledger, entry, reveal)


def entry_rows(
    ledger: Ledger, entry: Entry, reveal: Collection[str] = NAMES
) -> Iterator[dict[str, Any]]:
    """Every verdict and every reward of an entry as one row."""
    block = ledger.read(entry)
    rows = [_row(entry, "verdict", _verdict_fields(row)) for row in block.verdicts]
    hidden = {column: None for column, name in _SEALED.items() if name not in reveal}
    if not (hidden and is_sealed(entry.body)):
        hidden = {}
    for row in chain(rows, _reward_rows(entry, block)):
        yield {**row, **hidden} if hidden else row


def _row(entry: Entry, record: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    common = {
        "record": record, "entry": entry.id, "recorded_at": entry.recorded_at,
        "campaign": entry.campaign, "kind": entry.kind,
    }  # fmt: skip
    row = {**dict.fromkeys(COLUMNS), **common, **fields}
    return {name: _text(value) if isinstance(value, str) else value for name, value in row.items()}


def _text(value: str) -> str:
    """Text that every reader takes; lone surrogates become question marks."""
    return value.encode("utf-8", "replace").decode()


def _verdict_fields(row: VerdictRow) -> dict[str, Any]:
    verdict = row.verdict
    return {
        "candidate": row.content_key.hex(), "check": row.check_key.hex(),
        "verifier": row.verifier, "version": row.version, "tier": _tier(row.tier),
        "outcome": str(verdict.outcome), "score": _number(verdict.score),
        "uncertainty": _number(verdict.uncertainty), "unit": verdict.unit,
        "reason": verdict.reason, "feedback": verdict.feedback, "failed_at": verdict.failed_at,
        "seconds": None if verdict.cost is None else _number(verdict.cost.seconds),
        "attempt": row.attempt, "evidence": _json(verdict.evidence),
        "turns": _turns(verdict.turns), "scores": _json(verdict.scores),
        "artifacts": _json({n: artifact_json(one) for n, one in verdict.files.items()}),
    }  # fmt: skip


def _reward_rows(entry: Entry, block: Block) -> Iterator[dict[str, Any]]:
    samples = block.samples
    if samples is None:
        return
    groups, versions = samples.groups, samples.learner_versions
    positions = listed(samples.positions)
    for at, reward in enumerate(block.rewards):
        place = {
            "candidate": samples.contents[at].hex(), "run": samples.run, "step": samples.step,
            "position": positions[at], "group": None if groups is None else groups[at],
            "learner_version": None if versions is None else versions[at],
        }  # fmt: skip
        yield _row(entry, "reward", {**place, **_reward_fields(reward)})


def _reward_fields(reward: Reward) -> dict[str, Any]:
    return {
        "reward": _number(reward.value), "uncertainty": _number(reward.uncertainty),
        "tier": None if reward.tier is None else _tier(reward.tier),
        "revision": reward.revision, "pending": reward.pending, "reason": reward.reason,
        "failed_at": reward.failed_at, "components": _json(reward.components),
        "feedback": reward.feedback, "turns": _turns(reward.turns),
        "scores": _json(reward.scores),
    }  # fmt: skip


def _tier(tier: int) -> str:
    return Tier(tier).label


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _turns(turns: Sequence[TurnVerdict]) -> str | None:
    """What was said of each turn: `[{"turn": 0, "score": 0.5, "feedback": ""}, …]`."""
    return orjson.dumps(mended([turn.as_json() for turn in turns])).decode() if turns else None


def _json(value: Mapping[str, Any]) -> str | None:
    return orjson.dumps(pack(dict(value))).decode() if value else None


@contextmanager
def _written(ledger: Ledger, path: str | Path) -> Iterator[Path]:
    """Give a file beside the one asked for; it takes the name only when it is whole."""
    path = Path(path)
    if not path.parent.is_dir():
        raise ConfigError(f"the folder {path.parent} does not exist; make it first")
    check_other_file(path, ledger.url)
    try:
        with replacing(path) as part:
            yield part
    except OSError as error:
        raise unwritable(path, error) from error
