"""The local engine: worker processes on this machine, and the thread that feeds them.

The work queue in the ledger is the truth. The dispatcher leases checks, hands them to killable
workers, and writes what they said under the lease's fencing number; nothing it holds in memory
is needed after a crash.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Condition, Event, RLock, Thread
from time import monotonic, time
from typing import Protocol
from uuid import uuid4

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import LedgerError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CheckState, Claim, Completion
from verifier_ladder.scheduler.candidates import candidate_of
from verifier_ladder.scheduler.engines.inline import answered_inline
from verifier_ladder.scheduler.engines.job import BatchAnswer, BatchFuture
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.engines.reservation import Reservation
from verifier_ladder.scheduler.engines.retry import retry_at
from verifier_ladder.scheduler.flights import Flights
from verifier_ladder.scheduler.shadow import is_shadow
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_LOG = logging.getLogger("verifier_ladder")
_LEASE = 60.0
_HEARTBEAT = 15.0
_REAP = 5.0
_BATCH_SECONDS = 0.5
"""How long a batch of cheap checks may take, so that a dear one is not kept waiting."""


class Climber(Protocol):
    """**Protocol:** what the engine tells about ended checks: one open campaign."""

    ladder: Ladder

    def advance(self, ended: Mapping[bytes, Verdict] | None = None) -> int:
        """Take the samples that wait for these checks further."""
        ...

    def nudge(self) -> None:
        """Hear that nothing more will happen by itself."""
        ...


@dataclass(slots=True)
class Work:
    """One batch that a worker is at."""

    verifier: Verifier
    claims: list[Claim]
    future: BatchFuture[BatchAnswer]


class LocalEngine:
    """Runs checks in killable processes of this machine.

    **Threads.** One dispatcher thread claims, heartbeats and completes; callers score in their
    own threads.

    **Crashes.** A killed engine loses nothing: leases run out, or are taken over when the same
    machine opens the ledger again.
    """

    def __init__(
        self, ledger: Ledger, *, workers: int | None = None, memory: int | None = None
    ) -> None:
        """Start nothing yet: workers start with the first work for them.

        Args:
            ledger: Where checks are queued.
            workers: Processes for the fast tier, and as many for the dearer ones; one per core
                by default.
            memory: Bytes that one worker may use.
        """
        self.ledger = ledger
        self.workers = workers or len(os.sched_getaffinity(0))
        self.flights = Flights()
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._memory = memory
        self._climbers: dict[str, Climber] = {}
        self._lock = RLock()
        self._wake = Event()
        self._quiet = Condition()
        self._is_quiet = False
        self._closing = False
        self._thread: Thread | None = None
        self._working: list[Work] = []
        self._retries: list[float] = []
        self._failure: Exception | None = None

    @cached_property
    def fast(self) -> WorkerPool:
        """Workers for what the learner waits for."""
        return WorkerPool(self.workers, memory=self._memory, name="fast")

    @cached_property
    def slow(self) -> WorkerPool:
        """Workers for higher tiers; they give way to the fast ones."""
        return WorkerPool(self.workers, memory=self._memory, nice=10, name="slow")

    def ask_now(
        self, verifier: Verifier, candidates: Sequence[Candidate], lane: int | None
    ) -> BatchFuture[BatchAnswer]:
        """Ask a verifier while a learner waits, if possible on the worker `lane`."""
        refused = _without_sandbox(verifier, candidates)
        return refused or self.fast.verify(verifier, candidates, lane=lane)

    def take_over(self) -> None:
        """Take up what a dead engine of this machine was at; only for who holds the lock.

        Its attempts count, so that a check which kills engines ends in dead.
        """
        now, here = time(), f"{socket.gethostname()}:"
        for check in self.ledger.checks(states=[CheckState.LEASED]):
            if check.owner.startswith(here):
                lost = Verdict.abstain("the engine died while it was at work", failed_at="engine")
                end = Completion(Claim(check, check.fence), lost, check.content_key)
                again = retry_at(lost, check.attempt, now)
                self.ledger.fail([end], retry_at=again and now, now=now)

    # -- campaigns -----------------------------------------------------------------------------

    def attach(self, name: str, climber: Climber) -> None:
        """Serve a campaign; what ended while it was closed is taken up."""
        with self._lock:
            self._climbers[name] = climber
        climber.advance()
        self.wake()

    def detach(self, name: str) -> None:
        """Stop serving a campaign; its running checks are given back."""
        with self._lock:
            self._climbers.pop(name, None)
            is_last = not self._climbers
        if is_last:
            self.close()

    @property
    def is_idle(self) -> bool:
        """Whether nothing more will happen by itself: no work that can be paid for is left."""
        return self._is_quiet

    def wake(self) -> None:
        """Say that there may be work; the dispatcher starts with the first call."""
        with self._lock:
            if self._closing:
                return
            if self._thread is None:
                self._thread = Thread(target=self._run, name="vl-dispatcher", daemon=True)
                self._thread.start()
        with self._quiet:
            self._is_quiet = self._failure is not None
            self._wake.set()

    def wait_idle(self, timeout: float | None) -> bool:
        """Wait until nothing more will happen by itself.

        Raises:
            LedgerError: If the dispatcher had to stop.
        """
        with self._quiet:
            done = self._quiet.wait_for(lambda: self._is_quiet or self._closing, timeout)
        if self._failure is not None:
            raise LedgerError(
                f"the engine stopped: {self._failure}; open the campaign again to go on"
            ) from self._failure
        return done

    def close(self) -> None:
        """Give running work back and stop the workers; a second call does nothing."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        for name in ("fast", "slow"):
            if name in self.__dict__:
                getattr(self, name).close(kill=True)
        with self._quiet:
            self._quiet.notify_all()

    # -- the dispatcher's thread ---------------------------------------------------------------

    def _run(self) -> None:
        heartbeat, reap = monotonic() + _HEARTBEAT, 0.0
        try:
            while not self._closing:
                now = monotonic()
                if now >= reap:
                    self._reap()
                    reap = now + _REAP
                if now >= heartbeat:
                    self._heartbeat()
                    heartbeat = now + _HEARTBEAT
                self._collect()
                self._claim()
                self._tell_quiet()
                self._wake.wait(timeout=self._pause(min(reap, heartbeat)))
                self._wake.clear()
        except Exception as error:  # noqa: BLE001 - told to whoever waits, in `wait_idle`
            _LOG.exception("the dispatcher stopped; open the campaign again to go on")
            self._failure = error
            self._be_quiet()
        finally:
            self._give_back()

    def _pause(self, until: float) -> float:
        """Seconds to sleep: until the next duty, or until the next retry is due."""
        pause = until - monotonic()
        now = time()
        due = [at - now for at in self._retries if at > now]
        return max(0.0, min([pause, *due]))

    def _reap(self) -> None:
        self.ledger.reap(now=time())

    def _heartbeat(self) -> None:
        claims = [claim for work in self._working for claim in work.claims]
        if not claims:
            return
        ours = {c.check.check_key for c in self.ledger.heartbeat(claims, lease=_LEASE, now=time())}
        for work in self._working:
            if not any(claim.check.check_key in ours for claim in work.claims):
                work.future.abandon()

    def _claim(self) -> None:
        """Fill the workers, cheapest tier first, so that a dear check never blocks a cheap one."""
        for campaigns in self._ranks():
            for tier in (Tier.FAST, Tier.WORLD, Tier.SIMULATION, Tier.HIGH_FIDELITY):
                for verifier in self._verifiers(tier):
                    while len(self._working) < self.workers and self._claim_batch(
                        verifier, campaigns
                    ):
                        pass

    def _ranks(self) -> list[Sequence[str] | None]:
        """Whose checks are claimed first; shadows take what is left. None is everybody."""
        with self._lock:
            names = [name for name in self._climbers if not is_shadow(name)]
            has_shadows = len(names) < len(self._climbers)
        return [names, None] if names and has_shadows else [None]

    def _verifiers(self, tier: Tier) -> Iterable[Verifier]:
        with self._lock:
            found = {
                (v.name, v.version): v
                for climber in self._climbers.values()
                for v in climber.ladder.verifiers
                if v.tier == tier
            }
        return found.values()

    def _claim_batch(self, verifier: Verifier, campaigns: Sequence[str] | None) -> bool:
        claims = self.ledger.claim(
            verifier=(verifier.name, verifier.version), campaigns=campaigns, owner=self.owner,
            lease=_LEASE, limit=_batch_limit(verifier), now=time(),
        )  # fmt: skip
        fit = [c for c in claims if c.check.payload.get("digest") == verifier.digest.hex()]
        if len(fit) < len(claims):
            other = [claim for claim in claims if claim not in fit]
            self.ledger.release(other, now=time())
        if fit:
            self._start(verifier, fit)
        return bool(fit)

    def _start(self, verifier: Verifier, claims: list[Claim]) -> None:
        candidates = [candidate_of(claim.check.payload) for claim in claims]
        future = _without_sandbox(verifier, candidates) or self._answer(
            verifier, candidates, claims
        )
        self._working.append(Work(verifier, claims, future))
        future.add_done_callback(lambda _: self._wake.set())

    def _answer(
        self, verifier: Verifier, candidates: list[Candidate], claims: list[Claim]
    ) -> BatchFuture[BatchAnswer]:
        if verifier.isolation == "inline" and not verifier.waits:
            each = [Reservation(self.ledger, [claim]) for claim in claims]
            return answered_inline(verifier, candidates, each)
        limit = None if verifier.waits else Reservation(self.ledger, claims)
        return self.slow.verify(verifier, candidates, limit=limit)

    def _collect(self) -> None:
        done = [work for work in self._working if work.future.done()]
        self._working = [work for work in self._working if not work.future.done()]
        ended: dict[bytes, Verdict] = {}
        for work in done:
            if work.future.cancelled():
                self.ledger.release(work.claims, now=time())
                continue
            ended.update(self._finish(work.claims, work.future.result().verdicts, work.verifier))
        if ended:
            self.announce(ended)

    def announce(self, ended: Mapping[bytes, Verdict]) -> None:
        """Tell every open campaign which checks have ended: they share what each other asked."""
        with self._lock:
            climbers = list(self._climbers.values())
        for climber in climbers:
            climber.advance(ended)

    def _finish(
        self, claims: Sequence[Claim], verdicts: Sequence[Verdict], verifier: Verifier
    ) -> dict[bytes, Verdict]:
        """Write what a batch said; gives the checks that have ended for good."""
        now = time()
        answers: list[Completion] = []
        ended: dict[bytes, Verdict] = {}
        for claim, verdict in zip(claims, verdicts, strict=True):
            end = Completion(claim, verdict, claim.check.content_key)
            if verifier.waits and verdict.evidence.get("waiting"):
                patience = getattr(verifier, "patience", None)
                self.ledger.wait([claim], deadline=patience and now + patience, now=now)
            elif verdict.is_answer:
                answers.append(end)
            else:
                again = retry_at(verdict, claim.check.attempt, now)
                if again is not None:
                    self._retries.append(again)
                finished = self.ledger.fail([end], retry_at=again, now=now)
                if again is None and finished:
                    ended[claim.check.check_key] = verdict
        for end in self.ledger.complete(answers, now=now) if answers else ():
            ended[end.claim.check.check_key] = end.verdict
        return ended

    def _tell_quiet(self) -> None:
        if self._working or self._will_continue():
            return
        self._be_quiet()

    def _be_quiet(self) -> None:
        """Say that nothing more will happen, unless there was a call for work meanwhile."""
        with self._quiet:
            if self._wake.is_set() and self._failure is None:
                return
            self._is_quiet = True
            self._quiet.notify_all()
        with self._lock:
            climbers = list(self._climbers.values())
        for climber in climbers:
            climber.nudge()

    def _will_continue(self) -> bool:
        """Whether a check of ours waits for a retry, or another process is at work on one.

        Whatever else is queued could not be claimed just now: it is parked on its budget.
        """
        if self._retries and max(self._retries) > time():
            return True
        self._retries.clear()
        with self._lock:
            names = list(self._climbers)
        return any(
            self.ledger.checks(states=[CheckState.LEASED], campaign=name, limit=1)
            for name in names
        )

    def _give_back(self) -> None:
        claims = [claim for work in self._working for claim in work.claims]
        for work in self._working:
            work.future.cancel()
        self._working = []
        if claims:
            try:
                self.ledger.release(claims, now=time())
            except LedgerError:
                _LOG.warning("%d leases were not given back; they run out", len(claims))


def _without_sandbox(
    verifier: Verifier, candidates: Sequence[Candidate]
) -> BatchFuture[BatchAnswer] | None:
    """The abstention of a verifier that wants a sandbox where there is none; else None."""
    if verifier.isolation != "sandbox":
        return None
    refusal = Verdict.abstain(
        f"{verifier.name} runs untrusted code and this engine has no sandbox", failed_at="sandbox"
    )
    future: BatchFuture[BatchAnswer] = BatchFuture(dict.fromkeys(range(len(candidates)), refusal))
    future.set_result(BatchAnswer([refusal] * len(candidates), 0, 0.0))
    return future


def _batch_limit(verifier: Verifier) -> int:
    """How many checks to take at once: about half a second's worth."""
    expected = verifier.cost.seconds
    if expected <= 0:
        return min(verifier.batch_size, 64)
    return max(1, min(verifier.batch_size, int(_BATCH_SECONDS / expected)))
