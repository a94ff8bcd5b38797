"""Gymnasium's environments, behind `vl.Environment`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final

from verifier_ladder.candidate import Action, ToolCall
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.taskenvironment import Environment, StepResult
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.jsonschema import parse

LONGEST_ACTION: Final = 100_000
"""Characters of one action."""
_DEEPEST = 16
_MOST_SHOWN = 1000
"""Numbers of an observation that are told one by one; of more only a digest is."""
_EXACT, _LARGEST = 2**53, 10**308
"""The largest whole number, and number, that is read."""
_HOW = "Give one action of the game, as JSON or by its name."


class GymnasiumEnvironment(Environment):
    """An environment of Gymnasium, played by text, by calls of tools, or by both.

    An action is JSON: a whole number where the game has that many (`Discrete`), a list of them
    (`MultiDiscrete`), or numbers within bounds, in lists as the game has them (`Box`). A name of
    `action_names` stands for the number of its place. A call of any tool gives it as `action`.
    What is no action of the game fails, and changes nothing.

    Observations are told as JSON; one of more than 1,000 numbers by its digest. Each episode is
    played in an environment that is made anew, and a snapshot holds the seed and the actions.

    Example:
        >>> lake = {"map_name": "4x4", "is_slippery": False}
        >>> names = ["left", "down", "right", "up"]
        >>> with GymnasiumEnvironment("FrozenLake-v1", kwargs=lake, action_names=names) as game:
        ...     [game.reset(seed=7), game.step("right").observation, game.step("up").observation]
        ['0', '1', '1']
    """

    def __init__(
        self,
        environment: str,
        *,
        kwargs: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        action_names: Sequence[str] = (),
    ) -> None:
        """Make the first environment.

        Args:
            environment: Its id in Gymnasium. One such as `module:Name-v0` imports the module: take
                none from somebody else.
            kwargs: What it is made with.
            max_steps: Steps after which an episode is cut; by default as it is registered.
            action_names: Names of its actions, in order.

        Raises:
            ToolError: If Gymnasium, the environment or something that it needs is missing.
            ConfigError: If it can't be made so, its actions are of another sort than can be
                written, or the names are not one for each action.
        """
        self._id, self._kwargs = environment, {**(kwargs or {})}
        self._steps = max_steps
        self._taken: list[str] = []
        self._seed = 0
        self._game: Any = self._made()
        self._is_fresh = True
        self.beginning: tuple[str, str] = "", ""
        """What the episode began with: the first observation, and the map of a game with one."""
        self.spec: Any = self._game.spec
        """What Gymnasium knows of it, such as its `reward_threshold`."""
        try:
            self._numbers = _numbers_of(self._game.action_space, action_names)
        except ConfigError:
            self._game.close()
            raise

    def begin(self, seed: int) -> str:
        """Begin an episode, in an environment that no other was played in."""
        if not self._is_fresh:
            self._game.close()
            self._game = self._made()
        self._is_fresh, self._seed, self._taken = False, seed, []
        with self._blamed("begin an episode"):
            seen, _ = self._game.reset(seed=seed)
        first = _told(seen)
        self.beginning = first, _map_of(self._game)
        return first

    def act(self, action: Action) -> StepResult:
        """Take an action, if it is one of the game."""
        try:
            value = self._value(action)
            taken = _action_of(self._game.action_space, value)
        except CandidateError as error:
            return StepResult(f"no action of the game: {error}", failed=True)
        with self._blamed("take an action"):
            seen, reward, terminated, truncated, _ = self._game.step(taken)
            given = _reward(reward)
        self._taken.append(json.dumps(value, default=float))
        return StepResult(_told(seen), given, bool(terminated), bool(truncated), failed=False)

    def save(self) -> bytes:
        """The seed and the actions: by them the episode is played again."""
        return json.dumps([self._seed, self._taken]).encode()

    def load(self, saved: bytes) -> None:
        """Play the episode again, up to where it was saved."""
        seed, actions = json.loads(saved)
        self.begin(seed)
        for action in actions:
            self.act(action)

    def end(self) -> None:
        """Close the environment."""
        self._game.close()

    def _value(self, action: Action) -> Any:
        """What an action says: a number for a name, or else its JSON.

        Raises:
            CandidateError: If it says nothing.
        """
        if isinstance(action, str) and action in self._numbers:
            return self._numbers[action]
        value = _said(action)
        return self._numbers.get(value, value) if isinstance(value, str) else value

    def _made(self) -> Any:
        try:
            import gymnasium
        except ImportError as error:
            raise ToolError(
                f"gymnasium can't be imported ({error}); pip install '.[games]' in a clone"
            ) from error
        with self._blamed("be made"):
            return gymnasium.make(
                self._id, max_episode_steps=self._steps, disable_env_checker=True, **self._kwargs
            )

    @contextmanager
    def _blamed(self, doing: str) -> Iterator[None]:
        """Hold what the game raises, which may be anything, against what it is made with.

        Raises:
            ToolError: If it is not registered, or something is not installed.
            ConfigError: If it raises anything else.
        """
        from gymnasium import error as errors

        try:
            yield
        except MemoryError:
            raise
        except (errors.UnregisteredEnv, errors.DependencyNotInstalled, ImportError) as error:
            raise ToolError(f"there is no {self._id}: {printable(error, 300)}") from error
        except Exception as error:
            told = printable(f"{type(error).__name__}: {error}", 300)
            raise ConfigError(
                f"{self._id} can't {doing} with {self._kwargs!r:.200}: {told}"
            ) from error


# ---- Actions


def _numbers_of(space: Any, names: Sequence[str]) -> dict[str, int]:
    """The numbers that names of actions stand for.

    Raises:
        ConfigError: If they are not one for each, or the actions are of a sort that can't be
            written.
    """
    from gymnasium import spaces

    if not isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.Box)):
        raise ConfigError(
            f"its action space is {type(space).__name__}; Discrete, MultiDiscrete and Box are read"
        )
    if not names:
        return {}
    count = start = 0
    if isinstance(space, spaces.Discrete):
        count, start = int(space.n), int(space.start)
    if len({*names}) < len(names) or len(names) != count:
        raise ConfigError(
            f"action_names must hold {count} different names: of so many actions each has one"
        )
    return {name: start + place for place, name in enumerate(names)}


def _said(action: Action) -> Any:
    """The value of an action, of whatever sort.

    Raises:
        CandidateError: If there is none.
    """
    text = action.arguments if isinstance(action, ToolCall) else action
    value: Any = text
    if isinstance(text, str):
        if len(text) > LONGEST_ACTION:
            raise CandidateError(f"it is {len(text)} characters long", feedback=_HOW)
        value = parse(text, _DEEPEST)
    if not isinstance(action, ToolCall):
        return value
    if not isinstance(value, Mapping) or [*value] != ["action"]:
        raise CandidateError("a call has one argument, `action`", feedback=_HOW)
    return value["action"]


def _action_of(space: Any, value: Any) -> Any:
    """A value as an action that the game takes.

    Raises:
        CandidateError: If it is none.
    """
    import numpy as np
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return _whole(value, int(space.start), int(space.n))
    flat = _flat(value, space.shape)
    if isinstance(space, spaces.MultiDiscrete):
        bounds = zip(space.start.flat, space.nvec.flat, strict=True)
        numbers = [_whole(v, int(s), int(n)) for v, (s, n) in zip(flat, bounds, strict=True)]
        return np.array(numbers, space.dtype).reshape(space.shape)
    is_whole = np.issubdtype(space.dtype, np.integer)
    read = [_number(each, is_whole=bool(is_whole)) for each in flat]
    with np.errstate(over="ignore"):
        action = np.array(read, float).astype(space.dtype).reshape(space.shape)
    # Compared is what the game gets: 0.7 as it holds it may lie a little beside 0.7.
    if not np.isfinite(action).all() or not space.contains(action):
        raise CandidateError("a number is out of its bounds", feedback=_HOW)
    return action


def _flat(value: Any, shape: Sequence[int]) -> Iterator[Any]:
    """The numbers of lists within lists, which must be as long as the shape says."""
    if not shape:
        yield value
        return
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise CandidateError(f"a list of {shape[0]} is wanted", feedback=_HOW)
    for each in value:
        yield from _flat(each, shape[1:])


def _whole(value: Any, start: int, count: int) -> int:
    last = start + count - 1
    if type(value) is not int or not start <= value <= last:
        raise CandidateError(f"a whole number from {start} to {last} is wanted", feedback=_HOW)
    return value


def _number(value: Any, *, is_whole: bool) -> float:
    if type(value) not in ((int,) if is_whole else (int, float, Decimal)):
        raise CandidateError("a number is wanted, whole where the game's are", feedback=_HOW)
    if abs(value) > (_EXACT if is_whole else _LARGEST):
        raise CandidateError("a number is out of its bounds", feedback=_HOW)
    return float(value)


# ---- What a game shows and gives


def _map_of(game: Any) -> str:
    """The map of a game that has one as Gymnasium's have; "" for none."""
    import numpy as np

    desc = getattr(game.unwrapped, "desc", None)
    return str(desc.tolist()) if isinstance(desc, np.ndarray) else ""


def _reward(value: Any) -> float:
    """A reward as a number.

    Raises:
        TypeError: If it is none; text that reads as a number is none, either.
    """
    if isinstance(value, (str, bytes)):
        raise TypeError(f"a reward is the text {value!r:.50}")
    return float(value)


def _told(seen: Any) -> str:
    return json.dumps(_plain(seen))


def _plain(seen: Any) -> Any:
    """An observation as JSON has it.

    Raises:
        ConfigError: If it is of a sort that has no such form.
    """
    import numpy as np

    if isinstance(seen, np.ndarray) and seen.size > _MOST_SHOWN:
        digest = hashlib.blake2b(np.ascontiguousarray(seen).tobytes(), digest_size=16)
        return {"shape": [*seen.shape], "type": str(seen.dtype), "blake2b": digest.hexdigest()}
    if isinstance(seen, (np.ndarray, np.generic)):
        return seen.tolist()
    if isinstance(seen, Mapping):
        return {str(name): _plain(part) for name, part in seen.items()}
    if isinstance(seen, (tuple, list)):
        return [_plain(part) for part in seen]
    if seen is None or isinstance(seen, (bool, int, float, str)):
        return seen
    raise ConfigError(f"an observation of type {type(seen).__name__} has no form in JSON")
