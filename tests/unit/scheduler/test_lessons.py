"""Lessons: what beliefs learn, as the ledger keeps it."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from verifier_ladder.candidate import SampleId
from verifier_ladder.scheduler.audits import Audit
from verifier_ladder.scheduler.beliefs import Seen
from verifier_ladder.scheduler.draws import Draw, Stratum
from verifier_ladder.scheduler.lessons import Lessons

NUMBERS = st.floats(allow_infinity=False)

KNOWN = st.none() | st.floats(allow_nan=False, allow_infinity=False)
SHARES = st.floats(0, 1)
DRAWS = st.builds(
    Draw, SHARES, SHARES, KNOWN, st.floats(0, 1e9), KNOWN, KNOWN,
    st.builds(Stratum, st.text(), st.booleans()),
)  # fmt: skip
AUDITS = st.builds(
    Audit, st.builds(SampleId, st.text(), st.integers(), st.integers()), DRAWS, KNOWN, KNOWN,
    st.booleans(),
)  # fmt: skip


@st.composite
def lessons(draw: st.DrawFn) -> Lessons:
    size = draw(st.integers(1, 5))
    table = [
        draw(arrays.arrays(float, (size, width), elements=NUMBERS)) for width in (3, 3, 2)
    ]  # fmt: skip
    target = draw(arrays.arrays(float, size, elements=NUMBERS))
    audits = draw(st.lists(st.none() | AUDITS, min_size=size, max_size=size))
    keys = [bytes([i]) * 32 for i in range(size)]
    rejected = draw(arrays.arrays(bool, size))
    return Lessons(keys, Seen(*table), target, rejected, audits)


@given(lessons())
def test_lessons_come_back_from_json_bit_for_bit(given: Lessons) -> None:
    back = Lessons.from_json(json.loads(json.dumps(given.as_json())))

    assert given.keys == back.keys
    for name in ("scores", "deviations", "features"):
        np.testing.assert_array_equal(getattr(given.seen, name), getattr(back.seen, name))
    np.testing.assert_array_equal(given.target, back.target)
    np.testing.assert_array_equal(given.rejected, back.rejected)
    assert given.audits == back.audits


@given(lessons())
def test_some_lessons_are_those_rows(given: Lessons) -> None:
    last = given.rows([len(given) - 1])

    assert given.keys[-1:] == last.keys
    np.testing.assert_array_equal(given.seen.scores[-1:], last.seen.scores)
    np.testing.assert_array_equal(given.target[-1:], last.target)
    np.testing.assert_array_equal(given.rejected[-1:], last.rejected)
    assert given.audits[-1:] == last.audits


def test_no_lessons_are_no_rows() -> None:
    none = np.empty((0, 2))
    empty = Lessons([], Seen(none, none, none), np.empty(0), np.empty(0, dtype=bool), [])

    assert 0 == len(Lessons.from_json(empty.as_json()))
