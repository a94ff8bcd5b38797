"""The tally, compared with counting everything again."""

from collections import Counter

from histories import ESTIMATE, GATE, XTB, History, Item, cost
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.ledger import open_ledger
from verifier_ladder.reward import Reward
from verifier_ladder.summary import summarise
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

NAMES = "ABCDE"
VERDICTS = {
    "accept": cost(Verdict.accept(1.0), 2.0),
    "reject": cost(Verdict.reject("no"), 2.0),
    "abstain": cost(Verdict.abstain("no opinion"), 2.0),
    "fail": cost(Verdict.abstain("crashed", failed_at="engine"), 3.0),
}
SCORES = st.tuples(st.just("score"), st.text(NAMES, min_size=1, max_size=6))
CHECKS = st.tuples(st.sampled_from(sorted(VERDICTS)), st.sampled_from(NAMES))


def item(name: str) -> Item:
    verdicts = {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(1.0), 1.0)}
    return Item(name, name, verdicts, Reward(float(ord(name)), None, Tier.FAST))


@given(st.lists(SCORES | CHECKS, max_size=25))
def test_every_number_equals_a_plain_count(steps: list[tuple[str, str]]) -> None:
    history = History(open_ledger(None))
    seen: Counter[str] = Counter()
    said: dict[str, str] = {}
    rejects = failures = attempts = 0
    for what, names in steps:
        if what == "score":
            history.score([item(name) for name in names])
            seen.update(names)
        elif names in seen:
            history.check(item(names), XTB, VERDICTS[what])
            attempts += 1
            rejects += what == "reject"
            failures += what == "fail"
            if what != "fail":
                said[names] = what

    summary = summarise(history.ledger, "try")
    fast, simulation = summary.tiers[:2]
    stands = Counter(said.values())

    assert summary.samples == seen.total()
    assert summary.candidates == fast.accepted == len(seen)
    assert fast.reused == seen.total() - len(seen)
    assert simulation.accepted == stands["accept"]
    assert simulation.rejected == stands["reject"]
    assert simulation.abstained == stands["abstain"]
    assert simulation.reused == sum(seen[name] - 1 for name in said)
    assert sum(reason.count for reason in summary.rejects) == rejects
    assert sum(failure.attempts for failure in summary.failures) == failures
    assert summary.curve[-1].seconds == len(seen) + 2.0 * attempts + failures
    for tier in summary.tiers:
        assert tier.asked == tier.answered + tier.failed + tier.open
