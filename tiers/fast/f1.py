"""The verifier `f1`: words in common with a reference answer, as SQuAD counts them."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.fast.extraction import SHORT, agreed, answers, bare
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict

HOW = "Write a short answer, alone between <answer> and </answer>."
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


class _Task(BaseModel):
    model_config = ConfigDict(strict=True)
    answer: str | Annotated[list[str], Field(min_length=1)]


class F1(MarkedVerifier):
    """Scores an answer by the words that it shares with the task's `answer`, from 0 to 1.

    Capitals, ASCII punctuation and the articles a, an and the don't count; a word counts as often
    as it occurs. The score is the harmonic mean of the share of said words that are wanted and of
    wanted words that are said; of several right answers the nearest counts. Below `least` the
    answer is rejected, with its score.

    **Limits.** Words are what white space parts: Chinese, Japanese and Thai need another measure.

    Example:
        >>> task = {"answer": "the blue whale"}
        >>> said = ["Blue whale!", "whale or blue shark"]
        >>> [v.score for v in F1().judge([Candidate("text", text, task=task) for text in said])]
        [1.0, 0.6666666666666666]
    """

    name = "f1"
    version = "2"
    task_fields = ("answer",)
    control = Candidate("text", "42", task={"answer": "42"})

    @checked()
    def __init__(self, *, find: Sequence[str] = SHORT, least: float = 0.6) -> None:
        """Set what is read, and what is enough.

        Args:
            find: Where the answer stands: marks of `verifier_ladder.tiers.fast.extraction`.
            least: The least score that is accepted, above 0. At 0.5 an answer that lists the
                right word among three others would pass.

        Raises:
            ConfigError: If a mark does not exist, or `least` is not above 0 and at most 1.
        """
        if not 0 < least <= 1:
            raise ConfigError(f"least={least!r}: give a number above 0 and at most 1")
        self._least = least
        super().__init__({"least": least}, find=find)

    def examine(self, candidate: Candidate) -> Verdict:
        """Compare words."""
        task = read_task(_Task, candidate.task)
        right = [task.answer] if isinstance(task.answer, str) else task.answer
        wanted = [words(text) for text in right]
        if not all(wanted):
            raise TaskError("the task's answer makes no sense: nothing is left of it")
        found = answers(candidate.content, self._find, HOW)
        said = agreed((tuple(words(bare(text))) for text in found), HOW)
        score = max(overlap(said, each) for each in wanted)
        if score >= self._least:
            return Verdict.accept(score)
        return Verdict.reject(
            "the answer shares too few words with the expected one, or says too much beside them",
            score=score, feedback=f"Answer the question itself, in few words. {HOW}",
        )  # fmt: skip


def words(text: str) -> list[str]:
    """The words of an answer that count, as SQuAD's evaluation has them.

    Example:
        >>> words("The U.S. Army")
        ['us', 'army']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def overlap(said: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of two lists of words.

    Example:
        >>> overlap(["blue", "whale"], ["blue", "shark"])
        0.5
    """
    same = sum((Counter(said) & Counter(wanted)).values())
    return 2 * same / (len(said) + len(wanted)) if same else 0.0
