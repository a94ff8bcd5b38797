"""Prompts: those of a file of rollouts are kept once, however often the file is scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verifier_ladder.candidate import Sample
from verifier_ladder.learners.scribe import Scribe
from verifier_ladder.rollouts.rows import Row
from verifier_ladder.transcript import KIND, Transcript, Transcripts

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign


class PromptKeeper:
    """Keeps what the rows of a file say beside the candidates, unless the ledger has it."""

    def __init__(self, campaign: Campaign) -> None:
        """Look what an earlier call for the same file has kept."""
        self._campaign = campaign
        self._scribe = Scribe(campaign.ladder)
        self._known = Transcripts(campaign.run.name)
        for entry in campaign.ledger.entries(kind=KIND, campaign=campaign.name):
            self._known.read(campaign.ledger.read(entry).facts)

    def keep(self, samples: Sequence[Sample], rows: Sequence[Row]) -> None:
        """Keep the prompts of some rows, and completions that are more than content."""
        completions = [row.messages or _text(row) for row in rows]
        prompts = {"prompt": [row.prompt for row in rows]}
        told = self._scribe.transcripts(samples, completions, prompts)
        self._campaign.keep([one for one in told if not self._is_known(one)])

    def _is_known(self, told: Transcript) -> bool:
        if told.is_of_sample:
            return bool(self._known.sample(told.step, told.position))
        return self._known.prompt(told.group) is not None


def _text(row: Row) -> str | None:
    return row.content if isinstance(row.content, str) else None
