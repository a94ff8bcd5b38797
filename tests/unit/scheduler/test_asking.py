"""Asking: a check is asked once, and everybody who waits for it hears."""

from verifier_ladder.candidate import Candidate
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.asking import Asked
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
