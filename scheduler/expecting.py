"""Expecting: what verifiers say that checks of each candidate will take, asked once.

`expected_cost` is a verifier's own code, and what it reads was written by a model. So it runs in
a worker, within a time limit. Whatever comes of it, it is not called for this candidate again:
where there is no answer, what the verifier declares is expected.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import TimeoutError as NotDoneError
from threading import RLock
from time import monotonic

from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.engines.job import Expected, expected_amounts
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.engines.pool import PoolClosed
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.verifiercosts import foretells_costs
from verifier_ladder.verifiers import Verifier

_LOG = logging.getLogger("verifier_ladder")
_LONGEST = 30.0
"""Seconds to wait for all candidates of a call, so long as its deadline is not sooner."""
_SHARE = 0.25
"""Share of the time before a deadline that may go by."""


class Expecting:
    """Asks the verifiers of a ladder that foretell what checks will take."""

    def __init__(self, ladder: Ladder, engine: LocalEngine, lock: RLock) -> None:
        """Serve one campaign; `lock` guards its standings."""
        self._verifiers = [
            verifier for verifier in ladder.verifiers
            if foretells_costs(verifier) and verifier.scope != "group"
        ]  # fmt: skip
        self._engine, self._lock = engine, lock
        self._warned: set[tuple[str, str]] = set()

    def ask(self, standings: Sequence[Standing], until: float | None) -> None:
        """Note what each verifier expects of candidates that it was not asked about.

        Args:
            standings: The candidates.
            until: Monotonic time by which the caller must be done; None if there is none.
        """
        if not self._verifiers:
            return
        left = _LONGEST if until is None else _SHARE * (until - monotonic())
        ends = monotonic() + min(max(left, 0.0), _LONGEST)
        new = {id(one): one for one in standings if not one.expected and one.problem is None}
        fresh = list(new.values())
        if not fresh:
            return
        for verifier in self._verifiers:
            told = self._asked(verifier, fresh, ends)
            self._tell(verifier, told.values())
            with self._lock:
                for place, amounts in told.items():
                    known = verifier.cost.amounts if isinstance(amounts, str) else amounts
                    fresh[place].expected = {**fresh[place].expected, verifier.name: known}

    def _asked(
        self, verifier: Verifier, standings: Sequence[Standing], ends: float
    ) -> dict[int, Expected]:
        """What is expected, by place; nothing of those whose turn did not come in time."""
        candidates = [standing.candidate for standing in standings]
        if verifier.isolation == "inline":  # trusted to run in this process
            return {n: expected_amounts(verifier, one) for n, one in enumerate(candidates)}
        future = self._engine.fast.expect(verifier, candidates)
        try:
            return dict(enumerate(future.result(timeout=max(0.0, ends - monotonic()))))
        except NotDoneError:
            return future.abandon()
        except PoolClosed:
            return {}

    def _tell(self, verifier: Verifier, told: Iterable[Expected]) -> None:
        """Warn of what its author should know, once for each kind of failure."""
        for why in told:
            cause = verifier.name, why.partition(":")[0] if isinstance(why, str) else ""
            if isinstance(why, str) and cause not in self._warned:
                self._warned.add(cause)
                _LOG.warning(
                    "expected_cost of %s told nothing, so its declared cost is expected: %s",
                    verifier.name, why,
                )  # fmt: skip
