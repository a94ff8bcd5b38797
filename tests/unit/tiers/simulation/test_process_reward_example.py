"""The examples of step models run with one command each, with a fake endpoint of their own."""

import csv
import os
import sys
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "examples" / "steps"
REWARDS = {
    "weakest": [1, 1 / 2, 0, 1],
    "weighed": [1, (1 + 3 / 4) / 2, (1 / 11 + (1 / 11 + 1 / 11) / 2) / 2, 1],
}


def test_every_example_is_known() -> None:
    assert REWARDS.keys() == {path.stem for path in FOLDER.glob("*.toml")}


@pytest.mark.parametrize("name", REWARDS)
def test_the_example_runs_with_one_command(tmp_path: Path, name: str) -> None:
    vladder, scored = forked.commands() / "vladder", tmp_path / "scored.csv"
    done = forked.run(
        [sys.executable, "examples/steps/fake_endpoint.py", vladder, "score",
         "examples/steps/rollouts.jsonl", "--ladder", f"examples/steps/{name}.toml",
         "--ledger", tmp_path / "ledger.db", "--out", scored],
        cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ,
    )  # fmt: skip

    assert 0 == done.returncode, done.stdout + done.stderr
    with scored.open(newline="") as rows:
        rewards = [float(row["reward"]) for row in csv.DictReader(rows)]
    assert pytest.approx(REWARDS[name]) == rewards
