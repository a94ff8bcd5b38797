"""A shadow follows, keeps aside, and is nobody's trouble."""

import logging
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block
from verifier_ladder.scheduler import shadow as module
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.scorer import Batch
from verifier_ladder.scheduler.shadow import Shadow, is_shadow, shadow_name

SOON = 30.0
"""Seconds after which a test gives up; nothing below takes a thousandth of it."""


class Follower:
    """A shadow whose scoring the test controls."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger()
        self.scored: list[int] = []
        self.began, self.go = Event(), Event()
        self.go.set()
        self.ends = 0
        self.shadow = Shadow("c~shadow", self.ledger, self.score, self.end)

    def score(self, batch: Batch) -> None:
        self.began.set()
        assert self.go.wait(SOON)
        if batch.step < 0:
            raise RuntimeError("no such luck")
        self.scored.append(batch.step)

    def end(self) -> None:
        self.ends += 1

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Step and reason of every entry that tells of one."""
        found = [self.ledger.read(entry).facts for entry in self.ledger.entries(kind="shadow")]
        return [(facts["step"], facts["reason"]) for facts in found]


@pytest.fixture
def follower() -> Follower:
    return Follower()


def batch(step: int, size: int = 1) -> Batch:
    return Batch("run", step, list(range(size)), ["a"] * size)


def test_every_batch_is_scored_in_order(follower: Follower) -> None:
    for step in range(5):
        follower.shadow.follow(batch(step))

    assert follower.shadow.drain(SOON)
    assert [0, 1, 2, 3, 4] == follower.scored


def test_nothing_begins_while_a_learner_waits(follower: Follower) -> None:
    with follower.shadow.aside():
        follower.shadow.follow(batch(0))
        assert not follower.shadow.drain(0.01)
        assert not follower.began.is_set()

    assert follower.shadow.drain(SOON)
    assert [0] == follower.scored


def test_who_follows_never_waits(follower: Follower) -> None:
    follower.go.clear()
    follower.shadow.follow(batch(0))
    assert follower.began.wait(SOON)

    follower.shadow.follow(batch(1))

    assert [] == follower.scored
    follower.go.set()
    assert follower.shadow.drain(SOON)


def test_a_failure_is_noted_and_the_next_batch_is_scored(
    follower: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        follower.shadow.follow(batch(-1, size=3))
        follower.shadow.follow(batch(7))
        assert follower.shadow.drain(SOON)

    assert [7] == follower.scored
    assert [(-1, "RuntimeError: no such luck")] == follower.failures
    assert "3 samples of step -1 were not shadowed: RuntimeError" in caplog.text


def test_a_ledger_that_can_not_be_written_is_no_trouble_either(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: Block) -> int:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(follower.ledger, "append", full)
    follower.shadow.follow(batch(-1))
    follower.shadow.follow(batch(7))

    assert follower.shadow.drain(SOON)
    assert [7] == follower.scored
    assert "could not be recorded" in caplog.text


def test_a_batch_too_many_is_noted_and_passed_over(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 5)
    with follower.shadow.aside():
        for step, size in enumerate((3, 3, 2)):
            follower.shadow.follow(batch(step, size))
    assert follower.shadow.drain(SOON)

    assert [0, 2] == follower.scored
    assert [(1, "the shadow is 3 samples behind")] == follower.failures


def test_long_candidates_too_many_bytes_of_them_are_passed_over(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "share", lambda _: 10_000)
    with follower.shadow.aside():
        for step in range(3):
            follower.shadow.follow(Batch("run", step, [0], ["x" * 4_000]))
    assert follower.shadow.drain(SOON)

    assert [0, 1] == follower.scored
    assert [(2, "the shadow is 2 samples behind")] == follower.failures


def test_a_batch_that_never_fits_is_said_to(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "share", lambda _: 1_000)
    follower.shadow.follow(Batch("run", 0, [0], ["x" * 4_000]))

    ((step, why),) = follower.failures
    assert 0 == step
    assert "raise VLADDER_CACHE_MEMORY" in why


def test_what_is_scored_no_longer_counts_whatever_became_of_its_task(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "share", lambda _: 10_000)
    for step in range(5):
        task = {"tests": "x" * 6_000}
        with follower.shadow.aside():
            follower.shadow.follow(Batch("run", step, [0], [Candidate("text", "a", task)]))
            del task["tests"]
        assert follower.shadow.drain(SOON)

    assert [0, 1, 2, 3, 4] == follower.scored


def test_closing_scores_what_is_left(follower: Follower) -> None:
    with follower.shadow.aside():
        follower.shadow.follow(batch(0))
        follower.shadow.follow(batch(1))
        follower.shadow.close()

    assert [0, 1] == follower.scored
    assert 1 == follower.ends


def test_a_shadow_that_was_never_used_ends_too(follower: Follower) -> None:
    follower.shadow.close()

    assert 1 == follower.ends


@given(st.text(max_size=20))
def test_a_shadow_is_known_by_its_name(name: str) -> None:
    assert is_shadow(shadow_name(name))


@pytest.mark.parametrize(
    ("open_", "ranks"),
    [
        (["a", "b"], [None]), (["a", "a~shadow", "b"], [["a", "b"], None]),
        (["a~shadow"], [None]), ([], [None]),
    ],
)  # fmt: skip
def test_shadows_take_what_the_others_leave(
    open_: list[str], ranks: list[list[str] | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LocalEngine(MemoryLedger(), workers=1)
    monkeypatch.setattr(engine, "_climbers", dict.fromkeys(open_))

    assert ranks == engine._ranks()
