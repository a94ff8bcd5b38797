"""Asking: the first tier's verifiers, while the learner waits."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Future
from threading import RLock
from time import process_time
from typing import Any

from verifier_ladder.candidate import Candidate
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import VerdictRow
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier, failure

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
        """Ask every verifier of the tier about those it has not judged."""
        for verifier in self._first.verifiers if self._first else ():
            yield from self._ask(verifier, standings, lane, arrivals)

    def _ask(
        self, verifier: Verifier, standings: list[Standing], lane: int | None, arrivals: Arrivals
    ) -> Job:
        position = self._ladder.verifiers.index(verifier)
        name = verifier.name
        todo: dict[bytes, list[Standing]] = {}  # Tasks may differ in what is not read.
        for standing in standings:
            said = standing.verdicts
            if name in said or standing.problem is not None:
                continue
            if not said or not self._is_stopped(standing):
                todo.setdefault(standing.keys[position], []).append(standing)
        if not todo:
            return
        flight, theirs = self._engine.flights.board(list(todo))
        try:
            mine = [(key, todo[key]) for key in flight.keys]
            for start in range(0, len(mine), verifier.batch_size):
                part = mine[start : start + verifier.batch_size]
                verdicts = yield from self._judge(verifier, part, lane, arrivals)
                flight.verdicts.update(
                    (key, verdict) for (key, _), verdict in zip(part, verdicts, strict=True)
                )
        finally:
            flight.land()
        for other in theirs:
            yield other.future
            with self._lock:
                for key in todo.keys() & other.verdicts.keys():
                    for standing in todo[key]:
                        standing.learn(name, other.verdicts[key])

    def _is_stopped(self, standing: Standing) -> bool:
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
        self,
        verifier: Verifier,
        part: list[tuple[bytes, list[Standing]]],
        lane: int | None,
        arrivals: Arrivals,
    ) -> Generator[Future[Any], Any, list[Verdict]]:
        candidates = [standings[0].seen_by(verifier) for _, standings in part]
        if verifier.isolation == "inline":
            verdicts, seconds = judge_inline(verifier, candidates)
        else:
            future = self._engine.ask_now(verifier, candidates, lane)
            try:
                answer = yield future
            except GeneratorExit:
                settled = sorted(future.abandon().items())
                self._take(
                    verifier, [part[place] for place, _ in settled],
                    [verdict for _, verdict in settled], arrivals,
                )  # fmt: skip
                raise
            verdicts, seconds = answer.verdicts, None
        self._take(verifier, part, verdicts, arrivals, seconds)
        return verdicts

    def _take(
        self,
        verifier: Verifier,
        part: list[tuple[bytes, list[Standing]]],
        verdicts: list[Verdict],
        arrivals: Arrivals,
        seconds: float | None = None,
    ) -> None:
        """Take what a verifier has said; without `seconds` each verdict tells its own cost."""
        if seconds is None:
            seconds = sum([v.cost.seconds for v in verdicts if v.cost is not None])
        name, version, tier = verifier.name, verifier.version, int(verifier.tier)
        arrivals.spend(tier, seconds, len(part))
        with self._lock:
            for (_, standings), verdict in zip(part, verdicts, strict=True):
                for standing in standings:
                    standing.learn(name, verdict)
        arrivals.verdicts += [
            VerdictRow(key, standings[0].content_key, name, version, tier, verdict)
            for (key, standings), verdict in zip(part, verdicts, strict=True)
        ]


def judge_inline(
    verifier: Verifier, candidates: Sequence[Candidate]
) -> tuple[list[Verdict], float]:
    """Run a trusted verifier in this process; verdicts and the cpu-seconds they took together.

    A batch that raises is judged one by one, so the error costs only its own candidate.
    """
    started = process_time()
    try:
        if not verifier.__dict__.get("_is_set_up"):
            verifier.setup()
            verifier.__dict__["_is_set_up"] = True
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        return [failure(error)] * len(candidates), process_time() - started
    try:
        verdicts = verifier.judge(candidates)
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        verdicts = (
            [failure(error)] if len(candidates) == 1
            else [judge_inline(verifier, [one])[0][0] for one in candidates]
        )  # fmt: skip
    return verdicts, process_time() - started
