"""Conformers."""

from math import dist

import pytest

from verifier_ladder.errors import CandidateError, ToolError
from verifier_ladder.tiers.simulation import conformer as module
from verifier_ladder.tiers.simulation.conformer import UnsolvedError, conformer


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


def test_what_can_not_be_embedded_is_the_molecules() -> None:
    """A triple bond in a ring of three: it can't be bought again and again."""
    with pytest.raises(UnsolvedError, match="no three-dimensional geometry can be found"):
        conformer("C1#CC1")


def test_running_out_of_time_is_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 10.0))
    monkeypatch.setattr(module, "monotonic", lambda: next(times))

    with pytest.raises(ToolError, match="within 10 s"):
        conformer("C1#CC1")


def test_what_is_no_molecule_is_the_candidates_fault() -> None:
    with pytest.raises(CandidateError):
        conformer("C1CC")
