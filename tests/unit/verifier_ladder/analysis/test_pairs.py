"""Agreement of tiers, and whether predictions come true, from an index."""

from dataclasses import replace

import pytest
import scored
from histories import ESTIMATE, GATE, MEASURED, UNIT, XTB, History, ladder_spec
from indexed import catch_up

from verifier_ladder.analysis import filling, pairs
from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.analysis.pairs import PairSummary, calibration, pair_summaries
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, CampaignRow
from verifier_ladder.summary import summarise
from verifier_ladder.verdict import Verdict


def row_of(index: CandidateIndex, ledger: Ledger) -> CampaignRow:
    """The campaign, once the index holds all of it."""
    catch_up(index, ledger)
    return ledger.campaigns("try")[0]


def first(index: CandidateIndex, ledger: Ledger) -> PairSummary:
    return pair_summaries(index, row_of(index, ledger))[0]


@pytest.mark.parametrize("most", [1, 256])
def test_however_entries_are_batched_the_numbers_are_those_of_a_summary(
    ledger: Ledger, index: CandidateIndex, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "_MOST_ENTRIES", most)
    scored.record(ledger, 60)
    row = row_of(index, ledger)
    told = {(a.low.label, a.high.label): a for a in summarise(ledger, "try").agreement}
    made = pair_summaries(index, row)

    assert [(p.low, p.high) for p in made] == [
        ("fast", "world"), ("fast", "simulation"), ("simulation", "high_fidelity"),
        ("high_fidelity", "world"),
    ]  # fmt: skip
    for pair in made[:2]:
        other = told[pair.low, pair.high]
        assert (pair.count, pair.drawn) == (other.count, 60)
        assert (pair.error, pair.bias) == pytest.approx((other.error, other.bias))
    assert [p.count for p in made[2:]] == [0, 0]
    assert made[2].correlation is made[2].error is None


def test_the_cheat_is_the_most_suspicious_winner_and_is_labelled(
    ledger: Ledger, index: CandidateIndex
) -> None:
    scored.record(ledger, 60)
    pair = first(index, ledger)
    cheat = pair.suspicious[0]

    assert (cheat.candidate.label, cheat.low) == (scored.CHEAT, -14.0)
    assert cheat.low_rank > 0.98
    assert cheat.high_rank < 0.1
    assert cheat.deviations is not None
    assert cheat.deviations > 10
    assert scored.CHEAT in {apart.candidate.label for apart in pair.named}


def test_of_many_those_with_the_smallest_keys_are_drawn_and_outliers_are_kept(
    ledger: Ledger, index: CandidateIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "MOST_DRAWN", 20)
    monkeypatch.setattr(pairs, "_AT_ENDS", 2)
    items = [scored.item(f"{n:03}", float(n), float(n)) for n in range(100)]
    items.sort(key=lambda item: item.content)
    # The last by its key, so that it is not drawn.
    items[-1] = scored.item(items[-1].raw, -500.0, 500.0)
    History(ledger).score(items)
    pair = first(index, ledger)
    smallest = {float(item.raw) for item in items[:20]}

    assert (pair.count, pair.drawn) == (100, 20)
    assert pair.correlation == pytest.approx(1.0)
    assert smallest <= {x for x, _ in pair.points}
    assert (-500.0, 500.0) in pair.points
    assert len(pair.points) <= 20 + 6 * 2
    assert pair.suspicious[0].candidate.label == items[-1].raw


def test_what_was_corrected_counts_as_it_is_now(ledger: Ledger, index: CandidateIndex) -> None:
    history = History(ledger)
    one = scored.item("A", -5.0, -4.0)
    history.score([one])
    before = first(index, ledger)
    corrected = history._row(one, MEASURED, Verdict.accept(-1.0, unit=UNIT))
    ledger.append(Block("review", "try", verdicts=[corrected]))
    after = first(index, ledger)

    assert (before.count, before.points) == (1, ((-5.0, -4.0),))
    assert (after.count, after.points) == (1, ((-5.0, -1.0),))


@pytest.mark.parametrize("count", [0, 1, 7])
def test_of_too_few_nothing_is_said(ledger: Ledger, index: CandidateIndex, count: int) -> None:
    if count:
        scored.record(ledger, count)
    else:
        History(ledger)
    row = row_of(index, ledger)
    pair = pair_summaries(index, row)[0]
    found = calibration(index, row)

    assert pair.count == pair.drawn == count
    assert pair.correlation is None
    assert pair.named == pair.suspicious == ()
    assert found is not None
    assert (found[1].within, found[1].bins) == ((), ())


def test_equal_scores_have_no_order(ledger: Ledger, index: CandidateIndex) -> None:
    History(ledger).score([scored.item(f"{n}", 1.0, float(n)) for n in range(9)])

    assert first(index, ledger).correlation is None


def test_other_units_are_compared_by_rank_whichever_way_they_run(
    ledger: Ledger, index: CandidateIndex
) -> None:
    """Less of the target is better; the cheap tier's quantity falls where the target rises."""
    history = History(ledger)
    items = [scored.item(f"{n:02}", None, float(n)) for n in range(20)]
    liar = scored.item("liar", None, 19.5)
    marks = [100.0 - n for n in range(20)] + [200.0]
    items = [
        replace(
            each, verdicts={**each.verdicts, ESTIMATE: Verdict.accept(mark, unit="mark")}
        )
        for each, mark in zip([*items, liar], marks, strict=True)
    ]  # fmt: skip
    history.score(items)
    pair = first(index, ledger)

    assert pair.error is pair.bias is None
    assert pair.correlation is not None
    assert pair.correlation < -0.5
    assert [apart.candidate.label for apart in pair.suspicious] == ["liar"]
    assert pair.suspicious[0].deviations is None


def test_where_scores_hold_inside_a_group_nothing_is_compared(
    ledger: Ledger, index: CandidateIndex
) -> None:
    spec = ladder_spec()
    spec["verifiers"][1]["scope"] = "group"
    History(ledger, "try", spec).score([scored.item("A", 1.0, 2.0)])
    row = row_of(index, ledger)

    assert pair_summaries(index, row) == []
    assert calibration(index, row) is None


def test_a_tier_that_only_gates_is_passed_over(ledger: Ledger, index: CandidateIndex) -> None:
    History(ledger, "try", ladder_spec([GATE, XTB, MEASURED]))
    made = pair_summaries(index, row_of(index, ledger))

    assert [(p.low, p.high) for p in made] == [("simulation", "world")]


@pytest.mark.parametrize("value", [1e308, -1e308])
def test_a_number_that_can_not_be_reckoned_with_is_left_out(
    ledger: Ledger, index: CandidateIndex, value: float
) -> None:
    History(ledger).score([scored.item("A", value, 1.0), scored.item("B", 1.0, 1.0)])

    assert first(index, ledger).count == 1


def test_calibration_counts_what_lay_within_the_stated_intervals(
    ledger: Ledger, index: CandidateIndex
) -> None:
    scored.record(ledger, 300)
    found = calibration(index, row_of(index, ledger))
    assert found is not None
    pair, made = found

    assert (pair.low, pair.high, made.count, made.stated) == ("predicted", "world", 300, 300)
    for within in made.within:
        assert within.count == 300
        assert within.low < within.share < within.high
        # They were drawn so; the measurement's own error makes it a little less.
        assert within.share == pytest.approx(within.expected, abs=0.06)
    assert sum(part.count for part in made.bins) == 300
    assert len(made.bins) == 10
    assert [part.predicted for part in made.bins] == sorted(p.predicted for p in made.bins)
