"""Groups above the fast tier whose checks fail or are cancelled, and are retried."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from comparing import (
    LONG,
    SOON,
    Asked,
    assert_replays,
    judging,
    latest,
    length,
    opened,
    sample,
    spent,
    values,
)

from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.retrying import Retried, retry
from verifier_ladder.scheduler.withdrawal import Withdrawn

# -- who is cancelled -------------------------------------------------------------------------


def test_a_cancelled_member_leaves_before_its_group_is_decided(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.score([sample("a" * n, n, 4) for n in (1, 2, 3)])
        assert campaign.cancel(step=1, positions=[3]) == Withdrawn(1, 0)
        (last,) = campaign.score([sample("", 0, 4)], deadline=LONG)

    assert last.value == 0
    assert [r.reason for r in latest(ledger)][3] == "it was cancelled"
    assert values(latest(ledger)) == pytest.approx([0, 1 / 3, 2 / 3, 0.3])
    assert [sorted(members) for members in asked] == [["", "a", "aa"]]
    assert_replays(ledger)


def test_the_check_of_a_group_is_cancelled_with_the_last_of_its_members(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a" * n, n, 3) for n in range(3)], deadline=SOON)
        assert campaign.cancel(step=1, positions=[0]) == Withdrawn(1, 0)
        assert campaign.cancel(step=1, positions=[1, 2]) == Withdrawn(2, 1)
        campaign.score([sample("a" * n, n, 3, step=2) for n in (2, 1, 0)], deadline=SOON)
        assert campaign.cancel(step=2, positions=[0]) == Withdrawn(1, 0)
        campaign.resume("simulation")
        campaign.drain(LONG)

    assert [r.reason for r in latest(ledger)] == ["it was cancelled"] * 3
    assert values(latest(ledger, 2)) == pytest.approx([0, 1 / 3, 2 / 3])
    assert_replays(ledger)


def test_a_member_that_waits_for_its_judge_and_for_others_is_cancelled_once(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a" * n, n, 4) for n in range(3)], deadline=SOON)
        assert campaign.cancel(step=1, positions=[2]) == Withdrawn(1, 0)
        told = [r.reward.pending for r in campaign.revisions() if r.position == 2]
        campaign.score([sample("aaaa", 3, 4)], deadline=SOON)
        campaign.resume("simulation")
        campaign.drain(LONG)

    assert told == [True, False]  # It was asked about, and cancelled.
    assert values(latest(ledger)) == pytest.approx([0, 1 / 3, 0.2, 2 / 3])
    assert_replays(ledger)


@pytest.mark.parametrize("is_open", [True, False])
def test_who_was_cancelled_and_asked_about_again_waits_for_no_others(
    asked: Asked, ledger: Ledger, *, is_open: bool
) -> None:
    """Whether the campaign is open when the check is retried, or opened afterwards."""
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a", 0, 3), sample("aa", 1, 3)], deadline=SOON)
        assert campaign.cancel(step=1) == Withdrawn(2, 1)
        campaign.resume("simulation")
        if is_open:
            assert retry(ledger, ledger.checks()).samples == 2
            campaign.drain(LONG)
    if not is_open:
        assert retry(ledger, ledger.checks()).samples == 2
        with opened(ledger, length, judging(asked)) as campaign:
            campaign.drain(LONG)

    assert [(r.value, r.pending) for r in latest(ledger)] == [(0, False), (1 / 2, False)]
    assert_replays(ledger)


# -- who is retried


def test_a_group_that_can_not_be_judged_rejects_nobody_and_is_told_when_it_is_retried(
    asked: Asked, ledger: Ledger
) -> None:
    away = ["today"]
    with opened(ledger, length, judging(asked, away)) as campaign:
        campaign.score(["a", "aa"], groups=["p"] * 2, deadline=SOON)
        campaign.drain(LONG)
        assert [check.state for check in ledger.checks()] == [CheckState.DEAD]
        dead = latest(ledger, 0)
        away.clear()
        assert campaign.retry() == Retried(1, 2)
        campaign.drain(LONG)

    assert [(r.value, r.failed_at) for r in dead] == [(0.1, "verifier"), (0.2, "verifier")]
    assert values(latest(ledger, 0)) == [0, 1 / 2]


def test_members_that_were_cancelled_one_by_one_all_hear_of_the_answer(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a" * n, n, 4) for n in range(3)], deadline=SOON)
        for n in range(3):
            campaign.cancel(step=1, positions=[n])
        campaign.resume("simulation")
        assert retry(ledger, ledger.checks()) == Retried(1, 3)
        campaign.drain(LONG)

    assert values(latest(ledger)) == pytest.approx([0, 1 / 3, 2 / 3])
    assert not any(reward.pending for reward in latest(ledger))
    assert_replays(ledger)


def test_the_check_of_a_part_is_never_asked_again_once_the_whole_group_is_asked_about(
    asked: Asked, ledger: Ledger
) -> None:
    """It was waiting when the rest came, so it is cancelled."""
    with opened(ledger, length, judging(asked)) as campaign:
        campaign.pause("simulation")
        campaign.score([sample("a", 0, 3), sample("aa", 1, 3)], deadline=SOON)
        campaign.score([sample("aaa", 2, 3)], deadline=SOON)
        campaign.resume("simulation")
        campaign.drain(LONG)
        assert retry(ledger, ledger.checks()) == Retried(0, 0)
        campaign.drain(LONG)

    assert [len(members) for members in asked] == [3]
    assert spent(ledger) == pytest.approx(1.0)


def test_where_the_judge_of_a_part_and_of_the_whole_died_the_whole_is_asked_again(
    asked: Asked, ledger: Ledger
) -> None:
    away = ["today"]
    with opened(ledger, length, judging(asked, away)) as campaign:
        for part in ([sample("a", 0, 3), sample("aa", 1, 3)], [sample("aaa", 2, 3)]):
            campaign.score(part, deadline=SOON)
            campaign.drain(LONG)
        away.clear()
        assert campaign.retry() == Retried(1, 3)
        campaign.drain(LONG)

    assert values(latest(ledger)) == pytest.approx([0, 1 / 3, 2 / 3])
    assert [len(members) for members in asked] == [3]
    assert_replays(ledger)


def test_what_was_read_of_a_member_before_it_left_its_group_is_not_believed_any_more(
    asked: Asked, ledger: Ledger
) -> None:
    away = ["today"]
    with opened(ledger, length, judging(asked, away)) as campaign:
        campaign.score([sample("a", 0, 3), sample("aa", 1, 3)], deadline=SOON)
        campaign.drain(LONG)
        campaign.pause("simulation")
        campaign.score([sample("b" * n, n, 2, group="q") for n in (5, 6)], deadline=SOON)
    with opened(ledger, length, judging(asked, away)) as campaign:
        campaign.cancel(step=1, positions=[0, 1])  # Reads what the step waits for.
        away.clear()
        campaign.retry()
        campaign.resume("simulation")
        campaign.drain(LONG)
        told = [r.reward.revision for r in campaign.revisions() if r.position == 0]

    assert [(r.value, r.pending) for r in latest(ledger)[:2]] == [(0, False), (1 / 2, False)]
    assert told == [1, 2, 3, 4]


# -- who was killed ---------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from comparing import LONG, SOON, judging, length, opened, sample
from verifier_ladder.ledger import open_ledger

away = ["today"]
with open_ledger(sys.argv[1]) as ledger, opened(ledger, length, judging([], away)) as campaign:
    campaign.score([sample("a", 0, 3), sample("aa", 1, 3)], deadline=SOON)
    campaign.drain(LONG)
    campaign.pause("simulation")
    away.clear()
    campaign.retry()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return str(request.getfixturevalue("postgresql"))


def test_a_retried_part_gives_way_to_the_whole_after_its_campaign_was_killed(
    place: str, asked: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    support = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, place], env={**os.environ, **support}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    with open_ledger(place) as ledger:
        with opened(ledger, length, judging(asked)) as campaign:
            campaign.score([sample("aaa", 2, 3)], deadline=SOON)
            campaign.resume("simulation")
            campaign.drain(LONG)
            assert retry(ledger, ledger.checks()) == Retried(0, 0)
            campaign.drain(LONG)
        assert values(latest(ledger)) == pytest.approx([0, 1 / 3, 2 / 3])
        assert not any(reward.pending for reward in latest(ledger))
        assert ledger.requests() == []
        assert_replays(ledger)

    assert [len(members) for members in asked] == [3]
    assert "is left out" not in caplog.text
