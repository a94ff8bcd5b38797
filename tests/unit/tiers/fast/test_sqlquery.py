"""Queries that say what a reference says, on databases that nobody sees."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pytest
import sqlglot

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.extraction import DOCUMENT, answers
from verifier_ladder.tiers.fast.sqlanswers import unmatched, values_match
from verifier_ladder.tiers.fast.sqldatabases import Hints, fill, near, profiles
from verifier_ladder.tiers.fast.sqlengine import Duck, Lite, QueryError, open_engine
from verifier_ladder.tiers.fast.sqlquery import SqlQuery
from verifier_ladder.tiers.fast.sqlschema import read_schema
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

SCHEMA = (
    "CREATE TABLE depots (id INTEGER PRIMARY KEY, place TEXT NOT NULL UNIQUE, size DECIMAL(8, 2));"
    "CREATE TABLE vans (plate TEXT, depot INTEGER NOT NULL REFERENCES depots(id), km BIGINT, "
    "bought DATE, price DOUBLE, sold BOOLEAN, twin TEXT REFERENCES vans(plate), "
    "seen TIMESTAMP, state TEXT CHECK (state IN ('new', 'old')), PRIMARY KEY (plate), "
    "UNIQUE (depot, km), CHECK (km >= 10))"
)
ASKED = "SELECT plate FROM vans WHERE km > 100 AND state = 'old' AND bought < DATE '2021-05-01'"


def _query(text: str) -> str:
    return answers(text, DOCUMENT, "", languages=("sql",))[0]


def _normal(text: str) -> str:
    return " ".join(text.lower().replace(";", "").split())


def same_text(text: str, task: Mapping[str, Any]) -> bool:
    return _normal(_query(text)) == _normal(task["reference"])


def same_tree(text: str, task: Mapping[str, Any]) -> bool:
    one, other = (
        sqlglot.parse_one(q, read=task.get("dialect", "duckdb")).sql(normalize=True)
        for q in (_query(text), task["reference"])
    )
    return one == other


def same_rows(text: str, task: Mapping[str, Any], *, as_set: bool) -> bool:
    """On one database, with the same few rows in each table."""
    base = duckdb.connect(":memory:", config={"enable_external_access": "false"})
    base.execute(task["schema"])
    for (name,) in base.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        kinds = base.execute(
            "SELECT data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index",
            [name],
        ).fetchall()
        for number in (1, 2, 5):
            values = {"DATE": f"DATE '2024-01-0{number}'", "VARCHAR": f"'x{number}'"}
            row = ", ".join(values.get(kind, str(number)) for (kind,) in kinds)
            base.execute(f"INSERT INTO {name} VALUES ({row})")  # noqa: S608 - of our own key
    said, wanted = (base.execute(q).fetchall() for q in (_query(text), task["reference"]))
    return set(said) == set(wanted) if as_set else Counter(said) == Counter(wanted)


_EVERY = 8
"""The kit has one of so many cases; all of them are slow."""


class TestSqlQuery(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "the same text": Twin(same_text),
        "the same syntax tree": Twin(same_tree),
        "the same set of rows on one database": Twin(lambda t, k: same_rows(t, k, as_set=True)),
        "the same rows on one database": Twin(lambda t, k: same_rows(t, k, as_set=False)),
    }
    mutated = tuple(
        f"verifier_ladder.tiers.fast.sql{name}" for name in ("query", "answers", "engine")
    )

    mutants: Mapping[str, Any] = {
        "equivalent": [
            # Only a machine without time for a query sees the difference.
            (
                "if self.is_late: raise ToolError('this machine has no time for a query of "
                "DuckDB') from None -> if self.is_late: pass"
            ),
        ],
    }

    @pytest.fixture
    def verifier(self) -> SqlQuery:
        return SqlQuery()

    @pytest.fixture
    def answer_key(self, request: pytest.FixtureRequest) -> AnswerKey:
        """One of so many cases; of slow tests all."""
        key = AnswerKey.named("sql-query")
        step = 1 if request.node.get_closest_marker("slow") else _EVERY
        return AnswerKey(key.name, key.cases[::step], key.lines[::step])

    @pytest.mark.slow
    def test_it_agrees_with_its_whole_answer_key(self, answer_key: AnswerKey) -> None:
        """Databases are made for each task: that takes minutes."""
        report = answer_key.check(SqlQuery())
        unjudged = [graded.told() for graded in report.hostile if graded.how]

        assert [] == [*report.complaints, *report.flaws, *unjudged]

    @pytest.mark.slow
    def test_the_answer_key_tells_it_from_naive_twins(self, answer_key: AnswerKey | None) -> None:
        """See the kit."""
        super().test_the_answer_key_tells_it_from_naive_twins(answer_key)

    @pytest.mark.slow
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        """See the kit."""
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


def judge(query: str, reference: str, schema: Any = SCHEMA, **task: Any) -> Verdict:
    asked = {"schema": schema, "reference": reference, **task}
    return SqlQuery().judge([Candidate("text", query, task=asked)])[0]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT plate, km FROM vans", "2 columns where 1 are wanted"),
        (ASKED.replace("plate", "km"), "column 1 holds numbers where texts are wanted"),
        ("SELECT plate FROM vans", "too many rows"),
        (f"{ASKED} AND km > 105", "too few rows"),
        ("SELECT plaet FROM vans", 'Referenced column "plaet" not found'),
        ("SELECT CAST(state AS INTEGER)::TEXT FROM vans", "can't be cast"),
    ],
)
def test_feedback_says_in_which_respect_a_query_is_wrong(query: str, told: str) -> None:
    verdict = judge(query, ASKED)

    assert Outcome.REJECT is verdict.outcome
    assert told in verdict.feedback
    assert "km > 100" not in f"{verdict.reason}{verdict.feedback}".replace(query, "")


def test_feedback_quotes_no_data() -> None:
    secret = [{"t": [["the secret", 1]]}]
    schema = "CREATE TABLE t (a TEXT, b INTEGER)"

    verdict = judge(
        "SELECT CAST(a AS INTEGER) FROM t", "SELECT b FROM t", schema, databases=secret
    )

    assert Outcome.REJECT is verdict.outcome
    assert "secret" not in f"{verdict.reason} {verdict.feedback} {verdict.evidence}"


@pytest.mark.parametrize("name", ["duckdb", "sqlite"])
def test_constraints_hold_of_every_database(name: Any) -> None:
    tables = read_schema(SCHEMA, name)
    hints = Hints.of([sqlglot.parse_one(ASKED, read=name)])
    every = profiles(tables, hints)
    made = [fill(tables, each, hints, _chance(n), _broken) for n, each in enumerate(every)]

    for rows in made:
        base = sqlite3.connect(":memory:")
        base.executescript(f"PRAGMA foreign_keys = ON; {SCHEMA}")
        with base:
            base.execute("PRAGMA defer_foreign_keys = ON")
            for table in tables:
                lines = rows[table.name]
                marks = ", ".join("?" * len(table.columns))
                base.executemany(f"INSERT INTO {table.name} VALUES ({marks})",  # noqa: S608
                                 [[_plain(v) for v in row] for row in lines])  # fmt: skip
    assert 200 < sum(len(of) for rows in made for of in rows.values())


def _chance(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - the same each time


def _broken(table: Any, rows: Any) -> set[int]:
    """Which rows break the checks of `SCHEMA`, written by hand."""
    places = {column.name: n for n, column in enumerate(table.columns)}
    km, state = places["km"], places["state"]
    return {
        n for n, row in enumerate(rows)
        if (row[km] is not None and row[km] < 10) or row[state] not in {None, "new", "old"}
    }  # fmt: skip


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def test_the_same_task_has_the_same_databases_and_another_seed_others() -> None:
    tables, hints = read_schema(SCHEMA, "duckdb"), Hints.of([sqlglot.parse_one(ASKED)])
    profile = profiles(tables, hints)[4]

    one, same, other = (fill(tables, profile, hints, _chance(seed), _broken) for seed in (1, 1, 2))

    assert one == same
    assert one != other


def test_values_stand_next_to_the_constants_of_a_query() -> None:
    tables, hints = read_schema(SCHEMA, "duckdb"), Hints.of([sqlglot.parse_one(ASKED)])
    rows = [
        row for n, each in enumerate(profiles(tables, hints))
        for row in fill(tables, each, hints, _chance(n), _broken)["vans"]
    ]  # fmt: skip

    assert {99, 100, 101} <= {row[2] for row in rows}
    assert {"2021-04-30", "2021-05-01", "2021-05-02"} <= {str(row[3]) for row in rows}
    assert [Decimal("0.5"), Decimal("0.375"), Decimal("0.625")] == near("decimal", Decimal("0.5"))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_text('/etc/hostname')", "SELECT * FROM '/etc/hostname'",
        "COPY t TO '/tmp/never.csv'", "SET memory_limit = '10GB'", "INSTALL httpfs",
        "ATTACH '/tmp/never.db' AS x", "SELECT * FROM rows_of_python",
    ],
)  # fmt: skip
def test_duckdb_reads_and_writes_nothing_else_even_unchecked(query: str) -> None:
    rows_of_python = [1, 2]
    engine = Duck({"t"}, {"a"}, "duckdb")
    engine.load({"t": ([("a", "BIGINT")], [(1,)])})

    with pytest.raises(QueryError):
        engine.run(query)
    assert [1, 2] == rows_of_python
    engine.close()


@pytest.mark.parametrize("name", ["duckdb", "sqlite"])
def test_a_query_that_takes_too_long_is_ended_and_the_next_one_is_not(
    name: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.tiers.fast.sqlengine._SECONDS", 0.2)
    engine = open_engine(name, {"t"}, {"a"})
    engine.load({"t": ([("a", "BIGINT")], [(1,)])})
    endless = (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT MAX(n) FROM r"
    )

    with pytest.raises(QueryError, match="too long"):
        engine.run(endless)

    assert [(1,)] == engine.run("SELECT a FROM t").rows
    engine.close()


def test_sqlite_has_no_clock() -> None:
    engine = Lite({"t"}, {"a"}, "sqlite")
    engine.load({"t": ([("a", "TEXT")], [("2024-02-29",)])})

    assert [("2024-03-01",)] == engine.run("SELECT date(a, '+1 day') FROM t").rows
    for query in ("date()", "date('now')", "strftime('%Y')", "datetime('NOW ')"):
        with pytest.raises(QueryError):
            engine.run(f"SELECT {query}")
    engine.close()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (1, 1.0, True), (Decimal("1.10"), Decimal("1.1"), True), (2**53, 2**53 + 1, False),
        (Decimal("0.1"), 0.1, True), (float("inf"), float("-inf"), False), (-0.0, 0, True),
        (1e12, 1e12 + 10, True), (1e-12, 0.0, True), ("a", "a ", False), (None, 0, False),
        (("truth", True), 1, False), (("NaN",), ("NaN",), True), (10**400, 1.0, False),
    ],
)  # fmt: skip
def test_values_are_the_same_by_a_stated_rule(one: Any, other: Any, is_same: bool) -> None:  # noqa: FBT001
    assert is_same is values_match(one, other, 1e-9)
    assert is_same is values_match(other, one, 1e-9)


def test_bags_of_rows_are_matched_row_by_row() -> None:
    some, others = [(1, "a"), (0.1 + 0.2, "b"), (1, "a")], [(0.3, "b"), (1, "a"), (2, "a")]

    assert ([(1, "a")], [(2, "a")]) == unmatched(some, others, 1e-9)


@pytest.mark.parametrize("settings", [{"find": ["page"]}, {"seed": "x"}])
def test_a_setting_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        SqlQuery(**settings)


def test_an_order_that_the_reference_lacks_can_t_be_demanded() -> None:
    verdict = judge(ASKED, ASKED, ordered=True)

    assert Outcome.ABSTAIN is verdict.outcome
    assert "ordered" in verdict.reason


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_a_long_sum_is_a_verdict_and_no_failure(dialect: str) -> None:
    schema = "CREATE TABLE t (a INTEGER)"

    verdict = judge(
        "SELECT " + "1 + " * 900 + "a FROM t", "SELECT a FROM t", schema, dialect=dialect
    )

    assert Outcome.REJECT is verdict.outcome
    assert not verdict.failed_at


def test_sqlite_reads_a_name_of_no_column_as_a_text() -> None:
    schema, asked = "CREATE TABLE t (a INTEGER, c TEXT)", "SELECT a FROM t WHERE c = 'Paris'"

    said = [
        judge(asked.replace("'Paris'", text), asked, schema, dialect="sqlite").outcome
        for text in ('"Paris"', '"paris"')
    ]

    assert [Outcome.ACCEPT, Outcome.REJECT] == said


SHOPS = (
    "CREATE TABLE shops (code TEXT PRIMARY KEY, town TEXT);"
    "CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, "
    "shop TEXT REFERENCES shops(code), pay INTEGER);"
    "CREATE TABLE sales (id INTEGER PRIMARY KEY, sold TEXT NOT NULL, seen TIMESTAMP, "
    "qty INTEGER NOT NULL CHECK (qty >= 0))"
)
MARCH = "SELECT id FROM sales WHERE {0} >= '2024-03-01' AND {0} < '2024-04-01'"
DAYS = "SELECT id FROM sales WHERE {0} BETWEEN '2024-03-01' AND '2024-03-31'"
AGES = (
    "SELECT CASE WHEN date_diff('year', born, DATE '2024-06-01') >= 18 THEN 'adult' "
    "ELSE 'child' END FROM staff"
)
IF_OLD = "SELECT if(2024 - year(born) >= 18, 'adult', 'child') FROM staff"


@pytest.mark.parametrize(
    ("dialect", "reference", "right", "wrong"),
    [
        ("sqlite", "SELECT count(*) FROM sales WHERE strftime('%m', sold) = '03'",
         "SELECT count(*) FROM sales WHERE strftime('%m', sold) + 0 = 3", "SELECT 0"),
        ("sqlite", "SELECT sum(qty) FROM sales WHERE strftime('%Y', sold) = '2023'",
         "SELECT sum(qty) FROM sales WHERE strftime('%Y', sold) + 0 = 2023", "SELECT NULL"),
        ("duckdb", "SELECT count(*) FROM staff WHERE born + INTERVAL 18 YEAR <= DATE '2024-06-01'",
         "SELECT count(*) FROM staff WHERE NOT born + INTERVAL 18 YEAR > DATE '2024-06-01'",
         "SELECT 0"),
        ("duckdb", AGES, IF_OLD, "SELECT 'child' FROM staff"),
        ("duckdb", "SELECT name FROM staff WHERE length(name) <= 12",
         "SELECT name FROM staff WHERE length(name) < 13", "SELECT name FROM staff"),
        ("duckdb", MARCH.format("seen"), DAYS.format("seen::DATE"), DAYS.format("seen")),
        ("sqlite", MARCH.format("sold"), DAYS.format("substr(sold, 1, 10)"), DAYS.format("sold")),
        ("sqlite", "SELECT name FROM staff WHERE shop = 'B2' AND pay > 10",
         "SELECT name FROM staff WHERE pay >= 11 AND shop = 'B2'",
         "SELECT name FROM staff WHERE shop = 'B2' AND pay >= 10"),
        ("duckdb", "SELECT id FROM sales", "SELECT id FROM sales LIMIT ALL",
         "SELECT id FROM sales LIMIT 100"),
        ("duckdb", "SELECT town FROM shops", "SELECT '' || town FROM shops",
         "SELECT trim(town) FROM shops"),
    ],
)  # fmt: skip
def test_a_query_is_told_from_one_that_differs_where_few_rows_do(
    dialect: str, reference: str, right: str, wrong: str
) -> None:
    said = [judge(each, reference, SHOPS, dialect=dialect).outcome for each in (right, wrong)]

    assert [Outcome.ACCEPT, Outcome.REJECT] == said


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("SELECT count(*) FROM staff WHERE length(name) = 5000", "its WHERE never holds"),
        ("SELECT name, length(name) < 5000 FROM staff", "its values always holds"),
        ("SELECT count(*) FROM hidden_things", "a table that there is none of"),
        ("SELECT current_setting('threads') FROM staff", "a function that is not allowed"),
    ],
)
def test_a_task_that_can_t_be_judged_is_told_without_the_reference(
    reference: str, told: str
) -> None:
    verdict = judge("SELECT 0", reference, SHOPS)

    assert Outcome.ABSTAIN is verdict.outcome
    assert told in verdict.reason
    assert "5000" not in verdict.reason
    assert "hidden" not in verdict.reason
    assert "current_setting" not in verdict.reason


@pytest.mark.parametrize(
    "condition",
    ["name IS NOT NULL AND pay > 3", "pay > 3 OR pay > 5", "pay > 3 AND pay > 1"],
)
def test_a_condition_may_be_more_than_is_needed(condition: str) -> None:
    plain = "SELECT id FROM staff WHERE pay > 3"

    assert Outcome.ACCEPT is judge(plain, plain.replace("pay > 3", condition), SHOPS).outcome


@pytest.mark.parametrize(
    "rows",
    [
        {"staff": [[1, "a", None, None, 1], [1, "b", None, None, 1]]},
        {"staff": [[1, "a", None, "none", 1]]},
        {"staff": [[1, None, None, None, 1]]},
        {"sales": [[1, "2024-01-01", None, -1]]},
    ],
)
def test_databases_that_break_the_schema_are_the_task_s_fault(rows: dict[str, Any]) -> None:
    verdict = judge("SELECT id FROM staff", "SELECT id FROM staff", SHOPS, databases=[rows])

    assert Outcome.ABSTAIN is verdict.outcome
    assert "constraint" in verdict.reason
