"""What each step was told and what audits say it is worth, read on from the ledger alone."""

from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from histories import ESTIMATE, GATE, XTB, History, Item, cost, ladder_spec
from indexed import catch_up

from verifier_ladder.analysis import filling
from verifier_ladder.analysis.audited import AuditedStep, AuditedSteps
from verifier_ladder.analysis.candidates import CandidateIndex, StepPoint
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

LADDER = (GATE, ESTIMATE, XTB)
"""Its scale runs from 2 (0) to -12 (1)."""
Draws = Sequence[tuple[float, float, float]]
"""Chance, number and factor of each sample."""


def item(name: str, reward: Reward, scores: dict[str, float] | None = None) -> Item:
    said = {who: cost(Verdict.accept(score), 1.0) for who, score in (scores or {}).items()}
    return Item(name, name, {GATE: Verdict.accept(), ESTIMATE: Verdict.accept(-5.0), **said},
                reward)  # fmt: skip


def drawn(history: History, draws: Draws) -> None:
    """Let the next blocks tell these draws."""
    made = type(history)._block

    def block(*given: object) -> Block:
        built = made(history, *given)  # type: ignore[arg-type]
        (columns,) = built.decisions
        columns.propensity, columns.draw, columns.factor = map(list, zip(*draws, strict=True))
        return built

    history._block = block  # type: ignore[assignment,method-assign]


def record(ledger: Ledger) -> History:
    """Of four samples one is rejected, one was drawn at 1/4 and one at 1/2; the last is not."""
    history = History(ledger, "try", ladder_spec(LADDER))
    told = Reward(0.5, 0.1, Tier.FAST, pending=True)
    sorted_out = Item(
        "R", "R", {GATE: Verdict.reject("no")}, Reward(0.0, 0.0, Tier.FAST, reason="no")
    )
    first, second = item("A", told), item("B", told)
    drawn(history, [(0.25, 0.1, 4.0), (0.5, 0.3, 2.0), (nan, nan, nan), (0.25, 0.9, nan)])
    history.score([first, second, sorted_out, item("C", Reward(0.5, 0.1, Tier.FAST))])
    # What was told moves by the factor: the truth of A is 0.75, that of B is 0.25.
    drawn(history, [(0.25, 0.1, 4.0)])
    history.check(first, XTB, cost(Verdict.accept(-8.5), 2.0))
    history.revise(0, 0, item("A", Reward(1.5, 0.1, Tier.SIMULATION, 1), {XTB: -8.5}))
    drawn(history, [(0.5, 0.3, 2.0)])
    history.check(second, XTB, cost(Verdict.accept(-1.5), 2.0))
    history.revise(0, 1, item("B", Reward(0.0, 0.1, Tier.SIMULATION, 1), {XTB: -1.5}))
    return history


def read(ledger: Ledger, steps: AuditedSteps | None = None) -> list[AuditedStep]:
    steps = steps or AuditedSteps(ledger, "try")
    steps.refresh()
    return steps.steps


def test_each_audit_speaks_for_one_over_its_chance_and_rejects_for_themselves(
    ledger: Ledger,
) -> None:
    record(ledger)
    (step,) = read(ledger)

    assert (step.run, step.step, step.samples, step.audits, step.pending) == ("one", 0, 4, 2, 0)
    assert step.told == pytest.approx((1.5 + 0.0 + 0.0 + 0.5) / 4)
    assert step.truth == pytest.approx(3 * (4 * 0.75 + 2 * 0.25) / (4 + 2) / 4)


def test_pages_say_the_same(ledger: Ledger, tmp_path: Path) -> None:
    record(ledger)
    point, step = both(ledger, tmp_path)

    assert (point.step, point.samples, point.audits) == (step.step, step.samples, step.audits)
    assert [point.told, point.audited] == pytest.approx([step.told, step.truth])


def both(ledger: Ledger, folder: Path) -> tuple[StepPoint, AuditedStep]:
    """The only step as the pages' index holds it, and read on from the ledger."""
    index = CandidateIndex(folder / "try.index")
    catch_up(index, ledger)
    (point,), (step,) = index.curve("try", "one"), read(ledger)
    return point, step


def test_what_a_lower_tier_rejects_and_the_top_has_overruled_already_is_told_alike(
    ledger: Ledger, tmp_path: Path
) -> None:
    history = History(ledger, "try", ladder_spec(LADDER))
    overruled = item("R", Reward(0.5, 0.1, Tier.SIMULATION), {XTB: -5.0})
    overruled = replace(overruled, verdicts={**overruled.verdicts, GATE: Verdict.reject("no")})
    history.score([
        overruled, item("B", Reward(0.3, 0.1, Tier.FAST)),
        item("C", Reward(1.0, 0.1, Tier.SIMULATION), {XTB: -12.0}),
    ])  # fmt: skip
    point, step = both(ledger, tmp_path)

    assert (point.audits, step.audits) == (2, 2)
    assert [point.audited, step.truth] == pytest.approx([0.75, 0.75])


def test_where_all_audits_were_taken_back_nothing_is_known(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of floats from which all is taken again are not always zero."""
    monkeypatch.setattr(filling, "_MOST_ENTRIES", 1)
    history = History(ledger, "try", ladder_spec(LADDER))
    items = [item(name, Reward(0.5, 0.1, Tier.FAST, pending=True)) for name in "ABC"]
    draws = [(chance, 0.01, 1 / chance) for chance in (0.1, 0.3, 0.7)]
    drawn(history, draws)
    history.score(items)
    for number, (said, reward) in enumerate([
        (Verdict.accept(-5.0), Reward(0.5, 0.1, Tier.SIMULATION, 1)),
        (Verdict.abstain("it was withdrawn"), Reward(0.5, 0.1, Tier.FAST, 2)),
    ]):  # fmt: skip
        for place, draw in enumerate(draws):
            drawn(history, [draw])
            row = history._row(items[place], XTB, said)
            ledger.append(Block(("check", "review")[number], "try", verdicts=[row]))
            history.revise(0, place, replace(items[place], reward=reward))
    point, step = both(ledger, tmp_path)

    assert (point.audits, step.audits) == (0, 0)
    assert point.audited is step.truth is None


def test_what_is_forgotten_is_kept_nowhere(ledger: Ledger) -> None:
    record(ledger)
    steps = AuditedSteps(ledger, "try")
    read(ledger, steps)
    assert steps._corrections.drawn
    steps.forget("one", 0)

    assert not steps._corrections.drawn


def test_it_reads_on_and_what_is_forgotten_stays_so(ledger: Ledger) -> None:
    history = record(ledger)
    steps = AuditedSteps(ledger, "try", run="one")
    read(ledger, steps)
    steps.forget("one", 0)
    drawn(history, [(nan, nan, nan)])
    history.revise(0, 3, item("C", Reward(0.4, 0.1, Tier.FAST, 1)))
    history.score([item("D", Reward(0.5, 0.1, Tier.FAST, pending=True))])
    history.score([item("E", Reward(0.5))], run="two")

    assert [(s.step, s.told, s.truth, s.pending) for s in read(ledger, steps)] == [
        (1, 0.5, None, 1)
    ]


def test_a_ladder_of_one_tier_is_audited_by_nobody(ledger: Ledger) -> None:
    history = History(ledger, "try", ladder_spec((GATE, ESTIMATE)))
    history.score([item("A", Reward(0.0, 0.0, Tier.FAST, reason="no"))])
    (step,) = read(ledger)

    assert not AuditedSteps(ledger, "try").is_audited
    assert (step.told, step.truth, step.audits) == (0.0, None, 0)
