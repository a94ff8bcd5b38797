r"""Proteins: from model output to chains of amino acids, and what a sequence alone says of them.

A protein is written as capital letters, one for each amino acid, over as many lines as it takes,
with `:` between the chains of a complex; or as FASTA, where each record is a chain and what its
header says is not looked at. All else is refused: small letters mean insertions elsewhere, spaces
are how sentences are written, and many a word is spelled with the letters of amino acids.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby, pairwise
from math import log2, prod

from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.extraction import DOCUMENT, agreed, answers

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
"""The twenty amino acids that the genetic code has a word for in every cell."""
HOW = (
    "Write one protein in capital letters, one for each amino acid, or as FASTA, alone or in a "
    "fenced block; put : between chains."
)
MOST_RESIDUES, MOST_CHAINS = 10_000, 26
_LONGEST = 100_000
"""Characters of the longest output."""
_LANGUAGES = ("fasta", "fa", "faa", "protein", "sequence", "text", "txt")
"""Labels of code blocks that hold a protein."""
_CHAIN = re.compile(f"[{LETTERS}]+")
_OTHERS = {
    "B": "aspartate or asparagine", "J": "leucine or isoleucine", "O": "pyrrolysine",
    "U": "selenocysteine", "X": "any amino acid", "Z": "glutamate or glutamine",
}  # fmt: skip
"""Letters that stand for amino acids too, and for none that everything here knows."""
_WORD = 12
"""Residues of the windows whose complexity is looked at."""

WEIGHTS = {
    "A": 71.079, "C": 103.139, "D": 115.088, "E": 129.115, "F": 147.177, "G": 57.052,
    "H": 137.142, "I": 113.160, "K": 128.175, "L": 113.160, "M": 131.193, "N": 114.104,
    "P": 97.117, "Q": 128.131, "R": 156.189, "S": 87.078, "T": 101.105, "V": 99.133,
    "W": 186.214, "Y": 163.176,
}  # fmt: skip
"""Da of each residue, without the water that its bond sets free: IUPAC 2021, abridged."""
_WATER = 18.015
HYDROPATHY = {
    "A": 1.8, "C": 2.5, "D": -3.5, "E": -3.5, "F": 2.8, "G": -0.4, "H": -3.2, "I": 4.5, "K": -3.9,
    "L": 3.8, "M": 1.9, "N": -3.5, "P": -1.6, "Q": -3.5, "R": -4.5, "S": -0.8, "T": -0.7,
    "V": 4.2, "W": -0.9, "Y": -1.3,
}  # fmt: skip
"""Kyte and Doolittle 1982."""
_CHARGES = {"K": 1, "R": 1, "D": -1, "E": -1}
_ABSORBS = {"W": 5500, "Y": 1490}
"""L/mol/cm at 280 nm: Pace 1995."""


def protein_of(content: str | bytes) -> tuple[str, ...]:
    r"""The chains of the one protein that an output proposes, in the order they are written.

    Args:
        content: The whole output.

    Raises:
        CandidateError: If there is none, or several that differ.

    Example:
        >>> protein_of(">first\nMKT\nAYI\n>second\nGSS")
        ('MKTAYI', 'GSS')
    """
    found = answers(content, DOCUMENT, HOW, languages=_LANGUAGES, longest=_LONGEST)
    return agreed(map(_read, found), HOW)


def _read(text: str) -> tuple[str, ...]:
    """The chains of a text.

    Raises:
        CandidateError: If it is no protein.
    """
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    heads = [number for number, line in enumerate(lines) if line.startswith(">")]
    if heads and any(lines[: heads[0]]):
        raise CandidateError("there is text above the first header of FASTA", feedback=HOW)
    ends = [*heads[1:], len(lines)] if heads else []
    parts = [lines[head + 1 : end] for head, end in zip(heads, ends, strict=True)] or [lines]
    chains = [chain for part in parts for chain in "".join(part).split(":")]
    if len(chains) > MOST_CHAINS or sum(map(len, chains)) > MOST_RESIDUES:
        raise CandidateError(
            f"{len(chains)} chains of {sum(map(len, chains))} residues; at most {MOST_CHAINS} "
            f"chains and {MOST_RESIDUES} residues are read",
            feedback="Propose a smaller protein.",
        )
    for number, chain in enumerate(chains, 1):
        if not _CHAIN.fullmatch(chain):
            raise _unreadable(number, chain)
    return tuple(chains)


def _unreadable(number: int, chain: str) -> CandidateError:
    """What is wrong with a chain."""
    if not chain:
        return CandidateError(f"chain {number} has no residues", feedback=HOW)
    place = next(n for n, sign in enumerate(chain) if sign not in LETTERS)
    sign = chain[place]
    why = "stands for no amino acid"
    if sign in _OTHERS:
        why = f"stands for {_OTHERS[sign]}, which is none of the twenty"
    elif sign.upper() in LETTERS:
        why = "is a small letter, which means an insertion or a masked residue elsewhere"
    shown = sign if sign.isascii() and sign.isprintable() else f"U+{ord(sign):04X}"
    return CandidateError(
        f"the sign {shown!r} at place {place + 1} of chain {number} {why}",
        feedback=f"{HOW} Only {LETTERS} may occur.",
    )


class ProteinCanonicaliser(Canonicaliser):
    r"""Finds the protein in a model's output: capital letters, with `:` between its chains.

    The order of chains is kept, for whatever tells of a chain names it by its place.

    Example:
        >>> ProteinCanonicaliser().canonicalise("```fasta\n>mine\nMKTAY\nIAKQR\n```")
        'MKTAYIAKQR'
    """

    kind = "protein"
    name = "protein"
    version = "1"
    control = "MKTAYIAKQR"

    def canonicalise(self, content: str | bytes) -> str:
        """Give the canonical form.

        Raises:
            CandidateError: If the output proposes no protein, or several.
        """
        return ":".join(protein_of(content))


# ---- What a sequence says


def length(chains: Iterable[str]) -> float:
    """Residues of all chains."""
    return float(sum(map(len, chains)))


def _summed(table: Mapping[str, float], chains: Iterable[str]) -> float:
    return sum(
        table[letter] * n for letter, n in Counter("".join(chains)).items() if letter in table
    )


def charge(chains: Iterable[str]) -> float:
    """K and R less D and E: near the charge in neutral water, where histidine has none.

    Example:
        >>> charge(["MKKD"])
        1.0
    """
    return float(_summed(_CHARGES, chains))


def weight(chains: tuple[str, ...]) -> float:
    """Da, reduced: disulfide bonds are not known from a sequence."""
    return round(_summed(WEIGHTS, chains) + _WATER * len(chains), 2)


def hydropathy(chains: tuple[str, ...]) -> float:
    """The mean over all residues."""
    return round(_summed(HYDROPATHY, chains) / length(chains), 4)


def extinction(chains: tuple[str, ...]) -> float:
    """L/mol/cm at 280 nm, reduced."""
    return float(_summed(_ABSORBS, chains))


def longest_run(chains: Iterable[str]) -> float:
    """The longest row of one and the same amino acid."""
    return float(max(sum(1 for _ in row) for chain in chains for _, row in groupby(chain)))


def complexity(chains: Iterable[str]) -> float:
    """The least entropy, in bits, of the letters of twelve neighbours in a chain.

    It is 0 of one letter alone, 1 of two that take turns, and 3.58 of twelve different ones. A
    chain of fewer residues is one window.

    Example:
        >>> complexity(["MKTAYIAKQRGSGSGSGSGSGS"])
        1.0
    """
    return round(min(map(_least_entropy, chains)), 4)


def _least_entropy(chain: str) -> float:
    width = min(_WORD, len(chain))
    terms = [n / width * log2(n / width) if n else 0.0 for n in range(width + 1)]
    counts = Counter(chain[:width])
    most = total = sum(terms[n] for n in counts.values())
    for leaving, coming in zip(chain, chain[width:], strict=False):
        for letter, step in ((leaving, -1), (coming, 1)):
            total -= terms[counts[letter]]
            counts[letter] += step
            total += terms[counts[letter]]
        most = max(most, total)
    return abs(most)


# ---- Motifs

_ELEMENT = re.compile(
    rf"(x|[{LETTERS}]|\[[{LETTERS}]+\]|\{{[{LETTERS}]+\}})(?:\(([0-9]{{1,2}})(?:,([0-9]{{1,2}}))?\))?"
)
MOST_WAYS = 500
"""In which a motif's ranges may be met: as many steps may be taken for each residue."""


def ways(pattern: str) -> int:
    """In how many ways the ranges of a motif may be met, which is how long it takes to look for.

    Example:
        >>> ways("C-x(2,4)-C-x(0,1)-H")
        6
    """
    ranges = (each.groups() for each in _ELEMENT.finditer(pattern))
    return prod(1 + int(most) - int(least) for _, least, most in ranges if most)


def motif(pattern: str) -> re.Pattern[str]:
    """A motif in the notation of PROSITE, as what finds the places where it begins.

    `x` is any residue, `[ST]` one of them, `{P}` any other, `x(2)` two and `x(2,4)` two to four of
    them; `-` stands between, and `<` and `>` for the ends of a chain. Letters alone are a motif as
    well.

    Raises:
        ValueError: If it is none, or could take long to look for.

    Example:
        >>> [m.start() for m in motif("N-{P}-[ST]-{P}").finditer("MNGSKNPTANAS")]
        [1]
    """
    inner = pattern.removesuffix(".")
    is_first, is_last = inner.startswith("<"), inner.endswith(">")
    inner = inner.removeprefix("<").removesuffix(">")
    parts = list(inner) if re.fullmatch(f"[{LETTERS}]+", inner) else inner.split("-")
    found = [_ELEMENT.fullmatch(part) for part in parts]
    if not parts or not all(found) or ways(inner) > MOST_WAYS:
        raise ValueError(
            f"{pattern!r:.60} is no motif such as N-{{P}}-[ST] or KDEL, whose ranges such as "
            f"x(2,4) can be met in at most {MOST_WAYS} ways"
        )
    written = "".join(_element(each) for each in found if each)
    return re.compile(f"{'^' if is_first else ''}(?={written}{'$' if is_last else ''})")


def _element(match: re.Match[str]) -> str:
    residue, least, most = match.groups()
    if residue == "x":
        written = f"[{LETTERS}]"
    else:
        written = f"[^{residue[1:-1]}]" if residue.startswith("{") else residue
    times = [int(each) for each in (least, most) if each]
    if any(low > high for low, high in pairwise(times)):
        raise ValueError(f"{match[0]!r} asks for at least {least} and at most {most}")
    return written + (f"{{{','.join(map(str, times))}}}" if times else "")


def motifs_in(chains: Iterable[str], wanted: Mapping[str, re.Pattern[str]]) -> dict[str, int]:
    """How often each motif occurs, without those that don't."""
    found = {
        name: sum(sum(1 for _ in pattern.finditer(chain)) for chain in chains)
        for name, pattern in wanted.items()
    }
    return {name: count for name, count in found.items() if count}


MEASURES: Mapping[str, Callable[[tuple[str, ...]], float]] = {
    "length": length, "chains": lambda chains: float(len(chains)), "charge": charge,
    "weight": weight, "hydropathy": hydropathy, "extinction": extinction,
    "cysteines": lambda chains: float(sum(chain.count("C") for chain in chains)),
    "longest_run": longest_run, "complexity": complexity,
}  # fmt: skip
"""What is measured of a sequence alone, by the names that criteria have."""
