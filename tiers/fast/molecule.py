"""Molecules: from model output to one canonical SMILES."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.tiers.fast.answer import answers, refused
from verifier_ladder.tiers.versions import versions

ORGANIC = ("H", "C", "N", "O", "F", "P", "S", "Cl", "Br", "I")
"""Elements that every built-in chemistry verifier can treat."""

_SHOWN = 60
_SMALLER = "propose a smaller molecule"
_MOST_ANSWERS = 8
"""Different spellings of one molecule in one output."""
_REMEMBERED = 10_000
_SIZES: dict[str, int] = {}
_UNUSUAL = frozenset("[.*Bb")
"""One of these is in the canonical form of all that is not ordinary: atoms outside brackets have
neither charge, isotope nor unpaired electrons. (Sets: a regular expression takes 3 µs here.)"""
_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@+-=#()[]/\\%"
"""Characters of plain SMILES: where stripping them leaves something, the text may be longer than
its answer. (A regular expression takes 4 µs here.)"""
_NOT_SMILES = re.compile(r"[^A-Za-z0-9@+\-\[\]()=#$:/\\.%*~?!&,;{}]")
_ATOM = re.compile(r"\[(?!H\])|Br|Cl|[BCNOPSFIbcnops*](?![^\[\]]*\])")
_MAP_NUMBER = re.compile(r":\d+\]")
_WRAPS = re.compile(r"\[\d{4}|\[[^\]]*(?:[+-]\d{3}|[+-]{16}|H\d{3})")
"""Isotopes, charges and hydrogen counts that RDKit would wrap around into another molecule."""
_PATTERN = re.compile(r"\[\d*#")
"""An atom by its number, as SMARTS has it: RDKit would read it as one without hydrogens."""


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
            f"RDKit can't be imported ({error}); pip install '.[chem]' in a clone"
        ) from error
    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined,unused-ignore]
    return Chem


def parse(smiles: str) -> Any:
    """Read SMILES as an RDKit molecule, sanitised, with at least one atom.

    Raises:
        CandidateError: If it is not a molecule, in words that help to mend it.

    Example:
        >>> parse("CCO").GetNumHeavyAtoms()
        3
    """
    molecule = rdkit().MolFromSmiles(smiles)
    if molecule is None:
        raise _complaint(smiles)
    if not molecule.GetNumAtoms():
        raise refused("the SMILES holds no atom")
    return molecule


def parse_single(smiles: str) -> Any:
    """Read SMILES as one molecule of named atoms, of which alone properties make sense.

    Raises:
        CandidateError: If it is none, several side by side, or holds a placeholder for an atom.
    """
    molecule = parse(smiles)
    parts = len(rdkit().GetMolFrags(molecule))
    if parts > 1:
        raise refused(
            f"{parts} separate molecules, where one is asked for",
            "propose a single molecule, without a dot in the SMILES",
        )
    if not all(atom.GetAtomicNum() for atom in molecule.GetAtoms()):
        raise refused("a placeholder (*) stands for an atom", "name every atom")
    return molecule


def ordinary_size(smiles: str) -> int | None:
    """Heavy atoms of a canonical SMILES that this process made lately, if it is ordinary.

    Ordinary is one neutral molecule of `ORGANIC` elements, no atom charged beyond ±1, without
    isotopes, unpaired electrons or placeholders. The gate needs no more, so that it need not
    parse again. (Keeping the parsed molecules would push RDKit out of the cpu's cache.)

    Returns:
        The number, or None if it is not known.
    """
    return _SIZES.get(smiles)


def rough_size(smiles: str) -> int:
    """Count the heavy atoms of a SMILES from its text alone, for estimates of cost.

    Example:
        >>> rough_size("C[C@H](N)C(=O)O")
        6
    """
    return len(_ATOM.findall(smiles))


def _ordinary(molecule: Any, form: str) -> bool:
    plain = form.replace("[C@@H]", "C").replace("[C@H]", "C").replace("[nH]", "n")
    if _UNUSUAL.isdisjoint(plain.replace("Br", "C")):
        return True
    return not (
        "." in form or molecule.HasSubstructMatch(_oddity()) or rdkit().GetFormalCharge(molecule)
    )


@cache
def _oddity() -> Any:
    """A query for any atom that is not ordinary: one call, no loop in Python."""
    from rdkit.Chem import rdqueries

    chem = rdkit()
    numbers = [chem.GetPeriodicTable().GetAtomicNumber(symbol) for symbol in ORGANIC]
    atom = chem.AtomFromSmarts(f"[{'&'.join(f'!#{number}' for number in numbers)}]")
    for other in (
        rdqueries.NumRadicalElectronsGreaterQueryAtom(0),
        rdqueries.IsotopeGreaterQueryAtom(0),
        rdqueries.FormalChargeGreaterQueryAtom(1),
        rdqueries.FormalChargeLessQueryAtom(-1),
    ):
        atom.ExpandQuery(other, chem.CompositeQueryType.COMPOSITE_OR)
    query = chem.RWMol(chem.MolFromSmarts("*"))
    query.ReplaceAtom(0, atom)
    return query.GetMol()


def _complaint(smiles: str) -> CandidateError:
    """Why RDKit refuses a SMILES, in words that help to mend it."""
    chem = rdkit()
    loose = chem.MolFromSmiles(smiles, sanitize=False)
    if loose is None:
        return refused(
            f"{_shown(smiles)} is not SMILES: brackets or rings don't close, or a symbol is no "
            "element"
        )
    problems = [problem.Message() for problem in chem.DetectChemistryProblems(loose)]
    detail = "; ".join(problems[:3]) or "no valid structure"
    return _impossible(smiles, detail)


def _impossible(smiles: str, detail: str) -> CandidateError:
    return CandidateError(
        f"{_shown(smiles)} is not a possible molecule: {detail}",
        feedback=f"Mend the molecule: {detail}.",
    )


def _shown(text: str) -> str:
    """Text of a model, short and without any character that a terminal would obey."""
    return ascii(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


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
        self._plain = min(max_text, max_characters, max_heavy_atoms)
        """Characters of a text that can't break any bound."""
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
        if (
            isinstance(content, str)
            and 0 < len(content) <= self._plain
            and not content.strip(_CHARACTERS)
        ):
            if "[" in content:
                _check_brackets(content)
            return self._form(content)
        text = as_text(content)
        if len(text) > self.max_text:
            raise refused(
                f"the output is {len(text)} characters long; at most {self.max_text} are read"
            )
        words = answers(text)
        if len(words) > _MOST_ANSWERS:
            raise refused(f"the output gives {len(words)} answers; commit to one")
        forms = list(dict.fromkeys(self._bounded(word) for word in words))
        if len(forms) > 1:
            raise refused(
                f"the output proposes {len(forms)} different molecules "
                f"({', '.join(map(_shown, forms[:3]))}); commit to one"
            )
        return forms[0]

    def _form(self, smiles: str) -> str:
        chem = rdkit()
        molecule = chem.MolFromSmiles(smiles)
        if molecule is None:
            raise _complaint(smiles)
        form: str = chem.MolToSmiles(molecule)
        if _UNUSUAL.isdisjoint(form) or _ordinary(molecule, form):
            if len(_SIZES) >= _REMEMBERED:
                _SIZES.clear()
            _SIZES[form] = molecule.GetNumHeavyAtoms()
        return form

    def _bounded(self, smiles: str) -> str:
        """The form of text that may be anything."""
        self._bound(smiles)
        if ":" in smiles and _MAP_NUMBER.search(smiles):
            molecule = parse(smiles)
            for atom in molecule.GetAtoms():
                atom.SetAtomMapNum(0)
            smiles = rdkit().MolToSmiles(molecule)
        form = self._form(smiles)
        if not form:
            raise refused("the SMILES holds no atom")
        return form

    def _bound(self, smiles: str) -> None:
        """Refuse what RDKit should not even see."""
        if len(smiles) > self.max_characters:
            raise refused(
                f"the SMILES is {len(smiles)} characters long; at most {self.max_characters} "
                "are read",
                _SMALLER,
            )
        if _NOT_SMILES.search(smiles):
            raise refused(
                f"{_shown(smiles)} is not SMILES: it holds characters that SMILES does not have"
            )
        _check_brackets(smiles)
        if len(smiles) > self.max_heavy_atoms:
            atoms = rough_size(smiles)
            if atoms > self.max_heavy_atoms:
                raise refused(
                    f"the molecule has {atoms} atoms besides hydrogen; at most "
                    f"{self.max_heavy_atoms} are read",
                    _SMALLER,
                )


def _check_brackets(smiles: str) -> None:
    if _PATTERN.search(smiles):
        raise refused(f"{_shown(smiles)} is a pattern and no SMILES: it names atoms by number")
    if _WRAPS.search(smiles):
        raise _impossible(smiles, "a number in brackets is out of range")


def as_text(content: str | bytes) -> str:
    """Read content as text.

    Raises:
        CandidateError: If it is not UTF-8.
    """
    if isinstance(content, str):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise refused(f"the output is not UTF-8 text: {error.reason}") from None
