"""Results files: what a laboratory says, read row by row against what it was asked."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.badrow import BadRow
from verifier_ladder.casework.opencases import FAILURE, Answer, read_answer
from verifier_ladder.casework.resultfile import Written, read_rows
from verifier_ladder.casework.reviewing import hand_in_concluded
from verifier_ladder.casework.workorders import (
    CASE,
    CONTROL,
    DIGEST,
    NOTE,
    PLATE,
    UNCERTAINTY,
    UNIT,
    VALUE,
    WELL,
    content_text,
)
from verifier_ladder.containment import text_of
from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.ledger.records import Answer as HandedIn
from verifier_ladder.measurement import FAILED, WELLS, Bound, bound_of
from verifier_ladder.plates import Batches, Well
from verifier_ladder.reviews import Reviews
from verifier_ladder.rollouts.records import Record, words
from verifier_ladder.rollouts.rows import RowError
from verifier_ladder.scheduler.answering import refuse_contradictions, said
from verifier_ladder.scheduler.candidates import candidate_of
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.text import csv_cell, decimal, mended, printable
from verifier_ladder.units import Converted, convert
from verifier_ladder.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CheckRow
    from verifier_ladder.verifiers import Verifier

REPORTED = "reported"
"""Evidence of a verdict whose value was brought to another unit: what was handed in."""
READ = (
    CASE, PLATE, WELL, CONTROL, DIGEST, "verifier", "candidate", VALUE, UNIT, UNCERTAINTY, NOTE,
)  # fmt: skip
"""Columns of a results file that are looked at."""
_KEY_DIGITS = 64
_LONGEST_NOTE = 2000
_PLAIN = Written()


@dataclass
class Results:
    """What a results file says, read against the cases that were asked."""

    answers: dict[bytes, Verdict] = field(default_factory=dict)
    """New answers, by the key of their case."""
    known: int = 0
    """Rows that say what was answered before."""
    blank: int = 0
    """Rows without a value: their cases stay open."""
    bad_rows: list[BadRow] = field(default_factory=list)


def read_results(
    path: Path,
    ledger: Ledger,
    campaign: str,
    ladder: Ladder,
    source: str,
    *,
    written: Written = _PLAIN,
) -> Results:
    """Read a results file; nothing is written.

    Args:
        path: CSV or TSV, JSON lines or a JSON array, .xlsx; also gzip and Parquet.
        ledger: The ledger that has asked.
        campaign: The campaign that has asked.
        ladder: Its ladder.
        source: Who answers.
        written: How the file is written.

    Raises:
        ConfigError: If the file can't be read, is too large, or has no column of cases or of
            values.
    """
    held = read_rows(path, written, READ, (CASE, VALUE))
    found = Results(bad_rows=[row for row in held if isinstance(row, BadRow)])
    records = [row for row in held if isinstance(row, Record)]
    comma = written.decimal_comma
    reader = _Reader(ledger, campaign, ladder, source, records, decimal_comma=comma)
    by_case: dict[bytes, list[_Row]] = defaultdict(list)
    for record in records:
        try:
            row = reader.row(record)
        except RowError as error:
            found.bad_rows.append(BadRow(record.line, str(error)))
            continue
        if row is None:
            found.blank += 1
        elif row.case is not None:
            by_case[row.case].append(row)
    for key, rows in by_case.items():
        try:
            verdict = reader.answer(key, rows)
        except RowError as error:
            found.bad_rows.append(BadRow(rows[0].line, str(error)))
            continue
        if key in reader.told:
            found.known += len(rows)
        else:
            found.answers[key] = verdict
    found.bad_rows.sort()
    return found


# ---- Handing in


class Delivered(NamedTuple):
    """What came of the answers of a results file."""

    taken: int
    left_out: dict[bytes, str]
    """Why cases were left out, by their key: others were quicker since the file was read."""


def hand_in(
    campaign: Campaign, reviews: Reviews, answers: Mapping[bytes, Verdict], source: str, event: str
) -> Delivered:
    """Hand answers in; those of cases that several read are this source's reading.

    Args:
        campaign: The campaign, at work.
        reviews: Its reviews.
        answers: What `read_results` has found.
        source: Who answers.
        event: Id of the delivery; see `delivery`.

    Raises:
        ConfigError: If a case was answered otherwise since.
    """
    rows = campaign.ledger.checks(keys=list(answers))
    read = [(row, answers[row.check_key]) for row in rows if reviews.readers(row) > 1]
    left_out = reviews.hand_in(source, read, event=event)
    readings = {row.check_key for row, _ in read}
    once = {key: verdict for key, verdict in answers.items() if key not in readings}
    taken = campaign.answer_all(once, source=source, event=event) + len(read) - len(left_out)
    hand_in_concluded(campaign, reviews.concluded())
    return Delivered(taken, left_out)


def delivery(name: str, data: bytes, found: Results) -> str:
    """The id of a delivery: it names the file as it is, and says if rows of it were left out."""
    bad = len(found.bad_rows)
    part = f", without {bad:,} bad row{'' if bad == 1 else 's'}" if bad else ""
    return f"{printable(name, 60)} sha256:{sha256(data).hexdigest()[:16]}{part}"


# ---- Reading


class _Row(NamedTuple):
    """A row with a value."""

    line: int
    case: bytes | None
    """Key of its case; None for a control."""
    verdict: Verdict
    well: Well | None
    """Where it lies; None if on no plate."""


class _Reader:
    """Reads the rows of one file against the queue and the ledger, asked once for all."""

    def __init__(
        self,
        ledger: Ledger,
        campaign: str,
        ladder: Ladder,
        source: str,
        records: Sequence[Record],
        *,
        decimal_comma: bool,
    ) -> None:
        self._ladder, self._source, self._has_comma = ladder, source, decimal_comma
        self._asking = {each.name: each for each in ladder.verifiers if each.waits}
        self._lines: dict[object, int] = {}
        self._controls: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self._batches = Batches(ledger, campaign)
        self._placed = self._batches.cases
        keys = list({key for record in records if (key := _key(record.values)) is not None})
        self._checks = {check.check_key: check for check in ledger.checks(keys=keys)}
        self._reviews, self._now = Reviews(ledger, campaign, ladder), ledger.clock()
        self._read_twice = {k for k, c in self._checks.items() if self._reviews.readers(c) > 1}
        mine = self._reviews.said_by(source)
        self.told = {
            **ledger.verdicts(keys), **{k: mine[k] for k in self._read_twice & mine.keys()},
        }  # fmt: skip
        """What was answered before; where several read a case, what this source has read."""

    def row(self, record: Record) -> _Row | None:
        """What a row says by itself; None where it has no value.

        Raises:
            RowError: If the row can't be used; it says what to do.
        """
        values = {**record.values, **self._numbers(record.values)}
        well = self._well(values)
        if well is not None and well.case is None:
            return self._control(record.line, values, well)
        check, verifier = self._case(values)
        self._check_place(values, check, well)
        _check_identity(values, check)
        if _is_blank(cell := values.get(VALUE)):
            return None
        self._refuse_twice(check.check_key if well is None else well[:2], record.line)
        result = _result(cell, values, verifier)
        plain = self._said(check, result.value)
        verdict = result.onto(plain)
        if verdict is not plain:
            verdict = self._said(check, verdict)
        return _Row(record.line, check.check_key, verdict, well)

    def answer(self, key: bytes, rows: Sequence[_Row]) -> Verdict:
        """What the rows of one case say together.

        Raises:
            RowError: If they are not all of its wells on one plate, or contradict an answer that
                was given before.
        """
        check, verdict = self._checks[key], rows[0].verdict
        if rows[0].well is not None:
            verdict = self._said(check, self._on_plate(check, rows))
        answer = HandedIn(key, verdict, self._source, "")
        try:
            refuse_contradictions([answer], self.told)
        except ConfigError as error:
            raise RowError(str(error)) from None
        if key in self._read_twice - self.told.keys() and (
            why := self._reviews.refusal(check, self._source, self._now)
        ):
            raise RowError(f"{why}; leave the value empty")
        return verdict

    def _on_plate(self, check: CheckRow, rows: Sequence[_Row]) -> Verdict:
        """The verdict of wells: put together as replicates are, and then judged as an answer."""
        read = {row.well.well: row.verdict for row in rows if row.well is not None}
        wells = {name: read[name] for name in sorted(read)}  # In whatever order the rows are.
        plates = sorted({row.well.plate for row in rows if row.well is not None})
        if len(plates) > 1:
            raise RowError(
                f"this case lies on {' and '.join(plates)}; hand in the results of one of them"
            )
        missing = self._batches.of(check.check_key, plates[0]) - wells.keys()
        if missing:
            raise RowError(
                f"this case lies in the wells {', '.join(sorted(missing))} of {plates[0]} too, "
                "whose rows are missing, empty or bad; write their values, or `failed`"
            )
        whole = combined(list(wells.values()))
        verifier = self._asking[check.verifier]
        if whole.score is not None and getattr(verifier, "passes", None) is not None:
            whole = replace(whole, outcome=Outcome.ACCEPT, reason="", feedback="")
        told: dict[str, Any] = {PLATE: plates[0]}
        told[WELLS] = {name: _read(said) for name, said in wells.items()}
        for what in (NOTE, REPORTED):
            if of := {n: v.evidence[what] for n, v in wells.items() if what in v.evidence}:
                told[what] = of
        if all(FAILED in said.evidence for said in wells.values()):
            whole = FAILURE
        if controls := self._controls.get(plates[0]):
            told["controls"] = {name: list(reads) for name, reads in controls.items()}
        return replace(whole, evidence={**whole.evidence, **told})

    def _well(self, values: Mapping[str, Any]) -> Well | None:
        """The well that a row names; None if it names none.

        Raises:
            RowError: If nothing of this campaign lies there, or not that control.
        """
        plate, well = (str(values.get(name) or "").strip() for name in (PLATE, WELL))
        if not plate and not well:
            return None
        found = self._batches.wells.get((plate, well.upper()))
        if found is None:
            raise RowError(
                f"nothing of this campaign lies in the well {well!r:.20} of the plate "
                f"{plate!r:.40}; copy both columns from the work order"
            )
        cell = values.get(CONTROL)
        if cell is not None and _plain(str(cell)) not in _spellings(found.control):
            raise RowError(
                f"the column {CONTROL!r} is not that of the well {found.well} of the plate "
                f"{found.plate}: rows may have slipped against each other. Take all columns from "
                "one row of the work order"
            )
        return found

    def _check_place(self, values: Mapping[str, Any], check: CheckRow, well: Well | None) -> None:
        """Refuse a row whose case does not lie in its well.

        Raises:
            RowError: If it is so.
        """
        if well is None and check.check_key in self._placed:
            raise RowError(
                "this case lies on a plate; keep the columns 'plate' and 'well' of its work order"
            )
        if well is not None and well.case != check.check_key:
            raise RowError(
                f"the case {check.check_key.hex()[:16]} does not lie in the well {well.well} of "
                f"the plate {well.plate}: plates or wells may have been swapped. Take all columns "
                "from one row of the work order"
            )
        if well is not None and _is_blank(values.get(DIGEST)):
            raise RowError("keep the column 'digest' of the work order, which names the candidate")

    def _control(self, line: int, values: Mapping[str, Any], well: Well) -> _Row | None:
        """Keep what a control reads.

        Raises:
            RowError: If the row names a case, or its value can't be read.
        """
        if not _is_blank(values.get(CASE)):
            raise RowError(
                f"the well {well.well} of the plate {well.plate} holds the control "
                f"{well.control!r}, and no case: plates or wells may have been swapped"
            )
        if _is_blank(cell := values.get(VALUE)):
            return None
        verifier = self._asking.get(str(values.get("verifier") or "").strip())
        if verifier is None:
            raise RowError("keep the column 'verifier' of the work order, which tells the unit")
        self._refuse_twice(well[:2], line)
        value = _result(cell, values, verifier).value
        if type(value) in {int, float} and decimal(str(value)) is None:
            raise RowError(f"{value!r:.60} is no finite number")
        told = _read(value) if isinstance(value, Verdict) else value
        self._controls[well.plate][well.control].append(
            str(told) if isinstance(told, Bound) else told
        )
        return _Row(line, None, Verdict.accept(), well)

    def _numbers(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The cells that had a decimal comma, with a point.

        Raises:
            RowError: If one has a point already, or commas of another kind.
        """
        if not self._has_comma:
            return {}
        texts = {n: c for n in (VALUE, UNCERTAINTY) if isinstance(c := values.get(n), str)}
        for name, cell in texts.items():
            if "." in cell or cell.count(",") > 1:
                raise RowError(
                    f"the column {name!r}: {cell!r:.60} is no number with a decimal comma, as "
                    "--decimal-comma promises; write digits and one comma, and nothing between "
                    "thousands"
                )
        return {name: cell.replace(",", ".") for name, cell in texts.items()}

    def _refuse_twice(self, key: object, line: int) -> None:
        first = self._lines.setdefault(key, line)
        if first != line:
            raise RowError(
                f"line {first} answers this case too; a case takes one answer, and a well one; "
                "each replicate is a case or a well of its own"
            )

    def _case(self, values: Mapping[str, Any]) -> tuple[CheckRow, Verifier]:
        key = _key(values)
        if key is None:
            raise RowError(
                f"{values.get(CASE)!r:.80} is no case; copy the column 'case' of the work order, "
                f"{_KEY_DIGITS} digits"
            )
        check = self._checks.get(key)
        if check is None or check.verifier not in self._asking:
            raise RowError(
                f"the campaign has not asked the world about {key.hex()[:16]}; see that the "
                "ledger and the campaign are those of the work order"
            )
        return check, self._asking[check.verifier]

    def _said(self, check: CheckRow, value: object) -> Verdict:
        try:
            return said(self._ladder, check.check_key, check, value)
        except (ConfigError, VerifierError) as error:
            raise RowError(str(error)) from None
        except Exception as error:  # A verifier's own reading of answers may raise anything.
            raise RowError(f"{check.verifier}: {text_of(error)}") from error


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _read(verdict: Verdict) -> Any:
    """What was read in a well, as JSON tells it."""
    if (bound := bound_of(verdict.evidence)) is not None:
        return str(bound)
    if verdict.score is None:
        return "failed" if FAILED in verdict.evidence else verdict.outcome.value
    return verdict.score


def _key(values: Mapping[str, Any]) -> bytes | None:
    cell = values.get(CASE)
    if not isinstance(cell, str) or len(cell.strip()) != _KEY_DIGITS:
        return None
    try:
        return bytes.fromhex(cell.strip())
    except ValueError:
        return None


def _check_identity(values: Mapping[str, Any], check: CheckRow) -> None:
    """Refuse a row whose other columns are those of another case: rows may have slipped.

    Raises:
        RowError: If it is so.
    """
    content = content_text(candidate_of(check.payload).content)
    digest = check.content_key.hex()
    identity = (("verifier", check.verifier), ("candidate", content), (DIGEST, digest))
    for column, expected in identity:
        cell = values.get(column)
        if cell is not None and _plain(str(cell)) not in _spellings(expected):
            raise RowError(
                f"the column {column!r} is not that of the case {check.check_key.hex()[:16]}: "
                "rows may have slipped against each other. Take both from one row of the work "
                f"order, or leave the column {column!r} out"
            )


class _Result(NamedTuple):
    """What a row says, in the unit of its verifier."""

    value: Answer
    uncertainty: float | None
    evidence: dict[str, Any]

    def onto(self, verdict: Verdict) -> Verdict:
        """The verdict with what the row says beside its value."""
        if self.uncertainty is None and not self.evidence:
            return verdict
        spread = verdict.uncertainty if self.uncertainty is None else self.uncertainty
        evidence = {**verdict.evidence, **self.evidence}
        return replace(verdict, uncertainty=spread, evidence=evidence)


def _result(cell: Any, values: Mapping[str, Any], verifier: Verifier) -> _Result:
    value, spread = _value(cell), _spread(values.get(UNCERTAINTY), values)
    note = values.get(NOTE)
    text = "" if note is None else mended(str(note)).strip()[:_LONGEST_NOTE]
    evidence: dict[str, Any] = {"note": text} if text else {}
    unit = "" if (given := values.get(UNIT)) is None else str(given).strip()
    if isinstance(value, (Bound, Verdict)) and spread is not None:
        what = "a bound" if isinstance(value, Bound) else "no number"
        raise RowError(
            f"{cell!r:.60} is {what}, which has no uncertainty; leave that column empty"
        )
    if isinstance(value, (bool, NoneType, Verdict)) or _plain(unit) in _spellings(verifier.unit):
        return _Result(value, spread, evidence)
    number = value.value if isinstance(value, Bound) else value
    made, spread = _converted(number, spread, unit, verifier)
    told = str(value) if isinstance(value, Bound) else value
    evidence = {**evidence, REPORTED: {VALUE: told, UNIT: unit}}
    in_unit = replace(value, value=made) if isinstance(value, Bound) else made
    return _Result(in_unit, spread, evidence)


def _converted(value: float, spread: float | None, unit: str, verifier: Verifier) -> Converted:
    wanted = f"{verifier.name} takes {verifier.unit or 'numbers without a unit'}"
    if not unit:
        raise RowError(f"no unit is given; {wanted}, so write that into the column {UNIT!r}")
    if not verifier.unit:
        raise RowError(f"the unit is {unit!r:.60}; {wanted}")
    try:
        return convert(value, spread, unit, verifier.unit)
    except ConfigError as error:
        raise RowError(f"the unit is {unit!r:.60}; {wanted}: {error}") from None


def _spellings(text: str) -> set[str]:
    """A text as it may come back: as it is, and with the apostrophe that kept it from running."""
    return {_plain(text), _plain(str(csv_cell(text)))}


def _plain(text: str) -> str:
    """Text by which cells are compared: one sign for micro, one line end, no half characters."""
    return unicodedata.normalize("NFKC", mended(text)).replace("\r\n", "\n").strip()


def _value(cell: Any) -> Answer:
    if isinstance(cell, (bool, int, float)):
        return cell
    if not isinstance(cell, str):
        raise RowError(f"the column {VALUE!r} holds {words(cell)}; write a number")
    try:
        return read_answer(cell)
    except ConfigError as error:
        hint = "; say --decimal-comma if the file has decimal commas" if "," in cell else ""
        raise RowError(f"the column {VALUE!r}: {error}{hint}") from None


def _spread(cell: Any, values: Mapping[str, Any]) -> float | None:
    if cell is None or not str(cell).strip():
        return None
    number = decimal(str(cell))
    if number is None or number < 0:
        raise RowError(
            f"{cell!r:.60} is no uncertainty; write one standard deviation in "
            f"{values.get(UNIT) or 'the unit of the value'}, with digits and a point, or nothing"
        )
    return number
