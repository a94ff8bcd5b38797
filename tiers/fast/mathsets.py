"""Sets of real numbers: intervals, unions and inequalities of one unknown, as segments."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from verifier_ladder.tiers.fast.mathnumbers import (
    EXPRESSIONS,
    Evaluator,
    Number,
    TooLargeError,
    UndefinedError,
    names,
)
from verifier_ladder.tiers.fast.mathtext import Tree

_INFINITY = "infinity"
_MOST_PARTS = 40
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


class NotSolvedError(ValueError):
    """A tree that is no set of real numbers that can be written down."""


class Segment(NamedTuple):
    """A part of the real line; an end is a number, or the word for infinity."""

    low: Any
    high: Any
    low_in: bool = False
    high_in: bool = False


_ALL = Segment("-" + _INFINITY, _INFINITY)
_INFINITE: Tree = ("const", "inf")
_MINUS_INFINITE: Tree = ("neg", _INFINITE)


def _below(value: Number, *, is_in: bool) -> Segment:
    return Segment("-" + _INFINITY, value, high_in=is_in)


def _above(value: Number, *, is_in: bool) -> Segment:
    return Segment(value, _INFINITY, low_in=is_in)


def difference(left: Tree, right: Tree) -> Tree:
    """The left side of a relation minus its right side."""
    return ("add", left, ("neg", right))


def _is_bent(tree: Any) -> bool:
    """Whether few points tell no straight line: an unknown in a function, or a sign left open."""
    if not isinstance(tree, tuple) or not tree:
        return False
    return tree[0] == "pm" or (tree[0] == "call" and bool(names(tree))) or any(map(_is_bent, tree))


class RealLine:
    r"""Reads trees as sets of real numbers, and compares those.

    Example:
        >>> from verifier_ladder.tiers.fast.mathtext import read
        >>> one, other = read("x > 2"), read(r"(2, \infty)")
        >>> line = RealLine(Evaluator())
        >>> line.same(line.segments(one), line.segments(other))
        True
    """

    def __init__(self, evaluator: Evaluator) -> None:
        """Compute ends by an evaluator."""
        self._evaluator = evaluator

    def segments(self, tree: Tree) -> list[Segment]:
        """The parts of a set, in order, none of which touch.

        Raises:
            NotSolvedError: If the tree is no such set.
            UndefinedError: If an end has no value.
            TooLargeError: If there are too many parts.
        """
        return self._merged(self._segments(tree))

    def same(self, one: list[Segment], other: list[Segment]) -> bool:
        """Whether two sets have the same members."""
        return len(one) == len(other) and all(
            self._ends(a.low, b.low) and self._ends(a.high, b.high) and a[2:] == b[2:]
            for a, b in zip(one, other, strict=True)
        )

    def _ends(self, a: Any, b: Any) -> bool:
        if isinstance(a, str) or isinstance(b, str):
            return bool(a == b) if isinstance(a, str) and isinstance(b, str) else False
        return self._evaluator.same(a, b)

    def _segments(self, tree: Tree) -> list[Segment]:  # noqa: PLR0911 - one for each kind
        """The real numbers that a tree means.

        Raises:
            NotSolvedError: If it is no set of real numbers that can be written down.
        """
        kind = tree[0]
        if kind == "reals":
            return [_ALL]
        if kind == "empty":
            return []
        if kind == "set":
            values = [self._real(part) for part in tree[1:]]
            return [Segment(value, value, low_in=True, high_in=True) for value in values]
        if kind == "pair":
            return [self._interval(tree)]
        if kind == "union":
            return self._segments(tree[1]) + self._segments(tree[2])
        if kind in {"meet", "without"}:
            return self._cut(tree)
        if kind == "rel":
            return self._solved(tree)
        if kind == "list" and len(names(tree)) == 1 and all(part[0] == "rel" for part in tree[2:]):
            return self._listed(tree)
        raise NotSolvedError

    def _listed(self, tree: Tree) -> list[Segment]:
        r"""Inequalities joined by `and`, `or` or a comma.

        A comma joins the parts of a set, as in `x < 1, x > 3`, unless that were all numbers: those
        of `x > 0, x < 2` or `x > 0, x \ne 1` hold together.
        """
        parts = [self._segments(part) for part in tree[2:]]
        either = [one for part in parts for one in part]
        is_all = tree[1] == "," and self._merged(either) == [_ALL]
        return self._meeting(parts) if is_all or tree[1] == "and" else either

    def _real(self, tree: Tree) -> Number:
        if tree[0] not in EXPRESSIONS or names(tree) or _is_bent(tree):
            raise NotSolvedError
        value = self._evaluator.value(tree)
        if not self._evaluator.is_real(value):
            raise NotSolvedError
        return value

    def _end(self, tree: Tree) -> Any:
        if tree == _INFINITE:
            return _INFINITY
        if tree == _MINUS_INFINITE:
            return "-" + _INFINITY
        return self._real(tree)

    def _interval(self, tree: Tree) -> Segment:
        _, left, right, (low, high) = tree
        a, b = self._end(low), self._end(high)
        if (isinstance(a, str) and left == "[") or (isinstance(b, str) and right == "]"):
            raise UndefinedError("infinity belongs to no interval")
        return Segment(a, b, left == "[", right == "]")

    def _solved(self, tree: Tree) -> list[Segment]:
        """An inequality of one unknown, or a chain of them, as an interval."""
        if tree[1] == ("in",):
            return self._segments(tree[3])
        if tree[1] == ("!=",):
            value = self._solution(tree[2], tree[3])[0]
            return [_below(value, is_in=False),
                    _above(value, is_in=False)]  # fmt: skip
        parts = [
            [self._half_line(left, operator, right)]
            for left, operator, right in zip(tree[2:], tree[1], tree[3:], strict=False)
        ]
        return self._meeting(parts)

    def _half_line(self, left: Tree, operator: str, right: Tree) -> Segment:
        low, high = (left, right) if operator == "<" else (right, left)
        is_no_bound = low == _MINUS_INFINITE or high == _INFINITE
        if is_no_bound and operator in {"<", ">"} and len(names((left, right))) == 1:
            return _ALL
        if operator not in {"<", ">", "<=", ">="}:
            raise NotSolvedError
        value, is_turned = self._solution(left, right)
        operator = FLIPPED[operator] if is_turned else operator
        closed = len(operator) > 1
        if operator[0] == "<":
            return _below(value, is_in=closed)
        return _above(value, is_in=closed)

    def _solution(self, left: Tree, right: Tree) -> tuple[Number, bool]:
        """Where two sides are equal, and whether their difference falls there."""
        side = difference(left, right)
        unknown = names(side)
        if len(unknown) != 1 or any(part[0] not in EXPRESSIONS for part in (left, right)):
            raise NotSolvedError
        if _is_bent(side):
            raise NotSolvedError
        (name,) = unknown
        at = [self._evaluator.value(side, {name: Fraction(x)}) for x in (0, 1, 2, -5)]
        real = self._evaluator.real
        exact = all(isinstance(v, Fraction) for v in at)
        a0, a1, a2, a5 = at if exact else map(real, at)
        slope = a1 - a0
        straight = self._evaluator.same(a2, a0 + 2 * slope) and self._evaluator.same(
            a5, a0 - 5 * slope
        )
        if not straight or self._evaluator.is_zero(slope) or not self._evaluator.is_real(slope):
            raise NotSolvedError
        return -a0 / slope, self._evaluator.less(slope, Fraction(0))

    def _cut(self, tree: Tree) -> list[Segment]:
        first, second = self._segments(tree[1]), self._segments(tree[2])
        if tree[0] == "without":
            second = self._complement(self._merged(second))
        return self._meeting([first, second])

    def _complement(self, merged: list[Segment]) -> list[Segment]:
        made, low, low_in = [], "-" + _INFINITY, False
        for part in merged:
            made.append(Segment(low, part.low, low_in, not part.low_in))
            low, low_in = part.high, not part.high_in
        made.append(Segment(low, _INFINITY, low_in=low_in))
        return [part for part in made if self._is_proper(part)]

    def _meeting(self, parts: list[list[Segment]]) -> list[Segment]:
        met = parts[0]
        for more in parts[1:]:
            met = [self._met(a, b) for a in met for b in more]
            met = [part for part in met if self._is_proper(part)]
            if len(met) > _MOST_PARTS:
                raise TooLargeError("the answer has too many parts")
        return met

    def _met(self, a: Segment, b: Segment) -> Segment:
        if self._before(a.low, b.low) or (self._ends(a.low, b.low) and not b.low_in):
            low, low_in = b.low, b.low_in
        else:
            low, low_in = a.low, a.low_in
        if self._before(b.high, a.high) or (self._ends(a.high, b.high) and not b.high_in):
            return Segment(low, b.high, low_in, b.high_in)
        return Segment(low, a.high, low_in, a.high_in)

    def _before(self, a: Any, b: Any) -> bool:
        if isinstance(a, str) or isinstance(b, str):
            return bool(a != b and (a == "-" + _INFINITY or b == _INFINITY))
        return self._evaluator.less(a, b)

    def _is_proper(self, part: Segment) -> bool:
        if self._before(part.low, part.high):
            return True
        is_point = part.low_in and part.high_in and not isinstance(part.low, str)
        return bool(is_point and self._ends(part.low, part.high))

    def _merged(self, parts: list[Segment]) -> list[Segment]:
        """In order, those that touch made one, those without members left out."""
        if len(parts) > _MOST_PARTS:
            raise TooLargeError("the answer has too many parts")
        left = [part for part in parts if self._is_proper(part)]
        made: list[Segment] = []
        while left:
            first = left[0]
            for part in left:
                if self._before(part.low, first.low) or (
                    self._ends(part.low, first.low) and part.low_in
                ):
                    first = part
            left.remove(first)
            if made and self._touches(made[-1], first):
                made[-1] = self._joined(made[-1], first)
            else:
                made.append(first)
        return made

    def _touches(self, a: Segment, b: Segment) -> bool:
        if self._ends(a.high, b.low):
            return a.high_in or b.low_in
        return self._before(b.low, a.high)

    def _joined(self, a: Segment, b: Segment) -> Segment:
        if self._before(a.high, b.high):
            return Segment(a.low, b.high, a.low_in, b.high_in)
        same = self._ends(a.high, b.high)
        return Segment(a.low, a.high, a.low_in, a.high_in or (same and b.high_in))
