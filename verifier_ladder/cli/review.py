"""`vladder review`: a person answers what the world tier asks."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from verifier_ladder.cli.code import Imported, import_code
from verifier_ladder.cli.output import (
    AsJson,
    Exit,
    LedgerAt,
    amount,
    console,
    interrupted,
    moment,
    print_json,
    say,
)

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign, Case
    from verifier_ladder.reward import Revision
    from verifier_ladder.verdict import Verdict

app = typer.Typer(no_args_is_help=True, help="Answer open questions of the world tier.")
_REVISED = 10.0
"""Seconds in which an answer's revision normally arrives."""
_WORDS: dict[str, bool | None] = {
    "yes": True, "y": True, "true": True, "accept": True,
    "no": False, "n": False, "false": False, "reject": False,
    "decline": None, "unknown": None, "none": None,
}  # fmt: skip
Answer = bool | float | None


@app.callback()
def review() -> None:
    """Answer open questions of the world tier."""


@app.command("next")
def next_case(
    *,
    campaign: Annotated[
        str | None, typer.Option("--campaign", help="The campaign. [default: the newest]")
    ] = None,
    ledger: LedgerAt = None,
    imports: Imported = None,
    ladder: Annotated[
        Path | None,
        typer.Option("--ladder", help="The ladder's TOML, if its verifiers aren't installed."),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option("--answer", help="A number in the case's unit, yes, no, or decline."),
    ] = None,
    case: Annotated[
        str | None, typer.Option("--case", help="The start of a case's key, to choose it.")
    ] = None,
    skip: Annotated[int, typer.Option("--skip", min=0, help="Pass over so many open cases.")] = 0,
    by: Annotated[str | None, typer.Option("--by", help="Who answers. [default: you]")] = None,
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Show what other tiers said.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the next open case, take its answer, and print how the rewards change.

    What other tiers said is hidden, so that the answer does not lean on it.
    Exits with 1 if no case is open.
    """
    from verifier_ladder.cli.opening import existing_ledger, only_campaign
    from verifier_ladder.cli.reopening import reopened

    for where in imports or ():
        import_code(where)
    with existing_ledger(ledger) as store:
        row = only_campaign(store, campaign)
        with reopened(row, store, ladder) as opened:
            found = _chosen(opened.cases(), case, skip)
            if found is None:
                _none(as_json=as_json)
            facts = _facts(found)
            if unblind:
                facts["other_tiers"] = _others(opened, found)
            if not as_json:
                _show(facts)
            given = answer if answer is not None or as_json else _ask(found)
            if given is not None:
                facts["revisions"] = _record(opened, found, given, by or getpass.getuser())
    if as_json:
        print_json({"case": facts})


def _chosen(cases: list[Case], prefix: str | None, skip: int) -> Case | None:
    fitting = [c for c in cases if c.check_key.hex().startswith((prefix or "").lower())]
    return fitting[skip] if skip < len(fitting) else None


def _none(*, as_json: bool) -> NoReturn:
    if as_json:
        print_json({"case": None})
    else:
        say("no open case")
    raise typer.Exit(Exit.FAILED)


def _facts(case: Case) -> dict[str, Any]:
    return {
        "key": case.check_key.hex(), "verifier": case.verifier, "question": case.question,
        "unit": case.unit, "kind": case.candidate.kind, "candidate": case.candidate.content,
        "task": dict(case.candidate.task or {}), "deadline": case.deadline,
    }  # fmt: skip


def _show(facts: dict[str, Any]) -> None:
    from verifier_ladder.text import printable

    screen = console()
    screen.print(printable(facts["question"], 1000), soft_wrap=True)
    screen.print(f"  {facts['kind']:<10} {printable(facts['candidate'], 2000)}", soft_wrap=True)
    for name, value in facts["task"].items():
        screen.print(f"  {printable(name, 40):<10} {printable(value, 1000)}", soft_wrap=True)
    for name, shown in (("unit", facts["unit"]), ("until", moment(facts["deadline"]))):
        if shown:
            screen.print(f"  {name:<10} {shown}")
    for name, said in facts.get("other_tiers", {}).items():
        screen.print(f"  {name:<10} {said}")
    screen.print(f"  {'case':<10} {facts['key'][:16]}")


def _others(opened: Campaign, case: Case) -> dict[str, str]:
    """What the other tiers said about the candidate."""
    from verifier_ladder.cli.history import events
    from verifier_ladder.ledger.records import CheckState

    waiting = opened.ledger.checks(states=[CheckState.WAITING], keys=[case.check_key])
    said: dict[str, str] = {}
    for check in waiting:
        for event in events(opened.ledger, check.content_key):
            if event.what == "verdict" and event.facts["verifier"] != case.verifier:
                facts = event.facts
                said[str(facts["verifier"])] = f"{facts['outcome']} {amount(facts['score'])}"
    return said


def _ask(case: Case) -> str | None:
    """Ask until the answer can be read; None if the person leaves it open."""
    from verifier_ladder.errors import ConfigError

    unit = f" in {case.unit}" if case.unit else ""
    while True:
        try:
            given: str = typer.prompt(
                f"Answer (a number{unit}, yes, no, decline; nothing leaves it open)", default="",
                show_default=False,
            )  # fmt: skip
        except KeyboardInterrupt:
            interrupted("Nothing was recorded; the case stays open.")
        if not given.strip():
            say("left open; --skip 1 shows the next one")
            return None
        try:
            read_answer(given)
        except ConfigError as error:
            say(str(error))
            continue
        return given


def read_answer(text: str) -> Answer:
    """Read an answer: a finite number, yes or no, or decline (None).

    Raises:
        ConfigError: If it is anything else.

    Example:
        >>> read_answer("-4.7"), read_answer("yes"), read_answer("decline")
        (-4.7, True, None)
    """
    from math import isfinite

    from verifier_ladder.errors import ConfigError
    from verifier_ladder.text import printable

    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    try:
        value = float(word)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise ConfigError(
            f"{printable(text, 60)!r} is no answer; give a number, yes, no, or decline"
        )
    return value


def _record(opened: Campaign, case: Case, given: str, by: str) -> list[dict[str, Any]]:
    """Hand the answer in, and wait for what it changes."""
    value: Verdict | Answer = read_answer(given)
    cursor = opened.cursor
    if not opened.answer(case.check_key, value, source=by):
        say("this case had been answered before; nothing was changed")
        return []
    opened.drain(_REVISED)
    revisions = list(opened.revisions(after=cursor))
    say(f"recorded as answered by {by}; {len(revisions)} rewards revised")
    for revision in revisions[:10]:
        say(f"  {_words(revision)}")
    return [_json(revision) for revision in revisions]


def _words(revision: Revision) -> str:
    value, old = amount(revision.reward.value), amount(revision.previous)
    return f"{revision.run} {revision.step}:{revision.position}: {value}, before {old}"


def _json(revision: Revision) -> dict[str, Any]:
    tier = revision.reward.tier
    label = None if tier is None else tier.label
    reward = {**revision.reward._asdict(), "tier": label}
    return {**revision._asdict(), "reward": reward}
