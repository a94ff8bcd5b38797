"""What counters say of campaigns whose numbers are known beforehand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from histories import ESTIMATE, GATE, MEASURED, XTB, History, Item, ladder_spec
from sqlalchemy import event

from verifier_ladder.analysis.overview import overview
from verifier_ladder.analysis.totals import VerifierCounts, campaign_counts, drift_alarms
from verifier_ladder.candidate import SampleId
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.keys import digest
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, CheckRow, CheckState, Request
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.reward import CANONICAL, Reward
from verifier_ladder.scheduler.drift import Alarm, Direction
from verifier_ladder.summary import summarise
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

WATER = Item("O", "O", {GATE: Verdict.accept(), ESTIMATE: Verdict.accept(-6.0)}, Reward(0.5))
METHANOL = replace(WATER, raw="CO", canonical="CO")
BROKEN = Item("C1CC", Verdict.reject("can't read it"), {}, Reward(0.0, 0.0))
CRASHED = Item("CC", "CC", {GATE: Verdict.abstain("killed", failed_at="engine")}, Reward(None))


@pytest.fixture
def history() -> History:
    return History(open_ledger(None))


def opened(folder: Path) -> SqlLedger:
    ledger = open_ledger(folder / "ledger.db")
    assert isinstance(ledger, SqlLedger)
    return ledger


def counts_of(history: History) -> dict[str, VerifierCounts]:
    return {one.verifier: one for one in campaign_counts(history.ledger, "try").verifiers}


def test_a_campaign_that_has_not_begun_has_counted_nothing(history: History) -> None:
    counts = campaign_counts(history.ledger, "try")

    assert (counts.samples, counts.checks, counts.verifiers, counts.runs) == (0, 0, (), ())
    assert (counts.known, counts.rewards.mean) == (0, None)


def test_an_unknown_campaign_is_named_with_those_that_exist(history: History) -> None:
    with pytest.raises(ConfigError, match=r"no campaign 'other'.*try"):
        campaign_counts(history.ledger, "other")


def test_checks_are_told_by_verifier_and_by_how_they_ended(history: History) -> None:
    history.score([WATER, BROKEN, CRASHED])
    history.check(WATER, XTB, Verdict.abstain("killed", failed_at="tool"))
    history.check(WATER, XTB, Verdict.accept(-5.0))

    counts = counts_of(history)

    assert (counts[CANONICAL].tier, counts[CANONICAL].rejected) == (None, 1)
    assert (counts[GATE].accepted, counts[GATE].failures) == (1, {"engine": 1})
    assert (counts[XTB].answered, counts[XTB].failed, counts[XTB].pass_rate) == (1, 1, 1.0)
    assert {"engine": 1, "tool": 1} == campaign_counts(history.ledger, "try").failures


def test_a_verifier_that_judged_nobody_has_no_pass_rate(history: History) -> None:
    history.score([CRASHED])

    assert counts_of(history)[GATE].pass_rate is None


def test_runs_are_told_apart_the_oldest_first(history: History) -> None:
    for run in ("second", "first"):
        history.ledger.add_run("try", {"name": run})
    history.score([WATER], run="first")
    history.score([WATER, WATER], run="second")

    counts = campaign_counts(history.ledger, "try")

    assert [(run.run, run.samples) for run in counts.runs] == [("second", 2), ("first", 1)]
    assert [(s.step, s.run, s.mean) for s in history.ledger.step_counts("try")] == [
        (0, "first", 0.5), (1, "second", 0.5)
    ]  # fmt: skip


def test_what_is_not_known_of_rewards_is_null(history: History) -> None:
    history.score([WATER])
    history.revise(0, 0, WATER)  # It does not tell what it replaces.

    made = json.loads(json.dumps(campaign_counts(history.ledger, "try").as_json()))

    assert (made["known"], made["waiting"], made["mean"], made["revised"]) == (None, None, None, 1)
    assert overview(history.ledger, "try").as_json()["rewards"]["unknown"] is None


def test_alarms_are_found_among_all_entries(history: History) -> None:
    sample = SampleId("one", 0, 0)
    alarm = Alarm(ESTIMATE, Direction.OVERRATED, 12, sample, sample, ())
    history.score([WATER])
    history.ledger.append(Block("alarm", "try", facts=alarm.as_json()))
    history.ledger.append(Block("alarm", "another", facts=alarm.as_json()))

    assert [alarm] == drift_alarms(history.ledger, "try")
    assert (alarm.text,) == overview(history.ledger, "try").totals.alarms


def test_checks_that_answered_are_told_apart_from_those_that_did_not(history: History) -> None:
    history.score([WATER, CRASHED])

    told = overview(history.ledger, "try").totals

    assert told.checks(Tier.FAST) == summarise(history.ledger, "try").tiers[0].checks == 2


def test_an_alarm_that_can_not_be_read_is_not_passed_over(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SampleId("one", 0, 0)
    alarm = Alarm(ESTIMATE, Direction.OVERRATED, 12, sample, sample, ())
    number = history.ledger.append(Block("alarm", "try", facts=alarm.as_json()))
    read = type(history.ledger).read
    monkeypatch.setattr(
        type(history.ledger), "read", lambda own, entry: read(own, entry._replace(body=b"{"))
    )

    (text,) = overview(history.ledger, "try").totals.alarms

    assert f"entry {number} is an alarm and can't be read" in text


def test_too_many_samples_without_a_reward_are_an_alarm(history: History) -> None:
    for _ in range(60):
        history.score([CRASHED])

    (alarm,) = overview(history.ledger, "try").totals.alarms
    assert "100 % of 60 samples have no reward" in alarm


def test_the_best_are_those_of_the_top_tier_with_their_text() -> None:
    with open_ledger(None) as ledger:
        history = History(ledger)
        items = [Item(text, text, {GATE: Verdict.accept()}, Reward(0.5)) for text in ("O", "CO")]
        history.score(items)
        for item, score in zip(items, (-3.0, -4.0), strict=True):
            history.enqueue(item, MEASURED, CheckState.WAITING)
            ledger.answer(
                item.check(MEASURED), Verdict.accept(score, unit="kcal/mol"), source="lab",
                event=item.raw, now=1.0,
            )  # fmt: skip

        told = overview(ledger, "try")

        assert [(one.content, one.score.value) for one in told.best or ()] == [
            ("CO", -4.0), ("O", -3.0)
        ]  # fmt: skip
        assert Tier.WORLD is told.totals.status.tiers[-1].tier


def judged(
    ledger: Ledger, item: Item, verdict: Verdict, version: str = "1", verifier: str = MEASURED
) -> None:
    """An answer of the world to what was asked through the queue."""
    key = digest([verifier, version, item.raw])
    check = CheckRow(
        key, item.content, "try", verifier, version, int(Tier.WORLD), CheckState.QUEUED, 1.0,
        Cost(), {"content": item.canonical},
    )  # fmt: skip
    asked = Request(key, "try", "one", 0, 0, item.content, {})
    ledger.append(Block("score", "try"), enqueue=[(check, [asked])])
    claims = ledger.claim(tiers=[int(Tier.WORLD)], owner="t", lease=60.0, limit=1, now=0.0)
    ledger.wait(claims, deadline=None, now=0.0)
    ledger.answer(key, verdict, source="lab", event=key.hex(), now=1.0)


def test_one_that_another_verifier_of_the_top_tier_rejects_is_none_of_the_best() -> None:
    ladder = ladder_spec()
    ladder["verifiers"].append({**ladder["verifiers"][0], "name": "toxic", "tier": "world"})
    with open_ledger(None) as ledger:
        history = History(ledger, "try", ladder)
        history.score([WATER, METHANOL])
        judged(ledger, WATER, Verdict.accept(-3.0))
        judged(ledger, METHANOL, Verdict.accept(-4.0))
        judged(ledger, METHANOL, Verdict.reject("it is"), verifier="toxic")
        told, summary = overview(ledger, "try"), summarise(ledger, "try")

        assert [one.content for one in told.best or ()] == [c.content for c in summary.best]
        assert summary.winner is not None
        assert told.as_json()["winner"]["content"] == summary.winner.content == "O"


@pytest.mark.parametrize("order", [[WATER, METHANOL], [METHANOL, WATER]], ids=["CO", "O"])
def test_of_equals_the_newest_wins_which_an_overview_does_not_know(order: list[Item]) -> None:
    with open_ledger(None) as ledger:
        History(ledger).score(order)
        for item in order:
            judged(ledger, item, Verdict.accept(-3.0))
        told, winner = overview(ledger, "try").as_json(), summarise(ledger, "try").winner

        assert (told["winner"], len(told["best"])) == (None, 2)
        assert winner is not None
        assert winner.content == order[-1].canonical


def test_what_a_later_version_says_counts_instead() -> None:
    with open_ledger(None) as ledger:
        history = History(ledger)
        history.score([WATER])
        for version, score in (("1", -3.0), ("2", -9.0)):
            judged(ledger, WATER, Verdict.accept(score), version)

        assert [one.score.value for one in overview(ledger, "try").best or ()] == [-9.0]
        assert [c.known for c in summarise(ledger, "try").best] == [-9.0]


def test_fewer_than_none_that_wait_is_not_known(history: History) -> None:
    """As where entries of an early version don't tell who waited for none before a revision."""
    history.score([replace(CRASHED, reward=Reward(None))])
    revision = history._block("revision", [replace(CRASHED, reward=Reward(0.5))], "one", 0, [0])
    revision.facts = {"previous": [None]}
    history.ledger.append(revision)
    counts = campaign_counts(history.ledger, "try")

    assert (counts.known, counts.waiting, counts.unrewarded) == (1, None, None)
    assert summarise(history.ledger, "try").rewards.unknown == 0


def test_counters_that_no_program_writes_are_an_error_that_says_what_to_do(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as ledger:
        History(ledger).score([WATER])
        with ledger._writing() as connection:
            connection.exec_driver_sql("UPDATE verdict_count SET checks = 'many'")
        with pytest.raises(LedgerError, match="vladder ledger verify"):
            campaign_counts(ledger, "try")


def test_alarms_are_found_by_an_index_of_their_own(tmp_path: Path) -> None:
    asked: list[tuple[str, Any]] = []
    with opened(tmp_path) as ledger:
        event.listen(
            ledger._database.engine, "before_cursor_execute",
            lambda _connection, _cursor, statement, values, *_: asked.append((statement, values)),
        )  # fmt: skip
        assert [] == list(ledger.entries(kind="alarm", campaign="try"))
        ((statement, values),) = (one for one in asked if "FROM entry" in one[0])
        plan = ledger._ask(f"EXPLAIN QUERY PLAN {statement}", *values)

    assert any("entry_alarm" in str(step) for step in plan), plan
