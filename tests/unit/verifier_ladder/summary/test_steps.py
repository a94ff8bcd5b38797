"""Curves of a training, from a ledger that was written by hand."""

from collections.abc import Iterator
from typing import Any

import pytest
from histories import History, Item

from verifier_ladder.candidate import SampleId
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block, Entry
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.drift import Alarm, Direction
from verifier_ladder.scheduler.shadow import shadow_name
from verifier_ladder.summary.steps import StepCurves, StepMeans


def add(ledger: MemoryLedger, name: str, step: int, *values: float | None) -> None:
    """Have a campaign score a step of the run `one`."""
    history = History(ledger, name)
    items = [Item(f"t {i}", f"t {i}", reward=Reward(value)) for i, value in enumerate(values)]
    block = history._block("score", items, "one", step, range(len(items)))
    block.candidates = [history._candidate(item) for item in items]
    ledger.append(block)


def alarm(step: int) -> Block:
    place = SampleId("one", step, 0)
    found = Alarm("cheap", Direction.OVERRATED, 3, SampleId("one", 0, 0), place, ())
    return Block("alarm", "c", facts=found.as_json())


def test_told_and_shadow_are_means_of_each_step() -> None:
    ledger = MemoryLedger()
    add(ledger, "c", 0, 1.0, 0.5)
    add(ledger, "c", 1, 1.0, None)
    add(ledger, shadow_name("c"), 0, 0.0, 0.5)
    add(ledger, shadow_name("c"), 1, None, None)

    curves = StepCurves(ledger, "c")

    assert curves.steps == [StepMeans("one", 0, 0.75, 0.25), StepMeans("one", 1, 1.0, None)]
    assert curves.runs == {"one": curves.steps}


def test_it_reads_on_from_where_it_stopped() -> None:
    ledger = MemoryLedger()
    add(ledger, "c", 0, 1.0)
    add(ledger, shadow_name("c"), 0, 0.0)
    curves = StepCurves(ledger, "c")
    add(ledger, "c", 1, 0.5)
    add(ledger, shadow_name("c"), 1, 0.5)
    ledger.append(alarm(1))

    curves.refresh()

    assert [0, 1] == [step.step for step in curves.steps]
    assert curves.alarmed("one") == [1]
    assert curves.alarmed("other") == []


@pytest.mark.parametrize("shadowed", [[], [1]])
def test_steps_that_no_shadow_has_scored_are_not_there(shadowed: list[int]) -> None:
    ledger = MemoryLedger()
    for step in range(2):
        add(ledger, "c", step, 1.0)
    for step in shadowed:
        add(ledger, shadow_name("c"), step, 0.0)

    assert shadowed == [step.step for step in StepCurves(ledger, "c").steps]


class Growing(MemoryLedger):
    """A ledger to which others write while it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.coming: list[Block] = []

    def entries(self, **wanted: Any) -> Iterator[Entry]:
        yield from super().entries(**wanted)
        while self.coming:
            self.append(self.coming.pop(0))


def test_an_alarm_that_comes_while_it_reads_is_found_the_next_time() -> None:
    ledger = Growing()
    curves = StepCurves(ledger, "c")
    ledger.coming = [alarm(1), Block("check", "c")]

    curves.refresh()
    curves.refresh()

    assert curves.alarmed("one") == [1]
