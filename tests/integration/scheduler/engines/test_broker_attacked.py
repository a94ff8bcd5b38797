"""A worker that listens to a broker into which somebody else writes too."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import forked
import pytest
from celery import Celery
from redis import Redis

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.scheduler.engines.bell import RING, Bell, queue_name
from verifier_ladder.testing.servers import RedisServer

# Celery advises against root, which containers run as.
pytestmark = pytest.mark.filterwarnings("ignore:.*superuser privileges")

QUEUE = queue_name(vl.Tier.SIMULATION, "cpu")
STOLEN = "stolen"
"""A queue that only a worker that obeys would send to."""
CODE = """
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def broker_guess(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1")
def broker_measure(candidate):
    return 2.0

ladder = vl.Ladder("l", [broker_guess, broker_measure], policy="all_tiers")
if __name__ == "__main__":
    import sys
    with vl.Campaign.open("c", ladder=ladder, ledger=sys.argv[1], engine="celery") as campaign:
        campaign.score(["an honest text"])
        campaign.drain("200 s")
"""
_PATIENCE = 200.0


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    found: str = request.getfixturevalue("postgresql")
    return found


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    """A broker of this test alone: what is in it is counted."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def worker(url: str, broker: RedisServer, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "mine.py").write_text(CODE)
    open_ledger(url).close()
    with (tmp_path / "worker.log").open("w") as log:
        process = forked.Popen(
            [sys.executable, "-m", "verifier_ladder.cli", "worker", "start", "--import", "mine.py",
             "--ledger", url, "--workers", "1", "--broker", broker.url],
            cwd=tmp_path, stderr=log, stdout=log, text=True,
        )  # fmt: skip
    yield process
    process.kill()
    process.wait()


def until(condition: Any, process: subprocess.Popen[str]) -> None:
    deadline = monotonic() + _PATIENCE
    while not condition():
        assert process.poll() is None, "the worker has ended"
        assert monotonic() < deadline, "the condition never came true"
        sleep(0.05)


def forged(sent: bytes, canary: Path) -> list[bytes | str]:
    """Messages that nobody of the project sends."""
    whole = json.loads(sent)

    def body(*parts: Any) -> str:
        return b64encode(json.dumps(parts).encode()).decode()

    def message(content: str, kind: str = "application/json", **headers: Any) -> str:
        named = {**whole["headers"], **headers}
        return json.dumps({**whole, "body": content, "headers": named, "content-type": kind})

    other = {"task": "celery.group", "args": [], "options": {"queue": STOLEN}, "kwargs": {}}
    embedded = {"callbacks": [other], "errbacks": [other], "chain": [other], "chord": other}
    bomb = b64encode(pickle.dumps(Bomb(canary))).decode()
    yaml = b64encode(f"!!python/object/apply:os.mknod [{canary}]".encode()).decode()
    names = ("os.system", "celery.map", "celery.backend_cleanup", "celery.chord_unlock", "", None)
    return [
        b"not JSON", sent[:50], b"[]", b"{}", b"null", b'{"headers": 3}',
        *(message(body([f"touch {canary}"], {}, {}), task=name) for name in names),
        message(body([], {}, embedded)),
        message(body([], {}, {**embedded, "callbacks": [{**other, "task": RING}]})),
        message(body(["a", "b"], {"c": 1}, {})),
        message(bomb, "application/x-python-serialize"), message(bomb, "application/json"),
        message(yaml, "application/x-yaml"),
        message(body([], {}, {}), eta="2100-01-01T00:00:00", expires="1970-01-01T00:00:00"),
        message(body([], {}, {}), compression="application/x-bz2"),
        json.dumps({**json.loads(message(body([], {}, {}))), "properties": {
            **whole["properties"], "reply_to": STOLEN, "correlation_id": "x",
        }}),
        message("x" * 3_000_000),
    ]  # fmt: skip


def test_messages_and_commands_of_strangers_do_nothing_and_honest_ones_are_heard(
    url: str, broker: RedisServer, worker: forked.Popen, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    store: Any = Redis.from_url(broker.url)
    assert Bell(broker.url).ring("template")
    sent = store.lpop("template")
    messages = forged(sent, canary)
    assert Bell(broker.url).ring(QUEUE)
    until(lambda: not store.llen(QUEUE), worker)  # It listens.
    for message in messages:
        store.lpush(QUEUE, message)
    control = Celery("stranger", broker=broker.url).control
    control.broadcast("pool_restart", arguments={"modules": ["this"], "reload": True})
    control.broadcast("add_consumer", arguments={"queue": STOLEN})
    control.broadcast("shutdown")
    assert not control.ping(timeout=1.0)
    until(lambda: not store.llen(QUEUE), worker)

    done = forked.run(
        [sys.executable, "mine.py", url], cwd=tmp_path, check=False, timeout=300,
        env={**os.environ, "VLADDER_BROKER": broker.url},
    )  # fmt: skip

    assert 0 == done.returncode
    assert worker.poll() is None
    with open_ledger(url) as ledger:
        assert [CheckState.DONE] == [check.state for check in ledger.checks()]
    assert not canary.exists()
    assert not [key for key in store.keys("*") if STOLEN.encode() in key]
    assert (
        "a message of a stranger was dropped: 'os.system'" in (tmp_path / "worker.log").read_text()
    )
