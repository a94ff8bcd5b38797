"""A step model behind vLLM's endpoints, which a server on this machine plays, or a service."""

import json
import pickle
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakestepmodel import CLAIM, FakeStepModel, truth
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.errors import CandidateError, ConfigError, ServiceError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.simulation.processreward import ProcessReward
from verifier_ladder.tiers.simulation.stepmodel import URL, Asked, StepEndpoint
from verifier_ladder.tiers.simulation.steps import SPLITS, Splitter
from verifier_ladder.tiers.simulation.stepservice import StepService
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

FROZEN = "8998b2d3c12902d4023f4e1267be19c4b1a002a2e32fd6f40da1ffc13af2ec3a"
FAULTS = AnswerKey.load(Path(__file__).parents[3] / "support" / "step-model-faults.jsonl")
MODULES = ("processreward", "stepmodel", "steps")
_CHANGES = (
    # What goes into one request; `test_many_outputs_go_into_one_request` and the three after it.
    ("texts + own > self._batch", "texts + own <= self._batch"),
    ("letters + size > _LARGEST", "letters + size <= _LARGEST"),
    ("texts + own", "texts - own"), ("letters + size", "letters - size"),
    ("len(step.text) + len(step.after)", "len(step.text) - len(step.after)"),
    ("len(asked.prompt) + sum(letters)", "len(asked.prompt) - sum(letters)"),
    ("length * times", "length / times"),
    ("len(asked.prompt) * len(letters)", "len(asked.prompt) / len(letters)"),
    ("len(asked.prompt) * len(letters) + whole", "len(asked.prompt) * len(letters) - whole"),
    # Who pays; `test_a_key_comes_from_the_environment_and_travels_by_name`, and `api_key` of
    # `test_settings_that_make_no_sense_are_refused`.
    ("{'Authorization': f'Bearer ${api_key}'} if api_key else None",
     "{'Authorization': f'Bearer ${api_key}'} if not api_key else None"),
    # What a worker's process is given of the environment; a key is put in this one.
    ("() if url else (URL,)", "() if not url else (URL,)"),
    # How long a check may take, and who it costs; `test_an_output_may_be_asked_about_with_…`.
    ("3 * timeout + 1", "3 * timeout - 1"), ("3 * timeout", "3 / timeout"),
    ("return False", "return True"),
    # What a worker is given of a candidate; `test_turns_are_read_where_they_are_steps`.
    ("split == TURNS", "split != TURNS"),
    # What feedback says; `test_a_reject_names_the_weakest_step_and_each_weak_one_has_advice`.
    ("worst + 1", "worst - 1"), ("score < least", "score >= least"),
    ("least is not None and score < least", "least is not None or score < least"),
    # Services; `test_settings_that_make_no_sense_are_refused`.
    ("model or url", "model and url"),
    (("if model or url: raise ConfigError('service is instead of a model at a url; leave these "
      "out')"), "if model or url: pass"),
    # Where steps stand; `test_each_step_is_a_turn_with_its_score_and_its_characters`.
    ("len(part) - len(part.lstrip())", "len(part) + len(part.lstrip())"),
)  # fmt: skip
EQUIVALENT = [f"{before} -> {after}" for before, after in _CHANGES]
"""Edits that change no outcome, score or reason, and the tests that notice them."""
TASK = {"prompt": "Work it out."}
RIGHT, WRONG = "1 + 1 = 2\n2 * 2 = 4", "1 + 1 = 2\n2 * 2 = 9"


def claims(text: str) -> list[int]:
    """How far each claim of a text is off."""
    return [abs(int(c) - truth(int(a), sign, int(b))) for a, sign, b, c in CLAIM.findall(text)]


class TestProcessReward(VerifierTestCase):
    strict = True
    cost_factor = 100.0
    twins: Mapping[str, Judge] = {
        "the last claim is right": Twin(lambda text, _: claims(text)[-1] == 0),
        "some claim is right": Twin(lambda text, _: 0 in claims(text)),
        "most claims are right": Twin(
            lambda text, _: 2 * sum(off == 0 for off in claims(text)) > len(claims(text))
        ),
        "the first claim is right": Twin(lambda text, _: claims(text)[0] == 0),
        "each line has an equals sign": Twin(
            lambda text, _: all("=" in line for line in text.strip().splitlines())
        ),
        "the last digits are right": Twin(
            lambda text, _: not any(off % 10 for off in claims(text))
        ),
    }

    mutated = tuple(f"verifier_ladder.tiers.simulation.{name}" for name in MODULES)
    mutants: Mapping[str, Any] = {"count": 60, "equivalent": EQUIVALENT}

    @pytest.fixture
    def verifier(self, steady: FakeStepModel, monkeypatch: pytest.MonkeyPatch) -> ProcessReward:
        monkeypatch.setenv(URL, steady.url)
        return ProcessReward(model="fake", least=0.5)

    @pytest.fixture
    def answer_key(self) -> AnswerKey:
        """The key, and what the models of this endpoint have for faults."""
        own = AnswerKey.named("process-reward")
        return replace(own, cases=own.cases + FAULTS.cases, lines=own.lines + FAULTS.lines)

    @pytest.mark.slow  # Each mutant asks the endpoint about all of the key.
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


@pytest.fixture(scope="module")
def steady() -> Iterator[FakeStepModel]:
    """One for all tests of the kit, which share what a verifier has said."""
    with FakeStepModel() as running:
        yield running


@pytest.fixture
def fake() -> Iterator[FakeStepModel]:
    with FakeStepModel() as running:
        yield running


def made(fake: FakeStepModel, **settings: Any) -> ProcessReward:
    return ProcessReward(
        **{"model": "fake", "url": fake.url, "least": 0.5, "timeout": 300.0, **settings}
    )


def said(fake: FakeStepModel, *outputs: str, **settings: Any) -> list[Verdict]:
    return made(fake, **settings).judge([Candidate("text", each, TASK) for each in outputs])


def test_the_answer_key_is_the_frozen_one() -> None:
    key = AnswerKey.named("process-reward")

    assert FROZEN == key.frozen(338)
    assert sum(case.hostile for case in key.cases) >= 60


# ---- What a verdict holds


def test_each_step_is_a_turn_with_its_score_and_its_characters(fake: FakeStepModel) -> None:
    text = "  Größe 👩‍🔬: 1 + 1 = 2\r\n\n 2 * 2 = 9 \n"
    (verdict,) = said(fake, text)

    assert [1.0, 1 / 6] == [turn.score for turn in verdict.turns]
    assert ["Größe 👩‍🔬: 1 + 1 = 2", "2 * 2 = 9"] == [
        text[slice(*turn.span)] for turn in verdict.turns if turn.span
    ]
    assert [0, 1] == [turn.turn for turn in verdict.turns]


def test_a_reject_names_the_weakest_step_and_each_weak_one_has_advice(fake: FakeStepModel) -> None:
    (verdict,) = said(fake, "1 + 1 = 4\n2 * 2 = 4\n2 * 2 = \x1b[2J\u202e\n3 + 3 = 9")

    assert Outcome.REJECT is verdict.outcome
    assert "Step 4 of 4 is the weakest, with 0.25: “3 + 3 = 9”." in verdict.feedback
    assert ["1 + 1 = 4", "", "", "3 + 3 = 9"] == [
        "".join(re.findall("“(.*)”", turn.feedback)) for turn in verdict.turns
    ]


def test_spans_and_scores_come_back_from_the_ledger(fake: FakeStepModel, tmp_path: Path) -> None:
    ladder = vl.Ladder("steps", [made(fake)], reward=vl.RewardRule(weights={"process": 1.0}))
    samples = [Candidate("text", WRONG, TASK)]
    with vl.Campaign.open("steps", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        (reward,) = campaign.score(samples, deadline=300)
    asked = len(fake.asked)
    with vl.Campaign.open("steps", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        (again,) = campaign.score(samples, deadline=300)

    assert [((0, 9), 1.0), ((10, 19), 1 / 6)] == [(t.span, t.score) for t in reward.turns]
    assert reward.turns == again.turns
    assert asked == len(fake.asked) == 1


def test_outcome_and_process_are_weighed_by_the_reward_rule(fake: FakeStepModel) -> None:
    (verdict,) = said(fake, WRONG, least=None)
    rule = vl.RewardRule(weights={"outcome": 1.0, "process": 3.0})

    assert pytest.approx((1 / 6 + 3 * (1 + 1 / 6) / 2) / 4) == rule.score_of(verdict)


@given(st.text(), st.sampled_from(sorted(set(SPLITS) - {"turns"})))
def test_steps_cover_all_that_is_not_space_or_a_mark(text: str, split: str) -> None:
    found = [*Splitter(split, "#" if split == "marks" else "").steps(text)]

    assert all(step.span and step.text == text[slice(*step.span)] != "" for step in found)
    kept = "".join(step.text for step in found)
    gone = "#" if split == "marks" else ""
    assert seen(kept) == seen(text.replace(gone, ""))
    assert all(seen(step.text) for step in found)


def seen(text: str) -> str:
    kinds = ((letter, unicodedata.category(letter)) for letter in "".join(text.split()))
    return "".join(letter for letter, kind in kinds if kind not in {"Cc", "Cf"})


@pytest.mark.parametrize(
    ("split", "text", "steps"),
    [("paragraphs", "a\r\nb\r\nc\r\n\r\nd", ["a\r\nb\r\nc", "d"]),
     ("paragraphs", "a\rb\r\rc\r \r\nd", ["a\rb", "c", "d"]),
     ("paragraphs", "a\n\n\u200b\n\nb", ["a", "b"]),
     ("lines", "a\n\u200b\n\u2060 \u200b\n\u00ad\n\x00\nb", ["a", "b"]),
     ("lines", "\u200ba\u00ad\n", ["\u200ba\u00ad"]),
     ("marks", "a#\u200b#b", ["a", "b"])],
)  # fmt: skip
def test_ends_of_lines_and_characters_that_nobody_sees_make_no_steps(
    split: str, text: str, steps: list[str]
) -> None:
    splitter = Splitter(split, "#" if split == "marks" else "")

    assert steps == [step.text for step in splitter.steps(text)]


def test_many_empty_steps_take_no_time_that_grows_with_their_square() -> None:
    text = "\n \t" * 30_000 + "1" + "\r\n" * 30_000

    for split in ("lines", "paragraphs", "marks"):
        splitter = Splitter(split, "#" if split == "marks" else "")
        assert ["1"] == [step.text for step in splitter.steps(text)]


# ---- What is asked


def test_many_outputs_go_into_one_request(fake: FakeStepModel) -> None:
    outputs = [f"{n} + 1 = {n + 1 + n % 2 * 5}" for n in range(100)]
    found = said(fake, *outputs, batch=64)

    assert [64, 36] == sorted((len(m["input"]) for _, m in fake.asked), reverse=True)
    assert [Outcome.ACCEPT, Outcome.REJECT] * 50 == [each.outcome for each in found]


def test_all_texts_of_one_output_stay_in_one_request(fake: FakeStepModel) -> None:
    outputs = [RIGHT, WRONG, "\n".join([RIGHT] * 3)]
    found = said(fake, *outputs, form="classify", tag="<extra_0>", batch=4)

    assert [4, 6] == sorted(len(m["input"]) for _, m in fake.asked)
    assert ["accept", "reject", "accept"] == [each.outcome for each in found]


def test_what_a_request_holds_is_bounded_by_its_characters() -> None:
    endpoint = StepEndpoint("fake", "http://127.0.0.1:1", batch=1000)
    asked = [Asked("", [*Splitter("lines").steps("x" * 1_500_000)])] * 5

    assert [[0, 1], [2, 3], [4]] == endpoint.requests(asked)


def test_a_prefix_form_counts_what_it_repeats() -> None:
    asked = Asked("12345", [*Splitter("lines").steps("1\n22\n333")])

    assert (3, 15 + 1 * 3 + 2 * 2 + 3) == StepEndpoint(form="classify").size(asked)
    assert (1, 5 + 6) == StepEndpoint().size(asked)


@pytest.mark.parametrize(
    ("form", "path", "texts"),
    [
        ("pooling", "/pooling", [["Q: Work it out. A: 1 + 1 = 2<extra_0>2 * 2 = 4<extra_0>!"]]),
        ("classify", "/classify", [
            ["Q: Work it out. A: 1 + 1 = 2\n!", "Q: Work it out. A: 1 + 1 = 2\n2 * 2 = 4\n!"]]),
        ("score", "/score", [["Work it out."] * 2, ["1 + 1 = 2\n", "1 + 1 = 2\n2 * 2 = 4\n"]]),
    ],
)  # fmt: skip
def test_each_form_is_asked_as_vllm_documents_it(
    fake: FakeStepModel, form: str, path: str, texts: list[list[str]]
) -> None:
    fake.replies = [(503, {"Retry-After": "0"}, {})]
    said(fake, RIGHT, form=form, template="Q: {prompt} A: {steps}!")

    assert [path, path] == fake.paths
    told = fake.asked[-1][1]
    assert "fake" == told.pop("model")
    assert texts == list(told.values())


def test_a_turn_is_shown_with_its_thought_and_what_was_observed_before_it(
    fake: FakeStepModel,
) -> None:
    turns = (Turn("1 + 1 = 2", "5 + 5 = 77", thought="Easy."), Turn("2 * 2 = 4", "done"))
    candidate = Candidate("text", "4", TASK, turns)
    (verdict,) = made(fake, split="turns").judge([candidate])
    made(fake, split="turns", form="score", tag="<extra_0>").judge([candidate])

    shown = "Easy.\n1 + 1 = 2<extra_0>\n5 + 5 = 77\n2 * 2 = 4<extra_0>"
    assert f"Work it out.\n{shown}\ndone\n" == fake.texts[0]
    assert ["Easy.\n1 + 1 = 2<extra_0>", shown] == fake.texts[1:]
    assert [(1.0, None)] * 2 == [(turn.score, turn.span) for turn in verdict.turns]


@pytest.mark.parametrize(
    ("tag", "shown"), [("ки", "к\\и\\"), ("\n\n", "\n\\\n\\"), ("~", "\\u{7e}")]
)
def test_no_text_holds_the_tag_behind_steps(fake: FakeStepModel, tag: str, shown: str) -> None:
    said(fake, f"1{tag}1 ### 2", split="marks", mark="###", tag=tag)

    assert f"1{shown}1" in fake.texts[0]
    assert 2 == fake.texts[0].partition("Work it out.\n")[2].count(tag)


@given(st.text(alphabet="<extra_0>|im\u200b \n\uff1c\uff1e"))
def test_no_text_adds_a_tag(text: str) -> None:
    endpoint = StepEndpoint()
    steps = [*Splitter("lines").steps(text)]
    (shown,) = endpoint._texts(Asked(text, steps))

    assert len(steps) == shown.count("<extra_0>")


@given(st.text(alphabet="ab\n"), st.text(alphabet="ab\n", min_size=1))
def test_no_text_holds_a_tag_of_its_own_letters(text: str, tag: str) -> None:
    assert tag not in StepEndpoint(tag=tag)._shown(text)


# ---- What is unknown


def test_one_output_that_is_refused_costs_the_others_nothing(fake: FakeStepModel) -> None:
    outputs = [RIGHT, "7 + 7 = 14", WRONG]
    first, refused, last = said(fake, *outputs, model="refuses-sevens")

    assert (Outcome.ACCEPT, Outcome.REJECT) == (first.outcome, last.outcome)
    assert (Outcome.ABSTAIN, None, 1) == (
        refused.outcome, refused.failed_at, refused.evidence["refused"])  # fmt: skip
    assert [3, 1, 1, 1, 1] == [len(m["input"]) for _, m in fake.asked]


@pytest.mark.parametrize("status", [413, 422])
def test_other_refusals_are_refusals_too(fake: FakeStepModel, status: int) -> None:
    fake.replies = [(status, {}, {"error": "no"})]
    (verdict,) = said(fake, RIGHT)

    assert (Outcome.ABSTAIN, 1) == (verdict.outcome, verdict.evidence.get("refused"))


def test_an_endpoint_that_is_away_is_unknown_for_all(fake: FakeStepModel) -> None:
    found = said(fake, RIGHT, WRONG, model="down")

    assert [(Outcome.ABSTAIN, "tool", None)] * 2 == [
        (each.outcome, each.failed_at, each.score) for each in found
    ]
    assert 1 == len(fake.asked)


def test_rows_of_a_wrong_number_cost_only_their_output(fake: FakeStepModel) -> None:
    rows = [{"index": n, "data": [[0.0, 1.0]] * count} for n, count in enumerate([2, 3, 2])]
    fake.replies = [(200, {}, {"data": rows})]
    found = said(fake, RIGHT, RIGHT, RIGHT)

    assert [Outcome.ACCEPT, Outcome.ABSTAIN, Outcome.ACCEPT] == [each.outcome for each in found]
    assert "3 scores for 2 steps" in found[1].reason


def test_without_a_model_or_an_address_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URL, raising=False)
    (nameless,) = ProcessReward().judge([Candidate("text", RIGHT, TASK)])
    (nowhere,) = ProcessReward(model="fake").judge([Candidate("text", RIGHT, TASK)])

    assert "give model" in nameless.reason
    assert "or give the step model its url" in nowhere.reason
    assert {"config"} == {nameless.failed_at, nowhere.failed_at}


# ---- A service of this machine


class Sums(StepService):
    """Knows sums, and fails as its settings say."""

    name, version = "sums", "1"

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        super().__init__(fault=fault)

    def score_steps(
        self, prompts: Sequence[str], outputs: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[float]]:
        assert len(prompts) == len(outputs)
        told = [[1 / (1 + max(claims(step), default=0.1)) for step in steps] for steps in outputs]
        if self.fault == "raises" and any("9" in step for steps in outputs for step in steps):
            raise ValueError("a nine\x1b[2J")
        changed: dict[str, Any] = {
            "": told, "short": told[:-1], "no list": 1, "numpy": [np.array(one) for one in told],
            "row": [one[:-1] for one in told], "nan": [[float("nan")] * len(o) for o in told],
            "inf": [[float("inf")] * len(o) for o in told],
            "text": [["1.0"] * len(o) for o in told],
            "truth": [[True] * len(o) for o in told], "none": [None for _ in told],
            "raises": told,
        }  # fmt: skip
        return changed[self.fault]  # type: ignore[no-any-return]


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services answer in this process: what they say is tried here, not how they are reached."""

    def call(self: vl.Service, method: str, *arguments: Any) -> Any:
        return getattr(self, method)(*arguments)

    monkeypatch.setattr(vl.Service, "call", call)


def local(fault: str = "", *outputs: str, **settings: Any) -> list[Verdict]:
    verifier = ProcessReward(**{"service": Sums(fault), "least": 0.5, **settings})
    return verifier.judge([Candidate("text", each, TASK) for each in outputs or (RIGHT, WRONG)])


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("fault", ["", "numpy"])
def test_a_service_scores_steps(fault: str) -> None:
    found = local(fault)

    assert [1.0, 1 / 6] == [each.score for each in found]
    assert [Outcome.ACCEPT, Outcome.REJECT] == [each.outcome for each in found]


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize(
    "fault", ["short", "no list", "row", "nan", "inf", "text", "truth", "none"]
)
def test_a_service_that_answers_with_anything_else_is_unknown(fault: str) -> None:
    assert [(Outcome.ABSTAIN, "tool")] * 2 == [(v.outcome, v.failed_at) for v in local(fault)]


@pytest.mark.usefixtures("direct")
def test_an_output_at_which_a_service_fails_costs_the_others_nothing() -> None:
    first, second, third = local("raises", RIGHT, WRONG, RIGHT)

    assert Outcome.ACCEPT is first.outcome is third.outcome
    assert (Outcome.ABSTAIN, "tool") == (second.outcome, second.failed_at)
    assert "ValueError: a nine" in second.reason
    assert "\x1b" not in second.reason


@pytest.mark.usefixtures("direct")
def test_a_service_that_dies_again_and_again_is_not_asked_about_everybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []

    def die(_: Sums, prompts: Sequence[str], outputs: Any) -> Any:
        sizes.append(min(len(prompts), len(outputs)))
        raise ServiceError("it died")

    monkeypatch.setattr(Sums, "score_steps", die)
    found = local("", *[RIGHT] * 9)

    assert [9, 1, 1, 1] == sizes
    assert {(Outcome.ABSTAIN, "tool")} == {(each.outcome, each.failed_at) for each in found}


@pytest.mark.usefixtures("direct")
def test_a_service_is_asked_about_many_outputs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    scores = Sums.score_steps

    def counted(self: Sums, prompts: Sequence[str], outputs: Any) -> Any:
        sizes.append(len(prompts))
        return scores(self, prompts, outputs)

    monkeypatch.setattr(Sums, "score_steps", counted)
    local("", *[RIGHT] * 9, batch=4)

    assert [4, 4, 1] == sizes


def test_one_process_holds_the_model_of_a_service(tmp_path: Path) -> None:
    ladder = vl.Ladder("local", [ProcessReward(service=Sums(), least=0.5)])
    samples = [Candidate("text", each, TASK) for each in (RIGHT, WRONG)]
    with vl.Campaign.open("local", ladder=ladder, ledger=tmp_path / "l.db", workers=2) as campaign:
        rewards = campaign.score(samples, deadline=300)

    assert [1.0, 0.0] == [reward.value for reward in rewards]
    assert rewards[1].is_rejected


def test_a_service_needs_no_network_and_is_part_of_the_key() -> None:
    one, other = (ProcessReward(service=Sums(fault)) for fault in ("", "nan"))

    assert (False, True) == (one.network, ProcessReward().network)
    assert one.digest != other.digest != ProcessReward().digest


def test_a_service_is_named_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "sums"

        def load(self) -> type[Sums]:
            return Sums

    module = "verifier_ladder.tiers.simulation.stepservice"
    monkeypatch.setattr(f"{module}.entry_points", lambda group: [Point()] * bool(group))

    assert ProcessReward(service="sums").digest == ProcessReward(service=Sums()).digest
    with pytest.raises(ConfigError, match=r"'nobody': .*; there are sums"):
        ProcessReward(service="nobody")


# ---- Settings


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"service": Sums(), "model": "x"}, "leave these out"),
     ({"service": vl.Service}, "service"),
     ({"service": Sums(), "url": "http://127.0.0.1:1"}, "leave these out"),
     ({"api_key": "sk-1"}, "name of the variable"), ({"max_steps": 0}, "max_steps"),
     ({"batch": 0}, "batch"), ({"concurrency": 0}, "concurrency"), ({"timeout": 0.0}, "timeout"),
     ({"low": float("nan")}, "low"), ({"combine": "product", "high": 2.0}, "product")],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        ProcessReward(**settings)


@pytest.mark.parametrize(
    "settings",
    [{"model": "other"}, {"form": "score"}, {"template": "{prompt}{steps}"}, {"tag": "#"},
     {"label": 0}, {"split": "paragraphs"}, {"combine": "last"}, {"least": 0.6}, {"low": -1.0},
     {"high": 2.0}, {"max_steps": 9}, {"max_characters": 9}],
)  # fmt: skip
def test_what_affects_results_is_in_the_key(settings: dict[str, Any]) -> None:
    usual = {"model": "m", "least": 0.5}

    assert ProcessReward(**usual).digest != ProcessReward(**{**usual, **settings}).digest  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings",
    [{"url": "http://127.0.0.1:1"}, {"api_key": "A_KEY"}, {"timeout": 9.0}, {"retries": 0},
     {"batch": 1}, {"concurrency": 1}, {"rate": "1/s"}],
)  # fmt: skip
def test_what_affects_no_result_is_not_in_the_key(settings: dict[str, Any]) -> None:
    assert ProcessReward(model="m").digest == ProcessReward(model="m", **settings).digest


def test_a_key_comes_from_the_environment_and_travels_by_name(
    fake: FakeStepModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEP_KEY", "sesame")
    verifier = pickle.loads(pickle.dumps(made(fake, api_key="STEP_KEY")))  # noqa: S301
    verifier.judge([Candidate("text", RIGHT, TASK)])

    assert ("STEP_KEY",) == verifier.secrets
    assert "Bearer sesame" == fake.asked[0][0]["Authorization"]
    assert b"sesame" not in pickle.dumps(verifier)
    assert "sesame" not in json.dumps(verifier.as_json())


def test_an_output_may_be_asked_about_with_others_alone_and_beside_the_control() -> None:
    assert 31 == ProcessReward(timeout=10.0).timeout
    assert not ProcessReward().answers_together


def test_turns_are_read_where_they_are_steps() -> None:
    assert ProcessReward(split="turns").reads_turns
    assert not ProcessReward().reads_turns


def test_text_that_is_too_much_is_refused_before_it_is_split() -> None:
    splitter = Splitter("lines")
    cases: list[tuple[str, Callable[[], Any]]] = [
        ("at most 9", lambda: splitter.of(Candidate("text", "x" * 10), 5, 9)),
        ("more than 5 steps", lambda: splitter.of(Candidate("text", "x\n" * 6), 5, 99)),
        ("at most 9", lambda: Splitter("turns").of(
            Candidate("text", "", turns=(Turn("12345", "67890"),)), 5, 9)),
    ]  # fmt: skip
    for why, call in cases:
        with pytest.raises(CandidateError, match=why) as raised:
            call()
        assert raised.value.feedback
