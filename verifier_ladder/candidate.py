"""Candidates and samples: what is verified, and each time it appears."""

from __future__ import annotations

import json
import reprlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

from verifier_ladder.arguments import check_fields
from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable

T = TypeVar("T")
UNKNOWN_SIZE = -1
"""`Sample.group_size` where a learner sends samples one by one, and does not say of how many: they
are compared with nobody."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model called.

    Example:
        >>> Turn(ToolCall("search", {"query": "boiling point"}), "351 K").text
        '{"name": "search", "arguments": {"query": "boiling point"}}'
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    """By name; text where the model wrote what is no JSON object."""
    id: str = ""
    """What the model calls this call, if it does."""

    def __post_init__(self) -> None:
        """Refuse a call without a name, and arguments without names."""
        check_fields(self, name=1)


@dataclass(frozen=True, slots=True)
class Terminate:
    """A model's own declaration that it is done."""

    answer: str = ""
    """What it gave as its answer, if anything."""

    def __post_init__(self) -> None:
        """Refuse what is no text."""
        check_fields(self)


Action = str | ToolCall | Terminate
_TERMINATE = "terminate"


@dataclass(frozen=True, slots=True)
class Turn:
    """One action and the observation that followed, inside a candidate's trajectory.

    What is not known is left out: two turns that differ in what is known of them are told apart.

    Example:
        >>> Turn("2+2", "4").as_json()
        ['2+2', '4']
        >>> Turn.from_json(Turn(Terminate("4"), reward=1.0, terminated=True).as_json()).reward
        1.0
    """

    action: str | ToolCall | Terminate
    """Text, a tool that was called, or the model's declaration that it is done."""
    observation: str = ""
    metadata: Mapping[str, Any] | None = None
    thought: str = ""
    """What the model wrote for itself before it acted."""
    reward: float | None = None
    """What the environment gave for this turn; None if it gave nothing."""
    terminated: bool = False
    """Whether the environment came to an end of its own here."""
    truncated: bool = False
    """Whether it was ended here from outside, by a limit."""
    tokens: tuple[int, int] | None = None
    """The first token of the action in the completion, and the one after its last."""
    compressed: bool = False
    """Whether the context was compressed before this turn, so that the model no longer saw all of
    the earlier ones."""
    failed: bool | None = None
    """Whether the tool said that the call failed; None where nobody said."""
    parallel: bool = False
    """Whether the model acted before it saw the observation of the turn before, as where one
    message calls several tools."""

    def __post_init__(self) -> None:
        """Refuse what is no text, or no fields by name.

        Raises:
            ConfigError: If a field holds what it should not.
        """
        check_fields(self)
        if self.reward is not None:
            object.__setattr__(self, "reward", float(self.reward))
        if self.tokens is not None:
            object.__setattr__(self, "tokens", _span(self.tokens))

    @property
    def text(self) -> str:
        """The action as text: a tool's name and arguments as JSON, the answer of an end."""
        if isinstance(self.action, ToolCall):
            told = {"name": self.action.name, "arguments": self.action.arguments}
            return json.dumps(told, default=str)
        return self.action.answer if isinstance(self.action, Terminate) else self.action

    def as_message(self) -> dict[str, Any]:
        """The turn as an object, as verifiers in other languages and servers read it.

        Example:
            >>> Turn("2+2", "4").as_message()
            {'action': '2+2', 'observation': '4', 'metadata': None}
        """
        told = {name: getattr(self, name) for name, usual in _USUAL.items()}
        rest = {name: value for name, value in told.items() if value != _USUAL[name]}
        if self.tokens is not None:
            rest["tokens"] = list(self.tokens)
        metadata = None if self.metadata is None else dict(self.metadata)
        return {
            "action": _action_json(self.action), "observation": self.observation,
            "metadata": metadata, **rest,
        }  # fmt: skip

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Turn:
        """Read what `as_message` wrote."""
        return cls(**{**message, "action": _action_of(message["action"])})

    def as_json(self) -> list[Any]:
        """The turn as digests and the work queue have it; one of two texts is just them."""
        message = self.as_message()
        start = [message.pop("action"), message.pop("observation")]
        metadata = message.pop("metadata") or {}
        if message:
            return [*start, metadata, message]
        return [*start, metadata] if metadata else start

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Turn:
        """Read what `as_json` wrote."""
        action, observation, *rest = stored
        more = rest[1] if len(rest) > 1 else {}
        return cls(_action_of(action), observation, (rest[0] or None) if rest else None, **more)


_USUAL: Mapping[str, Any] = {
    one.name: one.default for one in fields(Turn)
    if one.name not in {"action", "observation", "metadata"}
}  # fmt: skip


def _span(tokens: Any) -> tuple[int, int]:
    is_pair = isinstance(tokens, (tuple, list)) and list(map(type, tokens)) == [int, int]
    if not is_pair or not 0 <= tokens[0] <= tokens[1]:
        raise ConfigError(
            f"a turn's tokens={tokens!r:.80}: give the first token of its action in the "
            "completion and the one after its last, such as (0, 12)"
        )
    return tokens[0], tokens[1]


def _action_json(action: Action) -> Any:
    if isinstance(action, str):
        return action
    if isinstance(action, Terminate):
        return {_TERMINATE: action.answer}
    arguments = action.arguments
    told = {
        "name": action.name, "id": action.id,
        "arguments": arguments if isinstance(arguments, str) else dict(arguments),
    }  # fmt: skip
    return {name: value for name, value in told.items() if value}


def _action_of(stored: Any) -> Any:
    if not isinstance(stored, Mapping):
        return stored
    return Terminate(stored[_TERMINATE]) if _TERMINATE in stored else ToolCall(**stored)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An immutable thing to verify.

    Example:
        >>> Candidate("molecule", "CCO").content
        'CCO'
    """

    kind: str
    """What it is: molecule, crystal, protein, code, text, …; decides how it is canonicalised."""
    content: str | bytes
    """The thing itself, as the model wrote it."""
    task: Mapping[str, Any] | None = None
    """What it is checked against: reference answer, tests, target. JSON values."""
    turns: tuple[Turn, ...] = ()
    """The trajectory that led to it, if any."""

    def __post_init__(self) -> None:
        """Refuse what no verifier could read."""
        kind: object = self.kind
        if not isinstance(self.content, (str, bytes)):
            raise ConfigError(
                f"a candidate's content must be text or bytes, not {type(self.content).__name__}"
            )
        if not isinstance(kind, str) or not kind or "\0" in kind:
            raise ConfigError(f"a candidate's kind must be a name, not {kind!r}")
        if self.task is not None and not isinstance(self.task, (dict, Mapping)):
            raise ConfigError(
                "a candidate's task must hold fields by name, such as {'answer': '4'}, "
                f"not {type(self.task).__name__}"
            )
        if type(self.turns) is not tuple or self.turns:
            _check_turns(self.turns)
            object.__setattr__(self, "turns", self.turns or ())


def _check_turns(turns: object) -> None:
    is_list = turns is None or isinstance(turns, (tuple, list))
    if not is_list or not all(isinstance(turn, Turn) for turn in turns or ()):  # type: ignore[attr-defined]
        shown = reprlib.repr(turns)
        raise ConfigError(f"a candidate's turns must be vl.Turn in a tuple, not {shown}")


def checked_candidate(kind: str, content: str | bytes) -> Candidate:
    """A candidate without task or turns, of a kind and content that were checked before."""
    candidate = Candidate.__new__(Candidate)
    _set_kind(candidate, kind)
    _set_content(candidate, content)
    _set_task(candidate, None)
    _set_turns(candidate, ())
    return candidate


_set_kind, _set_content, _set_task, _set_turns = (
    Candidate.__dict__[name].__set__ for name in ("kind", "content", "task", "turns")
)


def checked_candidates(
    kind: str,
    contents: Sequence[str | bytes],
    tasks: Iterable[Mapping[str, Any] | None] = repeat(None),
    turns: Iterable[tuple[Turn, ...]] = repeat(()),
) -> list[Candidate]:
    """Candidates whose parts were checked before, in a tenth of the constructor's time."""
    columns = {"kind": repeat(kind), "content": contents, "task": tasks, "turns": turns}
    return _filled(Candidate, len(contents), columns)


def with_tasks(
    candidates: Sequence[Candidate], tasks: Iterable[Mapping[str, Any] | None]
) -> list[Candidate]:
    """The same candidates with other tasks, in order."""
    columns: dict[str, Iterable[Any]] = {
        "kind": [each.kind for each in candidates],
        "content": [each.content for each in candidates],
        "task": tasks, "turns": [each.turns for each in candidates],
    }  # fmt: skip
    return _filled(Candidate, len(candidates), columns)


def _filled(of: type[T], count: int, columns: Mapping[str, Iterable[Any]]) -> list[T]:
    """Objects with slots, of which a batch makes thousands: one slot after the other, in all."""
    made = [of.__new__(of) for _ in range(count)]
    for name, values in columns.items():
        deque(map(of.__dict__[name].__set__, made, values), maxlen=0)
    return made


class SampleId(NamedTuple):
    """What names a sample: submitting the same id again is answered from the ledger."""

    run: str
    step: int
    position: int


MOST_PLACES = 1 << 24
"""Positions and steps below are counted; those from here on are drawn, or hashes."""
_SHOWN = 40


def sample_place(run: str, step: int, position: int = -1, content: str | bytes = "") -> str:
    """Where a sample stands, in words: a number that nobody counts is not shown.

    Args:
        run: Its run.
        step: Its step.
        position: Its position in the step; -1 to leave it out.
        content: The candidate, whose start is shown where the position helps nobody.

    Example:
        >>> sample_place("r", 3, 7), sample_place("r", 3, 3056356105912939, "CCO")
        ('step 3 of run r, sample 7', "step 3 of run r, 'CCO'")
    """
    is_counted = 0 <= step < MOST_PLACES
    where = f"step {step} of run {run}" if is_counted else f"run {run}, asked without a step"
    if 0 <= position < MOST_PLACES:
        return f"{where}, sample {position}"
    return f"{where}, {printable(content, _SHOWN)!r}" if content else where


@dataclass(frozen=True, slots=True)
class Sample:
    """One appearance of a candidate in a run. Rewards belong to samples."""

    candidate: Candidate
    run: str = ""
    """The run it belongs to; empty for the campaign's own."""
    step: int = -1
    """Training step; -1 for the next free one of the run."""
    position: int = -1
    """Place inside the step; -1 for its place in the call."""
    group: str = ""
    """Samples of one group answer the same prompt and are compared with each other."""
    group_size: int = 0
    """How many samples the whole group has; 0 if it is complete in this call, and `UNKNOWN_SIZE`
    if nobody knows. No advantage is told before all of a group's samples are in one step."""
    learner_version: str = ""
    """Version of the policy that wrote the candidate."""
    weight: float = 1.0
    """How strongly the learner reacts to this reward: the norm of the score function, if known."""
    # Its other fields are checked by `score`, column by column.
    evaluation: bool = False
    """Whether it was drawn to evaluate the policy, not to train it. It is filed under the run's
    evaluation, a run of its own, so that nothing is trained on it and no training sample is
    compared with it."""


_TRAINS = False
"""`Sample.evaluation` of most samples."""


def checked_samples(
    candidates: Sequence[Candidate],
    positions: Iterable[int],
    groups: Iterable[str],
    *,
    step: int = -1,
    learner_version: str = "",
    evaluation: Iterable[bool] | None = None,
) -> list[Sample]:
    """Samples of the campaign's own run, in a fifth of the constructor's time."""
    columns: dict[str, Iterable[Any]] = {
        "candidate": candidates, "run": repeat(""), "step": repeat(step), "position": positions,
        "group": groups, "group_size": repeat(0), "learner_version": repeat(learner_version),
        "weight": repeat(1.0), "evaluation": evaluation or repeat(_TRAINS),
    }  # fmt: skip
    return _filled(Sample, len(candidates), columns)
