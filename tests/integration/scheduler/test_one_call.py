"""A campaign of one call spends its cap on draws that are all answered."""

import json
from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger import Ledger
from verifier_ladder.report import render_report
from verifier_ladder.reportcard import as_markdown, report_card
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.summary import summarise

WRONG = 2.0
"""How much too high the cheap tier is."""
EIGHT = 8


def truth(candidate: vl.Candidate) -> float:
    """Differs from text to text, without a pattern."""
    return int(str(candidate.content)) * 7919 % 101 / 100.0


def guess(candidate: vl.Candidate) -> float:
    return truth(candidate) + WRONG


DEAR = vl.verifier(
    name="dear", version="1", tier="high_fidelity", isolation="inline", cost=vl.Cost(money=1.0)
)(truth)


def ladder() -> vl.Ladder:
    return vl.Ladder(
        "capped",
        [
            vl.verifier(name="guess", version="1", isolation="inline")(guess),
            DEAR,
        ],
        reward=vl.RewardRule(estimator="unbiased"),
        audit=0.15,
    )  # fmt: skip


class Outcome(NamedTuple):
    """What became of one call."""

    error: float
    """Mean of the rewards less the mean of the truth."""
    spent: float
    drawn: int
    """Candidates that the draws fell on."""
    answered: int
    """How many of these the top tier has answered."""
    hopeless: int
    """Samples that had no chance to be drawn."""


def draws(ledger: Ledger) -> Iterator[tuple[int, tuple[float, bool]]]:
    """The chance of each sample to have its truth asked, and whether the draw fell on it."""
    for entry in ledger.entries(kind="score", campaign="c"):
        for columns in ledger.read(entry).decisions:
            numbers = columns.draw or [nan] * len(columns.sample)
            for place, chance, number in zip(
                columns.sample, columns.propensity, numbers, strict=True
            ):
                yield place, (chance, number < chance)


def called(texts: list[str], cap: float) -> Outcome:
    """Score all in one call."""
    groups = [str(place // EIGHT) for place in range(len(texts))]
    budget = {"high_fidelity": {"money": cap}}
    with vl.Campaign.open("c", ladder=ladder(), ledger=None, run="r", budget=budget) as campaign:
        first = campaign.score(texts, step=0, groups=groups)
        assert campaign.drain("300 s")
        last = {place: reward.value or 0.0 for place, reward in enumerate(first)}
        revisions = list(campaign.revisions())
        last |= {revision.position: revision.reward.value or 0.0 for revision in revisions}
        truths = [truth(vl.Candidate("text", text)) for text in texts]
        decided = dict(draws(campaign.ledger))
        hits = {texts[place] for place, (chance, is_hit) in decided.items() if is_hit}
        answered = {texts[revision.position] for revision in revisions}
        spent = sum(a.spent for a in campaign.ledger.accounts("c") if a.resource.label == "money")
        (row,) = campaign.ledger.campaigns()
        assert replay(campaign.ledger, row).is_same
    return Outcome(
        sum(last.values()) / len(texts) - sum(truths) / len(texts), spent, len(hits),
        len(hits & answered), sum(chance == 0.0 for chance, _ in decided.values()),
    )  # fmt: skip


@pytest.mark.parametrize(("cap", "calls"), [(20, 4), (60, 4), (700, 1)])
def test_every_draw_of_a_call_is_answered_and_the_rewards_are_right_in_the_mean(
    cap: int, calls: int
) -> None:
    for number in range(calls):
        found = called([str(1000 * number + place) for place in range(800)], cap)

        # The deviation of a call's mean is below .02: what differs is which chances were hit.
        assert abs(found.error) < 0.04 * WRONG
        assert found.drawn == found.answered
        assert 0.9 * cap <= found.spent <= cap
        assert not found.hopeless


DISTINCT = [str(number) for number in range(50 * EIGHT)]
COLLAPSED = [str(100_000 + number // EIGHT) for number in range(500 * EIGHT)]


@pytest.mark.parametrize("texts", [DISTINCT + COLLAPSED, COLLAPSED + DISTINCT])
def test_a_cap_is_spent_on_an_uneven_call_whatever_comes_first(texts: list[str]) -> None:
    found = called(texts, 100)

    assert found.drawn == found.answered
    assert 90 <= found.spent <= 100
    assert abs(found.error) < 0.25 * WRONG
    assert not found.hopeless


def test_what_can_not_be_paid_is_told_to_have_no_chance() -> None:
    found = called([str(number) for number in range(80)], 0.5)

    assert (80, 0, 0.0) == (found.hopeless, found.drawn, found.spent)
    assert abs(found.error - WRONG) < 1e-9


@pytest.mark.parametrize(("wrong", "alarms"), [(WRONG, 1), (0.0, 0)])
def test_one_call_alarms_everywhere_where_audits_find_beliefs_far_off(
    wrong: float, alarms: int, caplog: pytest.LogCaptureFixture
) -> None:
    def cheap(candidate: vl.Candidate) -> float:
        number = int(str(candidate.content))
        return truth(candidate) + wrong + number * 31 % 17 / 160.0 - 0.05

    rungs = [vl.verifier(name="cheap", version="1", isolation="inline")(cheap), DEAR]
    once = vl.Ladder("once", rungs, audit=0.15)
    budget = {"high_fidelity": {"money": 40}}
    with vl.Campaign.open("c", ladder=once, ledger=None, run="r", budget=budget) as campaign:
        campaign.score([str(number) for number in range(400)], step=0)
        assert campaign.drain("300 s")
        card, summary = report_card(campaign.ledger), summarise(campaign.ledger, "c")
        page, metric = render_report(campaign.ledger, "c"), campaign.gaming_alarms

    said = "cheap misjudges: audits find that candidates are worse than believed, by "
    assert alarms == metric == len(card.audits.alarms) == len(summary.alarms)
    for told in (*summary.alarms, as_markdown(card), page, caplog.text):
        assert (said in told) is bool(alarms)
    assert not [candidate for candidate in summary.best if candidate.doubt]


def test_a_first_call_that_others_follow_raises_no_alarm() -> None:
    """What beliefs begin with is learnt before the next call."""
    with vl.Campaign.open("c", ladder=ladder(), ledger=None, run="r") as campaign:
        for step in range(2):
            texts = [str(number) for number in range(200 * step, 200 * step + 200)]
            campaign.score(texts, step=step, more=None)
            assert campaign.drain("300 s")

        assert not campaign.alarms()


@pytest.mark.parametrize("features", [(), ("size",)])
def test_the_best_that_is_known_is_known_after_the_answers_of_the_same_call(
    tmp_path: Path, features: tuple[str, ...]
) -> None:
    """The cheap tier is turned around; with a feature, that alone tells of the truth."""

    def number(candidate: vl.Candidate) -> int:
        return int(str(candidate.content).split()[1])

    def cheap(candidate: vl.Candidate) -> vl.Verdict:
        size = number(candidate) / 500.0
        score = size * 97.0 % 1.0 if features else size
        return vl.Verdict.accept(score, evidence={"size": size})

    def mirrored(candidate: vl.Candidate) -> float:
        return 3.0 - number(candidate) / 200.0

    rungs = [
        vl.verifier(name="cheap", version="1", isolation="inline", features=features)(cheap),
        vl.verifier(
            name="dear", version="1", tier="high_fidelity", isolation="inline",
            cost=vl.Cost(money=1.0),
        )(mirrored),
    ]  # fmt: skip
    once, place = vl.Ladder("once", rungs, audit=0.15), tmp_path / "ledger.db"
    budget = {"high_fidelity": {"money": 40}}
    with vl.Campaign.open("c", ladder=once, ledger=place, run="r", budget=budget) as campaign:
        campaign.score([f"candidate {n} of many" for n in range(500)], step=0)
        assert campaign.drain("300 s")
        summary = summarise(campaign.ledger, "c")
        page = render_report(campaign.ledger, "c")

    best = [candidate.content for candidate in summary.best]
    assert max(int(content.split()[1]) for content in best) < 200
    assert any(candidate.measured is None for candidate in summary.best)
    shown = CliRunner().invoke(app, ["campaign", "show", "c", "--json", "--ledger", str(place)])
    assert best == [candidate["content"] for candidate in json.loads(shown.stdout)["best"]]
    assert summary.best[0].worth == summary.rewards.best == summary.curve[-1].best
    rows = page[page.index('id="best"') :]
    places = [rows.index(content) for content in best]
    assert sorted(places) == places
