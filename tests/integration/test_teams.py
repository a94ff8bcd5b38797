"""Teams on one ledger: who has spent what, and whose verdicts answer for whom."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.keys import check_key, in_namespace
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.resource import Resource
from verifier_ladder.run import Run
from verifier_ladder.scheduler.policies.alltiers import AllTiers
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.spending import NOT_TOLD, spending
from verifier_ladder.verdict import Outcome

CPU, MONEY = Resource.CPU_SECONDS, Resource.MONEY


@vl.verifier(name="quick-t", tier="fast", kind="text", version="1", isolation="inline")
def quick(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(
    name="paid-t", tier="simulation", kind="text", version="1", cost=Cost(0.01, money=2),
    isolation="inline",
)  # fmt: skip
def paid(candidate: vl.Candidate) -> vl.Verdict:
    return vl.Verdict(Outcome.ACCEPT, 10.0 * len(candidate.content), cost=Cost(0.25, money=2))


def ladder() -> vl.Ladder:
    return vl.Ladder("teams", [quick, paid], policy=AllTiers(), budget={"total": "unlimited"})


def score(
    ledger: Ledger, name: str, run: Run, texts: list[str], namespace: str | None = None
) -> list[float | None]:
    with vl.Campaign.open(
        name, ladder=ladder(), ledger=ledger, run=run, workers=1, namespace=namespace
    ) as campaign:
        return [reward.value for reward in campaign.score(texts, deadline="300 s")]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Two projects ask for three checks, one of which both want."""
    ledger = open_ledger(tmp_path_factory.mktemp("teams") / "ledger.db")
    red = Run("r1", project="red", user="ann", labels={"team": "x", "stage": "train"})
    blue = Run("b1", project="blue", user="ben", labels={"team": "x"})
    score(ledger, "one", red, ["a", "bb"])
    score(ledger, "two", blue, ["bb", "ccc"])
    yield ledger
    ledger.close()


def money(ledger: Ledger, by: str) -> dict[str, float]:
    return {line.name: line.spent(MONEY) for line in spending(ledger, by)}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("project", {"red": 4.0, "blue": 2.0}),
        ("user", {"ann": 4.0, "ben": 2.0}),
        ("label:team", {"x": 6.0}),
        ("label:stage", {"train": 4.0, NOT_TOLD: 2.0}),
        ("label", {"team=x": 6.0, "stage=train": 4.0}),
        ("run", {"r1": 4.0, "b1": 2.0}),
        ("verifier", {"paid-t 1": 6.0, "quick-t 1": 0.0}),
        ("tier", {"simulation": 6.0, "fast": 0.0}),
        ("campaign", {"one": 4.0, "two": 2.0}),
    ],
)
def test_the_first_to_ask_has_spent_it(
    shared: Ledger, by: str, expected: dict[str, float]
) -> None:
    assert expected == money(shared, by)


def test_the_lines_add_up_to_the_accounts(shared: Ledger) -> None:
    for resource in Resource:
        found = sum(line.spent(resource) for line in spending(shared, "run"))
        accounts = [a for name in ("one", "two") for a in shared.accounts(name)]
        rows = [a for a in accounts if a.tier != TOTAL and a.resource is resource]
        assert sum(a.spent for a in rows) == pytest.approx(found)
    assert 3 + 3 == sum(line.checks for line in spending(shared, "run"))


def test_spend_of_one_campaign_is_its_own(shared: Ledger) -> None:
    (line,) = spending(shared, "project", campaign="two")
    assert ("blue", 2.0) == (line.name, line.spent(MONEY))


@pytest.mark.parametrize("by", ["colour", "label:", "run:x"])
def test_spend_is_not_told_apart_by_anything(shared: Ledger, by: str) -> None:
    with pytest.raises(vl.ConfigError, match="told apart"):
        spending(shared, by)


def test_namespaces_never_answer_for_each_other(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        for name, namespace in (("train", ""), ("eval", "eval"), ("again", "eval")):
            rewards = score(ledger, name, Run(name), ["a", "bb"], namespace=namespace)
            assert [10.0, 20.0] == rewards
        assert {"train": 4.0, "eval": 4.0, "again": 0.0} == {
            "again": 0.0, **money(ledger, "campaign")
        }  # fmt: skip
        for row in ledger.campaigns():
            assert replay(ledger, row).is_same


def test_a_campaign_stays_in_its_namespace(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        score(ledger, "c", Run("one"), ["a"], namespace="tenant/7")
        score(ledger, "c", Run("two"), ["a"])
        assert {"one": 2.0, "two": 0.0} == {"two": 0.0, **money(ledger, "run")}
        with pytest.raises(vl.ConfigError, match="namespace 'tenant/7'"):
            score(ledger, "c", Run("three"), ["a"], namespace="other")


def test_the_environment_says_where_new_campaigns_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_NAMESPACE", "tenant")
    monkeypatch.setenv("VLADDER_PROJECT", "solvents")
    with open_ledger(tmp_path / "ledger.db") as ledger:
        score(ledger, "c", Run("one"), ["a"])
        (row,) = ledger.campaigns()
        assert "tenant" == row.ladder["namespace"]
        assert ["solvents"] == [line.name for line in spending(ledger, "project")]


def test_a_namespace_must_be_a_name() -> None:
    with pytest.raises(vl.ConfigError, match="namespace can't be called"):
        ladder().in_namespace("no spaces")


def test_keys_of_the_default_namespace_are_as_ever() -> None:
    placed = ladder().in_namespace("eval").verifiers[0]
    assert quick.key_digest == quick.digest == placed.digest
    assert check_key(in_namespace(quick.digest, "eval"), b"c" * 32) == check_key(
        placed.key_digest, b"c" * 32
    )
    assert placed.key_digest != placed.digest
