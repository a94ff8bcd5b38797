"""`vladder case`: open questions of the world tier as a work order, and results from a file."""

from __future__ import annotations

from collections.abc import Sequence, Sized
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
    from verifier_ladder.plates import Layout, Well
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
    from verifier_ladder.cli.reopening import recorded_ladder
    from verifier_ladder.cli.workorders import work_order, write_order
    from verifier_ladder.errors import ConfigError
    from verifier_ladder.reviews import Reviews

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
        sender = _Sender(store, row.name, out, again=again)
        if batch is not None:
            rows = _left_before(store, row.name, batch, rows)
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


class _Sender:
    """Has cases leave, as many as may: the file is there once the ledger says that they left."""

    def __init__(self, ledger: Ledger, campaign: str, out: Path, *, again: bool) -> None:
        from verifier_ladder.plates import Batches

        self._ledger, self._campaign, self._out, self._again = ledger, campaign, out, again
        self._batches = Batches(ledger, campaign)
        self.batch: str | None = None
        """Name of the batch that left."""

    def on_plates(self, rows: list[dict[str, Any]], layout: Layout) -> list[dict[str, Any]]:
        """Put the most valuable cases on plates; the rows."""
        from verifier_ladder.cli.workorders import CASE, on_plates

        waiting = self._waiting(rows)
        chosen = waiting[: layout.cases_in(self._batches.left)]
        if not self._may_leave(waiting, chosen, "for one case with the controls"):
            return []
        wells = layout.draw([bytes.fromhex(row[CASE]) for row in chosen])
        return self._send(layout, wells, on_plates(chosen, wells))

    def listed(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Have the most valuable cases leave, a row each; the rows."""
        waiting = self._waiting(rows)
        return self._list(waiting, waiting[: self._batches.left])

    def to_reader(
        self, rows: list[dict[str, Any]], reviews: Reviews, reader: str, days: int
    ) -> list[dict[str, Any]]:
        """Have those cases leave that a reader may read, claimed for so many days; the rows.

        Others may have had them before: each case has several readers.
        """
        from verifier_ladder.cli.workorders import CASE

        self._again = True
        cases = self._ledger.checks(keys=[bytes.fromhex(row[CASE]) for row in rows])
        free = [case.check_key.hex() for case in reviews.free(cases, reader)]
        if not self._may_leave(free, free[: self._batches.left], "for one case"):
            return []
        lease, most = 86400.0 * days, self._batches.left
        claimed = reviews.claim_all(cases, reader, lease=lease, most=most)
        keys = {case.check_key.hex() for case in claimed}
        chosen = [row for row in rows if row[CASE] in keys]
        return self._list(chosen, chosen)

    def _waiting(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        from verifier_ladder.cli.workorders import CASE

        sent = set() if self._again else self._batches.sent
        return [row for row in rows if bytes.fromhex(row[CASE]) not in sent]

    def _list(
        self, waiting: list[dict[str, Any]], chosen: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        from verifier_ladder.cli.workorders import CASE
        from verifier_ladder.plates import listed

        if not self._may_leave(waiting, chosen, "for one case"):
            return []
        return self._send(None, listed([bytes.fromhex(row[CASE]) for row in chosen]), chosen)

    def _may_leave(self, waiting: Sized, chosen: Sized, needed: str) -> bool:
        """Whether anything is to leave.

        Raises:
            ConfigError: If something would, and not one may.
        """
        from verifier_ladder.errors import ConfigError

        if waiting and not chosen:
            raise ConfigError(
                f"{self._batches.left:,} rows may leave, too few {needed}; have more approved, "
                "with `vladder case approve`"
            )
        return bool(chosen)

    def _send(
        self, layout: Layout | None, wells: Sequence[Well], rows: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        from verifier_ladder.cli.reopening import REVIEWS
        from verifier_ladder.cli.workorders import write_order
        from verifier_ladder.plates import send
        from verifier_ladder.run import Run

        by = Run(REVIEWS).user or "unknown"
        with write_order(self._out, rows):
            send(self._ledger, self._campaign, layout, wells, by=by, again=self._again)
        self.batch = wells[0].batch
        return rows


def _say_left(
    rows: list[dict[str, Any]], out: Path, are_open: int, batch: str | None, *, as_json: bool
) -> None:
    from verifier_ladder.cli.workorders import CASE

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

    from verifier_ladder.errors import ConfigError
    from verifier_ladder.plates import Layout

    if size is None:
        if replicates > 1 or controls or seed is not None:
            raise ConfigError(
                "--replicates, --control and --seed are about plates: give --plates 96 or 384 too"
            )
        return None
    counts: dict[str, int] = {}
    for control in controls:
        name, _, count = control.rpartition("=")
        if not (count.isdecimal() and len(count) < _LONGEST_COUNT) or name in counts:
            raise ConfigError(f"--control {control!r:.60}: write each once, as NAME=WELLS")
        counts[name] = int(count)
    return Layout(size, randbelow(2**32) if seed is None else seed, replicates, counts)


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
    return on_plates(still, wells) if still and wells[0].well else still


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
