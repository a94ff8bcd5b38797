"""Basis sets: how many functions each has for an element, and a molecule's atoms from its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

BASES: Mapping[str, Mapping[int, int]] = {
    "sto-3g": {2: 1, 10: 5, 18: 9, 20: 13, 36: 18, 38: 22, 53: 27},
    "3-21g": {2: 2, 10: 9, 18: 13, 20: 17, 30: 27, 36: 22, 38: 26, 48: 36, 54: 31, 55: 35},
    "6-31g": {2: 2, 10: 9, 18: 13, 20: 17, 30: 27},
    "6-31g*": {2: 2, 10: 14, 18: 18, 20: 22, 30: 34, 36: 32},
    "6-31g**": {2: 5, 10: 14, 18: 18, 20: 22, 30: 34},
    "6-31+g*": {2: 2, 10: 18, 18: 22, 20: 26},
    "6-311g*": {2: 3, 10: 18, 18: 26, 20: 39, 30: 0, 36: 44, 52: 0, 53: 62},
    "6-311g**": {2: 6, 10: 18, 18: 26, 20: 39, 30: 0, 36: 44, 52: 0, 53: 62},
    "6-311+g**": {2: 6, 10: 22, 18: 30, 20: 43},
    "cc-pvdz": {2: 5, 10: 14, 18: 18, 19: 0, 20: 27, 30: 43, 36: 27},
    "cc-pvtz": {2: 14, 10: 30, 18: 34, 19: 0, 20: 43, 30: 68, 36: 43},
    "cc-pvqz": {2: 30, 10: 55, 18: 59, 19: 0, 20: 68, 30: 104, 36: 68},
    "aug-cc-pvdz": {2: 9, 10: 23, 18: 27, 20: 0, 30: 59, 36: 36},
    "aug-cc-pvtz": {2: 23, 10: 46, 18: 50, 20: 0, 30: 93, 36: 59},
    "def2-svp": {2: 5, 4: 9, 10: 14, 11: 15, 18: 18, 20: 24, 30: 31, 36: 32, 37: 24, 38: 23,
        48: 31, 53: 26, 54: 50, 55: 24, 56: 23, 57: 32, 71: 0, 80: 32, 85: 26, 86: 50},
    "def2-svpd": {2: 8, 4: 12, 7: 20, 10: 23, 11: 18, 12: 21, 15: 24, 20: 27, 30: 34, 33: 38,
        36: 41, 37: 27, 38: 26, 48: 34, 51: 32, 53: 35, 54: 59, 55: 27, 56: 26, 57: 35, 71: 0,
        80: 35, 83: 32, 85: 35, 86: 59},
    "def2-tzvp": {2: 6, 3: 14, 4: 19, 10: 31, 12: 32, 18: 37, 19: 33, 20: 36, 29: 45, 36: 48,
        38: 33, 48: 40, 54: 50, 55: 29, 57: 40, 71: 0, 79: 40, 80: 43, 86: 50},
    "def2-tzvpp": {2: 14, 4: 19, 10: 31, 12: 32, 18: 42, 19: 33, 20: 36, 30: 64, 36: 48, 38: 40,
        48: 56, 54: 50, 55: 36, 56: 40, 57: 56, 71: 0, 79: 56, 80: 59, 86: 50},
    "def2-tzvpd": {2: 9, 3: 17, 4: 22, 7: 37, 10: 40, 12: 35, 15: 43, 18: 46, 20: 36, 29: 48,
        30: 51, 33: 54, 36: 57, 38: 33, 48: 40, 51: 56, 54: 59, 55: 32, 56: 40, 57: 43, 71: 0,
        79: 43, 80: 46, 83: 56, 86: 59},
    "def2-tzvppd": {2: 17, 4: 22, 7: 37, 10: 40, 12: 35, 15: 48, 18: 51, 20: 36, 30: 67, 33: 54,
        36: 57, 38: 40, 51: 56, 54: 59, 55: 39, 56: 40, 57: 59, 71: 0, 79: 59, 80: 62, 83: 56,
        86: 59},
    "def2-qzvp": {2: 30, 3: 35, 4: 36, 10: 57, 11: 46, 12: 51, 18: 70, 20: 56, 30: 84, 36: 75,
        38: 49, 48: 72, 54: 82, 55: 48, 56: 44, 57: 72, 71: 0, 80: 72, 86: 82},
    "lanl2dz": {1: 2, 2: 0, 10: 9, 18: 8, 20: 12, 29: 22, 30: 18, 36: 8, 38: 12, 47: 22, 48: 18,
        54: 8, 56: 12, 57: 22, 71: 0, 79: 22, 81: 18, 83: 8, 91: 0, 94: 36},
    "pcseg-1": {2: 5, 4: 9, 10: 14, 12: 10, 18: 18, 20: 24, 30: 31, 36: 27},
    "pcseg-2": {2: 14, 4: 15, 10: 30, 12: 19, 18: 34, 20: 33, 30: 56, 36: 43},
}  # fmt: skip
"""So many functions of an atom, up to and with the element of each number; none beyond the last.
As PySCF 2.14 has them, which PySCF itself need not be loaded for. All are spherical."""
CELL_BASES: Mapping[str, Mapping[int, int]] = {
    "gth-szv": {2: 1, 4: 2, 10: 4, 12: 5, 18: 4},
    "gth-dzvp": {2: 5, 4: 14, 10: 13, 12: 14, 18: 13},
    "gth-tzvp": {2: 6, 4: 18, 10: 17, 12: 18, 18: 17},
    "gth-tzv2p": {2: 9, 4: 23, 10: 22, 12: 23, 18: 22},
}  # fmt: skip
"""The same of bases for crystals, which go with pseudopotentials."""
CORES = {"def2": 36, "lanl2dz": 10}
"""Heavier elements have an effective core potential, which goes with the basis."""
SYMBOLS = (
    "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S",
    "Cl", "Ar", "K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga",
    "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd",
    "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm",
    "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os",
    "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa",
    "U", "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db", "Sg",
    "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og",
)  # fmt: skip
_NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS, start=1)}
_UNKNOWN = len(SYMBOLS) + 1
"""What no basis has."""


def functions_of(basis: str, number: int) -> int:
    """How many functions an element has in a basis; 0 where there are none.

    Example:
        >>> [functions_of("6-31g*", number) for number in (1, 6, 26, 53)]
        [2, 14, 34, 0]
    """
    counts = {**BASES, **CELL_BASES}[basis]
    return next((count for last, count in counts.items() if number <= last), 0)


_TOKEN = re.compile(
    r"\[\d*(?P<held>[A-Z][a-z]?|[a-z]+)(?:@+(?:[A-Z]{2}\d+)?)?(?P<hydrogens>H\d{0,2})?[^\]]*\]"
    r"|(?P<bare>Br|Cl|[BCNOPSFIbcnops])|(?P<bond>[=#$])|(?P<ring>%\d\d|\d)|(?P<branch>[().])"
)
_VALENCES: Mapping[str, tuple[int, ...]] = {
    "B": (3,), "C": (4,), "N": (3,), "O": (2,), "P": (3, 5), "S": (2, 4, 6), "F": (1,),
    "Cl": (1,), "Br": (1,), "I": (1,), "c": (3,),
}  # fmt: skip
"""Bonds of an atom outside brackets, which hydrogen fills up; aromatic ones hold it on carbon."""


def rough_number(symbol: str) -> int:
    """The atomic number of an element; one that no basis has where there is no such symbol.

    Example:
        >>> [rough_number(symbol) for symbol in ("He", "Xx")]
        [2, 119]
    """
    return _NUMBERS.get(symbol, _UNKNOWN)


def rough_numbers(smiles: str) -> list[int]:
    """Atomic numbers of a molecule, hydrogens included, read from its SMILES without RDKit.

    Example:
        >>> sorted(rough_numbers("CC(=O)O"))
        [1, 1, 1, 1, 6, 6, 8, 8]
    """
    atoms: list[tuple[str, int | None]] = []
    bonds: Counter[int] = Counter()
    rings: dict[str, tuple[int, int]] = {}
    branches: list[int] = []
    last, order = -1, 1
    for token in _TOKEN.finditer(smiles):
        if bond := token["bond"]:
            order = 2 + "=#$".index(bond)
        elif branch := token["branch"]:
            if branch == "(":
                branches.append(last)
            else:
                last = branches.pop() if branch == ")" and branches else -1
        elif ring := token["ring"]:
            if ring in rings:
                other, other_order = rings.pop(ring)
                bonds.update(dict.fromkeys((last, other), max(order, other_order)))
            else:
                rings[ring] = last, order
            order = 1
        else:
            atoms.append((token["held"] or token["bare"], _held(token)))
            if last >= 0:
                bonds.update(dict.fromkeys((last, len(atoms) - 1), order))
            last, order = len(atoms) - 1, 1
    hydrogens = sum(
        _room(symbol, bonds[place]) if held is None else held
        for place, (symbol, held) in enumerate(atoms)
    )
    return [*(rough_number(symbol.capitalize()) for symbol, _ in atoms), *[1] * hydrogens]


def _held(token: re.Match[str]) -> int | None:
    """How many hydrogens brackets tell; None of an atom outside of them."""
    if token["bare"]:
        return None
    told = token["hydrogens"]
    return int(told[1:] or 1) if told else 0


def _room(symbol: str, bonds: int) -> int:
    return next((most - bonds for most in _VALENCES.get(symbol, ()) if most >= bonds), 0)
