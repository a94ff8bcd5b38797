"""Comparisons that are asked again: nothing is equal to two values that differ."""

import builtins
import inspect
import math
import operator
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePosixPath
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import TestCase
from unittest.mock import ANY

import plainvalues
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.tiers.fast import asking
from verifier_ladder.tiers.fast.asking import AMONG, NEAR, SAME, Names

NAMES = Names("ask", "told", "one", "two", "bound", "call")
BOTH, LEFT = 3, 1


def equal(one: Any, two: Any, _: Any) -> Any:
    return one == two


def near(one: Any, two: Any, most: Any) -> Any:
    return abs(one - two) < most


def among(one: Any, two: Any, _: Any) -> Any:
    return one in two


class Asked:
    """One site, asked in a test or in a canary."""

    def __init__(self, *, false: Iterable[int] = (), seed: int = 0) -> None:
        space: dict[str, Any] = {"_own": vars(builtins)}
        source = asking.tools(NAMES, 1, false, Random(seed), late=bool(seed % 2))  # noqa: S311
        exec(source, space)  # noqa: S102 - our own
        self._ask, self.told = space["ask"], space["told"]

    def __call__(
        self, check: Callable[..., Any], one: Any, two: Any, *, own: int | None = 1,
        asked: int = BOTH, bound: Any = None, wanted: bool | None = True,
    ) -> Any:  # fmt: skip
        how = {near: NEAR, among: AMONG}.get(check, SAME)
        return self._ask(0, check, how, one, two, bound, own, asked, wanted)


class Same:
    def __eq__(self, other: object) -> bool:
        return True

    def __sub__(self, other: Any) -> float:
        return 0.0

    __rsub__ = __sub__
    __hash__ = None  # type: ignore[assignment]


class Listed(list[Any]):
    __eq__ = Same.__eq__
    __hash__ = None


class Lies(type):
    __eq__ = Same.__eq__
    __hash__ = type.__hash__


class Lying(metaclass=Lies):
    pass


class Pair(NamedTuple):
    low: Any
    high: Any


class OfOneType:
    """It is equal to all values of one type."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def __eq__(self, other: object) -> bool:
        return type(other) is self._kind

    __hash__ = None  # type: ignore[assignment]


class OfTheFirst:
    """It is equal to the first value that it is compared with."""

    def __eq__(self, other: object) -> bool:
        self.first = vars(self).get("first", other)
        return bool(self.first == other)

    __hash__ = None  # type: ignore[assignment]


class OfAnyCase(str):
    """It is equal to texts that differ by their case."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    __hash__ = None  # type: ignore[assignment]


class Side(Enum):
    LEFT, RIGHT = "left", "right"


@dataclass
class Held:
    value: Any


class Strict:
    """It can be compared with its own kind alone."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return bool(self.n == other.n)  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


def circle() -> list[Any]:
    held: list[Any] = [Held(1)]
    held.append(held)
    return held


LIES: dict[str, tuple[Any, Any]] = {
    "a value": (Same(), 9),
    "the last of a list": ([1, 2, Same()], [1, 2, 3]),
    "deep inside": ({"a": (1, [Same()])}, {"a": (1, [2])}),
    "a list of a class of its own": (Listed(), [1, 2]),
    "an attribute": (Held(Same()), Held(9)),
    "an attribute that any object has": (SimpleNamespace(n=Same()), SimpleNamespace(n=9)),
    "a field": (Pair(1, Same()), (1, 2)),
    "beside a wildcard": ([Same(), 1], [9, ANY]),
    "a class": (Lying, 9),
}  # fmt: skip
HONEST: dict[str, tuple[Any, Any]] = {
    "numbers": (9, 9),
    "a fraction": (Fraction(1, 2), 0.5),
    "a decimal number": ([Decimal(9)], [9]),
    "an object": (Strict(9), Strict(9)),
    "counts": (Counter("aab"), {"a": 2, "b": 1}),
    "a dict with an order": (OrderedDict(a=[Fraction(1)]), {"a": [1]}),
    "a wildcard of the test": ([9, 1], [9, ANY]),
    "the same object": (one := Same(), one),
    "a circle": (circle(), circle()),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("one", "two"), LIES.values(), ids=LIES)
def test_what_is_equal_to_two_values_is_told_wherever_it_is(one: Any, two: Any, seed: int) -> None:
    asked = Asked(seed=seed)

    asked(equal, one, two, asked=LEFT)

    assert "3" == asked.told()


@pytest.mark.parametrize(("one", "two"), HONEST.values(), ids=HONEST)
def test_what_is_equal_to_one_value_is_not(one: Any, two: Any) -> None:
    asked = Asked()
    try:
        is_equal = asked(equal, one, two, asked=LEFT)
    except RecursionError:  # So is the comparison of circles.
        is_equal = False

    assert ("1" if is_equal else "2") == asked.told()


@pytest.mark.parametrize(
    "value",
    [
        9, 0.75, "abc", b"abc", [1, 2], (1,), {1, 2}, frozenset("ab"), {1: 2}, Fraction(1, 2),
        Decimal("0.5"), date(2024, 2, 29), timedelta(1), deque([1]), Counter("aab"),
        OrderedDict(a=1), range(6), PurePosixPath("a"), Pair(1, 2), Side.LEFT,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_equal_to_all_values_of_one_type_is_told(value: Any) -> None:
    asked = Asked()

    assert asked(equal, OfOneType(type(value)), value)
    assert "3" == asked.told()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_equal_to_the_first_value_that_it_meets_fails_before_long(seed: int) -> None:
    asked = Asked(seed=seed)

    assert not all(asked(equal, OfTheFirst(), 9) for _ in range(64))


@given(st.text(alphabet="abAB", max_size=3), st.integers(0, 99))
def test_texts_whose_case_does_not_matter_are_equal_to_one(value: str, seed: int) -> None:
    asked = Asked(seed=seed)

    assert asked(equal, OfAnyCase(value), value)
    assert "1" == asked.told()


def test_no_program_keeps_comparisons_from_being_asked_by_a_shallow_stack() -> None:
    asked, most = Asked(), sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 20)
    try:
        assert asked(equal, nested(Same()), nested(9))
        assert "3" == asked.told()
    finally:
        sys.setrecursionlimit(most)


def nested(value: Any) -> Any:
    for _ in range(9):
        value = [value]
    return value


@given(plainvalues.VALUES)
def test_no_plain_value_is_equal_to_two(value: Any) -> None:
    asked = Asked()

    assert asked(equal, value, value) is (value == value)  # noqa: PLR0124 - nan is not
    assert "3" != asked.told()


def test_the_side_of_the_answer_may_be_the_right_one() -> None:
    asked = Asked()

    assert asked(equal, 9, Same(), own=0)
    assert "3" == asked.told()


def test_members_and_what_is_near_are_asked_too() -> None:
    for check, one, two in (
        (among, Same(), [9, 4]), (among, 9, [Same()]), (among, Same(), {"a": 9}.values()),
        (among, Same(), range(3)), (near, Same(), 9), (near, 9, Same()),
    ):  # fmt: skip
        asked = Asked()
        own = 0 if isinstance(one, int) else 1
        assert asked(check, one, two, own=own, bound=0.1)
        assert "3" == asked.told(), (check, one, two)


def test_members_and_what_is_near_are_believed_if_they_are_right() -> None:
    for check, one, two in (
        (among, Fraction(9), [9, 19]), (among, 9, [9, Fraction(19)]), (among, "a", "abc"),
        (near, Fraction(9), 9), (near, Decimal(9), Decimal(9)),
    ):  # fmt: skip
        asked = Asked()
        assert asked(check, one, two, bound=1)
        assert "1" == asked.told(), (check, one, two)


def test_a_site_has_held_if_it_has_never_failed() -> None:
    asked = Asked()
    assert "0" == asked.told()

    assert asked(equal, 9, 9)
    assert "1" == asked.told()

    assert not asked(equal, 9, 8)
    assert "2" == asked.told()


def test_a_call_that_raises_unless_values_are_equal_holds_if_it_does_not() -> None:
    method = TestCase().assertEqual
    right, wrong = Asked(), Asked()

    right(lambda one, two, _: method(one, two), 9, 9, wanted=None)
    with pytest.raises(AssertionError):
        wrong(lambda one, two, _: method(one, two), 9, 8, wanted=None)

    assert ("1", "2") == (right.told(), wrong.told())


# ---- False in a canary


@given(plainvalues.VALUES, st.sampled_from([0, 1, None]))
def test_in_a_canary_equal_values_differ(value: Any, own: int | None) -> None:
    assert not Asked(false=[0])(equal, value, value, own=own)


@given(st.lists(st.integers(0, 9) | st.booleans(), min_size=1))
def test_in_a_canary_no_member_is_one(values: list[Any]) -> None:
    for held in (values, tuple(values), set(values), dict.fromkeys(values)):
        assert not Asked(false=[0])(among, values[0], held)


@given(st.floats(allow_nan=False), st.floats(0, 1e6), st.integers(0, 9))
def test_in_a_canary_no_number_is_near(value: float, bound: float, seed: int) -> None:
    assert not Asked(false=[0], seed=seed)(near, value, value, bound=bound)


@given(st.floats(allow_nan=False), st.integers(0, 9))
def test_a_distant_number_is_close_to_none_that_was_close(value: float, seed: int) -> None:
    other = asking.distant(value, 0.1, Random(seed))  # noqa: S311

    assert not math.isclose(value, other, rel_tol=0.1, abs_tol=0.1)
    assert not abs(value - other) < 0.1


@pytest.mark.parametrize("check", [equal, near, among, operator.ne])
def test_values_that_cannot_be_compared_with_another_one_are_not_equal(check: Any) -> None:
    wanted = check is not operator.ne
    taken = (lambda one, two, _: one != two) if check is operator.ne else check

    said = Asked(false=[0])(taken, Strict(9), Strict(9), bound=1, wanted=wanted)

    assert said is not wanted


def test_a_call_that_cannot_compare_another_value_fails_by_an_assertion() -> None:
    with pytest.raises(AssertionError):
        Asked(false=[0])(lambda one, two, _: one.n == two.n, Strict(9), Strict(9), wanted=None)


def test_of_two_values_the_plain_one_is_changed_or_the_tests_own() -> None:
    odd = object()

    for pair, own, kept in (((9, odd), None, 1), ((odd, 9), None, 0), ((9, odd), 1, 0)):
        met: list[Any] = []
        Asked(false=[0])(lambda *given, met=met: met.extend(given), *pair, own=own, asked=0)
        assert met[kept] is pair[kept]
        assert met[1 - kept] != pair[1 - kept]
