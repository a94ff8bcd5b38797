"""Report cards: what a training run rests on, and how far its rewards can be trusted."""

from __future__ import annotations

from verifier_ladder.reportcard.card import NOT_REPORTED, ReportCard
from verifier_ladder.reportcard.making import report_card
from verifier_ladder.reportcard.markdown import as_markdown

__all__ = ["NOT_REPORTED", "ReportCard", "as_markdown", "report_card"]
