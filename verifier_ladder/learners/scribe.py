"""Scribes: what of a learner's samples is kept as transcripts, so that they can be trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from threading import Lock
from typing import Any

from verifier_ladder.candidate import Sample
from verifier_ladder.canonicaliser import Identity
from verifier_ladder.ladder import Ladder
from verifier_ladder.media import media_of
from verifier_ladder.tags import capabilities_of
from verifier_ladder.transcript import Transcript

_turns, _group = attrgetter("candidate.turns"), attrgetter("evaluation", "group")
_TAGS = ("capability", "domain")
"""Columns of a dataset that say what its tasks are about."""
MOST_REMEMBERED = 2**25
_OVERHEAD = 256
"""Bytes of a group beside the names that it has."""


class Scribe:
    """Makes transcripts of what the ledger would not hold otherwise.

    That is each prompt once, with the tags of its task, and a completion only where it is not the
    candidate's content: chat messages, turns, another spelling.

    Example:
        >>> import verifier_ladder as vl
        >>> check = vl.wrap(lambda completions: [1.0], name="check")
        >>> scribe = Scribe(vl.Ladder("check", [check]))
        >>> sample = vl.Sample(vl.Candidate("text", "4"), position=0, group="a")
        >>> [told.prompt for told in scribe.transcripts([sample], ["4"], {"prompt": ["2 + 2 ="]})]
        ['2 + 2 =']
        >>> scribe.transcripts([sample], ["4"], {"prompt": ["2 + 2 ="]})
        []
    """

    def __init__(self, ladder: Ladder) -> None:
        """Write for a ladder."""
        self._keeps_text = type(ladder.canonicaliser) is not Identity
        self._described: dict[tuple[str, bool, str], None] = {}
        """Groups by run, of training and of evaluation, oldest first; a prompt that comes again
        after its group was forgotten is kept once more."""
        self._remembered = 0
        """Bytes of these."""
        self._lock = Lock()  # A server's calls come from several threads.

    def transcripts(
        self, samples: Sequence[Sample], completions: Sequence[Any], columns: Mapping[str, Any],
        run: str = "",
    ) -> list[Transcript]:  # fmt: skip
        """What is to be kept of these samples; most often nothing.

        Args:
            samples: The samples.
            completions: What the learner handed over for each.
            columns: Lists with one value for each; `prompt`, `capability` and `domain` are read.
            run: Their run, where there are several.
        """
        with self._lock:
            told = list(self._groups(samples, columns, run))
        is_text = {str}.issuperset(map(type, completions))
        if self._keeps_text or not is_text or any(map(_turns, samples)):
            told += filter(None, map(self._sample, samples, completions))
        return told

    def forget(self, told: Sequence[Transcript], run: str = "") -> None:
        """Hear that these were not kept: they are told again when their groups come again."""
        with self._lock:
            for transcript in told:
                self._drop((run, transcript.evaluation, transcript.group))

    def _drop(self, key: tuple[str, bool, str]) -> None:
        if key in self._described:
            del self._described[key]
            self._remembered -= _weight(key)

    def _remember(self, key: tuple[str, bool, str]) -> None:
        self._described[key] = None
        self._remembered += _weight(key)
        while self._remembered > MOST_REMEMBERED:
            self._drop(next(iter(self._described)))

    def _groups(
        self, samples: Sequence[Sample], columns: Mapping[str, Any], run: str
    ) -> Iterator[Transcript]:
        groups = {one for one in map(_group, samples) if one[1]}
        new = [one for one in groups if (run, *one) not in self._described]
        if not new:
            return
        first = {_group(sample): i for i, sample in reversed(list(enumerate(samples)))}
        for one in new:
            told = {
                name: values[first[one]]
                for name in ("prompt", *_TAGS)
                if (values := columns.get(name)) is not None and len(values) == len(samples)
            }
            if any(value is not None for value in told.values()):
                self._remember((run, *one))
                yield Transcript(
                    group=one[1], prompt=told.get("prompt"),
                    capability=capabilities_of(told.get("capability")),
                    domain=str(told.get("domain") or ""), evaluation=one[0],
                )  # fmt: skip

    def _sample(self, sample: Sample, completion: Any) -> Transcript | None:
        is_text = isinstance(completion, str)
        said = completion if (is_text and self._keeps_text) or _is_long(completion) else None
        turns = sample.candidate.turns
        if said is None and not turns:
            return None
        return Transcript(
            sample.step, sample.position, sample.group, completion=said, turns=turns,
            evaluation=sample.evaluation,
        )  # fmt: skip


def _weight(key: tuple[str, bool, str]) -> int:
    return _OVERHEAD + len(key[0]) + len(key[2])


def _is_long(completion: Any) -> bool:
    """Whether it is a chat of more than the one text that is the candidate's content."""
    if isinstance(completion, str) or not isinstance(completion, Sequence):
        return False
    return len(completion) > 1 or bool(media_of(completion))
