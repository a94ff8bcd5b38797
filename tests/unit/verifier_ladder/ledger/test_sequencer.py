"""The sequencer works beside everybody else, and never fails them."""

from pathlib import Path
from threading import Event

import pytest

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.sequencer import Sequencer
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import score_block


class Scripted(MemoryLedger):
    """A ledger whose sequencing does what the test says, and then nothing."""

    def __init__(self, *script: int | Exception) -> None:
        super().__init__()
        self._script = list(script)
        self.done = Event()

    def sequence(self) -> int:
        if not self._script:
            self.done.set()
            return 0
        step = self._script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def test_what_is_written_is_signed_in_the_background(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger, Sequencer(ledger, 0.001):
        assert isinstance(ledger, SqlLedger)
        ledger.append(score_block(["a"]))
        while ledger.pending():
            pass

        assert 1 == ledger.size()


def test_batches_follow_each_other_until_nothing_waits() -> None:
    ledger = Scripted(2048, 2048, 5)
    with Sequencer(ledger, 0.001):
        assert ledger.done.wait(300)


def test_an_error_is_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    error = LedgerError("the disk is full")
    ledger = Scripted(error, error, 1, 0, error, error)
    with Sequencer(ledger, 0.001):
        assert ledger.done.wait(300)

    assert 2 == caplog.text.count("the disk is full")


def test_closing_ends_the_thread() -> None:
    sequencer = Sequencer(Scripted(), 3600.0)

    sequencer.close()

    assert not sequencer._thread.is_alive()
