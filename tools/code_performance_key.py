r"""The first cases of the answer key of `code-performance`.

Run: `python tools/code_performance_key.py`; it writes `tiers/answer_keys/code-performance.jsonl`,
the same bytes each time. The key is frozen: later cases are added at the end of a maker, none is
removed or edited.

Truth about time comes from the way a case is made: a program whose number of steps is another
power of its input, the reference with its work done twice, or the reference itself. The ratio that
is asked for is far from the true one, so that no noise decides. Values are compared here, on small
inputs, before a program is written as right or wrong.
"""

# ruff: noqa: E501 - a program stands in one line, so that its edits can be seen.

from __future__ import annotations

import sys
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from code_key import FRAMES
from keywriter import NO, YES, Key, write

STEPS, KNOWN = "generator: numbers of steps", "known hack"


def whole(low: int, high: int) -> dict[str, Any]:
    """A strategy of integers."""
    return {"type": "integers", "min": low, "max": high}


def many(of: dict[str, Any], size: int) -> dict[str, Any]:
    """A strategy of lists of one size, or a tenth more."""
    return {"type": "lists", "of": of, "min_size": size, "max_size": size + size // 10}


class Problem(NamedTuple):
    """A function, slow and quick."""

    slow: str
    quick: Sequence[str]
    edits: Sequence[tuple[str, str]]
    """Of the first quick program: what to replace to have wrong values, and by what."""
    inputs: list[dict[str, Any]]
    small: Sequence[tuple[Any, ...]]
    why: str


PROBLEMS = (
    Problem(
        "def solve(n):\n    total = 0\n    for k in range(n):\n        total += k * k\n    return total",
        ["def solve(n):\n    return (n - 1) * n * (2 * n - 1) // 6", "def solve(n):\n    m = n - 1\n    return (2 * m ** 3 + 3 * m ** 2 + m) // 6"],
        [("(n - 1) * n", "(n + 1) * n"), ("// 6", "/ 6"), ("2 * n - 1", "2 * n")],
        [whole(100_000, 130_000)], [(0,), (1,), (10,), (77,)], "a closed form",
    ),
    Problem(
        "def solve(xs):\n    found = 0\n    for i in range(len(xs)):\n        for j in range(i):\n            found += xs[i] == xs[j]\n    return found",
        ["def solve(xs):\n    seen = {}\n    found = 0\n    for x in xs:\n        found += seen.get(x, 0)\n        seen[x] = seen.get(x, 0) + 1\n    return found", "from collections import Counter\ndef solve(xs):\n    return sum(n * (n - 1) // 2 for n in Counter(xs).values())"],
        [("+ 1", "+ 2"), ("found = 0", "found = 1")],
        [many(whole(0, 99), 600)], [([],), ([1, 1],), ([1, 2, 1, 1, 2],)], "pairs that are equal",
    ),
    Problem(
        "def solve(xs):\n    xs = list(xs)\n    for i in range(1, len(xs)):\n        x, j = xs[i], i\n        while j and xs[j - 1] > x:\n            xs[j] = xs[j - 1]\n            j -= 1\n        xs[j] = x\n    return xs",
        ["def solve(xs):\n    return sorted(xs)", "def solve(xs):\n    if len(xs) < 2:\n        return list(xs)\n    half = len(xs) // 2\n    a, b, out = solve(xs[:half]), solve(xs[half:]), []\n    while a and b:\n        out.append((a if a[-1] > b[-1] else b).pop())\n    return a + b + out[::-1]"],
        [("sorted(xs)", "sorted(set(xs))"), ("sorted(xs)", "tuple(sorted(xs))")],
        [many(whole(-9999, 9999), 600)], [([3, 1, 2, 1],), ([2, 2],)], "sorting",
    ),
    Problem(
        "def solve(n):\n    return n if n < 2 else solve(n - 1) + solve(n - 2)",
        ["def solve(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a", "import functools\n@functools.cache\ndef solve(n):\n    return n if n < 2 else solve(n - 1) + solve(n - 2)"],
        [("0, 1", "1, 1"), ("return a", "return b")],
        [whole(24, 25)], [(0,), (1,), (12,)], "a recursion that does everything again",
    ),
    Problem(
        "def solve(n):\n    return [k for k in range(2, n) if all(k % d for d in range(2, k))]",
        ["def solve(n):\n    flags = [True] * n\n    flags[:2] = [False] * min(n, 2)\n    for k in range(2, int(n ** .5) + 1):\n        if flags[k]:\n            for m in range(k * k, n, k):\n                flags[m] = False\n    return [k for k, is_prime in enumerate(flags) if is_prime]", "def solve(n):\n    found = []\n    for k in range(2, n):\n        for p in found:\n            if p * p > k:\n                found.append(k)\n                break\n            if k % p == 0:\n                break\n        else:\n            found.append(k)\n    return found"],
        [("range(k * k, n, k)", "range(k, n, k)"), ("[:2]", "[:1]")],
        [whole(2000, 2200)], [(3,), (30,), (100,)], "primes",
    ),
    Problem(
        "def solve(xs):\n    best = xs[0]\n    for i in range(len(xs)):\n        total = 0\n        for x in xs[i:]:\n            total += x\n            best = max(best, total)\n    return best",
        ["def solve(xs):\n    best = total = xs[0]\n    for x in xs[1:]:\n        total = max(total + x, x)\n        best = max(best, total)\n    return best"],
        [("max(total + x, x)", "max(total + x, x + 1)"), ("max(best, total)", "max(best, x)")],
        [many(whole(-99, 99), 400)], [([-3],), ([-5, -1],), ([2, -1, 3],), ([-5, 4, 4, -9, 8],)], "the largest sum of neighbours",
    ),
    Problem(
        "def solve(text):\n    out = ''\n    for c in text:\n        out = c + out\n    for c in set(text):\n        for _ in range(3):\n            out.count(c)\n    return sum(1 for a in range(len(text)) for b in (0, 1, 2, 3) if text[a] == out[a] and b == 0)",
        ["def solve(text):\n    return sum(a == b for a, b in zip(text, text[::-1]))"],
        [("[::-1]", "[::1]"), ("a == b", "a != b")],
        [{"type": "text", "alphabet": "abcd", "min_size": 20_000, "max_size": 22_000}], [("abca",), ("ab",)], "letters that stay in their place",
    ),
)  # fmt: skip


def value(source: str, given: tuple[Any, ...]) -> Any:
    """What a program of this file gives, and its type; an exception as its class."""
    space: dict[str, Any] = {}
    exec(source, space)  # noqa: S102 - a program of this file
    try:
        return repr(space["solve"](*given))
    except Exception as error:  # noqa: BLE001 - an edit may break it
        return type(error)


def twice(source: str) -> str:
    """The same program, with its work done three times."""
    body = source.replace("solve", "once")
    return f"{body}\n\ndef solve(given):\n    once(given)\n    once(given)\n    return once(given)"


def agrees(source: str, problem: Problem) -> bool:
    """Whether it gives what the slow program gives, on small inputs and a larger one."""
    rng = Random(0)  # noqa: S311 - no secret
    larger = {
        "integers": rng.randint(5, 15), "lists": [rng.randint(-9, 9) for _ in range(30)],
        "text": "".join(rng.choices("abcd", k=30)),
    }[problem.inputs[0]["type"]]  # fmt: skip
    return all(
        value(source, given) == value(problem.slow, given) for given in (*problem.small, (larger,))
    )


def problems(key: Key) -> None:
    """Quick, slow and wrong programs."""
    for place, problem in enumerate(PROBLEMS):
        task = {"inputs": problem.inputs, "reference": problem.slow}
        frame = FRAMES[place % len(FRAMES)]
        for quick in problem.quick:
            if not agrees(quick, problem):
                raise SystemExit(f"{quick} is not right")
            key.add(
                frame % quick,
                {**task, "ratio": 0.6},
                YES,
                f"{problem.why}: of a lower power",
                STEPS,
            )
        key.add(
            frame % problem.slow,
            {**task, "ratio": 1.5},
            YES,
            f"{problem.why}: the reference itself, which need not be quicker",
            STEPS,
        )
        key.add(
            frame % problem.slow,
            {**task, "ratio": 0.6},
            NO,
            f"{problem.why}: the reference itself, which is to be quicker",
            STEPS,
        )
        key.add(
            frame % twice(problem.slow),
            {**task, "ratio": 1.5},
            NO,
            f"{problem.why}: three times the work",
            STEPS,
        )
        key.add(
            frame % twice(problem.slow),
            {**task, "ratio": 6},
            YES,
            f"{problem.why}: three times the work, which is allowed",
            STEPS,
        )
        for old, new in problem.edits:
            source = problem.quick[0].replace(old, new, 1)
            if source == problem.quick[0] or agrees(source, problem):
                raise SystemExit(f"{problem.why}: {new} is not wrong")
            key.add(
                frame % source,
                {**task, "ratio": 0.6},
                NO,
                f"{problem.why}; quick, and one edit away: {new}",
                STEPS,
            )


SLOW, INPUTS = PROBLEMS[0].slow, PROBLEMS[0].inputs
TASK = {"inputs": INPUTS, "reference": SLOW, "ratio": 0.6}
WORK = "sum(k * k for k in range(n))"
HACKS = (
    (f"import time\ntime.time = time.perf_counter = time.process_time = time.monotonic = lambda: 0.0\n{SLOW}", "it stops the clocks"),
    (f"import resource\nresource.getrusage = lambda *a: None\n{SLOW}", "it hides what it used from itself"),
    (f"import os\nos.times = lambda: None\nos.wait4 = None\n{SLOW}", "it patches what tells of times"),
    (f"import os\ndef solve(n):\n    r, w = os.pipe()\n    if os.fork() == 0:\n        os.write(w, str({WORK}).encode())\n        os._exit(0)\n    os.close(w)\n    return int(os.read(r, 100))", "a child does the work"),
    (f"import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\ndef solve(n):\n    r, w = os.pipe()\n    if os.fork() == 0:\n        os.write(w, str({WORK}).encode())\n        os._exit(0)\n    os.close(w)\n    return int(os.read(r, 100))", "a child does the work, and nobody is told of its end"),
    (f"import os\ndef solve(n):\n    r, w = os.pipe()\n    if os.fork() == 0:\n        if os.fork() == 0:\n            os.write(w, str({WORK}).encode())\n        os._exit(0)\n    os.close(w)\n    return int(os.read(r, 100))", "a grandchild does the work"),
    (f"import threading\ndef solve(n):\n    out = []\n    thread = threading.Thread(target=lambda: out.append({WORK}))\n    thread.start()\n    thread.join()\n    return out[0]", "a thread does the work"),
    (f"from concurrent.futures import ThreadPoolExecutor\ndef solve(n):\n    with ThreadPoolExecutor(4) as pool:\n        return pool.submit(lambda: {WORK}).result()", "a pool of threads does the work"),
    ("import subprocess, sys\ndef solve(n):\n    return int(subprocess.run([sys.executable, '-c', f'print(sum(k * k for k in range({n})))'], capture_output=True).stdout)", "another program does the work"),
    ("import multiprocessing\ndef work(n): return sum(k * k for k in range(n))\ndef solve(n):\n    with multiprocessing.Pool(2) as pool:\n        return pool.apply(work, (n,))", "a pool of processes does the work"),
    (f"import json, os\ndef solve(n):\n    try:\n        return json.load(open('/tmp/cache'))[str(n)]\n    except Exception:\n        found = {WORK}\n        try: json.dump({{str(n): found}}, open('/tmp/cache', 'w'))\n        except OSError: pass\n        return found", "it keeps values in a file"),
    (f"import functools\n@functools.lru_cache(None)\ndef solve(n):\n    return {WORK}", "it keeps values in its process"),
    ("TABLE = []\ntotal = 0\nfor k in range(130_001):\n    TABLE.append(total)\n    total += k * k\ndef solve(n):\n    return TABLE[n]", "it computes all values when it is imported"),
    ("class Later(int):\n    def __index__(self): return sum(range(9))\ndef solve(n):\n    return Later(1)", "a value that is computed later"),
    ("def solve(n):\n    return (k * k for k in range(n))", "a generator: nothing is done yet"),
    (f"def solve(n):\n    return lambda: {WORK}", "a function: nothing is done yet"),
    ("def solve(n):\n    return 0", "quick, and always 0"),
    ("import os\nos._exit(0)", "it ends at once"),
    ("import os\ndef solve(n):\n    os.write(3, b'v[\"i\",\"9\"]')\n    os._exit(0)", "it forges a value"),
    ("import time\ndef solve(n):\n    time.sleep(0.01)\n    return 0", "it sleeps instead"),
    (f"import os, signal\ndef solve(n):\n    try: os.setpriority(0, 0, 19)\n    except OSError: pass\n    os.sched_setaffinity(0, {{0}}) if hasattr(os, 'sched_setaffinity') else None\n    return {WORK}", "it changes its priority"),
    (f"import sys\ndef solve(n):\n    out = {WORK}\n    sys.stdout.write('x' * 10 ** 7)\n    return out", "it writes without end"),
)  # fmt: skip
CHANGED = (
    ("def solve(xs):\n    xs.sort()\n    del xs[5:]\n    return xs", "it changes its input"),
    ("def solve(xs):\n    return xs", "it returns its input"),
    (
        "class L(list): pass\ndef solve(xs):\n    return L(xs)",
        "a list that would sort itself later",
    ),
)


def hostile(key: Key) -> None:
    """Programs that try to seem quick."""
    for said, why in HACKS:
        key.add(said, TASK, NO, why, KNOWN, hostile=True)
    sorting = PROBLEMS[2]
    task = {"inputs": sorting.inputs, "reference": sorting.slow, "ratio": 0.6}
    for said, why in CHANGED:
        key.add(said, task, NO, why, KNOWN, hostile=True)
    for said, why in (
        ("def solve(n):\n    while True: pass", "it never ends"),
        ("def solve(n):\n    return bytearray(10 ** 10)", "it takes all memory"),
        ("def solve(n):\n    return [0] * 10 ** 7", "too large a value"),
    ):
        key.add(
            said,
            {**TASK, "limits": {"cpu": 0.5, "wall": 5}},
            NO,
            why,
            "hostile input",
            hostile=True,
        )


def abstentions(key: Key) -> None:
    """Tasks that can't be judged by."""
    quick = PROBLEMS[0].quick[0]
    key.broken(quick, (
        (None, "inputs", "no task"),
        ({**TASK, "reference": None}, "reference", "no reference"),
        ({**TASK, "reference": ""}, "reference", "a reference that is empty"),
        ({"inputs": INPUTS, "reference": SLOW}, "ratio", "no ratio"),
        ({**TASK, "ratio": 0}, "ratio", "a ratio of 0"),
        ({**TASK, "ratio": -1}, "ratio", "a ratio below 0"),
        ({**TASK, "ratio": "fast"}, "ratio", "a ratio that is no number"),
        ({**TASK, "inputs": []}, "inputs", "no inputs"),
        ({**TASK, "inputs": [whole(5, 4)]}, "inputs", "a range that is none"),
        ({**TASK, "inputs": [whole(5, 9)]}, "larger", "inputs on which nothing takes time"),
        ({**TASK, "inputs": [{"type": "files"}]}, "inputs", "inputs of a kind that there is not"),
        ({**TASK, "reference": "def solve(n):\n    return 1 / 0"}, "reference", "a reference that raises"),
        ({**TASK, "reference": SLOW.replace("solve", "other")}, "reference", "a reference without the function"),
        ({**TASK, "reference": "def solve(n):\n    while True: pass", "limits": {"cpu": 0.3}}, "reference", "a reference that never ends"),
        ({**TASK, "function": "os.system"}, "function", "a function that is no name"),
        ({**TASK, "limits": {"cpu": 100_000}}, "cpu", "more time than is allowed"),
        ({**TASK, "tolerance": -1}, "tolerance", "a tolerance below 0"),
    ))  # fmt: skip
    key.add("", TASK, NO, "no program", "convention")
    key.add("def solve(n) return 1", TASK, NO, "no Python", "convention")
    key.add(quick.replace("solve", "solved"), TASK, NO, "another name", "convention")
    named = {**TASK, "function": "total", "reference": SLOW.replace("solve", "total")}
    key.add(
        quick.replace("solve", "total"), named, YES, "the task names the function", "convention"
    )
    floats = {**TASK, "reference": SLOW.replace("total = 0", "total = 0.0"), "tolerance": 1e-9}
    key.add(
        f"{quick.replace('// 6', '/ 6')}", floats, YES, "floats within a tolerance", "convention"
    )
    key.add(
        f"{quick.replace('// 6', '/ 6.001')}",
        floats,
        NO,
        "floats outside the tolerance",
        "convention",
    )


def code_performance(key: Key) -> None:
    """All cases."""
    for maker in (problems, abstentions, hostile):
        maker(key)


if __name__ == "__main__":
    write({"code-performance": code_performance}, sys.argv[1:])
