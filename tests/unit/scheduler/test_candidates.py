"""Candidates as JSON, for the work queue, and back."""

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.ledger.values import dumps, loads
from verifier_ladder.scheduler.candidates import candidate_json, candidate_of

TEXT = st.text(st.characters(), max_size=8)
FIELDS = st.dictionaries(TEXT, st.none() | st.integers() | TEXT | st.lists(TEXT), max_size=3)
TURNS = st.builds(Turn, TEXT, TEXT, st.none() | FIELDS.filter(bool))
CANDIDATES = st.builds(
    Candidate, st.just("text"), TEXT | st.binary(max_size=8), st.none() | FIELDS.filter(bool),
    st.lists(TURNS, max_size=3).map(tuple),
)  # fmt: skip


@given(CANDIDATES)
def test_a_candidate_survives_the_queue(candidate: Candidate) -> None:
    """Lone surrogates and bytes included, as the ledger writes them."""
    assert candidate == candidate_of(loads(dumps(candidate_json(candidate))))


def test_bytes_that_an_earlier_version_wrote_as_digits_are_read() -> None:
    assert candidate_of({"kind": "image", "bytes": "00ff"}) == Candidate("image", b"\0\xff")
