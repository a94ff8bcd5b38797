"""The forms of the decorator, and of functions that fail."""

import asyncio
import functools
from collections.abc import Sequence
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.function import FunctionVerifier


def text(content: str, **task: Any) -> vl.Candidate:
    return vl.Candidate("text", content, task or None)


def test_without_parentheses_the_function_gives_the_name() -> None:
    @vl.verifier
    def bare(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    assert isinstance(bare, FunctionVerifier)
    assert ("bare", vl.Tier.FAST, "text") == (bare.name, bare.tier, bare.kind)
    assert bare.version.startswith("source-")
    assert 3.0 == bare(text("abc"))


def test_with_parentheses_every_attribute_can_be_set() -> None:
    @vl.verifier(
        name="told", version="2", tier="world", kind="molecule", role="gate", timeout=5,
        task_fields=["answer"], settings={"limit": 3}, cost=vl.Cost(2.0),
    )  # fmt: skip
    def other(candidate: vl.Candidate) -> bool:
        return bool(candidate.content)

    assert ("told", "2", vl.Tier.WORLD, "molecule") == (
        other.name, other.version, other.tier, other.kind,
    )  # fmt: skip
    assert {"limit": 3} == other.settings
    assert 2.0 == other.expected_cost(text("x")).seconds


def test_an_async_batch_function_is_awaited_once() -> None:
    calls = []

    @vl.verifier(batch=True)
    async def lengths(candidates: Sequence[vl.Candidate]) -> list[float]:
        calls.append(len(candidates))
        return [float(len(c.content)) for c in candidates]

    assert [1.0, 2.0] == [v.score for v in lengths.judge([text("a"), text("bb")])]
    assert [2] == calls


def test_an_async_function_judges_inside_a_running_event_loop() -> None:
    @vl.verifier
    async def one(_: vl.Candidate) -> float:
        await asyncio.sleep(0)
        return 1.0

    async def notebook() -> list[vl.Verdict]:
        return one.judge([text("a")])

    assert 1.0 == asyncio.run(notebook())[0].score


def test_an_async_function_that_raises_costs_only_its_own_candidate() -> None:
    @vl.verifier
    async def number(candidate: vl.Candidate) -> float:
        return float(str(candidate.content))

    bad, good = number.judge([text("x"), text("2")])

    assert "verifier" == bad.failed_at
    assert 2.0 == good.score


def test_no_more_calls_run_at_once_than_allowed() -> None:
    running: list[int] = []
    most = []
    two = asyncio.Barrier(2)

    @vl.verifier(concurrency=2)
    async def crowd(_: vl.Candidate) -> float:
        running.append(1)
        most.append(len(running))
        await two.wait()
        running.pop()
        return 1.0

    crowd.judge([text(str(i)) for i in range(8)])

    assert 2 == max(most)


def test_a_candidate_error_in_a_function_is_a_reject() -> None:
    @vl.verifier
    def picky(_: vl.Candidate) -> float:
        raise vl.CandidateError("not a number")

    assert vl.Outcome.REJECT is picky.judge([text("x")])[0].outcome


@pytest.mark.parametrize("thing", ["polite", 3])
def test_what_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(vl.ConfigError, match="is not a function"):
        vl.verifier(thing)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(vl.ConfigError, match="no name"):
        vl.verifier(lambda _: 1.0)

    assert "named" == vl.verifier(name="named")(lambda _: 1.0).name


def test_a_partial_goes_by_the_name_of_its_function() -> None:
    def longer(candidate: vl.Candidate, least: int) -> bool:
        return len(candidate.content) > least

    made = vl.verifier(functools.partial(longer, least=2))

    assert "longer" == made.name
    assert ["reject", "accept"] == [v.outcome.value for v in made.judge([text("a"), text("abc")])]


@pytest.mark.parametrize("option", [{"role": "guard"}, {"isolation": "inlin"}, {"timeout": -1}])
def test_an_option_without_a_meaning_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(vl.ConfigError, match=next(iter(option))):
        vl.verifier(name="odd", **option)(len)


def test_the_source_of_a_function_is_known_behind_a_partial() -> None:
    def plain(_: vl.Candidate) -> float:
        return 1.0

    assert vl.verifier(plain).source_digest == vl.verifier(functools.partial(plain)).source_digest
    assert vl.verifier(plain).source_digest
