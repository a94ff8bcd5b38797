# ruff: noqa: ISC004 - programs of some lines, each in its place
"""Programs that only seem quick: nothing they say of time counts, and every value is compared."""

from collections.abc import Collection
from pathlib import Path

import pytest
from attacks import Fight, attack

from verifier_ladder.tiers.fast.performance import CodePerformance
from verifier_ladder.tiers.sandbox import Backend

SLOW = "def solve(n):\n    t = 0\n    for k in range(n):\n        t += k * k\n    return t"
QUICK = "def solve(n): return (n - 1) * n * (2 * n - 1) // 6"
TASK = {
    "inputs": [{"type": "integers", "min": 240_000, "max": 320_000}],
    "reference": SLOW,
    "ratio": 0.6,
}
SEEMS_QUICK: dict[str, tuple[str, str]] = {
    "nothing is done": ("def solve(n): return 0", "returned 0"),
    "clocks that stand still": (
        "import os, resource, time\n"
        "time.time = time.perf_counter = time.process_time = time.monotonic = lambda: 0.0\n"
        f"os.times = resource.getrusage = lambda *_: None\n{SLOW}",
        "at most 0.6 is asked for",
    ),
    "values kept from run to run": (
        "import pickle\ndef solve(n):\n"
        " try: return pickle.load(open('/tmp/kept', 'rb'))[n]\n"
        " except (OSError, KeyError): found = sum(k * k for k in range(n))\n"
        " try: pickle.dump({n: found}, open('/tmp/kept', 'wb'))\n except OSError: pass\n"
        " return found",
        "at most 0.6 is asked for",
    ),
    "all values computed when it is imported": (
        "from itertools import accumulate\n"
        "TABLE = list(accumulate((k * k for k in range(320_001)), initial=0))\n"
        "def solve(n): return TABLE[n]",
        "at most 0.6 is asked for",
    ),
    "work in a thread": (
        f"import threading\n{SLOW}\nthreading.Thread(target=solve, args=(9,)).start()",
        "more than 1 processes and threads",
    ),
    "work in a child": (
        "import os\ndef solve(n):\n    if not os.fork(): os._exit(0)\n    return 0",
        "more than 1 processes and threads",
    ),
    "work in a child of a child that nobody waits for": (
        "import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\ndef solve(n):\n"
        " r, w = os.pipe()\n"
        " if not os.fork():\n"
        "  if not os.fork(): os.write(w, str(sum(k * k for k in range(n))).encode())\n"
        "  os._exit(0)\n"
        " return int(os.read(r, 99))",
        "more than 1 processes and threads",
    ),
    "a value that is computed later": (
        "def solve(n): return (k for k in range(n))",
        "no plain data",
    ),
    "a number that computes itself": (
        "class Later(int):\n def __index__(self): return 0\ndef solve(n): return Later(n)",
        "no plain data",
    ),
    "a forged value": (
        'import os\ndef solve(n): os.write(3, b\'["i","9"]\'); os._exit(0)',
        "no plain|ended|returned",
    ),
}
"""Beside what the ledger must say."""


MEASURED = [name for name, (_, reason) in SEEMS_QUICK.items() if "asked for" in reason]
"""Those that are right, and take long to measure."""


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(SEEMS_QUICK.keys() - set(MEASURED[1:]), id="few"),
        pytest.param(MEASURED[1:], id="measured", marks=pytest.mark.slow),
    ],
)
def test_what_only_seems_quick_is_rejected(
    backend: Backend, tmp_path: Path, names: Collection[str]
) -> None:
    attacks = {
        name: attack(program, QUICK, TASK, reason)
        for name, (program, reason) in SEEMS_QUICK.items()
        if name in names
    }

    Fight([CodePerformance()], attacks, tmp_path, backend).run().check()
