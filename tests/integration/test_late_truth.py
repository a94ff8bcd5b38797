"""Late truth from end to end: a world answer changes the advantages of a whole group."""

from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl


def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


class Oracle(vl.Verifier):
    """A world verifier that always waits."""

    name, version, tier, kind, waits = "oracle", "1", "world", "text", True

    def verify(self, candidates: Any) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


@pytest.mark.parametrize("place", [None, "ledger.db"], ids=["memory", "sqlite"])
def test_an_answer_changes_the_advantages_of_its_group(place: str | None, tmp_path: Path) -> None:
    texts = {"a": ["x", "xxx"], "b": ["y", "yyyyy"]}
    samples = [
        vl.Sample(vl.Candidate("text", text), group=group, learner_version="v7")
        for group, members in texts.items() for text in members
    ]  # fmt: skip
    ladder = vl.Ladder(
        "l", [vl.verifier(isolation="inline")(length), Oracle()], budget={"world": "unlimited"}
    )
    ledger = place and tmp_path / place
    with vl.Campaign.open("late", ladder=ladder, ledger=ledger, run="r", workers=1) as campaign:
        campaign.score(samples, deadline="300 s")
        campaign.drain("300 s")
        used = campaign.cursor
        before = [sample.advantage for sample in campaign.advantages("r", 0)]
        case = next(case for case in campaign.cases() if case.candidate.content == "xxx")
        campaign.answer(case.check_key, 7.0, source="a laboratory")
        (revision,) = campaign.revisions(after=used)
        late = campaign.advantages("r", 0, since=used)

    assert [-1.0, 1.0, -1.0, 1.0] == before
    assert ("a", "v7", 3.0, 7.0) == (
        revision.group, revision.learner_version, revision.previous, revision.reward.value
    )  # fmt: skip
    assert (late[1].advantage, late[1].change) == (revision.advantage, revision.advantage_change)
    changed = [sample.change for sample in late]
    assert changed == pytest.approx([-2 / 3, 2 / 3, 0.0, 0.0])
