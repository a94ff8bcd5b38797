"""Environments: what a trajectory's actions act on, so that they can be taken again.

A verifier that judges what actions brought about must not believe what a candidate says of it.
It resets an environment, takes the same actions in it, and looks at the state that they leave.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from types import TracebackType
from typing import Self, final

from verifier_ladder.arguments import check_fields, check_values
from verifier_ladder.candidate import Action, Terminate, ToolCall, Turn
from verifier_ladder.errors import ConfigError


@dataclass(frozen=True, slots=True)
class StepResult:
    """What an environment says of one action.

    Example:
        >>> StepResult("There is a door.").terminated
        False
    """

    observation: str = ""
    reward: float | None = None
    """None where the environment gives none."""
    terminated: bool = False
    """Whether the episode came to its own end."""
    truncated: bool = False
    """Whether it was ended by a limit."""
    failed: bool | None = None
    """Whether the action could not be taken; None where that has no meaning."""

    def __post_init__(self) -> None:
        """Refuse what a turn could not hold."""
        check_fields(self)

    @property
    def is_last(self) -> bool:
        """Whether no action may follow."""
        return self.terminated or self.truncated


class Environment(ABC):
    """Base class of environments. A subclass overrides `begin`, `act`, `save`, `load` and `end`.

    **The contract.** The same seed and the same actions give the same observations, in every
    process. `restore` brings back all that later steps depend on. An action that can't be taken
    is told by a `StepResult` and never by an error: actions are what a model wrote. After `close`
    nothing can be asked, and nothing is left behind.

    `EnvironmentTestCase` of `verifier_ladder.testing.environment` tries all of it. An environment
    is used by one thread at a time.

    Example:
        >>> class Counter(Environment):
        ...     def begin(self, seed):
        ...         self.count = seed
        ...         return f"at {seed}"
        ...     def act(self, action):
        ...         self.count += action == "up"
        ...         return StepResult(f"at {self.count}", terminated=self.count == 9)
        ...     def save(self): return str(self.count).encode()
        ...     def load(self, saved): self.count = int(saved)
        >>> with Counter() as counter:
        ...     counter.reset(seed=7)
        ...     before = counter.snapshot()
        ...     counter.step("up").observation
        ...     counter.restore(before)
        ...     counter.step("down").observation
        'at 7'
        'at 8'
        'at 7'
    """

    _state = "new"

    @abstractmethod
    def begin(self, seed: int) -> str:
        """Begin an episode and forget the one before; returns the first observation."""

    @abstractmethod
    def act(self, action: Action) -> StepResult:
        """Take an action."""

    @abstractmethod
    def save(self) -> bytes:
        """All that later steps depend on."""

    @abstractmethod
    def load(self, saved: bytes) -> None:
        """Bring back what `save` returned, in this or another environment made alike."""

    def end(self) -> None:  # noqa: B027 - most have nothing to give back
        """Give back what it holds."""

    @final
    def reset(self, seed: int = 0) -> str:
        """Begin an episode.

        Args:
            seed: What all chance in it follows from.

        Returns:
            The first observation.

        Raises:
            ConfigError: If the environment is closed, or the seed is no whole number from 0 on.
        """
        check_values("reset", _SEED, {"seed": seed}, seed=0)
        self._allow("new", "open", "over")
        first = self.begin(seed)
        self._state = "open"
        return first

    @final
    def step(self, action: Action) -> StepResult:
        """Take an action.

        Args:
            action: Text, a call of a tool, or the declaration that the model is done.

        Raises:
            ConfigError: If no episode has begun, it is over, the environment is closed, or the
                action is none.
        """
        self._allow("open")
        if not isinstance(action, (str, ToolCall, Terminate)):
            raise ConfigError(
                f"an action must be text, vl.ToolCall or vl.Terminate, not {type(action).__name__}"
            )
        step = self.act(action)
        if step.is_last:
            self._state = "over"
        return step

    @final
    def snapshot(self) -> bytes:
        """The state as it is now, to be restored later.

        Raises:
            ConfigError: If no episode has begun, or the environment is closed.
        """
        self._allow("open", "over")
        return (b"o" if self._state == "open" else b"e") + self.save()

    @final
    def restore(self, snapshot: bytes) -> None:
        """Go back to a snapshot, which must be one's own: it is trusted.

        Args:
            snapshot: What `snapshot` returned, here or in an environment that was made alike.

        Raises:
            ConfigError: If the environment is closed, or this is no snapshot.
        """
        self._allow("new", "open", "over")
        given: object = snapshot
        if not isinstance(given, bytes) or given[:1] not in {b"o", b"e"}:
            raise ConfigError("this is no snapshot of an environment; give what snapshot() gave")
        self.load(snapshot[1:])
        self._state = "open" if snapshot[:1] == b"o" else "over"

    @final
    def close(self) -> None:
        """End for good; closing twice is the same as once."""
        if self._state != "closed":
            self._state = "closed"
            self.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def _allow(self, *states: str) -> None:
        if self._state not in states:
            raise ConfigError(f"{type(self).__name__}: {_WHY[self._state]}")


_SEED = {"seed": "int"}
_WHY = {
    "new": "no episode has begun; call reset() first",
    "open": "an episode is under way",
    "over": "the episode is over; call reset() for another",
    "closed": "it is closed; make another one",
}


def replay(environment: Environment, turns: Sequence[Turn], *, seed: int = 0) -> tuple[Turn, ...]:
    """Take the actions of a trajectory in an environment, from the start.

    Args:
        environment: Where; its episode is begun anew, and left as the last action leaves it.
        turns: The trajectory. What it says of observations, rewards and ends is not believed.
        seed: The episode's seed.

    Returns:
        The turns up to the episode's end, with what the environment says of each.

    Example:
        >>> from verifier_ladder.candidate import ToolCall
        >>> from verifier_ladder.tiers.desk import SqliteDesk
        >>> with SqliteDesk("CREATE TABLE t (n); INSERT INTO t VALUES (1)") as desk:
        ...     call = ToolCall("sql", {"query": "SELECT n FROM t"})
        ...     [turn.observation for turn in replay(desk, [Turn(call, "2")])]
        ['[{"n": 1}]']
    """
    environment.reset(seed)
    seen: list[Turn] = []
    for turn in turns:
        step = environment.step(turn.action)
        told = {each.name: getattr(step, each.name) for each in fields(step)}
        seen.append(replace(turn, **told))
        if step.is_last:
            break
    return tuple(seen)
