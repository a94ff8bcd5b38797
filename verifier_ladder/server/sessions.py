"""Sessions: who has logged in to the pages of a server with a token, and which forms are theirs.

A cookie holds random bytes and nothing else. What they stand for is in the server's memory, under
their hash, so a cookie opens nothing once the server has ended; and nothing opens anything longer
than the token that was shown.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from hashlib import sha256
from time import monotonic
from typing import Any, Final, NamedTuple

from fastapi import Depends, HTTPException, Request, Response

from verifier_ladder.server import tokens
from verifier_ladder.server.access import admit, allow, keep_blind, token_of
from verifier_ladder.server.forms import Form, read_form

IDLE: Final = 3600.0
"""Seconds after which a session ends that nobody uses."""
_MOST: Final = 20
"""Sessions of one token; one more ends the one that was unused for longest."""
_BYTES: Final = 32
_LOGIN: Final = "log in with a token of `vladder token add`, at /login"


class _Session(NamedTuple):
    token: tokens.Token
    used_at: float


class Sessions:
    """Who has logged in.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = tokens.TokenFile(Path(folder) / "tokens")
        ...     sessions = Sessions(file)
        ...     cookie = sessions.begin(file.add("ada", ["answer"]))
        ...     print(sessions.token(cookie).name)
        ...     sessions.end(cookie)
        ...     print(sessions.token(cookie))
        ada
        None
    """

    def __init__(
        self, known: tokens.TokenFile | None, clock: Callable[[], float] = monotonic
    ) -> None:
        """Begin without any.

        Args:
            known: The tokens that open a session; None where there are none.
            clock: Seconds.
        """
        self._known, self._clock = known, clock
        self._key = secrets.token_bytes(_BYTES)
        self._live: dict[bytes, _Session] = {}
        """By the hash of its cookie, the one that was unused for longest first."""

    def begin(self, secret: str) -> str | None:
        """Begin a session with a token; gives what its cookie holds, or None if it is no token.

        Raises:
            TokensUnreadableError: If that can't be known.
        """
        token = self._known.find(secret) if self._known is not None else None
        if token is None:
            return None
        self._make_room(token)
        cookie = secrets.token_urlsafe(_BYTES)
        self._live[_digest(cookie)] = _Session(token, self._clock())
        return cookie

    def _make_room(self, token: tokens.Token) -> None:
        now = self._clock()
        live = list(self._live.items())
        self._live = {key: session for key, session in live if now - session.used_at < IDLE}
        own = [key for key, session in self._live.items() if session.token.id == token.id]
        for key in own[: max(0, len(own) - _MOST + 1)]:
            del self._live[key]

    def token(self, cookie: str, *, is_used: bool = True) -> tokens.Token | None:
        """The token of a session, as it is now; None if there is no session, or it is over.

        Args:
            cookie: What its cookie holds.
            is_used: Whether somebody uses it, and not a page that keeps itself up to date.

        Raises:
            TokensUnreadableError: If that can't be known.
        """
        key, now = _digest(cookie), self._clock()
        session = self._live.get(key)
        if session is None or self._known is None:
            return None
        token = self._known.current(session.token)
        if token is None or now - session.used_at >= IDLE:
            self._live.pop(key, None)  # Pages are made in several threads.
            return None
        if is_used:
            self._live.pop(key, None)
            self._live[key] = _Session(token, now)
        return token

    def end(self, cookie: str) -> None:
        """End a session, if there is one."""
        self._live.pop(_digest(cookie), None)

    def form_token(self, cookie: str) -> str:
        """What a form must hold that comes from whoever has a cookie; no other site knows it."""
        return hmac.new(self._key, cookie.encode("utf-8", "replace"), sha256).hexdigest()

    def is_form_token(self, cookie: str, shown: str) -> bool:
        """Whether a form holds what it must."""
        made = self.form_token(cookie).encode()
        return bool(cookie) and hmac.compare_digest(made, shown.encode("utf-8", "replace"))


def _digest(cookie: str) -> bytes:
    return sha256(cookie.encode("utf-8", "replace")).digest()


# ---- Cookies


def new_cookie() -> str:
    """What a cookie holds of somebody who has not logged in: it only tells whose a form is."""
    return secrets.token_urlsafe(_BYTES)


def cookie_of(request: Request) -> str:
    """What a browser's cookie holds; "" if it sends none."""
    return request.cookies.get(_name(request), "")


def set_cookie(request: Request, response: Response, cookie: str) -> None:
    """Give a browser a cookie that no script reads and no other site's page sends."""
    response.set_cookie(
        _name(request), cookie, path="/", httponly=True, samesite="strict",
        secure=_is_encrypted(request),
    )  # fmt: skip


def delete_cookie(request: Request, response: Response) -> None:
    """Have a browser forget its cookie."""
    response.delete_cookie(
        _name(request), path="/", httponly=True, samesite="strict", secure=_is_encrypted(request)
    )


def _name(request: Request) -> str:
    """Its name: a browser sends the cookies of all ports of a machine to each of them."""
    server = request.scope.get("server") or ("", 0)
    return f"vladder-{server[1] or 0}"


def _is_encrypted(request: Request) -> bool:
    """Whether the browser speaks TLS, to a proxy before us: it says so as it posts a form."""
    return request.headers.get("origin", "").lower().startswith("https:")


# ---- Who may do what


def visits(scope: tokens.Scope) -> Any:
    """A dependency of pages: the visitor's session, or token, must have a scope."""

    async def check(request: Request) -> None:
        allow_visitor(request, scope)
        await keep_blind(request, scope)

    return Depends(check)


def allow_visitor(request: Request, scope: tokens.Scope) -> None:
    """Let somebody see a page or post a form, or refuse him.

    Programs show their token as everywhere.

    Raises:
        HTTPException: If there are tokens, and he has not logged in, his token has not the scope,
            or is for some runs only; or if there are none, and the scope is for named callers.
        TokensUnreadableError: If the server can't know.
    """
    known: tokens.TokenFile | None = request.app.state.tokens
    if known is None or not known.is_required or "authorization" in request.headers:
        allow(request, scope)
    else:
        sessions: Sessions = request.app.state.sessions
        token = sessions.token(cookie_of(request), is_used=_is_used(request))
        if token is None:
            raise HTTPException(401, _LOGIN, {"WWW-Authenticate": 'Bearer realm="pages"'})
        admit(request, token, scope)
    held = token_of(request)
    if held is not None and held.runs:
        raise HTTPException(
            403,
            f"the token {held.name!r} is for some runs, and pages show all of them: make another "
            "one without --run",
        )


def _is_used(request: Request) -> bool:
    """Whether a person asks, and no page that keeps itself up to date."""
    return request.headers.get("sec-fetch-mode", "navigate") == "navigate"


def posts(file: int = 0) -> Any:
    """A dependency of what is posted: the form, if it comes from a page of this server.

    Args:
        file: Bytes that a file may have that comes with it; 0 if none may come.
    """

    async def read(request: Request) -> Form:
        form = await read_form(request, file)
        sessions: Sessions = request.app.state.sessions
        if not sessions.is_form_token(cookie_of(request), form.text("form_token")):
            raise HTTPException(
                403,
                "this form is of no session that goes on: open its page again, and send it from "
                "there",
            )
        return form

    return Depends(read)
