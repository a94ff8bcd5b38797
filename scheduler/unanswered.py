"""Unanswered requests: what is kept of samples whose check ended without an answer.

Their requests are over once their rewards tell of the failure. Should the check be tried again,
they must hear what it says, so the entry that tells of the failure keeps what their climb needs
to go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, CheckRow, Request
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

    Each goes on from its reward as it stands now.
    """
    found: dict[bytes, dict[tuple[Any, ...], Request]] = {c.check_key: {} for c in checks}
    numbers = {n for check in checks for n in ledger.mentions(check.content_key)}
    for number in sorted(numbers):
        whole = ledger.entry(number)
        if whole is not None and whole.kind == "revision":
            for request in _kept(ledger.read(whole)):
                if request.check_key in found:
                    found[request.check_key][request[1:5]] = request
    return {key: [_as_of_now(ledger, r) for r in each.values()] for key, each in found.items()}


def _kept(block: Block) -> Iterator[Request]:
    samples = block.samples
    if samples is None:
        return
    contents = dict(zip(samples.positions, samples.contents, strict=True))
    for position, key, state in block.facts.get("unanswered", ()):
        yield Request(
            bytes.fromhex(key), block.campaign, samples.run, samples.step, position,
            contents[position], state,
        )  # fmt: skip


def _as_of_now(ledger: Ledger, request: Request) -> Request:
    at = request.position
    rows = ledger.recorded(request.campaign, request.run, request.step, within=(at, at))
    reward = rows[at].reward
    state: Mapping[str, Any] = {
        **request.state, "value": reward.value, "revision": reward.revision,
    }  # fmt: skip
    return request._replace(state=state)
