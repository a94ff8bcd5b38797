"""Answering: what the world says of a check, held against what it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifier_ladder.errors import ConfigError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Answer, CheckRow
from verifier_ladder.measurement import READERS, WELLS, bound_of
from verifier_ladder.scheduler.candidates import ForgedCheckError, proven_candidate
from verifier_ladder.scheduler.engines.wire import told
from verifier_ladder.verdict import Verdict


def said(ladder: Ladder, key: bytes, check: CheckRow | None, value: object) -> Verdict:
    """The verdict that a value from the world amounts to.

    Args:
        ladder: The ladder that has asked.
        key: The key of the case.
        check: Its row in the queue; None if there is none.
        value: What was answered, as `Campaign.answer` takes it.

    Raises:
        ConfigError: If there is no such case of the ladder, or its row was changed.
        VerifierError: If the value is not valid for it. Whatever else the verifier's own
            `answered` raises comes through.
    """
    if check is None:
        raise ConfigError(f"no open case has the key {key.hex()}")
    verifier = next((v for v in ladder.verifiers if v.name == check.verifier), None)
    if verifier is None:
        raise ConfigError(
            f"the ladder has no verifier {check.verifier}; open the campaign that has it"
        )
    try:
        candidate = proven_candidate(check, verifier)
    except ForgedCheckError as error:
        raise ConfigError(f"case {key.hex()} can't be answered: {error}") from None
    return told(verifier, candidate, value)


def refuse_lone_readers(
    ladder: Ladder, told: Sequence[Answer], checks: Mapping[bytes, CheckRow]
) -> None:
    """Refuse what one person says of cases that several are to read.

    Raises:
        ConfigError: If there is such an answer.
    """
    twice = {v.name for v in ladder.verifiers if getattr(v, "readers", 1) > 1}
    for answer in told:
        asks = checks[answer.check_key].verifier
        if asks in twice and READERS not in answer.verdict.evidence:
            raise ConfigError(
                f"{asks} wants two readers, and this is what {answer.source} says alone: have "
                "both read with `vladder review next` or `vladder case in`, or through "
                "verifier_ladder.reviews; their answer is handed in once they agree"
            )


def refuse_contradictions(told: Sequence[Answer], known: Mapping[bytes, Verdict]) -> None:
    """Refuse answers to cases that were answered otherwise.

    Raises:
        ConfigError: If there is one.
    """
    for answer in told:
        earlier = known.get(answer.check_key)
        if earlier is not None and not says_the_same(answer.verdict, earlier):
            raise ConfigError(
                f"the case {answer.check_key.hex()[:16]} was answered before with "
                f"{words_of_answer(earlier)}, and {answer.source} says "
                f"{words_of_answer(answer.verdict)}; rewards rest on the first answer, so nothing "
                "was changed. If that was wrong, say so: `vladder review undo`, or "
                "Campaign.supersede"
            )


def refuse_lost(late: Sequence[Answer], known: Mapping[bytes, Verdict]) -> None:
    """Refuse answers whose delivery was taken before, for another case.

    Raises:
        ConfigError: If there is one.
    """
    for answer in late:
        if answer.check_key not in known:
            raise ConfigError(
                f"the delivery {answer.event!r} of {answer.source} was taken before, for another "
                "case; give each its own event, or hand them in together with answer_all"
            )


def says_the_same(verdict: Verdict, earlier: Verdict) -> bool:
    """Whether an answer adds nothing to an earlier one; it may leave out how sure that was."""
    if (verdict.outcome, verdict.score) != (earlier.outcome, earlier.score):
        return False
    if bound_of(verdict.evidence) != bound_of(earlier.evidence):
        return False
    wells = [said.evidence[WELLS] for said in (verdict, earlier) if WELLS in said.evidence]
    if wells[1:] not in ([], wells[:1]):
        return False
    return verdict.uncertainty in {None, earlier.uncertainty}


def words_of_answer(verdict: Verdict) -> str:
    """What an answer says, in a few words."""
    score = "" if verdict.score is None else f" {verdict.score:g}"
    spread = "" if verdict.uncertainty is None else f" ± {verdict.uncertainty:g}"
    bound = bound_of(verdict.evidence)
    told = "" if bound is None else f" {bound}"
    wells = verdict.evidence.get(WELLS)
    if isinstance(wells, Mapping):
        told += f" (wells {', '.join(f'{name}: {read}' for name, read in wells.items()):.300})"
    return f"{verdict.outcome}{score}{spread}{told}"
