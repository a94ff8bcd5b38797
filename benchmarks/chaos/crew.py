"""The crew: processes that share one ledger, one of which is its home."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import psutil

_HERE = Path(__file__).parents[1]
_PATIENCE = 90.0
"""Seconds without a single execution after which the crew is stuck."""


class Stuck(Exception):  # noqa: N818 - a finding, not an error of ours
    """Nothing was executed for a long time."""


class Crew:
    """Ranks of one training run; whoever dies is started again."""

    def __init__(self, ledger: str, folder: Path, size: int) -> None:
        """Start all ranks."""
        self.ledger, self.folder = ledger, folder
        self._errors = (folder / "errors").open("ab")
        self.ranks = {number: self._start(number) for number in range(size)}

    def _start(self, number: int) -> psutil.Popen:
        return psutil.Popen(
            [sys.executable, str(Path(__file__).with_name("rank.py")), self.ledger,
             str(self.folder), str(number)],
            env={**os.environ, "PYTHONPATH": str(_HERE)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self._errors,
        )  # fmt: skip

    def restart(self) -> None:
        """Start again whoever was killed.

        Raises:
            Stuck: If one ended by itself.
        """
        for number, process in self.ranks.items():
            code = process.poll()
            if code is not None and code >= 0:
                raise Stuck(f"rank {number} ended with {code}\n{self.errors}")
            if code is not None:
                self.ranks[number] = self._start(number)

    @property
    def errors(self) -> str:
        """The end of what all ranks wrote to their error streams."""
        return (self.folder / "errors").read_text(errors="replace")[-4000:]

    @property
    def executions(self) -> int:
        """How many bytes of executions were noted so far."""
        with suppress(FileNotFoundError):
            return (self.folder / "executions").stat().st_size
        return 0

    def work(self, least: int) -> float:
        """Let it work until that many bytes of executions are noted; seconds until the first.

        Raises:
            Stuck: If nothing happens.
        """
        began, seen = monotonic(), self.executions
        first, goal, latest = 0.0, seen + least, began
        while (now := self.executions) < goal:
            if now > seen:
                first, latest, seen = first or monotonic() - began, monotonic(), now
            if monotonic() - latest > _PATIENCE:
                raise Stuck(f"nothing was executed for {_PATIENCE:.0f} s\n{self.errors}")
            self.restart()
            sleep(0.01)
        return first or monotonic() - began

    def home(self) -> psutil.Process | None:
        """The rank that runs the checks: it has workers."""
        alive = [p for p in self.ranks.values() if p.poll() is None]
        return max(alive, key=lambda p: len(children(p)), default=None)

    def others(self) -> list[psutil.Process]:
        """The ranks that are attached to it."""
        home = self.home()
        return [p for p in self.ranks.values() if p.poll() is None and p is not home]

    def stop(self) -> None:
        """Let every rank end after its step.

        Raises:
            Stuck: If one does not.
        """
        (self.folder / "stop").touch()
        for process in self.ranks.values():
            try:
                process.wait(_PATIENCE)
            except psutil.TimeoutExpired as error:
                raise Stuck(f"{process} did not end") from error

    def close(self) -> None:
        """Kill what is left."""
        for process in self.ranks.values():
            for one in (*children(process), process):
                with suppress(psutil.Error):
                    one.kill()
            with suppress(psutil.Error):
                process.wait(10)
        self._errors.close()


def children(process: psutil.Process) -> list[psutil.Process]:
    """All processes under one."""
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []
