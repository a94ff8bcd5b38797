"""Unanswered requests: what is kept of samples whose check ended without an answer.

Their requests are over once their rewards tell of the failure. Should the check be tried again,
they must hear what it says, so the entry that tells of the failure keeps what their climb needs
to go on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CheckRow, Request
from verifier_ladder.scheduler.samplehistory import DECIDED, retold, samples_of_step
from verifier_ladder.scheduler.standing import Standing


def unanswered(
    ladder: Ladder, requests: Sequence[Request], standings: Sequence[Standing]
) -> dict[str, Any]:
    """The facts that a revision keeps of its samples whose check has failed; mostly none."""
    return kept([
        request for request, standing in zip(requests, standings, strict=True)
        if _has_failed(ladder, request, standing)
    ])  # fmt: skip


def kept(requests: Sequence[Request]) -> dict[str, Any]:
    """The facts that keep these requests; none for none."""
    rows = [(request.position, request.check_key.hex(), request.state) for request in requests]
    return {"unanswered": rows} if rows else {}


def _has_failed(ladder: Ladder, request: Request, standing: Standing) -> bool:
    verifier, _ = ladder.askings[standing.place_of(request.check_key)]
    verdict = standing.verdicts.get(verifier.name)
    return verdict is not None and not verdict.is_answer


def waiting_again(ledger: Ledger, checks: Sequence[CheckRow]) -> dict[bytes, list[Request]]:
    """The samples that heard of a check's failure, as requests for it, by check key.

    Each goes on from its reward as it stands now. Who was decided anew since, as a member of
    another group, waits for what is said of that.
    """
    found: dict[bytes, list[Request]] = {check.check_key: [] for check in checks}
    for step, contents in _told(ledger, {check.content_key for check in checks}).items():
        history = samples_of_step(ledger, *step, contents)
        for position, sample in sorted(history.items()):
            for key in sample.unanswered.keys() & found.keys():
                state = retold(sample.unanswered[key], sample.reward)
                found[key].append(Request(key, *step, position, contents[position], state))
    return found


def _told(
    ledger: Ledger, contents: Collection[bytes]
) -> dict[tuple[str, str, int], dict[int, bytes]]:
    """Samples that may have heard of checks of some contents: their content, by step and position.

    A check of a group is filed under the content of one member. So they are those that were
    revised with such a content, and those that were decided with them.
    """
    found: dict[tuple[str, str, int], dict[int, bytes]] = {}
    for number in sorted({n for content in contents for n in ledger.mentions(content)}):
        entry = ledger.entry(number)
        block = ledger.read(entry) if entry is not None and entry.kind == "revision" else None
        if block is None or block.samples is None:
            continue
        samples = block.samples
        told = dict(zip(samples.positions, samples.contents, strict=True))
        own = {position for position, content in told.items() if content in contents}
        for members, *_ in block.facts.get(DECIDED, ()):
            own.update(() if own.isdisjoint(members) else members)
        step = block.campaign, samples.run, samples.step
        found.setdefault(step, {}).update((position, told[position]) for position in own)
    return found
