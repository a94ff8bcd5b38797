"""What the tests of all learners share: a reward server in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

LADDER = """
import verifier_ladder as vl

def exact(completions, label):
    return [None if c == "?" else float(c == x) for c, x in zip(completions, label)]

ladder = vl.Ladder("exact", [vl.wrap(exact, version="1", columns=["label"], isolation="inline")])
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """`served("--on-abstain", "0.5")`: the address of a server that compares with `label`."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> str:
        (tmp_path / "exact.py").write_text(LADDER)
        command = [
            sys.executable, "-P", "-m", "verifier_ladder.cli", "serve", "exact.py:ladder",
            "--json", "--port", "0", "--linger", "0 s", "--ledger", "ledger.db", *arguments,
        ]  # fmt: skip
        server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        running.append(server)
        assert server.stdout is not None
        return str(json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["url"])

    yield start
    for server in running:
        server.terminate()
        server.communicate(timeout=300)
