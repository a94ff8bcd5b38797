"""What another user of the machine sends over a ledger's local socket is not unpickled."""

import os
import pickle
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.scheduler.engines.home import address_of, lock_of
from verifier_ladder.scheduler.engines.remote import HomeLostError, RemoteConductor

NOBODY = 65534
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # Of forks; these use no lock.
]


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


LADDER = vl.Ladder("lengths", [length])


class Hostile:
    """Makes a folder where it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.place),)


def framed(message: object) -> bytes:
    """A message as `multiprocessing.connection` sends it."""
    body = pickle.dumps(message)
    return len(body).to_bytes(4, "big") + body


As = Callable[[Callable[[], None]], None]


@pytest.fixture
def as_another() -> Iterator[As]:
    """Runs a function in a process of another user, to its end when the test ends."""
    made: list[int] = []

    def run(function: Callable[[], None]) -> None:
        child = os.fork()
        if not child:
            with suppress(BaseException):
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                function()
            os._exit(0)
        made.append(child)

    yield run
    for child in made:
        os.waitpid(child, 0)


def test_a_home_of_another_user_is_not_believed(tmp_path: Path, as_another: As) -> None:
    url, marker = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "marker"
    place, (told, tell) = tmp_path / "home", socket.socketpair()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))  # The file is ours; who listens is not.
        lock_of(url).write_text(str(place))

        def listen() -> None:
            listener.listen()
            tell.sendall(b".")
            peer, _ = listener.accept()
            peer.sendall(framed((True, Hostile(marker))))
            peer.recv(1)

        as_another(listen)
        told.recv(1)
    with pytest.raises(HomeLostError, match="another user"):
        RemoteConductor(url, "one", LADDER)
    told.close()
    tell.close()

    assert not marker.exists()


@pytest.mark.parametrize("is_open", [False, True])
def test_another_user_reaches_no_home(tmp_path: Path, as_another: As, *, is_open: bool) -> None:
    url, marker = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "marker"
    ours, theirs = socket.socketpair()

    def attack() -> None:
        place = theirs.recv(1000).decode()
        with socket.socket(socket.AF_UNIX) as peer:
            try:
                peer.connect(place)
                peer.sendall(framed(Hostile(marker)))
                peer.recv(1)
            except OSError as error:
                theirs.sendall(type(error).__name__.encode())
                return
        theirs.sendall(b"ended")

    as_another(attack)
    with vl.Campaign.open("one", ladder=LADDER, ledger=tmp_path / "ledger.db") as campaign:
        place = Path(address_of(url))
        if is_open:  # As if its folder were not there to keep it.
            place.parent.chmod(0o777)
            place.chmod(0o777)
        ours.sendall(str(place).encode())
        said = ours.recv(100).decode()
        assert [3.0] == [reward.value for reward in campaign.score(["abc"])]
    ours.close()
    theirs.close()

    assert said in (
        {"ended", "BrokenPipeError", "ConnectionResetError"} if is_open else {"PermissionError"}
    )
    assert not marker.exists()
