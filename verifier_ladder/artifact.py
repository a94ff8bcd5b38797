"""Artifacts: files that a verdict rests on, such as a log or a structure.

The ledger's entry holds digest, size and type of each, and is signed; the bytes stand beside it,
so that every host can read them, and can be erased without breaking a proof.
"""

from __future__ import annotations

import mimetypes
import os
import re
import stat
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from verifier_ladder.errors import AnswerError

MOST: Final = 64
"""Artifacts of one verdict."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}")
_PART = 1 << 20


@dataclass(frozen=True, slots=True)
class Artifact:
    """What is known of a file beside a verdict; its bytes, until the ledger has taken them.

    Example:
        >>> made = Artifact.of(b"data_x", "relaxed.cif")
        >>> made.size, made.digest[:8]
        (6, '32ec6063')
    """

    digest: str
    """SHA-256 of the bytes, as hexadecimal digits."""
    size: int
    type: str = "application/octet-stream"
    """Media type, by the name's ending."""
    note: str = ""
    """Why the bytes are not kept, where they are not."""
    data: bytes | None = field(default=None, compare=False, repr=False)
    """The bytes; None once they are in the ledger, or where they are not kept."""

    @classmethod
    def of(cls, value: bytes | Path, name: str) -> Artifact:
        """Take bytes, or a file of the worker's own.

        A file that is larger than `VLADDER_LARGEST_ARTIFACT` is told of only, by its digest.

        Args:
            value: The bytes, or a file in the worker's folder or in that for temporary files.
            name: What it is called; its ending says of which type it is.

        Raises:
            AnswerError: If it is no such file.
        """
        from verifier_ladder.settings import load_settings

        most = load_settings().largest_artifact
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if isinstance(value, Path):
            digest, size, data = _read(value, most)
        else:
            digest, size, data = sha256(value).hexdigest(), len(value), bytes(value)
        if data is None:
            return cls(digest, size, kind, f"larger than {most} bytes")
        return cls(digest, size, kind, data=data)

    def without_data(self, why: str) -> Artifact:
        """The same, whose bytes are not kept."""
        return Artifact(self.digest, self.size, self.type, why)

    def masked_by(self, mask: Callable[[bytes], bytes]) -> Artifact:
        """The same without what a mask takes out of its bytes; they have another digest then."""
        data = None if self.data is None else mask(self.data)
        if data == self.data or data is None:
            return self
        return Artifact(sha256(data).hexdigest(), len(data), self.type, self.note, data)

    def drop(self) -> None:
        """Forget the bytes: the ledger has them."""
        object.__setattr__(self, "data", None)


def artifacts_of(given: Any) -> dict[str, Artifact]:
    """The artifacts of a verdict, by name.

    Raises:
        AnswerError: If there are too many, a name is no identifier, or a value is neither bytes
            nor a file of the worker's own.
    """
    from verifier_ladder.settings import load_settings

    if not isinstance(given, Mapping) or len(given) > MOST:
        raise AnswerError(f"a verdict's artifacts must be up to {MOST} files by name")
    if not given:
        return {}
    limits, found = load_settings(), dict[str, Artifact]()
    left, largest = int(limits.verdict_artifacts), int(limits.largest_artifact)
    for name, value in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise AnswerError(
                f"{name!r:.80} can't name an artifact: up to 64 letters, digits and _.- that "
                "begin with a letter; nothing that a candidate wrote"
            )
        made = value if isinstance(value, Artifact) else _made(value, name)
        if made.data is not None and made.size > largest:
            made = made.without_data(f"larger than {largest} bytes")
        if made.data is not None and made.size > left:
            made = made.without_data("more than a verdict may keep")
        left -= 0 if made.data is None else made.size
        found[name] = made
    return found


def _made(value: Any, name: str) -> Artifact:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Artifact.of(bytes(value), name)
    if isinstance(value, Path):
        return Artifact.of(value, name)
    raise AnswerError(
        f"artifact {name} must be bytes or a pathlib.Path, not {type(value).__name__}"
    )


def _read(path: Path, most: int) -> tuple[str, int, bytes | None]:
    """Digest, size and bytes of a file; no bytes where there are too many.

    A program that a candidate wrote may have made the file: a link would lead anywhere.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise AnswerError(f"artifact {path!s:.200} can't be read: {error}") from None
    with os.fdopen(_of_file(descriptor, path), "rb") as file:
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        roots = [Path.cwd().resolve(), Path(tempfile.gettempdir()).resolve()]
        if not any(place.is_relative_to(root) for root in roots):
            raise AnswerError(
                f"artifact {path!s:.200} is no file in the worker's folder or in that for "
                "temporary files"
            )
        hashed, kept, size = sha256(), bytearray(), 0
        while part := file.read(_PART):
            hashed.update(part)
            size += len(part)
            if size <= most:
                kept += part
    return hashed.hexdigest(), size, bytes(kept) if size <= most else None


def _of_file(descriptor: int, path: Path) -> int:
    """The descriptor, if it is of a plain file: a device might have no end."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise AnswerError(f"artifact {path!s:.200} is no file")
    return descriptor


def checked(digest: str, size: int, kind: str, note: str, data: bytes | None) -> Artifact:
    """An artifact that came from a worker, whose word is not taken for its digest.

    Raises:
        AnswerError: If it is not what it says.
    """
    is_digest = len(digest) == 64 and not set(digest) - set("0123456789abcdef")  # noqa: PLR2004
    if not is_digest or not 0 <= size < 2**63:
        raise AnswerError("an artifact has no digest")
    if data is not None and (len(data), sha256(data).hexdigest()) != (size, digest):
        raise AnswerError("an artifact is not what its digest says")
    return Artifact(digest, size, kind, note, data)


def artifact_json(artifact: Artifact) -> dict[str, Any]:
    """What is told of an artifact, without its bytes."""
    told = {"digest": artifact.digest, "size": artifact.size, "type": artifact.type}
    return {**told, "note": artifact.note} if artifact.note else told
