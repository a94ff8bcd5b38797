"""Homes: where a ledger's checks are run."""

from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.engines.home import HomeClosed, become_home
from verifier_ladder.scheduler.engines.remote import HomeLostError, RemoteConductor


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


LADDER = vl.Ladder("lengths", [length])


def test_a_home_that_everybody_has_left_takes_nobody(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        home = become_home(ledger)
        assert home is not None
        home.conductor("one", LADDER)
        home.conductor("one", LADDER)

        assert not home.leave("one")
        assert home.leave("one")

        with pytest.raises(HomeClosed, match="left"):
            home.conductor("one", LADDER)
        home.close()


def test_one_that_comes_while_the_last_user_leaves_is_sent_on(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        home = become_home(ledger)
        assert home is not None
        home.conductor("one", LADDER)
        assert home.leave("one")  # It still listens: its user closes it next.

        with pytest.raises(HomeLostError):
            RemoteConductor(ledger.url, "one", LADDER)
        home.close()


def test_a_campaign_can_be_opened_again_after_everybody_has_left(tmp_path: Path) -> None:
    for _ in range(3):
        with vl.Campaign.open("one", ladder=LADDER, ledger=tmp_path / "ledger.db") as campaign:
            assert [3.0] == [reward.value for reward in campaign.score(["abc"])]


def test_callers_of_one_run_that_name_no_step_get_different_ones(tmp_path: Path) -> None:
    where: dict[str, Any] = {"ladder": LADDER, "ledger": tmp_path / "ledger.db", "run": "shared"}
    with vl.Campaign.open("one", **where) as first, vl.Campaign.open("one", **where) as second:
        first.score(["a"], step=0)
        assert [[2.0], [3.0], [4.0]] == [
            [reward.value for reward in campaign.score([text])]
            for campaign, text in ((second, "bb"), (first, "ccc"), (second, "dddd"))
        ]
        assert {4, 5} == {first.take_step(), second.take_step()}
        assert 4 == first.ledger.next_step("one", "shared")
