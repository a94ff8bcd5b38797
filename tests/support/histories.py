"""Histories: campaigns written into a ledger by hand, to test what reads ledgers.

Summaries, reports and pages read what a campaign has recorded. A history records a campaign
whose every number is known beforehand, without running anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verifier_ladder.cost import Cost
from verifier_ladder.decision import Action
from verifier_ladder.keys import content_key, digest, raw_key
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import (
    Block,
    CandidateRow,
    Charged,
    CheckRow,
    CheckState,
    DecisionColumns,
    Request,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

GATE, ESTIMATE, XTB, DFT, MEASURED = "gate", "estimate", "xtb", "dft", "measured"
TIERS = {
    GATE: Tier.FAST, ESTIMATE: Tier.FAST, XTB: Tier.SIMULATION, DFT: Tier.HIGH_FIDELITY,
    MEASURED: Tier.WORLD,
}  # fmt: skip
REASONS = (
    "it was rejected",
    "believed {mean:.3g} ± {deviation:.2g}, good enough for the {tier} tier ({limit:.3g})",
    "believed {mean:.3g} ± {deviation:.2g}, not good enough for the {tier} tier ({limit:.3g})",
    "drawn for an audit with probability {propensity:.3g}",
)
UNIT = "kcal/mol"


def cost(verdict: Verdict, seconds: float) -> Verdict:
    """The same verdict, with its measured cost."""
    return replace(verdict, cost=Cost(seconds=seconds))


def ladder_spec(names: Sequence[str] = tuple(TIERS)) -> dict[str, Any]:
    """A ladder as the ledger records it."""
    verifiers: list[dict[str, Any]] = [
        {
            "name": name, "version": "1", "tier": TIERS[name].label, "kind": "molecule",
            "role": "gate" if name == GATE else "primary", "settings": {}, "tools": {},
            "digest": digest(name).hex(),
        }
        for name in names
    ]  # fmt: skip
    return {
        "name": "solvation", "kind": "molecule", "audit": 0.05, "verifiers": verifiers,
        "target": {
            "name": "hydration free energy", "unit": UNIT, "direction": "minimise",
            "scale": "real",
        },
        "reward": {"low": 2.0, "high": -12.0, "clip": True, "reject": 0.0},
        "policy": {"name": "thresholds", "version": "1", "thresholds": {"high_fidelity": -4.0}},
        "prior": [-4.0, 4.0], "budget": {"high_fidelity": 100.0},
        "canonicaliser": {"name": "molecule", "version": "1", "settings": {}},
    }  # fmt: skip


_UNKNOWN = Reward(None)


@dataclass
class Item:
    """One sample: its text, its canonical form or why there is none, and what is decided."""

    raw: str
    canonical: str | Verdict | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    reward: Reward = _UNKNOWN
    mean: float = float("nan")
    deviation: float = float("nan")
    action: Action = Action.STOP
    to: Tier | None = None
    reason: int = 0
    task: bytes = b""
    kind: str = "molecule"
    cached: tuple[str, ...] = ()
    """Verifiers whose verdicts the ledger already has."""

    @property
    def content(self) -> bytes:
        """Its content key."""
        form = self.canonical if isinstance(self.canonical, str) else self.raw
        return content_key(self.kind, form)

    def check(self, verifier: str) -> bytes:
        """The key of one of its checks."""
        return digest([verifier, self.content.hex(), self.task.hex()])


class History:
    """Writes a campaign into a ledger."""

    def __init__(
        self, ledger: Ledger, name: str = "try", ladder: Mapping[str, Any] | None = None
    ) -> None:
        self.ledger, self.name = ledger, name
        self.ladder = ladder or ladder_spec()
        self.step = 0
        self.seen: set[bytes] = set()
        ledger.open_campaign(name, self.ladder, digest({"name": name}))

    def score(self, items: Sequence[Item], run: str = "one") -> None:
        """One call of score."""
        block = self._block("score", items, run, self.step, range(len(items)))
        block.candidates = [self._candidate(i) for i in items if self._is_new(i.raw)]
        rows = []
        for item in items:
            for name, verdict in item.verdicts.items():
                key = item.check(name)
                if key not in self.seen and name not in item.cached:
                    self.seen.add(key)
                    rows.append(self._row(item, name, verdict))
        block.verdicts = rows
        charges: dict[Charged, tuple[Cost, int]] = {}
        for row in rows:
            charged = Charged(row.tier, row.verifier, row.version)
            total, count = charges.get(charged, (Cost(), 0))
            charges[charged] = (total + (row.verdict.cost or Cost()), count + 1)
        self.ledger.append(block, charges=charges)
        self.step += 1

    def check(self, item: Item, verifier: str, verdict: Verdict) -> None:
        """One completion of a higher tier."""
        row = self._row(item, verifier, verdict)
        charged = Charged(row.tier, row.verifier, row.version)
        charges = {charged: (verdict.cost or Cost(), 1)} if verdict.is_answer else None
        self.ledger.append(Block("check", self.name, verdicts=[row]), charges=charges)

    def revise(self, step: int, position: int, item: Item, run: str = "one") -> None:
        """One revision."""
        self.ledger.append(self._block("revision", [item], run, step, [position]))

    def enqueue(self, item: Item, verifier: str, state: CheckState, **more: Any) -> None:
        """A check of the work queue: queued (and tried, so that its budget was asked), or open."""
        tier = int(TIERS[verifier])
        payload = {"kind": item.kind, "content": item.canonical, **more}
        row = CheckRow(
            item.check(verifier), item.content, self.name, verifier, "1", tier,
            CheckState.QUEUED, 1.0, Cost(5.0), payload,
        )  # fmt: skip
        request = Request(row.check_key, self.name, "one", 0, 0, item.content, {})
        self.ledger.append(Block("score", self.name), enqueue=[(row, [request])])
        claims = self.ledger.claim(tiers=[tier], owner="test", lease=60.0, limit=1, now=0.0)
        if state is CheckState.WAITING:
            self.ledger.wait(claims, deadline=None, now=0.0)
        else:
            self.ledger.release(claims, now=0.0)

    def _is_new(self, raw: str) -> bool:
        key = raw_key("molecule", raw)
        is_new = key not in self.seen
        self.seen.add(key)
        return is_new

    def _candidate(self, item: Item) -> CandidateRow:
        form = item.canonical
        problem = form if isinstance(form, Verdict) else None
        text = form if isinstance(form, str) and form != item.raw else None
        return CandidateRow(
            raw_key(item.kind, item.raw), item.content, item.kind, item.raw, text, digest("c"),
            problem,
        )  # fmt: skip

    def _row(self, item: Item, verifier: str, verdict: Verdict) -> VerdictRow:
        return VerdictRow(
            item.check(verifier),
            item.content,
            verifier,
            "1",
            int(TIERS.get(verifier, Tier.SIMULATION)),
            verdict,
        )

    def _block(
        self, kind: str, items: Sequence[Item], run: str, step: int, positions: Sequence[int]
    ) -> Block:
        size = len(items)
        samples = SampleColumns(
            run, step, list(positions), [i.content for i in items],
            [tuple(i.check(v) for v, verdict in i.verdicts.items() if verdict.is_answer)
             for i in items],
            tasks=[i.task for i in items] if any(i.task for i in items) else None,
        )  # fmt: skip
        decisions = DecisionColumns(
            policy="thresholds 1", sample=list(range(size)), action=[int(i.action) for i in items],
            tier=[-1 if i.to is None else int(i.to) for i in items],
            reason=[i.reason for i in items], reasons=REASONS, mean=[i.mean for i in items],
            deviation=[i.deviation for i in items], propensity=[1.0] * size, draw=None,
            benefit=[0.0] * size, limit=[-4.0] * size,
        )  # fmt: skip
        return Block(
            kind, self.name, samples=samples, decisions=[decisions],
            rewards=[i.reward for i in items],
        )  # fmt: skip
