"""Numbers of verifiers are asked for once, and never remembered from what was taken back."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.testing.records import CAMPAIGN, key, score_block, verdict_row
from verifier_ladder.verdict import Verdict


def make(path: Path) -> Any:
    return open_ledger(path / "ledger.db")


def test_a_number_that_was_taken_back_is_not_remembered(tmp_path: Path) -> None:
    with make(tmp_path) as ledger:
        with suppress(RuntimeError), ledger._writing() as connection:
            write(connection, Draft(score_block(["a"])))
            raise RuntimeError

        assert {} == ledger._numbers._known
        ledger.append(score_block(["a"]))
        assert ledger._numbers._known


def test_a_verifier_that_another_process_adds_is_found(tmp_path: Path) -> None:
    with make(tmp_path) as mine, make(tmp_path) as theirs:
        mine.append(score_block(["a"]))
        assert mine.verdicts([key("check a")])

        energy = Verdict.accept(1.0, unit="eV")
        theirs.append(Block("score", CAMPAIGN, verdicts=[verdict_row("b", energy)]))

        assert "eV" == mine.verdicts([key("check b")])[key("check b")].unit


def test_known_numbers_are_not_asked_for_again(tmp_path: Path) -> None:
    with make(tmp_path) as ledger:
        ledger.append(score_block(["a"]))
        told: list[str] = []
        writer: Any = ledger._database._writer.connection.dbapi_connection
        writer.set_trace_callback(told.append)
        ledger.append(score_block(["b"]))

    assert any("INSERT INTO entry" in one for one in told)
    assert not any("FROM verifier " in one or "FROM canonicaliser" in one for one in told)


def test_a_statement_that_fails_is_explained(tmp_path: Path) -> None:
    with make(tmp_path) as ledger, pytest.raises(vl.LedgerError, match="no such table"):
        ledger._ask("SELECT 1 FROM nowhere")
