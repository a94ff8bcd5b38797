"""Candidates as JSON, for the work queue, and back; and the part of one that a verifier reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.keys import NO_TASK, digest
from verifier_ladder.verifiers import Verifier


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """A candidate as JSON.

    Example:
        >>> candidate_json(Candidate("molecule", "CCO"))
        {'kind': 'molecule', 'content': 'CCO'}
    """
    content = candidate.content
    made: dict[str, Any] = {"kind": candidate.kind}
    if isinstance(content, bytes):
        made["bytes"] = content.hex()
    else:
        made["content"] = content
    if candidate.task:
        made["task"] = dict(candidate.task)
    if candidate.turns:
        made["turns"] = turns_json(candidate.turns)
    return made


def turns_json(turns: Sequence[Turn]) -> list[list[Any]]:
    """A trajectory as JSON; a turn without metadata is two texts.

    Example:
        >>> turns_json([Turn("2+2", "4")])
        [['2+2', '4']]
    """
    return [
        [t.action, t.observation, dict(t.metadata)] if t.metadata else [t.action, t.observation]
        for t in turns
    ]


def turns_digest(turns: Sequence[Turn]) -> bytes:
    """Digest of a trajectory; `NO_TASK` if there is none."""
    return digest(turns_json(turns)) if turns else NO_TASK


def candidate_of(stored: Mapping[str, Any]) -> Candidate:
    """Read a candidate back.

    Example:
        >>> candidate_of({"kind": "molecule", "content": "CCO"}).content
        'CCO'
    """
    content = bytes.fromhex(stored["bytes"]) if "bytes" in stored else stored["content"]
    turns = tuple(Turn(*turn) for turn in stored.get("turns", ()))
    return Candidate(stored["kind"], content, stored.get("task"), turns)


def task_fields(task: Mapping[str, Any], verifier: Verifier) -> dict[str, Any]:
    """The part of a task that a verifier reads."""
    if verifier.task_fields is None:
        return dict(task)
    return {name: task[name] for name in verifier.task_fields if name in task}
