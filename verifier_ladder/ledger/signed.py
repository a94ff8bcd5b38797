"""What was signed last: a note outside the ledger, which no edit of a ledger reaches.

Whoever can write a ledger could take signed entries out of it and have the program sign for the
rest. So before anything is signed it is noted here, and a log that does not begin with what was
noted is signed no more, until a person accepts it (`vladder ledger accept-restore`). The note is a
small file beside the key or, where several machines sign for one database, a row that belongs to
another user of a database: the witness.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import make_url

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


class Note(ABC):
    """**Abstract:** where it is noted what was signed last."""

    name: str
    """What messages call it."""

    @abstractmethod
    def read(self) -> Signed | None:
        """What was noted; None if nothing was yet.

        Raises:
            LedgerError: If it can't be read.
        """

    @abstractmethod
    def begin(self, signed: Signed) -> bool:
        """Note it unless something was noted already; tells whether it was.

        Raises:
            LedgerError: If it can't be written.
        """

    @abstractmethod
    def replace(self, old: Signed | None, new: Signed) -> bool:
        """Note something in the place of what was read; False if others were faster.

        Raises:
            LedgerError: If it can't be written.
        """

    @abstractmethod
    def write(self, signed: Signed) -> None:
        """Note it, for good even if the machine stops now.

        Raises:
            LedgerError: If it can't be written.
        """


class SignedFile(Note):
    """The note as a file.

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
        self.path, self.name = path, str(path)

    def read(self) -> Signed | None:
        """See `Note`."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(
                f"{self.path}, where stands what was signed last, can't be read: "
                f"{error.strerror}; correct its permissions"
            ) from error
        return _read(text, self.name)

    def begin(self, signed: Signed) -> bool:
        """See `Note`."""
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

    def replace(self, old: Signed | None, new: Signed) -> bool:
        """See `Note`."""
        if self.read() != old:
            return False
        self.write(new)
        return True

    def write(self, signed: Signed) -> None:
        """See `Note`."""
        try:
            make_private_folder(self.path.parent)
            write_private(self.path, _written(signed) + b"\n")
        except OSError as error:
            raise _unwritable(self.path, error) from error


class SignedRow(Note):
    """The note as the one row of a table that belongs to another user than the ledger does.

    All who sign for a ledger share it, so a machine that has signed nothing yet knows what others
    have signed.
    """

    _TABLE = "vladder_witness"

    def __init__(self, url: str, before: SignedFile) -> None:
        """Name the witness; its table is made with the first note.

        Args:
            url: The database, as its owner reaches it.
            before: The file that was used before there was a witness.
        """
        shown = make_url(url)
        self.name = f"the witness {shown.set(password=None).render_as_string()}"
        # Not as one text: its errors would show the password.
        self._address = shown.translate_connect_args(username="user", database="dbname")
        self._address |= shown.query
        self._before = before

    def read(self) -> Signed | None:
        """See `Note`; what the file says that was used before, as long as there is no row."""
        with self._asked() as connection:
            ((made,),) = connection.execute("SELECT to_regclass(%s)", (self._TABLE,)).fetchall()
            row = made and connection.execute(f"SELECT note FROM {self._TABLE}").fetchone()
        return _read(row[0].encode(), self.name) if row else self._before.read()

    def begin(self, signed: Signed) -> bool:
        """See `Note`."""
        return self._put(signed, "DO NOTHING")

    def replace(self, old: Signed | None, new: Signed) -> bool:
        """See `Note`."""
        if old is None:
            return self.begin(new)
        return self._put(new, f"{_INSTEAD} WHERE w.note = %s", _written(old).decode())

    def write(self, signed: Signed) -> None:
        """See `Note`."""
        self._put(signed, _INSTEAD)

    def _put(self, signed: Signed, rest: str, *values: str) -> bool:
        with self._asked() as connection:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self._TABLE} "
                "(one boolean PRIMARY KEY DEFAULT true CHECK (one), note text NOT NULL)"
            )
            done = connection.execute(
                f"INSERT INTO {self._TABLE} AS w (note) VALUES (%s) ON CONFLICT (one) {rest}",
                (_written(signed).decode(), *values),
            )
            return bool(done.rowcount)

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        import psycopg

        try:
            with psycopg.connect(
                **{"connect_timeout": 10, **self._address}, autocommit=True
            ) as connection:
                yield connection
        except psycopg.Error as error:
            raise LedgerError(
                f"{self.name} can't be asked what was signed last: {error}; entries wait for the "
                "signed log until it can"
            ) from error


_INSTEAD = "DO UPDATE SET note = excluded.note"


def _read(text: bytes, name: str) -> Signed:
    try:
        note = _Note.model_validate_json(text)
    except ValidationError as error:
        raise LedgerError(
            f"{name} does not tell what was signed last: it was changed or damaged; restore a "
            "copy of it, or look at the ledger and say `vladder ledger accept-restore`"
        ) from error
    before, last = (Tree(t.size, bytes.fromhex(t.root)) for t in (note.before, note.signed))
    return Signed(note.origin, before, last)


def _written(signed: Signed) -> bytes:
    before, last = (_Size(size=t.size, root=t.root.hex()) for t in signed[1:])
    return _Note(origin=signed.origin, before=before, signed=last).model_dump_json().encode()


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
