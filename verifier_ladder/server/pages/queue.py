"""What the page of the queue says: what waits, runs, is parked or dead, and for whom."""

# Without postponed annotations: FastAPI reads them as they stand.
from fastapi import Request

from verifier_ladder.ledger.records import CheckState
from verifier_ladder.server.pages.asking import (
    CampaignNamed,
    Facts,
    campaign_of,
    viewer_of,
)
from verifier_ladder.status import tiers_of

_STATES = (
    CheckState.QUEUED, CheckState.LEASED, CheckState.WAITING, CheckState.DEAD,
    CheckState.EXPIRED, CheckState.CANCELLED, CheckState.DONE,
)  # fmt: skip


def queue(request: Request, campaign: CampaignNamed) -> Facts:
    """The work queue as a campaign sees it; null where it was not looked at yet."""
    viewer = viewer_of(request)
    row = campaign_of(viewer, campaign)
    found = viewer.queue(campaign)
    counts = found.waiting.counts if found is not None else {}
    return {
        "campaign": campaign, "queue": found,
        "tiers": [
            {
                "tier": tier.label,
                **{state.label: counts.get(int(tier), {}).get(state, 0) for state in _STATES},
                "parked": found.waiting.parked.get(int(tier), 0),
                "paused": int(tier) in found.waiting.paused,
            }
            for tier in tiers_of(row)
        ] if found is not None else None,
        "_again": found is None,
    }  # fmt: skip
