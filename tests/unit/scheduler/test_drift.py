"""Drift."""

import json
from collections.abc import Iterable
from math import inf, nan
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import SampleId
from verifier_ladder.scheduler.drift import RELEARNING, Alarm, Direction, Drift

RESIDUALS = st.lists(st.tuples(st.sampled_from("ab"), st.floats()), max_size=60)


def alarms(drift: Drift, residuals: Iterable[float], start: int = 0) -> list[Alarm]:
    said = [
        drift.add("guess", float(z), sample=SampleId("run", 0, start + i))
        for i, z in enumerate(residuals)
    ]
    return [alarm for alarm in said if alarm is not None]


def delays(shift: float, scale: float = 1.0, runs: int = 400) -> list[int]:
    """Audits from a change to its alarm, in charts that have been running for a while."""
    random, found = np.random.default_rng(0), []
    for _ in range(runs):
        drift, delay = Drift(), 1
        if alarms(drift, random.normal(0, 1, 60)):
            continue
        while not alarms(drift, [random.normal(shift, scale)]):
            delay += 1
        found.append(delay)
    return found


def test_a_shift_by_one_deviation_to_the_worse_is_found_within_ten_audits() -> None:
    assert median(delays(-1.0)) <= 10


def test_a_shift_by_two_deviations_is_found_within_four_audits() -> None:
    assert median(delays(-2.0)) <= 4


def test_a_loophole_that_is_there_from_the_start_is_found_within_one_prompt() -> None:
    random, found = np.random.default_rng(3), []
    for _ in range(200):
        drift, audits = Drift(), 0
        while audits < 30:
            step, position = divmod(audits, 8)
            sample = SampleId("run", step, position)
            audits += 1
            if drift.add("guess", random.normal(-2.0), sample=sample, group="the only prompt"):
                break
        found.append(audits)

    assert median(found) <= 6
    assert np.quantile(found, 0.9) <= 9


def test_what_prompts_share_raises_few_false_alarms() -> None:
    random, said = np.random.default_rng(4), 0
    for _ in range(40):
        drift = Drift()
        for group, shared in enumerate(random.normal(0.0, 0.7**0.5, 100)):
            for position in range(3):
                z = shared + random.normal(0.0, 0.3**0.5)
                place = SampleId("run", group // 8, group % 8 * 3 + position)
                said += drift.add("guess", z, sample=place, group=str(group)) is not None

    assert said <= 1.5 * 12  # 12,000 audits.


def test_shifts_to_the_better_and_a_wider_spread_are_found_too() -> None:
    assert median(delays(1.0)) <= 15
    assert median(delays(0.0, scale=2.0)) <= 20


@pytest.mark.parametrize(("tails", "most"), [("normal", 0.6), ("student", 0.6)])
def test_there_is_about_half_a_false_alarm_in_a_thousand_audits(tails: str, most: float) -> None:
    random = np.random.default_rng(1)
    if tails == "normal":
        residuals = random.normal(0, 1, 40_000)
    else:
        residuals = random.standard_t(5, 40_000) / (5 / 3) ** 0.5

    assert len(alarms(Drift(), residuals)) < most * 40


@pytest.mark.parametrize(("chance", "most"), [(0.5, 1.0), (0.8, 3.0), (0.9, 2.0), (0.99, 0.2)])
def test_a_target_that_is_passed_or_failed_raises_few_false_alarms(
    chance: float, most: float
) -> None:
    random = np.random.default_rng(2)
    truths = (random.random(40_000) < chance).astype(float)

    said = alarms(Drift(), (truths - chance) / (chance * (1 - chance)) ** 0.5)

    assert len(said) <= most * 40


@pytest.mark.parametrize("outlier", [-50.0, -inf, inf, 1e300])
def test_one_outlier_is_no_alarm(outlier: float) -> None:
    assert not alarms(Drift(), [*[0.0] * 20, outlier, *[0.0] * 20])


def test_an_alarm_says_what_happened_and_since_when() -> None:
    drift = Drift()
    alarms(drift, [0.3, -0.2, 0.1, 0.4])

    alarm, = alarms(drift, [-2.0] * 4, start=4)  # fmt: skip

    assert Direction.OVERRATED is alarm.direction
    assert alarm.is_gamed
    assert (4, SampleId("run", 0, 4), SampleId("run", 0, 7)) == (
        alarm.audits,
        alarm.first,
        alarm.last,
    )
    assert (
        "guess is being gamed or has changed: audits find worse than it says. "
        "Candidates are worse than believed, for the last 4 audits; "
        "suspect since step 0 of run run" == alarm.text
    )


def test_to_be_better_than_believed_is_not_gaming() -> None:
    alarm, = alarms(Drift(), [2.4] * 5)  # fmt: skip

    assert Direction.UNDERRATED is alarm.direction
    assert not alarm.is_gamed
    assert () == alarm.winners


def test_to_be_both_better_and_worse_than_believed_is_named_too() -> None:
    alarm = alarms(Drift(), [2.4, -2.4] * 20)[0]

    assert Direction.UNSURE is alarm.direction
    assert "by more than its uncertainty" in alarm.text


def test_suspicious_winners_were_believed_to_be_good_and_are_not() -> None:
    drift = Drift()
    for i in range(40):
        drift.add("guess", 0.0, sample=SampleId("run", 0, i), estimate=0.5, truth=0.5)

    said = [
        drift.add(
            "guess", -1.5 - i / 10, sample=SampleId("run", 1, i), estimate=0.9 if i % 2 else 0.1,
            truth=0.0,
        )
        for i in range(8)
    ]  # fmt: skip

    alarm, = [one for one in said if one]  # fmt: skip
    assert [SampleId("run", 1, 3), SampleId("run", 1, 1)] == [w.sample for w in alarm.winners]
    assert all(w.estimate > 0.5 > w.truth for w in alarm.winners)


def test_strata_do_not_mix() -> None:
    drift = Drift()
    for i in range(3):
        assert drift.add("guess", -2.0, sample=SampleId("run", 0, i)) is None
        assert drift.add("relax", -2.0, sample=SampleId("run", 0, i)) is None

    assert drift.add("guess", -2.0, sample=SampleId("run", 0, 5)) is not None
    assert (2.0, 1.0) == (drift.audit_multiplier("guess"), drift.audit_multiplier("relax"))


def watched(drift: Drift) -> tuple[float, float, bool]:
    return drift.audit_multiplier("guess"), drift.forgetting("guess"), drift.is_alarmed


def test_after_an_alarm_audits_are_doubled_and_the_past_is_forgotten_for_a_while() -> None:
    drift = Drift()
    assert (1.0, 0.999, False) == watched(drift)

    assert alarms(drift, [-2.0] * 4)
    assert (2.0, 0.97, True) == watched(drift)

    alarms(drift, [0.0] * (RELEARNING - 1))
    assert (2.0, 0.97, True) == watched(drift)
    alarms(drift, [0.0])
    assert (1.0, 0.999, False) == watched(drift)


def test_one_drift_is_told_once_and_again_only_if_it_lasts() -> None:
    drift = Drift()
    assert alarms(drift, [-2.0] * 5)

    assert not alarms(drift, [-2.0] * RELEARNING)
    assert alarms(drift, [-2.0] * 5)


def test_a_belief_that_forgets_faster_anyway_goes_on_so() -> None:
    drift = Drift()
    alarms(drift, [-2.0] * 5)

    assert 0.9 == drift.forgetting("guess", usual=0.9)


def test_an_unknown_residual_says_nothing() -> None:
    drift = Drift()

    assert drift.add("guess", nan, sample=SampleId("run", 0, 0)) is None
    assert {} == drift.snapshot()


@given(RESIDUALS, RESIDUALS)
def test_a_snapshot_brings_everything_back(
    past: list[tuple[str, float]], future: list[tuple[str, float]]
) -> None:
    drift = Drift()
    for i, (stratum, z) in enumerate(past):
        which, group = SampleId("run", 0, i), str(i % 3 or "")
        drift.add(stratum, z, sample=which, estimate=float(i % 3), truth=0.0, group=group)
    again = Drift()
    again.restore(json.loads(json.dumps(drift.snapshot(), allow_nan=False)))

    for i, (stratum, z) in enumerate(future):
        which, group = SampleId("run", i % 2, i), str(i % 3 or "")
        assert drift.add(stratum, z, sample=which, group=group) == again.add(
            stratum, z, sample=which, group=group
        )
    assert drift.snapshot() == again.snapshot()


@given(st.lists(st.floats(), max_size=200))
def test_an_alarm_never_points_before_its_change(residuals: list[float]) -> None:
    for alarm in alarms(Drift(), residuals):
        assert alarm.first[2] <= alarm.last[2]
        assert 1 <= alarm.audits <= alarm.last[2] - alarm.first[2] + 1


def test_large_surprises_to_one_side_name_that_side() -> None:
    drift = Drift()
    for number in range(3):
        # The chart of z² is well on its way, by surprises to both sides.
        drift.add("cheap", 2.0 * (-1.0) ** number, sample=SampleId("r", 0, number))

    alarms = [drift.add("cheap", -9.0, sample=SampleId("r", 1, number)) for number in range(4)]

    (alarm,) = [alarm for alarm in alarms if alarm is not None]
    assert alarm.direction is Direction.OVERRATED
