"""Recorded ladders: what the ledger knows of a ladder, without its verifiers' code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifier_ladder.canonicaliser import Identity
from verifier_ladder.errors import LedgerError
from verifier_ladder.ladder import Ladder
from verifier_ladder.reward import RewardRule
from verifier_ladder.scheduler.policies import POLICIES, AllTiers, Discovery
from verifier_ladder.target import Target
from verifier_ladder.verifiers import Verifier


class RecordedVerifier(Verifier):
    """A verifier as the ledger describes it: it has said what it has said, and says no more."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Take what was declared."""
        self.name, self.version = str(spec["name"]), str(spec["version"])
        self.tier, self.kind, self.role = spec["tier"], spec["kind"], spec["role"]
        self.unit, self.deviation = spec["unit"], spec["deviation"]
        self.definitive = bool(spec.get("definitive", False))
        self.same_quantity = bool(spec.get("same_quantity", False))
        self.features = tuple(spec.get("features", ()))
        self.weight = float(spec.get("weight", 1.0))
        self.replicates = int(spec.get("replicates", 1))
        self.scope = spec.get("scope", "candidate")
        super().__init__(**spec["settings"])
        vars(self)["digest"] = bytes.fromhex(spec["digest"])  # What was learnt is filed under it.


def recorded_ladder(spec: Mapping[str, Any]) -> Ladder:
    """The ladder as recorded: good for reading beliefs and rewards, not for scoring.

    Its policy is not the recorded one, for what was decided is read from the ledger; but it
    compares candidates if that one did, because beliefs differ by it.

    Raises:
        LedgerError: If the record is not one that this program makes.
    """
    try:
        return Ladder(
            str(spec["name"]),
            [RecordedVerifier(verifier) for verifier in spec["verifiers"]],
            policy=Discovery() if _is_sequential(spec["policy"]) else AllTiers(),
            reward=RewardRule(**spec["reward"]),
            target=Target(**spec["target"]),
            prior=tuple(spec["prior"]) if spec["prior"] else None,
            canonicaliser=Identity(str(spec["kind"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            f"the ladder {spec.get('name')} is not recorded as this program does it: "
            f"{type(error).__name__} {error}; was another version at work?"
        ) from error


def _is_sequential(policy: Mapping[str, Any]) -> bool:
    return bool(getattr(POLICIES.get(policy["name"]), "is_sequential", False))
