"""Conformance of a ledger's batons: who has one decides for a campaign."""

from __future__ import annotations

import pytest

from verifier_ladder.ledger import Ledger


class BatonTests:
    """**Abstract:** the part of the contract that names who decides."""

    @pytest.fixture
    def ledger(self) -> Ledger:
        """Give an empty ledger: override this."""
        raise NotImplementedError("override the fixture `ledger`")

    def test_a_baton_is_held_until_it_is_closed(self, ledger: Ledger) -> None:
        with ledger.baton("one") as baton:
            assert [baton.hold() for _ in range(3)] == [True] * 3
            assert not baton.is_lost

    def test_a_baton_that_was_closed_can_be_taken_again(self, ledger: Ledger) -> None:
        first = ledger.baton("one")
        first.close()
        first.close()
        with ledger.baton("one") as second:
            assert second.hold()

    def test_campaigns_have_batons_of_their_own(self, ledger: Ledger) -> None:
        with ledger.baton("one") as one, ledger.baton("another") as another:
            assert one.hold()
            assert another.hold()
