"""The report: a campaign as one HTML file that opens anywhere, without a network or a script."""

from __future__ import annotations

from verifier_ladder.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
