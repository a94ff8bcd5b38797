"""Access: which requests reach a route."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, HTTPException, Request, Security
from fastapi.security import HTTPBearer
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from verifier_ladder.arguments import whole_number
from verifier_ladder.errors import LadderError
from verifier_ladder.server import tokens
from verifier_ladder.server.admission import Admission, BusyError
from verifier_ladder.server.limits import Limits
from verifier_ladder.server.problems import problem
from verifier_ladder.server.shares import Shares

if TYPE_CHECKING:
    from verifier_ladder.server.service import RewardService

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_CALLER = "verifier_ladder.caller"
_BODY = "verifier_ladder.body"
CONNECTION = "verifier_ladder.connection"
"""Where a request's scope holds what is called once its sender is known."""
_WITHOUT_TOKENS: tuple[tokens.Scope, ...] = ("score", "read")
"""What anybody may do who reaches a server that asks for no tokens; an answer is truth that
rewards are paid by."""
_STRANGERS_BODY = 2**18
"""Bytes of a body whose sender is known by it alone: a webhook's, which holds one result."""
_STRANGERS = 2**24
"""Bytes of all such bodies."""
_PATIENCE = 20.0
"""Seconds for which a body may stand still, on the whole."""
_SLOWEST = 2**15
"""Bytes in a second by which it must come beyond that."""
_LENGTH = b"content-length"
_bearer = HTTPBearer(
    auto_error=False, description="A token of `vladder token add`; also as password of Basic."
)


def needs(scope: tokens.Scope) -> Any:
    """A dependency of routes: the caller's token must have a scope, once there are tokens."""

    async def check(request: Request, _: Annotated[Any, Security(_bearer)]) -> None:
        allow(request, scope)
        await keep_blind(request, scope)

    return Depends(check)


async def keep_blind(request: Request, scope: tokens.Scope) -> None:
    """Refuse what tells of candidates to somebody who reads a case blind.

    All that may be read of a ledger needs the scope `read`, and passes here.

    Raises:
        HTTPException: If the token opens the review queue too, and its holder has a case there.
        LadderError: If the ledger can't tell.
    """
    token = token_of(request)
    if scope != "read" or token is None or not token.allows("answer"):
        return
    service: RewardService = request.app.state.service
    case = await service.read(token.id, service.reviews.blind, token.name)
    if case is not None:
        raise HTTPException(
            403,
            f"{token.name} holds the case {case.hex()[:16]} and reads it blind, and this may tell "
            "what others said of it: answer it at /review, give it back, or ask there what other "
            "tiers said, which the ledger keeps",
        )


def authorization(request: Request) -> str | None:
    """The token in a request's `Authorization` header."""
    return shown_secret(request.headers.get("authorization"))


def allow(
    request: Request,
    scope: tokens.Scope,
    shown: Callable[[Request], str | None] = authorization,
) -> None:
    """Let a request pass, or refuse it.

    Args:
        request: The request.
        scope: What its token must allow.
        shown: Finds the token in it.

    Raises:
        HTTPException: If there are tokens and the secret is none of them, or has not the scope;
            or if there are none, and the scope is for named callers.
        TokensUnreadableError: If the server can't know, for a caller who shows one.
    """
    known: tokens.TokenFile | None = request.app.state.tokens
    if known is None or not known.is_required:
        if scope not in _WITHOUT_TOKENS and not request.app.state.anyone_may_answer:
            raise _unknown(
                "this server has no tokens, and answers are taken from their holders alone: make "
                f"one with `vladder token add NAME --scope {scope}`, or start it with "
                "--anyone-may-answer"
            )
        let_in(request)
        return
    secret = shown(request)
    token = known.find(secret) if secret else None
    if token is None:
        raise _unknown(
            "this token is not valid" if secret else "send a token: Authorization: Bearer TOKEN"
        )
    admit(request, token, scope)


def admit(request: Request, token: tokens.Token, scope: tokens.Scope) -> None:
    """Let the holder of a token pass, or refuse him.

    Raises:
        HTTPException: If the token has not the scope.
    """
    if not token.allows(scope):
        raise HTTPException(403, f"the token {token.name!r} has not the scope {scope}")
    request.scope[_CALLER] = token
    let_in(request)


def _unknown(why: str) -> HTTPException:
    return HTTPException(401, why, {"WWW-Authenticate": 'Bearer realm="verifier-ladder"'})


def let_in(request: Request) -> None:
    """Say that a request's sender is known: its body and its connection count as a caller's."""
    if _BODY in request.scope:
        request.scope[_BODY](caller_of(request))
    welcome = request.scope.get(CONNECTION)
    if welcome is not None:
        welcome()


def caller_of(request: Request) -> str:
    """Id of the token that a request has shown; empty without one."""
    token = token_of(request)
    return "" if token is None else token.id


async def is_allowed(request: Request, scope: tokens.Scope) -> bool:
    """Whether a request that was let in before would be let in now, such as one for a stream."""
    try:
        allow(request, scope)
        await keep_blind(request, scope)
    except (HTTPException, LadderError):
        return False
    return True


def is_open(request: Request, run: str) -> bool:
    """Whether the caller's token is for a run."""
    token = token_of(request)
    return token is None or token.opens(run)


def check_run(request: Request, run: str) -> None:
    """Refuse a caller whose token is for other runs.

    Raises:
        HTTPException: If it is.
    """
    token = token_of(request)
    if token is not None and not token.opens(run):
        raise HTTPException(
            403,
            f"the token {token.name!r} is for runs that begin with {' or '.join(token.runs)}, "
            f"not for {run!r}; name another run, or get another token",
        )


def token_of(request: Request) -> tokens.Token | None:
    """The token that a request was let in with; None without one."""
    token: tokens.Token | None = request.scope.get(_CALLER)
    return token


def shown_secret(header: str | None) -> str | None:
    """The token in an `Authorization` header: a bearer, or the password of an address.

    Learners that can't send headers take addresses such as `http://x:TOKEN@host:port/slime`.

    Example:
        >>> shown_secret("Bearer abc"), shown_secret("Basic eDphYmM="), shown_secret(None)
        ('abc', 'abc', None)
    """
    scheme, _, rest = (header or "").partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() != "basic":
        return None
    try:
        return b64decode(rest.strip(), validate=True).decode().partition(":")[2]
    except (NotBase64, ValueError):
        return ""


class GuardedApp(FastAPI):
    """An application whose requests are looked at before FastAPI's own layers see them."""

    outermost: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or whatever else a server asks."""
        scope["app"] = self
        await self.outermost(scope, receive, send)

    async def routed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by FastAPI's routes."""
        await super().__call__(scope, receive, send)


class Door:
    """The outermost layer: what is wrong with a request before anybody reads it.

    **Hosts.** A page elsewhere can have its own name point to this machine; so only known names
    are answered. **Origins.** A browser that asks for a page of another site says so, and is
    refused. **Bodies.** All that are not answered yet may hold only so many bytes together, which
    count as they come, not as they are announced; and each must come at some speed. Those of
    senders who are not known yet share a small room of their own.
    """

    def __init__(
        self, app: ASGIApp, *, limits: Limits, admission: Admission,
        hosts: Collection[str] | None, origins: Collection[str] = (), advises: bool = True,
    ) -> None:  # fmt: skip
        """Stand before an application.

        Args:
            app: The application.
            limits: How much may be held.
            admission: Knows when to come again.
            hosts: Names by which the server may be asked, without ports; None for any.
            origins: Sites whose pages may ask, such as `https://lab.example`.
            advises: Whether hosts and origins can be allowed, so that who is refused is told how.
        """
        self._advises = advises
        self._app, self._limits, self._admission = app, limits, admission
        self._hosts = None if hosts is None else {host.lower() for host in hosts}
        self._origins = {origin.rstrip("/").lower() for origin in origins}
        self.bodies = Shares(limits.held)
        """Bytes of bodies that are not answered yet."""
        self.strangers = 0
        """Bytes of those whose senders are not known."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(reversed(scope["headers"]))  # Of one that is there twice, the first.
        refused = self._refusal(headers)
        if refused is not None:
            await refused(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
        else:
            # A client that went away in the midst of its body gets no answer.
            with suppress(ClientDisconnect):
                await self._with_body(headers, scope, receive, send)

    def _refusal(self, headers: Mapping[bytes, bytes]) -> Any:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _length(headers) is None:
            return problem(400, "Content-Length must be a number")
        if self._hosts is not None and _name(host) not in self._hosts:
            return problem(421, f"this server is not {host}{self._advice('--allow-host')}")
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin not in self._origins and _host_of(origin) != host:
            return problem(403, f"pages of {origin} may not ask{self._advice('--allow-origin')}")
        return None

    def _advice(self, option: str) -> str:
        return f"; allow it with {option}" if self._advises else ""

    async def _with_body(
        self, headers: Mapping[bytes, bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        if (_length(headers) or 0) > self.largest:
            await problem(413, _too_large(self.largest))(scope, receive, send)
            return
        body = _Body(self, receive)
        scope[_BODY] = body.let_in
        try:
            await self._app(scope, body.receive, send)
        finally:
            body.leave()

    def hold(self, more: int, caller: str, before: int) -> None:
        """Hold more bytes of a caller's body, of which there are so many already.

        Raises:
            BusyError: If other bodies leave no room.
        """
        if self.held > before and not self.bodies.has_room(caller, more):
            raise BusyError("many large bodies", self._admission.pause())
        self.bodies.take(caller, more)

    def hold_stranger(self, more: int) -> None:
        """Hold more bytes of a body whose sender is not known.

        Raises:
            BusyError: If those of others leave no room.
        """
        if self.strangers + more > _STRANGERS:
            raise BusyError("many bodies of unknown senders", self._admission.pause())
        self.strangers += more

    @property
    def held(self) -> int:
        """Bytes of bodies that are not answered yet."""
        return self.bodies.taken

    @property
    def largest(self) -> int:
        """How many bytes one body may have."""
        return self._limits.body


class _Body:
    """One request's body, as it comes in."""

    __slots__ = ("_begun", "_caller", "_door", "_is_whole", "_receive", "held")

    def __init__(self, door: Door, receive: Receive) -> None:
        self._door, self._receive = door, receive
        self._caller: str | None = None
        self._is_whole = False
        self._begun = 0.0
        self.held = 0

    def let_in(self, caller: str) -> None:
        """Count as a caller's from now on."""
        if self._caller is None:
            self._door.strangers -= self.held
            self._door.bodies.take(caller, self.held)
            self._caller = caller

    def leave(self) -> None:
        """Hold nothing any more."""
        if self._caller is None:
            self._door.strangers -= self.held
        else:
            self._door.bodies.give_back(self._caller, self.held)
        self.held = 0

    async def receive(self) -> Message:
        """Receive the next part, and count it.

        Raises:
            HTTPException: If it is too large, too slow, or there is no room for it.
        """
        if self._is_whole:  # What comes now is that the client has gone.
            return await self._receive()
        now = asyncio.get_running_loop().time()
        self._begun = self._begun or now
        try:
            async with asyncio.timeout_at(self._begun + _PATIENCE + self.held / _SLOWEST):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body came too slowly; send it again") from None
        self._is_whole = not message.get("more_body", False)
        self._hold(len(message.get("body", b"")))
        return message

    def _hold(self, more: int) -> None:
        largest = self._door.largest
        if self._caller is None:
            largest = min(largest, _STRANGERS_BODY)
        if self.held + more > largest:
            raise HTTPException(413, _too_large(largest))
        try:
            if self._caller is None:
                self._door.hold_stranger(more)
            else:
                self._door.hold(more, self._caller, self.held)
        except BusyError as error:  # Only HTTPException passes through the reading of bodies.
            raise HTTPException(429, str(error), {"Retry-After": str(error.pause)}) from None
        self.held += more


def _length(headers: Mapping[bytes, bytes]) -> int | None:
    """How long a body is announced to be, 0 if it isn't; None if that is no number."""
    return whole_number(headers.get(_LENGTH, b"0").decode("latin-1"))


def _too_large(largest: int) -> str:
    return f"a body may have {largest} bytes; send less"


def _host_of(origin: str) -> str | None:
    """The host and port of an origin; None if it has none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:  # Such as that of `http://[`.
        return None


def _name(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
