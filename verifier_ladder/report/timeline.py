"""Timelines: what happened to one candidate, decision by decision, as the ledger tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

from verifier_ladder.candidate import sample_place
from verifier_ladder.decision import Action
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.records import (
    Block,
    CheckState,
    DecisionColumns,
    Entry,
    VerdictRow,
)
from verifier_ladder.measurement import Bound, bound_of
from verifier_ladder.summary.amounts import duration, number
from verifier_ladder.summary.times import charges
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome

MOST_ENTRIES = 60
_STATES = {
    CheckState.QUEUED: "queued for the {} tier",
    CheckState.LEASED: "at work in the {} tier",
    CheckState.WAITING: "open: the {} tier has not answered yet",
    CheckState.DEAD: "the {} tier failed too often",
}
_SLOT = re.compile(r"\{(\w+)(?::(\.\d)?([efg%])?)?\}")


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a timeline."""

    sort: str
    """seen, verdict, decision or reward; gives the mark in the margin."""
    tier: str
    """Label of the tier it is about; empty if none."""
    text: str
    at: float
    """Seconds since 1970; 0 for the present."""
    entry: int
    """The entry that tells it; 0 for the present."""


def timeline(ledger: Ledger, campaign: str, key: bytes) -> list[Event]:
    """Tell what happened to a candidate, oldest first.

    Of a candidate with several samples, the first sample in each entry is told of.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        key: The candidate's content key.
    """
    from verifier_ladder.ledger.encoding import decode

    events: list[Event] = []
    for number_ in ledger.mentions(key)[:MOST_ENTRIES]:
        for entry in ledger.entries(after=number_ - 1, limit=1):
            if entry.id == number_ and entry.campaign == campaign:
                events += _events(entry, decode(entry.body), key)
    return [*_without_repeats(events), *_present(ledger, campaign, key)]


def _present(ledger: Ledger, campaign: str, key: bytes) -> Iterator[Event]:
    """What it waits for now, from the work queue."""
    for row in ledger.checks(states=list(_STATES), campaign=campaign):
        if row.content_key == key:
            tier = Tier(row.tier).label
            state = (
                "parked: what the budget has left does not pay for the {} tier"
                if row.note == "budget"
                else ""
            )
            text = (state or _STATES[row.state]).format(tier.replace("_", " "))
            yield Event("seen", tier, text, 0.0, 0)


def _events(entry: Entry, block: Block, key: bytes) -> Iterator[Event]:
    places = _places(block, key)
    if block.kind == "score" and places and block.samples:
        times = f" {len(places)} times" if len(places) > 1 else ""
        text = f"submitted{times} in {sample_place(block.samples.run, block.samples.step)}"
        yield Event("seen", "", text, entry.recorded_at, entry.id)
    for row, seconds in zip(block.verdicts, charges(block), strict=True):
        if row.content_key == key and not row.verdict.evidence.get("waiting"):
            text = _verdict(row, seconds)
            yield Event("verdict", Tier(row.tier).label, text, entry.recorded_at, entry.id)
    if not places:
        return
    for columns in block.decisions:
        for index, place in enumerate(columns.sample):
            if place == places[0]:
                tier, text = decision_text(columns, index)
                yield Event("decision", tier, text, entry.recorded_at, entry.id)
    if block.rewards:
        reward = block.rewards[places[0]]
        text = f"reward {number(reward.value, reward.uncertainty)}"
        if reward.value is None:
            text = "no reward yet: nothing is known"
        yield Event("reward", "", text, entry.recorded_at, entry.id)


def _places(block: Block, key: bytes) -> list[int]:
    if block.samples is None:
        return []
    return [i for i, content in enumerate(block.samples.contents) if content == key]


def _verdict(row: VerdictRow, seconds: float | None) -> str:
    verdict = row.verdict
    took = f" in {duration(seconds)}" if seconds else ""
    if verdict.failed_at is not None:
        return f"{row.verifier} failed at {verdict.failed_at}: {verdict.reason}{took}"
    if verdict.outcome is Outcome.ACCEPT:
        said: Bound | str | None = bound_of(verdict.evidence)
        if verdict.score is not None:
            said = number(verdict.score, verdict.uncertainty)
        unit = f" {verdict.unit}" if verdict.unit else ""
        return f"{row.verifier} {'passed' if said is None else f'says {said}{unit}'}{took}"
    word = "rejects" if verdict.outcome is Outcome.REJECT else "has no opinion"
    return f"{row.verifier} {word}: {verdict.reason}{took}"


def decision_text(columns: DecisionColumns, index: int) -> tuple[str, str]:
    """The tier asked for and the sentence that tells why, with its numbers filled in."""
    code = columns.tier[index]
    tier = Tier(code).label if code >= 0 else ""
    values: dict[str, Any] = {
        "mean": columns.mean[index], "deviation": columns.deviation[index], "tier": tier,
        "propensity": columns.propensity[index], "benefit": columns.benefit[index],
        "limit": columns.limit[index] if columns.limit else None,
    }  # fmt: skip
    action = Action(columns.action[index])
    verb = {Action.STOP: "stop", Action.ESCALATE: f"ask the {tier} tier"}.get(
        action, f"wait for the {tier} tier"
    )
    sentence = fill(columns.reasons[columns.reason[index]], values)
    return tier, f"{verb}: {sentence}".replace("high_fidelity", "high fidelity")


def fill(template: str, values: dict[str, Any]) -> str:
    """Fill a decision's numbers into its sentence; only plain number formats are honoured.

    Example:
        >>> fill("believed {mean:.3g}, {what}", {"mean": -4.7312})
        'believed −4.73, –'
    """
    return _SLOT.sub(lambda m: _slot(values.get(m[1]), (m[2] or "") + (m[3] or "")), template)


def _slot(value: Any, form: str) -> str:
    if value is None or (isinstance(value, float) and isnan(value)):
        return "–"
    if not isinstance(value, (int, float)):
        return str(value)
    return f"{value:{form or '.3g'}}".replace("-", "−")


def _without_repeats(events: list[Event]) -> list[Event]:
    """One late verdict makes a revision for each sample; one of them is enough here."""
    seen: set[tuple[str, str]] = set()
    out = []
    for event in events:
        mark = (event.sort, event.text)
        if event.sort in ("seen", "verdict") or mark not in seen:
            out.append(event)
            seen.add(mark)
    return out
