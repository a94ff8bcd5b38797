"""Properties of programs, on inputs that are drawn outside."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from codecase import CLASSES, CodeTestCase
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.hostile import HOSTILE
from verifier_ladder.tiers.fast.drawing import Booleans, Integers, Lists, Text, Tuples, drawn
from verifier_ladder.tiers.fast.programs import program_in
from verifier_ladder.tiers.fast.properties import CodeProperties, Runs
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Outcome, Verdict

EXAMPLES = Path(__file__).parents[4] / "examples" / "code"
LISTS = {"type": "lists", "of": {"type": "integers"}}
SORTS = {"property": "sorts", "inputs": [LISTS]}
ABSOLUTE = {"property": "idempotent", "inputs": [{"type": "integers"}]}
TRIP = {"property": "round-trip", "inverse": "back", "inputs": [{"type": "text"}]}
SUM = {
    "property": "reference", "reference": "def solve(a, b):\n    return a + b",
    "inputs": [{"type": "integers"}, {"type": "integers"}],
}  # fmt: skip


@pytest.fixture(params=CLASSES)
def kind(request: pytest.FixtureRequest, require: Callable[..., None]) -> str:
    found = str(request.param)
    why = Backend(found).problem()
    require(f"the sandbox {found}", not why, why)
    return found


def said(kind: str, program: str, task: dict[str, Any], **settings: Any) -> Verdict:
    verifier = CodeProperties(**{"examples": 30, "cpu": 1.0, **settings})
    candidate = vl.Candidate("text", program, task=task)
    return verifier.in_sandbox(Backend(kind)).judge([candidate])[0]


def _called(text: str, task: Mapping[str, Any]) -> tuple[Callable[..., Any], Any]:
    """A tame function, and one input, as a hasty reward function has them."""
    space: dict[str, Any] = {}
    exec(program_in(text), space)  # noqa: S102
    kind = task["inputs"][0]["type"]
    given = {"lists": [3, 1, 2], "integers": 3, "text": "ab", "booleans": True, "floats": 0.5}
    return space[task.get("function", "solve")], given[kind]


def is_ordered(text: str, task: Mapping[str, Any]) -> bool:
    """Sorted is what is in order, whatever else it is."""
    function, given = _called(text, task)
    found = function(given)
    return bool(list(found) == sorted(found))


def runs_once(text: str, task: Mapping[str, Any]) -> bool:
    function, given = _called(text, task)
    return function(*[given] * len(task["inputs"])) is not None


class TestCodeProperties(CodeTestCase):
    whole = CodeProperties(examples=25, cpu=0.5, wall=5.0)
    every = 5
    mutants: Mapping[str, Any] = {"count": 24, "settings": {"examples": 15, "cpu": 0.5}}
    hostile = HOSTILE[::3]  # Programs are read as by its neighbours, which are tried with all.
    twins: Mapping[str, Judge] = {
        "what is in order is sorted": Twin(is_ordered),
        "runs without an exception": Twin(runs_once),
    }

    @pytest.fixture
    def verifier(self) -> CodeProperties:
        return CodeProperties(examples=15, cpu=1.0)


@pytest.mark.parametrize(
    ("program", "task", "outcome"),
    [
        ("def solve(xs): return sorted(xs)", SORTS, Outcome.ACCEPT),
        ("def solve(xs): return sorted(set(xs))", SORTS, Outcome.REJECT),
        ("def solve(xs): return tuple(sorted(xs))", SORTS, Outcome.REJECT),
        ("def solve(xs): return sorted(map(float, xs))", SORTS, Outcome.REJECT),
        ("def solve(xs): return list(range(len(xs)))", SORTS, Outcome.REJECT),
        ("def solve(xs): return xs", SORTS, Outcome.REJECT),
        ("def solve(xs): return sorted(xs)[:3]", SORTS, Outcome.REJECT),
        ("class L(list): pass\ndef solve(xs): return L(sorted(xs))", SORTS, Outcome.REJECT),
        ("import os\nos._exit(0)", SORTS, Outcome.REJECT),
        ("def solve(n): return abs(n)", ABSOLUTE, Outcome.ACCEPT),
        ("def solve(n): return -n", ABSOLUTE, Outcome.REJECT),
        ("def solve(n): return [n]", ABSOLUTE, Outcome.REJECT),
        ("def solve(t): return t.encode()\ndef back(b): return b.decode()", TRIP, Outcome.ACCEPT),
        ("def solve(t): return t.strip()\ndef back(t): return t", TRIP, Outcome.REJECT),
        ("def solve(t): return t", TRIP, Outcome.REJECT),
        ("def solve(a, b): return b + a", SUM, Outcome.ACCEPT),
        ("def solve(a, b): return b - a", SUM, Outcome.REJECT),
        ("def solve(a, b): return float(b + a)", SUM, Outcome.REJECT),
    ],
)  # fmt: skip
def test_a_property_holds_of_right_programs_only(
    kind: str, program: str, task: dict[str, Any], outcome: Outcome
) -> None:
    verdict = said(kind, program, task)

    assert (outcome, None) == (verdict.outcome, verdict.failed_at), verdict
    assert (outcome is Outcome.REJECT) == ("solve(" in verdict.feedback)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({}, "inputs"),
        ({"inputs": [LISTS]}, "property"),
        ({**SORTS, "inputs": []}, "inputs"),
        ({**SORTS, "inputs": [LISTS, LISTS]}, "one argument"),
        ({**SORTS, "inputs": [{"type": "modules"}]}, "inputs"),
        ({**SORTS, "inputs": [{"type": "integers", "min": 2, "max": 1}]}, "inputs"),
        ({**SORTS, "inputs": [{**LISTS, "max_size": 10**9}]}, "inputs"),
        ({**SORTS, "function": "os.system"}, "function"),
        ({**SORTS, "property": "nice"}, "property"),
        ({**TRIP, "inverse": None}, "inverse"),
        ({**SUM, "reference": None}, "reference"),
        ({**SUM, "reference": "def solve(a, b): return 1 / 0"}, "reference"),
    ],
)
def test_a_task_that_makes_no_sense_is_nobodys_fault(task: dict[str, Any], words: str) -> None:
    verdict = said("landlock", "def solve(*_): return []", task)

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at), verdict
    assert words in verdict.reason


def test_a_reference_is_not_told() -> None:
    program = "def solve(a, b): return a"
    ladder = vl.Ladder("l", [CodeProperties(examples=5)], observed="outside")
    with vl.Campaign.open("c", ladder=ladder) as campaign:
        (reward,) = campaign.score([vl.Candidate("text", program, task=SUM)])

    assert 0 == reward.value
    assert "solve(" in reward.feedback
    assert "return a + b" not in reward.feedback


def test_a_property_of_ones_own_is_part_of_what_verdicts_are_filed_under(kind: str) -> None:
    def doubles(runs: Runs, n: int) -> bool:
        return bool(runs("double", n) == 2 * n)

    def raises(runs: Runs, n: int) -> bool:
        return bool(runs("double", n)[0] == n)

    task = {"inputs": [{"type": "integers"}]}
    right, wrong = "def double(n): return n + n", "def double(n): return n * n"

    assert Outcome.ACCEPT is said(kind, right, task, holds=doubles).outcome
    assert Outcome.REJECT is said(kind, wrong, task, holds=doubles).outcome
    assert Outcome.REJECT is said(kind, right, task, holds=raises).outcome
    digests = {CodeProperties(holds=each).digest for each in (doubles, raises, None)}
    assert 3 == len(digests)


def test_calls_share_the_time_that_a_program_has() -> None:
    verdict = said(
        "landlock", "def solve(xs):\n while len(xs) > 1: pass\n return xs", SORTS, cpu=0.2
    )
    late = said(
        "landlock", "def solve(n):\n  sum(range(10 ** 6))\n  return n", ABSOLUTE, total=0.05
    )

    assert "more than 0.2 s of processor time" in verdict.feedback
    assert (Outcome.REJECT, True) == (late.outcome, "took too long" in late.reason)


@pytest.mark.parametrize("seed", range(40))
def test_each_end_of_each_range_is_drawn(seed: int) -> None:
    few = Integers(type="integers", min=0, max=99)
    pair = Tuples(type="tuples", of=[few, few])

    found = drawn([few, pair], seed, 16)

    for values in zip(*((a, *b) for a, b in found), strict=True):
        assert {0, 99} <= {*values}


@pytest.mark.parametrize("seed", range(40))
def test_texts_with_a_blank_before_and_after_them_are_drawn(seed: int) -> None:
    found = [text for (text,) in drawn([Text(type="text")], seed, 8)]

    assert any(text[:1].isspace() for text in found)
    assert any(text[-1:].isspace() for text in found)


def test_the_same_seed_draws_the_same_in_every_process(tmp_path: Path) -> None:
    code = (
        "from verifier_ladder.tiers.fast.drawing import *\n"
        "lists = Lists(type='lists', of=Integers(type='integers'))\n"
        "print(drawn([lists, Text(type='text')], 7, 40))"
    )
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    told = [
        subprocess.run(
            [sys.executable, "-c", more + code], capture_output=True, text=True, check=True,
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
        ).stdout
        for more in ("", "import test_properties\n")
    ]  # fmt: skip

    inputs = [Lists(type="lists", of=Integers(type="integers")), Text(type="text")]
    assert told == [f"{drawn(inputs, 7, 40)}\n"] * 2
    assert drawn(inputs, 7, 40) != drawn(inputs, 8, 40)
    assert not list(tmp_path.iterdir())


def test_the_shortest_inputs_come_first_and_none_twice() -> None:
    found = drawn([Lists(type="lists", of=Booleans(type="booleans"), max_size=4)], 0, 60)

    assert ([],) == found[0]
    assert len(found) == len({str(each) for each in found}) <= 31
    with pytest.raises(TaskError, match="inputs make no sense"):
        drawn([Integers(type="integers", min=2, max=1)], 0, 5)


@pytest.mark.parametrize("settings", [{"examples": 0}, {"total": 0}, {"cpu": -1.0}])
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(vl.ConfigError):
        CodeProperties(**settings)


def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    files = [f"{EXAMPLES}/code-properties.jsonl", "--ladder", f"{EXAMPLES}/code-properties.toml"]

    done = CliRunner().invoke(app, ["score", *files, "--ledger", f"{tmp_path}/ledger.db"])

    assert 0 == done.exit_code, done.output
    result = vl.score_file(files[0], ladder=files[2], ledger=tmp_path / "ledger.db")
    assert [1, 0, 1, 0] == [reward.value for reward in result.rewards]
