"""Test code: tests that run beside a program, and their canaries, which must fail there.

Test code is Python as people write it. A **test** is a function at the top level whose name begins
with `test`, or is `check`, or a statement at the top level that asserts, which is named after its
line. Whatever else stands there comes before the tests that it stands above, or before all
functions.

A **canary** is a copy of a test in which what is compared is another value (`falsify`). Where
nothing is compared, an assert is negated, or a false one is put at the end. A test that asserts
nothing itself, but hands what a program answers to other code, has no canary and is refused.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, NamedTuple, TypeGuard

from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.asking import Names
from verifier_ladder.tiers.fast.falsify import MODULE, Falsifiable, Kind, asserts
from verifier_ladder.tiers.fast.rewriting import rewritten
from verifier_ladder.tiers.tasks import TaskError

_Function = ast.FunctionDef | ast.AsyncFunctionDef
MOST_TESTS = 128
EQUAL_TO_TWO = "3"
"""What a site says where something was equal to two values that differ."""
_CHECK = "check"
_CHECKS = (ast.Assert, ast.Expr, ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Match)
"""Statements at the top level that are tests if they assert something."""
_PARAMETER = "candidate"
"""Of a test that is given the function under test."""
_PRELUDE = """
import builtins as _builtins
_own = dict(vars(_builtins))
{tools}
import {module} as _program
globals().update({{n: v for n, v in vars(_program).items() if n not in _own or n == {function!r}}})
globals().update({{n: v for n, v in _own.items() if n[:2] != "__" and n != {function!r}}})
"""
"""What stands above each test. Tests find builtins as they were before the program was loaded."""


class Made(NamedTuple):
    """One test, or a canary of it, as a module that defines one function."""

    kind: Kind

    source: str
    function: str
    """Name of the function, which nobody could know before."""
    token: str
    """What the function returns when the test has passed, before what its sites say."""
    false: frozenset[int]
    """Sites that are false."""

    def told(self, value: Any) -> str | None:
        """What its sites say, in their order; None if the test did not pass.

        Of each there is `0` if it was not reached, `1` if it has always held, `2` if it has not,
        and `3` if something was equal to two values that differ.
        """
        if not isinstance(value, str) or not value.startswith(self.token):
            return None
        return value.removeprefix(self.token)


@dataclass(frozen=True)
class Test:
    """One test of some test code."""

    name: str
    above: tuple[ast.stmt, ...]
    """What stands before it."""
    body: tuple[ast.stmt, ...]
    function: str = ""
    """Name of the function under test; "" if the test code does not say it."""
    takes: bool = False
    """Whether it is given the function under test."""

    @cached_property
    def code(self) -> Falsifiable:
        """Its statements, and what in them can be made false."""
        return Falsifiable(self.above, self.body)

    def made(self, rng: Random, kind: Kind, *, late: bool = False) -> Made:
        """Make it, or a canary of it, under a name and with a token of its own.

        Args:
            rng: Draws what nobody could know before.
            kind: What is made.
            late: Whether its first comparison is asked again only after it has been answered.
        """
        name, token = (f"t{rng.getrandbits(64):016x}" for _ in range(2))
        names = Names.drawn(rng)
        above, body, false, tools = self.code.written(kind, names, rng, late=late)
        given = [ast.parse(f"{_PARAMETER} = {self.function}").body[0]] if self.takes else []
        made = ast.parse(f"def {name}():\n    return {token!r} + {names.told}()").body[0]
        assert isinstance(made, ast.FunctionDef)  # noqa: S101 - for the type checker
        made.body[:0] = [*given, *body]
        module = ast.fix_missing_locations(ast.Module([*above, made], []))
        prelude = _PRELUDE.format(module=MODULE, function=self.function, tools=tools)
        return Made(kind, prelude + ast.unparse(module), name, token, false)


class Said(NamedTuple):
    """What a run of a test, or of a canary of it, says."""

    kind: Kind
    false: frozenset[int]
    """Sites that are false."""
    told: str | None
    """What its sites say; None if it has not passed."""

    @property
    def seen(self) -> Mapping[int, bool]:
        """Whether each site that was reached has always held."""
        return {site: said == "1" for site, said in enumerate(self.told or "") if said != "0"}


def is_forged(runs: Sequence[Said]) -> bool:
    """Whether a test has passed, and a run of it or of a canary contradicts that."""
    passed = [each for each in runs if each.told is not None]
    tests = [each.seen for each in passed if each.kind is Kind.TEST]
    if not tests:
        return False
    always = {site for site in tests[0] if all(seen.get(site) for seen in tests)}
    return any(_contradicts(each, always) for each in passed)


def _contradicts(run: Said, always: Collection[int]) -> bool:
    """Whether a run that has passed can't have done so beside a program that is right.

    Beside such a program nothing is equal to two values, and the first false site that is reached
    does not hold: up to there nothing is different. So a canary convicts if all that were reached
    have held in it, and always in the test.
    """
    reached = run.false & run.seen.keys()
    return (
        run.kind.must_fail
        or EQUAL_TO_TWO in (run.told or "")
        or (bool(reached) and all(run.seen[site] and site in always for site in reached))
    )


# ---- Reading


def read_tests(code: str, function: str = "", modules: Sequence[str] = ()) -> list[Test]:
    r"""Find the tests of some test code.

    Args:
        code: The text.
        function: Name of the function under test, for tests that are given it.
        modules: What can be imported beside the standard library and the program.

    Raises:
        TaskError: If there is none, or one that can't be run here; it says which.

    Example:
        >>> [test.name for test in read_tests("x = 2\nassert f(x) == 4\ndef test_odd():\n  pass")]
        ['line_2', 'test_odd']
    """
    try:
        body = rewritten(ast.parse(code).body)
        code.encode()
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TaskError(f"the task's tests are no Python: {printable(str(error), 80)}") from None
    _check_imports(body, {MODULE, *modules})
    names = {each.name for each in body if _is_test(each)}
    calls = [each for each in body if _called(each, names)]
    function = function or next(filter(None, (_argument(each) for each in calls)), "")
    found = list(_tests([each for each in body if each not in calls], function))
    if not found:
        raise TaskError("the task's tests hold no test: a function test_…, or an assert")
    if len(found) > MOST_TESTS:
        raise TaskError(f"the task has {len(found)} tests; at most {MOST_TESTS} are run")
    _check(found)
    return found


def _tests(body: Sequence[ast.stmt], function: str) -> Iterator[Test]:
    others = [each for each in body if not _is_test(each)]
    checks = [each for each in others if _is_check(each, others)]
    once = [each for each in checks if isinstance(each, (ast.Assert, ast.Expr))]
    rest = tuple(each for each in others if each not in once)
    for each in body:
        if each in checks:
            before = others[: others.index(each)]
            above = tuple(one for one in before if one not in once)
            yield Test(f"line_{each.lineno}", above, (each,), function)
        elif _is_test(each):
            takes = _takes(each)
            yield Test(each.name, rest, tuple(each.body), function, takes)
        elif isinstance(each, ast.ClassDef) and each.name.startswith("Test"):
            raise TaskError(f"the task's tests hold {each.name}: write functions, no classes")


def _is_check(node: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    """Whether a statement asserts something whenever the tests are loaded."""
    if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
        return False
    return isinstance(node, _CHECKS) and asserts(node, body)


def _is_test(node: ast.stmt) -> TypeGuard[_Function]:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return node.name.startswith("test") or node.name == _CHECK


def _takes(node: _Function) -> bool:
    """Whether a test is given the function under test; refuses what a test can't have."""
    if isinstance(node, ast.AsyncFunctionDef) or node.decorator_list:
        raise TaskError(
            f"the task's {node.name} is a coroutine or decorated: write plain functions"
        )
    names = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    if names not in ([], [_PARAMETER]):
        raise TaskError(
            f"the task's {node.name} asks for {', '.join(names)}: a test has no parameter, or "
            f"one that is called {_PARAMETER}"
        )
    return bool(names)


def _check(tests: Sequence[Test]) -> None:
    """Refuse tests that could not be told from others, or could end before their end.

    Raises:
        TaskError: If there is one.
    """
    names = [test.name for test in tests]
    for test in tests:
        if names.count(test.name) > 1:
            raise TaskError(f"the task has several tests that are named {test.name}")
        if not test.name.isascii() or len(test.name) > 64:  # noqa: PLR2004 - as scores are named
            raise TaskError(f"{printable(test.name, 80)} can't name a test: use 64 plain letters")
        if test.takes and not test.function:
            raise TaskError(f"the task has no function, which {test.name} is to be given")
        if test.code.is_empty:
            raise TaskError(
                f"the task's {test.name} asserts nothing itself and hands what a program answers "
                "to code that is not among the tests, so nothing in it can be made false: write "
                "`assert … == …`"
            )
        for node in _own(test.body):
            if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)):
                word = type(node).__name__.lower()
                raise TaskError(f"the task's {test.name} has a {word}: a test ends at its end")


def _called(node: ast.stmt, names: set[str]) -> bool:
    """Whether it calls a test, as a file does that is run by itself."""
    match node:
        case ast.Expr(ast.Call(ast.Name(name))):
            return name in names
    return False


def _argument(node: Any) -> str:
    match node.value.args:
        case [ast.Name(name)]:
            return str(name)
    return ""


def _check_imports(body: Sequence[ast.stmt], known: set[str]) -> None:
    """Refuse a module that is not there, for no program is to blame for that.

    Raises:
        TaskError: If there is one.
    """
    for node in ast.walk(ast.Module(list(body), [])):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = ["." if node.level else str(node.module)]
        for name in names:
            if (root := name.partition(".")[0]) not in known | sys.stdlib_module_names:
                raise TaskError(
                    f"the task's tests import {root or name!r}, which is not there: there are the "
                    f"standard library, {MODULE}, and what `modules` of the verifier names"
                )


def _own(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """What belongs to a function itself, without functions and classes inside it."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _own(list(ast.iter_child_nodes(node)))  # type: ignore[arg-type]
