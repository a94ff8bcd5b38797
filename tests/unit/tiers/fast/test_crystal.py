"""Crystals: one form for every description of one, and other forms for others."""

import sys
from typing import Any

import numpy as np
import pytest
from crystals import (
    PROTOTYPES,
    WRITERS,
    Solid,
    cell,
    chance,
    cif,
    copied,
    made,
    poscar,
    rattled,
    repeated,
)

from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.keys import content_key
from verifier_ladder.tiers.fast.crystal import CrystalCanonicaliser

SALT = PROTOTYPES["NaCl"]


def form(text: str, **settings: Any) -> str:
    return CrystalCanonicaliser(**settings).canonicalise(text)


def moved(solid: Solid, by: float) -> Solid:
    """With its last atom moved by so many Å."""
    places = solid.places.copy()
    places[-1] += np.array([by, 0.3 * by, 0.7 * by]) @ np.linalg.inv(solid.lattice)
    return solid._replace(places=places)


@pytest.mark.parametrize("name", PROTOTYPES)
def test_all_copies_of_a_crystal_have_one_key(name: str) -> None:
    draw = chance(name)
    solid = PROTOTYPES[name]
    files = [WRITERS[n % 3](copied(solid, draw)) for n in range(4)]

    keys = {content_key("crystal", form(text)) for text in (poscar(solid), *files)}

    assert 1 == len(keys)


@pytest.mark.parametrize("name", PROTOTYPES)
def test_a_canonical_form_is_its_own_canonical_form(name: str) -> None:
    once = form(poscar(PROTOTYPES[name]))

    assert once == form(once)


def test_a_crystal_without_any_symmetry_has_one_key_too() -> None:
    draw = chance(5)
    solid = rattled(repeated(PROTOTYPES["TiO2"], np.diag([1, 1, 2])), draw, 0.2)

    assert 1 == len({form(poscar(copied(solid, draw))) for _ in range(4)})


@pytest.mark.parametrize("name", ["NaCl", "TiO2", "SiO2", "KClO4-like"])
def test_an_edit_makes_another_crystal(name: str) -> None:
    solid = PROTOTYPES[name]
    other = Solid(["Rb", *solid.symbols[1:]], solid.lattice, solid.places)
    edited = [moved(solid, 0.02), solid.scaled(1.001), other]

    assert 4 == len({form(poscar(each)) for each in (solid, *edited)})


def test_mirror_images_are_one_crystal_only_where_they_coincide() -> None:
    for name, count in (("SiO2", 2), ("NaCl", 1), ("ZnO", 1)):
        solid = PROTOTYPES[name]
        mirrored = solid._replace(places=-solid.places % 1.0)

        assert count == len({form(poscar(solid)), form(poscar(mirrored))}), name


def test_atoms_that_are_images_within_the_tolerance_are_one() -> None:
    near = poscar(rattled(SALT, chance(1), 1e-4))

    assert "1 1" == form(near).splitlines()[6]
    assert "4 4" == form(near, tolerance=1e-5).splitlines()[6]


def test_the_smallest_cell_stands_for_a_crystal() -> None:
    lines = form(poscar(repeated(SALT, np.diag([2, 2, 2])))).splitlines()

    assert ["Na Cl", "1 1", "Direct"] == lines[5:8]


def test_two_descriptions_of_one_crystal_are_an_answer() -> None:
    said = f"```poscar\n{poscar(SALT)}```\nAs CIF:\n```cif\n{cif(copied(SALT, chance(2)))}```"

    assert form(poscar(SALT)) == form(said)


def test_two_crystals_are_a_hedge() -> None:
    said = f"```poscar\n{poscar(SALT)}```\n```poscar\n{poscar(PROTOTYPES['MgO'])}```"

    with pytest.raises(CandidateError, match="2 different answers"):
        form(said)


@pytest.mark.parametrize("content", ["", "NaCl", b"\xff\xfe", "C1CC1", "{}", "1.0\n" * 9])
def test_what_is_no_crystal_is_refused_with_advice(content: str | bytes) -> None:
    with pytest.raises(CandidateError) as caught:
        CrystalCanonicaliser().canonicalise(content)

    assert caught.value.feedback


@pytest.mark.parametrize(
    "bounds", [{"max_atoms": 0}, {"max_atoms": 10**6}, {"tolerance": 0.0}, {"tolerance": 1.0}]
)
def test_bounds_that_make_no_sense_are_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="max_atoms must be"):
        CrystalCanonicaliser(**bounds)


def test_settings_and_versions_are_part_of_the_canonicaliser() -> None:
    usual = CrystalCanonicaliser()

    assert usual.digest != CrystalCanonicaliser(tolerance=1e-4).digest
    assert {"ase", "spglib"} <= usual.settings.keys()


def test_without_the_library_nothing_is_held_against_a_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "spglib", None)

    with pytest.raises(ToolError, match="materials"):
        form(poscar(SALT))


@pytest.mark.parametrize("lattice", [(100, 20, 0.01), (900, 0.05, 900)])
def test_a_cell_in_which_an_atom_stands_in_itself_is_refused_before_its_symmetry_is_sought(
    lattice: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.tiers.fast.crystalform.ask_spglib", None)

    with pytest.raises(CandidateError, match="from its own image"):
        form(poscar(made("Cu", cell(*lattice), (0, 0, 0))))
