"""Structures reach a viewer as symbols and numbers, and whatever else a text holds does not."""

import re
from dataclasses import replace
from typing import Any

import pytest
from crystals import PROTOTYPES, poscar
from mmciffiles import mmcif
from peptides import HELIX, pdb, peptide

from verifier_ladder.artifact import Artifact
from verifier_ladder.candidate import Candidate
from verifier_ladder.report.structures import READERS, Format, Structure, structure_of
from verifier_ladder.verdict import Verdict

SALT = poscar(PROTOTYPES["NaCl"])
PEPTIDE = pdb(peptide("AAAA", HELIX))


def read(text: str, form: Format) -> Verdict:
    return READERS[form].judge([Candidate("text", text)])[0]


def shown(text: str, form: Format) -> Structure | None:
    return structure_of(read(text, form), form)


def test_a_crystal_is_told_with_the_atoms_on_all_faces_of_its_cell() -> None:
    made = shown(SALT, "xyz")
    assert made is not None
    head, lattice, *atoms = made.text.split("\n")

    assert made.name.startswith("ClNa, ")
    assert int(head) == len(atoms) > len(re.findall("Na|Cl", SALT))
    assert re.fullmatch(r'Lattice="(-?\d+\.\d{4} ?){9}"', lattice)
    assert {atom.split()[0] for atom in atoms} == {"Na", "Cl"}
    assert made.still is not None
    assert made.still.startswith('<svg class="crystal"')


def test_a_protein_is_told_atom_by_atom() -> None:
    made = shown(f"REMARK <script>\n{PEPTIDE}", "pdb")
    assert made is not None
    atoms = [line for line in made.text.splitlines() if line.startswith("ATOM")]

    assert "script" not in made.text
    assert {78} == set(map(len, atoms))
    assert made.name == "4 residues in 1 chain"


def test_a_protein_in_an_mmcif_file_is_that_of_its_pdb_file() -> None:
    water = "HETATM 98 O O . HOH W 1 ? 1.0 2.0 3.0 1 W 1"
    quoted = 'HETATM 99 O "O5\'" . GLC G 1 ? 1.0 2.0 3.0 1 G 1'
    other = "ATOM 97 N N . ALA LA 1 ? 9.0 9.0 9.0 1 AA 2"
    made = shown(mmcif(PEPTIDE, water, quoted, other), "pdb")

    assert made is not None
    assert made == shown(PEPTIDE, "pdb")


@pytest.mark.parametrize(
    "broken",
    [
        "ATOM 1 N",
        "ATOM 97 N N . ALA LA 9 ? nan 9.0 9.0 9 AA 1",
        "ATOM 97 <b> <b> . ALA LA 1 ? 9.0 9.0 9.0 1 AA 1",
        "ATOM 97 N N . ALA LA 99999 ? 9.0 9.0 9.0 99999 AA 1",
        "ATOM 97 N N . ALA LA 9 B 9.0 9.0 9.0 9 AA 1",
        "<script>",
    ],
)
def test_an_mmcif_file_that_is_broken_is_not_shown(broken: str) -> None:
    assert shown(mmcif(PEPTIDE, broken), "pdb") is None


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("", "xyz"), ("<script>alert(1)</script>", "xyz"), (SALT.replace("Na", "<b>"), "xyz"),
        ("\ud800", "xyz"), ("", "pdb"), ("ATOM  <img src=x>", "pdb"), (SALT, "pdb"),
    ],
)  # fmt: skip
def test_what_is_no_structure_is_not_shown(text: str, form: Format) -> None:
    assert shown(text, form) is None


@pytest.mark.parametrize(
    "told",
    [
        b'1\nLattice="1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0"\nNa 0.0 0.0 <b>',
        b'1\nLattice="<script>"\nNa 0.0 0.0 0.0', b"\xff", b"", b"Na" * 600_000,
    ],
)  # fmt: skip
def test_a_reader_that_was_taken_over_hands_on_nothing_else(told: bytes) -> None:
    said = read(SALT, "xyz")
    taken: Any = {"structure.txt": Artifact.of(told, "structure.txt")}

    assert structure_of(replace(said, artifacts=taken), "xyz") is None
