"""Slow checks are shared by all workers, though nobody has declared that they are slow."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.scheduler.engines import measured
from verifier_ladder.scheduler.policies.thresholds import Thresholds

pytestmark = pytest.mark.usefixtures("forked_workers")

WORKERS = 4


@pytest.fixture(autouse=True)
def all_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "BATCH_SECONDS", 1e-9)


def score_in_two_calls(judge: vl.Verifier, ledger: Path, count: int) -> None:
    """Let its pace be learnt from one call, and ask for `count` more checks in another."""
    cheap = vl.verifier(name="cheap", version="1", kind="text", isolation="inline")(lambda _: 1.0)
    policy = Thresholds(thresholds={"high_fidelity": 0.0})
    with vl.Campaign.open(
        "slow", ladder=vl.Ladder("slow", [cheap, judge], policy=policy), run="one",
        ledger=ledger, workers=WORKERS, budget={"high_fidelity": "unlimited"},
    ) as campaign:  # fmt: skip
        for name, size in (("first", WORKERS), ("second", count)):
            campaign.score([f"{name} {place}" for place in range(size)])
            assert campaign.drain("300 s")


def made(judge: Callable[..., Any], **options: Any) -> vl.Verifier:
    return vl.verifier(
        name="judge", version="1", kind="text", tier="high_fidelity", isolation="process",
        cost=vl.Cost(money=1.0), timeout=200, **options,
    )(judge)  # fmt: skip


def test_functions_that_wait_are_shared_by_all_workers(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()

    def judge(candidate: vl.Candidate) -> float:
        if str(candidate.content).startswith("first"):
            return 1.0
        (seen / f"{os.getpid()}").touch()
        limit = time.monotonic() + 150
        while len(list(seen.iterdir())) < WORKERS and time.monotonic() < limit:
            time.sleep(0.01)
        if len(list(seen.iterdir())) < WORKERS:
            (seen / "alone").touch()
        return 1.0

    score_in_two_calls(made(judge), tmp_path / "ledger.db", WORKERS)

    assert not (seen / "alone").exists()
    assert len(list(seen.iterdir())) == WORKERS


def sizes(folder: Path, form: str, **options: Any) -> list[int]:
    """How many checks a verifier of this form was given at once, after the first call."""
    log = folder / "sizes"

    def judge_all(candidates: Sequence[vl.Candidate]) -> list[float]:
        if str(candidates[0].content).startswith("second"):
            with log.open("a") as file:
                file.write(f"{len(candidates)}\n")
        return [1.0] * len(candidates)

    async def judge_all_async(candidates: Sequence[vl.Candidate]) -> list[float]:
        return judge_all(candidates)

    class Judge(vl.Verifier):
        name, version, kind, tier = "judge", "1", "text", "high_fidelity"
        cost, batch_size = vl.Cost(money=1.0), options.get("batch_size", 256)

        def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
            return judge_all(candidates)

    functions = {"batch": judge_all, "async": judge_all_async}
    judge = Judge() if form == "class" else made(functions[form], batch=True, **options)
    score_in_two_calls(judge, folder / "ledger.db", 2 * WORKERS)
    return sorted(map(int, log.read_text().split()))


@pytest.mark.parametrize("form", ["class", "batch", "async"])
def test_slow_batches_are_cut_so_that_each_worker_has_its_share(tmp_path: Path, form: str) -> None:
    given = sizes(tmp_path, form)

    assert sum(given) == 2 * WORKERS
    assert max(given) == 2


def test_a_declared_size_is_not_cut(tmp_path: Path) -> None:
    assert sizes(tmp_path, "class", batch_size=2 * WORKERS) == [2 * WORKERS]
