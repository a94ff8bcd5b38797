"""Who is to blame for a lost worker: decided here without any process."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.engines.blame import Answers, Case, Compared
from verifier_ladder.scheduler.engines.watch import Failure

CULPRIT, ABANDONED = -1, -2


class Told:
    """A control that passes, or not."""

    def __init__(self, sane: bool) -> None:  # noqa: FBT001
        self.sane = sane

    def exists(self, failure: Failure) -> bool:
        return failure.cause != "alone"

    def compare(self, failure: Failure) -> Compared:
        return Compared(self.sane, 0.25) if self.exists(failure) else Compared(passes=None)


class Batch:
    """A batch in which some candidates bring the worker down."""

    def __init__(
        self,
        count: int,
        bad: set[int],
        marks: str = "exact",
        streams: bool = False,  # noqa: FBT001, FBT002 - drawn by hypothesis
    ) -> None:
        self.count, self.bad, self.marks, self.streams = count, bad, marks, streams
        self.charged: dict[int, float] = {}
        self.attempts: list[tuple[int, ...]] = []
        self.flaky: set[int] = set()
        self.forgetful: set[int] = set()

    def attempt(self, group: Sequence[int], fresh: bool) -> Answers[int]:  # noqa: FBT001
        self.attempts.append(tuple(group))
        down = [p for p in group if p in self.bad or (p in self.flaky and not fresh)]
        if down:
            mark = {"exact": down[0], "last": group[-1], "none": None}[self.marks]
            failure = Failure("crash", "crashed", mark, seconds=1.0)
            before = list(group[: group.index(down[0])]) if self.streams else []
            return Answers([10 * p for p in before], 0.0, failure=failure)
        suspects = {
            n: Failure("memory", "out of memory")
            for n, p in enumerate(group)
            if p in self.forgetful
        }
        return Answers([10 * p for p in group], 0.5, suspects)

    def convict(self, position: int, failure: Failure, passes: bool | None) -> int:  # noqa: FBT001
        self.charged[position] = failure.seconds
        return 7 if passes else CULPRIT

    def case(self, *, sane: bool | None = None) -> Case[int]:
        return Case(
            self.count,
            self.attempt,
            self.convict,
            give_up=lambda _, __: ABANDONED,
            control=None if sane is None else Told(sane),
            exact=self.marks == "exact",
        )


@given(
    st.integers(0, 40).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.integers(0, max(0, n - 1)), max_size=min(n, 6)))
    ),
    st.sampled_from(["exact", "last", "none"]),
    st.booleans(),
)
def test_every_innocent_is_answered_and_every_culprit_is_found(
    batch: tuple[int, set[int]],
    marks: str,
    streams: bool,  # noqa: FBT001
) -> None:
    count, bad = batch

    items = Batch(count, bad, marks, streams).case().settle()

    assert [CULPRIT if p in bad else 10 * p for p in range(count)] == items


@given(st.sets(st.integers(0, 39), max_size=6), st.sampled_from(["exact", "none"]))
def test_what_was_answered_before_a_failure_is_not_asked_again(bad: set[int], marks: str) -> None:
    batch = Batch(40, bad, marks, streams=True)

    batch.case().settle()

    for number, group in enumerate(batch.attempts):
        down = [p for p in group if p in bad]
        answered = group[: group.index(down[0])] if down else group
        later = {p for other in batch.attempts[number + 1 :] for p in other}
        assert later.isdisjoint(answered)


@given(st.integers(0, 255))
def test_the_only_one_without_an_answer_is_the_culprit(count: int) -> None:
    batch = Batch(count + 1, {count}, "none", streams=True)

    batch.case().settle()

    assert [tuple(range(count + 1)), (count,)] == batch.attempts


@given(st.sets(st.integers(0, 255), max_size=5))
def test_exact_marks_cost_three_attempts_per_culprit(bad: set[int]) -> None:
    batch = Batch(256, bad)

    batch.case().settle()

    assert len(batch.attempts) <= 1 + 3 * len(bad)


@given(st.integers(0, 255))
def test_without_marks_one_culprit_is_found_by_halving(bad: int) -> None:
    batch = Batch(256, {bad}, "none")

    batch.case().settle()

    assert len(batch.attempts) <= 1 + 2 * 8 + 2


@given(st.integers(0, 255))
def test_misleading_marks_cost_one_attempt_more(bad: int) -> None:
    batch = Batch(256, {bad}, "last")

    batch.case().settle()

    assert len(batch.attempts) <= 2 + 2 * 9 + 2


def test_where_marks_are_exact_the_others_are_answered_before_the_suspect_is_tried_again() -> None:
    batch = Batch(4, {1})

    batch.case().settle()

    assert [(0, 1, 2, 3), (0, 2, 3), (1,)] == batch.attempts[:3]


def test_answers_can_be_read_while_the_case_is_open() -> None:
    answers: dict[int, int] = {}
    batch, seen = Batch(4, {1}), []

    def attempt(group: Sequence[int], fresh: bool) -> Answers[int]:  # noqa: FBT001
        seen.append(dict(answers))
        return batch.attempt(group, fresh)

    Case(
        4, attempt, lambda _, __, ___: CULPRIT, give_up=lambda _, __: ABANDONED, exact=True,
        tell=answers.update,
    ).settle()  # fmt: skip

    assert {0: 0, 2: 20, 3: 30} == seen[2]


def test_a_failure_that_does_not_repeat_in_a_fresh_worker_blames_nobody() -> None:
    batch = Batch(4, set())
    batch.flaky = {2}

    items = batch.case().settle()

    assert [0, 10, 20, 30] == items


def test_a_culprit_fails_in_two_fresh_workers_before_a_control_is_asked() -> None:
    batch = Batch(1, {0})

    items = batch.case(sane=True).settle()

    assert [(0,), (0,), (0,)] == batch.attempts
    assert [7] == items


def test_a_control_that_fails_too_acquits() -> None:
    assert [CULPRIT] == Batch(1, {0}).case(sane=False).settle()


def test_a_culprit_is_charged_for_its_control() -> None:
    batch = Batch(1, {0})
    case = batch.case(sane=True)

    case.settle()

    assert ({0: 3.25}, 3.25) == (batch.charged, case.seconds)


def test_running_out_of_memory_is_tried_again_alone() -> None:
    batch = Batch(3, set())
    batch.forgetful = {1}

    items = batch.case().settle()

    assert [0, CULPRIT, 20] == items
    assert [(0, 1, 2), (1,)] == batch.attempts


def test_a_worker_that_can_not_start_abandons_all() -> None:
    case: Case[int] = Case(
        3,
        lambda _, __: Answers([], 0.0, failure=Failure("start", "did not start", seconds=3.0)),
        lambda _, __, ___: CULPRIT,
        give_up=lambda _, __: ABANDONED,
    )

    assert [ABANDONED] * 3 == case.settle()
    assert {0: 1.0, 1: 1.0, 2: 1.0} == case.wasted


@given(
    st.sets(st.integers(0, 20), max_size=4),
    st.sampled_from(["exact", "last", "none"]),
)
def test_what_is_charged_adds_up_to_what_was_wasted(bad: set[int], marks: str) -> None:
    batch = Batch(21, bad, marks)
    case = batch.case()

    case.settle()

    failed = sum(1.0 for group in batch.attempts if bad.intersection(group))
    assert abs(sum(case.wasted.values()) + sum(batch.charged.values()) - failed) < 1e-9
    assert set(batch.charged) == bad
    assert set(case.wasted) <= (bad if marks != "last" else set(range(21)))


class Stopped(Told):
    """A control that something stops before it is judged."""

    def __init__(self, cause: str) -> None:
        self.cause = cause

    def compare(self, failure: Failure) -> Compared:
        del failure
        return Compared(None, 0.25, Failure(self.cause, "was stopped"))


@pytest.mark.parametrize("cause", ["budget", "abandoned", "starved"])
def test_where_the_control_is_stopped_that_is_the_answer_and_nobody_is_convicted(
    cause: str,
) -> None:
    batch, told = Batch(3, {0, 1}), []

    def give_up(position: int, failure: Failure) -> int:
        told.append((position, failure.cause))
        return ABANDONED

    case = Case(
        3, batch.attempt, batch.convict, give_up=give_up, control=Stopped(cause), exact=True
    )  # fmt: skip

    assert [ABANDONED, ABANDONED, 20] == case.settle()
    assert [(0, cause), (1, cause)] == sorted(told)
    assert {} == batch.charged
    assert case.seconds - 0.5 == sum(case.wasted.values())  # half a second for what stands
