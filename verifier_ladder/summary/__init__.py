"""Summaries: a campaign at a glance, read from its ledger alone."""

from __future__ import annotations

from verifier_ladder.analysis.totals import RunSummary
from verifier_ladder.summary.reading import summarise, walls
from verifier_ladder.summary.records import (
    Agreement,
    CandidateSummary,
    CurvePoint,
    Failure,
    OpenCase,
    Reason,
    RewardSummary,
    Score,
    Summary,
    SurrogateSummary,
    SurrogateVersion,
    Suspicion,
    TierSummary,
)
from verifier_ladder.summary.terminal import print_summary

__all__ = [
    "Agreement", "CandidateSummary", "CurvePoint", "Failure", "OpenCase", "Reason",
    "RewardSummary", "RunSummary", "Score", "Summary", "SurrogateSummary", "SurrogateVersion",
    "Suspicion", "TierSummary", "print_summary", "summarise", "walls",
]  # fmt: skip
