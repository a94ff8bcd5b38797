"""Make the answer keys of what judges proteins.

    python tools/protein_keys.py         # tiers/answer_keys/sequence-gate.jsonl

The key of files of predictors, `tests/support/structure-files.jsonl`, is written too: its files
are synthetic, and no predictor was run. Nothing here asks the verifiers: weights come from
formulas, entropies from counts, and what is wrong with a file from the edit that was made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log2
from pathlib import Path
from typing import Any

import keywriter
from keywriter import NO, UNKNOWN, YES, Key, binary, write
from molecule_keys import criteria, within

FORMULAS = {
    "G": "C2H5NO2", "A": "C3H7NO2", "S": "C3H7NO3", "P": "C5H9NO2", "V": "C5H11NO2",
    "T": "C4H9NO3", "C": "C3H7NO2S", "L": "C6H13NO2", "I": "C6H13NO2", "N": "C4H8N2O3",
    "D": "C4H7NO4", "Q": "C5H10N2O3", "K": "C6H14N2O2", "E": "C5H9NO4", "M": "C5H11NO2S",
    "H": "C6H9N3O2", "F": "C9H11NO2", "R": "C6H14N4O2", "Y": "C9H11NO3", "W": "C11H12N2O2",
}  # fmt: skip
"""Of the free amino acids."""
MASSES = {"C": 12.011, "H": 1.008, "N": 14.007, "O": 15.999, "S": 32.06}
WATER = 18.015
WEIGHING = "closed form: formulas, standard atomic weights, IUPAC 2021"
KYTE = "published: hydropathy, Kyte and Doolittle 1982"
PACE = "published: absorption at 280 nm, Pace 1995"
COUNTING = "generator: counts of letters"
ENTROPY = "closed form: entropy of counts"
PROSITE = "suite: notation of PROSITE patterns"
SPELLING = "generator: spellings of one protein"
SCALE = {"I": 4.5, "V": 4.2, "L": 3.8, "F": 2.8, "C": 2.5, "M": 1.9, "A": 1.8, "G": -0.4,
         "T": -0.7, "S": -0.8, "W": -0.9, "Y": -1.3, "P": -1.6, "H": -3.2, "E": -3.5, "Q": -3.5,
         "D": -3.5, "N": -3.5, "K": -3.9, "R": -4.5}  # fmt: skip
ONE = "MKTAYIAKQRQISFVKSHFSRQLEERLG"
"""A protein of 28 residues."""


def mass(letter: str) -> float:
    """What a free amino acid weighs."""
    parts = re.findall(r"([CHNOS])([0-9]*)", FORMULAS[letter])
    return sum(MASSES[symbol] * int(count or 1) for symbol, count in parts)


def weight(chain: str) -> float:
    """What a chain weighs: its amino acids less the water of its bonds."""
    return sum(map(mass, chain)) - WATER * (len(chain) - 1)


def entropy(word: str) -> float:
    """Bits of the letters of a word."""
    shares = [count / len(word) for count in Counter(word).values()]
    return abs(sum(share * log2(share) for share in shares))


def measured(key: Key) -> None:
    """What is counted and summed, each with its neighbour that is one step away."""
    for letter in FORMULAS:
        chain = letter * 12
        task = criteria(weight=within(weight(chain), 0.3))
        key.pair(chain, chain + letter, task, f"the weight of twelve {letter}", WEIGHING)
        other = "V" if letter in "AM" else "A"
        mean = (11 * SCALE[letter] + SCALE[other]) / 12
        task = criteria(hydropathy=within(mean, 0.01))
        key.pair(
            letter * 11 + other, letter * 10 + other * 2, task, f"hydropathy of {letter}", KYTE
        )
    two = criteria(weight=within(weight("GAGAGAGAGA") + weight("SSSSS"), 0.3))
    key.pair(
        "GAGAGAGAGA:SSSSS", "GAGAGAGAGASSSSS", two, "two chains, each with its water", WEIGHING
    )
    for chain, value in (
        ("KKKKRRRRAA", 8),
        ("DDDEEEAAAA", -6),
        ("KDKDKDKDKD", 0),
        ("HHHHHHHHHK", 1),
    ):
        task = criteria(charge=within(value, 0.1))
        key.pair(chain, chain + "K", task, "a charge", COUNTING)
    for chain, value in (("WWAAAAAAAA", 11000), ("WYAAAAAAAA", 6990), ("AAAAAAAAAA", 0)):
        key.pair(chain, chain + "Y", criteria(extinction=within(value, 1)), "absorption", PACE)
    for count in (0, 1, 4):
        chain = "C" * count + "AGAGAGAGAG"
        key.pair(chain, chain + "C", criteria(cysteines=within(count, 0.1)), "cysteines", COUNTING)
    for count in (1, 3, 7):
        chain = "AGTS" * 3 + "Q" * count + "AGTS"
        wrong = "AGTS" * 3 + "Q" * (count + 1) + "AGTS"
        key.pair(chain, wrong, criteria(longest_run=within(count, 0.1)), "a run", COUNTING)
    key.pair("AAQAAQ:QAAQAA", "AAQAAAQ:QAAQA", criteria(longest_run={"most": 2}),
             "no run between chains", COUNTING)  # fmt: skip
    for count in (1, 2, 5):
        chains = ":".join(["AGTSAGTSAG"] * count)
        key.pair(chains, f"{chains}:AGTS", criteria(chains=within(count, 0.1)), "chains", COUNTING)
    for size in (10, 50, 1000):
        chain = ("AGTSVLIKDE" * 100)[:size]
        key.pair(chain, chain + "A", criteria(length=within(size, 0.1)), "a length", COUNTING)
    key.add("AGTSVLIKD", None, NO, "shorter than is allowed by itself", COUNTING)
    key.add("AGTSVLIKDE", None, YES, "as short as is allowed by itself", COUNTING)


def complex_enough(key: Key) -> None:
    """The least entropy of twelve neighbours."""
    rich = "ACDEFGHIKLMNPQRSTVWY"
    for word in ("AAAAAAAAAAAA", "AGAGAGAGAGAG", "AGTAGTAGTAGT", "AAAAAAAAAAAG", "AGTSAGTSAGTS"):
        task = criteria(complexity=within(entropy(word), 0.005))
        key.add(rich + word + rich, task, YES, "a poor window in a rich chain", ENTROPY)
        key.add(word, task, YES, "one window", ENTROPY)
        key.add(rich + rich, task, NO, "no poor window", ENTROPY)
    key.add(rich, criteria(complexity=within(log2(12), 0.005)), YES, "twelve letters", ENTROPY)
    key.add("AGTSAGTSAGT", criteria(complexity=within(entropy("AGTSAGTSAGT"), 0.002)), YES,
            "shorter than a window", ENTROPY)  # fmt: skip
    key.pair(f"{rich}:{rich}", f"{rich}:AAAAAAAAAAAA", criteria(complexity={"least": 1}),
             "the poorest chain counts", ENTROPY)  # fmt: skip
    key.pair("AGAGAG:TSTSTS", "AGAGAGTSTSTS", criteria(complexity={"most": 1}),
             "no window between chains", ENTROPY)  # fmt: skip


def patterned(key: Key) -> None:
    """Motifs that may not occur, and those that must."""
    rows = (
        ("KDEL", "AGAGAGKDEA", "AGAGAGKDEL"), ("N-{P}-[ST]-{P}", "AGAGNPSAGA", "AGAGNASAGA"),
        ("N-{P}-[ST]-{P}", "AGAGNASPGA", "AGAGNASGGA"),
        ("[RK](2)-x-[ST]", "AGARGASGRA", "AGARKGSAGA"),
        ("C-x(2,4)-C", "AGCACGGAAA", "AGCAACGGAA"), ("C-x(2,4)-C", "CAAAAACGGA", "CAAAACGGGA"),
        ("<M-K", "AMKAGAGAGA", "MKAGAGAGAG"), ("G-G>", "GGAGAGAGAG", "AGAGAGAGGG"),
        ("x(3)-W", "AGWAGAGAGA", "AGAWAGAGAG"), ("RGD.", "RGEAGAGAGA", "AGRGDAGAGA"),
    )  # fmt: skip
    for pattern, right, wrong in rows:
        settings = {"motifs": [pattern]}
        key.add(right, None, YES, f"without {pattern}", PROSITE, settings=settings)
        key.add(wrong, None, NO, f"{pattern}; one edit away", PROSITE, settings=settings)
    twice = {"motifs": ["AA"], "criteria": {"motifs": {"least": 2, "most": 2}}}
    key.add("AAAGGGGGGG", None, YES, "overlapping motifs count", PROSITE, settings=twice)
    key.add("AAGGGGGGGG", None, NO, "once only", PROSITE, settings=twice)
    key.add(
        "GGGGA:AGGGG", None, YES, "no motif between chains", PROSITE, settings={"motifs": ["AA"]}
    )
    key.add("GGGGA:AAGGG", None, NO, "a motif in the second chain", PROSITE,
            settings={"motifs": ["AA"]})  # fmt: skip


def spelled(key: Key) -> None:
    """How a protein may be written, and what is none."""
    half = len(ONE) // 2
    for said, why in (
        (ONE, "letters"), (f">mine some words\n{ONE}\n", "FASTA"),
        (f"{ONE[:half]}\n{ONE[half:]}", "lines"),
        (f"```fasta\n>a\n{ONE}\n```", "a block"), (f"<answer>{ONE}</answer>", "a tag"),
        (f"Thoughts.\n```\n{ONE}\n```\nMore.", "a block in words"),
        (f"  {ONE}\r\n", "space around"),
        (f"I tried AGTS.\n<answer>{ONE}</answer>", "an answer after a try"),
    ):  # fmt: skip
        key.add(said, criteria(length=within(len(ONE), 0.1)), YES, why, SPELLING)
    key.add(
        f">a\n{ONE}\n>b\n{ONE[:9]}", criteria(chains=within(2, 0.1)), YES, "two records", SPELLING
    )
    for said, why in (
        (ONE.lower(), "small letters"), (ONE[:9] + ONE[9:].lower(), "some small letters"),
        (f"My protein: {ONE}", "words and letters"), (f"{ONE[:half]} {ONE[half:]}", "a space"),
        (f"{ONE}*", "the sign of an end"), (f"{ONE[:half]}-{ONE[half:]}", "a gap"),
        (f"1 {ONE}", "a number"), (f"{ONE}:", "a chain of nothing"),
        (f"words\n>a\n{ONE}", "text above"),
        (f">a\n{ONE}\n>b\n", "a record of nothing"),
        ("ALA GLY SER THR ALA GLY", "three letters each"),
        (f"<answer>{ONE}</answer> or <answer>{ONE[1:]}</answer>", "a hedge"),
        (f"```\n{ONE}\n```\n```\n{ONE[1:]}\n```", "two answers"),
        ("ACGTACGTACGTU", "RNA's letter"),
        (ONE.replace("K", "\u212a", 1), "a look-alike"), (ONE.replace("A", "\u0410"), "Cyrillic"),
        *((f"{ONE}{letter}", f"the letter {letter}") for letter in "BJOUXZ"),
    ):  # fmt: skip
        key.add(said, None, NO, why, "convention")


def senseless() -> Iterator[tuple[Any, str, str]]:
    """Tasks that no protein can be judged by."""
    for windows, why in (
        ({"length": {}}, "no bound"), ({"length": {"least": 2, "most": 1}}, "an empty window"),
        ({"beauty": {"least": 1}}, "an unknown name"), ({"length": 3}, "a number"),
        ({"length": {"least": "long"}}, "a word for a bound"), ([], "a list"),
    ):  # fmt: skip
        yield {"criteria": windows}, "criteria", why


def hostile(key: Key) -> None:
    """Text that is made to take long, or to be taken for a protein."""
    key.hostile([["A", 20_000]], None, "a chain without end")
    key.hostile([["A:", 20_000]], None, "chains without end")
    key.hostile([[">\n", 40_000]], None, "headers without end")
    key.hostile([[":", 90_000]], None, "colons without end")
    key.hostile([["MKT\u200b", 20]], None, "spaces that nobody sees")
    key.hostile([["A", 5_000_000]], None, "more than is read")
    key.hostile(binary(b"\xff\xfeMKTAY"), None, "bytes that are no text")
    key.hostile("MKTAYIAKQR\0QISFV", None, "a zero")
    key.hostile("MKTAYIAKQR;$(id)", None, "a command")
    key.hostile("__import__('os')", None, "a program")
    key.hostile("MKTAYIAKQR\n>../../etc/passwd", None, "a path as a header, of a chain of nothing")


def gate(key: Key) -> None:
    """`sequence-gate`."""
    measured(key)
    complex_enough(key)
    patterned(key)
    spelled(key)
    key.broken(ONE, senseless())
    for settings, reason in (
        ({"motifs": ["N--S"]}, "motif"), ({"motifs": ["A(3,1)"]}, "at most"),
        ({"motifs": ["[AB"]}, "motif"), ({"motifs": ["(A+)+"]}, "motif"),
        ({"score": "charge"}, "score"),
        ({"motifs": ["x(1,9)-x(1,9)-x(1,9)-x(1,9)-W"]}, "ranges"),
        ({"criteria": {"length": {}}}, "least"), ({"field": "two words"}, "field"),
        ({"motifs": ["A"] * 21}, "motifs"), ({"motifs": ["A" * 61]}, "motifs"),
    ):  # fmt: skip
        key.add(ONE, None, UNKNOWN, "settings without sense", "convention", settings=settings,
                reason=reason)  # fmt: skip
    large = criteria(length={"most": 50_000})
    key.add([["AGTSVLIKDE", 1000]], large, YES, "as many residues as are read", COUNTING)
    key.add([["AGTSVLIKDE", 1000], ["A", 1]], large, NO, "one residue more", COUNTING)
    key.add([["AGT:", 25], ["AGT", 1]], large, YES, "as many chains as are read", COUNTING)
    key.add([["AGT:", 26], ["AGT", 1]], large, NO, "one chain more", COUNTING)
    hostile(key)


# ---- Files of predictors

MADE = "generator: a helix with ideal bonds"
EDITED = "generator: one edit of sound files"
ALL = "ACDEFGHIKLMNPQRSTVWY"
SHAPES = (ONE, f"{ONE}:{ALL}", f"{ONE[:12]}:{ONE[:12]}", f"{ALL}:{ONE[:12]}:{ALL}")
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("alphafold3", {}), ("boltz", {}), ("boltz", {"form": "pdb"}), ("boltz", {"top": ""}),
    ("colabfold", {}), ("colabfold", {"is_old": True}), ("colabfold", {"is_relaxed": True}),
    ("colabfold", {"pae": "object"}), ("colabfold", {"pae": "list"}), ("colabfold", {"pae": ""}),
)  # fmt: skip
UNSOUND = {
    "mirrored": {"chirality": {"most": 0}}, "flattened": {"chirality": {"most": 0}},
    "clashing": {"clashes": {"most": 0}}, "broken": {"breaks": {"most": 0}},
    "stretched": {"bonds": {"most": 2}}, "nearly broken": {"bonds": {"most": 0.1}},
    "twisted": {"twisted": {"most": 5}}, "cis": {"cis": {"most": 0}},
    "doubtful": {"plddt": {"least": 70}},
}  # fmt: skip
NEARLY = {
    "touching": {"clashes": {"most": 0}}, "hardly stretched": {"bonds": {"most": 0}},
    "hardly twisted": {"twisted": {"most": 0}, "cis": {"most": 0}},
    "nearly broken": {"breaks": {"most": 0}}, "mirrored": {"breaks": {"most": 0}},
}  # fmt: skip
BROKEN = {
    "nothing left": "no file of", "no model": "no file of", "an empty model": "empty",
    "half a model": "", "words for a model": "", "a compressed model": "compressed",
    "a model of zeros": "plain text", "no confidences": "", "empty confidences": "empty",
    "half of the confidences": "JSON", "a list for confidences": "no object",
    "a residue less": "", "an atom less": "lacks", "an atom twice": "twice",
    "another residue": "", "no amino acid": "no amino acid", "an atom of another name": "",
    "no number for a place": "", "a place far away": "",
    "all atoms in one place": "in a cube", "ptm of another scale": "ptm is 78",
    "a text for ptm": "ptm is", "true for ptm": "ptm is True",
    "plddt of another scale": "another scale", "plddt of fewer residues": "",
    "plddt below 0": "beyond 0",
}  # fmt: skip


def files(key: Key) -> None:
    """`structure-files`, a verifier of the tests."""
    for said in SHAPES:
        for layout, options in FORMS:
            task: dict[str, Any] = {"layout": layout, "options": options, "criteria": SOUND_HELIX}
            key.add(said, task, YES, f"files of {layout}, whole", MADE)
    for layout, options in (("alphafold3", {}), ("boltz", {"form": "pdb"}), ("colabfold", {})):
        for name, windows in UNSOUND.items():
            task = {"layout": layout, "options": options, "fold": [name], "criteria": windows}
            key.add(ONE, task, NO, f"a model that is {name}", EDITED)
        for name, windows in NEARLY.items():
            task = {"layout": layout, "options": options, "fold": [name], "criteria": windows}
            key.add(ONE, task, YES, f"a model that is {name}, by another measure", EDITED)
        for name, reason in BROKEN.items():
            task = {"layout": layout, "options": options, "edits": [name]}
            key.add(ONE, task, UNKNOWN, name, EDITED, reason=reason or " ")
    for layout in ("alphafold3", "boltz", "colabfold"):
        task = {"layout": layout, "fold": ["iptm 0"]}
        least = {**task, "criteria": {"iptm": {"least": 0.5}}}
        key.add(SHAPES[1], least, NO, "an ipTM of 0 is a value", "known hack")
        key.add(SHAPES[1], {**task, "criteria": {"iptm": {"most": 0}}}, YES, "it is 0", MADE)
        task = {"layout": layout, "edits": ["iptm of another scale"]}
        key.add(SHAPES[1], task, UNKNOWN, "another scale", EDITED, reason="iptm is 12")
    for layout in ("alphafold3", "boltz"):
        task = {"layout": layout, "edits": ["no ptm"]}
        key.add(ONE, task, UNKNOWN, "no ptm", EDITED, reason="ptm is None")
    task = {"layout": "colabfold", "edits": ["scores of another rank"]}
    key.add(ONE, task, UNKNOWN, "of another rank", EDITED, reason="no file of scores")
    changed(key)
    paired(key)
    at_bounds(key)


def changed(key: Key) -> None:
    """What stands beside a protein, and chains in another order."""
    for layout, options in (("alphafold3", {}), ("boltz", {"form": "pdb"}), ("colabfold", {})):
        besides(key, {"layout": layout, "options": options})
        for said in SHAPES[1::2]:
            form: dict[str, Any] = {"layout": layout, "options": options}
            task = {**form, "criteria": {"angles": {"most": 0}}}
            key.add(said, task, YES, "angles as they should be", MADE)
            task = {**form, "fold": ["in another order"], "criteria": SOUND_HELIX}
            key.add(said, task, YES, "chains in another order", EDITED)


def paired(key: Key) -> None:
    """What is told of pairs and tokens, and belongs to another run."""
    for layout, name in (("alphafold3", "chain_pair_iptm"), ("boltz", "pair_chains_iptm")):
        for edit in ("pairs of fewer chains", "a list for pairs"):
            task: dict[str, Any] = {"layout": layout, "edits": [edit]}
            key.add(SHAPES[1], task, UNKNOWN, edit, EDITED, reason=name)
        task = {"layout": layout, "edits": ["no pairs"], "criteria": SOUND_HELIX}
        key.add(SHAPES[1], task, YES, "pairs that nobody told", EDITED)
    task = {"layout": "boltz", "edits": ["the mean of another run"]}
    key.add(ONE, task, UNKNOWN, "of another run", EDITED, reason="complex_plddt is")
    task = {"layout": "alphafold3", "edits": ["fewer tokens"]}
    key.add(ONE, task, UNKNOWN, "fewer tokens than residues", EDITED, reason="token_res_ids has")


def at_bounds(key: Key) -> None:
    """Confidences at their bounds, pairs in each form, and what only one bound or word tells."""
    for layout, options in FORMS:
        if options.get("pae", "scores"):
            task: dict[str, Any] = {"layout": layout, "options": options}
            task["criteria"] = {"pae": {"least": 0.5, "most": 2}}
            key.add(ONE, task, YES, f"PAE of {layout}", MADE)
    for layout, options in (("alphafold3", {}), ("boltz", {"form": "pdb"}), ("colabfold", {})):
        form: dict[str, Any] = {"layout": layout, "options": options}
        most = {"plddt": {"least": 100}, "ptm": {"least": 1}, "iptm": {"least": 1}}
        task = {**form, "fold": ["sure"], "criteria": most}
        key.add(SHAPES[1], task, YES, "confidences as high as they can be", MADE)
        for name, windows in (
            ("bent", {"angles": {"most": 0}}), ("clashing late", {"clashes": {"most": 0}}),
        ):  # fmt: skip
            task = {**form, "fold": [name], "criteria": windows}
            key.add(ONE, task, NO, f"a model that is {name}", EDITED)
        for name, windows in (
            ("touching closely", {"clashes": {"most": 0}}),
            ("clashing", {"clashes": {"least": 1, "most": 100}}),
        ):  # fmt: skip
            task = {**form, "fold": [name], "criteria": windows}
            key.add(ONE, task, YES, f"a model that is {name}, by its measure", EDITED)
        task = {**form, "fold": ["cis"], "criteria": {"cis": {"least": 7, "most": 7}}}
        key.add("PMKTAYIA", task, YES, "cis, and proline before all peptides", EDITED)
        for name, reason in (
            ("of another protein", "of another sequence"), ("with a chain more", "chains;"),
        ):  # fmt: skip
            key.add(ONE, {**form, "fold": [name]}, UNKNOWN, f"a model {name}", EDITED,
                    reason=reason)  # fmt: skip
        for name, reason in UNLIKE.items():
            key.add(SHAPES[1], {**form, "edits": [name]}, UNKNOWN, name, EDITED, reason=reason)
        task = {**form, "edits": ["no iptm"], "criteria": SOUND_HELIX}
        if layout == "colabfold":
            key.add(SHAPES[1], task, YES, "an ipTM that nobody told", EDITED)
        else:
            key.add(SHAPES[1], task, UNKNOWN, "no ipTM", EDITED, reason="iptm is None")
        if layout != "alphafold3":
            task = {**form, "edits": ["an atom behind the end"]}
            key.add(ONE, task, UNKNOWN, "an atom behind the end", EDITED, reason="its end")
    task = {"layout": "boltz", "edits": ["pae in Fortran's order"]}
    key.add(ONE, task, UNKNOWN, "rows for columns", EDITED, reason="pae in")


def besides(key: Key, form: dict[str, Any]) -> None:
    """What stands beside a protein, alternate places, chains without names, and a collapse."""
    for name in ("others behind", "others before", "others in a chain", "others behind, told",
                 "others before, told"):  # fmt: skip
        for said in SHAPES[:2]:
            task = {**form, "edits": [name], "criteria": SOUND_HELIX}
            key.add(said, task, YES, f"a protein with {name}", EDITED)
        task = {**form, "fold": ["doubtful"], "edits": [name],
                "criteria": {"plddt": {"least": 70}}}  # fmt: skip
        key.add(ONE, task, NO, f"a doubtful protein with {name}", EDITED)
    task = {**form, "edits": ["others for atoms of a chain"]}
    key.add(ONE, task, UNKNOWN, "an ion as a part of a chain", EDITED, reason="no amino acid")
    task = {**form, "edits": ["a modified residue"]}
    key.add(ONE, task, UNKNOWN, "a modified residue", EDITED, reason="no amino acid")
    for name, outcome in (("a second place", YES), ("a likelier place", YES),
                          ("two places alike", YES), ("a wrong place", NO)):  # fmt: skip
        task = {**form, "edits": [name], "criteria": SOUND_HELIX}
        key.add(ONE, task, outcome, f"{name} of a residue", EDITED)
    for said in SHAPES[:3]:
        task = {**form, "edits": ["no names"], "criteria": SOUND_HELIX}
        key.add(said, task, YES, "chains without names", EDITED)
    for windows, outcome in (
        ({"clashes": {"most": 5}}, NO), ({"crowd": {"most": 24}}, NO),
        ({"crowd": {"least": 25}}, YES),
    ):  # fmt: skip
        task = {**form, "fold": ["collapsed"], "criteria": windows}
        key.add(ONE, task, outcome, "a chain that has collapsed", EDITED)
    task = {**form, "criteria": {"crowd": {"least": 3, "most": 9}}}
    key.add(ONE, task, YES, "no chain that has collapsed", MADE)


UNLIKE = {
    "two models": "two models", "an atom apart": "stand together", "a place twice": "twice",
    "texts for plddt": "plddt", "pae of fewer residues": "pae",
    "plddt of fewer residues": "must be", "another residue": "has CB",
    "an atom of another name": "lacks CB",
}  # fmt: skip
"""Edits that a word of the reason tells from others."""
SOUND_HELIX = {
    "clashes": {"most": 0}, "chirality": {"most": 0}, "bonds": {"most": 0}, "breaks": {"most": 0},
    "twisted": {"most": 0}, "cis": {"most": 0}, "plddt": {"least": 70, "most": 95},
    "ptm": {"least": 0.7, "most": 0.95},
}  # fmt: skip


def main() -> None:
    """Write both."""
    write({"sequence-gate": gate}, [])
    keywriter.FOLDER = Path(__file__).resolve().parents[1] / "tests" / "support"
    write({"structure-files": files}, [])


if __name__ == "__main__":
    main()
