"""Games of Gymnasium are environments: seeded, saved by their actions, and never in error."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from verifier_ladder import ConfigError, Environment, Terminate, ToolCall, ToolError
from verifier_ladder.candidate import Action
from verifier_ladder.testing import games
from verifier_ladder.testing.environment import EnvironmentTestCase
from verifier_ladder.tiers.gymnasiumenvironment import GymnasiumEnvironment

NAMES = ["left", "down", "right", "up"]


class TestLake(EnvironmentTestCase):
    @pytest.fixture
    def make(self) -> Callable[[], Environment]:
        kwargs = {"desc": ["SFF", "FFF", "FFG"]}  # A slippery one, from which nobody falls.
        return lambda: GymnasiumEnvironment("FrozenLake-v1", kwargs=kwargs, action_names=NAMES)

    @pytest.fixture
    def actions(self) -> Sequence[Action]:
        return ["right", "1", ToolCall("go", {"action": "up"}), ToolCall("go", {"action": 0})]


class TestPendulum(EnvironmentTestCase):
    @pytest.fixture
    def make(self) -> Callable[[], Environment]:
        return lambda: GymnasiumEnvironment("Pendulum-v1")

    @pytest.fixture
    def actions(self) -> Sequence[Action]:
        return ["[0.7]", "[-1.3e-2]", ToolCall("push", {"action": [2]})]


class TestSafe(EnvironmentTestCase):
    @pytest.fixture
    def make(self) -> Callable[[], Environment]:
        return lambda: GymnasiumEnvironment(f"{games.__name__}:Safe-v0")

    @pytest.fixture
    def actions(self) -> Sequence[Action]:
        return ["[0, 0]", "[2, 0]", "[2, 3]"]


@pytest.fixture
def lake() -> Any:
    kwargs = {"map_name": "4x4", "is_slippery": False}
    with GymnasiumEnvironment("FrozenLake-v1", kwargs=kwargs, action_names=NAMES) as made:
        made.reset()
        yield made


@pytest.mark.parametrize(
    "action",
    [
        "4", "-1", "1.0", "true", "null", '"1"', "[1]", "Right", "", "1 1", "NaN", "9" * 400,
        "1" * 200_000, Terminate("done"), ToolCall("go"), ToolCall("go", {"action": True}),
        ToolCall("go", {"action": 1, "and": 2}), ToolCall("go", "{"), ToolCall("go", "[1]"),
        ToolCall("go", {"action": float("nan")}), ToolCall("go", {"action": np.int64(1)}),
    ],
    ids=lambda action: repr(action)[:40],
)  # fmt: skip
def test_what_is_no_action_fails_and_changes_nothing(lake: Any, action: Action) -> None:
    before = lake.snapshot()
    step = lake.step(action)

    assert step.failed
    assert step.reward is None
    assert "no action of the game" in step.observation
    assert before == lake.snapshot()


def test_a_step_says_what_the_game_gives() -> None:
    kwargs = {"desc": ["SG"], "is_slippery": False}
    with GymnasiumEnvironment("FrozenLake-v1", kwargs=kwargs) as game:
        assert "0" == game.reset()
        step = game.step("2")
    assert ("1", 1.0, True, False, False) == (
        step.observation, step.reward, step.terminated, step.truncated, step.failed,
    )  # fmt: skip


def test_an_episode_is_cut_where_it_is_said() -> None:
    with GymnasiumEnvironment("CartPole-v1", max_steps=2) as game:
        game.reset(3)
        assert [False, True] == [game.step("1").truncated for _ in range(2)]


def test_each_episode_is_played_in_an_environment_of_its_own() -> None:
    maps = {"map_name": None, "is_slippery": False}
    drawn = set()
    with GymnasiumEnvironment("FrozenLake-v1", kwargs=maps) as game:
        for _ in range(5):
            game.reset(0)
            drawn.add(game._game.unwrapped.desc.tobytes())
    assert len(drawn) == 5


@pytest.mark.parametrize(
    ("name", "kwargs", "names", "error"),
    [
        ("Doom-v0", {}, (), ToolError), ("nowhere.at.all:Doom-v0", {}, (), ToolError),
        ("FrozenLake-v1", {"map_name": "9x9"}, (), ConfigError),
        ("FrozenLake-v1", {"size": 4}, (), ConfigError),
        ("FrozenLake-v1", {}, ["a", "b"], ConfigError), ("Pendulum-v1", {}, ["a"], ConfigError),
        ("FrozenLake-v1", {}, ["a", "a", "b", "c"], ConfigError),
        (f"{games.__name__}:Faulty-v0", {"fault": "space"}, (), ConfigError),
    ],
)  # fmt: skip
def test_what_can_not_be_played_is_refused(
    name: str, kwargs: dict[str, Any], names: Sequence[str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        GymnasiumEnvironment(name, kwargs=kwargs, action_names=names)


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError("bad"), ConfigError), (AssertionError(), ConfigError),
        (ImportError("no part"), ToolError), (MemoryError(), MemoryError),
        (gymnasium.error.DependencyNotInstalled("no part"), ToolError),
    ],
    ids=repr,
)  # fmt: skip
def test_what_a_game_raises_is_the_fault_of_what_it_is_made_with(
    raised: Exception, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    with GymnasiumEnvironment("CartPole-v1") as game:
        game.reset()
        monkeypatch.setattr(game._game, "step", fail)
        with pytest.raises(error):
            game.step("0")
    with GymnasiumEnvironment("CartPole-v1") as game:
        monkeypatch.setattr(game._game, "reset", fail)
        with pytest.raises(error):
            game.reset()


class Shown(gymnasium.Env[Any, Any]):
    """Shows what it is told to."""

    action_space = spaces.Discrete(2)

    def __init__(self, seen: Any) -> None:
        self._seen = seen

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return self._seen, {}


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (np.float32(0.5), "0.5"), (np.arange(6).reshape(2, 3), "[[0, 1, 2], [3, 4, 5]]"),
        ({"a": (1, "x"), 2: [None, True]}, '{"a": [1, "x"], "2": [null, true]}'),
        (np.array([np.nan]), "[NaN]"),
    ],
)  # fmt: skip
def test_observations_are_told_as_json(seen: Any, told: str) -> None:
    gymnasium.registry.pop("Shown-v0", None)
    gymnasium.register("Shown-v0", f"{__name__}:Shown")
    with GymnasiumEnvironment("Shown-v0", kwargs={"seen": seen}) as game:
        assert told == game.reset()


def test_of_a_large_observation_a_digest_is_told() -> None:
    gymnasium.registry.pop("Shown-v0", None)
    gymnasium.register("Shown-v0", f"{__name__}:Shown")
    told = []
    for image in (np.zeros((100, 30), np.uint8), np.ones((100, 30), np.uint8)):
        for each in (image, np.asfortranarray(image)):
            with GymnasiumEnvironment("Shown-v0", kwargs={"seen": each}) as game:
                told.append(json.loads(game.reset()))
    assert [100, 30] == told[0]["shape"]
    assert told[0] == told[1] != told[2] == told[3]


def test_an_observation_without_a_form_in_json_is_refused() -> None:
    gymnasium.registry.pop("Shown-v0", None)
    gymnasium.register("Shown-v0", f"{__name__}:Shown")
    with (
        GymnasiumEnvironment("Shown-v0", kwargs={"seen": object()}) as game,
        pytest.raises(ConfigError, match="no form in JSON"),
    ):
        game.reset()
