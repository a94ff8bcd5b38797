"""Spending: who has spent what, told apart by project, user, label, run or verifier.

Of several that want the same check, the run that asked first pays; the others get the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Spend
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier

WAYS = ("project", "user", "label", "run", "verifier", "tier", "campaign")
"""By what spend can be told apart; behind `label` a colon and a key give one label's values."""
NOT_TOLD = "–"
"""Stands where nobody said, or where an old version did not record it."""
Namer = Callable[[Spend, Mapping[str, Any]], Iterable[str]]


@dataclass(slots=True)
class Spending:
    """What one project, user, label, run or verifier has spent."""

    name: str
    settled: dict[Resource, float] = field(default_factory=dict)
    """On checks that answered, of each resource that was used."""
    failed: dict[Resource, float] = field(default_factory=dict)
    """On attempts that gave no answer."""
    checks: int = 0
    """Checks that answered."""

    def add(self, spend: Spend) -> None:
        """Put some more spend on the list."""
        for sums, amount in ((self.settled, spend.settled), (self.failed, spend.failed)):
            if amount:
                sums[spend.resource] = sums.get(spend.resource, 0.0) + amount
        if spend.resource is Resource.CPU_SECONDS:
            self.checks += spend.checks

    def spent(self, resource: Resource) -> float:
        """Spent of a resource, whether or not there was an answer."""
        return self.settled.get(resource, 0.0) + self.failed.get(resource, 0.0)

    def as_json(self) -> dict[str, Any]:
        """The line as JSON; resources by label."""
        return {
            "name": None if self.name == NOT_TOLD else self.name, "checks": self.checks,
            "settled": {resource.label: amount for resource, amount in self.settled.items()},
            "failed": {resource.label: amount for resource, amount in self.failed.items()},
        }  # fmt: skip


def spending(ledger: Ledger, by: str = "run", *, campaign: str | None = None) -> list[Spending]:
    """Tell spend apart, the largest cpu time first.

    By `label`, a run counts once for each of its labels; by anything else the lines add up to
    the campaigns' accounts.

    Args:
        ledger: The ledger.
        by: `project`, `user`, `label`, `run`, `verifier`, `tier` or `campaign`; `label:KEY` for
            the values of one label.
        campaign: Whose money; None for all campaigns.

    Raises:
        ConfigError: If spend can't be told apart by that.

    Example:
        >>> import verifier_ladder as vl
        >>> @vl.verifier(kind="text", version="1", isolation="inline")
        ... def length(candidate):
        ...     return float(len(candidate.content))
        >>> run = vl.Run("first", project="solvents", labels={"team": "blue"})
        >>> with vl.Campaign.open("try", ladder=vl.Ladder("l", [length]), run=run) as campaign:
        ...     rewards = campaign.score(["a", "bb"])
        ...     [(line.name, line.checks) for line in spending(campaign.ledger, "label:team")]
        [('blue', 2)]
    """
    names = _namer(by)
    runs = _runs(ledger)
    lines: dict[str, Spending] = {}
    for spend in ledger.spend(campaign):
        run = runs.get((spend.campaign, spend.run), {})
        for name in names(spend, run) or (NOT_TOLD,):
            lines.setdefault(name or NOT_TOLD, Spending(name or NOT_TOLD)).add(spend)
    return sorted(lines.values(), key=lambda s: (-s.spent(Resource.CPU_SECONDS), s.name))


def _runs(ledger: Ledger) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {
        (campaign.name, str(run["name"])): run
        for campaign in ledger.campaigns()
        for run in ledger.runs(campaign.name)
    }


def _namer(by: str) -> Namer:
    """What a way calls a piece of spend."""
    way, _, label = by.partition(":")
    if way not in WAYS or (label and way != "label") or by.endswith(":"):
        raise ConfigError(
            f"spend can't be told apart by {by!r}; there is {', '.join(WAYS)} and label:KEY"
        )
    if label:
        return lambda _, run: (str(run.get("labels", {}).get(label, "")),)
    namers: dict[str, Namer] = {
        "label": lambda _, run: tuple(f"{k}={v}" for k, v in run.get("labels", {}).items()),
        "run": lambda spend, _: (spend.run,),
        "verifier": lambda spend, _: (" ".join(spend.charged[1:]).strip(),),
        "tier": lambda spend, _: (Tier(spend.charged.tier).label,),
        "campaign": lambda spend, _: (spend.campaign,),
    }
    return namers.get(way, lambda _, run: (str(run.get(way, "")),))
