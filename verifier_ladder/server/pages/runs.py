"""What the page of runs says: runs of a campaign, or campaigns, side by side."""

# Without postponed annotations: FastAPI reads them as they stand.
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import HTTPException, Query, Request
from markupsafe import Markup

from verifier_ladder.analysis.candidates import StepPoint
from verifier_ladder.analysis.differences import differences, ladder_differences
from verifier_ladder.analysis.sides import Side, side, spent_by_run
from verifier_ladder.analysis.totals import CampaignCounts, campaign_counts
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.run import trainings_first
from verifier_ladder.server.pages.asking import (
    CampaignNamed,
    Facts,
    campaign_of,
    viewer_of,
)
from verifier_ladder.server.pages.plots import curves_chart

_MOST_SIDES = 6
_MOST_LISTED = 200
Chosen = Annotated[list[str] | None, Query(max_length=_MOST_SIDES)]


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
