"""`vladder campaign spend`: who has spent what."""

from __future__ import annotations

from typing import Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_to_read, only_campaign
from verifier_ladder.text import printable


def spend(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    *,
    by: Annotated[
        str,
        typer.Option(
            "--by", help="project, user, label, label:KEY, run, verifier, tier or campaign."
        ),
    ] = "run",
    everything: Annotated[
        bool, typer.Option("--all", help="All campaigns of the ledger.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Tell who has spent what.

    Of several that want the same check, the first to ask pays.
    """
    from verifier_ladder.resource import Resource
    from verifier_ladder.spending import spending
    from verifier_ladder.summary.amounts import shown_in

    with ledger_to_read(ledger) as store:
        campaign = None if everything else only_campaign(store, name).name
        lines = spending(store, by, campaign=campaign)
    if as_json:
        output.print_json([line.as_json() for line in lines])
        return
    used = [r for r in Resource if any(line.spent(r) for line in lines)]
    columns = [column for r in used for column in (r.unit, "of it failed")]
    made = output.table(by, "checks", *columns, right=("checks", *columns))
    for line in lines:
        cells = [
            shown_in(r)(amount) if amount else "·"
            for r in used
            for amount in (line.spent(r), line.failed.get(r, 0.0))
        ]
        made.add_row(printable(line.name, 60), f"{line.checks:,}", *cells)
    output.console().print(made if lines else "nothing has been spent")
