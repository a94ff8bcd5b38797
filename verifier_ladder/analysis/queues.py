"""Queues: what of a campaign waits, for what and for whom, and which workers are at work.

All of it takes time in proportion to the work queue, so it is read beside the pages that show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Final, NamedTuple

from verifier_ladder.candidate import Candidate
from verifier_ladder.case import question_of
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.protocol import PARKED
from verifier_ladder.ledger.records import CheckRow, CheckState, Request
from verifier_ladder.status import Waiting, read_waiting
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier

MOST_CHECKS: Final = 5000
"""Checks that are looked at of each state, the highest priority first."""
MOST_SHOWN: Final = 100
"""Cases, and dead checks, that are told one by one."""
_TEXT, _NOTE = 200, 300


class Backlog(NamedTuple):
    """Checks of one version of a verifier that are queued for the same reason."""

    tier: str
    verifier: str
    version: str
    why: str
    """`ready`, `paused`, `budget`, `later` or `held`."""
    checks: int
    until: float | None
    """When the first of those that are tried again later is; seconds since 1970."""
    note: str
    """What went wrong last with the first of them."""


class Ready(NamedTuple):
    """Checks of one version of a verifier that a worker could take, of all campaigns together."""

    verifier: str
    version: str
    checks: int
    oldest: float
    """Seconds since the first of them was asked for."""


class Worker(NamedTuple):
    """Who holds checks."""

    name: str
    checks: Mapping[str, int]
    """By verifier."""
    first_end: float
    """When the first of its leases ends, unless it is renewed; seconds since 1970."""


class Ended(NamedTuple):
    """A check that has failed too often."""

    check: str
    candidate: str
    """Its content key."""
    tier: str
    verifier: str
    version: str
    attempts: int
    note: str
    text: str
    """The beginning of the candidate; model-made text."""


class Asked(NamedTuple):
    """An open case of the world."""

    check: str
    candidate: str
    """Its content key."""
    verifier: str
    question: str
    text: str
    """The beginning of the candidate; model-made text."""
    deadline: float | None
    """When it expires, in seconds since 1970; None if it may stay open."""
    settles_at: float | None
    """When its verifier is asked whether the answer can be known; None if people answer it."""
    note: str
    """Why it could not be settled yet."""


class Wait(NamedTuple):
    """Samples of a run that wait for checks of one verifier."""

    run: str
    tier: str
    verifier: str
    version: str
    state: str
    payer: str
    """The campaign that pays for the checks."""
    samples: int
    checks: int


@dataclass(frozen=True, slots=True)
class QueueState:
    """The work queue as a campaign sees it."""

    waiting: Waiting
    backlog: tuple[Backlog, ...]
    ready: tuple[Ready, ...]
    """Of all campaigns, for they share their workers."""
    workers: tuple[Worker, ...]
    dead: tuple[Ended, ...]
    cases: tuple[Asked, ...]
    """The most valuable first."""
    waits: tuple[Wait, ...]
    """Who waits for whom."""
    is_cut: bool
    """Whether there are more checks or samples than were looked at."""


def read_queue(ledger: Ledger, campaign: str, *, at: float) -> QueueState:
    """Look at the work queue of a campaign; it takes time in proportion to its checks.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.
        at: The time, in seconds since 1970.
    """
    waiting = read_waiting(ledger, campaign, at=at)
    queued, leased, dead, open_ = (
        ledger.checks(
            states=[state], campaign=campaign, limit=MOST_CHECKS + 1,
            payloads=state in (CheckState.DEAD, CheckState.WAITING),
        )
        for state in (CheckState.QUEUED, CheckState.LEASED, CheckState.DEAD, CheckState.WAITING)
    )  # fmt: skip
    requests = ledger.requests(campaign=campaign, final=False, limit=MOST_CHECKS + 1)
    looked_at = (queued, leased, dead, open_, requests)
    return QueueState(
        waiting, tuple(_backlog(queued, waiting, at)), tuple(_ready(ledger, at)),
        tuple(_workers(leased)), tuple(map(_ended, dead[:MOST_SHOWN])),
        tuple(map(_asked, open_[:MOST_SHOWN])),
        tuple(_waits(ledger, requests, (*queued, *leased, *open_))),
        any(len(rows) > MOST_CHECKS for rows in looked_at),
    )  # fmt: skip


def _backlog(queued: Sequence[CheckRow], waiting: Waiting, at: float) -> Iterable[Backlog]:
    groups: dict[tuple[int, str, str, str], list[CheckRow]] = {}
    for row in queued:
        why = _why(row, waiting.paused, at)
        groups.setdefault((row.tier, row.verifier, row.version, why), []).append(row)
    for (tier, verifier, version, why), rows in sorted(groups.items()):
        first = min(rows, key=lambda row: row.not_before)
        is_later = why == "later"
        yield Backlog(
            Tier(tier).label, verifier, version, why, len(rows),
            first.not_before if is_later else None,
            printable(first.note, _NOTE) if is_later else "",
        )  # fmt: skip


def _why(row: CheckRow, paused: Sequence[int], at: float) -> str:
    """Why a queued check is not at work."""
    if row.tier in paused:
        return "paused"
    if row.note == PARKED:
        return "budget"
    if isinf(row.not_before):
        return "held"
    return "later" if row.not_before > at else "ready"


def _ready(ledger: Ledger, at: float) -> Iterable[Ready]:
    found = ledger.vitals(now=at).waiting
    for (verifier, version), rows in sorted(found.items(), key=lambda item: -item[1].longest):
        yield Ready(verifier, version, rows.checks, rows.longest)


def _workers(leased: Sequence[CheckRow]) -> Iterable[Worker]:
    held: dict[str, list[CheckRow]] = {}
    for row in leased:
        held.setdefault(row.owner, []).append(row)
    for owner, rows in sorted(held.items()):
        yield Worker(
            printable(owner, _TEXT), Counter(row.verifier for row in rows),
            min(row.lease_until for row in rows),
        )  # fmt: skip


def _text(row: CheckRow) -> str:
    return printable(row.payload.get("content", ""), _TEXT)


def _ended(row: CheckRow) -> Ended:
    return Ended(
        row.check_key.hex(), row.content_key.hex(), Tier(row.tier).label, row.verifier,
        row.version, row.attempt, printable(row.note, _NOTE), _text(row),
    )  # fmt: skip


def _asked(row: CheckRow) -> Asked:
    # Its verifier words the question, and its code need not be here.
    question = question_of(None, Candidate("text", ""), row.verifier)
    return Asked(
        row.check_key.hex(), row.content_key.hex(), row.verifier, question, _text(row),
        row.deadline, row.not_before or None, printable(row.note, _NOTE),
    )  # fmt: skip


def _waits(
    ledger: Ledger, requests: Sequence[Request], known: Iterable[CheckRow]
) -> Iterable[Wait]:
    rows = {row.check_key: row for row in known}
    missing = {request.check_key for request in requests} - rows.keys()
    if missing:
        found = ledger.checks(keys=sorted(missing), payloads=False)
        rows.update({row.check_key: row for row in found})
    groups: dict[tuple[str, int, str, str, CheckState, str], list[Request]] = {}
    for request in requests:
        row = rows.get(request.check_key)
        if row is not None and not row.state.is_final:  # It may have ended since.
            place = (request.run, row.tier, row.verifier, row.version, row.state, row.campaign)
            groups.setdefault(place, []).append(request)
    for (run, tier, verifier, version, state, payer), asked in sorted(groups.items()):
        yield Wait(
            run, Tier(tier).label, verifier, version, state.label, payer, len(asked),
            len({request.check_key for request in asked}),
        )  # fmt: skip
