"""The verifier `ase-relax`: how far above its own minimum a crystal is proposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Unpack

import numpy as np
from pydantic import Field

from verifier_ladder.arguments import checked
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tiers.fast.crystal import crystal_of
from verifier_ladder.tiers.fast.crystalfile import LONGEST, Crystal
from verifier_ladder.tiers.fast.crystalform import written
from verifier_ladder.tiers.fast.crystalgate import Bounds
from verifier_ladder.tiers.simulation.asecrystal import (
    BONDED,
    AseOptions,
    AseSettings,
    AseVerifier,
    Pairs,
    finite,
    within,
)
from verifier_ladder.tiers.simulation.calculators import NotConvergedError
from verifier_ladder.tiers.simulation.hull import Phase, hull_energy
from verifier_ladder.verdict import Verdict

BROKEN = 1.5
"""Times the sum of covalent radii: further is not bonded, between it and `BONDED` is either."""
_MOST_PHASES = 50
_RELAXED = Bounds(max_atoms=100_000)
"""Cells may have been repeated."""


class AseRelaxSettings(AseSettings):
    """What settings of `AseRelax` must be."""

    fmax: Annotated[float, Field(ge=1e-4, le=1)]
    steps: Annotated[int, Field(ge=1, le=10_000)]
    cell: bool
    optimiser: Literal["BFGS", "FIRE"]
    phases: Annotated[
        list[Annotated[str, Field(max_length=LONGEST)]], Field(max_length=_MOST_PHASES)
    ]


class AseRelax(AseVerifier):
    r"""Relaxation energy, eV an atom: what a crystal loses on the way to its nearest minimum.

    0 is a crystal at rest. It says nothing of other phases, so it is not stability.

    **Stability** is the energy at rest above the hull of competing `phases`, which are relaxed
    with the same settings. Where they are given, it is the score; below 0 the crystal is more
    stable than all of them. Where no mixture of them has its composition, the verifier abstains.

    A crystal whose bonds change on the way is another one, and rejected, as is one that leaves
    the gate's bounds.

    Its artifact `relaxed.vasp` is the crystal at rest.

    Example:
        >>> from verifier_ladder.candidate import Candidate
        >>> copper = "Cu\n1.0\n0 1.85 1.85\n1.85 0 1.85\n1.85 1.85 0\nCu\n1\nDirect\n0 0 0"
        >>> 0.03 < AseRelax().judge([Candidate("crystal", copper)])[0].score < 0.05
        True
    """

    name = "ase-relax"
    version = "1"
    unit = "eV/atom"
    cost = Cost(seconds=0.2)
    data_settings = AseRelaxSettings

    @checked()
    def __init__(
        self,
        *,
        fmax: float = 0.01,
        steps: int = 300,
        cell: bool = True,
        optimiser: str = "BFGS",
        phases: Sequence[str] = (),
        **shared: Unpack[AseOptions],
    ) -> None:
        """Choose when a crystal is at rest.

        Args:
            fmax: Largest force at rest, eV/Å, and strain's share of it.
            steps: Most steps.
            cell: Whether the cell relaxes too.
            optimiser: `BFGS` or `FIRE`.
            phases: Crystals that compete, as CIF, POSCAR or extended XYZ: those of its elements
                and what they are known to form.
            shared: The calculator, and what it must find: `asecrystal.AseOptions`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        if len(phases) > _MOST_PHASES:
            raise ConfigError(f"phases: give at most {_MOST_PHASES}")
        self._crystals = [_phase(text) for text in phases]
        self._phases: list[Phase] | None = None
        own = {
            "fmax": fmax, "steps": steps, "cell": cell, "optimiser": optimiser,
            "phases": list(phases),
        }  # fmt: skip
        super().__init__(own, shared)
        for each in self._crystals:
            if refusal := self._method.refusal(each.symbols):
                raise ConfigError(f"phases: {refusal}")

    def setup(self) -> None:
        """Load the calculator, and relax what competes: no candidate pays for that."""
        super().setup()
        self._competing()

    def evaluations(self) -> float:
        """Most crystals are at rest after some dozens of steps."""
        return float(min(30, self.settings["steps"]) + 1)

    def most_evaluations(self) -> float:
        """One a step, and the stress of the first."""
        return float(self.settings["steps"] + 2)

    def computed(self, atoms: Any) -> Verdict:
        """Relax, and compare with what was proposed."""
        hull = 0.0
        if self._crystals:
            found = hull_energy(atoms.get_chemical_symbols(), self._competing())
            if found is None:
                return Verdict.abstain("no mixture of the phases has its composition")
            hull = found
        before, bonds = self.energy(atoms), _pairs(atoms)
        self.forces(atoms)
        taken = self._relax(atoms)
        after = self.energy(atoms)
        crystal = _crystal(atoms)
        if (flaw := _RELAXED.flaw(crystal)) is not None:
            return flaw.verdict
        broken, formed = _changed(bonds, _pairs(atoms))
        if broken or formed:
            raise CandidateError(
                f"it relaxes into another crystal: {broken} bonds break and {formed} form",
                feedback="Propose a crystal at rest, whose bonds last when it relaxes.",
            )
        lost = max(0.0, before - after)
        scores = {"energy_at_rest": round(after, 6), "relaxation_energy": round(lost, 6)}
        if self._crystals:
            scores["energy_above_hull"] = round(after - hull, 6)
        return Verdict.accept(
            scores["energy_above_hull" if self._crystals else "relaxation_energy"],
            unit=self.unit,
            scores=scores,
            evidence=self.evidence(**{
                "energy at rest, eV an atom": round(after, 6), "steps": taken,
                "volume at rest, Å³ an atom": round(float(atoms.get_volume()) / len(atoms), 4),
            }),
            artifacts={"relaxed.vasp": written(crystal).encode()},
        )  # fmt: skip

    def _competing(self) -> list[Phase]:
        """The phases at rest, relaxed once.

        Raises:
            ConfigError: If one of them can't compete.
        """
        if self._phases is None:
            self._phases = [Phase(each.symbols, self._rest(each)) for each in self._crystals]
        return self._phases

    def _rest(self, phase: Crystal) -> float:
        def energy(atoms: Any) -> float:
            self._relax(atoms)
            return self.energy(atoms)

        try:
            return self.converged(phase, energy)[0]
        except (CandidateError, NotConvergedError) as error:
            raise ConfigError(f"phases: {''.join(phase.symbols):.40}: {error}") from error

    def _relax(self, atoms: Any) -> int:
        """Take steps until the atoms are at rest; how many.

        Raises:
            NotConvergedError: If they are not, after all steps that are allowed.
            CandidateError: If the energy leaves its window on the way.
        """
        from ase import optimize
        from ase.filters import FrechetCellFilter

        steps, fmax = self.settings["steps"], self.settings["fmax"]
        kind = getattr(optimize, self.settings["optimiser"])
        target = FrechetCellFilter(atoms) if self.settings["cell"] else atoms
        optimiser = kind(target, logfile=None, trajectory=None, restart=None)
        is_at_rest = False
        for stage in optimiser.irun(fmax=fmax, steps=steps):
            is_at_rest = bool(stage)
            self.energy(atoms)
            finite(target.get_forces())
        if not is_at_rest:
            raise NotConvergedError(
                f"the crystal did not converge in {steps} step{'s' * (steps > 1)}"
            )
        return int(optimiser.nsteps)


def _phase(text: object) -> Crystal:
    """A competing crystal.

    Raises:
        ConfigError: If it is none, or breaks the gate's bounds.
    """
    if not isinstance(text, str):
        raise ConfigError(f"phases: {text!r:.40} is no text of a file")
    try:
        crystal = crystal_of(text)
    except CandidateError as error:
        raise ConfigError(f"phases: {error}") from error
    if (flaw := Bounds().flaw(crystal)) is not None:
        raise ConfigError(f"phases: {flaw.reason}")
    return crystal


def _crystal(atoms: Any) -> Crystal:
    return Crystal(
        tuple(atoms.get_chemical_symbols()), np.array(atoms.cell), atoms.get_scaled_positions()
    )


def _pairs(atoms: Any) -> tuple[Pairs, Pairs]:
    """Which atoms are bonded, and which may be, images in other cells among them."""
    close, far = (within(atoms, ratio) for ratio in (BONDED, BROKEN))
    return close, far


def _changed(before: tuple[Pairs, Pairs], after: tuple[Pairs, Pairs]) -> tuple[int, int]:
    """How many bonds break, and how many form."""
    return len(before[0] - after[1]) // 2, len(after[0] - before[1]) // 2
