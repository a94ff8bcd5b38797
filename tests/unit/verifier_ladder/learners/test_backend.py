"""Samples that are asked for one by one are scored together, and apart from other processes'."""

import asyncio
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.learners.backend import Backend
from verifier_ladder.ledger.records import Block


def length(completions: list[str]) -> list[float]:
    return [float(len(c)) for c in completions]


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Backend]:
    made = Backend.of(
        vl.wrap(length, isolation="inline"), ledger=tmp_path / "ledger.db", run="mine"
    )
    yield made
    made.close()


def blocks(backend: Backend) -> list[Block]:
    ledger = backend.campaign.ledger
    return [ledger.read(entry) for entry in ledger.entries(kind="score")]


async def asked(backend: Backend, *texts: str) -> list[float | None]:
    samples = [backend.sample(text, {}, group=text[:1]) for text in texts]
    rewards = await asyncio.gather(*(backend.areward(sample) for sample in samples))
    return [reward.value for reward in rewards]


def test_samples_asked_for_at_one_moment_are_one_call(backend: Backend) -> None:
    assert [1.0, 2.0, 3.0] == asyncio.run(asked(backend, "a", "bb", "bbb"))

    (block,) = blocks(backend)
    assert block.samples is not None
    assert ["a", "b", "b"] == list(block.samples.groups or ())


def test_groups_of_another_length_are_refused(backend: Backend) -> None:
    with pytest.raises(vl.ConfigError, match="groups has 1 values for 2"):
        backend.samples(["a", "bb"], {}, groups=["g"])


def test_another_event_loop_is_another_call(backend: Backend) -> None:
    for text in ("a", "bb"):
        assert [float(len(text))] == asyncio.run(asked(backend, text))

    assert 2 == len(blocks(backend))


def test_a_caller_that_goes_away_costs_the_others_nothing(backend: Backend) -> None:
    async def half() -> float | None:
        gone = asyncio.create_task(backend.areward(backend.sample("a", {})))
        stays = asyncio.create_task(backend.areward(backend.sample("bb", {})))
        await asyncio.sleep(0)  # Both have asked.
        gone.cancel()
        return (await stays).value

    assert 2.0 == asyncio.run(half())


def test_threads_that_ask_at_once_share_calls_and_get_their_own(backend: Backend) -> None:
    texts = ["a" * (i + 1) for i in range(64)]
    with ThreadPoolExecutor(32) as pool:
        rewards = list(pool.map(lambda text: backend.reward(backend.sample(text, {})), texts))

    assert [float(len(text)) for text in texts] == [reward.value for reward in rewards]
    assert 64 == sum(len(block.rewards) for block in blocks(backend))


def test_a_failure_reaches_the_thread_that_asked(backend: Backend) -> None:
    with pytest.raises(vl.ConfigError, match="molecule"):
        backend.reward(vl.Sample(vl.Candidate("molecule", "CCO"), position=7))


def test_the_deadline_counts_from_the_question(tmp_path: Path) -> None:
    """A sample that has waited for another's call must not wait as long again."""
    check = vl.wrap(length, timeout=5000.0)
    made = Backend.of(check, ledger=tmp_path / "ledger.db", deadline=3000)

    (reward,) = made.attachment.score([made.sample("a", {})], waited=3000.0)

    assert reward.value is None
    made.close()


def test_what_can_not_be_scored_costs_nobody_else_a_reward(backend: Backend) -> None:
    async def together() -> list[object]:
        strange = vl.Sample(vl.Candidate("molecule", "CCO"), position=7)
        asking = (backend.areward(strange), backend.areward(backend.sample("a", {})))
        return list(await asyncio.gather(*asking, return_exceptions=True))

    assert [vl.ConfigError, vl.Reward] == [type(answer) for answer in asyncio.run(together())]


def test_two_processes_of_one_run_have_places_of_their_own(tmp_path: Path) -> None:
    """A learner that tells no step may have any number of them."""
    made = []
    for text in ("a", "bb"):
        check = vl.wrap(length, isolation="inline")
        one = Backend.of(check, ledger=tmp_path / "ledger.db", run="mine")
        made.append(one)
        (reward,) = one.rewards([one.sample(text, {})])
        assert float(len(text)) == reward.value
    for one in made:
        one.close()


def test_copies_that_arrive_in_one_process_are_one(backend: Backend) -> None:
    """Some learners send a copy with every call."""
    first, second = (pickle.loads(pickle.dumps(backend)) for _ in range(2))  # noqa: S301

    assert first.attachment is second.attachment
    assert first.attachment is not backend.attachment


def score_and_leave(data: bytes) -> None:
    """What a child of a learner's process pool does."""
    backend: Backend = pickle.loads(data)  # noqa: S301  # Our own.
    (reward,) = backend.rewards([backend.sample("abc", {})])
    raise SystemExit(int(reward.value or 0))


def test_a_child_process_that_has_scored_ends_by_itself(tmp_path: Path) -> None:
    """Children of `multiprocessing` wait for threads without calling what `atexit` holds."""
    made = Backend.of(vl.wrap(length, timeout=30.0), ledger=tmp_path / "ledger.db", deadline=300)
    child = get_context("spawn").Process(target=score_and_leave, args=(pickle.dumps(made),))
    child.start()
    child.join(300)
    is_alive = child.is_alive()
    child.kill()

    assert not is_alive
    assert 3 == child.exitcode
