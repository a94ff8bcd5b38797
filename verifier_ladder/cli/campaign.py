"""`vladder campaign`: what campaigns there are, and where one of them stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.bundle import bundle
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.forecast import forecast
from verifier_ladder.cli.opening import (
    existing_ledger,
    ledger_place,
    ledger_to_read,
    only_campaign,
)
from verifier_ladder.cli.shadow import shadow
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn

app = output.Noun(help="List campaigns; show, watch, forecast, pause or cancel one.")


TierOption = Annotated[str, typer.Option("--tier", help="Which tier.")]


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


def cancel(
    run: Annotated[str, typer.Option("--run", help="The run whose samples are meant.")],
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    *,
    step: Annotated[int | None, typer.Option("--step", min=0, help="Only this step.")] = None,
    positions: Annotated[
        list[int] | None,
        typer.Option("--position", min=0, help="Only the sample at this position; may repeat."),
    ] = None,
    at_work: Annotated[
        bool, typer.Option("--at-work", help="Abandon checks at work too.")
    ] = False,
    imports: Imported = None,
    ladder: Annotated[
        Path | None,
        typer.Option("--ladder", help="The campaign's ladder in TOML. [default: as recorded]"),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Cancel what a run still waits for.

    What others want too goes on, and they pay. Every sample keeps the reward that follows from
    what is known by now. A campaign that is open elsewhere is cancelled there, through the ledger.
    """
    from verifier_ladder.cli.reopening import reopened
    from verifier_ladder.scheduler.withdrawal import Wanted, check_known

    import_all(imports)
    with existing_ledger(ledger) as store:
        row = only_campaign(store, name)
        wanted = Wanted(run, step, frozenset(positions) if positions else None)
        conductor = store.conductor(row.name)
        if conductor is not None:
            check_known(store, row.name, wanted)
            done = _asked(store, row.name, conductor, wanted, at_work=at_work)
        else:
            with reopened(row, store, ladder, engine="workers") as campaign:
                chosen = wanted.positions
                done = campaign.cancel(run, step=step, positions=chosen, at_work=at_work)
    words = f"{done.samples} samples wait no more; {done.checks} checks are cancelled"
    if not done.samples:
        words = "0 samples wait: there is nothing to cancel"
    output.say_done(done._asdict(), words, as_json=as_json)
    if not done.samples:
        raise typer.Exit(output.Exit.FAILED)


def _asked(
    store: Ledger, campaign: str, conductor: str, wanted: Wanted, *, at_work: bool
) -> Withdrawn:
    """Have the campaign's conductor do it; the ladder need not be known here."""
    from verifier_ladder.scheduler.cancellations import cancel_from_afar

    done = cancel_from_afar(store, campaign, wanted, at_work=at_work)
    if done is None:
        output.say(
            f"{conductor}, which has {campaign} open, was asked and has not answered yet; it is "
            "done as soon as it does, or when the campaign is opened the next time"
        )
        raise typer.Exit(output.Exit.FAILED)
    return done


def spend(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    *,
    by: Annotated[
        str,
        typer.Option(
            "--by", help="project, user, label, label:KEY, run, verifier, tier or campaign."
        ),
    ] = "run",
    everything: Annotated[
        bool, typer.Option("--all", help="All campaigns of the ledger.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Tell who has spent what.

    Of several that want the same check, the first to ask pays.
    """
    from verifier_ladder.resource import Resource
    from verifier_ladder.spending import spending
    from verifier_ladder.summary.amounts import shown_in

    with ledger_to_read(ledger) as store:
        campaign = None if everything else only_campaign(store, name).name
        lines = spending(store, by, campaign=campaign)
    if as_json:
        output.print_json([line.as_json() for line in lines])
        return
    used = [r for r in Resource if any(line.spent(r) for line in lines)]
    columns = [column for r in used for column in (r.unit, "of it failed")]
    made = output.table(by, "checks", *columns, right=("checks", *columns))
    for line in lines:
        cells = [
            shown_in(r)(amount) if amount else "·"
            for r in used
            for amount in (line.spent(r), line.failed.get(r, 0.0))
        ]
        made.add_row(printable(line.name, 60), f"{line.checks:,}", *cells)
    output.console().print(made if lines else "nothing has been spent")


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


@app.command("ls")
def ls(ledger: options.LedgerAt = None, *, as_json: options.AsJson = False) -> None:
    """List the campaigns of the ledger, newest first."""
    with ledger_to_read(ledger) as store:
        rows = [_row(store, row) for row in reversed(store.campaigns())]
    if as_json:
        output.print_json(rows)
        return
    made = output.table("campaign", "ladder", "tiers", "runs", "begun (UTC)", right=("runs",))
    for row in rows:
        begun = output.moment(row["created_at"])
        tiers = " → ".join(row["tiers"])
        made.add_row(row["name"], row["ladder"], tiers, str(len(row["runs"])), begun)
    output.console().print(made if rows else "no campaigns yet")


def _row(store: Ledger, row: Any) -> dict[str, Any]:
    from verifier_ladder.tier import Tier

    tiers = sorted({Tier.parse(v["tier"]) for v in row.ladder["verifiers"]})
    return {
        "name": row.name, "ladder": row.ladder["name"], "created_at": row.created_at,
        "tiers": [tier.label for tier in tiers], "runs": [r["name"] for r in store.runs(row.name)],
    }  # fmt: skip


@app.command("show")
def show(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Read all of it, however much that is.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show one campaign: funnel, costs, rewards, the best.

    Rejects are told apart from failures. A campaign of more than some thousand records is not
    read, but told by its counters: without the best, reasons and agreement.
    """
    from verifier_ladder.analysis.overview import MOST_READ, overview
    from verifier_ladder.analysis.totals import campaign_counts
    from verifier_ladder.cli.overview import print_overview
    from verifier_ladder.summary import print_summary, summarise

    with ledger_to_read(ledger) as store:
        found = only_campaign(store, name).name
        if full or campaign_counts(store, found).size <= MOST_READ:
            summary = summarise(store, found)
            output.print_found(
                summary, lambda told: print_summary(told, output.console()), as_json=as_json
            )
        else:
            output.print_found(overview(store, found), print_overview, as_json=as_json)


@app.command("report")
def report(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="HTML file to write.")] = Path(
        "report.html"
    ),
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", metavar="NAME", help="Show its curves, too; repeatable."),
    ] = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Write a campaign's report, one HTML file.

    It opens without a network.
    """
    from verifier_ladder.report import write_report

    with ledger_to_read(ledger) as store:
        found = only_campaign(store, name).name
        written = write_report(store, found, out, beside=beside or ())
    facts = {"campaign": found, "report": written}
    output.say_done(facts, f"report of {found} written to {written}", as_json=as_json)


@app.command("watch")
def watch(
    name: options.CampaignName = None,
    ledger: options.LedgerAt = None,
    every: Annotated[
        float, typer.Option("--every", min=0.1, max=86400, help="Seconds between two looks.")
    ] = 1.0,
    *,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Watch every tier of a campaign at work, until Ctrl-C.

    Nothing is run or changed by it.
    """
    with existing_ledger(ledger) as store:
        found = only_campaign(store, name).name
        try:
            if as_json:
                _lines(store, found, every, once=once)
            else:
                _draw(store, found, every, once=once)
        except KeyboardInterrupt:
            output.interrupted(
                f"Nothing was stopped; `vladder campaign show {found}` tells the rest."
            )


def _draw(store: Ledger, name: str, every: float, *, once: bool) -> None:
    from time import sleep

    from verifier_ladder.cli.live import Drawing, LiveView
    from verifier_ladder.status import campaign_status

    if once:
        output.console().print(Drawing(campaign_status(store, name), name))
        return
    with LiveView(output.console(), name) as view:
        while True:
            view.update(campaign_status(store, name))
            sleep(every)


def _lines(store: Ledger, name: str, every: float, *, once: bool) -> None:
    """One JSON object a line, whenever something has changed."""
    import sys
    from time import sleep

    from verifier_ladder.status import campaign_status

    last = None
    while True:
        facts = campaign_status(store, name).as_json()
        if facts != last:
            output.print_json(facts, is_line=True)
            sys.stdout.flush()
            last = facts
        if once:
            return
        sleep(every)


app.command("bundle")(bundle)
app.command("cancel")(cancel)
app.command("forecast")(forecast)
app.command("import")(import_)
app.command("pause")(pause)
app.command("resume")(resume)
app.command("shadow")(shadow)
app.command("spend")(spend)
