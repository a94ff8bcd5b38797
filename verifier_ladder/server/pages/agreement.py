"""What the page of agreement says: how well cheap tiers and predictions foretell dear tiers."""

# Without postponed annotations: FastAPI reads them as they stand.
from fastapi import Request

from verifier_ladder.analysis.pairs import MOST_DRAWN, calibration, pair_summaries
from verifier_ladder.server.pages.asking import (
    CampaignNamed,
    Facts,
    campaign_of,
    viewer_of,
)
from verifier_ladder.summary.ranks import FEWEST


def agreement(request: Request, campaign: CampaignNamed) -> Facts:
    """How far tiers agree, the cheapest with the top first, and whether predictions come true."""
    viewer = viewer_of(request)
    row = campaign_of(viewer, campaign)
    predicted, made = calibration(viewer.index, row) or (None, None)
    return {
        "campaign": campaign, "pairs": pair_summaries(viewer.index, row),
        "predicted": predicted, "calibration": made, "fewest": FEWEST, "most": MOST_DRAWN,
        "are_comparable": not any(
            verifier.get("scope") == "group" for verifier in row.ladder.get("verifiers", ())
        ),
        "unit": (row.ladder.get("target") or {}).get("unit", ""),
    }  # fmt: skip
