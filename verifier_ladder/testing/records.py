"""Small records for tests of ledgers: everything is named by a word."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import (
    Account,
    Block,
    CandidateRow,
    CheckRow,
    CheckState,
    Claim,
    Completion,
    DecisionColumns,
    Request,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.verdict import Verdict

CAMPAIGN = "trial"
NOW = 1_000_000.0
"""The fake clock of the tests."""
CPU = Resource.CPU_SECONDS
CRASH = Verdict.abstain("segmentation fault", failed_at="engine")


def key(word: str) -> bytes:
    """A digest that stands for a word."""
    return hashlib.sha256(word.encode()).digest()


CANON = key("canonicaliser")


def candidate_row(word: str, **changes: Any) -> CandidateRow:
    """A new candidate."""
    row = CandidateRow(key(f"raw {word}"), key(word), "text", word, None, CANON)
    return row._replace(**changes)


def verdict_row(word: str, verdict: Verdict, **changes: Any) -> VerdictRow:
    """A finished check of the candidate of that name; the check has the same name."""
    return VerdictRow(key(f"check {word}"), key(word), "length", "1", 0, verdict)._replace(
        **changes
    )


def samples(
    words: Sequence[str], *, run: str = "run", step: int = 0, first: int = 0
) -> SampleColumns:
    """Samples of candidates, at positions that follow each other."""
    return SampleColumns(
        run, step, range(first, first + len(words)), [key(word) for word in words],
        [(key(f"check {word}"),) for word in words],
    )  # fmt: skip


def score_block(
    words: Sequence[str],
    *,
    campaign: str = CAMPAIGN,
    step: int = 0,
    kind: str = "score",
    first: int = 0,
    revision: int = 0,
) -> Block:
    """One call: each candidate is new, accepted with its length as the score."""
    scores = [float(len(word)) for word in words]
    return Block(
        kind, campaign,
        [candidate_row(word) for word in words],
        [
            verdict_row(word, Verdict.accept(score))
            for word, score in zip(words, scores, strict=True)
        ],
        samples(words, step=step, first=first),
        [decisions(scores)],
        [Reward(score, revision=revision) for score in scores],
    )  # fmt: skip


def decisions(means: Sequence[float]) -> DecisionColumns:
    """A policy that stops at once."""
    count = len(means)
    return DecisionColumns(
        "stop 1", range(count), [0] * count, [-1] * count, [0] * count, ["enough"],
        list(means), [0.5] * count, [1.0] * count, None, [0.0] * count,
    )  # fmt: skip


def check_row(word: str, **changes: Any) -> CheckRow:
    """A check for the queue: simulation tier, one cpu-second."""
    row = CheckRow(
        key(f"check {word}"), key(word), CAMPAIGN, "xtb", "1", 1, CheckState.QUEUED, 1.0,
        Cost(1.0), {"kind": "text", "content": word}, digest=key("xtb"),
    )  # fmt: skip
    return row._replace(**changes)


def request(word: str, position: int = 0, **changes: Any) -> Request:
    """A sample that waits for the check of that name."""
    row = Request(key(f"check {word}"), CAMPAIGN, "run", 0, position, key(word), {"group": "a"})
    return row._replace(**changes)


def enqueue(ledger: Ledger, *checks: CheckRow, requests: Sequence[Request] = ()) -> None:
    """Ask for checks; a request goes with the check of its key."""
    waiting: dict[bytes, list[Request]] = {}
    for row in requests:
        waiting.setdefault(row.check_key, []).append(row)
    ledger.append(
        Block("score", CAMPAIGN),
        enqueue=[(check, waiting.get(check.check_key, [])) for check in checks],
    )


def claim(ledger: Ledger, limit: int = 10, now: float = NOW, **filters: Any) -> list[Claim]:
    """Claim with a lease of one minute."""
    options: Mapping[str, Any] = {"owner": "worker", "lease": 60.0, **filters}
    return ledger.claim(limit=limit, now=now, **options)


def completion(claimed: Claim, verdict: Verdict | None = None) -> Completion:
    """The end of a claimed check; an answer unless told otherwise."""
    said = Verdict.accept(1.0) if verdict is None else verdict
    return Completion(claimed, said, claimed.check.content_key)


def only(ledger: Ledger, word: str) -> CheckRow:
    """The check of that name."""
    (row,) = ledger.checks(keys=[key(f"check {word}")])
    return row


def queue_one(ledger: Ledger) -> Claim:
    """Ask for one check and claim it."""
    enqueue(ledger, check_row("a"), requests=[request("a")])
    (claimed,) = claim(ledger)
    return claimed


def end_as(ledger: Ledger, state: CheckState) -> None:
    """Bring the check `a` to an end."""
    if state is CheckState.CANCELLED:
        enqueue(ledger, check_row("a"))
        ledger.cancel([key("check a")], now=NOW)
    elif state is CheckState.DEAD:
        enqueue(ledger, check_row("a"))
        ledger.fail([completion(claim(ledger)[0], CRASH)], retry_at=None, now=NOW)
    else:
        enqueue(ledger, check_row("a"))
        ledger.wait(claim(ledger), deadline=NOW + 1, now=NOW)
        ledger.reap(now=NOW + 2)


def costing(verdict: Verdict, seconds: float) -> Verdict:
    """The verdict with a measured cost."""
    return replace(verdict, cost=Cost(seconds))


def account(ledger: Ledger, tier: int = 1) -> Account:
    """The cpu-seconds of a tier."""
    return next(row for row in ledger.accounts(CAMPAIGN) if row[:2] == (tier, CPU))


def amounts(ledger: Ledger, campaign: str = CAMPAIGN) -> dict[tuple[int, Resource], float]:
    """What is spent or reserved of each account."""
    return {
        (row.tier, row.resource): row.settled + row.failed + row.reserved
        for row in ledger.accounts(campaign)
    }


def join(ledger: Ledger, campaign: str, word: str, **changes: Any) -> None:
    """A campaign asks for a check that another has asked for."""
    row = check_row(word, campaign=campaign, **changes)
    ledger.append(Block("score", campaign), enqueue=[(row, [request(word, campaign=campaign)])])
