"""Write what predictors of structures would, without predicting anything.

    python tools/synthetic_folds.py boltz fold.yaml --out_dir out

Each chain becomes one long helix, whatever its sequence is, and confidences are made up from its
letters. The files have the names, places and forms of AlphaFold 3, Boltz and ColabFold, so that
what reads them can be tried where no predictor is installed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from verifier_ladder.tiers.simulation.proteinmodel import ATOMS, BACKBONE
from verifier_ladder.tiers.simulation.proteinmodel import LETTERS as LETTERS_OF

Floats = np.ndarray[Any, np.dtype[Any]]
NAMES = {letter: name for name, letter in LETTERS_OF.items()}
CHAINS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
HELIX = (-57.0, -47.0)
"""Degrees about N-CA and CA-C."""
APART = 60.0
"""Å between the axes of two chains."""
FORMERS = "AELMQKRHIVFWYC"
"""Amino acids of which the made-up confidence is high."""
JOB = "fold"


class Atom(NamedTuple):
    """One atom of a model."""

    name: str
    residue: int
    """Its place in the chain, from 0."""
    chain: int
    place: tuple[float, ...]
    """Å."""


@dataclass(frozen=True)
class Fold:
    """A model with the confidences that a predictor would have in it."""

    chains: tuple[str, ...]
    atoms: tuple[Atom, ...]
    plddt: tuple[float, ...]
    """Of each residue, 0 to 100."""
    ptm: float
    iptm: float
    pae: tuple[tuple[float, ...], ...]

    def moved(self, moves: Mapping[int, Any]) -> Fold:
        """The same with atoms elsewhere, by their number."""
        atoms = [
            atom._replace(place=tuple(moves[n])) if n in moves else atom
            for n, atom in enumerate(self.atoms)
        ]
        return replace(self, atoms=tuple(atoms))

    def number(self, residue: int, name: str, chain: int = 0) -> int:
        """The number of an atom."""
        return next(
            n for n, atom in enumerate(self.atoms)
            if (atom.chain, atom.residue, atom.name) == (chain, residue, name)
        )  # fmt: skip

    def at(self, residue: int, name: str, chain: int = 0) -> Floats:
        """Where an atom is."""
        return np.array(self.atoms[self.number(residue, name, chain)].place)


def placed(
    a: Floats, b: Floats, c: Floats, *, length: float, angle: float, torsion: float
) -> Floats:  # fmt: skip
    """The atom that is bound to c: its bond, its angle with b, its torsion with a and b."""
    along = (c - b) / np.linalg.norm(c - b)
    across = np.cross(b - a, along)
    across /= np.linalg.norm(across)
    up = np.cross(across, along)
    bend, turn = np.radians(180 - angle), np.radians(torsion)
    ahead = along * np.cos(bend) + np.sin(bend) * (up * np.cos(turn) + across * np.sin(turn))
    return np.asarray(c + length * ahead)


def backbone(angles: Sequence[tuple[float, float, float]]) -> list[dict[str, Floats]]:
    """N, CA, C, O and CB by their angles: about N-CA, about CA-C, and about the peptide before."""
    n, ca = np.zeros(3), np.array([1.459, 0.0, 0.0])
    c = placed(np.array([0.0, 1.0, 0.0]), n, ca, length=1.525, angle=111.0, torsion=60.0)
    found: list[dict[str, Floats]] = []
    for number, (phi, psi, omega) in enumerate(angles):
        if number:
            before = found[-1]
            turn = angles[number - 1][1]
            end = before["N"], before["CA"], before["C"]
            n = placed(*end, length=1.336, angle=117.2, torsion=turn)
            ca = placed(before["CA"], before["C"], n, length=1.459, angle=121.7, torsion=omega)
            c = placed(before["C"], n, ca, length=1.525, angle=111.0, torsion=phi)
        found.append({
            "N": n, "CA": ca, "C": c,
            "O": placed(n, ca, c, length=1.229, angle=120.1, torsion=psi + 180),
            "CB": placed(c, n, ca, length=1.530, angle=110.5, torsion=-122.5),
        })  # fmt: skip
    return found


def side(letter: str, spine: Mapping[str, Floats]) -> dict[str, Floats]:
    """The side chain, its atoms in a row that leads away: no rotamer, and in nobody's way."""
    names = sorted(ATOMS[letter] - {*BACKBONE, "CB"})
    ahead = (spine["CB"] - spine["CA"]) / 1.530
    beside = np.cross(ahead, spine["N"] - spine["CA"])
    beside /= np.linalg.norm(beside)
    return {
        name: spine["CB"] + 1.3 * (n + 1) * ahead + 0.7 * ((n + 1) % 2) * beside
        for n, name in enumerate(names)
    }


def folded(chains: Sequence[str], *, seed: str = "1", omega: float = 180.0) -> Fold:
    """A helix of each chain, with angles that differ a little from seed to seed."""
    draw = Random(f"{seed} {chains}")  # noqa: S311 - so that they can be made again
    atoms: list[Atom] = []
    for number, letters in enumerate(chains):
        angles = [
            (HELIX[0] + draw.uniform(-1, 1), HELIX[1] + draw.uniform(-1, 1), omega)
            for _ in letters
        ]
        for place, (letter, spine) in enumerate(zip(letters, backbone(angles), strict=True)):
            names = {**spine, **side(letter, spine)}
            names = {
                name: names[name] for name in (*BACKBONE, *sorted(ATOMS[letter] - {*BACKBONE}))
            }
            shift = np.array([0.0, APART * number, 0.0])
            atoms += [
                Atom(name, place, number, tuple((where + shift).tolist()))
                for name, where in names.items()
            ]
    plddt = tuple(
        round((90.0 if letter in FORMERS else 50.0) + draw.uniform(-5, 5), 2)
        for letter in "".join(chains)
    )
    size, mean = len(plddt), sum(plddt) / len(plddt) / 100
    pae = tuple(
        tuple(round(min(30.0, 0.5 + 0.05 * abs(one - other)), 2) for other in range(size))
        for one in range(size)
    )
    iptm = round(mean - 0.1, 4) if len(chains) > 1 else 0.0
    return Fold(tuple(chains), tuple(atoms), plddt, round(mean, 4), iptm, pae)


# ---- Files


def starts(fold: Fold) -> list[int]:
    """Where the residues of each chain begin among all."""
    return [sum(map(len, fold.chains[:number])) for number in range(len(fold.chains))]


def pdb(fold: Fold, scale: float = 1.0) -> str:
    """The model as PDB, with pLDDT as B-factors."""
    lines, first = ["MODEL     1"], starts(fold)
    for number, atom in enumerate(fold.atoms, 1):
        letter = fold.chains[atom.chain][atom.residue]
        confidence = fold.plddt[first[atom.chain] + atom.residue] * scale
        x, y, z = atom.place
        lines.append(
            f"ATOM  {number:5d}  {atom.name:<3s} {NAMES[letter]} {CHAINS[atom.chain]}"
            f"{atom.residue + 1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}{1.0:6.2f}{confidence:6.2f}"
            f"          {atom.name[0]:>2s}"
        )
    return "\n".join([*lines, "TER", "ENDMDL", "END", ""])


_COLUMNS = (
    "group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id",
    "label_asym_id", "label_entity_id", "label_seq_id", "pdbx_PDB_ins_code", "Cartn_x", "Cartn_y",
    "Cartn_z", "occupancy", "B_iso_or_equiv", "auth_seq_id", "auth_asym_id", "pdbx_PDB_model_num",
)  # fmt: skip


def mmcif(fold: Fold, scale: float = 1.0) -> str:
    """The model as mmCIF, with pLDDT as B-factors."""
    lines = [f"data_{JOB}", "#", "loop_", *(f"_atom_site.{name}" for name in _COLUMNS)]
    first = starts(fold)
    for number, atom in enumerate(fold.atoms, 1):
        letter, chain = fold.chains[atom.chain][atom.residue], CHAINS[atom.chain]
        confidence = fold.plddt[first[atom.chain] + atom.residue] * scale
        x, y, z = atom.place
        lines.append(
            f"ATOM {number} {atom.name[0]} {atom.name} . {NAMES[letter]} {chain} {atom.chain + 1} "
            f"{atom.residue + 1} ? {x:.3f} {y:.3f} {z:.3f} 1.00 {confidence:.2f} "
            f"{atom.residue + 1} {chain} 1"
        )
    return "\n".join([*lines, "#", ""])


def written(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their path below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def packed(**arrays: Any) -> bytes:
    """Arrays in a file of numpy's."""
    from io import BytesIO

    stream = BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def pairs(fold: Fold) -> list[list[float]]:
    """The ipTM of each pair of chains, and pTM of each."""
    many = range(len(fold.chains))
    return [[fold.ptm if one == other else fold.iptm for other in many] for one in many]


def alphafold3(fold: Fold) -> dict[str, str | bytes]:
    """The folder of a job: the best sample on top, and each sample once more below."""
    first = starts(fold)
    where = [(CHAINS[n], k + 1) for n, chain in enumerate(fold.chains) for k in range(len(chain))]
    full = {
        "atom_chain_ids": [CHAINS[atom.chain] for atom in fold.atoms],
        "atom_plddts": [fold.plddt[first[atom.chain] + atom.residue] for atom in fold.atoms],
        "pae": fold.pae, "token_chain_ids": [chain for chain, _ in where],
        "token_res_ids": [number for _, number in where],
    }  # fmt: skip
    several = len(fold.chains) > 1
    summary = {
        "chain_pair_iptm": pairs(fold), "chain_ptm": [fold.ptm] * len(fold.chains),
        "fraction_disordered": 0.1, "has_clash": 0.0, "iptm": fold.iptm if several else None,
        "ptm": fold.ptm, "ranking_score": round(0.8 * fold.iptm + 0.2 * fold.ptm, 4),
    }  # fmt: skip
    files = {
        "model.cif": mmcif(fold), "confidences.json": json.dumps(full),
        "summary_confidences.json": json.dumps(summary),
    }  # fmt: skip
    sample = f"{JOB}/seed-1_sample-0/{JOB}_seed-1_sample-0_"
    return {
        **{f"{JOB}/{JOB}_{name}": content for name, content in files.items()},
        **{f"{sample}{name}": content for name, content in files.items()},
        f"{JOB}/{JOB}_ranking_scores.csv": "seed,sample,ranking_score\n1,0,0.9\n",
        f"{JOB}/TERMS_OF_USE.md": "Synthetic files; no predictor was run.\n",
    }


def boltz(fold: Fold, *, form: str = "cif", top: str = f"boltz_results_{JOB}/") -> dict[str, Any]:
    """The folder of a run, as mmCIF or PDB."""
    place, several = f"{top}predictions/{JOB}/", len(fold.chains) > 1
    plddt = np.array(fold.plddt, np.float32) / 100
    mean = float(plddt.mean())
    names = [str(n) for n in range(len(fold.chains))]
    said = {
        "confidence_score": round(0.8 * mean + 0.2 * (fold.iptm if several else fold.ptm), 4),
        "ptm": fold.ptm, "iptm": fold.iptm, "ligand_iptm": 0.0, "protein_iptm": fold.iptm,
        "complex_plddt": mean, "complex_iplddt": mean, "complex_pde": 0.9, "complex_ipde": 5.1,
        "chains_ptm": dict.fromkeys(names, fold.ptm),
        "pair_chains_iptm": {
            one: dict(zip(names, row, strict=True))
            for one, row in zip(names, pairs(fold), strict=True)
        },
    }  # fmt: skip
    return {
        f"{place}{JOB}_model_0.{form}": mmcif(fold) if form == "cif" else pdb(fold),
        f"{place}confidence_{JOB}_model_0.json": json.dumps(said),
        f"{place}plddt_{JOB}_model_0.npz": packed(plddt=plddt),
        f"{place}pae_{JOB}_model_0.npz": packed(pae=np.array(fold.pae, np.float32)),
    }


def colabfold(
    fold: Fold, *, is_old: bool = False, is_relaxed: bool = False, pae: str = "scores"
) -> dict[str, str | bytes]:
    """The files of a job: as they are called now or were until 2022."""
    several = len(fold.chains) > 1
    said: dict[str, Any] = {"plddt": fold.plddt, "max_pae": 30.0, "ptm": fold.ptm}
    said |= {"pae": fold.pae} if pae == "scores" else {}
    said |= {"iptm": fold.iptm} if several else {}
    kind = "alphafold2_multimer_v3" if several else "alphafold2_ptm"
    tag = "model_3" if is_old else f"{kind}_model_3_seed_001"
    rank = "rank_1" if is_old else "rank_001"
    scores = (
        f"{JOB}_unrelaxed_{rank}_{tag}_scores.json"
        if is_old
        else f"{JOB}_scores_{rank}_{tag}.json"
    )
    files: dict[str, str | bytes] = {
        f"{JOB}_unrelaxed_{rank}_{tag}.pdb": pdb(fold), scores: json.dumps(said),
        f"{JOB}.done.txt": "", "config.json": "{}", "log.txt": "Synthetic.\n",
    }  # fmt: skip
    if is_relaxed:
        files[f"{JOB}_relaxed_{rank}_{tag}.pdb"] = pdb(fold)
    if pae in ("object", "list"):
        beside = {"predicted_aligned_error": fold.pae, "max_predicted_aligned_error": 30.0}
        files[f"{JOB}_predicted_aligned_error_v1.json"] = json.dumps(
            [beside] if pae == "list" else beside
        )
    return files


LAYOUTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "alphafold3": alphafold3,
    "boltz": boltz,
    "colabfold": colabfold,
}
"""What makes the files of each."""


def read_request(name: str, arguments: Sequence[str]) -> tuple[list[str], Path]:
    """Chains and output folder from what a predictor is started with."""
    if name == "alphafold3":
        given = dict(part.removeprefix("--").split("=", 1) for part in arguments)
        source, output = Path(given["json_path"]), Path(given["output_dir"])
    else:
        output = Path(arguments[1 if name == "colabfold" else arguments.index("--out_dir") + 1])
        source = Path(arguments[0])
    text = source.read_text()
    if name == "colabfold":
        return text.splitlines()[1].split(":"), output
    entities = [each["protein"] for each in json.loads(text)["sequences"]]
    named = {chain: entity["sequence"] for entity in entities for chain in entity["id"]}
    return [named[chain] for chain in sorted(named)], output


def main(arguments: Iterable[str]) -> None:
    """Do as the predictor that the first argument names would."""
    name, *rest = arguments
    chains, output = read_request(name, rest)
    written(output, LAYOUTS[name](folded(chains, seed=name)))
    print("synthetic files, no predictor was run")


if __name__ == "__main__":
    main(sys.argv[1:])
