"""Corrections: cases that were settled by what a feed had told, and is told otherwise now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifier_ladder.case import SETTLED, settlement_field, to_settle
from verifier_ladder.ledger.records import CheckRow, CheckState
from verifier_ladder.scheduler.answering import says_the_same
from verifier_ladder.scheduler.candidates import shown_candidate
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.verifiers import Verifier


def corrections(
    ledger: Ledger, campaign: str, ladder: Ladder
) -> Iterator[tuple[CheckRow, Verdict]]:
    """Settle all settled cases of a campaign anew, and give those that come out otherwise.

    A case whose feed is away, or does not tell enough any more, stays as it is: only an answer
    stands in the place of an answer. What people have said is theirs to take back.
    """
    for verifier in filter(settlement_field, ladder.verifiers):
        verifier.setup()
        done = ledger.checks(states=[CheckState.DONE], campaign=campaign, verifier=verifier.name)
        known = ledger.verdicts([check.check_key for check in done])
        for check in done:
            earlier = known.get(check.check_key)
            if earlier is None or SETTLED not in earlier.evidence:
                continue
            found = _settled_anew(check, verifier)
            if found is not None and not says_the_same(found, earlier):
                yield check, found


def _settled_anew(check: CheckRow, verifier: Verifier) -> Verdict | None:
    """What is said of a case by what its feed tells now; None if that is nothing."""
    candidate = None
    if check.digest == verifier.digest:  # Another version has settled it by other rules.
        candidate = shown_candidate(check, [verifier])
    if candidate is None:
        return None
    (said,) = verifier.judge([to_settle(candidate, check.check_key, check.deadline)])
    return said if said.is_answer and SETTLED in said.evidence else None
