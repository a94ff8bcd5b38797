"""The example of a judge runs with one command, with a fake endpoint of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(("ladder", "mean"), [("ladder", "0.4375"), ("pairs", "0.75")])
def test_the_example_runs_with_one_command(tmp_path: Path, ladder: str, mean: str) -> None:
    vladder = Path(sys.executable).with_name("vladder")
    done = subprocess.run(
        [sys.executable, "examples/judge/fake_endpoint.py", vladder, "score",
         "examples/judge/rollouts.jsonl", "--ladder", f"examples/judge/{ladder}.toml",
         "--ledger", tmp_path / "ledger.db"],
        cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ,
    )  # fmt: skip

    assert 0 == done.returncode, done.stdout + done.stderr
    assert mean in done.stdout
