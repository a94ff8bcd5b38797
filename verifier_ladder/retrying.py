"""Retrying: checks that ended without an answer are given another chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, CheckRow, CheckState
from verifier_ladder.scheduler.unanswered import waiting_again

RETRIED: Final = (CheckState.DEAD, CheckState.CANCELLED, CheckState.EXPIRED)
"""States in which a check has ended without an answer."""


class Retried(NamedTuple):
    """What came of asking for checks again."""

    checks: int
    """Checks that are queued again."""
    samples: int
    """Samples whose reward will be revised, because they had been told of the failure."""


def retry(ledger: Ledger, checks: Sequence[CheckRow]) -> Retried:
    """Queue checks again that ended without an answer, with a fresh count of attempts.

    Who paid for them pays. Samples whose rewards had told of the failure wait for them again.
    Others are left alone, such as checks that are done or at work, and those that no sample would
    hear of: that of a part of a group, once all of it is asked about.

    Args:
        ledger: The ledger.
        checks: The checks, as `ledger.checks` gives them.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> with open_ledger(None) as ledger:
        ...     retry(ledger, ledger.checks(states=[CheckState.DEAD]))
        Retried(checks=0, samples=0)
    """
    ended = [check for check in checks if check.state in RETRIED]
    waiting = waiting_again(ledger, ended)
    open_ = {request.check_key for request in ledger.requests(check_keys=list(waiting))}
    ended = [check for check in ended if waiting[check.check_key] or check.check_key in open_]
    for campaign in dict.fromkeys(check.campaign for check in ended):
        asked = [
            (_afresh(check), waiting[check.check_key])
            for check in ended
            if check.campaign == campaign
        ]
        keys = [check.check_key.hex() for check, _ in asked]
        ledger.append(Block("retry", campaign, facts={"checks": keys}), enqueue=asked)
    return Retried(len(ended), sum(map(len, waiting.values())))


def _afresh(check: CheckRow) -> CheckRow:
    return check._replace(state=CheckState.QUEUED, not_before=0.0, deadline=None, note="")
