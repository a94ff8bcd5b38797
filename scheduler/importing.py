"""Importing: old verdicts enter the ledger, and beliefs learn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from verifier_ladder.badrow import BadRow
from verifier_ladder.imports import ImportReport, ImportRow
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Answer, Block, CheckState, VerdictRow
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.holding import Holding
from verifier_ladder.scheduler.learning import Learning
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_OPEN = (CheckState.QUEUED, CheckState.LEASED, CheckState.WAITING)
Told = tuple[ImportRow, Standing]


class Taken(NamedTuple):
    """Rows that were taken."""

    report: ImportReport
    ended: Mapping[bytes, Verdict]
    """Verdicts of checks that campaigns wait for: they are to be told."""
    good: Sequence[Told]
    """What the beliefs learn from."""


class Importer:
    """Takes old verdicts into one campaign's ledger.

    An imported verdict is a verdict like any other: it is a cache hit from then on. No reward
    changes, except of samples that wait for the very check.
    """

    def __init__(self, desk: Desk, holding: Holding, learning: Learning) -> None:
        """Work at a campaign's desk.

        Args:
            desk: The desk.
            holding: Samples that are compared again when something is learnt.
            learning: What teaches the beliefs.
        """
        self._desk, self._holding, self._learning = desk, holding, learning

    def take(self, rows: Sequence[ImportRow], source: str) -> Taken:
        """Take some rows; a bad one is skipped whole.

        The new verdicts are one entry. A crash before the beliefs have learnt from it is made
        good when the same rows are imported again.
        """
        report = ImportReport(rows=len(rows))
        told = [row for row in rows if row.verdicts]
        standings, arrivals = self._desk.intake.recognise([row.candidate for row in told])
        with self._desk.lock:
            good, fresh = self._sift(list(zip(told, standings, strict=True)), source, report)
            awaited = self._awaited(fresh)
            written = [row for key, row in fresh.items() if key not in awaited]
            self._write(source, arrivals, written)
            _learn(self._desk.ladder, [standing for _, standing in good], fresh)
        report.verdicts, report.answered = len(fresh), len(awaited)
        ended = {key: fresh[key].verdict for key in awaited}
        self._answer(ended, source)
        return Taken(report, ended, good)

    def teach(self, taken: Taken) -> None:
        """Teach the beliefs what rows say, once the samples that waited for it have learnt."""
        with self._desk.lock:
            taken.report.taught = self._teach(taken.good)
            if taken.report.taught:
                self._holding.reconsider()

    # -- what is new ---------------------------------------------------------------------------

    def _sift(
        self, told: Sequence[Told], source: str, report: ImportReport
    ) -> tuple[list[Told], dict[bytes, VerdictRow]]:
        """The good rows, and the verdicts that the ledger does not hold, by check key."""
        keys = {key for _, standing in told for key in standing.keys}
        known = self._desk.ledger.verdicts(list(keys))
        fresh: dict[bytes, VerdictRow] = {}
        good: list[Told] = []
        for row, standing in told:
            if problem := standing.problem:
                report.bad_rows.append(BadRow(row.line, f"{problem.reason}{_advice(problem)}"))
                continue
            given = self._rows(row, standing, source)
            wrong = self._of_groups(row) or self._too_often(row)
            if wrong := wrong or _contradiction(given, known, fresh):
                report.bad_rows.append(BadRow(row.line, wrong))
                continue
            good.append((row, standing))
            report.known += sum(key in known or key in fresh for key in given)
            fresh.update((key, new) for key, new in given.items() if key not in known)
        return good, fresh

    def _rows(self, row: ImportRow, standing: Standing, source: str) -> dict[bytes, VerdictRow]:
        """A row's verdicts as the ledger keeps them, by check key."""
        found = {}
        for verifier, key in self._told(row, standing):
            verdict = row.verdicts[verifier.name]
            marked = replace(verdict, evidence={**verdict.evidence, "source": source})
            found[key] = _verdict_row(verifier, key, standing, marked)
        return found

    def _told(self, row: ImportRow, standing: Standing) -> list[tuple[Verifier, bytes]]:
        """Which verifiers a row tells of, with the keys of their checks."""
        asked = zip(self._desk.ladder.askings, standing.keys, strict=True)
        return [
            (verifier, key) for (verifier, number), key in asked
            if verifier.name in row.verdicts
            and number == (row.repeat if verifier.replicates > 1 else 0)
        ]  # fmt: skip

    def _of_groups(self, row: ImportRow) -> str:
        """What is wrong with a row that tells what a verifier said of a member of a group."""
        for verifier in self._desk.ladder.verifiers:
            if verifier.scope == "group" and verifier.name in row.verdicts:
                return f"{verifier.name} judges whole groups, and a row tells of one candidate"
        return ""

    def _too_often(self, row: ImportRow) -> str:
        """What is wrong with a row that is one more than a verifier has replicates."""
        for verifier in self._desk.ladder.verifiers:
            if verifier.name in row.verdicts and row.repeat >= verifier.replicates > 1:
                return (
                    f"{verifier.name} has {verifier.replicates} replicates, and {row.repeat} rows "
                    "about this candidate came before"
                )
        return ""

    # -- what becomes of it --------------------------------------------------------------------

    def _awaited(self, fresh: Mapping[bytes, VerdictRow]) -> set[bytes]:
        """Those that somebody waits for: a check that is known must not be paid for."""
        if not fresh:
            return set()
        checks = self._desk.ledger.checks(keys=list(fresh), states=_OPEN, payloads=False)
        return {check.check_key for check in checks}

    def _write(self, source: str, arrivals: Arrivals, rows: Sequence[VerdictRow]) -> None:
        if rows or arrivals.candidates:
            self._desk.ledger.append(Block(
                "import", self._desk.campaign, arrivals.candidates, rows,
                facts={"source": source},
            ))  # fmt: skip

    def _answer(self, ended: Mapping[bytes, Verdict], source: str) -> None:
        """End the checks that are waited for."""
        ledger = self._desk.ledger
        told = [
            Answer(key, verdict, f"import of {source}", key.hex())
            for key, verdict in ended.items()
        ]
        if told:
            ledger.answers(told, now=ledger.clock())

    def _teach(self, good: Sequence[Told]) -> int:
        """Teach the beliefs what the top tier has said; none of it was drawn at random."""
        knowledge = self._desk.climb.knowledge
        said: dict[bytes, Standing] = {}
        heard: list[bytes] = []
        for row, standing in good:
            keys = [key for _, key in self._told(row, standing)]
            is_lesson = knowledge.is_lesson(standing, row.verdicts.keys())
            if is_lesson and self._learning.is_new(standing, keys):
                said[knowledge.judgement_key(standing)] = standing
                heard += keys
        lessons = knowledge.lessons(list(said.values()), [None] * len(said))
        self._learning.take(lessons, heard)
        return len(said)


def _learn(
    ladder: Ladder, standings: Sequence[Standing], fresh: Mapping[bytes, VerdictRow]
) -> None:
    """Tell the standings that this process holds."""
    for standing in standings:
        for (verifier, number), key in zip(ladder.askings, standing.keys, strict=True):
            if key in fresh:
                standing.hear(verifier, number, fresh[key].verdict)


def _verdict_row(
    verifier: Verifier, key: bytes, standing: Standing, verdict: Verdict
) -> VerdictRow:
    return VerdictRow(
        key, standing.content_key, verifier.name, verifier.version, int(verifier.tier), verdict
    )


def _contradiction(
    given: Mapping[bytes, VerdictRow],
    known: Mapping[bytes, Verdict],
    fresh: Mapping[bytes, VerdictRow],
) -> str:
    """What a row says differently from the ledger or an earlier row; empty if nothing."""
    for key, row in given.items():
        earlier = known.get(key) or (fresh[key].verdict if key in fresh else None)
        new = row.verdict
        if earlier is None or (earlier.outcome, earlier.score) == (new.outcome, new.score):
            continue
        where = "the ledger" if key in known else "an earlier row"
        return (
            f"{row.verifier} {row.version} says {_said(new)}, and {where} {_said(earlier)}; "
            "give one value per candidate, or its verifier another version"
        )
    return ""


def _said(verdict: Verdict) -> str:
    score = "" if verdict.score is None else f" with {verdict.score:g}"
    return f"{verdict.outcome}{score}"


def _advice(problem: Verdict) -> str:
    return "; import it again" if problem.failed_at else ""
