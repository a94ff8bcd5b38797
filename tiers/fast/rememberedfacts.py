"""The verifier `remembered-facts`: a fact that was seen in one turn is used in a later one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationInfo,
    field_validator,
    model_validator,
)

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate, Terminate, ToolCall, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.exactmatch import ExactMatch
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.toolcalls import calls_of
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict

_LONGEST = 1000
"""Characters of a value that is compared."""
_ANSWER = ExactMatch(normalise=("case", "space", "punctuation"))
Name = Annotated[str, Field(min_length=1, max_length=200)]


Value = Annotated[str, Field(pattern=r"\S", max_length=_LONGEST)] | int | FiniteFloat


class _Fact(BaseModel):
    """Something that an environment shows, and where it must be used."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
    tool: Name | None = None
    argument: Name | None = None
    least_gap: Annotated[int, Field(ge=1)] = 1
    compressed: bool = False

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.tool is None) != (self.argument is None):
            raise ValueError("give both tool and argument, or none for the answer")
        return self


class _Task(BaseModel):
    model_config = ConfigDict(strict=True)
    facts: Annotated[list[_Fact], Field(min_length=1, max_length=100)]
    values: dict[str, Value]

    @field_validator("facts")
    @classmethod
    def _differ(cls, facts: list[_Fact]) -> list[_Fact]:
        if len({fact.name for fact in facts}) < len(facts):
            raise ValueError("two facts have one name")
        return facts

    @field_validator("values")
    @classmethod
    def _are_there(cls, values: dict[str, Value], info: ValidationInfo) -> dict[str, Value]:
        for fact in info.data.get("facts", ()):
            if fact.name not in values:
                raise ValueError(f"{fact.name} is missing")
        return values


class _Use(NamedTuple):
    """A place where a fact is used, or should be."""

    turn: int
    is_right: bool


class RememberedFacts(SingleVerifier):
    """Accepts a trajectory that uses, later, each fact that an earlier observation has shown.

    **The task** holds `facts`, each with `name`, `tool` and `argument` where it must be used, or
    neither for the answer, `least_gap` (turns from the last sight of the value to its use, at
    least; 1 is the next turn) and `compressed` (the context must have been compressed in between);
    and `values`, text or number by the fact's name, which learners don't see.

    Of the uses that come so late, the first counts, so that trying all values does not pass. A use
    is the whole argument, or the whole answer: a number exactly, a text but for case and spaces.
    The value counts as shown where an observation holds it as a whole word; what the model wrote
    itself shows nothing. A fact that was shown again just before its use was looked up, and not
    remembered. Where one was never shown, nobody could remember it, and the verifier abstains.

    The score is the share of the facts that were remembered; each is a named score, too.

    **Limits.** It sees uses, not memory: a value that the prompt tells is no fact for it, and a
    model that copies each observation into its notes remembers by them.

    Example:
        >>> code = {"name": "code", "tool": "open", "argument": "code", "least_gap": 2}
        >>> task = {"facts": [code], "values": {"code": "7341"}}
        >>> seen = Turn(ToolCall("look"), "The code is 7341.")
        >>> between = Turn(ToolCall("walk"), "A hall.")
        >>> used = [Turn(ToolCall("open", {"code": code})) for code in ("7341", "7314")]
        >>> [v.outcome.value for v in RememberedFacts().judge([
        ...     Candidate("text", "Done.", task, (seen, between, use)) for use in used])]
        ['accept', 'reject']
    """

    name = "remembered-facts"
    version = "1"
    tier = Tier.FAST
    kind = "text"
    domain = "agents"
    capabilities = ("memory",)
    cost = Cost(seconds=2e-4)
    timeout = 30.0
    task_fields = ("facts", "values")
    hidden = ("values",)
    reads_turns = True
    observed = "outside"
    control = Candidate(
        "text", "blue", task={"facts": [{"name": "colour"}], "values": {"colour": "blue"}},
        turns=(Turn("look", "It is blue."),),
    )  # fmt: skip

    @checked(most_turns=1)
    def __init__(self, *, most_turns: int = 1000) -> None:
        """Set what is read.

        Args:
            most_turns: Turns of the longest trajectory, at most 10,000.

        Raises:
            ConfigError: If the bound makes no sense.
        """
        if most_turns > 10_000:  # noqa: PLR2004  # A server takes as many.
            raise ConfigError("most_turns must be 1 to 10,000")
        self._most = most_turns
        super().__init__(most_turns=most_turns)

    def examine(self, candidate: Candidate) -> Verdict:
        """Find where each fact was shown and used."""
        task, turns = read_task(_Task, candidate.task), candidate.turns
        if not turns:
            return Verdict.abstain("the candidate has no turns, so nothing was shown")
        if len(turns) > self._most:
            raise CandidateError(
                f"the trajectory has more than {self._most} turns", feedback="Act less often."
            )
        uses, faults = dict[int, bool](), dict[str, str]()
        for fact in task.facts:
            value = task.values[fact.name]
            word = _word(value)
            shown = [n for n, turn in enumerate(turns) if word.search(_plain(turn.observation))]
            if not shown:
                raise TaskError(f"the task's fact {fact.name} was never shown in an observation")
            use, fault = _judged(fact, shown, _uses(fact, value, candidate), turns)
            if fault:
                faults[fact.name] = fault
            if use is not None and use < len(turns):
                uses[use] = uses.get(use, True) and not fault
        return _verdict([fact.name for fact in task.facts], faults, uses)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _word(value: Value) -> re.Pattern[str]:
    """What finds a value as a whole word, or a whole number."""
    return re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(_plain(str(value)))}(?!\w)(?![.,]\d)")


def _is_same(value: Value, given: object) -> bool:
    """Whether an argument is the value: a text but for case and spaces, a number exactly."""
    if isinstance(given, bool) or not isinstance(given, (str, int, float)):
        return False
    if len(text := str(given)) > _LONGEST:
        return False
    if isinstance(value, str):
        return _plain(text) == _plain(value)
    try:
        return Decimal(text.strip()) == Decimal(str(value))
    except InvalidOperation:
        return False


def _uses(fact: _Fact, value: Value, candidate: Candidate) -> Iterator[_Use]:
    """Where a fact is used, rightly or not, in order; the answer's place is behind all turns."""
    turns = candidate.turns
    if fact.tool is None:
        end = next((t.action for t in turns if isinstance(t.action, Terminate)), None)
        said = candidate.content if end is None else end.answer
        of = Candidate("text", said, task={"answer": str(value)})
        yield _Use(len(turns), _ANSWER.judge([of])[0].outcome is Outcome.ACCEPT)
        return
    for made in calls_of(turns, (fact.tool,)):
        given = _arguments(made.call)
        if made.call.name == fact.tool and fact.argument in given:
            yield _Use(made.turn, _is_same(value, given[fact.argument]))


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; none if they can't be read."""
    given: Any = call.arguments
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return dict(given) if isinstance(given, dict) else {}


def _judged(
    fact: _Fact, shown: Sequence[int], uses: Iterator[_Use], turns: Sequence[Turn]
) -> tuple[int | None, str]:
    """The use of a fact that counts, and what is wrong with it; "" if nothing is."""
    where = "as the answer" if fact.tool is None else f"as {fact.argument} of {fact.tool}"
    use = next((each for each in uses if each.turn >= shown[0] + fact.least_gap), None)
    if use is None:
        return None, f"it is not used {where} after it was shown"
    if not use.is_right:
        return use.turn, f"what is used {where} is not what was shown"
    last = max(place for place in shown if place < use.turn)
    if use.turn - last < fact.least_gap:
        return use.turn, "it was shown again just before its use"
    between = turns[last + 1 : use.turn + 1]
    if fact.compressed and not any(turn.compressed for turn in between):
        return use.turn, "the context was not compressed between its sight and its use"
    return use.turn, ""


def _verdict(names: Sequence[str], faults: dict[str, str], uses: dict[int, bool]) -> Verdict:
    turns = tuple(TurnVerdict(place, float(right)) for place, right in sorted(uses.items()))
    scores = {name: float(name not in faults) for name in names}
    if not faults:
        return Verdict.accept(1.0, turns=turns, scores=scores)
    told = "; ".join(f"{name}: {fault}" for name, fault in list(faults.items())[:5])
    return Verdict.reject(
        f"facts were not remembered: {told}", score=1.0 - len(faults) / len(names),
        feedback=f"Use what you have seen: {told}.", turns=turns, scores=scores,
    )  # fmt: skip
