"""The verifier `pairwise-judge`: a language model says which of two answers is better.

Models tend to prefer the answer that stands first, or last. So each pair is asked about twice,
in both orders, and an opinion that changes with the order is none (Zheng et al. 2023, "Judging
LLM-as-a-Judge with MT-Bench and Chatbot Arena", section 3.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Unpack

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.simulation.canaries import built_in
from verifier_ladder.tiers.simulation.chatjudge import (
    LEAST,
    ChatJudge,
    JudgedTask,
    JudgeSettings,
    Opinion,
)
from verifier_ladder.tiers.simulation.judgeform import TEXT, Form, Texts, choice
from verifier_ladder.tiers.tasks import TaskError

_INSTRUCTIONS = (
    "Judge which of two answers does better what the prompt asks, and first whether it is right."
)
_WHAT = "a prompt and two answers to it, the first and the second"
_TAIL = """
Answer with JSON alone, as the schema says: first a comment of at most three sentences for the \
author of each answer that tells what to do better, and nothing of the other answer; then which \
one is better, first or second, or equal if neither is. In which order they stand means nothing."""
_FIELDS: Final = {
    "first_comment": TEXT, "second_comment": TEXT, "better": choice("first", "second", "equal"),
}  # fmt: skip
_SCORES: Final = {"first": 1.0, "equal": 0.5, "second": 0.0}


class PairwiseJudge(ChatJudge):
    """Asks a language model whether an output is better than another answer, in both orders.

    It is compared with the task's `reference`, or with the `baseline` of the settings. The score
    is 1 if it is better, 0.5 if both are as good, and 0 if it is worse.

    **Order.** An opinion that changes when the two answers change places is none: the verdict is
    an abstention that is kept, with what was said of each order as `orders` in its evidence.

    Second judges, refusals, failures and the check key are as those of `judge`.

    Example:
        >>> judge = PairwiseJudge(model="qwen3-32b", url="http://127.0.0.1:8000/v1")
        >>> judge.opinion([
        ...     {"better": "first", "first_comment": "Good."},
        ...     {"better": "first", "second_comment": "Bad."}]).reason
        "the judge's opinion changes with the order"
    """

    name = "pairwise-judge"
    asks = 2
    control = Candidate(
        "text", "2 + 2 = 4", task={"prompt": "What is 2 + 2?", "reference": "It is 4."}
    )

    @checked(**LEAST)
    def __init__(
        self,
        *,
        instructions: str = _INSTRUCTIONS,
        baseline: str = "",
        least: float | None = 0.5,
        **settings: Unpack[JudgeSettings],
    ) -> None:
        """Describe the judge; nothing is asked yet.

        Args:
            instructions: What to judge.
            baseline: What an output is compared with where its task has no `reference`.
            least: An output below it is rejected: worse ones by default, those that are not
                better if it is 1, none if it is None.
            settings: What every judge takes: `chatjudge.JudgeSettings`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        if least is not None and not 0.0 <= least <= 1.0:
            raise ConfigError(f"least={least!r} is not from 0 (worse) to 1 (better)")
        is_own = instructions != _INSTRUCTIONS
        super().__init__(
            Form(instructions, _WHAT, _TAIL, _FIELDS),
            {"instructions": instructions, "baseline": baseline, "least": least},
            () if is_own else built_in(0.0, 1.0, compared=True), **settings,
        )  # fmt: skip
        if not baseline and not all(each.reference for each in self.watch.canaries):
            raise ConfigError("canaries: give each a reference, or the judge a baseline")

    def questions(self, task: JudgedTask, output: str) -> Sequence[Texts]:
        """Two: the output before the other answer, and behind it.

        Raises:
            TaskError: If there is no other answer.
        """
        other = task.reference or self.settings["baseline"]
        if not other:
            raise TaskError("the task has no reference, and the judge no baseline")
        return [
            {"prompt": task.asked, "first": output, "second": other},
            {"prompt": task.asked, "first": other, "second": output},
        ]

    def opinion(self, answers: Sequence[Mapping[str, Any]]) -> Opinion:
        """Whether the output is better, if both orders say the same."""
        before, behind = (each["better"] for each in answers)
        if _SCORES[before] != 1.0 - _SCORES[behind]:
            return Opinion(
                None, reason="the judge's opinion changes with the order",
                evidence={"orders": [before, behind]},
            )  # fmt: skip
        return Opinion(_SCORES[before], answers[0]["first_comment"])
