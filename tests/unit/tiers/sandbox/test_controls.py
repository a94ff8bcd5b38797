"""What the controls of a sandbox tell where one of its protections is missing."""

import os
import signal
import subprocess
import sys
from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from processes import named

from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox
from verifier_ladder.tiers.sandbox.controls import _ESCAPES, controls

OUTSIDE = {"host file", "loopback", "parent's environment", "daemon"}
"""Escapes that do no harm where nothing stops them."""
LAX: Mapping[str, Mapping[str, Any]] = {
    "fork bomb": {"processes": 100, "cpu": 60.0, "memory": 1 << 30},
    "full disk": {"file_bytes": 1 << 24},
}
"""The others stay in the sandbox, where they may take more than they should."""


class Without(Sandbox):
    """A sandbox that does not stop one of the escapes."""

    def __init__(self, around: Sandbox, escape: str) -> None:
        super().__init__(backend=around.backend)
        self.around, self.escape, self.daemon = around, escape, ""

    def run(
        self, program: Program, inputs: Sequence[Input], limits: Limits | None = None
    ) -> list[Result]:
        if program.files["main.py"] != _ESCAPES[self.escape]:
            return self.around.run(program, inputs, limits)
        if self.escape in OUTSIDE:
            self.daemon = inputs[0].args[0]["daemon"]
            return [plain(program, inputs[0])]
        return self.around.run(program, inputs, replace(limits or Limits(), **LAX[self.escape]))

    def close(self) -> None:
        for process in named(self.daemon) if self.daemon else ():
            os.kill(int(process), signal.SIGKILL)
        super().close()


def plain(program: Program, given: Input) -> Result:
    """Run it as any other child of this process; no daemon outlives the test for long."""
    source = (
        "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        f"{program.contents[0].decode()}\nprint(solve({given.args[0]!r}), flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        return Result(Ending.FINISHED, value=literal_eval(child.stdout.readline().decode()))


def failed(sandbox: Sandbox) -> list[str]:
    return [control.name for control in controls(sandbox) if not control.held]


@pytest.mark.parametrize("sandbox", ["namespaces"], indirect=True)
@pytest.mark.parametrize("escape", _ESCAPES)
def test_a_control_fails_where_its_escape_is_not_stopped_and_no_other(
    sandbox: Sandbox, escape: str
) -> None:
    with Without(sandbox, escape) as open_:
        assert [escape] == failed(open_)


def test_a_daemon_that_got_out_of_another_sandbox_is_not_its_own(sandbox: Sandbox) -> None:
    with Without(sandbox, "daemon") as other:
        assert ["daemon"] == failed(other)
        assert [] == failed(sandbox)
