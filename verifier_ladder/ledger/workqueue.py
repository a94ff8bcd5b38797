"""The contract of a ledger's work queue: checks wait, are leased to workers, and end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import inf
from operator import attrgetter
from types import MappingProxyType

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.records import (
    Answer,
    CheckRow,
    CheckState,
    Claim,
    Completion,
    Queued,
    Request,
    Vitals,
)
from verifier_ladder.rate import Rate
from verifier_ladder.verdict import Verdict


def any_check(check: CheckRow) -> bool:
    """Take whatever check there is."""
    del check
    return True


MOST_LOOKED_AT = 4096
"""Checks of the queue among which `WorkQueue.answered` looks."""
NOTHING_BEGUN: Mapping[bytes, float] = MappingProxyType({})


class WorkQueue(ABC):
    """**Abstract:** the checks that are asked for, and the samples that wait for them."""

    @abstractmethod
    def claim(
        self,
        *,
        verifier: bytes | None = None,
        tiers: Sequence[int] | None = None,
        campaigns: Sequence[str] | None = None,
        owner: str,
        lease: float,
        limit: int,
        now: float,
        reserve: Callable[[CheckRow], Cost] = attrgetter("reserve"),
        takes: Callable[[CheckRow], bool] = any_check,
        in_turn: bool = False,
        rate: Rate | None = None,
        gpu: bool | None = None,
        room: float = inf,
    ) -> list[Claim]:
        """Lease up to `limit` queued checks of ONE verifier for `lease` seconds.

        `verifier` is a digest: checks of another version, or of other settings, are left alone.

        Takes what a learner waits for first, then those with the highest priority, and of them
        only what the accounts of the paying campaign can reserve, in every resource and in its
        total, all or nothing. If they can't, or the campaign has paused the tier, the first other
        campaign whose samples wait for the check and whose accounts can takes over as payer. What
        nobody can pay stays queued with the note "budget" and does not block cheaper checks
        behind it. Each claim counts an attempt and raises the fence. What is reserved is what
        was expected when the check was asked for, unless `reserve` says otherwise. What `takes`
        says no to is left to others.

        With `in_turn` the checks are worked on one after the other: only the first is taken to
        have begun, until `heartbeat` tells more. One that was attempted before is claimed alone,
        so that a check which ends its worker does so without company.

        With a `rate`, no more checks are claimed than may begin now; their tokens are taken in
        the same transaction.

        With `gpu`, only checks are claimed that are expected to take some of a GPU, or, if it is
        False, none. What is expected is the row's `reserve`.

        Where payloads have more than `room` bytes together, fewer checks are claimed: one that
        has more by itself is claimed alone.
        """

    @abstractmethod
    def due(
        self, *, verifier: bytes, rate: Rate | None, now: float, gpu: bool | None = None
    ) -> float | None:
        """When the next check of a verifier may be claimed, as far as its rate goes.

        Args:
            verifier: Its digest.
            rate: Its rate; None if it has none.
            now: Seconds since 1970.
            gpu: As in `claim`.

        Returns:
            A moment, not before `now`; None if none of its checks can be claimed.
        """

    @abstractmethod
    def heartbeat(
        self,
        claims: Sequence[Claim],
        *,
        lease: float,
        now: float,
        begun: Mapping[bytes, float] = NOTHING_BEGUN,
    ) -> list[Claim]:
        """Extend leases; the result holds only the claims that are still ours.

        Args:
            claims: What is at work.
            lease: For how many seconds.
            now: Seconds since 1970.
            begun: When checks have begun that were claimed `in_turn`, by check key.
        """

    @abstractmethod
    def extend(self, more: Sequence[tuple[Claim, float]]) -> bool:
        """Reserve more cpu time for claimed checks: all of it, or nothing.

        Args:
            more: How many seconds more each check reserves. Where they are negative it gives so
                much up, as for another check of the same campaign and tier. Claims that are lost
                are left out.

        Returns:
            False if a budget does not allow it, if all claims are lost, or if a check has not
            reserved what it is to give up.
        """

    @abstractmethod
    def complete(self, completions: Sequence[Completion], *, now: float) -> list[Completion]:
        """Finish claimed checks: state done, verdict recorded, reservation settled.

        Only those whose fence still matches are finished and returned; for the others the
        result is discarded, and what the attempt cost was charged when its lease was taken away.
        The verdict's `cost` is what is settled. If nothing was measured, it is the time since
        the claim, and of the other resources what was reserved. Never more than was reserved.

        Raises:
            LedgerError: If a verdict is a failure: those go to `fail`.
        """

    @abstractmethod
    def fail(
        self,
        completions: Sequence[Completion],
        *,
        retry_at: float | None,
        now: float,
        is_lost: bool = False,
    ) -> list[Completion]:
        """End claimed checks without an answer: queued again at `retry_at`, or dead if None.

        The verdict (an abstention with `failed_at`) is recorded in an entry and not cached. The
        time that nobody has measured is that since the claim. Where the worker is lost, it is
        that from when the check has begun until the worker was last heard of; one that has not
        begun goes back untouched.
        """

    @abstractmethod
    def release(self, claims: Sequence[Claim], *, now: float) -> None:
        """Give claims back untouched: queued again, reservation freed, attempt not counted."""

    @abstractmethod
    def end_known(self, claims: Sequence[Claim], *, now: float) -> dict[bytes, Verdict]:
        """End claims on checks that were answered elsewhere since they were asked for.

        They are done; what they have reserved is freed, and nothing is charged.

        Returns:
            The current verdicts of those that have one, by check.
        """

    @abstractmethod
    def wait(
        self,
        claims: Sequence[Claim],
        *,
        deadline: float | None,
        now: float,
        ask_at: float | None = None,
        note: str = "",
    ) -> list[Claim]:
        """Turn claims into open world cases; returns those that were still ours.

        Args:
            claims: The checks.
            deadline: When the cases expire; None for never.
            now: The time.
            ask_at: When `queue_due` queues them, for their verifier to settle; None for never.
            note: Why they could not be settled yet.
        """

    def answer(
        self, check_key: bytes, verdict: Verdict, *, source: str, event: str, now: float
    ) -> bool:
        """Take one result of the world, as `answers` does; whether it was taken."""
        (is_taken,) = self.answers([Answer(check_key, verdict, source, event)], now=now)
        return is_taken

    @abstractmethod
    def answers(self, told: Sequence[Answer], *, now: float) -> list[bool]:
        """Take the world's results for checks that wait, failed or expired: all or none.

        A worker that is on such a check loses its lease. Each result is an entry of its own.

        Returns:
            Whether each was taken: a second delivery of the same (source, event), and a result
            of a check that is done, change nothing.

        Raises:
            LedgerError: If one of the checks was never asked for; nothing is written.
        """

    @abstractmethod
    def reap(self, *, now: float) -> int:
        """Queue checks whose lease ran out, expire those past their deadline; count both.

        An open case that is due to be asked about does not expire before it was: see `queue_due`.

        A lost attempt is charged as failed for the time until its worker was last heard of, when
        it claimed the check or renewed its lease, and never more than was reserved. The check
        waits longer after each loss, and after the fifth it is dead.
        """

    @abstractmethod
    def queue_due(self, verifiers: Sequence[bytes], *, now: float) -> int:
        """Queue the open cases of some verifiers that are due to be asked about; count them.

        They are queued as if nobody had tried yet; what they have reserved is free until they are
        claimed. Cases of verifiers that nobody here holds stay open.

        Args:
            verifiers: Digests of verifiers that can settle their cases here.
            now: The time.
        """

    @abstractmethod
    def hasten(self, *, lease: float, now: float) -> int:
        """Bring forward what a clock that was ahead has put off; count the checks.

        A check that waits for its next attempt longer than any does is tried now, and a lease
        that would last longer ends after `lease` seconds, unless it is renewed.
        """

    @abstractmethod
    def cancel(self, check_keys: Sequence[bytes], *, now: float, at_work: bool = False) -> int:
        """Cancel queued or waiting checks that nobody requests; count them.

        One at work goes on, for it is paid so far; without an answer it ends, and is neither
        queued again nor left to the world, unless it is asked for meanwhile.

        A queued check that only others than its payer request is handed over to the first of
        these, who pays from now on.

        Args:
            check_keys: Which checks.
            now: Seconds since 1970.
            at_work: Whether checks at work are cancelled too: they lose their lease, and what
                was begun is charged as failed for its time so far.
        """

    @abstractmethod
    def revive(self, check_keys: Sequence[bytes], *, now: float) -> int:
        """Queue dead, cancelled or expired checks again, with a fresh count of attempts."""

    @abstractmethod
    def checks(
        self,
        *,
        states: Sequence[CheckState] | None = None,
        campaign: str | None = None,
        verifier: str | None = None,
        tiers: Sequence[int] | None = None,
        keys: Sequence[bytes] | None = None,
        prefix: str = "",
        after: bytes | None = None,
        limit: int | None = None,
        payloads: bool = True,
    ) -> list[CheckRow]:
        """Checks of the work queue, highest priority first; those that fit all that is given.

        Args:
            states: Where they stand.
            campaign: A campaign that asked for them, whoever pays.
            verifier: Their verifier's name, in any version.
            tiers: Their tiers.
            keys: Their check keys.
            prefix: What their keys begin with, in hexadecimal.
            after: Key of a check; those that come before it, and itself, are left out. Nothing
                comes after one that is not there.
            limit: The most to give.
            payloads: Whether to read what they are about, which may be long; it is empty else.

        Example:
            >>> from verifier_ladder.ledger import open_ledger
            >>> from verifier_ladder.ledger.records import CheckState
            >>> with open_ledger(None) as ledger:
            ...     ledger.checks(states=[CheckState.DEAD], verifier="xtb-hydration")
            []
        """

    @abstractmethod
    def answered(self, verifier: bytes, limit: int) -> list[CheckRow]:
        """The last checks of a verifier that were answered, in the order they were asked for.

        They come without payloads, for candidates may be long.
        Looked for among the newest `MOST_LOOKED_AT` of the queue only, whatever its length.

        Args:
            verifier: Its digest.
            limit: The most to give.
        """

    @abstractmethod
    def requests(
        self,
        *,
        campaign: str | None = None,
        check_keys: Sequence[bytes] | None = None,
        final: bool | None = None,
        limit: int | None = None,
    ) -> list[Request]:
        """Samples that wait; with `final=True` only those whose check has ended."""

    @abstractmethod
    def counts(self, campaign: str) -> dict[int, dict[CheckState, int]]:
        """How many checks stand where, per tier, among those this campaign asked for."""

    @abstractmethod
    def parked(self, campaign: str) -> dict[int, int]:
        """How many of its queued checks wait for their budget, per tier that has such."""

    @abstractmethod
    def queued(self, *, now: float) -> list[Queued]:
        """How many checks wait for a worker, those that wait longest first.

        They are counted by verifier, those apart that are expected to take some of a GPU.

        Those that are held, due later or parked on a budget don't; those of a paused tier do.
        """

    @abstractmethod
    def vitals(self, *, now: float) -> Vitals:
        """What waits for a worker and for how long, what is dead, what is not signed for.

        Those that are held, due later or parked on a budget don't wait for a worker.
        """
