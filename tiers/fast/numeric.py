"""The verifier `numeric`: one number, compared exactly or within a declared tolerance."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.extraction import GOES_ON, agreed, answers, bare
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.fast.mathtokens import scripted
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict

HOW = "Write one number, alone between <answer> and </answer>."
_LONGEST = 1000
"""Characters of the longest number."""
_EXPONENT = 5000
_MINUS = "\u2212"
_CHANGED = re.compile(
    rf"{GOES_ON.pattern}|(?:[$*`)]|\\\)|\\\]){{0,4}}[^\S\n]{{0,3}}"
    r"(?:\\?%|[×⋅±]|\\(?:times|cdot|pm)\b"
    r"|(?:percent|per cent|dozen|hundred|thousand|million|billion|trillion)s?\b)",
    re.IGNORECASE,
)
"""What makes a number another one, or one of several, where it stands behind its mark."""
_NUMBER = re.compile(
    r"([+-]?)([0-9]{1,3}(?:,[0-9]{3})+|[0-9]*)(?:\.([0-9]*))?"
    r"(?:[eE]([+-]?[0-9]{1,9})|\s{0,3}(?:\\times|\\cdot|[×·⋅*])\s{0,3}10\^"
    r"(?:\{([+-]?[0-9]{1,9})\}|([+-]?[0-9]{1,9})))?"
)
_FORMULA = re.compile(r"\$\$(.*)\$\$|\\\((.*)\\\)|\\\[(.*)\\\]", re.DOTALL)
_HELD = re.compile(r"\A([-+\u2212]?)\s*\{([^{}]*)\}(?![\d.,eE])")
"""A number in braces, as a box stands inside of its formula."""
_RAISED = re.compile(r"(?<=\d)[⁰¹²³⁴-⁹⁺⁻]+")
_LATEX = (
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"\\[ ;:!]|\\,(?!\d{3}(?!\d))|(?<=\S)~|\\q?quad(?![A-Za-z])"), " "),
    (re.compile(r"\\(?:text|textrm|mathrm|mathsf)\s*\{\s*([^{}]*?)\s*\}"), r" \1"),
    (re.compile(r"\s*\^\s*(?:\{\s*\\circ\s*\}|\\circ)\s*"), "°"),
)
"""Signs, spaces and words as LaTeX writes them, and as a unit is named."""


class _Task(BaseModel):
    model_config = ConfigDict(strict=True)
    answer: str | int | float
    tolerance: str | int | float = 0
    relative: str | int | float = 0
    unit: str | Annotated[list[str], Field(min_length=1)] | None = None


class Numeric(MarkedVerifier):
    r"""Accepts an output whose number is the task's `answer`.

    **Exact.** Numbers are decimals of up to 1000 characters and compared as such: `0.1` is not
    the double next to it, and 1.1 is within 0.1 of 1. Read are signs, thousands (`1,234`,
    `1{,}234`), fractions after a point, and powers of ten (`1e3`, `1.5 \times 10^{3}`).

    **Strict.** Units, percent, hedges, ranges, sums that are not worked out, words, NaN, infinity
    and digits of other scripts are rejected.

    **The task** holds `answer`, a number or text; it may hold `tolerance`, the largest difference,
    `relative`, the same as a share of the answer (the larger of both counts), and `unit`: how the
    unit is written that the answer must have, a text or several. Give the answer as text where
    its digits matter: a number of JSON is often a double.

    Example:
        >>> task = {"answer": "5", "tolerance": 0.1}
        >>> said = ["So it is \\boxed{5.1}", "about 5", "5 km"]
        >>> [v.outcome.value for v in Numeric().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        ['accept', 'reject', 'reject']
    """

    name = "numeric"
    version = "5"
    task_fields = ("answer", "tolerance", "relative", "unit")
    control = Candidate("text", "42", task={"answer": 42})

    def examine(self, candidate: Candidate) -> Verdict:
        """Compare the numbers."""
        task = read_task(_Task, candidate.task)
        wanted = _given("answer", task.answer)
        room = max(
            _size("tolerance", task.tolerance), _size("relative", task.relative) * abs(wanted)
        )
        units = _units(task.unit)
        found = answers(candidate.content, self._find, HOW, goes_on=_CHANGED)
        said = agreed((_read(bare(text), units) for text in found), HOW)
        if abs(said - wanted) <= room:
            return Verdict.accept(1.0)
        return Verdict.reject("the number is another one", feedback=f"Check the result. {HOW}")


def number(text: str) -> Fraction | None:
    r"""Read one decimal number exactly; None for anything else, or beyond bounds.

    Example:
        >>> number("-1,234.5e2"), number("12,34"), number("nan")
        (Fraction(-123450, 1), None, None)
    """
    text = text.replace(_MINUS, "-").replace("{,}", ",").replace("\\,", ",")
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    sign, whole, part, *powers = match.groups()
    digits = whole.replace(",", "") + (part or "")
    exponent = int(next((power for power in powers if power), "0"))
    if not digits or abs(exponent) > _EXPONENT:
        return None
    value = Fraction(int(digits)) * Fraction(10) ** (exponent - len(part or ""))
    return -value if sign == "-" else value


def _read(said: str, units: frozenset[str]) -> Fraction:
    """The number of an answer, whose unit is one that is asked for.

    Raises:
        CandidateError: If it is no number alone, or lacks the unit.
    """
    short = len(said) <= 2 * _LONGEST
    for text in (said, bare(said.removesuffix("."))) if short else ():
        written = _from_latex(text)
        for plain in _without_unit(written, units) if units else [written]:
            value = number(bare(plain))
            if value is not None:
                return value
    if not units:
        raise CandidateError("the answer is not one number alone", feedback=f"{HOW} No unit.")
    raise CandidateError(
        "the answer is not one number with its unit", feedback=f"{HOW} Write its unit, too."
    )


def _from_latex(text: str) -> str:
    """An answer in LaTeX without the signs of its formula, its units as plain text."""
    if formula := _FORMULA.fullmatch(text):
        text = next(inner for inner in formula.groups() if inner is not None)
    text = _RAISED.sub(lambda found: scripted(found[0]), text)
    for written, plain in _LATEX:
        text = written.sub(plain, text)
    return _HELD.sub(r"\1\2", text.strip()).strip()


def _without_unit(text: str, units: frozenset[str]) -> list[str]:
    text = unicodedata.normalize("NFKC", text) if not text.isascii() else text
    ends = [text.removesuffix(unit).rstrip() for unit in units if text.endswith(unit)]
    return ends + [text.removeprefix(unit).lstrip() for unit in units if text.startswith(unit)]


# ---- The task


def _given(name: str, value: str | float) -> Fraction:
    """A number of the task.

    Raises:
        TaskError: If it is none.
    """
    read = (
        None if isinstance(value, bool) else number(repr(value) if value != str(value) else value)
    )
    if read is None:
        raise TaskError(f"the task's {name} makes no sense: it is no number within bounds")
    return read


def _size(name: str, value: str | float) -> Fraction:
    read = _given(name, value)
    if read < 0:
        raise TaskError(f"the task's {name} makes no sense: it is below zero")
    return read


def _units(unit: str | list[str] | None) -> frozenset[str]:
    listed = [] if unit is None else [unit] if isinstance(unit, str) else unit
    units = frozenset(unicodedata.normalize("NFKC", each).strip() for each in listed)
    if "" in units:
        raise TaskError("the task's unit makes no sense: it has no name")
    return units
