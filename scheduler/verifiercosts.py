"""What one verifier takes of each resource, learnt from what its checks took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erfc, exp, log, pi, sqrt
from typing import Any

import numpy as np

from verifier_ladder.arrays import Flags, Floats
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.beliefs.regression import Regression
from verifier_ladder.scheduler.engines.reservation import LEAST
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.tier import Tier
from verifier_ladder.verifiers import Verifier

_CPU, _GPU = int(Resource.CPU_SECONDS), int(Resource.GPU_SECONDS)
FLOOR = 1e-6
"""Seconds below which a time is noise of the clock; a time of nothing counts as so much."""
_FARTHEST = 1e6
"""A cost that is more times what was declared counts as so many times."""
_FAR = log(_FARTHEST)
_MOST = 7e9
"""What is expected at most: a ledger counts little more, and more than that is reserved."""
_SHAPE, _RATE = 2.0, 1.0
"""Prior of the noise: times of like candidates differ by a factor of about exp(1)."""
_DECLARED, _GUESSED, _SLOPE, _FEATURE = 1 / 3, 0.12, 2.0, 4.0
"""Precision of what is expected: the declared time is right within a factor of exp(1.7), a guess
within exp(3); slopes are moderate until many checks say otherwise."""
_FAR_OUT = 20.0
"""Deviations above the mean from which the asymptote of the normal's tail is exact enough."""
_BEND = 10.0
"""What squares are divided by, so that they are about as large as the numbers themselves."""
_FORGETTING = 0.999
_WORTH = 2.0
"""How many measurements a declared amount of money or attention is worth."""
_WIDEST = 4.0
"""Largest variance of a predicted time's logarithm that counts, and what it is at first: so the
declared time is the mean at first, and nothing is ever expected to take more than exp(2) times
what is likely."""


def foretells_costs(verifier: Verifier) -> bool:
    """Whether it says for each candidate what a check will take."""
    return type(verifier).expected_cost is not Verifier.expected_cost


class VerifierCosts:
    """What one verifier takes of each resource."""

    def __init__(self, verifier: Verifier, tiers: int, offered: int) -> None:
        """Start with what it declares.

        Args:
            verifier: The verifier.
            tiers: How many tiers are below its own.
            offered: How many numbers their verifiers offer.
        """
        self._verifier, self.below = verifier, (tiers, offered)
        self.checks = verifier.replicates
        """How many checks it takes to ask it; all numbers here are about all of them."""
        self._guess = LEAST[Tier.parse(verifier.tier)] or 1.0
        self._is_constant = not foretells_costs(verifier)
        self._width = _width(tiers, offered)
        self._times: dict[int, Regression] = {}
        if not verifier.waits:
            is_declared = verifier.cost.seconds > 0 or not self._is_constant
            self._times[_CPU] = _regression(tiers, offered, is_declared=is_declared)
        if verifier.cost.gpu_seconds > 0:
            self._times[_GPU] = _regression(tiers, offered, is_declared=True)
        self._count = np.zeros(len(Resource))
        self._ratio = np.zeros(len(Resource))

    @property
    def usual(self) -> float:
        """The cpu time that it declares, or a guess."""
        declared = self._verifier.cost.seconds * self.checks
        return max(declared, FLOOR) if declared > 0 else self._guess * self.checks

    @property
    def foretells(self) -> bool:
        """Whether it is as slow as verifiers above: it declares a time for the same quantity."""
        is_declared = self._verifier.cost.seconds > 0 or not self._is_constant
        return is_declared and self._verifier.same_quantity

    @property
    def expected(self) -> Floats:
        """What it is expected to take before anything is known. Shape (resources,)."""
        made = np.array(self._verifier.cost.amounts) * self.checks
        if _CPU in self._times:
            made[_CPU] = self.usual
        return made

    @property
    def takes(self) -> Flags:
        """Whether it takes some of each resource, as far as is known. Shape (resources,)."""
        found: Flags = (self.expected > 0.0) | (self._ratio > 0.0)
        return found

    def declared(self, standings: Sequence[Standing]) -> Floats:
        """What is declared for each candidate. Shape (n, resources)."""
        amounts, name = self._verifier.cost.amounts, self._verifier.name
        if self._is_constant:
            return np.tile(amounts, (len(standings), 1)) * self.checks
        expected = [standing.expected.get(name, amounts) for standing in standings]
        return np.array(expected).reshape(len(standings), len(Resource)) * self.checks

    def usual_for(self, declared: Floats) -> Floats:
        """The cpu time that is declared for candidates, or a guess. Shape (n,)."""
        return self._base(declared[:, _CPU])

    def predict(self, declared: Floats, features: Floats) -> Floats:
        """Expected amounts. Shape (n, resources)."""
        worth = np.where(declared > 0, _WORTH, 0.0)
        count = np.maximum(worth + self._count, 1.0)
        made: Floats = self._unit(declared) * (worth + self._ratio) / count
        for resource, times in self._times.items():
            made[:, resource] = self._base(declared[:, resource]) * _ratio(times, features)
        made[~self._counts(declared)] = 0.0
        return np.minimum(made, _MOST)

    def _counts(self, declared: Floats) -> Flags:
        """Which amounts may be other than nothing. Shape (n, resources).

        Where a verifier says of a candidate that its check wants no GPU, that is so: by this the
        check goes to a host with a GPU or to any.
        """
        made = np.ones(declared.shape, dtype=bool)
        if not self._is_constant:
            made[:, _GPU] = declared[:, _GPU] > 0
        return made

    def learn(self, declared: Floats, features: Floats, measured: Floats, stopped: Flags) -> None:
        """Take what checks took, the oldest first; below other tiers it teaches nothing.

        Those that were stopped come last, and count for what they would have taken.
        """
        if features.shape[1] != self._width:
            return
        counts = self._counts(declared)
        for resource, times in self._times.items():
            whole, cut = counts[:, resource] & ~stopped, counts[:, resource] & stopped
            found = np.maximum(measured[:, resource], FLOOR)
            ratio = np.log(found / self._base(declared[:, resource]))
            ratio = np.clip(ratio, -_FAR, _FAR)
            times.add(features[whole], ratio[whole])
            if cut.any():
                least = _at_least(times, features[cut], ratio[cut])
                times.add(features[cut], np.minimum(least, _FAR))
        ratios = np.minimum(measured / self._unit(declared), _FARTHEST)
        for row, is_told in zip(ratios[~stopped], counts[~stopped], strict=True):
            kept = np.where(is_told, _FORGETTING, 1.0)
            self._count = self._count * kept + is_told
            self._ratio = self._ratio * kept + row * is_told

    def _base(self, declared: Floats) -> Floats:
        """The time that measured times are compared with; a guess where none is declared."""
        return np.where(declared > 0, np.maximum(declared, FLOOR), self._guess)

    def _unit(self, declared: Floats) -> Floats:
        return np.where(declared > 0, declared, 1.0)

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {
            "version": self._verifier.version,
            "times": {str(name): times.snapshot() for name, times in self._times.items()},
            "count": self._count.tolist(), "ratio": self._ratio.tolist(),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot; one of another version, or below other tiers, teaches nothing."""
        times = snapshot["times"]
        widths = {len(stored["rows"]) - 1 for stored in times.values()}
        is_same = times.keys() == set(map(str, self._times)) and widths <= {self._width}
        if snapshot["version"] != self._verifier.version or not is_same:
            return
        for resource, learnt in self._times.items():
            learnt.restore(times[str(resource)])
        self._count = np.array(snapshot["count"])
        self._ratio = np.array(snapshot["ratio"])


def predictors(sizes: Floats, paces: Floats, times: Floats, offered: Floats) -> Floats:
    """What predicts the times of a verifier, one row per candidate.

    One, the size, the pace of the nearest lower tier that has one, and of each number whether it
    is known and what it is. Numbers that verifiers offer come squared as well: times
    bend upwards where the work outgrows what each check costs anyway.

    Args:
        sizes: Logarithm of the candidate's size. Shape (n,).
        paces: The same as `times` for tiers that foretell how slow those above are, else NaN.
        times: Logarithm of what each lower tier took over what it declares. Shape (n, tiers).
        offered: Numbers that lower tiers offer. Shape (n, offered).
    """
    nearest = np.zeros(len(sizes))
    for below in paces.T:
        nearest = np.where(np.isfinite(below), below, nearest)
    numbers = np.hstack([times, offered])
    known = np.isfinite(numbers)
    numbers = np.where(known, numbers, 0.0)
    bends = numbers[:, times.shape[1] :] ** 2 / _BEND
    return np.hstack([np.ones((len(sizes), 1)), sizes[:, None], nearest[:, None], known, numbers,
                      bends])  # fmt: skip


def _width(tiers: int, offered: int) -> int:
    """How many predictors there are."""
    return 3 + 2 * (tiers + offered) + offered


def _regression(tiers: int, offered: int, *, is_declared: bool) -> Regression:
    """The logarithm of a time over the declared one, on `predictors`.

    At first the mean time is the declared one, times what the nearest lower tier with a pace took
    over its own: slow machines and hard candidates are slow for all.
    """
    certainty = _DECLARED if is_declared else _GUESSED
    others = _width(tiers, offered) - 3
    precision = [certainty, _SLOPE, _SLOPE] + [_FEATURE] * others
    mean = [-_WIDEST / 2.0, 0.0, float(tiers > 0)] + [0.0] * others
    return Regression(mean, precision, _SHAPE, _RATE, _FORGETTING)


def _at_least(times: Regression, features: Floats, least: Floats) -> Floats:
    """Expected logarithms of times that are known to be larger than some.

    The mean of a normal above a limit: m + s·φ(a)/(1 − Φ(a)) with a = (limit − m)/s.
    Source: Tobin, *Estimation of relationships for limited dependent variables*, Econometrica 26
    (1958), as one step of expectation and maximisation.
    """
    found = times.predict(features)
    spread = np.sqrt(np.minimum(found.deviation**2, _WIDEST))
    above = ((least - found.mean) / spread).tolist()
    made: Floats = found.mean + spread * np.array([_hazard(a) for a in above])
    return np.maximum(made, least)


def _hazard(a: float) -> float:
    """φ(a)/(1 − Φ(a)) of the standard normal; a + 1/a where both are too small to divide."""
    if a > _FAR_OUT:
        return a + 1.0 / a
    return sqrt(2.0 / pi) * exp(-a * a / 2.0) / erfc(a / sqrt(2.0))


def _ratio(times: Regression, features: Floats) -> Floats:
    """Expected time over the declared one: exp(m + v/2), the mean of a log-normal.

    The variance is that of the prediction, with what the coefficients are unsure by: a candidate
    unlike all that were checked is not asked about blindly.
    """
    found = times.predict(features)
    mean = found.mean + np.minimum(found.deviation**2, _WIDEST) / 2.0
    ratio: Floats = np.exp(np.clip(mean, -_FAR, _FAR))
    return ratio
