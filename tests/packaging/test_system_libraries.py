"""Libraries of the system that compiled dependencies load, and wheels don't carry."""

import subprocess
import sys
from collections.abc import Callable

import pytest

NEEDED = [
    ("rdkit.Chem.Draw.rdMolDraw2D", "libxrender1", "draws molecules"),
    ("tblite.interface", "libgomp1", "computes with xTB"),
]


@pytest.mark.parametrize(("module", "package", "why"), NEEDED, ids=[row[1] for row in NEEDED])
def test_a_compiled_module_finds_its_libraries(
    module: str, package: str, why: str, require: Callable[[str, bool, str], None]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}"], check=False, capture_output=True, text=True
    )
    absent = "cannot open shared object file" in done.stderr
    require(package, not absent, why)

    assert done.returncode == 0, done.stderr
