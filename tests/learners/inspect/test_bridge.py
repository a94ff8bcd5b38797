"""A scorer of Inspect as a verifier of ours says what Inspect itself would say, or nothing."""
# mypy: ignore-errors
# inspect-ai is not installed everywhere that types are checked.

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest
from inspect_ai.model import ModelName, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    PARTIAL,
    Score,
    Scorer,
    Target,
    accuracy,
    choice,
    includes,
    match,
    model_graded_qa,
    pattern,
    scorer,
    value_to_float,
)
from inspect_ai.solver import TaskState

import verifier_ladder as vl
from verifier_ladder.tiers.generic.inspectscorer import InspectScorerVerifier

cloudpickle.register_pickle_by_value(sys.modules[__name__])
TASK = {"prompt": "2 + 2 =", "target": "4", "metadata": {"value": 0.25}}


@scorer(metrics=[accuracy()])
def said() -> Scorer:
    """Gives what the output says, which may be anything."""

    async def score(state: TaskState, target: Target) -> Score | None:
        text = state.output.completion
        values: dict[str, Any] = {
            "correct": CORRECT, "partial": PARTIAL, "incorrect": INCORRECT, "silent": NOANSWER,
            "half": 0.5, "true": True, "nan": float("nan"), "words": "rather good",
            "both": {"style": 1, "sum": 0.5}, "unsure": {"style": None, "sum": 0.5},
            "list": [1, 0, "P"], "digits": "0.75", "none": [],
            "sample": state.metadata["value"], "target": target.text == "4",
        }  # fmt: skip
        if text == "raise":
            raise ValueError(text)
        if text == "nothing":
            return None
        if text == "grader":
            return Score(value=0.0, reason="grader_failed", explanation="the grader is away")
        if text == "refusal":
            return Score(value=NOANSWER, reason="refusal", explanation="the model will not say")
        if text == "model":
            told = ModelOutput.from_content("mockllm", "4")
            told.usage = ModelUsage(input_tokens=1, output_tokens=1)  # Else it would load a file.
            model = get_model("mockllm/model", custom_outputs=[told], memoize=False)
            await model.generate("2 + 2 =")
        return Score(value=values.get(text, 1.0), explanation=f"it says {text}")

    return score


def verdicts(make: Callable[[], Scorer], *texts: str, **options: Any) -> list[vl.Verdict]:
    task = options.pop("task", TASK)
    made = InspectScorerVerifier(make, name="said", version="1", **options)
    made.setup()
    return list(made.judge([vl.Candidate("text", text, task) for text in texts]))


def by_inspect(make: Callable[[], Scorer], text: str, target: str, **more: Any) -> float:
    output = ModelOutput.from_content("none/none", text)
    state = TaskState(
        model=ModelName("none/none"), sample_id=0, epoch=1, input="?", messages=[output.message],
        target=Target(target), output=output, **more,
    )  # fmt: skip
    return value_to_float()(asyncio.run(make()(state, Target(target))).value)


@pytest.mark.parametrize(
    "make",
    [includes, match, lambda: match(numeric=True), lambda: pattern(r"(\d+)")],
    ids=["includes", "match", "numeric", "pattern"],
)
@pytest.mark.parametrize("text", ["4", "The answer is 4.", "5", "", "44"])
def test_scorers_of_the_library_say_what_they_say_to_it(
    make: Callable[[], Scorer], text: str
) -> None:
    (verdict,) = verdicts(make, text)

    assert verdict.score == by_inspect(make, text, "4")


def test_values_are_what_their_words_and_numbers_mean() -> None:
    texts = ("correct", "partial", "incorrect", "half", "true", "digits", "sample", "target")

    assert [v.score for v in verdicts(said, *texts)] == [1, 0.5, 0, 0.5, 1, 0.75, 0.25, 1]


def test_values_with_names_are_named_scores() -> None:
    both, several = verdicts(said, "both", "list")

    assert (both.score, dict(both.scores)) == (0.75, {"style": 1.0, "sum": 0.5})
    assert several.score == 0.5
    assert dict(several.scores) == {"score_0": 1.0, "score_1": 0.0, "score_2": 0.5}
    one, unsure = verdicts(said, "both", "unsure", main="sum")
    assert (one.score, unsure.score, dict(unsure.scores)) == (0.5, 0.5, {"sum": 0.5})


@pytest.mark.parametrize("text", ["silent", "nan", "words", "unsure", "none", "nothing", "raise",
                                  "grader", "refusal"])  # fmt: skip
def test_what_inspect_makes_0_of_is_unknown(text: str) -> None:
    (verdict,) = verdicts(said, text)

    assert (verdict.outcome, verdict.score) == ("abstain", None)
    assert verdict.failed_at == ("tool" if text == "grader" else "verifier")


def test_no_answer_is_worth_what_it_is_said_to_be() -> None:
    assert [v.score for v in verdicts(said, "silent", "refusal", no_answer=0.0)] == [0, 0]


def test_no_model_is_called_unless_that_is_declared() -> None:
    (refused,) = verdicts(said, "model")
    (allowed,) = verdicts(said, "model", network=True)

    assert (refused.outcome, refused.failed_at) == ("abstain", "tool")
    assert "network=True" in refused.reason
    assert allowed.score == 1.0
    graded = verdicts(lambda: model_graded_qa(model="mockllm/model"), "4")[0]
    assert (graded.outcome, graded.failed_at) == ("abstain", "tool")


def test_choices_of_a_sample_are_there() -> None:
    task = {**TASK, "target": "B", "choices": ["3", "4"]}

    verdict = verdicts(choice, "ANSWER: B", task=task)[0]
    assert verdict.outcome in {"accept", "abstain"}  # Only a solver marks what was chosen.


def test_a_ladder_keeps_what_it_says_and_tells_no_target() -> None:
    check = InspectScorerVerifier(includes, name="includes", version="1")
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [check]), workers=1) as campaign:
        task = {"prompt": "Who?", "target": "Ada Lovelace"}
        rewards = campaign.score([vl.Candidate("text", t, task) for t in ("Ada Lovelace", "Eve")])

    assert [reward.value for reward in rewards] == [1.0, 0.0]
