"""Candidates as JSON, for the work queue, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifier_ladder.candidate import Candidate, Turn


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
        made["turns"] = [[t.action, t.observation] for t in candidate.turns]
    return made


def candidate_of(stored: Mapping[str, Any]) -> Candidate:
    """Read a candidate back.

    Example:
        >>> candidate_of({"kind": "molecule", "content": "CCO"}).content
        'CCO'
    """
    content = bytes.fromhex(stored["bytes"]) if "bytes" in stored else stored["content"]
    turns = tuple(Turn(action, seen) for action, seen in stored.get("turns", ()))
    return Candidate(stored["kind"], content, stored.get("task"), turns)
