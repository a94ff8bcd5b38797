"""Corrections: cases that were settled by what a feed had told, and is told otherwise now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.case import AWAY, SETTLED, settlement_field, to_settle
from verifier_ladder.ledger.records import CheckRow, CheckState
from verifier_ladder.scheduler.answering import says_the_same
from verifier_ladder.scheduler.candidates import shown_candidate
from verifier_ladder.scheduler.engines.inline import judge_inline
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.verifiers import Verifier

_OTHERS = "settled by other settings, or by another version: open the ladder that has settled it"
_CHANGED = "its row in the queue can't be read, or was changed"
_NOTHING = "its feed tells nothing of it"
OVERTAKEN = "somebody has said otherwise meanwhile, and that stands"
"""Why a case that comes out otherwise was left as it is."""


class LeftOut(NamedTuple):
    """Settled cases that stay as they are, for one reason."""

    verifier: str
    why: str
    """Why it is not known whether they come out otherwise, or why that does not count."""
    cases: tuple[str, ...]
    """Their keys, in hexadecimal."""


class Resettled(NamedTuple):
    """What came of settling cases anew."""

    superseded: int
    """Cases that come out otherwise."""
    left_out: tuple[LeftOut, ...] = ()
    """Settled cases that could not be settled anew."""


class Correction(NamedTuple):
    """A settled case that comes out otherwise, or of which nobody knows whether it does."""

    check: CheckRow
    verdict: Verdict | None
    """What its feed tells now; None if that is not known."""
    why: str
    """Why it is not known."""
    as_of: int
    """The newest entry of the ledger before it was looked at."""


def corrections(ledger: Ledger, campaign: str, ladder: Ladder) -> Iterator[Correction]:
    """Settle all settled cases of a campaign anew, and give those that don't come out as before.

    A case whose feed is away, or does not tell enough any more, stays as it is: only an answer
    stands in the place of an answer. What people have said is theirs to take back.
    """
    for verifier in filter(settlement_field, ladder.verifiers):
        as_of = ledger.newest()
        done = ledger.checks(states=[CheckState.DONE], campaign=campaign, verifier=verifier.name)
        known = ledger.verdicts([check.check_key for check in done])
        away = ""
        for check in done:
            earlier = known.get(check.check_key)
            if earlier is None or SETTLED not in earlier.evidence:
                continue
            said = _asked_anew(check, verifier, away)
            if AWAY in said.evidence:  # Each question more would wait as long in vain.
                away = f"not asked, for its feed is away: {said.reason}"
            if not (said.is_answer and SETTLED in said.evidence):
                yield Correction(check, None, said.reason or _NOTHING, as_of)
            elif not says_the_same(said, earlier):
                yield Correction(check, said, "", as_of)


def _asked_anew(check: CheckRow, verifier: Verifier, away: str) -> Verdict:
    """What is said of a case by what its feed tells now: as in a worker, with secrets masked.

    Where the feed is `away` it is not asked.
    """
    if check.digest != verifier.digest:
        return Verdict.abstain(_OTHERS)
    if (candidate := shown_candidate(check, [verifier])) is None:
        return Verdict.abstain(_CHANGED)
    if away:
        return Verdict.abstain(away)
    asked = to_settle(candidate, check.check_key, check.deadline)
    ((said,), _) = judge_inline(verifier, [asked])
    return said
