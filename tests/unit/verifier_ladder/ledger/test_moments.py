"""What was known at a checkpoint stays known, whatever comes later."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, key, score_block, verdict_row
from verifier_ladder.verdict import Verdict


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqlLedger]:
    with open_ledger(tmp_path / "ledger.db") as made:
        assert isinstance(made, SqlLedger)
        yield made


def tell(ledger: SqlLedger, kind: str, word: str, score: float) -> int:
    """Record a verdict; the size of the log with it."""
    ledger.append(Block(kind, CAMPAIGN, (), [verdict_row(word, Verdict.accept(score))]))
    ledger.sequence()
    return ledger.size()


def test_verdicts_are_those_of_the_moment(ledger: SqlLedger) -> None:
    keys = [key("check a"), key("check b")]
    first = tell(ledger, "score", "a", 1.0)
    second = tell(ledger, "review", "a", 2.0)
    third = tell(ledger, "score", "b", 3.0)

    found = [
        {at: verdict.score for at, verdict in ledger.verdicts_as_of(keys, size).items()}
        for size in (0, first, second, third)
    ]
    assert found == [{}, {keys[0]: 1.0}, {keys[0]: 2.0}, {keys[0]: 2.0, keys[1]: 3.0}]


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["score", "review"]), st.sampled_from("ab"), st.integers(0, 9)),
        max_size=8,
    )
)
@settings(max_examples=20)
def test_a_moment_is_what_the_cache_said_then(
    steps: list[tuple[str, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    keys = [key("check a"), key("check b")]
    with open_ledger(tmp_path_factory.mktemp("moments") / "ledger.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        then = [(0, ledger.verdicts(keys))]
        for kind, word, score in steps:
            then.append((tell(ledger, kind, word, float(score)), ledger.verdicts(keys)))

        for size, said in then:
            assert said == ledger.verdicts_as_of(keys, size)


def test_rewards_are_those_of_the_moment(ledger: SqlLedger) -> None:
    ledger.append(score_block(["a", "bb"]))
    ledger.sequence()
    before = ledger.size()
    ledger.append(score_block(["dddd"], kind="revision", first=1, revision=1))
    ledger.sequence()

    def rewards(size: int) -> list[float | None]:
        found = ledger.recorded_as_of(CAMPAIGN, "run", 0, size)
        return [found[position].reward.value for position in sorted(found)]

    assert [[], [1.0, 2.0], [1.0, 4.0]] == [rewards(n) for n in (0, before, ledger.size())]
