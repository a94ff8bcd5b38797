"""Programs that read standard input: run in the sandbox, their output compared outside."""

import io
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Report, Twin
from verifier_ladder.testing.mutants import mutation_test
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.codestdio import CodeStdio, is_same
from verifier_ladder.tiers.fast.programs import program_in
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.tiers.sandbox.language import CPP17, MISSING, Language
from verifier_ladder.verdict import Outcome, Verdict

CLASSES = ("namespaces", "landlock")
KEY = AnswerKey.named("code-stdio")
TAME = KEY.without_hostile()
EXAMPLES = Path(__file__).parents[4] / "examples" / "code"
SQUARES = {"inputs": ["3\n", "0\n"], "outputs": ["9\n", "0\n"]}
CPP = '#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d\\n", n * n); }'

EQUIVALENT = [  # Edits that change words, and what a sandbox without files is told: see below.
    (
        "if not result.stdout: return 'it wrote nothing' -> "
        "if not not result.stdout: return 'it wrote nothing'"
    ),
    (
        "if all((each.compiler for each in found)): self.sandbox = Sandbox(needs=('files',)) -> "
        "if not all((each.compiler for each in found)): self.sandbox = Sandbox(needs=('files',))"
    ),
]


@pytest.fixture
def sandboxes(require: Callable[..., None]) -> None:
    for kind in CLASSES:
        why = Backend(kind).problem()
        require(f"the sandbox {kind}", not why, why)


@pytest.fixture
def compiler(require: Callable[..., None]) -> None:
    require("g++", shutil.which("g++") is not None, "compiles C++")


def said(program: str, task: Mapping[str, Any] | None = None, **settings: Any) -> Verdict:
    asked = vl.Candidate("text", program, task={**SQUARES, **(task or {})})
    (verdict,) = CodeStdio(**settings).judge([asked])
    return verdict


# ---- The answer key


def is_python(task: Mapping[str, Any] | None) -> bool:
    """Whether a case needs no compiler."""
    return (task or {}).get("language") != "c++17"


def part(of: AnswerKey, chosen: Callable[[Any], bool]) -> AnswerKey:
    """The cases of a key that are chosen."""
    pairs = [(case, line) for case, line in zip(of.cases, of.lines, strict=True) if chosen(case)]
    return AnswerKey(of.name, tuple(p[0] for p in pairs), tuple(p[1] for p in pairs))


@cache
def written(text: str, given: str) -> str:
    """What a tame program of the key prints, run as a hasty reward function does."""
    out = io.StringIO()
    feed = io.StringIO(given)
    space = {
        "__name__": "__main__", "open": lambda *_: feed,
        "input": lambda: feed.readline().removesuffix("\n"),
    }  # fmt: skip
    with redirect_stdout(out), suppress(SystemExit):
        exec(program_in(text), space)  # noqa: S102
    return out.getvalue()


def pairs(text: str, task: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (written(text, given), wanted)
        for given, wanted in zip(task["inputs"], task["outputs"], strict=True)
    ]


def is_first(said: str, wanted: str) -> bool:
    return is_same(said.encode(), wanted.encode())


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", text)]


@pytest.mark.usefixtures("sandboxes")
class TestCodeStdio(VerifierTestCase):
    """With the tame cases in Python; all are below, under each class."""

    strict = True
    cost_factor = 100.0  # Of sandboxes on a machine that others use too.
    twins: Mapping[str, Judge] = {
        "the same text": Twin(lambda text, task: all(a == b for a, b in pairs(text, task))),
        "contains it": Twin(
            lambda text, task: all(b.strip() in a for a, b in pairs(text, task))
        ),
        "the same numbers": Twin(
            lambda text, task: all(numbers(a) == numbers(b) for a, b in pairs(text, task))
        ),
        "the first test": Twin(lambda text, task: is_first(*pairs(text, task)[0])),
    }  # fmt: skip

    @pytest.fixture
    def verifier(self) -> CodeStdio:
        return CodeStdio(languages=["python"], limits={"cpu": 1.0, "wall": 10.0})

    @pytest.fixture
    def answer_key(self) -> AnswerKey:
        return part(TAME, lambda case: is_python(case.task))


@pytest.mark.slow
@pytest.mark.usefixtures("sandboxes")
def test_the_answer_key_catches_mutants() -> None:
    module = "verifier_ladder.tiers.fast.codestdio"
    key = part(TAME, lambda case: is_python(case.task))
    found = mutation_test(key, CodeStdio, [module], count=24, equivalent=EQUIVALENT).weaknesses
    assert not found, found


def judged(pool: WorkerPool, verifier: CodeStdio, asked: Sequence[vl.Candidate]) -> list[Verdict]:
    return list(pool.verify(verifier, asked).result().verdicts)


@cache
def reports() -> dict[str, Report]:
    """The whole key, under each class of sandbox, in workers."""
    found = dict[str, Report]()
    with WorkerPool(2, name="code-stdio") as pool:
        for kind in CLASSES:
            verifier = CodeStdio().in_sandbox(Backend(kind))
            found[kind] = KEY.check(verifier, judge=partial(judged, pool, verifier))
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("sandboxes", "compiler")
def test_every_case_is_judged_rightly_in_namespaces() -> None:
    report = reports()["namespaces"]

    assert ([], []) == (report.complaints, report.flaws)
    assert not [graded.told() for graded in report.hostile if graded.how]


@pytest.mark.slow
@pytest.mark.usefixtures("sandboxes", "compiler")
def test_landlock_judges_alike_or_abstains_for_want_of_files() -> None:
    for one, other in zip(*(reports()[kind].graded for kind in CLASSES), strict=True):
        if other.verdict.failed_at == "sandbox":
            assert not is_python(one.case.task), other.told(other.verdict.reason)
            assert "(files)" in other.verdict.reason
        else:
            assert one.verdict.outcome is other.verdict.outcome, other.told(f"{other.verdict}")


@pytest.mark.usefixtures("sandboxes", "compiler")
@pytest.mark.parametrize("kind", CLASSES)
def test_cpp_is_judged_in_namespaces_and_abstained_from_under_landlock(kind: str) -> None:
    """Every seventh short case of the key that is in C++."""
    key = part(
        TAME,
        lambda case: (
            (case.task or {}).get("language") == "c++17"
            and not re.search(r"stream|<string>|<set>|!= 10", str(case.content))
        ),
    )
    key = AnswerKey(key.name, key.cases[::5], key.lines[::5])
    report = key.check(CodeStdio().in_sandbox(Backend(kind)))

    assert len(report.graded) > 5
    if kind == "namespaces":
        assert ([], []) == (report.complaints, report.flaws)
    assert kind == "namespaces" or {"sandbox"} == {g.verdict.failed_at for g in report.graded}


def test_the_first_cases_of_the_key_are_those_that_were_frozen() -> None:
    digest = "ed21be2f6c04d21cbe0434558789b85c96505be4061099288fffcc3a586e3e4a"
    assert digest == KEY.frozen(173)


# ---- What is the same


@given(st.lists(st.integers() | st.text("abc é", min_size=1), min_size=1))
def test_an_output_is_the_same_as_itself_and_not_as_one_with_more(values: list[Any]) -> None:
    text = "\n".join(map(str, values)).encode()

    for compare in ("tokens", "lines", "exact"):
        assert is_same(text, text, compare)
        assert not is_same(text + b" 7", text, compare)
    assert is_same(b"  " + text + b"\n\n", text)
    assert is_same(text + b" \n\n", text, "lines")
    assert not is_same(text + b"\n", text, "exact")


@given(st.integers(-(10**30), 10**30), st.floats(1e-12, 1.0))
def test_whole_numbers_have_no_tolerance(value: int, tolerance: float) -> None:
    wanted = str(value).encode()

    assert is_same(wanted + b".000", wanted, tolerance=tolerance)
    assert not is_same(str(value + 1).encode(), wanted, tolerance=tolerance)
    assert not is_same(wanted + b".5", wanted, tolerance=tolerance)


# ---- What is said of it


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("print(int(input()) or 'zero')", "0 of 2 tests passed. Given '3\\n', it wrote '3\\n', "),
        ("print(9)", "1 of 2 tests passed. Given '0\\n', it wrote '9\\n', which is not"),
        ("print(9 // int(input()) * 3)", "it wrote '9\\n'"),
        ("raise SystemExit(3)", "it ended with status 3"),
        ("pass", "it wrote nothing"),
        ("print('\\0')", "it wrote '\\x00\\n'"),
        ("input.x", "it raised an exception: AttributeError"),
        ("import os\nos.kill(os.getpid(), 11)", "it crashed (SIGSEGV)"),
        ("while True: pass", "more than 0.4 s of processor time"),
    ],
)  # fmt: skip
def test_feedback_names_the_input_and_what_happened(program: str, words: str) -> None:
    if "// int" in program:
        verdict = said(program, {"outputs": ["8\n", "0\n"]}, languages=["python"])
    else:
        verdict = said(program, {"limits": {"cpu": 0.4}}, languages=["python"])

    assert (Outcome.REJECT, True) == (verdict.outcome, words in verdict.feedback), verdict


@pytest.mark.usefixtures("sandboxes", "compiler")
def test_a_program_is_compiled_once_and_run_for_each_test() -> None:
    task = {"language": "c++17"}

    assert Outcome.ACCEPT is said(f"```cpp\n{CPP}\n```", task).outcome
    verdict = said(CPP.replace("n * n", "9"), task)
    assert ({"test_1": 1.0, "test_2": 0.0}, 0.5) == (verdict.scores, verdict.score)


@pytest.mark.usefixtures("sandboxes")
def test_tests_for_which_no_time_is_left_have_no_score() -> None:
    program = "n = int(input())\nwhile n: pass\nprint(0)"
    verdict = said(program, {"limits": {"cpu": 0.4}}, total=0.1, languages=["python"])

    assert (Outcome.REJECT, {"test_1": 0.0}) == (verdict.outcome, verdict.scores)


# ---- Languages


def test_versions_and_commands_of_all_languages_are_in_the_key() -> None:
    one = CodeStdio()
    slower = Language.of({**CPP17.as_json(), "compiler": ["g++", "-o", "program", "main.cpp"]})

    assert {"python", "c++17"} == set(one.tools)
    assert one.digest == CodeStdio(languages=["python", "c++17"]).digest
    assert len({one.digest, CodeStdio(languages=["python"]).digest,
                CodeStdio(languages=["python", slower]).digest}) == 3  # fmt: skip
    other = CodeStdio()
    other.tools = {**one.tools, "c++17": "g++ 1.0"}
    assert one.digest != other.digest


@pytest.mark.usefixtures("sandboxes")
def test_a_missing_compiler_is_an_abstention_that_says_what_to_install() -> None:
    absent = {
        "name": "c++26", "source": "main.cpp", "compiler": ["no-such-compiler"],
        "install": "apt-get install one",
    }  # fmt: skip
    verdict = said(CPP, {"language": "c++26"}, languages=["python", absent])

    assert (Outcome.ABSTAIN, "sandbox") == (verdict.outcome, verdict.failed_at)
    assert "is not installed: apt-get install one" in verdict.reason
    assert MISSING == CodeStdio(languages=[absent]).tools["c++26"]
    assert Outcome.ACCEPT is said("print(int(input()) ** 2)", languages=["python", absent]).outcome


@pytest.mark.parametrize(
    "settings",
    [
        {"languages": []}, {"languages": "python"}, {"languages": ["python", "python"]},
        {"languages": ["pythons"]}, {"total": 0}, {"limits": {"patience": 1}},
        {"compiling": {"cpu": -1}}, {"most": {"cpu": -1}},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(vl.ConfigError):
        CodeStdio(**settings)


def test_only_a_sandbox_with_files_will_do_where_all_is_compiled() -> None:
    assert ("files",) == CodeStdio(languages=["c++17"]).sandbox.needs
    assert () == CodeStdio().sandbox.needs


# ---- In a campaign


@pytest.mark.usefixtures("sandboxes", "compiler")
def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    files = [f"{EXAMPLES}/code-stdio.jsonl", "--ladder", f"{EXAMPLES}/code-stdio.toml"]

    done = CliRunner().invoke(app, ["score", *files, "--ledger", f"{tmp_path}/ledger.db"])

    assert 0 == done.exit_code, done.output
    result = vl.score_file(files[0], ladder=files[2], ledger=tmp_path / "ledger.db")
    assert [1, 0, 1, 0, 0] == [reward.value for reward in result.rewards]
    assert re.search("line 3: .maximum. was not declared", result.rewards[3].feedback)
