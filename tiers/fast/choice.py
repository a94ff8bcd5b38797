"""The verifier `choice`: one letter or label out of several."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.extraction import agreed, answers, bare
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict

HOW = "Name one choice, alone between <answer> and </answer>."
_LETTERS = tuple(string.ascii_uppercase)
_LONGEST = 2000
_HEAD = re.compile(r"(?:option|choice)\s{1,3}", re.IGNORECASE)
_AFTER = re.compile(r"[.:,;)\]]\s*|\s+[-\u2013\u2014]\s+|\s+")
"""What may stand between a label and what is said of it."""
_DOUBT = re.compile(
    r"\b(?:or|and|not|either|neither|unless|if|maybe|perhaps|but|both|all|none)\b|[?/]",
    re.IGNORECASE,
)
"""What no remark behind an answer may hold."""
_DENIED = re.compile(
    r"(?:(?:it|this|that|which)\s+)?(?:is|was|looks|seems)(?:n['\u2019]t\b"
    r"|\s+(?:\w+\s+)?(?:wrong|incorrect|false)\b)",
    re.IGNORECASE,
)
"""What takes a label back that stands before it."""
_NO_ARTICLE = r"(?!(?:because|since|as|for|is|was|seems)\b)"
_ARTICLE_BEFORE = re.compile(rf"[ai]\s+{_NO_ARTICLE}[^\W\d_]")
"""A word of one letter at the start of a sentence or noun: "a city", "i think"."""
_DIGITS = re.compile(r"[.,:/]\d")
"""What makes a number another one."""
_LATEX = (
    (re.compile(r"\\(?:text(?:bf|rm|it|tt)?|math(?:rm|bf))\{([^{}]*)\}"), r"\1 "),
    (re.compile(r"\\[ ,;:!]|~|\\q?quad(?![A-Za-z])"), " "),
)
"""Types and spaces of LaTeX, and what is seen of them."""
_WORD = re.compile(r"\w+")
_ARTICLE = re.compile(r"\b(?:[Aa] (?=[a-z])|I\b)")
"""Words of one letter that name no choice."""


class _Task(BaseModel):
    model_config = ConfigDict(strict=True)
    answer: str
    choices: (
        Annotated[dict[str, str], Field(min_length=1)]
        | Annotated[list[str], Field(min_length=1)]
        | None
    ) = None


class _Choices(NamedTuple):
    by_label: Mapping[str, str]
    """Labels in small letters → as the task writes them."""
    by_text: Mapping[str, str]
    """Texts in small letters → labels."""


class Choice(MarkedVerifier):
    """Accepts an output that commits to the one right choice.

    Read are `B`, `(B)`, `B.`, `Option B`, `B) Rome`, `Rome`, and `B, because …`. Several choices,
    hedges, denials, questions, a letter with the text of another one, and letters that only look
    like the right one are rejected. Capitals don't matter.

    **The task** holds `answer`, a label, and may hold `choices`: a list of labels, or an object
    from label to text. Without them the labels are A to Z.

    Example:
        >>> task = {"answer": "B", "choices": {"A": "Oslo", "B": "Rome"}}
        >>> said = ["The answer is (B) Rome.", "B or A"]
        >>> [v.outcome.value for v in Choice().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        ['accept', 'reject']
    """

    name = "choice"
    version = "4"
    task_fields = ("answer", "choices")
    control = Candidate("text", "A", task={"answer": "A"})

    def examine(self, candidate: Candidate) -> Verdict:
        """Read which label the output commits to."""
        task = read_task(_Task, candidate.task)
        given = task.choices
        pairs = given.items() if isinstance(given, dict) else ((c, "") for c in given or _LETTERS)
        choices = _read_choices(tuple(pairs))
        wanted = choices.by_label.get(task.answer.strip().casefold())
        if wanted is None:
            raise TaskError("the task's answer makes no sense: it is the label of no choice")
        found = answers(candidate.content, self._find, HOW)
        if agreed((_label(bare(text), choices) for text in found), HOW) == wanted:
            return Verdict.accept(1.0)
        return Verdict.reject("another choice is right", feedback=f"Think again. {HOW}")


@lru_cache(maxsize=1024)
def _read_choices(pairs: tuple[tuple[str, str], ...]) -> _Choices:
    """Read the choices once for all candidates of a group.

    Raises:
        TaskError: If a label or text occurs twice, or a label is empty.
    """
    labels = {_folded(label): label for label, _ in pairs}
    texts = {_folded(text): label for label, text in pairs if text.strip()}
    told = [text for _, text in pairs if text.strip()]
    if len(labels) < len(pairs) or len(texts) < len(told) or "" in labels:
        raise TaskError("the task's choices make no sense: two are alike, or one is empty")
    return _Choices(labels, texts)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _label(said: str, choices: _Choices) -> str:
    """Which choice an answer commits to.

    Raises:
        CandidateError: If it is not exactly one.
    """
    if len(said) > _LONGEST:
        raise CandidateError("the answer is too long to name a choice", feedback=HOW)
    for form in (said, bare(said.rstrip("."))):  # A label may end with a point of its own.
        if known := choices.by_label.get(_folded(form)) or choices.by_text.get(_folded(form)):
            return known
    plain = _from_latex(bare(said.rstrip("."))).replace("**", "")
    plain = _HEAD.sub("", plain, count=1) if _HEAD.match(plain) else plain
    for label in sorted(choices.by_label, key=len, reverse=True):
        rest = _behind(plain, label)
        if rest is None or _is_article(plain, rest, choices.by_label[label], choices):
            continue
        if _is_harmless(rest, label, choices):
            return choices.by_label[label]
    raise CandidateError("the answer does not commit to one choice", feedback=HOW)


def _from_latex(text: str) -> str:
    for written, seen in _LATEX:
        text = written.sub(seen, text)
    return text.strip()


def _is_article(said: str, rest: str, own: str, choices: _Choices) -> bool:
    """Whether a small letter is a word, where the task writes the label of that name large."""
    is_word = own in {"A", "I"} and _ARTICLE_BEFORE.match(said)
    return bool(is_word) and choices.by_text.get(_folded(rest)) != own


def _behind(said: str, label: str) -> str | None:
    """What stands behind a label at the start, without brackets around it; None if it isn't."""
    opened = said[:1] in {"(", "["}
    inner = said[1:] if opened else said
    if inner[: len(label)].casefold() != label:
        return None
    rest = inner[len(label) :]
    if opened:
        if rest[:1] not in {")", "]"}:
            return None
        rest = rest[1:]
    if not rest.strip(" .)*"):
        return ""
    after = _AFTER.match(rest)
    if not opened and (after is None or (label[-1].isdigit() and _DIGITS.match(rest))):
        return None
    return rest[after.end() :] if after else rest


def _is_harmless(rest: str, label: str, choices: _Choices) -> bool:
    """Whether what is said of a label neither doubts it nor names another."""
    if not rest:
        return True
    text = _folded(bare(rest.rstrip(".* ")))
    own = choices.by_label[label]
    if text in choices.by_text:
        return choices.by_text[text] == own
    if text in choices.by_label or _DOUBT.search(rest) or _DENIED.match(rest):
        return False
    single = {name for name in choices.by_label.values() if len(name) == 1} - {own}
    if not single.isdisjoint(_WORD.findall(_ARTICLE.sub(" ", rest))):
        return False
    others = [name for name in choices.by_label if len(name) > 1 and name != label]
    others += [name for name, owner in choices.by_text.items() if owner != own]
    return not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in others)
