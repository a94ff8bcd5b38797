"""Slow checks are shared by all workers, though nobody has declared that they are slow."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import verifier_ladder as vl
from verifier_ladder.scheduler.policies.thresholds import Thresholds

WORKERS = 4


def waiting_verifier(folder: Path) -> Callable[[vl.Candidate], float]:
    def judge(candidate: vl.Candidate) -> float:
        if str(candidate.content).startswith("first"):
            time.sleep(0.6)  # Slow without computing, as a service is.
            return 1.0
        (folder / f"{os.getpid()}").touch()
        limit = time.monotonic() + 150
        while len(list(folder.iterdir())) < WORKERS and time.monotonic() < limit:
            time.sleep(0.01)
        if len(list(folder.iterdir())) < WORKERS:
            (folder / "alone").touch()
        return 1.0

    return judge


def test_slow_checks_that_declare_no_time_are_shared_by_all_workers(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    cheap = vl.verifier(name="cheap", version="1", kind="text", isolation="inline")(lambda _: 1.0)
    judge = vl.verifier(
        name="judge", version="1", kind="text", tier="high_fidelity", isolation="process",
        cost=vl.Cost(money=1.0), timeout=200,
    )(waiting_verifier(seen))  # fmt: skip
    policy = Thresholds(thresholds={"high_fidelity": 0.0})
    with vl.Campaign.open(
        "slow", ladder=vl.Ladder("slow", [cheap, judge], policy=policy), run="one",
        ledger=tmp_path / "ledger.db", workers=WORKERS, budget={"high_fidelity": "unlimited"},
    ) as campaign:  # fmt: skip
        campaign.score([f"first {place}" for place in range(WORKERS)])
        campaign.drain("300 s")
        campaign.score([f"second {place}" for place in range(WORKERS)])
        campaign.drain("300 s")

    assert not (seen / "alone").exists()
    assert len(list(seen.iterdir())) == WORKERS
