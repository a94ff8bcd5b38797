"""Work orders: the world's open questions as a file, with places for the results."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from verifier_ladder.casework.opencases import OpenCase, hidden_fields, open_cases, other_tiers
from verifier_ladder.errors import ConfigError
from verifier_ladder.plates import Batches, Layout, Well, listed, send
from verifier_ladder.private import replacing, unwritable
from verifier_ladder.text import csv_cell, json_printable, mended

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.reviews import Reviews

CASE, VALUE, UNIT, UNCERTAINTY, NOTE = "case", "value", "unit", "uncertainty", "note"
PLATE, WELL, CONTROL, DIGEST = "plate", "well", "control", "digest"
Rows = list[dict[str, Any]]
_LONGEST_COUNT = 5


def work_order(
    ledger: Ledger, campaign: str, ladder: Ladder, verifier: str | None, *, unblind: bool = False
) -> Rows:
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
    hidden = hidden_fields(ladder)
    rows = []
    for case in open_cases(ledger, campaign, ladder):
        if verifier in {None, case.verifier}:
            row = _order_row(case, hidden, replicates=asking[case.verifier].replicates)
            if unblind:
                row["other_tiers"] = other_tiers(ledger, case)
            rows.append(row)
    return rows


def _order_row(case: OpenCase, hidden: set[str], *, replicates: int) -> dict[str, Any]:
    question, task = case.disclosed(hidden)
    return {
        CASE: case.check_key.hex(), DIGEST: case.content_key.hex(), "verifier": case.verifier,
        "question": question, "kind": case.candidate.kind,
        "candidate": content_text(case.candidate.content), "task": task,
        "replicate": f"{case.replicate + 1} of {replicates}",
        "deadline": case.until, VALUE: None, UNIT: case.unit, UNCERTAINTY: None, NOTE: None,
    }  # fmt: skip


def content_text(content: str | bytes) -> str:
    """What a candidate holds, as a cell."""
    return f"hex:{content.hex()}" if isinstance(content, bytes) else content


def on_plates(rows: Sequence[dict[str, Any]], wells: Sequence[Well]) -> Rows:
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


def left_before(ledger: Ledger, campaign: str, batch: str, rows: Rows) -> Rows:
    """The rows of a batch that has left, so far as its cases are open.

    Raises:
        ConfigError: If it has not left.
    """
    wells = Batches(ledger, campaign).batch(batch)
    lying = {well.case.hex() for well in wells if well.case is not None}
    still = [row for row in rows if row[CASE] in lying]
    return on_plates(still, wells) if still and wells[0].well else still


def control_wells(texts: Sequence[str]) -> dict[str, int]:
    """Wells of each control, from texts such as `blank=6`.

    Raises:
        ConfigError: If one is no such text, or a control is named twice.

    Example:
        >>> control_wells(["blank=6", "dmso=2"])
        {'blank': 6, 'dmso': 2}
    """
    counts: dict[str, int] = {}
    for text in texts:
        name, _, count = text.rpartition("=")
        if not (count.isdecimal() and len(count) < _LONGEST_COUNT) or name in counts:
            raise ConfigError(f"--control {text!r:.60}: write each once, as NAME=WELLS")
        counts[name] = int(count)
    return counts


# ---- Leaving


class Sender:
    """Has cases leave, as many as may: the file is there once the ledger says that they left."""

    def __init__(
        self,
        ledger: Ledger,
        campaign: str,
        *,
        by: str,
        again: bool,
        writing: Callable[[Rows], AbstractContextManager[object]],
    ) -> None:
        """Send for a campaign.

        Args:
            ledger: The ledger.
            campaign: The campaign's name.
            by: Who sends.
            again: Whether cases leave that have left before.
            writing: Writes the rows; what it gives is entered while the ledger is told.
        """
        self._ledger, self._campaign, self._by, self._again = ledger, campaign, by, again
        self._writing = writing
        self._batches = Batches(ledger, campaign)
        self.batch: str | None = None
        """Name of the batch that left."""

    def on_plates(self, rows: Rows, layout: Layout) -> Rows:
        """Put the most valuable cases on plates; the rows."""
        waiting = self._waiting(rows)
        chosen = waiting[: layout.cases_in(self._batches.left)]
        if not self._may_leave(waiting, chosen, "for one case with the controls"):
            return []
        wells = layout.draw([bytes.fromhex(row[CASE]) for row in chosen])
        return self._send(layout, wells, on_plates(chosen, wells))

    def listed(self, rows: Rows) -> Rows:
        """Have the most valuable cases leave, a row each; the rows."""
        waiting = self._waiting(rows)
        return self._list(waiting, waiting[: self._batches.left])

    def to_reader(self, rows: Rows, reviews: Reviews, reader: str, days: int) -> Rows:
        """Have those cases leave that a reader may read, claimed for so many days; the rows.

        Others may have had them before: each case has several readers.
        """
        self._again = True
        cases = self._ledger.checks(keys=[bytes.fromhex(row[CASE]) for row in rows])
        free = [case.check_key.hex() for case in reviews.free(cases, reader)]
        if not self._may_leave(free, free[: self._batches.left], "for one case"):
            return []
        lease, most = 86400.0 * days, self._batches.left
        claimed = reviews.claim_all(cases, reader, lease=lease, most=most)
        keys = {case.check_key.hex() for case in claimed}
        chosen = [row for row in rows if row[CASE] in keys]
        return self._list(chosen, chosen)

    def _waiting(self, rows: Rows) -> Rows:
        sent = set() if self._again else self._batches.sent
        return [row for row in rows if bytes.fromhex(row[CASE]) not in sent]

    def _list(self, waiting: Rows, chosen: Rows) -> Rows:
        if not self._may_leave(waiting, chosen, "for one case"):
            return []
        return self._send(None, listed([bytes.fromhex(row[CASE]) for row in chosen]), chosen)

    def _may_leave(self, waiting: Sized, chosen: Sized, needed: str) -> bool:
        """Whether anything is to leave.

        Raises:
            ConfigError: If something would, and not one may.
        """
        if waiting and not chosen:
            raise ConfigError(
                f"{self._batches.left:,} rows may leave, too few {needed}; have more approved, "
                "with `vladder case approve`"
            )
        return bool(chosen)

    def _send(self, layout: Layout | None, wells: Sequence[Well], rows: Rows) -> Rows:
        with self._writing(rows):
            send(self._ledger, self._campaign, layout, wells, by=self._by, again=self._again)
        self.batch = wells[0].batch
        return rows


# ---- Writing


@contextmanager
def write_order(path: Path, rows: Rows) -> Iterator[None]:
    """Write a work order, as CSV or as one JSON array.

    The file is there at the end of the block, whole; if that raises, it is not.

    Text that a spreadsheet would run as a formula gets an apostrophe in front in CSV.

    Raises:
        ConfigError: If the name tells no format, or the file can't be written there.
    """
    written = {".csv": order_csv, ".json": order_json}.get(path.suffix.lower())
    if written is None:
        raise ConfigError(f"can't tell the format of {path}; its name must end in .csv or .json")
    try:
        with replacing(path) as partial:
            partial.write_bytes(written(rows))
            yield
    except OSError as error:
        raise unwritable(path, error) from error


def order_csv(rows: Rows) -> bytes:
    """A work order as CSV."""
    stream = StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow([csv_cell(_cell(value)) for value in row.values()])
    return stream.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return orjson.dumps(mended(value)).decode() if value else ""
    return value


def order_json(rows: Rows) -> bytes:
    """A work order as one JSON array."""
    text = orjson.dumps(mended(rows), option=orjson.OPT_INDENT_2).decode()
    return (json_printable(text) + "\n").encode()
