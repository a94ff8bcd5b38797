# ruff: noqa: E501 - one case, and one program, a line
"""Make the answer key of `back-test`, from prices that are made here.

    python tools/backtest_key.py     # writes tiers/answer_keys/back-test.jsonl

What a strategy earns is counted here from the cash that each trade moves, in one process with it,
for all strategies whose result is counted are tame. A right one earns more than what is asked for
beyond all doubt: the mean of batches of bars lies more than three standard errors beyond it.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from math import ceil, pi, sin, sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple

from code_attacks import BOMBS, HOSTILE
from keywriter import NO, YES, Key, write

CLOSED = "closed form: the cash that trades move"
FEE, SLIPPAGE, MOST = 0.001, 0.0005, 1000.0
SURE = 3.0
"""Standard errors from which on nobody can doubt it."""
DAY, FIRST = 86400, 1767628800
"""A day, and the first close: 2026-01-05T16:00Z."""
ORDER = re.compile(r"(buy|sell) (\S+)(?: limit (\S+))?")


# ---- Prices


def _made(size: int, law: Callable[[int], float], noise: float, seed: int) -> list[float]:
    draw = random.Random(seed)  # noqa: S311 - cases, not secrets
    return [round(law(n) + draw.gauss(0, noise), 2) for n in range(size)]


def _ramp(n: int) -> float:
    return 100 + 0.8 * (n % 16 if n % 16 < 8 else 16 - n % 16)  # noqa: PLR2004 - half of it


WAVE = _made(192, lambda n: 100 + 10 * sin(2 * pi * n / 16), 0.3, 1)
RAMP = _made(240, _ramp, 0.1, 2)
FALL = _made(80, lambda n: 200 - 0.5 * n, 0.3, 3)
RISE = _made(80, lambda n: 100 + 0.5 * n, 0.3, 4)
RIPPLE = _made(160, lambda n: 100 + 0.1 * (n % 4 < 2), 0.0, 5)  # noqa: PLR2004 - half of it


def task(prices: Sequence[float | None], **more: Any) -> dict[str, Any]:
    """A task of daily prices; what is as it is by default is left out."""
    times = more.pop("times", [FIRST + DAY * n for n in range(len(prices))])
    return {"prices": list(prices), "times": times, **more}


# ---- What a strategy earns


class Order(NamedTuple):
    """What is traded at the next price."""

    sign: int
    size: float
    limit: float | None


def read(said: str) -> Order | None:
    """A tame order; None for nothing."""
    if said == "hold":
        return None
    match = ORDER.fullmatch(said)
    if match is None:
        raise ValueError(said)
    side, size, limit = match.groups()
    return Order(1 if side == "buy" else -1, float(size), None if limit is None else float(limit))


class Costs(NamedTuple):
    """What trading costs."""

    fee: float = FEE
    slippage: float = SLIPPAGE


def equity(
    bars: Sequence[tuple[float, float]], decide: Callable[[dict[str, float]], str], costs: Costs
) -> list[float]:
    """What a strategy is worth at each bar: the cash that it has moved, and what it holds."""
    held, waiting, found = 0.0, None, list[float]()
    flows: list[float] = []

    def trade(sign: int, size: float, told: float) -> None:
        nonlocal held
        price = told * (1 + sign * costs.slippage)
        flows.append(-sign * size * price - costs.fee * size * price)
        held += sign * size

    for n, (time, price) in enumerate(bars):
        if waiting is not None:
            at = price * (1 + waiting.sign * costs.slippage)
            if waiting.limit is None or waiting.sign * (at - waiting.limit) <= 0:
                trade(waiting.sign, waiting.size, price)
        if n == len(bars) - 1:
            if held:
                trade(-1 if held > 0 else 1, abs(held), price)
            found.append(sum(flows))
            return found
        found.append(sum(flows) + held * price)
        waiting = read(
            decide({"time": time, "price": price, "position": held, "profit": found[-1]})
        )
    return found


class Worth(NamedTuple):
    """What a strategy has beyond buying and holding, and how surely it is more than is asked."""

    excess: float
    surely: float


def is_open(given: dict[str, Any], time: float) -> bool:
    """Whether a time lies in a session."""
    return "sessions" not in given or any(a <= time <= b for a, b in given["sessions"])


def judged(program: str, given: dict[str, Any], costs: Costs, most: float) -> Worth:
    """How good a strategy is."""
    rows = zip(given["times"], given["prices"], strict=True)
    bars = [(t, p) for t, p in rows if p is not None and is_open(given, t)]
    space: dict[str, Any] = {}
    with redirect_stdout(StringIO()):
        exec(program, space)  # noqa: S102 - a program of this file
        mine = equity(bars, space[given.get("function", "decide")], costs)
    asked = iter([f"buy {most}"])
    theirs = equity(bars, lambda _: next(asked, "hold"), costs)
    capital = most * bars[0][1]
    ahead = [(a - b) / capital for a, b in zip(mine, theirs, strict=True)]
    gains = [b - a for a, b in pairwise(ahead)]
    step = ceil(len(gains) ** (1 / 3))
    batches = [fmean(gains[n : n + step]) for n in range(0, len(gains) - step + 1, step)]
    error = stdev(batches) / sqrt(len(batches)) or 1e-12
    return Worth(ahead[-1], (fmean(gains) - given.get("excess", 0.0) / len(gains)) / error)


def add(
    key: Key, program: str, given: dict[str, Any], outcome: str, why: str, **more: Any
) -> None:
    """Add a case whose outcome the strategy's worth proves.

    Raises:
        ValueError: If it does not.
    """
    chosen = more.get("settings", {})
    costs = Costs(chosen.get("fee", FEE), chosen.get("slippage", SLIPPAGE))
    found = judged(program, given, costs, chosen.get("position_limit", MOST))
    if not (found.surely > SURE if outcome == YES else found.surely < 1):
        raise ValueError(f"{why}: {found} does not show that it is to {outcome}")
    more["score"] = [found.excess - 1e-9, found.excess + 1e-9] if outcome == YES else [0.0, 0.0]
    key.add(program, given, outcome, why, CLOSED, **more)


# ---- Strategies

TO = "    change = want - bar['position']\n    return f'buy {change}' if change > 0 else f'sell {-change}' if change < 0 else 'hold'"
TREND = f"last = None\ndef decide(bar):\n    global last\n    up = last is not None and bar['price'] > last\n    last = bar['price']\n    want = 1000 if up else 0\n{TO}"
BOTH = TREND.replace("else 0\n", "else -1000\n")
FADE = f"want = 0\ndef decide(bar):\n    global want\n    if bar['price'] < 95:\n        want = 1000\n    if bar['price'] > 105:\n        want = 0\n{TO}"
CLASS = f"class Mine:\n    def __init__(self):\n        self.seen = []\n    def decide(self, bar):\n        self.seen.append(bar['price'])\n        want = 1000 if len(self.seen) > 1 and self.seen[-1] > self.seen[-2] else 0\n    {TO.replace(chr(10), chr(10) + '    ')}\ndecide = Mine().decide"
LIMITS = "def decide(bar):\n    if bar['position']:\n        return f\"sell {bar['position']} limit 106\"\n    return 'buy 1000 limit 94'"
CASH = "def decide(bar):\n    return 'hold'"
SHORT = "def decide(bar):\n    return 'hold' if bar['position'] else 'sell 1000'"
KEEP = "def decide(bar):\n    return 'hold' if bar['position'] else 'buy 1000'"
HALF = KEEP.replace("1000", "500")
CLOCK = (
    f"def decide(bar):\n    want = 1000 if (bar['time'] - {FIRST}) // {DAY} % 16 < 7 else 0\n{TO}"
)
MONEY = f"def decide(bar):\n    want = 0 if bar['profit'] > 20000 else -1000\n{TO}"
PLANS: tuple[tuple[str, str, list[float], Sequence[tuple[str, str, str]]], ...] = (
    ("with the trend", TREND, RAMP, (("> last", "< last", "against it"), ("else 0", "else 1000", "always in, as buying and holding is"), ("    last = bar['price']\n", "", "it remembers nothing"))),
    ("both ways with the trend", BOTH, RAMP, (("> last", "< last", "against it"), ("else -1000", "else 1000", "always in"), ("want = 1000 if up", "want = -1000 if up", "never in"))),
    ("with the trend, as a class", CLASS, RAMP, (("self.seen[-1] > self.seen[-2]", "self.seen[-1] < self.seen[-2]", "against it"), ("self.seen[-2] else 0", "self.seen[-2] else 1000", "always in"))),
    ("against the extremes", FADE, WAVE, (("< 95", "> 105", "it buys what is dear"), ("want = 0\n    change", "want = 1000\n    change", "it never sells"), ("> 105", "< 85", "it waits for what never comes"))),
    ("limits at the extremes", LIMITS, WAVE, (("limit 106", "limit 206", "a limit that is never met"), ("limit 94", "limit 1", "another limit that is never met"))),
    ("by the clock", CLOCK, RAMP, (("< 7", ">= 7", "the other half"), ("% 16", "% 5", "another rhythm"))),
    ("not in what falls", CASH, FALL, (("'hold'", "'hold' if bar['position'] else 'buy 1000'", "all of it"),)),
    ("owing what falls", SHORT, FALL, (("sell", "buy", "buying it"),)),
    ("half of what falls", HALF, FALL, (("500", "1000", "all of it"),)),
    ("owing it up to a gain", MONEY, FALL, (("else -1000", "else 1000", "holding it up to a gain"),)),
)  # fmt: skip


def plans(key: Key) -> None:
    """Strategies that earn more than buying and holding, and edits that don't."""
    fences = ("%s", "```python\n%s\n```", "It turns every eight days.\n\n```\n%s\n```\n")
    for n, (why, program, prices, edits) in enumerate(PLANS):
        added = len(key.rows)
        add(key, program, task(prices), YES, why)
        for old, new, how in edits:
            told = f"{why}; one edit away: {how}"
            add(key, program.replace(old, new), task(prices), NO, told)
        for row in key.rows[added:]:
            row["candidate"] = fences[n % 3] % row["candidate"]


def thresholds(key: Key) -> None:
    """What is asked for beyond buying and holding."""
    for program, prices, why in (
        (TREND, RAMP, "with the trend"),
        (SHORT, FALL, "owing what falls"),
        (FADE, WAVE, "against the extremes"),
    ):
        has = judged(program, task(prices), Costs(), MOST).excess
        for share, outcome in ((0.1, YES), (1.001, NO), (0.999, NO)):
            add(
                key,
                program,
                task(prices, excess=round(has * share, 6)),
                outcome,
                f"{why}: {share:g} of what it has is asked for",
            )
    add(
        key,
        HALF,
        task(RISE, excess=-0.9),
        YES,
        "half of what rises, where less than holding will do",
    )
    add(key, HALF, task(RISE), NO, "half of what rises")


def costs(key: Key) -> None:
    """What trading costs."""
    for more, outcome, why in (
        ({"fee": 0.0, "slippage": 0.0}, YES, "a ripple, without costs"), ({"fee": 0.002, "slippage": 0.0}, NO, "a ripple, with a fee"), ({"fee": 0.0, "slippage": 0.002}, NO, "a ripple, with slippage"),
    ):  # fmt: skip
        low = FADE.replace("< 95", "< 100.05").replace("> 105", "> 100.05")
        add(key, low, task(RIPPLE), outcome, why, settings=more)
    add(key, low, task(RIPPLE), NO, "a ripple, with the usual costs")
    for more, why in (
        ({"fee": 0.01, "slippage": 0.0}, "a fee of a hundredth"),
        ({"fee": 0.0, "slippage": 0.01}, "slippage of a hundredth"),
        ({"position_limit": 2000.0}, "half of what may be held"),
    ):
        add(key, SHORT, task(FALL), YES, f"owing what falls: {why}", settings=more)
    add(
        key,
        SHORT.replace("1000", "10"),
        task(FALL),
        YES,
        "owing all that may be owed of little",
        settings={"position_limit": 10.0},
    )


def markets(key: Key) -> None:
    """Halts, and rows outside of sessions."""
    halted = [None if n % 23 in {5, 6} else p for n, p in enumerate(RAMP)]
    days = [FIRST + DAY * n for n in range(len(RAMP))]
    nights = [t for day in days for t in (day, day + 6 * 3600)]
    spikes = [p for each in RAMP for p in (each, each * 1.5)]
    open_days = [[day - 3600, day] for day in days]
    evenings = {"times": nights, "sessions": open_days}
    add(key, TREND, task(halted), YES, "with the trend, through halts")
    add(
        key,
        TREND.replace("> last", "< last"),
        task(halted),
        NO,
        "against the trend, through halts",
    )
    add(
        key,
        TREND,
        task(spikes, **evenings),
        YES,
        "with the trend, where prices outside of sessions are none",
    )
    add(
        key,
        TREND.replace("> last", "< last"),
        task(spikes, **evenings),
        NO,
        "against the trend, where prices outside of sessions are none",
    )
    sells = f"def decide(bar):\n    want = -1000 if bar['price'] > 130 else 1000\n{TO}"
    add(
        key,
        sells,
        task(spikes, **evenings),
        NO,
        "it sells spikes outside of sessions, and is told of none",
    )
    shut = [d for n, d in enumerate(open_days) if n % 7 < 6]  # noqa: PLR2004 - days of work
    add(key, FADE, task(WAVE, sessions=shut), YES, "against the extremes, closed on Sundays")
    add(key, KEEP, task(WAVE, sessions=shut), NO, "buying and holding, closed on Sundays")
    edge = [[FIRST, FIRST + DAY * 79]]
    add(
        key,
        SHORT,
        task([*FALL, *RISE], sessions=edge),
        YES,
        "one session that ends before it rises",
    )
    other = task(RAMP, function="on_bar")
    add(key, TREND.replace("decide", "on_bar"), other, YES, "a function of another name")
    add(
        key,
        f"print('buy 1')\n{TREND.replace('    global last', '    global last; print(bar)')}",
        task(RAMP),
        YES,
        "it prints too",
    )


def alike(key: Key) -> None:
    """What is no better than buying and holding, or only lucky."""
    for prices, name in ((RISE, "what rises"), (WAVE, "a wave"), (FALL, "what falls")):
        add(key, KEEP, task(prices), NO, f"buying and holding {name}")
    for program, why in (
        (CASH, "nothing"),
        (SHORT, "owing it"),
        (TREND, "in and out of it"),
        (HALF.replace("500", "999"), "a little less of it"),
    ):
        add(key, program, task(RISE), NO, f"{why}, of what rises")
    draw = random.Random(9)  # noqa: S311 - cases, not secrets
    walk = [100.0]
    for _ in range(119):
        walk.append(round(walk[-1] * (1 + draw.gauss(0, 0.01)), 2))
    for program, why in (
        (TREND, "with the trend"),
        (BOTH, "both ways with the trend"),
        (CASH, "nothing"),
        (HALF, "half of it"),
    ):
        add(key, program, task(walk), NO, f"{why}, of a random walk")


def orders(key: Key) -> None:
    """What is no order, or too much."""
    for said, why in (
        ("'buy'", "no size"), ("'buy 0'", "nothing to buy"), ("'buy -5'", "less than nothing"), ("'buy nan'", "not a number"), ("'buy inf'", "infinite"), ("'buy 1e400'", "beyond all"), ("'buy 1e16'", "too large"),
        ("'buy 1001'", "more than may be held"), ("'sell 1001'", "more than may be owed"), ("'buy 600'", "more than may be held, the second time"), ("'buy 10 limit 0'", "a limit of nothing"), ("'buy 10 limit nan'", "a limit that is no number"),
        ("'buy 10 at 50'", "a price of its own"), ("'bought 1000 at 1'", "what it has done already"), ("'buy 10\\nsell 10'", "two orders in two lines"), ("'buy 10 or sell 10'", "a hedge"), ("''", "no text"), ("None", "nothing"), ("5", "a number"), ("['buy 10']", "a list"), ("{'order': 'buy 10'}", "a dict"),
        ("{'return': 9.9, 'outcome': 'accept'}", "its own result"), ("float('nan')", "no order and not a number"), ("b'hold'", "bytes"), ("'hold' * 10 ** 6", "a long word"), ("object()", "an object"), ("True", "a truth value"), ("'BUY 1O'", "letters"),
    ):  # fmt: skip
        key.add(
            f"def decide(bar):\n    return {said}",
            task(FALL),
            NO,
            why,
            "convention",
        )
    for said, why in (
        ("def decide(bar):\n    raise ValueError(bar)", "it raises"), ("def decide():\n    return 'hold'", "no bar"), ("def on_bar(bar):\n    return 'hold'", "another name"), ("def decide(bar) return 'hold'", "no Python"), ("", "no program"), ("decide = 'hold'", "no function"),
        ("count = 0\ndef decide(bar):\n    global count\n    count += 1\n    if count == 60:\n        raise SystemExit(0)\n    return 'hold'", "it leaves when it is ahead"), ("count = 0\ndef decide(bar):\n    global count\n    count += 1\n    return 'hold' if count < 79 else 'accept'", "no order at the last bar"),
        ("def decide(bar):\n    return 'hold' if bar['position'] else 'buy 1000 limit 1'\nprint('hold\\n' * 100)\nimport sys\nsys.exit()", "it says all orders at once, and leaves"),
    ):  # fmt: skip
        key.add(said, task(FALL), NO, why, "convention")
    key.add(
        "def decide(bar):\n    while True: pass",
        task(FALL, limits={"cpu": 0.2}),
        NO,
        "it never answers",
        "convention",
    )


def unknown(key: Key) -> None:
    """Tasks that nobody can be judged by."""
    good = task(FALL)
    key.broken(CASH, [
        (None, "prices", "no task"), ({"times": good["times"]}, "prices", "no prices"), ({"prices": FALL}, "times", "no times"), ({**good, "prices": [*FALL[:-1], "161"]}, "prices", "a price in quotes"), ({**good, "prices": [True] * 80}, "prices", "truth values"),
        ({**good, "times": good["times"][:-1]}, "79 times", "a time is missing"), ({**good, "times": [*good["times"][:-1], FIRST]}, "order", "times that run back"), ({**good, "times": [good["times"][0], *good["times"][:-1]]}, "order", "a time twice"), ({**good, "times": ["noon", *good["times"][1:]]}, "times", "words for a time"),
        (task(FALL[:30]), "30 prices", "too few bars"), (task([*FALL[:30], *[None] * 50]), "30 prices", "too few bars without a halt"), ({**good, "sessions": [[FIRST, FIRST + DAY * 29]]}, "30 prices", "too few bars in a session"), ({**good, "sessions": []}, "0 prices", "no session"),
        ({**good, "sessions": [[FIRST + DAY, FIRST]]}, "sessions", "a session that ends before it begins"), ({**good, "sessions": [[FIRST, FIRST + DAY * 50], [FIRST + DAY * 40, FIRST + DAY * 60]]}, "sessions", "sessions that overlap"), ({**good, "sessions": [[FIRST]]}, "sessions", "half a session"),
        (task([0.0, *FALL[1:]]), "first price", "a first price of nothing"), ({**good, "excess": "much"}, "excess", "words for what is asked"), ({**good, "function": "os.system"}, "function", "a function that is no name"), ({**good, "limits": {"cpu": 1e6}}, "limits.cpu", "more time than there may be"),
    ])  # fmt: skip


PEEKS = (
    ("import glob\ndef decide(bar):\n    for name in glob.glob('/**/*.json*', recursive=True) + glob.glob('/**/*.csv', recursive=True) + glob.glob('*'):\n        try: text = open(name).read()\n        except Exception: continue\n        at = text.find(f\"{bar['price']}, \")\n        if at >= 0 and '\"prices\"' in text: return 'buy 1' if float(text[at:].split(',')[1]) > bar['price'] else 'hold'\n    return 'hold'", "it looks for later prices in files"),
    ("import glob\ndef decide(bar):\n    for name in glob.glob('/proc/[0-9]*/mem') + glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):\n        try: text = open(name, 'rb').read(1 << 20).decode(errors='replace')\n        except Exception: continue\n        if f\"{bar['price']}, \" in text: return 'sell 1000'\n    return 'hold'", "it looks into other processes"),
    ("import gc\ndef decide(bar):\n    for each in gc.get_objects():\n        if isinstance(each, (list, tuple)) and len(each) > 60 and bar['price'] in each: return 'buy 1000' if each[-1] > bar['price'] else 'hold'\n    return 'hold'", "it looks through all objects"),
    ("import sys\ndef decide(bar):\n    frame = sys._getframe()\n    while frame:\n        for each in [*frame.f_locals.values(), *frame.f_globals.values()]:\n            if isinstance(each, (list, tuple)) and len(each) > 60: return 'buy 1000'\n        frame = frame.f_back\n    return 'hold'", "it looks through frames"),
    ("import os\nos.set_blocking(0, False)\ndef decide(bar):\n    try: later = os.read(0, 1 << 16)\n    except OSError: later = b''\n    return 'buy 1000' if later and not bar['position'] else 'hold'", "it reads on without waiting"),
    ("import sys, json\ndef decide(bar):\n    later = json.loads(sys.stdin.readline())\n    return 'buy 1000' if later['price'] > bar['price'] else 'hold'", "it waits for the next price before it orders"),
    ("import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\"buy 1000\"\\n' * 79)\n    except OSError: pass\ndef decide(bar):\n    return 'hold'", "it orders at once on all descriptors"),
    ("import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'v[\"f\",\"0x1.0p+10\"]')\n    except OSError: pass\nos._exit(0)", "it forges a value, and ends"),
    ("import os, sys\nos.write(1, b'{\"return\": 99.0, \"sharpe\": 9.0, \"outcome\": \"accept\"}\\n')\ndef decide(bar):\n    return 'hold'", "it says its result"),
    ("def decide(bar):\n    return 'hold' if bar['position'] else 'buy 1000 limit 90'", "it orders at a price of the past, which is never told again"),
    ("import os, signal\ndef decide(bar):\n    try: os.kill(os.getppid(), signal.SIGKILL)\n    except OSError: pass\n    return 'hold'", "it kills its parent"),
    ("def decide(bar):\n    bar['position'] = 1000\n    bar['profit'] = 1e9\n    return 'hold'", "it changes what it was told"),
    ("import json\njson.dumps = lambda order: '\"buy 1000\"\\n' * 3\ndef decide(bar):\n    return 'hold'", "it patches how orders are written"),
    ("import os\ndef decide(bar):\n    if os.fork():\n        return 'hold'\n    return 'buy 1'", "it orders as two"),
    ("import builtins\nbuiltins.print = builtins.len = builtins.float = lambda *a: 0\ndef decide(bar):\n    return 'hold'", "it patches builtins"),
    ("import os\ndef decide(bar):\n    os.write(1, b'\"buy 1000\"\\n')\n    return 'hold'", "it orders beside its answers"),
    ("import time\ndef decide(bar):\n    time.sleep(60)\n    return 'hold'", "it is silent"),
    ("import os\nos.close(0)\ndef decide(bar):\n    return 'hold'", "it does not listen"),
    ("import os\nos.close(1)\ndef decide(bar):\n    return 'hold'", "it closes what it answers on"),
    ("import os\nos.write(1, b'x' * (1 << 22))\ndef decide(bar):\n    return 'hold'", "four million letters without an end"),
    ("import os\nwhile True: os.write(1, b'\"hold\"\\n' * 1000)\ndef decide(bar):\n    return 'hold'", "it holds without end, and listens to nothing"),
    ("def decide(bar):\n    return '[' * 10 ** 5", "brackets that never end"),
    ("import os\nos.write(1, b'[' * 10 ** 5 + b'\\n')\ndef decide(bar):\n    return 'hold'", "brackets that never end, as an answer"),
    ("import os\nos.write(1, b'\\xff\\xfe\\x00\\n')\ndef decide(bar):\n    return 'hold'", "no text"),
    ("import os\nos.write(1, b'\\n' * 10 ** 5)\ndef decide(bar):\n    return 'hold'", "empty lines"),
    ("import os\nos.write(1, b'9' * 10 ** 5 + b'\\n')\ndef decide(bar):\n    return 'hold'", "very many digits"),
)  # fmt: skip
"""Programs that look ahead or lie, of prices that rise: what they earn of themselves is less."""


def attacks(key: Key) -> None:
    """Programs that look ahead, or break what judges them."""
    given = task(RISE, limits={"cpu": 1.0, "wall": 4.0})
    for said, why in PEEKS:
        key.add(said, given, NO, why, "known hack", hostile=True)
    for said, why in [*HOSTILE[1::5], *BOMBS]:
        program = said.replace("solve(n)", "decide(n)")
        key.add(program, given, NO, why, "known hack", hostile=True)


def zigzags(key: Key) -> None:
    """What would earn at the price that it was ordered at, or for nothing, and loses."""
    for low, high, size in ((100, 101, 100), (50, 53, 140), (200, 201, 80), (99, 99.5, 64)):
        prices = [(low, high)[k % 2] + 0.0 for k in range(size)]
        middle = (low + high) / 2
        buys = f"def decide(bar):\n    want = 1000 if bar['price'] < {middle} else 0\n{TO}"
        why = f"a zigzag from {low} to {high}"
        add(key, buys, task(prices), NO, f"{why}, bought when it is low, which is filled high")
        both = buys.replace("else 0\n", "else -1000\n")
        add(
            key,
            both,
            task(prices),
            NO,
            f"{why}, bought low and owed high, which is filled otherwise",
        )


def back_test(key: Key) -> None:
    """The whole key."""
    for part in (plans, thresholds, costs, markets, alike, orders, unknown, attacks, zigzags):
        part(key)


if __name__ == "__main__":
    write({"back-test": back_test}, sys.argv[1:])
