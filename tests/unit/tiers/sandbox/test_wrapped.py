"""How a command that holds a sandbox is ended."""

import io
import os
import subprocess
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from verifier_ladder.errors import SandboxError
from verifier_ladder.tiers.sandbox.wrapped import Wrapped


def test_a_command_of_another_user_is_told_of_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wait(timeout: float | None = None) -> NoReturn:
        assert timeout is not None, "it is waited for without end"
        raise subprocess.TimeoutExpired("a command", timeout)

    def refuse(*_: int) -> NoReturn:
        raise PermissionError

    command: Any = Wrapped.__new__(Wrapped)
    command._process = SimpleNamespace(pid=11, wait=wait)
    command._input, command._output, command._errors = (io.BytesIO() for _ in range(3))
    command._owner = os.getpid()
    monkeypatch.setattr(os, "killpg", refuse)

    with pytest.raises(SandboxError, match="end process 11"):
        command.close()

    assert command._errors.closed
