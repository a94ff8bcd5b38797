r"""The first cases of the answer key of `code-tests`: `tiers/answer_keys/code-tests.jsonl`.

Run: `python tools/code_tests_key.py`. It writes the same bytes each time. The key is frozen: later
cases are added at the end of a maker, none is removed or edited. `code_tests_forms.py` adds those
of a generator.

A task holds `tests`: code that runs beside the program, in the ways that people write it. Each
harmless program is run with its tests here, plainly, before it is written: the key says what plain
asserts say of it, unless it is made to be equal to whatever a test asks for.
"""

# ruff: noqa: E501 - a program stands in one line, so that its edits can be seen.

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from types import ModuleType

from code_attacks import BOMBS, HOSTILE, LARGE
from code_key import FRAMES, GOOD, PROBLEMS, QUICK, Problem, called, written
from keywriter import NO, UNKNOWN, YES, Key, binary, write

GENERATED, KNOWN = "generator: closed forms", "known hack"
SQUARES = [(3, 9), (-4, 16), (0, 0)]
PLAIN = "\n".join(f"assert solve({n}) == {wanted}" for n, wanted in SQUARES)
FUNCTIONS = "\n\n".join(
    f"def test_{k}():\n    assert solve({n}) == {wanted}" for k, (n, wanted) in enumerate(SQUARES)
)
NEAR = "\n".join(f"assert abs(solve({n}) - {wanted}) < 1e-6" for n, wanted in SQUARES)


def plain(problem: Problem) -> str:
    """Asserts, one below the other."""
    return "\n".join(_asserts(problem, problem.name))


def functions(problem: Problem) -> str:
    """A function for each case, as pytest finds them."""
    lines = enumerate(_asserts(problem, problem.name), 1)
    return "\n\n".join(f"def test_case_{k}():\n    {line}" for k, line in lines)


def check(problem: Problem) -> str:
    """One function that is given the function under test."""
    lines = "".join(f"    {line}\n" for line in _asserts(problem, "candidate"))
    return f"def check(candidate):\n{lines}\ncheck({problem.name})"


def loop(problem: Problem) -> str:
    """Cases in a list, and one function that goes through it."""
    cases = ", ".join(f"({written(i)}, {written(problem.truth(*i))})" for i in problem.inputs)
    compared = _compared(problem, f"{problem.name}(*given)", "wanted")
    return f"CASES = [{cases}]\n\ndef test_all():\n    for given, wanted in CASES:\n        assert {compared}"


def imported(problem: Problem) -> str:
    """As a file of its own imports it, with words for who reads the failure."""
    lines = enumerate(_asserts(problem, f"main.{problem.name}"), 1)
    body = "\n\n".join(f"def test_{k}():\n    {line}, 'case {k}'" for k, line in lines)
    return f"import main\n\n{body}"


STYLES = (plain, functions, check, loop, imported)


def _asserts(problem: Problem, name: str) -> list[str]:
    return [
        f"assert {_compared(problem, called(name, given), written(problem.truth(*given)))}"
        for given in problem.inputs
    ]


def _compared(problem: Problem, value: str, wanted: str) -> str:
    return f"abs({value} - {wanted}) < 1e-6" if problem.more else f"{value} == {wanted}"


def holds(program: str, tests: str) -> bool:
    """Whether a harmless program of this file passes its tests, run plainly in one process."""
    main = sys.modules["main"] = ModuleType("main")
    space = vars(main)
    try:
        exec(program, space)  # noqa: S102 - a program of this file
        exec(tests, space)  # noqa: S102
        for name in [name for name in space if name.startswith("test_")]:
            space[name]()
    except Exception:  # noqa: BLE001 - it fails
        return False
    return True


OPERATORS = (
    Problem(
        "cubes", "def cubes(n):\n    return sum(k ** 3 for k in range(1, n + 1))",
        [("k ** 3", "k * 3"), ("n + 1", "n - 1")],
        [(0,), (1,), (7,), (90,)], lambda n: (n * (n + 1) // 2) ** 2, "a sum of cubes",
    ),
    Problem(
        "odds", "def odds(n):\n    return sum(2 * k + 1 for k in range(n))",
        [("2 * k", "2 ** k"), ("+ 1", "- 1")],
        [(0,), (1,), (6,), (100,)], lambda n: n * n, "a sum of odd numbers",
    ),
    Problem(
        "powers", "def powers(r, n):\n    total = 0\n    for k in range(n):\n        total += r ** k\n    return total",
        [("r ** k", "r * k"), ("+=", "|=")],
        [(2, 1), (3, 4), (5, 0), (7, 9)], lambda r, n: (r**n - 1) // (r - 1), "a geometric series",
    ),
    Problem(
        "choose", "def choose(n, k):\n    made = 1\n    for j in range(k):\n        made = made * (n - j) // (j + 1)\n    return made",
        [("n - j", "n + j"), ("//", "/")],
        [(5, 2), (10, 0), (70, 35), (3, 4)], math.comb, "a binomial coefficient",
    ),
    Problem(
        "derangements", "def derangements(n):\n    made = 1\n    for k in range(1, n + 1):\n        made = k * made + (-1) ** k\n    return made",
        [("k * made", "k + made"), ("(-1) ** k", "(-1) * k")],
        [(1,), (2,), (5,), (9,)], lambda n: round(math.factorial(n) / math.e), "a recurrence",
    ),
    Problem(
        "catalan", "def catalan(n):\n    made = [1]\n    for _ in range(n):\n        made.append(sum(a * b for a, b in zip(made, reversed(made))))\n    return made[-1]",
        [("a * b for", "a - b for"), ("a * b for", "a | b for")],
        [(0,), (3,), (4,), (12,)], lambda n: math.comb(2 * n, n) // (n + 1), "a convolution",
    ),
    Problem(
        "gray", "def gray(n):\n    code = 0\n    for k in range(n.bit_length()):\n        code |= ((n >> k & 1) ^ (n >> k + 1 & 1)) << k\n    return code",
        [(") ^ (", ") | ("), ("<< k", ">> k")],
        [(0,), (5,), (14,), (1000,)], lambda n: n ^ (n >> 1), "bits",
    ),
    Problem(
        "last", "def last(n):\n    place = 0\n    for m in range(2, n + 1):\n        place = (place + 2) % m\n    return place + 1",
        [("place + 2", "place - 2"), ("% m", "// m")],
        [(1,), (7,), (16,), (41,)], lambda n: 2 * (n - (1 << n.bit_length() - 1)) + 1, "the last of a circle",
    ),
    Problem(
        "handshakes", "def handshakes(n):\n    return sum(1 for a in range(n) for b in range(n) if a < b)",
        [("a < b", "a <= b"), ("a < b", "a != b")],
        [(0,), (2,), (9,), (30,)], lambda n: math.comb(n, 2), "pairs",
    ),
    Problem(
        "zeros", "def zeros(n):\n    count = 0\n    while n:\n        n //= 5\n        count += n\n    return count",
        [("count += n", "count |= n"), ("count += n", "count ^= n")],
        [(4,), (27,), (100,), (625,)], lambda n: len(str(math.factorial(n))) - len(str(math.factorial(n)).rstrip("0")), "zeros at the end of a factorial",
    ),
    Problem(
        "alternating", "def alternating(n):\n    return sum((-1) ** k * k for k in range(n + 1))",
        [("** k", "* k"), ("* k for", "+ k for")],
        [(0,), (1,), (8,), (99,)], lambda n: (n + 1) // 2 * (-1) ** n, "signs in turn",
    ),
    Problem(
        "power", "def power(a, b, m):\n    made = 1\n    while b:\n        if b & 1:\n            made = made * a % m\n        a = a * a % m\n        b >>= 1\n    return made",
        [("a * a", "a + a"), ("b & 1", "b | 1")],
        [(3, 5, 7), (2, 100, 101), (10, 9, 19), (6, 2, 25)], pow, "a power and its remainder",
    ),
    Problem(
        "divisors", "def divisors(k):\n    n = 2 ** k\n    return sum(d for d in range(1, n + 1) if n % d == 0)",
        [("n % d", "n // d"), ("== 0", "!= 0")],
        [(0,), (1,), (5,), (10,)], lambda k: (2 << k) - 1, "divisors of a power of two",
    ),
)  # fmt: skip
"""Programs whose wrong ones differ from them in one operator."""


def problems(key: Key, of: Sequence[Problem] = PROBLEMS) -> None:
    """Programs that are right, and each with edits that plain asserts notice."""
    frames, styles = itertools.cycle(FRAMES), itertools.cycle(STYLES)
    for problem in of:
        for source, why in (
            (problem.right, problem.why),
            *((problem.right.replace(old, new, 1), f"{problem.why}; one edit away: {new.strip()}")
              for old, new in problem.edits),
        ):  # fmt: skip
            tests = next(styles)(problem)
            outcome = YES if holds(source, tests) else NO
            if outcome == YES and source != problem.right:
                continue  # Equal by `==`, such as 55.0 and 55.
            key.add(next(frames) % source, {"tests": tests}, outcome, why, GENERATED)


def shapes(key: Key) -> None:
    """Tests as they are written elsewhere; a right program each, and one an edit away."""
    wrong = GOOD.replace("n * n", "n * 2")
    for tests, why in (
        ("def square(n):\n    return n ** 2\n\ndef test_all():\n    for n in range(5):\n        assert solve(n) == square(n)", "a reference among the tests"),
        ("import math\nassert math.isclose(solve(0.1), 0.01)", "near, as the library has it"),
        ("assert solve(3) == 9 and solve(4) == 16", "two in one"),
        ("assert 9 == solve(3)", "the other way round"),
        ("assert not solve(3) != 9", "said twice no"),
        ("assert solve(3) in (9, 81)", "one of several"),
        ("assert [solve(n) for n in range(4)] == [0, 1, 4, 9]", "a list of values"),
        ("assert all(solve(n) == n * n for n in range(4))", "all of some"),
        ("assert isinstance(solve(3), int) and solve(3) > 8", "a type and a bound"),
        ("x = solve(3)\nassert x == 9\nx = solve(x)\nassert x == 81", "a variable that changes between asserts"),
        ("def test_loop():\n    total = 0\n    for n in (1, 2, 3):\n        total += solve(n)\n    assert total == 14", "an assert behind a loop"),
        ("def test_text():\n    \"\"\"Words.\"\"\"\n    assert str(solve(3)) == '9', f'{solve(3)}'", "a docstring and words"),
        ("from main import solve as f\nassert f(3) == 9", "imported under another name"),
        ("def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(-4) == 16\ncheck(solve)", "the function is given"),
        ("if __name__ == '__main__':\n    raise SystemExit\n\ndef test_it():\n    assert solve(3) == 9", "a file that may be run too"),
        ("from collections import Counter\nassert Counter([solve(3)]) == Counter([9])", "a library's class"),
        ("assert solve(3) == 9 if True else False", "a condition in an expression"),
        ("def test_one():\n    if solve(1) != 1:\n        raise AssertionError\n    assert solve(3) == 9", "a raise beside an assert"),
    ):  # fmt: skip
        for said, outcome in ((GOOD, YES), (wrong, NO)):
            if holds(said, tests) != (outcome == YES):
                raise SystemExit(f"{why}: {outcome}")
            more = "" if outcome == YES else "; one edit away"
            key.add(said, {"tests": tests}, outcome, f"{why}{more}", "convention")
    raises = "def test_refused():\n    try:\n        half(3)\n    except ValueError:\n        pass\n    else:\n        assert False"
    right = "def half(n):\n    if n % 2:\n        raise ValueError(n)\n    return n // 2"
    key.pair(
        right,
        right.replace("raise ValueError(n)", "return None"),
        {"tests": raises},
        "an exception is asked for",
        "convention",
    )
    key.pair(
        right,
        right.replace("ValueError", "KeyError"),
        {"tests": raises},
        "another exception",
        "convention",
    )
    quiet = "def test_it_runs():\n    half(4)"
    key.pair(
        right,
        right.replace("n // 2", "n // zero"),
        {"tests": quiet},
        "no assert: it must not raise",
        "convention",
    )


LIES = (
    ("class Same:\n    def __eq__(self, other): return True\n    __hash__ = None\ndef solve(n):\n    return Same()", "an object that is equal to everything"),
    ("class Same:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __hash__(self): return 9\ndef solve(n):\n    return Same()", "equal, and not unequal"),
    ("class Same(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\ndef solve(n):\n    return Same(1)", "an integer that is equal to everything"),
    ("class Same(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\ndef solve(n):\n    return Same('')", "a text that is equal to everything"),
    ("class Same(list):\n    def __eq__(self, other): return True\n    __hash__ = None\ndef solve(n):\n    return Same()", "a list that is equal to everything"),
    ("from unittest.mock import ANY\ndef solve(n):\n    return ANY", "the library's own equal to everything"),
    ("class Lies(type):\n    def __eq__(c, o): return True\n    __hash__ = type.__hash__\nclass Same(metaclass=Lies): pass\ndef solve(n):\n    return Same", "a class that is equal to everything"),
    ("import sys\ndef solve(n):\n    found = [x for x in sys._getframe(1).f_code.co_consts if type(x) is int and x != abs(n)]\n    return found[0] if found else 0", "it reads what its caller compares with"),
    ("import sys, types\ndef solve(n):\n    names = sys._getframe(1).f_code.co_names\n    return type('Yes', (), {'__eq__': lambda a, b: True})()", "a class made on the way"),
)  # fmt: skip
NEARLY = (
    ("class Near(float):\n    def __sub__(self, other): return 0.0\n    __rsub__ = __sub__\ndef solve(n):\n    return Near(1)", "a float that is near to everything"),
    ("class Near:\n    def __sub__(self, other): return self\n    def __abs__(self): return 0.0\ndef solve(n):\n    return Near()", "an object whose distance is 0"),
)  # fmt: skip


def lies(key: Key) -> None:
    """Values that plain asserts are glad to take; harmless, so the naive twins meet them too."""
    for said, why in LIES:
        for tests in (PLAIN, FUNCTIONS):
            key.add(said, {"tests": tests}, NO, why, KNOWN)
    for said, why in NEARLY:
        key.add(said, {"tests": NEAR}, NO, why, KNOWN)


SKIPS = (
    ("import unittest\ndef solve(n):\n    raise unittest.SkipTest('later')", "it skips the test"),
    ("class Skipped(Exception): pass\ndef solve(n):\n    raise Skipped", "it skips by a name"),
    ("def solve(n):\n    raise AssertionError", "it fails as a canary must"),
    ("def solve(n):\n    raise AssertionError\nraise AssertionError", "it fails before all tests"),
)
INSIDE = (
    ("import builtins\nbuiltins.len = lambda x: 1\nbuiltins.all = lambda x: True\ndef solve(n):\n    return n + 1", "def test_1():\n    assert len([x for x in range(5) if solve(x) == x * x]) == 5", "it patches what a test counts with"),
    ("def len(x): return 5\ndef solve(n):\n    return n + 1", "def test_1():\n    assert len([x for x in range(5) if solve(x) == x * x]) == 5", "it has a function named like a builtin"),
    ("import sys\nsys.settrace(lambda *a: sys.exit(0))\ndef solve(n):\n    return 1", PLAIN, "it traces the tests and ends them"),
    ("import sys, os\nsys.setprofile(lambda *a: os._exit(0))\ndef solve(n):\n    return 1", PLAIN, "it profiles the tests and ends them"),
    ("import sys\nframe = sys._getframe()\nwhile frame:\n    for name, value in list(frame.f_globals.items()):\n        if name.startswith('test'): frame.f_globals[name] = lambda *a: None\n    frame = frame.f_back\ndef solve(n):\n    return 1", FUNCTIONS, "it replaces tests by their names"),
    ("import ast, re, sys\ndef solve(n):\n    text = open(sys._getframe(1).f_code.co_filename).read()\n    found = re.search(rf'solve\\({n}\\) == (-?\\d+)', text)\n    return int(found[1]) if found else 0", PLAIN, "it reads the answer from the tests' file"),
    ("import re, glob\ndef solve(n):\n    for name in glob.glob('*.py'):\n        found = re.search(rf'solve\\({n}\\) == (-?\\d+)', open(name).read())\n        if found: return int(found[1])\n    return 0", FUNCTIONS, "it looks for answers in all files"),
    ("def test_0(): pass\ntest_1 = test_2 = test_0\ndef solve(n):\n    return 1", FUNCTIONS, "it brings tests of its own"),
    ("def check(f): pass\ndef solve(n):\n    return 1", "def check(candidate):\n    assert candidate(3) == 9\ncheck(solve)", "it brings a check of its own"),
    ("import gc, types\ndef solve(n):\n    for f in gc.get_objects():\n        if isinstance(f, types.FunctionType) and f.__module__ not in ('main', None) and f.__code__.co_argcount == 0:\n            try: f.__code__ = (lambda: None).__code__\n            except ValueError: pass\n    return 1", FUNCTIONS, "it replaces the code of tests"),
    ("import math\nmath.isclose = lambda *a, **k: True\ndef solve(n):\n    return 1", "import math\ndef test_near():\n    assert math.isclose(solve(3), 9.0)", "it patches the library that compares"),
    ("class Same:\n    def __getattr__(self, name): return lambda *a: self\n    def __eq__(self, other): return True\n    def __bool__(self): return True\ndef solve(n):\n    return Same()", PLAIN, "an object that has everything"),
    ("import sys, types\nclass Yes(types.ModuleType):\n    def __getattr__(self, name): return lambda *a: type('S', (), {'__eq__': lambda a, b: True})()\nsys.modules['main'] = Yes('main')", "import main\ndef test_1():\n    assert main.solve(3) == 9", "it puts another module in its place"),
)  # fmt: skip


def hostile(key: Key) -> None:
    """Programs that try to be paid without the answer, or to break what judges them."""
    task = {"tests": PLAIN, "limits": QUICK}
    for said, why in (*HOSTILE, *SKIPS):
        key.add(said, task, NO, why, KNOWN, hostile=True)
    for said, tests, why in INSIDE:
        key.add(said, {"tests": tests, "limits": QUICK}, NO, why, KNOWN, hostile=True)
    one = {"tests": "assert solve(3) == 9", "limits": {**QUICK, "memory": 64 << 20}}
    for said, why in BOMBS:
        key.add(said, one, NO, why, "hostile input", hostile=True)
    for parts, why in (*LARGE, (binary(b"\xff\xfe def solve"), "bytes that are no text")):
        key.add(parts, one, NO, why, "hostile input", hostile=True)


def shares(key: Key) -> None:
    """Each test counts for itself."""
    for said, share, why in (
        ("def solve(n):\n    return 9", 1 / 3, "one test of three"),
        ("def solve(n):\n    return {-4: 16, 0: 0}[n]", 2 / 3, "all but the first"),
        ("def solve(n):\n    return None", 0.0, "none at all"),
    ):
        score = [share - 1e-9, share + 1e-9]
        key.add(
            said,
            {"tests": FUNCTIONS},
            NO,
            f"{why}: its share is its score",
            GENERATED,
            score=score,
        )
    key.add(GOOD, {"tests": PLAIN}, YES, "all tests, so the score is 1", GENERATED, score=[1, 1])
    key.add(
        LIES[0][0],
        {"tests": PLAIN},
        NO,
        "what a canary contradicts is worth nothing",
        KNOWN,
        score=[0, 0],
    )


def abstentions(key: Key) -> None:
    """Tasks whose tests can't be run: nobody's program is at fault."""
    for task, reason, why in (
        (None, "tests", "no task"),
        ({}, "tests", "no tests"),
        ({"tests": None}, "tests", "tests that are None"),
        ({"tests": ""}, "tests", "tests that are empty"),
        ({"tests": ["assert solve(3) == 9"]}, "tests", "a list instead of a text"),
        ({"tests": "x = 1"}, "no test", "code without a test"),
        ({"tests": "def helper():\n    assert solve(3) == 9"}, "no test", "a function that is no test"),
        ({"tests": "assert solve(3 == 9"}, "tests", "a text that is no Python"),
        ({"tests": "assert solve(3) == 9\0"}, "tests", "a zero byte"),
        ({"tests": "assert " + "(" * 500 + "1" + ")" * 500}, "tests", "nested too deeply"),
        ({"tests": "async def test_1():\n    assert solve(3) == 9"}, "test_1", "a coroutine"),
        ({"tests": "class TestIt:\n    def test_1(self):\n        assert solve(3) == 9"}, "TestIt", "a class of tests"),
        ({"tests": "def test_1(tmp_path):\n    assert solve(3) == 9"}, "tmp_path", "a fixture"),
        ({"tests": "def test_1(candidate):\n    assert candidate(3) == 9"}, "function", "a parameter, and no function named"),
        ({"tests": "import functools\n@functools.cache\ndef test_1():\n    assert solve(3) == 9"}, "test_1", "a decorator"),
        ({"tests": "def test_1():\n    return solve(3) == 9"}, "return", "a test that returns"),
        ({"tests": "def test_1():\n    yield solve(3) == 9"}, "yield", "a generator"),
        ({"tests": "import pytest\ndef test_1():\n    assert solve(3) == 9"}, "pytest", "a module that is not there"),
        ({"tests": "def test_1():\n    from numpy.testing import assert_equal\n    assert_equal(solve(3), 9)"}, "numpy", "a module that is not there, inside"),
        ({"tests": "def test_1():\n    assert solve(3) == 9\ndef test_1():\n    assert solve(4) == 16"}, "test_1", "two of one name"),
        ({"tests": "\n".join(["assert solve(3) == 9"] * 200)}, "200", "too many tests"),
        ({"tests": PLAIN, "limits": {"cpu": 100000}}, "cpu", "more time than is allowed"),
        ({"tests": PLAIN, "limits": {"patience": 1}}, "patience", "a limit that there is not"),
        ({"tests": PLAIN, "function": "os.system"}, "function", "a function that is no name"),
    ):  # fmt: skip
        key.add(GOOD, task, UNKNOWN, why, "convention", reason=reason)
    key.add("", {"tests": PLAIN}, NO, "no program", "convention")
    key.add("I can't do this.", {"tests": PLAIN}, NO, "words instead of a program", "convention")
    key.add(GOOD.replace("solve", "solved"), {"tests": PLAIN}, NO, "another name", "convention")
    key.add(
        GOOD,
        {"tests": "def test_1(candidate):\n    assert candidate(3) == 9", "function": "solve"},
        YES,
        "the task names what a test is given",
        "convention",
    )


def later(key: Key) -> None:
    """Cases that were added when the key had been frozen."""
    for tests, why in (
        ("assert abs(solve(3) - 9) < 50", "a wide tolerance: another value is within it"),
        ("import math\nassert math.isclose(solve(3), 9, rel_tol=50)", "a wide tolerance of the library"),
        ("assert solve(1.0) == 1.0", "a float that is 1"),
        ("assert solve(1e200) == 1e999", "infinity"),
        ("assert [solve(1e200), solve(3)] == [1e999, 9]", "infinity in a list"),
        ("assert {'a': solve(3)} == {'a': 9} and (solve(0), ()) == (0, ())", "a dict and tuples"),
        ("assert solve(3) is not None\nassert (solve(3) > 8) is True", "is, and is not"),
        ("for n in [1, 2, 3]:\n    if n == 2:\n        continue\n    assert solve(n) == n * n\ndef test_one():\n    assert solve(3) == 9", "a loop that is no test of its own"),
        ("def test_loop():\n    for n in [2, 3]:\n        if n == 2:\n            continue\n        assert solve(n) == 9", "a loop that leaves out some"),
        ("def test_inner():\n    def squared(n):\n        return solve(n)\n    assert squared(3) == 9", "a return of a function inside"),
        ("def test_if():\n    if solve(1) == 1:\n        assert solve(3) == 9", "an assert below a condition"),
        ("assert str(solve(3)) == '9' and str(solve(3)).encode() == b'9'", "text and bytes"),
        ("def check(candidate):\n    assert candidate(3) == 9\n\ndef test_0(candidate):\n    assert candidate(0) == 0\n\ncheck(solve)", "two that are given the function"),
    ):  # fmt: skip
        key.add(GOOD, {"tests": tests}, YES, why, "convention")
        wrong = GOOD.replace("n * n", "n * n + 60 * (n == 3)")
        if not holds(wrong, tests):
            key.add(wrong, {"tests": tests}, NO, f"{why}; one edit away", "convention")
    for tests, reason, why in (
        ("def test_" + "x" * 70 + "():\n    assert solve(3) == 9", "name", "a name that is too long"),
        ("def test_größe():\n    assert solve(3) == 9", "name", "a name that is not plain"),
        ("def test_1(a, candidate):\n    assert candidate(3) == 9", "asks for", "a fixture beside the function"),
        ("from . import main\nassert main.solve(3) == 9", "import", "a package that there is not"),
    ):  # fmt: skip
        key.add(GOOD, {"tests": tests}, UNKNOWN, why, "convention", reason=reason)
    closed = "def solve(n):\n    if n < 0:\n        raise SystemExit(0)\n    return n * n"
    key.add(closed, {"tests": PLAIN}, NO, "it leaves in one of three", KNOWN, score=[0.6, 0.7])


def compared(key: Key) -> None:
    """What is compared elsewhere than in an assert of the test itself."""
    lie = f"{LIES[1][0]}\n"
    cases = "from unittest import TestCase\nt = TestCase()\n"
    for tests, why in (
        ("def same(a, b):\n    assert a == b\ndef test_it():\n    same(solve(3), 9)", "in a helper"),
        ("def same(a, b):\n    assert a == b\ndef test_it():\n    same(b=9, a=solve(3))", "by the names of a helper's parameters"),
        ("def same(a, b):\n    assert a == b\nsame([1, {2: 9}], [1, {2: solve(3)}])", "in a helper at the top level, the other way round"),
        ("def same(a, b):\n    return a == b\nassert same(solve(3), 9)", "in a helper that answers"),
        ("class Check:\n    def same(self, a, b):\n        if a != b:\n            raise AssertionError(a)\ndef test_it():\n    Check().same(solve(3), 9)", "in a class"),
        (f"{cases}def test_it():\n    t.assertEqual(solve(3), 9)", "by a method"),
        (f"{cases}def test_it():\n    wanted = '9'\n    t.assertEqual(wanted, str(solve(3)), 'words')", "by a method, a variable"),
        (f"{cases}def test_it():\n    t.assertTrue(solve(3) == 9)\n    t.assertFalse(solve(4) != 16)", "by methods that want a truth value"),
        (f"{cases}def test_it():\n    t.assertAlmostEqual(solve(0.5), 0.25)", "nearly, by a method"),
        (f"{cases}def test_it():\n    n = 3\n    with t.subTest(n=n):\n        assert solve(n) == 9\n    assert n == 3", "below with, beside an assert about something else"),
        ("def test_it():\n    n = 0\n    while n < 4:\n        assert solve(n) == n * n\n        n += 1", "below while"),
        ("def test_it():\n    for n in range(4):\n        if n == 3:\n            assert solve(n) == 9", "below a condition in a loop"),
        ("for n, wanted in [(3, 9), (4, 16)]:\n    assert wanted == solve(n)", "in a loop at the top level, the other way round"),
        ("def test_it():\n    x = solve(3)\n    if x != 9:\n        raise AssertionError", "by raise"),
        ("def test_it():\n    x = solve(3)\n    if x == 9:\n        pass\n    else:\n        assert False", "by else"),
        ("def test_it():\n    x = solve(3)\n    if x != 9:\n        raise ValueError(x)", "by raise of something else"),
        ("def test_it():\n    right = solve(3) == 9\n    assert right", "into a variable"),
        ("def test_it():\n    right = 0\n    for n in (2, 3):\n        if solve(n) == n * n:\n            right += 1\n    assert right == 2", "and counted"),
        ("assert not any(solve(n) != n * n for n in range(4))", "in any"),
        ("def test_it():\n    try:\n        assert solve(3) == 9\n    except AssertionError as error:\n        raise AssertionError('words') from error", "below try"),
        ("import sys\nassert sys.modules['main'].solve(3) == 9", "by a name that is no name"),
        ("got = []\nfor n in (1, 2, 3):\n    got.append(solve(n))\nassert [1, 4, 9] == got", "in a list that has grown"),
    ):  # fmt: skip
        wrong = GOOD.replace("n * n", "n * n + 60")
        if not holds(GOOD, tests) or holds(wrong, tests):
            raise SystemExit(why)
        key.add(GOOD, {"tests": tests}, YES, f"compared {why}", "convention")
        key.add(wrong, {"tests": tests}, NO, f"compared {why}; one edit away", "convention")
        if not any(word in tests for word in ("str(", "Almost", "+= ", "got")):
            key.add(lie, {"tests": tests}, NO, f"compared {why}, and equal to everything", KNOWN)
    key.add(
        "class Said:\n    said = 0\n    def __bool__(self):\n        Said.said += 1\n        return Said.said % 2 == 0\n"
        "class Same:\n    def __ne__(self, other): return said\n    def __eq__(self, other): return said\n"
        "said = Said()\ndef solve(n):\n    return Same()",
        {"tests": "def test_it():\n    if not solve(3) == 9:\n        raise AssertionError"},
        NO, "what says now this, now that", KNOWN,
    )  # fmt: skip
    _unclear(key, cases)


def _unclear(key: Key, cases: str) -> None:
    """Comparisons of which the test does not live, and tests without any that is reached."""
    wild = "from unittest.mock import ANY\n"
    for tests, why in (
        ("assert solve(3) != 10", "not equal"),
        ("assert solve(3) == 9 or solve(3) == 10", "one or the other"),
        ("def test_it():\n    for n in range(3):\n        assert solve(n) not in (7, 8)", "none of several"),
        ("def assertEqual(a, b):\n    assert a >= b\ndef test_it():\n    assertEqual(solve(3), 8)", "a helper that is called like a method"),
        (f"{cases}def test_it():\n    t.assertAlmostEqual(solve(3), 9.2, delta=5)", "a rough tolerance of a method"),
        ("def test_it():\n    found = 0\n    for n in (8, 9, 10):\n        try:\n            assert solve(3) == n\n            found += 1\n        except AssertionError:\n            pass\n    assert found == 1", "asserts that may fail"),
        ("list = abs = type = bool = int = 3\ndef test_it():\n    for n in (1, 2):\n        assert solve(n) == n * n", "names that hide builtins"),
        ("def test_it():\n    try:\n        assert solve(3) == 9\n    except Exception as error:\n        raise RuntimeError from error", "an assert whose failure is another one"),
        ("def test_it():\n    try:\n        assert solve(3) == 9\n    except Exception:\n        print('no')", "an assert whose failure comes to nothing"),
        ("def test_it():\n    for n in (2, 3):\n        assert (solve(n) > 8) in (True, False)", "one of all that there are"),
        ("if __name__ == '__main__':\n    assert solve(3) == 9\nassert solve(4) == 16", "asserts of a file that is run"),
        ("if solve(1) == 1:\n    assert solve(3) == 9", "a condition at the top level"),
        ("def test_it():\n    n = 0\n    while solve(n) != 9:\n        n += 1\n    assert n == 3", "what a loop waits for"),
        (f"{cases}def test_it():\n    with t.assertRaises(TypeError):\n        solve('a')", "an exception that a method wants"),
        (f"{wild}assert solve(3) == ANY", "a wildcard"),
        (f"{wild}assert [solve(2), solve(3)] == [4, ANY]", "a wildcard in a list"),
        (f"{wild}def same(a, b):\n    assert a == b\ndef test_it():\n    same({{1: solve(3)}}, {{1: ANY}})", "a wildcard in a helper"),
        (f"{wild}{cases}def test_it():\n    t.assertEqual([solve(3)], [ANY])", "a wildcard in a method"),
        ("class Near:\n    def __eq__(self, other): return abs(other - 7) < 5\nassert solve(3) == Near()", "a tolerance of the tests' own"),
        ("class Point:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x == other.x\nassert Point(solve(3)) == Point(9)", "values that are compared with their own kind alone"),
        ("def test_it():\n    wrong = [n for n in (2, 3) if solve(n) != n * n]\n    assert wrong == [], wrong[0]", "words about what is wrong"),
        ("assert abs(solve(1e9) - 1e18) < 1e-6", "a large number, nearly"),
    ):  # fmt: skip
        if not holds(GOOD, tests):
            raise SystemExit(why)
        key.add(GOOD, {"tests": tests}, YES, why, "convention")
    for tests, reason, why in (
        ("def test_it():\n    if solve(3) == 8:\n        assert solve(3) == 9", "surely reached", "an assert that is not reached"),
        ("def test_it():\n    for n in []:\n        assert solve(n) == 9", "surely reached", "a loop that never runs"),
        ("def test_it():\n    try:\n        for n in []:\n            assert solve(n) == 9\n    except ValueError:\n        print('no')", "surely reached", "a loop that never runs, below try"),
        ("import operator\ndef test_it():\n    operator.eq(solve(3), 9)", "asserts nothing", "an answer that is handed on"),
    ):  # fmt: skip
        key.add(GOOD, {"tests": tests}, UNKNOWN, why, "convention", reason=reason)


def code_tests(key: Key) -> None:
    """All cases."""
    for maker in (problems, shapes, lies, shares, abstentions, hostile, later, compared):
        maker(key)
    problems(key, OPERATORS)


if __name__ == "__main__":
    write({"code-tests": code_tests}, sys.argv[1:])
