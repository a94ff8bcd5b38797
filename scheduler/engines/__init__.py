"""Engines: where checks are executed."""

from __future__ import annotations

from verifier_ladder.scheduler.engines.job import BatchAnswer, CanonicalAnswer
from verifier_ladder.scheduler.engines.lane import PoolClosed
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.engines.watch import Limit

__all__ = ["BatchAnswer", "CanonicalAnswer", "Limit", "PoolClosed", "WorkerPool"]
