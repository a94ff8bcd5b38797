"""Door (b): a file of rollouts is scored without any training, from Python and from the shell."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import pytest

SCRIPT = """
import verifier_ladder as vl
import answers

result = vl.score_file("rollouts.jsonl", ladder="ladder.toml", ledger="ledger.db",
                       columns={"content": "completion", "task": "target", "group": "prompt_id"})
print(result.summary())
"""
ANSWERS = """
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", task_fields=["target"])
def correct(candidate):
    return candidate.content.strip().lower() == candidate.task["target"]

@vl.verifier(tier="simulation", kind="text", version="1", task_fields=["target"])
def tidy(candidate):
    return 1.0 if candidate.content == candidate.task["target"] else 0.5
"""
LADDER = """
name = "answers"
verifiers = ["correct", "tidy"]
"""
COMPLETIONS = ["yes", "Yes", "no", "maybe"]
MOLECULES = ["CCO", "OCC", "c1ccccc1", "C1CC", "", "[C+999]"]
Vladder = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        {"prompt_id": prompt, "completion": text, "target": "yes"}
        for prompt in range(4)
        for text in COMPLETIONS
    ]
    lines = [json.dumps(row) for row in rows]
    lines.insert(5, '{"prompt_id": 1, "completion": ')
    (tmp_path / "rollouts.jsonl").write_text("\n".join(lines))
    (tmp_path / "answers.py").write_text(ANSWERS)
    (tmp_path / "ladder.toml").write_text(LADDER)
    return tmp_path


@pytest.fixture
def vladder(folder: Path) -> Vladder:
    program = Path(sys.executable).with_name("vladder")

    def call(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return forked.run(
            [program, *arguments], cwd=folder, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip

    return call


def score(vladder: Vladder, *more: str) -> Any:
    done = vladder(
        "score", "rollouts.jsonl", "--ladder", "ladder.toml", "--import", "answers.py", *more
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_the_script_of_the_readme_sums_up_the_file(folder: Path) -> None:
    done = forked.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip

    assert 0 == done.returncode, done.stderr
    for words in ("16 rows scored in 4 groups, 1 bad row", "Mean reward", "pass@1", "pass@4",
                  "line 6: not JSON", "simulation"):  # fmt: skip
        assert words in done.stdout


def test_the_command_writes_a_row_for_every_line(folder: Path, vladder: Vladder) -> None:
    from pyarrow import parquet

    made = json.loads(score(vladder, "--json", "--out", "scored.parquet"))

    table = parquet.read_table(folder / "scored.parquet").to_pylist()
    assert list(range(1, 18)) == [row["line"] for row in table]
    assert [1.0, 0.5, 0.0, 0.0, 1.0] == [row["reward"] for row in table[:5]]
    assert [6] == [row["line"] for row in table if row["error"]]
    assert (0.375, 0.5) == (made["mean"]["value"], made["pass"]["1"]["value"])
    assert 1.0 == made["pass"]["4"]["value"]


def test_a_second_run_pays_for_nothing(vladder: Vladder) -> None:
    first, second = (json.loads(score(vladder, "--json")) for _ in range(2))

    assert first["costs"] == second["costs"]
    assert first["mean"] == second["mean"]


def test_the_campaign_can_be_looked_at_afterwards(vladder: Vladder) -> None:
    score(vladder)

    shown = json.loads(vladder("campaign", "show", "answers", "--json").stdout)
    story = vladder("ledger", "show", "Yes").stdout

    assert ["fast", "simulation"] == [tier["tier"] for tier in shown["tiers"]]
    assert "simulation tidy 1: accept 0.5" in story


def test_the_fast_tier_of_the_solvation_ladder_scores_molecules(
    folder: Path, vladder: Vladder
) -> None:
    rows = [json.dumps({"prompt_id": 1, "completion": text}) for text in MOLECULES]
    (folder / "rollouts.jsonl").write_text("\n".join(rows))
    (folder / "ladder.toml").write_text(
        'name = "solvation-fast"\nverifiers = ["molecule-gate", "hydration-estimate"]\n'
    )

    made = json.loads(score(vladder, "--json", "--out", "scored.jsonl", "--pass-at", "0.001"))

    table = [json.loads(line) for line in (folder / "scored.jsonl").read_text().splitlines()]
    rewards = [row["reward"] for row in table]
    assert rewards[0] == rewards[1]
    assert [0.0, 0.0, 0.0] == rewards[3:]
    assert {} == made["unknown"]
