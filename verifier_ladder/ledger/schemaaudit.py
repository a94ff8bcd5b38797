"""Schema audits: a database's tables, indexes and guards, compared with those of this version.

An index that leaves rows out, a trigger that was dropped and one that was put in change what a
reader is told, or what may be changed, and no row shows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine

from verifier_ladder.ledger.schema import VERSION_TABLE, guards, metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MOST = 20
_OBJECTS = "SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE sql IS NOT NULL"
# What stands in a file beside the ledger's own tables: the stamp, and what ANALYZE makes.
_OTHERS = {
    ("table", name)
    for name in (VERSION_TABLE, "sqlite_sequence", "sqlite_stat1", "sqlite_stat3", "sqlite_stat4")
}

# A text, a name in any of SQLite's quotes, a word, or any other sign, by ASCII as SQLite reads it.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|\w+|\S""", re.ASCII
)
# What a plain name means does not change by quotes, for SQLite looks for a column first.
# Keywords stand in capitals: they are none.
_PLAIN_NAME = re.compile(r'\A"([a-z_]+)"\Z', re.ASCII)


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
    yield from _differences(_objects(connection), _expected())


def _differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    for what in sorted(expected.keys() - found.keys()):
        yield f"{what} is missing"
    for what in sorted(found.keys() - expected.keys()):
        yield f"{what} was put in: it is none of this program's"
    for what in sorted(found.keys() & expected.keys()):
        if found[what] != expected[what]:
            yield f"{what} was changed"


def _objects(connection: Connection) -> dict[str, Any]:
    """The tokens of the statements of all tables, indexes and triggers, by kind and name."""
    return {
        f"{kind} {name}": (table, [_PLAIN_NAME.sub(r"\1", t) for t in _TOKEN.findall(str(sql))])
        for kind, name, table, sql in connection.exec_driver_sql(_OBJECTS).all()
        if (kind, name) not in _OTHERS
    }


@cache
def _expected() -> dict[str, Any]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection, checkfirst=False)
        for statement in guards():
            connection.exec_driver_sql(statement)
        found = _objects(connection)
    engine.dispose()
    return found


# -- PostgreSQL ----------------------------------------------------------------------------------

RECORDED: Final = Path(__file__).with_name("postgresql.json")
"""What a server tells of the tables that this version makes.

It is recorded, for a reader who may only SELECT can't make them anew; a test compares it with
new tables.
"""
# How a server writes definitions down depends on these.
_PLAIN = (
    "SELECT set_config('bytea_output', 'hex', true), "
    "set_config('quote_all_identifiers', 'off', true)"
)
_HERE = "CAST(current_schema() AS regnamespace)"
# Kind, name and definition; ?1 is the names of the ledger's tables.
_DEFINITIONS = f"""
WITH t AS (
    SELECT * FROM pg_class WHERE relnamespace = {_HERE} AND relname = ANY(CAST(?1 AS text[])))
SELECT CASE WHEN relkind IN ('v', 'm') THEN 'view ' ELSE 'table ' END || relname,
    concat_ws(' ', relkind, relpersistence, CASE WHEN relrowsecurity THEN 'row security' END,
        CASE WHEN relforcerowsecurity THEN 'forced' END,
        (SELECT 'inherits' FROM pg_inherits WHERE oid IN (inhrelid, inhparent) LIMIT 1))
    FROM pg_class
    WHERE relnamespace = {_HERE} AND (oid IN (SELECT oid FROM t) OR relkind IN ('v', 'm'))
UNION ALL SELECT concat('column ', t.relname, '.', a.attname),
    concat_ws(' ', format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attcollation <> y.typcollation THEN 'collated' END,
        CASE WHEN a.attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid),
        nullif(CAST(a.attidentity AS text), ''), nullif(CAST(a.attgenerated AS text), ''))
    FROM t JOIN pg_attribute a ON a.attrelid = t.oid JOIN pg_type y ON y.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT concat('constraint ', k.conname, ' of ', t.relname),
    concat_ws(' ', pg_get_constraintdef(k.oid, true),
        CASE WHEN NOT i.indisvalid THEN 'whose index is not valid' END)
    FROM t JOIN pg_constraint k ON k.conrelid = t.oid
    LEFT JOIN pg_index i ON i.indexrelid = k.conindid WHERE k.contype IN ('c', 'f', 'p', 'u', 'x')
UNION ALL SELECT 'index ' || c.relname,
    concat_ws(' ', pg_get_indexdef(c.oid, 0, true),
        CASE WHEN NOT i.indisvalid THEN 'not valid' END)
    FROM t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = t.oid AND conindid = c.oid)
UNION ALL SELECT concat('trigger ', g.tgname, ' on ', t.relname),
    concat_ws(' ', pg_get_triggerdef(g.oid, true), g.tgenabled)
    FROM t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE NOT g.tgisinternal OR g.tgenabled <> 'O'
UNION ALL SELECT concat('rule ', r.rulename, ' on ', t.relname), pg_get_ruledef(r.oid)
    FROM t JOIN pg_rewrite r ON r.ev_class = t.oid WHERE t.relkind = 'r'
UNION ALL SELECT concat('policy ', p.polname, ' on ', t.relname), ''
    FROM t JOIN pg_policy p ON p.polrelid = t.oid
UNION ALL SELECT concat('function ', proname, '(', pg_get_function_identity_arguments(oid), ')'),
    CASE WHEN prokind = 'f' THEN replace(pg_get_functiondef(oid),
        concat('FUNCTION ', quote_ident(current_schema()), '.'), 'FUNCTION ') ELSE '' END
    FROM pg_proc WHERE pronamespace = {_HERE} AND NOT EXISTS (SELECT FROM pg_depend x
        WHERE x.classid = CAST('pg_proc' AS regclass) AND x.objid = pg_proc.oid
        AND x.deptype = 'e')
UNION ALL SELECT 'sequence ' || c.relname,
    concat_ws(' ', format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin, s.seqmax,
        s.seqcache, CASE WHEN s.seqcycle THEN 'CYCLE' END)
    FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
    JOIN pg_depend o ON o.classid = CAST('pg_class' AS regclass) AND o.objid = c.oid
    AND o.deptype = 'a' JOIN t ON t.oid = o.refobjid
"""
# A new entry takes the next number, so the last one given is no smaller than the newest entry's.
_SET_BACK = (
    "SELECT coalesce(last_value, 0) < (SELECT coalesce(max(id), 0) FROM entry) FROM pg_sequences "
    "WHERE schemaname = current_schema() AND sequencename = 'entry_id_seq' "
    "AND has_sequence_privilege('entry_id_seq', 'SELECT')"  # Else nothing is told of it.
)


def definitions(connection: Connection) -> dict[str, str]:
    """What a server tells of a ledger's tables and what belongs to them, by kind and name."""
    connection.exec_driver_sql(_PLAIN)
    names = (sorted([*metadata.tables, VERSION_TABLE]),)
    found = connection.exec_driver_sql(_DEFINITIONS, names).all()
    return {str(what): " ".join(str(definition).split()) for what, definition in found}


def _postgresql_problems(connection: Connection) -> Iterator[str]:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    found = definitions(connection)
    yield from _differences(found, recorded)
    if "sequence entry_id_seq" in found and connection.exec_driver_sql(_SET_BACK).scalar():
        yield "sequence entry_id_seq was set back: it would give numbers again"
