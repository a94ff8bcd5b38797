"""The cache of candidates stays within its bytes; the oldest go first."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from sys import getsizeof
from threading import RLock
from weakref import WeakSet

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.artifact import Artifact
from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.scheduler import candidatecache
from verifier_ladder.scheduler.candidatecache import CandidateCache, weight
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Outcome, Verdict

LIMIT = 100_000


@pytest.fixture(autouse=True, scope="module")
def _alone() -> Iterator[None]:
    """Caches that other tests have left don't share the limit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidatecache, "_caches", WeakSet())
        yield


def standing(number: int, length: int = 10) -> Standing:
    return Standing("text", number.to_bytes(32, "big"), f"{number:010d}".ljust(length, "x"))


def put(cache: CandidateCache, one: Standing) -> None:
    cache.add({one.subject: one})
    cache.name({one.given: one})


@given(st.lists(st.integers(0, 30_000), max_size=60))
def test_it_never_holds_more_than_its_limit_and_always_the_newest_that_fits(
    lengths: list[int],
) -> None:
    cache = CandidateCache(RLock(), LIMIT)
    for number, length in enumerate(lengths):
        newest = standing(number, length)
        put(cache, newest)

        assert cache.size <= LIMIT
        assert [newest] == cache.find([newest.subject]) == cache.given([newest.given])


def test_the_oldest_are_dropped_first_under_all_their_names() -> None:
    cache = CandidateCache(RLock(), LIMIT)
    many = [standing(number, 1000) for number in range(100)]
    for one in many:
        put(cache, one)

    held = [one is not None for one in cache.find([one.subject for one in many])]
    assert held == sorted(held)
    assert 0 < sum(held) < 100
    assert held == [one is not None for one in cache.given([one.given for one in many])]


def test_all_caches_of_a_process_share_the_limit() -> None:
    one, other = CandidateCache(RLock(), LIMIT), CandidateCache(RLock(), LIMIT)
    for number in range(200):
        put(one, standing(number))
        put(other, standing(number))

    assert one.size + other.size <= LIMIT


def test_one_that_is_opened_gets_its_part_at_once() -> None:
    one = CandidateCache(RLock(), LIMIT)
    for number in range(100):
        put(one, standing(number, 5_000))
    CandidateCache(RLock(), LIMIT)

    assert one.size <= LIMIT // 2


def test_artifacts_of_verdicts_count() -> None:
    said, bare = standing(1), standing(2)
    said.verdicts["dft"] = Verdict.accept(
        1.0, artifacts={"log": Artifact.of(b"y" * 50_000, "log")}
    )
    bare.verdicts["dft"] = Verdict.accept(1.0)

    assert weight(said) > weight(bare) + 50_000


def test_every_spelling_counts() -> None:
    cache, one = CandidateCache(RLock(), LIMIT), standing(1)
    put(cache, one)
    for number in range(100):
        cache.add({one.subject: one})
        cache.name({" " * number + "x" * 5_000: one})
        put(cache, standing(number + 2))

    assert [None] == cache.given(["x" * 5_000])
    assert 100 > len(cache._given)
    assert cache.size <= LIMIT


def test_what_was_dropped_counts_until_its_text_is_let_go() -> None:
    cache = CandidateCache(RLock(), LIMIT)
    for number in range(100):
        one = standing(number, 10_000)
        put(cache, one)
        cache.drop([one])

        assert sum(len(str(text)) for text in cache._given) <= LIMIT


def test_text_beyond_ascii_counts_with_its_second_form() -> None:
    text = "\u4e2d" * 10_000
    one = Standing("text", b"key", text)
    before = weight(one)
    orjson.dumps(text)

    assert getsizeof(text) <= before == weight(one)


def test_what_verdicts_say_counts() -> None:
    said, bare = standing(1), standing(2)
    said.verdicts["judge"] = Verdict(Outcome.ACCEPT, 1.0, evidence={"log": "y" * 50_000})

    assert weight(said) > weight(bare) + 50_000


def test_what_verdicts_say_beyond_ascii_counts_with_its_second_form() -> None:
    said = standing(1)
    said.verdicts["judge"] = Verdict(Outcome.ACCEPT, 1.0, feedback="\u4e2d" * 10_000)
    orjson.dumps(said.verdicts["judge"].feedback)

    assert weight(said) > getsizeof(said.verdicts["judge"].feedback)


def test_many_threads_open_caches_at_once() -> None:
    def open_some(_: int) -> int:
        return len([CandidateCache(RLock(), LIMIT) for _ in range(300)])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            opened = list(threads.map(open_some, range(4)))
    finally:
        sys.setswitchinterval(before)

    assert [300] * 4 == opened


def test_tasks_and_trajectories_count() -> None:
    turns = (Turn("a" * 20_000, "b" * 20_000),)
    whole = Candidate("text", "c", {"tests": ["d" * 20_000]}, turns)

    assert weight(Standing(whole, b"key", "c")) > 60_000


def test_where_another_caller_was_quicker_his_is_held() -> None:
    cache, mine, theirs = CandidateCache(RLock(), LIMIT), standing(1), standing(1)
    cache.add({theirs.subject: theirs})

    assert {mine.subject: theirs} == cache.add({mine.subject: mine})
    cache.name({"mine": mine})
    assert [None] == cache.given(["mine"])
