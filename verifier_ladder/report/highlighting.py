"""Code with its words marked: keywords, texts, comments, numbers, names.

Where marks go is found by Pygments, in a process that may be killed: on some texts its
expressions take very long. Only places come back, and the page writes its own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from time import process_time
from typing import Any, Final, NamedTuple

import orjson
from markupsafe import Markup, escape

from verifier_ladder.candidate import Candidate
from verifier_ladder.tiers.fast.extraction import blocks
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Outcome, Verdict

LONGEST: Final = 20_000
"""Characters of a text that is marked."""
_SECONDS = 0.5
"""Processor time for the marks of a text; what comes behind stays plain."""
_MARKS = "marks.json"
LANGUAGES: Final[Mapping[str, str]] = {
    "bash": "bash", "sh": "bash", "shell": "bash", "c": "c", "c++": "cpp", "cpp": "cpp",
    "c++17": "cpp", "css": "css", "diff": "diff", "go": "go", "haskell": "haskell",
    "html": "html", "java": "java", "javascript": "javascript", "js": "javascript",
    "json": "json", "julia": "julia", "latex": "latex", "tex": "latex", "lean": "lean4",
    "py": "python", "python": "python", "python3": "python", "r": "r", "rust": "rust",
    "rs": "rust", "sql": "sql", "sqlite": "sql", "postgresql": "sql", "toml": "toml",
    "typescript": "typescript", "ts": "typescript", "xml": "xml", "yaml": "yaml", "yml": "yaml",
}  # fmt: skip
"""Labels of fenced blocks and kinds of candidates, and what Pygments calls them."""
CLASSES: Final = ("comment", "keyword", "string", "number", "name", "builtin", "operator")
"""What is marked; a style sheet has a class for each."""


class Part(NamedTuple):
    """A part of a text that is in some language."""

    language: str
    start: int
    end: int


def parts(text: str, language: str) -> list[Part]:
    r"""What of a text is code: its fenced blocks that name a language, or all of it.

    Args:
        text: The text.
        language: What it is in where it has no fenced block, and blocks that name none; "" where
            that is not known.

    Example:
        >>> parts("As asked:\n```sql\nSELECT 1\n```", "")
        [Part(language='sql', start=17, end=26)]
        >>> parts("x = 1", "python")
        [Part(language='python', start=0, end=5)]
    """
    found = list(blocks(text))
    if not found:
        return [Part(language, 0, len(text))] if language else []
    made = []
    for block in found:
        label = (block.language.split(maxsplit=1) or [""])[0]
        known = LANGUAGES.get(label, "") if label else language
        if known and block.text:
            start = text.rindex(block.text, 0, block.end)
            made.append(Part(known, start, start + len(block.text)))
    return made


class CodeReading(SingleVerifier):
    """Finds the marks of code."""

    name, version, kind = "code-reading", "1", "code"
    timeout = 2.0
    memory = 2**30
    batch_size = 1

    def examine(self, candidate: Candidate) -> Verdict:
        """Mark one text, which stands behind a line with its parts."""
        head, _, text = str(candidate.content).partition("\n")
        marks, until = list[int](), process_time() + _SECONDS
        for part in orjson.loads(head):
            marks += _marks(text, Part(*part), until)
        return Verdict.accept(artifacts={_MARKS: orjson.dumps(marks)})


def _marks(text: str, part: Part, until: float) -> Iterator[int]:
    """Beginning, length and class of each mark, one after the other, until a time."""
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(part.language)
    for place, token, value in lexer.get_tokens_unprocessed(text[part.start : part.end]):
        if process_time() > until:
            return
        number = _class(token)
        if number is not None and value.strip():
            yield from (part.start + place, len(value), number)


@cache
def _class(token: Any) -> int | None:
    from pygments.token import Token

    kinds = (
        (Token.Comment,), (Token.Keyword,), (Token.Literal.String,), (Token.Literal.Number,),
        (Token.Name.Function, Token.Name.Class, Token.Name.Decorator, Token.Name.Tag),
        (Token.Name.Builtin,), (Token.Operator,),
    )  # fmt: skip
    return next((n for n, kind in enumerate(kinds) if any(token in one for one in kind)), None)


READER: Final = CodeReading()


def question(text: str, language: str) -> str | None:
    """What the reader is asked; None where nothing of a text can be marked."""
    if not text or len(text) > LONGEST or find_spec("pygments") is None:
        return None
    found = parts(text, language)
    return f"{orjson.dumps([[*part] for part in found]).decode()}\n{text}" if found else None


def marked(text: str, verdict: Verdict) -> Markup | None:
    """A text with its marks; None if what was answered does not fit it.

    Args:
        text: The text, fit to be shown.
        verdict: What the reader answers; believed hostile.
    """
    file = verdict.files.get(_MARKS)
    if verdict.outcome is not Outcome.ACCEPT or file is None or file.data is None:
        return None
    try:
        marks = orjson.loads(file.data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(marks, list) or len(marks) % 3 or any(type(n) is not int for n in marks):
        return None
    made, at = [], 0
    for start, length, number in _triples(marks):
        if not at <= start < start + length <= len(text) or not 0 <= number < len(CLASSES):
            return None
        word = escape(text[start : start + length])
        made += [escape(text[at:start]), f'<span class="code-{CLASSES[number]}">{word}</span>']
        at = start + length
    # There are thousands, and `Markup.format` would take most of a page's time.
    return Markup("".join([*made, escape(text[at:])]))  # noqa: S704 - each part is escaped


def _triples(marks: Sequence[int]) -> Iterable[tuple[int, int, int]]:
    return zip(marks[::3], marks[1::3], marks[2::3], strict=True)


def language_of(kind: str, verifiers: Iterable[Mapping[str, Any]], task: Mapping[str, Any]) -> str:
    """The language that candidates of a ladder are in; "" where that is not known.

    Args:
        kind: Of the candidates.
        verifiers: Of the ladder, as the ledger records them.
        task: What the candidate answers, as far as it is known.

    Example:
        >>> language_of("text", [{"name": "code-stdio", "domain": "software"}], {})
        'python'
    """
    said = task.get("language")
    if isinstance(said, str) and said.lower() in LANGUAGES:
        return LANGUAGES[said.lower()]
    if kind.lower() in LANGUAGES:
        return LANGUAGES[kind.lower()]
    is_code = kind == "code" or any(
        each.get("domain") == "software" or each.get("name") in _PROGRAMS for each in verifiers
    )
    return "python" if is_code else ""


_PROGRAMS = ("back-test", "code-forecast")
"""Verifiers of other fields that take programs."""
