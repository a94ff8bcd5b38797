"""PDB files: what is read of them, and what no force field should see."""

import random

import numpy as np
import pytest
from peptides import (
    HELIX,
    LEFT,
    POLYPROLINE,
    STRAND,
    mirrored,
    moved,
    pdb,
    peptide,
    turned,
)

from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.protein import ATOMS, Protein, protein_of, rough_atoms

PEPTIDE = peptide("AGSVTI", POLYPROLINE)
TEXT = pdb(PEPTIDE)
FIRST = TEXT.splitlines()[0]


@pytest.mark.parametrize("shape", [HELIX, STRAND, POLYPROLINE, LEFT])
def test_all_atoms_are_read_whatever_the_fold(shape: tuple[float, float]) -> None:
    made = peptide("AAKAEG", shape)
    residues = protein_of(pdb(made)).residues

    assert ["ALA", "ALA", "LYS", "ALA", "GLU", "GLY"] == [each.name for each in residues]
    assert len(made) == sum(len(each.atoms) for each in residues)
    for atom in made:
        assert residues[atom.number - 1].atoms[atom.name] == pytest.approx(atom.at, abs=6e-4)


@pytest.mark.parametrize("sequence", ["AT", "IS", "WH", "PY", "QN", "RM", "DE", "FK", "LC", "GV"])
def test_each_amino_acid_has_the_atoms_and_the_hand_that_another_library_gives_it(
    sequence: str,
) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    molecule = chem.AddHs(chem.MolFromSequence(sequence), addResidueInfo=True)
    embed = pytest.importorskip("rdkit.Chem.rdDistGeom").EmbedMolecule

    assert not embed(molecule, randomSeed=7)
    lines = [line for line in chem.MolToPDBBlock(molecule).splitlines() if line[:4] == "ATOM"]
    text = "\n".join(lines)
    if sequence == "IS":  # RDKit bonds CD1 to what it calls CG2; in PDB files CG1 is that one.
        for old, new in (("CG1", "CGX"), ("CG2", "CG1"), ("CGX", "CG2")):
            text = text.replace(f" {old} ILE", f" {new} ILE")
    first, last = protein_of(text).residues

    assert {*ATOMS[first.name]} == {*first.atoms}
    assert {*ATOMS[last.name], "OXT"} == {*last.atoms}


def test_an_oxygen_that_a_file_leaves_out_stands_where_it_belongs() -> None:
    whole = protein_of(TEXT).residues[-1].atoms["OXT"]
    text = "\n".join(line for line in TEXT.splitlines() if "OXT" not in line)

    assert protein_of(text).residues[-1].atoms["OXT"] == pytest.approx(whole, abs=0.2)


def test_chains_end_where_the_file_says_so() -> None:
    second = moved(peptide("GG", STRAND, chain="B"), lambda rows: rows + 25.0)
    both = protein_of(TEXT.replace("END", "") + pdb(second))

    assert [6, 2] == [len(chain) for chain in both.chains]
    assert "GLY B2" == str(both.residues[-1])


def test_a_chain_without_a_letter_is_one_chain() -> None:
    blank = protein_of(TEXT.replace(" A  ", "    "))

    assert [6] == [len(chain) for chain in blank.chains]
    assert "ALA 1" == str(blank.residues[0])


def test_residue_eleven_of_no_chain_is_not_the_first_of_chain_one() -> None:
    def numbered(chain: str, number: int) -> str:
        lines = pdb(moved(peptide("G", STRAND), lambda rows: rows + 9.0 * number)).splitlines()
        return "\n".join(f"{line[:21]}{chain}{number:4}{line[26:]}" for line in lines[:-2])

    both = protein_of(f"{numbered(' ', 11)}\n{numbered('1', 1)}")

    assert [(" ", 11), ("1", 1)] == [each.place for each in both.residues]


def test_a_nitrogen_of_another_chain_is_not_bonded_to_a_carbonyl() -> None:
    fixed = peptide("G", STRAND)
    place = {each.name: each.at for each in fixed}
    normal = np.cross(place["CA"] - place["C"], place["O"] - place["C"])
    above = place["C"] + 1.8 * normal / np.linalg.norm(normal)
    other = turned(peptide("G", STRAND, chain="B"), 0)
    start = next(each.at for each in other if each.name == "N")

    with pytest.raises(CandidateError, match="C of GLY A1 and N of GLY B1 are closer"):
        protein_of(pdb([*fixed, *moved(other, lambda rows: rows - start + above)]))


def test_bonds_that_a_file_tells_are_not_read() -> None:
    told = protein_of(TEXT.replace("END", "CONECT    1   20\nEND"))

    assert np.array_equal(protein_of(TEXT).backbone, told.backbone)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT.replace(FIRST, FIRST[:30] + "     nan" + FIRST[38:]), "no three coordinates"),
        (TEXT.replace(FIRST, FIRST[:50]), "no three coordinates"),
        (TEXT.replace(FIRST, FIRST[:26] + "B" + FIRST[27:]), "an insertion code"),
        (TEXT.replace("ALA A   1", "UNK A   1"), "'UNK' is none of the twenty amino acids"),
        (TEXT.replace(FIRST, ""), "ALA A1 lacks N"),
        (TEXT.replace(FIRST, f"{FIRST}\n{FIRST}"), "atom N of ALA A1 comes twice"),
        (TEXT + "HETATM   99  O   HOH A  99       0.000", "'HOH', which is none"),
        (TEXT + TEXT, "residue A1 comes twice"),
        (f"MODEL 1\n{TEXT}MODEL 2\n{TEXT}", "several models"),
        (pdb(mirrored(PEPTIDE)), "not of the hand of L-amino acids"),
        (pdb(moved(PEPTIDE, lambda rows: 1.5 * rows)), "are bonded and 2.19 Å apart"),
        (pdb([each for each in PEPTIDE if each.number != 3]), "GLY A2 and VAL A4 are not bonded"),
        (pdb([*PEPTIDE, *peptide("AA", STRAND, chain="B")]), "are closer than 1.9 Å"),
        (f"```pdb\n{TEXT}```\n```pdb\n{pdb(turned(PEPTIDE, 1))}```", "2 different answers"),
        (TEXT.replace("ALA", "\u0410LA"), "ASCII"),
        ("AGSVTI", "line 1 is no record of a PDB file"),
        ("HEADER\nEND", "no ATOM record"),
    ],
)
def test_what_is_no_sound_protein_is_rejected_with_advice(text: str, reason: str) -> None:
    with pytest.raises(CandidateError, match=reason) as caught:
        protein_of(text)

    assert caught.value.feedback


def test_a_side_chain_has_a_hand_of_its_own() -> None:
    atoms = peptide("AIA", STRAND)
    names = {"CG1": "CG2", "CG2": "CG1"}
    place = {each.name: each.at for each in atoms if each.number == 2}
    other = [
        each._replace(name=names.get(each.name, each.name)) if each.number == 2 else each
        for each in atoms
        if each.name != "CD1"
    ]
    far = 2 * place["CG2"] - place["CB"]
    other.insert(5, next(a for a in atoms if a.name == "CD1")._replace(at=far + 0.2))

    with pytest.raises(CandidateError, match="CB of ILE A2 is not of the hand"):
        protein_of(pdb(other))


def test_more_residues_than_are_allowed_are_not_read() -> None:
    with pytest.raises(CandidateError, match="more than 5 residues"):
        protein_of(TEXT, 5)


def test_the_number_of_atoms_is_guessed_from_the_text() -> None:
    assert 2 * len(PEPTIDE) == rough_atoms(TEXT)
    assert 2 * len(PEPTIDE) == rough_atoms(TEXT.replace("ATOM  ", " ATOM "))
    assert 0 == rough_atoms("AGSVTI") == rough_atoms("ATOM  \n" * 9) == rough_atoms(TEXT, 5)
    assert 2 * len(PEPTIDE) == rough_atoms(TEXT * 9, 6)


def _edited(text: str, draw: random.Random) -> str:
    """One to three edits of lines, columns and characters."""
    for _ in range(draw.randint(1, 3)):
        lines = text.split("\n")
        at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
        line = lines[at]
        place = draw.randrange(len(line) + 1)
        letter = chr(draw.choice([draw.randrange(128), draw.randrange(48, 58), 45, 46, 32]))
        edit = draw.randrange(6)
        if edit == 0:
            lines[at] = line[:place] + letter + line[place + 1 :]
        elif edit == 1:
            lines[at] = line[:place] + letter * draw.choice([1, 9, 5000]) + line[place:]
        elif edit == 2:
            lines[at] = line[:place]
        elif edit == 3:
            lines[at], lines[to] = lines[to], line
        elif edit == 4:
            lines.insert(to, line)
        else:
            del lines[at]
        text = "\n".join(lines)
    return text


def test_a_spoiled_file_gives_a_sound_protein_or_a_reject() -> None:
    draw, kept = random.Random(87), 0  # noqa: S311 - the same each time

    for _ in range(1500):
        try:
            found = protein_of(_edited(TEXT, draw))
        except CandidateError:
            continue
        kept += 1
        assert isinstance(found, Protein)
        assert np.isfinite(found.backbone).all()
        assert np.abs(found.backbone).max() <= 1000

    assert 50 < kept < 1000
