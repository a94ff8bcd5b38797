import numpy as np
import pytest
from routing.baselines import FixedTier
from routing.pacing import pacing
from routing.table import Table


def test_even_spending_of_the_whole_budget_is_seen_as_such(small: Table) -> None:
    large = small.rows(np.tile(np.arange(72), 20))

    found = pacing(large, FixedTier(large, 2), 0, budget=2 * len(large), passes=2)

    assert 1.0 == found.spent
    assert found.unevenness == pytest.approx(0.0, abs=1e-9)


def test_what_is_left_is_seen(small: Table) -> None:
    found = pacing(small, FixedTier(small, 2), 0, budget=4 * len(small), passes=2)

    assert 0.5 == found.spent
    assert found.unevenness >= 0.5 - 1e-9
