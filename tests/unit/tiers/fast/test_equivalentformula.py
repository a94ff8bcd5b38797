"""Formulas that say the same as the task's."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.equivalentformula import EquivalentFormula
from verifier_ladder.tiers.fast.terms import Scope, Sort, Value, evaluated
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier


def is_the_same_text(text: str, task: Mapping[str, Any]) -> bool:
    return text.split() == str(task["formula"]).split()


def _drawn(sort: Sort, rng: random.Random) -> Value:
    if sort.kind == "Bool":
        return rng.random() < 0.5
    return rng.randrange(1 << sort.width) if sort.width else rng.randrange(3)


def agrees_on_two_draws(text: str, task: Mapping[str, Any]) -> bool:
    """Testing instead of proving."""
    scope, rng = Scope(task["variables"]), random.Random(1)  # noqa: S311 - no secret
    one, other = scope.term(task["formula"]), scope.term(text)
    draws = [{n: _drawn(v.sort, rng) for n, v in scope.variables.items()} for _ in range(2)]
    return all(evaluated(one, values) == evaluated(other, values) for values in draws)


class TestEquivalentFormula(VerifierTestCase):
    strict = True
    cost_factor = 100.0  # From reading for microseconds to proving for seconds.
    twins: Mapping[str, Judge] = {
        "it is the same text": Twin(is_the_same_text),
        "it agrees on two draws": Twin(agrees_on_two_draws),
    }
    mutated = (
        "verifier_ladder.tiers.fast.prover",
        "verifier_ladder.tiers.fast.equivalentformula",
    )
    mutants: Mapping[str, Any] = {
        "equivalent": [
            # Objectives are asked about by `constraint-solution` alone, whose key notices these.
            (
                "search.minimize(built) if is_least else search.maximize(built) -> "
                "search.minimize(built) if not is_least else search.maximize(built)"
            ),
            # A machine that is too slow, and a z3 that errs: tests of that verifier imitate them.
            "said == 'unknown' -> said != 'unknown'",
            "_SECONDS * 1000 -> _SECONDS / 1000",
            (
                "if said == 'unknown' and solver.reason_unknown() == _SLOW: raise "
                "ToolError(f'z3 took longer than ... -> if said == 'unknown' and "
                "solver.reason_unknown() == _SLOW: pass"
            ),
            (
                "if not all((evaluated(term, values) is True for term in terms)): raise "
                "ToolError('z3 gave a solut... -> if not all((evaluated(term, values) is True "
                "for term in terms)): pass"
            ),
            (
                "if said == 'unknown' and solver.reason_unknown() in _FULL: raise ToolError('z3 "
                "took too much memo... -> if said == 'unknown' and solver.reason_unknown() in "
                "_FULL: pass"
            ),
            # What no fraction is, and objectives, are asked about by `constraint-solution` alone.
            (
                "if not str(infinite) == str(beside) == '0': return 'the objective has no best "
                "value: there is alw... -> if not not str(infinite) == str(beside) == '0': "
                "return 'the objective has no best value: there is..."
            ),
            (
                "if self._z3.is_algebraic_value(best): return \"the objective's best value is no "
                'fraction: no answe... -> if not self._z3.is_algebraic_value(best): return "the '
                "objective's best value is no fraction: no a..."
            ),
            "(1 << 32) - 1 -> (1 << 32) + 1",  # Words of an error.
        ],
    }

    @pytest.fixture
    def verifier(self) -> EquivalentFormula:
        return EquivalentFormula()

    @pytest.mark.slow  # Each mutant is asked about the whole key.
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        """See the kit."""
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


def said(text: str, formula: str, variables: Any = None, **of: Any) -> Verdict:
    task = {"variables": variables or {"p": "Bool", "q": "Bool"}, "formula": formula, **of}
    return EquivalentFormula().judge([vl.Candidate("text", text, task=task)])[0]


def test_a_counterexample_is_told_only_where_the_task_says_so() -> None:
    hidden = said("(or p q)", "(and p q)")
    shown = said("(or p q)", "(and p q)", show_counterexample=True)

    assert "=" not in hidden.feedback
    assert shown.feedback.endswith(("p = true, q = false.", "p = false, q = true."))


@pytest.mark.parametrize(
    ("sort", "formula", "wrong", "told"),
    [
        ("BitVec 4", "(bvadd x #x1)", "(bvor x #x1)", "x = #b"),
        ("Real", "(* x 3.0)", "(+ x 1.0)", "x = "),
        (["red", "green"], "(= x red)", "true", "x = green."),
        ("Int", "(= x 7)", "false", "x = 7."),
    ],
)
def test_a_counterexample_is_told_as_an_answer_has_it(
    sort: Any, formula: str, wrong: str, told: str
) -> None:
    verdict = said(wrong, formula, {"x": sort}, show_counterexample=True)

    assert told in verdict.feedback


def test_a_counterexample_that_is_no_fraction_is_not_told() -> None:
    verdict = said("false", "(= (* x x) 2.0)", {"x": "Real"}, show_counterexample=True)

    assert Outcome.REJECT is verdict.outcome
    assert "They differ for" not in verdict.feedback


def test_feedback_on_a_text_that_is_no_term_says_what_is_wrong() -> None:
    assert "a bracket is never closed" in said("(or p q", "(or p q)").feedback
    assert "'z' is not known" in said("(or p z)", "(or p q)").feedback
    assert "stands for Int, and must for Bool" in said("3", "(or p q)").feedback


def test_a_counterexample_of_any_size_is_told() -> None:
    far = f"(ite (= x (* {' '.join(['9' * 999] * 5)})) 0 x)"
    verdict = said(far, "x", {"x": "Int"}, show_counterexample=True)

    assert "They differ for x = 99999" in verdict.feedback


def test_what_is_too_large_is_refused_before_z3_is_asked() -> None:
    wide = {"v": "BitVec 256"}
    answer = said(f"(bvmul {'v ' * 60})", "(bvadd v (_ bv1 256))", wide)
    task = said("v", f"(bvmul {'v ' * 60})", wide)

    assert Outcome.REJECT is answer.outcome
    assert "3866624 cells; at most 524288" in answer.reason
    assert "Multiply and divide less often" in answer.feedback
    assert (Outcome.ABSTAIN, None) == (task.outcome, task.failed_at)
