"""Threads that score at once share what is known of the tiers, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.scheduler.conductor import Conductor
from verifier_ladder.scheduler.knowledge import Knowledge
from verifier_ladder.scheduler.prices import Prices

COST = vl.Cost(seconds=0.001)


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", cost=COST)
def threads_cheap(_: vl.Candidate) -> float:
    return 1.0


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline", cost=COST)
def threads_costly(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@pytest.mark.parametrize(
    "changed", [(Knowledge, "asked"), (Knowledge, "priced"), (Prices, "settle")]
)
def test_knowledge_is_used_by_one_thread_at_a_time(
    changed: tuple[type, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = changed
    real: Callable[..., Any] = getattr(owner, name)
    are_alone: list[bool] = []
    ladder = vl.Ladder("l", [threads_cheap, threads_costly], policy="all_tiers")
    with (
        ThreadPoolExecutor(1) as another,
        vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "ledger.db", run="r") as campaign,
    ):
        conductor = campaign._conductor
        assert isinstance(conductor, Conductor)
        lock = conductor._scorer._desk.lock

        def noted(*arguments: Any) -> Any:
            could_enter = another.submit(lock.acquire, blocking=False).result()
            if could_enter:
                another.submit(lock.release).result()
            are_alone.append(not could_enter)
            return real(*arguments)

        monkeypatch.setattr(owner, name, noted)
        campaign.score(["a", "bc"], step=0)
        assert campaign.drain("300 s")
    assert are_alone
    assert all(are_alone)
