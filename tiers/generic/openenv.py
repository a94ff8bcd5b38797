"""OpenEnv: its environments and its rubrics as an environment and as verifiers of ours."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import AsyncVerifier
from verifier_ladder.candidate import Action, Candidate, Terminate, ToolCall, Turn
from verifier_ladder.command import set_attributes
from verifier_ladder.errors import CandidateError, ConfigError, ToolError, VerifierError
from verifier_ladder.taskenvironment import Environment, StepResult, replay
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.jsonschema import parse
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import MOST_SCORES, TurnVerdict, Verdict, score_name

_DEEPEST = 64
_LONGEST = 1_000_000
"""Characters of one action."""
_ADDRESS = re.compile(r"(https?|wss?)://[^\s/]+(/\S*)?")
_REFUSED = "(code: VALIDATION_ERROR)"
"""How the server says that an action is none of the environment's."""


class OpenEnvEnvironment(Environment):
    """An environment of OpenEnv behind its server, over one session for each episode.

    An action is JSON, an object with the fields of the environment's actions; the arguments of a
    tool's call; or any text, if `text_field` names the field that it goes to. With `tools`, calls
    go to the environment's tools by their names. What the server says is no action fails.

    A snapshot holds the seed and the actions, which are taken again: so it holds what its
    environment keeps to the contract, and gives the same for the same seed.

    It needs the library where it runs: `pip install openenv-core`.

    Example:
        >>> OpenEnvEnvironment("http://127.0.0.1:8000", text_field="message").url
        'http://127.0.0.1:8000'
    """

    def __init__(
        self, url: str, *, text_field: str = "", tools: bool = False, timeout: float = 60.0
    ) -> None:
        """Name the server; it is connected to with the first episode.

        Args:
            url: Its address.
            text_field: The field of an action that a text goes to; "" if texts are JSON.
            tools: Whether calls go to tools of the environment (Model Context Protocol).
            timeout: Seconds that an answer may take.

        Raises:
            ConfigError: If the address is none.
        """
        if not _ADDRESS.fullmatch(url):
            raise ConfigError(f"url={url!r:.200}: give an address such as http://127.0.0.1:8000")
        self.url = url.rstrip("/")
        self._field, self._tools, self._timeout = text_field, tools, timeout
        self._client: Any = None
        self._seed = 0
        self._taken: list[dict[str, Any]] = []

    def begin(self, seed: int) -> str:
        """Begin an episode, in a session of its own."""
        self.end()
        try:
            from openenv.core.generic_client import GenericEnvClient
        except ImportError as error:
            raise ToolError(
                f"openenv can't be imported ({error}); pip install openenv-core"
            ) from error
        client = GenericEnvClient(
            self.url, connect_timeout_s=self._timeout, message_timeout_s=self._timeout
        )
        self._client = client.sync()
        self._seed, self._taken = seed, []
        return _told(self._asked(self._client.reset, seed=seed).observation)

    def act(self, action: Action) -> StepResult:
        """Send an action to the server."""
        try:
            fields = self._fields(action)
            answer = self._asked(self._client.step, fields)
        except CandidateError as error:
            return StepResult(f"no action of the environment: {error}", failed=True)
        self._taken.append(fields)
        return StepResult(
            _told(answer.observation), _reward(answer.reward), bool(answer.done), failed=False
        )

    def save(self) -> bytes:
        """The seed and the actions."""
        return json.dumps([self._seed, self._taken]).encode()

    def load(self, saved: bytes) -> None:
        """Take the actions again, in a session of their own."""
        seed, actions = json.loads(saved)
        self.begin(seed)
        for fields in actions:
            self._asked(self._client.step, fields)
            self._taken.append(fields)

    def end(self) -> None:
        """Close the session."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _fields(self, action: Action) -> dict[str, Any]:
        """An action as the server reads it.

        Raises:
            CandidateError: If it can't be one.
        """
        if isinstance(action, Terminate):
            raise CandidateError("that one is done is none")
        text = action.arguments if isinstance(action, ToolCall) else action
        if isinstance(text, str) and len(text) > _LONGEST:
            raise CandidateError(f"it is {len(text)} characters long")
        value: Any = text
        if isinstance(action, str) and self._field:
            value = {self._field: action}
        elif isinstance(text, str):
            value = parse(text, _DEEPEST)
        try:
            written = json.dumps(value, default=float, allow_nan=False, ensure_ascii=False)
            fields = json.loads(written.encode())  # Half characters can't be sent.
        except (TypeError, ValueError, RecursionError):
            raise CandidateError("its fields are no JSON") from None
        if not isinstance(fields, dict):
            raise CandidateError("an object is wanted, with the fields of an action")
        if isinstance(action, ToolCall) and self._tools:
            return {"type": "call_tool", "tool_name": action.name, "arguments": fields}
        return fields

    def _asked(self, ask: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """What the server answers.

        Raises:
            CandidateError: If it says that the action is none.
            ToolError: If it does not answer, or fails.
        """
        try:
            return ask(*arguments, **named)
        except Exception as error:  # The client raises whatever its connection does.
            told = printable(f"{type(error).__name__}: {error}", 300)
            if isinstance(error, RuntimeError) and str(error).endswith(_REFUSED):
                raise CandidateError("it lacks fields, or has others than it may") from None
            raise ToolError(f"{self.url} did not take it: {told}") from error


class OpenEnvVerifier(SingleVerifier):
    """What an environment of OpenEnv gives for a candidate's actions, taken again.

    The actions are those of its turns, or else its content is the only one. The score is the sum
    of the rewards that the environment gives, and each turn has its own; what turns say of
    rewards is not believed. The task may hold the `seed`.

    An episode that is not over when the actions end is rejected, unless `may_stop`: where steps
    cost something, doing nothing would be the best way to act. An environment that gives no reward
    is abstained from, and a server that fails is never held against a candidate.

    Example:
        >>> OpenEnvVerifier(name="echo", version="1", url="http://127.0.0.1:8000")
        <verifier echo 1 (fast)>
    """

    task_fields = ("seed",)
    reads_turns = True
    network = True
    observed = "outside"

    @checked(name=1, version=1)
    def __init__(
        self,
        *,
        name: str,
        version: str,
        url: str,
        text_field: str = "",
        tools: bool = False,
        may_stop: bool = False,
        most_turns: int = 1000,
        settings: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        """Describe the environment.

        Args:
            name: Name of the verifier.
            version: Raise it when the environment may give something else.
            url: Address of its server.
            text_field: The field of an action that a text goes to; "" if texts are JSON.
            tools: Whether calls go to tools of the environment.
            may_stop: Whether an episode that is not over counts.
            most_turns: Turns of the longest trajectory.
            settings: What affects results, as part of the check key.
            attributes: Any attribute of `Verifier`, such as `tier`, `timeout` or `cost`.

        Raises:
            ConfigError: If the address, a bound or an attribute makes no sense.
        """
        if most_turns < 1:
            raise ConfigError("most_turns must be at least 1")
        self.name, self.version = name, version
        set_attributes(self, attributes)
        OpenEnvEnvironment(url)
        self._url, self._field, self._uses_tools = url, text_field, tools
        self._may_stop, self._most = may_stop, most_turns
        own = {
            "text_field": text_field, "tools": tools, "may_stop": may_stop,
            "most_turns": most_turns,
        }  # fmt: skip
        super().__init__(**{**own, **(settings or {})})

    def examine(self, candidate: Candidate) -> Verdict:
        """Take the actions again."""
        seed = (candidate.task or {}).get("seed", 0)
        if type(seed) is not int or seed < 0:
            raise TaskError("the task's seed makes no sense: give a whole number from 0 on")
        turns = candidate.turns or (Turn(str(candidate.content)),)
        if len(turns) > self._most:
            raise CandidateError(
                f"the trajectory has more than {self._most} turns", feedback="Act less often."
            )
        if candidate.turns and isinstance(turns[-1].action, Terminate):
            turns = turns[:-1]
        environment = OpenEnvEnvironment(
            self._url, text_field=self._field, tools=self._uses_tools, timeout=self.timeout
        )
        with environment:
            played = replay(environment, turns, seed=seed)
        return self._verdict(turns, played)

    def _verdict(self, turns: Sequence[Turn], played: Sequence[Turn]) -> Verdict:
        told = tuple(
            TurnVerdict(place, turn.reward, turn.observation if turn.failed else "")
            for place, turn in enumerate(played)
        )
        rewards = [turn.reward for turn in played if turn.reward is not None]
        evidence = {"steps": len(played), "return": math.fsum(rewards)}
        fault = ""
        if len(turns) > len(played):
            fault = f"the episode is over after action {len(played)}, and more actions follow"
        elif not (self._may_stop or (played and played[-1].terminated)):
            fault = "the episode is not over when the actions end"
        if fault:
            return Verdict.reject(
                fault, feedback=f"Mend this: {fault}.", turns=told, evidence=evidence
            )
        if not rewards:
            return Verdict.abstain(f"{self._url} gives no reward", evidence=evidence)
        return Verdict.accept(math.fsum(rewards), turns=told, evidence=evidence)


class OpenEnvRubricVerifier(AsyncVerifier):
    """A `Rubric` of OpenEnv, which rewards actions by what is observed.

    A rubric reads objects of its environment's own, so `steps` says what they are: the actions and
    observations of a candidate, in order. The score is the sum of the rewards of all steps, each
    turn has its own, and the last score of each rubric inside is one of `scores`. What a rubric
    raises is unknown, and so is a reward that is no finite number.

    Rubrics keep what they have seen, so one is made for each candidate.

    Example:
        >>> def make():
        ...     from openenv.core.rubrics import Rubric
        ...     class Short(Rubric):
        ...         def forward(self, action, observation):
        ...             return float(len(action) < 9)
        ...     return Short()
        >>> OpenEnvRubricVerifier(
        ...     make, steps=lambda candidate: [(candidate.content, None)], name="short",
        ...     version="1")
        <verifier short 1 (fast)>
    """

    network = False

    @checked(name=1, version=1)
    def __init__(
        self,
        make: Callable[[], Any],
        *,
        steps: Callable[[Candidate], Sequence[tuple[Any, Any]]],
        name: str,
        version: str,
        settings: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        """Describe the rubric.

        Args:
            make: Gives it.
            steps: Actions and observations of a candidate, as the rubric reads them.
            name: Name of the verifier.
            version: Raise it when results may change.
            settings: What affects results, as part of the check key.
            attributes: Any attribute of `Verifier`; a rubric that asks a model needs
                `network=True`.

        Raises:
            ConfigError: If an attribute is unknown.
        """
        self.name, self.version, self._make, self._steps = name, version, make, steps
        set_attributes(self, attributes)
        super().__init__(**(settings or {}))
        self.tools = versions("openenv-core")

    def _depends_on(self) -> object:
        return None

    def setup(self) -> None:
        """See that OpenEnv is there.

        Raises:
            ConfigError: If it is not.
        """
        try:
            import openenv.core.rubrics
        except ImportError:
            raise ConfigError(
                "a rubric of OpenEnv needs the library: pip install openenv-core"
            ) from None
        del openenv

    async def verify_one(self, candidate: Candidate) -> Verdict:
        """Reward the steps of one candidate."""
        rubric, rewards = self._make(), []
        for action, observation in self._steps(candidate):
            told = rubric(action, observation)
            rewards.append(_number(await told if isawaitable(told) else told))
        if not rewards:
            return Verdict.abstain("there are no steps to reward", failed_at="verifier")
        parts: dict[str, float] = {}
        for name, part in [*rubric.named_rubrics()][:MOST_SCORES]:
            if part.last_score is not None:
                parts[score_name(name, parts)] = _number(part.last_score)
        is_of_turns = len(rewards) == len(candidate.turns)
        turns = tuple(TurnVerdict(place, reward) for place, reward in enumerate(rewards))
        return Verdict.accept(
            math.fsum(rewards), scores=parts, turns=turns if is_of_turns else ()
        )  # fmt: skip


def _told(observation: Any) -> str:
    return json.dumps(observation)


def _reward(given: Any) -> float | None:
    if given is None:
        return None
    try:
        return _number(given)
    except VerifierError as error:
        raise ToolError(f"the environment's {error}") from None


def _number(given: Any) -> float:
    """A reward as a number.

    Raises:
        VerifierError: If it is none.
    """
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise VerifierError(f"reward is no finite number: {given!r:.100}")
    return number
