"""`vladder token`: who may ask a server, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_place, ledger_to_read
from verifier_ladder.cost import seconds
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.server.tokens import Token, TokenFile

app = output.Noun(help="Say who may ask a server, and for what.")


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Whose it is.")],
    *,
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", help="score, read, answer or admin; may be repeated. [default: score, read]"
        ),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="PREFIX",
            help="Only for runs whose names begin so, such as 'blue/'; may be repeated. [default: "
            "all runs]",
        ),
    ] = None,
    lifetime: Annotated[
        str | None, typer.Option("--lifetime", help="How long it is valid, such as '90 d'.")
    ] = None,
    ledger: options.LedgerAt = None,
    as_json: options.AsJson = False,
) -> None:
    """Make a token and print it, once; only its hash is kept.

    From the first token on a server of this ledger answers nobody who shows none.
    """
    from verifier_ladder.ledger import open_ledger

    with open_ledger(ledger_place(ledger)) as store:  # Made now if it is not there.
        tokens = _tokens(store)
    wanted = scopes or ["score", "read"]
    ends = None if lifetime is None else seconds(lifetime)
    secret = tokens.add(name, wanted, ends, runs or ())
    if as_json:
        output.print_json({"token": secret, "name": name, "scopes": wanted, "runs": runs or []})
        return
    output.console().print(secret, soft_wrap=True)
    bound = f" in runs that begin with {' or '.join(runs)}" if runs else ""
    output.say(
        f"may {' and '.join(wanted)}{bound}; it is not shown again, and its hash is in "
        f"{tokens.path}"
    )


@app.command("ls")
def ls(ledger: options.LedgerAt = None, *, as_json: options.AsJson = False) -> None:
    """List the tokens, those that are over too."""
    from time import time

    with ledger_to_read(ledger) as store:
        rows = [_row(token, time()) for token in _tokens(store).tokens()]
    if as_json:
        output.print_json(rows)
        return
    made = output.table("name", "id", "scopes", "runs", "made (UTC)", "valid until (UTC)", "state")
    for row in rows:
        made.add_row(
            printable(row["name"]), row["id"], " ".join(row["scopes"]),
            " ".join(f"{prefix}…" for prefix in row["runs"]) or "all",
            output.moment(row["made_at"]), output.moment(row["ends_at"]) or "for ever",
            row["state"],
        )  # fmt: skip
    nobody = "no tokens; whoever uses this machine may score and read at its servers"
    output.console().print(made if rows else nobody)


@app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Name or id of the token.")],
    ledger: options.LedgerAt = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """End a token; running servers refuse it within a second."""
    from time import time

    with ledger_to_read(ledger) as store:
        ended = _tokens(store).revoke(name)
    words = f"revoked {printable(ended.name)} ({ended.id})"
    output.say_done(_row(ended, time()), words, as_json=as_json)


@app.command("secret")
def secret(*, as_json: options.AsJson = False) -> None:
    """Make a secret for a webhook and print it; it is kept nowhere."""
    from verifier_ladder.server.webhooks.signing import new_secret

    if as_json:
        output.print_json({"secret": new_secret()})
    else:
        output.console().print(new_secret(), soft_wrap=True)


def _tokens(ledger: Ledger) -> TokenFile:
    """The tokens of a ledger, by its address, which may be written in many ways."""
    from verifier_ladder.server.tokens import TokenFile, token_file

    return TokenFile(token_file(ledger.url))


def _row(token: Token, now: float) -> dict[str, Any]:
    row = {k: v for k, v in token._asdict().items() if k != "digest"}
    if token.revoked_at is not None:
        return {**row, "state": "revoked"}
    return {**row, "state": "valid" if token.is_valid(now) else "over"}
