"""Resource servers as NeMo-Gym ships them judge our candidates over HTTP."""
# mypy: ignore-errors
# nemo-gym is not installed everywhere that types are checked, and asks for Python 3.12.

import json
import socket
import threading
from collections.abc import Iterator
from inspect import getfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from resources_servers.example_tool_call_multireward.app import (
    ToolCallMultiRewardResourcesServer,
    ToolCallMultiRewardResourcesServerConfig,
)
from resources_servers.mcqa.app import (
    MCQAResourcesServer,
    MCQAResourcesServerConfig,
)

import verifier_ladder as vl
from verifier_ladder.tiers.generic.nemogym import NemoGymVerifier

LONGEST = 120.0


class MaskedResponse(BaseVerifyResponse):
    mask_sample: bool = False


class Masking(SimpleResourcesServer):
    """Masks what it can't judge, with a reward of 0, as the library asks for."""

    async def verify(self, body: BaseVerifyRequest) -> MaskedResponse:
        text = body.response.output[0].content[0].text
        is_away = text == "?"
        return MaskedResponse(
            **body.model_dump(), reward=0.0 if is_away else 1.0, mask_sample=is_away
        )


def app(server: type, config: type) -> Any:
    told = config(host="127.0.0.1", port=1, entrypoint="", name="served")
    # What it would ask other servers with: these ask none.
    return server.model_construct(config=told, server_client=SimpleNamespace()).setup_webserver()


@pytest.fixture
def served() -> Iterator[Any]:
    """`served(server, config)`: the address of a resource server."""
    running: list[tuple[uvicorn.Server, threading.Thread, socket.socket]] = []

    def start(server: type, config: type = BaseResourcesServerConfig) -> str:
        web = uvicorn.Server(uvicorn.Config(app(server, config), log_level="error"))
        listening = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=web.run, args=([listening],), daemon=True)
        thread.start()
        running.append((web, thread, listening))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for web, thread, listening in running:
        web.should_exit = True
        thread.join(LONGEST)
        listening.close()


def scored(url: str, *candidates: vl.Candidate) -> list[vl.Reward]:
    judged = NemoGymVerifier(
        name="gym", version="1", url=url, isolation="inline", timeout=LONGEST, retries=0
    )
    with vl.Campaign.open("c", ladder=vl.Ladder("gym", [judged])) as campaign:
        return campaign.score(list(candidates))


def test_multiple_choice_is_judged_by_its_server(served: Any) -> None:
    task = {
        "prompt": "2 + 2 =", "options": [{"A": "3"}, {"B": "4"}], "expected_answer": "B",
    }  # fmt: skip
    texts = ["It is \\boxed{B}", "It is \\boxed{A}", "I don't know 日本 🧪"]
    rewards = scored(
        served(MCQAResourcesServer, MCQAResourcesServerConfig),
        *(vl.Candidate("text", text, task) for text in texts),
    )

    assert [r.value for r in rewards] == [1.0, 0.0, 0.0]


def test_a_call_of_a_tool_is_judged_by_its_parts(served: Any) -> None:
    folder = Path(getfile(ToolCallMultiRewardResourcesServer)).parent
    row = json.loads((folder / "data/example.jsonl").read_text().splitlines()[0])
    call = vl.ToolCall("get_weather", row["expected_call"]["arguments"])
    other = vl.ToolCall("get_weather", {"town": "Rome"})
    rewards = scored(
        served(ToolCallMultiRewardResourcesServer, ToolCallMultiRewardResourcesServerConfig),
        vl.Candidate("text", "", row, (vl.Turn(call),)),
        vl.Candidate("text", "", row, (vl.Turn(other),)),
        vl.Candidate("text", "It is warm.", row),
    )

    assert [r.value for r in rewards] == [3.0, 1.0, 0.0]
    assert rewards[1].scores == {"correctness": 0.0, "schema_valid": 0.0, "format": 1.0}


def test_what_a_server_masks_is_unknown(served: Any) -> None:
    rewards = scored(served(Masking), vl.Candidate("text", "4"), vl.Candidate("text", "?"))

    assert [r.value for r in rewards] == [1.0, None]
    assert rewards[1].failed_at == "tool"


def test_a_row_that_its_server_refuses_is_unknown(served: Any) -> None:
    bad = {"prompt": "?", "options": "A or B"}
    (reward,) = scored(
        served(MCQAResourcesServer, MCQAResourcesServerConfig), vl.Candidate("text", "A", bad)
    )
    assert reward.value is None
    assert "status 422" in reward.reason
