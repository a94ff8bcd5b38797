"""Shadows from end to end: they follow, they compare, they touch nothing."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import forked
import pytest

import verifier_ladder as vl
from verifier_ladder.decision import Decisions, Situation
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.conductor import Conductor
from verifier_ladder.scheduler.policies import AllTiers
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.summary.shadow import Mark

Open = Callable[..., vl.Campaign]
TEXTS = ["a", "bb", "ccc", "dddd", "bb"]


class Asked(vl.Verifier):
    """Tells how often it was asked; in this process, so that it can."""

    kind, isolation, version = "text", "inline", "1"

    def __init__(self, name: str, tier: str, shift: float = 0.0, role: Any = "primary") -> None:
        self.name, self.tier, self.shift, self.role = name, tier, shift, role
        self.asked: list[str | bytes] = []
        super().__init__(shift=shift)

    def verify(self, candidates: Any) -> list[Any]:
        self.asked += [candidate.content for candidate in candidates]
        sizes = [len(candidate.content) for candidate in candidates]
        return [n < 4 if self.role == "gate" else n + self.shift for n in sizes]


class Broken(vl.Verifier):
    """Fails on everything."""

    name, version, tier, kind, isolation = "broken", "1", "fast", "text", "inline"

    def verify(self, _: Any) -> list[Any]:
        raise vl.ToolError("the tool is down")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield store


@pytest.fixture
def cheap() -> Asked:
    return Asked("cheap", "fast")


@pytest.fixture
def open_(ledger: Ledger, cheap: Asked) -> Open:
    """Open the campaign; `shadow` is for the test to give."""
    ladder = vl.Ladder("l", [cheap])
    return partial(vl.Campaign.open, "c", ladder=ladder, ledger=ledger, run="r", workers=1)


def other(cheap: vl.Verifier) -> vl.Ladder:
    dear = Asked("dear", "simulation", 0.5)
    return vl.Ladder("other", [cheap, Asked("short", "fast", role="gate"), dear])


def test_every_sample_is_scored_again_under_its_own_id(
    open_: Open, ledger: Ledger, cheap: Asked
) -> None:
    with open_(shadow=other(cheap)) as campaign:
        rewards = campaign.score(TEXTS)
        campaign.score([vl.Sample(vl.Candidate("text", "e"), run="mine", step=7, position=3)])
        assert campaign.drain("300 s")
        shadowed = ledger.recorded("c~shadow", "r", 0)
        sample = ledger.recorded("c~shadow", "mine", 7)

    assert [1.0, 2.0, 3.0, 4.0, 2.0] == [reward.value for reward in rewards]
    assert [1.5, 2.5, 3.5, 0.0, 2.5] == [shadowed[i].reward.value for i in range(5)]
    assert [3] == list(sample)


def test_a_policy_that_leaves_the_program_does_not_end_the_shadow(
    open_: Open, ledger: Ledger, cheap: Asked
) -> None:
    class Leaving(AllTiers):
        def decide(self, situation: Situation) -> Decisions:
            raise SystemExit(len(situation))

    leaving = vl.Ladder("other", [cheap, Asked("dear", "simulation", 0.5)], policy=Leaving())
    with open_(shadow=leaving) as campaign:
        for texts in (TEXTS, ["new"]):
            campaign.score(texts)
            assert campaign.drain("300 s")
        told = [ledger.read(entry).facts["reason"] for entry in ledger.entries(kind="shadow")]

    assert 2 == len(told)
    assert "SystemExit" in told[0]


def test_what_both_ladders_ask_is_asked_once(open_: Open, cheap: Asked) -> None:
    with open_(shadow=other(cheap)) as campaign:
        campaign.score(TEXTS)
        assert campaign.drain("300 s")

    assert ["a", "bb", "ccc", "dddd"] == cheap.asked


def test_a_report_compares_the_two(open_: Open, cheap: Asked) -> None:
    with open_(shadow=other(cheap)) as campaign:
        campaign.score(TEXTS)
        assert campaign.drain("300 s")
        report = campaign.shadow_report(threshold=2.0)

    assert (5, 5, 0) == (report.samples, report.compared, report.pending)
    assert {
        (Mark.GOOD, Mark.GOOD): 3, (Mark.POOR, Mark.POOR): 1, (Mark.GOOD, Mark.REJECTED): 1,
    } == report.marks  # fmt: skip
    assert ("dddd", 4.0, 0.0) == report.largest[0][3:]
    assert report.swapped == pytest.approx(4 / 9)
    (dear,) = (cost for cost in report.costs if cost.tier == "simulation")
    assert 0.0 == dear.campaign < dear.shadow


def test_a_campaign_is_what_it_would_be_without_a_shadow(
    open_: Open, cheap: Asked, tmp_path: Path
) -> None:
    with open_(shadow=other(cheap)) as campaign:
        shadowed = campaign.score(TEXTS) + campaign.score(["new", "a"])
        campaign.drain("300 s")
        status = campaign.status()
    ladder = vl.Ladder("l", [Asked("cheap", "fast")])
    with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "alone.db") as alone:
        assert shadowed == alone.score(TEXTS) + alone.score(["new", "a"])
        assert [t.done for t in alone.status().tiers] == [t.done for t in status.tiers]
        assert [] == list(alone.revisions())


def test_a_learner_does_not_wait_for_the_shadow(
    open_: Open, cheap: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go = Event(), Event()

    def held(*_: object) -> None:
        began.set()
        assert go.wait(300)

    monkeypatch.setattr(Conductor, "submit", held)
    with open_(shadow=other(cheap)) as campaign:
        campaign.score(TEXTS)
        assert began.wait(300)
        assert 3.0 == campaign.score(["new"])[0].value
        assert not campaign.drain(0.01)
        go.set()


def test_a_shadow_that_breaks_is_logged_and_shown_and_never_raised(
    open_: Open, cheap: Asked, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(Conductor, "submit", broken)
    with open_(shadow=other(cheap)) as campaign:
        assert 1.0 == campaign.score(TEXTS)[0].value
        assert campaign.drain("300 s")
        report = campaign.shadow_report()

    assert (5, 0) == (report.samples, report.compared)
    assert [("r", 0, 5, "RuntimeError: no such luck")] == list(report.failures)
    assert "5 samples of step 0 were not shadowed" in caplog.text


def test_a_verifier_that_fails_in_the_shadow_leaves_unknown_rewards(open_: Open) -> None:
    with open_(shadow=vl.Ladder("other", [Broken()])) as campaign:
        campaign.score(["a"])
        assert campaign.drain("300 s")
        report = campaign.shadow_report()

    assert {(Mark.GOOD, Mark.UNKNOWN): 1} == report.marks
    assert report.mean_change is None


def test_a_shadow_has_a_budget_of_its_own(open_: Open, ledger: Ledger, cheap: Asked) -> None:
    beside = other(cheap)
    with open_(shadow=beside, shadow_budget={"simulation": 0}) as campaign:
        campaign.score(TEXTS)
        assert campaign.drain("300 s")

    caps = {
        name: {(account.tier, account.cap) for account in ledger.accounts(name)}
        for name in ("c", "c~shadow")
    }
    assert {(0, None)} == caps["c"]
    assert (1, 0.0) in caps["c~shadow"]
    assert [] == beside.verifiers[-1].asked  # type: ignore[attr-defined]


def test_leaving_scores_what_is_left(open_: Open, cheap: Asked, ledger: Ledger) -> None:
    with open_(shadow=other(cheap)) as campaign:
        for _ in range(5):
            campaign.score(TEXTS)

    assert 5 == ledger.next_step("c~shadow", "r")


def test_a_campaign_goes_on_with_its_shadow(open_: Open, cheap: Asked) -> None:
    for _ in range(2):
        with open_(shadow=other(cheap)) as campaign:
            campaign.score(TEXTS)
    with open_() as campaign:
        campaign.score(TEXTS)
        report = campaign.shadow_report()

    assert (15, 10) == (report.samples, report.compared)


def test_a_shadow_replays_as_every_campaign(open_: Open, ledger: Ledger, cheap: Asked) -> None:
    with open_(shadow=other(cheap)) as campaign:
        campaign.score(TEXTS)
        campaign.drain("300 s")

    for row in ledger.campaigns():
        assert replay(ledger, row).is_same


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shadow": vl.Ladder("m", [vl.verifier(kind="molecule")(len)])}, "is about molecule"),
        ({"shadow_budget": {"fast": 1}}, "is for a shadow"),
        (
            {"shadow": vl.Ladder("m", [Broken()]), "shadow_budget": {"world": 1}},
            "has no tier world",
        ),
    ],
)
def test_a_shadow_that_does_not_fit_is_refused(
    open_: Open, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(vl.ConfigError, match=message):
        open_(**options)


def test_another_shadow_is_refused_and_nothing_stays_open(open_: Open, cheap: Asked) -> None:
    open_(shadow=other(cheap)).close()

    with pytest.raises(vl.ConfigError, match="'c~shadow' was opened with another ladder"):
        open_(shadow=vl.Ladder("third", [cheap]))
    with open_(shadow=other(cheap)) as campaign:
        assert 1.0 == campaign.score(["a"])[0].value


def test_no_campaign_can_be_named_like_a_shadow() -> None:
    with pytest.raises(vl.ConfigError, match="can't be called"):
        vl.Campaign.open("c~shadow", ladder=vl.Ladder("l", [Broken()]))


ATTACHED = """
import sys
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1")
def length(candidate):
    return float(len(candidate.content))

@vl.verifier(tier="fast", kind="text", version="1")
def twice(candidate):
    return 2.0 * len(candidate.content)

campaign = vl.Campaign.open(
    "shared", ladder=vl.Ladder("l", [length]), shadow=vl.Ladder("s", [twice]), ledger="ledger.db",
    run=sys.argv[1], workers=1,
)
print("open", flush=True)
sys.stdin.readline()
campaign.score(["a", "bb"])
campaign.drain()
print(campaign.shadow_report().mean_change, flush=True)
campaign.close()
"""


def test_an_attached_process_has_its_shadow_at_the_home(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ATTACHED)
    start = partial(
        forked.Popen, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    with start([sys.executable, script, "one"]) as home:
        assert home.stdout is not None
        assert "open\n" == home.stdout.readline()
        with start([sys.executable, script, "two"]) as attached:
            told, _ = attached.communicate("go\n", timeout=300)
        home.communicate("go\n", timeout=300)

    assert ["open", "1.5"] == told.splitlines()
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert [1, 1] == [ledger.next_step("shared~shadow", run) for run in ("one", "two")]
