"""Text that a model wrote, made fit to be shown to a person."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # Colours, cursor movements.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # Titles.
    r"|\x1b[ -/]*[0-~]"
)
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_CELL_BREAKS = ("\t", "\r", "\n")
_PASSED_OVER = " \t\r\n\u00a0\u200b\u2060\ufeff"
"""What spreadsheets pass over before a formula."""


def printable(text: object, limit: int | None = 200) -> str:
    r"""One line of text without control characters, terminal escapes and direction overrides.

    Args:
        text: What to show; bytes are read as UTF-8.
        limit: Longest result, in characters; a longer text ends in an ellipsis. None for all.

    Example:
        >>> printable("a\x1b[31mb\nc")
        'ab c'
    """
    whole = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    cut = whole if limit is None else whole[: 8 * limit + 64]
    plain = cut if cut.isascii() and cut.isprintable() else _visible(cut)
    shown = " ".join(plain.split())
    if limit is not None and (len(shown) > limit or len(cut) < len(whole)):
        return shown[: max(0, limit - 1)] + "…"
    return shown


def _visible(text: str) -> str:
    plain = _ESCAPES.sub("", text)
    return "".join(
        " " if c.isspace() else c
        for c in plain
        if c.isspace() or unicodedata.category(c) not in _HIDDEN
    )


def plain_lines(text: str) -> str:
    r"""Text of any number of lines, with nothing in it that a terminal obeys.

    Example:
        >>> plain_lines("a\x1b[31mb\nc")
        'ab\nc'
    """
    if text == "\n" or (text.isascii() and text.isprintable()):
        return text
    return "\n".join(map(_visible, text.split("\n")))


_UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def json_printable(text: str) -> str:
    r"""The same JSON with what a terminal obeys escaped; JSON itself demands it of less.

    Example:
        >>> json_printable('"a\x9b31m"')
        '"a\\u009b31m"'
    """
    return _escaped(_UNSEEN, text)


def _escaped(what: re.Pattern[str], text: str) -> str:
    return what.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def mended(value: Any) -> Any:
    r"""JSON that every program can read: no halves of characters, no NaN, no infinity.

    Language models' tokenizers can emit half of a character, which UTF-8 can't hold; it becomes
    U+FFFD, as decoders write it. What JSON has no number for becomes null.

    Example:
        >>> mended(["one half: \ud800", float("nan")]) == ["one half: \ufffd", None]
        True
    """
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {mended(name): mended(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(mended, value))
    return None if isinstance(value, float) and not isfinite(value) else value


_OBEYED = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, or turns the text behind it round."""


def csv_cell(value: object) -> object:
    r"""A value as it may stand in a CSV file: text that a spreadsheet would run is quoted.

    What a terminal obeys, and what turns text round, is escaped as in JSON. Numbers stay numbers,
    negative ones too.

    Example:
        >>> csv_cell("=1+1"), csv_cell(-1.5)
        ("'=1+1", -1.5)
        >>> print(csv_cell("a\x1b[31m"))
        a\u001b[31m
    """
    if not isinstance(value, str):
        return value
    clean = _escaped(_OBEYED, value.encode("utf-8", "replace").decode().replace("\0", ""))
    is_run = clean.startswith(_CELL_BREAKS) or clean.lstrip(_PASSED_OVER).startswith(_FORMULA)
    return "'" + clean if is_run else clean


def moment(seconds: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time in UTC; a deadline may be any number, and so beyond any calendar.

    Example:
        >>> moment(0.0), moment(1e18)
        ('1970-01-01 00:00:00', 'beyond any calendar')
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(form)
    except (OverflowError, ValueError, OSError):
        return "beyond any calendar"


_PASSWORD = re.compile(r"(://[^:@/\s]*):\S*@")


def hide_password(text: str) -> str:
    """A text without the passwords of the URLs in it.

    Example:
        >>> hide_password("ledger=postgresql://ann:secret@host/db")
        'ledger=postgresql://ann@host/db'
    """
    return _PASSWORD.sub(r"\1@", text)


_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


def decimal(text: str) -> float | None:
    """The finite number that a text is, written with digits and a point; None if it is none.

    Example:
        >>> decimal(" -4.7 "), decimal("1e3"), decimal("1_000"), decimal("inf"), decimal("7,5")
        (-4.7, 1000.0, None, None, None)
    """
    if not _DECIMAL.fullmatch(text.strip()):
        return None
    value = float(text)
    return value if isfinite(value) else None
