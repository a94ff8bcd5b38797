"""Private files: what holds prompts, keys or tokens is made for its owner alone.

Modes are given when a file is made, so no umask opens it and nobody reads it in between.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from verifier_ladder.errors import ConfigError, LadderError, LedgerError

FILE = 0o600
FOLDER = 0o700
_OTHERS = 0o077


def make_private(path: Path, instead_of: Path | None = None) -> bool:
    """Make an empty file for its owner alone, unless there is one; tells whether it was made.

    Args:
        path: The file.
        instead_of: A file whose place it will take; if there is one, it gets its mode. A link
            says nothing: it may have been put there, and it leads to another file.

    Raises:
        OSError: If it can't be made.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     made = make_private(Path(folder) / "ledger.db")
        ...     is_open_to_others(Path(folder) / "ledger.db")
        False
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
    except FileExistsError:
        return False
    mode = FILE  # Set once more: a umask may have taken the owner's own rights away.
    if instead_of is not None and instead_of.exists() and not instead_of.is_symlink():
        mode = instead_of.stat().st_mode & 0o777
    os.fchmod(descriptor, mode)
    os.close(descriptor)
    return True


def check_other_file(out: str | Path, *inputs: object) -> None:
    """See that a file to write is none of those that are read for it.

    Args:
        out: Where to write.
        inputs: Paths, or addresses of ledgers; what is neither is no file.

    Raises:
        ConfigError: If it is one of them, under whatever name.

    Example:
        >>> check_other_file("a.csv", "sqlite:///ledger.db", "a.csv")
        Traceback (most recent call last):
        verifier_ladder.errors.ConfigError: a.csv would be lost: it is an input; name another file
    """
    target = Path(out)
    for given in inputs:
        if not isinstance(given, (str, Path)):
            continue
        path = Path(str(given).removeprefix("sqlite:///"))
        is_same = path.absolute() == target.absolute()
        with suppress(OSError, ValueError):  # What isn't there yet may be written by then.
            is_same = is_same or path.resolve() == target.resolve() or path.samefile(target)
        if is_same:
            raise ConfigError(f"{out} would be lost: it is an input; name another file")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a private file beside the one asked for; it takes the name only when it is whole.

    Raises:
        OSError: If it can't be written; what was there stays.
    """
    with beside(path) as part:
        make_private(part, path)
        yield part
        part.replace(path)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A place beside another, for a file or folder that takes its name when it is whole.

    What is left there at the end is removed.

    Raises:
        IsADirectoryError: If the place can only be a folder, such as `/`.
        OSError: If a device or a pipe lies there, such as `/dev/null`: a file would take its place
            for all programs of the machine.
    """
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, "that is a folder; name a file in it", str(path))
    if _is_device(path):
        raise OSError(errno.EINVAL, "that is a device or a pipe; name a file", str(path))
    part = path.with_name(f".{secrets.token_hex(8)}.part")  # However long the other's name is.
    try:
        yield part
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        with suppress(OSError):
            part.unlink()


def _is_device(path: Path) -> bool:
    """Whether a name is taken by what is no file, or stands for one in the folder of devices."""
    is_there = path.exists() and not (path.is_file() or path.is_dir())
    return is_there or path.absolute().parent == Path("/dev")


def open_shared(path: Path) -> IO[str]:
    """Open a file that processes of one user share, as it is; one that is missing is made.

    Raises:
        ConfigError: If a link or a pipe lies there: what it leads to isn't ours to write.
        OSError: If it can't be opened, or a link took its place just now.
    """
    make_private(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ConfigError(f"{path} is not a plain file; remove it and try again")
    return os.fdopen(os.open(path, flags), "a+")


@contextmanager
def private_file(path: Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Write a file for its owner alone; a file that is there is emptied and keeps its mode.

    Raises:
        OSError: If it can't be written.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, FILE)

    with open(path, mode, opener=opener, **options) as file:
        yield file


def private_text(path: Path, text: str) -> None:
    """Write a text for its owner alone; a file that is there keeps its mode.

    Raises:
        OSError: If it can't be written.
    """
    with private_file(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)


def write_private(path: Path, data: bytes) -> None:
    """Put a file of the owner's in the place of what is there, whole, and for good.

    Raises:
        OSError: If it can't be written; what was there stays.
    """
    with beside(path) as part:
        make_private(part)
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    _sync(path.parent)


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})


def is_full(error: OSError) -> bool:
    """Whether the disk has no room, or is broken; else another place would do."""
    return error.errno in _FULL


def unwritable(path: Path, error: OSError) -> LadderError:
    """What to raise where a file that somebody has named can't be written.

    Example:
        >>> unwritable(Path("a/b"), IsADirectoryError(21, "Is a directory"))
        ConfigError("a/b can't be written: Is a directory; name another place")
    """
    if is_full(error):
        return LedgerError(f"{path} can't be written: {error.strerror}; make room and try again")
    why = error.strerror or error
    return ConfigError(f"{path} can't be written: {why}; name another place")


def make_private_folder(path: Path) -> None:
    """Make a folder for its owner alone, with those above it; one that is there stays as it is.

    Raises:
        OSError: If it can't be made.
    """
    path.mkdir(parents=True, exist_ok=True, mode=FOLDER)


def own_folder(name: str) -> Path:
    """A folder that nobody else can write to, though everybody can write beside it.

    It is the same one for all processes of a user on a machine.

    Args:
        name: What for.

    Raises:
        ConfigError: If somebody else could write there.
    """
    folder = Path(tempfile.gettempdir(), f"verifier-ladder-{name}-{os.getuid()}")
    with suppress(FileExistsError):
        folder.mkdir(mode=FOLDER)
    return _checked_own(folder, "TMPDIR")


def cache_folder() -> Path:
    """The user's folder for what can be made anew at any time; nobody else reads or writes it.

    It lies in the user's cache (`XDG_CACHE_HOME`), or among the temporary files where that can't
    be written.

    Raises:
        ConfigError: If somebody else could read or write there.
    """
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        folder = (given if given.is_absolute() else Path.home() / ".cache") / "verifier-ladder"
        make_private_folder(folder)
    except (OSError, RuntimeError):
        return own_folder("cache")
    if not os.access(folder, os.W_OK | os.X_OK):
        return own_folder("cache")
    return _checked_own(folder, "XDG_CACHE_HOME")


def _checked_own(folder: Path, variable: str) -> Path:
    found = folder.lstat()  # Whoever made it first could have put a link in a lock's place.
    is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & _OTHERS
    if not is_private or found.st_uid != os.getuid():
        raise ConfigError(
            f"{folder} is not a folder that only this user can use; remove it, or set {variable} "
            "to a folder of your own"
        )
    return folder


def is_open_to_others(path: Path) -> bool:
    """Whether others than its owner may read or write a file."""
    return bool(path.stat().st_mode & _OTHERS)


def _sync(folder: Path) -> None:
    """Have a new name survive a power cut."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
