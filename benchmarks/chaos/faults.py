"""What strikes the crew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from time import sleep

import psutil
from chaos.crew import Crew, children

Fault = Callable[[Crew, Random], None]


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


FAULTS: dict[str, Fault] = {
    "worker": kill_worker, "home": kill_home, "home and workers": kill_tree,
    "attached rank": kill_attached, "every rank": kill_all, "frozen home": freeze_home,
}  # fmt: skip
