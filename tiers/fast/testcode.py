"""Test code: tests that run beside a program, and their canaries, which must fail there.

Test code is Python as people write it. A **test** is a function at the top level whose name begins
with `test`, or is `check`, or an assert at the top level, which is named after its line. Whatever
else stands there comes before the tests that it stands above, or before all functions.

A **canary** is a copy of a test in which one thing is false: of an assert that is surely reached,
the value that it compares with is another one, or its condition is negated. Where no assert is
surely reached, a false one is put at the end. So a program that is right fails each of its
canaries, and a program that makes asserts pass makes its canaries pass too.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TypeGuard

from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.programs import FILE
from verifier_ladder.tiers.tasks import TaskError

MODULE = FILE.removesuffix(".py")
"""What a program is imported as."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
MOST_TESTS = 128
_CHECK = "check"
_PARAMETER = "candidate"
"""Of a test that is given the function under test."""
_CLOSENESS = frozenset({"isclose"})
_LEAST_FACTOR, _MOST_FACTOR = 3, 9
_COARSEST = 0.1
"""Largest tolerance beside which a value that is several times as large is another one."""
_PRELUDE = """
import builtins as _builtins
_own = dict(vars(_builtins))
import {module} as _program
globals().update({{n: v for n, v in vars(_program).items() if n not in _own or n == {function!r}}})
globals().update({{n: v for n, v in _own.items() if n[:2] != "__" and n != {function!r}}})
"""
"""What stands above each test. Tests find builtins as they were before the program was loaded."""


class Made(NamedTuple):
    """One test, or a canary of it, as a module that defines one function."""

    source: str
    function: str
    """Name of the function, which nobody could know before."""
    token: str
    """What the function returns when the test has passed."""


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

    def made(self, rng: Random, *, canary: bool) -> Made:
        """Make it, or a canary of it, under a name and with a token of its own."""
        body = list(self.body)
        if canary:
            body = falsified(body, rng)
        name, token = (f"t{rng.getrandbits(64):016x}" for _ in range(2))
        given = [ast.parse(f"{_PARAMETER} = {self.function}").body[0]] if self.takes else []
        stated: list[ast.stmt] = [*given, *body, ast.Return(ast.Constant(token))]
        made = ast.parse(f"def {name}(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)  # noqa: S101 - for the type checker
        made.body = stated
        module = ast.fix_missing_locations(ast.Module([*self.above, made], []))
        prelude = _PRELUDE.format(module=MODULE, function=self.function)
        return Made(prelude + ast.unparse(module), name, token)


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
        body = ast.parse(code).body
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
    rest = tuple(each for each in body if not _is_test(each) and not isinstance(each, ast.Assert))
    above: list[ast.stmt] = []
    for each in body:
        if isinstance(each, ast.Assert):
            yield Test(f"line_{each.lineno}", tuple(above), (each,), function)
        elif _is_test(each):
            takes = _takes(each)
            yield Test(each.name, rest, tuple(each.body), function, takes)
        else:
            if isinstance(each, ast.ClassDef) and each.name.startswith("Test"):
                raise TaskError(f"the task's tests hold {each.name}: write functions, no classes")
            above.append(each)


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


# ---- Canaries


def falsified(body: Sequence[ast.stmt], rng: Random) -> list[ast.stmt]:
    """Copy a test's body so that it fails where it has passed.

    Example:
        >>> body = ast.parse("assert f(3) == 9").body
        >>> ast.unparse(falsified(body, Random(0))[0])
        'assert f(3) == 10'
    """
    made = copy.deepcopy(list(body))
    sure = list(_reached(made))
    others = [(each, other) for each in sure if (other := _another(each.test, rng)) is not None]
    if others:
        chosen, test = rng.choice(others)
        chosen.test = test
    elif sure:
        chosen = rng.choice(sure)
        chosen.test = ast.UnaryOp(ast.Not(), chosen.test)
    else:
        one, two = rng.sample(range(1000), 2)
        made += ast.parse(f"assert {one} == {two}").body
    return made


def _reached(body: Sequence[ast.stmt]) -> Iterator[ast.Assert]:
    """The asserts that are surely reached when a test passes: of loops it is taken on trust."""
    for node in body:
        if isinstance(node, ast.Assert):
            yield node
        elif isinstance(node, ast.For) and not any(map(_leaves, _own(node.body))):
            yield from _reached(node.body)


def _leaves(node: ast.AST) -> bool:
    return isinstance(node, (ast.Break, ast.Continue))


def _another(test: ast.expr, rng: Random) -> ast.expr | None:
    """A condition that is false where this one is true, with another value; None if none is."""
    found: ast.expr | None = None
    match test:
        case ast.Compare(left, [ast.Eq()], [right]) if _is_plain(left) and not _is_plain(right):
            found = ast.Compare(_changed(left, rng), [ast.Eq()], [right])
        case ast.Compare(left, [ast.Eq()], [right]) if not _is_plain(left):
            found = ast.Compare(left, [ast.Eq()], [_changed(right, rng)])
        case ast.Compare(left, [ast.Is()], [ast.Constant(value)]) if not _is_plain(left):
            found = ast.Compare(left, [ast.Is()], [ast.Constant(not value)])
        case ast.Compare(ast.Call(ast.Name("abs"), [part], []), [ast.Lt() | ast.LtE()], [most]):
            found = _distant(test, part, most, rng)
        case ast.Call(args=[first, second]) if _is_closeness(test):
            found = ast.Call(test.func, [first, _further(second, rng)], test.keywords)
        case ast.BoolOp(ast.And(), parts):
            others = [(n, new) for n, part in enumerate(parts) if (new := _another(part, rng))]
            if others:
                place, new = rng.choice(others)
                found = ast.BoolOp(ast.And(), [*parts[:place], new, *parts[place + 1 :]])
    return found


def _distant(
    test: ast.Compare, difference: ast.expr, most: ast.expr, rng: Random
) -> ast.expr | None:
    """Of `abs(a - b) < 1e-9` the same with a distant b; None if the bound is not small."""
    bound = _read(most)
    if not isinstance(bound, (int, float)) or bound > _COARSEST:
        return None
    match difference:
        case ast.BinOp(left, ast.Sub(), right):
            shift = ast.Constant(rng.randint(_LEAST_FACTOR, _MOST_FACTOR))
            distant = ast.BinOp(left, ast.Sub(), ast.BinOp(right, ast.Add(), shift))
            return ast.Compare(ast.Call(ast.Name("abs"), [distant], []), test.ops, [most])
    return None


def _is_closeness(test: ast.Call) -> bool:
    """Whether it is such as `math.isclose(a, b, rel_tol=1e-9)`, with small tolerances."""
    match test.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            tolerances = [each.value for each in test.keywords]
            return name in _CLOSENESS and all(
                isinstance(each, ast.Constant) and float(each.value) <= _COARSEST  # type: ignore[arg-type]
                for each in tolerances
            )
    return False


def _further(value: ast.expr, rng: Random) -> ast.expr:
    """Several times as large, and one more."""
    factor = ast.Constant(rng.randint(_LEAST_FACTOR, _MOST_FACTOR))
    size = ast.Call(ast.Name("abs"), [value], [])
    larger = ast.BinOp(size, ast.Add(), ast.Constant(1))
    return ast.BinOp(value, ast.Add(), ast.BinOp(larger, ast.Mult(), factor))


def _is_plain(node: ast.expr) -> bool:
    return _read(node) is not _NONE


_NONE = object()


def _read(node: ast.expr) -> Any:
    """The value of a literal; `_NONE` of anything else."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NONE


def _changed(node: ast.expr, rng: Random) -> ast.expr:
    """An expression of another value: like the literal if it is one, else never equal."""
    value = _read(node)
    if value is _NONE:
        return ast.Tuple([node, ast.Constant(rng.getrandbits(32))], ast.Load())
    return _written(another(value, rng))


def _written(value: Any) -> ast.expr:
    """A value as an expression; infinity has no name, so `repr` would not do."""
    if isinstance(value, dict):
        return ast.Dict(
            [_written(key) for key in value], [_written(each) for each in value.values()]
        )
    if isinstance(value, (list, set)):
        kind = ast.List if isinstance(value, list) else ast.Set
        return kind([_written(each) for each in value])
    if isinstance(value, tuple):
        return ast.Tuple([_written(each) for each in value], ast.Load())
    return ast.Constant(value)


def another(value: Any, rng: Random) -> Any:
    """Another value that looks much like a literal's value, and is not equal to it.

    Example:
        >>> [another(value, Random(1)) for value in (True, 9, "abc", [1, 2], None)]
        [False, 8, 'ebc', [3, 2], 0]
    """
    for kind, change in _CHANGES:
        if isinstance(value, kind):
            return change(value, rng)
    return 0 if value is None else None


def _another_int(value: int, rng: Random) -> int:
    return value + rng.choice([-1, 1, 2] if value > 0 else [1, 2, 3])


def _another_float(value: float, rng: Random) -> float:
    if value - value != 0:  # Infinite, or no number.
        return float(rng.randint(0, 9))
    return value + (abs(value) + 1) * rng.choice([0.25, 0.5, 1.5])


def _another_text(value: Any, rng: Random) -> Any:
    letters = "abcdefghijklmnopqrstuvwxyz"
    letter: Any = rng.choice(letters)
    if isinstance(value, bytes):
        letter = letter.encode()
    place = rng.randrange(len(value) + 1)
    made = value[:place] + letter + value[place + 1 :]
    return made if made != value else value + letter


def _another_list(value: Any, rng: Random) -> Any:
    if not value:
        return type(value)([0])
    place = rng.randrange(len(value))
    return type(value)([*value[:place], another(value[place], rng), *value[place + 1 :]])


def _another_set(value: set[Any], rng: Random) -> set[Any]:
    return value | {next(n for n in range(rng.randrange(100), 10_000) if n not in value)}


def _another_dict(value: dict[Any, Any], rng: Random) -> dict[Any, Any]:
    if not value:
        return {0: 0}
    key = rng.choice(list(value))
    return {**value, key: another(value[key], rng)}


_CHANGES: tuple[tuple[Any, Callable[[Any, Random], Any]], ...] = (
    (bool, lambda value, _: not value),
    (int, _another_int),
    (float, _another_float),
    (complex, lambda value, rng: value + rng.randint(1, 9)),
    ((str, bytes), _another_text),
    ((list, tuple), _another_list),
    (set, _another_set),
    (dict, _another_dict),
)
