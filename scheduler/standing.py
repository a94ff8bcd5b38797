"""Standings: what is known of one candidate under one ladder."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from verifier_ladder.candidate import Candidate, Turn, checked_candidate, checked_candidates
from verifier_ladder.cost import Amounts
from verifier_ladder.decision import Belief
from verifier_ladder.keys import NO_TASK, check_key, raw_key, task_digest
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.candidates import task_fields, turns_digest
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from verifier_ladder.scheduler.comparison import Comparison
    from verifier_ladder.scheduler.survey import Survey


_NOTHING_EXPECTED: Mapping[str, Amounts] = MappingProxyType({})
_NO_PARTS: Mapping[str, dict[int, Verdict]] = MappingProxyType({})


class Standing:
    """One candidate, with the verdicts it has so far; every sample of it shares the standing.

    Not thread-safe by itself: the climb that owns it holds a lock.
    """

    __slots__ = (
        "_candidate", "belief", "comparison", "concluded", "content_key", "end", "expected",
        "explained", "given", "is_judged", "is_known", "keys", "lapsed", "parts", "problem",
        "reward", "subject", "survey", "task_key", "turns_key", "used", "verdicts",
    )  # fmt: skip

    def __init__(
        self,
        candidate: Candidate | str,
        content_key: bytes,
        given: str | bytes,
        problem: Verdict | None = None,
        task_key: bytes | None = None,
    ) -> None:
        """Start without verdicts.

        Args:
            candidate: In canonical form, with its task and turns. A kind alone stands for one
                without them that is canonical as given: it is made when somebody asks for it.
            content_key: Key of the canonical form.
            given: One spelling, as the model wrote it, for verifiers that read raw text.
            problem: Why there is no canonical form, if there is none.
            task_key: Digest of the whole task, if it is known.
        """
        self._candidate = candidate
        self.content_key = content_key
        self.given = given
        self.problem = problem
        self.verdicts: dict[str, Verdict] = {}
        self.expected: Mapping[str, Amounts] = _NOTHING_EXPECTED
        """What its check by a verifier is expected to take, where that was asked."""
        self.belief: Belief | None = None
        self.reward: Reward | None = None
        self.survey: Survey | None = None
        """What the verdicts amount to, while the climb may go on."""
        self.explained: NDArray[np.float64] | None = None
        """Share of the belief's variance that each tier is expected to explain."""
        self.concluded = -1
        """Version of the beliefs that it was concluded with."""
        self.end = -1
        """Index into `ENDS` of why its climb is over, once concluded; -1 if it is not."""
        self.is_judged = False
        """Whether the top tier has scored or rejected it, once concluded."""
        self.is_known = False
        """Whether its reward needs no belief, once concluded; see `Survey`."""
        self.comparison: Comparison | None = None
        """The group that it is a member of, before a verifier above the fast tier."""
        self.lapsed = False
        """Whether a failure was dropped, so that its verifier must be asked again."""
        self.keys: tuple[bytes, ...] = ()
        """Its check keys, in the order of the ladder's askings."""
        self.parts: Mapping[str, dict[int, Verdict]] = _NO_PARTS
        """What replicates have said, by verifier and number."""
        self.used: tuple[bytes, ...] = ()
        """Check keys that its reward rests on, once concluded."""
        self.task_key = NO_TASK
        """Digest of the whole task."""
        self.turns_key = NO_TASK
        """Digest of the trajectory."""
        self.subject: Hashable = content_key
        """What tells it apart from every other standing of its ladder."""
        if not isinstance(candidate, str) and (candidate.task or candidate.turns):
            self._tell_apart(candidate, task_key)

    def _tell_apart(self, candidate: Candidate, task_key: bytes | None) -> None:
        """Name it by its task and turns too."""
        self.task_key = task_digest(candidate.task or {}) if task_key is None else task_key
        self.turns_key = turns_digest(candidate.turns)
        self.subject = (self.content_key, self.task_key, self.turns_key)

    def without_text(self) -> Standing:
        """What became of it, for others to be compared with: it may be kept for long."""
        made = copy(self)
        made._candidate, made.given = self.kind, ""  # noqa: SLF001 - its own class
        made.verdicts, made.parts = {}, _NO_PARTS
        return made

    def in_group(self) -> Standing:
        """The same candidate as a member of one group, where nobody has judged that yet."""
        made = copy(self)
        made.verdicts, made.reward, made.survey = dict(self.verdicts), None, None
        return made

    @property
    def is_as_given(self) -> bool:
        """Whether the candidate is nothing beside what was given."""
        return isinstance(self._candidate, str)

    @property
    def kind(self) -> str:
        """What kind of candidate it is."""
        return self._candidate if isinstance(self._candidate, str) else self._candidate.kind

    @property
    def candidate(self) -> Candidate:
        """The candidate in canonical form, with its task and turns."""
        candidate = self._candidate
        if isinstance(candidate, str):
            candidate = self._candidate = checked_candidate(candidate, self.given)
        return candidate

    @staticmethod
    def all_seen_by(standings: Sequence[Standing], verifier: Verifier) -> list[Candidate]:
        """The candidates of many standings, as a verifier may see them; made together."""
        waiting = [one for one in standings if isinstance(one._candidate, str)]  # noqa: SLF001
        if waiting:
            made = checked_candidates(waiting[0].kind, [one.given for one in waiting])
            for one, candidate in zip(waiting, made, strict=True):
                one._candidate = candidate  # noqa: SLF001 - its own class
        candidates = [one.candidate for one in standings]
        if verifier.reads != "raw" and not any(one.task or one.turns for one in candidates):
            return candidates
        parts = zip(*[one._shown_to(verifier) for one in standings], strict=True)  # noqa: SLF001
        return checked_candidates(candidates[0].kind, *map(list, parts)) if candidates else []

    def place_of(self, check_key: bytes) -> int:
        """Place among the ladder's askings of a check of this candidate, or of its whole group.

        Raises:
            ValueError: If there is no such check.
        """
        if self.comparison is not None and self.comparison.key == check_key:
            return self.comparison.place
        return self.keys.index(check_key)

    @property
    def is_due(self) -> bool:
        """Whether the top tier, if it is asked on, may still judge it, once concluded."""
        return self.survey is not None and self.survey.is_due

    def learn(self, verifier: str, verdict: Verdict) -> None:
        """Take a verdict; what was concluded before no longer holds."""
        self.verdicts[verifier] = verdict
        if self.reward is not None:
            self.reward = None
        if self.lapsed:
            self.lapsed = False

    def hear(self, verifier: Verifier, number: int, verdict: Verdict) -> None:
        """Take what one check says; replicates make a verdict once all of them have ended."""
        name = verifier.name
        if verifier.replicates == 1:
            self.learn(name, verdict)
            return
        self.parts = {**self.parts, name: {**self.parts.get(name, {}), number: verdict}}
        said = self.parts[name]
        if len(said) == verifier.replicates:
            self.learn(name, combined([said[place] for place in sorted(said)]))

    def missing(self, verifier: Verifier) -> list[int]:
        """Numbers of the replicates that have not ended."""
        said = self.parts.get(verifier.name, ())
        return [number for number in range(verifier.replicates) if number not in said]

    @property
    def is_rejected(self) -> bool:
        """Whether any verifier has rejected it."""
        return any(verdict.outcome is Outcome.REJECT for verdict in self.verdicts.values())

    def forget_failures(self) -> None:
        """Drop abstentions of a failed boundary: an outage is not an answer."""
        for name in [name for name, verdict in self.verdicts.items() if verdict.failed_at]:
            del self.verdicts[name]
            self.reward = None
            self.lapsed = True
            if name in self.parts:
                answers = {n: said for n, said in self.parts[name].items() if said.is_answer}
                self.parts = {**self.parts, name: answers}

    def key_of(self, verifier: Verifier, number: int = 0) -> bytes:
        """Key of a verifier's check of this candidate; `number` is that of the replicate."""
        return check_key(verifier.key_digest, *self.named_for(verifier), number)

    def named_for(self, verifier: Verifier) -> tuple[bytes, bytes, bytes]:
        """Digests of what a verifier reads of this candidate: its content, task and turns."""
        candidate, content = self.candidate, self.content_key
        if verifier.reads == "raw":
            content = raw_key(candidate.kind, self.given)
        reads, task = verifier.task_fields, self.task_key
        if (
            candidate.task
            and reads is not None
            and not all(map(reads.__contains__, candidate.task))
        ):
            task = task_digest(task_fields(candidate.task, verifier))
        return content, task, self.turns_key if verifier.reads_turns else NO_TASK

    def seen_by(self, verifier: Verifier) -> Candidate:
        """The candidate with only what the verifier declares that it reads."""
        return self.all_seen_by([self], verifier)[0]

    def _shown_to(
        self, verifier: Verifier
    ) -> tuple[str | bytes, dict[str, Any] | None, tuple[Turn, ...]]:
        """The content, task and turns that a verifier may see.

        What it doesn't declare is not in its check key: if it could read that all the same, a
        verdict would be used again where it does not hold. The task is its own to change.
        """
        candidate = self.candidate
        content = self.given if verifier.reads == "raw" else candidate.content
        task = None if candidate.task is None else task_fields(candidate.task, verifier)
        return content, task, candidate.turns if verifier.reads_turns else ()


def subject_columns(standings: Sequence[Standing]) -> dict[str, list[bytes] | None]:
    """Digests of each sample's task and turns; None of what no sample has."""
    columns = {
        "tasks": [standing.task_key for standing in standings],
        "turns": [standing.turns_key for standing in standings],
    }
    return {name: keys if {*keys} - {NO_TASK} else None for name, keys in columns.items()}
