"""What tests of judges share: a real server on this machine, which plays a judge."""

from collections.abc import Iterator

import pytest
from fakejudge import FakeJudge


@pytest.fixture(scope="module")
def steady() -> Iterator[FakeJudge]:
    """One for all tests of the kit, which share what a verifier has said."""
    with FakeJudge() as running:
        yield running


@pytest.fixture
def fake() -> Iterator[FakeJudge]:
    with FakeJudge() as running:
        yield running


@pytest.fixture
def other() -> Iterator[FakeJudge]:
    with FakeJudge() as running:
        yield running
