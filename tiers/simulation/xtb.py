"""Hydration free energy by extended tight binding with a continuum of water."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.molecule import as_text, parse, rough_size
from verifier_ladder.tiers.simulation.conformer import Geometry, conformer
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

KCAL_PER_HARTREE = 627.5094740631
BOHR_PER_ANGSTROM = 1.8897261246257702
CORRECTION = {"GFN1-xTB": (-0.14, 0.80, -1.14), "GFN2-xTB": (0.02, 0.83, -1.68)}
"""Offset, slope, and kcal/mol for each hydrogen-bond donor, whose bonds to water a continuum
lacks; fitted to 250 molecules of FreeSolv 0.52 (doi:10.5281/zenodo.1161245)."""
_DEVIATION = {"GFN1-xTB": (1.6, 1.7), "GFN2-xTB": (1.8, 2.0)}
"""Root-mean-square error there, kcal/mol: corrected (cross-validated), and as computed."""


class XtbSettings(BaseModel):
    """Settings of `XtbHydration` that a campaign's row may choose for a worker."""

    method: Literal["GFN2-xTB", "GFN1-xTB"]
    solvent: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,40}$")]
    corrected: bool
    conformers: Annotated[int, Field(ge=1, le=100)]
    max_iterations: Annotated[int, Field(ge=1, le=10_000)]


class XtbHydration(SingleVerifier):
    """GFN-xTB energy in ALPB water, minus that in the gas, on one MMFF94 geometry.

    Both standard states are 1 mol/L.

    **Accuracy** against 250 measured values, kcal/mol: GFN2-xTB as computed r = .86, mean
    absolute error 1.58, root-mean-square 2.0; corrected r = .89, 1.37, 1.8. GFN1-xTB as
    computed r = .90, 1.26, 1.7; corrected r = .91, 1.14, 1.6.

    Abstains when no geometry is found or the self-consistent field does not converge.

    Example:
        >>> XtbHydration(method="GFN1-xTB").settings["corrected"]
        True
    """

    name = "xtb-hydration"
    version = "1"
    tier = Tier.SIMULATION
    kind = "molecule"
    domain = "chemistry"
    cost = Cost(seconds=0.2)
    timeout = 60.0
    batch_size = 8
    unit = "kcal/mol"
    same_quantity = True
    control = Candidate("molecule", "O")
    data_settings = XtbSettings

    def __init__(
        self,
        *,
        method: str = "GFN2-xTB",
        solvent: str = "water",
        corrected: bool = True,
        conformers: int = 5,
        max_iterations: int = 250,
    ) -> None:
        """Choose the method.

        Args:
            method: `GFN2-xTB` or `GFN1-xTB`.
            solvent: A solvent that ALPB has parameters for.
            corrected: Whether the linear correction for water is applied.
            conformers: How many embeddings are compared.
            max_iterations: Cycles of the self-consistent field.

        Raises:
            ConfigError: If the method is unknown, or a correction is asked for another solvent.
        """
        if method not in CORRECTION:
            raise ConfigError(f"method={method!r}: write {' or '.join(CORRECTION)}")
        if corrected and solvent != "water":
            raise ConfigError(f"the correction is for water; for {solvent} set corrected = false")
        super().__init__(
            method=method, solvent=solvent, corrected=corrected, conformers=conformers,
            max_iterations=max_iterations,
        )  # fmt: skip
        self.tools = versions("rdkit", "tblite")
        self.deviation = _DEVIATION[method][0 if corrected else 1]

    def setup(self) -> None:
        """Load tblite, on one thread: the other cores belong to other workers."""
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        _calculator()

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of heavy atoms."""
        atoms = rough_size(as_text(candidate.content))
        return Cost(seconds=round(0.03 + 1e-3 * atoms**2 + 6e-5 * atoms**3, 3))

    def examine(self, candidate: Candidate) -> Verdict:
        """Compute both energies."""
        smiles = as_text(candidate.content)
        geometry = conformer(smiles, tries=self.settings["conformers"])
        gas = self._energy(geometry, solvent="")
        liquid = self._energy(geometry, solvent=self.settings["solvent"])
        computed = (liquid - gas) * KCAL_PER_HARTREE
        return Verdict.accept(
            round(self._corrected(computed, smiles), 3),
            uncertainty=self.deviation,
            unit=self.unit,
            evidence={
                "as computed": round(computed, 3),
                "method": f"{self.settings['method']}/ALPB({self.settings['solvent']})//MMFF94",
                "gas energy, hartree": round(gas, 8),
            },
        )

    def _corrected(self, computed: float, smiles: str) -> float:
        if not self.settings["corrected"]:
            return computed
        from rdkit.Chem import rdMolDescriptors

        offset, slope, donor = CORRECTION[self.settings["method"]]
        donors: int = rdMolDescriptors.CalcNumHBD(parse(smiles))
        return offset + slope * computed + donor * donors

    def _energy(self, geometry: Geometry, *, solvent: str) -> float:
        """Total energy in hartree.

        Raises:
            ToolError: If the calculation fails or does not converge.
        """
        import numpy as np

        numbers = np.array(geometry.numbers)
        positions = np.array(geometry.positions) * BOHR_PER_ANGSTROM
        try:
            calculator = _calculator()(
                self.settings["method"], numbers, positions, charge=float(geometry.charge)
            )
            calculator.set("verbosity", 0)
            calculator.set("max-iter", self.settings["max_iterations"])
            if solvent:
                calculator.add("alpb-solvation", solvent)
            return float(calculator.singlepoint().get("energy"))
        except (RuntimeError, ValueError) as error:
            where = solvent or "the gas"
            raise ToolError(f"xTB failed in {where}: {str(error).strip()}") from error


def _calculator() -> Any:
    try:
        from tblite.interface import Calculator
    except ImportError as error:
        raise ToolError(
            f"tblite can't be imported ({error}); pip install '.[xtb]' in a clone"
        ) from error
    return Calculator
