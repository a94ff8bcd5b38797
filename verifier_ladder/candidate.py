"""Candidates and samples: what is verified, and each time it appears."""

from __future__ import annotations

import reprlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
class Turn:
    """One action and the observation that followed, inside a candidate's trajectory."""

    action: str
    observation: str = ""
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what is no text, or no fields by name."""
        check_fields(self)


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


_MOST_PLACES = 1 << 24
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
    is_counted = 0 <= step < _MOST_PLACES
    where = f"step {step} of run {run}" if is_counted else f"run {run}, asked without a step"
    if 0 <= position < _MOST_PLACES:
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
