"""Verifiers behind an HTTP endpoint: a service that judges batches of candidates."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.command import set_attributes
from verifier_ladder.errors import ConfigError, ToolError, VerifierError
from verifier_ladder.exchange import asked_pause, candidate_message, failed, verdict_from
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    import httpx

LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes that a response may have."""
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_FUSSY = {
    HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY,
}  # fmt: skip
"""What a service answers when it dislikes one candidate of a batch, or its size."""
_FIRST_PAUSE = 0.5
_MARGIN = 5.0


class EndpointVerifier(Verifier):
    """A verifier that is a service speaking JSON over HTTP.

    It gets `POST {"verifier": {"name", "version"}, "candidates": [{"kind", "content", "task",
    "turns"}, …]}` and answers `{"verdicts": […]}` or a bare list: for each candidate a number,
    `true`, `false`, `null`, or an object as in `CommandVerifier`.

    **Failures** are abstentions with `failed_at="tool"`: no connection, silence for `timeout`
    seconds, any status but 200. A busy service (429, 503) is asked again, `retries` times, when
    its `Retry-After` says so, or after pauses that double; all pauses together last no longer
    than `timeout`. When it refuses a batch (400, 413, 422), the batch is halved. Redirects are
    not followed. Verdicts that can't be read abstain with `"verifier"`.

    Neither the address nor the headers are part of the check key: raise `version` when the
    service changes.

    Example:
        >>> judge = EndpointVerifier(
        ...     name="judge", version="1", url="http://127.0.0.1:8000/verify", tier="simulation",
        ...     headers={"Authorization": "$JUDGE_TOKEN"})
        >>> judge
        <verifier judge 1 (simulation)>
    """

    task_fields: Sequence[str] | None = None
    """All, for nobody sees what the service reads; name those that it needs to share verdicts."""

    @checked(name=1, version=1, retries=0)
    def __init__(
        self,
        *,
        name: str,
        version: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        retries: int = 3,
        settings: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        """Describe the service; it is asked with the first batch.

        Args:
            name: Name of the verifier.
            version: Raise it when results may change.
            url: Where it is, `http://…` or `https://…`.
            headers: Sent with each request; a value `$NAME` is read from the environment of the
                worker, so that no secret travels or is recorded.
            retries: How often a busy service is asked again.
            settings: What affects results, as part of the check key.
            attributes: Any attribute of `Verifier`, such as `tier`, `kind` or `timeout`.

        Raises:
            ConfigError: If the address is not HTTP, or an attribute is unknown.
        """
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"url={url!r} of verifier {name}: give http://… or https://…")
        self.name, self.version, self.network = name, version, True
        set_attributes(self, attributes)
        self.url, self.headers, self.retries = url, dict(headers or {}), retries
        super().__init__(**(settings or {}))

    def _depends_on(self) -> object:
        return None

    def patience(self, count: int) -> float:
        """Seconds the engine waits without progress: more than all requests and pauses take."""
        del count
        return self.timeout * (self.retries + 2) + _MARGIN

    def verify(self, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Post the batch and read its verdicts."""
        try:
            status, body = self._ask(self._body(candidates))
        except ToolError as error:
            return [failed(error)] * len(candidates)
        if status in _FUSSY and len(candidates) > 1:
            raise ToolError(f"{self.url} refused the batch with status {status}")
        if status != HTTPStatus.OK:
            shown = body[:200].decode("utf-8", "replace").strip()
            reason = f"{self.url} answered with status {status}: {shown}".rstrip(": ")
            return [failed(ToolError(reason))] * len(candidates)
        try:
            answers = self._answers(body)
        except VerifierError as error:
            return [failed(error)] * len(candidates)
        if len(answers) != len(candidates):
            raise VerifierError(
                f"{self.url} answered {len(answers)} verdicts for {len(candidates)} candidates"
            )
        return [self._read(answer) for answer in answers]

    def _body(self, candidates: Sequence[Candidate]) -> bytes:
        message = {
            "verifier": {"name": self.name, "version": self.version},
            "candidates": [candidate_message(candidate) for candidate in candidates],
        }
        try:
            return json.dumps(message).encode("ascii")
        except (TypeError, ValueError) as error:
            raise ConfigError(f"a candidate's task or turns are not JSON: {error}") from None

    def _ask(self, body: bytes) -> tuple[int, bytes]:
        httpx = _httpx()
        headers = {"Content-Type": "application/json", **self._headers()}
        left, pause = self.timeout, _FIRST_PAUSE
        with httpx.Client(timeout=self.timeout, headers=headers) as client:
            for attempt in range(self.retries + 1):
                try:
                    status, wanted, answer = self._post(client, body)
                except httpx.HTTPError as error:
                    said = f"{error}" or type(error).__name__
                    raise ToolError(f"{self.url} could not be asked: {said}") from None
                wait = pause if wanted is None else wanted
                if status not in _BUSY or attempt == self.retries or wait > left:
                    return status, answer
                time.sleep(wait)
                left, pause = left - wait, pause * 2
        raise AssertionError("the last attempt returns")

    def _post(self, client: httpx.Client, body: bytes) -> tuple[int, float | None, bytes]:
        deadline = time.monotonic() + self.timeout
        with client.stream("POST", self.url, content=body) as response:
            answer = bytearray()
            for chunk in response.iter_bytes():
                answer += chunk
                if len(answer) > LARGEST_ANSWER:
                    raise ToolError(f"{self.url} answered with more than {LARGEST_ANSWER} bytes")
                if time.monotonic() > deadline:
                    raise ToolError(f"{self.url} was not done in {self.timeout:g} s")
            wanted = asked_pause(response.headers.get("Retry-After"))
            return response.status_code, wanted, bytes(answer)

    def _headers(self) -> dict[str, str]:
        missing = [
            v[1:] for v in self.headers.values() if v[:1] == "$" and v[1:] not in os.environ
        ]
        if missing:
            raise ToolError(
                f"{self.url} can't be asked: set {', '.join(missing)} in the environment"
            )
        return {
            key: os.environ[value[1:]] if value.startswith("$") else value
            for key, value in self.headers.items()
        }

    def _answers(self, body: bytes) -> list[Any]:
        shown = body[:100].decode("utf-8", "replace")
        try:
            message = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise VerifierError(f"{self.url} answered {shown!r}, not JSON") from None
        answers = message.get("verdicts") if isinstance(message, dict) else message
        if not isinstance(answers, list):
            raise VerifierError(f"{self.url} answered {shown!r}, no list of verdicts")
        return answers

    def _read(self, answer: Any) -> Verdict:
        try:
            return verdict_from(answer, unit=self.unit)
        except VerifierError as error:
            return failed(error)


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise ToolError(
            "an endpoint verifier needs httpx; pip install '.[http]' in a clone"
        ) from None
    return httpx
