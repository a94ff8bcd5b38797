"""Prompts from a dataset."""

from verifier_ladder.datasets.examples import prompts_of
from verifier_ladder.learners.messages import group_of


def test_a_dataset_is_joined_by_the_group_that_adapters_make_of_a_prompt() -> None:
    chat = [{"role": "user", "content": "2 + 2 ="}]

    found = prompts_of([{"prompt": "2 · 3 ="}, {"prompt": chat}, {"other": 1}])

    text = "2 · 3 ="
    assert {group_of(text): text, text: text, group_of(chat): chat} == found


def test_a_column_may_name_the_group() -> None:
    found = prompts_of([{"prompt": "2 + 2 =", "prompt_id": 7, "uid": ["no", "name"]}])

    assert "2 + 2 =" == found["7"] == found[group_of("2 + 2 =")]
    assert 3 == len(found)


def test_chats_may_stand_in_a_cell_as_text() -> None:
    found = prompts_of([{"prompt": '[{"role": "user", "content": "x"}]', "group": "a"}])

    assert [{"role": "user", "content": "x"}] == found["a"]
    assert "[1, 2] is a list" == prompts_of([{"prompt": "[1, 2] is a list", "group": "a"}])["a"]
