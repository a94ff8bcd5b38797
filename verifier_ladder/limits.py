"""Limits: tiers that ask people or spend money do so only under a cap, or with "unlimited"."""

from __future__ import annotations

import logging

from verifier_ladder.budget import TOTAL, Caps, place_label
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier

Place = tuple[int, Resource]
_CLOSED, _LIMITED, _UNLIMITED = "closed", "limited", "unlimited"
_LOG = logging.getLogger("verifier_ladder")


def needs_limit(ladder: Ladder) -> dict[Place, str]:
    """The accounts that need a cap or an explicit "unlimited", each with who would be asked.

    They are those of money and of people's attention; see `Verifier.spends`. The fast tier has
    none: it answers every sample that a caller submits, whatever a policy decides.
    """
    found: dict[Place, str] = {}
    for verifier in ladder.verifiers:
        if verifier.tier != Tier.FAST:
            for resource in verifier.spends:
                found.setdefault((int(Tier.parse(verifier.tier)), resource), verifier.name)
    return found


def without_limit(ladder: Ladder, caps: Caps) -> dict[Place, str]:
    """The accounts for which nobody has said anything, so that nothing is spent from them.

    Args:
        ladder: The ladder.
        caps: All that was said, for tiers and for all together; None is "unlimited".
    """
    return {
        place: name for place, name in needs_limit(ladder).items()
        if place not in caps and (TOTAL, place[1]) not in caps
    }  # fmt: skip


def limit(ledger: Ledger, campaign: str, ladder: Ladder, caps: Caps) -> Caps:
    """Close the accounts of a campaign that nobody has limited, and tell so once.

    Args:
        ledger: The ledger; what was said before is read from it, and what changes is recorded.
        campaign: The campaign.
        ladder: Its ladder.
        caps: The caps that are set now; None lifts one.

    Returns:
        More caps to set: 0 where nobody has said anything, None where that is over.
    """
    before = _recorded(ledger, campaign)
    known: Caps = {(a.tier, a.resource): a.cap for a in ledger.accounts(campaign)}
    spoken = {p: cap for p, cap in known.items() if before.get(p) != _CLOSED} | caps
    spoken |= {p: None for p, word in before.items() if word == _UNLIMITED and p not in caps}
    closed = without_limit(ladder, spoken)
    words = {place: _word(place, closed, spoken) for place in needs_limit(ladder)}
    changed = {place: word for place, word in words.items() if before.get(place) != word}
    if changed:
        rows = [[int(tier), int(resource), word] for (tier, resource), word in changed.items()]
        ledger.append(Block("limits", campaign, facts={"accounts": rows}))
    for place in closed.keys() & changed.keys():
        _LOG.warning("%s: %s", campaign, notice(place, closed[place]))
    opened = [p for p in changed if before.get(p) == _CLOSED and p not in caps]
    return dict.fromkeys(closed, 0.0) | dict.fromkeys(opened)


def _word(place: Place, closed: dict[Place, str], spoken: Caps) -> str:
    if place in closed:
        return _CLOSED
    together = spoken.get((TOTAL, place[1]), 0.0)
    return _UNLIMITED if spoken.get(place, together) is None else _LIMITED


def notice(place: Place, verifier: str) -> str:
    """What to tell a user whose tier asks nobody because it has no limit."""
    label, resource = place_label(place[0]), place[1]
    what = "spend money" if resource is Resource.MONEY else "ask people"
    return (
        f"the {label} tier ({verifier}) would {what}, and nobody said how much, so it does not; "
        f'give budget={{"{label}": {{"{resource.label}": 60}}}}, or "unlimited" for the tier'
    )


def _recorded(ledger: Ledger, campaign: str) -> dict[Place, str]:
    """What was recorded of each account last."""
    words: dict[Place, str] = {}
    for entry in ledger.entries(kind="limits", campaign=campaign):
        for tier, resource, word in ledger.read(entry).facts["accounts"]:
            words[int(tier), Resource(resource)] = word
    return words
