"""The conformance kit for verifiers: what every one of them must do, as ready-made tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pytest

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.testing.hostile import (
    HOSTILE,
    complaints,
    hostile_candidates,
    judge_hostile,
)
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

SAMPLES: dict[str, tuple[str, ...]] = {
    "molecule": ("CCO", "c1ccccc1", "CC(=O)O", "CCN"),
    "code": ("print(1)", "def f(x):\n    return x + 1", "x = [1, 2, 3]"),
}
"""Harmless candidates of the kinds that have some; text serves for all other kinds."""
_TEXTS = ("42", "The answer is 42.", "a longer text, in which little is said")


class VerifierTestCase:
    """Tests that every verifier must pass. Subclass it and override `verifier`.

    The verifier is run in worker processes, so one that crashes fails its test and nothing else.
    Override `candidates` when the default ones say little about your kind of candidate, and
    `cost_factor` when your costs vary more::

        class TestLogP(VerifierTestCase):
            @pytest.fixture
            def verifier(self):
                return logp_window
    """

    cost_factor = 10.0
    """How far the measured cost may lie from the declared one, either way."""
    cost_floor = 1e-3
    """Seconds below which costs are not compared: there the machine's load decides."""
    hostile: Sequence[str | bytes] = HOSTILE
    """What is written instead of a whole content, and of each of its fields."""

    @pytest.fixture
    def verifier(self) -> Verifier:
        """The verifier under test; override this."""
        raise NotImplementedError("override the fixture `verifier` with one that returns yours")

    @pytest.fixture
    def candidates(self, verifier: Verifier) -> list[Candidate]:
        """Harmless candidates of the verifier's kind."""
        turns = (Turn("look", "There is a door."),) if verifier.reads_turns else ()
        return [
            Candidate(verifier.kind, content, turns=turns)
            for content in SAMPLES.get(verifier.kind, _TEXTS)
        ]

    @pytest.fixture(scope="class")
    @classmethod
    def pool(cls) -> Iterator[WorkerPool]:
        """One worker."""
        with WorkerPool(1, name="conformance") as pool:
            yield pool

    def test_every_candidate_gets_a_verdict(
        self, verifier: Verifier, candidates: list[Candidate], pool: WorkerPool
    ) -> None:
        """Harmless candidates are judged, and none of the verdicts is a failure."""
        failures = [v.reason for v in judged(pool, verifier, candidates) if not v.is_answer]

        assert not failures, f"harmless candidates have no verdict: {failures}"

    def test_the_same_candidate_gets_the_same_verdict(
        self, verifier: Verifier, candidates: list[Candidate], pool: WorkerPool
    ) -> None:
        """Verdicts are cached, so they must not depend on when they are asked for."""
        if verifier.replicates > 1:
            pytest.skip("a stochastic verifier may differ from time to time")

        once, again = (judged(pool, verifier, candidates) for _ in range(2))

        for first, second in zip(once, again, strict=True):
            assert _said(first) == _said(second), f"first {first}, then {second}"

    def test_a_batch_says_the_same_as_its_candidates_alone(
        self, verifier: Verifier, candidates: list[Candidate], pool: WorkerPool
    ) -> None:
        """The engine forms batches as it likes: neighbours and order must not matter."""
        if verifier.replicates > 1:
            pytest.skip("a stochastic verifier may differ from time to time")

        together = judged(pool, verifier, candidates)
        alone = [judged(pool, verifier, [candidate])[0] for candidate in candidates]
        reverse = judged(pool, verifier, candidates[::-1])[::-1]

        for batch, single, turned in zip(together, alone, reverse, strict=True):
            assert _alike(batch, single), f"in a batch {batch}, alone {single}"
            assert _alike(batch, turned), f"in a batch {batch}, in reverse order {turned}"

    def test_hostile_input_gets_verdicts(
        self, verifier: Verifier, candidates: list[Candidate], pool: WorkerPool
    ) -> None:
        """No content, and no field of one, makes it fail beside good ones, crash or hang."""
        if verifier.waits:
            pytest.skip("it opens a case and answers later")
        strangers = list(hostile_candidates(candidates[0], self.hostile))

        said = judge_hostile(pool, verifier, candidates, strangers)

        assert not complaints(said), complaints(said)
        lost = [(c.content[:40], v.reason) for c, v in said if _is_lost(v)]
        assert not lost, f"these crashed a worker or ran past the time limit: {lost}"

    def test_a_candidate_without_a_task_gets_a_verdict(
        self, verifier: Verifier, candidates: list[Candidate], pool: WorkerPool
    ) -> None:
        """A missing reference answer is no reason to bring the worker down."""
        bare = [Candidate(each.kind, each.content) for each in candidates]

        lost = [v.reason for v in judged(pool, verifier, bare) if v.failed_at == "engine"]

        assert not lost, f"candidates without a task brought the worker down: {lost}"

    def test_its_declared_cost_is_about_right(
        self, verifier: Verifier, candidates: list[Candidate], pool: WorkerPool
    ) -> None:
        """Budgets and the scheduler rely on it."""
        declared = sum(verifier.expected_cost(each).seconds for each in candidates)
        if not declared:
            pytest.skip("it declares no cost")
        judged(pool, verifier, candidates)  # the first batch pays for imports and models

        measured = sum((v.cost or Cost()).seconds for v in judged(pool, verifier, candidates))

        if max(declared, measured) > self.cost_floor:
            assert declared / self.cost_factor <= measured <= declared * self.cost_factor, (
                f"declared {declared:.3g} cpu-seconds for {len(candidates)} candidates, "
                f"measured {measured:.3g}"
            )


def judged(pool: WorkerPool, verifier: Verifier, candidates: Sequence[Candidate]) -> list[Verdict]:
    """Judge a batch in a worker.

    Verifiers that wait for the world are skipped: they have nothing to run.
    """
    if verifier.waits:
        pytest.skip("it opens a case and answers later")
    return pool.verify(verifier, candidates).result().verdicts


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
