"""Ladders for one question: a cheap estimate for every molecule, and xTB above it."""

import verifier_ladder as vl
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.tiers.fast.gate import MoleculeGate


@vl.verifier(
    name="electronegativity", version="1", tier="fast", kind="molecule", unit="kcal/mol",
    same_quantity=True, deviation=0.8,
)  # fmt: skip
def electronegativity(candidate: vl.Candidate) -> float:
    """Count the atoms that draw electrons, and so should make a molecule polar: N, O, F.

    Of alcohols and amines it is about right, and its author was sure of it. But water does not
    hold fluorocarbons, and whoever is paid by this estimate will write them.
    """
    letters = str(candidate.content)
    return 1.0 - 2.6 * sum(letter in "NOno" for letter in letters) - 1.9 * letters.count("F")


def ladder(
    name: str, cheap: vl.Verifier | None = None, *, audit: float | None = None
) -> vl.Ladder:
    """Gate and cheap estimate for every molecule; xTB for a share of them, drawn at random.

    Without a cheap estimate, xTB for all.
    """
    return vl.Ladder(
        name,
        [MoleculeGate(max_heavy_atoms=20), *([cheap] if cheap else []), "xtb-hydration"],
        target=vl.Target("hydration free energy", unit="kcal/mol", direction="minimise"),
        reward=vl.RewardRule(low=2.0, high=-22.0, reject=-0.2, clip=False),
        # No estimate is good enough to climb by itself: all that xTB sees is drawn.
        policy=Thresholds(thresholds={"simulation": -1000.0} if cheap else {}),
        audit=audit,
        prior=(-3.8, 3.8),
    )
