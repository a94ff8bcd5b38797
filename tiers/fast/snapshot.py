"""Snapshots of repositories: the files of one state, as a setting names them, and their digest.

A snapshot is a folder, an archive (`.tar`, `.tar.gz` and so on), or a commit of a git repository
(`folder@commit`, all 40 digits of it). History and what programs leave behind is left out, and so
are links, submodules and modes: a snapshot is plain files.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import digest
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.patch import not_inside

LARGEST: Final = 64 << 20
MOST: Final = 20_000
"""Bytes and files of a snapshot."""
_SECONDS = 60.0
_COMMIT = re.compile(r"(.+)@([0-9a-f]{40})")
_DROPPED = frozenset({
    ".git", ".hg", ".svn", ".gitmodules", "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs", ".venv", "node_modules",
})  # fmt: skip
"""Folders and files, wherever they are."""
_DROPPED_AT_TOP = frozenset({"build", "dist", "venv"})
_DROPPED_ENDS = (".pyc", ".pyo", ".egg-info", ".dist-info", ".pth")


def read_snapshot(place: str) -> dict[str, bytes]:
    """The files of a snapshot, by their paths.

    Args:
        place: A folder, an archive, or `folder@commit`.

    Raises:
        ConfigError: If it can't be read, holds no file, or too much.
    """
    commit = _COMMIT.fullmatch(place)
    try:
        if commit:
            found = dict(_archived(_exported(*commit.groups())))
        elif Path(place).is_dir():
            found = dict(_in_folder(Path(place)))
        else:
            found = dict(_archived(Path(place).read_bytes()))
    except (OSError, tarfile.TarError, EOFError, subprocess.SubprocessError) as error:
        raise ConfigError(f"the snapshot {printable(place)!r} can't be read: {error}") from None
    if not found:
        raise ConfigError(f"the snapshot {printable(place)!r} holds no file")
    return found


def snapshot_digest(files: Mapping[str, bytes]) -> str:
    """What a task pins a snapshot by: 64 hexadecimal digits of all paths and contents.

    Example:
        >>> snapshot_digest({"x.py": b"x = 1"})[:8]
        'b1f8c14d'
    """
    return digest({path: hashlib.sha256(held).hexdigest() for path, held in files.items()}).hex()


def is_dropped(path: str) -> bool:
    """Whether a file is history, or something that programs have left behind.

    Example:
        >>> is_dropped("kiosk/__pycache__/money.pyc"), is_dropped("kiosk/money.py")
        (True, False)
    """
    parts = path.split("/")
    ends = any(part.endswith(_DROPPED_ENDS) for part in parts)
    return ends or not _DROPPED.isdisjoint(parts) or parts[0] in _DROPPED_AT_TOP


def _in_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    size, count = 0, 0
    for above, folders, names in os.walk(folder):
        inside = Path(above).relative_to(folder)
        folders[:] = sorted(each for each in folders if not is_dropped((inside / each).as_posix()))
        for name in sorted(names):
            path, place = (inside / name).as_posix(), Path(above, name)
            if is_dropped(path) or place.is_symlink() or not place.is_file():
                continue
            size, count = size + place.stat().st_size, count + 1
            _check(path, size, count)
            yield path, place.read_bytes()


def _archived(archive: bytes) -> Iterator[tuple[str, bytes]]:
    size, count = 0, 0
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        for member in file:
            path = member.name.removeprefix("./")
            if not member.isreg() or is_dropped(path):
                continue
            size, count = size + member.size, count + 1
            _check(path, size, count)
            held = file.extractfile(member)
            yield path, held.read() if held else b""


def _exported(folder: str, commit: str) -> bytes:
    """A commit's files as an archive."""
    done = subprocess.run(  # noqa: S603 - the machine's owner names the folder
        ["git", "-C", folder, "archive", "--format=tar", commit],  # noqa: S607
        stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        said = printable(done.stderr.decode(errors="replace"), 200)
        raise ConfigError(f"git has no commit {commit} in {printable(folder)!r}: {said}")
    return done.stdout


def _check(path: str, size: int, count: int) -> None:
    if why := not_inside(path):
        raise ConfigError(f"the snapshot's {printable(path)!r} {why}")
    if size > LARGEST or count > MOST:
        raise ConfigError(f"a snapshot has at most {MOST} files and {LARGEST} bytes")
