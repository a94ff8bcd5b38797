"""Door (a): an existing reward function in a real `GRPOTrainer`, with completions that kill it."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from verifier_ladder import Ledger, open_ledger

pytestmark = pytest.mark.timeout(900)  # A busy machine takes minutes to import and to train.
Require = Callable[[str, bool, str], None]
SCRIPT = Path(__file__).with_name("train_with_trl.py")
STEPS, BATCH = 5, 8
DOOMED = ("crash", "hang", "nan")


class Row(NamedTuple):
    """One line of TRL's own table of completions."""

    step: int
    completion: str
    reward: float
    advantage: float
    answer: str


class Training(NamedTuple):
    """What a finished training left behind."""

    rows: list[Row]
    history: list[dict[str, Any]]
    ledger: Ledger


def table(folder: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    for page in sorted((folder / "out" / "completions").glob("*.parquet")):
        for line in pq.read_table(page).to_pylist():
            reward = math.nan if line["accuracy"] is None else line["accuracy"]
            answer = line["prompt"].split()[0]
            yield Row(line["step"], line["completion"], reward, line["advantage"], answer)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one training, shared by the tests of this page."""
    folder = tmp_path_factory.mktemp("training")
    done = subprocess.run(
        [sys.executable, "-P", SCRIPT, "7"],
        check=False, cwd=folder, capture_output=True, text=True, timeout=880,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert 0 == done.returncode, done.stdout + done.stderr
    return folder


@pytest.fixture
def training(require: Require, request: pytest.FixtureRequest) -> Iterator[Training]:
    """What a training of a few steps left behind."""
    require("trl", find_spec("trl") is not None, "trains with GRPOTrainer")
    folder = request.getfixturevalue("trained")
    history = json.loads((folder / "history.json").read_text())
    with open_ledger(folder / "ledger.db") as ledger:
        yield Training(list(table(folder)), history, ledger)


def test_the_training_finishes(training: Training) -> None:
    assert STEPS == training.history[-1]["step"]
    assert STEPS * BATCH == len(training.rows)


def test_every_kind_of_misbehaviour_came_up(training: Training) -> None:
    """Otherwise the tests below prove nothing."""
    assert set(DOOMED) <= {row.completion.split()[0] for row in training.rows if row.completion}


def test_only_completions_that_misbehave_are_masked(training: Training) -> None:
    for row in training.rows:
        assert math.isnan(row.reward) == row.completion.startswith(DOOMED), row
        if math.isnan(row.reward):
            assert 0.0 == row.advantage


def test_the_others_get_the_functions_own_number(training: Training) -> None:
    for row in training.rows:
        if not row.completion.startswith(DOOMED):
            assert row.completion.split().count(row.answer) / 4 == row.reward


def test_trl_logs_the_share_of_unknown_rewards(training: Training) -> None:
    unknown = [line["accuracy/unknown"] for line in training.history if "accuracy/unknown" in line]

    masked = sum(math.isnan(row.reward) for row in training.rows)
    assert STEPS == len(unknown)
    assert masked == pytest.approx(sum(unknown) * BATCH)


def test_the_ledger_holds_every_sample_with_its_reward(training: Training) -> None:
    ledger = training.ledger
    blocks = [ledger.read(entry) for entry in ledger.entries(kind="score")]
    recorded = [
        (block.samples.step, reward.value)
        for block in blocks if block.samples
        for reward in block.rewards
    ]  # fmt: skip

    told = [
        (row.step - 1, None if math.isnan(row.reward) else row.reward) for row in training.rows
    ]
    assert sorted(told, key=repr) == sorted(recorded, key=repr)


def test_groups_of_one_prompt_are_kept_together(training: Training) -> None:
    ledger = training.ledger
    for entry in ledger.entries(kind="score"):
        samples = ledger.read(entry).samples
        assert samples is not None
        assert samples.groups is not None
        assert [4, 4] == [samples.groups.count(group) for group in sorted(set(samples.groups))]
