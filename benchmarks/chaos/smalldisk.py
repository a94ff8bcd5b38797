"""A small disk of one's own, which can be filled: a file system in memory."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

_NEW_MOUNTS, _NEW_USERS = 0x00020000, 0x10000000
_PRIVATE = 0x4000 | 0x40000
"""MS_REC | MS_PRIVATE: what is mounted here is seen by this process and its children alone."""
_DETACH = 2
_PIECE = 1 << 20


def mount(folder: Path, megabytes: int) -> bool:
    """Mount a small file system over a folder, for this process and its children.

    It is gone when the last of them has ended. Call it before any thread is started.

    Returns:
        Whether that is allowed here.
    """
    libc, who = ctypes.CDLL(None, use_errno=True), (os.getuid(), os.getgid())
    if libc.unshare(_NEW_MOUNTS | (_NEW_USERS if who[0] else 0)):
        return False
    if who[0]:
        Path("/proc/self/setgroups").write_text("deny")
        for name, number in zip(("uid_map", "gid_map"), who, strict=True):
            Path("/proc/self", name).write_text(f"{number} {number} 1")
    size = f"size={megabytes}m".encode()
    return not (
        libc.mount(None, b"/", None, _PRIVATE, None)
        or libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, size)
    )


def unmount(folder: Path) -> None:
    """Take it away again, with all that is on it."""
    ctypes.CDLL(None).umount2(os.fsencode(folder), _DETACH)


def fill(folder: Path) -> Path:
    """Leave no room on the disk of a folder; removing the file that is returned makes it again."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(_PIECE)) == _PIECE:
            pass
        while file.write(b"\0"):
            pass
    return ballast
