"""What strikes the crew's processes."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from time import sleep

import psutil
from chaos.clock import put
from chaos.crew import Crew, children
from chaos.outages import SERVER_FAULTS, Fault, revive
from chaos.smalldisk import fill

from verifier_ladder.scheduler.engines.dispatcher import LEASE

_HOUR = 3600.0


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()


def kill_worker(crew: Crew, rng: Random) -> None:
    """Kill one worker process of the home."""
    home = crew.home()
    workers = children(home) if home else []
    _kill([rng.choice(workers)] if workers else [])


def kill_home(crew: Crew, rng: Random) -> None:
    """Kill the process that runs the checks; its workers are left without a parent."""
    del rng
    home = crew.home()
    _kill([home] if home else [])


def kill_tree(crew: Crew, rng: Random) -> None:
    """Kill the home and its workers at once."""
    del rng
    home = crew.home()
    _kill([home, *children(home)] if home else [])


def kill_attached(crew: Crew, rng: Random) -> None:
    """Kill a rank that is attached to the home."""
    others = crew.others()
    _kill([rng.choice(others)] if others else [])


def kill_all(crew: Crew, rng: Random) -> None:
    """Kill every rank at once."""
    del rng
    _kill([*crew.others(), *([home] if (home := crew.home()) else [])])


def freeze_home(crew: Crew, rng: Random) -> None:
    """Stop the home for a while, as a machine that swaps would; the others wait for it."""
    home = crew.home()
    if home is None:
        return
    with suppress(psutil.Error):
        home.suspend()
        sleep(rng.uniform(0.5, 2.0))
        home.resume()


def kill_host(crew: Crew, rng: Random) -> None:
    """Kill a worker host, with its workers or without them."""
    if crew.hosts:
        host = rng.choice(crew.hosts)
        _kill([host, *(children(host) if rng.random() < 0.5 else [])])  # noqa: PLR2004 - a coin


def freeze_past_lease(crew: Crew, rng: Random) -> None:
    """Stop a worker host until others have taken its checks over; then it goes on with them."""
    if crew.hosts:
        host = rng.choice(crew.hosts)
        with suppress(psutil.Error):
            host.suspend()
            sleep(LEASE + rng.uniform(5.0, 15.0))
            host.resume()


def kill_worker_of_host(crew: Crew, rng: Random) -> None:
    """Kill one worker process of a host."""
    workers = [worker for host in crew.hosts for worker in children(host)]
    _kill([rng.choice(workers)] if workers else [])


def jump(crew: Crew, rng: Random) -> None:
    """Put one process's clock an hour ahead or back, and right again after a while."""
    file = rng.choice(crew.clocks)
    put(file, rng.choice([_HOUR, -_HOUR]))
    sleep(rng.uniform(0.5, 3.0))
    put(file, 0.0)


def fill_disk(crew: Crew, rng: Random) -> None:
    """Leave no room on the ledger's disk for a while."""
    if crew.place.disk is not None:
        ballast = fill(crew.place.disk)
        sleep(rng.uniform(0.5, 3.0))
        ballast.unlink()
        revive(crew.place.database)


FAULTS: dict[str, Fault] = {
    "worker": kill_worker, "home": kill_home, "home and workers": kill_tree,
    "attached rank": kill_attached, "every rank": kill_all, "frozen home": freeze_home,
    "a clock": jump,
}  # fmt: skip
HOST_FAULTS: dict[str, Fault] = {"host": kill_host, "host's worker": kill_worker_of_host}
"""Faults of a crew that has worker hosts."""
SLOW_FAULTS: dict[str, Fault] = {"host past its lease": freeze_past_lease}
"""Those that take minutes; they strike only where they are named."""
DISK_FAULTS: dict[str, Fault] = {"full disk": fill_disk}
"""Faults of a crew whose ledger lies on a small disk."""


def faults_of(crew: Crew) -> dict[str, Fault]:
    """What can strike a crew."""
    beside = HOST_FAULTS | SLOW_FAULTS if crew.hosts else {}
    servers = SERVER_FAULTS if crew.place.database else {}
    return FAULTS | beside | servers | (DISK_FAULTS if crew.place.disk else {})
