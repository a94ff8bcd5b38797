"""What the meter makes of a thread that the kernel tells about, at moments of its own."""

import os
from collections.abc import Iterator

import pytest

from verifier_ladder.tiers.sandbox import meter as module
from verifier_ladder.tiers.sandbox.meter import Meter

RUNS, TURN = 0.004, 0.124
"""Seconds that the thread runs, of those in which all others have their turn too."""


class Machine:
    """One thread that always wants a core, on a machine whose kernel tells of waits afterwards."""

    now = 0.0

    def thread(self, *_: object) -> Iterator[tuple[str, module._Thread]]:
        turns, rest = divmod(self.now, TURN)
        is_waiting = rest < TURN - RUNS
        ran = turns * RUNS + (0.0 if is_waiting else rest - (TURN - RUNS))
        waited = (turns + (not is_waiting)) * (TURN - RUNS)
        yield "1", module._Thread(0.001 + ran, waited, True)  # noqa: FBT003


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(module, "monotonic", lambda: made.now)
    monkeypatch.setattr(module, "_threads_of", made.thread)
    return made


@pytest.mark.parametrize("step", [0.03, 0.11])
def test_a_thread_that_waits_for_longer_than_a_look_is_not_charged_for_it(
    machine: Machine, step: float
) -> None:
    limits = {"cpu": 1e6, "wall": 0.5, "memory": 1 << 60, "processes": 9, "longest": 1e6}
    meter = Meter(lambda: [os.getpid()], limits)
    found = ""
    while not found and machine.now < 60:
        meter.pause()
        machine.now += step
        found = meter.look()

    assert machine.now * RUNS / TURN == pytest.approx(0.5, rel=0.3), (found, machine.now)
