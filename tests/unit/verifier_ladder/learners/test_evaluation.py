"""Whether a sample is trained on, by what its data set wrote."""

import pytest

from verifier_ladder.learners.evaluation import evaluates


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
