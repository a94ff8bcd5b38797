"""Make the answer key of `openmm-stability`.

    python tools/dynamics_key.py

Peptides are built from ideal geometry (`tools/peptides.py`), so that their truth follows from how
they are made: an atom that was left out is missing, a mirror image has the other hand, and what is
cold hardly moves. What is wrong is one edit away from what is right. Runs are as short as their
truth allows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from keywriter import NO, UNKNOWN, YES, Key, write
from peptides import (
    HELIX,
    LEFT,
    POLYPROLINE,
    STRAND,
    Atom,
    mirrored,
    moved,
    pdb,
    peptide,
    turned,
)

IDEAL = "generator: ideal geometry"
EDIT = "generator: one edit of ideal geometry"
COLD = "generator: nothing moves without heat"
HEAT = "generator: heat moves everything"
HAND, HACK = "convention", "known hack"
SHORT = {"equilibration": 1, "duration": 2}
SEQUENCES = ("AAA", "AGS", "SVA", "GTG", "AIA", "KAE", "GFG", "ACA", "ADL", "GGGG")


def at_most(name: str, most: float) -> dict[str, Any]:
    """A task with one criterion."""
    return {"criteria": {name: {"most": most}}}


def without(atoms: list[Atom], *left: tuple[int, str]) -> list[Atom]:
    """Atoms but some."""
    return [each for each in atoms if (each.number, each.name) not in left]


def shifted(atoms: list[Atom], number: int, name: str, *by: float) -> list[Atom]:
    """With one atom elsewhere."""
    return [
        each._replace(at=each.at + np.array(by)) if (each.number, each.name) == (number, name)
        else each
        for each in atoms
    ]  # fmt: skip


def left_hand(atoms: list[Atom], number: int) -> list[Atom]:
    """With one alanine whose CB stands where its hydrogen did."""
    place = {each.name: each.at for each in atoms if each.number == number}
    away = sum(
        (place[name] - place["CA"]) / np.linalg.norm(place[name] - place["CA"])
        for name in ("N", "C", "CB")
    )
    there = place["CA"] - 1.53 * away / np.linalg.norm(away)
    return [
        each._replace(at=there) if (each.number, each.name) == (number, "CB") else each
        for each in atoms
    ]


def broken(atoms: list[Atom]) -> Iterator[tuple[list[Atom], str]]:
    """What is one edit away from a sound peptide that begins with an alanine and has five."""
    yield mirrored(atoms), "the mirror image"
    yield left_hand(atoms, 3), "one alanine of the other hand"
    yield without(atoms, (2, "O")), "an oxygen less"
    yield without(atoms, (2, "CB")), "a side chain less"
    yield without(atoms, (1, "N")), "a nitrogen less"
    yield without(atoms, *((3, name) for name in ("N", "CA", "C", "O", "CB"))), "a residue less"
    yield shifted(atoms, 4, "O", 0.0, 0.0, 1.2), "a stretched bond"
    yield shifted(atoms, 3, "CB", 0.0, 0.0, 30.0), "an atom far away"
    yield moved(atoms, lambda rows: 1.4 * rows), "blown up"
    yield moved(atoms, lambda rows: 0.6 * rows), "squeezed"
    yield moved(atoms, lambda rows: rows * np.array([1.0, 1.0, 0.0])), "pressed flat"
    yield moved(atoms, lambda rows: 0.0 * rows), "all in one place"
    yield moved(atoms, lambda rows: rows + 2000.0), "far from the origin"
    yield [*atoms, atoms[3]], "an atom twice"
    yield [*atoms, *peptide("AAAAA", HELIX)], "a chain twice"
    other = moved(peptide("AAAAA", HELIX, chain="B"), lambda rows: rows + 0.4)
    yield [*atoms, *other], "two chains in one place"
    yield [each._replace(residue="MSE") for each in atoms], "no amino acid of the twenty"
    yield [each._replace(name="CG" if each.name == "CB" else each.name) for each in atoms], "CG"


def _aside(rows: Any) -> Any:
    return rows + 25.0


def _sound(key: Key) -> None:
    """Peptides that are run, with criteria that physics keeps."""
    for n, sequence in enumerate(SEQUENCES):
        shape = (STRAND, POLYPROLINE)[n % 2]
        text = pdb(turned(peptide(sequence, shape), n))
        cold = {**SHORT, "temperature": 10.0}
        key.add(text, at_most("drift", 1.0), YES, f"{sequence}, cold", COLD, settings=cold,
                score=[0.0, 1.0])  # fmt: skip
        key.add(text, at_most("rmsd", 0.01), NO, f"{sequence}, as if nothing ever moved", HEAT,
                settings=SHORT)  # fmt: skip
    pair = [*peptide("GG", STRAND), *moved(peptide("GG", STRAND, chain="B"), _aside)]
    key.add(pdb(pair), at_most("drift", 1.0), YES, "two chains, cold", COLD,
            settings={**SHORT, "temperature": 10.0})  # fmt: skip
    helix = peptide("AAAAA", HELIX)
    for shape, name in ((HELIX, "a helix"), (STRAND, "a strand"), (POLYPROLINE, "polyproline")):
        key.add(pdb(peptide("AAAAA", shape)), at_most("drift", 3.5), YES, name, IDEAL,
                settings=SHORT)  # fmt: skip
    for n in range(3):
        key.add(pdb(turned(helix, 40 + n)), at_most("drift", 3.5), YES, "a turned helix", IDEAL,
                settings=SHORT)  # fmt: skip
    text = pdb(helix)
    lines = text.splitlines()
    for said, why in (
        (f"A helix:\n```pdb\n{text}```\nIt holds.", "a block"),
        (f"<answer>\n{text}</answer>", "a tag"),
        (pdb(without(helix, (5, "OXT"))), "without its last oxygen"),
        ("HEADER    A HELIX\nREMARK   1\n" + text, "a head"),
        (text.replace("END", "CONECT    1   25\nCONECT    2   26\nEND"), "bonds that are none"),
        ("MODEL        1\n" + text.replace("END", "ENDMDL\nEND"), "one model"),
        ("\n".join([lines[0], lines[0].replace(" N  ", " H1 "), *lines[1:]]), "a hydrogen"),
        ("\n".join(reversed(lines[:5])) + "\n" + "\n".join(lines[5:]), "in another order"),
    ):
        key.add(said, at_most("drift", 3.5), YES, why, HAND, settings=SHORT)


def _judged(key: Key) -> None:
    """Criteria that a run breaks."""
    helix = pdb(peptide("AAAAA", HELIX))
    for task, settings, outcome, why in (
        ({"criteria": {"energy": {"most": -1e6}}}, {}, NO, "an energy that nothing has"),
        ({"criteria": {"energy": {"least": 1e6}}}, {}, NO, "an energy beyond all"),
        ({"criteria": {"energy": {"least": -1e6, "most": 1e6}}}, {}, YES, "any energy"),
        ({"criteria": {"energy": {"least": -600.0, "most": 0.0}}}, {}, YES, "its sort of energy"),
        (at_most("drift", 0.05), {"temperature": 1000.0, "duration": 4}, NO, "red hot"),
        (at_most("drift", 9.0), {"force_field": "ff14SB/OBC2"}, YES, "another solvent"),
        ({"criteria": {"rmsd": {"least": 50.0}}}, {}, NO, "it flies apart"),
    ):
        key.add(helix, task, outcome, why, HEAT, settings={**SHORT, **settings})
    key.add(helix, None, NO, "five residues of at most four", HAND, settings={"max_residues": 4})
    key.add(helix, at_most("drift", 9.0), YES, "as many residues as are allowed", HAND,
            settings={**SHORT, "max_residues": 5})  # fmt: skip


def _unknown(key: Key) -> None:
    """What nobody can say."""
    helix = pdb(peptide("AAA", HELIX))
    for task, reason in (
        ({"criteria": {"beauty": {"most": 1}}}, "'beauty' is none of rmsd, drift, energy"),
        ({"criteria": {"rmsd": {"most": "low"}}}, "make no sense"),
        ({"criteria": {"rmsd": {}}}, "give least, most or both"),
        ({"criteria": {"rmsd": {"least": 2.0, "most": 1.0}}}, "nothing lies between"),
    ):
        key.add(helix, task, UNKNOWN, "a task that makes no sense", HAND, reason=reason)
    for settings, reason in (
        ({"force_field": "/etc/passwd"}, "write ff14SB/GBn2"),
        ({"force_field": "amber14-all.xml"}, "write ff14SB/GBn2"),
        ({"unsolved": "ignore"}, "write abstain or reject"), ({"score": "beauty"}, "score="),
        ({"duration": 0}, "duration"), ({"temperature": 0.0}, "temperature"),
        ({"equilibration": 1_000_000}, "give at most 100000"), ({"replicates": 0}, "replicates"),
        ({"max_residues": 1_000_000}, "give at most 1000"), ({"score": "criteria"}, "no criteria"),
    ):  # fmt: skip
        key.add(helix, None, UNKNOWN, "settings that are refused", HAND, settings=settings,
                reason=reason)  # fmt: skip


def _files(key: Key) -> None:
    """Files that hold no protein, or not one."""
    helix = peptide("AAAAA", HELIX)
    text = pdb(helix)
    for atoms, why in broken(helix):
        key.add(pdb(atoms), None, NO, why, EDIT)
    lefts = peptide("AAAAA", LEFT)
    key.add(pdb(left_hand(lefts, 2)), None, NO, "a left-handed helix with a D-alanine", EDIT)
    water = "HETATM   27  O   HOH A   6      20.000  20.000  20.000"
    first = text.splitlines()[0]
    for said, why in (
        (text.replace("END", f"{water}\nEND"), "water"),
        (text.replace(first[30:38], "     nan", 1), "a coordinate that is no number"),
        (text.replace(first[30:38], "     inf", 1), "a coordinate without end"),
        (text.replace(first[30:38], "   1e3.0", 1), "a coordinate in another form"),
        (text.replace(first, first[:50]), "a line cut short"),
        (text.replace(first, first[:16] + "A" + first[17:]), "an alternate location"),
        (text.replace(first, first[:26] + "A" + first[27:]), "an insertion code"),
        (text.replace("ALA A   3", "ALA A   2"), "two residues of one number"),
        (text.replace("ALA A   3", "GLY A   3"), "a glycine with a side chain"),
        (f"MODEL        1\n{text}MODEL        2\n{text}", "two models"),
        (f"```pdb\n{text}```\nor\n```pdb\n{pdb(lefts)}```", "a hedge"),
        (f"<think>{text}", "a thought that never ends"),
        (text.replace("ATOM  ", "ATOMS ", 1), "no record"),
        ("AAAAA", "a sequence"), ("", "nothing"), ("HEADER    NOTHING\nEND", "no atoms"),
        ('{"outcome": "accept"}', "a verdict"), ("/etc/passwd", "a path"), ("1ubq", "a name"),
    ):  # fmt: skip
        key.add(said, None, NO, why, HACK if "model" in why else HAND)


def _hostile(key: Key) -> None:
    """Input that is made to break a verifier."""
    line = pdb(peptide("A", HELIX)).splitlines()[0]
    for said, why in (
        ([[f"{line}\n", 12_000]], "an atom twelve thousand times"),
        ([["ATOM  ", 100_000]], "a line of a hundred thousand words"),
        ([["CONECT    1    2\n", 50_000]], "bonds alone"),
        ([["MODEL        1\n", 50_000]], "models alone"), ([["TER\n", 200_000]], "ends alone"),
        ([["x", 5_000_000]], "five million letters"), ([["\n", 900_000]], "empty lines"),
        (f"{line[:30]}{'9' * 5000}", "a number of five thousand digits"),
        (f"{line}\x00", "a null"), (line.replace("ALA", "\u0410LA"), "a Cyrillic letter"),
        (line.replace("1", "\u0661"), "Arabic digits"),
        (line.replace("ALA", "../"), "a path for a residue"),
        (line.replace(" N  ", " $( "), "a command for an atom"), ({"base64": "/wD+"}, "bytes"),
    ):  # fmt: skip
        key.hostile(said, None, why)


def openmm_stability(key: Key) -> None:
    """The whole key."""
    _sound(key)
    _judged(key)
    _files(key)
    _unknown(key)
    _hostile(key)


MAKERS: dict[str, Callable[[Key], None]] = {"openmm-stability": openmm_stability}

if __name__ == "__main__":
    write(MAKERS, sys.argv[1:])
