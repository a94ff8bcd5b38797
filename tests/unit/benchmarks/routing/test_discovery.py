import numpy as np
import pytest
from routing.bill import Bill
from routing.discovery import at_random, best_rows, by_funnel, by_oracle, traced
from routing.table import Table


def test_the_best_rows_are_the_best_by_the_truth(small: Table) -> None:
    best = best_rows(small)

    assert 10 == len(best)
    assert small.value[best].min() >= np.delete(small.value, best).max()


def test_the_oracle_pays_for_nothing_but_the_best(small: Table) -> None:
    found = traced(small, by_oracle(small), 10.0)

    assert [5.0, 8.0, 10.0] == found.costs
    assert found.regret == pytest.approx(0.55)  # The mean of 0.1, 0.2, …, 1.0.


def test_what_was_never_found_costs_infinitely_much(small: Table) -> None:
    bill = Bill(small)
    bill.charge(2, best_rows(small)[:6])

    found = traced(small, bill, 100.0)

    assert 5.0 == found.costs[0]
    assert np.all(np.isinf(found.costs[1:]))


def test_nothing_bought_misses_everything(small: Table) -> None:
    assert 1.0 == traced(small, Bill(small), 10.0).regret


def test_a_funnel_pays_for_all_cheap_answers_first(small: Table) -> None:
    bill = by_funnel(small, 1)

    assert [1] * 72 == bill.columns[:72].tolist()
    assert np.all(np.diff(small.scores[bill.rows[72:], 1]) <= 0)


def test_a_random_search_verifies_everything_once(small: Table) -> None:
    bill = at_random(small, 0)

    assert sorted(bill.rows.tolist()) == list(range(72))
    assert 72 == bill.count(2)
