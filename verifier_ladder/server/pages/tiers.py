"""What the page of tiers says: the funnel, what each tier cost and took, and its budgets."""

# Without postponed annotations: FastAPI reads them as they stand.
from fastapi import Request

from verifier_ladder.analysis.glance import glance
from verifier_ladder.analysis.spells import Elapsed, elapsed
from verifier_ladder.analysis.tiercosts import burns, tier_costs
from verifier_ladder.server.pages.asking import (
    CampaignNamed,
    Facts,
    campaign_of,
    viewer_of,
)


def tiers(request: Request, campaign: CampaignNamed) -> Facts:
    """The funnel of a campaign, tier by tier: outcomes, cost, latency, budgets."""
    viewer = viewer_of(request)
    row = campaign_of(viewer, campaign)
    waiting = viewer.waiting(campaign)
    with viewer.reader.reading() as store:
        summary = glance(store, viewer.index, row, waiting).summary
        accounts = store.accounts(campaign)
    found = elapsed(viewer.index, campaign)
    took = {each.tier.label: found.get(int(each.tier), Elapsed()) for each in summary.tiers}
    costs = tier_costs(accounts, summary)
    return {
        "campaign": campaign, "samples": summary.samples, "candidates": summary.candidates,
        "tiers": summary.tiers, "elapsed": took, "costs": costs,
        "saved": {
            cost.resource: cost.saved for cost in costs
            if cost.tier == "total" and cost.saved is not None
        },
        "budgets": burns(accounts, summary.updated_at - summary.created_at),
        "waiting": waiting, "_again": waiting is None,
    }  # fmt: skip
