"""Candidates as JSON, and what a verifier is given of one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger.values import dumps, loads
from verifier_ladder.scheduler.candidates import as_seen, candidate_json, candidate_of
from verifier_ladder.verifiers import Verifier

TEXT = st.text(st.characters(), max_size=8)
FIELDS = st.dictionaries(TEXT, st.none() | st.integers() | TEXT | st.lists(TEXT), max_size=3)
TURNS = st.builds(Turn, TEXT, TEXT, st.none() | FIELDS.filter(bool))
CANDIDATES = st.builds(
    Candidate, st.just("text"), TEXT | st.binary(max_size=8), st.none() | FIELDS.filter(bool),
    st.lists(TURNS, max_size=3).map(tuple),
)  # fmt: skip


def made(**attributes: Any) -> Verifier:
    return FunctionVerifier(len, name="v", version="1", **attributes)


@given(CANDIDATES)
def test_a_candidate_survives_the_queue(candidate: Candidate) -> None:
    """Lone surrogates and bytes included, as the ledger writes them."""
    assert candidate == candidate_of(loads(dumps(candidate_json(candidate))))


TASK = {"answer": "4", "note": 1}
WHOLE = Candidate("text", "4", TASK, (Turn("2+2", "4"),))


@pytest.mark.parametrize(
    ("declared", "task", "turns"),
    [
        ({}, {}, ()),
        ({"task_fields": ["answer"]}, {"answer": "4"}, ()),
        ({"task_fields": ["answer", "missing"]}, {"answer": "4"}, ()),
        ({"task_fields": None}, TASK, ()),
        ({"reads_turns": True}, {}, WHOLE.turns),
    ],
    ids=repr,
)
def test_a_verifier_sees_only_what_it_declares(
    declared: dict[str, Any], task: dict[str, Any], turns: tuple[Turn, ...]
) -> None:
    assert Candidate("text", "4", task, turns) == as_seen(WHOLE, made(**declared))


def test_a_bare_candidate_is_seen_as_it_is() -> None:
    bare = Candidate("text", "4")

    assert as_seen(bare, made()) is bare
