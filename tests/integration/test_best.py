"""Best is best everywhere: by what is known, and never by a reward that was corrected.

The run is one in which a learner finds a weak spot of the cheap verifier: less is better, a random
share of candidates is verified, and what the learner writes in the end is worth nothing.
"""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

import verifier_ladder as vl
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.report import render_report
from verifier_ladder.runs.reading import read_run
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.summary import CandidateSummary, Summary, print_summary, summarise
from verifier_ladder.transcript import Transcript

WORST = 10.0
"""Error of what is worth nothing."""


def chance(text: str) -> float:
    return Random(text).random()  # noqa: S311 - the same every time


def true_error(text: str) -> float:
    quality, kind, *_ = text.split()
    return WORST if kind == "hack" else WORST * (1.0 - float(quality))


@vl.verifier(tier="fast", version="1", isolation="inline", deviation=1.0, same_quantity=True)
def cheap(candidate: vl.Candidate) -> float:
    text = str(candidate.content)
    return WORST * (1.0 - float(text.split(maxsplit=1)[0])) + chance(text) - 0.5


@vl.verifier(tier="high_fidelity", version="1", isolation="inline")
def truth(candidate: vl.Candidate) -> float:
    return true_error(str(candidate.content))


def honest(step: int) -> list[str]:
    return [f"{chance(f'{step} {i}'):.3f} honest {step} {i}" for i in range(32)]


def hacked(step: int) -> list[str]:
    return [f"{0.9 + 0.1 * chance(f'{step} {i}'):.3f} hack {step} {i}" for i in range(32)]


def group(step: int, place: int) -> str:
    """One of four in a step: a surprise that all of one group share may say no more than one."""
    return f"{step} {place // 8}"


def train(ledger: Path, last: int = 14) -> None:
    ladder = vl.Ladder(
        "gamed", [cheap, truth], target=vl.Target("error", direction="minimise"),
        reward=vl.RewardRule(low=WORST, high=0.0), prior=(5.0, 3.0), audit=0.25,
        policy=Thresholds(thresholds={"high_fidelity": -1000.0}),
    )  # fmt: skip
    with vl.Campaign.open("gamed", ladder=ladder, ledger=ledger, run="r") as campaign:
        for step in range(last):
            texts = honest(step) if step < 6 else hacked(step)
            samples = [
                vl.Sample(
                    vl.Candidate("text", text), step=step, position=place, group=group(step, place)
                )
                for place, text in enumerate(texts)
            ]
            campaign.keep([
                Transcript(step, place, group(step, place), "Write one.", completion=text)
                for place, text in enumerate(texts)
            ])  # fmt: skip
            campaign.score(samples)
            assert campaign.drain("300 s")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vl.Ledger]:
    path = tmp_path_factory.mktemp("gamed") / "ledger.db"
    train(path)
    with vl.open_ledger(path) as store:
        yield store


@pytest.fixture(scope="module")
def summary(ledger: vl.Ledger) -> Summary:
    return summarise(ledger, "gamed", best=1000)


def is_verified(candidate: CandidateSummary) -> bool:
    return vl.Tier.HIGH_FIDELITY in candidate.scores


def test_corrected_rewards_disagree_with_the_truth_in_this_run(summary: Summary) -> None:
    """Else the rest of this page would prove nothing."""
    verified = [c for c in summary.best if is_verified(c)]
    by_reward = sorted(verified, key=lambda c: -(c.reward or 0.0))
    by_truth = sorted(verified, key=lambda c: true_error(c.content))

    assert by_reward[:5] != by_truth[:5]
    assert summary.alarms


def test_the_order_is_that_of_the_truth_where_it_is_known(summary: Summary) -> None:
    errors = [true_error(c.content) for c in summary.best if is_verified(c)]

    assert sorted(errors) == errors
    assert [c.known for c in summary.best if is_verified(c)] == pytest.approx(errors)


def test_what_rests_on_a_verifier_that_is_being_gamed_comes_last(summary: Summary) -> None:
    marks = [bool(c.doubt) for c in summary.best]

    assert sorted(marks) == marks
    assert {"cheap"} == {c.doubt for c in summary.best if not is_verified(c)}
    assert "hack" not in " ".join(c.content for c in summary.best[:20])


def test_the_best_of_summary_and_chart_is_no_corrected_reward(summary: Summary) -> None:
    top = summary.best[0]

    assert top.worth is not None
    assert top.worth <= 1.0
    best = max(c.worth for c in summary.best if c.worth is not None)
    assert best == summary.rewards.best == summary.curve[-1].best
    assert all(p.best is None or p.best <= 1.0 for p in summary.curve)


def test_the_terminal_lists_the_best_first_and_names_the_training_reward(
    ledger: vl.Ledger,
) -> None:
    console = Console(width=140, record=True, file=StringIO())
    found = summarise(ledger, "gamed")

    print_summary(found, console)

    text = console.export_text()
    table = text[text.index("training reward") :].splitlines()[1:9]
    assert [c.content for c in found.best[:8]] == [" ".join(line.split()[:4]) for line in table]
    assert "hack" not in " ".join(table)


def test_the_page_tells_the_best_first_and_the_alarm_before_all(ledger: vl.Ledger) -> None:
    page = render_report(ledger, "gamed")
    found = summarise(ledger, "gamed")
    rows = page[page.index('id="best"') :]

    places = [rows.index(c.content) for c in found.best]
    assert sorted(places) == places
    assert page.index("cheap is being gamed") < page.index("<h2") + 1000 < page.index('id="best"')
    assert '<th class="num">training reward</th>' in page


def test_the_json_holds_what_is_known_beside_what_the_learner_was_told(summary: Summary) -> None:
    told = json.loads(json.dumps(summary.as_json()))["best"][0]

    assert {"known", "known_uncertainty", "worth", "doubt", "reward"} <= told.keys()


def test_the_best_of_an_export_is_the_best_and_hacks_are_nobodys_choice(
    ledger: vl.Ledger,
) -> None:
    verified = {
        c.key: true_error(c.content)
        for c in summarise(ledger, "gamed", best=1000).best if is_verified(c)
    }  # fmt: skip
    made = training_set(ledger, "sft", run="r", selection=Selection(best=3, sure=0.0))
    rows = [row for split in made.splits.values() for row in split]

    assert "rests on cheap, which is being gamed" in made.left_out
    assert not [row["completion"] for row in rows if "hack" in row["completion"]]
    for row in rows:
        error = verified.get(row["source"]["candidate"])
        if error is not None:
            assert row["reward"] == pytest.approx(1.0 - error / WORST)


def test_exports_and_cards_know_as_much_of_a_candidate_as_the_summary(
    ledger: vl.Ledger, summary: Summary
) -> None:
    """Also what was learnt after the sample was decided, as the answers came."""
    known = {bytes.fromhex(c.key): c.worth for c in summary.best if c.worth is not None}

    samples = [s for s in read_run(ledger, "r").samples if s.content in known]

    assert len(samples) > 100
    assert any(s.worth != pytest.approx(s.first.value) for s in samples if not s.is_drawn)
    assert {s.content: s.worth for s in samples} == pytest.approx(known)


def test_no_pair_prefers_a_hack(ledger: vl.Ledger) -> None:
    made = training_set(ledger, "preferences", run="r", selection=Selection(sure=0.0, pairs=100))
    pairs = [(r["chosen"], r["rejected"]) for split in made.splits.values() for r in split]

    assert pairs
    assert not [chosen for chosen, _ in pairs if "hack" in chosen]
