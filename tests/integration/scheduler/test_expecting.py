"""What a verifier expects a check to take, on content that was written to do harm."""

import ctypes
import os
import sys
import time
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.scheduler.policies.alltiers import AllTiers

DECLARED = 8.0


def altered(**amounts: Any) -> Cost:
    cost = Cost()
    for name, amount in amounts.items():
        object.__setattr__(cost, name, amount)
    return cost


def throw() -> Any:
    raise RuntimeError("bad luck")


class Panic(BaseException):
    """As libraries written in Rust raise it."""


def panic() -> Any:
    raise Panic("lost")


def recurse() -> Any:
    return recurse()


HARM: dict[str, Callable[[], Any]] = {
    "throw": throw,
    "panic": panic,
    "recurse": recurse,
    "leave": lambda: sys.exit(0),
    "die": lambda: os._exit(0),
    "crash": lambda: ctypes.string_at(0),
    "sleep": lambda: time.sleep(3600.0),
    "spin": lambda: sum(range(10**12)),
    "negative": lambda: altered(seconds=-1.0),
    "nan": lambda: altered(seconds=nan),
    "infinite": lambda: altered(money=inf),
    "endless": lambda: Cost(1e300),
    "text": lambda: "cheap",
    "number": lambda: 1.0,
    "nothing": lambda: None,
    "array": lambda: altered(seconds=np.zeros(3)),
}


@vl.verifier(name="quick-e", tier="fast", kind="text", version="1", isolation="inline")
def quick(candidate: Candidate) -> float:
    return float(len(candidate.content))


class Foretold(vl.Verifier):
    """Says what a check will take, as it is told; notes where and about what it was asked."""

    name, version, tier, kind = "foretold", "1", "simulation", "text"
    cost = Cost(DECLARED)

    def __init__(self, notes: str) -> None:
        """Note in this folder."""
        self.notes = Path(notes)
        super().__init__()

    def setup(self) -> None:
        """Take note of the process."""
        (self.notes / f"setup-{os.getpid()}").touch()

    def expected_cost(self, candidate: Candidate) -> Cost:
        """Do harm, or answer."""
        content = str(candidate.content)
        with (self.notes / "asked").open("a") as file:
            print(os.getpid(), content, file=file)
        deed = HARM.get(content)
        return deed() if deed else Cost(float(content))

    def verify(self, candidates: Any) -> list[float]:
        """Be content."""
        return [1.0] * len(candidates)


def asked(notes: Path) -> list[tuple[int, str]]:
    lines = (notes / "asked").read_text().splitlines()
    return [(int(pid), content) for pid, content in (line.split() for line in lines)]


def test_content_that_harms_a_cost_model_costs_nobody_else_a_reward(tmp_path: Path) -> None:
    ladder = vl.Ladder("foretelling", [quick, Foretold(str(tmp_path))], policy=AllTiers())
    batch = ["4.0", *HARM, "2.00"]
    with vl.Campaign.open("foretelling", ladder=ladder, workers=1) as campaign:
        campaign.pause(vl.Tier.SIMULATION)
        rewards = campaign.score(batch)
        again = campaign.score(batch)
        checks = campaign.ledger.checks(states=[CheckState.QUEUED])
        reserved = {check.payload["content"]: check.reserve.seconds for check in checks}

    assert [float(len(content)) for content in batch] == [reward.value for reward in rewards]
    assert [True] * len(batch) == [reward.pending for reward in again]
    told = asked(tmp_path)
    assert os.getpid() not in [pid for pid, _ in told]
    assert sorted(batch) == sorted(content for _, content in told)
    # The same regression stands behind all of them, so shares are those of what was expected.
    assert 2.0 == pytest.approx(reserved["4.0"] / reserved["2.00"], rel=0.1)
    assert [2.0] * len(HARM) == pytest.approx(
        [reserved[harm] / reserved["4.0"] for harm in HARM], rel=0.1
    )
    assert not list(tmp_path.glob("setup-*"))


def test_what_was_expected_outlives_the_process_that_asked(tmp_path: Path) -> None:
    notes, path = tmp_path / "notes", str(tmp_path / "a.ledger")
    notes.mkdir()
    for _ in range(2):
        ladder = vl.Ladder("kept", [quick, Foretold(str(notes))], policy=AllTiers())
        with vl.Campaign.open("kept", ladder=ladder, ledger=path, workers=1) as campaign:
            if not campaign.ledger.checks(limit=1):
                campaign.pause(vl.Tier.SIMULATION)
                campaign.score(["4.0"])
            else:
                campaign.resume(vl.Tier.SIMULATION)
                assert campaign.drain("300 s")

    assert ["4.0"] == [content for _, content in asked(notes)]


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_what_keeps_a_cost_model_from_telling_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, isolation: Literal["inline", "process"]
) -> None:
    foretold = Foretold(str(tmp_path))
    foretold.isolation = isolation
    ladder = vl.Ladder("told", [quick, foretold], policy=AllTiers())
    with vl.Campaign.open("told", ladder=ladder, workers=1) as campaign:
        campaign.pause(vl.Tier.SIMULATION)
        campaign.score(["throw", "panic", "text", "2.0", "endless"])
        campaign.score(["nothing", "throw", "number", "negative"])

    told = [record.getMessage() for record in caplog.records if "foretold" in record.getMessage()]
    begin = "expected_cost of foretold told nothing, so its declared cost is expected: "
    assert sorted(told) == sorted(
        begin + why
        for why in (
            "RuntimeError: bad luck",
            "Panic: lost",
            "it returned a str, not a vl.Cost",
            "Cost(seconds=1e+300): give a number of at least 0 and below 9,007,199,255",
            "it returned a NoneType, not a vl.Cost",
            "it returned a float, not a vl.Cost",
            "its amounts are not from 0 to 4,000,000,000",
        )
    )
