"""Density functional theory by PySCF, and hydration free energy by it with the SMD model."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from math import hypot, isfinite
from pathlib import Path
from tempfile import _TemporaryFileWrapper
from typing import Annotated, Any, NamedTuple

from numpy.linalg import LinAlgError
from pydantic import BaseModel, Field

import verifier_ladder
from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ToolError
from verifier_ladder.metering import on_gpu
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.molecule import as_text, rough_size
from verifier_ladder.tiers.high_fidelity.basis import rough_numbers
from verifier_ladder.tiers.high_fidelity.dispersion import Attraction, Dispersion
from verifier_ladder.tiers.high_fidelity.level import Level
from verifier_ladder.tiers.simulation.conformer import (
    DivergedError,
    Geometry,
    UnsolvedError,
    atomic_numbers,
    conformer,
    parse_paired,
)
from verifier_ladder.tiers.simulation.hostprogram import run_folder
from verifier_ladder.tiers.simulation.xtb import (
    EV_PER_HARTREE,
    KCAL_PER_HARTREE,
    WATER,
    fallbacks,
    rested,
)
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

MEGABYTES = 1500
"""What PySCF plans with; the worker's limit leaves room for the libraries themselves."""
_SHIFT = 0.3
"""hartree, by which empty orbitals are lifted out of the way until the field converges."""
SURFACE = 17
"""Order of the Lebedev grid on each atom's cavity sphere."""
CONTROLS = {False: (WATER, 0), True: (WATER._replace(charge=1), 1)}
"""A molecule whose field converges, with its unpaired electrons: for paired ones and others."""


class Solved:
    """A self-consistent field that has converged."""

    def __init__(
        self, field: Any, energy: float, attempt: str, attraction: Attraction | None = None
    ) -> None:
        """Hold PySCF's field.

        Args:
            field: It, converged.
            energy: hartree.
            attempt: Which of `ATTEMPTS` converged.
            attraction: What a dispersion correction adds, if there is one.
        """
        self.field, self.attempt, self.attraction = field, attempt, attraction
        self.energy = energy + (attraction.energy if attraction else 0.0)

    @property
    def density(self) -> Any:
        """The density matrix, to begin another field with."""
        return self.field.make_rdm1()

    @property
    def forces(self) -> Any:
        """hartree/bohr, one row for each atom."""
        forces = -self.field.nuc_grad_method().kernel()
        return forces + self.attraction.forces if self.attraction else forces

    @property
    def dipole(self) -> float:
        """The dipole moment, debye."""
        moment = self.field.dip_moment(unit="Debye", verbose=0)
        return hypot(*(float(part) for part in moment))

    @property
    def gap(self) -> float | None:
        """Between the highest occupied and the lowest empty orbital, eV; None where none is."""
        energies, occupations = self.field.mo_energy, self.field.mo_occ
        filled, empty = energies[occupations > 0], energies[occupations == 0]
        if not (len(filled) and len(empty)):
            return None
        return float(empty.min() - filled.max()) * EV_PER_HARTREE

    @property
    def contamination(self) -> float:
        """How far the square of the spin is above that of a pure one."""
        spin = float(self.field.mol.spin) / 2
        return float(self.field.spin_square()[0]) - spin * (spin + 1)

    @property
    def evidence(self) -> dict[str, Any]:
        """Its size, charge and spin, and how much of its energy is dispersion."""
        molecule = self.field.mol
        told: dict[str, Any] = {
            "basis functions": int(molecule.nao), "charge": int(molecule.charge),
            "unpaired electrons": int(molecule.spin),
        }  # fmt: skip
        if molecule.spin:
            told["spin contamination"] = round(self.contamination, 4)
        if self.attraction:
            told["dispersion, hartree"] = round(self.attraction.energy, 8)
        return told


def _shifted(field: Any) -> Any:
    field.level_shift = _SHIFT
    return field


ATTEMPTS: Mapping[str, Callable[[Any], Any]] = {
    "": lambda field: field, "level shift": _shifted, "second order": lambda field: field.newton(),
}  # fmt: skip
"""How a self-consistent field is solved, tried in this order until one converges. All lead to a
solution of the same equations."""


DIVERGED = (ArithmeticError, ValueError, RuntimeError)
"""What is raised where an attempt fails: SciPy's errors are of values, as of what is no number."""


class _NoFieldError(Exception):
    """None of the attempts converged."""


class Dft(NamedTuple):
    """How molecules are computed."""

    level: Level
    grid_level: int
    """Fineness of the integration grid, 0 to 9."""
    tolerance: float
    """hartree, to which an energy converges."""
    max_cycles: int
    """Of each attempt."""
    is_fitted: bool = True
    """Whether pairs of functions are fitted by others, which is faster, but for the smallest."""
    unpaired: int = 0
    """Electrons of the molecule before any charge is added."""
    dispersion: Dispersion | None = None
    """What is added to each energy, and to its forces."""
    is_on_gpu: bool = False
    """Whether fields are solved on a GPU, by gpu4pyscf."""

    @property
    def name(self) -> str:
        """The level with its correction, as it is written: `b3lyp-d4/def2-svp`."""
        added = f"-{self.dispersion.name}" if self.dispersion else ""
        return f"{self.level.functional}{added}/{self.level.basis}"

    def state(
        self, geometry: Geometry, *, added: int = 0, solvent: str = "", start: Any = None,
        surface: int = SURFACE,
    ) -> Solved:  # fmt: skip
        """Solve the field of a molecule, after fallbacks where it does not converge.

        Args:
            geometry: Atoms, and their total charge.
            added: What is added to that charge. Then one electron more or one less is unpaired,
                whichever has the lower energy.
            solvent: One that SMD has parameters for; "" for the gas.
            start: A density to begin with.
            surface: Order of the grid on the solute's cavity.

        Raises:
            UnsolvedError: If it can't be.
            DivergedError: If no attempt converges, and the control does.
            ToolError: If the control does not converge either.
        """
        charged = geometry._replace(charge=geometry.charge + added)
        spins = [self.unpaired]
        if added:
            spins = [1] if not self.unpaired else [self.unpaired - 1, self.unpaired + 1]
        found = [self._state(charged, spin, solvent, start, surface) for spin in spins]
        return min(found, key=lambda each: each.energy)

    def _state(
        self, geometry: Geometry, unpaired: int, solvent: str, start: Any, surface: int
    ) -> Solved:
        """The same for one spin."""
        try:
            return self._solved(geometry, unpaired, solvent, start, surface)
        except _NoFieldError as error:
            told = str(error)
        control, spin = CONTROLS[bool(unpaired)]
        try:
            self._solved(control, spin, solvent, None, surface)
        except _NoFieldError:
            raise ToolError(f"{told}; neither did that of water") from None
        raise DivergedError(f"{told}; that of water does")

    def relaxed(self, geometry: Geometry, *, added: int = 0, solvent: str = "") -> Geometry:
        """Move the atoms to where no force is left on them, in the spin that is lowest before.

        Raises:
            UnsolvedError: If that takes too long, or bonds form or break on the way.
            ToolError: If ASE is not installed, or PySCF fails.
        """
        first = self.state(geometry, added=added, solvent=solvent)
        charge, spin, last = geometry.charge + added, int(first.field.mol.spin), [first]

        def solve(moved: Geometry) -> Solved:
            start = last[0].density
            last[0] = self._state(moved._replace(charge=charge), spin, solvent, start, SURFACE)
            return last[0]

        return rested(geometry, solve)

    def _solved(
        self, geometry: Geometry, unpaired: int, solvent: str, start: Any, surface: int
    ) -> Solved:
        molecule, failure = self._molecule(geometry, unpaired), ""
        for name, prepared in ATTEMPTS.items():
            field = self._field(molecule, solvent, surface)
            try:
                field, energy = self._kernel(field, prepared, start)
            except DIVERGED as error:
                failure = failure or printable(error)
                continue
            if field.converged and isfinite(energy):
                added = self.dispersion and self.dispersion.between(geometry)
                return Solved(field, energy, name, added)
        where = solvent or "the gas"
        raise _NoFieldError(
            f"the self-consistent field in {where} did not converge in {self.max_cycles} cycles"
            + (f" ({failure})" if failure else "")
        )

    def _kernel(self, field: Any, prepared: Callable[[Any], Any], start: Any) -> tuple[Any, float]:
        """Solve a field, and give it as PySCF has it, wherever that was."""
        if not self.is_on_gpu:
            solved = prepared(field)
            return solved, float(solved.kernel(dm0=start))
        with on_gpu(), gpu_errors():
            solved = prepared(field.to_gpu())
            energy = float(solved.kernel(dm0=start))
            return solved.to_cpu(), energy

    def _molecule(self, geometry: Geometry, unpaired: int) -> Any:
        """PySCF's molecule.

        Raises:
            UnsolvedError: If there is none with so many unpaired electrons, or no basis for it.
        """
        gto, symbols = pyscf("gto"), pyscf("data.elements").ELEMENTS
        refuse_spin(sum(geometry.numbers) - geometry.charge, unpaired)
        basis = self.level.basis
        cores = {symbols[n]: name for n, name in self.level.cores(geometry.numbers).items()}
        refuse_files(basis)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # It advises to install other packages.
                return gto.M(
                    atom=list(zip(geometry.numbers, geometry.positions, strict=True)),
                    basis=basis, ecp=cores, charge=geometry.charge, spin=unpaired, verbose=0,
                    max_memory=MEGABYTES,
                )  # fmt: skip
        except pyscf("lib.exceptions").BasisNotFoundError as error:
            raise UnsolvedError(f"basis {basis} lacks an element: {printable(error)}") from error

    def _field(self, molecule: Any, solvent: str, surface: int) -> Any:
        field = self._unfitted(molecule)
        if self.is_fitted:
            fit = pyscf("df").make_auxbasis(molecule)
            refuse_files(*(name for name in fit.values() if isinstance(name, str)))
            field = field.density_fit(auxbasis=fit)
        field.conv_tol, field.max_cycle = self.tolerance, self.max_cycles
        if not solvent:
            return field
        if solvent not in pyscf("solvent.smd").solvent_db:
            raise ToolError(f"SMD has no solvent {printable(solvent)!r}")
        liquid = field.SMD()
        liquid.with_solvent.solvent, liquid.with_solvent.lebedev_order = solvent, surface
        return liquid

    def _unfitted(self, molecule: Any) -> Any:
        shells = "U" if molecule.spin else "R"
        if self.level.functional == "hf":
            return getattr(pyscf("scf"), f"{shells}HF")(molecule)
        field = getattr(pyscf("dft"), f"{shells}KS")(molecule, xc=self.level.functional)
        field.grids.level = self.grid_level
        return field


def refuse_spin(electrons: int, unpaired: int) -> None:
    """Decline what no electrons can be.

    Raises:
        UnsolvedError: If not so many of them can be unpaired, or there are none.
    """
    if not 0 < electrons >= unpaired or (electrons - unpaired) % 2:
        raise UnsolvedError(f"of {electrons} electrons {unpaired} can't be unpaired")


def refuse_files(*names: str) -> None:
    """Decline to compute where PySCF would read a file for a basis of that name.

    Raises:
        ToolError: If there is one.
    """
    for name in names:
        if Path(name).exists():
            raise ToolError(
                f"basis {name} is the name of a file where this worker runs; no file is read as "
                "a basis"
            )


def pyscf(module: str) -> Any:
    """One of PySCF's modules. No file of settings is run, as it would be when PySCF is loaded.

    Fields have no file that they would write at each cycle, and that a killed worker would leave.

    Raises:
        ToolError: If PySCF is not installed.
    """
    os.environ["PYSCF_CONFIG_FILE"] = str(Path(verifier_ladder.__file__).with_name("py.typed"))
    try:
        import_module("pyscf.scf.hf").MUTE_CHKFILE = True  # type: ignore[attr-defined]
        return import_module(f"pyscf.{module}")
    except ImportError as error:
        raise ToolError(
            f"PySCF can't be imported ({error}); pip install '.[dft]' in a clone"
        ) from error


def single_threaded() -> None:
    """Load PySCF, on one thread: the other cores belong to other workers."""
    pyscf("lib").num_threads(1)


def load_gpu() -> None:
    """Load gpu4pyscf, which solves fields on a GPU.

    Raises:
        ToolError: If it is not installed, or finds no GPU.
    """
    try:
        import_module("gpu4pyscf.scf")
        count = import_module("cupy").cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy raises errors of its own where there is no driver.
        raise ToolError(
            f"gpu4pyscf finds no GPU here ({printable(error, 120)}): install gpu4pyscf-cuda12x, "
            'or say device = "cpu"'
        ) from error
    if not count:
        raise ToolError('there is no GPU here: say device = "cpu"')


@contextmanager
def gpu_errors() -> Iterator[None]:
    """Have what fails on a GPU be the tool's failure: its memory is shared, and no candidate's.

    What PySCF raises of fields that do not converge is left as it is.

    Raises:
        ToolError: If it does.
    """
    try:
        yield
    except (ArithmeticError, LinAlgError):
        raise
    except Exception as error:
        raise ToolError(f"gpu4pyscf failed: {printable(error, 120)}") from error


@contextmanager
def temporary_files() -> Iterator[None]:
    """Have PySCF's temporary files lie in a folder that goes with them.

    Integrals of some 400 basis functions and more lie there. Where this process is killed, the
    next one that has such a folder made removes it.

    Raises:
        ToolError: If no folder can be made, or PySCF is not installed.
    """
    parameters = pyscf("lib.parameters")
    with run_folder() as folder:
        before, parameters.TMPDIR = parameters.TMPDIR, str(folder.scratch)
        try:
            yield
        finally:
            parameters.TMPDIR = before
            if any(folder.scratch.iterdir()):
                _close_files(folder.scratch)


def _close_files(folder: Path) -> None:
    """Close temporary files: each goes with its field, which must not find it gone then.

    A field lives on where the error that ended its check is still looked at.
    """
    for each in gc.get_objects():
        if type(each) is _TemporaryFileWrapper and folder in Path(each.name).parents:
            each.close()


# ---- Hydration


_MEASURED = {
    "level": "m062x/6-31g*", "solvent": "water", "grid_level": 1, "surface_order": SURFACE,
    "conformers": 5,
}  # fmt: skip
_DEVIATION = 1.0
"""kcal/mol, with these settings, for neutral molecules: what SMD's authors have as a mean error at
most. Of fourteen small ones it is 0.75."""


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
    fitted with, with density fitting; integration grids and the cavity's surface are coarser than
    PySCF's defaults, which changes the result for water by 0.09 kcal/mol, for ammonia and methane
    by less. Standard states are 1 mol/L. On one thread the result does not change from run to run.

    **Accuracy.** SMD's authors report mean errors of 0.6 to 1.0 kcal/mol for neutral solutes and
    of 4 for ions (doi:10.1021/jp810292n). Of the fourteen smallest molecules of
    `tiers/world/hydration.csv`, thirteen are off by 0.3 on average and 0.9 at most; water in water
    comes out 2.3 kcal/mol too low (`benchmarks/hydration.py`). A deviation is told of neutral
    molecules in water at the default level. MMFF94's geometry of some small molecules is wrong,
    see `conformer`.

    **Abstains**, having considered it, for molecules that are too large, that have unpaired
    electrons or elements without a basis, and where a field does not converge after fallbacks
    while that of water does. Several molecules side by side, and placeholders, are rejected.

    Example:
        >>> DftHydration(max_heavy_atoms=6).settings["level"]
        'm062x/6-31g*'
    """

    name = "dft-hydration"
    version = "2"
    tier = Tier.HIGH_FIDELITY
    kind = "molecule"
    domain = "chemistry"
    capabilities = ("reasoning",)
    cost = Cost(seconds=20.0)
    timeout = 600.0
    memory = 2 * 2**30
    batch_size = 1
    unit = "kcal/mol"
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
        surface_order: int = SURFACE,
        tolerance: float = 1e-7,
        max_cycles: int = 60,
        conformers: int = 5,
    ) -> None:
        """Choose the level of theory.

        Args:
            level: Functional and basis with a slash between, of the tables.
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
        self._dft = Dft(Level.read(level), grid_level, tolerance, max_cycles)
        super().__init__(
            level=level, solvent=solvent, max_heavy_atoms=max_heavy_atoms, grid_level=grid_level,
            surface_order=surface_order, tolerance=tolerance, max_cycles=max_cycles,
            conformers=conformers,
        )  # fmt: skip
        self.tools = versions("rdkit", "pyscf")
        if _MEASURED.items() <= self.settings.items():
            self.deviation = _DEVIATION

    def setup(self) -> None:
        """Load PySCF, on one thread."""
        single_threaded()

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of basis functions guessed from the text.

        The guess is for M06-2X/6-31G* on a slow core, and rather too high than too low: budgets
        are reserved by it. A molecule that is too large, or has an element that the
        basis lacks, costs nothing.
        """
        smiles = as_text(candidate.content)
        functions = self._dft.level.rough_functions(rough_numbers(smiles))
        if not functions or rough_size(smiles) > self.settings["max_heavy_atoms"]:
            return Cost(seconds=0.01)
        return Cost(seconds=round(seconds_for(functions), 1))

    def examine(self, candidate: Candidate) -> Verdict:
        """Compute both energies."""
        smiles = as_text(candidate.content)
        atoms, most = rough_size(smiles), self.settings["max_heavy_atoms"]
        if atoms > most:
            return Verdict.abstain(
                f"{atoms} atoms besides hydrogen are too many for this tier; it takes {most}"
            )
        numbers = atomic_numbers(parse_paired(smiles))
        self._dft.level.functions(numbers)  # What the basis lacks is declined before any work.
        return self._difference(conformer(smiles, tries=self.settings["conformers"]))

    @temporary_files()
    def _difference(self, geometry: Geometry) -> Verdict:
        solvent, surface = self.settings["solvent"], self.settings["surface_order"]
        gas = self._dft.state(geometry)
        liquid = self._dft.state(geometry, solvent=solvent, start=gas.density, surface=surface)
        return Verdict.accept(
            round((liquid.energy - gas.energy) * KCAL_PER_HARTREE, 2),
            uncertainty=None if geometry.charge else self.deviation,
            unit=self.unit,
            evidence={
                "level": f"{self.settings['level']}/SMD({solvent})//MMFF94",
                "gas energy, hartree": round(gas.energy, 6),
                "basis functions": int(gas.field.mol.nao),
                "cycles": [int(each.field.cycles) for each in (gas, liquid)],
                **fallbacks([gas, liquid]),
            },
        )


def seconds_for(basis_functions: float) -> float:
    """Seconds that both fields take with so many basis functions.

    Example:
        >>> seconds_for(90) > seconds_for(30)
        True
    """
    power: float = basis_functions**2.5
    return 0.5 + 2.6e-4 * power
