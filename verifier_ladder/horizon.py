"""Horizons: how many samples a campaign expects in all, by which its budget is paced."""

from __future__ import annotations

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block


def horizon_of(ledger: Ledger, campaign: str) -> int | None:
    """How many samples a campaign expects in all; None if nobody has said.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> ledger = open_ledger(":memory:")
        >>> plan(ledger, "try", 20_000)
        >>> horizon_of(ledger, "try")
        20000
    """
    entry = ledger.last(kind="plan", campaign=campaign)
    return None if entry is None else int(ledger.read(entry).facts["horizon"])


def plan(ledger: Ledger, campaign: str, horizon: int) -> None:
    """Record how many samples a campaign expects; the same again changes nothing.

    Raises:
        ConfigError: If that is not a number of samples.
    """
    if type(horizon) is not int or horizon < 1:
        raise ConfigError(f"horizon={horizon!r}: give the number of samples that are expected")
    if horizon != horizon_of(ledger, campaign):
        ledger.append(Block("plan", campaign, facts={"horizon": horizon}))
