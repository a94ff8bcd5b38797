"""`vladder campaign pause` and `resume`: hold a tier back, and let it go on."""

from __future__ import annotations

from typing import Annotated

import typer

from verifier_ladder.cli.opening import existing_ledger, only_campaign
from verifier_ladder.cli.output import AsJson, LedgerAt, print_json, say

Name = Annotated[str | None, typer.Argument(help="The campaign. [default: the newest]")]
TierOption = Annotated[str, typer.Option("--tier", help="Which tier.")]


def pause(
    tier: TierOption, name: Name = None, ledger: LedgerAt = None, *, as_json: AsJson = False
) -> None:
    """Start no more checks of a tier, until it is resumed.

    Those at work finish, and nothing is lost.
    """
    found = _set(tier, name, ledger, is_paused=True)
    if as_json:
        print_json({"campaign": found, "tier": tier, "paused": True})
        return
    say(f"{tier} of {found} is paused. `vladder campaign resume {found} --tier {tier}` goes on.")


def resume(
    tier: TierOption, name: Name = None, ledger: LedgerAt = None, *, as_json: AsJson = False
) -> None:
    """Let a paused tier go on."""
    found = _set(tier, name, ledger, is_paused=False)
    if as_json:
        print_json({"campaign": found, "tier": tier, "paused": False})
        return
    say(f"{tier} of {found} goes on; a running engine notices within seconds.")


def _set(label: str, name: str | None, ledger: str | None, *, is_paused: bool) -> str:
    from verifier_ladder.status import tiers_of
    from verifier_ladder.tier import tier_of

    with existing_ledger(ledger) as store:
        row = only_campaign(store, name)
        tier = tier_of(tiers_of(row), label)
        change = store.pause if is_paused else store.resume
        change(row.name, int(tier))
    return row.name
