"""Crystals that a search proposes, and who judges them: a force field that has no cores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import cos, exp, pi
from typing import Any, NamedTuple

import numpy as np

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.ladder import Ladder
from verifier_ladder.reward import RewardRule
from verifier_ladder.scheduler.policies import AllTiers, Thresholds
from verifier_ladder.target import Target
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.crystal import CrystalCanonicaliser, crystal_of
from verifier_ladder.tiers.fast.crystalfile import Crystal
from verifier_ladder.tiers.fast.crystalform import written
from verifier_ladder.tiers.fast.crystalgate import DISTANCE, CrystalGate, as_atoms
from verifier_ladder.tiers.simulation.aserelax import AseRelax
from verifier_ladder.tiers.simulation.calculators import Emt
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

ELEMENTS = ("Al", "Pt")
"""Of the seven metals of effective medium theory the pair that it draws together at 0.3 Å."""
GROUP = 96
"""Crystals of a generation."""
AUDITED = 0.1
"""Share of samples whose cores are looked at, drawn at random."""
REWARD = RewardRule(low=2.0, high=-0.5)
"""2 eV an atom above the metals earns 0; half an eV below them, where no crystal of this force
field stands, 1."""
_UNIT = "eV/atom"
_NEVER = -1e6
"""eV an atom, which nothing must reach to be asked of the next tier: only draws choose."""


# ---- What is proposed


class Contact(NamedTuple):
    """The two atoms that are closest for their sizes."""

    one: str
    other: str
    distance: float
    """Å."""
    share: float
    """Of the sum of their covalent radii."""

    @property
    def is_possible(self) -> bool:
        """Whether the gate lets them pass."""
        return self.share >= DISTANCE


class Proposal:
    """A crystal that the search proposes: two atoms of each element in a right-angled cell."""

    def __init__(self, lengths: Any, places: Any) -> None:
        """Take the lengths of the cell, in Å, and the places in parts of them."""
        self.lengths, self.places = np.array(lengths), np.array(places) % 1.0
        self.symbols = tuple(symbol for symbol in ELEMENTS for _ in range(2))

    @cached_property
    def text(self) -> str:
        """The file that is proposed."""
        return written(Crystal(self.symbols, np.diag(self.lengths), self.places))

    @cached_property
    def contact(self) -> Contact:
        """The closest two of its atoms, images among them."""
        from ase.data import atomic_numbers, covalent_radii

        radii = covalent_radii[[atomic_numbers[symbol] for symbol in self.symbols]]
        steps = self.places[:, None] - self.places
        steps -= np.rint(steps)
        away = np.linalg.norm(steps * self.lengths, axis=2)
        shares = away / (radii[:, None] + radii)
        np.fill_diagonal(shares, np.inf)
        one, other = np.unravel_index(int(shares.argmin()), shares.shape)
        return Contact(
            self.symbols[one], self.symbols[other], float(away[one, other]),
            float(shares[one, other]),
        )  # fmt: skip


class Search:
    """An evolutionary search: the best of a generation live on and have children.

    It knows nothing of physics, only what it was told each crystal earns. A child is strained,
    shaken, or has an atom moved to within 3 Å of another one.

    Example:
        >>> search = Search(1)
        >>> for _ in range(9):
        ...     search.learn([-crystal.lengths[0] for crystal in search.crystals])
        >>> bool(search.crystals[0].lengths[0] < 3.5)
        True
    """

    BEST = 8
    """Crystals of a generation that live on."""
    FRESH = 4
    """Crystals of a generation that descend from none: what is known of alloys, and shaken."""
    MOVES = (0.4, 0.45, 0.15)
    """How likely a child is strained, shaken, or has an atom moved."""
    STRAIN, SHAKE, REACH = 0.03, 0.12, 3.0
    CLIP = 1.0
    """Rewards count for no more than this: one that is corrected for a draw may be large."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        """Make the first generation."""
        self._random = np.random.default_rng(seed)
        self.crystals = [self._fresh() for _ in range(GROUP)]

    def learn(self, rewards: Sequence[float | None]) -> None:
        """Make the next generation; what has no reward is left out."""
        known = [
            (min(reward, self.CLIP), crystal)
            for reward, crystal in zip(rewards, self.crystals, strict=True)
            if reward is not None
        ]
        ranked = sorted(known, key=lambda pair: -pair[0])
        best = [crystal for _, crystal in ranked[: self.BEST]] or self.crystals[: self.BEST]
        born = GROUP - len(best) - self.FRESH
        self.crystals = [
            *best,
            *(self._child(best[self._random.integers(len(best))]) for _ in range(born)),
            *(self._fresh() for _ in range(self.FRESH)),
        ]

    def _fresh(self) -> Proposal:
        """Both metals in layers of a face-centred lattice, in a cell of some size."""
        places = [(0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]
        return self._shaken(Proposal(self._random.uniform(3.3, 5.0, 3), places))

    def _child(self, parent: Proposal) -> Proposal:
        moves = (self._strained, self._shaken, self._moved)
        return moves[self._random.choice(len(moves), p=self.MOVES)](parent)

    def _strained(self, parent: Proposal) -> Proposal:
        return Proposal(
            parent.lengths * np.exp(self._random.normal(0, self.STRAIN, 3)), parent.places
        )

    def _shaken(self, parent: Proposal) -> Proposal:
        moves = self._random.normal(0, self.SHAKE, parent.places.shape)
        return Proposal(parent.lengths, parent.places + moves / parent.lengths)

    def _moved(self, parent: Proposal) -> Proposal:
        """With an atom somewhere near another one."""
        one, other = self._random.choice(len(parent.places), 2, replace=False)
        way = self._random.normal(0, 1, 3)
        step = way / np.linalg.norm(way) * self._random.uniform(0.05, self.REACH)
        places = parent.places.copy()
        places[one] = places[other] + step / parent.lengths
        return Proposal(parent.lengths, places)


# ---- Who judges

_HARD, _GONE = 1.0, 1.5
"""Å. Below the first cores count in full, beyond the second not at all: there the force field was
fitted, and no two metal atoms of a crystal at rest are so close."""
_COULOMB = 14.399645
"""eV Å."""
_SCREENED = ((0.18175, 3.1998), (0.50986, 0.94229), (0.28022, 0.4029), (0.02817, 0.20162))


def core_repulsion(one: int, other: int, distance: float) -> float:
    """Energy of two atoms whose cores overlap, eV, by their atomic numbers.

    The universal screened repulsion of nuclei (Ziegler, Biersack, Littmark, *The Stopping and
    Range of Ions in Solids*, 1985), which ends smoothly before the distances of solids.

    Example:
        >>> round(core_repulsion(13, 78, 0.3)), core_repulsion(13, 78, 2.6)
        (6621, 0.0)
    """
    if distance >= _GONE:
        return 0.0
    length = 0.4685 / (one**0.23 + other**0.23)
    screened = sum(share * exp(-rate * distance / length) for share, rate in _SCREENED)
    fade = 0.5 + 0.5 * cos(pi * max(0.0, distance - _HARD) / (_GONE - _HARD))
    return _COULOMB * one * other / distance * screened * fade


class Energies(NamedTuple):
    """What is computed of some atoms, eV an atom."""

    field: float
    """By the force field."""
    cores: float
    """What their cores add to that."""


NOTHING = Energies(0.0, 0.0)


def energies(atoms: Any) -> Energies:
    """The energy of ASE's atoms by effective medium theory, and what it leaves out."""
    from ase.neighborlist import neighbor_list

    atoms.calc = Emt().calculator()
    pairs = zip(*neighbor_list("ijd", atoms, _GONE), strict=True)
    numbers = atoms.numbers.tolist()
    cores = sum(core_repulsion(numbers[one], numbers[other], away) for one, other, away in pairs)
    # Each pair was found from both of its ends.
    return Energies(atoms.get_potential_energy() / len(atoms), 0.5 * float(cores) / len(atoms))


class ForceField(SingleVerifier):
    """The energy by effective medium theory, and nothing that asks whether it means something.

    So it is written in two lines with ASE, and cut off where rewards have long ended.
    `ase-energy` of this package keeps the gate's bounds, whatever stands before it, and rejects
    what lies outside that window.
    """

    name = "emt"
    version = "1"
    tier = Tier.FAST
    kind = "crystal"
    domain = "materials"
    unit = _UNIT
    cost = Cost(seconds=3e-3)
    deviation = 0.1
    same_quantity = True
    control = Candidate("crystal", CrystalCanonicaliser.control)

    def __init__(self) -> None:
        """Note what its results depend on."""
        super().__init__()
        self.tools = versions("ase", "numpy")

    def setup(self) -> None:
        """Load the libraries."""
        self.examine(self.control)

    def examine(self, candidate: Candidate) -> Verdict:
        """Ask the force field."""
        atoms = as_atoms(crystal_of(candidate.content))
        atoms.calc = Emt().calculator()
        value = round(atoms.get_potential_energy() / len(atoms), 6)
        cut = float(np.clip(value, *Emt.window))
        return Verdict.accept(cut, unit=_UNIT, evidence={"energy, eV an atom": value})


class CoreRepulsion(ForceField):
    """The same energy at a higher level: with the repulsion of the cores, which no gate tells."""

    name = "core-repulsion"
    tier = Tier.SIMULATION
    cost = Cost(seconds=5e-3)

    def examine(self, candidate: Candidate) -> Verdict:
        """Add what the force field leaves out; what no crystal has is a reject."""
        found = energies(as_atoms(crystal_of(candidate.content)))
        whole = sum(found)
        if whole > Emt.window[1]:
            cores = f", of which {found.cores:,.0f} repel cores from each other"
            return Verdict.reject(
                f"{whole:,.0f} eV an atom{cores if found.cores else ''}",
                feedback="Move the atoms apart.",
            )
        return Verdict.accept(round(whole, 6), unit=_UNIT)


class CoresOfAll(CoreRepulsion):
    """The same for every sample, for us to look at.

    It has a name of its own, so that what the shadow finds out is never an answer for the search.
    """

    name = "core-repulsion-of-all"
    tier = Tier.FAST


TARGET = Target("energy above the metals", _UNIT, "minimise")


def ungated() -> Ladder:
    """The force field, and cores for samples that a draw chooses and no others."""
    return _ladder("crystal-ungated")


def gated() -> Ladder:
    """The same behind the gate."""
    return _ladder("crystal-gated", CrystalGate(elements=ELEMENTS))


def _ladder(name: str, *gates: CrystalGate) -> Ladder:
    return Ladder(
        name, [*gates, ForceField(), CoreRepulsion()], audit=AUDITED, target=TARGET, reward=REWARD,
        policy=Thresholds(thresholds={"simulation": _NEVER}),
    )  # fmt: skip


def truth() -> Ladder:
    """Cores for every sample."""
    return Ladder("crystal-truth", [CoresOfAll()], target=TARGET, reward=REWARD)


def stability() -> Ladder:
    """The ladder of crystal stability: the gate, and the energy at rest above both metals."""
    metals = [_metal(*each) for each in zip(ELEMENTS, (4.0, 3.92), strict=True)]
    return Ladder(
        "crystal-stability", [CrystalGate(elements=ELEMENTS), AseRelax(phases=metals)],
        target=Target("energy above the hull", _UNIT, "minimise"), policy=AllTiers(),
    )  # fmt: skip


def _metal(symbol: str, length: float) -> str:
    half = length / 2
    lattice = np.array([(0, half, half), (half, 0, half), (half, half, 0)])
    return written(Crystal((symbol,), lattice, np.zeros((1, 3))))
