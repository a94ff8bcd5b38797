"""Worker hosts: processes that run the dearer checks of other processes' campaigns.

A host needs the ledger and the code of the verifiers, and nothing else: no broker, no open port.
Any number of them may serve one ledger, on as many machines as reach it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from threading import Timer
from time import monotonic

from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.ledger import Ledger
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.dispatcher import Dispatcher
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

TIERS = (Tier.SIMULATION, Tier.HIGH_FIDELITY)
"""What is left to hosts; campaigns run the fast tier and open the world's cases themselves."""
_REFRESH = 5.0
_SHORTEST, _LONGEST = 0.05, 2.0
"""Seconds between two looks at the queue: more with every look that finds nothing."""


class WorkerHost(Dispatcher):
    """Runs checks of some tiers for whichever campaigns of a ledger have asked for them.

    **Crashes.** A host that is killed loses nothing: its leases run out, or another host of the
    machine takes over.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> with open_ledger(None) as ledger:
        ...     host = WorkerHost(ledger, workers=1)
        ...     host.wake()
        ...     is_idle = host.wait_idle(10)
        ...     host.close()
        >>> is_idle
        True
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        workers: int | None = None,
        memory: int | None = None,
        tiers: Collection[Tier] = TIERS,
        catalog: Catalog | None = None,
        longest_look: float = _LONGEST,
    ) -> None:
        """Start nothing yet.

        Args:
            ledger: Where checks are queued.
            workers: How many batches may be at work at once; one per core by default.
            memory: Bytes that one worker may use.
            tiers: What to run.
            catalog: Verifiers to run; by default all that are registered here.
            longest_look: Seconds between two looks at the queue while there is nothing to do.
        """
        super().__init__(ledger, workers=workers, memory=memory, tiers=tiers)
        self.catalog = catalog or Catalog(ledger)
        self._refresh_at = 0.0
        self._longest_look = longest_look
        self.look = _SHORTEST
        self.done = 0
        """Checks that this host has ended for good."""

    def _verifiers(self, tier: Tier) -> Iterable[Verifier]:
        if monotonic() >= self._refresh_at:
            self.catalog.refresh()
            self._refresh_at = monotonic() + _REFRESH
        return self.catalog.of(tier)

    def _canonicaliser(self, digest: str) -> Canonicaliser | None:
        return self.catalog.canonicaliser(digest)

    def _gpu(self, verifier: Verifier) -> bool | None:
        return self.catalog.gpu(verifier)

    def _look_round(self) -> None:
        """Look less and less often while there is nothing to do."""
        longer = min(self._longest_look, 1.5 * (self.look or _SHORTEST))
        self.look = _SHORTEST if self._working else longer

    def _goes_on(self) -> bool:
        return True

    def announce(self, ended: Mapping[bytes, Verdict]) -> None:
        """Count them; the campaigns look for themselves."""
        self.done += len(ended)

    def leave(self, grace: float) -> None:
        """Claim nothing more, wait for what is at work, and give back what takes too long.

        Args:
            grace: Seconds that running checks are given. What is given back is queued again for
                others, and the attempt does not count.
        """
        self.drain()
        timer = Timer(grace, self.close)
        timer.start()
        try:
            self.wait_idle(None)
        finally:
            timer.cancel()
            self.close()
