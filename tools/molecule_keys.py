"""Make the answer keys of what computes properties of molecules.

    python tools/molecule_keys.py        # writes tiers/answer_keys/NAME.jsonl
    python tools/molecule_keys.py molecule-novelty

Nothing here asks the libraries that the verifiers use. What a number must be comes from a closed
form (sums of published contributions, counts on homologous series, symmetry), from a published
measurement, or from the published suite of a method; ranges of computed quantities are as wide as
the method's published error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from typing import Any

from keywriter import NO, UNKNOWN, YES, Key, binary, write

WEIGHTS = {
    "H": 1.008, "C": 12.011, "N": 14.007, "O": 15.999, "F": 18.998, "S": 32.06, "Cl": 35.45,
    "Br": 79.904, "I": 126.90,
}  # fmt: skip
"""Abridged standard atomic weights, IUPAC 2021."""
WEIGHING = "closed form: standard atomic weights, IUPAC 2021"
CRIPPEN = "closed form: contributions of atoms, Wildman and Crippen 1999"
ERTL = "closed form: contributions of groups, Ertl, Rohde and Selzer 2000"
COUNTING = "generator: counts on a homologous series"
GRAPHS = "closed form: bonds - atoms + 1"
LIPINSKI = "closed form: counts of N, O and their hydrogens, Lipinski 1997"
BICKERTON = "closed form: desirability functions of Bickerton 2012"
ZIM = "suite: examples of the synthetic accessibility score, Ertl and Schuffenhauer 2009"
PAINS = "suite: classes of Baell and Holloway 2010"
BRENK = "suite: classes of Brenk 2008"
SHARES = "closed form: distance by margin"
SPELLING = "generator: spellings of one molecule"


def within(value: float, room: float) -> dict[str, float]:
    """A window around a value."""
    return {"least": round(value - room, 6), "most": round(value + room, 6)}


def criteria(**windows: Mapping[str, float]) -> dict[str, Any]:
    """A task that names criteria."""
    return {"criteria": windows}


def series(key: Key, name: str, rows: Mapping[str, float], room: float, source: str) -> None:
    """Values of neighbours: each is inside its own window, and the next one outside of it."""
    values = [*rows.items()]
    for (smiles, value), (other, another) in zip(values, values[1:] + values[:1], strict=True):
        if abs(value - another) <= 2 * room:
            raise ValueError(f"{smiles} and {other} are too alike to be told apart")
        key.pair(smiles, other, criteria(**{name: within(value, room)}), name, source)


# ---- molecule-properties


def alkane(n: int) -> str:
    """The chain of so many carbon atoms."""
    return "C" * n


def weigh(**atoms: int) -> float:
    """What a formula weighs."""
    return sum(WEIGHTS[symbol] * count for symbol, count in atoms.items())


def weights(key: Key) -> None:
    """Molecular weights of formulas."""
    rows = {alkane(n): weigh(C=n, H=2 * n + 2) for n in (1, 3, 6, 17)}
    rows |= {alkane(n) + "O": weigh(C=n, H=2 * n + 2, O=1) for n in (1, 2, 9)}
    rows |= {
        "NCC(=O)O": weigh(C=2, H=5, N=1, O=2), "ClC(Cl)(Cl)Cl": weigh(C=1, Cl=4),
        "FC(F)(F)C(F)(F)F": weigh(C=2, F=6), "CS(C)=O": weigh(C=2, H=6, O=1, S=1),
        "Brc1ccccc1": weigh(C=6, H=5, Br=1), "Ic1ccccc1": weigh(C=6, H=5, I=1),
        "OCC1OC(O)C(O)C(O)C1O": weigh(C=6, H=12, O=6), "O": weigh(H=2, O=1),
    }  # fmt: skip
    series(key, "molecular_weight", rows, 0.05, WEIGHING)
    heavy = criteria(molecular_weight=within(2 * 2.014 + 15.999, 0.02))
    key.pair("[2H]O[2H]", "O", heavy, "isotopes weigh what they weigh", "closed form: AME 2020")
    ion = criteria(molecular_weight=within(weigh(C=2, H=3, O=2), 0.05))
    key.pair("CC(=O)[O-]", "CC(=O)O", ion, "an ion is weighed as it is", WEIGHING)


def partitions(key: Key) -> None:
    """Crippen's logP, where its contributions are sums of few terms."""
    h, c1, c3, h2, o2 = 0.1230, 0.1441, -0.2035, -0.2677, -0.2893
    ch, fused = 0.1581, 0.2955
    rows = {alkane(n): n * c1 + (2 * n + 2) * h for n in (1, 2, 4, 8, 13)}
    rows |= {alkane(n) + "O": (n - 1) * c1 + c3 + (2 * n + 1) * h + o2 + h2 for n in (2, 3, 6)}
    rows |= {"CC(C)C": 3 * c1 + 10 * h, "CC(C)(C)C": 4 * c1 + 12 * h}
    rows |= {"C1" + "C" * n + "1": (n + 1) * c1 + 2 * (n + 1) * h for n in (4, 5, 6)}
    rows |= {
        "c1ccccc1": 6 * (ch + h), "c1ccc2ccccc2c1": 8 * (ch + h) + 2 * fused,
        "c1ccc2cc3ccccc3cc2c1": 10 * (ch + h) + 4 * fused,
    }  # fmt: skip
    series(key, "logp", rows, 0.005, CRIPPEN)


def surfaces(key: Key) -> None:
    """Polar surfaces as sums of groups."""
    oh, ether, carbonyl, nh2, nh, n = 20.23, 9.23, 17.07, 26.02, 12.03, 3.24
    rows = {
        "CCO": oh, "OCCO": 2 * oh, "CCOCC": ether, "CC(C)=O": carbonyl, "CC(=O)O": carbonyl + oh,
        "CCN": nh2, "CNC": nh, "CN(C)C": n, "CC(N)=O": carbonyl + nh2, "C1COCCN1": ether + nh,
        "COC(C)=O": ether + carbonyl, "CC#N": 23.79, "c1ccncc1": 12.89, "c1cc[nH]c1": 15.79,
        "CCC": 0.0,
    }  # fmt: skip
    series(key, "tpsa", rows, 0.05, ERTL)


def rings(key: Key) -> None:
    """Rings as independent cycles, and the largest ring."""
    rows = {
        "C1CCCCC1": 1, "CCCCCC": 0, "c1ccc2ccccc2c1": 2, "c1ccc(-c2ccccc2)cc1": 2,
        "C1CC2(C1)CC2": 2, "c1ccc2cc3ccccc3cc2c1": 3, "C1C2CC3CC1CC(C2)C3": 3,
        "C12C3C4C1C5C2C3C45": 5, "C1CC2CCC1C2": 2,
    }  # fmt: skip
    for smiles, count in rows.items():
        key.add(smiles, criteria(rings=within(count, 0.1)), YES, "rings", GRAPHS)
        key.add(smiles, criteria(rings=within(count + 1, 0.1)), NO, "one ring more", GRAPHS)
    cycles = {"C1" + "C" * (n - 2) + "C1": n for n in (3, 4, 5, 6, 8, 12, 20)}
    series(key, "largest_ring", cycles, 0.1, COUNTING)
    key.pair("C1CCCCC1CCC1CC1", "C1CCCCCC1CCC1CC1", criteria(largest_ring={"most": 6}),
             "two rings", COUNTING)  # fmt: skip
    key.add("CCC", criteria(largest_ring={"most": 0}), YES, "no ring", COUNTING)
    key.add("C1CC1", criteria(largest_ring={"most": 0}), NO, "a ring", COUNTING)


def counts(key: Key) -> None:
    """Rotatable bonds, donors, acceptors, and what breaks Lipinski's rule."""
    rotors = {alkane(n): n - 3 for n in (4, 5, 8, 14)} | {"CCC": 0}
    series(key, "rotatable_bonds", rotors, 0.1, COUNTING)
    glycol = "OCC" + "OCC" * 11 + "O"
    donors = {
        "CCO": 1, "CCN": 2, "CCC": 0, "NCCO": 3, "NCCCCN": 4, "OCC(O)C(O)C(O)C(O)CO": 6,
        "CNC": 1, "CN(C)C=O": 0,
    }  # fmt: skip
    series(key, "donors", donors, 0.1, LIPINSKI)
    acceptors = {"CCO": 1, "COC(C)=O": 2, "CCC": 0, "C[N+](=O)[O-]": 3, glycol: 13, "CCN": 1,
                 "NC(=O)CC(N)=O": 4}  # fmt: skip
    series(key, "acceptors", acceptors, 0.1, LIPINSKI)
    # The logP of an alkane passes 5 with its thirteenth carbon, its weight 500 with the 36th.
    broken = {alkane(12): 0, alkane(13): 1, alkane(35): 1, alkane(36): 2, glycol: 2,
              "OCC(O)C(O)C(O)C(O)CO": 1, "OCC(O)C(O)C(O)CO": 0}  # fmt: skip
    for smiles, count in broken.items():
        key.add(
            smiles, criteria(lipinski_violations=within(count, 0.1)), YES, "rule of five", LIPINSKI
        )
        key.add(smiles, criteria(lipinski_violations=within(1 - min(count, 1), 0.1)), NO,
                "another count of broken rules", LIPINSKI)  # fmt: skip


ADS = (
    (2.817065973, 392.5754953, 290.7489764, 2.419764353, 49.22325677, 65.37051707, 104.9805561),
    (3.172690585, 137.8624751, 2.534937431, 4.581497897, 0.822739154, 0.576295591, 131.3186604),
    (2.948620388, 160.4605972, 3.615294657, 4.435986202, 0.290141953, 1.300669958, 148.7763046),
    (1.618662227, 1010.051101, 0.985094388, 1e-9, 0.713820843, 0.920922555, 258.1632616),
    (1.876861559, 125.2232657, 62.90773554, 87.83366614, 12.01999824, 28.51324732, 104.5686167),
    (0.01, 272.4121427, 2.558379970, 1.565547684, 1.271567166, 2.758063707, 105.4420403),
    (3.217788970, 957.7374108, 2.274627939, 1e-9, 1.317690384, 0.375760881, 312.3372610),
    (0.01, 1199.094025, -0.09002883, 1e-9, 0.185904477, 0.875193782, 417.7253140),
)
"""a to f and the largest value of weight, logP, acceptors, donors, polar surface, rotatable bonds,
aromatic rings and alerts."""
IMPORTANCE = (0.66, 0.46, 0.05, 0.61, 0.06, 0.65, 0.48, 0.95)


def desirability(*values: float) -> float:
    """The weighted geometric mean of the eight functions."""
    total = 0.0
    for x, w, (a, b, c, d, e, f, most) in zip(values, IMPORTANCE, ADS, strict=True):
        rise = 1 + exp(-(x - c + d / 2) / e)
        fall = 1 + exp(-(x - c - d / 2) / f)
        total += w * log((a + b / rise * (1 - 1 / fall)) / most)
    return exp(total / sum(IMPORTANCE))


def drug_likeness(key: Key) -> None:
    """QED of molecules whose eight numbers are counted by hand."""
    ch, chain = 0.1581 + 0.1230, 0.1441 + 2 * 0.1230
    rows = {
        "C": (weigh(C=1, H=4), 0.1441 + 4 * 0.1230, 0, 0, 0, 0, 0, 0),
        "CCCC": (weigh(C=4, H=10), 4 * chain + 0.246, 0, 0, 0, 1, 0, 0),
        "c1ccccc1": (weigh(C=6, H=6), 6 * ch, 0, 0, 0, 0, 1, 0),
        "CCO": (weigh(C=2, H=6, O=1), -0.0014, 1, 1, 20.23, 0, 0, 0),
        "C1CCCCC1": (weigh(C=6, H=12), 6 * chain, 0, 0, 0, 0, 0, 0),
        "CCCCCC": (weigh(C=6, H=14), 6 * chain + 0.246, 0, 0, 0, 3, 0, 1),
        "CCC": (weigh(C=3, H=8), 3 * chain + 0.246, 0, 0, 0, 0, 0, 0),
    }
    series(
        key, "qed", {smiles: desirability(*row) for smiles, row in rows.items()}, 0.0015, BICKERTON
    )
    # What is often taken for good: a chain of fifty scores near nothing, one of the unphysical.
    poor = desirability(weigh(C=50, H=102), 50 * chain + 0.246, 0, 0, 0, 47, 0, 1)
    key.add(alkane(50), criteria(qed=within(poor, 0.0015)), YES, "a long chain", BICKERTON)
    key.add(alkane(50), criteria(qed={"least": 0.3}), NO, "a long chain is no drug", BICKERTON)


SYNTHETIC = {
    "COc1ccccc1OC(=O)c1ccccc1": 1.342, "Nc1ccc(S(=O)(=O)Nc2ccccc2)cc1": 1.529,
    "c1ccc(OCc2ccc(CCCN3CCOCC3)cc2)cc1": 1.702, "COc1cc(O)c(C(=O)c2ccccc2)c(O)c1": 1.868,
    "OCC(O)COc1ccc(Cl)cc1": 2.102, "CC(C)Cn1cnc2c1c1ccccc1nc2N": 2.230,
    "CC(c1ccccc1)N(C)C=O": 2.562, "CCC1(c2ccccc2)C(=O)N(COC)C(=O)N(COC)C1=O": 2.759,
    "COc1c2c(cc3c1C(O)N(C)CC3)OCO2": 3.183, "O=C(CO)C(O)C(O)CO": 3.473,
    "C#CC1(O)CCC2C3CCc4cc(OC)ccc4C3CCC21C": 3.810, "CC12CCC3C(CCC4CC(=O)CCC43C)C1CCC2=O": 3.912,
    "OCC1OC(OC2C(CO)OC(O)C(O)C2O)C(O)C(O)C1O": 4.282,
    "CC(=O)OC1(C(C)=O)CCC2C3C=C(Cl)C4=CC(=O)C5CC5C4(C)C3CCC21C": 4.827,
}  # fmt: skip


def accessibility(key: Key) -> None:
    """The synthetic accessibility score."""
    series(key, "sa_score", SYNTHETIC, 0.01, ZIM)


ASSAYS = (
    ("Oc1cccc(O)c1", "Oc1ccccc1O", "catechol"),
    ("O=C1CCCCC1", "O=C1C=CC(=O)C=C1", "quinone"),
    ("O=C1NC(=O)SC1=Cc1ccccc1", "O=C1NC(=S)SC1=Cc1ccccc1", "alkylidene rhodanine"),
    ("c1ccc(C=Cc2ccccc2)cc1", "c1ccc(N=Nc2ccccc2)cc1", "azo"),
    ("Oc1ccccc1CC1CCCCC1", "Oc1ccccc1CN1CCCCC1", "Mannich base of a phenol"),
    ("COc1ccccc1C=NNC(=O)c1ccccc1", "Oc1ccccc1C=NNC(=O)c1ccccc1", "phenolic hydrazone"),
    ("O=C1CCCc2ccccc21", "O=C1C(=Cc2ccccc2)C(=O)c2ccccc21", "alkylidene indanedione"),
    ("O=C1C=CC(=O)N1", "O=C1C=CC(=O)c2ccccc21", "naphthoquinone"),
    ("Oc1cc(O)c2c(c1)oc(-c1ccc(O)cc1)c(O)c2=O", "Oc1cc(O)c2c(c1)oc(-c1ccc(O)c(O)c1)c(O)c2=O",
     "quercetin, a catechol"),
    ("CC(=O)Oc1ccccc1C(=O)O", "CC(=O)Oc1cc(O)c(O)cc1C(=O)O", "aspirin, and a catechol of it"),
)  # fmt: skip
REACTIVE = (
    ("Clc1ccccc1", "CCCl", "alkyl halide"), ("CC(N)=O", "CC(=O)Cl", "acid halide"),
    ("CC(C)=O", "CC=O", "aldehyde"), ("CNC(C)=O", "CN=C=O", "isocyanate"),
    ("CSC", "CCS", "thiol"), ("CC(C)=O", "CC(=O)C=C", "Michael acceptor"),
    ("C1CCOC1", "C1CO1", "three-membered heterocycle"), ("CCOC", "COOC", "peroxide"),
    ("CNC", "CN=[N+]=[N-]", "azide"), ("CCC", "CC#C", "triple bond"),
    ("CNC(=O)c1ccccc1", "Nc1ccccc1", "aniline"), ("CNC", "CNN", "hydrazine"),
    ("CSC", "CSSC", "disulphide"), ("CS(N)(=O)=O", "CS(=O)(=O)O", "sulphonic acid"),
    ("CCCCC", "CCCCCC", "long aliphatic chain"), ("CCC", "CI", "iodine"),
    ("COC(=O)c1ccccc1", "CC(=O)Oc1ccccc1", "phenol ester"), ("CCC", "CC=CC", "isolated alkene"),
    ("CC(N)=O", "CC(=S)N", "thiocarbonyl"),
    ("COC(C)=O", "CC(=O)SC", "thioester"), ("Cc1ccccc1", "O=[N+]([O-])c1ccccc1", "nitro group"),
    ("c1ccc2ccccc2c1", "c1ccc2cc3ccccc3cc2c1", "polycyclic aromatic"),
    ("O=C1NCc2ccccc21", "O=C1NC(=O)c2ccccc21", "phthalimide"),
)  # fmt: skip


def alerts(key: Key) -> None:
    """Structural alerts: molecules of the published classes, and one edit away from them."""
    for clean, alarming, why in ASSAYS:
        key.pair(clean, alarming, criteria(pains={"most": 0}), f"PAINS: {why}", PAINS)
        key.add(alarming, criteria(pains={"least": 1}), YES, f"PAINS, counted: {why}", PAINS)
    for clean, alarming, why in REACTIVE:
        key.pair(clean, alarming, criteria(brenk={"most": 0}), f"Brenk: {why}", BRENK)
    key.add("CN(C)c1ccc(C=C2C(=O)NC(=O)NC2=O)cc1", criteria(pains={"least": 2}), YES,
            "two PAINS classes in one molecule", PAINS)  # fmt: skip


def judgement(key: Key) -> None:
    """What becomes of the shares of several criteria."""
    hexane = 6 * 0.3901 + 0.246
    drug = criteria(
        qed={"least": 0.5}, logp={"least": 0, "most": 3}, tpsa={"most": 90},
        molecular_weight={"most": 350}, lipinski_violations={"most": 1}, pains={"most": 0},
    )  # fmt: skip
    key.pair("CC(=O)Nc1ccc(O)cc1", "CC(=O)Nc1ccc(O)c(O)c1", drug, "several criteria", PAINS)
    for least, margin in ((3.0, 1.0), (4.0, 2.0), (5.0, 3.0), (9.0, 1.0)):
        share = max(0.0, 1 - (least - hexane) / margin)
        key.add("CCCCCC", criteria(logp={"least": least, "margin": margin}), NO,
                "a share of the criterion below it", SHARES,
                score=[round(share - 0.005, 6), round(share + 0.005, 6)])  # fmt: skip
    for most, margin in ((2.0, 1.0), (1.0, 4.0), (0.0, 1.0)):
        share = max(0.0, 1 - (hexane - most) / margin)
        key.add("CCCCCC", criteria(logp={"most": most, "margin": margin}), NO,
                "a share of the criterion above it", SHARES,
                score=[round(share - 0.005, 6), round(share + 0.005, 6)])  # fmt: skip
    three = criteria(rings={"most": 0}, rotatable_bonds={"least": 9}, donors={"most": 0})
    key.add("CCCCCC", three, NO, "two of three criteria", SHARES, score=[0.666, 0.667])
    key.add("CCCCCC", criteria(rings={"least": 0, "most": 0}), YES, "all criteria", SHARES,
            score=[1, 1])  # fmt: skip
    key.add("CCCCCC", criteria(rotatable_bonds={"least": 3, "most": 3}), YES,
            "what equals a bound keeps it", SHARES)  # fmt: skip


def declared(key: Key) -> None:
    """Criteria of the settings, of the task, and of both; a value as the score."""
    own = {"criteria": {"rings": {"most": 0}, "donors": {"most": 0}}}
    key.add("CCCC", None, YES, "criteria of the settings", "convention", settings=own)
    key.add("CCCO", None, NO, "criteria of the settings", "convention", settings=own)
    key.add("CCCO", criteria(donors={"most": 1}), YES, "the task's window stands for the own one",
            "convention", settings=own)  # fmt: skip
    key.add("C1CC1O", criteria(donors={"most": 1}), NO, "the other criteria stay", "convention",
            settings=own)  # fmt: skip
    for n in (2, 5, 9):
        value = n * 0.3901 + 0.246
        key.add(alkane(n), None, YES, "the value as the score", CRIPPEN,
                settings={"score": "logp"}, score=[value - 0.002, value + 0.002])  # fmt: skip
    key.add("CCCO", None, NO, "a value, and a criterion that fails", "convention",
            settings={**own, "score": "logp"})  # fmt: skip


def spellings(key: Key) -> None:
    """Every spelling of one molecule has the same properties."""
    benzene = criteria(logp=within(1.6866, 0.005), rings={"least": 1, "most": 1})
    for text in ("C1=CC=CC=C1", "c1ccccc1", "[cH]1[cH][cH][cH][cH][cH]1", "c%10ccccc%10"):
        key.add(text, benzene, YES, "benzene", SPELLING)
    for text in ("OCC", "C(C)O", "[CH3][CH2][OH]", "[H]OC([H])([H])C([H])([H])[H]"):
        key.add(text, criteria(donors=within(1, 0.1), tpsa=within(20.23, 0.01),
                               molecular_weight=within(46.069, 0.05)), YES, "ethanol",
                SPELLING)  # fmt: skip


def senseless(key: Key, said: str, known: str) -> None:
    """Tasks that can't be judged by, of all verifiers of this kind."""
    cases: tuple[tuple[Any, str, str], ...] = (
        (None, "criteria", "no criteria anywhere"),
        ({}, "criteria", "no criteria anywhere"),
        ({"criteria": {}}, "criteria", "no criterion"),
        ({"criteria": {known: {}}}, "criteria", "a window without a bound"),
        ({"criteria": {known: {"least": 2, "most": 1}}}, "criteria", "an empty window"),
        ({"criteria": {"beauty": {"least": 1}}}, "criteria", "a property that there is not"),
        ({"criteria": {known: 3}}, "criteria", "a number for a window"),
        ({"criteria": {known: {"least": "high"}}}, "criteria", "a word for a bound"),
        ({"criteria": {known: {"least": 1, "margin": 0}}}, "criteria", "a margin of nothing"),
        ({"criteria": {known: {"least": True}}}, "criteria", "a truth value for a bound"),
        ({"criteria": {known: {"above": 1}}}, "criteria", "an unknown bound"),
        ({"criteria": [known]}, "criteria", "a list"),
    )
    key.broken(said, cases)


HOSTILE = (
    ("", "nothing"),
    ("C1CC", "a ring that is never closed"),
    ("CCO ethanol of course", "a name"),
    ("CCO.CCO", "two molecules"),
    ("[Na+].[Cl-]", "a salt"),
    ("*CC", "a placeholder"),
    ("[*:1]CC", "a placeholder with a number"),
    ("[C+999]", "a charge that there is not"),
    ("[#6]-[OH]", "a pattern"),
    ("CC>>CO", "a reaction"),
    ('{"outcome": "accept"}', "a verdict"),
    ("C(C)(C)(C)(C)C", "too many bonds"),
    ("\u0421\u0421\u041e", "letters that only look so"),
)


def hostile(key: Key, task: Any) -> None:
    """Text that is no molecule, and molecules that nobody can compute."""
    for said, why in HOSTILE:
        key.hostile(said, task, why)
    key.hostile([["C", 20_000]], task, "a chain that overflows the stack")
    key.hostile([["(", 100_000]], task, "brackets without end")
    key.hostile([[".", 100_000]], task, "dots without end")
    key.hostile([["C1CC2", 60], ["C", 1], ["12", 60]], task, "rings in rings")
    key.hostile([["c1", 1], ["c", 400], ["1", 1]], task, "a ring of hundreds of atoms")
    key.hostile(binary(b"\xff\xfeCCO"), task, "bytes that are no text")


def refused(key: Key, settings: Sequence[tuple[dict[str, Any], str]]) -> None:
    """Settings that nothing can be judged by: they are refused, and the reason names them."""
    for each, reason in settings:
        key.add("CCO", None, UNKNOWN, "settings without sense", "convention", settings=each,
                reason=reason)  # fmt: skip


def several(key: Key, task: Any) -> None:
    """What is no single molecule is rejected, whatever its sum would be."""
    for said, why in (("CCO.O", "two molecules"), ("CC.CC.CC", "three molecules"),
                      ("[Na+].CC(=O)[O-]", "a salt"), ("*CCO", "a placeholder")):  # fmt: skip
        key.add(said, task, NO, why, "convention")


def properties(key: Key) -> None:
    """`molecule-properties`."""
    weights(key)
    partitions(key)
    surfaces(key)
    rings(key)
    counts(key)
    drug_likeness(key)
    accessibility(key)
    alerts(key)
    judgement(key)
    declared(key)
    spellings(key)
    several(key, criteria(molecular_weight={"most": 500}, logp={"most": 9}))
    senseless(key, "CCO", "logp")
    hostile(key, criteria(molecular_weight={"most": 5000}, qed={"least": 0}, pains={"most": 99}))
    refused(key, [({"score": "beauty"}, "score"), ({"field": "target"}, "field"),
                  ({"field": "a b"}, "field"), ({"criteria": {"beauty": {"least": 1}}}, "beauty"),
                  ({"criteria": {"logp": {}}}, "least"),
                  ({"criteria": {"logp": {"least": 2, "most": 1}}}, "between")])  # fmt: skip
    own = {"shape": {"rings": {"most": 0}}, "criteria": {"rings": {"least": 9}}}
    for said, outcome in (("CCC", YES), ("C1CC1", NO)):
        key.add(said, own, outcome, "criteria in another field of the task", "convention",
                settings={"field": "shape"})  # fmt: skip


# ---- molecule-novelty

MORGAN = "closed form: environments of a chain's atoms, counted"
IDENTITY = "generator: spellings, isomers and tautomers of one molecule"
CHAINS = {
    (2, 3): 1 / 5, (3, 4): 3 / 6, (4, 5): 4 / 8, (5, 6): 6 / 8, (6, 7): 7 / 8, (7, 8): 1.0,
    (7, 12): 1.0, (1, 2): 0.0,
}  # fmt: skip
"""Similarity of two chains of carbon atoms: what they share of environments of up to two bonds.

Ethane has CH3, and both its atoms with their neighbour: 2. Propane has CH3, CH2 and two with
neighbours: 4. Butane adds CH2 among four: 5. Pentane has 7, hexane 7, and from heptane on 8.
Environments that hold the same bonds count once.
"""
KNOWN = ["CCO", "c1ccccc1", "CC(=O)O", "C[C@H](N)C(=O)O", "CC(=O)CC(C)=O", "Oc1ccccn1"]


def chains(key: Key) -> None:
    """Similarities of alkanes."""
    for (one, other), value in CHAINS.items():
        for said, target in ((one, other), (other, one)):
            task = {"target": alkane(target), **criteria(similarity=within(value, 0.001))}
            key.add(alkane(said), task, YES, "similarity to a target", MORGAN)
            closer = value + 0.06 if value < 1 else 0.9
            window = {"least": closer} if value < 1 else {"most": closer}
            task = {"target": alkane(target), **criteria(similarity=window)}
            key.add(alkane(said), task, NO, "not as similar as wanted", MORGAN)
    for n, value in ((3, 3 / 6), (5, 6 / 8), (2, 1 / 5)):
        own = {"reference": [alkane(1), alkane(n + 1)]}
        key.add(alkane(n), criteria(nearest=within(value, 0.001)), YES,
                "similarity to the nearest of a set", MORGAN, settings=own)  # fmt: skip
        key.add(alkane(n), criteria(nearest={"most": value - 0.05}), NO,
                "too near to the set", MORGAN, settings=own)  # fmt: skip
    own = {"reference": [alkane(8)]}
    key.add(alkane(9), criteria(known={"most": 0}), YES, "alike, and another molecule", MORGAN,
            settings=own)  # fmt: skip
    key.add(alkane(9), criteria(nearest={"most": 0.99}), NO, "alike, and another molecule",
            MORGAN, settings=own)  # fmt: skip


def identities(key: Key) -> None:
    """What is in the set, by its canonical form or beyond it."""
    own, loose = {"reference": KNOWN}, {"reference": KNOWN, "identity": "tautomer"}
    for said in ("OCC", "C(O)C", "C1=CC=CC=C1", "OC(C)=O", "[CH3][CH2][OH]", "C[C@H](N)C(O)=O"):
        for settings in (own, loose):
            key.add(said, None, NO, "known in another spelling", IDENTITY, settings=settings)
        key.add(said, criteria(known={"least": 1}), YES, "known, where that is wanted", IDENTITY,
                settings=own)  # fmt: skip
    for said in ("CCCO", "COC", "c1ccncc1", "CC(N)=O", "Cc1ccccc1", "CCC(=O)O", "CC(C)O", "OCCO"):
        for settings in (own, loose):
            key.add(said, None, YES, "one edit from what is known", IDENTITY, settings=settings)
    for said, why in (
        ("C[C@@H](N)C(=O)O", "the mirror image"), ("CC(N)C(=O)O", "no centre is told"),
        ("CC(O)=CC(C)=O", "an enol"), ("O=c1cccc[nH]1", "the other tautomer"),
        ("[NH3+][C@@H](C)C(=O)[O-]", "the zwitterion"), ("CC(=O)[O-]", "the anion"),
        ("[13CH3]CO", "a labelled atom"),
    ):  # fmt: skip
        key.add(said, None, YES, f"{why}, which is another molecule", IDENTITY, settings=own)
        key.add(said, None, NO, f"{why}, where tautomers are one", IDENTITY, settings=loose)


def novelty(key: Key) -> None:
    """`molecule-novelty`."""
    chains(key)
    identities(key)
    salt = {"reference": ["CC(=O)O.OCCN", "[Na+].[O-]c1ccccc1"]}
    for said, outcome in (("OCCN", NO), ("CC(=O)O", NO), ("OCCCN", YES), ("Oc1ccccc1", YES)):
        key.add(said, None, outcome, "parts of a salt in the set are in the set", "convention",
                settings=salt)  # fmt: skip
    key.add("Oc1ccccc1", None, NO, "the acid of a salt in the set, where tautomers are one",
            "convention", settings={**salt, "identity": "tautomer"})  # fmt: skip
    for n, (said, target) in enumerate((("CCO", "OCC"), ("c1ccccc1", "C1=CC=CC=C1"),
                                        ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"))):  # fmt: skip
        task = {"target": target, **criteria(similarity={"least": 1})}
        key.add(said, task, YES, "as similar as can be", IDENTITY)
        changed = ("CCN", "c1ccncc1", "CC(N)C(N)=O")[n]
        key.add(changed, task, NO, "as similar as can be; one edit away", IDENTITY)
    half = {"reference": ["CCO"], "criteria": {"nearest": {"most": 0.4, "margin": 0.6}}}
    key.add("OCC", None, NO, "a share of the criterion", SHARES, settings=half,
            score=[-0.001, 0.001])  # fmt: skip
    key.add("CCC", criteria(nearest=within(0.2, 0.001)), YES, "the value as the score", MORGAN,
            settings={"reference": ["CC"], "score": "nearest"}, score=[0.199, 0.201])  # fmt: skip
    near = {"target": "CCO", **criteria(similarity={"least": 0.1})}
    several(key, near)
    senseless(key, "CCO", "similarity")
    for task, reason, why in (
        (criteria(similarity={"least": 0.5}), "target", "no target"),
        ({"target": "C1CC", **criteria(similarity={"least": 0.5})}, "target", "no molecule"),
        ({"target": 7, **criteria(similarity={"least": 0.5})}, "target", "a number for a target"),
        ({"target": "", **criteria(similarity={"least": 0.5})}, "target", "an empty target"),
        (criteria(known={"most": 0}), "reference", "no set to be new against"),
        (criteria(nearest={"most": 0.5}), "reference", "no set to be far from"),
    ):  # fmt: skip
        key.add("CCO", task, UNKNOWN, why, "convention", reason=reason)
    hostile(key, {"target": "CCO", **criteria(similarity={"least": 0})})
    refused(key, [({"identity": "name"}, "identity"), ({"radius": 7}, "radius"),
                  ({"radius": -1}, "radius"), ({"bits": 1}, "bits"), ({"reference": []}, "0 mol"),
                  ({"criteria": {"nearest": {"most": 1}}}, "reference"),
                  ({"score": "known"}, "reference")])  # fmt: skip
    key.add(alkane(3), {"target": alkane(4)}, YES, "the value as the score, without a set", MORGAN,
            settings={"score": "similarity"}, score=[0.499, 0.501])  # fmt: skip
    for said, outcome in (("CCO", NO), ("CCN", YES), ("CCCO", YES)):
        key.add(said, None, outcome, "a smaller neighbourhood, and fewer bits", "convention",
                settings={"reference": ["CCO"], "radius": 0, "bits": 64})  # fmt: skip


# ---- xtb-properties

SYMMETRY = "closed form: a centre or several axes of symmetry forbid a dipole"
HANDBOOK = "published: dipole moments in the gas, CRC Handbook of Chemistry and Physics"
NIST = "published: ionisation energies and electron affinities, NIST Chemistry WebBook"
ORBITALS = "closed form: order of a series by simple molecular orbitals"
NONPOLAR = (
    ("C", "CF"), ("CC", "CCF"), ("N#N", "C#N"), ("O=C=O", "C=C=O"), ("C=C", "C=CF"),
    ("C#C", "C#CF"), ("CC(C)(C)C", "CC(C)(C)Cl"), ("FC(F)(F)F", "FC(F)F"),
    ("ClC(Cl)(Cl)Cl", "ClC(Cl)Cl"), ("c1ccccc1", "c1ccncc1"), ("Clc1ccc(Cl)cc1", "Clc1cccc(Cl)c1"),
    ("Fc1ccc(F)cc1", "Fc1ccccc1F"), ("Cl/C=C/Cl", "Cl/C=C\\Cl"), ("F/C=C/F", "F/C=C\\F"),
    ("FF", "FCl"), ("C1CCCCC1", "C1CCOCC1"), ("C1CC1", "C1CO1"), ("N#CC#N", "CC#N"),
    ("C1C2CC3CC1CC(C2)C3", "FC12CC3CC(CC(C3)C1)C2"), ("c1cnccn1", "c1cncnc1"),
    ("FC(F)(F)C(F)(F)F", "FC(F)(F)CF"), ("O=C1C=CC(=O)C=C1", "O=C1C=CC=CC1=O"),
    ("CC#CC", "CC#N"), ("ClCl", "Cl"),
)  # fmt: skip
DIPOLES = {
    "O": 1.85, "N": 1.47, "CO": 1.70, "CC#N": 3.92, "C=O": 2.33, "CCl": 1.89, "CF": 1.86,
    "c1ccncc1": 2.21, "Clc1ccccc1": 1.69, "C#N": 2.98, "COC": 1.30, "Clc1ccccc1Cl": 2.50,
    "Clc1cccc(Cl)c1": 1.72, "Cl/C=C\\Cl": 1.90, "NC=O": 3.73, "C[N+](=O)[O-]": 3.46,
}  # fmt: skip
IONISED = {
    "c1ccccc1": 9.24, "c1ccc2ccccc2c1": 8.14, "c1ccc2cc3ccccc3cc2c1": 7.44, "C=CC=C": 9.07,
    "CC(C)=O": 9.70, "c1ccncc1": 9.26, "Oc1ccccc1": 8.49, "Nc1ccccc1": 7.72, "c1ccoc1": 8.88,
    "C=O": 10.88, "CO": 10.84, "C#C": 11.40, "O=C=O": 13.78, "S": 10.46, "Cl": 12.74,
}  # fmt: skip
ATTACHED = {
    "O=C1C=CC(=O)C=C1": 1.91, "O=[N+]([O-])c1ccccc1": 1.00, "c1ccc2cc3ccccc3cc2c1": 0.53,
    "N#CC(C#N)=C(C#N)C#N": 3.17, "O=C1C=CC(=O)c2ccccc21": 1.81,
}  # fmt: skip
_ROOM = 1.8
"""eV: two deviations of an ionisation energy."""


def dipoles(key: Key) -> None:
    """Dipole moments."""
    for right, wrong in NONPOLAR:
        key.pair(right, wrong, criteria(dipole={"most": 0.15}), "a dipole of nothing", SYMMETRY)
    for smiles, value in DIPOLES.items():
        key.add(
            smiles, criteria(dipole=within(value, 0.35 * value + 0.4)), YES, "a dipole", HANDBOOK
        )
    for smiles in ("O", "CO", "CC#N", "CF"):
        key.add(smiles, criteria(dipole={"most": 0.5}), NO, "a dipole is there", HANDBOOK)
    key.add("CC#N", None, YES, "the value as the score", HANDBOOK, settings={"score": "dipole"},
            score=[3.3, 4.5])  # fmt: skip


def gaps(key: Key) -> None:
    """Gaps between orbitals: none where two are one by symmetry, less along a series."""
    for smiles in ("O=O", "S=S"):
        key.add(smiles, criteria(gap={"most": 0.01}), YES, "two orbitals that are one", ORBITALS)
    for smiles in ("N#N", "C=C", "OO", "FF"):
        key.add(smiles, criteria(gap={"most": 0.01}), NO, "no two orbitals that are one", ORBITALS)
    for right, wrong, least in (
        ("C=C", "C=CC=C", 4.5), ("C=CC=C", "C=CC=CC=C", 3.2), ("C=CC=CC=C", "C=CC=CC=CC=C", 2.6),
        ("c1ccccc1", "c1ccc2ccccc2c1", 4.0),
        ("c1ccc2ccccc2c1", "c1ccc2cc3ccccc3cc2c1", 2.4), ("C", "C=C", 9.0), ("CC", "C=C", 9.0),
        ("C1CCCCC1", "c1ccccc1", 9.0),
    ):  # fmt: skip
        key.pair(
            right, wrong, criteria(gap={"least": least}), "the gap of a shorter system", ORBITALS
        )
    key.add("C", None, YES, "the gap as the score, as by default", ORBITALS, score=[12, 20])
    key.add("c1ccccc1", None, YES, "the gap as the score, as by default", ORBITALS, score=[4, 6])


def electrons(key: Key) -> None:
    """Ionisation energies, electron affinities and potentials."""
    values = [*IONISED.items()]
    for n, (smiles, value) in enumerate(values):
        task = criteria(ionisation_energy=within(value, _ROOM))
        key.add(smiles, task, YES, "an ionisation energy", NIST)
        far = [other for other, its in values[n:] + values[:n] if abs(its - value) > 2 * _ROOM]
        if far:
            key.add(far[0], task, NO, "the ionisation energy of another molecule", NIST)
    for smiles, value in ATTACHED.items():
        key.add(
            smiles,
            criteria(electron_affinity=within(value, 1.2)),
            YES,
            "an electron affinity",
            NIST,
        )
        key.add("C1CCCCC1", criteria(electron_affinity={"least": value - 1.2}), NO,
                "an alkane takes no electron", NIST)  # fmt: skip
    acenes = ("c1ccccc1", "c1ccc2ccccc2c1", "c1ccc2cc3ccccc3cc2c1")
    for n, most in ((1, 8.8), (2, 7.7)):
        key.pair(acenes[n], acenes[n - 1], criteria(ionisation_energy={"most": most}),
                 "a longer acene gives an electron sooner", ORBITALS)  # fmt: skip
    for n, most in ((1, 2.25), (2, 1.56)):
        key.pair(acenes[n], acenes[n - 1], criteria(oxidation_potential={"most": most}),
                 "a longer acene is oxidised sooner", ORBITALS)  # fmt: skip
    key.pair("CN(C)c1ccc(N(C)C)cc1", "Cc1ccc(C)cc1", criteria(oxidation_potential={"most": 1.4}),
             "Wurster's blue is made easily", "published: 0.3 V against SHE")  # fmt: skip
    for right in ("O=C1C=CC(=O)C=C1", "O=C1C(Cl)=C(Cl)C(=O)C(Cl)=C1Cl"):
        key.pair(right, "c1ccccc1", criteria(reduction_potential={"least": -1.0}),
                 "quinones are reduced easily", "published: about 0 V against SHE")  # fmt: skip
    key.add("c1ccccc1", None, YES, "the value as the score", NIST, score=[7.8, 10.7],
            settings={"score": "ionisation_energy"})  # fmt: skip


def variants(key: Key) -> None:
    """Settings: relaxed geometries, another method, another solvent, another electrode."""
    relaxed = {"relaxed": True}
    key.add("O", criteria(dipole=within(1.85, 1.0)), YES, "relaxed", HANDBOOK, settings=relaxed)
    key.add("C", criteria(dipole={"most": 0.05}), YES, "relaxed", SYMMETRY, settings=relaxed)
    key.add("CF", criteria(dipole={"most": 0.05}), NO, "relaxed", HANDBOOK, settings=relaxed)
    key.add("c1ccccc1", criteria(ionisation_energy=within(9.24, 1.0)), YES, "both relaxed", NIST,
            settings=relaxed)  # fmt: skip
    for method in ("GFN1-xTB", "GFN2-xTB"):
        key.add("c1ccccc1", criteria(dipole={"most": 0.05}, ionisation_energy=within(9.24, 2.5)),
                YES, f"by {method}", NIST, settings={"method": method})  # fmt: skip
    key.add("C1CCCCC1", criteria(oxidation_potential={"most": 1.4}), NO, "in another solvent",
            ORBITALS, settings={"solvent": "acetonitrile"})  # fmt: skip
    key.add("CN(C)c1ccc(N(C)C)cc1", criteria(oxidation_potential={"most": 1.4}), YES,
            "in another solvent", ORBITALS, settings={"solvent": "acetonitrile"})  # fmt: skip
    key.add("CN(C)c1ccc(N(C)C)cc1", criteria(oxidation_potential={"most": -2.0}), NO,
            "against an electrode at 4.28 V", SHARES)  # fmt: skip
    key.add("CN(C)c1ccc(N(C)C)cc1", criteria(oxidation_potential={"most": -2.0}), YES,
            "against an electrode at 8 V", SHARES, settings={"electrode": 8.0})  # fmt: skip
    key.add("C=CC=C", criteria(gap={"least": 3.2}), YES, "relaxed", ORBITALS, settings=relaxed)
    key.add("C=CC=CC=C", criteria(gap={"least": 3.2}), NO, "relaxed", ORBITALS, settings=relaxed)


def undecided(key: Key) -> None:
    """Molecules that the quantity is not defined for, or the method is not made for."""
    for said, task, reason, why in (
        ("[CH3]", criteria(gap={"least": 1}), "unpaired", "a radical"),
        ("C[O]", criteria(dipole={"least": 1}), "unpaired", "a radical"),
        ("[CH2]", criteria(gap={"least": 1}), "unpaired", "two unpaired electrons"),
        ("C[N]", criteria(gap={"least": 1}), "unpaired", "two unpaired electrons"),
        ("[NH4+]", criteria(dipole={"most": 1}), "charged", "a dipole that depends on the origin"),
        ("CC(=O)[O-]", criteria(dipole={"most": 9}), "charged", "a dipole of an anion"),
    ):
        key.add(said, task, UNKNOWN, why, "convention", reason=reason)
    key.add("[NH4+]", criteria(gap={"least": 5}), YES, "the gap of a closed shell", ORBITALS)


def xtb(key: Key) -> None:
    """`xtb-properties`."""
    dipoles(key)
    gaps(key)
    electrons(key)
    variants(key)
    undecided(key)
    several(key, criteria(gap={"least": 0}))
    key.broken("O", list(_senseless_of_xtb()))
    hostile(key, criteria(gap={"least": 0}))
    refused(key, [({"method": "PM3"}, "method"), ({"score": "beauty"}, "score"),
                  ({"criteria": {"gap": {}}}, "least")])  # fmt: skip
    own = {"criteria": {"gap": {"least": 9}}, "score": "criteria"}
    key.add("C", None, YES, "criteria of the settings", ORBITALS, settings=own, score=[1, 1])
    key.add("C=C", None, NO, "criteria of the settings", ORBITALS, settings=own, score=[0, 0])
    key.add("[F-]", None, UNKNOWN, "no orbital is empty", "convention", reason="orbital")


def _senseless_of_xtb() -> Iterator[tuple[Any, str, str]]:
    """Without criteria there is still the score, so that only wrong ones are left."""
    for windows, why in (
        ({"gap": {}}, "no bound"), ({"gap": {"least": 2, "most": 1}}, "an empty window"),
        ({"qed": {"least": 1}}, "a property of another verifier"), ({"gap": 3}, "a number"),
        ({"gap": {"least": "high"}}, "a word for a bound"), ([], "a list"),
    ):  # fmt: skip
        yield {"criteria": windows}, "criteria", why


# ---- dft-properties

FREESOLV = "published: hydration free energies, FreeSolv 0.52"
LIMITS = "published: energies of atoms at the limit of Hartree-Fock, Koga 1995; exact for H"
NWCHEM = "published: NWChem's energy, which Psi4's test dft-b3lyp holds"
SMALL = (
    ("C", "CF"), ("N#N", "C#N"), ("C=C", "C=CF"), ("C#C", "C#CF"), ("FC(F)(F)F", "FC(F)F"),
    ("FF", "FCl"), ("ClCl", "Cl"), ("F/C=C/F", "F/C=C\\F"), ("CC", "CCF"), ("N#CC#N", "CC#N"),
)  # fmt: skip
MOMENTS = {
    "O": 1.85, "N": 1.47, "CO": 1.70, "CC#N": 3.92, "C=O": 2.33, "CF": 1.86, "C#N": 2.98,
    "Cl": 1.11, "F": 1.83, "S": 0.97, "NC=O": 3.73,
}  # fmt: skip
VERTICAL = {
    "O": 12.62, "C=O": 10.88, "C#C": 11.40, "O=C=O": 13.78, "S": 10.46, "Cl": 12.74, "C=C": 10.51,
    "C#N": 13.60, "F": 16.03,
}  # fmt: skip
RADICALS = {"[OH]": 13.02, "[CH3]": 9.84, "[O][O]": 12.07, "[N]=O": 9.26}
BOUND = {"[F]": 3.40, "[Cl]": 3.61, "[OH]": 1.83, "[SH]": 2.31, "[C]#N": 3.86}
HYDRATED = {"CO": -5.10, "C": 2.00, "N": -4.29, "CC#N": -3.88, "CC": 1.83}
_SMD = {"score": "solvation_energy", "level": "m062x/6-31g*", "grid_level": 1}


def computed_dipoles(key: Key) -> None:
    """Dipole moments."""
    for right, wrong in SMALL:
        key.pair(right, wrong, criteria(dipole={"most": 0.05}), "a dipole of nothing", SYMMETRY)
    for smiles, value in MOMENTS.items():
        key.add(smiles, criteria(dipole=within(value, 0.2 * value + 0.3)), YES, "a dipole",
                HANDBOOK)  # fmt: skip
    for smiles in ("O", "CO", "CF"):
        key.add(smiles, criteria(dipole={"most": 0.8}), NO, "a dipole is there", HANDBOOK)


def computed_electrons(key: Key) -> None:
    """Gaps, ionisation energies and electron affinities, of open shells too."""
    for right, wrong, least in (("C=C", "C=CC=C", 6.6), ("C", "C=C", 10.0), ("CC", "C=C", 10.0)):
        key.pair(right, wrong, criteria(gap={"least": least}), "the gap of a shorter system",
                 ORBITALS)  # fmt: skip
    values = [*VERTICAL.items()]
    for n, (smiles, value) in enumerate(values):
        task = criteria(ionisation_energy=within(value, 0.9))
        key.add(smiles, task, YES, "an ionisation energy", NIST)
        far = [other for other, its in values[n:] + values[:n] if abs(its - value) > 2.2]  # noqa: PLR2004
        if far:
            key.add(far[0], task, NO, "the ionisation energy of another molecule", NIST)
    relaxed = {"relaxed": True, "score": "criteria"}
    for smiles, value in RADICALS.items():
        task = criteria(ionisation_energy=within(value, 0.8))
        key.add(smiles, task, YES, "the ionisation energy of an open shell", NIST,
                settings=relaxed)  # fmt: skip
    key.add("[O][O]", criteria(ionisation_energy={"most": 9.5}), NO, "two unpaired electrons",
            NIST, settings=relaxed)  # fmt: skip
    diffuse = {"level": "b3lyp/def2-svpd", "relaxed": True, "score": "criteria"}
    for smiles, value in BOUND.items():
        task = criteria(electron_affinity=within(value, 0.6))
        key.add(smiles, task, YES, "an electron affinity", NIST, settings=diffuse)
    for smiles in ("C", "N#N", "O"):
        key.add(smiles, criteria(electron_affinity={"least": 0}), NO, "no electron is bound", NIST)


def computed_energies(key: Key) -> None:
    """Total energies, and what a solvent adds to them."""
    for smiles, limit, error in (("[H]", -0.5, 1e-3), ("[F-]", -99.459454, 0.06)):
        window = {"least": limit, "most": limit + error}
        for level, outcome in (("hf/cc-pvqz", YES), ("hf/sto-3g", NO)):
            by = {"level": level, "fitted": False, "score": "energy"}
            key.add(smiles, criteria(energy=window), outcome, f"the energy of an atom by {level}",
                    LIMITS, settings=by)  # fmt: skip
    accurate = {"level": "b3lyp/aug-cc-pvdz", "score": "energy"}
    key.add("O", None, YES, "the energy of water", NWCHEM, settings=accurate,
            score=[-76.4450, -76.4400])  # fmt: skip
    key.add("O", criteria(energy={"most": -76.446}), NO, "below the least energy of water", NWCHEM,
            settings=accurate)  # fmt: skip
    for smiles, value in HYDRATED.items():
        key.add(smiles, None, YES, "a hydration free energy", FREESOLV, settings=_SMD,
                score=[value - 1.2, value + 1.2])  # fmt: skip
    for smiles in ("C", "CC"):
        key.add(smiles, criteria(solvation_energy={"most": -1.0}), NO, "water repels it", FREESOLV,
                settings=_SMD)  # fmt: skip


def uncomputed(key: Key) -> None:
    """What is not defined, not sure, or too large."""
    for said, settings, reason, why in (
        ("O", {"unpaired": 1}, "unpaired", "a spin that ten electrons don't have"),
        ("[CH3]", {"unpaired": 0}, "unpaired", "a spin that nine electrons don't have"),
        ("[H+]", {}, "electrons", "no electron at all"),
        ("[NH4+]", {"score": "dipole"}, "charged", "a dipole that depends on the origin"),
        ("[H-]", {"level": "hf/sto-3g"}, "orbital", "no empty orbital"),
        ("CI", {"level": "b3lyp/6-31g*"}, "lacks", "an element without a basis"),
        ("CCCCCC", {"max_functions": 100}, "too many", "a molecule that is too large"),
        ("[C]#N", {"level": "hf/6-31g*", "contamination": 0.01}, "spin", "no pure spin"),
        ("C[N+](=O)[O-]", {"max_functions": 50}, "too many", "a molecule that is too large"),
    ):  # fmt: skip
        key.add(said, None, UNKNOWN, why, "convention", reason=reason, settings=settings)
    key.add("[O][O]", None, YES, "a triplet", ORBITALS, score=[0, 20])
    key.add("[O][O]", None, YES, "the same molecule as a singlet", ORBITALS, score=[0, 20],
            settings={"unpaired": 0})  # fmt: skip


def computed(key: Key) -> None:
    """`dft-properties`."""
    computed_dipoles(key)
    computed_electrons(key)
    computed_energies(key)
    uncomputed(key)
    several(key, criteria(gap={"least": 0}))
    key.broken("O", list(_senseless_of_xtb()))
    hostile(key, criteria(gap={"least": 0}))
    refused(key, [({"level": "b3lyp"}, "functional/basis"), ({"level": "b3lyp/mine"}, "mine"),
                  ({"level": "magic/def2-svp"}, "magic"), ({"score": "beauty"}, "score"),
                  ({"criteria": {"gap": {}}}, "least")])  # fmt: skip
    key.add("C", None, YES, "criteria of the settings", ORBITALS, score=[1, 1],
            settings={"criteria": {"gap": {"least": 10}}, "score": "criteria"})  # fmt: skip


KEYS = {
    "molecule-properties": properties, "molecule-novelty": novelty, "xtb-properties": xtb,
    "dft-properties": computed,
}  # fmt: skip

if __name__ == "__main__":
    write(KEYS, sys.argv[1:])
