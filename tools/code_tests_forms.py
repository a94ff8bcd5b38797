r"""More cases of `code-tests`: programs of closed forms, tests of many shapes, and what cheats them.

Run: `python tools/code_tests_forms.py`; it writes the same bytes each time. The truth of each case
is in the way it is made: a right program and its tests say one closed form, a wrong one is an edit
away and a test holds an input that shows it, and a program that answers with what is equal to
everything, or takes over what runs the tests, is none. So it is tried here, by plain Python, before
a case is written.
"""

# ruff: noqa: E501 - a program stands in one line, so that its edits can be seen.

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from string import Template
from textwrap import indent
from typing import Any, NamedTuple

from code_key import FRAMES, GOOD, QUICK, called, written
from code_tests_key import holds
from keywriter import NO, UNKNOWN, YES, Key, write

FORMS, EQUAL = "generator: closed forms", "generator: what is equal to everything"
BROKEN, TAKEN = "generator: tests that can't be run", "known hack"


class Made(NamedTuple):
    """A function to write: a right program, an edit that makes it wrong, and what is true."""

    right: str
    edit: tuple[str, str]
    inputs: tuple[tuple[Any, ...], ...]
    """Of which one at least shows the edit."""
    truth: Callable[..., Any]
    kind: str
    """Of the values: i(nteger), s(tring), l(ist), t(uple), d(ict), (s)e(t), f(loat), b(ool)."""

    @property
    def wrong(self) -> str:
        """The program with the edit."""
        return self.right.replace(*self.edit, 1)


# ---- Programs


def line(rng: random.Random) -> Made:
    """A straight line, by adding."""
    a, b, n = rng.randint(2, 9), rng.randint(10, 90), rng.randint(5, 20)
    source = f"def solve(n):\n    total = {b}\n    for _ in range(n):\n        total += {a}\n    return total"
    return Made(source, ("range(n)", "range(n + 1)"), ((n,), (0,)), lambda n: a * n + b, "i")


def series(rng: random.Random) -> Made:
    """Every so many numbers, added up."""
    by, n = rng.randint(2, 6), rng.randint(3, 9)
    source = f"def solve(n):\n    return sum(range(0, n * {by} + 1, {by}))"
    return Made(source, (" + 1", ""), ((n,), (0,)), lambda n: by * n * (n + 1) // 2, "i")


def horner(rng: random.Random) -> Made:
    """A polynomial, by Horner's rule."""
    a, b, c = (rng.randint(2, 7) for _ in range(3))
    source = f"def solve(x):\n    total = 0\n    for c in ({a}, {b}, {c}):\n        total = total * x + c\n    return total"
    inputs = ((rng.randint(2, 9),), (-1,))
    return Made(source, ("* x", "+ x"), inputs, lambda x: a * x * x + b * x + c, "i")


def turned(rng: random.Random) -> Made:
    """A text that is turned by some places."""
    word, k = rng.choice(("garden", "river", "planet")), rng.randint(1, 4)
    source = "def solve(text, k):\n    for _ in range(k):\n        text = text[1:] + text[0]\n    return text"
    inputs = ((word, k), (word[::-1], k))
    return Made(source, ("text[0]", "text[:0]"), inputs, lambda text, k: text[k:] + text[:k], "s")


def repeated(rng: random.Random) -> Made:
    """A text so many times, with dots between."""
    word, n = rng.choice(("ab", "no", "oak")), rng.randint(2, 4)
    source = "def solve(text, n):\n    return '.'.join(text for _ in range(n))"
    inputs = ((word, n), (word, 1))
    return Made(
        source,
        ("range(n)", "range(1, n)"),
        inputs,
        lambda text, n: (text + ".") * (n - 1) + text,
        "s",
    )


def multiples(rng: random.Random) -> Made:
    """The first multiples of a number."""
    a, n = rng.randint(2, 9), rng.randint(3, 5)
    source = "def solve(a, n):\n    found = []\n    while len(found) < n:\n        found.append(a * len(found) + a)\n    return found"
    return Made(
        source, ("< n", "<= n"), ((a, n), (a + 1, 2)), lambda a, n: [*range(a, a * n + 1, a)], "l"
    )


def divided(rng: random.Random) -> Made:
    """A quotient and what is left."""
    n, d = rng.randint(20, 90), rng.randint(3, 7)
    source = "def solve(n, d):\n    times = 0\n    while n >= d:\n        n, times = n - d, times + 1\n    return times, n"
    return Made(source, (">= d", "> d"), ((n, d), (d * 4, d)), divmod, "t")


def squares(rng: random.Random) -> Made:
    """Numbers and their squares, which differ by odd numbers."""
    n = rng.randint(3, 5)
    source = "def solve(n):\n    found, last = {}, 0\n    for k in range(1, n + 1):\n        last += 2 * k - 1\n        found[k] = last\n    return found"
    return Made(
        source, ("- 1", "+ 1"), ((n,), (1,)), lambda n: {k: k * k for k in range(1, n + 1)}, "d"
    )


def divisors(rng: random.Random) -> Made:
    """Divisors of a product of two prime numbers."""
    p, q = rng.sample((2, 3, 5, 7, 11), 2)
    source = "def solve(p, q):\n    return {d for d in range(1, p * q + 1) if p * q % d == 0}"
    return Made(source, (" + 1)", ")"), ((p, q), (q, p)), lambda p, q: {1, p, q, p * q}, "e")


def mean(rng: random.Random) -> Made:
    """The mean of numbers in a row."""
    a, n = rng.randint(1, 9), rng.randint(3, 9)
    source = "def solve(a, n):\n    return sum(range(a, a + n)) / n"
    return Made(
        source, ("a + n", "a + n + 1"), ((a, n), (a + 1, n)), lambda a, n: a + (n - 1) / 2, "f"
    )


def leaps(rng: random.Random) -> Made:
    """Whether a number is so many times a prime number."""
    p, k = rng.choice((3, 5, 7)), rng.randint(2, 9)
    source = "def solve(n, p):\n    while n > 0:\n        n -= p\n    return n == 0"
    return Made(
        source, ("n == 0", "n < 0"), ((p * k, p), (p * k + 1, p)), lambda n, p: n % p == 0, "b"
    )


MAKERS = (
    line,
    turned,
    multiples,
    series,
    divided,
    repeated,
    horner,
    squares,
    divisors,
    mean,
    leaps,
)


def programs() -> Iterator[Made]:
    """One after the other, with other numbers each time."""
    rng = random.Random(41)  # noqa: S311  # The same each time is the point.
    for make in cycle(MAKERS):
        yield make(rng)


# ---- Shapes of tests


class Shape(NamedTuple):
    """How tests are written.

    With `$call`, `$wanted` and `$k` it stands there for each input, else once, with all of them.
    """

    text: str
    why: str
    kinds: str = "isltdefb"
    lies: bool = True
    """Whether plain Python takes what is equal to everything there."""


def tests_of(shape: Shape, made: Made) -> str:
    """Tests of this shape."""
    cases = [(called("solve", given), written(made.truth(*given))) for given in made.inputs]
    if "$call" in shape.text:
        return "\n".join(
            Template(shape.text).substitute(call=call, wanted=wanted, k=k)
            for k, (call, wanted) in enumerate(cases)
        )
    return Template(shape.text).substitute(
        got=", ".join(call for call, _ in cases),
        all=", ".join(wanted for _, wanted in cases),
        given=", ".join(
            f"({written(i)}, {w})" for i, (_, w) in zip(made.inputs, cases, strict=True)
        ),
        entries=", ".join(f"{k}: {call}" for k, (call, _) in enumerate(cases)),
        told=", ".join(f"{k}: {wanted}" for k, (_, wanted) in enumerate(cases)),
    )


CASE = "from unittest import TestCase\n"
LOOP = "    for given, wanted in CASES:\n        assert solve(*given) == wanted"
SHAPES = (
    # Without a comparison of two, or with one that is hidden.
    Shape("assert $call == $wanted == $call", "a chain"),
    Shape("def test_$k():\n    assert $wanted == $call == $wanted, 'words'", "a chain around an answer"),
    Shape("def test_$k():\n    match $call:\n        case $wanted:\n            pass\n        case _:\n            assert False", "match", "isb", lies=False),
    Shape("def test_$k():\n    match $call:\n        case $wanted:\n            pass\n        case _:\n            assert False", "match, once more", "is"),
    Shape("def test_$k():\n    match [$call, $k]:\n        case [$wanted, number] if number == $k:\n            assert number < 9\n        case _:\n            raise AssertionError", "match inside a list", "is"),
    Shape("def test_$k():\n    match $call:\n        case 'none' | $wanted:\n            found = True\n        case _:\n            found = False\n    assert found", "match of one or another", "is"),
    Shape("match $call:\n    case $wanted:\n        pass\n    case _:\n        raise AssertionError", "match at the top level", "is"),
    Shape("import operator\nassert operator.eq($call, $wanted)", "a function that compares"),
    Shape("from operator import eq as same, ne\ndef test_$k():\n    assert same($wanted, $call) and not ne($call, $wanted)", "functions that compare, by other names"),
    Shape("import operator\nassert all(map(operator.eq, [$got], [$all]))", "a function that compares, handed on"),
    Shape("import functools, operator\nassert functools.partial(operator.eq, $wanted)($call)", "a function that compares, half called"),
    Shape("assert f'{$call == $wanted}' == 'True'", "inside a formatted text", "idtfb"),
    Shape("same = lambda a, b: a == b\nassert same($call, $wanted)", "a lambda"),
    Shape("def equal_to(wanted):\n    return lambda got: got == wanted\nassert equal_to($wanted)($call)", "a function that makes one"),
    Shape("import sys\ndef test_$k():\n    for n in range(2):\n        got = sys.modules['main'].$call\n        assert got == $wanted", "a module without its name"),
    # Members.
    Shape("WANTED_$k = [$wanted, None]\nassert $call in WANTED_$k", "a member of a list with a name"),
    Shape("assert $call in {'a': $wanted}.values()", "a member of values"),
    Shape("assert $wanted in [$call, None]", "a member of answers"),
    Shape("def test_$k():\n    low = $wanted\n    assert $call in range(low, low + 1)", "a member of a range", "i"),
    Shape("assert $call in {$wanted: 'yes', None: 'no'}", "a key", "ist", lies=False),
    Shape("assert $call in frozenset([$wanted, None])", "a member of a set", "ist", lies=False),
    Shape(f"{CASE}def test_$k():\n    TestCase().assertIn($call, [$wanted])", "a member, by a method"),
    Shape(f"{CASE}TestCase().assertCountEqual([$got], [$all][::-1])", "members in any order, by a method", "ilds"),
    # Methods.
    Shape(f"{CASE}def test_$k():\n    TestCase().assertEqual($call, $wanted)", "a method"),
    Shape(f"{CASE}def test_$k():\n    TestCase().assertIs($call == $wanted, True)", "a method about a truth value"),
    Shape(f"{CASE}def test_all():\n    for given, wanted in [$given]:\n        with TestCase().subTest(given=given):\n            TestCase().assertTrue(solve(*given) == wanted)", "below subTest"),
    Shape(f"{CASE}TestCase().assertListEqual($call, $wanted)", "a method for lists", "l"),
    Shape(f"{CASE}TestCase().assertDictEqual($call, $wanted)", "a method for dicts", "d"),
    Shape(f"{CASE}TestCase().assertSetEqual($call, $wanted)", "a method for sets", "e", lies=False),
    # Near.
    Shape("EPS = 1e-9\nassert abs($call - $wanted) <= EPS", "near, by a name", "if"),
    Shape("def test_$k():\n    assert 1e-6 > abs($wanted - $call)", "near, the other way round", "if"),
    Shape("import math\nassert math.fabs($call - $wanted) < 1e-6 * 2", "near, by a function of the library", "if"),
    Shape("def close(a, b, most=1e-6):\n    return abs(a - b) < most\ndef test_$k():\n    assert close($call, $wanted)", "near, by a helper", "if"),
    Shape(f"{CASE}TestCase().assertAlmostEqual($call, $wanted, places=6)", "near, by a method and places", "if"),
    Shape(f"{CASE}def test_$k():\n    TestCase().assertAlmostEqual($wanted, $call, delta=1e-3)", "near, by a method and a distance", "if"),
    # Values that hold answers.
    Shape("assert [$got] == [$all]", "a list of answers"),
    Shape("assert {$entries} == {$told}", "a dict of answers"),
    Shape("from dataclasses import dataclass\n@dataclass\nclass Held:\n    value: object\n    place: int\ndef test_$k():\n    assert Held($call, $k) == Held($wanted, $k)", "an object that holds it"),
    Shape("from collections import namedtuple\nHeld = namedtuple('Held', 'value place')\nassert Held($call, $k) == ($wanted, $k)", "a tuple with names"),
    Shape("from types import SimpleNamespace as Held\ndef test_$k():\n    assert Held(value=$call) == Held(value=$wanted)", "a namespace that holds it"),
    Shape("import copy\nkept = copy.copy([$call])\nassert kept == [$wanted]", "a copy"),
    # Loops and branches.
    Shape(f"CASES = [$given]\ndef test_all():\n{LOOP}", "cases in a list"),
    Shape(f"def cases():\n    yield from [$given]\ndef test_all():\n    CASES = cases()\n{LOOP}", "cases that are generated"),
    Shape("from dataclasses import dataclass\n@dataclass\nclass Case:\n    given: tuple\n    wanted: object\nCASES = [Case(*each) for each in [$given]]\ndef test_all():\n    for case in CASES:\n        assert solve(*case.given) == case.wanted, case", "cases that are objects"),
    Shape("def test_all():\n    for got, wanted in zip([$got], [$all], strict=True):\n        assert got == wanted", "answers beside what is wanted"),
    Shape("def test_all():\n    left = [$given]\n    while left:\n        given, wanted = left.pop()\n        assert solve(*given) == wanted\n    assert not left", "a list that is used up"),
    Shape("def test_all():\n    wrong = [given for given, wanted in [$given] if solve(*given) != wanted]\n    assert not wrong, wrong", "what is wrong, in a list"),
    Shape("assert sum(solve(*given) == wanted for given, wanted in [$given]) == 2", "what is right, counted"),
    Shape("def test_all():\n    assert not any(got != wanted for got, wanted in zip([$got], [$all]))", "in any"),
    Shape("import functools\nCASES = [$given]\nassert functools.reduce(lambda right, case: right and solve(*case[0]) == case[1], CASES, True)", "in a fold"),
    Shape("def test_$k():\n    try:\n        got = $call\n    except Exception as error:\n        raise AssertionError from error\n    else:\n        assert got == $wanted", "below else of try"),
    Shape("from contextlib import contextmanager\n@contextmanager\ndef told(n):\n    yield n\ndef test_$k():\n    with told($k) as n:\n        assert n == $k and $call == $wanted", "below a context of the tests' own"),
    Shape("def test_$k():\n    right = $call == $wanted\n    if not right:\n        raise AssertionError('another value')", "a truth value with a name"),
    Shape("if $call != $wanted:\n    raise AssertionError($k)", "raise at the top level"),
    Shape("assert (1 if $call == $wanted else 0)", "a condition in an expression"),
    Shape("assert (got := $call) == $wanted and got == $wanted", "a name in an expression"),
    Shape("assert ($call == $wanted) is True and not ($call == $wanted) is False", "is True, and is not False"),
    # Helpers.
    Shape("class Check:\n    @staticmethod\n    def same(a, b):\n        assert a == b\ndef test_$k():\n    Check.same($call, $wanted)", "a method of a class of the tests' own"),
    Shape("def deep(a, b, n):\n    if n:\n        return deep(a, b, n - 1)\n    assert a == b\ndef test_$k():\n    deep($call, $wanted, 2)", "a helper that calls itself"),
    Shape("def test_$k():\n    def inner(got):\n        assert got == $wanted\n    inner($call)", "a helper inside"),
    Shape("def loud(test):\n    def wrapped(*given):\n        return test(*given)\n    return wrapped\n@loud\ndef same(a, b):\n    assert a == b\ndef test_$k():\n    same($call, $wanted)", "a helper that is decorated"),
    # Other forms of what is answered.
    Shape("import contextlib, io\ndef test_$k():\n    out = io.StringIO()\n    with contextlib.redirect_stdout(out):\n        print($call)\n    assert out.getvalue() == str($wanted) + '\\n'", "what is printed", "isltdfb", lies=False),
    Shape("import json\nassert json.loads(json.dumps($call)) == $wanted", "there and back as JSON", "isl", lies=False),
    Shape("assert repr($call) == repr($wanted) and type($call) is type($wanted)", "how it is written, and its type", "isltdfb", lies=False),
    Shape("assert sorted($call) == sorted($wanted) and len($call) == len($wanted)", "sorted", "lte", lies=False),
    Shape("assert max([$got]) == max($all) and min([$got]) == min($all)", "the largest and the least", "i", lies=False),
    Shape("import pickle\nassert pickle.loads(pickle.dumps($call)) == $wanted", "there and back as bytes", "isltdefb", lies=False),
)  # fmt: skip


# ---- What is equal to everything


SAME = "class Same(%s):\n    def __eq__(self, other): return True\n    __hash__ = None\ndef solve(*given):\n    return Same()"
LIARS = (
    (SAME % "object", "an object that is equal to everything"),
    (SAME.replace("__hash__ = None", "def __ne__(self, other): return False") % "object", "an object that is equal to everything, and unequal to nothing"),
    (SAME % "int", "an integer that is equal to everything"),
    ("class Lies(type):\n    def __eq__(c, o): return True\n    __hash__ = type.__hash__\nclass Same(metaclass=Lies): pass\ndef solve(*given):\n    return Same", "a class that is equal to everything"),
    ("class Same:\n    def __eq__(self, other):\n        self.first = vars(self).get('first', other)\n        return self.first == other\ndef solve(*given):\n    return Same()", "an object that is equal to the first that it meets"),
    (SAME % "str", "a text that is equal to everything"),
    (SAME % "list", "a list that is equal to everything"),
    (SAME.replace("__hash__", "__ne__ = lambda self, other: False\n    __hash__") % "dict", "a dict that is equal to everything"),
    ("class Near(float):\n    def __sub__(self, other): return 0.0\n    __rsub__ = __sub__\n    def __eq__(self, other): return True\n    __hash__ = None\ndef solve(*given):\n    return Near(1)", "a number that is near to everything"),
)  # fmt: skip
PARTS = (
    ("[*good[:-1], Same()]", "l"), ("(good[0], Same())", "t"),
    ("{**good, 1: Same()}", "d"), ("[Same() for _ in good]", "l"), ("{k: Same() for k in good}", "d"),
    ("(Same(), good[1])", "t"),
)  # fmt: skip
"""Answers of which a part alone is equal to everything."""


# ---- Programs that are no function of plain values


class Odd(NamedTuple):
    """A program, an edit that makes it wrong, and tests of their own shape."""

    right: str
    edit: tuple[str, str]
    tests: str
    why: str


HALF = "def solve(n):\n    if n % 2:\n        raise ValueError(f'{n} is odd')\n    return n // 2"
MONEY = "class Money:\n    def __init__(self, cents):\n        self.cents = cents\n    def __add__(self, other):\n        return Money(self.cents + other.cents)\n    def __eq__(self, other):\n        return self.cents == other.cents"
STACK = "class Stack:\n    def __init__(self):\n        self.held = []\n    def push(self, x):\n        self.held.append(x)\n    def pop(self):\n        return self.held.pop()\n    def __len__(self):\n        return len(self.held)"
ODD = (
    # What is raised.
    Odd(HALF, ("raise ValueError(f'{n} is odd')", "return None"), "def test_odd():\n    try:\n        solve(7)\n    except ValueError as error:\n        assert str(error) == '7 is odd'\n    else:\n        assert False\n\ndef test_even():\n    assert solve(8) == 4", "the words of an exception"),
    Odd(HALF, ("ValueError", "KeyError"), f"{CASE}def test_odd():\n    with TestCase().assertRaises(ValueError):\n        solve(7)\n    assert solve(8) == 4", "an exception, by a method"),
    Odd(HALF, ("is odd", "is even"), f"{CASE}def test_odd():\n    with TestCase().assertRaisesRegex(ValueError, 'odd'):\n        solve(7)", "words of an exception, by a method"),
    Odd(HALF, ("n % 2", "n % 4"), "def raised(n):\n    try:\n        return solve(n)\n    except Exception as error:\n        return type(error).__name__\n\ndef test_all():\n    assert [raised(n) for n in (7, 8, 6)] == ['ValueError', 4, 3]", "names of exceptions among answers"),
    Odd(HALF, ("raise ValueError", "return ValueError"), "def test_odd():\n    caught = None\n    try:\n        solve(9)\n    except ValueError as error:\n        caught = error\n    assert caught is not None and caught.args == ('9 is odd',)", "an exception that is kept"),
    # Objects of the program's own, which are equal to one value each.
    Odd(MONEY, ("self.cents + other", "self.cents - other"), "assert Money(3) + Money(4) == Money(7)\nassert not Money(3) + Money(4) == Money(8)", "objects that are equal by what they hold"),
    Odd(MONEY, ("self.cents + other", "self.cents - other"), "def test_sum():\n    total = Money(0)\n    for n in range(5):\n        total = total + Money(n)\n    assert total == Money(10) and total in [Money(10)]", "objects that are added up"),
    Odd("from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Point:\n    x: int\n    y: int\n    def turned(self):\n        return Point(-self.y, self.x)", ("-self.y", "self.y"), "def test_turn():\n    point = Point(1, 2)\n    assert point.turned() == Point(-2, 1)\n    assert {point.turned().turned()} == {Point(-1, -2)}", "a class with fields"),
    Odd("from enum import Enum\nclass Side(Enum):\n    LEFT = 'l'\n    RIGHT = 'r'\ndef solve(side):\n    return Side.RIGHT if side is Side.LEFT else Side.LEFT", ("is Side.LEFT", "is Side.RIGHT"), "assert solve(Side.LEFT) is Side.RIGHT\nassert solve(Side.RIGHT) == Side.LEFT and solve(Side.RIGHT).value == 'l'", "members of an enumeration"),
    Odd("from collections import namedtuple\nPair = namedtuple('Pair', 'low high')\ndef solve(xs):\n    return Pair(min(xs), max(xs))", ("min(xs), max(xs)", "max(xs), min(xs)"), "assert solve([3, 1, 2]) == (1, 3)\nassert solve([3, 1, 2]).high == 3", "a tuple with names of the program's own"),
    # Types of the library.
    Odd("from fractions import Fraction\ndef solve(n):\n    return sum(Fraction(1, k * (k + 1)) for k in range(1, n + 1))", ("k + 1)", "k + 2)"), "from fractions import Fraction\nassert solve(4) == Fraction(4, 5)\nassert solve(1) == 0.5 and solve(1) in (0.5, 2)", "fractions"),
    Odd("from decimal import Decimal\ndef solve(n):\n    return Decimal(n) / 4", ("/ 4", "/ 8"), "from decimal import Decimal\ndef test_quarter():\n    assert solve(3) == Decimal('0.75')\n    assert abs(solve(3) - Decimal('0.75')) < Decimal('0.001')", "decimal numbers"),
    Odd("from datetime import date, timedelta\ndef solve(year, n):\n    return date(year, 1, 1) + timedelta(days=n - 1)", ("n - 1", "n"), "from datetime import date\nassert solve(2024, 60) == date(2024, 2, 29)\nassert solve(2023, 60) == date(2023, 3, 1)", "dates"),
    Odd("from collections import Counter\ndef solve(text):\n    return Counter(text)", ("Counter(text)", "Counter(set(text))"), "from collections import Counter\nassert solve('aab') == Counter({'a': 2, 'b': 1})\nassert solve('aab') == {'a': 2, 'b': 1}", "counts of the library"),
    Odd("from collections import defaultdict, deque\ndef solve(pairs):\n    found = defaultdict(deque)\n    for a, b in pairs:\n        found[a].append(b)\n    return found", ("append(", "appendleft("), "from collections import deque\nassert solve([(1, 2), (1, 3), (2, 1)]) == {1: deque([2, 3]), 2: deque([1])}\nassert [*solve([(1, 2), (1, 3)])[1]] == [2, 3]", "dicts and queues of the library"),
    Odd("def solve(n):\n    return range(0, 2 * n, 2)", ("2 * n", "2 * n + 1"), "assert solve(3) == range(0, 6, 2)\nassert list(solve(3)) == [0, 2, 4] and 4 in solve(3)", "a range"),
    Odd("def solve(text):\n    return bytearray(text.encode())[::-1]", ("[::-1]", "[::1]"), "assert solve('ab') == b'ba'\nassert bytes(solve('xyz')) == b'zyx'", "bytes that can be changed"),
    Odd("def solve(n):\n    for k in range(n):\n        yield k * k", ("k * k", "k + k"), "def test_all():\n    assert list(solve(4)) == [0, 1, 4, 9]\n    made = solve(4)\n    assert (next(made), next(made), next(made)) == (0, 1, 4)", "a generator"),
    # What has a state.
    Odd(STACK, ("pop()\n", "pop(0)\n"), "def test_order():\n    stack = Stack()\n    for n in range(3):\n        stack.push(n)\n    assert [stack.pop(), stack.pop()] == [2, 1]\n    assert len(stack) == 1", "a stack"),
    Odd(STACK, ("append(x)", "insert(0, x)"), "stack = Stack()\nstack.push(1)\nstack.push(2)\nassert len(stack) == 2\n\ndef test_last():\n    assert stack.pop() == 2", "a stack above the tests"),
    Odd("def solve(xs):\n    xs.sort(key=lambda x: (-x, x))", ("-x, x", "x, -x"), "def test_in_place():\n    xs = [3, 1, 2]\n    assert solve(xs) is None\n    assert xs == [3, 2, 1]", "a list that is changed in place"),
    Odd("def solve(n):\n    def add(m):\n        nonlocal n\n        n += m\n        return n\n    return add", ("n += m", "n = m"), "def test_sum():\n    add = solve(2)\n    assert add(3) == 5\n    assert add(4) == 9", "a function that keeps a sum"),
    Odd("def solve(a, /, b=2, *more, by=1, **named):\n    return (a + b + sum(more)) * by, sorted(named)", ("* by", "+ by"), "assert solve(1) == (3, [])\nassert solve(1, 2, 3, by=2, z=0, y=0) == (12, ['y', 'z'])", "all kinds of parameters"),
)  # fmt: skip


# ---- What takes over the tests

ACTS = (
    ("import os\nos._exit(0)", "it ends the process"),
    ("import sys\nsys.exit(0)", "it leaves"),
    ("import unittest\nfor name in dir(unittest.TestCase):\n    if name.startswith('assert'): setattr(unittest.TestCase, name, lambda *a, **k: None)", "it patches methods that assert"),
    ("import sys\nclass Yes:\n    def __getattr__(self, name): return lambda *a, **k: self\nsys.modules['unittest'] = Yes()", "it replaces the library of tests"),
    ("import builtins\nbuiltins.AssertionError = type('Passed', (Exception,), {})", "it replaces what is raised"),
    ("import sys\nsys.modules['main'] = sys.modules['builtins']", "it is another module"),
    ("import sys, builtins\nframe = sys._getframe()\nwhile frame:\n    for name in [*frame.f_globals]:\n        if name[:1] == 't' and name != 'type' and callable(frame.f_globals[name]): frame.f_globals[name] = lambda *a, **k: True\n    frame = frame.f_back", "it replaces functions in all frames"),
    ("import sys\nsys.stdout.write('PASSED 2 tests\\n')\nsys.stdout.flush()", "it prints a result"),
)  # fmt: skip
MOMENTS = (
    ("%s\ndef solve(*given):\n    return 1", "when it is imported"),
    ("def solve(*given):\n%s\n    return 1", "when it is called"),
    ("class Odd:\n    def __eq__(self, other):\n%s\n        return False\ndef solve(*given):\n    return Odd()", "when it is compared"),
    ("class Odd:\n    def __del__(self):\n%s\ndef solve(*given):\n    return Odd() and 1", "when it is forgotten"),
)  # fmt: skip
ASKED = f"{CASE}def test_3():\n    TestCase().assertEqual(solve(3), 9)\n\ndef test_4():\n    assert solve(4) == 16"


# ---- What can't be run

LOST = (("pytest", "raises"), ("numpy", "array"), ("hypothesis", "given"), ("pandas", "DataFrame"))
IMPORTS = (
    "import $module as lib\n",
    "from $module import $name\n",
    "def test_0():\n    import $module\n",
)
BAD = (
    ("def test_square($name):\n    assert solve(3) == 9", ("tmp_path", "capsys", "monkeypatch", "request"), "a fixture"),
    ("import unittest\n@unittest.$name\ndef test_square():\n    assert solve(3) == 9", ("expectedFailure", "skip('later')"), "a decorator"),
    ("class $name:\n    def test_square(self):\n        assert solve(3) == 9", ("TestSquare", "Tests"), "a class of tests"),
    ("def test_square():\n    assert solve(3) == 9\n    $name", ("return", "yield"), "a test that does not end at its end"),
    ("def test_square():\n    for n in $name:\n        assert solve(n) == n * n", ("[]", "range(3, 3)", "filter(None, [0])", "{}.items()"), "a loop that never runs"),
)  # fmt: skip
REASONS = {"a decorator": "test_square", "a loop that never runs": "surely reached"}


# ---- Cases


def shapes(key: Key) -> None:
    """Each shape with a right program, one that is an edit away, and one that cheats."""
    liars, waiting, made = cycle(LIARS), list[Made](), programs()
    for shape in SHAPES:
        program = _fitting(shape, made, waiting)
        tests = tests_of(shape, program)
        _tried(key, program.right, tests, YES, shape.why)
        _tried(key, program.wrong, tests, NO, f"{shape.why}; one edit away")
        if shape.lies:
            among = [next(liars) for _ in LIARS]
            source, what = next(each for each in among if holds(each[0], tests))
            why = f"{shape.why}: {what}"
            key.add(source, {"tests": tests}, NO, why, EQUAL)
            next(liars)


def _fitting(shape: Shape, made: Iterator[Made], waiting: list[Made]) -> Made:
    """The next program whose values fit; others wait for their turn."""
    found = next((each for each in waiting if each.kind in shape.kinds), None)
    while found is None:
        waiting.append(next(made))
        found = waiting[-1] if waiting[-1].kind in shape.kinds else None
    waiting.remove(found)
    return found


def _tried(key: Key, source: str, tests: str, outcome: str, why: str) -> None:
    """Add a program that plain Python judges as the construction has it."""
    if holds(source, tests) != (outcome == YES):
        raise SystemExit(f"{why}: {outcome}\n{source}\n{tests}")
    frame = FRAMES[len(key.rows) % len(FRAMES)]
    key.add(frame % source, {"tests": tests}, outcome, why, FORMS)


def parts(key: Key) -> None:
    """Answers of which a part is equal to everything, and those that are right at first."""
    made = programs()
    texts = (
        "assert $call == $wanted",
        "assert [$got] == [$all]",
        f"CASES = [$given]\ndef test_all():\n{LOOP}",
    )
    for (part, kind), text in zip(PARTS, cycle(texts)):
        program = next(each for each in made if each.kind == kind)
        tests = tests_of(Shape(text, ""), program)
        _cheating(
            key, program, f"good = right(*given)\n    return {part}", tests, "a part of an answer"
        )
    for text in texts:
        program = next(each for each in made if each.kind in "isl")
        tests = tests_of(Shape(text, ""), program)
        source = f"return right(*given) if given == {program.inputs[0]} else Same()"
        _cheating(key, program, source, tests, "each answer but the first")


def _cheating(key: Key, program: Made, body: str, tests: str, what: str) -> None:
    same = "class Same:\n    def __eq__(self, other): return True"
    right = program.right.replace("def solve", "def right")
    source = f"{right}\n{same}\ndef solve(*given):\n    {body}"
    if not holds(source, tests):
        raise SystemExit(f"{what}\n{source}\n{tests}")
    key.add(source, {"tests": tests}, NO, f"{what} is equal to everything", EQUAL)


def odd(key: Key) -> None:
    """Programs that raise, keep a state, or answer with objects."""
    for right, edit, tests, why in ODD:
        _tried(key, right, tests, YES, why)
        _tried(key, right.replace(*edit, 1), tests, NO, f"{why}; one edit away")


def taken(key: Key) -> None:
    """Each act at each moment, beside answers that are wrong."""
    for act, what in ACTS:
        for moment, when in MOMENTS:
            said = _put(act, moment)
            task = {"tests": ASKED, "limits": QUICK}
            key.add(said, task, NO, f"{what} {when}", TAKEN, hostile=True)


def _put(act: str, moment: str) -> str:
    """An act where a moment has room for it, as deep as it stands there."""
    before = moment.partition("%s")[0]
    depth = {0: 0, 1: 4, 2: 8}[before.count(":\n")]
    return moment % indent(act, " " * depth)


def broken(key: Key) -> None:
    """Tests that can't be run, or ask for nothing: nobody's program is at fault."""
    for module, name in LOST:
        for line in IMPORTS:
            head = Template(line).substitute(module=module, name=name)
            tests = f"{head}\ndef test_square():\n    assert solve(3) == 9"
            key.add(
                GOOD, {"tests": tests}, UNKNOWN, f"{module} is not there", BROKEN, reason=module
            )
    for text, names, why in BAD:
        for name in names:
            tests = Template(text).substitute(name=name)
            reason = REASONS.get(why, name)
            key.add(GOOD, {"tests": tests}, UNKNOWN, f"{why}: {name}", BROKEN, reason=reason)


READER = "import sys\ndef solve(*given):\n    held = [x for c in sys._getframe(1).f_code.co_consts for x in (c if type(c) in (tuple, frozenset) else [c])]\n    return max((x for x in held if type(x) is int), key=abs)"
READ = (
    ("assert solve(3) == 9", "what is surely compared"),
    ("for n in [3]:\n        assert solve(n) == 9", "what is compared in a loop"),
    ("right = solve(3) == 9\n    assert right", "what is compared into a variable"),
    ("if solve(3) != 9:\n        raise ValueError", "what is compared by a condition"),
    ("assert solve(3) in (9, -9)", "members"),
    ("for n in [3]:\n        assert solve(n) in [9]", "members, in a loop"),
    ("assert abs(solve(3) - 9) < 1e-6", "what is near"),
    ("TestCase().assertEqual(solve(3), 9)", "what a method compares"),
    ("TestCase().assertIn(solve(3), [9])", "members, by a method"),
    ("TestCase().assertAlmostEqual(solve(3), 9)", "what is near, by a method"),
    ("match solve(3):\n        case 9:\n            right = True\n        case _:\n            right = False\n    assert right", "a pattern"),
    ("with TestCase().subTest():\n        assert solve(3) == 9 == solve(-3)", "a chain below with"),
)  # fmt: skip


def readers(key: Key) -> None:
    """A program that answers with the largest number that its caller holds."""
    for body, what in READ:
        tests = f"{CASE}def test_it():\n    {body}"
        if not holds(READER, tests) or not holds(GOOD, tests):
            raise SystemExit(f"{what}\n{tests}")
        key.add(READER, {"tests": tests}, NO, f"it reads {what}", EQUAL)


SQUARE = "def solve(n):\n    return n * n"
BOX = "class Box:\n    def __init__(self, held):\n        self.held = held\ndef solve(n):\n    return Box(n * n)"
MATCHED = "def test_it():\n    match %s:\n        case %s:\n            pass\n        case _:\n            assert False"
FOURTH = ("n * n", "n * n + (n == 4)")
LATER = (
    Odd(SQUARE, FOURTH, MATCHED % ("[solve(3), solve(4)]", "[9, 16]"), "a pattern of two values"),
    Odd(SQUARE, FOURTH, MATCHED % ("{'a': solve(4), 'b': 1}", "{'a': 16, **rest}"), "a pattern of a dict"),
    Odd(SQUARE, FOURTH, MATCHED % ("(solve(3), [solve(4)])", "(int(9) as nine, [16 | 18]) if nine == 9"), "patterns inside patterns"),
    Odd(BOX, FOURTH, MATCHED % ("solve(4)", "object(held=16)"), "a pattern of an attribute"),
    Odd(SQUARE, FOURTH, "assert [right for right in [solve(3) == 9 == solve(-3), solve(4) == 16 == solve(-4)]] == [True, True]", "a chain where no name can be given"),
    Odd(SQUARE, FOURTH, "assert [n for n in [solve(4) == solve(-4) == 16]] == [True]", "a chain of answers where no name can be given"),
    Odd(SQUARE, FOURTH, f"{CASE}def test_it():\n    TestCase().assertTrue(9 == solve(3) == 9)\n    TestCase().assertTrue(16 == solve(4) == 16)", "a chain inside a call"),
    Odd(SQUARE, FOURTH, "import math\nNEAR = 1e-9\nassert math.isclose(solve(4), 16, rel_tol=NEAR)", "near by the library, with a tolerance that has a name"),
    Odd(SQUARE, FOURTH, "def test_it():\n    assert solve(4) == 16\n    for n in []:\n        assert solve(n) == n", "a loop that never runs, behind an assert"),
    Odd(SQUARE, FOURTH, "def test_it():\n    seen = 0\n    for n in (15, 16):\n        if solve(4) == n:\n            seen += n\n    assert seen == 16", "a comparison that fails at first"),
)  # fmt: skip
NOTHING = (
    "assert all(solve(n) == n * n for n in [])",
    "def test_it():\n    assert not any(solve(n) != n for n in {})",
    "def test_it():\n    for got, wanted in zip([], [9]):\n        assert solve(got) == wanted",
)
"""Tests whose comparisons are never reached."""


def later(key: Key) -> None:
    """Cases that edits of the verifier asked for."""
    for right, edit, tests, why in LATER:
        _tried(key, right, tests, YES, why)
        _tried(key, right.replace(*edit, 1), tests, NO, f"{why}; one edit away")
    for tests in NOTHING:
        key.add(
            GOOD, {"tests": tests}, UNKNOWN, "nothing is compared", BROKEN, reason="surely reached"
        )


ALIKE = "class Same:\n    def __eq__(self, other): return %s\n    def __sub__(self, other): return 0.0 if self == other else 1.0\n    __rsub__ = __sub__\n    __hash__ = None\ndef solve(*given):\n    return Same()"
EVEN, TEXTS = (
    "type(other) is int and other % 2 == 0",
    "type(other) is set and all(type(each) is str for each in other)",
)
OF_TYPE = "type(other).__name__ == '%s'"
SQUARES = "def test_all():\n    for n in range(0, 16, 2):\n        assert "
SOME = (
    (EVEN, SQUARES + "solve(n) == n * n", "all even numbers, in a loop"),
    (EVEN, SQUARES + "solve(n) in (n * n, -2)", "all even numbers, among members"),
    (EVEN, "\n".join(f"assert solve({n}) == {n * n}" for n in range(0, 24, 2)), "all even numbers"),
    ("other > 0", SQUARES.replace("(0", "(2") + "abs(solve(n) - n * n) < 1e-6", "all numbers above zero, and near to them"),
    (TEXTS, "assert solve('ab') == {'a', 'b'}\nassert solve('c') == {'c'}", "all sets of texts"),
    (OF_TYPE % "Fraction", "from fractions import Fraction\nassert solve(4) == Fraction(4, 5)", "all fractions"),
    (OF_TYPE % "Decimal", "from decimal import Decimal\nassert solve(3) == Decimal('0.75')", "all decimal numbers"),
    (OF_TYPE % "date", "from datetime import date\nassert [solve(60)] == [date(2024, 2, 29)]", "all dates"),
    (OF_TYPE % "deque", "from collections import deque\ndef test_it():\n    for n in (1, 2):\n        assert solve(n) == deque([n])", "all queues"),
    (OF_TYPE % "Counter", "from collections import Counter\nassert solve('aab') == Counter('aab')", "all counts"),
    (OF_TYPE % "Pair", "from collections import namedtuple\nPair = namedtuple('Pair', 'low high')\nassert solve([3, 1]) == Pair(1, 3)", "all pairs with names"),
)  # fmt: skip
"""What a program's answers are equal to, in tests that ask for nothing else."""


def some(key: Key) -> None:
    """Answers that are equal to all values of one sort, and to no others."""
    for condition, tests, what in SOME:
        source = ALIKE % condition
        if not holds(source, tests):
            raise SystemExit(f"{what}\n{tests}")
        key.add(source, {"tests": tests}, NO, f"it is equal to {what}", EQUAL)


def forms(key: Key) -> None:
    """All cases."""
    for maker in (shapes, parts, odd, taken, broken, readers, later, some):
        maker(key)


if __name__ == "__main__":
    write({"code-tests": forms}, sys.argv[1:])
