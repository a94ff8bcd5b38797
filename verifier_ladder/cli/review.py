"""`vladder review`: a person answers what the world tier asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from verifier_ladder.candidate import sample_place
from verifier_ladder.cli import options, output
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.opening import existing_ledger, only_campaign
from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.cli.cases import Answer, OpenCase
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CampaignRow
    from verifier_ladder.reward import Revision

app = output.Noun(help="Answer open questions of the world tier.")
_MOST_SHOWN = 10


@app.callback()
def review() -> None:
    """Answer open questions of the world tier."""


@app.command("next")
def next_case(
    *,
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    imports: Imported = None,
    ladder: options.RecordedLadder = None,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer",
            help="A number or a bound such as '< 0.1' in the case's unit, yes or no where it "
            "takes them, failed, or decline.",
        ),
    ] = None,
    case: Annotated[
        str | None, typer.Option("--case", help="The start of a case's key, to choose it.")
    ] = None,
    skip: Annotated[int, typer.Option("--skip", min=0, help="Pass over so many open cases.")] = 0,
    by: options.AnsweredBy = None,
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Show what other tiers said.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show the next open case and take its answer.

    How the rewards change is printed. What other tiers said is hidden, so that the answer does not
    lean on it. Exits with 1 if no case is open.
    """
    from verifier_ladder.cli.cases import open_cases, other_tiers, read_answer
    from verifier_ladder.cli.reopening import REVIEWS, known_ladder
    from verifier_ladder.run import Run

    import_all(imports)
    with existing_ledger(ledger) as store:
        row = only_campaign(store, campaign)
        cases = open_cases(store, row.name, known_ladder(row, ladder))
        found = _chosen(cases, case, skip)
        if found is None:
            _none(case, as_json=as_json)
        facts = found.as_json()
        if unblind:
            facts["other_tiers"] = other_tiers(store, found)
        if not as_json:
            _show(facts)
        settle = partial(
            _record, store=store, row=row, ladder=ladder, case=found,
            by=by or Run(REVIEWS).user or "unknown",
        )  # fmt: skip
        if answer is not None:
            facts["revisions"] = settle(read_answer(answer))
        elif not as_json:
            _ask(found, settle)
    if as_json:
        output.print_json({"case": facts})


def _chosen(cases: Iterable[OpenCase], prefix: str | None, skip: int) -> OpenCase | None:
    start = (prefix or "").lower()
    fitting = (case for case in cases if case.check_key.hex().startswith(start))
    return next(islice(fitting, skip, None), None)


def _none(prefix: str | None, *, as_json: bool) -> NoReturn:

    if prefix is not None:
        raise ConfigError(f"no open case's key begins with {prefix!r}")
    output.say_done({"case": None}, "no open case", as_json=as_json)
    raise typer.Exit(output.Exit.FAILED)


def _show(facts: dict[str, Any]) -> None:

    screen = output.console()
    screen.print(printable(facts["question"], 1000), soft_wrap=True)
    screen.print(f"  {facts['kind']:<10} {printable(facts['candidate'], 2000)}", soft_wrap=True)
    for name, value in facts["task"].items():
        screen.print(f"  {printable(name, 40):<10} {printable(value, 1000)}", soft_wrap=True)
    for name, shown in (("unit", facts["unit"]), ("until", output.moment(facts["deadline"]))):
        if shown:
            screen.print(f"  {name:<10} {shown}")
    for name, said in facts.get("other_tiers", {}).items():
        screen.print(f"  {name:<10} {said}")
    screen.print(f"  {'case':<10} {facts['key'][:16]}")


def _ask(case: OpenCase, settle: Callable[[Answer], Any]) -> None:
    """Ask until an answer is taken, or until the person leaves it open."""
    from verifier_ladder.cli.cases import read_answer

    unit = f" in {printable(case.unit)}" if case.unit else ""
    words = "yes, no, failed, decline" if case.takes_yes else "failed, decline"
    prompt = f"Answer (a number or bound{unit}, {words}; nothing leaves it open)"
    while True:
        try:
            given: str = typer.prompt(prompt, default="", show_default=False)
            if not given.strip():
                output.say("left open; --skip 1 shows the next one")
                return
            settle(read_answer(given))
        except (KeyboardInterrupt, typer.Abort):
            output.interrupted("Nothing was recorded; the case stays open.")
        except ConfigError as error:
            output.say(str(error))
            continue
        return


def _record(
    value: Answer, *, store: Ledger, row: CampaignRow, ladder: Path | None, case: OpenCase, by: str
) -> list[dict[str, Any]]:
    """Hand the answer in, and wait for what it changes."""
    from verifier_ladder.cli.reopening import reopened, revisions_since

    with reopened(row, store, ladder) as campaign:
        cursor = campaign.cursor
        try:
            is_taken = campaign.answer(case.check_key, value, source=by)
        except VerifierError as error:
            raise ConfigError(f"{error}; the case stays open") from error
        if not is_taken:
            output.say("this case had been answered before; nothing was changed")
            return []
        revisions = revisions_since(campaign, cursor)
    count = len(revisions)
    output.say(
        f"recorded as answered by {by}; {count} {'reward' if count == 1 else 'rewards'} revised"
    )
    for revision in revisions[:_MOST_SHOWN]:
        output.say(f"  {_words(revision, case.candidate.content)}")
    return [_json(revision) for revision in revisions]


def _words(revision: Revision, content: str | bytes) -> str:
    value, old = output.amount(revision.reward.value), output.amount(revision.previous)
    where = sample_place(revision.run, revision.step, revision.position, content)
    return f"{where}: {value}, before {old}"


def _json(revision: Revision) -> dict[str, Any]:
    tier = revision.reward.tier
    label = None if tier is None else tier.label
    reward = {**revision.reward._asdict(), "tier": label}
    return {**revision._asdict(), "reward": reward}
