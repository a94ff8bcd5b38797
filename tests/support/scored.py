"""A ledger with any number of candidates that several tiers have scored, one of them a cheat."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from histories import ESTIMATE, GATE, MEASURED, UNIT, XTB, History, Item, cost

from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, Charged
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

CHEAT = "CHEAT"
"""Looks best to the cheapest tier, and is worst by the top; less is better."""
DEVIATION = 1.0
"""What each prediction states; the truth is off by as much in the mean."""


def said(value: float, deviation: float, seconds: float = 0.5) -> Verdict:
    """A score with its uncertainty and cost."""
    return cost(Verdict.accept(value, uncertainty=deviation, unit=UNIT), seconds)


def record(
    ledger: Ledger,
    count: int,
    name: str = "try",
    *,
    run: str = "one",
    history: History | None = None,
) -> History:
    """Score so many candidates, ask two higher tiers, and revise nothing."""
    history = history or History(ledger, name)
    draw = Random(count)  # noqa: S311 - the same each time
    truths = [draw.gauss(-4.0, 2.0) for _ in range(count)]
    estimates = [truth + draw.gauss(0.0, DEVIATION) for truth in truths]
    names = [f"C{n:04}" for n in range(count)]
    if count > 1:
        names[-1], truths[-1], estimates[-1] = CHEAT, 3.0, -14.0
    items = [
        Item(
            text, text, {GATE: Verdict.accept(), ESTIMATE: said(estimate, 1.0)},
            Reward(0.5, 0.1, Tier.FAST), estimate, DEVIATION,
        )
        for text, estimate in zip(names, estimates, strict=True)
    ]  # fmt: skip
    history.score(items, run)
    for verifier, spread in ((XTB, 0.5), (MEASURED, 0.2)):
        told = [said(truth + spread * draw.gauss(0.0, 1.0), spread, 2.0) for truth in truths]
        judge(history, items, verifier, told)
    return history


def judge(history: History, items: list[Item], verifier: str, verdicts: list[Verdict]) -> None:
    """Answers of a higher tier, in one entry."""
    rows = [history._row(item, verifier, v) for item, v in zip(items, verdicts, strict=True)]
    spent = sum(verdict.cost.seconds for verdict in verdicts if verdict.cost)
    charged = Charged(rows[0].tier, verifier, rows[0].version)
    history.ledger.append(
        Block("check", history.name, verdicts=rows), charges={charged: (Cost(spent), len(rows))}
    )


def item(name: str, estimate: float | None = None, truth: float | None = None) -> Item:
    """A candidate that the cheapest tier and the top have scored at once."""
    verdicts = {GATE: Verdict.accept()}
    if estimate is not None:
        verdicts[ESTIMATE] = Verdict.accept(estimate, unit=UNIT)
    if truth is not None:
        verdicts[MEASURED] = Verdict.accept(truth, unit=UNIT)
    made = Item(name, name, verdicts, Reward(0.5, None, Tier.FAST))
    return replace(made, reward=Reward(0.5, None, Tier.WORLD)) if truth is not None else made
