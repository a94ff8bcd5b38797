"""Candidates as JSON, for the work queue, and back; and the part of one that a verifier reads.

Rows of the work queue change, so nobody signs them. What a verifier is given of a row is therefore
compared with the check key first, which says what the verdict will be filed under.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.errors import LedgerError
from verifier_ladder.group import is_group, member_kind, members_of
from verifier_ladder.keys import (
    NO_TASK,
    check_key,
    content_key,
    digest,
    group_key,
    in_namespace,
    raw_key,
    task_digest,
)
from verifier_ladder.ledger.records import CheckRow
from verifier_ladder.task import refuse_overlooked
from verifier_ladder.text import printable
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
        made["bytes"] = content
    else:
        made["content"] = content
    if candidate.task:
        made["task"] = dict(candidate.task)
    if candidate.turns:
        made["turns"] = turns_json(candidate.turns)
    return made


def turns_json(turns: Sequence[Turn]) -> list[list[Any]]:
    """A trajectory as JSON; a turn of which no more is known is two texts.

    Example:
        >>> turns_json([Turn("2+2", "4")])
        [['2+2', '4']]
    """
    return [turn.as_json() for turn in turns]


def turns_digest(turns: Sequence[Turn]) -> bytes:
    """Digest of a trajectory; `NO_TASK` if there is none."""
    return digest(turns_json(turns)) if turns else NO_TASK


def candidate_of(stored: Mapping[str, Any]) -> Candidate:
    """Read a candidate back.

    Example:
        >>> candidate_of({"kind": "molecule", "content": "CCO"}).content
        'CCO'
    """
    content = stored["bytes"] if "bytes" in stored else stored["content"]
    if "bytes" in stored and isinstance(content, str):  # Earlier versions wrote digits.
        content = bytes.fromhex(content)
    turns = tuple(map(Turn.from_json, stored.get("turns", ())))
    return Candidate(stored["kind"], content, stored.get("task"), turns)


_LOG = logging.getLogger("verifier_ladder")


class ForgedCheckError(LedgerError):
    """A row of the work queue does not hold what its check key stands for."""


def proven_candidate(check: CheckRow, verifier: Verifier) -> Candidate:
    """The candidate of a check, which is certainly the one that its check key stands for.

    Everything that the verifier is given is part of the key: the candidate's kind and content,
    the task and turns that it reads, the number of the replicate, the cache namespace. For a
    verifier that reads canonical forms the content key follows from them too.

    Args:
        check: A row of the work queue, whoever wrote it.
        verifier: The verifier that is to be asked.

    Raises:
        ForgedCheckError: If the row says something else than its key, or can't be read.
    """
    names = (verifier.name, verifier.version, verifier.tier, verifier.digest)
    if (check.verifier, check.version, check.tier, check.digest) != names:
        raise ForgedCheckError(
            f"the queue's row names {check.verifier} {check.version} and is of another verifier"
        )
    return _keyed_candidate(check, verifier)


def shown_candidate(check: CheckRow, verifiers: Iterable[Verifier]) -> Candidate | None:
    """The candidate of an open case, to show it; None, and a warning, if the row was changed.

    Args:
        check: A row of the work queue.
        verifiers: Those of its campaign; none where its code is not here, and then the row is
            compared with its own key alone.
    """
    known = {verifier.name: verifier for verifier in verifiers}
    try:
        return _compared(check, known)
    except ForgedCheckError as error:
        why = printable(error, None)
        _LOG.warning("case %s is not shown: %s", check.check_key.hex()[:12], why)
        return None


def _compared(check: CheckRow, known: Mapping[str, Verifier]) -> Candidate:
    if not known:
        return _keyed_candidate(check)
    if check.verifier not in known:
        raise ForgedCheckError(
            f"the queue's row names {check.verifier}, and the ladder has no such verifier"
        )
    return proven_candidate(check, known[check.verifier])


def _keyed_candidate(check: CheckRow, verifier: Verifier | None = None) -> Candidate:
    """The candidate that a row holds, if it is the one that its check key stands for.

    Args:
        check: The row.
        verifier: The verifier, whose digest the row has; None where it is not here.

    Raises:
        ForgedCheckError: If it is another one, or can't be read.
    """
    try:
        candidate = candidate_of(check.payload)
        ways = ("canonical", "raw") if verifier is None else (verifier.reads,)
        is_proven = any(_is_proven(check, candidate, reads) for reads in ways)
    except Exception as error:  # noqa: BLE001 - whoever can write there can have written anything
        raise ForgedCheckError(f"the queue's row can't be read: {error!r:.200}") from None
    kind = member_kind(candidate)
    if not is_proven or (verifier is not None and kind != verifier.kind):
        raise ForgedCheckError(
            "the queue's row was changed: what it holds is not what its check key stands for"
        )
    return candidate


def _is_proven(check: CheckRow, candidate: Candidate, reads: str) -> bool:
    """Whether the keys of a check follow from what a verifier that reads so would be given."""
    if is_group(candidate):
        return _is_proven_group(check, candidate)
    payload, kind, content = check.payload, candidate.kind, candidate.content
    read = raw_key(kind, content) if reads == "raw" else content_key(kind, content)
    made = check_key(
        in_namespace(check.digest, payload.get("namespace", "")), read,
        task_digest(candidate.task or {}), turns_digest(candidate.turns),
        payload.get("replicate", 0),
    )  # fmt: skip
    return made == check.check_key and (reads == "raw" or read == check.content_key)


def _is_proven_group(check: CheckRow, group: Candidate) -> bool:
    """The same for a check of a whole group: members in their order, filed under the first."""
    verifier = in_namespace(check.digest, check.payload.get("namespace", ""))
    members = members_of(group)
    contents = [content_key(one.kind, one.content) for one in members]
    keys = [
        check_key(verifier, content, task_digest(one.task or {}), turns_digest(one.turns))
        for content, one in zip(contents, members, strict=True)
    ]
    is_ordered = keys == sorted(keys) and contents[:1] == [check.content_key]
    return is_ordered and group_key(verifier, keys) == check.check_key


def task_fields(task: Mapping[str, Any], verifier: Verifier) -> dict[str, Any]:
    """The part of a task that a verifier reads.

    Raises:
        ConfigError: If it would read more of this task than it declares.
    """
    if verifier.task_fields is None:
        return dict(task)
    refuse_overlooked(verifier, task)
    return {name: task[name] for name in verifier.task_fields if name in task}
