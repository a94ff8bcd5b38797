"""Versions of a verifier, compared on the candidates that both have looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import inf
from statistics import fmean, stdev
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.summary.ranks import compare_orders
from verifier_ladder.summary.reasons import text_of
from verifier_ladder.verdict import Verdict

_MOST_RANKED = 4000
"""Candidates whose order is compared; it takes time that grows with their square."""


class VersionChange(NamedTuple):
    """A candidate of which the two versions say something else."""

    candidate: str
    """Its content key."""
    content: str
    before: float | None
    after: float | None
    outcomes: tuple[str, str]


@dataclass(frozen=True, slots=True)
class VersionReport:
    """Two versions of a verifier side by side. Changes are the newer one's minus the older's."""

    verifier: str
    versions: tuple[str, str]
    compared: int
    """Candidates of which both have answers."""
    only: tuple[int, int]
    """Candidates of which only the older has one, and only the newer."""
    outcomes: Mapping[tuple[str, str], int]
    """How many of the compared have which outcomes."""
    correlation: float | None
    """Spearman's rank correlation of the scores; None where it makes no sense."""
    swapped: float | None
    """Share of the pairs whose order is the other way round."""
    mean_change: float | None
    """Mean change of the scores that both give."""
    deviation: float | None
    """Standard deviation of the change."""
    seconds: tuple[float | None, float | None]
    """Mean cpu-seconds of a check; None where nothing was measured."""
    largest: tuple[VersionChange, ...]

    @property
    def flips(self) -> int:
        """Compared candidates whose outcome is another."""
        return sum(count for (old, new), count in self.outcomes.items() if old != new)

    @property
    def flip_rate(self) -> float | None:
        """Share of the compared candidates that flip; None if none is compared."""
        return self.flips / self.compared if self.compared else None

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        made = {field.name: getattr(self, field.name) for field in fields(self)}
        made["largest"] = [change._asdict() for change in self.largest]
        made["outcomes"] = [
            {"before": old, "after": new, "candidates": count}
            for (old, new), count in self.outcomes.items()
        ]
        return {**made, "flips": self.flips, "flip_rate": self.flip_rate}


def compare_versions(
    ledger: Ledger, verifier: str, old: str, new: str, *, largest: int = 10
) -> VersionReport:
    """Compare what two versions of a verifier have said, in all campaigns of a ledger.

    A candidate that was judged against several tasks, or several times, counts with what was said
    last. Failures and open cases say nothing and are left out.

    Args:
        ledger: The ledger.
        verifier: Its name.
        old: The older version.
        new: The newer version.
        largest: How many of the largest changes to name.

    Raises:
        ConfigError: If the ledger has no answers of one of them.
    """
    before, after = _answers(ledger, verifier, old, new)
    for version, answers in ((old, before), (new, after)):
        if not answers:
            raise ConfigError(f"the ledger has no answers of {verifier} {version}")
    both = {key: (before[key], after[key]) for key in before if key in after}
    pairs = [
        (mine.score, other.score)
        for mine, other in both.values()
        if mine.score is not None and other.score is not None
    ]
    step = max(1, len(pairs) // _MOST_RANKED)
    orders = compare_orders([pairs[::step]])
    changes = [later - earlier for earlier, later in pairs]
    return VersionReport(
        verifier, (old, new), compared=len(both),
        only=(len(before) - len(both), len(after) - len(both)),
        outcomes=Counter((str(a.outcome), str(b.outcome)) for a, b in both.values()),
        correlation=orders.correlation, swapped=orders.swapped,
        mean_change=fmean(changes) if changes else None,
        deviation=stdev(changes) if len(changes) > 1 else None,
        seconds=(_seconds(before.values()), _seconds(after.values())),
        largest=tuple(_largest(ledger, both, largest)),
    )  # fmt: skip


def _answers(
    ledger: Ledger, verifier: str, old: str, new: str
) -> tuple[dict[bytes, Verdict], dict[bytes, Verdict]]:
    """The latest answer of each version, by content key."""
    found: dict[str, dict[bytes, Verdict]] = {old: {}, new: {}}
    for entry in ledger.entries():
        for row in ledger.read(entry).verdicts:
            is_told = row.verdict.is_answer and not row.verdict.evidence.get("waiting")
            if row.verifier == verifier and row.version in found and is_told:
                found[row.version][row.content_key] = row.verdict
    return found[old], found[new]


def _seconds(verdicts: Iterable[Verdict]) -> float | None:
    measured = [verdict.cost.seconds for verdict in verdicts if verdict.cost is not None]
    return fmean(measured) if measured else None


def _largest(
    ledger: Ledger, both: Mapping[bytes, tuple[Verdict, Verdict]], most: int
) -> Iterable[VersionChange]:
    """Those that flip first, then by how far the score moves."""

    def size(pair: tuple[Verdict, Verdict]) -> tuple[bool, float]:
        mine, other = pair
        if mine.score is None or other.score is None:
            change = 0.0 if mine.score is other.score else inf  # One has a score, the other none.
        else:
            change = abs(other.score - mine.score)
        return mine.outcome is not other.outcome, change

    changed = {key: pair for key, pair in both.items() if size(pair) > (False, 0.0)}
    ranked = sorted(changed.items(), key=lambda item: (size(item[1]), item[0]), reverse=True)
    for key, (mine, other) in ranked[:most]:
        yield VersionChange(
            key.hex(), text_of(ledger, key), mine.score, other.score,
            (str(mine.outcome), str(other.outcome)),
        )  # fmt: skip
