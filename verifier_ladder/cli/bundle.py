"""`vladder campaign bundle`: the pages of a campaign as files to send or to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_place, ledger_to_read, only_campaign
from verifier_ladder.errors import ConfigError


def bundle(
    into: Annotated[
        Path, typer.Option("--into", metavar="FOLDER", help="A new folder for the pages.")
    ],
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    candidates: Annotated[
        int, typer.Option("--candidates", min=0, help="Candidates with a page of their own.")
    ] = 100,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Write the pages of `vladder view` about a campaign as files.

    They open without a server, a network or a script; `index.html` comes first. The best, the
    most overrated and the failed candidates have pages of their own.
    """
    try:
        from verifier_ladder.server.pages.saving import write_bundle
    except ModuleNotFoundError as error:
        raise ConfigError(f"pages need {error.name}; pip install '.[server]' in a clone") from None
    with ledger_to_read(ledger) as store:
        found = only_campaign(store, name).name
    made = write_bundle(ledger_place(ledger), found, into, candidates=candidates)
    words = (
        f"{made.pages} pages of {found} written to {made.folder}; open "
        f"{made.folder / 'index.html'}"
    )
    if made.left_out:
        words += f". {made.left_out} candidates of its lists have no page: --candidates takes more"
    output.say_done({"campaign": found, **made._asdict()}, words, as_json=as_json)
