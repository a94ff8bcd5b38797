"""Sessions: when a market was open."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.simulation.sessions import Sessions, check_calendar
from verifier_ladder.tiers.tasks import TaskError

NOT_A_TIME = float("nan")


def at(hour: float) -> datetime:
    return datetime.fromtimestamp(1_767_571_200 + 3600 * hour, UTC)


class Calendars(SimpleNamespace):
    """As much of exchange_calendars as is used: two days, the first with a break."""

    asked: list[tuple[str, str, str]]

    def get_calendar_names(self) -> list[str]:
        return ["XHKG", "XNYS"]

    def get_calendar(self, name: str, start: str, end: str) -> Any:
        self.asked.append((name, start, end))
        if start < "1990":
            raise ValueError("it begins in 1990")
        rows: Sequence[Sequence[Any]] = (
            (at(2), at(4), at(5), at(8)),
            (at(26), NOT_A_TIME, NOT_A_TIME, at(29)),
        )
        names = ("open", "break_start", "break_end", "close")
        table = [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in rows]
        return SimpleNamespace(schedule=SimpleNamespace(itertuples=lambda index: table[index:]))


@pytest.fixture
def calendars(monkeypatch: pytest.MonkeyPatch) -> Calendars:
    found = Calendars(asked=[])
    monkeypatch.setitem(sys.modules, "exchange_calendars", found)
    return found


def test_opening_and_close_belong_to_a_session() -> None:
    sessions = Sessions.told([[100, 200], ["1970-01-01T00:05:00Z", 400]])

    assert [100, 200, 300, 400] == [t for t in (99, 100, 200, 250, 300, 400, 401) if t in sessions]


@pytest.mark.parametrize(
    "spans", [[[200, 100]], [[100, 200], [150, 300]], [[300, 400], [100, 200]], [["noon", 5]]]
)
def test_sessions_that_make_no_sense_are_the_tasks_fault(spans: Any) -> None:
    with pytest.raises(TaskError, match="sessions"):
        Sessions.told(spans)


def test_a_calendar_has_breaks_and_is_asked_around_the_times(calendars: Calendars) -> None:
    sessions = Sessions.of("XHKG", at(2).timestamp(), at(29).timestamp())

    hours = [
        hour
        for hour in (1, 2, 4, 4.5, 5, 8, 9, 26, 28, 29, 30)
        if at(hour).timestamp() in sessions
    ]
    assert [2, 4, 5, 8, 26, 28, 29] == hours
    assert [("XHKG", "2026-01-04", "2026-01-07")] == calendars.asked


def test_times_before_a_calendar_are_the_tasks_fault(calendars: Calendars) -> None:
    del calendars
    with pytest.raises(TaskError, match="XNYS: it begins in 1990"):
        Sessions.of("XNYS", 86400.0, 2 * 86400.0)


def test_a_calendar_that_there_is_not_is_refused(calendars: Calendars) -> None:
    del calendars
    check_calendar("XNYS")
    with pytest.raises(ConfigError, match="there are XHKG, XNYS"):
        check_calendar("XXXX")


def test_what_to_install_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "exchange_calendars", None)

    with pytest.raises(ConfigError, match=r"\.\[calendars\]"):
        check_calendar("XNYS")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Series.values")  # Of pandas 3.1, in exchange_calendars 4.13.
def test_the_calendar_of_a_real_exchange_is_read() -> None:
    pytest.importorskip("exchange_calendars")
    times = {
        "2026-01-02T20:59Z": True, "2026-01-02T21:01Z": False, "2026-01-03T16:00Z": False,
        "2026-01-05T14:30Z": True, "2026-01-19T16:00Z": False, "2026-01-20T16:00Z": True,
    }  # fmt: skip
    moments = {datetime.fromisoformat(text).timestamp(): is_in for text, is_in in times.items()}
    sessions = Sessions.of("XNYS", min(moments), max(moments))

    assert moments == {each: each in sessions for each in moments}
