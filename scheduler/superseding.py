"""Superseding: another answer in the place of a wrong one, and the samples that rest on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from verifier_ladder.containment import ContainedLog
from verifier_ladder.errors import ConfigError
from verifier_ladder.group import is_group
from verifier_ladder.keys import NO_TASK, content_key, task_digest
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.protocol import refuse_failures, verdict_row
from verifier_ladder.ledger.records import Block, CheckRow, CheckState, OvertakenError, Request
from verifier_ladder.scheduler.answering import says_the_same, words_of_answer
from verifier_ladder.scheduler.candidates import candidate_of, turns_digest
from verifier_ladder.scheduler.samplehistory import samples_of_step
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Verdict

_LOG = ContainedLog("verifier_ladder")
ANSWERED: Final = "answered"
"""Fact that names candidates about which the world has answered, as requests hold them."""
_Subject = tuple[bytes, bytes, bytes]


def answered(
    ladder: Ladder, requests: Sequence[Request], standings: Sequence[Standing]
) -> dict[str, Any]:
    """The facts that keep candidates which the world was asked about, where its check does not.

    Should an answer be superseded, their samples hear of it. A check holds only what its verifier
    reads, and an entry only digests of tasks.
    """
    found: dict[Any, tuple[Any, Any]] = {}
    if not any(verifier.waits for verifier in ladder.verifiers):
        return found
    for request, standing in zip(requests, standings, strict=True):
        if standing.comparison is not None:
            continue
        verifier, _ = ladder.askings[standing.place_of(request.check_key)]
        said = standing.verdicts.get(verifier.name)
        is_plain = (standing.task_key, standing.turns_key) == (NO_TASK, NO_TASK)
        is_kept = is_plain and verifier.reads != "raw"
        if verifier.waits and said is not None and said.is_answer and not is_kept:
            found[standing.subject] = request.state["candidate"], request.state.get("given")
    return {ANSWERED: list(found.values())} if found else {}


def supersede(
    ledger: Ledger,
    campaign: str,
    check: CheckRow,
    verdict: Verdict,
    *,
    source: str,
    why: str,
    as_of: int | None = None,
) -> int | None:
    """Put an answer in the place of the one that stands; its samples wait for their revision.

    One transaction does both, so no crash leaves a reward on an answer that does not stand.

    Args:
        ledger: The ledger.
        campaign: The campaign that records it.
        check: The case.
        verdict: The new answer.
        source: Who says so.
        why: Why the other one was wrong.
        as_of: The newest entry that was seen when the new answer was found; what was said later
            stands. Whatever stands is superseded if left out.

    Returns:
        The entry; None if the answer that stands says the same, or came later.

    Raises:
        ConfigError: If the case was not answered yet, or is about a group.
        LedgerError: If the new answer is a failure.
    """
    refuse_failures([verdict])
    earlier = ledger.verdicts([check.check_key]).get(check.check_key)
    if earlier is None or check.state is not CheckState.DONE:
        raise ConfigError(
            f"the case {check.check_key.hex()[:16]} has no answer that could be superseded; "
            "answer it"
        )
    if is_group(candidate_of(check.payload)):
        raise ConfigError(
            "what was said of a group can't be superseded; give its verifier another version and "
            "ask anew"
        )
    if says_the_same(verdict, earlier):
        return None
    facts = {"source": source, "supersedes": words_of_answer(earlier), "why": why}
    block = Block("review", campaign, verdicts=[verdict_row(check, verdict)], facts=facts)
    try:
        return ledger.append(block, enqueue=[(check, resting_on(ledger, check))], as_of=as_of)
    except OvertakenError:
        return None


def resting_on(ledger: Ledger, check: CheckRow) -> list[Request]:
    """The samples whose rewards rest on what a check has said, as requests for it.

    They are those of all campaigns, also where the verdict was known when they came. One whose
    task is kept nowhere is left out, with a warning.
    """
    known: dict[_Subject, Mapping[str, Any]] = {}
    _learn(known, check.payload, None)
    steps: dict[tuple[str, str, int], set[int]] = {}
    for number in ledger.mentions(check.content_key):
        entry = ledger.entry(number)
        if entry is None:
            continue
        block = ledger.read(entry)
        for candidate, given in block.facts.get(ANSWERED, ()):
            _learn(known, candidate, given)
        if (samples := block.samples) is not None:
            mine = steps.setdefault((block.campaign, samples.run, samples.step), set())
            pairs = zip(samples.positions, samples.contents, strict=True)
            mine |= {position for position, content in pairs if content == check.content_key}
    found, left_out = [], 0
    for step, positions in steps.items():
        for position, sample in samples_of_step(ledger, *step, positions).items():
            if check.check_key not in sample.checks:
                continue
            if (state := known.get(sample.subject)) is None:
                left_out += 1
                continue
            found.append(Request(check.check_key, *step, position, check.content_key, state))
    if left_out:
        _LOG.warning(
            "%d samples keep the reward that the superseded answer to case %s gave them: their "
            "tasks are not in the ledger", left_out, check.check_key.hex()[:16],
        )  # fmt: skip
    return found


def _learn(
    known: dict[_Subject, Mapping[str, Any]], stored: Mapping[str, Any], given: str | None
) -> None:
    """Know a candidate by what samples of it are told by."""
    candidate = candidate_of(stored)
    subject = (
        content_key(candidate.kind, candidate.content), task_digest(candidate.task or {}),
        turns_digest(candidate.turns),
    )  # fmt: skip
    names = {"kind", "content", "bytes", "task", "turns"} & stored.keys()
    known[subject] = {"candidate": {name: stored[name] for name in names}, "given": given}
