"""What demos share that tell in the terminal what happens."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_BAR = 24


def say(out: Console, text: str, style: str | None = None) -> None:
    """Print a text as it is."""
    out.print(text, highlight=False, markup=False, soft_wrap=True, style=style)


def say_claims(out: Console, claims: Mapping[str, bool]) -> None:
    """Say of each claim whether it was so."""
    for claim, is_so in claims.items():
        say(out, f"   {'yes' if is_so else 'NO '}  {claim}", None if is_so else "bold red")


def bar(value: float | None) -> str:
    """A share as a number and a bar.

    Example:
        >>> bar(0.5)
        ' 0.50 ████████████            '
    """
    if value is None:
        return f"    – {' ' * _BAR}"
    return f"{value:5.2f} {'█' * round(_BAR * min(max(value, 0.0), 1.0)):{_BAR}}"


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out of the log what a demo tells itself: alarms, and rewards outside 0 to 1."""
    log = logging.getLogger("verifier_ladder")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
