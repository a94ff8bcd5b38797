"""The gate of crystals: what it lets through, and the bound that it names."""

import io
from collections.abc import Mapping
from typing import Any

import ase.io
import numpy as np
import pytest
from ase.data import covalent_radii
from ase.neighborlist import neighbor_list
from crystals import PROTOTYPES, Solid, cell, made, poscar
from numpy.linalg import det, norm

from verifier_ladder.candidate import Candidate
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.mutants import mutation_test
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.crystalfile import Crystal, read
from verifier_ladder.tiers.fast.crystalgate import CrystalGate, as_atoms, nearest
from verifier_ladder.verdict import Verdict

FROZEN = "0e96342c1bd7cdc94b33875e4add5684c94a6da778cf9963a63b87fd76f82b3b"
MODULES = [f"verifier_ladder.tiers.fast.crystal{name}" for name in ("file", "", "gate")]

WORDS = (
    "'larger' if is_dense else 'smaller' -> 'larger' if not is_dense else 'smaller'",
    "dense > self.density[1] -> dense <= self.density[1]",
    "volume < self.volume[0] -> volume >= self.volume[0]",
    "volume < -_LEAST_VOLUME -> volume >= -_LEAST_VOLUME",
)
"""Edits that change what a reject says, and not whether it is one."""


def loaded(text: str) -> Any:
    """A crystal as ASE reads it by itself."""
    if "1000000000" in text:
        raise ValueError("ASE would make a list of as many atoms, which takes minutes")
    kind = "cif" if "_cell" in text else "extxyz" if "Lattice" in text else "vasp"
    return ase.io.read(io.StringIO(text), format=kind)


def spread(text: str) -> float:
    """The least distance inside one cell."""
    atoms = loaded(text)
    away = atoms.get_all_distances()
    return float(away[~np.eye(len(atoms), dtype=bool)].min(initial=9.0))


class TestCrystalGate(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "ASE reads it": Twin(lambda text, _: len(loaded(text)) > 0),
        "atoms far apart in one cell": Twin(lambda text, _: spread(text) > 1.0),
        "a volume": Twin(lambda text, _: 4 < loaded(text).get_volume() / len(loaded(text)) < 130),
        "numbers": Twin(lambda text, _: "nan" not in text and "inf" not in text),
    }

    @pytest.fixture
    def verifier(self) -> CrystalGate:
        return CrystalGate()

    @pytest.fixture
    def candidates(self) -> list[Candidate]:
        return [Candidate("crystal", poscar(PROTOTYPES[name])) for name in ("NaCl", "Cu", "SiO2")]


def test_its_answer_key_is_the_frozen_one() -> None:
    assert FROZEN == AnswerKey.named("crystal-gate").frozen(363)


@pytest.mark.slow  # Each mutant reads three hundred crystals.
def test_mutants_of_it_are_noticed() -> None:
    key = AnswerKey.named("crystal-gate")
    survey = mutation_test(key, CrystalGate, MODULES, equivalent=WORDS)

    assert [] == survey.weaknesses, survey.survived


def said(solid: Solid, **settings: Any) -> Verdict:
    return CrystalGate(**settings).judge([Candidate("crystal", poscar(solid))])[0]


@pytest.mark.parametrize(
    ("solid", "bound"),
    [
        (made("Cu", cell(1.2, 5, 5), (0, 0, 0)), "distance"),
        (made("Cu Cu", cell(4, 4, 4), (0, 0, 0), (0.1, 0, 0)), "distance"),
        (made("Cu", cell(1.5, 1.5, 1.5), (0, 0, 0)), "volume"),
        (made("Cu", cell(6, 6, 6), (0, 0, 0)), "volume"),
        (made("H", cell(4.7, 4.7, 4.7), (0, 0, 0)), "density"),
        (PROTOTYPES["NaCl"], "elements"),
        (PROTOTYPES["SrTiO3"], "elements"),
        (PROTOTYPES["SiO2"], "atoms"),
    ],
)
def test_a_reject_names_its_bound_and_says_what_to_do(solid: Solid, bound: str) -> None:
    settings = {"elements": ["Cu", "H", "Si", "O"], "max_atoms": 8}
    verdict = said(solid, **settings)

    if bound == "atoms":  # The reader counts first.
        assert "no number of atoms from 1 to 8" in verdict.reason
    else:
        assert bound == verdict.evidence["bound"]
    assert verdict.feedback


@pytest.mark.parametrize("write", [np.eye(3), np.array([[1, 5, 0], [0, 1, 9], [0, 0, 1]])])
def test_the_cell_that_is_chosen_changes_nothing(write: Any) -> None:
    crystal = read(poscar(PROTOTYPES["NaCl"]), 200)
    skew = Solid(
        list(crystal.symbols), write @ crystal.lattice, crystal.places @ np.linalg.inv(write)
    )

    assert det(write) == pytest.approx(1)
    assert norm(skew.lattice) >= norm(crystal.lattice) - 1e-9
    assert said(skew).outcome == "accept"
    assert "distance" == said(skew.scaled(0.6)).evidence["bound"]


def listed(crystal: Crystal, ratio: float) -> tuple[tuple[str, str], float] | None:
    """The closest two atoms by a list of all neighbours, however many cells away."""
    atoms = as_atoms(crystal)
    first, second, away = neighbor_list("ijd", atoms, list(ratio * covalent_radii[atoms.numbers]))
    if not len(away):
        return None
    shares = away / (covalent_radii[atoms.numbers[first]] + covalent_radii[atoms.numbers[second]])
    worst = int(shares.argmin())
    one, other = sorted(crystal.symbols[place[worst]] for place in (first, second))
    return (one, other), float(away[worst])


@pytest.mark.parametrize("seed", range(4))
def test_the_closest_atoms_are_those_of_a_list_of_all_neighbours(seed: int) -> None:
    """Skew and flat cells, of a few atoms and of some dozens, at bounds of all sizes."""
    draw = np.random.default_rng(seed)
    found = 0
    for _ in range(8 if seed == 0 else 24):
        lattice = draw.normal(0, 1, (3, 3)) * draw.uniform(2, 7, (3, 1))
        lattice[0] *= np.sign(det(lattice))
        atoms = int(draw.integers(1, 30 if seed == 0 else 6))
        symbols = tuple(map(str, draw.choice(["H", "Al", "Pt", "Cs"], atoms)))
        crystal = Crystal(symbols, lattice, draw.random((atoms, 3)))
        ratio = float(draw.choice([0.3, 0.65, 1.5]))
        if det(lattice) < 8:
            continue
        expected, told = listed(crystal, ratio), nearest(crystal, ratio)
        assert (expected is None) == (told is None)
        if expected is not None and told is not None and told[1] != "its own image":
            assert expected[1] == pytest.approx(told[2])
            assert expected[0] == tuple(sorted(told[:2]))
            found += 1
    assert found > 0
