"""A campaign is cancelled from where it is not open: its conductor is asked through the ledger."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.cancellations import DONE, cancel_from_afar
from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn


@vl.verifier(name="afar-guess", tier="fast", kind="text", version="1", isolation="inline")
def guess(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(name="afar-measure", tier="simulation", kind="text", version="1", isolation="inline")
def measure(candidate: vl.Candidate) -> float:
    return 2.0 * len(candidate.content)


LADDER = vl.Ladder("lengths", [guess, measure], policy="all_tiers")


def opened(place: str) -> vl.Campaign:
    return vl.Campaign.open("one", ladder=LADDER, ledger=place, run="r", workers=1)


@pytest.fixture
def campaign(postgresql: str) -> Iterator[vl.Campaign]:
    """Two samples wait for a tier that is held back."""
    with opened(postgresql) as made:
        made.pause("simulation")
        assert all(reward.pending for reward in made.score(["a", "bb"]))
        yield made


@pytest.fixture
def afar(postgresql: str) -> Iterator[Ledger]:
    """The ledger as another machine sees it."""
    with open_ledger(postgresql) as ledger:
        yield ledger


def cancel(place: str, *options: object) -> Any:
    words = ["campaign", "cancel", "one", "--run", "r", "--ledger", place, "--json"]
    return CliRunner().invoke(app, [*words, *map(str, options)])


@pytest.mark.usefixtures("campaign")
def test_the_ledger_tells_who_conducts(afar: Ledger) -> None:
    said = afar.conductor("one")
    assert said is not None
    assert said.startswith(f"process {os.getpid()} on ")
    assert afar.conductor("another") is None


def test_samples_are_cancelled_by_whoever_conducts(campaign: vl.Campaign, postgresql: str) -> None:
    done = cancel(postgresql, "--position", 1)
    assert (0, {"samples": 1, "checks": 1}) == (done.exit_code, json.loads(done.stdout))
    (revision,) = campaign.revisions()
    assert (revision.position, revision.reward.value, revision.reward.pending) == (1, 2.0, False)

    done = cancel(postgresql)
    assert {"samples": 1, "checks": 1} == json.loads(done.stdout)
    assert 1 == cancel(postgresql).exit_code  # Nothing waits any more.
    campaign.resume("simulation")
    assert [6.0] == [reward.value for reward in campaign.score(["ccc"], deadline=300)]


def test_a_conductor_that_is_slow_to_answer_still_does_it(
    campaign: vl.Campaign, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.scheduler.cancellations.PATIENCE", 0.0)
    done = cancel(postgresql)
    assert 1 == done.exit_code
    assert f"process {os.getpid()} on" in done.stderr
    assert "has not answered yet" in done.stderr

    monkeypatch.undo()
    cancel(postgresql)  # They are done in the order in which they were asked for.
    assert {0, 1} == {revision.position for revision in campaign.revisions()}


def test_what_was_asked_of_nobody_is_done_once_by_who_opens_it_next(
    campaign: vl.Campaign, afar: Ledger, postgresql: str
) -> None:
    campaign.close()
    assert afar.conductor("one") is None
    assert cancel_from_afar(afar, "one", Wanted("r"), at_work=False, patience=0.0) is None

    for text in ("ccc", "dddd"):
        with opened(postgresql) as again:
            assert [True] == [reward.pending for reward in again.score([text])]
    waiting = {request.step for request in afar.requests(campaign="one")}
    assert waiting == {1, 2}  # Newer samples of the run are none of its business.
    (entry,) = afar.entries(kind=DONE)
    assert afar.read(entry).facts["samples"] == 2


@pytest.mark.usefixtures("campaign")
def test_samples_that_do_not_wait_are_not_counted(afar: Ledger) -> None:
    first = Wanted("r", 0, frozenset([0]))
    assert cancel_from_afar(afar, "one", first, at_work=True) == Withdrawn(1, 1)
    for wanted in (first, Wanted("no such run"), Wanted("r", 7)):
        assert cancel_from_afar(afar, "one", wanted, at_work=False) == Withdrawn(0, 0)
