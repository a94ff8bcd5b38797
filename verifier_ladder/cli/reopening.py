"""Reopening: a recorded campaign at work again, from what the ledger knows of its ladder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verifier_ladder.errors import ConfigError, LadderError
from verifier_ladder.keys import digest
from verifier_ladder.ladder import Ladder
from verifier_ladder.recorded import Recorded
from verifier_ladder.registry import REGISTRY
from verifier_ladder.run import Run

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CampaignRow
    from verifier_ladder.reward import Revision

REVIEWS = "reviews"
"""The run that a reopened campaign is given; no sample belongs to it."""
_REVISED = 10.0
"""Seconds in which the revisions of answers normally arrive."""


@contextmanager
def reopened(
    row: CampaignRow, ledger: Ledger, path: Path | None = None, *, engine: str | None = None
) -> Iterator[Campaign]:
    """Open a recorded campaign.

    Args:
        row: The campaign.
        ledger: Its ledger.
        path: Its ladder in TOML; without one the ladder is rebuilt from the ledger, which works
            if its verifiers are installed.
        engine: Who runs its dearer checks meanwhile; by default as `VLADDER_ENGINE` says.

    Raises:
        ConfigError: If the ladder can't be rebuilt, or is not the campaign's.
    """
    from verifier_ladder.campaign import Campaign

    with Campaign.open(
        row.name, ladder=recorded_ladder(row, path), ledger=ledger, run=Run(REVIEWS), engine=engine
    ) as campaign:
        yield campaign


def revisions_since(campaign: Campaign, cursor: int) -> list[Revision]:
    """What answers have revised, evaluations too, once the campaign is quiet again."""
    campaign.drain(_REVISED)
    return list(campaign.revisions(after=cursor, evaluation=None))


def recorded_ladder(row: CampaignRow, path: Path | None = None) -> Ladder:
    """The ladder of a campaign, from its file or rebuilt.

    Raises:
        ConfigError: If it can't be rebuilt.
    """
    return Ladder.from_toml(path) if path is not None else ladder_of(row.ladder)


def known_ladder(row: CampaignRow, path: Path | None = None) -> Ladder | None:
    """The ladder of a campaign, from its file or rebuilt; None if its verifiers are missing."""
    try:
        return recorded_ladder(row, path)
    except LadderError:
        if path is not None:
            raise
        return None


def ladder_of(spec: Any) -> Ladder:
    """Rebuild a ladder from what the ledger recorded of it.

    Raises:
        ConfigError: If one of its verifiers is not here, with the same settings and tools.
    """
    REGISTRY.load()
    try:
        return _selected(spec)
    except (ConfigError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"the ladder {dict(spec).get('name')} can't be rebuilt from the ledger ({error}); "
            "give its file with --ladder and its code with --import, or do this from the program "
            "that made it, with Campaign.answer or Campaign.cancel"
        ) from error


def _selected(spec: Any) -> Ladder:
    """The ladder of a row, of verifiers and a canonicaliser that are here already."""
    table = {
        **{key: spec[key] for key in ("name", "audit", "target", "reward", "budget")},
        "verifiers": [Recorded.read(entry).among(REGISTRY) for entry in spec["verifiers"]],
        "policy": {k: v for k, v in spec["policy"].items() if k != "version"},
    }
    if prior := spec.get("prior"):
        table["prior"] = {"mean": prior[0], "deviation": prior[1]}
    ladder = Ladder.from_table(table)
    by = REGISTRY.held_canonicaliser(digest(spec["canonicaliser"]).hex())
    if by is not None and by.kind == ladder.kind:
        ladder.canonicaliser = by
    return ladder
