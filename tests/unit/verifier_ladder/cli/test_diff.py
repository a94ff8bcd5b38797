"""`vladder ledger diff` and `vladder verifier diff` tell what is different."""

import json
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.keys import content_key
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block, VerdictRow
from verifier_ladder.testing.records import candidate_row, key, verdict_row
from verifier_ladder.verdict import Verdict

CANDIDATE = candidate_row("w", content_key=content_key("text", "w"))


def said(version: str, verdict: Verdict) -> VerdictRow:
    return verdict_row(
        "w", verdict, version=version, check_key=key(f"w {version}"),
        content_key=CANDIDATE.content_key,
    )  # fmt: skip


@pytest.fixture
def saved(run: Any, ledger: Path, tmp_path: Path) -> Path:
    """A checkpoint, after which another version of a verifier and a correction come."""
    path = tmp_path / "saved.txt"
    run("ledger", "checkpoint", "--out", path, "--ledger", ledger)
    with open_ledger(ledger) as store:
        for version, score in (("1", 1.0), ("2", 3.0)):
            store.append(
                Block("score", "try", [CANDIDATE], [said(version, Verdict.accept(score))])
            )
        store.append(Block("review", "try", (), [said("2", Verdict.reject("no"))]))
    return path


def test_what_came_since_a_checkpoint_is_told(run: Any, ledger: Path, saved: Path) -> None:
    done = run("ledger", "diff", saved, "--ledger", ledger)

    assert 0 == done.exit_code, done.stderr
    assert "3 verdicts, 0 rewards, 1 corrections" in done.stdout
    assert "accept 3" in done.stdout
    told = json.loads(run("ledger", "diff", saved, "--json", "--ledger", ledger).stdout)
    assert {"campaign": "try", "kind": "review", "count": 1} in told["entries"]


def test_two_sizes_are_compared(run: Any, ledger: Path) -> None:
    told = json.loads(run("ledger", "diff", 0, 1, "--json", "--ledger", ledger).stdout)

    assert (0, 1) == (told["first"], told["last"])
    assert 1 == sum(row["count"] for row in told["entries"])


@pytest.mark.parametrize("first", ["none.txt", "10000"])
def test_what_is_no_checkpoint_says_so(run: Any, ledger: Path, first: str) -> None:
    assert 2 == run("ledger", "diff", first, "--ledger", ledger).exit_code


def test_a_checkpoint_of_another_past_is_refused(run: Any, saved: Path, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "other.db") as store:
        for _ in range(20):
            store.append(Block("score", "try"))

    assert 1 == run("ledger", "diff", saved, "--ledger", tmp_path / "other.db").exit_code


@pytest.mark.usefixtures("saved")
def test_versions_are_compared(run: Any, ledger: Path) -> None:
    done = run("verifier", "diff", "length", "1", "2", "--ledger", ledger)

    assert 0 == done.exit_code, done.stderr
    assert "length 1 and 2: 1 compared" in done.stdout
    assert "1 flip (100.0%)" in done.stdout
    told = run("verifier", "diff", "length", "1", "2", "--json", "--ledger", ledger)
    assert 1 == json.loads(told.stdout)["flips"]


def test_a_version_that_is_not_there_says_so(run: Any, ledger: Path) -> None:
    done = run("verifier", "diff", "xtb", "1", "9", "--ledger", ledger)

    assert 2 == done.exit_code
    assert "no answers of xtb 9" in done.stderr


VERIFIER = """
import verifier_ladder as vl

@vl.verifier(name="length", version="3", kind="text", isolation="inline")
def length(candidate):
    return 7.0
"""


@pytest.mark.usefixtures("saved")
def test_a_newer_version_looks_again(run: Any, ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(VERIFIER)

    done = run(
        "verifier", "reverify", "mine.py:length", "--from", "1", "--workers", 1, "--json",
        "--ledger", ledger,
    )  # fmt: skip

    assert 0 == done.exit_code, done.stderr
    told = json.loads(done.stdout)
    assert (1, 6.0) == (told["compared"], told["mean_change"])
