"""A process that opens while the database's server recovers waits for it."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import faults, open_ledger
from verifier_ladder.testing.servers import PostgresqlServer


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


class Heard(logging.Handler):
    """Notes that a process has said it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "waited for" in record.getMessage():
            self.waits.set()


def test_opening_waits_for_a_server_that_recovers() -> None:
    heard, log = Heard(), logging.getLogger("verifier_ladder")
    log.addHandler(heard)
    try:
        with PostgresqlServer() as server, ThreadPoolExecutor(1) as other:
            url = server.new_database()
            with vl.Campaign.open("before", ladder=vl.Ladder("one", [length]), ledger=url) as it:
                it.score(["a"])
            server.kill()
            opening = other.submit(
                vl.Campaign.open, "before", ladder=vl.Ladder("one", [length]), ledger=url
            )
            assert heard.waits.wait(300)
            server.start()
            with opening.result(300) as campaign:
                assert [3.0] == [reward.value for reward in campaign.score(["abc"])]
    finally:
        log.removeHandler(heard)


def test_a_command_that_only_reads_is_told_at_once() -> None:
    with pytest.raises(vl.LedgerError, match="can't be reached"):
        open_ledger("postgresql://nobody@127.0.0.1:1/nothing")


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "PATIENCE", 0.0)

    with pytest.raises(vl.LedgerError, match="can't be reached"):
        open_ledger("postgresql://nobody@127.0.0.1:1/nothing", wait=True)
