"""What notebooks show: small, escaped, soon made, and never an error."""

import re
from pathlib import Path
from typing import Any

import pytest
import scored
import viewed
from histories import ESTIMATE, GATE, MEASURED, History, Item

import verifier_ladder as vl
from verifier_ladder.analysis import overview
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, CheckState, Entry
from verifier_ladder.notebook.cards import campaign_card
from verifier_ladder.summary import reading
from verifier_ladder.tier import Tier

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\" ' \u202e\x1b[31m {{ 7 }}"


def words(html: str) -> str:
    """What a card says, and that it can't do anything."""
    assert not re.findall(r"<(?!/?(?:div|b|table|thead|tbody|tr|th|td|details|summary|pre|code|"
                          r"bdi|br)\b)", html)  # fmt: skip
    assert not re.findall(r"<[^>]*\s(?:on\w+|src|href)=", html)
    assert not {c for c in html if (ord(c) < 32 and c != "\n") or c == "\u202e"}
    assert len(html) < 20_000
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def card(shown: Any) -> str:
    return words(shown._repr_html_())


def test_a_reward_says_its_number_its_interval_who_answered_and_what_is_awaited() -> None:
    told = card(vl.Reward(
        0.44, 0.02, Tier.SIMULATION, 1, {"xtb": -4.6, "gate": None}, "good enough", pending=True
    ))  # fmt: skip

    assert "0.440 ± 0.020 reward · revision 1" in told.replace("&nbsp;", "").replace("  ", " ")
    assert "interval 0.42 to 0.46" in told
    assert "tier simulation" in told
    assert "awaited a higher tier" in told
    assert "why good enough" in told
    assert "xtb −4.60, gate –" in told


def test_an_unknown_reward_is_no_zero() -> None:
    told = card(vl.Reward(None, reason="SCF diverged", failed_at="tool"))

    assert "no reward: mask it, it is not 0" in told
    assert "failed at tool" in told
    assert not re.search(r"\b0\.0", told)


def test_a_revision_says_of_which_sample_it_is_and_what_was_before() -> None:
    told = card(vl.Revision(7, "one", 3, 2, vl.Reward(0.5), previous=None, advantage=0.1))

    assert "step 3 of run one, sample 2" in told
    assert "before –" in told
    assert "0.50" in told


def test_a_verdict_says_its_outcome_and_score_and_folds_its_evidence() -> None:
    shown = vl.Verdict.accept(-4.2, uncertainty=0.2, unit="kcal/mol", evidence={"cycles": [1, 2]})
    told = card(shown)

    assert "✓ accepted" in told
    assert "−4.20 ± 0.20 kcal/mol" in told
    assert "<details><summary>evidence</summary>" in shown._repr_html_()
    assert "cycles" in told


def test_open_cases_are_counted_and_not_only_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_CASES", 1)
    ledger = open_ledger(None)
    history = History(ledger)
    for name in ("C", "O"):
        item = scored.item(name)
        history.score([item])
        history.enqueue(item, MEASURED, CheckState.WAITING)

    assert "2 open cases for the world to answer" in words(campaign_card(ledger, "try"))


def test_a_failure_is_no_reject() -> None:
    assert "! failed at tool" in card(vl.Verdict.abstain("away", failed_at="tool"))
    assert "– no opinion" in card(vl.Verdict.abstain("too large"))
    assert "✗ rejected" in card(vl.Verdict.reject("too long"))


def test_nothing_that_a_candidate_or_a_verifier_wrote_becomes_markup() -> None:
    card(vl.Reward(0.5, reason=HOSTILE, failed_at=HOSTILE, components={HOSTILE: 1.0},
                   feedback=HOSTILE, scores={HOSTILE: 1.0}))  # fmt: skip
    card(vl.Verdict.reject(HOSTILE, unit=HOSTILE, feedback=HOSTILE,
                           evidence={HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}))  # fmt: skip
    card(vl.Revision(1, HOSTILE, 1, 1, vl.Reward(0.5), None))
    with open_ledger(None) as ledger:
        history = History(ledger, HOSTILE)
        said = {GATE: vl.Verdict.accept(), ESTIMATE: vl.Verdict.accept(-5.0, unit=HOSTILE)}
        history.score([Item(HOSTILE, HOSTILE, said, vl.Reward(0.5), -5.0, 1.0)])
        words(campaign_card(ledger, HOSTILE))


class Odd:
    """Can't be shown."""

    def __repr__(self) -> str:
        raise RuntimeError(HOSTILE)


def test_what_can_not_be_told_is_said() -> None:
    around: list[Any] = []
    around.append(around)
    for value in (Odd(), around, "x" * 10**7, dict.fromkeys(range(10**5)), float("inf")):
        card(vl.Verdict.accept(1.0, evidence={"odd": value}))
    assert "can't be told" in card(vl.Reward("no number"))  # type: ignore[arg-type]
    assert "∞" in card(vl.Reward(float("inf"), float("nan")))
    with open_ledger(None) as ledger:
        assert "can't be told" in words(campaign_card(ledger, "nobody"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return open_ledger(tmp_path / "ledger.db")


def test_a_campaign_says_who_won_what_is_wrong_what_was_spent_and_its_tiers(
    ledger: Ledger,
) -> None:
    with ledger:
        viewed.record(ledger)
        told = words(campaign_card(ledger, "try"))

    assert told.index("best") < told.index("alarms") < told.index("spent") < told.index("tier ")
    assert "best −4.20 ± 0.20 kcal/mol by the world tier: CCO" in told
    assert f"⚠ {ESTIMATE} is being gamed" in told
    assert "3 s of cpu time" in told
    assert "0 of 3 without one" in told
    assert "high fidelity dft 1 0 1" in told


def test_of_a_large_campaign_no_entry_is_read_but_alarms(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MOST_READ", 3)
    read: list[str] = []
    with ledger:
        viewed.record(ledger)
        whole = type(ledger).read

        def noted(self: Ledger, entry: Entry) -> Block:
            read.append(entry.kind)
            return whole(self, entry)

        monkeypatch.setattr(type(ledger), "read", noted)
        told = words(campaign_card(ledger, "try"))

    assert set(read) == {"alarm"}
    assert f"⚠ {ESTIMATE} is being gamed" in told
    assert "3 samples" in told


def test_an_open_campaign_and_a_closed_one_show_a_card() -> None:
    @vl.verifier(kind="text", version="1", isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    with vl.Campaign.open("try", ladder=vl.Ladder("l", [length])) as campaign:
        campaign.score(["a", "bcd"])
        told = card(campaign)

    assert "best 3.00 by the fast tier: bcd" in told
    assert "✓ none" in told
    card(campaign)
