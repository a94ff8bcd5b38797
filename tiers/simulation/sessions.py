"""Sessions: when a market was open. What is told at other times is no price to trade at.

An exchange's calendar comes from `exchange_calendars` (Apache 2.0), where that is installed. Its
holidays hold days on which a market was closed at short notice, which nobody could know before: so
nobody who trades is shown a calendar, only the prices of its sessions, one after the other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from verifier_ladder.case import moment
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.tasks import TaskError

_AROUND = timedelta(days=1)


class Sessions:
    """Times from an opening to a close, both included.

    Example:
        >>> sessions = Sessions([(10.0, 20.0), (30.0, 40.0)])
        >>> [time for time in (9.0, 10.0, 20.0, 25.0, 40.0) if time in sessions]
        [10.0, 20.0, 40.0]
    """

    def __init__(self, spans: Sequence[tuple[float, float]]) -> None:
        """Take the sessions, in their order.

        Raises:
            ConfigError: If one ends before it begins, or begins before the last has ended.
        """
        moments = [moment for span in spans for moment in span]
        if any(earlier > later for earlier, later in pairwise(moments)):
            raise ConfigError("sessions come one after the other, each with its opening first")
        self._opens = [opens for opens, _ in spans]
        self._closes = [closes for _, closes in spans]

    def __contains__(self, time: float) -> bool:
        place = bisect_right(self._opens, time) - 1
        return place >= 0 and time <= self._closes[place]

    @classmethod
    def told(cls, spans: Sequence[Sequence[Any]]) -> Sessions:
        """The sessions that a task lists, as pairs of times.

        Raises:
            TaskError: If they make no sense.
        """
        try:
            return cls([(moment(opens), moment(closes)) for opens, closes in spans])
        except ConfigError as error:
            raise TaskError(f"the task's sessions make no sense: {error}") from None

    @classmethod
    def of(cls, calendar: str, first: float, last: float) -> Sessions:
        """The sessions of an exchange around two times.

        Raises:
            TaskError: If its calendar does not reach so far.
        """
        start = datetime.fromtimestamp(first, UTC) - _AROUND
        end = datetime.fromtimestamp(last, UTC) + _AROUND
        try:
            found = _exchange_calendars().get_calendar(
                calendar, start=start.date().isoformat(), end=end.date().isoformat()
            )
        except ValueError as error:
            raise TaskError(
                f"the task's times are not within the calendar {calendar}: {error}"
            ) from None
        return cls(list(_spans(found.schedule)))


def check_calendar(name: str) -> None:
    """Refuse a calendar that there is not.

    Raises:
        ConfigError: If there is none, or exchange_calendars is not installed.
    """
    names = _exchange_calendars().get_calendar_names()
    if name not in names:
        raise ConfigError(f"there is no calendar {name!r:.40}; there are {', '.join(names)}")


def _spans(schedule: Any) -> Iterator[tuple[float, float]]:
    """Openings and closes of a table of sessions, without their breaks."""
    for row in schedule.itertuples(index=False):
        times = [row.open, row.break_start, row.break_end, row.close]
        seconds = [time.timestamp() for time in times if time == time]  # noqa: PLR0124 - no time
        yield from zip(seconds[::2], seconds[1::2], strict=True)


def _exchange_calendars() -> Any:
    try:
        import exchange_calendars
    except ImportError as error:
        raise ConfigError(
            f"exchange_calendars can't be imported ({error}); pip install '.[calendars]' in a "
            "clone, or list the sessions in the task"
        ) from None
    return exchange_calendars
