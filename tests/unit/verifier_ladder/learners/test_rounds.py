"""Samples that come one by one share a step with their group, and with no other of its name."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.candidate import UNKNOWN_SIZE
from verifier_ladder.learners import rounds as module
from verifier_ladder.learners.rounds import Grouping, Rounds


def sample(group: str) -> vl.Sample:
    return vl.Sample(vl.Candidate("text", "x"), position=0, group=group)


@given(st.lists(st.sampled_from("abcd"), max_size=60), st.integers(1, 5))
def test_every_so_many_of_a_name_are_a_group_of_their_own(names: list[str], size: int) -> None:
    rounds = Rounds(count().__next__)
    steps: dict[str, list[int]] = {name: [] for name in names}
    for name in names:
        placed = rounds.place(sample(name), size)
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
    rounds = Rounds(count().__next__)
    first = rounds.place(sample("a"), 3).step
    now = 100.0

    assert [first, first + 1] == [rounds.place(sample(name), 3).step for name in "ab"]
    now = 5000.0
    assert first + 2 == rounds.place(sample("a"), 3).step
    assert {"a"} == {key[1] for key in rounds._groups}


def test_groups_that_stay_incomplete_are_told_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    rounds = Rounds(count().__next__)
    for minute in range(60):
        now = 60.0 * minute
        rounds.place(sample(f"g{minute}"), 4)

    (line,) = [one.getMessage() for one in caplog.records if "advantage" in one.getMessage()]
    assert "of 4 samples of a prompt 1 have come here" in line
    assert "--group-size 4" in line


def test_complete_groups_are_not_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    rounds = Rounds(count().__next__)
    for minute in range(60):
        now = 60.0 * minute
        for _ in range(2):
            rounds.place(sample(f"g{minute}"), 2)

    assert not caplog.records


def test_a_large_round_ends() -> None:
    rounds = Rounds(count().__next__)

    assert {0, 1, 2} == {rounds.place(sample(f"g{i}"), 64).step for i in range(130)}
    assert {2, 3} == {rounds.place(sample(""), 64).step for _ in range(4096)}


def test_runs_versions_and_sizes_are_groups_of_their_own() -> None:
    rounds = Rounds(count().__next__)
    others = [replace(sample("a"), run="r"), replace(sample("a"), learner_version="v")]

    first = rounds.place(sample("a"), 2).step
    steps = [rounds.place(other, 2).step for other in others]
    steps.append(rounds.place(sample("a"), 3).step)

    assert 4 == len({first, *steps})
    assert first == rounds.place(sample("a"), 2).step


def test_evaluation_has_steps_of_its_own() -> None:
    taken: list[bool] = []

    def take_step(*, evaluation: bool) -> int:
        taken.append(evaluation)
        return len(taken)

    grouping = Grouping(take_step, group_size=2)
    both = [sample("a"), replace(sample("a"), evaluation=True)]

    assert [1, 2] == [placed.step for placed in grouping.place(both)]
    assert [1, 2] == [placed.step for placed in grouping.place(both)]
    assert [False, True] == taken


def test_who_comes_alone_is_of_a_group_of_unknown_size() -> None:
    def take_step(*, evaluation: bool) -> int:
        pytest.fail(f"a step was taken ({evaluation})")

    grouping = Grouping(take_step)
    told = replace(sample("a"), step=4)

    assert [UNKNOWN_SIZE] == [s.group_size for s in grouping.place([sample("a")])]
    assert [0, 0] == [s.group_size for s in grouping.place([sample("a"), sample("a")])]
    assert [told] == grouping.place([told])
