"""Orders: what is one, at which prices it is filled and undone, and what it earns."""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.case import moment, to_settle
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey
from verifier_ladder.testing.mutants import mutation_test
from verifier_ladder.tiers.world import order as module
from verifier_ladder.tiers.world.case import is_waiting
from verifier_ladder.tiers.world.order import Costs, MarketOrder, Order, trade
from verifier_ladder.verdict import Outcome, Verdict

NUMBER = re.compile(r"\d+(?:\.\d+)?")
TABLE = Path(module.__file__).parent / "example-prices.csv"
ROWS = [
    (moment(row["time"]), float(row["value"]), row["vintage"])
    for row in csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())
    if row["value"]
]
COSTS = Costs(fee=0.001, slippage=0.0005)
price = st.floats(0.01, 1e6)
size = st.floats(0.01, 1e6)
share = st.floats(0, 0.5)


class Scored:
    """A naive checker: a profit by content and task, where an error is a no."""

    def __init__(self, score: Callable[[str, Mapping[str, Any]], float]) -> None:
        self.score = score

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        return [self._one(str(each.content), each.task or {}) for each in candidates]

    def _one(self, text: str, task: Mapping[str, Any]) -> Verdict:
        try:
            return Verdict.accept(self.score(text.lower(), task))
        except Exception:  # noqa: BLE001 - what it stands for does the same
            return Verdict.reject("no")


def close(at: Any, vintage: str | None = None) -> float:
    return next(v for t, v, by in ROWS if t >= moment(at) and vintage in {None, by})


def gain(text: str, task: Mapping[str, Any], costs: Costs = COSTS) -> float:
    sign = 1 if "buy" in text else -1
    order = Order(sign, float(NUMBER.findall(text)[0]))
    return trade(order, close(task["opens"]), close(task["closes"]), 1.0, costs).profit


TWINS = {
    "no limits, no splits": Scored(gain),
    "no costs": Scored(lambda text, task: gain(text, task, Costs())),
    "paper profit": Scored(
        lambda text, task: abs(close(task["closes"]) - close(task["opens"])) * len(text)
    ),
    "what was told first": Scored(
        lambda text, task: trade(
            Order(1 if "buy" in text else -1, float(NUMBER.findall(text)[0])),
            close(task["opens"], "1"), close(task["closes"], "1"), 1.0, COSTS,
        ).profit
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def key() -> AnswerKey:
    return AnswerKey.named("market-order")


def test_it_agrees_with_its_answer_key(key: AnswerKey) -> None:
    report = key.check(MarketOrder())

    assert [] == report.complaints
    assert [] == report.flaws


def test_its_answer_key_is_the_frozen_one_and_hard_enough(key: AnswerKey) -> None:
    frozen = "e7f77d669e496ee046fe3d4896b08287352ba6d3e8c26390ad4c7374c1cbff12"
    assert frozen == key.frozen(137)
    assert [] == key.weaknesses(TWINS)


def test_mutants_of_it_are_noticed(key: AnswerKey) -> None:
    survey = mutation_test(key, MarketOrder)

    assert [] == survey.weaknesses, survey.survived


@given(price, price, size, share, share)
def test_who_buys_and_who_sells_lose_together_what_trading_costs(
    first: float, last: float, size: float, fee: float, slippage: float
) -> None:
    free = [trade(Order(sign, size), first, last, 1.0, Costs()).profit for sign in (1, -1)]
    paid = [
        trade(Order(sign, size), first, last, 1.0, Costs(fee, slippage)).profit for sign in (1, -1)
    ]
    room = 1e-9 * size * (first + last)

    assert free[0] == pytest.approx(-free[1], abs=room)
    costs = 2 * size * (first + last) * (fee + slippage)
    assert -sum(paid) == pytest.approx(costs, abs=max(room, 1e-9 * costs))


@given(price, price, size, st.sampled_from([0.1, 0.5, 2.0, 10.0]))
def test_a_split_changes_nothing_but_the_units(
    first: float, last: float, size: float, split: float
) -> None:
    whole = trade(Order(1, size), first, last, 1.0, COSTS).profit
    room = 1e-9 * size * (first + last)

    assert whole == pytest.approx(
        trade(Order(1, size), first, last / split, split, COSTS).profit, abs=room
    )
    order = Order(1, size).after(split)
    assert whole == pytest.approx(
        trade(order, first / split, last / split, 1.0, COSTS).profit, abs=room
    )


def test_who_comes_after_the_opening_is_told_when_orders_were_taken() -> None:
    task = {"series": "s", "opens": 10, "closes": 20, "opens_passed": True}

    (verdict,) = MarketOrder().judge([Candidate("text", "buy 10", task)])

    assert "late: samples are taken only before 1970-01-01T00:00:10+00:00" == verdict.reason


def settled(folder: Path, said: str = "buy 10", **settings: Any) -> Verdict:
    task = {"series": "s", "opens": 10, "closes": 20}
    asked = to_settle(Candidate("text", said, task), b"k" * 32, None)
    free = {"fee": 0.0, "slippage": 0.0, **settings}
    return MarketOrder(folder=str(folder), **free).judge([asked])[0]


def test_what_settled_it_is_evidence_with_its_publication_and_vintage(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        "time,value,published,vintage\n9,1,9,a\n12,5,13,a\n22,7,23,a\n12,6,30,b\n"
    )

    verdict = settled(tmp_path, unit="EUR")

    assert (Outcome.ACCEPT, 10.0, "EUR") == (verdict.outcome, verdict.score, verdict.unit)
    opening, closing = verdict.evidence["opening"], verdict.evidence["closing"]
    assert ("1970-01-01T00:00:12+00:00", 6.0, "b") == tuple(
        opening[name] for name in ("time", "value", "vintage")
    )
    assert ("1970-01-01T00:00:30+00:00", "1970-01-01T00:00:23+00:00") == (
        opening["published"], closing["published"],
    )  # fmt: skip
    assert 64 == len(verdict.evidence["feed_sha256"])
    assert "1970-01-01T00:00:10+00:00" == verdict.evidence["valid_until"]


@pytest.mark.parametrize(
    "rows",
    {
        "profit": "12,1e300,\n22,1e308,\n", "difference": "12,1e308,\n22,-1e308,\n",
        "size": "12,1,1e300\n22,1,\n", "splits": "12,1,\n13,1,1e300\n22,1,1e300\n",
        "splits to nothing": "12,1,\n13,1,1e-300\n22,1,1e-300\n",
    }.values(),
)  # fmt: skip
def test_nobody_knows_what_an_order_earned_that_no_number_holds(tmp_path: Path, rows: str) -> None:
    (tmp_path / "s.csv").write_text(f"time,value,split\n{rows}")

    verdict = settled(tmp_path, "buy 1e15", position_limit=1e15)

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.evidence.get("waiting"))
    assert "too large or too small" in verdict.reason


BAD_FEEDS = {
    "published before its time": "time,value,published\n12,5,11\n22,7,23\n",
    "not in the order of publication": "time,value,published\n12,5,30\n22,7,23\n",
    "a revision without publication": "time,value\n12,5\n22,7\n12,6\n",
    "no split": "time,value,split\n12,5,0\n22,7,\n", "half a row": "time,value,published\n12,5\n",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FEEDS)
def test_a_feed_that_makes_no_sense_settles_nothing_and_is_told_by_its_line(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "s.csv").write_text(BAD_FEEDS[name])

    verdict = settled(tmp_path)

    assert is_waiting(verdict), verdict
    assert "line" in verdict.reason


@pytest.mark.parametrize(
    "settings",
    [{"fee": -0.1}, {"fee": 1.0}, {"slippage": float("nan")}, {"position_limit": 0.0},
     {"within": -1.0}, {"find": []}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        MarketOrder(**settings)
