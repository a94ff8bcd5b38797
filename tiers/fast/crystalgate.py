"""The crystal gate: what keeps a candidate inside what a force field was made for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.crystal import ATOMS, CrystalCanonicaliser, crystal_of
from verifier_ladder.tiers.fast.crystalfile import MOST_ATOMS, Array, Crystal
from verifier_ladder.tiers.fast.crystalfile import elements as known_elements
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

DISTANCE = 0.65
"""Least distance of two atoms, as a part of the sum of their covalent radii."""
VOLUME = (4.0, 130.0)
"""Å³ an atom: diamond has 5.7, caesium 117."""
DENSITY = (0.05, 25.0)
"""g/cm³: osmium has 22.6."""
_LARGEST_RATIO = 1.5
_AROUND = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
_AT_ONCE = 20_000
"""Pairs whose distances are held in memory: some 25 MiB at most."""
_GRAMS = 1.66053907
"""Of one dalton in an Å³, in g/cm³."""
Window = Annotated[list[float], Field(min_length=2, max_length=2)]


class Flaw(NamedTuple):
    """A bound that a crystal breaks."""

    bound: str
    """Its name: atoms, elements, volume, density or distance."""
    reason: str
    feedback: str

    @property
    def verdict(self) -> Verdict:
        """The reject that it amounts to."""
        return Verdict.reject(self.reason, feedback=self.feedback, evidence={"bound": self.bound})


class Bounds(NamedTuple):
    """What a crystal must keep before anything is computed of it."""

    max_atoms: int = ATOMS
    elements: Sequence[str] = ()
    """Those that may occur; none for all of them."""
    distance: float = DISTANCE
    volume: Sequence[float] = VOLUME
    density: Sequence[float] = DENSITY

    def flaw(self, crystal: Crystal) -> Flaw | None:
        """The first bound that a crystal breaks; None if it keeps all.

        Distances come last: they are looked for among the images of a cell whose volume is known
        to be sound.
        """
        size = len(crystal.symbols)
        if size > self.max_atoms:
            return Flaw(
                "atoms", f"the cell has {size} atoms; at most {self.max_atoms} are allowed",
                "Propose a smaller cell.",
            )  # fmt: skip
        strangers = sorted(set(crystal.symbols) - set(self.elements or known_elements()))
        if strangers:
            return Flaw(
                "elements", f"the element {strangers[0]} is not allowed",
                f"Use only these elements: {', '.join(self.elements)}.",
            )  # fmt: skip
        return self._window(crystal) or self._contact(crystal)

    def _window(self, crystal: Crystal) -> Flaw | None:
        """Volume and density."""
        volume = crystal.volume / len(crystal.symbols)
        if not self.volume[0] <= volume <= self.volume[1]:
            return _outside("volume", volume, self.volume, "Å³ an atom", volume < self.volume[0])
        dense = density(crystal)
        if not self.density[0] <= dense <= self.density[1]:
            return _outside("density", dense, self.density, "g/cm³", dense > self.density[1])
        return None

    def _contact(self, crystal: Crystal) -> Flaw | None:
        """The two atoms that are closest for their sizes, images in other cells among them."""
        found = nearest(crystal, self.distance)
        if found is None:
            return None
        one, other, away = found
        return Flaw(
            "distance",
            f"{one} and {other} are {away:.2f} Å apart, less than {self.distance:g} times the sum "
            "of their covalent radii",
            "Move the atoms apart, those of neighbouring cells too, or enlarge the cell.",
        )


def _outside(
    bound: str, value: float, window: Sequence[float], unit: str, is_dense: object
) -> Flaw:
    return Flaw(
        bound,
        f"the {bound} is {value:.4g} {unit}; allowed are {window[0]:g} to {window[1]:g}",
        f"Propose a {'larger' if is_dense else 'smaller'} cell for its atoms.",
    )


def density(crystal: Crystal) -> float:
    """g/cm³."""
    from ase.data import atomic_masses

    return float(_GRAMS * atomic_masses[crystal.numbers].sum() / crystal.volume)


def nearest(crystal: Crystal, ratio: float) -> tuple[str, str, float] | None:
    """The closest two atoms below so many times the sum of their covalent radii, in Å.

    An atom may be too close to its own image. A cell with a vector so short is known without
    looking at its images.
    """
    from ase.data import covalent_radii
    from ase.geometry import minkowski_reduce

    radii = ratio * covalent_radii[crystal.numbers]
    cell = np.array(minkowski_reduce(crystal.lattice)[0])
    shortest = float(np.linalg.norm(cell, axis=1).min())
    small = int(radii.argmin())
    if shortest < 2 * radii[small]:
        return crystal.symbols[small], "its own image", shortest
    places = crystal.places @ crystal.lattice @ np.linalg.inv(cell)
    found = (math.inf, "", "", 0.0)
    for first, second in _pairs(len(radii)):
        limits = radii[first] + radii[second]
        away = _away(places[second] - places[first], cell, shortest - limits)
        away[first == second] = shortest
        shares = away / limits
        worst = int(shares.argmin())
        one, other = (crystal.symbols[place[worst]] for place in (first, second))
        found = min(found, (float(shares[worst]), one, other, float(away[worst])))
    share, one, other, distance = found
    return (one, other, distance) if share < 1 else None


def _pairs(atoms: int) -> Iterator[tuple[Array, Array]]:
    """All pairs of atoms and each atom with itself, some thousands at a time."""
    first, second = np.triu_indices(atoms)
    for start in range(0, len(first), _AT_ONCE):
        yield first[start : start + _AT_ONCE], second[start : start + _AT_ONCE]


def _away(steps: Array, cell: Array, safe: Array) -> Array:
    """How far away the nearest images are of where steps lead, in parts of a reduced cell.

    Of a step that is wrapped, that is the image in one of the cells around. Where it is no longer
    than is safe, all other images are too far away to be too close.
    """
    wrapped = steps - np.rint(steps)
    away: Array = np.linalg.norm(wrapped @ cell, axis=1)
    unsafe = np.nonzero(away > safe)[0]
    images = (wrapped[unsafe, None] + _AROUND) @ cell
    away[unsafe] = np.linalg.norm(images, axis=2).min(axis=1)
    return away


def as_atoms(crystal: Crystal) -> Any:
    """A crystal as ASE's atoms."""
    from ase import Atoms

    return Atoms(
        numbers=crystal.numbers, cell=crystal.lattice, scaled_positions=crystal.places, pbc=True
    )


class CrystalGateSettings(BaseModel):
    """Settings of `CrystalGate` that a campaign's row may choose for a worker."""

    max_atoms: int
    elements: Annotated[
        list[Annotated[str, Field(pattern="^[A-Z][a-z]?$")]], Field(max_length=118)
    ]
    distance: float
    volume: Window
    density: Window


class CrystalGate(SingleVerifier):
    r"""Rejects crystals outside the bounds that calculators are made for.

    Its evidence names the bound: atoms, elements, volume, density or distance. Force fields are
    asked about nothing that breaks it: at 0.3 Å some give an energy like that at rest.

    Example:
        >>> chain = "Cu\n1.0\n1.2 0 0\n0 5 0\n0 0 5\nCu\n1\nDirect\n0 0 0"
        >>> CrystalGate().judge([Candidate("crystal", chain)])[0].reason[:39]
        'Cu and its own image are 1.20 Å apart, '
    """

    name = "crystal-gate"
    version = "1"
    tier = Tier.FAST
    kind = "crystal"
    domain = "materials"
    capabilities = ("reasoning",)
    role = "gate"
    definitive = True
    cost = Cost(seconds=2e-3)
    timeout = 10.0
    control = Candidate("crystal", CrystalCanonicaliser.control)
    data_settings = CrystalGateSettings

    @checked()
    def __init__(
        self,
        *,
        max_atoms: int = ATOMS,
        elements: Sequence[str] = (),
        distance: float = DISTANCE,
        volume: Sequence[float] = VOLUME,
        density: Sequence[float] = DENSITY,
    ) -> None:
        """Set the bounds.

        Args:
            max_atoms: Atoms of the largest cell.
            elements: Symbols that may occur; all known ones if there is none.
            distance: Least distance of two atoms, as a part of the sum of their covalent radii.
            volume: Least and most, Å³ an atom.
            density: Least and most, g/cm³.

        Raises:
            ConfigError: If a bound makes no sense.
        """
        if max_atoms not in range(1, MOST_ATOMS + 1):
            raise ConfigError(f"max_atoms={max_atoms!r}: give 1 to {MOST_ATOMS}")
        if not 0 < distance <= _LARGEST_RATIO:
            raise ConfigError(f"distance={distance!r}: give a part above 0, at most 1.5")
        for name, window in (("volume", volume), ("density", density)):
            if len(window) != 2 or not 0 <= window[0] < window[1]:  # noqa: PLR2004
                raise ConfigError(f"{name}={list(window)}: give least and most, from 0 on")
        for symbol in elements:
            if symbol not in known_elements():
                raise ConfigError(f"elements: there is none called {symbol!r:.20}")
        bounds = Bounds(max_atoms, sorted(elements), distance, list(volume), list(density))
        super().__init__(**bounds._asdict())
        self._bounds = bounds
        self.tools = versions("ase", "numpy")

    def setup(self) -> None:
        """Load the libraries."""
        _ = (
            known_elements(),
            nearest(crystal_of(CrystalCanonicaliser.control), self._bounds.distance),
        )

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the crystal and check every bound."""
        flaw = self._bounds.flaw(crystal_of(candidate.content, self._bounds.max_atoms))
        return Verdict.accept() if flaw is None else flaw.verdict
