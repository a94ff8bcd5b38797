"""Environments of learners are made with a Python that is new enough for them, or not at all."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("learner", "least"), [("rubric", "3.11"), ("nemogym", "3.12")])
def test_a_python_that_is_too_old_for_a_learner_is_refused(
    learner: str, least: str, tmp_path: Path
) -> None:
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)

    made = subprocess.run(
        ["/bin/sh", "tools/setup.sh", "learner", str(tmp_path / "made"), learner],
        cwd=ROOT, env={**os.environ, "PYTHON": str(old)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert made.returncode
    assert f"is not a working Python {least} or newer" in made.stderr
    assert not (tmp_path / "made").exists()
