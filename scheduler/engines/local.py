"""The local engine: what open campaigns have run for them, in this process's workers.

It always runs what learners wait for. The dearer tiers it runs too, unless processes started with
`vladder worker start` are to: then it only notices what they have done. On a server it also
notices what the engines of other machines have done, which take from the same queue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING, Protocol

from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.containment import ContainedLog, ends_program
from verifier_ladder.errors import LedgerAwayError
from verifier_ladder.keys import seed
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.protocol import PARKED
from verifier_ladder.ledger.records import HELD, CheckRow, CheckState, Claim
from verifier_ladder.scheduler.engines.dispatcher import Dispatcher
from verifier_ladder.scheduler.engines.inline import refused_here
from verifier_ladder.scheduler.engines.job import BatchAnswer, BatchFuture
from verifier_ladder.scheduler.engines.limits import Gate, put_off
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.flights import Flight, Flights
from verifier_ladder.scheduler.shadow import is_shadow
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.scheduler.engines.relay import Relay

_LOG = ContainedLog("verifier_ladder")
OURS = (Tier.FAST, Tier.WORLD)
"""Tiers that a campaign's own process runs in any case: they take no time to speak of."""
_LOOK = 0.25
_SEEN = 256
"""Queued checks that are looked at, to tell whether others will go on."""


class Climber(Protocol):
    """**Protocol:** what the engine tells about ended checks: one open campaign."""

    ladder: Ladder

    def advance(
        self, ended: Mapping[bytes, Verdict] | None = None, *, patient: bool = True
    ) -> int:
        """Take the samples that wait for these checks further, or say later: `catch_up`."""
        ...

    def outdate(self, content_key: bytes) -> None:
        """Hear that a verdict about a content was superseded."""
        ...

    def pass_over(self) -> int:
        """Go on with samples that wait for what can't be paid, as far as that is possible."""
        ...

    def nudge(self) -> None:
        """Hear that nothing more will happen by itself."""
        ...

    def fail(self, error: BaseException) -> None:
        """Hear that the engine works no more for this campaign, until it resumes."""
        ...


class LocalEngine(Dispatcher):
    """Runs the checks of open campaigns.

    **Threads.** The dispatcher's thread runs the climbs; callers score in their own threads.

    **Crashes.** A killed engine loses nothing: leases run out, or are taken over when the same
    machine opens the ledger again.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        workers: int | None = None,
        memory: int | None = None,
        tiers: Collection[Tier] = tuple(Tier),
        relay: Relay | None = None,
    ) -> None:
        """Start nothing yet: workers start with the first work for them.

        Args:
            ledger: Where checks are queued.
            workers: Processes for the fast tier, and as many for the dearer ones; one per core
                by default.
            memory: Bytes that one worker may use.
            tiers: What is run here; the rest is left to other processes.
            relay: Rings for them; None if they look by themselves.
        """
        super().__init__(ledger, workers=workers, memory=memory, tiers=tiers)
        self.flights = Flights()
        self.gate = Gate(ledger)
        """Where checks wait that their verifiers' limits don't let begin yet."""
        self._relay = relay
        self._climbers: dict[str, Climber] = {}
        self._forgotten: set[str] = set()
        self._behind = Event()
        # Whatever is run here, homes of other machines may take checks of our campaigns.
        self._has_helpers = set(self.tiers) < set(Tier) or ledger.is_shared
        if self._has_helpers:
            self.look = _LOOK

    @cached_property
    def fast(self) -> WorkerPool:
        """Workers for what the learner waits for."""
        return WorkerPool(self.workers, memory=self._memory, name="fast")

    def ask_now(
        self,
        verifier: Verifier,
        candidates: Sequence[Candidate],
        lane: int | None,
        keys: Sequence[bytes],
    ) -> BatchFuture[BatchAnswer]:
        """Ask a verifier while a learner waits, if possible on the worker `lane`.

        Args:
            verifier: The verifier.
            candidates: What it is asked about.
            lane: The worker that knows them, if one does.
            keys: The check keys, from which random seeds follow.
        """
        refused = refused_here(verifier, candidates)
        seeds = None if verifier.replicates == 1 else [seed(key) for key in keys]
        on_pause = put_off(self.ledger, verifier)
        return refused or self.fast.verify(
            verifier, candidates, lane=lane, seeds=seeds, on_pause=on_pause
        )

    # -- campaigns -----------------------------------------------------------------------------

    def attach(self, name: str, climber: Climber) -> None:
        """Serve a campaign; what ended while it was closed is taken up."""
        with self._lock:
            self._climbers[name] = climber
        try:
            climber.advance()
        except BaseException:
            with self._lock:
                self._climbers.pop(name, None)
            raise
        self.wake()

    def detach(self, name: str) -> None:
        """Stop serving a campaign; with the last one, running checks are given back."""
        with self._lock:
            self._climbers.pop(name, None)
            self._forgotten.discard(name)
            is_last = not self._climbers
        if is_last:
            self.close()

    def forget(self, name: str, climber: Climber) -> None:
        """Run and tell nothing more for a campaign while this one is attached for it."""
        with self._lock:
            if self._climbers.get(name) is climber:
                self._forgotten.add(name)

    def resume(self, name: str, climber: Climber) -> None:
        """Serve a campaign again, with what ended while it was forgotten or had to wait."""
        with self._lock:
            if self._climbers.get(name) is climber:
                self._forgotten.discard(name)
        self.catch_up()

    def announce(self, ended: Mapping[bytes, Verdict]) -> None:
        """Tell every open campaign which checks have ended: they share what each other asked."""
        self._each(lambda climber: climber.advance(ended, patient=False))

    def outdate(self, content_key: bytes) -> None:
        """Have every open campaign read anew what is known of a content."""
        self._each(lambda climber: climber.outdate(content_key))

    def _each(self, tell: Callable[[Climber], object]) -> None:
        """Tell every open campaign something; what goes wrong in one is told to its callers.

        A policy is its user's code, and must not stop the climbs of its neighbours.
        """
        for name, climber in self._open():
            try:
                tell(climber)
            except LedgerAwayError:  # It is everybody's, and passes.
                raise
            except BaseException as error:
                if ends_program(error):
                    raise
                self._stop_one(name, climber, error)

    def _stop_one(self, name: str, climber: Climber, error: BaseException) -> None:
        self.forget(name, climber)
        climber.fail(error)
        _LOG.exception("campaign %s stopped; its next call raises this, then goes on", name)

    def _tell_fault(self, verifier: Verifier, error: BaseException) -> None:
        for name, climber in self._open():
            if any(each is verifier for each in climber.ladder.verifiers):
                self._stop_one(name, climber, error)

    def _tell_failure(self, error: BaseException) -> None:
        for name, climber in self._open():
            self.forget(name, climber)
            climber.fail(error)

    def _open(self) -> list[tuple[str, Climber]]:
        with self._lock:
            return [(name, self._climbers[name]) for name in self._served()]

    def _served(self) -> list[str]:
        return [name for name in self._climbers if name not in self._forgotten]

    def _verifiers(self, tier: Tier) -> Iterable[Verifier]:
        found = {
            v.digest: v
            for _, climber in self._open()
            for v in climber.ladder.verifiers
            if v.tier == tier
        }
        return found.values()

    def _canonicaliser(self, digest: str) -> Canonicaliser | None:
        held = (climber.ladder.canonicaliser for _, climber in self._open())
        return next((by for by in held if by.digest.hex() == digest), None)

    def _ranks(self) -> list[Sequence[str] | None]:
        """Shadows take what is left."""
        with self._lock:
            served = self._served()
        names = [name for name in served if not is_shadow(name)]
        has_shadows = len(names) < len(served)
        return [names, None] if names and has_shadows else [None]

    def _board(self, verifier: Verifier, claims: list[Claim]) -> tuple[Flight | None, list[Claim]]:
        if verifier.tier is not Tier.FAST:  # Nobody else asks those but through the queue.
            return None, claims
        keys = [claim.check.check_key for claim in claims]
        flight, theirs = self.flights.board(keys, is_leased=True)
        ours = [claim for claim in claims if claim.check.check_key in flight.keys]
        if len(ours) < len(claims):
            others = [claim for claim in claims if claim not in ours]
            self.ledger.release(others, now=self.ledger.clock())
            for other in theirs:
                other.closed.add_done_callback(lambda _: self._wake.set())
        return flight, ours

    def catch_up(self) -> None:
        """Have all campaigns look for what has ended: one was not told for a while."""
        self._behind.set()
        self.wake()

    def _look_round(self) -> None:
        is_behind = self._behind.is_set()
        self._behind.clear()
        if is_behind or self._has_helpers:
            self._look_again()
        if self._relay is not None:
            others = [tier for tier in Tier if tier not in self.tiers]
            self._relay.look(v for tier in others for v in self._verifiers(tier))

    def _look_again(self) -> bool:
        """Take up what has ended; whether anything had."""
        taken = 0

        def advance(climber: Climber) -> None:
            nonlocal taken
            taken += climber.advance(patient=False)

        self._each(advance)
        return taken > 0

    def _when_quiet(self) -> None:
        self._each(lambda climber: climber.nudge())

    def _will_continue(self) -> bool:
        """Whether a retry is due, or another process is at work for us or can be."""
        if super()._will_continue():
            return True
        with self._lock:
            names = self._served()
        if any(self._is_at_work(name) for name in names):
            return True
        # What others ended between the last look and this one has not been taken up yet.
        return (self._has_helpers and self._look_again()) or self._pass_over()

    def _pass_over(self) -> bool:
        """Whether samples that waited for what can't be paid have other work now."""
        passed = 0

        def pass_over(climber: Climber) -> None:
            nonlocal passed
            passed += climber.pass_over()

        self._each(pass_over)
        if passed:
            self._wake.set()
        return passed > 0

    def _is_at_work(self, name: str) -> bool:
        # What is queued comes first: a check that is just being leased is then seen at least once.
        if self._has_helpers:
            paused = self.ledger.paused(name)
            queued = self.ledger.checks(
                states=[CheckState.QUEUED], campaign=name, limit=_SEEN, payloads=False
            )
            if any(check.tier not in paused and self._will_be_taken(check) for check in queued):
                return True
        return bool(
            self.ledger.checks(states=[CheckState.LEASED], campaign=name, limit=1, payloads=False)
        )

    def _will_be_taken(self, check: CheckRow) -> bool:
        """Whether others will take a queued check, or look at it just now and may leave it."""
        is_open = check.tier not in self.tiers or self.ledger.is_shared
        return is_open and check.note != PARKED and check.not_before != HELD

    def _close_pools(self) -> None:
        super()._close_pools()
        if "fast" in self.__dict__:
            self.fast.close(kill=True)
