"""Frames hold what the export writes, and only what was asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.export import COLUMNS, flat_rows
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, score_block


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqlLedger]:
    with open_ledger(tmp_path / "ledger.db") as made:
        assert isinstance(made, SqlLedger)
        made.append(score_block(["a", "bb"]))
        made.sequence()
        made.append(score_block(["ccc"], campaign="another"))
        made.sequence()
        yield made


def test_a_frame_holds_every_row(ledger: SqlLedger) -> None:
    table = ledger.frame()

    assert list(COLUMNS) == table.column_names
    assert list(flat_rows(ledger)) == table.to_pylist()


@pytest.mark.parametrize(
    ("asked", "scores"),
    [
        ({"campaign": CAMPAIGN, "record": "verdict"}, [1.0, 2.0]),
        ({"verifier": "length"}, [1.0, 2.0, 3.0]),
        ({"verifier": "nobody"}, []),
        ({"record": "verdict", "size": 1}, [1.0, 2.0]),
        ({"record": "verdict", "size": 2, "campaign": "another"}, [3.0]),
    ],
)
def test_a_frame_holds_what_was_asked_for(
    ledger: SqlLedger, asked: dict[str, Any], scores: list[float]
) -> None:
    assert scores == ledger.frame(**asked)["score"].to_pylist()


def test_a_frame_becomes_a_data_frame(ledger: SqlLedger) -> None:
    rewards = ledger.frame(record="reward").to_pandas()

    assert [1.0, 2.0, 3.0] == list(rewards["reward"])


def test_an_empty_ledger_has_an_empty_frame() -> None:
    with MemoryLedger() as ledger:
        assert (0, list(COLUMNS)) == (len(ledger.frame()), ledger.frame().column_names)
        with pytest.raises(ConfigError, match="no signed log"):
            ledger.frame(size=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("size", "x"), ("size", -1), ("record", "nope"), ("record", 3), ("campaign", 3),
     ("verifier", b"length")],
)  # fmt: skip
def test_a_frame_of_what_is_not_there_to_be_asked_for_is_refused(
    ledger: SqlLedger, name: str, value: Any
) -> None:
    with pytest.raises(ConfigError, match=rf"frame: {name}="):
        ledger.frame(**{name: value})
