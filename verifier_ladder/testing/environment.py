"""The conformance kit for environments: what every one of them must do, as ready-made tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from verifier_ladder.candidate import Action, Terminate, ToolCall
from verifier_ladder.errors import ConfigError
from verifier_ladder.taskenvironment import Environment, StepResult
from verifier_ladder.testing.hostile import NUMBERS, TEXTS

Make = Callable[[], Environment]


class EnvironmentTestCase:
    """Tests that every environment must pass. Subclass it; override `make` and `actions`.

    For example::

        class TestMaze(EnvironmentTestCase):
            @pytest.fixture
            def make(self):
                return lambda: Maze(rooms=5)

            @pytest.fixture
            def actions(self):
                return ["left", vl.ToolCall("look", {"at": "door"}), "right"]
    """

    seeds: Sequence[int] = (0, 1, 2**31)
    hostile: Sequence[str] = (*TEXTS, *NUMBERS)
    """What is written as an action, as the name of a tool, and as an argument of each tool."""

    @pytest.fixture
    def make(self) -> Make:
        """Makes an environment, always alike; override this."""
        raise NotImplementedError("override the fixture `make` with one that makes yours")

    @pytest.fixture
    def actions(self) -> Sequence[Action]:
        """Actions that change its state and are answered; override this."""
        raise NotImplementedError("override the fixture `actions` with some that change its state")

    def test_the_same_seed_and_actions_give_the_same_observations(
        self, make: Make, actions: Sequence[Action]
    ) -> None:
        """In another environment that is made alike, and in the same one after a reset."""
        with make() as one, make() as other:
            for seed in self.seeds:
                assert _episode(one, actions, seed) == _episode(other, actions, seed)
                assert _episode(one, actions, seed) == _episode(one, actions, seed)

    def test_what_follows_a_restored_snapshot_is_what_followed_it_before(
        self, make: Make, actions: Sequence[Action]
    ) -> None:
        """Also in another environment, and after it has gone elsewhere."""
        with make() as one, make() as other:
            for place in range(len(actions)):
                one.reset(self.seeds[-1])
                _taken(one, actions[:place])
                snapshot = one.snapshot()
                followed = _taken(one, actions[place:])
                one.restore(snapshot)
                assert snapshot == one.snapshot()
                assert followed == _taken(one, actions[place:])
                other.restore(snapshot)
                assert followed == _taken(other, actions[place:])

    def test_actions_change_what_a_snapshot_holds(
        self, make: Make, actions: Sequence[Action]
    ) -> None:
        """A snapshot that never differs would make restoring it prove nothing."""
        with make() as environment:
            environment.reset(self.seeds[0])
            before = environment.snapshot()
            _taken(environment, actions)
            assert before != environment.snapshot(), "the actions of this test change nothing"

    def test_what_a_model_writes_is_answered_by_a_step(
        self, make: Make, actions: Sequence[Action]
    ) -> None:
        """Whatever it is; and the environment goes on."""
        calls = [action for action in actions if isinstance(action, ToolCall)]
        with make() as environment:
            for text in self.hostile:
                for action in _hostile(text, calls):
                    environment.reset(self.seeds[0])
                    assert isinstance(environment.step(action), StepResult)
            assert _episode(environment, actions, self.seeds[0])

    def test_nothing_can_be_asked_before_the_first_reset(
        self, make: Make, actions: Sequence[Action]
    ) -> None:
        """There is no state yet."""
        with make() as environment:
            with pytest.raises(ConfigError):
                environment.step(actions[0])
            with pytest.raises(ConfigError):
                environment.snapshot()
            with pytest.raises(ConfigError, match="snapshot"):
                environment.restore(b"")

    def test_closing_is_final(self, make: Make, actions: Sequence[Action]) -> None:
        """And may be done twice."""
        environment = make()
        environment.reset(self.seeds[0])
        snapshot = environment.snapshot()
        environment.close()
        environment.close()
        for ask in (
            environment.reset, environment.snapshot, lambda: environment.step(actions[0]),
            lambda: environment.restore(snapshot),
        ):  # fmt: skip
            with pytest.raises(ConfigError, match="closed"):
                ask()

    def test_no_action_follows_the_end(self, make: Make) -> None:
        """A model that goes on after it has ended is told so by an error of its caller's."""
        with make() as environment:
            environment.reset(self.seeds[0])
            if not environment.step(Terminate("done")).is_last:
                pytest.skip("the declaration that one is done does not end it")
            with pytest.raises(ConfigError, match="over"):
                environment.step("more")


def _episode(environment: Environment, actions: Sequence[Action], seed: int) -> list[StepResult]:
    first = StepResult(environment.reset(seed))
    return [first, *_taken(environment, actions)]


def _taken(environment: Environment, actions: Sequence[Action]) -> list[StepResult]:
    steps: list[StepResult] = []
    for action in actions:
        steps.append(environment.step(action))
        if steps[-1].is_last:
            break
    return steps


def _hostile(text: str, calls: Sequence[ToolCall]) -> list[Action]:
    """A text as an action, and in each place of the calls that are known."""
    made: list[Action] = [text, Terminate(text), ToolCall(text or "-", {text: text})]
    for call in calls:
        made.append(ToolCall(call.name, text))
        if not isinstance(call.arguments, str):
            made += [
                ToolCall(call.name, {**call.arguments, name: text}) for name in call.arguments
            ]
    return made
