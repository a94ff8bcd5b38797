"""Journals: what a worker has answered so far, in memory that outlives it.

A worker that hangs can send nothing any more, and a dead one neither: native code holds Python's
lock, or ends the process. So it writes each answer where its lane can read it.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from typing import Any

from verifier_ladder.cost import Amounts
from verifier_ladder.errors import EngineError
from verifier_ladder.scheduler.engines.progress import Inheritable, unnamed_file
from verifier_ladder.scheduler.engines.wire import LARGEST, Item, pack

MOST = 4096
"""Answers that a journal holds; those of a larger batch come with its reply."""
_WORD = 8
_TEXTS = (1 + 2 * MOST) * _WORD
"""Where in the file the texts begin."""
_MAPPED = _TEXTS + 256 * 1024
"""Where texts begin that are written with a call of the kernel, which takes longer."""
_BOX = 0x7FF8 << 48
"""A word that is no number, as a float: its low bits are 0 or 1, which are truth values, or the
place in the file where a text ends; it begins where the one before ends."""
_BITS = (1 << 48) - 1


class Journal(Inheritable):
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
        self._seen: dict[int, tuple[int, Any]] = {}
        """Where texts end, by the id of their object, which is kept, so that no other gets it."""
        if self._written > _MAPPED:
            os.ftruncate(self._descriptor, _MAPPED)
        self._written = self._at = _TEXTS
        self._boxed: dict[int, Any] = {0: False, 1: True}

    # -- the worker's side -----------------------------------------------------------------------

    def note(self, item: Item | Amounts | str) -> bool:
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
        """Where a text ends, written unless the same object was."""
        known = self._seen.get(id(item))
        if known is None:
            try:
                self._write(pack(item))
            except OSError:  # no room is left for it
                return None
            known = self._seen[id(item)] = self._written, item
        return known[0]

    def _write(self, data: bytes) -> None:
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

    def seal(self, count: int) -> None:
        """Keep the first `count` answers and take no more."""
        self._noted = MOST
        self._count[0] = min(count, self._count[0])

    # -- the lane's side -------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many answers there are."""
        return max(0, min(self._count[0], MOST))

    def read(self, start: int, end: int, read: Callable[[bytes], Any]) -> list[Any]:
        """Give the answers from `start` to `end`; `read` reads the text of one.

        Raises:
            EngineError: If they can't be read.
        """
        words = self._words[start:end].tolist()
        numbers = self._numbers[start:end].tolist()
        if max(words, default=0) < _BOX:  # a word that is no number is larger than all others
            return numbers
        boxed = self._texts(sorted({word & _BITS for word in words if word >= _BOX}), read)
        try:
            return [
                number if number == number else boxed[word & _BITS]  # noqa: PLR0124 - NaN
                for number, word in zip(numbers, words, strict=True)
            ]
        except KeyError as error:
            raise EngineError(
                f"a worker's answer can't be read: no text ends at {error}"
            ) from None

    def _texts(self, ends: list[int], read: Callable[[bytes], Any]) -> dict[int, Any]:
        """Truth values and texts, by where they end; those that are new have been written last."""
        boxed, start = self._boxed, self._at
        new = [end for end in ends if end not in boxed]
        if not new:
            return boxed
        if new[-1] > _TEXTS + LARGEST:
            raise EngineError(
                f"a worker's answers have {new[-1] - _TEXTS} bytes; {LARGEST} is the most"
            )
        data = os.pread(self._descriptor, max(0, new[-1] - start), start)
        for end in new:
            boxed[end] = read(data[self._at - start : max(0, end - start)])
            self._at = end
        return boxed

    def close(self) -> None:
        """Give the memory back too."""
        for view in (self._words, self._numbers, self.costs, self._count, self._whole):
            view.release()
        self._memory.close()
        super().close()
