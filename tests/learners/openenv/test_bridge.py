"""Environments and rubrics of OpenEnv are judged by as the library itself runs them."""
# mypy: ignore-errors
# openenv-core is not installed everywhere that types are checked.

import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle
import pytest
import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from openenv.core.rubrics import Rubric, TrajectoryRubric, WeightedSum

import verifier_ladder as vl
from verifier_ladder.testing.environment import EnvironmentTestCase
from verifier_ladder.tiers.generic.openenv import (
    OpenEnvEnvironment,
    OpenEnvRubricVerifier,
    OpenEnvVerifier,
)

cloudpickle.register_pickle_by_value(sys.modules[__name__])
LONGEST = 120.0


class Move(Action):
    by: int
    word: str = ""


class Place(Observation):
    at: int


class Line(Environment):
    """A line from the seed to 10; each step costs 0.1, and the end gives 1."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state, self._at = State(), 0

    def reset(self, seed: int | None = None, **_: Any) -> Place:
        self._at = (seed or 0) % 10
        return Place(at=self._at)

    def step(self, action: Move, **_: Any) -> Place:
        if action.word == "break":
            raise RuntimeError("the line is broken")
        self._at += action.by
        is_over = self._at >= 10
        reward = None if action.word == "none" else (1.0 if is_over else -0.1)
        return Place(at=self._at, done=is_over, reward=reward)

    @property
    def state(self) -> State:
        return self._state


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = create_fastapi_app(Line, Move, Place, max_concurrent_envs=8)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(LONGEST)


class TestLine(EnvironmentTestCase):
    hostile = ("", "\0", "NaN", "[]", '{"by": 1, "by": 2}', '{"by": "x"}', '{"far": 1}', "\ud800")

    @pytest.fixture
    def make(self, url: str) -> Callable[[], vl.Environment]:
        return lambda: OpenEnvEnvironment(url)

    @pytest.fixture
    def actions(self) -> Sequence[Any]:
        return ['{"by": -1}', vl.ToolCall("move", {"by": -2}), '{"by": 1, "word": "on"}']


def verdict(url: str, *actions: Any, **options: Any) -> vl.Verdict:
    turns = tuple(vl.Turn(action, "", reward=9.0) for action in actions)
    check = OpenEnvVerifier(name="line", version="1", url=url, **options)
    return check.judge([vl.Candidate("text", "", {"seed": 7}, turns)])[0]


def test_the_score_is_what_the_environment_gives(url: str) -> None:
    said = verdict(url, '{"by": 1}', vl.ToolCall("move", {"by": 2}), vl.Terminate("there"))

    assert (said.outcome, said.score) == ("accept", pytest.approx(0.9))
    assert [turn.score for turn in said.turns] == [-0.1, 1.0]


def test_what_is_no_action_fails_and_the_episode_goes_on(url: str) -> None:
    said = verdict(url, '{"by": "far"}', "I walk.", '{"by": 3}')

    assert (said.score, [turn.score for turn in said.turns]) == (1.0, [None, None, 1.0])
    assert "no action of the environment" in said.turns[0].feedback


def test_an_episode_must_be_over_and_nothing_follow_it(url: str) -> None:
    assert "not over" in verdict(url, '{"by": 1}').reason
    assert verdict(url, '{"by": 1}', may_stop=True).score == pytest.approx(-0.1)
    assert "more actions follow" in verdict(url, '{"by": 3}', '{"by": 1}').reason


def test_failures_of_the_environment_are_unknown(url: str) -> None:
    broken = verdict(url, '{"by": 1, "word": "break"}')
    silent = verdict(url, '{"by": 3, "word": "none"}')
    away = verdict("http://127.0.0.1:9", '{"by": 3}', timeout=5.0)

    assert [v.outcome for v in (broken, silent, away)] == ["abstain"] * 3
    assert [v.failed_at for v in (broken, silent, away)] == ["tool", None, "tool"]


def test_a_text_may_be_a_field_of_the_action(url: str) -> None:
    with OpenEnvEnvironment(url, text_field="word") as line:
        line.reset(0)
        assert line.step("by itself").failed  # For an action needs `by` as well.


class Short(Rubric):
    def forward(self, action: Any, observation: Any) -> float:
        del observation
        if action == "raise":
            raise ValueError(action)
        return float("nan") if action == "nan" else float(len(action) < 5)


class Polite(Rubric):
    async def forward(self, action: Any, observation: Any) -> float:
        del observation
        return float("please" in action)


class Won(TrajectoryRubric):
    def score_trajectory(self, trajectory: Any) -> float:
        return float(len(trajectory))

    def compute_step_rewards(self) -> list[float]:
        return [self.score_trajectory(self._trajectory)] * len(self._trajectory)


def rewarded(make: Callable[[], Rubric], *texts: str, **options: Any) -> list[vl.Verdict]:
    def steps(candidate: vl.Candidate) -> list[tuple[str, Any]]:
        words = str(candidate.content).split("|")
        return [(word, Place(at=n, done=n == len(words) - 1)) for n, word in enumerate(words)]

    check = OpenEnvRubricVerifier(make, steps=steps, name="r", version="1", **options)
    check.setup()
    return list(check.judge([vl.Candidate("text", text) for text in texts]))


def test_a_rubric_says_what_it_says_to_the_library() -> None:
    both = rewarded(lambda: WeightedSum([Short(), Short()], [0.25, 0.75]), "yes", "yes indeed")

    assert [v.score for v in both] == [1.0, 0.0]
    assert [*both[0].scores.values()] == [1.0, 1.0]
    assert [v.score for v in rewarded(Polite, "please", "no")] == [1.0, 0.0]


def test_a_rubric_of_trajectories_gives_its_score_at_the_end_and_forgets() -> None:
    assert [v.score for v in rewarded(Won, "a|b|c", "a", "a|b")] == [3.0, 1.0, 2.0]


def test_what_a_rubric_raises_is_unknown() -> None:
    assert [v.outcome for v in rewarded(Short, "raise", "nan", "yes")] == [
        "abstain", "abstain", "accept",
    ]  # fmt: skip


def test_a_ladder_asks_the_server_from_its_workers(url: str) -> None:
    check = OpenEnvVerifier(name="line", version="1", url=url, timeout=LONGEST)
    with vl.Campaign.open("c", ladder=vl.Ladder("line", [check]), workers=1) as campaign:
        given = [
            vl.Candidate("text", text, {"seed": 9}) for text in ('{"by": 1}', '{"by": 0}', "walk")
        ]
        rewards = campaign.score(given)

    assert [reward.value for reward in rewards] == [1.0, 0.0, 0.0]
