"""The function is called here as slime calls it, without slime, of which there is no release."""

import asyncio
import math
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.learners.slime import custom_rm


def judge(completions: list[str], label: list[str]) -> list[float]:
    text = completions[0]
    if text == "hang":
        threading.Event().wait()
    return [math.nan if text == "nan" else float(int(text) == int(label[0]))]


def rm(isolation: str = "inline", **options: Any) -> Any:
    check = vl.wrap(judge, columns=["label"], isolation=isolation, timeout=0.5)
    return custom_rm(check, **{"on_abstain": 0.5, **options})


def sample(response: str, **more: Any) -> SimpleNamespace:
    fields = {"prompt": "2 + 2 =", "label": "4", "metadata": {}, "remove_sample": False}
    return SimpleNamespace(response=response, **{**fields, **more})


async def each(function: Any, samples: list[SimpleNamespace]) -> list[float]:
    return list(await asyncio.gather(*(function(None, one) for one in samples)))


@pytest.mark.parametrize("is_group", [True, False])
def test_known_rewards_are_the_verifiers_and_unknown_samples_are_removed(is_group: bool) -> None:  # noqa: FBT001
    samples = [sample("4"), sample("five"), sample("5"), sample("nan")]
    function = rm()
    told = function(None, samples) if is_group else each(function, samples)

    assert [1.0, 0.5, 0.0, 0.5] == asyncio.run(told)
    assert [False, True, False, True] == [one.remove_sample for one in samples]


def test_the_deadline_answers_for_a_verifier_that_hangs() -> None:
    (hangs,) = samples = [sample("hang")]

    assert [0.5] == asyncio.run(rm(isolation="process", deadline=300)(None, samples))
    assert hangs.remove_sample


def test_metadata_are_columns() -> None:
    def metric(unit: list[str]) -> list[float]:
        return [float(u == "m") for u in unit]

    function = custom_rm(vl.wrap(metric, columns=["unit"], isolation="inline"), on_abstain=0.0)

    assert 1.0 == asyncio.run(function(None, sample("4", metadata={"unit": "m"})))


@pytest.mark.parametrize(("ends", "told"), [({}, 1.0), ({"ends": ["<stop>"]}, 0.5)])
def test_the_tokens_that_end_a_response_are_no_part_of_the_answer(ends: Any, told: float) -> None:
    """slime decodes them: "4<|im_end|>" is no number."""
    assert told == asyncio.run(rm(**ends)(None, sample("4<|im_end|>")))


def test_a_field_that_is_missing_is_named() -> None:
    with pytest.raises(vl.ConfigError, match="'label'"):
        asyncio.run(rm()(None, sample("4", label=None)))


def test_nobody_chooses_what_unknown_means_but_the_user() -> None:
    with pytest.raises(vl.ConfigError, match="on_abstain"):
        rm(on_abstain=None)
