"""OpenRLHF's own executor asks a reward server over HTTP."""
# mypy: ignore-errors
# OpenRLHF is not installed everywhere that types are checked.

import asyncio
from types import ModuleType
from typing import Any


def test_the_executor_gets_its_rewards_from_a_server(served: Any, agent: ModuleType) -> None:
    executor = agent.SingleTurnAgentExecutor(f"{served('--on-abstain', '-0.5')}/openrlhf")

    async def ask(answer: str) -> Any:
        query = [f"2 + 2 ={answer}<|im_end|>"]
        return await executor._fetch_rewards_via_http(query, ["2 + 2 ="], ["4"])

    async def ask_all() -> Any:
        return await asyncio.gather(*map(ask, ["4", "5", "?"]))

    told = [info for (info,) in asyncio.run(ask_all())]

    assert [[1.0], [0.0], [-0.5]] == [info["rewards"] for info in told]
    assert [[0.0], [0.0], [1.0]] == [info["extra_logs"]["unknown"] for info in told]
