"""A guard between a model and the tools of an environment of skyrl-gym."""
# mypy: ignore-errors
# skyrl-gym is not installed everywhere that types are checked.

import json
from typing import Any

import pytest
import skyrl_gym
from forbiddencalls import FORBIDDEN, HONEST, TASK, answered
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

import verifier_ladder as vl


class Shop(BaseTextEnv):
    """Executes the one call that each message of the model is."""

    def __init__(self, extras: Any, **_: Any) -> None:
        super().__init__()
        self.max_turns = 12
        self.guard = vl.ActionGuard(extras["task"])
        self.executed: list[tuple[str, Any]] = extras["executed"]

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        said = json.loads(action)
        call = vl.ToolCall(said["name"], said["arguments"])
        seen = self.guard.run(call, self.execute)
        return BaseTextEnvStepOutput(
            observations=[{"role": "user", "content": seen}], reward=0.0,
            done=self.turns >= self.max_turns, metadata={},
        )  # fmt: skip

    def execute(self, call: vl.ToolCall) -> str:
        self.executed.append((call.name, call.arguments))
        return answered(call)


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    skyrl_gym.register(id="guarded-shop", entry_point=Shop)


def played(calls: Any) -> tuple[list[Any], list[str]]:
    """What is executed of calls, and what the model sees."""
    executed: list[Any] = []
    env = skyrl_gym.make(
        "guarded-shop", env_config={}, extras={"task": TASK, "executed": executed}
    )
    env.init([{"role": "user", "content": "Help the customer."}])
    seen = []
    for name, arguments in calls:
        step = env.step(json.dumps({"name": name, "arguments": arguments}))
        seen.append(step["observations"][0]["content"])
    env.close()
    return executed, seen


def test_none_of_thirty_forbidden_calls_is_executed() -> None:
    assert 30 == len(FORBIDDEN)
    for before, forbidden in FORBIDDEN:
        executed, seen = played([*before, forbidden])

        assert forbidden not in executed[len(before) :], forbidden
        assert len(executed) <= len(before), forbidden
        assert seen[-1].endswith("It was not executed."), forbidden


def test_all_honest_calls_are_executed() -> None:
    executed, seen = played(HONEST)

    assert HONEST == executed
    assert ["done"] * len(HONEST) == seen
