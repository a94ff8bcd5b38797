"""Rates: what is read, and how many checks begin in any stretch of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.errors import ConfigError
from verifier_ladder.rate import LONGEST_PAUSE, Rate, as_rate

BEGIN = 1_800_000_000.0


@pytest.mark.parametrize(
    ("limit", "period"), [("10/s", 0.1), ("600/min", 0.1), (" 36 / h ", 100.0), ("0.5/s", 2.0)]
)
def test_a_rate_is_read(limit: str, period: float) -> None:
    assert Rate(limit).period == pytest.approx(period)


@pytest.mark.parametrize(
    "limit", ["", "10", "10/day", "0/s", "-1/s", "1e9/s", "nan/s", "1000000/s", "0.01/h", 10, None]
)
def test_what_is_no_rate_is_refused(limit: object) -> None:
    with pytest.raises(ConfigError, match="10/s"):
        Rate(limit)  # type: ignore[arg-type]


def test_a_name_is_text() -> None:
    with pytest.raises(ConfigError, match="name="):
        Rate("10/s", name=7)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [10, 1.5, ["10/s"], True])
def test_a_verifier_with_what_is_no_rate_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match="rate="):
        vl.EndpointVerifier(name="judge", version="1", url="http://127.0.0.1:1/", rate=given)


def test_a_rate_without_a_name_is_the_verifiers_own() -> None:
    assert as_rate("10/s", "judge") == Rate("10/s", "verifier judge")
    assert as_rate(Rate("10/s", "openai"), "judge") == Rate("10/s", "openai")


def test_a_rate_is_no_part_of_the_key() -> None:
    plain, rated = (
        vl.EndpointVerifier(
            name="judge", version="1", url="http://127.0.0.1:1/", rate=rate, max_processes=count
        )
        for rate, count in ((None, None), ("10/s", 2))
    )
    assert plain.digest == rated.digest


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True])
def test_a_number_of_processes_that_can_not_be_is_refused(count: object) -> None:
    with pytest.raises(ConfigError, match="max_processes"):
        vl.EndpointVerifier(
            name="judge", version="1", url="http://127.0.0.1:1/", max_processes=count
        )


def test_an_inline_verifier_has_no_processes_to_count() -> None:
    with pytest.raises(ConfigError, match="isolation"):

        @vl.verifier(kind="text", version="1", isolation="inline", max_processes=1)
        def inline(candidate: vl.Candidate) -> None: ...


RATES = st.sampled_from(["10/s", "3/s", "1/s", "600/min", "7/min", "1000/s", "50/h"]).map(Rate)


@given(
    RATES,
    st.lists(st.tuples(st.floats(0.0, 5.0), st.integers(1, 20)), min_size=1, max_size=60),
)
def test_no_stretch_of_time_begins_more_than_its_share_and_one_burst(
    rate: Rate, asked: list[tuple[float, int]]
) -> None:
    now, full_at, taken = BEGIN, 0.0, list[tuple[float, int]]()
    for pause, wanted in asked:
        now += pause
        count = min(wanted, rate.tokens(full_at, now))
        full_at = rate.taken(full_at, now, count)
        taken.append((now, count))
    for place, (first, _) in enumerate(taken):
        for last, _ in taken[place:]:
            begun = sum(count for at, count in taken if first <= at <= last)
            allowed = (last - first + rate.burst) / rate.period
            assert begun <= allowed + 1e-3 * (1 + allowed)


@given(RATES, st.floats(0.0, 100.0))
def test_who_comes_when_the_next_is_due_gets_it(rate: Rate, ahead: float) -> None:
    full_at = BEGIN + ahead
    due = rate.due(full_at, BEGIN)
    assert due <= BEGIN + 1e-6 or rate.tokens(full_at, BEGIN) == 0
    assert rate.tokens(full_at, max(due, BEGIN)) >= 1


@given(RATES, st.floats(0.0, 1e12) | st.just(float("inf")))
def test_a_pause_lasts_as_long_as_was_asked_and_five_minutes_at_most(
    rate: Rate, seconds: float
) -> None:
    full_at = rate.put_off(0.0, BEGIN, seconds)
    until = BEGIN + min(seconds, LONGEST_PAUSE)
    assert rate.due(full_at, BEGIN) == pytest.approx(until + rate.period, abs=1e-5)
    assert rate.tokens(full_at, until + rate.period) == 1


def test_a_ladder_gives_a_rate_one_limit() -> None:
    def asks(name: str, limit: str) -> vl.Verifier:
        rate = Rate(limit, name="openai")
        return vl.verifier(kind="text", version="1", name=name, rate=rate)(lambda _: True)

    with pytest.raises(ConfigError, match="limits the rate 'openai' to 1/h and to 10/s"):
        vl.Ladder("two", [asks("slow", "1/h"), asks("fast", "10/s")])

    vl.Ladder("one", [asks("one", "60/min"), asks("other", "1/s")])
