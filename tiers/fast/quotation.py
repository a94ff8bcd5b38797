r"""Quotations: whether words stand in a text, word for word.

What does not matter in writing is made alike on both sides: white space, composed and decomposed
letters, curly and straight quotation marks and apostrophes, hyphens, dashes between numbers and
minus signs, ligatures, soft hyphens and spaces without width. Everything else counts: letters,
capitals, accents, digits, points and commas.

A quotation may not begin or end inside a word or a number, nor lose what its number means: a
minus, a currency, a percent sign, a "less than", a "million". Nor may it begin or end right beside
a negation, which would turn it round, or end where its last word goes on: can't, sugar-free.

Words may be left out: `...`, `…`, `[...]` or `(...)`. The parts must stand in this order and near
each other, and what is left out between them may hold no negation.
"""

# ruff: noqa: RUF001, RUF002  # Characters that look alike are what this is about.

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

MOST_PARTS = 16
"""Parts of a quotation with words left out."""
NEAR = 300
"""Characters that may be left out between two parts."""
LEAST = 12
"""Letters and digits of the shortest quotation that means anything."""
_LEAST_OF_PART = 4
_MOST_PLACES = 1000
"""Places of a part that are looked at; words that stand in more are no quotation."""
LARGEST = 64 << 20
"""Characters of all sources together."""
_MOST_KEPT = 256
_kept: dict[str, str] = {}
"""Texts that were made alike, the oldest first."""
_ALIKE = str.maketrans({
    **dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–−", "-"),
    **dict.fromkeys("\u00ad\u200b\u200e\u200f\u2060\ufeff", ""),
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "…": "...",
})  # fmt: skip
_GAP = re.compile(r"\[ ?\.\.\. ?\]|\( ?\.\.\. ?\)|\.\.\.")
_NEGATION = re.compile(
    r"\b(?:not|no|nor|never|none|neither|nobody|nothing|nowhere|without|cannot|hardly|except"
    r"|unless|nicht|kein\w*|nie|niemals|ohne|ne|pas|jamais|aucun\w*|sans|ni|nunca|sin)\b|n't\b",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile(r"(?:[-.,/:^]|[+±<>≤≥≠≈~=×$€£¥] ?)\Z")
_AFTER_NUMBER = re.compile(
    r"[.,/:^-]\d| ?[%‰€]| (?:per ?cent|hundred|thousand|[mb]illion|trillion)s?\b",
    re.IGNORECASE,
)
_TURNED_BEFORE = re.compile(
    r"(?:\b(?:not|no|never|cannot|hardly|nor|neither|without|nicht|kein\w{0,2}|nie|niemals|ohne"
    r"|pas|jamais|sans|nunca|sin)|n't) \Z|\bnon-\Z",
    re.IGNORECASE,
)
_TURNED_AFTER = re.compile(r" (?:not|never|nicht|nie|niemals|pas|jamais|nunca)\b", re.IGNORECASE)
_LONGEST_NEGATION = 16
_GOES_ON = re.compile(r"['-][^\W\d_]")
"""A word behind its apostrophe or hyphen. One may begin there: l'Europe."""
_LOST_START = re.compile(r"[.,]?\d")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def plain(text: str) -> str:
    r"""Make alike what does not matter in writing.

    It is kept for the next quotation, but no more characters than one task may bring.

    Example:
        >>> plain("“It isn’t\n 48–52”")
        '"It isn\'t 48-52"'
    """
    if (found := _kept.get(text)) is None:
        found = " ".join(unicodedata.normalize("NFC", text.translate(_ALIKE)).split())
        _kept[text] = found
        while len(_kept) > _MOST_KEPT or (len(_kept) > 1 and sum(map(len, _kept)) > LARGEST):
            del _kept[next(iter(_kept))]
    return found


def quoted_in(quotation: str, text: str) -> bool:
    """Whether the words of a quotation stand in a text.

    A full stop or a comma at its end may belong to the sentence around it.

    Example:
        >>> source = "It did not raise the risk of stroke in 2019."
        >>> quoted_in("did not raise ... in 2019", source), quoted_in("did raise the risk", source)
        (True, False)
    """
    said, source = plain(quotation), plain(text)
    if _weight(said) < LEAST:
        return False
    return any(_stands(part, source) for part in dict.fromkeys((said, said.rstrip(".,"))))


def _weight(text: str) -> int:
    """Letters and digits of a text."""
    return sum(map(str.isalnum, text))


def _stands(said: str, source: str) -> bool:
    if next(_places(said, source), None) is not None:
        return True
    parts = [part for each in _GAP.split(said) if (part := each.strip())]
    if not 1 <= len(parts) <= MOST_PARTS or min(map(_weight, parts)) < _LEAST_OF_PART:
        return False
    ends = [place + len(parts[0]) for place in _places(parts[0], source)]
    for part in parts[1:]:
        ends = list(_continued(part, source, ends))
    return bool(ends)


def _continued(part: str, source: str, ends: list[int]) -> Iterator[int]:
    """Where a part ends that stands behind another, near to it, without a negation between."""
    before = iter((*ends, len(source) + 1))
    last, following = -1, next(before)
    for place in _places(part, source):
        while following <= place:
            last, following = following, next(before)
        left_out = source[last:place]
        if last >= 0 and len(left_out) <= NEAR and not _NEGATION.search(left_out):
            yield place + len(part)


def _places(part: str, source: str) -> Iterator[int]:
    """Where a part stands whole in a text, of the first places that hold its letters."""
    for place in islice(_found(part, source), _MOST_PLACES):
        if _is_whole(source, place, place + len(part)):
            yield place


def _found(part: str, source: str) -> Iterator[int]:
    place = source.find(part)
    while place >= 0:
        yield place
        place = source.find(part, place + 1)


def _is_whole(source: str, start: int, end: int) -> bool:
    """Whether a cut goes through no word and no number, and takes nothing from what they mean."""
    if _is_turned(source, start, end):
        return False
    ends = [place for place in (start, end) if 0 < place < len(source)]
    if any(_is_joined(source[place - 1], source[place]) for place in ends):
        return False
    if source[end - 1].isalnum() and _GOES_ON.match(source, end):
        return False
    before = source[max(start - 2, 0) : start]
    if _LOST_START.match(source, start) and _BEFORE_NUMBER.search(before):
        return False
    if source[start] in ".," and before[-1:].isdigit():
        return False
    return not (source[end - 1].isdigit() and _AFTER_NUMBER.match(source, end))


def _is_turned(source: str, start: int, end: int) -> bool:
    """Whether a negation stands right beside a cut."""
    before = source[max(start - _LONGEST_NEGATION, 0) : start]
    return bool(_TURNED_BEFORE.search(before) or _TURNED_AFTER.match(source, end))


def _is_joined(left: str, right: str) -> bool:
    """Whether two characters belong to one word or number."""
    if unicodedata.combining(right):
        return True
    if not (left.isalnum() and right.isalnum()):
        return False
    both_numbers = left.isnumeric() and right.isnumeric()
    return both_numbers or not (_is_unspaced(left) and _is_unspaced(right))


def _is_unspaced(letter: str) -> bool:
    """Whether its script writes words without spaces between them."""
    return unicodedata.east_asian_width(letter) in {"W", "F"} or bool(_UNSPACED.match(letter))
