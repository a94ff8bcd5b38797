"""What tests of groups share: a ledger, and what a judge was asked about."""

from collections.abc import Iterator

import pytest
from comparing import Asked

from verifier_ladder.ledger import Ledger, open_ledger


@pytest.fixture
def asked() -> Asked:
    """The contents of each group that the judge of this test was asked about."""
    return []


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """An empty ledger in memory."""
    with open_ledger(":memory:") as made:
        yield made
