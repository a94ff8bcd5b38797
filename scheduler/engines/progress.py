"""Progress: a few bytes a worker shares with its lane, so that a dead one names its culprit."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from verifier_ladder.cost import LARGEST
from verifier_ladder.metering import seconds_of

NOT_STARTED = -1
"""The worker has not taken the job yet."""
LOADING = -2
"""It reads the job, imports the verifier and sets it up."""
DONE = -3
"""All candidates are judged; the answers are being written."""
_SIZE = 48


def unnamed_file(size: int) -> int:
    """Descriptor of a file of zeros, in memory where that can be; nothing stays behind of it.

    Raises:
        OSError: If there is no room for it. A mapping without room would kill who touches it.
    """
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - it has no name
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        if file.write(bytes(size)) < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)
        return os.dup(file.fileno())


class Inheritable:
    """**Base:** holds a descriptor that a process which is being started inherits."""

    def __init__(self, descriptor: int) -> None:
        """Hold the descriptor."""
        self._descriptor = descriptor

    @property
    def descriptor(self) -> int:
        """Its number, here and in a child that inherits it."""
        return self._descriptor

    def close(self) -> None:
        """Close it; a second call must not close a descriptor used anew."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class Progress(Inheritable):
    """The position of the candidate a worker is at, written by it and read by its lane.

    It lies in an unlinked file, so nothing stays behind whoever is killed, and a child inherits
    it.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        """Make one, or map the one behind a descriptor."""
        super().__init__(unnamed_file(_SIZE) if descriptor is None else descriptor)
        self._memory = mmap.mmap(self._descriptor, _SIZE)
        self.cell = memoryview(self._memory)[:8].cast("q")
        """The position it is at, or what else it does."""
        self.spent = memoryview(self._memory)[8:16].cast("d")
        """Cpu-seconds that its process had taken when it began the present request; once its
        verifier is loaded, when it began to judge."""
        self.paused = memoryview(self._memory)[16:24].cast("d")
        """Until when a service wants not to be asked, by the machine's monotonic clock."""
        self.waits = memoryview(self._memory)[24:32].cast("q")
        """1 while it waits for a service that is busy for others."""
        self.charged = memoryview(self._memory)[32:40].cast("d")
        """Cpu-seconds that it was charged since then for what others did (`metering.charge`)."""
        self.spared = memoryview(self._memory)[40:].cast("d")
        """Cpu-seconds of those since then that nobody is charged for (`metering.spare`)."""
        self.cell[0] = NOT_STARTED

    def used(self, pid: int) -> float:
        """Cpu-seconds that its processes have taken for the present request, as the kernel tells.

        0.0 where it says what can't be, here and below: a candidate may have spoiled it.
        """
        cpu, before = seconds_of(pid), self.spent[0]
        return cpu - before if 0.0 <= before <= cpu else 0.0

    @property
    def elsewhere(self) -> float:
        """Cpu-seconds that others have taken for it, such as services."""
        charged = self.charged[0]
        return charged if 0.0 <= charged < LARGEST else 0.0

    @property
    def nobodys(self) -> float:
        """Cpu-seconds among those used that nobody is charged for, such as a sandbox's start."""
        spared = self.spared[0]
        return spared if 0.0 <= spared < LARGEST else 0.0

    def close(self) -> None:
        """Give the memory back too."""
        for view in (
            self.cell, self.spent, self.paused, self.waits, self.charged, self.spared,
        ):  # fmt: skip
            view.release()
        self._memory.close()
        super().close()


class Marked(list[Any]):
    """A batch that notes which of its candidates is being looked at.

    A verifier that walks through its candidates one by one leaves exact marks. One that reads
    them all first leaves its last; the lane treats a mark as a suspicion, never as proof.
    """

    def __init__(self, items: Sequence[Any], offset: int, visit: Any) -> None:
        """Wrap the candidates at positions `offset`, `offset + 1`, … of the job."""
        super().__init__(items)
        self._offset, self._visit = offset, visit

    def begin(self) -> None:
        """Note that its first candidate is next, whoever reads them and how."""
        self._visit(self._offset)

    def __iter__(self) -> Iterator[Any]:
        """Walk, telling `visit` each position."""
        visit = self._visit
        for position, item in enumerate(super().__iter__(), self._offset):
            visit(position)
            yield item

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a plain list: marks mean nothing elsewhere."""
        return list, (self[:],)
