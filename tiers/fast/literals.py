"""Literals in a program's source: read, written, and changed to another value.

A canary of a test differs from it in one of them. So the other value looks much like the first,
and is not equal to it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

NONE = object()
"""What is no literal."""


def is_plain(node: ast.expr) -> bool:
    """Whether it is a literal."""
    return read(node) is not NONE


def read(node: ast.expr) -> Any:
    """The value of a literal; `NONE` of anything else.

    Example:
        >>> read(ast.parse("[1, -2]", mode="eval").body)
        [1, -2]
    """
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return NONE


def written(value: Any) -> ast.expr:
    """A value as an expression; infinity has no name, so `repr` would not do.

    Example:
        >>> ast.unparse(written({"a": (1, 2.5)}))
        "{'a': (1, 2.5)}"
    """
    if isinstance(value, dict):
        return ast.Dict(
            [written(key) for key in value], [written(each) for each in value.values()]
        )
    if isinstance(value, (list, set)):
        kind = ast.List if isinstance(value, list) else ast.Set
        return kind([written(each) for each in value])
    if isinstance(value, tuple):
        return ast.Tuple([written(each) for each in value], ast.Load())
    return ast.Constant(value)


def another(value: Any, rng: Random) -> Any:
    """Another value that looks much like a literal's value, and is not equal to it.

    Example:
        >>> [another(value, Random(1)) for value in (True, 9, "abc", [1, 2], None)]
        [False, 4, 'ebc', [10, 2], 0]
    """
    for kind, change in _CHANGES:
        if isinstance(value, kind):
            return change(value, rng)
    return 0 if value is None else None


def _another_int(value: int, rng: Random) -> int:
    made = rng.randrange(2 * abs(value) + 9)
    made += made >= abs(value)
    return made if value >= 0 else -made


def _another_float(value: float, rng: Random) -> float:
    if value - value != 0:  # Infinite, or no number.
        return float(rng.randint(0, 9))
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    number = _another_int(int("".join(map(str, digits))), rng)
    made = float(f"{'-' * sign}{number}e{exponent}")
    return made if made != value else value + 1


def _another_text(value: Any, rng: Random) -> Any:
    letters = "abcdefghijklmnopqrstuvwxyz"
    letter: Any = rng.choice(letters)
    if isinstance(value, bytes):
        letter = letter.encode()
    place = rng.randrange(len(value) + 1)
    made = value[:place] + letter + value[place + 1 :]
    return made if made.lower() != value.lower() else value + letter


def _another_list(value: Any, rng: Random) -> Any:
    if not value:
        return type(value)([0])
    place = rng.randrange(len(value))
    return type(value)([*value[:place], another(value[place], rng), *value[place + 1 :]])


def _another_set(value: set[Any], rng: Random) -> set[Any]:
    return set(_another_list(sorted(value, key=repr), rng))


def _another_dict(value: dict[Any, Any], rng: Random) -> dict[Any, Any]:
    if not value:
        return {0: 0}
    key = rng.choice(list(value))
    return {**value, key: another(value[key], rng)}


_CHANGES: tuple[tuple[Any, Callable[[Any, Random], Any]], ...] = (
    (bool, lambda value, _: not value),
    (int, _another_int),
    (float, _another_float),
    (complex, lambda value, rng: complex(_another_float(value.real, rng), value.imag)),
    ((str, bytes), _another_text),
    ((list, tuple), _another_list),
    (set, _another_set),
    (dict, _another_dict),
)
