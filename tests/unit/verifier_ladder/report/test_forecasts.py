"""Charts of forecasts and back-tests say in words what they draw."""

import re
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.report.forecasts import (
    NUMBER,
    READER,
    SERIES,
    Said,
    equity_chart,
    equity_text,
    number_chart,
    number_text,
    points_in,
    question,
    said_in,
    series_chart,
    series_text,
)
from verifier_ladder.tiers.simulation.equity import read, written
from verifier_ladder.verdict import Verdict

VALUES = [float(n * n % 7) for n in range(48)]
TASK = {"values": VALUES, "first": 4, "form": "quantiles", "levels": [0.1, 0.5, 0.9]}


def asked(of: str, text: str, task: Any = None, settings: Any = None) -> Verdict:
    words = question(of, text, task, settings or {})
    assert words is not None
    return READER.judge([Candidate("text", words)])[0]


def test_a_number_is_drawn_with_its_intervals_and_what_came() -> None:
    said = said_in(asked(NUMBER, "It rises: <answer>101.5 ± 2</answer>"))
    assert said == Said(101.5, 2.0)
    chart = number_chart(said, 105.5, "EUR")

    assert "forecast 101.5 ± 2.0; 105.50 came, 2.0 deviations off" == number_text(said, 105.5)
    assert 2 == chart.count('class="band"')
    assert 1 == chart.count('class="mark came"')
    assert "what came is not known yet" in number_text(said, None)


@pytest.mark.parametrize("text", ["", "no idea", "<answer>1 or 2</answer>", "<script>", "\x00"])
def test_what_is_no_forecast_is_not_drawn(text: str) -> None:
    assert said_in(asked(NUMBER, text)) is None


@pytest.mark.parametrize(
    ("said", "came"),
    [
        (Said(0.0, None), None), (Said(1e15, 1e-9), 1e15), (Said(1e-300, 1e-310), 0.0),
        (Said(-1e15, 1e15), 1e15), (Said(5e-324, None), 5e-324),
    ],
)  # fmt: skip
def test_extreme_numbers_are_drawn_too(said: Said, came: float | None) -> None:
    assert "nan" not in number_chart(said, came, "<unit>")
    assert "<unit>" not in number_chart(said, came, "<unit>")


def test_a_series_is_drawn_one_step_ahead() -> None:
    text = str([[[y - 1, y, y + 1]] for y in VALUES[4:-1]] + [[[8.0, 9.0, 10.0]]])
    points = points_in(asked(SERIES, text, TASK))

    assert [4, 47] == [points[0].step, points[-1].step]
    assert "of 44 values 43 lay in their intervals" in series_text(points)
    assert re.search(r'class="line best" d="M[\d. L]+"', series_chart(points))


def test_a_curve_is_drawn_with_what_was_lost_on_the_way() -> None:
    worth = read(written([0.0, 0.25, 0.125, 0.5]))

    assert [0.0, 0.25, 0.125, 0.5] == worth
    assert "50.0 % of the capital over 4 prices" in equity_text(worth)
    assert "12.5 %, at price 3" in equity_text(worth)
    assert 'class="loss"' in equity_chart(worth)


@pytest.mark.parametrize("data", [b"", b"abc", written([float("nan")]), b"\0" * (1 << 21)])
def test_a_file_that_is_no_curve_is_none(data: bytes) -> None:
    assert [] == read(data)
