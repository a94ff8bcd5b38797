"""Changes: what came into a ledger between two checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.moments import SqlMoments
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.samples import SUPERSEDING
from verifier_ladder.verdict import Verdict


class Correction(NamedTuple):
    """A verdict that was replaced."""

    entry: int
    check: str
    candidate: str
    verifier: str
    before: Verdict
    after: Verdict


@dataclass
class Changes:
    """What a log of one size has that a log of an earlier size has not."""

    first: int
    """Size of the earlier log."""
    last: int
    """Size of the later log."""
    entries: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How many entries, by campaign and kind."""
    verdicts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How many verdicts, by verifier, version and outcome; failures as `failed`."""
    rewards: int = 0
    """How many rewards, revisions among them."""
    corrections: list[Correction] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The changes as JSON values."""
        return {
            "first": self.first, "last": self.last, "rewards": self.rewards,
            "entries": _rows(self.entries, ("campaign", "kind")),
            "verdicts": _rows(self.verdicts, ("verifier", "version", "outcome")),
            "corrections": [
                {
                    **row._asdict(), "before": _said(row.before), "after": _said(row.after)
                }
                for row in self.corrections
            ],
        }  # fmt: skip


def changes(log: SqlMoments, first: int, last: int | None = None) -> Changes:
    """What came between two sizes of the log.

    Args:
        log: The ledger.
        first: Size of the earlier log.
        last: Size of the later log; by default all that is signed for.

    Raises:
        ConfigError: If the log is not that long.
    """
    size = log.size()
    last = size if last is None else last
    if not 0 <= first <= last <= size:
        raise ConfigError(f"the log has {size} entries; {first} to {last} is no part of it")
    found = Changes(first, last)
    for leaf in log.leaves(after=first - 1, until=last):
        block = log.read(leaf.entry)
        found.entries[leaf.entry.campaign, leaf.entry.kind] += 1
        found.rewards += len(block.rewards)
        for row in block.verdicts:
            outcome = str(row.verdict.outcome) if row.verdict.is_answer else "failed"
            found.verdicts[row.verifier, row.version, outcome] += 1
        if block.kind in SUPERSEDING:
            found.corrections += _corrections(log, leaf.entry.id, block, leaf.place)
    return found


def _corrections(log: SqlMoments, entry: int, block: Block, place: int) -> list[Correction]:
    """What an entry replaces of what was known before it."""
    before = log.verdicts_as_of([row.check_key for row in block.verdicts], place)
    return [
        Correction(
            entry, row.check_key.hex(), row.content_key.hex(), f"{row.verifier} {row.version}",
            before[row.check_key], row.verdict,
        )
        for row in block.verdicts
        if row.check_key in before
    ]  # fmt: skip


def _rows(counts: Mapping[tuple[str, ...], int], names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {**dict(zip(names, key, strict=True)), "count": count}
        for key, count in sorted(counts.items())
    ]


def _said(verdict: Verdict) -> dict[str, Any]:
    return {"outcome": str(verdict.outcome), "score": verdict.score}
