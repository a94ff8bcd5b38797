"""Samples of one prompt that learners bring one by one are compared, or no advantage is told."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.learners import areal, openrlhf, slime, verifiers, verl
from verifier_ladder.reward import Advantage

Answer = Callable[[str], Any]


def length(completions: list[str]) -> list[float]:
    return [float(len(text)) for text in completions]


def check(**more: Any) -> vl.Verifier:
    return vl.wrap(length, version="1", isolation="inline", **more)


def of_slime(args: Any = None, **options: Any) -> Answer:
    function = slime.custom_rm(check(), on_abstain=0.0, **options)

    def answer(text: str) -> Any:
        sample = SimpleNamespace(response=text, prompt="p", label="4", metadata={})
        return asyncio.run(function(args, sample))

    return answer


def of_areal(**options: Any) -> Answer:
    function = areal.reward_fn(check(), **options)
    return lambda text: function("p", text, [1], [2])


def of_verl(*, asynchronous: bool = True, **options: Any) -> Answer:
    function = verl.compute_score(check(), asynchronous=asynchronous, **options)

    def answer(text: str) -> Any:
        told = function("sums", text, "4", {"index": 3})
        return asyncio.run(told) if asynchronous else told

    return answer


def of_rubric(**options: Any) -> Answer:
    function = verifiers.rubric_function(check(), on_abstain=0.0, **options)
    said = [{"role": "user", "content": "p"}]

    def answer(text: str) -> Any:
        return asyncio.run(function(said, [{"role": "assistant", "content": text}]))

    return answer


def of_openrlhf(**options: Any) -> Answer:
    pytest.importorskip("torch")
    function = openrlhf.reward_func(check(), on_abstain=0.0, **options)
    return lambda text: function([f"p{text}"], ["p"], [None])


ALL = [of_slime, of_areal, of_verl, of_rubric, of_openrlhf]


@pytest.fixture
def campaign() -> Any:
    with vl.Campaign.open("c", ladder=vl.Ladder("length", [check()]), run="r") as made:
        yield made


def rows(campaign: vl.Campaign, run: str = "r") -> list[list[Advantage]]:
    steps = campaign.ledger.next_step("c", run)
    return [campaign.advantages(run, step, since=0) for step in range(steps)]


@pytest.mark.parametrize("make", ALL)
def test_samples_of_one_group_are_compared_however_they_come(
    make: Callable[..., Answer], campaign: vl.Campaign
) -> None:
    answer = make(campaign=campaign, group_size=2)
    for text in ("a", "abc", "ab", "abcd"):
        answer(text)

    told = [[row.advantage for row in step] for step in rows(campaign)]
    assert [[-1.0, 1.0], [-1.0, 1.0]] == told


@pytest.mark.parametrize("make", [*ALL, lambda **more: of_verl(asynchronous=False, **more)])
def test_a_group_of_unknown_size_has_no_advantages(
    make: Callable[..., Answer], campaign: vl.Campaign
) -> None:
    answer = make(campaign=campaign)
    for text in ("a", "abc"):
        answer(text)

    told = [(row.advantage, row.change) for step in rows(campaign) for row in step]
    assert [(None, None)] * 2 == told


@pytest.mark.parametrize("make", ALL)
def test_a_group_that_is_not_complete_has_no_advantages(
    make: Callable[..., Answer], campaign: vl.Campaign
) -> None:
    answer = make(campaign=campaign, group_size=3)
    for text in ("a", "abc"):
        answer(text)

    told = [(row.advantage, row.change) for step in rows(campaign) for row in step]
    assert [(None, None)] * 2 == told


def test_slime_tells_the_size_of_its_groups(campaign: vl.Campaign) -> None:
    args = SimpleNamespace(n_samples_per_prompt=2, n_samples_per_eval_prompt=3)
    trains = of_slime(args, campaign=campaign)
    evaluates = of_slime(args, campaign=campaign, evaluation=True)
    for text in ("a", "abc"):
        trains(text)
    for text in ("a", "ab", "abc"):
        evaluates(text)

    assert [[-1.0, 1.0]] == [[row.advantage for row in step] for step in rows(campaign)]
    (step,) = rows(campaign, campaign.run.evaluations.name)
    assert 3 == len(step)
    assert all(row.advantage is not None for row in step)


def test_groups_that_are_gathered_in_one_call_are_kept_apart(campaign: vl.Campaign) -> None:
    function = slime.custom_rm(check(), on_abstain=0.0, campaign=campaign, group_size=2)
    samples = [
        SimpleNamespace(response=text, prompt=prompt, label="4", metadata={})
        for text, prompt in [("a", "p"), ("b", "q"), ("abc", "p"), ("abcd", "p"), ("bcd", "q")]
    ]

    async def ask() -> list[float]:
        return list(await asyncio.gather(*(function(None, sample) for sample in samples)))

    assert [1.0, 1.0, 3.0, 4.0, 3.0] == asyncio.run(ask())
    first, second = rows(campaign)
    assert [-1.0, -1.0, 1.0, 1.0] == sorted(row.advantage or 0.0 for row in first)
    assert [None] == [row.advantage for row in second]


def of_areal_row(**options: Any) -> Callable[[str, str], Any]:
    function = areal.reward_fn(check_of("answer"), **options)
    return lambda text, truth: function("p", text, [1], [2], answer=truth)


def of_slime_row(**options: Any) -> Callable[[str, str], Any]:
    function = slime.custom_rm(check_of("label"), on_abstain=0.0, **options)

    def answer(text: str, truth: str) -> Any:
        sample = SimpleNamespace(response=text, prompt="p", label=truth, metadata={"log": text})
        return asyncio.run(function(None, sample))

    return answer


def of_verl_row(**options: Any) -> Callable[[str, str], Any]:
    """Of two files that each count their rows from 0."""
    function = verl.compute_score(check_of("ground_truth"), asynchronous=False, **options)
    return lambda text, truth: function("sums", text, truth, {"index": 0, "num_turns": len(text)})


def of_rubric_row(**options: Any) -> Callable[[str, str], Any]:
    function = verifiers.rubric_function(check_of("answer"), on_abstain=0.0, **options)

    def answer(text: str, truth: str) -> Any:
        said = [{"role": "assistant", "content": text}]
        return asyncio.run(function([{"role": "user", "content": "p"}], said, answer=truth))

    return answer


def check_of(column: str) -> vl.Verifier:
    """The length of a completion, for rows with a column that is read."""

    def row_length(completions: list[str], **_: Any) -> list[float]:
        return [float(len(text)) for text in completions]

    return vl.wrap(row_length, version="1", columns=[column], isolation="inline")


@pytest.mark.parametrize("make", [of_areal_row, of_slime_row, of_verl_row, of_rubric_row])
def test_one_prompt_with_two_answers_is_two_groups(make: Callable[..., Any]) -> None:
    ladder = vl.Ladder("row_length", [check_of(COLUMNS[make])])
    with vl.Campaign.open("c", ladder=ladder, run="r") as campaign:
        answer = make(campaign=campaign, group_size=2)
        for text, truth in [("a", "4"), ("abc", "5"), ("ab", "4"), ("abcd", "5")]:
            answer(text, truth)

        (told,) = rows(campaign)
    assert [-1.0, -1.0, 1.0, 1.0] == [row.advantage for row in told]


COLUMNS = {
    of_areal_row: "answer", of_slime_row: "label", of_verl_row: "ground_truth",
    of_rubric_row: "answer",
}  # fmt: skip


def test_a_group_without_samples_is_refused() -> None:
    with pytest.raises(vl.ConfigError, match="1 sample or more"):
        of_slime(group_size=0)
