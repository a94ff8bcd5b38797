"""NeMo-Gym: the check of a resource server, over HTTP, as a verifier of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import AsyncVerifier
from verifier_ladder.candidate import Candidate, ToolCall, Turn
from verifier_ladder.command import set_attributes
from verifier_ladder.errors import ToolError
from verifier_ladder.httpservice import HttpService, secrets_with
from verifier_ladder.signature import MESSAGES
from verifier_ladder.verdict import MOST_SCORES, Verdict, score_name

_WORDS = ("failure_kind", "failure_reason")


class NemoGymVerifier(AsyncVerifier):
    """A resource server of NeMo-Gym, asked with `POST /verify`.

    The task is a row of the environment's dataset: `responses_create_params`, or the `prompt` from
    which these are made, and the further fields that the server reads. The completion becomes the
    `response`: its text, its chat messages, or its turns with the calls of tools.

    Its score is `reward`; those `reward_components` that are numbers become `scores`. **A masked
    sample is unknown**, never its reward of 0: `mask_sample` says that the environment failed, not
    the model. So is silence, an error status, and an answer without a reward.

    Nothing is seeded: it is for servers whose `/verify` needs no session.

    Example:
        >>> NemoGymVerifier(
        ...     name="sums", version="1", url="http://127.0.0.1:8000", tier="simulation")
        <verifier sums 1 (simulation)>
    """

    task_fields: Sequence[str] | None = None
    """All, for nobody sees what the server reads; name those that it needs to share verdicts."""
    reads_turns = True

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
        """Describe the server; it is asked with the first candidate.

        Args:
            name: Name of the verifier.
            version: Raise it when results may change.
            url: Its address, to which `/verify` is added.
            headers: Sent with each request; a `$NAME` is read from the environment.
            retries: How often a busy server is asked again.
            settings: What affects results, as part of the check key.
            attributes: Any attribute of `Verifier`, such as `tier`, `kind` or `timeout`.

        Raises:
            ConfigError: If the address is not HTTP, it or a header holds a secret that is written
                out, or an attribute is unknown.
        """
        self.name, self.version = name, version
        set_attributes(self, attributes)
        self.secrets = secrets_with(self, headers)
        super().__init__(**(settings or {}))
        self._service = HttpService(
            url.rstrip("/"), headers=headers, timeout=self.timeout, retries=retries
        )

    def _depends_on(self) -> object:
        return None

    def patience(self, count: int) -> float:
        """Seconds that the engine waits without progress: each call watches its own time."""
        return super().patience(count) * (self._service.retries + 2)

    async def verify_one(self, candidate: Candidate) -> Verdict:
        """Ask about one completion."""
        answer = await self._service.post_json(_row(candidate), "/verify")
        if not isinstance(answer, dict):
            raise ToolError(f"{self._service.url} answered a {type(answer).__name__}, no object")
        told = {name: answer[name] for name in _WORDS if answer.get(name)}
        config = answer.get("instance_config")
        # NeMo-RL has read the mask there before it was a field of its own.
        if answer.get("mask_sample") or (isinstance(config, dict) and config.get("mask_sample")):
            why = told.get("failure_reason") or told.get("failure_kind") or "it does not say why"
            return Verdict.abstain(
                f"{self._service.url} masks the sample: {why}", failed_at="tool", evidence=told
            )
        reward = answer.get("reward")
        if isinstance(reward, bool) or not isinstance(reward, (int, float)):
            raise ToolError(f"{self._service.url} answered without a reward: {reward!r:.100}")
        scores = _scores(answer.get("reward_components"))
        return Verdict.accept(float(reward), scores=scores, evidence=told)


def _scores(parts: Any) -> dict[str, float]:
    """Components of a reward, as many as a verdict holds; one that is no number is not known."""
    scores: dict[str, float] = {}
    for name, part in parts.items() if isinstance(parts, dict) else ():
        if isinstance(part, (int, float)) and len(scores) < MOST_SCORES:
            scores[score_name(name, scores)] = float(part)
    return scores


def _row(candidate: Candidate) -> dict[str, Any]:
    """A candidate as a row of a dataset with the response of the model."""
    task = dict(candidate.task or {})
    messages, prompt = task.pop(MESSAGES, None), task.get("prompt") or ""
    asked = task.pop("responses_create_params", None) or {"input": prompt}
    items = list(_of_messages(messages) if messages else _of_turns(candidate.turns))
    if not messages and (candidate.content or not items):
        items.append(_message(str(candidate.content)))
    for number, item in enumerate(items):
        item.setdefault("id", f"item_{number}")
    response = {
        "id": "response", "object": "response", "created_at": 0, "model": "policy",
        "output": items, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    return {**task, "responses_create_params": asked, "response": response}


def _message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _call(name: str, arguments: Any, call_id: str) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "name": name, "arguments": text, "call_id": call_id}


def _output(call_id: str, text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def _of_turns(turns: Sequence[Turn]) -> Iterator[dict[str, Any]]:
    """Turns as items of the Responses API."""
    for number, turn in enumerate(turns):
        if not isinstance(turn.action, ToolCall):
            yield _message(turn.text)
            continue
        call_id = turn.action.id or f"call_{number}"
        yield _call(turn.action.name, turn.action.arguments, call_id)
        yield _output(call_id, turn.observation)


def _of_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Chat messages of the completion as items of the Responses API."""
    numbers, last = count(), ""
    for message in messages:
        content = message.get("content") or ""
        if message.get("role") == "tool":
            yield _output(str(message.get("tool_call_id") or last), _text(content))
            continue
        if content and message.get("role") == "assistant":
            yield _message(_text(content))
        for call in message.get("tool_calls") or ():
            function = call.get("function") or call
            last = str(call.get("id") or f"call_{next(numbers)}")
            yield _call(str(function.get("name")), function.get("arguments", "{}"), last)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
