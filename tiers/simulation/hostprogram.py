"""Programs of the host: named in its files, run in folders of their own, ended within bounds.

Which program is run is the host's matter alone: a TOML file that a setting names says it, with a
section for each. No row, ladder, task or candidate has a say in it.

    with run_folder() as folder:
        (folder.work / "job.in").write_text("…")
        ended = run(program, ["job.in"], folder)     # A ToolError beyond seconds or gigabytes.
        result = (folder.work / "job.out").read_bytes()

**All that a program starts ends with it**, whatever sessions and environments that has: its parent
is a guard (`programguard`), which stays the ancestor of it all. **A worker that is killed** leaves
nothing behind: the guard then ends the program and removes its folder. Where the guard was killed
too, the next run on this machine does both.
"""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from select import POLLIN, poll
from signal import SIGKILL
from tempfile import TemporaryFile, gettempdir, mkdtemp
from time import monotonic, sleep
from typing import IO, Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ByteSize, ConfigDict, Field, ValidationError

from verifier_ladder import metering
from verifier_ladder.environment import harmless
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.forks import not_in_child
from verifier_ladder.services.gpumemory import Room, at_once, room_for
from verifier_ladder.text import printable
from verifier_ladder.tiers.simulation.programguard import below, remove

LONGEST = 12 * 3600.0
"""Seconds that a program may be given; a verifier has to wait longer before it counts as hung."""
_PREFIX = "vladder-run-"
_WORK, _SCRATCH = "work", "tmp"
_GUARD = str(Path(__file__).with_name("programguard.py"))
_LARGEST_CONFIG = 2**20
_LONGEST_LOG, _TOLD = 2**24, 300
"""Bytes of what a program says that are kept at once, and letters of its last words."""
_LOOK = 1.0
"""Seconds between two looks at what it has written, at least."""
_PATIENCE, _PAUSE = 30.0, 0.01
"""Seconds that a guard has to end, more than it gives a program; and between two looks at that."""
_LOOKS = 3
"""How often a process is asked for its environment that has arguments, and shows none."""
_MOST_TRIES = 100
"""At a folder that no other process removes as one that was left."""
_GIGABYTE, _MOST_ENTRIES = 10**9, 100_000
"""Bytes, and how many files and folders it may have while it works."""


class Ended(NamedTuple):
    """How a program ended."""

    code: int
    """Its exit code, or minus the number of the signal that killed it."""
    words: str
    """The last that it said."""

    @property
    def told(self) -> str:
        """How and its words, for a person."""
        how = "ended with exit code" if self.code >= 0 else "was killed by signal"
        last = f"; its last words: {self.words}" if self.words else ""
        return f"it {how} {abs(self.code)}{last}"


class HostProgram(BaseModel):
    """A program of this host, as its file has it. A subclass adds what its kind needs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: ClassVar[str]
    """The file, for a person."""
    command: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    """The program and its arguments; those of a run follow. Parts that begin with `./` or `../`
    are seen from the file's folder."""
    version: Annotated[str, Field(min_length=1, max_length=60)]
    """Of all that its results depend on: verdicts are filed under it."""
    seconds: Annotated[float, Field(gt=0, le=LONGEST)] = 3600.0
    """After which it is ended."""
    gigabytes: Annotated[float, Field(gt=0, le=1e6)] = 50.0
    """Of files, temporary ones among them, above which it is ended."""
    gpu_memory: ByteSize | Literal["whole"] = ByteSize(0)
    """What it takes of a GPU, such as 20GiB, for which it waits. Who takes a `whole` one is run
    alone on this machine where none is known."""

    @property
    def most_memory(self) -> int | None:
        """Of a GPU, in bytes; None for a whole one."""
        return None if self.gpu_memory == "whole" else int(self.gpu_memory)

    @property
    def at_once(self) -> int | None:
        """How many runs have room on this machine at once; None if they need none."""
        return at_once(self.most_memory)

    def seen_from(self, path: Path) -> Self:
        """The same with whole paths in its command, by the names that they have there.

        Links are not followed: the Python of a virtual environment is known by its place.
        """
        here = path.parent.resolve()
        command = [
            os.path.normpath(here / part) if part.startswith(("./", "../")) else part
            for part in self.command
        ]
        return self.model_copy(update={"command": command})


def run(
    program: HostProgram, arguments: Sequence[str], folder: RunFolder, output: str = ""
) -> Ended:
    """Run a program, once it has room on a GPU, and end it with all that it has started.

    Args:
        program: Which.
        arguments: What follows its command.
        folder: Where it works; its files count, and it may leave any there.
        output: The file in that folder which gets what it says; "" keeps the end of it only.

    Raises:
        ToolError: If it can't be started, no GPU here is large enough, it takes too long, or
            writes too much.
    """
    with ExitStack() as opened:
        log = opened.enter_context(_log(folder.work / output if output else None))
        fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)  # No mode of a nameless file says so.
        room = opened.enter_context(room_for(program.command[0], program.most_memory))
        device = {"CUDA_VISIBLE_DEVICES": room.device} if room and room.device else {}
        if device:
            opened.enter_context(metering.on_gpu())
        with _Guarded(
            [*program.command, *arguments], folder, room,
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            env={**harmless(), **device, "TMPDIR": str(folder.scratch)},
        ) as guarded:  # fmt: skip
            try:
                code = _code(guarded, None if output else log, folder, program)
            except _NotStartedError as error:
                raise ToolError(
                    f"{program.command[0]} can't be started: {error}; correct the command in "
                    f"{program.source}"
                ) from None
        return Ended(code, printable(_tail(log), _TOLD))


def _code(guarded: _Guarded, log: IO[bytes] | None, folder: RunFolder, limits: HostProgram) -> int:
    """The exit code of a program, whose words are thrown away meanwhile if they become many.

    Raises:
        ToolError: If it takes too long, or writes too much.
    """
    end, pause = monotonic() + limits.seconds, _LOOK
    while (left := end - monotonic()) > 0:
        if (code := guarded.wait(min(pause, left))) is not None:
            return code
        if log is not None and _size(log) > _LONGEST_LOG:
            log.truncate(0)  # It is appended to, so what follows begins anew.
        looked = monotonic()
        if _is_full(folder.place, limits.gigabytes):
            raise ToolError(
                f"{limits.command[0]} wrote more than {limits.gigabytes:g} GB or {_MOST_ENTRIES} "
                f"files; raise `gigabytes` in {limits.source}"
            )
        pause = max(_LOOK, 10 * (monotonic() - looked))
    raise ToolError(
        f"{limits.command[0]} took more than {limits.seconds:g} s; raise `seconds` in "
        f"{limits.source}, or ask about less"
    )


P = TypeVar("P", bound=HostProgram)


def read_programs(
    variable: str, path: Path | None, kind: type[P], known: Collection[str]
) -> dict[str, P]:
    """The programs that a file of this host names, by section; none if there is no file.

    Args:
        variable: The setting that names the file, for errors.
        path: The file.
        kind: What a section holds.
        known: The sections that there may be.

    Raises:
        ConfigError: If the file makes no sense.
    """
    if path is None:
        return {}
    try:
        data = path.read_bytes()[: _LARGEST_CONFIG + 1]
        given = tomllib.loads(data.decode())
        found = {name: kind.model_validate(each).seen_from(path) for name, each in given.items()}
    except OSError as error:
        raise ConfigError(f"{variable}={path}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{variable}={path}: {place}: {first['msg']}") from None
    except ValueError as error:
        raise ConfigError(f"{variable}={path}: {error}") from None
    if unknown := sorted(found.keys() - known):
        raise ConfigError(
            f"{variable}={path}: there is no profile {unknown[0]!r:.60}; there are "
            f"{', '.join(known)}"
        )
    return found


# ---- Folders


class Lock:
    """A folder that is somebody's, until this is closed or all have ended that were given it.

    No forked process keeps it.
    """

    def __init__(self, descriptor: int) -> None:
        """Hold the folder, open and locked."""
        self._descriptor = descriptor
        not_in_child(self)

    def fileno(self) -> int:
        """The open folder.

        Raises:
            ValueError: If it is closed: its number may be another file's.
        """
        if self._descriptor < 0:
            raise ValueError("the lock is closed")
        return self._descriptor

    def close(self) -> None:
        """Let go."""
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


class RunFolder(NamedTuple):
    """A folder of one run, which is removed with all that is in it."""

    place: Path
    """Where everything of the run lies."""
    lock: Lock
    """While it is held, the folder is somebody's."""

    @property
    def work(self) -> Path:
        """Where programs begin: for files that they read."""
        return self.place / _WORK

    @property
    def scratch(self) -> Path:
        """For their temporary files."""
        return self.place / _SCRATCH


@contextmanager
def run_folder() -> Iterator[RunFolder]:
    """A new folder; those that killed processes have left are removed first.

    Raises:
        ToolError: If none can be made.
    """
    _sweep()
    try:
        made = RunFolder(*_made())
        made.work.mkdir()
        made.scratch.mkdir()
    except OSError as error:
        raise ToolError(f"no folder can be made for a program's run: {error}") from error
    try:
        yield made
    finally:
        remove(str(made.place))
        made.lock.close()


def _made() -> tuple[Path, Lock]:
    """A new folder, and its lock.

    Raises:
        OSError: If there can be none.
    """
    for _ in range(_MOST_TRIES):
        path = Path(mkdtemp(prefix=_PREFIX))
        if (lock := _locked(path)) is not None:
            return path, lock
        with suppress(OSError):  # It is gone where another process took it for one that was left.
            path.rmdir()
    told = f"{gettempdir()} allows no lock of a folder; set TMPDIR to a folder of a local disk"
    raise OSError(errno.ENOLCK, told)


def _locked(path: Path) -> Lock | None:
    """A folder of this user's, locked; None if it is none, or somebody else has locked it."""
    try:
        lock = Lock(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
    except OSError:
        return None
    with ExitStack() as undo:
        undo.callback(lock.close)
        with suppress(OSError):
            found = os.fstat(lock.fileno())
            if found.st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(found, path.lstat()):
                    undo.pop_all()
                    return lock
    return None


def _sweep() -> None:
    """Remove folders whose processes were killed with their guards, and end what these left."""
    for path in Path(gettempdir()).glob(f"{_PREFIX}*"):
        if (lock := _locked(path)) is not None:
            _end_marked(path)
            remove(str(path))
            lock.close()


def _end_marked(folder: Path) -> None:
    """End processes that work in a folder, or have its place for temporary files as their own.

    They are looked for until there is none: one that is ended may just have started another, and
    of one that is just given another program nothing can be read.
    """
    mark, root = f"TMPDIR={folder / _SCRATCH}\0".encode(), f"{folder}/"
    until = monotonic() + _PATIENCE
    while monotonic() < until:
        pids = [name for name in metering.names("/proc") if name.isdecimal()]
        found = {pid: _is_marked(pid, mark, root) for pid in pids}
        if not any(is_marked or is_marked is None for is_marked in found.values()):
            return
        _kill([int(pid) for pid, is_marked in found.items() if is_marked])
        sleep(_PAUSE)


def _is_marked(pid: str, mark: bytes, root: str) -> bool | None:
    """Whether a process has a mark in its environment, or works below a folder.

    None where that can't be told yet, for it is just given another program. A process that has
    arguments and no environment may have been given both between two looks, so it is asked again.
    """
    if _works_in(pid, root):
        return True
    for _ in range(_LOOKS):
        if environment := metering.read(f"/proc/{pid}/environ"):
            return mark in environment
        if not _has_program(pid):
            return False
        if not metering.read(f"/proc/{pid}/cmdline"):
            return None
    return False


def _has_program(pid: str) -> bool:
    with suppress(OSError):
        return bool(Path(f"/proc/{pid}/exe").readlink())
    return False


def _kill(pids: Collection[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, SIGKILL)


def _works_in(pid: str, root: str) -> bool:
    with suppress(OSError):
        return f"{Path(f'/proc/{pid}/cwd').readlink()}/".startswith(root)
    return False


def _is_full(place: Path, gigabytes: float) -> bool:
    """Whether a folder takes more of the disk than it may; links are not followed."""
    places, count, size = [str(place)], 0, 0
    while places:
        with suppress(OSError), os.scandir(places.pop()) as entries:  # It may be gone by now.
            for entry in entries:
                count += 1
                with suppress(OSError):
                    size += 512 * entry.stat(follow_symlinks=False).st_blocks
                if count > _MOST_ENTRIES or size > gigabytes * _GIGABYTE:
                    return True
                if entry.is_dir(follow_symlinks=False):
                    places.append(entry.path)
    return False


# ---- Processes


class _NotStartedError(Exception):
    """A program could not be started."""


class _Guarded:
    """A program below its guard, both ended at the end."""

    def __init__(
        self, command: Sequence[str], folder: RunFolder, room: Room | None, **how: Any
    ) -> None:
        """Start both. A GPU's room stays kept while any of it lives.

        Raises:
            ToolError: If the guard can't be started.
        """
        self._name, self._folder, self._said = command[0], folder, b""
        life, self._life = _pipe()
        self._told, tells = _pipe()
        with closing(life), closing(tells):
            told = [life.fileno(), tells.fileno(), folder.lock.fileno()]
            try:
                self._guard = subprocess.Popen(  # noqa: S603 - our own, and the host's command
                    [sys.executable, "-I", "-S", _GUARD, *map(str, told), str(folder.place),
                     *command],
                    cwd=folder.work, start_new_session=True,
                    pass_fds=[*told, *([room.fileno()] if room else [])], **how,
                )  # fmt: skip
            except OSError as error:
                self._life.close()
                self._told.close()
                raise ToolError(
                    f"{self._name} can't be run: its guard can't be started: {error.strerror}"
                ) from error

    def wait(self, seconds: float) -> int | None:
        """The exit code, or minus a signal's number; None if it is still at work.

        Raises:
            _NotStartedError: If it could not be started.
            ToolError: If its guard was killed.
        """
        end, told = monotonic() + seconds, poll()
        told.register(self._told, POLLIN)
        while (left := end - monotonic()) > 0 and told.poll(1000 * left):
            part = os.read(self._told.fileno(), 64)
            self._said += part
            if not part:
                return self._code()
        return None

    def _code(self) -> int:
        if self._said.startswith(b"E"):
            raise _NotStartedError(os.strerror(int(self._said[1:].split()[0])))
        if not self._said:
            raise ToolError(f"{self._name} was ended: its guard was killed, or failed")
        return os.waitstatus_to_exitcode(int(self._said))

    def __enter__(self) -> Self:
        """Have it run."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it with all that it has started, as the guard does unless it was ended itself."""
        with suppress(OSError):
            os.write(self._life.fileno(), b"e")  # This process lives, and minds the folder.
        self._life.close()
        try:
            code = self._guard.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # Something has stopped it.
            _kill([*below(self._guard.pid), self._guard.pid])
            code = self._guard.wait()
        if code:
            _end_marked(self._folder.place)
        self._told.close()


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    """Two ends that no forked process keeps."""
    read, write = os.pipe()
    return (
        not_in_child(os.fdopen(read, "rb", buffering=0)),
        not_in_child(os.fdopen(write, "wb", buffering=0)),
    )


def _log(output: Path | None) -> IO[bytes]:
    return output.open("w+b", buffering=0) if output else TemporaryFile(buffering=0)


def _size(stream: IO[bytes]) -> int:
    return os.fstat(stream.fileno()).st_size


def _tail(stream: IO[bytes]) -> str:
    stream.seek(max(0, _size(stream) - 4 * _TOLD))
    return stream.read(4 * _TOLD).decode("utf-8", "replace").strip()[-_TOLD:]
