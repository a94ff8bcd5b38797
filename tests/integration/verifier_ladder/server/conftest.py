"""`vladder serve` as users run it, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import forked
import pytest

LADDER = """
import os, time
import verifier_ladder as vl
from verifier_ladder.tiers.world.expert import ExpertCase

def judge(completions, **columns):
    if completions[0] == "slow":
        while not os.path.exists("go"):
            time.sleep(0.01)
    return [None if c == "?" else float(len(c)) for c in completions]

check = vl.wrap(judge, version="1", isolation="inline")
ladder = vl.Ladder("lengths", [check])
taste = ExpertCase(ask="How good is it?", kind="text", low=0, high=10, unit="points")
asking = vl.Ladder("asking", [check, taste], budget={"world": "unlimited"})
"""


class Served:
    """A running server."""

    def __init__(self, folder: Path, *arguments: str, ladder: str) -> None:
        command = [
            sys.executable, "-P", "-m", "verifier_ladder.cli", "serve", f"served.py:{ladder}",
            "--json", "--port", "0", "--linger", "0 s", *arguments,
        ]  # fmt: skip
        self.process = forked.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"VLADDER_LEDGER": "ledger.db"},
        )  # fmt: skip
        assert self.process.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line or self.process.poll() is None, self.process.communicate()
            said += line
        self.facts: dict[str, Any] = json.loads(said)
        self.url: str = self.facts["url"]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end, and wait until it has."""
        self.process.send_signal(number)
        self.process.communicate(timeout=300)
        return self.process.returncode


Start = Callable[..., Served]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a ladder."""
    (tmp_path / "served.py").write_text(LADDER)
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """`start("--on-abstain", "0.5", ladder="asking")`: a server in the folder."""
    running: list[Served] = []

    def begin(*arguments: str, ladder: str = "ladder") -> Served:
        running.append(Served(folder, *arguments, ladder=ladder))
        return running[-1]

    yield begin
    for served in running:
        if served.process.poll() is None:
            served.process.kill()
        served.process.communicate(timeout=300)
