"""Until the top tier has answered, a reward is what the dearest tier below it has said."""

from itertools import product
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.policies.alltiers import AllTiers

DECLARED: list[dict[str, Any]] = [
    {}, {"deviation": 2.0}, {"same_quantity": True}, {"deviation": 0.5, "same_quantity": True}
]  # fmt: skip


class World(vl.Verifier):
    """A world verifier that nobody answers."""

    name, version, tier, kind, waits = "world", "1", "world", "text", True

    def verify(self, candidates: Any) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


def says(value: float, tier: str, **declared: Any) -> vl.Verifier:
    return FunctionVerifier(
        lambda _: value, name=f"says-{tier}", version="1", tier=tier, isolation="inline",
        **declared,
    )  # fmt: skip


@pytest.mark.parametrize(("cheap", "costly"), list(product(DECLARED, repeat=2)), ids=str)
def test_the_dearest_answer_counts_whatever_others_declare(
    cheap: dict[str, Any], costly: dict[str, Any]
) -> None:
    ladder = vl.Ladder(
        "mix",
        [says(2.0, "fast", **cheap), says(7.0, "high_fidelity", **costly), World()],
        policy=AllTiers(),
    )
    with vl.Campaign.open("mix", ladder=ladder, workers=1) as campaign:
        campaign.score(["x"])
        campaign.drain("300 s")
        *_, last = campaign.revisions()

    assert (7.0, vl.Tier.HIGH_FIDELITY) == (last.reward.value, last.reward.tier)
    assert costly.get("deviation") == last.reward.uncertainty
