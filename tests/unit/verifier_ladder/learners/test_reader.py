"""Completions and columns are read as candidates."""

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.errors import ConfigError
from verifier_ladder.learners.reader import Reader


def judge(completions: list[str], answer: list[str]) -> list[float]:
    return [float(c == a) for c, a in zip(completions, answer, strict=True)]


def reader() -> Reader:
    check = vl.wrap(judge, columns=["answer"], isolation="inline")
    return Reader(vl.Ladder("judge", [check]), "judge")


json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.text(), json), min_size=1))
def test_every_candidate_has_its_own_column_value(rows: list[tuple[str, object]]) -> None:
    completions, answers = (list(part) for part in zip(*rows, strict=True))

    made = reader().candidates(completions, {"answer": answers})

    assert rows == [(one.content, (one.task or {})["answer"]) for one in made]


def test_arrays_of_a_table_are_lists_in_a_task() -> None:
    rows = [{"target": np.array([1, 2]), "n": np.int64(3)}, np.float64(0.5), (np.bool_(1),)]

    made = reader().candidates(["a", "b", "c"], {"answer": rows})

    tasks = [dict(one.task or {}) for one in made]
    assert [{"answer": {"target": [1, 2], "n": 3}}, {"answer": 0.5}, {"answer": [True]}] == tasks


def test_what_no_json_can_hold_is_named_with_its_column() -> None:
    with pytest.raises(vl.ConfigError, match=r"column 'answer'.*object"):
        reader().candidates(["a"], {"answer": [object()]})


def test_a_column_that_nobody_reads_may_be_anything() -> None:
    assert 1 == len(reader().candidates(["a"], {"answer": ["4"], "image": object()}))


def test_a_megabyte_of_prompt_is_no_part_of_a_candidate() -> None:
    (made,) = reader().candidates(["a"], {"answer": ["4"], "prompt": ["x" * 2**20]})

    assert {"answer": "4"} == made.task


@given(st.lists(st.sampled_from([1, 1.0, True, "1", None, "a"]), min_size=1))
def test_rows_that_python_takes_for_equal_are_told_apart(answers: list[object]) -> None:
    made = reader().candidates(["4"] * len(answers), {"answer": answers})

    assert list(map(repr, answers)) == [repr((one.task or {})["answer"]) for one in made]


def optional(completions: list[str], answer: Any = None, **kwargs: Any) -> list[float]:
    del kwargs
    return [float(answer is not None)] * len(completions)


def got(completions: list[str], **kwargs: Any) -> list[float]:
    return [float(kwargs.get("answer") is not None)] * len(completions)


def taken(completions: list[str], **kwargs: Any) -> list[float]:
    return [float(kwargs["answer"][place] == c) for place, c in enumerate(completions)]


class Judge:
    def __call__(self, completions: list[str], **others: Any) -> list[float]:
        return [float(others.pop("answer", None) is not None)] * len(completions)


WRAPPED = [optional, got, taken, Judge(), functools.partial(optional, answer="4")]
NAMES = ["default", "get", "subscript", "object", "partial"]


@pytest.mark.parametrize("function", WRAPPED, ids=NAMES)
def test_a_column_that_a_function_would_read_must_be_declared(function: Any) -> None:
    check = vl.wrap(function, version="1", isolation="inline")
    reader = Reader(vl.Ladder("l", [check]), "l")

    with pytest.raises(ConfigError, match=r"columns=\['answer'\]"):
        reader.candidates(["4"], {"answer": ["4"]})
    with (
        vl.Campaign.open("c", ladder=vl.Ladder("l", [check])) as campaign,
        pytest.raises(ConfigError, match=r"columns=\['answer'\]"),
    ):
        campaign.score([vl.Candidate("text", "4", {"answer": "4"})])


@pytest.mark.parametrize("function", WRAPPED, ids=NAMES)
def test_a_column_that_is_not_there_or_declared_is_no_matter(function: Any) -> None:
    alone = Reader(vl.Ladder("l", [vl.wrap(function, version="1")]), "l")
    given = {"completion_ids": [[1]], "trainer_state": [None], "source": ["book"]}

    assert alone.candidates(["4"], given)[0].task in (None, {"completion_ids": [1]})

    told = vl.wrap(function, version="1", columns=["answer"])
    reader = Reader(vl.Ladder("l", [told]), "l")
    assert reader.candidates(["4"], {"answer": ["4"]})[0].task == {"answer": "4"}
