"""What commands print: text for people on stdout, JSON for programs, errors on stderr."""

from __future__ import annotations

import os
import reprlib
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import IntEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperCommand

from verifier_ladder.errors import BudgetError, CandidateError, ConfigError
from verifier_ladder.private import check_other_file, is_full
from verifier_ladder.text import json_printable, plain_lines, printable
from verifier_ladder.text import moment as utc

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from verifier_ladder.errors import LadderError

_PIPE_WIDTH = 120
"""Columns of a table that does not go to a terminal."""


_LARGEST = 2**63 - 1
"""The largest number that every ledger can hold."""


class Exit(IntEnum):
    """The exit codes, as `docs/reference/cli.md` lists them: one for each cause."""

    OK = 0
    FAILED = 1
    """It was looked, and the answer is no: a check failed, or there is nothing to do."""
    USAGE = 2
    """The call can't work as given: an option, a name, a file or the configuration is wrong."""
    BROKEN = 3
    """What is there can't be used: the ledger, the disk, the engine, a tool or a plugin failed."""
    INTERRUPTED = 130
    """Ctrl-C."""
    UNREAD = 141
    """Whoever read the output went away, as with `| head`."""
    TERMINATED = 143
    """SIGTERM, as `main` tells it."""


class Command(TyperCommand):
    """A command: its numbers can be held by a ledger, and it writes over nothing it reads."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        if (out := ctx.params.get("out")) is not None:
            check_other_file(out, *_inputs(ctx.params))
        for param in self.params:
            given = ctx.params.get(str(param.name))
            for value in given if isinstance(given, (list, tuple)) else [given]:
                if isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
                    hint = " / ".join(param.opts)
                    raise typer.BadParameter(_unusable(value), ctx=ctx, param_hint=hint)
        return super().invoke(ctx)


def _inputs(given: Mapping[str, Any]) -> list[object]:
    """The files that a command reads, the ledger among them."""
    from verifier_ladder.settings import load_settings

    found = [value for name, value in given.items() if name != "out" and isinstance(value, Path)]
    code = given.get("imports") or []
    ledger = [given["ledger"] or load_settings().ledger] if "ledger" in given else []
    return [*found, *code, *ledger]


def _unusable(value: Any) -> str:
    is_odd = isinstance(value, float) and not isfinite(value)
    return f"{value} is not a finite number." if is_odd else f"{reprlib.repr(value)} is too large."


class Noun(typer.Typer):
    """The commands of one noun."""

    def __init__(self, **options: Any) -> None:
        """Make an empty one."""
        # Rich help would take half of the time in which help is expected.
        super().__init__(no_args_is_help=True, rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Add a function as a command."""
        return super().command(name, cls=Command, **options)


def console(*, to_stderr: bool = False) -> Console:
    """A console that shows text as text: no markup, and nothing that a terminal obeys."""
    from rich.console import Console
    from rich.segment import Segment

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            stop_output(BrokenPipeError())

        def render(self, *args: Any, **options: Any) -> Any:
            for made in super().render(*args, **options):
                # Control segments are Rich's own, such as the redrawing of a live view.
                yield made if made.control else Segment(plain_lines(made.text), made.style)

    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Quiet(stderr=to_stderr, width=width, markup=False, highlight=False, emoji=False)


def table(*columns: str, right: tuple[str, ...] = (), whole: str = "", title: str = "") -> Table:
    """A table without lines between its cells.

    Args:
        columns: Their names.
        right: Those that hold numbers.
        whole: One whose text other commands take: a narrow terminal cuts others first.
        title: What stands above.
    """
    from rich import box
    from rich.table import Table

    class Rows(Table):
        def add_row(self, *cells: Any, **options: Any) -> None:
            super().add_row(
                *(printable(c, None) if isinstance(c, str) else c for c in cells), **options
            )

    made = Rows(box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left")
    for name in columns:
        is_number = name in right
        made.add_column(
            printable(name, None),
            justify="right" if is_number else "left",
            no_wrap=is_number or name == whole,
        )
    return made


def print_json(value: Any, *, is_line: bool = False) -> None:
    """Print one JSON value, with nothing in it that a terminal obeys or UTF-8 can't hold.

    Args:
        value: The value.
        is_line: Whether it is one line of several.
    """
    import orjson

    options = orjson.OPT_NON_STR_KEYS | (0 if is_line else orjson.OPT_INDENT_2)
    try:
        made = orjson.dumps(value, option=options, default=_json)
    except TypeError:
        made = orjson.dumps(_repaired(value), option=options, default=_json)
    sys.stdout.write(json_printable(made.decode()) + "\n")


def print_found(found: Any, tell: Callable[[Any], object], *, as_json: bool) -> None:
    """Print what was found: as JSON for programs, or as `tell` words it."""
    if as_json:
        print_json(found.as_json())
    else:
        tell(found)


def say_done(facts: Any, words: str, *, as_json: bool) -> None:
    """Say what was done: as JSON for programs, or in words on stderr."""
    if as_json:
        print_json(facts)
    else:
        say(words)


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
    say(f"vladder: {printable(error, 2000)}")
    usage = (ConfigError, CandidateError, BudgetError)
    return Exit.USAGE if isinstance(error, usage) else Exit.BROKEN


def interrupted(advice: str) -> NoReturn:
    """End after Ctrl-C, and say how to go on."""
    say(f"Interrupted. {advice}")
    raise typer.Exit(Exit.INTERRUPTED)


def stop_output(error: OSError) -> NoReturn:
    """End, quietly if nobody reads what is printed; else say what can't be read or written."""
    with suppress(ValueError):  # Output that is no file needs none of it.
        # What is still buffered would raise once more when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        raise SystemExit(int(Exit.UNREAD))
    place = error.filename or "the output"
    advice = "make room or give another place" if is_full(error) else "give another place"
    say(f"vladder: {printable(place)}: {error.strerror or error}; {advice}")
    raise SystemExit(int(Exit.USAGE if error.filename and not is_full(error) else Exit.BROKEN))


def crashed(error: Exception) -> Exit:
    """Say on stderr that the program has a fault, and where."""
    from traceback import format_exception

    say("".join(format_exception(error)))
    say("vladder: this is a fault of the program; please report it with the lines above")
    return Exit.BROKEN


def moment(seconds: float | None) -> str:
    """A time for a person, in UTC.

    Example:
        >>> moment(0.0)
        '1970-01-01 00:00:00'
    """
    return "" if seconds is None else utc(seconds)


def amount(value: float | None, digits: int = 4) -> str:
    """A number for a person; a dash where there is none.

    Example:
        >>> amount(0.123456), amount(None)
        ('0.1235', '–')
    """
    return "–" if value is None else f"{value:.{digits}g}"
