"""Masking: what a verifier hides of a task never stands in what it says.

A verdict's words reach learners, and with them whatever they quote: "expected 42" gives an answer
away. A verifier names the fields of a task that no learner may see in `hidden`; wherever a verdict
of it has words, each occurrence of what they hold becomes `[hidden]`.

Looked for are every text and number in these fields, however deep, as Python and as JSON write
it, whatever its case and spaces; of a longer text also each of its lines. What is shorter than
four characters is only looked for where the whole field is that value, and only as a word of its
own: the 3 in a list of tests stands everywhere. Truth values are not looked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from verifier_ladder.errors import ConfigError
from verifier_ladder.group import apart, is_group, is_told_together, members_of, together
from verifier_ladder.verdict import NO_EVIDENCE, Verdict

if TYPE_CHECKING:
    from verifier_ladder.artifact import Artifact
    from verifier_ladder.candidate import Candidate
    from verifier_ladder.verifiers import Verifier

T = TypeVar("T")
MASK: Final = "[hidden]"
"""What stands in the place of a hidden value."""
_SHORT, _LINE = 4, 12
"""Characters from which on a value is looked for inside of words, a line of a text by itself."""
_MARK = "\ue000"
_MOST = 1 << 22
"""Characters of hidden values, in all their spellings, that are looked for."""
_WORK = 1 << 33
"""Characters that are compared for one verdict; about two seconds."""
_DEEPEST = 64
_LARGEST = 10**4000


def check_hidden(verifier: Verifier) -> None:
    """Refuse to hide what a verifier does not read.

    Raises:
        ConfigError: If it names such a field.
    """
    fields = verifier.task_fields
    unread = [] if fields is None else [name for name in verifier.hidden if name not in fields]
    if unread:
        raise ConfigError(
            f"verifier {verifier.name} hides {', '.join(unread)}, which it does not read; name it "
            "in task_fields too, which vl.wrap calls columns"
        )


class Hidden:
    """The values that one task hides from learners.

    Example:
        >>> hidden = Hidden([{"city": "Paris"}, 42])
        >>> hidden.masked("Expected PARIS (42), got 427")
        'Expected [hidden] ([hidden]), got 427'
    """

    def __init__(self, values: Sequence[Any]) -> None:
        """Look for values, each that of a field."""
        self._long: dict[str, str] = {}
        self._alone: dict[str, str] = {}
        """How each is written, by how it is compared."""
        self._is_large = False
        try:
            self._take(pair for value in values for pair in _spellings(value))
        except RecursionError:
            self._is_large = True

    def _take(self, spellings: Iterable[tuple[str, bool]]) -> None:
        size = 0
        for spelling, is_alone in spellings:
            folded = _folded(spelling)
            size += len(folded)
            if size > _MOST:
                self._is_large = True
                return
            if len(folded) >= _SHORT:
                self._long[folded] = spelling
            elif folded and is_alone:
                self._alone[folded] = spelling

    def masked(self, text: str) -> str:
        """The text with every hidden value masked."""
        return self.among([text])[0]

    def among(self, texts: Sequence[str]) -> list[str]:
        """Several texts, masked; the values are looked for in all of them at once."""
        folded = _folded(" ".join(texts))
        work = len(folded) * (len(self._long) + len(self._alone))
        if self._is_large or work > _WORK:  # Too much to look for: nothing of it is told.
            return [MASK if text else "" for text in texts]
        found = {key: self._long[key] for key in self._long if key in folded}
        found |= {key: self._alone[key] for key in self._alone if key in folded}
        longest = sorted(found.items(), key=lambda pair: -len(pair[0]))
        return [self._without(text, longest) for text in texts] if longest else list(texts)

    def _without(self, text: str, found: Sequence[tuple[str, str]]) -> str:
        text = text.replace(MASK, _MARK)
        for folded, spelling in found:
            text = _pattern(spelling, is_alone=len(folded) < _SHORT).sub(_MARK, text)
        left = _folded(text)
        if any(len(folded) >= _SHORT and folded in left for folded, _ in found):
            return MASK  # Letters whose capitals are others, such as ß, can't be cut out.
        return text.replace(_MARK, MASK)


def without_hidden(verifier: Verifier, candidate: Candidate, verdict: Verdict) -> Verdict:
    """A verdict without what its verifier hides of the candidate's task.

    Reason, feedback, the feedback of turns and the texts in the evidence are masked; a score or an
    artifact whose name holds a hidden value gets another name. Of an artifact that holds one only
    the digest is kept. Numbers stay what they are.
    """
    if verifier.hidden and is_group(candidate):
        return _group_without_hidden(verifier, members_of(candidate), verdict)
    says = verdict.reason or verdict.feedback or verdict.turns or verdict.evidence
    says = says or verdict.scores or verdict.artifacts
    if not verifier.hidden or not candidate.task or not says:
        return verdict
    task = candidate.task
    hidden = Hidden([task[name] for name in verifier.hidden if name in task])
    turns, names = verdict.turns, list(verdict.scores)
    files = {name: _shown(one, hidden) for name, one in verdict.files.items()}
    files = _renamed(files, hidden.among(list(files)))
    told = list(_texts(verdict.evidence))
    texts = [verdict.reason, verdict.feedback, *(turn.feedback for turn in turns), *names, *told]
    clean = hidden.among(texts)
    if clean == texts and files == verdict.files:
        return verdict
    end = 2 + len(turns)
    known = dict(zip(told, clean[end + len(names) :], strict=True))
    evidence = _replaced(verdict.evidence, known) if known else verdict.evidence
    pairs = zip(turns, clean[2:end], strict=True)
    return replace(
        verdict, reason=clean[0], feedback=clean[1], evidence=evidence,
        turns=tuple(replace(turn, feedback=said) for turn, said in pairs),
        scores=_renamed(verdict.scores, clean[end : end + len(names)]) or NO_EVIDENCE,
        artifacts=files or NO_EVIDENCE,
    )  # fmt: skip


def _group_without_hidden(
    verifier: Verifier, members: Sequence[Candidate], verdict: Verdict
) -> Verdict:
    """The same of what is said of a whole group: each member's part by its own task."""
    if not is_told_together(verdict):
        for member in members:
            verdict = without_hidden(verifier, member, verdict)
        return verdict
    said = apart(verdict, len(members))
    clean = [without_hidden(verifier, *pair) for pair in zip(members, said, strict=True)]
    return verdict if clean == said else replace(together(clean), cost=verdict.cost)


def _renamed(values: Mapping[str, T], names: Sequence[str]) -> dict[str, T]:
    pairs = zip(values.items(), names, strict=True)
    return {
        name if name == clean else f"hidden_{place}": value
        for place, ((name, value), clean) in enumerate(pairs, 1)
    }


def _shown(artifact: Artifact, hidden: Hidden) -> Artifact:
    """An artifact without its bytes, where they hold what is hidden, or too much to look for."""
    if artifact.data is None:
        return artifact
    text = artifact.data.decode("utf-8", "replace")
    is_clean = hidden.masked(text) == text
    return artifact if is_clean else artifact.without_data("it held what its verifier hides")


def _spellings(value: Any, depth: int = 0) -> Iterator[tuple[str, bool]]:
    """How a value may be written, and whether it is the whole of its field."""
    is_alone = depth == 0
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        yield value, is_alone
        yield from ((written, False) for written in _quotations(value))
    elif isinstance(value, (int, float)):
        yield from ((written, is_alone) for written in _numerals(value))
    elif isinstance(value, (bytes, bytearray)):
        yield from _spellings(value.decode("utf-8", "replace"), depth)
    elif depth < _DEEPEST and isinstance(value, (Mapping, list, tuple)):
        yield from _parts(value, depth)


def _quotations(text: str) -> Iterator[str]:
    """What may be quoted of a text: the whole with its line ends written out, and each line."""
    yield json.dumps(text)[1:-1]
    yield repr(text)[1:-1]
    if "\n" in text:
        yield from (line for line in text.splitlines() if len(line.strip()) >= _LINE)


def _parts(value: Any, depth: int) -> Iterator[tuple[str, bool]]:
    yield repr(value), False
    for separators in ((",", ":"), (", ", ": ")):
        yield json.dumps(value, separators=separators, default=str, skipkeys=True), False
    parts = list(value.values() if isinstance(value, Mapping) else value)
    if all(isinstance(part, (str, int, float)) for part in parts):
        yield ", ".join(map(str, parts)), False
        yield " ".join(map(str, parts)), False
    for part in parts:
        yield from _spellings(part, depth + 1)


def _numerals(value: Any) -> Iterator[str]:
    if isinstance(value, float):
        yield from {str(value), f"{value:g}", *([f"{value:.0f}"] if value.is_integer() else [])}
    elif abs(value) < _LARGEST:  # Python writes no larger ones.
        yield from (str(value), f"{value}.0")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _pattern(spelling: str, *, is_alone: bool) -> re.Pattern[str]:
    written = r"\s+".join(map(re.escape, spelling.split()))
    if is_alone:
        written = rf"(?<!\w)(?<!\d\.){written}(?!\w)(?!\.\d)"
    return re.compile(written, re.IGNORECASE)


def _texts(value: Any) -> dict[str, None]:
    """The texts in evidence, each once."""
    if isinstance(value, str):
        return {value: None}
    parts = value.values() if isinstance(value, Mapping) else value
    if not isinstance(value, (Mapping, list, tuple)):
        return {}
    return {text: None for part in parts for text in _texts(part)}


def _replaced(value: Any, known: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return known.get(value, value)
    if isinstance(value, Mapping):
        return {name: _replaced(part, known) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(part, known) for part in value]
    return value
