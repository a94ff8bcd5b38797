"""Conformers."""

from math import dist

import pytest

from verifier_ladder.errors import CandidateError, ToolError
from verifier_ladder.tiers.simulation.conformer import conformer


def test_a_geometry_holds_the_hydrogens() -> None:
    geometry = conformer("CO")

    assert [1, 1, 1, 1, 6, 8] == sorted(geometry.numbers)
    assert len(geometry.numbers) == len(geometry.positions)


def test_a_bond_has_its_length() -> None:
    geometry = conformer("O")

    assert dist(geometry.positions[0], geometry.positions[1]) == pytest.approx(0.97, abs=0.02)


def test_the_same_text_gives_the_same_geometry() -> None:
    assert conformer("CC(O)CN") == conformer("CC(O)CN")


def test_the_charge_is_known() -> None:
    assert 1 == conformer("C[NH3+]").charge


def test_what_can_not_be_embedded_is_a_failure_of_the_tool() -> None:
    """A trans double bond and a bridge in one small cage."""
    with pytest.raises(ToolError, match="no three-dimensional geometry"):
        conformer("C1=C2CC1(C2)C#CC", tries=1, timeout=1)


def test_what_is_no_molecule_is_the_candidates_fault() -> None:
    with pytest.raises(CandidateError):
        conformer("C1CC")
