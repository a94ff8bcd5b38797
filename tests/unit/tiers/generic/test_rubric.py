"""Rubrics without their library; `tests/learners/rubric` has the library."""

from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.generic.rubric import RubricVerifier


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "verifiers.legacy", None)
    with pytest.raises(vl.ConfigError, match="pip install 'verifiers"):
        RubricVerifier(lambda: None, name="r", version="1").setup()


def test_columns_are_part_of_what_it_reads() -> None:
    made = RubricVerifier(lambda: None, name="r", version="1", columns=["tests", "answer"])
    assert made.task_fields == ("prompt", "answer", "info", "completion_messages", "tests")


class Rubric:
    """A rubric of one function, which reads each completion as a number."""

    rubrics: tuple[()] = ()
    has_group_rewards = False
    weights = (1.0,)

    def __init__(self) -> None:
        self.funcs = (self.number,)

    @staticmethod
    def number(completion: Any) -> float:
        return float(completion[-1]["content"])

    def _is_group_func(self, _: object) -> bool:
        return False

    def score_objects(self, state: Any) -> Any:
        return state


def rewarded(ledger: Path, **options: Any) -> list[float | None]:
    judged = RubricVerifier(Rubric, name="numbers", version="1", **options)
    ladder = vl.Ladder("numbers", [judged])
    with vl.Campaign.open("numbers", ladder=ladder, ledger=ledger, workers=1) as campaign:
        asked = [vl.Candidate("text", text) for text in ("0.5", "what makes it raise")]
        return [reward.value for reward in campaign.score(asked)]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of the library as a rubric needs, also in workers."""
    (tmp_path / "verifiers").mkdir()
    (tmp_path / "verifiers" / "__init__.py").touch()
    (tmp_path / "verifiers" / "legacy.py").write_text("State = dict")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("library")
def test_what_a_completion_makes_a_function_raise_is_unknown(tmp_path: Path) -> None:
    assert [0.5, None] == rewarded(tmp_path / "ledger.db")


@pytest.mark.usefixtures("library")
def test_with_a_control_it_is_rejected(tmp_path: Path) -> None:
    control = vl.Candidate("text", "1")
    assert [0.5, 0.0] == rewarded(tmp_path / "ledger.db", control=control)
