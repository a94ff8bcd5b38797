"""The one form that stands for all descriptions of a crystal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from verifier_ladder.errors import ToolError
from verifier_ladder.tiers.fast.crystalfile import Array, Crystal, ask_spglib, bad, elements

_LEAST_VECTOR = 0.1
"""Å. In a cell with a shorter one an atom stands in its own image, and to look for its symmetry
may take minutes."""
TOLERANCE = 1e-3
"""Å. Atoms that a translation brings so close to each other are images of one."""
_ROUNDS = 5
_LENGTHS, _ANGLES, _PLACES = 10**6, 10**5, 10**7
"""Steps of a form's numbers: in an Å, in a degree, in a lattice vector."""
_BETWEEN = 0.0317
"""How far from the middle between two steps numbers are told apart, so that none that people
write, such as 1/32, stands where noise decides."""


def written(crystal: Crystal) -> str:
    """A crystal as POSCAR, with the digits of a canonical form."""
    blocks: list[tuple[str, int]] = []
    for symbol in crystal.symbols:
        if blocks and blocks[-1][0] == symbol:
            blocks[-1] = (symbol, blocks[-1][1] + 1)
        else:
            blocks.append((symbol, 1))
    lines = [
        "crystal", "1.0", *_rows(crystal.lattice, 8), " ".join(symbol for symbol, _ in blocks),
        " ".join(str(count) for _, count in blocks), "Direct", *_rows(crystal.places, 7),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _rows(table: Array, digits: int) -> Iterator[str]:
    # Adding zero takes the sign off a zero.
    return (" ".join(f"{x:.{digits}f}" for x in np.round(row, digits) + 0.0) for row in table)


def canonical(crystal: Crystal, tolerance: float = TOLERANCE) -> Crystal:
    """The same crystal in the one cell, with the one origin and order that stand for it.

    The cell is primitive. Of all cells whose vectors are the shortest, and all origins in an atom
    of the rarest element, those with the smallest numbers are taken. As rounded numbers may have
    smaller ones, that is repeated until nothing changes.

    Raises:
        CandidateError: If an atom stands in its own image.
        ToolError: If a library is not installed.
    """
    _refuse_needles(crystal)
    form = _smallest(crystal, tolerance)
    for _ in range(_ROUNDS):
        again = _smallest(form, tolerance)
        if written(again) == written(form):
            break
        form = again
    return form


def _refuse_needles(crystal: Crystal) -> None:
    from ase.geometry import minkowski_reduce

    shortest = float(np.linalg.norm(minkowski_reduce(crystal.lattice)[0], axis=1).min())
    if shortest < _LEAST_VECTOR:
        raise bad(
            f"each atom is {shortest:.2g} Å from its own image; "
            f"at least {_LEAST_VECTOR:g} are read",
            "Give longer lattice vectors.",
        )


def _smallest(crystal: Crystal, tolerance: float) -> Crystal:
    lattice, places, numbers = _primitive(crystal, tolerance)
    shape, bases = _bases(lattice, tolerance)
    tables = (_table(places @ np.linalg.inv(basis), numbers) for basis in bases)
    best = min(tables, key=lambda table: table.tobytes())
    symbols = {number: symbol for symbol, number in elements().items()}
    return Crystal(
        tuple(symbols[int(number)] for number in best[:, 0]),
        _vectors(shape),
        best[:, 1:] / _PLACES,
    )


def _primitive(crystal: Crystal, tolerance: float) -> tuple[Array, Array, Array]:
    """The smallest cell, its atoms the means of those that are alike; as it is where none is."""
    given: Any = (crystal.lattice, crystal.places, np.array(crystal.numbers))
    try:
        # Its idealised cells depend on which of two like atoms comes first.
        found: Any = ask_spglib(
            "standardize_cell", given, to_primitive=True, no_idealize=True, symprec=tolerance
        )
    except ToolError:
        raise
    except Exception:  # noqa: BLE001 - which one it raises, if any, depends on its version
        found = None
    return given if found is None else found  # type: ignore[no-any-return]


def _bases(lattice: Array, tolerance: float) -> tuple[Array, list[Array]]:
    """The shape of the cell, in steps, and all bases that have it.

    Vectors as long as those of a reduced basis are the shortest that there are, whichever basis
    it is. Of their combinations those are taken whose lengths and angles are the smallest.
    """
    from ase.geometry import minkowski_reduce

    reduced, changed = (np.array(each) for each in minkowski_reduce(lattice))
    steps = np.array(list(product(range(-2, 3), repeat=3)))
    far = np.linalg.norm(steps @ reduced, axis=1)
    choices = (
        steps[np.abs(far - length) < tolerance] for length in np.linalg.norm(reduced, axis=1)
    )
    triples = np.array(list(product(*map(list, choices))))
    triples = triples[np.rint(np.linalg.det(triples)) == 1]  # Of one hand, and primitive.
    shapes = _shapes(triples @ reduced)
    least = np.array(min(map(tuple, shapes)))
    return least, [triple @ changed for triple in triples[np.all(shapes == least, axis=1)]]


def _shapes(bases: Array) -> Array:
    """Lengths and angles of bases, in steps."""
    lengths = np.linalg.norm(bases, axis=2)
    units = bases / lengths[:, :, None]
    cosines = [np.sum(units[:, i] * units[:, j], axis=1) for i, j in ((1, 2), (0, 2), (0, 1))]
    angles = np.degrees(np.arccos(np.stack(cosines, axis=1)))
    return np.hstack([_steps(lengths, _LENGTHS), _steps(angles, _ANGLES)])


def _steps(values: Array, per: int) -> Array:
    steps: Array = np.floor(values * per + (0.5 - _BETWEEN)).astype(np.int64)
    return steps


def _vectors(shape: Array) -> Array:
    from ase.geometry import cellpar_to_cell

    return np.array(cellpar_to_cell([*(shape[:3] / _LENGTHS), *(shape[3:] / _ANGLES)]))


def _table(places: Array, numbers: Array) -> Array:
    """Numbers and places in steps, ordered, from the origin where they are the smallest."""
    kinds, counts = np.unique(numbers, return_counts=True)
    rarest = kinds[np.argmin(counts)]
    tables = []
    for origin in places[numbers == rarest]:
        steps = _steps((places - origin) % 1.0, _PLACES) % _PLACES
        table = np.column_stack([numbers, steps])
        tables.append(table[np.lexsort(table.T[::-1])])
    return min(tables, key=lambda table: table.tobytes())
