"""Asking: the first tier's verifiers, while the learner waits."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from threading import RLock
from time import monotonic
from typing import Any

from verifier_ladder.candidate import Candidate
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Charged
from verifier_ladder.rate import pauses_told_to
from verifier_ladder.scheduler.arrivals import Arrivals, cost_of
from verifier_ladder.scheduler.engines.inline import has_passed_inline, judge_inline
from verifier_ladder.scheduler.engines.job import UNCOMPARED
from verifier_ladder.scheduler.engines.limits import Entry, is_limited, put_off
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.flights import Flight
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.uncollected import uncollected
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

Job = Generator[Future[Any], Any, None]


class Asking:
    """Puts standings before the verifiers of a ladder's fast tier, gates first."""

    def __init__(self, ladder: Ladder, engine: LocalEngine, lock: RLock) -> None:
        """Serve one campaign; `lock` guards its standings."""
        self._ladder, self._engine, self._lock = ladder, engine, lock
        self._first = ladder.rungs[0] if ladder.tiers[0] is Tier.FAST else None

    @property
    def is_inline(self) -> bool:
        """Whether the whole tier runs in this process."""
        return self._first is None or all(
            verifier.isolation == "inline" for verifier in self._first.verifiers
        )

    def ask_all(self, standings: list[Standing], lane: int | None, arrivals: Arrivals) -> Job:
        """Ask every verifier of the tier about those it has not judged; not those of groups."""
        for verifier in self._first.verifiers if self._first else ():
            if verifier.scope != "group":
                yield from self._ask(verifier, standings, lane, arrivals)

    def ask_about(self, asked: Asked, arrivals: Arrivals) -> Job:
        """Ask one verifier, once more about those that failed before another had passed.

        Every check has an answer in the end: where another call was at work on one and gave it
        back without a word, this call takes it on.
        """
        keys = list(asked.first)
        while keys:
            yield from self._answered(asked, keys, None, arrivals)
            known = set(asked.known(keys))
            keys = [key for key in keys if key not in known]
        alone = [one for one in arrivals.uncompared if one[0] is asked]
        arrivals.uncompared = [one for one in arrivals.uncompared if one[0] is not asked]
        for _, flight, keys in alone:
            if self._has_passed(asked.verifier):
                yield from self._judge(asked, flight, keys, None, arrivals, attempt=2)

    def ask_again(self, standings: list[Standing], arrivals: Arrivals) -> Job:
        """Ask once more about those that failed before any other candidate had passed."""
        alone, arrivals.uncompared = arrivals.uncompared, []
        for asked, flight, keys in alone:
            if self._has_passed(asked.verifier):
                yield from self._judge(asked, flight, keys, None, arrivals, attempt=2)
        yield from self.ask_all(standings, None, arrivals)

    def _has_passed(self, verifier: Verifier) -> bool:
        if verifier.isolation == "inline":
            return has_passed_inline(verifier)
        return self._engine.fast.has_passed(verifier)

    def _ask(
        self, verifier: Verifier, standings: list[Standing], lane: int | None, arrivals: Arrivals
    ) -> Job:
        name, place = verifier.name, self._ladder.askings.index((verifier, 0))
        asked = (Asked if verifier.replicates == 1 else AskedOften)(verifier, place)
        asked.add([
            standing for standing in standings
            if name not in standing.verdicts and standing.problem is None
            and not (standing.verdicts and self.is_stopped(standing))
        ])  # fmt: skip
        if asked.first:
            yield from self._answered(asked, list(asked.first), lane, arrivals)

    def _answered(
        self, asked: Asked, wanted: list[bytes], lane: int | None, arrivals: Arrivals
    ) -> Job:
        """Have checks answered, by this call or by others at work on them."""
        verifier = asked.verifier
        flight, theirs = self._engine.flights.board(wanted)
        arrivals.flights.append(flight)
        arrivals.awaited += theirs
        with self._lock:  # One that has just closed has told the standings first.
            known = asked.known(flight.keys)
        flight.drop(known)
        try:
            for start in range(0, len(flight.keys), verifier.batch_size):
                keys = flight.keys[start : start + verifier.batch_size]
                yield from self._judge(asked, flight, keys, lane, arrivals)
        finally:
            flight.land()
        for other in theirs:
            if other.is_leased and not other.future.done():
                continue  # The samples ask for the same check of the queue, and hear from it.
            yield other.future
            with self._lock:
                told = other.verdicts
                asked.learn({key: told[key] for key in asked.first.keys() & told.keys()})

    def is_stopped(self, standing: Standing) -> bool:
        """Whether a gate of the tier has not let it pass, or its primary has rejected it."""
        verdicts = standing.verdicts
        if not verdicts or self._first is None:
            return False
        blocked = any(
            gate.name in verdicts and verdicts[gate.name].outcome is not Outcome.ACCEPT
            for gate in self._first.gates
        )
        return blocked or standing.is_rejected

    def _judge(
        self, asked: Asked, flight: Flight, keys: list[bytes], lane: int | None,
        arrivals: Arrivals, *, attempt: int = 1,
    ) -> Job:  # fmt: skip
        """Have a verifier judge, as many at once as its limits allow."""
        if not is_limited(asked.verifier):
            yield from self._judge_now(asked, flight, keys, lane, arrivals, attempt=attempt)
            return
        while keys:
            entry = yield from self._entered(asked.verifier, len(keys))
            try:
                now, keys = keys[: entry.count], keys[entry.count :]
                yield from self._judge_now(asked, flight, now, lane, arrivals, attempt=attempt)
            finally:
                entry.leave()

    def _entered(self, verifier: Verifier, wanted: int) -> Generator[Future[Any], Any, Entry]:
        future = self._engine.gate.enter(verifier, wanted)
        try:
            return (yield future)  # type: ignore[no-any-return]
        except GeneratorExit:  # It may be let in just now.
            if not future.cancel() and future.exception() is None:
                future.result().leave()
            raise

    def _judge_now(
        self, asked: Asked, flight: Flight, keys: list[bytes], lane: int | None,
        arrivals: Arrivals, *, attempt: int,
    ) -> Job:  # fmt: skip
        with uncollected:
            candidates = asked.candidates(keys)
        begun = monotonic()
        if asked.verifier.isolation == "inline":
            with pauses_told_to(put_off(self._engine.ledger, asked.verifier)):
                verdicts, seconds = judge_inline(asked.verifier, candidates)
        else:
            future = self._engine.ask_now(asked.verifier, candidates, lane, keys)
            try:
                answer = yield future
            except GeneratorExit:
                settled = sorted(future.abandon().items())
                told = {keys[place]: verdict for place, verdict in settled}
                self._take(asked, flight, told, arrivals, attempt=attempt)
                arrivals.took.append((asked.verifier.name, len(told), begun, monotonic()))
                raise
            verdicts, seconds = answer.verdicts, 0.0
        arrivals.took.append((asked.verifier.name, len(keys), begun, monotonic()))
        told = dict(zip(keys, verdicts, strict=True))
        self._take(asked, flight, told, arrivals, seconds, attempt=attempt)

    def _take(
        self, asked: Asked, flight: Flight, told: Mapping[bytes, Verdict], arrivals: Arrivals,
        seconds: float = 0.0, *, attempt: int,
    ) -> None:  # fmt: skip
        """Take what a verifier has said; `seconds` are for verdicts that name no cost."""
        verifier, count = asked.verifier, len(told)
        tier, verdicts = int(verifier.tier), list(told.values())
        charged = Charged(tier, verifier.name, verifier.version)
        arrivals.spend(charged, cost_of(verifier, verdicts, seconds), count)
        with uncollected, self._lock:
            asked.learn(told)
            flight.verdicts.update(told)
        keys, contents, verdicts = asked.rows(told)
        count = len(keys)
        arrivals.verdicts.extend(
            keys, contents, [verifier.name] * count, [verifier.version] * count, [tier] * count,
            verdicts, [attempt] * count,
        )  # fmt: skip
        alone = [key for key, verdict in told.items() if UNCOMPARED in verdict.evidence]
        if alone:
            arrivals.uncompared.append((asked, flight, alone))


class Asked:
    """The standings that one verifier is asked about, by check key."""

    def __init__(self, verifier: Verifier, position: int) -> None:
        """Start without standings; `position` is the place of its keys among a standing's."""
        self.verifier = verifier
        self.first: dict[bytes, Standing] = {}
        """One standing of each check."""
        self._position = position
        self._others: dict[bytes, list[Standing]] = {}
        """The few that differ from the first only in what the verifier doesn't read."""

    def add(self, standings: Sequence[Standing]) -> None:
        """Add standings."""
        position, first = self._position, self.first
        for standing in standings:
            key = standing.keys[position]
            if first.setdefault(key, standing) is not standing:
                self._others.setdefault(key, []).append(standing)

    def candidates(self, keys: Sequence[bytes]) -> list[Candidate]:
        """What each check is about, as the verifier may see it."""
        return Standing.all_seen_by([self.first[key] for key in keys], self.verifier)

    def known(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those whose answer has come from elsewhere meanwhile."""
        name = self.verifier.name
        return [key for key in keys if name in self.first[key].verdicts]

    def rows(
        self, told: Mapping[bytes, Verdict]
    ) -> tuple[list[bytes], list[bytes], list[Verdict]]:
        """What the ledger keeps of what was said: check keys, content keys, verdicts."""
        return list(told), [self.first[key].content_key for key in told], list(told.values())

    def learn(self, verdicts: Mapping[bytes, Verdict]) -> None:
        """Tell all standings of each check what was said."""
        name, first = self.verifier.name, self.first
        for key, verdict in verdicts.items():
            first[key].learn(name, verdict)
        for key in self._others.keys() & verdicts.keys():
            for standing in self._others[key]:
                standing.learn(name, verdicts[key])


class AskedOften(Asked):
    """The same for a verifier with replicates: one check for each that has not ended."""

    def __init__(self, verifier: Verifier, position: int) -> None:
        """Start without standings."""
        super().__init__(verifier, position)
        self._numbers: dict[bytes, int] = {}

    def add(self, standings: Sequence[Standing]) -> None:
        """Add standings."""
        for standing in standings:
            for number in standing.missing(self.verifier):
                key = standing.keys[self._position + number]
                self._numbers[key] = number
                if self.first.setdefault(key, standing) is not standing:
                    self._others.setdefault(key, []).append(standing)

    def learn(self, verdicts: Mapping[bytes, Verdict]) -> None:
        """Tell all standings of each check what was said."""
        for key, verdict in verdicts.items():
            for standing in (self.first[key], *self._others.get(key, ())):
                standing.hear(self.verifier, self._numbers[key], verdict)
