"""Pages: HTML as browsers read it, with selectors and bounds, for verifiers that look at it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from verifier_ladder.errors import CandidateError, ConfigError, ToolError

LONGEST: Final = 200_000
"""Characters of a page."""
MOST_ELEMENTS: Final = 5_000
DEEPEST: Final = 200
MOST_ATTRIBUTES: Final = 300
_ATTRIBUTE = r"[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"?+|'[^']*+'?+|[^\s>]*+))?+"
_CROWDED = re.compile(rf"<[A-Za-z][^\s/>]*+(?:{_ATTRIBUTE}){{{MOST_ATTRIBUTES + 1}}}")
"""A tag with too many attributes, as the HTML standard tells them apart; nothing is read twice."""
_UNSEEN = ["script", "style", "template", "noscript"]


class Page:
    """A page, parsed as the HTML standard says.

    Parse what a model wrote in a process that can be killed, as a verifier's worker is: the
    parser is C.

    Example:
        >>> page = Page("<ul><li>lamp<li class=new>desk <b>lamp</b></ul>")
        >>> page.texts("li"), page.values("li", "class")
        (['lamp', 'desk lamp'], [None, 'new'])
    """

    def __init__(self, text: str) -> None:
        """Parse a page.

        Args:
            text: HTML.

        Raises:
            CandidateError: If it is beyond bounds.
            ToolError: If the parser is not installed.
        """
        _refuse(len(text) > LONGEST, f"a page may have {LONGEST:,} characters")
        # What nests deeply takes the parser long: seen before it is asked.
        _refuse(text.count("<") > 3 * MOST_ELEMENTS, f"a page may have {MOST_ELEMENTS:,} elements")
        # So do attributes of one tag, each of which is compared with those before it.
        _refuse(bool(_CROWDED.search(text)), f"a tag may have {MOST_ATTRIBUTES} attributes")
        self._text = text
        self._tree = _library().LexborHTMLParser(text)
        for number, depth in enumerate(_depths(self._tree.root)):
            _refuse(number > MOST_ELEMENTS, f"a page may have {MOST_ELEMENTS:,} elements")
            _refuse(depth > DEEPEST, f"a page may nest {DEEPEST} deep")

    def texts(self, selector: str) -> list[str]:
        """What a reader sees of each element that is selected, with single spaces.

        Raises:
            ConfigError: If the selector is none.
        """
        return [" ".join(node.text(deep=True).split()) for node in self._seen(selector)]

    def values(self, selector: str, attribute: str) -> list[str | None]:
        """An attribute of each element that is selected; None where it has none."""
        return [
            (node.attributes[attribute] or "") if attribute in node.attributes else None
            for node in self._seen(selector)
        ]

    def without(self, selectors: Iterable[str]) -> str:
        """The page as text in one spelling, without the elements that are selected."""
        tree = _library().LexborHTMLParser(self._text)
        for selector in selectors:
            for node in _selected(tree, selector):
                node.decompose()
        return " ".join((tree.html or "").split())

    def _seen(self, selector: str) -> list[Any]:
        tree = _library().LexborHTMLParser(self._text)
        tree.strip_tags(_UNSEEN)
        return _selected(tree, selector)


def _selected(tree: Any, selector: str) -> list[Any]:
    try:
        return list(tree.css(selector))
    except (ValueError, _library().SelectolaxError) as error:
        raise ConfigError(f"{selector!r:.80} is no selector of CSS: {error}") from None


def _depths(root: Any) -> Iterator[int]:
    """The depth of each element, without recursion."""
    left = [(root, 0)]
    while left:
        node, depth = left.pop()
        while node is not None:
            yield depth
            if node.child is not None:
                left.append((node.child, depth + 1))
            node = node.next


def _refuse(is_beyond: bool, told: str) -> None:  # noqa: FBT001 - it is what is asked
    if is_beyond:
        raise CandidateError(f"the page is beyond bounds: {told}", feedback=f"{told}.")


def _library() -> Any:
    try:
        from selectolax import lexbor
    except ImportError as error:
        raise ToolError(
            f"selectolax can't be imported ({error}); pip install '.[pages]' in a clone"
        ) from error
    return lexbor
