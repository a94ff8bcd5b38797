"""Reviews: who may read which case, and what readers say together."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError, LeaseError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, CheckRow
from verifier_ladder.measurement import READERS, Bound
from verifier_ladder.reviews import READING, Claim, Reading, Reviews, concluded
from verifier_ladder.tiers.world.expert import ExpertCase
from verifier_ladder.verdict import Outcome, Verdict

PEOPLE = ("ada", "bob", "cy", "dee")
YES, NO = Verdict.accept(1.0), Verdict.reject("no", score=0.0)


class Case(NamedTuple):
    check_key: bytes
    verifier: str = "expert-case"


CASES = [Case(bytes([number]) * 32) for number in range(2)]


@dataclass
class Room:
    """People at one ledger, each at a machine of their own, and its clock."""

    readers: int = 2
    now: float = 1000.0
    ledger: Ledger = field(default_factory=lambda: open_ledger(None))

    def __post_init__(self) -> None:
        self.ledger.clock = lambda: self.now  # type: ignore[method-assign]
        self.ladder = Ladder("l", [ExpertCase(kind="text", readers=self.readers, tolerance=1.0)])

    def reviews(self) -> Reviews:
        return Reviews(self.ledger, "c", self.ladder)

    def claim(self, who: str, cases: Sequence[Case] = CASES[:1], lease: float = 60.0) -> Claim:
        found = self.reviews().claim(cases, who, lease=lease)
        assert found is not None
        return found[1]

    def read(self, who: str, verdict: Verdict = YES, case: Case = CASES[0]) -> None:
        self.reviews().answer(self.claim(who, [case]), verdict)

    def may_read(self, who: str) -> list[Case]:
        return list(self.reviews().free(CASES, who))


# -- claims and leases -----------------------------------------------------------------------


def test_a_claimed_case_is_offered_to_nobody_else_until_the_lease_runs_out() -> None:
    room = Room(readers=1)
    room.claim("ada")

    assert CASES[1:] == room.may_read("bob")
    room.now += 59.0
    assert CASES[1:] == room.may_read("bob")
    room.now += 1.0
    assert CASES == room.may_read("bob")


def test_a_reader_who_claims_again_has_the_case_longer() -> None:
    room = Room(readers=1)
    room.claim("ada")
    room.now += 50.0
    room.claim("ada")
    room.now += 50.0

    assert CASES[1:] == room.may_read("bob")


def test_two_read_a_case_at_the_same_time_and_a_third_does_not() -> None:
    room = Room()
    room.claim("ada")
    room.claim("bob")

    assert CASES[1:] == room.may_read("cy")
    assert CASES == room.may_read("ada")


def test_nobody_reads_a_case_twice() -> None:
    room = Room()
    room.read("ada")
    room.now += 10**6

    assert CASES[1:] == room.may_read("ada")
    assert room.reviews().claim(CASES[:1], "ada") is None


@pytest.mark.parametrize("is_taken", [False, True], ids=["nobody has it", "another has it"])
def test_an_answer_under_a_claim_that_has_run_out_is_refused(*, is_taken: bool) -> None:
    room = Room(readers=1)
    claim = room.claim("ada")
    room.now += 60.0
    if is_taken:
        room.claim("bob")

    with pytest.raises(LeaseError, match="the claim of ada has run out"):
        room.reviews().answer(claim, YES)

    assert {} == room.reviews().said_by("ada")
    if not is_taken:
        room.reviews().answer(room.claim("ada"), YES)
        assert {CASES[0].check_key: YES} == room.reviews().said_by("ada")


def test_an_answer_under_a_claim_that_was_made_anew_is_refused() -> None:
    room = Room(readers=1)
    first = room.claim("ada")
    room.claim("ada")

    with pytest.raises(LeaseError, match="claimed it anew"):
        room.reviews().answer(first, YES)


def test_what_is_given_back_is_offered_again_and_what_is_skipped_to_others_only() -> None:
    room = Room(readers=1)
    room.reviews().release(room.claim("ada"))
    assert CASES == room.may_read("ada")

    room.reviews().release(room.claim("ada"), skip=True)

    assert CASES[1:] == room.may_read("ada")
    assert CASES == room.may_read("bob")
    assert CASES == list(room.reviews().free(CASES, "ada", skipped=True))


def test_what_was_said_is_withdrawn_and_said_anew() -> None:
    room = Room()
    room.read("ada", YES)
    room.reviews().withdraw(CASES[0].check_key, "ada")

    assert {} == room.reviews().said_by("ada")
    room.read("ada", NO)
    assert {CASES[0].check_key: NO} == room.reviews().said_by("ada")
    with pytest.raises(ConfigError, match="bob has said nothing of it"):
        room.reviews().withdraw(CASES[0].check_key, "bob")


def test_answers_without_a_claim_are_taken_where_there_is_a_seat() -> None:
    room = Room()
    room.claim("ada")
    room.claim("bob")

    refused = room.reviews().hand_in("cy", [(case, YES) for case in CASES])
    assert {CASES[0].check_key: "others are reading it"} == refused
    assert {} == room.reviews().hand_in("ada", [(CASES[0], NO)])
    assert {CASES[1].check_key: YES} == room.reviews().said_by("cy")


def test_a_work_order_claims_what_its_reader_may_read() -> None:
    room = Room()
    room.read("ada")

    assert CASES[1:] == room.reviews().claim_all(CASES, "ada", lease=600.0)
    assert CASES == room.reviews().claim_all(CASES, "bob", lease=600.0)
    assert CASES[1:] == room.may_read("ada")
    assert [] == room.may_read("cy")


@pytest.mark.parametrize("lease", [0.0, -1.0, float("nan"), float("inf"), "60", None])
def test_a_lease_is_a_time_and_nothing_else_is_written(lease: Any) -> None:
    room = Room()
    before = room.ledger.newest()

    with pytest.raises(ConfigError, match="lease"):
        room.reviews().claim(CASES, "ada", lease=lease)

    assert before == room.ledger.newest()


@pytest.mark.parametrize("name", ["", " ", " ada", "a" * 201])
def test_a_reader_has_a_name(name: str) -> None:
    with pytest.raises(ConfigError, match="is no name of a reader"):
        Room().reviews().claim(CASES, name)


ACTS = st.tuples(
    st.sampled_from(["claim", "claim", "answer", "answer", "release", "skip", "withdraw", "wait"]),
    st.sampled_from(PEOPLE), st.sampled_from(CASES), st.sampled_from([1.0, 30.0, 100.0]),
    st.sampled_from([YES, NO]),
)  # fmt: skip


Named = tuple[str, Case]


def act(room: Room, held: dict[Named, Claim], said: dict[Named, Verdict], one: Any) -> None:
    """Have somebody do something, and keep who was told that he holds or has read what."""
    what, who, case, seconds, verdict = one
    name, claim = (who, case), held.get((who, case))
    if what == "wait":
        room.now += seconds
    elif what == "claim" and (found := room.reviews().claim([case], who, lease=seconds)):
        held[name] = found[1]
    elif what == "withdraw" and name in said:
        room.reviews().withdraw(case.check_key, who)
        del said[name]
    elif what in {"release", "skip"} and claim is not None:
        room.reviews().release(held.pop(name), skip=what == "skip")
    elif what == "answer" and claim is not None:
        is_live = claim.until > room.now
        with nullcontext() if is_live else pytest.raises(LeaseError):
            room.reviews().answer(held.pop(name), verdict)
        if is_live:
            said[name] = verdict


@settings(max_examples=50)
@given(st.lists(ACTS, max_size=25))
def test_no_seat_is_held_by_two_and_no_reader_reads_a_case_twice(acts: list[Any]) -> None:
    room, held, said = Room(), dict[Named, Claim](), dict[Named, Verdict]()
    for one in acts:
        act(room, held, said, one)
        for case in CASES:
            live = {who for (who, of), c in held.items() if of == case and c.until > room.now}
            read = {who: v for (who, of), v in said.items() if of == case}
            wanted = 2 + (YES in read.values() and NO in read.values())
            assert live.isdisjoint(read)
            assert len(live) + len(read) <= wanted
    for who in PEOPLE:
        mine = {case.check_key: v for (name, case), v in said.items() if name == who}
        assert mine == room.reviews().said_by(who)


@given(st.lists(st.tuples(st.sampled_from(PEOPLE), st.integers(1, 3)), max_size=12))
def test_of_those_who_claim_a_seat_at_once_the_first_has_it(claims: list[Any]) -> None:
    room, key = Room(), CASES[0].check_key
    numbers: dict[Any, Any] = {}
    for who, seat in claims:  # Each has looked before any of them wrote.
        act = {"act": "claim", "case": key.hex(), "seat": seat, "lease": 60.0}
        entry = room.ledger.append(Block(READING, "c", facts={"by": who, "acts": [act]}))
        numbers.setdefault(who, []).append(entry)

    heard = []
    for who, entries in numbers.items():
        for entry in entries:
            try:
                room.reviews().answer(Claim(key, who, entry, 0.0), YES)
            except LeaseError:
                continue
            heard.append(who)

    assert len(heard) == len(set(heard)) <= len({seat for _, seat in claims})
    assert bool(claims) == bool(heard)


# -- what readers say together ----------------------------------------------------------------


def together(*said: Verdict, **given: Any) -> Verdict | None:
    expert = ExpertCase(kind="text", **{"readers": 2, "tolerance": 1.0, **given})
    return concluded(expert, [Reading(*each) for each in zip(PEOPLE, said, strict=False)])


def test_one_reader_is_believed_as_he_is() -> None:
    assert YES is together(YES, readers=1)


def test_of_two_who_agree_it_is_the_mean_with_what_each_has_said() -> None:
    verdict = together(Verdict.accept(3.0), Verdict.accept(4.0))

    assert verdict is not None
    assert (Outcome.ACCEPT, 3.5, 0.5) == (verdict.outcome, verdict.score, verdict.uncertainty)
    assert {
        READERS: [{"reader": "ada", "said": "accept 3"}, {"reader": "bob", "said": "accept 4"}]
    } == verdict.evidence


def test_two_who_say_the_same_are_not_certain() -> None:
    verdict = together(Verdict.accept(3.0), Verdict.accept(3.0))

    assert verdict is not None
    assert (3.0, None) == (verdict.score, verdict.uncertainty)


@pytest.mark.parametrize(
    "said",
    [
        (YES,), (YES, NO), (Verdict.accept(3.0), Verdict.accept(4.1)),
        (Verdict.accept(3.0), Verdict.abstain("declined")),
        (Verdict.accept(3.0), Verdict.accept(evidence={"bound": Bound("<", 9.0).as_json()})),
    ],
)  # fmt: skip
def test_who_has_not_answered_or_does_not_agree_is_waited_for(said: tuple[Verdict, ...]) -> None:
    assert together(*said) is None


def test_scores_that_lie_just_as_far_apart_as_they_may_agree() -> None:
    assert together(Verdict.accept(1.1), Verdict.accept(1.0), tolerance=0.1) is not None


def test_the_third_reader_decides_with_whom_he_agrees() -> None:
    said = Verdict.accept(3.0), Verdict.accept(7.0), Verdict.accept(6.5)
    verdict = together(*said)

    assert verdict is not None
    assert 6.75 == verdict.score
    assert 3 == len(verdict.evidence[READERS])


@pytest.mark.parametrize(
    ("said", "settings"),
    [
        ((1.0, 5.0, 9.0), {}),
        ((1.0, 5.0), {"third_reader": False}),
    ],
)
def test_where_none_agree_nothing_is_known(said: tuple[float, ...], settings: Any) -> None:
    verdict = together(*map(Verdict.accept, said), **settings)

    assert verdict is not None
    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert "its readers disagree" == verdict.reason
    assert len(said) == len(verdict.evidence[READERS])


def test_a_third_is_asked_where_two_disagree_and_none_where_they_agree() -> None:
    room = Room()
    for case, others in ((CASES[0], NO), (CASES[1], YES)):
        room.read("ada", YES, case)
        room.read("bob", others, case)

    assert CASES[:1] == room.may_read("cy")
    room.read("cy", YES)
    assert [] == room.may_read("dee")


def test_agreement_is_worked_out_anew_only_when_somebody_has_done_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room, asked = Room(), list[object]()
    reviews, checks = room.reviews(), room.ledger.checks

    def counted(**how: Any) -> list[CheckRow]:
        asked.append(how)
        return checks(**how)

    monkeypatch.setattr(room.ledger, "checks", counted)
    room.read("ada")
    found = [reviews.agreement("expert-case") for _ in range(3)]
    assert not asked  # Nobody else has read it.
    assert found[0] == found[2]

    for who in ("bob", "cy"):
        room.read(who, NO)
        reviews.agreement("expert-case")
        assert len(asked) == 1
