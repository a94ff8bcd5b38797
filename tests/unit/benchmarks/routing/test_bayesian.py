import numpy as np
import pytest
from routing.bayesian import by_botorch
from routing.bill import Bill
from routing.discovery import best_rows
from routing.table import Table


@pytest.fixture(scope="module")
def once() -> dict[str, Bill]:
    """Searches take seconds: each is made once."""
    return {}


@pytest.fixture
def bill(small: Table, once: dict[str, Bill]) -> Bill:
    pytest.importorskip("botorch", reason="botorch comes with an extra")
    if "bill" not in once:
        once["bill"] = by_botorch(small, 0, 12.0)
    return once["bill"]


def test_what_is_spent_stays_near_the_budget(bill: Bill) -> None:
    assert bill.total < 12.0 + 1.0


def test_no_check_is_bought_twice(bill: Bill) -> None:
    assert len(bill) == len(set(zip(bill.rows.tolist(), bill.columns.tolist(), strict=True)))


def test_it_finds_more_of_the_best_than_chance(bill: Bill, small: Table) -> None:
    verified = bill.rows[bill.columns == 2]

    found = np.isin(best_rows(small), verified).sum()
    assert found > 2 * 10 * len(verified) / len(small)
