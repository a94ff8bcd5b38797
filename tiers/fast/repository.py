"""Repositories: a patch of a pinned snapshot, judged by tests that are restored from outside.

A task names a snapshot, the tests that must go from fail to pass, those that must stay passing,
and a patch that does both, its **reference**. A candidate is a patch (`patch`). It is applied to
the letter; then whatever configures or holds the tests is as the task has it, whatever the patch
says, and the tests run in the sandbox, several times, a fresh process each.

They share their process with the candidate's code, so what they say is evidence, no proof. In
each run each test is, by a draw, itself or a canary of itself, a copy that must fail
(`pytestcode`): who has the tests say what he likes does not know which. Which report a test earns
counts only beside the token that it tells at its end, exactly once a run.

The reference is put to the same draws before any candidate: a task whose reference does not pass,
whose tests pass without a patch, or pass once and fail once, judges nobody.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from random import SystemRandom
from typing import Any

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.keys import digest
from verifier_ladder.text import plain_lines, printable
from verifier_ladder.tiers.fast import pytestrunner
from verifier_ladder.tiers.fast.falsify import Kind
from verifier_ladder.tiers.fast.patch import edits_in, not_inside
from verifier_ladder.tiers.fast.programs import Caller, ProgramVerifier, TimeUsedUpError, allowed
from verifier_ladder.tiers.fast.pytestcode import RUNNER, TestFunction
from verifier_ladder.tiers.fast.repositorytask import (
    NAME,
    TEST_FOLDERS,
    Bench,
    Draw,
    RepositoryTask,
    Run,
)
from verifier_ladder.tiers.fast.snapshot import is_dropped, read_snapshot, snapshot_digest
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox, Warmth
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

_REPOSITORY, _RUNNER = "repository", f"runner/{RUNNER}.py"
"""Folders in the sandbox: where the repository lies, and what runs its tests."""
_MOST_BENCHES, _MOST_USES = 8, 64
"""Tasks that are remembered, and candidates for which one draw serves."""
_SHOWN, _SHOWN_TESTS = 1500, 3
_ADDRESS = re.compile(r"0x[0-9a-f]{4,}")
_FORGED = (
    "Beside the patch {name} passes with other values, too, where it must fail. Mend the "
    "library, return plain values, and leave the tests alone."
)


class RepositoryPatch(ProgramVerifier):
    r"""Accepts a patch after which all named tests of a repository pass, and their canaries fail.

    | Field of a task | Meaning |
    |---|---|
    | `repository` | one of the verifier's repositories |
    | `files` | instead: the files themselves, by their paths |
    | `snapshot` | the digest of these files; with `files` it may be left out |
    | `tests` | files that are put there or restored, by their paths; hidden from learners |
    | `fail_to_pass` | ids of tests that fail before and must pass, as pytest writes them |
    | `pass_to_pass` | ids of tests that must stay passing |
    | `reference` | a patch that does both: the control of the task; hidden |
    | `protected` | more files and folders that are restored |
    | `touched` | `restored`, or `refused`: a patch that touches what is restored is rejected |
    | `roots` | folders from which modules are imported; `src`, if there is one, and the top |
    | `limits` | what each run of all tests may take, by the names of `Limits` |

    Named scores are the shares of both lists that passed; a reject's own score is their product,
    and 0 where a canary has passed.

    Example:
        >>> test = "from calc import double\ndef test_2(): assert double(2) == 4"
        >>> files = {"calc.py": "def double(n):\n    return n\n", "test_calc.py": test}
        >>> patch = "--- a/calc.py\n+++ b/calc.py\n@@ -2 +2 @@\n-    return n\n+    return 2 * n\n"
        >>> task = {"files": files, "fail_to_pass": ["test_calc.py::test_2"], "reference": patch}
        >>> RepositoryPatch().judge([Candidate("text", patch, task=task)])[0].outcome.value
        ... # doctest: +SKIP
        'accept'
    """

    name = "repository-patch"
    version = "1"
    cost = Cost(seconds=0.8)
    batch_size = 1
    task_fields = tuple(RepositoryTask.model_fields)
    hidden = ("tests", "reference")
    observed = "inside"
    sandbox: Sandbox = Sandbox(Warmth(modules=("pytest",)))
    usual = Limits(cpu=20.0, wall=90.0, memory=1 << 30)
    control = Candidate(
        "text", "--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-ONE = 2\n+ONE = 1\n",
        task={
            "files": {
                "one.py": "ONE = 2\n",
                "test_one.py": "import one\n\n\ndef test_one():\n    assert one.ONE == 1\n",
            },
            "fail_to_pass": ["test_one.py::test_one"],
            "reference": "--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-ONE = 2\n+ONE = 1\n",
        },
    )  # fmt: skip

    @checked()
    def __init__(
        self,
        *,
        repositories: Mapping[str, str] | None = None,
        modules: Sequence[str] = (),
        packages: str | None = None,
        plugins: Sequence[str] = (),
        limits: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
        total: float = 600.0,
    ) -> None:
        """Say what there is to patch, and what its tests may take.

        Args:
            repositories: Snapshots by name: a folder, an archive, or `folder@commit`. They are
                read now, and what they hold is part of every check's key.
            modules: Modules beside the standard library and pytest that the repositories need,
                installed where this package is. They are imported once.
            packages: A folder with more packages, such as the `site-packages` of another virtual
                environment of the same Python; the sandbox may read it.
            plugins: Modules that pytest loads as plugins; no others are.
            limits: What each run may take where its task does not say, by the names of `Limits`.
            most: What a task may allow at most.
            total: Seconds that all runs of a patch may take together.

        Raises:
            ConfigError: If one makes no sense, or a snapshot can't be read.
        """
        held = {name: read_snapshot(place) for name, place in (repositories or {}).items()}
        if wrong := next((name for name in held if not re.fullmatch(NAME, name)), ""):
            raise ConfigError(f"{printable(wrong)!r} can't name a repository: use plain letters")
        self._held = held
        self._plugins = tuple(plugins)
        self._packages = [os.path.realpath(packages)] if packages is not None else []
        tops = {each.partition(".")[0] for each in (*modules, *plugins)}
        self._reserved = frozenset({*tops, *_tops(packages)})
        if modules or packages is not None:
            warmth = Warmth(modules=("pytest", *modules), read=tuple(self._packages))
            self.sandbox = Sandbox(warmth)
        self._benches: OrderedDict[bytes, Bench | TaskError] = OrderedDict()
        own = {
            "repositories": {name: snapshot_digest(files) for name, files in held.items()},
            "modules": list(modules), "plugins": list(plugins),
            "packages": _packages_digest(packages),
        }  # fmt: skip
        super().__init__(own, limits=limits, most=most, total=total)
        self.tools = {**self.tools, **versions("pytest", "unidiff", *modules)}

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what is only remembered."""
        return {**super().__getstate__(), "_benches": OrderedDict()}

    def examine(self, candidate: Candidate) -> Verdict:
        """Apply the patch, run the tests and their canaries, and see what they say."""
        task = read_task(RepositoryTask, candidate.task)
        bench = self._bench(task, allowed(self._limits, task.limits, self._most))
        tree = bench.patched(edits_in(candidate.content), self._reserved)
        bench = self._proven(bench)
        caller = Caller(self.sandbox, bench.limits, self._total)
        runs = [self._run(caller, bench, tree, draw) for draw in bench.draws]
        verdict = _verdict(bench, runs)
        failed = [name for name, why in bench.whys(runs).items() if why and bench.is_public(name)]
        if verdict.feedback and failed and not bench.forged(runs):
            return _with(verdict, self._excerpt(caller, bench, tree, failed[:_SHOWN_TESTS]))
        return verdict

    # ---- The task

    def _bench(self, task: RepositoryTask, limits: Limits) -> Bench:
        """The bench of a task, remembered for a while with all that was proven of it."""
        key = digest({
            "task": task.model_dump(), "limits": asdict(limits), "sandbox": self.sandbox.name,
        })  # fmt: skip
        found = self._benches.pop(key, None)
        if found is None or (isinstance(found, Bench) and found.uses >= _MOST_USES):
            try:
                found = Bench(task, self._files(task), limits)
            except TaskError as error:
                found = error
        self._benches[key] = found
        while len(self._benches) > _MOST_BENCHES:
            self._benches.popitem(last=False)
        if isinstance(found, TaskError):
            raise found
        return found

    def _files(self, task: RepositoryTask) -> Mapping[str, bytes]:
        """The snapshot of a task."""
        files = self._named(task) if task.files is None else _given(task.files)
        if task.snapshot is None and task.files is None:
            raise TaskError("the task names a repository, and not its snapshot")
        if task.snapshot is not None and (own := snapshot_digest(files)) != task.snapshot:
            raise TaskError(
                f"the task's snapshot is {task.snapshot[:12]}…, and these files are {own[:12]}…: "
                "give the verifier the state that the task is about"
            )
        return files

    def _named(self, task: RepositoryTask) -> Mapping[str, bytes]:
        """The repository that a task names."""
        if task.repository is None:
            raise TaskError("the task has neither files nor a repository")
        if task.repository not in self._held:
            known = ", ".join(self._held) or "none: name it in `repositories`"
            raise TaskError(f"the verifier has no repository {task.repository!r}; it has {known}")
        return self._held[task.repository]

    def _proven(self, bench: Bench) -> Bench:
        """A bench whose reference passes, twice at least, and whose tests fail without it.

        Raises:
            TaskError: If they do not.
        """
        bench.uses += 1
        if bench.draws:
            return bench
        try:
            tree = bench.patched(edits_in(bench.task.reference), self._reserved)
        except CandidateError as error:
            raise TaskError(f"the task's reference is no patch of its snapshot: {error}") from None
        rng = SystemRandom()  # Of another generator, many names in a run would tell its state.
        caller = Caller(self.sandbox, bench.limits, self._total)
        bare = self._run(caller, bench, bench.files, bench.plain(rng))
        draws = bench.drawn(rng)
        runs = [self._run(caller, bench, tree, draw) for draw in draws]
        for function, ids in bench.functions.items():
            passed = bare.passed(function, ids) & set(bench.task.fail_to_pass)
            if passed:
                raise TaskError(f"{printable(min(passed))} passes without a patch, too")
        for name, why in bench.whys(runs).items():
            if why:
                raise TaskError(f"the task's reference does not pass {printable(name)}: {why}")
        if forged := bench.forged(runs):
            raise TaskError(
                f"beside the task's reference {'::'.join(forged[0].path)} passes with other values"
            )
        bench.draw, bench.draws = os.urandom(8).hex(), draws
        return bench

    # ---- Runs

    def _run(self, caller: Caller, bench: Bench, tree: Mapping[str, bytes], draw: Draw) -> Run:
        files: dict[str, str | bytes] = {**tree, **bench.task.tests, **draw.files}
        asked = [(each.file, made.end, made.tell) for each, made in draw.made.items()]
        try:
            return Run(draw, self._called(caller, bench, files, draw.ids, asked, words=False))
        except TimeUsedUpError:
            return Run(draw, None)

    def _called(
        self, caller: Caller, bench: Bench, files: Mapping[str, str | bytes],
        ids: Sequence[str], asked: Sequence[tuple[str, str, str]], *, words: bool,
    ) -> Result:  # fmt: skip
        """Run some tests once, in a fresh process."""
        held = {f"{_REPOSITORY}/{path}": each for path, each in files.items()}
        source = Path(str(pytestrunner.__file__)).read_bytes()
        program = Program({**held, _RUNNER: source}, entry=f"{_RUNNER}:run")
        options = [part for name in self._plugins for part in ("-p", name)]
        args = (_REPOSITORY, list(bench.roots), list(ids), list(asked))
        more = {"options": options, "words": words, "packages": self._packages}
        return caller.run(program, Input(args, more))

    def _excerpt(
        self, caller: Caller, bench: Bench, tree: Mapping[str, bytes], names: Sequence[str]
    ) -> str:
        """What failed tests that learners may know say, where no hidden test is in sight."""
        try:
            result = self._called(caller, bench, tree, names, (), words=True)
        except TimeUsedUpError:
            return ""
        if result.ended is not Ending.FINISHED:
            return ""
        try:
            words = [(str(name), str(each)) for name, _, _, _, each in result.value[0] if each]
        except (TypeError, ValueError):  # It has told something else.
            return ""
        text = "\n\n".join(f"{printable(name)}:\n{plain_lines(each)}" for name, each in words)
        return _ADDRESS.sub("0x…", text)[:_SHOWN]


def _verdict(bench: Bench, runs: Sequence[Run]) -> Verdict:
    """What the runs say together."""
    made = [each for draw in bench.draws for each in draw.made.values()]
    evidence: dict[str, Any] = {
        "tests": len(bench.ids), "runs": len(runs), "draw": bench.draw,
        "canaries": sum(each.kind is not Kind.TEST for each in made),
    }  # fmt: skip
    if forged := bench.forged(runs):
        name = _shown(bench, forged[0])
        return Verdict.reject(
            f"{len(forged)} of {len(bench.functions)} tests pass with other values, too",
            score=0.0, feedback=_FORGED.format(name=name),
            evidence={**evidence, "forged": len(forged)},
        )  # fmt: skip
    whys = bench.whys(runs)
    lists = {"fail_to_pass": bench.task.fail_to_pass, "pass_to_pass": bench.task.pass_to_pass}
    passed = {which: sum(not whys[each] for each in ids) for which, ids in lists.items()}
    scores = {which: passed[which] / len(ids) if ids else 1.0 for which, ids in lists.items()}
    evidence["passed"] = sum(passed.values())
    if not any(whys.values()):
        return Verdict.accept(1.0, scores=scores, evidence=evidence)
    told = (
        f"{passed['fail_to_pass']} of {len(lists['fail_to_pass'])} tests that must go from fail "
        f"to pass do so, and {passed['pass_to_pass']} of {len(lists['pass_to_pass'])} stay passing"
    )
    first = next(name for name, why in whys.items() if why)
    named = printable(first) if bench.is_public(first) else "A hidden test"
    return Verdict.reject(
        f"{told}; {first}: {whys[first]}", score=scores["fail_to_pass"] * scores["pass_to_pass"],
        feedback=f"{told}. {named}: {whys[first]}.", scores=scores, evidence=evidence,
    )  # fmt: skip


def _given(files: Mapping[str, str]) -> Mapping[str, bytes]:
    """Files that a task brings."""
    for path in files:
        if why := not_inside(path):
            raise TaskError(f"the task's files: {printable(path)!r} {why}")
    return {path: held.encode() for path, held in files.items() if not is_dropped(path)}


def _with(verdict: Verdict, excerpt: str) -> Verdict:
    """A reject whose feedback quotes tests that learners may know."""
    if not excerpt:
        return verdict
    return Verdict.reject(
        verdict.reason, score=verdict.score, feedback=f"{verdict.feedback}\n\n{excerpt}",
        scores=verdict.scores, evidence=verdict.evidence,
    )  # fmt: skip


def _shown(bench: Bench, function: TestFunction) -> str:
    """A function as feedback names it."""
    is_public = bench.is_public(function.file)
    return f"{function.file}::{'::'.join(function.path)}" if is_public else "a hidden test"


def _tops(folder: str | None) -> Iterator[str]:
    """What modules and packages in a folder are called; those of tests hide nothing of worth."""
    if folder is not None and Path(folder).is_dir():
        names = (each.name.partition(".")[0] for each in Path(folder).iterdir())
        yield from (name for name in names if name.isidentifier() and name not in TEST_FOLDERS)


def _packages_digest(folder: str | None) -> str:
    """Which packages, in which versions, a folder says that it holds; "" for no folder."""
    if folder is None:
        return ""
    if not Path(folder).is_dir():
        raise ConfigError(f"packages={printable(folder)!r} is no folder")
    names = sorted(each.name for each in Path(folder).glob("*.dist-info"))
    return digest(names).hex()
