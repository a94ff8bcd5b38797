"""Limits of verifiers in campaigns: rates, pauses of services, numbers of workers."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from services import Service

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.rate import BURST
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.host import WorkerHost


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield store


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def limits_guess(_: vl.Candidate) -> float:
    return 1.0


class Narrow(vl.Verifier):
    """Says no where another worker is at work too."""

    version, kind, tier, batch_size = "1", "text", "simulation", 1

    def __init__(self, name: str, lock: str, **options: Any) -> None:
        self.name = name
        vars(self).update(options)
        super().__init__(lock=lock)

    def verify(self, candidates: Sequence[vl.Candidate]) -> Iterator[bool]:
        for _ in candidates:
            with Path(self.settings["lock"]).open("a") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    yield False
                    continue
                ends = monotonic() + 0.05  # So long a neighbour would find it locked.
                while monotonic() < ends:
                    os.sched_yield()
                fcntl.flock(file, fcntl.LOCK_UN)
            yield True


def rewards(campaign: vl.Campaign, count: int) -> list[float | None]:
    campaign.score([f"candidate {number}" for number in range(count)])
    assert campaign.drain("600 s")
    return [revision.reward.value for revision in campaign.revisions()]


def test_hosts_of_one_machine_count_their_workers_together(tmp_path: Path, ledger: Ledger) -> None:
    narrow = Narrow("narrow of hosts", str(tmp_path / "lock"), max_processes=1)
    ladder = vl.Ladder("narrow", [limits_guess, narrow], policy="all_tiers")
    with (
        vl.Campaign.open(
            "c", ladder=ladder, ledger=ledger, run="r", workers=1, engine="workers"
        ) as campaign,
        closing(WorkerHost(ledger, workers=1, catalog=Catalog(ledger, offered=[narrow]))) as one,
        closing(WorkerHost(ledger, workers=1, catalog=Catalog(ledger, offered=[narrow]))) as two,
    ):
        one.wake()
        two.wake()
        assert rewards(campaign, 8) == [1.0] * 8
        assert one.done + two.done == 8


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_the_first_tier_keeps_its_rate_too(ledger: Ledger, isolation: str) -> None:
    class Rated(vl.Verifier):
        name, version, kind = "rated", "1", "text"
        rate = "20/s"

        def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
            return [1.0 for _ in candidates]

    Rated.isolation = isolation  # type: ignore[assignment]
    with vl.Campaign.open(
        "c", ladder=vl.Ladder("l", [Rated()]), ledger=ledger, run="r", workers=2
    ) as campaign:
        begun = ledger.clock()
        values = [reward.value for reward in campaign.score([f"{number}" for number in range(25)])]
        took = ledger.clock() - begun
    assert values == [1.0] * 25
    assert (took + BURST) * 20 >= 24


def test_what_waits_for_its_rate_is_no_end_and_holds_up_nobody(ledger: Ledger) -> None:
    class Slow(Narrow):
        def verify(self, candidates: Sequence[vl.Candidate]) -> Iterator[bool]:
            return iter([True] * len(candidates))

    rated = Slow("rated of the queue", "", rate=vl.Rate("4/s", name="rated of the queue"))
    other = Slow("other of the queue", "")
    slow_one, quick_one = (
        vl.Ladder(each.name, [limits_guess, each], policy="all_tiers") for each in (rated, other)
    )
    with (
        vl.Campaign.open("one", ladder=slow_one, ledger=ledger, run="r", workers=1) as slow,
        vl.Campaign.open("two", ladder=quick_one, ledger=ledger, run="r", workers=1) as quick,
    ):
        begun = ledger.clock()
        slow.score([f"{number}" for number in range(12)])
        assert len(rewards(quick, 12)) == 12
        assert slow.drain("600 s")
        took = ledger.clock() - begun
        assert len(list(slow.revisions())) == 12
    assert (took + BURST) * 4 >= 11


@pytest.mark.parametrize("tier", ["fast", "simulation"])
def test_a_retry_after_puts_the_rate_off_for_all_hosts(
    service: Service, ledger: Ledger, tier: str
) -> None:
    rate = vl.Rate("100/s", name="service")
    service.replies = [(429, {"Retry-After": "100"}, {})]
    judge = vl.EndpointVerifier(
        name="judge", version="1", url=service.url, tier=tier, rate=rate, retries=0
    )
    gates = [] if tier == "fast" else [limits_guess]
    ladder = vl.Ladder("judge", [*gates, judge], policy="all_tiers")
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger, run="r", workers=1) as campaign:
        campaign.score(["a"])
        deadline = monotonic() + 300.0
        while not service.asked:  # What is taken below would be missing for its first attempt.
            assert monotonic() < deadline
            os.sched_yield()
        while ledger.take_tokens(rate, 1, now=(now := ledger.clock()))[1] < now + 30.0:
            assert monotonic() < deadline
            os.sched_yield()
        assert len(service.asked) == 1
