"""mmCIF files of proteins, rewritten as the ATOM records that a PDB file has.

Only the table of atoms is looked at, line by line; what a line says of an atom is checked by
whoever reads the records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import ascii_letters, digits

from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast import protein

_TABLE = "_atom_site."
_WORD = re.compile(r"'[^']*'(?=\s|$)|\"[^\"]*\"(?=\s|$)|\S+")
_CHAINS = ascii_letters.swapcase() + digits
_NONE = frozenset({".", "?", ""})


def is_mmcif(text: str) -> bool:
    """Whether a text has the table of atoms of an mmCIF file; a crystal's CIF has none."""
    return f"{_TABLE}Cartn_x" in text


def as_pdb(text: str) -> str:
    """The protein of an mmCIF file as ATOM records.

    What stands beside it (water, ions, ligands) is left out, and so are models but the first, and
    places of an atom but the first.

    Raises:
        CandidateError: If the table is broken, or has more chains than a PDB file has letters.
    """
    letters: dict[str, str] = {}
    seen: set[tuple[str, ...]] = set()
    lines, first = [], None
    for row in _atoms(text):
        first = first or row.get("pdbx_PDB_model_num", "")
        chain, number = (_either(row, name) for name in ("asym_id", "seq_id"))
        atom, residue = _either(row, "atom_id"), _either(row, "comp_id")
        place = (chain, number, row.get("pdbx_PDB_ins_code", ""), atom)
        is_other = row.get("pdbx_PDB_model_num", "") != first or place in seen
        if row.get("group_PDB") != "ATOM" or residue not in protein.ATOMS or is_other:
            continue
        seen.add(place)
        if chain not in letters and len(letters) == len(_CHAINS):
            raise CandidateError(f"more than {len(_CHAINS)} chains")
        letter = letters.setdefault(chain, _CHAINS[len(letters) % len(_CHAINS)])
        insertion = " " if row.get("pdbx_PDB_ins_code", "?") in _NONE else "X"
        at = "".join(f"{_number(row, axis):8.3f}" for axis in "xyz")
        lines.append(
            f"ATOM  {len(seen) % 100_000:5d}  {atom:<3} {residue:3} {letter}{number:>4}"
            f"{insertion}   {at}  1.00  0.00"
        )
    return "\n".join(lines)


def _atoms(text: str) -> Iterator[Mapping[str, str]]:
    """The rows of the table of atoms, by the names of its columns."""
    columns: list[str] = []
    for line in text.splitlines():
        start = line.strip()
        if start.startswith(_TABLE):
            columns.append(start.removeprefix(_TABLE).split()[0])
        elif columns and start:
            if start.startswith(("#", "_", "loop_", "data_")):
                return
            words = [
                word.strip("'\"") if word[0] in "'\"" else word for word in _WORD.findall(line)
            ]
            if len(words) != len(columns):
                raise CandidateError("the table of atoms has a line that is no row of it")
            yield dict(zip(columns, words, strict=True))


def _either(row: Mapping[str, str], name: str) -> str:
    """A name as the authors gave it, or as it is labelled."""
    told = row.get(f"auth_{name}", "?")
    return row.get(f"label_{name}", "") if told in _NONE else told


def _number(row: Mapping[str, str], axis: str) -> float:
    try:
        return float(row[f"Cartn_{axis}"])
    except (KeyError, ValueError):
        raise CandidateError("an atom has no coordinates") from None
