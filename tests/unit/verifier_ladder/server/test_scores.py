"""`POST /v1/score`: what comes in is scored as the campaign does, and what is wrong is named."""

import json
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.server.messages import RewardMessage, ScoreResponse


def test_rewards_are_the_campaigns_in_order(serve: Any) -> None:
    answer = serve().score(["a", "?", "abc"])

    assert [1.0, None, 3.0] == [reward["value"] for reward in answer["rewards"]]
    assert [0, 1, 2] == [reward["position"] for reward in answer["rewards"]]
    assert ["fast", None, "fast"] == [reward["tier"] for reward in answer["rewards"]]
    assert {"judge": 3.0} == answer["rewards"][2]["components"]


def test_a_failure_is_unknown_and_says_where_it_failed(serve: Any) -> None:
    (reward,) = serve().score(["!"])["rewards"]

    assert (None, "verifier") == (reward["value"], reward["failed_at"])
    assert "the judge fell over" in reward["reason"]


def test_alarms_of_audits_come_with_the_rewards(
    serve: Any, campaign: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = serve()
    assert {"gaming_alarms": 0, "unanswered_alarms": 0} == ask.score(["a"])["alarms"]
    monkeypatch.setattr(type(campaign), "gaming_alarms", property(lambda _: 2))

    assert 2 == ask.score(["b"])["alarms"]["gaming_alarms"]


def test_the_answer_is_what_its_description_says(serve: Any) -> None:
    answer = serve().score(["a", {"content": "b", "group": "g", "position": 9}])

    described = ScoreResponse.model_validate(answer)
    assert [0, 9] == [reward.position for reward in described.rewards]
    assert set(RewardMessage.model_fields) == set(answer["rewards"][0])


def test_samples_are_recorded_with_all_that_is_said_of_them(
    serve: Any, campaign: vl.Campaign
) -> None:
    sample = {
        "content": "YWI=", "encoding": "base64", "task": {"label": "x"}, "group": "own",
        "group_size": 4, "learner_version": "v7", "weight": 0.5, "position": 3,
        "turns": [{"action": "look", "observation": "seen"}],
    }  # fmt: skip
    answer = serve().score([sample, "plain"], run="other", step=5, groups=["first", "second"])

    assert ("other", 5) == (answer["run"], answer["step"])
    assert {3: "own", 1: "second"} == {
        row.position: row.group for row in campaign.advantages("other", 5)
    }
    assert "other" in [run["name"] for run in campaign.ledger.runs("served")]


def test_the_next_free_step_is_taken_and_told(serve: Any, campaign: vl.Campaign) -> None:
    ask = serve()
    steps = [ask.score(["a"])["step"] for _ in range(3)]
    campaign.score(["b"])

    assert [0, 1, 2] == steps
    assert 4 == ask.score(["a"])["step"]


def test_named_samples_again_are_answered_from_the_ledger(
    serve: Any, campaign: vl.Campaign
) -> None:
    first = serve().score(["a", "b"], run="train", step=1)
    entries = campaign.cursor
    again = serve().score(["a", "b"], run="train", step=1)

    assert first["rewards"] == again["rewards"]
    assert entries == campaign.cursor


def test_the_cursor_comes_before_the_call(serve: Any, campaign: vl.Campaign) -> None:
    ask = serve()
    before = campaign.cursor

    assert before == ask.score(["a"])["cursor"]


def test_a_deadline_may_be_text_as_for_a_client(serve: Any) -> None:
    asked = {"samples": ["a"], "deadline": "2 s"}

    assert 200 == serve()("POST", "/v1/score", json=asked).status_code


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "samples"),
        ({"samples": "abc"}, "samples"),
        ({"samples": [1]}, "samples.0"),
        ({"samples": ["a"], "sample": 1}, "sample"),
        ({"samples": [{"text": "a"}]}, "content"),
        ({"samples": ["a"], "step": -1}, "step"),
        ({"samples": ["a"], "step": 1.5}, "step"),
        ({"samples": ["a"], "step": "1"}, "step"),
        ({"samples": ["a"], "deadline": -1}, "deadline"),
        ({"samples": ["a"], "deadline": 1e9}, "deadline"),
        ({"samples": ["a"], "deadline": "2 h"}, "deadline"),
        ({"samples": ["a"], "deadline": "soon"}, "deadline: 'soon' is not an amount of time"),
        ({"samples": ["a"], "run": "a\nb"}, "run"),
        ({"samples": ["a"], "run": "other"}, "step"),
        ({"samples": ["a"], "groups": ["g", "h"]}, "groups has 2 entries for 1"),
        ({"samples": [{"content": "?", "encoding": "base64"}]}, "base64"),
        ({"samples": [{"content": "a", "position": 1}, "b"]}, "position"),
        ({"samples": ["a" * (4 * 2**20 + 1)]}, "samples.0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_nothing_is_recorded(
    serve: Any, campaign: vl.Campaign, body: Any, named: str
) -> None:
    before = campaign.cursor
    answer = serve()("POST", "/v1/score", json=body)

    assert 422 == answer.status_code
    assert "application/problem+json" == answer.headers["content-type"]
    assert named in answer.json()["detail"]
    assert before == campaign.cursor


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\xff", b"[]", b'{"samples": ["\\ud800"',
        b'{"samples": ["\\ud800"], "step": NaN}',
        b'{"samples": ["\\ud800"], "deadline": "\\ud800"}', b"[" * 10_000 + b'"\\ud800"',
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused(serve: Any, content: bytes) -> None:
    answer = serve()(
        "POST", "/v1/score", content=content, headers={"Content-Type": "application/json"}
    )

    assert 422 == answer.status_code


def test_half_a_character_costs_nobody_a_reward(serve: Any) -> None:
    """A body of Python's `json` may hold what no other JSON does."""
    body = json.dumps({"samples": ["half \ud800", "ok", "whole \U0001f600"], "step": 0})
    answer = serve()(
        "POST", "/v1/score", content=body, headers={"Content-Type": "application/json"}
    )

    assert [6.0, 2.0, 7.0] == [reward["value"] for reward in answer.json()["rewards"]]


@pytest.mark.parametrize(
    ("sample", "detail"),
    [
        ({"tsak": 1, "content": "a"}, "samples.0.tsak: Extra inputs are not permitted"),
        ({}, "samples.0.content: Field required"),
        (3, "samples.0: Input should be text or an object"),
        ("a" * (4 * 2**20 + 1), "samples.0: String should have at most 4194304 characters"),
    ],
    ids=["field", "content", "number", "long"],
)
def test_of_two_forms_the_one_that_was_meant_is_spoken_of(
    serve: Any, sample: Any, detail: str
) -> None:
    told = serve()("POST", "/v1/score", json={"samples": [sample]}).json()

    assert detail == told["detail"]
    assert 1 == len(told["errors"])


def test_an_id_that_stands_for_another_candidate_is_refused(serve: Any) -> None:
    ask = serve()
    ask.score(["a"], step=1)
    answer = ask("POST", "/v1/score", json={"samples": ["b"], "step": 1})

    assert 422 == answer.status_code
    assert "recorded with another candidate" in answer.json()["detail"]


@pytest.mark.parametrize("other", [{"answer": "5"}, None])
def test_an_id_that_stands_for_another_task_is_refused(serve: Any, other: Any) -> None:
    ask, sample = serve(), {"content": "a", "task": {"answer": "4"}}
    ask.score([sample, "b"], step=1)
    again = ask.score([sample, "b"], step=1)
    answer = ask("POST", "/v1/score", json={"samples": [{**sample, "task": other}], "step": 1})

    assert [1.0, 1.0] == [reward["value"] for reward in again["rewards"]]
    assert 422 == answer.status_code
    assert "recorded with another task" in answer.json()["detail"]


@pytest.mark.parametrize("newest", [None, 5, 2**31])
@pytest.mark.parametrize("run", ["train", "", "train/eval"])
def test_a_step_far_ahead_of_its_run_is_refused_and_nothing_is_recorded(
    serve: Any, campaign: vl.Campaign, run: str, newest: int | None
) -> None:
    ask = serve()
    if newest is not None:
        ask.score(["a"], run=run, step=newest)
    before, runs = campaign.cursor, campaign.ledger.runs("served")
    body = {"samples": ["b"], "run": run}
    answers = [
        ask("POST", "/v1/score", json=body | {"step": step}, headers=headers)
        for step in (2**31 + 1_000_002, 2**53 - 1)
        for headers in ({}, {"Idempotency-Key": "k"})
    ]

    assert {422} == {answer.status_code for answer in answers}
    assert all("too far ahead of the run" in answer.json()["detail"] for answer in answers)
    assert (before, runs) == (campaign.cursor, campaign.ledger.runs("served"))
    following = 0 if newest is None else newest + 1
    assert following == campaign.ledger.next_step("served", run or campaign.run.name)


def test_a_run_goes_on_counting_where_it_was(serve: Any) -> None:
    ask = serve()
    steps = [3_000_000, 4_000_000, 2_500_000, 4_000_001]
    told = [ask.score([f"a{step}"], run="resumed", step=step)["step"] for step in steps]

    assert steps == told


def test_no_samples_have_no_rewards(serve: Any) -> None:
    assert [] == serve().score([])["rewards"]


def test_a_ledger_that_fails_is_not_the_callers_fault(
    serve: Any, campaign: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise vl.LedgerError("the disk is full")

    ask = serve()
    monkeypatch.setattr(campaign, "score", fail)
    answer = ask("POST", "/v1/score", json={"samples": ["a"]})

    assert (503, "1") == (answer.status_code, answer.headers["retry-after"])
    assert "the disk is full" in answer.json()["detail"]


def kept(campaign: vl.Campaign) -> list[tuple[Any, ...]]:
    """What the ledger's transcripts say: run, groups, samples."""
    ledger = campaign.ledger
    told = [ledger.read(entry).facts for entry in ledger.entries(kind="transcript")]
    return [(facts["run"], facts["groups"], facts["samples"]) for facts in told]


def test_a_prompt_is_kept_once_for_a_run(serve: Any, campaign: vl.Campaign) -> None:
    ask, chat = serve(), [{"role": "user", "content": "Say b."}]
    call = {"groups": ["g", "h"], "prompts": {"g": "Say a.", "h": chat}}
    ask.score(["a", {"content": "b", "position": 7}], **call)
    ask.score(["c", "d"], **call)
    ask.score(["a", "b"], run="other", step=0, **call)

    both = {"g": {"prompt": "Say a."}, "h": {"prompt": chat}}
    assert [(campaign.run.name, both, []), ("other", both, [])] == kept(campaign)


def test_what_is_remembered_of_prompts_has_a_limit(
    serve: Any, campaign: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.learners.scribe.MOST_REMEMBERED", 2000)
    ask = serve()
    for name in ("a", "a", "b" * 999, "a", "c" * 999, "a", "a"):
        ask.score([name], groups=[name], prompts={name: "Say it."})

    told = [name[:1] for _, groups, _ in kept(campaign) for name in groups]
    assert ["a", "b", "c", "a"] == told


def test_turns_are_kept_with_the_prompt_of_their_sample(serve: Any, campaign: vl.Campaign) -> None:
    turns = [{"action": "look", "observation": "seen"}]
    sample = {"content": "a", "group": "g", "turns": turns}
    serve().score([sample, {**sample, "position": 4}], step=3, prompts={"g": "Look."})

    ((_, groups, samples),) = kept(campaign)
    assert {"g": {"prompt": "Look."}} == groups
    told = {"turns": [["look", "seen"]], "group": "g"}
    assert [[3, 0, told], [3, 4, told]] == samples


def test_nothing_is_kept_that_nobody_sent_or_wants(serve: Any, campaign: vl.Campaign) -> None:
    serve().score(["a"], groups=["g"])
    with vl.Campaign.open(
        "silent", ladder=campaign.ladder, ledger=campaign.ledger, transcripts=False
    ) as silent:
        ask = serve(silent)
        ask.score(["a"], groups=["g"], prompts={"g": "Say a."})
        ask.runner.run(ask.service.close())

    assert [] == kept(campaign)


def test_a_prompt_of_no_sample_is_named(serve: Any, campaign: vl.Campaign) -> None:
    answer = serve()(
        "POST", "/v1/score", json={"samples": ["a"], "groups": ["g"], "prompts": {"f": "x"}}
    )

    assert (422, []) == (answer.status_code, kept(campaign))
    assert "no sample is of the group 'f'" in answer.json()["detail"]
