"""Descriptors: a candidate as numbers, for what learns from labels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import entry_points
from math import isfinite
from typing import Any, Protocol, runtime_checkable

from verifier_ladder.errors import CandidateError, ConfigError, VerifierError
from verifier_ladder.registry import load
from verifier_ladder.tiers.fast.molecule import as_text, parse_single, rdkit

GROUP = "verifier_ladder.descriptors"
MOST = 2048
"""Numbers of one candidate."""
_BITS = 256
_LARGEST = 1e6


@runtime_checkable
class Descriptors(Protocol):
    """**Protocol:** describes candidates of one kind by a fixed number of numbers.

    It runs in the worker pool only, for what it parses is hostile. Whatever changes a number
    changes `version`.
    """

    kind: str
    version: str

    def numbers(self, content: str | bytes) -> Sequence[float]:
        """Describe a candidate; as many finite numbers for each, 2048 at most.

        Raises:
            CandidateError: If it can't be described.
        """
        ...

    def family(self, content: str | bytes) -> str:
        """What a candidate and its near-duplicates have in common.

        A family is never on both sides of a split into what is trained on and what is held out.
        """
        ...


class MoleculeDescriptors:
    """Counts of atom environments within two bonds, and what RDKit tells of the whole molecule.

    Environments are hashed into 256 places (Morgan; Rogers and Hahn 2010), as logarithms of
    counts. Stereoisomers, isotopologues, tautomers and protonation states are one family.

    Example:
        >>> made = MoleculeDescriptors()
        >>> len(made.numbers("CCO")), made.family("C[C@H](N)O") == made.family("C[C@@H](N)O")
        (282, True)
    """

    kind = "molecule"
    version = "1"

    def __init__(self) -> None:
        """Make nothing yet: RDKit is imported in the worker."""
        self._environments: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what only one process can use."""
        return {"_environments": None}

    def numbers(self, content: str | bytes) -> list[float]:
        """Describe a molecule.

        Raises:
            CandidateError: If it is none, or several.
        """
        import numpy as np
        from rdkit.Chem import Crippen, rdFingerprintGenerator, rdMolDescriptors

        if self._environments is None:
            self._environments = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=_BITS)
        molecule = parse_single(as_text(content))
        size = float(molecule.GetNumHeavyAtoms())
        whole = [
            size, size**0.5, Crippen.MolLogP(molecule),  # type: ignore[attr-defined]
            *(
                float(getattr(rdMolDescriptors, name)(molecule))
                for name in (
                    "CalcExactMolWt", "CalcTPSA", "CalcNumHBD", "CalcNumHBA",
                    "CalcNumRotatableBonds", "CalcNumAromaticRings", "CalcNumRings",
                    "CalcFractionCSP3", "CalcLabuteASA",
                )
            ),
            *rdMolDescriptors.PEOE_VSA_(molecule),
        ]  # fmt: skip
        counts = self._environments.GetCountFingerprintAsNumPy(molecule)
        # Rounded: a sum over atoms depends on their order in its last bits.
        return [*(round(float(n), 4) for n in whole), *np.log1p(counts.astype(float)).tolist()]

    def family(self, content: str | bytes) -> str:
        """The skeleton, without stereochemistry, isotopes, charges or places of hydrogens."""
        from rdkit.Chem import rdMolHash

        molecule = parse_single(as_text(content))
        rdkit().RemoveStereochemistry(molecule)
        for atom in molecule.GetAtoms():
            atom.SetIsotope(0)
        function = rdMolHash.HashFunction.HetAtomTautomer
        # Its ending counts hydrogens and charges.
        return str(rdMolHash.MolHash(molecule, function)).partition("_")[0]


def named(descriptors: Descriptors | str) -> str:
    """What descriptors are called in a verifier's settings."""
    return descriptors if isinstance(descriptors, str) else type(descriptors).__name__


def descriptors_of(kind: str, wanted: Descriptors | str = "") -> Descriptors:
    """Find descriptors: built in, or those of an installed package.

    Args:
        kind: What candidates they describe.
        wanted: They themselves, or their entry point of group `verifier_ladder.descriptors`; that
            called as the kind, or the built-in ones, if left out.

    Raises:
        ConfigError: If there are none of that kind.
        PluginError: If the package that offers them can't be imported.
    """
    found: Any = _found(kind, wanted or kind) if isinstance(wanted, str) else wanted
    made = found() if isinstance(found, type) else found
    if not isinstance(made, Descriptors) or made.kind != kind:
        raise ConfigError(
            f"descriptors {named(wanted) or kind!r} don't describe candidates of kind {kind!r}: "
            f"their class needs kind={kind!r}, version, numbers and family"
        )
    return made


def _found(kind: str, name: str) -> Any:
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name in points:
        return load(points[name])
    if name == MoleculeDescriptors.kind:
        return MoleculeDescriptors
    raise ConfigError(
        f"there are no descriptors {name!r} of candidates of kind {kind!r}: install a package "
        f"with an entry point of that name in group {GROUP}, or give an object with kind, "
        "version, numbers and family"
    )


def checked_numbers(by: Descriptors, content: str | bytes) -> list[float]:
    """What describes a candidate, as plain bounded numbers.

    Raises:
        VerifierError: If they are none, or too many.
        CandidateError: If the candidate can't be described.
    """
    found = [float(number) for number in by.numbers(content)]
    if not 0 < len(found) <= MOST:
        raise VerifierError(
            f"descriptors of {by.kind} gave {len(found)} numbers; give 1 to {MOST}"
        )
    if not all(map(isfinite, found)):
        raise CandidateError("a descriptor is no finite number for it")
    return [min(max(number, -_LARGEST), _LARGEST) for number in found]


def family_key(by: Descriptors, content: str | bytes) -> str:
    """Digest of a candidate's family: what decides on which side of the split it is."""
    name = by.family(content).encode("utf-8", "surrogatepass")
    return hashlib.sha256(b"vl:family:1\0" + name).hexdigest()
