"""Every example of the fast tier runs with one command, and says what it is about."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app

FOLDER = Path(__file__).parents[4] / "examples" / "structured"
REWARDS = {
    "json-schema": [1, 0, 0, 0], "table-schema": [1, 0, 0], "exact-match": [1, 1, 0],
    "choice": [1, 0, 0], "f1": [1, pytest.approx(0.8), 0], "numeric": [1, 1, 0, 0],
    "instruction-constraints": [1, 0, 0, 0],
}  # fmt: skip


def test_every_example_is_known() -> None:
    assert REWARDS.keys() == {path.stem for path in FOLDER.glob("*.toml")}
    assert REWARDS.keys() == {path.stem for path in FOLDER.glob("*.jsonl")}


@pytest.mark.parametrize("name", REWARDS)
def test_an_example_earns_what_it_should(name: str, tmp_path: Path) -> None:
    result = vl.score_file(
        FOLDER / f"{name}.jsonl", ladder=FOLDER / f"{name}.toml", ledger=tmp_path / "ledger.db"
    )

    assert REWARDS[name] == [reward.value for reward in result.rewards]


def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    command = ["score", f"{FOLDER}/choice.jsonl", "--ladder", f"{FOLDER}/choice.toml"]

    done = CliRunner().invoke(app, [*command, "--ledger", f"{tmp_path}/ledger.db"])

    assert 0 == done.exit_code, done.output
    assert "1 of 3" in done.output or "0.33" in done.output, done.output
