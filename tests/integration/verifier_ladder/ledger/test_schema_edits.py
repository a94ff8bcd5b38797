"""Whatever is edited in the schema of a ledger's database, `verify` names it."""

# ruff: noqa: E501 - a list of statements

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import make_url

from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.opening import open_ledger
from verifier_ladder.ledger.schemaaudit import RECORDED, definitions
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.ledger.verification import Verification
from verifier_ladder.testing.records import score_block
from verifier_ladder.testing.servers import PostgresqlServer

HIDDEN = "looker"


class Edit(NamedTuple):
    """Something that an administrator can do."""

    named: str
    """What `verify` must say of it."""
    does: Sequence[str]
    """The statements."""


def named(url: str) -> str:
    """What the server calls the database of a URL."""
    return url.rsplit("/", 1)[1]


def verified(ledger: Ledger) -> Verification:
    assert isinstance(ledger, SqlLedger)
    return ledger.verify()


def guarded_by(told: str, *before: str) -> list[str]:
    """Put another guard in the place of that of verdicts."""
    return [
        *before,
        "DROP TRIGGER verdict_refused ON verdict",
        f"CREATE TRIGGER verdict_refused {told}",
    ]


_EACH = "ON verdict FOR EACH STATEMENT"
_LAX = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"
SCHEMAS: dict[str, Edit] = {
    "a guard that never holds": Edit(
        "trigger verdict_refused on verdict was changed",
        guarded_by(
            f"BEFORE UPDATE OR DELETE OR TRUNCATE {_EACH} WHEN (false) EXECUTE FUNCTION ledger_refuse()"
        ),
    ),
    "a guard of one column": Edit(
        "trigger verdict_refused on verdict was changed",
        guarded_by(
            f"BEFORE UPDATE OF id OR DELETE OR TRUNCATE {_EACH} EXECUTE FUNCTION ledger_refuse()"
        ),
    ),
    "a guard that calls another function of that name": Edit(
        "trigger verdict_refused on verdict was changed",
        guarded_by(
            f"BEFORE UPDATE OR DELETE OR TRUNCATE {_EACH} EXECUTE FUNCTION evil.ledger_refuse()",
            "CREATE SCHEMA evil",
            f"CREATE FUNCTION evil.ledger_refuse() {_LAX}",
        ),
    ),
    "a guard dropped": Edit(
        "trigger entry_refused on entry is missing", ["DROP TRIGGER entry_refused ON entry"]
    ),
    "a trigger that lifts caps": Edit(
        "trigger lift on account was put in",
        [
            f"CREATE FUNCTION lift() {_LAX}",
            "CREATE TRIGGER lift BEFORE INSERT ON account FOR EACH ROW EXECUTE FUNCTION lift()",
        ],
    ),
    "a trigger on the version": Edit(
        "trigger t on verifier_ladder_version was put in",
        [
            f"CREATE FUNCTION lift() {_LAX}",
            "CREATE TRIGGER t BEFORE UPDATE ON verifier_ladder_version FOR EACH ROW EXECUTE FUNCTION lift()",
        ],
    ),
    "references that nobody looks at": Edit(
        "trigger RI_.* on leaf was put in",
        ["ALTER TABLE leaf DISABLE TRIGGER ALL", "ALTER TABLE leaf ENABLE TRIGGER USER"],
    ),
    "answers that may be told twice": Edit(
        "index verdict_once was changed",
        [
            "DROP INDEX verdict_once",
            "CREATE INDEX verdict_once ON verdict (key, check_key, supersedes)",
        ],
    ),
    "an index of another column": Edit(
        "index alias_key was changed",
        ["DROP INDEX alias_key", "CREATE INDEX alias_key ON alias (id)"],
    ),
    "an index put in": Edit("index other was put in", ["CREATE INDEX other ON entry (kind)"]),
    "an index that is not valid": Edit(
        "index alias_key was changed",
        [
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = CAST('alias_key' AS regclass)"
        ],
    ),
    "no cap": Edit(
        "constraint within_cap of account is missing",
        ["ALTER TABLE account DROP CONSTRAINT within_cap"],
    ),
    "another cap": Edit(
        "constraint within_cap of account was changed",
        [
            "ALTER TABLE account DROP CONSTRAINT within_cap",
            "ALTER TABLE account ADD CONSTRAINT within_cap CHECK (cap IS NULL OR true)",
        ],
    ),
    "runs of one name": Edit(
        "constraint run_campaign_name_key of run is missing",
        ["ALTER TABLE run DROP CONSTRAINT run_campaign_name_key"],
    ),
    "a column put in": Edit(
        "column verdict.note was put in", ["ALTER TABLE verdict ADD COLUMN note text"]
    ),
    "another default": Edit(
        "column check_queue.wanted_until was changed",
        ["ALTER TABLE check_queue ALTER COLUMN wanted_until SET DEFAULT 9e9"],
    ),
    "a column of another type": Edit(
        "column verdict.score was changed", ["ALTER TABLE verdict ALTER COLUMN score TYPE real"]
    ),
    "a number of another kind": Edit(
        "column verdict.score was changed", ["ALTER TABLE verdict ALTER COLUMN score TYPE numeric"]
    ),
    "rows that are not shown": Edit(
        "table check_queue was changed", ["ALTER TABLE check_queue ENABLE ROW LEVEL SECURITY"]
    ),
    "a policy": Edit(
        "policy own on check_queue was put in",
        ["CREATE POLICY own ON check_queue USING (id > 3)"],
    ),
    "rows of another table": Edit(
        "table entry was changed", ["CREATE TABLE more () INHERITS (entry)"]
    ),
    "a table that a crash empties": Edit(
        "table pause was changed", ["ALTER TABLE pause SET UNLOGGED"]
    ),
    "a view put in": Edit("view other was put in", ["CREATE VIEW other AS SELECT 1"]),
    "a view in a table's place": Edit(
        "view pause was put in",
        ["ALTER TABLE pause RENAME TO kept", "CREATE VIEW pause AS SELECT * FROM kept"],
    ),
    "a function that looks elsewhere": Edit(
        r"function ledger_settled\(\) was changed",
        ["ALTER FUNCTION ledger_settled() SET search_path = evil, public"],
    ),
    "a function of other rights": Edit(
        r"function ledger_refuse\(\) was changed",
        ["ALTER FUNCTION ledger_refuse() SECURITY DEFINER"],
    ),
    "a second function of that name": Edit(
        r"function ledger_settled\(\w+ bigint\) was put in",
        [
            "CREATE FUNCTION ledger_settled(n bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'"
        ],
    ),
    "a sequence that begins anew": Edit(
        "sequence campaign_id_seq was changed",
        ["ALTER SEQUENCE campaign_id_seq MAXVALUE 1000 CYCLE"],
    ),
    "numbers given again": Edit(
        "sequence entry_id_seq was set back", ["SELECT setval('entry_id_seq', 1)"]
    ),
}
"""Edits of what the tables are, in a database."""


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_edit_of_a_databases_schema_is_found_and_named(
    name: str, new_database: str, postgresql_server: PostgresqlServer
) -> None:
    with open_ledger(new_database) as ledger:
        ledger.append(score_block(["a"]))
        ledger.append(score_block(["b"], step=1))
    database = named(new_database)
    wanted, statements = SCHEMAS[name]
    for statement in statements:
        postgresql_server.execute(statement, database)

    with open_ledger(new_database) as ledger:
        found = verified(ledger)

    assert any(re.search(wanted, problem) for problem in found.problems), found.problems


def test_who_may_only_read_a_database_is_told_too(
    new_database: str, postgresql_server: PostgresqlServer
) -> None:
    with open_ledger(new_database) as ledger:
        ledger.append(score_block(["a"]))
    for statement in (
        f"CREATE ROLE looker LOGIN PASSWORD '{HIDDEN}'",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO looker",
    ):
        postgresql_server.execute(statement, named(new_database))
    url = make_url(new_database).set(username="looker", password=HIDDEN)
    looking = url.render_as_string(hide_password=False)
    try:
        with open_ledger(looking) as ledger:
            before = verified(ledger).problems
        postgresql_server.execute(
            "ALTER TABLE account DROP CONSTRAINT within_cap", named(new_database)
        )
        with open_ledger(looking) as ledger:
            after = verified(ledger).problems
    finally:
        postgresql_server.execute("DROP OWNED BY looker; DROP ROLE looker", named(new_database))
    assert ([], ["constraint within_cap of account is missing"]) == (before, after)


def test_what_a_database_is_compared_with_is_what_this_version_makes(
    new_database: str, tmp_path: Path
) -> None:
    with open_ledger(new_database) as ledger:
        assert isinstance(ledger, SqlLedger)
        with ledger._reading() as connection:
            made = definitions(connection)
    new = tmp_path / RECORDED.name
    new.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert made == recorded, f"if the schema was changed on purpose, copy {new} to {RECORDED}"
