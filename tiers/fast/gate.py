"""The molecule gate: bounds that keep a candidate inside what the ladder can judge."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.molecule import ORGANIC, as_text, ordinary_size, parse, rdkit
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

_PASS = Verdict.accept()
"""Verdicts don't change, so all that pass share one."""


class GateSettings(BaseModel):
    """Settings of `MoleculeGate` that a campaign's row may choose for a worker."""

    min_heavy_atoms: int
    max_heavy_atoms: int
    elements: Annotated[
        list[Annotated[str, Field(pattern="^[A-Z][a-z]?$")]], Field(max_length=118)
    ]
    max_charge: int
    max_atom_charge: int
    max_radicals: int
    max_fragments: int
    isotopes: bool
    dummies: bool


class MoleculeGate(SingleVerifier):
    """Rejects molecules outside the bounds that the ladder's verifiers are made for.

    Example:
        >>> MoleculeGate().judge([Candidate("molecule", "[CH3]")])[0].reason
        'unpaired electrons on atom C; at most 0 are allowed'
    """

    name = "molecule-gate"
    version = "1"
    tier = Tier.FAST
    kind = "molecule"
    domain = "chemistry"
    capabilities = ("reasoning",)
    role = "gate"
    definitive = True
    cost = Cost(seconds=5e-6)
    timeout = 10.0
    control = Candidate("molecule", "CCO")
    data_settings = GateSettings

    @checked(max_charge=0, max_atom_charge=0, max_radicals=0)
    def __init__(
        self,
        *,
        min_heavy_atoms: int = 1,
        max_heavy_atoms: int = 60,
        elements: Sequence[str] = ORGANIC,
        max_charge: int = 0,
        max_atom_charge: int = 1,
        max_radicals: int = 0,
        max_fragments: int = 1,
        isotopes: bool = False,
        dummies: bool = False,
    ) -> None:
        """Set the bounds.

        Args:
            min_heavy_atoms: Fewest atoms other than hydrogen.
            max_heavy_atoms: Most atoms other than hydrogen.
            elements: Symbols that may occur.
            max_charge: Largest total charge, of either sign.
            max_atom_charge: Largest charge of one atom, of either sign.
            max_radicals: Most unpaired electrons.
            max_fragments: Most molecules side by side (separated by a dot).
            isotopes: Whether isotope labels may occur.
            dummies: Whether placeholders (`*`) may occur.

        Raises:
            ConfigError: If no molecule could pass.
        """
        if not 0 <= min_heavy_atoms <= max_heavy_atoms or max_fragments < 1 or not elements:
            raise ConfigError(
                f"no molecule passes bounds min_heavy_atoms={min_heavy_atoms}, "
                f"max_heavy_atoms={max_heavy_atoms}, max_fragments={max_fragments}, "
                f"elements={list(elements)}"
            )
        super().__init__(
            min_heavy_atoms=min_heavy_atoms, max_heavy_atoms=max_heavy_atoms,
            elements=sorted(elements), max_charge=max_charge, max_atom_charge=max_atom_charge,
            max_radicals=max_radicals, max_fragments=max_fragments,
            isotopes=isotopes, dummies=dummies,
        )  # fmt: skip
        self.tools = versions("rdkit")
        self._least, self._most = min_heavy_atoms, max_heavy_atoms
        self._special = _special(elements, max_atom_charge)

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[Verdict]:
        """Pass what is known to be ordinary and of a fitting size; look closely at the rest."""
        least, most, special = self._least, self._most, self._special
        for candidate in candidates:
            content = candidate.content
            if (
                isinstance(content, str)
                and (size := ordinary_size(content)) is not None
                and least <= size <= most
                and (special is None or special.search(content) is None)
            ):
                yield _PASS
            else:
                yield self._guarded(candidate)

    def examine(self, candidate: Candidate) -> Verdict:
        """Check every bound."""
        return self._bounded(parse(as_text(candidate.content)))

    def _bounded(self, molecule: Any) -> Verdict:
        """Check size, then every atom."""
        atoms = molecule.GetNumHeavyAtoms()
        if atoms > self._most:
            return _size(atoms, self._least, self._most)
        verdict = _atoms_bounded(molecule, self.settings)
        if verdict is _PASS and atoms < self._least:
            return _size(atoms, self._least, self._most)
        return verdict


def _size(atoms: int, least: int, most: int) -> Verdict:
    return _refused(
        f"the molecule has {atoms} atoms besides hydrogen; allowed are {least} to {most}",
        f"Propose a {'smaller' if atoms > most else 'larger'} molecule.",
    )


def _special(elements: Sequence[str], max_atom_charge: int) -> re.Pattern[str] | None:
    """Matches canonical SMILES that may break a bound although the molecule is ordinary."""
    banned = [element for element in ORGANIC if element not in elements]
    signs = [rf"{e}(?![a-z])|{e.lower()}" if len(e) == 1 else e for e in banned]
    if max_atom_charge < 1 or "H" in banned:
        signs = [r"[\s\S]"]
    return re.compile("|".join(signs)) if signs else None


def _atoms_bounded(molecule: Any, bounds: Mapping[str, Any]) -> Verdict:
    """Look at every atom."""
    fragments = len(rdkit().GetMolFrags(molecule))
    if fragments > bounds["max_fragments"]:
        return _refused(
            f"{fragments} separate molecules; at most {bounds['max_fragments']} are allowed",
            "Propose a single molecule, without a dot in the SMILES.",
        )
    allowed = set(bounds["elements"])
    charge = radicals = 0
    for atom in molecule.GetAtoms():
        wrong = _wrong_atom(atom, allowed, bounds)
        if wrong is not None:
            return wrong
        charge += atom.GetFormalCharge()
        radicals += atom.GetNumRadicalElectrons()
        if radicals > bounds["max_radicals"]:
            return _refused(
                f"unpaired electrons on atom {atom.GetSymbol()}; at most "
                f"{bounds['max_radicals']} are allowed",
                "Give every atom its full valence; in brackets, hydrogens must be written.",
            )
    limit = bounds["max_charge"]
    return _PASS if abs(charge) <= limit else _charged(charge, limit)


def _wrong_atom(atom: Any, allowed: set[str], bounds: Mapping[str, Any]) -> Verdict | None:
    symbol: str = atom.GetSymbol()
    if not atom.GetAtomicNum():
        if bounds["dummies"]:
            return None
        return _refused("a placeholder (*) stands for an atom", "Name every atom.")
    if symbol not in allowed:
        return _refused(
            f"element {symbol} is not allowed",
            f"Use only these elements: {', '.join(bounds['elements'])}.",
        )
    if abs(atom.GetFormalCharge()) > bounds["max_atom_charge"]:
        return _refused(
            f"charge {atom.GetFormalCharge():+d} on one atom {symbol}; at most "
            f"{bounds['max_atom_charge']} is allowed",
            "Use charges that exist in stable molecules.",
        )
    if atom.GetIsotope() and not bounds["isotopes"]:
        return _refused(
            f"isotope label on atom {symbol}", "Write elements without isotope numbers."
        )
    return None


def _charged(charge: int, limit: int) -> Verdict:
    return _refused(
        f"total charge {charge:+d}; at most {limit} is allowed",
        "Propose a molecule without net charge.",
    )


def _refused(reason: str, feedback: str) -> Verdict:
    return Verdict.reject(reason, feedback=feedback)
