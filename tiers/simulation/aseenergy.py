"""The verifier `ase-energy`: the energy of a crystal as it is proposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifier_ladder.arguments import checked
from verifier_ladder.cost import Cost
from verifier_ladder.tiers.simulation.asecrystal import AseSettings, AseVerifier
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
    data_settings = AseSettings

    @checked()
    def __init__(
        self,
        *,
        calculator: str | Mapping[str, Any] = "emt",
        window: Sequence[float] | None = None,
        max_force: float = 10.0,
    ) -> None:
        """Choose the calculator.

        Args:
            calculator: `emt`, `tblite`, `sevennet`, or the name of an entry point; a table with
                `name` for settings of its own.
            window: Least and most energy, eV an atom; the calculator's own by default.
            max_force: Largest force on an atom, eV/Å.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        super().__init__(calculator, window, max_force)

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
