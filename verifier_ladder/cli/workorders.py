"""Work orders: the world's open questions as a file, with places for the results."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from verifier_ladder.cli.cases import OpenCase, open_cases, other_tiers
from verifier_ladder.errors import ConfigError
from verifier_ladder.hidden import Hidden
from verifier_ladder.plates import Well
from verifier_ladder.private import replacing, unwritable
from verifier_ladder.text import csv_cell, json_printable, mended

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger

CASE, VALUE, UNIT, UNCERTAINTY, NOTE = "case", "value", "unit", "uncertainty", "note"
PLATE, WELL, CONTROL, DIGEST = "plate", "well", "control", "digest"


def work_order(
    ledger: Ledger, campaign: str, ladder: Ladder, verifier: str | None, *, unblind: bool = False
) -> list[dict[str, Any]]:
    """The open cases of a campaign as rows, the most valuable first, with places for results.

    No row tells what a verifier of the ladder hides of a task, nor, unless asked, what other
    tiers have said.

    Args:
        ledger: The ledger.
        campaign: The campaign's name.
        ladder: Its ladder, which knows units, questions and what is hidden.
        verifier: Only the cases of this verifier; None for all.
        unblind: Whether what other tiers have said is told.

    Raises:
        ConfigError: If the ladder has no such verifier that asks the world.
    """
    asking = {each.name: each for each in ladder.verifiers if each.waits}
    if verifier is not None and verifier not in asking:
        known = ", ".join(asking) or "none"
        raise ConfigError(
            f"no verifier of the campaign {campaign} is called {verifier!r} and asks the world; "
            f"those that ask: {known}"
        )
    hidden = {name for each in ladder.verifiers for name in each.hidden}
    rows = []
    for case in open_cases(ledger, campaign, ladder):
        if verifier in {None, case.verifier}:
            row = _order_row(case, hidden, replicates=asking[case.verifier].replicates)
            if unblind:
                row["other_tiers"] = other_tiers(ledger, case)
            rows.append(row)
    return rows


def _order_row(case: OpenCase, hidden: set[str], *, replicates: int) -> dict[str, Any]:
    task = case.candidate.task or {}
    secret = Hidden([value for name, value in task.items() if name in hidden])
    return {
        CASE: case.check_key.hex(), DIGEST: case.content_key.hex(), "verifier": case.verifier,
        "question": secret.masked(case.question), "kind": case.candidate.kind,
        "candidate": content_text(case.candidate.content),
        "task": {name: value for name, value in task.items() if name not in hidden},
        "replicate": f"{case.replicate + 1} of {replicates}",
        "deadline": case.until, VALUE: None, UNIT: case.unit, UNCERTAINTY: None, NOTE: None,
    }  # fmt: skip


def content_text(content: str | bytes) -> str:
    """What a candidate holds, as a cell."""
    return f"hex:{content.hex()}" if isinstance(content, bytes) else content


def on_plates(rows: Sequence[dict[str, Any]], wells: Sequence[Well]) -> list[dict[str, Any]]:
    """A work order with a row for each well.

    Args:
        rows: A row for each case.
        wells: The wells in use; those of other cases have no row.

    Raises:
        ConfigError: If several verifiers ask, for a plate is for one of them.
    """
    asking = dict.fromkeys(row["verifier"] for row in rows)
    if len(asking) > 1:
        raise ConfigError(
            f"a plate is for one verifier; say with --verifier which: {', '.join(asking)}"
        )
    by_case = {row[CASE]: row for row in rows}
    blank = {
        **dict.fromkeys(rows[0]), "verifier": rows[0]["verifier"], UNIT: rows[0][UNIT],
    }  # fmt: skip
    made = []
    for plate, well, case, control in wells:
        of = blank if case is None else by_case.get(case.hex())
        if of is not None:
            made.append({CASE: of[CASE], PLATE: plate, WELL: well, CONTROL: control or None, **of})
    return made


@contextmanager
def write_order(path: Path, rows: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Write a work order, as CSV or as one JSON array.

    The file is there at the end of the block, whole; if that raises, it is not.

    Text that a spreadsheet would run as a formula gets an apostrophe in front in CSV.

    Raises:
        ConfigError: If the name tells no format, or the file can't be written there.
    """
    write = {".csv": _write_csv, ".json": _write_json}.get(path.suffix.lower())
    if write is None:
        raise ConfigError(f"can't tell the format of {path}; its name must end in .csv or .json")
    try:
        with replacing(path) as partial:
            write(partial, rows)
            yield
    except OSError as error:
        raise unwritable(path, error) from error


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow([csv_cell(_cell(value)) for value in row.values()])


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return orjson.dumps(mended(value)).decode() if value else ""
    return value


def _write_json(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = orjson.dumps(mended(rows), option=orjson.OPT_INDENT_2).decode()
    path.write_text(json_printable(text) + "\n", encoding="utf-8")
