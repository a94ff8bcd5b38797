"""Checkpoints: how far a long calculation has come, kept where the next attempt finds it.

A check whose worker was killed is asked again, perhaps by a worker of another host. A verifier
that keeps checkpoints goes on from the last one, so that what was computed is paid once.

They lie in the folder `VLADDER_CHECKPOINTS`, which hosts may share; without that in a private one
of this machine. A file's name is a digest of what the calculation is about. What is in it has to
be portable, such as JSON: another host has another processor.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from time import monotonic, time
from typing import Final

from verifier_ladder.containment import ContainedLog
from verifier_ladder.errors import ConfigError
from verifier_ladder.private import make_private_folder, own_folder, write_private
from verifier_ladder.settings import load_settings

EVERY = 50.0
"""Seconds by the clock between two checkpoints. With what a verifier computes until it can keep
the next, some ten seconds, a killed worker has computed a minute in vain."""
_KEPT: Final = 30 * 86_400.0
"""Seconds for which one is kept that nobody comes back to."""
_DIGEST: Final = 32
_LARGEST: Final = 64 * 2**20
"""Bytes of the largest that is read."""
_OTHERS_WRITE: Final = 0o022
_OURS = re.compile(r"verifier-ladder-[0-9a-f]{64}\.checkpoint")
_LOG = ContainedLog("verifier_ladder")


class Checkpoint:
    r"""The place of one calculation's checkpoints; the newest takes the place of the last.

    **Guarantees.** What `load` gives was saved whole, by this user. A folder that can't be written
    to, or that others can write to, costs a warning and no verdict: nothing is kept there.

    Example:
        >>> import os
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     os.environ["VLADDER_CHECKPOINTS"] = folder
        ...     Checkpoint(b"a verifier", b"a candidate").save(b"half way")
        ...     Checkpoint(b"a verifier", b"a candidate").load()
        ...     del os.environ["VLADDER_CHECKPOINTS"]
        b'half way'
    """

    def __init__(self, *about: bytes) -> None:
        """Name the calculation.

        Args:
            about: All that its course depends on.
        """
        name = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in about))
        self._folder = _folder()
        self._name = f"verifier-ladder-{name.hexdigest()}.checkpoint"
        self._saved = monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the last one is so old that another is worth its time."""
        return monotonic() - self._saved >= EVERY

    def load(self) -> bytes | None:
        """What was saved last; None if nothing was, or it is not whole."""
        if self._folder is None:
            return None
        try:
            data = _read(self._folder / self._name)
        except OSError:
            return None
        told, kept = data[:_DIGEST], data[_DIGEST:]
        return kept if hashlib.sha256(kept).digest() == told else None

    def save(self, data: bytes) -> None:
        """Keep this instead of what was kept before."""
        if self._folder is not None:
            try:
                write_private(self._folder / self._name, hashlib.sha256(data).digest() + data)
            except OSError as error:
                _LOG.warning("no checkpoint is kept: %s", error)
        self._saved = monotonic()

    def clear(self) -> None:
        """Keep nothing more of a calculation that has ended; nor what nobody came back to."""
        if self._folder is None:
            return
        with suppress(OSError):
            (self._folder / self._name).unlink(missing_ok=True)
            for each in self._folder.iterdir():
                if _OURS.fullmatch(each.name) and time() - each.lstat().st_mtime > _KEPT:
                    each.unlink(missing_ok=True)


def _read(path: Path) -> bytes:
    """The bytes of a plain file of this user's.

    Raises:
        OSError: If it is none: a link or a pipe may have been put there, or another's file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        _check(found, path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise OSError(f"{path} is no checkpoint")
        return file.read(_LARGEST)


def _check(found: os.stat_result, path: Path) -> None:
    """See that nobody else can write there.

    Raises:
        OSError: If somebody can.
    """
    if found.st_uid != os.getuid() or found.st_mode & _OTHERS_WRITE:
        raise OSError(f"others can write to {path}: give it to the workers' user alone")


def _folder() -> Path | None:
    """Where checkpoints are kept; None, and a warning, where there is no place of this user's."""
    told = load_settings().checkpoints
    try:
        if told is None:
            return own_folder("checkpoints")
        make_private_folder(told)
        _check(told.stat(), told)
    except (OSError, ConfigError) as error:
        _LOG.warning("no checkpoint is kept: %s", error)
        return None
    return told
