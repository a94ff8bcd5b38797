"""Files of crystals: what they hold, and that no text gets further than a complaint."""

import re
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from crystals import PROTOTYPES, WRITERS, Solid, cell, chance, cif, copied, made, poscar, xyz

from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.crystalfile import Crystal, read
from verifier_ladder.tiers.fast.crystalgate import Bounds

SALT = PROTOTYPES["NaCl"]
BAITS = (
    "nan", "inf", "-1", "0", "1e99", "1e-99", "1e999", "9" * 400, "1000000000", "0x1", "1_0",
    "1,5", "٣", "T", "Xx", "H", "D", "/etc/passwd", "../POSCAR", "$(id)", "`id`", "'", '"', ";",
    "__import__('os')", "#", "loop_", "data_x", "save_x", "_cell_length_a", "?", ".", "x,y,z",
    "x" * 900, "Lattice=", "pbc=", "\0", "\x1b[31m", "\ud800", "\u202e", "é", "(", "Direct",
    "Cartesian",
)  # fmt: skip
"""What is written in the place of a word."""


def mutated(text: str, draw: Random) -> str:
    """A file with one edit or a few."""
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        lines = text.split("\n")
        place = draw.randrange(len(lines))
        line = lines[place]
        words = re.split(r"(\s+)", line)
        word = draw.randrange(len(words))
        edits = {
            "drop": [],
            "repeat": [line, line],
            "lengthen": [line * 50],
            "insert": [draw.choice(BAITS), line],
            "cut": [line[: draw.randrange(len(line) + 1)]],
            "bait": ["".join([*words[:word], draw.choice(BAITS), *words[word + 1 :]])],
            "digit": [re.sub(r"[0-9]", lambda _: draw.choice("0123456789"), line, count=9)],
            "sign": [line.replace(" ", " -", 1)],
            "swap": [lines[draw.randrange(len(lines))]],
            "end": [],
        }
        kind = draw.choice([*edits, "digit", "digit", "sign"])
        lines[place : None if kind == "end" else place + 1] = edits[kind]
        text = "\n".join(lines) or "\n"
    return text


def outcome(text: str) -> Crystal | CandidateError:
    try:
        return read(text, 200)
    except CandidateError as error:
        return error


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_mutated_file_is_a_crystal_or_a_complaint(write: Callable[[Solid], str]) -> None:
    draw = chance(write.__name__)
    solids = list(PROTOTYPES.values())

    found = [outcome(mutated(write(solids[n % len(solids)]), draw)) for n in range(400)]
    complaints = [each for each in found if isinstance(each, CandidateError)]
    crystals = [each for each in found if isinstance(each, Crystal)]

    assert min(len(complaints), len(crystals)) > 20
    assert all(error.feedback and str(error).isprintable() for error in complaints)
    for crystal in crystals:
        assert np.isfinite(crystal.lattice).all()
        assert np.isfinite(crystal.places).all()
        assert len(crystal.places) == len(crystal.symbols) <= 200
        assert crystal.volume > 0
        Bounds().flaw(crystal)


@pytest.mark.parametrize("name", PROTOTYPES)
def test_three_formats_hold_the_same_crystal(name: str) -> None:
    solid = copied(PROTOTYPES[name], chance(name))
    crystals = [read(write(solid), 200) for write in WRITERS]

    for crystal in crystals:
        assert list(crystal.symbols) == solid.symbols
        assert crystal.volume == pytest.approx(solid.volume, rel=1e-7)
        assert distances(crystal) == pytest.approx(distances(crystals[0]), abs=1e-6)


def distances(crystal: Crystal) -> list[float]:
    """Of all pairs, the nearest images."""
    steps = crystal.places[:, None] - crystal.places[None]
    images = np.array(np.meshgrid(*[[-1, 0, 1]] * 3)).reshape(3, -1).T
    all_ = (steps - np.rint(steps))[..., None, :] + images
    return sorted(np.linalg.norm(all_ @ crystal.lattice, axis=-1).min(axis=-1).ravel())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "neither CIF, POSCAR nor extended XYZ"),
        ("x" * 1001, "a line is longer than 1000 characters"),
        ("x\n" * 60_000, "120000 characters long; at most 100000"),
        (
            poscar(SALT).replace("\n4 4\n", "\n4 1000000000\n"),
            "'1000000000' is no number of atoms",
        ),
        (poscar(SALT).replace("0.5000000000", "nan"), "'nan' is no number"),
        (poscar(SALT).replace("0.5000000000", "1e5"), "'1e5' is no number up to 10000"),
        (poscar(SALT).replace("Na Cl", "Na \x1b[31mCl"), "is no known element"),
        (poscar(SALT._replace(lattice=SALT.lattice[[1, 0, 2]])), "a negative volume"),
        (poscar(SALT.scaled(200)), "the cell is longer than 1000 Å"),
        (poscar(made("Na", cell(900, 900, 0.005), (0, 0, 0))), "flatter than 0.01 Å"),
        (xyz(SALT).replace("Lattice", "Cell"), "no Lattice of nine numbers"),
        (cif(SALT, operations=("x,y,z", "__import__('os'),y,z")), "no operation of symmetry"),
        (cif(SALT, operations=("x,y,z",) * 193), "193 operations"),
        (cif(SALT, operations=("x,y,z", "x,y,1/0-z")), "no operation of symmetry"),
        (cif(SALT).replace("_cell_angle_alpha 90", "_cell_angle_alpha 0"), "no cell has"),
    ],
)
def test_what_is_no_crystal_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(CandidateError, match=re.escape(complaint)):
        read(text, 200)


def with_columns(names: str, *values: str) -> str:
    """Salt as extended XYZ with more columns, whose values are taken in turns."""
    head, row, *rows = xyz(SALT).replace(":pos:R:3", f":pos:R:3:{names}").split("\n", 2)
    atoms = rows[0].rstrip().split("\n")
    told = [f"{atom} {values[place % len(values)]}" for place, atom in enumerate(atoms)]
    return "\n".join([head, row, *told])


def with_fields(fields: str) -> str:
    return xyz(SALT).replace("Properties=", f"{fields} Properties=")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (with_fields("charge=1"), "tells a charge"),
        (with_fields('total_charge="-2.0"'), "tells a charge"),
        (with_fields("charge=nan"), "charge 'nan' is no number"),
        (with_fields("spin=2"), "tells magnetic moments"),
        (with_fields("multiplicity=3"), "tells magnetic moments"),
        (with_columns("initial_charges:R:1", "0.9", "-0.8"), "tells a charge"),
        (with_columns("magmoms:R:1", "2.0", "-2.0"), "tells magnetic moments"),
        (with_columns("Initial_MagMoms:R:3", "0 0 1.5"), "tells magnetic moments"),
        (with_columns("magmoms:R:1:magmoms:R:1", "2 0"), "two columns of one name"),
        (with_fields("charge=0 charge=2"), "the field charge twice"),
        (f"{cif(SALT)}\n_space_group_magn.number_BNS 1.1\n", "the CIF tells magnetic moments"),
        (
            f"{cif(SALT)}\nloop_\n_atom_site_moment_label\n_atom_site_moment_crystalaxis_x\nNa 2",
            "the CIF tells magnetic moments",
        ),
    ],
)
def test_charges_and_moments_that_no_form_has_room_for_are_not_dropped_in_silence(
    text: str, complaint: str
) -> None:
    with pytest.raises(CandidateError, match=complaint) as found:
        read(text, 200)

    assert found.value.feedback


@pytest.mark.parametrize(
    "text",
    [
        with_fields('charge=0 spin=1 energy=-27.3 stress="0 0 0 0 0 0 0 0 0"'),
        with_columns("charges:R:1:forces:R:3", "0.86 0 0 1", "-0.861 0 0 -1"),
        with_columns("magmoms:R:1", "0.0", "-0.003"),
        cif(SALT).replace(" Na ", " Na1+ ").replace(" Cl ", " Cl1- "),
    ],
    ids=["neutral", "charges of atoms", "no moments", "oxidation numbers"],
)
def test_what_a_calculator_said_of_a_neutral_crystal_is_passed_over(text: str) -> None:
    assert read(xyz(SALT), 200).symbols == read(text, 200).symbols


def test_operations_make_the_other_atoms() -> None:
    quartz = PROTOTYPES["SiO2"]
    distinct = Solid(["Si", "O"], quartz.lattice, quartz.places[[0, 3]])
    operations = (
        "x,y,z",
        "-y,x-y,z+1/3",
        "-x+y,-x,2/3+z",
        "y,x,-z",
        "x-y,-y,2/3-z",
        "-x,y-x,1/3-z",
    )

    crystal = read(cif(distinct, operations=operations, digits=4), 200)

    assert ("Si",) * 3 + ("O",) * 6 == crystal.symbols
    whole = read(cif(quartz), 200)
    assert distances(crystal) == pytest.approx(distances(whole), abs=2e-3)


def test_digits_in_doubt_are_left_out() -> None:
    crystal = read(cif(SALT).replace("5.6400000000", "5.640(12)"), 200)

    assert 5.64**3 == pytest.approx(crystal.volume)


@pytest.mark.parametrize(
    ("symbols", "name"),
    [(["Cu"] * 4, "Cu"), (["O", "Si", "O"], "O2Si"), (["Na", "Cl"] * 4, "ClNa")],
)
def test_a_formula_is_in_lowest_terms(symbols: list[str], name: str) -> None:
    assert name == Crystal(tuple(symbols), np.eye(3), np.zeros((len(symbols), 3))).formula
