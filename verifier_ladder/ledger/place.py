"""The place where a ledger file is to lie, and what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

from verifier_ladder.errors import ConfigError

_MOUNTS = Path("/proc/self/mountinfo")
_POINT = 4  # Column of the mount point.
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "ceph", "glusterfs",
    "lustre", "beegfs", "gpfs", "orangefs", "pvfs2", "moosefs", "davfs", "fuse.sshfs",
    "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.glusterfs", "fuse.cephfs",
    "fuse.mount-s3", "fuse.davfs2", "fuse.goofys", "fuse.juicefs",
}  # fmt: skip


def check_place(path: Path) -> Path:
    """Make sure that a ledger can lie there; return the path with links resolved.

    Raises:
        ConfigError: If it can't, with what to do.
    """
    path = path.resolve()
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name a file in it, such as {path / 'ledger.db'}")
    if not path.parent.is_dir():
        raise ConfigError(
            f"the folder {path.parent} does not exist; make it with `mkdir -p {path.parent}`"
        )
    kind = file_system(path.parent)
    if kind in _NETWORK:
        raise ConfigError(
            f"{path} lies on a network file system ({kind}), where SQLite's locks don't hold and "
            "a ledger would be damaged; put it on a local disk, and copy it when the work is done"
        )
    if path.exists():
        _check_file(path)
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        raise ConfigError(
            f"the folder {path.parent} can't be written; ask for permission or give another path"
        )
    return path


def _check_file(path: Path) -> None:
    # The file itself is never opened here: closing it would drop every POSIX lock that SQLite
    # holds on it in this process.
    if not path.is_file():
        raise ConfigError(f"{path} is not a regular file; give another path for the ledger")
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK):
        raise ConfigError(
            f"{path} can't be written, so no campaign can be opened or changed there; "
            "ask for write permission on it and its folder, or copy it elsewhere. Commands that "
            "only read, such as `vladder ledger verify`, work on it as it is"
        )


def file_system(folder: Path, mounts: str | None = None) -> str:
    """The type of the file system that holds a folder; "" where it can't be told.

    Args:
        folder: An absolute path without links.
        mounts: The table of mounts as in `/proc/self/mountinfo`; the system's own if None.

    Example:
        >>> table = "30 1 0:26 / /data rw - nfs4 server:/data rw"
        >>> file_system(Path("/data/runs"), table)
        'nfs4'
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
    best, kind = -1, ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) <= _POINT or not right:
            continue
        point = Path(_unescape(fields[_POINT]))
        if (folder == point or point in folder.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), right.split()[0]
    return kind


def _unescape(text: str) -> str:
    """Undo the kernel's way of writing spaces and the like."""
    for code, char in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(code, char)
    return text
