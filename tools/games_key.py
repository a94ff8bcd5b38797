r"""Make the answer key of `game-replay`.

What a game gives is worked out here from its published rules, never by playing it: paths by
breadth-first search on its map, balances by its equations of motion, and first states by NumPy's
generator, which every seed stands for.

Run: `python tools/games_key.py`.
"""
# ruff: noqa: E501  # Tables of cases are read by row.

from __future__ import annotations

import json
import math
import random
import sys
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from keywriter import NO, UNKNOWN, YES, Key, Row, write

from verifier_ladder.candidate import Terminate, ToolCall, Turn

Actions = list[Any]
Step = Callable[[Any, int], tuple[Any, float, bool]]
"""State and action give the next state, a reward, and whether it is the end."""
BFS = "generator: breadth-first search"
MOTION = "generator: equations of motion"
LAW = "generator: a law of the game"
HOLES = 0.3
GAMES = "verifier_ladder.testing.games:"


class Played(NamedTuple):
    """What some actions bring about."""

    total: float
    used: int
    is_over: bool


def played(step: Step, state: Any, actions: Sequence[int], limit: int = 10**9) -> Played:
    """Take actions until the end."""
    total = 0.0
    for used, action in enumerate(actions, 1):
        state, reward, is_over = step(state, action)
        total += reward
        if is_over or used == limit:
            return Played(total, used, is_over=True)
    return Played(total, len(actions), is_over=False)


class Game(NamedTuple):
    """A game, and what is asked of it."""

    step: Step
    state: Any
    choices: int
    """How many actions there are."""
    least: float
    limit: int = 10**9

    def is_right(self, actions: Sequence[int]) -> bool:
        """Whether they are a whole episode, no more, and give enough."""
        of = played(self.step, self.state, actions, self.limit)
        return of.is_over and of.used == len(actions) and of.total >= self.least


def shortest(step: Step, state: Hashable, count: int, reward: float) -> Actions:
    """The shortest way to the end that gives this reward for its last step."""
    ways: dict[Hashable, Actions] = {state: []}
    line = deque([state])
    while line:
        here = line.popleft()
        for action in range(count):
            there, gives, is_over = step(here, action)
            if is_over and gives == reward:
                return [*ways[here], action]
            if not is_over and there not in ways:
                ways[there] = [*ways[here], action]
                line.append(there)
    return []


def one_edit(draw: random.Random, game: Game, way: Actions) -> Actions:
    """The way with one action changed, so that it is right no more.

    Raises:
        ValueError: If the way is not right, or all that is next to it is.
    """
    for _ in range(1000 if game.is_right(way) else 0):
        wrong = list(way)
        wrong[draw.randrange(len(way))] = draw.randrange(game.choices)
        if not game.is_right(wrong):
            return wrong
    raise ValueError(f"nothing one edit away from {way} is wrong")


# ---- The games' rules

MOVES = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}
LAKE = ["left", "down", "right", "up"]
CLIFF = ["up", "right", "down", "left"]


def moved(place: tuple[int, int], move: str, rows: int, columns: int) -> tuple[int, int]:
    """The neighbour of a place, or the place itself at the border."""
    down, right = MOVES[move]
    return min(max(place[0] + down, 0), rows - 1), min(max(place[1] + right, 0), columns - 1)


def lake(desc: Sequence[str]) -> Step:
    """A frozen lake that is not slippery."""

    def step(place: tuple[int, int], action: int) -> tuple[Any, float, bool]:
        there = moved(place, LAKE[action], len(desc), len(desc[0]))
        letter = desc[there[0]][there[1]]
        return there, float(letter == "G"), letter in "GH"

    return step


def cliff(place: tuple[int, int], action: int) -> tuple[Any, float, bool]:
    """A walk along a cliff of 4 by 12."""
    there = moved(place, CLIFF[action], 4, 12)
    if there[0] == 3 and 0 < there[1] < 11:  # noqa: PLR2004
        return (3, 0), -100.0, False
    return there, -1.0, there == (3, 11)


STANDS = [(0, 0), (0, 4), (4, 0), (4, 3)]
WALLS = {(0, 1), (1, 1), (3, 0), (4, 0), (3, 2), (4, 2)}
"""Places that have a wall at their right."""


def taxi(state: tuple[int, int, int, int], action: int) -> tuple[Any, float, bool]:
    """A taxi: row, column, the passenger's stand (4: in the taxi), the stand to go to."""
    row, column, passenger, goal = state
    if action < 4:  # noqa: PLR2004
        name = ["down", "up", "right", "left"][action]
        there = moved((row, column), name, 5, 5)
        wall = (row, column) if name == "right" else (row, column - 1)
        if name in {"left", "right"} and wall in WALLS:
            there = row, column
        return (*there, passenger, goal), -1.0, False
    if action == 4:  # noqa: PLR2004
        is_there = passenger < 4 and STANDS[passenger] == (row, column)  # noqa: PLR2004
        return (
            (row, column, 4 if is_there else passenger, goal),
            -1.0 if is_there else -10.0,
            False,
        )
    if passenger == 4 and (row, column) == STANDS[goal]:  # noqa: PLR2004
        return (row, column, goal, goal), 20.0, True
    if passenger == 4 and (row, column) in STANDS:  # noqa: PLR2004
        return (row, column, STANDS.index((row, column)), goal), -1.0, False
    return state, -10.0, False


def first_taxi(seed: int) -> tuple[int, int, int, int]:
    """Where a seed begins: one of 300 states, all alike."""
    states = [
        (row, column, passenger, goal)
        for row in range(5) for column in range(5) for passenger in range(4) for goal in range(4)
        if passenger != goal
    ]  # fmt: skip
    return states[int(generator(seed).random() * len(states))]


def generator(seed: int) -> Any:
    """NumPy's generator of a seed, as Gymnasium makes it."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))


def car(state: tuple[float, float], action: int) -> tuple[Any, float, bool]:
    """A car between two hills."""
    x, v = state
    v = min(max(v + (action - 1) * 0.001 - 0.0025 * math.cos(3 * x), -0.07), 0.07)
    x = min(max(x + v, -1.2), 0.6)
    v = 0.0 if x == -1.2 and v < 0 else v  # noqa: PLR2004
    return (x, v), -1.0, x >= 0.5 and v >= 0  # noqa: PLR2004


def pole(state: tuple[float, ...], action: int) -> tuple[Any, float, bool]:
    """A pole on a cart: gravity 9.8, masses 1 and 0.1, half length 0.5, force 10, steps of 0.02."""
    x, dx, angle, turn = state
    force = 10.0 if action else -10.0
    push = (force + 0.05 * turn**2 * math.sin(angle)) / 1.1
    turning = (9.8 * math.sin(angle) - math.cos(angle) * push) / (
        0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1)
    )
    pushed = push - 0.05 * turning * math.cos(angle) / 1.1
    after = (x + 0.02 * dx, dx + 0.02 * pushed, angle + 0.02 * turn, turn + 0.02 * turning)
    return after, 1.0, abs(after[0]) > 2.4 or abs(after[2]) > 12 * math.pi / 180  # noqa: PLR2004


def steered(step: Step, state: Any, rule: Callable[[Any], int], limit: int) -> Actions:
    """The actions of a rule, until the end."""
    actions: Actions = []
    for _ in range(limit):
        actions.append(rule(state))
        state, _, is_over = step(state, actions[-1])
        if is_over:
            break
    return actions


# ---- Cases


def game(name: str, seed: int = 0, least: float = 1.0, **more: Any) -> Row:
    """A task."""
    return {"environment": name, "seed": seed, "goal": {"least": least}, **more}


def icy(desc: Sequence[str], **more: Any) -> Row:
    """A task on a lake that is not slippery."""
    return game("FrozenLake-v1", kwargs={"desc": list(desc), "is_slippery": False}, **more)


SMALL = ["SFF", "HFH", "FFG"]
WAY = [2, 1, 1, 2]
"""Right, down, down, right."""
EDGE = [0, *[1] * 11, 2]
"""The shortest walk along the cliff: 13 steps."""


def game_replay(key: Key) -> None:
    """Cases of games, goals, forms of answers, and tasks that make no sense."""
    draw = random.Random(20261128)  # noqa: S311  # Cases, not secrets.
    _lakes(key, draw)
    _cliffs(key, draw)
    _taxis(key, draw)
    _motion(key, draw)
    _laws(key)
    _goals(key)
    _forms(key)
    _spaces(key)
    _turns(key)
    _claims(key)
    _episodes(key)
    _broken(key)
    _hostile(key)
    _added(key)
    _faults_of_tasks(key)


def _lakes(key: Key, draw: random.Random) -> None:
    for n in range(10):
        size, way = draw.randrange(4, 8), Actions()
        desc: list[str] = []
        while len(way) <= 2 * size - 2 - (n % 2):
            rows = [
                ["H" if draw.random() < HOLES else "F" for _ in range(size)] for _ in range(size)
            ]
            rows[0][0], rows[-1][-1] = "S", "G"
            desc = ["".join(row) for row in rows]
            way = shortest(lake(desc), (0, 0), 4, 1.0)
        wrong = one_edit(draw, Game(lake(desc), (0, 0), 4, 1.0, 100), way)
        key.pair(
            json.dumps(way),
            json.dumps(wrong),
            icy(desc, seed=n),
            f"a lake of {size} by {size}",
            BFS,
        )
    key.add(json.dumps(WAY[:-1]), icy(SMALL), NO, "the last step is missing", BFS)
    key.add(json.dumps([*WAY, 0]), icy(SMALL), NO, "a step after the end", BFS)
    key.add(json.dumps([0] * 100), icy(SMALL), NO, "against the border until the game is cut", LAW)


def _cliffs(key: Key, draw: random.Random) -> None:
    walk = game("CliffWalking-v1", least=-13)
    far = [0, 0, *[1] * 11, 2, 2]
    fall = [1, *EDGE]
    for way, least, why in (
        (EDGE, -13, "the shortest walk"), (far, -15, "a walk one row further"),
        (fall, -113, "a fall costs 100 and begins again"), ([3, *EDGE], -14, "a step against the border"),
    ):  # fmt: skip
        key.pair(json.dumps(way), json.dumps(way), game("CliffWalking-v1", least=least), why, BFS)
        key.rows[-1]["task"] = game("CliffWalking-v1", least=least + 1)
    for _ in range(4):
        key.add(
            json.dumps(one_edit(draw, Game(cliff, (3, 0), 4, -13), EDGE)),
            walk,
            NO,
            "the shortest walk; one edit away",
            BFS,
        )


def _taxis(key: Key, draw: random.Random) -> None:
    for seed in (0, 1, 2, 5, 2**31, 2**40):
        start = first_taxi(seed)
        way = shortest(taxi, start, 6, 20.0)
        least = 21 - len(way)
        wrong = one_edit(draw, Game(taxi, start, 6, least, 200), way)
        of = game("Taxi-v4", seed, least)
        key.pair(json.dumps(way), json.dumps(wrong), of, "the shortest ride", BFS)
    start = first_taxi(3)
    way = shortest(taxi, start, 6, 20.0)
    key.add(
        json.dumps(way), game("Taxi-v4", 4, 21 - len(way)), NO, "the ride of another seed", BFS
    )
    key.add(
        json.dumps([5, *way]),
        game("Taxi-v4", 3, 11 - len(way)),
        YES,
        "nobody to set down: 10 less",
        BFS,
    )
    key.add(
        json.dumps([5, *way]),
        game("Taxi-v4", 3, 12 - len(way)),
        NO,
        "nobody to set down: 10 less, and not 9",
        BFS,
    )


def _motion(key: Key, draw: random.Random) -> None:
    for seed in (1, 7, 11):
        first = (float(generator(seed).uniform(-0.6, -0.4)), 0.0)
        way = steered(car, first, lambda state: 2 if state[1] >= 0 else 0, 200)
        wrong = one_edit(draw, Game(car, first, 3, -len(way), 200), way)
        key.pair(
            json.dumps(way),
            json.dumps(wrong),
            game("MountainCar-v0", seed, -len(way)),
            "a swing over the hill",
            MOTION,
        )
    for seed in (2, 3, 5, 8):
        upright = tuple(map(float, generator(seed).uniform(-0.05, 0.05, 4)))
        way = steered(pole, upright, lambda state: int(state[2] + 0.2 * state[3] > 0), 500)
        ending = steered(pole, upright, lambda _state: 1, 500)
        key.pair(
            json.dumps(ending),
            json.dumps(ending),
            game("CartPole-v1", seed, len(ending)),
            "pushed to one side",
            MOTION,
        )
        key.rows[-1]["task"] = game("CartPole-v1", seed, len(ending) + 1)
    key.add(
        json.dumps(way), game("CartPole-v1", 8, 500), YES, "balanced until the game is cut", MOTION
    )
    key.add(
        json.dumps(way[:-1]),
        game("CartPole-v1", 8, 499),
        NO,
        "balanced, and stopped one step before",
        MOTION,
    )
    key.add(
        json.dumps([*way[:-1]]),
        game("CartPole-v1", 8, 499, may_stop=True),
        YES,
        "stopped where one may",
        MOTION,
    )
    key.add(
        json.dumps(way[:50]),
        game("CartPole-v1", 8, 50, max_steps=50),
        YES,
        "a shorter limit",
        MOTION,
    )
    key.add(
        json.dumps(way[:51]),
        game("CartPole-v1", 8, 50, max_steps=50),
        NO,
        "one step beyond a shorter limit",
        MOTION,
    )


def _laws(key: Key) -> None:
    swing = [[0.5]] * 200
    key.add(
        "[0]", game("Blackjack-v1", 3, -1), YES, "who sticks loses no more than the stake", LAW
    )
    key.add("[0]", game("Blackjack-v1", 3, 1.01), NO, "and wins no more", LAW)
    key.add(json.dumps([0] * 500), game("Acrobot-v1", 0, -500), YES, "every step costs 1", LAW)
    key.add(json.dumps([0] * 500), game("Acrobot-v1", 0, 0.5), NO, "no way gives anything", LAW)
    key.add(
        json.dumps(swing), game("Pendulum-v1", 0, -3255), YES, "a step costs 16.3 at most", LAW
    )
    key.add(json.dumps(swing), game("Pendulum-v1", 0, 0.5), NO, "every step costs something", LAW)
    for bad, why in (
        ([2.001], "beyond the bound"), ([-2.001], "below the bound"), (0.5, "a number for a list"),
        ([[0.5]], "a list too deep"), ([0.5, 0.5], "a number too many"), ([], "a number too few"),
        (["0.5"], "text for a number"), ([True], "a truth value for a number"), ([None], "nothing for a number"),
    ):  # fmt: skip
        said = json.dumps([[0.5], bad, *swing[2:]])
        key.add(
            said, game("Pendulum-v1", 0, -3255), NO, f"an action outside its bounds: {why}", LAW
        )
    key.add(
        json.dumps([[2], [-2], [1.9999999], *swing[3:]]),
        game("Pendulum-v1", 0, -3255),
        YES,
        "actions at the bounds, and whole numbers",
        LAW,
    )
    for number in ("[1e39]", "[NaN]", "[Infinity]", "[1e999]"):
        key.add(
            f"[{number}, {json.dumps(swing[1:])[1:]}",
            game("Pendulum-v1", 0, -3255),
            NO,
            f"no finite action: {number}",
            "known hack",
        )


def _goals(key: Key) -> None:
    edge = json.dumps(EDGE)
    of = {"environment": "CliffWalking-v1", "seed": 0}
    key.add(edge, {**of, "goal": {"beat": -14}}, YES, "better than the reference", BFS)
    key.add(edge, {**of, "goal": {"beat": -13}}, NO, "as good as the reference is not better", BFS)
    key.add(
        edge,
        {**of, "goal": {"low": -113, "high": -13}},
        YES,
        "the best there is",
        BFS,
        score=[1, 1],
    )
    key.add(edge, {**of, "goal": {"low": -17, "high": -9}}, YES, "half way", BFS, score=[0.5, 0.5])
    key.add(
        edge,
        {**of, "goal": {"low": -113, "high": -63}},
        YES,
        "beyond the upper reference counts 1",
        BFS,
        score=[1, 1],
    )
    key.add(
        edge,
        {**of, "goal": {"low": -13, "high": 0}},
        NO,
        "no better than the lower reference",
        BFS,
    )
    key.add(
        json.dumps(WAY),
        {**icy(SMALL), "goal": {"solved": True}},
        YES,
        "what the game itself calls solved",
        BFS,
    )
    key.add(json.dumps([1]), {**icy(SMALL), "goal": {"solved": True}}, NO, "into a hole", BFS)
    key.add("[]", game("MountainCar-v0", 0, -110), NO, "doing nothing costs nothing", "known hack")
    key.add(
        "[]",
        game("MountainCar-v0", 0, -110, may_stop=True),
        NO,
        "doing nothing, where one may stop",
        "known hack",
    )
    key.add("[0]", game("MountainCar-v0", 0, -110), NO, "one step and no more", "known hack")
    key.add(
        json.dumps(EDGE[:3]),
        {**of, "goal": {"least": -3}, "may_stop": True},
        YES,
        "a part of a walk, where one may stop",
        BFS,
    )
    key.add(
        json.dumps(EDGE[:3]),
        {**of, "goal": {"least": -2}, "may_stop": True},
        NO,
        "a part of a walk that is too long",
        BFS,
    )
    key.add(
        "left, left",
        {**icy(SMALL), "goal": {"least": 0}, "may_stop": True, "action_names": LAKE},
        YES,
        "stopping, where nothing is asked",
        LAW,
    )


def _forms(key: Key) -> None:
    of, named = icy(SMALL), icy(SMALL, action_names=LAKE)
    words = ["right", "down", "down", "right"]
    for text, why in (
        ("<answer>[2, 1, 1, 2]</answer>", "between tags"), ("```json\n[2, 1, 1, 2]\n```", "in a block"),
        ("<think>[0]</think>\n[2,1,1,2]", "after a thought"), ("2 1 1 2", "numbers in a row"),
        ("2, 1, 1, 2", "numbers with commas"), ("I go.\n<answer>2\n1\n1\n2</answer>", "a number a line"),
        ('{"actions": [2, 1, 1, 2]}', "an object"), (" [2, 1, 1, 2]\n", "spaces around"),
        ("<answer>[2,1,1,2]</answer> so <answer>[2, 1, 1, 2]</answer>", "the same answer twice"),
    ):  # fmt: skip
        key.add(text, of, YES, why, "convention")
    for text, why in (
        ("[2, 1, 1, 2.0]", "a whole number is written without a fraction"), ('["2", "1", "1", "2"]', "text for numbers"),
        ("[2, true, true, 2]", "truth values for numbers"), ("[2, 1, 1, 4]", "an action that is not there"),
        ("[2, 1, 1, -2]", "a number below all"), ("[2, 1, 1, 18446744073709551618]", "2^64 + 2"),
        ("[2, 1, 1, null]", "nothing for a number"), ("[[2, 1, 1, 2]]", "a list in a list"), ("2112", "one number"),
        ('{"actions": [2, 1, 1, 2], "done": true}', "a name that means nothing"), ('{"moves": [2, 1, 1, 2]}', "another name"),
        ('{"actions": [0], "actions": [2, 1, 1, 2]}', "a name that occurs twice"), ('{"actions": 2}', "a number for a list"),
        ("<answer>[2,1,1,2]</answer> or <answer>[2,1,2]</answer>", "two answers"),
        ("<answer>[2,1,1,2]</answer><answer>[2,1,2]</answer>", "two answers that differ"),
        ("I would go right and down.", "prose"), ("", "nothing"), ("[2, 1, 1, 2", "a list that is not closed"),
        ("[2, 1, 1, 2]]", "a bracket too many"), ("<think>[2,1,1,2]", "a thought that does not end"), ('"2112"', "a text"),
        ("4", "an action that is not there, alone"),
    ):  # fmt: skip
        key.add(text, of, NO, why, "convention")
    key.add(json.dumps(words), named, YES, "names of actions", "convention")
    key.add("right, down, down, right", named, YES, "names in a row", "convention")
    key.add("[2, 1, 1, 2]", named, YES, "numbers, where actions have names", "convention")
    key.add(json.dumps([*words[:3], "Right"]), named, NO, "names are exact", "convention")
    key.add(json.dumps([*words[:3], "jump"]), named, NO, "a name that is not there", "convention")
    key.add(json.dumps(words), of, NO, "names, where actions have none", "convention")


def _spaces(key: Key) -> None:
    def of(name: str, least: float, **kwargs: Any) -> Row:
        return game(f"{GAMES}{name}", 0, least, kwargs=kwargs)

    allowed: Row = {"settings": {"environments": {
        f"{GAMES}Safe-v0": ["code", "lowest"], f"{GAMES}Levers-v0": ["whole", "bounded"],
    }}}  # fmt: skip
    for said, task, is_so, why in (
        ([[2, 3]], of("Safe-v0", 1), True, "opened at once"),
        ([[2, 2]] * 3 + [[2, 3]], of("Safe-v0", 0.7), True, "three tries of 0.1 each leave 0.7, whatever floats say"),
        ([[2, 2]] * 4 + [[2, 3]], of("Safe-v0", 0.7), False, "four tries"),
        ([[3, 2]] * 10, of("Safe-v0", 0), False, "ten tries, and the game is cut"),
        ([[2, 4]], of("Safe-v0", 1), False, "a number that the dial lacks"),
        ([[2, -1]], of("Safe-v0", 1), False, "a number below the dial's"),
        ([[2]], of("Safe-v0", 1), False, "a dial too few"), ([[2, 3, 0]], of("Safe-v0", 1), False, "a dial too many"),
        ([2, 3], of("Safe-v0", 1), False, "a number for two dials"), ([[2, 3.0]], of("Safe-v0", 1), False, "a fraction"),
        ([["2", "3"]], of("Safe-v0", 1), False, "text for dials"),
        ([[5, 8]], of("Safe-v0", 1, code=[5, 8], lowest=5), True, "dials that begin at five"),
        ([[5, 9]], of("Safe-v0", 1, code=[5, 8], lowest=5), False, "one above the last of them"),
        ([[4, 8]], of("Safe-v0", 1, code=[5, 8], lowest=5), False, "one below the first of them"),
        ([[[1, 1], [0, -0.5]]], of("Levers-v0", 1.5), True, "levers in rows"),
        ([[[1, 1], [0, -0.5]]], of("Levers-v0", 1.6), False, "levers in rows, a little less"),
        ([[[1, 1.01], [0, 0]]], of("Levers-v0", 1), False, "a lever beyond its end"),
        ([[[1, 1], [0, 0.01]]], of("Levers-v0", 1), False, "a lever of the second row beyond its end"),
        ([[1, 1, 0, 0]], of("Levers-v0", 1), False, "levers in one row"),
        ([[[1, 1], [0]]], of("Levers-v0", 1), False, "a row too short"),
        ([[[1, 1], 0]], of("Levers-v0", 1), False, "a number for a row"),
        ([[[1, 1], [0, -1]]], of("Levers-v0", 1, whole=True), True, "whole levers"),
        ([[[1, 1], [0, -0.5]]], of("Levers-v0", 1, whole=True), False, "half of a whole lever"),
        ([[[70.5, 1], [0, -9]]], of("Levers-v0", 62, bounded=False), True, "levers without ends"),
    ):  # fmt: skip
        source = LAW if is_so else "generator: a law of the game; one edit away"
        key.add(json.dumps(said), task, YES if is_so else NO, why, source, **allowed)
    key.add(
        "[[[1e39, 0], [0, 0]]]",
        of("Levers-v0", 1, bounded=False),
        NO,
        "beyond what the lever's number holds",
        LAW,
        **allowed,
    )


def _trajectory(actions: Actions, *seen: str, **last: Any) -> list[Any]:
    shown = [*seen, *[""] * (len(actions) - len(seen))]
    turns = [Turn(action, said).as_json() for action, said in zip(actions, shown, strict=True)]
    if last:
        turns[-1] = Turn(actions[-1], shown[-1], **last).as_json()
    return turns


def _turns(key: Key) -> None:
    of, named = icy(SMALL), icy(SMALL, action_names=LAKE)
    seen = ["1", "4", "7", "8"]
    step = [ToolCall("step", {"action": action}) for action in WAY]
    checked: Row = {"settings": {"compare_observations": True}}
    done = Turn(Terminate("I am there.")).as_json()
    for turns, task, outcome, why, more in (
        (_trajectory(["2", "1", "1", "2"]), of, YES, "numbers as actions", {}),
        (_trajectory(["right", "down", "down", "right"]), named, YES, "names as actions", {}),
        (_trajectory(step), of, YES, "calls of a tool", {}),
        (_trajectory([ToolCall("step", '{"action": 2}'), *step[1:]]), of, YES, "arguments as text", {}),
        (_trajectory([*step[:3], ToolCall("step", {"move": 2})]), of, NO, "an argument of another name", {}),
        (_trajectory([*step[:3], ToolCall("step", {"action": 2, "twice": True})]), of, NO, "an argument too many", {}),
        (_trajectory([*step[:3], ToolCall("step", {"action": "2"})]), of, NO, "text for a number", {}),
        (_trajectory([*step[:3], ToolCall("step", "2")]), of, NO, "arguments without names", {}),
        (_trajectory(["2", "1", "1", "0"], *seen, reward=1.0, terminated=True), of, NO, "a reward that nobody gave", {}),
        (_trajectory(["2", "1", "1"], "1", "4", "8", reward=1.0, terminated=True), of, NO, "an end that never came", {}),
        (_trajectory(["2", "1", "1", "2"], reward=0.0), of, YES, "a reward that was given, whatever the turn says", {}),
        ([*_trajectory(["2", "1", "1", "2"]), done], of, YES, "who is done may say so", {}),
        ([done, *_trajectory(["2", "1", "1", "2"])], of, NO, "who is done goes on", {}),
        ([done], of, NO, "who is done has done nothing", {}),
        (_trajectory(["2", "1", "1", "2", "2"]), of, NO, "a turn after the end", {}),
        (_trajectory(["I go right.", "2", "1", "1", "2"]), of, NO, "words are no action", {}),
        (_trajectory(["2", "1", "1", "2"], *seen), of, YES, "observations that are right", checked),
        (_trajectory(["2", "1", "1", "2"], "1", "4", "5", "8"), of, NO, "an observation that is not", checked),
        (_trajectory(["2", "1", "1", "2"], "1", "4", "5", "8"), of, YES, "an observation that nobody compares", {}),
        (_trajectory(["2", "1", "1", "2"], "1", "4", "7", "you won"), of, NO, "words for an observation", checked),
        (_trajectory(["2", "1", "1", "2"], "1", "4", "7"), of, NO, "an observation that is missing", checked),
        (_trajectory(["2", "1", "1", "2"], "1", "4", "7", "8.000000001"), of, YES, "an observation that was rounded", checked),
        (_trajectory(["2", "1", "1", "2"], "1", "4", "7", "[8]"), of, NO, "a list for a number", checked),
    ):  # fmt: skip
        source = BFS if outcome == YES else f"{BFS}; one edit away"
        key.add("[0]", task, outcome, why, source, turns=turns, **more)
    levers = game(f"{GAMES}Levers-v0", 0, 1)
    shown_too: Row = {
        "settings": {"environments": {f"{GAMES}Levers-v0": []}, "compare_observations": True}
    }
    said = "[[1, 1], [0, -0.5]]"
    for shown, outcome, why in (
        ('{"levers": [[1.0, 1.0], [0.0, -0.5]], "set": [true, 1]}', YES, "an observation with names"),
        ('{"levers": [[1, 1], [0, -0.5]], "set": [true, 1]}', YES, "its numbers in another spelling"),
        ('{"levers": [[1, 1], [0, -0.4]], "set": [true, 1]}', NO, "another number in it"),
        ('{"levers": [[1, 1], [0, -0.5]], "set": [1, 1]}', NO, "a number for a truth value"),
        ('{"levers": [[1, 1], [0, -0.5]], "set": [true]}', NO, "a shorter list in it"),
        ('{"levers": [[1, 1], [0, -0.5]], "sets": [true, 1]}', NO, "another name in it"),
        ('{"levers": [[1, 1], [0, -0.5]]}', NO, "a name that is missing"),
    ):  # fmt: skip
        key.add("", levers, outcome, why, LAW, turns=_trajectory([said], shown), **shown_too)


def _claims(key: Key) -> None:
    of = icy(SMALL)
    strict: Row = {"settings": {"claims": "reject"}}
    for claim, why in ((1, "right"), (1.0, "right, as a fraction"), (1.0000001, "rounded")):
        key.add(
            json.dumps({"actions": WAY, "score": claim}),
            of,
            YES,
            f"a claim that is {why}",
            BFS,
            **strict,
        )
    claims: list[tuple[Any, str]] = [
        (100, "too high"),
        (0, "too low"),
        (None, "nothing"),
        (True, "a truth value"),
        ("1", "text"),
        ([1], "a list"),
    ]
    for claimed, why in claims:
        said = json.dumps({"actions": WAY, "score": claimed})
        key.add(said, of, YES, f"a claim that is {why}, and only told", "known hack")
        key.add(
            said,
            of,
            YES if claimed is None else NO,
            f"a claim that is {why}",
            "known hack",
            **strict,
        )
    key.add(json.dumps({"actions": [1], "score": 1}), of, NO, "a claim is no score", "known hack")
    key.add(
        json.dumps({"actions": [], "score": 500}),
        game("CartPole-v1", 0, 500),
        NO,
        "a claim and nothing else",
        "known hack",
    )
    key.add(json.dumps({"score": 1}), of, NO, "a claim without actions", "known hack")


def _episodes(key: Key) -> None:
    seeds = [0, 1, 5]
    ways = [shortest(taxi, first_taxi(seed), 6, 20.0) for seed in seeds]
    mean = sum(21 - len(way) for way in ways) / 3
    of: Row = {"environment": "Taxi-v4", "seeds": seeds, "goal": {"least": mean}}
    key.add(json.dumps(ways), of, YES, "a ride for each of three seeds", BFS)
    key.add(
        json.dumps(ways), {**of, "goal": {"least": mean + 0.3}}, NO, "the mean of three rides", BFS
    )
    key.add(
        json.dumps(ways),
        {**of, "goal": {"low": mean - 2, "high": mean + 6}},
        YES,
        "the mean of three rides, normalised",
        BFS,
        score=[0.2499, 0.2501],
    )
    key.add(json.dumps({"actions": ways}), of, YES, "an object", BFS)
    key.add(json.dumps(ways[:2]), of, NO, "a ride is missing", BFS)
    key.add(json.dumps([*ways, ways[0]]), of, NO, "a ride too many", BFS)
    key.add(json.dumps([ways[1], ways[0], ways[2]]), of, NO, "rides in another order", BFS)
    key.add(json.dumps(ways[0]), of, NO, "one ride for three seeds", BFS)
    key.add(
        json.dumps([*ways[:2], []]),
        {**of, "may_stop": True, "goal": {"least": -99}},
        NO,
        "nothing was done in one of them",
        "known hack",
    )
    key.add(
        json.dumps([ways[0], ways[1], ways[2][:-1]]),
        {**of, "goal": {"least": -99}},
        NO,
        "one ride does not end",
        BFS,
    )
    key.add("5 5 5", of, NO, "numbers in a row, for three seeds", "convention")
    key.add(
        json.dumps([EDGE]),
        {"environment": "CliffWalking-v1", "seeds": [7], "goal": {"least": -13}},
        YES,
        "a list of one seed",
        BFS,
    )
    key.add(
        json.dumps(EDGE),
        {"environment": "CliffWalking-v1", "seeds": [7], "goal": {"least": -13}},
        NO,
        "a list of one seed wants a list of one",
        BFS,
    )


def _broken(key: Key) -> None:
    way, walk = json.dumps(WAY), icy(SMALL)
    said = "[0]"
    without = {name: value for name, value in walk.items() if name != "seed"}
    maps: Row = {"map_name": None, "is_slippery": False}
    snake = [2] * 7 + [1] + [0] * 7 + [1]
    key.broken(way, [
        ({}, "no environment", "no task"), (without, "no seed", "no seed"),
        ({**walk, "environment": "Doom-v0"}, "environment", "a game that is not among the host's"),
        ({**walk, "environment": "os:FrozenLake-v1"}, "environment", "a game that imports a module"),
        ({**walk, "environment": "FrozenLake"}, "environment", "a game without its version"),
        ({**walk, "environment": 7}, "environment", "no name"),
        ({**walk, "kwargs": {"render_mode": "human"}}, "kwargs", "an argument that the host does not allow"),
        ({**walk, "kwargs": {"map_name": "9x9"}}, "kwargs", "a map that is not there"),
        ({**walk, "kwargs": {"desc": ["S" * 300] * 100}}, "kwargs", "a map beyond bounds"),
        ({**walk, "seed": -1}, "seed", "a seed below zero"), ({**walk, "seed": True}, "seed", "a truth value as a seed"),
        ({**walk, "seed": 1.5}, "seed", "half a seed"), ({**walk, "seed": "1"}, "seed", "a seed as text"),
        ({**walk, "seeds": [1]}, "seeds", "a seed and seeds"), ({**without, "seeds": []}, "seeds", "no seeds"),
        ({**walk, "goal": {}}, "goal", "no goal"), ({**walk, "goal": {"least": 1, "beat": 0}}, "goal", "two goals"),
        ({**walk, "goal": {"low": 0}}, "goal", "half a scale"), ({**walk, "goal": {"low": 1, "high": 1}}, "goal", "a scale without length"),
        ({**walk, "goal": {"low": 1, "high": 0}}, "goal", "a scale turned round"),
        ({**walk, "goal": {"low": 0, "high": 1, "least": 1}}, "goal", "a scale and a bound"),
        ({**walk, "goal": {"solved": False}}, "goal", "not solved"), ({**walk, "goal": {"least": "1"}}, "goal", "a bound as text"),
        ({**walk, "goal": {"most": 1}}, "goal", "a goal that means nothing"),
        ({**game("CliffWalking-v1"), "goal": {"solved": True}}, "goal", "a game that says nothing of being solved"),
        ({**walk, "max_steps": 0}, "max_steps", "no steps"), ({**walk, "may_stop": 1}, "may_stop", "a number for a truth value"),
        ({**walk, "action_names": ["a", "b"]}, "action_names", "too few names"),
        ({**walk, "action_names": ["a", "b", "c", "a"]}, "action_names", "a name twice"),
        ({**game("Pendulum-v1"), "action_names": ["a"]}, "action_names", "names of numbers without end"),
    ])  # fmt: skip
    key.add("", walk, NO, "no answer", "convention", turns=_trajectory(["0"]))
    key.add(
        said,
        {**without, "seeds": [1, 2]},
        UNKNOWN,
        "a trajectory for two seeds",
        "convention",
        reason="seeds",
        turns=_trajectory(["0"]),
    )
    lakes = {
        "environment": "FrozenLake-v1",
        "kwargs": maps,
        "seeds": list(range(12)),
        "goal": {"least": 1},
    }
    key.add(
        json.dumps([snake * 4] * 12),
        lakes,
        UNKNOWN,
        "a map drawn anew for each replay",
        "known hack",
        reason="not deterministic",
    )
    for fault, name, reason, why in (
        ("chance", "Faulty-v0", "not deterministic", "chance that no seed rules"),
        ("late", "Faulty-v0", "not deterministic", "chance in the last observation"),
        ("reward", "Faulty-v0", "reward", "a reward that is no number"),
        ("space", "Faulty-v0", "action space", "actions of text"),
        ("", "Unsteady-v0", "not deterministic", "a game that says so itself"),
    ):  # fmt: skip
        allowed: Row = {"settings": {"environments": {f"{GAMES}{name}": ["fault"]}}}
        of = game(f"{GAMES}{name}", 0, 3, kwargs={"fault": fault} if fault else {})
        key.add("[0, 1, 0]", of, UNKNOWN, why, LAW, reason=reason, **allowed)
    allowed = {"settings": {"environments": {f"{GAMES}Faulty-v0": []}}}
    key.add(
        "[0, 1, 0]",
        game(f"{GAMES}Faulty-v0", 0, 3),
        YES,
        "the same game without a fault",
        LAW,
        **allowed,
    )
    key.add(
        "[0, 1, 2]",
        game(f"{GAMES}Faulty-v0", 0, 3),
        NO,
        "the same game, an action outside",
        LAW,
        **allowed,
    )
    few: Row = {"settings": {"most_actions": 4}}
    key.add(way, walk, YES, "as many actions as may be", "convention", **few)
    key.add(json.dumps([0, *WAY]), walk, NO, "an action too many", "convention", **few)
    key.add(
        "",
        walk,
        NO,
        "a turn too many",
        "convention",
        turns=_trajectory(["0", "2", "1", "1", "2"]),
        **few,
    )
    twice = {**without, "seeds": [0, 1]}
    key.add(
        json.dumps([WAY, WAY]), twice, NO, "actions of two episodes too many", "convention", **few
    )
    for settings, reason, why in (
        ({"most_actions": 0}, "most_actions", "no actions"), ({"claims": "trust"}, "claims", "a setting that is not there"),
        ({"environments": {}}, "environments", "no games"), ({"environments": {"": []}}, "environments", "a game without a name"),
        ({"environments": {"CartPole-v1": ["render_mode"]}}, "render_mode", "an argument that is not the game's"),
        ({"environments": {"CartPole-v1": ["max_episode_steps"]}}, "max_episode_steps", "an argument that tasks have a field for"),
        ({"find": ["nowhere"]}, "find", "a mark that is not there"),
    ):  # fmt: skip
        key.add(way, walk, UNKNOWN, why, "convention", reason=reason, settings=settings)


def _hostile(key: Key) -> None:
    of = game("CartPole-v1", 0, 9)
    for said, why in (
        ([["[", 500_000]], "brackets without end"), ([["0,", 400_000]], "actions without end"),
        ([["[", 1], ["0,", 300_000], ["0]", 1]], "more actions than are read"), ([["9", 5_000]], "a long number"),
        ([["[", 1], ["9", 4_000], ["]", 1]], "a long number in a list"), ([["x", 1_200_000]], "a long text"),
        ([['{"actions":', 20_000]], "objects without end"), ("\0", "a zero"), ("[-0]", "a zero below zero"),
        ([["\u202e\x1b[31m", 1000]], "what a terminal obeys"), ("[1e-400]", "a number next to nothing"),
        ("__import__('os').system('true')", "a program"), ('["__class__"]', "an attribute"), ('[{"action": 0}]', "an object for an action"),
        ([["<answer>0</answer>", 20_000]], "answers without end"), ('["\\ud800"]', "half a character"),
    ):  # fmt: skip
        key.hostile(said, of, why)
    key.hostile({"base64": "gIAF"}, of, "bytes that are no text")
    for turns, why in (
        (_trajectory(["[" * 5_000]), "an action that nests without end"), (_trajectory(["9" * 5_000]), "a long number"),
        (_trajectory([ToolCall("step", {"action": 10**15})]), "a large number"), (_trajectory(["0"] * 10_001), "turns without end"),
        (_trajectory([ToolCall("step", {"action": [[[0]]]})]), "lists for a number"), (_trajectory(["x" * 20_000]), "a long action"),
        (_trajectory(["\u202e\x1b[31m"]), "what a terminal obeys"), (_trajectory(["NaN"]), "no number"),
    ):  # fmt: skip
        key.add("", of, NO, why, "hostile input", hostile=True, turns=turns)


def _added(key: Key) -> None:
    """Cases that mutants of the verifier showed to be missing."""
    mutant = "mutant of the verifier"
    way, walk = json.dumps(WAY), icy(SMALL)
    mine = ["desc", "is_slippery"]
    for given, why in (
        ({"FrozenLake-v1": mine, "": []}, "a game without a name, beside others"),
        ({"FrozenLake-v1": "desc"}, "text for a list of arguments"),
        ({"FrozenLake-v1": 7}, "a number for a list of arguments"),
    ):
        key.add(
            way, walk, UNKNOWN, why, mutant, reason="must name", settings={"environments": given}
        )  # fmt: skip
    allowed: Row = {"settings": {"environments": {f"{GAMES}Faulty-v0": ["fault"]}}}
    tired = {
        "environment": f"{GAMES}Faulty-v0", "kwargs": {"fault": "tires"}, "seeds": [0, 1, 2],
        "goal": {"least": 3},
    }  # fmt: skip
    key.add(
        "[[0, 1, 0], [1, 1, 1], [0, 0, 0]]", tired, YES, "no episode knows of another", mutant,
        **allowed,
    )  # fmt: skip
    levers = game(f"{GAMES}Levers-v0", 0, 1e19, kwargs={"bounded": False})
    key.add(
        "[[[1e20, 0], [0, 0]]]", levers, YES, "a large number, where there are no bounds", mutant,
        settings={"environments": {f"{GAMES}Levers-v0": ["bounded"]}},
    )  # fmt: skip
    allowed = {"settings": {"environments": {f"{GAMES}Levers-v0": ["bounded"]}}}
    key.add(
        "[[[1e9, 0.3], [0, 0]]]",
        {**levers, "goal": {"least": 1e9 + 0.3}}, YES, "a large return that was rounded", mutant,
        **allowed,
    )  # fmt: skip
    few = game(f"{GAMES}Levers-v0", 0, 1)
    key.add(
        "", few, NO, "a list for an observation with names", mutant,
        turns=_trajectory(["[[1, 1], [0, -0.5]]"], "[[1, 1], [0, -0.5]]"),
        settings={"environments": {f"{GAMES}Levers-v0": []}, "compare_observations": True},
    )  # fmt: skip


def _faults_of_tasks(key: Key) -> None:
    """Cases of tasks that no answer can be judged by, though each action is the game's."""
    way, reader = json.dumps(WAY), "convention"
    push = game("Pendulum-v1", 1, -100, max_steps=1)
    for g, why in (("9.8", "text"), (None, "nothing"), ({"is": 9.8}, "an object")):
        task = {**push, "kwargs": {"g": g}}
        key.add("[[0]]", task, UNKNOWN, f"{why} for gravity", reader, reason="kwargs")
    for rewards, why in (
        (["a", "b", "c"], "letters"), (["1", "1", "1"], "numbers as text"), ([[1], [0], [0]], "lists"),
    ):  # fmt: skip
        kwargs = {"desc": SMALL, "is_slippery": False, "reward_schedule": rewards}
        task = game("FrozenLake-v1", kwargs=kwargs)
        key.add(way, task, UNKNOWN, f"{why} for rewards", reader, reason="kwargs")
    maps = {"map_name": None, "is_slippery": False}
    for said, why in (
        ("[1, 1, 2, 1, 2, 2]", "the way of another"), ("[1]", "one step"), ("[]", "no step"),
        ("[2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1]", "along its border"),
    ):  # fmt: skip
        task = game("FrozenLake-v1", 3, kwargs=maps)
        told = f"a map drawn anew: {why}"
        key.add(said, task, UNKNOWN, told, "known hack", reason="not deterministic")
    four = ["SFFF", "FHFH", "FFFH", "HFFG"]
    named = game(
        "FrozenLake-v1", 3, kwargs={"desc": None, "map_name": "4x4", "is_slippery": False}
    )
    short = shortest(lake(four), (0, 0), 4, 1.0)
    key.pair(
        json.dumps(short), json.dumps([*short[:-1], 0]), named, "a map by its name alone", BFS
    )
    allowed: Row = {"settings": {"environments": {f"{GAMES}Faulty-v0": ["fault"]}}}
    for fault, reason, why in (
        ("raises", "kwargs", "a game that raises at the first action"),
        ("first", "not deterministic", "chance in the first observation"),
    ):
        task = game(f"{GAMES}Faulty-v0", 0, 3, kwargs={"fault": fault})
        key.add("[0, 1, 0]", task, UNKNOWN, why, LAW, reason=reason, **allowed)
    walk = icy(SMALL)
    largest = {**walk, "seed": 2**53 - 1}
    key.pair(way, json.dumps([*WAY[:-1], 0]), largest, "the largest seed", BFS)
    without = {name: value for name, value in walk.items() if name != "seed"}
    for seed in (2**53, 2**62):
        key.add(way, {**walk, "seed": seed}, UNKNOWN, "a seed too large", reader, reason="seed")
        several = {**without, "seeds": [seed]}
        key.add(f"[{way}]", several, UNKNOWN, "seeds too large", reader, reason="seeds")


if __name__ == "__main__":
    write({"game-replay": game_replay}, sys.argv[1:])
