"""Two texts side by side: every line stands there once, and words that differ are marked."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.artifact import Artifact
from verifier_ladder.candidate import Candidate
from verifier_ladder.report.differences import READER, Row, counts, question, rows_of
from verifier_ladder.verdict import Verdict


def read(first: str, other: str) -> Verdict:
    return READER.judge([Candidate("text", question(first, other))])[0]


def compared(first: str, other: str) -> list[Row]:
    rows = rows_of(read(first, other), first, other)
    assert rows is not None
    return rows


def test_a_changed_line_stands_beside_what_became_of_it() -> None:
    rows = compared("a\nthe cat sat\nz", "a\nthe dog sat\nz\nnew")

    assert ["same", "changed", "same", "added"] == [row.change for row in rows]
    assert "the <del>cat</del> sat" == rows[1].first_marked
    assert "the <ins>dog</ins> sat" == rows[1].other_marked
    assert (None, 4) == (rows[3].first, rows[3].other)
    assert {"same": 2, "changed": 1, "removed": 0, "added": 1} == counts(rows)


def test_lines_that_have_hardly_a_word_in_common_were_not_made_of_each_other() -> None:
    assert ["removed", "added"] == [row.change for row in compared("return 1", "xyzzy")]


def test_long_parts_that_are_alike_are_counted_and_left_out() -> None:
    same = [str(n) for n in range(50)]
    rows = compared("\n".join(same), "\n".join([*same[:25], "new", *same[25:]]))

    assert [22, 22] == [row.first for row in rows if row.change == "skipped"]
    assert 50 == counts(rows)["same"]


def test_two_texts_that_are_alike_differ_nowhere() -> None:
    assert [("skipped", 2)] == [(row.change, row.first) for row in compared("a\nb", "a\nb")]


@given(st.text("ab<\n", max_size=40), st.text("ab<\n", max_size=40))
def test_each_line_of_both_is_told_in_order(first: str, other: str) -> None:
    rows = compared(first, other)
    mine = [row.first_text for row in rows if row.first is not None and row.change != "skipped"]
    skipped = sum(row.first or 0 for row in rows if row.change == "skipped")

    assert len(first.split("\n")) == len(mine) + skipped
    assert all("<" not in row.first_marked.replace("<del>", "").replace("</del>", "")
               for row in rows)  # fmt: skip


@pytest.mark.parametrize(
    "told",
    [
        b"[[0, 0, [], []]]", b"[[0, 9, [], []]]", b"[[1, 0, [], []], [0, 1, [], []]]",
        b"[[0, 0, [[0, 99]], []], [1, 1, [], []]]", b'[["<b>", 0, [], []]]', b"[null]", b"7",
        b"[[null, null, [], []]]", b"{", b"[[true, 0, [], []], [1, 1, [], []]]",
    ],
)  # fmt: skip
def test_a_reader_that_was_taken_over_says_nothing(told: bytes) -> None:
    taken: Any = {"rows.json": Artifact.of(told, "rows.json")}

    assert rows_of(replace(read("a\nb", "a\nc"), artifacts=taken), "a\nb", "a\nc") is None
