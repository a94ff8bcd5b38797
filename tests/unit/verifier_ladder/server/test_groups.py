"""Samples that learners send one by one are compared with their whole group, or with nobody."""

from typing import Any

import pytest

import verifier_ladder as vl


def test_a_group_without_samples_is_refused(serve: Any) -> None:
    with pytest.raises(vl.ConfigError, match="1 sample or more"):
        serve(group_size=0)


def verify(prompt: str, text: str) -> Any:
    said = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    row = {"responses_create_params": {"input": prompt}, "response": {"output": [said]}}
    return "POST", "/verify", {"json": row}


def test_singles_of_several_moments_have_a_common_advantage(
    serve: Any, campaign: vl.Campaign
) -> None:
    ask = serve(group_size=2)
    for calls in ([("p", "a"), ("q", "b")], [("p", "abc")], [("q", "b"), ("p", "abcd")]):
        answers = ask.together(*(verify(*call) for call in calls))
        assert {200} == {answer.status_code for answer in answers}

    run = campaign.run.name
    steps = [campaign.advantages(run, step) for step in range(2)]
    assert [4, 1] == [len(step) for step in steps]
    found = sorted((row.reward.value, row.advantage) for row in steps[0])
    assert [(1.0, -1.0), (1.0, 0.0), (1.0, 0.0), (3.0, 1.0)] == found
    assert 2 == campaign.ledger.next_step("served", run)


def test_singles_of_groups_of_unknown_size_have_no_advantage(
    serve: Any, campaign: vl.Campaign
) -> None:
    ask = serve()
    for text in ("a", "abc"):
        assert {200} == {answer.status_code for answer in ask.together(verify("p", text))}

    run = campaign.run.name
    rows = [row for step in range(2) for row in campaign.advantages(run, step, since=1)]
    assert [(None, None)] * 2 == [(row.advantage, row.change) for row in rows]
