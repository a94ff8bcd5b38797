"""`vladder campaign import`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.ledger import open_ledger

Run = Callable[..., Any]
VERIFIERS = """
import verifier_ladder as vl

@vl.verifier(name="imports-cheap", kind="text", isolation="inline")
def cheap(candidate):
    raise RuntimeError("never asked")
"""
OLD = "text,imports-cheap,id\na,1,x\nb,true,y\n,2,z\n"


@pytest.fixture
def call(tmp_path: Path, run: Run) -> Run:
    (tmp_path / "importsmine.py").write_text(VERIFIERS)
    (tmp_path / "l.toml").write_text('name = "l"\nverifiers = ["imports-cheap"]\n')
    (tmp_path / "old.csv").write_text(OLD)

    def called(*arguments: str) -> Any:
        return run(
            "campaign", "import", "warm", "old.csv", "--ladder", "l.toml", "--import",
            "importsmine.py", "--column", "content=text", *arguments,
        )  # fmt: skip

    return called


def test_an_import_says_what_became_of_it(call: Run, tmp_path: Path) -> None:
    done = call("--ignore", "id")

    assert 0 == done.exit_code, done.stderr
    assert "3 rows read, 1 of them bad" in done.stdout
    assert "line 4: column 'text' holds null, not a candidate" in done.stdout
    with open_ledger(tmp_path / "ledger.db") as ledger:
        (entry,) = ledger.entries(kind="import", campaign="warm")
        assert {"source": "old.csv"} == ledger.read(entry).facts


def test_an_import_is_json_for_programs(call: Run) -> None:
    done = call("--ignore", "id", "--json", "--source", "a letter")

    told = json.loads(done.stdout)
    assert (3, 2, 2) == (told["rows"], told["verdicts"], told["taught"])
    assert [4] == [row["line"] for row in told["bad_rows"]]


def test_a_bad_row_fails_a_strict_import(call: Run) -> None:
    assert 1 == call("--ignore", "id", "--strict").exit_code


def test_an_unknown_column_is_a_mistake_of_the_call(call: Run) -> None:
    done = call()

    assert 2 == done.exit_code
    assert "'id'; it has 'imports-cheap'" in done.stderr
