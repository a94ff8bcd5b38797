from hypothesis import given
from hypothesis import strategies as st
from routing.bill import Bill
from routing.table import Table


def test_a_bill_keeps_the_order(small: Table) -> None:
    bill = Bill(small)

    bill.charge(2, [5, 3])
    bill.charge(0, [1])

    assert [5, 3, 1] == bill.rows.tolist()
    assert [2, 2, 0] == bill.columns.tolist()
    assert 2 == bill.count(2)


def test_nothing_bought_costs_nothing(small: Table) -> None:
    bill = Bill(small)

    assert 0 == len(bill)
    assert 0.0 == bill.total
    assert 0 == bill.count(0)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 71)), max_size=30))
def test_the_total_is_the_sum_of_the_recorded_costs(
    table: Table, checks: list[tuple[int, int]]
) -> None:
    bill = Bill(table)
    for column, row in checks:
        bill.charge(column, [row])

    assert abs(bill.total - sum(table.costs[row, column] for column, row in checks)) < 1e-9
