"""A disk that fills under a campaign: what was acknowledged stays, and work goes on with room.

The disk is a small file system of a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from chaos import smalldisk

SCRIPT = """
import json, logging, os, sys, tempfile
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from chaos.smalldisk import fill, mount

folder, on_server = Path(sys.argv[1]), sys.argv[2] == "server"
if not mount(folder, 300 if on_server else 8):
    sys.exit(3)

import verifier_ladder as vl
from verifier_ladder import campaign as campaigns
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.testing.servers import PostgresqlServer

log = logging.getLogger("verifier_ladder")
said = {"acknowledged": 0, "refused": []}
ballast = folder / "ballast"

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def guess(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def measure(candidate):
    if "full" not in str(candidate.content):
        return float(len(candidate.content))
    if not keeper.ident:  # A check that is tried again finds the room that was made.
        fill_up()
        keeper.start()
    # A server keeps room in the pages that it has: all together this is more than it has there.
    # It can't be packed much, and is less than would be left out.
    return vl.Verdict.accept(4.0, evidence={"log": b64encode(os.urandom(45_000)).decode()})

def fill_up():
    '''Leave no room on the disk, and none in the file either.'''
    fill(folder)
    with open_ledger(place) as other:
        for size in (100_000, 1_000, 1):
            try:
                while True:
                    other.append(Block("note", "c", facts={"text": "x" * size}))
                    said["acknowledged"] += 1
            except vl.LedgerError as error:
                said["refused"].append(str(error))

met = Event()

def keep_full():
    '''Take what a server gives back, until the engine has met the full disk.'''
    with (folder / "more").open("wb", buffering=0) as file:
        while not met.wait(0.001):
            with suppress(OSError):
                while file.write(bytes(4096)):
                    pass

keeper = Thread(target=keep_full, daemon=True)

def make_room(*_):
    met.set()
    if keeper.ident:
        keeper.join()
    for name in ("ballast", "more"):
        (folder / name).unlink(missing_ok=True)

class OnWarning(logging.Handler):
    def emit(self, record):
        if "The engine goes on" in record.getMessage():  # Not the log of what was noted.
            said.setdefault("warned", record.getMessage())
            make_room()

tempfile.tempdir = str(folder)
server = PostgresqlServer() if on_server else None
if server:
    server.start()
place = server.new_database() if server else folder / "ledger.db"
ladder = vl.Ladder("l", [guess, measure], policy="all_tiers")
with vl.Campaign.open("c", ladder=ladder, ledger=place, run="r", workers=1) as c:
    said["before"] = [r.value for r in c.score(["a", "bcd"], step=0, deadline=300)]
    fill_up()
    sleep, campaigns.sleep = campaigns.sleep, make_room  # When a call waits, room is made.
    said["waited"] = [r.value for r in c.score(["ab" * 5000], step=1, deadline=300)]
    said["room"] = not ballast.exists()
    make_room()
    campaigns.sleep = sleep
    met.clear()
    log.addHandler(OnWarning())
    texts = [f"full {number}" for number in range(16)]
    said["engine"] = [r.value for r in c.score(texts, step=2, deadline=300)]
    c.drain("300 s")
make_room()  # A ledger is verified with room.
with open_ledger(place) as ledger:
    kinds = [entry.kind for entry in ledger.entries()]
    said["notes"] = kinds.count("note")
    said["checks"] = [account.checks for account in ledger.accounts("c")]
    said["problems"] = list(map(str, ledger.verify().problems))
if server:
    server.close()
print(json.dumps(said))
"""


@pytest.fixture
def folder() -> Iterator[str]:
    """One that a server's user can reach: pytest's own are closed to it."""
    with TemporaryDirectory() as name:
        yield name


@pytest.mark.parametrize("where", ["file", "server"])
def test_a_campaign_waits_for_room_and_loses_nothing(
    where: str, folder: str, require: Callable[[str, bool, str], None]
) -> None:
    path = os.pathsep.join([str(Path(smalldisk.__file__).parents[1]), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, folder, where],
        env={**os.environ, "PYTHONPATH": path, "VLADDER_KEY": f"{folder}/ledger.key"},
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    require("mount", ran.returncode != 3, "makes a small disk, in a name space of its own")
    assert ran.returncode == 0, ran.stderr[-3000:]
    said = json.loads(ran.stdout)

    assert [1.0, 3.0] == said["before"]
    assert [10000.0] == said["waited"]
    assert [4.0] * 16 == said["engine"]
    assert all("disk is full; nothing of this call was" in text for text in said["refused"])
    assert said["acknowledged"] == said["notes"]
    assert said["room"]
    assert "disk is full" in said["warned"]
    assert [19, 19] == said["checks"]
