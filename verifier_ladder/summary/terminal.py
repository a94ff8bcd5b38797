"""The summary in a terminal: what a tired person needs, in the order they need it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from verifier_ladder.analysis.totals import RunSummary
from verifier_ladder.budget import place_label
from verifier_ladder.errors import CandidateError, ToolError
from verifier_ladder.summary.amounts import (
    duration,
    latency_text,
    number,
    plural,
    resources_text,
    share,
    shown_in,
)
from verifier_ladder.summary.records import (
    CandidateSummary,
    OpenCase,
    Summary,
    SurrogateSummary,
    TierSummary,
)
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
MOST_LINES = 8
_BAR = 10
_WIDE = 100
"""Columns of a terminal that has room for bars in the table of costs."""
_ALARMS, _CASES = 2, 3
"""Alarms, and open cases, that are told one by one."""
_SHOWN = 12
"""Characters of a version's name, as its verdicts show it."""
_SHORT, _DIGITS = 60, 16
"""Characters of a text that is copied into a command, and digits of a key that stands for one."""
_HINT = "dim"


def print_summary(
    summary: Summary,
    console: Console,
    *,
    best: int = 8,
    report: str | Path | None = None,
    lasts: bool = True,
) -> None:
    """Print a campaign's summary: alarms, funnel, costs, best, rejects, failures, what to do next.

    Rejects are the candidates' doing, failures are not, and they are never mixed. Text that a
    model wrote is stripped of control characters.

    Args:
        summary: What `summarise` returned.
        console: Where to print.
        best: How many candidates to list.
        report: Where the HTML report lies, if one was written.
        lasts: Whether the ledger can be looked at afterwards; else no commands are proposed.

    Example:
        >>> from rich.console import Console  # doctest: +SKIP
        >>> print_summary(summarise(ledger, "solvation"), Console())  # doctest: +SKIP
    """
    _heading(summary, console)
    print_alarms(summary.alarms, console)
    console.print(_funnel(summary))
    console.print()
    console.print(_spending(summary, has_bar=console.width >= _WIDE))
    if summary.budgets:
        console.print()
        console.print(_budgets(summary))
    _costs(summary, console)
    for line in news(summary):
        console.print(line, highlight=False, markup=False)
    if summary.best:
        console.print()
        console.print(_candidates(summary, best, console.width))
        _explain_order(summary, console)
    _rejects(summary, console)
    _failures(summary, console)
    _cases(summary, console)
    _next(summary, console, report, lasts=lasts)


def outline(summary: Summary) -> str:
    """What went in, in one sentence."""
    distinct = plural(summary.candidates, "distinct candidate")
    text = f"{plural(summary.samples, 'output')}, {distinct}"
    if summary.duplicates:
        spelled = f" ({summary.respellings} in another spelling)" if summary.respellings else ""
        text += f"; {plural(summary.duplicates, 'duplicate')}{spelled} cost nothing"
    return text


def spent_text(summary: Summary) -> str:
    """All that was spent, in words."""
    cpu = f"{duration(summary.spent)} of cpu time"
    return _listed([cpu, *resources_text(summary.resources)])


def everything_text(summary: Summary) -> str:
    """What climbing everything would have taken, in words; empty if nothing can be said."""
    return _listed(resources_text(summary.everything))


def news(summary: Summary, names: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Who won, which tiers have too little budget for candidates that wait, and the surrogate.

    Args:
        summary: Of the campaign.
        names: What candidates are called, by their content; by their content if left out.
    """
    lines = []
    winner = summary.winner
    if winner is not None:
        top = summary.tiers[-1].tier
        how = "measured" if top is Tier.WORLD else f"by the {_tier_name(top)} tier"
        score = winner.scores[top]
        name = names.get(winner.content, winner.content)
        value = number(score.value, score.uncertainty)
        unit = f" {printable(score.unit)}" if score.unit else ""
        lines.append(f"Best {how}: {printable(name, 60)}, {value}{unit}.")
    lines += [
        f"The {_tier_name(tier.tier)} tier has too little budget left for another check: "
        f"{plural(tier.parked, 'candidate waits', 'candidates wait')} for a larger one."
        for tier in summary.tiers if tier.parked and not tier.paused
    ]  # fmt: skip
    return lines + ([] if summary.surrogate is None else _surrogate(summary.surrogate))


def _surrogate(surrogate: SurrogateSummary) -> list[str]:
    """Which versions there are, and what is known of them."""
    if not surrogate.versions:
        return [f"Surrogate: no version was trained at {surrogate.labels:,} labels."]
    lines = []
    for one in surrogate.versions:
        told = "too few held-out labels tell yet"
        if one.gain is not None and one.error is not None:
            told = (
                f"{one.gain:.0%} ± {one.error:.0%} of the variance gained, "
                f"by {one.pairs:.0f} held-out labels"
            )
        lines.append(
            f"Surrogate: version {printable(one.name[:_SHOWN])} of {one.labels:,} labels "
            f"{'speaks' if one.speaks else 'is in shadow'} ({told})."
        )
    return lines


def _tier_name(tier: Tier) -> str:
    return tier.label.replace("_", " ")


def _listed(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if parts[1:] else "".join(parts)


def objective(summary: Summary) -> str:
    """The target with its unit and direction; empty if it has no name."""
    target = summary.target
    unit = f", {target['unit']}" if target.get("unit") else ""
    good = "lower is better" if target.get("direction") == "minimise" else "higher is better"
    return f"{target['name']}{unit}, {good}" if target.get("name") else ""


def order_text(summary: Summary) -> str:
    """By what candidates are put in order, in words."""
    top = summary.tiers[-1].tier
    says = "the world said" if top is Tier.WORLD else f"the {top.label} tier said"
    text = f"what {says}, or else what is believed"
    return text.replace("high_fidelity", "high fidelity")


def _heading(summary: Summary, console: Console) -> None:
    console.print()
    console.print(Text.assemble(
        (printable(summary.campaign), "bold"), ("  " + printable(objective(summary)), _HINT)
    ))  # fmt: skip
    console.print(Text(outline(summary)))
    console.print()


def print_alarms(alarms: Sequence[str], console: Console) -> None:
    """What must not be overlooked, such as a verifier that is being gamed, or has changed."""
    if not alarms:
        return
    for text in alarms[-_ALARMS:]:
        console.print(Text.assemble(("ALARM  ", "bold red"), printable(text, 500)))
    if earlier := len(alarms[:-_ALARMS]):
        console.print(f"       and {plural(earlier, 'earlier alarm')}", style="red")
    console.print()


def _table(*columns: tuple[str, str]) -> Table:
    """A table without lines; a column is left or right, and may `fold`."""
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for name, side in columns:
        table.add_column(
            name, justify="right" if side.startswith("right") else "left",
            no_wrap=not side.endswith("fold"), overflow="ellipsis",
        )  # fmt: skip
    return table


_COUNTS: tuple[tuple[str, Callable[[TierSummary], int], str], ...] = (
    ("asked", lambda t: t.asked, ""),
    ("passed", lambda t: t.accepted, "green"),
    ("rejected", lambda t: t.rejected, "red"),
    ("no opinion", lambda t: t.abstained, ""),
    ("failed", lambda t: t.failed, "yellow"),
    ("queued", lambda t: t.queued + t.running, ""),
    ("waiting", lambda t: t.waiting, "cyan"),
    ("parked", lambda t: t.parked, "magenta"),
    ("expired", lambda t: t.expired, ""),
)
_ALWAYS = 3


def _funnel(summary: Summary) -> Table:
    shown = [
        column for place, column in enumerate(_COUNTS)
        if place < _ALWAYS or any(column[1](tier) for tier in summary.tiers)
    ]  # fmt: skip
    table = _table(("candidates", "left"), *((name, "right") for name, _, _ in shown))
    for tier in summary.tiers:
        counts = [(count(tier), style) for _, count, style in shown]
        cells = [Text(str(n), style=style) if n else Text("·", style=_HINT) for n, style in counts]
        name = Text(tier.tier.label, style="bold")
        if tier.paused:
            name.append(" (paused)", style="magenta")
        table.add_row(name, *cells)
    return table


def _spending(summary: Summary, *, has_bar: bool) -> Table:
    """What each tier took: checks, cpu time, wall time, and what else was spent."""
    others = sorted(summary.resources)
    table = _table(
        ("cost", "left"), ("checks", "right"), ("cpu time", "right"), ("wall time", "right"),
        ("median answer", "right fold"), *((resource.label.replace("_", " "), "right")
        for resource in others), ("cpu budget", "left"),
    )  # fmt: skip
    for tier in summary.tiers:
        amounts = [tier.resources.get(resource) for resource in others]
        table.add_row(
            Text(tier.tier.label, style="bold"), str(tier.checks) if tier.checks else "·",
            "–" if tier.tier is Tier.WORLD and not tier.spent else duration(tier.spent),
            duration(tier.wall), latency_text(tier.latency),
            *(shown_in(resource)(amount) if amount else "·"
              for resource, amount in zip(others, amounts, strict=True)),
            _budget(tier.spent, tier.cap, duration, has_bar=has_bar),
        )  # fmt: skip
    return table


def _budget(
    spent: float, cap: float | None, show: Callable[[float], str], *, has_bar: bool = True
) -> Text:
    if cap is None:
        return Text("no cap", style=_HINT)
    used = min(1.0, spent / cap) if cap else 1.0
    full = round(used * _BAR)
    text = Text("━" * full, style="magenta")
    text.append("━" * (_BAR - full) + " ", style=_HINT)
    told = cap_text(spent, cap, show)
    return text.append(told) if has_bar else Text(told)


def cap_text(spent: float, cap: float | None, show: Callable[[float], str]) -> str:
    """How far a budget is spent, in words."""
    return "no cap" if cap is None else f"{share(spent, cap)} of {show(cap)}"


def _budgets(summary: Summary) -> Table:
    """The accounts that have no column in the funnel."""
    table = _table(("budget", "left"), ("spent", "right"), ("reserved", "right"), ("", "left"))
    for account in summary.budgets:
        show = shown_in(account.resource)
        table.add_row(
            Text(f"{place_label(account.tier)}, {account.resource.unit}", style="bold"),
            show(account.spent), show(account.reserved) if account.reserved else "·",
            _budget(account.spent, account.cap, show),
        )  # fmt: skip
    return table


def _costs(summary: Summary, console: Console) -> None:
    text = f"\nSpent {spent_text(summary)}. "
    if everything := everything_text(summary):
        text += (
            f"Climbing everything would have cost about {everything} (an estimate: what a judged "
            "candidate took on each tier, or is declared to take, × every acceptable candidate)."
        )
    console.print(text, highlight=False)
    reused = sum(tier.reused for tier in summary.tiers)
    if reused:
        console.print(
            f"{plural(reused, 'answer')} came from the ledger without a new check.",
            highlight=False,
        )
    if text := last_run(summary.runs):
        console.print(text, highlight=False, markup=False)


def last_run(runs: Sequence[RunSummary]) -> str:
    """What the last of several runs asked, in a sentence; empty where there is only one."""
    if len(runs) < 2:  # noqa: PLR2004 - the only one is the campaign
        return ""
    run = runs[-1]
    return (
        f"Last run {printable(run.name, 60)}: {plural(run.samples, 'sample')}, "
        f"{plural(run.reused, 'answer')} found in the ledger, "
        f"{plural(run.checks, 'check')} run at once."
    )


def _candidates(summary: Summary, best: int, width: int) -> Table:
    longest, space = max(14, min(40, width - 72)), " " if width >= _WIDE else "\n"
    shown = [t.tier for t in summary.tiers if any(t.tier in c.scores for c in summary.best)]
    names = [_HEADINGS.get(tier, tier.label).replace(" ", space) for tier in shown]
    table = _table(
        ("best", "left"), ("known", "right"), *((name, "right") for name in names),
        (f"training{space}reward", "right"),
    )  # fmt: skip
    for candidate in summary.best[:best]:
        known = number(candidate.known, candidate.known_uncertainty)
        table.add_row(
            Text(_title(candidate, longest), style="bold"),
            Text(f"{known} ?", style="red") if candidate.doubt else known,
            *(Text(_score(candidate, tier), style=_style(tier)) for tier in shown),
            Text(number(candidate.reward), style=_HINT),
        )
    return table


def _title(candidate: CandidateSummary, longest: int) -> str:
    """What a candidate is called: a crystal by its formula, for all its files begin alike."""
    if candidate.kind == "crystal":
        from verifier_ladder.tiers.fast.crystal import crystal_of

        with suppress(CandidateError, ToolError):
            crystal = crystal_of(candidate.content)
            return f"{crystal.formula}, {len(crystal.symbols)} atoms"
    return printable(candidate.content, longest)


def _explain_order(summary: Summary, console: Console) -> None:
    console.print(
        f"Best first by what is known: {order_text(summary)}. The training "
        "reward is what the learner was told: corrected for random draws, so it ranks nothing.",
        style=_HINT, highlight=False,
    )  # fmt: skip
    doubts = sorted({candidate.doubt for candidate in summary.best} - {""})
    if doubts:
        console.print(
            f"?  rests on {', '.join(map(printable, doubts))} alone, which is being gamed; "
            "listed last", style="red", highlight=False, markup=False,
        )  # fmt: skip


_HEADINGS = {Tier.HIGH_FIDELITY: "high fid.", Tier.WORLD: "measured"}


def _style(tier: Tier) -> str:
    return "green" if tier is Tier.WORLD else ""


def _score(candidate: CandidateSummary, tier: Tier) -> str:
    score = candidate.scores.get(tier)
    if score is None:
        return "–"
    return number(score.value, score.uncertainty if tier is Tier.WORLD else None)


def _rejects(summary: Summary, console: Console) -> None:
    rows = [(r.count, r.text, r.examples) for r in summary.rejects]
    _listing("Rejected, and why", rows, console, "red")
    rows = [(r.count, f"{r.verifier}: {r.text}", r.examples) for r in summary.abstentions]
    _listing("No opinion (the verifier declined)", rows, console, "")


def _failures(summary: Summary, console: Console) -> None:
    rows = [
        (f.attempts, f"{f.boundary}: {f.text} ({f.verifier})", f.examples)
        for f in summary.failures
    ]
    _listing("Failed (no reward was lowered)", rows, console, "yellow")
    rows = [
        (0, item.text.replace("_", " "), (item.candidate.content,)) for item in summary.suspicious
    ]
    _listing("Suspicious (a cheap tier likes it much better than a dear one)", rows, console, "")


def _listing(
    title: str, rows: Iterable[tuple[int, str, tuple[str, ...]]], console: Console, style: str
) -> None:
    listed = list(rows)
    if not listed:
        return
    console.print(Text(f"\n{title}", style="bold"))
    table = _table(("", "right"), ("", "fold"), ("", "left"))
    table.show_header = False
    for count, text, examples in listed[:MOST_LINES]:
        example = ", ".join(printable(e, 24) or "(empty)" for e in examples[:2])
        table.add_row(
            Text(str(count or "!"), style=style),
            printable(_first_clause(text), 72),
            Text(example, style=_HINT),
        )
    console.print(table)
    if len(listed) > MOST_LINES:
        console.print(f"    … and {plural(len(listed) - MOST_LINES, 'more reason')}", style=_HINT)


def _first_clause(text: str) -> str:
    """What went wrong, without the advice that follows it for the learner."""
    return text.split("; ", maxsplit=1)[0].removeprefix("'…' is ")


def _cases(summary: Summary, console: Console) -> None:
    if text := cases_text(sum(tier.waiting for tier in summary.tiers), summary.cases):
        console.print(Text(f"\n{text}", style="cyan"))


def cases_text(waiting: int, cases: Sequence[OpenCase]) -> str:
    """How many open cases there are, with the first of them; empty where there are none."""
    names = ", ".join(printable(case.content, 24) for case in cases[:_CASES])
    more = ", …" if waiting > _CASES else ""
    told = f"{plural(waiting, 'open case')} for the world to answer: {names}{more}"
    return told if waiting else ""


def _next(summary: Summary, console: Console, report: str | Path | None, *, lasts: bool) -> None:
    console.print()
    if lasts:
        path = _nearby(summary.ledger.removeprefix("sqlite:///"))
        console.print(Text(f"Ledger  {printable(path)}"), soft_wrap=True)
    if report is not None:
        text = f"Report  {printable(report)}  (one file, opens without a network)"
        console.print(Text(text), soft_wrap=True)
    if not lasts:
        return
    console.print(Text("Next", style="bold"))
    for command, why in commands(summary):  # Never cut or wrapped: they are there to be copied.
        line = Text.assemble(("  " + command, "cyan"), (f"  # {why}", _HINT))
        console.print(line, soft_wrap=True)


def commands(summary: Summary) -> list[tuple[str, str]]:
    """The next three commands to try, each with what it does."""
    ledger = summary.ledger.removeprefix("sqlite:///")
    where, vladder = f"--ledger {_quoted(_nearby(ledger))}", _quoted(_program())
    made = [(f"{vladder} campaign show {_quoted(summary.campaign)} --json {where}", "all numbers")]
    if summary.best:
        example = _quoted(_findable(summary.best[0]))
        made.append((f"{vladder} ledger show {example} {where}", "why it got its reward"))
    else:
        made.append((f"{vladder} ledger ls {where}", "what was recorded"))
    if any(tier.waiting for tier in summary.tiers):
        return [*made, (f"{vladder} review next {where}", "answer an open case")]
    file = _quoted(f"{summary.campaign}.jsonl")
    return [*made, (f"{vladder} ledger export --out {file} {where}", "take everything with you")]


def _findable(candidate: CandidateSummary) -> str:
    """What the ledger finds a candidate by: its text, or its key if that can't be copied."""
    text = candidate.content
    is_plain = text[:1] not in {"", "-"} and text == printable(text, _SHORT)
    return text if is_plain else candidate.key[:_DIGITS]


def _program() -> str:
    """How this shell finds `vladder`: by name, or where it is installed."""
    installed = Path(sys.executable).with_name("vladder")
    if shutil.which("vladder") or not installed.exists():
        return "vladder"
    return _nearby(str(installed))


def _nearby(path: str) -> str:
    """A path below the present folder without that folder, and any other as it is."""
    with suppress(ValueError, OSError):
        return str(Path(path).relative_to(Path.cwd()))
    return path


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
