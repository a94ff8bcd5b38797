"""Standings: which work is the same, and what verdicts amount to."""

from typing import Any

import pytest
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.keys import content_key
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def made(name: str, tier: str = "fast", version: str = "1", **attributes: Any) -> Verifier:
    return FunctionVerifier(len, name=name, version=version, tier=tier, **attributes)


def standing(problem: Verdict | None = None, **verdicts: Verdict) -> Standing:
    candidate = Candidate("text", "CCO")
    result = Standing(candidate, content_key("text", "CCO"), "OCC", problem)
    for name, verdict in verdicts.items():
        result.learn(name, verdict)
    return result


# ---- Check keys

TASK = {"answer": "4", "tests": ["a"], "note": 1}


def key(
    verifier: Verifier, task: dict[str, Any] | None = None, turns: tuple[Turn, ...] = (),
    raw: str = "OCC", content: str = "CCO",
) -> bytes:  # fmt: skip
    candidate = Candidate("text", content, task, turns)
    return Standing(candidate, content_key("text", content), raw).key_of(verifier)


def test_another_content_is_another_check() -> None:
    assert key(made("v")) != key(made("v"), content="CCN")


def test_every_spelling_of_one_content_is_the_same_check() -> None:
    assert key(made("v")) == key(made("v"), raw="C(O)C")


def test_a_verifier_that_reads_raw_text_tells_spellings_apart() -> None:
    raw = made("v", reads="raw")

    assert key(raw) != key(raw, raw="C(O)C")
    assert key(raw) == key(raw, content="CCN")


@pytest.mark.parametrize("fields", [(), [], ("missing",)])
def test_task_fields_that_are_not_read_do_not_matter(fields: Any) -> None:
    blind = made("v", task_fields=fields)

    assert key(blind) == key(blind, {}) == key(blind, TASK) == key(blind, {"answer": "5"})


def test_task_fields_that_are_read_matter() -> None:
    reads = made("v", task_fields=["answer"])

    assert key(reads, TASK) == key(reads, {"answer": "4", "note": 2})
    assert len({key(reads, TASK), key(reads, {"answer": "5"}), key(reads, {}), key(reads)}) == 3


def test_a_verifier_may_read_all_task_fields() -> None:
    reads = made("v", task_fields=None)

    assert key(reads, TASK) != key(reads, {**TASK, "note": 2})
    assert key(reads, TASK) == key(reads, dict(reversed(TASK.items())))


def test_a_trajectory_matters_only_to_those_who_read_it() -> None:
    one, other = (Turn("2+2", "4"),), (Turn("2+2", "5"),)
    reads = made("v", reads_turns=True)

    assert key(made("v"), turns=one) == key(made("v"), turns=other) == key(made("v"))
    assert len({key(reads), key(reads, turns=one), key(reads, turns=other)}) == 3
    assert key(reads, turns=one) != key(reads, turns=(Turn("2+2", "4", {"tool": "x"}),))


def test_turns_with_lone_surrogates_have_a_key() -> None:
    reads = made("v", reads_turns=True)

    assert key(reads, turns=(Turn("\ud800"),)) != key(reads, turns=(Turn("\udfff"),))


@pytest.mark.parametrize(
    "other",
    [
        made("w"), made("v", version="2"), made("v", settings={"limit": 1}),
        made("v", tools={"rdkit": "2025.3"}), made("v", reads="raw"),
    ],
    ids=repr,
)  # fmt: skip
def test_another_verifier_version_setting_or_tool_is_another_check(other: Verifier) -> None:
    assert key(made("v")) != key(other)


@pytest.mark.parametrize(
    "other", [made("v", timeout=5.0), made("v", "world"), made("v", role="gate")], ids=repr
)
def test_limits_and_places_do_not_make_another_check(other: Verifier) -> None:
    assert key(made("v")) == key(other)


# ---- What a verifier sees

WHOLE = Standing(
    Candidate("text", "CCO", TASK, (Turn("2+2", "4"),)), content_key("text", "CCO"), "OCC"
)


@pytest.mark.parametrize(
    ("declared", "seen"),
    [
        ({}, Candidate("text", "CCO", {})),
        ({"task_fields": ["answer"]}, Candidate("text", "CCO", {"answer": "4"})),
        ({"task_fields": ["answer", "other"]}, Candidate("text", "CCO", {"answer": "4"})),
        ({"task_fields": None}, Candidate("text", "CCO", TASK)),
        ({"reads_turns": True}, Candidate("text", "CCO", {}, (Turn("2+2", "4"),))),
        ({"reads": "raw"}, Candidate("text", "OCC", {})),
    ],
    ids=repr,
)
def test_a_verifier_sees_only_what_it_declares(declared: dict[str, Any], seen: Candidate) -> None:
    assert seen == WHOLE.seen_by(made("v", **declared))


def test_what_a_verifier_does_to_its_task_stays_with_it() -> None:
    seen = WHOLE.seen_by(made("v", task_fields=None))
    dict.clear(seen.task)  # type: ignore[arg-type]

    assert TASK == WHOLE.candidate.task


def test_a_kind_stands_for_a_candidate_that_is_canonical_as_given() -> None:
    bare = Standing("text", content_key("text", "CCO"), "CCO")

    assert Candidate("text", "CCO") == bare.candidate == bare.seen_by(made("v"))
    assert bare.candidate is bare.candidate
    assert bare.key_of(made("v")) == key(made("v"))


def test_a_bare_candidate_is_seen_as_it_is() -> None:
    bare = standing()

    assert bare.seen_by(made("v")) is bare.candidate
    assert "OCC" == bare.seen_by(made("v", reads="raw")).content


def test_an_outage_can_be_forgotten() -> None:
    one = standing(cheap=Verdict.accept(1.0), dear=Verdict.abstain("killed", failed_at="engine"))

    one.forget_failures()

    assert {"cheap"} == set(one.verdicts)
    assert one.lapsed


def test_a_considered_abstention_is_not_forgotten() -> None:
    one = standing(cheap=Verdict.abstain("not my kind"))

    one.forget_failures()

    assert {"cheap"} == set(one.verdicts)


def test_candidates_are_told_apart_by_content_task_and_turns() -> None:
    bare = Standing("text", content_key("text", "CCO"), "CCO")
    wholes = [
        Candidate("text", "CCO", task, turns)
        for task in (None, {"answer": "4"}, {"answer": "5"})
        for turns in ((), (Turn("2+2", "4"),), (Turn("2+2", "5"),))
    ]
    subjects = [Standing(c, content_key("text", "CCO"), "OCC").subject for c in wholes]

    assert len(wholes) == len(set(subjects))
    assert bare.subject == subjects[0] == standing().subject
    assert bare.subject != Standing("text", content_key("text", "CCN"), "CCN").subject
