"""Candidates and samples: what is verified, and each time it appears."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Turn:
    """One action and the observation that followed, inside a candidate's trajectory."""

    action: str
    observation: str = ""
    metadata: Mapping[str, Any] | None = None


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
        if not kind or not isinstance(kind, str) or "\0" in kind:
            raise ConfigError(f"a candidate's kind must be a name, not {kind!r}")
        if self.task is not None and not isinstance(self.task, Mapping):
            raise ConfigError(
                "a candidate's task must hold fields by name, such as {'answer': '4'}, "
                f"not {type(self.task).__name__}"
            )


_new = Candidate.__new__
_set_kind, _set_content, _set_task, _set_turns = (
    Candidate.__dict__[name].__set__ for name in ("kind", "content", "task", "turns")
)


def checked_candidate(kind: str, content: str | bytes) -> Candidate:
    """A candidate without task or turns, of a kind and content that were checked before."""
    candidate = _new(Candidate)
    _set_kind(candidate, kind)
    _set_content(candidate, content)
    _set_task(candidate, None)
    _set_turns(candidate, ())
    return candidate


def checked_candidates(kind: str, contents: Sequence[str | bytes]) -> list[Candidate]:
    """Candidates without task or turns, of a kind and contents that were checked before.

    Filling one slot after the other, each for all candidates, takes a tenth of the constructor's
    time, and a batch makes thousands.
    """
    candidates = [_new(Candidate) for _ in contents]
    for fill, values in (
        (_set_kind, repeat(kind)), (_set_content, contents), (_set_task, repeat(None)),
        (_set_turns, repeat(())),
    ):  # fmt: skip
        deque(map(fill, candidates, values), maxlen=0)
    return candidates


class SampleId(NamedTuple):
    """What names a sample: submitting the same id again is answered from the ledger."""

    run: str
    step: int
    position: int


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
    """How many samples the whole group has; 0 if it is complete in this call."""
    learner_version: str = ""
    """Version of the policy that wrote the candidate."""
    weight: float = 1.0
    """How strongly the learner reacts to this reward: the norm of the score function, if known."""
