"""The verifier `dft-cell`: criteria on what density functional theory says of a small crystal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil, isfinite, pi, prod, sqrt
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.criteria import FIELD, Criteria, Quantity, Window
from verifier_ladder.tiers.fast.crystal import crystal_of
from verifier_ladder.tiers.fast.crystalfile import Array, Crystal
from verifier_ladder.tiers.fast.crystalgate import Bounds
from verifier_ladder.tiers.high_fidelity.basis import CELL_BASES, rough_number
from verifier_ladder.tiers.high_fidelity.dft import (
    ATTEMPTS,
    DIVERGED,
    MEGABYTES,
    pyscf,
    refuse_files,
    single_threaded,
    temporary_files,
)
from verifier_ladder.tiers.high_fidelity.level import Level
from verifier_ladder.tiers.simulation.asecrystal import rough_counts, rough_lattice
from verifier_ladder.tiers.simulation.conformer import DivergedError, UnsolvedError
from verifier_ladder.tiers.simulation.xtb import EV_PER_HARTREE, fallbacks
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

FUNCTIONALS: Mapping[str, tuple[str, str]] = {
    "lda": ("lda_xc_teter93", "gth-pade"), "pbe": ("pbe", "gth-pbe"),
}  # fmt: skip
"""As PySCF spells them, and the pseudopotentials of Goedecker, Teter and Hutter made for each."""
QUANTITIES: Mapping[str, Quantity] = {
    "energy": Quantity(
        "the energy of an atom", "propose a less stable crystal of these elements",
        "propose a more stable crystal of these elements", "eV/atom",
    ),
    "gap": Quantity(
        "the gap", "take elements that differ more, or shorter bonds",
        "take elements that differ less, or longer bonds", "eV",
    ),
}  # fmt: skip
"""What criteria can be about."""
Name = Literal["energy", "gap"]
DEFAULT = "pbe/gth-dzvp"
_ATTEMPTS = {name: ATTEMPTS[name] for name in ("", "level shift")}
"""A solver of the second order is slow with many points of reciprocal space."""
_BOUNDS = Bounds()
"""What is computed of keeps these, whichever gate stands before."""
_BOHR = 0.529177210903
_NOISE = 1e-9
"""Å, in a lattice vector."""
_DIGITS = {"energy": 6}
_MOST_FUNCTIONS = 400
_DECLINED = 0.01
"""Seconds that it takes to decline a crystal."""
_CYCLES, _PATIENCE = 50, 1.6
"""By default, and how much longer than expected the dearest crystal may then take."""
_LIBRARIES, _POINT = 2**29, 420
"""Bytes of memory, and those for each point of a grid: one of 2.6 million takes 1.1 GB."""
_MEET = 1e-3
"""hartree. Which of two bands that are closer is filled is chance; PySCF calls them equal too."""
_LEFT_OUT = 1e29
"""hartree, above all bands: combinations of functions that PySCF leaves out stand there."""


class CellState:
    """A self-consistent field of a crystal that has converged."""

    def __init__(self, field: Any, energy: float, attempt: str) -> None:
        """Hold PySCF's field.

        Args:
            field: It, converged.
            energy: Of the cell, hartree.
            attempt: Which attempt converged.
        """
        self.field, self.energy, self.attempt = field, energy, attempt

    @cached_property
    def bands(self) -> list[Array]:
        """Energies at each point of reciprocal space, hartree, in order."""
        return [np.sort(each[each < _LEFT_OUT]) for each in self.field.mo_energy]

    @cached_property
    def gap(self) -> float | None:
        """Between all filled and all empty bands, eV; None if no band is empty.

        Raises:
            UnsolvedError: If there is none, or not as many bands as electrons need.
        """
        filled = int(self.field.cell.nelectron) // 2
        if any(len(each) < filled for each in self.bands):
            raise UnsolvedError(
                "functions of the basis depend on each other, and too few are left for the "
                "electrons"
            )
        highest = max(float(each[filled - 1]) for each in self.bands)
        empty = [float(each[filled]) for each in self.bands if len(each) > filled]
        if not empty:
            return None
        if (found := min(empty) - highest) < _MEET:
            raise UnsolvedError(
                "it has no gap: filled and empty bands meet, and nothing here smears electrons "
                "over bands, as metals need"
            )
        return found * EV_PER_HARTREE

    @property
    def evidence(self) -> dict[str, Any]:
        """Its size, and what was taken to be so."""
        cell, most = self.field.cell, int(self.field.cell.nao)
        left_out = most - min(map(len, self.bands))
        return {
            "basis functions": most, **({"functions left out": left_out} if left_out else {}),
            "valence electrons": int(cell.nelectron), "charge": 0, "unpaired electrons": 0,
            "grid": [int(each) for each in cell.mesh], "cycles": int(self.field.cycles),
        }  # fmt: skip


class CellDft(NamedTuple):
    """How crystals are computed."""

    level: Level
    cutoff: float
    """hartree, of the plane waves that the density is put on."""
    density: float
    """Points along each vector of reciprocal space, for each 1/Å of it."""
    tolerance: float
    """hartree, to which the energy of a cell converges."""
    max_cycles: int
    """Of each attempt."""

    def mesh(self, lattice: Array) -> list[int]:
        """Points of reciprocal space along each of its vectors, around and with the middle.

        Example:
            >>> level = Level("lda", "gth-szv")
            >>> CellDft(level, 100.0, 2.0, 1e-8, 50).mesh(np.diag([3.0, 6.0, 60.0]))
            [5, 3, 1]
        """
        lengths = 2 * pi * np.linalg.norm(np.linalg.inv(lattice), axis=0)
        # A cell of twice the length has half as many points, whatever noise its numbers have.
        return [max(1, ceil(round(self.density * float(each), 6))) for each in lengths]

    def points(self, lattice: Array) -> float:
        """Points of the grid in the cell, and of reciprocal space together."""
        volume = abs(float(np.linalg.det(lattice))) / _BOHR**3
        grid: float = volume * (sqrt(2 * self.cutoff) / pi) ** 3
        return grid * prod(self.mesh(lattice))

    def state(self, crystal: Crystal) -> CellState:
        """Solve the field of a crystal, after fallbacks where it does not converge.

        Raises:
            UnsolvedError: If its electrons can't be paired.
            DivergedError: If no attempt converges, and the control does.
            ToolError: If the control does not converge either.
        """
        try:
            return self._solved(crystal, self.mesh(crystal.lattice))
        except DivergedError as error:
            told = error
        try:
            self._solved(crystal_of(DftCell.control.content), [1, 1, 1])
        except DivergedError:
            raise ToolError(f"{told}; neither did that of helium") from told
        raise DivergedError(f"{told}; that of helium does") from told

    def _solved(self, crystal: Crystal, mesh: Sequence[int]) -> CellState:
        cell, failure = self._cell(crystal), ""
        # A point and its mirror image have the same energies.
        points = cell.make_kpts(list(mesh), time_reversal_symmetry=True)
        for name, prepared in _ATTEMPTS.items():
            field = pyscf("pbc.dft").KRKS(cell, points, xc=FUNCTIONALS[self.level.functional][0])
            field = prepared(independent(field.multigrid_numint()))
            field.conv_tol, field.max_cycle = self.tolerance, self.max_cycles
            try:
                energy = float(field.kernel())
            except DIVERGED as error:
                failure = failure or printable(error)
                continue
            if field.converged and isfinite(energy):
                return CellState(field, energy, name)
        raise DivergedError(
            f"the self-consistent field did not converge in {self.max_cycles} cycles"
            + (f" ({failure})" if failure else "")
        )

    def _cell(self, crystal: Crystal) -> Any:
        """PySCF's cell.

        Raises:
            UnsolvedError: If its electrons can't be paired.
        """
        potential = FUNCTIONALS[self.level.functional][1]
        refuse_files(self.level.basis, potential)
        lattice = upright(crystal.lattice)
        cell = pyscf("pbc.gto").Cell()
        cell.atom = list(zip(crystal.symbols, crystal.places @ lattice, strict=True))
        cell.a, cell.unit, cell.verbose = lattice, "Angstrom", 0
        cell.basis, cell.pseudo = self.level.basis, potential
        cell.max_memory = MEGABYTES
        cell.ke_cutoff, cell.spin = self.cutoff, None  # As many are unpaired as must be.
        cell.build(dump_input=False, parse_arg=False)
        if cell.nelectron % 2:
            raise UnsolvedError(
                f"the cell has {cell.nelectron} valence electrons, and all are paired here"
            )
        return cell


class DftCellSettings(BaseModel):
    """Settings of `DftCell` that a campaign's row may choose for a worker."""

    level: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,30}/[a-z0-9-]{1,30}$")]
    criteria: Annotated[dict[Name, Window], Field(max_length=len(QUANTITIES))]
    score: Literal["criteria"] | Name
    field: Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]
    cutoff: Annotated[float, Field(ge=10, le=1000)]
    density: Annotated[float, Field(ge=0.01, le=20)]
    tolerance: Annotated[float, Field(ge=1e-12, le=1e-4)]
    max_cycles: Annotated[int, Field(ge=1, le=1000)]
    unsolved: Literal["abstain", "reject"]
    max_functions: Annotated[int, Field(ge=1, le=_MOST_FUNCTIONS)]
    max_points: Annotated[int, Field(ge=1, le=10**9)]


class DftCell(SingleVerifier):
    """Accepts a small crystal that keeps criteria on its energy and its gap by DFT.

    Criteria are windows (`molecule-properties` says how they are written), of the settings and of
    the task, on

    - `energy`, eV an atom, which compares crystals of the same elements in the same shares, at one
      level: it counts from pseudopotentials;
    - `gap`, eV between the highest filled and the lowest empty band, at the points of reciprocal
      space that are sampled. It is one of bands, no optical one.

    PySCF computes, with Gaussian functions and the pseudopotentials of Goedecker, Teter and
    Hutter, for elements up to argon. The density stands on plane waves up to `cutoff`; points of
    reciprocal space lie evenly around and with its middle, `density` of them for each 1/Å along a
    vector. Evidence tells both. The crystal is computed as it is proposed, neutral and with all
    electrons paired.

    **Accuracy.** Energies agree with those of CP2K in the same basis, with the same
    pseudopotentials and points, as the answer key tells. How far cutoff and points are from where
    nothing changes any more is not looked at: ask for more of both, and compare. No deviation is
    declared.

    **Abstains**, having considered it, where the cell has more basis functions than
    `max_functions`, or grid and reciprocal space more points than `max_points`, where the basis
    lacks an element, an electron stays unpaired, and where there is no gap, since metals need
    their electrons smeared over bands. So it does where the field does not converge after
    fallbacks while that of helium does; with `unsolved = "reject"` it rejects those.

    Example:
        >>> DftCell(level="lda/gth-szv", score="gap").unit
        'eV'
    """

    name = "dft-cell"
    version = "2"
    tier = Tier.HIGH_FIDELITY
    kind = "crystal"
    domain = "materials"
    capabilities = ("reasoning",)
    cost = Cost(seconds=60.0)
    timeout = 7200.0
    """Of the dearest that is taken by default, each attempt takes some twenty minutes. With other
    settings it grows as they do, and memory too: a crystal that takes more is held to be bad."""
    memory = 3 * 2**30
    batch_size = 1
    task_fields = (FIELD,)
    control = Candidate(
        "crystal",
        "helium\n1.0\n4.8 0.0 0.0\n0.0 4.8 0.0\n0.0 0.0 4.8\nHe\n1\nDirect\n0.0 0.0 0.0\n",
    )
    data_settings = DftCellSettings

    @checked(cutoff=10, density=0.01, tolerance=0, max_cycles=1, max_functions=1, max_points=1)
    def __init__(
        self,
        *,
        level: str = DEFAULT,
        criteria: Mapping[str, Mapping[str, Any]] | None = None,
        score: str = "energy",
        field: str = FIELD,
        cutoff: float = 150.0,
        density: float = 2.0,
        tolerance: float = 1e-7,
        max_cycles: int = _CYCLES,
        unsolved: str = "abstain",
        max_functions: int = 80,
        max_points: int = 5_000_000,
    ) -> None:
        """Choose the level of theory and the criteria.

        Args:
            level: Functional and basis with a slash between, of the tables.
            criteria: Windows by name; a task may name more.
            score: A name whose value is the score of what is accepted, or `criteria`.
            field: The task's field with criteria for this verifier.
            cutoff: Of the plane waves that the density is put on, hartree.
            density: Points along each vector of reciprocal space, for each 1/Å of it.
            tolerance: Convergence of the energy of a cell, hartree.
            max_cycles: Most cycles of each attempt at a self-consistent field.
            unsolved: What becomes of a crystal whose field does not converge: `abstain` or
                `reject`.
            max_functions: Cells with more basis functions are not computed.
            max_points: Nor those with more points, of the grid times of reciprocal space.

        Raises:
            ConfigError: If the level or a name is unknown, or a setting makes no sense.
        """
        if unsolved not in ("abstain", "reject"):
            raise ConfigError(f"unsolved={printable(unsolved)!r}: write abstain or reject")
        self._criteria = Criteria(QUANTITIES, criteria or {}, score, field)
        read = Level.read(level, FUNCTIONALS, CELL_BASES)
        self._dft = CellDft(read, cutoff, density, tolerance, max_cycles)
        self.task_fields = (field,)
        super().__init__(
            level=level, cutoff=cutoff, density=density, tolerance=tolerance,
            max_cycles=max_cycles, unsolved=unsolved, max_functions=max_functions,
            max_points=max_points, **self._criteria.settings,
        )  # fmt: skip
        dearest = _PATIENCE * seconds_for(max_functions, max_points, 1, is_skew=True)
        self.timeout = max(self.timeout, dearest) * max(1.0, max_cycles / _CYCLES)
        self.memory = max(self.memory, _LIBRARIES + _POINT * max_points)
        self.unit = self._criteria.unit
        self.features = self._criteria.features
        self.tools = versions("pyscf", "ase")

    def setup(self) -> None:
        """Load PySCF, on one thread."""
        single_threaded()
        pyscf("pbc.dft")

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by basis functions and points guessed from the text.

        A crystal that is declined costs nothing.
        """
        counts = rough_counts(candidate.content)
        numbers = {rough_number(symbol): count for symbol, count in counts.items()}
        functions = self._dft.level.rough_functions(numbers)
        lattice = rough_lattice(candidate.content)
        if not functions or self._oversize(functions, lattice):
            return Cost(seconds=_DECLINED)
        mesh = prod(self._dft.mesh(lattice))
        grid = self._dft.points(lattice) / mesh
        return Cost(seconds=round(seconds_for(functions, grid, mesh, is_skew=is_skew(lattice)), 2))

    def examine(self, candidate: Candidate) -> Verdict:
        """Check the bounds, and then compute."""
        windows = self._criteria.of(candidate.task)
        crystal = crystal_of(candidate.content)
        if flaw := _BOUNDS.flaw(crystal):
            return flaw.verdict
        functions = self._dft.level.functions(crystal.numbers)
        if told := self._oversize(functions, crystal.lattice):
            return Verdict.abstain(told)
        return self._judged(crystal, windows)

    @temporary_files()
    def _judged(self, crystal: Crystal, windows: Mapping[str, Window]) -> Verdict:
        state, wanted = self._state(crystal), self._criteria.wanted(windows)
        if (gap := state.gap) is None and "gap" in wanted:
            raise UnsolvedError("no band of the crystal is empty, so that there is no gap")
        found = {"energy": state.energy * EV_PER_HARTREE / len(crystal.symbols), "gap": gap or 0.0}
        return self._criteria.verdict(
            windows, {name: round(found[name], _DIGITS.get(name, 4)) for name in wanted},
            evidence={
                "level": self.settings["level"], "cutoff, hartree": self.settings["cutoff"],
                "points of reciprocal space": self._dft.mesh(crystal.lattice),
                **state.evidence, **fallbacks([state]),
            },
        )  # fmt: skip

    def _state(self, crystal: Crystal) -> CellState:
        try:
            return self._dft.state(crystal)
        except DivergedError as error:
            if self.settings["unsolved"] == "abstain":
                raise
            raise CandidateError(
                str(error), feedback="Propose a crystal at rest, with a gap."
            ) from error

    def _oversize(self, functions: int, lattice: Array) -> str:
        """Why so much is not computed; "" if it is."""
        most, points = self.settings["max_functions"], self._dft.points(lattice)
        if functions > most:
            return f"{functions} basis functions are too many; {most} are taken"
        if points > self.settings["max_points"]:
            return (
                f"grid and reciprocal space have {points:.2g} points; "
                f"{self.settings['max_points']:.2g} are taken"
            )
        return ""


def independent(field: Any) -> Any:
    """Have a field solved with combinations of functions that don't depend on each other.

    PySCF takes such ones, and then solves with all functions once more, to no use (2.14): that
    fails where some depend on each other, as those of many crystals do in the larger bases.
    """
    solve, combined = field._eigh, pyscf("scf.hf").canonical_orthogonalization  # noqa: SLF001

    def solved(h: Array, s: Array, *given: Any, x: Array | None = None) -> Any:
        return solve(h, s, *given, x=combined(s) if x is None else x)

    field._eigh = solved  # noqa: SLF001 - what `eig` of all kinds of fields calls
    return field


def upright(lattice: Array) -> Array:
    """The same vectors turned, the first one along x: grids along the axes are faster.

    Example:
        >>> upright(np.array([[0.0, 0.0, 3.0], [4.0, 0.0, 0.0], [0.0, 5.0, 0.0]])).diagonal()
        array([3., 4., 5.])
    """
    turned = np.linalg.cholesky(lattice @ lattice.T)
    return np.where(np.abs(turned) < _NOISE, 0.0, turned)


def is_skew(lattice: Array) -> bool:
    """Whether two vectors of a cell are not at right angles."""
    turned = upright(lattice)
    return bool(np.count_nonzero(turned - np.diag(turned.diagonal())))


def seconds_for(functions: float, grid: float, mesh: float, *, is_skew: bool) -> float:
    """Seconds that a field takes.

    Measured on one core of an ordinary server, up to 26 functions and 27 points of reciprocal
    space. In skew cells PySCF puts functions on a fine grid in each cycle.

    Args:
        functions: Of the basis, in the cell.
        grid: Points of the cell's grid.
        mesh: Points of reciprocal space.
        is_skew: Whether two vectors of the cell are not at right angles.

    Example:
        >>> seconds_for(26, 1e5, 8, is_skew=True) > seconds_for(26, 1e5, 8, is_skew=False)
        True
    """
    seconds = 0.3 + 6.5e-6 * grid + 0.03 * mesh
    skew: float = 9e-4 * grid**0.8 * functions**0.55 * (1 + 0.1 * mesh)
    return seconds + skew if is_skew else seconds
