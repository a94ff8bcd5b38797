"""The dispatcher: leases checks of the work queue and has them verified on this machine.

The work queue in the ledger is the truth. The dispatcher leases checks, hands them to killable
workers, and writes what they said under the lease's fencing number; nothing it holds in memory
is needed after a crash.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from threading import Condition, Event, RLock, Thread, current_thread
from time import monotonic

from verifier_ladder import telemetry
from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.case import (
    ask_at,
    is_settling,
    settlement_field,
    settlement_time,
    stays_open,
    to_settle,
)
from verifier_ladder.containment import ContainedLog, text_of
from verifier_ladder.cost import Cost
from verifier_ladder.errors import EngineError, LedgerAwayError, LedgerError
from verifier_ladder.keys import seed
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.protocol import ATTEMPTS
from verifier_ladder.ledger.records import CheckRow, CheckState, Claim, Completion
from verifier_ladder.ledger.workqueue import any_check
from verifier_ladder.memory import BATCHES, litter, share
from verifier_ladder.rate import pauses_told_to
from verifier_ladder.scheduler.candidates import ForgedCheckError, proven_candidate
from verifier_ladder.scheduler.engines.clockwatch import ClockWatch
from verifier_ladder.scheduler.engines.inline import (
    NO_LANE,
    answered_inline,
    canonical_inline,
    refused_here,
)
from verifier_ladder.scheduler.engines.job import BatchAnswer, BatchFuture, CanonicalAnswer
from verifier_ladder.scheduler.engines.lane import PoolClosed
from verifier_ladder.scheduler.engines.limits import LOOK, Seats, is_limited, put_off
from verifier_ladder.scheduler.engines.measured import Measurements
from verifier_ladder.scheduler.engines.owners import has_died, new_owner
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.engines.reservation import Reservation, expected_of
from verifier_ladder.scheduler.engines.retry import retry_at
from verifier_ladder.scheduler.engines.wire import plain
from verifier_ladder.scheduler.engines.work import Proof, Work, claims_in_turn, refusal
from verifier_ladder.scheduler.flights import Flight
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier, checked_patience

_LOG = ContainedLog("verifier_ladder")
LEASE = 60.0
"""Seconds for which a check is leased; whoever works on it extends that."""
_REAP = 5.0
_ABSENCE = 1.0
"""Seconds to leave a ledger alone that went away."""
_REST = 5.0
"""Seconds between an error of a host and its next try; also before it looks again at checks that
it had to leave to others."""
_LONGEST_NOTE = 500
"""Characters of why a case could not be settled yet."""
_MOST_SAID = 1000
"""Canonicalisers of which a log says that they are not here; somebody may make up very many."""
_ORDER = (Tier.FAST, Tier.WORLD, Tier.SIMULATION, Tier.HIGH_FIDELITY)
"""Cheapest first, so that a dear check never blocks a cheap one."""
NICENESS = 10
"""How far workers of leased checks give way to others, such as the learner."""

HEARTBEAT = 5.0
"""Seconds between two renewals of leases; a lost attempt is charged up to the last."""


@dataclass(slots=True)
class Duties:
    """When each is due next, by the monotonic clock.

    Example:
        >>> duties = Duties()
        >>> duties.next == duties.reap
        True
    """

    heartbeat: float = field(default_factory=lambda: monotonic() + HEARTBEAT)
    reap: float = 0.0

    @property
    def next(self) -> float:
        """When the first of them is."""
        return min(self.heartbeat, self.reap)


class Dispatcher(ABC):
    """**Abstract:** runs the checks of some tiers in killable processes of this machine.

    **Threads.** One thread claims, heartbeats and completes; it starts with the first `wake`.

    **Crashes.** A killed dispatcher loses nothing: its leases run out and others take them.
    """

    look: float | None = None
    """Seconds after which to look for work that nobody has told of; None to wait for `wake`."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        workers: int | None = None,
        memory: int | None = None,
        tiers: Collection[Tier] = _ORDER,
    ) -> None:
        """Start nothing yet: workers start with the first work for them.

        Args:
            ledger: Where checks are queued.
            workers: How many batches may be at work at once; one per core by default.
            memory: Bytes that one worker may use.
            tiers: What is run here.
        """
        self.ledger = ledger
        self.workers = workers or len(os.sched_getaffinity(0))
        self.tiers = tuple(tier for tier in _ORDER if tier in tiers)
        self.owner = new_owner()
        self.refused = 0
        """Checks that were not run, because their rows in the queue could not be trusted."""
        self._memory = memory
        self._room = share(BATCHES) // (self.workers + 1)
        """Bytes of the candidates of a batch: one batch more than there are workers is at work."""
        self._lock = RLock()
        self._wake = Event()
        self._quiet = Condition()
        self._is_quiet = False
        self._has_looked = False
        self._closing = False
        self._ends = Event()
        self._draining = False
        self._was_away = False
        self._last_fault = ""
        self._left: dict[bytes, float] = {}
        self._aside: dict[int, float] = {}
        """Until when verifiers are left alone whose own code raised here, by identity."""
        self._missing: set[str] = set()
        self._duties = Duties()
        self._clock = ClockWatch(ledger)
        self._thread: Thread | None = None
        self._working: list[Work | Proof] = []
        self._seats = Seats()
        self._at: tuple[Verifier, Sequence[Claim]] | None = None
        """The checks that the thread is just beginning, or writing down."""
        self._measured = Measurements(ledger)
        self._retries: list[float] = []
        self._failure: BaseException | None = None

    @cached_property
    def slow(self) -> WorkerPool:
        """Workers for leased checks; they give way to those a learner waits for."""
        return WorkerPool(self.workers, memory=self._memory, nice=NICENESS, name="slow")

    def take_over(self) -> None:
        """Take up what dead processes of this machine were at.

        Their attempts count as those whose lease ran out, so that a check which kills engines
        ends in dead.
        """
        now = self.ledger.clock()
        self.ledger.hasten(lease=LEASE, now=now)
        for check in self.ledger.checks(states=[CheckState.LEASED], payloads=False):
            if has_died(check.owner):
                lost = Verdict.abstain("the engine died while it was at work", failed_at="engine")
                end = Completion(Claim(check, check.fence), lost, check.content_key)
                again = now if check.attempt < ATTEMPTS else None
                self.ledger.fail([end], retry_at=again, now=now, is_lost=True)

    # -- for whom it works ---------------------------------------------------------------------

    @abstractmethod
    def _verifiers(self, tier: Tier) -> Iterable[Verifier]:
        """The verifiers of a tier that can be run here."""

    def _gpu(self, verifier: Verifier) -> bool | None:
        """Which of its checks are run here, as `WorkQueue.claim` wants to hear it."""
        del verifier
        return None

    def _tell_fault(self, verifier: Verifier, error: BaseException) -> None:
        """Tell whom it concerns that a verifier's own code failed here."""
        del verifier, error
        _LOG.exception("a verifier can't be asked for a while; the others go on")

    @abstractmethod
    def _canonicaliser(self, digest: str) -> Canonicaliser | None:
        """The canonicaliser with this digest, in hexadecimal; None if it is not here."""

    @abstractmethod
    def announce(self, ended: Mapping[bytes, Verdict]) -> None:
        """Tell whoever is here which checks have ended."""

    def _ranks(self) -> list[Sequence[str] | None]:
        """Whose checks are claimed first. None is everybody."""
        return [None]

    def _look_round(self) -> None:  # noqa: B027 - most have nobody to look for
        """Notice what other processes have done."""

    def _look_again(self) -> bool:
        """Notice what has ended while the ledger was away; most have nobody who missed it."""
        return False

    def _when_quiet(self) -> None:  # noqa: B027 - and nobody to tell
        """Hear that nothing more will happen by itself."""

    def _tell_failure(self, error: BaseException) -> None:  # noqa: B027 - `wait_idle` tells
        """Hear that the thread ends because of an error."""

    # -- life ----------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether nothing more will happen by itself: no work that can be paid for is left."""
        return self._is_quiet

    def wake(self) -> None:
        """Say that there may be work; the thread starts with the first call."""
        self._end_failed()
        with self._lock:
            if self._closing:
                return
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="vl-dispatcher", daemon=True)
                self._thread.start()
        with self._quiet:
            self._is_quiet = False
            self._wake.set()

    def _end_failed(self) -> None:
        """Wait for the end of a thread that failed, so that another may start."""
        failed = self._thread
        if self._failure is None or failed is None or failed is current_thread():
            return
        failed.join()
        with self._lock:
            if self._thread is failed:
                self._thread = self._failure = None

    def wait_idle(self, timeout: float | None) -> bool:
        """Wait until nothing more will happen by itself.

        Raises:
            EngineError: If the dispatcher had to stop; with the next `wake` it goes on.
        """
        with self._quiet:
            done = self._quiet.wait_for(lambda: self._is_quiet or self._closing, timeout)
        if (error := self._failure) is not None:
            raise EngineError(
                f"the engine stopped: {text_of(error)}; the next call goes on"
            ) from error
        return done

    def wait_room(self) -> None:
        """Wait until the queue has been looked at and another batch could be taken."""
        with self._quiet:
            self._has_looked = False
            self._wake.set()
            self._quiet.wait_for(
                lambda: self._closing or self._draining
                or (self._has_looked and len(self._working) < self.workers)
            )  # fmt: skip

    def drain(self) -> None:
        """Claim nothing more; what is at work goes on."""
        self._draining = True
        self._tell_room()
        self.wake()

    def close(self) -> None:
        """Give running work back and stop the workers; a second call does nothing."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
        self._ends.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._close_pools()
        with self._quiet:
            self._quiet.notify_all()

    def _close_pools(self) -> None:
        if "slow" in self.__dict__:
            self.slow.close(kill=True)

    # -- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing:
            try:
                try:
                    self._work()
                except PoolClosed:
                    raise
                except BaseException as error:
                    self._blame(error)
                    raise
                finally:
                    self._give_back()
            except PoolClosed as error:  # The interpreter ends: what is at work goes back.
                self._stop(error)
                break
            except BaseException as error:  # noqa: BLE001 - it may be anybody's code
                goes_on = self._goes_on()
                if not goes_on:
                    self._stop(error)
                _LOG.exception("the engine met an error, and gave back what it was at")
                if not goes_on:
                    break
                self._ends.wait(_REST)

    def _work(self) -> None:
        """Do what is due, again and again, until the end."""
        self._duties = Duties()
        while not self._closing:
            try:
                self._round()
            except LedgerAwayError as error:
                self._note_absence(error)
                self._wake.wait(_ABSENCE)
            else:
                self._last_fault = ""
                self._wake.wait(timeout=self._pause(self._duties.next))
            self._wake.clear()

    def _goes_on(self) -> bool:
        """Whether the thread goes on after an error; else the next `wake` starts it anew."""
        return False

    def _stop(self, error: BaseException) -> None:
        """Tell whoever waits, and whoever calls next."""
        self._failure = error
        self._tell_failure(error)
        self._be_quiet()

    def _round(self) -> None:
        """Do once all that is due."""
        self._at = None
        if jump := self._clock.look():
            self._follow(jump)
        now = monotonic()
        if now >= self._duties.reap:
            if self.ledger.reap(now=self.ledger.clock()):
                self._look_again()  # Samples wait for what has expired, or was lost too often.
            self._queue_due()
            self._duties.reap = now + _REAP
        if now >= self._duties.heartbeat:
            self._heartbeat()
            self._duties.heartbeat = now + HEARTBEAT
        if self._was_away:
            self._release_unknown()
            self._look_again()
            self._was_away = False
        self._collect()
        self._look_round()
        self._claim()
        self._seats.keep(Counter(work.verifier.digest for work in self._working))
        self._tell_room()
        if not self._working and (self._draining or not self._will_continue()):
            self._be_quiet()

    def _queue_due(self) -> None:
        """Have cases asked about that their verifiers can settle here by now."""
        here = [verifier for tier in self.tiers for verifier in self._verifiers(tier)]
        digests = [verifier.digest for verifier in here if settlement_field(verifier)]
        if digests and not self._draining:
            self.ledger.queue_due(digests, now=self.ledger.clock())

    def _follow(self, jump: float) -> None:
        """Keep leases and retries though the ledger's clock has jumped."""
        _LOG.warning("the ledger's clock has jumped by %.0f seconds", jump)
        self._retries = [at + jump for at in self._retries]
        # Nobody's leases are taken for lost before all have had the time to renew them.
        self._duties.heartbeat, self._duties.reap = 0.0, monotonic() + 2 * _REAP
        self.ledger.hasten(lease=LEASE, now=self.ledger.clock())

    def _note_absence(self, error: LedgerAwayError) -> None:
        """Say once that the ledger is away, or full."""
        self._was_away = True
        if str(error) != self._last_fault:
            _LOG.warning("%s. The engine goes on as soon as it can", error)
        self._last_fault = str(error)

    def _release_unknown(self) -> None:
        """Give back leases that were written just as the ledger went away."""
        at_work = {claim.check.check_key for work in self._working for claim in work.claims}
        unknown = [
            Claim(check, check.fence)
            for check in self.ledger.checks(states=[CheckState.LEASED], payloads=False)
            if check.owner == self.owner and check.check_key not in at_work
        ]
        if unknown:
            self.ledger.release(unknown, now=self.ledger.clock())

    def _tell_room(self) -> None:
        with self._quiet:
            self._has_looked = True
            self._quiet.notify_all()

    def _pause(self, until: float) -> float:
        """Seconds to sleep: until the next duty, the next look, or the next retry is due."""
        pauses = [until - monotonic()]
        pauses += [pause for work in self._working if (pause := work.pause) is not None]
        if self.look is not None:
            pauses.append(self.look)
        if self._retries:
            today = self.ledger.clock()
            # What is due is in the queue like any other check.
            self._retries = [at for at in self._retries if at > today]
            pauses += [at - today for at in self._retries]
        return max(0.0, min(pauses))

    def _heartbeat(self) -> None:
        if not any(work.claims for work in self._working):
            return
        held = self._renew(self._working)
        ours = {claim.check.check_key for claim in held}
        for work in self._working:
            if not any(claim.check.check_key in ours for claim in work.claims):
                work.future.abandon()

    def _renew(self, working: Sequence[Work | Proof]) -> list[Claim]:
        """Renew leases, and tell which of their checks have begun; those that are still ours."""
        claims = [claim for work in working for claim in work.claims]
        begun = {key: at for work in working for key, at in work.begun.items()}
        if not claims:
            return []
        return self.ledger.heartbeat(claims, lease=LEASE, now=self.ledger.clock(), begun=begun)

    def _claim(self) -> None:
        """Fill the workers."""
        if self._draining:
            return
        for campaigns in self._ranks():
            for tier in self.tiers:
                for verifier in self._verifiers(tier):
                    self._fill(verifier, campaigns)

    def _fill(self, verifier: Verifier, campaigns: Sequence[str] | None) -> None:
        """Take batches of one verifier while there is room.

        What it declares may be read by its user's code. Where that raises, the verifier is left
        alone for a while, and holds up no other.
        """
        if self._aside.get(id(verifier), 0.0) > monotonic():
            return
        try:
            while self._may_claim(verifier) and self._claim_batch(verifier, campaigns):
                pass
        except (LedgerError, EngineError):
            raise
        except BaseException as error:  # noqa: BLE001 - it may be anybody's code
            self._blame(error)
            self._at = None
            self._aside[id(verifier)] = monotonic() + _REST
            self._retries.append(self.ledger.clock() + _REST)
            self._tell_fault(verifier, error)

    def _may_claim(self, verifier: Verifier) -> bool:
        """Whether to take another batch; a short one already while the workers are busy.

        None for a while, where all that is queued of a verifier had to be left to others.
        """
        if self._left.get(verifier.digest, 0.0) > monotonic():
            return False
        ahead = 1 if self._measured.of(verifier).most > 1 else 0
        return len(self._working) < self.workers + ahead and self._is_let_begin(verifier)

    def _is_let_begin(self, verifier: Verifier) -> bool:
        """Whether a verifier's own limits allow another batch; else it is looked at again."""
        if not is_limited(verifier):
            return True
        now = self.ledger.clock()
        due = self.ledger.due(
            verifier=verifier.digest, rate=verifier.shared_rate, now=now, gpu=self._gpu(verifier)
        )
        if due is None:
            return False
        if due <= now:
            count = sum(work.verifier.digest == verifier.digest for work in self._working)
            if self._seats.hold(verifier, count + 1):
                return True
            due = now + LOOK  # Another process of this machine may have them.
        if due not in self._retries:
            self._retries.append(due)
        return False

    def _claim_batch(self, verifier: Verifier, campaigns: Sequence[str] | None) -> bool:
        measured = self._measured.of(verifier)
        claims = self.ledger.claim(
            verifier=verifier.digest, campaigns=campaigns, owner=self.owner, lease=LEASE,
            limit=self._most(verifier), now=self.ledger.clock(), reserve=measured.reserve,
            takes=self._provable(verifier), in_turn=claims_in_turn(verifier),
            rate=verifier.shared_rate, gpu=self._gpu(verifier), room=self._room,
        )  # fmt: skip
        self._at = verifier, claims
        if claims:
            self._left.pop(verifier.digest, None)
        proven = self._proven(verifier, claims)
        flight, fit = self._board(verifier, proven)
        with ExitStack() as ours:
            if flight is not None:
                ours.callback(flight.close)
            known = self.ledger.end_known(fit, now=self.ledger.clock()) if fit else {}
            if known:
                self.announce(known)
                fit = [claim for claim in fit if claim.check.check_key not in known]
            if fit:
                self._at = verifier, fit
                self._begin(verifier, fit, flight)
                ours.pop_all()  # The work has it now.
        self._at = None
        return bool(fit or known or len(proven) < len(claims))

    def _most(self, verifier: Verifier) -> int:
        """How many checks to take at once; of slow batches a worker's share of those open."""
        measured = self._measured.of(verifier)
        if not measured.is_shared:
            return measured.most
        groups = self.ledger.queued(now=self.ledger.clock())
        gpu = self._gpu(verifier)
        waiting = sum(
            group.checks
            for group in groups
            if group.digest == verifier.digest and gpu in {None, group.gpu}
        )
        return max(1, min(measured.most, ceil(waiting / self.workers)))

    def _provable(self, verifier: Verifier) -> Callable[[CheckRow], bool]:
        """Which checks can be proven here: of raw text, those whose canonicaliser is here.

        The others are left to other hosts.
        """
        if verifier.reads != "raw":
            return any_check
        held: dict[str, bool] = {}

        def is_provable(check: CheckRow) -> bool:
            digest = str(check.payload.get("canonicaliser"))
            if digest not in held:
                held[digest] = self._canonicaliser(digest) is not None
                if not held[digest]:
                    self._leave(verifier, digest)
            return held[digest]

        return is_provable

    def _leave(self, verifier: Verifier, digest: str) -> None:
        """Leave checks to others for a while, and say so once."""
        self._left[verifier.digest] = monotonic() + _REST
        if digest not in self._missing and len(self._missing) < _MOST_SAID:
            self._missing.add(digest)
            _LOG.warning(
                "checks of %s %s wait for a host that holds their canonicaliser (%.12s): here "
                "nobody can tell whose text they are",
                verifier.name, verifier.version, digest,
            )  # fmt: skip

    def _proven(self, verifier: Verifier, claims: list[Claim]) -> list[Claim]:
        """The claims whose rows hold what their check keys stand for; the others end here."""
        proven: list[Claim] = []
        refused: list[tuple[Claim, Verdict]] = []
        for claim in claims:
            try:
                proven_candidate(claim.check, verifier)
            except ForgedCheckError as error:
                refused.append((claim, refusal(str(error))))
            else:
                proven.append(claim)
        self._refuse(verifier, refused)
        return proven

    def _refuse(self, verifier: Verifier, refused: Sequence[tuple[Claim, Verdict]]) -> None:
        """Write why checks are not run; whoever waits for them is told."""
        if not refused:
            return
        claims, verdicts = zip(*refused, strict=True)
        _LOG.warning(
            "%d checks of %s %s are not run, the first of them %s: %s", len(claims),
            verifier.name, verifier.version, claims[0].check.check_key.hex()[:12],
            verdicts[0].reason,
        )  # fmt: skip
        self.refused += len(claims)
        if ended := self._finish(claims, verdicts, verifier):
            self.announce(ended)

    def _board(self, verifier: Verifier, claims: list[Claim]) -> tuple[Flight | None, list[Claim]]:
        """Take on claims that nobody else in this process is at work on; the others go back."""
        del verifier
        return None, claims

    def _begin(self, verifier: Verifier, claims: list[Claim], flight: Flight | None) -> None:
        """Start on checks, once it is known whose they are."""
        reserve = self._measured.of(verifier).reserved(claims)
        if verifier.reads != "raw":
            self._start(verifier, claims, flight, reserve)
            return
        digest = claims[0].check.payload.get("canonicaliser")
        others = [c for c in claims if c.check.payload.get("canonicaliser") != digest]
        claims = [claim for claim in claims if claim not in others]
        if others:  # They are claimed again at once.
            self.ledger.release(others, now=self.ledger.clock())
            if flight is not None:
                flight.drop([claim.check.check_key for claim in others])
        if (by := self._canonicaliser(str(digest))) is None:  # Only just now.
            self.ledger.release(claims, now=self.ledger.clock())
            if flight is not None:
                flight.close()
            return
        contents = [proven_candidate(claim.check, verifier).content for claim in claims]
        future = self._forms(by, contents)
        self._working.append(Proof(verifier, claims, future, flight, reserve))
        future.add_done_callback(lambda _: self._wake.set())

    def _forms(
        self, by: Canonicaliser, contents: list[str | bytes]
    ) -> BatchFuture[CanonicalAnswer]:
        if not by.inline:
            return self.slow.canonicalise(by, contents)
        future: BatchFuture[CanonicalAnswer] = BatchFuture()
        future.set_result(CanonicalAnswer(canonical_inline(by, contents), NO_LANE, 0.0))
        return future

    def _proved(self, proof: Proof) -> None:
        """Start on those whose canonical form is that of the row's candidate."""
        self._working.remove(proof)
        if proof.future.cancelled():
            self.ledger.release(proof.claims, now=self.ledger.clock())
            proof.close({})
            return
        outcome = proof.outcome()
        self._refuse(proof.verifier, [(claim, why) for claim, why in outcome if why is not None])
        good = [claim for claim, why in outcome if why is None]
        if good:
            self._start(proof.verifier, good, proof.flight, proof.reserve)
        else:
            proof.close({})

    def _start(
        self, verifier: Verifier, claims: list[Claim], flight: Flight | None,
        reserve: Callable[[CheckRow], Cost],
    ) -> None:  # fmt: skip
        now = self.ledger.clock()
        candidates = [
            to_settle(candidate, claim.check.check_key, claim.check.deadline)
            if is_settling(verifier, candidate.task, now) else candidate
            for claim in claims for candidate in (proven_candidate(claim.check, verifier),)
        ]  # fmt: skip
        is_apart = verifier.waits or verifier.isolation == "inline"
        limit = None if is_apart else Reservation(self.ledger, claims, reserve)
        future = refused_here(verifier, candidates) or self._answer(
            verifier, candidates, claims, reserve, limit
        )
        self._working.append(Work(verifier, claims, future, limit, flight, asked_at=now))
        future.on_news = self._wake.set
        future.add_done_callback(lambda _: self._wake.set())

    def _answer(
        self, verifier: Verifier, candidates: list[Candidate], claims: list[Claim],
        reserve: Callable[[CheckRow], Cost], limit: Reservation | None,
    ) -> BatchFuture[BatchAnswer]:  # fmt: skip
        expected = [expected_of(claim.check, verifier) for claim in claims]
        if verifier.isolation == "inline" and not verifier.waits:
            each = [(claim, Reservation(self.ledger, [claim], reserve)) for claim in claims]
            with pauses_told_to(put_off(self.ledger, verifier)):
                return answered_inline(verifier, candidates, each, expected)
        seeds = None
        if any("replicate" in claim.check.payload for claim in claims):
            seeds = [seed(claim.check.check_key) for claim in claims]
        on_pause = put_off(self.ledger, verifier)
        return self.slow.verify(
            verifier, candidates, limit=limit, seeds=seeds, on_pause=on_pause, expected=expected
        )

    def _collect(self) -> None:
        """Write what has been said; what could not be written is written the next time."""
        ended: dict[bytes, Verdict] = {}
        over: list[Work] = []
        for work in list(self._working):
            is_over = work.future.done()
            self._at = work.verifier, work.claims
            if isinstance(work, Proof):
                if is_over:
                    self._proved(work)
                continue
            if is_over and work.future.cancelled():
                self.ledger.release(work.claims, now=self.ledger.clock())
            else:
                ended |= self._settle(work)
            if is_over:
                self._working.remove(work)
                over.append(work)
                self._measured.of(work.verifier).note_batch(work.size, work.future.took)
        self._at = None
        try:
            if ended:
                self.announce(ended)
        finally:
            for work in over:
                work.close(ended)
                litter.add(work.bytes_)

    def _settle(self, work: Work) -> dict[bytes, Verdict]:
        """Write what was said of a batch so far; the rest of it goes on."""
        work.look(self.ledger.clock)
        claims, verdicts = work.settled()
        if not claims:
            return {}
        ended = self._finish(claims, verdicts, work.verifier, work.asked_at)
        for claim, verdict in zip(claims, verdicts, strict=True):
            self._measured.of(work.verifier).note(claim.check, verdict)
        if telemetry.active is not None and claims:
            begun = claims[0].check.lease_until - LEASE
            telemetry.active.checked(work.verifier, claims, verdicts, begun, self.ledger.clock())
        work.written(claims)
        if work.begun:
            self._renew([work])
        return ended

    def _finish(
        self, claims: Sequence[Claim], verdicts: Sequence[Verdict], verifier: Verifier,
        asked_at: float | None = None,
    ) -> dict[bytes, Verdict]:  # fmt: skip
        """Write what a batch said, and when it was asked; gives the checks that have ended.

        What settles cases is never recorded before it was asked for, though the clock was set back
        since: no sample may seem to have come in time for it.
        """
        now = self.ledger.clock()
        asked = now if asked_at is None else asked_at
        written = max(now, asked) if settlement_field(verifier) else now
        answers: list[Completion] = []
        ended: dict[bytes, Verdict] = {}
        for claim, verdict in zip(claims, verdicts, strict=True):
            if verifier.waits and stays_open(
                verifier, claim.check.payload.get("task"), verdict,
                asked if verdict.is_answer else now,
            ):  # fmt: skip
                refused = self._open_case(claim, verifier, asked, verdict.reason)
                if refused is None:
                    continue
                verdict = refused  # noqa: PLW2901 - what is said of it now
            end = Completion(claim, verdict, claim.check.content_key)
            if verdict.is_answer:
                answers.append(end)
            else:
                again = retry_at(verdict, claim.check.attempt, now)
                if again is not None:
                    self._retries.append(again)
                finished = self.ledger.fail([end], retry_at=again, now=now)
                if again is None and finished:
                    ended[claim.check.check_key] = verdict
        for end in self.ledger.complete(answers, now=written) if answers else ():
            ended[end.claim.check.check_key] = end.verdict
        return ended

    def _open_case(
        self, claim: Claim, verifier: Verifier, asked: float, why: str
    ) -> Verdict | None:
        """Let a check wait for the world; why not, if its verifier can't say how long.

        One that may be settled since it was asked to open is due at once.
        """
        try:
            patience = checked_patience(verifier)
            at = settlement_time(verifier, claim.check.payload.get("task"))
        except Exception as error:  # noqa: BLE001 - it may be a property, which is a user's code
            return Verdict.abstain(text_of(error), failed_at="verifier")
        now = self.ledger.clock()
        begun, again = (now, None) if at is None else (at, ask_at(at, asked))
        self.ledger.wait(
            [claim], deadline=None if patience is None else begun + patience, now=now,
            ask_at=again, note=why[:_LONGEST_NOTE] if again is not None and asked >= begun else "",
        )  # fmt: skip
        return None

    def _be_quiet(self) -> None:
        """Say that nothing more will happen, unless there was a call for work meanwhile."""
        with self._quiet:
            if self._wake.is_set() and self._failure is None:
                return
            self._is_quiet = True
            self._quiet.notify_all()
        self._when_quiet()

    def _will_continue(self) -> bool:
        """Whether a check of ours waits for a retry.

        Whatever else is queued for us could not be claimed just now: it is parked on its budget.
        """
        if self._retries and max(self._retries) > self.ledger.clock():
            return True
        self._retries.clear()
        return False

    def _blame(self, error: BaseException) -> None:
        """Count the attempt at the checks that an error came from: none is tried for ever."""
        if self._at is None:
            return
        verifier, claims = self._at
        why = f"the engine failed at this check: {text_of(error)}"
        said = plain(Verdict.abstain(why, failed_at="engine", cost=Cost()))
        for claim in claims:
            self._finish([claim], [said], verifier)

    def _give_back(self) -> None:
        claims = [claim for work in self._working for claim in work.claims]
        for work in self._working:
            work.future.cancel()
            work.close({})
        self._working = []
        self._seats.keep({})
        if claims:
            try:
                self.ledger.release(claims, now=self.ledger.clock())
            except LedgerError:
                _LOG.warning("%d leases were not given back; they run out", len(claims))
