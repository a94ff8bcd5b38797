"""Steps that nobody names are given out once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.scheduler.runsteps import RunSteps
from verifier_ladder.testing.records import CAMPAIGN, score_block

RUNS = st.sampled_from(["one", "another"])


@given(st.lists(st.tuples(RUNS, st.none() | st.integers(0, 9))))
def test_no_step_is_given_twice_nor_one_that_was_chosen(
    calls: list[tuple[str, int | None]],
) -> None:
    used: set[tuple[str, int]] = set()
    with MemoryLedger() as ledger:
        steps = RunSteps(CAMPAIGN, ledger)
        for run, chosen in calls:
            if chosen is None:
                taken = (run, steps.take(run))
                assert taken not in used
                used.add(taken)
            else:
                steps.note(run, chosen)
                used.add((run, chosen))


def test_what_is_recorded_is_not_given() -> None:
    with MemoryLedger() as ledger:
        ledger.append(score_block(["a"], step=3))

        assert 4 == RunSteps(CAMPAIGN, ledger).take("run")
