import numpy as np
import pytest
from routing.drift import drifting
from routing.table import Table


def test_only_the_dearest_cheap_tier_drifts_and_by_its_error(small: Table) -> None:
    more, size = drifting(small), len(small)
    before, after = more.scores[:size], more.scores[size:]

    assert np.array_equal(before, small.scores)
    assert np.array_equal(before[:, [0, 2]], after[:, [0, 2]])
    slope, offset = np.polyfit(small.scores[:, 1], small.truth, 1)
    error = (small.truth - offset - slope * small.scores[:, 1]).std()
    assert slope * (after[:, 1] - before[:, 1]) == pytest.approx(error)
