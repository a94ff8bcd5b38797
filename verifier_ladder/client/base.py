"""The base of both clients: where the server is, who asks, how long and how often."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from verifier_ladder.arguments import checked_url, checked_value, public_name
from verifier_ladder.client.tries import ATTEMPTS, Tries
from verifier_ladder.client.wire import Call, Question
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError


class BaseClient(ABC):
    """**Abstract:** all of a client but its way of waiting.

    **Failures.** A server that is busy, starts anew or can't be reached is asked again, when it
    says so or after pauses that double. Calls carry a key of their own, so a call that was
    answered and whose answer got lost is not done twice.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        attempts: int = ATTEMPTS,
        timeout: float | str = 60.0,
    ) -> None:
        """Name the server; the first call asks it.

        Args:
            url: Where it is, such as `http://127.0.0.1:8420`.
            token: A token of `vladder token add`; cases and answers need one, and everything
                where the server has any.
            attempts: How often a call is sent before it fails.
            timeout: Seconds that an answer may take beyond the call's own deadline.

        Raises:
            ConfigError: If httpx is not installed, or an argument makes no sense.
        """
        what = f"{public_name(type(self))}(...)"
        checked_value(what, "url", url, "str", 1)
        checked_value(what, "token", token, "str | None", 1)
        checked_value(what, "attempts", attempts, "int", 1)
        checked_url("url", url)
        self.alarms: dict[str, float] | None = None
        """Alarms for a learner's metrics, such as `gaming_alarms`, as the last `score` told."""
        self.url = url.rstrip("/")
        self._attempts, self._timeout = attempts, seconds(timeout)
        self._httpx = _httpx()
        self._http = self._connect(
            base_url=self.url, headers=_headers(token), timeout=self._timeout
        )

    @abstractmethod
    def _connect(self, **options: Any) -> Any:
        """The client of httpx."""

    def _tries(self) -> Tries:
        return Tries(self.url, self._attempts)

    def _request(self, question: Question[Any]) -> dict[str, Any]:
        """What httpx takes to send a question."""
        patience = self._timeout + question.patience
        return {**_sent(question.call), "timeout": patience}

    def _stream(self, call: Call) -> dict[str, Any]:
        """What httpx takes to open a stream."""
        # The server says something every 15 seconds.
        return {**_sent(call), "timeout": self._httpx.Timeout(self._timeout)}


def _sent(call: Call) -> dict[str, Any]:
    return {
        "method": call.method, "url": call.path, "content": call.body,
        "headers": dict(call.headers),
    }  # fmt: skip


def _httpx() -> Any:
    """The library that both clients stand on."""
    try:
        import httpx
    except ImportError:
        raise ConfigError("a client needs httpx; pip install '.[http]' in a clone") from None
    return httpx


def _headers(token: str | None) -> dict[str, str]:
    """What every request says."""
    if token is not None and not (token.isascii() and token.isprintable()):
        raise ConfigError("this is no token; give the text that `vladder token add` printed")
    return {} if token is None else {"Authorization": f"Bearer {token}"}
