"""The verifier `market-order`: an order that is sealed first, filled later, and undone at the end.

An order buys or sells a size at the market, or at a limit. It is filled at the first price that is
told when the market opens for it, or later, and undone at the first when it closes, or later. With
s = 1 for buying and -1 for selling, a slippage σ and a fee φ, both shares of a price p,

    it is filled at p + s σ abs(p), undone at p - s σ abs(p), and pays φ abs(p') for each of these.

A limit is kept with the slippage: who would have to pay more, or is given less, does not trade.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.case import Case
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tiers.fast.extraction import SHORT, agreed, answers, bare, checked_marks
from verifier_ladder.tiers.fast.numeric import number
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.tiers.world.feed import FedVerifier, Feed, Told, series_of
from verifier_ladder.verdict import Verdict

HOW = (
    'Write "buy SIZE", "sell SIZE" or "hold" alone between <answer> and </answer>; a limit is '
    'added as "buy SIZE limit PRICE".'
)
LARGEST = 1e15
"""The largest size or price that an order may hold."""
_ORDER = re.compile(r"(buy|sell)[ \t]+(\S+)(?:[ \t]+limit[ \t]+(\S+))?", re.IGNORECASE)
_LONGEST = 200
"""Characters of the longest order."""


class Costs(NamedTuple):
    """What trading costs, as shares of the price."""

    fee: float = 0.0
    slippage: float = 0.0

    def price(self, told: float, sign: int) -> float:
        """What is paid for a unit, or got for one, with a sign of 1 for buying."""
        return told + sign * self.slippage * abs(told)

    def paid(self, size: float, *prices: float) -> float:
        """The fees of trading so many units at each of these prices."""
        return self.fee * size * sum(map(abs, prices))


class Order(NamedTuple):
    """What to trade; nothing if the sign is 0."""

    sign: int
    """1 for buying, -1 for selling."""
    size: float
    limit: float | None = None

    def after(self, split: float) -> Order:
        """The same order when one unit has become so many."""
        limit = None if self.limit is None else self.limit / split
        return Order(self.sign, self.size * split, limit)

    def filled(self, told: float, costs: Costs) -> float | None:
        """The price at which it is filled when a price is told; None where it is not."""
        price = costs.price(told, self.sign)
        is_worse = self.limit is not None and self.sign * (price - self.limit) > 0
        return None if not self.sign or is_worse else price

    def is_beyond(self, held: float, most: float) -> bool:
        """Whether more would be held with it, or owed, than may be."""
        return self.sign != 0 and abs(held + self.sign * self.size) > most


class Trade(NamedTuple):
    """An order as it was filled and undone; the size is 0 where it was not."""

    size: float
    fill: float
    exit: float
    profit: float


def trade(order: Order, first: float, last: float, split: float, costs: Costs) -> Trade:
    """Fill an order at one price, and undo it at another.

    Args:
        order: The order, in units of the first price.
        first: Price to fill it at.
        last: Price to undo it at.
        split: How many units one unit became in between.
        costs: What trading costs.

    Example:
        >>> trade(Order(1, 10.0), 100.0, 52.0, 2.0, Costs()).profit
        40.0
        >>> trade(Order(-1, 10.0, limit=100.0), 99.0, 90.0, 1.0, Costs()).profit
        0.0
    """
    fill = order.filled(first, costs)
    if fill is None:
        return Trade(0.0, costs.price(first, order.sign), 0.0, 0.0)
    leave = costs.price(last, -order.sign) * split
    gain = order.sign * order.size * (leave - fill)
    return Trade(order.size, fill, leave, gain - costs.paid(order.size, fill, leave))


class MarketOrder(FedVerifier):
    """Scores an order by what it has earned when the market closes for it, after costs.

    The task holds `series`, the name of the prices; `opens`, up to when orders are sealed and from
    when on prices count; `closes`, from when on it is settled; and perhaps `position`, the units
    that are held before. Where a price comes too late or is empty, as in a halt, nobody is judged.

    Sizes and limits are in units as they are at `opens`; splits after it are taken into account.

    Example:
        >>> task = {
        ...     "series": "example-prices", "opens": "2126-02-02T16:00:00Z",
        ...     "closes": "2126-02-03T16:00:00Z",
        ... }
        >>> said = ["It rises: <answer>buy 10 limit 99</answer>", "buy 5000"]
        >>> [v.reason for v in MarketOrder().judge(
        ...     [Candidate("text", text, task=task) for text in said])]
        ['market-order was asked', 'it would hold 5000 units, and at most 1000 may be held']
    """

    name = "market-order"
    version = "2"
    kind = "text"
    domain = "forecasting"
    capabilities = ("reasoning",)
    sealed_by = "opens"
    settles_at = "closes"
    task_fields = ("series", "position")

    @checked()
    def __init__(
        self,
        *,
        folder: str = "",
        fee: float = 0.001,
        slippage: float = 0.0005,
        position_limit: float = 1000.0,
        within: float = 7 * 86400.0,
        unit: str = "",
        find: Sequence[str] = SHORT,
        url: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Say where the prices are, and what trading costs.

        Args:
            folder: Folder of the tables; empty for the example prices of the package.
            fee: What each trade pays, as a share of what is traded.
            slippage: How much worse than told a price is, as a share of it.
            position_limit: How many units may be held, or owed.
            within: Seconds after `opens` and after `closes` within which a price must come.
            unit: Unit of the prices.
            find: Marks of the answer: `verifier_ladder.tiers.fast.extraction`.
            url: Address of a service that gives the tables, in the place of a folder.
            headers: Sent with each request. A `$NAME` that is a value, or its last word, is one of
                its `secrets` without being declared.

        Raises:
            ConfigError: If a number makes no sense, or a mark does not exist.
        """
        self._costs = Costs(a_share("fee", fee), a_share("slippage", slippage))
        self.position_limit = above_zero("position_limit", position_limit)
        self.within = above_zero("within", within)
        self.unit, self._find = unit, checked_marks(find)
        super().__init__(
            **self.fed_by(folder, url, headers),
            fee=self._costs.fee, slippage=self._costs.slippage,
            position_limit=self.position_limit, within=self.within, unit=unit, find=self._find,
        )  # fmt: skip

    def look_up(self, candidate: Candidate) -> Verdict | None:
        """Refuse what is no order, or holds too much; nothing is known of one before its time."""
        series_of(candidate.task)
        held, order = _position(candidate.task), self._order(candidate)
        if order.is_beyond(held, self.position_limit):
            after = held + order.sign * order.size
            why = f"it would hold {after:g} units, and at most {self.position_limit:g} may be held"
            raise CandidateError(why, feedback="Trade less.")
        return None

    def settle(self, case: Case, feed: Feed) -> Verdict | None:
        """Fill the order and undo it, once both prices are told."""
        series = series_of(case.candidate.task)
        opens, closes = case.sealed_by or 0.0, case.settles_at or 0.0
        prices = feed.read(series)
        first, last = prices.first(opens), prices.first(closes)
        if first is None or last is None:
            return None
        found = {
            "series": series, "feed_sha256": prices.sha256, "opening": first.as_json(),
            "closing": last.as_json(),
        }  # fmt: skip
        if first.value is None or last.value is None:
            return Verdict.abstain(f"{series} was halted", evidence=found)
        if why := self._unusable(first, last, case):
            return Verdict.abstain(why, evidence=found)
        order = self._order(case.candidate).after(prices.split(opens, first.time))
        split = prices.split(first.time, last.time)
        made = trade(order, first.value, last.value, split, self._costs)
        if split == 0 or not all(map(isfinite, (split, *made))):
            why = f"the prices or splits of {series} are too large or too small to trade by"
            return Verdict.abstain(why, evidence=found)
        return Verdict.accept(made.profit, unit=self.unit, evidence={**found, **made._asdict()})

    def _unusable(self, first: Told, last: Told, case: Case) -> str:
        """Why nobody can be judged by two prices; "" if they can be."""
        for told, at in ((first, case.sealed_by or 0.0), (last, case.settles_at or 0.0)):
            if told.time > at + self.within:
                return f"no price was told within {self.within:g} s of the time it was wanted at"
        return "no price was told between opening and closing" if first.time >= last.time else ""

    def _order(self, candidate: Candidate) -> Order:
        found = answers(candidate.content, self._find, HOW)
        return agreed((read_order(bare(text), HOW) for text in found), HOW)

    def question(self, candidate: Candidate) -> str:
        """What came of the order."""
        task = candidate.task or {}
        return (
            f"What does the order {candidate.content!r} of {task.get('series')} earn from "
            f"{task.get('opens')} to {task.get('closes')}?{self._in_unit()}"
        )


def read_order(said: str, how: str) -> Order:
    """Read an order.

    Args:
        said: Its words, and nothing else.
        how: What to tell a student model of whom it is none.

    Raises:
        CandidateError: If it is none.

    Example:
        >>> read_order("sell 10 limit 99.5", "")
        Order(sign=-1, size=10.0, limit=99.5)
    """
    text = said.strip().removesuffix(".")
    if text.lower() == "hold":
        return Order(0, 0.0)
    match = _ORDER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise CandidateError("it is not one order", feedback=how)
    side, size, limit = match.groups()
    sign = 1 if side.lower() == "buy" else -1
    worst = None if limit is None else _amount("limit", limit, how)
    return Order(sign, _amount("size", size, how), worst)


def _amount(what: str, text: str, how: str) -> float:
    found = number(text)
    if found is None or not 0 < found <= LARGEST:
        why = f"the {what} is no number above zero, or too large"
        raise CandidateError(why, feedback=f"{how} No unit, no sign.")
    return float(found)


def _position(task: Mapping[str, Any] | None) -> float:
    """The units that a task says are held before.

    Raises:
        TaskError: If that is no number.
    """
    held = (task or {}).get("position", 0)
    if type(held) not in {int, float} or not -LARGEST <= held <= LARGEST:
        raise TaskError(f"the task's position {held!r:.60} is no number of units")
    return float(held)


def a_share(name: str, value: float) -> float:
    """A setting that is a share.

    Raises:
        ConfigError: If it is none.
    """
    if not (isfinite(value) and 0 <= value < 1):
        raise ConfigError(f"{name}={value!r}: give a share from 0 to below 1")
    return float(value)


def above_zero(name: str, value: float) -> float:
    """A setting that is a number above 0.

    Raises:
        ConfigError: If it is none.
    """
    if not (isfinite(value) and value > 0):
        raise ConfigError(f"{name}={value!r}: give a number above 0")
    return float(value)
