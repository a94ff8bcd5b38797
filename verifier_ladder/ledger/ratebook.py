"""The contract of a ledger's rates: how many checks may begin in a time, on all hosts."""

from __future__ import annotations

from abc import ABC, abstractmethod

from verifier_ladder.rate import Rate


class RateBook(ABC):
    """**Abstract:** tokens of rates, by name; `WorkQueue.claim` takes them with the checks."""

    @abstractmethod
    def take_tokens(self, rate: Rate, wanted: int, *, now: float) -> tuple[int, float]:
        """Take up to so many tokens, for checks that are not claimed from the queue.

        Returns:
            How many were taken, and when the next may be.
        """

    @abstractmethod
    def put_off(self, rate: Rate, seconds: float, *, now: float) -> None:
        """Let no check of a rate begin for so many seconds, as its service has asked for.

        It is put off for five minutes at most. Checks that have begun are left alone.
        """
