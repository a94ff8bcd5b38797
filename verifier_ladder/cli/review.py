"""`vladder review`: a person answers what the world tier asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from verifier_ladder.candidate import sample_place
from verifier_ladder.cli import options, output
from verifier_ladder.cli.code import Imported, import_all
from verifier_ladder.cli.opening import existing_ledger, ledger_to_read, only_campaign
from verifier_ladder.errors import (
    ConfigError,
    LadderError,
    LeaseError,
    LedgerError,
    VerifierError,
)
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.casework.opencases import Answer, OpenCase
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CampaignRow, CheckRow
    from verifier_ladder.reviews import Claim
    from verifier_ladder.reward import Revision

app = output.Noun(help="Answer open questions of the world tier.")
_MOST_SHOWN = 10
_KEY_DIGITS = 64


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
    lease: Annotated[
        int, typer.Option("--lease", min=1, help="Minutes for which the case is claimed.")
    ] = 30,
    comment: Annotated[str, typer.Option("--comment", help="Words to keep with the answer.")] = "",
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Show what other tiers said, and record that.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show the next open case and take its answer.

    The case is claimed for you for half an hour. Where its verifier wants two readers, neither
    sees the other's answer, and a third is asked if they disagree.

    How the rewards change is printed. What other tiers said is hidden, so that the answer does not
    lean on it; the ledger keeps who has asked for it. With --json and no --answer the case is
    shown and not claimed. Exits with 1 if no case is open to you.
    """
    from verifier_ladder.casework.opencases import read_answer
    from verifier_ladder.cli.reopening import known_ladder

    import_all(imports)
    value = None if answer is None else read_answer(answer)
    is_claimed = answer is not None or not as_json
    with existing_ledger(ledger) as store:
        row = only_campaign(store, campaign)
        reading = _Reading(store, row, ladder, known_ladder(row, ladder), _reader(by))
        claim: Claim | None = None
        if is_claimed:
            reading.hand_in_earlier()
            claimed = reading.queue.claim(case or "", skip=skip, lease=60.0 * lease)
            found, claim = claimed or (None, None)
        else:
            found = reading.queue.first(case or "", skip=skip)
        if found is None:
            _none(case, as_json=as_json)
        facts = found.as_json()
        if unblind:
            facts["other_tiers"] = reading.queue.other_tiers(found)
        if not as_json:
            _show(facts)
        if claim is not None and answer is not None:
            with _given_back(reading, claim):
                facts["revisions"] = reading.record(found, claim, value, comment)
        elif claim is not None:
            _ask(found, claim, reading)
    if as_json:
        output.print_json({"case": facts})


@app.command("undo")
def undo(
    case: Annotated[str, typer.Argument(help="The start of the case's key.")],
    *,
    answer: Annotated[
        str | None,
        typer.Option("--answer", help="What is right instead, as for next; or decline."),
    ] = None,
    why: Annotated[str, typer.Option("--why", help="Why the other answer was wrong.")] = "",
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    imports: Imported = None,
    ladder: options.RecordedLadder = None,
    by: options.AnsweredBy = None,
    as_json: options.AsJson = False,
) -> None:
    """Take a wrong answer to a case back.

    While other readers are still asked, what you have said is withdrawn. Once the case is
    answered, by whomever, --answer says what is right instead: it supersedes, and all rewards
    that rest on the wrong answer are revised. Both stay in the ledger.
    """
    from verifier_ladder.casework.opencases import read_answer
    from verifier_ladder.cli.reopening import known_ladder
    from verifier_ladder.ledger.records import CheckState

    import_all(imports)
    with existing_ledger(ledger) as store:
        row = only_campaign(store, campaign)
        reading = _Reading(store, row, ladder, known_ladder(row, ladder), _reader(by))
        check = _check(store, row.name, case)
        value = None if answer is None else read_answer(answer)
        if check.state is not CheckState.DONE and answer is not None:
            raise ConfigError(
                f"the case {case} is not answered yet: undo without --answer takes back what you "
                f"said, then `vladder review next --case {case}` asks you again"
            )
        if check.state is not CheckState.DONE:
            reading.reviews.withdraw(check.check_key, reading.reader)
            done: dict[str, Any] = {"withdrawn": True, "revisions": []}
            words = f"what {printable(reading.reader)} said is taken back; the case is open again"
        elif answer is None:
            raise ConfigError(
                f"the case {case} is answered; say with --answer what is right instead, or "
                "`--answer decline` if nobody knows"
            )
        else:
            revisions = reading.supersede(check.check_key, value, why)
            done = {"withdrawn": False, "revisions": revisions}
            words = f"superseded; {_count(len(revisions), 'reward')} revised"
    output.say_done({"case": check.check_key.hex(), **done}, words, as_json=as_json)


@app.command("agreement")
def agreement(
    *,
    campaign: options.InCampaign = None,
    ledger: options.LedgerAt = None,
    imports: Imported = None,
    ladder: options.RecordedLadder = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell how far the readers of cases agree, by verifier.

    Only the first two readers of a case count: a third is asked because they disagree. Alpha is
    Krippendorff's: 1 is perfect, 0 is what chance gives.
    """
    from verifier_ladder.cli.reopening import recorded_ladder
    from verifier_ladder.reviews import Reviews

    import_all(imports)
    with ledger_to_read(ledger) as store:
        row = only_campaign(store, campaign)
        asked = recorded_ladder(row, ladder)
        reviews = Reviews(store, row.name, asked)
        twice = [v.name for v in asked.verifiers if getattr(v, "readers", 1) > 1]
        told = {name: reviews.agreement(name) for name in twice}
    if as_json:
        output.print_json({name: each._asdict() for name, each in told.items()})
        return
    if not told:
        output.say("no verifier of the ladder wants two readers")
    for name, each in told.items():
        output.say(
            f"{printable(name)}: {each.agreed} of {_count(each.cases, 'case')} agreed; alpha "
            f"{output.amount(each.outcomes)} of outcomes, {output.amount(each.scores)} of scores"
        )


def _reader(by: str | None) -> str:
    from verifier_ladder.cli.reopening import REVIEWS
    from verifier_ladder.run import Run

    return (by or Run(REVIEWS).user or "unknown").strip()


def _check(store: Ledger, campaign: str, prefix: str) -> CheckRow:
    """The case whose key begins so.

    Raises:
        ConfigError: If there is none, or several.
    """
    from string import hexdigits

    from verifier_ladder.tier import Tier

    start, world = prefix.lower(), [int(Tier.WORLD)]
    is_key = bool(start) and not set(start) - set(hexdigits) and len(start) <= _KEY_DIGITS
    found = store.checks(campaign=campaign, tiers=world, prefix=start, limit=2) if is_key else []
    if len(found) != 1:
        several = "several cases begin" if found else "no case's key begins"
        raise ConfigError(f"{several} with {printable(prefix, 80)!r}")
    return found[0]


class _Reading:
    """One reader at a terminal, and the campaign whose cases are read."""

    def __init__(
        self, store: Ledger, row: CampaignRow, path: Path | None, ladder: Ladder | None,
        reader: str,
    ) -> None:  # fmt: skip
        from verifier_ladder.casework.reviewing import ReviewQueue
        from verifier_ladder.reviews import Reviews

        self.reader = reader
        self.reviews = Reviews(store, row.name, ladder)
        self.queue = ReviewQueue(self.reviews, store, row.name, ladder, reader)
        self._store, self._row, self._path = store, row, path

    def record(
        self, case: OpenCase, claim: Claim, value: Answer, comment: str
    ) -> list[dict[str, Any]]:
        """Take an answer, and wait for what it changes."""
        from verifier_ladder.cli.reopening import recorded_ladder

        if self.queue.ladder is None:
            recorded_ladder(self._row, self._path)  # It says why it is not here.
        try:
            is_concluded = self.queue.answer(claim, value, comment)
        except LeaseError as error:
            raise ConfigError(
                f"nothing was recorded: {error}. If the case is still open to you, claim it "
                f"again: vladder review next --case {case.check_key.hex()[:16]}"
            ) from error
        if not is_concluded:
            output.say(self._open_or_not(case))
        try:
            return self.hand_in(case.candidate.content)
        except LadderError as error:
            raise LedgerError(f"{error}. What you have said is kept in the ledger") from error

    def _open_or_not(self, case: OpenCase) -> str:
        from verifier_ladder.ledger.records import CheckState

        if self._store.checks(keys=[case.check_key], states=[CheckState.DONE]):
            return "this case had been answered before; nothing was changed"
        return f"recorded as read by {printable(self.reader)}; another reader is asked"

    def hand_in_earlier(self) -> None:
        """Hand in what somebody was kept from handing in; that must not keep others from work."""
        try:
            self.hand_in()
        except LadderError as error:
            output.say(f"answers of earlier readers wait to be handed in: {error}")

    def hand_in(self, content: str | bytes = "") -> list[dict[str, Any]]:
        """Hand in what all readers have said."""
        from verifier_ladder.casework.reviewing import hand_in_concluded
        from verifier_ladder.cli.reopening import reopened, revisions_since

        concluded = self.reviews.concluded()
        if not concluded:
            return []
        if (elsewhere := self._store.conductor(self._row.name)) is not None:
            output.say(f"recorded; {printable(elsewhere)} has the campaign open, and hands it in")
            return []
        with reopened(self._row, self._store, self._path) as campaign:
            cursor = campaign.cursor
            taken = hand_in_concluded(campaign, concluded)
            revisions = revisions_since(campaign, cursor)
        if not taken:
            output.say("this case had been answered before; nothing was changed")
            return []
        sources = dict.fromkeys(source for _, source in concluded.values())
        by = ", ".join(map(printable, sources))
        return _tell(f"recorded as answered by {by}", revisions, content)

    def supersede(self, key: bytes, value: Answer, why: str) -> list[dict[str, Any]]:
        """Put another answer in the place of a wrong one, and wait for what it changes."""
        from verifier_ladder.cli.reopening import reopened, revisions_since

        with reopened(self._row, self._store, self._path) as campaign:
            cursor = campaign.cursor
            try:
                campaign.supersede(key, value, source=self.reader, why=why)
            except VerifierError as error:
                raise ConfigError(f"{error}; nothing was changed") from error
            return list(map(_json, revisions_since(campaign, cursor)))


@contextmanager
def _given_back(reading: _Reading, claim: Claim) -> Iterator[None]:
    """Give a claim back if what it was made for comes to nothing."""
    try:
        yield
    except BaseException:
        reading.reviews.release(claim)
        raise


def _tell(what: str, revisions: Sequence[Revision], content: str | bytes) -> list[dict[str, Any]]:
    output.say(f"{what}; {_count(len(revisions), 'reward')} revised")
    for revision in revisions[:_MOST_SHOWN]:
        output.say(f"  {_words(revision, content)}")
    return list(map(_json, revisions))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


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
    if "other_tiers" in facts:
        _show_others(facts["other_tiers"])
    screen.print(f"  {'case':<10} {facts['key'][:16]}")


def _ask(case: OpenCase, claim: Claim, reading: _Reading) -> None:
    """Ask until an answer is taken, or until the person leaves it open."""
    unit = f" in {printable(case.unit)}" if case.unit else ""
    words = "yes, no, failed, decline" if case.takes_yes else "failed, decline"
    output.say(f"claimed for you until {output.moment(claim.until)} UTC")
    prompt = (
        f"Answer (a number or bound{unit}, {words}; behind # a comment; others shows what other "
        "tiers said; skip passes it on; nothing leaves it open)"
    )
    while True:
        try:
            given: str = typer.prompt(prompt, default="", show_default=False).strip()
        except (KeyboardInterrupt, typer.Abort):
            reading.reviews.release(claim)
            output.interrupted("Nothing was recorded; the case stays open.")
        if given.lower() in {"", "skip"}:
            reading.reviews.release(claim, skip=bool(given))
            then = "you are not asked again" if given else "--skip 1 shows the next one"
            output.say(f"left open; {then}")
            return
        if given.lower() == "others":
            _show_others(reading.queue.other_tiers(case))
        elif _is_taken(case, claim, reading, given):
            return


def _is_taken(case: OpenCase, claim: Claim, reading: _Reading, given: str) -> bool:
    """Take what was typed as an answer; False, and why, if it is none."""
    from verifier_ladder.casework.opencases import read_answer

    answer, _, comment = given.partition("#")
    try:
        reading.record(case, claim, read_answer(answer), comment)
    except ConfigError as error:
        if isinstance(error.__cause__, LeaseError):
            raise
        output.say(str(error))
        return False
    return True


def _show_others(told: Mapping[str, str]) -> None:
    screen = output.console()
    for name, said in told.items():
        screen.print(f"  {printable(name, 40):<10} {said}")
    if not told:
        output.say("no other tier has said anything of it")


def _words(revision: Revision, content: str | bytes) -> str:
    value, old = output.amount(revision.reward.value), output.amount(revision.previous)
    where = sample_place(revision.run, revision.step, revision.position, content)
    return f"{where}: {value}, before {old}"


def _json(revision: Revision) -> dict[str, Any]:
    tier = revision.reward.tier
    label = None if tier is None else tier.label
    reward = {**revision.reward._asdict(), "tier": label}
    return {**revision._asdict(), "reward": reward}
