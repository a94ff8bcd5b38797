"""Prompts from a dataset."""

from recordedruns import RecordedRun, Told

from verifier_ladder.datasets import training_set
from verifier_ladder.datasets.examples import Examples, prompts_of
from verifier_ladder.datasets.selection import Selection
from verifier_ladder.learners.messages import group_of, groups_of
from verifier_ladder.ledger import open_ledger
from verifier_ladder.runs import read_run


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


def test_prompts_of_a_file_reach_the_groups_of_all_their_tasks() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    groups = groups_of(["2 + 2 ="] * 2, [{"answer": "4"}, {"answer": "four"}])
    book.score([Told(text, 1.0, group) for text, group in zip("45", groups, strict=True)])

    found = Examples(read_run(book.ledger), Selection(), prompts_of([{"prompt": "2 + 2 ="}]))
    assert ["2 + 2 ="] * 2 == [example.prompt for example in found]


def test_one_prompt_with_two_answers_makes_no_pair_across_them() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    groups = groups_of(["2 + 2 ="] * 2, [{"answer": "4"}, {"answer": "5"}])
    book.score([
        Told(text, float(text == answer), group)
        for group, answer in zip(groups, "45", strict=True) for text in "45"
    ])  # fmt: skip
    prompts = prompts_of([{"prompt": "2 + 2 ="}])

    made = training_set(book.ledger, "preferences", selection=Selection(sure=0.0), prompts=prompts)
    found = {(row["chosen"], row["rejected"]) for row in made.splits["train"]}
    assert {("4", "5"), ("5", "4")} == found
