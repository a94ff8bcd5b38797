"""`vladder campaign import`: old verdicts into a campaign, before or while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.opening import ledger_place

IMPORTS = "imports"
"""The run that the campaign is opened with; no sample belongs to it."""


def import_(
    name: Annotated[str, typer.Argument(help="The campaign; it is begun if there is none.")],
    file: Annotated[Path, typer.Argument(help="CSV, JSON lines (also gzip) or Parquet.")],
    ladder: options.LadderFile,
    *,
    source: Annotated[
        str | None, typer.Option("--source", help="Where it comes from. [default: the file]")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", help="PART=COLUMN: content, task or a verifier; may be repeated."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", help="A column to leave out; may be repeated.")
    ] = None,
    imports: Imported = None,
    ledger: options.LedgerAt = None,
    strict: options.Strict = False,
    as_json: options.AsJson = False,
) -> None:
    """Take old scores over, so that nothing is paid for twice.

    Beliefs learn from them too.

    One row per candidate: the column `content`, and one column per verifier with its score, true
    or false; an empty cell was not asked. The same file again changes nothing.
    """
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.settings import load_settings

    settings = load_settings()
    import_all(imports)
    with Campaign.open(
        name, ladder=ladder, ledger=ledger_place(ledger), run=IMPORTS, workers=settings.workers,
        memory=settings.worker_memory,
    ) as campaign:  # fmt: skip
        report = campaign.import_verdicts(
            file, source=source or file.name, columns=_columns(column or []), ignore=ignore or []
        )
    output.print_found(
        report, lambda _: output.console().print(report.summary(), soft_wrap=True), as_json=as_json
    )
    raise typer.Exit(output.Exit.FAILED if strict and report.bad_rows else output.Exit.OK)


def _columns(given: list[str]) -> dict[str, str]:
    """The options as `Campaign.import_verdicts` takes them."""
    pairs = [item.partition("=") for item in given]
    return {part: column for part, _, column in pairs}
