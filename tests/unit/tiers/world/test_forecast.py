"""Forecasts of a number: what is one, and how far off it is."""

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
from verifier_ladder.tiers.world import forecast as module
from verifier_ladder.tiers.world.case import is_waiting
from verifier_ladder.tiers.world.forecast import Normal, NumericForecast
from verifier_ladder.verdict import Outcome, Verdict

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
TABLE = Path(module.__file__).parent / "example-series.csv"
ROWS = [
    (moment(row["time"]), row["value"])
    for row in csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())
]
finite = st.floats(-1e6, 1e6)
spread = st.floats(1e-3, 1e6)


class Scored:
    """A naive checker: a score by content and task, where an error is a no."""

    def __init__(self, score: Callable[[str, float], float]) -> None:
        self.score = score

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        return [self._one(str(each.content), each.task or {}) for each in candidates]

    def _one(self, text: str, task: Mapping[str, Any]) -> Verdict:
        try:
            return Verdict.accept(self.score(text, moment(task["horizon"])))
        except Exception:  # noqa: BLE001 - what it stands for does the same
            return Verdict.reject("no")


def value(at: float, *, later: bool = True) -> float:
    after = [float(v) for time, v in ROWS if time >= at and v]
    before = [float(v) for time, v in ROWS if time < at and v]
    return after[0] if later else before[-1]


TWINS = {
    "the first number": Scored(lambda t, at: abs(float(NUMBER.findall(t)[0]) - value(at))),
    "all of it": Scored(lambda t, at: abs(float(t) - value(at))),
    "squares": Scored(lambda t, at: (float(NUMBER.findall(t)[0]) - value(at)) ** 2),
    "the value before": Scored(
        lambda t, at: abs(float(NUMBER.findall(t)[0]) - value(at, later=False))
    ),
}


@pytest.fixture(scope="module")
def key() -> AnswerKey:
    return AnswerKey.named("numeric-forecast")


def test_it_agrees_with_its_answer_key(key: AnswerKey) -> None:
    report = key.check(NumericForecast())

    assert [] == report.complaints
    assert [] == report.flaws


def test_its_answer_key_is_the_frozen_one_and_hard_enough(key: AnswerKey) -> None:
    frozen = "6354ef562b1ff343cd73440e213740286e579db0eec9510a61287860fe7baf7f"
    assert frozen == key.frozen(111)
    assert [] == key.weaknesses(TWINS)


def test_mutants_of_it_are_noticed(key: AnswerKey) -> None:
    survey = mutation_test(key, NumericForecast)

    assert [] == survey.weaknesses, survey.survived


@given(finite, spread, finite, st.floats(0.1, 10.0))
def test_the_score_scales_and_moves_with_what_it_is_about(
    mean: float, deviation: float, value: float, by: float
) -> None:
    score = Normal(mean, deviation).score(value)
    room = 1e-6 * (abs(mean) + abs(value) + deviation) * by

    assert 0 <= score <= abs(value - mean) + deviation
    assert by * score == pytest.approx(
        Normal(by * mean, by * deviation).score(by * value), abs=room
    )
    assert score == pytest.approx(Normal(-mean, deviation).score(-value), abs=room)


@given(finite, finite)
def test_a_narrow_distribution_is_nearly_a_point(mean: float, value: float) -> None:
    assert Normal(mean).score(value) == pytest.approx(Normal(mean, 1e-9).score(value), abs=1e-6)


BAD_FEEDS = {
    "no columns": "a,b\n1,2\n", "no number": "time,value\n1,2\n3,x\n9,4\n",
    "not in order": "time,value\n5,1\n4,2\n9,3\n", "no zone": "time,value\n2026-01-01T00:00,1\n",
    "infinite": "time,value\n1,inf\n9,1\n", "half a row": "time,value\n1\n9,1\n",
    "an open quote": 'time,value\n1,"2\n9,1\n', "bytes": "time,value\n\x00,\x01\n9,1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FEEDS)
def test_a_feed_that_makes_no_sense_settles_nothing_and_is_told_by_its_line(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "s.csv").write_text(BAD_FEEDS[name])
    task = {"series": "s", "horizon": 8}
    asked = to_settle(Candidate("text", "3", task), b"k" * 32, None)

    (verdict,) = NumericForecast(folder=str(tmp_path)).judge([asked])

    assert is_waiting(verdict), verdict
    assert "line" in verdict.reason


def test_what_settled_it_is_evidence(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("time,value\n7,1\n8.5,4\n")
    asked = to_settle(Candidate("text", "3", {"series": "s", "horizon": 8}), b"k" * 32, None)

    (verdict,) = NumericForecast(folder=str(tmp_path), unit="EUR").judge([asked])

    assert (Outcome.ACCEPT, 1.0, "EUR") == (verdict.outcome, verdict.score, verdict.unit)
    assert {"series": "s", "time": 8.5, "value": 4.0}.items() <= verdict.evidence.items()
    assert {"feed_sha256", "valid_until"} <= verdict.evidence.keys()


@pytest.mark.parametrize("settings", [{"within": -1.0}, {"within": float("nan")}, {"find": []}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        NumericForecast(**settings)


@pytest.mark.parametrize("deviation", ["1e-300", "1e-320", "5e-324"])
def test_a_deviation_next_to_nothing_settles_as_a_point_does(deviation: str) -> None:
    task = {"series": "example-series", "horizon": next(at for at, value in ROWS if value)}
    point, spread = (
        NumericForecast().judge([
            to_settle(Candidate("text", f"<answer>{said}</answer>", task), bytes(32), None)
        ])[0]
        for said in ("7", f"7 ± {deviation}")
    )  # fmt: skip

    assert Outcome.ACCEPT is spread.outcome
    assert point.score == spread.score


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"])
def test_a_time_that_no_calendar_has_in_utc_is_no_time(time: str) -> None:
    task = {"series": "example-series", "horizon": time}
    for late in ({}, {"horizon_passed": True}):
        (verdict,) = NumericForecast().judge([Candidate("text", "7", {**task, **late})])
        assert ("config", True) == (verdict.failed_at, "is no time" in verdict.reason)
    assert moment("9999-12-31T23:59:59+00:00") > 0 > moment("0001-01-01T00:00:00+00:00")


@pytest.mark.parametrize("split", ["1e-300", "1e300"])
def test_splits_that_no_number_holds_judge_nobody(split: str, tmp_path: Path) -> None:
    rows = "".join(f"{time},5,{split}\n" for time in (2, 3, 8))
    (tmp_path / "s.csv").write_text(f"time,value,split\n{rows}")
    task = {"series": "s", "horizon": 8, "as_of": 1}
    asked = to_settle(Candidate("text", "3", task), b"k" * 32, None)

    (verdict,) = NumericForecast(folder=str(tmp_path)).judge([asked])

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert "splits of s" in verdict.reason
