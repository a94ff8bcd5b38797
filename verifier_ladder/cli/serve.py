"""`vladder serve`: a campaign that scores over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.code import Imported, import_all, import_code
from verifier_ladder.cli.opening import ledger_place
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import hide_password

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.server.pages.viewer import Viewer
    from verifier_ladder.server.running import Address
    from verifier_ladder.server.tokens import TokenFile

PORT = 8420


def serve(
    ladder: Annotated[
        str, typer.Argument(help="The ladder: a TOML file, module:name or file.py:name.")
    ],
    *,
    campaign: options.NewCampaign = None,
    ledger: options.LedgerAt = None,
    run: Annotated[
        str | None,
        typer.Option("--run", help="Run of samples that name none. [default: a new one]"),
    ] = None,
    imports: Imported = None,
    host: Annotated[str, typer.Option("--host", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")
    ] = PORT,
    deadline: Annotated[
        str, typer.Option("--deadline", help="How long a call waits for higher tiers.")
    ] = "30 s",
    on_abstain: Annotated[
        float | None,
        typer.Option(
            "--on-abstain",
            help="What learners that need a number get for an unknown reward.",
        ),
    ] = None,
    clip: Annotated[
        tuple[float, float] | None,
        typer.Option("--clip", help="Least and largest reward that learners are told."),
    ] = None,
    masks: Annotated[
        bool,
        typer.Option(
            "--mask", help="Tell NeMo-Gym to mask an unknown sample; otherwise its call fails."
        ),
    ] = False,
    group_size: Annotated[
        int | None,
        typer.Option(
            "--group-size",
            min=1,
            help="How many samples of one prompt a learner sends that tells no step; they are "
            "compared with each other.",
        ),
    ] = None,
    areal: Annotated[
        str | None,
        typer.Option("--areal", metavar="URL", help="AReaL's gateway, which is told rewards."),
    ] = None,
    webhooks: Annotated[
        Path | None,
        typer.Option("--webhooks", help="Who sends results and is told of revisions, in TOML."),
    ] = None,
    anyone_may_answer: Annotated[
        bool,
        typer.Option(
            "--anyone-may-answer",
            help="As long as there are no tokens, let every user of this machine answer cases, "
            "and so decide rewards.",
        ),
    ] = False,
    pages: Annotated[
        bool,
        typer.Option(
            "--pages",
            help="Show the ledger as pages too, with the review queue and the laboratory's files.",
        ),
    ] = False,
    allow_hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A name by which clients ask; may be repeated."),
    ] = None,
    allow_origins: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", help="A site whose pages may ask; may be repeated."),
    ] = None,
    linger: Annotated[
        str, typer.Option("--linger", help="How long to go on after SIGTERM, saying so.")
    ] = "1 s",
    workers: options.Workers = None,
    as_json: options.AsJson = False,
) -> None:
    """Score over HTTP until SIGTERM or Ctrl-C.

    What was accepted is finished first.

    Whoever uses this machine may score and read until a token is made with `vladder token add`;
    other machines may ask, and cases may be answered, only with tokens. On pages, people log in
    with theirs.
    """
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import open_ledger
    from verifier_ladder.server.tokens import TokenFile, token_file

    import_all(imports)
    made, patience = _ladder(ladder), seconds(linger)
    create_app, running, hooks_from = _server()
    hooks = None if webhooks is None else hooks_from(webhooks)
    place = ledger_place(ledger)
    with open_ledger(place, wait=True) as store:
        tokens = TokenFile(token_file(store.url))
        address = _checked(running.Address(host, port), tokens)
        sock, address = running.listen(address)
        with (
            sock,
            Campaign.open(
                campaign or made.name, ladder=made, ledger=store, run=run, workers=workers
            ) as opened,
        ):
            app = create_app(
                opened, deadline=deadline, on_abstain=on_abstain, clip=clip, masks=masks,
                group_size=group_size, areal_gateway=areal, webhooks=hooks,
                cursors=tokens.path.with_suffix(".webhooks"), tokens=tokens,
                anyone_may_answer=anyone_may_answer, hosts=_hosts(address, allow_hosts),
                origins=allow_origins or (),
                viewer=_viewer(store, place) if pages else None,
            )  # fmt: skip

            def started() -> None:
                may = "score, read and answer cases" if anyone_may_answer else "score and read"
                _tell(opened, address, tokens, may, has_pages=pages, as_json=as_json)

            running.run(app, sock, linger=patience, started=started)
    if not as_json:
        output.say("ended; everything that was accepted is in the ledger")


def _server() -> tuple[Any, Any, Any]:
    """What needs the extra: `create_app`, the module that runs it, and the reader of webhooks."""
    try:
        from verifier_ladder.server import running
        from verifier_ladder.server.app import create_app
        from verifier_ladder.server.webhooks.settings import WebhookSettings
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"serving needs {error.name}; pip install '.[server]' in a clone"
        ) from None
    return create_app, running, WebhookSettings.from_toml


def _viewer(store: Ledger, place: str) -> Viewer:
    """What reads the ledger for pages.

    Raises:
        ConfigError: If it can't be read by another than who has made it.
    """
    from verifier_ladder.ledger.memory import MemoryLedger
    from verifier_ladder.server.pages.viewer import Viewer

    if isinstance(store, MemoryLedger):
        raise ConfigError("--pages needs a ledger in a file or a database: give one with --ledger")
    return Viewer(place)


def _ladder(where: str) -> Ladder:
    """A ladder from a TOML file, or the one that a module holds under a name."""
    from verifier_ladder.ladder import Ladder

    if where.endswith(".toml"):
        return Ladder.from_toml(where)
    module, _, name = where.rpartition(":")
    if not module:
        raise ConfigError(
            f"{where!r} is no ladder; give a TOML file, module:name, or file.py:name"
        )
    found = getattr(import_code(module), name, None)
    if not isinstance(found, Ladder):
        raise ConfigError(f"{module} holds no ladder called {name}; it must be a vl.Ladder")
    return found


def _checked(address: Address, tokens: TokenFile) -> Address:
    """Refuse to listen where anybody could ask."""
    if not address.is_loopback and not tokens.is_required:
        raise ConfigError(
            f"{address.host} is reached from other machines, and there are no tokens; make one "
            "with `vladder token add NAME --scope score`, or leave --host out"
        )
    return address


def _hosts(address: Address, allowed: list[str] | None) -> list[str] | None:
    """Names by which the server may be asked; any, if it is reached from elsewhere by token."""
    from verifier_ladder.server.access import LOOPBACK

    if not address.is_loopback and not allowed:
        return None
    return [*LOOPBACK, address.host, *(allowed or ())]


def _tell(
    campaign: Campaign, address: Address, tokens: TokenFile, may: str, *, has_pages: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Say where it is, how it is asked, and what everybody may without tokens."""
    facts = {
        "url": address.url, "campaign": campaign.name, "run": campaign.run.name,
        "ledger": campaign.ledger.url, "tokens": tokens.is_required,
    }  # fmt: skip
    if as_json:
        output.print_json(facts)
        sys.stdout.flush()
        return

    tiers = " → ".join(tier.label for tier in campaign.ladder.tiers)
    access = (
        f"tokens of {tokens.path}" if facts["tokens"]
        else f"everybody on this machine may {may}; `vladder token add NAME` asks for tokens"
    )  # fmt: skip
    bearer = " -H 'Authorization: Bearer TOKEN'" if facts["tokens"] else ""
    for name, text in (
        ("campaign", f"{campaign.name} ({tiers}), run {campaign.run.name}"),
        ("ledger", hide_password(campaign.ledger.url)), ("access", access),
        ("described", f"{address.url}/openapi.json"),
    ):  # fmt: skip
        output.say(f"  {name:<10} {text}")
    output.say("Try it:")
    output.say(
        f"  curl {address.url}/v1/score{bearer} -H 'Content-Type: application/json' "
        """-d '{"samples": ["…"]}'"""
    )
    if has_pages:
        output.say(f"Open {address.url} in a browser.")
    output.say(f"Serving at {address.url}; Ctrl-C ends it.")
