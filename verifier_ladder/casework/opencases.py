"""Open cases: the world's questions of a campaign, read without starting anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from verifier_ladder.analysis.history import events
from verifier_ladder.candidate import Candidate
from verifier_ladder.case import question_of
from verifier_ladder.errors import ConfigError
from verifier_ladder.hidden import Hidden
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.measurement import BOUND_SIGNS, FAILED, Bound
from verifier_ladder.text import decimal, moment, printable
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CheckRow
    from verifier_ladder.verifiers import Verifier


_WORDS: dict[str, bool | None] = {
    "yes": True, "y": True, "true": True, "accept": True,
    "no": False, "n": False, "false": False, "reject": False,
    "decline": None, "unknown": None, "none": None,
}  # fmt: skip
_FIRST: Final = 100
"""Cases that are read at first: most who ask want one."""
_MORE: Final = 900
"""Cases that are read at once beyond those."""
MOST_LOOKED_AT: Final = _FIRST + _MORE
"""Cases that are looked at for one page of a queue."""
Answer = bool | float | Bound | Verdict | None
FAILURE = Verdict.abstain("the measurement failed", evidence={FAILED: True})
"""What is answered where a measurement failed: no number, and no reject."""


class OpenCase(NamedTuple):
    """A question that waits for an answer."""

    check_key: bytes
    content_key: bytes
    verifier: str
    candidate: Candidate
    question: str
    unit: str
    deadline: float | None
    """Seconds since 1970; None if it may stay open for ever."""
    takes_yes: bool = True
    """Whether yes and no may answer it, so far as its verifier is known here."""
    replicate: int = 0
    """Which of the checks it is that its verifier wants of the candidate, from 0."""

    @property
    def until(self) -> str:
        """When it expires, in words; "" if never."""
        return "" if self.deadline is None else moment(self.deadline)

    def as_json(self) -> dict[str, Any]:
        """The case as JSON values; it does not tell what other tiers said."""
        return {
            "key": self.check_key.hex(), "verifier": self.verifier, "question": self.question,
            "unit": self.unit, "kind": self.candidate.kind, "candidate": self.candidate.content,
            "task": dict(self.candidate.task or {}), "deadline": self.deadline,
        }  # fmt: skip

    def disclosed(self, hidden: Collection[str]) -> tuple[str, dict[str, Any]]:
        """The question and the task without what verifiers hide of it.

        Args:
            hidden: Names of the task fields that they hide; see `hidden_fields`.
        """
        task = self.candidate.task or {}
        secret = Hidden([value for name, value in task.items() if name in hidden])
        told = {name: value for name, value in task.items() if name not in hidden}
        return secret.masked(self.question), told


def hidden_fields(ladder: Ladder) -> set[str]:
    """Names of the task fields that some verifier of a ladder hides."""
    return {name for each in ladder.verifiers for name in each.hidden}


def open_cases(ledger: Ledger, campaign: str, ladder: Ladder | None) -> Iterator[OpenCase]:
    """Open cases of a campaign, the most valuable first.

    Args:
        ledger: The ledger.
        campaign: The campaign's name.
        ladder: Its ladder, whose verifiers word the questions; None if it can't be rebuilt.
    """
    for check in waiting_checks(ledger, campaign, payloads=True):
        if (case := case_of(check, ladder)) is not None:
            yield case


def open_case(ledger: Ledger, campaign: str, ladder: Ladder | None, key: bytes) -> OpenCase | None:
    """One open case of a campaign; None if there is none of this key."""
    return next(iter(cases_of(ledger, campaign, ladder, [key])), None)


def cases_of(
    ledger: Ledger, campaign: str, ladder: Ladder | None, keys: Sequence[bytes]
) -> list[OpenCase]:
    """Those of some cases that are open, in the order of their keys.

    Args:
        ledger: The ledger.
        campaign: The campaign's name.
        ladder: Its ladder; None if it can't be rebuilt.
        keys: Keys of the cases.
    """
    rows = ledger.checks(keys=keys, states=[CheckState.WAITING], campaign=campaign)
    waiting = {check.check_key: check for check in rows}
    found = (case_of(waiting[key], ladder) for key in keys if key in waiting)
    return [case for case in found if case is not None]


def waiting_checks(
    ledger: Ledger, campaign: str, *, after: bytes | None = None, payloads: bool = False
) -> Iterator[CheckRow]:
    """The checks of open cases, the most valuable first; only as many are read as are asked for.

    Args:
        ledger: The ledger.
        campaign: The campaign's name.
        after: Key of the check behind which to begin.
        payloads: Whether to read what they are about.
    """
    seen, size = set[bytes](), _FIRST
    while True:
        part = ledger.checks(
            states=[CheckState.WAITING], campaign=campaign, after=after, limit=size,
            payloads=payloads,
        )  # fmt: skip
        # One that has become less valuable meanwhile comes twice.
        yield from (check for check in part if check.check_key not in seen)
        if len(part) < size:
            return
        seen.update(check.check_key for check in part)
        after, size = part[-1].check_key, _MORE


def case_of(check: CheckRow, ladder: Ladder | None) -> OpenCase | None:
    """A case as it was asked, open or not; None, and a warning, if its row was changed."""
    from verifier_ladder.scheduler.candidates import shown_candidate

    verifiers = ladder.verifiers if ladder else ()
    candidate = shown_candidate(check, verifiers)
    if candidate is None:
        return None
    verifier = next((v for v in verifiers if v.name == check.verifier), None)
    return OpenCase(
        check.check_key, check.content_key, check.verifier, candidate,
        question_of(verifier, candidate, check.verifier),
        verifier.unit if verifier else "", check.deadline,
        verifier is None or _takes_yes(verifier, candidate), check.payload.get("replicate", 0),
    )  # fmt: skip


def _takes_yes(verifier: Verifier, candidate: Candidate) -> bool:
    try:
        verifier.answered(candidate, True)  # noqa: FBT003 - the answer itself
    except Exception:  # noqa: BLE001 - a verifier's own reading of answers may raise anything
        return False
    return True


def other_tiers(ledger: Ledger, case: OpenCase) -> dict[str, str]:
    """What other verifiers said about a case's candidate, the newest answer of each."""
    said: dict[str, str] = {}
    for event in events(ledger, case.content_key):
        facts = event.facts
        if event.what == "verdict" and facts["verifier"] != case.verifier:
            score = "–" if facts["score"] is None else f"{facts['score']:.4g}"
            said[str(facts["verifier"])] = f"{facts['outcome']} {score}"
    return said


def read_answer(text: str) -> Answer:
    """Read an answer: a finite number, a bound, yes or no, failed, or decline (None).

    Raises:
        ConfigError: If it is anything else.

    Example:
        >>> read_answer("-4.7"), read_answer("yes"), read_answer("decline")
        (-4.7, True, None)
    """
    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    if word == "failed":
        return FAILURE
    if word.startswith(BOUND_SIGNS):
        return Bound.read(word)
    value = decimal(word)
    if value is None:
        raise ConfigError(
            f"{printable(text, 60)!r} is no answer; give a number, a bound such as < 0.1, "
            "yes, no, failed, or decline"
        )
    return value
