"""`vladder demo`: campaigns to look at, from candidates to a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console


class Demo(NamedTuple):
    """One demo."""

    run: Callable[..., dict[str, Any]]
    """Runs it on a console, with the options that were given; tells what came of it, as JSON."""
    options: frozenset[str]
    """Options that it takes, beside `ledger` and `report`."""
    interrupted: str
    """What Ctrl-C leaves."""


def _solvation(
    console: Console, *, quick: bool = False, distributed: bool = False, **places: Any
) -> dict[str, Any]:
    from contextlib import nullcontext

    from verifier_ladder.demo.distributed import fleet
    from verifier_ladder.demo.running import run_demo

    with fleet(console) if distributed else nullcontext(places.pop("ledger", None)) as ledger:
        given = {**places, "ledger": ledger} if ledger is not None else places
        return run_demo(quick=quick, lasts=not distributed, console=console, **given).as_json()


def _cheaters(console: Console, **places: Any) -> dict[str, Any]:
    from verifier_ladder.demo.training import run_cheaters

    alone, audited = run_cheaters(console=console, **places)
    return {"exit_code": alone.as_json(), "audited": audited.as_json()}


def _market(console: Console, **given: Any) -> dict[str, Any]:
    from verifier_ladder.demo.market import run_market

    return run_market(console=console, **given).as_json()


def _crystal(console: Console, **given: Any) -> dict[str, Any]:
    from verifier_ladder.demo.crystalsearch import run_crystal

    return run_crystal(console=console, **given).as_json()


DEMOS = {
    "solvation": Demo(
        _solvation, frozenset({"quick", "distributed"}),
        "Nothing is lost: run the same command again and it goes on from here.",
    ),
    "cheaters": Demo(
        _cheaters, frozenset({"seed"}), "Run the same command again: it trains anew."
    ),
    "market": Demo(
        _market, frozenset({"seed"}), "Run the same command again: it asks for another price."
    ),
    "crystal": Demo(
        _crystal, frozenset({"seed"}), "Run the same command again: it searches anew."
    ),
}  # fmt: skip
"""All demos, by name."""


def demo(
    name: Annotated[
        str,
        typer.Argument(
            help="solvation; cheaters: a policy that games its reward; market: sealed forecasts; "
            "crystal: atoms in one place."
        ),
    ] = "solvation",
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="Where to keep the demo's ledger.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Where to write the HTML report.")
    ] = None,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer candidates and a smaller budget.")
    ] = False,
    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed", help="On PostgreSQL and Redis, started for it, with two worker hosts."
        ),
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of what is drawn. [default: by chance]")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the solvation campaign, or another demo.

    `solvation`: 62 outputs climb four tiers. `cheaters`: a small policy is trained twice on a
    reward that can be fooled, alone and audited. `market`: forecasts are sealed before a price is
    told, and copies come too late. `crystal`: a search for stable alloys is paid for atoms in one
    place, without a gate and with one. The last two exit with 1 if anything they claim is not so.
    """
    found = DEMOS.get(name)
    if found is None:
        raise ConfigError(f"there is no demo {name!r}; there are {', '.join(DEMOS)}")
    wanted = {"quick": quick or None, "distributed": distributed or None, "seed": seed}
    chosen = {option: value for option, value in wanted.items() if value is not None}
    if unknown := sorted(chosen.keys() - found.options):
        raise ConfigError(f"the demo {name} has no --{unknown[0]}: leave it out")
    places = {"ledger": ledger, "report": report}
    given = {where: place for where, place in places.items() if place is not None}
    try:
        facts = found.run(output.console(to_stderr=as_json), **given, **chosen)
    except KeyboardInterrupt:
        output.interrupted(found.interrupted)
    if as_json:
        output.print_json(facts)
    if not all(facts.get("claims", {}).values()):
        raise typer.Exit(output.Exit.FAILED)
