r"""The verifier `mathematics`: the one final answer of an output against the expected one.

Where the answer stands, the strongest mark first:

1. `\boxed{…}`, `\fbox{…}` or `<answer>…</answer>`; what stands directly before or behind a box
   in its formula belongs to it: `$-\boxed{5}$` is -5,
2. a line that begins with `####`,
3. `the answer is …`, `Answer: …`,
4. the last line, or the only formula between dollar signs in it.

What is thought aloud before `</think>` does not count; thought that never ends has no answer.
Every answer at the strongest mark must be right, and so must each weaker one that follows it and
each that corrects it ("Actually, 41."): answers that contradict each other are a hedge, and
rejected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.mathanswer import Expected
from verifier_ladder.tiers.fast.mathboxes import BOX, MOST, boxed
from verifier_ladder.tiers.fast.mathnumbers import TooLargeError, UndefinedError, mpmath
from verifier_ladder.tiers.fast.mathtext import read
from verifier_ladder.tiers.fast.mathtokens import LONGEST, UnreadableError
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Outcome, Verdict

HOW = "Write the one final answer alone in \\boxed{…}."
"""What to tell a model whose answer can't be found or read."""
_LONGEST_OUTPUT = 1_000_000
_TAG = re.compile(r"<answer>", re.IGNORECASE)
_END_TAG = re.compile(r"</answer>", re.IGNORECASE)
_HASHES = re.compile(r"^####[ \t]*(.*)$", re.MULTILINE)
_PHRASE = re.compile(r"\banswer(?:\*\*)?(?: is(?::|\b)|:)(?:\*\*)?", re.IGNORECASE)
_SENTENCE = re.compile(r"\.(?=\s+[A-Z])|\n")
_FORMULA = re.compile(r"\$\$?([^$]+)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_DOUBT = re.compile(
    r"\d|\b(?:not|or|either|maybe|perhaps|about|approximately|wrong|unless)\b", re.IGNORECASE
)
_VALUE = re.compile(r"\d|\\|^\W*\w\W*$")
"""What tells a value from words such as "the answer is clear"."""
_ONE = r"(?:[A-Za-z] ?= ?)?(?:\$[^$\n]{1,80}\$|[-−]?\d+(?:[.,/]\d+)*)"
_BETWEEN = "it|that|this|the|answer|result|value|final|is|be|could|should|might|may|can|would|also"
_CUE = (
    "but|actually|wait|hmm|no|sorry|correction|rather|instead|alternatively|maybe|perhaps"
    "|possibly|else|otherwise"
)
_SECOND = re.compile(
    rf"(?:^|[.,;:(\n])\W{{0,4}}(?:{_CUE})\b(?:\W{{1,3}}(?:{_BETWEEN}|{_CUE})\b){{0,8}}"
    rf"[\s,:;]{{0,3}}({_ONE})(?=(?:\s+(?:{_BETWEEN})\b){{0,4}}"
    r"\s*(?:[.,;:](?!\s*[\d$])|[)!?*]|\n|$))",
    re.IGNORECASE,
)
"""An answer that is put in the place of the one before it: "Actually, 41."."""
_FIRST = re.compile(rf"({_ONE}),? or \$?(?:[A-Za-z] ?= ?)?$")
"""An answer that is offered before the box: "41 or"."""
_OTHER = re.compile(
    rf"[\s$*)\]\\]{{0,6}}(?:[,(;]?\s*\\?(?:text\{{)?\s*\b(?:or|and)\b[\s}}]*|[,;/]\s*)({_ONE})(?=[)$\s]*(?:[.!?]|\n|$))",
    re.IGNORECASE,
)
"""An answer that is offered behind the box: "or 41"."""
_DENIED = re.compile(
    r"\W{0,4}(?:is|was) (?:wrong|incorrect|not (?:right|correct|the (?:\w+ )?answer))\b"
)
_DENIAL = re.compile(r"\bnot[ }][ }$]*$", re.IGNORECASE)
_MARKS = ' \t\r\n*`"'
_CHOICE = re.compile(
    r"\s*\\?(?:text(?:bf|rm)?\{)?\(?(?P<letter>[A-J])(?P<mark>\)?\}?(?:\)|\.|:|\}|\s)+)"
    r"(?P<value>[^\s=].*)",
    re.DOTALL,
)
_WORDS = re.compile(r"[A-Za-z]{2}")
_LETTER = re.compile(r"(?<![A-Za-z])[A-J](?![A-Za-z])")
_SAYS = re.compile(r"[A-Za-z0-9]")
_FIELDS = ("answer", "choices", "form", "log_base", "tolerance", "unit", "variables")


class _NoAnswerError(ValueError):
    """An output in which no answer is found."""


class Mathematics(SingleVerifier):
    r"""Accepts an output whose one final answer is equal to the task's `answer`.

    **Exact.** Numbers are compared exactly, or in 60 digits and more where they have roots,
    logarithms or angles: `3.14` is not pi, unless the task gives a `tolerance`, and what 8,000
    digits do not decide is rejected. Formulas with unknowns are compared at points that can't be
    foreseen.

    **Strict.** Hedges, sets for tuples, equations for values, other units, rounded numbers and
    answers that contradict each other are rejected, with feedback. The expected answer is never
    told.

    **Bounded.** A candidate's text is never run as code; its length, depth and numbers are
    bounded before anything is computed, so that every output is judged within about a second.
    What is beyond bounds is rejected.

    **The task** holds `answer` (text in LaTeX or plain notation, or a number), and may hold
    `tolerance` (share of the expected number), `form` (`interval` or `tuple`, where `(0, 1)` may
    be either), `unit` (`optional`), `choices` (letter → value), `variables` (name → `integer`,
    `positive` or `real`) and `log_base` (what `log` means; e if it is not given). A task that
    makes no sense is an abstention that names it.

    Example:
        >>> task = {"answer": r"\frac{1}{2}"}
        >>> said = ["So it is \\boxed{0.5}", "\\boxed{0.5} or \\boxed{0.6}"]
        >>> [v.outcome.value for v in Mathematics().judge([
        ...     Candidate("mathematics", text, task=task) for text in said])]
        ['accept', 'reject']
    """

    name = "mathematics"
    version = "10"
    tier = Tier.FAST
    kind = "mathematics"
    domain = "mathematics"
    capabilities = ("reasoning",)
    cost = Cost(seconds=3e-4)
    timeout = 20.0
    task_fields = _FIELDS
    control = Candidate("mathematics", "\\boxed{42}", task={"answer": "42"})

    def __init__(self) -> None:
        """Take no settings."""
        super().__init__()
        self.tools = versions("mpmath")

    def setup(self) -> None:
        """Load the library, so that a batch's first candidate does not wait for it."""
        mpmath()

    def examine(self, candidate: Candidate) -> Verdict:
        """Compare the final answer with the expected one."""
        mpmath()
        wanted = _wanted(candidate.task)
        content = candidate.content
        if not isinstance(content, str):
            return _refused("the output is no text", HOW)
        try:
            said = final_answers(content)
        except (_NoAnswerError, UnreadableError) as error:
            return _refused(f"{error}", HOW)
        return _judged(wanted, said)


class _Wanted:
    """A task's answer, and the choices it was made among."""

    def __init__(self, expected: Expected, choices: Mapping[str, Expected]) -> None:
        self.expected = expected
        self.choices = choices

    def difference(self, text: str) -> str:
        """Why an answer is another one; "" if it is the same."""
        if self.choices:
            return self._choice(text)
        found = _CHOICE.fullmatch(text) if _LETTER.fullmatch(self.expected.text) else None
        if found and _is_valued(found):
            read(found["value"])  # Nobody knows which it should be.
            text = found["letter"]
        return self.expected.difference(text)

    def _choice(self, text: str) -> str:
        letter = self.expected.text
        match = _CHOICE.fullmatch(text)
        if match:
            if match["letter"] != letter:
                return "the letter is another one"
            return self.choices[letter].difference(match["value"])
        if not self.expected.difference(text):
            return ""
        fits = [name for name, value in self.choices.items() if not value.difference(text)]
        return "" if fits == [letter] else "the answer is not the right choice"


def _is_valued(found: re.Match[str]) -> bool:
    """Whether a letter is that of a choice, and its value follows: not "A proof is short"."""
    is_article = not found["mark"].strip() and _WORDS.match(found["value"])
    says = _SAYS.search(found["value"]) and not _LETTER.search(found["value"])
    return bool(says) and not is_article


def _judged(wanted: _Wanted, said: list[str]) -> Verdict:
    """Compare every final answer, or all as one where each may be a member in its own box."""
    verdict = _compared(wanted, said)
    if verdict.outcome is Outcome.ACCEPT or not 1 < len(said) == wanted.expected.members:
        return verdict
    return _compared(wanted, [", ".join(said)])


def _compared(wanted: _Wanted, said: list[str]) -> Verdict:
    """Compare every final answer: one that differs makes the others a hedge."""
    reasons = []
    for text in said:
        try:
            reasons.append(wanted.difference(text))
        except UnreadableError as error:
            return _refused(f"the answer can't be read: {error}", HOW)
        except UndefinedError as error:
            return _refused(f"the answer has no value: {error}", HOW)
        except (TooLargeError, RecursionError) as error:
            reason = f"the answer is beyond bounds: {error}"
            return _refused(reason, "Write the answer in a shorter form.")
    wrong = [reason for reason in reasons if reason]
    if not wrong:
        return Verdict.accept(1.0)
    if len(wrong) < len(reasons):
        return _refused("final answers contradict each other", HOW)
    return _refused(wrong[0], f"Check the result. {HOW}")


def _refused(reason: str, feedback: str) -> Verdict:
    return Verdict.reject(reason, feedback=feedback)


# ---- The task


class _Terms(NamedTuple):
    """What a task says of its answer and of its choices alike."""

    tolerance: float
    form: str
    unit: str
    log_base: int
    variables: tuple[tuple[str, str], ...]


def _wanted(task: Mapping[str, Any] | None) -> _Wanted:
    """What a task wants.

    Raises:
        TaskError: If its answer is missing or makes no sense.
    """
    fields = task or {}
    answer = fields.get("answer")
    if answer is None:
        raise TaskError("the task has no answer to compare with; give it as `answer`")
    if isinstance(answer, bool) or not isinstance(answer, (str, int, float)):
        raise TaskError("the task's answer must be text or a number")
    if isinstance(answer, float) and not math.isfinite(answer):
        raise TaskError("the task's answer must be a finite number")
    choices = fields.get("choices") or {}
    variables = fields.get("variables") or {}
    if not isinstance(choices, Mapping) or not isinstance(variables, Mapping):
        raise TaskError("the task's choices and variables must hold values by name")
    form, unit = str(fields.get("form") or ""), str(fields.get("unit") or "required")
    if form not in {"", "interval", "tuple"} or unit not in {"required", "optional"}:
        raise TaskError("the task's form is `interval` or `tuple`, its unit `optional`")
    terms = _Terms(_tolerance(fields), form, unit, _log_base(fields), _pairs(variables))
    return _read_task(_written(answer), terms, _pairs(choices))


def _pairs(values: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in values.items())


def _written(answer: str | float) -> str:
    try:
        return str(answer)
    except ValueError:
        raise TaskError("the task's answer can't be read: it is too long") from None


def _tolerance(fields: Mapping[str, Any]) -> float:
    tolerance = fields.get("tolerance")
    if tolerance is None:
        return 0.0
    if (
        isinstance(tolerance, bool)
        or not isinstance(tolerance, (int, float))
        or not (0 <= tolerance < 1)
    ):
        raise TaskError("the task's tolerance must be a number from 0 to below 1")
    return float(tolerance)


def _log_base(fields: Mapping[str, Any]) -> int:
    base = fields.get("log_base")
    if base is None:
        return 0
    if isinstance(base, bool) or not isinstance(base, int) or not 1 < base <= 1000:  # noqa: PLR2004
        raise TaskError("the task's log_base must be a whole number above 1")
    return base


@lru_cache(maxsize=4096)
def _read_task(answer: str, terms: _Terms, choices: tuple[tuple[str, str], ...]) -> _Wanted:
    """Read a task once for all candidates of its group."""
    texts = _answers_of_task(answer)
    made = [_expected(text, terms) for text in texts]
    if any(other.difference(texts[0]) for other in made[1:]):
        raise TaskError("the task's answer can't be read: it holds several that differ")
    among = {letter: _expected(text, terms) for letter, text in choices}
    if among and made[0].text not in among:
        raise TaskError("the task's answer is the letter of none of its choices")
    return _Wanted(made[0], among)


def _answers_of_task(answer: str) -> list[str]:
    if not answer.strip():
        raise TaskError("the task's answer is empty")
    if len(answer) <= LONGEST and not (BOX.search(answer) or _HASHES.search(answer)):
        return [answer.strip()]
    try:
        return final_answers(answer)
    except (_NoAnswerError, UnreadableError) as error:
        raise TaskError(f"the task's answer can't be read: {error}") from None


def _expected(text: str, terms: _Terms) -> Expected:
    base = Fraction(terms.log_base) if terms.log_base else None
    try:
        return Expected(text, terms.tolerance, terms.form, terms.unit, dict(terms.variables), base)
    except (UnreadableError, UndefinedError, TooLargeError, RecursionError) as error:
        raise TaskError(f"the task's answer can't be read: {error}") from None


# ---- The output


def final_answers(text: str) -> list[str]:
    r"""Find the final answers of an output, without the marks around them.

    Args:
        text: The whole output.

    Returns:
        Those at the strongest mark, and weaker ones that follow them; at least one.

    Raises:
        UnreadableError: If a mark is never closed.
        ValueError: If there is no answer, or there are too many.

    Example:
        >>> final_answers("I try 41 first. Then: \\boxed{42}")
        ['42']
    """
    if len(text) > _LONGEST_OUTPUT:
        raise _NoAnswerError(f"the output is longer than {_LONGEST_OUTPUT} characters")
    spoken = text.rpartition("</think>")[2]
    if "<think>" in spoken:
        raise _NoAnswerError("the output ends before its thought does")
    found, end = _strong(spoken)
    weak, last = _weak(spoken[end:])
    if not found:
        found = weak or [_last_line(spoken)]
    elif weak:
        found += [one for one in weak if _VALUE.search(one)]
    if end or weak:
        found += [match[1] for match in _SECOND.finditer(spoken, end + last)]
    if len(found) > MOST:
        raise _NoAnswerError("the output holds too many answers")
    return list(dict.fromkeys(map(_clean, found)))


def _strong(text: str) -> tuple[list[str], int]:
    r"""What stands in boxes and tags or is offered beside them, and where the last of them ends.

    Raises:
        _NoAnswerError: If it is denied: "not \boxed{42}"; or if there are too many tags.
    """
    found, start, end = boxed(text, measured=True)
    if found:
        before = text[max(0, start - 100) : start]
        if _DENIAL.search(before) or _DENIED.match(text, end):
            raise _NoAnswerError("the answer is denied")
        found += [match[1] for match in _FIRST.finditer(before)]
    tags = list(islice(_TAG.finditer(text), MOST + 1))
    if len(tags) > MOST:  # Each looks for its end in all of the text.
        raise _NoAnswerError("the output holds too many answers")
    for match in tags:
        close = _END_TAG.search(text, match.end())
        inner = text[match.end() : close.start() if close else len(text)]
        if not BOX.search(inner):
            found.append(inner)
        end = max(end, close.end() if close else len(text))
    if found and (other := _OTHER.match(text, end)):
        found.append(other[1])
    return found, end


def _weak(text: str) -> tuple[list[str], int]:
    """What stands behind `####`, else behind `the answer is`; and where the last of it ends."""
    lines = list(_HASHES.finditer(text))
    if lines:
        return [match[1] for match in lines[: MOST + 1]], lines[-1].end()
    found: list[str] = []
    last = 0
    for match in _PHRASE.finditer(text):
        end = _SENTENCE.search(text, match.end())
        part = text[match.end() : end.start() if end else len(text)]
        if part.strip(_MARKS):
            found.append(_formula(part))
            last = match.end() + len(part)
        if len(found) > MOST:
            break
    return found, last


def _last_line(text: str) -> str:
    stripped = text.rstrip()
    line = stripped[stripped.rfind("\n") + 1 :]
    return _formula(line)


def _formula(line: str) -> str:
    """The only formula of a sentence that holds nothing else to doubt, else the sentence."""
    if len(line) > LONGEST:
        return line
    formulas = list(_FORMULA.finditer(line))
    if len(formulas) != 1:
        return line
    around = line[: formulas[0].start()] + " " + line[formulas[0].end() :]
    inner = next(group for group in formulas[0].groups() if group is not None)
    return line if _DOUBT.search(around) else inner


def _clean(text: str) -> str:
    if len(text) > 2 * LONGEST:
        return text
    plain = text.strip(_MARKS)
    match = _FORMULA.fullmatch(plain.rstrip("."))
    if match:
        plain = next(group for group in match.groups() if group is not None)
    return plain.strip(_MARKS)
