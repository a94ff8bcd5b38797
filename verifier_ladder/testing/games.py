"""Games for tests and answer keys: small environments of Gymnasium whose right play is known.

Importing this module registers them, so a setting of `game-replay` names one as
`verifier_ladder.testing.games:Safe-v0`. It needs the extra `games`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

_DIGITS, _LEVERS, _ROUNDS = 4, 2, 3


class Safe(gymnasium.Env[Any, Any]):
    """A safe that opens if all its dials stand right at once: reward 1, and the end.

    A wrong try costs 0.1. The observation says how many dials stood right.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - so the base class has it

    def __init__(self, code: Sequence[int] = (2, 3), lowest: int = 0) -> None:
        """Set the code: of four numbers from `lowest` on, one for each dial."""
        self._code = np.array(code)
        count = len(self._code)
        self.action_space = spaces.MultiDiscrete([_DIGITS] * count, start=[lowest] * count)
        self.observation_space = spaces.Discrete(count + 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Close it; nothing stands right."""
        super().reset(seed=seed, options=options)
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Turn the dials."""
        right = int((action == self._code).sum())
        is_open = right == len(self._code)
        return right, 1.0 if is_open else -0.1, is_open, False, {}


class Levers(gymnasium.Env[Any, Any]):
    """Four levers in two rows, set once: the reward is the sum of what each is set to.

    Those of the first row go from 0 to 1, those of the second from -2 to 0.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, *, whole: bool = False, bounded: bool = True) -> None:
        """Set what levers take: whole numbers only, or anything that is finite."""
        kind: Any = np.int64 if whole else np.float32
        low = np.array([[0] * _LEVERS, [-2] * _LEVERS], kind)
        high = np.array([[1] * _LEVERS, [0] * _LEVERS], kind)
        far = np.full_like(high, np.inf) if not bounded else high
        self.action_space: Any = spaces.Box(low if bounded else -far, far, dtype=kind)
        is_set = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)])
        self.observation_space = spaces.Dict({"levers": self.action_space, "set": is_set})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Set all to nothing."""
        super().reset(seed=seed, options=options)
        return {"levers": np.zeros_like(self.action_space.low), "set": (False, 0)}, {}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Set them."""
        return {"levers": action, "set": (True, 1)}, float(action.sum()), True, False, {}


class Faulty(gymnasium.Env[Any, Any]):
    """A game that something is wrong with: three rounds, each of which gives 1."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, fault: str = "") -> None:
        """Set the fault: `chance`, `first`, `late`, `reward`, `space`, `raises`, `tires`, none."""
        self._fault = fault
        self.action_space = spaces.Text(3) if fault == "space" else spaces.Discrete(2)
        self.observation_space = spaces.Discrete(2**63 - 1)
        self._round = self._episodes = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin."""
        super().reset(seed=seed, options=options)
        self._round, self._episodes = 0, self._episodes + 1
        return int.from_bytes(os.urandom(7)) if self._fault == "first" else 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play a round; who is tired gives nothing for it after the first episode."""
        self._round += 1
        if self._fault == "raises":
            raise RuntimeError(f"round {self._round} can't be played with {action}")
        is_last = self._round == _ROUNDS
        by_chance = self._fault == "chance" or (self._fault == "late" and is_last)
        seen = int.from_bytes(os.urandom(7)) if by_chance else self._round
        reward = math.nan if self._fault == "reward" else 1.0
        is_tired = self._fault == "tires" and self._episodes > 1
        return seen, 0.0 if is_tired else reward, is_last, False, {}


gymnasium.register("Safe-v0", f"{__name__}:Safe", reward_threshold=0.7, max_episode_steps=10)
gymnasium.register("Levers-v0", f"{__name__}:Levers")
gymnasium.register("Faulty-v0", f"{__name__}:Faulty")
gymnasium.register("Unsteady-v0", f"{__name__}:Faulty", nondeterministic=True)
