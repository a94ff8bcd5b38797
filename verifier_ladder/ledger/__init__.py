"""The ledger: append-only record and cache of candidates, verdicts, decisions and rewards."""

from __future__ import annotations

from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.opening import open_ledger

__all__ = ["Ledger", "open_ledger"]
