"""History: what the ledger holds about one candidate, in the order it happened."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from string import hexdigits
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.artifact import artifact_json
from verifier_ladder.decision import Action
from verifier_ladder.errors import LedgerError
from verifier_ladder.keys import content_key, digest, raw_key
from verifier_ladder.reward import CANONICAL
from verifier_ladder.summary.times import charges
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import Block, DecisionColumns, Entry, VerdictRow

_FEWEST_HEX = 4
_PLAIN = re.compile(r"\{\w+(?::(?:\.\d)?[efg%]?)?\}")
"""Where a number is filled in, with a format that can do no harm."""


class Known(NamedTuple):
    """A candidate of the ledger."""

    key: bytes
    kind: str
    canonical: str | bytes


class Event(NamedTuple):
    """One thing that happened to a candidate."""

    entry: int
    recorded_at: float
    campaign: str
    what: str
    """verdict, decision or reward."""
    facts: Mapping[str, Any]


def with_prefix(ledger: Ledger, prefix: str) -> list[Known]:
    """Candidates whose hexadecimal content key starts so; at least four digits."""
    if len(prefix) < _FEWEST_HEX or set(prefix.lower()) - set(hexdigits):
        return []
    return [Known(*row) for row in ledger.find_contents(prefix.lower())]


def with_text(ledger: Ledger, text: str) -> list[Known]:
    """Candidates with this text, in any spelling that was recorded; one for each kind."""
    keys = dict.fromkeys(_keys_of(ledger, text))
    return [Known(*row) for key in keys for row in ledger.find_contents(key.hex(), 1)]


def _keys_of(ledger: Ledger, text: str) -> Iterator[bytes]:
    """Content keys of a text as it stands, and as the campaigns' canonicalisers read it."""
    seen: set[tuple[str, bytes]] = set()
    for row in ledger.campaigns():
        kind = row.ladder["kind"]
        by = digest(row.ladder["canonicaliser"])
        if (kind, by) in seen:
            continue
        seen.add((kind, by))
        for given in (text, text.encode("utf-8", "surrogatepass")):
            # Nothing is canonicalised here, because that can crash: the ledger remembers it.
            for alias in ledger.aliases(by, [raw_key(kind, given)]).values():
                yield alias.content_key
            yield content_key(kind, given)


def newest_entries(
    ledger: Ledger, limit: int, *, before: int | None = None, kind: str | None = None,
    campaign: str | None = None,
) -> list[Entry]:  # fmt: skip
    """The last entries with an id below `before`, newest first; read in growing windows."""
    high = before if before is not None else ledger.newest() + 1
    found: list[Entry] = []
    width = limit
    while high > 1 and len(found) < limit:
        low = max(1, high - width)
        window = ledger.entries(after=low - 1, kind=kind, campaign=campaign, limit=high - low)
        found = [entry for entry in window if entry.id < high] + found
        high, width = low, width * 4
    return found[-limit:][::-1]


def events(ledger: Ledger, key: bytes) -> Iterator[Event]:
    """Everything about a candidate: verdicts, decisions, rewards, oldest first."""
    for number in ledger.mentions(key):
        entry = ledger.entry(number)
        if entry is None:
            raise LedgerError(f"entry {number} is missing from the ledger; restore a copy of it")
        block = ledger.read(entry)
        for what, facts in _told(block, key):
            yield Event(entry.id, entry.recorded_at, entry.campaign, what, facts)


def _told(block: Block, key: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from _verdicts(block, key)
    if block.samples is None:
        return
    mine = [i for i, content in enumerate(block.samples.contents) if content == key]
    for columns in block.decisions:
        at = {sample: place for place, sample in enumerate(columns.sample)}
        for sample in mine:
            if sample in at:
                yield (
                    "decision",
                    {**sample_facts(block, sample), **decision_facts(columns, at[sample])},
                )
    for sample in mine:
        if sample < len(block.rewards):
            yield "reward", {**sample_facts(block, sample), **reward_facts(block, sample)}


def _verdicts(block: Block, key: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for candidate in block.candidates:
        if candidate.content_key == key and candidate.verdict is not None:
            yield "verdict", {"verifier": CANONICAL, **verdict_facts(candidate.verdict)}
    for row, seconds in zip(block.verdicts, charges(block), strict=True):
        if row.content_key == key:
            yield "verdict", check_facts(row, seconds)


def check_facts(row: VerdictRow, seconds: float | None) -> dict[str, Any]:
    """A finished check as JSON values."""
    return {
        "verifier": row.verifier, "version": row.version, "tier": Tier(row.tier).label,
        "attempt": row.attempt, **verdict_facts(row.verdict), "seconds": seconds,
        "check": row.check_key.hex(),
    }  # fmt: skip


def reward_facts(block: Block, sample: int) -> dict[str, Any]:
    """A sample's reward as JSON values, with what it was before."""
    reward, previous = block.rewards[sample], block.facts.get("previous")
    tier = None if reward.tier is None else reward.tier.label
    before = previous[sample] if previous else None
    told = {"turns": [turn.as_json() for turn in reward.turns], "scores": dict(reward.scores)}
    return {**reward._asdict(), **told, "tier": tier, "previous": before}


def verdict_facts(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON values."""
    return {
        "outcome": verdict.outcome.value, "score": verdict.score,
        "uncertainty": verdict.uncertainty, "unit": verdict.unit, "reason": verdict.reason,
        "feedback": verdict.feedback, "turns": [turn.as_json() for turn in verdict.turns],
        "scores": dict(verdict.scores),
        "artifacts": {name: artifact_json(one) for name, one in verdict.files.items()},
        "failed_at": verdict.failed_at, "evidence": dict(verdict.evidence),
        "seconds": verdict.cost.seconds if verdict.cost else None,
    }  # fmt: skip


def sample_facts(block: Block, sample: int) -> dict[str, Any]:
    """Which sample it is, as JSON values."""
    samples = block.samples
    if samples is None:
        return {}
    return {"run": samples.run, "step": samples.step, "position": samples.positions[sample]}


def decision_facts(columns: DecisionColumns, place: int) -> dict[str, Any]:
    """A decision as JSON values: what was decided, why, and the numbers that led to it."""
    code = columns.tier[place]
    made = {
        "action": Action(columns.action[place]).label,
        "tier": Tier(code).label if code >= 0 else None,
        "mean": columns.mean[place], "deviation": columns.deviation[place],
        "propensity": _known(columns.propensity, place), "benefit": columns.benefit[place],
        "draw": _known(columns.draw, place), "limit": _known(columns.limit, place),
        "factor": _known(columns.factor, place), "policy": columns.policy,
    }  # fmt: skip
    return {**made, "reason": sentence(columns.reasons[columns.reason[place]], made)}


def _known(column: Sequence[float] | None, place: int) -> float | None:
    """A number of a column; None where it does not apply."""
    return None if column is None or isnan(column[place]) else column[place]


def sentence(template: str, numbers: Mapping[str, Any]) -> str:
    """A decision's reason with its numbers filled in.

    Example:
        >>> sentence("believed {mean:.2g}", {"mean": 0.5})
        'believed 0.5'
    """
    if {"{", "}"} & set(_PLAIN.sub("", template)):  # A width of a billion is a format too.
        return template
    try:
        return template.format_map(numbers).replace(" ± nan", "")
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        # A policy of somebody else may name numbers that this decision does not have.
        return template
