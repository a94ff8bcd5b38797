"""Single samples are scored together, nobody waits for a hang, and a bad one costs only itself."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.learners.gathering import Gatherer


class Scorer:
    """Scores texts as their lengths, when it is let; a text with ! can't be scored."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gates: dict[str, asyncio.Event] = {}

    async def __call__(self, samples: Sequence[Any], waited: float) -> list[vl.Reward]:
        assert waited >= 0.0
        self.batches.append(list(samples))
        for name in [one for one in samples if one in self.gates]:
            await self.gates[name].wait()
        await asyncio.sleep(0)
        if any("!" in one for one in samples):
            raise vl.ConfigError("this can't be scored")
        if "ledger" in samples:
            raise vl.LedgerError("it is gone")
        return [vl.Reward(float(len(one))) for one in samples]


def gatherer(calls: int = 4) -> tuple[Gatherer, Scorer]:
    scorer = Scorer()
    return Gatherer(scorer, calls=calls), scorer


async def ask(made: Gatherer, *texts: str) -> list[Any]:
    """What each caller is told: a number, or the error."""
    asked = (made.ask(text) for text in texts)  # type: ignore[arg-type]
    told = await asyncio.gather(*asked, return_exceptions=True)
    return [one.value if isinstance(one, vl.Reward) else type(one) for one in told]


async def until(is_so: Any) -> None:
    while not is_so():  # noqa: ASYNC110 - looks until it is so
        await asyncio.sleep(0)


async def hang(made: Gatherer, scorer: Scorer) -> asyncio.Task[list[Any]]:
    """A call that is at work until its gate is opened."""
    scorer.gates["hang"] = asyncio.Event()
    hangs = asyncio.create_task(ask(made, "hang"))
    await until(lambda: scorer.batches)
    return hangs


def test_what_is_asked_at_one_moment_is_one_batch() -> None:
    made, scorer = gatherer()

    assert [1.0, 2.0, 3.0] == asyncio.run(ask(made, "a", "bb", "ccc"))
    assert [["a", "bb", "ccc"]] == scorer.batches


def test_what_comes_meanwhile_waits_for_the_end_of_the_call() -> None:
    made, scorer = gatherer()

    async def run() -> None:
        scorer.gates["a"] = asyncio.Event()
        first = asyncio.create_task(ask(made, "a"))
        await until(lambda: scorer.batches)
        made._took = 60.0  # So long that no timer ends the wait.
        others = [asyncio.create_task(ask(made, text)) for text in ("bb", "ccc")]
        await until(lambda: len(made._asked) == 2)
        scorer.gates["a"].set()
        await asyncio.gather(first, *others)

    asyncio.run(run())
    assert [["a"], ["bb", "ccc"]] == scorer.batches


def test_calls_that_are_as_fast_as_ever_are_one_at_a_time() -> None:
    """Another one had begun while the first was late; its end takes along who waits now."""
    made, scorer = gatherer()

    async def run() -> None:
        for name in ("a", "bb"):
            scorer.gates[name] = asyncio.Event()
        first = asyncio.create_task(ask(made, "a"))
        await until(lambda: ["a"] in scorer.batches)
        second = asyncio.create_task(ask(made, "bb"))
        await until(lambda: ["bb"] in scorer.batches)
        made._took = 60.0
        third = asyncio.create_task(ask(made, "ccc"))
        await until(lambda: made._asked)
        scorer.gates["a"].set()
        await first
        assert ["ccc"] not in scorer.batches
        scorer.gates["bb"].set()
        await asyncio.gather(second, third)

    asyncio.run(run())
    assert [["a"], ["bb"], ["ccc"]] == scorer.batches


def test_nobody_waits_behind_a_call_that_hangs() -> None:
    made, scorer = gatherer(calls=2)

    async def run() -> list[Any]:
        hangs = await hang(made, scorer)
        told = await ask(made, "a", "bb")
        scorer.gates["hang"].set()
        return [*told, *await hangs]

    assert [1.0, 2.0, 4.0] == asyncio.run(run())


def test_no_more_calls_are_at_work_than_there_may_be() -> None:
    made, scorer = gatherer(calls=1)

    async def run() -> list[Any]:
        hangs = await hang(made, scorer)
        waits = asyncio.create_task(ask(made, "a"))
        await asyncio.sleep(0.01)
        assert 1 == len(scorer.batches)
        scorer.gates["hang"].set()
        return [*await hangs, *await waits]

    assert [4.0, 1.0] == asyncio.run(run())


def test_a_large_crowd_is_divided() -> None:
    made, scorer = gatherer()
    told = asyncio.run(ask(made, *["a"] * 5000))

    assert [1.0] * 5000 == told
    assert [4096, 904] == [len(batch) for batch in scorer.batches]


def test_a_caller_who_goes_away_costs_the_others_nothing() -> None:
    made, _ = gatherer()

    async def run() -> list[Any]:
        gone = asyncio.create_task(made.ask("gone"))  # type: ignore[arg-type]
        stays = asyncio.create_task(ask(made, "a"))
        await asyncio.sleep(0)
        gone.cancel()
        return await stays

    assert [1.0] == asyncio.run(run())


def test_a_ledger_that_fails_is_told_to_everybody() -> None:
    made, _ = gatherer()

    assert [vl.LedgerError] * 2 == asyncio.run(ask(made, "ledger", "a"))


@given(st.lists(st.sampled_from(["a", "bb", "!", "c!"]), max_size=40))
def test_what_can_not_be_scored_costs_only_itself(texts: list[str]) -> None:
    made, _ = gatherer()
    right = [vl.ConfigError if "!" in text else float(len(text)) for text in texts]

    assert right == asyncio.run(ask(made, *texts))
    assert not made._asked


@pytest.mark.parametrize(
    ("took", "window"), [(0.0, 0.002), (0.01, 0.02), (160.0, 1.0), (8.0, 0.5)]
)
def test_the_wait_fits_the_time_that_calls_take(took: float, window: float) -> None:
    made, _ = gatherer(calls=16)

    async def wait() -> float:
        call = asyncio.create_task(asyncio.sleep(0))
        made._begun[call] = asyncio.get_running_loop().time() + 1e9
        made._took = took
        return made._window()

    assert window == pytest.approx(asyncio.run(wait()), rel=0.01)
