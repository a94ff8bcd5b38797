"""The conformance kit for ledgers: every sentence of the contract, as a test.

Use it for a store of your own::

    from verifier_ladder.testing.ledger import LedgerTestCase

    class TestMyLedger(LedgerTestCase):
        @pytest.fixture
        def ledger(self, tmp_path):
            with MyLedger(tmp_path / "ledger") as ledger:
                yield ledger
"""

from __future__ import annotations

from verifier_ladder.testing.ledgeraccounts import AccountTests
from verifier_ladder.testing.ledgerbatons import BatonTests
from verifier_ladder.testing.ledgercases import CaseTests
from verifier_ladder.testing.ledgercounts import CountTests
from verifier_ladder.testing.ledgerhistory import HistoryTests
from verifier_ladder.testing.ledgerlog import LogTests
from verifier_ladder.testing.ledgerpayers import PayerTests
from verifier_ladder.testing.ledgerqueue import QueueTests
from verifier_ladder.testing.ledgerreplies import ReplyTests

__all__ = ["LedgerTestCase"]


class LedgerTestCase(
    HistoryTests, CountTests, LogTests, QueueTests, CaseTests, AccountTests, PayerTests,
    BatonTests, ReplyTests,
):  # fmt: skip
    """Holds a ledger to its contract. Override the fixture `ledger` with one that is empty."""
