"""A desk does what its tools say, and nothing that a hostile statement says."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder import ConfigError, Environment, StepResult, ToolCall
from verifier_ladder.candidate import Action
from verifier_ladder.testing.environment import EnvironmentTestCase
from verifier_ladder.tiers import desk as module
from verifier_ladder.tiers.desk import SqliteDesk

SETUP = """
CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, cents INTEGER CHECK (cents >= 0));
INSERT INTO accounts VALUES (1, 'Ada', 1000), (2, 'Bob', 50);
CREATE TABLE drawn AS SELECT random() AS n;
"""  # noqa: E501
MOVE = {
    "name": "move", "parameters": ["source", "target", "cents"], "least_changes": 2,
    "sql": ["UPDATE accounts SET cents = cents - :cents WHERE id = :source",
            "UPDATE accounts SET cents = cents + :cents WHERE id = :target"],
}  # fmt: skip
LOOK = {"name": "look", "sql": "SELECT * FROM accounts WHERE id = :id", "parameters": ["id"]}
FIRST = [(1, "Ada", 1000), (2, "Bob", 50)]


def move(source: Any, target: Any, cents: Any) -> ToolCall:
    return ToolCall("move", {"source": source, "target": target, "cents": cents})


def sql(query: str) -> ToolCall:
    return ToolCall("sql", {"query": query})


class TestSqliteDesk(EnvironmentTestCase):
    @pytest.fixture
    def make(self) -> Callable[[], Environment]:
        return lambda: SqliteDesk(SETUP, tools=[MOVE, LOOK])

    @pytest.fixture
    def actions(self) -> Sequence[Action]:
        return [
            move(1, 2, 300), ToolCall("look", {"id": 2}), sql("SELECT n, random() FROM drawn"),
            "```sql\nUPDATE accounts SET cents = abs(random() % 1000)\n```",
            sql("SELECT * FROM accounts"),
        ]  # fmt: skip


@pytest.fixture
def desk() -> Any:
    with SqliteDesk(SETUP, tools=[MOVE, LOOK]) as made:
        made.reset()
        yield made


def test_a_tool_does_all_of_its_statements(desk: SqliteDesk) -> None:
    assert StepResult('{"changed": 2}', failed=False) == desk.step(move(1, 2, 300))
    assert [(1, "Ada", 700), (2, "Bob", 350)] == desk.tables()["accounts"]


@pytest.mark.parametrize(
    "call",
    [move(2, 1, 51), move(1, 99, 10), move("1 OR 1", 2, 10), move(1, 2, [5]), move(1, 2, 10**30),
     ToolCall("move", {"source": 1}), ToolCall("move", "1, 2, 3"), ToolCall("steal"),
     move(1, 2, "\ud800")],
    ids=str,
)  # fmt: skip
def test_a_tool_that_fails_does_none_of_them(desk: SqliteDesk, call: ToolCall) -> None:
    step = desk.step(call)

    assert step.failed
    assert step.observation.startswith('{"error": ')
    assert FIRST == desk.tables()["accounts"]


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE accounts", "CREATE TABLE mine (a)", "CREATE TEMP TABLE mine (a)",
        "ALTER TABLE accounts ADD COLUMN mine", "PRAGMA writable_schema = 1",
        "ATTACH '{file}' AS mine", "VACUUM INTO '{file}'", "DELETE FROM sqlite_master",
        "SELECT load_extension('{file}')", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT mine",
        "RELEASE desk", "ROLLBACK TO desk", "SELECT date('now')", "SELECT current_timestamp",
        "SELECT last_insert_rowid()", "SELECT sqlite_version()", "SELECT zeroblob(900000000)",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "INSERT INTO accounts SELECT x + 9, zeroblob(100000), 1 FROM c"),
        "UPDATE accounts SET cents = 1; DELETE FROM accounts",
        "INSERT OR ROLLBACK INTO accounts VALUES (1, 'Eve', 1)",
        "UPDATE accounts SET owner = printf('%.*c', 900000000, 'x')", "SELECT * FROM " + "(" * 500,
        "SELECT " + "1+" * 5000 + "1", "SELECT edit('x')", "SELECT readfile('/etc/passwd')",
    ],
)  # fmt: skip
def test_a_hostile_statement_fails_and_leaves_no_trace(
    desk: SqliteDesk, statement: str, tmp_path: Path
) -> None:
    step = desk.step(sql(statement.replace("{file}", f"{tmp_path}/mine")))

    assert step.failed, step
    assert FIRST == desk.tables()["accounts"]
    assert ["accounts", "drawn"] == list(desk.tables())
    assert [] == list(tmp_path.iterdir())
    assert not desk.step(move(1, 2, 1)).failed


def test_without_sql_only_tools_are_there() -> None:
    with SqliteDesk(SETUP, tools=[LOOK], sql=False) as desk:
        desk.reset()

        assert desk.step(sql("SELECT 1")).failed
        assert desk.step("```sql\nSELECT 1\n```").failed
        assert desk.step(ToolCall("look", {"id": 1})).failed is False


def test_text_that_asks_for_nothing_does_nothing(desk: SqliteDesk) -> None:
    assert StepResult() == desk.step("I will look at the accounts.")


def test_calls_in_a_text_are_taken_in_order(desk: SqliteDesk) -> None:
    told = '<tool_call>{"name": "look", "arguments": {"id": %d}}</tool_call>'

    step = desk.step(told % 1 + told % 2)

    assert [0, 1] == [line.startswith('[{"id": 2') for line in step.observation.splitlines()]


@pytest.mark.parametrize(
    ("setup", "tools"),
    [("CREATE", ()), ("ATTACH 'x' AS y", ()), ("BEGIN", ()), ("SELECT date('now')", ()),
     (SETUP, [LOOK, LOOK]), (SETUP, [{"name": "look"}]), (SETUP, [{**LOOK, "more": 1}])],
)  # fmt: skip
def test_a_desk_without_sense_is_refused(setup: str, tools: Any) -> None:
    with pytest.raises(ConfigError, match="desk"), SqliteDesk(setup, tools=tools) as desk:
        desk.reset()


def test_an_empty_desk_can_be_saved_and_restored() -> None:
    with SqliteDesk("") as desk:
        desk.reset()
        desk.restore(desk.snapshot())

        assert {} == desk.tables()


def test_who_judges_reads_and_does_not_write(desk: SqliteDesk) -> None:
    assert [(1050,)] == desk.rows("SELECT sum(cents) FROM accounts")
    for statement in ("DELETE FROM accounts", "SELECT", "SELECT 1; SELECT 2"):
        with pytest.raises(ConfigError):
            desk.rows(statement)


def test_all_actions_of_an_episode_share_a_bound_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EPISODE", 300)
    count = (
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 10000) "
        "SELECT count(*) FROM c"
    )
    with SqliteDesk(SETUP) as desk:
        desk.reset()
        before = desk.snapshot()
        failed = [desk.step(sql(count)).failed for _ in range(9)]
        assert (False, True) == (failed[0], failed[-1])
        assert "too much work" in desk.step(sql("SELECT 1")).observation
        assert FIRST == desk.tables()["accounts"], "who judges reads all the same"

        desk.restore(before)
        assert failed == [desk.step(sql(count)).failed for _ in range(9)]
        desk.reset()
        assert not desk.step(sql("SELECT 1")).failed
