"""The verifier `exact-match`: an answer that is the expected text, up to what is declared."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.fast.extraction import SHORT, agreed, answers, bare
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict

HOW = "Write the answer alone between <answer> and </answer>."
Rule = Literal["unicode", "case", "space", "punctuation", "articles"]
_ARTICLES = re.compile(r"\b(?:a|an|the)\b", re.IGNORECASE)
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


class _Task(BaseModel):
    model_config = ConfigDict(strict=True)
    answer: str | Annotated[list[str], Field(min_length=1)]
    normalise: list[Rule] | None = None


class ExactMatch(MarkedVerifier):
    """Accepts an output whose answer is the task's `answer`, letter for letter.

    Texts are the same if their characters are, however they are composed (Unicode's NFC). What
    else does not matter is declared as `normalise`, and applied to both sides in this order:

    - `unicode`: compatible forms are alike, such as `ﬁ` and `fi` (NFKC);
    - `case`: capitals are small letters;
    - `punctuation`: ASCII punctuation is left out;
    - `articles`: the words a, an and the are left out;
    - `space`: any white space is one space.

    Letters that only look alike differ always.

    **The task** holds `answer`, a text or a list of right ones, and may hold `normalise` for
    itself.

    Example:
        >>> task = {"answer": "Rome", "normalise": ["case"]}
        >>> [v.outcome.value for v in ExactMatch().judge([
        ...     Candidate("text", text, task=task) for text in ("The answer is rome", "Rome?")])]
        ['accept', 'reject']
    """

    name = "exact-match"
    version = "2"
    task_fields = ("answer", "normalise")
    control = Candidate("text", "42", task={"answer": "42"})

    @checked()
    def __init__(
        self, *, find: Sequence[str] = SHORT, normalise: Sequence[Rule] = ("space",)
    ) -> None:
        """Set what is read, and what does not matter.

        Args:
            find: Where the answer stands: marks of `verifier_ladder.tiers.fast.extraction`.
            normalise: Rules for tasks that name none.

        Raises:
            ConfigError: If a mark or a rule does not exist.
        """
        known = get_args(Rule)
        if isinstance(normalise, str) or any(rule not in known for rule in normalise):
            raise ConfigError(f"normalise={normalise!r}: give a list of {', '.join(known)}")
        self._rules = frozenset(normalise)
        super().__init__({"normalise": sorted(self._rules)}, find=find)

    def examine(self, candidate: Candidate) -> Verdict:
        """Compare the normal forms."""
        task = read_task(_Task, candidate.task)
        rules = self._rules if task.normalise is None else frozenset(task.normalise)
        right = [task.answer] if isinstance(task.answer, str) else task.answer
        wanted = {_normal(text, rules) for text in right}
        if "" in wanted:
            raise TaskError("the task's answer makes no sense: nothing is left of it")
        found = answers(candidate.content, self._find, HOW)
        said = agreed((_normal(bare(text), rules) for text in found), HOW)
        if said in wanted:
            return Verdict.accept(1.0)
        return Verdict.reject(
            "the answer is not the expected one", feedback=f"Check the answer. {HOW}"
        )


def _normal(text: str, rules: frozenset[str]) -> str:
    text = unicodedata.normalize("NFKC" if "unicode" in rules else "NFC", text)
    if "case" in rules:
        text = unicodedata.normalize("NFC", text.casefold())
    if "punctuation" in rules:
        text = text.translate(_NO_PUNCTUATION)
    if "articles" in rules:
        text = " ".join(_ARTICLES.sub(" ", text).split())
    if "space" in rules:
        text = " ".join(text.split())
    return text.strip()
