"""Splits that don't leak."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.datasets.kinds import Row
from verifier_ladder.datasets.trainingset import checked_splits, split_of, split_rows
from verifier_ladder.errors import ConfigError

SHARES = {"train": 0.6, "validation": 0.2, "test": 0.2}
ROWS = st.lists(
    st.builds(
        Row, st.sampled_from("abcdefghij"),
        st.lists(st.sampled_from([b"1", b"2", b"3"]), min_size=1, max_size=2).map(tuple),
        st.just({}),
    ),
    max_size=40,
)  # fmt: skip


@given(ROWS, st.integers(0, 5))
def test_no_task_and_no_candidate_is_in_two_splits(rows: list[Row], seed: int) -> None:
    left_out: Counter[str] = Counter()
    parts = split_rows(rows, SHARES, seed, left_out)

    for select in (lambda row: [row.task], lambda row: row.contents):
        homes: dict[object, set[str]] = {}
        for name, part in parts.items():
            for row in part:
                for one in select(row):
                    homes.setdefault(one, set()).add(name)
        assert all(len(names) == 1 for names in homes.values())
    assert len(rows) == sum(map(len, parts.values())) + left_out.total()


@given(ROWS, ROWS)
def test_more_rows_move_no_task(rows: list[Row], more: list[Row]) -> None:
    def homes(given: list[Row]) -> dict[str, str]:
        return {row.task: split_of(row.task, SHARES) for row in given}

    assert homes(rows).items() <= homes(rows + more).items()


def test_the_first_split_keeps_a_candidate_of_two() -> None:
    tasks = {split_of(task, SHARES): task for task in "abcdefghij"}
    rows = [Row(tasks["test"], (b"1",), {}), Row(tasks["train"], (b"1",), {})]
    left_out: Counter[str] = Counter()

    parts = split_rows(rows, SHARES, 0, left_out)

    assert ([rows[1]], []) == (parts["train"], parts["test"])
    assert 1 == left_out["left out of test: another split has its candidate"]


def test_shares_are_kept_over_many_tasks() -> None:
    counts = Counter(split_of(str(task), SHARES) for task in range(10_000))

    assert {
        name: pytest.approx(10_000 * share, rel=0.06) for name, share in SHARES.items()
    } == counts


@pytest.mark.parametrize(
    "shares", [{}, {"train": 0.0}, {"train": -1.0, "test": 2.0}, {"train": float("nan")}]
)
def test_shares_that_make_no_sense_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="give each split its share"):
        checked_splits(shares)


def test_a_split_is_named_as_a_file_can_be() -> None:
    with pytest.raises(ConfigError, match=r"can't be called '\.\./train'"):
        checked_splits({"../train": 1.0})
