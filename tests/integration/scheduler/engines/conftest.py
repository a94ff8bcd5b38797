"""One pool of real worker processes for the tests that don't need their own."""

from collections.abc import Iterator

import pytest

from verifier_ladder.scheduler.engines.pool import WorkerPool


@pytest.fixture(scope="session")
def pool() -> Iterator[WorkerPool]:
    """Two lanes, shared: whatever a test does to a worker, the next test gets a good one."""
    with WorkerPool(2, memory=512 * 1024**2, name="shared") as shared:
        yield shared
