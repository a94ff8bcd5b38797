"""Teachers that score a student's tokens: a server that plays vLLM, and services with torch."""

import json
import pickle
from collections.abc import Iterator, Sequence
from math import exp, fsum, log
from pathlib import Path
from typing import Any

import pytest
from faketeacher import SIZE, FakeTeacher, encoded, logprob
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.datasets import training_set
from verifier_ladder.errors import ConfigError, ServiceError, ToolError
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.simulation.teacher import Teacher
from verifier_ladder.tiers.simulation.teachermodel import TeacherService, _say
from verifier_ladder.tiers.simulation.tokenscores import (
    ARTIFACT,
    TokenScores,
    as_artifact,
    checked_scores,
    mixed,
    read_artifact,
    vocabulary_digest,
)
from verifier_ladder.transcript import Transcript
from verifier_ladder.verdict import Outcome, Verdict


@pytest.fixture(scope="module")
def steady() -> Iterator[FakeTeacher]:
    with FakeTeacher() as running:
        yield running


@pytest.fixture
def fake() -> Iterator[FakeTeacher]:
    with FakeTeacher() as running:
        yield running


def written(text: str, prompt: str = "say ") -> Candidate:
    task = {"prompt_ids": encoded(prompt), "completion_ids": encoded(text)}
    return Candidate("text", text, task)


def made(fake: FakeTeacher, *models: str, **settings: Any) -> Teacher:
    teachers = {model: {"model": model, "url": fake.url} for model in models or ("fake",)}
    return Teacher(**{"teachers": teachers, "timeout": 300.0, **settings})


def told(verdict: Verdict) -> dict[str, Any]:
    data = verdict.files[ARTIFACT].data
    assert data is not None
    return read_artifact(data)


class TestTeacher(VerifierTestCase):
    strict = True
    cost_factor = 100.0

    @pytest.fixture
    def verifier(self, steady: FakeTeacher) -> Teacher:
        return made(steady)

    @pytest.fixture
    def candidates(self) -> list[Candidate]:
        return [written("abc"), written("hello world")]


# ---- One teacher behind an endpoint


def test_each_token_has_the_log_probability_that_the_teacher_gives_it(fake: FakeTeacher) -> None:
    (verdict,) = made(fake, top=3).judge([written("ab z")])

    told_of = told(verdict)
    pairs = list(zip(encoded(" ab "), encoded("ab z"), strict=True))
    wanted = [logprob(before, token) for before, token in pairs]
    assert pytest.approx(wanted, abs=1e-6) == told_of["logprobs"]
    assert pytest.approx(fsum(wanted) / 4) == verdict.score
    assert encoded("ab z") == told_of["token_ids"]
    assert [[t, (t + 1) % SIZE, (t + 2) % SIZE] for t, _ in pairs] == told_of["top_ids"]
    assert pytest.approx([1 - 1.75 / (2 - 2.0 ** (1 - SIZE))] * 4, abs=1e-5) == told_of["tail"]
    assert ("nats", 4) == (verdict.unit, verdict.evidence["tokens"])


def test_nothing_of_the_artifact_reaches_a_learner(fake: FakeTeacher) -> None:
    with vl.Campaign.open("taught", ladder=vl.Ladder("taught", [made(fake)])) as campaign:
        (reward,) = campaign.score([written("abc")], deadline=300)

    assert reward.value is not None
    assert ((), {}, "") == (reward.turns, dict(reward.scores), reward.feedback)


def test_a_request_is_what_vllm_documents(fake: FakeTeacher) -> None:
    made(fake, top=5).judge([written("abc")])

    assert ["/v1/completions"] == fake.paths
    assert {
        "model": "fake", "prompt": encoded("say abc"), "max_tokens": 1, "temperature": 0.0,
        "prompt_logprobs": 5,
    } == fake.asked[0][1]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "why"),
    [("one less", "reads 6 tokens where the student has 7: it has another tokenizer"),
     ("one more", "another tokenizer"), ("no place", "says nothing of the student's token 2"),
     ("other tokens", "says nothing of the student's token 2"),
     ("other letters", "reads the student's tokens as 'bcd', and it wrote 'abc'"),
     ("nan", "not JSON"), ("text", "answers as no teacher does"),
     ("positive", "no log-probability"), ("too sure", "more than 1"),
     ("no number", "no number"), ("no places", "answers as no teacher does"),
     ("down", "status 500")],
)  # fmt: skip
def test_a_teacher_that_fails_or_has_another_tokenizer_is_unknown(
    fake: FakeTeacher, model: str, why: str
) -> None:
    (verdict,) = made(fake, model).judge([written("abc")])

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert why in verdict.reason


def test_a_token_that_the_teacher_does_not_have_is_refused(fake: FakeTeacher) -> None:
    task = {"prompt_ids": [1], "completion_ids": [2, SIZE]}
    (verdict,) = made(fake).judge([Candidate("text", "c?", task)])

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert "another tokenizer" in verdict.reason


def test_one_completion_that_fails_costs_the_others_nothing(fake: FakeTeacher) -> None:
    task = {"prompt_ids": [1], "completion_ids": [SIZE]}
    candidates = [written("abc"), Candidate("text", "?", task), written("abd")]

    assert ["accept", "abstain", "accept"] == [v.outcome for v in made(fake).judge(candidates)]


@pytest.mark.parametrize(
    ("pieces", "text", "same"),
    [(["ab", " c"], "ab c", True), (["ab", "c"], "ab c", True), (["ab", "d"], "ab c", False),
     (["ab"], "ab c", False), (["ab", " c", "<|end|>"], "ab c", True), ([], "", True),
     (["ab", "<|end|>", "c"], "abc", False), (["\ufffd", "\ufffd", "x"], "éx", True),
     (["\ufffd"] * 4, "👩", True), (["\ufffd", "y"], "éx", False), ([None, "x"], "👩x", True),
     (["x"], "xxxxxxxxxx", False), (["\ufffd"], "a long text of other words", False)],
)  # fmt: skip
def test_what_tokens_say_is_compared_with_the_text(
    pieces: Sequence[str | None],
    text: str,
    same: bool,  # noqa: FBT001
) -> None:
    assert same is _say(pieces, text)


# ---- Tasks and limits


@pytest.mark.parametrize(
    ("task", "reason"),
    [(None, "no prompt_ids"), ({"prompt_ids": [1]}, "no completion_ids"),
     ({"prompt_ids": "a", "completion_ids": [1]}, "prompt_ids makes no sense"),
     ({"prompt_ids": [], "completion_ids": [1]}, "prompt_ids makes no sense"),
     ({"prompt_ids": [1], "completion_ids": [-1]}, "completion_ids"),
     ({"prompt_ids": [1], "completion_ids": [True]}, "completion_ids"),
     ({"prompt_ids": [1], "completion_ids": [1.5]}, "completion_ids")],
)  # fmt: skip
def test_a_task_without_tokens_is_an_abstention(
    fake: FakeTeacher, task: dict[str, Any] | None, reason: str
) -> None:
    (verdict,) = made(fake).judge([Candidate("text", "a", task)])

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert reason in verdict.reason
    assert not fake.asked


def test_no_tokens_and_too_many_are_rejects_that_say_so(fake: FakeTeacher) -> None:
    none, most, more = made(fake, max_tokens=3).judge([*map(written, ["", "abc", "abcd"])])

    assert [Outcome.REJECT, Outcome.ACCEPT, Outcome.REJECT] == [
        each.outcome for each in (none, most, more)
    ]
    assert ("Write an answer.", "Write at most 3 tokens.") == (none.feedback, more.feedback)


# ---- Several teachers


def test_several_teachers_are_a_mixture_by_their_weights(fake: FakeTeacher) -> None:
    weights = {"fake": 3.0, "steep": 1.0}
    both = made(fake, *weights, weights=weights, top=SIZE, max_tokens=9)
    (verdict,) = both.judge([written("bz")])

    pairs = list(zip(encoded(" b"), encoded("bz"), strict=True))
    wanted = [
        log((3 * exp(logprob(b, t)) + exp(logprob(b, t, 3.0))) / 4) for b, t in pairs
    ]  # fmt: skip
    assert pytest.approx(wanted, abs=1e-5) == told(verdict)["logprobs"]
    assert pytest.approx([0.0, 0.0], abs=1e-5) == told(verdict)["tail"]
    assert weights == told(verdict)["teachers"]
    assert {"fake", "steep"} == verdict.scores.keys()


def test_one_teacher_that_is_away_makes_the_mixture_unknown(fake: FakeTeacher) -> None:
    (verdict,) = made(fake, "fake", "down").judge([written("abc")])

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)


def test_a_mixture_names_no_more_than_is_known() -> None:
    one = TokenScores([log(0.5)], [[1, 2]], [[log(0.5), log(0.25)]])
    other = TokenScores([log(0.1)], [[2, 3]], [[log(0.6), log(0.2)]])
    both = mixed([one, other], [1.0, 1.0], 2)

    assert pytest.approx(0.3) == exp(both.logprobs[0])
    assert [[2, 1]] == both.top_ids
    assert pytest.approx([0.425, 0.25]) == [*map(exp, both.top_logprobs[0])]
    assert pytest.approx([0.325]) == both.tails


_SHARES = st.lists(st.floats(0.01, 1.0), min_size=6, max_size=6)


@given(st.lists(_SHARES, min_size=1, max_size=3), st.integers(1, 6), st.floats(0.1, 9.0))
def test_a_mixture_is_a_distribution_below_the_true_one(
    teachers: list[list[float]], top: int, first: float
) -> None:
    weights, exact, told_of = [first, 1.0, 2.0][: len(teachers)], [0.0] * 6, []
    for weight, shares in zip(weights, teachers, strict=True):
        probabilities = [share / fsum(shares) for share in shares]
        ranked = sorted(range(6), key=lambda t: -probabilities[t])[:top]
        told_of.append(TokenScores(
            [log(probabilities[0])], [ranked], [[log(probabilities[t]) for t in ranked]]
        ))  # fmt: skip
        exact = [e + weight * p / fsum(weights) for e, p in zip(exact, probabilities, strict=True)]
    both = mixed(told_of, weights, top)

    assert pytest.approx(exact[0]) == exp(both.logprobs[0])
    named = dict(zip(both.top_ids[0], map(exp, both.top_logprobs[0]), strict=True))
    assert all(p <= exact[token] + 1e-9 for token, p in named.items())
    assert pytest.approx(1.0) == fsum([*named.values(), *both.tails])
    assert top == 6 or both.tails[0] >= 1.0 - fsum(sorted(exact)[-top:]) - 1e-9


def test_what_is_no_distribution_is_refused() -> None:
    bad = [
        TokenScores([-1.0, -1.0], [[1]], [[-1.0]]), TokenScores([], [], []),
        TokenScores([-1.0], [[1, 1]], [[-1.0, -1.0]]), TokenScores([-1.0], [[1]], [[-1.0, -2.0]]),
        TokenScores([float("nan")], [[1]], [[-1.0]]), TokenScores([-1e6], [[1]], [[-1.0]]),
    ]  # fmt: skip
    for each in bad:
        with pytest.raises(ToolError):
            checked_scores(each, [1], "t")


def test_an_artifact_holds_no_infinite_number() -> None:
    one = TokenScores([float("-inf")], [[1]], [[0.0]])

    assert [-9999.0] == json.loads(as_artifact(one, [2], {"t": 1.0}, ""))["logprobs"]


# ---- Services


class Table(TeacherService):
    """A teacher with the law of the fake one, and faults by its settings."""

    name, version = "table", "1"

    def __init__(self, fault: str = "", vocabulary: str = "v1") -> None:
        self.fault, self.digest_told = fault, vocabulary
        super().__init__(fault=fault, vocabulary=vocabulary)

    def vocabulary(self) -> str:
        return self.digest_told

    def score_tokens(
        self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], top: int
    ) -> Sequence[dict[str, Any]]:
        if self.fault == "raises" and any(9 in tokens for tokens in completions):
            raise ValueError("a nine")
        pairs = zip(prompts, completions, strict=True)
        told_of = [self.one(prompt[-1], tokens, top) for prompt, tokens in pairs]
        changed: dict[str, Any] = {
            "": told_of, "raises": told_of, "short": told_of[:-1], "none": None,
            "no field": [{} for _ in told_of],
            "one less": [{**each, "logprobs": each["logprobs"][:-1]} for each in told_of],
            "text": [{**each, "logprobs": ["a"] * len(each["logprobs"])} for each in told_of],
        }  # fmt: skip
        return changed[self.fault]  # type: ignore[no-any-return]

    @staticmethod
    def one(before: int, tokens: Sequence[int], top: int) -> dict[str, Any]:
        told_of: dict[str, Any] = {"logprobs": [], "top_ids": [], "top_logprobs": []}
        for token in tokens:
            best = [(before + n) % SIZE for n in range(top)]
            told_of["logprobs"].append(logprob(before, token))
            told_of["top_ids"].append(best)
            told_of["top_logprobs"].append([logprob(before, other) for other in best])
            before = token
        return told_of


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services answer in this process: what they say is tried here, not how they are reached."""

    def call(self: vl.Service, method: str, *arguments: Any) -> Any:
        return getattr(self, method)(*arguments)

    monkeypatch.setattr(vl.Service, "call", call)


@pytest.mark.usefixtures("direct")
def test_a_service_and_an_endpoint_of_one_law_say_the_same(fake: FakeTeacher) -> None:
    candidates = [*map(written, ["abc", "z", "hello world"])]
    here = Teacher(teachers={"fake": Table()}, batch=2).judge(candidates)
    there = made(fake).judge(candidates)

    assert [told(v)["logprobs"] for v in here] == [told(v)["logprobs"] for v in there]
    assert "v1" == told(here[0])["vocabulary"]


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("fault", ["short", "none", "no field", "one less", "text"])
def test_a_service_that_answers_with_anything_else_is_unknown(fault: str) -> None:
    found = Teacher(teachers={"t": Table(fault)}).judge([written("abc"), written("abd")])

    assert [(Outcome.ABSTAIN, "tool")] * 2 == [(v.outcome, v.failed_at) for v in found]


class Untold(TeacherService):
    """A teacher without a vocabulary."""

    name, version = "untold", "1"


class Broken(Table):
    """A teacher whose vocabulary can't be read."""

    def vocabulary(self) -> str:
        raise OSError("no such file")


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize(
    ("teacher", "why"), [(Untold(), "has no vocabulary method"), (Broken(), "no such file")]
)
def test_a_service_that_does_not_tell_its_vocabulary_is_unknown(
    teacher: TeacherService, why: str
) -> None:
    found = Teacher(teachers={"t": teacher}).judge([written("abc"), written("abd")])

    assert [(Outcome.ABSTAIN, "tool")] * 2 == [(v.outcome, v.failed_at) for v in found]
    assert found[0].reason.startswith("teacher t failed: ")
    assert why in found[0].reason


@pytest.mark.usefixtures("direct")
def test_a_completion_at_which_a_service_fails_costs_the_others_nothing() -> None:
    found = Teacher(teachers={"t": Table("raises")}).judge([*map(written, ["abc", "jj", "abd"])])

    assert [Outcome.ACCEPT, Outcome.ABSTAIN, Outcome.ACCEPT] == [v.outcome for v in found]


@pytest.mark.usefixtures("direct")
def test_another_vocabulary_is_refused_and_both_are_named() -> None:
    both = {"a": Table(), "b": Table(vocabulary="v2")}
    (other,) = Teacher(teachers={"t": Table()}, vocabulary="w" * 64).judge([written("abc")])
    (apart,) = Teacher(teachers=both).judge([written("abc")])
    (same,) = Teacher(teachers={"t": Table()}, vocabulary="v1").judge([written("abc")])

    assert Outcome.ACCEPT is same.outcome
    for verdict in (other, apart):
        assert (Outcome.ABSTAIN, "config") == (verdict.outcome, verdict.failed_at)
        assert "has another tokenizer: its vocabulary is v" in verdict.reason


def test_a_digest_tells_vocabularies_apart() -> None:
    vocabulary = {"a": 0, "b": 1, "\ud800": 2}

    assert vocabulary_digest(vocabulary) == vocabulary_digest(dict(reversed(vocabulary.items())))
    assert vocabulary_digest(vocabulary) != vocabulary_digest({**vocabulary, "a": 1, "b": 0})


# ---- Settings


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"weights": {"x": 1.0}}, "which are no teachers"),
     ({"teachers": {"t": Table()}, "weights": {"t": 0.0}}, "weights"),
     ({"teachers": {"t": Table()}, "weights": {"t": float("nan")}}, "weights"),
     ({"teachers": {"t": {"model": "m"}}}, "give the model's name, and its url"),
     ({"teachers": {"t": {"model": "m", "url": "http://h/v1", "key": "k"}}}, "api_key"),
     ({"teachers": {"t": {"model": "m", "url": "http://h/v1", "api_key": "sk-1"}}}, "name of the"),
     ({"teachers": {"t": 7}}, "TeacherService"), ({"teachers": {"t": "nobody"}}, "entry points"),
     ({"top": 0}, "top"), ({"max_tokens": 10**6}, "4 MiB")],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Teacher(**settings)


def test_without_a_teacher_nothing_is_known() -> None:
    (verdict,) = Teacher().judge([written("abc")])

    assert (Outcome.ABSTAIN, "config") == (verdict.outcome, verdict.failed_at)


def test_a_key_travels_by_its_name(fake: FakeTeacher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEACHER_KEY", "sesame")
    how = {"model": "fake", "url": fake.url, "api_key": "TEACHER_KEY"}
    verifier = pickle.loads(pickle.dumps(Teacher(teachers={"t": how})))  # noqa: S301
    verifier.judge([written("abc")])

    assert ("TEACHER_KEY",) == verifier.secrets
    assert "Bearer sesame" == fake.asked[0][0]["Authorization"]
    assert verifier.network
    assert not Teacher(teachers={"t": Table()}).network


@pytest.mark.usefixtures("direct")
def test_a_service_that_dies_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: Any) -> Any:
        raise ServiceError("it died")

    monkeypatch.setattr(Table, "score_tokens", die)
    (verdict,) = Teacher(teachers={"t": Table()}).judge([written("abc")])

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)


# ---- Exports


def test_exports_for_distillation_carry_the_numbers(fake: FakeTeacher, tmp_path: Path) -> None:
    candidates = [written("abc"), written("abd")]
    with vl.Campaign.open(
        "taught", ladder=vl.Ladder("taught", [made(fake, top=2)]), ledger=tmp_path / "l.db"
    ) as campaign:
        campaign.keep([Transcript(group="g", prompt="say ")])
        campaign.score(candidates, groups=["g", "g"], deadline=300)
    with vl.open_ledger(tmp_path / "l.db") as ledger:
        made_of = training_set(ledger, "distillation")
        rows = made_of.splits["train"]
        table = made_of.table()

    assert ["abc", "abd"] == [row["completion"] for row in rows]
    for row, candidate in zip(rows, candidates, strict=True):
        ids = candidate.task["completion_ids"]  # type: ignore[index]
        pairs = zip([encoded(" ")[0], *ids], ids, strict=False)
        assert ["fake"] == row["teachers"]
        assert ids == row["token_ids"]
        assert (
            pytest.approx([logprob(b, t) for b, t in pairs], abs=1e-6) == row["teacher_logprobs"]
        )
        assert [2, 2, 2] == [*map(len, row["teacher_top_ids"])]
    assert rows[0]["teacher_tail"] == table.column("teacher_tail")[0].as_py()
    assert rows[1]["teacher_top_logprobs"] == table.column("teacher_top_logprobs")[1].as_py()


def test_numbers_about_other_tokens_than_those_that_were_kept_are_left_out(
    fake: FakeTeacher, tmp_path: Path
) -> None:
    ladder = vl.Ladder("taught", [made(fake, top=2)])
    with vl.Campaign.open("taught", ladder=ladder, ledger=tmp_path / "l.db") as campaign:
        campaign.keep([Transcript(0, 0, "g", prompt="say ", token_ids=[1, 2])])
        campaign.score([vl.Sample(written("abc"), group="g", position=0)], step=0, deadline=300)
    with vl.open_ledger(tmp_path / "l.db") as ledger:
        (row,) = training_set(ledger, "distillation").splits["train"]

    assert [1, 2] == row["token_ids"]
    assert row["teacher_logprobs"] is row["teacher_top_ids"] is None
