"""Ledgers whose index is brought up to date."""

from __future__ import annotations

from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.ledger import Ledger


def catch_up(index: CandidateIndex, ledger: Ledger) -> CandidateIndex:
    """The index, once it holds all of the ledger."""
    while index.catch_up(ledger):
        pass
    return index
