"""How a box ends what an input has left."""

import os

import pytest

from verifier_ladder.tiers.sandbox import boxes


def test_a_child_of_another_user_saves_none_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    alive = [11, 12, 13]
    ended: set[int] = set()

    def end(pid: int, _: int) -> None:
        if pid == 12:
            raise PermissionError
        ended.add(pid)

    def wait(pid: int, _: int) -> tuple[int, int]:
        assert pid in {-1, *ended}, "it waits for one that does not end"
        if pid in alive:
            alive.remove(pid)
        return 0, 0

    monkeypatch.setattr(boxes, "_children", lambda _: list(alive))
    monkeypatch.setattr(os, "getpgid", lambda pid: pid)
    monkeypatch.setattr(os, "kill", end)
    monkeypatch.setattr(os, "killpg", end)
    monkeypatch.setattr(os, "waitpid", wait)

    with pytest.raises(PermissionError, match=r"another user can't be ended: \[12\]"):
        boxes._end_children()

    assert [12] == alive
