"""What holds for every command, found by walking over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from verifier_ladder.cli.app import app


def walk(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group below a command, with the words that call it."""
    yield words, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, *words, word)


EVERYTHING = dict(walk(typer.main.get_command(app)))
COMMANDS = {w: c for w, c in EVERYTHING.items() if not getattr(c, "commands", {})}


def named(words: Any) -> str:
    return " ".join(words) if isinstance(words, tuple) else str(words)


@pytest.mark.parametrize("words", EVERYTHING, ids=named)
def test_help_is_told_whole_at_80_columns(
    run: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    lines = run(*words, "--help").stdout.splitlines()

    assert [] == [line for line in lines[1:] if line.rstrip().endswith(("...", "…"))]
    assert [] == [line for line in lines if len(line) > 80]
    assert [] == [p.name for p in EVERYTHING[words].params if not p.help and p.name != "help"]
