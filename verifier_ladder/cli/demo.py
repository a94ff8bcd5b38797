"""`vladder demo`: the solvation campaign, from candidates to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from verifier_ladder.cli.output import Exit, console, interrupted


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
) -> None:
    """Run the solvation campaign: 62 outputs climb four tiers."""
    from contextlib import nullcontext

    from verifier_ladder.demo import fleet, run_demo

    out = console()
    try:
        with fleet(out) if distributed else nullcontext(ledger) as place:
            places: dict[str, Any] = {"ledger": place, "report": report}
            given = {name: place for name, place in places.items() if place is not None}
            code = run_demo(quick=quick, lasts=not distributed, console=out, **given)
    except KeyboardInterrupt:
        interrupted("Run the same command again: it goes on where it stopped.")
    raise typer.Exit(code or Exit.OK)
