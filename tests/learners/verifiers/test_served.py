"""The NeMo-Gym client inside verifiers asks a reward server, as it would ask NeMo-Gym's."""
# mypy: ignore-errors
# verifiers is not installed everywhere that types are checked.

import asyncio
from typing import Any

import httpx
import pytest
import verifiers.v1 as vf
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.tasksets.nemo_gym.taskset import NeMoGymData, NeMoGymTask, NeMoGymTaskConfig
from verifiers.v1.tasksets.nemo_gym.toolset import NeMoGymState

ROW = {"label": "4", "responses_create_params": {"input": [{"role": "user", "content": "2+2"}]}}


async def score(url: str, answer: str) -> Any:
    """The reward of an episode, and what the client notes of it."""
    task = NeMoGymTask(
        NeMoGymData(prompt="2+2", row=ROW, idx=0), NeMoGymTaskConfig(resources_url=url)
    )
    record = vf.TraceTask(type="NeMoGymTask", data=task.data, key="k")
    trace = vf.Trace(task=record, agent=vf.AgentInfo(config=AgentConfig()), state=NeMoGymState())
    said = [vf.UserMessage(content="2+2"), vf.AssistantMessage(content=answer)]
    trace.nodes = [
        vf.MessageNode(parent=i - 1 if i else None, message=message, sampled=bool(i))
        for i, message in enumerate(said)
    ]
    await task.setup(trace, None)
    return await task.nemo_gym(trace), trace.info["nemo_gym"]


def test_an_episode_has_the_servers_reward(served: Any) -> None:
    url = served()

    assert [1.0, 0.0] == [asyncio.run(score(url, answer))[0] for answer in ("4", "5")]
    with pytest.raises(httpx.HTTPStatusError, match="503"):
        asyncio.run(score(url, "?"))


def test_an_unknown_reward_is_masked_if_so_asked(served: Any) -> None:
    reward, info = asyncio.run(score(served("--on-abstain", "0.25", "--mask"), "?"))

    assert (0.25, True, True) == (
        reward,
        info["mask_sample"],
        info["instance_config"]["mask_sample"],
    )
