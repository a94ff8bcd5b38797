"""Verifiers of a campaign, version by version: what they said, what they cost and declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from verifier_ladder.analysis.totals import VerifierCounts, campaign_counts
from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CampaignRow, Spend
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier

_Name = tuple[int, str, str]
"""Tier, name and version; the tier is -1 for what speaks before all tiers."""


@dataclass(frozen=True, slots=True)
class VerifierCost:
    """What one check of a verifier takes of one resource."""

    resource: str
    mean: float | None
    """Of the checks that answered; None if none did."""
    declared: float | None
    """What the ladder declares; None where it declares nothing, or has another version."""
    failed: float
    """All that attempts took which gave no answer."""

    @property
    def ratio(self) -> float | None:
        """How many times what was declared it took; None where either is not known."""
        return self.mean / self.declared if self.declared and self.mean is not None else None


@dataclass(frozen=True, slots=True)
class VerifierLine:
    """A version of a verifier, in one campaign."""

    tier: str
    """Empty for what a canonicaliser says, before all tiers."""
    verifier: str
    version: str
    role: str
    """As the ladder has it; empty for one that it does not have any more."""
    unit: str
    is_current: bool
    """Whether the campaign's ladder has this version."""
    counts: VerifierCounts | None
    """None where it has said nothing."""
    checks: int
    """Checks that were paid for and answered."""
    costs: tuple[VerifierCost, ...]

    def share(self, count: int) -> float | None:
        """The share of its attempts that ended so; None where it made none."""
        ended = self.counts.answered + self.counts.failed if self.counts else 0
        return count / ended if ended else None


def verifier_lines(ledger: Ledger, row: CampaignRow) -> list[VerifierLine]:
    """Tell of each version of each verifier, by tier and name; no entry is read for it.

    Args:
        ledger: The ledger.
        row: The campaign.
    """
    counts = {_name(each): each for each in campaign_counts(ledger, row.name).verifiers}
    listed = {
        (int(Tier.parse(spec["tier"])), str(spec["name"]), str(spec["version"])): spec
        for spec in row.ladder.get("verifiers", ())
    }
    spend: dict[_Name, dict[Resource, list[Spend]]] = {}
    for each in ledger.spend(row.name):
        by = spend.setdefault(each.charged, {})
        by.setdefault(each.resource, []).append(each)
    names = sorted({*counts, *listed, *(name for name in spend if name[1])})
    return [_line(name, counts.get(name), listed.get(name), spend.get(name, {})) for name in names]


def _name(counts: VerifierCounts) -> _Name:
    return (-1 if counts.tier is None else int(counts.tier), counts.verifier, counts.version)


def _line(
    name: _Name, counts: VerifierCounts | None, spec: Mapping[str, Any] | None,
    spend: Mapping[Resource, Iterable[Spend]],
) -> VerifierLine:  # fmt: skip
    tier, verifier, version = name
    checks = sum(each.checks for each in spend.get(Resource.CPU_SECONDS, ()))
    declared = dict(zip(Cost.__dataclass_fields__, Resource, strict=True))
    expected = {
        resource: float(amount) for field, resource in declared.items()
        if (amount := ((spec or {}).get("cost") or {}).get(field))
    }  # fmt: skip
    costs = tuple(
        _cost(resource, list(spend.get(resource, ())), checks, expected.get(resource))
        for resource in Resource if resource in spend or resource in expected
    )  # fmt: skip
    return VerifierLine(
        "" if tier < 0 else Tier(tier).label, verifier, version,
        "" if spec is None else str(spec.get("role", "")),
        "" if spec is None else str(spec.get("unit", "")), spec is not None, counts, checks,
        costs,
    )  # fmt: skip


def _cost(
    resource: Resource, spend: list[Spend], checks: int, declared: float | None
) -> VerifierCost:
    settled = sum(each.settled for each in spend)
    return VerifierCost(
        resource.label, settled / checks if checks else None, declared,
        sum(each.failed for each in spend),
    )  # fmt: skip
