"""Timelines: what happened to one candidate, decision by decision, as the ledger tells it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from verifier_ladder.analysis.history import (
    check_facts,
    decision_facts,
    reward_facts,
    sample_facts,
    verdict_facts,
)
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
from verifier_ladder.reward import CANONICAL
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
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The numbers behind it, evidence and artifacts, as `ledger show --json` tells them."""


def timeline(
    ledger: Ledger, campaign: str, key: bytes, *, read: Callable[[int], Block | None] | None = None
) -> list[Event]:
    """Tell what happened to a candidate, oldest first.

    Of a candidate with several samples, the first sample in each entry is told of.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        key: The candidate's content key.
        read: Reads the records of an entry; the ledger's own way by default.
    """
    own = [
        (entry, block)
        for entry, block in _read(ledger, ledger.mentions(key)[:MOST_ENTRIES], read)
        if entry.campaign == campaign
    ]
    events = [event for entry, block in own for event in _events(entry, block, key)]
    return [*_without_repeats(events), *_present(ledger, campaign, key)]


def story(
    ledger: Ledger, campaign: str, key: bytes, entries: Sequence[int], task: bytes = b"",
    *, read: Callable[[int], Block | None] | None = None,
) -> list[Event]:  # fmt: skip
    """Tell what some entries say of a candidate, oldest first, with the facts behind each line.

    Verdicts that other campaigns have recorded are told where the candidate's rewards rest on
    them. Of a candidate with several samples, the first sample in each entry is told of.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        key: The candidate's content key.
        entries: Ids of the entries.
        task: Digest of the task that it answers, where it has one.
        read: Reads the records of an entry; the ledger's own way by default.
    """
    taken = list(_read(ledger, entries, read))
    checks = {
        check
        for entry, block in taken
        if entry.campaign == campaign and block.samples is not None
        for place in _places(block, key, task)
        for check in block.samples.checks[place]
    }
    events: list[Event] = []
    for entry, block in taken:
        if entry.campaign == campaign:
            events += _events(entry, block, key, task, checks if task else None)
        else:
            events += _verdicts(entry, block, key, checks)
    return _without_repeats(events)


def _read(
    ledger: Ledger, entries: Sequence[int], read: Callable[[int], Block | None] | None = None
) -> Iterator[tuple[Entry, Block]]:
    for number_ in entries:
        entry = ledger.entry(number_)
        if entry is not None:
            block = ledger.read(entry) if read is None else read(number_)
            if block is not None:
                yield entry, block


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


def _events(
    entry: Entry, block: Block, key: bytes, task: bytes = b"",
    checks: Collection[bytes] | None = None,
) -> Iterator[Event]:  # fmt: skip
    places = _places(block, key, task)
    if block.kind == "score" and places and block.samples:
        times = f" {len(places)} times" if len(places) > 1 else ""
        text = f"submitted{times} in {sample_place(block.samples.run, block.samples.step)}"
        facts = sample_facts(block, places[0])
        yield Event("seen", "", text, entry.recorded_at, entry.id, facts)
    yield from _verdicts(entry, block, key, checks)
    if not places:
        return
    for columns in block.decisions:
        for index, place in enumerate(columns.sample):
            if place == places[0]:
                tier, text = decision_text(columns, index)
                facts = {**sample_facts(block, place), **decision_facts(columns, index)}
                yield Event("decision", tier, text, entry.recorded_at, entry.id, facts)
    if block.rewards:
        reward = block.rewards[places[0]]
        text = f"reward {number(reward.value, reward.uncertainty)}"
        if reward.value is None:
            text = "no reward yet: nothing is known"
        facts = {**sample_facts(block, places[0]), **reward_facts(block, places[0])}
        yield Event("reward", "", text, entry.recorded_at, entry.id, facts)


def _verdicts(
    entry: Entry, block: Block, key: bytes, checks: Collection[bytes] | None
) -> Iterator[Event]:
    """What verifiers say in an entry, in all checks or only in some."""
    for candidate in block.candidates:
        if candidate.content_key == key and candidate.verdict is not None:
            said = candidate.verdict
            facts = {"verifier": CANONICAL, **verdict_facts(said)}
            yield Event(
                "verdict", "", f"{CANONICAL}: {said.reason}", entry.recorded_at, entry.id, facts
            )
    for row, seconds in zip(block.verdicts, charges(block), strict=True):
        is_meant = row.content_key == key and (checks is None or row.check_key in checks)
        if is_meant and not row.verdict.evidence.get("waiting"):
            yield Event(
                "verdict", Tier(row.tier).label, _verdict(row, seconds), entry.recorded_at,
                entry.id, {**check_facts(row, seconds), "campaign": entry.campaign},
            )  # fmt: skip


def _places(block: Block, key: bytes, task: bytes = b"") -> list[int]:
    """Where a candidate's samples stand in an entry; without a task, those of all tasks."""
    samples = block.samples
    if samples is None:
        return []
    return [
        place for place, content in enumerate(samples.contents)
        if content == key and (not task or (samples.tasks and samples.tasks[place] == task))
    ]  # fmt: skip


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
