"""What a key has signed last: a small file beside the key, which no edit of a ledger reaches.

Whoever can write a ledger could take signed entries out of it and have the program sign for the
rest. So before anything is signed it is noted here, and a log that does not begin with what was
noted is signed no more, until a person accepts it (`vladder ledger accept-restore`).
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.offline import Checkpoint
from verifier_ladder.private import make_private_folder, write_private

_DIGITS = r"^[0-9a-f]{64}$"


class Tree(NamedTuple):
    """A log at one moment, without its name."""

    size: int
    root: bytes


class _Size(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    size: int = Field(ge=0)
    root: str = Field(pattern=_DIGITS)


class _Note(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    origin: str
    before: _Size
    signed: _Size


class Signed(NamedTuple):
    """What was signed last, and what it was signed behind.

    It is noted first and committed then: a ledger whose process died in between still ends with
    `before`, and the entries that follow are those of `last`.
    """

    origin: str
    before: Tree
    last: Tree

    @property
    def checkpoints(self) -> tuple[Checkpoint, Checkpoint]:
        """Both as checkpoints."""
        return Checkpoint(self.origin, *self.before), Checkpoint(self.origin, *self.last)


class SignedFile:
    """The file.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = SignedFile(Path(folder) / "ledger.db.key.signed")
        ...     file.write(Signed("example/log", Tree(0, bytes(32)), Tree(2, bytes(32))))
        ...     file.read().last.size
        2
    """

    def __init__(self, path: Path) -> None:
        """Name the file; it need not exist."""
        self.path = path

    def read(self) -> Signed | None:
        """What was noted; None if nothing was yet.

        Raises:
            LedgerError: If it can't be read.
        """
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(
                f"{self.path}, where stands what was signed last, can't be read: "
                f"{error.strerror}; correct its permissions"
            ) from error
        try:
            note = _Note.model_validate_json(text)
        except ValidationError as error:
            raise LedgerError(
                f"{self.path} does not tell what was signed last: it was changed or damaged; "
                "restore a copy of it, or look at the ledger and say "
                "`vladder ledger accept-restore`"
            ) from error
        before, last = (Tree(t.size, bytes.fromhex(t.root)) for t in (note.before, note.signed))
        return Signed(note.origin, before, last)

    def begin(self, signed: Signed) -> bool:
        """Note it unless something was noted already; tells whether it was.

        Raises:
            LedgerError: If it can't be written.
        """
        part = SignedFile(self.path.with_name(f"{self.path.name}.{token_hex(4)}"))
        part.write(signed)
        try:
            os.link(part.path, self.path)  # Unlike a rename, it never replaces a file.
        except FileExistsError:
            return False
        except OSError as error:
            raise _unwritable(self.path, error) from error
        finally:
            part.path.unlink(missing_ok=True)
        return True

    def write(self, signed: Signed) -> None:
        """Note it, for good even if the machine stops now.

        Raises:
            LedgerError: If it can't be written.
        """
        before, last = (_Size(size=t.size, root=t.root.hex()) for t in signed[1:])
        note = _Note(origin=signed.origin, before=before, signed=last)
        try:
            make_private_folder(self.path.parent)
            write_private(self.path, note.model_dump_json().encode() + b"\n")
        except OSError as error:
            raise _unwritable(self.path, error) from error


def _unwritable(path: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"what is signed can't be noted in {path}: {error.strerror}; entries wait for the signed "
        "log until it can"
    )


def signed_file(key: Path, url: str, *, is_own: bool) -> SignedFile:
    """The file beside a key.

    Args:
        key: The key's file.
        url: The ledger.
        is_own: Whether the key is this ledger's alone.

    Where the key's folder can't be written, as that of a mounted secret, it lies in the user's own
    folder.
    """
    mark = "" if is_own else f".{sha256(url.encode()).hexdigest()[:12]}"
    path = Path(f"{key}{mark}.signed")
    if (
        not path.exists()
        and path.parent.is_dir()
        and not os.access(path.parent, os.W_OK | os.X_OK)
    ):
        mine = sha256(f"{key}\n{url}".encode()).hexdigest()[:12]
        path = Path("~/.config/verifier-ladder").expanduser() / f"{key.name}-{mine}.signed"
    return SignedFile(path)
