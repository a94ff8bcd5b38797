"""Mutation testing of answer keys: does a key notice when its verifier's source is changed?

A mutant is the verifier with one edit in the syntax tree of one module: a comparison turned
round, `and` for `or`, a condition negated, a refusal left out, a sign swapped. It is caught if it
disagrees with the key on a case on which the verifier agrees. Where an edit changes nothing that
anybody could see, a mutant survives rightly, so a few always do.

Each mutant lives in a process of its own, forked from one that has the libraries loaded, with one
thread each, as workers have them: a fork would wait for threads that it lacks. It is killed, and
counts as noticed, when it takes ten times the cpu of the unchanged verifier, or three times as
long on the clock and five minutes at least, or more memory than it may. Nothing else of this
process changes.

Run as a program, the module reads one job from standard input: that is how `mutation_test` starts
it, and no interface of its own.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, NoReturn, Self

from verifier_ladder.environment import THREADS
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Case, Report
from verifier_ladder.verifiers import Verifier

FEWEST_MUTANTS, LEAST_CAUGHT = 20, 0.9
_CPU_FACTOR, _CPU_LEAST = 10, 2
"""Cpu seconds a mutant may take: so many times those of the original, and so many more."""
_MEMORY = 8 << 30
_WALL_FACTOR, _WALL_LEAST = 3, 300
"""Seconds on the clock after which a mutant that waits for nothing is killed: so many times those
of the original, and these at least."""
_ASKED_AT_ONCE = 20
"""Cases put to a mutant before it is seen whether one of them tells it from the original."""
_SURVIVED, _CAUGHT = 10, 11
"""Exit codes of a mutant's process; all others are crashes."""
_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One edit of one module."""

    module: str
    place: int
    """Which of the module's edits it is, counted from 0."""
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.module}:{self.line}: {self.edit}"

    @property
    def edit(self) -> str:
        """What is changed, without the place."""
        return f"{self.before} -> {self.after}"


@dataclass(frozen=True)
class Survey:
    """What became of the mutants of a verifier."""

    caught: tuple[Mutation, ...]
    survived: tuple[Mutation, ...]

    @property
    def share_caught(self) -> float:
        """Share of mutants that the key notices; 0 if there are none."""
        return len(self.caught) / max(1, len(self.caught) + len(self.survived))

    @property
    def weaknesses(self) -> list[str]:
        """What to mend, in words; empty if the key is good enough."""
        tried = len(self.caught) + len(self.survived)
        found = []
        if tried < FEWEST_MUTANTS:
            found.append(f"{tried} mutants; at least {FEWEST_MUTANTS} are needed")
        if self.share_caught < LEAST_CAUGHT:
            told = "; ".join(map(str, self.survived))
            found.append(
                f"the key catches {len(self.caught)} of {tried} mutants; add cases that tell "
                f"these from the verifier: {told}"
            )
        return found


def mutations(module: str) -> list[Mutation]:
    """Find all edits of a module that the kit knows.

    Args:
        module: Its name; its source must be at hand.

    Raises:
        ConfigError: If there is no source.
    """
    return [
        Mutation(module, place, node.lineno, _shown(before), _shown(node))
        for place, (before, node) in enumerate(_edits(_tree(module)))
    ]


def mutation_test(
    key: AnswerKey, verifier: type[Verifier], modules: Sequence[str] = (),
    *, count: int = 40, seed: int = 0, settings: Mapping[str, Any] | None = None,
    equivalent: Collection[str] = (), hostile: bool = False,
) -> Survey:  # fmt: skip
    """Put mutants of a verifier to a key.

    Args:
        key: The key.
        verifier: Class of the verifier.
        modules: Names of the modules that are edited; the one of the class if none is named.
            They are loaded anew, with that of the class, so their import must have no effect
            elsewhere. A module that stands between the class and one of them must be named too.
        count: How many mutants are drawn among all edits.
        seed: What they are drawn with, so that the same ones are tried each time.
        settings: What the verifier is made with; JSON values.
        equivalent: Edits (`Mutation.edit`) that change no verdict, such as of a limit, and are
            therefore not drawn. Say why beside each.
        hostile: Whether hostile cases are put too. The verifier runs in a limited process, but
            in no worker: what crashes it unchanged ends the test.

    Raises:
        ConfigError: If there is no source, `equivalent` names no edit of it, or the unchanged
            verifier disagrees with the key.
    """
    names = list(modules) or [verifier.__module__]
    every = [found for name in names for found in mutations(name)]
    if unknown := set(equivalent) - {each.edit for each in every}:
        raise ConfigError(f"these are no edits of {', '.join(names)}: {sorted(unknown)}")
    every = [each for each in every if each.edit not in equivalent]
    drawn = random.Random(seed).sample(every, min(count, len(every)))  # noqa: S311
    cases = (key if hostile else key.without_hostile()).cases
    job = {
        "key": key.name,
        "cases": [case.model_dump(mode="json") for case in cases],
        "verifier": [verifier.__module__, verifier.__qualname__],
        "settings": dict(settings or {}),
        "modules": list(dict.fromkeys([*names, verifier.__module__])),
        "mutations": [asdict(each) for each in drawn],
        "path": sys.path,
    }
    done = subprocess.run(  # This file, with our own Python.
        [sys.executable, "-m", __name__], input=json.dumps(job), capture_output=True, text=True,
        check=False, env={**os.environ, **dict.fromkeys(THREADS, "1")},
    )  # fmt: skip
    if done.returncode:
        raise ConfigError(f"no mutant could be tried: {done.stderr.strip()[:600]}")
    told = list(zip(drawn, json.loads(done.stdout), strict=True))
    return Survey(
        caught=tuple(each for each, is_caught in told if is_caught),
        survived=tuple(each for each, is_caught in told if not is_caught),
    )


# ---- Edits of a syntax tree


def _spec(module: str) -> ModuleSpec:
    spec = find_spec(module)
    if spec is None or not (spec.origin or "").endswith(".py"):
        raise ConfigError(f"there is no source of a module {module} to edit")
    return spec


def _tree(module: str) -> ast.Module:
    return ast.parse(Path(_spec(module).origin or "").read_text("utf-8"))


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _edits(tree: ast.Module) -> Iterator[tuple[ast.AST, Any]]:
    """Each edit in turn, as a copy of what stood there and what stands there now.

    The tree holds one edit at a time: it is undone before the next.
    """
    for node in ast.walk(tree):
        yield from _edits_of(node)


def _edits_of(node: ast.AST) -> Iterator[tuple[ast.AST, Any]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _edited(node, "ops", [_FLIPPED[type(node.ops[0])]()])
    elif isinstance(node, ast.BoolOp):
        yield from _edited(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
        yield from _edited(node, "op", _SWAPPED[type(node.op)]())
    elif isinstance(node, (ast.If, ast.IfExp)) and not _is_edited_elsewhere(node.test):
        yield from _edited(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Return) and _is_flag(node.value):
        yield from _edited(node, "value", ast.Constant(not node.value.value))  # type: ignore[union-attr]
    if isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise):
        yield from _edited(node, "body", [ast.Pass()])


def _is_edited_elsewhere(test: ast.expr) -> bool:
    """Whether a condition has an edit of its own, or is one for type checkers only."""
    if isinstance(test, ast.Name) and test.id == "TYPE_CHECKING":
        return True
    return isinstance(test, ast.BoolOp) or (isinstance(test, ast.Compare) and len(test.ops) == 1)


def _is_flag(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, bool)


def _edited(node: ast.AST, field: str, new: Any) -> Iterator[tuple[ast.AST, Any]]:
    old = getattr(node, field)
    before = ast.parse(ast.unparse(node)).body[0]
    setattr(node, field, new)
    ast.fix_missing_locations(node)
    yield before, node
    setattr(node, field, old)


# ---- The program


class Allowed(NamedTuple):
    """What a process may take.

    A mutant that is killed counts as noticed, so the limits are far from what the original took.

    Example:
        >>> Allowed.after(cpu=30.0, wall=400.0)
        Allowed(cpu=302, wall=1200)
        >>> Allowed.after(cpu=0.1, wall=1.0).wall
        300
    """

    cpu: int
    wall: int
    """Seconds on the clock; 0 for no limit."""

    @classmethod
    def after(cls, cpu: float, wall: float) -> Self:
        """What a mutant may take whose original took so much."""
        return cls(int(_CPU_FACTOR * cpu) + _CPU_LEAST, max(int(_WALL_FACTOR * wall), _WALL_LEAST))


def _main() -> None:
    job = json.load(sys.stdin)
    sys.path[:] = job["path"]
    for name in job["modules"]:
        importlib.import_module(name)
    key = AnswerKey(job["key"], tuple(map(Case.model_validate, job["cases"])))
    report = key.check(_made(job))
    if report.complaints:
        sys.exit("\n".join(report.complaints))
    known = _missed(report)
    status, cpu, wall = _in_child(key, job, None, Allowed(resource.RLIM_INFINITY, 0), known)
    if status != _SURVIVED:
        sys.exit("the unchanged verifier says something else in a limited process")
    allowed = Allowed.after(cpu, wall)
    fates = [
        _in_child(key, job, Mutation(**each), allowed, known)[0] != _SURVIVED
        for each in job["mutations"]
    ]
    sys.stdout.write(json.dumps(fates))


def _made(job: Mapping[str, Any]) -> Verifier:
    found: Any = sys.modules[job["verifier"][0]]
    for name in job["verifier"][1].split("."):
        found = getattr(found, name)
    return found(**job["settings"])  # type: ignore[no-any-return]


def _missed(report: Report) -> set[int]:
    return {graded.line for graded in report.graded if graded.how}


def _is_noticed(key: AnswerKey, verifier: Verifier, known: set[int]) -> bool:
    """Whether a case finds a difference that the original does not have."""
    starts = range(0, len(key.cases), _ASKED_AT_ONCE)
    parts = (slice(start, start + _ASKED_AT_ONCE) for start in starts)
    asked = (AnswerKey(key.name, key.cases[part], key.lines[part]) for part in parts)
    return any(_missed(few.check(verifier)) - known for few in asked)


def _in_child(
    key: AnswerKey, job: Mapping[str, Any], mutation: Mutation | None, allowed: Allowed,
    known: set[int],
) -> tuple[int, float, float]:  # fmt: skip
    """Put a mutant, or the original, to the key.

    Returns:
        Its exit code, negative for a signal, and what it took: seconds of cpu, and on the clock.
    """
    begun = monotonic()
    child = os.fork()
    if not child:
        _child(key, job, mutation, allowed, known)
    _, status, used = os.wait4(child, 0)
    took = used.ru_utime + used.ru_stime, monotonic() - begun
    return os.waitstatus_to_exitcode(status), *took


def _child(
    key: AnswerKey, job: Mapping[str, Any], mutation: Mutation | None, allowed: Allowed,
    known: set[int],
) -> NoReturn:  # fmt: skip
    """Never returns: what a mutant raises must not reach the program it was forked from.

    The original goes the same way, so that a limit or an import that fails it is found there.
    """
    code, told = _CAUGHT, ""
    try:
        _confine(allowed, is_silent=mutation is not None)
        _load(job["modules"], mutation)
        if not _is_noticed(key, _made(job), known):
            code = _SURVIVED
    except BaseException as error:  # noqa: BLE001  # A mutant may raise anything.
        told = repr(error)
    finally:
        sys.stderr.write(told)
        sys.stderr.flush()
        os._exit(code)


def _confine(allowed: Allowed, *, is_silent: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (allowed.cpu, allowed.cpu))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(allowed.wall)
    if is_silent:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)


def _load(modules: Sequence[str], mutation: Mutation | None) -> None:
    """Load the modules anew, one of them with the edit."""
    for name in modules:
        sys.modules.pop(name, None)
    if mutation is not None:
        _load_edited(mutation)
    for name in modules:
        importlib.import_module(name)


def _load_edited(mutation: Mutation) -> None:
    tree = _tree(mutation.module)
    edits = _edits(tree)
    for _ in range(mutation.place + 1):
        next(edits)  # The last one stays in the tree.
    spec = _spec(mutation.module)
    module = module_from_spec(spec)
    sys.modules[mutation.module] = module
    exec(compile(tree, spec.origin or "", "exec"), module.__dict__)  # noqa: S102  # Our own source.
    parent, _, child = mutation.module.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)


if __name__ == "__main__":
    _main()
