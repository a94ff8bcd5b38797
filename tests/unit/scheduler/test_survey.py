"""Surveys: what the verdicts of one candidate amount to."""

from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.decision import Belief
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.reward import RewardRule
from verifier_ladder.scheduler.conclusions import reward_of
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import ANSWERED, REJECTED, UNJUDGED, Survey
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier


def made(name: str, tier: str = "fast", **attributes: Any) -> Verifier:
    return FunctionVerifier(len, name=name, version="1", tier=tier, **attributes)


LADDER = Ladder(
    "surveyed", [made("gate", role="gate"), made("cheap"), made("relax", "simulation"),
                 made("proof", "world", role="gate"), made("dear", "world")],
)  # fmt: skip
LAWS = Ladder(
    "laws", [made("gate", role="gate"), made("law", role="gate", definitive=True), made("cheap"),
             made("dear", "world")], reward=RewardRule(reject=-1.0, partial_credit=True),
)  # fmt: skip
YES, NO = Verdict.accept(1.0), Verdict.reject("bad")
DOWN = Verdict.abstain("killed", failed_at="engine")


def survey(problem: Verdict | None = None, ladder: Ladder = LADDER, **verdicts: Verdict) -> Survey:
    standing = Standing(Candidate("text", "a"), b"", "a", problem)
    for name, verdict in verdicts.items():
        standing.learn(name, verdict)
    return Survey(ladder, standing)


@pytest.mark.parametrize(
    ("found", "end"),
    [
        (survey(), -1),
        (survey(gate=YES, cheap=YES), -1),
        (survey(gate=YES, cheap=YES, relax=DOWN), -1),
        (survey(gate=NO), REJECTED),
        (survey(problem=NO), REJECTED),
        (survey(gate=DOWN), UNJUDGED),
        (survey(problem=DOWN), UNJUDGED),
        (survey(gate=YES, cheap=YES, proof=YES), -1),
        (survey(gate=YES, proof=YES, dear=YES), ANSWERED),
        (survey(gate=YES, proof=YES, dear=DOWN), ANSWERED),
        (survey(gate=YES, proof=YES, dear=NO), REJECTED),
        (survey(gate=YES, proof=NO), REJECTED),
        (survey(gate=NO, proof=YES, dear=YES), ANSWERED),
    ],
)
def test_a_climb_ends_when_nothing_more_can_be_asked(found: Survey, end: int) -> None:
    assert end == found.end


@pytest.mark.parametrize(
    ("found", "is_judged", "is_final"),
    [
        (survey(gate=YES, cheap=YES), False, False),
        (survey(gate=NO), False, False),
        (survey(problem=NO), False, True),
        (survey(gate=NO, proof=YES, dear=YES), True, True),
        (survey(gate=NO, proof=YES, dear=NO), True, True),
        (survey(gate=YES, proof=NO), True, True),
        (survey(gate=YES, proof=YES, dear=DOWN), False, True),
    ],
)
def test_the_top_tier_has_the_last_word(
    found: Survey,
    is_judged: bool,  # noqa: FBT001 - it is what is expected
    is_final: bool,  # noqa: FBT001
) -> None:
    assert (is_judged, is_final) == (found.is_judged, found.is_final)


def test_the_dearest_below_the_top_is_named() -> None:
    assert "" == survey(gate=YES).dearest
    assert "relax" == survey(cheap=YES, relax=YES, proof=YES, dear=YES).dearest


@pytest.mark.parametrize("dear", [None, YES, NO, Verdict.reject("no", score=0.5)])
@pytest.mark.parametrize("gate", [YES, NO])
def test_what_is_bad_by_definition_stays_bad(gate: Verdict, dear: Verdict | None) -> None:
    """Whoever rejects it before or after, and whatever the top tier would give for it."""
    told = {"gate": gate, "law": Verdict.reject("illegal"), "cheap": YES}
    found = survey(ladder=LAWS, **told, **({} if dear is None else {"dear": dear}))

    assert (found.end, found.is_final, found.is_due) == (REJECTED, True, False)
    reward = reward_of(LAWS, found, Belief(0.5, 0.1))
    assert (reward.value, reward.reason) == (-1.0, "illegal")
