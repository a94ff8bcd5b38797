"""Recorded runs: samples written into a ledger by hand, to test what reads runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any

from verifier_ladder.keys import content_key, digest
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import (
    Block,
    CandidateRow,
    DecisionColumns,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.transcript import Transcript, transcript_block
from verifier_ladder.verdict import Verdict

CHEAP, TRUE = "cheap", "true"
TIERS = {CHEAP: Tier.FAST, TRUE: Tier.WORLD}


def ladder_spec(**changes: Any) -> dict[str, Any]:
    """A ladder of a fast and a world verifier, as the ledger records it."""
    verifiers: list[dict[str, Any]] = [
        {
            "name": name, "version": "1", "tier": tier.label, "kind": "text", "role": "primary",
            "settings": {}, "tools": {}, "digest": digest(name).hex(),
        }
        for name, tier in TIERS.items()
    ]  # fmt: skip
    spec = {
        "name": "words", "kind": "text", "audit": 0.05, "verifiers": verifiers,
        "target": {"name": "score", "unit": "", "direction": "maximise", "scale": "real"},
        "reward": {"low": None, "high": None, "clip": True, "reject": 0.0},
        "policy": {"name": "thresholds", "version": "1"}, "prior": None, "budget": {},
        "canonicaliser": {"name": "identity", "version": "1", "settings": {}},
    }  # fmt: skip
    return {**spec, **changes}


@dataclass
class Told:
    """One sample: what was written, how it was rewarded, and whether a draw fell on it."""

    content: str
    reward: Reward | float | None
    group: str = ""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    chance: float = nan
    """Probability with which the top tier was to be asked; NaN where nobody decided."""
    is_drawn: bool = False
    factor: float = nan
    task: bytes = b""
    learner_version: str = ""

    @property
    def whole(self) -> Reward:
        """The reward as it is recorded; a plain number is certain."""
        if isinstance(self.reward, Reward):
            return self.reward
        return Reward(self.reward, None if self.reward is None else 0.0)

    def check(self, verifier: str) -> bytes:
        """The key of one of its checks."""
        return digest([verifier, self.content, self.group])


class RecordedRun:
    """Writes the samples of one run into a ledger, without running anything."""

    def __init__(
        self,
        ledger: Ledger,
        campaign: str = "c",
        *,
        run: Mapping[str, Any] | None = None,
        ladder: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin a campaign and a run."""
        self.ledger, self.campaign, self.step = ledger, campaign, 0
        facts = run or {"name": "r"}
        self.name = str(facts["name"])
        ledger.open_campaign(campaign, ladder or ladder_spec(), digest(campaign))
        ledger.add_run(campaign, facts)

    def score(self, told: Sequence[Told]) -> None:
        """One call of score: the next step."""
        self._write("score", told, self.step, range(len(told)))
        self.step += 1

    def revise(self, step: int, position: int, told: Told) -> None:
        """One revision."""
        self._write("revision", [told], step, [position])

    def keep(self, *transcripts: Transcript) -> None:
        """Keep transcripts."""
        self.ledger.append(transcript_block(self.campaign, self.name, transcripts))

    def _write(self, kind: str, told: Sequence[Told], step: int, places: Sequence[int]) -> None:
        samples = SampleColumns(
            self.name, step, list(places), [content_key("text", one.content) for one in told],
            [tuple(map(one.check, one.verdicts)) for one in told], [one.group for one in told],
            learner_versions=[one.learner_version for one in told],
            tasks=[one.task for one in told] if any(one.task for one in told) else None,
        )  # fmt: skip
        candidates = [
            CandidateRow(b"", key, "text", one.content, None, digest("identity"))
            for one, key in zip(told, samples.contents, strict=True)
        ]
        verdicts = [
            VerdictRow(one.check(name), key, name, "1", int(TIERS[name]), verdict)
            for one, key in zip(told, samples.contents, strict=True)
            for name, verdict in one.verdicts.items()
        ]
        facts = {"previous": [None] * len(told)} if kind == "revision" else {}
        block = Block(
            kind, self.campaign, candidates, verdicts, samples, [_decisions(told)],
            [one.whole for one in told], facts,
        )  # fmt: skip
        self.ledger.append(block)


def _decisions(told: Sequence[Told]) -> DecisionColumns:
    size = len(told)
    return DecisionColumns(
        policy="thresholds 1", sample=list(range(size)), action=[0] * size, tier=[-1] * size,
        reason=[0] * size, reasons=["as recorded"], mean=[nan] * size, deviation=[nan] * size,
        propensity=[one.chance for one in told],
        draw=[_number(one) for one in told], benefit=[0.0] * size,
        factor=[one.factor for one in told],
    )  # fmt: skip


def _number(one: Told) -> float:
    """The draw's number: below the probability where it fell on the sample."""
    if one.is_drawn:
        return one.chance / 2.0
    return nan if one.chance != one.chance or one.chance == 1.0 else (1.0 + one.chance) / 2.0
