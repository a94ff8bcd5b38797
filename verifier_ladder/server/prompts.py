"""Prompts: those that clients send are kept, each once for a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verifier_ladder.candidate import Sample
from verifier_ladder.errors import LadderError
from verifier_ladder.learners.scribe import Scribe

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign


class Prompts:
    """Keeps what clients say beside their samples, if the campaign keeps such things."""

    def __init__(self, campaign: Campaign) -> None:
        """Keep for a campaign."""
        self._campaign = campaign
        self._scribes: dict[str, Scribe] = {}

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
        try:
            self._campaign.keep(scribe.transcripts(samples, texts, columns), run=run)
        except LadderError:
            self._scribes.pop(run, None)  # What it said is not kept; the next call says it again.
            raise
