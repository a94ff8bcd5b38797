"""Which samples answer one task."""

from typing import Any

import pytest
from recordedruns import RecordedRun, Told

from verifier_ladder.ledger import open_ledger
from verifier_ladder.runs import read_run
from verifier_ladder.runs.tasks import task_key, task_of
from verifier_ladder.transcript import Transcript

ONE, TWO = b"1" * 32, b"2" * 32


def tasks(told: list[Told], *kept: Transcript) -> list[str]:
    book = RecordedRun(open_ledger(":memory:"))
    book.keep(*kept)
    book.score(told)
    record = read_run(book.ledger)
    return [task_of(record, sample) for sample in record.samples]


CHAT: Any = [{"role": "user", "content": "2 + 2 ="}]


@pytest.mark.parametrize(
    ("first", "second"), [("2 + 2 =", " 2 +  2 =\n"), ("Sum", "sum"), (CHAT, [dict(CHAT[0])])]
)
def test_one_prompt_is_one_task_whatever_the_group(first: Any, second: Any) -> None:
    told = [Told("4", 1.0, "uid-1"), Told("4", 1.0, "uid-2")]
    kept = [Transcript(group="uid-1", prompt=first), Transcript(group="uid-2", prompt=second)]

    assert 1 == len(set(tasks(told, *kept)))


def test_a_named_task_has_many_prompts() -> None:
    told = [Told("4", 1.0, "a"), Told("5", 1.0, "b")]
    kept = [Transcript(group=g, prompt=g, task="sums") for g in "ab"]

    assert [task_key("sums")] * 2 == tasks(told, *kept)


def test_without_prompts_what_verifiers_read_tells_tasks_apart() -> None:
    """Groups may be named anew in every step, and then name no task."""
    told = [Told("4", 1.0, "uid-1", task=ONE), Told("5", 1.0, "uid-2", task=ONE),
            Told("6", 1.0, "uid-3", task=TWO)]  # fmt: skip

    first, second, third = tasks(told)

    assert first == second != third


def test_else_groups_do_and_else_candidates() -> None:
    found = tasks([Told("4", 1.0, "a"), Told("5", 1.0, "a"), Told("4", 1.0), Told("5", 1.0)])

    assert found[0] == found[1]
    assert 3 == len(set(found))
