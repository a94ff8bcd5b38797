"""`vladder campaign`: what campaigns there are, and where one of them stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.cancel import cancel
from verifier_ladder.cli.forecast import forecast
from verifier_ladder.cli.imports import import_
from verifier_ladder.cli.opening import existing_ledger, ledger_to_read, only_campaign
from verifier_ladder.cli.pausing import pause, resume
from verifier_ladder.cli.shadow import shadow
from verifier_ladder.cli.spend import spend

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger

app = output.Noun(help="List campaigns; show, watch, forecast, pause or cancel one.")


@app.command("ls")
def ls(ledger: options.LedgerAt = None, *, as_json: options.AsJson = False) -> None:
    """List the campaigns of the ledger, newest first."""
    with ledger_to_read(ledger) as store:
        rows = [_row(store, row) for row in reversed(store.campaigns())]
    if as_json:
        output.print_json(rows)
        return
    made = output.table("campaign", "ladder", "tiers", "runs", "begun (UTC)", right=("runs",))
    for row in rows:
        begun = output.moment(row["created_at"])
        tiers = " → ".join(row["tiers"])
        made.add_row(row["name"], row["ladder"], tiers, str(len(row["runs"])), begun)
    output.console().print(made if rows else "no campaigns yet")


def _row(store: Ledger, row: Any) -> dict[str, Any]:
    from verifier_ladder.tier import Tier

    tiers = sorted({Tier.parse(v["tier"]) for v in row.ladder["verifiers"]})
    return {
        "name": row.name, "ladder": row.ladder["name"], "created_at": row.created_at,
        "tiers": [tier.label for tier in tiers], "runs": [r["name"] for r in store.runs(row.name)],
    }  # fmt: skip


@app.command("show")
def show(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Show one campaign: funnel, costs, rewards, the best.

    Rejects are told apart from failures.
    """
    from verifier_ladder.summary import print_summary, summarise

    with ledger_to_read(ledger) as store:
        summary = summarise(store, only_campaign(store, name).name)
    output.print_found(
        summary, lambda told: print_summary(told, output.console()), as_json=as_json
    )


@app.command("report")
def report(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="HTML file to write.")] = Path(
        "report.html"
    ),
    *,
    as_json: options.AsJson = False,
) -> None:
    """Write a campaign's report, one HTML file.

    It opens without a network.
    """
    from verifier_ladder.report import write_report

    with ledger_to_read(ledger) as store:
        found = only_campaign(store, name).name
        written = write_report(store, found, out)
    facts = {"campaign": found, "report": written}
    output.say_done(facts, f"report of {found} written to {written}", as_json=as_json)


@app.command("watch")
def watch(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    every: Annotated[
        float, typer.Option("--every", min=0.1, max=86400, help="Seconds between two looks.")
    ] = 1.0,
    *,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Watch every tier of a campaign at work, until Ctrl-C.

    Nothing is run or changed by it.
    """
    with existing_ledger(ledger) as store:
        found = only_campaign(store, name).name
        try:
            if as_json:
                _lines(store, found, every, once=once)
            else:
                _draw(store, found, every, once=once)
        except KeyboardInterrupt:
            output.interrupted(
                f"Nothing was stopped; `vladder campaign show {found}` tells the rest."
            )


def _draw(store: Ledger, name: str, every: float, *, once: bool) -> None:
    from time import sleep

    from verifier_ladder.cli.live import Drawing, LiveView
    from verifier_ladder.status import campaign_status

    if once:
        output.console().print(Drawing(campaign_status(store, name), name))
        return
    with LiveView(output.console(), name) as view:
        while True:
            view.update(campaign_status(store, name))
            sleep(every)


def _lines(store: Ledger, name: str, every: float, *, once: bool) -> None:
    """One JSON object a line, whenever something has changed."""
    import sys
    from time import sleep

    from verifier_ladder.status import campaign_status

    last = None
    while True:
        facts = campaign_status(store, name).as_json()
        if facts != last:
            output.print_json(facts, is_line=True)
            sys.stdout.flush()
            last = facts
        if once:
            return
        sleep(every)


app.command("cancel")(cancel)
app.command("forecast")(forecast)
app.command("import")(import_)
app.command("pause")(pause)
app.command("resume")(resume)
app.command("shadow")(shadow)
app.command("spend")(spend)
