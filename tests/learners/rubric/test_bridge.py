"""A rubric of verifiers 0.3 as a verifier of ours says what the library itself would say."""
# mypy: ignore-errors
# verifiers is not installed everywhere that types are checked.

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest
import verifiers.legacy as vf

import verifier_ladder as vl
from verifier_ladder.tiers.generic.rubric import RubricVerifier

cloudpickle.register_pickle_by_value(sys.modules[__name__])
TASK = {"prompt": [{"role": "user", "content": "2 + 2 ="}], "answer": "4", "info": {"most": 3}}


def exact(completion: Any, answer: str) -> float:
    text = completion[-1]["content"]
    if text == "raise":
        raise ValueError(text)
    return float("nan") if text == "nan" else float(text == answer)


async def short(completion: Any, info: dict[str, int], **_: Any) -> float:
    await asyncio.sleep(0)
    return float(len(completion[-1]["content"]) <= info["most"])


def commonest(completions: list[Any]) -> list[float]:
    texts = [completion[-1]["content"] for completion in completions]
    if "spoil" in texts:
        raise ValueError("not this group")
    return [texts.count(text) / len(texts) for text in texts]


def alone() -> vf.Rubric:
    return vf.Rubric(funcs=[exact, short], weights=[1.0, 0.5])


def compared() -> vf.Rubric:
    return vf.RubricGroup(rubrics=[alone(), vf.Rubric(funcs=[commonest], weights=[2.0])])


def by_library(rubrics: list[vf.Rubric], *texts: str) -> list[float]:
    """The rewards that the library gives to a group."""
    states = []
    for text in texts:
        row = {**TASK, "example_id": 0, "task": "sums"}
        made = vf.State(input=row, trajectory=[], **row)
        made["completion"] = [{"role": "assistant", "content": text}]
        states.append(made)
    totals = [0.0] * len(texts)
    for rubric in rubrics:
        asyncio.run(rubric.score_group(states))
        totals = [had + one["reward"] for had, one in zip(totals, states, strict=True)]
    return totals


def scored(make: Callable[[], vf.Rubric], *texts: str, **options: Any) -> list[vl.Reward]:
    judged = RubricVerifier(make, name="sums", version="1", **options)
    with vl.Campaign.open("c", ladder=vl.Ladder("sums", [judged]), workers=1) as campaign:
        given = [vl.Candidate("text", text, TASK) for text in texts]
        return campaign.score(given, groups=["p"] * len(texts))


def test_functions_of_one_completion_give_what_the_library_gives() -> None:
    rewards = scored(alone, "4", "5", "4444")

    assert [r.value for r in rewards] == by_library([alone()], "4", "5", "4444") == [1.5, 0.5, 0.0]
    assert rewards[1].scores == {"exact": 0.0, "short": 1.0}


def test_what_a_function_raises_is_unknown_where_the_library_says_0() -> None:
    assert by_library([alone()], "raise") == [0.0]
    rewards = scored(alone, "raise", "nan", "4")
    assert [r.value for r in rewards] == [None, None, 1.5]


def test_functions_of_groups_compare_the_members_of_a_group() -> None:
    texts = ["4", "5", "4", "4444"]
    rewards = scored(compared, *texts, scope="group")

    assert [r.value for r in rewards] == pytest.approx(by_library(compared().rubrics, *texts))
    assert rewards[0].scores == {"exact": 1.0, "short": 1.0, "commonest": 0.5}


def test_a_function_that_fails_for_a_group_leaves_it_unknown() -> None:
    one = scored(compared, "4", "raise", "4", scope="group")
    assert [r.value for r in one] == [pytest.approx(1.5 + 4 / 3), None, pytest.approx(1.5 + 4 / 3)]
    assert [r.value for r in scored(compared, "4", "spoil", scope="group")] == [None, None]


def test_a_rubric_of_groups_has_to_be_declared_as_one() -> None:
    with pytest.raises(vl.ConfigError, match='declare scope="group"'):
        scored(compared, "4", "5")
