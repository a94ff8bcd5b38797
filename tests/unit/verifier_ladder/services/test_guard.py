"""What the guard of a service ends."""

import os
from typing import NoReturn

import pytest

from verifier_ladder import metering
from verifier_ladder.services.guard import end_family


class EndedError(Exception):
    """The guard itself was ended."""


def test_a_process_of_another_user_saves_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    alive = [os.getpid(), 11, 12, 13]

    def kill(pid: int, _: int) -> None:
        if pid == 12:
            raise PermissionError
        alive.remove(pid)
        if pid == 13:
            alive.append(14)  # Started by one that was about to end.

    def killpg(*_: int) -> NoReturn:
        raise EndedError

    monkeypatch.setattr(metering, "family", lambda _: [metering.Member(n, ["S"]) for n in alive])
    monkeypatch.setattr(os, "kill", kill)
    monkeypatch.setattr(os, "killpg", killpg)

    with pytest.raises(EndedError):
        end_family()

    assert [os.getpid(), 12] == alive
    assert "another user: [12]" in capfd.readouterr().err
