"""Conformance of a ledger's signed log, where it has one, and of its frames."""

from __future__ import annotations

import pytest

from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.offline import read_checkpoint
from verifier_ladder.testing.records import CAMPAIGN, score_block


class LogTests:
    """**Abstract:** the part of the contract that proves and hands out history."""

    @pytest.fixture
    def ledger(self) -> Ledger:
        """Give an empty ledger: override this."""
        raise NotImplementedError("override the fixture `ledger`")

    def test_sequencing_comes_to_an_end(self, ledger: Ledger) -> None:
        assert ledger.sequence() == 0
        for word in "abc":
            ledger.append(score_block([word]))
        assert sum(iter(ledger.sequence, 0)) in {0, 3}
        assert ledger.sequence() == 0

    def test_a_checkpoint_covers_what_was_sequenced(self, ledger: Ledger) -> None:
        assert ledger.checkpoint() is None
        ledger.append(score_block(["a"]))
        done = sum(iter(ledger.sequence, 0))
        signed = ledger.checkpoint()
        assert (0 if signed is None else read_checkpoint(signed).size) == done

    def test_an_earlier_checkpoint_stays(self, ledger: Ledger) -> None:
        for word in "ab":
            ledger.append(score_block([word]))
            ledger.sequence()
        first, newest = ledger.checkpoint(1), ledger.checkpoint()
        assert ledger.checkpoint(99) is None
        assert (first is None) == (newest is None)
        assert first is None or first != newest

    def test_a_frame_holds_verdicts_and_rewards(self, ledger: Ledger) -> None:
        pytest.importorskip("pyarrow")
        ledger.append(score_block(["a", "bb"]))
        ledger.append(score_block(["ccc"], campaign="another"))
        table = ledger.frame(campaign=CAMPAIGN)
        assert table["record"].to_pylist() == ["verdict", "verdict", "reward", "reward"]
        assert ledger.frame(record="verdict")["score"].to_pylist() == [1.0, 2.0, 3.0]
        assert len(ledger.frame(verifier="nobody")) == 0
