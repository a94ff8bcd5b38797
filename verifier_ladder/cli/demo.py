"""`vladder demo`: the solvation campaign, from candidates to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from verifier_ladder.cli import options, output


def demo(
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="Where to keep the demo's ledger.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Where to write the HTML report.")
    ] = None,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer candidates and a smaller budget.")
    ] = False,
    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed", help="On PostgreSQL and Redis, started for it, with two worker hosts."
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Run the solvation campaign: 62 outputs climb four tiers."""
    from contextlib import nullcontext

    from verifier_ladder.demo import fleet, run_demo

    out = output.console(to_stderr=as_json)
    try:
        with fleet(out) if distributed else nullcontext(ledger) as place:
            places: dict[str, Any] = {"ledger": place, "report": report}
            given = {name: place for name, place in places.items() if place is not None}
            summary = run_demo(quick=quick, lasts=not distributed, console=out, **given)
    except KeyboardInterrupt:
        output.interrupted("Nothing is lost: run the same command again and it goes on from here.")
    if as_json:
        output.print_json(summary.as_json())
