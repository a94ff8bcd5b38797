"""Hydration free energies by xTB: real calculations on small molecules."""

import os
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.simulation.conformer import (
    DivergedError,
    Geometry,
    UnsolvedError,
    conformer,
)
from verifier_ladder.tiers.simulation.xtb import ATTEMPTS, WATER, State, Xtb, XtbHydration
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


def test_a_molecule_that_no_force_field_knows_is_declined_and_kept() -> None:
    verdict = hydration("FS(F)(F)(F)(F)F")

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.failed_at is None
    assert "parameters" in verdict.reason


@pytest.mark.parametrize(
    ("smiles", "told"),
    [("[CH3]", "unpaired"), ("[CH2]", "unpaired"), ("C[NH3+]", "not of ions"), ("[F-]", "ions")],
)
def test_what_the_correction_was_not_fitted_to_is_declined_and_kept(
    smiles: str, told: str
) -> None:
    verdict = hydration(smiles)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert told in verdict.reason


@pytest.mark.parametrize("smiles", ["O.O", "[Na+].[Cl-]", "*C"])
def test_what_is_no_single_molecule_is_rejected(smiles: str) -> None:
    assert Outcome.REJECT is hydration(smiles).outcome


def test_of_an_ion_there_is_what_was_computed_and_no_deviation() -> None:
    ion, molecule = (hydration(smiles, corrected=False) for smiles in ("C[NH3+]", "CN"))

    assert ion.score is not None
    assert ion.score < -50
    assert ion.uncertainty is None
    assert 2.0 == molecule.uncertainty


@pytest.mark.parametrize(
    ("settings", "deviation"),
    [
        ({}, 1.8), ({"corrected": False}, 2.0), ({"method": "GFN1-xTB"}, 1.6),
        ({"corrected": False, "solvent": "hexane"}, None), ({"conformers": 1}, None),
    ],
)  # fmt: skip
def test_a_deviation_is_declared_of_what_was_measured(
    settings: dict[str, Any], deviation: float | None
) -> None:
    assert deviation == XtbHydration(**settings).deviation


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


# ---- What a field that does not converge amounts to


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Attempts that converge for no molecule but water."""
    failing: set[str] = set()
    solve = Xtb._attempt

    def attempt(self: Xtb, geometry: Geometry, added: int, solvent: str, name: str) -> State:
        if name in failing and geometry is not WATER:
            raise RuntimeError("SCF not converged")
        return solve(self, geometry, added, solvent, name)

    monkeypatch.setattr(Xtb, "_attempt", attempt)
    return failing


def test_a_fallback_gives_the_same_value_and_is_told(stubborn: set[str]) -> None:
    usual = hydration("CO")
    stubborn.add("")

    verdict = hydration("CO")

    assert usual.score == pytest.approx(verdict.score, abs=1e-3)
    assert ["damped"] == verdict.evidence["fallbacks"]
    assert "fallbacks" not in usual.evidence


def test_what_does_not_converge_beside_a_control_is_declined_and_kept(stubborn: set[str]) -> None:
    stubborn.update(ATTEMPTS)

    verdict = hydration("CO")

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.failed_at is None
    assert "SCF not converged; it works for water" in verdict.reason


def test_what_does_not_converge_has_diverged_as_geometries_do(stubborn: set[str]) -> None:
    stubborn.update(ATTEMPTS)

    with pytest.raises(DivergedError, match="it works for water"):
        Xtb("GFN2-xTB", 250).relaxed(conformer("CO"))


def test_an_element_without_parameters_has_not_diverged() -> None:
    uranium = Geometry((92,), ((0.0, 0.0, 0.0),), 0)

    with pytest.raises(UnsolvedError, match="no parameters for element 92") as told:
        Xtb("GFN2-xTB", 250).state(uranium)

    assert not isinstance(told.value, DivergedError)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_no_attempt_moves_the_result(attempt: str) -> None:
    xtb, geometry = Xtb("GFN2-xTB", 250), conformer("CC(N)=O")

    state = xtb._attempt(geometry, 0, "water", attempt)

    assert state.energy == pytest.approx(xtb.state(geometry, solvent="water").energy, abs=1e-6)


def test_forces_are_slopes_of_the_energy() -> None:
    xtb, step = Xtb("GFN2-xTB", 250), 1e-3

    def moved(by: float) -> Geometry:
        (x, y, z), *others = WATER.positions
        return WATER._replace(positions=((x, y, z + by), *others))

    rise = xtb.state(moved(step)).energy - xtb.state(moved(-step)).energy

    slope = rise / (2 * step * 1.8897261246257702)
    assert -slope == pytest.approx(xtb.state(WATER).forces[0][2], abs=1e-4)


def test_a_relaxed_geometry_has_no_forces_and_the_same_bonds() -> None:
    xtb = Xtb("GFN2-xTB", 250)

    relaxed = xtb.relaxed(conformer("C=O"))

    assert abs(xtb.state(relaxed).forces).max() < 0.002
    assert xtb.state(relaxed).energy < xtb.state(conformer("C=O")).energy


def test_what_changes_its_bonds_as_it_relaxes_is_declined() -> None:
    """A hydrogen of water that begins too far off to be bonded."""
    xtb = Xtb("GFN2-xTB", 250)
    far = WATER._replace(positions=((0.0, 0.0, 0.0), (0.0, 0.0, 0.96), (0.0, 0.0, -1.4)))

    with pytest.raises(UnsolvedError, match="bonds change"):
        xtb.relaxed(far)
