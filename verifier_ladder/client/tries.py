"""Tries: how often a call is sent, when it is sent again, and what comes of it in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from verifier_ladder.errors import ConfigError, EngineError, LadderError, LedgerError
from verifier_ladder.exchange import asked_pause

ATTEMPTS = 8
"""How often a call is sent before it fails; with pauses that double that is about a minute."""
_BUSY = {429, 502, 503, 504}
_SERVERS_FAULT = 500
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class ServerError(EngineError):
    """The reward server failed, or could not be asked."""


class Tries:
    """The tries of one call: told of every failure, it says how long to wait before the next.

    A server that is busy, starts anew or can't be reached is asked again; what would fail again
    is not sent again.

    Example:
        >>> tries = Tries("http://x", attempts=2)
        >>> tries.heard(503, b'{"detail": "busy"}', None), tries.heard(200, b"{}", None)
        (0.5, None)
        >>> tries.answer
        {}
    """

    answer: Any
    """What the server said, decoded; there once `heard` gave None."""

    def __init__(self, url: str, attempts: int = ATTEMPTS) -> None:
        """Begin.

        Args:
            url: The server's address, for messages.
            attempts: How often the call may be sent.
        """
        self._url, self._left, self._failures = url, attempts, 0

    def missed(self, error: Exception) -> float:
        """Seconds to wait, after the server could not be reached.

        Raises:
            ServerError: If that was the last try.
        """
        if not self._may_go_on():
            raise ServerError(f"{self._url} could not be asked: {error!r}")
        return pause(self._failures - 1, None)

    def heard(self, status: int, body: bytes, retry_after: str | None) -> float | None:
        """Seconds to wait, after the server has answered; None if that is the answer.

        Raises:
            ConfigError: If the server refused what was asked.
            LedgerError: If the server's ledger failed, at the last try.
            ServerError: If the server failed otherwise, or that was the last try.
        """
        if status in _BUSY and self._may_go_on():
            return pause(self._failures - 1, retry_after)
        self.answer = _read(status, body)
        return None

    def _may_go_on(self) -> bool:
        self._left, self._failures = self._left - 1, self._failures + 1
        return self._left > 0


def pause(attempt: int, retry_after: str | None) -> float:
    """Seconds to wait before a call is sent again.

    Args:
        attempt: 0 after the first one.
        retry_after: The header of this name.

    Example:
        >>> pause(0, "3"), pause(2, None)
        (3.0, 2.0)
    """
    wanted = asked_pause(retry_after)
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt if wanted is None else wanted)


def _read(status: int, body: bytes) -> Any:
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        message = None
    if status < 300 and message is not None:  # noqa: PLR2004 - the statuses of success
        return message
    raise _error_of(status, message, body)


def _error_of(status: int, message: Any, body: bytes) -> LadderError:
    """The error that an answer stands for."""
    is_ours = isinstance(message, Mapping) and "detail" in message
    said = str(message["detail"]) if is_ours else body[:200].decode("utf-8", "replace")
    if status >= _SERVERS_FAULT or status in _BUSY:
        kind = LedgerError if "ledger" in said else ServerError
        return kind(f"the reward server answered {status}: {said}")
    return ConfigError(f"the reward server refused with {status}: {said}")
