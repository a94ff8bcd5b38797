"""Who rebuilds waits for those who are inside."""

from __future__ import annotations

from threading import Event, Thread

from verifier_ladder.scheduler.occupancy import Occupancy


def test_a_thread_knows_whether_it_is_inside() -> None:
    occupancy = Occupancy()
    told: list[bool] = []

    def tell() -> None:
        told.append(occupancy.has_me)

    with occupancy:
        other = Thread(target=tell)
        other.start()
        other.join()
        tell()
    tell()
    assert told == [False, True, False]


def test_empty_is_waited_for_until_the_last_has_left() -> None:
    occupancy = Occupancy()
    are_inside, may_leave = [Event(), Event()], [Event(), Event()]
    seen: list[str] = []

    def stay(number: int) -> None:
        with occupancy:
            are_inside[number].set()
            may_leave[number].wait(300)
            seen.append("left")

    def rebuild() -> None:
        occupancy.wait_empty()
        seen.append("empty")

    threads = [Thread(target=stay, args=(0,)), Thread(target=stay, args=(1,))]
    for thread in threads:
        thread.start()
    assert all(event.wait(300) for event in are_inside)
    threads.append(Thread(target=rebuild))
    threads[-1].start()
    for event in may_leave:
        event.set()
    for thread in threads:
        thread.join(300)
    assert seen == ["left", "left", "empty"]
