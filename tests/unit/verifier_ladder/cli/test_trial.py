"""`vladder try` counts what a reward function pays wrongly, and says so by its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

REWARDS = """
def accuracy(completions, answer, **kwargs):
    return [float(expected in text) for text, expected in zip(completions, answer)]
"""


def test_what_a_function_pays_wrongly_is_told_and_written(run: Any, tmp_path: Path) -> None:
    (tmp_path / "tried_rewards.py").write_text(REWARDS)
    place = f"{tmp_path / 'tried_rewards.py'}:accuracy"

    done = run("try", place, "--kind", "choice", "--out", str(tmp_path / "page.html"))

    assert 1 == done.exit_code, done.stdout
    assert "accuracy against the answer key of choice" in done.stdout
    assert "known cheats" in (tmp_path / "page.html").read_text()


def test_the_same_as_json(run: Any, tmp_path: Path) -> None:
    (tmp_path / "tried_again.py").write_text(REWARDS)

    done = run("try", f"{tmp_path / 'tried_again.py'}:accuracy", "--kind", "choice", "--json")

    told = json.loads(done.stdout)
    assert told["cheats"]["tried"] >= len(told["cheats"]["paid"]) > 0
    assert "choice" == told["kind"]


def test_a_column_that_says_nothing_is_refused(run: Any, tmp_path: Path) -> None:
    (tmp_path / "tried_columns.py").write_text(REWARDS)

    done = run(
        "try", f"{tmp_path / 'tried_columns.py'}:accuracy", "--kind", "choice", "--column", "gold"
    )

    assert 2 == done.exit_code


@pytest.mark.parametrize("place", ["tried_alone.py", "tried_alone"])
def test_a_file_without_a_function_says_how_to_name_one(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "tried_alone.py").write_text(REWARDS)
    monkeypatch.chdir(tmp_path)

    done = run("try", place, "--kind", "choice")

    assert 2 == done.exit_code
    assert "tried_alone.py:accuracy" in done.stderr
