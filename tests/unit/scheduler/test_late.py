"""Late truth: revisions say what they change, and the rest of the group can be asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import UNKNOWN_SIZE
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block, DecisionColumns, SampleColumns
from verifier_ladder.reward import Advantage, Revision, Reward
from verifier_ladder.scheduler.advantages import advantages, changes
from verifier_ladder.scheduler.late import RevisionReader, step_advantages

VALUES = st.none() | st.integers(-8, 8).map(float)


@dataclass
class Told:
    """A ledger in which a campaign is written down by hand."""

    ledger: MemoryLedger

    def score(
        self, values: Sequence[float | None], groups: Sequence[str] | None = None, *,
        step: int = 0, first: int = 0, drawn: Sequence[bool] = (), spread: float | None = None,
        size: int = 0,
    ) -> int:  # fmt: skip
        positions = list(range(first, first + len(values)))
        return self.write(
            "score", positions, values, groups=groups, step=step, drawn=drawn, spread=spread,
            size=size,
        )  # fmt: skip

    def revise(self, position: int, value: float | None, group: str = "", step: int = 0) -> int:
        return self.write("revision", [position], [value], groups=[group], step=step)

    def write(
        self, kind: str, positions: list[int], values: Sequence[float | None], *, step: int,
        groups: Sequence[str] | None, drawn: Sequence[bool] = (), spread: float | None = None,
        size: int = 0, facts: Mapping[str, Any] | None = None,
    ) -> int:  # fmt: skip
        group_sizes, size = [size] * len(positions), len(positions)
        samples = SampleColumns(
            "run", step, positions, [bytes(32)] * size, [()] * size, groups, group_sizes,
            learner_versions=[f"v{position}" for position in positions],
        )  # fmt: skip
        numbers = [0.05 if hit else 0.9 for hit in drawn] or [nan] * size
        decisions = DecisionColumns(
            "p 1", list(range(size)), [0] * size, [-1] * size, [0] * size, ("why",), [nan] * size,
            [nan] * size, [0.1] * size, numbers, [0.0] * size,
        )  # fmt: skip
        usual = {"previous": [None] * size} if kind == "revision" else {}
        return self.ledger.append(Block(
            kind, "c", samples=samples, decisions=[decisions],
            rewards=[Reward(value, spread) for value in values],
            facts=usual if facts is None else facts,
        ))  # fmt: skip

    def revisions(self, after: int = 0) -> list[Revision]:
        return list(RevisionReader(self.ledger, "c").read(after))

    def advantages(self, step: int = 0, since: int | None = None) -> list[Advantage]:
        return step_advantages(self.ledger, "c", "run", step, since)


@pytest.fixture
def told() -> Told:
    return Told(MemoryLedger())


def test_a_revision_names_its_group_and_who_wrote_the_sample(told: Told) -> None:
    told.score([0.0, 1.0], ["a", "a"])
    told.revise(1, 2.0, "a")

    (revision,) = told.revisions()

    assert ("a", "v1") == (revision.group, revision.learner_version)


@pytest.mark.parametrize("facts", [{}, {"previous": []}, {"previous": 3}])
def test_a_revision_that_no_program_writes_is_named(told: Told, facts: dict[str, Any]) -> None:
    told.score([3.0])
    forged = told.write("revision", [0], [5.0], groups=[""], step=0, facts=facts)

    with pytest.raises(LedgerError, match=f"entry {forged} of the ledger is damaged"):
        told.revisions()


def test_a_revision_tells_its_advantage_and_what_it_adds(told: Told) -> None:
    told.score([0.0, 1.0, 5.0], ["a", "a", "b"])
    told.revise(1, 3.0, "a")

    (revision,) = told.revisions()

    assert 1.0 == revision.advantage  # (3 − 1.5) / 1.5
    assert revision.advantage_change == pytest.approx(1.0 - 0.5 / 1.5)


def test_one_revision_changes_every_member_of_its_group_and_nobody_else(told: Told) -> None:
    used = told.score([0.0, 1.0, 5.0, 6.0], ["a", "a", "b", "b"])
    told.revise(1, 3.0, "a")

    found = told.advantages(since=used)

    assert [-1.0, 1.0, -1.0, 1.0] == [sample.advantage for sample in found]
    changed = [sample.change for sample in found]
    assert changed == pytest.approx([-2 / 3, 2 / 3, 0.0, 0.0])


def test_a_draw_does_not_widen_its_group(told: Told) -> None:
    """A corrected reward is far off; the group is still compared by what was believed."""
    used = told.score([0.0, 1.0, 0.0, 1.0], ["a"] * 4, drawn=[False, False, False, True])
    told.revise(3, 11.0, "a")

    *_, last = told.advantages(since=used)

    assert last.advantage == pytest.approx((11.0 - 3.0) / 0.5)


def test_without_a_draw_the_newest_reward_is_the_belief(told: Told) -> None:
    told.score([0.0, 1.0, 0.0, 1.0], ["a"] * 4, drawn=[False, False, False, False])
    told.revise(3, 11.0, "a")

    *_, last = told.advantages()

    assert last.advantage == pytest.approx((11.0 - 3.0) / np.std([0.0, 1.0, 0.0, 11.0]))


def test_doubt_widens_a_group(told: Told) -> None:
    told.score([0.0, 2.0], ["a", "a"], spread=3.0**0.5)

    assert [-0.5, 0.5] == pytest.approx([sample.advantage for sample in told.advantages()])


def test_what_was_unknown_was_masked(told: Told) -> None:
    used = told.score([None, 1.0, 3.0], ["a"] * 3)
    told.revise(0, 5.0, "a")

    first, *_ = told.advantages(since=used)
    (revision,) = told.revisions()

    assert first.change == first.advantage == revision.advantage_change
    assert None is not first.change


def test_what_is_unknown_has_no_advantage(told: Told) -> None:
    told.score([None, 1.0, 3.0], ["a"] * 3)

    assert [None, -1.0, 1.0] == [sample.advantage for sample in told.advantages()]
    assert [None] * 3 == [sample.change for sample in told.advantages()]


def test_without_groups_a_step_is_compared_whole(told: Told) -> None:
    told.score([0.0, 2.0])

    assert [-1.0, 1.0] == [sample.advantage for sample in told.advantages()]


def test_a_step_may_come_in_several_calls(told: Told) -> None:
    told.score([1.0], ["a"], first=7)
    told.score([0.0], ["a"], first=2)
    told.revise(7, 2.0, "a")
    told.score([4.0], ["a"], first=9)

    (revision,) = told.revisions()

    assert [2, 7, 9] == [sample.position for sample in told.advantages()]
    assert 1.0 == revision.advantage  # Of the two that were there.


def test_a_group_is_compared_when_all_of_it_is_there(told: Told) -> None:
    used = told.score([0.0, 1.0, 7.0], ["a", "a", "b"], size=3)
    told.revise(1, 2.0, "a")
    partly = told.score([4.0], ["a"], first=3, size=3)
    told.revise(3, 5.0, "a")

    early, late = told.revisions()
    found = {sample.position: sample for sample in told.advantages(since=used)}

    assert (None, None) == (early.advantage, early.advantage_change)
    assert late.advantage is not None
    assert late.advantage_change is not None
    assert [0, 1, 3] == [place for place, s in found.items() if s.advantage is not None]
    assert all(s.change == s.advantage for s in found.values())
    changed = [s.change for s in told.advantages(since=partly) if s.group == "a"]
    assert sum(change or 0.0 for change in changed) == pytest.approx(0.0)
    assert changed != [s.advantage for s in found.values() if s.group == "a"]


def test_a_group_of_unknown_size_is_compared_with_nobody(told: Told) -> None:
    used = told.score([0.0, 1.0, 7.0], ["a", "a", ""], size=UNKNOWN_SIZE)
    told.revise(1, 2.0, "a")

    (revision,) = told.revisions()

    assert (None, None) == (revision.advantage, revision.advantage_change)
    assert [(None, None)] * 3 == [(s.advantage, s.change) for s in told.advantages(since=used)]


def test_the_only_known_sample_of_a_group_has_no_advantage(told: Told) -> None:
    used = told.score([None, 1.0, None], ["a", "a", "b"])
    told.revise(1, 2.0, "a")
    told.revise(2, 2.0, "b")
    first, alone = told.revisions()
    told.revise(0, 4.0, "a")

    assert (None, None) == (first.advantage, first.advantage_change)
    assert (None, None) == (alone.advantage, alone.advantage_change)
    changed = [sample.change for sample in told.advantages(since=used)]
    assert [1.0, -1.0, None] == changed


def test_a_step_that_nobody_scored_is_empty(told: Told) -> None:
    assert [] == told.advantages(step=3)


def test_reading_on_gives_what_reading_at_once_gives(told: Told) -> None:
    told.score([0.0, 1.0, 2.0], ["a"] * 3)
    told.score([0.0, 1.0, 2.0], ["a"] * 3, step=1)
    cursors = [told.revise(i % 3, 5.0 + i, "a", step=i % 2) for i in range(6)]

    at_once = told.revisions()

    assert at_once == [r for cursor in [0, *cursors] for r in told.revisions(cursor)[:1]]


STEPS = st.lists(st.tuples(st.integers(0, 5), VALUES), max_size=8)


@given(st.lists(VALUES, min_size=6, max_size=6), st.lists(st.sampled_from("ab"), min_size=6,
       max_size=6), STEPS)  # fmt: skip
def test_any_history_agrees_with_the_formula(
    values: list[float | None], groups: list[str], late: list[tuple[int, float | None]]
) -> None:
    told = Told(MemoryLedger())
    used = told.score(values, groups)
    now = list(values)
    for position, value in late:
        told.revise(position, value, groups[position])
        now[position] = value

    found = told.advantages(since=used)

    expected = advantages(now, groups)
    change = changes(values, now, groups)
    got = [nan if sample.advantage is None else sample.advantage for sample in found]
    moved = [nan if sample.change is None else sample.change for sample in found]
    np.testing.assert_allclose(got, expected)
    np.testing.assert_allclose(moved, change)
    if late:
        assert found[late[-1][0]].advantage == told.revisions()[-1].advantage
