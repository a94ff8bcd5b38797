"""Asking: a check is asked once, and everybody who waits for it hears."""

from threading import RLock
from types import SimpleNamespace
from typing import Any

from verifier_ladder.candidate import Candidate
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.asking import Asked, Asking
from verifier_ladder.scheduler.engines.job import BatchAnswer, BatchFuture
from verifier_ladder.scheduler.flights import Flights
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Verdict


def length(candidate: Candidate) -> float:
    return float(len(candidate.content))


LENGTH = FunctionVerifier(length, name="length", version="1")


def standing(name: str, key: bytes) -> Standing:
    made = Standing(Candidate("text", "word", {"name": name}), b"key", "word")
    made.keys = (key,)
    return made


def test_standings_that_differ_in_what_is_not_read_hear_one_verdict() -> None:
    one, two, other = standing("one", b"a"), standing("two", b"a"), standing("other", b"b")
    asked = Asked(LENGTH, 0)
    asked.add([one, two, other])
    said = Verdict.accept(4.0)
    asked.learn({b"a": said})
    assert asked.first == {b"a": one, b"b": other}
    assert [each.verdicts for each in (one, two, other)] == [{"length": said}] * 2 + [{}]


def test_a_standing_that_is_added_again_is_asked_about_once() -> None:
    one, asked = standing("one", b"a"), Asked(LENGTH, 0)
    asked.add([one, one])
    asked.learn({b"a": Verdict.accept(4.0)})
    assert asked.first == {b"a": one}


class Slow(BatchFuture[BatchAnswer]):
    """A batch whose first candidate is settled when nobody waits any more."""

    def abandon(self) -> dict[int, Verdict]:
        return {0: Verdict.accept(4.0)}


def test_what_is_settled_when_a_call_gives_up_stays_taken_until_it_is_recorded() -> None:
    engine: Any = SimpleNamespace(flights=Flights(), ask_now=lambda *_: Slow())
    asking = Asking(Ladder("l", [LENGTH]), engine, RLock())
    with Arrivals() as arrivals:
        asks = asking.ask_all([standing("one", b"a"), standing("two", b"b")], None, arrivals)
        next(asks)
        asks.close()

        assert [row.check_key for row in arrivals.verdicts] == [b"a"]
        assert engine.flights.board([b"a", b"b"])[0].keys == [b"b"]
    assert engine.flights.board([b"a"])[0].keys == [b"a"]
