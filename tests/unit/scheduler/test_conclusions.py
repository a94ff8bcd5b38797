"""Conclusions: what verdicts amount to, as beliefs and rewards."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.keys import content_key
from verifier_ladder.ladder import Ladder
from verifier_ladder.reward import Reward, RewardRule
from verifier_ladder.scheduler.beliefs import Seen, create_model
from verifier_ladder.scheduler.conclusions import Conclusions
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import Survey
from verifier_ladder.target import Target
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier, as_verdict

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def made(name: str, tier: str = "fast", version: str = "1", **attributes: Any) -> Verifier:
    return FunctionVerifier(len, name=name, version=version, tier=tier, **attributes)


def standing(problem: Verdict | None = None, **verdicts: Verdict) -> Standing:
    candidate = Candidate("text", "CCO")
    result = Standing(candidate, content_key("text", "CCO"), "OCC", problem)
    for name, verdict in verdicts.items():
        result.learn(name, verdict)
    return result


def rewarded(ladder: Ladder, problem: Verdict | None = None, **verdicts: Verdict) -> Reward:
    one = standing(problem, **verdicts)
    return Conclusions(ladder, create_model(ladder)).all([one])[0]


ONE = Ladder("one", [made("cheap")])
TWO = Ladder("two", [made("cheap", deviation=1.0), made("dear", "world", deviation=0.25)])
GATED = Ladder(
    "gated", [made("gate", role="gate"), made("cheap"), made("dear", "world")],
    reward=RewardRule(reject=-1.0),
)  # fmt: skip


@given(FLOATS)
def test_with_one_tier_the_reward_is_the_verifiers_own_number_bit_for_bit(score: float) -> None:
    value = rewarded(ONE, cheap=as_verdict(score)).value

    assert value is not None
    assert score.hex() == value.hex()


@given(FLOATS)
def test_a_reject_that_has_a_number_earns_it_only_as_partial_credit(score: float) -> None:
    said = Verdict.reject("weak", score=score)
    partial = Ladder("one", ONE.verifiers, reward=RewardRule(partial_credit=True))

    assert 0.0 == rewarded(ONE, cheap=said).value
    assert score == rewarded(partial, cheap=said).value


@pytest.mark.parametrize(("answer", "value"), [(True, 1.0), (False, 0.0)])
def test_a_truth_value_is_1_or_0(answer: bool, value: float) -> None:  # noqa: FBT001
    assert value == rewarded(ONE, cheap=as_verdict(answer)).value


@given(FLOATS)
def test_the_highest_answer_counts(score: float) -> None:
    reward = rewarded(TWO, cheap=Verdict.accept(3.0), dear=Verdict.accept(score))

    assert (score, 0.25, Tier.WORLD) == (reward.value, reward.uncertainty, reward.tier)
    assert {"cheap": 3.0, "dear": score} == reward.components


def test_a_reject_earns_the_rules_value() -> None:
    reward = rewarded(GATED, gate=Verdict.reject("too long"))

    assert (-1.0, 0.0, Tier.FAST, "too long") == (
        reward.value, reward.uncertainty, reward.tier, reward.reason
    )  # fmt: skip
    assert reward.failed_at is None


def test_a_reject_without_a_reason_is_told_apart_from_a_score_all_the_same() -> None:
    partial = Ladder("one", ONE.verifiers, reward=RewardRule(partial_credit=True))
    reward = rewarded(partial, cheap=Verdict.reject("", score=0.75))

    assert (0.75, "cheap has rejected it") == (reward.value, reward.reason)
    assert reward.is_rejected


def test_a_reject_below_the_top_earns_the_rules_value_whatever_its_number() -> None:
    assert -1.0 == rewarded(GATED, cheap=Verdict.reject("weak", score=7.0)).value


def test_the_top_tier_overrules_a_gate() -> None:
    accepted = {"cheap": Verdict.accept(3.0), "dear": Verdict.accept(4.0)}

    assert 4.0 == rewarded(GATED, gate=Verdict.reject("no"), **accepted).value


def test_a_definitive_reject_stays_one_whatever_the_top_tier_said() -> None:
    ladder = Ladder(
        "gated", [made("gate", role="gate", definitive=True), made("dear", "world")],
        reward=RewardRule(reject=-1.0),
    )  # fmt: skip
    reward = rewarded(ladder, gate=Verdict.reject("no"), dear=Verdict.accept(4.0))

    assert -1.0 == reward.value


def test_what_has_no_canonical_form_is_rejected() -> None:
    reward = rewarded(GATED, problem=Verdict.reject("no molecule"))

    assert (-1.0, "no molecule") == (reward.value, reward.reason)


@pytest.mark.parametrize("ladder", [ONE, TWO])
def test_an_abstention_is_none_and_never_0(ladder: Ladder) -> None:
    reward = rewarded(ladder, cheap=Verdict.abstain("not my kind"))

    assert reward.value is None
    assert reward.uncertainty is None
    assert reward.tier is None
    assert "not my kind" == reward.reason
    assert reward.failed_at is None


def test_an_outage_without_an_answer_is_none_with_its_boundary() -> None:
    reward = rewarded(ONE, cheap=Verdict.abstain("killed", failed_at="engine"))

    assert (None, "engine", "killed") == (reward.value, reward.failed_at, reward.reason)


def test_an_outage_of_the_canonicaliser_is_none_with_its_boundary() -> None:
    reward = rewarded(ONE, problem=Verdict.abstain("crashed", failed_at="engine"))

    assert (None, "engine") == (reward.value, reward.failed_at)


def test_after_an_outage_higher_up_the_value_stays_at_the_belief() -> None:
    failed = Verdict.abstain("SCF did not converge", failed_at="tool")

    reward = rewarded(TWO, cheap=Verdict.accept(3.0), dear=failed)

    assert (3.0, 1.0, Tier.FAST) == (reward.value, reward.uncertainty, reward.tier)
    assert ("tool", "SCF did not converge") == (reward.failed_at, reward.reason)


def test_an_accept_without_a_score_is_no_number() -> None:
    reward = rewarded(GATED, gate=Verdict.accept())

    assert reward.value is None
    assert reward.reason


def test_a_prior_alone_is_no_reward() -> None:
    ladder = Ladder("prior", [made("gate", role="gate"), made("dear", "world")], prior=(5.0, 1.0))

    assert rewarded(ladder, gate=Verdict.accept()).value is None


def test_nothing_asked_is_none() -> None:
    assert rewarded(TWO).value is None


def test_an_unknown_deviation_is_none_and_never_nan() -> None:
    assert rewarded(ONE, cheap=Verdict.accept(1.0)).uncertainty is None


def test_the_rule_shapes_value_and_spread() -> None:
    ladder = Ladder(
        "shaped", [made("cheap", deviation=1.0)], reward=RewardRule(low=0.0, high=-10.0),
        target=Target(direction="minimise"),
    )  # fmt: skip

    reward = rewarded(ladder, cheap=Verdict.accept(-5.0))

    assert (0.5, 0.1) == (reward.value, reward.uncertainty)


@given(FLOATS)
def test_a_minimised_target_is_negated(score: float) -> None:
    ladder = Ladder("down", [made("cheap")], target=Target(direction="minimise"))

    assert -score == rewarded(ladder, cheap=Verdict.accept(score)).value


VERDICTS = st.one_of(
    st.builds(Verdict.accept, st.none() | FLOATS),
    st.builds(Verdict.reject, st.just("no"), score=st.none() | FLOATS),
    st.builds(Verdict.abstain, st.just("?"), failed_at=st.none() | st.just("tool")),
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("gate", "cheap", "dear"), VERDICTS)))
def test_a_reward_is_a_number_exactly_if_something_is_known(verdicts: dict[str, Verdict]) -> None:
    reward = rewarded(GATED, **verdicts)

    scored = [n for n in ("cheap", "dear") if n in verdicts and verdicts[n].score is not None]
    rejected = any(v.outcome is Outcome.REJECT for v in verdicts.values())
    assert (reward.value is not None) == (rejected or bool(scored))
    assert reward.uncertainty is None or reward.uncertainty >= 0
    assert reward.failed_at is None or any(v.failed_at for v in verdicts.values())


# ---- What is kept


def test_a_conclusion_is_kept_until_the_candidate_gets_a_verdict() -> None:
    conclusions, one = Conclusions(TWO, create_model(TWO)), standing(cheap=Verdict.accept(1.0))

    (first,) = conclusions.all([one])

    assert conclusions.all([one])[0] is first
    one.learn("dear", Verdict.accept(2.0))
    assert 2.0 == conclusions.all([one])[0].value


def test_a_conclusion_is_made_anew_when_the_beliefs_have_learnt() -> None:
    model, one = create_model(TWO), standing(cheap=Verdict.accept(1.0))
    conclusions = Conclusions(TWO, model)
    (first,) = conclusions.all([one])
    nan = np.full((9, 2), np.nan)
    scores = nan.copy()
    scores[:, 0] = range(9)

    model.learn(Seen(scores, nan, nan[:, :0]), scores[:, 0] + 5.0, np.ones(9, bool))

    (second,) = conclusions.all([one])
    assert first.value is not None
    assert second.value is not None
    assert second.value > first.value


def test_what_the_top_has_answered_is_not_concluded_again() -> None:
    model, one = create_model(TWO), standing(dear=Verdict.accept(1.0))
    conclusions = Conclusions(TWO, model)
    (first,) = conclusions.all([one])
    nan = np.full((1, 2), np.nan)

    model.learn(Seen(nan, nan, nan[:, :0]), np.array([3.0]), np.ones(1, bool))

    assert conclusions.all([one])[0] is first


def test_verifiers_offer_features() -> None:
    ladder = Ladder("sized", [made("cheap", features=["size", "name"]), made("dear", "world")])
    conclusions = Conclusions(ladder, create_model(ladder))
    said = Verdict.accept(1.0, evidence={"size": 3, "name": "ethanol"})

    seen = conclusions.seen([Survey(ladder, standing(cheap=said)), Survey(ladder, standing())])

    assert ("cheap.size", "cheap.name") == conclusions.features
    assert 3.0 == seen.features[0, 0]
    assert np.isnan(seen.features[[0, 1, 1], [1, 0, 1]]).all()


@given(
    st.lists(
        st.sampled_from([0.0, -0.0, 0.5, 1.0]).map(Verdict.accept)
        | st.sampled_from([Verdict.reject("bad"), Verdict.reject("", score=0.0)])
        | st.just(Verdict.abstain("?"))
    )
)
def test_many_are_concluded_as_each_alone_would_be(said: list[Verdict]) -> None:
    conclusions = Conclusions(ONE, create_model(ONE))
    for _ in range(2):  # What was concluded before is shared with what comes.
        together = conclusions.all([standing(cheap=verdict) for verdict in said])
        assert list(map(repr, together)) == [repr(rewarded(ONE, cheap=v)) for v in said]


def test_after_thousands_of_scores_old_and_new_ones_are_concluded_together() -> None:
    conclusions = Conclusions(ONE, create_model(ONE))

    def scored(*scores: float) -> list[float | None]:
        standings = [standing(cheap=Verdict.accept(score)) for score in scores]
        return [reward.value for reward in conclusions.all(standings)]

    assert 4096 == len(scored(*map(float, range(4096))))
    assert [1.0, -1.0, 1.0] == scored(1.0, -1.0, 1.0)
    assert [-1.0, 7.0] == scored(-1.0, 7.0)
