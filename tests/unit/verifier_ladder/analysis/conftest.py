"""What most tests of analyses begin with: an empty ledger, and an index of nothing yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.ledger import Ledger, open_ledger


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(None) as store:
        yield store


@pytest.fixture
def index(tmp_path: Path) -> CandidateIndex:
    return CandidateIndex(tmp_path / "try.index")
