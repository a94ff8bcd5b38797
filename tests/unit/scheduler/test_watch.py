"""Watches: waiting for revisions."""

from threading import Event, Thread

import pytest

from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.watch import Watches

PENDING = Reward(0.5, pending=True)
FINAL = Reward(1.0, revision=1)
KEY = ("run", 0, 3)


@pytest.fixture
def watches() -> Watches:
    """Watches that hold one pending reward."""
    made = Watches()
    made.want([KEY])
    made.open("run", 0, [3, 4], [PENDING, PENDING])
    return made


def never() -> bool:
    return False


def test_a_wait_ends_when_the_last_revision_is_there(watches: Watches) -> None:
    about_to_wait = Event()

    def idle() -> bool:
        about_to_wait.set()
        return False

    thread = Thread(target=watches.wait, args=([KEY], 60.0, idle))
    thread.start()
    assert about_to_wait.wait(300)
    watches.revise(KEY, FINAL)
    thread.join(300)

    assert not thread.is_alive()
    assert {KEY: FINAL} == watches.close([KEY])


def test_a_wait_ends_when_nothing_more_will_happen(watches: Watches) -> None:
    watches.wait([KEY], None, lambda: True)

    assert {KEY: PENDING} == watches.close([KEY])


def test_a_nudge_makes_a_waiter_look_again(watches: Watches) -> None:
    is_idle, asked = Event(), Event()

    def idle() -> bool:
        asked.set()
        return is_idle.is_set()

    thread = Thread(target=watches.wait, args=([KEY], 60.0, idle))
    thread.start()
    assert asked.wait(300)
    is_idle.set()
    watches.nudge()
    thread.join(300)

    assert not thread.is_alive()


def test_a_wait_ends_at_its_deadline(watches: Watches) -> None:
    watches.wait([KEY], 0.0, never)

    assert {KEY: PENDING} == watches.close([KEY])


def test_a_revision_that_is_itself_revised_keeps_the_latest(watches: Watches) -> None:
    watches.revise(KEY, Reward(0.7, revision=1, pending=True))
    watches.revise(KEY, Reward(0.9, revision=2))
    watches.wait([KEY], None, never)

    assert [0.9] == [reward.value for reward in watches.close([KEY]).values()]


def test_samples_that_nobody_waits_for_are_not_kept(watches: Watches) -> None:
    watches.revise(("run", 0, 4), FINAL)

    assert not watches.close([("run", 0, 4)])


def test_a_reward_that_was_final_at_once_is_not_waited_for() -> None:
    watches = Watches()
    watches.want([KEY])
    watches.open("run", 0, [3], [FINAL])

    watches.wait([KEY], None, never)

    assert not watches.close([KEY])


def test_after_closing_nothing_is_kept(watches: Watches) -> None:
    watches.close([KEY])
    watches.revise(KEY, FINAL)
    watches.open("run", 0, [3], [PENDING])

    assert not watches.close([KEY])


def test_a_caller_that_leaves_takes_nothing_from_another_who_wants_the_same(
    watches: Watches,
) -> None:
    watches.want([KEY])
    watches.close([KEY])
    watches.revise(KEY, FINAL)

    assert {KEY: FINAL} == watches.close([KEY])
    assert not watches.is_wanted(KEY)
