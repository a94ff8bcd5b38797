"""Horizons are kept in the ledger."""

from typing import Any

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.horizon import horizon_of, plan
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, Entry


def test_nobody_has_said_at_first() -> None:
    assert horizon_of(open_ledger(None), "try") is None


def test_the_last_word_counts_for_its_campaign() -> None:
    ledger = open_ledger(None)
    for samples in (100, 200):
        plan(ledger, "try", samples)
    plan(ledger, "other", 5)

    assert (200, 5) == (horizon_of(ledger, "try"), horizon_of(ledger, "other"))


def test_the_same_again_is_not_written_again() -> None:
    ledger = open_ledger(None)
    for _ in range(3):
        plan(ledger, "try", 100)

    assert 1 == ledger.newest()


def test_only_the_last_word_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(None)
    for samples in range(100, 120):
        plan(ledger, "try", samples)
    read: list[int] = []
    real = type(ledger).read

    def noting(ledger: Ledger, entry: Entry) -> Block:
        read.append(entry.id)
        return real(ledger, entry)

    monkeypatch.setattr(type(ledger), "read", noting)

    assert 119 == horizon_of(ledger, "try")
    assert [20] == read


@pytest.mark.parametrize("horizon", [0, -1, 1.5, True, "many", None])
def test_what_is_no_number_of_samples_is_refused(horizon: Any) -> None:
    with pytest.raises(ConfigError, match="number of samples"):
        plan(open_ledger(None), "try", horizon)
