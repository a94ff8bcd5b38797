"""Delivery: an alert goes to a webhook, or to a program's standard input."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import time

import orjson

from verifier_ladder.alerts.causes import Cause
from verifier_ladder.alerts.rules import AlertRules
from verifier_ladder.errors import ConfigError, ToolError

_PATIENCE = 15.0
"""Seconds that a receiver has."""
_GOOD = range(200, 300)
Deliver = Callable[[Cause], None]
"""Delivers an alert, or raises `ToolError`."""


class SilentError(ToolError):
    """A receiver took too long: it would do so for every other alert too."""


def receivers(rules: AlertRules) -> Iterator[tuple[str, Deliver]]:
    """Everybody who is told, by name.

    Raises:
        ConfigError: If a package is missing, or the secret is no key.
    """
    if rules.webhook:
        yield "webhook", _webhook(rules)
    if rules.command:
        yield "command", lambda cause: _run(rules.command, cause)


def _webhook(rules: AlertRules) -> Deliver:
    from verifier_ladder.server.webhooks.receiver import status_of
    from verifier_ladder.server.webhooks.signing import key_of

    try:
        import httpx
    except ImportError:
        raise ConfigError(
            "alerts by webhook need httpx: pip install '.[http]' in a clone"
        ) from None
    key = key_of(rules.secret) if rules.secret else None

    async def post(body: bytes, headers: dict[str, str]) -> int:
        # A redirect is not followed: nobody vetted where it leads.
        async with httpx.AsyncClient(timeout=_PATIENCE) as client:
            request = client.build_request("POST", rules.webhook, content=body, headers=headers)
            return await status_of(client, request, _PATIENCE)

    def deliver(cause: Cause) -> None:
        body = orjson.dumps(cause.as_json())
        headers = {"content-type": "application/json", **_headers(key, cause, body)}
        try:
            # A thread of its own: a notebook, or an async trainer, has an event loop in this one.
            with ThreadPoolExecutor(1) as thread:
                status = thread.submit(lambda: asyncio.run(post(body, headers))).result()
        except (TimeoutError, httpx.TimeoutException) as error:
            raise SilentError(f"the webhook gave no answer in {_PATIENCE:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise ToolError(f"the webhook can't be reached: {error}") from error
        if status not in _GOOD:
            raise ToolError(f"the webhook answered {status}")

    return deliver


def _headers(key: bytes | None, cause: Cause, body: bytes) -> dict[str, str]:
    """The same id for every repetition, so that the receiver can leave out those it has."""
    from verifier_ladder.server.webhooks.signing import ID, TIME, signed

    identity, now = hashlib.sha256(cause.name.encode()).hexdigest()[:32], int(time())
    if key is None:
        return {ID: identity, TIME: str(now)}
    return signed(key, identity, now, body)


def _run(command: tuple[str, ...], cause: Cause) -> None:
    """Run a program; no shell reads anything, and the alert is on its standard input only."""
    try:
        done = subprocess.run(  # noqa: S603 - whoever wrote the settings chose it
            command, input=orjson.dumps(cause.as_json()), capture_output=True, check=False,
            timeout=_PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise SilentError(f"{command[0]} did not end in {_PATIENCE:g} s") from error
    except OSError as error:
        raise ToolError(f"{command[0]} could not be run: {error}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise ToolError(f"{command[0]} ended with {done.returncode}: {said}")
