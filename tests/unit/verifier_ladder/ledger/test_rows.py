"""Index rows: whatever is appended is found again, and what was said first stays."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.encoding import encode
from verifier_ladder.ledger.records import Block, CandidateRow, VerdictRow
from verifier_ladder.ledger.samples import IDENTITY
from verifier_ladder.ledger.table import Table, columns_of
from verifier_ladder.testing.records import CAMPAIGN, CANON, candidate_row, key, verdict_row
from verifier_ladder.verdict import Outcome, Verdict

COUNTS = st.integers(0, 3) | st.integers(62, 66) | st.integers(126, 130)
"""Around the number of rows that one statement inserts."""
VERDICTS = st.builds(
    Verdict, st.sampled_from([Outcome.ACCEPT, Outcome.REJECT]),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    reason=st.sampled_from(["", "too large"]), cost=st.none() | st.just(Cost(0.5)),
)  # fmt: skip


@contextmanager
def new_ledger() -> Iterator[Ledger]:
    with TemporaryDirectory() as folder, open_ledger(Path(folder) / "ledger.db") as ledger:
        yield ledger


def words(count: int) -> list[str]:
    return [f"word {number}" for number in range(count)]


def said(words: Sequence[str], verdict: Verdict) -> list[VerdictRow]:
    return [verdict_row(word, verdict) for word in words]


@given(COUNTS, st.lists(VERDICTS, min_size=1))
def test_every_verdict_is_found_again(count: int, verdicts: list[Verdict]) -> None:
    rows = [
        verdict_row(word, verdicts[place % len(verdicts)])
        for place, word in enumerate(words(count))
    ]
    with new_ledger() as ledger:
        ledger.append(Block("score", CAMPAIGN, verdicts=rows))
        found = ledger.verdicts([row.check_key for row in rows])
    assert found == {row.check_key: row.verdict for row in rows}


@given(COUNTS, st.sets(st.integers(0, 130)), st.sets(st.integers(0, 130)))
def test_every_alias_is_found_again(count: int, rejected: set[int], own: set[int]) -> None:
    no = Verdict.reject("no molecule")
    rows = [
        candidate_row(
            word, canonical=word.upper() if place % 2 and place not in rejected else None,
            verdict=no if place in rejected else None,
            canonicaliser=IDENTITY if place in own else CANON,
        )
        for place, word in enumerate(words(count))
    ]  # fmt: skip
    with new_ledger() as ledger:
        ledger.append(Block("score", CAMPAIGN, candidates=rows))
        found = ledger.aliases(CANON, [row.raw_key for row in rows])
    assert found == {
        row.raw_key: (row.content_key, row.canonical, row.verdict)
        for row in rows
        if row.canonicaliser == CANON
    }


@pytest.mark.parametrize("count", [1, 70])
def test_what_was_said_first_stays(count: int) -> None:
    first, later = Verdict.accept(1.0), Verdict.accept(2.0)
    with new_ledger() as ledger:
        ledger.append(Block("score", CAMPAIGN, verdicts=said(words(count), first)))
        ledger.append(Block("score", CAMPAIGN, verdicts=said(words(count + 1), later)))
        found = ledger.verdicts([key(f"check {word}") for word in words(count + 1)])
    assert list(found.values()).count(first) == count
    assert found[key(f"check word {count}")] == later


def test_a_check_that_is_told_twice_keeps_what_was_said_first() -> None:
    rows = said(["a"], Verdict.accept(1.0)) + said(["a", "b"], Verdict.accept(2.0))
    with new_ledger() as ledger:
        ledger.append(Block("score", CAMPAIGN, verdicts=rows))
        found = ledger.verdicts([key("check a"), key("check b")])
    assert [found[key("check a")].score, found[key("check b")].score] == [1.0, 2.0]


def test_rows_and_their_table_are_the_same_entry() -> None:
    candidates = [candidate_row(word) for word in words(3)]
    verdicts = said(words(3), Verdict.accept(0.5))
    first, second = Table(CandidateRow), Table(VerdictRow)
    first.extend(*columns_of(candidates))
    second.extend(*columns_of(verdicts))
    of_rows = Block("score", CAMPAIGN, candidates, verdicts)
    assert encode(Block("score", CAMPAIGN, first, second), 0.0) == encode(of_rows, 0.0)
