"""Hydration free energies by xTB: real calculations on small molecules."""

import os
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.simulation.xtb import XtbHydration
from verifier_ladder.verdict import Outcome, Verdict


def hydration(smiles: str, **settings: Any) -> Verdict:
    return XtbHydration(**settings).judge([Candidate("molecule", smiles)])[0]


@pytest.mark.parametrize(
    ("smiles", "measured"), [("O", -6.31), ("CO", -5.10), ("C", 2.00), ("CCO", -5.00)]
)
def test_a_computed_value_lies_within_two_deviations_of_the_measured(
    smiles: str, measured: float
) -> None:
    verdict = hydration(smiles)

    assert Outcome.ACCEPT is verdict.outcome
    assert verdict.uncertainty is not None
    assert verdict.score == pytest.approx(measured, abs=2 * verdict.uncertainty)
    assert "kcal/mol" == verdict.unit


def test_water_takes_methanol_before_methane() -> None:
    methane, methanol, glycol = (hydration(s).score or 0.0 for s in ("C", "CO", "OCCO"))

    assert glycol < methanol < methane


def test_the_value_without_correction_is_kept() -> None:
    verdict = hydration("CO", corrected=False)

    assert verdict.score == verdict.evidence["as computed"]
    assert verdict.score == hydration("CO").evidence["as computed"]


def test_a_calculation_gives_the_same_number_again() -> None:
    assert hydration("CC(N)=O").score == hydration("CC(N)=O").score


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    hydration("O")

    assert ("", "") == tuple(capfd.readouterr())


def test_a_field_that_does_not_converge_is_a_failure_of_the_tool() -> None:
    verdict = hydration("CC(N)=O", max_iterations=2)

    assert Outcome.ABSTAIN is verdict.outcome
    assert "tool" == verdict.failed_at
    assert "xTB failed in the gas" in verdict.reason


def test_an_unknown_solvent_is_a_failure_of_the_tool() -> None:
    verdict = hydration("O", solvent="lemonade", corrected=False)

    assert "tool" == verdict.failed_at


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"method": "PM3"}, "write GFN1-xTB or GFN2-xTB"), ({"solvent": "hexane"}, "is for water")],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        XtbHydration(**settings)


def test_larger_molecules_are_expected_to_cost_more() -> None:
    verifier = XtbHydration()
    costs = [
        verifier.expected_cost(Candidate("molecule", smiles)).seconds
        for smiles in ("O", "c1ccccc1", "C" * 40)
    ]

    assert sorted(costs) == costs
    assert costs[0] < 0.1 < costs[2]


def test_a_worker_computes_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    XtbHydration().setup()

    assert "1" == os.environ["OMP_NUM_THREADS"]
