"""Make the series, forecasts and strategies of this example.

    python examples/series/make.py        # writes three files beside this one

The series is a trend with a season and a little noise; the prices go up for eight days and down
for eight. Each file has answers that are better than simple references, and some that are not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from math import pi, sin
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SIZE, FIRST, STEPS = 96, 36, 3
LAST_YEAR = (
    "def solve(history, horizon):\n    drift = history[-1] - history[-13]\n"
    "    return [history[k - 12] + drift for k in range(horizon)]"
)
LAST_VALUE = "def solve(history, horizon):\n    return [history[-1]] * horizon"
PEEKING = "def solve(history, horizon):\n    return [history[len(history)]] * horizon"
TREND = """
last = None
def decide(bar):
    global last
    rises = last is not None and bar["price"] > last
    last = bar["price"]
    change = (1000 if rises else 0) - bar["position"]
    return f"buy {change}" if change > 0 else f"sell {-change}" if change < 0 else "hold"
""".strip()
KEEP = "def decide(bar):\n    return 'hold' if bar['position'] else 'buy 1000'"
AHEAD = "import sys\ndef decide(bar):\n    return 'buy 1' if sys.stdin.readline() else 'hold'"


def season() -> list[float]:
    """A trend, a season of twelve, and a little noise."""
    draw = random.Random(1)  # noqa: S311 - an example, no secret
    law = (20 + n * n / 50 + 6 * sin(2 * pi * n / 12) for n in range(SIZE))
    return [round(each + draw.gauss(0, 0.4), 2) for each in law]


def ramps() -> list[float]:
    """Eight days up, eight days down."""
    draw = random.Random(2)  # noqa: S311 - an example, no secret
    days = (n % 16 for n in range(240))
    return [round(100 + 0.8 * min(n, 16 - n) + draw.gauss(0, 0.1), 2) for n in days]


def write(name: str, task: Mapping[str, Any], completions: Iterable[str]) -> None:
    """Write a file of rollouts."""
    rows = (json.dumps({"completion": each, **task}) for each in completions)
    (HERE / f"{name}.jsonl").write_text("".join(f"{row}\n" for row in rows), "utf-8")


def main() -> None:
    """Write all of them."""
    values = season()
    task = {"values": values, "first": FIRST, "horizon": STEPS, "period": 12, "skill": 0.1}
    write("forecasts", task, (LAST_YEAR, LAST_VALUE, PEEKING))
    origins = range(FIRST, SIZE - STEPS + 1)
    normals = [[[values[t + k - 12] + values[t - 1] - values[t - 13], 0.8] for k in range(STEPS)]
               for t in origins]  # fmt: skip
    wide = [[[mean, 40.0] for mean, _ in row] for row in normals]
    texts = [f"```json\n{json.dumps(rows)}\n```" for rows in (normals, wide)]
    write("written", {**task, "form": "normals"}, texts)
    prices = ramps()
    times = [1767628800 + 86400 * n for n in range(len(prices))]
    task = {"prices": prices, "times": times, "limits": {"wall": 3.0}}
    write("strategies", task, (TREND, KEEP, AHEAD))  # The last waits for what is not sent.


if __name__ == "__main__":
    main()
