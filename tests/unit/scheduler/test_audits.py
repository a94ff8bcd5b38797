"""Audits: drawn samples tell how good the verifiers below the top are."""

import json

import pytest

from verifier_ladder.candidate import SampleId
from verifier_ladder.scheduler.audits import Audit, Audits
from verifier_ladder.scheduler.draws import Draw, Stratum
from verifier_ladder.scheduler.drift import Alarm

CHEAP = Stratum("cheap", is_rejected=False)
GATE = Stratum("gate", is_rejected=True)


def audit(number: int, stratum: Stratum, surprise: float | None, *, good: bool = True) -> Audit:
    draw = Draw(0.1, 0.05, 1.0, 10.0, 1.0, 0.5, stratum)
    return Audit(SampleId("run", 0, number), draw, surprise, 0.5, good)


def told(audits: Audits, stratum: Stratum, surprise: float | None, count: int) -> list[Alarm]:
    found = [audits.take(audit(number, stratum, surprise)) for number in range(count)]
    return [alarm for alarm in found if alarm is not None]


def test_a_verifier_that_is_gamed_is_named_and_audited_twice_as_often() -> None:
    audits = Audits()

    (alarm, *_) = told(audits, CHEAP, -2.0, 8)

    assert ("cheap", True) == (alarm.stratum, alarm.is_gamed)
    assert 2.0 == audits.multiplier(CHEAP)
    assert 1.0 == audits.multiplier(Stratum("other", is_rejected=False))
    assert not audits.is_even


def test_nothing_is_noticed_where_there_was_no_belief() -> None:
    audits = Audits()

    assert [] == told(audits, CHEAP, None, 100)
    assert audits.is_even


def test_a_gate_is_audited_until_it_is_proven() -> None:
    audits = Audits()
    for number in range(500):
        assert (audits.multiplier(GATE) == 1.0) or number > 300
        audits.take(audit(number, GATE, None, good=False))

    assert 0.0 == audits.multiplier(GATE)


def test_a_gate_that_rejects_good_ones_stays_audited() -> None:
    audits = Audits()
    for number in range(500):
        audits.take(audit(number, GATE, None, good=number % 10 == 0))

    assert 1.0 == audits.multiplier(GATE)


@pytest.mark.parametrize("after", [0, 3, 20])
def test_it_goes_on_from_a_snapshot(after: int) -> None:
    first = Audits()
    told(first, CHEAP, -1.0, 3)
    told(first, GATE, None, 3)
    again = Audits()
    again.restore(json.loads(json.dumps(first.snapshot())))

    assert told(first, CHEAP, -1.0, after) == told(again, CHEAP, -1.0, after)
    assert first.snapshot() == again.snapshot()


def test_an_audit_comes_back_from_json() -> None:
    one = audit(3, GATE, None, good=False)

    assert one == Audit.from_json(json.loads(json.dumps(one.as_json())))
