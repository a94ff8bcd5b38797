r"""The verifier `back-test`: a strategy trades through past prices, and sees none too early.

The strategy is a program. Its function is called in one process of the sandbox with one price
after the other, so it may remember what it likes, and answers each with an order in the words of
`market-order`: `buy SIZE`, `sell SIZE` or `hold`, with a limit as `buy 10 limit 99.5`. The next
price is sent only when the order for it has come back. Later ones are in no process that it could
reach, so it can look ahead by no means.

Each order is filled at the next price, after slippage, if its limit allows, and else lapses
(`verifier_ladder.tiers.world.order`). Prices that are empty, as in a halt, or outside of the
sessions are no prices: nobody is told them, and orders wait. At the last price what is held is
undone. All is counted out here, in shares of the capital, which is what the most that may be held
is worth at the first price.

| Field of a task | Meaning |
|---|---|
| `prices` | prices, adjusted for splits; None where nothing was traded; hidden |
| `times` | when each was told: seconds since 1970, or ISO 8601 with a zone |
| `sessions` | pairs of times between which there is trading; at all times if left out |
| `excess` | what must be earned beyond buying and holding, of the capital; 0 by default |
| `function`, `limits` | what is called, `decide` by default, and what all calls may take |
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from math import sqrt
from statistics import fmean, stdev
from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.case import moment
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.programs import (
    CAPS,
    FILE,
    Bounds,
    Name,
    allowed,
    limits_of,
    program_in,
    python_tools,
    wordless,
)
from verifier_ladder.tiers.sandbox import Limits, Program, Sandbox
from verifier_ladder.tiers.simulation import equity
from verifier_ladder.tiers.simulation.longrun import MOST, reach
from verifier_ladder.tiers.simulation.sessions import Sessions, check_calendar
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.tiers.world.order import (
    LARGEST,
    Costs,
    Order,
    a_share,
    above_zero,
    read_order,
)
from verifier_ladder.verdict import Verdict

HOW = 'Return one text: "buy SIZE", "sell SIZE" or "hold"; with a limit "buy SIZE limit PRICE".'
_LARGEST_SCORE = 1e6
_USUAL = Limits(cpu=10.0, wall=60.0)
"""What a program may take where nothing is said."""
_LOOP = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # What the strategy prints is no order.
from {module} import {function} as decide
for line in iter(sys.stdin.readline, ""):
    answers.write(json.dumps(decide(json.loads(line))) + "\\n")
    answers.flush()
"""
_LOOP_FILE = "through_prices.py"


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    prices: Annotated[
        list[Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)] | None], Field(max_length=MOST)
    ]
    times: list[str | int | float]
    sessions: list[Annotated[list[Any], Field(min_length=2, max_length=2)]] | None = None
    excess: FiniteFloat = 0.0
    function: Name = "decide"
    limits: Bounds = Bounds()

    def moments(self) -> list[float]:
        """When each price was told.

        Raises:
            TaskError: If that makes no sense.
        """
        if len(self.times) != len(self.prices):
            raise TaskError(f"the task has {len(self.prices)} prices and {len(self.times)} times")
        try:
            found = [moment(time) for time in self.times]
        except ConfigError as error:
            raise TaskError(f"the task's times make no sense: {error}") from None
        if not all(earlier < later for earlier, later in pairwise(found)):
            raise TaskError("the task's times are not in their order")
        return found


class Bar(NamedTuple):
    """A price, and when it was told."""

    time: float
    price: float


# ---- Counting


class Book:
    """What somebody who trades holds, and what that is worth.

    Example:
        >>> book = Book(Costs(fee=0.01))
        >>> book.tell(10.0)
        >>> book.take(Order(1, 2.0))
        >>> book.tell(11.0)
        >>> book.tell(12.0)
        >>> [round(each, 2) for each in book.worth]
        [0.0, -0.22, 1.78]
        >>> book.close()
        >>> round(book.worth[-1], 2), book.held
        (1.54, 0.0)
    """

    def __init__(self, costs: Costs) -> None:
        """Begin with nothing."""
        self.held = 0.0
        """Units; below 0 if they are owed."""
        self.worth: list[float] = []
        """At each price what was earned by then."""
        self.traded = 0.0
        """Value of all that was bought and sold."""
        self._costs, self._cash, self._price = costs, 0.0, 0.0
        self._waiting = Order(0, 0.0)

    def tell(self, price: float) -> None:
        """Fill what waits at a price, if its limit allows, and count."""
        self._fill(self._waiting, price)
        self._waiting, self._price = Order(0, 0.0), price
        self.worth.append(self._cash + self.held * price)

    def take(self, order: Order) -> None:
        """Have an order wait for the next price; it lapses there if it is not filled."""
        self._waiting = order

    def close(self) -> None:
        """Undo what is held at the last price."""
        self._fill(Order(-1 if self.held > 0 else 1, abs(self.held)), self._price)
        self.held = 0.0
        self.worth[-1] = self._cash

    def _fill(self, order: Order, told: float) -> None:
        price = order.filled(told, self._costs)
        if price is None:
            return
        self.held += order.sign * order.size
        self._cash -= order.sign * order.size * price + self._costs.paid(order.size, price)
        self.traded += order.size * abs(price)


class Performance(NamedTuple):
    """What a strategy has earned, in shares of the capital."""

    total: float
    excess: float
    """Beyond buying and holding."""
    low: float
    high: float
    """A 95 % interval of the excess."""
    sharpe: float
    """Mean of what each price brought to its deviation, for a year."""
    drawdown: float
    """The most that was lost of what had been earned."""
    turnover: float
    worth: Sequence[float] = ()
    """What was earned by each price."""

    def __str__(self) -> str:
        return f"{self.excess:.3g} (95 %: {self.low:.3g} to {self.high:.3g})"

    def scores(self) -> dict[str, float]:
        """Its numbers by name."""
        found = {
            "return": self.total, "excess": self.excess, "excess_low": self.low,
            "excess_high": self.high, "sharpe": self.sharpe, "drawdown": self.drawdown,
            "turnover": self.turnover,
        }  # fmt: skip
        return {k: min(max(v, -_LARGEST_SCORE), _LARGEST_SCORE) for k, v in found.items()}


def performance(mine: Book, other: Book, capital: float, per_year: float) -> Performance:
    """What one book has earned, and beyond another.

    Args:
        mine: The one.
        other: The other, of as many prices.
        capital: What a whole is.
        per_year: How many prices a year has.
    """
    worth = [each / capital for each in mine.worth]
    ahead = [a - b / capital for a, b in zip(worth, other.worth, strict=True)]
    returns, gains = ([b - a for a, b in pairwise(row)] for row in (worth, ahead))
    spread = stdev(returns)
    sharpe = fmean(returns) / spread * sqrt(per_year) if spread > 0 else 0.0
    peak = drawdown = 0.0
    for each in worth:
        peak = max(peak, each)
        drawdown = max(drawdown, peak - each)
    beyond, sides = ahead[-1], reach(gains) * len(gains)
    return Performance(
        worth[-1],
        beyond,
        beyond - sides,
        beyond + sides,
        sharpe,
        drawdown,
        mine.traded / capital,
        worth,
    )


# ---- The verifier


_PRICES = [100.0 - n % 2 / 4 - n for n in range(48)]
_TIMES = [86400 * n for n in range(48)]


class BackTest(SingleVerifier):
    r"""Accepts a strategy that surely earns more than buying and holding, after costs.

    Its function gets a dict: the `time` and the `price`, the `position` that is held after it, in
    units, and the `profit` so far. It is accepted if the whole 95 % interval of what it earns
    beyond buying and holding lies above what the task asks for. The score is that excess, as a
    share of the capital; a reject has a score of 0. Named scores are `return`, `excess` and the
    ends of its interval, `sharpe`, `drawdown` and `turnover`. The artifact `equity.f32` holds what
    it had earned by each price.

    Example:
        >>> task = {"prices": _PRICES, "times": _TIMES}
        >>> said = "def decide(bar):\n    return 'hold' if bar['position'] else 'sell 1000'"
        >>> BackTest().judge([Candidate("text", said, task=task)])  # doctest: +SKIP
    """

    name = "back-test"
    version = "1"
    tier = Tier.SIMULATION
    kind = "text"
    domain = "forecasting"
    capabilities = ("reasoning",)
    cost = Cost(seconds=0.1)
    timeout = 600.0
    batch_size = 8
    task_fields = ("prices", "times", "sessions", "excess", "function", "limits")
    hidden = ("prices",)
    observed = "outside"
    sandbox: Sandbox = Sandbox(needs=("talk",))
    control = Candidate(
        "text", "def decide(bar):\n    return 'hold'", task={"prices": _PRICES, "times": _TIMES}
    )

    @checked(least=3)
    def __init__(
        self,
        *,
        fee: float = 0.001,
        slippage: float = 0.0005,
        position_limit: float = 1000.0,
        calendar: str = "",
        least: int = 40,
        per_year: float = 252.0,
        limits: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
    ) -> None:
        """Say what trading costs, and when there is any.

        Args:
            fee: What each trade pays, as a share of what is traded.
            slippage: How much worse than told a price is, as a share of it.
            position_limit: How many units may be held, or owed.
            calendar: Exchange whose sessions count where the task lists none, such as `XNYS`;
                needs exchange_calendars. Empty for trading at all times.
            least: How many prices there must be. From a task with fewer it abstains.
            per_year: How many prices a year has, for the Sharpe ratio.
            limits: What a program may take where its task does not say, by the names of `Limits`.
            most: What a task may allow at most. From a task that asks for more it abstains.

        Raises:
            ConfigError: If one makes no sense, or there is no such calendar.
        """
        self._costs = Costs(a_share("fee", fee), a_share("slippage", slippage))
        self._held_at_most = above_zero("position_limit", position_limit)
        self._per_year = above_zero("per_year", per_year)
        self._calendar, self._least = calendar, least
        self._limits = limits_of(_USUAL, limits, "limits")
        self._most = limits_of(CAPS, most, "most")
        self.tools = python_tools()
        if calendar:
            check_calendar(calendar)
            self.tools |= versions("exchange_calendars")
        super().__init__(
            fee=self._costs.fee, slippage=self._costs.slippage, calendar=calendar,
            position_limit=self._held_at_most, least=least, per_year=self._per_year,
            limits=asdict(self._limits), most=asdict(self._most),
        )  # fmt: skip

    def examine(self, candidate: Candidate) -> Verdict:
        """Have it trade, and compare what it has earned."""
        task = read_task(_Task, candidate.task)
        limits = allowed(self._limits, task.limits, self._most)
        bars = self._bars(task)
        loop = _LOOP.format(module=FILE.removesuffix(".py"), function=task.function)
        program = Program(
            {FILE: program_in(candidate.content), _LOOP_FILE: loop}, entry=_LOOP_FILE
        )
        mine = Book(self._costs)
        result = self.sandbox.talk(program, self._trading(mine, bars), limits)
        if len(mine.worth) < len(bars):
            said = f"after {len(mine.worth)} of {len(bars)} prices {wordless(result, limits)}"
            raise CandidateError(said, feedback=f"{said}.")
        return self._concluded(mine, bars, task.excess)

    def _bars(self, task: _Task) -> list[Bar]:
        """The prices at which there was trading.

        Raises:
            TaskError: If nobody could be judged by them.
        """
        rows = list(zip(task.moments(), task.prices, strict=True))
        sessions = None
        if task.sessions is not None:
            sessions = Sessions.told(task.sessions)
        elif self._calendar and rows:
            sessions = Sessions.of(self._calendar, rows[0][0], rows[-1][0])
        found = [
            Bar(time, price)
            for time, price in rows
            if price is not None and (sessions is None or time in sessions)
        ]
        if len(found) < self._least:
            raise TaskError(
                f"the task has {len(found)} prices to trade at; at least {self._least} are needed"
            )
        if not found[0].price:
            raise TaskError("the task's first price is 0, of which nothing is a share")
        return found

    def _trading(self, book: Book, bars: Sequence[Bar]) -> Generator[bytes, bytes, None]:
        """Tell a program each price but the last, and take its orders."""
        *told, last = bars
        for bar in told:
            book.tell(bar.price)
            line = yield _written(bar, book)
            book.take(self._order(line, book.held))
        book.tell(last.price)
        book.close()

    def _order(self, line: bytes, held: float) -> Order:
        """Read what a strategy answers.

        Raises:
            CandidateError: If that is no order, or too much. No size is told: it may be a price.
        """
        try:
            said = orjson.loads(line)
        except orjson.JSONDecodeError:
            said = None
        if type(said) is not str:
            raise CandidateError("it is not one order", feedback=HOW)
        order, most = read_order(said, HOW), self._held_at_most
        if order.is_beyond(held, most):
            why = f"an order goes beyond the {most:g} units that may be held, or owed"
            raise CandidateError(why, feedback="Trade less.")
        return order

    def _concluded(self, mine: Book, bars: Sequence[Bar], asked: float) -> Verdict:
        held = Book(self._costs)
        for bar in bars:
            held.tell(bar.price)
            held.take(Order(1 if bar is bars[0] else 0, self._held_at_most))
        held.close()
        capital = self._held_at_most * abs(bars[0].price)
        found = performance(mine, held, capital, self._per_year)
        evidence = {"prices": len(bars), "held": held.worth[-1] / capital}
        files = {equity.EQUITY: equity.written(found.worth)}
        if found.low > asked:
            return Verdict.accept(
                found.excess, scores=found.scores(), evidence=evidence, artifacts=files
            )
        told = f"beyond buying and holding it earns {found} of the capital"
        wanted = f"more than {asked:g} is asked for, by the whole interval"
        return Verdict.reject(
            f"{told}; {wanted}", score=0.0, scores=found.scores(), evidence=evidence,
            artifacts=files,
            feedback=f"It earns {found.total:.3g} of the capital; {told}; {wanted}.",
        )  # fmt: skip


def _written(bar: Bar, book: Book) -> bytes:
    """What a strategy is told, as a line."""
    told = {**bar._asdict(), "position": book.held, "profit": book.worth[-1]}
    return json.dumps(told).encode() + b"\n"
