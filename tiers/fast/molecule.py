"""Molecules: model output to one canonical SMILES, and the gate that bounds it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.answer import HOW, answers
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

ORGANIC = ("H", "C", "N", "O", "F", "P", "S", "Cl", "Br", "I")
"""Elements that every built-in chemistry verifier can treat."""

_REMEMBERED = 4096
_BARE = ("B", "C", "N", "O", "P", "S", "F", "Cl", "Br", "I")
"""Elements that SMILES writes without brackets."""
_NOT_SMILES = re.compile(r"[^A-Za-z0-9@+\-\[\]()=#$:/\\.%*~?!&,;{}]")
_ATOM = re.compile(r"\[(?!H\])|Br|Cl|[BCNOPSFIbcnops*](?![^\[\]]*\])")
_MAP_NUMBER = re.compile(r":\d+\]")
_PASS = Verdict.accept()
"""Verdicts don't change, so all that pass share one."""


@cache
def rdkit() -> Any:
    """Import RDKit's `Chem` once, and keep it from writing to the terminal.

    Raises:
        ToolError: If RDKit is not installed.
    """
    try:
        from rdkit import Chem, RDLogger
    except ImportError as error:
        raise ToolError(
            f"RDKit can't be imported ({error}); pip install 'verifier-ladder[chem]'"
        ) from error
    RDLogger.DisableLog("rdApp.*")
    return Chem


class _Recent:
    """The last molecules that were parsed, in two generations: forgetting costs nothing."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.young: dict[str, Any] = {}
        self.old: dict[str, Any] = {}

    def get(self, smiles: str) -> Any:
        """The molecule, or None."""
        return self.young.get(smiles) or self.old.get(smiles)

    def keep(self, smiles: str, molecule: Any) -> None:
        """Remember a molecule."""
        if len(self.young) >= self.size:
            self.old, self.young = self.young, {}
        self.young[smiles] = molecule


_RECENT = _Recent(_REMEMBERED // 2)


def parse(smiles: str) -> Any:
    """Read canonical SMILES as an RDKit molecule, sanitised; the last few thousand are kept.

    A molecule that the canonicaliser has just made in this process is served as it was parsed
    from the candidate's own spelling: the same graph, but its atoms may stand in another order.
    Read properties from it that don't depend on the order, and don't change it. What does
    depend on the order, such as an embedding, parses the canonical text anew.

    Raises:
        CandidateError: If it is not a molecule.

    Example:
        >>> parse("CCO").GetNumHeavyAtoms()
        3
    """
    found = _RECENT.get(smiles)
    if found is None:
        found = _parsed(smiles)
        _RECENT.keep(smiles, found)
    return found


def _parsed(smiles: str) -> Any:
    chem = rdkit()
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise CandidateError(_complaint(smiles))
    if not molecule.GetNumAtoms():
        raise CandidateError(f"the SMILES holds no atom; {HOW}")
    return molecule


def _complaint(smiles: str) -> str:
    """Why RDKit refuses a SMILES, in words that help to mend it."""
    chem = rdkit()
    loose = chem.MolFromSmiles(smiles, sanitize=False)
    if loose is None:
        return (
            f"{_shown(smiles)} is not SMILES: brackets or rings don't close, or a symbol is no "
            f"element; {HOW}"
        )
    problems = [problem.Message() for problem in chem.DetectChemistryProblems(loose)]
    detail = "; ".join(problems[:3]) or "no valid structure"
    return f"{_shown(smiles)} is not a possible molecule: {detail}"


def _shown(text: str) -> str:
    """Text of a model, short and without any character that a terminal would obey."""
    return ascii(text if len(text) <= 60 else f"{text[:57]}...")


class MoleculeCanonicaliser(Canonicaliser):
    """Finds the SMILES in a model's output and gives its canonical isomeric form.

    Every spelling of one molecule gets the same form: aromatic or Kekulé, with or without
    explicit hydrogens, in any order, with any ring numbers, with or without atom map numbers.
    Tautomers, charge states and stereo-isomers are different molecules.

    **Limits.** Size is bounded before RDKit sees the text; within the bounds RDKit can still
    crash or hang, so it belongs in the worker pool.

    Example:
        >>> MoleculeCanonicaliser().canonicalise("I propose ethanol. <answer>OCC</answer>")
        'CCO'
    """

    kind = "molecule"
    name = "molecule"
    version = "1"
    control = "CCO"

    def __init__(
        self,
        *,
        max_text: int = 200_000,
        max_characters: int = 1000,
        max_heavy_atoms: int = 200,
    ) -> None:
        """Set the bounds.

        Args:
            max_text: Characters of the whole output.
            max_characters: Characters of the SMILES.
            max_heavy_atoms: Atoms other than hydrogen.

        Raises:
            ConfigError: If a bound is not positive.
        """
        self.max_text, self.max_characters = max_text, max_characters
        self.max_heavy_atoms = max_heavy_atoms
        if min(max_text, max_characters, max_heavy_atoms) < 1:
            raise ConfigError("the canonicaliser's bounds must be at least 1")
        # Another release of RDKit may write another canonical form.
        super().__init__(
            max_text=max_text, max_characters=max_characters, max_heavy_atoms=max_heavy_atoms,
            **versions("rdkit"),
        )  # fmt: skip

    def canonicalise(self, content: str | bytes) -> str:
        """Give the canonical SMILES.

        Raises:
            CandidateError: If there is no answer, several answers, or none that is a molecule.
        """
        text = content if isinstance(content, str) else _text(content)
        if len(text) > self.max_text:
            raise CandidateError(
                f"the output is {len(text)} characters long; at most {self.max_text} are read"
            )
        forms = list(dict.fromkeys(self._form(word) for word in answers(text)[:8]))
        if len(forms) > 1:
            raise CandidateError(
                f"the output proposes {len(forms)} different molecules "
                f"({', '.join(map(_shown, forms[:3]))}); commit to one: {HOW}"
            )
        return forms[0]

    def _form(self, smiles: str) -> str:
        self._bound(smiles)
        molecule = _parsed(smiles)
        if molecule.GetNumHeavyAtoms() > self.max_heavy_atoms:
            raise CandidateError(self._too_many(molecule.GetNumHeavyAtoms()))
        chem = rdkit()
        if ":" in smiles and _MAP_NUMBER.search(smiles):
            for atom in molecule.GetAtoms():
                atom.SetAtomMapNum(0)
            molecule = _parsed(chem.MolToSmiles(molecule))
        form: str = chem.MolToSmiles(molecule)
        _RECENT.keep(form, molecule)
        return form

    def _bound(self, smiles: str) -> None:
        """Refuse what RDKit should not even see."""
        if len(smiles) > self.max_characters:
            raise CandidateError(
                f"the SMILES is {len(smiles)} characters long; at most {self.max_characters} "
                "are read: propose a smaller molecule"
            )
        if _NOT_SMILES.search(smiles):
            raise CandidateError(
                f"{_shown(smiles)} is not SMILES: it holds characters that SMILES does not have; "
                f"{HOW}"
            )
        if len(smiles) > self.max_heavy_atoms:
            atoms = len(_ATOM.findall(smiles))
            if atoms > self.max_heavy_atoms:
                raise CandidateError(self._too_many(atoms))

    def _too_many(self, atoms: int) -> str:
        return (
            f"the molecule has {atoms} atoms besides hydrogen; at most {self.max_heavy_atoms} "
            "are read: propose a smaller molecule"
        )


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CandidateError(f"the output is not UTF-8 text: {error.reason}") from None


class MoleculeGate(SingleVerifier):
    """Rejects molecules outside the bounds that the ladder's verifiers are made for.

    Example:
        >>> MoleculeGate().judge([Candidate("molecule", "[CH3]")])[0].reason
        "unpaired electrons on atom C; at most 0 are allowed"
    """

    name = "molecule-gate"
    version = "1"
    tier = Tier.FAST
    kind = "molecule"
    role = "gate"
    cost = Cost(seconds=5e-6)
    timeout = 10.0
    control = Candidate("molecule", "CCO")

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
        self._special = _special(elements)

    def examine(self, candidate: Candidate) -> Verdict:
        """Check the bounds, those that plain SMILES can't break only where it isn't plain."""
        text = candidate.content
        smiles = text if isinstance(text, str) else _text(text)
        molecule = parse(smiles)
        atoms = molecule.GetNumHeavyAtoms()
        if not self._least <= atoms <= self._most:
            return _refused(
                f"the molecule has {atoms} atoms besides hydrogen; allowed are {self._least} to "
                f"{self._most}",
                f"Propose a {'smaller' if atoms > self._most else 'larger'} molecule.",
            )
        if self._special.search(smiles) is None:
            return _PASS
        return _bounded(molecule, self.settings)


def _special(elements: Sequence[str]) -> re.Pattern[str]:
    """Matches canonical SMILES whose atoms have to be looked at one by one.

    Atoms outside brackets have normal valence and neither charge, isotope nor radical; only
    their element can break a bound, and then one of its letters occurs.
    """
    letters = "".join(e + e.lower() if len(e) == 1 else e[1] for e in _BARE if e not in elements)
    return re.compile(f"[.*{re.escape('[')}{letters}]")


def _bounded(molecule: Any, bounds: Mapping[str, Any]) -> Verdict:
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
    if abs(charge) > bounds["max_charge"]:
        return _refused(
            f"total charge {charge:+d}; at most {bounds['max_charge']} is allowed",
            "Propose a molecule without net charge.",
        )
    return _PASS


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


def _refused(reason: str, feedback: str) -> Verdict:
    return Verdict.reject(reason, feedback=feedback)
