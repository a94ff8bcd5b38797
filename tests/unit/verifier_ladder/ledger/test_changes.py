"""What came between two sizes of the log is counted, and corrections are named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.changes import changes
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, key, score_block, verdict_row
from verifier_ladder.verdict import Verdict


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqlLedger]:
    """Five entries: two calls, a failure, a correction, a correction of nothing."""
    crash = verdict_row("c", Verdict.abstain("crashed", failed_at="engine"))
    with open_ledger(tmp_path / "ledger.db") as made:
        assert isinstance(made, SqlLedger)
        made.append(score_block(["a"]))
        made.append(score_block(["b", "c"], step=1))
        made.append(Block("check", CAMPAIGN, (), [crash]))
        for word in ("a", "new"):
            corrected = verdict_row(word, Verdict.reject("no"))
            made.append(Block("review", CAMPAIGN, (), [corrected]))
        made.sequence()
        yield made


def test_all_that_came_is_counted(ledger: SqlLedger) -> None:
    found = changes(ledger, 1)

    assert (1, 5, 2) == (found.first, found.last, found.rewards)
    assert {(CAMPAIGN, "score"): 1, (CAMPAIGN, "check"): 1, (CAMPAIGN, "review"): 2} == dict(
        found.entries
    )
    assert {
        ("length", "1", "accept"): 2, ("length", "1", "failed"): 1, ("length", "1", "reject"): 2
    } == dict(found.verdicts)  # fmt: skip


def test_a_correction_tells_what_it_replaced(ledger: SqlLedger) -> None:
    (correction,) = changes(ledger, 0).corrections

    assert key("check a").hex() == correction.check
    assert (1.0, "no") == (correction.before.score, correction.after.reason)


def test_nothing_comes_between_a_size_and_itself(ledger: SqlLedger) -> None:
    assert {} == dict(changes(ledger, 3, 3).entries)


@pytest.mark.parametrize(("first", "last"), [(0, 6), (4, 3), (-1, 2), (9, None)])
def test_what_is_no_part_of_the_log_is_refused(
    ledger: SqlLedger, first: int, last: int | None
) -> None:
    with pytest.raises(ConfigError, match="is no part of it"):
        changes(ledger, first, last)
