"""Headroom: what dearer tiers leave of a shared budget for the fast tier, which never waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import LARGEST, Cost
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, Charged
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.engines.reservation import MARGIN
from verifier_ladder.scheduler.prices import Prices
from verifier_ladder.tier import Tier

_MOST = LARGEST / 2
"""Amounts are kept back as far as a ledger counts."""


class Headroom:
    """Keeps back, of what all tiers together may spend, what the fast tier is foreseen to take.

    The fast tier answers whatever is submitted, and is charged once it has answered. So that this
    passes no cap, dearer tiers can't reserve what it will take for the samples that are being
    judged and for those that are expected to follow, all of them taken to be new: what its checks
    took so far in the mean, at first what they declare, and a quarter more.

    **Threads.** Any number of threads may score at once.
    """

    def __init__(self, campaign: str, ladder: Ladder, ledger: Ledger, prices: Prices) -> None:
        """Serve one campaign; where no tier is dearer than the fast one, nothing is kept back."""
        self._campaign, self._ledger, self._prices = campaign, ledger, prices
        is_shared = len(ladder.rungs) > 1 and ladder.tiers[0] is Tier.FAST
        self._verifiers = ladder.rungs[0].verifiers if is_shared else ()
        self._took = {
            Charged(int(v.tier), v.name, v.version): (Cost(), 0) for v in self._verifiers
        }
        self._capped: list[Resource] | None = None
        """What all tiers together have a cap of; None until that was looked at."""
        self._kept = Cost()
        self._judging = 0
        """How many samples of calls are being judged, or are not recorded yet."""
        self._lock = Lock()

    @contextmanager
    def during(self, samples: int) -> Iterator[None]:
        """Keep back what so many samples of a call may take, until it is over."""
        with self._lock:
            self._judging += samples
        try:
            if self._is_short():
                self.keep()
            yield
        finally:
            with self._lock:
                self._judging -= samples

    def keep(self) -> None:
        """Keep back what is foreseen now, no more and no less."""
        if self._are_capped():
            self._kept = self._wanted(self._judging)
            self._ledger.keep(self._campaign, self._kept)

    def after(
        self,
        samples: int,
        charges: Mapping[Charged, tuple[Cost, int]],
        accounts: Sequence[Account],
    ) -> Cost | None:
        """What to keep back once a call is recorded; None where there is nothing to keep.

        Args:
            samples: How many samples the call has.
            charges: What the fast tier took for them.
            accounts: The campaign's accounts, before that is charged.
        """
        if not self._verifiers:
            return None
        with self._lock:
            self._learn(charges)
            self._capped = _shared_caps(accounts)
            if not self._capped:
                return None
            self._kept = self._wanted(self._judging - samples)
            return self._kept

    def _is_short(self) -> bool:
        """Whether less is kept back than the samples that are being judged may take."""
        if not self._are_capped():
            return False
        wanted = self._for(self._judging)
        return any(wanted.amounts[r] > self._kept.amounts[r] for r in self._capped or ())

    def _are_capped(self) -> bool:
        """Whether the fast tier spends from what all tiers together have a cap of."""
        if self._verifiers and self._capped is None:
            self._look_back()
        return bool(self._capped)

    def _look_back(self) -> None:
        """Learn from what an earlier process has spent, and which caps there are."""
        lines = self._ledger.spend(self._campaign)
        with self._lock:
            for line in lines:
                count = line.checks if line.resource is Resource.CPU_SECONDS else 0
                self._learn({line.charged: (_only(line.resource, line.settled), count)})
            self._capped = _shared_caps(self._ledger.accounts(self._campaign))

    def _learn(self, charges: Mapping[Charged, tuple[Cost, int]]) -> None:
        for charged, (cost, checks) in charges.items():
            if charged in self._took:
                had = self._took[charged]
                self._took[charged] = had[0] + cost, had[1] + checks

    def _wanted(self, judging: int) -> Cost:
        return self._for(max(judging, self._prices.to_follow))

    def _for(self, samples: int) -> Cost:
        """What so many new samples are expected to take."""
        made = [0.0] * len(Resource)
        for verifier, (cost, checks) in zip(self._verifiers, self._took.values(), strict=True):
            each, count = (cost, checks) if checks else (verifier.cost, 1)
            share = MARGIN * samples * verifier.replicates / count
            made = [had + share * amount for had, amount in zip(made, each.amounts, strict=True)]
        return Cost(*(min(amount, _MOST) for amount in made))


def _only(resource: Resource, amount: float) -> Cost:
    """A cost of one resource."""
    return Cost(*(amount if each is resource else 0.0 for each in Resource))


def _shared_caps(accounts: Sequence[Account]) -> list[Resource]:
    """The resources of which all tiers together have a cap."""
    return [a.resource for a in accounts if a.tier == TOTAL and a.cap is not None]
