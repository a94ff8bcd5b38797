"""The wire: calls and answers of a reward server as JSON, the same for both clients."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import uuid4

import orjson

from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError, EngineError, LadderError, LedgerError
from verifier_ladder.reward import Revision, Reward
from verifier_ladder.tier import Tier

Given = Sample | Candidate | str | bytes
_TIERS: dict[str | None, Tier | None] = {None: None, **{tier.label: tier for tier in Tier}}
_parts = itemgetter(*Reward._fields)
ATTEMPTS = 8
"""How often a call is sent before it fails; with pauses that double that is about a minute."""
_BUSY = {429, 502, 503, 504}
_SERVERS_FAULT = 500
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class ServerError(EngineError):
    """The reward server failed, or could not be asked."""


class Call(NamedTuple):
    """One request, the same however often it is sent."""

    method: str
    path: str
    body: bytes | None
    headers: dict[str, str]


def score_call(
    samples: Sequence[Given], *, step: int | None, groups: Sequence[str] | None,
    run: str | None, learner_version: str, deadline: float | str | None, key: str | None,
) -> Call:  # fmt: skip
    """The call that scores samples.

    Raises:
        ConfigError: If they belong to more than one run and step, or are not JSON.
    """
    if isinstance(samples, (str, bytes, Mapping, Candidate, Sample)):
        raise ConfigError(f"score takes a list of candidates, not one {type(samples).__name__}")
    run, step = _place(samples, run, step)
    message = {
        "samples": [given if isinstance(given, str) else _message(given) for given in samples],
        "run": run or "", "learner_version": learner_version,
        "step": step, "groups": None if groups is None else list(groups),
        "deadline": None if deadline is None else seconds(deadline),
    }  # fmt: skip
    try:
        body = orjson.dumps(message)
    except TypeError as error:
        raise ConfigError(f"a sample can't be sent as JSON: {error}") from None
    headers = {"Content-Type": "application/json", "Idempotency-Key": key or uuid4().hex}
    return Call("POST", "/v1/score", body, headers)


def revisions_call(after: int, limit: int) -> Call:
    """The call that reads a page of revisions."""
    return Call("GET", f"/v1/rewards?after={after}&limit={limit}", None, {})


def stream_headers(after: int) -> dict[str, str]:
    """What asks for a stream of revisions."""
    return {"Accept": "text/event-stream", "Last-Event-ID": str(after)}


def _place(
    samples: Sequence[Given], run: str | None, step: int | None
) -> tuple[str | None, int | None]:
    """The one run and step of the samples."""
    if set(map(type, samples)) <= {str, bytes, Candidate}:  # The many, quickly.
        return run, step
    runs = {s.run for s in samples if isinstance(s, Sample) and s.run} | ({run} if run else set())
    steps = {s.step for s in samples if isinstance(s, Sample) and s.step >= 0}
    steps |= set() if step is None else {step}
    if len(runs) > 1 or len(steps) > 1:
        raise ConfigError("one call takes samples of one run and step; make a call for each")
    return next(iter(runs), None), next(iter(steps), None)


def _message(given: Sample | Candidate | bytes) -> dict[str, Any]:
    if isinstance(given, bytes):
        return _content(given)
    if isinstance(given, Candidate):
        return _candidate(given)
    message = _candidate(given.candidate)
    if given.position >= 0:
        message["position"] = given.position
    return {
        **message, "group": given.group, "group_size": given.group_size,
        "learner_version": given.learner_version, "weight": given.weight,
    }  # fmt: skip


def _candidate(candidate: Candidate) -> dict[str, Any]:
    message = _content(candidate.content)
    if candidate.task is not None:
        message["task"] = dict(candidate.task)
    if candidate.turns:
        message["turns"] = [
            {"action": t.action, "observation": t.observation,
             "metadata": None if t.metadata is None else dict(t.metadata)}
            for t in candidate.turns
        ]  # fmt: skip
    return message


def _content(content: str | bytes) -> dict[str, Any]:
    if isinstance(content, str):
        return {"content": content}
    return {"content": b64encode(content).decode("ascii"), "encoding": "base64"}


def reward_from(message: Mapping[str, Any]) -> Reward:
    """A reward as the server describes it."""
    value, uncertainty, tier, revision, components, reason, failed_at, pending = _parts(message)
    return Reward(
        value, uncertainty, _TIERS[tier], revision, components, reason, failed_at, pending
    )  # fmt: skip


def revision_from(message: Mapping[str, Any]) -> Revision:
    """A revision as the server describes it."""
    return Revision(**{**message, "reward": reward_from(message["reward"])})


def read(status: int, body: bytes) -> Any:
    """The answer, decoded.

    Raises:
        ConfigError: If the server refused what was asked.
        LedgerError: If the server's ledger failed.
        ServerError: If the server failed otherwise.
    """
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        message = None
    if status < 300 and message is not None:  # noqa: PLR2004 - the statuses of success
        return message
    raise error_of(status, message, body)


def error_of(status: int, message: Any, body: bytes) -> LadderError:
    """The error that an answer stands for."""
    is_ours = isinstance(message, Mapping) and "detail" in message
    said = str(message["detail"]) if is_ours else body[:200].decode("utf-8", "replace")
    if status >= _SERVERS_FAULT or status in _BUSY:
        kind = LedgerError if "ledger" in said else ServerError
        return kind(f"the reward server answered {status}: {said}")
    return ConfigError(f"the reward server refused with {status}: {said}")


def pause(attempt: int, status: int | None, retry_after: str | None) -> float | None:
    """Seconds to wait before a call is sent again; None if that would not help.

    Args:
        attempt: 0 after the first one.
        status: What the server answered; None if it could not be reached.
        retry_after: The header of this name.

    Example:
        >>> pause(0, 429, "3"), pause(2, None, None), pause(0, 422, None)
        (3.0, 2.0, None)
    """
    if status is not None and status not in _BUSY:
        return None
    wanted = _seconds(retry_after)
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt if wanted is None else wanted)


def _seconds(retry_after: str | None) -> float | None:
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


class Events:
    """Puts the lines of a stream of server-sent events together.

    Example:
        >>> events = Events()
        >>> [events.add(line) for line in ("id: 7", "data: {}", "")]
        [None, None, b'{}']
        >>> events.last
        7
    """

    def __init__(self) -> None:
        """Begin without any."""
        self.last: int | None = None
        """Cursor from which to go on."""
        self._data: list[str] = []
        self._id: int | None = None

    def add(self, line: str) -> bytes | None:
        """Take one line; gives the data of an event that it ends."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and line:
            self._data.append(value)
        elif name == "id":
            self._id = int(value)
        elif not line and self._data:
            data, self._data = "\n".join(self._data).encode(), []
            if self._id is not None:
                self.last, self._id = self._id, None
            return data
        return None


def httpx_module() -> Any:
    """The library that both clients stand on.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        import httpx
    except ImportError:
        raise ConfigError("a client needs httpx; pip install 'verifier-ladder[http]'") from None
    return httpx


def headers_of(token: str | None) -> dict[str, str]:
    """What every request says.

    Raises:
        ConfigError: If this can't be a token.
    """
    if token is not None and not (token.isascii() and token.isprintable()):
        raise ConfigError("this is no token; give the text that `vladder token add` printed")
    return {} if token is None else {"Authorization": f"Bearer {token}"}
