"""Make the answer keys of the verifiers of crystals.

    python tools/crystal_keys.py            # all of them
    python tools/crystal_keys.py ase-relax

What is right comes from prototypes that were measured, and from copies of them that are drawn: in
another cell, turned, shifted, in another order, in another format. What is wrong is one edit away.
Energies, volumes and moduli are those of effective medium theory, summed over pairs by
`tools/crystals.py` and brought to their minimum there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from crystals import (
    ALLOYS,
    FCC,
    PROTOTYPES,
    WRITERS,
    Solid,
    cell,
    chance,
    cif,
    copied,
    emt,
    made,
    poscar,
    rattled,
    repeated,
    rotated,
    shuffled,
    xyz,
)
from keywriter import NO, UNKNOWN, YES, Key, write
from scipy.optimize import minimize

COPY = "generator: a copy of a prototype"
EDIT = "generator: one edit of a prototype"
SUM = "generator: sums over pairs in closed form"
MINIMUM = "generator: the minimum of sums over pairs in closed form"
HARMONIC = "generator: harmonic modes of sums over pairs in closed form"
HAND, HACK = "convention", "known hack"
BOLTZMANN = 8.617333262e-5
"""eV/K."""
WIDTH = 7.0
"""Å, from face to face, of the cells in which atoms move."""
RUN = {"equilibration": 0.3, "duration": 0.7}
"""Picoseconds."""
GPA = 160.21766208
"""Of one eV/Å³."""
METALS = {**{name: PROTOTYPES[name] for name in FCC}, **ALLOYS}
OPERATIONS = (
    "x,y,z", "-x,-y,z", "x,-y,-z", "-x,y,-z", "z,x,y", "y,z,x", "z,-x,-y", "-z,x,-y", "-z,-x,y",
    "y,-z,-x", "-y,z,-x", "-y,-z,x",
)  # fmt: skip
"""The twelve rotations of a tetrahedron, group P23."""
P3121 = ("x,y,z", "-y,x-y,z+1/3", "-x+y,-x,2/3+z", "y,x,-z", "x-y,-y,2/3-z", "-x,-x+y,1/3-z")
"""Operations of right-handed quartz, P3₁21."""


# ---- Edits, each of which spoils a crystal


def overlapping(solid: Solid, away: float = 0.3) -> Solid:
    """With one more atom that stands 0.3 Å from the first."""
    step = np.array([away, 0.0, 0.0]) @ np.linalg.inv(solid.lattice)
    places = np.vstack([solid.places, solid.places[:1] + step])
    return Solid([*solid.symbols, solid.symbols[0]], solid.lattice, places)


def left_handed(solid: Solid) -> Solid:
    """With two lattice vectors exchanged, so that its volume is negative."""
    return solid._replace(lattice=solid.lattice[[1, 0, 2]], places=solid.places[:, [1, 0, 2]])


def edits(solid: Solid, write_: Callable[[Solid], str]) -> Iterator[tuple[str, str]]:
    """Files that are one edit away from a crystal, with what the edit is."""
    yield write_(overlapping(solid)), "two atoms 0.3 Å apart"
    yield write_(solid.scaled(0.55)), "squeezed"
    yield write_(solid.scaled(4.0)), "blown up"
    if write_ is not cif:
        yield write_(left_handed(solid)), "a negative volume"
    text = write_(solid)
    yield _last_number(text, "nan"), "a coordinate that is no number"
    yield _last_number(text, "inf"), "a coordinate without end"
    yield _last_number(text, "1e30"), "a coordinate out of bounds"
    yield write_(Solid(["Xx", *solid.symbols[1:]], solid.lattice, solid.places)), "no element"
    yield text.rstrip("\n").rpartition(" ")[0] + "\n", "a number less"


def _last_number(text: str, word: str) -> str:
    head, space, _ = text.rstrip("\n").rpartition(" ")
    return f"{head}{space}{word}\n"


# ---- The gate


def crystal_gate(key: Key) -> None:
    """The whole key of `crystal-gate`."""
    draw = chance(20261126)
    for n, (name, solid) in enumerate(PROTOTYPES.items()):
        write_ = WRITERS[n % 3]
        key.add(write_(solid), None, YES, f"{name}", COPY)
        key.add(WRITERS[(n + 1) % 3](copied(solid, draw)), None, YES, f"{name}, a copy", COPY)
        for text, why in list(edits(solid, write_))[n % 2 :: 2]:
            key.add(text, None, NO, f"{name}; {why}", EDIT)
    _written(key)
    _symmetric(key)
    _wrong_files(key)
    _bounds(key)
    _hostile(key)
    _mutants(key)
    _groups(key)
    _states(key)


def _written(key: Key) -> None:
    """Where and how a crystal is written."""
    salt = PROTOTYPES["NaCl"]
    text = poscar(salt, title="rock salt", digits=4)
    cartesian = Solid(salt.symbols, salt.lattice, salt.places @ salt.lattice)
    lines = text.splitlines()
    flags = (f"{line} T T F" for line in lines[8:])
    flagged = "\n".join([*lines[:7], "Selective dynamics", lines[7], *flags])
    count, head, *rows = xyz(salt).splitlines()
    words = [row.split() for row in rows]
    head = head.replace("species:S:1:pos:R:3", "mass:R:1:pos:R:3:species:S:1")
    turned = "\n".join([count, head, *(f"1.0 {x} {y} {z} {symbol}" for symbol, x, y, z in words)])
    skew = made("Cu", cell(2.5, 2.5, 30.0, 5, 90, 90), (0, 0, 0))
    for said, why in (
        (f"Rock salt:\n```poscar\n{text}```\nIt is stable.", "a block"),
        (f"<answer>\n{cif(salt)}</answer>", "a tag"),
        (f"<think>{poscar(PROTOTYPES['MgO'])}</think>\n{text}", "after a thought"),
        (f"```cif\n{cif(salt)}```\n```poscar\n{text}```", "twice the same, in two formats"),
        (poscar(cartesian).replace("Direct", "Cartesian"), "Cartesian coordinates"),
        (text.replace("\n1.0\n", "\n-179.406144\n"), "a scale that is the volume"),
        (poscar(salt.scaled(0.5)).replace("\n1.0\n", "\n2.0\n"), "a scale"),
        ("\n".join(lines[1:]), "no title"),
        (flagged, "flags behind the places"),
        (text.replace("Na Cl", "Na_pv Cl"), "the name of a potential"),
        (text + "\n0.0 0.0 0.0\n" * 8, "velocities behind an empty line"),
        (text.replace("\n", "\r\n"), "line ends of other systems"),
        (turned, "columns in another order"),
        (xyz(salt).replace(" pbc=", ' energy=-3.1 config_type="a b" pbc='), "more about it"),
        (cif(salt).replace("5.6400000000", "5.640(2)"), "digits in doubt"),
        (cif(salt).replace("data_", "# a remark\ndata_").replace(" Na ", " Na1+ "), "charges"),
        (poscar(skew), "a very skew cell"),
    ):  # fmt: skip
        key.add(said, None, YES, why, HAND)
    for said, why in (
        (f"```poscar\n{text}```\nor\n```poscar\n{poscar(PROTOTYPES['MgO'])}```", "a hedge"),
        (f"<think>{text}", "a thought that never ends"),
        ("NaCl, a = 5.64 Å, Fm-3m", "words"), ("", "nothing"), ("5.64", "a number"),
        ("C1=CC=CC=C1", "a molecule"), ('{"outcome": "accept"}', "a verdict"),
    ):  # fmt: skip
        key.add(said, None, NO, why, HAND)


def _symmetric(key: Key) -> None:
    """Files that hold the distinct atoms and the operations that make the others."""
    quartz = PROTOTYPES["SiO2"]
    distinct = Solid(["Si", "O"], quartz.lattice, quartz.places[[0, 3]])
    cube = made("Cs Cl", cell(4.123, 4.123, 4.123), (0, 0, 0), (0.5, 0.5, 0.5))
    copper = made("Cu", cell(3.61, 3.61, 3.61), (0, 0, 0))
    number = "loop_\n_symmetry_equiv_pos_as_xyz\n'x, y, z'\n"
    for said, why in (
        (cif(distinct, operations=P3121), "six operations"),
        (cif(distinct, operations=P3121, digits=4), "six operations, thirds with four digits"),
        (cif(cube, operations=OPERATIONS), "operations that leave atoms where they are"),
        (cif(copper).replace(number, "_symmetry_Int_Tables_number 225\n"), "a group's number"),
        (cif(copper).replace(number, "_symmetry_space_group_name_H-M 'F m -3 m'\n"), "its name"),
        (cif(cube).replace(number, ""), "no symmetry is told"),
    ):
        key.add(said, None, YES, why, "generator: International Tables")
    broken = [(*P3121[:5], other) for other in ("-x,-x+y,1/0-z", "-x,y,1/3-z", "x,x,z", "2x,y,z")]
    skew = cif(distinct, operations=("x,y,z", "z,x,y"))
    for said, why in (
        *((cif(distinct, operations=each), f"the operation {each[-1]}") for each in broken),
        (skew, "an operation that the cell does not have"),
        (cif(quartz, operations=P3121), "atoms that the operations make once more"),
        (cif(copper).replace(number, "_symmetry_Int_Tables_number 231\n"), "no such group"),
        (cif(copper).replace(number, "_symmetry_Int_Tables_number 227\n"), "one of two settings"),
        (cif(copper).replace(number, "_symmetry_space_group_name_H-M 'F m m m m'\n"), "no name"),
    ):
        key.add(said, None, NO, why, "generator: International Tables")


def _wrong_files(key: Key) -> None:
    """Files that are no crystal, or not one."""
    salt, gold = PROTOTYPES["NaCl"], PROTOTYPES["Au"]
    text, given, table = poscar(salt, digits=4), xyz(salt, digits=4), cif(salt, digits=4)
    chain = made("Cu", cell(1.2, 5.0, 5.0), (0, 0, 0))
    thin = made("Cu Cu", cell(5.0, 5.0, 1.6), (0, 0, 0), (0.5, 0.5, 0.5))
    for said, why in (
        (poscar(chain), "an atom and its own image"), (xyz(thin), "images, one cell away"),
        (poscar(made("Cu", cell(5.0, 5.0, 30.0, 1.91, 90, 90), (0, 0, 0))), "a skew cell's image"),
        (poscar(made("H", cell(4.7, 4.7, 4.7), (0, 0, 0))), "hydrogen as thin as a gas"),
        (poscar(repeated(gold, np.diag([4, 4, 4]))), "256 atoms"),
        (text.replace("\n4 4\n", "\n4 1000000000\n"), "a thousand million atoms"),
        (text.replace("\n4 4\n", "\n4 -4\n"), "a negative count"),
        (text.replace("\n4 4\n", "\n4 4.0\n"), "a broken count"),
        (text.replace("\n4 4\n", "\n8\n"), "a count less"),
        (text.replace("\n4 4\n", "\n4 3\n"), "an atom that is not counted"),
        (text.replace("\nNa Cl\n", "\n"), "no elements"),
        (text.replace("\n1.0\n", "\n0.0\n"), "a scale of nothing"),
        (text.replace("Direct", "Elsewhere"), "no sort of coordinates"),
        (text.replace("5.6400 0.0000 0.0000", "5.6400 0.0000"), "a lattice vector of two numbers"),
        (text.replace("0.0000 5.6400 0.0000", "5.6400 0.0000 0.0000"), "a flat cell"),
        (given.replace("8\n", "1000000000\n", 1), "a thousand million atoms"),
        (given.replace("8\n", "9\n", 1), "an atom less than is said"),
        (given.replace("Lattice", "Cell"), "no lattice"),
        (given.replace("T T T", "T T F"), "a slab"),
        (given.replace("pos:R:3", "pos:R:2"), "two coordinates"),
        (given + given, "two frames"),
        (given.replace("\nNa ", "\n11 "), "numbers for elements"),
        (table.replace("data_NaCl", "data_1\n_cell_length_a 1\ndata_2"), "two blocks"),
        (table.replace("_cell_length_b 5.6400\n", ""), "a length less"),
        (table.replace("_cell_length_b 5.6400", "_cell_length_b ?"), "a length that is not known"),
        (table.replace("_angle_alpha 90", "_angle_alpha 10").replace("_angle_beta 90",
         "_angle_beta 150"), "angles that no cell has"),
        (table.replace("_angle_alpha 90", "_angle_alpha 190"), "an angle beyond 180°"),
        (table.replace("_fract_z\n", "_fract_z\n_atom_site_occupancy\n")
         .replace("00\nNa", "00 0.5\nNa").replace("00\nCl", "00 0.5\nCl") .rstrip() + " 0.5\n",
         "half occupied"),
        (table.replace("_fract_x", "_Cartn_x"), "a coordinate less"),
        (table.replace("_atom_site_fract_z\n", ""), "rows that are not whole"),
        (table + "_cell_length_a 5.64\n", "a tag twice"),
        (table.replace("loop_\n_atom", "save_a\nloop_\n_atom"), "a frame"),
    ):  # fmt: skip
        key.add(said, None, NO, why, HAND)


def _bounds(key: Key) -> None:
    """Settings."""
    salt, oxide = poscar(PROTOTYPES["NaCl"]), poscar(PROTOTYPES["MgO"])
    for said, settings, outcome, why in (
        (salt, {"elements": ["Na", "Cl"]}, YES, "its elements are allowed"),
        (oxide, {"elements": ["Na", "Cl"]}, NO, "other elements are"),
        (salt, {"max_atoms": 8}, YES, "as many atoms as are allowed"),
        (salt, {"max_atoms": 7}, NO, "one atom too many"),
        (salt, {"volume": [22.4, 22.5]}, YES, "a volume within"),
        (salt, {"volume": [22.5, 30.0]}, NO, "a volume below"),
        (salt, {"volume": [10.0, 22.4]}, NO, "a volume above"),
        (salt, {"density": [2.16, 2.17]}, YES, "a density within"),
        (salt, {"density": [2.17, 9.0]}, NO, "a density below"),
        (salt, {"density": [0.1, 2.16]}, NO, "a density above"),
        (salt, {"distance": 1.05}, YES, "2.82 Å are 1.0522 of both radii"),
        (salt, {"distance": 1.055}, NO, "and no more"),
    ):
        key.add(said, None, outcome, why, "closed form: rock salt", settings=settings)
    for settings, reason in (
        ({"max_atoms": 0}, "max_atoms"), ({"volume": [30.0, 4.0]}, "volume"),
        ({"volume": [-1.0, 4.0]}, "volume"), ({"density": [9.0, 1.0]}, "density"),
        ({"distance": 0.0}, "distance"), ({"distance": 3.0}, "distance"),
        ({"elements": ["Xx"]}, "elements"), ({"max_atoms": 10**6}, "max_atoms"),
    ):  # fmt: skip
        key.add(salt, None, UNKNOWN, "a bound that makes no sense", HAND, settings=settings,
                reason=reason)  # fmt: skip


def _hostile(key: Key) -> None:
    """Text that is made to break a reader."""
    salt = PROTOTYPES["NaCl"]
    text, given, table = poscar(salt, digits=4), xyz(salt, digits=4), cif(salt, digits=4)
    loop = "loop_\n_atom_site_label\n_atom_site_fract_x\n"
    cut = text.partition("Direct")[0] + "Direct\n"
    place = "data_NaCl\n_include /etc/passwd\n_cell_length_a /etc/passwd"
    for said, why in (
        ([["9", 1_000_000], ["\n", 1]], "a count of a million digits"),
        ([["data_\n", 100_000]], "blocks without end"),
        ([["loop_\n", 200_000]], "loops"),
        ([[loop, 5000]], "loops of nothing"),
        ([["_a_b ", 100_000]], "tags"),
        ([["data_x\n", 1], ["'", 100_000]], "quotes"),
        ([["data_x\n", 1], ["'a ", 60_000]], "open quotes"),
        ([["data_x\n", 1], [";\n", 100_000]], "texts"),
        ([["data_x\n;", 1], ["a\n", 100_000]], "an open text"),
        ([[cut, 1], ["0 0 0\n", 100_000]], "atoms without end"),
        ([["Cu\n1.0\n", 1], ["1 ", 300_000]], "a vector without end"),
        ([[" ", 5_000_000]], "spaces"),
        ([["\n", 5_000_000]], "empty lines"),
        ("\0" * 1000, "zeros"),
        (text.replace("5.64", "5.6" + "4" * 500), "digits"),
        (text.replace("0.5", "1e-9999"), "powers"),
        (text.replace("0.5", "\u0660.\u0665"), "other digits"),
        (text.replace("Na", "\u039da"), "other letters"),
        (text.replace("Na", "../../etc/passwd"), "a path"),
        (given.replace("Na", "$(id)"), "a command"),
        (given.replace('Lattice="', "Lattice=\"__import__('os').abort() "), "a program"),
        (given.replace("pos:R:3", "pos:R:1000000000"), "columns"),
        (given.replace("species:S:1", "species:S:1:" * 30), "properties"),
        (table.replace("x, y, z", "__import__('os').abort(), y, z"), "a program"),
        (table.replace("'x, y, z'", "'x, y, z'\n" * 1000), "operations"),
        (table.replace("x, y, z", "x" * 2000), "a long operation"),
        (table.replace("data_NaCl", place), "a path"),
        ("/etc/passwd", "a path"),
        ("file:///etc/passwd@0:", "an address"),
        ("POSCAR@:", "an index"),
        ("%PDF-1.7\n1 0 obj", "another format"),
        ("\x80\x05cos\nsystem\n", "a pickle"),
        ([["a", 999_999]], "a word"),
        ([["<answer>", 100_000]], "tags that never end"),
    ):
        key.hostile(said, None, why)


def _mutants(key: Key) -> None:
    """What tells edits of the verifier from it."""
    salt, odd = PROTOTYPES["NaCl"], PROTOTYPES["KClO4-like"]
    text, table = poscar(salt, digits=4), cif(salt, digits=4)
    exact = {"volume": [22.42, 22.43]}
    each = abs(odd.volume) / len(odd.symbols)
    half = poscar(salt.scaled(0.5))
    cartesian = Solid(salt.symbols, salt.lattice * 0.5, salt.places @ salt.lattice * 0.5)
    near = overlapping(salt)
    close = Solid(near.symbols, near.lattice * 0.5, near.places @ near.lattice * 0.5)
    plain = "\n".join(
        line.replace(" Na ", " ").replace(" Cl ", " ")
        for line in table.splitlines() if "type_symbol" not in line
    )  # fmt: skip
    cell_tags = [line for line in table.splitlines() if line.startswith("_cell")]
    loops = [line for line in table.splitlines()[1:] if not line.startswith("_cell")]
    quartz = PROTOTYPES["SiO2"]
    bent = cell(4.9137, 4.9137, 5.4047, 90, 90, 120.05)
    heavy = [made(name, cell(3.6, 3.6, 3.6), (0, 0, 0)) for name in ("Cm", "Bk")]
    wide = {"volume": [0.0, 1e9], "density": [0.0, 25.0]}
    distinct = Solid(["Si", "O"], bent, quartz.places[[0, 3]])
    for said, outcome, why, settings in (
        (half.replace("\n1.0\n", "\n-179.406144\n"), YES, "a scale that is the volume", exact),
        (
            poscar(cartesian).replace("Direct", "Cartesian").replace("\n1.0\n", "\n2.0\n"),
            YES,
            "Cartesian coordinates and a scale",
            exact,
        ),
        (cif(odd), YES, "a triclinic volume", {"volume": [each - 0.01, each + 0.01]}),
        (plain, YES, "labels alone", {}),
        (plain.replace("\nCl5", "\n5Cl"), NO, "no label", {}),
        ("\n".join(["data_x", *loops, *cell_tags]), YES, "loops before the cell", {}),
        (f"{table}data_2\n_chemical_name salt\n", NO, "two blocks", {}),
        (table.replace("length_a 5.64", "length_a -5.64"), NO, "a negative length", {}),
        (table.replace("gamma 90", "gamma 270"), NO, "an angle beyond 180°", {}),
        (cif(distinct, operations=P3121), YES, "a cell that is a little off", {}),
        (cif(salt, operations=("x,y,z",) * 192), YES, "as many operations as are read", {}),
        (cif(salt, operations=("x,y,z",) * 193), NO, "one operation more", {}),
        (text + "\n" + "0.0 0.0 0.0\n" * 9000, NO, "a long file", {}),
        ("x" * 1001 + text, NO, "a long line", {}),
        ("x" * 900 + text, YES, "a shorter one", {}),
        (poscar(heavy[0]), YES, "curium", {}),
        (poscar(heavy[1]), NO, "berkelium", {}),
        (poscar(made("Na", cell(1200, 5, 5), (0, 0, 0))), NO, "a long cell", wide),
        (poscar(made("Na", cell(990, 5, 5), (0, 0, 0))), YES, "a shorter one", wide),
        (xyz(salt._replace(lattice=salt.lattice[[0, 0, 2]])), NO, "a flat lattice", {}),
        (table.replace("data_NaCl", "data_NaCl\nstray"), NO, "a value without a tag", {}),
        (table.replace("alpha 90", "alpha -90"), NO, "an angle below zero", {}),
        ("8", NO, "a count alone", {}),
        (
            poscar(close).replace("Direct", "Cartesian").replace("\n1.0\n", "\n2.0\n"),
            NO,
            "Cartesian coordinates that are close, and a scale",
            {},
        ),
    ):
        more = {"settings": settings} if settings else {}
        key.add(said, None, outcome, why, "mutant of the verifier", **more)


def _groups(key: Key) -> None:
    """Space groups by number, name and Hall symbol, in the axes and the origin of the cell."""
    perovskite = made(
        "Ca Ti O O", cell(5.38, 5.44, 7.64), (0.9935, 0.036, 0.25), (0, 0.5, 0),
        (0.0714, 0.484, 0.25), (0.7108, 0.2888, 0.0371),
    )  # fmt: skip
    zirconia = made(
        "Zr O O", cell(5.1505, 5.2116, 5.3173, 90, 99.23, 90), (0.2754, 0.0395, 0.2083),
        (0.07, 0.3317, 0.3447), (0.4496, 0.7569, 0.4792),
    )  # fmt: skip
    corundum = made(
        "Al O", cell(4.7602, 4.7602, 12.9933, 90, 90, 120), (0, 0, 0.3522), (0.3062, 0, 0.25)
    )
    diamond = made("C", cell(3.567, 3.567, 3.567), (0.125, 0.125, 0.125))
    quartz = PROTOTYPES["SiO2"]._replace(symbols=["Si", "O"])
    quartz = quartz._replace(places=quartz.places[[0, 3]])
    # The volume of an atom tells how many the operations have made.
    for solid, atoms, told in (
        (perovskite, 20, "_symmetry_space_group_name_H-M 'P b n m'"),
        (perovskite, 20, "_space_group_IT_number 62\n_space_group_name_H-M_alt 'P b n m'"),
        (perovskite, 20, "_symmetry_space_group_name_Hall '-P 2c 2ab'"),
        (zirconia, 12, "_symmetry_space_group_name_H-M 'P 1 21/c 1'"),
        (zirconia, 12, "_symmetry_Int_Tables_number 14"),
        (zirconia, 12, "_space_group_name_H-M_alt P2_1/c\n_space_group_IT_number 14"),
        (corundum, 30, "_symmetry_space_group_name_H-M 'R -3 c'"),
        (corundum, 30, "_symmetry_space_group_name_H-M 'R -3 c :H'"),
        (corundum, 30, "_space_group_IT_number 167"),
        (diamond, 8, "_space_group_name_H-M_alt 'F d -3 m :2'"),
        (quartz, 9, '_space_group_name_Hall "P 31 2\\""'),
        (quartz, 9, "_symmetry_Int_Tables_number 152"),
    ):  # fmt: skip
        each = solid.volume / atoms
        room = {"volume": [round(each - 0.01, 4), round(each + 0.01, 4)]}
        key.add(_of_group(solid, told), None, YES, told, "generator: International Tables",
                settings=room)  # fmt: skip
    bent = perovskite._replace(lattice=cell(5.38, 5.44, 7.64, 90, 95, 90))
    for solid, told, why in (
        (perovskite, "_space_group_IT_number 61\n_space_group_name_H-M_alt 'P b n m'",
         "a number and a name of two groups"),
        (bent, "_symmetry_space_group_name_H-M 'P b n m'", "a cell that the group does not have"),
        (diamond, "_symmetry_space_group_name_H-M 'F d -3 m'", "a name of two origins"),
        (quartz, "_symmetry_space_group_name_Hall 'P 99'", "no Hall symbol"),
        (quartz, "_symmetry_space_group_name_H-M ?", "a group that is not known"),
    ):  # fmt: skip
        key.add(_of_group(solid, told), None, NO, why, "generator: International Tables")


def _states(key: Key) -> None:
    """Charges and moments that a file tells, and what else edits of the reader leave out."""
    salt = PROTOTYPES["NaCl"]
    text, table = xyz(salt), cif(salt)
    head, *rows = text.splitlines()[1:]

    def with_column(name: str, *values: str) -> str:
        lines = (f"{row} {values[place % len(values)]}" for place, row in enumerate(rows))
        return "\n".join([str(len(rows)), head.replace(":pos:R:3", f":pos:R:3:{name}"), *lines])

    def with_field(said: str) -> str:
        return text.replace("Properties=", f"{said} Properties=")

    diamond = made("C", cell(3.567, 3.567, 3.567), (0, 0, 0))
    iron = made("Fe", cell(5.74, 5.74, 5.74), (0, 0, 0))
    for said, outcome, why, settings in (
        (f"{table}_space_group_magn.number_BNS 1.1\n", NO, "a magnetic group", {}),
        (with_field("charge=1"), NO, "a charge", {}),
        (with_field("multiplicity=3"), NO, "electrons that are not paired", {}),
        (with_column("magmoms:R:1", "2.0", "-2.0"), NO, "moments", {}),
        (with_column("initial_charges:R:1", "0.9", "-0.8"), NO, "charges that make one", {}),
        (with_field("charge=0 charge=2"), NO, "a field twice", {}),
        (text.replace(":pos:R:3", ":pos:R:3:tag"), NO, "a column without a width", {}),
        (with_field("charge=0 spin=1"), YES, "no charge", {}),
        (with_column("charges:R:1", "0.86", "-0.86"), YES, "charges that make none", {}),
        (_of_group(diamond, "_symmetry_space_group_name_H-M 'F d -3 m'"), NO,
         "a name of two origins, the first of which would do", {}),
        (_of_group(iron, "_symmetry_space_group_name_H-M 'I a -3 d'"), YES, "the last group", {}),
        (f"{table}loop_\n_atom_site_type_symbol\nNa\n", NO, "a tag twice", {}),
        (poscar(salt), YES, "as many atoms as any setting allows", {"max_atoms": 1000}),
    ):  # fmt: skip
        more = {"settings": settings} if settings else {}
        key.add(said, None, outcome, why, "mutant of the verifier", **more)


def _of_group(solid: Solid, told: str) -> str:
    """A CIF of its distinct atoms that names a group and lists no operation."""
    return cif(solid).replace("loop_\n_symmetry_equiv_pos_as_xyz\n'x, y, z'\n", f"{told}\n")


# ---- Energies


@cache
def rest(name: str) -> tuple[Solid, float]:
    """A metal or an alloy with the lattice constants that its energy is lowest at, and that."""
    solid = METALS[name]
    lengths = np.linalg.norm(solid.lattice, axis=1)
    is_cube = lengths[0] == lengths[2]

    def at(factors: Any) -> Solid:
        a, c = (factors[0], factors[0]) if is_cube else factors
        return solid._replace(lattice=np.diag([lengths[0] * a, lengths[1] * a, lengths[2] * c]))

    start = [1.0] if is_cube else [1.0, 1.0]
    found = minimize(
        lambda x: emt(at(x)), start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
    )
    return at(found.x), float(found.fun)


def modulus(name: str) -> float:
    """Bulk modulus, GPa: the second derivative of the energy, by differences."""
    solid, energy = rest(name)
    step = 0.004
    up, down = (emt(solid.scaled((1 + sign * step) ** (1 / 3))) for sign in (1, -1))
    volume = solid.volume / len(solid.symbols)
    return (up + down - 2 * energy) / step**2 / volume * GPA


def within(value: float, room: float) -> list[float]:
    """The range of a score."""
    return [value - room, value + room]


def _no_crystals(key: Key, solid: Solid) -> None:
    """What the gate stops, for no force field says anything sensible of it."""
    for write_ in WRITERS:
        for text, why in edits(solid, write_):
            key.add(text, None, NO, why, EDIT)
    for said, why in (("", "nothing"), ("copper", "a word"), ("Cu\n1.0\n", "half a file")):
        key.add(said, None, NO, why, HAND)


def _unknown(key: Key, more: tuple[tuple[dict[str, Any], str], ...] = ()) -> None:
    """What the calculator can't say, and settings that make no sense."""
    copper = poscar(PROTOTYPES["Cu"])
    for name in ("NaCl", "Fe", "Si"):
        key.add(poscar(PROTOTYPES[name]), None, UNKNOWN, "no parameters", HAND,
                reason=f"no parameters for {PROTOTYPES[name].symbols[0]}")  # fmt: skip
    uranium = made("U U", cell(3.5, 3.5, 3.5), (0, 0, 0), (0.5, 0.5, 0.5))
    key.add(poscar(uranium), None, UNKNOWN, "no parameters", HAND, reason="no parameters for U",
            settings={"calculator": "tblite"})  # fmt: skip
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"calculator": "vasp"}, "no calculator"), ({"calculator": "../emt"}, "no calculator"),
        ({"calculator": "os.system"}, "no calculator"), ({"calculator": ""}, "no calculator"),
        ({"calculator": {"name": "emt", "command": "id"}}, "command"),
        ({"calculator": {"name": "tblite", "method": "/etc/passwd"}}, "method"),
        ({"calculator": {"method": "GFN1-xTB"}}, "name"), ({"window": [1.0, -1.0]}, "window"),
        ({"max_force": 0.0}, "max_force"), *more,
    )  # fmt: skip
    for settings, reason in refused:
        key.add(copper, None, UNKNOWN, "settings that are refused", HAND, settings=settings,
                reason=reason)  # fmt: skip


def ase_energy(key: Key) -> None:
    """The whole key of `ase-energy`."""
    draw = chance(7)
    for n, (name, solid) in enumerate(METALS.items()):
        moved = rattled(copied(solid, draw), draw, 0.05)
        for what, each in (("", solid), (", a copy", copied(solid, draw)), (", rattled", moved)):
            text = WRITERS[n % 3](each)
            key.add(text, None, YES, f"{name}{what}", SUM, score=within(emt(each), 2e-6))
    copper = PROTOTYPES["Cu"]
    for factor in (0.97, 1.04):
        each = copper.scaled(factor)
        key.add(poscar(each), None, YES, "strained", SUM, score=within(emt(each), 2e-6))
    for factor, outcome in ((0.76, NO), (0.97, YES)):
        each = copper.scaled(factor)
        more = {"score": within(emt(each), 2e-6)} if outcome == YES else {}
        key.add(xyz(each), None, outcome, f"{emt(each):.2f} eV an atom", SUM, **more)
    below = {"window": [-1.0, emt(copper) - 1e-3]}
    above = {"window": [emt(copper) + 1e-3, 1.0]}
    for settings in (below, above):
        key.add(poscar(copper), None, NO, "outside the window", SUM, settings=settings)
    close = overlapping(repeated(copper, np.diag([2, 2, 2])), 1.75)
    key.add(poscar(close), None, NO, "forces that tear it apart", SUM)
    _no_crystals(key, copper)
    _unknown(key)


def ase_relax(key: Key) -> None:
    """The whole key of `ase-relax`."""
    draw = chance(11)
    for n, name in enumerate(METALS):
        solid, energy = rest(name)
        strained = solid.scaled(1.0 + 0.02 * (-1) ** n)
        moved = rattled(solid, draw, 0.06)
        for what, each in (
            ("at rest", solid), ("strained", copied(strained, draw)), ("rattled", moved),
        ):  # fmt: skip
            told = within(emt(each) - energy, 1e-4)
            key.add(WRITERS[n % 3](each), None, YES, f"{name}, {what}", MINIMUM, score=told)
    copper, energy = rest("Cu")
    sheared = copper._replace(lattice=copper.lattice @ cell(1, 1, 1, 90, 90, 88))
    double = rattled(repeated(copper, np.diag([1, 1, 2])), draw, 0.05)
    for what, each in (
        ("sheared", sheared), ("turned", rotated(copper.scaled(1.01), draw)),
        ("in another order", shuffled(double, draw)),
    ):  # fmt: skip
        key.add(poscar(each), None, YES, what, MINIMUM, score=within(emt(each) - energy, 1e-4))
    fixed = rattled(copper.scaled(1.02), draw, 0.05)
    told = within(emt(fixed) - emt(copper.scaled(1.02)), 1e-4)
    key.add(
        poscar(fixed), None, YES, "in its own cell", MINIMUM, score=told, settings={"cell": False}
    )
    for a, gap in ((2.55, 4.4), (2.6, 4.6)):
        layers = made("Cu Cu", cell(a, a, 1.8 + gap), (0, 0, 0), (0.5, 0.5, 1.8 / (1.8 + gap)))
        key.add(poscar(layers), None, NO, "layers that grow together", SUM)
    key.add(poscar(copper.scaled(0.76)), None, NO, "beyond the window", SUM)
    _no_crystals(key, PROTOTYPES["Cu"])
    far = rattled(copper.scaled(1.03), draw, 0.1)
    key.add(poscar(far), None, UNKNOWN, "one step is too few", MINIMUM, settings={"steps": 1},
            reason="did not converge in 1 step")  # fmt: skip
    refused = (
        ({"steps": 0}, "steps"), ({"fmax": 0.0}, "fmax"), ({"fmax": 1e-9}, "fmax"),
        ({"optimiser": "os.system"}, "optimiser"), ({"optimiser": "../x"}, "optimiser"),
    )  # fmt: skip
    _unknown(key, refused)
    _stability(key)


def _stability(key: Key) -> None:
    """Energies above the hull of competing phases, by the lever rule."""
    copper, gold, alloy = (rest(name) for name in ("Cu", "Au", "CuAu"))
    elements = [poscar(copper[0].scaled(1.01)), poscar(gold[0])]
    rich, mixed = rest("Cu3Au"), (3 * copper[1] + gold[1]) / 4
    lever = (copper[1] + alloy[1]) / 2
    for name, told, phases in (
        ("Cu3Au", rich[1] - mixed, elements),
        ("Cu3Au", rich[1] - lever, [*elements, poscar(alloy[0])]),
        ("CuAu", alloy[1] - (copper[1] + gold[1]) / 2, elements),
        ("CuAu", 0.0, [*elements, poscar(alloy[0])]),
        ("Cu", 0.0, elements),
    ):
        text = xyz(rest(name)[0].scaled(0.99))
        why = f"{name} beside {len(phases)} phases"
        key.add(
            text, None, YES, why, MINIMUM, score=within(told, 1e-4), settings={"phases": phases}
        )
    for phases, reason in (
        (elements[:1], "no mixture"), ([poscar(METALS["Ni"]), elements[1]], "no mixture"),
        (["Cu, fcc"], "phases"), ([elements[0].replace("0.5", "nan")], "phases"),
        ([poscar(overlapping(copper[0]))], "phases"), ([elements[0]] * 51, "phases"),
        ([poscar(PROTOTYPES["NaCl"])], "phases: emt has no parameters for Na"),
    ):  # fmt: skip
        key.add(xyz(rich[0]), None, UNKNOWN, "phases that say nothing of it", HAND,
                settings={"phases": phases}, reason=reason)  # fmt: skip
    a = float(copper[0].lattice[0, 0])
    primitive = made("Cu", np.array([[0, a, a], [a, 0, a], [a, a, 0]]) / 2, (0, 0, 0))
    key.add(xyz(rich[0]), None, YES, "a phase in another cell", MINIMUM,
            settings={"phases": [poscar(primitive), poscar(gold[0])]},
            score=within(rich[1] - mixed, 1e-4))  # fmt: skip
    # The reasons tell these from what other edits say of the same.
    far = rattled(copper[0].scaled(1.03), chance(17), 0.1)
    for said, settings, outcome, reason in (
        (far, {"steps": 1}, UNKNOWN, "a harmless crystal converges"),
        (far, {"cell": "no"}, UNKNOWN, "cell"),
        (rich[0], {"phases": [elements[0]] * 51}, UNKNOWN, "give at most 50"),
        (far, {"max_force": 0.05}, NO, ""),
        (far, {"window": [-1.0, emt(far) - 1e-3]}, NO, ""),
    ):
        more = {"reason": reason} if reason else {}
        key.add(poscar(said), None, outcome, f"other {', '.join(settings)}",
                "mutant of the verifier", settings=settings, **more)  # fmt: skip


def ase_equation_of_state(key: Key) -> None:
    """The whole key of `ase-equation-of-state`."""
    draw = chance(13)
    for n, name in enumerate(METALS):
        solid, _ = rest(name)
        expected = modulus(name)
        for what, each in (
            ("at rest", solid), ("a little large", solid.scaled(1.01)),
            ("a copy", copied(solid.scaled(0.995), draw)),
        ):  # fmt: skip
            told = within(expected, 0.03 * expected)
            key.add(WRITERS[n % 3](each), None, YES, f"{name}, {what}", MINIMUM, score=told)
        wrong = solid.scaled(1.0 + 0.03 * (-1) ** n)
        key.add(WRITERS[n % 3](wrong), None, NO, f"{name}, far from its volume", MINIMUM)
    _no_crystals(key, PROTOTYPES["Cu"])
    refused = (
        ({"points": 4}, "points"), ({"points": 1000}, "points"), ({"span": 0.0}, "span"),
        ({"span": 0.9}, "span"),
    )  # fmt: skip
    _unknown(key, refused)
    copper, energy = rest("Cu")
    told = within(modulus("Cu"), 0.03 * modulus("Cu"))
    key.add(poscar(copper), None, YES, "as many volumes as are allowed", MINIMUM,
            settings={"points": 25}, score=told)  # fmt: skip
    key.add(poscar(rattled(copper, draw, 0.1)), None, NO, "forces beyond what is allowed", SUM,
            settings={"max_force": 0.05})  # fmt: skip
    key.add(poscar(copper), None, NO, "outside the window", SUM,
            settings={"window": [energy + 1e-3, 1.0]})  # fmt: skip
    for name in ("Al", "Pt"):
        key.add(poscar(rest(name)[0]), None, UNKNOWN, f"{name}, over volumes that are too wide",
                "mutant of the verifier", settings={"span": 0.2, "points": 25},
                reason="no equation of state fits")  # fmt: skip


# ---- Thermal motion


def motion(name: str, temperature: float) -> float:
    """Root mean square displacement of an atom from its mean place, Å, at rest and harmonic.

    Its square is kT times the trace of the inverse of the second derivatives, over the number of
    atoms, whatever their masses. Atoms move in a cell that is at least 7 Å wide, whose centre of
    mass stands still.
    """
    stiff, size = stiffness(name)
    return float(np.sqrt(BOLTZMANN * temperature * np.sum(1 / stiff) / size))


@cache
def stiffness(name: str) -> tuple[np.ndarray, int]:
    """Eigenvalues of the second derivatives, eV/Å², and the number of atoms that move."""
    cube, _ = rest(name)
    solid, matrix = cube, np.diag(np.ceil(WIDTH / np.linalg.norm(cube.lattice, axis=1)))
    if name in FCC:  # One atom stands for all.
        a = float(cube.lattice[0, 0])
        solid = made(name, np.array([[0, a, a], [a, 0, a], [a, a, 0]]) / 2, (0, 0, 0))
        matrix = matrix @ np.rint(cube.lattice @ np.linalg.inv(solid.lattice))
    whole = repeated(solid, matrix.astype(int))
    size, base = len(whole.symbols), len(solid.symbols)
    images = size // base  # Those of each atom follow one another.
    cells = whole.places[:images] @ whole.lattice - solid.places[0] @ solid.lattice
    found = np.array([
        [second(whole, (own * images, axis), (place // 3, place % 3)) for place in range(3 * size)]
        for own in range(base) for axis in range(3)
    ]).reshape(3 * base, base, images, 3)  # fmt: skip
    waves = np.exp(1j * (cells - cells[0]) @ _reciprocal(whole, matrix).T)
    values = [
        np.linalg.eigvalsh(np.einsum("abkc,k->abc", found, wave).reshape(3 * base, 3 * base))
        for wave in waves.T
    ]
    return np.sort(np.concatenate(values))[3:], size


def _reciprocal(whole: Solid, matrix: np.ndarray) -> np.ndarray:
    """Waves that fit into the cell and differ from one another on its lattice points."""
    turned = Solid(["H"], np.linalg.inv(whole.lattice).T, np.zeros((1, 3)))
    points = repeated(turned._replace(lattice=np.eye(3)), np.round(matrix.T).astype(int)).places
    waves: np.ndarray = 2 * np.pi * (points @ matrix.T) @ turned.lattice
    return waves


def second(
    whole: Solid, one: tuple[int, int], other: tuple[int, int], step: float = 0.01
) -> float:
    """Second derivative of a cell's energy by two coordinates, as a difference of energies."""

    def energy(a: float, b: float) -> float:
        moved = whole.places @ whole.lattice
        moved[one] += a
        moved[other] += b
        return emt(whole._replace(places=moved @ np.linalg.inv(whole.lattice)))

    signs = product((1, -1), repeat=2)
    total = sum(a * b * energy(a * step, b * step) for a, b in signs)
    return len(whole.symbols) * total / (4 * step**2)


def ase_dynamics(key: Key) -> None:
    """The whole key of `ase-dynamics`."""
    draw = chance(19)
    for n, name in enumerate((*FCC, "Cu3Au")):
        solid, _ = rest(name)
        for temperature, what, each in (
            (150.0, "at rest", solid), (300.0, "in another order", shuffled(solid, draw)),
            (300.0, "turned, rattled", rattled(rotated(solid, draw), draw, 0.1)),
        ):  # fmt: skip
            expected = motion(name, temperature)
            told = within(expected, 0.3 * expected)
            key.add(WRITERS[n % 3](each), None, YES, f"{name}, {what}", HARMONIC, score=told,
                    settings={**RUN, "temperature": temperature})  # fmt: skip
        for temperature in (4000.0, 8000.0):
            key.add(WRITERS[n % 3](solid), None, NO, f"{name} far beyond its melting point", HAND,
                    settings={**RUN, "temperature": temperature})  # fmt: skip
    for name in ("Cu", "Ni", "Au"):
        a = float(rest(name)[0].lattice[0, 0]) / 4 ** (1 / 3)
        simple = made(name, cell(a, a, a), (0, 0, 0))
        key.add(poscar(simple), None, NO, f"{name}, simple cubic: nothing holds it", HAND,
                settings={**RUN, "temperature": 300.0})  # fmt: skip
    copper, energy = rest("Cu")
    for settings in (
        {"window": [energy + 1.0, 4.0]},
        {"window": [-1.0, energy + 0.005]},
        {"lindemann": 0.01},
    ):
        key.add(poscar(copper), None, NO, f"other {', '.join(settings)}", SUM,
                settings={**RUN, **settings})  # fmt: skip
    key.add(poscar(rattled(copper, draw, 0.1)), None, NO, "forces beyond what is allowed", SUM,
            settings={"max_force": 0.05})  # fmt: skip
    _no_crystals(key, PROTOTYPES["Cu"])
    large = repeated(copper, np.diag([3, 3, 3]))
    sizes: tuple[tuple[Solid, dict[str, Any]], ...] = (
        (large, {"max_atoms": 100}), (copper, {"width": 20.0}),
    )  # fmt: skip
    for said, settings in sizes:
        key.add(poscar(said), None, UNKNOWN, "too many atoms", HAND, settings=settings,
                reason="atoms")  # fmt: skip
    refused = (
        ({"temperature": 0.0}, "temperature"), ({"temperature": 1e9}, "temperature"),
        ({"timestep": 0.0}, "timestep"), ({"timestep": 100.0}, "timestep"),
        ({"duration": 0.0}, "duration"), ({"duration": 1e9}, "duration"),
        ({"equilibration": -1.0}, "equilibration"), ({"width": 100.0}, "width"),
        ({"lindemann": 0.0}, "lindemann"), ({"max_atoms": 0}, "max_atoms"),
        ({"replicates": 0}, "replicates"),
    )  # fmt: skip
    _unknown(key, refused)


MAKERS = {
    "crystal-gate": crystal_gate,
    "ase-energy": ase_energy,
    "ase-relax": ase_relax,
    "ase-equation-of-state": ase_equation_of_state,
    "ase-dynamics": ase_dynamics,
}

if __name__ == "__main__":
    write(MAKERS, sys.argv[1:])
