"""`vladder ledger`: what was recorded, entry by entry and candidate by candidate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.candidate import sample_place
from verifier_ladder.cli import keeping, options, output, proving
from verifier_ladder.cli.diff import diff
from verifier_ladder.cli.opening import ledger_to_read, only_campaign
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import json_printable, plain_lines, printable

if TYPE_CHECKING:
    from verifier_ladder.analysis.history import Event, Known
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import Block, Entry
    from verifier_ladder.scheduler.replay import ReplayReport

app = output.Noun(help="Read, replay, verify, prove, export, copy and merge ledgers.")


_LONGEST_ID = 16
_MOST_TURNS = 20
_MOST_EVENTS = 200
"""How much of a candidate's history is shown; one that came up often has thousands."""


@app.command("replay")
def replay(
    campaign: Annotated[
        str | None, typer.Argument(help="Its name; not needed if the ledger has only one.")
    ] = None,
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Compute a campaign's rewards again, and compare.

    So are its draws and beliefs. Rewards and draws must come out bit for bit, beliefs to 1e-9. No
    verifier needs to be installed: nothing but the ledger is read.
    """
    from verifier_ladder.scheduler.replay import replay as replayed

    with ledger_to_read(ledger) as store:
        row = only_campaign(store, campaign)
        report = replayed(store, row)
    if as_json:
        output.print_json({
            "campaign": row.name, "same": report.is_same, "rewards": report.rewards,
            "draws": report.draws, "beliefs": report.beliefs, "differing": report.differing,
            "differences": [difference._asdict() for difference in report.differences],
        })  # fmt: skip
    else:
        _tell_replay(row.name, report)
    if not report.is_same:
        raise typer.Exit(output.Exit.FAILED)


def _tell_replay(name: str, report: ReplayReport) -> None:
    counted = f"{report.rewards:,} rewards, {report.draws:,} draws, {report.beliefs:,} beliefs"
    if report.is_same:
        output.console().print(
            f"{name}: {counted} computed again, all as recorded", soft_wrap=True
        )
        return
    screen = output.console()
    screen.print(f"{name}: {report.differing:,} of {counted} differ", soft_wrap=True)
    for one in report.differences:
        numbers = f"{output.amount(one.recorded)} recorded, {output.amount(one.replayed)} replayed"
        screen.print(f"  entry {one.entry}: {one.what} of {one.of}: {numbers}", soft_wrap=True)
    if report.differing > len(report.differences):
        output.say(f"{report.differing - len(report.differences):,} more")


class Format(StrEnum):
    """What `ledger export` writes."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    CSV = "csv"
    TILES = "tiles"
    IN_TOTO = "in-toto"


app.command("verify")(proving.verify)
app.command("prove")(proving.prove)
app.command("checkpoint")(proving.checkpoint)
app.command("verifier")(proving.verifier)
app.command("upgrade")(keeping.upgrade)
app.command("backup")(keeping.backup)
app.command("restore")(keeping.restore)
app.command("accept-restore")(keeping.accept_restore)
app.command("merge")(keeping.merge)
app.command("seal")(keeping.seal)
app.command("artifact")(keeping.artifact)
app.command("erase")(keeping.erase)
app.command("diff")(diff)


@app.command("ls")
def ls(
    ledger: options.LedgerAt = None,
    campaign: options.OnlyCampaign = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Only this kind of entry, such as score, check or revision."),
    ] = None,
    limit: options.Limit = 20,
    before: Annotated[
        int | None, typer.Option("--before", min=1, help="Only entries with a smaller id.")
    ] = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """List entries, newest first.

    `--before ID` gives the page that follows.
    """
    from verifier_ladder.analysis.history import newest_entries
    from verifier_ladder.ledger.records import KINDS

    if kind not in {None, *KINDS}:
        raise ConfigError(f"no kind of entry is called {kind!r}; there is {', '.join(KINDS)}")

    with ledger_to_read(ledger) as store:
        found = newest_entries(store, limit, before=before, kind=kind, campaign=campaign)
        rows = [_row(entry, store.read(entry)) for entry in found]
        if campaign is not None and not rows:
            only_campaign(store, campaign)
    if as_json:
        output.print_json(rows)
        return
    numbers = ("id", "samples", "verdicts", "bytes")
    made = output.table(
        "id", "recorded (UTC)", "kind", "campaign", "run", *numbers[1:], right=numbers
    )
    for row in rows:
        when = output.moment(row["recorded_at"])
        counts = [f"{row[name]:,}" for name in numbers[1:]]
        made.add_row(str(row["id"]), when, row["kind"], row["campaign"], row["run"], *counts)
    output.console().print(made if rows else "no entries")
    if len(rows) == limit:
        output.say(f"older ones: --before {rows[-1]['id']}")


def _row(entry: Entry, block: Block) -> dict[str, Any]:
    samples = block.samples
    return {
        "id": entry.id, "recorded_at": entry.recorded_at, "kind": entry.kind,
        "campaign": entry.campaign,
        "run": f"{samples.run} {samples.step}" if samples else "",
        "samples": len(samples.contents) if samples else 0, "verdicts": len(block.verdicts),
        "candidates": len(block.candidates), "bytes": len(entry.body), "leaf": entry.leaf.hex(),
    }  # fmt: skip


@app.command("show")
def show(
    what: Annotated[
        str, typer.Argument(help="A candidate's text, the start of its key, or an entry's id.")
    ],
    ledger: options.LedgerAt = None,
    *,
    is_entry: Annotated[
        bool, typer.Option("--entry", help="It is an entry's id, even if a candidate reads so.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show what happened to a candidate, or one entry.

    Verdicts, decisions and rewards are told in order.
    A candidate's text comes first, then an entry's id, then the start of a key.
    """
    from verifier_ladder.analysis.history import events, with_prefix, with_text

    with ledger_to_read(ledger) as store:
        found = [] if is_entry else with_text(store, what)
        is_id = what.isascii() and what.isdigit() and len(what) < _LONGEST_ID
        if is_id and not found and (entry := store.entry(int(what))) is not None:
            _show_entry(store, entry, as_json=as_json)
            return
        found = found or ([] if is_entry else with_prefix(store, what))
        if len(found) == 1:
            _show_candidate(found[0], list(events(store, found[0].key)), as_json=as_json)
            return
    _not_one(found, what)


def _not_one(found: list[Known], what: str) -> None:

    if found:
        output.say(f"{len(found)} candidates fit {printable(what, 60)!r}; give more of the key:")
        for known in found:
            output.say(f"  {known.key.hex()[:16]}  {printable(known.canonical, 60)}")
    else:
        output.say(
            f"the ledger knows no candidate {printable(what, 60)!r}; give its text as it was "
            "written, the first characters of its key, or an entry's id from `vladder ledger ls`"
        )
    raise typer.Exit(output.Exit.USAGE)


def _show_entry(store: Ledger, entry: Entry, *, as_json: bool) -> None:
    from verifier_ladder.ledger.encoding import leaf, lines_of

    row = _row(entry, store.read(entry))
    row["intact"] = leaf(entry.body) == entry.leaf
    if as_json:
        output.print_json({**row, "body": lines_of(entry.body)})
        return
    screen = output.console()
    for key, value in {**row, "recorded_at": output.moment(entry.recorded_at)}.items():
        screen.print(f"{key:<12} {value}", soft_wrap=True)
    output.say("the whole body: --json")


def _show_candidate(known: Known, told: list[Event], *, as_json: bool) -> None:

    if as_json:
        head = {"key": known.key.hex(), "kind": known.kind, "canonical": known.canonical}
        output.print_json({**head, "events": [event._asdict() for event in told]})
        return
    screen = output.console()
    screen.print(f"{known.kind} {printable(known.canonical)}", soft_wrap=True)
    screen.print(f"key {known.key.hex()}", soft_wrap=True)
    last = -1
    for event in told[:_MOST_EVENTS]:
        if event.entry != last:
            when = output.moment(event.recorded_at)
            where = f"entry {event.entry}, {when}, campaign {event.campaign}"
            screen.print(f"\n{where}", soft_wrap=True)
            last = event.entry
        screen.print(f"  {event.what:<9} {_WORDS[event.what](event.facts)}", soft_wrap=True)
    if len(told) > _MOST_EVENTS:
        output.say(f"{len(told) - _MOST_EVENTS:,} more events: --json")


def _verdict_words(facts: Any) -> str:

    who = " ".join(str(facts[k]) for k in ("tier", "verifier", "version") if facts.get(k))
    score = "" if facts["score"] is None else f" {_measure(facts)}"
    at = f", failed at {facts['failed_at']}" if facts["failed_at"] else ""
    why = f": {printable(facts['reason'], 300)}" if facts["reason"] else ""
    took = f" ({facts['seconds']:.3g} s)" if facts["seconds"] is not None else ""
    check = f", check {facts['check'][:12]}" if facts.get("check") else ""
    return f"{who}: {facts['outcome']}{score}{at}{why}{took}{check}{_learnt(facts)}"


def _artifact(name: str, told: Mapping[str, Any]) -> str:
    why = f", not kept: {told['note']}" if told.get("note") else ""
    return f"artifact {name}: {told['size']:,} bytes, {told['type']}, {told['digest']}{why}"


def _learnt(facts: Mapping[str, Any]) -> str:
    """What a learner may learn of it, in lines of its own."""
    scores = ", ".join(f"{name} {output.amount(n)}" for name, n in facts["scores"].items())
    turns = [
        f"turn {turn['turn'] + 1}"
        + ("" if turn["score"] is None else f" {output.amount(turn['score'])}")
        + (f": {printable(turn['feedback'], 200)}" if turn["feedback"] else "")
        for turn in facts["turns"][:_MOST_TURNS]
    ]
    more = len(facts["turns"]) - len(turns)
    lines = [
        *([f"scores: {scores}"] if scores else []),
        *([f"feedback: {printable(facts['feedback'], 300)}"] if facts["feedback"] else []),
        *(_artifact(name, told) for name, told in facts["artifacts"].items()),
        *turns, *([f"and {more} more turns"] if more else []),
    ]  # fmt: skip
    return "".join(f"\n    {line}" for line in lines)


def _measure(facts: Any) -> str:
    spread = (
        f" ± {output.amount(facts['uncertainty'], 2)}" if facts["uncertainty"] is not None else ""
    )
    return f"{output.amount(facts['score'])}{spread} {facts['unit']}".rstrip()


def _decision_words(facts: Any) -> str:
    to = f" to {facts['tier']}" if facts["tier"] else ""
    return f"{_sample(facts)}: {facts['action']}{to}, because {facts['reason']}{_luck(facts)}"


def _luck(facts: Any) -> str:
    """How the draw for the top tier fell, if there was one."""
    from verifier_ladder.scheduler.survey import ANSWERED, ENDS

    number, chance = facts["draw"], facts["propensity"]
    is_over = facts["action"] == "stop"
    if number is None or (is_over and (number < chance or facts["reason"] == ENDS[ANSWERED])):
        return ""
    draw, likely = output.amount(number), output.amount(chance)
    if number < chance:
        return f" (the draw was {draw})"
    return f"; not drawn for the top tier (probability {likely}, draw {draw})"


def _reward_words(facts: Any) -> str:

    value = "unknown" if facts["value"] is None else output.amount(facts["value"])
    spread = (
        f" ± {output.amount(facts['uncertainty'], 2)}" if facts["uncertainty"] is not None else ""
    )
    change = f", revision {facts['revision']}" if facts["revision"] else ""
    if facts["previous"] is not None:
        change += f", before {output.amount(facts['previous'])}"
    why = f" ({printable(facts['reason'], 200)})" if facts["reason"] else ""
    return f"{_sample(facts)}: {value}{spread}{change}{why}"


def _sample(facts: Any) -> str:
    return sample_place(facts["run"], facts["step"], facts["position"])


_WORDS: dict[str, Callable[[Any], str]] = {
    "verdict": _verdict_words, "decision": _decision_words, "reward": _reward_words,
}  # fmt: skip


@app.command("export")
def export(
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write. [default: stdout]")
    ] = None,
    ledger: options.LedgerAt = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="By default the file name's ending.")
    ] = None,
    campaign: options.OnlyCampaign = None,
    reveal: proving.Revealed = None,
) -> None:
    """Write verdicts and rewards as flat rows.

    They are for other programs to read.

    Format tiles writes the whole signed log into a new folder, with a program that checks it;
    in-toto writes each accept and reject as a statement, one a line.
    """
    from verifier_ladder.ledger.sealing import NAMES, chosen

    form, names = form or _form(out), chosen(reveal or [])
    if form is Format.TILES:
        _export_tiles(ledger, out, campaign, names)
        return
    with ledger_to_read(ledger) as store:
        name = only_campaign(store, campaign).name if campaign else None
        if out is None:
            _to_stdout(store, form, name, names)
        else:
            count = _exports()[form](store, out, name, reveal=names)
            output.say(f"{count:,} rows written to {out}")
        if store.is_sealed and len(names) < len(NAMES):
            hidden = ", ".join(other for other in NAMES if other not in names)
            output.say(f"left out where the ledger is sealed: {hidden}; --reveal writes them")


def _export_tiles(
    ledger: str | None, out: Path | None, campaign: str | None, names: Collection[str]
) -> None:
    from verifier_ladder.ledger.bundles import export_tiles

    if out is None or campaign is not None:
        raise ConfigError("format tiles is the whole log: name a new folder with --out alone")
    with proving.signed_log(ledger) as log:
        count = export_tiles(log, out, reveal=names)
    output.say(
        f"{count:,} entries written to {out}; check them with: python {out}/verify.py {out}"
    )


def _form(out: Path | None) -> Format:
    from verifier_ladder.rollouts.table import check_target

    return Format.JSONL if out is None else Format(check_target(out).suffix.removeprefix("."))


def _exports() -> dict[Format, Callable[..., int]]:
    from verifier_ladder.ledger import export as exports

    return {
        Format.JSONL: exports.export_jsonl, Format.CSV: exports.export_csv,
        Format.PARQUET: exports.export_parquet, Format.IN_TOTO: exports.export_statements,
    }  # fmt: skip


def _to_stdout(store: Ledger, form: Format, campaign: str | None, names: Collection[str]) -> None:
    import sys
    from tempfile import TemporaryDirectory

    if form is Format.PARQUET:
        raise ConfigError("Parquet is not for the terminal; name a file with --out")
    shown = plain_lines if form is Format.CSV else json_printable
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        _exports()[form](store, path, campaign, reveal=names)
        with path.open(encoding="utf-8") as rows:
            sys.stdout.writelines(map(shown, rows))
