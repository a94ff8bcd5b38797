"""The score path: the learner waits while samples become rewards, and one entry is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from verifier_ladder import telemetry
from verifier_ladder.candidate import Candidate, sample_place
from verifier_ladder.case import sealing_field
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.records import (
    Block,
    CandidateRow,
    CheckRow,
    LateError,
    Request,
    SampleColumns,
    SampleReward,
)
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.candidates import candidate_json
from verifier_ladder.scheduler.climb import Scene, Step
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.draws import facts_of
from verifier_ladder.scheduler.expecting import Expecting
from verifier_ladder.scheduler.gathering import Gathered
from verifier_ladder.scheduler.grouping import Grouping
from verifier_ladder.scheduler.headroom import Headroom
from verifier_ladder.scheduler.holding import Holding
from verifier_ladder.scheduler.queueing import Enqueue, awaited, checks_of, hurried, join
from verifier_ladder.scheduler.reviser import Reviser
from verifier_ladder.scheduler.samples import StepSamples, TakenError
from verifier_ladder.scheduler.seals import Seals
from verifier_ladder.scheduler.standing import Standing, subject_columns
from verifier_ladder.scheduler.uncollected import uncollected


@dataclass(slots=True)
class Batch:
    """Samples of one run and step, as the columns of one call."""

    run: str
    step: int
    positions: list[int]
    candidates: list[Candidate | str | bytes]
    groups: list[str] | None = None
    group_sizes: list[int] | None = None
    learner_versions: list[str] | None = None
    weights: list[float] | None = None
    more: int | None = None
    """How many samples follow in later calls; None where nobody knows."""


class Scorer:
    """Scores batches for one campaign."""

    def __init__(
        self, desk: Desk, holding: Holding, reviser: Reviser, expecting: Expecting,
        headroom: Headroom, *, groups: Grouping,
    ) -> None:  # fmt: skip
        """Work at a campaign's desk."""
        self._groups = groups
        self._desk, self._holding, self._reviser = desk, holding, reviser
        self._expecting, self._headroom = expecting, headroom
        fields = map(sealing_field, desk.ladder.verifiers)
        self._seals = Seals(desk.ledger, dict.fromkeys(field for field in fields if field))

    def score(self, batch: Batch, until: float | None) -> list[Reward]:
        """Score one batch; higher tiers are asked for, and answer later.

        All of it is one update, however large: its samples are decided together and recorded in
        one entry, and those of one candidate share one decision, one draw and one factor. Long
        candidates are written before, piece by piece.

        Args:
            batch: Samples of one run and step. Those recorded before are answered from the ledger.
            until: Monotonic time by which the first tier must have answered.

        Raises:
            ConfigError: If a sample's id was recorded with another candidate, task or turns.
        """
        while True:
            marked = self._marked(batch)
            try:
                return self._score(marked, until)
            except LateError:  # A time has passed meanwhile; what came by then is late now.
                continue
            except TakenError as error:  # Perhaps only by another call with the same samples.
                if self._marked(batch).candidates == marked.candidates:
                    raise ConfigError(str(error)) from None

    def _score(self, batch: Batch, until: float | None) -> list[Reward]:
        arrivals = Arrivals(write=self._write_candidates)
        with arrivals, self._headroom.during(len(batch.positions)):
            standings = self._desk.intake.standings(batch.candidates, until, arrivals)
            try:
                self._expecting.ask(standings, until)
                told = self._groups.judge(batch, standings, until, arrivals)
                return self._answer(batch, told, arrivals, until)
            except BaseException as error:  # What nobody has recorded, nobody knows.
                if isinstance(error, LateError | TakenError):
                    self._keep(arrivals)
                self._desk.intake.forget(standings)
                raise

    def _marked(self, batch: Batch) -> Batch:
        """The batch with the tasks of those samples marked that did not come in time."""
        if not self._seals.names(batch.candidates):
            return batch
        before = self._rows(batch)
        recorded = [before.get(position) for position in batch.positions]
        return replace(batch, candidates=self._seals.mark(batch.candidates, recorded))

    def _rows(self, batch: Batch) -> Mapping[int, SampleReward]:
        """What was recorded of the batch's samples before, by position."""
        within = (min(batch.positions), max(batch.positions))
        return self._desk.ledger.recorded(
            self._desk.campaign, batch.run, batch.step, within=within
        )

    def _answer(
        self, batch: Batch, told: Gathered, arrivals: Arrivals, until: float | None
    ) -> list[Reward]:
        """The recorded rewards of samples that were submitted before; the rest is recorded now."""
        standings = told.standings
        before = self._recorded(batch, standings)
        size = len(batch.positions)
        if not before:
            rewards = self._record(batch, told, arrivals, until, size)
            self._groups.recorded(batch, told, range(size), until)
            return rewards
        fresh = [place for place, p in enumerate(batch.positions) if p not in before]
        made: Iterator[Reward] = iter(())
        if fresh:
            some = replace(told, standings=[standings[place] for place in fresh])
            made = iter(self._record(_part(batch, fresh), some, arrivals, until, size))
        elif arrivals.verdicts:  # A failure that was asked about once more.
            kept = self._headroom.after(size, arrivals.charges, self._desk.accounts())
            self._keep(arrivals, kept)
        self._groups.recorded(batch, told, fresh, until)
        return [before[p] if p in before else next(made) for p in batch.positions]

    def _record(
        self,
        batch: Batch,
        told: Gathered,
        arrivals: Arrivals,
        until: float | None,
        size: int,
    ) -> list[Reward]:
        """Decide, and write down what came of it, for all or some of an update of that size."""
        standings = told.standings
        wanted = None if until is None else self._desk.ledger.clock() + until - monotonic()
        with self._desk.lock, uncollected:
            accounts = self._desk.accounts()
            scene = Scene(
                StepSamples(batch.run, batch.step, batch.positions), standings,
                accounts, len(standings), size, batch.weights, batch.groups,
                more=batch.more,
            )  # fmt: skip
            climb = self._desk.climb
            step = climb.postpone(scene) if self._groups.decides_later else climb.step(scene)
            step.rewards = list(told.marked(step.rewards, batch.positions))
            rewards, enqueue = self._ask_on(batch, standings, step, wanted, size)
            samples = _samples(batch, standings)
        if wanted is not None and enqueue:
            enqueue = hurried(enqueue, wanted)
        if telemetry.active is not None:
            enqueue = telemetry.active.asked(enqueue)
            telemetry.active.looked_up(
                self._desk.campaign, len(standings), arrivals.verdicts, arrivals.took
            )
        self._desk.watches.open(batch.run, batch.step, batch.positions, rewards)
        facts = arrivals.facts() | facts_of(step.lots, batch.positions)
        facts |= told.facts(batch.positions)
        if size != len(batch.positions):
            facts["size"] = size  # What its update was drawn with, after a restart too.
        block = Block(
            "score", self._desk.campaign, arrivals.candidates, arrivals.verdicts,
            samples, step.decisions, rewards, facts,
        )  # fmt: skip
        kept = self._headroom.after(size, arrivals.charges, accounts)
        self._groups.recording(told)
        self._desk.append(
            block, enqueue=enqueue, charges=arrivals.charges, kept=kept,
            sealing=self._seals.sealing(batch.candidates),
        )  # fmt: skip
        self._desk.intake.forget_failures(standings)
        if self._holding.is_needed:
            self._hold(enqueue)
        if enqueue:
            self._reviser.take_up([check.check_key for check, _ in enqueue])
        return rewards

    def _write_candidates(self, candidates: Sequence[CandidateRow]) -> None:
        """Write down candidates before the rest of their call."""
        self._desk.ledger.append(Block("score", self._desk.campaign, candidates))

    def _keep(self, arrivals: Arrivals, kept: Cost | None = None) -> None:
        """Write down what was said and paid where no samples are recorded with it."""
        block = Block(
            "score", self._desk.campaign, arrivals.candidates, arrivals.verdicts,
            facts=arrivals.facts(),
        )  # fmt: skip
        if arrivals.verdicts or arrivals.candidates or arrivals.charges:
            self._desk.ledger.append(block, charges=arrivals.charges, kept=kept)

    def _hold(self, enqueue: Enqueue) -> None:
        """Compare what was asked for with what else is held."""
        with self._desk.lock:
            requests = [request for _, waiting in enqueue for request in waiting]
            self._holding.note(requests, {check.check_key for check, _ in enqueue})
            self._holding.reconsider()

    def _recorded(self, batch: Batch, standings: Sequence[Standing]) -> dict[int, Reward]:
        """The rewards of those samples that were submitted before, by position."""
        if not (rows := self._rows(batch)):
            return {}
        before = {}
        for position, standing in zip(batch.positions, standings, strict=True):
            row = rows.get(position)
            if row is None:
                continue
            if (other := self._other(row, standing)) is not None:
                place = sample_place(batch.run, batch.step, position, standing.given)
                raise TakenError(
                    f"{place} was recorded with {other}; give each sample an id of its own"
                )
            before[position] = row.reward
        return before

    def _other(self, row: SampleReward, standing: Standing) -> str | None:
        """What a recorded sample differs in from one that has its id."""
        is_same = row.content_key == standing.content_key
        if not is_same and not self._desk.intake.is_named(standing.given, row.content_key):
            return "another candidate"
        if row.task_key != standing.task_key:
            return "another task"
        return None if row.turns_key == standing.turns_key else "other turns"

    def _ask_on(
        self,
        batch: Batch,
        standings: Sequence[Standing],
        step: Step,
        until: float | None,
        size: int,
    ) -> tuple[list[Reward], Enqueue]:
        rewards = step.rewards
        if not step.escalate:
            return rewards, []
        rewards = list(rewards)
        asked: dict[bytes, tuple[CheckRow, list[Request]]] = {}
        checks = checks_of(
            self._desk.campaign, self._desk.climb.knowledge, standings, step.escalate,
            is_held=self._holding.is_needed,
        )  # fmt: skip
        if until is not None:
            self._desk.climb.knowledge.punctuality.expect(
                (
                    (batch.run, batch.step, batch.positions[escalation.place]),
                    standings[escalation.place].place_of(check.check_key),
                )
                for escalation, check in zip(step.escalate, checks, strict=True)
                if escalation.draw is not None and not escalation.draw.is_certain
            )
        for escalation, check in zip(step.escalate, checks, strict=True):
            index = escalation.place
            standing = standings[index]
            rewards[index] = awaited(rewards[index])
            state: dict[str, Any] = {
                "candidate": candidate_json(standing.candidate), "given": _text(standing),
                "group": batch.groups[index] if batch.groups else "",
                "learner_version": (
                    batch.learner_versions[index] if batch.learner_versions else ""
                ),
                "weight": batch.weights[index] if batch.weights else 1.0,
                "value": rewards[index].value, "revision": 0, "draw": escalation.draw,
                "size": size,
            }  # fmt: skip
            if escalation.lot is not None:
                state["lot"] = escalation.lot
            if standing.expected:
                state["expected"] = dict(standing.expected)
            request = Request(
                check.check_key, check.campaign, batch.run, batch.step, batch.positions[index],
                standing.content_key, state,
            )  # fmt: skip
            join(asked, check, request)
        return rewards, list(asked.values())


def _samples(batch: Batch, standings: Sequence[Standing]) -> SampleColumns:
    return SampleColumns(
        batch.run, batch.step, batch.positions, [s.content_key for s in standings],
        [s.used for s in standings], batch.groups, batch.group_sizes, batch.learner_versions,
        batch.weights, **subject_columns(standings),
    )  # fmt: skip


def _text(standing: Standing) -> str | None:
    """One spelling of a text candidate, where it differs from the canonical form."""
    same = standing.given == standing.candidate.content
    return None if same or isinstance(standing.given, bytes) else standing.given


def _part(batch: Batch, rows: Sequence[int]) -> Batch:
    def take(column: list[Any] | None) -> list[Any] | None:
        return None if column is None else [column[i] for i in rows]

    return Batch(
        batch.run, batch.step, [batch.positions[i] for i in rows],
        [batch.candidates[i] for i in rows], take(batch.groups), take(batch.group_sizes),
        take(batch.learner_versions), take(batch.weights), batch.more,
    )  # fmt: skip
