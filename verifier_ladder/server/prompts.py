"""Prompts: those that clients send are kept, each once for a run as long as it is remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verifier_ladder.candidate import Sample
from verifier_ladder.errors import LadderError
from verifier_ladder.learners.scribe import Scribe

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign


_MOST_REMEMBERED = 2**25
_OVERHEAD = 128
"""Bytes of a group beside its name."""


class Prompts:
    """Keeps what clients say beside their samples, if the campaign keeps such things."""

    def __init__(self, campaign: Campaign) -> None:
        """Keep for a campaign."""
        self._campaign = campaign
        self._scribes: dict[str, Scribe] = {}
        self._remembered = 0
        """Bytes of the groups whose prompts are known to be kept, at least."""

    def keep(self, run: str, samples: Sequence[Sample], prompts: Mapping[str, Any]) -> None:
        """Keep the prompts of the samples' groups; to be called in a thread.

        Args:
            run: The samples' run.
            samples: Samples with their positions.
            prompts: By group.
        """
        scribe = self._scribes.setdefault(run, Scribe(self._campaign.ladder))
        contents = [sample.candidate.content for sample in samples]
        texts = [content if isinstance(content, str) else None for content in contents]
        columns = {"prompt": [prompts.get(sample.group) for sample in samples]}
        told = scribe.transcripts(samples, texts, columns)
        try:
            self._campaign.keep(told, run=run)
        except LadderError:
            self._scribes.pop(run, None)  # What it said is not kept; the next call says it again.
            raise
        self._remembered += sum(_OVERHEAD + len(transcript.group) for transcript in told)
        if self._remembered > _MOST_REMEMBERED:  # A prompt that comes again is kept once more.
            self._scribes.clear()
            self._remembered = 0
