"""`vladder ledger replay`: rewards, draws and beliefs computed again from the ledger alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_to_read, only_campaign

if TYPE_CHECKING:
    from verifier_ladder.scheduler.replay import ReplayReport


def replay(
    campaign: Annotated[
        str | None, typer.Argument(help="Its name; not needed if the ledger has only one.")
    ] = None,
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
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
        output.print_json({
            "campaign": row.name, "same": report.is_same, "rewards": report.rewards,
            "draws": report.draws, "beliefs": report.beliefs, "differing": report.differing,
            "differences": [difference._asdict() for difference in report.differences],
        })  # fmt: skip
    else:
        _tell(row.name, report)
    if not report.is_same:
        raise typer.Exit(output.Exit.FAILED)


def _tell(name: str, report: ReplayReport) -> None:
    counted = f"{report.rewards:,} rewards, {report.draws:,} draws, {report.beliefs:,} beliefs"
    if report.is_same:
        output.console().print(
            f"{name}: {counted} computed again, all as recorded", soft_wrap=True
        )
        return
    screen = output.console()
    screen.print(f"{name}: {report.differing:,} of {counted} differ", soft_wrap=True)
    for one in report.differences:
        numbers = f"{output.amount(one.recorded)} recorded, {output.amount(one.replayed)} replayed"
        screen.print(f"  entry {one.entry}: {one.what} of {one.of}: {numbers}", soft_wrap=True)
    if report.differing > len(report.differences):
        output.say(f"{report.differing - len(report.differences):,} more")
