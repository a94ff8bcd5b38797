r"""Markup: what a reader sees of a text in Markdown, and what nobody does.

Not seen are comments and hidden elements of HTML, link reference definitions, images with their
texts, titles of links, labels of references and attributes of elements. Where a definition stands,
CommonMark alone says, so its parser is asked: `[a]: b "title"` inside a paragraph is shown. What
is written as an entity, such as `&quot;`, is seen as the character that it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_HIDES = (
    r"<!--.*?(?:-->{0})"
    r"|<(script|style|template|noscript)\b.*?(?:</\1\s*>{0})"
    r"|<(\w+)\b[^<>]{{0,500}}?(?:(?<![:\w-])hidden(?![\w-])|display\s{{0,9}}:\s{{0,9}}none"
    r"|visibility\s{{0,9}}:\s{{0,9}}hidden)[^<>]{{0,500}}>.*?(?:</\2\s*>{0})"
)
_FLAGS = re.DOTALL | re.IGNORECASE
_HIDDEN = re.compile(_HIDES.format(r"|\Z"), _FLAGS)
_HIDDEN_IN_SOURCES = re.compile(_HIDES.format(""), _FLAGS)
"""Only what ends: a source may speak of an element."""
_ENTRY = re.compile(r"\d{1,4}")
"""The label of an entry in the list of sources of an answer, which is no definition there."""
_NESTED = r"|\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*+\])*+\])*+\]"
"""Brackets in brackets, as deep as anybody writes them."""
_LABEL, *_TITLES = (
    # Escaped or not; there are no blank lines in one. What could be given back, the machine keeps
    # for each character: nothing is.
    rf"{begins}(?:\\(?:[^\n]|(?=\n))|\n(?![ \t]*\n)|[^{begins}{ends}\\\n]++{more})*+{ends}"
    for begins, ends, more in (
        (r"\[", r"\]", _NESTED), ('"', '"', ""), ("'", "'", ""), (r"\(", r"\)", ""),
    )
)  # fmt: skip
_TARGET = r"\(\s*+(?:<[^<>\n]*+>|[^\s<>()]*+(?:\([^\s()]*+\)[^\s<>()]*+)*+)"
_TITLE = rf"\s++(?:{'|'.join(_TITLES)})\s*+"
_IMAGE = re.compile(rf"!{_LABEL}{_TARGET}(?:{_TITLE}|\s*+)\)")
_TITLED = re.compile(rf"(\]{_TARGET}){_TITLE}\)")
_REFERENCE = re.compile(rf"(?P<image>!?)(?P<text>{_LABEL})(?P<label>{_LABEL})?+(?!\()")
_ELEMENT = re.compile(r"<[a-z][\w-]*+(?:\"[^\"]*+\"|'[^']*+'|[^'\"<>])*+>", _FLAGS)
_ATTRIBUTE = re.compile(
    r"\s(?!href\b|src\b)[\w:.-]{1,100}\s{0,9}=\s{0,9}(?:\"[^\"]*\"|'[^']*')", _FLAGS
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)


class Markup(NamedTuple):
    """A text without what is hidden in it, and the labels that its definitions had."""

    text: str
    labels: frozenset[str]


def without_hidden(text: str, *, is_source: bool) -> Markup:
    r"""Take out what is hidden whatever the text is: definitions, comments, hidden elements.

    Args:
        text: The text; its lines end as CommonMark lets them.
        is_source: Whether it is one, where an element without end is none, and a number is a
            label like any other; or an answer.

    Example:
        >>> without_hidden("a\n\n[b]: c 'd'\n", is_source=True).text
        'a\n\n\n'
        >>> without_hidden("a\n[b]: c 'd'\n", is_source=True).text
        "a\n[b]: c 'd'\n"
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = [each for each in _definitions(text) if is_source or not _ENTRY.fullmatch(each.label)]
    if found:
        lines = text.split("\n")
        for each in found:
            lines[each.start : each.end] = [""] * (each.end - each.start)
        text = "\n".join(lines)
    hidden = _HIDDEN_IN_SOURCES if is_source else _HIDDEN
    return Markup(hidden.sub("", text), frozenset(each.key for each in found))


def shown(markup: Markup) -> str:
    r"""What a reader sees of a text that is Markdown.

    Example:
        >>> text = '![a picture](b) [of it](c "a title") <i title="d">here</i>'
        >>> shown(without_hidden(text, is_source=False))
        ' [of it](c) <i>here</i>'
        >>> shown(without_hidden("&ldquo;so&rdquo; &#91;1]", is_source=False))
        '“so” [1]'
    """
    text = _ELEMENT.sub(lambda found: _ATTRIBUTE.sub("", found[0]), markup.text)
    text = _TITLED.sub(r"\1)", _IMAGE.sub("", text))
    text = _without_references(text, markup.labels) if markup.labels else text
    return _ENTITY.sub(lambda found: unescape(found[0]), text)


def _without_references(text: str, labels: frozenset[str]) -> str:
    """Take out images that are named by a label, and the labels of links."""
    from markdown_it.common.utils import normalizeReference

    def seen(found: re.Match[str]) -> str:
        label = (found["label"] or "")[1:-1] or found["text"][1:-1]
        if normalizeReference(label) not in labels:
            return found[0]
        return "" if found["image"] else found["text"]

    return _REFERENCE.sub(seen, text)


class _Definition(NamedTuple):
    """A link reference definition: its first line, the line behind it, and its label."""

    start: int
    end: int
    label: str
    key: str
    """The label as references to it are compared."""


def _definitions(text: str) -> Iterator[_Definition]:
    if "]:" in text:  # Most texts have none, and the parser takes its time.
        for token in _parser().parse(text):
            if token.type == "definition" and token.map:
                start, end = token.map
                yield _Definition(start, end, token.meta["label"].strip(), token.meta["id"])


@cache
def _parser() -> MarkdownIt:
    """CommonMark's blocks; what stands inside them is left as it is."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"inline_definitions": True})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
