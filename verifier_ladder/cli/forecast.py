"""`vladder campaign forecast`: what a campaign will spend, and what twice the budget would buy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.budgets import Budgets, budgets
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.opening import existing_ledger, only_campaign

if TYPE_CHECKING:
    from verifier_ladder.forecast import AccountForecast, Forecast, TierForecast


_SAMPLES = 1024
_UNITS = {
    "cpu_seconds": "of cpu time", "gpu_seconds": "of gpu time", "money": "of money",
    "person_minutes": "of people's time",
}  # fmt: skip
_NOTHING = (
    "Nothing was decided yet; `vladder campaign forecast --ladder FILE --samples N` looks ahead "
    "from what the ladder declares."
)


def forecast(
    name: options.CampaignName = None,
    *,
    ledger: options.LedgerAt = None,
    ladder: Annotated[
        Path | None,
        typer.Option("--ladder", metavar="FILE", help="Foresee a ladder that has not begun yet."),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            metavar="N",
            min=1,
            help="How many samples it will get in all. [default: its horizon; 1024 for a ladder]",
        ),
    ] = None,
    group_size: Annotated[
        float,
        typer.Option(
            "--group-size",
            metavar="N",
            min=1,
            help="How many samples a group has, before any came: they share the checks of "
            "verifiers that compare groups.",
        ),
    ] = 1.0,
    budget: Budgets = None,
    imports: Imported = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate what a campaign will spend, and when caps bind.

    It also tells what twice the budget would buy.
    """
    import_all(imports)
    if ladder:
        made = _foreseen(ladder, samples or _SAMPLES, budgets(budget), group_size)
    else:
        made = _recorded(name, ledger, samples, group_size)
    output.print_found(made, _tell, as_json=as_json)


def _foreseen(
    path: Path, samples: int, budget: dict[str, Any] | None, group_size: float
) -> Forecast:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.scheduler.foresight import foresee

    return foresee(Ladder.from_toml(path), samples, budget, group_size=group_size)


def _recorded(
    name: str | None, ledger: str | None, samples: int | None, group_size: float
) -> Forecast:
    """A campaign's forecast; of one that has not begun, what its ladder declares."""
    from verifier_ladder.cli.reopening import known_ladder
    from verifier_ladder.forecast import forecast as look_ahead
    from verifier_ladder.scheduler.foresight import foresee

    with existing_ledger(ledger) as store:
        row = only_campaign(store, name)
        made = look_ahead(store, row.name, samples)
        ladder = None if made.samples or not made.horizon else known_ladder(row)
        if ladder is None:
            return made
        accounts = store.accounts(row.name)
        foreseen = foresee(ladder, made.horizon, accounts=accounts, group_size=group_size)
        return replace(foreseen, name=row.name)


def _tell(made: Forecast) -> None:
    screen = output.console()
    reason = (
        "nobody said how many come; --samples N looks further" if made.is_assumed else "as planned"
    )
    screen.print(
        f"{made.name}: {made.samples:,} samples so far, {made.horizon:,} at the horizon "
        f"({reason}). All that follows is an estimate.", soft_wrap=True,
    )  # fmt: skip
    if made.accounts:
        numbers = ("spent", "cap", "at the horizon", "per check", "twice buys")
        rows = output.table("account", *numbers, "binds", right=numbers)
        for account in made.accounts:
            rows.add_row(*_row(account, made.horizon))
        screen.print(rows)
    for line in [*plan_lines(made), *_lines(made)]:
        screen.print(line, soft_wrap=True)


def plan_lines(made: Forecast) -> list[str]:
    """What each tier is asked, in words: "high_fidelity (dft) 47 of 47, 4 min"."""
    return [f"  {_planned(tier, is_top=tier is made.tiers[-1])}" for tier in made.tiers]


def _planned(tier: TierForecast, *, is_top: bool) -> str:
    from verifier_ladder.resource import Resource
    from verifier_ladder.summary.amounts import shown_in

    who = f"{tier.tier.label} ({', '.join(tier.verifiers)})"
    if tier.closed:
        return f"{who}: none of {tier.samples:,}, but what it answers by itself; {tier.closed}"
    count = f"{tier.chosen:,.0f} of {tier.samples:,}"
    if is_top and tier.drawn:
        count = f"{tier.drawn:,.0f} drawn + {tier.chosen:,.0f} best of {tier.samples:,}"
    amounts = [
        f"about {shown_in(Resource.parse(name))(amount)} {_UNITS[name]}".rstrip()
        for name, amount in tier.amounts.items()
    ]
    is_asked = round(tier.chosen + tier.drawn) > 0
    return ", ".join([f"{who}: {count}", *(amounts if is_asked else [])])


def _row(account: AccountForecast, horizon: int) -> list[str]:
    from verifier_ladder.budget import place_label
    from verifier_ladder.summary.amounts import shown_in

    show = shown_in(account.resource)
    binds = "·"
    if account.binds_at is not None:
        is_paced = account.binds_at >= horizon
        binds = "paced to the horizon" if is_paced else f"at sample {account.binds_at:,}"
    return [
        f"{place_label(account.tier)}, {account.resource.unit}", show(account.spent),
        "·" if account.cap is None else show(account.cap),
        "–" if account.expected is None else show(account.expected),
        "–" if account.per_check is None else show(account.per_check),
        "·" if account.doubled is None else f"{account.doubled:,.0f} checks", binds,
    ]  # fmt: skip


def _lines(made: Forecast) -> list[str]:
    if made.verified is None or made.doubled is None:
        return [_NOTHING]
    top = made.tiers[-1].tier if made.tiers else None
    if any(account.cap == 0.0 for account in made.accounts if account.tier == top):
        return ["The top tier has no budget: it verifies what it answers by itself."]
    now, then = made.verified * made.horizon, made.doubled * made.horizon
    share = f"{now:,.0f} of {made.horizon:,} samples ({made.verified:.1%})"
    more = f"with twice the budget {then - now:,.0f} more"
    lines = [f"The top tier verifies about {share}; {more}."]
    if made.variance and made.doubled_variance is not None:
        left = f"{made.variance:.3g} to {made.doubled_variance:.3g}"
        lines.append(f"Mean variance left would fall from {left}.")
    return lines
