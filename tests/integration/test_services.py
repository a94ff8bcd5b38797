"""A service: one process holds a model for all workers of a machine."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.policies import AllTiers

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
USED = 0.5


class Model(vl.Service):
    """Notes its processes in a folder; does as it is asked."""

    name, version, grace = "model", "1", 1.0

    def __init__(self, notes: str) -> None:
        self.notes = Path(notes)
        super().__init__(notes=notes)

    def setup(self) -> None:
        """Take note, and a while of the processor, which no check is to be charged for."""
        if self.notes.name == "slow":
            spin()
        with (self.notes / "begun").open("a") as file:
            print(os.getpid(), file=file)

    def pid(self) -> int:
        return os.getpid()

    def spins(self) -> float:
        """Take a while of the processor; how long, as it counts itself."""
        began = time.process_time()
        spin()
        return time.process_time() - began

    def dies(self, times: int) -> float:
        """Be killed so often, each time in the midst of the call."""
        with (self.notes / "deaths").open("a") as file:
            print(os.getpid(), file=file, flush=True)
        if len((self.notes / "deaths").read_text().splitlines()) <= times:
            os.kill(os.getpid(), signal.SIGKILL)
        return 2.0

    def hangs(self) -> None:
        (self.notes / "hangs").touch()
        time.sleep(600)

    def hogs(self) -> None:
        """Let no thread of this process run any more, as a hostile text does with a pattern."""
        (self.notes / "hogs").touch()
        re.match("(a+)+$", "a" * 60 + "b")

    def starts(self, apart: int) -> int:
        """Start a process, in this session or in one of its own."""
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        return subprocess.Popen(command, start_new_session=bool(apart)).pid

    def raises(self) -> None:
        raise ValueError("no such molecule")

    def surroundings(self) -> dict[str, Any]:
        return {
            "names": sorted(os.environ), "memory": resource.getrlimit(resource.RLIMIT_DATA)[0],
            "nice": os.getpriority(os.PRIO_PROCESS, 0), "parent": os.getppid(),
            "threads": os.environ["OMP_NUM_THREADS"],
        }  # fmt: skip


class Judge(vl.Verifier):
    """Asks the service what the candidate says."""

    name, version, kind = "judge", "1", "text"
    cost, timeout = vl.Cost(seconds=1.0), 300.0

    def __init__(self, model: vl.Service) -> None:
        self.services = {"model": model}
        super().__init__()

    def verify(self, candidates: Sequence[vl.Candidate]) -> Iterator[Any]:
        for candidate in candidates:
            method, *arguments = str(candidate.content).split()
            told = 0.0
            if method != "nothing":
                told = self.services["model"].call(method, *map(int, arguments))
            is_score = isinstance(told, float)
            evidence = {"told": told, "worker": os.getpid()}
            yield vl.Verdict.accept(told if is_score else 1.0, evidence=evidence)


def spin() -> None:
    end = time.process_time() + USED
    while time.process_time() < end:
        pass


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 300.0
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of its own: no other test's services, and no GPU but those that it sets."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1, name="served", nice=7, memory=2**30) as one:
        yield one


@pytest.fixture
def judge(notes: Path) -> Judge:
    return Judge(Model(str(notes)))


def said(pool: WorkerPool, verifier: vl.Verifier, *contents: str, **how: Any) -> list[vl.Verdict]:
    candidates = [vl.Candidate("text", content) for content in contents]
    return pool.verify(verifier, candidates, **how).result().verdicts


def begun(notes: Path) -> list[int]:
    return [int(pid) for pid in (notes / "begun").read_text().split()]


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_process_that_is_killed_in_the_midst_of_a_call_costs_no_verdict(
    notes: Path, judge: Judge, pool: WorkerPool
) -> None:
    verdicts = said(pool, judge, "nothing", "dies 1", "nothing")

    assert [0.0, 2.0, 0.0] == [verdict.score for verdict in verdicts]
    assert [None] * 3 == [verdict.failed_at for verdict in verdicts]
    assert 2 == len(begun(notes))


@pytest.mark.parametrize("method", ["hangs", "hogs"])
def test_a_call_without_end_is_nobodys_reject_and_ends_its_process(
    notes: Path, judge: Judge, pool: WorkerPool, method: str
) -> None:
    judge.timeout = 1.0
    (verdict,) = said(pool, judge, method)

    assert (notes / method).exists()
    assert vl.Outcome.ABSTAIN is verdict.outcome
    until(lambda: all(map(has_ended, begun(notes))))
    judge.timeout = 300.0
    assert said(pool, judge, "pid")[0].failed_at is None


def test_a_call_behind_one_without_end_waits_for_its_turn_and_is_answered(
    notes: Path, judge: Judge
) -> None:
    """It waits longer than it may take: for the other's limit, and the grace behind that."""
    judge.timeout, judge.services["model"].grace = 1.0, 3.0
    with WorkerPool(2, name="served") as pool:
        first = pool.verify(judge, [vl.Candidate("text", "hangs")], lane=0)
        until((notes / "hangs").exists)
        second = pool.verify(judge, [vl.Candidate("text", "pid")], lane=1)

        assert "tool" == first.result().verdicts[0].failed_at
        assert second.result().verdicts[0].failed_at is None
    assert 2 == len(begun(notes))


def test_a_call_without_end_ends_also_while_others_come_and_go(notes: Path, judge: Judge) -> None:
    def come_and_go() -> bool:
        judge.services["model"].start()
        judge.services["model"].hang_up()
        return has_ended(begun(notes)[0])

    judge.timeout = 1.0
    with WorkerPool(1, name="served") as pool:
        asked = pool.verify(judge, [vl.Candidate("text", "hangs")])
        until((notes / "hangs").exists)
        for pid in pool.pids():
            os.kill(pid, signal.SIGKILL)
        until(come_and_go)
        asked.cancel()


@pytest.mark.parametrize("apart", [0, 1])
def test_what_a_process_has_started_ends_with_it(judge: Judge, apart: int) -> None:
    pid = judge.services["model"].call("starts", apart)
    judge.services["model"].hang_up()

    until(lambda: has_ended(pid))


@pytest.mark.parametrize("apart", [0, 1])
def test_what_a_killed_process_has_started_ends_with_it(judge: Judge, apart: int) -> None:
    pid = judge.services["model"].call("starts", apart)
    os.kill(judge.services["model"].call("pid"), signal.SIGKILL)

    until(lambda: has_ended(pid))
    judge.services["model"].hang_up()


def test_a_check_is_charged_for_its_calls_and_not_for_the_set_up(
    notes: Path, pool: WorkerPool
) -> None:
    slow = notes / "slow"
    slow.mkdir()
    judge = Judge(Model(str(slow)))
    verdicts = [said(pool, judge, content)[0] for content in ("pid", "spins", "pid")]

    costs = [verdict.cost.seconds for verdict in verdicts if verdict.cost]
    assert 0.9 * USED <= costs[1] <= 1.5 * USED
    assert max(costs[0], costs[2]) <= 0.5 * USED


def test_an_answer_that_is_told_early_is_charged_for_its_calls(
    notes: Path, judge: Judge, pool: WorkerPool
) -> None:
    candidates = [vl.Candidate("text", content) for content in ("spins", "hangs")]
    future = pool.verify(judge, candidates)
    until((notes / "hangs").exists)
    until(lambda: 0 in future.answered)
    early = future.answered[0]
    future.abandon()
    late = future.result().verdicts[0]

    assert early.score is not None
    for verdict in (early, late):
        assert verdict.cost is not None
        assert verdict.cost.seconds >= early.score


class Reserved:
    """A budget that has no more."""

    seconds = USED / 2

    def extend(self) -> bool:
        return False


def test_what_services_take_is_part_of_what_a_batch_may_spend(
    judge: Judge, pool: WorkerPool
) -> None:
    judge.timeout = 60.0  # A busy machine may take ten times as long as what is spent.
    *_, hung = said(pool, judge, "spins", "hangs", limit=Reserved())

    assert "budget" == hung.failed_at


def test_what_a_method_raises_is_raised_where_it_was_asked(judge: Judge) -> None:
    with pytest.raises(ValueError, match="no such molecule"):
        judge.services["model"].call("raises")
    judge.services["model"].hang_up()


def test_the_process_has_nothing_of_the_worker_that_started_it(
    judge: Judge, pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_TOKEN", "not-for-models")
    judge.secrets = ("JUDGE_TOKEN",)
    (verdict,) = said(pool, judge, "surroundings")
    told = verdict.evidence["told"]

    assert "JUDGE_TOKEN" not in told["names"]
    assert resource.getrlimit(resource.RLIMIT_DATA)[1] == told["memory"]
    assert told["parent"] not in {os.getpid(), *pool.pids()}
    assert "1" == told["threads"]
    if os.getuid() == 0:  # Others may not raise a priority again.
        assert os.getpriority(os.PRIO_PROCESS, 0) == told["nice"]


class Unloadable(Model):
    """Its weights are missing."""

    name = "unloadable"

    def setup(self) -> None:
        """Find none."""
        raise FileNotFoundError("weights.pt")


def test_a_service_that_can_not_be_set_up_is_nobodys_reject(notes: Path, pool: WorkerPool) -> None:
    (verdict,) = said(pool, Judge(Unloadable(str(notes))), "pid")

    assert (vl.Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert "its set-up failed: FileNotFoundError: weights.pt" in verdict.reason


class Large(vl.Service):
    """Wants more memory of a GPU than there is."""

    name, version, gpu_memory = "large", "1", 8 * 2**30

    def answer(self) -> float:
        return 1.0


@vl.verifier(
    name="too-large", kind="text", version="1", tier="simulation", services={"model": Large()}
)
def too_large(_: vl.Candidate, services: Any) -> float:
    return float(services["model"].call("answer"))


@vl.verifier(kind="text", version="1", isolation="inline")
def reads(_: vl.Candidate) -> float:
    return 1.0


def test_a_machine_without_the_memory_leaves_the_checks_to_others(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_GPU_MEMORY", "4GiB,6GiB")
    place, why = notes / "ledger.db", "takes 8 GiB of GPU memory, and the largest GPU here has 6"
    ladder = vl.Ladder("l", [reads, too_large], policy=AllTiers())
    with (
        vl.Campaign.open("c", ladder=ladder, ledger=place, engine="workers"),
        open_ledger(place) as ledger,
    ):
        catalog = Catalog(ledger, names=["too-large"], offered=[too_large])
        catalog.refresh()
        assert 1 == sum(why in said for said in catalog.missing.values())

    with vl.Campaign.open("d", ladder=ladder, workers=1) as campaign:
        campaign.score(["a"])
        until(lambda: campaign.ledger.checks()[0].note)
        (check,) = campaign.ledger.checks()
    assert "QUEUED" == check.state.name
    assert why in check.note
