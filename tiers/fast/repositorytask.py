"""What a task about a repository brings: its snapshot, its tests, and what their runs say.

A **bench** holds all of it, ready for candidates: what a patch may touch, the draws in which each
test is itself or a canary of itself, and why a test has not passed.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from random import Random
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.text import printable
from verifier_ladder.tiers.fast import pytestcode
from verifier_ladder.tiers.fast.falsify import Kind
from verifier_ladder.tiers.fast.patch import Edit, applied, folders_of, not_inside, refuse
from verifier_ladder.tiers.fast.programs import Bounds, wordless
from verifier_ladder.tiers.fast.pytestcode import TestFile, TestFunction, TestId
from verifier_ladder.tiers.fast.snapshot import LARGEST
from verifier_ladder.tiers.fast.testcode import Said, is_forged
from verifier_ladder.tiers.sandbox import Ending, Limits, Result
from verifier_ladder.tiers.tasks import TaskError

_SETTINGS = frozenset({
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini",
    "setup.cfg", "pyproject.toml",
})  # fmt: skip
"""Files that configure tests, in any folder."""
TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_OF_PYTEST = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py"})
_RESERVED = (sys.stdlib_module_names | _OF_PYTEST) - {"test"}
_ERRORS = frozenset(
    name for name, each in vars(builtins).items()
    if isinstance(each, type) and issubclass(each, BaseException)
)  # fmt: skip
_LEAST_RUNS = 4
"""Of tests, and as many of canaries: who throws a coin gets through once in 2 ** 8 times."""
_PASSED = [("setup", "passed", ""), ("call", "passed", ""), ("teardown", "passed", "")]
NAME: Final = r"[\w.-]{1,100}"


class RepositoryTask(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    repository: Annotated[str, Field(pattern=f"^{NAME}$")] | None = None
    snapshot: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    files: Annotated[dict[str, str], Field(min_length=1)] | None = None
    tests: dict[str, str] = {}
    fail_to_pass: Annotated[list[str], Field(min_length=1, max_length=pytestcode.MOST_IDS)]
    pass_to_pass: Annotated[list[str], Field(max_length=pytestcode.MOST_IDS)] = []
    reference: Annotated[str, Field(min_length=1)]
    protected: list[str] = []
    touched: Literal["restored", "refused"] = "restored"
    roots: Annotated[list[str], Field(min_length=1, max_length=8)] | None = None
    limits: Bounds = Bounds()


class Draw(NamedTuple):
    """One run: what each function is in it."""

    files: Mapping[str, str]
    ids: Sequence[str]
    made: Mapping[TestFunction, pytestcode.Made]


@dataclass
class Run:
    """What came of a run."""

    draw: Draw
    result: Result | None
    """None where no time was left for it."""

    @cached_property
    def _value(self) -> tuple[Mapping[str, list[tuple[str, str, str]]], Mapping[str, Any]]:
        """Phases of each test, and what each function has told; nothing if that makes no sense."""
        phases: dict[str, list[tuple[str, str, str]]] = {}
        if self.result is None or self.result.ended is not Ending.FINISHED:
            return {}, {}
        try:
            told, said = self.result.value
            for name, when, outcome, kind, _ in told:
                phases.setdefault(str(name), []).append((str(when), str(outcome), str(kind)))
            return phases, {str(end): (list(tokens), str(sites)) for end, tokens, sites in said}
        except (TypeError, ValueError):  # It has told something else.
            return {}, {}

    def passed(self, function: TestFunction, ids: Collection[str]) -> set[str]:
        """Which tests of a function have passed, each of them with its token."""
        phases, said = self._value
        made = self.draw.made[function]
        found = {each for each in ids if phases.get(each) == _PASSED}
        tokens, sites = said.get(made.end, ([], ""))
        is_told = tokens == [made.token] * len(found) and len(sites) == function.code.count
        return found if is_told else set()

    def failed(self, function: TestFunction, name: str) -> bool:
        """Whether a test has failed as a canary must."""
        is_waiting = self.draw.made[function].kind is Kind.RAISED
        return any(
            when == "call" and outcome == "failed" and (is_waiting or kind == "AssertionError")
            for when, outcome, kind in self._value[0].get(name, [])
        )

    def said(self, function: TestFunction, ids: Collection[str]) -> Said:
        """What it says of a function as a whole."""
        made, passed = self.draw.made[function], self.passed(function, ids)
        is_passed = bool(passed) if made.kind.must_fail else len(passed) == len(ids)
        _, sites = self._value[1].get(made.end, ([], ""))
        return Said(made.kind, made.false, sites if is_passed else None)

    def why(self, name: str, limits: Limits) -> str:
        """Why a test has not passed, in words that quote nothing."""
        if self.result is None:
            return "there was no time left for it"
        if self.result.ended is not Ending.FINISHED:
            return f"the run of all tests did not end: {wordless(self.result, limits)}"
        phases = self._value[0].get(name)
        if not phases:
            return "it was not found, or its file could not be loaded"
        for when, outcome, kind in phases:
            if outcome == "failed":
                known = kind if kind in _ERRORS else "an exception that is none of Python's own"
                return f"it raised {known}" + ("" if when == "call" else f" in its {when}")
            if outcome != "passed":
                return "it was skipped, or expected to fail"
        is_twice = len(phases) > len(_PASSED)
        return "it ran more than once" if is_twice else "it did not run to its end"


@dataclass
class Bench:
    """All that a task brings, ready for its candidates."""

    task: RepositoryTask
    files: Mapping[str, bytes]
    limits: Limits
    ids: Sequence[TestId] = field(init=False)
    tests: dict[str, TestFile] = field(init=False)
    draw: str = ""
    """Names the draws; it tells nothing of them, for others are still to be judged by them."""
    draws: Sequence[Draw] = ()
    uses: int = 0

    def __post_init__(self) -> None:
        """Read ids and tests.

        Raises:
            TaskError: If one makes no sense.
        """
        both = [*self.task.fail_to_pass, *self.task.pass_to_pass]
        if twice := next((each for each in both if both.count(each) > 1), ""):
            raise TaskError(f"the task names {printable(twice)} twice, or in both lists")
        self.ids = [TestId.of(each) for each in both]
        for path in (*self.task.tests, *self.task.protected, *(self.task.roots or ())):
            if path != "." and (why := not_inside(path)):
                raise TaskError(f"the task's tests, protected or roots: {printable(path)!r} {why}")
        self.tests = {}
        for file in dict.fromkeys(each.file for each in self.ids):
            source = self._source(file)
            wanted = dict.fromkeys(each.path for each in self.ids if each.file == file)
            self.tests[file] = TestFile(file, source, list(wanted))

    def _source(self, file: str) -> bytes:
        if file in self.task.tests:
            return self.task.tests[file].encode()
        if file not in self.files:
            raise TaskError(f"neither the task's tests nor its snapshot hold {printable(file)}")
        return self.files[file]

    @cached_property
    def functions(self) -> Mapping[TestFunction, list[str]]:
        """All test functions, with the ids of their tests."""
        return {
            function: [each.text for each in self.ids if (each.file, each.path) == (file, path)]
            for file, tests in self.tests.items()
            for path, function in tests.functions.items()
        }

    @property
    def roots(self) -> list[str]:
        """Folders from which modules are imported."""
        has_source = any(path.startswith("src/") for path in self.files)
        return self.task.roots or (["src", "."] if has_source else ["."])

    # ---- What a patch may touch

    @cached_property
    def _protected(self) -> tuple[set[str], tuple[str, ...]]:
        """Files and folders that are as the task has them, whatever a patch says."""
        paths = {*self.task.tests, *self.tests}
        folders = {folder for path in paths if (folder := _test_folder(path))}
        for path in self.task.protected:
            (paths if path in self.files else folders).add(path)
        return paths, tuple(f"{folder}/" for folder in folders)

    def is_protected(self, path: str) -> bool:
        """Whether a file is restored after a patch."""
        paths, folders = self._protected
        name = path.rpartition("/")[2]
        return path in paths or path.startswith(folders) or name in _SETTINGS

    def patched(self, edits: Sequence[Edit], reserved: Collection[str]) -> dict[str, bytes]:
        """All files after a patch, with what tests need as it was.

        Raises:
            CandidateError: If the patch does not apply, or is one that no patch may be.
        """
        changed = {
            path: held for path, held in applied(edits, self.files).items()
            if held != self.files.get(path)
        }  # fmt: skip
        restored = [path for path in changed if self.is_protected(path)]
        if restored and self.task.touched == "refused":
            refuse(f"the patch touches {printable(restored[0])}, which tests need",
                   "Leave tests, and what configures them, alone.")  # fmt: skip
        left = {path: held for path, held in changed.items() if path not in restored}
        if not left:
            what = f" but {printable(restored[0])}, which is restored" if restored else ""
            refuse(f"the patch changes nothing{what}", "Mend the library, not its tests.")
        for path, held in left.items():
            if held is not None and path not in self.files:
                self._check_new(path, _RESERVED.union(reserved))
        tree = {path: held for path, held in {**self.files, **left}.items() if held is not None}
        self._check_room([path for path, held in left.items() if held is not None], tree)
        if sum(map(len, tree.values())) > LARGEST:
            refuse("the patch makes the repository too large", "Add less.")
        return tree

    def _check_new(self, path: str, reserved: Collection[str]) -> None:
        """Refuse a new file that would be loaded in the place of another, or with the tests."""
        for root in self.roots:
            above = "" if root == "." else f"{root}/"
            top = path.removeprefix(above).partition("/")[0] if path.startswith(above) else ""
            name = top.removesuffix(".py")
            there = (f"{above}{name}/", f"{above}{name}.py")
            if name in reserved and not any(each.startswith(there) for each in self.files):
                refuse(f"{printable(path)} would hide the module {name} that is there already",
                       "Give new modules names of their own.")  # fmt: skip
        folder, _, name = path.rpartition("/")
        if name == "__init__.py" and any(
            file.startswith(f"{folder}/" if folder else "") for file in self.tests
        ):
            refuse(f"{printable(path)} would change what the tests are part of",
                   "Add no __init__.py above tests.")  # fmt: skip

    def _check_room(self, written: Sequence[str], tree: Collection[str]) -> None:
        """Refuse a file where what is restored has a folder, or the other way round."""
        there = {*tree, *self.task.tests}
        folders = folders_of(there)
        for path in written:
            if path in folders or not folders_of([path]).isdisjoint(there):
                refuse(f"{printable(path)} is in the place of what tests need",
                       "Choose another name.")  # fmt: skip

    # ---- Draws

    def drawn(self, rng: Random) -> list[Draw]:
        """Runs in which each function is itself and each of its canaries, in an order of its own.

        So that a draw can't be told by its neighbours, each function has its own. Where there are
        few functions, there are more runs.
        """
        functions = self.functions
        times = ceil(_LEAST_RUNS / len(functions))
        count = max(len(each.kinds) for each in functions) * times + (times == 1)
        plans: dict[TestFunction, list[Kind]] = {}
        for function in functions:
            kinds = function.kinds * times
            plans[function] = kinds + [Kind.TEST] * (count - len(kinds))
            rng.shuffle(plans[function])
        return [self._draw(plans, place, rng) for place in range(count)]

    def plain(self, rng: Random) -> Draw:
        """A run in which each function is itself."""
        return self._draw({function: [Kind.TEST] for function in self.functions}, 0, rng)

    def _draw(self, plans: Mapping[TestFunction, Sequence[Kind]], place: int, rng: Random) -> Draw:
        files, made = dict[str, str](), dict[TestFunction, pytestcode.Made]()
        for name, file in self.tests.items():
            kinds = {path: plans[each][place] for path, each in file.functions.items()}
            late = {path: bool(rng.getrandbits(1)) for path in kinds}
            files[name], found = file.made(kinds, rng, late)
            made |= {file.functions[path]: each for path, each in found.items()}
        ids = [each.text for each in self.ids]
        rng.shuffle(ids)
        return Draw(files, ids, made)

    # ---- What runs say

    def forged(self, runs: Sequence[Run]) -> list[TestFunction]:
        """Functions that have passed, and something contradicts it."""
        return [
            function for function, ids in self.functions.items()
            if is_forged([run.said(function, ids) for run in runs])
        ]  # fmt: skip

    def whys(self, runs: Sequence[Run]) -> dict[str, str]:
        """Why each test has not passed; "" for those that have, and whose canaries have failed."""
        return {
            name: why for function, ids in self.functions.items()
            for name, why in self._whys(function, ids, runs)
        }  # fmt: skip

    def _whys(
        self, function: TestFunction, ids: Sequence[str], runs: Sequence[Run]
    ) -> Iterator[tuple[str, str]]:
        of = [(run, run.draw.made[function].kind) for run in runs]
        tests = [(run, run.passed(function, ids)) for run, kind in of if kind is Kind.TEST]
        canaries = [run for run, kind in of if kind.must_fail]
        for name in ids:
            if failed := [run for run, passed in tests if name not in passed]:
                yield name, failed[0].why(name, self.limits)
            elif not all(run.failed(function, name) for run in canaries):
                yield name, "its copy that must fail did not fail as it must"
            else:
                yield name, ""

    def is_public(self, name: str) -> bool:
        """Whether a test's file is one of the snapshot, which learners may know."""
        return name.partition("::")[0] not in self.task.tests


def _test_folder(path: str) -> str:
    """The outermost folder of tests that a file lies in; "" if there is none."""
    folders = path.split("/")[:-1]
    for end, folder in enumerate(folders, 1):
        if folder in TEST_FOLDERS:
            return "/".join(folders[:end])
    return ""
