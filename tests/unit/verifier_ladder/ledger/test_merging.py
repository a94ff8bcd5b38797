"""A team's ledgers become one: nothing is paid twice, and everything keeps its source."""

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.merging import KIND, merge
from verifier_ladder.ledger.records import Block, Sealing
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, CANON, key, score_block, verdict_row
from verifier_ladder.verdict import Verdict


def opened(path: Path) -> SqlLedger:
    ledger = open_ledger(path)
    assert isinstance(ledger, SqlLedger)
    return ledger


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[SqlLedger]:
    with opened(tmp_path / "mine.db") as ledger:
        ledger.append(score_block(["a", "bb"]))
        ledger.sequence()
        yield ledger


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[SqlLedger]:
    with opened(tmp_path / "theirs.db") as ledger:
        ledger.open_campaign(CAMPAIGN, {"name": "another ladder"}, key("another"))
        ledger.append(score_block(["bb", "ccc"]))
        ledger.sequence()
        yield ledger


def scores(ledger: SqlLedger, *words: str) -> list[float | None]:
    found = ledger.verdicts([key(f"check {word}") for word in words])
    return [v.score if (v := found.get(key(f"check {word}"))) else None for word in words]


def review(ledger: SqlLedger, word: str, score: float) -> None:
    ledger.append(Block("review", CAMPAIGN, (), [verdict_row(word, Verdict.accept(score))]))


def test_verdicts_of_others_are_cache_hits(mine: SqlLedger, theirs: SqlLedger) -> None:
    assert (1, 2, 0) == merge(mine, theirs)

    assert [1.0, 2.0, 3.0] == scores(mine, "a", "bb", "ccc")
    assert mine.aliases(CANON, [key("raw ccc")])[key("raw ccc")].content_key == key("ccc")


def test_the_history_keeps_the_source(mine: SqlLedger, theirs: SqlLedger) -> None:
    merge(mine, theirs)

    (entry,) = mine.entries(kind=KIND)
    (source,) = theirs.entries(kind="score")
    facts = mine.read(entry).facts
    assert f"merged/{CAMPAIGN}" == entry.campaign
    assert (theirs.origin(), source.id, source.leaf.hex(), "score", source.recorded_at) == tuple(
        facts[name] for name in ("origin", "entry", "leaf", "kind", "recorded_at")
    )


def test_runs_and_rewards_stay_where_they_were_made(mine: SqlLedger, theirs: SqlLedger) -> None:
    merge(mine, theirs)

    assert 2 == mine.count_samples(CAMPAIGN)
    assert [] == mine.campaigns()


def test_nothing_is_recorded_earlier_than_where_it_comes_from(
    mine: SqlLedger, theirs: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = theirs.clock() + 1000.0
    theirs.append(score_block(["dddd"], step=1), sealing=Sealing(told, inf))
    monkeypatch.setattr(mine, "clock", lambda: told - 4.0)
    merge(mine, theirs)

    assert told == mine.latest()[1]


@pytest.mark.parametrize("ahead", [1000.0, 1e300])
def test_entries_of_a_time_that_has_not_come_are_refused(
    mine: SqlLedger, theirs: SqlLedger, ahead: float
) -> None:
    told = theirs.clock() + ahead
    theirs.append(score_block(["dddd"], step=1), sealing=Sealing(told, inf))

    with pytest.raises(ConfigError, match="s ahead of the clock"):
        merge(mine, theirs)

    assert [] == list(mine.entries(kind=KIND))


def test_merging_again_brings_only_what_is_new(mine: SqlLedger, theirs: SqlLedger) -> None:
    merge(mine, theirs)
    assert (0, 0, 1) == merge(mine, theirs)

    theirs.append(score_block(["dddd"], step=1))
    assert (1, 1, 1) == merge(mine, theirs)
    assert [4.0] == scores(mine, "dddd")


def test_merging_back_brings_nothing_twice(mine: SqlLedger, theirs: SqlLedger) -> None:
    merge(mine, theirs)
    assert (1, 2, 1) == merge(theirs, mine)
    assert (0, 0, 2) == merge(mine, theirs)

    assert [1.0, 2.0, 3.0] == scores(theirs, "a", "bb", "ccc")


def test_what_came_by_two_ways_comes_once(
    mine: SqlLedger, theirs: SqlLedger, tmp_path: Path
) -> None:
    with opened(tmp_path / "third.db") as third:
        merge(third, theirs)
        merge(mine, third)
        assert (0, 0, 1) == merge(mine, theirs)


def test_my_own_verdict_stays(mine: SqlLedger, theirs: SqlLedger) -> None:
    theirs.append(Block("check", CAMPAIGN, (), [verdict_row("a", Verdict.accept(99.0))]))
    merge(mine, theirs)

    assert [1.0] == scores(mine, "a")


def test_a_newer_correction_of_others_counts(mine: SqlLedger, theirs: SqlLedger) -> None:
    review(theirs, "a", 7.0)
    merge(mine, theirs)

    assert [7.0] == scores(mine, "a")


def test_an_older_correction_of_others_does_not(mine: SqlLedger, theirs: SqlLedger) -> None:
    review(theirs, "a", 7.0)
    review(mine, "a", 8.0)
    merge(mine, theirs)

    assert [8.0] == scores(mine, "a")
    assert [] == mine.verify().problems


def test_a_merged_ledger_is_intact(mine: SqlLedger, theirs: SqlLedger) -> None:
    review(theirs, "bb", 7.0)
    merge(mine, theirs)
    mine.sequence()

    assert [] == mine.verify().problems


@given(words=st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True), max_size=5))
@settings(max_examples=15)
def test_in_whatever_order_all_verdicts_are_known(
    words: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("many")
    with opened(folder / "mine.db") as mine:
        for number, block in enumerate(words):
            with opened(folder / f"{number}.db") as other:
                other.append(score_block(block))
                merge(mine, other)

        known = {word for block in words for word in block}
        assert [1.0] * len(known) == scores(mine, *known)
        assert [] == mine.verify().problems
