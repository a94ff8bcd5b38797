"""The worker pool's promises, kept with real processes."""

import asyncio
import importlib.util
import os
import random
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from time import process_time, sleep
from typing import Any

import psutil
import pytest

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.command import CommandVerifier
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines import ownclock
from verifier_ladder.scheduler.engines.pool import PoolClosed, WorkerPool
from verifier_ladder.verifiers import Verifier

Until = Callable[[Callable[[], object]], None]


def made(function: Callable[..., Any], **options: Any) -> FunctionVerifier:
    return FunctionVerifier(function, name=function.__name__, version="1", **options)


def texts(*contents: str) -> list[Candidate]:
    return [Candidate("text", content) for content in contents]


def length(candidate: Candidate) -> float:
    return float(len(candidate.content))


def wait_for(candidate: Candidate) -> float:
    """Says that it runs, then waits for a file to appear."""
    path = Path(str(candidate.content))
    path.with_suffix(".running").touch()
    while not path.exists():
        sleep(0.005)
    return 1.0


def spin(candidate: Candidate) -> float:
    del candidate
    while True:
        pass


WAITS = made(wait_for, timeout=60.0)
LENGTH = made(length)


class Gate:
    """Holds a lane until it is opened."""

    def __init__(self, folder: Path, pool: WorkerPool, until: Until, lane: int | None = 0) -> None:
        self._path = folder / f"gate-{lane}"
        self.future = pool.verify(WAITS, texts(str(self._path)), lane=lane)
        until(self._path.with_suffix(".running").exists)

    def open(self) -> None:
        self._path.touch()


def test_answers_come_in_the_order_asked(pool: WorkerPool) -> None:
    answer = pool.verify(LENGTH, texts("a", "", "ccc")).result()

    assert [1.0, 0.0, 3.0] == [verdict.score for verdict in answer.verdicts]


def test_an_empty_batch_has_an_empty_answer(pool: WorkerPool) -> None:
    assert [] == pool.verify(LENGTH, []).result().verdicts


def test_every_verdict_has_its_cost(pool: WorkerPool) -> None:
    answer = pool.verify(LENGTH, texts("a", "bb")).result()

    costs = [verdict.cost.seconds for verdict in answer.verdicts if verdict.cost]
    assert 2 == len(costs)
    assert answer.seconds == pytest.approx(sum(costs))


def burn(candidate: Candidate) -> bool:
    end = process_time() + float(candidate.content)
    while process_time() < end:
        pass
    return True


def test_dear_candidates_are_measured_one_by_one(pool: WorkerPool) -> None:
    verifier = made(burn, cost=Cost(seconds=1.0))

    dear, cheap = pool.verify(verifier, texts("0.05", "0")).result().verdicts

    assert dear.cost is not None
    assert cheap.cost is not None
    assert cheap.cost.seconds < 0.025
    assert dear.cost.seconds >= 0.05


def describe(candidate: Candidate) -> bool:
    return candidate == EVERYTHING


EVERYTHING = Candidate(
    "code", b"\0\xff", {"tests": [1, {"a": None}]}, (Turn("go", "ok", {"n": 1}),)
)


def test_a_candidate_arrives_whole(pool: WorkerPool) -> None:
    other = Candidate("text", "\ud800")

    verdicts = (
        pool.verify(made(describe, task_fields=["tests"]), [EVERYTHING, other]).result().verdicts
    )

    assert ["accept", "reject"] == [verdict.outcome.value for verdict in verdicts]


def doubled(candidates: Sequence[Candidate]) -> list[float]:
    return [2.0 * len(candidate.content) for candidate in candidates]


async def later(candidate: Candidate) -> float:
    await asyncio.sleep(0.001)
    return float(len(candidate.content))


@pytest.mark.parametrize(
    ("verifier", "score"), [(made(doubled, batch=True), 6.0), (made(later), 3.0)]
)
def test_batch_and_async_functions_run_too(
    pool: WorkerPool, verifier: Verifier, score: float
) -> None:
    assert score == pool.verify(verifier, texts("abc")).result().verdicts[0].score


def draw(candidate: Candidate) -> float:
    del candidate
    return random.random()  # noqa: S311


@pytest.mark.parametrize(
    ("tuned", "found"),
    [
        (None, "glibc.malloc.tcache_count=127"),
        ("glibc.malloc.arena_max=2", "glibc.malloc.arena_max=2"),
    ],
)
def test_workers_keep_more_small_blocks_at_hand_unless_the_allocator_is_tuned(
    tuned: str | None, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    if tuned is not None:
        monkeypatch.setenv("GLIBC_TUNABLES", tuned)

    def environment(candidate: Candidate) -> bool:
        return os.environ["GLIBC_TUNABLES"] == candidate.content

    with WorkerPool(1) as pool:
        answer = pool.verify(made(environment), texts(found)).result()
    assert answer.verdicts[0].score == 1.0


def test_seeds_fix_what_a_stochastic_verifier_draws(pool: WorkerPool) -> None:
    verifier = made(draw)

    together = pool.verify(verifier, texts("a", "b"), seeds=[7, 8]).result().verdicts
    alone = pool.verify(verifier, texts("b"), seeds=[8]).result().verdicts

    assert together[1].score == alone[0].score != together[0].score


class Loaded(Verifier):
    """Counts how often it was set up."""

    name, version = "loaded", "1"
    setups = 0

    def setup(self) -> None:
        self.setups += 1

    def verify(self, candidates: Sequence[Candidate]) -> list[float]:
        return [float(self.setups)] * len(candidates)


def test_a_worker_sets_a_verifier_up_once(pool: WorkerPool) -> None:
    verifier = Loaded()

    scores = [pool.verify(verifier, texts("a"), lane=0).result().verdicts[0].score for _ in "abc"]

    assert [1.0, 1.0, 1.0] == scores


class Unready(Verifier):
    """Can be set up only once a file is there."""

    name, version = "unready", "1"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__()

    def setup(self) -> None:
        if not Path(self.path).exists():
            raise ToolError("the model is not there yet")

    def verify(self, candidates: Sequence[Candidate]) -> list[bool]:
        return [True] * len(candidates)


def test_a_failed_setup_is_tried_again_with_the_next_batch(
    pool: WorkerPool, tmp_path: Path
) -> None:
    verifier = Unready(str(tmp_path / "model"))

    before = pool.verify(verifier, texts("a", "b"), lane=0).result().verdicts
    (tmp_path / "model").touch()
    after = pool.verify(verifier, texts("a", "b"), lane=0).result().verdicts

    assert [("tool", "the model is not there yet")] * 2 == [
        (verdict.failed_at, verdict.reason) for verdict in before
    ]
    assert [1.0, 1.0] == [verdict.score for verdict in after]


class Explosive(Loaded):
    """Ends its process while it is set up."""

    name = "explosive"

    def setup(self) -> None:
        os._exit(5)


def test_a_setup_that_crashes_makes_its_batch_abstain(pool: WorkerPool) -> None:
    verdicts = pool.verify(Explosive(), texts("a", "b")).result().verdicts

    assert ["engine", "engine"] == [verdict.failed_at for verdict in verdicts]
    assert "ended its process with exit code 5" in verdicts[0].reason


class Laborious(Loaded):
    """Works hard at its set-up, which then fails."""

    name = "laborious"

    def __init__(self, fail: Callable[[], object]) -> None:
        self.fail = fail
        super().__init__()

    def setup(self) -> None:
        burn = process_time() + 0.05
        while process_time() < burn:
            pass
        self.fail()


@pytest.mark.parametrize("fail", [partial(int, "no model"), partial(os._exit, 5)])
def test_a_setup_that_fails_is_charged_to_nobody(
    pool: WorkerPool, fail: Callable[[], object]
) -> None:
    answer = pool.verify(Laborious(fail), texts("a")).result()

    assert (0.0, Cost()) == (answer.seconds, answer.verdicts[0].cost)


class Endless(Loaded):
    """Never gets ready."""

    name = "endless"

    def setup(self) -> None:
        threading.Event().wait()


def test_a_setup_that_hangs_makes_its_batch_abstain() -> None:
    with WorkerPool(1, loading=2.0) as pool:
        (verdict,) = pool.verify(Endless(), texts("a")).result().verdicts

    assert ("engine", True) == (verdict.failed_at, "2 s to set up" in verdict.reason)


def test_what_a_worker_waits_for_a_core_is_no_time_of_its_set_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the kernel shows it: the worker is ready to run, and its cpu time stands still."""
    monkeypatch.setattr(ownclock, "see", lambda _: ownclock.Seen(0.0, is_waiting=True))
    monkeypatch.setattr(ownclock, "MOST_WAITING", 1e6)
    with WorkerPool(1, loading=0.1) as pool:
        (verdict,) = pool.verify(LENGTH, texts("abc")).result().verdicts

    assert 3.0 == verdict.score, verdict.reason


def test_a_verifier_that_can_not_travel_says_what_to_do(pool: WorkerPool) -> None:
    verifier = Loaded()
    verifier.lock = threading.Lock()  # type: ignore[attr-defined]

    (verdict,) = pool.verify(verifier, texts("a")).result().verdicts

    assert "config" == verdict.failed_at
    assert "cannot pickle '_thread.lock' object" in verdict.reason
    assert "in setup()" in verdict.reason


def test_a_task_that_can_not_travel_says_what_to_do(pool: WorkerPool) -> None:
    (verdict,) = (
        pool.verify(LENGTH, [Candidate("text", "a", {"lock": threading.Lock()})]).result().verdicts
    )

    assert ("config", True) == (verdict.failed_at, "only JSON values" in verdict.reason)


def test_code_that_only_this_process_can_import_travels_by_value(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "hidden.py"
    source.write_text(
        "from verifier_ladder import Verifier\n"
        "FACTOR = 3.0\n"
        "class Hidden(Verifier):\n"
        "    name, version = 'hidden', '1'\n"
        "    def verify(self, candidates):\n"
        "        return [FACTOR] * len(candidates)\n"
    )
    spec = importlib.util.spec_from_file_location("hidden_module", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "hidden_module", module)
    spec.loader.exec_module(module)

    assert 3.0 == pool.verify(module.Hidden(), texts("a")).result().verdicts[0].score


PICKY = """
import json, sys
for line in sys.stdin:
    content = json.loads(line)["content"]
    if content == "bad":
        sys.exit(2)
    print(len(content), flush=True)
"""


@pytest.mark.parametrize("per_batch", [False, True])
def test_a_program_that_fails_on_one_candidate_judges_the_others(
    pool: WorkerPool,
    per_batch: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    command = [sys.executable, "-S", "-c", PICKY]
    verifier = CommandVerifier(name="picky", version="1", command=command, per_batch=per_batch)

    verdicts = pool.verify(verifier, texts("a", "bb", "bad", "dddd")).result().verdicts

    assert [1.0, 2.0, None, 4.0] == [verdict.score for verdict in verdicts]
    assert "tool" == verdicts[2].failed_at


def test_a_callback_may_close_the_pool() -> None:
    pool, closed = WorkerPool(1), threading.Event()

    def close(_: object) -> None:
        pool.close()
        closed.set()

    pool.verify(LENGTH, texts("a")).add_done_callback(close)

    assert closed.wait(300)


class Reserved:
    """A budget that extends a few times."""

    def __init__(self, seconds: float, extensions: int) -> None:
        self.seconds, self.extensions, self.asked = seconds, extensions, 0

    def extend(self) -> bool:
        self.asked += 1
        if self.asked > self.extensions:
            return False
        self.seconds += 0.2
        return True


class Heavy(Verifier):
    """Takes long to load and nothing to judge."""

    name, version = "heavy", "1"

    def setup(self) -> None:
        end = process_time() + 0.3
        while process_time() < end:
            pass

    def verify(self, candidates: Sequence[Candidate]) -> list[float]:
        return [1.0] * len(candidates)


def test_what_it_takes_to_load_is_charged_to_no_candidate(pool: WorkerPool) -> None:
    limit = Reserved(0.1, extensions=0)

    (verdict,) = pool.verify(Heavy(), texts("a"), limit=limit).result().verdicts

    assert verdict.cost is not None
    assert verdict.cost.seconds < 0.1
    assert 0 == limit.asked


def doze(candidate: Candidate) -> bool:
    sleep(float(candidate.content))
    return True


def test_sleeping_is_no_cpu_time_whether_it_ends_or_is_killed(pool: WorkerPool) -> None:
    verifier = made(doze, timeout=1.0)

    answer = pool.verify(verifier, texts("0.3", "0.3", "0.3", "600")).result()

    assert "ran longer than 1 s" in answer.verdicts[-1].reason
    # Each slept longer than that, and the last one, twice, for a second.
    assert all(one.cost and one.cost.seconds < 0.25 for one in answer.verdicts)
    assert answer.seconds < 0.9


def test_work_that_is_killed_costs_the_cpu_time_it_took(pool: WorkerPool) -> None:
    (verdict,) = pool.verify(made(spin, timeout=0.5), texts("a")).result().verdicts

    assert "engine" == verdict.failed_at
    assert verdict.cost is not None
    assert verdict.cost.seconds >= 0.4


def test_work_ends_where_its_budget_does(pool: WorkerPool) -> None:
    limit = Reserved(0.2, extensions=1)

    (verdict,) = pool.verify(made(spin), texts("a"), limit=limit).result().verdicts

    assert ("budget", 2) == (verdict.failed_at, limit.asked)
    assert "spent the 0.4 cpu-seconds reserved for it" in verdict.reason
    assert verdict.cost is not None
    assert verdict.cost.seconds >= 0.4


def test_a_budget_that_is_extended_lets_work_finish(pool: WorkerPool) -> None:
    limit = Reserved(0.01, extensions=99)

    (verdict,) = pool.verify(made(burn), texts("0.2"), limit=limit).result().verdicts

    assert 1.0 == verdict.score


def test_a_batch_goes_to_the_lane_it_prefers(pool: WorkerPool) -> None:
    lanes = {pool.verify(LENGTH, texts("a"), lane=1).result().lane for _ in range(5)}

    assert {1} == lanes


def test_an_idle_lane_takes_over_from_one_that_is_busy_for_long(
    pool: WorkerPool, tmp_path: Path, until: Until
) -> None:
    gate = Gate(tmp_path, pool, until, lane=0)

    answer = pool.verify(LENGTH, texts("a"), lane=0).result()

    assert 1 == answer.lane
    gate.open()
    gate.future.result()


def test_what_matters_more_goes_first(tmp_path: Path, until: Until) -> None:
    order: list[str] = []
    with WorkerPool(1) as pool:
        gate = Gate(tmp_path, pool, until)
        for name, priority in (("low", 0.1), ("high", 9.0), ("middle", 2.0)):
            future = pool.verify(LENGTH, texts(name), priority=priority)
            future.add_done_callback(lambda _, name=name: order.append(name))  # type: ignore[misc]
        gate.open()
        until(lambda: len(order) == 3)

    assert ["high", "middle", "low"] == order


def test_a_batch_that_waits_can_be_cancelled(tmp_path: Path, until: Until) -> None:
    with WorkerPool(1) as pool:
        gate = Gate(tmp_path, pool, until)
        waiting = pool.verify(LENGTH, texts("a"))

        assert waiting.cancel()
        gate.open()
        gate.future.result()
        with pytest.raises(CancelledError):
            waiting.result()


def test_closing_ends_what_runs_and_what_waits(tmp_path: Path, until: Until) -> None:
    pool = WorkerPool(1)
    gate = Gate(tmp_path, pool, until)
    waiting = pool.verify(LENGTH, texts("a"))
    pids = pool.pids()

    pool.close()

    for future in (gate.future, waiting, pool.verify(LENGTH, texts("a"))):
        with pytest.raises(PoolClosed):
            future.result(timeout=0)
    assert [False] == [psutil.pid_exists(pid) for pid in pids]


def test_closing_gently_finishes_first(tmp_path: Path, until: Until) -> None:
    pool = WorkerPool(1)
    gate = Gate(tmp_path, pool, until)
    waiting = pool.verify(LENGTH, texts("abc"))

    gate.open()
    pool.close(kill=False)

    assert 3.0 == waiting.result(timeout=0).verdicts[0].score


def test_workers_that_can_not_start_make_the_batch_abstain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with WorkerPool(1) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", "/bin/false")
            (verdict,) = pool.verify(LENGTH, texts("a")).result().verdicts
        (after,) = pool.verify(LENGTH, texts("a")).result().verdicts

    assert "engine" == verdict.failed_at
    assert "no worker process can be started" in verdict.reason
    assert 1.0 == after.score


@pytest.mark.parametrize(("size", "memory"), [(0, None), (1, 0)])
def test_a_pool_that_makes_no_sense_is_refused(size: int, memory: int | None) -> None:
    with pytest.raises(ConfigError, match="WorkerPool"):
        WorkerPool(size, memory=memory)


def test_seeds_are_one_per_candidate(pool: WorkerPool) -> None:
    with pytest.raises(ConfigError, match="1 seeds for 2 candidates"):
        pool.verify(LENGTH, texts("a", "b"), seeds=[1])


def test_an_abandoned_batch_frees_its_lane(tmp_path: Path, until: Until) -> None:
    """What nobody waits for is killed, long before its own time limit."""
    never = tmp_path / "never"
    with WorkerPool(1) as pool:
        left = pool.verify(WAITS, texts(str(never)))
        until(never.with_suffix(".running").exists)

        left.abandon()

        assert [3.0] == [v.score for v in pool.verify(LENGTH, texts("abc")).result().verdicts]
        assert {"abandoned"} == {v.evidence["cause"] for v in left.result().verdicts}
