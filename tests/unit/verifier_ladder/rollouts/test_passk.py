"""The estimator of pass@k agrees with counting, and intervals follow the groups."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.passk import mean_reward, pass_at_k, pass_rates

GROUPS = st.dictionaries(
    st.text(max_size=3), st.lists(st.booleans(), max_size=9), min_size=1, max_size=6
)


def counted(passes: list[bool], k: int) -> float:
    """Share of the choices of k samples in which at least one passes."""
    choices = list(combinations(passes, k))
    return sum(any(choice) for choice in choices) / len(choices)


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_the_estimator_is_the_share_of_all_choices(
    passes: list[bool], data: st.DataObject
) -> None:
    k = data.draw(st.integers(min_value=1, max_value=len(passes)))

    assert counted(passes, k) == pytest.approx(pass_at_k(len(passes), sum(passes), k), abs=1e-12)


def test_large_groups_don_t_overflow() -> None:
    assert pass_at_k(10_000, 1, 5_000) == pytest.approx(0.5)


@pytest.mark.parametrize(("samples", "passed", "k"), [(4, 1, 0), (4, 1, 5), (4, 5, 1), (4, -1, 1)])
def test_numbers_that_contradict_each_other_are_refused(samples: int, passed: int, k: int) -> None:
    with pytest.raises(ConfigError, match="k must lie between"):
        pass_at_k(samples, passed, k)


def test_k_doubles_up_to_the_largest_group() -> None:
    assert [1, 2, 4] == list(pass_rates({"a": [True] * 7, "b": [False] * 2}))


def test_a_group_counts_only_where_it_has_enough_samples() -> None:
    rates = pass_rates({"a": [True] * 4, "b": [False] * 2})

    assert [(2, 0.5), (2, 0.5), (1, 1.0)] == [(r.groups, r.value) for r in rates.values()]


def test_a_group_of_unknown_samples_counts_nowhere() -> None:
    assert 1.0 == pass_rates({"a": [True], "b": []})[1].value


def test_without_samples_there_is_nothing() -> None:
    assert {} == pass_rates({"a": []})
    assert mean_reward({"a": []}) is None


@given(GROUPS)
def test_pass_at_k_is_the_mean_over_groups(groups: dict[str, list[bool]]) -> None:
    for k, estimate in pass_rates(groups).items():
        large = [counted(passes, k) for passes in groups.values() if len(passes) >= k]
        assert sum(large) / len(large) == pytest.approx(estimate.value, abs=1e-12)


@given(GROUPS)
def test_the_interval_holds_the_estimate(groups: dict[str, list[bool]]) -> None:
    for estimate in pass_rates(groups).values():
        if estimate.low is not None and estimate.high is not None:
            assert 0.0 <= estimate.low <= estimate.value + 1e-9
            assert estimate.value - 1e-9 <= estimate.high <= 1.0


def test_one_group_has_no_interval() -> None:
    estimate = mean_reward({"a": [0.0, 1.0]})

    assert estimate is not None
    assert (0.5, None, None) == estimate[:3]


def test_equal_samples_of_a_group_don_t_narrow_the_interval() -> None:
    """Eight copies of each answer are no more evidence than one."""
    once = mean_reward({str(i): [float(i % 2)] for i in range(40)})
    copied = mean_reward({str(i): [float(i % 2)] * 8 for i in range(40)})

    assert once == copied


def test_the_interval_is_near_the_textbook_one() -> None:
    made = mean_reward({str(i): [float(i % 2)] for i in range(400)})

    assert made is not None
    assert made.low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.01)
    assert made.high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.01)


FEW = st.lists(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4), min_size=2, max_size=30
)


@given(FEW)
def test_an_interval_of_a_share_has_a_width_however_alike_the_groups_are(
    groups: list[list[float]],
) -> None:
    named = {str(number): values for number, values in enumerate(groups)}
    rates = pass_rates({name: [v >= 0.5 for v in values] for name, values in named.items()})

    for estimate in (mean_reward(named), *rates.values()):
        assert estimate is not None
        if estimate.groups > 1:
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.high - estimate.low > 0.5 / estimate.groups
            assert 0.0 <= estimate.low <= estimate.value <= estimate.high <= 1.0


@given(st.integers(2, 30), st.integers(1, 4), st.sampled_from([-3.0, 7.5, 1e6]))
def test_where_nothing_varies_on_a_scale_without_ends_there_is_no_interval(
    groups: int, size: int, value: float
) -> None:
    made = mean_reward({str(number): [value] * size for number in range(groups)})

    assert made is not None
    assert (None, None) == made[1:3]


def test_groups_that_are_alike_by_chance_are_no_certainty() -> None:
    made = mean_reward({"a": [0.0, 10.0], "b": [10.0, 0.0]})

    assert made is not None
    assert made.low is not None
    assert made.low < 0.0


@pytest.mark.parametrize("groups", [3, 5, 9, 10, 12, 20, 40])
@pytest.mark.parametrize(("first", "second"), [(2.0, 2.0), (0.5, 0.5), (8.0, 1.0)])
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_intervals_of_few_groups_hold_the_truth_as_often_as_they_say(
    groups: int, first: float, second: float, scale: float
) -> None:
    random = np.random.default_rng(groups)
    tries, held = 400, 0
    for _ in range(tries):
        chances = random.beta(first, second, groups)
        made = mean_reward({
            str(n): (scale * (random.random(4) < p)).tolist() for n, p in enumerate(chances)
        })  # fmt: skip
        assert made is not None
        truth = scale * first / (first + second)
        held += made.low is None or made.high is None or made.low <= truth <= made.high

    assert held / tries >= 0.88  # Less than 95 % where few groups are drawn from a skew law.
