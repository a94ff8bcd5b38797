"""Memory: how this process shares out `VLADDER_CACHE_MEMORY`, and gives back what it has used."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import ceil, floor
from sys import getsizeof
from time import monotonic, thread_time
from typing import Any

from verifier_ladder.settings import load_settings

CANDIDATES = 3 / 8
"""Share for the candidates that all campaigns remember."""
WRITER, READER = 1 / 8, 1 / 128
"""Shares for pages of the connection that writes, and of each of four that read: those forget
their pages anyway, whenever something is written."""
PIECE = 1 / 64
"""Share for the candidates that are written at once: while that is done there are four copies."""
BATCHES = 1 / 32
"""Share for the candidates that all workers are given at one time; there are four copies too."""
BACKLOG = 1 / 8
"""Share for the candidates that wait for a shadow."""
_FIXED = 8 * 2**20
"""Bytes of what is the same at any setting: connections, threads, the first samples."""
_LONGEST, _CALL = 1 / 32, 16 * 2**20
"""Share for one candidate, of what is left beside a call of a few samples, which takes 16 MiB.
What is longer than a piece is written alone."""
_LITTER = 1 / 16
"""Share that may be used before the C library is asked for what it keeps."""
_MIB = 2**20
_REST = 20
"""How many times as long as that took passes at least until it is asked again."""
LONGEST_CHARACTER = 12
"""Most bytes that `written` finds for one character."""
_SLICE = 2**20
"""Characters of a text that are looked at together."""
_PLAIN = bytes(byte for byte in range(32, 256) if byte not in b'"\\')
"""Bytes of UTF-8 that JSON writes as they are."""
_SHORT = b'"\\\b\t\n\f\r'
"""Those that it writes with a backslash before; all others take six."""
_LATIN, _TWO_BYTES = bytes(range(0xC4)), bytes(range(0xF0))
"""Bytes of UTF-8 up to which a character fits into one byte of Python's, and into two."""


def share(part: float) -> int:
    """Bytes of a part of what can be shared out."""
    return int(part * (_whole(os.environ.get("VLADDER_CACHE_MEMORY")) - _FIXED))


@lru_cache(1)
def _whole(told: str | None) -> int:
    """The setting, read anew only when it changes: that takes as long as a call."""
    del told
    return load_settings().cache_memory


def longest() -> int:
    """Bytes of the longest candidate that is taken."""
    return int((share(1.0) - _CALL) * _LONGEST)


def why_too_long(size: int) -> str:
    """Why a candidate of so many bytes is not taken, and what to set so that it is.

    Example:
        >>> why_too_long(2**24).partition(" (")[2]
        '16.00 MiB as it is written, of at most 7.25); set it to 536MiB'
    """
    size_told, most = ceil(100 * size / _MIB) / 100, floor(100 * longest() / _MIB) / 100
    return (
        f"longer than VLADDER_CACHE_MEMORY has room for ({size_told:.2f} MiB as it is written, of "
        f"at most {most:.2f}); set it to {ceil((size / _LONGEST + _CALL + _FIXED) / _MIB)}MiB"
    )


def cuts(sizes: Sequence[int], most: float, count: int | None = None) -> Iterator[slice]:
    """Cut rows into neighbours that have up to so many bytes together; what has more is alone.

    Args:
        sizes: Bytes of each row.
        most: Bytes of a piece.
        count: Rows of a piece, if that is limited too.

    Example:
        >>> list(cuts([2, 1, 4, 1], 3))
        [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    count = count or max(1, len(sizes))
    if sum(sizes) <= most:
        yield from (slice(at, at + count) for at in range(0, len(sizes), count))
        return
    start = total = 0
    for place, size in enumerate(sizes):
        if place > start and (total + size > most or place - start == count):
            yield slice(start, place)
            start, total = place, 0
        total += size
    yield slice(start, len(sizes))


class Litter:
    """What was used and let go: the C library keeps it, in pieces that fit nothing else."""

    def __init__(self, trim: Callable[[], float], clock: Callable[[], float] = monotonic) -> None:
        """Count from nothing; `trim` gives the system what is free, and tells how long it took."""
        self._trim, self._clock = trim, clock
        self._bytes, self._due = 0, 0.0

    def add(self, bytes_: int) -> None:
        """Count what was used just now; once it is much, the system gets back what is free.

        In a process that holds very many pieces that takes long, and so is done less often.
        """
        self._bytes += bytes_
        if self._bytes >= share(_LITTER) and self._clock() >= self._due:
            self._bytes = 0
            self._due = _REST * self._trim() + self._clock()


def _trim() -> float:
    """Have the C library give back what is free; cpu-seconds that it took."""
    begun = thread_time()
    with suppress(AttributeError, OSError):  # Other C libraries keep less.
        ctypes.CDLL(None).malloc_trim(0)
    return thread_time() - begun


litter = Litter(_trim)
"""That of this process."""


def weigh(value: Any, of_text: Callable[[str], int] | None = None) -> int:
    """About how many bytes plain data, a candidate or a turn takes.

    Args:
        value: What is weighed.
        of_text: Bytes of a text in it: `held`, unless told otherwise, or `written`.

    Example:
        >>> weigh({"tests": ["x" * 1000]}) > 1000
        True
        >>> weigh([chr(1) * 1000], written) > 6000  # JSON takes six bytes for each.
        True
    """
    of_text = of_text or held
    if isinstance(value, str):
        return of_text(value)
    if isinstance(value, Mapping):
        parts = (weigh(k, of_text) + weigh(v, of_text) for k, v in value.items())
        return getsizeof(value) + sum(parts)
    if isinstance(value, (list, tuple)):
        return getsizeof(value) + sum(weigh(each, of_text) for each in value)
    if hasattr(value, "__dict__") and not isinstance(value, (int, float)):  # No enumeration.
        return weigh(vars(value), of_text)
    if names := getattr(value, "__slots__", ()):
        return sum(weigh(getattr(value, name, None), of_text) for name in names)
    return getsizeof(value)


def held(text: str) -> int:
    """Bytes that a text takes at most while it is kept, in both forms of it.

    That follows from its length: no character is looked at.
    """
    return getsizeof(text) if text.isascii() else 8 * len(text)


def written(text: str) -> int:
    """Bytes of a text as JSON; beyond ASCII, with both forms in which Python keeps it then."""
    encoded = as_json = 0
    width = 1
    for at in range(0, len(text), _SLICE):  # So that a text of any length is not copied whole.
        part = text[at : at + _SLICE].encode("utf-8", "surrogatepass")
        escaped = part.translate(None, _PLAIN)
        encoded += len(part)
        as_json += len(part) + len(escaped) + 4 * len(escaped.translate(None, _SHORT))
        width = max(width, _width(part))
    return as_json if text.isascii() else as_json + encoded + width * len(text)


def _width(utf8: bytes) -> int:
    """Bytes of each character of a text that Python holds, by the widest that is in it."""
    if utf8.isascii() or not (wide := utf8.translate(None, _LATIN)):
        return 1
    return 4 if wide.translate(None, _TWO_BYTES) else 2
