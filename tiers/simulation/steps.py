"""Steps of an output: where they begin and end, and what their scores amount to together.

**What separates steps** is one of four rules:

- `lines`: each line is a step. A line ends at a line feed, a carriage return, or both.
- `paragraphs`: so is each paragraph; they are separated by a line with nothing but space.
- `marks`: so is what stands between two places of a mark, which is no part of any.
- `turns`: so is each turn of the trajectory, with its thought and its action.

Space at both ends of a step does not belong to it, and what holds nothing but space and characters
that nobody sees is no step; a turn always is one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tiers.fast.extraction import text_of
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import mean_of

TURNS: Final = "turns"
MARKS: Final = "marks"
_BREAKS: Mapping[str, re.Pattern[str]] = {
    "lines": re.compile(r"[\r\n]+"),
    # One pass: what repeats here begins where nothing else can. \r\n is one end of a line.
    "paragraphs": re.compile(r"(?:\r\n|\n|\r(?!\n))[^\S\r\n]*(?:\r\n|\n|\r(?!\n))"),
}
SPLITS: Final = (*_BREAKS, MARKS, TURNS)
_UNSEEN = frozenset({"Cc", "Cf"})
"""Categories of characters such as U+200B, U+2060 and U+00AD."""
COMBINE: Mapping[str, Callable[[Sequence[float]], float]] = {
    "min": min, "product": prod, "last": lambda scores: scores[-1], "mean": mean_of,
}  # fmt: skip
"""What the scores of steps amount to."""


class Step(NamedTuple):
    """One step, as the step model is shown it."""

    text: str
    span: tuple[int, int] | None = None
    """Its first character in the content, and the one after its last; None for a turn."""
    after: str = ""
    """What followed it that is no step: the observation of a turn."""


class Splitter:
    r"""Splits outputs into steps by one rule.

    Example:
        >>> [step.text for step in Splitter("lines").steps("1 + 1 = 2\n\n so 2\n")]
        ['1 + 1 = 2', 'so 2']
    """

    def __init__(self, split: str, mark: str = "") -> None:
        """Choose the rule.

        Args:
            split: One of `SPLITS`.
            mark: What separates steps, for `marks` alone.

        Raises:
            ConfigError: If there is no such rule, or no mark where one is needed.
        """
        if split not in SPLITS:
            raise ConfigError(f"split={split!r}: choose {', '.join(SPLITS)}")
        if (split == MARKS) != bool(mark.strip()):
            raise ConfigError(
                f"split={split!r} and mark={mark!r}: give a mark that can be seen with "
                'split="marks", and none with the other rules'
            )
        self.split = split
        self._break = _BREAKS.get(split) or re.compile(re.escape(mark))

    def steps(self, text: str) -> Iterator[Step]:
        """The steps of a text, one after the other."""
        begin = 0
        for found in self._break.finditer(text):
            yield from _step(text, begin, found.start())
            begin = found.end()
        yield from _step(text, begin, len(text))

    def of(self, candidate: Candidate, most: int, longest: int) -> list[Step]:
        """The steps of a candidate.

        Args:
            candidate: The candidate.
            most: How many steps it may have.
            longest: How many characters all of them may have, with what is observed between.

        Raises:
            CandidateError: If it has none, too many, or too long ones.
            TaskError: If turns are asked for, and it came without.
        """
        if self.split == TURNS:
            found = [*map(_turn, candidate.turns)]
            if not found:
                raise TaskError('the candidate came with no turns, and split="turns"')
            _check_length(sum(len(each.text) + len(each.after) for each in found), longest)
            _check_count(len(found), most)
            return found
        text = text_of(candidate.content)
        _check_length(len(text), longest)
        found = []
        for step in self.steps(text):
            found.append(step)
            _check_count(len(found), most)
        if not found:
            raise CandidateError("there is no step", feedback="Write at least one step.")
        return found


def _step(text: str, begin: int, end: int) -> Iterator[Step]:
    part = text[begin:end]
    bare = part.strip()
    if any(_is_seen(letter) for letter in bare):
        begin += len(part) - len(part.lstrip())
        yield Step(bare, (begin, begin + len(bare)))


def _is_seen(letter: str) -> bool:
    """Whether a character is neither space nor one that only tells how others are shown."""
    return not letter.isspace() and unicodedata.category(letter) not in _UNSEEN


def _turn(turn: Turn) -> Step:
    return Step("\n".join(filter(None, [turn.thought, turn.text])), after=turn.observation)


def _check_length(length: int, longest: int) -> None:
    if length > longest:
        raise CandidateError(
            f"the output has {length} characters; at most {longest} are scored",
            feedback=f"Write at most {longest} characters.",
        )


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise CandidateError(
            f"the output has more than {most} steps, and no more are scored",
            feedback=f"Write at most {most} steps.",
        )
