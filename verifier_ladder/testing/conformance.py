"""The contract of a verifier as rules, each of which can be tried on sample candidates.

`vladder verifier check` and `VerifierTestCase` are two fronts of this one kit. It needs neither
pytest nor hypothesis.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple
from zlib import crc32

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.testing.answerkey import AnswerKey, Report
from verifier_ladder.testing.hostile import (
    HOSTILE,
    complaints,
    hostile_candidates,
    judge_hostile,
)
from verifier_ladder.text import printable
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

SAMPLES: dict[str, tuple[str, ...]] = {
    "molecule": ("CCO", "c1ccccc1", "CC(=O)O", "CCN"),
    "code": ("print(1)", "def f(x):\n    return x + 1", "x = [1, 2, 3]"),
}
"""Harmless candidates of the kinds that have some; text serves for all other kinds."""
_TEXTS = ("42", "The answer is 42.", "a longer text, in which little is said")
_SEEDED = "draw random numbers from `random` or `numpy.random`, which are seeded for each check"
_REACHED = "it reached for the network"
_SHOWN = 5


class State(StrEnum):
    """Whether a rule is kept."""

    OK = "ok"
    FAIL = "fail"
    ADVICE = "advice"
    """Nothing is broken, but what a campaign could use is missing."""
    SKIP = "skip"
    """The rule says nothing of this verifier."""


class Result(NamedTuple):
    """One sentence of the contract, and whether it holds."""

    name: str
    state: State
    text: str = ""
    """What went wrong, or what was seen."""


class _SkipError(Exception):
    """A rule that says nothing of a verifier."""


def sample_candidates(verifier: Verifier) -> list[Candidate]:
    """Harmless candidates of a verifier's kind: its control, or texts without a task."""
    if verifier.control is not None:
        return [verifier.control]
    turns = (Turn("look", "There is a door."),) if verifier.reads_turns else ()
    contents = SAMPLES.get(verifier.kind, _TEXTS)
    return [Candidate(verifier.kind, content, turns=turns) for content in contents]


def key_of(verifier: Verifier) -> AnswerKey | None:
    """The answer key that comes along for a verifier; None if there is none."""
    return AnswerKey.named(verifier.name) if verifier.name in AnswerKey.known() else None


@dataclass
class Conformance:
    """A verifier, and what it is held to its contract with.

    Each rule returns what is to be mended, "" if nothing is. It runs the verifier in worker
    processes, so that one that crashes or hangs breaks its rule and nothing else.
    """

    verifier: Verifier
    candidates: Sequence[Candidate]
    """Harmless ones, which it should be able to judge."""
    pool: WorkerPool
    key: AnswerKey | None = None
    hostile: Sequence[str | bytes] = HOSTILE
    """What is written instead of a whole content, and of each of its fields."""
    cost_factor: float = 10.0
    """How far the measured cost may lie from the declared one, either way."""
    cost_floor: float = 1e-3
    """Seconds below which costs are not compared: there the machine's load decides."""

    def is_of(self, other: Conformance) -> bool:
        """Whether the other is a trial of the same verifier, which would hear the same answers."""
        return (
            self.verifier.digest == other.verifier.digest
            and self.pool is other.pool
            and (self.candidates, self.key, self.hostile)
            == (other.candidates, other.key, other.hostile)
        )

    @property
    def is_built_in(self) -> bool:
        """Whether the verifier comes along with the library, which describes all of its own."""
        return type(self.verifier).__module__.startswith("verifier_ladder.tiers.")

    def results(self) -> Iterator[Result]:
        """Try all rules, one after the other.

        Those that come after a verifier that judges nothing would only repeat it, so they are
        left out.
        """
        for name, (rule, state) in RULES.items():
            is_demanded = rule is Conformance.is_described and self.is_built_in
            result = self.tried(name, rule, State.FAIL if is_demanded else state)
            yield result
            if rule is Conformance.answers and result.state is State.FAIL:
                return

    def tried(
        self, name: str, rule: Callable[[Conformance], str], state: State = State.FAIL
    ) -> Result:
        """Try one rule; `state` is what a complaint amounts to."""
        try:
            complaint = rule(self)
        except _SkipError as skipped:
            return Result(name, State.SKIP, f"{skipped}")
        return Result(name, state if complaint else State.OK, complaint)

    # ---- Rules

    def declares(self) -> str:
        """Name, version and settings make a key."""
        try:
            _ = self.verifier.digest
        except Exception as error:  # noqa: BLE001 - settings may be anything
            return printable(error, 500)
        return ""

    def is_described(self) -> str:
        """Report cards gather verifiers by what they look at."""
        missing = [
            f"{name}={example!r}"
            for name, example in (("capabilities", ("reasoning",)), ("domain", "mathematics"))
            if not getattr(self.verifier, name)
        ]
        return f"declare what it looks at, such as {', '.join(missing)}" if missing else ""

    def answers(self) -> str:
        """Harmless candidates are judged, and none of the verdicts is a failure."""
        failed = [
            f"{printable(candidate.content, 40)!r}: {printable(verdict.reason, 300)}"
            for candidate, verdict in zip(self.candidates, self._first, strict=True)
            if not verdict.is_answer
        ]
        return f"harmless candidates have no verdict: {'; '.join(failed)}" if failed else ""

    def repeats(self) -> str:
        """Verdicts are cached, so they must not depend on when they are asked for."""
        self._needs_one_answer()
        for one, other in zip(self._first, self._again, strict=True):
            if _said(one) != _said(other):
                return f"first {one}, then {other}; {_SEEDED}"
        return ""

    def ignores_neighbours(self) -> str:
        """The engine forms batches as it likes: neighbours and order must not matter."""
        self._needs_one_answer()
        is_group = self.verifier.scope == "group"  # Whose members are meant to matter.
        alone = self._again if is_group else [self._judged([one])[0] for one in self.candidates]
        reverse = self._judged(self.candidates[::-1])[::-1]
        for batch, single, turned in zip(self._again, alone, reverse, strict=True):
            if not _alike(batch, single):
                return f"in a batch {batch}, alone {single}"
            if not _alike(batch, turned):
                return f"in a batch {batch}, in reverse order {turned}"
        return ""

    def survives(self) -> str:
        """No content, and no field of one, makes it fail beside good ones, crash or hang."""
        self._needs_computing()
        strangers = list(hostile_candidates(self.candidates[0], self.hostile))
        said = judge_hostile(self.pool, self.verifier, self.candidates, strangers)
        if found := complaints(said):
            return found
        lost = [(c.content[:40], v.reason) for c, v in said if _is_lost(v)]
        told = printable(lost[:_SHOWN], 500)
        return f"these crashed a worker or ran past the time limit: {told}" if lost else ""

    def needs_no_task(self) -> str:
        """A missing reference answer is no reason to bring the worker down."""
        bare = [Candidate(each.kind, each.content) for each in self.candidates]
        lost = [v.reason for v in self._judged(bare) if v.failed_at == "engine"]
        told = printable(lost[:_SHOWN], 500)
        return f"candidates without a task brought the worker down: {told}" if lost else ""

    def agrees(self) -> str:
        """Its answer key knows right from wrong."""
        found = self._report.complaints
        return "; ".join(found) if found else ""

    def teaches(self) -> str:
        """Every reject says what to do better, and none tells a hidden value."""
        told = list(self._report.flaws) if self.key is not None else []
        told += [
            f"{printable(candidate.content, 40)!r} is rejected without feedback"
            for candidate, verdict in zip(self.candidates, self._again, strict=True)
            if verdict.outcome is Outcome.REJECT and not verdict.feedback
        ]
        return "; ".join(told[:_SHOWN])

    def costs_what_it_declares(self) -> str:
        """Budgets and the scheduler rely on it; what the first batch loads does not count."""
        declared = sum(self.verifier.expected_cost(each).seconds for each in self.candidates)
        measured = sum((v.cost or Cost()).seconds for v in self._again)
        below, above = declared / self.cost_factor, declared * self.cost_factor
        if below - self.cost_floor <= measured <= max(above, self.cost_floor):
            return ""
        return (
            f"declared {declared:.3g} cpu-seconds for {len(self.candidates)} candidates, "
            f"measured {measured:.3g}; change cost=vl.Cost(seconds=…)"
        )

    def stays_offline(self) -> str:
        """Without `network=True` its process opens no connection; programs it starts are not seen.

        The worker is kept from the network from then on, so this rule is tried last.
        """
        self._needs_computing()
        if self.verifier.network:
            raise _SkipError("it declares that it uses one")
        said = self._judged(self.candidates, _offline(self.verifier))
        found = sorted({v.reason for v in said if v.reason.startswith(_REACHED)})
        return f"{'; '.join(found)}; declare network=True" if found else ""

    # ---- What they share

    @cached_property
    def _first(self) -> list[Verdict]:
        return self._judged(self.candidates)

    @cached_property
    def _again(self) -> list[Verdict]:
        """The second round: the first also paid for loading models."""
        _ = self._first
        return self._judged(self.candidates)

    @cached_property
    def _report(self) -> Report:
        self._needs_computing()
        if self.key is None:
            raise _SkipError("it has no answer key")
        return self.key.check(self.verifier, judge=self._judged_in_order)

    def _judged(
        self, candidates: Sequence[Candidate], verifier: Verifier | None = None
    ) -> list[Verdict]:
        self._needs_computing()
        seeds = [_seed(each) for each in candidates]
        work = self.pool.verify(verifier or self.verifier, candidates, seeds=seeds)
        return work.result().verdicts

    def _judged_in_order(self, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Judge cases of a key as a ladder does: in canonical form, beside harmless ones."""
        if self.verifier.scope == "group":  # Each is a group, which has nobody beside it.
            return self._judged(candidates)
        said = judge_hostile(self.pool, self.verifier, self.candidates, candidates)
        return [verdict for _, verdict in said]

    def _needs_computing(self) -> None:
        if self.verifier.waits:
            raise _SkipError("it opens a case and answers later")

    def _needs_one_answer(self) -> None:
        if self.verifier.replicates > 1:
            raise _SkipError("a stochastic verifier may differ from time to time")


RULES: dict[str, tuple[Callable[[Conformance], str], State]] = {
    "its name, version and settings make a key": (Conformance.declares, State.FAIL),
    "it answers for every sample candidate": (Conformance.answers, State.FAIL),
    "the same candidate again gives the same verdict": (Conformance.repeats, State.FAIL),
    "a batch gives the same verdicts as single candidates": (
        Conformance.ignores_neighbours, State.FAIL,
    ),
    "hostile text and extreme numbers get a verdict, and no failure of the verifier": (
        Conformance.survives, State.FAIL,
    ),
    "a candidate without a task gets a verdict": (Conformance.needs_no_task, State.FAIL),
    "it agrees with its answer key": (Conformance.agrees, State.FAIL),
    "it costs about what it declares": (Conformance.costs_what_it_declares, State.FAIL),
    "every reject has feedback, and none tells a hidden value": (
        Conformance.teaches, State.ADVICE,
    ),
    "it says which capability and domain it is about": (
        Conformance.is_described, State.ADVICE,
    ),
    "it needs no network, or says so": (Conformance.stays_offline, State.FAIL),
}  # fmt: skip
"""The contract: each sentence, what tries it, and what a complaint amounts to."""


def _seed(candidate: Candidate) -> int:
    """The same each time and in every batch, as that of a check, which derives from its key."""
    content = candidate.content
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return crc32(data)


def _is_lost(verdict: Verdict) -> bool:
    return verdict.failed_at == "engine" or verdict.evidence.get("cause") == "resource"


def _said(verdict: Verdict) -> tuple[object, ...]:
    """All of a verdict but its cost."""
    return (
        verdict.outcome, verdict.score, verdict.uncertainty, verdict.unit, verdict.failed_at,
        verdict.turns,
    )  # fmt: skip


def _alike(one: Verdict, other: Verdict) -> bool:
    """The same verdict, up to the rounding that batched arithmetic brings."""
    if one.score is None or other.score is None:
        return _said(one) == _said(other)
    return one.outcome is other.outcome and math.isclose(
        one.score, other.score, rel_tol=1e-6, abs_tol=1e-9
    )


# ---- Without a network


class _Offline(Verifier):
    """What is put before a verifier's class, so that its worker opens no connection."""

    def setup(self) -> None:
        """Refuse connections from here on, in this process."""
        self._reached = _refuse_connections()
        super().setup()

    def stream(self, candidates: Sequence[Candidate]) -> Iterator[object]:
        """Its answers, or that it tried."""
        for answer in super().stream(candidates):
            tried = self._reached
            yield Verdict.abstain(f"{_REACHED}: {tried[0]}") if tried else answer


def _offline(verifier: Verifier) -> Verifier:
    made = copy.copy(verifier)
    vars(made).pop("digest", None)
    vars(made).pop("key_digest", None)
    made.name, made.version = f"{verifier.name} without a network", verifier.version
    made.__class__ = type("Offline", (_Offline, type(verifier)), {})
    return made


def _refuse_connections() -> list[str]:
    """Have Python refuse them, for as long as the process lives; the list tells which."""
    reached: list[str] = []

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        is_far = event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple)
        if is_far or event in {"socket.getaddrinfo", "socket.gethostbyname"}:
            reached.append(printable(f"{event} {arguments[1 if is_far else 0]!r}", 100))
            raise PermissionError("the network is not declared")

    sys.addaudithook(refuse)
    return reached
