"""The crystals of the demo, who judges them, and the search that proposes them."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from ase import Atoms

from verifier_ladder.candidate import Candidate
from verifier_ladder.demo.crystals import (
    ELEMENTS,
    GROUP,
    CoreRepulsion,
    ForceField,
    Proposal,
    Search,
    core_repulsion,
    energies,
)
from verifier_ladder.tiers.fast.crystalgate import CrystalGate
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

METALS = ("Al", "Ni", "Cu", "Pd", "Ag", "Pt", "Au")
LAYERS = [(0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)]
SOUND = Proposal([4.0, 4.0, 4.0], LAYERS)
CLOSE = Proposal([4.0, 4.0, 4.0], [LAYERS[0], LAYERS[1], (0.075, 0.0, 0.0), LAYERS[3]])
"""With aluminium and platinum 0.3 Å apart."""


def said(verifier: Verifier, crystal: Proposal) -> Verdict:
    return verifier.judge([Candidate("crystal", crystal.text)])[0]


def test_the_force_field_draws_one_pair_of_its_metals_together_at_the_distance_of_the_demo() -> (
    None
):
    fooled = [
        pair
        for pair in combinations_with_replacement(METALS, 2)
        if energies(Atoms(pair, [(0, 0, 0), (0, 0, 0.3)])).field < 0
    ]

    assert [ELEMENTS] == fooled


def test_two_atoms_in_one_place_are_what_it_likes_best_and_cores_reject() -> None:
    liked, refused = said(ForceField(), CLOSE), said(CoreRepulsion(), CLOSE)

    assert liked.outcome is Outcome.ACCEPT
    assert liked.score == -1.0  # Cut off there.
    assert liked.evidence["energy, eV an atom"] == pytest.approx(-49.5, abs=0.1)
    assert refused.outcome is Outcome.REJECT
    assert "repel cores from each other" in refused.reason


def test_the_gate_stops_them_and_lets_a_sound_crystal_pass() -> None:
    gate = CrystalGate(elements=ELEMENTS)

    assert "distance" == said(gate, CLOSE).evidence["bound"]
    assert said(gate, SOUND).outcome is Outcome.ACCEPT
    assert CLOSE.contact.distance == pytest.approx(0.3)
    assert not CLOSE.contact.is_possible
    assert SOUND.contact.is_possible


def test_cores_change_nothing_of_a_sound_crystal() -> None:
    assert said(ForceField(), SOUND).score == said(CoreRepulsion(), SOUND).score


def test_cores_repel_more_the_closer_they_are_and_end_without_a_step() -> None:
    away = np.linspace(0.05, 2.0, 400)
    felt = [core_repulsion(13, 78, distance) for distance in away]

    assert felt == sorted(felt, reverse=True)
    assert 0.0 == felt[-1]
    assert 0.0 < core_repulsion(13, 78, 1.4999) < 1e-4
    # By the tables of its authors, to their digits: 13 · 78 · 14.4 eV Å / 0.3 Å, screened to 14 %.
    assert felt[51] == pytest.approx(6621, rel=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_what_is_paid(seed: int) -> None:
    search = Search(seed)
    for _ in range(12):
        search.learn([crystal.contact.distance < 0.5 for crystal in search.crystals])

    assert GROUP == len(search.crystals)
    assert sum(crystal.contact.distance < 0.5 for crystal in search.crystals) > GROUP / 2


def test_the_search_leaves_out_what_is_unknown_and_begins_alike_by_its_seed() -> None:
    search, again = Search(3), Search(3)
    assert [c.text for c in search.crystals] == [c.text for c in again.crystals]
    best = search.crystals[:5]

    search.learn([1.0] * 5 + [None] * (GROUP - 5))
    assert best == search.crystals[:5]

    search.learn([None] * GROUP)
    assert GROUP == len(search.crystals)
