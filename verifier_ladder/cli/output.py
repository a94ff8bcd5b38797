"""What commands print: text for people on stdout, JSON for programs, errors on stderr."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from verifier_ladder.errors import LadderError

_PIPE_WIDTH = 120
"""Columns of a table that does not go to a terminal."""


class Exit(IntEnum):
    """The exit codes, as `docs/reference/cli.md` lists them."""

    OK = 0
    FAILED = 1
    """What was asked about failed, or is not there."""
    USAGE = 2
    """The command or the configuration can't work as given."""
    BROKEN = 3
    """The ledger, the engine, a tool or a plugin failed."""
    INTERRUPTED = 130
    """Ctrl-C."""
    UNREAD = 141
    """Whoever read the output went away, as with `| head`."""


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
LedgerAt = Annotated[
    str | None,
    typer.Option(
        "--ledger", metavar="PATH", help="The ledger. [default: VLADDER_LEDGER, or ledger.db]"
    ),
]


def console(*, to_stderr: bool = False) -> Console:
    """A console that shows text as it is: no markup is read in it, no width is assumed."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            stop_output(BrokenPipeError())

    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Quiet(stderr=to_stderr, width=width, markup=False, highlight=False, emoji=False)


def table(*columns: str, right: tuple[str, ...] = (), title: str = "") -> Table:
    """A table without lines between its cells; columns named in `right` hold numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left")
    for name in columns:
        is_number = name in right
        made.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    return made


def print_json(value: Any) -> None:
    """Print one JSON value; text that UTF-8 can't hold is repaired."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    try:
        made = orjson.dumps(value, option=options, default=_json)
    except TypeError:
        made = orjson.dumps(_repaired(value), option=options, default=_json)
    sys.stdout.write(made.decode() + "\n")


def _json(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_repaired(key): _repaired(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_repaired(item) for item in value]
    return value


def say(text: str) -> None:
    """Write a message for a person to stderr, so that piped output stays clean."""
    console(to_stderr=True).print(text, soft_wrap=True)


def report(error: LadderError) -> Exit:
    """Say on stderr what failed and what to do; returns the exit code."""
    from verifier_ladder.errors import BudgetError, CandidateError, ConfigError
    from verifier_ladder.text import printable

    say(f"vladder: {printable(error, 2000)}")
    usage = (ConfigError, CandidateError, BudgetError)
    return Exit.USAGE if isinstance(error, usage) else Exit.BROKEN


def interrupted(advice: str) -> NoReturn:
    """End after Ctrl-C, and say how to go on."""
    say(f"Interrupted. {advice}")
    raise typer.Exit(Exit.INTERRUPTED)


def stop_output(error: OSError) -> NoReturn:
    """End, quietly if nobody reads what is printed; else say what can't be read or written."""
    from verifier_ladder.text import printable

    # What is still buffered would raise once more when Python exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        raise SystemExit(int(Exit.UNREAD))
    place = error.filename or "the output"
    say(f"vladder: {printable(place)}: {error.strerror or error}; make room or give another place")
    raise SystemExit(int(Exit.BROKEN))


def moment(seconds: float | None) -> str:
    """A time for a person, in UTC.

    Example:
        >>> moment(0.0)
        '1970-01-01 00:00:00'
    """
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def amount(value: float | None, digits: int = 4) -> str:
    """A number for a person; a dash where there is none.

    Example:
        >>> amount(0.123456), amount(None)
        ('0.1235', '–')
    """
    return "–" if value is None else f"{value:.{digits}g}"
