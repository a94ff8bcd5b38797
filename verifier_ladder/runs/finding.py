"""Finding a run: by its name, or the newest; a name may occur in several campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.run import evaluation_name
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

    @property
    def evaluation(self) -> bool:
        """Whether its samples evaluate a policy and train none."""
        return bool(self.facts.get("evaluation"))


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


def find_run(
    ledger: Ledger,
    name: str | None = None,
    campaign: str | None = None,
    *,
    evaluation: bool | None = None,
) -> FoundRun:
    """The run of this name; without one the newest that is no evaluation.

    Args:
        ledger: The ledger.
        name: Its name.
        campaign: Its campaign, where several have a run of this name.
        evaluation: True for the run's evaluation, or without a name the newest evaluation; False
            to refuse one, for what must not be made of evaluation samples.

    Raises:
        ConfigError: If there is none, it is an evaluation where none may be, or several campaigns
            have one and none was named.
    """
    runs = [run for run in list_runs(ledger) if campaign in {None, run.campaign.name}]
    if name is None and (fit := [run for run in runs if run.evaluation is bool(evaluation)]):
        return fit[-1]
    named = _named(ledger, name, campaign, runs)
    if evaluation and not any(run.evaluation for run in named) and name is not None:
        name = evaluation_name(name)
        named = _named(ledger, name, campaign, runs)
    if len(named) == 1:
        if evaluation is False and named[0].evaluation:
            raise ConfigError(
                f"run {name!r} is an evaluation, and nothing is to be trained on it; if that is "
                "meant, say so with --evaluation (evaluation=True)"
            )
        return named[0]
    if named:
        homes = ", ".join(run.campaign.name for run in named)
        raise ConfigError(
            f"run {name!r} occurs in the campaigns {homes}; say which one with --campaign "
            "(campaign=)"
        )
    raise ConfigError(_missing(name, campaign, runs, evaluation=bool(evaluation)))


def _named(
    ledger: Ledger, name: str | None, campaign: str | None, runs: list[FoundRun]
) -> list[FoundRun]:
    begun = [run for run in runs if run.name == name]
    return begun or _from_samples(ledger, name, campaign)


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


def _missing(
    name: str | None, campaign: str | None, runs: list[FoundRun], *, evaluation: bool
) -> str:
    where = f"campaign {campaign!r}" if campaign else "the ledger"
    if name is None and evaluation:
        return f"{where} holds no evaluation yet"
    if name is None:
        only = ", only evaluations: ask for them with --evaluation (evaluation=True)"
        return f"{where} holds no run yet{only if runs else ''}"
    shown = ", ".join(run.name for run in runs[-_MOST_NAMED:]) or "none"
    return f"{where} holds no run {name!r}; the newest are: {shown}"
