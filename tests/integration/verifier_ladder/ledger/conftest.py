"""What tests of signed ledgers begin with."""

from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import score_block


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of one entry, which is signed."""
    path = tmp_path / "ledger.db"
    with vl.open_ledger(path) as ledger:
        assert isinstance(ledger, SqlLedger)
        ledger.append(score_block(["a"]))
        while ledger.sequence():
            pass
    return path
