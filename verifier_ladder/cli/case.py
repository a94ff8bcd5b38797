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
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.cli.results import Results
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.plates import Layout
    from verifier_ladder.reviews import Reviews
    from verifier_ladder.verdict import Verdict

app = output.Noun(help="Write open questions as a work order, and read results.")
_MOST_SHOWN = 20
_LONGEST_COUNT = 5
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
        bool, typer.Option("--again", help="Also cases that lie on plates already.")
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
    a task. Cases stay open until results come in. On plates a row is a well, and no more wells
    leave than were approved. Exits with 1, and writes nothing, if no case is open.
    """
    from verifier_ladder.cli.reopening import recorded_ladder
    from verifier_ladder.cli.workorders import work_order, write_order
    from verifier_ladder.errors import ConfigError
    from verifier_ladder.reviews import Reviews

    import_all(imports)
    layout = _layout(plates, replicates, control or [], seed, again=again, batch=batch)
    if layout is not None and by is not None:
        raise ConfigError(
            "--by claims cases for a person, and plates leave under an approval: give one of them"
        )
    if lease is not None and by is None:
        raise ConfigError("--lease says for how long --by claims cases: give --by NAME, too")
    is_read = layout is None and by is None
    with ledger_to_read(ledger) if is_read else existing_ledger(ledger) as store:
        row = only_campaign(store, campaign)
        asked = recorded_ladder(row, ladder)
        rows = work_order(store, row.name, asked, verifier, unblind=unblind)
        if by is not None:
            reviews = Reviews(store, row.name, asked)
            rows = _claimed(store, reviews, rows, by.strip(), lease or _LEASE)
        are_open = len(rows)
        if layout is not None and rows:
            rows = _leave(store, row.name, layout, rows, out, again=again)
        else:
            rows = rows if batch is None else _left_before(store, row.name, batch, rows)
            if rows:
                with write_order(out, rows):
                    pass
    _say_left(rows, out, are_open, batch, as_json=as_json)
    if not rows:
        raise typer.Exit(output.Exit.FAILED)


def _claimed(
    store: Ledger, reviews: Reviews, rows: list[dict[str, Any]], reader: str, days: int
) -> list[dict[str, Any]]:
    """Those rows whose cases a reader may read, claimed for so many days."""
    from verifier_ladder.cli.workorders import CASE

    cases = store.checks(keys=[bytes.fromhex(row[CASE]) for row in rows])
    claimed = reviews.claim_all(cases, reader, lease=86400.0 * days)
    keys = {case.check_key.hex() for case in claimed}
    return [row for row in rows if row[CASE] in keys]


def _say_left(
    rows: list[dict[str, Any]], out: Path, are_open: int, asked: str | None, *, as_json: bool
) -> None:
    from verifier_ladder.cli.workorders import CASE, PLATE

    cases = len({row[CASE] for row in rows} - {None})
    batch = str(rows[0].get(PLATE, "")).rpartition("-")[0] or None if rows else asked
    of = f" of the batch {batch}" if batch else ""
    words = f"{_count(cases, 'open case')}{of} written to {printable(out)}; fill in value, unit …"
    if asked is not None and not rows:
        words = f"no case{of} is open any more"
    elif not rows:
        words = "no open case" if not are_open else (
            f"none of {_count(are_open, 'open case')} leaves: --again takes those that lie on "
            "plates too, and --batch NAME writes a batch once more whose cases are open"
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
    *,
    again: bool,
    batch: str | None,
) -> Layout | None:
    from secrets import randbelow

    from verifier_ladder.errors import ConfigError
    from verifier_ladder.plates import Layout

    if size is None:
        if replicates > 1 or controls or seed is not None or again:
            raise ConfigError(
                "--replicates, --control, --seed and --again are about plates: give --plates 96 "
                "or 384 too"
            )
        return None
    if batch is not None:
        raise ConfigError(
            "--batch writes what has left, and --plates draws anew: give one of them"
        )
    counts: dict[str, int] = {}
    for control in controls:
        name, _, count = control.rpartition("=")
        if not (count.isdecimal() and len(count) < _LONGEST_COUNT) or name in counts:
            raise ConfigError(f"--control {control!r:.60}: write each once, as NAME=WELLS")
        counts[name] = int(count)
    return Layout(size, randbelow(2**32) if seed is None else seed, replicates, counts)


def _leave(
    ledger: Ledger,
    campaign: str,
    layout: Layout,
    rows: list[dict[str, Any]],
    out: Path,
    *,
    again: bool,
) -> list[dict[str, Any]]:
    """Put the most valuable cases on plates, as many as may leave; the rows.

    Raises:
        ConfigError: If not even one may leave.
    """
    from verifier_ladder.cli.reopening import REVIEWS
    from verifier_ladder.cli.workorders import CASE, on_plates, write_order
    from verifier_ladder.errors import ConfigError
    from verifier_ladder.plates import Batches, send
    from verifier_ladder.run import Run

    batches = Batches(ledger, campaign)
    waiting = rows if again else [r for r in rows if bytes.fromhex(r[CASE]) not in batches.cases]
    if not waiting:
        return []
    chosen = waiting[: layout.cases_in(batches.left)]
    if not chosen:
        raise ConfigError(
            f"{batches.left:,} wells may leave, too few for one case with the controls; have more "
            "approved, with `vladder case approve`"
        )
    wells = layout.draw([bytes.fromhex(row[CASE]) for row in chosen])
    placed = on_plates(chosen, wells)
    with write_order(out, placed):
        send(ledger, campaign, layout, wells, by=Run(REVIEWS).user or "unknown", again=again)
    return placed


def _left_before(
    ledger: Ledger, campaign: str, batch: str, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows of a batch that has left, so far as its cases are open.

    Raises:
        ConfigError: If it has not left.
    """
    from verifier_ladder.cli.workorders import CASE, on_plates
    from verifier_ladder.plates import Batches

    wells = Batches(ledger, campaign).batch(batch)
    lying = {well.case.hex() for well in wells if well.case is not None}
    still = [row for row in rows if row[CASE] in lying]
    return on_plates(still, wells) if still else []


@app.command("approve")
def case_approve(
    *,
    wells: Annotated[int, typer.Option("--wells", min=1, help="Wells, controls and all.")],
    by: Annotated[str, typer.Option("--by", help="Who approves it.")],
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    as_json: options.AsJson = False,
) -> None:
    """Approve that so many wells more may leave on plates."""
    from verifier_ladder.plates import Batches, approve

    with existing_ledger(ledger) as store:
        name = only_campaign(store, campaign).name
        approve(store, name, wells, by=by)
        left = Batches(store, name).left
    words = f"{_count(wells, 'well')} approved by {printable(by)}; {left:,} may leave"
    output.say_done({"approved": wells, "left": left}, words, as_json=as_json)


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
    from verifier_ladder.cli.reopening import REVIEWS, recorded_ladder, reopened
    from verifier_ladder.cli.results import Written, read_results
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
            with reopened(row, store, ladder) as at_work:
                taken, revised = _hand_in(
                    at_work, reviews, found.answers, source, _delivery(file, found)
                )
    if as_json:
        output.print_json(_facts(found, taken, revised))
    else:
        _tell(found, taken, revised, source, is_refused=is_refused)
    if is_refused:
        raise typer.Exit(output.Exit.FAILED)


app.command("feed")(seals.feed)
app.command("resettle")(seals.resettle)
app.command("seal")(seals.seal)


def _delivery(file: Path, found: Results) -> str:
    """The id of the delivery: it names the file as it is, and says if rows of it were left out."""
    from hashlib import sha256

    digest = sha256(file.read_bytes()).hexdigest()[:16]
    part = f", without {_count(len(found.bad_rows), 'bad row')}" if found.bad_rows else ""
    return f"{printable(file.name, 60)} sha256:{digest}{part}"


def _hand_in(
    campaign: Campaign, reviews: Reviews, answers: dict[bytes, Verdict], source: str, event: str
) -> tuple[int, int]:
    """Hand answers in; how many were taken, and how many rewards they have revised."""
    from verifier_ladder.cli.reopening import revisions_since

    cursor = campaign.cursor
    rows = campaign.ledger.checks(keys=list(answers))
    read = [(row, answers[row.check_key]) for row in rows if reviews.readers(row) > 1]
    refused = reviews.hand_in(source, read, event=event)
    for key, why in refused.items():  # Somebody else was quicker since the file was read.
        output.say(f"case {key.hex()[:16]} is left out: {printable(why)}")
    readings = {row.check_key for row, _ in read}
    once = {key: said for key, said in answers.items() if key not in readings}
    taken = campaign.answer_all(once, source=source, event=event) + len(read) - len(refused)
    for key, (verdict, by) in reviews.concluded().items():
        campaign.answer(key, verdict, source=by)
    return taken, len(revisions_since(campaign, cursor))


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
