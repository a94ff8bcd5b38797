"""Reopening: a recorded campaign at work again, from what the ledger knows of its ladder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verifier_ladder.errors import ConfigError, LadderError
from verifier_ladder.ladder import Ladder
from verifier_ladder.run import Run

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CampaignRow

REVIEWS = "reviews"
"""The run that a reopened campaign is given; no sample belongs to it."""


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

    ladder = Ladder.from_toml(path) if path is not None else ladder_of(row.ladder)
    with Campaign.open(
        row.name, ladder=ladder, ledger=ledger, run=Run(REVIEWS), engine=engine
    ) as campaign:
        yield campaign


def known_ladder(row: CampaignRow, path: Path | None = None) -> Ladder | None:
    """The ladder of a campaign, from its file or rebuilt; None if its verifiers are missing."""
    if path is not None:
        return Ladder.from_toml(path)
    try:
        return ladder_of(row.ladder)
    except LadderError:
        return None


def ladder_of(spec: Any) -> Ladder:
    """Rebuild a ladder from what the ledger recorded of it.

    Raises:
        ConfigError: If one of its verifiers is not installed.
    """
    prior = spec.get("prior")
    table = {
        **{key: spec[key] for key in ("name", "audit", "target", "reward", "budget")},
        "verifiers": [
            {key: entry[key] for key in ("name", "version", "settings")}
            for entry in spec["verifiers"]
        ],
        "policy": {k: v for k, v in spec["policy"].items() if k != "version"},
    }
    if prior:
        table["prior"] = {"mean": prior[0], "deviation": prior[1]}
    try:
        return Ladder.from_table(table)
    except ConfigError as error:
        raise ConfigError(
            f"the ladder {spec['name']} can't be rebuilt from the ledger ({error}); give its file "
            "with --ladder and its code with --import, or do this from the program that made it, "
            "with Campaign.answer or Campaign.cancel"
        ) from error
