"""Plans: which runs a benchmark consists of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from routing.learner import Course
from routing.methods import ALL, FIDELITY, FREE, OURS, SCORING, SEARCHES, TRAINING
from routing.table import Table


class Run(NamedTuple):
    """One run: what is measured, on which table, with which method, budget and seed."""

    experiment: str
    table: str
    method: str
    share: float
    """The budget, as a share of the truth for all."""
    seed: int


class Plan(NamedTuple):
    """How much is run."""

    seeds: int = 10
    updates: int = 200
    shares: tuple[float, ...] = (0.1, 0.03)
    """Budgets of training."""
    costs: tuple[float, ...] = (0.04, 0.085, 0.12)
    """Budgets of one pass."""
    passes: int = 8
    """How often a table is scored to measure bias."""
    only: tuple[str, ...] = ()
    """Names of the experiments that are run; all if empty."""

    @property
    def course(self) -> Course:
        """How a learner trains."""
        return Course(updates=self.updates)

    def runs(self, tables: Sequence[Table]) -> Iterator[Run]:
        """Every run; one order of everything before the next, so that a part tells of all."""
        for seed in range(self.seeds):
            for table in tables:
                for experiment in table.manifest.experiments:
                    if not self.only or experiment in self.only:
                        yield from self._of(experiment, table, seed)

    def _of(self, experiment: str, table: Table, seed: int) -> Iterator[Run]:
        methods, shares = self._grid(experiment)
        for method in methods:
            free = method in FREE
            for share in shares[:1] if free else shares:
                yield Run(experiment, table.name, method, 1.0 if free else share, seed)

    def _grid(self, experiment: str) -> tuple[Sequence[str], tuple[float, ...]]:
        match experiment:
            case "grpo":
                return tuple(TRAINING), self.shares
            case "hack":
                return (OURS, "cheap only", "funnel", "random, corrected", ALL), self.shares[:1]
            case "bias":
                return tuple(SCORING), self.shares[:1]
            case "fidelity":
                return tuple(FIDELITY), self.costs
            case "discovery":
                return tuple(SEARCHES), (0.25,)
            case _:
                return (OURS,), self.shares[:1]
