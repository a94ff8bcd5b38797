"""Syntax trees: the part of a source file that a running function or class was made of.

Trees are told as nested lists that are equal on every Python, without comments and layout.
"""

from __future__ import annotations
import __future__

import ast
import dis
import functools
import linecache
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")
Encoded = str | list[Any]
"""What is told of code and data: text, or nested lists of text."""
_FUTURE: Final = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef
_PARSING = Lock()
_TRIES = 10
"""Of a text: whoever else parses in this process does not ask for the lock."""


def plain(value: object) -> list[Any] | None:
    """Tell a constant as text; None if it is none."""
    if value is None or value is Ellipsis or value is NotImplemented:
        return [str(value)]
    of = type(value)
    if of is str:
        return ["str", value]
    if of in (bool, float, complex):
        return [of.__name__, repr(value)]
    if isinstance(value, int) and of is int:
        return ["int", hex(value)]
    if isinstance(value, bytes | bytearray) and of in (bytes, bytearray):
        return [of.__name__, value.hex()]
    return None


@dataclass
class _File:
    """A source file, read and compiled."""

    tree: ast.Module
    codes: list[types.CodeType]

    @cached_property
    def functions(self) -> Mapping[tuple[str, int], list[ast.AST]]:
        """By name and first line."""
        return _gathered((_starts(node), node) for node in ast.walk(self.tree))

    @cached_property
    def classes(self) -> Mapping[str, list[ast.ClassDef]]:
        """By qualified name."""
        return _gathered(_classes(self.tree, ""))


def _gathered(pairs: Iterable[tuple[K | None, V]]) -> dict[K, list[V]]:
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        if key is not None:
            found.setdefault(key, []).append(value)
    return found


def node_of(function: types.FunctionType) -> ast.AST | None:
    """Find the part of the source that a function was made of; None if that can't be told."""
    code = function.__code__
    file = _file(code.co_filename, function.__globals__, code.co_flags & _FUTURE)
    if file is None:
        return None
    if not _is_rewritten(function.__globals__) and not any(code == made for made in file.codes):
        return None
    nodes = file.functions.get((code.co_name, code.co_firstlineno), [])
    if code.co_name == "<lambda>" and len(nodes) > 1:
        nodes = _lambdas_at(nodes, code)
    return nodes[0] if len(nodes) == 1 else None


def _starts(node: ast.AST) -> tuple[str, int] | None:
    if isinstance(node, ast.Lambda):
        return "<lambda>", node.lineno
    if isinstance(node, _DEFINES):
        return node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return None


def _lambdas_at(nodes: list[ast.AST], code: types.CodeType) -> list[ast.AST]:
    """Of lambdas that begin in one line, the innermost that holds all places of the code."""
    places = [
        (line, column)
        for line, _, column, _ in code.co_positions()
        if line is not None and column is not None and column > 0
    ]
    holding = [
        node for node in nodes
        if isinstance(node, ast.Lambda) and places and all(
            (node.body.lineno, node.body.col_offset) <= place
            < (node.body.end_lineno or 0, node.body.end_col_offset or 0)
            for place in places
        )
    ]  # fmt: skip
    holding.sort(key=lambda node: len(ast.dump(node)))
    return [*holding[:1]]


def class_node(of: type, name: str) -> ast.AST | None:
    """Find a class in its source file; None if that can't be told."""
    file = _file(name)
    if file is None:
        return None
    nodes = file.classes.get(of.__qualname__, [])
    lines = [f.__code__.co_firstlineno for v in vars(of).values() if (f := inner_function(v))
             and f.__code__.co_filename == name]  # fmt: skip
    if len(nodes) > 1:
        nodes = [n for n in nodes if lines and n.lineno <= min(lines) <= (n.end_lineno or 0)]
    return nodes[0] if len(nodes) == 1 else None


def _classes(node: ast.AST, path: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield path + child.name, child
            yield from _classes(child, f"{path}{child.name}.")
        elif isinstance(child, _DEFINES):
            yield from _classes(child, f"{path}{child.name}.<locals>.")
        else:
            yield from _classes(child, path)


def inner_function(value: object) -> types.FunctionType | None:
    """Return the function inside a method, property or wrapper of a class."""
    for name in ("__func__", "fget", "func", "__wrapped__"):
        inner: object = getattr(value, name, None)
        if not isinstance(value, types.FunctionType) and isinstance(inner, types.FunctionType):
            return inner
    return value if isinstance(value, types.FunctionType) else None


def _is_rewritten(names: Mapping[str, Any]) -> bool:
    """Whether an import hook may have rewritten the module, as pytest does with assertions."""
    spec = names.get("__spec__")
    loader = getattr(spec, "loader", None) or names.get("__loader__")
    kind = loader if isinstance(loader, type) else type(loader)
    return loader is not None and not kind.__module__.startswith("_frozen_importlib")


def has_source(file: str) -> bool:
    """Tell whether a code's file name leads to a text."""
    if file in {"<string>", "<stdin>"}:  # Many texts go by these names.
        return False
    return not file.startswith("<") or bool(linecache.getlines(file))


def _file(name: str, names: Mapping[str, Any] | None = None, flags: int = 0) -> _File | None:
    if not has_source(name):
        return None
    if Path(name).exists():
        linecache.checkcache(name)
    text = "".join(linecache.getlines(name, dict(names) if names else None))
    return _parsed(text, name, flags) if text else None


@lru_cache(maxsize=64)
def _parsed(text: str, name: str, flags: int) -> _File | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = _tree(text)
            whole = compile(text, name, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return _File(tree, list(_codes(whole)))


def _tree(text: str) -> ast.Module:
    """Parse; CPython 3.11 fails where another thread parses too (its issue 106905)."""
    with _PARSING:
        for _ in range(_TRIES - 1):
            with suppress(SystemError):
                return ast.parse(text)
        return ast.parse(text)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes(const)


def dump(node: object) -> Encoded:
    """Tell a syntax tree as nested lists, the same on every Python."""
    if isinstance(node, ast.JoinedStr):
        return ["f-string", *map(dump, _joined(node.values))]
    if isinstance(node, ast.Constant):
        return ["constant", plain(node.value)]
    if isinstance(node, list):
        return [dump(each) for each in node]
    if not isinstance(node, ast.AST):
        return ascii(node)
    found: list[Any] = [type(node).__name__]
    for name in node._fields:
        value = getattr(node, name, None)
        if name == "body" and isinstance(node, (*_DEFINES.__args__, ast.ClassDef)):
            value = _documented(value or [])
        if name == "format_spec" and isinstance(value, ast.JoinedStr) and not value.values:
            value = None
        if value not in (None, []) and name not in {"ctx", "kind", "type_comment"}:
            found.append([name, dump(value)])
    return found


def _joined(values: list[ast.expr]) -> list[ast.expr]:
    """The parts of an f-string, which Pythons split differently."""
    found: list[ast.expr] = []
    for value in values:
        last = found[-1] if found else None
        if isinstance(value, ast.Constant) and not value.value:
            continue
        if isinstance(value, ast.Constant) and isinstance(last, ast.Constant):
            found[-1] = ast.Constant(f"{last.value}{value.value}")  # type: ignore[str-bytes-safe]
        else:
            found.append(value)
    return found


def _documented(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body whose docstring has no indentation: that is layout."""
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        text = first.value.value
        if isinstance(text, str):
            bare = "\n".join(line.strip() for line in text.strip().splitlines())
            return [ast.Expr(ast.Constant(bare)), *body[1:]]
    return body


def names_read(code: types.CodeType, free: frozenset[str]) -> dict[str, set[tuple[str, ...]]]:
    """Find the global and closed-over names that code reads, with what it reads of each."""
    found: dict[str, set[tuple[str, ...]]] = {}
    name, chain = "", []
    for step in [*dis.get_instructions(code), None]:
        if name and step is not None and step.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
            chain.append(str(step.argval))
            continue
        if name:
            found.setdefault(name, set()).add(tuple(chain))
        name, chain = (_name_read(step, free) if step else ""), []
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            for inner, chains in names_read(const, free).items():
                found.setdefault(inner, set()).update(chains)
    return found


def _name_read(step: dis.Instruction, free: frozenset[str]) -> str:
    name = str(step.argval)
    if not step.opname.startswith("LOAD_") or not name.isidentifier():
        return ""
    if "DEREF" in step.opname:
        return name if name in free else ""
    is_global = "GLOBAL" in step.opname or step.opname == "LOAD_NAME"
    is_special = name.startswith("__") and name.endswith("__") and name != "__import__"
    return name if is_global and not is_special else ""
