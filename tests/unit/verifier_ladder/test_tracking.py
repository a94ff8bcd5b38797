"""Curves that go to a tracker: what is sent, when, and that nothing suffers by it."""

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
import viewed
from histories import ESTIMATE, GATE, XTB, History, Item, cost, ladder_spec

import verifier_ladder as vl
from verifier_ladder import tracking
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.tracking import Tracker
from verifier_ladder.verdict import Verdict

Series = dict[str, list[tuple[int, Any]]]


class Writer:
    """Takes what a `SummaryWriter` takes."""

    def __init__(self) -> None:
        self.told: Series = {}

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        self.told.setdefault(name, []).append((step, value))

    add_text = add_scalar


class WandbRun:
    """Takes what a run of W&B takes, and keeps rows as it does."""

    id = "one"

    def __init__(self) -> None:
        self.axes: dict[str, str | None] = {}
        self.step, self.row = 0, dict[str, Any]()

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.axes[name] = step_metric

    def log(self, row: dict[str, Any], *, commit: bool = True) -> None:
        self.row |= row
        self.step += commit


class Mlflow:
    """Takes what the module takes: the run is that of the learner's thread."""

    def __init__(self) -> None:
        self.told: Series = {}
        self.tags: dict[str, str] = {}
        self.entities = SimpleNamespace(Metric=lambda *given: given)
        self.MlflowClient = lambda: self

    def active_run(self) -> Any:
        return SimpleNamespace(info=SimpleNamespace(run_id="mine"))

    def log_batch(self, run_id: str, metrics: list[tuple[str, float, int, int]]) -> None:
        assert run_id == "mine"
        for name, value, _, step in metrics:
            self.told.setdefault(name, []).append((step, value))

    def set_tag(self, run_id: str, name: str, text: str) -> None:
        assert run_id == "mine"
        self.tags[name] = text


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "PATIENCE", 300.0)
    for name in ("wandb", "mlflow"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(None) as store:
        yield store


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> vl.Verdict:
    if candidate.content == "?":
        return vl.Verdict.abstain("it is no word")
    return vl.Verdict.accept(float(len(candidate.content)))


def opened(**options: Any) -> vl.Campaign:
    return vl.Campaign.open("a+b", ladder=vl.Ladder("l", [length]), **options)


def test_each_step_is_told_once_by_the_learners_own_steps() -> None:
    writer = Writer()
    with opened() as campaign:
        campaign.score(["before"], step=4)
        campaign.track(writer)
        campaign.score(["a", "bcd"], step=5)
        campaign.score(["?", "bcde"], step=7)

    start = "vladder/a_b"  # MLflow takes no + in a name.
    assert writer.told[f"{start}/reward"] == [(5, 2.0), (7, 4.0)]
    assert writer.told[f"{start}/unknown"] == [(5, 0.0), (7, 0.5)]
    assert writer.told[f"{start}/samples"] == [(5, 2.0), (7, 2.0)]


def drawn(history: History, chance: float) -> None:
    """Let the next blocks tell this chance, and revisions what was told before."""
    made = type(history)._block

    def block(*given: object) -> Block:
        built = made(history, *given)  # type: ignore[arg-type]
        built.decisions[0].propensity = [chance] * len(built.rewards)
        if built.kind == "revision":
            built.facts = {"previous": [0.9]}
        return built

    history._block = block  # type: ignore[assignment,method-assign]


def test_the_truth_of_a_step_is_told_when_no_check_of_it_is_awaited(ledger: Ledger) -> None:
    history, writer = History(ledger, "try", ladder_spec((GATE, ESTIMATE, XTB))), Writer()
    drawn(history, 0.5)
    tracker = Tracker(ledger, "try", "one")

    def item(name: str, reward: Reward, **more: Verdict) -> Item:
        said = {GATE: Verdict.accept(), ESTIMATE: Verdict.accept(-5.0), **more}
        return Item(name, name, said, reward)

    first = item("A", Reward(0.9, 0.1, Tier.FAST, pending=True))
    history.score([first, item("B", Reward(0.9, 0.1, Tier.FAST))])
    history.score([item("C", Reward(0.8, 0.1, Tier.FAST))])
    true = cost(Verdict.accept(-5.0), 1.0)
    history.check(first, XTB, true)
    history.revise(0, 0, item("A", Reward(0.5, 0.0, Tier.SIMULATION, 1), xtb=true))
    tracker.note(writer)
    tracker.close()

    assert writer.told["vladder/try/audited/reward"] == [(0, 0.5)]
    assert writer.told["vladder/try/audited/samples"] == [(0, 1.0)]
    assert writer.told["vladder/try/spent/simulation/cpu_seconds"][-1] == (1, 1.0)
    assert writer.told["vladder/try/reward"] == [(0, pytest.approx(0.7)), (1, pytest.approx(0.8))]


def test_alarms_are_told_as_text_at_their_step(ledger: Ledger) -> None:
    History(ledger, "try")
    writer, tracker = Writer(), Tracker(ledger, "try", "one")
    tracker.note(writer)
    ledger.append(Block("alarm", "try", facts=viewed.alarm().as_json()))
    ledger.append(Block("alarm", "try", facts=viewed.alarm("another").as_json()))
    tracker.close()

    ((step, text),) = writer.told["vladder/try/alarms/text"]
    assert (step, writer.told["vladder/try/alarms/count"]) == (0, [(0, 1.0)])
    assert text.startswith(f"{ESTIMATE} is being gamed")


def test_runs_that_are_active_are_found_and_their_own_steps_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, mlflow = WandbRun(), Mlflow()
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=run))
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    with opened() as campaign:
        campaign.track()
        campaign.score(["a", "bcd"], step=5)

    assert run.step == 0
    assert (run.row["vladder/a_b/reward"], run.row["vladder/a_b/step"]) == (2.0, 5)
    assert run.axes["vladder/a_b/reward"] == "vladder/a_b/step"
    assert mlflow.told["vladder/a_b/reward"] == [(5, 2.0)]


def test_a_setting_has_every_campaign_tracked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_TRACK", "true")
    monkeypatch.setitem(sys.modules, "mlflow", mlflow := Mlflow())
    with opened() as campaign:
        campaign.score(["a"], step=0)

    assert mlflow.told["vladder/a_b/reward"] == [(0, 1.0)]


def test_nothing_is_imported_for_it() -> None:
    with opened() as campaign:
        campaign.track()
        campaign.score(["a"])

    assert not {"wandb", "mlflow", "tensorboard"} & sys.modules.keys()


class Broken(Writer):
    """Is away for good."""

    def add_scalar(self, *_: Any) -> None:
        raise SystemExit("the tracker is away")


def test_what_a_tracker_raises_costs_no_reward_and_is_logged_once(
    caplog: pytest.LogCaptureFixture, until: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(tracking, "_PAUSE", 0.0)
    with caplog.at_level(logging.WARNING, "verifier_ladder"), opened() as campaign:
        campaign.track(Broken())
        for step in range(3):
            assert [r.value for r in campaign.score(["a"], step=step)] == [1.0]
        until(lambda: caplog.records)

    assert ["the tracker is away" in record.message for record in caplog.records] == [True]


def test_one_tracker_that_is_broken_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finished:
        @property
        def id(self) -> str:
            raise RuntimeError("the run is over")

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=Finished()))
    monkeypatch.setitem(sys.modules, "mlflow", mlflow := Mlflow())
    with opened() as campaign:
        campaign.track()
        campaign.score(["a"], step=0)

    assert mlflow.told["vladder/a_b/reward"] == [(0, 1.0)]


def test_who_is_tired_of_waiting_for_a_tracker_has_closed_the_campaign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def tired(_: Tracker) -> None:
        raise KeyboardInterrupt

    campaign = opened(ledger=tmp_path / "ledger.db")
    campaign.track(Writer())
    ended = campaign._tracker
    monkeypatch.setattr(Tracker, "close", tired)
    with pytest.raises(KeyboardInterrupt):
        campaign.close()
    monkeypatch.undo()
    assert ended is not None
    ended.close()

    with pytest.raises(vl.LedgerError, match="closed"):
        campaign.ledger.newest()
    with opened(ledger=tmp_path / "ledger.db") as again:
        assert again.score(["a"])[0].value == 1.0


def test_a_tracker_that_hangs_holds_up_neither_calls_nor_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tracking, "PATIENCE", 0.01)
    hangs = Event()

    class Hanging(Writer):
        def add_scalar(self, *_: Any) -> None:
            hangs.wait(300.0)

    with opened() as campaign:
        campaign.track(Hanging())
        campaign.score(["a"], step=0)
    hangs.set()

    assert "did not take the last numbers" in caplog.text


def test_what_is_no_writer_is_refused_and_a_closed_campaign_tracks_nothing() -> None:
    with (
        opened() as campaign,
        pytest.raises(vl.ConfigError, match="writer is a dict; give a Summ"),
    ):
        campaign.track({})
    with pytest.raises(vl.ConfigError, match="is closed"):
        campaign.track()
