"""Decisions that a restart of the server overtakes: they are made anew, or by whoever may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger, postgresqlbaton
from verifier_ladder.ledger.baton import BatonLostError
from verifier_ladder.testing.servers import PostgresqlServer

CUT = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
    "WHERE application_name LIKE 'vladder %'"
)
MEANWHILE: list[Callable[[], object]] = []
"""What happens between a decision's beginning and its being written."""


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def fenced_cheap(_: vl.Candidate) -> float:
    while MEANWHILE:
        MEANWHILE.pop()()
    return 1.0


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def fenced_costly(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


LADDER = vl.Ladder("l", [fenced_cheap, fenced_costly], policy="all_tiers")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresqlbaton, "PATIENCE", 0.2)


@pytest.fixture
def elsewhere(postgresql: str) -> Iterator[Ledger]:
    """Another machine."""
    with open_ledger(postgresql) as opened:
        yield opened


def test_a_decision_that_a_restart_overtook_is_made_anew(
    postgresql: str, postgresql_server: PostgresqlServer, elsewhere: Ledger
) -> None:
    with vl.Campaign.open("c", ladder=LADDER, ledger=postgresql, run="r", workers=1) as campaign:
        MEANWHILE.append(lambda: postgresql_server.execute(CUT, "ledger"))
        rewards = campaign.score(["a", "bcd"], step=0, deadline=300)

    assert [1.0, 3.0] == [reward.value for reward in rewards]
    assert [2, 2] == [account.checks for account in elsewhere.accounts("c")]
    assert 1 == len(list(elsewhere.entries(kind="score")))


def test_a_decision_is_not_written_once_another_machine_has_the_campaign(
    postgresql: str, postgresql_server: PostgresqlServer, elsewhere: Ledger
) -> None:
    with (
        vl.Campaign.open("c", ladder=LADDER, ledger=postgresql, run="r", workers=1) as campaign,
        ExitStack() as stack,
    ):

        def take_it() -> None:
            """Cut until the other machine is quicker than the campaign's own new connection."""
            while True:
                postgresql_server.execute(CUT, "ledger")
                with suppress(vl.ConfigError):
                    stack.enter_context(elsewhere.baton("c"))
                    return

        MEANWHILE.append(take_it)
        with pytest.raises(BatonLostError, match="while the connection to the server was broken"):
            campaign.score(["a", "bcd"], step=0)

    assert [] == list(elsewhere.entries(kind="score"))
