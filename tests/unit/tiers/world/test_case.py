"""Cases that the world answers."""

from collections.abc import Callable
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.case import Case, to_settle
from verifier_ladder.errors import CandidateError, ConfigError, VerifierError
from verifier_ladder.measurement import Bound
from verifier_ladder.task import seen_by
from verifier_ladder.tiers.world.case import WAITING, WorldVerifier, check_bounds, is_waiting
from verifier_ladder.verdict import Outcome, Verdict

SOUP = Candidate("text", "soup")


class Taste(WorldVerifier):
    name, version, unit, low, high = "taste", "1", "points", 0.0, 10.0

    def look_up(self, candidate: Candidate) -> Verdict | None:
        return Verdict.accept(9.0, unit="points") if candidate.content == "cake" else None


def test_what_is_known_is_answered_at_once() -> None:
    assert 9.0 == Taste().judge([Candidate("text", "cake")])[0].score


def test_what_is_not_known_opens_a_case() -> None:
    verdict = Taste().judge([SOUP])[0]

    assert is_waiting(verdict)
    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.failed_at is None


def test_only_an_abstention_waits() -> None:
    assert not is_waiting(Verdict.accept(1.0, evidence=WAITING))
    assert not is_waiting(Verdict.abstain("no opinion"))


@pytest.mark.parametrize("value", [7, 7.0, Verdict.accept(7.0, unit="points")])
def test_a_valid_answer_becomes_a_verdict(value: Any) -> None:
    verdict = Taste().answered(SOUP, value)

    assert 7.0 == verdict.score
    assert "points" == verdict.unit


def test_nobody_has_to_answer() -> None:
    verdict = Taste().answered(SOUP, None)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert not is_waiting(verdict)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (11, "between 0 and 10 points"),
        (-0.1, "between 0 and 10 points"),
        (float("nan"), "finite number"),
        (float("inf"), "finite number"),
        ("7", "takes a number in points, not a str"),
        ("very good", "takes a number in points, not a str"),
        (True, "not yes or no"),
        ([7], "not a list"),
        (10**400, "is not a number"),
        (Verdict.accept(7.0, unit="stars"), "takes points, not stars"),
        (Verdict.accept(70.0, unit="points"), "between 0 and 10 points"),
        (Verdict.abstain("later", evidence=WAITING), "go on waiting"),
    ],
)
def test_an_answer_that_can_not_be_true_is_refused(value: Any, complaint: str) -> None:
    with pytest.raises(VerifierError, match=complaint):
        Taste().answered(SOUP, value)


def test_a_reject_needs_no_number() -> None:
    verdict = Taste().answered(SOUP, Verdict.reject("spoilt"))

    assert Outcome.REJECT is verdict.outcome


def test_a_question_names_the_candidate_and_the_unit() -> None:
    assert "What is the taste of 'soup'? in points" == Taste().question(SOUP)


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0), (float("nan"), 1.0)])
def test_bounds_that_no_answer_could_keep_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match="bound"):
        check_bounds(*bounds)


@pytest.mark.parametrize(("value", "outcome"), [(True, Outcome.ACCEPT), (False, Outcome.REJECT)])
def test_yes_and_no_answer_what_goes_from_0_to_1(value: bool, outcome: Outcome) -> None:  # noqa: FBT001
    class Stable(WorldVerifier):
        name, version, low, high = "stable", "1", 0.0, 1.0

    verdict = Stable().answered(SOUP, value)

    assert (outcome, float(value)) == (verdict.outcome, verdict.score)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("patience", "soon"), ("patience", -1.0), ("patience", 0.0), ("patience", float("nan")),
        ("patience", [1]), ("low", "none"), ("high", float("nan")), ("high", -1.0),
    ],
)  # fmt: skip
def test_a_class_that_says_nonsense_is_refused_when_it_is_made(name: str, value: Any) -> None:
    odd = type("Odd", (Taste,), {name: value})

    with pytest.raises(ConfigError, match=rf"{name}"):
        odd()


def test_a_verdict_that_was_looked_up_may_be_zero() -> None:
    class Known(Taste):
        def look_up(self, candidate: Candidate) -> Any:
            return 0.0 * len(candidate.content)

    assert 0.0 == Known().judge([SOUP])[0].score


# -- cases that settle by themselves --------------------------------------------------------------

HORIZON = 1_772_469_000.0


class Guess(WorldVerifier):
    """A number, compared with what its feed tells."""

    name, version, settles_at, unit = "guess-settled", "1", "horizon", "EUR"
    task_fields = ("series",)

    def look_up(self, candidate: Candidate) -> Verdict | None:
        if not candidate.content[:1].isdigit():
            raise CandidateError("not a number")
        return None

    def settle(self, case: Case, feed: Any) -> Any:
        return feed(case)


def asked(feed: Callable[[Case], Any], content: str = "7", *, is_due: bool = True) -> Verdict:
    guess = Guess()
    guess.feed = feed
    candidate = Candidate("text", content, {"series": "close", "horizon": HORIZON})
    if is_due:
        candidate = to_settle(candidate, b"k" * 32, HORIZON + 10)
    (seen,) = seen_by(guess.name, guess.task_fields, [candidate])
    return guess.judge([seen])[0]


def test_a_case_is_opened_first_and_its_feed_left_alone() -> None:
    assert is_waiting(asked(lambda _: pytest.fail("it was asked"), is_due=False))


def test_settle_is_told_of_the_case() -> None:
    told: list[Case] = []

    assert is_waiting(asked(told.append))

    (case,) = told
    assert (case.check_key, case.settles_at) == (b"k" * 32, HORIZON)
    assert (case.deadline, case.unit) == (HORIZON + 10, "EUR")
    assert {"series": "close", "horizon": HORIZON} == case.candidate.task


@pytest.mark.parametrize(
    "said", [2, -1.5, Verdict.accept(3.0, unit="EUR"), Verdict.abstain("halt")]
)
def test_what_settles_a_case_says_until_when_it_holds(said: Any) -> None:
    verdict = asked(lambda _: said)

    assert not is_waiting(verdict)
    assert "2026-03-02T16:30:00+00:00" == verdict.evidence["valid_until"]


@pytest.mark.parametrize(
    "said",
    [
        "2", True, float("nan"), Verdict.accept(3.0, unit="USD"),
        Verdict.abstain("the feed is away", failed_at="tool"),
    ],
)  # fmt: skip
def test_what_can_t_be_an_answer_settles_nothing(said: Any) -> None:
    assert is_waiting(asked(lambda _: said))


def test_what_is_no_forecast_is_rejected_also_where_it_might_be_settled() -> None:
    for is_due in (True, False):
        verdict = asked(lambda _: pytest.fail("it was asked"), "soup", is_due=is_due)
        assert (Outcome.REJECT, "not a number") == (verdict.outcome, verdict.reason)


class Potency(WorldVerifier):
    """A concentration that is wanted to be small."""

    name, version, kind, unit, low, passes, in_logs = (
        "potency",
        "1",
        "text",
        "µM",
        0.0,
        "< 10",
        True,
    )


@pytest.mark.parametrize(
    ("value", "outcome", "score"),
    [
        (9.9, "accept", 9.9),
        (10.0, "reject", 10.0),
        (Bound("<", 0.1), "accept", None),
        (Bound("<", 10.0), "accept", None),
        (Bound("<=", 10.0), "abstain", None),
        (Bound("<", 11.0), "abstain", None),
        (Bound(">", 9.0), "abstain", None),
        (Bound(">=", 10.0), "reject", None),
        (Bound(">", 100.0), "reject", None),
        (Verdict.accept(12.0, unit="µM"), "reject", 12.0),
        (Verdict.reject("it is coloured", score=1.0), "reject", 1.0),
    ],
)
def test_what_passes_is_an_inequality_that_bounds_are_judged_by(
    value: Any, outcome: str, score: float | None
) -> None:
    verdict = Potency().answered(SOUP, value)

    assert (outcome, score) == (verdict.outcome.value, verdict.score)
    assert isinstance(value, Bound) is ("bound" in verdict.evidence)
    assert (outcome != "accept") is bool(verdict.reason)
    assert (outcome == "reject") >= bool(verdict.feedback)


def test_a_reject_tells_what_was_wanted() -> None:
    verdict = Potency().answered(SOUP, Bound(">", 100.0))

    assert "> 100 µM, and < 10 µM is wanted" == verdict.reason
    assert "The potency must be < 10 µM." == verdict.feedback


@pytest.mark.parametrize("value", [0, -1.0, Bound("<", 0.0), Bound("<=", 0.0)])
def test_what_has_no_logarithm_is_no_answer_where_logs_are_averaged(value: Any) -> None:
    with pytest.raises(VerifierError, match="can't be an answer of potency"):
        Potency().answered(SOUP, value)


def test_what_passes_must_be_an_inequality() -> None:
    class Odd(Potency):
        name, passes = "odd", "10"

    with pytest.raises(ConfigError, match=r"verifier odd: passes: '10' is no bound"):
        Odd()
