"""What was used and let go goes back to the system, now and then."""

from pathlib import Path

import pytest

from verifier_ladder.ledger import open_ledger, store
from verifier_ladder.ledger.records import Block
from verifier_ladder.memory import Litter
from verifier_ladder.testing.records import CAMPAIGN, score_block, verdict_row
from verifier_ladder.verdict import Verdict

MIB = 2**20


class Library:
    """A C library that keeps what is free, and takes some time to look for it."""

    def __init__(self, takes: float = 0.0) -> None:
        self.now, self.takes, self.trims = 0.0, takes, 0
        self.litter = Litter(self.trim, lambda: self.now)

    def trim(self) -> float:
        self.trims += 1
        return self.takes


def test_what_is_free_goes_back_after_a_sixteenth_of_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "64MiB")
    library = Library()
    for _ in range(12):
        library.litter.add(MIB)

    assert 3 == library.trims


def test_where_that_takes_long_it_is_done_less_often() -> None:
    library = Library(takes=1.0)
    for second in range(60):
        library.now = float(second)
        library.litter.add(64 * MIB)

    assert 3 == library.trims  # At 0, 20 and 40 seconds.


def test_what_verdicts_say_is_litter_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, said = Library(), Verdict.accept(1.0, feedback="x" * 20 * MIB)
    monkeypatch.setattr(store, "litter", library.litter)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.append(score_block(["b"]))
        assert 0 == library.trims
        ledger.append(Block("score", CAMPAIGN, verdicts=[verdict_row("a", said)]))

    assert 1 == library.trims
