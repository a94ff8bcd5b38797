"""Groups on their way to a verifier and back: many members in one candidate, one verdict of all.

A verifier with `scope="group"` judges the members of a group together. For the engine a group is
one candidate like any other, which is judged, timed, charged, bisected and blamed as a whole. So a
group is written as the content of a candidate, and what is said of its members as the evidence of
one verdict. Neither is ever recorded: the ledger holds a verdict for each member.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import AnswerError, ConfigError
from verifier_ladder.task import seen_by
from verifier_ladder.verdict import NO_EVIDENCE, Outcome, TurnVerdict, Verdict

if TYPE_CHECKING:
    from verifier_ladder.verifiers import Verifier

_KIND: Final = "group of "
_BYTES: Final = "«bytes»"
MEMBERS: Final = "members"
_IS_JUDGED: Final = "group_judged"
"""Evidence of what is said of one member: whether any of its group was judged."""
_ROOM: Final = 48 * 1024
"""Bytes that what is said of all members may take; of each, its share."""
MOST_MEMBERS: Final = 1024
"""Members that one group may have: of more, not even the scores would fit."""
_MOST_READ: Final = 2**20
"""Members of a group that is read back: more than anybody submits together."""
_JSON = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


def group_of(members: Sequence[tuple[Candidate, int]]) -> Candidate:
    """One candidate that stands for a group.

    Args:
        members: Each member and how often it is there, in the order in which they are judged.

    Example:
        >>> group = group_of([(Candidate("text", "a"), 2), (Candidate("text", "b"), 1)])
        >>> [member.content for member in members_of(group)]
        ['a', 'a', 'b']
    """
    rows = [
        (one.content, one.task and dict(one.task), [turn.as_json() for turn in one.turns], count)
        for one, count in members
    ]
    kind = members[0][0].kind
    return Candidate(_KIND + kind, json.dumps(rows, default=_written))


def is_group(candidate: Candidate) -> bool:
    """Whether a candidate stands for a group."""
    return candidate.kind.startswith(_KIND)


def member_kind(candidate: Candidate) -> str:
    """The kind of a candidate, or of the members of a group."""
    return candidate.kind.removeprefix(_KIND)


def members_of(group: Candidate) -> list[Candidate]:
    """The members of a group, each as often as it is there.

    Raises:
        ValueError: If no program has written it.
    """
    kind = group.kind.removeprefix(_KIND)
    rows = json.loads(group.content, object_hook=_read)
    refuse_forged(count for *_, count in rows)
    made: list[Candidate] = []
    for content, task, turns, count in rows:
        made += [Candidate(kind, content, task, tuple(map(Turn.from_json, turns)))] * count
    return made


def refuse_forged(counts: Iterable[int]) -> None:
    """Refuse a group that would take all memory: what is signed by nobody can tell any number.

    Args:
        counts: How often each member is there.

    Raises:
        ValueError: If it does.
    """
    count = sum(map(abs, counts))
    if count > _MOST_READ:
        raise ValueError(f"no group has {count:,} members")


def seen_members(verifier: Verifier, group: Candidate) -> Sequence[Candidate]:
    """The members of a group with what a verifier declares that it reads.

    Raises:
        AnswerError: If they are more than can be judged together.
    """
    members = members_of(group)
    if len(members) > MOST_MEMBERS:
        raise AnswerError(
            f"it has {len(members)} members, and at most {MOST_MEMBERS} are judged together; "
            "sample fewer completions of a prompt"
        )
    return seen_by(verifier.name, verifier.task_fields, members)


def told_together(verifier: Verifier, answers: Any, count: int) -> Verdict:
    """The verdict that a verifier's answers about so many members of a group amount to."""
    return together([verifier.verdict_of(a) for a in verifier.counted(answers, count)])


def _written(value: Any) -> Any:
    """What JSON has no word for."""
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: value.hex()}
    return value.tolist() if hasattr(value, "tolist") else dict(value)


def _read(value: dict[str, Any]) -> Any:
    return bytes.fromhex(value[_BYTES]) if value.keys() == {_BYTES} else value


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict that holds those of a group's members, in order; its cost is that of all."""
    told = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    share = _ROOM // max(1, len(verdicts))
    rows = [_row(verdict, share) for verdict in verdicts]
    return Verdict.accept(evidence={MEMBERS: rows}, cost=sum(told, Cost()) if told else None)


def is_told_together(verdict: Verdict) -> bool:
    """Whether a verdict is that of a whole group, and holds those of its members."""
    return holds_members(verdict.outcome, verdict.evidence)


def holds_members(outcome: Outcome, evidence: Mapping[str, Any]) -> bool:
    """The same of a verdict's outcome and evidence."""
    return outcome is Outcome.ACCEPT and isinstance(evidence.get(MEMBERS), list)


def apart(verdict: Verdict, count: int) -> list[Verdict]:
    """What is said of each member.

    If the check of the group failed, or was blamed on it as a whole, nobody knows which member
    brought that about: nothing is known of any of them, and none is rejected.
    """
    rows = verdict.evidence.get(MEMBERS) if verdict.outcome is Outcome.ACCEPT else None
    if isinstance(rows, list) and len(rows) == count:
        return [_verdict(row) for row in rows]
    reason = f"its group was not judged: {verdict.reason}"
    boundary = verdict.failed_at or "verifier"
    evidence = {k: v for k, v in verdict.evidence.items() if k in {"cause", "log"}}
    return [Verdict.abstain(reason, failed_at=boundary, evidence=evidence)] * count


def with_judged(said: Sequence[Verdict]) -> list[Verdict]:
    """What is said of each member, with whether any of them was judged: accepted or rejected."""
    is_judged = any(one.outcome is not Outcome.ABSTAIN for one in said)
    return [replace(one, evidence={**one.evidence, _IS_JUDGED: is_judged}) for one in said]


def is_passed_over(verdict: Verdict) -> bool:
    """Whether a member's verdict without a score tells that its group was judged.

    Its reward is unknown then: what other tiers say of it is on another scale than the rewards of
    the rest. An accept may be without a score, or without those that the reward rule weighs.
    Verdicts that don't tell are older, and their rewards are what the fast tier says.
    """
    return verdict.evidence.get(_IS_JUDGED) is True


def _row(verdict: Verdict, share: int) -> dict[str, Any]:
    """A verdict as plain JSON that fits into its share."""
    if verdict.artifacts:
        raise AnswerError(
            "a verifier of groups can't hand over artifacts: say in the evidence what is small"
        )
    row: dict[str, Any] = {
        "outcome": verdict.outcome.value, "score": verdict.score,
        "uncertainty": verdict.uncertainty, "unit": verdict.unit, "reason": verdict.reason,
        "feedback": verdict.feedback, "failed_at": verdict.failed_at,
        "turns": [_told(turn) for turn in verdict.turns],
        "scores": dict(verdict.scores), "evidence": dict(verdict.evidence),
    }  # fmt: skip
    row = {name: value for name, value in row.items() if value not in (None, "", [], {})}
    return row if _fits(row, share) else _cut(row, share)


def _told(turn: TurnVerdict) -> list[Any]:
    span = [] if turn.span is None else [list(turn.span)]
    return [turn.turn, turn.score, turn.feedback, *span]


def _fits(row: Mapping[str, Any], share: int) -> bool:
    try:
        return _weight(orjson.loads(orjson.dumps(row, option=_JSON))) <= share
    except (TypeError, ValueError, RecursionError):
        return False


def _weight(value: Any) -> int:
    """About how many bytes a value takes, as the engine counts them; numbers count alike."""
    if isinstance(value, str):
        return len(value) + 3
    if isinstance(value, dict):
        return 3 + sum(_weight(key) + _weight(part) for key, part in value.items())
    return 3 + sum(map(_weight, value)) if isinstance(value, list) else 9


def _cut(row: dict[str, Any], share: int) -> dict[str, Any]:
    """A row without what is most easily spared, until it fits: words go first, scores never."""
    row = {
        **row,
        "evidence": {"dropped": "it was too large beside those of the group, or no JSON"},
    }
    for name in ("reason", "feedback"):
        if name in row:
            row[name] = row[name][: share // 8]
    if not _fits(row, share) and "turns" in row:
        row["turns"] = [[turn, score, "", *span] for turn, score, _, *span in row["turns"]]
    for name in ("evidence", "feedback", "reason", "unit", "turns", "scores", "uncertainty"):
        if _fits(row, share):
            break
        row.pop(name, None)
    return row


def _verdict(row: Mapping[str, Any]) -> Verdict:
    return Verdict(
        Outcome(row["outcome"]), row.get("score"), row.get("uncertainty"), row.get("unit", ""),
        row.get("reason", ""), row.get("feedback", ""), row.get("failed_at"),
        tuple(TurnVerdict(*turn) for turn in row.get("turns", ())),
        row.get("evidence") or NO_EVIDENCE, scores=row.get("scores") or NO_EVIDENCE,
    )  # fmt: skip


def refuse_contradictions(verifier: Verifier) -> None:
    """Refuse a verifier that judges groups, and declares what only makes sense without them.

    Raises:
        ConfigError: If it does.
    """
    name = f'verifier {verifier.name} has scope="group"'
    if verifier.waits:
        raise ConfigError(f"{name}, and waits for the world, which is asked about one candidate")
    if verifier.kind.startswith(_KIND):
        raise ConfigError(f"{name}: its kind is that of a member, and can't begin with {_KIND!r}")
    if verifier.replicates > 1:
        raise ConfigError(f"{name} and replicates; repeat inside verify, and answer with the mean")
    if verifier.features or verifier.same_quantity or verifier.deviation is not None:
        raise ConfigError(
            f"{name}: what it says is comparable inside a group only, so that nothing can be "
            "learnt from it about other candidates; leave out features, same_quantity, deviation"
        )
    if verifier.control is not None:
        raise ConfigError(f"{name}; leave out its control, which is no group")


def with_share(verdict: Verdict, cost: Cost | None, count: int) -> Verdict:
    """A member's verdict with its share of what the check of its group took."""
    return replace(verdict, cost=None if cost is None else cost.times(1.0 / count))
