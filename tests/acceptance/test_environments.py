"""An environment is what an agent's actions act on, so that a verifier can take them again.

The same seed and actions give the same observations, a snapshot brings back all that later steps
depend on, and whatever a model writes is answered. `EnvironmentTestCase` finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import verifier_ladder as vl
from verifier_ladder.candidate import Action
from verifier_ladder.taskenvironment import replay
from verifier_ladder.testing.environment import EnvironmentTestCase
from verifier_ladder.tiers.desk import SqliteDesk

ACTIONS = ("left", "up", "right", "right")


class Corridor(vl.Environment):
    """Rooms in a row; the way out is at the end that the seed chooses."""

    def begin(self, seed: int) -> str:
        self.room, self.exit = 2, 4 * (seed % 2)
        return "You are in room 2."

    def act(self, action: Action) -> vl.StepResult:
        if isinstance(action, vl.Terminate):
            return vl.StepResult("You stay.", terminated=True)
        if action not in ("left", "right"):
            return vl.StepResult("You can go left or right.", failed=True)
        self.room += 1 if action == "right" else -1
        return vl.StepResult(f"You are in room {self.room}.", terminated=self.room == self.exit)

    def save(self) -> bytes:
        return b"%d %d" % (self.room, self.exit)

    def load(self, saved: bytes) -> None:
        self.room, self.exit = map(int, saved.split())


class TestCorridor(EnvironmentTestCase):
    """All that the kit asks of an environment, asked of one that does it."""

    @pytest.fixture
    def make(self) -> Callable[[], vl.Environment]:
        return Corridor

    @pytest.fixture
    def actions(self) -> Sequence[Action]:
        return ACTIONS


class Counting(Corridor):
    """What it says depends on episodes that are over."""

    episodes = 0

    def begin(self, seed: int) -> str:
        Counting.episodes += 1
        return f"{super().begin(seed)} This is visit {Counting.episodes}."


class Forgetful(Corridor):
    """Its snapshots bring nothing back."""

    def load(self, saved: bytes) -> None: ...


class Idle(Corridor):
    """Nothing that is done in it has an effect."""

    def act(self, action: Action) -> vl.StepResult:
        return vl.StepResult(f"You have tried {action!r:.10}.")


class Strict(Corridor):
    """Raises at what a model writes, where it can't be done."""

    def act(self, action: Action) -> vl.StepResult:
        if action not in ACTIONS:
            raise ValueError(f"there is no way {action!r:.20}")
        return super().act(action)


@pytest.mark.parametrize(
    ("broken", "rule", "error"),
    [
        (
            Counting,
            EnvironmentTestCase.test_the_same_seed_and_actions_give_the_same_observations,
            AssertionError,
        ),
        (
            Forgetful,
            EnvironmentTestCase.test_what_follows_a_restored_snapshot_is_what_followed_it_before,
            AssertionError,
        ),
        (Idle, EnvironmentTestCase.test_actions_change_what_a_snapshot_holds, AssertionError),
        (Strict, EnvironmentTestCase.test_what_a_model_writes_is_answered_by_a_step, ValueError),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_kit_catches_one_that_breaks_the_contract(
    broken: type[Corridor],
    rule: Callable[[EnvironmentTestCase, Callable[[], vl.Environment], Sequence[Action]], None],
    error: type[Exception],
) -> None:
    rule(EnvironmentTestCase(), Corridor, ACTIONS)
    with pytest.raises(error):
        rule(EnvironmentTestCase(), broken, ACTIONS)


def test_a_trajectory_is_taken_again_and_what_it_claims_is_not_believed() -> None:
    ship = {
        "name": "ship", "sql": "UPDATE orders SET shipped = 1 WHERE id = :order",
        "parameters": ["order"], "least_changes": 1,
    }  # fmt: skip
    claimed = [
        vl.Turn(vl.ToolCall("ship", {"order": 8}), '{"changed": 1}', failed=False, reward=1.0),
        vl.Turn(vl.Terminate("done")),
        vl.Turn(vl.ToolCall("ship", {"order": 7})),
    ]
    orders = "CREATE TABLE orders (id, shipped); INSERT INTO orders VALUES (7, 0)"
    with SqliteDesk(orders, tools=[ship]) as desk:
        first, last = replay(desk, claimed)

        assert (True, None) == (first.failed, first.reward)
        assert last.terminated
        assert {"orders": [(7, 0)]} == desk.tables()
