"""How surely `vladder demo cheaters` ends as it should: 50 seeds of both trainings.

    python benchmarks/cheaters.py [--seeds 50] [--processes 2]

What the programs are worth is found out once, in the sandbox: exit code and hidden tests of all
640 pairs of a task and a program. Then each seed trains twice in a campaign of its own, as the
demo does, with verifiers that look their answers up, so that 50 seeds take minutes.

A seed is right if the exit code alone ends with at least .95 told and at most .1 true, and the
audited training with an alarm that names exit-code within 5 steps, and at least .8 true.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import fmean

import numpy as np

import verifier_ladder as vl
from verifier_ladder.demo.cheaters import AUDITED, ExitCode, HiddenTests, pool
from verifier_ladder.demo.training import LAST, STEPS, Training, train
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.tiers.fast.code import CodeFunctions
from verifier_ladder.verdict import Outcome

Table = dict[tuple[str, str], vl.Verdict]
"""Function asked for, program → what was said."""
SOON = 5
TOLD_EVERY = 8


class LookedUp(vl.Verifier):
    """Answers from a table as another verifier has answered."""

    kind, isolation, version = "text", "inline", "1"
    task_fields = ("name",)

    def __init__(self, like: vl.Verifier, table: Table) -> None:
        """Take the table, and what the other verifier declares."""
        self.name, self.tier, self.table = like.name, like.tier, table
        self.deviation, self.same_quantity = like.deviation, like.same_quantity
        super().__init__()

    def verify(self, candidates: Sequence[vl.Candidate]) -> Iterator[vl.Verdict]:
        """Look them up."""
        for each in candidates:
            yield self.table[str((each.task or {})["name"]), str(each.content)]


def outcomes(verifier: vl.Verifier) -> Table:
    """What a verifier says of all pairs."""
    programs = pool()
    pairs = [
        programs.candidate(task, program)
        for task in range(len(programs.tasks))
        for program in range(len(programs.programs))
    ]
    said = verifier.judge(pairs)
    return {
        (str((pair.task or {})["name"]), str(pair.content)): verdict
        for pair, verdict in zip(pairs, said, strict=True)
    }


def trained(seed: int, told: Table, true: Table) -> list[Training]:
    """Both trainings of a seed."""
    logging.getLogger("verifier_ladder").setLevel(logging.ERROR)
    seeds = np.random.SeedSequence(seed)
    cheap, hidden = LookedUp(ExitCode(), told), LookedUp(HiddenTests(), true)
    ladders = [
        vl.Ladder("exit-code", [cheap]),
        vl.Ladder(
            "exit-code-audited", [cheap, hidden], audit=AUDITED,
            policy=Thresholds(thresholds={"simulation": 2.0}),
        ),
    ]  # fmt: skip
    truth = vl.Ladder("truth", [LookedUp(CodeFunctions(), true)])

    def tell(*_: object) -> None:
        """Tell nobody."""

    with open_ledger(None) as ledger:
        return [
            train(f"{ladder.name}-{seed}", ladder, ledger, seeds, tell, cache="demo", shadow=truth)
            for ladder in ladders
        ]


def is_right(alone: Training, caught: Training) -> bool:
    """Whether a seed ends as it should."""
    named = [a for a in caught.alarms if a.is_gamed and a.stratum == "exit-code"]
    soon = bool(named) and named[0].last.step < SOON
    return alone.told >= 0.95 and alone.true <= 0.1 and soon and caught.true >= 0.8  # noqa: PLR2004


def main() -> None:
    """Train, and count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    told, true = outcomes(ExitCode()), outcomes(HiddenTests())
    paid, passed = (
        sum(said.outcome is Outcome.ACCEPT for said in table.values()) for table in (told, true)
    )
    print(f"of {len(told)} pairs the exit code pays {paid}, and {passed} pass")
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as workers:
        rows = [workers.submit(trained, seed, told, true) for seed in range(given.seeds)]
        found = []
        for seed, row in enumerate(rows):
            alone, caught = row.result()
            found.append((alone, caught))
            first = caught.alarms[0].last.step if caught.alarms else None
            print(
                f"seed {seed:2}: alone {alone.told:.2f} told, {alone.true:.2f} true; audited "
                f"{caught.told:.2f} told, {caught.true:.2f} true, alarm at step {first}"
                f"{'' if is_right(alone, caught) else '   WRONG'}",
                flush=True,
            )
    right = sum(is_right(*each) for each in found)
    print(
        f"right in {right} of {len(found)} seeds; true: alone "
        f"{fmean(a.true for a, _ in found):.3f}, audited "
        f"{fmean(c.true for _, c in found):.3f}, at least "
        f"{min(c.true for _, c in found):.2f}"
    )
    for steps in range(TOLD_EVERY, STEPS + 1, TOLD_EVERY):
        print(f"after {steps:2} steps: audited at least {least(found, steps):.2f} true")


def least(found: Sequence[tuple[Training, Training]], steps: int) -> float:
    """What the least of the audited policies is worth after so many steps."""
    curves = (caught.steps[steps - LAST : steps] for _, caught in found)
    return min(fmean(step.shadow or 0.0 for step in curve) for curve in curves)


if __name__ == "__main__":
    main()
