"""Worlds so small that the criticality of each turn is known: by backward induction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import verifier_ladder as vl
from verifier_ladder.candidate import Turn
from verifier_ladder.tiers.simulation.criticality import Drawn, Policy, seed_of

MOST = 24
"""Turns of the longest episode."""


class World(vl.Environment):
    """Cells in a grid: `#` is a wall, `+` and `-` end the episode, with reward 1 and 0.

    A chain is a grid of one row. A step costs `toll`.
    """

    version = "1"

    def __init__(self, rows: Sequence[str], toll: float = 0.0) -> None:
        self.rows, self.toll = rows, toll
        self.cell = self.start

    @property
    def start(self) -> tuple[int, int]:
        return next((y, row.index("s")) for y, row in enumerate(self.rows) if "s" in row)

    def moved(self, cell: tuple[int, int], action: str) -> tuple[tuple[int, int], float, bool]:
        """The next cell, the reward, and whether it is an end."""
        dy, dx = MOVES.get(action, (0, 0))
        y, x = cell[0] + dy, cell[1] + dx
        if not (0 <= y < len(self.rows) and 0 <= x < len(self.rows[y])) or self.rows[y][x] == "#":
            y, x = cell
        what = self.rows[y][x]
        return (y, x), float(what == "+") - self.toll, what in "+-"

    def begin(self, _: int) -> str:
        self.cell = self.start
        return f"at {self.cell}"

    def act(self, action: Any) -> vl.StepResult:
        self.cell, reward, is_end = self.moved(self.cell, str(action))
        return vl.StepResult(f"at {self.cell}", reward=reward, terminated=is_end)

    def save(self) -> bytes:
        return b"%d %d" % self.cell

    def load(self, saved: bytes) -> None:
        y, x = saved.split()
        self.cell = int(y), int(x)


MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
CHAIN = ("-..s...+",)
MAZE = ("s.#..", "..#.+", ".....", "#-#..")


class Drift(Policy):
    """Moves at random, in some directions more often than in others."""

    def __init__(self, odds: Mapping[str, float]) -> None:
        self.odds = dict(odds)
        self.settings = {"odds": self.odds}
        self.asked = 0

    def drawn(self, seed: int) -> str:
        chance = Random(seed)  # noqa: S311 - no secret is made of it
        return chance.choices([*self.odds], [*self.odds.values()])[0]

    async def draw(self, _first: str, _turns: Sequence[Turn], seed: int) -> Drawn:
        self.asked += 1
        return Drawn(self.drawn(seed), 0.25)


def trajectory(world: World, policy: Drift, seed: int) -> tuple[Turn, ...]:
    """An episode of the policy's own."""
    turns: list[Turn] = []
    world.reset()
    for place in range(MOST):
        action = policy.drawn(seed_of(seed, 10**6, place))
        step = world.step(action)
        turns.append(Turn(action, step.observation))
        if step.is_last:
            break
    return tuple(turns)


def known(world: World, policy: Drift, turns: Sequence[Turn]) -> list[float]:
    """The criticality of each turn."""
    total = sum(policy.odds.values())

    @cache
    def value(cell: tuple[int, int], left: int) -> float:
        return left and sum(
            odds / total * worth(cell, action, left) for action, odds in policy.odds.items()
        )

    def worth(cell: tuple[int, int], action: str, left: int) -> float:
        to, reward, is_end = world.moved(cell, action)
        return reward + (0.0 if is_end else value(to, left - 1))

    cell, found = world.start, []
    for place, turn in enumerate(turns):
        found.append(worth(cell, turn.text, MOST - place) - value(cell, MOST - place))
        cell = world.moved(cell, turn.text)[0]
    return found


def known_replayed(world: World, policy: Drift, turns: Sequence[Turn]) -> list[float]:
    """What each turn's action did with all others kept, on average over the policy's."""
    total = sum(policy.odds.values())

    def outcome(actions: Sequence[str]) -> float:
        cell, made = world.start, 0.0
        for action in actions:
            cell, reward, is_end = world.moved(cell, action)
            made += reward
            if is_end:
                break
        return made

    did = [turn.text for turn in turns]
    return [
        outcome(did) - sum(
            odds / total * outcome([*did[:place], action, *did[place + 1 :]])
            for action, odds in policy.odds.items()
        )
        for place in range(len(did))
    ]  # fmt: skip
