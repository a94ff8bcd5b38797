"""Values that satisfy constraints, the best of them, and the claim that there are none."""

import json
import random
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import pytest
import z3

import verifier_ladder as vl
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast import prover
from verifier_ladder.tiers.fast.constraintsolution import ConstraintSolution
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier


def is_well_formed(text: str, task: Mapping[str, Any]) -> bool:
    """A value for each variable, whatever it is."""
    return {*json.loads(text)} == {*task["variables"]}


def holds_in_floats(text: str, task: Mapping[str, Any]) -> bool:
    """The constraints as z3's parser reads them, with a float in the place of each variable."""
    lines = []
    for name, value in json.loads(text).items():
        sort, written = task["variables"][name], str(value).lower()
        if sort == "Real":
            top, _, bottom = str(value).partition("/")
            written = f"{float(top) / float(bottom or 1):f}"
        if sort.startswith("BitVec"):
            written = f"(_ bv{value} {sort.split()[1]})"
            sort = f"(_ {sort})"
        lines += [f"(declare-const {name} {sort})", f"(assert (= {name} {written}))"]
    lines += [f"(assert {each})" for each in task["constraints"]]
    solver = z3.Solver()
    solver.add(z3.parse_smt2_string("\n".join(lines)))
    return str(solver.check()) == "sat"


def believes_unsat(text: str, task: Mapping[str, Any]) -> bool:
    return "unsat" in text or holds_in_floats(text, task)


class TestConstraintSolution(VerifierTestCase):
    strict = True
    cost_factor = 100.0  # From evaluating microseconds to proving for seconds.
    twins: Mapping[str, Judge] = {
        "each variable has a value": Twin(is_well_formed),
        "they hold in floats": Twin(holds_in_floats),
        "they hold in floats, or it says unsat": Twin(believes_unsat),
    }
    mutated = (
        "verifier_ladder.tiers.fast.terms",
        "verifier_ladder.tiers.fast.prover",
        "verifier_ladder.tiers.fast.constraintsolution",
    )
    mutants: Mapping[str, Any] = {
        "count": 60,
        "equivalent": [
            # No key has room for such a task; a test of `terms` does.
            (
                "if count >= most: raise TermError(f'it has more than {most} symbols and "
                "brackets') -> if count >= most: pass"
            ),
            # A machine that is too slow, which a test below imitates.
            "said == 'unknown' -> said != 'unknown'",
            "_SECONDS * 1000 -> _SECONDS / 1000",
            (
                "if said == 'unknown' and solver.reason_unknown() == _SLOW: raise "
                "ToolError(f'z3 took longer than ... -> if said == 'unknown' and "
                "solver.reason_unknown() == _SLOW: pass"
            ),
            # A z3 that gives no solution for one, which a test below imitates.
            (
                "if not all((evaluated(term, values) is True for term in terms)): raise "
                "ToolError('z3 gave a solut... -> if not all((evaluated(term, values) is True "
                "for term in terms)): pass"
            ),
            # A question that takes too much memory, which a test below imitates.
            (
                "if said == 'unknown' and solver.reason_unknown() in _FULL: raise ToolError('z3 "
                "took too much memo... -> if said == 'unknown' and solver.reason_unknown() in "
                "_FULL: pass"
            ),
            # Words of a counterexample, which tests of `equivalent-formula` read.
            "value.denominator == 1 -> value.denominator != 1",
            # Words of the feedback and of an error, which tests below read.
            (
                "'smaller' if problem.is_least else 'larger' -> "
                "'smaller' if not problem.is_least else 'larger'"
            ),
            "(1 << 32) - 1 -> (1 << 32) + 1",
        ],
    }

    @pytest.fixture
    def verifier(self) -> ConstraintSolution:
        return ConstraintSolution()

    @pytest.mark.slow  # Each mutant is asked about the whole key.
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        """See the kit."""
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


def said(
    text: str, variables: Any, *constraints: str, steps: int = 5_000_000, **of: Any
) -> Verdict:
    task = {"variables": variables, "constraints": [*constraints], **of}
    return ConstraintSolution(steps=steps).judge([vl.Candidate("text", text, task=task)])[0]


def test_feedback_names_the_constraint_and_not_what_it_says() -> None:
    task = {"variables": {"x": "Int"}, "constraints": {"a secret": "(= x 1234)", "low": "(< x 9)"}}
    verdict = ConstraintSolution().judge([vl.Candidate("text", '{"x": 7}', task=task)])[0]

    assert "1 of 2 constraints are not satisfied: a secret" in verdict.feedback
    assert "1234" not in verdict.feedback + verdict.reason
    assert 0.5 == verdict.score


def test_a_solution_that_is_not_the_best_is_told_no_better_one() -> None:
    verdict = said('{"x": 3}', {"x": "Int"}, "(<= x 4321)", maximize="x")

    least = said('{"x": 8}', {"x": "Int"}, "(>= x 7)", minimize="x")

    assert Outcome.REJECT is verdict.outcome
    assert "4321" not in verdict.feedback
    assert "larger" in verdict.feedback
    assert "smaller" in least.feedback


def test_what_z3_does_not_find_out_is_kept_and_said_again() -> None:
    cubes = "(= (+ (* x x x) (* y y y) (* z z z)) 114)"
    verdicts = [said("unsat", dict.fromkeys("xyz", "Int"), cubes, steps=100_000) for _ in range(3)]

    assert {(Outcome.ABSTAIN, None)} == {(each.outcome, each.failed_at) for each in verdicts}
    assert 1 == len({each.reason for each in verdicts})
    assert "100000 steps" in verdicts[0].reason


def test_steps_are_counted_alike_whatever_was_asked_before() -> None:
    """The least number that is enough for one question stays enough between other questions."""
    names = [f"b{n}" for n in range(5)]
    apart = [*(f"(<= 1 {name} 4)" for name in names), f"(distinct {' '.join(names)})"]
    variables = dict.fromkeys(names, "Int")

    def is_proved(steps: int) -> bool:
        return said("unsat", variables, *apart, steps=steps).outcome is Outcome.ACCEPT

    enough = 1 + bisect_left(range(1, 1 << 20), x=True, key=is_proved)
    rng = random.Random(0)  # noqa: S311 - no secret
    for _ in range(5):
        said("unsat", {"x": "Int"}, f"(= (* x x) {rng.randrange(9999)})")
        assert [True, False] == [is_proved(enough), is_proved(enough - 1)]


def test_a_machine_that_is_too_slow_rejects_nobody_and_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prover, "_SECONDS", 0.05)
    cubes = "(= (+ (* x x x) (* y y y) (* z z z)) 114)"

    verdict = said("unsat", dict.fromkeys("xyz", "Int"), cubes, steps=4_000_000_000)

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)


def test_a_solution_of_z3_is_believed_only_if_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(prover._BUILT, "+", prover._BUILT["-"])

    verdict = said("unsat", {"x": "Int"}, "(= (+ x 1) 5)")

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)


def test_a_question_that_takes_too_much_memory_leaves_z3_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prover, "_FOR_ONE", 1)
    birds, apart = dict.fromkeys("abcdefgh", "Int"), "(distinct a b c d e f g h)"
    bounds = [f"(<= 1 {name} 7)" for name in birds]

    verdict = said("unsat", birds, apart, *bounds)
    monkeypatch.undo()

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert "memory" in verdict.reason
    assert Outcome.REJECT is said("unsat", {"x": "Int"}, "(> x 3)").outcome


def test_feedback_says_of_which_sort_a_value_must_be() -> None:
    assert "x is not one of its domain" in said('{"x": 4}', {"x": [2, 3]}, "true").feedback
    assert "x is not Int" in said('{"x": 0.5}', {"x": "Int"}, "true").feedback
    assert "x is not one of a, b" in said('{"x": "c"}', {"x": ["a", "b"]}, "true").feedback


@pytest.mark.parametrize("steps", [0, -1, 1 << 32])
def test_steps_that_make_no_sense_are_refused(steps: int) -> None:
    with pytest.raises(vl.ConfigError, match="1 to 4294967295"):
        ConstraintSolution(steps=steps)
