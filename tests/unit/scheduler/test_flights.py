"""Flights: identical work in progress is shared."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.flights import Flight, Flights
from verifier_ladder.verdict import Verdict

KEYS = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=6)


def test_what_is_in_flight_is_not_started_twice() -> None:
    flights = Flights()
    first, nobody = flights.board([b"a", b"b"])

    second, others = flights.board([b"b", b"c"])

    assert not nobody
    assert [b"a", b"b"] == first.keys
    assert [b"c"] == second.keys
    assert [first] == others


def test_a_landing_wakes_who_waits() -> None:
    flights = Flights()
    first, _ = flights.board([b"a"])
    _, (other,) = flights.board([b"a"])
    first.verdicts[b"a"] = Verdict.accept(1.0)

    first.land()

    assert other.future.done()
    assert 1.0 == other.verdicts[b"a"].score


def test_what_has_landed_is_taken_until_it_is_recorded() -> None:
    flights = Flights()
    first, _ = flights.board([b"a"])
    first.verdicts[b"a"] = Verdict.accept(1.0)
    first.land()

    assert [first] == flights.board([b"a"])[1]
    first.close()
    assert [b"a"] == flights.board([b"a"])[0].keys


def test_a_landing_gives_back_what_nothing_was_said_of() -> None:
    flights = Flights()
    first, _ = flights.board([b"a", b"b"])
    first.verdicts[b"a"] = Verdict.accept(1.0)

    first.land()

    assert [b"b"] == flights.board([b"a", b"b"])[0].keys


def test_keys_that_need_no_work_are_given_back() -> None:
    flights = Flights()
    first, _ = flights.board([b"a", b"b"])

    first.drop([b"a"])

    assert [b"b"] == first.keys
    assert [b"a"] == flights.board([b"a", b"b"])[0].keys


def test_one_key_given_twice_is_taken_once() -> None:
    assert [b"a"] == Flights().board([b"a", b"a"])[0].keys


def test_a_second_landing_does_not_free_what_another_has_taken() -> None:
    flights = Flights()
    first, _ = flights.board([b"a"])
    first.land()
    second, _ = flights.board([b"a"])

    first.land()

    assert [second] == flights.board([b"a"])[1]
    first.close()
    assert [second] == flights.board([b"a"])[1]


def test_one_who_gives_up_does_not_cancel_the_flight_for_the_others() -> None:
    flights = Flights()
    first, _ = flights.board([b"a"])
    _, (other,) = flights.board([b"a"])

    assert not other.future.cancel()

    first.land()
    assert other.future.result() is None


@given(st.lists(st.tuples(KEYS, st.booleans()), max_size=12))
def test_every_key_is_held_by_exactly_one_flight(calls: list[tuple[list[bytes], bool]]) -> None:
    flights = Flights()
    aloft: list[Flight] = []
    for keys, lands in calls:
        flight, others = flights.board(keys)
        held = [key for other in others for key in other.keys]
        assert set(keys) <= set(flight.keys) | set(held)
        assert not set(flight.keys) & {key for other in aloft for key in other.keys}
        assert all(other in aloft for other in others)
        aloft.append(flight)
        if lands:
            aloft.pop(0).close()


def test_of_many_threads_one_takes_each_key() -> None:
    flights = Flights()
    keys = [bytes([i]) for i in range(50)]
    with ThreadPoolExecutor(8) as pool:
        boarded = list(pool.map(lambda _: flights.board(keys)[0].keys, range(40)))

    assert sorted(keys) == sorted(key for taken in boarded for key in taken)
