"""Patches of a repository: applied exactly, judged by tests that are restored from outside."""

import json
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from codecase import CLASSES, CodeTestCase

import verifier_ladder as vl
from verifier_ladder.errors import CandidateError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.hostile import HOSTILE
from verifier_ladder.tiers.fast.falsify import Kind
from verifier_ladder.tiers.fast.pytestcode import TestFile as FileOfTests
from verifier_ladder.tiers.fast.pytestcode import TestId as IdOfTest
from verifier_ladder.tiers.fast.repository import RepositoryPatch
from verifier_ladder.tiers.fast.snapshot import read_snapshot, snapshot_digest
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Outcome, Verdict

EXAMPLE = Path(__file__).parents[4] / "examples" / "repository"
MUTATED = [
    f"verifier_ladder.tiers.fast.{name}"
    for name in ("repository", "repositorytask", "pytestcode", "patch")
]
"""Not `pytestrunner`, whose source goes into the sandbox as it stands, and not `snapshot`: tasks
of the key bring their files."""
FILES = {
    "calc.py": "def double(n):\n    return n\n",
    "tests/test_calc.py": "from calc import double\n\n\ndef test_nothing():\n"
    "    assert double(0) == 0\n\n\ndef test_type():\n    assert double('x') == 'x' * len('xx')\n",
}
TEST = (
    "from calc import double\n\n\ndef test_double():\n"
    "    assert double(2) == 4\n    assert double(5) == 10\n"
)
LENIENT = "class Any:\n    def __eq__(self, other): return True\n" + re.sub(
    r"== \d+", "== Any()", TEST
)
GOOD = json.dumps({"calc.py": "def double(n):\n    return n + n\n"})
TASK: dict[str, Any] = {
    "files": FILES, "tests": {"tests/test_hidden.py": TEST},
    "fail_to_pass": ["tests/test_hidden.py::test_double", "tests/test_calc.py::test_type"],
    "pass_to_pass": ["tests/test_calc.py::test_nothing"], "reference": GOOD,
}  # fmt: skip


def said(patch: str, verifier: RepositoryPatch | None = None, **task: Any) -> Verdict:
    candidate = vl.Candidate("text", patch, task={**TASK, **task})
    return (verifier or RepositoryPatch()).judge([candidate])[0]


def calc(text: str) -> str:
    return json.dumps({"calc.py": text})


# ---- The answer key


def _place(lines: list[str], wanted: list[str], start: int, *, fuzz: bool) -> int:
    """Where lines stand; with fuzz, where most of them do."""
    if not wanted:
        return start
    places = range(len(lines) - len(wanted) + 1)
    alike = [
        sum(
            a.strip() == b.strip() if fuzz else a == b
            for a, b in zip(wanted, lines[n:], strict=False)
        )
        for n in places
    ]
    if not fuzz and len(wanted) not in alike:
        raise ValueError("it does not apply")
    return max(places, key=lambda n: (alike[n], -abs(n - start)))


def _hastily(text: str, files: Mapping[str, str], *, fuzz: bool) -> dict[str, str | None]:
    """A patch as a hasty harness applies it: it looks for no paths, modes or links."""
    from unidiff.patch import PatchSet

    spoken = text.rpartition("</think>")[2]
    said = (re.findall(r"```\w*\n(.*?)```", spoken, re.DOTALL) or [spoken])[-1]
    if said.startswith("{"):
        return dict(json.loads(said))
    found: dict[str, str | None] = {}
    for patch in PatchSet(said):
        lines = files.get(patch.path, "").splitlines(keepends=True)
        for hunk in patch:
            before, after = (
                [line.value for line in hunk if line.line_type in signs] for signs in (" -", " +")
            )
            start = hunk.source_start - bool(before)
            at = _place(lines, before, start, fuzz=fuzz)
            lines[at : at + len(before)] = after
        found[patch.path] = None if patch.is_removed_file else "".join(lines)
    return found


@cache
def _plainly(text: str, task: str, *, restored: bool, fuzz: bool) -> tuple[int, str]:
    """Exit status and words of pytest in a folder with the patch."""
    read = json.loads(task)
    after = {**read["files"], **read["tests"], **_hastily(text, read["files"], fuzz=fuzz)}
    after |= read["tests"] if restored else {}
    with TemporaryDirectory() as folder:
        for path, held in after.items():
            place = Path(folder, "repository", path)
            if held is not None and place.resolve().is_relative_to(folder):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(held)
        done = subprocess.run(
            [sys.executable, "-B", "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider",
             *read["fail_to_pass"], *read.get("pass_to_pass", ())],
            cwd=Path(folder, "repository"), capture_output=True, text=True, timeout=120,
            env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": "/usr/bin:/bin"}, check=False,
        )  # fmt: skip
    return done.returncode, done.stdout


def exits_with_0(text: str, task: Mapping[str, Any]) -> bool:
    return _plainly(text, json.dumps(task), restored=False, fuzz=False)[0] == 0


def says_passed(text: str, task: Mapping[str, Any]) -> bool:
    words = _plainly(text, json.dumps(task), restored=False, fuzz=False)[1]
    return bool(re.search(r"\d+ passed", words)) and "failed" not in words


def passes_what_failed(text: str, task: Mapping[str, Any]) -> bool:
    words = _plainly(text, json.dumps(task), restored=False, fuzz=False)[1]
    return all(f"PASSED {each}" in words for each in task["fail_to_pass"])


def applies_roughly(text: str, task: Mapping[str, Any]) -> bool:
    return _plainly(text, json.dumps(task), restored=True, fuzz=True)[0] == 0


class TestRepositoryPatch(CodeTestCase):
    whole = RepositoryPatch()
    every = 9
    hostile = HOSTILE[::5]
    mutated = MUTATED
    mutants: Mapping[str, Any] = {"count": 24}
    twins: Mapping[str, Judge] = {
        "exit status of pytest": Twin(exits_with_0),
        "words on standard output": Twin(says_passed),
        "only what failed before": Twin(passes_what_failed),
        "patches with fuzz": Twin(applies_roughly),
    }

    @pytest.fixture
    def verifier(self) -> RepositoryPatch:
        return RepositoryPatch()

    @pytest.mark.slow  # A process of pytest for each case.
    def test_the_answer_key_tells_it_from_naive_twins(  # type: ignore[override]
        self, answer_key: AnswerKey
    ) -> None:
        super().test_the_answer_key_tells_it_from_naive_twins(answer_key)


# ---- What runs say


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize("kind", CLASSES)
def test_a_patch_is_judged_by_both_lists(kind: str) -> None:
    boxed = RepositoryPatch().in_sandbox(Backend(kind))

    right, wrong = said(GOOD, boxed), said(calc("def double(n):\n    return 2 * n or 1\n"), boxed)

    assert (right.outcome, dict(right.scores)) == (
        Outcome.ACCEPT, {"fail_to_pass": 1.0, "pass_to_pass": 1.0}
    )  # fmt: skip
    assert (wrong.outcome, wrong.score) == (Outcome.REJECT, 0.0)
    assert dict(wrong.scores) == {"fail_to_pass": 1.0, "pass_to_pass": 0.0}


@pytest.mark.usefixtures("sandboxes")
def test_feedback_quotes_what_learners_may_know_and_nothing_else() -> None:
    reads = (
        "import pathlib\ndef double(n):\n"
        " words = [each.read_text() for each in pathlib.Path('tests').glob('test_h*.py')]\n"
        " raise ValueError('SEEN ' + ''.join(words) + pathlib.Path('tests').name)\n"
    )

    verdict = said(calc(reads))

    assert verdict.outcome is Outcome.REJECT
    assert "SEEN tests" in verdict.feedback
    assert "tests/test_calc.py::test_nothing" in verdict.feedback
    assert "test_double" not in verdict.feedback
    assert "double(5)" not in verdict.feedback
    assert len(verdict.feedback) < 2500


@pytest.mark.usefixtures("sandboxes")
def test_of_hidden_tests_the_class_of_an_error_is_told_alone() -> None:
    asks = "def double(n):\n    if n == 5:\n        raise KeyError('words')\n    return n + n\n"

    verdict = said(calc(asks))

    assert verdict.feedback == (
        "1 of 2 tests that must go from fail to pass do so, and 1 of 1 stay passing. "
        "A hidden test: it raised KeyError."
    )


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("import os; os._exit(0)", "the run of all tests did not end"),
        ("import pytest; pytest.skip('x')", "it was skipped"),
        ("import pytest; pytest.xfail('x')", "it was skipped, or expected to fail"),
        ("while True: pass", "more than 1 s of processor time"),
        ("return bytearray(1 << 33)", "it raised MemoryError"),
        ("raise type('Own', (Exception,), {})", "none of Python's own"),
    ],
)
def test_a_test_that_did_not_pass_is_told_from_one_that_did(line: str, told: str) -> None:
    verdict = said(calc(f"def double(n):\n    {line}\n"), limits={"cpu": 1})

    assert verdict.outcome is Outcome.REJECT
    assert told in verdict.reason


@pytest.mark.usefixtures("sandboxes")
def test_the_reference_is_tried_once_for_many_candidates() -> None:
    verifier = RepositoryPatch()
    calls: list[Any] = []
    run = verifier._called

    def counted(*args: Any, **more: Any) -> Any:
        calls.append(args)
        return run(*args, **more)

    verifier._called = counted  # type: ignore[method-assign]

    first = said(GOOD, verifier)
    alone = len(calls)
    again = said(GOOD, verifier)

    assert first.outcome is again.outcome is Outcome.ACCEPT
    assert alone == 1 + 2 * (len(calls) - alone)
    assert first.evidence["draw"] == again.evidence["draw"]


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ({"reference": calc("def double(n):\n    return 3 * n\n")}, "reference does not pass"),
        ({"fail_to_pass": ["tests/test_calc.py::test_nothing"], "pass_to_pass": []},
         "passes without a patch"),
        ({"fail_to_pass": ["tests/test_hidden.py::test_double[1]"]}, "not found"),
        ({"tests": {"tests/test_hidden.py": LENIENT}}, "passes"),
        ({"total": 1}, "accept"),
    ],
)  # fmt: skip
def test_a_task_that_is_at_fault_judges_nobody(task: dict[str, Any], reason: str) -> None:
    verdict = said(GOOD, **task)

    assert reason in (verdict.reason or verdict.outcome.value)
    assert verdict.outcome is (Outcome.ACCEPT if reason == "accept" else Outcome.ABSTAIN)


@pytest.mark.usefixtures("sandboxes")
def test_a_reference_for_which_there_is_no_time_judges_nobody() -> None:
    assert "no time left" in said(GOOD, RepositoryPatch(total=1e-3)).reason


@pytest.mark.usefixtures("sandboxes")
def test_classes_fixtures_and_cases_are_tests() -> None:
    tests = """import pytest
from unittest import TestCase
from calc import double

@pytest.fixture(params=[1, 2])
def number(request):
    yield request.param

class TestAll:
    wanted = {1: 2, 2: 4}

    @pytest.mark.parametrize("sign", [1, -1], ids=["plus", "minus"])
    def test_sign(self, number, sign):
        assert double(sign * number) == sign * self.wanted[number]

class TestOld(TestCase):
    def setUp(self):
        self.four = 4

    def test_two(self):
        with self.assertRaises(TypeError):
            double(None)
        self.assertEqual(double(2), self.four)
"""
    ids = [f"tests/test_hidden.py::TestAll::test_sign[{each}]" for each in ("1-plus", "2-minus")]
    ids.append("tests/test_hidden.py::TestOld::test_two")
    task: dict[str, Any] = {"tests": {"tests/test_hidden.py": tests}, "fail_to_pass": ids}

    assert said(GOOD, **task).outcome is Outcome.ACCEPT
    assert (
        said(calc("def double(n):\n    return abs(n) + n or n\n"), **task).outcome
        is Outcome.REJECT
    )


@pytest.mark.usefixtures("sandboxes")
def test_files_may_be_written_where_the_task_says_so() -> None:
    tests = "from calc import double\ndef test_file(tmp_path):\n    file = tmp_path / 'x'\n"
    tests += "    file.write_text(str(double(2)))\n    assert file.read_text() == '4'\n"
    task: dict[str, Any] = {
        "tests": {"tests/test_hidden.py": tests},
        "fail_to_pass": ["tests/test_hidden.py::test_file"],
    }
    boxed = RepositoryPatch().in_sandbox(Backend("namespaces"))

    assert "reference does not pass" in said(GOOD, boxed, **task).reason
    limits = {"files": 32, "file_bytes": 1 << 20}
    assert said(GOOD, boxed, **task, limits=limits).outcome is Outcome.ACCEPT


# ---- The task


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("async def test_a(): pass\n", "no plain function"),
        ("def test_a():\n    yield\n", "no plain function"),
        ("class TestB:\n    def test_a(self): pass\n", "have no test_a"),
        ("def test_a(:\n", "no Python"),
    ],
)
def test_a_test_that_can_have_no_canary_is_the_tasks_fault(source: str, why: str) -> None:
    with pytest.raises(TaskError, match=why):
        FileOfTests("test_x.py", source.encode(), [("test_a",)])


@pytest.mark.parametrize(
    "text",
    ["test_x.py", "test_x::test_y", "../test_x.py::test_y", "x.py::", "x.py::a b", "a.py::b::"],
)
def test_what_names_no_test_is_the_tasks_fault(text: str) -> None:
    with pytest.raises(TaskError, match="names no test"):
        IdOfTest.of(text)


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("assert f(1) == 2", [Kind.TEST, Kind.SURE]),
        ("for n in f(): assert n == 2", [Kind.TEST, Kind.ALL, Kind.NEGATED]),
        ("assert f(1)", [Kind.TEST, Kind.NEGATED]),
        ("with pytest.raises(ValueError): f()", [Kind.TEST, Kind.NEGATED, Kind.RAISED]),
    ],
)
def test_each_test_has_a_canary_that_must_fail(body: str, kinds: list[Kind]) -> None:
    file = FileOfTests("test_x.py", f"def test_a():\n    {body}\n".encode(), [("test_a",)])

    assert file.functions["test_a",].kinds == kinds


@pytest.mark.parametrize(
    ("waited", "pattern"),
    [
        ("ValueError", r"[A-Z]\w+Error"),
        ("(KeyError, TypeError)", r"\([A-Z]\w+Error, [A-Z]\w+Error\)"),
        ("PriceError", r"[A-Z]\w+Error"),
        ("OSError", r"[A-Z]\w+Error"),
        ("Exception", r"[A-Z]\w+Error"),
    ],
)
def test_a_canary_waits_for_another_exception_that_looks_alike(waited: str, pattern: str) -> None:
    source = (
        "from prices import PriceError\nOSError = PriceError\ndef test_a():\n"
        f"    with pytest.raises({waited}):\n        f()\n"
    )
    file = FileOfTests("test_x.py", source.encode(), [("test_a",)])

    for seed in range(40):
        rng = Random(seed)  # noqa: S311 - the same each time
        text, _ = file.made({("test_a",): Kind.RAISED}, rng, {("test_a",): False})
        found = re.search(r"raises\((.*)\):", text)
        assert found
        assert re.fullmatch(pattern, found[1])
        given: dict[str, Any] = {"PriceError": ArithmeticError}
        exec("\n".join(re.findall(r"class \w+Error\(Exception\):\s+pass", text)), given)  # noqa: S102
        others = eval(f"({found[1]},)", given)  # noqa: S307 - names of classes
        for one in others[0] if isinstance(others[0], tuple) else others:
            known = eval(f"({waited},)", given)  # noqa: S307
            for each in known[0] if isinstance(known[0], tuple) else known:
                assert each is Exception or not issubclass(one, each)
                assert not issubclass(each, one)


def test_what_a_file_begins_with_stays_there_and_nothing_is_told_twice() -> None:
    source = '"""Words."""\nfrom __future__ import annotations\ndef test_a(x: int = 3): assert x\n'
    file = FileOfTests("test_x.py", source.encode(), [("test_a",)])
    rng = Random(1)  # noqa: S311 - the same each time

    one, first = file.made({("test_a",): Kind.TEST}, rng, {("test_a",): False})
    two, second = file.made({("test_a",): Kind.NEGATED}, rng, {("test_a",): True})

    assert one.startswith('"""Words."""\nfrom __future__')
    assert "def test_a(x: int=3):" in one
    assert first["test_a",].token in one
    assert {*first["test_a",][2:]}.isdisjoint(second["test_a",][2:])
    assert "not x" in two
    assert "not x" not in one


# ---- Settings


def test_a_snapshot_is_one_that_a_setting_names() -> None:
    place = str(EXAMPLE / "kiosk")
    digest = snapshot_digest(read_snapshot(place))
    verifier = RepositoryPatch(repositories={"kiosk": place})
    task: dict[str, Any] = {each: TASK[each] for each in TASK if each != "files"}

    def reason(**more: Any) -> str:
        candidate = vl.Candidate("text", GOOD, task={**task, **more})
        return verifier.judge([candidate])[0].reason

    assert verifier.settings["repositories"] == {"kiosk": digest}
    assert "these files are" in reason(repository="kiosk", snapshot="0" * 64)
    assert "no repository 'other'" in reason(repository="other", snapshot=digest)
    assert "not its snapshot" in reason(repository="kiosk")
    assert "neither" in reason()
    assert "tests/test_calc.py" in reason(repository="kiosk", snapshot=digest)


def test_a_verifier_travels_with_its_snapshots_and_without_what_it_remembers(
    tmp_path: Path,
) -> None:
    shutil.copytree(EXAMPLE / "kiosk", tmp_path / "kiosk")
    verifier = RepositoryPatch(repositories={"kiosk": str(tmp_path / "kiosk")})
    shutil.rmtree(tmp_path / "kiosk")

    again = pickle.loads(pickle.dumps(verifier))  # noqa: S301 - our own

    assert again.digest == verifier.digest
    assert again._held == verifier._held


@pytest.mark.parametrize(
    "settings",
    [{"repositories": {"x": "/nowhere"}}, {"repositories": {"a b": "tests"}}, {"total": 0},
     {"packages": "/nowhere"}, {"limits": {"patience": 1}}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    if settings.get("repositories", {}).get("a b"):
        settings = {"repositories": {"a b": str(tmp_path)}}
    with pytest.raises(vl.ConfigError):
        RepositoryPatch(**settings)


@pytest.mark.usefixtures("sandboxes")
def test_packages_and_plugins_are_those_that_a_setting_names(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    (packages / "twice").mkdir(parents=True)
    (packages / "twice" / "__init__.py").write_text("def twice(n): return n + n\n")
    (packages / "plugged.py").write_text(
        "import pytest\n@pytest.fixture\ndef two():\n    return 2\n"
    )
    for each in (tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o755)
    uses = calc("from twice import twice\n\n\ndef double(n):\n    return twice(n)\n")
    test = "from calc import double\ndef test_double(two):\n    assert double(two) == 4\n"
    task: dict[str, Any] = {"tests": {"tests/test_hidden.py": test}, "reference": uses}
    verifier = RepositoryPatch(packages=str(packages), plugins=["plugged"])

    assert said(uses, verifier, **task).outcome is Outcome.ACCEPT
    assert "reference does not pass" in said(uses, **task).reason
    for path, name in {"plugged.py": "plugged", "twice/__init__.py": "twice"}.items():
        verdict = said(json.dumps({**json.loads(uses), path: "x = 1\n"}), verifier, **task)
        assert verdict.outcome is Outcome.REJECT
        assert f"{path} would hide the module {name}" in verdict.feedback


def test_what_a_patch_may_not_add_is_told_by_name() -> None:
    verifier = RepositoryPatch()
    task: dict[str, Any] = {**TASK, "roots": ["lib"], "protected": ["calc.py"]}
    task["tests"] = {**task["tests"], "spec/test_a.py": "def test_a(): pass"}
    for patch, reason in {
        json.dumps({"lib/json.py": "x"}): "hide the module json",
        GOOD: "calc.py, which is restored",
        json.dumps({"__init__.py": ""}): "what the tests are part of",
        json.dumps(
            {"tests": "x", "tests/test_calc.py": None}
        ): "tests is in the place of what tests need",
        json.dumps({"spec": "x"}): "spec is in the place of what tests need",
        json.dumps({"spec/test_a.py/b": "x"}): "test_a.py/b is in the place of what tests need",
    }.items():
        candidate = vl.Candidate("text", patch, task=task)
        with pytest.raises(CandidateError, match=reason):
            verifier.examine(candidate)


@pytest.mark.usefixtures("sandboxes")
def test_an_example_earns_what_it_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE.parents[1])  # The ladder names a folder that is seen from there.
    place = EXAMPLE / "repository-patch"

    result = vl.score_file(
        place.with_suffix(".jsonl"), ladder=place.with_suffix(".toml"),
        ledger=tmp_path / "ledger.db", workers=1,
    )  # fmt: skip

    assert [reward.value for reward in result.rewards] == [1, 0, 1, 0, 0, 0]
    for reward, told in zip(
        result.rewards,
        ["", "1 of 3", "", "restored", "other values", "does not apply"],
        strict=True,
    ):
        assert told in reward.feedback
