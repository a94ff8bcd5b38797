"""The conformance kit for verifiers: what every one of them must do, as ready-made tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.testing.answerkey import AnswerKey, Judge
from verifier_ladder.testing.conformance import Conformance, State, key_of, sample_candidates
from verifier_ladder.testing.hostile import HOSTILE
from verifier_ladder.testing.mutants import mutation_test
from verifier_ladder.verifiers import Verifier


class VerifierTestCase:
    """Tests that every verifier must pass. Subclass it and override `verifier`.

    The verifier is run in worker processes, so one that crashes fails its test and nothing else.
    Override `candidates` when the default ones say little about your kind of candidate,
    `answer_key` when there is one that does not come along, and `cost_factor` when your costs
    vary more::

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
    strict = False
    """Whether feedback on every reject, capabilities and domain are demanded, not advised."""
    twins: Mapping[str, Judge] = {}
    """Naive checkers that the answer key must tell from the verifier; two or more."""
    mutated: Sequence[str] = ()
    """Modules of the verifier whose mutants the answer key must notice."""
    mutants: Mapping[str, Any] = {}
    """Further arguments of `mutation_test`, such as `count` and `equivalent`."""

    @pytest.fixture
    def verifier(self) -> Verifier:
        """The verifier under test; override this."""
        raise NotImplementedError("override the fixture `verifier` with one that returns yours")

    @pytest.fixture
    def candidates(self, verifier: Verifier) -> list[Candidate]:
        """Harmless candidates of the verifier's kind."""
        return sample_candidates(verifier)

    @pytest.fixture
    def answer_key(self, verifier: Verifier) -> AnswerKey | None:
        """The key that comes along under the verifier's name; None if there is none."""
        return key_of(verifier)

    @pytest.fixture(scope="class")
    @classmethod
    def pool(cls) -> Iterator[WorkerPool]:
        """One worker."""
        with WorkerPool(1, name="conformance") as pool:
            yield pool

    @pytest.fixture(scope="class")
    @classmethod
    def _trials(cls) -> list[Conformance]:
        """The last trial: all tests of a verifier share what it has said."""
        return []

    @pytest.fixture
    def trial(
        self, verifier: Verifier, candidates: list[Candidate], pool: WorkerPool,
        answer_key: AnswerKey | None, _trials: list[Conformance],
    ) -> Conformance:  # fmt: skip
        """The verifier on trial, with what it has said so far."""
        made = Conformance(
            verifier, candidates, pool, answer_key, self.hostile, self.cost_factor, self.cost_floor
        )
        if not _trials or not _trials[0].is_of(made):
            _trials[:] = [made]
        return _trials[0]

    def test_every_candidate_gets_a_verdict(self, trial: Conformance) -> None:
        """Harmless candidates are judged, and none of the verdicts is a failure."""
        self._hold(trial, Conformance.answers)

    def test_the_same_candidate_gets_the_same_verdict(self, trial: Conformance) -> None:
        """Verdicts are cached, so they must not depend on when they are asked for."""
        self._hold(trial, Conformance.repeats)

    def test_a_batch_says_the_same_as_its_candidates_alone(self, trial: Conformance) -> None:
        """The engine forms batches as it likes: neighbours and order must not matter."""
        self._hold(trial, Conformance.ignores_neighbours)

    def test_hostile_input_gets_verdicts(self, trial: Conformance) -> None:
        """No content, and no field of one, makes it fail beside good ones, crash or hang."""
        self._hold(trial, Conformance.survives)

    def test_a_candidate_without_a_task_gets_a_verdict(self, trial: Conformance) -> None:
        """A missing reference answer is no reason to bring the worker down."""
        self._hold(trial, Conformance.needs_no_task)

    def test_its_declared_cost_is_about_right(self, trial: Conformance) -> None:
        """Budgets and the scheduler rely on it."""
        self._hold(trial, Conformance.costs_what_it_declares)

    def test_it_agrees_with_its_answer_key(self, trial: Conformance) -> None:
        """Right answers are accepted, wrong ones rejected, hostile ones judged."""
        self._hold(trial, Conformance.agrees)

    def test_the_answer_key_tells_it_from_naive_twins(self, answer_key: AnswerKey | None) -> None:
        """A key that a naive checker passes says nothing of a good one."""
        if answer_key is None or not self.twins:
            pytest.skip("no twins are named")
        assert not (found := answer_key.weaknesses(self.twins)), found

    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        """A key that does not notice an edit of the verifier leaves that part untested."""
        if answer_key is None or not self.mutated:
            pytest.skip("no modules are named")
        found = mutation_test(
            answer_key, type(verifier), self.mutated, settings=verifier.settings, **self.mutants
        ).weaknesses
        assert not found, found

    def test_every_reject_has_feedback(self, trial: Conformance) -> None:
        """A student model can learn from it, and it tells no hidden value."""
        self._advise(trial, Conformance.teaches)

    def test_it_says_what_it_is_about(self, trial: Conformance) -> None:
        """Report cards gather verifiers by capability and domain."""
        rule = Conformance.is_described
        self._hold(trial, rule) if trial.is_built_in else self._advise(trial, rule)

    def test_it_needs_no_network_or_says_so(self, trial: Conformance) -> None:
        """Silence of a network must not be held against a candidate."""
        self._hold(trial, Conformance.stays_offline)

    def _advise(self, trial: Conformance, rule: Callable[[Conformance], str]) -> None:
        if not self.strict:
            pytest.skip("only advised")
        self._hold(trial, rule)

    def _hold(self, trial: Conformance, rule: Callable[[Conformance], str]) -> None:
        result = trial.tried(rule.__name__, rule)
        if result.state is State.SKIP:
            pytest.skip(result.text)
        assert result.state is State.OK, result.text
