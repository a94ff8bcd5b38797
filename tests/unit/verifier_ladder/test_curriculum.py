"""Curricula."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordedruns import CHEAP, RecordedRun, Told
from scipy import stats

from verifier_ladder.curriculum import Curriculum, Passes, Weighting, curriculum
from verifier_ladder.errors import ConfigError
from verifier_ladder.learners.messages import group_of, groups_of
from verifier_ladder.ledger import open_ledger
from verifier_ladder.transcript import Transcript
from verifier_ladder.verdict import Verdict

Group = dict[str, list[float | None]]


def made(*steps: Group, **options: Any) -> Curriculum:
    book = RecordedRun(open_ledger(":memory:"))
    for number, step in enumerate(steps):
        told = [
            Told(f"{number} {group} {i}", value, group, learner_version=f"v{number}")
            for group, values in step.items()
            for i, value in enumerate(values)
        ]
        book.score(told)
    return curriculum(book.ledger, **options)


def test_groups_that_teach_nothing_are_counted() -> None:
    found = made({"all": [1.0, 1.0], "none": [0.0, 0.0], "some": [1.0, 0.0], "dark": [None, None]})

    assert Passes(8, 6, 3, all_pass=1, all_fail=1, mixed=1) == found.passes
    assert (0.5, 0.25) == (found.passes.rate, found.passes.abstained)
    assert "some" == found.tasks[0].groups[0]


def test_unknown_is_neither_pass_nor_fail() -> None:
    found = made({"a": [1.0, None, None, 1.0]})

    assert (1.0, 0.5, 1) == (
        found.passes.rate, found.passes.abstained, found.passes.all_pass
    )  # fmt: skip


def test_each_task_is_told_step_by_step() -> None:
    found = made({"a": [0.0, 0.0]}, {"a": [1.0, 0.0], "b": [1.0]})

    (a,) = [task for task in found.tasks if task.groups == ("a",)]
    assert [(0, "v0", 0.0), (1, "v1", 0.5)] == [
        (visit.step, visit.learner_version, visit.passes.rate) for visit in a.visits
    ]
    assert [0.0, pytest.approx(2 / 3)] == [visit.passes.rate for visit in found.steps]


def test_a_rejected_candidate_does_not_pass() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    book.score([Told("a", 1.0, "g", {CHEAP: Verdict.reject("cheats")})])

    assert 0.0 == curriculum(book.ledger).passes.rate


COUNTS = st.integers(0, 60)


@given(COUNTS, COUNTS, st.floats(0.1, 5), st.floats(0.1, 5))
def test_learnability_is_the_expectation_under_the_posterior(
    passed: int, failed: int, a: float, b: float
) -> None:
    posterior = stats.beta(a + passed, b + failed)
    expected = posterior.mean() - posterior.moment(2)

    assert expected == pytest.approx(Weighting(prior=(a, b)).learnability(passed, failed))


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=6), min_size=1,
                max_size=6), st.floats(0, 1))  # fmt: skip
def test_weights_are_probabilities_above_the_floor(
    groups: list[list[float | None]], floor: float
) -> None:
    step = {str(i): values for i, values in enumerate(groups)}
    found = made(step, weighting=Weighting(floor=floor), pass_at=0.5)
    weights = [task.weight for task in found.tasks]

    assert 1.0 == pytest.approx(sum(weights))
    assert min(weights) >= floor / len(weights) - 1e-12
    assert weights == sorted(weights, reverse=True)


def test_a_task_between_is_worth_more_than_one_at_the_ends() -> None:
    found = made({"easy": [1.0] * 8, "fair": [1.0, 0.0] * 4, "hard": [0.0] * 8})
    weights = {task.groups[0]: task.weight for task in found.tasks}

    assert weights["fair"] > 2 * weights["easy"]
    assert weights["easy"] == pytest.approx(weights["hard"])


def test_what_was_long_ago_counts_less() -> None:
    between: list[Group] = [{"c": [1.0]}] * 40
    steps: list[Group] = [{"a": [0.0] * 8}, *between, {"b": [0.0] * 8}]
    usual = made(*steps)
    forgetting = made(*steps, weighting=Weighting(half_life=4.0))

    def weight(found: Curriculum, group: str) -> float:
        return next(task.weight for task in found.tasks if task.groups == (group,))

    assert weight(usual, "a") == weight(usual, "b")
    assert weight(forgetting, "a") > 1.5 * weight(forgetting, "b")


def test_rows_of_a_dataset_get_their_weights() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    easy, fair = "1 + 1 =", [{"role": "user", "content": "17 · 19 ="}]
    for prompt, values in ((easy, [1.0] * 4), (fair, [1.0, 0.0] * 2)):
        group = group_of(prompt)
        book.keep(Transcript(group=group, prompt=prompt))
        book.score([Told(f"{group} {i}", value, group) for i, value in enumerate(values)])
    found = curriculum(book.ledger)

    rows = [easy, {"prompt": fair}, {"group": group_of(easy)}, {"prompt": "never seen"}]
    known, better, by_group, new = found.weights(rows)

    assert known == by_group < new < better
    by_task = {task.groups[0]: task.weight for task in found.tasks}
    assert better / known == pytest.approx(by_task[group_of(fair)] / by_task[group_of(easy)])


def test_a_scale_that_nobody_named_needs_a_threshold() -> None:
    with pytest.raises(ConfigError, match="--pass-at"):
        made({"a": [3.0, -2.0]})

    assert 0.5 == made({"a": [3.0, -2.0]}, pass_at=0.0).passes.rate


def test_groups_of_one_prompt_with_other_answers_are_counted_apart() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    groups = groups_of(["2 + 2 ="] * 2, [{"answer": "4"}, {"answer": "5"}])
    for group in groups:
        book.keep(Transcript(group=group, prompt="2 + 2 ="))
    told = [Told("4", float(group == groups[0]), group) for group in groups for _ in range(2)]
    book.score(told)

    (task,) = curriculum(book.ledger).tasks
    assert Passes(4, 4, 2, all_pass=1, all_fail=1, mixed=0) == task.passes


@pytest.mark.parametrize(
    "wrong", [{"floor": 1.1}, {"floor": -0.1}, {"half_life": 0.0}, {"prior": (0.0, 1.0)}]
)
def test_weightings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        made({"a": [1.0]}, weighting=Weighting(**wrong))
