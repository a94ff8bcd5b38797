"""Options and arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
LedgerAt = Annotated[
    str | None,
    typer.Option(
        "--ledger", metavar="PATH", help="The ledger. [default: VLADDER_LEDGER, or ledger.db]"
    ),
]


Workers = Annotated[
    int | None, typer.Option("--workers", min=1, max=4096, help="Worker processes.")
]
CampaignName = Annotated[str | None, typer.Argument(help="The campaign. [default: the newest]")]
InCampaign = Annotated[
    str | None, typer.Option("--campaign", help="The campaign. [default: the newest]")
]
OnlyCampaign = Annotated[str | None, typer.Option("--campaign", help="Only this campaign.")]
NewCampaign = Annotated[
    str | None, typer.Option("--campaign", help="Its name. [default: the ladder's]")
]
LadderFile = Annotated[Path, typer.Option("--ladder", help="The ladder, in TOML.")]
RecordedLadder = Annotated[
    Path | None,
    typer.Option("--ladder", help="The ladder's TOML, if its verifiers aren't installed."),
]
AnsweredBy = Annotated[str | None, typer.Option("--by", help="Who answers. [default: you]")]
RunName = Annotated[str | None, typer.Argument(help="The run. [default: the newest]")]
OfCampaign = Annotated[
    str | None,
    typer.Option("--campaign", help="Its campaign, if several have a run of this name."),
]
AtSize = Annotated[
    int | None,
    typer.Option("--at", metavar="SIZE", min=1, help="As of the checkpoint of this size."),
]
PassAt = Annotated[
    float | None, typer.Option("--pass-at", help="Reward at which a sample passes.")
]
OfEvaluation = Annotated[
    bool,
    typer.Option("--evaluation", help="The run's evaluation instead, which is kept apart."),
]
Limit = Annotated[int, typer.Option("--limit", min=1, help="How many to list.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if a row is bad.")]
VerifierAt = Annotated[
    str, typer.Argument(help="Its name, module:attribute, or file.py:attribute.")
]
