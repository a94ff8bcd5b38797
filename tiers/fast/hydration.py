"""A group-contribution estimate of the hydration free energy."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from math import sqrt
from typing import Any, NamedTuple

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.molecule import ORGANIC, as_text, parse, rdkit
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

LEAST_DEVIATION = 0.95
RELATIVE_DEVIATION = 0.22
"""The deviation grows with the estimate: in cross-validation, to 2.7 kcal/mol below -9."""
CITATION = (
    "coefficients fitted to FreeSolv 0.52, doi:10.5281/zenodo.1161245; "
    "Mobley and Guthrie 2014, doi:10.1007/s10822-014-9747-x"
)


class Group(NamedTuple):
    """One term of the sum."""

    name: str
    smarts: str
    """What is counted; empty for a descriptor."""
    coefficient: float
    """kcal/mol for each one."""
    most: float
    """The largest count that the fit has seen."""


@cache
def groups() -> tuple[Group, ...]:
    """The terms of the estimate, the constant first."""
    text = files("verifier_ladder.tiers.fast").joinpath("groups.csv").read_text("utf-8")
    return tuple(
        Group(row["name"], row["smarts"], float(row["coefficient"]), float(row["most"]))
        for row in csv.DictReader(text.splitlines())
    )


@cache
def _queries() -> tuple[Any, ...]:
    return tuple(rdkit().MolFromSmarts(group.smarts) for group in groups() if group.smarts)


def counts(molecule: Any) -> list[float]:
    """Count every term in a molecule, in the order of `groups`."""
    from rdkit.Chem import rdMolDescriptors

    # Rounded: a sum over atoms depends on their order in its last bits.
    polar = round(sqrt(rdMolDescriptors.CalcTPSA(molecule)), 4)
    return [
        1.0,
        polar,
        float(rdMolDescriptors.CalcNumHBD(molecule)),
        float(rdMolDescriptors.CalcNumAromaticRings(molecule)),
        *(float(len(molecule.GetSubstructMatches(query))) for query in _queries()),
    ]


class HydrationEstimate(SingleVerifier):
    """Sums 25 contributions: groups, polar surface, hydrogen-bond donors, aromatic rings.

    **Accuracy.** Against 642 measured values the root-mean-square error is 1.3 kcal/mol in
    five-fold cross-validation that repeats the choice of groups in every fold. The uncertainty
    grows with the size of the estimate, and doubles for a molecule with more of some group than
    the fit has seen. `tools/fit_hydration.py` repeats the fit.

    Abstains for charged molecules and for elements that the fit has not seen.

    Example:
        >>> verdict = HydrationEstimate().judge([Candidate("molecule", "CO")])[0]
        >>> -7 < verdict.score < -3
        True
    """

    name = "hydration-estimate"
    version = "1"
    tier = Tier.FAST
    kind = "molecule"
    domain = "chemistry"
    capabilities = ("reasoning",)
    cost = Cost(seconds=1.5e-4)
    timeout = 10.0
    unit = "kcal/mol"
    deviation = 1.31
    same_quantity = True
    control = Candidate("molecule", "CCO")

    def __init__(self) -> None:
        """Take no settings."""
        super().__init__()
        self.tools = versions("rdkit")

    def examine(self, candidate: Candidate) -> Verdict:
        """Sum the contributions."""
        molecule = parse(as_text(candidate.content))
        unknown = _unknown(molecule)
        if unknown:
            return Verdict.abstain(f"the estimate is not made for {unknown}")
        found = counts(molecule)
        terms = groups()
        value = sum(group.coefficient * n for group, n in zip(terms, found, strict=True))
        spread = max(LEAST_DEVIATION, RELATIVE_DEVIATION * abs(value))
        beyond = [g.name for g, n in zip(terms, found, strict=True) if n > g.most]
        return Verdict.accept(
            round(value, 3),
            uncertainty=round(2 * spread if beyond else spread, 3),
            unit=self.unit,
            evidence={"beyond the fit": beyond} if beyond else {},
        )


def _unknown(molecule: Any) -> str:
    """What the fit has not seen, in words; empty if nothing."""
    strange = {atom.GetSymbol() for atom in molecule.GetAtoms()} - set(ORGANIC)
    if strange:
        return f"the element {', '.join(sorted(strange))}"
    if rdkit().GetFormalCharge(molecule):
        return "a charged molecule"
    return ""
