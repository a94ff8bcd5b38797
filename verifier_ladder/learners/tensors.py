"""Tensors: advantages, corrected rewards and late changes, in torch and with gradients.

The same numbers as `verifier_ladder.scheduler.advantages` and `estimator`, which say where the
formulas come from. Gradients flow into whatever the numbers were made of, for a reward model or a
belief that is trained along; what is unknown has none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import torch

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor

    from verifier_ladder.candidate import Turn
    from verifier_ladder.reward import Reward

_SHARE = 0.05
"""The floor of a group's spread, as a share of the spread of all samples together."""


def advantages(
    rewards: Tensor,
    groups: Tensor | Sequence[Hashable],
    *,
    estimates: Tensor | None = None,
    deviations: Tensor | None = None,
    floor: float | None = None,
) -> Tensor:
    """Group-relative advantages: (r − mean of the group's r) / max(sd of the group, floor).

    Args:
        rewards: Rewards on the learner's scale; NaN where nothing is known. Shape (n,).
        groups: The group of each sample, as integers or as names. Shape (n,).
        estimates: The rewards as believed before any draw; the rewards if left out. Shape (n,).
        deviations: One standard deviation of each estimate; zeros if left out. Shape (n,).
        floor: The least spread to divide by; 5 % of the spread of all samples if left out.

    Returns:
        One advantage for each sample, NaN where the reward is unknown or the only known one of its
        group. Shape (n,).

    Raises:
        ConfigError: If shapes differ, or the floor is no positive number.

    Example:
        >>> rewards = torch.tensor([1.0, 0.0, torch.nan, 3.0])
        >>> advantages(rewards, ["a", "a", "a", "b"]).tolist()
        [1.0, -1.0, nan, nan]
    """
    if floor is not None and not 0.0 < floor < float("inf"):
        raise ConfigError(f"the floor of a group's spread must be positive, not {floor}")
    numbers = _numbers(groups, rewards)
    values = _finite(rewards)
    means = values if estimates is None else _finite(_alike("estimates", estimates, rewards))
    spread = (
        torch.zeros_like(values) if deviations is None
        else _finite(_alike("deviations", deviations, rewards))
    )  # fmt: skip
    if floor is None:
        least = _SHARE * _spread(means, spread, torch.zeros_like(numbers))
    else:
        least = torch.full_like(values[:1], floor)
    scale = torch.maximum(_spread(means, spread, numbers), least)[numbers]
    safe = torch.where(scale > 0, scale, torch.ones_like(scale))
    shares = torch.where(scale > 0, _centred(values, numbers) / safe, torch.zeros_like(safe))
    is_alone = (_members(values, numbers) <= 1)[numbers]
    return torch.where(values.isnan() | is_alone, torch.full_like(values, torch.nan), shares)


def changes(
    before: Tensor,
    after: Tensor,
    groups: Tensor | Sequence[Hashable],
    *,
    estimates: Tensor | None = None,
    deviations: Tensor | None = None,
    floor: float | None = None,
) -> Tensor:
    """ΔA: how the advantages of whole groups change when some of their rewards are revised.

    Args:
        before: Rewards that the learner has used. Shape (n,).
        after: Rewards now. Shape (n,).
        groups: As for `advantages`; all members of a revised group must be there.
        estimates: As for `advantages`; `after` if left out.
        deviations: As for `advantages`.
        floor: As for `advantages`.

    Returns:
        New − old; NaN where there is no advantage still, and all of the new one where there was
        none before. Shape (n,).

    Raises:
        ConfigError: As for `advantages`.

    Example:
        >>> changes(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0]), ["a", "a"]).tolist()
        [1.0, -1.0]
    """
    means = after if estimates is None else estimates
    old, new = (
        advantages(side, groups, estimates=means, deviations=deviations, floor=floor)
        for side in (_alike("before", before, after), after)
    )
    return new - torch.where(old.isnan(), torch.zeros_like(old), old)


def corrected(estimates: Tensor, truths: Tensor, factors: Tensor) -> Tensor:
    """Rewards of samples that were drawn: R(μ) + W·(R(y) − R(μ)).

    Args:
        estimates: R(μ), the rewards by belief; NaN where nothing was known. Shape (n,).
        truths: R(y), by what the top tier said; NaN where it was not drawn or failed. Shape (n,).
        factors: W, as fixed when the draws were taken; 0 for none. Shape (n,).

    Returns:
        The truth where there was no estimate or the factor is 1, the estimate where there is no
        truth or the factor is 0, and NaN where neither is known. Shape (n,).

    Raises:
        ConfigError: If shapes differ.

    Example:
        >>> estimates, truths = torch.tensor([0.5, torch.nan]), torch.tensor([0.75, 2.0])
        >>> corrected(estimates, truths, torch.tensor([4.0, 4.0])).tolist()
        [1.5, 2.0]
    """
    believed = _finite(estimates)
    known = _finite(_alike("truths", truths, estimates))
    weights = _alike("factors", factors, estimates)
    is_believed, is_known = ~believed.isnan(), ~known.isnan()
    start = torch.where(is_believed, believed, torch.zeros_like(believed))
    truth = torch.where(is_known, known, torch.zeros_like(known))
    moved = start + weights * (truth - start)
    moved = torch.where((weights == 1.0) | ~moved.isfinite(), truth, moved)
    kept = torch.where(is_known & (weights != 0.0), moved, start)
    alone = torch.where(is_known, truth, torch.full_like(truth, torch.nan))
    return torch.where(is_believed, kept, alone)


def token_rewards(rewards: Sequence[Reward], turns: Sequence[Sequence[Turn]]) -> Tensor:
    """What verdicts say of turns, at the last token of each turn's action.

    For trainers that take a reward per token, such as verl's token-level scores. Add the reward of
    the whole at the last token of the completion, if it counts too.

    Args:
        rewards: One for each sample; their turns' numbers stay in the verifier's unit.
        turns: The turns of each sample, with `Turn.tokens`.

    Returns:
        0 where nothing is said. Shape (samples, tokens of the longest).

    Raises:
        ConfigError: If there are more or fewer trajectories than rewards, or a turn of which a
            number is told has no span of tokens.

    Example:
        >>> from verifier_ladder.candidate import Turn
        >>> from verifier_ladder.reward import Reward
        >>> from verifier_ladder.verdict import TurnVerdict
        >>> told = Reward(1.0, turns=(TurnVerdict(0, 0.5), TurnVerdict(1, 1.0)))
        >>> token_rewards([told], [[Turn("a", tokens=(0, 2)), Turn("b", tokens=(3, 4))]]).tolist()
        [[0.0, 0.5, 0.0, 1.0]]
    """
    if len(rewards) != len(turns):
        raise ConfigError(f"there are {len(rewards)} rewards, and {len(turns)} trajectories")
    ends = [turn.tokens[1] for path in turns for turn in path if turn.tokens is not None]
    made = torch.zeros(len(rewards), max(ends, default=0))
    for row, (reward, path) in enumerate(zip(rewards, turns, strict=True)):
        for said in reward.turns:
            if said.score is None:
                continue
            tokens = path[said.turn].tokens if said.turn < len(path) else None
            if tokens is None or tokens[0] == tokens[1]:
                raise ConfigError(
                    f"sample {row} has a number for turn {said.turn}, which has no tokens; give "
                    "vl.Turn(tokens=(first, last + 1))"
                )
            made[row, tokens[1] - 1] += said.score
    return made


def step_rewards(
    rewards: Sequence[Reward], tokens: Sequence[Sequence[tuple[int, int] | None]]
) -> Tensor:
    """What verdicts say of steps, at the last token of each: `token_rewards` for steps of a text.

    Args:
        rewards: One for each sample; their turns' numbers stay in the verifier's unit.
        tokens: The tokens of each of their turns, as `spans.step_tokens` finds them; what is None
            has no place, and is left out.

    Returns:
        0 where nothing is said. Shape (samples, tokens up to the last step's end).

    Raises:
        ConfigError: If there are more or fewer spans than turns.

    Example:
        >>> from verifier_ladder.reward import Reward
        >>> from verifier_ladder.verdict import TurnVerdict
        >>> told = Reward(1.0, turns=(TurnVerdict(0, 0.5), TurnVerdict(1, 1.0)))
        >>> step_rewards([told], [[(0, 2), (2, 5)]]).tolist()
        [[0.0, 0.5, 0.0, 0.0, 1.0]]
    """
    if list(map(len, tokens)) != [len(reward.turns) for reward in rewards]:
        raise ConfigError("give for each reward the tokens of each of its turns")
    ends = [span[1] for spans in tokens for span in spans if span is not None]
    made = torch.zeros(len(rewards), max(ends, default=0))
    for row, (reward, spans) in enumerate(zip(rewards, tokens, strict=True)):
        for said, span in zip(reward.turns, spans, strict=True):
            if said.score is not None and span is not None and span[0] < span[1]:
                made[row, span[1] - 1] += said.score
    return made


def _alike(name: str, tensor: Tensor, like: Tensor) -> Tensor:
    if tensor.shape != like.shape:
        raise ConfigError(
            f"{name} has shape {tuple(tensor.shape)}, and the rewards {tuple(like.shape)}"
        )
    return tensor.to(like)


def _finite(values: Tensor) -> Tensor:
    return torch.where(values.isfinite(), values, torch.full_like(values, torch.nan))


def _numbers(groups: Tensor | Sequence[Hashable], rewards: Tensor) -> Tensor:
    """Groups counted from 0."""
    if isinstance(groups, torch.Tensor):
        numbers: Tensor = torch.unique(groups, return_inverse=True)[1].to(rewards.device)
    else:
        known: dict[Hashable, int] = {}
        numbers = torch.tensor(
            [known.setdefault(group, len(known)) for group in groups],
            dtype=torch.long, device=rewards.device,
        )  # fmt: skip
    if rewards.dim() != 1 or numbers.shape != rewards.shape:
        raise ConfigError(
            f"rewards has shape {tuple(rewards.shape)}, and there are {tuple(numbers.shape)} "
            "groups: give one for each"
        )
    return numbers


def _mean(values: Tensor, numbers: Tensor) -> Tensor:
    """Mean of each group's known values; 0 for a group without any."""
    filled, count = torch.where(values.isnan(), 0.0, values), _members(values, numbers)
    total = torch.zeros_like(count).index_add(0, numbers, filled)
    mean: Tensor = total / count.clamp(min=1.0)
    return mean


def _members(values: Tensor, numbers: Tensor) -> Tensor:
    """How many known values each group has."""
    size = int(numbers.max()) + 1 if len(numbers) else 0
    known = (~values.isnan()).to(values)
    counts: Tensor = values.new_zeros(size).index_add(0, numbers, known)
    return counts


def _centred(values: Tensor, numbers: Tensor) -> Tensor:
    """Distance of each known value from its group's mean; 0 for an unknown one."""
    distance = torch.where(values.isnan(), torch.zeros_like(values), values)
    distance = distance - _mean(values, numbers)[numbers]
    return torch.where(values.isnan(), torch.zeros_like(values), distance)


def _spread(means: Tensor, deviations: Tensor, numbers: Tensor) -> Tensor:
    """Standard deviation of each group's truth, as believed."""
    distance = _centred(means, numbers) ** 2
    unknown = torch.full_like(distance, torch.nan)
    between = _mean(torch.where(means.isnan(), unknown, distance), numbers)
    variance = between + _mean(deviations**2, numbers)
    # The root's slope at 0 is infinite, and a spread of 0 divides nothing.
    safe = torch.where(variance > 0, variance, torch.ones_like(variance))
    return torch.where(variance > 0, safe.sqrt(), torch.zeros_like(variance))
