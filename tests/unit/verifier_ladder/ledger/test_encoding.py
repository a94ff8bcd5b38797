"""A block's body gives the block back."""

from base64 import b64encode
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import encoding
from verifier_ladder.ledger.encoding import decode, encode, leaf, mentioned
from verifier_ladder.ledger.offline import leaf_hash, records_of, root_of
from verifier_ladder.ledger.records import (
    Block,
    CandidateRow,
    DecisionColumns,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.ledger.samples import distinct
from verifier_ladder.reward import Reward
from verifier_ladder.testing.records import CAMPAIGN, key, score_block
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict

TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=6)
FLOATS = st.floats(allow_nan=False)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
COSTS = st.floats(0, 1e9)
KEYS = st.integers(0, 6).map(lambda n: key(str(n)))
SMALL = st.integers(-3, 2**40)
MAYBE = st.none() | FINITE
SPREADS = st.none() | st.floats(0, allow_infinity=False)
JSON = st.dictionaries(TEXT, st.none() | FINITE | TEXT | st.binary(max_size=3), max_size=3)


TURNS = st.lists(st.builds(TurnVerdict, st.integers(0, 9), MAYBE, TEXT), max_size=2).map(tuple)
SCORES = st.dictionaries(st.sampled_from(["style", "a.b", "c-1"]), FINITE, max_size=2)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    outcome = draw(st.sampled_from(Outcome))
    abstains = outcome is Outcome.ABSTAIN
    return Verdict(
        outcome, None if abstains else draw(MAYBE), None if abstains else draw(SPREADS),
        draw(TEXT), draw(TEXT), draw(TEXT), draw(st.none() | TEXT) if abstains else None,
        draw(TURNS), draw(JSON), draw(st.none() | st.builds(Cost, COSTS, COSTS, COSTS, COSTS)),
        {} if abstains else draw(SCORES),
    )  # fmt: skip


@st.composite
def sample_columns(draw: st.DrawFn, count: int) -> SampleColumns:
    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    def optional(values: st.SearchStrategy[Any]) -> list[Any] | None:
        return draw(st.none() | st.lists(values, min_size=count, max_size=count))

    return SampleColumns(
        draw(TEXT), draw(SMALL), column(SMALL), column(KEYS),
        column(st.lists(KEYS, max_size=3).map(tuple)), optional(TEXT), optional(SMALL),
        optional(TEXT), optional(FLOATS), optional(st.none() | KEYS),
    )  # fmt: skip


@st.composite
def decision_columns(draw: st.DrawFn) -> DecisionColumns:
    count = draw(st.integers(0, 4))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    numbers = [column(FLOATS) for _ in range(6)]
    return DecisionColumns(
        draw(TEXT), column(SMALL), column(SMALL), column(SMALL), column(SMALL),
        draw(st.lists(TEXT, max_size=2)), numbers[0], numbers[1], numbers[2],
        draw(st.sampled_from([None, numbers[3]])), numbers[4],
        draw(st.sampled_from([None, numbers[5]])),
    )  # fmt: skip


REWARDS = st.builds(
    Reward, st.none() | FLOATS, st.none() | FLOATS, st.none() | st.sampled_from(Tier),
    st.integers(0, 9), st.dictionaries(TEXT, st.none() | FLOATS, max_size=2), TEXT,
    st.none() | TEXT, st.booleans(), TEXT, TURNS, SCORES,
)  # fmt: skip
CANDIDATES = st.builds(
    CandidateRow, KEYS, KEYS, TEXT, TEXT | st.binary(max_size=4),
    st.none() | TEXT | st.binary(max_size=4), KEYS, st.none() | verdicts(),
)  # fmt: skip
ROWS = st.builds(VerdictRow, KEYS, KEYS, TEXT, TEXT, SMALL, verdicts(), st.integers(1, 9))


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    count = draw(st.integers(0, 4))
    return Block(
        draw(st.sampled_from(["score", "check", "revision"])), draw(TEXT),
        draw(st.lists(CANDIDATES, max_size=4)), draw(st.lists(ROWS, max_size=4)),
        draw(st.none() | sample_columns(count)),
        draw(st.lists(decision_columns(), max_size=2)),
        draw(st.lists(REWARDS, min_size=count, max_size=count)), draw(JSON),
    )  # fmt: skip


def same(found: Block, given_: Block) -> None:
    """Equal, and equal as text too: 0.0 is not −0.0, 1 is not 1.0."""
    for name in ("kind", "campaign", "samples", "facts"):
        assert getattr(found, name) == getattr(given_, name)
    for name in ("candidates", "verdicts", "decisions", "rewards"):
        left, right = list(getattr(found, name)), list(getattr(given_, name))
        assert left == right
        assert repr(left) == repr(right)


def in_parts(block: Block, rows: int, *, sealed: bool = False) -> bytes:
    """Encode with this many rows a part."""
    with patch.object(encoding, "ROWS", rows):
        return encode(block, 1.5, sealed=sealed)


@given(blocks(), st.integers(1, 5), st.booleans())
@settings(max_examples=150)
def test_a_block_comes_back_equal(block: Block, rows: int, sealed: bool) -> None:  # noqa: FBT001
    same(decode(in_parts(block, rows, sealed=sealed)), block)


@given(blocks(), st.integers(1, 5), st.booleans())
@settings(max_examples=60)
def test_what_a_body_mentions_is_what_the_block_mentions(
    block: Block, rows: int, sealed: bool  # noqa: FBT001
) -> None:  # fmt: skip
    found = mentioned(in_parts(block, rows, sealed=sealed))

    places = [row.content_key for row in block.candidates]
    assert {k: places.index(k) if k in places else -1 for k in distinct(block)} == found


@given(blocks(), st.integers(1, 5))
@settings(max_examples=40)
def test_each_part_holds_its_rows_of_every_section(block: Block, rows: int) -> None:
    head, *parts = map(orjson.loads, in_parts(block, rows).split(b"\n"))

    assert (len(parts), rows) == (head["parts"], head["rows"])
    for name in ("candidates", "verdicts", "rewards"):
        counts = [part.get(name, {"count": 0})["count"] for part in parts]
        whole, rest = divmod(len(getattr(block, name)), rows)
        assert [rows] * whole + [rest] * (rest > 0) == [count for count in counts if count]


def test_records_are_the_same_however_they_are_cut() -> None:
    block = score_block([f"w{i}" for i in range(10)])
    whole = orjson.loads(in_parts(block, 100).split(b"\n")[1])
    parts = list(map(orjson.loads, in_parts(block, 3).split(b"\n")[1:]))

    for section in ("candidates", "verdicts", "samples", "decisions", "rewards"):
        for row in range(10):
            expected = list(records_of(whole, section, row))
            assert expected == list(records_of(parts[row // 3], section, row % 3))
            assert 1 == len(expected)


def test_a_body_can_be_shown_in_parts() -> None:
    head, *parts = (body := in_parts(score_block(["a", "b", "c"]), 2)).split(b"\n")

    assert leaf_hash(head + b"\n" + root_of(map(leaf_hash, parts))) == leaf(body)


def test_arrays_are_written_like_lists() -> None:
    block = score_block(["a", "bb"])
    plain = encode(block, 0.0)
    decided: Any = block.decisions[0]
    decided.mean, decided.action = np.array([1.0, 2.0]), np.zeros(2, dtype=np.int64)
    taken: Any = block.samples
    taken.positions = np.arange(2)
    assert encode(block, 0.0) == plain


def test_what_is_usual_is_not_written() -> None:
    body = encode(score_block(["a", "b"]), 0.0)
    for name in (b"canonical", b"feedback", b"evidence", b"attempt", b"failed_at", b"pending"):
        assert b'"%s"' % name not in body


def test_a_new_sample_takes_few_bytes() -> None:
    block = score_block([f"w{i}" for i in range(1000)])
    assert len(encode(block, 0.0)) < 300 * 1000


def test_the_time_is_under_the_hash() -> None:
    block = score_block(["a"])
    assert leaf(encode(block, 1.0)) != leaf(encode(block, 2.0))


@pytest.mark.parametrize("column", ["contents", "checks", "groups"])
def test_columns_of_different_length_are_refused(column: str) -> None:
    block = score_block(["a", "b"])
    setattr(block.samples, column, ["x"])
    with pytest.raises(LedgerError, match="length"):
        encode(block, 0.0)


def test_decisions_of_different_length_are_refused() -> None:
    block = score_block(["a", "b"])
    block.decisions[0].mean = [0.5]
    with pytest.raises(LedgerError, match="mean"):
        encode(block, 0.0)


NO_COUNT = b'{"format":1,"kind":"x","campaign":"c","rewards":{}}'


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"format":1}', NO_COUNT])
def test_a_damaged_body_says_so(body: bytes) -> None:
    with pytest.raises(LedgerError, match="damaged"):
        decode(body)


@pytest.mark.parametrize("count", [2**62, 2**21, -1, 1.5, None])
def test_more_records_than_a_program_writes_together_take_no_memory(count: object) -> None:
    head, line = map(orjson.loads, encode(score_block(["a", "b"]), 0.0).split(b"\n"))
    for name in ("candidates", "verdicts", "samples", "decisions", "rewards"):
        part = orjson.loads(orjson.dumps(line))
        section = part[name][0] if name == "decisions" else part[name]
        section |= {column: {"all": 1} for column in section} | {"count": count}
        for body in ([{**head, "format": 1, **part}], [head, part]):
            with pytest.raises(LedgerError, match="damaged"):
                decode(b"\n".join(map(orjson.dumps, body)))


def test_more_checks_than_samples_are_written_one_by_one() -> None:
    head, part = map(orjson.loads, encode(score_block(["a", "b"]), 0.0).split(b"\n"))
    check = {"all": {"$bytes": b64encode(key("check a")).decode()}}
    part["samples"] |= {"widths": {"all": 2**62}, "checks": check}

    with pytest.raises(LedgerError, match="checks of 2 samples"):
        decode(b"\n".join(map(orjson.dumps, [head, part])))


@pytest.mark.parametrize("widths", [{"all": 1}, [1, 1], [0, 2], [2, 0]])
def test_checks_that_are_missing_are_damage(widths: object) -> None:
    head, part = map(orjson.loads, encode(score_block(["a", "b"]), 0.0).split(b"\n"))
    part["samples"] |= {"widths": widths, "checks": {"keys": key("check a").hex()}}

    with pytest.raises(LedgerError, match="damaged"):
        decode(b"\n".join(map(orjson.dumps, [head, part])))


def test_a_newer_format_asks_for_an_upgrade() -> None:
    with pytest.raises(LedgerError, match="upgrade verifier-ladder"):
        decode(b'{"format":4}')


@given(st.integers(0, 400), st.integers(0, 255))
@settings(max_examples=150)
def test_a_flipped_byte_is_an_error_or_another_block(place: int, byte: int) -> None:
    """A reader of damaged bytes never sees an exception of another kind."""
    body = bytearray(encode(Block("score", CAMPAIGN, score_block(["a"]).candidates), 0.0))
    body[place % len(body)] = byte
    with suppress(LedgerError):
        decode(bytes(body))
