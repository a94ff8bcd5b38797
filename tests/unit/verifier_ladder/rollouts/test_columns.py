"""Columns are settled once, from what was said and what the file holds."""

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.columns import Columns, choose_columns

ROW = {"prompt_id": 1, "completion": "4", "target": "4", "answer": "4"}


def test_what_was_said_is_taken() -> None:
    wanted = {"content": "answer", "task": "target", "group": "completion"}

    assert Columns("answer", "target", {}, "completion", "target") == choose_columns(
        wanted, [ROW], []
    )


def test_what_was_not_said_is_found_and_told() -> None:
    found = choose_columns(None, [ROW], [])

    assert ("completion", "prompt_id") == (found.content, found.group)
    assert [
        "content is the column 'completion' (--content)",
        "group is the column 'prompt_id' (--group)",
    ] == list(found.assumed)


def test_fields_that_verifiers_read_become_the_task() -> None:
    assert {"answer": "answer"} == choose_columns(None, [ROW], ["answer", "absent"]).fields


def test_a_plain_task_takes_the_name_of_the_one_field_that_is_read() -> None:
    assert "expected" == choose_columns({"task": "target"}, [ROW], ["expected"]).single


def test_a_verifier_that_reads_everything_gets_a_task_column() -> None:
    assert "target" == choose_columns(None, [ROW], None).task


def test_fields_that_no_column_gives_are_told() -> None:
    found = choose_columns(None, [{"completion": "4"}], ["gold"])

    assert any("no column gives 'gold'" in text for text in found.assumed)


def test_a_list_of_columns_makes_a_task() -> None:
    found = choose_columns({"task": ["target", "answer"]}, [ROW], [])

    assert {"target": "target", "answer": "answer"} == found.fields


def test_task_fields_may_have_other_names_than_columns() -> None:
    assert {"gold": "target"} == choose_columns({"task": {"gold": "target"}}, [ROW], []).fields


def test_without_a_group_column_every_row_stands_alone() -> None:
    found = choose_columns(None, [{"completion": "4"}], [])

    assert found.group is None
    assert any("group of its own" in text for text in found.assumed)


@pytest.mark.parametrize("part", ["content", "task", "group"])
def test_a_column_that_does_not_exist_lists_those_that_do(part: str) -> None:
    with pytest.raises(ConfigError, match=r"no column is called 'no such'.*'completion'"):
        choose_columns({part: "no such"}, [ROW], [])


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ConfigError, match="no part contents"):
        choose_columns({"contents": "completion"}, [ROW], [])


def test_a_list_can_t_name_the_content() -> None:
    with pytest.raises(ConfigError, match="one column"):
        choose_columns({"content": ["completion"]}, [ROW], [])


def test_a_file_without_a_completion_asks_for_its_column() -> None:
    with pytest.raises(ConfigError, match=r"--content"):
        choose_columns(None, [{"x": 1}], [])


def test_every_column_is_read_once() -> None:
    columns = Columns("a", "b", {"f": "a", "g": "c"}, "b")

    assert ("a", "b", "c") == columns.names
