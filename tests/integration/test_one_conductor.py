"""One process of all machines decides for a campaign on a server.

Two temporary folders stand for two machines: their processes find no lock file of each other.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import forked
import pytest

from verifier_ladder.ledger import open_ledger
from verifier_ladder.testing.servers import PostgresqlServer

SCRIPT = """
import json, sys
import verifier_ladder as vl
from verifier_ladder.errors import LadderError
from verifier_ladder.ledger import postgresqlbaton

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def guess(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def measure(candidate):
    return float(len(candidate.content))

postgresqlbaton.PATIENCE = float(sys.argv[3])
ladder = vl.Ladder("lengths", [guess, measure], policy="all_tiers")
opened = {}

def do(word, name, text=""):
    if word == "open":
        opened[name] = vl.Campaign.open(
            name, ladder=ladder, ledger=sys.argv[1], run=sys.argv[2], workers=1
        )
        return name
    if word == "close":
        return opened.pop(name).close()
    return [r.value for r in opened[name].score([text], deadline=300)]

for line in sys.stdin:
    try:
        said = do(*line.split())
    except LadderError as error:
        said = type(error).__name__ + ": " + str(error)
    print(json.dumps(said), flush=True)
"""


class Machine:
    """A process that opens campaigns and scores when it is told to."""

    def __init__(self, url: str, folder: Path, patience: float) -> None:
        folder.mkdir(exist_ok=True)
        self.process = forked.Popen(
            [sys.executable, "-c", SCRIPT, url, folder.name, str(patience)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": str(folder)},
        )  # fmt: skip

    def __call__(self, *words: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(*words, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        """Kill −9."""
        self.process.kill()
        self.process.communicate()


Start = Callable[..., Machine]


@pytest.fixture
def start(postgresql: str, tmp_path: Path) -> Iterator[Start]:
    machines: list[Machine] = []

    def begin(name: str, patience: float = 20.0) -> Machine:
        machines.append(Machine(postgresql, tmp_path / name, patience))
        return machines[-1]

    yield begin
    for machine in machines:
        machine.kill()


def test_a_second_machine_is_refused_until_the_first_has_died(start: Start) -> None:
    first, second = start("first"), start("second", patience=0.1)
    assert first("open", "one") == "one"
    refusal = second("open", "one")
    assert refusal.startswith(
        f"ConfigError: campaign 'one' is open in process {first.process.pid} on "
    )
    assert second("open", "another") == "another"  # It is only this campaign that is refused.
    assert first("score", "one", "abc") == [3.0]

    third = start("second")
    assert third("open", "another").startswith("another")  # The same machine: it attaches.
    first.kill()
    assert third("open", "one") == "one"
    assert third("score", "one", "abcd") == [4.0]


def test_a_server_that_is_restarted_lets_the_same_machine_go_on(
    start: Start, postgresql: str, postgresql_server: PostgresqlServer
) -> None:
    first, second = start("first"), start("second", patience=0.1)
    assert first("open", "one") == "one"
    assert first("score", "one", "abc") == [3.0]
    postgresql_server.kill()
    postgresql_server.start()
    assert first("score", "one", "abcd") == [4.0]
    assert second("open", "one").startswith("ConfigError: campaign 'one' is open in process")
    with open_ledger(postgresql) as ledger:
        assert [account.checks for account in ledger.accounts("one")] == [2, 2]


def test_who_has_lost_a_campaign_to_another_machine_decides_nothing_more(
    start: Start, postgresql: str, postgresql_server: PostgresqlServer
) -> None:
    first, second = start("first", patience=0.1), start("second")
    assert [first("open", "one"), first("open", "another")] == ["one", "another"]
    assert first("score", "one", "abc") == [3.0]
    first.process.send_signal(signal.SIGSTOP)  # Awake, it would notice and take it again at once.
    postgresql_server.kill()
    postgresql_server.start()
    assert second("open", "one") == "one"
    first.process.send_signal(signal.SIGCONT)

    said = first("score", "one", "abcd")

    assert said.startswith("BatonLostError: campaign 'one' was opened in process")
    assert f"process {second.process.pid} on " in said
    assert first("score", "another", "abcd") == [4.0]  # Its other campaigns go on,
    assert [first("close", "another"), first("open", "another")] == [None, "another"]
    assert first("score", "another", "bcde") == [4.0]  # and can be opened again.
    assert second("score", "one", "abcde") == [5.0]
    with open_ledger(postgresql) as ledger:
        assert ledger.count_samples("one") == 2
    assert first("close", "one") is None
    assert second("close", "one") is None
    assert first("open", "one") == "one"
    assert first("score", "one", "abcdef") == [6.0]
