"""The verifier `ase-equation-of-state`: how hard a crystal is to compress."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Unpack

import numpy as np
from pydantic import Field

from verifier_ladder.arguments import checked
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.crystalfile import Array
from verifier_ladder.tiers.simulation.asecrystal import AseOptions, AseSettings, AseVerifier
from verifier_ladder.verdict import Verdict

FORMS = ("birchmurnaghan", "vinet", "pouriertarantola")
"""Equations of state; the first gives the score, their spread its uncertainty."""
GPA = 160.21766208
"""Of one eV/Å³."""
ROUGH = 2e-3
"""eV an atom. Energies that lie further from the equation have none."""


class AseEquationOfStateSettings(AseSettings):
    """What settings of `AseEquationOfState` must be."""

    span: Annotated[float, Field(ge=0.01, le=0.2)]
    points: Annotated[int, Field(ge=5, le=25)]


class AseEquationOfState(AseVerifier):
    r"""Bulk modulus, GPa, from energies at several volumes; places scale with the cell.

    The uncertainty is the spread of three equations of state (Birch–Murnaghan, Vinet,
    Poirier–Tarantola) and says nothing of the calculator. A crystal whose volume of lowest energy
    is not among those that are tried is rejected: it is proposed far from rest.

    Example:
        >>> from verifier_ladder.candidate import Candidate
        >>> copper = "Cu\n1.0\n0 1.8 1.8\n1.8 0 1.8\n1.8 1.8 0\nCu\n1\nDirect\n0 0 0"
        >>> 130 < AseEquationOfState().judge([Candidate("crystal", copper)])[0].score < 140
        True
    """

    name = "ase-equation-of-state"
    version = "1"
    unit = "GPa"
    cost = Cost(seconds=0.1)
    data_settings = AseEquationOfStateSettings

    @checked()
    def __init__(
        self,
        *,
        span: float = 0.06,
        points: int = 9,
        **shared: Unpack[AseOptions],
    ) -> None:
        """Choose the volumes.

        Args:
            span: How far volumes go, either way, as a part of the proposed one.
            points: How many there are.
            shared: The calculator, and what it must find: `asecrystal.AseOptions`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        super().__init__({"span": span, "points": points}, shared)

    def evaluations(self) -> float:
        """One a volume, and the forces."""
        return float(self.settings["points"] + 1)

    def computed(self, atoms: Any) -> Verdict:
        """Compute energies at all volumes, and fit them."""
        self.energy(atoms)
        self.forces(atoms)
        volumes, energies = self._curve(atoms)
        least = int(energies.argmin())
        if least in {0, len(energies) - 1}:
            raise CandidateError(
                f"its energy is lowest beyond {self.settings['span']:.0%} of its volume",
                feedback=f"Propose a {'smaller' if least == 0 else 'larger'} cell.",
            )
        fits = [fit for form in FORMS if (fit := _fitted(form, volumes, energies)) is not None]
        if len(fits) < len(FORMS) or min(modulus for _, modulus, _ in fits) <= 0:
            return Verdict.abstain("no equation of state fits its energies")
        volume, modulus, rest = fits[0]
        spread = float(np.std([each for _, each, _ in fits], ddof=1))
        return Verdict.accept(
            round(modulus, 3),
            uncertainty=round(spread, 3),
            unit=self.unit,
            scores={"volume": round(volume, 4), "energy_at_rest": round(rest, 6)},
            evidence=self.evidence(**{
                "volume at rest, Å³ an atom": round(volume, 4),
                "energy at rest, eV an atom": round(rest, 6), "equation": FORMS[0],
            }),
        )  # fmt: skip

    def _curve(self, atoms: Any) -> tuple[Array, Array]:
        """Volumes and energies of an atom."""
        span, cell = self.settings["span"], np.array(atoms.cell)
        volume = atoms.get_volume() / len(atoms)
        factors = np.linspace(1 - span, 1 + span, self.settings["points"])
        energies = []
        for factor in factors:
            atoms.set_cell(cell * factor ** (1 / 3), scale_atoms=True)
            energies.append(self.energy(atoms))
        return volume * factors, np.array(energies)


def _fitted(form: str, volumes: Array, energies: Array) -> tuple[float, float, float] | None:
    """Volume, bulk modulus in GPa, and energy at rest; None if the equation does not fit."""
    from ase.eos import EquationOfState

    equation = EquationOfState(volumes, energies, eos=form)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # Whether it fits is looked at below.
        try:
            volume, rest, modulus = equation.fit(warn=False)
        except (RuntimeError, ValueError):  # It found no parameters.
            return None
        misses = np.abs(equation.func(volumes, *equation.eos_parameters) - energies)
    if not misses.max() <= ROUGH or not volumes[0] < volume < volumes[-1]:
        return None
    return float(volume), float(modulus) * GPA, float(rest)
