"""`vladder campaign pause` and `resume`: hold a tier back, and let it go on."""

from __future__ import annotations

from typing import Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import existing_ledger, only_campaign

TierOption = Annotated[str, typer.Option("--tier", help="Which tier.")]


def pause(
    tier: TierOption,
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Start no more checks of a tier, until it is resumed.

    Those at work finish, and nothing is lost.
    """
    found = _set(tier, name, ledger, is_paused=True)
    words = (
        f"{tier} of {found} is paused. `vladder campaign resume {found} --tier {tier}` goes on."
    )
    output.say_done({"campaign": found, "tier": tier, "paused": True}, words, as_json=as_json)


def resume(
    tier: TierOption,
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Let a paused tier go on."""
    found = _set(tier, name, ledger, is_paused=False)
    words = f"{tier} of {found} goes on; a running engine notices within seconds."
    output.say_done({"campaign": found, "tier": tier, "paused": False}, words, as_json=as_json)


def _set(label: str, name: str | None, ledger: str | None, *, is_paused: bool) -> str:
    from verifier_ladder.status import tiers_of
    from verifier_ladder.tier import tier_of

    with existing_ledger(ledger) as store:
        row = only_campaign(store, name)
        tier = tier_of(tiers_of(row), label)
        change = store.pause if is_paused else store.resume
        change(row.name, int(tier))
    return row.name
