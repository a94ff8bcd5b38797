"""Answers to reasoning-gym earn what the library says, are never run, and never for nothing."""
# mypy: ignore-errors
# reasoning-gym is not installed everywhere that types are checked.

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import reasoning_gym
from reasoning_gym.factory import DATASETS

import verifier_ladder as vl
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.generic.reasoninggym import LEFT_OUT, ReasoningGym

OWN = {"codeio": "runs programs", "composite": "needs other datasets"}
"""What is not tried here, and why."""
RUN = ["binary_matrix", "countdown", "intermediate_integration", "n_queens", "number_sorting",
       "polynomial_multiplication", "puzzle24", "simple_integration", "spiral_matrix",
       "string_insertion"]  # fmt: skip
"""Datasets whose scorers run what they are given."""
FIXED = [
    "0", "1", "-1", "2", "3", "12", "100", "0.5", "0.01", "nan", "n a n", "-inf", "1e999",
    "nan+nanj", "0/0", "[]", "[[]]", "[[0]]", "{}", "()", "True", "False", "True False", "None",
    "yes", "no", "x", "A", "*", "?", "N/A", "knight", "1 2 3", "0 0", "even", "impossible",
    "The answer is 1.", " ".join(map(str, range(60))),
]  # fmt: skip
"""Answers that anybody could give without having read the question."""
PARTLY = {"course_schedule", "gcd", "isomorphic_strings", "largest_island", "letter_counting",
          "ransom_note", "rectangle_count"}  # fmt: skip
"""Datasets that pay up to .7 for answers that hold the right one, or are near; see the page."""
ALL = ReasoningGym(datasets={name: [] for name in DATASETS})


class TestReasoningGym(VerifierTestCase):
    strict = True

    @pytest.fixture
    def verifier(self) -> ReasoningGym:
        return ReasoningGym()


def entry_of(name: str, seed: int = 7, index: int = 0) -> dict[str, Any]:
    return reasoning_gym.create_dataset(name, seed=seed)[index]


def judge(name: str, text: str, by: ReasoningGym = ALL) -> vl.Verdict:
    task = {"dataset": name, "seed": 7, "index": 0, "question": entry_of(name)["question"]}
    return by.judge([vl.Candidate("text", f"<answer>{text}</answer>", task)])[0]


@pytest.mark.parametrize("name", ["basic_arithmetic", "countdown", "leg_counting", "n_queens",
                                  "simple_equations", "spiral_matrix", "sudoku"])  # fmt: skip
def test_an_answer_earns_what_the_library_says(name: str) -> None:
    dataset, entry = reasoning_gym.create_dataset(name, seed=7), entry_of(name)
    answer = str(entry["answer"])
    for text in (answer, f"{answer} or 1", "1", "nothing"):
        by_library = dataset.score_answer(text, deepcopy(entry))
        verdict = judge(name, text)
        assert verdict.score == (by_library if by_library >= 0.1 else None), (text, verdict)


def test_own_answers_of_all_datasets_are_taken_and_nonsense_is_not() -> None:
    lost, paid, unknown = [], [], []
    for name in sorted(DATASETS.keys() - OWN.keys()):
        own = entry_of(name)["answer"]
        said = [judge(name, text) for text in (str(own), "zzz")]
        if any(verdict.outcome == "abstain" for verdict in said):
            unknown.append(name)
            continue
        if own is not None and said[0].outcome != "accept":
            lost.append(name)
        if said[1].outcome != "reject":
            paid.append(name)
    assert not lost
    assert not unknown
    assert set(paid) <= LEFT_OUT.keys()


def test_no_fixed_string_earns_much_of_a_dataset() -> None:
    check, paid = ReasoningGym(), []
    for name in sorted(DATASETS.keys() - OWN.keys() - LEFT_OUT.keys()):
        tasks = [{"dataset": name, "seed": seed, "index": 0} for seed in (1, 2, 3, 14, 159)]
        owns = [str(entry_of(name, task["seed"])["answer"]).lower() for task in tasks]
        for text in FIXED:
            # Whoever guesses what is right for this entry has earned it.
            asked = [t for t, own in zip(tasks, owns, strict=True) if own != text.lower()]
            said = check.judge(
                [vl.Candidate("text", f"<answer>{text}</answer>", t) for t in asked]
            )
            bound = 0.7 if name in PARTLY else 0.5
            much = [verdict for verdict in said if (verdict.score or 0.0) >= bound]
            if len(much) > len(asked) / 2:
                paid.append((name, text))
    assert not paid


@pytest.mark.parametrize("answer", ["nan", "NaN", "n a n", "nan+nanj", "nani", "3+nani", "inf"])
def test_a_complex_number_must_be_finite(answer: str) -> None:
    assert judge("complex_arithmetic", answer).outcome == "reject"


@pytest.mark.parametrize("name", RUN)
def test_no_answer_is_run(name: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    for code in (
        f"__import__('pathlib').Path('{made}').touch()", f"open('{made}', 'w')",
        f"[c for c in ().__class__.__base__.__subclasses__()] and open('{made}', 'w')",
        f"exec(\"open('{made}', 'w')\")", f"(lambda: open('{made}', 'w'))()",
    ):  # fmt: skip
        assert judge(name, code).outcome == "reject"
        assert not made.exists()


def test_what_pays_for_nothing_has_to_be_named() -> None:
    for name in LEFT_OUT:
        verdict = ReasoningGym().judge(
            [vl.Candidate("text", "1", {"dataset": name, "seed": 0, "index": 0})]
        )[0]
        assert verdict.outcome == "abstain"
        assert "must be named in `datasets`" in verdict.reason


def test_a_ladder_keeps_the_scores(tmp_path: Path) -> None:
    answer = entry_of("leg_counting")["answer"]
    task = {"dataset": "leg_counting", "seed": 7, "index": 0}
    ladder = vl.Ladder("legs", [ReasoningGym()])
    with vl.Campaign.open("legs", ladder=ladder, ledger=tmp_path / "l.db", workers=1) as campaign:
        rewards = campaign.score([vl.Candidate("text", text, task) for text in (answer, "0")])

    assert [reward.value for reward in rewards] == [1.0, 0.0]
