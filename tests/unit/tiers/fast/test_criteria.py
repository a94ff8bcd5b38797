"""Criteria: windows, what a task adds to them, and the verdict on values."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.fast.criteria import Criteria, Quantity, Window
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Outcome

LENGTH = Quantity("the length", more="stretch it", less="cut it", unit="m")
WIDTH = Quantity("the width", more="widen it", less="narrow it", seconds=3.0)
QUANTITIES = {"length": LENGTH, "width": WIDTH}
NUMBERS = st.floats(-1e6, 1e6)


def criteria(score: str = "criteria", **windows: Mapping[str, float]) -> Criteria:
    return Criteria(QUANTITIES, windows, score)


@given(NUMBERS, st.floats(0, 1e6), st.floats(0.001, 1e3), st.floats(0, 1))
def test_a_share_falls_evenly_over_the_margin(
    least: float, width: float, margin: float, part: float
) -> None:
    window = Window(least=least, most=least + width, margin=margin)

    for value in (least, least + width, least + part * width):
        assert 1.0 == pytest.approx(window.share(value), abs=1e-3)
    for value in (least - part * margin, least + width + part * margin):
        assert 1 - part == pytest.approx(window.share(value), abs=1e-3)
    assert 0.0 == window.share(least - 1.01 * margin)


def test_without_a_margin_a_criterion_is_kept_or_not() -> None:
    window = Window(least=1.0)

    assert [0.0, 1.0, 1.0] == [window.share(value) for value in (0.999, 1.0, 99.0)]


def test_what_is_barely_outside_is_outside_whatever_the_margin() -> None:
    own = criteria(length={"most": 1.0, "margin": 1e300})

    verdict = own.verdict(own.of(None), {"length": 1.0000001})

    assert Outcome.REJECT is verdict.outcome


def test_a_reject_names_each_broken_criterion_its_value_and_what_to_do() -> None:
    own = criteria(length={"least": 2.0}, width={"least": 0.0, "most": 1.0})

    verdict = own.verdict(own.of(None), {"length": 1.5, "width": 3.0}, {"width": "too fat"})

    assert verdict.reason == (
        "the length is 1.5 m; the criterion is at least 2 m; "
        "the width is 3 (too fat); the criterion is 0 to 1"
    )
    assert verdict.feedback == (
        "Bring the length to at least 2 m: stretch it. Bring the width to 0 to 1: narrow it."
    )


def test_kept_criteria_are_not_told_and_all_have_a_named_score() -> None:
    own = criteria(length={"least": 2.0, "margin": 2.0}, width={"most": 1.0})

    verdict = own.verdict(own.of(None), {"length": 1.0, "width": 1.0})

    assert {"length": 0.5, "width": 1.0} == verdict.scores
    assert 0.75 == verdict.score
    assert "width" not in verdict.reason + verdict.feedback
    assert {"length": 1.0, "width": 1.0} == verdict.evidence


def test_a_value_may_be_the_score_of_what_is_accepted() -> None:
    own = criteria(score="length", width={"most": 1.0})

    kept = own.verdict(own.of(None), {"length": 7.0, "width": 0.0}, uncertainty=0.2)
    broken = own.verdict(own.of(None), {"length": 7.0, "width": 2.0}, uncertainty=0.2)

    assert (7.0, 0.2, "m") == (kept.score, kept.uncertainty, kept.unit)
    assert broken.score is None
    assert ["width", "length"] == own.wanted(own.windows)


def test_a_tasks_window_stands_for_the_own_one_and_the_others_stay() -> None:
    own = criteria(length={"least": 2.0}, width={"most": 1.0})

    windows = own.of({"criteria": {"length": {"most": 1.0}}, "prompt": "shorter"})

    assert {"length": Window(most=1.0), "width": Window(most=1.0)} == windows
    assert {"length": Window(least=2.0), "width": Window(most=1.0)} == own.of(None)


def test_what_is_measured_is_paid() -> None:
    own = criteria(width={"most": 1.0})

    assert 3.0 == own.seconds(own.of(None))
    assert 3.0 < own.seconds(own.of({"criteria": {"length": {"most": 1.0}}}))


def test_settings_make_the_same_criteria_again() -> None:
    own = criteria(score="length", length={"least": 2, "margin": 1})

    again = Criteria(QUANTITIES, own.settings["criteria"], own.settings["score"])

    assert own.settings == again.settings
    assert {"length": {"least": 2.0, "margin": 1.0}} == own.settings["criteria"]


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        ({"height": {"most": 1}}, "'height' is none of length, width"),
        ({"length": {}}, "give least, most or both"),
        ({"length": {"least": 2, "most": 1}}, "nothing lies between 2 and 1"),
        ({"length": {"least": float("nan")}}, "finite"),
        ({"length": {"most": 1, "margin": -1}}, "greater than 0"),
        ({"length": {"above": 1}}, "not permitted"),
        ({"length": 3}, "dictionary"),
        (["length"], "dictionary"),
    ],
)
def test_criteria_without_sense_are_refused(windows: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Criteria(QUANTITIES, windows)
    with pytest.raises(TaskError, match=f"the task's criteria make no sense: .*{told}"):
        criteria().of({"criteria": windows})


def test_nothing_to_judge_by_is_the_tasks_fault() -> None:
    with pytest.raises(TaskError, match="the task has no criteria"):
        criteria().of({"prompt": "a molecule, please"})
    assert {} == criteria(score="length").of(None)


def test_each_verifier_of_a_ladder_may_have_a_field_of_the_task() -> None:
    task = {"criteria": {"height": {"most": 1}}, "shape": {"length": {"most": 1}}}

    assert {"length": Window(most=1)} == Criteria(QUANTITIES, {}, field="shape").of(task)
    with pytest.raises(TaskError, match="the task has no size"):
        Criteria(QUANTITIES, {}, field="size").of(task)
    for field in ("", "target", "a b", 3):
        with pytest.raises(ConfigError, match="name the task's field"):
            Criteria(QUANTITIES, {}, field=field)  # type: ignore[arg-type]


def test_an_unknown_score_is_refused() -> None:
    with pytest.raises(ConfigError, match="write criteria, length, width"):
        criteria(score="height")
