"""The verifier `game-replay`: games of Gymnasium, played again by a candidate's actions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from verifier_ladder.arguments import LARGEST, checked
from verifier_ladder.candidate import Candidate, Terminate, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.taskenvironment import replay
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import DOCUMENT, agreed, answers
from verifier_ladder.tiers.fast.jsonschema import parse
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.gymnasiumenvironment import LONGEST_ACTION, GymnasiumEnvironment
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import TurnVerdict, Verdict, mean_of

_HOW = "Write the actions as one JSON list, alone or between <answer> and </answer>."
_LAKE = ("desc", "map_name", "is_slippery", "success_rate", "reward_schedule")
ENVIRONMENTS: Final[Mapping[str, Sequence[str]]] = {
    "Acrobot-v1": (), "CartPole-v1": ("sutton_barto_reward",),
    "MountainCar-v0": ("goal_velocity",), "MountainCarContinuous-v0": ("goal_velocity",),
    "Pendulum-v1": ("g",), "Blackjack-v1": ("natural", "sab"),
    "CliffWalking-v1": ("is_slippery",), "FrozenLake-v1": _LAKE, "FrozenLake8x8-v1": _LAKE,
    "Taxi-v3": ("is_rainy", "fickle_passenger"), "Taxi-v4": ("is_rainy", "fickle_passenger"),
}  # fmt: skip
"""Games that need Gymnasium alone, and what a task may make them with."""
_OF_MAKE = {"id", "max_episode_steps", "disable_env_checker", "render_mode"}
"""Arguments of `gymnasium.make` that are not the game's own."""
_LONGEST_KWARGS = 20_000
"""Characters of a task's `kwargs`, as JSON."""
_MOST_SEEDS = 100
_MOST_ACTIONS = 1_000_000
_DEEPEST = 20
_EXACT, _ROUNDED = 1e-9, 1e-6
"""How far returns that are equal may differ, and numbers that somebody wrote down."""
_BETWEEN = re.compile(r"[\s,;]+")
Claims = Literal["told", "reject"]
Number = Annotated[float, Field(ge=-1e100, le=1e100, strict=True)]
Seed = Annotated[int, Field(ge=0, le=LARGEST, strict=True)]


class _Goal(BaseModel):
    """What is asked of a return; one of these."""

    model_config = ConfigDict(extra="forbid")
    least: Number | None = None
    beat: Number | None = None
    solved: Literal[True] | None = None
    low: Number | None = None
    high: Number | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = self.model_fields_set
        if given not in ({"least"}, {"beat"}, {"solved"}, {"low", "high"}):
            raise ValueError("give least, beat, solved, or low and high")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low must be below high")
        return self


class _Task(BaseModel):
    environment: Annotated[str, Field(min_length=1, max_length=200)]
    kwargs: dict[str, JsonValue] = {}
    seed: Seed | None = None
    seeds: Annotated[list[Seed], Field(min_length=1, max_length=_MOST_SEEDS)] | None = None
    goal: _Goal
    max_steps: Annotated[int, Field(ge=1, strict=True)] | None = None
    may_stop: Annotated[bool, Field(strict=True)] = False
    action_names: list[str] = []

    @property
    def all_seeds(self) -> list[int]:
        """The seed of each episode.

        Raises:
            TaskError: If there is none, or it is said twice.
        """
        if self.seed is None:
            if self.seeds is None:
                raise TaskError("the task has no seed")
            return self.seeds
        if self.seeds is not None:
            raise TaskError("the task's seeds make no sense beside a seed")
        return [self.seed]


class _Written(NamedTuple):
    """What an answer says."""

    episodes: tuple[tuple[str, ...], ...]
    """The actions of each episode, in JSON or by their names."""
    claim: str | None = None
    """The score that it claims, in JSON."""


class _Episode(NamedTuple):
    """One game, played."""

    given: Sequence[Turn]
    played: Sequence[Turn]
    """As far as the game went, with what it says of each action."""

    @property
    def total(self) -> float:
        """Its return."""
        return math.fsum(turn.reward or 0.0 for turn in self.played)


class GameReplay(MarkedVerifier):
    """Accepts actions that reach the goal of a game, which is played again by them.

    **The task** names the `environment`, its `kwargs`, the `seed` (or `seeds`, one for each
    episode) and the `goal`: `least` (a return that must be reached), `beat` (one that must be
    surpassed), `solved` (the game's own threshold), or `low` and `high`, between which the score
    goes from 0 to 1; at `low` or below it is rejected. Of several episodes the mean return counts.
    `max_steps` cuts episodes; `action_names` stand for counted actions.

    **The candidate** gives its actions as a list in JSON, for several seeds as a list of lists, or
    as an object with `actions` and perhaps a `score`. Counted actions may also stand in a row. A
    trajectory gives the actions of its turns.

    **Rules.** The game must be over, unless the task says `may_stop`: else doing nothing would be
    the best way to play where every step costs. Nothing may follow its end, and no action may be
    outside the game's. A claimed score is never believed, nor what turns say of rewards and ends.
    A game that two replays see differently, from its map and first observation on, is abstained
    from. So is one that raises: then the task makes it with what it does not take.

    Which games and arguments a task may name is the host's to say: ids such as `module:Name-v0`
    import code.

    Example:
        >>> lake = {"map_name": "4x4", "is_slippery": False}
        >>> task = {"environment": "FrozenLake-v1", "kwargs": lake, "seed": 0,
        ...         "goal": {"solved": True}}
        >>> said = ["[1, 1, 2, 1, 2, 2]", "[1, 1, 2, 1, 2]"]
        >>> [v.outcome.value for v in GameReplay().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        ['accept', 'reject']
    """

    name = "game-replay"
    version = "1"
    domain = "games"
    capabilities = ("planning",)
    cost = Cost(seconds=5e-3)
    timeout = 60.0
    task_fields = tuple(_Task.model_fields)
    reads_turns = True
    observed = "outside"
    control = Candidate(
        "text", "[0]",
        task={"environment": "CartPole-v1", "seed": 0, "max_steps": 1, "goal": {"least": 1}},
    )  # fmt: skip

    @checked()
    def __init__(
        self,
        *,
        find: Sequence[str] = DOCUMENT,
        environments: Mapping[str, Sequence[str]] | None = None,
        most_actions: int = 10_000,
        claims: str = "told",
        compare_observations: bool = False,
    ) -> None:
        """Set which games are played, and how strictly.

        Args:
            find: Where the actions stand: marks of `verifier_ladder.tiers.fast.extraction`.
            environments: Ids of the games that a task may name, each with the keyword arguments
                that it may give; `ENVIRONMENTS` by default. An id such as `module:Name-v0` imports
                the module.
            most_actions: Actions of the longest answer.
            claims: Whether a claimed score that the replay contradicts is only `told`, in the
                feedback, or a `reject`.
            compare_observations: Whether the observations of turns must be what the game shows, as
                JSON.

        Raises:
            ConfigError: If a bound, a mark or an environment makes no sense.
        """
        self._games = _named(ENVIRONMENTS if environments is None else environments)
        if not 1 <= most_actions <= _MOST_ACTIONS:
            raise ConfigError(f"most_actions must be 1 to {_MOST_ACTIONS:,}")
        if claims not in get_args(Claims):
            raise ConfigError(f"claims={claims!r}: give {' or '.join(get_args(Claims))}")
        self._most, self._claims, self._compares = most_actions, claims, compare_observations
        own = {
            "environments": self._games, "most_actions": most_actions, "claims": claims,
            "compare_observations": compare_observations,
        }  # fmt: skip
        super().__init__(own, find=find)
        self.tools = versions("gymnasium", "numpy")

    def setup(self) -> None:
        """Load the library."""
        with suppress(ConfigError, ToolError):  # Whoever asks is told.
            _game(read_task(_Task, self.control.task)).close()

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the task, then the actions, then play."""
        given = {n: value for n, value in (candidate.task or {}).items() if value is not None}
        task = read_task(_Task, given)
        seeds = task.all_seeds
        self._refuse_others(task)
        with _game(task) as game, _game(task) as other:
            least = _threshold(task, game.spec)
            said, claim = self._read(candidate, task)
            episodes = [
                _played(game, other, turns, seed) for turns, seed in zip(said, seeds, strict=True)
            ]
        is_shown = self._compares and bool(candidate.turns)
        faults = [_fault(each, task, is_shown=is_shown) for each in episodes]
        verdict = self._verdict(episodes, faults, task.goal, least, claim)
        return replace(verdict, turns=_told(episodes[0])) if candidate.turns else verdict

    def _refuse_others(self, task: _Task) -> None:
        """Refuse games and arguments that the host has not named.

        Raises:
            TaskError: If the task names one.
        """
        name = printable(task.environment, 100)
        if task.environment not in self._games:
            raise TaskError(
                f"the task's environment makes no sense: {name!r} is none of `environments`, a "
                "setting of the verifier"
            )
        if others := sorted(set(task.kwargs) - set(self._games[task.environment])):
            told = printable(", ".join(others), 200)
            raise TaskError(
                f"the task's kwargs make no sense: {name} may not be given {told}, says "
                "`environments`, a setting of the verifier"
            )
        if len(json.dumps(task.kwargs)) > _LONGEST_KWARGS:
            raise TaskError(f"the task's kwargs are longer than {_LONGEST_KWARGS:,} characters")

    def _read(
        self, candidate: Candidate, task: _Task
    ) -> tuple[Sequence[Sequence[Turn]], str | None]:
        """The turns of each episode, and the score that the candidate claims.

        Raises:
            TaskError: If there is a trajectory, and the task has several episodes.
            CandidateError: If there are no actions, or too many.
        """
        if not candidate.turns:
            found = answers(candidate.content, self._find, _HOW, languages=("json",))
            said = agreed((_written(text, task) for text in found), _HOW)
            self._refuse_many(sum(map(len, said.episodes)))
            return [[Turn(action) for action in actions] for actions in said.episodes], said.claim
        if task.seeds is not None:
            raise TaskError("the task's seeds make no sense: a trajectory has one; give seed")
        *turns, last = candidate.turns
        if not isinstance(last.action, Terminate):
            turns.append(last)
        self._refuse_many(len(turns))
        return [turns], None

    def _refuse_many(self, count: int) -> None:
        if count > self._most:
            raise CandidateError(
                f"the answer has {count} actions, which is more than {self._most}",
                feedback=f"Give at most {self._most} actions.",
            )

    def _verdict(
        self, episodes: Sequence[_Episode], faults: Sequence[str], goal: _Goal,
        least: float | None, claim: str | None,
    ) -> Verdict:  # fmt: skip
        total = mean_of([each.total for each in episodes])
        evidence = {
            "returns": [each.total for each in episodes],
            "steps": [len(each.played) for each in episodes],
        }
        if fault := next(_numbered(faults), ""):
            return Verdict.reject(
                f"the actions do not stand: {fault}", feedback=f"Mend this: {fault}.",
                evidence=evidence,
            )  # fmt: skip
        scores, doubt = {"return": total}, ""
        if claim is not None and not _is_close(json.loads(claim), total):
            doubt = f"The claimed score is not the return, which is {total:.6g}."
        score = _score(goal, least, total)
        if score is None:
            why = f"the return is {total:.6g}"
            return Verdict.reject(
                f"{why}, which does not reach the goal", scores=scores, evidence=evidence,
                feedback=f"Play better: {why}, and the goal asks for more. {doubt}".strip(),
            )  # fmt: skip
        if doubt and self._claims == "reject":
            return Verdict.reject(
                "the claimed score is not the return", feedback=doubt, scores=scores,
                evidence=evidence,
            )  # fmt: skip
        return Verdict.accept(score, feedback=doubt, scores=scores, evidence=evidence)


# ---- The game


def _named(environments: Mapping[Any, Any]) -> dict[str, list[str]]:
    """The games that a setting names, and the arguments of each.

    Raises:
        ConfigError: If there is none, or a task could give what is not the game's own.
    """
    if not environments or not all(
        name and isinstance(name, str) and isinstance(arguments, (list, tuple))
        for name, arguments in environments.items()
    ):
        raise ConfigError('environments must name games, such as {"Pendulum-v1": ["g"]}')
    refused = _OF_MAKE & {name for arguments in environments.values() for name in arguments}
    if refused:
        raise ConfigError(f"environments: no game takes {', '.join(sorted(refused))}")
    return {name: [*arguments] for name, arguments in environments.items()}


def _game(task: _Task) -> GymnasiumEnvironment:
    try:
        return GymnasiumEnvironment(
            task.environment, kwargs=task.kwargs, max_steps=task.max_steps,
            action_names=task.action_names,
        )  # fmt: skip
    except ConfigError as error:
        raise TaskError(
            f"the task's environment, kwargs or action_names make no sense: {error}"
        ) from None


def _threshold(task: _Task, spec: Any) -> float | None:
    """The return from which on the game itself counts as solved.

    Raises:
        TaskError: If it has none and the task asks for it, or it can't be played again.
    """
    if spec.nondeterministic:
        raise TaskError(f"{task.environment} is not deterministic, as it says itself")
    if task.goal.solved and spec.reward_threshold is None:
        raise TaskError(
            f"the task's goal makes no sense: {task.environment} does not say what solves it"
        )
    return spec.reward_threshold  # type: ignore[no-any-return]


def _played(
    game: GymnasiumEnvironment, other: GymnasiumEnvironment, turns: Sequence[Turn], seed: int
) -> _Episode:
    """Play twice, in environments that share nothing.

    Raises:
        TaskError: If the game raises, gives or shows what no turn can hold, or is another one
            the second time.
    """
    try:
        played, again = replay(game, turns, seed=seed), replay(other, turns, seed=seed)
    except ConfigError as error:
        raise TaskError(f"the task's environment or kwargs make no sense: {error}") from None
    if (game.beginning, played) != (other.beginning, again):
        raise TaskError(
            "the task's environment is not deterministic: played again, with the same seed and "
            "actions, it was or showed something else"
        )
    return _Episode(turns, played)


# ---- The answer


def _written(text: str, task: _Task) -> _Written:
    """Read an answer.

    Raises:
        CandidateError: If it holds no actions.
    """
    text = text.strip()
    if not text.startswith(("[", "{")):
        if task.seeds is not None:
            raise CandidateError("the answer is no list of lists", feedback=_HOW)
        return _Written((tuple(filter(None, _BETWEEN.split(text))),))
    value, claim = parse(text, _DEEPEST), None
    if isinstance(value, dict):
        if "actions" not in value or value.keys() - {"actions", "score"}:
            raise CandidateError("the answer must hold `actions` and nothing else", feedback=_HOW)
        if value.get("score") is not None:
            claim = json.dumps(value["score"], default=float)
        value = value["actions"]
    lists = [value] if task.seeds is None else value
    if not isinstance(lists, list) or not all(isinstance(each, list) for each in lists):
        raise CandidateError("the answer is no list of actions", feedback=_HOW)
    if len(lists) != len(task.all_seeds):
        wanted = f"one list of actions for each of {len(task.all_seeds)} seeds"
        raise CandidateError(f"the answer does not hold {wanted}", feedback=f"Write {wanted}.")
    return _Written(
        tuple(tuple(json.dumps(each, default=float) for each in one) for one in lists), claim
    )


def _fault(episode: _Episode, task: _Task, *, is_shown: bool) -> str:
    """The first thing that makes an episode no answer; "" for nothing."""
    given, played = episode
    for place, (said, seen) in enumerate(zip(given, played, strict=False), 1):
        if seen.failed:
            return f"action {place} is {seen.observation}"
        if is_shown and not _is_seen(said.observation, seen.observation):
            return f"the observation of action {place} is not what the game shows"
    if not played:
        return "there is no action"
    if len(given) > len(played):
        return f"the game is over after action {len(played)}, and more actions follow"
    if not (task.may_stop or played[-1].terminated or played[-1].truncated):
        return "the game is not over when the actions end"
    return ""


def _numbered(faults: Sequence[str]) -> Iterator[str]:
    """The faults, with their episodes where there are several."""
    for number, fault in enumerate(faults, 1):
        if fault:
            yield f"episode {number}: {fault}" if len(faults) > 1 else fault


def _is_seen(said: str, seen: str) -> bool:
    """Whether an observation is the one that the game shows."""
    try:
        return len(said) <= LONGEST_ACTION and _is_alike(parse(said, _DEEPEST), json.loads(seen))
    except CandidateError:
        return False


def _is_alike(said: Any, seen: Any) -> bool:
    """Whether two values of JSON are the same, up to how their numbers were rounded."""
    if isinstance(said, list) and isinstance(seen, list):
        return len(said) == len(seen) and all(map(_is_alike, said, seen))
    if isinstance(said, dict) and isinstance(seen, dict):
        return said.keys() == seen.keys() and all(_is_alike(said[n], seen[n]) for n in said)
    return _is_close(said, seen) or (type(said) is type(seen) and said == seen)


def _is_close(said: Any, seen: Any) -> bool:
    """Whether two numbers are the same, up to how one was rounded; no truth value is one."""
    if type(said) not in {int, float, Decimal} or type(seen) not in {int, float}:
        return False
    return math.isclose(float(said), seen, rel_tol=_ROUNDED, abs_tol=_ROUNDED)


# ---- The goal


def _score(goal: _Goal, least: float | None, total: float) -> float | None:
    """What a return is worth; None if it does not reach the goal."""
    room = _EXACT * max(1.0, abs(total))
    if goal.low is not None and goal.high is not None:
        share = (total - goal.low) / (goal.high - goal.low)
        return min(share, 1.0) if total > goal.low + room else None
    if goal.beat is not None:
        return 1.0 if total > goal.beat + room else None
    bound = least if goal.least is None else goal.least
    return 1.0 if bound is not None and total >= bound - room else None


def _told(episode: _Episode) -> tuple[TurnVerdict, ...]:
    """What the game gave for each turn."""
    return tuple(
        TurnVerdict(place, turn.reward, f"This is {turn.observation}." if turn.failed else "")
        for place, turn in enumerate(episode.played)
    )
