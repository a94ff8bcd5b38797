"""Write what a predictor would have left of some peptides. Synthetic files, no predictor was run.

    python record.py

Each peptide becomes an ideal helix, whatever its letters are, and its confidence is made up. The
files have the names and forms of ColabFold's, in a folder for each sequence below `recorded/`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

PEPTIDES = {
    "SEAAAKAAEAAG": 91,
    "GEAAEKAAEAAS": 88,
    "AEAAAKAAEAAK": 84,
    "SGSAGKGAEGSG": 47,
}
"""Sequences, and the pLDDT that is made up for each."""
RISE, TURN = 1.56, 99.4
"""Å along the axis and degrees around it, from one residue to the next."""
SPINE = {"N": (1.564, -26.4, -0.93), "CA": (2.285, 0, 0), "C": (1.665, 26.9, 1.06),
         "O": (1.912, 20.2, 2.24)}  # fmt: skip
"""Å from the axis, degrees around it, and Å along it."""
CB = {"CB": (-0.51, -0.72, 1.25)}
SIDES = {
    "A": ("ALA", CB),
    "E": ("GLU", CB | {"CG": (-0.11, -2.19, 1.19), "CD": (-0.61, -2.91, 2.42),
                       "OE1": (-1.23, -2.29, 3.26), "OE2": (-0.37, -4.22, 2.58)}),
    "G": ("GLY", {}),
    "K": ("LYS", CB | {"CG": (-0.10, -2.20, 1.19), "CD": (-0.61, -2.92, 2.44),
                       "CE": (-0.21, -4.39, 2.38), "NZ": (-0.70, -5.08, 3.58)}),
    "S": ("SER", CB | {"OG": (-0.03, -2.07, 1.25)}),
}  # fmt: skip
"""Where the atoms of side chains are, Å, seen from CA: towards N, towards C, and across."""


def helix(sequence: str) -> str:
    """An ideal helix as a PDB file."""
    lines: list[str] = []
    for number, letter in enumerate(sequence):
        name, side = SIDES[letter]
        atoms = {}
        for atom, (radius, angle, height) in SPINE.items():
            turn = np.radians(angle + TURN * number)
            at = radius * np.cos(turn), radius * np.sin(turn), height + RISE * number
            atoms[atom] = np.array(at)
        ahead = atoms["N"] - atoms["CA"]
        ahead /= np.linalg.norm(ahead)
        across = np.cross(ahead, atoms["C"] - atoms["CA"])
        across /= np.linalg.norm(across)
        axes = np.array([ahead, np.cross(across, ahead), across])
        atoms |= {atom: atoms["CA"] + np.array(at) @ axes for atom, at in side.items()}
        for atom, (x, y, z) in atoms.items():
            lines.append(
                f"ATOM  {len(lines) + 1:5d}  {atom:<3s} {name} A{number + 1:4d}    "
                f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           {atom[0]}"
            )
    return "\n".join([*lines, "TER", "END", ""])


def record(sequence: str, confidence: float, folder: Path) -> None:
    """Write the files of one peptide."""
    place = folder / sequence
    place.mkdir(parents=True, exist_ok=True)
    tag = "rank_001_alphafold2_ptm_model_1_seed_001"
    (place / f"fold_unrelaxed_{tag}.pdb").write_text(helix(sequence))
    said = {"plddt": [confidence] * len(sequence), "ptm": confidence / 100}
    (place / f"fold_scores_{tag}.json").write_text(json.dumps(said))


if __name__ == "__main__":
    for sequence, confidence in PEPTIDES.items():
        record(sequence, confidence, Path(__file__).parent / "recorded")
