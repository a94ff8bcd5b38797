"""Jumps of a clock are told from its going on."""

from __future__ import annotations

from typing import cast

import pytest

from verifier_ladder.ledger import Ledger
from verifier_ladder.scheduler.engines import clockwatch
from verifier_ladder.scheduler.engines.clockwatch import ClockWatch


class Clocks:
    """The ledger's clock, and the one that never jumps."""

    def __init__(self) -> None:
        self.wall = self.steady = 1000.0

    def clock(self) -> float:
        return self.wall

    def go_on(self, seconds: float, jump: float) -> None:
        self.steady += seconds
        self.wall += seconds + jump


@pytest.mark.parametrize(
    ("jump", "seen"), [(0.0, 0.0), (0.5, 0.0), (3600.0, 3600.0), (-3600.0, -3600.0)]
)
def test_only_a_jump_is_noticed_and_once(
    jump: float, seen: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks()
    monkeypatch.setattr(clockwatch, "monotonic", lambda: clocks.steady)
    watch = ClockWatch(cast("Ledger", clocks))
    assert watch.look() == 0.0

    clocks.go_on(30.0, jump)

    assert [seen, 0.0] == [watch.look(), watch.look()]
