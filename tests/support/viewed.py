"""A ledger to be looked at: one candidate that climbs to the world, and all that can go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan

from histories import DFT, ESTIMATE, GATE, MEASURED, UNIT, XTB, History, Item, cost, ladder_spec

from verifier_ladder.candidate import SampleId
from verifier_ladder.decision import Action
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, CheckState
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.drift import Alarm, Audited, Direction
from verifier_ladder.tier import Tier
from verifier_ladder.transcript import Transcript, transcript_block
from verifier_ladder.verdict import Verdict

ESTIMATED = cost(Verdict.accept(-5.0, uncertainty=1.0, unit=UNIT), 0.5)
MEASUREMENT = Verdict.accept(
    -4.2, uncertainty=0.2, unit=UNIT, feedback="shorter chains dissolve better",
    evidence={"instrument": "calorimeter 7"}, artifacts={"curve.csv": b"1,2\n"},
)  # fmt: skip
ETHANOL = Item(
    "OCC", "CCO", {GATE: Verdict.accept(), ESTIMATE: ESTIMATED},
    Reward(0.5, 0.1, Tier.FAST, pending=True), -5.0, 1.0, Action.ESCALATE, Tier.SIMULATION, 1,
)  # fmt: skip
METHANOL = Item(
    "CO", "CO", {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(-6.0), 0.5)},
    Reward(0.57, 0.1, Tier.FAST), -6.0, 1.0, reason=2,
)  # fmt: skip
BROKEN = Item(
    "C1CC", Verdict.reject("can't read 'C1CC'"), {}, Reward(0.0, 0.0, Tier.FAST, reason="no ring")
)
GROUP = "dissolve it"


def record(ledger: Ledger, name: str = "try", *, group: str = GROUP, run: str = "one") -> History:
    """Three completions of one prompt: one climbs and is measured, one waits, one is broken."""
    history = History(ledger, name, ladder_spec())
    told = [Transcript(group=group, prompt="Name a molecule that dissolves.")]
    ledger.append(transcript_block(name, run, told))
    score(history, [ETHANOL, METHANOL, BROKEN], group, run)
    diverged = Verdict.abstain("SCF diverged", failed_at="tool")
    history.check(ETHANOL, XTB, cost(diverged, 1.0))
    simulated = cost(Verdict.accept(-4.6, uncertainty=0.4, unit=UNIT), 2.0)
    history.check(ETHANOL, XTB, simulated)
    history.check(ETHANOL, MEASURED, MEASUREMENT)
    measured = replace(
        ETHANOL, verdicts={**ETHANOL.verdicts, XTB: simulated, MEASURED: MEASUREMENT},
        reward=Reward(0.44, 0.02, Tier.WORLD, revision=1), mean=nan, deviation=nan,
        action=Action.STOP, to=None, reason=3,
    )  # fmt: skip
    history.revise(0, 0, measured, run)
    history.enqueue(METHANOL, DFT, CheckState.WAITING)
    ledger.append(Block("alarm", name, facts=alarm(run).as_json()))
    return history


def score(history: History, items: Sequence[Item], group: str, run: str = "one") -> None:
    """One call of score whose samples are of one group."""
    made = history._block

    def grouped(*given: object) -> Block:
        block = made(*given)  # type: ignore[arg-type]
        if block.samples is not None:
            block.samples.groups = [group] * len(block.samples.contents)
        return block

    history._block = grouped  # type: ignore[assignment,method-assign]
    history.score(items, run)
    history._block = made  # type: ignore[method-assign]


def alarm(run: str = "one", verifier: str = ESTIMATE) -> Alarm:
    """What audits have found: the estimate is being gamed."""
    place = SampleId(run, 0, 0)
    worst = Audited(place, -3.0, 0.5, 0.1)
    return Alarm(verifier, Direction.OVERRATED, 7, place, SampleId(run, 0, 2), (worst,))
