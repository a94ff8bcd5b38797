"""A machine on which six other processes want every core: what is honest passes, the rest ends."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from busy import busy_machine

from verifier_ladder.candidate import Candidate
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines import ownclock
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.verdict import Outcome, Verdict

LIMIT = 0.5
HONEST = LIMIT / 2
"""Cpu-seconds of honest work."""


@pytest.fixture(autouse=True)
def neighbours() -> Iterator[None]:
    with busy_machine():
        yield


def compute(seconds: float) -> None:
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass


def compute_in_threads(seconds: float) -> None:
    threads = [threading.Thread(target=compute, args=(seconds,), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def compute_in_a_child(seconds: float) -> None:
    program = f"import time\nwhile time.process_time() < {seconds}: pass"
    subprocess.run([sys.executable, "-S", "-c", program], check=True)


def give_way(lower: Callable[[], object]) -> None:
    lower()
    compute(3600.0)


DEEDS = {
    "honest": lambda: compute(HONEST),
    "child": lambda: compute_in_a_child(HONEST),
    "threads": lambda: compute_in_threads(HONEST / 4),
    "spin": lambda: compute(3600.0),
    "spinning threads": lambda: compute_in_threads(3600.0),
    "spinning child": lambda: compute_in_a_child(3600.0),
    "sleep": lambda: time.sleep(3600.0),
    "nothing": lambda: None,
    "nice": lambda: give_way(lambda: os.nice(19)),
    "idle": lambda: give_way(lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))),
    "pinned": lambda: give_way(lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])),
}


def work(candidate: Candidate) -> float:
    DEEDS[str(candidate.content).rstrip("0123456789")]()
    return 1.0


IDLE = FunctionVerifier(
    work, name="idle", version="1", timeout=LIMIT, control=Candidate("text", "nothing")
)
LABOUR = FunctionVerifier(
    work, name="labour", version="1", timeout=LIMIT, control=Candidate("text", "honest")
)
OUT_OF_TOUCH = FunctionVerifier(
    work, name="out of touch", version="1", timeout=LIMIT, control=Candidate("text", "honest"),
    network=True,
)  # fmt: skip


def judged(verifier: FunctionVerifier, *contents: str, nice: int = 0) -> list[Verdict]:
    with WorkerPool(2, nice=nice, name="busy") as pool:
        asked = [pool.verify(verifier, [Candidate("text", content)]) for content in contents]
        return [verdict for one in asked for verdict in one.result().verdicts]


class Heavy(FunctionVerifier):
    """Takes so long to be set up."""

    def setup(self) -> None:
        compute(HONEST)


# All cores are taken from the other tests meanwhile, so `make test` runs one of each kind.


@pytest.mark.parametrize(
    "deed",
    [
        "honest",
        pytest.param("child", marks=pytest.mark.slow),
        pytest.param("threads", marks=pytest.mark.slow),
    ],
)
def test_honest_work_is_not_rejected_beside_busy_neighbours(deed: str) -> None:
    verdicts = judged(LABOUR, *(f"{deed}{number}" for number in range(3)))

    assert [(Outcome.ACCEPT, 1.0)] * 3 == [(each.outcome, each.score) for each in verdicts]


@pytest.mark.slow
def test_neighbours_take_no_time_from_a_set_up() -> None:
    heavy = Heavy(work, name="heavy", version="1")
    with WorkerPool(2, nice=10, loading=1.5, name="busy") as pool:
        asked = [pool.verify(heavy, [Candidate("text", "nothing")]) for _ in range(2)]
        verdicts = [verdict for one in asked for verdict in one.result().verdicts]

    assert [1.0] * 2 == [each.score for each in verdicts], verdicts


@pytest.mark.slow
@pytest.mark.timeout(1800)  # It takes 100 seconds where nobody else is at work.
def test_none_of_two_hundred_honest_checks_is_rejected_beside_busy_neighbours() -> None:
    verdicts = judged(LABOUR, *(f"honest{number}" for number in range(200)))

    assert [1.0] * 200 == [each.score for each in verdicts]


@pytest.mark.slow
def test_honest_work_that_gives_way_to_all_others_is_not_rejected() -> None:
    verdicts = judged(LABOUR, *(f"honest{number}" for number in range(4)), nice=10)

    assert Outcome.REJECT not in [each.outcome for each in verdicts]


@pytest.mark.parametrize(
    "deed",
    [
        "spin",
        pytest.param("sleep", marks=pytest.mark.slow),
        pytest.param("spinning threads", marks=pytest.mark.slow),
        pytest.param("spinning child", marks=pytest.mark.slow),
    ],
)
def test_what_never_ends_is_rejected_beside_busy_neighbours(deed: str) -> None:
    (verdict,) = judged(LABOUR, deed)

    assert (Outcome.REJECT, "resource") == (verdict.outcome, verdict.evidence.get("cause"))
    assert f"ran longer than {LIMIT:g} s" in verdict.reason


@pytest.mark.slow  # The busier the machine, the longer such a process gets nothing at all.
@pytest.mark.parametrize("deed", ["idle", "nice", "pinned"])
def test_who_lowers_its_own_priority_can_not_blame_the_neighbours(
    deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownclock, "MOST_WAITING", 1.5)
    (verdict,) = judged(IDLE, deed)

    assert (Outcome.REJECT, "resource") == (verdict.outcome, verdict.evidence.get("cause"))


@pytest.mark.slow
def test_the_silence_of_a_service_is_not_held_against_a_candidate() -> None:
    (verdict,) = judged(OUT_OF_TOUCH, "sleep")

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
