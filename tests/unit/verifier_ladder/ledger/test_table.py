"""Tables: columns that are read as rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.ledger.records import Alias
from verifier_ladder.ledger.table import Table, columns_of

ALIASES = st.lists(
    st.builds(Alias, st.binary(max_size=2), st.none() | st.text(max_size=2), st.none())
)


def table_of(rows: list[Alias]) -> Table[Alias]:
    table = Table(Alias)
    for row in rows:
        table.extend(*([value] for value in row))
    return table


@given(ALIASES, st.slices(4))
def test_a_table_reads_like_the_list_of_its_rows(rows: list[Alias], some: slice) -> None:
    table = table_of(rows)
    assert list(table) == rows
    assert [table[place] for place in range(len(table))] == rows
    assert table[some] == rows[some]
    assert bool(table) is bool(rows)


@given(ALIASES.filter(bool))
def test_rows_and_their_table_have_the_same_columns(rows: list[Alias]) -> None:
    assert list(map(list, columns_of(rows))) == list(columns_of(table_of(rows)))


def test_columns_that_are_no_rows_are_refused_and_change_nothing() -> None:
    table = table_of([Alias(b"k", None, None)])
    with pytest.raises(ValueError, match=r"\[1, 2\]"):
        table.extend([b"l"], ["a", "b"], [None])
    assert list(table) == [Alias(b"k", None, None)]
