"""Journals: what a worker has answered so far, in memory that outlives it.

A worker that hangs can send nothing any more, and a dead one neither: native code holds Python's
lock, or ends the process. So it writes each answer where its lane can read it.
"""

from __future__ import annotations

import errno
import mmap
import os
import pickle
from io import BytesIO
from typing import Any

from verifier_ladder.errors import EngineError
from verifier_ladder.scheduler.engines.progress import Sendable, unnamed_file
from verifier_ladder.scheduler.engines.wire import LARGEST, Item, PlainUnpickler

MOST = 4096
"""Answers that a journal holds; those of a larger batch come with its reply."""
_WORD = 8
_TEXTS = (1 + 2 * MOST) * _WORD
"""Where in the file the texts begin."""
_MAPPED = _TEXTS + 256 * 1024
"""Where texts begin that are written with a call of the kernel, which takes longer."""
_BOX = 0x7FF8 << 48
"""A word that is no number, as a float: its low bits are 0 or 1, which are truth values, or the
place where a text ends, counted from the first text on."""
_BITS = (1 << 48) - 1


class Journal(Sendable):
    """The answers to one request, written by the worker and read by its lane.

    It lies in an unlinked file: a word that counts the answers, a word for what each of them
    took, a word for each answer, and the texts. A word holds a number or a truth value, or says
    where its text ends. An answer counts once it is written whole.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        """Make one, or map the one behind a descriptor."""
        super().__init__(unnamed_file(_MAPPED) if descriptor is None else descriptor)
        self._memory = mmap.mmap(self._descriptor, _MAPPED)
        whole = memoryview(self._memory)
        self._count = whole[:_WORD].cast("q")
        self.costs = whole[_WORD : (1 + MOST) * _WORD].cast("d")
        """Cpu-seconds of each candidate, where they are measured one by one."""
        self._numbers = whole[(1 + MOST) * _WORD : _TEXTS].cast("d")
        self._words = whole[(1 + MOST) * _WORD : _TEXTS].cast("q")
        self._whole = whole
        self._written = _TEXTS
        self.begin()

    def begin(self) -> None:
        """Forget the last request; for both sides."""
        self._count[0] = 0
        self._noted = 0
        self._seen: dict[int, int] = {}
        self._pickler: Any = None
        self._reader = Reader()

    # -- the worker's side -----------------------------------------------------------------------

    def note(self, item: Item | str) -> bool:
        """Write the next answer; False if there is no room, then and from then on."""
        place = self._noted
        if place >= MOST:
            return False
        kind = type(item)
        if kind is float:
            self._numbers[place] = item  # type: ignore[assignment]
        elif kind is bool:
            self._words[place] = _BOX | item  # type: ignore[operator]
        else:
            end = self._text(item)
            if end is None:
                self._noted = MOST
                return False
            self._words[place] = _BOX | end
        self._noted = self._count[0] = place + 1
        return True

    def _text(self, item: Any) -> int | None:
        """Where a text ends, written unless the same object was; the pickler keeps it alive."""
        end = self._seen.get(id(item))
        if end is None:
            if self._pickler is None:
                self._pickler = self._begun()
            try:
                self._pickler.dump(item)
            except OSError:  # no room is left for it
                return None
            end = self._seen[id(item)] = self._written - _TEXTS
        return end

    def _begun(self) -> pickle.Pickler:
        """A pickler that writes from the first text on; it knows again what it has written."""
        if self._written > _MAPPED:
            os.ftruncate(self._descriptor, _MAPPED)
        self._written = _TEXTS
        return pickle.Pickler(self, pickle.HIGHEST_PROTOCOL)

    def write(self, data: bytes) -> int:
        """Take text of the pickler."""
        start, size = self._written, len(data)
        if start + size > _TEXTS + LARGEST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        if start + size <= _MAPPED:
            self._whole[start : start + size] = data
        else:
            left = memoryview(data)
            while left:
                left = left[os.pwrite(self._descriptor, left, start + size - len(left)) :]
        self._written = start + size
        return size

    def seal(self, count: int) -> None:
        """Keep the first `count` answers and take no more."""
        self._noted = MOST
        self._count[0] = min(count, self._count[0])

    # -- the lane's side -------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many answers there are."""
        return max(0, min(self._count[0], MOST))

    def read(self, start: int, end: int) -> list[Item]:
        """Give the answers from `start` to `end`.

        Raises:
            EngineError: If they can't be read.
        """
        words = self._words[start:end].tolist()
        numbers = self._numbers[start:end].tolist()
        last = max(words, default=0)
        if last < _BOX:  # a word that is no number is larger than all others
            return list[Item](numbers)
        boxed = self._reader.upto(self._descriptor, last & _BITS)
        try:
            return [
                number if number == number else boxed[word & _BITS]  # noqa: PLR0124 - NaN
                for number, word in zip(numbers, words, strict=True)
            ]
        except KeyError as error:
            raise EngineError(
                f"a worker's answer can't be read: no text ends at {error}"
            ) from None

    def close(self) -> None:
        """Give the memory back too."""
        for view in (self._words, self._numbers, self.costs, self._count, self._whole):
            view.release()
        self._memory.close()
        super().close()


class Reader:
    """Reads texts one after the other, as far as they have been written whole."""

    def __init__(self) -> None:
        """Start before the first."""
        self._buffer = BytesIO()
        self._unpickler = PlainUnpickler(self._buffer)
        self._items: dict[int, Item] = {0: False, 1: True}

    def upto(self, descriptor: int, end: int) -> dict[int, Item]:
        """Give truth values and texts, by where they end, up to one that ends at `end`.

        Raises:
            EngineError: If they can't be read.
        """
        if end > LARGEST:
            raise EngineError(f"a worker's answers have {end} bytes; {LARGEST} is the most")
        buffer, items = self._buffer, self._items
        at = buffer.tell()
        if end not in items:
            size = min(end, os.fstat(descriptor).st_size) - at
            buffer.write(os.pread(descriptor, max(0, size), _TEXTS + at))
            buffer.seek(at)
        while end not in items:
            item = self._unpickler.next()
            items[buffer.tell()] = item
        return items
