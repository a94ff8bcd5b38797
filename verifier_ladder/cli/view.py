"""`vladder view`: pages about a ledger, beside whatever is writing to it."""

from __future__ import annotations

import os
import sys
import webbrowser
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.opening import ledger_place
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import hide_password

if TYPE_CHECKING:
    from verifier_ladder.server.running import Address

PORT = 8421
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def view(
    ledger: Annotated[
        str | None,
        typer.Argument(
            help="The ledger: a path or a URL. [default: VLADDER_LEDGER, or ledger.db]"
        ),
    ] = None,
    *,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")
    ] = PORT,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show a ledger as pages in a browser, until Ctrl-C.

    It may run beside a training: the ledger is only read, and new entries appear by themselves.
    Whoever uses this machine can see the pages; no other machine can.
    """
    place = ledger_place(ledger)
    create_viewer, running = _server()
    sock, address = running.listen(running.Address("127.0.0.1", port))
    with sock:
        app = create_viewer(place)

        def started() -> None:
            _tell(address, app.state.viewer.url, as_json=as_json)
            if not (no_open or as_json) and _has_screen():
                Thread(target=webbrowser.open, args=(address.url,), daemon=True).start()

        running.run(app, sock, linger=0.0, started=started)


def _server() -> tuple[Any, Any]:
    """What needs the extra: the maker of the application, and the module that runs it."""
    try:
        from verifier_ladder.server import running
        from verifier_ladder.server.pages.app import create_viewer
    except ModuleNotFoundError as error:
        raise ConfigError(f"pages need {error.name}; pip install '.[server]' in a clone") from None
    return create_viewer, running


def _has_screen() -> bool:
    """Whether there is one to show a browser on; one in this terminal would take it over."""
    return sys.platform == "darwin" or any(map(os.environ.get, _SCREENS))


def _tell(address: Address, url: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json({"url": address.url, "ledger": hide_password(url)})
        sys.stdout.flush()
        return
    output.say(f"  ledger     {hide_password(url)}, only read")
    output.say("  access     everybody on this machine, and nobody else")
    output.say(f"Open {address.url} in a browser; Ctrl-C ends it.")
