"""Code: functions are called in the sandbox, and what they return is compared outside."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from codecase import CLASSES, CodeTestCase
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.tiers.fast.code import (
    CodeCompiles,
    CodeFunctions,
    Raises,
    call,
    expectation,
    is_same,
    literal,
)
from verifier_ladder.tiers.fast.programs import program_in, said_of
from verifier_ladder.tiers.sandbox import Backend, Ending, Limits, Result
from verifier_ladder.verdict import Outcome, Verdict

EXAMPLES = Path(__file__).parents[4] / "examples" / "code"
SQUARES = {"calls": ["solve(3)", "solve(0)"], "expected": ["9", "0"]}
GOOD = "def solve(n): return n * n"
EQUIVALENT = [
    "12 * cpu -> 12 / cpu",
    "result.ended is not Ending.FINISHED -> result.ended is Ending.FINISHED",
]
"""Edits of `CodeCompiles`, which the key is not about."""


def said(program: str, task: Mapping[str, Any] | None = None, **settings: Any) -> Verdict:
    (verdict,) = CodeFunctions(**settings).judge(
        [vl.Candidate("text", program, task=dict(task or SQUARES))]
    )
    return verdict


def ran(text: str) -> dict[str, Any]:
    """What a program of the key that is not hostile defines, as a hasty reward function has it."""
    space: dict[str, Any] = {}
    block = text.rpartition("```python\n")[2].partition("```")[0] if "```" in text else text
    exec(block, space)  # noqa: S102
    return space


def equals(text: str, task: Mapping[str, Any]) -> bool:
    space = ran(text)
    pairs = zip(task["calls"], task["expected"], strict=True)
    return all(eval(c, space) == eval(w, {"nan": 0, "inf": float("inf")}) for c, w in pairs)  # noqa: S307


def looks_alike(text: str, task: Mapping[str, Any]) -> bool:
    space = ran(text)
    return all(
        str(eval(c, space)) == w  # noqa: S307
        for c, w in zip(task["calls"], task["expected"], strict=True)
    )


def runs(text: str, task: Mapping[str, Any]) -> bool:
    space = ran(text)
    return all(eval(c, space) is not ... for c in task["calls"])  # noqa: S307


class TestCodeFunctions(CodeTestCase):
    whole = CodeFunctions()
    mutants: Mapping[str, Any] = {"count": 24, "equivalent": EQUIVALENT}
    twins: Mapping[str, Judge] = {
        "equal by ==": Twin(equals),
        "prints the same": Twin(looks_alike),
        "runs without an exception": Twin(runs),
    }

    @pytest.fixture
    def verifier(self) -> CodeFunctions:
        return CodeFunctions(limits={"cpu": 1.0, "wall": 10.0})


# ---- What is the same

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.integers() | st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(PLAIN)
def test_a_value_is_the_same_as_its_literal(value: Any) -> None:
    assert is_same(value, literal(repr(value)))


@given(PLAIN, PLAIN)
def test_what_is_the_same_is_written_the_same(one: Any, other: Any) -> None:
    if is_same(one, other) and "{" not in repr(one):
        assert repr(one) == repr(other)


@given(PLAIN)
def test_a_value_in_a_list_is_another(value: Any) -> None:
    assert not is_same(value, [value])
    assert not is_same((value,), [value])


# ---- What a task says


@pytest.mark.parametrize(
    "text", ["x", "f()", "1 +", "open('a')", "[i for i in 'a']", "lambda: 1", "f'{1}'", "{**{}}",
             "().__class__", "set(1)", "frozenset(1, 2)", "-'a'", "{[]: 1}", "(" * 500, ""],
)  # fmt: skip
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        literal(text)


@pytest.mark.parametrize(
    "text", ["f", "f(x)", "a.f(1)", "f(1)(2)", "f(*[1])", "f(**{})", "f(1) + 1", "f(", "9 ** 9"]
)
def test_what_is_no_call_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        call(text)


def test_an_exception_is_named() -> None:
    assert "KeyError" == expectation("raise KeyError").name
    with pytest.raises(ValueError, match="name the exception"):
        expectation("raise f()")


# ---- What a program is


def test_the_last_block_that_may_be_python_is_the_program() -> None:
    blocks = "```python\n1\n```\n```py\n2\n```\n```bash\n3\n```"

    assert b"2\n" == program_in(blocks)
    assert b"4" == program_in(f"<think>{blocks}</think>4")


def test_half_of_a_pair_is_no_text() -> None:
    with pytest.raises(vl.CandidateError, match="no text"):
        program_in("x = '\ud800'")


# ---- What is said of it


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("def solve(n): return n * n if n else 'zero'", "1 of 2 tests passed. solve(0): it "),
        ("def solve(n): return n and 9 or 1 / n", "solve(0): it raised ZeroDivisionError"),
        ("def solve(n):\n while True: pass", "more than 0.5 s of processor time"),
        ("def solve(n): return print", "no plain data"),
        ("import os\nos._exit(0)", "before its function had returned"),
        ("def solve(n): return 10 ** 5000", "too long to show"),
    ],
)  # fmt: skip
def test_feedback_names_the_input_and_what_happened(program: str, words: str) -> None:
    verdict = said(program, {**SQUARES, "limits": {"cpu": 0.5}})

    assert (Outcome.REJECT, True) == (verdict.outcome, words in verdict.feedback), verdict


@pytest.mark.usefixtures("sandboxes")
def test_each_test_has_a_score_and_a_reject_the_share_that_passed() -> None:
    verdict = said("def solve(n): return 9")

    assert ({"test_1": 1.0, "test_2": 0.0}, 0.5) == (verdict.scores, verdict.score)
    assert 1.0 == said(GOOD).score


@pytest.mark.usefixtures("sandboxes")
def test_calls_for_which_no_time_is_left_have_no_score() -> None:
    verdict = said(
        "def solve(n):\n    while n: pass\n    return 0",
        {**SQUARES, "limits": {"cpu": 1}},
        total=0.2,
    )

    assert (Outcome.REJECT, {"test_1": 0.0}) == (verdict.outcome, verdict.scores)


@pytest.mark.usefixtures("sandboxes")
def test_files_that_a_class_lacks_are_an_abstention_that_names_them() -> None:
    task = {**SQUARES, "limits": {"files": 2, "file_bytes": 1000}}
    asked = [vl.Candidate("text", f"open('a', 'w').close()\n{GOOD}", task=task)]
    one, other = (CodeFunctions().in_sandbox(Backend(kind)).judge(asked)[0] for kind in CLASSES)

    assert Outcome.ACCEPT is one.outcome
    assert (Outcome.ABSTAIN, "sandbox", True) == (
        other.outcome, other.failed_at, "(files)" in other.reason
    )  # fmt: skip


@pytest.mark.parametrize(
    "settings", [{"total": 0}, {"limits": {"patience": 1}}, {"most": {"cpu": -1}}]
)
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(vl.ConfigError):
        CodeFunctions(**settings)


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        (GOOD, Outcome.ACCEPT),
        ("raise SystemExit", Outcome.ACCEPT),
        ("def solve(n) return n", Outcome.REJECT),
        ("", Outcome.REJECT),
        ("x = " + "(" * 5000 + ")" * 5000, Outcome.REJECT),
        ("x = " + "-" * 100_000 + "1", Outcome.REJECT),
        ("x = 1" + " + 1" * 60_000, Outcome.REJECT),
        ("'\\d'\n" * 30_000, Outcome.ACCEPT),
    ],
)
def test_only_a_program_that_compiles_passes_the_gate(program: str, outcome: Outcome) -> None:
    (verdict,) = CodeCompiles().judge([vl.Candidate("text", program)])

    assert outcome is verdict.outcome, verdict
    assert (outcome is Outcome.REJECT) == bool(verdict.feedback)


# ---- In a campaign


@pytest.mark.usefixtures("sandboxes")
def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    files = [f"{EXAMPLES}/code-functions.jsonl", "--ladder", f"{EXAMPLES}/code-functions.toml"]

    done = CliRunner().invoke(app, ["score", *files, "--ledger", f"{tmp_path}/ledger.db"])

    assert 0 == done.exit_code, done.output
    result = vl.score_file(files[0], ladder=files[2], ledger=tmp_path / "ledger.db")
    assert [1, 0, 0, 0] == [reward.value for reward in result.rewards]
    assert "median([]): it raised IndexError" in result.rewards[1].feedback


@pytest.mark.usefixtures("sandboxes")
def test_a_campaign_pays_partly_if_its_rule_says_so_and_hides_what_was_expected() -> None:
    task = {"calls": ["name(1)", "name(2)"], "expected": ["'first'", "'second'"]}
    half = vl.Candidate("text", "def name(n): return 'first'", task=task)
    rules = (vl.RewardRule(), vl.RewardRule(partial_credit=True))
    found = []
    for rule in rules:
        ladder = vl.Ladder("l", [CodeCompiles(), CodeFunctions()], reward=rule, observed="outside")
        with vl.Campaign.open("c", ladder=ladder) as campaign:
            found += campaign.score([half])

    assert [0, 0.5] == [reward.value for reward in found]
    assert all("name(2)" in reward.feedback for reward in found)
    assert not any("second" in reward.feedback for reward in found)


def test_the_first_cases_of_the_key_are_those_that_were_frozen() -> None:
    assert "3109959ded7c8b4dadf8dc0a85bd285f6bc6183e5aef24c8aff3abf848f1ce83" == AnswerKey.named(
        "code-functions"
    ).frozen(337)


def test_a_verifier_tells_where_it_sees_what_it_judges_by() -> None:
    done = CliRunner().invoke(app, ["verifier", "info", "code-functions", "--json"])

    assert "outside" == json.loads(done.output)["observed"]
    assert "outside" == CodeFunctions().as_json()["observed"]


_PUBLIC = """
import contextlib, importlib, io, json, os, sys, warnings
from verifier_ladder.tiers.sandbox import candidate

warnings.simplefilter("ignore")
candidate.know_exceptions()
private = {"antigravity", "distutils", "idlelib", "lib2to3", "test", "this", "turtledemo"}
more = {"concurrent.futures", "curses.panel", "xml.sax"}
for name in (sys.stdlib_module_names - private) | more:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
found = {}
for name, module in sorted(sys.modules.items()):
    parts = name.split(".")
    if parts[0] not in sys.stdlib_module_names - private or any(p[0] == "_" for p in parts):
        continue
    is_python = getattr(module, "__file__", None) and module.__file__.endswith(".py")
    for each in getattr(module, "__all__", None) or dir(module):
        kind = getattr(module, each, None)
        if each[0] == "_" or not isinstance(kind, type) or not issubclass(kind, BaseException):
            continue
        told = candidate.told_as(kind, "main")
        home = told.rpartition(".")[0]
        private_name = "_" + name.replace(".", "_")
        is_its_own = home in {name, private_name} or home.startswith(f"{name}.")
        if hasattr(module, "__all__") or not is_python or is_its_own:
            found[f"{name}.{each}"] = told
os.write(1, json.dumps(found).encode())
"""
"""Public names of exceptions → as what the sandbox tells them; names that a module has only
because it imports them are none of its own."""


def test_every_public_name_of_the_standard_library_means_its_class_alone() -> None:
    ran = subprocess.run([sys.executable, "-c", _PUBLIC], capture_output=True, check=True)
    told: dict[str, str] = json.loads(ran.stdout)
    classes = set(told.values())

    assert "json.decoder.JSONDecodeError" == told["json.JSONDecodeError"]
    assert not {each for each in classes if each.startswith("main.")}
    for name, own in told.items():
        assert {own} == {each for each in classes if Raises(name).is_met_by(each)}, name


def test_of_a_thread_that_was_not_started_both_limits_are_told() -> None:
    said = said_of(Result(Ending.THREADS), Limits(processes=5, memory=700_000))

    assert "5 processes and threads" in said
    assert "700000 bytes of memory" in said
