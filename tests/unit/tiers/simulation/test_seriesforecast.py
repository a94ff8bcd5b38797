"""Forecasts at rolling origins: written ones, and those of programs."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from codecase import CLASSES, CodeTestCase

import verifier_ladder as vl
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.hostile import HOSTILE
from verifier_ladder.testing.mutants import mutation_test
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.extraction import DOCUMENT, answers
from verifier_ladder.tiers.fast.programs import program_in
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.tiers.simulation.seriesforecast import CodeForecast, SeriesForecast
from verifier_ladder.verdict import Outcome, Verdict

EXAMPLES = Path(__file__).parents[4] / "examples" / "series"
VALUES = [float(n * n % 7) for n in range(48)]
TASK = {"values": VALUES, "first": 4}
RIGHT = "def solve(history, horizon):\n    return [len(history) ** 2 % 7]"


# ---- Naive checkers


def origins(task: Mapping[str, Any]) -> range:
    horizon = task.get("horizon", 1)
    return range(task["first"], len(task["values"]) - horizon + 1, task.get("every", 1))


def middle(step: Any) -> float:
    """One number of whatever is said of a step, as a hasty reward function takes it."""
    return float(fmean(step) if isinstance(step, (list, tuple)) else step)


def errors(forecasts: list[Any], task: Mapping[str, Any]) -> tuple[float, float]:
    """The mean distance of forecasts, and of the last value."""
    values, mine, naive = task["values"], [], []
    for t, said in zip(origins(task), forecasts, strict=True):
        for k, step in enumerate(said):
            mine.append(abs(middle(step) - values[t + k]))
            naive.append(abs(values[t - 1] - values[t + k]))
    return fmean(mine), fmean(naive)


def written(text: str) -> list[Any]:
    found: list[Any] = json.loads(answers(text, DOCUMENT, "", languages=("json",))[0])
    return found


def called(text: str, task: Mapping[str, Any]) -> list[Any]:
    source, found = program_in(text), []
    if b"while True" in source:
        raise ValueError
    for t in origins(task):
        space: dict[str, Any] = {}
        exec(source, space)  # noqa: S102
        found.append(space[task.get("function", "solve")](task["values"][:t], 1))
    return found


def is_nearer(forecasts: list[Any], task: Mapping[str, Any]) -> bool:
    mine, naive = errors(forecasts, task)
    return mine < naive


TWINS: Mapping[str, Judge] = {
    "a list of the right length": Twin(lambda text, t: len(written(text)) == len(origins(t))),
    "nearer than the last value": Twin(lambda text, t: is_nearer(written(text), t)),
}
CODE_TWINS: Mapping[str, Judge] = {
    "it runs": Twin(lambda text, t: bool(called(text, t))),
    "nearer than the last value": Twin(lambda text, t: is_nearer(called(text, t), t)),
}
FROZEN = {
    "series-forecast": (158, "8846f48624c695f3fd25617fd6978fa76dbe3a3900309db2e06992c61031f859"),
    "code-forecast": (154, "24d4c29e036aabd06668b0f04a7b23c0e75957405adf5997d8bbca846b608e69"),
}
MUTATED = [
    f"verifier_ladder.tiers.simulation.{name}" for name in ("rolling", "seriesforecast", "longrun")
]
EQUIVALENT = [
    # Of coverage and of the upper end, which are told and decide nothing; tests hold them.
    "each.quantile(low) - value -> each.quantile(low) + value",
    "value - each.quantile(high) -> value + each.quantile(high)",
    "e <= q -> e > q",
    "e <= 0 -> e > 0",
    "skill + found[best][1] -> skill - found[best][1]",
    # Of programs, which the other key holds.
    "result.ended is Ending.UNTOLD -> result.ended is not Ending.UNTOLD",
]


class TestSeriesForecast(VerifierTestCase):
    strict = True
    cost_factor = 30.0
    twins = TWINS

    @pytest.fixture
    def verifier(self) -> SeriesForecast:
        return SeriesForecast()


class TestCodeForecast(CodeTestCase):
    whole = CodeForecast(limits={"cpu": 1.0})
    every = 30
    hostile = HOSTILE[::5]  # Programs are read as by its neighbours, which are tried with all.
    twins = CODE_TWINS

    @pytest.fixture
    def verifier(self) -> CodeForecast:
        return CodeForecast(limits={"cpu": 1.0})

    # Each case runs a program 60 times. The other key holds what judges forecasts, and tests below
    # hold what calls programs.
    test_the_answer_key_catches_mutants = None  # type: ignore[assignment]


@pytest.mark.slow
def test_mutants_of_what_judges_forecasts_are_noticed() -> None:
    key = AnswerKey.named("series-forecast")

    survey = mutation_test(key, SeriesForecast, MUTATED, count=60, equivalent=EQUIVALENT)

    assert [] == survey.weaknesses, survey.survived


@pytest.mark.parametrize("name", FROZEN)
def test_the_answer_keys_are_the_frozen_ones(name: str) -> None:
    lines, digest = FROZEN[name]

    assert digest == AnswerKey.named(name).frozen(lines)


# ---- What is judged


def said(content: str, task: Mapping[str, Any] = TASK, **settings: Any) -> Verdict:
    candidate = vl.Candidate("text", content, task=dict(task))
    return SeriesForecast(**settings).judge([candidate])[0]


@pytest.fixture(params=CLASSES)
def kind(request: pytest.FixtureRequest, require: Callable[..., None]) -> str:
    found = str(request.param)
    why = Backend(found).problem()
    require(f"the sandbox {found}", not why, why)
    return found


def ran(kind: str, program: str, **more: Any) -> Verdict:
    candidate = vl.Candidate("text", program, task={**TASK, **more})
    return CodeForecast().in_sandbox(Backend(kind)).judge([candidate])[0]


def test_a_skill_comes_with_its_interval_and_coverage() -> None:
    verdict = said(json.dumps([[y + 0.5] for y in VALUES[4:]]))

    scores = verdict.scores
    assert Outcome.ACCEPT is verdict.outcome, verdict
    assert scores["skill"] == verdict.score
    assert 0 < scores["skill_low"] < scores["skill"] < scores["skill_high"]
    assert (0.0, 1.0) == (scores["coverage"], scores["coverage_calibrated"])
    assert "the mean" == verdict.evidence["reference"]


def test_a_reject_says_how_good_it_was_and_no_value() -> None:
    verdict = said(json.dumps([[y] for y in VALUES[3:-1]]))

    assert (Outcome.REJECT, 0.0) == (verdict.outcome, verdict.score)
    assert "more than 0 is asked for" in verdict.feedback
    assert verdict.scores["skill"] < 0


def test_more_origins_can_be_asked_for() -> None:
    forecasts = json.dumps([[y] for y in VALUES[4:]])

    assert Outcome.ACCEPT is said(forecasts, calibration=4, least=40).outcome
    assert "at least 41 are needed" in said(forecasts, calibration=4, least=41).reason


def test_a_program_is_given_what_is_known_and_a_fresh_process(kind: str) -> None:
    counts = "seen = []\ndef solve(history, horizon):\n    seen.append(1)\n    assert seen == [1]"
    first = counts + RIGHT.partition("):")[2]

    assert Outcome.ACCEPT is ran(kind, first).outcome
    assert Outcome.REJECT is ran(kind, RIGHT.replace("len(history)", "(len(history) + 1)")).outcome


def test_what_a_program_says_of_hidden_values_is_not_passed_on(kind: str) -> None:
    for program in (
        "def solve(history, horizon):\n    raise ValueError(history)",
        "def solve(history, horizon):\n    raise type('T%d' % history[-1], (Exception,), {})",
        "def solve(history, horizon):\n    return type('T%d' % history[-1], (), {})()",
    ):
        verdict = ran(kind, program)
        told = f"{verdict.reason} {verdict.feedback}"
        assert Outcome.REJECT is verdict.outcome
        assert ("given 4 values" in told, "T2" in told, "2.0" in told) == (True, False, False)


@pytest.mark.parametrize("made", [SeriesForecast, CodeForecast])
@pytest.mark.parametrize("settings", [{"calibration": 1}, {"least": 1}, {"least": "20"}])
def test_settings_that_make_no_sense_are_refused(made: Any, settings: Any) -> None:
    with pytest.raises(vl.ConfigError):
        made(**settings)


@pytest.mark.parametrize(
    ("name", "paid"),
    [pytest.param("forecasts", [1, 0, 0], marks=pytest.mark.slow), ("written", [1, 0])],
)
def test_an_example_runs_with_one_command(name: str, paid: list[int], tmp_path: Path) -> None:
    result = vl.score_file(
        EXAMPLES / f"{name}.jsonl", ladder=EXAMPLES / f"{name}.toml", ledger=tmp_path / "ledger.db"
    )

    assert paid == [round(reward.value or 0) for reward in result.rewards]
