"""Bayesian optimisation with BoTorch, as a peer of searches; the extra `gp` installs it."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from routing.bill import Bill
from routing.discovery import best_rows
from routing.table import Floats, Indices, Table

from verifier_ladder.scheduler.policies.index import improvement

_FIRST = 5
"""Rows that are asked on both tiers before a process is fitted."""
_EVERY = 5
"""Answers after which the process's parameters are fitted anew."""
_POOL = 200
"""Rows that compete for the next check, the most promising by their mean: an exact covariance of
all pairs would take minutes a step."""


def is_installed() -> bool:
    """Whether BoTorch is there."""
    return find_spec("botorch") is not None


def by_botorch(table: Table, seed: int, budget: float) -> Bill:
    """Search with BoTorch's process over features and fidelity, by expected improvement.

    The row and the tier with the largest improvement over the best known value come next: that
    of the truth, times the correlation of the tier's answer with it, over the tier's cost. (Huang
    et al., *Sequential kriging optimization using multiple-fidelity evaluations*, 2006, without
    its factor for repeated checks.) Costs are the tiers' mean costs, given for nothing.

    It ends once the best rows are found: a step takes seconds, and later ones would tell nothing.

    Args:
        table: The table; of its tiers the two dearest are used.
        seed: Which rows come first.
        budget: What may be spent, in the table's unit.
    """
    bill, search = Bill(table), _Search(table, seed)
    wanted = best_rows(table)
    for row in search.first:
        for tier in (0, 1):
            bill.charge(search.columns[tier], [row])
    while bill.total < budget and not search.knows(wanted):
        row, tier = search.next()
        bill.charge(search.columns[tier], [row])
        search.take(row, tier)
    return bill


class _Search:
    """What was asked, and a process fitted to it."""

    def __init__(self, table: Table, seed: int) -> None:
        """Ask about the first rows."""
        top = table.scores.shape[1] - 1
        self.columns = (top - 1, top)
        self._scores = table.manifest.sign * table.scores[:, self.columns]
        self._costs = table.costs[:, self.columns].mean(axis=0)
        self._inputs = _unit(np.column_stack([table.features, table.scores[:, : top - 1]]))
        self.first = np.random.default_rng([seed, 4]).permutation(len(table))[:_FIRST].tolist()
        self._asked = [(row, tier) for row in self.first for tier in (0, 1)]
        self._open = np.ones((len(table), 2), dtype=bool)
        self._open[self.first] = False
        self._state: dict[str, Any] | None = None
        self._fitted = 0

    def knows(self, rows: Indices) -> bool:
        """Whether the truth of these rows is known."""
        return not self._open[rows, 1].any()

    def take(self, row: int, tier: int) -> None:
        """Learn an answer."""
        self._asked.append((row, tier))
        self._open[row, tier] = False
        if tier:
            self._open[row, 0] = False  # The truth is known: a look tells nothing more.

    def next(self) -> tuple[int, int]:
        """The row and the tier to ask: 0 for the look, 1 for the truth."""
        import torch

        model, centre, scale = self._process()
        known = [self._scores[row, 1] for row, tier in self._asked if tier]
        rows = np.flatnonzero(self._open[:, 1])
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            means = model.posterior(self._points(rows, 1)).mean[:, 0].numpy()
            rows = rows[np.argsort(-means, kind="stable")[:_POOL]]
            pairs = torch.stack([self._points(rows, 0), self._points(rows, 1)], dim=-2)
            joint = model.posterior(pairs).distribution
        mean, covariance = joint.mean[:, 1].numpy(), joint.covariance_matrix.numpy()
        variances = np.maximum(covariance[:, (0, 1), (0, 1)], 1e-12)
        deviation, best = np.sqrt(variances[:, 1]), (max(known) - centre) / scale
        hope = deviation * improvement((best - mean) / deviation)
        alike = np.abs(covariance[:, 0, 1]) / np.sqrt(variances.prod(axis=1))
        worth = hope[:, None] * np.column_stack([np.minimum(alike, 1.0), np.ones(len(rows))])
        worth = np.where(self._open[rows], worth / self._costs, -1.0)
        row, tier = np.unravel_index(int(worth.argmax()), worth.shape)
        return int(rows[row]), int(tier)

    def _points(self, rows: Any, tier: int) -> Any:
        import torch

        return torch.from_numpy(np.column_stack([self._inputs[rows], np.full(len(rows), tier)]))

    def _process(self) -> tuple[Any, float, float]:
        """The process, with centre and scale of its targets."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskMultiFidelityGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        rows, tiers = np.array(self._asked).T
        targets = self._scores[rows, tiers]
        centre, scale = float(targets.mean()), float(targets.std()) or 1.0
        inputs = torch.from_numpy(np.column_stack([self._inputs[rows], tiers]))
        standard = torch.from_numpy((targets - centre) / scale)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SingleTaskMultiFidelityGP(
                inputs, standard, data_fidelities=[inputs.shape[1] - 1], outcome_transform=None
            )
            if self._state is not None:
                model.load_state_dict(self._state)
            if self._state is None or len(rows) >= self._fitted + _EVERY:
                fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
                self._state, self._fitted = model.state_dict(), len(rows)
        model.eval()
        return model, centre, scale


def _unit(values: Floats) -> Floats:
    """Columns brought to [0, 1]; constant ones are dropped, and what is missing is the mean."""
    values = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    span = np.ptp(values, axis=0)
    kept: Floats = ((values - values.min(axis=0)) / np.where(span > 0, span, 1.0))[:, span > 0]
    return kept
