"""Verdicts as the ledger writes them: packed whole for entries, narrow for the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import copysign
from typing import Any

from verifier_ladder.artifact import Artifact
from verifier_ladder.cost import Cost
from verifier_ladder.ledger.values import pack, unpack
from verifier_ladder.verdict import NO_EVIDENCE, Outcome, TurnVerdict, Verdict, plain_verdict

OUTCOMES = tuple(Outcome)
OUTCOME_CODES = {outcome: code for code, outcome in enumerate(OUTCOMES)}

VERDICT_DEFAULTS: Mapping[str, Any] = {
    "outcome": None, "score": None, "uncertainty": None, "unit": "", "reason": "",
    "feedback": "", "failed_at": None, "turns": (), "evidence": {}, "cost": None,
    "scores": NO_EVIDENCE, "artifacts": NO_EVIDENCE,
}  # fmt: skip
VERDICT_FIELDS = tuple(VERDICT_DEFAULTS)


def pack_field(name: str, value: Any) -> Any:
    """Write one field of a verdict as JSON."""
    if name == "cost":
        return _pack_cost(value)
    if name == "turns":
        return pack_turns(value)
    if name == "artifacts":
        return {
            called: [one.digest, one.size, one.type, one.note] for called, one in value.items()
        }
    return str(value) if name == "outcome" else pack(value)


def pack_turns(turns: Sequence[TurnVerdict]) -> list[list[Any]]:
    """Write what was said of turns."""
    return [
        [
            pack(turn.turn), pack(turn.score), pack(turn.feedback),
            *([] if turn.span is None else [list(turn.span)]),
        ]
        for turn in turns
    ]  # fmt: skip


def unpack_turns(stored: Sequence[Sequence[Any]]) -> tuple[TurnVerdict, ...]:
    """Read what was said of turns."""
    return tuple(TurnVerdict(*map(unpack, turn)) for turn in stored)


def unpack_field(name: str, value: Any) -> Any:
    """Read one field of a verdict."""
    if name == "cost":
        return _unpack_cost(value)
    if name == "turns":
        return unpack_turns(value)
    if name == "artifacts":
        return {called: Artifact(*one) for called, one in value.items()} or NO_EVIDENCE
    return Outcome(value) if name == "outcome" else unpack(value)


def _pack_cost(cost: Cost | None) -> Any:
    if cost is None:
        return None
    rest = [cost.gpu_seconds, cost.money, cost.person_minutes]
    return pack([cost.seconds, *rest]) if any(rest) else pack(cost.seconds)


def _unpack_cost(value: Any) -> Cost | None:
    if value is None:
        return None
    return Cost(*unpack(value)) if isinstance(value, list) else seconds_cost(unpack(value))


@lru_cache(maxsize=4096, typed=True)
def seconds_cost(seconds: float) -> Cost:
    """A cost of cpu time alone; batches share one."""
    return Cost(seconds=seconds)


def pack_verdict(verdict: Verdict) -> dict[str, Any]:
    """Write a verdict as a JSON object; fields at their usual value are left out.

    Example:
        >>> pack_verdict(Verdict.accept(0.5))
        {'outcome': 'accept', 'score': 0.5}
    """
    return {
        name: pack_field(name, value)
        for name, usual in VERDICT_DEFAULTS.items()
        if (value := getattr(verdict, name)) != usual
    }


def unpack_verdict(data: Mapping[str, Any]) -> Verdict:
    """Read what `pack_verdict` wrote."""
    return Verdict(**{name: unpack_field(name, value) for name, value in data.items()})


def indexed_verdict(
    outcome: int, score: float | None, uncertainty: float | None, unit: str, seconds: float | None
) -> Verdict:
    """A verdict that the index holds without detail; its numbers were checked when it was made."""
    cost = None if seconds is None else seconds_cost(seconds)
    return plain_verdict(OUTCOMES[outcome], score, uncertainty, unit, cost)


def plain_flags(fields: Mapping[str, Sequence[Any]]) -> list[bool] | None:
    """Which verdicts, given as columns, the index can hold without detail; None for all of them.

    Args:
        fields: One column per name of `VERDICT_FIELDS`.
    """
    if _all_plain(fields):
        return None
    rows = zip(*(fields[name] for name in VERDICT_FIELDS), strict=True)
    return [_is_plain(*row) for row in rows]


def _all_plain(fields: Mapping[str, Sequence[Any]]) -> bool:
    for name in ("reason", "feedback", "failed_at", "turns", "evidence", "scores", "artifacts"):
        if any(fields[name]):
            return False
    for name in ("score", "uncertainty"):
        if 0.0 in fields[name] and not all(map(_is_index_number, fields[name])):
            return False
    costs = fields["cost"]
    return all(map(_is_index_cost, dict(zip(map(id, costs), costs, strict=True)).values()))


def _is_plain(_outcome: Outcome, score: Any, uncertainty: Any, _unit: str, *rest: Any) -> bool:
    *texts, cost, scores, artifacts = rest
    return (
        not (scores or artifacts)
        and not any(texts)
        and _is_index_number(score)
        and _is_index_number(uncertainty)
        and _is_index_cost(cost)
    )


def _is_index_number(value: float | None) -> bool:
    """SQLite writes whole numbers as integers, and so drops the sign of -0.0."""
    return value is None or value != 0.0 or copysign(1.0, value) > 0.0


def _is_index_cost(cost: Cost | None) -> bool:
    if cost is None:
        return True
    return _is_index_number(cost.seconds) and not (
        cost.gpu_seconds or cost.money or cost.person_minutes
    )
