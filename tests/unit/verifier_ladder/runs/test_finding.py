"""Finding a run."""

import pytest
from recordedruns import RecordedRun, Told

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.runs import find_run, list_runs


@pytest.fixture
def ledger() -> Ledger:
    """Two campaigns with a run of one name, a shadow, and a run that only its samples name."""
    ledger = open_ledger(":memory:")
    for campaign, run in (("a", "one"), ("b", "one"), ("b", "two"), ("b~shadow", "two")):
        RecordedRun(ledger, campaign, run={"name": run}).score([Told("x", 1.0)])
    book = RecordedRun(ledger, "b", run={"name": "two"})
    book.name = "only samples"
    book.score([Told("y", 1.0)])
    return ledger


def test_the_newest_run_that_is_no_shadows_is_meant(ledger: Ledger) -> None:
    assert ("b", "two") == (find_run(ledger).campaign.name, find_run(ledger).name)
    assert ["one", "one", "two"] == [run.name for run in list_runs(ledger)]


def test_a_name_in_two_campaigns_needs_one_of_them(ledger: Ledger) -> None:
    with pytest.raises(ConfigError, match="campaigns a, b; say which"):
        find_run(ledger, "one")

    assert "a" == find_run(ledger, "one", "a").campaign.name


def test_a_run_that_was_never_begun_is_found_by_its_samples(ledger: Ledger) -> None:
    found = find_run(ledger, "only samples")

    assert ("b", {}, None) == (found.campaign.name, found.facts, found.recorded_at)


def test_a_shadows_run_is_found_by_its_campaign(ledger: Ledger) -> None:
    assert "b~shadow" == find_run(ledger, "two", "b~shadow").campaign.name


def test_an_unknown_name_lists_those_there_are(ledger: Ledger) -> None:
    with pytest.raises(ConfigError, match="no run 'three'; the newest are: one, one, two"):
        find_run(ledger, "three")
    with pytest.raises(ConfigError, match="campaign 'a' holds no run 'two'"):
        find_run(ledger, "two", "a")


def test_an_empty_ledger_holds_no_run() -> None:
    with pytest.raises(ConfigError, match="the ledger holds no run yet"):
        find_run(open_ledger(":memory:"))
