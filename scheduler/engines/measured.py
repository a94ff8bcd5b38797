"""Measured: what a verifier's checks took here, beside what had been reserved for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log, sqrt

from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CheckRow, Claim
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.engines.job import MOST_RESERVED, is_one_by_one
from verifier_ladder.scheduler.engines.reservation import MARGIN
from verifier_ladder.scheduler.engines.work import BATCH_SECONDS, batch_limit
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

_REMEMBERED = 100
"""How many checks count, about."""
_FARTHEST = log(1e6)


class Measured:
    """What checks of one verifier have taken, so that wrong expectations don't break a budget.

    Checks are queued with what was expected of them then. Where those before them took more, as
    much more is reserved for the rest.
    """

    def __init__(self, verifier: Verifier) -> None:
        """Start with what the verifier declares."""
        self._limit = batch_limit(verifier)
        self._is_declared = verifier.cost.seconds > 0 or verifier.waits
        self._goes_in_turn = is_one_by_one(verifier)
        is_sized = verifier.batch_size != Verifier.batch_size
        self._may_share = not (self._goes_in_turn or self._is_declared or is_sized)
        self._pace = 0.0
        self._count = 0
        self._told = 0
        self._logs = [0.0] * len(Resource)
        self._means = [0.0] * len(Resource)

    @property
    def most(self) -> int:
        """How many checks to take at once.

        Of a verifier that declares no cost a single one at first, then twice as many as have
        ended: nobody knows what a batch of them would take. Of functions that wait, rather than
        compute, no more than are answered in about half a second, so that all workers have some.
        """
        limit = self._limit if self._is_declared else min(self._limit, 2 * self._count)
        if self._goes_in_turn and self._pace * limit > BATCH_SECONDS:
            limit = int(BATCH_SECONDS / self._pace)
        return max(1, limit)

    @property
    def is_shared(self) -> bool:
        """Whether all workers should have some of what is open, rather than one a full batch.

        So it is where whole batches turn out slow, and neither a cost nor a size is declared. A
        smaller batch may take as long, so they are cut no further than that.
        """
        return self._may_share and self._pace * self._limit > BATCH_SECONDS

    def note_batch(self, count: int, seconds: float | None) -> None:
        """Take how long a worker was at a batch, if one was.

        The pace is a geometric mean, which the start of a worker hardly moves for long.
        """
        if seconds:
            pace = seconds / count
            self._pace = sqrt(self._pace * pace) if self._pace else pace

    def note(self, check: CheckRow, said: Verdict) -> None:
        """Take what a check took; what came to no answer tells nothing of the others."""
        self._count += 1
        if said.cost is None or not said.is_answer or said.outcome is Outcome.ABSTAIN:
            return
        self._told += 1
        weight = 1.0 / min(self._told, _REMEMBERED)
        pairs = zip(said.cost.amounts, check.reserve.amounts, strict=True)
        for place, (took, reserved) in enumerate(pairs):
            self._means[place] += weight * (took - self._means[place])
            if took > 0 and reserved > 0:
                over = log(MARGIN) + log(took) - log(reserved)
                self._logs[place] += weight * (over - self._logs[place])

    def reserve(self, check: CheckRow) -> Cost:
        """What to reserve: what was expected, times what those before took over it, if more.

        The factor is the geometric mean, which a single check of a thousand times what was
        expected does not move much. It is taken no further than to their mean: what was asked for
        since then is expected to take more already. Where nothing was expected, their mean is
        reserved.
        """
        known = zip(check.reserve.amounts, self._logs, self._means, strict=True)
        return Cost(*(self._amount(*each) for each in known))

    def reserved(self, claims: Sequence[Claim]) -> Callable[[CheckRow], Cost]:
        """Tells what is reserved for checks just claimed, whatever is noted later."""
        amounts = {claim.check.check_key: self.reserve(claim.check) for claim in claims}
        return lambda check: amounts[check.check_key]

    @staticmethod
    def _amount(expected: float, factor: float, mean: float) -> float:
        if expected <= 0:
            return min(mean, MOST_RESERVED)
        most = min(max(expected, MARGIN * mean), max(expected, MOST_RESERVED))
        return min(expected * exp(min(max(0.0, factor), _FARTHEST)), most)


class Measurements:
    """What the checks of many verifiers took."""

    def __init__(self, ledger: Ledger) -> None:
        """Start with what the ledger knows; it is asked once about each verifier."""
        self._ledger = ledger
        self._known: dict[bytes, Measured] = {}

    def of(self, verifier: Verifier) -> Measured:
        """What those of one verifier took, here and wherever they were answered before."""
        if verifier.digest not in self._known:
            measured = Measured(verifier)
            checks = self._ledger.answered(verifier.digest, _REMEMBERED)
            said = self._ledger.verdicts([check.check_key for check in checks])
            for check in checks:
                if check.check_key in said:
                    measured.note(check, said[check.check_key])
            self._known[verifier.digest] = measured
        return self._known[verifier.digest]
