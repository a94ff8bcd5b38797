"""The queue of one reader, page by page: however many cases wait, few are read."""

from collections.abc import Iterator
from typing import Any

import pytest

from verifier_ladder.casework.opencases import MOST_LOOKED_AT
from verifier_ladder.casework.reviewing import ReviewQueue
from verifier_ladder.keys import check_key, content_key, task_digest
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckRow
from verifier_ladder.reviews import Reviews
from verifier_ladder.scheduler.candidates import turns_digest
from verifier_ladder.testing.records import CAMPAIGN, NOW, check_row, claim, enqueue
from verifier_ladder.tiers.world.expert import ExpertCase
from verifier_ladder.verdict import Verdict

WAITING = MOST_LOOKED_AT + 200
READ = MOST_LOOKED_AT + 100
SIZE = 25
LADDER = Ladder("l", [ExpertCase(kind="text", readers=2)])


def case(number: int) -> CheckRow:
    """A case whose keys stand for what it holds; the first is the most valuable."""
    row = check_row(f"{number}", verifier="expert-case", tier=3, priority=float(WAITING - number))
    content = content_key("text", f"{number}")
    key = check_key(row.digest, content, task_digest({}), turns_digest(()))
    return row._replace(check_key=key, content_key=content)


@pytest.fixture(scope="module")
def asked() -> Iterator[tuple[Ledger, list[CheckRow]]]:
    """A ledger and its open cases, the most valuable first, of which ada has read the first."""
    cases = [case(number) for number in range(WAITING)]
    with open_ledger(None) as ledger:
        enqueue(ledger, *cases)
        ledger.wait(claim(ledger, limit=WAITING), deadline=None, now=NOW)
        said = Verdict.accept(1.0)
        Reviews(ledger, CAMPAIGN, LADDER).hand_in("ada", [(case, said) for case in cases[:READ]])
        yield ledger, cases


def queue(ledger: Ledger, reader: str) -> ReviewQueue:
    return ReviewQueue(Reviews(ledger, CAMPAIGN, LADDER), ledger, CAMPAIGN, None, reader)


@pytest.fixture
def rows_read(
    asked: tuple[Ledger, list[CheckRow]], monkeypatch: pytest.MonkeyPatch
) -> list[CheckRow]:
    """The rows of the work queue that are read from now on."""
    ledger, read = asked[0], list[CheckRow]()
    checks = ledger.checks

    def noted(**wanted: Any) -> list[CheckRow]:
        rows = checks(**wanted)
        read.extend(rows)
        return rows

    monkeypatch.setattr(ledger, "checks", noted)
    return read


def test_a_page_lists_the_most_valuable_cases_and_says_where_the_next_one_begins(
    asked: tuple[Ledger, list[CheckRow]], rows_read: list[CheckRow]
) -> None:
    (ledger, cases), found, after = asked, [], None
    bob = queue(ledger, "bob")
    page = bob.page(SIZE)
    assert [case.check_key for case in cases[:SIZE]] == [case.check_key for case in page.cases]
    assert len(rows_read) < 6 * SIZE
    while True:
        page = bob.page(200, after=after)
        found += [case.check_key for case in page.cases]
        if (after := page.after) is None:
            break

    assert [case.check_key for case in cases] == found


def test_who_has_read_all_that_a_page_looks_at_is_told_where_to_look_on(
    asked: tuple[Ledger, list[CheckRow]], rows_read: list[CheckRow]
) -> None:
    ledger, cases = asked
    ada = queue(ledger, "ada")
    first = ada.page(SIZE)

    assert ([], cases[MOST_LOOKED_AT - 1].check_key) == (first.cases, first.after)
    assert len(rows_read) == MOST_LOOKED_AT
    second = ada.page(SIZE, after=first.after)
    assert cases[READ].check_key == second.cases[0].check_key
    assert second.after == cases[READ + SIZE - 1].check_key


def test_the_next_case_of_somebody_who_has_read_many_is_found_by_their_keys_alone(
    asked: tuple[Ledger, list[CheckRow]], rows_read: list[CheckRow]
) -> None:
    ledger, cases = asked
    found = queue(ledger, "ada").first()

    assert found is not None
    assert cases[READ].check_key == found.check_key
    assert 1 == sum(bool(row.payload) for row in rows_read)


def test_a_case_is_named_by_the_start_of_its_key_without_reading_others(
    asked: tuple[Ledger, list[CheckRow]], rows_read: list[CheckRow]
) -> None:
    ledger, cases = asked
    named = cases[READ].check_key.hex()[:11].upper()

    assert [cases[READ].check_key] == [c.check_key for c in queue(ledger, "ada").free(named)]
    assert 2 == len(rows_read)
    assert [] == list(queue(ledger, "ada").free("no key"))
