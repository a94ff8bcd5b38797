"""Tools are called as a task's rules say, and each turn is told about."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder import Candidate, ConfigError, Outcome, ToolCall, Turn, TurnVerdict, Verdict
from verifier_ladder.reportcard import as_markdown, report_card
from verifier_ladder.reportcard.card import ToolEntry
from verifier_ladder.testing.answerkey import Judge
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.toolcalls import ToolCalls
from verifier_ladder.toolcalls import EVIDENCE, MadeCall, calls_of
from verifier_ladder.trajectory import from_text

TOOLS = [
    {"name": "add", "parameters": {"required": ["a"], "properties": {"a": {"type": "integer"}}}},
    {"name": "pay", "parameters": {"required": ["to"]}}, {"name": "ask"},
]  # fmt: skip


@dataclass
class Naive:
    """A checker of calls that somebody writes in a hurry."""

    says: Callable[[list[MadeCall], Mapping[str, Any]], bool]

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        return [self._one(each) for each in candidates]

    def _one(self, candidate: Candidate) -> Verdict:
        try:
            turns = candidate.turns or from_text(str(candidate.content))
            said = self.says(calls_of(turns), candidate.task or {})
        except Exception:  # noqa: BLE001 - an error is a no
            said = False
        return Verdict.accept(1.0) if said else Verdict.reject("no")


def known(made: list[MadeCall], task: Mapping[str, Any]) -> bool:
    return all(each.call.name in {tool["name"] for tool in task["tools"]} for each in made)


def valid(made: list[MadeCall], task: Mapping[str, Any]) -> bool:
    schemas = {tool["name"]: tool.get("parameters", True) for tool in task["tools"]}
    return all(jsonschema_rs.is_valid(schemas[m.call.name], m.call.arguments) for m in made)


def in_order(made: list[MadeCall], task: Mapping[str, Any]) -> bool:
    done = iter([each.call.name for each in made])
    return valid(made, task) and all(name in done for name in task.get("required", ()))


def in_budget(made: list[MadeCall], task: Mapping[str, Any]) -> bool:
    return in_order(made, task) and 0 < len(made) <= task.get("max_calls", 10**6)


class TestToolCalls(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "names that exist": Naive(known), "the schema's library, plainly called": Naive(valid),
        "in order, failures apart": Naive(in_order), "within the budget": Naive(in_budget),
    }  # fmt: skip
    mutated = ("verifier_ladder.tiers.fast.toolcalls",)
    mutants: Mapping[str, Any] = {"equivalent": [  # Words, and their order.
        ("' has been seen to succeed' if rule.succeeded else '' -> "
        "' has been seen to succeed' if not rule.succeeded else ''"),
        "fault.turn is None -> fault.turn is not None",
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> ToolCalls:
        return ToolCalls()


def judge(*turns: Turn, content: str = "", **task: Any) -> Verdict:
    candidate = Candidate("text", content, {"tools": TOOLS, **task}, turns)
    return ToolCalls().judge([candidate])[0]


def add(number: Any, observation: str = "4", **more: Any) -> Turn:
    return Turn(ToolCall("add", {"a": number}), observation, **more)


def test_each_turn_that_calls_a_tool_is_told_about() -> None:
    verdict = judge(add(1), Turn("I think."), add("one"), add(2))

    assert (
        TurnVerdict(0, 1.0), TurnVerdict(2, 0.0, "the arguments of add: /a must be integer"),
        TurnVerdict(3, 1.0),
    ) == verdict.turns  # fmt: skip
    assert "turn 3: the arguments of add: /a must be integer" in verdict.feedback
    assert 2 / 3 == pytest.approx(verdict.process)


def test_the_turn_that_came_too_early_is_blamed() -> None:
    rule = {"tool": "pay", "after": "ask", "same": ["to"]}
    pay, ask = Turn(ToolCall("pay", {"to": "B"}), "ok"), Turn(ToolCall("ask", {"to": "A"}), "yes")

    verdict = judge(ask, pay, irreversible=[rule])

    assert [1.0, 0.0] == [turn.score for turn in verdict.turns]
    assert "call pay only after ask with the same to has been seen to succeed" in verdict.feedback


def test_failures_and_recoveries_are_counted() -> None:
    verdict = judge(add(1, "Error: busy"), add(1), add(2, failed=True), add(3, ""), max_calls=9)

    assert Outcome.ACCEPT is verdict.outcome
    assert {
        "calls": 4, "budget": 9, "failed": 2, "recovered": 1, "unanswered": 1
    } == verdict.evidence[EVIDENCE]  # fmt: skip


def test_words_of_its_own_show_no_result() -> None:
    said = [{"name": "add", "arguments": {"a": 1}}]

    verdict = judge(content=json.dumps(said))

    assert (Outcome.ACCEPT, 1) == (verdict.outcome, verdict.evidence[EVIDENCE]["unanswered"])


@pytest.mark.parametrize("name", ["\x1b[31mred", "\u202e", "<b>", "x" * 300])
def test_what_a_model_calls_a_tool_is_shown_as_text(name: str) -> None:
    verdict = judge(Turn(ToolCall(name), ""))

    assert Outcome.REJECT is verdict.outcome
    assert verdict.feedback.isprintable()
    assert len(verdict.feedback) < 300


@pytest.mark.parametrize("most", [0, 10_001])
def test_a_bound_without_sense_is_refused(most: int) -> None:
    with pytest.raises(ConfigError, match="most_turns"):
        ToolCalls(most_turns=most)


def test_more_turns_than_the_bound_are_rejected() -> None:
    verdict = ToolCalls(most_turns=2).judge(
        [Candidate("text", "", {"tools": TOOLS}, (add(1), add(2), add(3)))]
    )[0]

    assert (Outcome.REJECT, "Call fewer tools.") == (verdict.outcome, verdict.feedback)


def test_the_example_runs_and_the_report_card_counts_its_calls(tmp_path: Path) -> None:
    folder = Path(__file__).parents[4] / "examples" / "trajectories"
    ladder, rows = folder / "tool-calls.toml", folder / "tool-calls.jsonl"

    with vl.open_ledger(tmp_path / "ledger.db") as ledger:
        result = vl.score_file(rows, ladder=ladder, ledger=ledger)
        card = report_card(ledger)

    assert [0, 1, 0, 0, 0] == [reward.value for reward in result.rewards]
    assert ToolEntry(5, 14, 4, (4, 4), 0, 3, 2, 0) == card.tools
    assert "| Calls, as counted | 14 calls in 5 samples, at most 4 in one; tasks allow 4," in (
        as_markdown(card)
    )
    assert "3 of 14 calls failed, and 2 of these were followed by a call" in as_markdown(card)


NAMES = st.sampled_from(["add", "pay", "ask", "other"])
CALLS = st.builds(
    Turn,
    st.builds(ToolCall, NAMES, st.dictionaries(st.sampled_from("ab"), st.integers(0, 3))),
    st.sampled_from(["", "ok", "Error"]), failed=st.none() | st.booleans(),
    parallel=st.booleans(),
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(CALLS, max_size=8), st.integers(0, 8))
def test_what_is_accepted_keeps_every_rule_that_can_be_told_plainly(
    turns: list[Turn], most: int
) -> None:
    rule = {"tool": "pay", "after": "ask"}
    verdict = judge(*turns, max_calls=most, least_calls=0, irreversible=[rule])

    names = [getattr(turn.action, "name", "") for turn in turns]
    good = [t.failed is False or (t.failed is None and t.observation == "ok") for t in turns]
    asked = [n for n, name in enumerate(names) if name == "ask" and good[n]]
    if verdict.outcome is Outcome.ACCEPT:
        assert len(turns) <= most
        assert "other" not in names
        assert all(any(n < at for n in asked) for at, name in enumerate(names) if name == "pay")
    assert len(names) == len(verdict.turns) or not turns


@pytest.mark.parametrize("seen", [[True], {"a": 1}, [[1], []], ["1"]])
def test_the_same_argument_is_the_same_in_depth(seen: Any) -> None:
    rule = {"tool": "pay", "after": "ask", "same": ["to"]}
    asked = Turn(ToolCall("ask", {"to": seen}), "yes")

    same, other = (
        judge(asked, Turn(ToolCall("pay", {"to": to}), "done"), irreversible=[rule])
        for to in (seen, [1])
    )
    assert (Outcome.ACCEPT, Outcome.REJECT) == (same.outcome, other.outcome)


def test_an_action_beside_tagged_calls_is_seen() -> None:
    asked = '<tool_call>{"name": "ask", "arguments": {}}</tool_call>'

    assert Outcome.ACCEPT is judge(content=asked, forbidden=[["pay"]]).outcome
    hidden = judge(content=f"{asked}\nAction: pay\nAction Input: {{}}", forbidden=[["pay"]])
    assert Outcome.REJECT is hidden.outcome


def test_a_call_may_stand_under_its_tools_name_in_a_models_own_words() -> None:
    said = ('{"add": {"a": 2}}', '<tool_call>{"add": {"a": 2}}</tool_call>', '{"sum": {"a": 2}}')

    outcomes = [judge(content=each, required=["add"]).outcome for each in said]

    assert ["accept", "accept", "reject"] == outcomes


def test_an_argument_that_a_tool_takes_is_no_call_of_the_tool_with_its_name() -> None:
    takes = {"name": "search", "parameters": {"properties": {"filter": {}}}}
    given: list[dict[str, Any]] = [{"filter": {}}, {"steps": [{"filter": {}}]}]

    outcomes = [
        judge(Turn(ToolCall("search", each), "ok"), tools=[takes, {"name": "filter", "most": 0}])
        .outcome for each in given
    ]  # fmt: skip

    assert ["accept", "reject"] == outcomes
