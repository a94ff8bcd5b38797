"""The conductor: one open campaign at work in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from threading import RLock
from time import monotonic
from uuid import uuid4

from verifier_ladder import telemetry
from verifier_ladder.containment import ContainedLog, ends_program, text_of
from verifier_ladder.errors import EngineError, LedgerError
from verifier_ladder.horizon import horizon_of, plan
from verifier_ladder.imports import ImportReport, ImportRow
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.baton import Baton, BatonLostError
from verifier_ladder.ledger.records import HELD, Answer, CheckRow, CheckState
from verifier_ladder.retrying import retry
from verifier_ladder.reviews import Reviews
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.answering import (
    refuse_contradictions,
    refuse_lone_readers,
    refuse_lost,
    said,
)
from verifier_ladder.scheduler.beliefs import create_model
from verifier_ladder.scheduler.cancellations import Cancellations
from verifier_ladder.scheduler.climb import Climb
from verifier_ladder.scheduler.comparisons import Comparisons
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.expecting import Expecting
from verifier_ladder.scheduler.grouping import Grouping
from verifier_ladder.scheduler.groups import Groups
from verifier_ladder.scheduler.headroom import Headroom
from verifier_ladder.scheduler.holding import Holding
from verifier_ladder.scheduler.importing import Importer
from verifier_ladder.scheduler.intake import Intake
from verifier_ladder.scheduler.knowledge import Knowledge
from verifier_ladder.scheduler.learning import Learning
from verifier_ladder.scheduler.occupancy import Occupancy
from verifier_ladder.scheduler.onethread import one_thread
from verifier_ladder.scheduler.openrequests import OpenRequests
from verifier_ladder.scheduler.reviser import Reviser
from verifier_ladder.scheduler.runsteps import RunSteps
from verifier_ladder.scheduler.scorer import Batch, Scorer
from verifier_ladder.scheduler.superseding import supersede
from verifier_ladder.scheduler.surrogates import Surrogates
from verifier_ladder.scheduler.undecided import Undecided
from verifier_ladder.scheduler.watch import SampleKey, Watches
from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn, check_known
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

_LOG = ContainedLog("verifier_ladder")


class OccupiedError(Exception):
    """Others are at work with what has become stale."""


class Conductor:
    """Joins the score path and the climb path of one campaign on one engine.

    **Threads.** Any number of threads may score at once.

    **Machines.** It holds the campaign's baton: nobody else decides for it meanwhile.
    """

    _baton: Baton
    """Held from `start` to `close`."""

    def __init__(
        self, name: str, ladder: Ladder, ledger: Ledger, engine: LocalEngine, seed: bytes
    ) -> None:
        """Serve a campaign; `start` takes up what an earlier process left."""
        self.name, self.ladder = name, ladder
        self._ledger, self._engine, self._seed = ledger, engine, seed
        self._surrogates = Surrogates.of(name, ladder, ledger)
        self._steps = RunSteps(name, ledger)
        self._watches = Watches()
        self._believes = len(ladder.rungs) > 1
        self._turn = RLock()
        self._occupancy = Occupancy()
        self._is_stale = True
        self._faults: list[BaseException] = []
        """What ended this campaign's climbs in the background, the newest last."""
        self._told = 0
        """How many of these a caller was told."""
        self._is_behind = False
        """Whether checks may have ended of which the climbs were not told."""

    def _build(self) -> None:
        """Make the paths, knowing nothing."""
        if self._surrogates is not None:
            self.ladder = self._surrogates.in_force()
        name, ladder, ledger, engine = self.name, self.ladder, self._ledger, self._engine
        lock = RLock()
        knowledge = Knowledge(ladder, create_model(ladder), horizon_of(ledger, name))
        self._prices = knowledge.prices
        climb = Climb(knowledge, self._seed)
        intake = Intake(ladder, ledger, engine, lock)
        requests = OpenRequests(name, ladder, ledger, intake)
        desk = Desk(
            name, ladder, ledger, climb, intake, self._watches, requests,
            Undecided(name, ledger), lock,
        )  # fmt: skip
        self._cache = intake.cache
        self._holding = Holding(desk, width=engine.workers)
        self._learning = Learning(knowledge, ledger, name)
        self._reviser = Reviser(desk, self._holding, self._learning)
        self._headroom = Headroom(name, ladder, ledger, self._prices)
        self._groups: Grouping
        if ladder.compares_above:
            self._groups = Comparisons(desk, self._reviser)
        else:
            self._groups = Groups(desk, intake.asking, engine.workers)
        self._scorer = Scorer(
            desk, self._holding, self._reviser, Expecting(ladder, engine, lock), self._headroom,
            groups=self._groups,
        )  # fmt: skip
        self._cancellations = Cancellations(ledger, name)
        is_read = ledger.is_shared and any(verifier.waits for verifier in ladder.verifiers)
        self._reviews = Reviews(ledger, name, ladder) if is_read else None
        self._importer = Importer(desk, self._holding, self._learning)

    def start(self) -> None:
        """Restore beliefs and go on with checks that were under way.

        Raises:
            ConfigError: If the campaign is open on another machine.
        """
        self._baton = self._ledger.baton(self.name)
        try:
            self._be_current()
            self._engine.attach(self.name, self)
        except BaseException:
            self._baton.close()
            raise

    def _restore(self) -> None:
        self._learning.restore()
        self._prices.take_up(self._ledger.count_samples(self.name), self._unfinished())
        self._holding.restore()
        self._groups.restore()
        if any(tier is not Tier.FAST for tier in self.ladder.tiers[:-1]):
            self._reviser.keep_promises()

    def _be_current(self) -> bool:
        """Make sure that this process decides, and that it knows what the ledger holds.

        Returns:
            Whether it does; not while others are at work with what has become stale. They would
            decide, and write, beside those who read it anew.

        Raises:
            BatonLostError: If another process decides now.
            EngineError: Once, if something went wrong in the background; the next call goes on.
        """
        with self._turn:
            self._tell_fault()
            if not self._baton.hold():
                self._is_stale = True
            if not self._is_stale:
                return True
            if not self._occupancy.is_empty:
                return False
            self._build()
            self._restore()
            self._is_stale = False
            if self._is_behind:
                self._is_behind = False
                self._engine.resume(self.name, self)
        return True

    def _left(self) -> None:
        """Let the engine go on with what it left for later, once the last caller is out."""
        if self._surrogates is not None:
            self._surrogates.heard(self._learning.judgements)
        if self._is_behind and self._occupancy.is_empty:
            self._engine.catch_up()

    def fail(self, error: BaseException) -> None:
        """Hear that the engine works no more for this campaign, until a caller was told why."""
        self._faults.append(error)
        self._is_behind = True
        self._watches.nudge()

    def _tell_fault(self, told: int | None = None) -> None:
        """Raise what went wrong in the background; the next call reads all anew, and goes on.

        Args:
            told: How many faults the caller knows of; by default those that anybody was told.
        """
        if len(self._faults) <= (self._told if told is None else told):
            return
        self._told, self._is_stale = len(self._faults), True
        error = self._faults[-1]
        raise EngineError(
            f"campaign {self.name} stopped in the background: {text_of(error)}; the next call "
            "goes on"
        ) from error

    def _enter(self, inside: ExitStack, *, patient: bool) -> None:
        """Come in; who is not patient leaves those alone that are at work with what is stale."""
        while True:
            with self._turn:
                if self._be_current():
                    inside.callback(self._left)
                    inside.enter_context(self._occupancy)
                    return
            if patient:
                self._occupancy.wait_empty()
                continue
            self._is_behind = True
            if not self._occupancy.is_empty:  # Else the last has left before it could see that.
                raise OccupiedError

    @contextmanager
    def _working(self, *, patient: bool = True) -> Iterator[None]:
        """Work with what the ledger holds: after a fault, everything is read anew.

        What is in memory may be ahead of a ledger that went away while it was written, or of a
        policy that raised in the midst of a batch.

        Raises:
            OccupiedError: If that would have to wait for others, who may stay long.
        """
        with ExitStack() as inside:
            if not self._occupancy.has_me:  # A verifier that scores in its turn is inside already.
                self._enter(inside, patient=patient)
            try:
                with one_thread if self._believes else nullcontext():
                    yield
            except BaseException:
                self._is_stale = True
                raise

    def _unfinished(self) -> list[CheckRow]:
        """Checks that this campaign has asked for and will pay."""
        states = [CheckState.QUEUED, CheckState.LEASED, CheckState.WAITING]
        asked = self._ledger.checks(states=states, campaign=self.name, payloads=False)
        return [row for row in asked if row.campaign == self.name and row.not_before != HELD]

    def score(self, batch: Batch, deadline: float | None) -> list[Reward]:
        """Score one batch.

        Args:
            batch: Samples of one run and step.
            deadline: Seconds until the rewards are needed. With None, higher tiers are waited
                for only by samples that no tier has answered yet.
        """
        if telemetry.active is None:
            return self._score(batch, deadline)
        with telemetry.active.scoring(self.name, batch.run, batch.step, len(batch.positions)):
            return self._score(batch, deadline)

    def _score(self, batch: Batch, deadline: float | None) -> list[Reward]:
        self._steps.note(batch.run, batch.step)
        self._exchange()
        until = None if deadline is None else monotonic() + deadline
        if len(self.ladder.rungs) == 1 and self.ladder.tiers[0] == Tier.FAST:
            with self._working():
                return self._scorer.score(batch, until)
        keys = [(batch.run, batch.step, position) for position in batch.positions]
        told = len(self._faults)
        self._watches.want(keys)
        try:
            with self._working():
                rewards = self._scorer.score(batch, until)
            pending = [
                (key, r) for key, r in zip(keys, rewards, strict=True) if r.pending
            ]  # fmt: skip
            if pending:
                self._engine.wake()
                is_wanted = until is not None
                wanted = [key for key, r in pending if is_wanted or r.value is None]
                self._await(wanted, until, told)
        finally:
            latest = self._read(keys, deadline)
        self._tell_fault(told)
        if not latest:
            return rewards
        return [latest.get(key, reward) for key, reward in zip(keys, rewards, strict=True)]

    def _exchange(self) -> None:
        """Have another version of the surrogate judge from now on.

        All is read anew for that, as when the campaign is opened. It has to wait while a caller
        waits, who would be told less exactly how many answers have come in time, and while a check
        is filed under the version before.
        """
        surrogates, begun = self._surrogates, [CheckState.QUEUED, CheckState.LEASED]
        if surrogates is None or not surrogates.is_news:
            return
        with self._turn:
            self._is_stale |= self._watches.is_quiet and not self._ledger.checks(
                states=begun, campaign=self.name, verifier=surrogates.verifier, limit=1,
                payloads=False,
            )  # fmt: skip

    def _read(
        self, keys: Sequence[SampleKey], deadline: float | None
    ) -> Mapping[SampleKey, Reward]:
        """The rewards of samples that were pending, as a call returns them."""
        if deadline is None:
            return self._watches.close(keys)
        try:
            with self._working():
                latest, late = self._reviser.read(keys, deadline)
        except BaseException:
            self._watches.close(keys)
            raise
        if late:
            with self._working():
                self._reviser.settle(late)
        return latest

    def submit(self, batch: Batch) -> None:
        """Score one batch without waiting for higher tiers; its rewards are in the ledger."""
        self._steps.note(batch.run, batch.step)
        self._exchange()
        with self._working():
            rewards = self._scorer.score(batch, None)
        if any(reward.pending for reward in rewards):
            self._engine.wake()

    def _await(self, keys: Sequence[SampleKey], until: float | None, told: int) -> None:
        if keys:
            left = None if until is None else max(0.0, until - monotonic())
            self._watches.wait(keys, left, lambda: self._is_over(told))

    def _is_over(self, told: int) -> bool:
        """Whether nothing that a caller could wait for will happen."""
        is_quiet = self._engine.is_idle and not self._is_behind
        return is_quiet or self._baton.is_lost or len(self._faults) > told

    def take_step(self, run: str) -> int:
        """Take the next free step of a run: nobody else is given it."""
        return self._steps.take(run)

    def advance(
        self, ended: Mapping[bytes, Verdict] | None = None, *, patient: bool = True
    ) -> int:
        """Take samples further whose checks have ended; count them.

        Without patience, it is left for later where it would have to wait for this campaign's own
        callers: other campaigns need not wait for those.
        """
        try:
            with self._working(patient=patient):
                count = self._reviser.advance(ended)
                if ended is None and self._ledger.is_shared:
                    count += self._cancellations.take_up(self._withdraw)
                    count += self._hand_in()
        except OccupiedError:  # Whoever leaves last has the engine look again.
            return 0
        except BatonLostError:  # Callers are told; the engine goes on for other campaigns.
            self._engine.forget(self.name, self)
            self._watches.nudge()
            return 0
        if count:
            self._engine.wake()
        return count

    def pass_over(self) -> int:
        """End the climbs of samples that wait for checks which can't be paid; count them."""
        if not self._prices.promised:
            return 0
        try:
            with self._working():
                return self._reviser.pass_over()
        except BatonLostError:  # Whoever decides now does it.
            return 0

    def withdraw(
        self,
        wanted: Wanted,
        at_work: bool,  # noqa: FBT001 - it travels so
        is_checked: bool = False,  # noqa: FBT001, FBT002 - so does this
    ) -> Withdrawn:
        """End the climbs of samples that nobody wants any more.

        Args:
            wanted: Which samples.
            at_work: Whether checks at work are abandoned too.
            is_checked: Whether what the campaign does not hold is refused.

        Raises:
            ConfigError: If it is, and the campaign holds no such run, step or position.
        """
        with self._working():
            if is_checked:
                waiting = self._groups.waiting(wanted.run, wanted.step)
                check_known(self._ledger, self.name, wanted, waiting)
            done = self._withdraw(wanted, at_work)
        self._engine.wake()
        return done

    def _withdraw(self, wanted: Wanted, at_work: bool) -> Withdrawn:  # noqa: FBT001 - as above
        """End climbs, and let those leave that wait for their group."""
        done = self._reviser.withdraw(wanted, at_work=at_work)
        return done._replace(samples=done.samples + self._groups.withdraw(wanted))

    def nudge(self) -> None:
        """Wake callers that wait, because nothing more will happen by itself."""
        self._watches.nudge()

    def drain(self, timeout: float | None) -> bool:
        """Wait until every climb has stopped, is parked, or waits for the world.

        Raises:
            BatonLostError: If another process has taken the campaign over.
        """
        self._prices.expect_no_more()
        self._headroom.keep()
        self.wake()
        told = len(self._faults)
        try:
            return self._engine.wait_idle(timeout)
        finally:
            self._tell_fault(told)
            self._be_current()

    def answers(self, given: Mapping[bytes, tuple[object, str]], source: str) -> list[bool]:
        """Take results from the world and revise the rewards that waited for them.

        Args:
            given: By check, its value and the id of its delivery.
            source: Who answers.

        Returns:
            Whether each was taken.

        Raises:
            ConfigError: If there is no such case, a value is not valid for it, or it was answered
                otherwise before; none is taken.
        """
        checks = {check.check_key: check for check in self._ledger.checks(keys=list(given))}
        told = [
            Answer(key, said(self.ladder, key, checks.get(key), value), source, event)
            for key, (value, event) in given.items()
        ]
        refuse_lone_readers(self.ladder, told, checks)
        refuse_contradictions(told, self._ledger.verdicts(list(given)))
        expired = [check for check in checks.values() if check.state is CheckState.EXPIRED]
        retry(self._ledger, expired)  # Their samples were told so: they wait for the answer again.
        taken = self._ledger.answers(told, now=self._ledger.clock())
        ended = {
            answer.check_key: answer.verdict
            for answer, is_taken in zip(told, taken, strict=True) if is_taken
        }  # fmt: skip
        if ended:
            self._engine.announce(ended)
        late = [answer for answer in told if answer.check_key not in ended]
        if late:  # Somebody else was quicker, or the delivery is known.
            known = self._ledger.verdicts([answer.check_key for answer in late])
            refuse_contradictions(late, known)
            refuse_lost(late, known)
        return taken

    def _hand_in(self) -> int:
        """Take what people say together who read cases at other machines; count the cases."""
        if self._reviews is None:
            return 0
        with self._turn:
            concluded = self._reviews.news()
        for key, (verdict, source) in concluded.items():
            try:
                self.answers({key: (verdict, uuid4().hex)}, source)
            except LedgerError:
                raise
            except BaseException as error:  # It was answered otherwise; or a verifier's own code.
                if ends_program(error):
                    raise
                _LOG.warning("what %s say is not taken: %s", source, text_of(error))
        return len(concluded)

    def supersede(
        self, key: bytes, value: object, source: str, why: str, as_of: int | None = None
    ) -> bool:
        """Put an answer in the place of a wrong one, and revise the rewards that rest on it.

        Args:
            key: The key of the case.
            value: What is right, as `Campaign.answer` takes it.
            source: Who says so.
            why: Why the other answer was wrong.
            as_of: The newest entry that was seen when it was found; what was said later stands.

        Returns:
            Whether it was taken; False if the answer that stands says the same, or came later.

        Raises:
            ConfigError: If there is no such case, or it was not answered yet.
        """
        check = next(iter(self._ledger.checks(keys=[key])), None)
        verdict = said(self.ladder, key, check, value)
        if check is None:  # `said` has refused it.
            return False
        entry = supersede(
            self._ledger, self.name, check, verdict, source=source, why=why, as_of=as_of
        )
        if entry is None:
            return False
        self._engine.outdate(check.content_key)
        self._ledger.await_earlier(entry)
        self._engine.announce(self._ledger.verdicts([key]))  # Others may have superseded it, too.
        return True

    def outdate(self, content_key: bytes) -> None:
        """Hear that a verdict about a content was superseded: it is read anew."""
        self._cache.drop_content(content_key)

    def import_rows(self, rows: Sequence[ImportRow], source: str) -> ImportReport:
        """Take old verdicts into the ledger, and learn from them."""
        with self._working():
            taken = self._importer.take(rows, source)
        if taken.ended:  # Every campaign comes in by itself: none waits inside another.
            self._engine.announce(taken.ended)
        with self._working():
            self._importer.teach(taken)
        self._engine.wake()
        return taken.report

    def expect(self, samples: int) -> None:
        """Pace the budget by how many samples there will be in all.

        Raises:
            ConfigError: If that is not a number of samples.
        """
        plan(self._ledger, self.name, samples)
        self._prices.horizon = samples

    def wake(self) -> None:
        """Say that budgets or the queue have changed."""
        with self._working():
            self._holding.review()
        self._engine.wake()

    def close(self) -> None:
        """Leave the engine, and let others decide."""
        if self._surrogates is not None:
            self._surrogates.close()
        self._engine.detach(self.name)
        self._baton.close()
