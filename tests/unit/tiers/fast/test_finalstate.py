"""The state that actions leave is the one asked for, and was brought about."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder import Candidate, ConfigError, Outcome, Terminate, ToolCall, Turn, Verdict
from verifier_ladder.errors import CandidateError
from verifier_ladder.testing.answerkey import Judge
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.finalstate import FinalState
from verifier_ladder.tiers.pages import Page

SETUP = "CREATE TABLE t (id INTEGER PRIMARY KEY, n); INSERT INTO t VALUES (1, 0), (2, 0)"
PUT = {"name": "put", "sql": "UPDATE t SET n = :n WHERE id = :id", "parameters": ["id", "n"]}
WANTED = [{"name": "put", "arguments": {"id": 1, "n": 5}}]


@dataclass
class Naive:
    """A checker of final states that somebody writes in a hurry."""

    says: Callable[[Candidate, Mapping[str, Any]], bool]

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        return [self._one(each) for each in candidates]

    def _one(self, candidate: Candidate) -> Verdict:
        try:
            said = self.says(candidate, candidate.task or {})
        except Exception:  # noqa: BLE001 - an error is a no
            said = False
        return Verdict.accept(1.0) if said else Verdict.reject("no")


def claims(candidate: Candidate, _task: Mapping[str, Any]) -> bool:
    return all("error" not in turn.observation and not turn.failed for turn in candidate.turns)


def same_calls(candidate: Candidate, task: Mapping[str, Any]) -> bool:
    made = [(t.action.name, t.action.arguments) for t in candidate.turns
            if isinstance(t.action, ToolCall)]  # fmt: skip
    return made == [(each["name"], each["arguments"]) for each in task["solution"]]


def checks_alone(candidate: Candidate, task: Mapping[str, Any]) -> bool:
    """Checks that hold; whether anything was done, and what else, nobody asks."""
    if "setup" not in task:
        text = str(candidate.content) + json.dumps([t.as_json() for t in candidate.turns])
        return all(str(check.get("text", "")) in text for check in task["checks"])
    database = sqlite3.connect(":memory:")
    database.executescript(task["setup"])
    tools = {tool["name"]: tool["sql"] for tool in task["tools"]}
    for turn in candidate.turns:
        if isinstance(turn.action, ToolCall):
            of = tools[turn.action.name]
            for statement in [of] if isinstance(of, str) else of:
                database.execute(statement, turn.action.arguments)
    held = [database.execute(c["sql"]).fetchall() for c in task.get("checks", ())]
    return held == [list(map(tuple, c["rows"])) for c in task.get("checks", ())]


class TestFinalState(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "what turns claim": Naive(claims), "the same calls": Naive(same_calls),
        "checks alone": Naive(checks_alone),
    }  # fmt: skip
    mutated = ("verifier_ladder.tiers.fast.finalstate",)
    mutants: Mapping[str, Any] = {"equivalent": [  # A database has checks of rows alone.
        ("isinstance(check, _Rows) and isinstance(environment, SqliteDesk) -> "
        "isinstance(check, _Rows) or isinstance(environment, SqliteDesk)"),
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> FinalState:
        return FinalState()


def put(number: Any, id_: int = 1) -> Turn:
    return Turn(ToolCall("put", {"id": id_, "n": number}), "claimed")


def judge(*turns: Turn, content: str = "", **task: Any) -> Verdict:
    base = {"setup": SETUP, "tools": [PUT]}
    return FinalState().judge([Candidate("text", content, {**base, **task}, turns)])[0]


def test_feedback_names_the_part_and_no_hidden_value() -> None:
    verdict = judge(put(41), solution=[{"name": "put", "arguments": {"id": 1, "n": 73519}}])

    assert "Mend this: t is not as it should be." == verdict.feedback
    assert "73519" not in f"{verdict}"


def test_an_action_that_fails_is_told_by_its_turn() -> None:
    verdict = judge(put(5), Turn(ToolCall("puts", {})), solution=WANTED)

    assert Outcome.ACCEPT is verdict.outcome
    assert [(1, None)] == [(turn.turn, turn.score) for turn in verdict.turns]
    assert "no tool 'puts'" in verdict.turns[0].feedback


def test_what_a_solution_leaves_open_may_differ() -> None:
    setup = f"CREATE TABLE log (text); {SETUP}"
    note = {"name": "note", "sql": "INSERT INTO log VALUES (:text)", "parameters": ["text"]}
    turns = put(5), Turn(ToolCall("note", {"text": "done"}))
    task: dict[str, Any] = {"setup": setup, "tools": [PUT, note], "solution": WANTED}

    assert Outcome.REJECT is judge(*turns, **task).outcome
    assert Outcome.ACCEPT is judge(*turns, **task, may_change=["log"]).outcome
    assert Outcome.ABSTAIN is judge(*turns, **task, may_change=["*"]).outcome


def test_chance_in_a_database_follows_the_tasks_seed() -> None:
    draw = {"name": "draw", "sql": "UPDATE t SET n = random() WHERE id = 1"}
    task: dict[str, Any] = {"tools": [draw], "solution": [{"name": "draw"}]}
    turns = (Turn(ToolCall("draw")),)

    assert Outcome.ACCEPT is judge(*turns, **task, seed=1).outcome
    assert Outcome.ACCEPT is judge(*turns, **task, seed=2).outcome


def test_the_first_declared_end_answers() -> None:
    turns = Turn(Terminate("yes")), Turn(Terminate("no"))

    assert Outcome.ACCEPT is judge(*turns, expects_no_change=True, answer="Yes.").outcome


@pytest.mark.parametrize("most", [0, 10_001])
def test_a_bound_without_sense_is_refused(most: int) -> None:
    with pytest.raises(ConfigError, match="most_turns"):
        FinalState(most_turns=most)


def test_the_examples_run(tmp_path: Path) -> None:
    folder = Path(__file__).parents[4] / "examples" / "trajectories"

    result = vl.score_file(
        folder / "final-state.jsonl", ladder=folder / "final-state.toml",
        ledger=tmp_path / "ledger.db",
    )  # fmt: skip

    assert [1, 0, 0, 0, 1] == [reward.value for reward in result.rewards]


# -- pages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["<div>" * 201, "<br>" * 5_001, "x" * 200_001, "<b><i>" * 10_000, "<p>x" * 5_001],
    ids=lambda text: text[:5],
)
def test_a_page_beyond_bounds_is_refused(text: str) -> None:
    with pytest.raises(CandidateError, match="beyond bounds"):
        Page(text)


def test_a_page_is_read_as_browsers_do() -> None:
    page = Page("<p id=a>one<p id=b hidden=''>two <script>three</script><table><b>four</table>")

    assert (["one"], [""]) == (page.texts("#a"), page.values("p[id=b]", "hidden"))
    assert "three" not in page.texts("body")[0]
    assert page.without(["#a"]) == page.without(["p:first-child"]) != page.without(())


def test_a_tag_has_as_many_attributes_as_a_browser_would_see() -> None:
    names = [f"a{number}" for number in range(301)]
    for tag in (" ".join(names), "/".join(names), " ".join(f"{n} = '>'" for n in names),
                "".join(f'{n}=">"' for n in names)):  # fmt: skip
        with pytest.raises(CandidateError, match="300 attributes"):
            Page(f"<p {tag}>")
    assert [""] == Page(f"<p {' '.join(names[1:])}>").texts("p")
    assert ["x" * 9] * 999 == Page("<p a=1 b='2' c>xxxxxxxxx</p>\n" * 999).texts("p")


def test_a_file_that_names_a_value_twice_holds_neither() -> None:
    task = {
        "files": {"a": ""}, "may_change": ["a"], "checks": [{"file": "a", "json": {"p": 1}}],
    }  # fmt: skip
    once, twice = (
        FinalState().judge([
            Candidate(
                "text", "", task, (Turn(ToolCall("write_file", {"path": "a", "content": said})),)
            )
        ])[0].outcome
        for said in ('{"p": 1}', '{"p": 2, "p": 1}')
    )  # fmt: skip
    assert (Outcome.ACCEPT, Outcome.REJECT) == (once, twice)
