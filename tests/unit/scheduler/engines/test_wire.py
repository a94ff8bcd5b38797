"""What crosses the pipe is data."""

import pickle
import resource
from dataclasses import dataclass, replace
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.cost import Cost
from verifier_ladder.errors import EngineError, ToolError
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines import wire
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict
from verifier_ladder.verifiers import Verifier

VERIFIER = FunctionVerifier(float, name="wired", version="1", unit="eV")


def crossed(*answers: Any, verifier: Verifier = VERIFIER, seconds: Any = 0.25) -> list[Verdict]:
    said = wire.pack((list(map(wire.Encoder(verifier).item, answers)), None))
    items, _ = wire.read_rest(wire.Item, said, len(answers))
    return wire.decode(items, verifier.unit, seconds)


def same(verdict: Verdict, seconds: float) -> Verdict:
    return wire.rebuild(wire.flatten(verdict), seconds)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
VERDICTS = st.builds(
    Verdict,
    st.sampled_from([Outcome.ACCEPT, Outcome.REJECT]),
    NUMBERS,
    st.none() | st.floats(0, 1e300),
    TEXT,
    TEXT,
    TEXT,
    st.none() | st.sampled_from(["tool", "verifier"]),
    st.lists(st.builds(TurnVerdict, st.integers(0, 9), NUMBERS, TEXT), max_size=2).map(tuple),
    st.dictionaries(TEXT, NUMBERS | TEXT | st.booleans() | st.integers(-(2**53), 2**53)),
    st.builds(Cost, st.floats(0, 1e9), money=st.floats(0, 1e9)),
)


@given(VERDICTS)
def test_a_verdict_comes_back_equal(verdict: Verdict) -> None:
    assert verdict.cost is not None
    told = replace(verdict.cost, seconds=verdict.cost.seconds or 0.25)

    assert [replace(verdict, cost=told)] == crossed(verdict)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.booleans()))
def test_plain_answers_mean_the_same_on_both_sides(answers: list[float | bool]) -> None:
    here = [VERIFIER.verdict_of(answer) for answer in answers]

    assert [same(verdict, 0.25) for verdict in here] == crossed(*answers)


@pytest.mark.parametrize("answer", [nan, inf, object(), "text", [1.0], 10**400, 1j])
def test_what_is_no_verdict_is_an_abstention_of_the_verifier(answer: object) -> None:
    first, second = crossed(1.0, answer)

    assert 1.0 == first.score
    assert ("verifier", None) == (second.failed_at, second.score)


def test_an_answer_that_fights_back_is_an_abstention() -> None:
    class Trap:
        def item(self) -> float:
            raise KeyError("trap")

    assert ["verifier"] == [verdict.failed_at for verdict in crossed(Trap())]


def test_a_verdict_changed_to_nan_after_it_was_made_is_an_abstention() -> None:
    verdict = Verdict.accept(1.0)
    object.__setattr__(verdict, "score", nan)

    assert "verifier" == crossed(verdict)[0].failed_at


def test_a_verdict_that_contradicts_itself_is_an_abstention_of_the_verifier() -> None:
    verdict = Verdict.abstain("unsure")
    object.__setattr__(verdict, "score", 1.0)

    assert ("verifier", None) == (crossed(verdict)[0].failed_at, crossed(verdict)[0].score)


def test_a_subclass_arrives_as_a_plain_verdict() -> None:
    class Special(Verdict):
        __slots__ = ()

        def __reduce__(self) -> Any:
            return eval, ("1/0",)

    (arrived,) = crossed(Special(Outcome.ACCEPT, 2.0))

    assert Verdict is type(arrived)
    assert 2.0 == arrived.score


@given(st.text() | st.binary() | st.text(st.characters(categories=["Cs", "Ll"])))
def test_a_canonical_form_comes_back_equal_with_whatever_is_in_it(form: str | bytes) -> None:
    came = wire.form_of(wire.reader(wire.FormItem)(wire.pack(wire.form_item(form))))

    assert (form, type(form)) == (came, type(came))


FIELDS = wire.flatten(
    Verdict.accept(
        1.0, turns=(TurnVerdict(0),), evidence={"a": 1}, scores={"s": 1}, artifacts={"a": b"1"}
    )
)
NESTED: Any = ()
for _ in range(100):
    NESTED = (NESTED,)
ODD = {"depth": NESTED, "a table": {"a": 1}, "a number": 2**63, "a text": "x" * 2**17}


@pytest.mark.parametrize(
    ("place", "odd"),
    [(n, odd) for n in range(12) for odd in ODD if odd != "a number" or n not in (1, 2)],
)
def test_fields_of_another_type_or_size_are_refused_before_anything_is_made_of_them(
    place: int, odd: str
) -> None:
    said = (*FIELDS[:place], ODD[odd], *FIELDS[place + 1 :])

    with pytest.raises(EngineError, match="can't be read") as refusal:
        wire.read_fields(wire.pack(said))

    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("count", [11, 13])
def test_fields_too_few_or_too_many_are_refused(count: int) -> None:
    with pytest.raises(EngineError, match=f"length 12, got {count}"):
        wire.read_fields(wire.pack((FIELDS * 2)[:count]))


def test_no_more_answers_are_read_than_were_asked_for() -> None:
    few, many = wire.pack(([True] * 4, None)), wire.pack(([True] * 1000, None))

    assert ([True] * 4, None) == wire.read_rest(wire.Item, few, 4)
    with pytest.raises(EngineError, match="length <= 8"):
        wire.read_rest(wire.Item, many, 4)


MOST = b"\xff" * 4
GREEDY = {
    "a list": (list[wire.Item], b"\xdd" + MOST),
    "fields": (wire.Fields, b"\xdd" + MOST),
    "a text": (str, b"\xdb" + MOST),
    "bytes": (bytes, b"\xc6" + MOST),
    "a form": (wire.FormItem, b"\xc6" + MOST),
    "a table": (wire.Item, b"\xdf" + MOST),
}


@pytest.mark.parametrize(("kind", "message"), GREEDY.values(), ids=list(GREEDY))
def test_a_few_bytes_get_no_gigabytes(kind: Any, message: bytes) -> None:
    read = wire.reader(kind)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, hard))
    try:
        with pytest.raises(EngineError, match=r"can't be read: (Input|Expected)"):
            read(message)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize("message", [b"", b"garbage", pickle.dumps(("need", 0.0)), wire.pack(1.0)])
def test_garbage_is_refused(message: bytes) -> None:
    with pytest.raises(EngineError, match="can't be read"):
        wire.read_reply(message)


@pytest.mark.parametrize("turn", [-1, 2**53, 2**64])
def test_a_turn_that_no_ledger_can_count_is_an_abstention(turn: int) -> None:
    odd = TurnVerdict(0)
    object.__setattr__(odd, "turn", turn)

    (arrived,) = crossed(Verdict.accept(1.0, turns=(odd,)))

    assert ("verifier", None) == (arrived.failed_at, arrived.score)
    assert "a turn's index" in arrived.reason


def test_where_a_step_stands_arrives() -> None:
    told = (TurnVerdict(0, 0.5, "better", (3, 9)), TurnVerdict(1))
    (arrived,) = crossed(Verdict.accept(1.0, turns=told))

    assert told == arrived.turns


def test_a_span_that_no_ledger_can_count_is_an_abstention() -> None:
    (arrived,) = crossed(Verdict.accept(1.0, turns=(TurnVerdict(0, span=(0, 2**60)),)))

    assert "index and span" in arrived.reason


def test_huge_evidence_is_cut_field_by_field_and_the_verdict_kept() -> None:
    evidence = {"log": "x" * 100_000, "energy": -4.7, "more": "y" * 100_000, "table": [1] * 99_999}
    (arrived,) = crossed(Verdict.accept(1.0, evidence=evidence))

    assert (1.0, -4.7) == (arrived.score, arrived.evidence["energy"])
    assert {"log", "energy", "more", "dropped"} == arrived.evidence.keys()
    assert 40_000 < len(arrived.evidence["log"]) + len(arrived.evidence["more"]) < 65_536
    assert (
        "log was cut; more was cut; table was too large, or too deep"
        == (arrived.evidence["dropped"])
    )


@given(evidence=st.dictionaries(st.text(max_size=9), st.text() | st.integers() | st.floats()))
def test_small_fields_outlive_a_large_one(evidence: dict[str, Any]) -> None:
    large = {**evidence, "large": "x" * 100_000}
    (arrived,) = crossed(Verdict.accept(1.0, evidence=large))
    (small,) = crossed(Verdict.accept(1.0, evidence=evidence))

    for name, value in small.evidence.items():
        assert name in {"large", "dropped"} or str(value) == str(arrived.evidence[name])
    assert arrived.evidence["large"].endswith("[cut]")


def test_of_many_fields_the_smallest_are_kept() -> None:
    evidence = {f"field {n}": "x" * (n % 100) for n in range(5_000)}
    (arrived,) = crossed(Verdict.accept(1.0, evidence=evidence))

    assert 900 < len(arrived.evidence) <= 1_001
    assert arrived.evidence["dropped"].endswith("4000 fields more")


def test_evidence_that_is_longer_than_it_looks_is_dropped_and_the_verdict_kept() -> None:
    @dataclass
    class Facts:
        text: str

    (arrived,) = crossed(Verdict.accept(1.0, evidence={"all": Facts("x" * 2**20)}))

    assert 1.0 == arrived.score
    assert {"dropped": "all was too large, or too deep"} == arrived.evidence


def test_evidence_that_is_not_json_is_dropped_and_the_verdict_kept() -> None:
    (arrived,) = crossed(Verdict.accept(1.0, evidence={"all": object()}))

    assert 1.0 == arrived.score
    assert "not JSON" in arrived.evidence["dropped"]


@pytest.mark.parametrize("depth", [100, 3_000, inf])
def test_evidence_without_a_floor_is_dropped_and_the_verdict_kept(depth: float) -> None:
    evidence: dict[str, Any] = {}
    if depth == inf:
        evidence["itself"] = evidence
    else:
        for _ in range(int(depth)):
            evidence = {"below": evidence}

    (arrived,) = crossed(Verdict.accept(1.0, evidence=evidence))

    assert 1.0 == arrived.score
    assert "too deep" in arrived.evidence["dropped"]


@pytest.mark.parametrize("evidence", [b'{"a":' * 300 + b"1" + b"}" * 300, b'{"a":', b"[1]"])
def test_evidence_that_no_ledger_could_write_is_an_abstention(evidence: bytes) -> None:
    said = (*FIELDS[:8], evidence, None, *FIELDS[10:])

    assert ("verifier", None) == (wire.rebuild(said, 1.0).failed_at, wire.rebuild(said, 1.0).score)


def test_flat_evidence_may_be_long() -> None:
    evidence = {"all": [[n] for n in range(1000)]}

    assert evidence == crossed(Verdict.accept(1.0, evidence=evidence))[0].evidence


def test_long_reasons_are_cut() -> None:
    (arrived,) = crossed(Verdict.reject("x" * 10**6))

    assert arrived.reason.endswith("… [cut]")
    assert len(arrived.reason) < wire.LARGEST_TEXT + 20


def test_lone_surrogates_are_replaced() -> None:
    (arrived,) = crossed(Verdict.reject("bad \ud800 text"))

    assert "bad ? text" == arrived.reason


def test_a_stated_cost_is_kept_and_its_cpu_time_is_measured_where_it_names_none() -> None:
    for stated, told in (
        (Cost(money=2.0), Cost(seconds=0.25, money=2.0)), (Cost(7.0), Cost(7.0)),
    ):  # fmt: skip
        assert told == crossed(Verdict(Outcome.ACCEPT, 1.0, cost=stated))[0].cost


def test_each_candidate_may_have_its_own_cost() -> None:
    answers = [True, False, 1.0]

    arrived = crossed(*answers, seconds=[1.0, 2.0, 3.0])

    assert [Cost(1.0), Cost(2.0), Cost(3.0)] == [verdict.cost for verdict in arrived]


def test_a_verdict_of_its_own_making_is_respected() -> None:
    class Strict(FunctionVerifier):
        def verdict_of(self, answer: object) -> Verdict:
            return Verdict.abstain(f"{answer} never counts", failed_at=ToolError.boundary)

    arrived = crossed(1.0, 2.0, verifier=Strict(float, name="strict", version="1"))

    assert ["tool", "tool"] == [verdict.failed_at for verdict in arrived]
