"""What the demo of a crystal notes of a generation: what is not known is left out."""

from math import isnan

import pytest

from verifier_ladder.demo.crystalpage import costs
from verifier_ladder.demo.crystals import ForceField, Proposal
from verifier_ladder.demo.crystalsearch import Generation, Pair, Trial, note
from verifier_ladder.reward import Reward

SOUND = Proposal([4.0] * 3, [(0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)])
PAID = Reward(0.6, 0.0, components={ForceField.name: 0.5})
REJECTED = Reward(0.0, 0.0, reason="too close")
UNKNOWN = Reward(None)


def paid(*rewards: Reward) -> float | None:
    trial = Trial("a")
    note(trial, [SOUND] * len(rewards), rewards, None, 0)
    return trial.generations[0].pays


def test_a_crystal_that_the_force_field_has_not_answered_is_not_paid_nothing() -> None:
    assert paid(PAID) == pytest.approx(0.6)
    assert paid(PAID, REJECTED) == pytest.approx(0.3)
    assert paid(PAID, UNKNOWN) == pytest.approx(0.6)
    assert paid(UNKNOWN) is None


def test_the_mean_of_generations_leaves_out_what_is_not_known() -> None:
    trial = Trial("a", [Generation(0, 0.4, None, None, 0), Generation(1, None, None, None, 0)])

    assert trial.mean("pays") == pytest.approx(0.4)
    assert isnan(trial.mean("true"))


def test_what_a_check_took_is_not_told_where_there_was_none() -> None:
    (row,) = (row for row in costs(Pair(Trial("a"), Trial("b"))) if row.what.startswith("to look"))

    assert ("–", "–") == (row.ungated, row.gated)
