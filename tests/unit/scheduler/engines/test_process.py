"""How a worker process is ended."""

import os
from typing import NoReturn

import pytest

from verifier_ladder.scheduler.engines.process import WorkerProcess


def test_a_group_of_another_user_is_no_failure_of_its_lane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def refuse(pid: int, _: int) -> NoReturn:
        asked.append(pid)
        raise PermissionError

    process = WorkerProcess("refused", memory=None, nice=0)
    process.pid = 11
    monkeypatch.setattr(os, "killpg", refuse)
    monkeypatch.setattr(os, "kill", refuse)

    process.signal_death()

    process.pid = None
    process.kill()
    assert [11, 11] == asked
