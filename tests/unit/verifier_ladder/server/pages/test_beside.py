"""What takes long is made beside the pages, and not again before its time."""

from verifier_ladder.analysis.reader import LedgerReader
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.server.pages.beside import Beside

LIMIT = 300.0


def test_what_was_made_is_shown_until_it_may_be_made_anew() -> None:
    now, made = [0.0], list[str]()

    def make(_: Ledger, key: str) -> int:
        made.append(key)
        now[0] += 1.0  # It takes a second, so there are twenty without it.
        return len(made)

    with LedgerReader(":memory:") as reader:
        beside = Beside[str, int](reader, make, lambda: now[0])
        first, again = beside.of("a", LIMIT), beside.of("a", LIMIT)
        now[0] += 19.0
        soon = beside.of("a", LIMIT)
        now[0] += 2.0
        later = beside.of("a", LIMIT)
        beside.close()

    assert (1, 1, 1, 2) == (first, again, soon, later)


def test_what_fails_leaves_what_was_known() -> None:
    now, fails = [0.0], [False]

    def make(_: Ledger, key: str) -> str:
        if fails[0]:
            raise LedgerError("it is away")
        return key

    with LedgerReader(":memory:") as reader:
        beside = Beside[str, str](reader, make, lambda: now[0])
        known = beside.of("a", LIMIT)
        now[0], fails[0] = 100.0, True
        assert (known, "a") == ("a", beside.of("a", LIMIT))
        assert beside.of("b", LIMIT) is None
        beside.close()
