"""The verifier `remembered-facts`: a fact that was seen in one turn is used in a later one."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Annotated, Any, Literal, NamedTuple, Self

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
from verifier_ladder.tiers.fast.extraction import LONGEST, SHORT, answers, bare
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.toolcalls import calls_of
from verifier_ladder.verdict import TurnVerdict, Verdict

_LONGEST = 1000
"""Characters of a value that is compared."""
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
    never_shown: Literal["abstain", "reject"] = "abstain"

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
    message: int
    is_right: bool


class _Judged(NamedTuple):
    """What is to be said of one fact."""

    fault: str = ""
    use: _Use | None = None
    unshown: str = ""
    """Why nobody could remember it; "" if somebody could."""


class _Trajectory:
    """What a trajectory holds, read once for all facts.

    Turns that are parallel are one message with the turn before: the model wrote all of them
    before it saw what followed any. Sights and uses are counted by messages.
    """

    def __init__(self, candidate: Candidate, tools: Sequence[str]) -> None:
        turns = candidate.turns
        self.messages = list(accumulate(int(not turn.parallel) for turn in turns))
        self.compressed = [at for at, t in zip(self.messages, turns, strict=True) if t.compressed]
        self._seen = [_plain(turn.observation) for turn in turns]
        made = calls_of(turns, tools)
        self.calls = [(each.turn, each.call.name, _arguments(each.call)) for each in made]
        written = [[turn.thought, *_action(turn)] for turn in turns]
        for place, _, given in self.calls:
            written[place] += _leaves(given)
        self._written = [_plain("\n".join(parts)) for parts in written]
        pairs = zip(turns, self.messages, strict=True)
        ends = ((t.action.answer, at) for t, at in pairs if isinstance(t.action, Terminate))
        self.answer, self.answered = next(ends, (candidate.content, self.messages[-1] + 1))

    def shown(self, holds: Callable[[str], bool]) -> list[int]:
        """The messages behind which an observation holds a value."""
        return [at for at, text in zip(self.messages, self._seen, strict=True) if holds(text)]

    def written(self, holds: Callable[[str], bool]) -> int | None:
        """The first message in which the model wrote a value itself."""
        pairs = zip(self.messages, self._written, strict=True)
        return next((at for at, text in pairs if holds(text)), None)


class RememberedFacts(SingleVerifier):
    """Accepts a trajectory that uses, later, each fact that an earlier observation has shown.

    **The task** holds `facts`, each with `name`, `tool` and `argument` where it must be used, or
    neither for the answer, `least_gap` (turns from the last sight of the value to its use, at
    least; 1 is the next turn) and `compressed` (the context must have been compressed in between);
    and `values`, text or number by the fact's name, which learners don't see. It may say what is
    made of a fact that was `never_shown`: `abstain`, or `reject` where the model must look for it.

    Of the uses that come so late, the first counts, so that trying all values does not pass. A use
    is the whole argument, or the whole answer: a number exactly, a text but for case and spaces.
    The value counts as shown where an observation holds it as a whole word; what the model wrote
    itself shows nothing, nor does an observation of what the model wrote before. A fact that was
    shown again just before its use was looked up, and not remembered. Parallel turns are one.

    The score is the share of the facts that were remembered; each that was shown is a named score,
    too.

    **Limits.** It sees uses, not memory: a value that the prompt tells is no fact for it, and a
    model that copies each observation into its notes remembers by them. A tool that makes the
    value of what the model gives it, such as of two halves, shows it.

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
    task_fields = ("facts", "values", "never_shown")
    hidden = ("values",)
    reads_turns = True
    observed = "outside"
    control = Candidate(
        "text", "blue", task={"facts": [{"name": "colour"}], "values": {"colour": "blue"}},
        turns=(Turn("look", "It is blue."),),
    )  # fmt: skip

    @checked(most_turns=1, most_characters=1)
    def __init__(self, *, most_turns: int = 1000, most_characters: int = LONGEST) -> None:
        """Set what is read.

        Args:
            most_turns: Turns of the longest trajectory, at most 10,000.
            most_characters: Characters of all its turns, at most 2,000,000.

        Raises:
            ConfigError: If a bound makes no sense.
        """
        if most_turns > 10_000:  # noqa: PLR2004  # A server takes as many.
            raise ConfigError("most_turns must be 1 to 10,000")
        if most_characters > 2_000_000:  # noqa: PLR2004  # More takes longer than the timeout.
            raise ConfigError("most_characters must be 1 to 2,000,000")
        self._most, self._longest = most_turns, most_characters
        super().__init__(most_turns=most_turns, most_characters=most_characters)

    def examine(self, candidate: Candidate) -> Verdict:
        """Find where each fact was shown and used."""
        task, turns = read_task(_Task, candidate.task), candidate.turns
        if not turns:
            return Verdict.abstain("the candidate has no turns, so nothing was shown")
        if len(turns) > self._most:
            raise CandidateError(
                f"the trajectory has more than {self._most} turns", feedback="Act less often."
            )
        if sum(map(_length, turns)) > self._longest:
            raise CandidateError(
                f"the trajectory has more than {self._longest} characters",
                feedback="Write less, and ask for less at a time.",
            )
        tools = [fact.tool for fact in task.facts if fact.tool is not None]
        read = _Trajectory(candidate, tools)
        judged = {fact.name: _judged(fact, task.values[fact.name], read) for fact in task.facts}
        return _verdict(task, judged, len(turns))


def _action(turn: Turn) -> list[str]:
    """What the model wrote as a turn's action."""
    if not isinstance(turn.action, ToolCall):
        return [turn.text]
    return [turn.action.name, *_leaves(turn.action.arguments)]


def _length(turn: Turn) -> int:
    return len(turn.observation) + len(turn.thought) + sum(map(len, _action(turn)))


def _leaves(value: Any) -> list[str]:
    """Texts, numbers and names in a value, however deep they stand."""
    left, found = [value], list[str]()
    while left:
        each = left.pop()
        if isinstance(each, Mapping):
            left += [*each.keys(), *each.values()]
        elif isinstance(each, (list, tuple)):
            left += each
        else:
            found.append(_text(each))
    return found


def _text(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits.
        return ""


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFC", text.casefold()).replace("\u2212", "-")
    return " ".join(text.split())


def _finder(value: Value) -> Callable[[str], bool]:
    """What tells whether a plain text holds a value as a whole word, or a whole number."""
    plain = _plain(str(value))
    # 5 is not in -5 nor in 1e-5, but in "from 3-5" and in "room-5".
    sign = "" if isinstance(value, str) else r"(?<!(?<!\w)-)(?<!\de[-+])"
    word = re.compile(rf"(?<!\w)(?<!\d[.,]){sign}{re.escape(plain)}(?!\w)(?![.,]\d)")
    # Most texts don't hold it at all, which is found faster.
    return lambda text: plain in text and word.search(text) is not None


def _is_same(value: Value, given: object) -> bool:
    """Whether an argument is the value: a text but for case and spaces, a number exactly."""
    if isinstance(given, bool) or not isinstance(given, (str, int, float)):
        return False
    if len(text := _text(given)) > _LONGEST:
        return False
    if isinstance(value, str):
        return _plain(text) == _plain(value)
    try:
        return Decimal(text.strip().replace("\u2212", "-")) == Decimal(str(value))
    except InvalidOperation:
        return False


def _is_answer(value: Value, said: str | bytes) -> bool:
    """Whether all marked answers are the value; a full stop may end a text."""
    try:
        found = [bare(each) for each in answers(said, SHORT, "")]
    except CandidateError:
        return False
    if isinstance(value, str):
        return all(_is_same(value, e) or _is_same(value, e.removesuffix(".")) for e in found)
    return all(_is_same(value, each) for each in found)


def _uses(fact: _Fact, value: Value, read: _Trajectory) -> Iterator[_Use]:
    """Where a fact is used, rightly or not, in order; the answer's place is behind all turns."""
    if fact.tool is None:
        yield _Use(len(read.messages), read.answered, _is_answer(value, read.answer))
        return
    for turn, tool, given in read.calls:
        if tool == fact.tool and fact.argument in given:
            yield _Use(turn, read.messages[turn], _is_same(value, given[fact.argument]))


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; none if they can't be read."""
    given: Any = call.arguments
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return dict(given) if isinstance(given, dict) else {}


def _judged(fact: _Fact, value: Value, read: _Trajectory) -> _Judged:
    """The use of a fact that counts, and what is wrong with it."""
    holds = _finder(value)
    shown, written = read.shown(holds), read.written(holds)
    if not shown:
        return _Judged(unshown="was never shown in an observation")
    use = next(
        (u for u in _uses(fact, value, read) if u.message >= shown[0] + fact.least_gap), None
    )
    fault = _fault(fact, shown, use, read)
    if not fault and written is not None and written <= shown[0]:
        return _Judged(unshown="was never shown before the model wrote it")
    return _Judged(fault, use)


def _fault(fact: _Fact, shown: Sequence[int], use: _Use | None, read: _Trajectory) -> str:
    """What is wrong with a use; "" if nothing is."""
    where = "as the answer" if fact.tool is None else f"as {fact.argument} of {fact.tool}"
    if use is None:
        return f"it is not used {where} after it was shown"
    if not use.is_right:
        return f"what is used {where} is not what was shown"
    last = max(message for message in shown if message < use.message)
    if use.message - last < fact.least_gap:
        return "it was shown again just before its use"
    if fact.compressed and not any(last < at <= use.message for at in read.compressed):
        return "the context was not compressed between its sight and its use"
    return ""


def _verdict(task: _Task, judged: Mapping[str, _Judged], count: int) -> Verdict:
    """What the facts of a trajectory of so many turns come to."""
    faults = {name: each.fault for name, each in judged.items() if each.fault}
    unshown = {name: each.unshown for name, each in judged.items() if each.unshown}
    if task.never_shown == "reject":
        faults |= {name: f"it {why}" for name, why in unshown.items()}
    elif unshown and not faults:
        name, why = next(iter(unshown.items()))
        raise TaskError(f"the task's fact {name} {why}")
    known = [name for name in judged if name in faults or name not in unshown]
    scores = {name: float(name not in faults) for name in known}
    uses = dict[int, bool]()
    for each in judged.values():
        if each.use is not None and each.use.turn < count:
            uses[each.use.turn] = uses.get(each.use.turn, True) and not each.fault
    turns = tuple(TurnVerdict(place, float(right)) for place, right in sorted(uses.items()))
    if not faults:
        return Verdict.accept(1.0, turns=turns, scores=scores)
    told = "; ".join(f"{name}: {fault}" for name, fault in list(faults.items())[:5])
    return Verdict.reject(
        f"facts were not remembered: {told}", score=sum(scores.values()) / len(judged),
        feedback=f"Use what you have seen: {told}.", turns=turns, scores=scores,
    )  # fmt: skip
