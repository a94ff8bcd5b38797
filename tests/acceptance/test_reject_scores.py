"""A reject earns what the reward rule says of rejects, whatever score its verifier gives it.

Only where the rule says `partial_credit` does it earn its score, also where chance has drawn it.
"""

from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.policies.alltiers import AllTiers
from verifier_ladder.scheduler.replay import replay

TEXTS = [f"answer {number}" for number in range(40)]


def share(candidate: vl.Candidate) -> float:
    """How many of ten tests pass; all for one text in four."""
    number = int(str(candidate.content).split()[1])
    return 1.0 if number % 4 == 0 else (number % 9 + 1) / 10


def judge(candidate: vl.Candidate) -> vl.Verdict:
    passed = share(candidate)
    if passed == 1.0:
        return vl.Verdict.accept(1.0)
    return vl.Verdict.reject(f"{passed:.0%} of the tests pass", score=passed)


def quick(_: vl.Candidate) -> float:
    return 0.5


def ladder(tier: str, drawn: bool = False, **rule: Any) -> vl.Ladder:  # noqa: FBT001, FBT002
    top = FunctionVerifier(judge, name="tests", version="1", tier=tier, isolation="inline")
    cheap = FunctionVerifier(quick, name="quick", version="1", isolation="inline")
    policy = Thresholds(thresholds={tier: 1e9}) if drawn else AllTiers()
    return vl.Ladder(
        "graded", [top] if tier == "fast" else [cheap, top], policy=policy,
        audit=0.5 if drawn else None, reward=vl.RewardRule(estimator="unbiased", **rule),
    )  # fmt: skip


def read(of: vl.Ladder, place: Path) -> list[float | None]:
    """The last reward of each text, read again from the ledger, which must replay."""
    with open_ledger(place) as ledger:
        with vl.Campaign.open("c", ladder=of, ledger=ledger, run="r", workers=1) as campaign:
            first = campaign.score(TEXTS)
            campaign.drain("300 s")
            values = [reward.value for reward in first]
            for revision in campaign.revisions():
                values[revision.position] = revision.reward.value
        assert replay(ledger, ledger.campaigns()[0]).differences == []
    return values


@pytest.mark.parametrize("tier", ["fast", "high_fidelity"])
@pytest.mark.parametrize("reject", [0.0, -0.25])
def test_a_reject_earns_the_rules_value(tier: str, reject: float, tmp_path: Path) -> None:
    values = read(ladder(tier, reject=reject), tmp_path / "ledger.db")

    shares = [share(vl.Candidate("text", text)) for text in TEXTS]
    assert values == [1.0 if passed == 1.0 else reject for passed in shares]


@pytest.mark.parametrize("tier", ["fast", "high_fidelity"])
def test_partial_credit_pays_the_score(tier: str, tmp_path: Path) -> None:
    values = read(ladder(tier, partial_credit=True), tmp_path / "ledger.db")

    assert values == [share(vl.Candidate("text", text)) for text in TEXTS]


@pytest.mark.parametrize("credit", [False, True])
def test_a_drawn_reject_is_corrected_to_what_it_pays(
    credit: bool, tmp_path: Path  # noqa: FBT001
) -> None:  # fmt: skip
    values = read(ladder("high_fidelity", drawn=True, partial_credit=credit), tmp_path / "l.db")

    moved = {text: value for text, value in zip(TEXTS, values, strict=True) if value != 0.5}
    assert 10 < len(moved) < 30
    for text, value in moved.items():
        passed = share(vl.Candidate("text", text))
        truth = passed if credit or passed == 1.0 else 0.0
        assert value == pytest.approx(0.5 + (truth - 0.5) / 0.5)


def test_partial_credit_is_said_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "ladder.toml").write_text(
        'name = "graded"\n[[verifiers]]\nname = "hydration-estimate"\n'
        "[reward]\nreject = -1.0\npartial_credit = true\n"
    )

    found = vl.Ladder.from_toml(tmp_path / "ladder.toml")

    assert (found.reward.partial_credit, found.reward.reject) == (True, -1.0)
    assert found.digest != vl.Ladder("graded", found.verifiers, reward=vl.RewardRule()).digest
