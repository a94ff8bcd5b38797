"""The verifier `judge`: a language model says how good an output is.

It asks one question, or named criteria with weights. What it is sent, and which answers count, is
told in `judgeform`; refusals and second judges in `chatjudge`; the endpoint in `chatendpoint`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Unpack

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.simulation.canaries import built_in
from verifier_ladder.tiers.simulation.chatendpoint import NAME
from verifier_ladder.tiers.simulation.chatjudge import (
    LEAST,
    ChatJudge,
    JudgedTask,
    JudgeSettings,
    Opinion,
)
from verifier_ladder.tiers.simulation.judgeform import TEXT, Form, Texts, number
from verifier_ladder.verdict import LARGEST_WEIGHT, NO_EVIDENCE, mean_of

_INSTRUCTIONS = "Judge how well the output does what the prompt asks, and whether it is right."
_WHAT = "a prompt, perhaps a reference answer, and the output to be judged"
_TAIL = """{criteria}
Answer with JSON alone, as the schema says: first a comment of at most three sentences that tells \
the author what to do better, then {numbers} from {low:g} (worst) to {high:g} (best). Never tell \
a reference answer in the comment."""
_APART = 0.3
"""Share of the range by which two judges' scores may differ."""


class Judge(ChatJudge):
    """Asks a language model how good an output is, by one question or by named criteria.

    The score is in the range that is set; with criteria it is their mean by weight, and each is
    a named score. The model's comment is the feedback. Evidence tells who has answered
    (`fingerprint`). Who answers as somebody else later is not believed, or with
    `fingerprint="any"` is told as `fingerprint` beside `fingerprint_before`.

    **Two judges.** With `second`, another model is asked the same. The score is their mean; where
    they disagree, the verdict is an abstention that is kept.

    **Failures** are abstentions with `failed_at="tool"`. A refusal that repeats, while the judge
    answers about a harmless output, is an abstention of the judge's own, with `refusals` in its
    evidence: it is kept, and nobody is asked again.

    The check key holds models, instructions, criteria, range, sampling, and the template's digest;
    neither addresses nor the names of keys.

    Example:
        >>> rubric = Judge(
        ...     model="gpt-4o-2024-08-06", api_key="OPENAI_API_KEY",
        ...     url="https://api.openai.com/v1",
        ...     criteria={"correct": "Is each claim true?", "short": "Is nothing said twice?"},
        ...     weights={"correct": 3.0})
        >>> rubric.secrets
        ('OPENAI_API_KEY',)
    """

    name = "judge"
    control = Candidate("text", "2 + 2 = 4", task={"prompt": "What is 2 + 2?"})

    @checked(**LEAST, apart=0.0)
    def __init__(
        self,
        *,
        instructions: str = _INSTRUCTIONS,
        criteria: Mapping[str, str] | None = None,
        weights: Mapping[str, float] | None = None,
        low: float = 0.0,
        high: float = 10.0,
        least: float | None = None,
        apart: float | None = None,
        **settings: Unpack[JudgeSettings],
    ) -> None:
        """Describe the judge; nothing is asked yet.

        Args:
            instructions: What to judge.
            criteria: Questions by name, each of which gets a score.
            weights: How much criteria count in the mean; 1 where none is given.
            low: The worst score.
            high: The best score.
            least: An output below it is rejected; none is if left out.
            apart: How far the scores of two judges may differ; three tenths of the range if left
                out. They disagree, too, if one is below `least` and the other is not.
            settings: What every judge takes: `chatjudge.JudgeSettings`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        criteria, weights = dict(criteria or {}), dict(weights or {})
        _check(criteria, weights, low, high, least)
        own: dict[str, Any] = {
            "instructions": instructions, "criteria": criteria, "weights": weights,
            "low": float(low), "high": float(high), "least": least,
        }  # fmt: skip
        if settings.get("second") is not None:
            own["apart"] = _APART * (high - low) if apart is None else apart
        elif apart is not None:
            raise ConfigError("apart is about two judges; name the other one as second")
        self._weights = [float(weights.get(name, 1.0)) for name in criteria]
        is_own = instructions != _INSTRUCTIONS or bool(criteria)
        known = () if is_own else built_in(low, high, compared=False)
        super().__init__(_form(own), own, known, low=low, high=high, **settings)

    def questions(self, task: JudgedTask, output: str) -> Sequence[Texts]:
        """One: prompt, reference and output."""
        return [{"prompt": task.asked, "reference": task.reference, "output": output}]

    def opinion(self, answers: Sequence[Mapping[str, Any]]) -> Opinion:
        """The score that was given, or the mean of the criteria's."""
        scores = dict(answers[0])
        comment = scores.pop("comment")
        if not self._weights:
            return Opinion(scores["score"], comment, NO_EVIDENCE)
        return Opinion(mean_of(list(scores.values()), self._weights), comment, scores)


def _form(settings: Mapping[str, Any]) -> Form:
    criteria, low, high = (settings[name] for name in ("criteria", "low", "high"))
    listed = "".join(f"- {name}: {text}\n" for name, text in criteria.items())
    tail = _TAIL.format(
        low=low, high=high,
        criteria=f"The criteria:\n{listed}" if criteria else "",
        numbers="one number for each criterion" if criteria else "the score, a number",
    )  # fmt: skip
    numbers = dict.fromkeys(criteria or ["score"], number(low, high))
    return Form(settings["instructions"], _WHAT, tail, {"comment": TEXT, **numbers})


def _check(
    criteria: dict[str, str], weights: dict[str, float], low: float, high: float,
    least: float | None,
) -> None:  # fmt: skip
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ConfigError(f"low={low!r}, high={high!r}: give two numbers, the lower one first")
    if least is not None and not low <= least <= high:
        raise ConfigError(f"least={least!r} is not from {low:g} to {high:g}")
    if wrong := [n for n in criteria if not NAME.fullmatch(n) or n in {"comment", "score"}]:
        raise ConfigError(
            f"criteria={wrong}: name each with letters, digits and _, and not comment or score"
        )
    if unknown := sorted(weights.keys() - criteria.keys()):
        raise ConfigError(f"weights of {', '.join(unknown)}, which are no criteria")
    if not all(0 < weight <= LARGEST_WEIGHT for weight in weights.values()):
        raise ConfigError(f"weights={weights}: give numbers above 0, up to {LARGEST_WEIGHT:g}")
