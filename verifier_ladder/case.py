"""Cases: what the world is asked, until when samples are taken, and when the answer is known.

The answer to a forecast can be known from a time on that its task names: its *settlement time*.
Until then the case waits; then its verifier is asked to settle it. Samples are taken until the
*sealing time*, which is the same unless the verifier names another field. A sample that comes at
that time or later is late. Its task is marked so when it comes in, so that it is another check
under another key, and no verdict on a sample that came in time is ever paid to it.
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
SOONEST, LONGEST = 1.0, 86400.0
"""Seconds until a case that could not be settled yet is asked about again."""
SETTLED: Final = "valid_until"
"""Evidence of a verdict that settles a case: it holds for no sample that came at this time or
later."""
AWAY: Final = "feed_away"
"""Evidence of an abstention whose feed could not be reached: nothing else it tells can be, now."""
UNKNOWN: Final = "unknown"
"""How the task of a sample is marked of which nobody can tell whether it came in time."""
MOST_APART: Final = 5.0
"""Seconds between the ledger's time and this machine's beyond which no time in between is
trusted."""
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
    sealed_by: float | None = None
    """Seconds since 1970 up to which samples are taken; None if its task names no time."""


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


def sealing_field(verifier: Verifier) -> str | None:
    """Name of the task field with the time up to which samples are taken; None without one."""
    found: str | None = getattr(verifier, "sealed_by", None)
    return found or settlement_field(verifier)


def settlement_time(verifier: Verifier, task: Mapping[str, Any] | None) -> float | None:
    """Seconds since 1970 from which on the answer can be known; None if the task names no time.

    Raises:
        ConfigError: If the task names what is no time.
    """
    return _time_in(settlement_field(verifier), verifier, task)


def sealing_time(verifier: Verifier, task: Mapping[str, Any] | None) -> float | None:
    """Seconds since 1970 up to which samples are taken; None if the task names no time.

    Raises:
        ConfigError: If the task names what is no time.
    """
    return _time_in(sealing_field(verifier), verifier, task)


def _time_in(
    field: str | None, verifier: Verifier, task: Mapping[str, Any] | None
) -> float | None:
    if not field or not task or field not in task:
        return None
    try:
        return moment(task[field])
    except ConfigError as error:
        raise ConfigError(f"task field {field!r} of verifier {verifier.name}: {error}") from None


def fields_of(verifier: Verifier) -> tuple[str, ...]:
    """The task fields that a verifier reads which settles; nothing if it does not."""
    settles, sealed = settlement_field(verifier), sealing_field(verifier)
    return (settles, sealed, late_mark(sealed), CASE_FIELD) if settles and sealed else ()


def times_of(verifier: Verifier, candidate: Candidate) -> tuple[float | None, float | None]:
    """Settlement and sealing time, to be shown: what is no time hides no case."""
    try:
        task = candidate.task
        return settlement_time(verifier, task), sealing_time(verifier, task)
    except ConfigError:
        return None, None


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
    """Whether a sample did not come in time, or nobody can tell."""
    field = sealing_field(verifier)
    return bool(field and task and task.get(late_mark(field)))


class Now(NamedTuple):
    """What time it is, as far as anybody can tell."""

    earliest: float
    latest: float

    def mark(self, at: float) -> bool | str:
        """How a task with a time in it is marked: late or not, or nobody knows.

        Example:
            >>> [Now(100.0, 160.0).mark(at) for at in (100.0, 130.0, 161.0)]
            [True, 'unknown', False]
            >>> Now(157.0, 160.0).mark(159.0)
            True
        """
        if at > self.latest:
            return False
        return at <= self.earliest or self.latest - self.earliest <= MOST_APART or UNKNOWN


def marked_late(candidates: Sequence[Any], fields: Collection[str], now: Now) -> list[Any]:
    """Candidates with their tasks marked where the time in a field has passed.

    Args:
        candidates: Candidates; those that are bare content have no task.
        fields: Names of task fields that hold sealing times.
        now: The time that samples are sealed by.

    Returns:
        All of them in their order.
    """
    made = list(candidates)
    tasks: dict[int, Mapping[str, Any]] = {}
    for place, one in enumerate(candidates):
        task = one.task if isinstance(one, Candidate) else None
        times = times_in(task, fields)
        marks = {late_mark(field): mark for field, at in times if (mark := now.mark(at))}
        if marks:  # The candidates of a group share one task: so do the late ones.
            made[place] = replace(one, task=tasks.setdefault(id(task), {**(task or {}), **marks}))
    return made


def times_in(task: Mapping[str, Any] | None, fields: Collection[str]) -> list[tuple[str, float]]:
    """Those of some fields of a task that hold a time, and the times."""
    found: list[tuple[str, float]] = []
    for field in fields:
        value = None if task is None else task.get(field)
        with suppress(ConfigError):  # Its verifier says what is wrong with it.
            found += [] if value is None else [(field, moment(value))]
    return found


def late(verifier: Verifier, task: Mapping[str, Any]) -> Verdict:
    """What is said of a sample that came too late, or of which nobody can tell."""
    if task.get(late_mark(sealing_field(verifier) or "")) == UNKNOWN:
        return Verdict.abstain(
            "nobody knows whether it came in time: the ledger's clock, its latest entry and this "
            f"machine's clock don't agree on that, and are more than {MOST_APART:g} s apart"
        )
    at = sealing_time(verifier, task)
    until = "its time" if at is None else shown(at)
    why = f"late: samples are taken only before {until}"
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

    Each pause is as long as all the time since then: at least a second, at most a day.

    Example:
        >>> ask_at(1000.0, now=10.0), ask_at(1000.0, now=1000.0), ask_at(1000.0, now=4600.0)
        (1000.0, 1001.0, 8200.0)
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
        settlement_time(verifier, task), sealing_time(verifier, task),
    )  # fmt: skip
