"""The crew: processes that share one ledger, one of which is its home."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import psutil
from chaos import clock
from chaos.place import Place
from chaos.rank import AWAY

_HERE = Path(__file__).parents[1]
_PATIENCE = 90.0
"""Seconds without a single execution after which the crew is stuck."""


class Stuck(Exception):  # noqa: N818 - a finding, not an error of ours
    """Nothing was executed for a long time."""


class Crew:
    """Ranks of one training run, and worker hosts; whoever dies is started again."""

    def __init__(self, place: Place, ranks: int, hosts: int = 0) -> None:
        """Start all of them; with hosts, the ranks leave the dearer checks to them."""
        self.place, self.folder = place, place.folder
        self._errors = (place.folder / "errors").open("ab")
        where = [place.ledger, str(place.folder)]
        engine = "celery" if place.broker else "workers" if hosts else "local"
        self._commands = [["rank.py", *where, str(n), engine] for n in range(ranks)]
        self._commands += [["host.py", *where]] * hosts
        self._count = ranks
        self.clocks = [self.folder / f"clock-{n}" for n in range(len(self._commands))]
        """By how much each process's clock is ahead."""
        for file in self.clocks:
            clock.put(file, 0.0)
        self._processes = [self._start(number) for number in range(len(self._commands))]

    def _start(self, number: int) -> psutil.Popen:
        script, *arguments = self._commands[number]
        own = {"PYTHONPATH": _path(), clock.VARIABLE: str(self.clocks[number])}
        return psutil.Popen(
            [sys.executable, str(_HERE / "chaos" / script), *arguments],
            env={**os.environ, **own, **self.place.settings},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors,
        )  # fmt: skip

    @property
    def ranks(self) -> list[psutil.Popen]:
        """The ranks that are alive."""
        return [p for p in self._processes[: self._count] if p.poll() is None]

    @property
    def hosts(self) -> list[psutil.Popen]:
        """The worker hosts that are alive."""
        return [p for p in self._processes[self._count :] if p.poll() is None]

    def restart(self) -> None:
        """Start again whoever was killed.

        Raises:
            Stuck: If one ended by itself.
        """
        for number, process in enumerate(self._processes):
            code = process.poll()
            if code is not None and code >= 0 and code != AWAY:
                raise Stuck(f"{self._commands[number]} ended with {code}\n{self.errors}")
            if code is not None:
                self._processes[number] = self._start(number)

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
        return max(self.ranks, key=lambda p: len(children(p)), default=None)

    def others(self) -> list[psutil.Process]:
        """The ranks that are attached to it."""
        home = self.home()
        return [process for process in self.ranks if process is not home]

    def stop(self) -> None:
        """Let every rank end after its step, and every host after its checks.

        Raises:
            Stuck: If one does not.
        """
        (self.folder / "stop").touch()
        for process in self.hosts:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(_PATIENCE)
            except psutil.TimeoutExpired as error:
                raise Stuck(f"{process} did not end") from error

    def close(self) -> None:
        """Kill what is left."""
        for process in self._processes:
            for one in (*children(process), process):
                with suppress(psutil.Error):
                    one.kill()
            with suppress(psutil.Error):
                process.wait(10)
        self._errors.close()


def _path() -> str:
    return os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(_HERE)]))


def children(process: psutil.Process) -> list[psutil.Process]:
    """All processes under one."""
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []
