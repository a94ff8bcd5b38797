"""The types of the public interface are part of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # `make check` looks at the file as strictly, with the settings of this project.
def test_typed_code_that_uses_the_interface_is_accepted(tmp_path: Path) -> None:
    """`api.py` also holds mistakes; one that mypy would not notice fails here."""
    tree = tmp_path / "tree"
    linktree = ROOT / "tools" / "linktree.py"
    subprocess.run([sys.executable, linktree, "--tree", tree], check=True, timeout=300)
    command: list[str | Path] = [
        sys.executable, "-m", "mypy", "--strict", "--config-file=", "--explicit-package-bases",
        "--follow-imports=silent", f"--cache-dir={ROOT / '.mypy_cache' / 'typing'}",
        tree / "tests" / "typing" / "api.py",
    ]  # fmt: skip

    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300,
        cwd=tree, env=os.environ | {"MYPYPATH": str(tree)},
    )  # fmt: skip

    assert 0 == done.returncode, done.stdout + done.stderr
