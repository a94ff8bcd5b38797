"""Importing the package, asking for help, or starting a worker loads no heavy library.

What is loaded decides the time and doesn't depend on the machine; `benchmarks/import_time.py`
measures the time itself.
"""

import json
import subprocess
import sys

import pytest

HEAVY = {"alembic", "ase", "celery", "numpy", "pyscf", "rdkit", "scipy", "sqlalchemy", "torch"}
IMPORT = "import verifier_ladder"
WORKER = "import verifier_ladder.scheduler.engines.worker"
HELP = """
import contextlib, io, sys
from verifier_ladder.cli import main
sys.argv = ["vladder", "--help"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""


def loaded_by(code: str) -> set[str]:
    """Return the top-level names of all modules in memory after the code ran."""
    ending = "\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    command = [sys.executable, "-P", "-c", code + ending]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name.partition(".")[0] for name in json.loads(output)}


@pytest.mark.parametrize("code", [IMPORT, HELP], ids=["import", "help"])
def test_no_heavy_library_is_loaded(code: str) -> None:
    assert set() == loaded_by(code) & HEAVY


def test_a_worker_starts_without_what_few_verifiers_need() -> None:
    assert set() == loaded_by(WORKER) & (HEAVY | {"asyncio", "email", "psutil", "ssl"})


def test_a_command_that_asks_for_a_few_thousand_keys_waits_for_no_numpy() -> None:
    asks = "from verifier_ladder.ledger.store import keys_json; keys_json([bytes(32)] * 5_000)"
    assert "numpy" not in loaded_by(asks)
