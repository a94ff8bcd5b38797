"""Services over HTTP that verifiers ask: again where they are busy, and never for ever."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit
from weakref import finalize

import orjson

from verifier_ladder.arguments import checked, checked_url, shown_address
from verifier_ladder.environment import declared, names_secret
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.exchange import asked_pause
from verifier_ladder.rate import tell_pause

if TYPE_CHECKING:
    import httpx

    from verifier_ladder.verifiers import Verifier

LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes that an answer may have."""
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_FIRST_PAUSE = 0.5
_KEPT_SECONDS = 2.0
"""How long an idle connection is kept: less than services do, so that none is used as it ends."""


class UnreachableError(ToolError):
    """A service can't be reached, or has not answered in time."""


class Reply(NamedTuple):
    """What a service has answered."""

    status: int
    body: bytes


class HttpService:
    """A service that an async verifier asks over HTTP.

    A service that is busy (429, 503) is asked again, `retries` times, when its `Retry-After` says
    so, or after pauses that double; all pauses of a call together last no longer than `timeout`.
    Where its verifier has a `rate`, such a `Retry-After` also puts that off, on all hosts.
    Connections are kept between calls; cookies are not, and redirects are not followed.

    It can be made anywhere and travels to the workers; the connection is made by the first call.

    Example:
        >>> service = HttpService(
        ...     "http://127.0.0.1:8000/v1", headers={"Authorization": "Bearer $JUDGE_TOKEN"})
        >>> service.url
        'http://127.0.0.1:8000/v1'
    """

    @checked(url=1, retries=0)
    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        retries: int = 3,
    ) -> None:
        """Describe the service; nothing is asked yet.

        Args:
            url: Its address, `http://…` or `https://…`.
            headers: Sent with each call. A `$NAME` that is a value, or its last word, is read
                from the environment, where it is if the verifier declares it in `secrets`.
            timeout: Seconds that an answer may take.
            retries: How often a busy service is asked again.

        Raises:
            ConfigError: If the address is not HTTP or holds a secret, a header is not plain ASCII,
                or a number makes no sense.
        """
        _refuse_secrets(checked_url("url", url))
        if timeout <= 0:
            raise ConfigError(f"timeout={timeout!r}: give a number of seconds above 0")
        for name, value in (headers or {}).items():
            if not (_is_plain(name) and _is_plain(value)):
                raise ConfigError(
                    f"header {name!r:.100} and its value must be text in printable ASCII"
                )
        self.url, self.headers = url, dict(headers or {})
        self.timeout, self.retries = timeout, retries
        self._begin()

    def _begin(self) -> None:
        """Know of no connection yet."""
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        finalize(self, _close, self._clients, os.getpid())

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the connections."""
        return {name: value for name, value in vars(self).items() if name != "_clients"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive without connections."""
        vars(self).update(state)
        self._begin()

    async def get(self, path: str = "", within: float | None = None) -> Reply:
        """Ask for what is there, and give whatever the service answers.

        Args:
            path: Follows the address.
            within: Seconds that an answer may take; `timeout` if left out.

        Raises:
            ToolError: As `post`.
        """
        return await self._ask("GET", None, path, within)

    async def post(self, body: bytes, path: str = "", within: float | None = None) -> Reply:
        """Post JSON, and give whatever the service answers.

        Args:
            body: The JSON.
            path: Follows the address.
            within: Seconds that an answer may take; `timeout` if left out.

        Raises:
            ToolError: If the service can't be reached, is silent for too long, or answers with
                more than 16 MiB or packed; or if a header's variable is not set or no header.
        """
        return await self._ask("POST", body, path, within)

    async def _ask(
        self, method: str, body: bytes | None, path: str, within: float | None
    ) -> Reply:
        httpx, limit = _httpx(), self.timeout if within is None else within
        headers = {
            **({} if body is None else {"Content-Type": "application/json"}),
            "Accept-Encoding": "identity",
            **{name: self._filled(value) for name, value in self.headers.items()},
        }
        left, pause = limit, _FIRST_PAUSE
        for attempt in range(self.retries + 1):
            try:
                async with asyncio.timeout(limit):
                    reply, wanted = await self._once(method, body, path, headers)
            except TimeoutError:
                raise UnreachableError(
                    f"{self.url} could not be asked: no answer in {limit:g} s"
                ) from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                said = f"{error}" or type(error).__name__
                raise UnreachableError(f"{self.url} could not be asked: {said}") from None
            if wanted is not None and reply.status in _BUSY:
                tell_pause(wanted)
            wait = pause if wanted is None else wanted
            if reply.status not in _BUSY or attempt == self.retries or wait > left:
                break
            await asyncio.sleep(wait)
            left, pause = left - wait, pause * 2
        return reply

    async def post_json(self, message: Any, path: str = "") -> Any:
        """Post a message as JSON, and give the decoded answer.

        Args:
            message: What JSON can hold.
            path: Follows the address.

        Raises:
            ToolError: As `post`, and if the status is not 2xx or the answer is not JSON.
        """
        # Plain ASCII: half characters, which a tokenizer can emit, are escaped.
        return self.decoded(await self.post(json.dumps(message).encode("ascii"), path))

    def decoded(self, reply: Reply) -> Any:
        """The JSON of a reply.

        Raises:
            ToolError: If its status is not 2xx or it is not JSON.
        """
        status, body = reply
        shown = body[:200].decode("utf-8", "replace").strip()
        if status >= HTTPStatus.MULTIPLE_CHOICES or status < HTTPStatus.OK:
            raise ToolError(f"{self.url} answered with status {status}: {shown}".rstrip(": "))
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            raise ToolError(f"{self.url} answered {shown!r}, not JSON") from None

    async def _once(
        self, method: str, body: bytes | None, path: str, headers: Mapping[str, str]
    ) -> tuple[Reply, float | None]:
        client = self._connected()
        async with client.stream(
            method, self.url + path, content=body, headers=headers
        ) as response:
            packing = response.headers.get("Content-Encoding", "").lower()
            if packing not in {"", "identity"} and response.status_code not in _BUSY:
                raise ToolError(f"{self.url} packs its answers though it was asked not to")
            answer = bytearray()
            async for chunk in response.aiter_raw():
                answer += chunk
                if len(answer) > LARGEST_ANSWER:
                    raise ToolError(f"{self.url} answered with more than {LARGEST_ANSWER} bytes")
            wanted = asked_pause(response.headers.get("Retry-After"))
            return Reply(response.status_code, bytes(answer)), wanted

    def _connected(self) -> httpx.AsyncClient:
        """The client of the running event loop: connections belong to the loop they began in."""
        loop = asyncio.get_running_loop()
        if loop in self._clients:
            return self._clients[loop]
        for ended in [other for other in self._clients if other.is_closed()]:
            self._clients.pop(ended, None)
        httpx = _httpx()
        none = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        limits = httpx.Limits(keepalive_expiry=_KEPT_SECONDS)
        # Time is watched for the whole call, whose limit each caller may choose.
        self._clients[loop] = httpx.AsyncClient(
            timeout=None, cookies=none, limits=limits, verify=_certificates()
        )
        return self._clients[loop]

    def _filled(self, value: str) -> str:
        """A header's value with its variable; no message tells what that holds."""
        if not (name := _variable(value)):
            return value
        before, _, _ = value.rpartition(" ")
        secret = os.environ.get(name, "").strip()
        if not secret or not _is_plain(secret):
            raise ToolError(
                f"{self.url} can't be asked: set {name} in the environment, in printable ASCII, "
                f'and let the verifier declare secrets=["{name}"]'
            )
        return f"{before} {secret}".lstrip()


_DECLARE = (
    'set it in the environment and send a header that names the variable, such as {"Authorization"'
    ': "Bearer $JUDGE_TOKEN"}'
)


def _refuse_secrets(url: str) -> None:
    """Refuse an address with a secret in it, for addresses are kept and shown.

    Raises:
        ConfigError: If there is one.
    """
    # Of a password with a slash in it the rest would be a path; there an @ can be written as %40.
    found = ["a user or a password"] if "@" in url.partition("?")[0] else []
    parts = parse_qsl(urlsplit(url).query)
    found += [f"the secret {name!r:.100}" for name, _ in parts if names_secret(name)]
    if found:
        raise ConfigError(
            f"url={shown_address(url)!r} holds {found[0]}, and addresses are kept and shown: "
            f"{_DECLARE}"
        )


def secrets_with(verifier: Verifier, headers: Mapping[str, str] | None) -> tuple[str, ...]:
    """What a verifier declares as `secrets`, and the variables that its headers are filled with.

    Raises:
        ConfigError: If a header is a secret that is written out.
    """
    for name, value in (headers or {}).items():
        if names_secret(str(name)) and str(value).strip() and not _variable(value):
            raise ConfigError(
                f"verifier {verifier.name}: the header {name!r:.100} is a secret that is written "
                f"out, so nobody could mask it: {_DECLARE}"
            )
    names = filter(None, map(_variable, (headers or {}).values()))
    return (*declared(verifier.name, "secrets", verifier.secrets), *names)


def _variable(value: object) -> str:
    """Name of the variable that a header's value is filled with; "" if there is none."""
    last = str(value).rpartition(" ")[2]
    return last[1:] if last.startswith("$") else ""


def _is_plain(text: object) -> bool:
    """Whether it can be a header, or a header's value."""
    return isinstance(text, str) and text.isascii() and text.isprintable()


def _close(clients: Mapping[asyncio.AbstractEventLoop, httpx.AsyncClient], process: int) -> None:
    """End the connections of a service that nobody asks any more, in the loops they belong to."""
    for loop, client in clients.items():
        if process == os.getpid() and loop.is_running():
            asyncio.run_coroutine_threadsafe(client.aclose(), loop)


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates that are trusted: to read them takes longer than most calls."""
    return _httpx().create_ssl_context()  # type: ignore[no-any-return]


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise ToolError("asking a service needs httpx; pip install '.[http]' in a clone") from None
    return httpx
