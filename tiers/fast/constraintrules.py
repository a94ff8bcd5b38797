"""Rules that an instruction may set, and the ways to count a text.

Each rule is a class of the closed table `Rule`, with typed parameters. Prose is what a reader
sees: without blocks of code, remarks of HTML and marks that can't be seen. What must be there is
looked for in prose; what must not be there, and what must not be exceeded, in everything.
"""

from __future__ import annotations

import re
import unicodedata
from abc import abstractmethod
from collections.abc import Callable
from functools import cache, cached_property
from itertools import pairwise, takewhile
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from verifier_ladder.errors import CandidateError, ToolError
from verifier_ladder.tiers.fast.jsonschema import parse

_DEPTH = 64
_PARAGRAPH = 80
"""Letters of the shortest paragraph whose own language is looked at."""
_BLOCK = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_REMARK = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_WORD = r"[\w\p{M}]+(?:['\u2019-][\w\p{M}]+)*"
_SENTENCE = r"(?<=[.!?\u3002\uff01\uff1f])[\"'\u2019\u201d)]*\s+(?=[\p{Lu}\p{Lo}\p{N}\"'(])"
_LOOKS = str.maketrans(
    "аеорсухіјѕԁһӏкмтвнгАВЕКМНОРСТУХІЈЅαονρτικυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧı",
    "aeopcyxijsdhlkmtbhrABEKMHOPCTYXIJSaovptikuxABEZHIKMNOPTYXi",
)
"""Letters of Cyrillic and Greek that look like Latin ones."""


@cache
def unicode_regex() -> Any:
    """Import `regex`, which knows Unicode's classes and graphemes.

    Raises:
        ToolError: If it is not installed.
    """
    try:
        import regex
    except ImportError as error:
        raise ToolError(
            f"regex can't be imported ({error}); pip install '.[constraints]' in a clone"
        ) from error
    return regex


class Text:
    """A text, and the ways to count it."""

    def __init__(self, text: str) -> None:
        """Take text as it is written."""
        self.text = unicodedata.normalize("NFC", text)

    @cached_property
    def visible(self) -> str:
        """Without marks that can't be seen; those that join signs to one stay."""
        kept = (c for c in self.text if unicodedata.category(c) != "Cf" or c == "\u200d")
        return "".join(kept)

    @cached_property
    def plain(self) -> str:
        """As words are compared: visible, small letters, any space one space."""
        return " ".join(self.visible.replace("\u200d", "").casefold().split())

    @cached_property
    def latin(self) -> str:
        """As a forbidden word is looked for: what looks like a Latin letter is one."""
        folded = unicodedata.normalize("NFKC", self.visible.replace("\u200d", ""))
        return " ".join(folded.translate(_LOOKS).casefold().split())

    @cached_property
    def words(self) -> list[str]:
        """Words; a hyphen or an apostrophe joins two parts."""
        return list(unicode_regex().findall(_WORD, self.visible.replace("\u200d", "")))

    @cached_property
    def graphemes(self) -> int:
        """Characters as a reader counts them."""
        return len(unicode_regex().findall(r"\X", self.visible))

    @cached_property
    def sentences(self) -> list[str]:
        """Sentences that hold a word."""
        parts = unicode_regex().split(_SENTENCE, self.visible)
        return [part for part in parts if any(map(str.isalnum, part))]

    @cached_property
    def lines(self) -> list[str]:
        """Lines that hold anything."""
        return [line.strip() for line in self.visible.splitlines() if line.strip()]

    @cached_property
    def paragraphs(self) -> list[str]:
        """Parts between empty lines."""
        made: list[list[str]] = [[]]
        for line in self.visible.splitlines():
            if line.strip():
                made[-1].append(line)
            elif made[-1]:
                made.append([])
        return ["\n".join(part) for part in made if part]

    def count(self, word: str) -> int:
        """How often a word or phrase occurs, as whole words."""
        pattern = rf"(?<![\w]){re.escape(_folded(word))}(?![\w])"
        return len(re.findall(pattern, self.plain))


def _folded(word: str) -> str:
    return " ".join(unicodedata.normalize("NFC", word).casefold().split())


class Output:
    """What a model wrote: prose for what must be there, everything for what must not."""

    def __init__(self, text: str) -> None:
        """Part a text."""
        self.all = Text(text)
        self.prose = Text(_REMARK.sub(" ", _BLOCK.sub("\n", text)))
        self.raw = text


# ---- Rules


Filled = Annotated[str, Field(min_length=1, pattern=r"\S")]
Names = Annotated[list[Filled], Field(min_length=1, max_length=200)]


class _Rule(BaseModel):
    """One rule. `advice` says what to do where it is broken, without a value of the task."""

    model_config = ConfigDict(strict=True, extra="forbid")
    advice: ClassVar[str]

    @abstractmethod
    def holds(self, output: Output) -> bool:
        """Whether an output keeps it."""


class _Count(_Rule):
    """A rule about a number: at least so many in prose, at most so many in everything."""

    least: Annotated[int, Field(ge=0)] | None = None
    most: Annotated[int, Field(ge=0)] | None = None
    count: ClassVar[Callable[[Any, Text], int]]

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.least is None and self.most is None:
            raise ValueError("give least, most or both")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("least is above most")
        return self

    def holds(self, output: Output) -> bool:
        """Count."""
        is_enough = self.least is None or self.count(output.prose) >= self.least
        return is_enough and (self.most is None or self.count(output.all) <= self.most)


def _lines_like(pattern: str) -> Callable[[Any, Text], int]:
    compiled = re.compile(pattern)
    return lambda _, text: sum(compiled.match(line) is not None for line in text.lines)


def _found(pattern: str) -> Callable[[Any, Text], int]:
    compiled = re.compile(pattern)
    return lambda _, text: sum(1 for _ in compiled.finditer(text.visible))


class Words(_Count):
    """Number of words."""

    rule: Literal["words"]
    advice = "Write the number of words that is asked for."
    count = lambda _, text: len(text.words)  # noqa: E731


class Sentences(_Count):
    """Number of sentences."""

    rule: Literal["sentences"]
    advice = "Write the number of sentences that is asked for."
    count = lambda _, text: len(text.sentences)  # noqa: E731


class SentenceWords(_Count):
    """Words of the longest sentence (`most`) and of the shortest (`least`)."""

    rule: Literal["sentence-words"]
    advice = "Keep every sentence as long as is asked for."

    def holds(self, output: Output) -> bool:
        """Count each sentence."""
        lengths = [len(Text(sentence).words) for sentence in output.all.sentences] or [0]
        return (self.least or 0) <= min(lengths) and (
            self.most is None or max(lengths) <= self.most
        )


class Paragraphs(_Count):
    """Number of paragraphs, which empty lines part."""

    rule: Literal["paragraphs"]
    advice = "Write the number of paragraphs that is asked for, with empty lines between them."
    count = lambda _, text: len(text.paragraphs)  # noqa: E731


class Lines(_Count):
    """Number of lines that hold anything."""

    rule: Literal["lines"]
    advice = "Write the number of lines that is asked for."
    count = lambda _, text: len(text.lines)  # noqa: E731


class Characters(_Count):
    """Number of characters as a reader counts them, spaces included."""

    rule: Literal["characters"]
    advice = "Write the number of characters that is asked for."
    count = lambda _, text: text.graphemes  # noqa: E731


class Keywords(_Rule):
    """Each word or phrase occurs, in whatever capitals."""

    rule: Literal["keywords"]
    words: Names
    advice = "Use every keyword that is asked for, in your prose and letter for letter."

    def holds(self, output: Output) -> bool:
        """Look for each."""
        return all(output.prose.count(word) for word in self.words)


class KeywordFrequency(_Count):
    """How often a word or phrase occurs."""

    rule: Literal["keyword-frequency"]
    word: Filled
    advice = "Use the keyword as often as is asked for."
    count = lambda self, text: text.count(self.word)  # noqa: E731


class ForbiddenWords(_Rule):
    """No such word occurs, not in code and not in letters that look alike."""

    rule: Literal["forbidden-words"]
    words: Names
    advice = "Leave out the words that are forbidden, everywhere."

    def holds(self, output: Output) -> bool:
        """Look for each in both forms."""
        forms = (output.all.plain, output.all.latin)
        return not any(
            re.search(rf"(?<!\w){re.escape(_folded(word))}(?!\w)", form)
            for word in self.words
            for form in forms
        )


class LetterFrequency(_Count):
    """How often a letter occurs, in whatever capitals."""

    rule: Literal["letter-frequency"]
    letter: Annotated[str, Field(min_length=1, max_length=1)]
    advice = "Use the letter as often as is asked for."
    count = lambda self, text: text.plain.count(self.letter.casefold())  # noqa: E731


class SignFrequency(_Count):
    """How often a sign occurs."""

    rule: Literal["sign-frequency"]
    sign: Filled
    advice = "Use the sign as often as is asked for."
    count = lambda self, text: text.visible.count(self.sign)  # noqa: E731


class Without(_Rule):
    """None of these signs occurs, nor a wide form of it."""

    rule: Literal["without"]
    signs: Filled
    advice = "Leave out the signs that are forbidden, everywhere."

    def holds(self, output: Output) -> bool:
        """Look for each."""
        return set(self.signs).isdisjoint(unicodedata.normalize("NFKC", output.all.text))


class Numbers(_Count):
    """How many numbers are written in digits."""

    rule: Literal["numbers"]
    advice = "Write as many numbers, in digits, as are asked for."
    count = _found(r"(?<![\w.])[0-9]+(?:[.,][0-9]+)*")


class Language(_Rule):
    """The language of the whole, and of each longer paragraph, by its ISO 639-1 code."""

    rule: Literal["language"]
    language: str
    advice = "Write in the language that is asked for, from beginning to end."

    @field_validator("language")
    @classmethod
    def _is_known(cls, code: str) -> str:
        known = {name for name, _ in _langid().rank("a")}
        if code not in known:
            raise ValueError(f"give one of {', '.join(sorted(known))}")
        return code

    def holds(self, output: Output) -> bool:
        """Classify the prose and its paragraphs."""
        long = [p for p in output.prose.paragraphs if sum(map(str.isalpha, p)) >= _PARAGRAPH]
        texts = [output.prose.visible, *long]
        return all(_langid().classify(_sayable(text))[0] == self.language for text in texts)


class UpperCase(_Rule):
    """Every letter is a capital."""

    rule: Literal["upper-case"]
    advice = "Write in capital letters only."

    def holds(self, output: Output) -> bool:
        """Look at all letters."""
        return output.all.visible.isupper()


class LowerCase(_Rule):
    """No letter is a capital."""

    rule: Literal["lower-case"]
    advice = "Write in small letters only."

    def holds(self, output: Output) -> bool:
        """Look at all letters."""
        return output.all.visible.islower()


class CapitalWords(_Count):
    """How many words of two or more letters are written in capitals."""

    rule: Literal["capital-words"]
    advice = "Write as many words in capitals as are asked for."
    count = lambda _, text: sum(len(w) > 1 and w.isupper() for w in text.words)  # noqa: E731


class Title(_Rule):
    """A title stands in double angle brackets: `<<The River>>`."""

    rule: Literal["title"]
    advice = "Write a title in double angle brackets."

    def holds(self, output: Output) -> bool:
        """Look for one that holds a word."""
        titles = re.findall(r"<<([^<>\n]*)>>", output.prose.visible)
        return any(any(map(str.isalnum, title)) for title in titles)


class Placeholders(_Count):
    """How many placeholders in square brackets there are."""

    rule: Literal["placeholders"]
    advice = "Write as many placeholders, in square brackets, as are asked for."

    def count(self, text: Text) -> int:
        """Brackets that hold a word."""
        held = re.findall(r"\[([^\[\]\n]*)\]", text.visible)
        return sum(any(map(str.isalnum, inner)) for inner in held)


class Bullets(_Count):
    """How many lines begin with a bullet."""

    rule: Literal["bullets"]
    advice = "Write as many bullet points as are asked for, each on a line with `-` or `*`."
    count = _lines_like(r"[-*+\u2022] +\S")


class Numbered(_Count):
    """How many lines are numbered 1, 2, 3, … in order."""

    rule: Literal["numbered"]
    advice = "Number as many lines as are asked for, from 1 on."

    def count(self, text: Text) -> int:
        """Lines with the next number."""
        reached = 0
        for line in text.lines:
            reached += line.startswith((f"{reached + 1}. ", f"{reached + 1}) "))
        return reached


class Headings(_Count):
    """How many headings of Markdown there are."""

    rule: Literal["headings"]
    advice = "Write as many headings, with `#`, as are asked for."
    count = _lines_like(r"#{1,6} +\S")


class Highlights(_Count):
    """How many parts are set in stars."""

    rule: Literal["highlights"]
    advice = "Highlight as many parts, `*like this*`, as are asked for."
    count = _found(r"(?<!\*)(\*{1,2})(?=[^\s*])[^*\n]*(?<=[^\s*])\1(?!\*)")


class Sections(_Count):
    """How many lines begin with a marker and a number."""

    rule: Literal["sections"]
    marker: Filled
    advice = "Begin as many sections, each with the marker and its number, as are asked for."

    def count(self, text: Text) -> int:
        """Lines with marker and number."""
        pattern = re.compile(rf"\W{{0,4}}{re.escape(self.marker)} +[0-9]+\b", re.IGNORECASE)
        return sum(pattern.match(line) is not None for line in text.lines)


class MarkdownTable(_Rule):
    """A table of Markdown with so many rows or more."""

    rule: Literal["table"]
    rows: Annotated[int, Field(ge=1)] = 1
    advice = "Write a table of Markdown with as many rows as are asked for."

    def holds(self, output: Output) -> bool:
        """Count the rows below the line of dashes."""
        lines = output.prose.lines
        for place, line in enumerate(lines):
            if place and "|" in lines[place - 1] and {"|", "-"} <= set(line) <= set("|-: \t"):
                rows = list(takewhile(lambda row: "|" in row, lines[place + 1 :]))
                return len(rows) >= self.rows
        return False


class CodeBlock(_Rule):
    """A fenced block of code with this language."""

    rule: Literal["code"]
    language: Filled
    advice = "Write a fenced block of code that names its language."

    def holds(self, output: Output) -> bool:
        """Look for a block that holds anything."""
        return any(
            match[2].strip().casefold() == self.language.casefold() and match[3].strip()
            for match in _BLOCK.finditer(output.raw)
        )


class Json(_Rule):
    """All of it is one JSON value, alone or in a fenced block."""

    rule: Literal["json"]
    advice = "Write one JSON value and nothing else."

    def holds(self, output: Output) -> bool:
        """Parse, strictly."""
        block = _BLOCK.fullmatch(output.raw.strip())
        try:
            parse(block[3] if block else output.raw, _DEPTH)
        except CandidateError:
            return False
        return True


class StartsWith(_Rule):
    """The first words are these, in whatever capitals."""

    rule: Literal["starts-with"]
    phrase: Filled
    advice = "Begin with the phrase that is asked for."

    def holds(self, output: Output) -> bool:
        """Compare the beginning."""
        return output.all.plain.startswith(_folded(self.phrase))


class EndsWith(_Rule):
    """The last words are these, in whatever capitals, and nothing follows."""

    rule: Literal["ends-with"]
    phrase: Filled
    advice = "End with the phrase that is asked for, and nothing behind it."

    def holds(self, output: Output) -> bool:
        """Compare the end."""
        return output.all.plain.endswith(_folded(self.phrase))


class Quoted(_Rule):
    """All of it stands in double quotation marks."""

    rule: Literal["quoted"]
    advice = "Put double quotation marks around all of it."

    def holds(self, output: Output) -> bool:
        """Look at both ends."""
        text = output.all.visible.strip()
        return len(text) > 2 and text[0] in '"\u201c' and text[-1] in '"\u201d'  # noqa: PLR2004


class RepeatPrompt(_Rule):
    """The request stands first, letter for letter, and an answer behind it."""

    rule: Literal["repeat-prompt"]
    prompt: Filled
    advice = "Repeat the request letter for letter, then answer it."

    def holds(self, output: Output) -> bool:
        """Compare the beginning; something must follow."""
        said, prompt = " ".join(output.all.text.split()), " ".join(self.prompt.split())
        prompt = unicodedata.normalize("NFC", prompt)
        return said.startswith(prompt) and any(map(str.isalnum, said[len(prompt) :]))


class TwoResponses(_Rule):
    """Two responses that differ, parted by a line of six stars."""

    rule: Literal["two-responses"]
    advice = "Give exactly two different responses, parted by a line of ******."

    def holds(self, output: Output) -> bool:
        """Part them."""
        parts = [" ".join(part.split()) for part in re.split(r"\*{6}", output.prose.visible)]
        return len(parts) == 2 and all(parts) and parts[0] != parts[1]  # noqa: PLR2004


class Postscript(_Rule):
    """The last paragraph begins with this marker, and says something."""

    rule: Literal["postscript"]
    marker: Filled
    advice = "Add a postscript at the end, with the marker that is asked for."

    def holds(self, output: Output) -> bool:
        """Look at the last paragraph."""
        last = (output.prose.paragraphs or [""])[-1].strip()
        rest = last.removeprefix(self.marker)
        return rest != last and any(map(str.isalnum, rest))


class OneOf(_Rule):
    """All of it is one of these answers."""

    rule: Literal["one-of"]
    options: Names
    advice = "Answer with one of the options, and nothing else."

    def holds(self, output: Output) -> bool:
        """Compare with each."""
        said = " ".join(output.all.text.split())
        return any(" ".join(option.split()) == said for option in self.options)


class ParagraphStart(_Rule):
    """A paragraph, counted from 1, begins with this word."""

    rule: Literal["paragraph-start"]
    paragraph: Annotated[int, Field(ge=1)]
    word: Filled
    advice = "Begin that paragraph with the word that is asked for."

    def holds(self, output: Output) -> bool:
        """Look at its first word."""
        paragraphs = output.prose.paragraphs
        if len(paragraphs) < self.paragraph:
            return False
        words = Text(paragraphs[self.paragraph - 1]).words
        return bool(words) and _folded(words[0]) == _folded(self.word)


class DistinctWords(_Rule):
    """At least this share of the words are different ones."""

    rule: Literal["distinct-words"]
    share: Annotated[float, Field(gt=0, le=1)]
    advice = "Repeat fewer words."

    def holds(self, output: Output) -> bool:
        """Compare words in small letters."""
        words = [word.casefold() for word in output.all.words]
        return bool(words) and len(set(words)) >= self.share * len(words)


class SentenceStarts(_Rule):
    """No two sentences in a row begin with the same word."""

    rule: Literal["sentence-starts"]
    advice = "Begin each sentence with another word than the one before it."

    def holds(self, output: Output) -> bool:
        """Compare neighbours."""
        starts = [Text(s).words[0].casefold() for s in output.all.sentences if Text(s).words]
        return all(one != other for one, other in pairwise(starts))


Rule = Annotated[
    Words | Sentences | SentenceWords | Paragraphs | Lines | Characters | Keywords
    | KeywordFrequency | ForbiddenWords | LetterFrequency | SignFrequency | Without | Numbers
    | Language | UpperCase | LowerCase | CapitalWords | Title | Placeholders | Bullets | Numbered
    | Headings | Highlights | Sections | MarkdownTable | CodeBlock | Json | StartsWith | EndsWith
    | Quoted | RepeatPrompt | TwoResponses | Postscript | OneOf | ParagraphStart | DistinctWords
    | SentenceStarts,
    Field(discriminator="rule"),
]  # fmt: skip
"""All rules, by the name in `rule`."""


def _sayable(text: str) -> str:
    """Text without lone surrogates, which the library can't encode."""
    return text.encode("utf-8", "replace").decode()


@cache
def _langid() -> Any:
    try:
        import py3langid
    except ImportError as error:
        raise ToolError(
            f"py3langid can't be imported ({error}); pip install '.[constraints]' in a clone"
        ) from error
    return py3langid
