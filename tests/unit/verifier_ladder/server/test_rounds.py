"""Samples that come one by one share a step with their group, and with no other of its name."""

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.server import rounds as module
from verifier_ladder.server.rounds import Rounds


def sample(group: str) -> vl.Sample:
    return vl.Sample(vl.Candidate("text", "x"), position=0, group=group)


@given(st.lists(st.sampled_from("abcd"), max_size=60), st.integers(1, 5))
def test_every_so_many_of_a_name_are_a_group_of_their_own(names: list[str], size: int) -> None:
    rounds = Rounds(count().__next__, group_size=size)
    steps: dict[str, list[int]] = {name: [] for name in names}
    for name in names:
        placed = rounds.place(sample(name))
        assert (size, name) == (placed.group_size, placed.group)
        steps[name].append(placed.step)

    for found in steps.values():
        groups = [found[i : i + size] for i in range(0, len(found), size)]
        assert all(1 == len(set(group)) for group in groups)
        assert len(groups) == len({group[0] for group in groups})
    assert all(group.left for group in rounds._groups.values())


def test_a_round_ends_and_its_groups_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    rounds = Rounds(count().__next__, group_size=3)
    first = rounds.place(sample("a")).step
    now = 100.0

    assert [first, first + 1] == [rounds.place(sample(name)).step for name in "ab"]
    now = 5000.0
    assert first + 2 == rounds.place(sample("a")).step
    assert {"a"} == rounds._groups.keys()


def test_a_large_round_ends() -> None:
    rounds = Rounds(count().__next__, group_size=64)

    assert {0, 1, 2} == {rounds.place(sample(f"g{i}")).step for i in range(130)}
    assert {2, 3} == {rounds.place(sample("")).step for _ in range(4096)}


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
