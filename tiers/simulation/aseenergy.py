"""The verifier `ase-energy`: the energy of a crystal as it is proposed."""

from __future__ import annotations

from typing import Any, Unpack

from verifier_ladder.arguments import checked
from verifier_ladder.cost import Cost
from verifier_ladder.tiers.simulation.asecrystal import AseOptions, AseVerifier
from verifier_ladder.verdict import Verdict


class AseEnergy(AseVerifier):
    r"""Energy of an atom, eV, by a calculator of ASE, of the crystal as it is proposed.

    It compares crystals of one composition: what an element is measured from is the calculator's.

    Example:
        >>> from verifier_ladder.candidate import Candidate
        >>> copper = "Cu\n1.0\n0 1.8 1.8\n1.8 0 1.8\n1.8 1.8 0\nCu\n1\nDirect\n0 0 0"
        >>> AseEnergy().judge([Candidate("crystal", copper)])[0].score
        -0.006689
    """

    name = "ase-energy"
    version = "1"
    unit = "eV/atom"
    cost = Cost(seconds=0.01)

    @checked()
    def __init__(self, **shared: Unpack[AseOptions]) -> None:
        """Choose the calculator.

        Args:
            shared: The calculator, and what it must find: `asecrystal.AseOptions`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        super().__init__({}, shared)

    def computed(self, atoms: Any) -> Verdict:
        """One energy, with its forces."""
        energy = self.energy(atoms)
        force = self.forces(atoms)
        volume = float(atoms.get_volume()) / len(atoms)
        return Verdict.accept(
            round(energy, 6),
            unit=self.unit,
            evidence=self.evidence(**{
                "largest force, eV/Å": round(force, 6), "volume, Å³ an atom": round(volume, 4),
            }),
        )  # fmt: skip
