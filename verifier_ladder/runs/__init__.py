"""Runs: what the ledger knows of one training or evaluation run, as of any checkpoint."""

from __future__ import annotations

from verifier_ladder.runs.finding import FoundRun, find_run, list_runs
from verifier_ladder.runs.moment import Moment
from verifier_ladder.runs.reading import read_run
from verifier_ladder.runs.records import RunRecord, SampleRecord

__all__ = [
    "FoundRun", "Moment", "RunRecord", "SampleRecord", "find_run", "list_runs", "read_run",
]  # fmt: skip
