"""Children: fresh Python processes that begin with a chosen environment and nothing else of ours.

Fork and exec: neither locks nor CUDA contexts are inherited, the caller's `__main__` is not
imported again, and no helper process (multiprocessing's resource tracker) begins with this
process's environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import process as multiprocessing

import psutil

_BEGIN = (
    "import json, sys; told = json.load(sys.stdin); sys.path[:] = told['path']; "
    "sys.argv[:] = told['argv']; from importlib import import_module; "
    "getattr(import_module(told['module']), told['function'])(*told['arguments'])"
)


class Child:
    """One process that runs a function of ours, named by its module.

    Must be started from the thread whose end is to be its end, if it asks for that.
    """

    def __init__(
        self,
        function: tuple[str, str],
        arguments: Sequence[object],
        *,
        name: str,
        environment: Mapping[str, str],
        descriptors: Sequence[int],
        output: int,
    ) -> None:
        """Start it.

        Args:
            function: Its module and its name.
            arguments: What it is called with: JSON values.
            name: Shown in the list of processes.
            environment: All that it has in its environment.
            descriptors: What it inherits, under the same numbers.
            output: Becomes its standard output and error.

        Raises:
            OSError: If it can't be started.
        """
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and our own code
            [sys.executable, "-P", "-c", _BEGIN, name],
            env=dict(environment), pass_fds=descriptors,
            stdin=subprocess.PIPE, stdout=output, stderr=output,
        )  # fmt: skip
        self.pid = self._process.pid
        """Its process id."""
        here = getattr(multiprocessing, "ORIGINAL_DIR", None) or os.curdir
        path = [entry or here for entry in sys.path]
        told = {
            "path": path, "argv": sys.argv, "module": function[0], "function": function[1],
            "arguments": list(arguments),
        }  # fmt: skip
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        with suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(json.dumps(told).encode("ascii"))

    @property
    def exitcode(self) -> int | None:
        """How it ended: its exit code, or minus the signal's number; None while it lives."""
        return self._process.poll()

    def join(self, seconds: float) -> None:
        """Wait for its end, but no longer."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def kill(self) -> None:
        """Kill it and all that it has started, and wait for its end."""
        if self._process.poll() is not None:
            return
        family: list[psutil.Process] = []
        with suppress(psutil.Error):
            family = psutil.Process(self.pid).children(recursive=True)
        for process in family:
            with suppress(psutil.Error):
                process.kill()
        self._process.kill()
        self._process.wait()
