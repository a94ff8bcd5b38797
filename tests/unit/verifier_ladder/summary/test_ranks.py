"""Two orders of the same samples, compared."""

from itertools import combinations
from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.summary.ranks import Order, compare_orders, ranks

NUMBERS = st.integers(-5, 5).map(float)
GROUPS = st.lists(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=7), max_size=4)


@given(st.lists(NUMBERS, min_size=1))
def test_ranks_add_up_and_keep_the_order(values: list[float]) -> None:
    found = ranks(values)

    assert isclose(sum(found), len(values) * (len(values) + 1) / 2)
    for a, b in combinations(range(len(values)), 2):
        assert (values[a] < values[b]) == (found[a] < found[b])


@given(st.integers(3, 9).flatmap(lambda size: st.permutations(range(size))))
def test_spearmans_formula_for_ranks_without_ties(places: list[int]) -> None:
    """ρ = 1 − 6 Σd² / n(n² − 1)."""
    size = len(places)
    distance = sum((place - other) ** 2 for place, other in enumerate(places))

    found = compare_orders([[(float(i), 2.0**j) for i, j in enumerate(places)]]).correlation

    assert found is not None
    assert isclose(1 - 6 * distance / (size * (size**2 - 1)), found, abs_tol=1e-12)


@given(GROUPS)
def test_swapped_pairs_are_counted_one_by_one(groups: list[list[Order]]) -> None:
    pairs = [pair for group in groups for pair in combinations(group, 2)]
    products = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in pairs]
    ordered = [product for product in products if product]

    expected = sum(p < 0 for p in ordered) / len(ordered) if ordered else None

    assert expected == compare_orders(groups).swapped


@given(GROUPS)
def test_an_order_agrees_with_itself(groups: list[list[Order]]) -> None:
    found = compare_orders([[(x, x) for x, _ in group] for group in groups])

    assert found.correlation is None or isclose(1.0, found.correlation)
    assert found.swapped in (None, 0.0)


def test_nothing_to_compare_is_not_zero() -> None:
    alone = compare_orders([[(1.0, 2.0)], []])
    equal = compare_orders([[(1.0, 2.0), (1.0, 3.0)]])

    assert (0, None, None) == alone
    assert (1, None, None) == equal


def test_each_group_counts_once_in_the_correlation() -> None:
    same = [(float(i), float(i)) for i in range(20)]
    reverse = [(float(i), -float(i)) for i in range(3)]

    assert isclose(0.0, compare_orders([same, reverse]).correlation or 0.0, abs_tol=1e-12)
