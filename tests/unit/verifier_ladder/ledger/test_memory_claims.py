"""Claims of the ledger in memory, when very many checks are open."""

from collections.abc import Iterator
from typing import Any

from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.testing.records import check_row, claim, enqueue, request


class Counted(dict[Any, Any]):
    """Counts how many of its values are looked at."""

    looks = 0

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        for value in super().values():
            self.looks += 1
            yield value


def test_a_claim_looks_at_each_sample_that_waits_once() -> None:
    ledger, words = MemoryLedger(), [f"word {number}" for number in range(50)]
    enqueue(ledger, *map(check_row, words), requests=[request(word) for word in words])
    ledger._requests = waiting = Counted(ledger._requests)

    assert len(claim(ledger, limit=50)) == 50
    assert waiting.looks == 50
