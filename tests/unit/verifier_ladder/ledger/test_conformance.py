"""All stores keep the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.testing.ledger import LedgerTestCase


class TestMemoryLedger(LedgerTestCase):
    @pytest.fixture
    def ledger(self) -> Iterator[Ledger]:
        with open_ledger(":memory:") as ledger:
            yield ledger


class TestSqliteLedger(LedgerTestCase):
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[Ledger]:
        with open_ledger(tmp_path / "ledger.db") as ledger:
            yield ledger


class TestPostgresqlLedger(LedgerTestCase):
    @pytest.fixture
    def ledger(self, postgresql: str) -> Iterator[Ledger]:
        with open_ledger(postgresql) as ledger:
            yield ledger
