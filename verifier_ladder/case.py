"""Cases: what the world is asked, and from when on the answer can be known.

The answer to a forecast can be known from a time on that its task names: its *settlement time*.
Until then the case waits; then its verifier is asked to settle it. A sample that comes when the
answer may be known already is late. Its task is marked so when it comes in, so that it is another
check under another key, and no verdict on a sample that came in time is ever paid to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from verifier_ladder.candidate import Candidate
from verifier_ladder.containment import ContainedLog
from verifier_ladder.errors import ConfigError
from verifier_ladder.task import seen_by
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from verifier_ladder.verifiers import Verifier

_LOG = ContainedLog("verifier_ladder")
LATEST: Final = 1e11
"""Seconds since 1970: what lies beyond was meant in milliseconds."""
SOONEST, LONGEST = 60.0, 86400.0
"""Seconds until a case that could not be settled yet is asked about again."""
SETTLED: Final = "valid_until"
"""Evidence of a verdict that settles a case: it holds for no sample that came at this time or
later."""
CASE_FIELD: Final = "«case»"
"""The field in which a worker is told of the case it is to settle; no task can have it."""


class Case(NamedTuple):
    """An open world case: a question to a person, a laboratory or a market."""

    check_key: bytes
    verifier: str
    candidate: Candidate
    question: str
    unit: str
    deadline: float | None
    """Seconds since 1970; None if it may stay open for ever."""
    settles_at: float | None = None
    """Seconds since 1970 from which on the answer can be known; None if its task names no time."""


def question_of(verifier: Verifier | None, candidate: Candidate, name: str) -> str:
    """What the world is asked; a question that can't be worded hides no other case.

    Args:
        verifier: The verifier that asks; None where its code is not here.
        candidate: What it asks about.
        name: The verifier's name.

    Example:
        >>> question_of(None, Candidate("text", "soup"), "taste")
        'What does taste say of it?'
    """
    ask: Callable[[Candidate], object] | None = getattr(verifier, "question", None)
    asked: object = None
    try:
        asked = ask(candidate) if ask else None
    except Exception:  # noqa: BLE001 - it is a user's code
        _LOG.exception("the verifier %s could not word its question", name)
    return asked if isinstance(asked, str) else f"What does {name} say of it?"


def moment(value: Any) -> float:
    """A time that a task names, as seconds since 1970.

    Args:
        value: Seconds since 1970, or a date and time with its zone, as ISO 8601 writes it.

    Raises:
        ConfigError: If it is neither.

    Example:
        >>> moment("2026-03-02T17:30:00+01:00") == moment(1772469000)
        True
    """
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            found = None
        if found is not None and found.tzinfo is not None:
            with suppress(OverflowError):  # In UTC it may be in the year 0 or 10000.
                return found.astimezone(UTC).timestamp()
    elif type(value) in {int, float} and isfinite(value) and 0 <= value < LATEST:
        return float(value)
    raise ConfigError(
        f"{value!r:.60} is no time: give seconds since 1970, or a date and time with its zone, "
        "such as 2026-03-02T17:30:00+01:00"
    )


def settlement_field(verifier: Verifier) -> str | None:
    """Name of the task field that holds the settlement time; None where there is none."""
    found: str | None = getattr(verifier, "settles_at", None)
    return found


def settlement_time(verifier: Verifier, task: Mapping[str, Any] | None) -> float | None:
    """Seconds since 1970 from which on the answer can be known; None if the task names no time.

    Raises:
        ConfigError: If the task names what is no time.
    """
    field = settlement_field(verifier)
    if not field or not task or field not in task:
        return None
    try:
        return moment(task[field])
    except ConfigError as error:
        raise ConfigError(f"task field {field!r} of verifier {verifier.name}: {error}") from None


def fields_of(field: str) -> tuple[str, ...]:
    """The task fields that a verifier reads which settles at the time in a field."""
    return field, late_mark(field), CASE_FIELD


def known_from(verifier: Verifier, candidate: Candidate) -> float | None:
    """`settlement_time` to be shown: what is no time hides no case."""
    try:
        return settlement_time(verifier, candidate.task)
    except ConfigError:
        return None


def is_settling(verifier: Verifier, task: Mapping[str, Any] | None, now: float) -> bool:
    """Whether the answer can be known by now, so that a verifier is asked to settle a case."""
    if settlement_field(verifier) is None or is_late(verifier, task):
        return False
    try:
        at = settlement_time(verifier, task)
    except ConfigError:  # The verifier says so.
        return False
    return at is not None and at <= now


def stays_open(
    verifier: Verifier, task: Mapping[str, Any] | None, verdict: Verdict, now: float
) -> bool:
    """Whether a case waits on.

    Once it may be settled, only what its verifier has settled it with ends it: a feed that is
    away, a worker that dies or a time limit say nothing of what came to pass. `now` is the time
    when it was asked: whoever was to open a case, and refused it, has answered.
    """
    if verdict.evidence.get("waiting"):
        return True
    return SETTLED not in verdict.evidence and is_settling(verifier, task, now)


def late_mark(field: str) -> str:
    """The task field that tells that a sample came after the time in another field.

    Example:
        >>> late_mark("horizon")
        'horizon_passed'
    """
    return f"{field}_passed"


def is_late(verifier: Verifier, task: Mapping[str, Any] | None) -> bool:
    """Whether a sample came when the answer could be known already."""
    field = settlement_field(verifier)
    return bool(field and task and task.get(late_mark(field)))


def marked_late(
    candidates: Sequence[Any], fields: Collection[str], now: float
) -> tuple[list[Any], list[int]]:
    """Candidates with their tasks marked where the time in a field has passed.

    Args:
        candidates: Candidates; those that are bare content have no task.
        fields: Names of task fields that hold settlement times.
        now: The time, by the ledger's clock.

    Returns:
        All of them in their order, and the places of those that are late.
    """
    made, places = list(candidates), []
    tasks: dict[int, Mapping[str, Any]] = {}
    for place, one in enumerate(candidates):
        task = one.task if isinstance(one, Candidate) else None
        passed = [field for field in fields if task and _has_passed(task.get(field), now)]
        if task and passed:  # The candidates of a group share one task: so do the late ones.
            marks = {late_mark(field): True for field in passed}
            made[place] = replace(one, task=tasks.setdefault(id(task), {**task, **marks}))
            places.append(place)
    return made, places


def _has_passed(value: object, now: float) -> bool:
    try:
        return value is not None and moment(value) <= now
    except ConfigError:  # Its verifier says what is wrong with it.
        return False


def late(verifier: Verifier, task: Mapping[str, Any]) -> Verdict:
    """What is said of a sample that came too late: it is no forecast any more."""
    at = settlement_time(verifier, task)
    until = "" if at is None else f", from {shown(at)} on"
    why = f"late: it came when the answer could be known{until}"
    return Verdict.reject(why, feedback="It counts only before that time.")


def shown(at: float) -> str:
    """A time as ISO 8601 writes it, in UTC.

    Example:
        >>> shown(0.0)
        '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(at, UTC).isoformat()


def ask_at(settles_at: float, now: float) -> float:
    """When an open case is asked about next: at its settlement time, then ever more rarely.

    Each pause is as long as all the time since then: at least a minute, at most a day.

    Example:
        >>> ask_at(1000.0, now=10.0), ask_at(1000.0, now=1000.0), ask_at(1000.0, now=4600.0)
        (1000.0, 1060.0, 8200.0)
    """
    if now < settles_at:
        return settles_at
    return now + min(max(now - settles_at, SOONEST), LONGEST)


def to_settle(candidate: Candidate, case_key: bytes, deadline: float | None) -> Candidate:
    """A candidate as a worker is given it that is to settle its case."""
    told = {"key": case_key.hex(), "deadline": deadline}
    return replace(candidate, task={**(candidate.task or {}), CASE_FIELD: told})


def case_to_settle(verifier: Verifier, candidate: Candidate) -> Case | None:
    """The case that a worker is to settle; None if it is to open one."""
    task = dict(candidate.task or {})
    told = task.pop(CASE_FIELD, None)
    if told is None:
        return None
    (asked,) = seen_by(verifier.name, verifier.task_fields, [replace(candidate, task=task)])
    return Case(
        bytes.fromhex(told["key"]), verifier.name, asked,
        question_of(verifier, asked, verifier.name), verifier.unit, told["deadline"],
        settlement_time(verifier, task),
    )  # fmt: skip
