"""Verifiers made from functions."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.function import RewardFunctionVerifier
from verifier_ladder.registry import REGISTRY


def text(content: str, **task: Any) -> vl.Candidate:
    return vl.Candidate("text", content, task or None)


def outcomes(verifier: vl.Verifier, *candidates: vl.Candidate) -> list[tuple[str, float | None]]:
    return [(v.outcome.value, v.score) for v in verifier.judge(candidates)]


# ---- The decorator


def test_a_decorated_function_is_registered_and_still_callable() -> None:
    @vl.verifier(version="7")
    def polite(candidate: vl.Candidate) -> bool:
        return "please" in str(candidate.content)

    assert polite is REGISTRY.get("polite", "7")
    assert polite(text("please"))


def test_a_function_that_raises_costs_only_its_own_candidate() -> None:
    @vl.verifier
    def number(candidate: vl.Candidate) -> float:
        return float(str(candidate.content))

    verdicts = number.judge([text("1"), text("x"), text("3")])

    assert [1.0, None, 3.0] == [v.score for v in verdicts]
    assert "verifier" == verdicts[1].failed_at


def test_a_batch_function_is_called_once() -> None:
    calls = []

    @vl.verifier(batch=True)
    def lengths(candidates: Sequence[vl.Candidate]) -> list[float]:
        calls.append(len(candidates))
        return [float(len(c.content)) for c in candidates]

    assert [1.0, 2.0] == [v.score for v in lengths.judge([text("a"), text("bc")])]
    assert [2] == calls


def test_an_async_function_judges_its_batch_at_once_and_a_slow_answer_abstains() -> None:
    @vl.verifier(timeout=0.05)
    async def judge(candidate: vl.Candidate) -> float:
        if candidate.content == "slow":
            import asyncio

            await asyncio.Event().wait()
        return 1.0

    quick, slow = judge.judge([text("quick"), text("slow")])

    assert 1.0 == quick.score
    assert "tool" == slow.failed_at


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(vl.ConfigError, match="tiem_out"):
        vl.verifier(tiem_out=3)


# ---- Existing reward functions


def test_the_columns_and_completions_reach_the_function_by_name() -> None:
    def accuracy(completions: list[str], answer: list[str], **kwargs: Any) -> list[float]:
        assert not kwargs
        return [float(c == a) for c, a in zip(completions, answer, strict=True)]

    check = vl.wrap(accuracy, columns=["answer"])

    assert [("accept", 1.0), ("accept", 0.0)] == outcomes(
        check, text("4", answer="4"), text("5", answer="4")
    )


def test_prompts_are_given_to_a_function_that_has_a_parameter_for_them() -> None:
    def echo(prompts: list[str], completions: list[str]) -> list[bool]:
        return [p == c for p, c in zip(prompts, completions, strict=True)]

    check = vl.wrap(echo)

    assert "prompt" in check.signature.task_fields
    assert [("accept", 1.0), ("reject", 0.0)] == outcomes(
        check, text("hi", prompt="hi"), text("hi", prompt="ho")
    )


def test_token_ids_are_given_to_a_function_that_has_a_parameter_for_them() -> None:
    def shorter(completion_ids: list[list[int]], **_: Any) -> list[float]:
        return [-float(len(ids)) for ids in completion_ids]

    check = vl.wrap(shorter)

    assert [("accept", -3.0)] == outcomes(check, text("abc", completion_ids=[1, 2, 3]))


def test_chat_messages_reach_the_function_as_the_learner_gave_them() -> None:
    def roles(completions: list[list[dict[str, str]]], **_: Any) -> list[bool]:
        return [c[-1]["role"] == "assistant" for c in completions]

    messages = [{"role": "assistant", "content": "hi"}]
    check = vl.wrap(roles)

    assert [("accept", 1.0)] == outcomes(check, text("hi", completion_messages=messages))


def test_an_async_reward_function_is_awaited() -> None:
    async def judge(completions: list[str], **_: Any) -> list[float]:
        return [float(len(c)) for c in completions]

    assert [("accept", 1.0), ("accept", 2.0)] == outcomes(vl.wrap(judge), text("a"), text("bc"))


def test_an_object_with_an_async_call_is_awaited() -> None:
    class Judge:
        async def __call__(self, completions: list[str], **_: Any) -> list[float]:
            return [1.0 for _ in completions]

    check = vl.wrap(Judge())

    assert "Judge" == check.name
    assert [("accept", 1.0)] == outcomes(check, text("a"))


def test_a_partial_goes_by_the_name_of_its_function() -> None:
    def over(completions: list[str], least: int) -> list[bool]:
        return [len(c) > least for c in completions]

    check = vl.wrap(functools.partial(over, least=1))

    assert "over" == check.name
    assert [("accept", 1.0)] == outcomes(check, text("ab"))


def test_a_completion_on_which_it_raises_costs_no_other_a_verdict() -> None:
    def half(completions: list[str]) -> list[float]:
        return [float(c) / 2 for c in completions]

    first, second, third = vl.wrap(half).judge([text("2"), text("two"), text("6")])

    assert (1.0, 3.0) == (first.score, third.score)
    assert "verifier" == second.failed_at


def test_nan_and_none_are_abstentions_of_different_kinds() -> None:
    def odd(completions: list[str]) -> list[float | None]:
        return [math.nan if c == "nan" else None for c in completions]

    nan, none = vl.wrap(odd).judge([text("nan"), text("none")])

    assert ("abstain", "verifier") == (nan.outcome.value, nan.failed_at)
    assert ("abstain", None) == (none.outcome.value, none.failed_at)


@pytest.mark.parametrize("answer", [[1.0, 2.0], [], 1.0, None])
def test_an_answer_that_is_not_one_number_per_completion_abstains(answer: object) -> None:
    def wrong(**_: Any) -> object:
        return answer

    (verdict,) = vl.wrap(wrong).judge([text("a")])

    assert "verifier" == verdict.failed_at
    assert "one number per completion" in verdict.reason


def test_a_candidate_without_the_column_abstains_and_says_which() -> None:
    def accuracy(completions: list[str], answer: list[str]) -> list[float]:
        return [float(c == a) for c, a in zip(completions, answer, strict=True)]

    (verdict,) = vl.wrap(accuracy, columns=["answer"]).judge([text("4")])

    assert "'answer'" in verdict.reason


@given(st.lists(st.sampled_from(["1", "2", "x", "nan"]), max_size=12))
def test_one_by_one_and_batch_agree_about_every_completion(contents: list[str]) -> None:
    """Where a batch can answer at all, it says what single calls say."""

    def number(completions: list[str]) -> list[float | None]:
        return [None if c == "x" else float(c) for c in completions]

    candidates = [text(content) for content in contents]
    single = vl.wrap(number, name="number-single").judge(candidates)
    batch = vl.wrap(number, name="number-batch", batch=True).judge(candidates)

    assert single == batch


# ---- What can't be wrapped


def test_a_missing_column_is_named_with_what_to_write() -> None:
    def accuracy(completions: list[str], answer: list[str]) -> list[float]:
        raise NotImplementedError

    with pytest.raises(vl.ConfigError, match=r'columns=\["answer"\]'):
        vl.wrap(accuracy)


def test_a_column_that_the_function_does_not_take_is_named() -> None:
    def plain(completions: list[str]) -> list[float]:
        raise NotImplementedError

    with pytest.raises(vl.ConfigError, match="no parameter target"):
        vl.wrap(plain, columns=["target"])


def test_a_function_that_needs_the_trainer_can_not_be_wrapped() -> None:
    def shaped(completions: list[str], trainer_state: Any) -> list[float]:
        raise NotImplementedError

    with pytest.raises(vl.ConfigError, match="trainer_state"):
        vl.wrap(shaped)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(vl.ConfigError, match="name="):
        vl.wrap(lambda completions: [1.0 for _ in completions])


def test_one_column_may_be_given_as_text() -> None:
    def accuracy(completions: list[str], answer: list[str]) -> list[float]:
        raise NotImplementedError

    check: RewardFunctionVerifier = vl.wrap(accuracy, columns="answer")

    assert ("answer",) == check.columns


def test_what_is_not_a_function_is_refused() -> None:
    with pytest.raises(vl.ConfigError, match="not a function"):
        vl.wrap("accuracy")  # type: ignore[arg-type]
