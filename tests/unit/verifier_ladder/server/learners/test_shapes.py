"""Every learner is answered in its own shape, and an unknown reward never becomes 0 by itself."""

import json
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.server import gateway as gateway_of_areal
from verifier_ladder.server.learners.nemogym import completion_of


@pytest.fixture
def campaign() -> Any:
    from collections.abc import Sequence

    def judge(completions: Sequence[Any], label: Sequence[str]) -> list[float | None]:
        if completions[0] == "!":
            raise RuntimeError("it fell over")
        return [
            None if c == "?" else float(c == x) for c, x in zip(completions, label, strict=True)
        ]

    check = vl.wrap(judge, version="1", columns=["label"], isolation="inline")
    with vl.Campaign.open("served", ladder=vl.Ladder("judge", [check])) as opened:
        yield opened


def openrlhf(*answers: str) -> dict[str, Any]:
    return {
        "query": [f"2 + 2 ={answer}</s>" for answer in answers],
        "prompts": ["2 + 2 ="] * len(answers), "labels": ["4"] * len(answers),
    }  # fmt: skip


def episode(answer: str, **more: Any) -> dict[str, Any]:
    said = {"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": answer}]}  # fmt: skip
    params = {"input": [{"role": "user", "content": "2 + 2 ="}]}
    return {
        "label": "4",
        "responses_create_params": params,
        "response": {"output": [said]},
        **more,
    }


@pytest.mark.parametrize(
    ("path", "body"),
    [("/openrlhf", openrlhf("4")), ("/slime", {"prompt": "p", "response": "4", "label": "4"})],
)
def test_a_learner_that_needs_a_number_is_refused_until_there_is_one(
    serve: Any, path: str, body: Any
) -> None:
    answer = serve()("POST", path, json=body)

    assert 501 == answer.status_code
    assert "--on-abstain" in answer.json()["detail"]


def test_openrlhf_gets_numbers_in_order_and_is_told_which_are_none(serve: Any) -> None:
    ask = serve(on_abstain=-0.5)
    body = openrlhf("4", "?", "5", "!")
    body["query"][2] = "the prompt is not here"
    answer = ask("POST", "/openrlhf", json=body).json()

    assert [1.0, -0.5, -0.5, -0.5] == answer["rewards"] == answer["scores"]
    none = {name: [0] * 4 for name in ("pending", "gaming_alarms", "unanswered_alarms")}
    assert {"unknown": [0, 1, 1, 1], **none} == answer["extra_logs"]
    assert [1.0] == ask("POST", "/openrlhf", json=openrlhf("4")).json()["rewards"]
    assert [] == ask("POST", "/openrlhf", json=openrlhf()).json()["rewards"]


def test_openrlhfs_lists_must_have_one_length(serve: Any) -> None:
    answer = serve(on_abstain=0.5)("POST", "/openrlhf", json={**openrlhf("4", "5"), "labels": []})

    assert 422 == answer.status_code
    assert "labels has 0 entries for 2 queries" in answer.json()["detail"]


@pytest.mark.parametrize(("response", "told"), [
    ("4", 1.0), ("4<|im_end|>", 1.0), ("5", 0.0), ("?", 0.5), ("!", 0.5),
])  # fmt: skip
def test_slime_gets_a_bare_number(serve: Any, response: str, told: float) -> None:
    body = {"prompt": "2 + 2 =", "response": response, "label": "4", "more": {"x": 1}}
    answer = serve(on_abstain=0.5)("POST", "/slime", json=body)

    assert (200, told) == (answer.status_code, answer.json())


def test_rewards_are_clipped_and_unknown_ones_are_not(serve: Any) -> None:
    ask = serve(on_abstain=-7.0, clip=(0.25, 0.75))
    told = [
        ask("POST", "/slime", json={"response": response, "label": "4"}).json()
        for response in ("4", "5", "?")
    ]

    assert [0.75, 0.25, -7.0] == told


def test_nemo_gym_gets_its_row_back_with_the_reward(serve: Any) -> None:
    ask = serve()
    row = episode("4", agent_ref={"name": "a"}, _ng_rollout_id="r1")
    assert {} == ask("POST", "/seed_session", json=row).json()
    answer = ask("POST", "/verify", json=row).json()

    assert row.items() <= answer.items()
    assert {
        "reward": 1.0, "mask_sample": False, "failure_kind": None, "failure_reason": None,
        "reward_components": {"judge": 1.0}, "instance_config": {"mask_sample": False},
    }.items() <= answer.items()  # fmt: skip


def test_nemo_gyms_sessions_are_named_as_it_asks(serve: Any) -> None:
    ask = serve()
    seed = {"resources_session_id": "s1", "episode_id": "e", "task_id": "t", "task_data": {}}

    for path in ("/seed_session", "/close_session"):
        assert {"resources_session_id": "s1"} == ask("POST", path, json=seed).json()


@pytest.mark.parametrize(
    ("text", "kind"), [("?", "verifier_ladder:abstain"), ("!", "verifier_error")]
)
def test_nemo_gym_masks_what_is_unknown_in_both_places_if_so_asked(
    serve: Any, text: str, kind: str
) -> None:
    row = episode(text, instance_config={"seed": 3})
    refused = serve(on_abstain=0.25)("POST", "/verify", json=row)
    answer = serve(on_abstain=0.25, masks=True)("POST", "/verify", json=row).json()

    assert 503 == refused.status_code
    assert (0.25, True, kind) == (answer["reward"], answer["mask_sample"], answer["failure_kind"])
    assert {"seed": 3, "mask_sample": True} == answer["instance_config"]
    assert answer["failure_reason"]


def test_a_mask_needs_a_number(serve: Any) -> None:
    with pytest.raises(vl.ConfigError, match="on_abstain"):
        serve(masks=True)


def test_the_task_may_lie_in_the_verifiers_metadata(serve: Any) -> None:
    row = episode("4")
    row["verifier_metadata"] = {"label": row.pop("label")}

    assert 1.0 == serve()("POST", "/verify", json=row).json()["reward"]


def test_a_column_that_is_missing_is_named(serve: Any) -> None:
    row = episode("4")
    del row["label"]
    answer = serve()("POST", "/verify", json=row)

    assert 422 == answer.status_code
    assert "'label'" in answer.json()["detail"]


def test_calls_of_tools_become_turns() -> None:
    items = [
        {"type": "reasoning", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I"}],
        },
        {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "1"},
        {"type": "function_call_output", "call_id": "1", "output": "4"},
        {"type": "function_call", "name": "stop", "arguments": "", "call_id": "2"},
    ]

    assert [
        {"role": "assistant", "content": "I", "tool_calls": [{"name": "add", "arguments": "{}"}]},
        {"role": "tool", "content": "4"},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "stop", "arguments": ""}]},
    ] == completion_of(items)


@pytest.mark.parametrize("output", [None, [], "text", [1, None], {}, [{"type": "reasoning"}]])
def test_what_holds_no_answer_is_an_empty_one(output: Any) -> None:
    assert "" == completion_of(output)


class Gateway(BaseHTTPRequestHandler):
    """AReaL's gateway, which remembers what it is told."""

    told: list[Any]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.told.append((self.path, self.headers["Authorization"], body))
        self.send_response(200 if body["interaction_id"] != "gone" else 410)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"message": "success"}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def gateway() -> Any:
    Gateway.told = []
    with HTTPServer(("127.0.0.1", 0), Gateway) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", Gateway.told
        server.shutdown()


def areal(completions: str, interaction: str = "i1") -> dict[str, Any]:
    return {"interaction_id": interaction, "prompt": "p", "completions": completions, "label": "4"}


def test_areal_is_told_the_reward_of_a_completion(serve: Any, gateway: Any) -> None:
    url, told = gateway
    ask = serve(areal_gateway=url)
    headers = {"Authorization": "Bearer session-key"}
    answers = [
        ask("POST", "/rl/set_reward", json=areal(text, name), headers=headers)
        for text, name in (("4", "i1"), ("5", "gone"), ("?", "i2"))
    ]
    ask.runner.run(ask.app.state.gateway.close())

    assert [200, 410, 503] == [answer.status_code for answer in answers]
    assert [
        ("/rl/set_reward", "Bearer session-key", {"interaction_id": "i1", "reward": 1.0}),
        ("/rl/set_reward", "Bearer session-key", {"interaction_id": "gone", "reward": 0.0}),
    ] == told


def test_areal_calls_that_make_no_sense_are_refused(serve: Any) -> None:
    ask = serve(areal_gateway="http://127.0.0.1:9")
    with_reward = ask("POST", "/rl/set_reward", json={**areal("4"), "reward": 1.0})
    unreachable = ask("POST", "/rl/set_reward", json=areal("4"))
    ask.runner.run(ask.app.state.gateway.close())
    without = serve()("POST", "/rl/set_reward", json=areal("4"))

    assert [422, 502, 501] == [a.status_code for a in (with_reward, unreachable, without)]


class Lengthy(BaseHTTPRequestHandler):
    """A gateway that says more than anybody reads, all at once or byte by byte."""

    def do_POST(self) -> None:
        is_slow = b"slow" in self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):  # Whoever asked may have gone.
            for _ in range(200):
                Event().wait(0.01 if is_slow else 0)
                self.wfile.write(b"x" if is_slow else b"x" * 65_536)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def lengthy() -> Any:
    with ThreadingHTTPServer(("127.0.0.1", 0), Lengthy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("pace", ["fast", "slow"])
def test_an_answer_of_areal_has_an_end_in_bytes_and_in_time(
    serve: Any, lengthy: str, monkeypatch: pytest.MonkeyPatch, pace: str
) -> None:
    seconds, said = {"fast": (300, "more than 65,536 bytes"), "slow": (0.5, "Timeout")}[pace]
    monkeypatch.setattr(gateway_of_areal, "LONGEST_ANSWER", 65_536, raising=False)
    monkeypatch.setattr(gateway_of_areal, "_PATIENCE", seconds)
    ask = serve(areal_gateway=lengthy)

    answer = ask("POST", "/rl/set_reward", json=areal("4", pace))
    ask.runner.run(ask.app.state.gateway.close())

    assert 502 == answer.status_code
    assert said in answer.json()["detail"]


def test_single_samples_of_many_callers_are_scored_together(serve: Any, campaign: Any) -> None:
    ask = serve(on_abstain=0.5)
    ask("POST", "/slime", json={"response": "4", "label": "4"})
    before = campaign.cursor
    calls = [("POST", "/slime", {"json": {"response": f"{i}", "label": "4"}}) for i in range(50)]
    told = [answer.json() for answer in ask.together(*calls)]

    assert [float(i == 4) for i in range(50)] == told
    assert campaign.cursor - before < 10
