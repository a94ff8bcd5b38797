"""The verifier `ase-dynamics`: how far the atoms of a crystal move at a temperature."""

from __future__ import annotations

import random
import warnings
from collections import defaultdict
from collections.abc import Sequence
from math import ceil, pi, prod, sqrt
from typing import Annotated, Any, Unpack

import numpy as np
from pydantic import Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.crystalfile import Array
from verifier_ladder.tiers.simulation.asecrystal import (
    BONDED,
    AseOptions,
    AseSettings,
    AseVerifier,
    finite,
    repeats,
    rough_lattice,
    rough_size,
    rough_symbols,
    within,
)
from verifier_ladder.tiers.simulation.calculators import NotConvergedError
from verifier_ladder.tiers.simulation.longrun import reach
from verifier_ladder.verdict import Verdict

_FRICTION = 0.02
"""Of each fs. It binds atoms so closely to the temperature that it is theirs within .2 ps."""
_HYDROGEN = 0.5
"""fs. Hydrogen swings a tenth as long as a metal."""
_EVERY = 5
"""Steps from one look at the places to the next, at least: neighbours are much alike."""
_KEPT = 1_000_000
"""Places of atoms that are kept, 24 MB. In longer runs and larger cells looks are rarer."""
_LEFT = 0.25
"""Of the distance to the next atom: whose mean place has moved so far has left its place."""
_HOT = 0.25
"""Of the temperature. Where it is missed by more, the motion is not that of this temperature."""
_TURN = 1.0
"""Radians of the fastest vibration that a step may take. From 2 on each swing is wider than the
one before, whatever the crystal is."""
_NUDGES, _NUDGE = 12, 0.01
"""How often, and by how many Å, atoms are moved to find that vibration."""
_PATIENCE = 20.0
"""Times the expected cost, after which a run hangs."""


class AseDynamicsSettings(AseSettings):
    """What settings of `AseDynamics` must be."""

    temperature: Annotated[float, Field(ge=1, le=1e4)]
    equilibration: Annotated[float, Field(ge=0.1, le=1e3)]
    duration: Annotated[float, Field(ge=0.1, le=1e3)]
    timestep: Annotated[float, Field(ge=0.1, le=10)]
    width: Annotated[float, Field(ge=3, le=50)]
    lindemann: Annotated[float, Field(ge=0.01, le=1)]
    max_atoms: Annotated[int, Field(ge=1, le=10_000)]
    replicates: Annotated[int, Field(ge=1, le=100)]


class AseDynamics(AseVerifier):
    r"""Root mean square displacement, Å, of atoms from their mean places, at a temperature.

    Langevin dynamics at constant volume in a cell that is repeated until it is wide enough. Each
    atom's mean place is that of the run, and the centre of mass stands still. The wave lengths
    that a small cell leaves out would add a little: in one 7 Å wide a tenth.

    A crystal is rejected where an atom leaves its place, or where the displacement is more than a
    part of the distance to the next atom (`lindemann`): it melts, or was at rest nowhere near.
    A short run shows what falls apart at once, not what lasts.

    Atoms move as classical mechanics says, so below the Debye temperature they swing less than
    real ones. A compressed crystal swings less than one at rest: put `ase-relax` before it.

    In a crystal of molecules the next atom is a bonded one, and whole molecules swing by more than
    such a part of a bond. So where bonds form groups that end, the verifier abstains. It fails
    where its steps are too long for the fastest vibration of the crystal as it is proposed: they
    would throw any crystal apart.

    The uncertainty is that of the mean over the run, and says nothing of the calculator.
    Replicates differ by their seed, which follows from the check; without them it is always the
    same.

    Example:
        >>> from verifier_ladder.candidate import Candidate
        >>> copper = "Cu\n1.0\n0 1.8 1.8\n1.8 0 1.8\n1.8 1.8 0\nCu\n1\nDirect\n0 0 0"
        >>> short = AseDynamics(temperature=200, equilibration=0.1, duration=0.2)
        >>> 0.05 < short.judge([Candidate("crystal", copper)])[0].score < 0.13
        True
    """

    name = "ase-dynamics"
    version = "2"
    unit = "Å"
    cost = Cost(seconds=10.0)
    batch_size = 1
    data_settings = AseDynamicsSettings

    @checked()
    def __init__(
        self,
        *,
        temperature: float = 300.0,
        equilibration: float = 0.5,
        duration: float = 2.0,
        timestep: float = 2.0,
        width: float = 7.0,
        lindemann: float = 0.1,
        max_atoms: int = 300,
        replicates: int = 1,
        **shared: Unpack[AseOptions],
    ) -> None:
        """Choose the run.

        Args:
            temperature: Kelvin.
            equilibration: Picoseconds before anything is looked at.
            duration: Picoseconds after that.
            timestep: Femtoseconds; where there is hydrogen, half a one at most.
            width: Å from face to face, at least, of the cell whose atoms move.
            lindemann: Largest displacement, as a part of the distance to the next atom: crystals
                melt at about .1.
            max_atoms: Atoms of that cell. Of larger ones the verifier says nothing.
            replicates: How many runs each candidate gets.
            shared: The calculator, and what it must find: `asecrystal.AseOptions`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        own = {
            "temperature": temperature, "equilibration": equilibration, "duration": duration,
            "timestep": timestep, "width": width, "lindemann": lindemann, "max_atoms": max_atoms,
            "replicates": replicates,
        }  # fmt: skip
        self.replicates, self.most_atoms = replicates, max_atoms
        super().__init__(own, shared)
        longest = self._run_length(self._timestep(["H"])) * self._method.step_seconds(max_atoms)
        self.timeout += _PATIENCE * longest

    @property
    def least_width(self) -> float:
        """As it is set, or as the calculator needs it."""
        width: float = self.settings["width"]
        return max(width, self._method.least_width)

    def most_evaluations(self) -> float:
        """One a step, and those that judge the timestep."""
        return float(_NUDGES + self._run_length(self._timestep(["H"])))

    def expected_seconds(self, candidate: Candidate) -> float:
        """Energies of the repeated cell, one a step, and those that judge the timestep."""
        lattice, size = rough_lattice(candidate.content), rough_size(candidate.content)
        atoms = size * prod(repeats(lattice, self.least_width))
        if atoms > self.most_atoms:  # Declined, or no crystal.
            return 0.01
        steps = _NUDGES + self._run_length(self._timestep(rough_symbols(candidate.content)))
        return steps * self._method.step_seconds(atoms)

    def _timestep(self, symbols: Sequence[str]) -> float:
        """Femtoseconds."""
        given: float = self.settings["timestep"]
        return min(given, _HYDROGEN) if "H" in symbols else given

    def _run_length(self, timestep: float) -> int:
        """Steps of a run."""
        length: float = self.settings["equilibration"] + self.settings["duration"]
        return ceil(1000 * length / timestep)

    def computed(self, atoms: Any) -> Verdict:
        """Let the atoms move, and look how far they do."""
        if len(atoms) == 1:
            return Verdict.abstain("one atom alone does not move: give a larger width")
        self.energy(atoms)
        self.forces(atoms)
        if molecules := _molecules(atoms):
            return Verdict.abstain(
                f"it holds molecules (the largest has {max(molecules)} atoms), which swing as a "
                "whole: how far, as a part of the distance to the next atom, says nothing of them"
            )
        self._check_timestep(atoms)
        start, near = atoms.get_positions(), _nearest(atoms)
        # What a lone check draws would be another number each time.
        seed = random.getrandbits(32) if self.replicates > 1 else 1
        places, energies, warmth = self._run(atoms, seed)
        mean = places.mean(axis=0)
        moved = float((_lengths(mean - start) / near).max())
        squares = np.mean(np.sum((places - mean) ** 2, axis=2), axis=1)
        motion = sqrt(float(squares.mean()))
        ratio = motion / float(near.mean())
        if moved > _LEFT or ratio > self.settings["lindemann"]:
            raise CandidateError(
                f"the crystal does not hold at {self.settings['temperature']:g} K: atoms swing by "
                f"{ratio:.0%} of the distance to the next one, and one has moved by {moved:.0%}",
                feedback="Propose a crystal at rest, whose atoms stay where they are when warm.",
            )
        # What falls together is hot of the energy that it loses; what has stayed is not.
        self._check_warmth(warmth, len(atoms))
        return Verdict.accept(
            round(motion, 5),
            uncertainty=round(reach(squares) / 2 / (2 * motion), 5),
            unit=self.unit,
            scores={"lindemann": round(ratio, 5), "energy": round(float(energies.mean()), 6)},
            evidence=self.evidence(**{
                "atoms": len(atoms), "seed": seed, "looks": len(places),
                "temperature, K": round(warmth, 1),
                "largest move of a mean place": round(moved, 4),
            }),
        )  # fmt: skip

    def _run(self, atoms: Any, seed: int) -> tuple[Array, Array, float]:
        """Places and energies of an atom, look by look, and the mean temperature.

        Raises:
            CandidateError: If the energy leaves its window on the way.
            NotConvergedError: If an energy is no finite number.
        """
        steps, first = self._begun(atoms, seed)
        last = self._run_length(self._timestep(atoms.get_chemical_symbols()))
        every = max(_EVERY, ceil((last - first + 1) * len(atoms) / _KEPT))
        places, energies, warmth = [], [], []
        for step, _ in enumerate(steps):
            energy = self.energy(atoms)
            if step >= first and step % every == 0:
                places.append(atoms.get_positions())
                energies.append(energy)
                warmth.append(atoms.get_temperature())
        return np.array(places), np.array(energies), float(np.mean(warmth))

    def _check_timestep(self, atoms: Any) -> None:
        """See that the steps are short beside the fastest vibration.

        Raises:
            NotConvergedError: If they are not.
        """
        length, fastest = self._timestep(atoms.get_chemical_symbols()), _fastest(atoms)
        if length * fastest > _TURN:
            raise NotConvergedError(
                f"steps of {length:g} fs are too long for its fastest vibration, of "
                f"{2 * pi / fastest:.2g} fs: give a timestep of {_TURN / fastest:.2g} fs"
            )

    def _check_warmth(self, found: float, atoms: int) -> None:
        """Compare a mean temperature with the one that is set.

        Raises:
            NotConvergedError: If it is missed by more than so few atoms vary.
        """
        asked = self.settings["temperature"]
        if abs(found / asked - 1) > _HOT + 2 / sqrt(atoms):
            raise NotConvergedError(
                f"the atoms are at {found:.0f} K where {asked:g} K are asked for: a longer "
                "equilibration or a shorter timestep would do"
            )

    def _begun(self, atoms: Any, seed: int) -> tuple[Any, int]:
        """The steps of a run, and the first that is looked at."""
        from ase import units
        from ase.constraints import FixCom
        from ase.md.langevin import Langevin

        draw, kelvin = np.random.default_rng(seed), self.settings["temperature"]
        length = self._timestep(atoms.get_chemical_symbols())
        atoms.set_constraint(FixCom())
        wide = np.sqrt(atoms.get_masses() * units.kB * kelvin)
        atoms.set_momenta(wide[:, None] * draw.standard_normal((len(atoms), 3)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = Langevin(
                atoms, length * units.fs, temperature_K=kelvin, friction=_FRICTION / units.fs,
                fixcm=False, rng=draw, logfile=None, trajectory=None,
            )  # fmt: skip
        first = ceil(1000 * self.settings["equilibration"] / length)
        return run.irun(self._run_length(length)), first


def _molecules(atoms: Any) -> list[int]:
    """Sizes of the groups of bonded atoms that end; atoms without a bond are none.

    A group has no end where its bonds lead from an atom to an image of it in another cell.
    """
    bonds = defaultdict(list)
    for first, second, *away in within(atoms, BONDED):
        bonds[first].append((second, np.array(away)))
    found, cells = [], dict[int, Array]()
    for start in bonds:
        if start in cells:
            continue
        cells[start], group, ends = np.zeros(3, int), [start], True
        for atom in group:  # It grows meanwhile.
            for other, cell in bonds[atom]:
                there = cells[atom] + cell
                if other not in cells:
                    cells[other] = there
                    group.append(other)
                ends = ends and bool((cells[other] == there).all())
        if ends:
            found.append(len(group))
    return found


def _fastest(atoms: Any) -> float:
    """Radians a femtosecond of the fastest vibration about where the atoms are.

    What stiffens most remains when forces on what was nudged are followed again and again. Its
    length is never above the truth, and after a dozen times little below.

    Raises:
        NotConvergedError: If a force is no finite number.
    """
    from ase import units

    start, forces = atoms.get_positions(), finite(atoms.get_forces())
    roots = np.sqrt(atoms.get_masses())[:, None]
    wave, stiffness = np.random.default_rng(1).standard_normal(start.shape), 0.0
    for _ in range(_NUDGES):
        scale = _NUDGE / np.abs(wave / roots).max()
        atoms.set_positions(start + scale * wave / roots)
        pulled = (forces - finite(atoms.get_forces())) / (scale * roots)
        stiffness = float(np.linalg.norm(pulled) / np.linalg.norm(wave))
        if not stiffness:
            break
        wave = pulled
    atoms.set_positions(start)
    return sqrt(stiffness) * units.fs


def _lengths(vectors: Array) -> Array:
    found: Array = np.linalg.norm(vectors, axis=1)
    return found


def _nearest(atoms: Any) -> Array:
    """Å from each atom to the next, images in other cells among them."""
    from ase.neighborlist import neighbor_list

    reached, found = 3.0, np.full(len(atoms), np.inf)
    while not np.isfinite(found).all():  # Each atom meets an image of its own at last.
        first, away = neighbor_list("id", atoms, reached)
        np.minimum.at(found, first, away)
        reached *= 1.5
    return found
