"""Verifiers behind an HTTP endpoint: a service that judges batches of candidates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import wait_for
from verifier_ladder.candidate import Candidate
from verifier_ladder.command import set_attributes
from verifier_ladder.errors import ConfigError, ToolError, VerifierError
from verifier_ladder.exchange import candidate_message, failed, verdict_from
from verifier_ladder.httpservice import HttpService, secrets_with
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_FUSSY = {
    HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY,
}  # fmt: skip
"""What a service answers when it dislikes one candidate of a batch, or its size."""
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
            headers: Sent with each request. A `$NAME` that is a value, or its last word, is one of
                its `secrets` without being declared.
            retries: How often a busy service is asked again.
            settings: What affects results, as part of the check key.
            attributes: Any attribute of `Verifier`, such as `tier`, `kind` or `timeout`.

        Raises:
            ConfigError: If the address is not HTTP, it or a header holds a secret that is written
                out, or an attribute is unknown.
        """
        self.name, self.version, self.network = name, version, True
        set_attributes(self, attributes)
        self.secrets = secrets_with(self, headers)
        super().__init__(**(settings or {}))
        self.url = url
        self.service = HttpService(url, headers=headers, timeout=self.timeout, retries=retries)

    def _depends_on(self) -> object:
        return None

    def patience(self, count: int) -> float:
        """Seconds the engine waits without progress: more than all requests and pauses take."""
        del count
        return self.timeout * (self.service.retries + 2) + _MARGIN

    def verify(self, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Post the batch and read its verdicts."""
        try:
            status, body = wait_for(self.service.post(self._body(candidates), within=self.timeout))
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
