r"""Extraction: where, in an output, the answer stands.

A verifier lists marks, the strongest first. The first that occurs decides:

| Mark | The answer is |
|---|---|
| `tag` | what stands between `<answer>` and `</answer>` |
| `box` | what stands in `\boxed{…}`, with what belongs to it: `$-\boxed{5}$` says -5 |
| `block` | a fenced block of code, with the language that is wanted or none |
| `hashes` | the last line, if it begins with `####` |
| `phrase` | the rest of the line after `answer is` or `answer:` |
| `last-line` | the last line that holds anything |
| `whole` | everything |

What is thought aloud before `</think>` does not count, and thought that never ends has no answer.
Every answer at the deciding mark counts, and so does each weaker mark that follows the last of
them: a verifier gets all, and compares what they say. An answer that goes on with `or` is a hedge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar, get_args

from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tiers.fast.mathboxes import boxed
from verifier_ladder.tiers.fast.mathtokens import UnreadableError

Mark = Literal["tag", "box", "block", "hashes", "phrase", "last-line", "whole"]
Read = TypeVar("Read", bound=Hashable)
SHORT: tuple[Mark, ...] = ("tag", "box", "hashes", "phrase", "last-line")
"""Marks of answers of a few words."""
DOCUMENT: tuple[Mark, ...] = ("tag", "block", "whole")
"""Marks of answers that are files."""
LONGEST = 1_000_000
"""Characters of the longest output that is read."""
_MOST = 32
"""Answers of an output that are compared, alike or not; one more is a hedge."""
_SPACE = " \t\r\n"
_LAST = ("last-line", "whole")
"""Marks that always occur, so that they say nothing inside or behind another."""

# No text makes these take more than linear time: what repeats is bounded or ends at a character
# that it can't contain, and a start that finds no end takes all that is left.
_TAG = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
_SIGNED = re.compile(r"\A([-+\u2212])\s*\{([^{}]*)\}\Z")
"""A box with nothing but a sign before it, which plain text writes without braces."""
_BLOCK = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*([^\n`]*)\n(.*?)(?:^ {0,3}\1[`~]*[ \t\r]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_HASHES = re.compile(r"####[ \t]*([^\n]*)")
_PHRASE = re.compile(
    r"\banswer\*{0,2}(?:[^\S\n]{1,3}is\b|[^\S\n]{0,3}:)[*:]{0,3}\s{0,4}([^\n]*)", re.IGNORECASE
)
GOES_ON = re.compile(
    r"[$*`.,;)]{0,4}(?:\s{0,8}(?:or|alternatively|maybe|perhaps)\b"
    r"|[^\S\n]{0,8}(?:and\b|otherwise\b|possibly\b|/))",
    re.IGNORECASE,
)
"""What makes an answer one of several, where it stands behind it."""
_WRAP = re.compile(r"\\(?:text|textbf|mathrm|mathbf|texttt)\{([^{}]*)\}")
_AROUND = ("**", "__", "`", "$", "*")


class Span(NamedTuple):
    """An answer, where it ends in its output, and the language of its block."""

    text: str
    end: int
    language: str = ""


def text_of(content: str | bytes) -> str:
    """Read content as text.

    Raises:
        CandidateError: If it is not UTF-8.
    """
    if isinstance(content, str):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CandidateError(
            f"the output is not UTF-8 text: {error.reason}", feedback="Write plain text."
        ) from None


def checked_marks(marks: Sequence[str]) -> list[str]:
    """Marks as a setting names them.

    Raises:
        ConfigError: If there is none, or one of them does not exist.
    """
    known = get_args(Mark)
    if isinstance(marks, str) or not marks or any(mark not in known for mark in marks):
        raise ConfigError(f"find={marks!r}: give a list of {', '.join(known)}, strongest first")
    return list(marks)


def answers(
    content: str | bytes, marks: Sequence[str], how: str, *, languages: Collection[str] = (),
    longest: int = LONGEST, goes_on: re.Pattern[str] = GOES_ON,
) -> list[str]:  # fmt: skip
    r"""Find the answers of an output.

    Args:
        content: The whole output.
        marks: Which marks are read, the strongest first.
        how: What to tell a student model whose answer isn't found.
        languages: Labels of the code blocks that may hold it.
        longest: Characters of the longest output.
        goes_on: What makes an answer another one, or one of several, where it stands behind it.

    Returns:
        At least one, none of them empty and no two alike, without empty lines around.

    Raises:
        CandidateError: If there is no answer, it is a hedge, or there are more than 32.

    Example:
        >>> answers("I tried 41.\n<answer>42</answer>", SHORT, "Use <answer>.")
        ['42']
    """
    text = text_of(content)
    if len(text) > longest:
        raise CandidateError(
            f"the output is {len(text)} characters long; at most {longest} are read",
            feedback=f"Write at most {longest} characters.",
        )
    spoken = text.rpartition("</think>")[2]
    if "<think>" in spoken:
        raise CandidateError("the output ends before its thought does", feedback=how)
    try:
        parts = list(_at_first(spoken, marks, frozenset(languages), how, goes_on))
    except UnreadableError as error:
        raise CandidateError(f"{error}", feedback=how) from None
    found = [part.strip("\r\n") for part in parts]
    if not found or not all(part.strip(_SPACE) for part in found):
        raise CandidateError("the output holds no answer", feedback=how)
    if len(found) > _MOST:
        raise CandidateError("the output holds too many answers", feedback=how)
    return list(dict.fromkeys(found))


def agreed(said: Iterable[Read], how: str) -> Read:
    """The one thing that all answers of an output say.

    Raises:
        CandidateError: If they differ.
    """
    distinct = list(dict.fromkeys(said))
    if len(distinct) > 1:
        raise CandidateError(
            f"the output gives {len(distinct)} different answers", feedback=f"Commit to one. {how}"
        )
    return distinct[0]


def bare(text: str) -> str:
    r"""Take the type off a short answer: bold, code, dollar signs, `\text{…}`.

    Example:
        >>> bare(r"**\text{Rome}**")
        'Rome'
    """
    text = text.strip(_SPACE)
    for around in _AROUND:
        inner = text[len(around) : -len(around)]
        if text.startswith(around) and text.endswith(around) and inner and around not in inner:
            text = inner.strip(_SPACE)
    wrapped = _WRAP.fullmatch(text)
    return wrapped[1].strip(_SPACE) if wrapped else text


def _at_first(
    text: str, marks: Sequence[str], languages: frozenset[str], how: str, goes_on: re.Pattern[str]
) -> Iterator[str]:
    """What stands at the first mark that occurs, and at weaker ones that follow it."""
    first = ((mark, found) for mark in marks if (found := _spans(text, mark, languages)))
    mark, spans = next(first, ("", []))
    if not spans:
        return
    rest = text[spans[-1].end :]
    if goes_on.match(rest):
        raise CandidateError("the answer is followed by another", feedback=f"Commit to one. {how}")
    weaker = [other for other in marks[marks.index(mark) + 1 :] if other not in _LAST]
    for span in spans:
        inner = list(_at_first(span.text, weaker, languages, how, goes_on))
        yield from inner or [span.text]
    if mark not in _LAST:
        for other in weaker:
            if other != "block":
                yield from (span.text for span in _spans(rest, other, languages))


def _spans(text: str, mark: str, languages: frozenset[str]) -> list[Span]:
    spans = list(_FIND[mark](text))
    if mark != "block":
        return spans
    wanted = [span for span in spans if span.language in languages]
    return wanted or [span for span in spans if not span.language]


def _tags(text: str) -> Iterator[Span]:
    return (Span(match[1], match.end()) for match in _TAG.finditer(text))


def _boxes(text: str) -> Iterator[Span]:
    found = boxed(text, open_ended=True)
    return (Span(_SIGNED.sub(r"\1\2", answer), found.end) for answer in found.answers)


def blocks(text: str) -> Iterator[Span]:
    r"""The fenced blocks of a text; one that is not closed goes on to the end.

    Example:
        >>> [block.language for block in blocks("```py\n1\n```\n~~~\n2")]
        ['py', '']
    """
    for match in _BLOCK.finditer(text):
        yield Span(match[3], match.end(), match[2].strip().lower())


def _hashes(text: str) -> Iterator[Span]:
    for line in _last_line(text):
        if match := _HASHES.fullmatch(line.text):
            yield Span(match[1], line.end)


def _phrases(text: str) -> Iterator[Span]:
    return (Span(match[1], match.end()) for match in _PHRASE.finditer(text))


def _last_line(text: str) -> Iterator[Span]:
    line = text.rstrip(_SPACE).rpartition("\n")[2]
    if line:
        yield Span(line, len(text))


def _whole(text: str) -> Iterator[Span]:
    yield Span(text, len(text))


_FIND: dict[str, Callable[[str], Iterator[Span]]] = {
    "tag": _tags, "box": _boxes, "block": blocks, "hashes": _hashes, "phrase": _phrases,
    "last-line": _last_line, "whole": _whole,
}  # fmt: skip
