"""What replicates say together."""

from __future__ import annotations

from math import isclose, log, sqrt
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.measurement import Bound, bound_of
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.tiers.world.case import WorldVerifier
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict

LOST = Verdict.abstain("the service is down", failed_at="tool")
UNSURE = Verdict.abstain("no opinion")
NO = Verdict.reject("too long")
NUMBERS = st.floats(-1e6, 1e6)
VERDICTS = st.one_of(
    st.just(LOST),
    st.just(UNSURE),
    st.just(NO),
    st.builds(Verdict.accept, NUMBERS),
    st.builds(lambda s, u: Verdict.accept(s, uncertainty=u), NUMBERS, st.floats(0, 1e6)),
)


def test_the_score_is_the_mean_and_its_uncertainty_that_of_a_mean() -> None:
    scores = [1.0, 2.0, 6.0]

    said = combined([Verdict.accept(score) for score in scores])

    assert mean(scores) == said.score
    assert stdev(scores) / sqrt(3) == pytest.approx(said.uncertainty)


def test_what_they_report_of_themselves_does_not_shrink() -> None:
    said = combined([Verdict.accept(1.0, uncertainty=0.3), Verdict.accept(1.0, uncertainty=0.4)])

    assert sqrt((0.09 + 0.16) / 2) == pytest.approx(said.uncertainty)


def test_one_answer_alone_tells_nothing_of_its_spread() -> None:
    assert combined([Verdict.accept(1.0), LOST]).uncertainty is None
    assert 0.5 == combined([Verdict.accept(1.0, uncertainty=0.5), LOST]).uncertainty


@pytest.mark.parametrize(
    ("rejects", "accepts", "outcome"), [(1, 2, "accept"), (1, 1, "accept"), (2, 1, "reject")]
)
def test_it_takes_more_than_half_to_reject(rejects: int, accepts: int, outcome: str) -> None:
    said = combined([NO] * rejects + [Verdict.accept()] * accepts + [LOST] * 3)

    assert outcome == said.outcome.value
    assert said.reason == ("too long" if outcome == "reject" else "")


@given(st.lists(VERDICTS, min_size=1, max_size=7))
def test_it_abstains_only_where_all_do(verdicts: list[Verdict]) -> None:
    said = combined(verdicts)

    abstained = [verdict.outcome is Outcome.ABSTAIN for verdict in verdicts]
    assert all(abstained) == (said.outcome is Outcome.ABSTAIN)
    failed = all(verdict.failed_at for verdict in verdicts)
    assert failed == (said.failed_at is not None)
    scores = [verdict.score for verdict in verdicts if verdict.score is not None]
    assert (said.score is None) == (not scores)
    if said.score is not None:
        assert min(scores) <= said.score or isclose(min(scores), said.score)
        assert said.score <= max(scores) or isclose(max(scores), said.score)


def test_the_largest_numbers_there_are_have_a_mean() -> None:
    said = combined([Verdict.accept(1.7e308), Verdict.accept(1.7e308), Verdict.accept(-1.7e308)])

    assert said.score is not None
    assert said.uncertainty is not None


def test_turns_evidence_and_cost() -> None:
    said = combined([
        Verdict(
            Outcome.ACCEPT, 1.0, turns=(TurnVerdict(0, 1.0), TurnVerdict(2, 5.0, "good")),
            evidence={"size": 2, "who": "a"}, cost=Cost(1.0, money=0.5),
        ),
        Verdict(
            Outcome.ACCEPT, 1.0, turns=(TurnVerdict(0, 2.0, "better"),),
            evidence={"size": 4, "who": "b"}, cost=Cost(2.0),
        ),
    ])  # fmt: skip

    assert (TurnVerdict(0, 1.5, "better"), TurnVerdict(2, 5.0, "good")) == said.turns
    assert {"size": 3.0, "who": "a"} == {name: said.evidence[name] for name in ("size", "who")}
    assert {"of": 2, "answered": 2, "accepted": 2} == said.evidence["replicates"]
    assert Cost(3.0, money=0.5) == said.cost


JUDGE = FunctionVerifier(float, name="judge", version="1", replicates=3)


def judged(*verdicts: Verdict) -> Standing:
    standing = Standing(Candidate("text", "word"), b"key", "word")
    for number, verdict in enumerate(verdicts):
        standing.hear(JUDGE, number, verdict)
    return standing


def test_nothing_is_said_before_all_have_ended() -> None:
    assert {} == judged(Verdict.accept(1.0), Verdict.accept(2.0)).verdicts
    assert [2] == judged(Verdict.accept(1.0), Verdict.accept(2.0)).missing(JUDGE)
    assert 2.0 == judged(*map(Verdict.accept, (1.0, 2.0, 3.0))).verdicts["judge"].score


def test_an_outage_of_all_is_no_answer_and_considered_ones_are_kept() -> None:
    standing = judged(LOST, LOST, LOST)
    standing.forget_failures()
    assert ({}, [0, 1, 2]) == (standing.verdicts, standing.missing(JUDGE))

    standing = judged(LOST, UNSURE, LOST)
    standing.forget_failures()
    assert ("no opinion", []) == (standing.verdicts["judge"].reason, standing.missing(JUDGE))


def test_replicates_have_keys_of_their_own_and_the_first_that_of_a_single_check() -> None:
    single = FunctionVerifier(float, name="judge", version="1")
    standing = judged()

    keys = [standing.key_of(JUDGE, number) for number in range(3)]

    assert standing.key_of(single) == keys[0]
    assert 3 == len(set(keys))


@given(st.permutations(range(3)), st.lists(VERDICTS, min_size=3, max_size=3))
def test_it_does_not_matter_in_which_order_they_end(
    order: list[int], verdicts: list[Verdict]
) -> None:
    standing = Standing(Candidate("text", "word"), b"key", "word")
    for number in order:
        standing.hear(JUDGE, number, verdicts[number])

    assert {"judge": combined(verdicts)} == standing.verdicts


def reads(verifier: WorldVerifier, *values: object) -> list[Verdict]:
    return [verifier.answered(Candidate("text", "a"), value) for value in values]


class Potency(WorldVerifier):
    name, version, kind, passes, in_logs = "potency-replicates", "1", "text", "< 10", True


def test_concentrations_are_averaged_in_logs() -> None:
    said = combined(reads(Potency(), 0.01, 1.0))

    assert 0.1 == said.score
    assert log(100.0) / 2 * 0.1 == pytest.approx(said.uncertainty)
    assert 0.3 == combined(reads(Potency(), 0.3, 0.3, 0.3)).score


def test_relative_uncertainties_of_logs_do_not_shrink() -> None:
    verdicts = reads(Potency(), *[Verdict.accept(4.0, uncertainty=0.4)] * 2)

    assert 0.4 == pytest.approx(combined(verdicts).uncertainty)


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ((0.11, 0.13, Bound("<", 0.1)), Outcome.ACCEPT),
        ((20.0, Bound(">", 100.0), 9.0), Outcome.REJECT),
        ((Bound("<", 50.0), 9.0), Outcome.ACCEPT),
    ],
)
def test_a_bound_enters_no_mean_and_none_is_made_without_it(
    values: tuple[object, ...], outcome: Outcome
) -> None:
    said = combined(reads(Potency(), *values))

    assert (outcome, None, None) == (said.outcome, said.score, said.uncertainty)
    assert 1 == said.evidence["replicates"]["bounds"]


def test_bounds_that_decide_nothing_abstain() -> None:
    said = combined(reads(Potency(), Bound("<", 50.0), Bound("<", 50.0)))

    assert Outcome.ABSTAIN is said.outcome
    assert "potency-replicates: < 50, a bound and no number" == said.reason


@pytest.mark.parametrize(
    ("values", "agreed"),
    [
        ((Bound("<", 0.1), Bound("<", 0.5), Bound("<", 0.2)), Bound("<", 0.5)),
        ((Bound("<", 0.1), 0.05), Bound("<", 0.1)),
        ((Bound("<", 0.1), 4.0), None),
        ((Bound("<", 0.1), Bound(">", 100.0), Bound("<", 0.2)), None),
        ((Bound("<", 50.0), Bound("<", 60.0)), Bound("<", 60.0)),
        ((Bound("<", 50.0), Bound(">", 5.0)), None),
        ((None, Bound("<", 50.0)), Bound("<", 50.0)),
    ],
)
def test_of_bounds_stays_what_holds_of_all(
    values: tuple[object, ...], agreed: Bound | None
) -> None:
    for order in (values, values[::-1]):
        assert agreed == bound_of(combined(reads(Potency(), *order)).evidence)


def test_evidence_that_is_called_a_bound_is_averaged_as_ever() -> None:
    said = combined([Verdict.accept(x, evidence={"bound": x}) for x in (1.0, 2.0)])

    assert (1.5, 1.5) == (said.score, said.evidence["bound"])
