"""What is counted as an entry is written is what is counted when it is read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.counting import Counted
from verifier_ladder.ledger.encoding import decode, encode
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, candidate_row, score_block, verdict_row
from verifier_ladder.verdict import Verdict

ODD: list[Any] = [
    {"waiting": np.array([])}, {"waiting": np.array([1, 2])}, {"waiting": ()},
    {"waiting": object()},
    {"waiting": float("nan")}, {"waiting": {}}, {"members": np.array([1])}, {"members": (1,)},
    {"members": [1]}, {"$bytes": "waiting"}, {"waiting": np.False_},
]  # fmt: skip
"""Evidence that an entry keeps in another form."""


def counted(*blocks: Block) -> Counted:
    made = Counted()
    for block in blocks:
        made.add(block)
    return made


@pytest.mark.parametrize("evidence", ODD)
def test_odd_evidence_is_counted_as_the_entry_keeps_it(evidence: Any) -> None:
    said = [Verdict.accept(evidence=evidence), Verdict.abstain("why", evidence=evidence)]
    rows = [verdict_row(f"w{n}", verdict) for n, verdict in enumerate(said)]
    block = Block("score", CAMPAIGN, [candidate_row("x", verdict=said[1])], rows)

    assert counted(block).verdicts == counted(decode(encode(block, 1.0))).verdicts


def test_rewards_of_any_number_type_are_counted_alike() -> None:
    block = score_block(["a", "b"], kind="revision")
    block.rewards = [reward._replace(value=np.float64(0.1)) for reward in block.rewards]
    block.facts = {"previous": [np.float64(0.7), None]}

    assert counted(block).steps == counted(decode(encode(block, 1.0))).steps


@pytest.mark.parametrize("previous", [[1.0], "ab", [1.0, "b"], None, {"a": 1.0, "b": 2.0}])
def test_what_no_program_tells_of_earlier_rewards_is_not_counted(previous: Any) -> None:
    block = score_block(["a", "b"], kind="revision")
    block.facts = {"previous": previous}

    (row, _) = counted(block).steps.values()
    assert (row.revised, row.unsummed, row.mean) == (2, 2, None)


def test_a_boundary_that_no_database_can_hold_is_counted_by_what_can_be_shown() -> None:
    failed = Verdict.abstain("why", failed_at="to\0o\ud800l" + "x" * 100)

    ((key, number),) = counted(
        Block("check", CAMPAIGN, (), [verdict_row("a", failed)])
    ).verdicts.items()

    assert (number, len(key[-1])) == (1, 60)
    assert key[-1].isprintable()


def test_entries_may_be_counted_in_any_order_and_together() -> None:
    blocks = [score_block(["a"], step=n) for n in range(3)]
    for block, value in zip(blocks, (0.1, 1e9 / 3, -0.7), strict=True):
        block.rewards = [block.rewards[0]._replace(value=value)]

    there, back = counted(*blocks), counted(*blocks[::-1])

    assert (there.verdicts, there.steps) == (back.verdicts, back.steps)


@pytest.mark.parametrize("ended", [[0, 0, 1, 2, -1], [True, 1.0, "0", None, 0], [0]])
def test_only_those_that_had_no_reward_can_have_waited_for_none(ended: Any) -> None:
    block = score_block(["a", "b"], kind="revision")
    block.facts = {"previous": [None, 1.0], "ended": ended}

    (row, _) = counted(block).steps.values()
    assert (row.known, row.waiting) == (1, 0)


@pytest.mark.parametrize("ended", [3, "ab", {"0": 0}, None])
def test_what_no_program_tells_of_who_waited_is_not_believed(ended: Any) -> None:
    block = score_block(["a", "b"], kind="revision")
    block.facts = {"previous": [None, 1.0], "ended": ended}

    (row, _) = counted(block).steps.values()
    assert row.waiting == -1


def test_sums_that_an_earlier_program_did_not_carry_are_the_same_sums(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        ledger.append(score_block(["a"]))
        with ledger._writing() as connection:
            connection.exec_driver_sql(
                "UPDATE step_count SET whole = whole - 3, part = part + ?", (3 * 2**40,)
            )
        assert [] == ledger.verify().problems
        ledger.append(score_block(["b"], step=1))

        (row,) = ledger.step_counts(CAMPAIGN, whole_runs=True)
        assert (row.whole, row.part) == (2, 0)
        assert [] == ledger.verify().problems
