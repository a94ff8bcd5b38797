"""Tokens: who may ask a server for what, kept as hashes in a file."""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from time import monotonic, time
from typing import Literal, NamedTuple, get_args

import orjson
from pydantic import TypeAdapter, ValidationError

from verifier_ladder.errors import ConfigError, EngineError
from verifier_ladder.private import make_private_folder, write_private
from verifier_ladder.run import Run, trained_name
from verifier_ladder.text import printable

Scope = Literal["score", "read", "answer", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_OF_RUNS: tuple[Scope, ...] = ("score", "read")
"""What a token for some runs may do; an answer counts for every run that waits for it."""
_MARK = "vladder"
_EVERY = 1.0
"""Seconds between two looks at the file."""
_LARGEST = 2**23
"""Bytes of the file: some 20,000 tokens."""
_LOG = logging.getLogger("verifier_ladder")


class TokensUnreadableError(EngineError):
    """A server's tokens can't be read, so nobody is let in; its log says why."""

    def __init__(self) -> None:
        """Tell a caller, who may be anybody, nothing of files."""
        super().__init__("the server can't read its tokens; its log says why; ask again")


class Token(NamedTuple):
    """What is kept of a token: never the token itself."""

    id: str
    name: str
    digest: str
    """SHA-256 of the whole token; its secret is 32 random bytes, so that no salt is needed."""
    scopes: tuple[str, ...]
    made_at: float
    ends_at: float | None = None
    """Seconds since 1970; None if it never ends."""
    revoked_at: float | None = None
    runs: tuple[str, ...] = ()
    """What the names of its runs begin with; empty for all runs."""

    def is_valid(self, now: float) -> bool:
        """Whether it opens anything now."""
        return self.revoked_at is None and (self.ends_at is None or now < self.ends_at)

    def allows(self, scope: str) -> bool:
        """Whether it was given a scope; admin has all that a token for its runs can have."""
        if self.runs and scope not in _OF_RUNS:
            return False
        return scope in self.scopes or "admin" in self.scopes

    def opens(self, run: str) -> bool:
        """Whether it is for a run; an evaluation belongs to the run that it evaluates.

        Example:
            >>> token = Token("", "", "", ("score",), 0.0, runs=("blue/",))
            >>> token.opens("blue/7/eval"), token.opens("green"), token.opens("blue/eval")
            (True, False, False)
        """
        return not self.runs or trained_name(run).startswith(self.runs)


_ROWS = TypeAdapter(dict[Literal["tokens"], list[Token]])


class TokenFile:
    """The tokens of a server, in a file that only its owner can read.

    A running server sees a change of the file within a second, so a revoked token ends then.
    Once there was a file, tokens are required for as long as the server runs: while it is gone
    or damaged nobody is let in.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     tokens = TokenFile(Path(folder) / "tokens")
        ...     secret = tokens.add("trainer", ["score"])
        ...     found = tokens.find(secret)
        >>> found.name, found.allows("read")
        ('trainer', False)
    """

    def __init__(self, path: Path) -> None:
        """Name the file; it need not be there.

        Raises:
            ConfigError: If it can't be read.
        """
        self.path = path
        self.is_seen = False
        """Whether there ever was a file."""
        self._stamp: tuple[int, ...] | None = None
        self._looked = float("-inf")
        self._tokens: dict[str, Token] = {}
        self._fault = ""
        """Why the tokens are not known."""
        self._look()
        if self._fault:
            raise ConfigError(self._fault)

    @property
    def is_required(self) -> bool:
        """Whether callers must show a token; once they must, no change of the file undoes it."""
        self._refresh()
        return self.is_seen

    def tokens(self) -> list[Token]:
        """All tokens, oldest first, with those that are over.

        Raises:
            ConfigError: If the file can't be read.
        """
        self._refresh()
        if self._fault:
            raise ConfigError(self._fault)
        return list(self._tokens.values())

    def find(self, secret: str) -> Token | None:
        """The valid token that this is, or None.

        Raises:
            TokensUnreadableError: If the file can't be read.
        """
        self._refresh()
        if self._fault:
            raise TokensUnreadableError
        mark, _, rest = secret.partition("_")
        token = self._tokens.get(rest.partition("_")[0]) if mark == _MARK else None
        is_same = compare_digest(_digest(secret), token.digest if token else _digest(""))
        return token if token is not None and is_same and token.is_valid(time()) else None

    def current(self, token: Token) -> Token | None:
        """A token that was found before, as it is now; None if it is valid no more.

        Raises:
            TokensUnreadableError: If the file can't be read.
        """
        self._refresh()
        if self._fault:
            raise TokensUnreadableError
        found = self._tokens.get(token.id)
        if found is None or found.digest != token.digest or not found.is_valid(time()):
            return None
        return found

    def add(
        self, name: str, scopes: Sequence[str], lifetime: float | None = None,
        runs: Sequence[str] = (),
    ) -> str:  # fmt: skip
        """Make a token; the text that is returned is shown once and kept nowhere.

        Args:
            name: Whose it is.
            scopes: What it opens: some of score, read, answer, admin.
            lifetime: Seconds until it ends; None for ever.
            runs: What the names of the runs begin with that it is for; none for all runs.

        Raises:
            ConfigError: If a scope is unknown or can't be had for some runs, no run can be called
                so, a valid token has this name, or it can't be shown.
        """
        if not name.strip() or printable(name) != name:
            raise ConfigError(
                f"a token can't be called {printable(name)!r}; use up to 200 letters or signs"
            )
        unknown = sorted(set(scopes) - set(SCOPES))
        if unknown or not scopes:
            raise ConfigError(
                f"no scope is called {unknown[0]!r}; there is {', '.join(SCOPES)}"
                if unknown else f"a token needs a scope: {', '.join(SCOPES)}"
            )  # fmt: skip
        _check_runs(runs, scopes)
        now = time()
        if any(t.name == name and t.is_valid(now) for t in self.tokens()):
            raise ConfigError(f"a token can't be called {name!r}; the name is taken")
        identity = secrets.token_hex(4)
        secret = f"{_MARK}_{identity}_{secrets.token_urlsafe(32)}"
        ends = None if lifetime is None else now + lifetime
        self._write([
            *self._tokens.values(),
            Token(
                identity, name, _digest(secret), tuple(dict.fromkeys(scopes)), now, ends,
                runs=tuple(dict.fromkeys(runs)),
            ),
        ])  # fmt: skip
        return secret

    def revoke(self, name: str) -> Token:
        """End a token, by its name or id.

        Raises:
            ConfigError: If no valid token is called so.
        """
        now = time()
        found = [t for t in self.tokens() if name in (t.name, t.id) and t.is_valid(now)]
        if not found:
            known = ", ".join(t.name for t in self.tokens() if t.is_valid(now)) or "none"
            raise ConfigError(f"no valid token is called {name!r}; valid are: {known}")
        ended = found[0]._replace(revoked_at=now)
        self._write([ended if t.id == ended.id else t for t in self._tokens.values()])
        return ended

    def _write(self, tokens: Sequence[Token]) -> None:
        body = orjson.dumps({"tokens": [t._asdict() for t in tokens]}, option=orjson.OPT_INDENT_2)
        if len(body) > _LARGEST:
            raise ConfigError(
                f"{self.path} would have more than {_LARGEST} bytes; name another file with "
                "VLADDER_TOKENS"
            )
        try:
            make_private_folder(self.path.parent)
            write_private(self.path, body)
        except OSError as error:
            raise ConfigError(
                f"the tokens can't be written to {self.path}: {error}; name another file with "
                "VLADDER_TOKENS"
            ) from error
        self._looked = float("-inf")
        self._refresh()

    def _refresh(self) -> None:
        """Read the file if it has changed, at most once a second; say so if it can't be read."""
        if monotonic() - self._looked < _EVERY:
            return
        before = self._fault
        self._look()
        if self._fault not in ("", before):
            _LOG.error("nobody is let in: %s", self._fault)

    def _look(self) -> None:
        self._looked = monotonic()
        try:
            state = self.path.stat()
            self.is_seen = True
            stamp = (state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_size)
            if stamp != self._stamp or self._fault:
                self._tokens = {token.id: token for token in _read(self.path)}
                self._stamp, self._fault = stamp, ""
        except FileNotFoundError as error:
            if self.is_seen:
                self._fail(error)
        except (OSError, ValueError) as error:
            self.is_seen = True
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Know no tokens until the file can be read."""
        self._tokens = {}
        self._fault = (
            f"{self.path} can't be read as a file of tokens: {error}; restore it, or move it away "
            "and make new tokens with `vladder token add`"
        )


def _check_runs(runs: Sequence[str], scopes: Sequence[str]) -> None:
    """Refuse to bind a token to runs that there can't be, or a scope that knows no runs."""
    for prefix in runs:
        Run(prefix)  # A run could be called as its name begins.
    boundless = [scope for scope in scopes if scope not in _OF_RUNS]
    if runs and boundless:
        raise ConfigError(
            f"the scope {boundless[0]} can't be bound to runs, for an answer to a case counts for "
            "every run that waits for it; make one token with --run, and another without"
        )


def _read(path: Path) -> list[Token]:
    """Read a file.

    Raises:
        OSError: If that fails.
        ValueError: If it is damaged.
    """
    try:
        read = _ROWS.validate_json(_content(path), strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from None
    if "tokens" not in read:
        raise ValueError("it holds no tokens")
    return read["tokens"]


def _content(path: Path) -> bytes:
    """Read a regular file of bounded size: nothing else is waited for, as a pipe would be."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST} bytes")
    return content


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def token_file(ledger: str) -> Path:
    """Where the tokens of a ledger's server lie: as the settings say, or beside the ledger.

    Args:
        ledger: Its URL.
    """
    from verifier_ladder.ledger.signer import key_file
    from verifier_ladder.settings import load_settings

    given = load_settings().tokens
    return given.expanduser() if given is not None else key_file(ledger).with_suffix(".tokens")
