"""Calculators: a closed table of what computes energies and forces, with typed settings.

ASE is the common language: whatever is in the table becomes one of its calculators. A name that is
not in the table is looked for among the entry points of installed packages, so that code is chosen
by who installs it, and never by a row, a ladder or a candidate. No setting is a command, a path or
a checkpoint.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from math import ceil, pi
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from verifier_ladder.errors import ConfigError, PluginError, ToolError
from verifier_ladder.settings import load_settings
from verifier_ladder.tiers.fast.crystal import crystal_of
from verifier_ladder.tiers.fast.crystalfile import elements, missing
from verifier_ladder.tiers.fast.crystalgate import as_atoms
from verifier_ladder.tiers.simulation import planewaves
from verifier_ladder.tiers.simulation.hostprogram import LONGEST
from verifier_ladder.tiers.simulation.xtb import ATTEMPTS
from verifier_ladder.tiers.versions import versions

GROUP = "verifier_ladder.calculators"
"""Entry points of calculators of one's own: classes of ASE that are made without arguments."""

_METALS = ("Al", "Ni", "Cu", "Pd", "Ag", "Pt", "Au")
_RADON = 86
_GUESSES = ("sad", "eeq")
"""Starting charges by number, as tblite's calculator for ASE calls them."""
_PLUTONIUM = 94
_UNTAUGHT = ("Po", "At", "Rn", "Fr", "Ra")
"""Lighter elements of which the networks of SevenNet have seen no crystal."""
Network = Literal["7net-0", "7net-0_22may2024", "7net-l3i5"]
_WEIGHTS: Mapping[str, str] = {
    "7net-0": "SevenNet_0__11Jul2024/checkpoint_sevennet_0.pth",
    "7net-0_22may2024": "SevenNet_0__22May2024/checkpoint_sevennet_0.pth",
    "7net-l3i5": "SevenNet_l3i5/checkpoint_l3i5.pth",
}
"""Where a network lies in SevenNet's package. Asked by name, the package looks for a file of that
name where the process stands first, and unpickles it; or downloads what it does not have."""
_SLOW = 2.2
"""Times as long as the others `7net-l3i5` takes."""


class NotConvergedError(Exception):
    """A calculation came to no end with these atoms."""


class Method(BaseModel):
    """A calculator and its settings; a subclass for each of the table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    packages: ClassVar[Sequence[str]] = ("ase",)
    """What its results depend on."""
    window: ClassVar[tuple[float, float]] = (-1e4, 1e3)
    """eV an atom, within which its energies make sense."""
    control: ClassVar[str] = ""
    """A crystal in which it converges, as POSCAR; "" if none is known."""
    patience: ClassVar[float] = 0.0
    """Seconds for which a verifier waits for one energy, at least."""
    attempts: ClassVar[Collection[str]] = ("",)
    """As it is set, and what is tried where that does not converge: by other paths to the same."""
    runs_programs: ClassVar[bool] = False
    """Whether it runs programs of the host, whose time on a GPU is counted where they are run."""

    def calculator(self, attempt: str = "") -> Any:
        """Make ASE's calculator, for one of its attempts.

        Raises:
            ToolError: If it is not installed.
        """
        raise TypeError(f"{type(self).__name__} makes no calculator for {attempt!r}")

    def seconds(self, atoms: int) -> float:
        """What one energy with its forces takes."""
        return 0.01 + 1e-3 * atoms

    def step_seconds(self, atoms: int) -> float:
        """What one more takes, of atoms that have moved a little since."""
        return self.seconds(atoms)

    @property
    def variant(self) -> Method | None:
        """Another of its family, whose answers are compared with its own; None without."""
        return None

    @property
    def is_on_gpu(self) -> bool:
        """Whether this host has it compute on a GPU."""
        return False

    def tools(self) -> dict[str, str]:
        """Versions of its packages."""
        return versions(*self.packages)

    def knows(self, symbol: str) -> bool:
        """Whether it has parameters for an element."""
        del symbol
        return True

    def refusal(self, symbols: Collection[str]) -> str:
        """Why it says nothing of these elements; "" if it does."""
        lacking = [symbol for symbol in dict.fromkeys(symbols) if not self.knows(symbol)]
        return f"{self.name} has no parameters for {', '.join(lacking)}" if lacking else ""

    @property
    def least_width(self) -> float:
        """Å. Narrower cells are repeated, where one point of reciprocal space is sampled."""
        return 0.0


class Emt(Method):
    """Effective medium theory of seven metals and their alloys: fast, and for trials."""

    name: Literal["emt"] = "emt"
    window: ClassVar[tuple[float, float]] = (-1.0, 4.0)
    # At rest, so that it converges in any number of steps.
    control: ClassVar[str] = (
        "copper\n1.0\n0.0 1.794913 1.794913\n1.794913 0.0 1.794913\n1.794913 1.794913 0.0\n"
        "Cu\n1\nDirect\n0.0 0.0 0.0\n"
    )

    def knows(self, symbol: str) -> bool:
        """Whether it is a metal that the theory was made for."""
        return symbol in _METALS

    def calculator(self, attempt: str = "") -> Any:
        """Make ASE's own."""
        del attempt
        try:
            from ase.calculators.emt import EMT
        except ImportError as error:
            raise missing("ASE", "materials", error) from error
        return EMT()

    def seconds(self, atoms: int) -> float:
        """A little for each atom, whose neighbours are visited in Python."""
        return 1e-3 + 4e-4 * atoms

    def step_seconds(self, atoms: int) -> float:
        """Lists of neighbours are kept. Measured in cells of 32 and 108 atoms."""
        return 3e-4 + 9e-5 * atoms


class Tblite(Method):
    """GFN-xTB with the library tblite. It samples one point, so narrow cells are repeated."""

    name: Literal["tblite"] = "tblite"
    method: Literal["GFN1-xTB", "GFN2-xTB"] = "GFN1-xTB"
    accuracy: Annotated[float, Field(ge=1e-4, le=100)] = 1.0
    electronic_temperature: Annotated[float, Field(ge=1, le=10_000)] = 300.0
    max_iterations: Annotated[int, Field(ge=1, le=10_000)] = 250
    width: Annotated[float, Field(ge=3, le=50)] = 8.0
    """Å. Narrower cells are repeated: a wider one is a finer sample of reciprocal space."""
    packages: ClassVar[Sequence[str]] = ("ase", "tblite")
    attempts: ClassVar[Collection[str]] = tuple(ATTEMPTS)
    window: ClassVar[tuple[float, float]] = (-500.0, 0.0)
    control: ClassVar[str] = (
        "lithium hydride\n1.0\n4.08 0.0 0.0\n0.0 4.08 0.0\n0.0 0.0 4.08\nLi H\n4 4\nDirect\n"
        "0.0 0.0 0.0\n0.0 0.5 0.5\n0.5 0.0 0.5\n0.5 0.5 0.0\n"
        "0.5 0.5 0.5\n0.5 0.0 0.0\n0.0 0.5 0.0\n0.0 0.0 0.5\n"
    )

    @property
    def least_width(self) -> float:
        """As it is set."""
        return self.width

    def knows(self, symbol: str) -> bool:
        """Whether it is radon, or lighter."""
        return elements()[symbol] <= _RADON

    def calculator(self, attempt: str = "") -> Any:
        """Make tblite's."""
        try:
            from tblite.ase import TBLite
        except ImportError as error:
            raise missing("tblite", "xtb", error) from error
        settings: dict[str, Any] = {
            key.replace("-", "_"): value for key, value in ATTEMPTS[attempt].items()
        }
        if "guess" in settings:
            settings["guess"] = _GUESSES[int(settings["guess"])]
        return TBLite(
            method=self.method, accuracy=self.accuracy, max_iterations=self.max_iterations,
            electronic_temperature=self.electronic_temperature, verbosity=0, **settings,
        )  # fmt: skip

    def seconds(self, atoms: int) -> float:
        """The third power, for matrices are diagonalised."""
        return 0.02 + 2e-5 * atoms**2 + 1e-6 * atoms**3


class SevenNet(Method):
    """SevenNet: neural networks that were taught energies of inorganic crystals by PBE.

    All of them learned from the same (MPtrj), so that their energies are counted from one zero.
    They compute in single precision. Where, on the processor or on a GPU, is the host's matter
    (`VLADDER_DEVICE`) and no part of a check's key.
    """

    name: Literal["sevennet"] = "sevennet"
    model: Network = "7net-0"
    second: Network | None = None
    """Another that is asked too: how far both lie apart is the uncertainty."""
    # Not torch: its builds for CPU and CUDA have other versions, and answer for each other.
    packages: ClassVar[Sequence[str]] = ("ase", "sevenn")
    window: ClassVar[tuple[float, float]] = (-20.0, 5.0)
    control: ClassVar[str] = (
        "silicon\n1.0\n0.0 2.73159 2.73159\n2.73159 0.0 2.73159\n2.73159 2.73159 0.0\n"
        "Si\n2\nDirect\n0.0 0.0 0.0\n0.25 0.25 0.25\n"
    )

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.second == self.model:
            raise ValueError(f"second is {self.model} too: give another, or none")
        return self

    @property
    def variant(self) -> SevenNet | None:
        """The second network, alone."""
        return None if self.second is None else SevenNet(model=self.second)

    @property
    def is_on_gpu(self) -> bool:
        """As the host's settings say."""
        return load_settings().device == "cuda"

    def knows(self, symbol: str) -> bool:
        """Whether the networks have seen crystals of it."""
        return elements()[symbol] <= _PLUTONIUM and symbol not in _UNTAUGHT

    def calculator(self, attempt: str = "") -> Any:
        """SevenNet's own, loaded once in a process, without what it computed last."""
        del attempt
        found = _sevennet(self.model, load_settings().device)
        found.reset()
        return found

    def seconds(self, atoms: int) -> float:
        """On a GPU much the same for all that the gate lets through."""
        took = 0.06 + 1e-4 * atoms if self.is_on_gpu else 0.02 + 9e-3 * atoms
        return took * (_SLOW if self.model == "7net-l3i5" else 1.0)


@cache
def _sevennet(model: Network, device: str) -> Any:
    """Load a network, and have it compute twice: what is compiled then, no candidate pays for.

    Raises:
        ToolError: If SevenNet is not installed, or there is no such device.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of what it might be compiled with, and PyTorch's own.
        try:
            import sevenn
            import torch
            from sevenn.calculator import SevenNetCalculator
        except ImportError as error:
            raise missing("SevenNet", "sevennet", error) from error
        if device == "cuda" and not torch.cuda.is_available():
            raise ToolError(
                "VLADDER_DEVICE is cuda, and PyTorch finds no GPU here: install a build of "
                "PyTorch for CUDA, or unset VLADDER_DEVICE"
            )
        place = Path(sevenn.__file__).parent / "pretrained_potentials" / _WEIGHTS[model]
        if not place.is_file():
            raise ToolError(f"the installed SevenNet has no {model}; pip install 'sevenn>=0.13'")
        found = SevenNetCalculator(str(place), device=device)
        silicon = as_atoms(crystal_of(SevenNet.control))
        for _ in range(2):
            found.calculate(silicon)
    return found


class PlaneWaves(Method):
    """Density functional theory by a program that the host has configured; no spin, no charge."""

    functional: Literal["lda", "pbe", "pbesol"] = "pbe"
    """The same one for each program; pseudopotentials should be made for it."""
    cutoff: Annotated[float, Field(ge=50, le=3000)] = 600.0
    """Of the wave functions, eV."""
    grid: Annotated[float, Field(ge=4, le=16)] = 8.0
    """Of the density, times that of the wave functions; 4 is enough for what conserves norms."""
    density: Annotated[float, Field(ge=0.1, le=20)] = 3.5
    """k-points along each vector of reciprocal space, for each 1/Å of it."""
    smearing: Annotated[float, Field(ge=0, le=2)] = 0.1
    """Width of Gaussians that occupy states, eV; 0 for insulators alone."""
    tolerance: Annotated[float, Field(ge=1e-10, le=1e-2)] = 1e-6
    """eV, to which the energy of a cell converges."""
    max_iterations: Annotated[int, Field(ge=1, le=1000)] = 100
    max_atoms: Annotated[int, Field(ge=1, le=1000)] = 30
    """Of larger cells it says nothing."""
    attempts: ClassVar[Collection[str]] = tuple(planewaves.MIXING)
    window: ClassVar[tuple[float, float]] = (-1e5, 0.0)
    control: ClassVar[str] = (
        "silicon\n1.0\n0.0 2.715 2.715\n2.715 0.0 2.715\n2.715 2.715 0.0\n"
        "Si\n2\nDirect\n0.0 0.0 0.0\n0.25 0.25 0.25\n"
    )
    patience: ClassVar[float] = 2 * LONGEST
    runs_programs: ClassVar[bool] = True
    _version: str = PrivateAttr("")

    def model_post_init(self, context: Any, /) -> None:
        """Note the host's version, which verdicts are filed under."""
        del context
        self._version = planewaves.version_of(self.name)

    @property
    def is_on_gpu(self) -> bool:
        """As the host's configuration says."""
        return planewaves.is_on_gpu(self.name)

    def calculator(self, attempt: str = "") -> Any:
        """Make one that runs the program for each energy."""
        return planewaves.calculator(self.name, self._version, self.model_dump(), attempt)

    def tools(self) -> dict[str, str]:
        """ASE's version, and what the host says of its program."""
        return {**super().tools(), self.name: self._version}

    def knows(self, symbol: str) -> bool:
        """Whether the host has a pseudopotential of it."""
        return planewaves.knows(self.name, symbol)

    def refusal(self, symbols: Collection[str]) -> str:
        """Too many atoms, unpaired electrons, or elements without a pseudopotential."""
        if len(symbols) > self.max_atoms:
            return f"{len(symbols)} atoms are too many for {self.name}; at most {self.max_atoms}"
        if not self.smearing and sum(elements()[symbol] for symbol in symbols) % 2:
            return f"{self.name} pairs all electrons without smearing, and their number is odd"
        return super().refusal(symbols)

    def seconds(self, atoms: int) -> float:
        """By waves and half of the k-points of a cube of 20 Å³ an atom, on one core.

        Silicon takes a third of it, in cells of two and eight atoms; transition metals, which have
        more electrons, are not measured.
        """
        volume = 20.0 * atoms
        points = ceil(2 * pi * self.density / volume ** (1 / 3)) ** 3 / 2
        waves = volume * self.cutoff**1.5 / 440
        return float(0.5 + 2e-5 * points * waves * atoms**2)


class Espresso(PlaneWaves):
    """Quantum ESPRESSO."""

    name: Literal["espresso"] = "espresso"


class Abinit(PlaneWaves):
    """ABINIT."""

    name: Literal["abinit"] = "abinit"


TABLE: Mapping[str, type[Method]] = {
    "emt": Emt, "tblite": Tblite, "sevennet": SevenNet, "espresso": Espresso, "abinit": Abinit,
}  # fmt: skip
"""The calculators that come along, by name."""
Data = Annotated[Emt | Tblite | SevenNet | Espresso | Abinit, Field(discriminator="name")]
"""Those that a campaign's row may choose: all of the table, for their settings are data."""


class Own(Method):
    """A calculator of an installed package, by the name of its entry point."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9._-]{0,60}$")]

    def calculator(self, attempt: str = "") -> Any:
        """Make it."""
        del attempt
        point = _points()[self.name]
        try:
            return point.load()()
        except Exception as error:
            raise ToolError(f"the calculator {self.name} can't be made: {error}") from error

    def tools(self) -> dict[str, str]:
        """ASE's version, and that of the package that offers it."""
        package = _points()[self.name].dist
        if package is None:
            raise PluginError(f"the calculator {self.name} belongs to no package")
        return {**versions(*self.packages), package.name: package.version}


def method(given: str | Mapping[str, Any]) -> Method:
    """A calculator of the table, or of an installed package, with its settings.

    Args:
        given: Its name, or its name and settings.

    Raises:
        ConfigError: If there is none of this name, or it has no such settings.

    Example:
        >>> method({"name": "tblite", "method": "GFN2-xTB"}).model_dump()["max_iterations"]
        250
    """
    settings = {"name": given} if isinstance(given, str) else dict(given)
    name = settings.get("name", "")
    if not isinstance(name, str) or not name:
        raise ConfigError(
            f"there is no calculator {given!r:.80}: give a name, or a table with one"
        )
    kind = TABLE.get(name) or (Own if name in _points() else None)
    if kind is None:
        known = ", ".join([*TABLE, *_points()])
        raise ConfigError(
            f"there is no calculator {name!r:.80}; there is {known}; an installed package offers "
            f"its own by an entry point of the group {GROUP}"
        )
    try:
        return kind.model_validate(settings, strict=True)
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in error.errors(include_input=False)[:3]
        )
        raise ConfigError(f"calculator {name}: {told}") from None


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
