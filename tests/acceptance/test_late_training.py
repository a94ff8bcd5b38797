"""Training on late truth: TRL's own trainers take exports as they are."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

Require = Callable[[str, bool, str], None]
SCRIPT = Path(__file__).with_name("train_on_late_truth.py")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_trainer_takes_its_export(require: Require, tmp_path: Path) -> None:
    require("trl", find_spec("trl") is not None, "trains with TRL's trainers")
    done = subprocess.run(
        [sys.executable, "-P", SCRIPT],
        check=False, cwd=tmp_path, capture_output=True, text=True, timeout=280,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert 0 == done.returncode, done.stdout + done.stderr
    found = json.loads((tmp_path / "done.json").read_text())

    told = found.pop("told")
    assert {"sft": 2, "preferences": 2, "hints": 2, "distillation": 2} == found
    assert told
    assert all(hint.startswith("say w") and hint.endswith(" again") for hint in told)
