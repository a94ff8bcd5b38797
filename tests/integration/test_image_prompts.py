"""Image prompts: what is seen tells tasks apart, in groups, exports, curricula and checks."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

import verifier_ladder as vl
from verifier_ladder.curriculum import curriculum
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.learners.trl import RewardFunction, reward_function
from verifier_ladder.runs import read_run

COLOURS = ("red", "blue")
ANSWERS = ("red", "green", "blue", "none")


def seen(colour: str) -> Any:
    """A new object each time, as data sets decode their rows anew."""
    return Image.new("RGB", (6, 6), colour)


def inline(colour: str) -> tuple[Any, dict[str, Any]]:
    """As `GRPOTrainer` hands it over: filled into the messages."""
    text = {"type": "text", "text": "Which colour?"}
    blocks = [{"type": "image", "image": seen(colour)}, text]
    return [{"role": "user", "content": blocks}], {"image": seen(colour)}


def beside(colour: str) -> tuple[Any, dict[str, Any]]:
    """As other trainers do: in a column."""
    return "Which colour?", {"images": [seen(colour)]}


Form = Callable[[str], tuple[Any, dict[str, Any]]]
forms = pytest.mark.parametrize("form", [inline, beside])


def matches(completions: list[Any], colour: list[str]) -> list[float]:
    return [float(c[0]["content"] == right) for c, right in zip(completions, colour, strict=True)]


def asked(function: RewardFunction, form: Form, **columns: Any) -> Any:
    """Four answers to one question about each of two images."""
    rows = [form(colour) for colour in COLOURS for _ in ANSWERS]
    more: dict[str, Any] = {name: [row[name] for _, row in rows] for name in rows[0][1]} | columns
    return function(
        prompts=[prompt for prompt, _ in rows],
        completions=[[{"role": "assistant", "content": a}] for _ in COLOURS for a in ANSWERS],
        completion_ids=[[1]] * len(rows), trainer_state=SimpleNamespace(global_step=0),
        log_metric=lambda *_: None,
        **more,
    )  # fmt: skip


@forms
def test_two_images_under_one_question_are_two_tasks(form: Form) -> None:
    ledger = vl.open_ledger(None)
    function = reward_function(
        vl.wrap(matches, columns=["colour"], isolation="inline"), ledger=ledger
    )
    rewards = asked(function, form, colour=[c for c in COLOURS for _ in ANSWERS])
    record = read_run(ledger)

    assert [1.0, 0, 0, 0, 0, 0, 1.0, 0] == rewards
    assert 2 == len({sample.group for sample in record.samples})
    for sample in record.samples:
        assert "0x" not in str(record.transcripts.prompt(sample.group))
    pairs = training_set(ledger, "preferences", selection=Selection(sure=0.0)).splits["train"]
    assert {"red", "blue"} == {row["chosen"][-1]["content"] if isinstance(row["chosen"], list)
                               else row["chosen"] for row in pairs}  # fmt: skip
    assert all(row["chosen_source"]["task"] == row["rejected_source"]["task"] for row in pairs)
    learnt = curriculum(ledger)
    assert [0.25, 0.25] == [task.passes.rate for task in learnt.tasks]
    names = [{"prompt": prompt, **row} for prompt, row in map(form, COLOURS)]
    usual = next(learnt.weights([{"prompt": "never seen"}]))
    assert usual not in set(learnt.weights(names))
    function.close()


@forms
def test_the_same_image_twice_is_one_task(form: Form) -> None:
    ledger = vl.open_ledger(None)
    function = reward_function(
        vl.wrap(matches, columns=["colour"], isolation="inline"), ledger=ledger
    )
    for _ in range(2):
        asked(function, form, colour=[c for c in COLOURS for _ in ANSWERS])

    assert 2 == len({sample.group for sample in read_run(ledger).samples})
    function.close()


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_a_function_that_reads_an_image_gets_it_and_is_asked_again_for_another(
    isolation: str,
) -> None:
    def of_pixel(image: list[Any]) -> list[float]:
        return [float(one.getpixel((0, 0))[2]) for one in image]

    ledger = vl.open_ledger(None)
    check = vl.wrap(of_pixel, version="1", columns=["image"], isolation=isolation)
    function = reward_function(check, ledger=ledger, deadline=300)
    for _ in range(2):
        rewards = function(
            prompts=["What?"] * 4, completions=["x"] * 4, image=[seen(c) for c in COLOURS * 2],
        )  # fmt: skip
        assert [0.0, 255.0] * 2 == rewards
    verdicts = sum(len(ledger.read(e).verdicts) for e in ledger.entries(kind="score"))

    assert 2 == verdicts
    function.close()


@pytest.mark.parametrize("where", ["prompts", "column", "completions"])
def test_what_has_no_content_is_one_clear_error(where: str) -> None:
    opaque = [{"role": "assistant", "content": [object()]}]
    told: dict[str, Any] = {"prompts": ["What?"], "completions": ["x"], "answer": ["4"]}
    told["answer" if where == "column" else where] = [object()] if where == "column" else [opaque]

    def any_answer(completions: list[Any], answer: list[Any]) -> list[float]:
        return [1.0 for _ in zip(completions, answer, strict=True)]

    function = reward_function(vl.wrap(any_answer, columns=["answer"], isolation="inline"))
    with pytest.raises(vl.ConfigError, match="object"):
        function(**told)
    function.close()
