"""Structures: crystals and proteins as a viewer takes them, from symbols and numbers alone.

A text is read by the tiers' own readers, in a process that may be killed, and written anew:
nothing of it but symbols of elements, names of a closed table and numbers is handed on. Whoever
serves what came out of that process looks at it line by line once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from markupsafe import Markup

from verifier_ladder.candidate import Candidate
from verifier_ladder.report.mmcif import as_pdb, is_mmcif
from verifier_ladder.summary.amounts import plural
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from verifier_ladder.tiers.fast.crystalfile import Crystal

Format = Literal["xyz", "pdb"]
FORMATS: Final[dict[str, Format]] = {
    "cif": "xyz", "vasp": "xyz", "poscar": "xyz", "xyz": "xyz", "extxyz": "xyz", "pdb": "pdb",
    "ent": "pdb", "mmcif": "pdb",
}  # fmt: skip
"""Endings of files that hold a structure: what a viewer is given of each, unless `format_of` its
text is another."""
KINDS: Final[dict[str, Format]] = {"crystal": "xyz", "structure": "pdb"}
"""Kinds of candidates that are one."""
LARGEST: Final = 1_000_000
"""Bytes of a file that is read, and of the structure that is served."""
MOST_ATOMS: Final = 1000
"""Of a cell; of a protein as many residues."""
_LANGUAGES = ("cif", "mmcif")
"""Labels of code blocks that hold a protein's mmCIF file."""
_STILL = 60
"""Atoms of a cell that is drawn without a viewer."""
_FILE = "structure.txt"
_COORDINATE = r"-?[0-9]{1,5}\.[0-9]{1,4}"
_HEAD = re.compile(rf'[0-9]{{1,5}}\nLattice="{_COORDINATE}(?: {_COORDINATE}){{8}}"')
_ATOM = re.compile(rf"[A-Z][a-z]?(?: {_COORDINATE}){{3}}")
_RECORD = re.compile(r"(?:ATOM  [ 0-9A-Z.\-]{72}|TER|END)")


def format_of(text: str, form: Format) -> Format:
    """What a viewer is given of a text: crystals and proteins have files that end in `.cif`.

    Args:
        text: The text.
        form: What its file's name promises.
    """
    return "pdb" if is_mmcif(text) else form


class Structure(NamedTuple):
    """A structure as it is shown."""

    name: str
    """What it is, in words."""
    format: Format
    text: str
    """What a viewer takes."""
    still: Markup | None
    """The drawing of a cell with few atoms."""


class CrystalReading(SingleVerifier):
    """Reads a crystal, and writes it as XYZ with the atoms on all faces of its cell."""

    name, version, kind = "crystal-reading", "1", "crystal"
    timeout = 10.0
    memory = 2**30
    batch_size = 1

    def examine(self, candidate: Candidate) -> Verdict:
        """Read one."""
        from verifier_ladder.tiers.fast.crystal import crystal_of

        crystal = crystal_of(candidate.content, MOST_ATOMS)
        evidence: dict[str, Any] = {
            "formula": crystal.formula, "atoms": len(crystal.symbols), "volume": crystal.volume,
        }  # fmt: skip
        if len(crystal.symbols) <= _STILL:
            evidence |= {
                "symbols": list(crystal.symbols), "lattice": crystal.lattice.tolist(),
                "places": crystal.places.tolist(),
            }  # fmt: skip
        text = "\n".join(_xyz(crystal))
        return Verdict.accept(evidence=evidence, artifacts={_FILE: text.encode()})


def _xyz(crystal: Crystal) -> Iterator[str]:
    from verifier_ladder.report.crystals import images

    atoms = [
        (symbol, place @ crystal.lattice)
        for symbol, at in zip(crystal.symbols, crystal.places, strict=True)
        for place in images(at)
    ]
    yield str(len(atoms))
    yield f'Lattice="{_numbers(crystal.lattice.ravel())}"'
    for symbol, at in atoms:
        yield f"{symbol} {_numbers(at)}"


def _numbers(row: Any) -> str:
    return " ".join(f"{value:.4f}" for value in row)


class ProteinReading(SingleVerifier):
    """Reads a protein's PDB or mmCIF file, also of one that no force field should see."""

    name, version, kind = "protein-reading", "2", "structure"
    timeout = 10.0
    memory = 2**30
    batch_size = 1

    def examine(self, candidate: Candidate) -> Verdict:
        """Read one."""
        from verifier_ladder.tiers.fast import protein
        from verifier_ladder.tiers.fast.extraction import DOCUMENT, answers

        languages = (*protein.LANGUAGES, *_LANGUAGES)
        (found, *_) = answers(candidate.content, DOCUMENT, protein.HOW, languages=languages)
        whole = protein.read(as_pdb(found) if is_mmcif(found) else found, MOST_ATOMS)
        evidence = {"chains": len(whole.chains), "residues": len(whole.residues)}
        text = "\n".join(_pdb(whole.chains))
        return Verdict.accept(evidence=evidence, artifacts={_FILE: text.encode()})


def _pdb(chains: Sequence[Sequence[Any]]) -> Iterator[str]:
    serial = 0
    for chain in chains:
        for residue in chain:
            letter, number = residue.place
            letter = letter if letter.isascii() and letter.isalnum() else " "
            for name, at in residue.atoms.items():
                serial += 1
                x, y, z = (f"{value:8.3f}" for value in at)
                yield (
                    f"ATOM  {serial % 100_000:5d}  {name:<3s} {residue.name:3s} "
                    f"{letter.upper()}{number:4d}    {x}{y}{z}  1.00  0.00          {name[0]:>2s}"
                )
        yield "TER"
    yield "END"


READERS: Final = {"xyz": CrystalReading(), "pdb": ProteinReading()}
"""What reads a text whose structure is to be of this format."""


def structure_of(verdict: Verdict, form: Format) -> Structure | None:
    """What a reader has found, if it is what a reader writes; None if it has found nothing.

    Args:
        verdict: What it answers; believed hostile.
        form: The format.
    """
    file = verdict.files.get(_FILE)
    if verdict.outcome is not Outcome.ACCEPT or file is None or not file.data:
        return None
    text = file.data[: LARGEST + 1].decode("ascii", "replace")
    if len(text) > LARGEST or not _is_written(text, form):
        return None
    try:
        name, still = _protein(verdict) if form == "pdb" else _crystal(verdict)
    except (KeyError, TypeError, ValueError):
        return None
    return Structure(name, form, text, still)


def _is_written(text: str, form: Format) -> bool:
    if form == "pdb":
        return all(map(_RECORD.fullmatch, text.split("\n")))
    head, atoms = text.split("\n")[:2], text.split("\n")[2:]
    return bool(_HEAD.fullmatch("\n".join(head))) and all(map(_ATOM.fullmatch, atoms))


def _protein(verdict: Verdict) -> tuple[str, None]:
    chains, residues = (int(verdict.evidence[name]) for name in ("chains", "residues"))
    return f"{plural(residues, 'residue')} in {plural(chains, 'chain')}", None


def _crystal(verdict: Verdict) -> tuple[str, Markup | None]:
    import numpy as np

    from verifier_ladder.report.crystals import draw_crystal
    from verifier_ladder.tiers.fast.crystalfile import Crystal, elements

    told = verdict.evidence
    atoms, volume = int(told["atoms"]), float(told["volume"])
    formula = re.sub(r"[^A-Za-z0-9]", "", str(told["formula"]))[:80]
    if atoms < 1 or not isfinite(volume):
        return formula, None
    name = f"{formula}, {atoms} in a cell, {volume / atoms:.1f} Å³ each"
    if "symbols" not in told:
        return name, None
    symbols = tuple(str(symbol) for symbol in told["symbols"])
    lattice = np.array(told["lattice"], dtype=float).reshape(3, 3)
    places = np.array(told["places"], dtype=float).reshape(-1, 3)
    is_sound = len(symbols) == len(places) <= _STILL and set(symbols) <= set(elements())
    if not is_sound or not np.isfinite(lattice).all() or not np.isfinite(places).all():
        return name, None
    return name, draw_crystal(Crystal(symbols, lattice, places))
