"""Files of models as libraries write them: with waters, ions, ligands, alternate places, no names.

All are synthetic, written by gemmi and biotite: no predictor was run.
"""

import json
from collections import Counter
from collections.abc import Callable
from io import StringIO
from typing import Any

import gemmi
import numpy as np
import pytest
from structurefiles import ending, left, usual
from synthetic_folds import LAYOUTS, folded, mmcif, packed, pdb

from verifier_ladder.tiers.simulation.predictors import PROFILES, Prediction, Request
from verifier_ladder.tiers.simulation.proteinmodel import (
    CROWD,
    Model,
    OutputError,
    crowd,
    geometry,
    read_model,
)

ONE, OTHER = "MKTAYIAK", "GSSW"
CHAINS = (ONE, OTHER)
BESIDE = {"ZN": 1, "HOH": 2, "LIG": 1}


def plain() -> gemmi.Structure:
    return gemmi.read_pdb_string(pdb(usual(CHAINS)))


def beside(structure: gemmi.Structure, chain: str = "A") -> gemmi.Structure:
    """The same with an ion, two waters and a ligand of two atoms, in a chain of some name."""
    place = structure[0].find_chain(chain) or structure[0].add_chain(chain)
    for number, (name, atoms) in enumerate((
        ("ZN", ("ZN",)), ("HOH", ("O",)), ("HOH", ("O",)), ("LIG", ("C1", "O1"))
    ), 101):  # fmt: skip
        residue = gemmi.Residue()
        residue.name, residue.seqid, residue.het_flag = name, gemmi.SeqId(number, " "), "H"
        for atom_name in atoms:
            atom = gemmi.Atom()
            atom.name = atom_name
            atom.element = gemmi.Element("Zn" if name == "ZN" else atom_name[0])
            atom.pos = gemmi.Position(number - 90, 40, len(residue))
            residue.add_atom(atom)
        place.add_residue(residue)
    structure.setup_entities()
    structure.assign_serial_numbers()
    return structure


def as_pdb(structure: gemmi.Structure) -> str:
    return structure.make_pdb_string()


def as_mmcif(structure: gemmi.Structure) -> str:
    structure.name = "fold"
    return structure.make_mmcif_document().as_string()


def by_biotite(form: str) -> Callable[[gemmi.Structure], str]:
    def write(structure: gemmi.Structure) -> str:
        from biotite.structure.io import pdb as pdb_files
        from biotite.structure.io import pdbx

        atoms = pdb_files.PDBFile.read(StringIO(as_pdb(structure))).get_structure(model=1)
        file = pdb_files.PDBFile() if form == "pdb" else pdbx.CIFFile()
        (file.set_structure if form == "pdb" else lambda a: pdbx.set_structure(file, a))(atoms)
        stream = StringIO()
        file.write(stream)
        return stream.getvalue()

    return write


WRITERS = {
    "gemmi's PDB": ("pdb", as_pdb), "gemmi's mmCIF": ("cif", as_mmcif),
    "biotite's PDB": ("pdb", by_biotite("pdb")), "biotite's mmCIF": ("cif", by_biotite("cif")),
}  # fmt: skip


def read(text: str, form: str, *chains: str) -> Model:
    return read_model(text.encode(), form, chains or CHAINS)


@pytest.mark.parametrize("writer", WRITERS)
def test_what_libraries_write_is_read_as_it_was(writer: str) -> None:
    form, write = WRITERS[writer]

    model = read(write(plain()), form)

    assert np.array([a.place for a in usual(CHAINS).atoms]) == pytest.approx(model.atoms, abs=1e-3)
    assert {} == model.besides


# ---- What stands beside a protein


@pytest.mark.parametrize("chain", ["A", "X"])
@pytest.mark.parametrize("writer", WRITERS)
def test_waters_ions_and_ligands_are_counted_and_left_out(writer: str, chain: str) -> None:
    form, write = WRITERS[writer]
    alone = read(pdb(usual(CHAINS)), "pdb")

    model = read(write(beside(plain(), chain)), form)

    assert BESIDE == model.besides
    assert (12, 12 + 5) == model.sizes
    assert alone.atoms == pytest.approx(model.atoms, abs=1e-3)
    assert geometry(alone) == pytest.approx(geometry(model), abs=0.05)


def anew(text: str) -> str:
    """The same with the atoms of each chain numbered from 1."""
    counts = Counter[str]()

    def number(chain: str) -> int:
        counts[chain] += 1
        return counts[chain]

    if "_atom_site" not in text:
        return "\n".join(
            f"{line[:6]}{number(line[21]):5d}{line[11:]}"
            if line.startswith(("ATOM", "HETATM")) else line for line in text.split("\n")
        )  # fmt: skip
    document = gemmi.cif.read_string(text)
    block = document.sole_block()
    ids, chains = (block.find_values(f"_atom_site.{name}") for name in ("id", "auth_asym_id"))
    for place, chain in enumerate(chains):
        ids[place] = str(number(chain))
    return document.as_string()


@pytest.mark.parametrize("numbered", [str, anew], ids=["through the file", "in each chain"])
@pytest.mark.parametrize("are_told", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_confidences_are_those_of_the_protein_whether_others_are_told_or_not(
    layout: str,
    are_told: bool,  # noqa: FBT001 - a parameter of the test
    numbered: Callable[[str], str],
) -> None:
    files = LAYOUTS[layout](usual(CHAINS))
    with left(files) as output:
        alone = PROFILES[layout].read(output, Request(CHAINS))
    model = ending(files, ".pdb" if layout == "colabfold" else ".cif")
    # The chain of one residue's ligand stands between those of the protein.
    structure = gemmi.read_pdb_string(pdb(usual(CHAINS)))
    other = structure[0]["B"].clone()
    structure[0].remove_chain("B")
    beside(structure, "X")[0].add_chain(other)
    structure.assign_serial_numbers()
    files[model] = numbered((as_pdb if layout == "colabfold" else as_mmcif)(structure))
    if are_told:
        told_of(files, layout)

    with left(files) as output:
        said: Prediction = PROFILES[layout].read(output, Request(CHAINS))

    assert BESIDE == said.model.besides
    assert alone.plddt == pytest.approx(said.plddt, abs=1e-3)
    assert alone.pae == pytest.approx(said.pae, abs=1e-4)


def test_more_atoms_than_a_pdb_file_has_numbers_for_stand_where_they_are_written() -> None:
    atom = "HETATM    1  C1  LIG X   1      10.000  10.000  10.000  1.00  0.00           C  \n"

    model = read(atom * 100_000 + pdb(usual(CHAINS)).removeprefix("MODEL     1\n"), "pdb")

    assert (12, 12 + 100_000) == model.sizes
    assert [*range(100_000, 100_012)] == model.tokens.tolist()


@pytest.mark.parametrize("writer", ["gemmi's PDB", "gemmi's mmCIF"])
def test_of_a_residue_whose_atoms_stand_apart_no_order_is_guessed(writer: str) -> None:
    form, write = WRITERS[writer]
    lines = write(plain()).split("\n")
    own = [place for place, line in enumerate(lines) if line.startswith("ATOM")]
    size = sum(atom.chain == 0 for atom in usual(CHAINS).atoms)
    lines.insert(own[size - 1], lines.pop(own[0]))

    with pytest.raises(OutputError, match="residue A 1 do not stand together in the model"):
        read("\n".join(lines), form)


def test_atoms_behind_the_end_of_a_model_are_not_passed_over() -> None:
    with pytest.raises(OutputError, match="or stand behind its end"):
        read(as_pdb(plain()) + "ATOM" + as_pdb(plain()).partition("ATOM")[2], "pdb")


def told_of(files: dict[str, Any], layout: str) -> None:
    """Confidences of five tokens more, which stand behind those of the first chain."""
    fold = usual(CHAINS)
    plddt = np.insert(np.array(fold.plddt), [len(ONE)] * 5, 99.0)
    pae = np.insert(np.insert(np.array(fold.pae), [len(ONE)] * 5, 29, 0), [len(ONE)] * 5, 29, 1)
    if layout == "boltz":
        files[ending(files, "plddt_fold_model_0.npz")] = packed(
            plddt=(plddt / 100).astype(np.float32)
        )
        files[ending(files, "pae_fold_model_0.npz")] = packed(pae=pae.astype(np.float32))
        name = ending(files, "confidence_fold_model_0.json")
        files[name] = json.dumps({
            **json.loads(files[name]), "complex_plddt": float(plddt.mean()) / 100
        })  # fmt: skip
        return
    name = ending(files, "fold_confidences.json" if layout == "alphafold3" else ".json")
    name = name if layout == "alphafold3" else next(n for n in files if "scores" in n)
    said = json.loads(files[name])
    if layout == "alphafold3":
        count = sum(atom.chain == 0 for atom in fold.atoms)
        said["atom_plddts"][count:count] = [99.0] * 5
        said["token_res_ids"][len(ONE) : len(ONE)] = [1] * 5
    else:
        said["plddt"] = plddt.tolist()
    files[name] = json.dumps({**said, "pae": pae.tolist()})


@pytest.mark.parametrize("name", ["MSE", "DA", "U", "DAL"])
def test_what_belongs_into_a_chain_is_not_left_out(name: str) -> None:
    structure = beside(plain())
    structure[0]["A"][-1].name = name

    with pytest.raises(OutputError, match=f"is {name}, no amino acid"):
        read(as_pdb(structure), "pdb")


def test_waters_without_end_are_not_parsed() -> None:
    water = "HETATM    1  O   HOH W   1      10.000  10.000  10.000  1.00  0.00           O  \n"

    with pytest.raises(OutputError, match="more than the protein could have"):
        read(pdb(usual(CHAINS)) + water * 300_001, "pdb")


# ---- Alternate places


@pytest.mark.parametrize("writer", ["gemmi's PDB", "gemmi's mmCIF"])
@pytest.mark.parametrize("likely", ["A", "B"])
def test_of_alternate_places_the_likelier_is_read(writer: str, likely: str) -> None:
    form, write = WRITERS[writer]
    structure = plain()
    residue = structure[0]["A"][2]
    others = [atom.clone() for atom in residue]
    for label, atoms in (("A", residue), ("B", others)):
        for atom in atoms:
            atom.altloc, atom.occ = label, 0.7 if likely == label else 0.3
    for other in others:
        other.pos = gemmi.Position(other.pos.x, other.pos.y, other.pos.z + 1)
        residue.add_atom(other)
    alone = read(pdb(usual(CHAINS)), "pdb")

    model = read(write(structure), form)

    moved = np.array([0, 0, 1.0 if likely == "B" else 0.0])
    assert alone.backbone[2] + moved == pytest.approx(model.backbone[2], abs=1e-3)
    assert alone.backbone[3] == pytest.approx(model.backbone[3], abs=1e-3)
    assert alone.names == model.names


# ---- Chains without names


def test_chains_without_names_are_told_apart_by_what_ends_them() -> None:
    text = as_pdb(beside(plain(), "X"))
    nameless = "\n".join(
        line[:21] + " " + line[22:] if line.startswith(("ATOM", "HETATM", "TER")) else line
        for line in text.split("\n")
    )

    assert CHAINS == read(nameless, "pdb").chains
    with pytest.raises(OutputError, match="2 were asked for"):
        read(nameless.replace("TER", "REM"), "pdb")


def test_chains_of_which_authors_say_no_name_have_their_other_one() -> None:
    rows = [line.split(" ") for line in mmcif(usual(CHAINS)).split("\n")]
    nameless = "\n".join(
        " ".join([*row[:16], "?", row[17]] if row[0] == "ATOM" else row) for row in rows
    )

    assert CHAINS == read(nameless, "cif").chains


# ---- Chains that have collapsed


def test_a_chain_that_has_collapsed_is_measured() -> None:
    fold = usual((ONE * 4,))
    small = fold.moved({n: 0.1 * np.array(atom.place) for n, atom in enumerate(fold.atoms)})

    model = read(mmcif(small), "cif", *small.chains)

    assert crowd(model) > CROWD >= crowd(read(mmcif(fold), "cif", *fold.chains))
    assert all(np.isfinite([*geometry(model).values()]))


def test_a_model_of_zeros_is_none() -> None:
    fold = folded((ONE,))
    zeros = fold.moved(dict.fromkeys(range(len(fold.atoms)), (0.0, 0.0, 0.0)))

    with pytest.raises(OutputError, match="in a cube of no width"):
        read(mmcif(zeros), "cif", ONE)
