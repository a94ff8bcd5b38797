"""Released trackers get the curves, and what the learner logs itself stays as it is."""

from collections.abc import Iterator
from pathlib import Path
from struct import unpack
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder import tracking

STEPS = range(10, 14)
NAME = "vladder/try/reward"


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tracking, "PATIENCE", 300.0)
    monkeypatch.setattr(tracking, "_PAUSE", 0.0)
    monkeypatch.chdir(tmp_path)


def train(log: Any = lambda _: None, writer: Any = None) -> None:
    """A few steps; at step s the mean reward is s."""
    with vl.Campaign.open("try", ladder=vl.Ladder("l", [length])) as campaign:
        campaign.track(writer)
        for step in STEPS:
            campaign.score(["a" * (step - 1), "a" * (step + 1)], step=step)
            log(step)


def test_tensorboard_holds_each_step(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboardX import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        train(writer=writer)
    found = EventAccumulator(str(tmp_path)).Reload()

    assert [(e.step, e.value) for e in found.Scalars(NAME)] == [(s, float(s)) for s in STEPS]


def test_mlflow_holds_each_step_of_the_run_that_is_active(tmp_path: Path) -> None:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    with mlflow.start_run() as run:
        train(lambda step: mlflow.log_metric("loss", 1.0 / step, step=step))
    client = mlflow.MlflowClient()
    told = client.get_metric_history(run.info.run_id, NAME)

    assert sorted((m.step, m.value) for m in told) == [(s, float(s)) for s in STEPS]
    assert len(client.get_metric_history(run.info.run_id, "loss")) == len(STEPS)


def records(path: Path) -> Iterator[bytes]:
    """The records of a run's file: behind 7 bytes, in blocks of 32 KiB, as LevelDB logs are."""
    data, at, part = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if (left := 32768 - at % 32768) < 7:
            at += left
            continue
        _, size, kind = unpack("<IHB", data[at : at + 7])
        part += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in {1, 4}:
            yield part
            part = b""


def rows(folder: Path) -> list[dict[str, str]]:
    """The history of a run that was kept offline."""
    from wandb.proto import wandb_internal_pb2

    (path,) = folder.rglob("run-*.wandb")
    found = []
    for data in records(path):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.history.item:
            found.append({
                "/".join(item.nested_key) or item.key: item.value_json
                for item in record.history.item
            })  # fmt: skip
    return found


def test_wandb_drops_no_row_of_the_learner(tmp_path: Path) -> None:
    """It counts its own steps: what is logged for one that is over would be dropped."""
    import wandb

    with wandb.init(mode="offline", project="try", dir=tmp_path) as run:
        train(lambda step: run.log({"loss": 1.0 / step}, step=step))
    logged = rows(tmp_path)
    mine = [row for row in logged if "loss" in row]
    told = [(float(row["vladder/try/step"]), float(row[NAME])) for row in logged if NAME in row]

    assert [int(row["_step"]) for row in mine] == list(STEPS)
    assert told[-1] == (float(STEPS[-1]), float(STEPS[-1]))
    assert all(step == value for step, value in told)
