"""Signers: the private key that signs a ledger's checkpoints, in a file of its own."""

from __future__ import annotations

import os
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import make_url

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger.offline import Checkpoint, Key, note
from verifier_ladder.ledger.serverurl import server_url
from verifier_ladder.ledger.signed import Note, Signed, SignedRow, signed_file
from verifier_ladder.private import beside, make_private, make_private_folder
from verifier_ladder.settings import load_settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_ED25519 = b"\x01"
_MARK = "PRIVATE+KEY+"
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


class Signer:
    """Signs checkpoints with Ed25519.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from verifier_ladder.ledger.offline import open_checkpoint, root_of
        >>> with TemporaryDirectory() as folder:
        ...     signer = Signer.at(Path(folder) / "ledger.db.key", "example/log")
        >>> signed = signer.sign(Checkpoint("example/log", 0, root_of([])))
        >>> open_checkpoint(signed, [signer.key])[0].size
        0
    """

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        """Take a key."""
        self._private = private
        self.key = Key(name, private.public_key().public_bytes_raw())
        """The public half, by which others check."""

    @classmethod
    def at(cls, path: Path, name: str) -> Signer:
        """Read the key file, or make one that only its owner can read.

        Args:
            path: The file.
            name: What a new key is called.

        Raises:
            LedgerError: If it can't be read or made, or holds no key.
        """
        if not path.exists():
            with _usable(path):
                _make(path, name)
        return cls.read(path)

    @classmethod
    def read(cls, path: Path) -> Signer:
        """Read the key file.

        Raises:
            LedgerError: If it can't be read, or holds no key.
        """
        with _usable(path):
            text = path.read_text("ascii").strip()
        return cls._read(text, path)

    @classmethod
    def _read(cls, text: str, path: Path) -> Signer:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        try:
            name, hint, code = text.removeprefix(_MARK).split("+", 2)
            data = b64decode(code, validate=True)
            signer = cls(name, Ed25519PrivateKey.from_private_bytes(data[1:]))
        except ValueError:
            signer = None
        if signer is None or not text.startswith(_MARK) or signer.key.hint.hex() != hint:
            raise LedgerError(
                f"{path} holds no signing key; move it away, and a new key will be made"
            )
        return signer

    def sign(self, checkpoint: Checkpoint) -> str:
        """The checkpoint as a signed note."""
        text = checkpoint.text()
        return note(text, self.key, self._private.sign(text.encode()))


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Say what to do about a key that can't be read or made."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerError(
            f"the signing key {path} can't be used: {error}; correct its permissions, or name "
            "another file with VLADDER_KEY"
        ) from error


def _make(path: Path, name: str) -> None:
    """Write a new key; if another process is faster, its key stays."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    key = Key(name, private.public_key().public_bytes_raw())
    code = b64encode(_ED25519 + private.private_bytes_raw()).decode()
    make_private_folder(path.parent)
    with beside(path) as part:
        make_private(part)
        part.write_text(f"{_MARK}{name}+{key.hint.hex()}+{code}\n")
        with suppress(FileExistsError):
            os.link(part, path)  # Unlike a rename, it never replaces a key.


def new_origin(url: str) -> str:
    """A name for a ledger's log that no other ledger has."""
    return f"verifier-ladder/{_name(url)}/{secrets.token_hex(4)}"


def _name(url: str) -> str:
    """What a ledger's file or database is called; the rest of a URL may hold a password."""
    last = url.rstrip("/").rpartition("/")[2].partition("?")[0]
    return _ODD.sub("-", last).strip("-.") or "ledger"


class KeyPlace(NamedTuple):
    """Where a ledger's key lies, and what it has signed last."""

    path: Path
    is_beside: bool
    """Whether it lies beside the ledger's file, where its note must lie too."""
    signed: Note
    """What it has signed last."""

    @property
    def must_be_noted(self) -> bool:
        """Whether a key without a note has signed nobody knows what: the note is made first."""
        return self.is_beside and self.path.exists()

    def noted(self) -> Signed | None:
        """What it has signed last; None if that is not known.

        Raises:
            LedgerError: If the note can't be read.
        """
        found = self.signed.read()
        # Another process may be making both just now.
        return self.signed.read() if found is None and self.must_be_noted else found


def key_place(url: str) -> KeyPlace:
    """Where a ledger's signing key lies: as the settings say, or beside the ledger's file.

    A ledger in a database has no place beside it; its key lies in the user's own folder.
    """
    settings = load_settings()
    given, is_file = settings.key, url.startswith("sqlite:///")
    if given is not None:
        path = given.expanduser()
    elif is_file:
        path = Path(f"{url.removeprefix('sqlite:///')}.key")
    else:
        folder = Path("~/.config/verifier-ladder").expanduser()
        path = folder / f"{_name(url)}-{sha256(url.encode()).hexdigest()[:12]}.key"
    file = signed_file(path, url, is_own=given is None)
    signed: Note = file
    if settings.witness is not None and not is_file:
        signed = SignedRow(_witness(settings.witness.get_secret_value(), url), file)
    return KeyPlace(path, is_file and given is None, signed)


def _witness(witness: str, ledger: str) -> str:
    """The witness's address, unless who writes the ledger could change what is noted there.

    Raises:
        ConfigError: If that is so, or it is no address of a PostgreSQL server.
    """
    made = server_url("the URL in VLADDER_WITNESS", witness)
    other = make_url(ledger)
    if (made.host, made.port, made.username) == (other.host, other.port, other.username):
        raise ConfigError(
            f"VLADDER_WITNESS names the ledger's own user {made.username!r}, who could change "
            "what is noted there; give the URL of another one"
        )
    return witness


def key_file(url: str) -> Path:
    """Where a ledger's signing key lies."""
    return key_place(url).path
