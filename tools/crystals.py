"""Crystals for answer keys and tests: prototypes, copies of one crystal, and files that hold one.

The energies are those of effective medium theory (Jacobsen, Stoltze, Nørskov, Surf. Sci. 366, 394,
1996), written down here as sums over pairs, apart from the library that the verifiers ask.
"""

from __future__ import annotations

from itertools import product
from math import exp, log, sqrt
from random import Random
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
BOHR = 0.5291772105638411
"""Å."""
_SAME = 1e-9


class Solid(NamedTuple):
    """Atoms in a cell that repeats without end."""

    symbols: list[str]
    lattice: Array
    """Its vectors as rows, in Å."""
    places: Array
    """In parts of the lattice vectors."""

    @property
    def volume(self) -> float:
        """Å³; negative where the vectors are left-handed."""
        return float(np.linalg.det(self.lattice))

    def scaled(self, factor: float) -> Solid:
        """The same with longer vectors."""
        return self._replace(lattice=self.lattice * factor)


def cell(a: float, b: float, c: float, *angles: float) -> Array:
    """Lattice vectors by their lengths and angles, right angles by default."""
    alpha, beta, gamma = np.radians(angles or (90.0, 90.0, 90.0))
    x = (np.cos(alpha) - np.cos(beta) * np.cos(gamma)) / np.sin(gamma)
    z = sqrt(1 - np.cos(beta) ** 2 - x**2)
    rows = [
        [a, 0, 0],
        [b * np.cos(gamma), b * np.sin(gamma), 0],
        [c * np.cos(beta), c * x, c * z],
    ]
    return np.round(np.array(rows), 12)


def made(text: str, lattice: Array, *places: tuple[float, float, float]) -> Solid:
    """A solid by its symbols, separated by spaces."""
    return Solid(text.split(), lattice, np.array(places, dtype=float))


CENTRES = [(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)]
"""Of a cube and of its faces."""


def centred(a: float, first: str, second: str = "", at: float = 0.5) -> Solid:
    """An element at the centres of a cube's faces; a second one shifted along the diagonal."""
    shifted = [tuple((x + at) % 1 for x in place) for place in CENTRES] if second else []
    symbols = [first] * 4 + [second] * len(shifted)
    return Solid(symbols, cell(a, a, a), np.array([*CENTRES, *shifted]))


def hexagonal(a: float, c: float, symbol: str) -> Solid:
    """A metal in hexagonal close packing."""
    places = ((1 / 3, 2 / 3, 0.25), (2 / 3, 1 / 3, 0.75))
    return made(f"{symbol} {symbol}", cell(a, a, c, 90, 90, 120), *places)


FCC = {"Al": 4.05, "Ni": 3.52, "Cu": 3.61, "Pd": 3.89, "Ag": 4.09, "Pt": 3.92, "Au": 4.08}
"""Measured lattice constants of the metals that the potential is made for, in Å."""
ALLOYS = {
    "Cu3Au": made("Au Cu Cu Cu", cell(3.75, 3.75, 3.75), *CENTRES),
    "Ni3Al": made("Al Ni Ni Ni", cell(3.57, 3.57, 3.57), *CENTRES),
    "AuPd3": made("Au Pd Pd Pd", cell(3.95, 3.95, 3.95), *CENTRES),
    "CuAu": made("Cu Cu Au Au", cell(3.96, 3.96, 3.67), CENTRES[0], CENTRES[3], *CENTRES[1:3]),
}
PROTOTYPES = {
    **{name: centred(a, name) for name, a in FCC.items()},
    **ALLOYS,
    "Fe": made("Fe Fe", cell(2.87, 2.87, 2.87), (0, 0, 0), (0.5, 0.5, 0.5)),
    "W": made("W W", cell(3.165, 3.165, 3.165), (0, 0, 0), (0.5, 0.5, 0.5)),
    "Na": made("Na Na", cell(4.29, 4.29, 4.29), (0, 0, 0), (0.5, 0.5, 0.5)),
    "Mg": hexagonal(3.21, 5.21, "Mg"),
    "Ti": hexagonal(2.951, 4.684, "Ti"),
    "Si": centred(5.431, "Si", "Si", 0.25),
    "C": centred(3.567, "C", "C", 0.25),
    "GaAs": centred(5.653, "Ga", "As", 0.25),
    "NaCl": centred(5.64, "Na", "Cl"),
    "MgO": centred(4.212, "Mg", "O"),
    "LiF": centred(4.027, "Li", "F"),
    "CsCl": made("Cs Cl", cell(4.123, 4.123, 4.123), (0, 0, 0), (0.5, 0.5, 0.5)),
    "CaF2": Solid(
        ["Ca"] * 4 + ["F"] * 8, cell(5.463, 5.463, 5.463),
        np.array([*CENTRES, *product((0.25, 0.75), repeat=3)]),
    ),
    "SrTiO3": made(
        "Sr Ti O O O", cell(3.905, 3.905, 3.905), (0, 0, 0), (0.5, 0.5, 0.5), (0.5, 0.5, 0),
        (0.5, 0, 0.5), (0, 0.5, 0.5),
    ),
    "TiO2": made(
        "Ti Ti O O O O", cell(4.594, 4.594, 2.959), (0, 0, 0), (0.5, 0.5, 0.5),
        (0.3053, 0.3053, 0), (0.6947, 0.6947, 0), (0.1947, 0.8053, 0.5), (0.8053, 0.1947, 0.5),
    ),
    "ZnO": made(
        "Zn Zn O O", cell(3.25, 3.25, 5.207, 90, 90, 120), (1 / 3, 2 / 3, 0), (2 / 3, 1 / 3, 0.5),
        (1 / 3, 2 / 3, 0.3819), (2 / 3, 1 / 3, 0.8819),
    ),
    "SiO2": made(
        "Si Si Si O O O O O O", cell(4.9137, 4.9137, 5.4047, 90, 90, 120), (0.4697, 0, 1 / 3),
        (0, 0.4697, 2 / 3), (0.5303, 0.5303, 0), (0.4133, 0.2672, 0.4521),
        (0.7328, 0.1461, 0.7854), (0.8539, 0.5867, 0.1188), (0.2672, 0.4133, 0.5479),
        (0.1461, 0.7328, 0.2146), (0.5867, 0.8539, 0.8812),
    ),
    "KClO4-like": made(
        "K O O", cell(5.1, 6.3, 7.2, 81.3, 97.1, 104.6), (0.1311, 0.2237, 0.3119),
        (0.6211, 0.7123, 0.1297), (0.3713, 0.8191, 0.7713),
    ),
}  # fmt: skip
"""Crystals as they were measured, by name; the last one is triclinic and invented."""


# ---- Copies of one crystal


def chance(seed: int | str) -> Random:
    """Draws that are the same each time."""
    return Random(seed)  # noqa: S311 - cases, not secrets


def rotated(solid: Solid, draw: Random) -> Solid:
    """Turned in space by any angle."""
    drawn = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(3)]
    turned, upper = np.linalg.qr(np.array(drawn))
    turned = turned * np.sign(np.diag(upper))
    if np.linalg.det(turned) < 0:
        turned[:, 0] *= -1
    return solid._replace(lattice=solid.lattice @ turned)


def shifted(solid: Solid, draw: Random) -> Solid:
    """With another origin."""
    return solid._replace(places=(solid.places + [draw.random() for _ in range(3)]) % 1.0)


def shuffled(solid: Solid, draw: Random) -> Solid:
    """With its atoms in another order."""
    order = list(range(len(solid.symbols)))
    draw.shuffle(order)
    return Solid([solid.symbols[n] for n in order], solid.lattice, solid.places[order])


def repeated(solid: Solid, matrix: Any) -> Solid:
    """In another cell: the rows say which whole multiples its vectors are."""
    matrix = np.array(matrix)
    count = round(abs(np.linalg.det(matrix)))
    inverse = np.linalg.inv(matrix)
    most = int(np.abs(matrix).sum())
    parts = np.array(list(product(range(-most, most + 1), repeat=3))) @ inverse
    inside = np.all((parts > -_SAME) & (parts < 1 - _SAME), axis=1)
    places = [(place @ inverse + part) % 1.0 for place in solid.places for part in parts[inside]]
    if len(places) != count * len(solid.symbols):
        raise ValueError("the cell was not filled")
    return Solid(
        [s for s in solid.symbols for _ in range(count)], matrix @ solid.lattice, np.array(places)
    )


CELLS = (
    [[1, 0, 0], [0, 1, 0], [0, 0, 2]],
    [[1, 1, 0], [0, 1, 0], [0, 0, 1]],
    [[2, 0, 0], [0, 1, 1], [0, -1, 1]],
    [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    [[1, 1, 0], [-1, 1, 0], [0, 0, 1]],
    [[1, 0, 0], [2, 1, 0], [-1, 3, 1]],
)
"""Other cells of a lattice, larger ones and skew ones; none is left-handed."""


def copied(solid: Solid, draw: Random) -> Solid:
    """The same crystal in another cell, turned, shifted and in another order."""
    for change in (rotated, shifted, shuffled):
        solid = change(solid, draw)
    return shuffled(repeated(solid, draw.choice(CELLS)), draw)


def rattled(solid: Solid, draw: Random, width: float) -> Solid:
    """With each atom moved by some Å."""
    moves = np.array([[draw.gauss(0, width) for _ in range(3)] for _ in solid.symbols])
    return solid._replace(places=solid.places + moves @ np.linalg.inv(solid.lattice))


# ---- Files


def poscar(solid: Solid, *, title: str = "", digits: int = 10) -> str:
    """As VASP reads it."""
    blocks: list[list[Any]] = []
    for symbol in solid.symbols:
        if blocks and blocks[-1][0] == symbol:
            blocks[-1][1] += 1
        else:
            blocks.append([symbol, 1])
    lines = [
        title or "".join(dict.fromkeys(solid.symbols)), "1.0", *_rows(solid.lattice, digits),
        " ".join(symbol for symbol, _ in blocks), " ".join(str(count) for _, count in blocks),
        "Direct", *_rows(solid.places, digits),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def xyz(solid: Solid, *, digits: int = 10) -> str:
    """As extended XYZ."""
    lattice = " ".join(" ".join(_row(row, digits).split()) for row in solid.lattice)
    head = f'Lattice="{lattice}" Properties=species:S:1:pos:R:3 pbc="T T T"'
    rows = zip(solid.symbols, _rows(solid.places @ solid.lattice, digits), strict=True)
    return "\n".join([str(len(solid.symbols)), head, *(f"{s} {row}" for s, row in rows)]) + "\n"


def cif(solid: Solid, *, operations: tuple[str, ...] = ("x, y, z",), digits: int = 10) -> str:
    """As a crystallographic information file; with operations, its atoms are the distinct ones."""
    lengths = np.linalg.norm(solid.lattice, axis=1)
    units = solid.lattice / lengths[:, None]
    angles = [np.degrees(np.arccos(units[i] @ units[j])) for i, j in ((1, 2), (0, 2), (0, 1))]
    lines = [f"data_{''.join(dict.fromkeys(solid.symbols))}"]
    lines += [f"_cell_length_{n} {x:.{digits}f}" for n, x in zip("abc", lengths, strict=True)]
    names = ("alpha", "beta", "gamma")
    lines += [f"_cell_angle_{n} {x:.{digits}f}" for n, x in zip(names, angles, strict=True)]
    lines += ["loop_", "_symmetry_equiv_pos_as_xyz", *(f"'{each}'" for each in operations)]
    lines += ["loop_", "_atom_site_label", "_atom_site_type_symbol"]
    lines += [f"_atom_site_fract_{axis}" for axis in "xyz"]
    rows = zip(solid.symbols, _rows(solid.places, digits), strict=True)
    lines += [f"{symbol}{n} {symbol} {row}" for n, (symbol, row) in enumerate(rows, 1)]
    return "\n".join(lines) + "\n"


WRITERS = (poscar, cif, xyz)


def _rows(table: Array, digits: int) -> list[str]:
    return [_row(row, digits) for row in table]


def _row(row: Array, digits: int) -> str:
    return " ".join(f"{x:.{digits}f}" for x in row)


# ---- Effective medium theory, as sums over pairs

_EMT = {
    "Al": (-3.28, 3.00, 1.493, 1.240, 2.000, 1.169, 0.00700),
    "Cu": (-3.51, 2.67, 2.476, 1.652, 2.740, 1.906, 0.00910),
    "Ag": (-2.96, 3.01, 2.132, 1.652, 2.790, 1.892, 0.00547),
    "Au": (-3.80, 3.00, 2.321, 1.674, 2.873, 2.182, 0.00703),
    "Ni": (-4.44, 2.60, 3.673, 1.669, 2.757, 1.948, 0.01030),
    "Pd": (-3.90, 2.87, 2.773, 1.818, 3.107, 2.155, 0.00688),
    "Pt": (-5.85, 2.90, 4.067, 1.812, 3.145, 2.192, 0.00802),
}
"""E0 (eV), s0 (bohr), V0 (eV), η2, κ, λ (1/bohr), n0 (1/bohr³), as published."""
_BETA = 1.809
_NEAREST = _BETA * 3.01 * BOHR
"""Distance of neighbours in silver, the widest of these metals."""
_MIDDLE = _NEAREST * (sqrt(3) + 2) / 2
_SLOPE = log(1e4 - 1) / (2 * _NEAREST - _MIDDLE)
_REACH = _MIDDLE + 0.5
"""Å. Pairs are faded out around the middle of the third and the fourth shell, and end here."""


def emt(solid: Solid) -> float:
    """Energy of an atom, eV, above that of the metals at rest."""
    total = 0.0
    shells = [_neighbours(solid, n) for n in range(len(solid.symbols))]
    for symbol, (others, distances) in zip(solid.symbols, shells, strict=True):
        total += _energy(symbol, others, distances)
    return total / len(solid.symbols)


def _energy(symbol: str, others: list[str], distances: Array) -> float:
    e0, s0, v0, eta, kappa, lam, n0 = _EMT[symbol]
    first, second = _norms(s0, eta, kappa)
    near = np.array([_EMT[other] for other in others])
    density = near[:, 6] / n0 / (1 + np.exp(_SLOPE * (distances - _MIDDLE)))
    r = distances / BOHR
    sigma1 = np.sum(density * np.exp(-near[:, 3] * (r - _BETA * near[:, 1])))
    sigma2 = np.sum(density * np.exp(-near[:, 4] * (r / _BETA - near[:, 1])))
    grown = -log(sigma1 / (12 * first)) / (_BETA * eta)
    cohesion = e0 * (1 + lam * grown) * exp(-lam * grown)
    return float(cohesion + 6 * v0 * exp(-kappa * grown) - v0 * sigma2 / second / 2 - e0)


def _norms(s0: float, eta: float, kappa: float) -> tuple[float, float]:
    """What both sums are for an atom of the metal at rest."""
    first = second = 0.0
    for count, part in ((12, 1), (6, 2), (24, 3)):
        r = _BETA * s0 * sqrt(part)
        weight = count / 12 / (1 + exp(_SLOPE * (r * BOHR - _MIDDLE)))
        first += weight * exp(-eta * (r - _BETA * s0))
        second += weight * exp(-kappa / _BETA * (r - _BETA * s0))
    return first, second


def _neighbours(solid: Solid, centre: int) -> tuple[list[str], Array]:
    """Symbols and distances of all atoms within reach of one."""
    inverse_heights = np.linalg.norm(np.linalg.inv(solid.lattice), axis=0)
    most = [int(_REACH * each) + 2 for each in inverse_heights]
    steps = np.array(list(product(*(range(-n, n + 1) for n in most))))
    moved = solid.places - solid.places[centre]
    between = (moved - np.rint(moved))[:, None] + steps[None]
    distances = np.linalg.norm(between @ solid.lattice, axis=2)
    kept = (distances > _SAME) & (distances < _REACH)
    which = np.nonzero(kept)[0]
    return [solid.symbols[n] for n in which], distances[kept]
