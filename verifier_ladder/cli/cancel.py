"""`vladder campaign cancel`: end the climbs of samples that nobody wants any more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.opening import existing_ledger, only_campaign
from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn


def cancel(
    run: Annotated[str, typer.Option("--run", help="The run whose samples are meant.")],
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    *,
    step: Annotated[int | None, typer.Option("--step", min=0, help="Only this step.")] = None,
    positions: Annotated[
        list[int] | None,
        typer.Option("--position", min=0, help="Only the sample at this position; may repeat."),
    ] = None,
    at_work: Annotated[
        bool, typer.Option("--at-work", help="Abandon checks at work too.")
    ] = False,
    imports: Imported = None,
    ladder: Annotated[
        Path | None,
        typer.Option("--ladder", help="The campaign's ladder in TOML. [default: as recorded]"),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Cancel what a run still waits for.

    What others want too goes on, and they pay. Every sample keeps the reward that follows from
    what is known by now. A campaign that is open elsewhere is cancelled there, through the ledger.
    """
    from verifier_ladder.cli.reopening import reopened
    from verifier_ladder.scheduler.withdrawal import Wanted

    import_all(imports)
    with existing_ledger(ledger) as store:
        row = only_campaign(store, name)
        _check_run(store, row.name, run)
        conductor = store.conductor(row.name)
        if conductor is not None:
            wanted = Wanted(run, step, positions and frozenset(positions))
            done = _asked(store, row.name, conductor, wanted, at_work=at_work)
        else:
            with reopened(row, store, ladder, engine="workers") as campaign:
                done = campaign.cancel(run, step=step, positions=positions, at_work=at_work)
    words = f"{done.samples} samples wait no more; {done.checks} checks are cancelled"
    output.say_done(done._asdict(), words, as_json=as_json)
    if not done.samples:
        raise typer.Exit(output.Exit.FAILED)


def _check_run(store: Ledger, campaign: str, run: str) -> None:
    """Refuse a run that the campaign does not have."""
    known = [str(row["name"]) for row in store.runs(campaign)]
    if run not in known:
        newest = ", ".join(known[:-6:-1]) or "none"
        raise ConfigError(f"campaign {campaign!r} holds no run {run!r}; the newest are: {newest}")


def _asked(
    store: Ledger, campaign: str, conductor: str, wanted: Wanted, *, at_work: bool
) -> Withdrawn:
    """Have the campaign's conductor do it; the ladder need not be known here."""
    from verifier_ladder.scheduler.cancellations import cancel_from_afar

    done = cancel_from_afar(store, campaign, wanted, at_work=at_work)
    if done is None:
        output.say(
            f"{conductor}, which has {campaign} open, was asked and has not answered yet; it is "
            "done as soon as it does, or when the campaign is opened the next time"
        )
        raise typer.Exit(output.Exit.FAILED)
    return done
