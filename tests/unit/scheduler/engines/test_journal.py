"""What a worker writes, its lane reads: at any moment, and after its death."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import EngineError
from verifier_ladder.scheduler.engines import journal, wire
from verifier_ladder.scheduler.engines.journal import MOST, Journal

FIELDS = st.tuples(st.text(max_size=9), st.none() | st.floats(allow_nan=False), st.binary())
READ = wire.reader(str | tuple[str, float | None, bytes])
ITEMS = st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.just("") | FIELDS


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Journal, Journal]]:
    """The worker's side and the lane's, of one piece of memory."""
    lane = Journal()
    worker = Journal(os.dup(lane._descriptor))
    yield worker, lane
    worker.close()
    lane.close()


def begin(sides: tuple[Journal, Journal]) -> tuple[Journal, Journal]:
    lane = sides[1]
    lane.begin()
    sides[0].begin()
    return sides


@given(st.lists(ITEMS, max_size=30), st.lists(st.integers(0, 29), max_size=5).map(sorted))
def test_what_was_noted_is_read_whenever_one_looks(
    sides: tuple[Journal, Journal], items: list[Any], looks: list[int]
) -> None:
    worker, lane = begin(sides)
    found: list[Any] = []
    for place, item in enumerate(items):
        assert worker.note(item)
        if place in looks:
            found += lane.read(len(found), lane.count, READ)

    found += lane.read(len(found), lane.count, READ)

    assert items == found
    assert list(map(type, items)) == list(map(type, found))


def test_an_object_that_answers_twice_is_one_object(sides: tuple[Journal, Journal]) -> None:
    worker, lane = begin(sides)
    said: Any = ("accept", 1.0, b"")

    notes = [worker.note(said), worker.note(1.0), worker.note(said)]

    first, _, last = lane.read(0, 3, READ)
    assert (True, said) == (all(notes), first)
    assert first is last


def test_large_texts_find_room(sides: tuple[Journal, Journal]) -> None:
    for content in ("a", "b"):
        worker, lane = begin(sides)
        texts = [f"{n}{content * 300_000}" for n in range(5)]

        assert [True] * 5 == [worker.note(text) for text in texts]
        assert texts == lane.read(0, 5, READ)


def test_what_has_no_room_is_refused_from_then_on(
    sides: tuple[Journal, Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError("no space left on device")

    worker, lane = begin(sides)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        notes = [worker.note(item) for item in (1.0, "x" * 10**6, 2.0)]

    assert [True, False, False] == notes
    assert [1.0] == lane.read(0, lane.count, READ)


def test_a_journal_has_an_end(sides: tuple[Journal, Journal]) -> None:
    worker, lane = begin(sides)

    notes = [worker.note(float(n)) for n in range(MOST + 2)]

    assert [True, False, False] == notes[-3:]
    assert [0.0, MOST - 1.0] == lane.read(0, lane.count, READ)[:: MOST - 1]


def test_a_sealed_journal_keeps_the_first(sides: tuple[Journal, Journal]) -> None:
    worker, lane = begin(sides)
    for item in (1.0, 2.0, 3.0):
        worker.note(item)

    worker.seal(1)

    assert (False, 1) == (worker.note(4.0), lane.count)


def test_garbage_is_an_error_and_no_answer(sides: tuple[Journal, Journal]) -> None:
    worker, lane = begin(sides)
    worker.note("text")
    start = (1 + 2 * MOST) * 8
    os.pwrite(lane._descriptor, b"\xff" * 16, start)

    with pytest.raises(EngineError, match="can't be read"):
        lane.read(0, 1, READ)


def test_texts_that_are_said_to_be_longer_than_any_are_refused(
    sides: tuple[Journal, Journal],
) -> None:
    worker, lane = begin(sides)
    worker.note("text")
    worker._words[0] = 0x7FF8 << 48 | 2**47
    os.ftruncate(lane._descriptor, 2**40)

    with pytest.raises(EngineError, match="is the most"):
        lane.read(0, 1, READ)
    os.ftruncate(lane._descriptor, 2**20)


@pytest.mark.parametrize("end", [2, 65544, 65545, 65600, 2**20])
def test_a_text_that_ends_where_none_does_is_an_error(
    sides: tuple[Journal, Journal], end: int
) -> None:
    worker, lane = begin(sides)
    worker.note("text")
    worker.note("more")
    worker._words[1] = 0x7FF8 << 48 | end

    with pytest.raises(EngineError, match="can't be read"):
        lane.read(0, 2, READ)


def test_answers_have_room_up_to_what_is_read(
    sides: tuple[Journal, Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LARGEST", 1000)
    worker, lane = begin(sides)

    notes = [worker.note(str(place) * 300) for place in range(6)]

    assert [True, True, True, False, False, False] == notes
    assert ["0" * 300, "1" * 300, "2" * 300] == lane.read(0, lane.count, READ)
