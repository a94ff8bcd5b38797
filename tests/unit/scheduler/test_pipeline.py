"""Pipelines: many jobs that wait for futures, driven by one thread."""

from collections.abc import Generator
from concurrent.futures import CancelledError, Future
from threading import Thread
from time import monotonic
from typing import Any

import pytest

from verifier_ladder.scheduler.pipeline import Job, drive


def done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def failed(error: Exception) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def test_a_job_is_sent_the_result_of_each_future_it_waits_for() -> None:
    seen = []

    def job() -> Generator[Future[Any], Any, None]:
        seen.append((yield done(1)))
        seen.append((yield done(2)))

    assert drive([job()], None, window=1)
    assert [1, 2] == seen


def test_jobs_may_finish_in_any_order() -> None:
    first, second = Future[int](), Future[int]()
    order = []

    def job(name: str, future: Future[int]) -> Job:
        yield future
        order.append(name)
        if name == "second":
            first.set_result(0)

    second.set_result(0)

    assert drive([job("first", first), job("second", second)], None, window=2)
    assert ["second", "first"] == order


def test_no_more_jobs_are_under_way_than_the_window_allows() -> None:
    under_way: set[int] = set()
    most = []

    def job(number: int) -> Job:
        under_way.add(number)
        most.append(len(under_way))
        yield done(0)
        under_way.discard(number)

    assert drive((job(i) for i in range(9)), None, window=3)
    assert 3 == max(most)
    assert not under_way


def test_jobs_that_wait_for_nothing_all_run() -> None:
    seen = []

    def job(number: int) -> Job:
        seen.append(number)
        yield from ()

    assert drive((job(i) for i in range(20)), None, window=2)
    assert list(range(20)) == seen


def test_no_jobs_are_done_at_once() -> None:
    assert drive([], monotonic(), window=1)


def test_past_the_deadline_waiting_jobs_are_closed_and_later_ones_never_start() -> None:
    never: Future[Any] = Future()
    events = []

    def job(number: int) -> Job:
        events.append(f"start {number}")
        try:
            yield never
        finally:
            events.append(f"close {number}")

    assert not drive((job(i) for i in range(3)), monotonic() - 1, window=1)
    assert ["start 0", "close 0"] == events
    assert never.cancelled()


def test_a_failed_future_is_thrown_into_its_job() -> None:
    seen = []

    def job() -> Job:
        try:
            yield failed(ValueError("broken"))
        except ValueError as error:
            seen.append(str(error))
        seen.append((yield done("went on")))

    assert drive([job()], None, window=1)
    assert ["broken", "went on"] == seen


@pytest.mark.parametrize("error", [ValueError("broken"), CancelledError()])
def test_a_job_that_can_not_go_on_cleans_up_and_so_do_the_others(error: Exception) -> None:
    cleaned = []

    def job(future: Future[Any], name: str) -> Job:
        try:
            yield future
        finally:
            cleaned.append(name)

    with pytest.raises(type(error)):
        drive([job(Future(), "waits"), job(failed(error), "fails")], None, window=2)

    assert {"waits", "fails"} == set(cleaned)


def test_a_cancelled_future_is_an_error_of_its_job() -> None:
    cancelled: Future[Any] = Future()
    cancelled.cancel()
    cleaned = []

    def job() -> Job:
        try:
            yield cancelled
        finally:
            cleaned.append(True)

    with pytest.raises(CancelledError):
        drive([job()], None, window=1)

    assert cleaned


def test_futures_may_end_in_other_threads() -> None:
    futures: list[Future[int]] = [Future() for _ in range(30)]
    total = []

    def job(future: Future[int]) -> Job:
        total.append((yield future))

    def work() -> None:
        for number, future in enumerate(futures):
            future.set_result(number)

    thread = Thread(target=work)
    thread.start()
    assert drive(map(job, futures), None, window=4)
    thread.join()

    assert sum(range(30)) == sum(total)
