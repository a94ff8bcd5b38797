"""Molecules are drawn in the worker pool."""

from importlib.util import find_spec
from typing import Any

from verifier_ladder.report.drawings import LONGEST, Drawings, draw
from verifier_ladder.report.highlighting import READER, marked, question


def test_molecules_are_drawn_and_what_is_none_is_left_out(require: Any) -> None:
    require("rdkit", find_spec("rdkit") is not None, "draws molecules")

    made = draw(["CCO", "C1CC(", "CCO", "", "C" * (LONGEST + 1)])

    assert list(made) == ["CCO"]
    assert made["CCO"].startswith('<svg class="molecule"')
    assert "Structure of CCO" in made["CCO"]


def test_without_molecules_no_worker_is_started() -> None:
    assert draw([]) == {}


def test_texts_are_read_in_the_same_process_and_answers_are_remembered() -> None:
    asked = question("x = 1", "python")
    assert asked is not None
    with Drawings() as drawings:
        verdict = drawings.ask(READER, asked)
        again = drawings.ask(READER, asked, wait=0.0)

    assert verdict is not None
    assert verdict is again
    assert 'x <span class="code-operator">=</span>' in str(marked("x = 1", verdict))
