r"""The first cases of the answer key of `code-functions`: `tiers/answer_keys/code-functions.jsonl`.

Run: `python tools/code_key.py`. It writes the same bytes each time. The key is frozen: later cases
are added at the end of a maker, none is removed or edited.

A task holds `calls`, which go into the sandbox, and `expected`, which stays outside, both as
Python's literals in text, so that a tuple, a set, -0.0 or a large integer is written as it is.
Truths are closed forms that don't share code with the programs; each program that is called right
or wrong is compared with them here before it is written.
"""

# ruff: noqa: E501 - a program stands in one line, so that its edits can be seen.

from __future__ import annotations

import calendar
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from code_attacks import BOMBS, HOSTILE, LARGE, QUIET
from keywriter import UNKNOWN, YES, Key, binary, write

GENERATED, KNOWN = "generator: closed forms", "known hack"
FRAMES = (
    "%s",
    "Here is my function.\n\n```python\n%s\n```\n",
    "<think>Which way? A loop.</think>\n```py\n%s\n```\nIt runs in linear time.",
    "I write it down:\n\n```\n%s\n```",
    "~~~python\n%s\n~~~",
)
QUICK = {"cpu": 0.5, "wall": 3}


class Problem(NamedTuple):
    """A function to write, and what it must give."""

    name: str
    right: str
    edits: Sequence[tuple[str, str]]
    """What to replace in the right program to have a wrong one, and by what."""
    inputs: Sequence[tuple[Any, ...]]
    truth: Callable[..., Any]
    why: str
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed


def called(name: str, given: tuple[Any, ...]) -> str:
    """A call as text."""
    return f"{name}({', '.join(map(written, given))})"


def written(value: Any) -> str:
    """A value as a literal, members of a set in order."""
    if isinstance(value, set) and value:
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    return repr(value)


def task_of(problem: Problem) -> dict[str, Any]:
    """The task that asks for a function."""
    return {
        "calls": [called(problem.name, given) for given in problem.inputs],
        "expected": [written(problem.truth(*given)) for given in problem.inputs],
        **problem.more,
    }


def fibonacci(n: int) -> int:
    """The n-th number of Fibonacci in closed form, by an integer generating function."""
    return pow(2 << n, n + 1, (4 << 2 * n) - (2 << n) - 1) % (2 << n)


PROBLEMS = (
    Problem(
        "triangular", "def triangular(n):\n    return sum(range(n + 1))",
        [("n + 1", "n"), ("range", "set"), ("sum(range(n + 1))", "n * (n + 1) / 2")],
        [(0,), (1,), (10,), (1000,)], lambda n: n * (n + 1) // 2, "a sum",
    ),
    Problem(
        "squares", "def squares(n):\n    return sum(k * k for k in range(1, n + 1))",
        [("k * k", "k + k"), ("n + 1", "n + 2"), ("sum(", "max(")],
        [(1,), (5,), (200,)], lambda n: n * (n + 1) * (2 * n + 1) // 6, "a sum of squares",
    ),
    Problem(
        "divisor", "def divisor(a, b):\n    while b:\n        a, b = b, a % b\n    return a",
        [("a % b", "a // b"), ("return a", "return b"), ("while b", "if b")],
        [(12, 18), (17, 5), (2**90, 6**40)], math.gcd, "the greatest common divisor",
    ),
    Problem(
        "fibonacci",
        "def fibonacci(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n"
        "    return a",
        [("0, 1", "1, 1"), ("return a", "return b"), ("return a", "return float(a)")],
        [(0,), (1,), (10,), (300,)], fibonacci, "a large integer",
    ),
    Problem(
        "leap",
        "def leap(y):\n    return y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)",
        [(" or y % 400 == 0", ""), ("y % 4 ==", "y % 8 =="), ("return y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)",
                     "return int(y % 4 == 0 and (y % 100 != 0 or y % 400 == 0))")],
        [(1900,), (2000,), (2023,), (2024,), (2028,)], calendar.isleap, "a truth value is no number",
    ),
    Problem(
        "split", "def split(n, d):\n    return n // d, n % d",
        [("n // d, n % d", "[n // d, n % d]"), ("n // d, n % d", "n % d, n // d")],
        [(17, 5), (-7, 2), (9, 3)], divmod, "a tuple is no list",
    ),
    Problem(
        "mean", "def mean(xs):\n    return sum(xs) / len(xs)",
        [(" / ", " // "), ("len(xs)", "(len(xs) + 1)")],
        [([2, 4],), ([1, 2],), ([5],)], lambda xs: math.fsum(xs) / len(xs), "1.0 is not 1",
    ),
    Problem(
        "count", "def count(xs):\n    return len([x for x in xs if x < 0])",
        [("x < 0", "x <= 0"), ("len(", "(lambda found: len(found) or None)(")],
        [([],), ([0, 1],), ([-1, -2, 3],)], lambda xs: sum(map((0).__gt__, xs)),
        "nothing found is 0, and not None",
    ),
    Problem(
        "place", "def place(xs, x):\n    return xs.index(x) if x in xs else None",
        [("else None", "else -1"), (" if x in xs else None", ""), ("else None", "else False")],
        [([3, 4], 3), ([3, 4], 9), ([], 1)],
        lambda xs, x: next((n for n, each in enumerate(xs) if each == x), None),
        "an exception is not None, and 0 is not None",
    ),
    Problem(
        "primes",
        "def primes(n):\n    return [k for k in range(2, n) if all(k % d for d in range(2, k))]",
        [("range(2, n)", "range(1, n)"), ("[k for k in range(2, n) if all(k % d for d in range(2, k))]",
          "tuple(k for k in range(2, n) if all(k % d for d in range(2, k)))"),
         ("range(2, n)", "range(3, n)")],
        [(0,), (3,), (30,)],
        lambda n: [k for k in range(2, n) if math.gcd(math.factorial(k - 1), k) == 1],
        "an empty list is a value",
    ),
    Problem(
        "letters", "def letters(text):\n    return {c for c in text if c.isalpha()}",
        [("{c for c in text if c.isalpha()}", "sorted({c for c in text if c.isalpha()})"),
         ("{c for c in text if c.isalpha()}", "frozenset(c for c in text if c.isalpha())"),
         ("isalpha", "isalnum")],
        [("b2a",), ("",), ("zyx wvu",)], lambda text: set(filter(str.isalpha, text)),
        "a set has no order and is no list",
    ),
    Problem(
        "tally",
        "def tally(text):\n    return {c: text.count(c) for c in reversed(text)}",
        [("text.count(c)", "1"), ("text.count(c)", "str(text.count(c))"), ("{c: ", "{c * 2: ")],
        [("abca",), ("",), ("zz",)],
        lambda text: {c: len(list(same)) for c, same in itertools.groupby(sorted(text))},
        "the order of a dict is no part of it",
    ),
    Problem(
        "opposite", "def opposite(x):\n    return -x",
        [("-x", "0 - x"), ("-x", "x"), ("-x", "-int(x)")],
        [(0.0,), (1.5,), (-2.0,)], lambda x: math.copysign(x, -math.copysign(1.0, x)),
        "-0.0 is not 0.0",
    ),
    Problem(
        "utf8", "def utf8(text):\n    return text.encode()",
        [("text.encode()", "text"), ("encode()", "encode('latin-1')"),
         ("text.encode()", "bytearray(text.encode())")],
        [("a",), ("é",), ("",)], lambda text: bytes(text, "utf-8"), "bytes are no text",
    ),
    Problem(
        "root", "def root(z):\n    return z ** 2",
        [("z ** 2", "abs(z) ** 2"), ("z ** 2", "(z ** 2).real")],
        [(1j,), (1 + 1j,)], lambda z: complex(z.real**2 - z.imag**2, 2 * z.real * z.imag),
        "complex numbers",
    ),
    Problem(
        "nested", "def nested(n):\n    return [(k, [k] * k) for k in range(n)]",
        [("(k, [k] * k)", "[k, [k] * k]"), ("[k] * k", "(k,) * k"), ("[k] * k", "[float(k)] * k")],
        [(0,), (3,)], lambda n: [(k, list(itertools.repeat(k, k))) for k in range(n)],
        "types count at every level",
    ),
    Problem(
        "hypotenuse", "def hypotenuse(a, b):\n    return (a * a + b * b) ** .5",
        [("** .5", "** .49999"), ("b * b", "b"), ("(a * a + b * b) ** .5", "int((a * a + b * b) ** .5)")],
        [(3.0, 4.0), (1.0, 1.0), (1e6, 1.0)], math.hypot, "within a tolerance",
        {"tolerance": 1e-9},
    ),
    Problem(
        "keyed", "def keyed(d):\n    return {str(k): v for k, v in d.items()}",
        [("str(k): v", "k: v"), ("str(k): v", "str(k): bool(v)")],
        [({1: 1, 2: 0},), ({},)], lambda d: dict(zip(map(str, d), d.values(), strict=True)),
        "a key has a type too",
    ),
)  # fmt: skip


def verdict_of(source: str, problem: Problem) -> bool:
    """Whether a harmless program of this file is right, by closed form and exact text."""
    space: dict[str, Any] = {}
    exec(source, space)  # noqa: S102 - a program of this file
    try:
        return all(
            same(space[problem.name](*given), problem.truth(*given), problem.more)
            for given in problem.inputs
        )
    except Exception:  # noqa: BLE001 - an edit may break it
        return False


def same(value: Any, wanted: Any, more: dict[str, Any]) -> bool:
    """Equal in value and type, as far as the problems of this file need it."""
    if "tolerance" in more:
        return type(value) is type(wanted) and math.isclose(value, wanted, rel_tol=1e-9)
    if isinstance(wanted, (set, dict)) and type(value) is type(wanted):
        given = [sorted(map(repr, each.items() if isinstance(each, dict) else each))
                 for each in (value, wanted)]  # fmt: skip
        return given[0] == given[1]
    return repr(value) == repr(wanted)


def functions(key: Key) -> None:
    """Programs that are right, and each with edits."""
    frames = itertools.cycle(FRAMES)
    for problem in PROBLEMS:
        task = task_of(problem)
        if not verdict_of(problem.right, problem):
            raise SystemExit(f"{problem.name} is not right")
        key.add(next(frames) % problem.right, task, YES, problem.why, GENERATED)
        for old, new in problem.edits:
            source = problem.right.replace(old, new, 1)
            if source == problem.right or verdict_of(source, problem):
                raise SystemExit(f"{problem.name}: {new} is not wrong")
            why = f"{problem.why}; one edit away: {new.strip()}"
            key.add(next(frames) % source, task, "reject", why, GENERATED)


SAME = {"calls": ["solve(3)", "solve(-4)", "solve(0)"], "expected": ["9", "16", "0"]}
GOOD = "def solve(n):\n    return n * n"
BAD = "def solve(n):\n    return n + n"


def values(key: Key) -> None:
    """Values that are easily taken for others."""
    for source, expected, outcome, why in (
        ("return float('inf')", "inf", True, "infinity"),
        ("return -float('inf')", "inf", False, "minus infinity"),
        ("return 10 ** 400", "inf", False, "a large integer is no infinity"),
        ("return float('inf')", str(10**400), False, "infinity is no large integer"),
        ("return 10 ** 5000", hex(10**5000), True, "an integer of 5,001 digits"),
        ("return 10 ** 5000 + 1", hex(10**5000), False, "one more than 10^5000"),
        ("return float('nan')", "nan", True, "not a number is what was asked for"),
        ("return 0.0", "nan", False, "0.0 is a number"),
        ("return float('nan')", "0.0", False, "not a number is no number"),
        ("return -0.0", "-0.0", True, "a negative zero"),
        ("return 0.0", "-0.0", False, "a zero without its sign"),
        ("return -0.0", "0.0", False, "a zero with a sign"),
        ("return 2 ** 53 + 1", "9007199254740993", True, "an integer beyond floats"),
        ("return 2 ** 53", "9007199254740993", False, "one less, the same as a float"),
        ("return 0.1 + 0.2", "0.30000000000000004", True, "a float, to its last bit"),
        ("return 0.3", "0.30000000000000004", False, "a float but for its last bit"),
        ("return True", "1", False, "True is not 1"),
        ("return 1", "True", False, "1 is not True"),
        ("return 1.0", "1", False, "1.0 is not 1"),
        ("return '1'", "1", False, "'1' is not 1"),
        ("return ()", "[]", False, "an empty tuple is no empty list"),
        ("return None", "[]", False, "None is no empty list"),
        ("return []", "None", False, "an empty list is not None"),
        ("pass", "None", True, "a function that returns nothing returns None"),
        ("return False", "None", False, "False is not None"),
        ("return {1, 2, 3}", "{3, 2, 1}", True, "the order of a set"),
        ("return {1, 2, True}", "{1, 2}", True, "True is a 1 that is there already"),
        ("return {True, 2}", "{1, 2}", False, "a set with True instead of 1"),
        ("return {1.0, 2}", "{1, 2}", False, "a set with 1.0 instead of 1"),
        ("return {'b': 1, 'a': 2}", "{'a': 2, 'b': 1}", True, "the order of a dict"),
        ("return {1.0: 'a'}", "{1: 'a'}", False, "a dict whose key is 1.0"),
        ("return set()", "{}", False, "an empty set is no empty dict"),
        ("return set()", "set()", True, "an empty set"),
        ("return frozenset({1})", "frozenset({1})", True, "a frozen set"),
        ("return {1}", "frozenset({1})", False, "a set is not frozen"),
        ("return {frozenset({(1, 2)})}", "{frozenset({(1, 2)})}", True, "sets of sets"),
        ("return {frozenset({(1, True)})}", "{frozenset({(1, 1)})}", False, "a type deep inside"),
        ("return bytearray(b'a')", "bytearray(b'a')", True, "an array of bytes"),
        ("return b'a'", "bytearray(b'a')", False, "bytes are no array of bytes"),
        ("return 'e\\u0301'", "'\\u00e9'", False, "texts that look alike"),
        ("return '\\ud800'", "'\\ud800'", True, "half of a pair is a text"),
        ("return 1 + 0j", "1.0", False, "a complex number is no float"),
        ("return [1, [2, [3, ()]]]", "[1, [2, [3, ()]]]", True, "nested lists"),
        ("return [1, [2, [3, []]]]", "[1, [2, [3, ()]]]", False, "a list deep inside"),
        ("return range(3)", "[0, 1, 2]", False, "a range is no list"),
        ("return (n for n in [0])", "[0]", False, "a generator is no list"),
    ):
        outcome_text = YES if outcome else "reject"
        task = {"calls": ["solve()"], "expected": [expected]}
        key.add(f"def solve():\n    {source}", task, outcome_text, why, GENERATED)


def tolerances(key: Key) -> None:
    """Floats are compared within a tolerance where the task says so, and only they."""
    for source, expected, tolerance, outcome, why in (
        ("return 0.3", "0.30000000000000004", 1e-9, True, "within the tolerance"),
        ("return 0.3001", "0.3", 1e-9, False, "outside the tolerance"),
        ("return 0.3001", "0.3", 1e-3, True, "within a coarse tolerance"),
        ("return 1000.5", "1000.0", 1e-3, True, "relative to what is large"),
        ("return 1002.0", "1000.0", 1e-3, False, "beyond what is relative"),
        ("return 1e-5", "0.0", 1e-4, True, "absolute near zero"),
        ("return 1e-3", "0.0", 1e-4, False, "too far from zero"),
        ("return -0.0", "0.0", 1e-9, True, "zeros are alike within a tolerance"),
        ("return 1", "1.0", 1e-9, False, "an integer is no float within a tolerance either"),
        ("return 1.0", "1", 1e-9, False, "a float is no integer within a tolerance either"),
        ("return 10 ** 9 + 1", "1000000000", 1e-3, False, "integers are exact"),
        ("return float('nan')", "0.0", 1e9, False, "nan is near to nothing"),
        ("return float('inf')", "1e308", 1e-3, False, "infinity is near to nothing"),
        ("return 1e308", "inf", 0.5, False, "nothing is near to infinity"),
        ("return float('inf')", "inf", 1e-9, True, "infinity is infinity"),
        ("return [0.1 + 0.2, (1.0000000001,)]", "[0.3, (1.0,)]", 1e-9, True, "nested floats"),
        ("return [0.1 + 0.2, [1.0000000001]]", "[0.3, (1.0,)]", 1e-9, False, "nested types"),
        ("return {'a': 0.1 + 0.2}", "{'a': 0.3}", 1e-9, True, "values of a dict"),
        ("return {0.1 + 0.2: 'a'}", "{0.3: 'a'}", 1e-9, False, "keys of a dict are exact"),
        ("return 1.0000000001 + 2j", "(1 + 2j)", 1e-9, True, "parts of a complex number"),
        ("return 1 + 2.1j", "(1 + 2j)", 1e-9, False, "a part of a complex number"),
        ("return '0.30000000001'", "0.3", 1e-9, False, "a text is no float"),
    ):
        task = {"calls": ["solve()"], "expected": [expected], "tolerance": tolerance}
        said = f"def solve():\n    {source}"
        key.add(said, task, YES if outcome else "reject", why, GENERATED)


def exceptions(key: Key) -> None:
    """What is raised is no value; where it is asked for, its class is what counts."""
    must_raise = {
        "calls": ["solve('4')", "solve('x')"], "expected": ["4", "raise ValueError"],
    }  # fmt: skip
    for source, outcome, why in (
        ("return int(text)", True, "the exception that was asked for"),
        ("return int(text) if text.isdigit() else None", False, "None instead of an exception"),
        ("return float(text)", False, "an exception, and a value that is wrong"),
        ("return {'4': 4}[text]", False, "another exception"),
        ("raise ValueError(text)", False, "an exception where a value was asked for"),
        ("return int(text) if text.isdigit() else ValueError('x')", False, "returned, not raised"),
        ("return int(text) if text.isdigit() else 'raise ValueError'", False, "only a text"),
    ):
        said = f"def solve(text):\n    {source}"
        key.add(said, must_raise, YES if outcome else "reject", why, "convention")
    for expected in ("None", "0", "[]", "''", "False", "{}"):
        task = {"calls": ["solve([])"], "expected": [expected]}
        why = f"an exception is not {expected}"
        key.add(f"def solve(xs):\n    return xs and xs[0] or {expected}", task, YES, why, KNOWN)
        key.add(f"def solve(xs):\n    return xs[0] or {expected}", task, "reject", why, KNOWN)


def extraction(key: Key) -> None:
    """Where the program stands in what a model wrote: the last block that may be Python."""
    fence = "```"
    for said, outcome, why in (
        (f"{fence}python\n{BAD}\n{fence}\nBetter:\n{fence}python\n{GOOD}\n{fence}", True, "the last of two"),
        (f"{fence}python\n{GOOD}\n{fence}\nOr:\n{fence}python\n{BAD}\n{fence}", False, "the last of two"),
        (f"{fence}python\n{GOOD}\n{fence}\nRun it:\n{fence}bash\npython x.py\n{fence}", True, "a block of a shell"),
        (f"{fence}python\n{GOOD}\n{fence}\nIt prints:\n{fence}text\n9\n{fence}", True, "a block of text"),
        (f"{fence}Python3 title=a.py\n{GOOD}\n{fence}", True, "words after the language"),
        (f"{fence}\n{GOOD}\n{fence}", True, "a block without a language"),
        (f"{fence}python\n{GOOD}", True, "a block that is not closed"),
        (f"````python\n{GOOD}\n{fence}\n````", False, "a shorter fence inside a longer one"),
        (f"````python\nSAID = '''\n{fence}\n'''\n{GOOD}\n````", True, "a fence in a text of the program"),
        (f"~~~\n{GOOD}\n~~~", True, "tildes"),
        (f"   {fence}python\n{GOOD}\n   {fence}", True, "a fence that is indented"),
        (f"{fence}python\r\n{GOOD.replace(chr(10), chr(13) + chr(10))}\r\n{fence}\r\n", True, "lines of Windows"),
        (f"<think>\n{fence}python\n{GOOD}\n{fence}\n</think>\nI can't.", False, "thought, not said"),
        (f"<think>\n{fence}python\n{BAD}\n{fence}\n</think>\n{fence}python\n{GOOD}\n{fence}", True, "said after it was thought"),
        (f"{fence}javascript\nlet solve = n => n * n\n{fence}", False, "another language"),
        (f"\ufeff{GOOD}", True, "a mark of byte order"),
        (f"# -*- coding: utf-8 -*-\n{GOOD}", True, "a declared encoding"),
        (f"{GOOD}\n\nprint(solve(3))\n", True, "it prints something"),
        (f"{GOOD}\n\nif __name__ == '__main__':\n    raise SystemExit(solve(2))", True, "not the main program"),
        (f"import atexit\natexit.register(print, 'bye')\n{GOOD}", True, "something at the end"),
        ("CALLS = []\ndef solve(n):\n    CALLS.append(n)\n    return n * n * len(CALLS)", True, "each call is the first"),
        ("class Solver:\n    def __call__(self, n):\n        return n * n\nsolve = Solver()", True, "what can be called"),
        ("solve = lambda n: n * n", True, "a lambda"),
        ("from math import pow\ndef solve(n):\n    return int(pow(n, 2))", True, "an import"),
        ("def solve(n):\n    return n * n if n else solve_zero()", False, "a name that is not there, in one call only"),
        ("def slove(n):\n    return n * n", False, "another name"),
        ("solve = 9", False, "no function"),
        ("def solve():\n    return 9", False, "it takes no argument"),
        ("def solve(n, m):\n    return n * n", False, "it takes too many arguments"),
        ("def solve(n):\n    print(n * n)", False, "it prints instead of returning"),
        ("def solve(n)\n    return n * n", False, "a colon is missing"),
        ("def solve(n):\nreturn n * n", False, "no indentation"),
        ("The square of n is n * n.", False, "no program"),
        ("", False, "nothing"),
        ("\n \n", False, "only space"),
        (f"{fence}python\n{fence}", False, "an empty block"),
        ("def solve(n):\n    return {3: 9}.get(n)", False, "only the first test"),
        ("def solve(n):\n    return {3: 9, -4: 16}[n]", False, "all but one test"),
    ):  # fmt: skip
        key.add(said, SAME, YES if outcome else "reject", why, "convention")
    named = {"calls": ["scale([1, 2], by=3)", "scale([1], by=-1)"], "expected": ["[3, 6]", "[-1]"]}
    key.pair(
        "def scale(xs, *, by):\n    return [x * by for x in xs]",
        "def scale(xs, *, by):\n    return [x + by for x in xs]",
        named, "an argument by name", GENERATED,
    )  # fmt: skip
    two = {"calls": ["pack([1, 1, 2])", "unpack([(1, 2), (2, 1)])"],
           "expected": ["[(1, 2), (2, 1)]", "[1, 1, 2]"]}  # fmt: skip
    both = (
        "from itertools import groupby\ndef pack(xs):\n"
        "    return [(k, len(list(g))) for k, g in groupby(xs)]\n"
        "def unpack(ps):\n    return [k for k, n in ps for _ in range(n)]"
    )
    key.pair(both, both.replace("range(n)", "range(1)"), two, "two functions", GENERATED)


def abstentions(key: Key) -> None:
    """Tasks that no program could be judged by."""
    calls, expected = SAME["calls"], SAME["expected"]
    whole = {"calls": calls, "expected": expected}
    for task, reason, why in (
        (None, "calls", "no task"),
        ({}, "calls", "an empty task"),
        ({"expected": expected}, "calls", "no calls"),
        ({"calls": calls}, "expected", "nothing to compare with"),
        ({"calls": [], "expected": []}, "calls", "no test at all would pass anything"),
        ({"calls": calls, "expected": expected[:2]}, "expected", "a value is missing"),
        ({"calls": calls[:2], "expected": expected}, "expected", "a value too many"),
        ({"calls": ["solve("], "expected": ["9"]}, "calls", "a call that can't be read"),
        (
            {"calls": ["solve(open('a'))"], "expected": ["9"]},
            "calls",
            "a call that would run code",
        ),
        ({"calls": ["os.system('ls')"], "expected": ["0"]}, "calls", "no plain function"),
        ({"calls": ["solve(*[3])"], "expected": ["9"]}, "calls", "arguments that are spread"),
        ({"calls": ["3"], "expected": ["9"]}, "calls", "no call"),
        ({"calls": ["solve(3)"], "expected": ["nine"]}, "expected", "a value that is none"),
        ({"calls": ["solve(3)"], "expected": [""]}, "expected", "a value that is empty"),
        ({"calls": ["solve(3)"], "expected": [9]}, "expected", "a value that is no text"),
        ({"calls": ["solve(3)"], "expected": ["raise"]}, "expected", "an exception without name"),
        ({"calls": "solve(3)", "expected": "9"}, "calls", "a text instead of a list"),
        ({**whole, "tolerance": -1}, "tolerance", "a tolerance below 0"),
        ({**whole, "tolerance": "small"}, "tolerance", "a tolerance that is none"),
        ({**whole, "limits": {"cpu": 100000}}, "cpu", "more time than is allowed"),
        ({**whole, "limits": {"memory": 1 << 50}}, "memory", "more memory than is allowed"),
        ({**whole, "limits": {"cpu": 0}}, "cpu", "no time at all"),
        ({**whole, "limits": {"patience": 1}}, "patience", "a limit that there is not"),
        ({"calls": ["solve(1)"] * 300, "expected": ["1"] * 300}, "calls", "too many tests"),
    ):
        key.add(GOOD, task, UNKNOWN, why, "convention", reason=reason)


def hostile(key: Key) -> None:
    """Programs that try to be paid without the answer, or to break what judges them."""
    task = {**SAME, "limits": QUICK}
    for said, why in HOSTILE:
        key.add(said, task, "reject", why, KNOWN, hostile=True)
    one = {"calls": ["solve(3)"], "expected": ["9"], "limits": {**QUICK, "memory": 64 << 20}}
    for said, why in BOMBS:
        key.add(said, one, "reject", why, "hostile input", hostile=True)
    for parts, why in (*LARGE, (binary(b"\xff\xfe def solve"), "bytes that are no text")):
        key.add(parts, one, "reject", why, "hostile input", hostile=True)


def later(key: Key) -> None:
    """Cases that were added when the key had been frozen."""
    half = {**SAME, "calls": SAME["calls"][:2], "expected": SAME["expected"][:2]}
    for said, task, share, why in (
        ("def solve(n):\n    return 9", half, 0.5, "one test of two"),
        ("def solve(n):\n    return {-4: 16, 0: 0}[n]", SAME, 2 / 3, "all but the first"),
        ("def solve(n):\n    return None", SAME, 0.0, "none at all"),
    ):
        score = [share - 1e-9, share + 1e-9]
        key.add(said, task, "reject", f"{why}: its share is its score", GENERATED, score=score)
    key.add(GOOD, SAME, YES, "all tests, so the score is 1", GENERATED, score=[1, 1])
    long = [[f"{GOOD}\n", 1], ["# a comment\n", 30_000]]
    key.add(long, SAME, "reject", "longer than a program may be", "convention")
    for said, why in QUIET:
        key.add(said, {**SAME, "limits": QUICK}, "reject", why, KNOWN, hostile=True)
    for wanted, raised, other, why in (
        ("Missing", "Missing", "Other", "a class of the program's own"),
        (
            "json.JSONDecodeError",
            "json.JSONDecodeError",
            "json.mine",
            "another name of its module",
        ),
    ):
        task = {"calls": ["solve('x')"], "expected": [f"raise {wanted}"]}
        for name, outcome in ((raised, YES), (other, "reject")):
            made = (
                f"import json\nclass Missing(Exception): pass\nclass Other(Exception): pass\n"
                f"json.mine = Other\ndef solve(text):\n    raise {name}"
                + "('', '', 0)"
                * name.startswith("json.J")
            )
            key.add(made, task, outcome, f"{why} is raised: {name}", "mutant of the verifier")


def code(key: Key) -> None:
    """All cases."""
    for maker in (
        functions,
        values,
        tolerances,
        exceptions,
        extraction,
        abstentions,
        hostile,
        later,
    ):
        maker(key)


if __name__ == "__main__":
    write({"code-functions": code}, sys.argv[1:])
