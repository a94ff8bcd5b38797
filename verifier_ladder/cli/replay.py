"""`vladder ledger replay`: rewards, draws and beliefs computed again from the ledger alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli.opening import ledger_to_read, only_campaign
from verifier_ladder.cli.output import AsJson, Exit, LedgerAt, amount, console, print_json, say

if TYPE_CHECKING:
    from verifier_ladder.scheduler.replay import ReplayReport


def replay(
    campaign: Annotated[
        str | None, typer.Argument(help="Its name; not needed if the ledger has only one.")
    ] = None,
    ledger: LedgerAt = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Compute a campaign's rewards again, and compare.

    So are its draws and beliefs. Rewards and draws must come out bit for bit, beliefs to 1e-9. No
    verifier needs to be installed: nothing but the ledger is read.
    """
    from verifier_ladder.scheduler.replay import replay as replayed

    with ledger_to_read(ledger) as store:
        row = only_campaign(store, campaign)
        report = replayed(store, row)
    if as_json:
        print_json({
            "campaign": row.name, "same": report.is_same, "rewards": report.rewards,
            "draws": report.draws, "beliefs": report.beliefs, "differing": report.differing,
            "differences": [difference._asdict() for difference in report.differences],
        })  # fmt: skip
    else:
        _tell(row.name, report)
    if not report.is_same:
        raise typer.Exit(Exit.FAILED)


def _tell(name: str, report: ReplayReport) -> None:
    counted = f"{report.rewards:,} rewards, {report.draws:,} draws, {report.beliefs:,} beliefs"
    if report.is_same:
        console().print(f"{name}: {counted} computed again, all as recorded", soft_wrap=True)
        return
    screen = console()
    screen.print(f"{name}: {report.differing:,} of {counted} differ", soft_wrap=True)
    for one in report.differences:
        numbers = f"{amount(one.recorded)} recorded, {amount(one.replayed)} replayed"
        screen.print(f"  entry {one.entry}: {one.what} of {one.of}: {numbers}", soft_wrap=True)
    if report.differing > len(report.differences):
        say(f"{report.differing - len(report.differences):,} more")
