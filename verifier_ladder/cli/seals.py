"""`vladder case feed`, `resettle` and `seal`: what feeds tell, and what seals open cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.opening import existing_ledger, only_campaign
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.tiers.world.feed import Series


_SHOWN = 3
"""Keys of cases that are shown of those that were left as they are."""


def feed(
    file: Annotated[Path, typer.Argument(help="A table of a feed: NAME.csv.")],
    *,
    ledger: options.LedgerAt = None,
    as_json: options.AsJson = False,
) -> None:
    """Record that a feed has told what stands in a table.

    The ledger keeps its digest, and the latest time that it tells of. No sample that comes later
    is in time for anything before that, whatever the clock says.
    """
    from math import inf

    from verifier_ladder.case import shown
    from verifier_ladder.ledger.records import FEEDS, Block, Sealing

    name, table = _table(file)
    told = table.rows[-1]
    facts = {
        "series": name, "sha256": table.sha256, "rows": len(table.rows), "latest": told.time,
        "published": told.published, "vintage": told.vintage,
    }  # fmt: skip
    with existing_ledger(ledger) as store:
        _refuse_future(file, told.time, store.clock())
        entry = store.append(Block("feed", FEEDS, facts=facts), sealing=Sealing(told.time, inf))
    words = (
        f"entry {entry}: {printable(name)} has told what came up to {shown(told.time)}; no sample "
        "from now on is in time for that"
    )
    output.say_done({"entry": entry, **facts}, words, as_json=as_json)


def _table(file: Path) -> tuple[str, Series]:
    """The name and the rows of a table.

    Raises:
        ConfigError: If it can't be read, or is empty.
    """
    from verifier_ladder.tiers.tasks import TaskError
    from verifier_ladder.tiers.world.feed import FileFeed, series_of

    name = file.name.removesuffix(".csv")
    try:
        table = FileFeed(file.parent).read(series_of({"series": name}))
    except TaskError:
        raise ConfigError(
            f"{file}: no task can name the series {name!r}; call the file NAME.csv, with letters, "
            "digits and _.- that begin with no point"
        ) from None
    except ToolError as error:
        raise ConfigError(
            f"{error}; give a table NAME.csv with the columns time and value"
        ) from None
    if not table.rows:
        raise ConfigError(f"{file} has no rows, so it tells nothing")
    return name, table


def _refuse_future(file: Path, told: float, now: float) -> None:
    from verifier_ladder.case import MOST_APART, shown

    if told > now + MOST_APART:
        raise ConfigError(
            f"{file} tells of {shown(told)}, which has not come: it is {shown(now)} by the "
            "ledger's clock. See to the table or the clock"
        )


def resettle(
    *,
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    imports: Imported = None,
    ladder: options.RecordedLadder = None,
    as_json: options.AsJson = False,
) -> None:
    """Settle cases anew that feeds tell otherwise of by now.

    A feed may revise what it has told, or tell of a split later. Where a settled case comes out
    otherwise, the new answer supersedes, and all rewards that rest on the old one are revised.
    Both stay in the ledger, with the digests of their tables. Cases that could not be looked at
    are counted, with the reason.
    """
    from verifier_ladder.cli.reopening import reopened, revisions_since

    import_all(imports)
    with existing_ledger(ledger) as store:
        row = only_campaign(store, campaign)
        with reopened(row, store, ladder) as at_work:
            cursor = at_work.cursor
            superseded, left_out = at_work.resettle()
            revised = len(revisions_since(at_work, cursor))
    words = f"cases that come out otherwise: {superseded:,}; rewards revised: {revised:,}"
    for verifier, why, cases in left_out:
        first = ", ".join(key[:16] for key in cases[:_SHOWN])
        more = ", …" if cases[_SHOWN:] else ""
        left = f"{len(cases):,} of {verifier} left as they are ({first}{more})"
        output.say(f"{left}: {printable(why)}")
    facts = {
        "superseded": superseded, "revised": revised,
        "left_out": [each._asdict() for each in left_out],
    }  # fmt: skip
    output.say_done(facts, words, as_json=as_json)


def seal(
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="File for the checkpoint. [default: stdout]")
    ] = None,
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    imports: Imported = None,
    ladder: options.RecordedLadder = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the signed checkpoint to publish, which seals open cases.

    Whoever owns a ledger could write another history, with other times. What stands under a
    checkpoint that others have had before is sealed by them. Counted are cases that take samples
    only until a time, and that time is still to come. Exits with 1 if there is none.
    """
    from verifier_ladder.case import shown
    from verifier_ladder.cli.proving import signed_log, write_out
    from verifier_ladder.cli.reopening import recorded_ladder

    import_all(imports)
    with signed_log(ledger, writes=True) as store:
        row = only_campaign(store, campaign)
        now, asked = store.clock(), recorded_ladder(row, ladder)
        times = sorted(at for at in _sealed(store, row.name, asked) if at > now)
        note, found = store.signed()
        keys = [str(key) for key in store.signers()]
    until = shown(times[0]) if times else None
    facts = {
        "cases": len(times), "until": until, "size": found.size, "root": found.root,
        "time": found.time, "note": note, "keys": keys,
    }  # fmt: skip
    if as_json:
        output.print_json(facts)
    elif times:
        write_out(note, out)
        cases = "1 open case" if len(times) == 1 else f"{len(times):,} open cases"
        output.say(
            f"{cases} sealed by this checkpoint, whose last entry is of {found.time}; publish it "
            f"before {until}, where the owner of the ledger can't change it"
        )
    else:
        output.say("no open case takes samples until a time that is still to come")
    if not times:
        raise typer.Exit(output.Exit.FAILED)


def _sealed(store: Ledger, campaign: str, ladder: Ladder) -> Iterator[float]:
    """The times until which samples of open cases are taken."""
    from verifier_ladder.case import times_of
    from verifier_ladder.ledger.records import CheckState
    from verifier_ladder.scheduler.candidates import shown_candidate

    verifiers = {verifier.name: verifier for verifier in ladder.verifiers}
    for check in store.checks(states=[CheckState.WAITING], campaign=campaign):
        candidate = shown_candidate(check, ladder.verifiers)
        verifier = verifiers.get(check.verifier)
        if candidate and verifier and (at := times_of(verifier, candidate)[1]) is not None:
            yield at
