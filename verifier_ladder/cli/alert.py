"""`vladder alert`: what there is to be told of a ledger, and whether whoever should hear does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import existing_ledger
from verifier_ladder.errors import ConfigError, ToolError

if TYPE_CHECKING:
    from verifier_ladder.alerts import AlertRules

app = output.Noun(help="List what is alerted about, try it out.")
RulesAt = Annotated[
    Path | None,
    typer.Option("--rules", help="TOML file with a section [alerts]. [default: VLADDER_ALERTS]"),
]


@app.command("ls")
def ls(
    ledger: options.LedgerAt = None, rules: RulesAt = None, *, as_json: options.AsJson = False
) -> None:
    """List what there is to be told of, as the ledger stands.

    Nobody is told by it.
    """
    from verifier_ladder.alerts.causes import causes

    with existing_ledger(ledger) as store:
        found = list(causes(store, _rules(rules)))
    if as_json:
        output.print_json([cause.as_json() for cause in found])
        return
    made = output.table("about", "campaign", "what")
    for cause in found:
        made.add_row(cause.kind, cause.campaign, cause.text)
    output.console().print(made if found else "nothing to be told")


@app.command("test")
def test(rules: RulesAt = None, *, as_json: options.AsJson = False) -> None:  # noqa: PT028 - a command, no test
    """Send a test alert to everybody whom the rules name."""
    from verifier_ladder.alerts.causes import Cause
    from verifier_ladder.alerts.delivery import receivers

    cause = Cause("test", "test", "", "this is a test alert of verifier-ladder")
    rows = []
    for name, deliver in receivers(_rules(rules)):
        try:
            deliver(cause)
            rows.append({"receiver": name, "error": None})
        except ToolError as error:
            rows.append({"receiver": name, "error": str(error)})
        if not as_json:
            output.say(f"{name}: {rows[-1]['error'] or 'delivered'}")
    if as_json:
        output.print_json(rows)
    if any(row["error"] for row in rows):
        raise typer.Exit(output.Exit.FAILED)


def _rules(path: Path | None) -> AlertRules:
    from verifier_ladder.alerts import load_rules
    from verifier_ladder.settings import load_settings

    place = path or load_settings().alerts
    if place is None:
        raise ConfigError(
            "say who is told: --rules FILE or VLADDER_ALERTS, with a section [alerts]"
        )
    return load_rules(place)
