"""Peptides of ideal geometry: what keys and tests of proteins are made of.

Atoms are placed one after the other by a bond's length, the angle and the dihedral that it makes
with those before it. Hydrogens are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
HELIX, STRAND, POLYPROLINE, LEFT = (-60.0, -45.0), (-130.0, 130.0), (-75.0, 145.0), (60.0, 45.0)
"""Dihedrals phi and psi of a residue."""
LETTERS = {
    "A": "ALA", "C": "CYS", "D": "ASP", "E": "GLU", "F": "PHE", "G": "GLY", "I": "ILE",
    "K": "LYS", "L": "LEU", "S": "SER", "T": "THR", "V": "VAL",
}  # fmt: skip
_BETA = ("CB", "C", "N", "CA", 1.53, 110.5, -122.6)
_GAMMA = ("N", "CA", "CB")
_SIDES: Mapping[str, Sequence[tuple[str, str, str, str, float, float, float]]] = {
    "ALA": (), "GLY": (),
    "SER": [("OG", *_GAMMA, 1.42, 110.8, -60)], "CYS": [("SG", *_GAMMA, 1.81, 114, -60)],
    "VAL": [("CG1", *_GAMMA, 1.53, 110.5, 180), ("CG2", *_GAMMA, 1.53, 110.5, -60)],
    "THR": [("OG1", *_GAMMA, 1.43, 109, -60), ("CG2", *_GAMMA, 1.53, 111, 180)],
    "ILE": [("CG1", *_GAMMA, 1.53, 110.5, -60), ("CG2", *_GAMMA, 1.53, 110.5, 180),
            ("CD1", "CA", "CB", "CG1", 1.52, 113.5, 170)],
    "LEU": [("CG", *_GAMMA, 1.53, 116, -60), ("CD1", "CA", "CB", "CG", 1.52, 110.5, 175),
            ("CD2", "CA", "CB", "CG", 1.52, 110.5, -65)],
    "ASP": [("CG", *_GAMMA, 1.52, 112.6, -65), ("OD1", "CA", "CB", "CG", 1.25, 118.5, -30),
            ("OD2", "CA", "CB", "CG", 1.25, 118.5, 150)],
    "GLU": [("CG", *_GAMMA, 1.53, 113.8, -65), ("CD", "CA", "CB", "CG", 1.52, 112.6, 180),
            ("OE1", "CB", "CG", "CD", 1.25, 118.5, 0),
            ("OE2", "CB", "CG", "CD", 1.25, 118.5, 180)],
    "LYS": [("CG", *_GAMMA, 1.53, 113.8, -65), ("CD", "CA", "CB", "CG", 1.52, 111.5, 180),
            ("CE", "CB", "CG", "CD", 1.52, 111.5, 180),
            ("NZ", "CG", "CD", "CE", 1.49, 111.5, 180)],
    "PHE": [("CG", *_GAMMA, 1.50, 113.8, 180), ("CD1", "CA", "CB", "CG", 1.39, 120, 80),
            ("CD2", "CA", "CB", "CG", 1.39, 120, -100), ("CE1", "CB", "CG", "CD1", 1.39, 120, 180),
            ("CE2", "CB", "CG", "CD2", 1.39, 120, 180), ("CZ", "CG", "CD1", "CE1", 1.39, 120, 0)],
}  # fmt: skip


class Atom(NamedTuple):
    """One atom of a peptide."""

    name: str
    residue: str
    number: int
    chain: str
    at: Array


def placed(before: Sequence[Array], length: float, angle: float, turn: float) -> Array:
    """The atom that is bonded to the last of three atoms."""
    one, two, three = before
    along = (three - two) / np.linalg.norm(three - two)
    normal = np.cross(two - one, along)
    normal /= np.linalg.norm(normal)
    bend, turned = np.radians([angle, turn])
    local = np.array([
        -np.cos(bend), np.sin(bend) * np.cos(turned), np.sin(bend) * np.sin(turned),
    ])  # fmt: skip
    found: Array = three + length * local @ np.array([along, np.cross(normal, along), normal])
    return found


def peptide(
    sequence: str, *dihedrals: tuple[float, float], chain: str = "A", omega: float = 180.0
) -> list[Atom]:
    """A chain of amino acids, by one letter each.

    Args:
        sequence: The letters.
        dihedrals: Phi and psi of each residue, or of all alike.
        chain: Its name.
        omega: The dihedral of the bonds between residues.
    """
    turns = dihedrals if len(dihedrals) > 1 else dihedrals * len(sequence)
    start = np.array([[0.0, 0, 0], [1.46, 0, 0], [2.0, 1.42, 0]])
    main = [dict(zip(("N", "CA", "C"), start, strict=True))]
    for (_, psi), (phi, _) in pairwise(turns):
        before = [main[-1][name] for name in ("N", "CA", "C")]
        for length, angle, turn in ((1.33, 116.6, psi), (1.46, 121.7, omega), (1.53, 111.0, phi)):
            before.append(placed(before[-3:], length, angle, turn))
        main.append(dict(zip(("N", "CA", "C"), before[3:], strict=True)))
    found: list[Atom] = []
    for number, (letter, atoms) in enumerate(zip(sequence, main, strict=True)):
        psi, name, core = turns[number][1], LETTERS[letter], [*atoms.values()]
        atoms["O"] = placed(core, 1.23, 120.5, psi + 180)
        for each, a, b, c, *rest in () if name == "GLY" else (_BETA, *_SIDES[name]):
            atoms[each] = placed([atoms[a], atoms[b], atoms[c]], *rest)
        if number == len(sequence) - 1:
            atoms["OXT"] = placed(core, 1.25, 117, psi)
        found += [Atom(each, name, number + 1, chain, at) for each, at in atoms.items()]
    return found


def pdb(atoms: Iterable[Atom]) -> str:
    """A PDB file."""
    lines = [
        f"ATOM  {n:5d}  {name:<3} {residue} {chain}{number:4d}    "
        + "".join(f"{x:8.3f}" for x in at) + f"  1.00  0.00          {name[0]:>2}"
        for n, (name, residue, number, chain, at) in enumerate(atoms, 1)
    ]  # fmt: skip
    return "\n".join([*lines, "TER", "END", ""])


def moved(atoms: Iterable[Atom], move: Callable[[Array], Array]) -> list[Atom]:
    """Atoms elsewhere: all positions go through one function of a table of rows."""
    listed = [*atoms]
    rows = move(np.array([each.at for each in listed]))
    return [each._replace(at=at) for each, at in zip(listed, rows, strict=True)]


def mirrored(atoms: Iterable[Atom]) -> list[Atom]:
    """The mirror image, which is of D-amino acids."""
    return moved(atoms, lambda rows: rows * np.array([1.0, 1.0, -1.0]))


def turned(atoms: Iterable[Atom], seed: int) -> list[Atom]:
    """Turned and shifted at random."""
    draw = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(draw.normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    return moved(atoms, lambda rows: rows @ turn + draw.uniform(-20, 20, 3))
