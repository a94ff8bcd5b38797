# ruff: noqa: E501 - one case a line
"""Make the answer key of `market-order`, from the prices that come along.

    python tools/order_key.py        # writes tiers/answer_keys/market-order.jsonl

Results are computed in exact fractions, in units as they were when the market opened: every later
price is brought back to them by the splits in between. The verifier goes the other way, and
multiplies sizes.
"""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from keywriter import FOLDER, NO, UNKNOWN, YES, Key, write

SERIES = "example-prices"
PATH = FOLDER.parent / "world" / f"{SERIES}.csv"
CASE = {"key": "6b" * 32, "deadline": None}
FEE, SLIPPAGE = Fraction("0.001"), Fraction("0.0005")
CLOSED = "closed form: cash flows in units of the opening"
HALT, SPLIT, REVISED, RESUMED, BUSTED, GAP, MERGER = 10, 15, 20, 25, 30, 33, 37
"""Places of what is special in the series, in the order of its times."""


def told() -> list[tuple[str, Fraction | None, Fraction]]:
    """Time, price and split of each time, as the last row that is about it has them."""
    last = {row["time"]: row for row in csv.DictReader(PATH.open(encoding="utf-8"))}
    return [
        (time, Fraction(row["value"]) if row["value"] else None, Fraction(row["split"] or 1))
        for time, row in sorted(last.items())
    ]


ROWS = told()


def moved(time: str, **by: float) -> str:
    """A time so much later."""
    return (datetime.fromisoformat(time) + timedelta(**by)).isoformat()


def task(opens: int, closes: int, **more: Any) -> dict[str, Any]:
    """The task of an order that is to be settled, between two rows."""
    times = {"opens": ROWS[opens][0], "closes": ROWS[closes][0]}
    return {"series": SERIES, **times, "«case»": CASE, **more}


def price_at(place: int) -> Fraction:
    """The price of a row that has one."""
    price = ROWS[place][1]
    if price is None:
        raise ValueError(f"row {place} has no price")
    return price


def adjusted(opens: str, at: int) -> Fraction:
    """A price in units as they were when the market opened."""
    time = ROWS[at][0]
    factor = Fraction(1)
    for moment, _, split in ROWS:
        if opens < moment <= time:
            factor *= split
    return price_at(at) * factor


def profit(  # noqa: PLR0917 - what an order is, and what it costs
    sign: int, size: Fraction, opens: str, places: tuple[int, int], limit: Fraction | None = None,
    fee: Fraction = FEE, slippage: Fraction = SLIPPAGE,
) -> Fraction:  # fmt: skip
    """What comes of an order, from the cash that it moves."""
    entry = adjusted(opens, places[0]) * (1 + sign * slippage)
    if limit is not None and sign * (entry - limit) > 0:
        return Fraction(0)
    leave = adjusted(opens, places[1]) * (1 - sign * slippage)
    paid = sign * size * entry + fee * size * entry
    got = sign * size * leave - fee * size * leave
    return got - paid


def near(value: Fraction) -> list[float]:
    """The range of a score."""
    return [float(value) - 1e-6, float(value) + 1e-6]


def plain(key: Key) -> None:
    """Orders at the market, at rows of the series."""
    for n, (opens, closes) in enumerate(((0, 1), (1, 4), (2, 9), (5, 6), (11, 14), (12, 13))):
        for sign, word in ((1, "buy"), (-1, "sell")):
            size = Fraction((100, 7, 250)[n % 3])
            score = profit(sign, size, ROWS[opens][0], (opens, closes))
            key.add(
                f"{word} {size}",
                task(opens, closes),
                YES,
                f"{word} at the market",
                CLOSED,
                score=near(score),
            )
    score = profit(1, Fraction(100), ROWS[3][0], (3, 7))
    for said, why in (
        ("So I say <answer>buy 100</answer>.", "a tag"), ("\\boxed{buy 100}", "a box"),
        ("It rises.\nBUY 100", "capitals, on the last line"), ("**buy 100.0**", "bold"),
        ("Answer: buy 1e2", "powers of ten"), ("buy  100.", "two spaces and a full stop"),
    ):  # fmt: skip
        key.add(said, task(3, 7), YES, why, "convention", score=near(score))
    half = profit(-1, Fraction("0.5"), ROWS[3][0], (3, 7))
    key.add("sell 0.5", task(3, 7), YES, "half a unit", CLOSED, score=near(half))
    key.add("hold", task(3, 7), YES, "nothing is traded", CLOSED, score=near(Fraction(0)))
    free = profit(1, Fraction(100), ROWS[3][0], (3, 7), fee=Fraction(0), slippage=Fraction(0))
    key.add(
        "buy 100",
        task(3, 7),
        YES,
        "without costs",
        CLOSED,
        score=near(free),
        settings={"fee": 0.0, "slippage": 0.0},
    )
    dear = profit(
        -1, Fraction(100), ROWS[3][0], (3, 7), fee=Fraction("0.01"), slippage=Fraction("0.02")
    )
    key.add(
        "sell 100",
        task(3, 7),
        YES,
        "with dear costs",
        CLOSED,
        score=near(dear),
        settings={"fee": 0.01, "slippage": 0.02},
    )


def limits(key: Key) -> None:
    """Orders with a limit: filled if the price is no worse, slippage included."""
    for opens, closes, sign, word in (
        (4, 8, 1, "buy"),
        (4, 8, -1, "sell"),
        (12, 13, 1, "buy"),
        (12, 13, -1, "sell"),
    ):
        price = price_at(opens)
        exact = price * (1 + sign * SLIPPAGE)
        for by, why in ((0, "just filled"), (1, "filled with room"), (-1, "not filled")):
            limit = exact + sign * by * Fraction("0.01")
            if not by:
                limit += sign * Fraction("0.000001")
            score = profit(sign, Fraction(40), ROWS[opens][0], (opens, closes), limit)
            key.add(
                f"{word} 40 limit {float(limit)!r}",
                task(opens, closes),
                YES,
                why,
                CLOSED,
                score=near(score),
            )
        bare = profit(sign, Fraction(40), ROWS[opens][0], (opens, closes), price)
        key.add(
            f"{word} 40 limit {float(price)}",
            task(opens, closes),
            YES,
            "the price itself, which slips away",
            CLOSED,
            score=near(bare),
        )
        free = profit(
            sign, Fraction(40), ROWS[opens][0], (opens, closes), price, slippage=Fraction(0)
        )
        key.add(
            f"{word} 40 limit {float(price)}",
            task(opens, closes),
            YES,
            "the price itself, without slippage",
            CLOSED,
            score=near(free),
            settings={"slippage": 0.0},
        )


def times(key: Key) -> None:
    """Which prices count: the first at each time or later."""
    opens, closes = moved(ROWS[4][0], seconds=60), moved(ROWS[7][0], seconds=-60)
    score = near(profit(1, Fraction(10), opens, (5, 7)))
    for first, last, why in (
        (opens, closes, "between rows"), (moved(ROWS[5][0]), closes, "at a row"),
        (datetime.fromisoformat(opens).timestamp(), closes, "seconds since 1970"),
        (moved(opens).replace("+00:00", "Z"), closes, "the zone of UTC"),
    ):  # fmt: skip
        key.add(
            "buy 10", {**task(0, 1), "opens": first, "closes": last}, YES, why, CLOSED, score=score
        )


def actions(key: Key) -> None:
    """Splits, and rows that supersede others."""
    for sign, word in ((1, "buy"), (-1, "sell")):
        for (opens, closes), why in (
            ((14, 16), "two for one while it is held"), ((36, 38), "one for two while it is held"),
            ((13, 39), "both"), ((15, 17), "a split before it opens"),
        ):  # fmt: skip
            score = profit(sign, Fraction(30), ROWS[opens][0], (opens, closes))
            key.add(f"{word} 30", task(opens, closes), YES, why, CLOSED, score=near(score))
    later = moved(ROWS[14][0], hours=1)
    for sign, word in ((1, "buy"), (-1, "sell")):
        for limit in (101, 103):
            score = profit(sign, Fraction(30), later, (15, 17), Fraction(limit))
            given = {**task(14, 17), "opens": later}
            key.add(
                f"{word} 30 limit {limit}",
                given,
                YES,
                "a split between its opening and its fill",
                CLOSED,
                score=near(score),
            )
    for opens_at, closes_at, why in (
        (REVISED, 22, "the opening was revised"), (18, REVISED, "the close was revised"),
        (RESUMED, 27, "a halt that was taken back"),
    ):  # fmt: skip
        score = profit(1, Fraction(30), ROWS[opens_at][0], (opens_at, closes_at))
        key.add("buy 30", task(opens_at, closes_at), YES, why, CLOSED, score=near(score))


def positions(key: Key) -> None:
    """How much may be held."""
    time = ROWS[3][0]
    for said, held, sign, size, why in (
        ("buy 1000", 0, 1, 1000, "all that may be held"), ("sell 1000", 0, -1, 1000, "all that may be owed"),
        ("buy 250", 750, 1, 250, "the rest of it"), ("sell 1750", 750, -1, 1750, "from one end to the other"),
        ("sell 500", 1500, -1, 500, "back within the limit"),
    ):  # fmt: skip
        score = near(profit(sign, Fraction(size), time, (3, 7)))
        key.add(said, task(3, 7, position=held), YES, why, CLOSED, score=score)
    for said, held, why in (
        ("buy 1000.5", 0, "more than may be held"), ("sell 1001", 0, "more than may be owed"),
        ("buy 251", 750, "more than the rest of it"), ("sell 1751", 750, "beyond the other end"),
        ("sell 499", 1500, "still beyond the limit"), ("buy 1", 1000, "one more"),
    ):  # fmt: skip
        key.add(said, task(3, 7, position=held), NO, f"{why}; one edit away", "convention")
    key.add(
        "buy 11",
        task(3, 7),
        NO,
        "more than a smaller limit",
        "convention",
        settings={"position_limit": 10},
    )
    key.add(
        "hold",
        task(3, 7, position=1500),
        YES,
        "nothing is traded, whatever is held",
        CLOSED,
        score=near(Fraction(0)),
    )


def wrong(key: Key) -> None:
    """What is no order, or came too late."""
    for said, why in (
        ("buy 0", "nothing to buy"), ("buy -100", "less than nothing"), ("sell -1", "a sign twice"),
        ("buy", "no size"), ("100", "no side"), ("buy 100 limit", "half a limit"), ("buy 100 limit 0", "a limit of nothing"),
        ("buy 100 limit -100", "a limit below nothing"), ("buy 100 102", "no word before the limit"), ("buy 100 limit 102 limit 103", "two limits"),
        ("buy 100 or sell 100", "a hedge"), ("<answer>buy 100</answer> <answer>sell 100</answer>", "two orders"),
        ("buy all", "no number"), ("buy 1OO", "letters"), ("buy 10 %", "a share"), ("buy 100 EUR", "a unit"), ("buy 1e16", "too large"),
        ("buy nan", "not a number"), ("buy inf", "infinite"), ("buy 100 limit nan", "a limit that is no number"),
        ("buy 100 limit 1e16", "a limit too large"), ("sold 100", "another word"), ("hold 100", "a size of nothing"), ("", "no text"), ("It rises.", "words"),
    ):  # fmt: skip
        key.add(said, task(3, 7), NO, why, "convention")
    opened = {"series": SERIES, "opens": ROWS[3][0], "closes": ROWS[7][0]}
    for said, why in (
        ("buy -100", "no order"),
        ("buy 1001", "more than may be held"),
        ("", "no text"),
    ):
        key.add(said, opened, NO, f"{why}, before anything is known", "convention")
    for said in ("buy 100", "sell 100", "hold"):
        key.add(
            said, {**opened, "opens_passed": True}, NO, "it came when prices count", "known hack"
        )


def unknown(key: Key) -> None:
    """What nobody can settle, yet or at all."""
    opened = {"series": SERIES, "opens": ROWS[3][0], "closes": ROWS[7][0]}
    late = {"opens": moved(ROWS[-1][0], hours=1), "closes": moved(ROWS[-1][0], days=2)}
    for said, given, reason, why in (
        ("buy 10", opened, "was asked", "it opens a case"),
        ("buy 10", {**opened, "opens_passed": "unknown"}, "clock", "nobody knows whether it is late"),
        ("buy 10", task(HALT, 13), "halted", "no price to open at"),
        ("buy 10", task(8, HALT), "halted", "no price to close at"),
        ("buy 10", task(BUSTED, 32), "halted", "a price that was taken back"),
        ("buy 10", {**task(0, 1), "opens": moved(ROWS[GAP][0], hours=1), "closes": ROWS[36][0]}, "within", "nothing told for weeks"),
        ("buy 10", {**task(0, 1), "opens": moved(ROWS[4][0], hours=1), "closes": moved(ROWS[4][0], hours=2)}, "between", "no price between"),
        ("buy 10", {**task(0, 1), "opens": moved(ROWS[4][0], hours=1), "closes": ROWS[5][0]}, "between", "the first price is the last"),
        ("buy 10", {**task(0, 1), **late}, "not settled yet", "nothing told so far"),
        ("buy 10", {**task(38, 39), "closes": late["closes"]}, "not settled yet", "no close so far"),
        ("buy 10", task(3, 7, series="none-such"), "none-such", "there is no such series"),
        ("buy 10", task(3, 7, series="../example-prices"), "series", "a path"),
        ("buy 10", {"opens": ROWS[3][0], "closes": ROWS[7][0], "«case»": CASE}, "series", "no series"),
        ("buy 10", {"series": SERIES, "closes": ROWS[7][0]}, "opens", "no time to open at"),
        ("buy 10", {"series": SERIES, "opens": ROWS[3][0]}, "closes", "no time to close at"),
        ("buy 10", task(7, 3), "opens", "it closes before it opens"),
        ("buy 10", task(7, 7), "opens", "it closes when it opens"),
        ("buy 10", {**opened, "opens": "noon"}, "opens", "words for a time"),
        ("buy 10", {**opened, "closes": "2026-02-09T16:00:00"}, "closes", "a time without a zone"),
        ("buy 10", task(3, 7, position="many"), "position", "words for a position"),
        ("buy 10", task(3, 7, position=True), "position", "a truth value for a position"),
        ("hold", task(HALT, 13), "halted", "nothing traded, and halted all the same"),
    ):  # fmt: skip
        key.add(said, given, UNKNOWN, why, "convention", reason=reason)


def hostile(key: Key) -> None:
    """Input that is made to break a verifier."""
    for said, why in (
        ([["buy ", 1], ["9", 1_000_000]], "a million digits"), ([["buy ", 500_000]], "many sides"),
        ([["<answer>", 100_000]], "tags that never end"), ("buy 1e999999999", "a power of ten"),
        ("buy 100\0", "a zero byte"), ("\u202e001 yub", "written backwards"),
        ([["<answer>buy 1</answer><answer>buy 2</answer>", 50_000]], "many answers"),
        ("buy 1 limit =1+1", "a formula"), ("__import__('os').abort()", "a program"),
        ([["buy 1 limit ", 1], [" ", 1_000_000]], "a limit of spaces"),
    ):  # fmt: skip
        key.hostile(said, task(3, 7), why)


def settings(key: Key) -> None:
    """Settings that make no sense. Added when the verifier was there."""
    for name, value in (
        ("fee", 1.0),
        ("slippage", -0.1),
        ("position_limit", 0.0),
        ("within", -1.0),
    ):
        given = {name: value}
        key.add(
            "buy 10",
            task(3, 7),
            UNKNOWN,
            f"{name} makes no sense",
            "convention",
            reason=name,
            settings=given,
        )


def drawn(key: Key) -> None:
    """Orders with a limit at rows that chance has chosen. Added when the verifier was there."""
    chance = Random(68)  # noqa: S311 - the same each time is the point
    priced = [place for place, (_, price, _) in enumerate(ROWS) if price is not None]
    for n in range(16):
        opens, closes = sorted(chance.sample(priced, 2))
        sign, word = ((1, "buy"), (-1, "sell"))[n % 2]
        size = chance.randint(1, 900)
        limit = round(price_at(opens) * Fraction(chance.randint(990, 1010), 1000), 2)
        score = profit(sign, Fraction(size), ROWS[opens][0], (opens, closes), limit)
        key.add(
            f"{word} {size} limit {float(limit)}",
            task(opens, closes),
            YES,
            "whatever lies between its two prices",
            CLOSED,
            score=near(score),
        )


def market_order(key: Key) -> None:
    """The whole key."""
    for part in (
        plain, limits, times, actions, positions, wrong, unknown, hostile, settings, drawn,
    ):  # fmt: skip
        part(key)


if __name__ == "__main__":
    write({"market-order": market_order}, [])
