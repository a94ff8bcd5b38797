"""`vladder score`: rewards for a file of rollouts, without any training."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.budgets import Budgets, budgets
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.opening import ledger_place
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.forecast import Forecast
    from verifier_ladder.rollouts import Progress
    from verifier_ladder.rollouts.scoring import Report

_SLOW = 2.0
"""Seconds after which a person wants to see that something happens."""


def score(
    *,
    file: Annotated[Path, typer.Argument(help="JSON lines, CSV or TSV (also gzip), or Parquet.")],
    ladder: options.LadderFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="Table to write: .parquet, .jsonl or .csv.")
    ] = None,
    ledger: options.LedgerAt = None,
    imports: Imported = None,
    content: Annotated[
        str | None, typer.Option("--content", help="Column of the completion.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task", help="Column of the task, or FIELD=COLUMN; repeat it for several columns."
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Column that names the prompt.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="Column of the prompt, which is then kept.")
    ] = None,
    campaign: options.NewCampaign = None,
    deadline: Annotated[
        str | None, typer.Option("--deadline", help='How long higher tiers may take: "10 min".')
    ] = None,
    pass_at: options.PassAt = None,
    budget: Budgets = None,
    workers: options.Workers = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for tiers above the lowest.")
    ] = True,
    evaluation: Annotated[
        bool,
        typer.Option("--evaluation", help="The rows evaluate a policy: nothing is to train on."),
    ] = False,
    strict: options.Strict = False,
    as_json: options.AsJson = False,
) -> None:
    """Score a file of rollouts: mean reward, pass@k, costs.

    Rows that can't be read are named by line, and stop nothing.
    Run the same command again after an interruption: finished rows come from the ledger.
    """
    from verifier_ladder.rollouts import score_file
    from verifier_ladder.settings import load_settings

    settings = load_settings()
    import_all(imports)
    try:
        with _progress(file.name) as report:
            scored = score_file(
                file, ladder=ladder, ledger=ledger_place(ledger), out=out, campaign=campaign,
                columns=_columns(content, task, group, prompt), deadline=deadline, wait=wait,
                pass_at=pass_at, workers=workers or settings.workers,
                memory=settings.worker_memory, report=report, evaluation=evaluation,
                budget=budgets(budget), when_planned=_tell_plan,
            )  # fmt: skip
    except KeyboardInterrupt:
        output.interrupted("Run the same command again: finished rows come from the ledger.")
    output.print_found(
        scored, lambda _: output.console().print(scored.summary(), soft_wrap=True), as_json=as_json
    )
    failed = not scored.rewards or (strict and scored.bad_rows)
    raise typer.Exit(output.Exit.FAILED if failed else output.Exit.OK)


def _tell_plan(plan: Forecast) -> None:
    """Say on stderr what will be asked, before it is."""
    from verifier_ladder.cli.forecast import plan_lines
    from verifier_ladder.summary.amounts import plural

    screen = output.console(to_stderr=True)
    if not plan.horizon:
        screen.print("No candidate is new: nothing is planned.")
        return
    new = plural(plan.horizon, "candidate")
    screen.print(f"Plan for {new}, if all pass the fast tier:")
    for line in plan_lines(plan):
        screen.print(line, soft_wrap=True)


def _columns(
    content: str | None, task: list[str] | None, group: str | None, prompt: str | None
) -> Mapping[str, Any]:
    """The options as `score_file` takes them."""
    given: dict[str, Any] = {"content": content, "group": group, "prompt": prompt}
    if task and (len(task) > 1 or "=" in task[0]):
        pairs = [item.partition("=") for item in task]
        given["task"] = {field: column or field for field, _, column in pairs}
    elif task:
        given["task"] = task[0]
    return {part: column for part, column in given.items() if column is not None}


@contextlib.contextmanager
def _progress(name: str) -> Iterator[Report]:
    """Show how far it is on stderr, once it takes longer than a moment."""
    from time import monotonic

    from verifier_ladder.cli.live import LiveView

    started, screen = monotonic(), output.console(to_stderr=True)
    with contextlib.ExitStack() as stack:
        views: list[LiveView] = []

        def report(progress: Progress) -> None:
            is_over = progress.done == progress.total and progress.status is None
            if monotonic() - started < _SLOW or (is_over and not views):
                return
            if not views:
                views.append(stack.enter_context(LiveView(screen, printable(name))))
            views[0].update(progress.status, f"{progress.done:,} of {progress.total:,} rows")

        yield report
