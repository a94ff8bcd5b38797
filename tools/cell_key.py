"""Make the answer key of `dft-cell`.

    python tools/cell_key.py        # writes tiers/answer_keys/dft-cell.jsonl

Energies are those of CP2K 2023.1 (Gaussian and plane waves, cutoff 600 Ry, relative cutoff 120 Ry,
EPS_DEFAULT 1e-14) in the same bases, with the same pseudopotentials, and with points of reciprocal
space that are listed one by one. A crystal that is turned, moved or written in another order,
and a larger cell with points that match, have the energy of an atom that it has.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from crystals import (
    WRITERS,
    Solid,
    cell,
    chance,
    cif,
    made,
    poscar,
    repeated,
    rotated,
    shifted,
    shuffled,
)
from keywriter import NO, UNKNOWN, YES, Key, write

HARTREE = 27.211386245988
"""eV."""
CP2K = "other program: CP2K 2023.1, the same basis, pseudopotentials and points"
COPY = "generator: a copy of a crystal of another program's"
HAND = "convention"
ROOM = 5e-4
"""eV an atom."""


class Known(NamedTuple):
    """What CP2K says of a crystal."""

    solid: Solid
    level: str
    points: int
    """Of reciprocal space, along each vector."""
    hartree: float
    cutoff: float = 150.0
    """Of the plane waves, hartree, by which `dft-cell` comes as close as `ROOM`."""

    @property
    def energy(self) -> float:
        """Of an atom, in eV."""
        return self.hartree * HARTREE / len(self.solid.symbols)

    @property
    def settings(self) -> dict[str, Any]:
        """With which `dft-cell` samples the same points."""
        longest = 2 * np.pi * np.linalg.norm(np.linalg.inv(self.solid.lattice), axis=0).max()
        return {
            "level": self.level, "cutoff": self.cutoff,
            "density": round((self.points - 0.5) / float(longest), 4),
        }  # fmt: skip


def boxed(side: float, symbols: str, *places: tuple[float, float, float]) -> Solid:
    """A molecule in a cube, with places in Å."""
    shares = ((x / side, y / side, z / side) for x, y, z in places)
    return made(symbols, cell(side, side, side), *shares)


def diatomic(side: float, first: str, second: str, away: float) -> Solid:
    """Two atoms in a cube."""
    return boxed(side, f"{first} {second}", (0, 0, 0), (0, 0, away))


def face_centred(a: float, symbols: str, at: float = 0.25) -> Solid:
    """One atom or two, in the primitive cell of a cube."""
    h = a / 2
    places = [(0.0, 0.0, 0.0), (at, at, at)][: len(symbols.split())]
    return made(symbols, np.array([[0, h, h], [h, 0, h], [h, h, 0]]), *places)


METHANE = boxed(
    5.0, "C H H H H", (0, 0, 0), (0.629, 0.629, 0.629), (0.629, -0.629, -0.629),
    (-0.629, 0.629, -0.629), (-0.629, -0.629, 0.629),
)  # fmt: skip
APART = 0.015
"""eV an atom, by which two energies are told apart."""
HYDROGEN = diatomic(4.0, "H", "H", 0.74)
HELIUM = face_centred(4.2, "He")
REFERENCES: Sequence[Known] = (
    Known(face_centred(4.2, "He"), "lda/gth-dzvp", 2, -2.832123697724830),
    Known(face_centred(3.8, "He"), "lda/gth-dzvp", 2, -2.831620051686244),
    Known(face_centred(3.6, "He"), "lda/gth-dzvp", 2, -2.830780230817977),
    Known(face_centred(4.0, "He"), "lda/gth-dzvp", 2, -2.831993807465905),
    Known(face_centred(4.2, "He"), "pbe/gth-dzvp", 2, -2.890038787002425, 300.0),
    Known(boxed(5.0, "He", (0, 0, 0)), "lda/gth-dzvp", 1, -2.832142328923062),
    Known(boxed(5.0, "He", (0, 0, 0)), "pbe/gth-dzvp", 1, -2.890302374642670, 300.0),
    Known(HYDROGEN, "lda/gth-szv", 1, -1.125479954296217),
    Known(HYDROGEN, "lda/gth-dzvp", 1, -1.144516193246730),
    Known(HYDROGEN, "lda/gth-tzvp", 1, -1.152032283069512),
    Known(HYDROGEN, "lda/gth-tzv2p", 1, -1.152396282856819),
    Known(HYDROGEN, "pbe/gth-dzvp", 1, -1.173009101485788),
    Known(diatomic(4.0, "H", "H", 0.80), "lda/gth-dzvp", 1, -1.146756957422983),
    Known(diatomic(4.0, "H", "H", 0.90), "lda/gth-dzvp", 1, -1.143066573377874),
    Known(diatomic(3.0, "H", "H", 0.74), "lda/gth-dzvp", 2, -1.129071727848832),
    Known(diatomic(3.0, "H", "H", 0.74), "pbe/gth-dzvp", 2, -1.157591432504451),
    Known(diatomic(4.0, "H", "F", 0.92), "lda/gth-szv", 1, -24.672542101329366, 300.0),
    Known(diatomic(5.0, "N", "N", 1.10), "lda/gth-szv", 1, -19.560123268867009),
    Known(METHANE, "lda/gth-szv", 1, -7.872601654775840),
    Known(face_centred(5.43, "Si Si"), "lda/gth-szv", 2, -7.770593042489606, 60.0),
)
"""Solid helium, molecules in a cube, and silicon."""
CUBIC = next(known for known in REFERENCES if known.points > 1 and "H" in known.solid.symbols)
_QUICK = {"level": "lda/gth-dzvp", "cutoff": 20.0, "density": 0.1}


def within(value: float, room: float = ROOM) -> list[float]:
    """The range of a score."""
    return [round(value - room, 6), round(value + room, 6)]


def criteria(**windows: Any) -> dict[str, Any]:
    """A task that names criteria."""
    return {"criteria": windows}


def energies(key: Key) -> None:
    """Each crystal and a copy of it, and pairs whose energies tell them apart."""
    draw = chance(23)
    for n, known in enumerate(REFERENCES):
        score = within(known.energy)
        key.add(WRITERS[n % 3](known.solid), None, YES, f"by {known.level}", CP2K, score=score,
                settings=known.settings)  # fmt: skip
        copy = shuffled(shifted(rotated(known.solid, draw), draw), draw)
        key.add(WRITERS[(n + 1) % 3](copy), None, YES, f"turned and moved, by {known.level}", COPY,
                score=within(known.energy, 0.01), settings=known.settings)  # fmt: skip
    for known, other in neighbours():
        task = criteria(
            energy={"least": known.energy - APART / 2, "most": known.energy + APART / 2}
        )
        key.add(poscar(known.solid), task, YES, "within a window", CP2K, settings=known.settings)
        key.add(poscar(other.solid), task, NO, "another geometry", CP2K, settings=known.settings)


def neighbours() -> list[tuple[Known, Known]]:
    """For each, another of its level, points and elements, whose energy of an atom differs."""
    return [
        (one, others[0]) for n, one in enumerate(REFERENCES)
        if (others := [
            other for other in (*REFERENCES[n:], *REFERENCES[:n])
            if one.level == other.level and one.solid.symbols == other.solid.symbols
            and one.points == other.points and abs(one.energy - other.energy) > APART
        ])
    ]  # fmt: skip


def cells(key: Key) -> None:
    """Larger cells, whose points match."""
    for known, counts in ((REFERENCES[0], (2, 1, 1)), (CUBIC, (1, 1, 2))):
        larger = repeated(known.solid, np.diag(counts))
        key.add(poscar(larger), None, YES, "a larger cell with points that match", COPY,
                score=within(known.energy), settings=known.settings)  # fmt: skip


def gaps(key: Key) -> None:
    """Bands of molecules that hardly touch lie where their orbitals do."""
    for solid, least in ((HYDROGEN, 5.0), (HELIUM, 12.0)):
        for windows, outcome in (({"least": least}, YES), ({"most": least}, NO)):
            key.add(poscar(solid), criteria(gap=windows), outcome, "a gap of electron pairs",
                    "closed form: closed shells", settings=_QUICK)  # fmt: skip


def unsound(key: Key) -> None:
    """What nothing is computed of."""
    close = diatomic(4.0, "H", "H", 0.3)
    for write_ in WRITERS:
        for solid, why in (
            (close, "atoms that are too close"), (HYDROGEN.scaled(0.3), "too dense"),
            (HYDROGEN.scaled(3.0), "too thin"),
        ):  # fmt: skip
            key.add(write_(solid), None, NO, why, "generator: one edit of a crystal")
    magnetic = f"{cif(HELIUM)}\n_space_group_magn.number_BNS 1.1\n"
    for said, why in (
        ("", "nothing"), ("helium", "a word"), ("He\n1.0\n", "half a file"),
        (poscar(HYDROGEN).replace("0.0000000000", "nan", 1), "no number"),
        (poscar(HYDROGEN).replace("\n2\n", "\n1000000000\n"), "too many atoms"),
        (magnetic, "magnetic moments"),
    ):  # fmt: skip
        key.add(said, None, NO, why, HAND)
    key.hostile("He\n1.0\n" + "9" * 900, None, "digits without end")
    key.hostile("He\n1.0\n" + "1 0 0\n0 1 0\n0 0 1\n" + "../../etc/passwd\n1\nDirect\n0 0 0\n",
                None, "a path for an element")  # fmt: skip


def uncomputed(key: Key) -> None:
    """What is not defined, or too large, and settings and tasks without sense."""
    atom = made("H", cell(2.0, 2.0, 2.0), (0, 0, 0))
    for solid, settings, reason, why in (
        (atom, _QUICK, "paired", "an odd electron"),
        (face_centred(3.61, "Cu"), _QUICK, "lacks an element: Cu", "no basis"),
        (face_centred(5.26, "Ar"), {"level": "lda/gth-szv", "max_functions": 3}, "too many",
         "too many functions"),
        (HYDROGEN, {"max_points": 1000}, "points", "too many points"),
        (HELIUM, {**_QUICK, "level": "lda/gth-szv", "score": "gap"}, "no band", "no empty band"),
    ):  # fmt: skip
        key.add(poscar(solid), None, UNKNOWN, why, HAND, reason=reason, settings=settings)
    for each, reason in (
        ({"level": "pbe"}, "functional/basis"), ({"level": "b3lyp/gth-dzvp"}, "functional/basis"),
        ({"level": "pbe/mine"}, "functional/basis"), ({"score": "beauty"}, "score"),
        ({"criteria": {"gap": {}}}, "least"), ({"unsolved": "maybe"}, "unsolved"),
        ({"cutoff": 1.0}, "cutoff"),
    ):  # fmt: skip
        key.add(poscar(HELIUM), None, UNKNOWN, "settings without sense", HAND, settings=each,
                reason=reason)  # fmt: skip
    key.broken(poscar(HELIUM), [
        (criteria(gap={}), "criteria", "no bound"),
        (criteria(gap={"least": 2, "most": 1}), "criteria", "an empty window"),
        (criteria(qed={"least": 1}), "criteria", "a property of molecules"),
        (criteria(gap=3), "criteria", "a number"), ({"criteria": []}, "criteria", "a list"),
    ])  # fmt: skip


CHAIN = made("H H", cell(0.9, 3.0, 3.1), (0, 0, 0), (0.5, 0.1, 0))
"""A metal's bands."""


def edges(key: Key) -> None:
    """What tells edits of the verifier from it."""
    dense = made("H H", cell(0.82, 3.0, 3.3), (0, 0, 0), (0.5, 0, 0))
    gap, large = criteria(gap={"least": 1}), repeated(HYDROGEN, np.diag([1, 1, 2]))
    for solid, task, outcome, why, settings, more in (
        (CHAIN, None, UNKNOWN, "bands that meet", {"level": "lda/gth-szv", "density": 0.5},
         {"reason": "no gap"}),
        (dense, gap, YES, "functions that depend on each other", {"level": "lda/gth-tzv2p"}, {}),
        (HELIUM, None, YES, "an energy without an empty band", {"level": "lda/gth-szv"}, {}),
        (HYDROGEN, gap, YES, "as many functions as are taken", {"max_functions": 10}, {}),
        (large, gap, UNKNOWN, "one function too many", {"max_functions": 19},
         {"reason": "20 basis functions are too many"}),
        (HYDROGEN, gap, YES, "as many points as are taken", {"max_points": 3524}, {}),
        (HYDROGEN, gap, UNKNOWN, "one point too many", {"max_points": 3523}, {"reason": "points"}),
        (HYDROGEN, gap, UNKNOWN, "too many points of reciprocal space",
         {"density": 0.7, "max_points": 28000}, {"reason": "points"}),
        (HYDROGEN, None, UNKNOWN, "too few cycles for helium too", {"max_cycles": 1},
         {"reason": "neither did that of helium"}),
    ):  # fmt: skip
        key.add(poscar(solid), task, outcome, why, "mutant of the verifier",
                settings={**_QUICK, **settings}, **more)  # fmt: skip


def dft_cell(key: Key) -> None:
    """`dft-cell`."""
    energies(key)
    cells(key)
    gaps(key)
    unsound(key)
    uncomputed(key)
    edges(key)


if __name__ == "__main__":
    write({"dft-cell": dft_cell}, sys.argv[1:])
