"""What predictors leave: read whole or not at all, and measured by its coordinates.

All files are synthetic, made by `tools/synthetic_folds.py`: no predictor was run.
"""

import ast
import inspect
import json
import os
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import gemmi
import numpy as np
import pytest
from structurefiles import EDITS, FOLDS, StructureFiles, ending, files_of, left, usual
from synthetic_folds import LAYOUTS, boltz, colabfold, folded, mmcif, packed, pdb, written

from verifier_ladder.testing.answerkey import AnswerKey, Twin
from verifier_ladder.testing.mutants import mutation_test, mutations
from verifier_ladder.tiers.simulation.modelagreement import agreement
from verifier_ladder.tiers.simulation.predictors import PROFILES, Output, Prediction, Request
from verifier_ladder.tiers.simulation.proteinmodel import (
    OutputError,
    clashes,
    geometry,
    mirrored,
    read_model,
)

ONE, OTHER = "MKTAYIAKQRQISFVKSHFSRQLEERLG", "GSSGPPWWYY"
KEY = AnswerKey.load(Path(__file__).parents[3] / "support" / "structure-files.jsonl")
FROZEN = "038ca0beba3290564a399622aae5de6ae47ff0b2da319fc51015bc430048abe4"
MODULES = [f"verifier_ladder.tiers.simulation.{name}" for name in ("predictors", "proteinmodel")]
UNREAD = {
    # What is asked, and of which program: `test_structureprediction.py`.
    "entities", "most_memory", "told", "programs", "versions_of", "program", "predict", "asked",
    # A folder that is gone: there, too.
    "__init__",
    # Bounds, what is told as a fact or in a message, and pairs of residues: tests here.
    "_walked", "read_model", "_facts", "_difference", "_pair", "confidences", "paired", "chosen",
    "pdb", "_serial",
}  # fmt: skip
"""Functions whose edits no file of the key shows."""
BESIDE = {
    "if not S_ISREG(status.st_mode): raise OutputError(f'{shown} is no plain file') -> "
    "if not S_ISREG(status.st_mode): pass": "a pipe, and a file without end: tests here",
    "LARGEST + 1 -> LARGEST - 1": "a file of more bytes than are read: a test here",
    "_MOST_CLASHES * len(model.atoms) -> _MOST_CLASHES / len(model.atoms)": "a test here",
    "2 * max(_RADII.values()) - _OVERLAP -> 2 * max(_RADII.values()) + _OVERLAP":
        "equivalent: more pairs are looked at, and those that do not overlap passed over",
    "if version != (1, 0): raise OutputError(f'{shown} has a header of version {version}') -> "
    "if version != (1, 0): pass":
        "equivalent: numpy refuses to read a header of another version as one of this",
}  # fmt: skip
"""Edits that change no verdict about a file of the key, and why."""
MUTATIONS = 200


def said_of(layout: str, files: dict[str, Any], *chains: str) -> Prediction:
    with left(files) as output:
        return PROFILES[layout].read(output, Request(chains or (ONE,)))


# ---- The key


def b_factors(text: str, task: Any) -> bool:
    """Accepts by the B-factors of whatever model there is."""
    _, files = files_of((text,), task)
    model = gemmi.read_pdb_string if any(n.endswith(".pdb") for n in files) else None
    content = next(files[n] for n in files if n.endswith((".pdb", ".cif")))
    structure = (
        model(content) if model
        else gemmi.make_structure_from_block(gemmi.cif.read_string(content).sole_block())
    )  # fmt: skip
    return float(np.mean([each.atom.b_iso for each in structure[0].all()])) > 70


def confidence(text: str, task: Any) -> bool:
    """Accepts by `iptm or ptm`."""
    _, files = files_of(tuple(text.split(":")), task)
    name = next(n for n in files if "summary" in n or "confidence_" in n or "scores" in n)
    said = json.loads(files[name])
    return bool((said.get("iptm") or said["ptm"]) > 0.5)


def test_the_key_of_files_is_the_frozen_one() -> None:
    assert FROZEN == KEY.frozen(172)


def test_files_are_read_as_the_key_says() -> None:
    report = KEY.check(StructureFiles())

    assert [] == report.complaints
    assert [] == report.flaws


def test_the_key_tells_it_from_who_believes_the_files() -> None:
    twins = {"B-factors": Twin(b_factors), "iptm or ptm": Twin(confidence)}

    assert [] == KEY.weaknesses(twins)


def elsewhere() -> set[str]:
    """Edits of functions that other tests read."""
    found: set[str] = set()
    for module in MODULES:
        source = ast.parse(inspect.getsource(import_module(module)))
        places = {
            line
            for node in ast.walk(source)
            if isinstance(node, ast.FunctionDef) and node.name in UNREAD
            for line in range(node.lineno, (node.end_lineno or 0) + 1)
        }
        found |= {each.edit for each in mutations(module) if each.line in places}
    return found


@pytest.mark.slow  # Each mutant reads the files of all cases.
def test_mutants_of_the_reader_are_noticed() -> None:
    survey = mutation_test(KEY, StructureFiles, MODULES, equivalent=elsewhere() | BESIDE.keys())

    assert [] == survey.weaknesses, survey.survived


def test_every_edit_is_in_the_key() -> None:
    named = [case.task or {} for case in KEY.cases]

    assert EDITS.keys() == {name for task in named for name in task.get("edits", ())}
    assert FOLDS.keys() == {name for task in named for name in task.get("fold", ())}


# ---- Layouts and scales


@pytest.mark.parametrize("layout", LAYOUTS)
def test_confidences_have_one_scale(layout: str) -> None:
    fold = folded((ONE, OTHER))

    said = said_of(layout, LAYOUTS[layout](fold), ONE, OTHER)

    assert fold.plddt == pytest.approx(said.plddt, abs=1e-3)
    assert {"ptm": fold.ptm, "iptm": fold.iptm}.items() <= said.confidences.items()
    assert said.pae is not None
    assert np.array(fold.pae) == pytest.approx(said.pae, abs=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_chain_has_no_iptm(layout: str) -> None:
    assert "iptm" not in said_of(layout, LAYOUTS[layout](folded((ONE,)))).confidences


@pytest.mark.parametrize("layout", LAYOUTS)
def test_chains_may_come_in_another_order_with_their_confidences(layout: str) -> None:
    fold = folded((OTHER, ONE))

    said = said_of(layout, LAYOUTS[layout](fold), ONE, OTHER)

    first = len(OTHER)
    assert (*fold.plddt[first:], *fold.plddt[:first]) == pytest.approx(said.plddt, abs=1e-3)
    assert (ONE, OTHER) == said.model.chains
    assert said.pae is not None
    assert fold.pae[first][0] == pytest.approx(said.pae[0, len(ONE)])
    assert fold.at(0, "CA", chain=1) == pytest.approx(said.model.backbone[0, 1], abs=1e-3)


def test_the_relaxed_model_is_taken_where_there_is_one() -> None:
    files = colabfold(folded((ONE,)), is_relaxed=True)
    files[ending(files, "seed_001.pdb").replace("_relaxed", "_unrelaxed")] = ""

    assert said_of("colabfold", files).plddt.shape == (len(ONE),)


def test_pae_may_be_absent() -> None:
    files = {name: data for name, data in boltz(usual((ONE,))).items() if "pae_" not in name}

    assert "pae" not in said_of("boltz", files).confidences


def test_hydrogens_are_left_out() -> None:
    lines = pdb(usual((ONE,))).split("\n")
    hydrogen = lines[1].replace(" N   ", " H   ")[:76] + " H"

    model = read_model("\n".join([*lines[:2], hydrogen, *lines[2:]]).encode(), "pdb", (ONE,))

    assert len(usual((ONE,)).atoms) == len(model.atoms)


# ---- What is not whole


def test_a_model_of_another_protein_is_none() -> None:
    files = boltz(folded((ONE[::-1],)))

    with pytest.raises(OutputError, match="of another sequence"):
        said_of("boltz", files)


def test_a_chain_more_is_none() -> None:
    with pytest.raises(OutputError, match="has 2 chains; 1 were asked for"):
        said_of("boltz", boltz(folded((ONE, OTHER))), ONE)


def test_two_models_in_a_file_are_none() -> None:
    text = pdb(usual((ONE,))).replace("END\n", "")

    with pytest.raises(OutputError, match="holds two models"):
        read_model((text + text.replace("MODEL     1", "MODEL     2")).encode(), "pdb", (ONE,))


def test_more_atoms_than_the_protein_could_have_are_not_parsed() -> None:
    text = mmcif(usual((ONE,)))

    with pytest.raises(OutputError, match="more than the protein could have"):
        read_model(text.encode(), "cif", ("MKT",))


def test_links_are_not_followed(tmp_path: Path) -> None:
    files = boltz(usual((ONE,)))
    name = ending(files, "_model_0.cif")
    written(tmp_path, files)
    (tmp_path / name).rename(tmp_path / "elsewhere")
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OutputError, match="can't be read"):
        PROFILES["boltz"].read(Output(tmp_path), Request((ONE,)))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    files = boltz(usual((ONE,)))
    name = ending(files, "_model_0.cif")
    written(tmp_path, files)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)

    with pytest.raises(OutputError, match="is no plain file"):
        PROFILES["boltz"].read(Output(tmp_path), Request((ONE,)))


def test_folders_without_end_are_left(tmp_path: Path) -> None:
    (tmp_path / "/".join("abcdefgh")).mkdir(parents=True)
    (tmp_path / "a/b/c/d/e/f/g/h/x").touch()

    with pytest.raises(OutputError, match="too deep"):
        Output(tmp_path)


@pytest.mark.parametrize(("size", "told"), [(1000, ""), (1001, "is too large")])
def test_a_file_is_read_to_its_last_byte_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, told: str
) -> None:
    monkeypatch.setattr("verifier_ladder.tiers.simulation.predictors.LARGEST", 1000)
    (tmp_path / "left").write_bytes(b"x" * size)

    with pytest.raises(OutputError, match=told) if told else nullcontext():
        assert size == len(Output(tmp_path).read("left"))


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()] * len(ONE)), np.zeros((10**4, len(ONE)), np.float32),
        np.full(len(ONE), np.nan), np.zeros(len(ONE), np.int64), np.array(["1"] * len(ONE)),
    ],
    ids=["pickled", "another shape", "no numbers", "whole numbers", "texts"],
)  # fmt: skip
def test_arrays_of_another_kind_are_refused(array: Any) -> None:
    files = boltz(usual((ONE,)))
    files[ending(files, "plddt_fold_model_0.npz")] = packed(plddt=array)

    with pytest.raises(OutputError, match="plddt"):
        said_of("boltz", files)


@pytest.mark.parametrize(
    "seed", [7, *(pytest.param(n, marks=pytest.mark.slow) for n in range(8, 13))]
)
def test_mutated_files_end_in_a_prediction_or_a_failure_of_the_tool(seed: int) -> None:
    draw = Random(seed)  # noqa: S311 - the same each time
    chains = ("MKTAYIAK", "GSSW")
    ends = {True: 0, False: 0}
    for _ in range(MUTATIONS):
        layout = draw.choice(sorted(LAYOUTS))
        files = {
            name: data if isinstance(data, bytes) else data.encode()
            for name, data in LAYOUTS[layout](usual(chains)).items()
            if "seed-1" not in name
        }
        name = draw.choice([n for n in files if n.endswith((".cif", ".pdb", ".json", ".npz"))])
        for _ in range(draw.randint(1, 3)):
            files[name] = mutated(files[name], draw)
        try:
            said = said_of(layout, files, *chains)
            values = [*said.confidences.values(), *geometry(said.model).values()]
            ends[bool(np.isfinite(values).all())] += 1
        except OutputError as error:
            ends[False] += bool(str(error))

    assert MUTATIONS == sum(ends.values())
    assert ends[False] > MUTATIONS // 3
    assert ends[True] > MUTATIONS // 10


def mutated(data: bytes, draw: Random) -> bytes:
    """A file with one thing in it changed, lost or doubled."""
    one, other = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    lines = data.split(b"\n")
    line = draw.randrange(len(lines))
    near = min(one + draw.randint(1, 8), len(data))
    return draw.choice([
        data[:one], data[:one] + data[near:],
        data[:one] + bytes([draw.randrange(256)]) + data[near:],
        data[:near] + data[one:], data[:one] + data[other:], data[one:] + data[:one],
        b"\n".join([*lines[:line], *lines[line + 1 :]]),
        b"\n".join([*lines[:line], lines[line], lines[line], *lines[line + 1 :]]),
        data.replace(draw.choice([b"A", b".", b"1", b"loop_", b","]), b"\xff", 1),
        data.replace(b"1", draw.choice([b"9" * 400, b"-", b"1e400", b"nan"]), draw.randint(1, 3)),
    ])  # fmt: skip


# ---- Geometry


@pytest.mark.parametrize(
    ("name", "quantity", "value"),
    [
        ("mirrored", "chirality", 1), ("flattened", "chirality", 1), ("broken", "breaks", 1),
        ("cis", "cis", len(ONE) - 1), ("twisted", "twisted", 100),
        ("hardly twisted", "twisted", 0), ("touching", "clashes", 0),
        ("stretched", "bonds", pytest.approx(100 * 28 / (111 + 27), abs=1e-3)),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_model_is_measured(name: str, quantity: str, value: Any) -> None:
    model = read_model(pdb(FOLDS[name](usual((ONE,)))).encode(), "pdb", (ONE,))

    assert value == geometry(model)[quantity]


def test_clashes_of_all_parts_of_a_protein_are_counted() -> None:
    def counted(*names: str) -> int:
        fold = usual((ONE,))
        for name in names:
            fold = FOLDS[name](fold)
        return len(clashes(read_model(pdb(fold).encode(), "pdb", (ONE,))))

    early, late = counted("clashing"), counted("clashing late")
    assert min(early, late) > 0
    assert early + late == counted("clashing", "clashing late")


def test_residues_on_a_line_have_no_angle_as_it_should_be() -> None:
    fold, steps = usual(("GGGGG",)), {"N": 0.0, "CA": 1.459, "C": 2.984, "O": 2.984}
    line = fold.moved({
        n: (4.32 * atom.residue + steps[atom.name], 1.229 * (atom.name == "O"), 0.0)
        for n, atom in enumerate(fold.atoms)
    })  # fmt: skip
    said = geometry(read_model(pdb(line).encode(), "pdb", ("GGGGG",)))

    assert (0, 0, 100) == (said["bonds"], said["breaks"], said["angles"])


def test_a_side_chain_that_is_not_bound_is_a_bond_that_is_off() -> None:
    fold = usual((ONE,))
    along = fold.at(2, "CB") - fold.at(2, "CA")
    gone = fold.moved({fold.number(2, "CB"): fold.at(2, "CB") + 5 * along})

    said = geometry(read_model(pdb(gone).encode(), "pdb", (ONE,)))

    assert 0 < said["bonds"]
    assert (0, 0) == (said["angles"], said["chirality"])


def test_the_mirrored_residue_is_named() -> None:
    model = read_model(pdb(FOLDS["mirrored"](usual((ONE,)))).encode(), "pdb", (ONE,))

    assert [2] == mirrored(model)


@pytest.mark.parametrize("chains", [("MPMP",), ("GGGG",), ("A",), ("A", "G")])
def test_the_smallest_proteins_are_measured(chains: tuple[str, ...]) -> None:
    model = read_model(mmcif(usual(chains)).encode(), "cif", chains)

    assert {0.0} == set(geometry(model).values())


def test_a_cis_proline_is_none_that_counts() -> None:
    model = read_model(mmcif(folded(("AAPAA",), omega=0.0)).encode(), "cif", ("AAPAA",))

    assert 3 == geometry(model)["cis"]


# ---- Agreement


def test_a_turned_and_shifted_model_agrees_with_itself() -> None:
    fold = folded((ONE,))
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    moved = fold.moved({n: turn @ atom.place + [50, 5, -9] for n, atom in enumerate(fold.atoms)})
    one, other = (read_model(mmcif(each).encode(), "cif", (ONE,)) for each in (fold, moved))

    assert {"agreement_lddt": 1, "agreement_tm": 1} == pytest.approx(
        agreement(one, other), abs=0.01
    )


def test_a_helix_does_not_agree_with_a_strand() -> None:
    strand = folded((ONE,), omega=140.0)
    one, other = (read_model(mmcif(f).encode(), "cif", (ONE,)) for f in (folded((ONE,)), strand))

    said = agreement(one, other)

    assert said["agreement_lddt"] < 0.6
    assert said["agreement_tm"] < 0.5


def test_chains_of_one_sequence_may_stand_for_each_other() -> None:
    fold = folded((ONE, ONE), seed="a")
    swapped = folded((ONE, ONE), seed="a").moved(
        {n: fold.at(atom.residue, atom.name, 1 - atom.chain) for n, atom in enumerate(fold.atoms)}
    )
    one, other = (read_model(mmcif(each).encode(), "cif", (ONE, ONE)) for each in (fold, swapped))

    assert 1 == pytest.approx(agreement(one, other)["agreement_tm"], abs=0.01)


def test_any_number_of_chains_of_one_sequence_may_stand_for_each_other() -> None:
    chains = (ONE[:9],) * 5
    fold, stands = folded(chains), [1, 0, 2, 4, 3]
    place = {(atom.chain, atom.residue, atom.name): atom.place for atom in fold.atoms}
    swapped = fold.moved({
        n: place[stands[atom.chain], atom.residue, atom.name]
        for n, atom in enumerate(fold.atoms)
    })  # fmt: skip
    one, other = (read_model(mmcif(each).encode(), "cif", chains) for each in (fold, swapped))

    assert 1 == pytest.approx(agreement(one, other)["agreement_tm"], abs=0.01)


def test_two_halves_with_another_hinge_agree_by_half_and_more() -> None:
    fold = folded((ONE * 2,))
    middle, turn = fold.at(len(ONE), "CA"), np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    bent = fold.moved({
        n: turn @ (np.array(atom.place) - middle) + middle
        for n, atom in enumerate(fold.atoms) if atom.residue >= len(ONE)
    })  # fmt: skip
    one, other = (read_model(mmcif(each).encode(), "cif", (ONE * 2,)) for each in (fold, bent))

    assert 0.5 <= agreement(one, other)["agreement_tm"] < 0.9


def test_what_is_not_defined_is_not_0() -> None:
    model = read_model(mmcif(usual(("A", "G"))).encode(), "cif", ("A", "G"))

    assert "agreement_lddt" not in agreement(model, model)


def test_a_model_is_written_so_that_it_is_read_as_the_same_model() -> None:
    chains = ("MKTAYW", "GSS")
    model = read_model(pdb(folded(chains)).encode(), "pdb", chains)

    again = read_model(model.pdb.encode(), "pdb", chains)

    assert model.names == again.names
    assert np.abs(model.atoms - again.atoms).max() < 1e-3
