"""Files of crystals: CIF, POSCAR and extended XYZ, read within bounds.

A text is read here, and by no library: their parsers take names of files from a text, reserve what
it asks for, and read `nan` as a number. What is handed on are symbols of elements, numbers within
bounds, and operations of symmetry that were matched sign by sign.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from verifier_ladder.errors import CandidateError, ToolError
from verifier_ladder.text import printable

HOW = "Write one crystal as CIF, POSCAR or extended XYZ, alone or in a fenced block."
LONGEST = 100_000
"""Characters of the longest file."""
MOST_ATOMS = 1000
"""Atoms of the largest cell that any setting allows."""
_LINE = 1000
"""Characters of the longest line."""
_LARGEST = 1e4
"""The largest number."""
_LEAST_VOLUME = 0.1
"""Å³. What is smaller is flat."""
_LONGEST_VECTOR, _LEAST_HEIGHT = 1000.0, 0.01
"""Å. Within them a cell can be reduced without losing digits."""
_MERGED = 0.1
"""Å. Images of one site that are closer are one atom, as where a third was written as 0.3333."""
_UNLIKE = 0.01
"""How much an operation may change squares of lengths, as a part of the longest."""
_MOST_OPERATIONS = 192
_LAST = 96
"""Curium: of heavier elements no size is known."""
_SIZE = 3
_MODE = 7
"""The line of a POSCAR that says what coordinates are parts of, or that some are fixed."""
_HEAD = 2
"""Lines of an XYZ above its atoms."""
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,12}\.?[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?", re.ASCII
)
_COUNT = re.compile(r"[0-9]{1,12}", re.ASCII)
_TERM = r"(?:[xyz]|[0-9]{1,2}(?:/[1-9][0-9]?)?|0?\.[0-9]{1,8})"
_PART = rf"[+-]?{_TERM}(?:[+-]{_TERM}){{0,3}}"
_OPERATION = re.compile(rf"{_PART},{_PART},{_PART}", re.ASCII)

Array = np.ndarray[Any, np.dtype[Any]]


class Crystal(NamedTuple):
    """Atoms in a cell that repeats without end."""

    symbols: tuple[str, ...]
    lattice: Array
    """Its vectors as rows, in Å; right-handed."""
    places: Array
    """In parts of the lattice vectors, a row for each atom."""

    @property
    def volume(self) -> float:
        """Å³."""
        return float(np.linalg.det(self.lattice))

    @property
    def numbers(self) -> list[int]:
        """Atomic numbers."""
        return [elements()[symbol] for symbol in self.symbols]

    @property
    def formula(self) -> str:
        """What its atoms make together, in lowest terms and in the order of the alphabet.

        Example:
            >>> Crystal(("Pt", "Al", "Pt"), np.eye(3), np.zeros((3, 3))).formula
            'AlPt2'
        """
        counts = Counter(self.symbols)
        common = gcd(*counts.values())
        parts = sorted(counts.items())
        return "".join(f"{symbol}{n // common if n > common else ''}" for symbol, n in parts)


@cache
def elements() -> Mapping[str, int]:
    """Atomic numbers by symbol, of elements whose size is known.

    Raises:
        ToolError: If ASE is not installed.
    """
    try:
        from ase.data import chemical_symbols
    except ImportError as error:
        raise missing("ASE", "materials", error) from error
    return {
        symbol: number for number, symbol in enumerate(chemical_symbols[: _LAST + 1]) if number
    }


def ask_spglib(function: str, *arguments: Any, **settings: Any) -> Any:
    """What the library of symmetry answers.

    Raises:
        ToolError: If it is not installed.
    """
    try:
        import spglib
    except ImportError as error:
        raise missing("spglib", "materials", error) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It warns of how it will tell failures one day.
        return getattr(spglib, function)(*arguments, **settings)


def missing(what: str, extra: str, error: ImportError) -> ToolError:
    """The error for a library that is not installed."""
    return ToolError(f"{what} can't be imported ({error}); pip install '.[{extra}]' in a clone")


def read(text: str, max_atoms: int) -> Crystal:
    r"""Read a file that holds one crystal.

    Args:
        text: The file and nothing else.
        max_atoms: Atoms of the largest cell.

    Raises:
        CandidateError: If it is none, or beyond a bound.

    Example:
        >>> read("copper\n1.0\n0 1.8 1.8\n1.8 0 1.8\n1.8 1.8 0\nCu\n1\nDirect\n0 0 0", 9).symbols
        ('Cu',)
    """
    if len(text) > LONGEST:
        raise bad(f"the file is {len(text)} characters long; at most {LONGEST} are read")
    lines = text.split("\n")
    if any(len(line) > _LINE for line in lines):
        raise bad(f"a line is longer than {_LINE} characters")
    if re.search(r"^[ \t]*(?:data_|loop_|_cell_)", text, re.MULTILINE | re.IGNORECASE):
        return _cif(text, max_atoms)
    if _is_xyz(lines):
        return _xyz(lines, max_atoms)
    return _poscar([line.split() for line in lines], max_atoms)


def bad(reason: str, advice: str = HOW) -> CandidateError:
    """The error for a text that is no crystal."""
    return CandidateError(reason, feedback=advice)


# ---- Numbers and what is made of them


def _number(word: str, what: str) -> float:
    if not _NUMBER.fullmatch(word) or abs(value := float(word)) > _LARGEST:
        raise bad(
            f"{what} {_shown(word)} is no number up to {_LARGEST:g}",
            "Write finite decimal numbers.",
        )
    return value


def _vector(words: Sequence[str], what: str) -> list[float]:
    if len(words) < _SIZE:
        raise bad(f"{what} has fewer than three numbers")
    return [_number(word, what) for word in words[:_SIZE]]


def _count(word: str, max_atoms: int) -> int:
    if not _COUNT.fullmatch(word) or not 1 <= int(word) <= max_atoms:
        raise bad(
            f"{_shown(word)} is no number of atoms from 1 to {max_atoms}",
            f"Propose a cell of at most {max_atoms} atoms.",
        )
    return int(word)


def _element(word: str) -> str:
    if word not in elements():
        raise bad(f"{_shown(word)} is no known element", "Write symbols of elements, such as Na.")
    return word


def _shown(word: str) -> str:
    return repr(printable(word, 40))


def _crystal(symbols: Iterable[str], lattice: Array, places: Any) -> Crystal:
    volume = float(np.linalg.det(lattice))
    if volume < _LEAST_VOLUME:
        kind = "a negative" if volume < -_LEAST_VOLUME else "no"
        raise bad(
            f"the lattice vectors enclose {kind} volume",
            "Give three lattice vectors that are right-handed and not in one plane.",
        )
    heights = 1 / np.linalg.norm(np.linalg.inv(lattice), axis=0)
    if np.linalg.norm(lattice, axis=1).max() > _LONGEST_VECTOR or heights.min() < _LEAST_HEIGHT:
        raise bad(
            f"the cell is longer than {_LONGEST_VECTOR:g} Å, or flatter than {_LEAST_HEIGHT:g} Å",
            "Give short lattice vectors.",
        )
    return Crystal(tuple(symbols), lattice, np.array(places, dtype=float).reshape(-1, 3) % 1.0)


def _inverse(lattice: Array) -> Array:
    if abs(np.linalg.det(lattice)) < _LEAST_VOLUME:
        raise bad("the lattice vectors enclose no volume", "Give vectors that span space.")
    return np.linalg.inv(lattice)


# ---- POSCAR


def _poscar(words: list[list[str]], max_atoms: int) -> Crystal:
    if len(words) > 1 and len(words[0]) == 1 and len(words[1]) == _SIZE:
        words = [[], *words]  # An empty title was taken for an empty line.
    if len(words) <= _MODE or len(words[1]) != 1:
        raise bad("the text is neither CIF, POSCAR nor extended XYZ")
    vectors = np.array([_vector(row, "a lattice vector") for row in words[2:5]])
    factor = _scale(_number(words[1][0], "the scale"), vectors)
    lattice = factor * vectors
    symbols = list(_counted(words[5], words[6], max_atoms))
    mode = _MODE + _begins(words[_MODE], "Ss")  # Selective dynamics.
    places = _rows(words[mode:], len(symbols))
    if _begins(words[mode], "CcKk"):
        places = factor * places @ _inverse(lattice)
    return _crystal(symbols, lattice, places)


def _scale(value: float, lattice: Array) -> float:
    """What lengths are multiplied by; where it is negative, its amount is the volume."""
    volume = abs(float(np.linalg.det(lattice)))
    return value if value >= 0 or not volume else float((-value / volume) ** (1 / 3))


def _counted(names: Sequence[str], counts: Sequence[str], max_atoms: int) -> Iterator[str]:
    if not names or len(names) != len(counts) or len(names) > max_atoms:
        raise bad("the POSCAR does not say how many atoms of which element there are")
    numbers = [_count(word, max_atoms) for word in counts]
    _count(str(sum(numbers)), max_atoms)
    for name, number in zip(names, numbers, strict=True):
        yield from [_element(re.split("[_/]", name, maxsplit=1)[0])] * number


def _rows(words: Sequence[Sequence[str]], atoms: int) -> Array:
    """The places below the line that says what they are parts of."""
    if not words or not _begins(words[0], "DdCcKk"):
        raise bad("the POSCAR does not say whether its coordinates are Direct or Cartesian")
    rows, behind = words[1 : 1 + atoms], words[1 + atoms : 2 + atoms]
    if len(rows) < atoms or any(behind):
        raise bad(f"the POSCAR counts {atoms} atoms, and lists fewer or more")
    return np.array([_vector(row, "a coordinate") for row in rows])


def _begins(words: Sequence[str], letters: str) -> bool:
    return bool(words) and words[0][0] in letters


# ---- Extended XYZ


class _State(NamedTuple):
    """What a field or a column says of electrons."""

    what: str
    is_sum: bool
    """Whether that is all of its numbers together, or the largest of them."""
    most: float
    """Up to which it says nothing: results are rounded, and a spin is a multiplicity to some."""


_CHARGE = _State("a charge", is_sum=True, most=0.05)
_MOMENT = _State("magnetic moments", is_sum=False, most=0.05)
_STATES: Mapping[str, _State] = {
    **dict.fromkeys(
        ("charge", "charges", "initial_charges", "total_charge", "tot_charge"), _CHARGE
    ),
    **dict.fromkeys(("magmom", "magmoms", "initial_magmoms", "total_magmom", "spins"), _MOMENT),
    **dict.fromkeys(
        ("spin", "total_spin", "multiplicity", "spin_multiplicity"), _MOMENT._replace(most=1.0)
    ),
}
"""By the names that ASE and data sets give them."""
_NEUTRAL = "Leave charges and magnetic moments out: cells are neutral, and moments are found."


def _is_xyz(lines: Sequence[str]) -> bool:
    if len(lines) <= _HEAD or not _COUNT.fullmatch(lines[0].strip()):
        return False
    return "lattice" in lines[1].lower() or lines[_HEAD].lstrip()[:1].isalpha()


def _xyz(lines: Sequence[str], max_atoms: int) -> Crystal:
    atoms, head = _count(lines[0].strip(), max_atoms), lines[1]
    rows = [line.split() for line in lines[_HEAD : _HEAD + atoms]]
    if len(rows) < atoms or any(line.strip() for line in lines[_HEAD + atoms :]):
        raise bad(f"the XYZ counts {atoms} atoms, and lists fewer or more")
    vectors = _field(head, "lattice").split()
    if len(vectors) != _SIZE * _SIZE:
        raise bad("the XYZ has no Lattice of nine numbers", 'Write Lattice="ax ay az bx … cz".')
    lattice = np.array([_number(word, "a lattice vector") for word in vectors]).reshape(3, 3)
    if any(word.lower() not in {"t", "true", "1"} for word in _field(head, "pbc").split()):
        raise bad("the XYZ is not periodic in all directions", 'Write pbc="T T T".')
    columns = _columns(_field(head, "properties") or "species:S:1:pos:R:3")
    symbols = [_element(" ".join(row[columns["species"]])) for row in rows]
    places = np.array([_vector(row[columns["pos"]], "a coordinate") for row in rows])
    for name, state in _STATES.items():
        _refuse_state(name, state, _field(head, name).split())
        if name in columns:
            _refuse_state(name, state, [word for row in rows for word in row[columns[name]]])
    return _crystal(symbols, lattice, places @ _inverse(lattice))


def _refuse_state(name: str, state: _State, words: Sequence[str]) -> None:
    """Complain of electrons that a canonical form has no room for.

    Charges of atoms that make none together are a result, such as energies, and passed over.
    """
    values = [_number(word, name) for word in words]
    amount = abs(sum(values)) if state.is_sum else max(map(abs, values), default=0.0)
    if amount > state.most:
        raise bad(f"the file tells {state.what} ({_shown(name)}), and none is read", _NEUTRAL)


def _field(head: str, name: str) -> str:
    """The value of a field of the second line; "" if there is none.

    Of one that stands there twice each program takes another.
    """
    pattern = rf"(?:^|\s){name}\s?=\s?(?:[\"{{]([^\"{{}}]*)[\"}}]|(\S+))"
    found = re.findall(pattern, head, re.IGNORECASE)
    if len(found) > 1:
        raise bad(f"the XYZ has the field {name} twice")
    return next(("".join(each) for each in found), "")


def _columns(properties: str) -> Mapping[str, slice]:
    """In which columns what stands, by its name in small letters."""
    words = properties.split(":")
    kinds = list(zip(words[::3], words[1::3], words[2::3], strict=False))
    columns: dict[str, slice] = {}
    start = 0
    for name, _, width in kinds:
        end = start + (int(width) if re.fullmatch("[1-9]", width, re.ASCII) else _LINE)
        columns[name.lower()] = slice(start, end)
        start = end
    wanted = (("species", "S", "1"), ("pos", "R", "3"))
    if len(words) % _SIZE or not all(kind in kinds for kind in wanted):
        raise bad("the XYZ has no columns species:S:1 and pos:R:3")
    if len(columns) < len(kinds):
        raise bad("the XYZ has two columns of one name")
    return columns


# ---- CIF

_TOKEN = re.compile(
    r"^;(?P<text>[^\n]*(?:\n(?!;)[^\n]*)*)\n;|(?P<remark>#[^\n]*)"
    r"|'(?P<single>[^'\n]*(?:'(?=\S)[^'\n]*)*)'(?=\s|\Z)"
    r'|"(?P<double>[^"\n]*(?:"(?=\S)[^"\n]*)*)"(?=\s|\Z)'
    r"|(?P<word>\S+)",
    re.MULTILINE,
)
_RESERVED = ("save_", "global_", "stop_", "data_", "loop_")
_CELL = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
_SYMMETRY = (
    "_space_group_symop_operation_xyz", "_space_group_symop.operation_xyz",
    "_symmetry_equiv_pos_as_xyz",
)  # fmt: skip
_GROUP = {
    "_space_group_it_number": "number", "_space_group.it_number": "number",
    "_symmetry_int_tables_number": "number",
    "_space_group_name_h-m_alt": "name", "_space_group.name_h-m_alt": "name",
    "_symmetry_space_group_name_h-m": "name",
    "_space_group_name_hall": "hall", "_space_group.name_hall": "hall",
    "_symmetry_space_group_name_hall": "hall",
}  # fmt: skip
"""Tags that name a space group, and how."""
_MAGNETIC = ("_atom_site_moment", "_space_group_magn", "_space_group_symop_magn",
             "_space_group_symop.magn", "_parent_space_group")  # fmt: skip
"""How tags of magnetic CIFs begin. Their operations of symmetry have names of their own."""
_SETTINGS = 530
"""Space groups in all axes and origins that International Tables have."""
Operations = list[tuple["Array", "Array"]]
Items = Mapping[str, Sequence[str]]


def _cif(text: str, max_atoms: int) -> Crystal:
    items = _items(text)
    if any(tag.startswith(_MAGNETIC) for tag in items):
        raise bad("the CIF tells magnetic moments, or a symmetry of them; none is read", _NEUTRAL)
    a, b, c, alpha, beta, gamma = (_value(items, f"_cell_{name}") for name in _CELL)
    lattice = _lattice([a, b, c], np.radians([alpha, beta, gamma]))
    sites = [_column(items, f"_atom_site_fract_{axis}") for axis in "xyz"]
    symbols = _symbols(items)
    if len({len(symbols), *map(len, sites)}) > 1:
        raise bad("the CIF does not list a symbol and three coordinates for each atom")
    if any(share != 1.0 for share in _occupancies(items)):
        raise bad(
            "atoms with an occupancy other than 1 are not read", "Propose an ordered crystal."
        )
    _count(str(len(symbols)), max_atoms)
    operations = _operations(items, lattice)
    atoms: list[str] = []
    places: list[Array] = []
    for symbol, *words in zip(symbols, *sites, strict=True):
        place = np.array([_number(_certain(word), "a coordinate") for word in words])
        found = _orbit(place, operations, lattice)
        _count(str(len(atoms) + len(found)), max_atoms)
        atoms += [symbol] * len(found)
        places += found
    return _crystal(atoms, lattice, places)


def _items(text: str) -> dict[str, list[str]]:
    """The values of each tag; a tag outside loops has one."""
    items: dict[str, list[str]] = {}
    open_tags: list[str] = []
    values: list[str] = []
    blocks, in_head = 0, False
    for token, is_bare in _tokens(text):
        low = token.lower()
        if is_bare and low.startswith(("_", *_RESERVED)):
            if not (in_head and low.startswith("_")):
                _close(items, open_tags, values)
                open_tags, values, in_head = [], [], low == "loop_"
            if low.startswith("_"):
                open_tags.append(low)
            elif low.startswith("data_") and not blocks:
                blocks += 1
            elif low != "loop_":
                raise bad("the CIF holds more than one block, or a frame", "Write one block.")
        else:
            values.append(token)
            in_head = False
    _close(items, open_tags, values)
    return items


def _close(items: dict[str, list[str]], tags: Sequence[str], values: Sequence[str]) -> None:
    """Take the values of a tag or a loop that ends here."""
    if not tags and not values:
        return
    if not tags or not values or len(values) % len(tags):
        raise bad("the CIF holds values without a tag, or a tag or loop that lacks values")
    for place, tag in enumerate(tags):
        if tag in items:
            raise bad(f"the CIF has the tag {_shown(tag)} twice")
        items[tag] = list(values[place :: len(tags)])


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Words and quoted texts, and whether they are bare words."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "remark":
            yield match[kind], kind == "word"


def _value(items: Items, tag: str) -> float:
    found = items.get(tag, ())
    if len(found) != 1:
        raise bad(f"the CIF has no {tag}")
    return _number(_certain(found[0]), tag)


def _certain(word: str) -> str:
    """A number without the digits that say how uncertain it is."""
    return re.sub(r"\([0-9]{1,9}\)\Z", "", word)


def _column(items: Items, tag: str) -> Sequence[str]:
    if not items.get(tag):
        raise bad(f"the CIF has no {tag}")
    return items[tag]


def _symbols(items: Items) -> list[str]:
    """The elements of the sites, by their types or else their labels."""
    if words := items.get("_atom_site_type_symbol"):
        return [_element(re.sub(r"[0-9]{0,2}[+-]?[0-9]?\Z", "", word)) for word in words]
    words = _column(items, "_atom_site_label")
    found = [re.match("[A-Z][a-z]?", word) for word in words]
    return [_element(each[0] if each else word) for word, each in zip(words, found, strict=True)]


def _occupancies(items: Items) -> Iterator[float]:
    for word in items.get("_atom_site_occupancy", ()):
        yield 1.0 if word in {".", "?"} else _number(_certain(word), "an occupancy")


def _lattice(lengths: Sequence[float], angles: Array) -> Array:
    """Vectors by their lengths and angles."""
    if min(lengths) <= 0 or not all(0 < angle < np.pi for angle in angles):
        raise bad("the cell has a length or an angle that no cell has")
    cos_a, cos_b, cos_c = np.cos(angles)
    sin_c = np.sin(angles[2])
    x = (cos_a - cos_b * cos_c) / sin_c
    squared = 1 - cos_b**2 - x**2
    if squared <= 0:
        raise bad(
            "the cell has angles that no cell has", "Give angles that three vectors can have."
        )
    shape = [[1, 0, 0], [cos_c, sin_c, 0], [cos_b, x, np.sqrt(squared)]]
    return np.array(lengths)[:, None] * np.array(shape)


def _operations(items: Items, lattice: Array) -> Operations:
    """What makes the other atoms of the cell: rotations and shifts, as parts of its vectors."""
    listed = next((items[tag] for tag in _SYMMETRY if tag in items), None)
    named = [_listed(listed)] if listed else _of_group(items)
    if not (found := [each for each in named if _has(lattice, each)]):
        raise bad("the cell does not have the symmetry that the CIF names")
    if len(found) > 1:
        raise bad(
            "the space group has more than one origin in such a cell",
            "List the operations of symmetry.",
        )
    return found[0]


def _has(lattice: Array, operations: Operations) -> bool:
    """Whether a lattice has the symmetry, all but a hundredth."""
    metric = lattice @ lattice.T
    room = _UNLIKE * float(np.abs(metric).max())
    return all(np.abs(turn.T @ metric @ turn - metric).max() <= room for turn, _ in operations)


def _listed(words: Sequence[str]) -> Operations:
    from ase.spacegroup.spacegroup import parse_sitesym

    if len(words) > _MOST_OPERATIONS:
        raise bad(f"the CIF lists {len(words)} operations; there are at most {_MOST_OPERATIONS}")
    plain = [re.sub("[ \t]", "", word).lower() for word in words]
    for word, given in zip(plain, words, strict=True):
        if not _OPERATION.fullmatch(word):
            raise bad(f"{_shown(given)} is no operation of symmetry", "Write such as -x,y+1/2,-z.")
    return list(zip(*parse_sitesym(plain), strict=True))


def _of_group(items: Items) -> list[Operations]:
    """The operations of the space group that is named, in each setting that it may be meant in.

    A name of several settings means the standard one, except where those differ in the origin, or
    in whether a rhombohedron has hexagonal axes: files have all of these.
    """
    told = {(kind, _plain(items[tag][0])) for tag, kind in _GROUP.items() if tag in items}
    named = [each for each in _settings() if (told or {("number", "1")}) <= each.names]
    if not named:
        word = next(items[tag][0] for tag in _GROUP if tag in items)
        raise bad(f"{_shown(word)} is no space group, or not the one that stands beside it")
    meant = named if named[0].choice[:1] in {"1", "2", "H", "R"} else named[:1]
    return [_database(each.place) for each in meant]


class _Setting(NamedTuple):
    """A space group in one of its settings."""

    place: int
    """In the table of all settings."""
    choice: str
    """The axes, or the origin."""
    names: frozenset[tuple[str, str]]
    """What it is called, and by which kind of tag."""


@cache
def _settings() -> Sequence[_Setting]:
    return [_setting(place) for place in range(1, _SETTINGS + 1)]


def _setting(place: int) -> _Setting:
    found = ask_spglib("get_spacegroup_type", place)
    full = found.international_full
    names = {found.international_short, full, *found.international.split(" = ")}
    names |= {" ".join(word for word in full.split() if word != "1")}  # P 1 21/n 1 is P 21/n.
    names |= {f"{name}:{found.choice}" for name in names}
    return _Setting(place, found.choice, frozenset({
        ("number", str(found.number)), ("hall", _plain(found.hall_symbol)),
        *(("name", _plain(name)) for name in names),
    }))  # fmt: skip


def _plain(name: str) -> str:
    return re.sub("[ _]", "", name).lower()


def _database(place: int) -> Operations:
    found = ask_spglib("get_symmetry_from_database", place)
    return list(zip(found["rotations"], found["translations"], strict=True))


def _orbit(place: Array, operations: Operations, lattice: Array) -> list[Array]:
    """The images of a site, each once; images that all but coincide are their mean."""
    groups: list[list[Array]] = []
    for rotation, shift in operations:
        image = rotation @ place + shift
        steps = np.array([image - group[0] for group in groups]).reshape(-1, 3)
        steps -= np.rint(steps)
        near = np.nonzero(np.linalg.norm(steps @ lattice, axis=1) < _MERGED)[0]
        if len(near):
            groups[near[0]].append(groups[near[0]][0] + steps[near[0]])
        else:
            groups.append([image])
    return [np.mean(group, axis=0) for group in groups]
