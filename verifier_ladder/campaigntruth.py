"""Control and truth: what a campaign is told, of its checks, of open cases and of old."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from operator import methodcaller
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from verifier_ladder.arguments import checked, checked_value
from verifier_ladder.campaignrecord import CampaignRecord
from verifier_ladder.candidate import Candidate
from verifier_ladder.case import Case, question_of, times_of
from verifier_ladder.corrections import OVERTAKEN, LeftOut, Resettled, corrections
from verifier_ladder.errors import ConfigError
from verifier_ladder.imports import ImportReport
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import CheckRow, CheckState
from verifier_ladder.ledger.store import chunks
from verifier_ladder.measurement import Bound
from verifier_ladder.retrying import Retried, retry
from verifier_ladder.run import Run
from verifier_ladder.scheduler.candidates import shown_candidate
from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn
from verifier_ladder.tier import Tier, tier_of
from verifier_ladder.verdict import Verdict

_ANSWERS = 256
"""Results of the world that are taken in one transaction."""


class CampaignTruth(CampaignRecord):
    """**Abstract:** the part of a campaign that steers what is queued, and hears of truth."""

    ladder: Ladder
    run: Run

    if TYPE_CHECKING:

        def _call(self, call: Callable[[Any], Any]) -> Any: ...

    @checked(tier=0)
    def pause(self, tier: Tier | str) -> None:
        """Start no more checks of a tier, in whatever process, until `resume`.

        Checks at work finish, open cases stay open, and what is asked for stays queued.

        Raises:
            ConfigError: If the ladder does not have the tier.
        """
        self.ledger.pause(self.name, int(tier_of(self.ladder.tiers, tier)))

    @checked(tier=0)
    def resume(self, tier: Tier | str) -> None:
        """Let a paused tier go on.

        Raises:
            ConfigError: If the ladder does not have the tier.
        """
        self.ledger.resume(self.name, int(tier_of(self.ladder.tiers, tier)))
        self._call(methodcaller("wake"))

    @checked(run=1, step=0)
    def cancel(
        self,
        run: str | None = None,
        *,
        step: int | None = None,
        positions: Collection[int] | None = None,
        at_work: bool = False,
    ) -> Withdrawn:
        """Say that nobody wants the waiting samples of a run any more.

        Each keeps the reward that follows from what is known by now, as one last revision. One
        that waits for the rest of its group leaves the group: the call that brought it returns,
        and the others are compared without it.
        Checks that nobody else waits for are cancelled, open cases too; for others the first who
        waits pays from now on. Checks at work finish, are paid, and their verdicts are kept.

        Args:
            run: The run; the campaign's own by default.
            step: Only samples of this step.
            positions: Only samples at these positions.
            at_work: Whether checks at work that nobody else waits for are abandoned too. Their
                workers are stopped within a heartbeat, 5 seconds; what they have taken so far
                is charged as failed.

        Raises:
            ConfigError: If the campaign holds no such run, or that no such step or position.

        Example:
            >>> import verifier_ladder as vl
            >>> @vl.verifier(kind="text", version="1", isolation="inline")
            ... def length(candidate):
            ...     return float(len(candidate.content))
            >>> with vl.Campaign.open("try", ladder=vl.Ladder("l", [length])) as campaign:
            ...     campaign.cancel()
            Withdrawn(samples=0, checks=0)
        """
        chosen = None if positions is None else frozenset(positions)
        wanted = Wanted(run or self.run.name, step, chosen)
        is_named = run is not None or step is not None
        done: Withdrawn = self._call(
            lambda conductor: conductor.withdraw(wanted, at_work, is_named)
        )
        return done

    @checked(verifier=1)
    def retry(self, *, verifier: str | None = None) -> Retried:
        """Queue the campaign's dead checks again; rewards hear of what they say.

        Args:
            verifier: Only those of this verifier.
        """
        dead = self.ledger.checks(states=[CheckState.DEAD], campaign=self.name, verifier=verifier)
        done = retry(self.ledger, dead)
        self._call(methodcaller("wake"))
        return done

    # -- world cases ---------------------------------------------------------------------------

    @checked(limit=0)
    def cases(self, limit: int | None = None) -> list[Case]:
        """Open world cases, the most valuable first; all of them, or so many."""
        waiting = self.ledger.checks(states=[CheckState.WAITING], campaign=self.name, limit=limit)
        shown = [(check, shown_candidate(check, self.ladder.verifiers)) for check in waiting]
        return [self._case(check, candidate) for check, candidate in shown if candidate]

    def _case(self, check: CheckRow, candidate: Candidate) -> Case:
        verifier = next((v for v in self.ladder.verifiers if v.name == check.verifier), None)
        question = question_of(verifier, candidate, check.verifier)
        unit = verifier.unit if verifier else ""
        times = (None, None) if verifier is None else times_of(verifier, candidate)
        return Case(
            check.check_key, check.verifier, candidate, question, unit, check.deadline, *times
        )

    @checked(source=1)
    def answer(
        self,
        case: Case | bytes | str,
        value: Verdict | Bound | float | bool | None,  # noqa: FBT001 - the answer itself
        *,
        source: str,
        event: str | None = None,
    ) -> bool:
        """Hand in the world's result for a case; the rewards that waited for it are revised.

        Args:
            case: The case, as `cases` gives it, or its key, as bytes or in hexadecimal.
            value: A number or a `Bound` in the case's unit, True or False where its verifier
                takes them, a verdict, or None to decline.
            source: Who answers.
            event: Id of the delivery: the same (source, event) again changes nothing.

        Returns:
            Whether it was taken; False if the same was answered before.

        Raises:
            ConfigError: If there is no such case, or it was answered otherwise before.
            VerifierError: If the value is not valid for it.
        """
        given = {_key(case): (value, event or uuid4().hex)}
        (is_taken,) = self._call(methodcaller("answers", given, source))
        return bool(is_taken)

    @checked(source=1)
    def answer_all(
        self,
        values: Mapping[bytes, Verdict | Bound | float | bool | None]
        | Mapping[str, Verdict | Bound | float | bool | None],
        *,
        source: str,
        event: str | None = None,
    ) -> int:
        """Hand in the world's results for many cases, such as those of a plate.

        Up to 256 at a time are taken together: all of them or none.

        Args:
            values: By the key of each case, as `answer` takes them.
            source: Who answers.
            event: Id of the delivery: the same cases under the same (source, event) again change
                nothing.

        Returns:
            How many were taken; the others were answered so before.

        Raises:
            ConfigError: If there is no such case, or it was answered otherwise before.
            VerifierError: If a value is not valid for its case.
        """
        delivery = event or uuid4().hex
        named = [(_key(case), _value(value)) for case, value in values.items()]
        given = {key: (value, f"{delivery}/{key.hex()}") for key, value in named}
        if len(given) < len(named):
            raise ConfigError("answer_all was given two values for one case; give it one")
        parts = chunks(list(given.items()), _ANSWERS)
        return sum(sum(self._call(methodcaller("answers", dict(p), source))) for p in parts)

    @checked(source=1)
    def supersede(
        self,
        case: Case | bytes | str,
        value: Verdict | Bound | float | bool | None,  # noqa: FBT001 - the answer itself
        *,
        source: str,
        why: str = "",
    ) -> bool:
        """Put another answer in the place of a wrong one; rewards that rest on it are revised.

        They are those of all samples of all campaigns, also of samples that came later. The
        wrong answer stays in the ledger; beliefs keep what they have learnt from it.

        Args:
            case: The case, as `cases` gave it, or its key, as bytes or in hexadecimal.
            value: What is right, as `answer` takes it; None if that is not known.
            source: Who says so.
            why: Why the other answer was wrong.

        Returns:
            Whether it was taken; False if the answer that stands says the same.

        Raises:
            ConfigError: If there is no such case, or it was not answered yet.
            VerifierError: If the value is not valid for it.
        """
        key = _key(case)
        return bool(self._call(methodcaller("supersede", key, value, source, why)))

    def resettle(self) -> Resettled:
        """Settle cases anew that feeds tell otherwise of by now; their rewards are revised.

        A feed may revise what it has told, or tell of a split later. Every settled case is looked
        at once more, here and not in a worker; where the outcome or the score differs, the new
        answer supersedes. What people have said stands, also what they say meanwhile. A case that
        is still open is not among them: `drain` does not wait for the world.

        Returns:
            How many cases come out otherwise, and which could not be looked at: where a feed is
            away it is asked once, and where other settings have settled a case it is not asked.
        """
        superseded, why = 0, "its feed tells otherwise by now"
        left_out: dict[tuple[str, str], list[str]] = {}
        for check, verdict, reason, as_of in corrections(self.ledger, self.name, self.ladder):
            new = (check.check_key, verdict, "feed", why, as_of)
            if verdict is not None and self._call(methodcaller("supersede", *new)):
                superseded += 1
            else:
                named = check.verifier, reason or OVERTAKEN
                left_out.setdefault(named, []).append(check.check_key.hex())
        told = tuple(LeftOut(*named, tuple(cases)) for named, cases in left_out.items())
        return Resettled(superseded, told)

    # -- warm start ----------------------------------------------------------------------------

    @checked(source=1)
    def import_verdicts(
        self,
        rows: Any,
        *,
        source: str,
        columns: Mapping[str, str] | None = None,
        ignore: Collection[str] = (),
    ) -> ImportReport:
        """Take over old scores: they are never paid for again, and beliefs learn from them.

        Nothing is verified: candidates are only brought to canonical form. A bad row is skipped
        whole and told in the report. The same rows again change nothing.

        Args:
            rows: Rows by name, a table of pandas, polars or Arrow, or a file of JSON lines, CSV
                or Parquet. The column `content` holds the candidate, `task` its task if it has
                one, and one column per verifier its score, true or false; null was not asked.
            source: Where they come from; it is kept as evidence in every verdict.
            columns: Names of columns that are called otherwise: `{"content": "smiles"}`.
            ignore: Columns that are nothing of this.

        Raises:
            ConfigError: If a column is missing or unknown; nothing is imported then.
            LedgerError: If the ledger can't be written; what is not written is imported by the
                next call.

        Example:
            >>> import verifier_ladder as vl
            >>> @vl.verifier(tier="simulation", kind="text", version="1")
            ... def relax(candidate): ...
            >>> with vl.Campaign.open("warm", ladder=vl.Ladder("l", [relax])) as campaign:
            ...     rows = [{"content": "a", "relax": 0.5}, {"content": "b", "relax": None}]
            ...     campaign.import_verdicts(rows, source="last year").verdicts
            1
        """
        from verifier_ladder.rollouts.imported import ImportTable

        if isinstance(rows, str):
            checked_value("Campaign.import_verdicts", "rows", rows, "str | Path")
        report = ImportReport()
        table = ImportTable(rows, self.ladder, columns=columns, ignore=ignore)
        for good, bad in table.chunks():
            report += ImportReport(rows=len(bad), bad_rows=bad)
            report += self._call(methodcaller("import_rows", good, source))
        report.bad_rows.sort()
        return report


def _value(value: Any) -> Any:
    wanted = "Verdict | Bound | float | bool | None"
    return checked_value("Campaign.answer_all", "a value", value, wanted)


def _key(case: Case | bytes | str) -> bytes:
    """The key of a case.

    Raises:
        ConfigError: If it is neither a case nor a key.
    """
    if isinstance(case, Case):
        return case.check_key
    try:
        return bytes.fromhex(case) if isinstance(case, str) else bytes(memoryview(case))
    except (TypeError, ValueError):
        raise ConfigError(
            f"{str(case)[:60]!r} is no case; give one of campaign.cases(), or its check_key"
        ) from None
