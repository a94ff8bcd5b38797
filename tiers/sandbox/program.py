"""What is run in a sandbox, within which limits, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from importlib.util import find_spec
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Any

from verifier_ladder.errors import CandidateError, ConfigError

_MIB = 1 << 20
_LONGEST_NAME, _LONGEST_PATH = 255, 2048


class Ending(StrEnum):
    """How a candidate's run ended. Each is the candidate's own doing, none the sandbox's."""

    FINISHED = "finished"
    """The function returned plain data (`Result.value`), or the program ended with status 0."""
    UNTOLD = "untold"
    """The function returned something that is no plain data, or the channel was tampered with."""
    RAISED = "raised"
    """An exception left it: `Result.error`, `Result.message`."""
    EXITED = "exited"
    """It ended with another status, or before its function had returned: `Result.status`."""
    CRASHED = "crashed"
    """A signal ended it: `Result.signal`."""
    CPU = "cpu"
    """It used more processor time than allowed, its children counted."""
    WALL = "wall"
    """It ran longer than allowed; time in which the machine gave it no core is not counted."""
    MEMORY = "memory"
    """It asked for more memory than allowed."""
    OUTPUT = "output"
    """It wrote more than allowed, or told a value of more than 1 MiB."""
    FILES = "files"
    """It wrote a file where it may write none, or more and larger ones than allowed."""
    PROCESSES = "processes"
    """It started more processes and threads than allowed."""
    THREADS = "threads"
    """It could start no other thread: it had as many as allowed, or no memory for its stack. Which
    it was is not known, for it had let go of what it held before it ended."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one input's run may take.

    Example:
        >>> Limits(cpu=2.0, files=16, file_bytes=2**20).processes
        16
    """

    cpu: float = 10.0
    """Seconds of processor time, of all its processes together."""
    wall: float = 30.0
    """Seconds of the wall's time."""
    memory: int = 512 * _MIB
    """Bytes beyond what the interpreter has: of address space for each process, in which each
    thread's stack counts with 8 MiB, and resident of all together."""
    output: int = _MIB
    """Bytes of standard output and standard error together."""
    files: int = 0
    """Files and folders that it may make. With 0 it has no folder to write into."""
    file_bytes: int = 0
    """Bytes of all these files together."""
    processes: int = 16
    """Processes and threads at a time, the first included."""

    def __post_init__(self) -> None:
        """Refuse limits that are none.

        Raises:
            ConfigError: If one is negative or not finite, or only one of `files` and
                `file_bytes` is 0.
        """
        for each in fields(self):
            value = getattr(self, each.name)
            wanted = float if each.name in {"cpu", "wall"} else int
            if type(value) not in {int, wanted} or not isfinite(value) or value < 0:
                raise ConfigError(f"the limit {each.name!r} can't be {value!r}")
        if not (self.cpu and self.wall and self.memory and self.processes):
            raise ConfigError("cpu, wall, memory and processes must be above 0")
        if bool(self.files) != bool(self.file_bytes):
            raise ConfigError("to have files written, give both files and file_bytes")


@dataclass(frozen=True, slots=True)
class Program:
    """Files, and how to start them.

    Example:
        >>> Program({"main.py": "def solve(n): return n + 1"}).kind
        'function'
        >>> Program({"main.py": "print(input())"}, entry="main.py").kind
        'script'
        >>> Program({"tool": b"..."}, command=("./tool",), programs=("tool",)).kind
        'command'
    """

    files: Mapping[str, str | bytes]
    """Relative path → content. They lie in the folder that the program starts in."""
    entry: str = "main.py:solve"
    """A file and, after a colon, the function to call; a file alone is run as a script."""
    command: tuple[str, ...] = ()
    """Instead of `entry`: a program and its first arguments, such as `("./program",)`."""
    programs: tuple[str, ...] = ()
    """Files that can be executed."""
    keep: tuple[str, ...] = ()
    """Files at the top of the folder that `Result.files` gives back, where they are there."""
    contents: tuple[bytes, ...] = field(init=False, repr=False, compare=False)
    """What the files hold, in their order, as it is written."""

    def __post_init__(self) -> None:
        """Refuse files that can't lie in a folder, and an entry that is not among them.

        Raises:
            CandidateError: If the files, which a candidate may have named, can't be written.
            ConfigError: If anything else is wrong.
        """
        for name in self.files:
            if why := _not_inside(name):
                raise CandidateError(f"{name[:100]!r} {why}")
            above = next((a for a in map(str, PurePosixPath(name).parents) if a in self.files), "")
            if above:
                raise CandidateError(f"{above[:100]!r} is both a file and a folder")
        for name in self.programs:
            if why := _not_inside(name):
                raise ConfigError(f"{name!r} {why}")
        object.__setattr__(self, "contents", tuple(map(_content, self.files.items())))
        for name in self.keep:
            if "/" in name or name in {"", ".", ".."}:
                raise ConfigError(f"{name!r} is no file at the top of the folder")
        if not self.command and self.entry.partition(":")[0] not in self.files:
            raise CandidateError(f"{self.entry!r} names none of the program's files")

    @property
    def kind(self) -> str:
        """`function`, `script` or `command`."""
        if self.command:
            return "command"
        return "function" if ":" in self.entry else "script"


@dataclass(frozen=True, slots=True)
class Input:
    """What one run of a program is given.

    Example:
        >>> Input((3, [1, 2]), {"key": "a"}).args
        (3, [1, 2])
    """

    args: tuple[Any, ...] = ()
    """Arguments of a function: plain data, as `values.encode` takes it."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    stdin: bytes = b""
    argv: tuple[str, ...] = ()
    """Arguments of a script or a command, after its name."""

    def __post_init__(self) -> None:
        """Refuse arguments that no program can be given.

        Raises:
            ConfigError: If one holds a NUL, or half of a character.
        """
        for each in self.argv:
            if "\0" in each or not _is_text(each):
                raise ConfigError(f"{each!r} can't be an argument of a program")


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one input."""

    ended: Ending
    value: Any = field(default=None, repr=False)
    """What the function returned, if it `finished`: the candidate's own word, with exact types."""
    error: str = ""
    """Class of the exception that it raised: one of Python's own by its bare name, any other
    with its module's before it, such as `main.ValueError`. Like a value it is the candidate's own
    word, which says no more than that it could have raised this."""
    message: str = ""
    """What the exception says, or why no value is told; at most 2,000 characters."""
    status: int | None = None
    """Exit status, if it came to one."""
    signal: int | None = None
    """Number of the signal that ended it."""
    stdout: bytes = b""
    stderr: bytes = b""
    cpu: float = 0.0
    """Seconds of processor time, of all its processes together."""
    wall: float = 0.0
    """Seconds from its first instruction to its end."""
    memory: int = 0
    """Bytes that the largest of its processes had resident, the shared interpreter included."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The files of `Program.keep` that it has left."""


def _not_inside(name: str) -> str:
    """Why a path names no file inside a folder; "" if it does."""
    parts = PurePosixPath(name).parts
    if not parts or name != "/".join(parts) or ".." in parts or name.startswith("/"):
        return "is no path inside a folder"
    if "\0" in name or not _is_text(name):
        return "holds what no path can hold"
    sizes = [len(part.encode()) for part in parts]
    if max(sizes) > _LONGEST_NAME or sum(sizes) + len(sizes) > _LONGEST_PATH:
        return "is too long for a path"
    return ""


def _content(file: tuple[str, str | bytes]) -> bytes:
    name, content = file
    if isinstance(content, bytes):
        return content
    if not _is_text(content):
        raise CandidateError(f"{name!r} holds half of a character, which can't be written")
    return content.encode()


def _is_text(text: str) -> bool:
    """Whether it has no halves of characters, which can be written nowhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Warmth:
    """What the interpreter has loaded before the first input, and what programs may read.

    Example:
        >>> Warmth(modules=("numpy",)).modules
        ('numpy',)
    """

    modules: tuple[str, ...] = ()
    """Imported once; each input starts with them. All else beside them can be imported too."""
    read: tuple[str, ...] = ()
    """More files and folders that programs may read, at their own absolute paths."""

    def __post_init__(self) -> None:
        """Take any lists of names.

        Raises:
            ConfigError: If one is a single text, or holds anything else.
        """
        for name in ("modules", "read"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(each, str) for each in given):
                raise ConfigError(f"Warmth({name}={given!r}): give a list of texts")
            object.__setattr__(self, name, tuple(given))

    def paths(self) -> list[str]:
        """The folders that hold the modules.

        Raises:
            ConfigError: If one of them is not installed.
        """
        found = []
        for name in self.modules:
            spec = find_spec(name.partition(".")[0])
            if spec is None or spec.origin is None:
                raise ConfigError(f"the sandbox can't warm {name}: it is not installed")
            if spec.origin not in {"built-in", "frozen"}:
                levels = 2 if spec.submodule_search_locations else 1
                found.append(str(Path(spec.origin).resolve().parents[levels - 1]))
        return list(dict.fromkeys(found))
