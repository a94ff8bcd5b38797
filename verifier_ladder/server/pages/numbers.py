"""What pages of a campaign's numbers say: tiers, agreement, verifiers, the queue, runs."""

# Without postponed annotations: FastAPI reads them as they stand.
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import HTTPException, Query, Request
from markupsafe import Markup

from verifier_ladder.analysis.candidates import StepPoint
from verifier_ladder.analysis.differences import differences, ladder_differences
from verifier_ladder.analysis.glance import glance
from verifier_ladder.analysis.pairs import MOST_DRAWN, calibration, pair_summaries
from verifier_ladder.analysis.sides import Side, side, spent_by_run
from verifier_ladder.analysis.spells import Elapsed, elapsed
from verifier_ladder.analysis.tiercosts import burns, tier_costs
from verifier_ladder.analysis.totals import CampaignCounts, campaign_counts
from verifier_ladder.analysis.verifiers import verifier_lines
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CampaignRow, CheckState
from verifier_ladder.run import trainings_first
from verifier_ladder.server.pages.asking import (
    CampaignNamed,
    Facts,
    campaign_of,
    saved_of,
    viewer_of,
)
from verifier_ladder.server.pages.plots import curves_chart
from verifier_ladder.status import tiers_of
from verifier_ladder.summary.ranks import FEWEST

_STATES = (
    CheckState.QUEUED, CheckState.LEASED, CheckState.WAITING, CheckState.DEAD,
    CheckState.EXPIRED, CheckState.CANCELLED, CheckState.DONE,
)  # fmt: skip
_MOST_SIDES = 6
_MOST_LISTED = 200
Chosen = Annotated[list[str] | None, Query(max_length=_MOST_SIDES)]


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
        "saved": saved_of(costs),
        "budgets": burns(accounts, summary.updated_at - summary.created_at),
        "waiting": waiting, "_again": waiting is None,
    }  # fmt: skip


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


def verifiers(request: Request, campaign: CampaignNamed) -> Facts:
    """The verifiers of a campaign, version by version."""
    viewer = viewer_of(request)
    row = campaign_of(viewer, campaign)
    with viewer.reader.reading() as store:
        lines = verifier_lines(store, row)
    return {"campaign": campaign, "verifiers": lines}


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


def runs(
    request: Request, campaign: CampaignNamed, run: Chosen = None, other: Chosen = None
) -> Facts:
    """Runs of a campaign side by side, the newest two by default, and other campaigns."""
    viewer = viewer_of(request)
    names, others = list(dict.fromkeys(run or ())), list(dict.fromkeys(other or ()))
    rows = [campaign_of(viewer, name) for name in others if name != campaign]
    row = campaign_of(viewer, campaign)
    with viewer.reader.reading() as store:
        counts = campaign_counts(store, campaign)
        spent = spent_by_run(store.spend(campaign))
        listed = [each for each in reversed(counts.runs) if each.samples][:_MOST_LISTED]
        _check(counts, names)
        if not names and not rows:
            names = trainings_first([each.run for each in listed])[:2]
        shown = [*((row, name) for name in names or [""]), *((each, "") for each in rows)]
        if len(shown) > _MOST_SIDES:
            raise HTTPException(422, f"at most {_MOST_SIDES} can stand side by side")
        sides = [
            side(store, viewer.index, each, name, counts if each is row else None)
            for each, name in shown
        ]  # fmt: skip
        told = _runs_differ(store, campaign, names)
        campaigns = [each.name for each in reversed(store.campaigns())][:_MOST_LISTED]
    return {
        "campaign": campaign, "sides": sides,
        "runs": [
            {**each._asdict(), "mean": each.mean, "cpu_seconds": spent.get(each.run)}
            for each in listed
        ],
        "run_differences": told, "ladder_differences": _ladders_differ(row, rows),
        "campaigns": [name for name in campaigns if name != campaign],
        "chosen_runs": names, "chosen_others": [each.name for each in rows],
        "resources": _resources(sides),
        "_told": _chart(sides, "mean reward told", lambda point: point.told),
        "_audited": _chart(sides, "mean truth, audited", lambda point: point.audited),
    }  # fmt: skip


def _check(counts: CampaignCounts, names: list[str]) -> None:
    known = {each.run for each in counts.runs}
    for name in names:
        if name not in known:
            raise HTTPException(404, f"the campaign has no run {name!r:.200} with samples")


def _runs_differ(store: Ledger, campaign: str, names: list[str]) -> list[dict[str, Any]]:
    """In what the records of the other runs are not that of the first."""
    records = {str(record["name"]): dict(record) for record in store.runs(campaign)}
    for record in records.values():
        del record["name"]
    first, *rest = [(name, records.get(name, {})) for name in names] or [("", {})]
    return [
        {"run": name, "from": first[0], "differences": differences(first[1], record)}
        for name, record in rest
    ]


def _ladders_differ(row: CampaignRow, rows: list[CampaignRow]) -> list[dict[str, Any]]:
    """In what the ladders of the other campaigns are not that of the first."""
    return [
        {
            "campaign": each.name, "from": row.name,
            "differences": ladder_differences(row.ladder, each.ladder),
        }
        for each in rows
    ]  # fmt: skip


def _resources(sides: list[Side]) -> list[str]:
    """The resources that any of the sides has used, in the order that they are first met."""
    return list(dict.fromkeys(name for each in sides for name in each.spent))


def _chart(
    sides: list[Side], name: str, value: Callable[[StepPoint], float | None]
) -> Markup | None:
    """A line for each side; None where none has a value."""
    if all(value(point) is None for each in sides for point in each.curve):
        return None
    return curves_chart(sides, name, value)
