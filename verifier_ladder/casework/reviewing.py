"""Reviewing: one reader at the open cases of a campaign, at a terminal or on pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.casework.opencases import (
    MOST_LOOKED_AT,
    Answer,
    OpenCase,
    cases_of,
    open_case,
    other_tiers,
    waiting_checks,
)
from verifier_ladder.containment import text_of
from verifier_ladder.errors import ConfigError, LadderError, LeaseError, VerifierError
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.reviews import COMMENT, ENDED, LEASE, Claim, Reviews
from verifier_ladder.scheduler.answering import said
from verifier_ladder.text import mended

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CheckRow
    from verifier_ladder.reviews import Conclusion
    from verifier_ladder.verdict import Verdict

LONGEST_COMMENT = 2000
"""Characters of a comment that are kept."""
_KEY_DIGITS = 64
_DIGITS = frozenset("0123456789abcdef")


class ReviewQueue:
    """The open cases of a campaign, as one reader works on them.

    A case is named by the start of its key. Not thread-safe by itself.
    """

    def __init__(
        self, reviews: Reviews, ledger: Ledger, campaign: str, ladder: Ladder | None, reader: str
    ) -> None:
        """Work on a campaign.

        Args:
            reviews: What readers of the campaign claim and say.
            ledger: Its ledger.
            campaign: Its name.
            ladder: Its ladder, without which nothing can be answered; None if it can't be rebuilt.
            reader: Who reads.
        """
        self.reviews, self.reader, self.ladder = reviews, reader, ladder
        self._ledger, self._campaign = ledger, campaign

    def free(self, key: str = "") -> Iterator[OpenCase]:
        """The cases that the reader may read, the most valuable first.

        Args:
            key: What their keys begin with. Cases that the reader has skipped are among those
                that are named.
        """
        checks = self.reviews.free(self._named(key), self.reader, skipped=bool(key))
        return filter(None, map(self._case, checks))

    def page(self, size: int, *, after: bytes | None = None) -> QueuePage:
        """Some of the cases that the reader may read and has not claimed.

        Args:
            size: The most to give.
            after: What the page before says of it.
        """
        mine = {claim.case for claim in self.reviews.held(self.reader)}
        last: bytes | None = None
        count = 0

        def looked_at() -> Iterator[CheckRow]:
            nonlocal last, count
            checks = waiting_checks(self._ledger, self._campaign, after=after)
            for check in islice(checks, MOST_LOOKED_AT):
                last, count = check.check_key, count + 1
                if check.check_key not in mine:
                    yield check

        free = islice(self.reviews.free(looked_at(), self.reader), size + 1)
        keys = [check.check_key for check in free]
        is_cut = count == MOST_LOOKED_AT
        behind = keys[size - 1] if len(keys) > size else last if is_cut else None
        cases = cases_of(self._ledger, self._campaign, self.ladder, keys[:size])
        return QueuePage(cases, behind)

    def first(self, key: str = "", *, skip: int = 0) -> OpenCase | None:
        """The first case that the reader may read, passing over so many.

        Raises:
            ConfigError: If the case that is named is open, but not to this reader.
        """
        found = next(islice(self.free(key), skip, None), None)
        if found is None:
            self._refuse(key)
        return found

    def claim(
        self, key: str = "", *, skip: int = 0, lease: float = LEASE
    ) -> tuple[OpenCase, Claim] | None:
        """Claim the first case that the reader may read, passing over so many.

        Args:
            key: What its key begins with.
            skip: How many to pass over.
            lease: For how many seconds.

        Raises:
            ConfigError: If the case that is named is open, but not to this reader.
        """
        free = islice(self.free(key), skip, None)
        found = self.reviews.claim(free, self.reader, lease=lease, skipped=bool(key))
        if found is None:
            self._refuse(key)
        return found

    def _named(self, key: str) -> Iterable[CheckRow]:
        """The open cases whose keys begin so."""
        if not key:
            return waiting_checks(self._ledger, self._campaign)
        start, waiting = key.lower(), [CheckState.WAITING]
        if set(start) - _DIGITS or len(start) > _KEY_DIGITS:
            return ()
        return self._ledger.checks(states=waiting, campaign=self._campaign, prefix=start)

    def _case(self, check: CheckRow) -> OpenCase | None:
        return open_case(self._ledger, self._campaign, self.ladder, check.check_key)

    def _refuse(self, key: str) -> None:
        """Say why a case that is named is not open to the reader, if it is open at all.

        Raises:
            ConfigError: If it is.
        """
        taken = next(iter(self._named(key)), None) if key else None
        if taken is not None:
            why = self.reviews.refusal(taken, self.reader)
            raise ConfigError(f"the case {taken.check_key.hex()[:16]} is not open to you: {why}")

    def reads_blind(self, case: OpenCase) -> bool:
        """Whether the reader holds another case about the same candidate, and reads it blind.

        Of a candidate, a verifier may want several answers, each a case of its own.
        """
        claims = [
            claim for claim in self.reviews.held(self.reader) if claim.case != case.check_key
        ]
        keys = [c.case for c in claims if not self.reviews.has_unblinded(c.case, self.reader)]
        waiting = [CheckState.WAITING]
        rows = self._ledger.checks(keys=keys, states=waiting, payloads=False) if keys else []
        return any(row.content_key == case.content_key for row in rows)

    def other_tiers(self, case: OpenCase) -> dict[str, str]:
        """What other verifiers said of a case; that it was asked for is recorded."""
        self.reviews.unblind(case.check_key, self.reader)
        return other_tiers(self._ledger, case)

    def answer(self, claim: Claim, value: Answer, comment: str = "") -> bool:
        """Take an answer on a claim.

        Args:
            claim: The claim.
            value: The answer.
            comment: Words to keep with it.

        Returns:
            Whether the case has all its readers' answers, so that they can be handed in.

        Raises:
            ConfigError: If it can't be an answer of the case; nothing was taken.
            LeaseError: If the claim has run out, or was made anew, or nobody waits for an answer
                any more; nothing was taken.
        """
        verdict = self._said(claim.case, value)
        if words := mended(comment).strip()[:LONGEST_COMMENT]:
            noted = replace(verdict, evidence={**verdict.evidence, COMMENT: words})
            verdict = self._said(claim.case, noted)  # What is hidden of the task is masked.
        self.reviews.answer(claim, verdict)
        return claim.case in self.reviews.concluded([claim.case])

    def _said(self, key: bytes, value: Answer) -> Verdict:
        if self.ladder is None:
            raise ConfigError("the ladder of the campaign is not here, so nothing can be answered")
        check = next(iter(self._ledger.checks(keys=[key])), None)
        if check is not None and check.state in ENDED:
            is_done = check.state is CheckState.DONE
            raise LeaseError(
                "it was answered meanwhile" if is_done else "nobody waits for an answer any more"
            )
        try:
            return said(self.ladder, key, check, value)
        except VerifierError as error:
            raise ConfigError(f"{error}; the case stays open") from error
        except LadderError:
            raise
        except Exception as error:  # A verifier's own reading of answers may raise anything.
            raise ConfigError(f"{text_of(error)}; the case stays open") from error


class QueuePage(NamedTuple):
    """Some cases of a queue."""

    cases: list[OpenCase]
    after: bytes | None
    """Key of the check behind which the next page begins; None if there is none."""


class SharedReviews:
    """The reviews of the campaign of a server.

    **Threads.** Any number may ask; one waits for the other.
    """

    def __init__(self, campaign: Campaign) -> None:
        """Read nothing yet."""
        self.campaign = campaign
        self._lock = Lock()

    @cached_property
    def _reviews(self) -> Reviews:
        return Reviews(self.campaign.ledger, self.campaign.name, self.campaign.ladder)

    def prepare(self) -> None:
        """Read what was claimed and said: of a long ledger that takes seconds."""
        with self._lock:
            self._reviews.held("")

    @contextmanager
    def queue(self, reader: str) -> Iterator[ReviewQueue]:
        """The cases as a reader works on them."""
        of = self.campaign
        with self._lock:
            yield ReviewQueue(self._reviews, of.ledger, of.name, of.ladder, reader)

    def blind(self, reader: str) -> bytes | None:
        """An open case that a reader holds and reads blind; see `Reviews.blind`."""
        with self._lock:
            return self._reviews.blind(reader)


def hand_in_concluded(campaign: Campaign, concluded: Mapping[bytes, Conclusion]) -> int:
    """Hand in what all readers of cases have said; how many answers were taken.

    Args:
        campaign: The campaign, at work.
        concluded: What `Reviews.concluded` gives.

    Raises:
        ConfigError: If a case was answered otherwise since.
    """
    return sum(
        campaign.answer(key, verdict, source=by) for key, (verdict, by) in concluded.items()
    )
