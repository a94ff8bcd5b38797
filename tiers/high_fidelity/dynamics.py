"""The verifier `openmm-stability`: whether a protein stays as it is proposed, by OpenMM."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.checkpoints import Checkpoint
from verifier_ladder.tiers.fast.criteria import FIELD, Criteria, Quantity, Window
from verifier_ladder.tiers.fast.protein import (
    ATOMS,
    BACKBONE,
    BONDS,
    MOST_RESIDUES,
    Array,
    Protein,
    protein_of,
    rough_atoms,
)
from verifier_ladder.tiers.simulation.conformer import DivergedError, UnsolvedError
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

QUANTITIES: Mapping[str, Quantity] = {
    "rmsd": Quantity(
        "the RMSD of the backbone", "propose a looser fold", "propose a fold that holds itself",
        "Å",
    ),
    "drift": Quantity(
        "the largest drift of the backbone", "propose a looser fold",
        "propose a fold that holds itself", "Å",
    ),
    "energy": Quantity(
        "the potential energy", "propose a less stable conformation",
        "propose a more stable conformation", "kcal/mol",
    ),
}  # fmt: skip
"""What criteria can be about."""
Name = Literal["rmsd", "drift", "energy"]
ForceField = Literal["ff14SB/GBn2", "ff14SB/OBC2"]
_FILES: Mapping[str, tuple[str, str]] = {
    "ff14SB/GBn2": ("amber14/protein.ff14SB.xml", "implicit/gbn2.xml"),
    "ff14SB/OBC2": ("amber14/protein.ff14SB.xml", "implicit/obc2.xml"),
}
"""Files of OpenMM's own folder of data."""
STEPS = 250
"""Of a stretch, which is a picosecond: 4 fs each, with hydrogens of 1.5 dalton."""
_STEP, _HYDROGEN, _FRICTION = 0.004, 1.5, 1.0
_STIFFNESS = 1000.0
"""kJ/mol/nm², of what holds the backbone while the rest comes to the temperature."""
_ROUGHLY, _MINIMISING = 10.0, 500
"""kJ/mol/nm, and steps: minimising takes what would blow up, and no more."""
_PIECES, _PIECE = (STEPS, 125, 50, 25, 10, 5, 2, 1), 10.0
"""Steps of a piece, after which a checkpoint may be kept, and seconds that one may be expected to
take: the most that fit. A trajectory depends on it, so other numbers are another version."""
_PER_KCAL, _PER_NM = 4.184, 10.0
_FURTHEST = 1000.0
"""nm from the origin: no part of a protein gets there by itself."""
_PATIENCE, _LONGEST = 10.0, 30 * 86_400.0
"""How many times as long as expected a run may take on a busy or a slow machine; and seconds that
the largest protein may be expected to take."""
_LARGEST_RESIDUE = 27
"""Atoms of an arginine that is alone in its chain, hydrogens included."""
_SEEDS: Final = 2**31 - 1
_LONGEST_RUN = 100_000
"""Picoseconds."""
_LOADING, _CONTEXT, _ATOM, _PAIR, _MINIMISED = 3.2e-3, 0.012, 6e-6, 1.95e-7, 1.4
"""Seconds for the force field and hydrogens by each atom, for a context, and for a step by each
atom and each pair of atoms: processor time of one core of an ordinary server, measured from 33 to
582 atoms. Minimising takes as long as so many stretches."""
CONTROL = """\
ATOM      1  N   ALA A   1       0.000   0.000   0.000
ATOM      2  CA  ALA A   1       1.460   0.000   0.000
ATOM      3  C   ALA A   1       2.000   1.420   0.000
ATOM      4  O   ALA A   1       1.585   2.246  -0.812
ATOM      5  CB  ALA A   1       1.996  -0.772  -1.207
ATOM      6  N   ALA A   2       2.926   1.705   0.911
ATOM      7  CA  ALA A   2       3.521   3.035   1.010
ATOM      8  C   ALA A   2       5.048   2.951   1.045
ATOM      9  O   ALA A   2       5.614   2.187   1.825
ATOM     10  CB  ALA A   2       3.003   3.762   2.253
ATOM     11  N   ALA A   3       5.707   3.737   0.199
ATOM     12  CA  ALA A   3       7.166   3.747   0.138
ATOM     13  C   ALA A   3       7.708   5.176   0.207
ATOM     14  O   ALA A   3       7.259   6.051  -0.531
ATOM     15  CB  ALA A   3       7.653   3.058  -1.138
ATOM     16  OXT ALA A   3       8.614   5.399   1.039
TER
END
"""
"""Three alanines, ideal and extended."""


class DynamicsSettings(BaseModel):
    """Settings of `OpenmmStability` that a campaign's row may choose for a worker."""

    force_field: ForceField
    criteria: Annotated[dict[Name, Window], Field(max_length=len(QUANTITIES))]
    score: Literal["criteria"] | Name
    field: Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]
    temperature: Annotated[float, Field(ge=1, le=1000)]
    equilibration: Annotated[int, Field(ge=1, le=_LONGEST_RUN)]
    duration: Annotated[int, Field(ge=1, le=_LONGEST_RUN)]
    unsolved: Literal["abstain", "reject"]
    max_residues: Annotated[int, Field(ge=1, le=MOST_RESIDUES)]
    replicates: Annotated[int, Field(ge=1, le=100)]


class OpenmmStability(SingleVerifier):
    """RMSD of a protein's backbone in molecular dynamics, Å: how far it moves from the proposal.

    Hydrogens are added at pH 7. The protein is minimised, brought to the temperature with its
    backbone held, and let go: Langevin dynamics with Amber ff14SB in an implicit solvent.
    Each picosecond its backbone is laid upon the one that was proposed. Criteria are windows
    (`molecule-properties` says how they are written), of the settings and of the task, on

    - `rmsd`, Å, the mean of the second half,
    - `drift`, Å, the largest that was seen,
    - `energy`, kcal/mol, the mean of the second half, which compares conformations only.

    **A candidate** is a PDB file of the twenty amino acids, all atoms besides hydrogen. What lacks
    atoms or residues, clashes, has a bond of no usual length, or an amino acid of the other hand,
    is rejected before any force field sees it.

    **Replicates** differ by their seed, which follows from the check. Without them the seed is
    always the same. On one kind of processor a seed gives the same trajectory to the last bit.

    **Checkpoints** are kept each minute (`VLADDER_CHECKPOINTS`): a check whose worker was killed
    goes on from there, and ends as if nothing had happened.

    **Accuracy.** Nothing is declared. A short run says whether a fold breaks at once, not whether
    it is the native one.

    **Abstains**, having considered it, where a trajectory blows up while that of a small peptide
    does not; with `unsolved = "reject"` it rejects that.

    Example:
        >>> OpenmmStability(duration=100, replicates=3).replicates
        3
    """

    name = "openmm-stability"
    version = "3"
    tier = Tier.HIGH_FIDELITY
    kind = "structure"
    domain = "structural biology"
    capabilities = ("reasoning",)
    cost = Cost(seconds=30.0)
    timeout = 4 * 3600.0
    memory = 2**30
    batch_size = 1
    task_fields = (FIELD,)
    control = Candidate("structure", CONTROL)
    data_settings = DynamicsSettings

    @checked(temperature=1, equilibration=1, duration=1, max_residues=1, replicates=1)
    def __init__(
        self,
        *,
        force_field: str = "ff14SB/GBn2",
        criteria: Mapping[str, Mapping[str, Any]] | None = None,
        score: str = "rmsd",
        field: str = FIELD,
        temperature: float = 300.0,
        equilibration: int = 2,
        duration: int = 20,
        unsolved: str = "abstain",
        max_residues: int = 60,
        replicates: int = 1,
    ) -> None:
        """Choose the force field, the run and the criteria.

        Args:
            force_field: `ff14SB/GBn2` or `ff14SB/OBC2`.
            criteria: Windows by name; a task may name more.
            score: A name whose value is the score of what is accepted, or `criteria`.
            field: The task's field with criteria for this verifier.
            temperature: Kelvin.
            equilibration: Picoseconds with the backbone held.
            duration: Picoseconds after that.
            unsolved: What becomes of a protein whose trajectory blows up: `abstain` or `reject`.
            max_residues: Larger proteins are rejected.
            replicates: How many runs each candidate gets.

        Raises:
            ConfigError: If a name is unknown, or a setting makes no sense.
        """
        for name, given, known in (
            ("force_field", force_field, get_args(ForceField)),
            ("unsolved", unsolved, ("abstain", "reject")),
        ):
            if given not in known:
                raise ConfigError(f"{name}={printable(given)!r}: write {' or '.join(known)}")
        for name, number, most in (
            ("equilibration", equilibration, _LONGEST_RUN), ("duration", duration, _LONGEST_RUN),
            ("max_residues", max_residues, MOST_RESIDUES), ("temperature", temperature, 1000),
            ("replicates", replicates, 100),
        ):  # fmt: skip
            if number > most:
                raise ConfigError(f"{name}={number}: give at most {most}")
        self._criteria = Criteria(QUANTITIES, criteria or {}, score, field)
        self.task_fields = (field,)
        self.replicates = replicates
        super().__init__(
            force_field=force_field, temperature=float(temperature),
            equilibration=equilibration, duration=duration, unsolved=unsolved,
            max_residues=max_residues, replicates=replicates, **self._criteria.settings,
        )  # fmt: skip
        expected = seconds_for(_LARGEST_RESIDUE * max_residues, self._stretches)
        if expected > _LONGEST:
            raise ConfigError(
                f"{max_residues} residues for {self._stretches} picoseconds take about "
                f"{expected / 86_400:.0f} days: lower max_residues, duration or equilibration, "
                f"to {_LONGEST / 86_400:.0f} days at most"
            )
        self.timeout = max(self.timeout, _PATIENCE * expected)
        self.unit = self._criteria.unit
        self.features = self._criteria.features
        self.tools = versions("openmm")

    def setup(self) -> None:
        """Load OpenMM."""
        openmm("app")

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of atoms."""
        atoms = self.rough_size(candidate)
        if not atoms:
            return Cost(seconds=0.01)
        return Cost(seconds=round(seconds_for(atoms, self._stretches), 2))

    def structure_of(self, candidate: Candidate) -> str | bytes:
        """The PDB file that is run: the candidate; a subclass may have it predicted.

        It is asked for once a run: what was predicted lies in the run's checkpoint, for hardly a
        predictor says the same twice.
        """
        return candidate.content

    def rough_size(self, candidate: Candidate) -> int:
        """About how many atoms it has, hydrogens included; 0 for what is rejected at sight."""
        return rough_atoms(candidate.content, self.settings["max_residues"])

    @property
    def _stretches(self) -> int:
        return int(self.settings["equilibration"] + self.settings["duration"])

    def examine(self, candidate: Candidate) -> Verdict:
        """Run, or go on with a run that was begun, and compare."""
        windows = self._criteria.of(candidate.task)
        # What a lone check draws would be another number each time.
        seed = random.getrandbits(31) if self.replicates > 1 else 1
        checkpoint = Checkpoint(self.key_digest, f"{seed}".encode(), _bytes(candidate.content))
        kept = Kept.found(checkpoint)
        structure = _bytes(self.structure_of(candidate) if kept is None else kept.structure)
        model = Model(protein_of(structure, self.settings["max_residues"]), self._conditions)
        keeping = Keeping(checkpoint, structure.decode(), model.names)
        begun = None if kept is None else kept.run_of(model, self._stretches)
        try:
            run = self._ended(model, begun or model.begun(), seed, keeping)
        except BlownUpError as error:
            told = self._unsolved(error, seed)
            checkpoint.clear()
            raise told from error
        checkpoint.clear()
        evidence = {"atoms": model.size, "seed": seed, "picoseconds": self.settings["duration"]}
        if begun is not None:
            evidence["went on after picosecond"] = begun.steps / STEPS
        return self._criteria.verdict(windows, self._values(run), evidence=evidence)

    @property
    def _conditions(self) -> Conditions:
        names = Conditions._fields
        return Conditions(**{name: self.settings[name] for name in names})

    def _ended(self, model: Model, run: Run, seed: int, keeping: Keeping | None) -> Run:
        while run.steps < self._stretches * STEPS:
            if keeping is not None and keeping.checkpoint.is_due:
                keeping.keep(run)
            run = model.further(run, seed)
        return run

    def _values(self, run: Run) -> dict[str, float]:
        free = run.drifts[self.settings["equilibration"] :]
        half = len(free) // 2
        energies = run.energies[self.settings["equilibration"] :]
        return {
            "rmsd": round(float(np.mean(free[half:])), 3),
            "drift": round(max(free), 3),
            "energy": round(float(np.mean(energies[half:])), 2),
        }

    def _unsolved(
        self, error: BlownUpError, seed: int
    ) -> CandidateError | UnsolvedError | ToolError:
        """What becomes of a run that has blown up, by how a harmless one goes to its end."""
        model = Model(protein_of(CONTROL), self._conditions)
        try:
            self._ended(model, model.begun(), seed, None)
        except BlownUpError:
            return ToolError(f"{error}; so did that of a small peptide")
        told = f"{error}; that of a small peptide does not"
        if self.settings["unsolved"] == "abstain":
            return DivergedError(told)
        return CandidateError(told, feedback="Propose a structure without strain.")


class BlownUpError(Exception):
    """A trajectory has left all bounds."""


class Conditions(NamedTuple):
    """What a trajectory depends on besides the protein and the seed."""

    force_field: str
    temperature: float
    equilibration: int


_Vector = tuple[FiniteFloat, FiniteFloat, FiniteFloat]


class Run(BaseModel):
    """How far a trajectory has come: all that its next piece depends on, as plain numbers."""

    positions: list[_Vector]
    """nm."""
    velocities: list[_Vector]
    """nm/ps."""
    steps: int = 0
    """Since it was minimised."""
    drifts: list[FiniteFloat] = []
    """RMSD to the proposal at the end of each picosecond, Å."""
    energies: list[FiniteFloat] = []
    """Potential energy there, kcal/mol."""


class Kept(BaseModel):
    """What a checkpoint holds."""

    structure: str
    """The PDB file that is run."""
    names: str
    """Of all atoms, hydrogens included, which another host may have placed elsewhere."""
    run: Run

    @classmethod
    def found(cls, checkpoint: Checkpoint) -> Kept | None:
        """What was kept; None if nothing was, or it is not whole."""
        data = checkpoint.load()
        try:
            return None if data is None else cls.model_validate_json(data)
        except ValidationError:
            return None

    def run_of(self, model: Model, stretches: int) -> Run | None:
        """The run that was begun; None if it is none of this model.

        Args:
            model: The structure, as this host has it.
            stretches: Of the whole run.
        """
        run, begins = self.run, range(0, stretches * STEPS, model.piece)
        if self.names != model.names or run.steps not in begins:
            return None
        is_measured = len(run.drifts) == len(run.energies) == run.steps // STEPS
        is_whole = len(run.positions) == len(run.velocities) == model.size
        return run if is_measured and is_whole else None


class Keeping(NamedTuple):
    """Where a run is kept, with what stays the same of it."""

    checkpoint: Checkpoint
    structure: str
    names: str

    def keep(self, run: Run) -> None:
        """Keep how far it has come."""
        kept = Kept(structure=self.structure, names=self.names, run=run)
        self.checkpoint.save(kept.model_dump_json().encode())


class Model:
    """A protein in OpenMM: with hydrogens and a force field, and the way to the next piece.

    Each piece begins with a context and a seed of its own, from nothing but positions and
    velocities. So a run that is gone on with is the same as one that was never left, and nothing
    of OpenMM's own checkpoints is needed, which are bound to a processor.
    """

    def __init__(self, protein: Protein, conditions: Conditions) -> None:
        """Add hydrogens at pH 7, and the force field.

        Raises:
            ToolError: If OpenMM is not installed.
            UnsolvedError: If the force field lacks a residue.
        """
        self._conditions, self._proposed = conditions, protein.backbone
        app = openmm("app")
        folder = Path(app.__file__).parent / "data"  # Not one of that name where a worker runs.
        files = [str(folder / name) for name in _FILES[conditions.force_field]]
        self._field = app.ForceField(*files)
        modeller = app.Modeller(*_described(protein))
        with _templates(), _same_each_time():
            modeller.addHydrogens(self._field, platform=_platform("Reference"))
        self._topology = modeller.topology
        self._start = _plain(modeller.positions)
        self._backbone = [n for n, each in enumerate(self._atoms) if each.name in BACKBONE]

    @property
    def _atoms(self) -> list[Any]:
        return list(self._topology.atoms())

    @property
    def size(self) -> int:
        """Atoms."""
        return len(self._start)

    @property
    def names(self) -> str:
        """Of all its atoms, hydrogens included: what a run's positions are of, on each host."""
        return ",".join(f"{each.residue.name} {each.name}" for each in self._atoms)

    @property
    def piece(self) -> int:
        """Steps from one checkpoint to the next."""
        return piece_of(self.size)

    def begun(self) -> Run:
        """Minimise, with the backbone held.

        Raises:
            BlownUpError: If that leads nowhere.
        """
        with _watched():
            context = self._context(self._held, 1)
            context.setPositions(self._start)
            openmm().LocalEnergyMinimizer.minimize(context, _ROUGHLY, _MINIMISING)
            positions, velocities = _state(context)
        return Run(positions=positions.tolist(), velocities=velocities.tolist())

    def further(self, run: Run, seed: int) -> Run:
        """Go on for one piece.

        Raises:
            BlownUpError: If it leaves all bounds.
        """
        is_held = run.steps < self._conditions.equilibration * STEPS
        own, steps = _seed(seed, run.steps // self.piece), run.steps + self.piece
        drifts, energies = [*run.drifts], [*run.energies]
        with _watched():
            context = self._context(self._held if is_held else self._free, own)
            context.setPositions(np.array(run.positions))
            if run.steps:
                context.setVelocities(np.array(run.velocities))
            else:
                context.setVelocitiesToTemperature(self._conditions.temperature, own)
            context.getIntegrator().step(self.piece)
            positions, velocities = _state(context)
            if steps % STEPS == 0:
                drifts.append(deviation(positions[self._backbone] * _PER_NM, self._proposed))
                energies.append(_energy(context) / _PER_KCAL)
        return Run(
            positions=positions.tolist(), velocities=velocities.tolist(), steps=steps,
            drifts=drifts, energies=energies,
        )  # fmt: skip

    @cached_property
    def _free(self) -> Any:
        """OpenMM's system: what acts on the atoms."""
        app = openmm("app")
        with _templates():
            return self._field.createSystem(
                self._topology, nonbondedMethod=app.NoCutoff, constraints=app.HBonds,
                hydrogenMass=_HYDROGEN,
            )  # fmt: skip

    @cached_property
    def _held(self) -> Any:
        """The same, with the backbone held where it was proposed."""
        mm, system = openmm(), deepcopy(self._free)
        force = mm.CustomExternalForce("0.5*k*((x-a)^2+(y-b)^2+(z-c)^2)")
        force.addGlobalParameter("k", _STIFFNESS)
        for name in "abc":
            force.addPerParticleParameter(name)
        for atom, at in zip(self._backbone, self._proposed / _PER_NM, strict=True):
            force.addParticle(atom, at.tolist())
        system.addForce(force)
        return system

    def _context(self, system: Any, seed: int) -> Any:
        mm = openmm()
        integrator = mm.LangevinMiddleIntegrator(self._conditions.temperature, _FRICTION, _STEP)
        integrator.setRandomNumberSeed(seed)
        # With more threads sums would come in another order each time.
        properties = {"Threads": "1", "DeterministicForces": "true"}
        return mm.Context(system, integrator, _platform("CPU"), properties)


def deviation(moved: Array, fixed: Array) -> float:
    """Root-mean-square deviation of points that are laid upon others, turned but not mirrored.

    Example:
        >>> square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
        >>> deviation(square @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + 7.0, square) < 1e-6
        True
    """
    one, other = (points - points.mean(axis=0) for points in (moved, fixed))
    left, sizes, right = np.linalg.svd(one.T @ other)
    sizes[-1] *= np.sign(np.linalg.det(left @ right))
    squares = float((one**2).sum() + (other**2).sum() - 2 * sizes.sum())
    return float(np.sqrt(max(squares, 0.0) / len(one)))


def seconds_for(atoms: float, stretches: int) -> float:
    """Seconds that so many stretches take, after minimising.

    Example:
        >>> seconds_for(50, 20) < seconds_for(100, 20) < seconds_for(100, 60)
        True
    """
    stretch = _CONTEXT + STEPS * _seconds_of_step(atoms)
    return _LOADING * atoms + (stretches + _MINIMISED) * stretch


def piece_of(atoms: int) -> int:
    """Steps of a piece of a run, of a protein of so many atoms.

    Example:
        >>> piece_of(50)
        250
    """
    fitting = (steps for steps in _PIECES if steps * _seconds_of_step(atoms) <= _PIECE)
    return next(fitting, _PIECES[-1])


def _seconds_of_step(atoms: float) -> float:
    return _ATOM * atoms + _PAIR * atoms**2


def openmm(module: str = "") -> Any:
    """OpenMM, or one of its modules.

    Raises:
        ToolError: If it is not installed.
    """
    try:
        return import_module(f"openmm.{module}" if module else "openmm")
    except ImportError as error:
        raise ToolError(
            f"OpenMM can't be imported ({error}); pip install '.[dynamics]' in a clone"
        ) from error


def _platform(name: str) -> Any:
    return openmm().Platform.getPlatformByName(name)


def _described(protein: Protein) -> tuple[Any, Any]:
    """OpenMM's topology, and positions."""
    app, unit = openmm("app"), openmm("unit")
    topology, positions = app.Topology(), []
    for chain in protein.chains:
        made, last = topology.addChain(), None
        for residue in chain:
            own = topology.addResidue(residue.name, made)
            names = [name for name in (*ATOMS[residue.name], "OXT") if name in residue.atoms]
            atoms = {n: topology.addAtom(n, app.Element.getBySymbol(n[0]), own) for n in names}
            for one, other in BONDS[residue.name]:
                topology.addBond(atoms[one], atoms[other])
            if "OXT" in atoms:
                topology.addBond(atoms["C"], atoms["OXT"])
            if last is not None:
                topology.addBond(last, atoms["N"])
            last = atoms["C"]
            positions += [openmm().Vec3(*(residue.atoms[n] / _PER_NM).tolist()) for n in names]
    told = unit.Quantity(positions, unit.nanometer)
    topology.createDisulfideBonds(told)
    return topology, told


def _state(context: Any) -> tuple[Array, Array]:
    """Positions and velocities.

    Raises:
        BlownUpError: If a number has no end, or an atom is out of reach.
    """
    unit = openmm("unit")
    state = context.getState(getPositions=True, getVelocities=True)
    positions = _plain(state.getPositions(asNumpy=True))
    speed = unit.nanometer / unit.picosecond
    velocities = np.asarray(state.getVelocities(asNumpy=True).value_in_unit(speed))
    is_known = np.isfinite([*positions.flat, *velocities.flat]).all()
    if not is_known or np.abs(positions).max() > _FURTHEST:
        raise _blown_up()
    return positions, velocities


def _energy(context: Any) -> float:
    """The potential energy, kJ/mol.

    Raises:
        BlownUpError: If it has no end.
    """
    state = context.getState(getEnergy=True)
    energy = state.getPotentialEnergy().value_in_unit(openmm("unit").kilojoule_per_mole)
    if not np.isfinite(energy):
        raise _blown_up()
    return float(energy)


def _blown_up() -> BlownUpError:
    return BlownUpError("the trajectory blows up: atoms fly apart, or a number has no end")


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _plain(positions: Any) -> Array:
    """Positions in nm."""
    return np.array(positions.value_in_unit(openmm("unit").nanometer))


def _seed(seed: int, number: int) -> int:
    """The seed of one piece; OpenMM reads 0 as any."""
    told = hashlib.sha256(f"{seed} {number}".encode()).digest()
    return 1 + int.from_bytes(told[:4]) % _SEEDS


@contextmanager
def _watched() -> Iterator[None]:
    """Tell what blows up from what fails.

    Raises:
        BlownUpError: If OpenMM says that a number is none.
        ToolError: If it says anything else.
    """
    try:
        yield
    except openmm().OpenMMException as error:
        told = printable(error, 200)
        if "NaN" in told or "infinite" in told:
            raise BlownUpError(f"the trajectory blows up: {told}") from error
        raise ToolError(f"OpenMM failed: {told}") from error


@contextmanager
def _templates() -> Iterator[None]:
    """Tell what the force field does not know.

    Raises:
        UnsolvedError: If it lacks a residue, such as one of three cysteines that are bonded.
    """
    try:
        yield
    except ValueError as error:
        raise UnsolvedError(f"the force field can't describe it: {printable(error)}") from error


@contextmanager
def _same_each_time() -> Iterator[None]:
    """Have what draws from `random` draw the same; hydrogens begin at random places."""
    before = random.getstate()
    random.seed(1)
    try:
        yield
    finally:
        random.setstate(before)
