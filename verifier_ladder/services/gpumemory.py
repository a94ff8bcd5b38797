"""GPU memory: what this machine has, and which services hold how much of it.

A service declares what it takes. It has room on a GPU while its process lives, and while somebody
works or is about to work with it, so that a check is claimed only when its service can start.

A program of the host is no service: each run has room of its own, for which it waits.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep, time
from typing import IO, TYPE_CHECKING, NamedTuple

from pydantic import ByteSize, TypeAdapter, ValidationError

from verifier_ladder.containment import ContainedLog
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.private import own_folder, private_text
from verifier_ladder.services.places import Place, is_locked, lock
from verifier_ladder.services.waiting import waiting
from verifier_ladder.settings import load_settings

if TYPE_CHECKING:
    from verifier_ladder.services.service import Service

_LOG = ContainedLog("verifier_ladder")
_SMI = ("nvidia-smi", "--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits")
_PATIENCE, _LONGEST, _AGAIN = 20.0, 60.0, 60.0
"""Seconds for which the driver's first answer is waited for, for which any may take, and after
which the driver is asked again where it has failed."""
_NONE = (6, 9, 12)
"""Exit codes of `nvidia-smi` by which there is no GPU: none was found, no driver is loaded, its
library is not there."""
_LOOK = 0.25
"""Seconds until the next look for room."""
_MOST_RUNS = 1000
"""Of programs that have room at once."""
_WANTED = 5.0
"""Seconds for which somebody who has found no room is taken to wait for it."""


class GpusNotKnownError(ToolError):
    """Which GPUs this machine has is not known now."""


class Device(NamedTuple):
    """A GPU."""

    name: str
    """What `CUDA_VISIBLE_DEVICES` calls it."""
    memory: int
    """Bytes."""


def devices() -> list[Device]:
    """The GPUs of this machine that this process may use.

    `VLADDER_GPU_MEMORY` says what they have, such as `80GiB,80GiB`; else `nvidia-smi` does.

    Raises:
        ConfigError: If the setting can't be read.
        GpusNotKnownError: If the driver does not tell.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = None if visible is None else [name.strip() for name in visible.split(",") if name]
    given = load_settings().gpu_memory
    return (
        _set(given, names) if given else list(_asked(tuple(names) if names is not None else None))
    )


def _set(given: str, names: Sequence[str] | None) -> list[Device]:
    try:
        sizes = [TypeAdapter(ByteSize).validate_python(part.strip()) for part in given.split(",")]
    except ValidationError:
        raise ConfigError(
            f"VLADDER_GPU_MEMORY={given!r}: give the memory of each GPU, such as 80GiB,80GiB"
        ) from None
    names = names or [str(number) for number in range(len(sizes))]
    return [Device(*each) for each in zip(names, map(int, sizes), strict=False)]


def _asked(names: tuple[str, ...] | None) -> tuple[Device, ...]:
    """What the driver tells; nothing where there is none, or none may be used.

    Raises:
        GpusNotKnownError: If it does not.
    """
    return () if names == () else tuple(read_smi(_told(), names))


class _Question:
    """One call of `nvidia-smi`, beside whoever waits: no kill ends one that a driver holds."""

    def __init__(self, patience: float) -> None:
        """Ask.

        Args:
            patience: Seconds from now for which anybody waits for the answer.
        """
        self._answer, self._asked_at, self._patience = Future[str](), monotonic(), patience
        self._is_logged = False
        Thread(target=self._ask, name="nvidia-smi", daemon=True).start()

    def _ask(self) -> None:
        try:
            told = subprocess.run(  # noqa: S603
                _SMI, capture_output=True, text=True, timeout=_LONGEST, check=True
            )
            self._answer.set_result(told.stdout)
        except (OSError, subprocess.SubprocessError) as error:
            is_none = isinstance(error, OSError) or getattr(error, "returncode", None) in _NONE
            self._answer.set_result("") if is_none else self._answer.set_exception(error)

    def told(self) -> str:
        """What the driver tells; "" where there is none.

        Raises:
            GpusNotKnownError: If it failed, or has not answered yet.
        """
        left = self._asked_at + self._patience - monotonic()
        try:
            return self._answer.result(max(0.0, left))
        except (TimeoutError, subprocess.SubprocessError) as error:
            unknown = GpusNotKnownError(
                "which GPUs this machine has is not known: nvidia-smi failed, or has not answered "
                "yet; it is asked again in a minute, and VLADDER_GPU_MEMORY says what there is "
                "where it can't"
            )
            if not self._is_logged:
                self._is_logged = True
                _LOG.warning("%s", unknown)
            raise unknown from error

    @property
    def is_over(self) -> bool:
        """Whether it is time for another one; never while this one hangs."""
        has_failed = self._answer.done() and self._answer.exception() is not None
        return has_failed and monotonic() >= self._asked_at + _AGAIN


_QUESTIONS: list[_Question] = []
"""The last one asked by this process."""


def _told() -> str:
    """What the driver tells, once it does; "" where there is none.

    The first answer is waited for, later ones are not: who claims checks is held up once at most.

    Raises:
        GpusNotKnownError: If it does not tell now.
    """
    if not _QUESTIONS:
        _QUESTIONS.append(_Question(_PATIENCE))
    elif _QUESTIONS[0].is_over:
        _QUESTIONS[0] = _Question(0.0)
    return _QUESTIONS[0].told()


def _one_name() -> Callable[[str], str]:
    """What gives a GPU one name: `CUDA_VISIBLE_DEVICES` may call it by its number or its UUID."""
    if load_settings().gpu_memory:  # The driver is not asked.
        return lambda name: name
    rows = (line.split(",") for line in _told().splitlines())
    uuids = {index.strip(): uuid.strip() for index, uuid, _ in rows}
    return lambda name: uuids.get(name, name)


def read_smi(told: str, names: Sequence[str] | None) -> list[Device]:
    r"""Read what `nvidia-smi` tells of the GPUs, those of some names only, in their order.

    Example:
        >>> read_smi("0, GPU-aa, 81559\n1, GPU-bb, 81559\n", ["1"])
        [Device(name='1', memory=85520809984)]
    """
    found: dict[str, int] = {}
    for line in told.splitlines():
        index, uuid, size = (part.strip() for part in line.split(","))
        if size.isdigit():  # One that is lost tells a word.
            found[index] = found[uuid] = int(size) * 2**20
    chosen = [name for name in found if name.isdigit()] if names is None else names
    return [Device(name, found[name]) for name in chosen if name in found]


def problem(services: Iterable[Service]) -> str:
    """Why services of one verifier can never run here together; "" if they can, or may."""
    wanted = [(service.gpu_memory, service.name) for service in services if service.gpu_memory]
    if not wanted:
        return ""
    most, name = max(wanted)
    try:
        why, here = _too_large(f"its service {name}", most), devices()
    except GpusNotKnownError:
        return ""
    if why:
        return why
    if sum(size for size, _ in wanted) > sum(device.memory for device in here):
        return "its services together take more GPU memory than there is here"
    return ""


def _too_large(what: str, memory: int) -> str:
    """Why something fits on no GPU here; "" if it does."""
    here = devices()
    largest = max((device.memory for device in here), default=0)
    if memory <= largest:
        return ""
    has = f"the largest GPU here has {_said(largest)}" if here else "no GPU is known here"
    return (
        f"{what} takes {_said(memory)} of GPU memory, and {has}; "
        "VLADDER_GPU_MEMORY says what there is where nvidia-smi can't"
    )


def _said(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"


class Room:
    """GPU memory that is kept; it is given back when the process dies."""

    def __init__(self, device: str, file: IO[str]) -> None:
        """Hold a locked file."""
        self.device, self._file = device, file

    def fileno(self) -> int:
        """The locked file: who inherits it keeps the room, too."""
        return self._file.fileno()

    def release(self) -> None:
        """Keep it no more; the service's own process still does while it lives."""
        self._file.close()


def rooms_for(services: Iterable[Service]) -> list[Room] | None:
    """Keep GPU memory for services, until each `Room` is released; None if there is none now.

    Whoever finds none is taken to wait: services that nobody works with make room. Where it is not
    known which GPUs there are, there is none.

    Raises:
        ConfigError: If the folder of the locks could be written by somebody else.
        OSError: If a lock can't be made.
    """
    wanted = [service for service in services if service.gpu_memory]
    if not wanted:
        return []
    try:
        devices()  # Before others are kept from counting.
    except GpusNotKnownError:
        return None
    with _counted() as folder, ExitStack() as held:
        rooms = []
        for service in wanted:
            place = Place(service.digest)
            device = _device_for(place, service.gpu_memory)
            file = None if device is None else place.lock("hold", shared=True)
            if device is None or file is None:
                (folder / "gpu.wanted").touch()
                return None
            rooms.append(Room(device, held.enter_context(file)))
        held.pop_all()  # Whoever has the rooms has them now.
    return rooms


def begin_life(place: Place, service: Service) -> tuple[IO[str] | None, str | None]:
    """Take the lock that says that a service's process lives, and the GPU that it is to use.

    Returns:
        The lock, None if another process lives; and the GPU.

    Raises:
        MemoryError: If there is no room on any GPU now, or it is not known which there are.
    """
    try:
        devices()  # Before others are kept from counting.
    except GpusNotKnownError as error:
        raise MemoryError from error
    with _counted() as folder:
        if is_locked(place.path("life")):
            return None, None
        device = _device_for(place, service.gpu_memory or 0)
        if device is None:
            (folder / "gpu.wanted").touch()
            raise MemoryError
        return place.lock("life"), device


def is_in_the_way(place: Place) -> bool:
    """Whether somebody waits for room, and nobody keeps that of this service but its process."""
    with suppress(OSError):
        if time() - place.folder.joinpath("gpu.wanted").stat().st_mtime < _WANTED:
            with _counted():
                return not is_locked(place.path("hold"))
    return False


@contextmanager
def _counted() -> Iterator[Path]:
    """Let no other process of this user count or take rooms meanwhile."""
    folder = own_folder("services")
    file = lock(folder / "gpu.lock", wait=True)
    try:
        yield folder
    finally:
        if file is not None:
            file.close()


def _device_for(place: Place, memory: int | None) -> str | None:
    """The GPU that has room, or where it has it already: the one with most memory left.

    Args:
        place: Whose room it is.
        memory: How much it takes; None for a whole GPU.
    """
    taken, named = dict[str, int](), _one_name()
    for path in place.folder.glob("*.room"):
        is_mine = path == place.path("room")
        if not any(is_locked(path.with_suffix(kind)) for kind in (".life", ".hold")):
            path.unlink(missing_ok=True)
            continue
        told = json.loads(path.read_text(encoding="utf-8"))
        if is_mine:
            return str(told["device"])
        device = named(told["device"])
        taken[device] = taken.get(device, 0) + int(told["memory"])
    left: Callable[[Device], int] = lambda one: one.memory - taken.get(named(one.name), 0)  # noqa: E731
    fit = [one for one in devices() if left(one) >= (one.memory if memory is None else memory)]
    best = max(fit, key=left, default=None)
    if best is None or memory == 0:
        return None
    told = {"device": best.name, "memory": memory or best.memory}
    private_text(place.path("room"), json.dumps(told))
    return best.name


# ---- Programs


def at_once(memory: int | None) -> int | None:
    """How many runs of a program have room here at once, 1 at least; None if they take none.

    Args:
        memory: What each takes; None for a whole GPU, or this machine where none is known.
    """
    if memory == 0:
        return None
    try:
        here = devices()
    except GpusNotKnownError:
        return 1
    return max(1, len(here) if memory is None else sum(one.memory // memory for one in here))


@contextmanager
def room_for(name: str, memory: int | None) -> Iterator[Room | None]:
    """Keep room on a GPU for one run of a program, and wait until there is some.

    The wait is no time of the check.

    Args:
        name: Of the program, for errors.
        memory: What it takes: 0 for none, None for a whole GPU. Where no GPU is known, runs that
            would take a whole one have the machine one after the other.

    Raises:
        ToolError: If it fits on no GPU here, or which there are is not known.
        ConfigError: If the folder of the locks could be written by somebody else.
        OSError: If a lock can't be made.
    """
    if memory == 0:
        yield None
        return
    devices()  # Before others are kept from counting.
    if memory is not None and (why := _too_large(name, memory)):
        raise ToolError(why)
    with waiting():
        while (room := _room(memory)) is None:
            sleep(_LOOK)
    try:
        yield room
    finally:
        room.release()


def _room(memory: int | None) -> Room | None:
    """Room for a program; None if there is none now."""
    with _counted() as folder:
        here = devices()
        for number in range(_MOST_RUNS if here else 1):
            place = Place(f"program {number}".encode())
            if is_locked(place.path("hold")):
                continue
            place.path("room").unlink(missing_ok=True)  # It is of a run that has ended.
            device = _device_for(place, memory) if here else ""
            file = None if device is None else place.lock("hold")
            if device is None or file is None:
                break
            return Room(device, file)
        (folder / "gpu.wanted").touch()
        return None
