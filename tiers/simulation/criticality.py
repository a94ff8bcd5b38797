"""The verifiers `turn-criticality` and `replayed-criticality`: which turns decided an episode.

The criticality of turn t is what taking its action did for the outcome: the mean outcome of
continuations from (h_t, a_t), minus that from the history h_t with the action drawn by a policy.

| Verifier | The rest of the episode is | The criticality of a turn |
|---|---|---|
| `turn-criticality` | played by the policy | V(h_t, a_t) - V(h_t), its advantage |
| `replayed-criticality` | the recorded actions | the recorded outcome, minus that without a_t |

For the first, continuations from (h_t, a_t) are those from h_(t+1), so that T turns take T + 1
rounds of continuations and not 2 T. All rounds have common seeds: the n-th action of the k-th
continuation is drawn by the same seed in each, and differences are taken in pairs.

**Chance of the environment** is that of the episode's seed: a snapshot holds what will be thrown,
so a criticality says what an action did for the outcome in this episode, luck included.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from hashlib import sha256
from importlib.metadata import entry_points
from math import sqrt
from statistics import fmean
from typing import Any, ClassVar, Final, NamedTuple

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import AsyncVerifier
from verifier_ladder.candidate import Action, Candidate, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.registry import REGISTRY, load
from verifier_ladder.sourcecode import fingerprint
from verifier_ladder.student import student
from verifier_ladder.taskenvironment import Environment
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.simulation.chatendpoint import ChatEndpoint
from verifier_ladder.tiers.tasks import TaskError
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
    """A model behind an OpenAI-compatible chat endpoint, whose answers are actions as text.

    Observations are what the user says, and actions what the assistant does.

    Example:
        >>> EndpointPolicy(model="agent-7b", url="http://127.0.0.1:8000/v1").settings["model"]
        'agent-7b'
    """

    def __init__(self, *, system: str = SYSTEM, **endpoint: Any) -> None:
        """Describe the policy; nothing is asked yet.

        Args:
            system: What it is told before all else.
            endpoint: `EndpointSettings`; it is sampled at temperature 1 unless they say so.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        try:
            self._endpoint = ChatEndpoint(**{"sampling": _SAMPLING, **endpoint})
        except TypeError as error:
            raise ConfigError(f"policy: {error}") from None
        self.system = system
        self.settings = {**self._endpoint.settings, "system": system}
        self.secrets, self.env = self._endpoint.secrets, self._endpoint.env
        self.money = self._endpoint.price(1000, 50)
        self.seconds = 0.002

    async def draw(self, first: str, turns: Sequence[Turn], seed: int) -> Drawn:
        """Ask the model for its next action."""
        said = [("system", self.system), ("user", first)]
        for turn in turns:
            said += [("assistant", turn.text), ("user", turn.observation)]
        messages = [{"role": role, "content": text} for role, text in said]
        completion = await self._endpoint.continued(messages, seed)
        if completion.is_refusal:
            raise ToolError("the policy refuses to act, so it can't play on")
        return Drawn(completion.text.strip(), self._endpoint.paid([completion]))


# ---- Episodes


class History(NamedTuple):
    """A history, and the state of the environment after it."""

    first: str
    turns: tuple[Turn, ...]
    state: bytes

    @property
    def is_over(self) -> bool:
        """Whether no action may follow."""
        return _is_over(self.turns)


def histories(environment: Environment, turns: Sequence[Turn], seed: int) -> list[History]:
    """Take a trajectory's actions again, and keep where it stood before and after each.

    Raises:
        TaskError: If the environment shows something else than the trajectory says it did.
    """
    first = environment.reset(seed)
    kept = [History(first, (), environment.snapshot())]
    for place, turn in enumerate(turns):
        if kept[-1].is_over:
            break
        seen = _step(environment, turn.action)
        if turn.observation and turn.observation != seen.observation:
            raise TaskError(
                f"the replayed observation of turn {place} differs: the trajectory was made in "
                "another environment, or with another seed"
            )
        kept.append(History(first, (*kept[-1].turns, seen), environment.snapshot()))
    return kept


def _is_over(turns: Sequence[Turn]) -> bool:
    return bool(turns) and (turns[-1].terminated or turns[-1].truncated)


def _step(environment: Environment, action: Action) -> Turn:
    step = environment.step(action)
    return Turn(action, **{each.name: getattr(step, each.name) for each in fields(step)})


def seed_of(seed: int, continuation: int, place: int) -> int:
    """The seed of the action at a place of a continuation: the same in every round.

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
        environment: Make | str = "desk",
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
            policy: Who plays on, or the settings of an `EndpointPolicy`.
            outcome: `"return"`, the sum of an episode's rewards; or a verifier that judges the
                episode, or its name: its score, 1 for an accept without one, 0 for a reject.
            continuations: How many are played from each history.
            most_turns: Turns after which an episode is ended.
            spread: How far outcomes lie apart, for intervals; as far as those that were seen if
                left out.
            at_once: How many continuations of one trajectory are played at once.
            seed: What the seeds of all actions follow from.
            timeout: Seconds that one trajectory may take.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        if spread is not None and spread <= 0:
            raise ConfigError(f"spread={spread!r}: give a number above 0")
        self._make = _maker(environment)
        self.policy = EndpointPolicy(**policy) if isinstance(policy, Mapping) else policy
        self._judge = _judge(outcome)
        self._most, self._times, self._at_once = most_turns, continuations, at_once
        self._spread, self._seed, self.timeout = spread, seed, timeout
        self.secrets = tuple(self.policy.secrets) if self.policy else ()
        self.env = tuple(self.policy.env) if self.policy else ()
        self.cost = self._expected(4)
        super().__init__(
            environment=_identity("environment", environment), policy=_told(self.policy),
            outcome=RETURN if self._judge is None else self._judge.digest.hex(),
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

    # ---- Verdicts

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of turns."""
        return self._expected(len(candidate.turns))

    def _expected(self, turns: int) -> Cost:
        """If each continuation ends where the trajectory does."""
        by, actions = self.policy, self._times * turns * (turns + 1) / 2
        if by is None:
            return Cost(seconds=1e-3)
        return Cost(seconds=1e-3 + actions * (1e-4 + by.seconds), money=actions * by.money)

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
        try:
            return await self._judged(candidate, self.policy)
        except TaskError as error:
            return Verdict.abstain(f"{error}")
        except ToolError as error:
            return Verdict.abstain(f"{error}", failed_at=error.boundary)

    async def _judged(self, candidate: Candidate, policy: Policy) -> Verdict:
        task = candidate.task or {}
        with self._make(task) as environment:
            path = histories(environment, candidate.turns, _seed(task))
        turns = path[-1].turns
        recorded = await self._outcome(candidate, candidate.content, turns)
        starts = [each for each in path[: None if self.plays_on else -1] if not each.is_over]
        played = [
            self._continuation(candidate, policy, start, turns[len(start.turns) :], number)
            for start in starts for number in range(self._times)
        ]  # fmt: skip
        ends = await _gathered(played, self._at_once)
        size = self._times
        outcomes = [each.outcome for each in ends]
        rounds = [outcomes[at : at + size] for at in range(0, len(outcomes), size)]
        return self._verdict(rounds, recorded, len(turns), _paid(ends))

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

    async def _continuation(
        self, candidate: Candidate, policy: Policy, start: History, recorded: Sequence[Turn],
        number: int,
    ) -> _End:  # fmt: skip
        """One continuation from a history, to its end."""
        seen, money = list(start.turns), list[float | None]()
        with self._make(candidate.task or {}) as environment:
            environment.restore(start.state)
            while len(seen) < self._most and not _is_over(seen):
                place = len(seen) - len(start.turns)
                if place == 0 or self.plays_on:
                    seed = seed_of(self._seed, number, len(seen))
                    drawn = await policy.draw(start.first, tuple(seen), seed)
                    money.append(drawn.money)
                    seen.append(_step(environment, drawn.action))
                elif place < len(recorded):
                    seen.append(_step(environment, recorded[place].action))
                else:
                    break
        # What was answered at the end of the trajectory is no answer of another one's end.
        content = seen[-1].text if self.plays_on else candidate.content
        return _End(await self._outcome(candidate, content, tuple(seen)), money)

    async def _outcome(
        self, candidate: Candidate, content: str | bytes, turns: tuple[Turn, ...]
    ) -> float:
        """What an episode amounts to that ends with such content.

        Raises:
            TaskError: If nothing says what it is worth.
            ToolError: If what says it failed.
        """
        if self._judge is None:
            rewards = [turn.reward for turn in turns if turn.reward is not None]
            if turns and not rewards:
                raise TaskError(
                    "the task's environment gives no rewards; name a verifier as the outcome"
                )
            return sum(rewards)
        played = replace(candidate, content=content, turns=turns)
        verdict = (await asyncio.to_thread(self._judge.judge, [played]))[0]
        if verdict.failed_at:
            raise ToolError(f"the outcome is not known: {verdict.reason}")
        if verdict.outcome is Outcome.ABSTAIN:
            raise TaskError(f"the task's outcome is not known: {verdict.reason}")
        if verdict.score is not None:
            return verdict.score
        return float(verdict.outcome is Outcome.ACCEPT)


class TurnCriticality(_Played):
    """Says of each turn what its action did for the outcome, by playing on from before and after.

    The turns' scores are their criticalities; evidence holds standard errors, 95 % intervals and
    the values of the histories between them. The verdict's score is the outcome that the actions
    have when they are taken again, whatever the trajectory claims. It rejects no outcome: put a
    verifier beside it that does.

    **What is not known.** Where the environment shows another observation than the trajectory
    says, the history is none that the policy was in: the verdict is an abstention, and kept. A
    policy that can't be asked is an abstention that is tried again.

    **Limits.** Criticalities are relative to the policy that plays on. Turns after the episode's
    end have none. Environments act in the event loop: they must answer within milliseconds.

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

    def compared(
        self, rounds: Sequence[Sequence[float]], recorded: float, size: int
    ) -> list[tuple[Sequence[float], Sequence[float]]]:
        """The recorded outcome, and those with another action."""
        return [([recorded] * self._times, rounds[turn]) for turn in range(size)]


# ---- Small things


class _End(NamedTuple):
    outcome: float
    money: list[float | None]
    """What each drawn action cost."""


def _paid(ends: Iterable[_End]) -> float | None:
    """Money that all actions cost; None where one of them tells none."""
    paid = [money for each in ends for money in each.money]
    known = [money for money in paid if money is not None]
    return sum(known) if len(known) == len(paid) else None


async def _gathered(played: Sequence[Coroutine[Any, Any, _End]], at_once: int) -> list[_End]:
    """All of them, so many at once; one that fails ends the others.

    Raises:
        ToolError: If one of them did.
        TaskError: Likewise.
    """
    limit = asyncio.Semaphore(at_once)

    async def one(each: Coroutine[Any, Any, _End]) -> _End:
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
    if found.waits or found.network or found.sandbox is not None or not found.reads_turns:
        raise ConfigError(
            f"verifier {found.name} can't say what an episode is worth: it must read turns, and "
            "answer without a network, a sandbox or people"
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
