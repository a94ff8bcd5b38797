"""The command line: `vladder`, one module per noun."""

from __future__ import annotations

import sys
import warnings

from verifier_ladder.text import printable


def main() -> None:
    """Run `vladder` with the arguments of this process, and exit."""
    from verifier_ladder.cli.app import app

    warnings.showwarning = _say  # type: ignore[assignment]  # needs none of the other arguments
    app(prog_name="vladder")


def _say(message: Warning | str, *_: object) -> None:
    """A warning as a person reads it, without the line of code that it came from."""
    sys.stderr.write(f"warning: {printable(message, None)}\n")


__all__ = ["main"]
