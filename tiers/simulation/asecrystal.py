"""What the verifiers of crystals share that ask a calculator of ASE."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from math import ceil, hypot, prod, sqrt
from typing import Annotated, Any, ClassVar, TypedDict, TypeVar

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.metering import on_gpu
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.crystal import crystal_of
from verifier_ladder.tiers.fast.crystalfile import Array, Crystal
from verifier_ladder.tiers.fast.crystalgate import Bounds, as_atoms
from verifier_ladder.tiers.simulation.calculators import (
    Data,
    Method,
    NotConvergedError,
    method,
)
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Outcome, Verdict

Result = TypeVar("Result")
Pairs = frozenset[tuple[int, ...]]
"""Two atoms, and the cell in which the second one stands."""
BONDED = 1.2
"""Times the sum of covalent radii: closer atoms are bonded."""
_BOUNDS = Bounds()
"""What is computed of keeps these, whichever gate stands before."""
_LARGEST = 1e6
_COUNT = re.compile("[0-9]{1,6}")
_READ, _READ_ATOM = 2e-3, 5e-5
"""Seconds to read a crystal and to check its bounds, and those for each atom."""
_COUNTS = 6
"""The line of a POSCAR with the numbers of atoms, which is what canonical forms are."""
_LEAST_VOLUME, _WIDE = 0.1, 10.0
"""Å³ of a cell that is none, and Å of one that tells nothing."""


class AseOptions(TypedDict, total=False):
    """What each of these verifiers takes beside settings of its own."""

    calculator: str | Mapping[str, Any]
    """`emt` (by default), another one of the table, or the name of an entry point; a table with
    `name` for settings of its own."""
    window: Sequence[float] | None
    """Least and most energy, eV an atom; the calculator's own by default."""
    max_force: float
    """Largest force on an atom of what is proposed, eV/Å; 10 by default."""


class AseSettings(BaseModel):
    """What settings must be, of each of these verifiers. A campaign's row may choose them."""

    calculator: Data
    window: Annotated[list[float], Field(min_length=2, max_length=2)]
    max_force: Annotated[float, Field(gt=0, le=_LARGEST)]


class AseVerifier(SingleVerifier):
    """Base class of verifiers that put a crystal to a calculator.

    A subclass overrides `computed`. Before anything is computed the crystal must keep the gate's
    bounds. Energies outside the window, and forces that nothing at rest has, are rejects: a force
    field is wrong there, and no crystal stands there.

    **What does not converge** is tried with the calculator's fallbacks, which the evidence names.
    If they fail too while a harmless crystal converges, the verifier abstains, having considered
    it; else its tool failed.

    **A second calculator** of the same family, where one is asked for, goes the whole way by
    itself with what the first accepted. How far both scores lie apart is part of the uncertainty.
    """

    tier = Tier.SIMULATION
    kind = "crystal"
    domain = "materials"
    capabilities = ("reasoning",)
    timeout = 300.0
    batch_size = 4
    most_atoms = 10_000
    """Of the cell that is computed: narrow ones are repeated."""
    data_settings: ClassVar[type[AseSettings]] = AseSettings

    def __init__(self, own: Mapping[str, Any], shared: AseOptions) -> None:
        """Choose the calculator.

        Args:
            own: Settings of the subclass, as its `data_settings` has them.
            shared: Those of all.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        self._method = method(shared.get("calculator", "emt"))
        window = shared.get("window")
        allowed = list(self._method.window if window is None else window)
        if len(allowed) != 2 or not -_LARGEST <= allowed[0] < allowed[1] <= _LARGEST:  # noqa: PLR2004
            raise ConfigError(f"window={allowed}: give the least and the most energy, eV an atom")
        if self._method.control:
            self.control = Candidate("crystal", self._method.control)
        others = {"window": allowed, "max_force": shared.get("max_force", 10.0), **own}
        super().__init__(calculator=self._method.model_dump(), **self._checked(others))
        self.tools = self._method.tools()
        self.timeout = max(self.timeout, self._method.patience * self.most_evaluations())
        self._second = self._asking(self._method.variant)
        if self._second is not None:
            self.timeout += self._second.timeout

    def _asking(self, other: Method | None) -> AseVerifier | None:
        """The same verifier with another calculator."""
        if other is None:
            return None
        kind: Any = type(self)
        made: AseVerifier = kind(**{**self.settings, "calculator": other.model_dump()})
        return made

    def _checked(self, others: Mapping[str, Any]) -> dict[str, Any]:
        """Settings but the calculator, which may be one that no row can choose.

        Raises:
            ConfigError: If one makes no sense.
        """
        try:
            found = self.data_settings.model_validate(
                {"calculator": {"name": "emt"}, **others}, strict=True
            )
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            name = ".".join(map(str, first["loc"]))
            raise ConfigError(f"{name}={first['input']!r:.80}: {first['msg']}") from None
        return found.model_dump(exclude={"calculator"})

    def setup(self) -> None:
        """Load the calculator, on one thread: the other cores belong to other workers."""
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self._method.calculator()
        if self._second is not None:
            self._second.setup()

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, of a GPU too where this host has one for it."""
        took = round(self.expected_seconds(candidate), 4)
        own = Cost(seconds=took, gpu_seconds=took if self._method.is_on_gpu else 0.0)
        return own if self._second is None else own + self._second.expected_cost(candidate)

    def expected_seconds(self, candidate: Candidate) -> float:
        """How long it computes, by the number of atoms."""
        atoms = rough_size(candidate.content)
        read = _READ + _READ_ATOM * atoms
        return read + self.evaluations() * self._method.seconds(atoms)

    def evaluations(self) -> float:
        """How many energies it asks for."""
        return 1.0

    def most_evaluations(self) -> float:
        """How many it asks for at most."""
        return self.evaluations()

    def computed(self, atoms: Any) -> Verdict:
        """Judge atoms that have a calculator.

        Raises:
            NotConvergedError: If the calculation comes to no end.
        """
        raise TypeError(f"{type(self).__name__} has no computed method for {len(atoms)} atoms")

    @property
    def counts_gpu(self) -> bool:
        """Where this host has the calculator on one."""
        return self._method.is_on_gpu

    def examine(self, candidate: Candidate) -> Verdict:
        """Check the bounds, and then compute."""
        verdict = self._examined(candidate)
        if self._second is not None and verdict.outcome is Outcome.ACCEPT:
            verdict = self._compared(verdict, self._second.judge([candidate])[0])
        return verdict

    def _compared(self, verdict: Verdict, other: Verdict) -> Verdict:
        """The verdict with what a second calculator says, if only that it gives no score."""
        if other.failed_at is not None:
            return other
        second: dict[str, Any] = {"calculator": other.evidence.get("calculator")}
        uncertainty = None
        if verdict.score is not None and other.score is not None:
            second["score"] = other.score
            apart = abs(verdict.score - other.score) / sqrt(2)  # The deviation of two numbers.
            uncertainty = round(hypot(apart, verdict.uncertainty or 0.0), 6)
        else:
            second["reason"] = other.reason
        evidence = {**verdict.evidence, "second": second}
        return replace(verdict, uncertainty=uncertainty, evidence=evidence)

    def _examined(self, candidate: Candidate) -> Verdict:
        crystal = crystal_of(candidate.content)
        flaw = _BOUNDS.flaw(crystal)
        if flaw is not None:
            return flaw.verdict
        refusal = self._method.refusal(crystal.symbols) or self._oversize(crystal)
        if refusal:
            return Verdict.abstain(refusal)
        kept = self._method.is_on_gpu and not self._method.runs_programs
        with on_gpu() if kept else nullcontext():
            return self._solved(crystal)

    def _solved(self, crystal: Crystal) -> Verdict:
        try:
            verdict, attempt = self.converged(crystal, self.computed)
        except NotConvergedError as error:
            harmless = None if self.control is None else crystal_of(self.control.content)
            if harmless is None or self._method.refusal(harmless.symbols):
                raise ToolError(
                    f"{error}; no crystal is known that {self._method.name} converges in"
                ) from error
            if self._converges(harmless):
                return Verdict.abstain(f"{error}; a harmless crystal converges")
            raise ToolError(f"{error}; neither does a harmless crystal") from error
        return _told(verdict, attempt)

    def converged(self, crystal: Crystal, compute: Callable[[Any], Result]) -> tuple[Result, str]:
        """What is computed of a crystal, and by which of the calculator's attempts.

        Args:
            crystal: What is computed of.
            compute: Takes atoms that have a calculator.

        Raises:
            NotConvergedError: If none of them converges: the first one's error.
        """
        from ase.calculators.calculator import CalculationFailed, PropertyNotImplementedError

        failures: list[NotConvergedError] = []
        for attempt in self._method.attempts:
            atoms = as_atoms(crystal).repeat(repeats(crystal.lattice, self.least_width))
            try:
                atoms.calc = self._method.calculator(attempt)
                return compute(atoms), attempt
            except NotConvergedError as error:
                failures.append(error)
            except CalculationFailed as error:  # Also of what an optimiser asks.
                told = f"the energy did not converge: {printable(error)}"
                failures.append(NotConvergedError(told))
            except PropertyNotImplementedError as error:
                raise ToolError(f"the calculator does not give what is asked: {error}") from error
            except RuntimeError as error:
                if not self._method.is_on_gpu:
                    raise
                # Its memory is shared with others. No candidate is blamed for what they take.
                raise ToolError(f"the GPU failed: {printable(error)}") from error
        raise failures[0]

    @property
    def least_width(self) -> float:
        """Å. Narrower cells are repeated."""
        return self._method.least_width

    def _oversize(self, crystal: Crystal) -> str:
        """Why so many atoms are not computed; "" if they are."""
        atoms = len(crystal.symbols) * prod(repeats(crystal.lattice, self.least_width))
        if atoms <= self.most_atoms:
            return ""
        return (
            f"{atoms} atoms would move in a cell of {self.least_width:g} Å; at most "
            f"{self.most_atoms} are computed"
        )

    def _converges(self, harmless: Crystal) -> bool:
        """Whether the calculation of a harmless crystal comes to an end."""
        try:
            self.converged(harmless, self.computed)
        except NotConvergedError:
            return False
        except CandidateError:  # It came to an end, and the setting refuses what it gave.
            return True
        return True

    def energy(self, atoms: Any) -> float:
        """Energy of an atom, eV.

        Raises:
            CandidateError: If it lies outside the window.
            NotConvergedError: If it is no finite number.
        """
        value = float(finite(atoms.get_potential_energy())) / len(atoms)
        least, most = self.settings["window"]
        if not least <= value <= most:
            raise CandidateError(
                f"{value:.4g} eV an atom lies outside {least:g} to {most:g}, where "
                f"{self._method.name} means something",
                feedback="Propose distances that are closer to those of known crystals.",
            )
        return value

    def forces(self, atoms: Any) -> float:
        """The largest force on an atom, eV/Å.

        Raises:
            CandidateError: If it is larger than allowed.
            NotConvergedError: If it is no finite number.
        """
        value = float(np.linalg.norm(finite(atoms.get_forces()), axis=1).max())
        if not value <= self.settings["max_force"]:
            raise CandidateError(
                f"a force of {value:.3g} eV/Å pulls at an atom; at most "
                f"{self.settings['max_force']:g} is allowed",
                feedback="Move the atoms towards places where they are at rest.",
            )
        return value

    def evidence(self, **found: Any) -> dict[str, Any]:
        """What stands beside a score."""
        if self._method.is_on_gpu:
            found["computed on"] = "a GPU"
        return {"calculator": self.settings["calculator"], **found}


def finite(answer: Any) -> Any:
    """What a calculator answers.

    Raises:
        NotConvergedError: If it is no finite number.
    """
    if not np.all(np.isfinite(answer)):
        raise NotConvergedError("the energy did not converge: it is no finite number")
    return answer


def within(atoms: Any, ratio: float) -> Pairs:
    """Pairs of atoms that are closer than so many times the sum of their covalent radii."""
    from ase.data import covalent_radii
    from ase.neighborlist import neighbor_list

    radii: Array = ratio * covalent_radii[atoms.numbers]
    first, second, cells = neighbor_list("ijS", atoms, list(radii))
    return frozenset(
        (int(i), int(j), *map(int, cell)) for i, j, cell in zip(first, second, cells, strict=True)
    )


def _told(verdict: Verdict, attempt: str) -> Verdict:
    """The verdict, and in its evidence the fallback that it is owed to."""
    if not attempt:
        return verdict
    return replace(verdict, evidence={**verdict.evidence, "fallbacks": [attempt]})


def repeats(lattice: Array, width: float) -> list[int]:
    """How often a cell is repeated along each vector until its faces are so far apart, Å.

    Example:
        >>> repeats(np.diag([3.0, 4.0, 9.0]), 8.0)
        [3, 2, 1]
    """
    heights = 1 / np.linalg.norm(np.linalg.inv(lattice), axis=0)
    return [max(1, ceil(width / height)) for height in heights]


def rough_lattice(content: str | bytes) -> Array:
    r"""Lattice vectors of a crystal from its text alone, for estimates of cost; wide ones else.

    Example:
        >>> rough_lattice("x\n1.0\n5 0 0\n0 5 0\n0 0 5\nNa Cl\n2 4\nDirect\n").diagonal().tolist()
        [5.0, 5.0, 5.0]
    """
    with np.errstate(all="ignore"), suppress(ValueError):
        scale, *rows = _head(content)[1 : _COUNTS - 1]
        lattice = float(scale) * np.array([[float(x) for x in row.split()[:3]] for row in rows])
        if np.abs(lattice).max() < _LARGEST and np.linalg.det(lattice) > _LEAST_VOLUME:
            return lattice
    return _WIDE * np.eye(3)


def rough_symbols(content: str | bytes) -> list[str]:
    r"""Elements of a crystal from its text alone, for estimates of cost.

    Example:
        >>> rough_symbols("x\n1.0\n5 0 0\n0 5 0\n0 0 5\nNa Cl\n2 4\nDirect\n")
        ['Na', 'Cl']
    """
    return " ".join(_head(content)[_COUNTS - 1 : _COUNTS]).split()


def rough_counts(content: str | bytes) -> dict[str, int]:
    r"""Elements of a crystal and how many atoms each has, from its text alone; {} without.

    Example:
        >>> rough_counts("x\n1.0\n5 0 0\n0 5 0\n0 0 5\nNa Cl\n2 4\nDirect\n")
        {'Na': 2, 'Cl': 4}
    """
    words = " ".join(_head(content)[_COUNTS : _COUNTS + 1]).split()
    counts = [int(word) for word in words if _COUNT.fullmatch(word)]
    return dict(zip(rough_symbols(content), counts, strict=False))


def rough_size(content: str | bytes) -> int:
    r"""Atoms of a crystal from its text alone, for estimates of cost; 8 where it tells nothing.

    Example:
        >>> rough_size("x\n1.0\n5 0 0\n0 5 0\n0 0 5\nNa Cl\n2 4\nDirect\n")
        6
    """
    return sum(rough_counts(content).values()) or 8


def _head(content: str | bytes) -> list[str]:
    """The first lines of a text."""
    head = content[:4000]
    return (head if isinstance(head, str) else head.decode("ascii", "replace")).split("\n")
