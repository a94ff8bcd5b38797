"""Back-tests: what a strategy is told, when its orders are filled, what it has earned."""

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from codecase import CLASSES, CodeTestCase
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.hostile import HOSTILE
from verifier_ladder.tiers.fast.programs import program_in
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.tiers.simulation.backtest import BackTest, Book, performance
from verifier_ladder.tiers.world.order import Costs, Order, trade
from verifier_ladder.verdict import Outcome, Verdict

EXAMPLES = Path(__file__).parents[4] / "examples" / "series"
FALL = [100.0 - n % 2 / 4 - n for n in range(48)]
TASK = {"prices": FALL, "times": [86400 * n for n in range(48)]}
SHORT = "def decide(bar):\n    return 'hold' if bar['position'] else 'sell 1000'"
KEEP = SHORT.replace("sell", "buy")
EQUIVALENT = [  # Of named scores, which tests below hold, of evidence, and of the control.
    "order.size * abs(price) -> order.size / abs(price)",
    "mine.traded / capital -> mine.traded * capital",
    "peak - each -> peak + each",
    "fmean(returns) / spread * sqrt(per_year) -> fmean(returns) / spread / sqrt(per_year)",
    "fmean(returns) / spread -> fmean(returns) * spread",
    "held.worth[-1] / capital -> held.worth[-1] * capital",
    "100.0 - n % 2 / 4 - n -> 100.0 - n % 2 / 4 + n",
    "100.0 - n % 2 / 4 -> 100.0 + n % 2 / 4",
    "n % 2 / 4 -> n % 2 * 4",
]
COSTS = Costs(fee=0.001, slippage=0.0005)
price = st.floats(0.01, 1e6)


# ---- Naive checkers


def orders_of(text: str, task: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Prices with the orders that were given at them, where nobody looks at sessions."""
    source, found, held = program_in(text), [], 0.0
    if any(word in source for word in (b"while True", b"exit", b"SystemExit")):
        raise ValueError  # It would end what tries it here.
    space: dict[str, Any] = {}
    exec(source, space)  # noqa: S102
    for time, told in zip(task["times"], task["prices"], strict=True):
        if told is None:
            continue
        bar = {"time": time, "price": told, "position": held, "profit": 0.0}
        order = space[task.get("function", "decide")](bar)
        found.append((order, told))
        words = order.split()
        held += {"buy": 1, "sell": -1, "hold": 0}[words[0]] * float((*words, "0")[1])
    return found


def gain(text: str, task: Mapping[str, Any]) -> float:
    """What is earned if each order is filled at the price that it was given at, for nothing."""
    cash, held, told = 0.0, 0.0, 0.0
    for order, told in orders_of(text, task):
        words = order.split()
        size = {"buy": 1, "sell": -1, "hold": 0}[words[0]] * float((*words, "0")[1])
        cash, held = cash - size * told, held + size
    return cash + held * told


class TestBackTest(CodeTestCase):
    whole = BackTest(limits={"cpu": 2.0, "wall": 20.0})
    every = 6
    mutants: Mapping[str, Any] = {"count": 30, "equivalent": EQUIVALENT}
    hostile = HOSTILE[::5]  # Programs are read as by its neighbours, which are tried with all.
    twins: Mapping[str, Judge] = {
        "it runs": Twin(lambda text, task: bool(orders_of(text, task))),
        "a profit": Twin(lambda text, task: gain(text, task) > 0),
        "a profit beyond holding": Twin(
            lambda text, task: gain(text, task) > gain(KEEP, {**task, "function": "decide"})
        ),
    }  # fmt: skip

    @pytest.fixture
    def verifier(self) -> BackTest:
        return BackTest(limits={"cpu": 2.0, "wall": 20.0})


def test_the_answer_key_is_the_frozen_one() -> None:
    frozen = "844635f57b4eb8f920a223c237da40c24f6891e5f420d2b0f5e2520c16d05ea4"

    assert frozen == AnswerKey.named("back-test").frozen(189)


# ---- Counting


@given(price, price, price, st.floats(0.01, 1e6), st.sampled_from([1, -1]))
def test_a_round_trip_earns_what_an_order_of_the_market_earns(
    seen: float, first: float, last: float, size: float, sign: int
) -> None:
    book = Book(COSTS)
    book.tell(seen)
    book.take(Order(sign, size))
    book.tell(first)
    book.tell(last)
    book.close()

    wanted = trade(Order(sign, size), first, last, 1.0, COSTS).profit
    assert book.worth[-1] == pytest.approx(wanted, abs=1e-9 * size * (first + last))


def test_an_order_is_filled_at_the_next_price_only_and_lapses_beyond_its_limit() -> None:
    book = Book(Costs())
    for told, order in ((10.0, Order(1, 5.0, 9.0)), (9.5, Order(0, 0.0)), (8.0, Order(0, 0.0))):
        book.tell(told)
        book.take(order)

    assert (0.0, [0.0, 0.0, 0.0]) == (book.held, book.worth)


def test_who_does_the_same_is_ahead_by_nothing_at_all() -> None:
    books = [Book(COSTS), Book(COSTS)]
    for book in books:
        for told in FALL:
            book.tell(told)
            book.take(Order(1 if told is FALL[0] else 0, 1000.0))
        book.close()

    found = performance(books[0], books[1], capital=1e5, per_year=252.0)

    assert (0.0, 0.0, 0.0) == (found.excess, found.low, found.high)
    assert found.total == pytest.approx(books[0].worth[-1] / 1e5)


def test_drawdown_turnover_and_sharpe_are_of_the_capital() -> None:
    mine, other = Book(Costs()), Book(Costs())
    for told in (10.0, 10.0, 14.0, 11.0, 13.0):
        mine.tell(told)
        other.tell(told)
        mine.take(Order(1 if len(mine.worth) == 1 else 0, 2.0))
    mine.close()

    found = performance(mine, other, capital=20.0, per_year=4.0)

    assert (0.3, 0.3, 0.3, 2.3) == pytest.approx(
        (found.total, found.excess, found.drawdown, found.turnover)
    )
    assert found.sharpe == pytest.approx(2 * 0.075 / 0.29860788, rel=1e-6)


# ---- What is judged


@pytest.fixture(params=CLASSES)
def kind(request: pytest.FixtureRequest, require: Callable[..., None]) -> str:
    found = str(request.param)
    why = Backend(found).problem()
    require(f"the sandbox {found}", not why, why)
    return found


def said(kind: str, program: str, task: Mapping[str, Any] = TASK, **settings: Any) -> Verdict:
    candidate = vl.Candidate("text", program, task=dict(task))
    return BackTest(**settings).in_sandbox(Backend(kind)).judge([candidate])[0]


def test_a_strategy_that_earns_more_is_accepted_with_what_it_earned(kind: str) -> None:
    verdict = said(kind, SHORT, fee=0.0, slippage=0.0)

    assert Outcome.ACCEPT is verdict.outcome, verdict
    moved = (FALL[1] - FALL[-1]) / FALL[0]
    assert 2 * moved == pytest.approx(verdict.score)
    assert moved == pytest.approx(verdict.scores["return"])
    assert verdict.scores["excess_low"] < verdict.scores["excess"] < verdict.scores["excess_high"]


def test_holding_is_no_better_than_holding(kind: str) -> None:
    verdict = said(kind, KEEP)

    assert (Outcome.REJECT, 0.0, 0.0) == (verdict.outcome, verdict.score, verdict.scores["excess"])


def test_a_strategy_is_told_its_fills_and_nothing_that_comes_later(kind: str) -> None:
    program = (
        "seen = []\ndef decide(bar):\n    seen.append(bar)\n"
        "    assert sorted(bar) == ['position', 'price', 'profit', 'time'], bar\n"
        "    assert [each['time'] for each in seen] == [86400 * n for n in range(len(seen))]\n"
        "    assert bar['position'] == (0 if len(seen) == 1 else -1000)\n"
        "    assert len(seen) < 3 or bar['profit'] > seen[-2]['profit']\n"
        "    return 'hold' if bar['position'] else 'sell 1000'"
    )

    verdict = said(kind, program, {**TASK, "prices": [100.0 - n for n in range(48)]})

    assert Outcome.ACCEPT is verdict.outcome, verdict


def test_prices_outside_of_an_exchanges_sessions_are_none(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = float("nan")

    def session(day: int) -> SimpleNamespace:
        opens, closes = (datetime.fromtimestamp(86400 * day + by, UTC) for by in (-3600, 0))
        return SimpleNamespace(open=opens, break_start=nothing, break_end=nothing, close=closes)

    rows = list(map(session, range(47)))
    schedule = SimpleNamespace(itertuples=lambda index: rows[index:])
    calendars = SimpleNamespace(
        get_calendar_names=lambda: ["XTST"],
        get_calendar=lambda *_, **__: SimpleNamespace(schedule=schedule),
    )
    monkeypatch.setitem(sys.modules, "exchange_calendars", calendars)

    verdict = said(kind, SHORT, calendar="XTST")

    assert (Outcome.ACCEPT, 47) == (verdict.outcome, verdict.evidence["prices"])


def test_what_a_program_says_of_hidden_prices_is_not_passed_on(kind: str) -> None:
    for order in (
        "raise ValueError(bar)", "return f\"buy {bar['price'] * 1000 + 7}\"",
        "return str(bar['price'] * 3)",
    ):  # fmt: skip
        verdict = said(kind, f"def decide(bar):\n    {order}")
        told = f"{verdict.reason} {verdict.feedback}"
        assert Outcome.REJECT is verdict.outcome
        assert not any(number in told for number in ("100007", "100.0", "300"))


def test_a_sandbox_without_conversations_is_named() -> None:
    remote = Backend("remote", url="sandboxfusion+http://127.0.0.1:9")

    (verdict,) = BackTest().in_sandbox(remote).judge([vl.Candidate("text", SHORT, task=TASK)])

    assert (Outcome.ABSTAIN, "sandbox") == (verdict.outcome, verdict.failed_at)
    assert "(talk)" in verdict.reason


@pytest.mark.parametrize(
    "settings",
    [{"fee": -0.1}, {"slippage": 1.0}, {"position_limit": 0.0}, {"least": 2}, {"per_year": 0.0},
     {"limits": {"gpu": 1}}, {"calendar": 5}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(vl.ConfigError):
        BackTest(**settings)


@pytest.mark.slow
@pytest.mark.usefixtures("sandboxes")
def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    result = vl.score_file(
        EXAMPLES / "strategies.jsonl", ladder=EXAMPLES / "strategies.toml",
        ledger=tmp_path / "ledger.db",
    )  # fmt: skip

    first, second, third = result.rewards
    assert (first.value or 0) > 0.2
    assert (0, 0) == (second.value, third.value)
