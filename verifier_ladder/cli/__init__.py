"""The command line: `vladder`, one module per noun."""

from __future__ import annotations

import signal
import sys
import warnings

from verifier_ladder.text import printable


def main() -> None:
    """Run `vladder` with the arguments of this process, and exit.

    SIGTERM unwinds as Ctrl-C does, so that no temporary file stays; a second one ends at once.
    """
    ended: list[int] = []

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        ended.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    from verifier_ladder.cli.app import app

    warnings.showwarning = _say  # type: ignore[assignment]  # needs none of the other arguments
    try:
        app(prog_name="vladder")
    finally:
        if ended:
            sys.exit(128 + ended[0])


def _say(message: Warning | str, *_: object) -> None:
    """A warning as a person reads it, without the line of code that it came from."""
    sys.stderr.write(f"warning: {printable(message, None)}\n")


__all__ = ["main"]
