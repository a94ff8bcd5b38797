"""The campaign that chaos strikes: four tiers, which note every execution in a file, and when."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

import verifier_ladder as vl
from verifier_ladder.keys import content_key

CAMPAIGN = "chaos"
PER_STEP = 24
CHECK = vl.Cost(seconds=0.001)
"""What each check says that it cost: what was charged then tells how many were paid for."""


def texts(rank: int, step: int) -> list[str]:
    """What a rank scores in a step; two thirds are what every rank scores, and one is twice."""
    shared = [f"shared {step} {i}" for i in range(2 * PER_STEP // 3)]
    own = [f"rank {rank} {step} {i}" for i in range(PER_STEP - len(shared) - 1)]
    return [*shared, *own, shared[0]]


def truth(text: str | bytes) -> float:
    """What the top tier says, and so the reward in the end."""
    return float(len(text))


class Noting(vl.Verifier):
    """A verifier that notes whom it looked at before it says anything."""

    version, kind, batch_size, cost = "1", "text", 8, CHECK

    def __init__(self, name: str, tier: vl.Tier, log: Path) -> None:
        """Note into `log`."""
        self.name, self.tier, self.log = name, tier, str(log)
        super().__init__()

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        """Say how long each text is."""
        began = monotonic()
        keys = [content_key(one.kind, one.content).hex() for one in candidates]
        note(self.log, [f"{self.name}\t{key}\t{began!r}" for key in keys])
        return [said(candidate) for candidate in candidates]


class Laboratory(vl.Verifier):
    """A world verifier that always waits."""

    name, version, tier, kind, waits, cost = "lab", "1", vl.Tier.WORLD, "text", True, CHECK

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        """Open a case for each."""
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


def said(candidate: vl.Candidate) -> vl.Verdict:
    """What every tier says of a candidate."""
    return replace(vl.Verdict.accept(truth(candidate.content)), cost=CHECK)


def note(log: str, lines: Sequence[str]) -> None:
    """Append lines in one write, which the kernel does not mix with another process's."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(descriptor, "".join(f"{line}\n" for line in lines).encode())
    finally:
        os.close(descriptor)


def ladder(log: Path) -> vl.Ladder:
    """Four tiers that all climb."""
    return vl.Ladder(
        "chaos",
        [
            Noting("quick", vl.Tier.FAST, log),
            Noting("model", vl.Tier.SIMULATION, log),
            Noting("costly", vl.Tier.HIGH_FIDELITY, log),
            Laboratory(),
        ],
        policy="all_tiers",
        budget={"world": "unlimited"},
    )  # fmt: skip


def open_campaign(ledger: str, log: Path, run: str, engine: str = "local") -> vl.Campaign:
    """Open it, new or known."""
    return vl.Campaign.open(
        CAMPAIGN, ladder=ladder(log), ledger=ledger, run=run, workers=2, engine=engine
    )
