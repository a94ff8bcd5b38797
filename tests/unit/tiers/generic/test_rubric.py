"""Rubrics without their library; `tests/learners/rubric` has the library."""

import asyncio
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.generic.rubric import RubricVerifier
from verifier_ladder.verdict import Outcome


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "verifiers.legacy", None)
    with pytest.raises(vl.ConfigError, match="pip install 'verifiers"):
        RubricVerifier(lambda: None, name="r", version="1").setup()


def test_columns_are_part_of_what_it_reads() -> None:
    made = RubricVerifier(lambda: None, name="r", version="1", columns=["tests", "answer"])
    assert made.task_fields == ("prompt", "answer", "info", "completion_messages", "tests")


class Rubric:
    """A rubric of one function, which reads each completion as a number."""

    rubrics: tuple[()] = ()
    has_group_rewards = False
    weights: tuple[float, ...] = (1.0,)

    def __init__(self) -> None:
        self.funcs: tuple[Callable[..., Any], ...] = (self.number,)

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


BAD: dict[str, Any] = {
    "an error": ValueError("no"), "a lookup": KeyError("x"), "its end": SystemExit(1),
    "an interrupt": KeyboardInterrupt(), "a cancel": asyncio.CancelledError(),
    "no memory": MemoryError(), "several": ExceptionGroup("both", [ValueError("a")]),
    "nothing": None, "no number": math.nan, "no end": math.inf, "a text": "x", "a list": [1.0],
    "too large": 10**400,
}  # fmt: skip
"""What a criterion raises, or gives, about a completion."""


class Criteria(Rubric):
    """Two criteria, of which the second does what the completion says."""

    weights = (1.0, 1.0)

    def __init__(self) -> None:
        self.funcs = (lambda: 0.5, self.obeys)

    @staticmethod
    async def obeys(completion: Any) -> Any:
        what = BAD.get(completion[-1]["content"], 0.25)
        if isinstance(what, BaseException):
            raise what
        return what


@pytest.mark.parametrize("scope", ["candidate", "group"])
def test_a_criterion_that_raises_or_gives_no_number_is_unknown_and_costs_nobody_else_a_verdict(
    scope: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    legacy = ModuleType("verifiers.legacy")
    legacy.State = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "verifiers", ModuleType("verifiers"))
    monkeypatch.setitem(sys.modules, "verifiers.legacy", legacy)
    judged = RubricVerifier(Criteria, name="criteria", version="1", scope=scope)
    judged.setup()
    first, *bad, last = judged.judge(
        [vl.Candidate("text", text) for text in ("good", *BAD, "good too")]
    )

    assert [first.score, last.score] == [0.75, 0.75]
    assert {(one.outcome, one.score) for one in bad} == {(Outcome.ABSTAIN, None)}
    assert {one.failed_at for one in bad} == {"verifier", "engine"}
    assert all(one.reason for one in bad)
