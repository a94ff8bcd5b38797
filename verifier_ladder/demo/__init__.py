"""The demo: the solvation campaign on packaged outputs of a language model."""

from __future__ import annotations

from verifier_ladder.demo.distributed import fleet
from verifier_ladder.demo.running import run_demo

__all__ = ["fleet", "run_demo"]
