"""Answers on the worker's side: every one is in the journal or in the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines import journal, wire
from verifier_ladder.scheduler.engines.journal import Journal
from verifier_ladder.scheduler.engines.worker import Sheet

VERIFIER = FunctionVerifier(float, name="sheet", version="1")
JOURNAL = Journal()


def whole(sheet: Sheet) -> list[Any]:
    return JOURNAL.read(0, JOURNAL.count, wire.reader(wire.Item)) + sheet.rest


@given(st.lists(st.integers(0, 99), max_size=20), st.integers(0, 6), st.integers(0, 20))
def test_nothing_is_lost_where_the_journal_ends_nor_where_answers_are_taken_back(
    answers: list[int], room: int, kept: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "MOST", room)
        sheet, kept = Sheet(VERIFIER, JOURNAL), min(kept, len(answers))
        for answer in answers:
            sheet.add(answer)
        assert answers == whole(sheet)

        sheet.void(kept)
        for answer in answers[kept:]:
            sheet.add(answer)

        assert (len(answers), answers) == (sheet.count, whole(sheet))


def test_what_is_dear_is_measured_in_the_journal_as_long_as_it_has_room() -> None:
    sheet = Sheet(VERIFIER, JOURNAL)
    few, many = sheet.costs(3), sheet.costs(journal.MOST + 1)

    few[1] += 0.5

    assert [0.0, 0.5, 0.0] == JOURNAL.costs[:3].tolist()
    assert journal.MOST + 1 == len(many)
