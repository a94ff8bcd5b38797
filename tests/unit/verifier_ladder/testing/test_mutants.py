"""Mutants are made of source code, run apart, and noticed by a key that looks everywhere."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Case
from verifier_ladder.testing.mutants import Mutation, Survey, mutation_test, mutations

SOURCE = '''
from mutated_bounds import is_within
import verifier_ladder as vl
from verifier_ladder.verdict import Verdict


class Between(vl.Verifier):
    """Accepts numbers from 1 to 5."""

    name, version = "between", "1"

    def verify(self, candidates):
        return [self._one(int(each.content)) for each in candidates]

    def _one(self, number):
        while number > 100:
            number = number - 100
        return Verdict.accept(1.0) if is_within(number) else Verdict.reject("no")
'''
BOUNDS = """
def is_within(number):
    if number == 13:
        raise ValueError("no")
    return number >= 1 and number <= 5
"""


@pytest.fixture
def between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "mutated_between.py").write_text(SOURCE)
    (tmp_path / "mutated_bounds.py").write_text(BOUNDS)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("mutated_between").Between
    for name in ("mutated_between", "mutated_bounds"):
        sys.modules.pop(name, None)


def key(*numbers: int) -> AnswerKey:
    outcomes = {True: "accept", False: "reject"}
    rows = [
        {"candidate": str(n), "outcome": outcomes[1 <= n % 100 <= 5], "why": "w", "source": "s"}
        for n in numbers
    ]
    return AnswerKey("between", tuple(map(Case.model_validate, rows)))


def test_edits_turn_comparisons_connectives_conditions_and_refusals(between: Any) -> None:
    del between

    found = {each.edit for each in mutations("mutated_bounds")}

    assert {
        "number == 13 -> number != 13",
        "if number == 13: raise ValueError('no') -> if number == 13: pass",
        "number >= 1 -> number < 1",
        "number <= 5 -> number > 5",
        "number >= 1 and number <= 5 -> number >= 1 or number <= 5",
    } == found


def test_a_key_that_looks_everywhere_catches_all_but_what_changes_nothing(between: Any) -> None:
    of = key(-3, 0, 1, 3, 5, 6, 101, 107, 203)

    survey = mutation_test(of, between, ["mutated_bounds", "mutated_between"])

    assert ["if number == 13: raise ValueError('no') -> if number == 13: pass"] == [
        each.edit for each in survey.survived
    ]
    assert 7 == len(survey.caught)  # One of them never ends.


def test_a_key_that_looks_at_one_side_lets_the_other_survive(between: Any) -> None:
    survey = mutation_test(key(3, 9), between, ["mutated_bounds"])

    assert "number >= 1 and number <= 5 -> number >= 1 or number <= 5" not in {
        each.edit for each in survey.survived
    }
    assert 1 <= len(survey.survived)


def test_the_original_stays_as_it_is(between: Any) -> None:
    mutation_test(key(3), between, ["mutated_bounds"], count=1)

    assert not key(0, 3, 6).check(between()).complaints


def test_libraries_have_one_thread_as_in_a_worker(
    between: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork waits without end for OpenMP's threads, which only its parent has."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    bounds = Path(str(sys.modules["mutated_bounds"].__file__))
    alone = 'import os\n\nif os.environ["OMP_NUM_THREADS"] != "1":\n    raise ImportError\n'
    bounds.write_text(f"{alone}\n{BOUNDS}")

    assert mutation_test(key(0, 3, 6), between, ["mutated_bounds"], count=1).caught


def test_edits_that_change_nothing_are_named_and_not_drawn(between: Any) -> None:
    same = "if number == 13: raise ValueError('no') -> if number == 13: pass"

    survey = mutation_test(key(0, 3, 6), between, ["mutated_bounds"], equivalent=[same])

    assert same not in {each.edit for each in (*survey.caught, *survey.survived)}


def test_a_name_for_an_edit_that_is_none_is_an_error(between: Any) -> None:
    with pytest.raises(ConfigError, match="no edits of mutated_bounds"):
        mutation_test(key(3), between, ["mutated_bounds"], equivalent=["a -> b"])


def test_a_verifier_that_disagrees_with_its_key_has_no_mutants(between: Any) -> None:
    wrong = key(3, 9)
    turned = AnswerKey("turned", (wrong.cases[1], wrong.cases[1], key(13).cases[0]))

    with pytest.raises(ConfigError, match="no mutant could be tried"):
        mutation_test(turned, between, ["mutated_bounds"])


def test_a_module_without_source_is_told() -> None:
    with pytest.raises(ConfigError, match="no source of a module zlib"):
        mutations("zlib")


def test_too_few_mutants_and_too_many_survivors_are_weaknesses() -> None:
    one = Mutation("m", 0, 1, "a", "b")

    assert 2 == len(Survey((one,), (one,)).weaknesses)
    assert not Survey((one,) * 18, (one,) * 2).weaknesses
    assert 1 == len(Survey((one,) * 17, (one,) * 3).weaknesses)
