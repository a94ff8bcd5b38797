"""Marks: which candidate a verifier is looking at."""

import pickle

from verifier_ladder.scheduler.engines.progress import NOT_STARTED, Marked, Progress


def test_walking_marks_each_position_before_it_is_seen() -> None:
    marks: list[int] = []
    seen = [(item, list(marks)) for item in Marked("abc", 5, marks.append)]

    assert [("a", [5]), ("b", [5, 6]), ("c", [5, 6, 7])] == seen


def test_a_marked_batch_is_a_list_like_any_other() -> None:
    batch = Marked([1, 2, 3], 0, lambda _: None)

    assert (3, 2, [2, 3], True) == (len(batch), batch[1], batch[1:], batch == [1, 2, 3])
    assert list is type(pickle.loads(pickle.dumps(batch)))  # noqa: S301


def test_progress_starts_before_the_first_candidate() -> None:
    progress = Progress()

    assert NOT_STARTED == progress.cell[0]
    progress.close()
