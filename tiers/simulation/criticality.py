"""The verifiers `turn-criticality` and `replayed-criticality`: which turns decided an episode.

The criticality of turn t is what taking its action did for the outcome: the mean outcome of
continuations from (h_t, a_t), minus that from the history h_t with the action drawn by a policy.

| Verifier | The rest of the episode is | The criticality of a turn |
|---|---|---|
| `turn-criticality` | played by the policy | V(h_t, a_t) - V(h_t), its advantage |
| `replayed-criticality` | the recorded actions | the recorded outcome, minus that without a_t |

For the first, continuations from (h_t, a_t) are those from h_(t+1), so that T turns take T + 1
rounds of continuations and not 2 T. All rounds of a trajectory have common seeds: the n-th action
of the k-th continuation is drawn by the same seed in each, and differences are taken in pairs.
Another trajectory has others, so that errors average out over many.

**Chance of the environment** follows from the task's seed. A snapshot holds the state of the
random numbers, so all continuations from one history meet the same ones: a criticality says what
an action did in this episode, and not on average over episodes.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import fields, replace
from hashlib import sha256
from importlib.metadata import entry_points
from itertools import cycle
from math import sqrt
from statistics import fmean
from typing import Any, ClassVar, Final, NamedTuple
from weakref import WeakKeyDictionary

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import AsyncVerifier
from verifier_ladder.candidate import Action, Candidate, Terminate, ToolCall, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.keys import digest
from verifier_ladder.registry import REGISTRY, load
from verifier_ladder.sourcecode import fingerprint
from verifier_ladder.student import student
from verifier_ladder.taskenvironment import Environment
from verifier_ladder.text import mended, printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.desk import SQL
from verifier_ladder.tiers.filedesk import TOOLS as FILE_TOOLS
from verifier_ladder.tiers.simulation.chatendpoint import ChatEndpoint
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.trajectory import from_text
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict
from verifier_ladder.verifiers import Verifier

GROUP: Final = "verifier_ladder.environments"
"""Entry points of what makes an environment for a task."""
RETURN: Final = "return"
"""The outcome of an episode that is the sum of its rewards."""
SYSTEM: Final = (
    "You act in an environment, one action at a time. Answer with the next action alone."
)
"""What a policy at an endpoint is told before all else."""
CALLING: Final = (
    'Call a tool with <tool_call>{"name": …, "arguments": {…}}</tool_call>. '
    "Text without a call is your answer, and ends the episode."
)
"""What it is told as well where its actions are calls of tools."""
DESK: Final = "desk"
"""The entry point of the environment of `final-state`, whose actions are calls of tools."""
CUT: Final = " […]"
"""What stands at the end of a text that is shown in part."""
Make = Callable[[Mapping[str, Any]], Environment]
"""Makes an environment for a task; its episode is begun with the task's `seed`, or 0."""
_SAMPLING: Final = {"temperature": 1.0, "max_tokens": 1024}


# ---- The policy that plays on


class Drawn(NamedTuple):
    """An action that a policy has drawn."""

    action: Action
    money: float | None = None
    """What drawing it cost; None where that is not told."""


class Policy(ABC):
    """Who plays an episode to its end. A subclass overrides `draw`.

    Its `settings` are a part of every check key, so they must name all that changes its actions:
    raise `version` when its code does.

    Example:
        >>> class Patient(Policy):
        ...     version = "1"
        ...     async def draw(self, first, turns, seed):
        ...         return Drawn("wait" if seed % 2 else "look")
        >>> asyncio.run(Patient().draw("A closed door.", [], 7)).action
        'wait'
    """

    version = "1"
    settings: Mapping[str, Any] = {}
    secrets: Sequence[str] = ()
    """Variables that it reads and nobody else may see, as a verifier declares them."""
    env: Sequence[str] = ()
    money: float = 0.0
    """What one action costs, about."""
    seconds: float = 0.0
    """Processor time of one action, about."""

    def for_task(self, task: Mapping[str, Any]) -> Policy:
        """Who plays on in a task; itself, unless it must know of the task to act."""
        del task
        return self

    @abstractmethod
    async def draw(self, first: str, turns: Sequence[Turn], seed: int) -> Drawn:
        """Draw the next action.

        Args:
            first: The episode's first observation.
            turns: What was done and seen since.
            seed: What the draw follows from: the same seed and history give the same action,
                as far as the policy can.

        Raises:
            ToolError: If it can't be asked now.
        """


class EndpointPolicy(Policy):
    """A model behind an OpenAI-compatible chat endpoint, whose answers are actions.

    It is told the names and parameters of the task's `tools`, then as the user the task's
    `prompt`, where that is text, and the first observation. Actions are what the assistant says,
    and observations what the user does. Halves of characters become U+FFFD.

    **What is no action.** A refusal, an answer that is cut off, and a conversation that the
    service says is too long are failures of the policy: the check is tried again. Actions and
    observations are cut to `longest` bytes in all, so that long ones don't bring this about.

    Example:
        >>> EndpointPolicy(model="agent-7b", url="http://127.0.0.1:8000/v1").settings["model"]
        'agent-7b'
    """

    @checked(longest=1000)
    def __init__(
        self, *, system: str = SYSTEM, calls: bool = False, longest: int = 24_000, **endpoint: Any
    ) -> None:
        """Describe the policy; nothing is asked yet.

        Args:
            system: What it is told before all else.
            calls: Whether its actions are calls of tools, in any form that `from_text` reads; of
                several in one answer the first is taken, and an answer without one is the end of
                the episode. Else its answers are the actions.
            longest: Bytes of actions and observations that it is shown. Where there are more,
                each is cut to an equal share, and `[…]` marks the cut.
            endpoint: `EndpointSettings`; it is sampled at temperature 1 unless they say so.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        try:
            self._endpoint = ChatEndpoint(**{"sampling": _SAMPLING, **endpoint})
        except TypeError as error:
            raise ConfigError(f"policy: {error}") from None
        self.system, self._calls, self._longest = system, calls, longest
        self.prompt, self.tools = "", list[dict[str, Any]]()
        told = {"system": system, "calls": calls, "longest": longest}
        self.settings = {**self._endpoint.settings, **told}
        self.secrets, self.env = self._endpoint.secrets, self._endpoint.env
        self.money = self._endpoint.price(1000, 50)
        self.seconds = 0.002

    def for_task(self, task: Mapping[str, Any]) -> EndpointPolicy:
        """The same model, told of a task's prompt and tools."""
        made, prompt = copy(self), task.get("prompt")
        made.prompt = prompt if isinstance(prompt, str) else ""
        made.tools = _tools(task, is_desk=self._calls)
        return made

    async def draw(self, first: str, turns: Sequence[Turn], seed: int) -> Drawn:
        """Ask the model for its next action."""
        asked = "\n\n".join(filter(None, (self.prompt, first)))
        done = [text for turn in turns for text in (self._written(turn), turn.observation)]
        said = [("system", self._told()), ("user", asked)]
        said += zip(cycle(("assistant", "user")), fitting(done, self._longest))
        messages = [{"role": role, "content": mended(text)} for role, text in said]
        completion = await self._endpoint.continued(messages, seed)
        if completion.is_refusal:
            raise ToolError("the policy refuses to act, so it can't play on")
        action = self._action(completion.text.strip())
        return Drawn(action, self._endpoint.paid([completion]))

    def _told(self) -> str:
        tools = (
            f"Tools: {json.dumps(self.tools, ensure_ascii=False, default=str)}"
            if self.tools
            else ""
        )
        return "\n".join(filter(None, (self.system, tools, CALLING if self._calls else "")))

    def _written(self, turn: Turn) -> str:
        """An action, in the form in which it is asked for."""
        is_call = self._calls and isinstance(turn.action, ToolCall)
        return f"<tool_call>{turn.text}</tool_call>" if is_call else turn.text

    def _action(self, text: str) -> Action:
        if not self._calls:
            return text
        found = from_text(text, [tool["name"] for tool in self.tools])
        if not found or isinstance(found[0].action, str):
            return Terminate(text)
        return found[0].action


def _tools(task: Mapping[str, Any], *, is_desk: bool) -> list[dict[str, Any]]:
    """Names and parameters of a task's tools, with those that a desk has by itself."""
    listed = task.get("tools")
    found = [
        {"name": tool["name"], "parameters": tool.get("parameters", [])}
        for tool in (listed if isinstance(listed, (list, tuple)) else ())
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)
    ]
    if is_desk and task.get("sql"):
        found.append({"name": SQL, "parameters": ["query"]})
    if is_desk and task.get("files") is not None:
        found += [{"name": name, "parameters": [*of]} for name, of in FILE_TOOLS.items()]
    return found


def fitting(texts: Sequence[str], most: int) -> list[str]:
    """Texts, of which the long ones are cut where all together have too many bytes.

    Example:
        >>> fitting(["go", "a long way to go"], 12)
        ['go', 'a long […]']
    """
    written = [mended(text).encode() for text in texts]
    if sum(map(len, written)) <= most:
        return list(texts)
    share = most // len(written)
    return [
        text if len(whole) <= share else whole[:share].decode("utf-8", "ignore") + CUT
        for text, whole in zip(texts, written, strict=True)
    ]


# ---- Episodes


def taken_again(environment: Environment, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Take a trajectory's actions again in an episode that has begun, to its end.

    Returns:
        The turns, with what the environment says of each.

    Raises:
        TaskError: If the environment shows something else than the trajectory says it did.
    """
    taken: list[Turn] = []
    for place, turn in enumerate(turns):
        seen = _step(environment, turn)
        if turn.observation and turn.observation != seen.observation:
            raise TaskError(
                f"the replayed observation of turn {place} differs: the trajectory was made in "
                "another environment, or with another seed"
            )
        taken.append(seen)
        if _is_over(taken):
            break
    return tuple(taken)


def _is_over(turns: Sequence[Turn]) -> bool:
    return bool(turns) and (turns[-1].terminated or turns[-1].truncated)


def _step(environment: Environment, turn: Turn) -> Turn:
    """A turn whose action is taken: what the environment says of it, and all else kept."""
    step = environment.step(turn.action)
    return replace(turn, **{each.name: getattr(step, each.name) for each in fields(step)})


def seed_of(seed: int, continuation: int, place: int) -> int:
    """The seed of the action at a place of a continuation: the same in every round.

    Args:
        seed: Of all rounds of one trajectory.
        continuation: Which one of a round.
        place: How many actions the episode has before it.

    Example:
        >>> seed_of(0, 3, 5) == seed_of(0, 3, 5) != seed_of(0, 4, 5)
        True
    """
    found = sha256(f"{seed}:{continuation}:{place}".encode()).digest()
    return int.from_bytes(found[:4], "big") & 0x7FFFFFFF


class Criticality(NamedTuple):
    """What one turn did for the outcome."""

    mean: float
    error: float | None
    """Standard error of the mean; None where all outcomes are alike and nobody says how far they
    may lie apart."""
    interval: tuple[float, float] | None
    """The 95 % interval of the mean."""

    @classmethod
    def of(cls, after: Sequence[float], before: Sequence[float], spread: float) -> Criticality:
        """From the outcomes of the same continuations after the turn and before it.

        Few continuations that all end alike don't prove that others would. So the error is that
        of the differences with two more, one `spread` above their mean and one below, as Agresti
        and Caffo (*The American Statistician* 54, 2000) add a success and a failure.

        Args:
            after: Outcomes from the history with the turn.
            before: Outcomes from the history without it, in the same order.
            spread: How far outcomes lie apart; for one without rewards in between, 1.

        Example:
            >>> found = Criticality.of([1.0] * 8, [0.0, 1.0] * 4, 1.0)
            >>> found.mean, round(found.error, 2)
            (0.5, 0.21)
        """
        differences = [a - b for a, b in zip(after, before, strict=True)]
        mean, size = fmean(differences), len(differences)
        if not spread:
            return cls(mean, None, None)
        squares = sum((each - mean) ** 2 for each in differences) + 2 * spread * spread
        error = sqrt(squares / ((size + 1) * (size + 2)))
        reach = student(size + 1) * error
        return cls(mean, error, (mean - reach, mean + reach))


# ---- The verifiers


class _Played(AsyncVerifier):
    """Base of both: `plays_on` says how episodes go on, and `compared` what is compared."""

    tier = Tier.SIMULATION
    kind = "text"
    domain = "agents"
    capabilities = ("planning", "reasoning")
    task_fields = None
    reads_turns = True
    observed = "outside"
    concurrency = 2
    plays_on: ClassVar[bool]
    """Whether the policy goes on after the action that it draws; else the recorded ones follow."""

    @checked(continuations=2, most_turns=1, at_once=1, seed=0)
    def __init__(
        self,
        *,
        environment: Make | str = DESK,
        policy: Policy | Mapping[str, Any] | None = None,
        outcome: Verifier | str = RETURN,
        continuations: int = 16,
        most_turns: int = 100,
        spread: float | None = None,
        at_once: int = 16,
        seed: int = 0,
        timeout: float = 600.0,
    ) -> None:
        """Say where and by whom episodes are played on.

        Args:
            environment: What makes an environment of a task, or its entry point of group
                `verifier_ladder.environments`; `"desk"` makes the one that `final-state` uses.
            policy: Who plays on, or the settings of an `EndpointPolicy`; its actions are calls of
                tools where the environment is `"desk"`.
            outcome: `"return"`, the sum of an episode's rewards; or a verifier that judges the
                episode, or its name: 0 for a reject, the score of an accept, or 1 if it has none.
            continuations: How many are played from each history.
            most_turns: Turns after which an episode is ended.
            spread: How far outcomes can lie apart, for intervals. If left out, intervals take
                those that were seen for all that there are: a rare outcome that is far from the
                others and was not met is then not covered.
            at_once: How many continuations of one trajectory are played at once.
            seed: What the seeds of all actions follow from.
            timeout: Seconds that one trajectory may take.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        if spread is not None and spread <= 0:
            raise ConfigError(f"spread={spread!r}: give a number above 0")
        self._make = _maker(environment)
        if isinstance(policy, Mapping):
            policy = EndpointPolicy(**{"calls": environment == DESK, **policy})
        self.policy = policy
        self._judge = judge = _judge(outcome)
        self._most, self._times, self._at_once = most_turns, continuations, at_once
        self._spread, self._seed, self.timeout = spread, seed, timeout
        both = [each for each in (self.policy, judge) if each is not None]
        self.secrets = tuple(dict.fromkeys(name for each in both for name in each.secrets))
        self.env = tuple(dict.fromkeys(name for each in both for name in each.env))
        self.hidden = () if judge is None else judge.hidden
        self.cost = self._expected(min(4, most_turns))
        super().__init__(
            environment=_identity("environment", environment), policy=_told(self.policy),
            outcome=RETURN if judge is None else judge.digest.hex(),
            continuations=continuations, most_turns=most_turns, spread=spread, seed=seed,
        )  # fmt: skip

    @abstractmethod
    def compared(
        self, rounds: Sequence[Sequence[float]], recorded: float, size: int
    ) -> list[tuple[Sequence[float], Sequence[float]]]:
        """The outcomes after each turn and before it.

        Args:
            rounds: Those of the continuations from each history that is no end.
            recorded: That of the trajectory itself.
            size: How many turns it has.
        """

    @abstractmethod
    def lengths(self, turns: int) -> Iterable[int]:
        """About how many actions each continuation draws, for each round of a trajectory."""

    def setup(self) -> None:
        """Set up the verifier that says what an episode is worth."""
        if self._judge is not None:
            self._judge.setup()

    # ---- Verdicts

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of turns."""
        return self._expected(len(candidate.turns))

    def _expected(self, turns: int) -> Cost:
        """If each continuation ends where the trajectory does: nobody knows how long it is."""
        by = self.policy
        if by is None or not 0 < turns <= self._most:
            return Cost(seconds=1e-3)
        rounds = list(self.lengths(turns))
        drawn, steps = self._times * sum(rounds), self._times * turns * (turns + 1) / 2
        judged = 0.0 if self._judge is None else self._judge.cost.seconds
        seconds = drawn * by.seconds + steps * 1e-4 + (1 + self._times * len(rounds)) * judged
        return Cost(seconds=1e-3 + seconds, money=drawn * by.money)

    async def verify_one(self, candidate: Candidate) -> Verdict:
        """Take the trajectory's actions again, then play on from each of its histories."""
        if self.policy is None:
            return Verdict.abstain(
                "there is no policy to play on; name one in its settings", failed_at="tool"
            )
        if not candidate.turns:
            return Verdict.abstain("the candidate has no turns")
        if len(candidate.turns) > self._most:
            why = f"the trajectory has more than {self._most} turns"
            return Verdict.reject(why, feedback=f"Act at most {self._most} times.")
        return await self._tried(candidate, self.policy)

    async def _tried(self, candidate: Candidate, policy: Policy) -> Verdict:
        """The verdict; where it fails, what was drawn until then is charged."""
        paid: list[float | None] = []
        try:
            async with asyncio.timeout(self.timeout - min(_MARGIN, self.timeout / 5)):
                return await self._judged(candidate, policy, paid)
        except TaskError as error:
            return Verdict.abstain(f"{error}", cost=_charged(policy, paid))
        except ToolError as error:
            boundary = error.boundary
            return Verdict.abstain(f"{error}", failed_at=boundary, cost=_charged(policy, paid))
        except TimeoutError:
            why = f"not played to the end in {self.timeout:g} s"
            return Verdict.abstain(why, failed_at="tool", cost=_charged(policy, paid))

    async def _judged(
        self, candidate: Candidate, policy: Policy, paid: list[float | None]
    ) -> Verdict:
        task = candidate.task or {}
        seed = _seed(task)
        with _environment(self._make, task) as environment:
            first = _begun(environment, seed)
            turns = taken_again(environment, candidate.turns)
            recorded = await self._outcome(candidate, candidate.content, turns)
            luck = _luck(self._seed, task, first, turns)
            episode = _Episode(candidate, policy.for_task(task), first, turns, luck, paid)
            rounds = await self._rounds(environment, episode, seed)
        # Where some episode is rewarded, one that was not is worth 0: rewards may come at the end.
        if recorded is None and all(end is None for ends in rounds for end in ends):
            raise TaskError(
                "the task's environment gives no rewards; name a verifier as the outcome"
            )
        outcomes = [[end or 0.0 for end in ends] for ends in rounds]
        money = None if None in paid else sum(each or 0.0 for each in paid)
        return self._verdict(outcomes, recorded or 0.0, len(turns), money)

    def _verdict(
        self, rounds: Sequence[Sequence[float]], recorded: float, size: int, money: float | None
    ) -> Verdict:
        seen = [recorded, *(outcome for outcomes in rounds for outcome in outcomes)]
        spread = max(seen) - min(seen) if self._spread is None else self._spread
        pairs = self.compared(rounds, recorded, size)
        found = [Criticality.of(after, before, spread) for after, before in pairs]
        return Verdict.accept(
            recorded,
            turns=tuple(TurnVerdict(place, each.mean) for place, each in enumerate(found)),
            evidence={
                "errors": [each.error for each in found],
                "intervals": [each.interval for each in found],
                "values": [fmean(outcomes) for outcomes in rounds],
                "continuations": self._times, "policy": self.settings["policy"],
            },
            cost=None if money is None else Cost(money=money),
        )  # fmt: skip

    # ---- Continuations

    async def _rounds(
        self, environment: Environment, episode: _Episode, seed: int
    ) -> list[list[float | None]]:
        """What the continuations from each history amount to; one snapshot is kept at a time."""
        environment.reset(seed)
        turns, rounds = episode.turns, list[list[float | None]]()
        for place in range(len(turns) + self.plays_on):
            if place:
                environment.step(turns[place - 1].action)
            if _is_over(turns[:place]):
                break
            state = environment.snapshot()
            played = [self._continuation(episode, place, state, k) for k in range(self._times)]
            rounds.append(await _gathered(played, self._at_once))
        return rounds

    async def _continuation(
        self, episode: _Episode, start: int, state: bytes, number: int
    ) -> float | None:
        """One continuation from a history, to its end."""
        candidate, policy, first, recorded, luck, paid = episode
        seen = list(recorded[:start])
        with self._make(candidate.task or {}) as environment:
            environment.restore(state)
            while len(seen) < self._most and not _is_over(seen):
                place = len(seen)
                if place == start or self.plays_on:
                    drawn = await policy.draw(first, tuple(seen), seed_of(luck, number, place))
                    paid.append(drawn.money)
                    seen.append(_step(environment, Turn(drawn.action)))
                elif place < len(recorded):
                    seen.append(_step(environment, recorded[place]))
                else:
                    break
        # What was answered at the end of the trajectory is no answer of another one's end.
        content = seen[-1].text if self.plays_on else candidate.content
        return await self._outcome(candidate, content, tuple(seen))

    async def _outcome(
        self, candidate: Candidate, content: str | bytes, turns: tuple[Turn, ...]
    ) -> float | None:
        """What an episode amounts to that ends with such content; None if nothing was rewarded.

        Raises:
            TaskError: If the verifier can't say what it is worth.
            ToolError: If the verifier failed.
        """
        if self._judge is None:
            rewards = [turn.reward for turn in turns if turn.reward is not None]
            return sum(rewards) if rewards else None
        played = replace(candidate, content=content, turns=turns)
        async with _one_at_a_time():
            verdict = (await asyncio.to_thread(self._judge.judge, [played]))[0]
        if verdict.failed_at:
            raise ToolError(f"the outcome is not known: {verdict.reason}")
        if verdict.outcome is Outcome.ABSTAIN:
            raise TaskError(f"the task's outcome is not known: {verdict.reason}")
        if verdict.outcome is Outcome.REJECT:
            return 0.0
        return 1.0 if verdict.score is None else verdict.score


class TurnCriticality(_Played):
    """Says of each turn what its action did for the outcome, by playing on from before and after.

    The turns' scores are their criticalities; evidence holds standard errors, 95 % intervals and
    `values`, the mean outcome before each turn. The verdict's score is the outcome that the
    actions have when they are taken again, whatever the trajectory claims. It rejects no outcome:
    put a verifier beside it that does.

    **What is not known.** Where the environment shows another observation than the trajectory
    says, the history is none that the policy was in: the verdict is an abstention, and kept. A
    policy that can't be asked is an abstention that is tried again.

    **Limits.** Criticalities are relative to the policy that plays on. Turns after the episode's
    end have none. Environments act in the event loop: they must answer within milliseconds,
    and slow statements at a desk hold up all that a worker judges.
    Intervals assume that outcomes lie no further apart than those that were seen, unless `spread`
    says how far they can: where 2 % of actions lose 100, 16 continuations mostly meet none,
    and under half of the intervals hold the truth. A trajectory that makes the policy refuse has
    no criticality, however often it is tried. The expected cost takes continuations to end where
    the trajectory does, and budgets count no more than they reserve by it: where continuations
    are longer, more is spent. Actions that are being drawn when a check fails are not charged.

    Example:
        >>> from verifier_ladder.taskenvironment import StepResult
        >>> class Door(Environment):
        ...     def begin(self, seed):
        ...         self.open = False
        ...         return "A closed door."
        ...     def act(self, action):
        ...         through = self.open and action == "go"
        ...         self.open = self.open or action == "open"
        ...         return StepResult("Done.", reward=float(through), terminated=action == "go")
        ...     def save(self): return b"o" if self.open else b"c"
        ...     def load(self, saved): self.open = saved == b"o"
        >>> class Hasty(Policy):
        ...     async def draw(self, first, turns, seed): return Drawn("go")
        >>> by = TurnCriticality(environment=lambda task: Door(), policy=Hasty())
        >>> did = (Turn("open", "Done."), Turn("go", "Done."))
        >>> [turn.score for turn in by.judge([Candidate("text", "", turns=did)])[0].turns]
        [1.0, 0.0]
    """

    name = "turn-criticality"
    version = "1"
    plays_on = True

    def lengths(self, turns: int) -> Iterable[int]:
        """To the trajectory's end; from there at least one action, if more may follow."""
        return (min(max(1, turns - t), self._most - t) for t in range(turns + 1))

    def compared(
        self, rounds: Sequence[Sequence[float]], recorded: float, size: int
    ) -> list[tuple[Sequence[float], Sequence[float]]]:
        """Continuations from the history after a turn, and from that before it."""
        values = [*rounds, [recorded] * self._times]  # The last stands in for an end.
        return [(values[turn + 1], values[turn]) for turn in range(size)]


class ReplayedCriticality(_Played):
    """Says of each turn what its action did for the outcome, all other actions kept.

    The recorded outcome, minus the mean of that with the turn's action drawn by a policy and the
    recorded actions after it. It needs one action of the policy for each continuation, and is
    another quantity than `turn-criticality`: recorded actions were chosen for what was seen then,
    and are taken whatever is seen now. Everything else is as there.
    """

    name = "replayed-criticality"
    version = "1"
    plays_on = False

    def lengths(self, turns: int) -> Iterable[int]:
        """One action in each round."""
        return [1] * turns

    def compared(
        self, rounds: Sequence[Sequence[float]], recorded: float, size: int
    ) -> list[tuple[Sequence[float], Sequence[float]]]:
        """The recorded outcome, and those with another action."""
        return [([recorded] * self._times, rounds[turn]) for turn in range(size)]


# ---- Small things


_MARGIN: Final = 2.0
"""Seconds of a long timeout that are left to say what was drawn."""
_LOCKS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def _one_at_a_time() -> asyncio.Lock:
    """What is held while a verifier is asked: it is promised one call at a time."""
    return _LOCKS.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class _Episode(NamedTuple):
    """What all continuations of one trajectory have in common."""

    candidate: Candidate
    policy: Policy
    first: str
    turns: tuple[Turn, ...]
    luck: int
    """What the seeds of their actions follow from."""
    paid: list[float | None]
    """What each drawn action has cost; continuations add to it."""


def _charged(policy: Policy, paid: Sequence[float | None]) -> Cost:
    """What actions cost; one that tells no cost has the usual one."""
    return Cost(money=sum(policy.money if each is None else each for each in paid))


def _luck(seed: int, task: Mapping[str, Any], first: str, turns: Sequence[Turn]) -> int:
    """Seeds of a trajectory's own: if all had the same, all would have the same error."""
    did = [turn.as_json()[0] for turn in turns]
    found = sha256(f"{seed}:{first}".encode("utf-8", "surrogatepass"))
    for part in (did, dict(task)):
        with suppress(ConfigError):  # No campaign takes such a task, or such actions.
            found.update(digest(part))
    return int.from_bytes(found.digest()[:8], "big")


def _environment(make: Make, task: Mapping[str, Any]) -> Environment:
    """An environment for a task.

    Raises:
        TaskError: If there can be none.
    """
    try:
        return make(task)
    except TaskError:
        raise
    except ConfigError as error:
        raise TaskError(f"the task's environment can't be made: {error}") from None


def _begun(environment: Environment, seed: int) -> str:
    """The first observation of an episode.

    Raises:
        TaskError: If the task is one that none can begin with.
    """
    try:
        return environment.reset(seed)
    except TaskError:
        raise
    except ConfigError as error:
        raise TaskError(f"the task's environment can't be used: {error}") from None


async def _gathered(
    played: Sequence[Coroutine[Any, Any, float | None]], at_once: int
) -> list[float | None]:
    """All of them, so many at once; one that fails ends the others.

    Raises:
        ToolError: If one of them did.
        TaskError: Likewise.
    """
    limit = asyncio.Semaphore(at_once)

    async def one(each: Coroutine[Any, Any, float | None]) -> float | None:
        async with limit:
            return await each

    tasks = [asyncio.ensure_future(one(each)) for each in played]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in played:
            each.close()  # One that never began would be complained of.


def _seed(task: Mapping[str, Any]) -> int:
    """The episode's seed.

    Raises:
        TaskError: If it is none.
    """
    seed = task.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise TaskError("the task's seed makes no sense: give a whole number from 0 on")
    return seed


def _maker(environment: Make | str) -> Make:
    if callable(environment):
        return environment
    points = {point.name: point for point in entry_points(group=GROUP)}
    if environment not in points:
        known = ", ".join(sorted(points)) or "none"
        raise ConfigError(
            f"no environment is called {environment!r}; there are {known}, and those that a "
            f"package offers as entry points of group {GROUP}"
        )
    found: Make = load(points[environment])
    return found


def _judge(outcome: Verifier | str) -> Verifier | None:
    if outcome == RETURN:
        return None
    found = REGISTRY.get(outcome) if isinstance(outcome, str) else outcome
    needs = found.waits or found.network or found.sandbox is not None or found.services
    if needs or found.scope == "group" or not found.reads_turns:
        raise ConfigError(
            f"verifier {found.name} can't say what an episode is worth: it must read turns, "
            "judge each candidate by itself, and answer without a network, a sandbox, a service "
            "or people"
        )
    return found


def _identity(what: str, thing: object) -> str:
    """What a part of the settings is called in the key; of code, a digest of its source."""
    if isinstance(thing, str):
        return thing
    found = fingerprint(thing)
    if found.problem:
        raise ConfigError(
            f"{what}: a digest of its source code is a part of the key, and {found.problem}; "
            f"offer it as an entry point of group {GROUP}, whose name is then in the key"
        )
    return found.digest[:16]


def _told(policy: Policy | None) -> dict[str, Any] | None:
    if policy is None:
        return None
    name = printable(f"{type(policy).__module__}.{type(policy).__qualname__}", 200)
    return {"class": name, "version": policy.version, **policy.settings}
