"""The command line: `vladder`, one module per noun."""

from __future__ import annotations


def main() -> None:
    """Run `vladder` with the arguments of this process, and exit."""
    from verifier_ladder.cli.app import app

    app(prog_name="vladder")


__all__ = ["main"]
