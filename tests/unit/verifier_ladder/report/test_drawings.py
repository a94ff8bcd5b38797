"""Molecules are drawn in the worker pool."""

from importlib.util import find_spec
from typing import Any

from verifier_ladder.report.drawings import LONGEST, draw


def test_molecules_are_drawn_and_what_is_none_is_left_out(require: Any) -> None:
    require("rdkit", find_spec("rdkit") is not None, "draws molecules")

    made = draw(["CCO", "C1CC(", "CCO", "", "C" * (LONGEST + 1)])

    assert list(made) == ["CCO"]
    assert made["CCO"].startswith('<svg class="molecule"')
    assert "Structure of CCO" in made["CCO"]


def test_without_molecules_no_worker_is_started() -> None:
    assert draw([]) == {}
