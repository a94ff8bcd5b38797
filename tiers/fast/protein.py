"""Proteins: PDB files read within bounds, and what no force field should see.

A text is read here, and by no library: their parsers take names of files from a text, bonds from
its `CONECT` records, and `nan` for a number. What is handed on are residues and atoms of a closed
table, and finite positions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from verifier_ladder.errors import CandidateError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import DOCUMENT, agreed, answers

HOW = "Write one protein as a PDB file of ATOM records, alone or in a fenced block."
LANGUAGES = ("pdb", "ent")
"""Labels of code blocks that hold a protein."""
MOST_RESIDUES = 1000
"""Residues of the largest protein that any setting allows."""
BACKBONE = ("N", "CA", "C")
CLOSEST = 1.9
"""Å between atoms that are not bonded: two that share a neighbour are never closer than 2.1."""
_BOND = (0.75, 1.3)
"""A bond's least and greatest length, times the sum of covalent radii."""
_FLAT = 0.25
"""The triple product of three bonds' directions; 0.77 where four bonds are alike."""
_LARGEST = 1000.0
"""Å, the largest coordinate."""
_RADII = {"C": 0.76, "N": 0.71, "O": 0.66, "S": 1.05}
_MAIN = "N-CA CA-C C-O"
_PHENYL = "CA-CB CB-CG CG-CD1 CG-CD2 CD1-CE1 CD2-CE2 CE1-CZ CE2-CZ"
_BONDS: Mapping[str, str] = {
    "ALA": "CA-CB", "ARG": "CA-CB CB-CG CG-CD CD-NE NE-CZ CZ-NH1 CZ-NH2",
    "ASN": "CA-CB CB-CG CG-OD1 CG-ND2", "ASP": "CA-CB CB-CG CG-OD1 CG-OD2",
    "CYS": "CA-CB CB-SG", "GLN": "CA-CB CB-CG CG-CD CD-OE1 CD-NE2",
    "GLU": "CA-CB CB-CG CG-CD CD-OE1 CD-OE2", "GLY": "",
    "HIS": "CA-CB CB-CG CG-ND1 CG-CD2 ND1-CE1 CD2-NE2 CE1-NE2",
    "ILE": "CA-CB CB-CG1 CB-CG2 CG1-CD1", "LEU": "CA-CB CB-CG CG-CD1 CG-CD2",
    "LYS": "CA-CB CB-CG CG-CD CD-CE CE-NZ", "MET": "CA-CB CB-CG CG-SD SD-CE",
    "PHE": _PHENYL, "PRO": "CA-CB CB-CG CG-CD CD-N", "SER": "CA-CB CB-OG",
    "THR": "CA-CB CB-OG1 CB-CG2",
    "TRP": "CA-CB CB-CG CG-CD1 CG-CD2 CD1-NE1 CD2-CE2 NE1-CE2 CD2-CE3 CE2-CZ2 CE3-CZ3 CZ2-CH2 "
           "CZ3-CH2",
    "TYR": f"{_PHENYL} CZ-OH", "VAL": "CA-CB CB-CG1 CB-CG2",
}  # fmt: skip
"""The twenty amino acids: bonds of their side chains, between atoms besides hydrogen."""
BONDS: Final = {
    name: tuple(tuple(pair.split("-")) for pair in f"{_MAIN} {more}".split())
    for name, more in _BONDS.items()
}
"""All bonds of each, with the main chain's."""
ATOMS: Final = {
    name: tuple(dict.fromkeys(atom for pair in pairs for atom in pair))
    for name, pairs in BONDS.items()
}
"""Names of the atoms of each, hydrogens left out."""
_HANDS = {"ILE": ("CB", "CG1", "CG2", "CA"), "THR": ("CB", "OG1", "CG2", "CA")}
"""Side chains with a hand of their own: the centre, and three of its neighbours in turn."""
_HAND = ("CA", "N", "C", "CB")
_LAST = "OXT"
_OPEN_END = 1.25
"""Å, of the bond to an atom OXT that a file leaves out."""
_IGNORED = frozenset(
    """
    HEADER OBSLTE TITLE SPLIT CAVEAT COMPND SOURCE KEYWDS EXPDTA NUMMDL MDLTYP AUTHOR REVDAT
    SPRSDE JRNL REMARK DBREF DBREF1 DBREF2 SEQADV SEQRES MODRES HET HETNAM HETSYN FORMUL HELIX
    SHEET SSBOND LINK CISPEP SITE CRYST1 ORIGX1 ORIGX2 ORIGX3 SCALE1 SCALE2 SCALE3 MTRIX1 MTRIX2
    MTRIX3 ANISOU CONECT MASTER END PARENT
    """.split()  # noqa: SIM905 - a list would take a line for each
)
"""Records that say nothing of where an atom is. Bonds are those of the table."""
_NUMBER = re.compile(r" *-?[0-9]{1,4}\.[0-9]{1,3}", re.ASCII)
_COUNT = re.compile(r" *-?[0-9]{1,5}", re.ASCII)
_HYDROGEN = re.compile(r"[0-9]?[HD][A-Z0-9]{0,3}", re.ASCII)

Array = np.ndarray[Any, np.dtype[Any]]


class Residue(NamedTuple):
    """One amino acid."""

    name: str
    place: tuple[str, int]
    """Its chain, a space where the file names none, and its number."""
    atoms: dict[str, Array]
    """Positions by the atom's name, Å; hydrogens are left out."""

    def __str__(self) -> str:
        """Its name and place."""
        chain, number = self.place
        return f"{self.name} {chain.strip()}{number}"


class Protein(NamedTuple):
    """Chains of amino acids."""

    chains: tuple[tuple[Residue, ...], ...]

    @property
    def residues(self) -> list[Residue]:
        """All of them, in the file's order."""
        return [residue for chain in self.chains for residue in chain]

    @property
    def backbone(self) -> Array:
        """Positions of the main chain's atoms, Å, a row for each."""
        return np.array([each.atoms[name] for each in self.residues for name in BACKBONE])

    @property
    def canonical(self) -> str:
        """All of it as a text that is the same on each host, whatever the order of the atoms."""
        return "\n\n".join("\n".join(map(_lines, chain)) for chain in self.chains)


def protein_of(content: str | bytes, max_residues: int = MOST_RESIDUES) -> Protein:
    """The one protein that an output proposes, sound enough for a force field.

    Args:
        content: The whole output.
        max_residues: Residues of the largest protein.

    Raises:
        CandidateError: If there is none, several that differ, or one that is broken.
    """
    found = [read(text, max_residues) for text in _texts(content)]
    if len(found) > 1:
        agreed((each.canonical for each in found), HOW)
    for each in _flaws(found[0]):
        raise _bad(*each)
    return found[0]


def rough_atoms(content: str | bytes, max_residues: int = MOST_RESIDUES) -> int:
    """About how many atoms a protein has, hydrogens included; 0 for what is rejected at sight.

    It reads the lines that `protein_of` reads, without their coordinates.

    Example:
        >>> rough_atoms("ATOM      1  N   ALA A   1      -6.554   1.125   0.706")
        2
    """
    try:
        lines = _texts(content)[0].splitlines()
    except CandidateError:
        return 0
    atoms = {
        (_place(line), _names(line)[0]) for line in lines if _is_atom(line) and _is_heavy(line)
    }
    is_allowed = len({place for place, _ in atoms}) <= max_residues
    return 2 * len(atoms) if is_allowed else 0


def _texts(content: str | bytes) -> list[str]:
    return list(answers(content, DOCUMENT, HOW, languages=LANGUAGES))


def _is_atom(line: str) -> bool:
    return line[:6].strip() == "ATOM"


def _is_heavy(line: str) -> bool:
    """Whether it has the number of a residue, and an atom of it that is no hydrogen."""
    name, residue = _names(line)
    is_known = name in ATOMS.get(residue, ()) or (residue in ATOMS and name == _LAST)
    return is_known and _COUNT.fullmatch(line[22:26]) is not None


def _names(line: str) -> tuple[str, str]:
    """Of the atom and of its residue."""
    return line[12:16].strip(), line[17:20].strip()


def _place(line: str) -> tuple[str, int]:
    """A residue's chain and number."""
    return line[21:22], int(line[22:26])


def read(text: str, max_residues: int) -> Protein:
    """Read a PDB file.

    Raises:
        CandidateError: If it is none, or holds something besides one protein.
    """
    if not text.isascii():
        raise _bad("a PDB file holds ASCII characters only")
    chains = _Chains(max_residues)
    for number, line in enumerate(text.splitlines(), 1):
        record = line[:6].strip()
        if _is_atom(line):
            chains.add(line, number)
        elif record == "TER":
            chains.end()
        elif record == "MODEL":
            chains.begin()
        elif record == "HETATM":
            raise _bad(
                f"line {number} is about {printable(line[17:20].strip(), 10)!r}, which is none "
                "of the twenty amino acids",
                "Write amino acids only, without water, ions, ligands and caps.",
            )
        elif record and record != "ENDMDL" and record not in _IGNORED:
            raise _bad(f"line {number} is no record of a PDB file: {printable(line, 40)!r}")
    return chains.whole()


class _Chains:
    """The chains of a file that is being read."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.chains: list[list[Residue]] = []
        self.seen: set[tuple[str, int]] = set()
        self.models = 0
        self._is_open = False

    def begin(self) -> None:
        """Hear of a model."""
        self.models += 1
        if self.models > 1 or self.chains:
            raise _bad("the file holds several models", "Write one model.")

    def end(self) -> None:
        """End a chain."""
        self._is_open = False

    def add(self, line: str, number: int) -> None:
        """Take an atom.

        Raises:
            CandidateError: If the line is none, or the residue is strange or comes twice.
        """
        name, residue = _names(line)
        if not _COUNT.fullmatch(line[6:11]) or not _COUNT.fullmatch(line[22:26]):
            raise _bad(f"line {number} has no numbers of an atom and of a residue")
        if line[16:17] != " " or line[26:27] != " ":
            raise _bad(
                f"line {number} has an alternate location or an insertion code",
                "Write each atom once, and number residues by whole numbers.",
            )
        if residue not in ATOMS:
            raise _bad(
                f"line {number}: {printable(residue, 10)!r} is none of the twenty amino acids",
                "Write the twenty amino acids by their three letters.",
            )
        at = _position(line, number)
        if name not in ATOMS[residue] and name != _LAST:
            if _HYDROGEN.fullmatch(name):
                return
            raise _bad(f"line {number}: {residue} has no atom {printable(name, 10)!r}")
        told = self._residue(Residue(residue, _place(line), {}))
        if name in told.atoms:
            raise _bad(f"line {number}: atom {name} of {told} comes twice")
        told.atoms[name] = at

    def _residue(self, new: Residue) -> Residue:
        """The residue that is being read, or a new one, which begins a chain where it must."""
        last = self.chains[-1][-1] if self._is_open else None
        if last is not None and (last.name, last.place) == (new.name, new.place):
            return last
        if new.place in self.seen:
            chain, number = new.place
            raise _bad(
                f"residue {chain.strip()}{number} comes twice",
                "Number the residues of a chain in turn.",
            )
        if len(self.seen) >= self.most:
            raise _bad(
                f"more than {self.most} residues", f"Propose a protein of at most {self.most}."
            )
        self.seen.add(new.place)
        if last is None or last.place[0] != new.place[0]:
            self.chains.append([])
        self._is_open = True
        self.chains[-1].append(new)
        return new

    def whole(self) -> Protein:
        """All chains, the last residue of each with both of its oxygens.

        Raises:
            CandidateError: If there is none, or an atom is missing.
        """
        if not self.chains:
            raise _bad("the file holds no ATOM record")
        for chain in self.chains:
            for residue in chain:
                missing = [name for name in ATOMS[residue.name] if name not in residue.atoms]
                if missing:
                    raise _bad(
                        f"{residue} lacks {', '.join(missing)}",
                        "Write all atoms besides hydrogen of each residue.",
                    )
                if _LAST in residue.atoms and residue is not chain[-1]:
                    raise _bad(f"{residue} has an atom OXT, and is not the last of its chain")
            atoms = chain[-1].atoms
            if _LAST not in atoms:
                atoms[_LAST] = _other_oxygen(atoms)
        return Protein(tuple(map(tuple, self.chains)))


def _position(line: str, number: int) -> Array:
    fields = line[30:38], line[38:46], line[46:54]
    if not all(map(_NUMBER.fullmatch, fields)):
        raise _bad(f"line {number} has no three coordinates in columns 31 to 54")
    at = np.array([float(field) for field in fields])
    if np.abs(at).max() > _LARGEST:
        raise _bad(f"line {number} is further than {_LARGEST:g} Å from the origin")
    return at


def _other_oxygen(atoms: Mapping[str, Array]) -> Array:
    """Where the second oxygen of a chain's end is, in the plane of the first.

    It is rounded as in a file, so that hosts that round differently place it alike.
    """
    centre = atoms["C"]
    away = -sum(_unit(atoms[name] - centre) for name in ("CA", "O"))
    return np.asarray(np.round(centre + _OPEN_END * _unit(away), 3))


# ---- What no force field should see


def _flaws(protein: Protein) -> Iterator[tuple[str, str]]:
    """What is wrong, and what to do: bonds, hands, and atoms that are too close."""
    for chain in protein.chains:
        for residue in chain:
            yield from _wrong_bonds(residue)
            yield from _wrong_hands(residue)
        for one, other in pairwise(chain):
            if not _is_bond("C", "N", one.atoms["C"], other.atoms["N"]):
                yield (
                    f"{one} and {other} are not bonded: the chain is broken, or one is missing",
                    "Write all residues of a chain in turn, and TER between two chains.",
                )
    yield from _clashes(protein)


def _wrong_bonds(residue: Residue) -> Iterator[tuple[str, str]]:
    atoms = residue.atoms
    pairs = [*BONDS[residue.name], *([("C", _LAST)] if _LAST in atoms else [])]
    for one, other in pairs:
        if not _is_bond(one, other, atoms[one], atoms[other]):
            length = float(np.linalg.norm(atoms[one] - atoms[other]))
            yield (
                f"{one} and {other} of {residue} are bonded and {length:.2f} Å apart",
                "Give each bond its usual length.",
            )


def _is_bond(one: str, other: str, first: Array, second: Array) -> bool:
    """Whether atoms are as far apart as a bond is long; their names begin with the element."""
    usual = _RADII[one[0]] + _RADII[other[0]]
    return bool(_BOND[0] <= float(np.linalg.norm(first - second)) / usual <= _BOND[1])


def _wrong_hands(residue: Residue) -> Iterator[tuple[str, str]]:
    centres = [_HANDS[residue.name]] if residue.name in _HANDS else []
    if residue.name != "GLY":
        centres.append(_HAND)
    for names in centres:
        centre, *others = (residue.atoms[name] for name in names)
        first, second, third = (_unit(other - centre) for other in others)
        if float(first @ np.cross(second, third)) < _FLAT:
            yield (
                f"{names[0]} of {residue} is not of the hand of L-amino acids",
                "Write L-amino acids; a mirror image is another molecule.",
            )


def _clashes(protein: Protein) -> Iterator[tuple[str, str]]:
    """Atoms that are too close, and not bonded."""
    places = [(each, name) for each in protein.residues for name in each.atoms]
    points = np.array([each.atoms[name] for each, name in places])
    joined = {
        (one.place, other.place) for chain in protein.chains for one, other in pairwise(chain)
    }
    for number, (residue, name) in enumerate(places[:-1]):
        near = np.linalg.norm(points[number + 1 :] - points[number], axis=1) < CLOSEST
        for at in np.flatnonzero(near) + number + 1:
            other, its = places[int(at)]
            is_joined = (residue.place, other.place) in joined and (name, its) == ("C", "N")
            if not is_joined and not (residue is other and _are_bonded(residue, name, its)):
                yield (
                    f"{name} of {residue} and {its} of {other} are closer than {CLOSEST} Å",
                    "Move atoms apart that are not bonded.",
                )


def _are_bonded(residue: Residue, name: str, its: str) -> bool:
    """Whether the table has a bond between two atoms of a residue."""
    pairs = (*BONDS[residue.name], ("C", _LAST))
    return (name, its) in pairs or (its, name) in pairs


def _unit(vector: Any) -> Any:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def _lines(residue: Residue) -> str:
    """A residue as a text; a file gives three decimals."""
    return "\n".join(
        f"{residue.name} {residue.place} {name} {','.join(f'{x:.3f}' for x in at)}"
        for name, at in sorted(residue.atoms.items())
    )


def _bad(reason: str, feedback: str = HOW) -> CandidateError:
    return CandidateError(reason, feedback=feedback)
