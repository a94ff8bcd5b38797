"""Hydration free energy by density functional theory with the SMD model of water."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.molecule import as_text, rough_size
from verifier_ladder.tiers.simulation.conformer import Geometry, conformer
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

KCAL_PER_HARTREE = 627.5094740631
_MEGABYTES = 1500
"""What PySCF plans with; the worker's limit leaves room for the libraries themselves."""
_HYDROGENS = {"C": 2.0, "c": 1.0, "N": 1.0, "O": 0.5}
"""Hydrogens on an average atom of each sort, to guess the size of a basis from text."""
_LONGEST_LEVEL = 100
"""Characters; a basis is also looked for among the files."""
_SYMBOL = re.compile(r"Cl|Br|[BCNOPSFIbcnops]")


class DftSettings(BaseModel):
    """Settings of `DftHydration` that a campaign's row may choose for a worker."""

    level: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,30}/[A-Za-z0-9*+(),-]{1,30}$")]
    solvent: Annotated[str, Field(pattern=r"^[A-Za-z0-9 ,()'-]{1,60}$")]
    max_heavy_atoms: Annotated[int, Field(ge=1, le=200)]
    grid_level: Annotated[int, Field(ge=0, le=9)]
    surface_order: Annotated[int, Field(ge=1, le=200)]
    tolerance: Annotated[float, Field(gt=0, le=1)]
    max_cycles: Annotated[int, Field(ge=1, le=10_000)]
    conformers: Annotated[int, Field(ge=1, le=100)]


class DftHydration(SingleVerifier):
    """Self-consistent energy in SMD water, minus that in the gas, on one MMFF94 geometry.

    The default level is M06-2X/6-31G*, close to the M05-2X/6-31G* that SMD's parameters were
    fitted with, with density fitting; integration grids and the cavity's surface are coarser
    than PySCF's defaults, which changes a difference of two energies by about 0.1 kcal/mol.
    Standard states are 1 mol/L. On one thread the result does not change from run to run.

    **Accuracy.** SMD's authors report a mean error of 0.6 to 1.0 kcal/mol for neutral solutes
    (doi:10.1021/jp810292n). Of fifteen molecules computed here, fourteen are off by 0.3 on
    average and 0.8 at most; water in water comes out 2.3 kcal/mol too low.

    Abstains, having considered it, for molecules that are too large, that have unpaired
    electrons or elements without a basis; abstains for a tool's failure when a field does not
    converge.

    Example:
        >>> DftHydration(max_heavy_atoms=6).settings["level"]
        'm062x/6-31g*'
    """

    name = "dft-hydration"
    version = "1"
    tier = Tier.HIGH_FIDELITY
    kind = "molecule"
    domain = "chemistry"
    cost = Cost(seconds=20.0)
    timeout = 600.0
    memory = 2 * 2**30
    batch_size = 1
    unit = "kcal/mol"
    deviation = 1.0
    same_quantity = True
    control = Candidate("molecule", "O")
    data_settings = DftSettings

    @checked(
        max_heavy_atoms=1, grid_level=0, surface_order=1, tolerance=0, max_cycles=1, conformers=1
    )
    def __init__(
        self,
        *,
        level: str = "m062x/6-31g*",
        solvent: str = "water",
        max_heavy_atoms: int = 12,
        grid_level: int = 1,
        surface_order: int = 17,
        tolerance: float = 1e-7,
        max_cycles: int = 60,
        conformers: int = 5,
    ) -> None:
        """Choose the level of theory.

        Args:
            level: Functional and basis as PySCF spells them, with a slash between.
            solvent: A solvent that SMD has parameters for.
            max_heavy_atoms: Larger molecules are not computed.
            grid_level: Fineness of the integration grid, 0 to 9.
            surface_order: Order of the Lebedev grid on each atom's cavity sphere.
            tolerance: Convergence of the energy, hartree.
            max_cycles: Most cycles of a self-consistent field.
            conformers: How many embeddings are compared.

        Raises:
            ConfigError: If the level is not a functional and a basis.
        """
        functional, slash, basis = level.partition("/")
        if not (functional and slash and basis) or len(level) > _LONGEST_LEVEL:
            raise ConfigError(
                f"level={printable(level)!r}: write functional/basis, such as 'pbe0/def2-svp'"
            )
        super().__init__(
            level=level, solvent=solvent, max_heavy_atoms=max_heavy_atoms, grid_level=grid_level,
            surface_order=surface_order, tolerance=tolerance, max_cycles=max_cycles,
            conformers=conformers,
        )  # fmt: skip
        self._functional, self._basis = functional, basis
        self.tools = versions("rdkit", "pyscf")

    def setup(self) -> None:
        """Load PySCF, on one thread: the other cores belong to other workers."""
        _pyscf().lib.num_threads(1)

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of basis functions guessed from the text.

        The guess is for M06-2X/6-31G* on a slow core, and rather too high than too low: budgets
        are reserved by it. A molecule that is too large costs nothing.
        """
        smiles = as_text(candidate.content)
        if rough_size(smiles) > self.settings["max_heavy_atoms"]:
            return Cost(seconds=0.01)
        return Cost(seconds=round(seconds_for(functions(smiles)), 1))

    def examine(self, candidate: Candidate) -> Verdict:
        """Compute both energies."""
        smiles = as_text(candidate.content)
        atoms, most = rough_size(smiles), self.settings["max_heavy_atoms"]
        if atoms > most:
            return Verdict.abstain(
                f"{atoms} atoms besides hydrogen are too many for this tier; it takes {most}"
            )
        molecule = self._molecule(conformer(smiles, tries=self.settings["conformers"]))
        if isinstance(molecule, Verdict):
            return molecule
        return self._difference(molecule)

    def _molecule(self, geometry: Geometry) -> Any:
        """PySCF's molecule, or the reason for not computing it as a verdict."""
        pyscf = _pyscf()
        if (sum(geometry.numbers) - geometry.charge) % 2:
            return Verdict.abstain("an odd number of electrons is not treated")
        if Path(self._basis).exists():  # PySCF would read it.
            return Verdict.abstain(
                f"basis {self._basis} is the name of a file where this worker runs; no file is "
                "read as a basis",
                failed_at="tool",
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # It advises to install other packages.
                return pyscf.gto.M(
                    atom=list(zip(geometry.numbers, geometry.positions, strict=True)),
                    basis=self._basis, ecp=self._basis if "def2" in self._basis else {},
                    charge=geometry.charge, verbose=0, max_memory=_MEGABYTES,
                )  # fmt: skip
        except pyscf.lib.exceptions.BasisNotFoundError as error:
            return Verdict.abstain(f"basis {self._basis} lacks an element: {error}")

    def _difference(self, molecule: Any) -> Verdict:
        gas = self._field(molecule)
        gas_energy = _converged(gas, None, "the gas")
        liquid = self._field(molecule).SMD()
        liquid.with_solvent.solvent = self.settings["solvent"]
        liquid.with_solvent.lebedev_order = self.settings["surface_order"]
        liquid_energy = _converged(liquid, gas.make_rdm1(), self.settings["solvent"])
        return Verdict.accept(
            round((liquid_energy - gas_energy) * KCAL_PER_HARTREE, 2),
            uncertainty=self.deviation,
            unit=self.unit,
            evidence={
                "level": f"{self.settings['level']}/SMD({self.settings['solvent']})//MMFF94",
                "gas energy, hartree": round(gas_energy, 6),
                "basis functions": int(molecule.nao),
                "cycles": [int(gas.cycles), int(liquid.cycles)],
            },
        )

    def _field(self, molecule: Any) -> Any:
        field = _pyscf().dft.RKS(molecule, xc=self._functional).density_fit()
        field.grids.level = self.settings["grid_level"]
        field.conv_tol = self.settings["tolerance"]
        field.max_cycle = self.settings["max_cycles"]
        return field


def _converged(field: Any, start: Any, where: str) -> float:
    """Run a self-consistent field to its end.

    Raises:
        ToolError: If it does not converge.
    """
    energy = float(field.kernel(dm0=start))
    if not field.converged:
        raise ToolError(
            f"the self-consistent field in {where} did not converge in {field.max_cycle} cycles"
        )
    return energy


def functions(smiles: str) -> float:
    """Guess the number of 6-31G* basis functions from the text of a SMILES.

    Example:
        >>> functions("CO")
        35.0
    """
    symbols = _SYMBOL.findall(smiles)
    return sum(15.0 + 2.0 * _HYDROGENS.get(symbol, 0.0) for symbol in symbols)


def seconds_for(basis_functions: float) -> float:
    """Seconds that both fields take with so many basis functions.

    Example:
        >>> seconds_for(90) > seconds_for(30)
        True
    """
    power: float = basis_functions**2.5
    return 0.5 + 2.6e-4 * power


def _pyscf() -> Any:
    try:
        import pyscf
        from pyscf import dft, gto, lib, solvent
        from pyscf.lib import exceptions
    except ImportError as error:
        raise ToolError(
            f"PySCF can't be imported ({error}); pip install '.[dft]' in a clone"
        ) from error
    del dft, gto, lib, solvent, exceptions  # Attributes of the package from now on.
    return pyscf
