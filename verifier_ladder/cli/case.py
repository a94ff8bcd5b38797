"""`vladder case`: open questions of the world tier as a work order, and results from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from verifier_ladder.cli import options, output, seals
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.opening import existing_ledger, ledger_to_read, only_campaign
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.badrow import BadRow
    from verifier_ladder.casework.results import Results
    from verifier_ladder.plates import Layout

app = output.Noun(help="Write open questions as a work order, and read results.")
_MOST_SHOWN = 20
_LEASE = 14
"""Days for which a reader claims cases."""
Encoding = Literal["utf-8", "cp1252"]


@app.callback()
def case() -> None:
    """Write open questions as a work order, and read results."""


@app.command("out")
def case_out(
    *,
    out: Annotated[Path, typer.Option("--out", help="File to write: .csv or .json.")],
    verifier: Annotated[
        str | None, typer.Option("--verifier", help="Only what this verifier asks.")
    ] = None,
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    imports: Imported = None,
    ladder: options.RecordedLadder = None,
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Tell what other tiers said.")
    ] = False,
    plates: Annotated[
        int | None, typer.Option("--plates", help="Put them on plates of 96 or 384 wells.")
    ] = None,
    replicates: Annotated[
        int, typer.Option("--replicates", min=1, help="Wells of each case.")
    ] = 1,
    control: Annotated[
        list[str] | None,
        typer.Option("--control", metavar="NAME=N", help="Wells of a control on each plate."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of the wells. [default: by chance]")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also cases that have left before.")
    ] = False,
    batch: Annotated[
        str | None,
        typer.Option("--batch", metavar="NAME", help="A batch that has left, written once more."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Only what this reader may read, claimed.")
    ] = None,
    lease: Annotated[
        int | None,
        typer.Option("--lease", min=1, help="Days for which they are claimed. [default: 14]"),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write open cases as a work order, with columns for the results.

    Nothing in it tells what other tiers said, what other readers said, or what verifiers hide of
    a task. Cases stay open until results come in. A row is a case or, on plates, a well, and no
    more rows leave than were approved. A case leaves once, unless --again is given, or another
    reader asks for it. Exits with 1, and writes nothing, if no case leaves.
    """
    from verifier_ladder.casework.workorders import Sender, left_before, work_order, write_order
    from verifier_ladder.cli.reopening import REVIEWS, recorded_ladder
    from verifier_ladder.errors import ConfigError
    from verifier_ladder.reviews import Reviews
    from verifier_ladder.run import Run

    import_all(imports)
    layout = _layout(plates, replicates, control or [], seed)
    ways = {"--batch": batch, "--by": by, "--plates": layout}
    if len(given := [way for way, value in ways.items() if value is not None]) > 1:
        raise ConfigError(
            f"{' and '.join(given)}: give one of them. --batch writes what left, --by claims "
            "cases for a person, and --plates draws wells"
        )
    if lease is not None and by is None:
        raise ConfigError("--lease says for how long --by claims cases: give --by NAME, too")
    with ledger_to_read(ledger) if batch is not None else existing_ledger(ledger) as store:
        row = only_campaign(store, campaign)
        asked = recorded_ladder(row, ladder)
        rows = work_order(store, row.name, asked, verifier, unblind=unblind)
        are_open = len(rows)
        sender = Sender(
            store, row.name, by=Run(REVIEWS).user or "unknown", again=again,
            writing=lambda rows: write_order(out, rows),
        )  # fmt: skip
        if batch is not None:
            rows = left_before(store, row.name, batch, rows)
            if rows:
                with write_order(out, rows):
                    pass
        elif by is not None:
            reviews = Reviews(store, row.name, asked)
            rows = sender.to_reader(rows, reviews, by.strip(), lease or _LEASE)
        else:
            rows = sender.on_plates(rows, layout) if layout else sender.listed(rows)
    _say_left(rows, out, are_open, batch or sender.batch, as_json=as_json)
    if not rows:
        raise typer.Exit(output.Exit.FAILED)


def _say_left(
    rows: list[dict[str, Any]], out: Path, are_open: int, batch: str | None, *, as_json: bool
) -> None:
    from verifier_ladder.casework.workorders import CASE

    cases = len({row[CASE] for row in rows} - {None})
    of = f" of the batch {batch}" if batch else ""
    words = f"{_count(cases, 'open case')}{of} written to {printable(out)}; fill in value, unit …"
    if batch is not None and not rows:
        words = f"no case{of} is open any more"
    elif not rows:
        words = "no open case" if not are_open else (
            f"none of {_count(are_open, 'open case')} leaves: --again takes those that have left "
            "too, and --batch NAME writes a batch once more whose cases are open"
        )  # fmt: skip
    facts = {
        "open": are_open, "cases": cases, "rows": len(rows), "file": str(out) if rows else None,
        "batch": batch,
    }  # fmt: skip
    output.say_done(facts, words, as_json=as_json)


def _layout(
    size: int | None,
    replicates: int,
    controls: list[str],
    seed: int | None,
) -> Layout | None:
    from secrets import randbelow

    from verifier_ladder.casework.workorders import control_wells
    from verifier_ladder.errors import ConfigError
    from verifier_ladder.plates import Layout

    if size is None:
        if replicates > 1 or controls or seed is not None:
            raise ConfigError(
                "--replicates, --control and --seed are about plates: give --plates 96 or 384 too"
            )
        return None
    wells = control_wells(controls)
    return Layout(size, randbelow(2**32) if seed is None else seed, replicates, wells)


@app.command("approve")
def case_approve(
    *,
    rows: Annotated[
        int,
        typer.Option("--rows", min=1, help="Rows of work orders: cases, or wells, controls too."),
    ],
    by: Annotated[str, typer.Option("--by", help="Who approves it.")],
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    as_json: options.AsJson = False,
) -> None:
    """Approve that so many rows more may leave in work orders.

    A row is a case or, on plates, a well.
    """
    from verifier_ladder.plates import Batches, approve

    with existing_ledger(ledger) as store:
        name = only_campaign(store, campaign).name
        approve(store, name, rows, by=by)
        left = Batches(store, name).left
    words = f"{_count(rows, 'row')} approved by {printable(by)}; {left:,} may leave"
    output.say_done({"approved": rows, "left": left}, words, as_json=as_json)


@app.command("in")
def case_in(
    file: Annotated[Path, typer.Argument(help="A filled-in work order: CSV, JSON or .xlsx.")],
    *,
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    imports: Imported = None,
    ladder: options.RecordedLadder = None,
    by: options.AnsweredBy = None,
    encoding: Annotated[
        Encoding | None,
        typer.Option("--encoding", help="Of a CSV. [default: UTF-8, or UTF-16 by its mark]"),
    ] = None,
    decimal_comma: Annotated[
        bool, typer.Option("--decimal-comma", help="Read 7,5 as a number, and semicolons in CSV.")
    ] = False,
    sheet: Annotated[
        str | None, typer.Option("--sheet", help="Of an .xlsx. [default: the only one]")
    ] = None,
    only_good: Annotated[
        bool, typer.Option("--only-good", help="Take the good rows though others are bad.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Read results into the ledger; rewards that waited are revised.

    Every bad row is told by its line, with what to do. If one is bad nothing is taken, unless
    --only-good is given. Rows without a value leave their cases open. The same file again changes
    nothing. Where a verifier wants two readers the rows are what this one says, and rewards are
    revised once the other has said the same. Exits with 1 if nothing could be taken because rows
    are bad.
    """
    from verifier_ladder.casework.resultfile import Written
    from verifier_ladder.casework.results import delivery, hand_in, read_results
    from verifier_ladder.cli.reopening import (
        REVIEWS,
        recorded_ladder,
        reopened,
        revisions_since,
    )
    from verifier_ladder.reviews import Reviews
    from verifier_ladder.run import Run

    import_all(imports)
    source = (by or Run(REVIEWS).user or "unknown").strip()
    with existing_ledger(ledger) as store:
        row = only_campaign(store, campaign)
        written = Written(encoding, decimal_comma, sheet)
        asked = recorded_ladder(row, ladder)
        found = read_results(file, store, row.name, asked, source, written=written)
        is_refused = bool(found.bad_rows) and not only_good
        taken, revised = 0, 0
        if found.answers and not is_refused:
            reviews = Reviews(store, row.name, asked)
            event = delivery(file.name, file.read_bytes(), found)
            with reopened(row, store, ladder) as at_work:
                cursor = at_work.cursor
                taken, left_out = hand_in(at_work, reviews, found.answers, source, event)
                revised = len(revisions_since(at_work, cursor))
            for key, why in left_out.items():
                output.say(f"case {key.hex()[:16]} is left out: {printable(why)}")
    if as_json:
        output.print_json(_facts(found, taken, revised))
    else:
        _tell(found, taken, revised, source, is_refused=is_refused)
    if is_refused:
        raise typer.Exit(output.Exit.FAILED)


app.command("feed")(seals.feed)
app.command("resettle")(seals.resettle)
app.command("seal")(seals.seal)


def _facts(found: Results, taken: int, revised: int) -> dict[str, Any]:
    return {
        "taken": taken, "known": found.known, "blank": found.blank, "revised": revised,
        "bad_rows": [row._asdict() for row in found.bad_rows],
    }  # fmt: skip


def _tell(found: Results, taken: int, revised: int, source: str, *, is_refused: bool) -> None:
    for row in found.bad_rows[:_MOST_SHOWN]:
        output.say(_bad(row))
    if (left := len(found.bad_rows) - _MOST_SHOWN) > 0:
        output.say(f"… and {_count(left, 'more bad row')}; --json lists all")
    if is_refused:
        output.say(
            f"{_count(len(found.bad_rows), 'bad row')}: nothing was taken. Mend them and read the "
            f"file again, or take the other {_count(len(found.answers), 'answer')} with "
            "--only-good"
        )
        return
    output.say(
        f"{_count(taken, 'answer')} taken as from {printable(source)}, {found.known} known "
        f"before, {_count(found.blank, 'row')} without a value; "
        f"{_count(revised, 'reward')} revised"
    )


def _bad(row: BadRow) -> str:
    return f"line {row.line}: {printable(row.reason, 400)}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
