"""An existing `compute_score` becomes a verifier; it is called as verl calls it, without verl."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import VerifierError
from verifier_ladder.learners import verl


def exact(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> Any:
    """Answer with a dictionary that tells what it was given."""
    wanted = ground_truth + (extra_info or {}).get("unit", "")
    return {"score": float(solution_str == wanted), "source": data_source}


async def later(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None
) -> Any:
    """The same, asynchronous."""
    await asyncio.sleep(0)
    return exact(data_source, solution_str, ground_truth, extra_info)


def failing(**_: Any) -> float:
    """Fail at everything."""
    raise ValueError("no")


@pytest.mark.parametrize("function", [exact, later])
@pytest.mark.parametrize("is_asynchronous", [True, False])
def test_an_existing_function_scores_unchanged(
    function: Callable[..., Any],
    is_asynchronous: bool,  # noqa: FBT001
) -> None:
    check = verl.wrap(function, extra_info=["unit"], isolation="inline")
    score = verl.compute_score(check, asynchronous=is_asynchronous)
    info = {"unit": "m", "index": 3, "picture": object()}
    told = [score("lengths", text, "4", info) for text in ("4m", "4")]

    if is_asynchronous:
        told = [asyncio.run(answer) for answer in told]
    assert [1.0, 0.0] == [answer["score"] for answer in told]


def test_it_keeps_its_name_and_names_what_it_reads() -> None:
    check = verl.wrap(exact, extra_info=["unit"])

    assert "exact" == check.name
    assert ("data_source", "ground_truth", "unit") == check.columns


def test_its_source_is_watched_not_the_wrappers() -> None:
    """A changed function with its old version must be noticed."""
    assert verl.wrap(exact).source_digest != verl.wrap(later).source_digest


def test_another_unit_is_another_check() -> None:
    score = verl.compute_score(
        verl.wrap(exact, extra_info=["unit"], isolation="inline"), asynchronous=False
    )

    assert 1.0 == score("s", "4m", "4", {"unit": "m"})["score"]
    assert 0.0 == score("s", "4m", "4", {"unit": "km"})["score"]


def test_what_is_unknown_raises_or_gets_its_number() -> None:
    check = verl.wrap(failing, isolation="inline")

    with pytest.raises(VerifierError, match="on_abstain"):
        verl.compute_score(check, asynchronous=False)("s", "4", "4", {})
    told = verl.compute_score(check, on_abstain=0.3, asynchronous=False)("s", "4", "4", {})
    assert (0.3, 1.0) == (told["score"], told["unknown"])


def test_a_key_of_extra_info_that_is_missing_is_named() -> None:
    score = verl.compute_score(verl.wrap(exact, extra_info=["unit"]), asynchronous=False)

    with pytest.raises(vl.ConfigError, match="'unit'"):
        score("s", "4", "4", {})


class Rows:
    """A dataset of one row, made as verl makes its own."""

    def __init__(self, *, data_files: Any, max_samples: int = -1, **_: Any) -> None:
        self.rows = [{"files": data_files, "extra_info": {"index": 3}, "most": max_samples}]

    def __getitem__(self, item: int) -> dict[str, Any]:
        return dict(self.rows[item])


@pytest.mark.parametrize(
    ("files", "trained", "validated", "said"),
    [
        (["a"], ["a"], ["b"], {"validate": False}),
        (["b"], ["a"], ["b"], {"validate": True}),
        (["b"], "a", "b", {"validate": True}),
        (["a"], ["a"], ["a"], {}),
        (["c"], ["a"], ["b"], {}),
    ],
    ids=["train", "validate", "one file", "both", "neither"],
)
def test_rows_say_whether_their_files_validate(
    files: Any, trained: Any, validated: Any, said: dict[str, bool]
) -> None:
    config = SimpleNamespace(train_files=trained, val_files=validated)
    made = verl.dataset(Rows)(data_files=files, tokenizer=None, config=config, max_samples=7)

    assert {"index": 3, **said} == made[0]["extra_info"]
    assert 7 == made[0]["most"]
