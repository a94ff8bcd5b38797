"""Checkpoints: how far a long calculation has come, kept where the next attempt finds it.

A check whose worker was killed is asked again, perhaps by a worker of another host. A verifier
that keeps checkpoints goes on from the last one, so that what was computed is paid once.

They lie in the folder `VLADDER_CHECKPOINTS`, which hosts may share; without that in a private one
of this machine. A file's name is a digest of what the calculation is about. What is in it has to
be portable, such as JSON: another host has another processor.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from time import monotonic, time
from typing import Final

from verifier_ladder.containment import ContainedLog
from verifier_ladder.errors import ConfigError
from verifier_ladder.private import make_private_folder, own_folder, write_private
from verifier_ladder.settings import load_settings

EVERY = 60.0
"""Seconds by the clock between two checkpoints: what a killed worker has computed in vain."""
_KEPT: Final = 30 * 86_400.0
"""Seconds for which one is kept that nobody comes back to."""
_DIGEST: Final = 32
_LOG = ContainedLog("verifier_ladder")


class Checkpoint:
    r"""The place of one calculation's checkpoints; the newest takes the place of the last.

    **Guarantees.** What `load` gives was saved whole. A folder that can't be written to costs a
    warning and no verdict.

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
        self._path = _folder() / f"{name.hexdigest()}.checkpoint"
        self._saved = monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the last one is so old that another is worth its time."""
        return monotonic() - self._saved >= EVERY

    def load(self) -> bytes | None:
        """What was saved last; None if nothing was, or it is not whole."""
        try:
            data = self._path.read_bytes()
        except OSError:
            return None
        told, kept = data[:_DIGEST], data[_DIGEST:]
        return kept if hashlib.sha256(kept).digest() == told else None

    def save(self, data: bytes) -> None:
        """Keep this instead of what was kept before."""
        try:
            make_private_folder(self._path.parent)
            write_private(self._path, hashlib.sha256(data).digest() + data)
        except OSError as error:
            _LOG.warning("no checkpoint is kept: %s", error)
        self._saved = monotonic()

    def clear(self) -> None:
        """Keep nothing more of a calculation that has ended; nor what nobody came back to."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
            for each in self._path.parent.glob("*.checkpoint"):
                if time() - each.stat().st_mtime > _KEPT:
                    each.unlink(missing_ok=True)


def _folder() -> Path:
    """Where checkpoints are kept.

    Raises:
        ConfigError: If somebody else could write to the machine's own folder.
    """
    if (told := load_settings().checkpoints) is not None:
        return told
    try:
        return own_folder("checkpoints")
    except OSError as error:
        raise ConfigError(f"there is no folder for checkpoints: {error}") from error
