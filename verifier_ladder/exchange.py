"""The exchange with verifiers that run elsewhere: candidates out and verdicts in, as JSON."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import AnswerError, LadderError
from verifier_ladder.verdict import NO_EVIDENCE, Outcome, TurnVerdict, Verdict
from verifier_ladder.verifiers import as_verdict, failure

_TEXTS = ("unit", "reason", "feedback")
_FIELDS = {
    "id", "outcome", "score", "uncertainty", *_TEXTS, "failed_at", "turns", "evidence", "cost",
    "scores", "artifacts",
}  # fmt: skip


def candidate_message(candidate: Candidate) -> dict[str, Any]:
    """A candidate as JSON; bytes are written in base64 and say so in `encoding`.

    Example:
        >>> candidate_message(Candidate("text", "abc", {"answer": 4}))
        {'kind': 'text', 'content': 'abc', 'task': {'answer': 4}, 'turns': []}
    """
    content, encoding = candidate.content, {}
    if isinstance(content, bytes):
        content, encoding = base64.b64encode(content).decode("ascii"), {"encoding": "base64"}
    turns = [turn.as_message() for turn in candidate.turns]
    return {
        "kind": candidate.kind, "content": content, **encoding,
        "task": candidate.task and dict(candidate.task), "turns": turns,
    }  # fmt: skip


def candidate_from(message: Mapping[str, Any]) -> Candidate:
    """Read a candidate that `candidate_message` has written.

    Example:
        >>> candidate_from({"kind": "text", "content": "YWJj", "encoding": "base64"}).content
        b'abc'
    """
    content = message["content"]
    if message.get("encoding") == "base64":
        content = base64.b64decode(content)
    turns = tuple(map(Turn.from_message, message.get("turns") or ()))
    return Candidate(message["kind"], content, message.get("task"), turns)


def verdict_message(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON, as `verdict_from` reads it.

    Example:
        >>> verdict_from(verdict_message(Verdict.accept(2.0, unit="eV"))).unit
        'eV'
    """
    plain = dataclasses.replace(
        verdict, evidence=dict(verdict.evidence), scores=dict(verdict.scores),
        artifacts=NO_EVIDENCE,
    )  # fmt: skip
    told = {name: value for name, value in dataclasses.asdict(plain).items() if value is not None}
    told.pop("artifacts")
    told["turns"] = [turn.as_json() for turn in verdict.turns]
    files = {
        name: base64.b64encode(one.data).decode("ascii")
        for name, one in verdict.files.items() if one.data is not None
    }  # fmt: skip
    return {**told, "artifacts": files} if files else told


def _artifacts(given: Any) -> Mapping[str, bytes]:
    """Files by name, which came as base64."""
    if not given:
        return NO_EVIDENCE
    if not isinstance(given, Mapping):
        raise AnswerError(f"artifacts of a verdict must be an object, not {type(given).__name__}")
    return {name: base64.b64decode(data, validate=True) for name, data in given.items()}


def verdict_from(message: Any, *, unit: str = "") -> Verdict:
    """Read a verdict: an object with an `outcome`, or a number, true, false or null.

    Args:
        message: Decoded JSON.
        unit: The unit of a score that comes without one.

    Raises:
        AnswerError: If it is neither, or holds fields that no verdict has.

    Example:
        >>> verdict_from({"outcome": "accept", "score": 2}, unit="eV").score
        2.0
    """
    if not isinstance(message, Mapping):
        return as_verdict(message, unit=unit)
    if unknown := sorted(set(message) - _FIELDS):
        raise AnswerError(
            f"a verdict has no field {', '.join(map(repr, unknown))}; "
            f"it has {', '.join(sorted(_FIELDS))}"
        )
    if message.get("outcome") not in [outcome.value for outcome in Outcome]:
        raise AnswerError(
            "a verdict needs an outcome: accept, reject or abstain, "
            f"not {message.get('outcome')!r}"
        )
    try:
        return _built(message, unit)
    except LadderError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise AnswerError(f"the verdict can't be read: {error}") from None


def _built(message: Mapping[str, Any], unit: str) -> Verdict:
    texts = {name: message.get(name) or "" for name in _TEXTS}
    failed_at = message.get("failed_at")
    for name, text in (*texts.items(), ("failed_at", failed_at or "")):
        if not isinstance(text, str):
            raise AnswerError(f"{name} of a verdict must be text, not {text!r}")
    evidence, cost = message.get("evidence") or {}, message.get("cost")
    if not isinstance(evidence, Mapping):
        raise AnswerError(f"evidence of a verdict must be an object, not {evidence!r}")
    return Verdict(
        Outcome(message["outcome"]), message.get("score"), message.get("uncertainty"),
        texts["unit"] or unit, texts["reason"], texts["feedback"], failed_at,
        tuple(TurnVerdict(**turn) for turn in message.get("turns") or ()),
        dict(evidence), None if cost is None else Cost(**cost),
        message.get("scores") or NO_EVIDENCE, _artifacts(message.get("artifacts")),
    )  # fmt: skip


def failed(error: LadderError, *, log: str = "") -> Verdict:
    """The abstention that a failed exchange amounts to, with the last lines of the log."""
    is_told = not error.cause  # silence, which a busy machine brings about as well as content
    said = Verdict.abstain(f"{error}", failed_at=error.boundary) if is_told else failure(error)
    return dataclasses.replace(said, evidence={**said.evidence, "log": log}) if log else said


def asked_pause(retry_after: str | None) -> float | None:
    """Seconds that a `Retry-After` header asks for, as a number or a date; None for neither.

    Example:
        >>> asked_pause("3"), asked_pause(None), asked_pause("soon")
        (3.0, None, None)
    """
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):  # A date may name a year or a zone of any size.
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
