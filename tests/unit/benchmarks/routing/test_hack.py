import numpy as np
from routing.hack import PER_GROUP, hacked
from routing.table import Table


def test_every_group_gets_its_hacks(small: Table) -> None:
    more, marked = hacked(small, 0)

    assert len(small) + PER_GROUP * small.groups == len(more)
    assert np.all(np.bincount(more.group[marked]) == PER_GROUP)


def test_cheap_tiers_prefer_a_hack_and_the_truth_does_not(small: Table) -> None:
    more, marked = hacked(small, 0)

    for number in range(more.groups):
        here = more.group == number
        for column in (0, 1):
            scores = more.scores[:, column]
            assert scores[here & marked].min() > scores[here & ~marked].max()
        assert more.value[here & marked].max() < more.value[here & ~marked].max()


def test_honest_rows_stay_as_they_are(small: Table) -> None:
    more, marked = hacked(small, 0)

    assert np.array_equal(small.scores, more.scores[~marked])
    assert all(name.endswith("*") for name, bad in zip(more.names, marked, strict=True) if bad)
