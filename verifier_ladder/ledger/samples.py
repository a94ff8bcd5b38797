"""What a block says of candidates and samples, for the indexes of both stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifier_ladder.artifact import Artifact
from verifier_ladder.canonicaliser import Identity
from verifier_ladder.errors import LedgerError
from verifier_ladder.keys import NO_TASK
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.records import Block, SampleReward

IDENTITY = Identity("text").digest
"""The identity's aliases are not kept: the raw content hashes straight to the content key."""
SUPERSEDING = frozenset({"review", "import"})
"""Kinds of blocks whose verdicts replace the current ones."""

SOURCE = "source"
"""Kind of the entries that tell of a verifier's source."""
SOURCE_CAMPAIGN = "source/"
"""Campaign of those entries; no campaign can be called so."""


def sample_rewards(entry: int, block: Block) -> dict[int, SampleReward]:
    """The rewards of a block, by position."""
    samples = block.samples
    if samples is None or not block.rewards:
        return {}
    none = [NO_TASK] * len(block.rewards)
    return {
        position: SampleReward(entry, content, reward, task, turns)
        for position, content, reward, task, turns in zip(
            listed(samples.positions), samples.contents, block.rewards,
            samples.tasks or none, samples.turns or none, strict=True,
        )
    }  # fmt: skip


def distinct(block: Block) -> dict[bytes, None]:
    """The content keys a block mentions, each once."""
    keys = dict.fromkeys(row.content_key for row in block.candidates)
    keys.update(dict.fromkeys(row.content_key for row in block.verdicts))
    if block.samples is not None:
        keys.update(dict.fromkeys(block.samples.contents))
    return keys


def contiguous(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of positions without a gap, as first and last.

    Example:
        >>> list(contiguous([4, 0, 1, 2]))
        [(0, 2), (4, 4)]
    """
    ordered = sorted(set(listed(positions)))
    if ordered and ordered[-1] - ordered[0] == len(ordered) - 1:
        yield ordered[0], ordered[-1]
        return
    start = 0
    for at in range(1, len(ordered) + 1):
        if at == len(ordered) or ordered[at] != ordered[at - 1] + 1:
            yield ordered[start], ordered[at - 1]
            start = at


def hexadecimal(prefix: str) -> str:
    """The beginning of a key as a person typed it, in small letters.

    Raises:
        LedgerError: If it is not hexadecimal.
    """
    digits = prefix.lower()
    if any(digit not in "0123456789abcdef" for digit in digits):
        raise LedgerError(
            f"{prefix!r} is not the beginning of a content key; give hexadecimal digits (0-9, a-f)"
        )
    return digits


def artifacts_in(block: Block) -> list[Artifact]:
    """The artifacts of a block whose bytes are to be kept, each once, in a fixed order."""
    found = {
        one.digest: one
        for row in block.verdicts if row.verdict.artifacts
        for one in row.verdict.files.values() if one.data is not None
    }  # fmt: skip
    return [found[digest] for digest in sorted(found)]
