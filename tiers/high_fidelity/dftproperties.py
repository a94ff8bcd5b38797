"""The verifier `dft-properties`: criteria on what density functional theory says of a molecule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.criteria import FIELD, Criteria, Quantity, Window
from verifier_ladder.tiers.fast.molecule import as_text, parse_single, rdkit
from verifier_ladder.tiers.high_fidelity import dispersion as corrections
from verifier_ladder.tiers.high_fidelity.basis import rough_numbers
from verifier_ladder.tiers.high_fidelity.dft import (
    Dft,
    load_gpu,
    refuse_spin,
    single_threaded,
    temporary_files,
)
from verifier_ladder.tiers.high_fidelity.level import Level
from verifier_ladder.tiers.simulation.conformer import (
    DivergedError,
    UnsolvedError,
    atomic_numbers,
    conformer,
)
from verifier_ladder.tiers.simulation.xtb import (
    EV_PER_HARTREE,
    KCAL_PER_HARTREE,
    Xtb,
    fallbacks,
    load_tblite,
)
from verifier_ladder.tiers.simulation.xtbproperties import QUANTITIES as BY_XTB
from verifier_ladder.tiers.simulation.xtbproperties import Fields
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

QUANTITIES: Mapping[str, Quantity] = {
    "energy": Quantity(
        "the energy", "propose a less stable isomer", "propose a more stable isomer", "hartree"
    ),
    **{n: BY_XTB[n] for n in ("gap", "dipole", "ionisation_energy", "electron_affinity")},
    "solvation_energy": Quantity(
        "the free energy of solvation", "take polar groups away", "add polar groups", "kcal/mol"
    ),
}
"""What criteria can be about."""
Name = Literal[
    "energy", "gap", "dipole", "ionisation_energy", "electron_affinity", "solvation_energy"
]
_FIELDS: Mapping[str, tuple[tuple[int, bool], ...]] = {
    "energy": ((0, False),), "gap": ((0, False),), "dipole": ((0, False),),
    "ionisation_energy": ((1, False), (0, False)), "electron_affinity": ((0, False), (-1, False)),
    "solvation_energy": ((0, True), (0, False)),
}  # fmt: skip
"""Which fields each takes: the charge that is added, and whether they are in the solvent. Of two
it is what the first one's energy lies above the second one's."""
Start = Literal["GFN2-xTB", "GFN1-xTB", "MMFF94"]
_FIELD = "MMFF94"
DEFAULT = "b3lyp/def2-svp"
_DEVIATIONS = {"dipole": 0.3, "ionisation_energy": 0.33}
"""D and eV: root-mean-square differences of the default level from published values of small
molecules of `benchmarks/xtb.csv`, 45 of up to 61 basis functions and 25 of up to 52."""
_MEASURED = {
    "level": DEFAULT, "geometry": "GFN2-xTB", "relaxed": False, "unpaired": None, "grid_level": 3,
    "conformers": 5, "dispersion": corrections.NONE, "device": "cpu",
}  # fmt: skip
"""Settings that these were found with, for neutral molecules with paired electrons: of others no
deviation is told."""
_DIGITS = {"energy": 6}
_GPU = "gpu4pyscf-cuda12x"
"""The package that solves fields on a GPU."""
_ITERATIONS = 250
"""Of xTB's fields."""
_RELAXING = 25
"""Fields that relaxing a geometry takes, their forces among them."""
_PLACING = 0.1
"""Seconds for a geometry."""
_MOST_FUNCTIONS = 600
_DISSOLVED, _OPEN, _WITHOUT_GRID = 1.5, 2.0, 0.1
"""How much longer a field takes in a solvent, of an open shell, and by Hartree-Fock."""


class DftPropertiesSettings(BaseModel):
    """Settings of `DftProperties` that a campaign's row may choose for a worker."""

    level: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,30}/[a-z0-9*+-]{1,30}$")]
    dispersion: Literal["none", "d3bj", "d4"]
    criteria: Annotated[dict[Name, Window], Field(max_length=len(QUANTITIES))]
    score: Literal["criteria"] | Name
    field: Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]
    unpaired: Annotated[int, Field(ge=0, le=10)] | None
    geometry: Start
    relaxed: bool
    solvent: Annotated[str, Field(pattern=r"^[A-Za-z0-9 ,()'-]{1,60}$")]
    grid_level: Annotated[int, Field(ge=0, le=9)]
    fitted: bool
    tolerance: Annotated[float, Field(ge=1e-12, le=1e-4)]
    max_cycles: Annotated[int, Field(ge=1, le=1000)]
    contamination: Annotated[float, Field(ge=0, le=100)]
    unsolved: Literal["abstain", "reject"]
    max_functions: Annotated[int, Field(ge=1, le=_MOST_FUNCTIONS)]
    conformers: Annotated[int, Field(ge=1, le=100)]
    device: Literal["cpu", "gpu"]


class DftProperties(SingleVerifier):
    """Accepts a molecule that keeps criteria on its energy, gap, dipole and ions by DFT.

    Criteria are windows (`molecule-properties` says how they are written), of the settings and of
    the task, on

    - `energy`, hartree, which compares isomers only,
    - `gap`, eV between the highest occupied and the lowest empty orbital,
    - `dipole`, D,
    - `ionisation_energy` and `electron_affinity`, eV: the difference to the molecule with one
      electron less or more, in the gas,
    - `solvation_energy`, kcal/mol: the difference to the molecule in the `solvent` of SMD, both at
      1 mol/L.

    The geometry is relaxed by GFN2-xTB, and the ion's is the molecule's own (vertical). With
    `relaxed` each is relaxed at the same level after that (adiabatic). MMFF94 would be faster, but
    its bonds in some small molecules are wrong, see `conformer`. Charge and unpaired electrons are
    those that the SMILES says; `unpaired` sets others. Of an ion the spin of lower energy is
    taken. Evidence tells both, and how far the spin is from a pure one.

    **Accuracy.** Eighteen energies of up to four atoms by Hartree-Fock and B3LYP agree with Psi4,
    NWChem and GAMESS to 1e-6 hartree; other functionals and SMD were not compared. How far a level
    is off nature is the level's. By default that is 0.3 D (45 small molecules) and 0.33 eV for
    vertical ionisation energies (25), which is told of neutral molecules with paired electrons;
    for the rest nothing is declared. Functionals have no dispersion of their own: `dispersion`
    adds D3(BJ) or D4 to energies, and to the forces that `relaxed` follows. Gaps and dipoles of
    one geometry stay as they are. Basis sets without diffuse functions bind no anion well: ask for
    electron affinities with `def2-svpd`. The gap is one of orbitals, no optical one.

    **On a GPU** gpu4pyscf solves the fields with `device = "gpu"`: last digits may differ, so that
    it is part of what verdicts are filed under, and evidence says so. Where there is none, it is
    the tool that fails.

    **Abstains**, having considered it, where the molecule has more basis functions than
    `max_functions`, the number of electrons allows no such spin, the spin is contaminated by more
    than `contamination`, a quantity is not defined (the dipole of an ion, a gap without an empty
    orbital), a basis lacks an element or xTB has no parameters for it. So it does where a field,
    by xTB or by DFT, does not converge after fallbacks while that of water does, and where a
    geometry finds no rest; with `unsolved = "reject"` it rejects those.

    Example:
        >>> DftProperties(level="pbe0/def2-svp", score="dipole").unit
        'D'
    """

    name = "dft-properties"
    version = "2"
    tier = Tier.HIGH_FIDELITY
    kind = "molecule"
    domain = "chemistry"
    capabilities = ("reasoning",)
    cost = Cost(seconds=5.0)
    timeout = 1800.0
    memory = 2 * 2**30
    batch_size = 1
    task_fields = ("criteria",)
    control = Candidate("molecule", "O")
    data_settings = DftPropertiesSettings

    @checked(
        unpaired=0, grid_level=0, tolerance=0, max_cycles=1, contamination=0, max_functions=1,
        conformers=1,
    )  # fmt: skip
    def __init__(
        self,
        *,
        level: str = DEFAULT,
        dispersion: str = corrections.NONE,
        criteria: Mapping[str, Mapping[str, Any]] | None = None,
        score: str = "gap",
        field: str = FIELD,
        unpaired: int | None = None,
        geometry: str = "GFN2-xTB",
        relaxed: bool = False,
        solvent: str = "water",
        grid_level: int = 3,
        fitted: bool = True,
        tolerance: float = 1e-8,
        max_cycles: int = 60,
        contamination: float = 0.1,
        unsolved: str = "abstain",
        max_functions: int = 300,
        conformers: int = 5,
        device: str = "cpu",
    ) -> None:
        """Choose the level of theory and the criteria.

        Args:
            level: Functional and basis with a slash between, of the tables.
            dispersion: `none`, `d3bj` (without its three-body term) or `d4` (with it): a
                correction that was fitted to the functional.
            criteria: Windows by name; a task may name more.
            score: A name whose value is the score of what is accepted, or `criteria`.
            field: The task's field with criteria for this verifier.
            unpaired: Unpaired electrons of the molecule; those of its SMILES by default.
            geometry: `GFN2-xTB`, `GFN1-xTB` or `MMFF94`: what places the atoms.
            relaxed: Whether they are relaxed after that, in each charge and solvent.
            solvent: Of the free energy of solvation: one that SMD has parameters for.
            grid_level: Fineness of the integration grid, 0 to 9.
            fitted: Whether the density is fitted, which is faster for all but the smallest
                molecules and changes water's energy by 1e-5 hartree.
            tolerance: Convergence of the energy, hartree.
            max_cycles: Most cycles of each attempt at a self-consistent field.
            contamination: Most that the square of the spin may lie above that of a pure one.
            unsolved: What becomes of a molecule whose field or geometry does not converge:
                `abstain` or `reject`.
            max_functions: Molecules with more basis functions are not computed.
            conformers: How many embeddings are compared.
            device: `cpu`, or `gpu`, where gpu4pyscf has to be.

        Raises:
            ConfigError: If the level or a name is unknown, a correction was not fitted to the
                functional, or a setting makes no sense.
        """
        if unsolved not in ("abstain", "reject"):
            raise ConfigError(f"unsolved={printable(unsolved)!r}: write abstain or reject")
        if device not in ("cpu", "gpu"):
            raise ConfigError(f"device={printable(device)!r}: write cpu or gpu")
        if geometry not in get_args(Start):
            raise ConfigError(
                f"geometry={printable(geometry)!r}: write {', '.join(get_args(Start))}"
            )
        self._criteria = Criteria(QUANTITIES, criteria or {}, score, field)
        read = Level.read(level)
        correction = corrections.Dispersion.of(dispersion, read.functional)
        self._dft = Dft(
            read, grid_level, tolerance, max_cycles, fitted, dispersion=correction,
            is_on_gpu=device == "gpu",
        )  # fmt: skip
        self.task_fields = (field,)
        super().__init__(
            level=level, dispersion=dispersion, unpaired=unpaired, geometry=geometry,
            relaxed=relaxed, solvent=solvent, grid_level=grid_level, fitted=fitted,
            tolerance=tolerance, max_cycles=max_cycles, contamination=contamination,
            unsolved=unsolved, max_functions=max_functions, conformers=conformers, device=device,
            **self._criteria.settings,
        )  # fmt: skip
        self.unit = self._criteria.unit
        if _MEASURED.items() <= self.settings.items():
            self.deviation = _DEVIATIONS.get(score)
        self.features = self._criteria.features
        added = [correction.library] if correction else []
        added += [_GPU] if self._dft.is_on_gpu else []
        self.tools = versions("rdkit", "pyscf", "ase", "tblite", *added)

    def setup(self) -> None:
        """Load PySCF, what places the atoms and what corrects the energy, on one thread."""
        single_threaded()
        if self._dft.is_on_gpu:
            load_gpu()
        if self.settings["geometry"] != _FIELD:
            load_tblite()
        if self._dft.dispersion:
            self._dft.dispersion.load()

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of basis functions guessed from the text, and of fields.

        A molecule that is too large, or has an element that the basis lacks, costs nothing.
        """
        functions = self._dft.level.rough_functions(rough_numbers(as_text(candidate.content)))
        if not 0 < functions <= self.settings["max_functions"]:
            return Cost(seconds=0.01)
        wanted = self._criteria.wanted(self._criteria.of(candidate.task))
        fields = {field for name in wanted for field in _FIELDS[name]}
        times = sum(
            (_DISSOLVED if is_dissolved else 1.0) * (_OPEN if added else 1.0)
            for added, is_dissolved in fields
        )
        if self.settings["relaxed"]:
            times *= _RELAXING
        seconds = round(_PLACING + times * seconds_for(self._dft.level, functions), 2)
        return Cost(seconds=seconds, gpu_seconds=seconds if self._dft.is_on_gpu else 0.0)

    @property
    def counts_gpu(self) -> bool:
        """Where it has one."""
        return self._dft.is_on_gpu

    def examine(self, candidate: Candidate) -> Verdict:
        """Solve the fields that the criteria take, and compare."""
        windows = self._criteria.of(candidate.task)
        wanted = self._criteria.wanted(windows)
        smiles = as_text(candidate.content)
        molecule = parse_single(smiles)
        self._refuse_undefined(molecule, wanted)
        unpaired = self._spin(molecule)
        is_alike = not (unpaired or rdkit().GetFormalCharge(molecule))
        return self._solved(smiles, unpaired, windows, self.deviation if is_alike else None)

    @temporary_files()
    def _solved(
        self, smiles: str, unpaired: int, windows: Mapping[str, Window], deviation: float | None
    ) -> Verdict:
        wanted = self._criteria.wanted(windows)
        values, fields = self._values(smiles, unpaired, wanted)
        level = self._dft.name
        place = level if self.settings["relaxed"] else self.settings["geometry"]
        return self._criteria.verdict(
            windows, values, uncertainty=deviation,
            evidence={
                "level": f"{level}//{place}",
                **({"computed on": "a GPU"} if self._dft.is_on_gpu else {}),
                "fields": [each.evidence for each in fields.solved.values()],
                **fallbacks(fields.solved.values()),
            },
        )  # fmt: skip

    def _refuse_undefined(self, molecule: Any, names: Sequence[str]) -> None:
        """Decline what is too large, or has no basis or no such quantity, before any work.

        Raises:
            UnsolvedError: If it is, or has none.
        """
        most = self.settings["max_functions"]
        functions = self._dft.level.functions(atomic_numbers(molecule))
        if functions > most:
            raise UnsolvedError(f"{functions} basis functions are too many; {most} are taken")
        if rdkit().GetFormalCharge(molecule) and "dipole" in names:
            raise UnsolvedError("the dipole of a charged molecule depends on the origin")

    def _spin(self, molecule: Any) -> int:
        """How many electrons are unpaired.

        Raises:
            UnsolvedError: If the molecule can't have so many.
        """
        unpaired: int | None = self.settings["unpaired"]
        if unpaired is None:
            unpaired = sum(atom.GetNumRadicalElectrons() for atom in molecule.GetAtoms())
        charge = rdkit().GetFormalCharge(molecule)
        refuse_spin(sum(atomic_numbers(molecule)) - charge, unpaired)
        return unpaired

    def _values(
        self, smiles: str, unpaired: int, names: Sequence[str]
    ) -> tuple[dict[str, float], Fields]:
        """What was asked for, and the fields that say so.

        Raises:
            CandidateError: If a field or a geometry does not converge, and that is a reject.
            UnsolvedError: If it does not, or no spin is pure.
        """
        try:
            geometry = conformer(smiles, tries=self.settings["conformers"])
            if self.settings["geometry"] != _FIELD:
                xtb = Xtb(self.settings["geometry"], _ITERATIONS, unpaired)
                geometry = xtb.relaxed(geometry)
            dft = self._dft._replace(unpaired=unpaired)
            fields = Fields(dft, geometry, is_relaxed=self.settings["relaxed"])
            values = {n: round(self._value(n, fields), _DIGITS.get(n, 4)) for n in names}
        except DivergedError as error:
            if self.settings["unsolved"] == "abstain":
                raise
            raise CandidateError(
                str(error), feedback="Propose a molecule whose electrons are paired in bonds."
            ) from error
        for each in fields.solved.values():
            if each.contamination > self.settings["contamination"]:
                raise UnsolvedError(
                    f"the spin is not pure: its square lies {each.contamination:.2f} above that "
                    f"of {each.field.mol.spin} unpaired electrons"
                )
        return values, fields

    def _value(self, name: str, fields: Fields) -> float:
        solvent = self.settings["solvent"]
        first, *others = (
            fields.state(added, solvent if is_dissolved else "")
            for added, is_dissolved in _FIELDS[name]
        )
        if others:
            scale = KCAL_PER_HARTREE if name == "solvation_energy" else EV_PER_HARTREE
            return float(first.energy - others[0].energy) * scale
        found = {"energy": first.energy, "dipole": first.dipole}.get(name, first.gap)
        if found is None:
            raise UnsolvedError("no orbital of the molecule is empty, so that there is no gap")
        return float(found)


def seconds_for(level: Level, functions: float) -> float:
    """Seconds that a field takes with so many basis functions.

    Measured with B3LYP and def2-SVP on one core of an ordinary server, from 24 to 120 functions.

    Example:
        >>> seconds_for(Level("hf", "def2-svp"), 200) < seconds_for(Level("pbe", "def2-svp"), 200)
        True
    """
    power: float = functions**2.15
    return 0.02 + 2.6e-4 * power * (_WITHOUT_GRID if level.functional == "hf" else 1.0)
