"""Reviews: open cases as a queue for people, who read them without seeing each other's answers.

A case has seats: one, or two where its verifier wants two readers, and a third where those
disagree. A reader claims a seat for a time, by the ledger's clock, and answers on it. All of that
stands in entries, which are added up in their order, so that two machines agree on who came
first, and whoever is killed in between loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isclose
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from verifier_ladder.agreement import alpha_of_labels, alpha_of_numbers
from verifier_ladder.arguments import checked, checked_value
from verifier_ladder.errors import ConfigError, LeaseError
from verifier_ladder.exchange import verdict_from, verdict_message
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, CheckRow, CheckState, Entry
from verifier_ladder.measurement import READERS, bound_of
from verifier_ladder.scheduler.answering import words_of_answer
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

READING: Final = "reading"
"""Kind of the entries that tell who claims a case, reads it, or gives it back."""
LEASE: Final = 1800.0
"""Seconds for which a case is claimed."""
COMMENT: Final = "note"
"""Evidence of an answer: words that its reader, or a laboratory, has kept with it."""
_AT_ONCE = 60.0
"""Seconds of the claim of somebody who answers in the same entry."""
ENDED: Final = frozenset({CheckState.DONE, CheckState.DEAD, CheckState.CANCELLED})
"""States of cases that take no answer any more; one that has expired still does."""
_LONGEST_NAME = 200
_LOOKED_AT = 100
"""Cases that are looked up at once."""


class Asked(Protocol):
    """**Protocol:** a case, as `Campaign.cases` and the rows of the work queue tell of it."""

    @property
    def check_key(self) -> bytes:
        """Its key."""
        ...

    @property
    def verifier(self) -> str:
        """Name of the verifier that asks."""
        ...


A = TypeVar("A", bound=Asked)


class Claim(NamedTuple):
    """A seat at a case that is one reader's for a time."""

    case: bytes
    reader: str
    number: int
    """Counts up: who holds a claim that was made anew since holds nothing."""
    until: float
    """Seconds since 1970, by the ledger's clock."""


class Reading(NamedTuple):
    """What one reader says of a case."""

    reader: str
    said: Verdict


class Conclusion(NamedTuple):
    """What the readers of a case say together."""

    verdict: Verdict
    source: str
    """Who they are."""


class Agreement(NamedTuple):
    """How far the first two readers of cases agree; the third is asked where they do not."""

    cases: int
    """Cases that two have read."""
    agreed: int
    """Those on which they agree, as the verifier declares it."""
    outcomes: float | None
    """Krippendorff's alpha of accept, reject and abstain; None if that can't be told."""
    scores: float | None
    """Krippendorff's alpha of their scores, of cases that both have scored."""


@dataclass(slots=True)
class _Seat:
    reader: str
    claim: int
    until: float
    said: Verdict | None = None

    def is_taken(self, now: float) -> bool:
        """Whether nobody else may have it."""
        return self.said is not None or self.until > now


class Reviews:
    """The cases of one campaign, as people read them.

    Readers are told apart by the names they give. No answer of another reader comes out of here
    until all have answered. Not thread-safe by itself.

    **Machines.** Any number of people may work on one ledger at once.

    Example:
        >>> from types import SimpleNamespace
        >>> from verifier_ladder.ledger import open_ledger
        >>> from verifier_ladder.tiers.world.expert import ExpertCase
        >>> twice = Ladder("l", [ExpertCase(kind="text", readers=2)])
        >>> case = SimpleNamespace(check_key=b"key of a case", verifier="expert-case")
        >>> reviews = Reviews(open_ledger(None), "try", twice)
        >>> _, claim = reviews.claim([case], "ada")
        >>> reviews.answer(claim, Verdict.accept(7.0))
        >>> reviews.claim([case], "ada") is None
        True
    """

    @checked()
    def __init__(self, ledger: Ledger, campaign: str, ladder: Ladder | None) -> None:
        """Read what was claimed and answered.

        Args:
            ledger: The ledger.
            campaign: The campaign.
            ladder: Its ladder, whose verifiers say how many readers they want; None where it
                can't be rebuilt, and then that is one.
        """
        self._ledger, self._campaign = ledger, campaign
        self._asking = {v.name: v for v in ladder.verifiers} if ladder else {}
        self._seats: dict[bytes, dict[int, _Seat]] = {}
        self._skipped: set[tuple[bytes, str]] = set()
        self._unblinded: set[tuple[bytes, str]] = set()
        self._claimed: dict[str, set[bytes]] = {}
        """By reader, cases that he has claimed and may hold."""
        self._done: set[bytes] = set()
        """Cases that are known to have an answer."""
        self._verifiers: dict[bytes, str] = {}
        """Which verifier asks about a case, so far as that was needed."""
        self._agreements: dict[str, Agreement] = {}
        """By verifier, as it was when something was done last: all cases are read for it."""
        self._cursor = 0
        self._has_told = False
        self._refresh()

    # -- what readers do -----------------------------------------------------------------------

    def free(self, cases: Iterable[A], reader: str, *, skipped: bool = False) -> Iterator[A]:
        """Those of some cases that a reader may read now, in their order.

        Args:
            cases: Open cases.
            reader: Who reads.
            skipped: Whether those that this reader has skipped are among them.
        """
        self._refresh()
        now = self._ledger.clock()
        for case in cases:
            is_skipped = (case.check_key, reader) in self._skipped
            if (skipped or not is_skipped) and not self.refusal(case, reader, now):
                yield case

    def refusal(self, case: Asked, reader: str, now: float | None = None) -> str:
        """Why a reader may not read a case now; "" if he may."""
        now = self._ledger.clock() if now is None else now
        seats = self._at(case.check_key)
        others = [seat for seat in seats if seat.reader != reader]
        if any(seat.reader == reader and seat.said is not None for seat in seats):
            return f"{reader} has read it"
        if sum(seat.said is not None for seat in others) >= self._wanted(case):
            return "its readers have answered"
        if sum(seat.is_taken(now) for seat in others) >= self._wanted(case):
            return "others are reading it"
        return ""

    @checked()
    def claim(
        self, cases: Iterable[A], reader: str, *, lease: float = LEASE, skipped: bool = False
    ) -> tuple[A, Claim] | None:
        """Claim the first of some cases that a reader may read; one he holds is claimed anew.

        Args:
            cases: Open cases, the most valuable first.
            reader: Who reads.
            lease: For how many seconds.
            skipped: Whether cases that this reader has skipped are offered too.

        Returns:
            The case and the claim; None if there is none.

        Raises:
            ConfigError: If the reader has no name, or the lease is no time.
        """
        for case in self.free(cases, reader, skipped=skipped):
            while not self.refusal(case, reader):  # Another may be quicker, and a seat be left.
                act = self._claiming(case, reader, lease)
                if not self._record(reader, [act]):
                    seat = next(s for s in self._at(case.check_key) if s.reader == reader)
                    return case, Claim(case.check_key, reader, seat.claim, seat.until)
        return None

    @checked()
    def claim_all(
        self, cases: Sequence[A], reader: str, *, lease: float = LEASE, most: int | None = None
    ) -> list[A]:
        """Claim those of some cases that a reader may read, as for a work order; or so many."""
        free = list(self.free(cases, reader))[:most]
        acts = [self._claiming(case, reader, lease) for case in free]
        refused = self._record(reader, acts)
        return [case for case in free if case.check_key not in refused]

    @checked()
    def answer(self, claim: Claim, verdict: Verdict) -> None:
        """Answer on a claim.

        Raises:
            LeaseError: If the claim has run out, or was made anew; nothing was taken.
        """
        act = {"act": "answer", "claim": claim.number, "said": verdict_message(verdict)}
        refused = self._record(claim.reader, [{**act, "case": claim.case.hex()}])
        if refused:
            raise LeaseError(refused[claim.case])

    @checked()
    def hand_in(
        self, reader: str, told: Sequence[tuple[Asked, Verdict]], *, event: str = ""
    ) -> dict[bytes, str]:
        """Take the answers of a reader who has claimed nothing, or a work order.

        Args:
            reader: Who has read.
            told: Cases, and what is said of them.
            event: Id of the delivery, to be kept.

        Returns:
            Why some were not taken, by case.
        """
        self._refresh()
        now, acts, refused = self._ledger.clock(), list[dict[str, Any]](), dict[bytes, str]()
        for case, verdict in told:
            if why := self.refusal(case, reader, now):
                refused[case.check_key] = why
                continue
            if not self._holds(case, reader, now):
                acts.append(self._claiming(case, reader, _AT_ONCE))
            said = {"act": "answer", "case": case.check_key.hex()}
            acts.append({**said, "said": verdict_message(verdict)})
        return refused | self._record(reader, acts, event)

    @checked()
    def release(self, claim: Claim, *, skip: bool = False) -> None:
        """Give a claim back; one that has run out is gone already.

        Args:
            claim: The claim.
            skip: Whether the case is not offered to this reader again, unless he asks for it.
        """
        act = {"act": "skip" if skip else "release", "case": claim.case.hex()}
        self._record(claim.reader, [{**act, "claim": claim.number}])

    @checked()
    def withdraw(self, case: bytes, reader: str) -> None:
        """Take back what a reader has said of a case whose readers have not all answered.

        Raises:
            ConfigError: If this reader has said nothing of it, or it is answered.
        """
        if self._ledger.checks(keys=[case], states=[CheckState.DONE]):
            raise ConfigError(
                f"nothing to undo at the case {case.hex()[:16]}: it is answered; say what is "
                "right instead, which supersedes"
            )
        if refused := self._record(reader, [{"act": "withdraw", "case": case.hex()}]):
            raise ConfigError(f"nothing to undo at the case {case.hex()[:16]}: {refused[case]}")

    @checked()
    def unblind(self, case: bytes, reader: str) -> None:
        """Record that a reader is shown what other tiers said of a case; once is enough."""
        if not self.has_unblinded(case, reader):
            self._record(reader, [{"act": "unblind", "case": case.hex()}])

    def has_unblinded(self, case: bytes, reader: str) -> bool:
        """Whether a reader was shown what other tiers said of a case."""
        self._refresh()
        return (case, reader) in self._unblinded

    def held(self, reader: str) -> list[Claim]:
        """The claims of a reader that neither are answered nor have run out, the oldest first."""
        self._refresh()
        now, claims = self._ledger.clock(), list[Claim]()
        claimed = self._claimed.get(reader, set())
        for case in list(claimed):
            seat = next((s for s in self._at(case) if s.reader == reader), None)
            if seat is None or seat.said is not None or seat.until <= now:
                claimed.discard(case)
            else:
                claims.append(Claim(case, reader, seat.claim, seat.until))
        return sorted(claims, key=lambda claim: claim.number)

    def blind(self, reader: str) -> bytes | None:
        """An open case that a reader holds and reads blind; None if there is none.

        Until he has answered it, given it back, or asked for what other tiers said, nothing that
        tells of candidates is for him.
        """
        held = [c.case for c in self.held(reader) if (c.case, reader) not in self._unblinded]
        waiting = [CheckState.WAITING]
        for start in range(0, len(held), _LOOKED_AT):
            keys = held[start : start + _LOOKED_AT]
            if rows := self._ledger.checks(keys=keys, states=waiting, payloads=False):
                return rows[0].check_key
        return None

    # -- what came of it -----------------------------------------------------------------------

    def readers(self, case: Asked) -> int:
        """How many readers a case wants, if they agree."""
        return _readers(self._asking.get(case.verifier))

    def said_by(self, reader: str) -> dict[bytes, Verdict]:
        """What a reader has said, by case."""
        self._refresh()
        return {
            case: seat.said
            for case, seats in self._seats.items()
            for seat in seats.values()
            if seat.reader == reader and seat.said is not None
        }

    def said(self, case: bytes, reader: str) -> Verdict | None:
        """What a reader has said of a case; None if nothing."""
        self._refresh()
        return next((told for by, told in self._readings(case) if by == reader), None)

    def concluded(self, cases: Iterable[bytes] | None = None) -> dict[bytes, Conclusion]:
        """The open cases of which all readers have answered: they are to be handed in.

        Args:
            cases: Those to look at; all by default.
        """
        self._refresh()
        found: dict[bytes, Conclusion] = {}
        wanted = self._seats if cases is None else cases
        for check in self._read(case for case in wanted if case not in self._done):
            verifier = self._asking.get(check.verifier)
            if check.state is CheckState.DONE:
                self._done.add(check.check_key)
            if verifier is None or check.state in ENDED:
                continue
            readings = self._readings(check.check_key)
            if (verdict := concluded(verifier, readings)) is not None:
                source = " and ".join(reading.reader for reading in readings)
                found[check.check_key] = Conclusion(verdict, source)
        return found

    def news(self) -> dict[bytes, Conclusion]:
        """What `concluded` gives, if anything was done since this was asked last; else nothing."""
        if not self._refresh() and self._has_told:
            return {}
        self._has_told = True
        return self.concluded()

    @checked()
    def agreement(self, verifier: str) -> Agreement:
        """How far the first two readers of a verifier's cases agree.

        Args:
            verifier: Its name.
        """
        self._refresh()
        if verifier not in self._agreements:
            self._agreements[verifier] = self._agreement(verifier)
        return self._agreements[verifier]

    def _agreement(self, verifier: str) -> Agreement:
        asks = self._asking.get(verifier)
        read = {case: told for case in self._seats if len(told := self._readings(case)) > 1}
        if unknown := [case for case in read if case not in self._verifiers]:
            checks = self._ledger.checks(keys=unknown, payloads=False)
            self._verifiers.update(dict.fromkeys(unknown, ""))
            self._verifiers.update((check.check_key, check.verifier) for check in checks)
        pairs = [
            (told[0].said, told[1].said) for case, told in read.items()
            if self._verifiers.get(case) == verifier
        ]  # fmt: skip
        scored = [
            (one.score, two.score) for one, two in pairs
            if one.score is not None and two.score is not None
        ]  # fmt: skip
        return Agreement(
            len(pairs), sum(_agree(asks, *pair) for pair in pairs),
            alpha_of_labels([(one.outcome, two.outcome) for one, two in pairs]),
            alpha_of_numbers(scored),
        )  # fmt: skip

    # -- seats ---------------------------------------------------------------------------------

    def _wanted(self, case: Asked) -> int:
        """How many readings a case wants, as far as that is known."""
        verifier = self._asking.get(case.verifier)
        readings = self._readings(case.check_key)
        wanted = _readers(verifier)
        if len(readings) >= wanted and concluded(verifier, readings) is None:
            return len(readings) + 1
        return wanted

    def _holds(self, case: Asked, reader: str, now: float) -> bool:
        seats = self._at(case.check_key)
        return any(seat.reader == reader and seat.until > now for seat in seats)

    def _at(self, case: bytes) -> list[_Seat]:
        """The seats of a case, in their order."""
        return [seat for _, seat in sorted(self._seats.get(case, {}).items())]

    def _readings(self, case: bytes) -> list[Reading]:
        told = [(seat.reader, seat.said) for seat in self._at(case)]
        return [Reading(reader, said) for reader, said in told if said is not None]

    def _read(self, cases: Iterable[bytes]) -> list[CheckRow]:
        """Those of some cases of which somebody has said something."""
        keys = [case for case in cases if self._readings(case)]
        return self._ledger.checks(keys=keys, payloads=False) if keys else []

    def _claiming(self, case: Asked, reader: str, lease: float) -> dict[str, Any]:
        """The act that claims the first free seat of a case, or the one that the reader has.

        Raises:
            ConfigError: If that is no time. It would stand in the ledger for good.
        """
        if checked_value("claim", "lease", lease, "float") <= 0.0:
            raise ConfigError(f"claim: lease={lease!r}: give seconds, more than 0")
        now, seats = self._ledger.clock(), self._seats.get(case.check_key, {})
        mine = [number for number, seat in seats.items() if seat.reader == reader]
        numbers = range(1, len(seats) + 2)
        free = [n for n in numbers if n not in seats or not seats[n].is_taken(now)]
        seat = [*mine, *free][0]
        return {"act": "claim", "case": case.check_key.hex(), "seat": seat, "lease": float(lease)}

    def _record(
        self, reader: str, acts: Sequence[dict[str, Any]], event: str = ""
    ) -> dict[bytes, str]:
        """Write down what a reader does; why some of it is void, by case."""
        if not reader or reader != reader.strip() or len(reader) > _LONGEST_NAME:
            raise ConfigError(
                f"{reader!r:.60} is no name of a reader; give one of 1 to {_LONGEST_NAME} "
                "characters, without spaces around it"
            )
        if not acts:
            return {}
        facts = {"by": reader, "acts": list(acts), **({"event": event} if event else {})}
        number = self._ledger.append(Block(READING, self._campaign, facts=facts))
        self._ledger.await_earlier(number)
        return self._refresh()[number]

    def _refresh(self) -> dict[int, dict[bytes, str]]:
        """Add up what was written since; why some of it is void, by entry and case."""
        void: dict[int, dict[bytes, str]] = {}
        newest = self._ledger.newest()
        for entry in self._ledger.entries(
            after=self._cursor, until=newest, kind=READING, campaign=self._campaign
        ):
            facts = self._ledger.read(entry).facts
            refused = void.setdefault(entry.id, {})
            for act in facts["acts"]:
                case = bytes.fromhex(act["case"])
                if why := self._take(case, str(facts["by"]), act, entry):
                    refused.setdefault(case, why)
        if void:
            self._agreements.clear()
        self._cursor = newest
        return void

    def _take(self, case: bytes, reader: str, act: Mapping[str, Any], entry: Entry) -> str:
        """Do what an entry says, by its time; why that can't be, or ""."""
        seats, now = self._seats.setdefault(case, {}), entry.recorded_at
        mine = next((number for number, seat in seats.items() if seat.reader == reader), None)
        if act["act"] == "claim":
            self._claimed.setdefault(reader, set()).add(case)
            return _claim(seats, mine, act, _Seat(reader, entry.id, now + act["lease"]), now)
        if act["act"] == "skip":
            self._skipped.add((case, reader))
        if act["act"] == "unblind":
            self._unblinded.add((case, reader))
            return ""
        if why := _void(seats.get(mine or 0), reader, act, now):
            return why
        if act["act"] == "answer":
            seats[mine or 0].said = verdict_from(act["said"])
        else:
            del seats[mine or 0]
        return ""


def _void(seat: _Seat | None, reader: str, act: Mapping[str, Any], now: float) -> str:
    """Why what a reader does on his seat can't be; "" if it can."""
    if act["act"] == "withdraw":
        has_said = seat is not None and seat.said is not None
        return "" if has_said else f"{reader} has said nothing of it, or has taken it back"
    if seat is None:
        return f"the claim of {reader} has run out, and others read the case now"
    if seat.said is not None:
        return f"{reader} has read it"
    if act.get("claim", seat.claim) != seat.claim:
        return f"{reader} has claimed it anew since"
    has_run_out = act["act"] == "answer" and seat.until <= now
    return f"the claim of {reader} has run out" if has_run_out else ""


def _claim(
    seats: dict[int, _Seat], mine: int | None, act: Mapping[str, Any], seat: _Seat, now: float
) -> str:
    """Put a reader on a seat; a reader has one seat at a case."""
    number, held = int(act["seat"]), seats.get(int(act["seat"]))
    if mine is not None and seats[mine].said is not None:
        return f"{seat.reader} has read it"
    if held is not None and held.reader != seat.reader and held.is_taken(now):
        return "others are reading it"
    if mine is not None:
        del seats[mine]
    seats[number] = seat
    return ""


def _readers(verifier: Verifier | None) -> int:
    return int(getattr(verifier, "readers", 1))


def concluded(verifier: Verifier | None, readings: Sequence[Reading]) -> Verdict | None:
    """What readers say together; None if another one is to be asked.

    Of two who agree it is what replicates would say together: the mean of their scores. Where
    none do, and no third is asked, nothing is known: the verdict abstains and tells what each
    said.

    Args:
        verifier: The verifier that asks; None where its code is not here.
        readings: What was read, in the order of the seats.

    Example:
        >>> from verifier_ladder.tiers.world.expert import ExpertCase
        >>> expert = ExpertCase(readers=2, tolerance=1.0)
        >>> ada, bob = (Reading(n, Verdict.accept(s)) for n, s in (("ada", 3.0), ("bob", 4.0)))
        >>> concluded(expert, [ada]), concluded(expert, [ada, bob]).score
        (None, 3.5)
    """
    wanted = _readers(verifier)
    if len(readings) < wanted:
        return None
    if wanted == 1:
        return readings[0].said
    told = [_told(reading) for reading in readings]
    alike = [
        pair for pair in combinations([r.said for r in readings], 2) if _agree(verifier, *pair)
    ]
    if alike:
        both = combined(min(alike, key=lambda pair: _apart(*pair) or 0.0))
        evidence = {name: fact for name, fact in both.evidence.items() if name != "replicates"}
        # Two who say the same don't make it certain.
        spread = both.uncertainty or None
        return replace(both, uncertainty=spread, evidence={**evidence, READERS: told})
    if len(readings) == wanted and getattr(verifier, "third_reader", True):
        return None
    return Verdict.abstain("its readers disagree", evidence={READERS: told})


def _told(reading: Reading) -> dict[str, str]:
    """What a reader has said, in words, with the comment if there is one."""
    comment = reading.said.evidence.get(COMMENT)
    said = {"reader": reading.reader, "said": words_of_answer(reading.said)}
    return said if comment is None else {**said, COMMENT: str(comment)}


def _agree(verifier: Verifier | None, one: Verdict, other: Verdict) -> bool:
    """Whether two readings are the same, within what their verifier declares."""
    tolerance = float(getattr(verifier, "tolerance", 0.0))
    apart = _apart(one, other)
    if one.outcome != other.outcome or bound_of(one.evidence) != bound_of(other.evidence):
        return False
    if apart is None:
        return one.score is other.score
    return apart <= tolerance or isclose(apart, tolerance, rel_tol=1e-9)


def _apart(one: Verdict, other: Verdict) -> float | None:
    """How far two scores lie apart; None if not both have one."""
    if one.score is None or other.score is None:
        return None
    return abs(one.score - other.score)
