"""What the page of verifiers says: each version, how its checks ended, and what they cost."""

# Without postponed annotations: FastAPI reads them as they stand.
from fastapi import Request

from verifier_ladder.analysis.verifiers import verifier_lines
from verifier_ladder.server.pages.asking import (
    CampaignNamed,
    Facts,
    campaign_of,
    viewer_of,
)


def verifiers(request: Request, campaign: CampaignNamed) -> Facts:
    """The verifiers of a campaign, version by version."""
    viewer = viewer_of(request)
    row = campaign_of(viewer, campaign)
    with viewer.reader.reading() as store:
        lines = verifier_lines(store, row)
    return {"campaign": campaign, "verifiers": lines}
