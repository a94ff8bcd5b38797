r"""The first cases of the answer key of `code-properties`.

Run: `python tools/code_properties_key.py`; it writes `tiers/answer_keys/code-properties.jsonl`, the
same bytes each time. The key is frozen: later cases are added at the end of a maker, none is
removed or edited.

Truth is the property itself: it holds of the right programs for all inputs, and each wrong one is
an edit that breaks it on inputs that are easy to find. Both are tried here, on inputs of this
file's own, before they are written.
"""

# ruff: noqa: E501 - a program stands in one line, so that its edits can be seen.

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from code_attacks import BOMBS, HOSTILE
from code_key import FRAMES
from keywriter import NO, YES, Key, write

PROPERTY, KNOWN = "generator: the property itself", "known hack"
WHOLE = {"type": "integers"}
LIST = {"type": "lists", "of": WHOLE}
SMALL = {"type": "lists", "of": {"type": "integers", "min": 0, "max": 3}}
TEXT = {"type": "text"}
LISTS = [([],), ([0],), ([2, 1, 2],), ([3, -1, 3, 0],), ([1, 1, 1, 2, 2],), ([-300, 5, 70_000],)]
NUMBERS = [(0,), (1,), (-1,), (7,), (-12,), (10**9,), (255,), (256,)]
WORDS = [("",), ("a",), (" a ",), ("aab",), ("Añ🙂",), ("x\n\t",), ("aaaa",)]


class Problem(NamedTuple):
    """What must hold of a function, programs of which it does, and edits that break it."""

    task: dict[str, Any]
    right: Sequence[str]
    edits: Sequence[tuple[str, str]]
    """Of the first right program."""
    inputs: Sequence[tuple[Any, ...]]
    why: str


def sums(source: str) -> dict[str, Any]:
    """A task whose reference is a program of two integers."""
    return {"property": "reference", "reference": source, "inputs": [WHOLE, WHOLE]}


PAIRS = [(0, 0), (1, 2), (-3, 5), (10**12, -1), (7, 7), (-4, -9), (5, -5)]
PROBLEMS = (
    Problem(
        {"property": "sorts", "inputs": [LIST]},
        ["def solve(xs):\n    return sorted(xs)", "def solve(xs):\n    xs.sort()\n    return xs", "import heapq\ndef solve(xs):\n    heapq.heapify(xs)\n    return [heapq.heappop(xs) for _ in range(len(xs))]"],
        [("sorted(xs)", "sorted(set(xs))"), ("sorted(xs)", "tuple(sorted(xs))"), ("sorted(xs)", "sorted(xs, reverse=True)"), ("sorted(xs)", "sorted(map(float, xs))"), ("sorted(xs)", "sorted(xs, key=abs)"), ("sorted(xs)", "sorted(xs)[1:]"), ("sorted(xs)", "list(range(len(xs)))"), ("sorted(xs)", "xs"), ("sorted(xs)", "sorted(xs + [0])")],
        LISTS, "sorting",
    ),
    Problem(
        {"property": "sorts", "inputs": [SMALL]},
        ["def solve(xs):\n    return [n for n in range(4) for _ in range(xs.count(n))]"],
        [("range(4)", "range(3)"), ("xs.count(n)", "min(xs.count(n), 1)"), ("[n for", "[bool(n) for")],
        [([],), ([3],), ([3, 0, 3],), ([1, 2, 1, 2],), ([2, 2, 3, 0],)], "sorting by counting",
    ),
    Problem(
        {"property": "idempotent", "inputs": [WHOLE]},
        ["def solve(n):\n    return abs(n)", "def solve(n):\n    return max(n, 0)", "def solve(n):\n    return n - n % 2"],
        [("abs(n)", "-n"), ("abs(n)", "n + 1"), ("abs(n)", "[n]"), ("abs(n)", "n // 2"), ("abs(n)", "n ^ 1")],
        NUMBERS, "twice is once",
    ),
    Problem(
        {"property": "idempotent", "inputs": [TEXT]},
        ["def solve(text):\n    return text.strip()", "def solve(text):\n    return ' '.join(text.split())", "def solve(text):\n    return text.encode('ascii', 'ignore').decode()"],
        [("text.strip()", "text[1:]"), ("text.strip()", "text + ' '"), ("text.strip()", "text[::-1]"), ("text.strip()", "text.encode().hex()")],
        WORDS, "text that is cleaned stays clean",
    ),
    Problem(
        {"property": "idempotent", "inputs": [LIST]},
        ["def solve(xs):\n    return list(dict.fromkeys(xs))", "def solve(xs):\n    return [x for x in xs if x > 0]"],
        [("list(dict.fromkeys(xs))", "xs[1:]"), ("list(dict.fromkeys(xs))", "xs[::-1]"), ("list(dict.fromkeys(xs))", "[x + 1 for x in xs]"), ("list(dict.fromkeys(xs))", "xs + xs")],
        LISTS, "duplicates are gone",
    ),
    Problem(
        {"property": "round-trip", "inverse": "back", "inputs": [TEXT]},
        ["def solve(text):\n    return text.encode()\n\ndef back(data):\n    return data.decode()", "def solve(text):\n    return [ord(c) for c in text]\n\ndef back(codes):\n    return ''.join(map(chr, codes))", "import itertools\ndef solve(text):\n    return [(c, len(list(same))) for c, same in itertools.groupby(text)]\n\ndef back(runs):\n    return ''.join(c * n for c, n in runs)"],
        [("text.encode()", "text.strip().encode()"), ("text.encode()", "text.lower().encode()"), ("text.encode()", "text.encode('ascii', 'replace')"), ("data.decode()", "data"), ("data.decode()", "data.decode('latin-1')"), ("data.decode()", "data.decode()[::-1]")],
        WORDS, "there and back",
    ),
    Problem(
        {"property": "round-trip", "inverse": "back", "inputs": [WHOLE]},
        ["def solve(n):\n    return hex(n)\n\ndef back(text):\n    return int(text, 16)", "def solve(n):\n    return [n < 0, str(abs(n))]\n\ndef back(parts):\n    return -int(parts[1]) if parts[0] else int(parts[1])"],
        [("hex(n)", "hex(abs(n))"), ("int(text, 16)", "float(int(text, 16))"), ("int(text, 16)", "text"), ("hex(n)", "hex(n & 255)")],
        NUMBERS, "a number and its text",
    ),
    Problem(
        sums("def solve(a, b):\n    return a + b"),
        ["def solve(a, b):\n    return b + a", "def solve(a, b):\n    return sum((a, b))", "def solve(a, b):\n    return -(-a - b)"],
        [("b + a", "b - a"), ("b + a", "float(b + a)"), ("b + a", "abs(b) + abs(a)"), ("b + a", "b + a + (a == 0)"), ("b + a", "str(b + a)")],
        PAIRS, "a sum",
    ),
    Problem(
        sums("def solve(a, b):\n    return max(a, b)"),
        ["def solve(a, b):\n    return a if a > b else b", "def solve(a, b):\n    return sorted([a, b])[1]"],
        [("a > b", "a < b"), ("else b", "else 0"), ("a if a > b else b", "(a + b + abs(a - b)) / 2")],
        PAIRS, "the larger one",
    ),
)  # fmt: skip


def holds(source: str, problem: Problem) -> bool:
    """Whether the property holds of a harmless program, on this file's own inputs."""
    space: dict[str, Any] = {}
    exec(source, space)  # noqa: S102 - a program of this file
    return all(_holds(space, problem.task, given) for given in problem.inputs)


def _holds(space: dict[str, Any], task: dict[str, Any], given: tuple[Any, ...]) -> bool:
    solve: Callable[..., Any] = space["solve"]
    first = given[0]
    copied = [list(each) if isinstance(each, list) else each for each in given]
    try:
        found = solve(*copied)
        if task["property"] == "sorts":
            return repr(found) == repr(sorted(first))
        if task["property"] == "idempotent":
            again = solve(list(found) if isinstance(found, list) else found)
            return repr(again) == repr(found)
        if task["property"] == "round-trip":
            return repr(space["back"](found)) == repr(first)
        wanted: dict[str, Any] = {}
        exec(task["reference"], wanted)  # noqa: S102 - a program of this file
        return repr(found) == repr(wanted["solve"](*given))
    except Exception:  # noqa: BLE001 - an edit may break it
        return False


def problems(key: Key) -> None:
    """Programs of which a property holds, and edits that break it."""
    for place, problem in enumerate(PROBLEMS):
        frame = FRAMES[place % len(FRAMES)]
        for source in problem.right:
            if not holds(source, problem):
                raise SystemExit(f"{problem.why}: {source} is not right")
            key.add(frame % source, problem.task, YES, problem.why, PROPERTY)
        for old, new in problem.edits:
            source = problem.right[0].replace(old, new, 1)
            if source == problem.right[0] or holds(source, problem):
                raise SystemExit(f"{problem.why}: {new} is not wrong")
            key.add(
                frame % source, problem.task, NO, f"{problem.why}; one edit away: {new}", PROPERTY
            )


SORTS = PROBLEMS[0].task
GOOD = PROBLEMS[0].right[0]


def shapes(key: Key) -> None:
    """What a task may say beside, and where the program stands."""
    named = {**SORTS, "function": "arrange"}
    key.pair(
        GOOD.replace("solve", "arrange"), GOOD, named, "the task names the function", "convention"
    )
    halves = {
        **sums("def solve(a, b):\n    return (a + b) / 2"),
        "tolerance": 1e-9,
        "inputs": [{"type": "floats", "min": -1e3, "max": 1e3}] * 2,
    }
    key.pair(
        "def solve(a, b):\n    return a / 2 + b / 2",
        "def solve(a, b):\n    return a / 2 + b / 2.01",
        halves,
        "floats within a tolerance",
        "convention",
    )
    exact = {**halves, "tolerance": 0.0}
    key.pair(
        "def solve(a, b):\n    return (b + a) / 2",
        "def solve(a, b):\n    return (a + b) / 2 + 1e-9",
        exact,
        "floats, exactly",
        "convention",
    )
    boolean = {"property": "idempotent", "inputs": [{"type": "booleans"}]}
    key.pair(
        "def solve(x):\n    return True",
        "def solve(x):\n    return not x",
        boolean,
        "both truth values are tried",
        "convention",
    )
    pairs = {
        "property": "sorts",
        "inputs": [{"type": "lists", "of": {"type": "tuples", "of": [WHOLE, TEXT]}}],
    }
    key.pair(
        GOOD,
        "def solve(xs):\n    return sorted(xs, key=lambda x: -x[0])",
        pairs,
        "lists of tuples",
        "convention",
    )
    edge = {
        **sums("def solve(a, b):\n    return a + b"),
        "inputs": [{"type": "integers", "min": 0, "max": 9}] * 2,
    }
    key.pair(
        "def solve(a, b):\n    return a + b",
        "def solve(a, b):\n    return a + b if a < 9 else 0",
        edge,
        "the end of a range",
        "convention",
    )
    key.add("", SORTS, NO, "no program", "convention")
    key.add("def solve(xs) return xs", SORTS, NO, "no Python", "convention")
    key.add(GOOD.replace("solve", "solved"), SORTS, NO, "another name", "convention")
    key.add(
        "def solve(xs):\n    raise ValueError", SORTS, NO, "an exception is no value", "convention"
    )
    key.add(
        "def solve(xs):\n    return (x for x in sorted(xs))",
        SORTS,
        NO,
        "a generator is no list",
        "convention",
    )
    key.add("def solve(t):\n    return t", PROBLEMS[5].task, NO, "no inverse at all", "convention")


def abstentions(key: Key) -> None:
    """Tasks that can't be judged by."""
    trip, total = PROBLEMS[5].task, PROBLEMS[7].task
    key.broken(GOOD, (
        (None, "inputs", "no task"),
        ({"property": "sorts"}, "inputs", "no inputs"),
        ({"inputs": [LIST]}, "property", "no property"),
        ({**SORTS, "inputs": []}, "inputs", "inputs that are empty"),
        ({**SORTS, "inputs": [LIST, LIST]}, "one argument", "two arguments to sort"),
        ({**SORTS, "inputs": [{"type": "modules"}]}, "inputs", "inputs of a kind that there is not"),
        ({**SORTS, "inputs": [{"type": "integers", "min": 2, "max": 1}]}, "inputs", "a range that is none"),
        ({**SORTS, "inputs": [{**LIST, "min_size": 3, "max_size": 2}]}, "inputs", "sizes that are none"),
        ({**SORTS, "inputs": [{**LIST, "max_size": 10**9}]}, "inputs", "lists that are too long"),
        ({**SORTS, "function": "os.system"}, "function", "a function that is no name"),
        ({**SORTS, "property": "nice"}, "property", "a property that there is not"),
        ({**SORTS, "tolerance": -1}, "tolerance", "a tolerance below 0"),
        ({**trip, "inverse": None}, "inverse", "no inverse"),
        ({**total, "reference": None}, "reference", "no reference"),
        ({**total, "reference": "def solve(a, b):\n    return 1 / 0"}, "reference", "a reference that raises"),
        ({**total, "reference": "def other(a, b):\n    return a"}, "reference", "a reference without the function"),
    ))  # fmt: skip


def hostile(key: Key) -> None:
    """Programs that try to be paid without the answer, or to break what judges them."""
    for said, why in HOSTILE:
        key.add(said.replace("solve(n)", "solve(*n)"), SORTS, NO, why, KNOWN, hostile=True)
    for said, why in BOMBS:
        key.add(
            said.replace("solve(n)", "solve(*n)"), SORTS, NO, why, "hostile input", hostile=True
        )
    total = PROBLEMS[7].task
    for said, why in (
        ("import glob\ndef solve(a, b):\n    for name in glob.glob('/**/*.py') + glob.glob('*'):\n        if name.endswith('main.py'): continue\n        try:\n            if 'a + b' in open(name).read(): return a + b\n        except Exception: pass\n    return 0", "it looks for the reference in files"),
        ("import gc\ndef solve(a, b):\n    for f in gc.get_objects():\n        if getattr(f, '__name__', '') == 'solve' and f is not solve: return f(a, b)\n    return 0", "it looks for the reference in memory"),
        ("def solve(a, b):\n    return type('Same', (int,), {'__eq__': lambda s, o: True, '__hash__': int.__hash__})(1)", "an integer that is equal to everything"),
    ):  # fmt: skip
        key.add(said, total, NO, why, KNOWN, hostile=True)


def code_properties(key: Key) -> None:
    """All cases."""
    for maker in (problems, shapes, abstentions, hostile):
        maker(key)


if __name__ == "__main__":
    write({"code-properties": code_properties}, sys.argv[1:])
