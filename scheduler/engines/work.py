"""Work: one batch of leased checks that a worker is at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic

from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.keys import content_key
from verifier_ladder.ledger.records import CheckRow, Claim
from verifier_ladder.ledger.workqueue import NOTHING_BEGUN
from verifier_ladder.memory import weigh, written
from verifier_ladder.scheduler.engines.job import (
    BatchAnswer,
    BatchFuture,
    CanonicalAnswer,
    Form,
    is_one_by_one,
)
from verifier_ladder.scheduler.engines.reservation import Reservation
from verifier_ladder.scheduler.flights import Flight
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_LONG = 1.0
"""Seconds after which what is settled is written, though others are at work still."""

BATCH_SECONDS = 0.5
"""How long a batch of cheap checks may take, so that a dear one is not kept waiting."""


class Proof:
    """Leased checks whose content is brought to canonical form before they are worked on.

    The check key of a verifier that reads raw text does not tell which candidate that text is,
    so nobody knows from the row alone whose history the verdict belongs to.
    """

    pause: float | None = None
    begun: Mapping[bytes, float] = NOTHING_BEGUN

    def __init__(
        self, verifier: Verifier, claims: Sequence[Claim],
        future: BatchFuture[CanonicalAnswer], flight: Flight | None,
        reserve: Callable[[CheckRow], Cost],
    ) -> None:  # fmt: skip
        """Keep what belongs together."""
        self.verifier, self.claims, self.future = verifier, list(claims), future
        self.flight, self.reserve = flight, reserve

    def outcome(self) -> list[tuple[Claim, Verdict | None]]:
        """Each claim, with the reason if it can't be worked on."""
        return [
            (claim, self._problem(claim, form))
            for claim, form in zip(self.claims, self.future.result().forms, strict=True)
        ]

    def _problem(self, claim: Claim, form: Form) -> Verdict | None:
        if isinstance(form, Verdict) and form.failed_at is not None:
            return form
        is_his = not isinstance(form, Verdict) and (
            content_key(self.verifier.kind, form) == claim.check.content_key
        )
        return None if is_his else refusal("the queue's row names another candidate")

    def close(self, ended: Mapping[bytes, Verdict]) -> None:
        """Let those go who wait for the same checks in this process."""
        del ended
        if self.flight is not None:
            self.flight.close()


def refusal(why: str) -> Verdict:
    """What is said of a check that is not run, because its row can't be trusted."""
    return replace(Verdict.abstain(why, failed_at=LedgerError.boundary), cost=Cost())


class Work:
    """A batch whose checks end one by one, or all at once when it does not take long."""

    def __init__(
        self, verifier: Verifier, claims: Sequence[Claim], future: BatchFuture[BatchAnswer],
        limit: Reservation | None, flight: Flight | None = None, *, asked_at: float,
    ) -> None:  # fmt: skip
        """Keep what belongs together."""
        self.verifier, self.future = verifier, future
        self.asked_at = asked_at
        """Seconds since 1970, by the ledger's clock."""
        self._flight = flight
        self._claims = dict(enumerate(claims))
        self.size = len(claims)
        self.bytes_ = sum(weigh(claim.check.payload, written) for claim in claims)
        """About how many bytes its candidates take, with their tasks and turns."""
        self._limit = limit
        self._due = monotonic() + _LONG
        self.begun: dict[bytes, float] = {}
        """When checks have begun that end one after the other, by check key."""

    @property
    def claims(self) -> list[Claim]:
        """Those that have not ended."""
        return list(self._claims.values())

    def look(self, clock: Callable[[], float]) -> None:
        """Notice which check is at work now, if they are worked on one after the other."""
        if not claims_in_turn(self.verifier) or not self.future.running():
            return
        at = max(list(self.future.answered), default=-1) + 1
        claim = self._claims.get(at)
        if claim is not None and claim.check.check_key not in self.begun:
            now = clock()
            for place, one in self._claims.items():
                if place <= at:
                    self.begun.setdefault(one.check.check_key, now)

    @property
    def pause(self) -> float | None:
        """Seconds until something of it should be written; None if it will say so itself."""
        is_due = not self.future.done() and self._payable(dict(self.future.answered))
        return self._due - monotonic() if is_due else None

    def settled(self) -> tuple[list[Claim], list[Verdict]]:
        """What should be written now: nothing, if it began or was written just now."""
        if self.future.done():
            verdicts = self.future.result().verdicts
            said: Mapping[int, Verdict] = {place: verdicts[place] for place in self._claims}
        elif monotonic() < self._due:
            return [], []
        else:
            said = self.future.pay(self._payable)
        claims = [self._claims[place] for place in said]
        if self._limit is not None:
            took = [(verdict.cost or Cost()).seconds for verdict in said.values()]
            self._limit.settle(list(zip(claims, took, strict=True)))
        return claims, list(said.values())

    def _payable(self, known: Mapping[int, Verdict]) -> dict[int, Verdict]:
        """What has been said of the open ones, as far as another attempt can't better it.

        The last that is not paid is charged with what the batch takes until its end, and so waits
        for that.
        """
        said = {n: known[n] for n in self._claims if n in known and known[n].is_answer}
        unpaid = [n for n in self._claims if n not in self.future.paid]
        if all(n in said for n in unpaid):
            del said[unpaid[-1]]
        return said

    def written(self, claims: Sequence[Claim]) -> None:
        """Forget checks that have ended."""
        ended = {claim.check.check_key for claim in claims}
        self._claims = {
            n: claim for n, claim in self._claims.items() if claim.check.check_key not in ended
        }
        self._due = monotonic() + _LONG

    def close(self, ended: Mapping[bytes, Verdict]) -> None:
        """Tell whoever waits for the same checks in this process what was said of them."""
        if self._flight is not None:
            keys = self._flight.keys
            self._flight.verdicts.update({key: ended[key] for key in keys if key in ended})
            self._flight.close()


def claims_in_turn(verifier: Verifier) -> bool:
    """Whether the checks of a batch begin one after the other.

    Of what may cost more than cpu time, all of a batch may have been paid for when a worker dies.
    """
    return is_one_by_one(verifier) and not any(verifier.cost.amounts[1:])


def batch_limit(verifier: Verifier) -> int:
    """How many checks to take at once: about half a second's worth."""
    expected = verifier.cost.seconds
    if expected <= 0:
        return min(verifier.batch_size, 64)
    return max(1, min(verifier.batch_size, int(BATCH_SECONDS / expected)))
