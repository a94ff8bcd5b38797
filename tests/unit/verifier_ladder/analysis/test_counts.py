"""What counters say of campaigns whose numbers are known beforehand."""

import json
from pathlib import Path
from typing import Any

import pytest
from histories import ESTIMATE, GATE, MEASURED, XTB, History, Item
from sqlalchemy import event

from verifier_ladder.analysis.counts import VerifierCounts, campaign_counts, reward_steps
from verifier_ladder.analysis.overview import drift_alarms, overview
from verifier_ladder.candidate import SampleId
from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block, CheckState
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.reward import CANONICAL, Reward
from verifier_ladder.scheduler.drift import Alarm, Direction
from verifier_ladder.summary import summarise
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

WATER = Item("O", "O", {GATE: Verdict.accept(), ESTIMATE: Verdict.accept(-6.0)}, Reward(0.5))
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
    assert [(s.step, s.run, s.mean) for s in reward_steps(history.ledger, "try")] == [
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
