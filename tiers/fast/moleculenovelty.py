"""The verifier `molecule-novelty`: how a molecule stands to those that are known, or wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.arguments import checked, checked_value
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.keys import digest
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.criteria import FIELD, SHARE, Criteria, Quantity
from verifier_ladder.tiers.fast.molecule import (
    MoleculeCanonicaliser,
    as_text,
    parse_single,
    rdkit,
)
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

QUANTITIES: Mapping[str, Quantity] = {
    "known": Quantity(
        "its count in the reference set", "propose one of the set",
        "propose a molecule that is not in the set",
    ),
    "nearest": Quantity(
        "the similarity to the nearest of the reference set", "come nearer to the set",
        "change the scaffold and more of its groups",
    ),
    "similarity": Quantity(
        "the similarity to the target", "keep more of the target", "change more of the target",
    ),
}  # fmt: skip
"""What criteria can be about; similarities are Tanimoto's, from 0 to 1."""
Identity = Literal["canonical", "tautomer"]
_OF_SET = ("known", "nearest")
_LARGEST, _MOST, _MOST_LISTED = 64 << 20, 200_000, 10_000
"""Bytes and molecules of a file; molecules of a list."""
_SMALLEST, _WIDEST, _FARTHEST = 64, 1 << 16, 6
"""Bits of a fingerprint, and bonds around an atom."""
_FIRST = re.compile(r'"?([^\s,;"]+)')


class _Task(BaseModel):
    model_config = ConfigDict(strict=True)
    target: Annotated[str, Field(min_length=1)] | None = None


class _Reference(NamedTuple):
    """The set, as it is compared with."""

    identities: set[str]
    fingerprints: list[Any]


class MoleculeNovelty(SingleVerifier):
    """Accepts a molecule by whether it is known, and by how similar it is to others.

    Criteria are windows (`molecule-properties` says how they are written) on

    - `known`: 1 if the reference set has it, else 0; with a set and no criteria, new is what is
      not known,
    - `nearest`: the similarity to the nearest molecule of the set,
    - `similarity`: that to the `target` of the task, a SMILES.

    Similarity is Tanimoto's of Morgan fingerprints, which know no stereochemistry. It is 1 for
    some different molecules: long alkanes all are one to it.

    **What is the same.** `identity="canonical"` compares canonical SMILES: stereo-isomers,
    tautomers, charge states and isotopes are different molecules, and so a cheap way to be new.
    With `"tautomer"` they are all one, up to what RDKit's hash of tautomers knows. Of a row of
    several molecules, such as a salt, each one is known too.

    Example:
        >>> verifier = MoleculeNovelty(reference=["CCO"], criteria={"nearest": {"most": 0.5}})
        >>> verdicts = verifier.judge([Candidate("molecule", s) for s in ("OCC", "c1ccccc1")])
        >>> [verdict.outcome.value for verdict in verdicts]
        ['reject', 'accept']
    """

    name = "molecule-novelty"
    version = "1"
    tier = Tier.FAST
    kind = "molecule"
    domain = "chemistry"
    capabilities = ("reasoning",)
    cost = Cost(seconds=3e-4)
    timeout = 60.0
    task_fields = ("criteria", "target")
    control = Candidate(
        "molecule", "CCO", task={"target": "CCO", "criteria": {"similarity": {"least": 0}}}
    )

    @checked()
    def __init__(
        self,
        *,
        reference: str | Path | Sequence[str] | None = None,
        criteria: Mapping[str, Mapping[str, Any]] | None = None,
        score: str = SHARE,
        field: str = FIELD,
        identity: str = "canonical",
        radius: int = 2,
        bits: int = 2048,
    ) -> None:
        """Read the reference set.

        Args:
            reference: Path of a file with one molecule a line, whose first word is its SMILES
                (`.smi`, or CSV with that column first; a heading `smiles` is skipped), or a list
                of SMILES. The file is read now, and what it holds is part of every check's key.
            criteria: Windows by name; a task may name more.
            score: A name whose value is the score of what is accepted, or `criteria`.
            field: The task's field with criteria for this verifier.
            identity: `canonical` or `tautomer`.
            radius: Bonds around an atom that a fingerprint looks at.
            bits: Length of a fingerprint.

        Raises:
            ConfigError: If the file can't be read or is too large, a setting makes no sense, or a
                criterion needs a set and there is none.
        """
        if identity not in get_args(Identity):
            raise ConfigError(f"identity={printable(identity)!r}: write canonical or tautomer")
        _check("radius", radius, 0, _FARTHEST)
        _check("bits", bits, _SMALLEST, _WIDEST)
        self._rows = _rows(reference)
        own = criteria or ({"known": {"most": 0}} if self._rows else {})
        self._criteria = Criteria(QUANTITIES, own, score, field)
        self.task_fields = (field, "target")
        if lacking := self._lacking(self._criteria.wanted(self._criteria.windows)):
            raise ConfigError(f"{lacking}: name a file or a list of SMILES as reference")
        given = str(reference) if isinstance(reference, Path) else reference
        super().__init__(
            reference=given if given is None or isinstance(given, str) else list(given),
            identity=identity, radius=radius, bits=bits, **self._criteria.settings,
        )  # fmt: skip
        self.features = self._criteria.features
        held = digest([smiles for _, smiles in self._rows]).hex()[:16]
        self.tools = {"reference": held, **versions("rdkit")}

    def __getstate__(self) -> dict[str, Any]:
        """Travel with the molecules' text; each worker makes its own set of them."""
        return {k: v for k, v in super().__getstate__().items() if k != "_reference"}

    @cached_property
    def _reference(self) -> _Reference:
        """The set, in the form that it is compared in.

        Raises:
            ConfigError: If a row is no molecule.
        """
        given = self.settings["reference"]
        where = f"reference {printable(given)}" if isinstance(given, str) else "reference"
        identities, fingerprints = set(), []
        for number, smiles in self._rows:
            for part in _parts(f"{where}, line {number}", smiles):
                identities.add(self._identity(part))
                fingerprints.append(self._fingerprint(part))
        return _Reference(identities, fingerprints)

    def setup(self) -> None:
        """Make the set."""
        _ = self._reference

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the size of the set."""
        del candidate
        return Cost(seconds=self.cost.seconds + 2e-7 * len(self._rows))

    def examine(self, candidate: Candidate) -> Verdict:
        """Look it up, and compare."""
        windows = self._criteria.of(candidate.task)
        wanted = self._criteria.wanted(windows)
        if lacking := self._lacking(wanted):
            raise TaskError(lacking)
        target = self._target(candidate.task) if "similarity" in wanted else None
        molecule = parse_single(as_text(candidate.content))
        values = {name: self._value(name, molecule, target) for name in wanted}
        return self._criteria.verdict(windows, values)

    def _lacking(self, names: Iterable[str]) -> str:
        """What is wrong with criteria where there is no set; "" if nothing."""
        needing = [name for name in names if name in _OF_SET and not self._rows]
        return f"the criterion {needing[0]} needs a reference set" if needing else ""

    def _target(self, task: Mapping[str, Any] | None) -> Any:
        """The fingerprint of the task's target."""
        target = read_task(_Task, task).target
        if target is None:
            raise TaskError("the task has no target to be similar to")
        try:
            return _fingerprint_of(target, self.settings["radius"], self.settings["bits"])
        except CandidateError as error:
            raise TaskError(f"the task's target makes no sense: {error}") from None

    def _value(self, name: str, molecule: Any, target: Any) -> float:
        if name == "known":
            return float(self._identity(molecule) in self._reference.identities)
        from rdkit import DataStructs

        own = self._fingerprint(molecule)
        if name == "similarity":
            return round(float(DataStructs.TanimotoSimilarity(own, target)), 4)
        others = self._reference.fingerprints
        return round(float(max(DataStructs.BulkTanimotoSimilarity(own, others))), 4)

    def _identity(self, molecule: Any) -> str:
        if self.settings["identity"] == "tautomer":
            return _skeleton(molecule)
        form: str = rdkit().MolToSmiles(molecule)
        return form

    def _fingerprint(self, molecule: Any) -> Any:
        made = _generator(self.settings["radius"], self.settings["bits"])
        return made.GetFingerprint(molecule)


def _check(name: str, value: Any, least: int, most: int) -> None:
    checked_value(MoleculeNovelty.name, name, value, "int")
    if not least <= value <= most:
        raise ConfigError(f"{name}={value!r}: give {least} to {most}")


# ---- The reference set


def _rows(reference: Any) -> list[tuple[int, str]]:
    """In which line each molecule of the set stands, and its SMILES.

    Raises:
        ConfigError: If there are too many or none, or the file can't be read.
    """
    if reference is None:
        return []
    is_file = isinstance(reference, (str, Path))
    found = _read(Path(reference)) if is_file else [*enumerate(map(str, reference), 1)]
    most = _MOST if is_file else _MOST_LISTED
    if not 0 < len(found) <= most:
        where = f" {reference}" if is_file else ""
        raise ConfigError(f"reference{where} holds {len(found)} molecules; give 1 to {most}")
    return found


def _read(path: Path) -> list[tuple[int, str]]:
    try:
        if (size := path.stat().st_size) > _LARGEST:
            raise ConfigError(f"reference {path} has {size} bytes; {_LARGEST} are read")
        text = path.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"reference {path} can't be read as UTF-8 text: {error}") from None
    found = [
        (number, first[1])
        for number, line in enumerate(text.splitlines(), 1)
        if not line.startswith("#") and (first := _FIRST.match(line.strip()))
    ]
    return found[1:] if found and found[0][1].lower() == "smiles" else found


def _parts(place: str, smiles: str) -> Iterator[Any]:
    """A row's molecule, and of several each one.

    Raises:
        ConfigError: If it is none.
    """
    try:
        whole = _parsed(smiles)
    except CandidateError as error:
        raise ConfigError(f"{place}: {error}") from None
    yield whole
    parts = rdkit().GetMolFrags(whole, asMols=True)
    if len(parts) > 1:
        yield from parts


def _parsed(smiles: str) -> Any:
    """The molecule of text that is no candidate, within the same bounds."""
    return rdkit().MolFromSmiles(MoleculeCanonicaliser().canonicalise(smiles))


# ---- How molecules are compared


def _skeleton(molecule: Any) -> str:
    """What tautomers, charge states, stereo-isomers and isotopomers have in common."""
    from rdkit.Chem import rdMolHash
    from rdkit.Chem.MolStandardize import rdMolStandardize

    chem = rdkit()
    plain = chem.Mol(molecule)
    for atom in plain.GetAtoms():
        atom.SetIsotope(0)
    chem.RemoveStereochemistry(plain)
    neutral = rdMolStandardize.Uncharger().uncharge(chem.RemoveHs(plain))
    found: str = rdMolHash.MolHash(neutral, rdMolHash.HashFunction.HetAtomTautomerv2)
    return found


@lru_cache(4)
def _generator(radius: int, bits: int) -> Any:
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=bits)


@lru_cache(1024)
def _fingerprint_of(smiles: str, radius: int, bits: int) -> Any:
    """The fingerprint of a target, which all outputs of a prompt share."""
    return _generator(radius, bits).GetFingerprint(_parsed(smiles))
