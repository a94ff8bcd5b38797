"""The example that trains on molecules does what its page says."""
# mypy: ignore-errors
# TRL is not installed everywhere that types are checked.

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "train_molecules" / "train.py"


@pytest.mark.timeout(1200)
def test_an_honest_curve_rises_a_gamed_one_leaves_the_truth_and_draws_bring_it_back(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", SCRIPT, "--out", tmp_path],
        check=False, capture_output=True, text=True, timeout=1100,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert 0 == done.returncode, done.stdout + done.stderr

    number = r"(-?\d+\.\d+)"
    line = rf"^(\w+): reward {number} → {number}, by xTB {number};"
    told = {
        name: tuple(map(float, numbers))
        for name, *numbers in re.findall(line, done.stdout, re.MULTILINE)
    }
    first, last, _ = told["honest"]
    assert last > first + 0.5
    _, last, truth = told["gamed"]
    assert last > truth + 0.4
    # Whether there is an alarm too depends on secret draws and on how the machine rounds.
    _, last, truth = told["caught"]
    assert abs(last - truth) < 0.4
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
