"""The group-contribution estimate."""

import csv
from importlib.resources import files

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.tiers.fast.hydration import HydrationEstimate, counts, groups
from verifier_ladder.tiers.fast.molecule import parse
from verifier_ladder.verdict import Outcome, Verdict


def estimate(smiles: str) -> Verdict:
    return HydrationEstimate().judge([Candidate("molecule", smiles)])[0]


def test_there_are_at_most_25_coefficients() -> None:
    assert len(groups()) <= 25


def test_every_group_is_counted() -> None:
    assert len(groups()) == len(counts(parse("CCO")))


@pytest.mark.parametrize(
    ("drier", "wetter"),
    [("C", "CO"), ("CCCCCC", "c1ccccc1"), ("COC", "CCO"), ("CCO", "OCCO"), ("OCCO", "OCC(O)CO")],
)
def test_more_polar_molecules_are_estimated_to_dissolve_better(drier: str, wetter: str) -> None:
    one, other = estimate(drier).score, estimate(wetter).score

    assert one is not None
    assert other is not None
    assert one > other


def test_measured_values_lie_within_the_declared_deviation_on_average() -> None:
    table = files("verifier_ladder.tiers.world").joinpath("hydration.csv").read_text("utf-8")
    rows = list(csv.DictReader(table.splitlines()))
    errors = [(estimate(row["smiles"]).score or 0.0) - float(row["value"]) for row in rows]

    spread = (sum(error**2 for error in errors) / len(errors)) ** 0.5

    assert spread < HydrationEstimate.deviation


def test_the_uncertainty_grows_with_the_estimate() -> None:
    small, large = estimate("CC").uncertainty, estimate("OCC(O)CO").uncertainty

    assert small is not None
    assert large is not None
    assert large > 2 * small


def test_a_molecule_beyond_the_fit_is_twice_as_uncertain() -> None:
    verdict = estimate("OCC(O)C(O)C(O)C(O)C(O)CO")

    assert verdict.score is not None
    assert verdict.uncertainty == pytest.approx(2 * 0.22 * abs(verdict.score), abs=2e-3)
    assert "alcohol" in verdict.evidence["beyond the fit"]


@pytest.mark.parametrize("smiles", ["[NH4+]", "C[SiH3]"])
def test_what_the_fit_has_not_seen_is_a_considered_abstention(smiles: str) -> None:
    verdict = estimate(smiles)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer


def test_the_spelling_does_not_matter() -> None:
    assert estimate("OCC").score == estimate("CCO").score
