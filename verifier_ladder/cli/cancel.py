"""`vladder campaign cancel`: end the climbs of samples that nobody wants any more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verifier_ladder.cli.code import Imported, import_code
from verifier_ladder.cli.output import AsJson, Exit, LedgerAt, print_json, say

Name = Annotated[str | None, typer.Argument(help="The campaign. [default: the newest]")]


def cancel(
    run: Annotated[str, typer.Option("--run", help="The run whose samples are meant.")],
    name: Name = None,
    ledger: LedgerAt = None,
    *,
    step: Annotated[int | None, typer.Option("--step", help="Only those of this step.")] = None,
    positions: Annotated[
        list[int] | None,
        typer.Option("--position", help="Only the sample at this position; may repeat."),
    ] = None,
    at_work: Annotated[
        bool, typer.Option("--at-work", help="Abandon checks at work too.")
    ] = False,
    imports: Imported = None,
    ladder: Annotated[
        Path | None,
        typer.Option("--ladder", help="The campaign's ladder in TOML. [default: as recorded]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cancel what a run still waits for; what others want too goes on, and they pay.

    Every sample keeps the reward that follows from what is known by now.
    """
    from verifier_ladder.cli.opening import existing_ledger, only_campaign
    from verifier_ladder.cli.reopening import reopened

    for where in imports or []:
        import_code(where)
    with existing_ledger(ledger) as store:
        row = only_campaign(store, name)
        with reopened(row, store, ladder, engine="workers") as campaign:
            done = campaign.cancel(run, step=step, positions=positions, at_work=at_work)
    if as_json:
        print_json(done._asdict())
    else:
        say(f"{done.samples} samples wait no more; {done.checks} checks are cancelled")
    if not done.samples:
        raise typer.Exit(Exit.FAILED)
