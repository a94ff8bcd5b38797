"""What a reward says of a rejected candidate is what all that is made of the ledger says.

A gate rejects whatever is long, which is right of some candidates only, and the top tier is asked
about each reject. It is asked in another campaign too, so that its score is there where the gate
is right by definition.
"""

from collections.abc import Iterator, Sequence

import pytest

import verifier_ladder as vl
from verifier_ladder.curriculum import curriculum
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.reportcard import report_card
from verifier_ladder.runs import read_run
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.summary import summarise

GOOD, BAD, SHORT = "a long and good answer", "a long and bad answer", "short"
TEXTS = [GOOD, BAD, SHORT]
WORTH = {GOOD: 0.9, BAD: 0.2, SHORT: 0.6}


class Shape(vl.Verifier):
    """A gate that takes no long answers."""

    name, version, tier, kind, role = "shape", "1", "fast", "text", "gate"
    isolation = "inline"

    def __init__(self, *, definitive: bool) -> None:
        super().__init__(definitive=definitive)
        self.definitive = definitive

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [
            vl.Verdict.accept() if candidate.content == SHORT else vl.Verdict.reject("too long")
            for candidate in candidates
        ]


@vl.verifier(name="cheap", version="1", tier="fast", kind="text", isolation="inline")
def cheap(candidate: vl.Candidate) -> float:
    del candidate
    return 0.6


@vl.verifier(name="top", version="1", tier="world", kind="text", isolation="inline")
def top(candidate: vl.Candidate) -> float:
    return WORTH[str(candidate.content)]


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:") as store:
        yield store


def scored(ledger: Ledger, verifiers: Sequence[vl.Verifier], campaign: str, run: str) -> None:
    ladder = vl.Ladder(
        campaign, verifiers, audit=1.0, budget={"world": "unlimited"},
        reward=vl.RewardRule(estimator="unbiased"),
    )  # fmt: skip
    with vl.Campaign.open(campaign, ladder=ladder, ledger=ledger, run=run, workers=1) as opened:
        opened.score(TEXTS, step=0, groups=["one"] * len(TEXTS))
        assert opened.drain("300 s")
        assert replay(ledger, next(r for r in ledger.campaigns() if r.name == campaign)).is_same


@pytest.mark.parametrize(
    ("definitive", "earlier"), [(False, 3), (False, 0), (True, 2)],
    ids=["all is known", "nothing is known", "the top tier is known"],
)  # fmt: skip
def test_all_that_is_made_of_a_run_says_what_its_rewards_say(
    ledger: Ledger,
    definitive: bool,  # noqa: FBT001 - it is what is told apart
    earlier: int,
) -> None:
    verifiers = [top, cheap, Shape(definitive=definitive)]
    if earlier:
        scored(ledger, verifiers[:earlier], "before", "earlier")
    scored(ledger, verifiers, "now", "r")

    good, rejected = ([SHORT], {GOOD, BAD}) if definitive else ([GOOD, SHORT], set())
    worths = WORTH | dict.fromkeys(rejected, 0.0)
    record = read_run(ledger, "r")
    samples = {str(record.contents[sample.content]): sample for sample in record.samples}
    assert {text: sample.reward.value for text, sample in samples.items()} == worths
    assert {text: sample.worth for text, sample in samples.items()} == worths
    assert {text for text, sample in samples.items() if sample.is_rejected} == rejected

    wanted = Selection(pass_at=0.5)
    made = training_set(ledger, "sft", run="r", selection=wanted, prompts={"one": "?"})
    assert [row["completion"] for row in made.splits["train"]] == good
    pairs = training_set(ledger, "preferences", run="r", selection=wanted, prompts={"one": "?"})
    assert [row["chosen"] for row in pairs.splits["train"]] == [good[0]]

    card = report_card(ledger, "r", pass_at=0.5)
    assert card.whole.passes is not None
    assert card.whole.passes.value == pytest.approx(len(good) / len(TEXTS))
    assert curriculum(ledger, "r", pass_at=0.5).tasks[0].passes.passed == len(good)
    best = summarise(ledger, "now").best
    assert [each.content for each in best] == ([SHORT] if definitive else [GOOD, SHORT, BAD])
