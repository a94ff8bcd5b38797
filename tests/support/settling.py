"""Settling: a forecast that waits for its horizon, its feed, and a ledger whose clock is moved.

The clock is moved only while no campaign is open, as for one that waits for weeks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.case import Case
from verifier_ladder.ledger import records
from verifier_ladder.ledger.database import Database
from verifier_ladder.scheduler import seals
from verifier_ladder.tiers.world.case import WorldVerifier

DAY = 86400.0


class Forecast(WorldVerifier):
    """Scores a number by its distance from the one that a file tells."""

    name, version, kind, settles_at = "forecast-test", "1", "text", "horizon"
    patience = 10 * DAY

    def settle(self, case: Case, feed: Any) -> vl.Verdict | None:
        told = Path(feed).read_text()
        if told == "crash":
            raise ZeroDivisionError("a feed that is broken")
        if told == "die":
            import os

            os._exit(9)
        if not told:
            return None
        assert case.settles_at is not None
        return vl.Verdict.accept(-abs(float(told) - float(case.candidate.content)))


class World:
    """One ledger, one feed, the ledger's clock, and how far this machine's is from it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.feed = folder, folder / "feed"
        self.feed.write_text("")
        self.ahead, self.apart = 0.0, 0.0
        self.verifier: type[Forecast] = Forecast
        self.horizon = time.time() + DAY

    def set_clocks(self, patch: pytest.MonkeyPatch) -> None:
        """Let both clocks go as far ahead as is said here."""
        patch.setattr(Database, "clock", lambda _: time.time() + self.ahead)
        for module in (records, seals):
            patch.setattr(module, "host_clock", lambda: time.time() + self.ahead + self.apart)

    @contextmanager
    def campaign(self, name: str = "forecasts") -> Iterator[vl.Campaign]:
        verifier = self.verifier()
        verifier.feed = str(self.feed)
        ladder = vl.Ladder("forecasts", [verifier])
        place = self.folder / "ledger.db"
        with vl.Campaign.open(name, ladder=ladder, ledger=place, workers=1) as campaign:
            yield campaign

    def samples(self, *texts: str, step: int = 0) -> list[vl.Sample]:
        task = {"horizon": self.horizon}
        return [
            vl.Sample(vl.Candidate("text", text, task), run="r", step=step, position=place)
            for place, text in enumerate(texts)
        ]

    def settled(self) -> list[float | None]:
        """What the newest revisions say, after a look at what is due."""
        with self.campaign() as campaign:
            assert campaign.drain(300)
            newest = {r.position: r.reward.value for r in campaign.revisions()}
        return [newest[place] for place in sorted(newest)]
