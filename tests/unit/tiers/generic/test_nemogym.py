"""NeMo-Gym's `/verify` judges our candidates: what its server sees, and what its answers mean."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from services import Service

import verifier_ladder as vl
from verifier_ladder.server.app import create_app
from verifier_ladder.tiers.generic.nemogym import NemoGymVerifier

LONGEST = 60.0


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as started:
        yield started


def bridge(service: Service, **options: Any) -> NemoGymVerifier:
    url = service.url.removesuffix("/verify")
    return NemoGymVerifier(name="sums", version="1", url=url, timeout=LONGEST, **options)


def told(service: Service, answer: Any, status: int = 200) -> vl.Verdict:
    service.replies.append((status, {}, answer))
    (verdict,) = bridge(service, retries=0).judge([vl.Candidate("text", "4", {"prompt": "2 + 2"})])
    return verdict


def test_the_reward_is_the_score_and_its_components_are_scores(service: Service) -> None:
    verdict = told(
        service, {"reward": 0.5, "reward_components": {"the style": 1}, "mask_sample": False}
    )

    assert (verdict.outcome, verdict.score) == ("accept", 0.5)
    assert verdict.scores == {"the_style": 1.0}
    assert told(service, {"reward": 0}).score == 0.0


@pytest.mark.parametrize("parts", [{"a": None}, {"a": "1.0"}, {"a": []}, {"a": {}}, ["a"], "a"])
def test_a_component_that_is_no_number_leaves_the_reward_as_it_is(
    service: Service, parts: Any
) -> None:
    verdict = told(service, {"reward": 0.5, "reward_components": parts})

    assert (verdict.outcome, verdict.score, dict(verdict.scores)) == ("accept", 0.5, {})


def test_of_many_components_there_are_as_many_as_a_verdict_holds(service: Service) -> None:
    verdict = told(
        service, {"reward": 0.5, "reward_components": dict.fromkeys(map(str, range(9999)), 1)}
    )

    assert (verdict.score, len(verdict.scores)) == (0.5, 256)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"reward": 0.0, "mask_sample": True, "failure_reason": "the judge is away"}, "judge"),
        ({"reward": 0.0, "mask_sample": True, "failure_kind": "verifier_error"}, "verifier_error"),
        ({"reward": 0.0, "instance_config": {"mask_sample": True}}, "does not say why"),
        ({"mask_sample": False}, "without a reward"),
        ({"reward": None}, "without a reward"),
        ({"reward": True}, "without a reward"),
        ({"reward": "1.0"}, "without a reward"),
        ([1.0], "no object"),
        (b"oops", "not JSON"),
        (b'{"reward": NaN}', "not JSON"),
    ],
)
def test_what_is_masked_or_is_no_reward_is_unknown(
    service: Service, answer: Any, why: str
) -> None:
    verdict = told(service, answer)

    assert (verdict.outcome, verdict.score) == ("abstain", None)
    assert verdict.failed_at == "tool"
    assert why in verdict.reason


def test_an_error_of_the_server_is_unknown_and_a_busy_one_is_asked_again(service: Service) -> None:
    assert told(service, {"detail": "no field answer"}, 422).failed_at == "tool"
    service.replies += [(503, {"Retry-After": "0"}, {}), (200, {}, {"reward": 1.0})]
    (verdict,) = bridge(service).judge([vl.Candidate("text", "4")])
    assert verdict.score == 1.0


def sent(service: Service, candidate: vl.Candidate) -> dict[str, Any]:
    service.replies.append((200, {}, {"reward": 1.0}))
    bridge(service).judge([candidate])
    return service.asked[-1][1]


def test_the_task_is_the_row_and_the_completion_its_response(service: Service) -> None:
    task = {"prompt": "2 + 2", "answer": "4", "verifier_metadata": {"unit": "m"}}
    row = sent(service, vl.Candidate("text", "4", task))

    assert row["answer"] == "4"
    assert row["verifier_metadata"] == {"unit": "m"}
    assert row["responses_create_params"] == {"input": "2 + 2"}
    (item,) = row["response"]["output"]
    assert item["content"][0]["text"] == "4"

    whole = {"responses_create_params": {"input": "?", "temperature": 1.0}, "prompt": "!"}
    asked = sent(service, vl.Candidate("text", "4", whole))["responses_create_params"]
    assert asked == {"input": "?", "temperature": 1.0}


def test_calls_of_tools_are_items_of_their_own(service: Service) -> None:
    turns = (vl.Turn(vl.ToolCall("add", {"a": 2}), "4"), vl.Turn("so 4", ""))
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_0", "function": {"name": "add", "arguments": '{"a": 2}'}},
        ]},
        {"role": "tool", "tool_call_id": "call_0", "content": "4"},
        {"role": "assistant", "content": [{"type": "text", "text": "so 4"}]},
    ]  # fmt: skip
    by_turns = sent(service, vl.Candidate("text", "", turns=turns))["response"]["output"]
    chat = vl.Candidate("text", "[chat]", {"completion_messages": messages})
    by_messages = sent(service, chat)["response"]["output"]

    assert by_turns == by_messages
    assert [item["type"] for item in by_turns] == [
        "function_call", "function_call_output", "message",
    ]  # fmt: skip
    assert by_turns[0]["arguments"] == '{"a": 2}'
    assert by_turns[0]["call_id"] == by_turns[1]["call_id"]


@contextmanager
def served(campaign: vl.Campaign) -> Iterator[str]:
    """A reward server of our own, which speaks NeMo-Gym's language."""
    app = create_app(campaign, masks=True, on_abstain=0.0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(LONGEST)


def test_a_server_of_ours_judges_behind_the_bridge_and_its_masks_stay_unknown() -> None:
    def sums(completions: list[str], answer: list[str], **_: Any) -> list[float | None]:
        return [None if c == "?" else float(c == answer[0]) for c in completions]

    inner = vl.wrap(sums, name="sums", version="1", columns=["answer"], isolation="inline")
    outside: dict[str, Any] = {"version": "1", "isolation": "inline", "timeout": LONGEST}
    with (
        vl.Campaign.open("inner", ladder=vl.Ladder("inner", [inner])) as campaign,
        served(campaign) as url,
    ):
        outer = NemoGymVerifier(name="outer", url=url, **outside)
        with vl.Campaign.open("outer", ladder=vl.Ladder("outer", [outer])) as asking:
            given = [
                vl.Candidate("text", text, {"prompt": "2 + 2 =", "answer": "4"})
                for text in ("4", "5", "?")
            ]
            rewards = asking.score(given)

    assert [reward.value for reward in rewards] == [1.0, 0.0, None]
    assert rewards[2].failed_at == "tool"
    assert "masks the sample" in rewards[2].reason
