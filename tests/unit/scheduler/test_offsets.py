"""Offsets: beliefs without a deviation are judged by their mean error."""

import json
from random import Random

import pytest

from verifier_ladder.candidate import SampleId
from verifier_ladder.scheduler.audits import Audit, Audits
from verifier_ladder.scheduler.draws import Draw, Stratum
from verifier_ladder.scheduler.drift import Alarm, Direction

SAMPLE = SampleId("run", 0, 3)


def audit(estimate: float, truth: float) -> Audit:
    draw = Draw(0.1, 0.05, estimate, 10.0, estimate, None, Stratum("cheap", is_rejected=False))
    return Audit(SAMPLE, draw, None, truth, is_good=True)


def alarms(
    audits: Audits, pairs: list[tuple[float, float]], *, is_over: bool = True
) -> list[Alarm]:
    found = [audits.take(audit(*pair), is_over=is_over) for pair in pairs]
    return [alarm for alarm in found if alarm is not None]


def noisy(shift: float, count: int = 100) -> list[tuple[float, float]]:
    chance = Random(5)  # noqa: S311 - the same every time
    return [(shift + chance.gauss(0.0, 1.0), 0.0) for _ in range(count)]


@pytest.mark.parametrize(
    ("shift", "direction"), [(2.0, Direction.OVERRATED), (-2.0, Direction.UNDERRATED)]
)
def test_a_mean_error_is_told_once_with_its_side_and_size(
    shift: float, direction: Direction
) -> None:
    (alarm,) = alarms(Audits(), noisy(shift))

    assert ("cheap", direction, SAMPLE) == (alarm.stratum, alarm.direction, alarm.first)
    assert alarm.error == pytest.approx(shift, abs=1.0)
    assert not alarm.casts_doubt
    assert alarm == Alarm.from_json(json.loads(json.dumps(alarm.as_json())))


def test_errors_around_zero_are_no_alarm() -> None:
    assert [] == alarms(Audits(), noisy(0.0))


def test_a_few_passes_of_what_nearly_always_passes_are_no_alarm() -> None:
    assert [] == alarms(Audits(), [(0.95, 1.0)] * 30)


def test_what_never_passes_and_was_sure_to_is_an_alarm() -> None:
    assert alarms(Audits(), [(0.95, 0.0)] * 30)


def test_what_beliefs_begin_with_is_no_alarm_while_more_samples_follow() -> None:
    assert [] == alarms(Audits(), noisy(2.0), is_over=False)


def test_what_was_told_is_not_told_again_after_a_restart() -> None:
    audits, again = Audits(), Audits()
    alarms(audits, noisy(2.0))

    again.restore(json.loads(json.dumps(audits.snapshot())))

    assert [] == alarms(again, noisy(2.0))
