"""Training sets from end to end: a world answer changes what a later export says."""

from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.reportcard import report_card
from verifier_ladder.runs import read_run


def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content)) / 10


class Oracle(vl.Verifier):
    """A world verifier that always waits."""

    name, version, tier, kind, waits = "oracle", "1", "world", "text", True
    domain = "oracles"

    def verify(self, candidates: Any) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return str(request.getfixturevalue("postgresql"))


def pairs(ledger: vl.Ledger, **options: Any) -> list[tuple[str, str]]:
    made = training_set(ledger, "preferences", selection=Selection(sure=0.0), **options)
    return [(row["chosen"], row["rejected"]) for row in made.splits["train"]]


def test_an_answer_turns_a_pair_and_the_earlier_export_can_be_made_again(place: str) -> None:
    ladder = vl.Ladder(
        "l", [vl.verifier(isolation="inline")(length), Oracle()], budget={"world": "unlimited"}
    )
    run = vl.Run("r", environment="words")
    samples = [vl.Sample(vl.Candidate("text", text), group="a") for text in ("xxx", "xxxxxx")]
    with vl.Campaign.open("late", ladder=ladder, ledger=place, run=run, workers=1) as campaign:
        campaign.keep([vl.Transcript(group="a", prompt="Say something.")])
        campaign.score(samples, deadline="300 s")
        campaign.drain("300 s")
        ledger = campaign.ledger
        before = pairs(ledger)
        then = read_run(ledger).moment.size
        case = next(case for case in campaign.cases() if case.candidate.content == "xxxxxx")
        campaign.answer(case.check_key, 0.0, source="a laboratory")
        after, again = pairs(ledger), pairs(ledger, at=then)
        world = training_set(ledger, "distillation", selection=Selection(tier="world"))
        card = report_card(ledger)

    assert [("xxxxxx", "xxx")] == before == again
    assert [("xxx", "xxxxxx")] == after
    assert [0.0] == [row["reward"] for row in world.splits["train"]]
    assert "words" == card.declared["environment"]
    assert ["oracles"] == [part.label for part in card.domains]
    assert {"environment"} == card.declared.keys() - set(card.missing)
