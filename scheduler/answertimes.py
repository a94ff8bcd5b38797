"""Answer times: how likely a tier answers before a deadline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erf, isfinite, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_EDGES = np.geomspace(1e-3, 1e8, 89)
"""Bounds of the bins, from a millisecond to three years, eight bins to a factor of ten."""
_SIZE = len(_EDGES) - 1
_FORGETTING = 0.999
"""How much of the past is left after one more check: queues and machines change."""


class AnswerTimes:
    """The distribution of the time from asking one tier to its answer, learnt from its checks.

    Under a deadline the truth counts only if it comes in time, so the propensity of a drawn
    sample is p·F(time left), and F is what this says. It is a Kaplan–Meier estimate on
    logarithmic bins (Kaplan & Meier, *J. Am. Stat. Assoc.* 53, 1958): checks that are still out
    count for as long as they have been out, or else the quick ones would speak for all, and so do
    those that were cancelled unanswered. A check that fails never answers.

    Before any check has ended, one imagined answer stands for them: near the expected time, or
    anywhere between a millisecond and three years.

    Example:
        >>> times = AnswerTimes(expected=60.0)
        >>> for seconds in [50.0, 70.0, 65.0, 58.0]:
        ...     times.add(seconds)
        >>> round(times.within(100.0), 2), times.within(0.0)
        (0.94, 0.0)
    """

    def __init__(self, expected: float | None = None) -> None:
        """Start without checks.

        Args:
            expected: Seconds that an answer is expected to take, queue included; None if unknown.

        Raises:
            ConfigError: If the expected time is no positive number.
        """
        if expected is not None and not (isfinite(expected) and expected > 0.0):
            raise ConfigError(
                f"the expected time of an answer must be positive seconds, not {expected}; "
                "leave it out if it is not known"
            )
        self._imagined = _imagined(expected)
        self._answered = np.zeros(_SIZE)
        self._unheard = np.zeros(_SIZE)
        self._lost = 0.0

    def add(self, seconds: float | None) -> None:
        """Take one more check that has ended.

        Args:
            seconds: From the draw to the answer; None if the check failed for good. A time that
                is negative or not known, as after a jump of the clock, says nothing.
        """
        if seconds is None:
            self._forget()
            self._lost += 1.0
        elif seconds >= 0.0:
            self._forget()
            self._answered[int(_bins(np.array([seconds]))[0])] += 1.0

    def give_up(self, seconds: float) -> None:
        """Take one more check that nobody waits for any more.

        Args:
            seconds: For how long it was out, and had not answered.
        """
        if seconds >= 0.0:
            self._forget()
            self._unheard += _exposure(np.array([seconds]))

    def within(self, seconds: float, waiting: Sequence[float] = ()) -> float:
        """The probability that an answer comes within a time.

        Args:
            seconds: Time left; infinity asks whether an answer comes at all.
            waiting: How long each check that has no answer yet has been out, in seconds.

        Returns:
            A probability: 0 if no time is left, else more than 0.
        """
        return self.curve(waiting).within(seconds)

    def curve(self, waiting: Sequence[float] = ()) -> AnswerCurve:
        """The distribution as it is known now.

        Args:
            waiting: How long each check that has no answer yet has been out, in seconds.
        """
        ages = np.array([age for age in waiting if age >= 0.0])
        ends = self._answered + self._imagined
        at_risk = ends[::-1].cumsum()[::-1] + self._lost + _exposure(ages) + self._unheard
        survival = np.cumprod(np.clip(1.0 - ends / at_risk, 0.0, 1.0))
        return AnswerCurve(np.concatenate([[1.0], survival]))

    def _forget(self) -> None:
        self._answered *= _FORGETTING
        self._unheard *= _FORGETTING
        self._lost *= _FORGETTING

    def snapshot(self) -> dict[str, Any]:
        """All it has learnt, as JSON."""
        return {
            "answered": self._answered.tolist(), "unheard": self._unheard.tolist(),
            "lost": self._lost,
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot; one with other bins is ignored."""
        answered = np.array(snapshot.get("answered", []), dtype=np.float64)
        if answered.shape == self._answered.shape:
            self._answered, self._lost = answered, float(snapshot["lost"])
            self._unheard = np.array(snapshot.get("unheard", np.zeros(_SIZE)), dtype=np.float64)


class AnswerCurve:
    """How likely an answer comes by any time, as `AnswerTimes` knows it at one moment."""

    def __init__(self, survival: Floats) -> None:
        """Take the probability that none has come by each bound. Shape (bins + 1,)."""
        self._survival = survival

    def within(self, seconds: float, after: float = 0.0) -> float:
        """The probability that an answer comes within a time, if none has come before.

        Args:
            seconds: Time left; infinity asks whether an answer comes at all.
            after: For how many seconds the check has been out already.

        Returns:
            A probability: 0 if no time is left, else more than 0.
        """
        if not seconds > 0.0:
            return 0.0
        begun = max(after, 0.0)
        before = self._none_by(begun) if begun else 1.0
        tiny = float(np.finfo(np.float64).tiny)
        return min(1.0, max(1.0 - self._none_by(begun + seconds) / max(before, tiny), tiny))

    def _none_by(self, seconds: float) -> float:
        if seconds >= _EDGES[-1]:
            return float(self._survival[-1])
        place = log(max(seconds, float(_EDGES[0])) / _EDGES[0]) / log(_EDGES[1] / _EDGES[0])
        return float(np.interp(place, np.arange(_SIZE + 1), self._survival))


def _bins(seconds: Floats) -> NDArray[np.int64]:
    return np.clip(np.searchsorted(_EDGES, seconds) - 1, 0, _SIZE - 1).astype(np.int64)


def _exposure(ages: Floats) -> Floats:
    """How many checks that have not answered were at risk in each bin. Shape (bins,).

    They have outlived the bins before the one in which they are, and a part of that.
    """
    places = np.log(np.maximum(ages, _EDGES[0]) / _EDGES[0]) / log(_EDGES[1] / _EDGES[0])
    places = np.minimum(places, _SIZE - 1.0)
    own = places.astype(np.int64)
    count = np.bincount(own, minlength=_SIZE).astype(np.float64)
    part = np.bincount(own, weights=places - own, minlength=_SIZE)
    outlived: Floats = count[::-1].cumsum()[::-1] - count + part
    return outlived


def _imagined(expected: float | None) -> Floats:
    """One answer, spread over the bins: evenly, or within a factor of e around a time."""
    if expected is None:
        return np.full(_SIZE, 1.0 / _SIZE)
    below = np.array([0.5 * (1.0 + erf(log(edge / expected) / sqrt(2.0))) for edge in _EDGES])
    below[0], below[-1] = 0.0, 1.0
    return np.maximum(np.diff(below), np.finfo(np.float64).tiny)
