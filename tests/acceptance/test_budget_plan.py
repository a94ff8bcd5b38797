"""A cap is spent where it is set, and nobody is asked, or paid, whom nobody has allowed."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.registry import REGISTRY
from verifier_ladder.rollouts import scoring
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.world.expert import ExpertCase
from verifier_ladder.tiers.world.measured import MeasuredHydration

pytestmark = pytest.mark.usefixtures("forked_workers")

SECONDS = {"fast": 1e-5, "simulation": 0.5, "high_fidelity": 5.0}
PERSON = {"person_minutes": 40}
"""Eight cases of five minutes."""


class Timed(vl.Verifier):
    """Takes what it declares, and says so."""

    version, kind = "1", "text"

    def __init__(self, tier: str, cost: vl.Cost | None = None) -> None:
        self.name, self.tier, self.deviation = f"{tier}-timed", tier, 1.0
        self.cost = cost or vl.Cost(seconds=SECONDS[tier])
        super().__init__(tier=tier)

    def verify(self, candidates: Any) -> list[vl.Verdict]:
        return [
            vl.Verdict(vl.Outcome.ACCEPT, float(len(c.content) % 7), cost=self.cost)
            for c in candidates
        ]


def ladder(
    *tiers: str, policy: str | None = None, paid: vl.Cost | None = None, asks: bool = True
) -> vl.Ladder:
    verifiers: list[vl.Verifier] = [
        Timed(tier, paid if tier == "high_fidelity" else None) for tier in tiers
    ]
    if asks:
        verifiers.append(ExpertCase(kind="text", low=0, high=10))
    return vl.Ladder("timed", verifiers, policy=policy, prior=(3.0, 2.0))


ALL = ("fast", "simulation", "high_fidelity")


def texts(count: int, first: int = 0) -> list[str]:
    return [f"text {number} " + "x" * (number % 5) for number in range(first, first + count)]


def done(campaign: vl.Campaign, tier: Tier = Tier.HIGH_FIDELITY) -> int:
    return next(status.done for status in campaign.status().tiers if status.tier is tier)


def asked(campaign: vl.Campaign) -> int:
    """Questions to people, open ones and answered ones."""
    return len(campaign.cases()) + done(campaign, Tier.WORLD)


def spent(campaign: vl.Campaign, resource: str = "cpu_seconds") -> float:
    accounts = campaign.ledger.accounts(campaign.name)
    return sum(
        a.spent for a in accounts
        if a.tier == Tier.HIGH_FIDELITY and a.resource.label == resource
    )  # fmt: skip


@pytest.mark.parametrize(("size", "tiers"), [(1, ALL), (5, ALL[1:]), (50, ALL)], ids=str)
def test_a_cap_that_pays_for_all_is_spent_on_all_and_no_person_is_asked(
    size: int, tiers: tuple[str, ...]
) -> None:
    budget = {"high_fidelity": "5 min"}
    with vl.Campaign.open("c", ladder=ladder(*tiers), budget=budget, workers=1) as campaign:
        campaign.score(texts(size))
        assert campaign.drain("300 s")

        assert (size, 0) == (done(campaign), asked(campaign))


@pytest.mark.parametrize(
    ("budget", "fewest", "cases"),
    [
        ({"high_fidelity": 100.0}, 18, (0, 0)),
        ({"high_fidelity": 100.0, "world": PERSON}, 15, (4, 8)),
        ({"high_fidelity": 100.0, "world": "unlimited"}, 18, (1, 50)),
        ({"world": PERSON}, 50, (4, 8)),
    ],
    ids=str,
)  # fmt: skip
def test_a_cap_that_pays_for_some_is_spent_and_never_passed(
    budget: Mapping[str, Any], fewest: int, cases: tuple[int, int]
) -> None:
    with vl.Campaign.open("c", ladder=ladder(*ALL), budget=budget, workers=1) as campaign:
        campaign.score(texts(50))
        assert campaign.drain("300 s")

        assert fewest <= done(campaign)
        if "high_fidelity" in budget:
            assert spent(campaign) <= 100.0
        assert cases[0] <= asked(campaign) <= cases[1]


@pytest.mark.parametrize(
    ("policy", "fewest"), [("discovery", 5), ("all_tiers", 5), ("best_of_n", 0)]
)
def test_other_policies_spend_a_cap_and_ask_no_person_without_one(
    policy: str, fewest: int
) -> None:
    made = ladder(*ALL, policy=policy)
    budget = {"high_fidelity": 50.0}
    with vl.Campaign.open("c", ladder=made, budget=budget, workers=1) as campaign:
        campaign.score(texts(20), groups=[str(number // 5) for number in range(20)])
        assert campaign.drain("300 s")

        assert fewest <= done(campaign) <= 10
        assert asked(campaign) == 0


def test_money_is_spent_only_under_a_cap_and_as_far_as_that_goes() -> None:
    paid = ladder(*ALL, paid=vl.Cost(seconds=0.001, money=2.0), asks=False)
    with vl.Campaign.open("none", ladder=paid, workers=1) as campaign:
        campaign.score(texts(20))
        assert campaign.drain("300 s")
        assert (0, 0.0) == (done(campaign), spent(campaign, "money"))
    budget = {"high_fidelity": {"money": 20}}
    with vl.Campaign.open("some", ladder=paid, budget=budget, workers=1) as campaign:
        campaign.score(texts(20))
        assert campaign.drain("300 s")
        assert 14.0 <= spent(campaign, "money") <= 20.0


def test_the_notice_comes_once_and_what_was_said_holds_for_whoever_opens_it_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def notices() -> list[str]:
        found = [r.getMessage() for r in caplog.records if "nobody said" in r.getMessage()]
        caplog.clear()
        return found

    caplog.set_level(logging.WARNING, "verifier_ladder")
    where: dict[str, Any] = {"ladder": ladder("fast"), "ledger": tmp_path / "l.db", "workers": 1}
    for number, expected in enumerate((1, 0)):
        with vl.Campaign.open("c", **where) as campaign:
            campaign.score(texts(3, first=3 * number))
            assert campaign.drain("300 s")
            assert asked(campaign) == 0
        assert expected == len(notices())
    with vl.Campaign.open("c", budget={"world": "unlimited"}, **where):
        pass
    with vl.Campaign.open("c", **where) as campaign:
        campaign.score(texts(2, first=6))
        assert campaign.drain("300 s")
        assert asked(campaign) == 2
    assert notices() == []


def test_a_cap_for_all_tiers_together_allows_it_too(tmp_path: Path) -> None:
    where: dict[str, Any] = {"ladder": ladder("fast"), "ledger": tmp_path / "l.db", "workers": 1}
    with vl.Campaign.open("c", **where):
        pass
    with vl.Campaign.open("c", budget={"total": {"person_minutes": 10}}, **where) as campaign:
        campaign.score(texts(6))
        assert campaign.drain("300 s")
        assert 1 <= asked(campaign) <= 2


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verifiers by name, as a ladder's TOML file needs them."""
    monkeypatch.setattr(REGISTRY, "_verifiers", dict(REGISTRY._verifiers))
    for tier in ALL:
        REGISTRY.add(Timed(tier))


TOML = """
name = "timed"
verifiers = ["fast-timed", "simulation-timed", "high_fidelity-timed",
             { name = "expert-case", settings = { kind = "text" } }]
prior = { mean = 3.0, deviation = 2.0 }
"""


def rollouts(folder: Path, count: int) -> Path:
    path = folder / "rollouts.jsonl"
    path.write_text("\n".join(json.dumps({"completion": text}) for text in texts(count)))
    return path


@pytest.mark.parametrize("chunk", [7, 1024])
def test_a_file_is_planned_as_a_whole_before_its_first_check_and_the_cap_is_spent(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK", chunk)
    seen: list[tuple[int, list[str]]] = []
    place = tmp_path / "l.db"

    def planned(plan: Any) -> None:
        with vl.open_ledger(place) as ledger:
            checks = len(ledger.checks()) + ledger.count_samples("timed")
        seen.append((checks, [tier.tier.label for tier in plan.tiers]))

    scored = vl.score_file(
        rollouts(tmp_path, 40), ladder=ladder(*ALL), ledger=place, workers=1,
        budget={"high_fidelity": 100.0, "world": PERSON}, when_planned=planned,
    )  # fmt: skip

    assert [(0, [*ALL, "world"])] == seen
    assert scored.plan is not None
    planned_tiers = {tier.tier: tier for tier in scored.plan.tiers}
    assert planned_tiers[Tier.SIMULATION].chosen == 40
    assert planned_tiers[Tier.HIGH_FIDELITY].chosen == pytest.approx(20, abs=6)
    world = planned_tiers[Tier.WORLD]
    assert world.chosen + world.drawn == pytest.approx(8, abs=2)
    (costs,) = [cost for cost in scored.costs if cost.tier is Tier.HIGH_FIDELITY]
    assert 12 <= costs.checks <= 20
    assert json.loads(json.dumps(scored.as_json()))["plan"]["horizon"] == 40


@pytest.mark.usefixtures("registered")
def test_the_plan_is_printed_with_who_is_not_asked_and_why(tmp_path: Path) -> None:
    (tmp_path / "ladder.toml").write_text(TOML)
    file = rollouts(tmp_path, 6)
    given = ["score", str(file), "--ladder", str(tmp_path / "ladder.toml"), "--json"]
    where = ["--ledger", str(tmp_path / "l.db"), "--workers", "1"]

    made = CliRunner().invoke(app, [*given, *where, "--budget", "high_fidelity=5 min"])

    assert made.exit_code == 0, made.output
    assert "high_fidelity (high_fidelity-timed): 6 of 6, about 30 s of cpu time" in made.stderr
    (world,) = [line for line in made.stderr.splitlines() if line.startswith("  world (")]
    assert ": none of 6, but what it answers by itself; the world tier" in world
    assert "would ask people, and nobody said how much" in world
    assert "people's time" not in made.stderr
    began = CliRunner().invoke(app, ["campaign", "forecast", *where[:2]])
    assert "The top tier has no budget" in began.stdout, began.output
    assert "Mean variance left" not in began.stdout
    plan = json.loads(made.stdout)["plan"]["tiers"]
    assert [0.0, 6.0] == [round(plan[3]["chosen"]), round(plan[2]["chosen"])]
    ahead = CliRunner().invoke(
        app, ["campaign", "forecast", "--ladder", str(tmp_path / "ladder.toml"), "--samples",
              "50", "--budget", "world.person_minutes=40"],
    )  # fmt: skip
    assert ahead.exit_code == 0, ahead.output
    assert "best of 50, about 40 min of people's time" in ahead.stdout


def test_what_stands_in_a_table_costs_nobodys_time(tmp_path: Path) -> None:
    gate = REGISTRY.get("molecule-gate")
    made = vl.Ladder("table", [gate, MeasuredHydration()])
    with vl.Campaign.open("c", ladder=made, ledger=tmp_path / "l.db", workers=1) as campaign:
        known, unknown = campaign.score(["CO", "OCCCCCCCO"], deadline="300 s")
        assert campaign.drain("300 s")

        assert known.components["measured-hydration"] == -5.1
        assert (None, 0) == (unknown.components.get("measured-hydration"), len(campaign.cases()))
