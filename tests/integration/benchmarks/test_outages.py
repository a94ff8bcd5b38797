"""What a network and a broker do to a campaign: it goes on, and everything is there once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from time import monotonic

import pytest
from chaos.cable import Cable

import verifier_ladder as vl
from verifier_ladder.errors import LedgerAwayError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.scheduler.engines.bell import Bell
from verifier_ladder.testing.servers import PostgresqlServer, RedisServer

COST = vl.Cost(seconds=0.001)


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", cost=COST)
def outage_cheap(_: vl.Candidate) -> vl.Verdict:
    return vl.Verdict(vl.Outcome.ACCEPT, 1.0, cost=COST)


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline", cost=COST)
def outage_costly(candidate: vl.Candidate) -> vl.Verdict:
    return vl.Verdict(vl.Outcome.ACCEPT, float(len(candidate.content)), cost=COST)


LADDER = vl.Ladder("l", [outage_cheap, outage_costly], policy="all_tiers")


@pytest.fixture
def cable(postgresql_server: PostgresqlServer) -> Iterator[Cable]:
    with Cable(postgresql_server.port) as made:
        yield made


@pytest.fixture
def far(cable: Cable, postgresql: str, postgresql_server: PostgresqlServer) -> str:
    """The ledger's URL at the near end of the cable."""
    return postgresql.replace(f":{postgresql_server.port}/", f":{cable.port}/")


def paid(ledger: Ledger) -> dict[int, int]:
    """How many checks were charged, tier by tier."""
    return {account.tier: round(account.settled / 0.001) for account in ledger.accounts("c")}


def told(ledger: Ledger) -> set[int]:
    """How often checks were answered."""
    entries = map(ledger.read, ledger.entries())
    return set(Counter(row.check_key for entry in entries for row in entry.verdicts).values())


def test_what_was_committed_unheard_is_there_and_the_caller_is_told_to_look(
    far: str, cable: Cable
) -> None:
    with open_ledger(far) as ledger:
        lost = cable.lose_commit()
        with pytest.raises(LedgerAwayError, match="Look before you repeat it"):
            ledger.append(Block("note", "c"))
        assert lost.is_set()
        assert ["note"] == [entry.kind for entry in ledger.entries()]


@pytest.mark.parametrize("number", range(4))
def test_a_campaign_repeats_a_commit_that_was_not_heard(
    far: str, cable: Cable, number: int
) -> None:
    with vl.Campaign.open("c", ladder=LADDER, ledger=far, run="r", workers=1) as campaign:
        for step in range(number):
            campaign.score([f"before {step}"], step=step)
        lost = cable.lose_commit()
        rewards = campaign.score(["a", "bcd", "a"], step=9, deadline=300)
        assert campaign.drain("300 s")
        assert lost.is_set()

    assert [1.0, 3.0, 1.0] == [reward.value for reward in rewards]
    with open_ledger(far) as ledger:
        assert {0: 2 + number, 1: 2 + number} == paid(ledger)
        assert {1} == told(ledger)


def silence(cable: Cable) -> None:
    """Carry nothing, and then break everything, while others try."""
    cable.hold()
    Thread(target=cable.go_on).start()


@pytest.mark.parametrize("strike", [Cable.cut, Cable.deafen, silence])
def test_a_campaign_goes_on_when_its_connections_broke(
    far: str, cable: Cable, strike: Callable[[Cable], None]
) -> None:
    with vl.Campaign.open("c", ladder=LADDER, ledger=far, run="r", workers=1) as campaign:
        campaign.score(["a"], step=0, deadline=300)
        with ThreadPoolExecutor(1) as one:
            scored = one.submit(campaign.score, ["bc", "def"], step=1, deadline=300)
            strike(cable)
            rewards = scored.result(300)
        strike(cable)
        assert campaign.drain("300 s")

    assert [2.0, 3.0] == [reward.value for reward in rewards]
    with open_ledger(far) as ledger:
        assert {0: 3, 1: 3} == paid(ledger)


def test_a_broker_that_is_silent_holds_a_campaign_up_for_moments_only() -> None:
    with RedisServer() as server, Cable(server.port) as cable:
        bell = Bell(server.url.replace(f":{server.port}/", f":{cable.port}/"))
        assert bell.ring("queue")
        cable.hold()
        began = monotonic()
        assert not bell.ring("queue")
        assert monotonic() - began < 6
        cable.go_on()
        assert bell.ring("queue")
