"""A tabular learner: one softmax policy per group, trained with advantages inside the group."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from routing.backend import Rollouts
from routing.table import Flags, Floats, Table


class Course(NamedTuple):
    """How long and how hard a learner trains."""

    updates: int = 400
    groups: int = 8
    """Groups in an update."""
    rollouts: int = 16
    """Rollouts of each group."""
    rate: float = 3.0
    """Step on the logits."""
    kl: float = 0.1
    """Weight of the divergence from the first policy, which is uniform."""

    @property
    def samples(self) -> int:
        """Rollouts of the whole course."""
        return self.updates * self.groups * self.rollouts


class Learner:
    """Draws rollouts of a group from its policy, and follows the policy gradient.

    The gradient of a group is Σ A·∇log π over its rollouts, divided by how many have a reward,
    less `kl` times the gradient of KL(π ‖ uniform): GRPO without clipping, which has nothing to
    clip when every batch is used once (Shao et al., arXiv 2402.03300).
    """

    def __init__(self, table: Table, course: Course, seed: int) -> None:
        """Start with uniform policies."""
        self._course = course
        self._members = table.members()
        sizes = np.array([len(rows) for rows in self._members])
        self._rows = np.zeros((len(sizes), sizes.max()), dtype=np.int64)
        self._real = np.arange(sizes.max()) < sizes[:, None]
        self._rows[self._real] = np.concatenate(self._members)
        self._logits = np.zeros(self._real.shape)
        self._uniform = 1.0 / sizes
        self._random = np.random.default_rng(seed)
        self._chosen = np.empty(0, dtype=np.int64)
        self._places = np.empty((0, 0), dtype=np.int64)

    @property
    def policy(self) -> Floats:
        """Probability of each member of each group. Shape (groups, members)."""
        logits = np.where(self._real, self._logits, -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        policy: Floats = weights / weights.sum(axis=1, keepdims=True)
        return policy

    def expected(self, values: Floats) -> float:
        """Mean over the groups of what the policy expects of a number that each row has."""
        return float((self.policy * values[self._rows]).sum(axis=1).mean())

    def propose(self) -> Rollouts:
        """Draw the rollouts of some groups."""
        course, policy = self._course, self.policy
        count = min(course.groups, len(self._members))
        self._chosen = self._random.choice(len(self._members), count, replace=False)
        chances = policy[self._chosen]
        draws = self._random.random((count, course.rollouts))
        ends = chances.cumsum(axis=1)
        ends[:, -1] = np.inf
        places = (draws[:, :, None] >= ends[:, None, :]).sum(axis=2)
        self._places = np.minimum(places, self._real[self._chosen].sum(axis=1)[:, None] - 1)
        drawn = np.take_along_axis(chances, self._places, axis=1)
        norms = np.sqrt(np.maximum(1 - 2 * drawn + (chances**2).sum(axis=1)[:, None], 0.0))
        return Rollouts(
            self._rows[self._chosen[:, None], self._places].ravel(),
            np.repeat(np.arange(count), course.rollouts), norms.ravel(),
        )  # fmt: skip

    def update(self, advantages: Floats, known: Flags) -> None:
        """Follow the gradient of the rollouts last proposed.

        Args:
            advantages: One per rollout, 0 where the reward is unknown.
            known: Which rollouts have a reward.
        """
        policy = self.policy[self._chosen]
        gain = advantages.reshape(self._places.shape)
        counted = np.maximum(known.reshape(self._places.shape).sum(axis=1), 1)[:, None]
        sums = np.zeros_like(policy)
        np.add.at(sums, (np.arange(len(policy))[:, None], self._places), gain)
        gradient = (sums - gain.sum(axis=1)[:, None] * policy) / counted
        ratio = np.log(np.maximum(policy, 1e-300) / self._uniform[self._chosen][:, None])
        divergence = (policy * ratio).sum(axis=1)[:, None]
        gradient -= self._course.kl * policy * (ratio - divergence)
        self._logits[self._chosen] += self._course.rate * gradient
