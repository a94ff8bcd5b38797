"""The page: a summary, its charts and drawings, written into one file."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.private import (
    check_other_file,
    make_private_folder,
    replacing,
    unwritable,
)
from verifier_ladder.summary import CandidateSummary, Summary, TierSummary, summarise
from verifier_ladder.summary.steps import StepCurves
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from markupsafe import Markup

    from verifier_ladder.report.timeline import Event

MOST_ROWS = 24
MOST_STORIES = 4
MOST_CHARTS = 6
_KEPT = 256
"""Entries that are kept while stories are told."""


class Story(NamedTuple):
    """One candidate's timeline, and why it is told."""

    candidate: CandidateSummary
    why: str
    events: list[Event]


def write_report(
    ledger: Ledger,
    campaign: str,
    path: str | Path,
    *,
    beside: Sequence[str] = (),
    title: str = "",
    lead: str = "",
) -> Path:
    """Write a campaign's report as one HTML file that needs no network and no script.

    The file is moved into place when it is complete.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        path: Where to write; missing folders are made.
        beside: Other campaigns whose curves, told and by their shadow, are shown next to its own;
            the oldest campaign's come first.
        title: What the page is called; by default the campaign's name.
        lead: What the page begins with, before the campaign is summed up.

    Returns:
        The path.

    Raises:
        ConfigError: If the ledger has no such campaigns, or Jinja2 is not installed.
        ConfigError: If the file can't be written there; LedgerError if the disk is full.

    Example:
        >>> write_report(ledger, "solvation", "report.html")  # doctest: +SKIP
        PosixPath('report.html')
    """
    target = Path(path)
    check_other_file(target, ledger.url)
    page = render_report(ledger, campaign, beside=beside, title=title, lead=lead)
    try:
        make_private_folder(target.parent)
        with replacing(target) as part:
            part.write_text(page, encoding="utf-8", errors="replace")
    except OSError as error:
        raise unwritable(target, error) from error
    return target


def render_report(
    ledger: Ledger,
    campaign: str,
    *,
    beside: Sequence[str] = (),
    title: str = "",
    lead: str = "",
) -> str:
    """Make the report's HTML, of what `write_report` takes.

    All text from the ledger is stripped of control characters and escaped; drawings are rebuilt
    from paths. The page's security policy allows its own style sheet and nothing else.

    Raises:
        ConfigError: If the ledger has no such campaign, or Jinja2 is not installed.
    """
    _jinja2()
    from verifier_ladder.report.crystals import draw_crystals
    from verifier_ladder.report.drawings import draw

    summary = summarise(ledger, campaign, best=MOST_ROWS)
    stories = _stories(ledger, summary)
    shown = [*summary.best, *(s.candidate for s in summary.suspicious)]
    molecules = [c.content for c in shown if c.kind == "molecule"]
    crystals = draw_crystals(c.content for c in shown if c.kind == "crystal")
    drawings = draw(molecules) | {text: drawn.drawing for text, drawn in crystals.items()}
    curves = [StepCurves(ledger, name) for name in _known(ledger, [campaign, *beside])]
    return _render(
        summary, stories, drawings, curves, title=title, lead=lead,
        names={text: drawn.name for text, drawn in crystals.items()},
    )  # fmt: skip


def _known(ledger: Ledger, names: Sequence[str]) -> list[str]:
    """The campaigns that are named, the oldest first."""
    known = [row.name for row in ledger.campaigns()]
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"the ledger has no campaign {unknown[0]!r}; it has: {', '.join(known)}")
    return [name for name in known if name in names]


def _stories(ledger: Ledger, summary: Summary) -> list[Story]:
    from verifier_ladder.report.timeline import timeline

    chosen: dict[str, tuple[CandidateSummary, str]] = {}
    for candidate, why in _worth_telling(summary):
        chosen.setdefault(candidate.key, (candidate, why))

    @lru_cache(_KEPT)  # Candidates that come at each step share their entries.
    def read(number: int) -> Block | None:
        entry = ledger.entry(number)
        return None if entry is None else ledger.read(entry)

    return [
        Story(c, why, timeline(ledger, summary.campaign, bytes.fromhex(c.key), read=read))
        for c, why in list(chosen.values())[:MOST_STORIES]
    ]


def _worth_telling(summary: Summary) -> list[tuple[CandidateSummary, str]]:
    best = [*filter(None, [summary.winner]), *summary.best]
    measured = list({c.key: c for c in best if c.measured is not None}.values())
    waiting = [c for c in summary.best if c.measured is None and not c.doubt]
    return [
        *((c, "the best that was measured") for c in measured[:1]),
        *((c, "the best that was not measured") for c in waiting[:1]),
        *((s.candidate, "suspicious") for s in summary.suspicious[:1]),
        *((c, "measured too") for c in measured[1:2]),
        *((c, "among the best") for c in summary.best[:MOST_STORIES]),
    ]


def _render(
    summary: Summary,
    stories: Sequence[Story],
    drawings: Mapping[str, Markup],
    curves: Sequence[StepCurves],
    *,
    title: str,
    lead: str,
    names: Mapping[str, str],
) -> str:
    from verifier_ladder import __version__
    from verifier_ladder.report import charts
    from verifier_ladder.summary import amounts, terminal

    return render_page(
        "report.html.j2", summary=summary, stories=stories, drawings=drawings, charts=charts,
        curves=[curve for curve in curves if curve.steps],
        outline=terminal.outline(summary), objective=terminal.objective(summary),
        everything=amounts.resources_text(summary.everything),
        order=terminal.order_text(summary) if summary.tiers else "",
        number=amounts.number, resources=amounts.resources_text, plural=amounts.plural,
        Tier=Tier, version=__version__, title=title, names=names,
        leads=[*filter(None, [lead]), campaign_lead(summary), *terminal.news(summary, names)],
        steps=_steps(summary), measures=_measures(summary), bars=cost_bars(summary),
        agreement=summary.agreement[:MOST_CHARTS], made_at=time.time(),
        most=max((t.asked for t in summary.tiers), default=0),
    )  # fmt: skip


def render_page(template: str, **values: Any) -> str:
    """Fill in one of the templates of this package, with its style sheet.

    All text is stripped of control characters and escaped; only `Markup` is taken as it is.

    Raises:
        ConfigError: If Jinja2 is not installed.
    """
    made_in = environment()
    from markupsafe import Markup

    style = style_sheet()
    made: str = made_in.get_template(template).render(
        style=Markup(style),  # noqa: S704 - our own
        style_hash=_hash(style),
        **values,
    )
    return made


@cache
def environment(package: str = "verifier_ladder.report") -> Any:
    """The templates of a package.

    All text that they show is stripped of control characters and escaped; only `Markup` is taken
    as it is.

    Args:
        package: Which has a folder `templates`.

    Raises:
        ConfigError: If Jinja2 is not installed.
    """
    jinja2 = _jinja2()
    from markupsafe import Markup

    from verifier_ladder.report import charts
    from verifier_ladder.summary import amounts
    from verifier_ladder.text import printable

    def finish(value: Any) -> Any:
        """Strip every text that is not our own markup; escaping follows."""
        return value if isinstance(value, (Markup, int, float)) else printable(value, None)

    made = jinja2.Environment(
        loader=jinja2.PackageLoader(package), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=finish,
    )  # fmt: skip
    made.filters.update(
        duration=amounts.duration, share=amounts.share,
        words=charts.words, shorten=printable, moment=_moment, signed=_signed,
        fixed=amounts.fixed, counted=amounts.counted, percent=amounts.percent,
        resource=amounts.resource_name, setting=_setting,
    )  # fmt: skip
    return made


def _jinja2() -> Any:
    try:
        import jinja2
    except ImportError:
        raise ConfigError("the report needs Jinja2: pip install '.[report]' in a clone") from None
    return jinja2


def style_sheet() -> str:
    """How reports and pages look."""
    return (Path(__file__).parent / "templates" / "report.css").read_text(encoding="utf-8")


def _hash(style: str) -> str:
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def _moment(seconds: float) -> str:
    from verifier_ladder.text import moment

    return moment(seconds, "%Y-%m-%d %H:%M UTC")


def _setting(value: Any) -> str:
    """A setting as a person writes it.

    Example:
        >>> _setting({"world": -5.5, "fast": None}), _setting(["C", "N"]), _setting(True)
        ('world -5.5, fast none', 'C, N', 'yes')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_setting(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_setting, value))
    return {"None": "none", "True": "yes", "False": "no"}.get(str(value), str(value))


def _signed(value: float) -> str:
    from verifier_ladder.summary.amounts import fixed

    return fixed(value, 2, "+")


def _steps(summary: Summary) -> list[Tier]:
    """The computing tiers that have scored somebody: the table's middle columns."""
    scored = {tier for candidate in summary.best for tier in candidate.scores}
    return [t.tier for t in summary.tiers if t.tier in scored and t.tier is not Tier.WORLD]


def _measures(summary: Summary) -> bool:
    return any(tier.tier is Tier.WORLD for tier in summary.tiers)


def campaign_lead(summary: Summary) -> str:
    """The campaign in two sentences, for the top of the page."""
    from verifier_ladder.summary.amounts import plural
    from verifier_ladder.summary.terminal import everything_text, spent_text

    if not summary.samples:
        return "Nothing has been scored yet."
    samples = plural(summary.samples, "output")
    text = f"{samples} became {plural(summary.candidates, 'distinct candidate')}"
    climbed = [t for t in summary.tiers[1:] if t.answered]
    parts = [_reached(t) for t in climbed]
    if parts:
        text += f", of which {', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{parts[-1]}"
    text += f". It took {spent_text(summary)}"
    if everything := everything_text(summary):
        text += f"; climbing everything would have taken about {everything}"
    return text + "."


def _reached(tier: TierSummary) -> str:
    return f"{tier.answered} got an answer from {_name(tier.tier)}"


def _name(tier: Tier) -> str:
    return "the world" if tier is Tier.WORLD else tier.label.replace("_", " ")


def cost_bars(summary: Summary) -> list[tuple[TierSummary, Markup]]:
    """What each tier has spent, as a bar of its cap or of the tier that has spent most."""
    from verifier_ladder.report.charts import Segment, bar, words
    from verifier_ladder.summary.amounts import duration

    made = []
    for tier in summary.tiers:
        if tier.tier is Tier.WORLD and not tier.spent and tier.cap is None:
            continue
        whole = tier.cap or max(t.spent for t in summary.tiers)
        parts = [
            Segment(f"ok {tier.tier.label}", tier.settled, f"{duration(tier.settled)} answered"),
            Segment("failed", tier.failed_seconds, f"{duration(tier.failed_seconds)} failed"),
            Segment("going", tier.reserved, f"{duration(tier.reserved)} reserved"),
        ]
        cap = f" of {duration(tier.cap)}" if tier.cap is not None else ""
        title = f"{words(tier.tier)}: {duration(tier.spent)}{cap} spent"
        made.append((tier, bar(parts, whole, title)))
    return made
