"""Reasons: rejects, abstentions and failures, counted by what was said, with examples."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from verifier_ladder.ledger.base import Ledger
from verifier_ladder.summary.records import Failure, Reason
from verifier_ladder.tier import Tier

MOST_REASONS = 500
"""Different reasons that are told apart; model-made text could make each one unique."""
MOST_EXAMPLES = 3
EXAMPLE_LENGTH = 200
_QUOTED = re.compile(r"(?<!\w)'[^']{1,2000}'|\"[^\"]{1,2000}\"|«[^»]{1,2000}»|“[^”]{1,2000}”")
OTHER = "other reasons"


@dataclass(slots=True)
class _Count:
    count: int = 0
    seconds: float = 0.0
    examples: list[str | bytes] = field(default_factory=list)


class Reasons:
    """Counts by verifier, tier, boundary and reason."""

    def __init__(self) -> None:
        """Start at none."""
        self._counts: dict[tuple[str, int, str, str], _Count] = {}

    def add(
        self, verifier: str, tier: int, text: str, example: str | bytes,
        *, boundary: str = "", seconds: float = 0.0,
    ) -> None:  # fmt: skip
        """Count one.

        Args:
            verifier: Who said it.
            tier: The verifier's tier.
            text: What was said. Quoted parts are left out, so that candidates that differ only
                in what is quoted count as one.
            example: The candidate's text, or its content key to be looked up at the end.
            boundary: The boundary that failed.
            seconds: Cpu-seconds it took.
        """
        key = (verifier, tier, boundary, pattern(text))
        if key not in self._counts and len(self._counts) >= MOST_REASONS:
            key = (verifier, tier, boundary, OTHER)
        found = self._counts.setdefault(key, _Count())
        found.count += 1
        found.seconds += seconds
        if isinstance(example, str):
            example = example[:EXAMPLE_LENGTH]
        if len(found.examples) < MOST_EXAMPLES and example not in found.examples:
            found.examples.append(example)

    def keys(self) -> list[bytes]:
        """Content keys whose text is still to be looked up."""
        return [e for c in self._counts.values() for e in c.examples if isinstance(e, bytes)]

    def reasons(self, texts: dict[bytes, str]) -> tuple[Reason, ...]:
        """The counts as reasons, the most frequent first."""
        return tuple(
            Reason(text, c.count, verifier, Tier(tier), _examples(c, texts))
            for (verifier, tier, _, text), c in self._sorted()
        )

    def failures(self, texts: dict[bytes, str]) -> tuple[Failure, ...]:
        """The counts as failures, the most frequent first."""
        return tuple(
            Failure(
                boundary, text, c.count, verifier, Tier(tier), c.seconds, _examples(c, texts)
            )
            for (verifier, tier, boundary, text), c in self._sorted()
        )  # fmt: skip

    def _sorted(self) -> list[tuple[tuple[str, int, str, str], _Count]]:
        return sorted(self._counts.items(), key=lambda item: (-item[1].count, item[0]))


def text_of(ledger: Ledger, key: bytes) -> str:
    """What a candidate holds, in canonical form; empty where the ledger does not say."""
    for _, _, form in ledger.find_contents(key.hex(), 1):
        return form if isinstance(form, str) else form.decode("utf-8", "replace")
    return ""


def pattern(text: str) -> str:
    """A reason without what it quotes.

    Example:
        >>> pattern("can't read 'C1CC'")
        "can't read '…'"
    """
    short = text[:4000]
    return _QUOTED.sub(lambda m: f"{m[0][0]}…{m[0][-1]}", short)[:300] or "no reason given"


def _examples(count: _Count, texts: dict[bytes, str]) -> tuple[str, ...]:
    made = [e if isinstance(e, str) else texts.get(e, e.hex()[:12]) for e in count.examples]
    made.sort(key=lambda text: not text.strip())
    return tuple(e[:EXAMPLE_LENGTH] for e in made)
