"""Plots of a campaign for notebooks and papers, drawn with matplotlib from the ledger.

They are legible in black and white and hold no pixels, so that a PDF or SVG of them scales. The
numbers behind each are given as plain records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from verifier_ladder.analysis.audited import AuditedStep, AuditedSteps
from verifier_ladder.analysis.totals import drift_alarms
from verifier_ladder.arguments import checked
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.resource import Resource
from verifier_ladder.run import trainings_first
from verifier_ladder.summary import Agreement, Summary, TierSummary, summarise
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DARK, _MIDDLE, _LIGHT, _WHITE = "0.15", "0.5", "0.8", "1.0"
_PARTS: Final = (
    ("passed", _DARK, ""), ("rejected", _LIGHT, ""), ("no opinion", _WHITE, "..."),
    ("failed", _WHITE, "xxx"), ("open", _WHITE, "///"),
)  # fmt: skip
"""What becomes of candidates: its name, how light its bar is, and the hatch on it."""
_HEIGHT: Final = 0.4
"""Of one of the two bars of a tier; 1 is the distance to the next tier."""
_LOGARITHMIC: Final = 30.0
"""Where the largest amount is so many times the smallest, both are seen on no linear axis."""


class CampaignPlots:
    """Draws a campaign as it stands in its ledger, at work or not.

    Each method takes the axes to draw into, or makes a figure of its own, and returns the axes.
    The campaign's entries are read for it: a million samples take some 45 seconds.

    Example:
        >>> import verifier_ladder as vl
        >>> @vl.verifier(kind="text", version="1", isolation="inline")
        ... def length(candidate):
        ...     return float(len(candidate.content))
        >>> with vl.Campaign.open("try", ladder=vl.Ladder("l", [length])) as campaign:
        ...     _ = campaign.score(["a", "bcd"])
        ...     [(tier.tier.label, tier.accepted) for tier in campaign.plot.summary.tiers]
        [('fast', 2)]
    """

    def __init__(self, ledger: Ledger, campaign: str) -> None:
        """Draw nothing yet.

        Args:
            ledger: The ledger.
            campaign: Name of the campaign.
        """
        self._ledger, self._campaign = ledger, campaign
        self._known: tuple[int, Summary] | None = None
        self._steps: AuditedSteps | None = None

    # -- the numbers -----------------------------------------------------------------------------

    @property
    def summary(self) -> Summary:
        """The campaign summed up: what `funnel`, `agreement` and `cost` draw.

        It is read anew when the ledger has new entries.
        """
        newest = self._ledger.newest()
        if self._known is None or self._known[0] != newest:
            self._known = newest, summarise(self._ledger, self._campaign)
        return self._known[1]

    @checked(run=1)
    def steps(self, run: str | None = None) -> list[AuditedStep]:
        """The steps of a run, told beside true: what `reward` draws.

        Args:
            run: The run; by default the last one of the campaign that has steps.
        """
        if self._steps is None:
            self._steps = AuditedSteps(self._ledger, self._campaign)
        self._steps.refresh()
        steps = self._steps.steps
        if run is None:
            begun = [str(known["name"]) for known in self._ledger.runs(self._campaign)]
            have = {step.run for step in steps}
            newest = [name for name in reversed(begun) if name in have] or [*have, ""]
            run = trainings_first(newest)[0]
        return [step for step in steps if step.run == run]

    # -- the drawings ----------------------------------------------------------------------------

    @checked()
    def funnel(self, ax: Axes | None = None) -> Axes:
        """How many candidates each tier was asked about, and what became of them.

        Raises:
            ConfigError: If matplotlib is not installed.
        """
        ax, tiers = _axes(ax), self.summary.tiers
        starts = [0] * len(tiers)
        for (name, grey, hatch), counts in zip(_PARTS, _counts(tiers), strict=True):
            if any(counts):
                ax.barh(
                    range(len(tiers)), counts, left=starts, label=name, color=grey, hatch=hatch,
                    edgecolor="black", linewidth=0.6,
                )  # fmt: skip
            starts = [start + count for start, count in zip(starts, counts, strict=True)]
        for place, tier in enumerate(tiers):
            ax.text(tier.asked, place, f" {tier.asked:,}", va="center")
        ax.margins(x=0.15)
        _rows(ax, tiers)
        ax.set_xlabel("distinct candidates")
        return _finished(ax, "no tier was asked about anything" if not any(starts) else "")

    @checked(run=1)
    def reward(self, ax: Axes | None = None, *, run: str | None = None) -> Axes:
        """The mean reward of each step, against what audits say of the same samples.

        Where an alarm was raised stands a dotted line.

        Args:
            ax: What to draw into.
            run: The run; by default the last one of the campaign that has steps.

        Raises:
            ConfigError: If matplotlib is not installed.
        """
        ax, steps = _axes(ax), self.steps(run)
        told = [(s.step, s.told) for s in steps if s.told is not None]
        true = [(s.step, s.truth) for s in steps if s.truth is not None]
        if told:
            ax.plot(*zip(*told, strict=True), "-", color="black", label="told to the learner")
        if true:
            ax.plot(
                *zip(*true, strict=True), "--", color=_MIDDLE, marker="o", markersize=3,
                label="true, by audits",
            )  # fmt: skip
        if told and not true:
            ax.plot([], [], " ", label="no sample was audited")
        for number, step in enumerate(self._alarmed(steps)):
            label = "alarm" if not number else None
            ax.axvline(step, linestyle=":", color="black", linewidth=1.5, label=label)
        ax.set_xlabel("step")
        ax.set_ylabel("mean reward (learner's scale)")
        return _finished(ax, "" if told else "no step has a reward")

    @checked()
    def agreement(self, ax: Axes | None = None) -> Axes:
        """The cheapest tier's score against the top tier's, of candidates that both have scored.

        Of more than 2,000 candidates only so many are drawn; the numbers are of all.

        Raises:
            ConfigError: If matplotlib is not installed.
        """
        ax, found = _axes(ax), self.summary.agreement
        if not found:
            return _finished(ax, "no candidate was scored by two tiers")
        shown = max(found, key=lambda one: (one.high, -one.low))
        ax.plot(
            *zip(*shown.points, strict=True), "o", color="black", markersize=3, alpha=0.6,
            markeredgewidth=0,
        )  # fmt: skip
        if shown.low_unit == shown.high_unit:
            start = shown.points[0][0]  # Any place on it would do that is not far from the points.
            ax.axline((start, start), slope=1.0, linestyle="--", color=_MIDDLE)
        ax.set_xlabel(_scored(shown.low.label, shown.low_unit))
        ax.set_ylabel(_scored(shown.high.label, shown.high_unit))
        ax.set_title(_agreed(shown), fontsize="small", loc="left")
        return _finished(ax)

    @checked()
    def cost(
        self, ax: Axes | None = None, *, resource: Resource | str = Resource.CPU_SECONDS
    ) -> Axes:
        """What each tier has spent, against what climbing everything would have taken.

        The latter is an estimate: what a judged candidate took on each tier, or is declared to
        take, times every acceptable candidate.

        Args:
            ax: What to draw into.
            resource: Of what: `cpu_seconds`, `gpu_seconds`, `money` or `person_minutes`.

        Raises:
            ConfigError: If matplotlib is not installed, or there is no such resource.
        """
        of = Resource.parse(resource)
        ax, tiers = _axes(ax), self.summary.tiers
        spent = [_spent(tier, of) for tier in tiers]
        whole = [tier.everything.get(of) for tier in tiers]
        _pair(ax, -0.5, spent, color=_DARK, label="spent")
        _pair(ax, 0.5, whole, color=_WHITE, hatch="///", label="everything (estimate)")
        amounts = [amount for amount in (*spent, *whole) if amount]
        if amounts and max(amounts) > _LOGARITHMIC * min(amounts):
            ax.set_xscale("symlog", linthresh=min(amounts))
        _rows(ax, tiers)
        ax.set_xlabel(of.unit)
        return _finished(ax, "" if amounts else f"nothing was spent in {of.unit}")

    def _alarmed(self, steps: Sequence[AuditedStep]) -> list[int]:
        """The steps at whose audits an alarm was raised."""
        shown = {(step.run, step.step) for step in steps}
        found = {alarm.last for alarm in drift_alarms(self._ledger, self._campaign)}
        return sorted({at.step for at in found if (at.run, at.step) in shown})


def _axes(ax: Axes | None) -> Axes:
    """The axes that are given, or those of a new figure.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ConfigError(
            f"plots need {error.name or 'matplotlib'}: pip install '.[plots]' in a clone"
        ) from None
    if ax is not None:
        return ax
    made: Axes = plt.subplots(layout="constrained")[1]
    return made


def _counts(tiers: Sequence[TierSummary]) -> list[list[int]]:
    """How many candidates stand where, in the order of `_PARTS`, tier by tier."""
    names = ("accepted", "rejected", "abstained", "failed", "open")
    return [[getattr(tier, name) for tier in tiers] for name in names]


def _spent(tier: TierSummary, resource: Resource) -> float:
    return tier.spent if resource is Resource.CPU_SECONDS else tier.resources.get(resource, 0.0)


def _pair(ax: Axes, side: float, amounts: Sequence[float | None], **style: Any) -> None:
    """One of the two bars of each tier; where its amount is not known, that is said."""
    places = [place + side * _HEIGHT for place in range(len(amounts))]
    widths = [amount or 0.0 for amount in amounts]
    ax.barh(places, widths, _HEIGHT, edgecolor="black", linewidth=0.6, **style)
    for place, amount in zip(places, amounts, strict=True):
        if amount is None:
            ax.text(0.0, place, " not known", va="center", fontsize="small")


def _rows(ax: Axes, tiers: Sequence[TierSummary]) -> None:
    """A row for each tier, the first one above."""
    ax.set_yticks(range(len(tiers)), [_words(tier.tier.label) for tier in tiers])
    ax.set_ylim(len(tiers) - 0.5, -0.5)


def _finished(ax: Axes, said: str = "") -> Axes:
    """Frame and legend; what there is to say where nothing is drawn."""
    ax.spines[["top", "right"]].set_visible(False)
    options: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "center"}
    if said:
        ax.text(0.5, 0.5, said, style="italic", **options)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=3, frameon=False,
            fontsize="small", columnspacing=1.2, handlelength=1.8,
        )  # fmt: skip
    return ax


def _agreed(shown: Agreement) -> str:
    """The numbers of an agreement, in words."""
    parts, said = [f"n = {shown.count:,}"], ""
    if shown.correlation is not None:
        parts.append(f"rank correlation {shown.correlation:.2f}".replace("-", "−"))
    if shown.error is not None:
        unit = f" {_plain(shown.high_unit)}" if shown.high_unit else ""
        said = f"\nmean absolute difference {shown.error:.2g}{unit} (dashed: none)"
    return ", ".join(parts) + said


def _scored(tier: str, unit: str) -> str:
    """What an axis shows, with its unit."""
    return f"score of the {_words(tier)} tier" + (f" ({_plain(unit)})" if unit else "")


def _words(label: str) -> str:
    return label.replace("_", " ")


def _plain(text: str) -> str:
    """Text from the ledger, of which matplotlib makes no formula."""
    return printable(text, 40).replace("$", r"\$")
