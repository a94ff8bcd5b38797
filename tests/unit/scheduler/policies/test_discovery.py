"""The policy that opens the most promising box next."""

from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies import Discovery
from verifier_ladder.scheduler.policies.index import direct_index, two_stage_index
from verifier_ladder.testing.policy import PolicyTestCase
from verifier_ladder.testing.situations import situation, situations
from verifier_ladder.tier import Tier

SEARCH = Discovery()
TOP = {"tiers": (Tier.WORLD,), "answered": False, "spread": 1.0}


class TestDiscovery(PolicyTestCase):
    @pytest.fixture
    def policy(self) -> Discovery:
        return Discovery(width=2)


def decided(mean: Any, policy: Discovery = SEARCH, **rows: Any) -> Decisions:
    return policy.decide(situation(mean, **{"spread": 1.0, **rows}))


def asked(decisions: Decisions) -> list[int]:
    return np.flatnonzero(decisions.action == Action.ESCALATE).tolist()


def reason(decisions: Decisions, row: int) -> str:
    return decisions.reasons[int(decisions.reason[row])]


def test_the_most_promising_is_asked_and_the_others_wait() -> None:
    decisions = decided([0.0, 2.0, 1.0], cost=0.1)

    assert [1] == asked(decisions)
    assert [Action.DEFER] * 2 == decisions.action[[0, 2]].tolist()
    assert [1, 2, 0] == np.argsort(-decisions.benefit).tolist()
    assert "others come first" in reason(decisions, 0)


def test_for_a_target_that_is_minimised_the_lowest_is_the_most_promising() -> None:
    assert [0] == asked(decided([0.0, 2.0, 1.0], cost=0.1, sign=-1.0))


def test_an_uncertain_candidate_may_promise_more_than_a_good_one() -> None:
    assert [0] == asked(decided([0.0, 1.0], deviation=[3.0, 0.1], cost=0.1))


@given(st.integers(1, 5))
def test_as_many_as_wanted_are_asked_at_once(width: int) -> None:
    decisions = decided([1.0, 4.0, 0.0, 3.0, 2.0, 5.0], Discovery(width=width), cost=0.1)

    assert sorted([5, 1, 3, 4, 0][:width]) == asked(decisions)


def test_what_can_not_beat_the_known_waits() -> None:
    decisions = decided([0.0, 1.0], cost=0.5, best=9.0)

    assert [] == asked(decisions)
    assert [Action.DEFER] * 2 == decisions.action.tolist()
    assert "what is known is better" in reason(decisions, 0)


def test_a_lower_price_makes_more_worth_asking() -> None:
    assert [] == asked(decided([0.0], cost=0.5, best=1.0))
    assert [0] == asked(decided([0.0], cost=0.05, best=1.0))


def test_a_cheap_look_that_says_much_is_taken_first() -> None:
    telling = decided([0.0], explained=0.8, cost=(1.0, 0.01, 0.2))
    dull = decided([0.0], explained=0.05, cost=(1.0, 0.15, 0.2))

    assert [1] == telling.to.tolist()
    assert [2] == dull.to.tolist()


@given(situations())
def test_the_tier_asked_has_the_largest_index(rows: Situation) -> None:
    rows.affordable[:] = True
    decisions = SEARCH.decide(rows)

    spread = rows.spread if np.isfinite(rows.spread) else nan
    for row in np.flatnonzero(decisions.to >= 0).tolist():
        deviation = max(float(rows.deviation[row]), 1e-9 * np.nan_to_num(spread))
        unit = 1.0 if np.isnan(spread) else spread / deviation
        cost = np.maximum(rows.cost[row] * unit, 1e-6)
        indices = [
            float(two_stage_index(rows.explained[row, j], cost[j], cost[-1]))
            for j in range(len(cost) - 1)
            if j > rows.reached[row] and not rows.answered[row, j]
        ]
        best = max([*indices, float(direct_index(cost[-1]))])
        index = rows.sign * rows.mean[row] + deviation * best
        assert decisions.limit is not None
        assert rows.sign * decisions.limit[row] == pytest.approx(index, rel=1e-6, abs=1e-6)


def test_what_nothing_is_known_of_is_looked_at_first_on_the_cheap_tier() -> None:
    decisions = decided([5.0, nan, nan], cost=[(1, 0.1, 1), (1, 0.2, 1), (1, 0.1, 1)])

    assert [2] == asked(decisions)
    assert [2, 1, 0] == np.argsort(-decisions.benefit).tolist()
    assert 1 == decisions.to[2]


def test_a_look_that_can_not_be_followed_by_the_top_tier_is_not_taken() -> None:
    decisions = decided(
        [0.0], explained=0.9, cost=(1.0, 0.001, 0.1), affordable=(True, True, False), best=-9.0
    )

    assert ([Action.DEFER], [2]) == (decisions.action.tolist(), decisions.to.tolist())
    assert "budget" in reason(decisions, 0)


def test_while_a_look_can_not_be_paid_the_top_tier_is_asked() -> None:
    decisions = decided(
        [0.0], explained=0.9, cost=(1.0, 0.001, 0.1), affordable=(True, False, True)
    )

    assert ([Action.ESCALATE], [2]) == (decisions.action.tolist(), decisions.to.tolist())


def test_where_every_tier_has_answered_it_stops() -> None:
    decisions = decided([1.0, 0.0], answered=[(True, True, True), (True, False, False)])

    assert [Action.STOP, Action.ESCALATE] == decisions.action.tolist()


def searched(
    rng: np.random.Generator, next_box: Callable[[Situation], int | None], price: float
) -> float:
    """Best value found minus what opening the boxes cost, for boxes of one random problem."""
    mean, deviation = rng.normal(size=8), rng.gamma(1.0, size=8)
    truth = mean + deviation * rng.normal(size=8)
    best, paid, closed = 0.0, 0.0, np.ones(8, dtype=bool)
    while closed.any():
        rows = situation(
            mean[closed], deviation[closed], cost=price, best=best, **TOP  # type: ignore[arg-type]
        )  # fmt: skip
        found = next_box(rows)
        if found is None:
            break
        box = np.flatnonzero(closed)[found]
        best, paid, closed[box] = max(best, truth[box]), paid + price, False
    return best - paid


def by_index(rows: Situation) -> int | None:
    return next(iter(asked(SEARCH.decide(rows))), None)


def by_mean(most: int) -> Callable[[Situation], int | None]:
    return lambda rows: int(rows.mean.argmax()) if len(rows) > 8 - most else None


@pytest.mark.parametrize("price", [0.1, 0.5])
def test_no_fixed_number_of_the_best_beliefs_does_better(price: float) -> None:
    """Opening by the index is optimal; the funnel of any width is not."""
    mine = [searched(np.random.default_rng(seed), by_index, price) for seed in range(300)]

    for most in range(9):
        funnel = by_mean(most)
        theirs = [searched(np.random.default_rng(seed), funnel, price) for seed in range(300)]
        assert np.mean(mine) > np.mean(theirs)


@pytest.mark.parametrize("width", [0, -1, 2.5, "all"])
def test_a_width_that_makes_no_sense_is_refused(width: Any) -> None:
    with pytest.raises(ConfigError, match="width"):
        Discovery(width=width)
