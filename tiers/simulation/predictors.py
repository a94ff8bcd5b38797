"""Predictors of structures: programs of the host, what they are asked, and what they leave.

Which program is run is the host's matter alone: a file that `VLADDER_PREDICTORS` names says it,
with a section for each. No row, ladder, task or candidate has a say in it.

    [boltz]
    command = ["/opt/boltz/bin/boltz", "predict", "--accelerator", "gpu"]
    version = "2.2.1"

A profile for each kind of predictor writes its input into an empty folder, says which arguments
follow the command, and reads what was left there: whatever the program says of itself, its success
is the files. Confidences come from the files that are made for them, never from B-factors, and
have one scale here: pLDDT from 0 to 100, all others as they are.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from math import isfinite, prod
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Any, ClassVar, Literal, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np
import orjson
from pydantic import ByteSize, Field

from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.settings import load_settings
from verifier_ladder.text import printable
from verifier_ladder.tiers.simulation.hostprogram import (
    HostProgram,
    read_programs,
    run,
    run_folder,
)
from verifier_ladder.tiers.simulation.proteinmodel import (
    LARGEST,
    Floats,
    Model,
    OutputError,
    read_model,
)

SYNTHETIC = "synthetic files, no predictor was run"
"""What is said of a program that the host declares to be none."""
JOB = "fold"
"""What every job is called; in small letters, which no predictor changes."""
_MOST_FILES, _DEEPEST = 5000, 6
_CHAINS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SLACK = 1e-3
"""By which rounding may lead a confidence beyond its bounds."""
_DIGITS = 4


class Program(HostProgram):
    """A predictor of this host, as its file has it."""

    sends: bool = False
    """Whether sequences leave this host: to a server of alignments, or to a program elsewhere."""
    synthetic: bool = False
    """Whether it predicts nothing, and writes files for trials."""
    source = "the file that VLADDER_PREDICTORS names"
    gpu_memory: ByteSize | Literal["whole"] = "whole"
    gpu_seconds: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Of a GPU that a prediction is expected to take."""

    @property
    def most_memory(self) -> int | None:
        """Of a GPU; what predicts nothing takes none."""
        return 0 if self.synthetic else super().most_memory

    @property
    def told(self) -> str:
        """Its version, for a person and a key."""
        return f"{self.version} ({SYNTHETIC})" if self.synthetic else self.version


class Request(NamedTuple):
    """What is asked of a predictor."""

    chains: tuple[str, ...]
    seed: int = 1
    sends: bool = False
    """Whether the program may send sequences elsewhere."""

    @property
    def entities(self) -> list[dict[str, Any]]:
        """Each sequence with the names of its chains."""
        named: dict[str, list[str]] = {}
        for name, chain in zip(_CHAINS, self.chains, strict=False):
            named.setdefault(chain, []).append(name)
        return [{"id": names, "sequence": sequence} for sequence, names in named.items()]


class Prediction(NamedTuple):
    """What a predictor says of a protein."""

    model: Model
    plddt: Floats
    """Of each residue, 0 to 100."""
    ptm: float | None = None
    iptm: float | None = None
    """None where there is one chain, or the program told none; 0.0 is a value."""
    pae: Floats | None = None
    """Å, of each pair of residues; None if the program told none."""
    facts: Mapping[str, Any] = {}

    @property
    def confidences(self) -> dict[str, float]:
        """What it says of itself, by the names that criteria have; what it didn't is left out."""
        found = {
            "plddt": float(self.plddt.mean()), "ptm": self.ptm, "iptm": self.iptm,
            "pae": None if self.pae is None else float(self.pae.mean()),
        }  # fmt: skip
        return {name: round(value, _DIGITS) for name, value in found.items() if value is not None}


# ---- The host


def programs() -> dict[str, Program]:
    """The predictors of this host, by the names of their profiles.

    Raises:
        ConfigError: If the file that `VLADDER_PREDICTORS` names makes no sense.
    """
    return read_programs("VLADDER_PREDICTORS", load_settings().predictors, Program, PROFILES)


def versions_of(names: Sequence[str]) -> dict[str, str]:
    """Versions of predictors on this host, for `Verifier.tools`."""
    with suppress(ConfigError):  # Who runs it is told.
        known = programs()
        return {name: known[name].told if name in known else "not installed" for name in names}
    return dict.fromkeys(names, "not known")


def program(name: str) -> Program:
    """A predictor of this host.

    Raises:
        ConfigError: If the host's file makes no sense.
        ToolError: If the host has none; it says how to install one.
    """
    found = programs().get(name)
    if found is None:
        raise ToolError(
            f"{name} is not installed: {PROFILES[name].install}; then name its command in a "
            f"section [{name}] of the file that VLADDER_PREDICTORS names"
        )
    return found


def predict(name: str, request: Request) -> Prediction:
    """Have a predictor of this host predict a structure, and read it.

    Raises:
        ConfigError: If the host's file makes no sense.
        ToolError: If there is none, it fails, or leaves what is broken, not whole or inconsistent.
    """
    profile, found = PROFILES[name], program(name)
    with run_folder() as folder:
        output = folder.place / "out"
        output.mkdir()
        ended = run(found, profile.asked(request, folder.work, output), folder)
        try:
            return profile.read(Output(output), request)
        except Exception as error:  # No file says anything of the protein by breaking a library.
            told = f"{error}"
            if not isinstance(error, ToolError):
                told = f"what it left can't be read: {type(error).__name__} {printable(told, 120)}"
            raise OutputError(f"{name} {found.told}: {told} ({ended.told})") from error


# ---- What it leaves


class Output:
    """What a program left in a folder: counted, links not followed, and read within bounds."""

    def __init__(self, folder: Path) -> None:
        """Look through it.

        Raises:
            OutputError: If it is none any more, or holds too many files, or folders that are too
                deep.
        """
        if folder.is_symlink() or not folder.is_dir():
            raise OutputError("its output folder is gone, or a link")
        self._folder = folder
        self.names = sorted(self._walked(folder, ""))

    def _walked(self, folder: Path, above: str) -> Iterator[str]:
        places, count = [(folder, above, 0)], 0
        while places:
            here, prefix, depth = places.pop()
            with os.scandir(here) as entries:
                for entry in entries:
                    count += 1
                    if count > _MOST_FILES or depth > _DEEPEST:
                        raise OutputError("it left too many files, or folders that are too deep")
                    if entry.is_dir(follow_symlinks=False):
                        places.append((Path(entry.path), f"{prefix}{entry.name}/", depth + 1))
                    else:
                        yield f"{prefix}{entry.name}"

    def one(self, pattern: str, what: str) -> re.Match[str]:
        """The only file whose path matches.

        Raises:
            OutputError: If there is none, or several.
        """
        found = self.some(pattern)
        if len(found) != 1:
            many = f"{len(found)} files" if found else "no file"
            packed = [name for name in self.names if name.endswith((".zst", ".gz", ".xz", ".zip"))]
            hint = f"; {printable(packed[0], 80)} is compressed" if packed and not found else ""
            raise OutputError(f"it left {many} of {what}{hint}")
        return found[0]

    def some(self, pattern: str) -> list[re.Match[str]]:
        """All files whose path matches."""
        matches = (re.fullmatch(pattern, name) for name in self.names)
        return [match for match in matches if match]

    def read(self, name: str) -> bytes:
        """What a file holds.

        Raises:
            OutputError: If it is no plain file, empty, too large, or can't be read.
        """
        shown = printable(name, 120)
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            with os.fdopen(os.open(self._folder / name, flags), "rb") as stream:
                status = os.fstat(stream.fileno())
                if not S_ISREG(status.st_mode):
                    raise OutputError(f"{shown} is no plain file")
                data = stream.read(LARGEST + 1)
        except OSError as error:
            raise OutputError(f"{shown} can't be read: {error.strerror}") from None
        if not data or len(data) > LARGEST:
            raise OutputError(f"{shown} is {'too large' if data else 'empty'}")
        return data

    def json(self, name: str) -> Any:
        """What a file of JSON holds.

        Raises:
            OutputError: If it holds none.
        """
        try:
            return orjson.loads(self.read(name))
        except orjson.JSONDecodeError as error:
            raise OutputError(f"{printable(name, 120)} is no JSON: {error}") from None

    def table(self, name: str) -> dict[str, Any]:
        """What a file of JSON holds, which is an object.

        Raises:
            OutputError: If it is none.
        """
        found = self.json(name)
        if not isinstance(found, dict):
            raise OutputError(f"{printable(name, 120)} is no object")
        return found

    def array(self, name: str, key: str, shapes: Sequence[tuple[int, ...]]) -> Floats:
        """An array in a file of numpy's, which must have one of these shapes.

        Nothing is unpickled.

        Raises:
            OutputError: If there is none, or it is another one.
        """
        shown, data = printable(name, 120), self.read(name)
        try:
            with ZipFile(BytesIO(data)) as packed, packed.open(f"{key}.npy") as stream:
                version = np.lib.format.read_magic(stream)
                if version != (1, 0):
                    raise OutputError(f"{shown} has a header of version {version}")
                found, is_fortran, kind = np.lib.format.read_array_header_1_0(stream)
                if found not in shapes or kind.kind != "f" or (is_fortran and len(found) > 1):
                    raise OutputError(
                        f"{key} in {shown} has the shape {found}; it must be {shapes[0]}"
                    )
                size = prod(found) * kind.itemsize
                values = np.frombuffer(stream.read(size), kind).reshape(found)
        except (BadZipFile, KeyError, ValueError, EOFError, OSError, zlib.error,
                NotImplementedError, RuntimeError) as error:  # fmt: skip
            raise OutputError(f"{shown} can't be read: {printable(error, 120)}") from None
        return _within(np.asarray(values, float), f"{key} in {shown}")


def _within(values: Floats, what: str, most: float = 1e4) -> Floats:
    """Numbers between 0 and a bound.

    Raises:
        OutputError: If one is not.
    """
    if not np.isfinite(values).all() or values.min() < -_SLACK or values.max() > most + _SLACK:
        raise OutputError(f"{what} has numbers beyond 0 to {most:g}")
    return values


def _numbers(given: Any, what: str, lengths: Sequence[int], most: float = 1e4) -> Floats:
    """A list of so many numbers, by one of some lengths.

    Raises:
        OutputError: If it is none.
    """
    if not isinstance(given, list) or len(given) not in lengths:
        size = f"{len(given)} values" if isinstance(given, list) else "no list"
        raise OutputError(f"{what} has {size}; there must be {lengths[0]}")
    if any(type(each) not in (int, float) for each in given):
        raise OutputError(f"{what} has values that are no numbers")
    try:
        return _within(np.array(given, float), what, most)
    except OverflowError:
        raise OutputError(f"{what} has numbers beyond 0 to {most:g}") from None


def _matrix(given: Any, what: str, sizes: Sequence[int]) -> Floats:
    """A table of so many rows and columns of numbers, by one of some sizes.

    Raises:
        OutputError: If it is none.
    """
    if not isinstance(given, list) or len(given) not in sizes:
        raise OutputError(f"{what} is no list of {sizes[0]} rows")
    return np.array([_numbers(row, what, [len(given)]) for row in given])


def _share(given: Any, what: str, least: float = 0.0, most: float = 1.0) -> float:
    """A number between two bounds.

    Raises:
        OutputError: If it is none.
    """
    is_number = type(given) in (int, float) and isfinite(given)
    if not is_number or not least - _SLACK <= given <= most + _SLACK:
        raise OutputError(
            f"{what} is {printable(given, 40)}, no number from {least:g} to {most:g}"
        )
    return float(given)


def _of_hundred(values: Floats, what: str) -> Floats:
    """Confidences on the scale from 0 to 100.

    Raises:
        OutputError: If they could as well be on another.
    """
    if values.max() <= 1.0:
        raise OutputError(f"{what} lies between 0 and 1, as if it were on another scale")
    return values


def _pair(values: Mapping[tuple[int, int], float]) -> dict[str, float]:
    """The least of the values between different chains, of both directions."""
    apart = [value for (one, other), value in values.items() if one != other]
    return {"least iptm of two chains": round(float(min(apart)), _DIGITS)} if apart else {}


# ---- Profiles


class Profile:
    """How one kind of predictor is asked, and where it leaves what."""

    name: ClassVar[str]
    install: ClassVar[str]
    """How it is installed, in words."""
    terms: ClassVar[str] = ""
    """Name of the terms that its outputs come under; "" for none."""

    def asked(self, request: Request, folder: Path, output: Path) -> list[str]:
        """Write the input, and give the arguments that follow the command.

        Raises:
            ToolError: If it can't be written.
        """
        raise TypeError(f"{self.name} asks nothing of {request} in {folder} and {output}")

    def read(self, output: Output, request: Request) -> Prediction:
        """Read the prediction that it is surest of.

        Raises:
            OutputError: If that is broken, not whole, or inconsistent.
        """
        raise TypeError(f"{self.name} reads nothing from {output} for {request}")


class AlphaFold3(Profile):
    """AlphaFold 3: `JOB/JOB_model.cif` and two files of confidences, the best sample's."""

    name = "alphafold3"
    install = (
        "get its code from github.com/google-deepmind/alphafold3 and its weights from Google "
        "DeepMind, under their terms"
    )
    terms = "alphafold3"

    def asked(self, request: Request, folder: Path, output: Path) -> list[str]:
        """A JSON of its own dialect."""
        path = folder / f"{JOB}.json"
        path.write_text(json.dumps({
            "name": JOB, "modelSeeds": [request.seed], "dialect": "alphafold3", "version": 1,
            "sequences": [{"protein": entity} for entity in request.entities],
        }))  # fmt: skip
        return [f"--json_path={path}", f"--output_dir={output}"]

    def read(self, output: Output, request: Request) -> Prediction:
        """The files at the top of the job's folder, which repeat those of the best sample."""
        top = rf"(?:{JOB}[^/]*/)?{JOB}"
        place = output.one(rf"{top}_model\.cif", "the best model")[0].removesuffix("_model.cif")
        model = read_model(output.read(f"{place}_model.cif"), "cif", request.chains)
        full = output.table(output.one(rf"{top}_confidences\.json", "confidences")[0])
        said = output.table(output.one(rf"{top}_summary_confidences\.json", "a summary")[0])
        is_mine = model.written >= 0
        sizes = int(is_mine.sum()), len(model.written)
        atoms = _of_hundred(
            _numbers(full.get("atom_plddts"), "atom_plddts", sizes, 100), "atom_plddts"
        )
        mine = model.written[is_mine]
        atoms = atoms if len(atoms) == len(mine) else atoms[is_mine]
        plddt = np.bincount(mine, atoms) / np.bincount(mine)
        if "token_res_ids" in full:
            _numbers(full["token_res_ids"], "token_res_ids", model.sizes)
        return Prediction(
            model, plddt[model.order], _share(said.get("ptm"), "ptm"), self._iptm(said, model),
            _paired(full["pae"], "pae", model) if full.get("pae") is not None else None,
            self._facts(said, len(model.paired)),
        )  # fmt: skip

    @staticmethod
    def _iptm(said: Mapping[str, Any], model: Model) -> float | None:
        """None of one chain, for which it is null."""
        return _share(said.get("iptm"), "iptm") if len(model.chains) > 1 else None

    @staticmethod
    def _facts(said: Mapping[str, Any], chains: int) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if "ranking_score" in said:
            facts["ranking score"] = _share(said["ranking_score"], "ranking_score", -100.0, 1.5)
        if "has_clash" in said:
            seen = said["has_clash"]  # A truth value, or 0.0 or 1.0.
            seen = int(seen) if isinstance(seen, bool) else seen
            facts["it sees clashes"] = bool(_share(seen, "has_clash"))
        if "fraction_disordered" in said:
            facts["disordered"] = _share(said["fraction_disordered"], "fraction_disordered")
        pairs = said.get("chain_pair_iptm")
        if chains > 1 and pairs is not None:
            if not isinstance(pairs, list) or len(pairs) != chains:
                raise OutputError(f"chain_pair_iptm has not {chains} rows")
            facts |= _pair({
                (one, other): value for one, row in enumerate(pairs)
                for other, value in enumerate(_numbers(row, "chain_pair_iptm", [chains], 1))
            })  # fmt: skip
        return facts


class Boltz(Profile):
    """Boltz 1 and 2: `predictions/JOB/JOB_model_0.cif`, confidences from 0 to 1 beside it."""

    name = "boltz"
    install = "pip install boltz in an environment of its own, with a GPU"

    def asked(self, request: Request, folder: Path, output: Path) -> list[str]:
        """YAML, of which JSON is a part. Alignments come from a server, or from nowhere."""
        alone = {} if request.sends else {"msa": "empty"}
        path = folder / f"{JOB}.yaml"
        path.write_text(json.dumps({
            "version": 1,
            "sequences": [{"protein": {**entity, **alone}} for entity in request.entities],
        }))  # fmt: skip
        sends = ["--use_msa_server"] if request.sends else []
        return [
            str(path), "--out_dir", str(output), "--seed", str(request.seed),
            "--output_format", "mmcif", "--write_full_pae", *sends,
        ]  # fmt: skip

    def read(self, output: Output, request: Request) -> Prediction:
        """The first model, which it is surest of."""
        top = rf"(?:boltz_results_{JOB}/)?predictions/{JOB}/"
        found = output.one(rf"({top}){JOB}_model_0\.(cif|pdb)", "the best model")
        place, form = found.groups()
        model = read_model(output.read(found[0]), form, request.chains)
        said = output.table(f"{place}confidence_{JOB}_model_0.json")
        plddt = output.array(
            f"{place}plddt_{JOB}_model_0.npz", "plddt", [(size,) for size in model.sizes]
        )
        if plddt.max() > 1 + _SLACK:
            raise OutputError("plddt exceeds 1, as if it were on another scale")
        mean = _share(said.get("complex_plddt"), "complex_plddt")
        if abs(mean - plddt.mean()) > 0.05:  # noqa: PLR2004 - a file of another run differs more
            raise OutputError(f"complex_plddt is {mean:g}, and the mean of plddt {plddt.mean():g}")
        tables = output.some(rf"{re.escape(place)}pae_{JOB}_model_0\.npz")
        shapes = [(size, size) for size in model.sizes]
        several = len(request.chains) > 1
        return Prediction(
            model, 100 * model.chosen(plddt), _share(said.get("ptm"), "ptm"),
            _share(said.get("iptm"), "iptm") if several else None,
            model.chosen(output.array(tables[0][0], "pae", shapes)) if tables else None,
            self._facts(said, len(model.paired)),
        )  # fmt: skip

    @staticmethod
    def _facts(said: Mapping[str, Any], chains: int) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "confidence score": _share(said.get("confidence_score"), "confidence_score")
        }
        pairs = said.get("pair_chains_iptm")
        if chains > 1 and pairs is not None:
            names = [str(n) for n in range(chains)]
            is_table = isinstance(pairs, dict) and sorted(pairs) == sorted(names)
            if not is_table or not all(isinstance(row, dict) for row in pairs.values()):
                raise OutputError(f"pair_chains_iptm is no table of {chains} chains")
            facts |= _pair({
                (int(one), int(other)): _share(pairs[one].get(other), "pair_chains_iptm")
                for one in names for other in names
            })  # fmt: skip
        return facts


class ColabFold(Profile):
    """ColabFold: `JOB_…_rank_001_….pdb` and `JOB_scores_rank_001_….json` in one folder."""

    name = "colabfold"
    install = "install localcolabfold, or pip install 'colabfold[alphafold]', with a GPU"

    def asked(self, request: Request, folder: Path, output: Path) -> list[str]:
        """FASTA, with a colon between chains. Alignments come from a server, or from nowhere."""
        path = folder / f"{JOB}.fasta"
        path.write_text(f">{JOB}\n{':'.join(request.chains)}\n")
        alone = [] if request.sends else ["--msa-mode", "single_sequence"]
        return [str(path), str(output), "--random-seed", str(request.seed), *alone]

    def read(self, output: Output, request: Request) -> Prediction:
        """The model of rank 1: relaxed if there is one."""
        models = output.some(rf"{JOB}_relaxed_rank_0*1_(.+)\.pdb")
        found = models[0] if models else output.one(
            rf"{JOB}_unrelaxed_rank_0*1_(.+)\.pdb", "the model of rank 1"
        )  # fmt: skip
        tag = re.escape(found[1])
        model = read_model(output.read(found[0]), "pdb", request.chains)
        # The second is how it was called until 2022.
        scores = rf"{JOB}_scores_rank_0*1_{tag}\.json|{JOB}_unrelaxed_rank_0*1_{tag}_scores\.json"
        said = output.table(output.one(scores, "scores of that model")[0])
        plddt = _numbers(said.get("plddt"), "plddt", model.sizes, 100)
        several = len(request.chains) > 1
        return Prediction(
            model, model.chosen(_of_hundred(plddt, "plddt")),
            _share(said["ptm"], "ptm") if said.get("ptm") is not None else None,
            _share(said["iptm"], "iptm") if several and said.get("iptm") is not None else None,
            self._pae(output, said, model),
        )  # fmt: skip

    @staticmethod
    def _pae(output: Output, said: Mapping[str, Any], model: Model) -> Floats | None:
        """From the scores, or a file of its own: a table, an object, or a list of one."""
        given = said.get("pae")
        if given is None:
            beside = output.some(rf"{JOB}_predicted_aligned_error_v1\.json")
            given = output.json(beside[0][0]) if beside else None
        if isinstance(given, list) and given and isinstance(given[0], dict):
            given = given[0]
        if isinstance(given, dict):
            given = given.get("predicted_aligned_error", given.get("pae"))
        return None if given is None else _paired(given, "pae", model)


def _paired(given: Any, what: str, model: Model) -> Floats:
    """A table of pairs of residues in the order in which chains were asked for."""
    return model.chosen(_matrix(given, what, model.sizes))


PROFILES: Mapping[str, Profile] = {
    each.name: each for each in (AlphaFold3(), Boltz(), ColabFold())
}
"""Profiles by name."""
