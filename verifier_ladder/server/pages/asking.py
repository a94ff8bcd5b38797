"""What each page says, as facts: the page and its JSON twin are made of the same."""

# Without postponed annotations: FastAPI reads them as they stand.
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Annotated, Any, Literal

from fastapi import Depends, HTTPException, Query, Request

from verifier_ladder.analysis.candidates import Listed, Listing, Order, Party, StepPoint
from verifier_ladder.analysis.filling import Standing
from verifier_ladder.analysis.glance import boundaries, glance
from verifier_ladder.analysis.tiercosts import TierCost, tier_costs
from verifier_ladder.analysis.totals import alarm_count, campaign_counts
from verifier_ladder.decision import Action
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.report.timeline import Event, story
from verifier_ladder.scheduler.shadow import is_shadow, shadow_name
from verifier_ladder.server.pages.pictures import Subject, marked_texts, pictures
from verifier_ladder.server.pages.viewer import Viewer
from verifier_ladder.status import tiers_of
from verifier_ladder.summary.steps import StepMeans
from verifier_ladder.summary.subject import Stand
from verifier_ladder.text import hide_password
from verifier_ladder.tier import Tier

Facts = dict[str, Any]
"""What a page says, by name; a name that begins with _ is for the page alone."""

CampaignNamed = Annotated[str, Query(description="The campaign.", max_length=300)]
RunNamed = Annotated[str, Query(description="The run.", max_length=1000)]
Digest = Annotated[str, Query(pattern="^([0-9a-f]{2}){1,64}$")]
Task = Annotated[str, Query(pattern="^([0-9a-f]{2}){0,64}$", description="Digest of its task.")]
StandingNamed = Literal["", "unjudged", "rejected", "failed", "abstained", "accepted", "waiting"]
TierNamed = Literal["", "fast", "simulation", "high_fidelity", "world"]
SaidNamed = Literal["", "accepted", "rejected", "abstained", "failed"]
_MOST_SHOWN = 20_000
"""Characters of a candidate or a prompt that a page shows."""
_COMPLETION = 4_000
"""Characters of each completion of a group."""


def viewer_of(request: Request) -> Viewer:
    """The viewer behind an application's pages."""
    found: Viewer = request.app.state.viewer
    return found


def _known(ledger: Ledger, name: str) -> CampaignRow:
    row = next(iter(ledger.campaigns(name)), None)
    if row is None:
        raise HTTPException(404, f"the ledger holds no campaign {name!r}")
    return row


def campaign_of(viewer: Viewer, name: str) -> CampaignRow:
    """A campaign as the ledger records it.

    Raises:
        HTTPException: If the ledger holds none of this name.
    """
    with viewer.reader.reading() as store:
        return _known(store, name)


def newest(request: Request) -> Facts:
    """How far the ledger has come, and how far the lists; cheap enough to be asked for ever."""
    state = viewer_of(request).state()
    return {
        "newest": state.newest, "listed": state.entry, "damaged": state.damaged,
        "trouble": state.trouble,
    }  # fmt: skip


def ledger(request: Request) -> Facts:
    """The campaigns of the ledger, the newest first."""
    viewer = viewer_of(request)
    with viewer.reader.reading() as store:
        lines = [_campaign_line(viewer, store, row) for row in reversed(store.campaigns())]
    return {
        "ledger": hide_password(viewer.url).removeprefix("sqlite:///"),
        "campaigns": lines,
    }


def _campaign_line(viewer: Viewer, store: Ledger, row: CampaignRow) -> Facts:
    counts, index = campaign_counts(store, row.name), viewer.index
    best = next(iter(index.page(Listing(row.name, Order.TRUTH), 1).rows), None)
    target = row.ladder.get("target") or {}
    return {
        "name": row.name, "is_shadow": is_shadow(row.name), "kind": row.ladder.get("kind", ""),
        "ladder": row.ladder.get("name", ""), "tiers": [t.label for t in tiers_of(row)],
        "unit": target.get("unit", ""), "created_at": row.created_at,
        "updated_at": counts.extent.recorded_at or row.created_at, "samples": counts.samples,
        "candidates": index.totals(row.name).count("candidates"),
        "alarms": alarm_count(store, counts),
        "best": best,
    }  # fmt: skip


def campaign(request: Request, campaign: CampaignNamed, run: RunNamed = "") -> Facts:
    """A campaign at a glance: who won, is something wrong, what was spent."""
    viewer = viewer_of(request)
    row = campaign_of(viewer, campaign)
    waiting = viewer.waiting(campaign)
    with viewer.reader.reading() as store:
        told = glance(store, viewer.index, row, waiting)
        costs = tier_costs(store.accounts(campaign), told.summary)
        shadows = [r.name for r in store.campaigns() if r.name == shadow_name(campaign)]
    runs = viewer.index.runs(campaign)
    shown = run or (runs[0] if runs else "")
    curve = viewer.index.curve(campaign, shown) if shown else []
    shown_candidates = [c for c in (told.winner, told.hopeful) if c is not None]
    drawn, again = _drawn(viewer, shown_candidates)
    summary, unrewarded = told.summary, told.totals.counts.unrewarded
    return {
        "campaign": campaign, "objective": summary.target, "winner": told.winner,
        "hopeful": told.hopeful, "alarms": told.alarms, "boundaries": told.boundaries,
        "waiting": told.waiting, "tiers": summary.tiers,
        "spent": {"cpu_seconds": summary.spent, **_labels(summary.resources)},
        "everything": _labels(summary.everything),
        "saved": saved_of(costs),
        "wall_seconds": max(0.0, summary.updated_at - summary.created_at),
        "samples": summary.samples, "candidates": summary.candidates,
        "unrewarded": None if unrewarded is None else unrewarded[0],
        "revised": summary.rewards.revised,
        "created_at": summary.created_at, "updated_at": summary.updated_at,
        "runs": runs, "run": shown, "curve": curve, "shadows": shadows,
        "_summary": summary, "_steps": _means(shown, curve), "_drawings": drawn,
        "_again": again or told.waiting is None,
        "_alarmed": [
            min(alarm.step, curve[-1].step) for alarm in told.alarms
            if curve and alarm.run == shown and alarm.step is not None
        ],
        "_spent_on": [
            cost for cost in costs if cost.tier == "total" and (cost.spent or cost.everything)
        ],
    }  # fmt: skip


def saved_of(costs: Sequence[TierCost]) -> dict[str, float]:
    """The share of each resource that was saved, as far as that is known."""
    return {
        cost.resource: cost.saved for cost in costs
        if cost.tier == "total" and cost.saved is not None
    }  # fmt: skip


def _labels(amounts: Mapping[Any, float]) -> dict[str, float]:
    return {resource.label: amount for resource, amount in amounts.items()}


def _means(run: str, curve: Sequence[StepPoint]) -> list[StepMeans]:
    return [StepMeans(run, point.step, point.told, point.audited) for point in curve]


def _drawn(viewer: Viewer, candidates: Sequence[Listed]) -> tuple[Mapping[str, Any], bool]:
    """Drawings by key, and whether more are to come; a label that was cut is no molecule."""
    labels = {c.key: c.label for c in candidates if c.kind == "molecule" and "…" not in c.label}
    drawn = viewer.drawings([*labels.values()])
    found = {key: drawn.made[text] for key, text in labels.items() if text in drawn.made}
    return found, not drawn.are_all


def listing(
    campaign: CampaignNamed,
    *,
    order: Order = Order.REWARD,
    outcome: StandingNamed = "",
    reached: TierNamed = "",
    by: Annotated[TierNamed, Query(description="A tier, for `said`.")] = "",
    said: SaidNamed = "",
    text: Annotated[str, Query(max_length=1000)] = "",
    after: Annotated[str, Query(max_length=60)] = "",
) -> Listing:
    """Which candidates an address asks for."""
    return Listing(
        campaign, order, Standing[outcome.upper()] if outcome else None,
        Tier.parse(reached) if reached else None, text.strip(), after,
        (Tier.parse(by), Stand[said.upper()]) if by and said else None,
    )  # fmt: skip


ListingAsked = Annotated[Listing, Depends(listing)]


def asked_for(listing: Listing) -> Facts:
    """What an address that asks for a list says, by the names it has there."""
    tier, stand = listing.said or (None, None)
    return {
        "campaign": listing.campaign, "order": listing.order.value,
        "outcome": "" if listing.standing is None else listing.standing.label,
        "reached": "" if listing.reached is None else listing.reached.label,
        "by": "" if tier is None else tier.label,
        "said": "" if stand is None else stand.name.lower(), "text": listing.text,
    }  # fmt: skip


def candidates(request: Request, listing: ListingAsked) -> Facts:
    """Candidates of a campaign: sorted, filtered, searched for, a page at a time."""
    viewer = viewer_of(request)
    with viewer.reader.reading() as store:
        row = _known(store, listing.campaign)
    page = viewer.index.page(listing)
    drawn, again = _drawn(viewer, page.rows)
    return {
        **asked_for(listing), "candidates": page.rows, "count": page.count, "after": page.after,
        "unit": (row.ladder.get("target") or {}).get("unit", ""),
        "tiers": [tier.label for tier in tiers_of(row)], "_drawings": drawn, "_again": again,
        "_is_empty": not page.rows and not viewer.index.totals(row.name).count("candidates"),
        "_is_first": not listing.after, "_same": asked_for(listing),
    }  # fmt: skip


def candidate(request: Request, campaign: CampaignNamed, key: Digest, task: Task = "") -> Facts:
    """One candidate: what happened to it, read from the ledger's own entries."""
    viewer = viewer_of(request)
    found = viewer.index.candidate(campaign, bytes.fromhex(key), bytes.fromhex(task))
    if found is None:
        raise HTTPException(404, f"the lists hold no candidate {key[:16]} of {campaign!r}")
    entries, count = viewer.index.entries_of(found)
    with viewer.reader.reading() as store:
        row = _known(store, campaign)
        events = story(
            store, campaign, bytes.fromhex(key), entries, bytes.fromhex(task),
            read=lambda number: viewer.block(store, number),
        )  # fmt: skip
        content = viewer.texts(store, [key]).get(key)
        made = pictures(viewer, Subject(store, row, found, content, events))
    drawn, again = _drawn(viewer, [found])
    return {
        "campaign": campaign, "candidate": found, "content": content,
        "unit": (row.ladder.get("target") or {}).get("unit", ""), "timeline": events,
        "asked_because": _asked_because(events),
        "entries": entries, "entries_in_all": count,
        "proof": [_proof(viewer, event) for event in events], **made.facts(),
        "_drawings": drawn, "_again": again or made.is_late, "_most": _MOST_SHOWN,
        "_weight": _weight(events),
        "_are_turns_lost": made.trajectory is None and any(e.facts.get("turns") for e in events),
    }  # fmt: skip


def _weight(events: Sequence[Event]) -> float:
    """How many times an answer counts in the rewards, for the samples that were not drawn."""
    weights = [e.facts.get("factor") for e in events if e.sort == "decision"]
    return max(filter(None, weights), default=1.0)


def _asked_because(events: Sequence[Event]) -> dict[str, str]:
    """Why each tier was asked, in the words of the last decision that asked it."""
    return {
        event.tier: event.text.partition(": ")[2] for event in events
        if event.sort == "decision" and event.facts.get("action") == Action.ESCALATE.label
    }  # fmt: skip


def _proof(viewer: Viewer, event: Any) -> str:
    """The command that proves what an event tells; empty where it has no record of its own."""
    from shlex import quote

    where = viewer.url.removeprefix("sqlite:///")
    command = f"vladder ledger prove {event.entry} --ledger {quote(hide_password(where))}"
    if check := event.facts.get("check"):
        return f"{command} --check {check} --out proof.json"
    if event.sort == "reward":
        return f"{command} --position {event.facts['position']} --out proof.json"
    return ""


def group(
    request: Request,
    campaign: CampaignNamed,
    run: RunNamed,
    step: Annotated[int, Query(ge=-(2**63), lt=2**63)],
    position: Annotated[int, Query(ge=-(2**63), lt=2**63)],
) -> Facts:
    """The completions of one prompt side by side: the group of a sample."""
    viewer = viewer_of(request)
    party = viewer.index.party(campaign, run, step, position)
    if party is None:
        raise HTTPException(404, "the lists hold no such sample")
    with viewer.reader.reading() as store:
        row = _known(store, campaign)
        texts = viewer.texts(store, [m.candidate.key for m in party.members])
        prompt = _prompt(viewer, store, party)
    code, is_late = marked_texts(viewer, row, texts, _COMPLETION)
    drawn, again = _drawn(viewer, [m.candidate for m in party.members])
    rewards = [m.reward for m in party.members if m.reward is not None and isfinite(m.reward)]
    return {
        "campaign": campaign, "run": run, "step": step, "position": position,
        "group": party.name, "prompt": prompt, "members": party.members,
        "texts": {key: text[:_COMPLETION] for key, text in texts.items()},
        "mean": sum(rewards) / len(rewards) if rewards else None,
        "unit": (row.ladder.get("target") or {}).get("unit", ""),
        "_drawings": drawn, "_again": again or is_late, "_most": _COMPLETION, "_code": code,
        "_is_drawn": len(tiers_of(row)) > 1,
    }  # fmt: skip


def _prompt(viewer: Viewer, store: Ledger, party: Party) -> str | None:
    """The prompt of a group as text; None if it was not kept."""
    if party.prompt_entry is None:
        return None
    block = viewer.block(store, party.prompt_entry)
    told: Any = None
    with suppress(KeyError, TypeError):
        told = block.facts["groups"][party.name]["prompt"] if block is not None else None
    if isinstance(told, list):  # Chat messages.
        parts = [m for m in told if isinstance(m, Mapping)]
        told = "\n\n".join(f"{m.get('role', '')}: {m.get('content', '')}" for m in parts)
    return None if told is None else str(told)[:_MOST_SHOWN]


def failures(
    request: Request,
    campaign: CampaignNamed,
    verifier: Annotated[str, Query(max_length=300)] = "",
) -> Facts:
    """What failed, by boundary, apart from what was rejected or had no opinion."""
    viewer = viewer_of(request)
    with viewer.reader.reading() as store:
        _known(store, campaign)
        failed = campaign_counts(store, campaign).failures_of(verifier)
    reasons = [
        reason for reason in viewer.index.reasons(campaign)
        if not verifier or reason.verifier == verifier
    ]  # fmt: skip
    return {
        "campaign": campaign,
        "verifier": verifier,
        "boundaries": boundaries(failed, reasons),
        **{
            name: [reason for reason in reasons if reason.standing == name]
            for name in ("failed", "rejected", "abstained")
        },
    }
