"""Environments as skyrl-gym makes and steps them."""
# mypy: ignore-errors
# skyrl-gym is not installed everywhere that types are checked.

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
from skyrl_gym.envs.gsm8k.env import GSM8kEnv
from skyrl_gym.envs.registration import registry

import verifier_ladder as vl
from verifier_ladder.learners.skyrl import environment
from verifier_ladder.tiers.simulation.processreward import ProcessReward
from verifier_ladder.tiers.simulation.stepservice import StepService

PROMPT = [{"role": "user", "content": "2 + 2 ="}]
EXTRAS = {"reward_spec": {"method": "rule", "ground_truth": "4"}, "data_source": "sums"}


def judge(completions: list[Any], ground_truth: list[str]) -> list[float]:
    """Misbehave as the completion says."""
    text = completions[0]
    if text == "raise":
        raise ValueError(text)
    if text == "crash":
        os._exit(9)
    if text == "hang":
        threading.Event().wait()
    return [math.nan if text == "nan" else float(text == ground_truth[0])]


class Calculator(BaseTextEnv):
    """Answers sums for two turns, and fails at what is no sum."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.max_turns = 2

    def init(self, prompt: Any) -> Any:
        self.turns = 0
        return super().init(prompt)

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        seen = [] if self.turns == self.max_turns else [message(str(sum_of(action)))]
        return BaseTextEnvStepOutput(
            observations=seen, reward=9.0, done=not seen, metadata={"turn": self.turns}
        )


def sum_of(text: str) -> int:
    return sum(int(part) for part in text.split("+"))


def message(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


Make = Callable[..., Any]


@pytest.fixture
def make() -> Iterator[Make]:
    """Register an environment as a user does, and make it as SkyRL does."""
    ids = []

    def build(verifier: Any = None, **options: Any) -> Any:
        verifier = verifier or vl.wrap(judge, columns=["ground_truth"], timeout=0.5)
        name = f"ladder-{len(ids)}"
        skyrl_gym.register(
            id=name, entry_point=environment(verifier, **{"on_abstain": -1.0, **options})
        )
        ids.append(name)
        return lambda: begun(skyrl_gym.make(name, env_config={}, extras=EXTRAS))

    yield build
    for name in ids:
        registry.pop(name)


def begun(env: Any) -> Any:
    assert PROMPT == env.init(PROMPT)[0]
    return env


def test_one_turn_is_rewarded_and_ends(make: Make) -> None:
    output = make()().step("4")

    assert 1.0 == output["reward"]
    assert output["done"]
    assert [] == output["observations"]


@pytest.mark.parametrize("action", ["raise", "crash", "hang", "nan"])
def test_what_is_unknown_gets_the_number_that_was_chosen(make: Make, action: str) -> None:
    env = make(on_abstain=-0.5)()
    output = env.step(action)

    assert -0.5 == output["reward"]
    assert output["metadata"]["unknown"]
    assert 1.0 == env.get_metrics()["unknown"]


def test_unicode_is_an_answer_like_any_other(make: Make) -> None:
    assert 0.0 == make()().step("日本 🧪 \ud800 \0")["reward"]


def test_nobody_chooses_what_unknown_means_but_the_user() -> None:
    check = vl.wrap(judge, columns=["ground_truth"])
    with pytest.raises(TypeError, match="on_abstain"):
        environment(check)
    with pytest.raises(vl.ConfigError, match="on_abstain"):
        environment(check, on_abstain=None)


def test_a_missing_column_is_named(make: Make) -> None:
    check = vl.wrap(lambda completions, target: [1.0], name="t", columns=["target"])  # noqa: ARG005

    with pytest.raises(vl.ConfigError, match="'target'"):
        make(check)().step("4")


def test_an_environment_of_skyrl_keeps_its_manners_and_gets_another_reward(make: Make) -> None:
    output = make(base=GSM8kEnv)().step("4")

    assert 1.0 == output["reward"]
    assert 0.0 == output["metadata"]["base_reward"]  # GSM8k wants "#### 4".


@vl.verifier(name="turns", version="1", isolation="inline", reads_turns=True)
def turns(candidate: vl.Candidate) -> float:
    """Tens for turns, ones for the length of the last observation."""
    return 10.0 * len(candidate.turns) + len("".join(t.observation for t in candidate.turns))


def test_only_the_last_of_several_turns_is_rewarded(make: Make) -> None:
    env = make(turns, base=Calculator)()
    first, last = env.step("12 + 1"), env.step("the end")

    assert [message("13")] == first["observations"]
    assert (0.0, False) == (first["reward"], first["done"])
    assert (22.0, True) == (last["reward"], last["done"])
    assert {"turn": 2, "base_reward": 9.0}.items() <= last["metadata"].items()


def test_every_turn_is_rewarded_where_it_is_asked_for(make: Make) -> None:
    env = make(turns, base=Calculator, each_turn=True)()

    assert [12.0, 22.0] == [env.step("12 + 1")["reward"], env.step("the end")["reward"]]


def test_a_base_environment_that_fails_ends_its_episode_only(make: Make) -> None:
    output = make(turns, base=Calculator)().step("no sum")

    assert output["done"]
    assert "ValueError" in output["metadata"]["failed"]


def test_a_new_episode_starts_without_the_last_ones_turns(make: Make) -> None:
    env = make(turns, base=Calculator, each_turn=True)()
    env.step("12 + 1")
    begun(env)

    assert 10.0 + len("1") == env.step("1")["reward"]


def test_environments_step_in_threads_at_once(make: Make, tmp_path: Path) -> None:
    """As SkyRL's generator steps them."""
    build = make(ledger=tmp_path / "ledger.db")
    actions = ["4", "5", "raise", "4"] * 4
    with ThreadPoolExecutor(8) as pool:
        rewards = list(pool.map(lambda action: build().step(action)["reward"], actions))

    assert [1.0, 0.0, -1.0, 1.0] * 4 == rewards


def test_an_episode_of_all_unknown_has_finite_metrics(make: Make) -> None:
    build = make()
    metrics = []
    for _ in range(4):
        env = build()
        env.step("raise")
        metrics.append(env.get_metrics())

    expected = {"unknown": 1.0, "pending": 0.0, "gaming_alarms": 0.0, "unanswered_alarms": 0.0}
    assert expected == BaseTextEnv.aggregate_metrics(metrics)


def test_episodes_that_end_at_different_times_are_compared(make: Make) -> None:
    check = vl.wrap(judge, version="1", columns=["ground_truth"], isolation="inline")
    with vl.Campaign.open("c", ladder=vl.Ladder("judge", [check]), run="r") as campaign:
        env = make(check, campaign=campaign, group_size=2)
        for text in ("4", "5", "4"):
            env().step(text)
        told = [[row.advantage for row in campaign.advantages("r", step)] for step in range(2)]

    assert [[1.0, -1.0], [None]] == told


def test_turns_have_no_number_that_could_be_said(make: Make) -> None:
    with pytest.raises(vl.ConfigError, match="each_turn"):
        make(each_turn=True, group_size=2)


class Sums(StepService):
    """A step model that knows sums: a step has the share of its claims that hold."""

    name, version = "sums", "1"

    def score_steps(self, prompts: Any, outputs: Any) -> list[list[float]]:
        assert len(prompts) == len(outputs)
        return [[float(eval(step.replace("=", "=="))) for step in steps] for steps in outputs]  # noqa: S307 - of this test


def test_each_turn_earns_what_a_step_model_says_of_it(make: Make) -> None:
    class Talk(Calculator):
        """Has two turns, whatever is said."""

        def step(self, action: str) -> BaseTextEnvStepOutput:
            return super().step("1" if self.turns == 0 else action)

    steps = ProcessReward(service=Sums(), split="turns", combine="mean")
    env = make(steps, base=Talk, each_turn=True)()
    first, second = env.step("1 + 1 = 3"), env.step("2 + 2 = 4")

    assert [0.0, 1.0] == [first["reward"], second["reward"]]
    assert [0.0, 1.0] == [turn["score"] for turn in second["metadata"]["turns"]]


def test_steps_of_a_single_turn_are_in_its_metadata(make: Make) -> None:
    steps = ProcessReward(service=Sums(), combine="mean")
    output = make(steps)().step("1 + 1 = 3\n2 + 2 = 4")

    assert 0.5 == output["reward"]
    assert [(0.0, [0, 9]), (1.0, [10, 19])] == [
        (turn["score"], turn["span"]) for turn in output["metadata"]["turns"]
    ]
