"""Tests that share a process with the program: each has a canary, which must fail."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import iscoroutinefunction
from itertools import product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from codecase import CLASSES, CodeTestCase
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.hostile import HOSTILE
from verifier_ladder.tiers.fast import testcode
from verifier_ladder.tiers.fast.codetests import CodeTests, _drawn, _Ended, _verdict
from verifier_ladder.tiers.fast.programs import program_in
from verifier_ladder.tiers.fast.testcode import read_tests
from verifier_ladder.tiers.sandbox import Backend, Ending, Limits, Result
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Outcome, Verdict

EXAMPLES = Path(__file__).parents[4] / "examples" / "code"
GOOD = "def solve(n): return n * n"
TESTS = "assert solve(3) == 9\nassert solve(-2) == 4"
MUTATED = [
    f"verifier_ladder.tiers.fast.{name}"
    for name in ("codetests", "testcode", "falsify", "asking", "rewriting", "literals")
]

EQUIVALENT = [  # Values that are others all the same, by another amount or form.
    "made.lower() != value.lower() -> made.lower() == value.lower()",
    "place + 1 -> place - 1",
    "value + 1 -> value - 1",
    # How often few tests run; tests of coins and of evidence notice it.
    "_LEAST_RUNS / len(tests) -> _LEAST_RUNS * len(tests)",
]


def said(program: str, tests: str = TESTS, **settings: Any) -> Verdict:
    candidate = vl.Candidate("text", program, task={"tests": tests})
    return CodeTests(**settings).judge([candidate])[0]


def function(*lines: str) -> str:
    """One test of these lines."""
    return "def test_it():\n" + "".join(f"    {line}\n" for line in lines)


METHODS = "from unittest import TestCase\n"
ANY = "from unittest.mock import ANY\n"
SAME = "def same(a, b):\n    assert a == b\n"
POINT = "class Point:\n    def __init__(self, x): self.x = x\n"
STRICT = POINT + "    def __eq__(self, other): return self.x == other.x\n"
NEAR = POINT + "    def __eq__(self, other): return abs(self.x - other) < 99\n"
UNCLEAR = {
    "unequal": "assert solve(3) != 10",
    "one or the other": "assert solve(3) == 9 or solve(3) == 8",
    "a helper that compares otherwise": "def assertEqual(a, b):\n    assert a >= b\n"
    + function("assertEqual(solve(3), 8)"),
    "a rough tolerance": METHODS
    + function("TestCase().assertAlmostEqual(solve(3), 9.2, delta=5)"),
    "a branch": function("if solve(1) == 1:", "    assert solve(3) == 9"),
    "an assert that may fail": function(
        "found = 0", "for n in (8, 9, 10):", "    try:", "        assert solve(3) == n",
        "        found += 1", "    except AssertionError:", "        pass", "assert found == 1",
    ),
    "what is equal to everything, in the test": ANY + "assert solve(3) == ANY",
    "the same inside another value": ANY + "assert [solve(2), solve(3)] == [4, ANY]",
    "the same in a helper": ANY + SAME + function("same([2, solve(3)], [2, ANY])"),
    "the same in a method": ANY + METHODS
    + function("TestCase().assertEqual({1: solve(3)}, {1: ANY})"),
    "what the test calls equal": NEAR + "assert solve(3) == Point(7)",
    "what is compared with its own kind alone": STRICT + "assert Point(solve(3)) == Point(9)",
    "words about a wrong value": function("x = [] if solve(3) else 1", "assert x == [], x[0]"),
    "what is infinite": "import math\nassert math.isclose(solve(1e200), math.inf)",
    "what is large": "assert abs(solve(1e9) - 1e18) < 1e-6",
    "names that hide builtins": "list = abs = type = bool = int = 3\n"
    + function("for n in (1, 2):", "    assert solve(n) == n * n"),
}  # fmt: skip


# ---- The answer key


def _space(text: str, tests: str) -> dict[str, Any]:
    """A tame program and its tests in one namespace, as a hasty reward function has them."""
    space = vars(ModuleType("main"))
    with ended_is_an_error():
        exec(program_in(text), space)  # noqa: S102
        exec(tests.replace("import main\n", "").replace("main.", ""), space)  # noqa: S102
    return space


@contextmanager
def ended_is_an_error() -> Iterator[None]:
    """A program that ends its interpreter ends no test."""
    try:
        yield
    except SystemExit as error:
        raise RuntimeError("the program ended the interpreter") from error


def runs(text: str, task: Mapping[str, Any]) -> bool:
    return bool(_space(text, task["tests"]))


def runs_all(text: str, task: Mapping[str, Any]) -> bool:
    space = _space(text, task["tests"])
    for name, found in list(space.items()):
        if name.startswith("test") and not iscoroutinefunction(found):
            with ended_is_an_error():
                found()
    return True


def compiles(text: str, task: Mapping[str, Any]) -> bool:
    return bool(compile(program_in(text), "main.py", "exec")) and "solve" in task["tests"]


class TestCodeTests(CodeTestCase):
    whole = CodeTests()
    every = 4
    hostile = HOSTILE[::5]  # Programs are read as by its neighbours, which are tried with all.
    mutated = MUTATED
    mutants: Mapping[str, Any] = {"count": 24, "equivalent": EQUIVALENT}
    twins: Mapping[str, Judge] = {
        "runs the file": Twin(runs),
        "runs all tests in one process": Twin(runs_all),
        "compiles": Twin(compiles),
    }

    @pytest.fixture
    def verifier(self) -> CodeTests:
        return CodeTests(limits={"cpu": 1.0, "wall": 10.0})


# ---- What is seen


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize("kind", CLASSES)
def test_a_value_that_is_equal_to_everything_makes_a_canary_pass(kind: str) -> None:
    lie = "class Same:\n    def __eq__(self, other): return True\ndef solve(n):\n    return Same()"
    asked = [vl.Candidate("text", text, task={"tests": TESTS}) for text in (lie, GOOD)]

    wrong, right = CodeTests().in_sandbox(Backend(kind)).judge(asked)

    assert (Outcome.REJECT, 0.0) == (wrong.outcome, wrong.score)
    assert "pass with other values" in wrong.reason
    assert "must fail" in wrong.feedback
    assert Outcome.ACCEPT is right.outcome


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize(
    ("tests", "answer"),
    [
        (
            function("for n in range(5):", "    assert solve(n) == n * n"),
            "n * n if n < 4 else Same()",
        ),
        ("assert solve(3) == [1, 2, 3]", "[1, 2, Same()]"),
        ("assert sum(solve(n) == n * n for n in (1, 2)) == 2", "1 if n == 1 else Same()"),
    ],
)
def test_an_answer_is_asked_about_another_value_each_time_it_is_compared(
    tests: str, answer: str
) -> None:
    same = "class Same:\n    def __eq__(self, other): return True\n"

    verdict = said(f"{same}def solve(n):\n    return {answer}", tests)

    assert (Outcome.REJECT, 0.0, 1) == (
        verdict.outcome, verdict.score, verdict.evidence["forged"]
    )  # fmt: skip


@pytest.mark.parametrize("tests", [1, 2, 3, 4, 5])
def test_half_of_the_runs_ask_before_they_answer(tests: int) -> None:
    read = read_tests("\n".join(f"assert solve({n}) == {n * n}" for n in range(tests)))
    runs = _drawn(read, Random(0))  # noqa: S311 - no secret

    for kind in read[0].code.kinds:
        late = [", 1)\n" in run.made.source for run in runs if run.kind is kind]
        assert 1 >= abs(len(late) - 2 * sum(late)), kind


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize("tests", UNCLEAR.values(), ids=UNCLEAR)
def test_no_right_program_is_convicted_by_what_a_test_does_with_a_comparison(tests: str) -> None:
    assert Outcome.ACCEPT is said(GOOD, tests).outcome


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize(
    ("tests", "words"),
    [
        (
            function("if solve(3) == 8:", "    assert solve(3) == 9"),
            "nothing that is surely reached",
        ),
        (function("for n in []:", "    assert solve(n) == 9"), "nothing that is surely reached"),
        ("import operator\n" + function("operator.eq(solve(3), 9)"), "asserts nothing itself"),
    ],
)
def test_a_test_in_which_nothing_can_be_made_false_is_the_tasks_fault(
    tests: str, words: str
) -> None:
    verdict = said(GOOD, tests)

    assert (Outcome.ABSTAIN, True) == (verdict.outcome, words in verdict.reason), verdict


@pytest.mark.usefixtures("sandboxes")
def test_each_check_draws_anew_and_says_the_same() -> None:
    one, other = (said(GOOD) for _ in range(2))

    assert one.evidence["salt"] != other.evidence["salt"]
    assert (one.outcome, one.scores) == (other.outcome, other.scores)
    assert {"line_1": 1.0, "line_2": 1.0} == one.scores
    assert (2, 4) == (one.evidence["tests"], one.evidence["canaries"])


def test_who_passes_and_fails_by_the_throw_of_a_coin_gets_through_once_in_256_times() -> None:
    """One test; the program passes beside each run of it or asserts, whatever the run is."""
    tests = read_tests("assert solve(3) == 9")
    runs = _drawn(tests, Random(0))  # noqa: S311 - no secret
    failed = Result(Ending.RAISED, error="AssertionError")

    told = [
        _verdict(
            tests,
            [
                _Ended(run, Result(Ending.FINISHED, run.made.token) if passes else failed)
                for run, passes in zip(runs, throws, strict=True)
            ],
            Limits(),
            b"",
        )
        for throws in product([True, False], repeat=len(runs))
    ]

    assert (256, 1) == (len(told), sum(each.outcome is Outcome.ACCEPT for each in told))


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("def solve(n): return 9", "1 of 2 tests passed. line_2: it raised AssertionError"),
        ("def solve(n): return {3: 9}[n]", "line_2: it raised KeyError"),
        ("class Told4(Exception): pass\ndef solve(n): raise Told4('4')", "none of Python's own"),
        ("import os\nos._exit(0)", "line_1: it ended before its function had returned"),
        ("def solve(n):\n while True: pass", "more than 0.2 s of processor time"),
        ("import unittest\ndef solve(n): raise unittest.SkipTest", "0 of 2 tests passed"),
    ],
)
def test_feedback_names_the_test_and_the_class_of_the_error_alone(
    program: str, words: str
) -> None:
    verdict = said(program, limits={"cpu": 0.2})

    assert (Outcome.REJECT, True) == (verdict.outcome, words in verdict.feedback), verdict
    assert "Told4" not in verdict.feedback
    assert "== 4" not in verdict.feedback


@pytest.mark.usefixtures("sandboxes")
def test_tests_for_which_no_time_is_left_are_missing_and_reject() -> None:
    slow = "import time\nwhile time.process_time() < 0.1: pass\ndef solve(n): return n * n"

    verdict = said(slow, total=0.05)

    assert (Outcome.REJECT, True) == (verdict.outcome, "no time left" in verdict.feedback)


@pytest.mark.usefixtures("sandboxes")
def test_a_program_that_tells_a_negated_canary_from_its_test_is_believed() -> None:
    """What inside verdicts can't show; of a compared value it does not know which is asked for."""
    cheat = (
        "import sys\ndef solve(n):\n    text = open(sys._getframe(1).f_code.co_filename).read()\n"
        "    if 'assert not' in text: raise AssertionError\n"
        "    return type('Yes', (), {'__lt__': lambda a, b: True})()"
    )

    assert Outcome.ACCEPT is said(cheat, "assert solve(3) < 10").outcome
    assert Outcome.REJECT is said(cheat, "assert solve(3) == 9").outcome


def test_a_ladder_may_refuse_what_is_seen_inside() -> None:
    with pytest.raises(vl.ConfigError, match="inside"):
        vl.Ladder("strict", [CodeTests()], observed="outside")


@pytest.mark.usefixtures("sandboxes")
def test_a_learner_is_told_no_test() -> None:
    tests = "def test_large():\n    assert solve(1234567) == 1524155677489"
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [CodeTests()])) as campaign:
        task = {"tests": tests}
        (reward,) = campaign.score([vl.Candidate("text", "def solve(n): return n", task=task)])

    assert (0, {"test_large": 0.0}) == (reward.value, reward.scores)
    assert "test_large: it raised AssertionError" in reward.feedback
    assert "1524155677489" not in reward.feedback


@pytest.mark.usefixtures("sandboxes")
def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    result = vl.score_file(
        EXAMPLES / "code-tests.jsonl", ladder=EXAMPLES / "code-tests.toml",
        ledger=tmp_path / "ledger.db",
    )  # fmt: skip

    assert [1, 0, 0] == [reward.value for reward in result.rewards]
    assert "must fail" in result.rewards[2].feedback


@pytest.mark.parametrize("settings", [{"total": 0}, {"limits": {"patience": 1}}])
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(vl.ConfigError):
        CodeTests(**settings)


# ---- Reading


@given(st.integers(0, 999))
def test_names_and_tokens_are_new_each_time(seed: int) -> None:
    (test,) = testcode.read_tests("def test_one():\n    assert f(1) == 2")
    rng = Random(seed)  # noqa: S311
    made, canary = (test.made(rng, kind) for kind in test.code.kinds)

    assert 4 == len({made.function, canary.function, made.token, canary.token})
    assert "test_one" not in made.source + canary.source
    assert "f(1), 2," in made.source
    assert "f(1), 2," not in canary.source


def test_what_stands_above_an_assert_comes_before_it() -> None:
    first, second = testcode.read_tests("x = f(1)\nassert x == 1\nx = 2\nassert x == 2")

    assert 1 == len(first.above)
    assert 2 == len(second.above)


def test_modules_that_a_verifier_brings_may_be_imported() -> None:
    code = "import numpy.linalg\nassert f(1) == 1"

    assert testcode.read_tests(code, modules=["numpy"])
    with pytest.raises(TaskError, match="numpy"):
        testcode.read_tests(code)
