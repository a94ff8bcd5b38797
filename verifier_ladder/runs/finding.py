"""Finding a run: by its name, or the newest; a name may occur in several campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.scheduler.shadow import is_shadow

_MOST_NAMED = 8


class FoundRun(NamedTuple):
    """A run and the campaign it belongs to."""

    campaign: CampaignRow
    name: str
    facts: Mapping[str, Any]
    """What was told of it when it was begun; {} for a run that only its samples name."""
    recorded_at: float | None = None
    """When it was begun, in seconds since 1970; None if that was not recorded."""


def list_runs(ledger: Ledger) -> list[FoundRun]:
    """All runs that were begun, oldest first; those of shadows are left out."""
    campaigns = {row.name: row for row in ledger.campaigns() if not is_shadow(row.name)}
    found = []
    for entry in ledger.entries(kind="run"):
        if entry.campaign in campaigns:
            facts = ledger.read(entry).facts
            row = campaigns[entry.campaign]
            found.append(FoundRun(row, str(facts["name"]), facts, entry.recorded_at))
    return found


def find_run(ledger: Ledger, name: str | None = None, campaign: str | None = None) -> FoundRun:
    """The run of this name; without one the newest.

    Raises:
        ConfigError: If there is none, or several campaigns have one and none was named.
    """
    runs = [run for run in list_runs(ledger) if campaign in {None, run.campaign.name}]
    if name is None and runs:
        return runs[-1]
    named = [run for run in runs if run.name == name]
    named = named or _from_samples(ledger, name, campaign)
    if len(named) == 1:
        return named[0]
    if named:
        homes = ", ".join(run.campaign.name for run in named)
        raise ConfigError(
            f"run {name!r} occurs in the campaigns {homes}; say which one with --campaign "
            "(campaign=)"
        )
    raise ConfigError(_missing(name, campaign, [run.name for run in runs]))


def _from_samples(ledger: Ledger, name: str | None, campaign: str | None) -> list[FoundRun]:
    """Campaigns with samples of a run that was never begun: `Sample(run=…)` names one."""
    if name is None:
        return []
    return [
        FoundRun(row, name, {})
        for row in ledger.campaigns()
        if campaign in {None, row.name} and (campaign or not is_shadow(row.name))
        if ledger.next_step(row.name, name) > 0
    ]


def _missing(name: str | None, campaign: str | None, known: list[str]) -> str:
    where = f"campaign {campaign!r}" if campaign else "the ledger"
    if name is None:
        return f"{where} holds no run yet"
    shown = ", ".join(known[-_MOST_NAMED:]) or "none"
    return f"{where} holds no run {name!r}; the newest are: {shown}"
