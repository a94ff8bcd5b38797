"""A campaign and its shadow, compared from a ledger that was written by hand."""

import json
from dataclasses import replace

import pytest
from histories import History, Item

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block, Charged, SampleColumns
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.shadow import shadow_name
from verifier_ladder.summary.shadow import Mark, ShadowReport, compare_shadow
from verifier_ladder.tier import Tier

REJECT = Reward(0.0, 0.0, Tier.FAST, reason="it is too long")
UNKNOWN = Reward(None, reason="the tool is down", failed_at="tool")


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger()


def given(*pairs: tuple[Reward, Reward], groups: list[str] | None = None) -> MemoryLedger:
    """A ledger in which a campaign and its shadow have scored the same texts."""
    ledger = MemoryLedger()
    for side, name in enumerate(("c", shadow_name("c"))):
        history = History(ledger, name)
        items = [Item(f"text {i}", f"text {i}", reward=p[side]) for i, p in enumerate(pairs)]
        block = history._block("score", items, "one", 0, range(len(items)))
        assert block.samples is not None
        block.candidates = [history._candidate(item) for item in items]
        ledger.append(replace(block, samples=replace(block.samples, groups=groups)))
    return ledger


def compared(*values: tuple[float, float], **options: list[str]) -> ShadowReport:
    return compare_shadow(given(*((Reward(a), Reward(b)) for a, b in values), **options), "c")


def test_a_flip_is_another_mark() -> None:
    good, poor = Reward(0.75), Reward(0.25)
    ledger = given((good, poor), (poor, REJECT), (REJECT, UNKNOWN), (good, Reward(0.5)))

    report = compare_shadow(ledger, "c")

    assert (4, 4, 0.5) == (report.samples, report.compared, report.threshold)
    assert (3, 0.75) == (report.flips, report.flip_rate)
    assert {
        (Mark.GOOD, Mark.POOR): 1, (Mark.POOR, Mark.REJECTED): 1,
        (Mark.REJECTED, Mark.UNKNOWN): 1, (Mark.GOOD, Mark.GOOD): 1,
    } == report.marks  # fmt: skip


def test_on_any_scale_but_shares_no_threshold_is_assumed() -> None:
    ledger = given((Reward(-3.0), Reward(7.0)), (Reward(1.0), REJECT))

    assert (None, 1) == (compare_shadow(ledger, "c").threshold, compare_shadow(ledger, "c").flips)
    assert 2 == compare_shadow(ledger, "c", threshold=0.5).flips


def test_a_certain_truth_is_no_reject() -> None:
    truth = Reward(1.0, 0.0, Tier.WORLD)

    assert {(Mark.GOOD, Mark.GOOD): 1} == compare_shadow(given((truth, truth)), "c").marks


def test_changes_are_the_shadows_minus_the_campaigns() -> None:
    report = compared((0.0, 0.5), (0.25, 0.25), (1.0, 0.0))

    assert report.mean_change == pytest.approx(-1 / 6)
    assert report.deviation == pytest.approx(0.7637626)
    assert [("text 2", 1.0, 0.0), ("text 0", 0.0, 0.5)] == [
        (change.content, change.reward, change.shadow) for change in report.largest
    ]


def test_a_candidate_is_named_once_among_the_largest() -> None:
    ledger = given((Reward(0.0), Reward(0.5)))
    for side, name in enumerate(("c", shadow_name("c"))):
        again = Item("text 0", "text 0", reward=Reward(float(side)))
        History(ledger, name).score([again], run="two")

    (change,) = compare_shadow(ledger, "c").largest

    assert ("two", 0.0, 1.0) == (change.run, change.reward, change.shadow)


def test_ranks_are_compared_within_groups() -> None:
    values = ((1.0, 0.1), (2.0, 0.2), (0.1, 1.0), (0.2, 2.0))

    grouped = compared(*values, groups=["a", "a", "b", "b"])
    alone = compared(*values, groups=["a", "b", "c", "d"])

    assert (2, 0.0) == (grouped.groups, grouped.swapped)
    assert (0, None) == (alone.groups, alone.swapped)
    assert compared(*values).swapped == pytest.approx(2 / 3)


def test_only_the_latest_reward_counts(ledger: MemoryLedger) -> None:
    item = Item("text", "text", reward=Reward(0.25))
    for name in ("c", shadow_name("c")):
        history = History(ledger, name)
        history.score([item])
        history.revise(0, 0, replace(item, reward=Reward(0.75 if name == "c" else 1.0)))

    (change,) = compare_shadow(ledger, "c").largest

    assert (0.75, 1.0) == (change.reward, change.shadow)


def test_a_sample_that_speaks_for_cancelled_ones_is_compared_as_what_it_is(
    ledger: MemoryLedger,
) -> None:
    item = Item("text", "text", reward=Reward(0.25))
    for name in ("c", shadow_name("c")):
        history = History(ledger, name)
        history.score([item])
        made = history._block("revision", [replace(item, reward=Reward(0.5))], "one", 0, [0])
        moved = replace(made, rewards=[Reward(0.875)], facts={"spoken": [[0, 0.25, 2.0, 0.125]]})
        ledger.append(moved if name == "c" else made)

    assert 0.0 == compare_shadow(ledger, "c").mean_change


def test_what_one_side_alone_has_scored_is_not_compared(ledger: MemoryLedger) -> None:
    History(ledger, shadow_name("c")).score([Item("a", "a", reward=Reward(1.0))])
    History(ledger, "c").score([Item("b", "b", reward=Reward(1.0))] * 2, run="other")

    report = compare_shadow(ledger, "c")

    assert (2, 0) == (report.samples, report.compared)
    nothing = (report.flip_rate, report.mean_change, report.deviation, report.swapped)
    assert (None,) * 4 == nothing


def test_costs_stand_side_by_side(ledger: MemoryLedger) -> None:
    for name, seconds in (("c", 2.0), (shadow_name("c"), 3.0)):
        History(ledger, name)
        ledger.set_caps(name, {(TOTAL, Resource.CPU_SECONDS): 100.0})
        cost = Cost(seconds, money=seconds - 2.0)
        ledger.append(Block("note", name), charges={Charged(0): (cost, 1)})

    costs = compare_shadow(ledger, "c").costs

    assert [("fast", "cpu_seconds", 2.0, 3.0), ("fast", "money", 0.0, 1.0)] == list(costs)


def test_failures_of_the_shadow_are_told(ledger: MemoryLedger) -> None:
    History(ledger, "c")
    History(ledger, shadow_name("c"))
    facts = {"run": "one", "step": 3, "samples": 8, "reason": "OSError: no"}
    ledger.append(Block("shadow", shadow_name("c"), facts=facts))

    assert [("one", 3, 8, "OSError: no")] == list(compare_shadow(ledger, "c").failures)


def test_a_report_is_json() -> None:
    made = json.loads(json.dumps(compared((0.0, 0.5), (1.0, 1.0)).as_json()))

    assert {"campaign": "poor", "shadow": "good", "samples": 1} in made["marks"]
    assert 0.5 == made["flip_rate"]


def test_a_campaign_without_a_shadow_says_how_to_get_one(ledger: MemoryLedger) -> None:
    History(ledger, "c")

    with pytest.raises(ConfigError, match="no shadow; open it with shadow="):
        compare_shadow(ledger, "c")
    with pytest.raises(ConfigError, match="it has: c"):
        compare_shadow(ledger, "d")


def test_samples_without_rewards_are_no_trouble(ledger: MemoryLedger) -> None:
    for name in ("c", shadow_name("c")):
        History(ledger, name)
        ledger.append(Block("score", name, samples=SampleColumns("r", 0, [], [], [])))

    assert 0 == compare_shadow(ledger, "c").samples
