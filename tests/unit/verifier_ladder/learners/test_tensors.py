"""Advantages in torch are those of numpy, and their gradients are right."""
# mypy: ignore-errors
# torch is not installed everywhere that types are checked.

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder import ConfigError, Reward, TurnVerdict
from verifier_ladder.learners.tensors import advantages, changes, corrected, step_rewards
from verifier_ladder.scheduler import advantages as numpy_form
from verifier_ladder.scheduler.estimator import corrected as scalar_corrected

numbers = st.one_of(st.floats(-1e3, 1e3), st.just(math.nan), st.just(math.inf))
rows = st.lists(
    st.tuples(numbers, numbers, numbers, st.floats(0.0, 10.0), st.sampled_from("abc")),
    min_size=1, max_size=12,
)  # fmt: skip
Table = list[tuple[float, float, float, float, str]]
floors = st.none() | st.floats(1e-3, 10.0)


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@given(rows, floors, st.booleans())
def test_advantages_are_those_of_numpy(
    table: Table,
    floor: float | None,
    has_estimates: bool,  # noqa: FBT001
) -> None:
    rewards, estimates, _, deviations, groups = zip(*table, strict=True)
    options = {"estimates": estimates, "deviations": deviations} if has_estimates else {}
    expected = numpy_form.advantages(rewards, groups, floor=floor, **options)

    told = {name: tensor(*values) for name, values in options.items()}
    actual = advantages(tensor(*rewards), groups, floor=floor, **told)

    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-9, atol=1e-9)


@given(rows, floors)
def test_changes_are_those_of_numpy(table: Table, floor: float | None) -> None:
    before, after, _, _, groups = zip(*table, strict=True)
    expected = numpy_form.changes(before, after, groups, floor=floor)

    actual = changes(tensor(*before), tensor(*after), groups, floor=floor)

    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-9, atol=1e-9)


@given(rows)
def test_corrected_rewards_are_those_of_the_ledger_bit_for_bit(table: Table) -> None:
    estimates, truths, _, factors, _ = zip(*table, strict=True)
    expected = [scalar_corrected(*row) for row in zip(estimates, truths, factors, strict=True)]

    actual = corrected(tensor(*estimates), tensor(*truths), tensor(*factors))

    assert [math.nan if e is None else e for e in expected] == pytest.approx(
        actual.tolist(), nan_ok=True, abs=0.0, rel=0.0
    )


def test_groups_may_be_integers_in_any_order() -> None:
    rewards = tensor(1.0, 5.0, 0.0, 7.0)

    assert torch.equal(
        advantages(rewards, torch.tensor([9, 2, 9, 2])), advantages(rewards, list("abab"))
    )


def test_gradients_are_those_of_the_formula() -> None:
    rewards = tensor(1.0, 0.0, 2.5, 4.0, 4.5).requires_grad_()
    deviations = tensor(0.1, 0.2, 0.3, 0.1, 0.5).requires_grad_()

    def of(r: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        return advantages(r, list("aaabb"), deviations=d, floor=0.01)

    assert torch.autograd.gradcheck(of, (rewards, deviations))


def test_what_is_unknown_or_without_spread_has_finite_gradients() -> None:
    rewards = tensor(1.0, math.nan, 2.0, 3.0, 3.0, 5.0).requires_grad_()

    shares = advantages(rewards, list("aaabbc"))
    shares[~shares.isnan()].square().sum().backward()

    assert torch.isfinite(rewards.grad).all()
    assert 0.0 == rewards.grad[1]


def test_a_correction_pulls_at_its_estimate_with_one_minus_the_factor() -> None:
    estimates = tensor(0.5, 0.5, math.nan, 0.5).requires_grad_()
    truths, factors = tensor(1.0, math.nan, 2.0, 1.0), tensor(4.0, 4.0, 4.0, 0.0)

    corrected(estimates, truths, factors).sum().backward()

    assert [-3.0, 1.0, 0.0, 1.0] == estimates.grad.tolist()


def test_shapes_that_differ_are_named() -> None:
    with pytest.raises(ConfigError, match="groups"):
        advantages(tensor(1.0, 2.0), ["a"])
    with pytest.raises(ConfigError, match="deviations"):
        advantages(tensor(1.0, 2.0), ["a", "a"], deviations=tensor(1.0))
    with pytest.raises(ConfigError, match="factors"):
        corrected(tensor(1.0), tensor(1.0), tensor(1.0, 2.0))


@pytest.mark.parametrize("floor", [0.0, -1.0, math.nan, math.inf])
def test_a_floor_that_divides_by_nothing_is_refused(floor: float) -> None:
    with pytest.raises(ConfigError, match="floor"):
        advantages(tensor(1.0), ["a"], floor=floor)


def test_numbers_of_steps_stand_at_the_last_token_of_each() -> None:
    told = Reward(1.0, turns=(TurnVerdict(0, 0.5), TurnVerdict(1), TurnVerdict(2, 2.0)))
    made = step_rewards([told, Reward(1.0)], [[(0, 2), (2, 4), (3, 4)], []])

    assert [[0.0, 0.5, 0.0, 2.0], [0.0] * 4] == made.tolist()


def test_a_step_whose_tokens_were_cut_off_is_left_out() -> None:
    told = Reward(1.0, turns=(TurnVerdict(0, 0.5), TurnVerdict(1, 1.0)))

    assert [[0.5]] == step_rewards([told], [[(0, 1), None]]).tolist()
    with pytest.raises(ConfigError, match="each of its turns"):
        step_rewards([told], [[(0, 1)]])
