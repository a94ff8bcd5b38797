"""Schema audits: a database's tables, indexes and guards, compared with those of this version.

An index that leaves rows out, a trigger that was dropped and one that was put in change what a
reader is told, or what may be changed, and no row shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine

from verifier_ladder.ledger.schema import HISTORY, VERSION_TABLE, guards, metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MOST = 20
_OBJECTS = "SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE sql IS NOT NULL"


def schema_problems(connection: Connection) -> Iterator[str]:
    """What of a ledger's schema is not as this version makes it."""
    if connection.dialect.name == "sqlite":
        yield from _sqlite_problems(connection)
    else:
        yield from _postgresql_problems(connection)


def _sqlite_problems(connection: Connection) -> Iterator[str]:
    size = Path(connection.exec_driver_sql("PRAGMA database_list").all()[0][2]).stat().st_size
    if size % int(connection.exec_driver_sql("PRAGMA main.page_size").scalar_one()):
        yield "the file is damaged: it was cut in the midst of a page"
    for (told,) in connection.exec_driver_sql(f"PRAGMA main.integrity_check({_MOST})").all():
        if told != "ok":
            yield f"the file is damaged: {told}"
    found, expected = _objects(connection), _expected()
    for what in sorted(expected.keys() - found.keys()):
        yield f"{' '.join(what)} is missing"
    for what in sorted(found.keys() - expected.keys()):
        yield f"{' '.join(what)} was put in: it is none of this program's"
    for what in sorted(found.keys() & expected.keys()):
        if found[what] != expected[what]:
            yield f"{' '.join(what)} was changed"


def _objects(connection: Connection) -> dict[tuple[str, str], str]:
    """Statements of all tables, indexes and triggers, by kind and name."""
    return {
        (str(kind), str(name)): f"{table}: {' '.join(str(sql).replace(chr(34), '').split())}"
        for kind, name, table, sql in connection.exec_driver_sql(_OBJECTS).all()
        if name != VERSION_TABLE and not str(name).startswith("sqlite_")
    }


@cache
def _expected() -> dict[tuple[str, str], str]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection, checkfirst=False)
        for statement in guards():
            connection.exec_driver_sql(statement)
        found = _objects(connection)
    engine.dispose()
    return found


# -- PostgreSQL ----------------------------------------------------------------------------------

_TRIGGERS = (
    "SELECT c.relname, t.tgname, p.proname, CAST(t.tgenabled AS text), t.tgtype "
    "FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid "
    "WHERE NOT t.tgisinternal AND c.relnamespace = CAST(current_schema() AS regnamespace)"
)
_FUNCTIONS = (
    "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = CAST(current_schema() AS "
    "regnamespace) AND proname IN ('ledger_refuse', 'ledger_settled')"
)
_RULES = (
    "SELECT tablename, rulename FROM pg_rules WHERE schemaname = current_schema() "
    "ORDER BY tablename, rulename"
)
_CONSTRAINTS = (
    "SELECT c.relname, i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
    "WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND NOT i.indisvalid"
)
_INDEXES = (
    "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() "
    "AND tablename = ANY(CAST(? AS text[]))"
)
_REFUSED = 0b0111010
"""A trigger's type: before, a statement, that deletes, updates or truncates."""


def _postgresql_problems(connection: Connection) -> Iterator[str]:
    from verifier_ladder.ledger.postgresql import REFUSE, SETTLED

    rows = {(row[0], row[1]): tuple(row[2:]) for row in connection.exec_driver_sql(_TRIGGERS)}
    for table in HISTORY:
        told = rows.pop((table, f"{table}_refused"), None)
        if told is None:
            yield f"trigger {table}_refused is missing"
        elif told != ("ledger_refuse", "O", _REFUSED):
            yield f"trigger {table}_refused was changed or switched off"
    for table, name in sorted(row for row in rows if row[0] in metadata.tables):
        yield f"trigger {name} on {table} was put in: it is none of this program's"
    yield from _function_problems(connection, {"ledger_refuse": REFUSE, "ledger_settled": SETTLED})
    for table, name in connection.exec_driver_sql(_RULES).all():
        if table in metadata.tables:
            yield f"rule {name} on {table} was put in: it is none of this program's"
    for table, _ in connection.exec_driver_sql(_CONSTRAINTS).all():
        yield f"an index of {table} is not valid"
    yield from _index_problems(connection)


def _function_problems(connection: Connection, made: dict[str, str]) -> Iterator[str]:
    found: dict[str, Any] = dict(map(tuple, connection.exec_driver_sql(_FUNCTIONS).all()))
    for name, statement in made.items():
        body = statement.split("$$")[1]
        if " ".join(str(found.get(name)).split()) != " ".join(body.split()):
            yield f"function {name} is missing or was changed"


def _index_problems(connection: Connection) -> Iterator[str]:
    from sqlalchemy.dialects import postgresql

    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    names = {
        str(index.name)
        for table in metadata.tables.values()
        for index in table.indexes
        if index._ddl_if is None or index._ddl_if.dialect == dialect.name  # noqa: SLF001
    }
    found = connection.exec_driver_sql(_INDEXES, (sorted(metadata.tables),))
    for name in sorted(names - {row[0] for row in found}):
        yield f"index {name} is missing"
