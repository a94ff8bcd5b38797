"""Shadow reports: what another ladder would have changed, read from the ledger alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import islice
from math import isfinite
from statistics import fmean, stdev
from typing import Any, NamedTuple

from verifier_ladder.budget import TOTAL, place_label
from verifier_ladder.candidate import SampleId
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.records import Block, DrawRow
from verifier_ladder.reward import Reward
from verifier_ladder.rollouts.statistics import assumed_threshold
from verifier_ladder.runs.records import uncorrected
from verifier_ladder.scheduler.draws import Spoken, spoken_in
from verifier_ladder.scheduler.shadow import FAILURE, shadow_name
from verifier_ladder.summary.ranks import Order, compare_orders
from verifier_ladder.summary.reasons import text_of


class Mark(StrEnum):
    """What a reward says of its sample, in a word."""

    UNKNOWN = "unknown"
    """No tier has answered."""
    REJECTED = "rejected"
    """A verifier's reject made it."""
    POOR = "poor"
    """Below the threshold."""
    GOOD = "good"
    """At the threshold or above; without a threshold every other known reward."""


class ShadowChange(NamedTuple):
    """One sample whose worth would have been another."""

    run: str
    step: int
    position: int
    content: str
    """The candidate, in canonical form."""
    reward: float
    shadow: float


class ShadowCost(NamedTuple):
    """What one tier took of one resource."""

    tier: str
    resource: str
    campaign: float
    shadow: float


class ShadowFailure(NamedTuple):
    """Samples that the shadow could not score."""

    run: str
    step: int
    samples: int
    reason: str


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """A campaign beside its shadow. Changes are the shadow's number minus the campaign's.

    What is compared is the worth of a sample, the best that is known of it: rewards are corrected
    where a draw fell, and draws fall differently on either side.
    """

    campaign: str
    shadow: str
    samples: int
    """Samples of the campaign."""
    compared: int
    """Those of them that the shadow has scored too."""
    pending: int
    """Of the compared, those that a higher tier of either may still revise."""
    threshold: float | None
    """Reward at which a sample is good; None if nothing sensible can be assumed."""
    marks: Mapping[tuple[Mark, Mark], int]
    """How many of the compared have which mark: in the campaign, and in its shadow."""
    groups: int
    """Groups that have two known rewards or more."""
    correlation: float | None
    """Mean over the groups of Spearman's rank correlation; None where no group has one."""
    swapped: float | None
    """Share of the pairs in a group, ordered by both, whose order is the other way round."""
    mean_change: float | None
    """Mean change of the rewards that both know."""
    deviation: float | None
    """Standard deviation of the change."""
    largest: tuple[ShadowChange, ...]
    """The largest changes, one for each candidate."""
    costs: tuple[ShadowCost, ...]
    failures: tuple[ShadowFailure, ...]

    @property
    def flips(self) -> int:
        """Compared samples that have another mark in the shadow."""
        return sum(count for (here, there), count in self.marks.items() if here != there)

    @property
    def flip_rate(self) -> float | None:
        """Share of the compared samples that have another mark; None if none is compared."""
        return self.flips / self.compared if self.compared else None

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        made = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("largest", "costs", "failures"):
            made[name] = [row._asdict() for row in made[name]]
        made["marks"] = [
            {"campaign": here, "shadow": there, "samples": count}
            for (here, there), count in self.marks.items()
        ]
        return {**made, "flips": self.flips, "flip_rate": self.flip_rate}


class _Side(NamedTuple):
    """One sample's latest reward in a campaign."""

    group: str
    content: bytes
    reward: Reward
    worth: float | None
    """The best that is known of it: the reward as if it spoke for itself alone."""


class Corrections(NamedTuple):
    """What makes a campaign's rewards other than what is known of their samples."""

    drawn: dict[SampleId, tuple[float | None, float]]
    """Estimate and factor of those a draw fell on."""
    spoken: dict[SampleId, Spoken]
    """What cancellations made of them."""

    def worth(self, sample: SampleId, value: float | None) -> float | None:
        """A reward without them."""
        known = uncorrected(value, *self.drawn.get(sample, (None, 1.0)))
        return uncorrected(known, *self.spoken.get(sample, (None, 1.0)))


class _Known(NamedTuple):
    """One sample whose reward is known on both sides."""

    sample: SampleId
    group: str
    content: bytes
    mine: float
    other: float

    @property
    def change(self) -> float:
        return self.other - self.mine


_Pairs = Mapping[SampleId, tuple[_Side, _Side]]
"""Samples that both sides have scored."""


def compare_shadow(
    ledger: Ledger, campaign: str, *, threshold: float | None = None, largest: int = 10
) -> ShadowReport:
    """Compare a campaign with its shadow, while both are at work or years after.

    A sample *flips* if its mark is another in the shadow: unknown, rejected, poor (below the
    threshold) or good. Without a threshold every known reward that is no reject is good.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        threshold: Reward at which a sample is good; by default 0.5 if all known rewards lie
            between 0 and 1, and none on any other scale.
        largest: How many of the largest changes to name.

    Raises:
        ConfigError: If there is no such campaign, or it never had a shadow.
    """
    name = shadow_name(campaign)
    names = [row.name for row in ledger.campaigns()]
    if campaign not in names:
        raise ConfigError(f"the ledger has no campaign {campaign!r}; it has: {', '.join(names)}")
    if name not in names:
        raise ConfigError(f"campaign {campaign!r} has no shadow; open it with shadow=")
    mine, other = _sides(ledger, campaign), _sides(ledger, name)
    if threshold is None:
        worths = [side.worth for sides in (mine, other) for side in sides.values()]
        threshold = assumed_threshold(worths)
    pairs = {sample: (side, other[sample]) for sample, side in mine.items() if sample in other}
    known = list(_known(pairs))
    changes = [pair.change for pair in known]
    orders = compare_orders(_groups(known))
    return ShadowReport(
        campaign, name, samples=len(mine), compared=len(pairs), pending=_pending(pairs),
        threshold=threshold, marks=_marks(pairs, threshold), groups=orders.groups,
        correlation=orders.correlation, swapped=orders.swapped,
        mean_change=fmean(changes) if changes else None,
        deviation=stdev(changes) if len(changes) > 1 else None,
        largest=tuple(_largest(ledger, known, largest)),
        costs=tuple(_costs(ledger, campaign, name)), failures=tuple(_failures(ledger, name)),
    )  # fmt: skip


# -- what was recorded ---------------------------------------------------------------------------


def _sides(ledger: Ledger, campaign: str) -> dict[SampleId, _Side]:
    """The latest reward of every sample of a campaign."""
    sides: dict[SampleId, _Side] = {}
    corrections = Corrections({}, {})
    for entry in ledger.entries(campaign=campaign):
        if entry.kind in {"score", "revision"}:
            sides.update(samples_of(ledger.read(entry), corrections))
    return sides


def samples_of(block: Block, corrections: Corrections) -> Iterator[tuple[SampleId, _Side]]:
    """The block's samples; what corrects their rewards is kept for later blocks."""
    samples = block.samples
    if samples is None:
        return
    drawn, factors = corrections.drawn, dict(_draws(block))
    for position, spoken in spoken_in(block.facts).items():
        corrections.spoken[SampleId(samples.run, samples.step, position)] = spoken
    groups = samples.groups or [""] * len(samples.contents)
    rows = zip(listed(samples.positions), groups, samples.contents, block.rewards, strict=True)
    for place, (position, group, content, reward) in enumerate(rows):
        sample = SampleId(samples.run, samples.step, position)
        if place in factors and (sample in drawn or factors[place].is_hit):
            estimate = drawn.get(sample, (reward.value,))[0]
            drawn[sample] = (estimate, factors[place].factor)
        worth = corrections.worth(sample, reward.value)
        yield sample, _Side(group, content, reward, worth)


def _draws(block: Block) -> Iterator[tuple[int, DrawRow]]:
    """Places of the samples for which this block tells a draw."""
    for columns in block.decisions:
        for place, draw in zip(columns.sample, columns.draws(), strict=True):
            if isfinite(draw.factor):
                yield place, draw


def _failures(ledger: Ledger, shadow: str) -> Iterator[ShadowFailure]:
    for entry in ledger.entries(kind=FAILURE, campaign=shadow):
        facts = ledger.read(entry).facts
        yield ShadowFailure(facts["run"], facts["step"], facts["samples"], facts["reason"])


def _costs(ledger: Ledger, campaign: str, shadow: str) -> Iterator[ShadowCost]:
    spent = [
        {(a.tier, a.resource): a.spent for a in ledger.accounts(name) if a.tier != TOTAL}
        for name in (campaign, shadow)
    ]
    for place in sorted(spent[0].keys() | spent[1].keys()):
        here, there = (side.get(place, 0.0) for side in spent)
        if here or there:
            yield ShadowCost(place_label(place[0]), place[1].label, here, there)


# -- what differs --------------------------------------------------------------------------------


def _known(pairs: _Pairs) -> Iterator[_Known]:
    for sample, (mine, other) in pairs.items():
        here, there = mine.worth, other.worth
        if here is not None and there is not None:
            yield _Known(sample, mine.group, mine.content, here, there)


def _pending(pairs: _Pairs) -> int:
    return sum(any(side.reward.pending for side in pair) for pair in pairs.values())


def _marks(pairs: _Pairs, threshold: float | None) -> Mapping[tuple[Mark, Mark], int]:
    return Counter(
        (_mark(mine, threshold), _mark(other, threshold)) for mine, other in pairs.values()
    )


def _mark(side: _Side, threshold: float | None) -> Mark:
    if side.worth is None:
        return Mark.UNKNOWN
    if side.reward.is_rejected:
        return Mark.REJECTED
    is_good = threshold is None or side.worth >= threshold
    return Mark.GOOD if is_good else Mark.POOR


def _groups(known: Iterable[_Known]) -> Iterable[Sequence[Order]]:
    """The rewards of each group; samples without a group are compared with their step."""
    groups: dict[tuple[str, int, str], list[Order]] = {}
    for pair in known:
        group = groups.setdefault((pair.sample.run, pair.sample.step, pair.group), [])
        group.append((pair.mine, pair.other))
    return groups.values()


def _largest(ledger: Ledger, known: Iterable[_Known], most: int) -> Iterator[ShadowChange]:
    changed = [pair for pair in known if pair.change]
    changed.sort(key=lambda pair: (-abs(pair.change), pair.sample))
    found: dict[bytes, _Known] = {}
    for pair in changed:
        found.setdefault(pair.content, pair)
    for pair in islice(found.values(), most):
        yield ShadowChange(*pair.sample, text_of(ledger, pair.content), pair.mine, pair.other)
