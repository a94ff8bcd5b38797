"""Models of proteins: read from a predictor's file within bounds, and measured by themselves.

A file is of the protein that was asked for, whole, or it is of none: each chain, each residue,
each heavy atom once, with coordinates that are numbers. Otherwise the tool has failed, which says
nothing of the protein. Waters, ions and ligands beside it are counted and left out; of alternate
places of atoms the likelier one is read. What is measured here rests on the coordinates alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain as joined
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from verifier_ladder.errors import ToolError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast import protein

Floats = np.ndarray[Any, np.dtype[Any]]
Ints = np.ndarray[Any, np.dtype[Any]]
Flags = np.ndarray[Any, np.dtype[Any]]
LARGEST = 64 * 2**20
"""Bytes of the largest file that is read."""
NAMES = {
    "A": "ALA", "C": "CYS", "D": "ASP", "E": "GLU", "F": "PHE", "G": "GLY", "H": "HIS",
    "I": "ILE", "K": "LYS", "L": "LEU", "M": "MET", "N": "ASN", "P": "PRO", "Q": "GLN",
    "R": "ARG", "S": "SER", "T": "THR", "V": "VAL", "W": "TRP", "Y": "TYR",
}  # fmt: skip
BACKBONE = ("N", "CA", "C", "O")
ATOMS: Mapping[str, frozenset[str]] = {
    letter: frozenset(protein.ATOMS[name]) for letter, name in NAMES.items()
}
"""Heavy atoms of a residue inside a chain; the last one may have `OXT` as well."""
LETTERS = {name: letter for letter, name in NAMES.items()}
"""Of the amino acids, by their names in the PDB."""
_LAST = "OXT"
_CHAINS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FARTHEST = 9999.0
"""Å from the origin: what a PDB file can hold."""
CUBE, CROWD = 3.0, 24
"""Å, and the most heavy atoms that one chain has in a cube of that width. Proteins have up to
five there; chains that lie on each other clash."""
_MOST_ATOMS, _MOST_BESIDE = 30, 300_000
"""Atoms of the largest residue, hydrogens among them, and some more; and of all that stands beside
the protein."""
_LETTERED, _FIRST_LETTERED = 100_000, 16_796_160
"""The first number of an atom that a PDB file has a letter for, and its `A0000` to the base 36."""


class OutputError(ToolError):
    """What a predictor wrote is broken, not whole, or about something else."""


class Model(NamedTuple):
    """A protein in space, its chains in the order in which they were asked for."""

    chains: tuple[str, ...]
    backbone: Floats
    """Å: N, CA, C and O of each residue."""
    branch: Floats
    """Å: CB of each residue; not a number for glycine."""
    atoms: Floats
    """Å: all heavy atoms."""
    names: tuple[str, ...]
    """Of all heavy atoms; each begins with its element."""
    residues: Ints
    """The residue that each heavy atom belongs to."""
    order: Ints
    """The residues as asked for, by their places among those of the file."""
    written: Ints
    """The residue, by its place among those of the file, of each atom of the file; -1 for one
    beside the protein."""
    tokens: Ints
    """The residues as asked for, by their places among the tokens of the file: its residues, and
    each heavy atom beside them."""
    token_count: int
    besides: Mapping[str, int]
    """How many of what stand beside the protein, by the names that the file has for them."""

    @property
    def size(self) -> int:
        """Residues of all chains."""
        return len(self.order)

    @property
    def sizes(self) -> tuple[int, int]:
        """How many values a predictor may tell of the file: of each residue, or of each token."""
        return self.size, self.token_count

    @property
    def paired(self) -> tuple[str, ...]:
        """Chains of which tables of pairs tell; none where other things are among them."""
        return () if self.besides else self.chains

    def chosen(self, values: Floats) -> Floats:
        """Values of so many residues or tokens, or of their pairs, as residues were asked for."""
        places = self.order if len(values) == self.size else self.tokens
        return np.asarray(values[np.ix_(*[places] * values.ndim)])

    @property
    def chain_of(self) -> Ints:
        """The chain of each residue."""
        return np.repeat(np.arange(len(self.chains)), [len(chain) for chain in self.chains])

    @property
    def pdb(self) -> str:
        """All heavy atoms as a PDB file, each chain with its residues numbered from 1."""
        letters, chain_of = "".join(self.chains), self.chain_of
        starts = np.cumsum([0, *map(len, self.chains)])
        lines: list[str] = []
        for number, (name, residue) in enumerate(zip(self.names, self.residues, strict=True)):
            chain, (x, y, z) = chain_of[residue], self.atoms[number]
            if number and chain != chain_of[self.residues[number - 1]]:
                lines.append("TER")
            lines.append(
                f"ATOM  {(number + 1) % 100_000:5d}  {name:<3s} {NAMES[letters[residue]]} "
                f"{_CHAINS[chain]}{residue - starts[chain] + 1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}"
            )
        return "\n".join([*lines, "TER", "END", ""])

    @property
    def bonded(self) -> Ints:
        """Residues that another of the same chain follows."""
        chain = self.chain_of
        return np.flatnonzero(chain[:-1] == chain[1:])


# ---- Reading


def gemmi() -> Any:
    """The library that reads files of structures.

    Raises:
        ToolError: If it is not installed.
    """
    try:
        import gemmi as library
    except ImportError as error:
        raise ToolError(
            f"models are read by gemmi ({error}); pip install '.[structures]' in a clone"
        ) from error
    return library


def read_model(data: bytes, form: str, chains: Sequence[str]) -> Model:
    """Read the model of a protein.

    Args:
        data: The file.
        form: `cif` or `pdb`.
        chains: The chains that were asked for.

    Raises:
        OutputError: If the file is not a whole model of them.
        ToolError: If gemmi is not installed.
    """
    most = _MOST_ATOMS * sum(map(len, chains))
    rows, beside = (data.count(b"\n" + w) + data.startswith(w) for w in (b"ATOM", b"HETATM"))
    if len(data) > LARGEST or rows > most or beside > _MOST_BESIDE:
        raise OutputError(
            f"the model has {rows + beside} atoms and {len(data)} bytes, more than the protein "
            "could have"
        )
    if b"\0" in data or not data.isascii():
        raise OutputError("the model is not plain text")
    found = [[*_residues(chain)] for chain in _parsed(data, form)]
    return _arranged(found, tuple(chains))


def _parsed(data: bytes, form: str) -> list[Any]:
    """The chains of the only model of a file, as gemmi has them, with atoms numbered from 0.

    Chains without a name are told apart by what ends each (`TER`); in mmCIF gemmi takes the name
    that a chain has as a label where it has no other.

    gemmi gives what stands beside a protein to the chain whose name it has, wherever that is
    written, and files may number their atoms anew in each chain: so they are numbered here.
    """
    library = gemmi()
    try:
        if form == "pdb":
            data, written = _numbered(data)
            chains = _only(library.read_pdb_string(data))
            if any(not chain.name.strip() for chain in chains):
                chains = _only(library.read_pdb_string(data, split_chain_on_ter=True))
        else:
            block = library.cif.read_string(data).sole_block()
            numbers = block.find_values("_atom_site.id")
            written = len(numbers)
            for number in range(written):
                numbers[number] = str(number)
            chains = _only(library.make_structure_from_block(block))
    except OutputError:
        raise
    except Exception as error:  # Whatever it raises, this is no file of that form.
        raise OutputError(f"the model can't be read: {printable(error, 200)}") from error
    if sum(len(residue) for chain in chains for residue in chain) != written:
        raise OutputError("the model has lines of atoms that are none, or stand behind its end")
    return chains


def _numbered(data: bytes) -> tuple[bytes, int]:
    """A PDB file with its atoms numbered from 0, and how many it has."""
    lines, written = data.split(b"\n"), 0
    for place, line in enumerate(lines):
        if line.startswith((b"ATOM", b"HETATM")):
            lines[place] = line[:6] + _serial(written).encode() + line[11:]
            written += 1
    return b"\n".join(lines), written


def _serial(number: int) -> str:
    """The number of an atom in the five columns that a PDB file has for it.

    Example:
        >>> _serial(99_999), _serial(100_000), _serial(100_035)
        ('99999', 'A0000', 'A000Z')
    """
    if number < _LETTERED:
        return f"{number:5d}"
    return np.base_repr(number - _LETTERED + _FIRST_LETTERED, 36)


def _only(structure: Any) -> list[Any]:
    """The chains of its only model.

    Raises:
        OutputError: If there is none, or there are several.
    """
    models = list(islice(structure, 2))
    chains = list(models[0]) if models else []
    if len(models) != 1 or not chains:
        raise OutputError(f"the file holds {'two models' if len(models) > 1 else 'no model'}")
    return chains


class _Residue(NamedTuple):
    name: str
    letter: str
    """"" for what stands beside the protein."""
    places: Mapping[str, tuple[float, float, float]]
    """Of its heavy atoms, by name; none of what stands beside the protein."""
    first: int
    """The place of its first atom among those of the file."""
    written: int
    """Its atoms in the file, alternate places counted once."""
    heavy: int
    """Those that are no hydrogens."""


def _residues(chain: Any) -> Iterator[_Residue]:
    """The residues of a chain, and what stands beside them.

    Raises:
        OutputError: If one is no amino acid, or has an atom twice, one too few or one too many.
    """
    for residue in chain:
        name = f"{printable(chain.name, 8)} {printable(residue.seqid, 12)}"
        lines = [atom.serial for atom in residue]
        if max(lines) - min(lines) >= len(lines):
            raise OutputError(f"the atoms of residue {name} do not stand together in the model")
        heavy = [atom for atom in residue if not atom.is_hydrogen()]
        about = min(lines), _count(residue), _count(heavy)
        letter = LETTERS.get(residue.name)
        if letter is None:
            if not _is_beside(residue):
                raise OutputError(
                    f"residue {name} is {printable(residue.name, 12)}, no amino acid"
                )
            yield _Residue(printable(residue.name, 12), "", {}, *about)
            continue
        places = _places(heavy, f"residue {name} ({residue.name})")
        if lacking := ATOMS[letter] - places.keys():
            raise OutputError(
                f"residue {name} ({residue.name}) lacks {', '.join(sorted(lacking))}"
            )
        if strange := places.keys() - ATOMS[letter] - {_LAST}:
            told = printable(", ".join(sorted(strange)), 60)
            raise OutputError(f"residue {name} ({residue.name}) has {told}")
        yield _Residue(residue.name, letter, places, *about)


def _count(atoms: Iterable[Any]) -> int:
    """How many atoms these are, alternate places counted once."""
    return len({atom.name if atom.has_altloc() else atom.serial for atom in atoms})


def _is_beside(residue: Any) -> bool:
    """Whether it is water, an ion or a ligand, and no part of a chain that is not read."""
    kind = gemmi().find_tabulated_residue(residue.name)
    is_link = kind.is_amino_acid() or kind.is_nucleic_acid()
    return residue.het_flag == "H" and not is_link


def _places(atoms: Sequence[Any], told: str) -> dict[str, tuple[float, float, float]]:
    """Where each atom is. Of alternate places one has the same label for all atoms that have it.

    Raises:
        OutputError: If an atom is there twice.
    """
    often = Counter(atom.name for atom in atoms)
    is_twice = any(often[atom.name] > 1 and not atom.has_altloc() for atom in atoms)
    if is_twice or len({(atom.name, atom.altloc) for atom in atoms}) != len(atoms):
        raise OutputError(f"{told} has an atom twice")
    likely: defaultdict[str, float] = defaultdict(float)
    for atom in atoms:
        likely[atom.altloc] += atom.occ
    ranked = sorted(atoms, key=lambda atom: (likely[atom.altloc], -ord(atom.altloc)))
    found = {atom.name: (atom.pos.x, atom.pos.y, atom.pos.z) for atom in ranked}  # The last stays.
    return {name: found[name] for name in often}


def _arranged(every: Sequence[Sequence[_Residue]], chains: tuple[str, ...]) -> Model:
    """A model whose chains stand in the order in which they were asked for.

    Raises:
        OutputError: If they are other chains, or coordinates make no sense.
    """
    found = [own for chain in every if (own := [each for each in chain if each.letter])]
    said = ["".join(residue.letter for residue in chain) for chain in found]
    if Counter(said) != Counter(chains):
        raise OutputError(_difference(said, chains))
    left = list(range(len(said)))
    mine: list[_Residue] = []
    for chain in chains:
        place = next(n for n in left if said[n] == chain)
        left.remove(place)
        mine += found[place]
    rows = [
        (n, name, place) for n, residue in enumerate(mine)
        for name, place in residue.places.items()
    ]  # fmt: skip
    nowhere = (np.nan,) * 3
    written, tokens, count = _in_order(joined(*every))
    numbers = {first: number for number, first in enumerate(tokens)}
    model = Model(
        chains,
        np.array([[residue.places[name] for name in BACKBONE] for residue in mine], float),
        np.array([residue.places.get("CB", nowhere) for residue in mine], float),
        np.array([place for _, _, place in rows], float), tuple(name for _, name, _ in rows),
        np.array([n for n, _, _ in rows], np.int64),
        np.array([numbers[residue.first] for residue in mine], np.int64),
        written, np.array([tokens[residue.first] for residue in mine], np.int64), count,
        Counter(each.name for each in joined(*every) if not each.letter),
    )  # fmt: skip
    _refuse_nonsense(model)
    return model


def _in_order(residues: Iterable[_Residue]) -> tuple[Ints, dict[int, int], int]:
    """The residue of each atom of a file, the token of each residue, and how many tokens it has.

    Residues are counted as the file has them; the dictionary has their tokens by their first atom.
    """
    tokens: dict[int, int] = {}
    written: list[Ints] = []
    count = 0
    for each in sorted(residues, key=lambda each: each.first):
        written.append(np.full(each.written, len(tokens) if each.letter else -1))
        if each.letter:
            tokens[each.first] = count
        count += 1 if each.letter else each.heavy
    return np.concatenate(written), tokens, count


def _difference(said: Sequence[str], chains: Sequence[str]) -> str:
    if len(said) != len(chains):
        return f"the model has {len(said)} chains; {len(chains)} were asked for"
    sizes = sorted(map(len, said)), sorted(map(len, chains))
    if sizes[0] != sizes[1]:
        return f"the model has chains of {sizes[0]} residues; asked for were {sizes[1]}"
    return "the model is of another sequence than the one that was asked for"


def _refuse_nonsense(model: Model) -> None:
    """Refuse coordinates that nothing could be measured of.

    Raises:
        OutputError: If one is no number or far away, or many atoms of a chain have the same ones.
    """
    atoms = model.atoms
    if not np.isfinite(atoms).all() or np.abs(atoms).max() > _FARTHEST:
        raise OutputError("the model has coordinates that are no numbers, or far away")
    places = np.column_stack([model.chain_of[model.residues], atoms])
    same = int(np.unique(places, axis=0, return_counts=True)[1].max())
    if same > CROWD:
        raise OutputError(f"the model has {same} atoms of a chain in a cube of no width")


# ---- Geometry


def crowd(model: Model) -> int:
    """The most heavy atoms of one chain in a cube of 3 Å: of a chain that has collapsed, many."""
    cubes = np.floor(model.atoms / CUBE).astype(np.int64)
    places = np.column_stack([model.chain_of[model.residues], cubes])
    return int(np.unique(places, axis=0, return_counts=True)[1].max())


_BONDS = ((0, 1, 1.459), (1, 2, 1.525), (2, 3, 1.229), (1, 4, 1.530))
"""Å: N-CA, CA-C, C-O and CA-CB: Engh and Huber 2001."""
_ANGLES = ((0, 1, 2, 111.0), (1, 2, 3, 120.1), (0, 1, 4, 110.5), (2, 1, 4, 110.1))
"""Degrees: N-CA-C, CA-C-O, N-CA-CB and C-CA-CB, from the same."""
_JOINTS = ((1, 2, 5, 117.2), (3, 2, 5, 122.7), (2, 5, 6, 121.7))
"""Degrees: CA-C-N, O-C-N and C-N-CA, whose last atoms are of the residue that follows."""
_BENT = 20.0
"""Degrees, five standard deviations and more, by which an angle is off."""
_PEPTIDE = 1.336
"""Å, from C to the next N."""
_STRETCHED = 0.1
"""Å, five standard deviations and more, by which a bond is off."""
_BROKEN = 2.0
"""Å from C to the next N, above which they are not bound."""
_TWISTED = 30.0
"""Degrees by which a peptide is off its plane."""
_VOLUME = 1.0
"""Å³ that the bonds of a carbon span with its handedness; 2.5 of an ideal one."""
_RADII = {"C": 1.7, "N": 1.55, "O": 1.52, "S": 1.8}
"""Å: Bondi 1964."""
_BLOCK, _MOST_CLASHES = 64, 10
"""Atoms whose neighbours are looked for at once, and clashes of an atom at which it is enough."""
_OVERLAP = 0.8
"""Å by which the spheres of two atoms overlap that clash: more than those of any hydrogen bond."""


def geometry(model: Model) -> dict[str, float]:
    """What the coordinates say by themselves, by the names that criteria have.

    Raises:
        ToolError: If scipy is not installed.
    """
    gaps = _gaps(model)
    angles = np.abs(_omegas(model)[gaps <= _BROKEN])  # Of what is bound.
    follows = model.bonded[gaps <= _BROKEN] + 1
    is_cis = angles < 90  # noqa: PLR2004 - degrees
    letters = "".join(model.chains)
    proline = np.array([letters[n] == "P" for n in follows], bool)
    return {
        "clashes": round(1000 * len(clashes(model)) / len(model.atoms), 4),
        "chirality": float(len(mirrored(model))),
        "bonds": _percent(_stretched(model, gaps)),
        "angles": _percent(_bent(model, gaps)),
        "breaks": float((gaps > _BROKEN).sum()),
        "twisted": _percent(np.minimum(angles, 180 - angles) > _TWISTED),
        "cis": float((is_cis & ~proline).sum()),
    }


def _percent(flags: Flags) -> float:
    return round(100 * float(flags.mean()), 4) if flags.size else 0.0


def _gaps(model: Model) -> Floats:
    """Å from each C to the N of the residue that follows."""
    places = model.bonded
    return norm(model.backbone[places, 2] - model.backbone[places + 1, 0])


def norm(vectors: Floats) -> Floats:
    """How long vectors are."""
    return np.asarray(np.linalg.norm(vectors, axis=-1), float)


def _stretched(model: Model, gaps: Floats) -> Flags:
    """Whether each bond of backbone and CB has another length than it should; breaks are none."""
    spine = _spine(model)
    off = [norm(spine[:, one] - spine[:, other]) - length for one, other, length in _BONDS]
    off.append(gaps[gaps <= _BROKEN] - _PEPTIDE)
    return _beyond(off, _STRETCHED)


def _bent(model: Model, gaps: Floats) -> Flags:
    """Whether each angle of backbone and CB is another than it should; breaks have none."""
    spine, places = _spine(model), model.bonded[gaps <= _BROKEN]
    joints = np.concatenate([spine[places], spine[places + 1]], axis=1)
    parts = ((spine, _ANGLES), (joints, _JOINTS))
    return _beyond(
        [_angle(atoms, *three) - usual for atoms, each in parts for *three, usual in each], _BENT
    )


def _spine(model: Model) -> Floats:
    """N, CA, C, O and CB of each residue."""
    return np.concatenate([model.backbone, model.branch[:, None]], axis=1)


def _angle(atoms: Floats, one: int, middle: int, other: int) -> Floats:
    """Degrees between two bonds of an atom; 0 where one has no length."""
    first, second = atoms[:, one] - atoms[:, middle], atoms[:, other] - atoms[:, middle]
    across = norm(np.cross(first, second))
    return np.asarray(np.degrees(np.arctan2(across, (first * second).sum(-1))), float)


def _beyond(off: Sequence[Floats], most: float) -> Flags:
    """Whether each is farther off than it may be; without what glycine lacks."""
    every = np.concatenate(off)
    return np.asarray(np.abs(every[np.isfinite(every)]) > most, bool)


def _omegas(model: Model) -> Floats:
    """Degrees of the dihedral angle about each peptide bond: CA, C, N, CA."""
    places = model.bonded
    first, second = model.backbone[places], model.backbone[places + 1]
    along = second[:, 0] - first[:, 2]
    before = np.cross(first[:, 2] - first[:, 1], along)
    after = np.cross(along, second[:, 1] - second[:, 0])
    sine = (np.cross(before, after) * along).sum(-1)
    cosine = norm(along) * (before * after).sum(-1)
    return np.asarray(np.degrees(np.arctan2(sine, cosine)), float)


def mirrored(model: Model) -> list[int]:
    """Residues whose CA is not the one of an L-amino acid: right-handed or flat."""
    n, ca, c, _ = (model.backbone[:, place] for place in range(4))
    volumes = (np.cross(n - ca, c - ca) * (model.branch - ca)).sum(-1)
    return [int(place) for place in np.flatnonzero(volumes < _VOLUME)]  # None of glycine.


def clashes(model: Model) -> list[tuple[int, int]]:
    """Pairs of heavy atoms that overlap, of residues that are not the same or neighbours.

    Sulphur atoms are left out of it: cysteines are bound to each other. Where chains lie on each
    other, counting ends at ten for each atom.

    Raises:
        ToolError: If scipy is not installed.
    """
    try:
        from scipy.spatial import cKDTree
    except ImportError as error:
        raise ToolError(
            f"clashes are looked for by scipy ({error}); pip install '.[structures]' in a clone"
        ) from error
    radii = np.array([_RADII[name[0]] for name in model.names])
    tree, found = cKDTree(model.atoms), list[tuple[int, int]]()
    for start in range(0, len(model.atoms), _BLOCK):
        here = np.arange(start, min(start + _BLOCK, len(model.atoms)))
        near = tree.query_ball_point(model.atoms[here], 2 * max(_RADII.values()) - _OVERLAP)
        one = np.repeat(here, [len(each) for each in near])
        found += _clashing(model, radii, one, np.concatenate(near).astype(np.int64))
        if len(found) > _MOST_CLASHES * len(model.atoms):
            break
    return found


def _clashing(model: Model, radii: Floats, one: Ints, other: Ints) -> list[tuple[int, int]]:
    """Those of the pairs that clash, the lesser number first."""
    one, other = one[one < other], other[one < other]
    away = norm(model.atoms[one] - model.atoms[other])
    first, second = model.residues[one], model.residues[other]
    chain, sulphur = model.chain_of, radii == _RADII["S"]
    apart = (np.abs(first - second) > 1) | (chain[first] != chain[second])
    close = away < radii[one] + radii[other] - _OVERLAP
    kept = np.flatnonzero(apart & close & ~(sulphur[one] & sulphur[other]))
    return [(int(one[n]), int(other[n])) for n in kept]
