"""A home keeps its users and its door, whatever those who attach do, and whatever is short."""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import forked
import pytest

import verifier_ladder as vl
from verifier_ladder.scheduler.engines import home as homes
from verifier_ladder.scheduler.engines import remote
from verifier_ladder.scheduler.engines.remote import HomeLostError, RemoteConductor


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


LADDER = vl.Ladder("lengths", [length])
OTHER = """
import sys
import verifier_ladder as vl
from verifier_ladder.scheduler.engines.remote import RemoteConductor

@vl.verifier(kind="text", version="2", isolation="inline")
def other(candidate):
    return 0.0

RemoteConductor(sys.argv[1], "one", vl.Ladder("other", [other]))
"""
FORKS = """
import os, sys
import verifier_ladder as vl
from verifier_ladder.scheduler.engines.remote import RemoteConductor

@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate):
    return float(len(candidate.content))

ladder = vl.Ladder("lengths", [length])
def opened():
    return vl.Campaign.open("one", ladder=ladder, ledger=sys.argv[1])

with opened() as campaign:
    if not (ended := os.fork()):
        sys.exit(0)
    os.waitpid(ended, 0)
    RemoteConductor(campaign.ledger.url, "two", ladder).close()
    print("attached")
    held, end = os.pipe()
    if not (living := os.fork()):
        os.close(end)
        os.read(held, 1)
        os._exit(0)
with opened() as campaign:
    print(campaign.score(["abc"])[0].value)
os.close(end)
os.waitpid(living, 0)
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ledger.db"


def test_a_process_that_is_refused_and_gone_ends_nobodys_campaign(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    conductor, is_asking, is_gone = homes.Home.conductor, Event(), Event()
    serving: list[Thread] = []

    def refuse_later(home: homes.Home, name: str, ladder: vl.Ladder) -> Any:
        serving.append(current_thread())
        is_asking.set()
        assert is_gone.wait(60)
        return conductor(home, name, ladder)

    (tmp_path / "other.py").write_text(OTHER)
    with vl.Campaign.open("one", ladder=LADDER, ledger=url) as campaign:
        monkeypatch.setattr(homes.Home, "conductor", refuse_later)
        process = forked.Popen([sys.executable, "other.py", url], cwd=tmp_path)
        is_asked = is_asking.wait(60)
        process.kill()
        process.wait()
        assert is_asked
        is_gone.set()
        serving[0].join(60)

        assert [3.0] == [reward.value for reward in campaign.score(["abc"])]


def test_a_ladder_whose_code_leaves_the_program_is_refused_in_words(url: str) -> None:
    class Leaving(vl.Ladder):
        def __reduce__(self) -> Any:
            return sys.exit, (2,)

    with vl.Campaign.open("one", ladder=LADDER, ledger=url) as campaign:
        with pytest.raises(vl.EngineError, match="SystemExit: 2"):
            RemoteConductor(url, "other", Leaving("leaving", [length]))

        assert [3.0] == [reward.value for reward in campaign.score(["abc"])]


@pytest.mark.parametrize("call", ["accept", "look"])
def test_a_home_short_of_descriptors_lets_others_in_later(
    url: str, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real = socket.socket.accept if call == "accept" else homes.is_same_user
    faults = [OSError(errno.EMFILE, os.strerror(errno.EMFILE))]

    def short(*arguments: Any) -> Any:
        if faults:
            raise faults.pop()
        return real(*arguments)

    with vl.Campaign.open("one", ladder=LADDER, ledger=url):
        if call == "accept":
            monkeypatch.setattr(socket.socket, "accept", short)
            RemoteConductor(url, "one", LADDER).close()  # The home was at `accept` already.
        else:
            monkeypatch.setattr(homes, "is_same_user", short)
            with pytest.raises(HomeLostError):
                RemoteConductor(url, "one", LADDER)
        attached = RemoteConductor(url, "one", LADDER)

        assert 0 == attached.take_step("run")
        assert not faults
        attached.close()


def test_a_home_that_says_nothing_is_not_waited_for_without_end(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_PATIENCE", 0.05)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "home"))
        listener.listen()
        homes.lock_of(url).write_text(str(tmp_path / "home"))

        with pytest.raises(HomeLostError, match="has not said a word"):
            RemoteConductor(url, "one", LADDER)


def test_forked_children_hold_nothing_of_a_home(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)

    done = forked.run(
        [sys.executable, "forks.py", "ledger.db"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert ["attached", "3.0"] == done.stdout.split(), done.stderr
