"""Costs: what asking each tier about a candidate is expected to take, learnt from what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import copysign, isfinite, log1p, nan
from typing import Any

import numpy as np

from verifier_ladder.arrays import Floats, NDArray
from verifier_ladder.cost import Cost
from verifier_ladder.ladder import Ladder
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.verifiercosts import FLOOR, VerifierCosts, predictors
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

_USUAL_SIZE = 64.0
_GPU = int(Resource.GPU_SECONDS)


@dataclass(slots=True)
class CostLessons:
    """What some checks of one verifier took, with all that predicts it, one row each."""

    verifier: str
    declared: Floats
    """What was declared for the candidate. Shape (n, resources)."""
    features: Floats
    """Shape (n, features)."""
    measured: Floats
    """What the check took. Shape (n, resources)."""
    stopped: NDArray[np.bool_]
    """Whether its budget stopped it first: it would have taken more than measured. Shape (n,)."""

    def as_json(self) -> dict[str, Any]:
        """The lessons as JSON, for replay."""
        columns = (self.declared, self.features, self.measured, self.stopped)
        return {"verifier": self.verifier, "columns": [column.tolist() for column in columns]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> CostLessons:
        """Read what `as_json` wrote."""
        declared, features, measured, *rest = map(np.array, stored["columns"])
        stopped = rest[0] if rest else np.zeros(len(measured), dtype=bool)  # of older ledgers
        return cls(stored["verifier"], declared, features, measured, stopped)


class CostModel:
    """Predicts what each tier takes of each resource, candidate by candidate.

    Times follow a regression per verifier: the logarithm of the measured over the declared time
    on the candidate's size, the times that lower tiers took for it, and the numbers that their
    verifiers offer. A check that its budget stopped teaches that it takes more than that. At
    first the declared cost is expected, or `Verifier.expected_cost`, times what the nearest lower
    tier for the same quantity took over its own. What is unlike all that was checked is expected
    to take more. What else a verifier declares, such as money, is expected in the mean ratio of
    what was measured.

    Predictions depend on nothing but what was declared and what was learnt, in order.
    """

    def __init__(self, ladder: Ladder) -> None:
        """Start with what the verifiers declare."""
        self._tiers = len(ladder.rungs)
        self._verifiers = ladder.verifiers
        self._column = {
            v.name: column for column, rung in enumerate(ladder.rungs) for v in rung.verifiers
        }
        self._known = {v.name: VerifierCosts(v, *self._below(v)) for v in ladder.verifiers}
        self._foretells = np.zeros(self._tiers, dtype=bool)
        for name, column in self._column.items():
            self._foretells[column] |= self._known[name].foretells

    def _below(self, verifier: Verifier) -> tuple[int, int]:
        """How many tiers are below a verifier's, and how many numbers they offer."""
        column = self._column[verifier.name]
        below = [v for v in self._verifiers if self._column[v.name] < column]
        return column, sum(len(v.features) for v in below)

    def predict(self, standings: Sequence[Standing]) -> Floats:
        """What it takes to ask those verifiers of each tier that have not answered.

        Returns:
            Amounts in units of the resources. Shape (n, tiers, resources).
        """
        made = np.zeros((len(standings), self._tiers, len(Resource)))
        facts = self._facts(standings)
        for verifier in self._verifiers:
            costs = self._known[verifier.name]
            open_ = [float(said is None) for said in facts.said[verifier.name]]
            if costs.checks > 1:  # the share of its replicates that is left
                open_ = [len(s.missing(verifier)) / costs.checks for s in standings]
            if any(open_):
                found = costs.predict(costs.declared(standings), facts.features(*costs.below))
                made[:, self._column[verifier.name]] += found * np.array(open_)[:, None]
        return made

    @property
    def takes(self) -> NDArray[np.bool_]:
        """Whether each tier takes some of each resource. Shape (tiers, resources)."""
        made = np.zeros((self._tiers, len(Resource)), dtype=bool)
        for name, column in self._column.items():
            made[column] |= self._known[name].takes
        return made

    def expected(self, verifiers: Sequence[Verifier], standings: Sequence[Standing]) -> list[Cost]:
        """What one check is expected to take, each of a verifier of its own candidate.

        A GPU is expected only where the verifier says so: by this the check goes to a host that
        has one, and where others have taken some, that says nothing of what this one needs.
        """
        made: list[Cost] = [Cost()] * len(standings)
        for verifier in dict.fromkeys(verifiers):
            rows = [row for row, asked in enumerate(verifiers) if asked is verifier]
            chosen = [standings[row] for row in rows]
            costs = self._known[verifier.name]
            features = self._facts(chosen).features(*costs.below)
            declared = costs.declared(chosen)
            amounts = costs.predict(declared, features)
            amounts[declared[:, _GPU] == 0.0, _GPU] = 0.0
            share = 1.0 / costs.checks
            for row, amount in zip(rows, amounts.tolist(), strict=True):
                made[row] = Cost(*amount) if costs.checks == 1 else Cost(*amount).times(share)
        return made

    def lessons(self, verifier: str, standings: Sequence[Standing]) -> CostLessons:
        """What a verifier's checks of candidates took; those without a cost are left out.

        A considered abstention is left out too: a molecule that is too large is refused in no
        time, and that says nothing about the others.
        """
        told = [s for s in standings if _cost(s.verdicts.get(verifier)) is not None]
        measured = [_cost(s.verdicts[verifier]) or Cost() for s in told]
        costs = self._known[verifier]
        return CostLessons(
            verifier, costs.declared(told), self._facts(told).features(*costs.below),
            np.array([cost.amounts for cost in measured]).reshape(len(told), len(Resource)),
            np.array([not s.verdicts[verifier].is_answer for s in told], dtype=bool),
        )  # fmt: skip

    def learn(self, lessons: CostLessons) -> None:
        """Take what checks took."""
        costs = self._known.get(lessons.verifier)
        if costs is not None and len(lessons.measured):
            costs.learn(lessons.declared, lessons.features, lessons.measured, lessons.stopped)

    def _facts(self, standings: Sequence[Standing]) -> _Facts:
        said = {v.name: [s.verdicts.get(v.name) for s in standings] for v in self._verifiers}
        total = np.zeros((len(standings), self._tiers))
        usual = np.zeros(total.shape)
        is_known = np.zeros(total.shape, dtype=bool)
        for name, column in self._column.items():
            costs = [None if one is None else one.cost for one in said[name]]
            taken = np.array([nan if cost is None else cost.seconds for cost in costs])
            total[:, column] += np.nan_to_num(taken)
            is_known[:, column] |= ~np.isnan(taken)
            known = self._known[name]
            usual[:, column] += known.usual_for(known.declared(standings))
        times = np.where(is_known, np.log(np.maximum(total, FLOOR) / usual), nan)
        paces = np.where(self._foretells & (total > FLOOR), times, nan)
        offered = [
            [_offered(one, name) for one in said[verifier.name]]
            for verifier in self._verifiers
            for name in verifier.features
        ]
        sizes = np.log(np.array([_size(standing) for standing in standings]) / _USUAL_SIZE)
        features = np.array(offered).reshape(len(offered), len(standings)).T
        return _Facts(said, sizes, paces, times, features)

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {name: costs.snapshot() for name, costs in self._known.items()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot; what it knows of other verifiers or versions is left out."""
        for name, costs in self._known.items():
            if name in snapshot:
                costs.restore(snapshot[name])


@dataclass(slots=True)
class _Facts:
    """What predicts costs, one row per candidate; NaN where something is not known."""

    said: Mapping[str, Sequence[Verdict | None]]
    """What each verifier said."""
    sizes: Floats
    paces: Floats
    """The same as `times` for tiers that foretell how slow those above are, else NaN."""
    times: Floats
    """Logarithm of the cpu time that each tier took over the declared. Shape (n, tiers)."""
    offered: Floats
    """Numbers that verifiers offer, from cheap to dear. Shape (n, offered)."""

    def features(self, column: int, offered: int) -> Floats:
        """What predicts the times of a verifier above so many tiers and numbers."""
        below = self.paces[:, :column], self.times[:, :column], self.offered[:, :offered]
        return predictors(self.sizes, *below)


def _size(standing: Standing) -> float:
    """Size of what a check is about; of a group, as if all members were as large as this one."""
    group = standing.comparison
    return (1.0 + len(standing.given)) * (1 if group is None else group.size)


def _cost(said: Verdict | None) -> Cost | None:
    """What a check took that came to an answer or to the end of its budget; None if unknown."""
    if said is None or (said.is_answer and said.outcome is Outcome.ABSTAIN):
        return None
    return said.cost if said.failed_at in (None, "budget") else None


def _offered(said: Verdict | None, name: str) -> float:
    """A number that a verifier offers about a candidate; NaN if it has none."""
    value = None if said is None else said.evidence.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        return nan
    return copysign(log1p(abs(value)), value)
