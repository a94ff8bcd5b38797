"""Asking: a check is asked once, and everybody who waits for it hears."""

from verifier_ladder.candidate import Candidate
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.asking import Asked
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Verdict


def length(candidate: Candidate) -> float:
    return float(len(candidate.content))


LENGTH = FunctionVerifier(length, name="length", version="1")


def standing(name: str) -> Standing:
    return Standing(Candidate("text", "word", {"name": name}), b"key", "word")


def test_standings_that_differ_in_what_is_not_read_hear_one_verdict() -> None:
    one, two, other = standing("one"), standing("two"), standing("other")
    asked = Asked(LENGTH)
    for key, each in ((b"a", one), (b"a", two), (b"b", other)):
        asked.add(key, each)
    said = Verdict.accept(4.0)
    asked.learn(b"a", said)
    assert asked.first == {b"a": one, b"b": other}
    assert [each.verdicts for each in (one, two, other)] == [{"length": said}] * 2 + [{}]


def test_a_standing_that_is_added_again_is_asked_about_once() -> None:
    one, asked = standing("one"), Asked(LENGTH)
    asked.add(b"a", one)
    asked.add(b"a", one)
    asked.learn(b"a", Verdict.accept(4.0))
    assert asked.first == {b"a": one}
