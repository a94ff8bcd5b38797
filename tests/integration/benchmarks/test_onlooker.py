"""Chaos sees an execution that begins after its answer was recorded."""

from pathlib import Path
from threading import Event

import pytest
from chaos.campaigning import open_campaign
from chaos.onlooker import Onlooker

from verifier_ladder.ledger import Ledger


@pytest.mark.timeout(300)
def test_only_what_begins_after_its_answer_was_there_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, executions = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "executions"
    has_read = Event()
    read = Onlooker._read

    def reading(self: Onlooker, store: Ledger) -> None:
        read(self, store)
        if {name for name, _ in self.seen} >= {"quick", "model", "costly"}:
            has_read.set()

    monkeypatch.setattr(Onlooker, "_read", reading)
    with Onlooker(address) as onlooker:
        with open_campaign(address, executions, "r") as campaign:
            campaign.score(["one", "two"])
            assert has_read.wait(200)
        noted = executions.read_text()
        assert 0 == onlooker.late(executions)

        again = noted.splitlines()[0].rpartition("\t")[0]
        executions.write_text(f"{noted}{again}\t{max(onlooker.seen.values()) + 1}\n")
        assert 1 == onlooker.late(executions)
