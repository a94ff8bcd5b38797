"""Running the demo: score the outputs as a learner would, watch them climb, sum up."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from verifier_ladder.demo.outputs import LADDER, read_outputs, read_transcripts, run_name
from verifier_ladder.errors import ConfigError
from verifier_ladder.private import unwritable
from verifier_ladder.run import Run
from verifier_ladder.summary.amounts import duration, plural
from verifier_ladder.text import hide_password

if TYPE_CHECKING:
    from rich.console import Console

    from verifier_ladder.campaign import Campaign
    from verifier_ladder.candidate import Sample
    from verifier_ladder.cli.live import LiveView
    from verifier_ladder.summary import Summary

CAMPAIGN = "solvation"
LEDGER = Path("demo-output") / "ledger.db"
QUICK_CAMPAIGN = "solvation-quick"
"""A campaign of its own, because its budget is; verdicts are shared all the same."""
QUICK_BUDGET = {"high_fidelity": "10 s"}
QUICK_STEPS = 2
_NEEDED = ("rdkit", "ase", "tblite", "pyscf", "jinja2")
_POLL = 0.25
"""Seconds between two looks at the campaign while it climbs."""


def run_demo(
    *,
    ledger: str | Path = LEDGER,
    report: str | Path | None = None,
    quick: bool = False,
    lasts: bool = True,
    console: Console | None = None,
) -> Summary:
    """Run the solvation campaign and sum it up; run again, it is answered from the ledger.

    Stopped by Ctrl-C, it goes on when it is run again.

    Args:
        ledger: Where the ledger lies, or will lie.
        report: Where the HTML report goes; next to the ledger if left out.
        quick: Score only the first outputs, with a tenth of the budget.
        lasts: Whether the ledger is there when the demo is over; else no commands are proposed.
        console: Where to print; standard output if left out.

    Returns:
        The campaign's summary.

    Raises:
        ConfigError: If a package that the tiers need is not installed, or the report can't be
            written there.

    Example:
        >>> run_demo(quick=True).samples  # doctest: +SKIP
        25
    """
    from rich.console import Console

    check_packages(_NEEDED, "demo")
    out = console or Console()
    page = Path(report) if report is not None else _beside(ledger)
    steps = read_outputs()[: QUICK_STEPS if quick else None]
    _introduce(out, steps, ledger)
    make_folder(page.parent)
    return _run(ledger, page, steps, out, quick=quick, lasts=lasts)


def check_packages(names: Iterable[str], extra: str) -> None:
    """Refuse a demo that would miss a package at its end.

    Raises:
        ConfigError: If one is not installed, with the extra that brings it.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the demo needs {', '.join(missing)}: pip install '.[{extra}]' in a clone"
        )


def _beside(ledger: str | Path) -> Path:
    """The report's place: next to a ledger file, or where that would be."""
    is_server = "://" in str(ledger)
    return (LEDGER if is_server else Path(ledger)).with_name("report.html")


def make_folder(folder: Path) -> None:
    """Make a folder for what a demo writes.

    Raises:
        ConfigError: If it can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def _introduce(out: Console, steps: list[list[Sample]], place: str | Path) -> None:
    count = sum(map(len, steps))
    out.print(
        f"{count} answers of a language model climb four tiers: rules, xTB, DFT, measurement.\n"
        f"Every verdict is kept in {hide_password(str(place))}, so nothing is paid for twice.\n",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip


def _run(
    place: str | Path,
    page: Path,
    steps: list[list[Sample]],
    out: Console,
    *,
    quick: bool,
    lasts: bool,
) -> Summary:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.cli.live import LiveView
    from verifier_ladder.report import write_report
    from verifier_ladder.summary import print_summary, summarise

    name, budget = (QUICK_CAMPAIGN, QUICK_BUDGET) if quick else (CAMPAIGN, None)
    started = monotonic()
    with Campaign.open(
        name, ladder=LADDER, ledger=place, budget=budget, run=_run_card()
    ) as campaign:
        before = summarise(campaign.ledger, name)
        _keep(campaign, len(steps))
        with LiveView(out, name) as view:
            _climb(campaign, steps, view)
        taken = monotonic() - started
        summary = summarise(campaign.ledger, name)
        write_report(campaign.ledger, name, page)
        print_summary(summary, out, report=page, lasts=lasts)
    text = _closing(before, summary, sum(map(len, steps)), taken)
    again = " Run it again: the ledger will answer in seconds."
    is_new = summary.checks > before.checks
    out.print(text + (again if lasts and is_new else ""), highlight=False, markup=False)
    return summary


def _run_card() -> Run:
    """The run, with what its report card tells."""
    return Run(
        run_name(), project="demo", environment="six prompts, one answer each",
        tool_budget="no tools", scaffold="none", evaluator="the solvation ladder",
        failure_recovery="a failed check is tried again; its reward stays what was believed",
    )  # fmt: skip


def _keep(campaign: Campaign, steps: int) -> None:
    """Keep prompts and answers, so that the outputs can be trained on; once is enough."""
    if campaign.ledger.next_step(campaign.name, campaign.run.name) == 0:
        campaign.keep([told for step in read_transcripts()[:steps] for told in step])


def _climb(campaign: Campaign, steps: list[list[Sample]], view: LiveView) -> None:
    """Score step by step, as a learner does, and watch until every climb has stopped."""
    for number, samples in enumerate(steps, start=1):
        view.update(campaign.status(), f"scoring step {number} of {len(steps)}")
        campaign.score(samples)
    while not campaign.drain(_POLL):
        view.update(campaign.status(), "climbing; the learner has its rewards already")
    view.update(campaign.status())


def _closing(before: Summary, after: Summary, rewards: int, taken: float) -> str:
    """What this run of the demo did, by the numbers of the summary above."""
    checks = after.checks - before.checks
    if checks == 0:
        return (
            f"\nAll {plural(rewards, 'reward')} came from the ledger in {taken:.1f} s: "
            "0 new checks, 0 new cpu-seconds; the first time they took "
            f"{duration(after.spent)} of cpu time."
        )
    return (
        f"\n{plural(rewards, 'reward')}, {plural(checks, 'new check')}, "
        f"{duration(after.spent - before.spent)} of cpu time, in {taken:.0f} s."
    )
