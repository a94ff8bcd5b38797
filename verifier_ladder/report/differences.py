"""Differences of two texts: line by line, and word by word where a line was changed.

They are found in a process that may be killed: two texts can be made so that to compare them takes
hours. Only places come back, and the page writes its own texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

import orjson
from markupsafe import Markup, escape

from verifier_ladder.candidate import Candidate
from verifier_ladder.text import plain_lines
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Outcome, Verdict

LONGEST: Final = 20_000
"""Characters of each text that are compared."""
_ROWS = "rows.json"
_AROUND = 3
"""Lines that are alike and shown, before and after a change."""
_LIKE = 0.4
"""How alike two lines are of which the one was made into the other."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_FIELDS = 4

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of one text beside that of the other."""

    change: str
    """same, changed, removed, added, or skipped: lines that are alike and not shown."""
    first: int | None
    """Number of the line in the first text, from 1; of skipped lines how many there are."""
    other: int | None
    first_text: str = ""
    other_text: str = ""
    first_spans: Sequence[Span] = ()
    """Where words differ."""
    other_spans: Sequence[Span] = ()

    @property
    def first_marked(self) -> Markup:
        """The line of the first text, with the words that are not in the other."""
        return _marked(self.first_text, self.first_spans, Markup("<del>{}</del>"))

    @property
    def other_marked(self) -> Markup:
        """The line of the other text, with the words that are not in the first."""
        return _marked(self.other_text, self.other_spans, Markup("<ins>{}</ins>"))


def _marked(text: str, spans: Sequence[Span], form: Markup) -> Markup:
    made, at = [], 0
    for start, end in spans:
        made += [escape(text[at:start]), form.format(text[start:end])]
        at = end
    return Markup().join([*made, escape(text[at:])])


class DifferenceReading(SingleVerifier):
    """Compares two texts."""

    name, version, kind = "difference-reading", "1", "text"
    timeout = 3.0
    memory = 2**30
    batch_size = 1

    def examine(self, candidate: Candidate) -> Verdict:
        """Compare the two texts of a JSON list."""
        first, other = (text.split("\n") for text in orjson.loads(candidate.content))
        return Verdict.accept(artifacts={_ROWS: orjson.dumps(list(_compared(first, other)))})


READER: Final = DifferenceReading()


def shown(text: str) -> str:
    """A text as it is compared: fit to be shown, and not too long."""
    return plain_lines(text[:LONGEST])


def question(first: str, other: str) -> str:
    """What the reader is asked of two texts that are `shown`."""
    return orjson.dumps([first, other]).decode()


_Found = tuple[int | None, int | None, list[Span], list[Span]]


def _compared(first: Sequence[str], other: Sequence[str]) -> Iterator[_Found]:
    """Numbers of lines that stand beside each other, from 0, and where their words differ."""
    matcher = SequenceMatcher(None, first, other, autojunk=False)
    for tag, low, high, its_low, its_high in matcher.get_opcodes():
        if tag == "equal":
            yield from ((low + n, its_low + n, [], []) for n in range(high - low))
        else:
            yield from _changed(first, other, range(low, high), range(its_low, its_high))


def _changed(
    first: Sequence[str], other: Sequence[str], mine: range, its: range
) -> Iterator[_Found]:
    """Lines that differ: those that were made of each other side by side, in their order."""
    left = list(its)
    for place in mine:
        match = _words(first[place], other[left[0]]) if left else None
        yield (place, None, [], []) if match is None else (place, left.pop(0), *match)
    yield from ((None, place, [], []) for place in left)


def _words(first: str, other: str) -> tuple[list[Span], list[Span]] | None:
    """Where the words of two lines differ; None where hardly any is alike."""
    words, its = _split(first), _split(other)
    matcher = SequenceMatcher(None, words, its, autojunk=False)
    alike = sum(len("".join(words[m.a : m.a + m.size])) for m in matcher.get_matching_blocks())
    if 2 * alike < _LIKE * (len(first) + len(other)):
        return None
    mine, others = list[Span](), list[Span]()
    for tag, low, high, its_low, its_high in matcher.get_opcodes():
        if tag != "equal":
            mine += _span(words, low, high)
            others += _span(its, its_low, its_high)
    return mine, others


def _split(line: str) -> list[str]:
    return _WORD.findall(line)


def _span(words: Sequence[str], low: int, high: int) -> list[Span]:
    start = len("".join(words[:low]))
    return [(start, start + len("".join(words[low:high])))] if high > low else []


# ---- What was found


def rows_of(verdict: Verdict, first: str, other: str) -> list[Row] | None:
    """The two texts side by side; None if what was answered does not fit them.

    Args:
        verdict: What the reader answers; believed hostile.
        first: The one text.
        other: The other.
    """
    file = verdict.files.get(_ROWS)
    if verdict.outcome is not Outcome.ACCEPT or file is None or file.data is None:
        return None
    texts = first.split("\n"), other.split("\n")
    try:
        found = [_row(row, *texts) for row in orjson.loads(file.data)]
    except (orjson.JSONDecodeError, ValueError, TypeError, IndexError):
        return None
    told = ([row.first for row in found], [row.other for row in found])
    for numbers, lines in zip(told, texts, strict=True):
        if [n for n in numbers if n is not None] != list(range(1, len(lines) + 1)):
            return None  # A line is missing, or stands twice.
    return list(_folded(found))


def _row(told: Any, first: Sequence[str], other: Sequence[str]) -> Row:
    """One row.

    Raises:
        ValueError: If it is none.
    """
    if not isinstance(told, list) or len(told) != _FIELDS:
        raise ValueError("it is no row")
    mine, its, *spans = told
    if mine is None and its is None:
        raise ValueError("it is no row")
    my_text = "" if mine is None else first[_place(mine)]
    its_text = "" if its is None else other[_place(its)]
    if mine is None or its is None:
        change = "removed" if its is None else "added"
    else:
        change = "same" if my_text == its_text else "changed"
    return Row(
        change, None if mine is None else mine + 1, None if its is None else its + 1, my_text,
        its_text, _spans(spans[0], my_text), _spans(spans[1], its_text),
    )  # fmt: skip


def _place(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("it is no line's number")
    return number


def _spans(told: Any, text: str) -> list[Span]:
    spans, at = [], 0
    for start, end in told:
        if type(start) is not int or type(end) is not int or not at <= start < end <= len(text):
            raise ValueError("it is no span")
        spans.append((start, end))
        at = end
    return spans


def _folded(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows with what is alike for long left out."""
    near = set[int]()
    for place, row in enumerate(rows):
        if row.change != "same":
            near |= {*range(place - _AROUND, place + _AROUND + 1)}
    skipped = 0
    for place, row in enumerate(rows):
        if place in near:
            if skipped:
                yield Row("skipped", skipped, skipped)
            skipped = 0
            yield row
        else:
            skipped += 1
    if skipped:
        yield Row("skipped", skipped, skipped)


def counts(rows: Sequence[Row]) -> Mapping[str, int]:
    """How many lines are alike, were changed, are in the first only, and in the other only."""
    made = dict.fromkeys(("same", "changed", "removed", "added"), 0)
    for row in rows:
        if row.change == "skipped":
            made["same"] += row.first or 0
        else:
            made[row.change] += 1
    return made
