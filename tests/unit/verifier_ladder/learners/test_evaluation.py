"""Whether a sample is trained on, by what its data set wrote."""

import pytest

from verifier_ladder.learners.evaluation import Rows, evaluates


@pytest.mark.parametrize(
    "split",
    [
        "test",
        "Test",
        " validation ",
        "test[:100]",
        "test_hard",
        "validation-matched",
        "dev2",
        "held_out",
        "held-out",
        "heldout",
        "holdout",
        "eval/easy",
    ],
)
def test_a_split_that_begins_like_one_for_evaluation_is_one(split: str) -> None:
    assert evaluates({"extra_info": {"split": split}}) is True


@pytest.mark.parametrize(
    "split", ["train", "train[:100]", "train_test", "testimony", "device", ""]
)
def test_any_other_split_is_trained_on(split: str) -> None:
    assert evaluates({"split": split}) is False


def test_that_rows_say_nothing_is_told_once_and_not_of_rows_that_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = Rows("exact", "verl", "Do this")
    said = [rows.evaluate(row) for row in ({"split": "test"}, {}, {})]

    assert [True, None, None] == said
    (line,) = caplog.messages
    assert "verl" in line
    assert "exact" in line
    assert "Do this" in line
