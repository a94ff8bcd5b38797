"""The connections of a ledger: when it is closed, none stays open."""

from pathlib import Path

import pytest

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.sql import SqlLedger


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "server":
        return str(request.getfixturevalue("postgresql"))
    return str(tmp_path / "ledger.db")


def test_a_connection_in_use_is_closed_when_it_comes_back(place: str) -> None:
    ledger = open_ledger(place)
    assert isinstance(ledger, SqlLedger)
    with ledger._database.reading() as connection:
        driver = connection.connection.dbapi_connection
        ledger.close()
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    with pytest.raises(Exception, match="closed"):
        driver.cursor()  # type: ignore[union-attr]
