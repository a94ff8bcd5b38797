"""Standings: which work is the same, and what verdicts amount to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.keys import content_key
from verifier_ladder.ladder import Ladder
from verifier_ladder.reward import Reward, RewardRule
from verifier_ladder.scheduler.beliefs import OffsetBelief
from verifier_ladder.scheduler.standing import Standing, conclude
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
    return conclude(ladder, OffsetBelief.for_ladder(ladder), standing(problem, **verdicts))


ONE = Ladder("one", [made("cheap")])
TWO = Ladder("two", [made("cheap", deviation=1.0), made("dear", "world", deviation=0.25)])
GATED = Ladder(
    "gated", [made("gate", role="gate"), made("cheap"), made("dear", "world")],
    reward=RewardRule(reject=-1.0),
)  # fmt: skip


# ---- Check keys

TASK = {"answer": "4", "tests": ["a"], "note": 1}


def key(
    verifier: Verifier, task: dict[str, Any] | None = None, turns: tuple[Turn, ...] = (),
    raw: str = "OCC", content: str = "CCO",
) -> bytes:  # fmt: skip
    candidate = Candidate("text", content, task, turns)
    return Standing(candidate, content_key("text", content), raw).key_of(verifier)


def test_another_content_is_another_check() -> None:
    assert key(made("v")) != key(made("v"), content="CCN")


def test_every_spelling_of_one_content_is_the_same_check() -> None:
    assert key(made("v")) == key(made("v"), raw="C(O)C")


def test_a_verifier_that_reads_raw_text_tells_spellings_apart() -> None:
    raw = made("v", reads="raw")

    assert key(raw) != key(raw, raw="C(O)C")
    assert key(raw) == key(raw, content="CCN")


@pytest.mark.parametrize("fields", [(), [], ("missing",)])
def test_task_fields_that_are_not_read_do_not_matter(fields: Any) -> None:
    blind = made("v", task_fields=fields)

    assert key(blind) == key(blind, {}) == key(blind, TASK) == key(blind, {"answer": "5"})


def test_task_fields_that_are_read_matter() -> None:
    reads = made("v", task_fields=["answer"])

    assert key(reads, TASK) == key(reads, {"answer": "4", "note": 2})
    assert len({key(reads, TASK), key(reads, {"answer": "5"}), key(reads, {}), key(reads)}) == 3


def test_a_verifier_may_read_all_task_fields() -> None:
    reads = made("v", task_fields=None)

    assert key(reads, TASK) != key(reads, {**TASK, "note": 2})
    assert key(reads, TASK) == key(reads, dict(reversed(TASK.items())))


def test_a_trajectory_matters_only_to_those_who_read_it() -> None:
    one, other = (Turn("2+2", "4"),), (Turn("2+2", "5"),)
    reads = made("v", reads_turns=True)

    assert key(made("v"), turns=one) == key(made("v"), turns=other) == key(made("v"))
    assert len({key(reads), key(reads, turns=one), key(reads, turns=other)}) == 3
    assert key(reads, turns=one) != key(reads, turns=(Turn("2+2", "4", {"tool": "x"}),))


def test_turns_with_lone_surrogates_have_a_key() -> None:
    reads = made("v", reads_turns=True)

    assert key(reads, turns=(Turn("\ud800"),)) != key(reads, turns=(Turn("\udfff"),))


@pytest.mark.parametrize(
    "other",
    [
        made("w"), made("v", version="2"), made("v", settings={"limit": 1}),
        made("v", tools={"rdkit": "2025.3"}), made("v", reads="raw"),
    ],
    ids=repr,
)  # fmt: skip
def test_another_verifier_version_setting_or_tool_is_another_check(other: Verifier) -> None:
    assert key(made("v")) != key(other)


@pytest.mark.parametrize(
    "other", [made("v", timeout=5.0), made("v", "world"), made("v", role="gate")], ids=repr
)
def test_limits_and_places_do_not_make_another_check(other: Verifier) -> None:
    assert key(made("v")) == key(other)


# ---- What a verifier sees

WHOLE = Standing(
    Candidate("text", "CCO", TASK, (Turn("2+2", "4"),)), content_key("text", "CCO"), "OCC"
)


@pytest.mark.parametrize(
    ("declared", "seen"),
    [
        ({}, Candidate("text", "CCO", {})),
        ({"task_fields": ["answer"]}, Candidate("text", "CCO", {"answer": "4"})),
        ({"task_fields": ["answer", "other"]}, Candidate("text", "CCO", {"answer": "4"})),
        ({"task_fields": None}, Candidate("text", "CCO", TASK)),
        ({"reads_turns": True}, Candidate("text", "CCO", {}, (Turn("2+2", "4"),))),
        ({"reads": "raw"}, Candidate("text", "OCC", {})),
    ],
    ids=repr,
)
def test_a_verifier_sees_only_what_it_declares(declared: dict[str, Any], seen: Candidate) -> None:
    assert seen == WHOLE.seen_by(made("v", **declared))


def test_a_bare_candidate_is_seen_as_it_is() -> None:
    bare = standing()

    assert bare.seen_by(made("v")) is bare.candidate
    assert "OCC" == bare.seen_by(made("v", reads="raw")).content


# ---- Rewards


@given(FLOATS)
def test_with_one_tier_the_reward_is_the_verifiers_own_number_bit_for_bit(score: float) -> None:
    value = rewarded(ONE, cheap=as_verdict(score)).value

    assert value is not None
    assert score.hex() == value.hex()


@given(FLOATS)
def test_with_one_tier_a_reject_that_has_a_number_earns_it(score: float) -> None:
    assert score == rewarded(ONE, cheap=Verdict.reject("weak", score=score)).value


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


def test_a_reject_below_the_top_earns_the_rules_value_whatever_its_number() -> None:
    assert -1.0 == rewarded(GATED, cheap=Verdict.reject("weak", score=7.0)).value


def test_a_reject_stays_one_whatever_the_others_said() -> None:
    accepted = {"cheap": Verdict.accept(3.0), "dear": Verdict.accept(4.0)}

    assert -1.0 == rewarded(GATED, gate=Verdict.reject("no"), **accepted).value


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


def test_a_conclusion_is_kept_until_something_is_learnt() -> None:
    model, one = OffsetBelief.for_ladder(TWO), standing(cheap=Verdict.accept(1.0))

    first = conclude(TWO, model, one)

    assert conclude(TWO, model, one) is first
    one.learn("dear", Verdict.accept(2.0))
    assert 2.0 == conclude(TWO, model, one).value


def test_an_outage_can_be_forgotten() -> None:
    one = standing(cheap=Verdict.accept(1.0), dear=Verdict.abstain("killed", failed_at="engine"))
    conclude(TWO, OffsetBelief.for_ladder(TWO), one)

    one.forget_failures()

    assert {"cheap"} == set(one.verdicts)
    assert conclude(TWO, OffsetBelief.for_ladder(TWO), one).failed_at is None


def test_a_considered_abstention_is_not_forgotten() -> None:
    one = standing(cheap=Verdict.abstain("not my kind"))

    one.forget_failures()

    assert {"cheap"} == set(one.verdicts)
