"""What the databases' errors become."""

import pytest
from psycopg import errors
from sqlalchemy.exc import OperationalError

from verifier_ladder.ledger.faults import explain


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (errors.DeadlockDetected, "waited for each other"),
        (errors.DiskFull, "the server's disk is full"),
        (errors.TooManyConnections, "max_connections"),
        (errors.ReadOnlySqlTransaction, "connect to the primary"),
        (errors.AdminShutdown, "can't be reached"),
        (errors.ConnectionException, "can't be reached"),
        (errors.InsufficientPrivilege, "GRANT"),
        (errors.IdleInTransactionSessionTimeout, "hung in the midst"),
    ],
)
def test_an_error_of_postgresql_says_what_to_do(kind: type[Exception], said: str) -> None:
    error = explain(OperationalError("SELECT 1", (), kind("as the server tells it")), "here")
    assert said in str(error)
    assert "as the server tells it" in str(error)
