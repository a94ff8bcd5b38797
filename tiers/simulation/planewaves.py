"""DFT by programs of the host with plane waves and pseudopotentials, through files of ASE's.

Which program is run, and with which pseudopotentials, the host's configuration of ASE says
(`ASE_CONFIG_PATH`, or `~/.config/ase/config.ini`), in a section for each:

    [espresso]
    command = mpirun -n 4 pw.x
    pseudo_dir = /opt/sssp-efficiency
    version = 7.2, SSSP efficiency 1.3.0

Each energy is a run of its own, in a folder of its own that is removed with it. Input is written
and output is read by ASE; its success is the files.
"""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from configparser import Error
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, ValidationError

from verifier_ladder.errors import ToolError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.crystalfile import missing
from verifier_ladder.tiers.simulation.hostprogram import Ended, HostProgram, run, run_folder

SOURCE = "the configuration of ASE (ASE_CONFIG_PATH, or ~/.config/ase/config.ini)"
OUTPUT = "output"
"""The file that gets what a program says."""
_LARGEST_OUTPUT = 2**26
"""Bytes that are read of it."""
_RYDBERG = 13.605693
"""eV."""
MIXING: Mapping[str, float] = {"": 0.7, "slow mixing": 0.2}
"""How much of a new density goes into the next cycle, by attempt: all lead to the same field."""


class PlaneWaveProgram(HostProgram):
    """A program of this host, as its configuration of ASE has it."""

    source = SOURCE
    folders: list[Path] = Field(min_length=1)
    """Where pseudopotentials lie, one file for each element: its symbol, perhaps after its number,
    then `.`, `_` or `-`."""

    def pseudopotential(self, symbol: str) -> Path | None:
        """The file for an element; None if there is none.

        Raises:
            ToolError: If there are several, or the folder can't be read.
        """
        pattern = re.compile(rf"(\d+[._-]?)?{symbol}[._-]", re.IGNORECASE)
        try:
            names = [path for folder in self.folders for path in sorted(folder.iterdir())]
        except OSError as error:
            raise ToolError(
                f"pseudopotentials can't be read: {error.strerror}; correct {SOURCE}"
            ) from None
        found = [path for path in names if pattern.match(path.name)]
        if len(found) > 1:
            raise ToolError(
                f"{len(found)} files may be the pseudopotential of {symbol}, such as "
                f"{found[0].name} and {found[1].name}; leave one in the folder of {SOURCE}"
            )
        return found[0] if found else None


def program(name: str) -> PlaneWaveProgram:
    """A program of this host.

    Raises:
        ToolError: If the host has none, or its configuration makes no sense; it says what to do.
    """
    try:
        from ase.config import Config

        section = dict(Config.read().parser[name])
    except ImportError as error:
        raise missing("ASE", "materials", error) from error
    except KeyError:
        raise ToolError(
            f"{name} is not configured: name its command, its version and the folder of its "
            f"pseudopotentials in a section [{name}] of {SOURCE}"
        ) from None
    except (Error, OSError, ValueError) as error:
        raise ToolError(f"{SOURCE} can't be read: {printable(error, 200)}") from None
    return _program(name, section)


def _program(name: str, section: dict[str, str]) -> PlaneWaveProgram:
    given: dict[str, Any] = dict(section)
    try:
        given["folders"] = [
            line.strip() for line in given.pop(CODES[name].folder, "").splitlines() if line.strip()
        ]
        given["command"] = shlex.split(given.get("command", ""))
        return PlaneWaveProgram.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])).replace("folders", CODES[name].folder)
        raise ToolError(f"{SOURCE}: [{name}]: {place}: {first['msg']}") from None
    except ValueError as error:
        raise ToolError(f"{SOURCE}: [{name}]: command: {error}") from None


def version_of(name: str) -> str:
    """The version of a program on this host, for `Verifier.tools`."""
    try:
        return program(name).version
    except ToolError:  # Told where it is run.
        return "not configured"


def is_on_gpu(name: str) -> bool:
    """Whether a program of this host takes room on a GPU; False where it has none."""
    try:
        return program(name).most_memory != 0
    except ToolError:
        return False


def knows(name: str, symbol: str) -> bool:
    """Whether the host has a pseudopotential of an element; True where it has no program."""
    try:
        return program(name).pseudopotential(symbol) is not None
    except ToolError:
        return True


def calculator(name: str, version: str, settings: Mapping[str, Any], attempt: str = "") -> Any:
    """ASE's calculator that runs a program of the host for each energy.

    Args:
        name: Of the program.
        version: That verdicts are filed under.
        settings: What is computed.
        attempt: By which of its attempts.

    Raises:
        ToolError: If ASE is not installed, or the host has no such program, or another version.
    """
    found = program(name)
    if found.version != version:
        raise ToolError(
            f"{name} has the version {found.version} in {SOURCE}, and the campaign's is {version}"
        )
    from ase.calculators.calculator import Calculator, all_changes

    class Made(Calculator):
        implemented_properties = ["energy", "free_energy", "forces", "stress"]  # noqa: RUF012
        wanted = frozenset({"energy", "forces"})
        grid: Sequence[int] = ()

        def calculate(
            self, atoms: Any = None, properties: Any = (), changes: Any = all_changes
        ) -> None:
            _refuse_spin(atoms)
            super().calculate(atoms, properties, changes)  # type: ignore[no-untyped-call]
            # What was asked once is asked again: it comes with the next energy.
            self.wanted |= set(properties)
            # Energies of a cell that is strained compare at one grid alone.
            self.grid = self.grid or _grid(atoms, settings["density"])
            job = Job(atoms, settings, attempt, self.wanted, self.grid)
            self.results = _solved(found, CODES[name], job)

    return Made()  # type: ignore[no-untyped-call]


def _refuse_spin(atoms: Any) -> None:
    """Compute nothing where a spin or a charge is asked for: the programs are told of neither.

    Raises:
        ToolError: If one is.
    """
    asked = atoms.get_initial_magnetic_moments().any(), atoms.get_initial_charges().any()
    if any(asked):
        raise ToolError("atoms with a spin or a charge are not computed; leave it out")


class Job(NamedTuple):
    """What a program is asked."""

    atoms: Any
    settings: Mapping[str, Any]
    """Those of a calculator."""
    attempt: str
    wanted: Collection[str]
    """By ASE's names."""
    grid: Sequence[int]
    """How many k-points lie along each vector of reciprocal space, the origin among them."""
    pseudopotentials: Mapping[str, str] = {}
    """Names of files, by symbol, in the folder where the program works."""


def _grid(atoms: Any, density: float) -> list[int]:
    from ase.calculators.calculator import kptdensity2monkhorstpack

    return [int(count) for count in kptdensity2monkhorstpack(atoms, density, even=False)]


def _solved(found: PlaneWaveProgram, code: Code, job: Job) -> dict[str, Any]:
    """What a run says of atoms.

    Raises:
        CalculationFailed: If its field does not converge.
        ToolError: If it fails otherwise, or leaves what is broken, not whole, or not said to have
            converged.
    """
    from ase.calculators.calculator import CalculationFailed

    with run_folder() as place:
        folder = place.work
        names = {each: _linked(found, each, folder) for each in sorted(set(job.atoms.symbols))}
        arguments = code.asked(folder, job._replace(pseudopotentials=names))
        ended = run(found, arguments, place, OUTPUT)
        text = _text(folder / code.said, ended).lower()
        if code.unconverged in text:
            raise CalculationFailed(f"{code.name} took {job.settings['max_iterations']} cycles")
        if ended.code:
            raise ToolError(f"{code.name} {found.version} failed: {ended.told}")
        try:
            results, atoms = code.read(folder), len(job.atoms)
            told = {name: _numbers(results[name], name, atoms) for name in sorted(job.wanted)}
        # No output says anything of the crystal by breaking a parser.
        except Exception as error:  # noqa: BLE001
            why = f"{type(error).__name__} {printable(error, 120)}"
            raise ToolError(
                f"what {code.name} {found.version} left can't be read: {why} ({ended.told})"
            ) from None
        if code.converged not in text:
            raise ToolError(
                f"what {code.name} {found.version} left does not say {code.converged!r} "
                f"({ended.told})"
            )
        return told


def _linked(found: PlaneWaveProgram, symbol: str, folder: Path) -> str:
    """The name of the pseudopotential of an element, which is linked into a folder.

    Raises:
        ToolError: If there is none.
    """
    path = found.pseudopotential(symbol)
    if path is None:
        raise ToolError(f"this host has no pseudopotential of {symbol}; add one in {SOURCE}")
    (folder / path.name).symlink_to(path.absolute())
    return path.name


def _numbers(given: Any, name: str, atoms: int) -> Any:
    """A result of the shape that it must have.

    Raises:
        ValueError: If it has another one.
    """
    values = np.asarray(given, float)
    wanted = {"forces": (atoms, 3), "stress": (6,)}.get(name, ())
    if values.shape != wanted:
        raise ValueError(f"{name} has the shape {values.shape}")
    return values if wanted else float(values)


def _text(path: Path, ended: Ended) -> str:
    """What a program has said.

    Raises:
        ToolError: If it is too long, or not there.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_OUTPUT + 1)
    except OSError as error:
        raise ToolError(f"the output can't be read: {error.strerror} ({ended.told})") from None
    if len(data) > _LARGEST_OUTPUT:
        raise ToolError(f"the output is larger than {_LARGEST_OUTPUT // 2**20} MiB")
    return data.decode("utf-8", "replace")


# ---- Programs


class Code(ABC):
    """How one program is asked, and where it leaves what."""

    name: ClassVar[str]
    folder: ClassVar[str]
    """ASE's key of the folder of its pseudopotentials."""
    said: ClassVar[str]
    """The file with its results, and with what it says of its field."""
    converged: ClassVar[str]
    """What it says, in small letters, where its field converges."""
    unconverged: ClassVar[str]
    """What it says, in small letters, where it does not."""

    @abstractmethod
    def asked(self, folder: Path, job: Job) -> list[str]:
        """Write its input, and give the arguments that follow the command."""

    @abstractmethod
    def read(self, folder: Path) -> Mapping[str, Any]:
        """Read its results, by ASE's names and in its units."""


class Espresso(Code):
    """Quantum ESPRESSO's `pw.x`."""

    name, folder, said = "espresso", "pseudo_dir", OUTPUT
    converged, unconverged = "convergence has been achieved", "convergence not achieved"

    def asked(self, folder: Path, job: Job) -> list[str]:
        """One file, in rydberg."""
        from ase.io import write

        told = job.settings
        cutoff, smearing, tolerance = (
            told[name] / _RYDBERG for name in ("cutoff", "smearing", "tolerance")
        )
        occupied = {"occupations": "smearing", "smearing": "gauss", "degauss": smearing}
        functionals = {"lda": "sla+pw+nogx+nogc", "pbe": "pbe", "pbesol": "pbesol"}
        namelists = {
            "control": {
                "calculation": "scf", "outdir": "./", "pseudo_dir": "./", "disk_io": "none",
                "tprnfor": True, "tstress": "stress" in job.wanted,
            },
            "system": {
                "ecutwfc": cutoff, "ecutrho": told["grid"] * cutoff,
                "input_dft": functionals[told["functional"]],
                **(occupied if smearing else {"occupations": "fixed"}),
            },
            "electrons": {
                "conv_thr": tolerance, "electron_maxstep": told["max_iterations"],
                "mixing_beta": MIXING[job.attempt],
            },
        }  # fmt: skip
        write(
            folder / "espresso.pwi", job.atoms, format="espresso-in", input_data=namelists,
            kpts=job.grid, pseudopotentials=dict(job.pseudopotentials),
        )  # fmt: skip
        return ["-in", "espresso.pwi"]

    def read(self, folder: Path) -> Mapping[str, Any]:
        """What it has said."""
        from ase.io import read

        atoms: Any = read(folder / self.said, format="espresso-out")
        found: Mapping[str, Any] = atoms.calc.results
        return found


class Abinit(Code):
    """ABINIT."""

    name, folder, said = "abinit", "pp_paths", "abinit.abo"
    converged, unconverged = "etot is converged", "was not enough scf cycles to converge"

    def asked(self, folder: Path, job: Job) -> list[str]:
        """One file, which names the pseudopotentials in the order of its elements."""
        from ase.data import atomic_numbers
        from ase.io.abinit import write_abinit_in

        told, smearing = job.settings, job.settings["smearing"]
        numbers = {atomic_numbers[each]: name for each, name in job.pseudopotentials.items()}
        parameters = {
            "ixc": {"lda": 7, "pbe": 11, "pbesol": -116133}[told["functional"]],
            "ecut": told["cutoff"], "pawecutdg": told["cutoff"] * told["grid"] / 4,
            "smearing": ("gaussian", smearing) if smearing else None,
            "kptopt": 1, "ngkpt": list(job.grid), "nshiftk": 1, "shiftk": [0.0, 0.0, 0.0],
            "chksymbreak": 0, "chksymtnons": 0,
            "toldfe": told["tolerance"], "nstep": told["max_iterations"],
            "diemix": MIXING[job.attempt],
            "optstress": int("stress" in job.wanted), "prtwf": 0, "prtden": 0,
        }  # fmt: skip
        with (folder / "abinit.in").open("w") as file:
            write_abinit_in(
                file, job.atoms, param=parameters, species=sorted(numbers),
                pseudos=[numbers[each] for each in sorted(numbers)],
            )  # fmt: skip
        return ["abinit.in"]

    def read(self, folder: Path) -> Mapping[str, Any]:
        """Its main output, which it writes beside what it says."""
        from ase.io.abinit import read_abinit_out

        with (folder / self.said).open() as file:
            found: Mapping[str, Any] = read_abinit_out(file)
        return found


CODES: Mapping[str, Code] = {each.name: each for each in (Espresso(), Abinit())}
"""Programs by name."""
