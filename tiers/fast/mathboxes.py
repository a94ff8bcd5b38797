r"""Boxes: what stands in `\boxed{…}`, and what belongs to it inside the same formula.

What stands directly before or behind a box belongs to the answer: `$-\boxed{5}$` says -5 and
`$2\boxed{5}$` says 10. It reaches to the next comma, word, arrow or sign of equality before the
box, and to the next comma, word or arrow behind it. Outside of formulas only what touches the box
belongs to it, and, if asked for, the unit, percent or numeral in plain text behind it, or behind
the formula that ends with it: `\boxed{5} million`. Several boxes in one such part are answers
each, and so is the whole part, unless they are members of it: `(\boxed{1}, \boxed{2})`.

Without braces a box holds one number, letter or fraction, to the end of its formula.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from verifier_ladder.tiers.fast.mathtokens import LONGEST, TYPOGRAPHY, UnreadableError
from verifier_ladder.tiers.fast.mathunits import CHANGING, NUMERALS, UNITS, scaled, unit_worth

MOST = 32
"""Boxes of an output that are read, but for one more."""
BOX = re.compile(r"\\f?boxed(?![A-Za-z])\s*")
_BARE = re.compile(
    r"(?:[-−]?(?:\d+(?:[.,/]\d+)*|[A-Za-z]|\\[A-Za-z]+(?:\s?\d|\{[^{}$]*\}){0,2})(?:\s?\\?%)?)"
    r"(?=\s{0,4}\.?\s{0,4}(?:\$|\\\)|\\\]))"
)
"""What a box without braces may hold."""
_NUMBER = re.compile(r"[-−]?\d|\\[dt]?frac")
_HELD = "\0"
"""What stands for a box in the part around it."""
_FAR = "?"
"""What stands for text that is too far away to be read; it can't be read itself."""
_EDGE = re.compile(
    r"\\[()\[\]]|\\(?P<way>begin|end)\{(?:align|equation|gather|multline|displaymath)\w*\*?\}"
    r"|\\.|\$\$?|\n[ \t\r]*\n",
    re.DOTALL,
)
"""Where a formula begins or ends; one with dollar signs does not go on behind an empty line."""
_CLOSED_BY = {"$": "$", "$$": "$", "\\(": "\\)", "\\[": "\\]"}
_PIECE = re.compile(
    r"(?P<held>\0)"
    r"|\\(?:text\w*|mbox|math(?:rm|bf|sf)(?=\s*\{[^{}\0]{3}))\s*\{(?P<words>[^{}\0]*)\}"
    r"|(?P<cut>\\\\(?:\[[^]\\]{0,20}\])?|\\(?:[A-Za-z]*(?:arrow|mapsto)|implies|iff|to|therefore"
    r"|because|q?quad|lor|land|vee|wedge|[bp]?mod|pod|tag|checkmark|q?ed|(?:black)?square|approx"
    r"|simeq|sim|cong|equiv|in)(?![A-Za-z])|\\begin\{(?!.?matrix)[^{}]*\}(?:\{[^{}\0]*\})?"
    r"|\\end\{(?!.?matrix)[^{}]*\}|\\(?:text\w*|mbox)\s*\{|</?\|?[A-Za-z]\w*\|?>|[=-]>|[,;&≈∈]"
    r"|(?<=\0)(?:st|nd|rd|th)(?![A-Za-z])|[A-Za-z]{3,}"
    r"|(?:is|so|we|of|at|by|in|it|or|as|an|be|if)(?![A-Za-z])"
    rf"|(?![{TYPOGRAPHY}])[^\x00-\x7f])"
    r"|(?P<open>\\\{|\\lbrace|\\begin\{[^{}]*\}|[{(\[])"
    r"|(?P<close>\\\}|\\rbrace|\\end\{[^{}]*\}|[})\]])"
    r"|\\[A-Za-z]+|\\.|[!<>]=|(?P<equals>:?=)|[A-Za-z]{2}",
    re.DOTALL,
)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_LOOKS = re.compile(
    r"\\(?:underline|boldsymbol|bm|(?:text|math)(?:bf|rm|it|sf|tt|normal))\s*(?=\{[^{}]*\0)"
    r"|\\(?:display|text)style(?![A-Za-z])|\\(?:huge|Huge|large|Large|LARGE|bf|it)(?![A-Za-z])"
    r"|\\(?:text)?color\s*\{[^{}]*\}|\\[,;:! ()\[\]]|~"
)
"""Commands that change how a box looks, not what it says."""
_SIGNS = re.compile(r"\\(?:text\w*|mbox|math(?:rm|bf|sf))\s*\{([^{}\0A-Za-z0-9]*)\}")
"""Signs that are set as text: they say what they say without it."""
_MEASURES = UNITS.keys() | NUMERALS.keys() | CHANGING | {"per", "square", "sq", "cubic"}
"""Words behind a box that belong to it."""
_BEHIND = re.compile(
    r"(?:\$\$?|\\\)|\\\])?\*{0,2}[ \t~]{0,3}(?:(?P<sign>\\?%)"
    r"|(?:(?<=[ \t~])|\\(?:text|mathrm)\{\s{0,3})"
    r"(?P<words>[A-Za-z][A-Za-z/^0-9]*(?: [A-Za-z][A-Za-z/^0-9]*){0,3}))"
)
"""What may follow a formula that ends with a box, or a box outside of formulas."""
_AMOUNT = re.compile(r"[-−+]?\s{0,2}(?:\\?\$)?[\d.]|[-−+]?\\(?:[dt]?frac|sqrt|pi)")
"""How a box begins that may have a unit behind it."""
_MARKUP = " \t\r\n*_`\"'|$#"


class Boxes(NamedTuple):
    """What the boxes of an output say, and where the first begins and the last ends."""

    answers: list[str]
    start: int
    end: int


class _Box(NamedTuple):
    start: int
    end: int
    inner: str
    formula: tuple[int, int] | None


def boxed(text: str, *, open_ended: bool = False, measured: bool = False) -> Boxes:
    r"""Find what the boxes of an output say.

    Args:
        text: The output.
        open_ended: Whether a box that is never closed holds all that is left, and one may be of
            any length.
        measured: Whether a unit, percent or a word such as million belongs to a box before which
            it stands in plain text.

    Returns:
        The answers in order, those of few boxes more than `MOST` at most.

    Raises:
        UnreadableError: If a box is never closed, or holds nothing that is clear.

    Example:
        >>> boxed(r"So $x = 2\boxed{5}$ or \boxed{5}.").answers
        ['2{5}', '5']
    """
    boxes = _boxes(text, open_ended=open_ended) if BOX.search(text) else []
    if not boxes:
        return Boxes([], 0, 0)
    found: list[str] = []
    end = boxes[-1].end
    for group in _groups(text, boxes):
        measure, behind = _measure(text, group[-1]) if measured else ("", 0)
        found += _said(text, group, measure)
        end = max(end, behind)
    return Boxes(found, boxes[0].start, end)


def _formulas(text: str) -> Iterator[tuple[int, int]]:
    """Where formulas begin and end, without their signs."""
    closed_by, start = "", 0
    for edge in _EDGE.finditer(text):
        sign = edge[0]
        if closed_by and sign.startswith(closed_by) and not _is_price(text, edge):
            yield start, edge.start()
            closed_by = ""
        elif not closed_by:
            closed_by = "\\end" if edge["way"] == "begin" else _CLOSED_BY.get(sign, "")
            start = edge.end()
        elif sign[0] == "\n" and closed_by == "$":
            closed_by = ""


def _is_price(text: str, edge: re.Match[str]) -> bool:
    """Whether a dollar sign stands before a number, so that it ends no formula."""
    return edge[0] == "$" and text[edge.end() : edge.end() + 1].isdigit()


def _boxes(text: str, *, open_ended: bool) -> list[_Box]:
    found: list[_Box] = []
    formulas = list(_formulas(text))
    end = 0
    while (match := BOX.search(text, end)) and len(found) <= MOST:
        end = match.end()
        formula = _around(formulas, end)
        if text.startswith("{", end):
            close = _closing(text, end + 1, open_ended=open_ended)
            found.append(_Box(match.start(), close + 1, text[end + 1 : close], formula))
            end = close + 1
        elif formula and (bare := _BARE.match(text, end)):
            end = bare.end()
            found.append(_Box(match.start(), end, bare[0], formula))
        elif formula or _NUMBER.match(text, end):
            raise UnreadableError("a box has no braces, and it is not clear what it holds")
    return found


def _around(formulas: Sequence[tuple[int, int]], at: int) -> tuple[int, int] | None:
    """The formula that a place is in."""
    index = bisect_right(formulas, (at, at)) - 1
    return formulas[index] if index >= 0 and at < formulas[index][1] else None


def _closing(text: str, start: int, *, open_ended: bool) -> int:
    """Where the brace that was opened just before `start` closes.

    Raises:
        UnreadableError: If it does not within the longest answer.
    """
    depth, end = 1, len(text) if open_ended else start + LONGEST + 1
    for match in _BRACE.finditer(text, start, end):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return match.start()
    if open_ended:
        return len(text)
    raise UnreadableError("the box is never closed, or holds too much")


# ---- What belongs to a box


def _groups(text: str, boxes: Sequence[_Box]) -> list[list[_Box]]:
    """Boxes of one formula, or that touch each other outside of one."""
    groups = [[boxes[0]]]
    for box in boxes[1:]:
        last = groups[-1][-1]
        between = text[last.end : box.start]
        is_near = len(between) <= LONGEST and (box.formula or not re.search(r"\s", between))
        if is_near and box.formula == last.formula:
            groups[-1].append(box)
        else:
            groups.append([box])
    return groups


def _said(text: str, group: list[_Box], measure: str) -> Iterator[str]:
    """What boxes say with what belongs to them, and the measure behind them."""
    first, last = group[0], group[-1]
    start, end = first.formula or _touching(text, first.start, last.end)
    if measure:
        end = last.end
    near = max(start, first.start - LONGEST), min(end, last.end + LONGEST)
    around, at = _FAR * (start < near[0]), near[0]
    for box in group:
        around += text[at : box.start].replace(_HELD, _FAR) + _HELD
        at = box.end
    around += text[at : near[1]].replace(_HELD, _FAR) + _FAR * (near[1] < end) + measure
    inner = iter([box.inner for box in group])
    for part, is_member in _parts(_SIGNS.sub(r"\1", around)):
        held = [next(inner) for _ in range(part.count(_HELD))]
        if held:
            yield from _answers(part, held, is_member=is_member, is_formula=bool(first.formula))


def _measure(text: str, box: _Box) -> tuple[str, int]:
    """The unit or numeral in plain text behind a box that ends its formula, or is in none.

    Returns:
        How it is written inside of a formula, and where it ends; "" if there is none.
    """
    start = box.formula[1] if box.formula else box.end
    behind = None if text[box.end : start].strip(" .\n") else _BEHIND.match(text, start)
    if behind is None or not _AMOUNT.match(box.inner.strip()) or ":" in box.inner:
        return "", 0
    if behind["sign"]:
        return "\\%", behind.end()
    words = behind["words"]
    while words and (words == "in" or not _is_measure(words)):  # Of "in all", say.
        words = words.rpartition(" ")[0]
    return (f"\\text{{ {words}}}", behind.start("words") + len(words)) if words else ("", 0)


def _is_measure(words: str) -> bool:
    worth, unit = scaled(words)
    return unit_worth(unit) is not None if unit else worth != 1


def _touching(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the text begins and ends that no space separates from boxes."""
    before = re.split(r"\s", text[max(0, start - LONGEST) : start])[-1]
    behind = re.split(r"\s", text[end : end + LONGEST], maxsplit=1)[0]
    return start - len(before), end + len(behind)


def _parts(around: str) -> Iterator[tuple[str, bool]]:
    """Split what is around boxes, and tell of each part whether its boxes stand in brackets."""
    depth = start = 0
    is_held = is_member = False
    for piece in _PIECE.finditer(around):
        kind = piece.lastgroup
        if kind == "held":
            is_member = depth > 0 and (is_member or not is_held)
            is_held = True
        elif kind == "open":
            depth += 1
        elif kind == "close" and depth:
            depth -= 1
        elif not depth and _is_cut(piece, is_held=is_held):
            yield around[start : piece.start()], is_member
            start, is_held, is_member = piece.end(), False, False
    yield around[start:], is_member


def _is_cut(piece: re.Match[str], *, is_held: bool) -> bool:
    """Whether what is before a piece has nothing to do with what is behind it."""
    if piece.lastgroup == "equals":
        return not is_held
    if piece.lastgroup == "words":
        word = (piece["words"].replace("/", " ").split() or [""])[0]
        belongs = word in _MEASURES or (len(word) == 1 and word.isalpha())
        return not (is_held and belongs)
    return piece.lastgroup in {"cut", "close"}


def _answers(part: str, held: list[str], *, is_member: bool, is_formula: bool) -> Iterator[str]:
    plain = _LOOKS.sub(" ", part).strip(" \t\r\n:").rstrip(". \t\r\n")
    if not is_formula:
        plain = plain.strip(_MARKUP).lstrip("([:" + _MARKUP).rstrip(")].:!?" + _MARKUP)
    if not plain.strip(_HELD + "{} \t\r\n"):
        yield from held
        return
    if len(held) > 1 and not is_member:
        yield from held
    inner = iter(held)
    yield re.sub(_HELD, lambda _: f"{{{next(inner)}}}", plain)
