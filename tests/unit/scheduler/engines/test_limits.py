"""Limits of verifiers: seats of a machine, and the gate at which a learner's checks wait."""

import os
import subprocess
import sys
from concurrent.futures import Future, wait
from itertools import count
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.rate import Rate
from verifier_ladder.scheduler.engines.limits import Entry, Gate, Seats, take_seat

_fresh = count()


class Limited(vl.Verifier):
    """A verifier of its own, so that no other test holds its seats."""

    version, kind = "1", "text"

    def __init__(self, **limits: Any) -> None:
        self.name = f"limited {os.getpid()} {next(_fresh)}"
        vars(self).update(limits)
        super().__init__()


def test_there_are_as_many_seats_as_a_verifier_declares() -> None:
    verifier = Limited(max_processes=2)
    first, second = take_seat(verifier), take_seat(verifier)
    assert first
    assert second
    assert take_seat(verifier) is None
    first.release()
    third = take_seat(verifier)
    assert third
    third.release()
    second.release()


def test_a_seat_is_free_again_when_its_process_is_killed() -> None:
    verifier = Limited(max_processes=1)
    program = (
        "import sys, time\n"
        "from verifier_ladder.scheduler.engines.limits import take_seat\n"
        "class Other:\n"
        "    services, max_processes, digest = {}, 1, bytes.fromhex(sys.argv[1])\n"
        "seat = take_seat(Other())\n"
        "print('sits' if seat else 'stands', flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, verifier.digest.hex()], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "sits\n"
        assert take_seat(verifier) is None
        other.kill()
        other.wait()
    seat = take_seat(verifier)
    assert seat
    seat.release()


def test_seats_are_kept_for_what_is_at_work_only() -> None:
    verifier, seats = Limited(max_processes=2), Seats()
    assert [seats.hold(verifier, number) for number in (1, 2, 3)] == [True, True, False]
    assert take_seat(verifier) is None
    seats.keep({verifier.digest: 1})
    seat = take_seat(verifier)
    assert seat
    seat.release()
    seats.keep({})
    assert seats.hold(verifier, 2)
    seats.keep({})


def test_a_verifier_without_limits_holds_nothing() -> None:
    seats = Seats()
    assert seats.hold(Limited(), 1000)
    assert take_seat(Limited())


def test_who_may_not_begin_yet_waits_at_the_gate() -> None:
    verifier = Limited(rate="20/s")
    with open_ledger(None) as ledger:
        gate, begun = Gate(ledger), ledger.clock()
        counts = [gate.enter(verifier, 4).result(300).count for _ in range(8)]
        took = ledger.clock() - begun
    assert sum(counts) >= 8
    assert sum(counts) <= (took + 0.5) * 20 + 1


def test_who_goes_away_from_the_gate_takes_nothing_along() -> None:
    verifier = Limited(max_processes=1)
    with open_ledger(None) as ledger:
        gate = Gate(ledger)
        inside = gate.enter(verifier, 1).result(300)
        gone, next_one = gate.enter(verifier, 1), gate.enter(verifier, 1)
        assert gone.cancel()
        inside.leave()
        next_one.result(300).leave()
        seat = take_seat(verifier)
        assert seat
        seat.release()


def test_two_that_wait_for_different_limits_do_not_wait_for_each_other() -> None:
    slow, quick = Limited(rate="1/h"), Limited(rate="1000/s")
    with open_ledger(None) as ledger:
        gate = Gate(ledger)
        gate.enter(slow, 1).result(300)
        never = gate.enter(slow, 1)
        for _ in range(20):
            assert gate.enter(quick, 100).result(300).count >= 1
        assert not never.done()
        assert never.cancel()


def test_who_comes_while_the_gate_looks_is_seen() -> None:
    slow, quick = Limited(rate="1/h"), Limited(rate="1000/s")
    came: list[Future[Entry]] = []

    class Looked(MemoryLedger):
        def take_tokens(self, rate: Rate, wanted: int, *, now: float) -> tuple[int, float]:
            if not came:
                came.append(gate.enter(quick, 1))
            return super().take_tokens(rate, wanted, now=now)

    ledger = Looked()
    ledger.put_off(slow.shared_rate or Rate("1/s"), 300.0, now=ledger.clock())
    gate = Gate(ledger)
    never = gate.enter(slow, 1)
    while not came:
        os.sched_yield()
    assert came[0].result(100).count == 1
    assert never.cancel()


def test_what_the_ledger_can_not_tell_is_told_to_who_waits() -> None:
    ledger = MemoryLedger()
    ledger.close()
    gate = Gate(ledger)
    futures: list[Future[object]] = [gate.enter(Limited(rate="1/s"), 1) for _ in range(2)]  # type: ignore[misc]
    wait(futures, 300)
    for future in futures:
        with pytest.raises(LedgerError, match="closed"):
            future.result(0)
