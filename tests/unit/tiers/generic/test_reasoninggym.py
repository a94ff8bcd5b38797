"""reasoning-gym without the library; `tests/learners/reasoning_gym` has the library."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.generic import reasoninggym
from verifier_ladder.tiers.generic.reasoninggym import ReasoningGym

LIBRARY = """
from types import SimpleNamespace
from . import evaluating, queens, sums

kinds = {"evaluating": evaluating.Evaluating, "n_queens": queens.Queens}
names = ("sums", "broken", "odd", "codeio", "lenient", *kinds)
factory = SimpleNamespace(DATASETS={name: (kinds.get(name, sums.Sums), None) for name in names})

def create_dataset(name, seed, **config):
    return factory.DATASETS[name][0](name, seed, **config)
"""
SUMS = """
class Sums:
    def __init__(self, name, seed, size=5):
        if size < 1:
            raise AssertionError("size must be above 0")
        self.name, self.seed, self.size = name, seed, size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index == 4:
            raise RuntimeError("no such sum")
        total = self.seed + index
        question = f"{self.seed} + {index}?"
        return {"question": question, "answer": str(total), "metadata": {"n": [total]}}

    def score_answer(self, answer, entry):
        wanted = entry["metadata"]["n"].pop()  # As some do.
        if self.name == "broken":
            raise ValueError("broken")
        if self.name == "lenient":
            return 1.0
        if self.name == "odd" and answer != entry["answer"]:
            return {"7": 7.0, "8": None, "9": float("nan")}.get(answer, 0.0)
        return 1.0 if int(answer) == wanted else 0.05
"""
EVALUATING = """
from .sums import Sums

class {}(Sums):
    def score_answer(self, answer, entry):
        return float(eval(answer) == entry["metadata"]["n"][0])
"""
FILES = {
    "__init__": LIBRARY, "sums": SUMS, "evaluating": EVALUATING.format("Evaluating"),
    "queens": EVALUATING.format("Queens"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A library with the interface of reasoning-gym, also in workers."""
    folder = tmp_path / "reasoning_gym"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    yield
    _forget()


def _forget() -> None:
    reasoninggym._dataset.cache_clear()
    reasoninggym._made.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "reasoning_gym"]:
        del sys.modules[name]


def judge(text: str, *, by: ReasoningGym | None = None, **task: Any) -> vl.Verdict:
    base = {"dataset": "sums", "seed": 3, "index": 1}
    given = {name: value for name, value in {**base, **task}.items() if value is not None}
    return (by or ReasoningGym()).judge([vl.Candidate("text", text, given)])[0]


def test_the_librarys_score_is_the_score() -> None:
    right, wrong = judge("<answer> 4 </answer>"), judge("I add.\n<answer>5</answer>")

    assert (right.outcome, right.score) == ("accept", 1.0)
    assert (wrong.outcome, wrong.score, wrong.feedback != "") == ("reject", None, True)
    assert wrong.evidence["by the library"] == 0.05


def test_what_any_answer_earns_counts_only_where_it_is_asked_for() -> None:
    assert judge("5", by=ReasoningGym(least=0.05)).score == 0.05
    assert judge("4", by=ReasoningGym(least=1)).score == 1.0


@pytest.mark.parametrize("text", [
    "four", "<answer></answer>", "<answer>4</answer><answer>5</answer>", "9" * 20_000, "\0",
], ids=range(5))  # fmt: skip
def test_what_a_scorer_can_not_read_is_the_answers_fault(text: str) -> None:
    verdict = judge(text)

    assert verdict.outcome == "reject"
    assert verdict.feedback


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ({"dataset": "broken"}, "does not take the entry's own answer"),
        ({"dataset": "nothing"}, "no 'nothing'"), ({"seed": None}, "no seed"),
        ({"index": None}, "no seed"), ({"index": 9}, "has 5 entries"),
        ({"index": 4}, "make entry"),
        ({"index": True}, "index"), ({"seed": -1}, "seed"), ({"dataset": 3}, "dataset"),
        ({"config": {"size": 0}}, "size must be above 0"), ({"config": {"sizes": 9}}, "sizes"),
        ({"question": "3 + 2?"}, "question"), ({"dataset": "codeio"}, "named in `datasets`"),
        ({"dataset": "evaluating"}, "runs text"),
        ({"entry": {"answer": "4"}, "seed": None, "index": None}, "`entries` must be set"),
    ],
)  # fmt: skip
def test_a_task_that_nobody_can_answer_is_abstained_from(task: dict[str, Any], why: str) -> None:
    verdict = judge("4", **task)

    assert (verdict.outcome, verdict.failed_at) == ("abstain", None)
    assert why in verdict.reason


@pytest.mark.parametrize("text", ["7", "8", "9"])
def test_a_score_that_is_none_is_unknown(text: str) -> None:
    assert judge(text, dataset="odd").failed_at == "tool"


def test_a_question_that_is_the_same_is_answered() -> None:
    assert judge("4", question="3 + 1?").score == 1.0
    assert judge("5", config={"size": 3}, index=2).score == 1.0


def test_the_host_names_datasets_and_fields() -> None:
    named = ReasoningGym(datasets={"codeio": []})

    assert judge("4", by=named, dataset="codeio").score == 1.0
    assert "none of `datasets`" in judge("4", by=named).reason
    assert "size" in judge("4", by=named, dataset="codeio", config={"size": 9}).reason


def test_an_entry_is_trusted_only_where_the_host_says_so() -> None:
    entry = {"question": "?", "answer": "12", "metadata": {"n": [12]}}
    task = {"entry": entry, "seed": None, "index": None}

    assert judge("12", by=ReasoningGym(entries=True), **task).score == 1.0
    assert "an entry beside" in judge("12", by=ReasoningGym(entries=True), entry=entry).reason


def test_no_answer_is_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    code = f"__import__('pathlib').Path({str(made)!r}).write_text('x') and 4"

    assert judge("4", dataset="n_queens").score == 1.0
    assert judge(code, dataset="n_queens").outcome == "reject"
    assert not made.exists()


@pytest.mark.parametrize("answer", [
    "x**2/2 + C", "(3 + 4)*2", "-2*x**3 + sin(x)*exp(2*x)", "0.5*x", "sqrt(2)*log(x)", "2*X*y",
])  # fmt: skip
def test_formulas_are_read(answer: str) -> None:
    assert reasoninggym._is_formula(answer)


@pytest.mark.parametrize("answer", [
    "__import__('os')", "x.__class__", "(1).real", "[1]", "{1}", "lambda: 1", "a = 1", "exec(1)",
    "9**9**9", "9**(9**9)", "(9**9)**9", "2**1000", "9" * 50, "x; y", "'x'", "1_0", "open(x)",
    "x!", "x.y", "x .y", "x. y", "\u0663",
])  # fmt: skip
def test_what_is_more_than_a_formula_is_not(answer: str) -> None:
    assert not reasoninggym._is_formula(answer)


@pytest.mark.parametrize("answer", [
    "nan", "NaN", "-nan", "inf", "+Inf", "-INFINITY", "1e999", "nan+nanj", "3+nani", "(nan)",
    "[1, nan]", "1, inf, 2", "x = nan", "n a n", "snan", "NaN123", "1e400j", '{"a": NaN}',
])  # fmt: skip
def test_a_number_that_is_not_finite_is_refused(answer: str) -> None:
    verdict = judge(f"<answer>{answer}</answer>", dataset="lenient")

    assert verdict.outcome == "reject"
    assert "no finite number" in verdict.reason
    assert "finite" in verdict.feedback


@pytest.mark.parametrize(
    "answer", ["1e99", "banana", "info", "nano 1", "infinitely", "3+4j", "x", "01" * 400]
)
def test_other_answers_are_the_scorers_to_judge(answer: str) -> None:
    assert judge(f"<answer>{answer}</answer>", dataset="lenient").score == 1.0


def test_a_word_of_the_entrys_own_answer_may_be_said() -> None:
    entry = {"question": "?", "answer": "to Infinity", "metadata": {"n": [12]}}
    task = {"dataset": "lenient", "entry": entry, "seed": None, "index": None}

    assert judge("infinity", by=ReasoningGym(entries=True), **task).score == 1.0
    assert judge("nan", by=ReasoningGym(entries=True), **task).outcome == "reject"


@pytest.mark.parametrize("answer", ["3+4j", "-2.5 - 3.0I", "(7i)", "1e2+1j", "0"])
def test_complex_numbers_are_read(answer: str) -> None:
    assert reasoninggym._is_complex(answer)


@pytest.mark.parametrize("answer", ["na n", "nan", "\u0269", "a+bi"])
def test_other_letters_are_no_complex_numbers(answer: str) -> None:
    assert not reasoninggym._is_complex(answer)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    verdict = judge("4")

    assert verdict.failed_at == "tool"
    assert "pip install reasoning-gym" in verdict.reason


@pytest.mark.parametrize("options", [{"least": 0}, {"least": 1.1}, {"datasets": {}},
                                     {"datasets": {"": []}}])  # fmt: skip
def test_a_setting_without_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(vl.ConfigError):
        ReasoningGym(**options)
