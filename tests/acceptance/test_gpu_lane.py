"""A check goes to a host with a GPU if its own expected cost names one, and is charged by that.

A verifier may need a GPU for one candidate and none for another. It says so in `expected_cost`;
hosts are started with what they have: `vladder worker start --resource gpu`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.registry import REGISTRY
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.host import WorkerHost
from verifier_ladder.scheduler.policies import AllTiers
from verifier_ladder.summary import summarise


@vl.verifier(kind="text", version="1", isolation="inline")
def reads(_: vl.Candidate) -> float:
    return 1.0


class Relaxes(vl.Verifier):
    """Relaxes what is large on a GPU, and what is small on the processor."""

    name, version, tier, kind = "relaxes", "1", vl.Tier.SIMULATION, "text"
    cost = vl.Cost(seconds=0.01, gpu_seconds=8.0)

    def expected_cost(self, candidate: vl.Candidate) -> vl.Cost:
        return vl.Cost(0.01, gpu_seconds=3.0 if "large" in str(candidate.content) else 0.0)

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
        return [2.0] * len(candidates)


REGISTRY.add(Relaxes())


def hosted(ledger: Ledger, resource: str) -> int:
    """Have a host with this resource do what it can; how many checks it has done."""
    with ExitStack() as open_:
        catalog = Catalog(ledger, names=["relaxes"], resources=(resource,))
        host = WorkerHost(ledger, workers=1, catalog=catalog)
        open_.callback(host.close)
        host.wake()
        assert host.wait_idle(120)
        return host.done


def done(ledger: Ledger) -> set[Any]:
    return {check.payload["content"] for check in ledger.checks(states=[CheckState.DONE])}


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql"))
    return str(tmp_path / "ledger.db")


def test_each_host_takes_the_checks_that_want_what_it_has(place: str) -> None:
    ladder = vl.Ladder("l", [reads, Relaxes()], policy=AllTiers())
    with (
        vl.Campaign.open(
            "c", ladder=ladder, ledger=place, engine="workers",
            budget={"simulation": {"seconds": 100.0, "gpu_seconds": 100.0}},
        ) as campaign,
        open_ledger(place) as ledger,
    ):  # fmt: skip
        campaign.score(["small", "large"])

        on_cpu, after_cpu = hosted(ledger, "cpu"), done(ledger)
        on_gpu, after_gpu = hosted(ledger, "gpu"), done(ledger)

        assert campaign.drain("120 s")
        spent = summarise(ledger, "c").resources

    assert (1, {"small"}) == (on_cpu, after_cpu)
    assert (1, {"small", "large"}) == (on_gpu, after_gpu)
    assert {Resource.GPU_SECONDS: pytest.approx(3.0)} == spent
