"""`vladder check`: the checks of the work queue, their stories, and another chance for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import existing_ledger, ledger_to_read, only_campaign
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.checkstory import CheckStory
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CheckRow

app = output.Noun(help="List checks with their stories, and retry those that gave up.")
_FEWEST_HEX = 4
_SHOWN_HEX = 12

Keys = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY", help="First digits of check keys, at least four."),
]
StateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--state", help="queued, leased, waiting, done, dead, cancelled or expired; may repeat."
    ),
]
CampaignOption = Annotated[
    str | None, typer.Option("--campaign", help="Only what this campaign asked for.")
]
VerifierOption = Annotated[
    str | None, typer.Option("--verifier", help="Only those of this verifier.")
]
TierOption = Annotated[
    list[str] | None, typer.Option("--tier", help="Only those of this tier; may repeat.")
]


@app.command("ls")
def ls(
    keys: Keys = None,
    ledger: options.LedgerAt = None,
    *,
    states: StateOption = None,
    campaign: CampaignOption = None,
    verifier: VerifierOption = None,
    tiers: TierOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The most to list.")] = 50,
    as_json: options.AsJson = False,
) -> None:
    """List checks of the work queue, and why they failed.

    With a key the whole story of a check is told, attempt by attempt.
    """
    from verifier_ladder.checkstory import story_of

    with ledger_to_read(ledger) as store:
        found = _chosen(store, keys, states, campaign=campaign, verifier=verifier, tiers=tiers)
        stories = [story_of(store, check) for check in found[:limit]]
    if as_json:
        output.print_json([story.as_json() for story in stories])
    elif keys:
        for story in stories:
            _tell(story)
    else:
        output.console().print(_table(stories) if stories else "no such checks")
    if len(found) > limit:
        output.say(f"{len(found) - limit} more; --limit {len(found)} lists all")


@app.command("retry")
def retry(
    keys: Keys = None,
    ledger: options.LedgerAt = None,
    *,
    states: StateOption = None,
    campaign: CampaignOption = None,
    verifier: VerifierOption = None,
    tiers: TierOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All dead checks of the ledger.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Queue dead checks again, by key or all that match.

    With --state expired also those that nobody answered in time. Samples whose reward told of the
    failure wait again, and are revised when there is an answer.
    """
    from verifier_ladder.retrying import retry as retry_checks

    if not (everything or keys or states or campaign or verifier or tiers):
        raise ConfigError("say which: keys, --campaign, --verifier, --tier, --state, or --all")
    with existing_ledger(ledger) as store:
        found = _chosen(
            store, keys, states or ["dead"], campaign=campaign, verifier=verifier, tiers=tiers
        )
        done = retry_checks(store, found)
    words = (
        f"{done.checks} checks are queued again, for which {done.samples} samples wait that had "
        "been told of a failure; they run where their campaign is open, or a worker is"
    )
    output.say_done(done._asdict(), words, as_json=as_json)
    if not done.checks:
        raise typer.Exit(output.Exit.FAILED)


def _chosen(
    store: Ledger,
    keys: list[str] | None,
    states: list[str] | None,
    *,
    campaign: str | None,
    verifier: str | None,
    tiers: list[str] | None,
) -> list[CheckRow]:
    """The checks that fit all that is given.

    Raises:
        ConfigError: If there is no such state, tier, campaign, verifier or key.
    """
    from verifier_ladder.tier import Tier

    if campaign is not None:
        only_campaign(store, campaign)
    wanted = [_prefix(key) for key in keys or ()]
    rows = store.checks(
        states=[_state(name) for name in states] if states else None, campaign=campaign,
        verifier=verifier, tiers=[int(Tier.parse(name)) for name in tiers] if tiers else None,
    )  # fmt: skip
    if keys:
        rows = [row for row in rows if row.check_key.hex().startswith(tuple(wanted))]
    if not rows and (verifier or keys):
        _refuse_unknown(store, verifier, wanted)
    return rows


def _refuse_unknown(store: Ledger, verifier: str | None, keys: list[str]) -> None:
    """Refuse a verifier or keys that no check of the queue has, in whatever state."""
    every = store.checks()
    known = dict.fromkeys(row.verifier for row in every)
    if verifier and verifier not in known:
        named = ", ".join(known) or "none"
        raise ConfigError(f"no check was queued for {verifier!r}; verifiers with checks: {named}")
    if keys and not any(row.check_key.hex().startswith(tuple(keys)) for row in every):
        raise ConfigError("no check's key begins so; `vladder check ls` lists them")


def _prefix(given: str) -> str:
    from string import hexdigits

    if len(given) < _FEWEST_HEX or set(given) - set(hexdigits):
        raise ConfigError(
            f"{given!r} can't be the beginning of a check key; give four or more of the digits "
            "that `vladder check ls` shows"
        )
    return given.lower()


def _state(label: str) -> Any:
    from verifier_ladder.ledger.records import CheckState

    known = {state.label: state for state in CheckState}
    if label not in known:
        raise ConfigError(f"no state is called {label!r}; there is {', '.join(known)}")
    return known[label]


def _table(stories: list[CheckStory]) -> Any:
    from verifier_ladder.tier import Tier

    made = output.table(
        "check", "candidate", "verifier", "tier", "state", "attempts", "failed at", "why",
        "when (UTC)", right=("attempts", "when (UTC)"),
    )  # fmt: skip
    for story in stories:
        row = story.check
        made.add_row(
            row.check_key.hex()[:_SHOWN_HEX], printable(row.payload.get("content", ""), 24),
            f"{row.verifier} {row.version}", Tier(row.tier).label, row.state.label,
            str(row.attempt), story.failed_at or "", printable(story.why, 60),
            output.moment(story.attempts[-1].recorded_at if story.attempts else None),
        )  # fmt: skip
    return made


def _tell(story: CheckStory) -> None:
    """The whole story of one check."""
    from verifier_ladder.tier import Tier

    row, screen = story.check, output.console()
    screen.print(
        f"check {row.check_key.hex()}\n"
        f"{row.verifier} {row.version} ({Tier(row.tier).label}, "
        f"made as {row.digest.hex()[:12]}) on "
        f"{printable(row.payload.get('content', ''), 500)}\n"
        f"asked for by {row.campaign}; {row.state.label}"
        + (f": {printable(row.note, 500)}" if row.note else "")
    )
    made = output.table("attempt", "when (UTC)", "outcome", "failed at", "reason", "entry")
    for attempt in story.attempts:
        made.add_row(
            str(attempt.number), output.moment(attempt.recorded_at), attempt.outcome.value,
            attempt.failed_at or "", printable(attempt.reason, 500), str(attempt.entry),
        )  # fmt: skip
    screen.print(made if story.attempts else "no attempt has said anything yet")
