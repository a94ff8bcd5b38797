r"""Make the answer key of `sql-query`.

Run: `python tools/sql_key.py`; it writes the same bytes each time. The key is frozen: later cases
are added at the end of a maker, none is removed or edited.

Right queries are rewritten by laws of SQL, wrong ones have one operator or clause changed. Before
anything is written, all are run on small databases written by hand below: a right query must say
there what its reference says, and a wrong one must somewhere say something else, so every wrong
case has a witness.
"""
# ruff: noqa: E501, PLR0915, PLR0917, S608  # Tables of cases are read by row; their SQL is written here.

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from keywriter import NO, YES, Key, write

RULE, EDIT = "generator: a law of SQL", "generator: one operator changed"
HAND, HACK = "convention", "known hack"
SHOP = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, credit INTEGER);\n"
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), "
    "amount INTEGER NOT NULL, placed DATE NOT NULL, status TEXT);"
)
STAFF = (
    "CREATE TABLE departments (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\n"
    "CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT NOT NULL, dept_id INTEGER REFERENCES departments(id), "
    "salary INTEGER NOT NULL, bonus DOUBLE, boss_id INTEGER REFERENCES employees(id), hired DATE NOT NULL);"
)
BRANCHES = (
    "CREATE TABLE shops (code TEXT PRIMARY KEY, town TEXT);\n"
    "CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, shop TEXT REFERENCES shops(code), pay INTEGER);\n"
    "CREATE TABLE sales (id INTEGER PRIMARY KEY, shop TEXT REFERENCES shops(code), sold TEXT NOT NULL, seen TIMESTAMP, qty INTEGER NOT NULL CHECK (qty >= 0));"
)
BARE = "CREATE TABLE t (a INTEGER, b INTEGER, c TEXT);\nCREATE TABLE u (a INTEGER, d TEXT);"
TYPED = [
    {"name": "t", "columns": [{"name": "a", "type": "INTEGER"}, {"name": "b", "type": "INTEGER"},
                              {"name": "c", "type": "TEXT"}]},
    {"name": "u", "columns": [{"name": "a", "type": "INTEGER"}, {"name": "d", "type": "TEXT"}]},
]  # fmt: skip
"""The same as `BARE`, as a list of tables."""

# ---- Witnesses: databases by hand, on which every wrong case must differ somewhere

Rows = dict[str, list[list[Any]]]
WITNESSES: dict[str, list[Rows]] = {
    SHOP: [
        {"customers": [[1, "Ada", "Paris", 10], [2, "bob", "Rome", None], [3, "Cy", None, 0], [4, "Dee", "paris", 100], [5, "Ada", "Paris", 99], [6, "Bo", "Rome", 50], [7, "Al", "Oslo", 101]],
         "orders": [[1, 1, 10, "2024-01-01", "open"], [2, 1, 100, "2024-01-31", None], [3, 2, 99, "2024-02-29", "shipped"], [4, None, 101, "2023-12-31", "open"], [5, 4, 100, "2024-01-15", "Open"],
                    [6, 5, 7, "2024-03-01", "shipped"], [7, 1, 10, "2025-01-01", "open"], [8, 2, 1, "2024-02-01", "open"], [9, 5, 7, "2024-01-02", "open"], [10, 6, 100, "2024-01-31", "shipped"], [11, 6, 200, "2024-06-30", None], [12, 4, 300, "2024-01-01", "open"]]},
        {"customers": [[1, "Ada", "Paris", 10], [2, "Bob", None, None]], "orders": []},
        {"customers": [], "orders": []},
        {"customers": [[1, "Ada", "Paris", 10], [2, "Bob", "Rome", 100], [3, "Cy", "Rome", 101]],
         "orders": [[1, 1, 100, "2024-01-01", "open"], [2, 1, 50, "2024-01-02", "open"], [3, 2, 100, "2024-01-02", "shipped"], [4, 3, 150, "2024-05-01", "open"], [5, 2, 49, "2024-05-02", None]]},
        {"customers": [[1, "Ada", "Paris", 10]], "orders": [[1, 1, 100, "2024-01-01", "shipped"], [2, None, 5, "2024-01-02", None]]},
    ],
    STAFF: [
        {"departments": [[1, "Sales"], [2, "Ops"], [3, "Law"], [4, "Art"]],
         "employees": [[1, "Ann", 1, 100, 1.5, None, "2020-01-01"], [2, "Ben", 1, 90, None, 1, "2021-06-30"], [3, "Cat", 1, 100, 0.0, 1, "2021-07-01"], [4, "Dan", 2, 60, 2.5, 1, "2019-12-31"], [5, "Eve", 2, 61, None, 4, "2020-02-29"],
                       [6, "Fay", 3, 80, 0.25, 4, "2022-01-01"], [7, "Gus", None, 80, 4.0, 1, "2020-12-31"], [8, "ann", 2, 30, 1.0, 4, "2021-01-01"], [9, "Hal", 1, 40, 1.5, 2, "2021-06-30"], [10, "Ivy", 2, 60, 8.0, 8, "2021-07-15"], [11, "Jo", 3, 120, 8.0, 6, "2021-07-15"]]},
        {"departments": [[1, "Sales"]], "employees": []},
        {"departments": [], "employees": []},
        {"departments": [[1, "Sales"], [2, "Ops"]],
         "employees": [[1, "Ann", 1, 50, 1.0, None, "2021-01-01"], [2, "Ben", 2, 60, 1.0, 1, "2021-01-02"], [3, "Cy", 2, 70, None, 2, "2022-05-01"], [4, "Di", 1, 60, 2.0, 2, "2022-05-01"]]},
        {"departments": [[1, "Sales"]],
         "employees": [[1, "Ann", 1, 70, 1.0, None, "2021-01-01"], [2, "Ben", 1, 70, 1.0, 1, "2021-01-02"], [3, "Cy", None, 60, None, 2, "2022-05-01"]]},
        {"departments": [[1, "Sales"]],
         "employees": [[1, "Ann", 1, 70, -1.0, None, "2021-01-01"]]},
        {"departments": [[1, "Sales"]],
         "employees": [[1, "Ann", 1, 70, None, None, "2021-01-01"]]},
    ],
    BRANCHES: [
        {"shops": [["A1", "Bonn"], ["B2", " \u00c4hlen "]],
         "staff": [[1, "Al", "1980-05-05", "A1", 10], [2, "Maximilian Al", "2006-06-01", "B2", 10], [3, "Maximilian A", "2006-06-02", "B2", 11], [4, "Bo", None, None, None], [5, "Cy", "2003-07-01", "B2", 9], [6, "Di", "2010-01-01", "A1", -40]],
         "sales": [[1, "A1", "2024-03-01", "2024-03-01 00:00:00", 1], [2, "B2", "2024-03-31 12:30:00", "2024-03-31 12:30:00", 2], [3, "B2", "2023-03-15", "2023-03-15 23:59:59", 4], [4, None, "2024-04-01", "2024-04-01 00:00:00", 8], [5, "A1", "2023-12-31", None, 16]]},
        {"shops": [["A1", "Bonn"]], "staff": [], "sales": [[n, "A1", "2024-03-01", None, 1] for n in range(1, 131)]},
        {"shops": [], "staff": [], "sales": []},
    ],
    BARE: [
        {"t": [[1, 1, "x"], [1, 1, "x"], [2, None, "X"], [None, 3, None], [5, 4, "xy"], [4, 5, "ax"], [6, 5, ""], [5, 6, "y"], [3, 3, "x%"], [-7, 2, "a_x"], [7, 2, "abx"], [10, 10, "10"], [9, 0, "é"], [5, 5, "x"], [11, 6, "z"], [12, 7, "x%y"]],
         "u": [[1, "p"], [1, "q"], [2, None], [None, "p"], [5, "x"], [8, "x"], [3, "y"], [6, "z"], [11, "w"]]},
        {"t": [[1, 2, "x"], [2, 1, "y"], [None, None, None]], "u": [[2, "x"], [3, "q"]]},
        {"t": [], "u": []},
        {"t": [], "u": [[1, "p"], [2, "q"]]},
        {"t": [[5, 5, "x"], [5, 4, "x"], [6, 4, "y"], [4, None, "y"], [5, 5, "x"], [6, 6, "z"]], "u": []},
    ],
}  # fmt: skip


def _load(schema: str, rows: Rows, dialect: str) -> Any:
    import duckdb

    base: Any = sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect(":memory:")
    if dialect == "postgres":
        base.execute("SET integer_division = true")
    for statement in schema.split(";"):
        if statement.strip():
            base.execute(statement)
    for table, lines in rows.items():
        for line in lines:
            marks = ", ".join("?" * len(line))
            base.execute(f"INSERT INTO {table} VALUES ({marks})", line)
    return base


def _answer(base: Any, query: str, *, ordered: bool, as_set: bool) -> Any:
    rows = [tuple(_plain(v) for v in row) for row in base.execute(query).fetchall()]
    return set(rows) if as_set else rows if ordered else Counter(rows)


def _plain(value: Any) -> Any:
    """Texts and numbers apart; floats by their first digits."""
    if isinstance(value, (bool, str)) or value is None:
        return (type(value).__name__, value)
    if isinstance(value, (int, float)) or type(value).__name__ == "Decimal":
        return ("number", round(float(value), 9) + 0.0)
    return (type(value).__name__, str(value))


def _is_same(schema: str, reference: str, query: str, task: dict[str, Any]) -> bool:
    """Whether two queries say the same on all witnesses; an error says something else."""
    ordered = task.get("ordered", "ORDER BY" in _outside(reference))
    as_set = not task.get("duplicates", True)
    for rows in WITNESSES[schema]:
        base = _load(schema, rows, task.get("dialect", "duckdb"))
        wanted = _answer(base, reference, ordered=ordered, as_set=as_set)
        try:
            said = _answer(base, query, ordered=ordered, as_set=as_set)
        except Exception:  # noqa: BLE001 - whatever is wrong with it
            return False
        finally:
            base.close()
        if said != wanted:
            return False
    return True


def _outside(query: str) -> str:
    """A query without what stands in brackets."""
    while (shorter := re.sub(r"\([^()]*\)", "", query)) != query:
        query = shorter
    return query


def _task(schema: Any, reference: str, **more: Any) -> dict[str, Any]:
    return {"schema": schema, "reference": reference, **more}


_FRAMES = (
    "%s",
    "```sql\n%s\n```",
    "<answer>%s</answer>",
    "The query is:\n```sql\n%s\n```\nIt does that.",
    "%s;",
    "```\n%s;\n```",
)


def _right(
    key: Key, schema: str, reference: str, query: str, why: str, source: str, **more: Any
) -> None:
    if not _is_same(schema, reference, query, more):
        sys.exit(f"this is no right query for {reference!r}: {query!r}")
    frame = _FRAMES[len(key.rows) % len(_FRAMES)]
    key.add(frame % query, _task(schema, reference, **more), YES, why, source)


def _wrong(
    key: Key, schema: str, reference: str, query: str, why: str, source: str, **more: Any
) -> None:
    if _is_same(schema, reference, query, more):
        sys.exit(f"no witness says that this is wrong for {reference!r}: {query!r}")
    frame = _FRAMES[len(key.rows) % len(_FRAMES)]
    key.add(frame % query, _task(schema, reference, **more), NO, why, source)


# ---- Laws and edits

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_NEXT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": ">=", "<>": "<"}
_PLACES = (
    ("SELECT a, b FROM t WHERE %s", "a", 5, "WHERE"),
    ("SELECT t.b, u.d FROM t JOIN u ON t.a = u.a WHERE %s", "t.a", 2, "WHERE over a join"),
    ("SELECT c, COUNT(*) FROM t GROUP BY c HAVING %s", "COUNT(*)", 2, "HAVING over a count"),
    ("SELECT c, SUM(a) FROM t GROUP BY c HAVING %s", "SUM(a)", 5, "HAVING over a sum"),
    ("SELECT d FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.a = u.a AND %s)", "t.b", 5, "EXISTS"),
    ("SELECT a, CASE WHEN %s THEN 'yes' ELSE 'no' END FROM t", "b", 4, "CASE"),
)  # fmt: skip


def _comparisons() -> Iterator[tuple[str, str, list[str], str]]:
    """A reference, a wrong edit, right rewritings, and what it is about."""
    for place, term, bound, where in _PLACES:
        for op, negated in _NEGATED.items():
            made = [
                place % f"{bound} {_MIRRORED[op]} {term}",
                place % f"NOT ({term} {negated} {bound})",
            ]
            yield (
                place % f"{term} {op} {bound}",
                place % f"{term} {_NEXT[op]} {bound}",
                made,
                f"{op} in {where}",
            )


_LAWS: list[tuple[str, str, str, str]] = [
    # reference, right, wrong, about; all about BARE
    ("SELECT a FROM t WHERE a BETWEEN 2 AND 5", "SELECT a FROM t WHERE a >= 2 AND a <= 5", "SELECT a FROM t WHERE a > 2 AND a <= 5", "BETWEEN holds its lower bound"),
    ("SELECT a FROM t WHERE a BETWEEN 2 AND 5", "SELECT a FROM t WHERE NOT (a < 2 OR a > 5)", "SELECT a FROM t WHERE a >= 2 AND a < 5", "BETWEEN holds its upper bound"),
    ("SELECT a FROM t WHERE NOT (a = 1 AND b = 1)", "SELECT a FROM t WHERE a <> 1 OR b <> 1", "SELECT a FROM t WHERE a <> 1 AND b <> 1", "De Morgan over AND"),
    ("SELECT a FROM t WHERE NOT (a = 5 OR b = 5)", "SELECT a FROM t WHERE a <> 5 AND b <> 5", "SELECT a FROM t WHERE a <> 5 OR b <> 5", "De Morgan over OR"),
    ("SELECT a FROM t WHERE a IN (1, 2, 5)", "SELECT a FROM t WHERE a = 1 OR a = 2 OR a = 5", "SELECT a FROM t WHERE a = 1 OR a = 2", "IN is a disjunction"),
    ("SELECT a FROM t WHERE a NOT IN (1, 5)", "SELECT a FROM t WHERE a <> 1 AND a <> 5", "SELECT a FROM t WHERE a <> 1 OR a <> 5", "NOT IN is a conjunction"),
    ("SELECT a FROM t WHERE a = 5 AND (b = 4 OR c = 'x')", "SELECT a FROM t WHERE (a = 5 AND b = 4) OR (a = 5 AND c = 'x')", "SELECT a FROM t WHERE a = 5 AND b = 4 OR c = 'x'", "AND over OR"),
    ("SELECT COALESCE(b, 0) FROM t", "SELECT CASE WHEN b IS NULL THEN 0 ELSE b END FROM t", "SELECT b FROM t", "COALESCE"),
    ("SELECT NULLIF(a, b) FROM t", "SELECT CASE WHEN a = b THEN NULL ELSE a END FROM t", "SELECT CASE WHEN a = b THEN NULL ELSE b END FROM t", "NULLIF"),
    ("SELECT a FROM t WHERE b IS NOT NULL", "SELECT a FROM t WHERE b = b", "SELECT a FROM t WHERE b IS NULL", "only null is unequal to itself"),
    ("SELECT a FROM t WHERE b IS DISTINCT FROM 5", "SELECT a FROM t WHERE b <> 5 OR b IS NULL", "SELECT a FROM t WHERE b <> 5", "a null is distinct from a number"),
    ("SELECT DISTINCT a FROM t", "SELECT a FROM t GROUP BY a", "SELECT a FROM t", "DISTINCT groups"),
    ("SELECT DISTINCT a, b FROM t", "SELECT a, b FROM t UNION SELECT a, b FROM t", "SELECT a, b FROM t UNION ALL SELECT a, b FROM t", "UNION takes duplicates away"),
    ("SELECT a FROM t UNION ALL SELECT a FROM u", "SELECT a FROM u UNION ALL SELECT a FROM t", "SELECT a FROM t UNION SELECT a FROM u", "UNION ALL keeps duplicates"),
    ("SELECT a FROM t INTERSECT SELECT a FROM u", "SELECT DISTINCT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a IS NOT DISTINCT FROM t.a)", "SELECT DISTINCT a FROM t WHERE a IN (SELECT a FROM u)", "nulls intersect"),
    ("SELECT a FROM t EXCEPT SELECT a FROM u", "SELECT DISTINCT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a IS NOT DISTINCT FROM t.a)", "SELECT DISTINCT a FROM t WHERE a NOT IN (SELECT a FROM u)", "EXCEPT is not NOT IN where there are nulls"),
    ("SELECT a, b FROM t WHERE a IN (SELECT a FROM u)", "SELECT a, b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)", "SELECT t.a, t.b FROM t JOIN u ON t.a = u.a", "IN does not multiply rows as a join does"),
    ("SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)", "SELECT t.a FROM t LEFT JOIN u ON t.a = u.a WHERE u.a IS NULL", "SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)", "NOT IN over nulls yields nothing"),
    ("SELECT a FROM t WHERE a NOT IN (SELECT a FROM u WHERE a IS NOT NULL)", "SELECT a FROM t WHERE a IS NOT NULL AND NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a) OR (a IS NULL AND NOT EXISTS (SELECT 1 FROM u WHERE a IS NOT NULL))", "SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)", "NOT IN, nulls taken out"),
    ("SELECT a FROM t WHERE b > ALL (SELECT a FROM u WHERE d = 'x')", "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE d = 'x' AND (u.a >= t.b OR u.a IS NULL OR t.b IS NULL))", "SELECT a FROM t WHERE b > (SELECT MAX(a) FROM u WHERE d = 'x')", "ALL over nothing is true"),
    ("SELECT COUNT(*) FROM t", "SELECT COUNT(1) FROM t", "SELECT COUNT(b) FROM t", "COUNT of a column leaves nulls out"),
    ("SELECT COUNT(b) FROM t", "SELECT COALESCE(SUM(CASE WHEN b IS NOT NULL THEN 1 ELSE 0 END), 0) FROM t", "SELECT COUNT(*) FROM t", "COUNT of a column by hand"),
    ("SELECT COUNT(DISTINCT a) FROM t", "SELECT COUNT(a) FROM (SELECT DISTINCT a FROM t) s", "SELECT COUNT(*) FROM (SELECT DISTINCT a FROM t) s", "COUNT DISTINCT leaves null out"),
    ("SELECT SUM(a) FROM t", "SELECT SUM(s) FROM (SELECT SUM(a) AS s FROM t GROUP BY c) g", "SELECT COALESCE(SUM(a), 0) FROM t", "the sum of nothing is null"),
    ("SELECT AVG(b) FROM t", "SELECT SUM(b) * 1.0 / COUNT(b) FROM t", "SELECT SUM(b) * 1.0 / COUNT(*) FROM t", "a mean is over what is there"),
    ("SELECT c, MAX(a) FROM t GROUP BY c", "SELECT DISTINCT c, MAX(a) OVER (PARTITION BY c) FROM t", "SELECT c, MAX(a) FROM t WHERE c IS NOT NULL GROUP BY c", "nulls are a group"),
    ("SELECT c, COUNT(*) FROM t WHERE a > 2 GROUP BY c", "SELECT c, SUM(1) FROM t WHERE a > 2 GROUP BY c", "SELECT c, COUNT(CASE WHEN a > 2 THEN 1 END) FROM t GROUP BY c", "groups that a filter empties are gone"),
    ("SELECT c FROM t GROUP BY c HAVING COUNT(*) > 1", "SELECT c FROM (SELECT c, COUNT(*) AS n FROM t GROUP BY c) g WHERE n > 1", "SELECT c FROM t GROUP BY c HAVING COUNT(DISTINCT a) > 1", "HAVING is a filter over groups"),
    ("SELECT c FROM t GROUP BY c HAVING MIN(a) > 1", "SELECT c FROM t GROUP BY c HAVING COUNT(a) > 0 AND COUNT(CASE WHEN a <= 1 THEN 1 END) = 0", "SELECT c FROM t WHERE a > 1 GROUP BY c", "WHERE for HAVING"),
    ("SELECT t.b, u.d FROM t LEFT JOIN u ON t.a = u.a AND u.d = 'p'", "SELECT t.b, s.d FROM t LEFT JOIN (SELECT * FROM u WHERE d = 'p') s ON t.a = s.a", "SELECT t.b, u.d FROM t LEFT JOIN u ON t.a = u.a WHERE u.d = 'p'", "a filter in ON against WHERE"),
    ("SELECT t.b, u.d FROM t LEFT JOIN u ON t.a = u.a WHERE t.b > 2", "SELECT s.b, u.d FROM (SELECT * FROM t WHERE b > 2) s LEFT JOIN u ON s.a = u.a", "SELECT t.b, u.d FROM t LEFT JOIN u ON t.a = u.a AND t.b > 2", "a filter in WHERE against ON"),
    ("SELECT t.b, u.d FROM t JOIN u ON t.a = u.a", "SELECT t.b, u.d FROM t, u WHERE t.a = u.a", "SELECT t.b, u.d FROM t LEFT JOIN u ON t.a = u.a", "an inner join"),
    ("SELECT t.b, u.d FROM t LEFT JOIN u ON t.a = u.a", "SELECT t.b, u.d FROM u RIGHT JOIN t ON t.a = u.a", "SELECT t.b, u.d FROM t RIGHT JOIN u ON t.a = u.a", "which side is kept"),
    ("SELECT t.b, u.d FROM t FULL JOIN u ON t.a = u.a", "SELECT t.b, u.d FROM t LEFT JOIN u ON t.a = u.a UNION ALL SELECT NULL, u.d FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.a = u.a)", "SELECT t.b, u.d FROM t LEFT JOIN u ON t.a = u.a", "a full join"),
    ("SELECT c FROM t WHERE c LIKE 'x%'", "SELECT c FROM t WHERE SUBSTR(c, 1, 1) = 'x'", "SELECT c FROM t WHERE LOWER(c) LIKE 'x%'", "LIKE tells cases apart"),
    ("SELECT c FROM t WHERE c LIKE '%x'", "SELECT c FROM t WHERE RIGHT(c, 1) = 'x'", "SELECT c FROM t WHERE c LIKE '%x%'", "LIKE ends there"),
    ("SELECT c FROM t WHERE c LIKE 'a_x'", "SELECT c FROM t WHERE LENGTH(c) = 3 AND SUBSTR(c, 1, 1) = 'a' AND SUBSTR(c, 3, 1) = 'x'", "SELECT c FROM t WHERE c LIKE 'a%x'", "_ is one character"),
    ("SELECT c FROM t WHERE c LIKE '%!%%' ESCAPE '!'", "SELECT c FROM t WHERE POSITION('%' IN c) > 0", "SELECT c FROM t WHERE c LIKE '%!%' ESCAPE '!'", "an escaped %"),
    ("SELECT a // b FROM t WHERE b > 0", "SELECT (a - a % b) // b FROM t WHERE b > 0", "SELECT a / b FROM t WHERE b > 0", "integer division"),
    ("SELECT a / 2 FROM t", "SELECT a * 0.5 FROM t", "SELECT a // 2 FROM t", "division of whole numbers"),
    ("SELECT a % 3 FROM t", "SELECT a - 3 * (a // 3) FROM t", "SELECT ABS(a) % 3 FROM t", "the sign of a remainder"),
    ("SELECT a || '' FROM t", "SELECT CAST(a AS TEXT) FROM t", "SELECT a FROM t", "1 is not '1'"),
    ("SELECT ROUND(a / 3.0, 2) FROM t", "SELECT ROUND(CAST(a AS DOUBLE) / 3, 2) FROM t", "SELECT ROUND(a / 3.0, 1) FROM t", "digits"),
    ("SELECT a + b FROM t", "SELECT b + a FROM t", "SELECT a + COALESCE(b, 0) FROM t", "null adds to null"),
    ("SELECT a, b FROM t", "SELECT t.a AS x, t.b AS y FROM t", "SELECT b, a FROM t", "the order of columns"),
    ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY 1", "SELECT a FROM t ORDER BY a DESC", "ascending"),
    ("SELECT a, b FROM t ORDER BY a DESC, b", "SELECT a, b FROM t ORDER BY -a, b", "SELECT a, b FROM t ORDER BY a DESC, b DESC", "the second key"),
    ("SELECT a FROM t ORDER BY a NULLS FIRST", "SELECT a FROM t ORDER BY a IS NOT NULL, a", "SELECT a FROM t ORDER BY a NULLS LAST", "where nulls stand"),
    ("SELECT DISTINCT a FROM t ORDER BY a LIMIT 3", "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 3", "SELECT DISTINCT a FROM t ORDER BY a LIMIT 2", "LIMIT"),
    ("SELECT DISTINCT a FROM t ORDER BY a LIMIT 2 OFFSET 1", "SELECT a FROM (SELECT a, ROW_NUMBER() OVER (ORDER BY a) AS n FROM (SELECT DISTINCT a FROM t) s) r WHERE n IN (2, 3) ORDER BY a", "SELECT DISTINCT a FROM t ORDER BY a LIMIT 2", "OFFSET"),
    ("SELECT a, RANK() OVER (ORDER BY a) FROM t WHERE a IS NOT NULL", "SELECT a, 1 + (SELECT COUNT(*) FROM t s WHERE s.a < t.a) FROM t WHERE a IS NOT NULL", "SELECT a, DENSE_RANK() OVER (ORDER BY a) FROM t WHERE a IS NOT NULL", "RANK leaves gaps"),
    ("SELECT a, DENSE_RANK() OVER (ORDER BY a) FROM t WHERE a IS NOT NULL", "SELECT a, 1 + (SELECT COUNT(DISTINCT s.a) FROM t s WHERE s.a < t.a) FROM t WHERE a IS NOT NULL", "SELECT a, RANK() OVER (ORDER BY a) FROM t WHERE a IS NOT NULL", "DENSE_RANK has no gaps"),
    ("SELECT a, SUM(b) OVER (ORDER BY a) FROM t WHERE a IS NOT NULL", "SELECT a, (SELECT SUM(s.b) FROM t s WHERE s.a <= t.a) FROM t WHERE a IS NOT NULL", "SELECT a, SUM(b) OVER () FROM t WHERE a IS NOT NULL", "a running sum"),
    ("SELECT c, a FROM t WHERE a = (SELECT MAX(s.a) FROM t s WHERE s.c = t.c)", "SELECT c, a FROM (SELECT c, a, RANK() OVER (PARTITION BY c ORDER BY a DESC NULLS LAST) AS r FROM t WHERE c IS NOT NULL) s WHERE r = 1 AND a IS NOT NULL", "SELECT c, MAX(a) FROM t WHERE c IS NOT NULL GROUP BY c", "all that are highest, not one of each"),
    ("SELECT CASE WHEN a > 4 THEN 'high' WHEN a > 2 THEN 'mid' ELSE 'low' END FROM t", "SELECT CASE WHEN a <= 2 OR a IS NULL THEN 'low' WHEN a <= 4 THEN 'mid' ELSE 'high' END FROM t", "SELECT CASE WHEN a > 2 THEN 'mid' WHEN a > 4 THEN 'high' ELSE 'low' END FROM t", "the order of CASE"),
    ("SELECT a FROM t WHERE b = (SELECT MAX(b) FROM t)", "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM t s WHERE s.b > t.b) AND b IS NOT NULL", "SELECT MAX(a) FROM t WHERE b = (SELECT MAX(b) FROM t)", "the highest, ties too"),
    ("SELECT UPPER(c) FROM t", "SELECT UPPER(LOWER(c)) FROM t", "SELECT LOWER(c) FROM t", "letters"),
    ("SELECT LENGTH(c) FROM t", "SELECT LENGTH(REVERSE(c)) FROM t", "SELECT COALESCE(LENGTH(c), 0) FROM t", "the length of null"),
    ("SELECT GREATEST(a, b) FROM t WHERE a IS NOT NULL AND b IS NOT NULL", "SELECT CASE WHEN a > b THEN a ELSE b END FROM t WHERE a IS NOT NULL AND b IS NOT NULL", "SELECT LEAST(a, b) FROM t WHERE a IS NOT NULL AND b IS NOT NULL", "the greater"),
    ("SELECT a FROM t WHERE a > b AND b > 1", "SELECT a FROM t WHERE b < a AND 1 < b", "SELECT a FROM t WHERE a > b OR b > 1", "AND against OR"),
    ("SELECT x.a, y.a FROM t x JOIN t y ON x.b = y.a", "SELECT x.a, y.a FROM t y JOIN t x ON y.a = x.b", "SELECT x.a, y.a FROM t x JOIN t y ON x.a = y.a", "a join with itself"),
]  # fmt: skip

_SHOP: list[tuple[str, str, str, str]] = [
    ("SELECT name FROM customers WHERE city = 'Paris'", "SELECT c.name FROM customers AS c WHERE 'Paris' = c.city", "SELECT name FROM customers WHERE LOWER(city) = 'paris'", "cases of a city"),
    ("SELECT name FROM customers WHERE city <> 'Paris' OR city IS NULL", "SELECT name FROM customers WHERE COALESCE(city, '') <> 'Paris'", "SELECT name FROM customers WHERE city <> 'Paris'", "nobody's city is not Paris"),
    ("SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL)", "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL", "SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)", "customers without orders"),
    ("SELECT c.name, COUNT(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name", "SELECT c.name, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) FROM customers c", "SELECT c.name, COUNT(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name", "who ordered nothing counts nothing"),
    ("SELECT c.name, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name", "SELECT c.name, n FROM customers c JOIN (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) s ON s.customer_id = c.id", "SELECT c.name, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name", "two customers of one name"),
    ("SELECT c.name, SUM(o.amount) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.status = 'open' GROUP BY c.id, c.name", "SELECT c.name, (SELECT SUM(amount) FROM orders o WHERE o.customer_id = c.id AND o.status = 'open') FROM customers c", "SELECT c.name, SUM(o.amount) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.status = 'open' GROUP BY c.id, c.name", "an outer join that WHERE makes an inner one"),
    ("SELECT id FROM orders WHERE placed >= DATE '2024-01-01' AND placed < DATE '2025-01-01'", "SELECT id FROM orders WHERE EXTRACT(YEAR FROM placed) = 2024", "SELECT id FROM orders WHERE placed > DATE '2024-01-01' AND placed < DATE '2025-01-01'", "the first day of a year"),
    ("SELECT id FROM orders WHERE placed BETWEEN DATE '2024-01-01' AND DATE '2024-01-31'", "SELECT id FROM orders WHERE YEAR(placed) = 2024 AND MONTH(placed) = 1", "SELECT id FROM orders WHERE placed >= DATE '2024-01-01' AND placed < DATE '2024-01-31'", "the last day of a month"),
    ("SELECT EXTRACT(MONTH FROM placed), COUNT(*) FROM orders GROUP BY 1", "SELECT MONTH(placed), COUNT(id) FROM orders GROUP BY MONTH(placed)", "SELECT MONTH(placed), COUNT(id) FROM orders GROUP BY YEAR(placed), MONTH(placed)", "months of all years together"),
    ("SELECT id FROM orders WHERE status IS NULL OR status <> 'open'", "SELECT id FROM orders WHERE status IS DISTINCT FROM 'open'", "SELECT id FROM orders WHERE NOT (status = 'open')", "a status that is not known"),
    ("SELECT customer_id, SUM(amount) FROM orders WHERE customer_id IS NOT NULL GROUP BY customer_id HAVING SUM(amount) > 100", "SELECT * FROM (SELECT customer_id, SUM(amount) AS s FROM orders GROUP BY customer_id) q WHERE customer_id IS NOT NULL AND s > 100", "SELECT customer_id, SUM(amount) FROM orders WHERE customer_id IS NOT NULL AND amount > 100 GROUP BY customer_id", "a filter before for one after"),
    ("SELECT customer_id FROM orders WHERE customer_id IS NOT NULL GROUP BY customer_id HAVING COUNT(*) >= 2", "SELECT DISTINCT o.customer_id FROM orders o JOIN orders p ON o.customer_id = p.customer_id AND o.id < p.id", "SELECT customer_id FROM orders WHERE customer_id IS NOT NULL GROUP BY customer_id HAVING COUNT(*) > 2", "at least two"),
    ("SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount > c.credit", "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id AND c.credit < o.amount)", "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount >= c.credit", "more than the credit"),
    ("SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount > COALESCE(c.credit, 0)", "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount > CASE WHEN c.credit IS NULL THEN 0 ELSE c.credit END", "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount > c.credit", "no credit is none"),
    ("SELECT name FROM customers ORDER BY credit DESC NULLS LAST, id LIMIT 2", "SELECT name FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY credit DESC NULLS LAST, id) AS n FROM customers) s WHERE n <= 2 ORDER BY n", "SELECT name FROM customers ORDER BY credit DESC NULLS LAST, id LIMIT 3", "the first two"),
    ("SELECT city, COUNT(*) FROM customers GROUP BY city ORDER BY COUNT(*) DESC, city", "SELECT city, COUNT(*) AS n FROM customers GROUP BY city ORDER BY n DESC, city", "SELECT city, COUNT(*) FROM customers GROUP BY city ORDER BY COUNT(*), city", "the most first"),
    ("SELECT DISTINCT city FROM customers WHERE city IS NOT NULL ORDER BY city", "SELECT city FROM customers GROUP BY city HAVING city IS NOT NULL ORDER BY 1", "SELECT city FROM customers WHERE city IS NOT NULL ORDER BY city", "each city once"),
    ("SELECT id, amount - LAG(amount) OVER (PARTITION BY customer_id ORDER BY id) FROM orders", "SELECT o.id, o.amount - (SELECT p.amount FROM orders p WHERE p.customer_id IS NOT DISTINCT FROM o.customer_id AND p.id < o.id ORDER BY p.id DESC LIMIT 1) FROM orders o", "SELECT id, amount - LAG(amount) OVER (ORDER BY id) FROM orders", "the one before, of the same customer"),
    ("SELECT customer_id, MIN(placed) FROM orders WHERE customer_id IS NOT NULL GROUP BY customer_id", "SELECT customer_id, placed FROM (SELECT customer_id, placed, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed) AS n FROM orders) s WHERE n = 1 AND customer_id IS NOT NULL", "SELECT customer_id, MAX(placed) FROM orders WHERE customer_id IS NOT NULL GROUP BY customer_id", "the first order"),
    ("SELECT c.id FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) > 1", "SELECT c.id FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(*) > 1", "SELECT c.id FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(DISTINCT o.status) > 1", "more than one order"),
    ("SELECT SUM(amount) FILTER (WHERE status = 'open') FROM orders", "SELECT SUM(CASE WHEN status = 'open' THEN amount END) FROM orders", "SELECT SUM(CASE WHEN status = 'open' THEN amount ELSE 0 END) FROM orders", "the sum of nothing is null, not 0"),
    ("SELECT placed + INTERVAL 1 MONTH FROM orders", "SELECT CAST(placed AS TIMESTAMP) + INTERVAL 1 MONTH FROM orders", "SELECT placed + INTERVAL 30 DAY FROM orders", "a month is not 30 days"),
    ("SELECT c.city, AVG(o.amount) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.city", "SELECT c.city, SUM(o.amount) / COUNT(*) FROM orders o, customers c WHERE o.customer_id = c.id GROUP BY c.city", "SELECT c.city, SUM(o.amount) // COUNT(*) FROM orders o, customers c WHERE o.customer_id = c.id GROUP BY c.city", "a mean that is cut to a whole number"),
    ("SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.amount >= 100)", "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE amount >= 100)", "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.amount >= 100", "once each, however many orders"),
    ("SELECT COUNT(DISTINCT customer_id) FROM orders WHERE amount > 50", "SELECT COUNT(*) FROM (SELECT customer_id FROM orders WHERE amount > 50 AND customer_id IS NOT NULL GROUP BY customer_id) s", "SELECT COUNT(customer_id) FROM orders WHERE amount > 50", "different customers"),
]  # fmt: skip

_STAFF: list[tuple[str, str, str, str]] = [
    ("SELECT d.name, MAX(e.salary) FROM departments d JOIN employees e ON e.dept_id = d.id GROUP BY d.name", "SELECT d.name, (SELECT MAX(salary) FROM employees e WHERE e.dept_id = d.id) AS m FROM departments d WHERE EXISTS (SELECT 1 FROM employees e WHERE e.dept_id = d.id)", "SELECT d.name, MAX(e.salary) FROM departments d LEFT JOIN employees e ON e.dept_id = d.id GROUP BY d.name", "departments without people"),
    ("SELECT e.name FROM employees e JOIN employees b ON e.boss_id = b.id WHERE e.salary > b.salary", "SELECT name FROM employees e WHERE salary > (SELECT salary FROM employees b WHERE b.id = e.boss_id)", "SELECT e.name FROM employees e JOIN employees b ON e.boss_id = b.id WHERE e.salary >= b.salary", "more than the boss"),
    ("SELECT e.name, b.name FROM employees e LEFT JOIN employees b ON e.boss_id = b.id", "SELECT name, (SELECT b.name FROM employees b WHERE b.id = e.boss_id) FROM employees e", "SELECT e.name, b.name FROM employees e JOIN employees b ON e.boss_id = b.id", "who has no boss"),
    ("SELECT name FROM employees WHERE salary > (SELECT AVG(salary) FROM employees)", "SELECT name FROM (SELECT name, salary, AVG(salary) OVER () AS m FROM employees) s WHERE salary > m", "SELECT name FROM employees WHERE salary >= (SELECT AVG(salary) FROM employees)", "above the mean"),
    ("SELECT name FROM employees e WHERE salary > (SELECT AVG(salary) FROM employees x WHERE x.dept_id = e.dept_id)", "SELECT e.name FROM employees e JOIN (SELECT dept_id, AVG(salary) AS m FROM employees GROUP BY dept_id) s ON s.dept_id = e.dept_id WHERE e.salary > s.m", "SELECT name FROM employees e WHERE salary > (SELECT AVG(salary) FROM employees)", "the mean of one's department"),
    ("SELECT DISTINCT salary FROM employees ORDER BY salary DESC LIMIT 1 OFFSET 1", "SELECT MAX(salary) FROM employees WHERE salary < (SELECT MAX(salary) FROM employees) HAVING COUNT(*) > 0", "SELECT salary FROM employees ORDER BY salary DESC LIMIT 1 OFFSET 1", "the second highest salary"),
    ("SELECT dept_id, name FROM employees e WHERE salary = (SELECT MAX(salary) FROM employees x WHERE x.dept_id = e.dept_id)", "SELECT dept_id, name FROM (SELECT *, RANK() OVER (PARTITION BY dept_id ORDER BY salary DESC) AS r FROM employees) s WHERE r = 1 AND dept_id IS NOT NULL", "SELECT dept_id, name FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY dept_id ORDER BY salary DESC, id) AS r FROM employees) s WHERE r = 1 AND dept_id IS NOT NULL", "all with the highest salary"),
    ("SELECT name FROM employees WHERE bonus IS NULL", "SELECT e.name FROM employees e WHERE NOT EXISTS (SELECT 1 FROM employees x WHERE x.id = e.id AND x.bonus = x.bonus)", "SELECT name FROM employees WHERE bonus = 0 OR bonus IS NULL", "no bonus is not a bonus of 0"),
    ("SELECT SUM(bonus) FROM employees", "SELECT SUM(bonus) FROM employees WHERE bonus IS NOT NULL", "SELECT SUM(DISTINCT bonus) FROM employees", "equal bonuses count twice"),
    ("SELECT AVG(bonus) FROM employees", "SELECT AVG(bonus) FROM employees WHERE bonus IS NOT NULL", "SELECT AVG(COALESCE(bonus, 0)) FROM employees", "a missing bonus is not 0"),
    ("SELECT salary * 12 + COALESCE(bonus, 0) FROM employees", "SELECT 12 * salary + CASE WHEN bonus IS NULL THEN 0 ELSE bonus END FROM employees", "SELECT salary * 12 + bonus FROM employees", "a sum with null"),
    ("SELECT bonus * 0.1 + bonus * 0.2 FROM employees", "SELECT bonus * (0.1 + 0.2) FROM employees", "SELECT bonus * 0.1 + 0.2 FROM employees", "floats in another order of rounding"),
    ("SELECT name FROM employees WHERE hired < DATE '2021-07-01'", "SELECT name FROM employees WHERE NOT hired >= DATE '2021-07-01'", "SELECT name FROM employees WHERE hired <= DATE '2021-07-01'", "before a day"),
    ("SELECT YEAR(hired), COUNT(*) FROM employees GROUP BY YEAR(hired)", "SELECT EXTRACT(YEAR FROM hired), COUNT(id) FROM employees GROUP BY 1", "SELECT YEAR(hired), COUNT(DISTINCT dept_id) FROM employees GROUP BY YEAR(hired)", "people in a year"),
    ("SELECT d.name FROM departments d WHERE NOT EXISTS (SELECT 1 FROM employees e WHERE e.dept_id = d.id AND e.salary < 50)", "SELECT name FROM departments WHERE id NOT IN (SELECT dept_id FROM employees WHERE salary < 50 AND dept_id IS NOT NULL)", "SELECT DISTINCT d.name FROM departments d JOIN employees e ON e.dept_id = d.id WHERE e.salary >= 50", "nobody below 50, not somebody above"),
    ("SELECT d.name FROM departments d JOIN employees e ON e.dept_id = d.id GROUP BY d.name HAVING COUNT(*) > 2 ORDER BY d.name", "SELECT name FROM departments d WHERE (SELECT COUNT(*) FROM employees e WHERE e.dept_id = d.id) > 2 ORDER BY name", "SELECT d.name FROM departments d JOIN employees e ON e.dept_id = d.id GROUP BY d.name HAVING COUNT(*) >= 2 ORDER BY d.name", "more than two people"),
    ("SELECT name, salary FROM employees ORDER BY salary DESC, name", "SELECT e.name, e.salary AS s FROM employees e ORDER BY s DESC, e.name ASC", "SELECT name, salary FROM employees ORDER BY salary, name", "the best paid first"),
    ("SELECT e.name FROM employees e WHERE e.boss_id IN (SELECT id FROM employees WHERE dept_id = 1)", "SELECT e.name FROM employees e JOIN employees b ON b.id = e.boss_id AND b.dept_id = 1", "SELECT e.name FROM employees e WHERE e.dept_id = 1", "whose boss is there"),
    ("SELECT boss_id, COUNT(*) FROM employees WHERE boss_id IS NOT NULL GROUP BY boss_id", "SELECT b.id, COUNT(*) FROM employees b JOIN employees e ON e.boss_id = b.id GROUP BY b.id", "SELECT b.id, COUNT(e.id) FROM employees b LEFT JOIN employees e ON e.boss_id = b.id GROUP BY b.id", "bosses only"),
    ("WITH RECURSIVE up AS (SELECT id, boss_id, 0 AS n FROM employees WHERE boss_id IS NULL UNION SELECT e.id, e.boss_id, up.n + 1 FROM employees e JOIN up ON e.boss_id = up.id WHERE up.n < 3) SELECT id, n FROM up", "WITH RECURSIVE up(i, n) AS (SELECT id, 0 FROM employees WHERE boss_id IS NULL UNION SELECT e.id, n + 1 FROM up, employees e WHERE e.boss_id = i AND n <= 2) SELECT i, n FROM up", "WITH RECURSIVE up(i, n) AS (SELECT id, 1 FROM employees WHERE boss_id IS NULL UNION SELECT e.id, n + 1 FROM up, employees e WHERE e.boss_id = i AND n <= 3) SELECT i, n FROM up", "levels, counted from 0"),
]  # fmt: skip

_SQLITE: list[tuple[str, str, str, str, str]] = [
    (BARE, "SELECT a / 2 FROM t", "SELECT CAST(a / 2 AS INTEGER) FROM t", "SELECT a / 2.0 FROM t", "SQLite divides whole numbers"),
    (BARE, "SELECT c FROM t WHERE c LIKE 'x%'", "SELECT c FROM t WHERE LOWER(c) LIKE 'x%'", "SELECT c FROM t WHERE c GLOB 'x*'", "SQLite's LIKE takes either case"),
    (BARE, "SELECT IFNULL(b, 0) FROM t", "SELECT COALESCE(b, 0) FROM t", "SELECT IFNULL(b, 1) FROM t", "IFNULL"),
    (BARE, "SELECT a || '' FROM t", "SELECT CAST(a AS TEXT) FROM t", "SELECT a FROM t", "1 is not '1' in SQLite either"),
    (BARE, "SELECT a, b FROM t ORDER BY a", "SELECT a, b FROM t ORDER BY a IS NOT NULL, a", "SELECT a, b FROM t ORDER BY a NULLS LAST", "SQLite's nulls come first"),
    (BARE, "SELECT c, COUNT(*) FROM t GROUP BY c", "SELECT c, TOTAL(1) FROM t GROUP BY c", "SELECT c, COUNT(b) FROM t GROUP BY c", "counts of groups"),
    (BARE, "SELECT a FROM t WHERE a NOT IN (SELECT a FROM u WHERE a IS NOT NULL)", "SELECT a FROM t WHERE a IS NOT NULL AND NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a) OR a IS NULL AND (SELECT COUNT(a) FROM u) = 0", "SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)", "NOT IN over nulls, in SQLite"),
    (SHOP, "SELECT id FROM orders WHERE strftime('%Y', placed) = '2024'", "SELECT id FROM orders WHERE placed >= '2024-01-01' AND placed <= '2024-12-31'", "SELECT id FROM orders WHERE placed > '2024-01-01' AND placed <= '2024-12-31'", "a year in SQLite"),
    (SHOP, "SELECT id FROM orders WHERE strftime('%m', placed) = '01'", "SELECT id FROM orders WHERE substr(placed, 6, 2) = '01'", "SELECT id FROM orders WHERE strftime('%m', placed) = '1'", "a month in SQLite"),
    (SHOP, "SELECT name FROM customers ORDER BY credit DESC, id LIMIT 1", "SELECT name FROM customers WHERE id = (SELECT id FROM customers ORDER BY credit DESC, id LIMIT 1)", "SELECT name FROM customers ORDER BY credit DESC, id LIMIT 2", "the highest credit"),
    (STAFF, "SELECT d.name, COUNT(e.id) FROM departments d LEFT JOIN employees e ON e.dept_id = d.id GROUP BY d.id", "SELECT d.name, (SELECT COUNT(*) FROM employees e WHERE e.dept_id = d.id) FROM departments d", "SELECT d.name, COUNT(*) FROM departments d LEFT JOIN employees e ON e.dept_id = d.id GROUP BY d.id", "counting nobody, in SQLite"),
]  # fmt: skip

_POSTGRES: list[tuple[str, str, str, str]] = [
    ("SELECT a / 2 FROM t", "SELECT (a - a % 2) / 2 FROM t", "SELECT a / 2.0 FROM t", "PostgreSQL divides whole numbers"),
    ("SELECT c FROM t WHERE c ILIKE 'x%'", "SELECT c FROM t WHERE LOWER(c) LIKE 'x%'", "SELECT c FROM t WHERE c LIKE 'x%'", "ILIKE"),
    ("SELECT c, COUNT(*) FILTER (WHERE a > 2) FROM t GROUP BY c", "SELECT c, COUNT(CASE WHEN a > 2 THEN 1 END) FROM t GROUP BY c", "SELECT c, COUNT(*) FROM t WHERE a > 2 GROUP BY c", "FILTER"),
    ("SELECT a::text FROM t", "SELECT CAST(a AS VARCHAR) FROM t", "SELECT a FROM t", "a cast"),
]  # fmt: skip


def _rewritings(key: Key) -> None:
    for reference, wrong, rewritten, about in _comparisons():
        for query in rewritten:
            _right(key, BARE, reference, query, f"{about}, rewritten", RULE)
        _wrong(key, BARE, reference, wrong, f"{about}; one edit away", EDIT)
    for schema, rows in ((BARE, _LAWS), (SHOP, _SHOP), (STAFF, _STAFF)):
        for reference, right, wrong, about in rows:
            _right(key, schema, reference, right, about, RULE)
            _wrong(key, schema, reference, wrong, f"{about}; one edit away", EDIT)
    for schema, reference, right, wrong, about in _SQLITE:
        _right(key, schema, reference, right, about, RULE, dialect="sqlite")
        _wrong(key, schema, reference, wrong, f"{about}; one edit away", EDIT, dialect="sqlite")
    for reference, right, wrong, about in _POSTGRES:
        _right(key, BARE, reference, right, about, RULE, dialect="postgres")
        _wrong(key, BARE, reference, wrong, f"{about}; one edit away", EDIT, dialect="postgres")


# ---- By hand


def _conventions(key: Key) -> None:
    of = "SELECT a, b FROM t"
    key.add("SELECT a, b FROM t", _task(TYPED, of), YES, "the schema as a list of tables", HAND)
    key.add(
        "SELECT a, b FROM t WHERE a > 0",
        _task(TYPED, of),
        NO,
        "the schema as a list of tables; one edit away",
        HAND,
    )
    key.add("select A, B from T", _task(BARE, of), YES, "names in capitals", HAND)
    key.add('SELECT "a", t.b FROM main.t', _task(BARE, of), YES, "a table by its schema", HAND)
    key.add(
        "SELECT a AS x, b AS y FROM t",
        _task(BARE, of),
        YES,
        "names of columns do not matter",
        HAND,
    )
    key.add(
        "SELECT a AS x, b FROM t",
        _task(BARE, of, column_names=True),
        NO,
        "names of columns matter where the task says so",
        HAND,
    )
    key.add(
        "SELECT a AS A, b FROM t",
        _task(BARE, of, column_names=True),
        YES,
        "names of columns matter, capitals do not",
        HAND,
    )
    key.add("SELECT a, b, c FROM t", _task(BARE, of), NO, "a column too many", HAND)
    key.add("SELECT a FROM t", _task(BARE, of), NO, "a column too few", HAND)
    key.add("SELECT * FROM t", _task(BARE, "SELECT a, b, c FROM t"), YES, "a star", HAND)
    key.add(
        "SELECT a, b FROM t ORDER BY a",
        _task(BARE, of),
        YES,
        "an order that nobody asked for",
        HAND,
    )
    key.add(
        "-- all of them\nSELECT a, b /* two */ FROM t;", _task(BARE, of), YES, "comments", HAND
    )
    key.add(
        "<think>SELECT a FROM t</think>```sql\nSELECT a, b FROM t\n```",
        _task(BARE, of),
        YES,
        "what is thought does not count",
        HAND,
    )
    key.add(
        "```sql\nSELECT a, b FROM t\n```\nor\n```sql\nSELECT a FROM t\n```",
        _task(BARE, of),
        NO,
        "two queries",
        HAND,
    )
    key.add(
        "```python\nSELECT a, b FROM t\n```\n",
        _task(BARE, of),
        NO,
        "a block of another language",
        HAND,
    )
    key.add("FROM t SELECT a, b", _task(BARE, of), YES, "DuckDB's order of clauses", HAND)
    key.add(
        "WITH s AS (SELECT a, b FROM t) SELECT * FROM s",
        _task(BARE, of),
        YES,
        "a common table expression",
        HAND,
    )
    key.add("(SELECT a, b FROM t)", _task(BARE, of), YES, "brackets around", HAND)
    # Order.
    asked = "SELECT a, b FROM t ORDER BY a, b"
    key.add(
        "SELECT a, b FROM t ORDER BY a, b", _task(BARE, asked), YES, "the reference itself", HAND
    )
    key.add("SELECT a, b FROM t", _task(BARE, asked), NO, "an order that is missing", HACK)
    key.add("SELECT a, b FROM t ORDER BY a", _task(BARE, asked), NO, "a key that is missing", HACK)
    key.add(
        "SELECT a, b FROM t ORDER BY b, a", _task(BARE, asked), NO, "keys in another order", HACK
    )
    key.add(
        "SELECT a, b FROM t",
        _task(BARE, asked, ordered=False),
        YES,
        "the task says that order does not matter",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t WHERE b > 2",
        _task(BARE, asked, ordered=False),
        NO,
        "order does not matter, rows do",
        HAND,
    )
    key.add(
        "SELECT c, COUNT(*) FROM t GROUP BY c",
        _task(BARE, "SELECT c, COUNT(*) FROM t GROUP BY c ORDER BY c", dialect="sqlite"),
        NO,
        "groups that happen to come in order",
        HACK,
    )
    key.add(
        "SELECT DISTINCT c FROM t",
        _task(BARE, "SELECT DISTINCT c FROM t ORDER BY c", dialect="sqlite"),
        NO,
        "distinct rows that happen to come in order",
        HACK,
    )
    key.add(
        "SELECT c, COUNT(*) FROM t GROUP BY c ORDER BY 'c'",
        _task(BARE, "SELECT c, COUNT(*) FROM t GROUP BY c ORDER BY c", dialect="sqlite"),
        NO,
        "ordered by a text that says a name",
        HACK,
    )
    key.add(
        "SELECT c, COUNT(*) FROM t GROUP BY c ORDER BY NULL",
        _task(BARE, "SELECT c, COUNT(*) FROM t GROUP BY c ORDER BY c"),
        NO,
        "ordered by nothing",
        HACK,
    )
    key.add(
        "SELECT * FROM (SELECT a, b FROM t ORDER BY a, b) s",
        _task(BARE, asked),
        NO,
        "an order inside, which nobody keeps",
        HACK,
    )
    key.add(
        "SELECT MAX(a) FROM t",
        _task(BARE, "SELECT MAX(a) FROM t ORDER BY 1"),
        YES,
        "one row has no order",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t ORDER BY ALL", _task(BARE, asked), YES, "ordered by all columns", HAND
    )
    key.add(
        "SELECT a, b FROM t ORDER BY c",
        _task(BARE, "SELECT a, b FROM t ORDER BY c, a, b"),
        NO,
        "ties that the reference breaks",
        HACK,
    )
    key.add(
        "SELECT a FROM t UNION SELECT a FROM u ORDER BY a",
        _task(BARE, "SELECT a FROM (SELECT a FROM t UNION SELECT a FROM u) s ORDER BY a"),
        YES,
        "the order of a union",
        HAND,
    )
    key.add(
        "SELECT a FROM t UNION SELECT a FROM u ORDER BY a DESC",
        _task(BARE, "SELECT a FROM (SELECT a FROM t UNION SELECT a FROM u) s ORDER BY a"),
        NO,
        "the order of a union; one edit away",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t ORDER BY b, a",
        _task(BARE, "SELECT a, b FROM t ORDER BY b"),
        YES,
        "ties may stand in any order",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t ORDER BY b, a DESC",
        _task(BARE, "SELECT a, b FROM t ORDER BY b"),
        YES,
        "ties may stand in any other order",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t ORDER BY b DESC, a",
        _task(BARE, "SELECT a, b FROM t ORDER BY b"),
        NO,
        "ties may stand in any order; one edit away",
        HAND,
    )
    # Limits, and ties at them.
    top = "SELECT a, b FROM t ORDER BY a DESC NULLS LAST LIMIT 2"
    key.add(
        "SELECT a, b FROM t ORDER BY a DESC NULLS LAST, b LIMIT 2",
        _task(BARE, top),
        YES,
        "any of those that tie at the limit",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t ORDER BY a DESC NULLS LAST, b DESC LIMIT 2",
        _task(BARE, top),
        YES,
        "any other of those that tie at the limit",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t ORDER BY b DESC NULLS LAST, a LIMIT 2",
        _task(BARE, top),
        NO,
        "a limit under another order",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t ORDER BY a DESC NULLS LAST LIMIT 3",
        _task(BARE, top),
        NO,
        "a limit of one more",
        HAND,
    )
    key.add(
        "SELECT a, b FROM t ORDER BY a DESC NULLS LAST", _task(BARE, top), NO, "no limit", HAND
    )
    key.add(
        "SELECT a, b FROM t ORDER BY a DESC NULLS LAST FETCH FIRST 2 ROWS ONLY",
        _task(BARE, top),
        YES,
        "FETCH FIRST for LIMIT",
        HAND,
    )
    key.add(
        "SELECT id FROM customers ORDER BY credit DESC LIMIT 1",
        _task(SHOP, "SELECT id FROM customers ORDER BY credit DESC, id LIMIT 1"),
        NO,
        "ties at the limit that the reference breaks",
        HACK,
    )
    key.add(
        "SELECT id FROM customers ORDER BY credit DESC LIMIT 1",
        _task(SHOP, "SELECT id FROM customers ORDER BY credit DESC, id LIMIT 1", dialect="sqlite"),
        NO,
        "ties at the limit that SQLite happens to break",
        HACK,
    )
    key.add(
        "SELECT id FROM customers WHERE credit = (SELECT MAX(credit) FROM customers)",
        _task(SHOP, "SELECT id FROM customers ORDER BY credit DESC, id LIMIT 1"),
        NO,
        "all that tie, for one of them",
        HACK,
    )
    key.add(
        "SELECT a FROM t LIMIT 3",
        _task(BARE, "SELECT a FROM t LIMIT 3"),
        YES,
        "any three rows",
        HAND,
    )
    key.add(
        "SELECT a FROM t ORDER BY a LIMIT 3",
        _task(BARE, "SELECT a FROM t LIMIT 3"),
        YES,
        "three certain rows for any three",
        HAND,
    )
    key.add(
        "SELECT 0 FROM t LIMIT 3",
        _task(BARE, "SELECT a FROM t LIMIT 3"),
        NO,
        "three rows of something else",
        HAND,
    )
    key.add(
        "SELECT a FROM t LIMIT 4",
        _task(BARE, "SELECT a FROM t LIMIT 3"),
        NO,
        "any four rows",
        HAND,
    )
    # Duplicates.
    key.add(
        "SELECT DISTINCT a FROM t",
        _task(BARE, "SELECT a FROM t"),
        NO,
        "duplicates that are taken away",
        HACK,
    )
    key.add(
        "SELECT DISTINCT a FROM t",
        _task(BARE, "SELECT a FROM t", duplicates=False),
        YES,
        "the task says that duplicates do not matter",
        HAND,
    )
    key.add(
        "SELECT a FROM t",
        _task(BARE, "SELECT DISTINCT a FROM t", duplicates=False),
        YES,
        "duplicates do not matter, either way",
        HAND,
    )
    key.add(
        "SELECT a FROM t WHERE a > 1",
        _task(BARE, "SELECT DISTINCT a FROM t", duplicates=False),
        NO,
        "duplicates do not matter, rows do",
        HAND,
    )
    key.add(
        "SELECT a FROM t UNION ALL SELECT a FROM t",
        _task(BARE, "SELECT a FROM t"),
        NO,
        "each row twice",
        HACK,
    )
    # Values and types.
    key.add("SELECT 1.0 * a FROM t", _task(BARE, "SELECT a FROM t"), YES, "1.0 is 1", HAND)
    key.add(
        "SELECT CAST(a AS DOUBLE) * -0.0 FROM t",
        _task(BARE, "SELECT a * 0 FROM t"),
        YES,
        "there is a zero below zero, and it is zero",
        HAND,
    )
    key.add(
        "SELECT a = 5 FROM t",
        _task(BARE, "SELECT CASE WHEN a = 5 THEN 1 WHEN a IS NOT NULL THEN 0 END FROM t"),
        NO,
        "a truth value is no number",
        HACK,
    )
    key.add(
        "SELECT COALESCE(c, '') FROM t",
        _task(BARE, "SELECT c FROM t"),
        NO,
        "an empty text is not null",
        HACK,
    )
    key.add(
        "SELECT COALESCE(c, 'NULL') FROM t",
        _task(BARE, "SELECT c FROM t"),
        NO,
        "the word NULL is not null",
        HACK,
    )
    key.add(
        "SELECT TRIM(c) || ' ' FROM t",
        _task(BARE, "SELECT c FROM t"),
        NO,
        "a space at the end",
        HACK,
    )
    key.add(
        "SELECT a + 1e-3 FROM t", _task(BARE, "SELECT a FROM t"), NO, "a thousandth more", HACK
    )
    key.add(
        "SELECT a + 1e-12 FROM t",
        _task(BARE, "SELECT a FROM t"),
        YES,
        "less than the tolerance more",
        HAND,
    )
    key.add(
        "SELECT a + 1e-12 FROM t WHERE a IS NOT NULL",
        _task(BARE, "SELECT a FROM t WHERE a IS NOT NULL", tolerance=0.0),
        NO,
        "less than the usual tolerance more, and the task has none",
        HAND,
    )
    key.add(
        "SELECT ROUND(bonus / 3.0, 2) FROM employees",
        _task(STAFF, "SELECT bonus / 3.0 FROM employees", tolerance=0.001),
        NO,
        "rounded, beyond a tolerance",
        HAND,
    )
    key.add(
        "SELECT ROUND(1000 * bonus / 3.0) / 1000 FROM employees WHERE bonus > 1",
        _task(STAFF, "SELECT bonus / 3.0 FROM employees WHERE bonus > 1", tolerance=0.001),
        YES,
        "rounded, within a tolerance",
        HAND,
    )
    key.add(
        "SELECT ROUND(1000 * bonus / 3.0) / 1000 FROM employees WHERE bonus > 1",
        _task(STAFF, "SELECT bonus / 3.0 FROM employees WHERE bonus > 1"),
        NO,
        "rounded, beyond the usual tolerance",
        HAND,
    )
    key.add(
        "SELECT CAST(placed AS TEXT) FROM orders",
        _task(SHOP, "SELECT placed FROM orders"),
        NO,
        "a text is no date",
        HACK,
    )
    key.add(
        "SELECT CAST(placed AS TIMESTAMP) FROM orders",
        _task(SHOP, "SELECT placed FROM orders"),
        YES,
        "a date is its midnight",
        HAND,
    )
    key.add("SELECT ARRAY[a, b] FROM t", _task(BARE, "SELECT [a, b] FROM t"), YES, "lists", HAND)
    key.add(
        "SELECT ARRAY[b, a] FROM t",
        _task(BARE, "SELECT [a, b] FROM t"),
        NO,
        "lists; one edit away",
        HAND,
    )
    # Made for one database.
    key.add(
        "SELECT 14", _task(BARE, "SELECT COUNT(*) FROM t"), NO, "a number that is right once", HACK
    )
    key.add(
        "SELECT 'Ada' WHERE 1 = 0",
        _task(SHOP, "SELECT name FROM customers WHERE credit > 1000000"),
        NO,
        "nothing, for what is nearly nothing",
        HACK,
    )
    key.add(
        "SELECT name FROM customers WHERE credit > 1000000",
        _task(SHOP, "SELECT name FROM customers WHERE credit > 1000000"),
        YES,
        "what is rare",
        HAND,
    )
    key.add(
        "SELECT name FROM customers WHERE credit > 999999",
        _task(SHOP, "SELECT name FROM customers WHERE credit > 1000000"),
        NO,
        "what is rare; one edit away",
        HAND,
    )
    rare = "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.city = 'Reykjavik' AND o.status = 'returned' AND o.amount BETWEEN 7100 AND 7200 AND o.placed >= DATE '1999-12-31'"
    key.add(
        rare.replace("c.city = 'Reykjavik' AND ", "").replace(
            " WHERE ", " WHERE c.city LIKE 'Reykjavik' AND "
        ),
        _task(SHOP, rare),
        YES,
        "four rare conditions",
        HAND,
    )
    for old, new in (
        ("'Reykjavik'", "'reykjavik'"),
        ("c.city = 'Reykjavik' AND ", ""),
        ("'returned'", "'Returned'"),
        ("7100", "7101"),
        ("7200", "7199"),
        (">= DATE", "> DATE"),
        ("1999-12-31", "2000-01-01"),
        (" AND o.status = 'returned'", ""),
        ("o.amount BETWEEN 7100 AND 7200 AND ", ""),
    ):
        key.add(
            rare.replace(old, new),
            _task(SHOP, rare),
            NO,
            f"four rare conditions; {old.strip()} changed",
            HAND,
        )
    many = "SELECT city FROM customers GROUP BY city HAVING COUNT(*) >= 30"
    key.add(
        "SELECT city FROM customers GROUP BY city HAVING COUNT(*) > 29",
        _task(SHOP, many),
        YES,
        "groups of thirty",
        HAND,
    )
    key.add(
        "SELECT city FROM customers GROUP BY city HAVING COUNT(*) > 30",
        _task(SHOP, many),
        NO,
        "groups of thirty; one edit away",
        HAND,
    )
    key.add(
        "SELECT city FROM customers GROUP BY city HAVING COUNT(*) >= 29",
        _task(SHOP, many),
        NO,
        "groups of thirty, or one less",
        HAND,
    )
    # Constraints hold, so these are right.
    key.add(
        "SELECT COUNT(name) FROM customers",
        _task(SHOP, "SELECT COUNT(*) FROM customers"),
        YES,
        "a column that is never null",
        HAND,
    )
    key.add(
        "SELECT COUNT(city) FROM customers",
        _task(SHOP, "SELECT COUNT(*) FROM customers"),
        NO,
        "a column that may be null",
        HAND,
    )
    key.add(
        "SELECT DISTINCT id, name FROM customers",
        _task(SHOP, "SELECT id, name FROM customers"),
        YES,
        "a key makes rows distinct",
        HAND,
    )
    key.add(
        "SELECT DISTINCT name FROM customers",
        _task(SHOP, "SELECT name FROM customers"),
        NO,
        "a column that is no key",
        HAND,
    )
    key.add(
        "SELECT DISTINCT name FROM departments",
        _task(STAFF, "SELECT name FROM departments"),
        YES,
        "a unique column makes rows distinct",
        HAND,
    )
    key.add(
        "SELECT customer_id FROM orders WHERE customer_id IS NOT NULL",
        _task(SHOP, "SELECT o.customer_id FROM orders o JOIN customers c ON c.id = o.customer_id"),
        YES,
        "a foreign key finds its row",
        HAND,
    )
    key.add(
        "SELECT customer_id FROM orders",
        _task(SHOP, "SELECT o.customer_id FROM orders o JOIN customers c ON c.id = o.customer_id"),
        NO,
        "a foreign key may be null",
        HAND,
    )
    stock = "CREATE TABLE stock (item TEXT NOT NULL, place TEXT NOT NULL, n INTEGER NOT NULL CHECK (n >= 0), kind TEXT CHECK (kind IN ('a', 'b')), PRIMARY KEY (item, place))"
    key.add(
        "SELECT item FROM stock WHERE n = 0",
        _task(stock, "SELECT item FROM stock WHERE n <= 0"),
        YES,
        "a CHECK holds",
        HAND,
    )
    key.add(
        "SELECT item FROM stock WHERE n <= 1",
        _task(stock, "SELECT item FROM stock WHERE n <= 0"),
        NO,
        "a CHECK holds; one edit away",
        HAND,
    )
    key.add(
        "SELECT item FROM stock WHERE kind <> 'a'",
        _task(stock, "SELECT item FROM stock WHERE kind = 'b'"),
        YES,
        "a CHECK of two values",
        HAND,
    )
    key.add(
        "SELECT item FROM stock WHERE kind IS DISTINCT FROM 'a'",
        _task(stock, "SELECT item FROM stock WHERE kind = 'b'"),
        NO,
        "a CHECK lets null pass",
        HAND,
    )
    key.add(
        "SELECT DISTINCT item FROM stock",
        _task(stock, "SELECT item FROM stock"),
        NO,
        "half a key is no key",
        HAND,
    )
    # Databases that the task brings.
    own = [{"t": [[1, 2, "rare"], [None, 4, "x"]], "u": []}]
    key.add(
        "SELECT a FROM t WHERE c = 'rare'",
        _task(BARE, "SELECT a FROM t WHERE c = 'rare'", databases=own),
        YES,
        "a database of the task's own",
        HAND,
    )
    key.add(
        "SELECT a FROM t WHERE c IN ('rare', 'x')",
        _task(BARE, "SELECT a FROM t WHERE c = 'rare'", databases=own),
        NO,
        "a database of the task's own; one edit away",
        HAND,
    )
    only = [{"t": [[77177, 2, "x"]], "u": []}]
    key.add(
        "SELECT b FROM t WHERE a * a <> 5956289329",
        _task(BARE, "SELECT b FROM t WHERE a IS NOT NULL", databases=only),
        NO,
        "what only the task's database tells",
        HAND,
    )


def _refused(key: Key) -> None:
    """What a candidate may not ask, or what changes from time to time."""
    of, sqlite = (
        _task(BARE, "SELECT a, b FROM t"),
        _task(BARE, "SELECT a, b FROM t", dialect="sqlite"),
    )
    for said, why in (
        ("DROP TABLE t", "a statement that drops"),
        ("SELECT a, b FROM t; DROP TABLE t", "a second statement"),
        ("INSERT INTO t VALUES (1, 2, 'x') RETURNING a, b", "a statement that inserts"),
        ("UPDATE t SET a = 1 RETURNING a, b", "a statement that updates"),
        ("DELETE FROM t RETURNING a, b", "a statement that deletes"),
        ("CREATE TABLE x AS SELECT a, b FROM t", "a statement that creates"),
        ("COPY (SELECT a, b FROM t) TO '/tmp/x.csv'", "a copy to a file"),
        ("ATTACH '/tmp/x.db' AS y", "another database"),
        ("INSTALL httpfs", "an extension that is fetched"),
        ("LOAD httpfs", "an extension that is loaded"),
        ("SET memory_limit = '10GB'", "a setting"),
        ("PRAGMA table_info('t')", "a pragma"),
        ("EXPLAIN SELECT a, b FROM t", "a plan"),
        ("DESCRIBE t", "a description"),
        ("SUMMARIZE t", "a summary"),
        ("SHOW TABLES", "a list of tables"),
        ("CALL pragma_version()", "a call"),
        ("SELECT a, b FROM 'x.csv'", "a file as a table"),
        ('SELECT a, b FROM "/etc/passwd"', "a file in quotation marks as a table"),
        ("SELECT * FROM read_csv('/etc/passwd')", "read_csv"),
        ("SELECT * FROM read_text('/etc/passwd')", "read_text"),
        ("SELECT * FROM glob('/*')", "glob"),
        ("SELECT a, b FROM query('SELECT a, b FROM t')", "a query in a text"),
        ("SELECT a, b FROM query_table('t')", "a table by a text"),
        ("SELECT getenv('HOME'), 1", "a variable of the environment"),
        ("SELECT current_setting('memory_limit'), 1", "a setting that is read"),
        ("SELECT sql, 1 FROM duckdb_tables()", "a catalogue"),
        ("SELECT table_name, 1 FROM information_schema.tables", "another catalogue"),
        ("SELECT name, 1 FROM sqlite_master", "SQLite's catalogue"),
        (
            "WITH x AS (DELETE FROM t RETURNING a, b) SELECT * FROM x",
            "a deletion in a common table expression",
        ),
        ("SELECT a, b FROM t WHERE random() < 2", "what is random"),
        ("SELECT a, b FROM t ORDER BY random()", "a random order"),
        ("SELECT a, b FROM t WHERE now() > DATE '2000-01-01'", "what time it is"),
        ("SELECT a, b FROM t WHERE CURRENT_DATE > DATE '2000-01-01'", "what day it is"),
        ("SELECT a, b FROM t WHERE uuid() IS NOT NULL", "a UUID"),
        ("SELECT a, b FROM t USING SAMPLE 100%", "a sample"),
        ("SELECT a, b FROM t TABLESAMPLE 100%", "another sample"),
        ("SELECT a, b FROM t WHERE age(DATE '2000-01-01') IS NOT NULL", "an age, which grows"),
        ("SELECT a, b FROM t WHERE rowid >= 0", "the place of a row"),
        ("SELECT a, b FROM t WHERE $1 IS NULL", "a parameter"),
        ("SELECT a, b FROM candidates", "a table that is not there"),
        ("SELECT a, z FROM t", "a column that is not there"),
        ("SELECT a b FROM t WHERE", "half a query"),
        ("SELEC a, b FROM t", "a word that is misspelt"),
        ("I don't know.", "no query"),
        ("SELECT a, b FROM t WHERE CAST(c AS INTEGER) >= 0", "a cast that fails on some values"),
        ("SELECT (SELECT a FROM t), b FROM t", "a subquery of many rows"),
        ("SELECT a, b FROM t WHERE a = 'x'", "a number and a text"),
    ):
        key.add(said, of, NO, why, HAND)
    for said, why in (
        ("DROP TABLE t", "a statement that drops"),
        ("SELECT a, b FROM t; SELECT 1", "a second statement"),
        ("INSERT INTO t VALUES (1, 2, 'x') RETURNING a, b", "a statement that inserts"),
        ("PRAGMA table_info(t)", "a pragma"),
        ("ATTACH '/tmp/x' AS y", "another database"),
        ("VACUUM INTO '/tmp/x'", "a copy to a file"),
        ("SELECT name, 1 FROM sqlite_master", "the catalogue"),
        ("SELECT a, b FROM t WHERE random() IS NOT NULL", "what is random"),
        ("SELECT a, b FROM t WHERE date('now') > '2000-01-01'", "what day it is"),
        (
            "SELECT a, b FROM t WHERE date('n' || 'ow') > '2000-01-01'",
            "what day it is, in two parts",
        ),
        ("SELECT a, b FROM t WHERE CURRENT_TIMESTAMP > '2000-01-01'", "what time it is"),
        ("SELECT a, b FROM t WHERE rowid > 0", "the place of a row"),
        ("SELECT load_extension('/tmp/x'), 1", "an extension"),
        ("SELECT name, 1 FROM pragma_table_info('t')", "a pragma as a table"),
        ("SELECT a, b FROM t WHERE changes() = 0", "what was changed"),
        ("SELECT a, z FROM t", "a column that is not there"),
        ("SELECT a, c FROM t", "another column"),
    ):
        key.add(said, sqlite, NO, f"SQLite: {why}", HAND)


def _unknown(key: Key) -> None:
    """Tasks that nobody can be judged by."""
    said, sense = "SELECT a FROM t", "makes no sense"
    ref = f"the task's reference {sense}"
    key.broken(said, [
        (None, "the task has no schema", "no task"), ({"schema": BARE}, "the task has no reference", "no reference"),
        ({"reference": said}, "the task has no schema", "no schema"),
        (_task("", said), f"the task's schema {sense}", "an empty schema"), (_task("CREATE TABLE", said), f"the task's schema {sense}", "half a schema"),
        (_task("SELECT 1", said), f"the task's schema {sense}", "a query for a schema"), (_task([], said), f"the task's schema {sense}", "no table"),
        (_task("CREATE TABLE t (a GEOMETRY)", said), f"the task's schema {sense}", "a type that can't be made"),
        (_task("CREATE TABLE t (a INTEGER REFERENCES v(a))", said), f"the task's schema {sense}", "a foreign key to no table"),
        (_task(BARE, ""), ref, "an empty reference"), (_task(BARE, "SELECT a FROM"), ref, "half a reference"), (_task(BARE, "SELECT z FROM t"), ref, "a reference to no column"),
        (_task(BARE, "DROP TABLE t"), ref, "a reference that drops"), (_task(BARE, "SELECT 1; SELECT 2"), ref, "two references"),
        (_task(BARE, "SELECT random() FROM t"), ref, "a reference that is random"), (_task(BARE, "SELECT * FROM read_csv('x')"), ref, "a reference that reads a file"),
        (_task(BARE, "SELECT a FROM t WHERE a = (SELECT b FROM t LIMIT 1)"), "not determined", "a reference that takes any row"),
        (_task(BARE, "SELECT STRING_AGG(c, ',') FROM t"), "not determined", "a reference that joins texts in any order"),
        (_task(BARE, "SELECT a, ROW_NUMBER() OVER () FROM t"), "not determined", "a reference that numbers rows in any order"),
        (_task(BARE, "SELECT a FROM t WHERE a < b AND b < a"), "no row", "a reference that never yields a row"),
        (_task(BARE, "SELECT a FROM t LIMIT (SELECT COUNT(*) FROM u)"), "LIMIT", "a limit that is computed"),
        (_task(BARE, said, dialect="cobol"), f"the task's dialect {sense}", "an unknown dialect"), (_task(BARE, said, ordered="yes"), "the task's ordered", "an order that is no truth value"),
        (_task(BARE, said, tolerance=-1.0), "the task's tolerance", "a negative tolerance"), (_task(BARE, said, databases=[{"v": [[1]]}]), "the task's databases make no sense", "rows of no table"),
        (_task(BARE, said, databases=[{"t": [[1]]}]), "the task's databases make no sense", "a row that is too short"), (_task(BARE, said, databases=[{"t": [["x", 1, "c"]]}]), "the task's databases make no sense", "a value of another type"),
        (_task(BARE, "SELECT CAST(c AS INTEGER) FROM t"), ref, "a reference that fails on some values"),
    ])  # fmt: skip


def _hostile(key: Key) -> None:
    of, sqlite = (
        _task(BARE, "SELECT a, b FROM t"),
        _task(BARE, "SELECT a, b FROM t", dialect="sqlite"),
    )
    postgres = _task(BARE, "SELECT a, b FROM t", dialect="postgres")
    endless = (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT MAX(n), 1 FROM r"
    )
    for task, where in ((of, ""), (sqlite, "SQLite: "), (postgres, "PostgreSQL: ")):
        key.hostile(endless, task, f"{where}a recursion without end")
        key.hostile(
            "WITH RECURSIVE r(n) AS (SELECT 'x' UNION ALL SELECT n || n FROM r) SELECT MAX(n), 1 FROM r",
            task,
            f"{where}a text that doubles without end",
        )
        key.hostile(
            "SELECT COUNT(*), 1 FROM " + ", ".join(f"t t{n}" for n in range(14)),
            task,
            f"{where}a cross join of fourteen",
        )
        key.hostile(
            "SELECT a.a, a.b FROM " + ", ".join(f"t {chr(97 + n)}" for n in range(6)),
            task,
            f"{where}rows without end",
        )
        key.hostile(
            [["SELECT ", 1], ["(", 5000], ["1", 1], [")", 5000], [", 1", 1]],
            task,
            f"{where}5,000 brackets",
        )
        key.hostile([["SELECT 1", 1], [" + 1", 5000], [", 1", 1]], task, f"{where}a sum of 5,001")
        key.hostile(
            [["SELECT ", 1], ["NOT ", 3000], ["true, 1", 1]], task, f"{where}3,000 times NOT"
        )
        key.hostile(
            [["SELECT a, b FROM t", 1], [" UNION ALL SELECT a, b FROM t", 1500]],
            task,
            f"{where}a union of 1,501",
        )
        key.hostile(
            [["SELECT * FROM (", 1000], ["SELECT a, b FROM t", 1], [")", 1000]],
            task,
            f"{where}1,000 subqueries",
        )
        key.hostile(
            [
                ["SELECT ", 1],
                ["CASE WHEN a > 1 THEN ", 800],
                ["1", 1],
                [" END", 800],
                [", 1 FROM t", 1],
            ],
            task,
            f"{where}half a CASE, 800 times",
        )
        key.hostile("SELECT 'x", task, f"{where}a text that never ends")
        key.hostile("SELECT /* x", task, f"{where}a comment that never ends")
        key.hostile("SELECT a, b FROM t\x00; DROP TABLE t", task, f"{where}a null character")
        key.hostile(
            "SELECT a, b FROM t WHERE c = '\U0001f4a9\u202e' AND", task, f"{where}odd characters"
        )
        key.hostile(
            [["SELECT a, b FROM t WHERE a IN (", 1], ["1, ", 300_000], ["1)", 1]],
            task,
            f"{where}a list of 300,000",
        )
        key.hostile([["x", 2_000_000]], task, f"{where}two million letters")
        key.hostile([[";", 5000]], task, f"{where}5,000 semicolons")
    said: Any
    for said, why in (
        ("SELECT repeat('x', 2000000000), 1", "a text of two gigabytes"),
        ("SELECT repeat(repeat('x', 100000), 100000), 1", "a text of ten gigabytes"),
        ("SELECT lpad('x', 2000000000, 'y'), 1", "a padded text of two gigabytes"),
        ("SELECT range(10000000000), 1", "a list of ten thousand million"),
        ("SELECT * FROM range(100000000000) r(a), range(10) s(b)", "a series without end"),
        ("SELECT COUNT(*), 1 FROM generate_series(1, 1000000000000)", "a series that is counted"),
        (
            "SELECT SUM(r.range), 1 FROM range(100000) r, range(100000) s",
            "ten thousand million rows",
        ),
        (
            "SELECT list_sum(list_transform(range(1000000000), x -> x)), 1",
            "a list that is changed",
        ),
        ("SELECT regexp_matches(repeat('a', 100000), '(a+)+$b'), 1", "a regular expression"),
        (
            "SELECT string_agg(repeat('x', 1000000), ''), 1 FROM range(100000)",
            "texts that are joined",
        ),
        ("SELECT pg_sleep(1000), 1", "a sleep"),
        ("SELECT sleep_ms(100000), 1", "another sleep"),
        ("SELECT 9223372036854775807 + a, b FROM t", "a number that overflows"),
        ("SELECT a, b FROM t PIVOT (COUNT(*) FOR c IN ('x'))", "a pivot"),
        ("PIVOT t ON c", "a pivot as a statement"),
        ("SELECT COLUMNS('(a+)+$') FROM t", "columns by a regular expression"),
        ("SELECT 10 ** 400, 1", "a power beyond all numbers"),
        ("SELECT factorial(10000000), 1", "a factorial"),
        ("SELECT bar(1, 0, 1, 1e9), 1", "a bar of a thousand million"),
        ("SELECT a, b FROM t, LATERAL (SELECT * FROM range(1000000000)) s", "a lateral series"),
        ("SELECT unnest(range(1000000000)), 1", "a list that is spread"),
        ("SELECT 'x'::BIT, 1", "bits that are none"),
        ("SELECT CAST('[' AS JSON), 1", "JSON that is none"),
        ([["SELECT a", 1], [", a", 20_000], [" FROM t", 1]], "20,000 columns"),
        ([["SELECT a, b FROM t ORDER BY a", 1], [", a", 3000]], "3,000 keys"),
        (
            "WITH "
            + ", ".join(
                f"c{n} AS (SELECT * FROM {f'c{n - 1} a, c{n - 1} b' if n else 't'})"
                for n in range(24)
            )
            + " SELECT COUNT(*), 1 FROM c23",
            "tables that double",
        ),
    ):
        key.hostile(said, of, why)
    for said, why in (
        ("SELECT printf('%.*c', 2000000000, 'x'), 1", "a text of two gigabytes"),
        ("SELECT zeroblob(2000000000), 1", "two gigabytes of zeros"),
        (
            "SELECT replace(hex(zeroblob(100000)), '0', hex(zeroblob(100000))), 1",
            "a text that is replaced",
        ),
        (
            "SELECT group_concat(hex(zeroblob(100000))), 1 FROM t a, t b, t c",
            "texts that are joined",
        ),
        (
            [["SELECT a, b FROM t WHERE c GLOB '", 1], ["*a", 5000], ["'", 1]],
            "a pattern of 5,000 stars",
        ),
        (
            [
                ["SELECT a, b FROM t WHERE '", 1],
                ["a", 5000],
                ["' LIKE '", 1],
                ["%a", 500],
                ["b'", 1],
            ],
            "a pattern that is tried in all ways",
        ),
        ([["SELECT json_extract('", 1], ["[", 3000], ["', '$'), 1", 1]], "JSON that is deep"),
        ("SELECT abs(-9223372036854775808), 1", "a number that overflows"),
    ):
        key.hostile(said, sqlite, f"SQLite: {why}")


def _corrected(key: Key) -> None:
    """Queries that this key first called right; a bonus of -1, or none at all, says otherwise."""
    for reference, query, why in (
        (
            "SELECT name FROM employees WHERE bonus IS NULL",
            "SELECT name FROM employees WHERE COALESCE(bonus, -1) = -1",
            "a value that stands for null may be a value",
        ),
        (
            "SELECT SUM(bonus) FROM employees",
            "SELECT SUM(COALESCE(bonus, 0)) FROM employees",
            "the sum of nulls is null, not 0",
        ),
    ):
        _wrong(key, STAFF, reference, query, why, EDIT)


def _noticed(key: Key) -> None:
    """What edits of the verifier showed that no other case told."""
    of, top = "SELECT a, b FROM t", "SELECT a, b FROM t ORDER BY a DESC NULLS LAST LIMIT 2"
    for said, reference, outcome, why in (
        ("SELECT a, b FROM t, range(1)", of, YES, "a series of one"),
        ("SELECT a, b FROM t, UNNEST([7]) AS s(x)", of, YES, "a list of one, spread"),
        ("SELECT a, b FROM t, range(2)", of, NO, "a series of two"),
        (top.replace("LIMIT 2", "FETCH FIRST 2 ROWS WITH TIES"), top, NO, "ties beyond a limit"),
        (top.replace("LIMIT 2", "LIMIT 2%"), top, NO, "a share for a number"),
    ):
        key.add(said, _task(BARE, reference), outcome, why, "mutant of the verifier")


_REACHED: list[tuple[str, str, str, str, str]] = [
    # dialect, reference, right, wrong, about; all about BRANCHES
    (
        "sqlite",
        "SELECT COUNT(*) FROM sales WHERE strftime('%m', sold) = '03'",
        "SELECT COUNT(*) FROM sales WHERE CAST(strftime('%m', sold) AS INTEGER) = 3",
        "SELECT 0",
        "a count of a month that is never there",
    ),
    (
        "sqlite",
        "SELECT SUM(qty) FROM sales WHERE strftime('%Y', sold) = '2023'",
        "SELECT SUM(CASE WHEN strftime('%Y', sold) = '2023' THEN qty END) FROM sales",
        "SELECT NULL",
        "a sum over a year that is never there",
    ),
    (
        "duckdb",
        "SELECT COUNT(*) FROM staff WHERE born + INTERVAL 18 YEAR <= DATE '2024-06-01'",
        "SELECT COUNT(*) FROM staff WHERE NOT born + INTERVAL 18 YEAR > DATE '2024-06-01'",
        "SELECT 0",
        "a count of those of an age that nobody has",
    ),
    (
        "duckdb",
        "SELECT COUNT(*) FROM staff WHERE born + INTERVAL 18 YEAR <= DATE '2024-06-01'",
        "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM staff WHERE DATE '2024-06-01' >= born + INTERVAL 18 YEAR) s",
        "SELECT COUNT(*) FROM staff WHERE born + INTERVAL 21 YEAR <= DATE '2024-06-01'",
        "another number of years",
    ),
    (
        "duckdb",
        "SELECT CASE WHEN date_diff('year', born, DATE '2024-06-01') >= 18 THEN 'adult' ELSE 'child' END FROM staff",
        "SELECT CASE WHEN 2024 - year(born) >= 18 THEN 'adult' ELSE 'child' END FROM staff",
        "SELECT 'child' FROM staff",
        "a CASE that always says the same",
    ),
    (
        "duckdb",
        "SELECT name FROM staff WHERE length(name) <= 12",
        "SELECT name FROM staff WHERE NOT length(name) > 12",
        "SELECT name FROM staff",
        "a length that no text has",
    ),
    (
        "duckdb",
        "SELECT name FROM staff WHERE length(name) <= 12",
        "SELECT name FROM staff WHERE length(name) < 13",
        "SELECT name FROM staff WHERE length(name) < 12",
        "a length just as long",
    ),
    (
        "duckdb",
        "SELECT name, length(name) > 12 FROM staff",
        "SELECT name, 12 < length(name) FROM staff",
        "SELECT name, FALSE FROM staff",
        "a truth value that is always false",
    ),
    (
        "sqlite",
        "SELECT shop, SUM(strftime('%Y', sold) = '2023') FROM sales GROUP BY shop",
        "SELECT shop, COUNT(CASE WHEN strftime('%Y', sold) = '2023' THEN 1 END) FROM sales GROUP BY shop",
        "SELECT shop, 0 FROM sales GROUP BY shop",
        "a count by hand of what is never there",
    ),
    (
        "duckdb",
        "SELECT id FROM sales WHERE seen >= TIMESTAMP '2024-03-01' AND seen < TIMESTAMP '2024-04-01'",
        "SELECT id FROM sales WHERE CAST(seen AS DATE) BETWEEN DATE '2024-03-01' AND DATE '2024-03-31'",
        "SELECT id FROM sales WHERE seen BETWEEN TIMESTAMP '2024-03-01' AND TIMESTAMP '2024-03-31'",
        "the last day of a month has hours",
    ),
    (
        "sqlite",
        "SELECT id FROM sales WHERE sold >= '2024-03-01' AND sold < '2024-04-01'",
        "SELECT id FROM sales WHERE substr(sold, 1, 10) BETWEEN '2024-03-01' AND '2024-03-31'",
        "SELECT id FROM sales WHERE sold BETWEEN '2024-03-01' AND '2024-03-31'",
        "the last day of a month has hours, in texts",
    ),
    (
        "sqlite",
        "SELECT name FROM staff WHERE shop = 'B2' AND pay > 10",
        "SELECT name FROM staff JOIN shops ON shop = code WHERE code = 'B2' AND pay >= 11",
        "SELECT name FROM staff WHERE shop = 'B2' AND pay >= 10",
        "a constant on a foreign key",
    ),
    (
        "duckdb",
        "SELECT name FROM staff WHERE shop = 'B2'",
        "SELECT name FROM staff WHERE shop IN ('B2')",
        "SELECT name FROM staff WHERE shop >= 'B2' OR pay < -30",
        "a constant on a foreign key alone",
    ),
    (
        "duckdb",
        "SELECT id FROM sales",
        "SELECT id FROM sales LIMIT ALL",
        "SELECT id FROM sales LIMIT 100",
        "a LIMIT beyond a small table",
    ),
    (
        "duckdb",
        "SELECT id FROM sales ORDER BY id LIMIT 100",
        "SELECT id FROM (SELECT id FROM sales ORDER BY id LIMIT 100) s ORDER BY id LIMIT 120",
        "SELECT id FROM sales ORDER BY id LIMIT 101",
        "one more than a long LIMIT",
    ),
    (
        "sqlite",
        "SELECT id FROM sales ORDER BY id LIMIT 100",
        "SELECT id FROM sales ORDER BY +id LIMIT 100",
        "SELECT id FROM sales ORDER BY id",
        "no LIMIT for a long one",
    ),
    (
        "duckdb",
        "SELECT pay FROM staff",
        "SELECT +pay FROM staff",
        "SELECT CASE WHEN pay < -20 THEN -20 ELSE pay END FROM staff",
        "numbers far below zero",
    ),
    (
        "duckdb",
        "SELECT town FROM shops",
        "SELECT '' || town FROM shops",
        "SELECT trim(town) FROM shops",
        "spaces at the ends of texts",
    ),
]


def _reached(key: Key) -> None:
    """Conditions that must hold, and fail, on some database."""
    for dialect, reference, right, wrong, about in _REACHED:
        more = {} if dialect == "duckdb" else {"dialect": dialect}
        _right(key, BRANCHES, reference, right, about, RULE, **more)
        _wrong(key, BRANCHES, reference, wrong, about, HACK, **more)
    key.broken("SELECT id FROM staff", [
        (_task(BRANCHES, "SELECT id FROM staff", databases=[{"staff": rows}]), "constraint", f"databases of the task's own: {why}")
        for rows, why in (
            ([[1, "a", None, None, 1], [1, "b", None, None, 1]], "two rows with the same key"),
            ([[1, "a", None, "none", 1]], "a row that refers to none"),
            ([[1, None, None, None, 1]], "a null that the schema forbids"),
        )
    ])  # fmt: skip
    never = _task(BRANCHES, "SELECT COUNT(*) FROM staff WHERE length(name) = 5000")
    key.broken("SELECT 0", [(never, "its WHERE never holds", "a condition that never holds")])


def sql_query(key: Key) -> None:
    """Rewritings and edits, conventions, what is refused, tasks without sense, hostile text."""
    _rewritings(key)
    _conventions(key)
    _refused(key)
    _unknown(key)
    _hostile(key)
    _corrected(key)
    _noticed(key)
    _reached(key)


if __name__ == "__main__":
    write({"sql-query": sql_query}, sys.argv[1:])
