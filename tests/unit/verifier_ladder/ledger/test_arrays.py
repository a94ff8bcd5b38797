"""Arrays: what is written is what PostgreSQL reads."""

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verifier_ladder.ledger.arrays import KINDS, array, register
from verifier_ladder.testing.servers import PostgresqlServer

WHOLE = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
VALUES = {
    "BIGINT": WHOLE, "DOUBLE PRECISION": st.floats(allow_nan=False), "BYTEA": st.binary(),
    "TEXT": TEXT,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(data=st.data())
def test_the_server_reads_what_was_written(
    postgresql_server: PostgresqlServer, kind: str, data: st.DataObject
) -> None:
    values = data.draw(st.lists(VALUES[kind] | st.none()) | st.lists(VALUES[kind]))
    with psycopg.connect(postgresql_server.url(), cursor_factory=psycopg.RawCursor) as connection:
        register(connection.adapters)
        rows = connection.execute(
            f"SELECT v FROM unnest(CAST($1 AS {kind}[])) WITH ORDINALITY u (v, n) ORDER BY n",  # noqa: S608
            (array(kind, values),),
        ).fetchall()
    assert values == [value for (value,) in rows]


def test_a_number_that_is_too_large_is_refused() -> None:
    with pytest.raises(OverflowError):
        array("BIGINT", [2**63])
