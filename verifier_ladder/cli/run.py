"""`vladder run`: runs, their report cards, and what their samples are good for afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.curriculum import curriculum
from verifier_ladder.cli.opening import ledger_to_read, only_campaign
from verifier_ladder.cli.training import export
from verifier_ladder.private import private_text

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.runs import FoundRun

app = output.Noun(help="List runs, write report cards, export training sets.")


@app.command("ls")
def ls(
    ledger: options.LedgerAt = None,
    campaign: options.OnlyCampaign = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """List the runs of the ledger, newest first."""
    from verifier_ladder.runs import list_runs

    with ledger_to_read(ledger) as store:
        home = None if campaign is None else only_campaign(store, campaign).name
        found = [run for run in list_runs(store) if home in {None, run.campaign.name}]
        rows = [_row(store, run) for run in reversed(found)]
    if as_json:
        output.print_json(rows)
        return
    names = ("run", "campaign", "project", "user", "last step", "begun (UTC)")
    made = output.table(*names, right=("last step",))
    for row in rows:
        begun = output.moment(row["recorded_at"])
        named = (row["name"], row["campaign"], row["project"], row["user"])
        made.add_row(*named, "–" if row["last_step"] is None else str(row["last_step"]), begun)
    output.console().print(made if rows else "no runs yet")


def _row(store: Ledger, run: FoundRun) -> dict[str, Any]:
    next_step = store.next_step(run.campaign.name, run.name)
    return {
        "name": run.name, "campaign": run.campaign.name, "recorded_at": run.recorded_at,
        "project": run.facts.get("project", ""), "user": run.facts.get("user", ""),
        "labels": dict(run.facts.get("labels") or {}), "evaluation": run.evaluation,
        "last_step": next_step - 1 if next_step else None,
    }  # fmt: skip


@app.command("report")
def report(
    name: options.RunName = None,
    ledger: options.LedgerAt = None,
    *,
    campaign: options.OfCampaign = None,
    at: options.AtSize = None,
    pass_at: options.PassAt = None,
    evaluation: options.OfEvaluation = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Markdown file to write. [default: stdout]"),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a run's report card.

    It tells what the run rests on, how it did, and what audits found.
    """
    from verifier_ladder.reportcard import as_markdown, report_card

    with ledger_to_read(ledger) as store:
        card = report_card(
            store, name, campaign=campaign, at=at, pass_at=pass_at, evaluation=evaluation or None
        )
    if as_json:
        output.print_json(card.as_json())
        return
    text = as_markdown(card)
    if card.pass_at is None:
        output.say(
            "which reward passes? say so with --pass-at REWARD; pass@k and hack share need it"
        )
    if out is None:
        output.console().print(text, end="", soft_wrap=True)
        return
    private_text(out, text)
    output.say(f"report card of {card.run} written to {out}")


app.command("export")(export)
app.command("curriculum")(curriculum)
