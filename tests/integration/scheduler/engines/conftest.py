"""One pool of real worker processes for the tests that don't need their own."""

from collections.abc import Callable, Iterator
from time import monotonic, sleep

import pytest

from verifier_ladder.scheduler.engines.pool import WorkerPool

Until = Callable[[Callable[[], object]], None]


@pytest.fixture(scope="session")
def pool() -> Iterator[WorkerPool]:
    """Two lanes, shared: whatever a test does to a worker, the next test gets a good one."""
    with WorkerPool(2, memory=512 * 1024**2, name="shared") as shared:
        yield shared


@pytest.fixture
def until() -> Until:
    """Wait for a condition on other processes, with a deadline."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = monotonic() + 300.0
        while not condition():
            assert monotonic() < deadline, "the condition never came true"
            sleep(0.005)

    return wait
