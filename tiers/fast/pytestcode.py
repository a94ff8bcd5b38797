"""Tests of a repository, as pytest finds them, and their canaries, which must fail there.

A test is named by its id, `tests/test_money.py::TestSum::test_two[3-4]`: a file, a function in it,
maybe in classes, and maybe one of the cases that it is called with. The function must stand in the
file itself, for its **canary** is a copy of it in which what is compared is another value
(`falsify`), in which an assertion is negated or a false one stands at the end, or which waits for
another exception that looks alike. Which of these a function is in a run, nothing inside can know
before.

Each function tells a token of its own when it has run to its end, so that a report alone is worth
nothing.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import NamedTuple

from verifier_ladder.text import printable
from verifier_ladder.tiers.fast import pytestrunner
from verifier_ladder.tiers.fast.asking import Names
from verifier_ladder.tiers.fast.falsify import Falsifiable, Kind, bound_names
from verifier_ladder.tiers.fast.patch import not_inside
from verifier_ladder.tiers.fast.rewriting import rewritten
from verifier_ladder.tiers.tasks import TaskError

RUNNER = pytestrunner.__name__.rpartition(".")[2]
MOST_IDS = 1000
_ID = re.compile(r"([^:\[]+\.py)::((?:[^\W\d]\w*::)*[^\W\d]\w*)(\[.*\])?", re.DOTALL)
_LONGEST_ID = 500
_RAISES = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_ALIKE = (
    ArithmeticError, AttributeError, EOFError, FileNotFoundError, ImportError, IndexError,
    KeyError, LookupError, NameError, NotImplementedError, OSError, OverflowError,
    PermissionError, RecursionError, RuntimeError, TimeoutError, TypeError, UnicodeDecodeError,
    ValueError, ZeroDivisionError,
)  # fmt: skip
"""Exceptions that tests wait for."""
_WORDS = ("Access", "Format", "Length", "Limit", "Order", "Range", "Schema", "State", "Usage")
"""What other exceptions are called where a test waits for one that is none of Python's own."""
Place = tuple[str, ...]
"""Names of classes and of a function in them."""


class TestId(NamedTuple):
    """A test, as pytest names it."""

    text: str
    file: str
    path: Place

    @classmethod
    def of(cls, text: str) -> TestId:
        """Read one.

        Raises:
            TaskError: If it names no test of a file.

        Example:
            >>> TestId.of("tests/test_a.py::TestB::test_c[1-2]").path
            ('TestB', 'test_c')
        """
        found = _ID.fullmatch(text)
        if found is None or len(text) > _LONGEST_ID or not_inside(found[1]):
            raise TaskError(
                f"{printable(text, 100)!r} names no test: write tests/test_x.py::test_y, with "
                "classes and cases as pytest tells them"
            )
        return cls(text, found[1], tuple(found[2].split("::")))


class Made(NamedTuple):
    """A test function as it is in one run."""

    kind: Kind
    false: frozenset[int]
    token: str
    """What it tells at its end."""
    end: str
    """What the list of tokens is called in its file."""
    tell: str
    """What the function that tells of its sites is called there."""


class TestFunction:
    """A test function of a file, and what canaries it has."""

    def __init__(
        self, file: str, path: Place, node: ast.FunctionDef, bound: Collection[str] = ()
    ) -> None:
        """Look at its statements; `bound` are the names that its file gives a value."""
        self.file, self.path, self.node, self._bound = file, path, node, bound
        self.code = Falsifiable((), node.body)

    @cached_property
    def kinds(self) -> list[Kind]:
        """The test and its canaries, of which one must fail at least."""
        found = list(self.code.kinds)
        if any(_waits(each) for each in self.node.body):
            found.append(Kind.RAISED)
        return found if any(kind.must_fail for kind in found) else [*found, Kind.NEGATED]

    def written(self, kind: Kind, rng: Random, *, late: bool) -> tuple[Made, list[ast.stmt], str]:
        """What it is in a run: how it is told, its statements, and what its file begins with."""
        names = Names.drawn(rng)
        end, inner, token = (f"t{rng.getrandbits(64):016x}" for _ in range(3))
        _, body, false, source = self.code.written(kind, names, rng, late=late)
        if kind is Kind.RAISED:
            waiting = _Waiting(self._bound, rng)
            body = [waiting.visit(each) for each in body]
            source = f"{waiting.classes}{source}"
        args = copy.deepcopy(self.node.args)
        for each in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            each.annotation = None
        args.defaults, args.kw_defaults = [], [None for _ in args.kwonlyargs]
        function = ast.parse(f"def {inner}(): pass").body[0]
        assert isinstance(function, ast.FunctionDef)  # noqa: S101 - for the type checker
        function.args, function.body = args, body
        told = ast.parse(f"{inner}({_call(args)})\n{end}.append({token!r})").body
        above = f"{end} = []\n{source}"
        return Made(kind, false, token, end, names.told), [function, *told], above


class TestFile:
    """A file of tests, in which some functions are told apart."""

    def __init__(self, name: str, source: bytes, wanted: Sequence[Place]) -> None:
        """Find its functions.

        Args:
            name: Its path in the repository.
            source: What it holds.
            wanted: The functions that count.

        Raises:
            TaskError: If it is no Python, or a function is not there or not plain.
        """
        self.name = name
        try:
            tree = ast.parse(source)
            self._tree = ast.Module(rewritten(tree.body), [])
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            words = printable(str(error), 80)
            raise TaskError(f"the tests {name} are no Python: {words}") from None
        bound = bound_names(ast.walk(self._tree))
        self.functions = {
            path: TestFunction(name, path, self._node(path), bound) for path in wanted
        }

    def _node(self, path: Place) -> ast.FunctionDef:
        found: ast.AST = self._tree
        for part in path:
            inside = [
                each for each in getattr(found, "body", [])
                if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                and each.name == part
            ]  # fmt: skip
            if not inside:
                raise TaskError(f"the tests {self.name} have no {'::'.join(path)} of their own")
            found = inside[-1]
        if not isinstance(found, ast.FunctionDef) or any(map(_is_generator, _own(found.body))):
            raise TaskError(f"{self.name}::{'::'.join(path)} is no plain function")
        return found

    def made(
        self, kinds: Mapping[Place, Kind], rng: Random, late: Mapping[Place, bool]
    ) -> tuple[str, dict[Place, Made]]:
        """The file as it is in one run, and what its functions are there."""
        tree, made, above = copy.deepcopy(self._tree), dict[Place, Made](), list[str]()
        for path, function in self.functions.items():
            told, body, source = function.written(kinds[path], rng, late=late[path])
            made[path], node = told, self._at(tree, path)
            node.body = body
            above.append(source)
        begin = _beginning(tree.body)
        text = f"from {RUNNER} import OWN as _own\n{''.join(above)}"
        tree.body[begin:begin] = ast.parse(text).body
        return ast.unparse(ast.fix_missing_locations(tree)), made

    @staticmethod
    def _at(tree: ast.Module, path: Place) -> ast.FunctionDef:
        found: ast.AST = tree
        for part in path:
            inside = [each for each in found.body if getattr(each, "name", "") == part]  # type: ignore[attr-defined]
            found = inside[-1]
        assert isinstance(found, ast.FunctionDef)  # noqa: S101 - `_node` has found it
        return found


def _beginning(body: Sequence[ast.stmt]) -> int:
    """How many statements must stay at the top: words, and what is imported from the future."""
    for place, each in enumerate(body):
        is_words = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if not (is_words and not place) and not (
            isinstance(each, ast.ImportFrom) and each.module == "__future__"
        ):
            return place
    return len(body)


def _call(args: ast.arguments) -> str:
    """Arguments that hand on what a function of these parameters is given."""
    told = [each.arg for each in (*args.posonlyargs, *args.args)]
    told += [f"*{args.vararg.arg}"] if args.vararg else []
    told += [f"{each.arg}={each.arg}" for each in args.kwonlyargs]
    return ", ".join([*told, *([f"**{args.kwarg.arg}"] if args.kwarg else [])])


def _own(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """What belongs to a function itself, without functions and classes inside it."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _own(list(ast.iter_child_nodes(node)))


def _is_generator(node: ast.AST) -> bool:
    return isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await))


def _waits(node: ast.stmt) -> bool:
    """Whether a statement of a test surely waits for an exception."""
    calls = [each.context_expr for each in node.items] if isinstance(node, ast.With) else []
    calls += [node.value] if isinstance(node, ast.Expr) else []
    return any(map(_is_waiting, calls))


def _is_waiting(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), [_, *_]):
            return name in _RAISES
    return False


class _Waiting(ast.NodeTransformer):
    """Has a test wait for another exception, which the program does not raise if it is right."""

    def __init__(self, bound: Collection[str], rng: Random) -> None:
        self._bound, self._rng = bound, rng
        self.classes = ""
        """Classes that its file needs for that, as source."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _is_waiting(node):
            node.args[0] = self._other(node.args[0])
        return self.generic_visit(node)

    def _other(self, waited: ast.expr) -> ast.expr:
        """Another exception that looks alike, or as many of them as there are."""
        several = waited.elts if isinstance(waited, ast.Tuple) else [waited]
        known = [each for one in several if (each := self._known(one))]
        others = [
            each.__name__ for each in _ALIKE
            if each.__name__ not in self._bound
            and not any(issubclass(each, one) or issubclass(one, each) for one in known)
        ]  # fmt: skip
        if len(known) < len(several) or len(others) < len(several):
            return ast.Name(self._new(), ast.Load())
        names = [ast.Name(each, ast.Load()) for each in self._rng.sample(others, len(several))]
        return ast.Tuple([*names], ast.Load()) if isinstance(waited, ast.Tuple) else names[0]

    def _known(self, waited: ast.expr) -> type | None:
        """The exception of Python's own that is named there."""
        if not isinstance(waited, ast.Name) or waited.id in self._bound:
            return None
        found = getattr(builtins, waited.id, None)
        return found if isinstance(found, type) else None

    def _new(self) -> str:
        """The name of a class that nothing raises."""
        word = "".join(self._rng.sample(_WORDS, 2))
        name = f"{word}Error"
        while name in self._bound:
            name = f"_{name}"
        self.classes += f"class {name}(Exception): pass\n"
        return name
