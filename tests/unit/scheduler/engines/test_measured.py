"""What checks took decides what is reserved for the next ones, and how many are taken at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckRow
from verifier_ladder.scheduler.engines.measured import Measured, Measurements
from verifier_ladder.scheduler.engines.reservation import MARGIN
from verifier_ladder.testing.records import NOW, check_row, claim, completion, enqueue
from verifier_ladder.verdict import Verdict

amounts = st.floats(0.0, 1e9)


def verifier(version: str = "1", **settings: Any) -> FunctionVerifier:
    return FunctionVerifier(lambda _: 1.0, name="some", version=version, **settings)


def took(cost: Cost) -> Verdict:
    return replace(Verdict.accept(1.0), cost=cost)


def expecting(**cost: float) -> CheckRow:
    return check_row("c", reserve=Cost(**cost))


def test_at_first_what_was_expected_is_reserved() -> None:
    assert Cost(2.0, money=3.0) == Measured(verifier()).reserve(expecting(seconds=2.0, money=3.0))


def test_where_checks_took_more_as_much_more_is_reserved() -> None:
    measured = Measured(verifier())
    for _ in range(3):
        measured.note(expecting(money=1.0), took(Cost(money=15.0)))

    assert isclose(0.5 * 15.0 * MARGIN, measured.reserve(expecting(money=0.5)).money)


def test_what_is_expected_to_take_as_much_as_others_took_is_not_corrected_again() -> None:
    measured = Measured(verifier())
    measured.note(expecting(money=1.0), took(Cost(money=15.0)))

    assert isclose(15.0 * MARGIN, measured.reserve(expecting(money=15.0)).money)
    assert 40.0 == measured.reserve(expecting(money=40.0)).money


def test_where_checks_took_less_no_less_is_reserved() -> None:
    measured = Measured(verifier())
    measured.note(expecting(seconds=10.0), took(Cost(0.001)))

    assert 10.0 == measured.reserve(expecting(seconds=10.0)).seconds


def test_where_nothing_was_expected_the_mean_is_reserved() -> None:
    measured = Measured(verifier())
    for euros in (1.0, 3.0):
        measured.note(expecting(seconds=1.0), took(Cost(money=euros)))

    assert isclose(2.0, measured.reserve(expecting(seconds=1.0)).money)


def test_a_check_without_an_answer_tells_nothing_of_others() -> None:
    measured = Measured(verifier())
    crash = Verdict.abstain("it crashed", failed_at="engine")
    measured.note(expecting(seconds=1.0), replace(crash, cost=Cost(1000.0)))
    measured.note(expecting(seconds=1.0), replace(Verdict.abstain("no idea"), cost=Cost(1000.0)))

    assert 1.0 == measured.reserve(expecting(seconds=1.0)).seconds

    measured.note(expecting(seconds=1.0), took(Cost(15.0)))

    assert isclose(15.0 * MARGIN, measured.reserve(expecting(seconds=1.0)).seconds)


def test_of_a_verifier_without_a_cost_ever_more_are_taken_at_once() -> None:
    measured = Measured(verifier(batch_size=500))
    taken = []
    while measured.most < 64:
        taken.append(measured.most)
        for _ in range(measured.most):
            measured.note(expecting(seconds=0.01), took(Cost(0.001)))

    assert [1, 2, 6, 18, 54] == taken
    assert 64 == measured.most


def test_a_declared_cost_is_trusted() -> None:
    assert 500 == Measured(verifier(batch_size=500, cost=Cost(0.001))).most
    assert 1 == Measured(verifier(batch_size=500, cost=Cost(60.0))).most


def test_of_a_function_that_waits_only_half_a_seconds_worth_is_taken() -> None:
    for known in (Cost(), Cost(0.001)):
        measured = Measured(verifier(batch_size=500, cost=known))
        for _ in range(50):
            measured.note(expecting(seconds=0.01), took(Cost(0.001)))
        measured.note_batch(50, 50 * 0.1)

        assert 5 == measured.most


def test_the_start_of_a_worker_does_not_keep_batches_of_quick_checks_small() -> None:
    measured = Measured(verifier(batch_size=500))
    for _ in range(50):
        measured.note(expecting(seconds=0.01), took(Cost(0.001)))
    measured.note_batch(1, 2.0)
    assert 1 == measured.most
    for _ in range(6):
        measured.note_batch(measured.most, measured.most * 1e-5)

    assert 64 == measured.most


def test_how_long_a_whole_batch_takes_does_not_make_the_next_smaller() -> None:
    measured = Measured(verifier(batch=True, batch_size=60, cost=Cost(0.001)))
    measured.note_batch(60, 600.0)

    assert 60 == measured.most


@given(st.lists(st.tuples(amounts, amounts)), amounts)
@example([(1e9, 5e-324)], 1.0)
@example([(5e-324, 1e9)], 1.0)
def test_it_never_reserves_less_nor_more_than_can_be_counted(
    checks: list[tuple[float, float]], expected: float
) -> None:
    measured = Measured(verifier())
    for reserved, spent in checks:
        measured.note(expecting(seconds=reserved), took(Cost(spent)))

    assert expected <= measured.reserve(expecting(seconds=expected)).seconds <= 4e9


def test_each_verifier_has_its_own() -> None:
    known, one, other = Measurements(open_ledger(None)), verifier(), verifier("2")
    known.of(one).note(expecting(money=1.0), took(Cost(money=9.0)))

    assert known.of(one).reserve(expecting(money=1.0)).money > 9.0
    assert 1.0 == known.of(other).reserve(expecting(money=1.0)).money


def answered(ledger: Ledger, of: FunctionVerifier, money: Sequence[float]) -> None:
    """Checks of a verifier that have taken so much, where 1 was expected of each."""
    for number, spent in enumerate(money):
        row = check_row(f"{number}", digest=of.digest, reserve=Cost(money=1.0))
        enqueue(ledger, row)
        (claimed,) = claim(ledger, verifier=of.digest)
        ledger.complete([completion(claimed, took(Cost(money=spent)))], now=NOW)


def test_what_the_ledger_knows_of_earlier_checks_counts_from_the_start(tmp_path: Path) -> None:
    one = verifier()
    with open_ledger(tmp_path / "l.db") as ledger:
        answered(ledger, one, [9.0, 9.0, 9.0])
    with open_ledger(tmp_path / "l.db") as ledger:
        known = Measurements(ledger)

        assert isclose(9.0 * MARGIN, known.of(one).reserve(expecting(money=1.0)).money)
        assert 1.0 == known.of(verifier("2")).reserve(expecting(money=1.0)).money
        assert 6 == known.of(one).most
