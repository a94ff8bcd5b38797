"""`vladder run`: runs, their report cards, and what their samples are good for afterwards."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_to_read, only_campaign
from verifier_ladder.cli.training import export
from verifier_ladder.private import private_file, private_text
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.curriculum import Curriculum, Passes
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.runs import FoundRun

app = output.Noun(help="List runs, write report cards, export training sets.")


_PROMPT = 44


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
    made = output.table(*names, right=("last step",), whole="run")
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


@app.command("curriculum")
def curriculum(
    name: options.RunName = None,
    ledger: options.LedgerAt = None,
    *,
    campaign: options.OfCampaign = None,
    at: options.AtSize = None,
    pass_at: options.PassAt = None,
    floor: Annotated[
        float,
        typer.Option("--floor", min=0, max=1, help="Share of draws that all tasks get alike."),
    ] = 0.1,
    half_life: Annotated[
        float | None,
        typer.Option("--half-life", min=0, help="Steps until a pass counts half."),
    ] = None,
    limit: options.Limit = 20,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="JSON lines with each task's weight."),
    ] = None,
    evaluation: options.OfEvaluation = False,
    as_json: options.AsJson = False,
) -> None:
    """Show which tasks a policy passes, and weigh them.

    The weights are for a sampler of tasks.
    A task's weight is what is expected of its pass rate times its fail rate: tasks that it passes
    half of the time teach most.
    """
    from verifier_ladder.curriculum import Weighting
    from verifier_ladder.curriculum import curriculum as read

    weighting = Weighting(floor=floor, half_life=half_life)
    with ledger_to_read(ledger) as store:
        found = read(
            store, name, campaign=campaign, at=at, pass_at=pass_at, weighting=weighting,
            evaluation=evaluation,
        )  # fmt: skip
    if out is not None:
        _write_weights(out, found)
    output.print_found(found, partial(_tell_curriculum, limit=limit), as_json=as_json)


def _write_weights(path: Path, found: Curriculum) -> None:
    import orjson

    rows = [
        {"task": t.task, "groups": t.groups, "prompt": t.prompt, "weight": t.weight}
        for t in found.tasks
    ]
    with private_file(path) as file:
        file.writelines(orjson.dumps(row) + b"\n" for row in rows)
    output.say(f"the weights of {len(rows):,} tasks are in {path}")


def _tell_curriculum(found: Curriculum, limit: int) -> None:

    screen, whole = output.console(), found.passes
    screen.print(
        f"{len(found.tasks):,} tasks of run {printable(found.run)}; a sample passes at "
        f"{found.pass_at:g} or more", soft_wrap=True,
    )  # fmt: skip
    numbers = ("pass", "unknown", "all pass", "mixed", "all fail")
    listed = output.table(
        "step", "learner", *numbers, right=numbers, title="Groups, newest steps last"
    )
    for visit in found.steps[-limit:]:
        listed.add_row(str(visit.step), printable(visit.learner_version), *_counts(visit.passes))
    listed.add_row("all", "", *_counts(whole))
    screen.print(listed)
    right = ("weight", *numbers)
    listed = output.table("task", *right, right=right, title="Tasks, the most to learn from first")
    for task in found.tasks[:limit]:
        named = task.prompt if task.prompt is not None else task.groups[0] or task.task
        listed.add_row(printable(named, _PROMPT), f"{task.weight:.2%}", *_counts(task.passes))
    screen.print(listed)
    if len(found.tasks) > limit:
        output.say(f"{len(found.tasks) - limit:,} more tasks: --limit, --out or --json")


def _counts(passes: Passes) -> tuple[str, ...]:
    rate = "–" if passes.rate is None else f"{passes.rate:.0%}"
    groups = (passes.all_pass, passes.mixed, passes.all_fail)
    return rate, f"{passes.abstained:.0%}", *(f"{count:,}" for count in groups)
