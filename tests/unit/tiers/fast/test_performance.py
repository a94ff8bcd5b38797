"""Performance: the processor time of a program, as a ratio to a reference."""

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from codecase import CLASSES, CodeTestCase
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.hostile import HOSTILE
from verifier_ladder.tiers.fast.drawing import Floats, Integers, Lists, Text, drawn, typical
from verifier_ladder.tiers.fast.performance import (
    LEAST_PAIRS,
    CodePerformance,
    Estimate,
    concluded,
    estimated,
)
from verifier_ladder.tiers.fast.programs import program_in
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.verdict import Outcome, Verdict

EXAMPLES = Path(__file__).parents[4] / "examples" / "code"
SLOW = "def solve(n):\n    t = 0\n    for k in range(n):\n        t += k * k\n    return t"
QUICK = "def solve(n): return (n - 1) * n * (2 * n - 1) // 6"
TASK = {
    "inputs": [{"type": "integers", "min": 240_000, "max": 320_000}], "reference": SLOW,
    "ratio": 0.6,
}  # fmt: skip
EQUIVALENT = [  # What tests below hold. Of the interval: the key's ratios are far off.
    "_DOUBT / 2 -> _DOUBT * 2",
    "size + 1 -> size - 1",
    "each <= most -> each > most",
    "len(self.ratios) < LEAST_PAIRS -> len(self.ratios) >= LEAST_PAIRS",
    "-1 - cut -> -1 + cut",
    (
        "len([each for each in accumulate(ways) if each <= most]) - 1 -> "
        "len([each for each in accumulate(ways) if each <= most]) + 1"
    ),
    "found.low <= asked -> found.low > asked",
    # Of settings, and of what is told: no case has them.
    (
        "if pairs < LEAST_PAIRS: raise ConfigError(f'pairs={pairs!r}: give {LEAST_PAIRS} pairs or "
        "more') -> if pairs < LEAST_PAIRS: pass"
    ),
    "1000 * median(self._seconds) -> 1000 / median(self._seconds)",
]


def said(kind: str, program: str, task: Mapping[str, Any] = TASK, **settings: Any) -> Verdict:
    candidate = vl.Candidate("text", program, task=dict(task))
    return CodePerformance(**settings).in_sandbox(Backend(kind)).judge([candidate])[0]


# ---- The answer key


def is_right(text: str, task: Mapping[str, Any]) -> bool:
    """Whether values are right on a small input, as a test of speed without a clock has it."""
    if "while True" in task["reference"]:
        return True  # It never ends, and a test has no clock here.
    spaces: list[dict[str, Any]] = [{}, {}]
    for space, source in zip(spaces, (program_in(text), task["reference"]), strict=True):
        exec(source, space)  # noqa: S102
    kind = task["inputs"][0]["type"]
    small = {"integers": 9, "lists": [3, 1, 2, 1], "text": "abca"}[kind]
    name = task.get("function", "solve")
    return bool(spaces[0][name](small) == spaces[1][name](small))


def has_few_loops(text: str, _task: Mapping[str, Any]) -> bool:
    return text.count("for ") < 2


class TestCodePerformance(CodeTestCase):
    whole = CodePerformance()
    every = 11
    mutants: Mapping[str, Any] = {"count": 24, "equivalent": EQUIVALENT}
    hostile = HOSTILE[::5]  # Programs are read as by its neighbours, which are tried with all.
    twins: Mapping[str, Judge] = {
        "right on a small input": Twin(is_right),
        "has no loop in a loop": Twin(has_few_loops),
    }

    @pytest.fixture
    def verifier(self) -> CodePerformance:
        # A busy machine needs more pairs than the usual sixty, a quiet one stops far below them.
        return CodePerformance(limits={"cpu": 0.5, "wall": 30.0}, pairs=600)


# ---- What is measured


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize("kind", CLASSES)
def test_a_quick_program_is_accepted_and_told_how_quick_it_is(kind: str) -> None:
    verdict = said(kind, QUICK)

    assert Outcome.ACCEPT is verdict.outcome, verdict
    assert verdict.scores["speedup"] > 4
    assert verdict.evidence["pairs"] >= LEAST_PAIRS
    assert verdict.evidence["low"] <= verdict.evidence["ratio"] <= verdict.evidence["high"] <= 0.6


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize("kind", CLASSES)
def test_a_slow_program_is_told_its_ratio_and_no_reference(kind: str) -> None:
    verdict = said(kind, SLOW.replace("k * k", "k ** 2 % 10 ** 30"), {**TASK, "ratio": 0.3})

    assert Outcome.REJECT is verdict.outcome, verdict
    assert "at most 0.3 is asked for. Make it faster." in verdict.feedback
    assert "t += k" not in verdict.feedback


@pytest.mark.usefixtures("sandboxes")
def test_inputs_that_take_no_time_are_nobodys_fault() -> None:
    inputs = [{"type": "integers", "min": 1, "max": 9}]

    verdict = said("landlock", QUICK, {**TASK, "inputs": inputs})

    assert (Outcome.ABSTAIN, True) == (verdict.outcome, "larger inputs" in verdict.reason)
    assert float(verdict.reason.partition("takes ")[2].partition(" ms")[0]) < 1


def test_a_sandbox_that_can_not_measure_is_named() -> None:
    remote = Backend("remote", url="sandboxfusion+http://127.0.0.1:9")
    asked = [vl.Candidate("text", QUICK, task=TASK)]

    (verdict,) = CodePerformance().in_sandbox(remote).judge(asked)

    assert (Outcome.ABSTAIN, "sandbox") == (verdict.outcome, verdict.failed_at)
    assert "(metering)" in verdict.reason


@pytest.mark.usefixtures("sandboxes")
def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    result = vl.score_file(
        EXAMPLES / "code-performance.jsonl", ladder=EXAMPLES / "code-performance.toml",
        ledger=tmp_path / "ledger.db",
    )  # fmt: skip

    assert [1, 0, 0] == [reward.value for reward in result.rewards]


@pytest.mark.parametrize("settings", [{"pairs": 6}, {"total": 0}, {"limits": {"patience": 1}}])
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(vl.ConfigError):
        CodePerformance(**settings)


# ---- The interval


@given(st.lists(st.floats(-9, 9), min_size=7, max_size=20), st.floats(-9, 9))
def test_an_interval_holds_its_middle_and_moves_with_the_values(
    values: list[float], shift: float
) -> None:
    found = estimated(values)
    moved = estimated([value + shift for value in values])

    assert min(values) <= found.low <= found.ratio <= found.high <= max(values)
    assert moved.ratio == pytest.approx(found.ratio + shift, abs=1e-9)
    assert moved.low == pytest.approx(found.low + shift, abs=1e-9)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.30, 0.32, Outcome.ACCEPT),
        (0.48, 0.52, Outcome.REJECT),
        (0.60, 0.62, Outcome.REJECT),
        (0.001, 0.005, Outcome.ACCEPT),  # Of so quick a program nobody needs two digits.
        (0.30, 0.60, Outcome.ABSTAIN),
        (-0.05, 0.08, Outcome.ABSTAIN),
        (0.50, 0.90, Outcome.ABSTAIN),
        (0.51, 0.90, Outcome.REJECT),  # Noise of its own buys a slower program nothing.
        (0.60, 9.00, Outcome.REJECT),
    ],
)
def test_a_wide_interval_earns_nothing_and_spares_no_slower_program(
    low: float, high: float, outcome: Outcome
) -> None:
    found = Estimate((low + high) / 2, low, high)

    assert concluded(found, 0.5, 60).outcome is outcome


def test_one_pair_that_was_disturbed_widens_the_interval_little() -> None:
    found = estimated([0.99, 1.0, 1.01, 0.98, 1.02] * 3 + [9.0])

    assert 0.98 <= found.low <= found.high <= 1.02


@pytest.mark.parametrize("size", [7, 10])
def test_the_interval_holds_the_middle_as_often_as_it_says(size: int) -> None:
    """Over all signs that the noise may have, for that is what Wilcoxon's test counts."""
    sizes = [0.01 * 2**n for n in range(size)]
    held = 0
    for signs in range(2**size):
        values = [x if signs >> n & 1 else -x for n, x in enumerate(sizes)]
        found = estimated(values)
        held += found.low <= 0 <= found.high

    assert 0.95 <= held / 2**size < 0.98


# ---- Inputs


@given(st.integers(0, 2**32))
def test_typical_inputs_are_what_was_asked_for(seed: int) -> None:
    of = Integers(type="integers", min=-3, max=9)
    asked = [
        Lists(type="lists", of=of, min_size=5, max_size=6),
        Text(type="text", alphabet="ab", min_size=2, max_size=2),
    ]
    numbers, text = next(typical(asked, seed))

    assert 5 <= len(numbers) <= 6
    assert all(-3 <= n <= 9 for n in numbers)
    assert 2 == len(text)
    assert set(text) <= set("ab")
    assert (numbers, text) == next(typical(asked, seed))


@given(st.none() | st.integers(), st.none() | st.integers(), st.integers(0, 99))
def test_telling_numbers_lie_within_their_range(
    low: int | None, high: int | None, seed: int
) -> None:
    if low is not None and high is not None:
        low, high = sorted((low, high))
    asked = [
        Integers(type="integers", min=low, max=high),
        Floats(
            type="floats",
            min=None if low is None else float(low),
            max=None if high is None else float(high),
        ),
    ]
    for given_int, given_float in drawn(asked, seed, 20):
        assert low is None or given_int >= low
        assert high is None or given_int <= high
        assert low is None or given_float >= float(low)
        assert isfinite(given_float)
        assert high is None or given_float <= float(high)
