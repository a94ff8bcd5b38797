r"""Make the answer keys of `tool-calls` and `final-state`.

Run: `python tools/trajectory_keys.py [NAME…]`.
"""
# ruff: noqa: E501  # Tables of cases are read by row.

from __future__ import annotations

import json
import random
import sys
from typing import Any

from keywriter import NO, YES, Key, Row, write

from verifier_ladder.candidate import Terminate, ToolCall, Turn

Turns = list[list[Any]]


# ---- tool-calls

_ORDER = {"type": "string", "pattern": "^A[0-9]+$"}
_TOOLS: list[Row] = [
    {"name": "search", "parameters": {
        "type": "object", "required": ["query"], "additionalProperties": False,
        "properties": {"query": {"type": "string", "minLength": 1},
                       "limit": {"type": "integer", "minimum": 1, "maximum": 10}}}},
    {"name": "get_order", "parameters": {
        "type": "object", "required": ["order"], "properties": {"order": _ORDER}}},
    {"name": "confirm", "parameters": {
        "type": "object", "required": ["order"],
        "properties": {"order": _ORDER, "yes": {"type": "boolean"}}}},
    {"name": "refund", "parameters": {
        "type": "object", "required": ["order", "amount"], "additionalProperties": False,
        "properties": {"order": _ORDER, "reason": {"enum": ["broken", "late"]},
                       "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 500}}}},
    {"name": "email", "parameters": {
        "type": "object", "required": ["to"], "properties": {"to": {"type": "string", "format": "email"}}}},
    {"name": "wait"},
]  # fmt: skip
_SAFE = {"irreversible": [{"tool": "refund", "after": "confirm", "same": ["order"]}]}


def task(**more: Any) -> Row:
    """What the trajectories are checked against."""
    return {"tools": _TOOLS, **more}


def call(name: str, arguments: Any = None, seen: str = "done", **more: Any) -> list[Any]:
    """A turn in which a tool is called."""
    return Turn(ToolCall(name, {} if arguments is None else arguments), seen, **more).as_json()


def search(query: str = "lamp", **more: Any) -> list[Any]:
    """A turn with a sound call of this tool."""
    return call("search", {"query": query}, **more)


def order(number: str = "A7", **more: Any) -> list[Any]:
    """A turn with a sound call of this tool."""
    return call("get_order", {"order": number}, **more)


def confirm(number: str = "A7", **more: Any) -> list[Any]:
    """A turn with a sound call of this tool."""
    return call("confirm", {"order": number}, **more)


def refund(number: str = "A7", **more: Any) -> list[Any]:
    """A turn with a sound call of this tool."""
    return call("refund", {"order": number, "amount": 20}, **more)


_OPENAI = [{"type": "function", "function": each} for each in _TOOLS]
_MCP = [
    {"name": each["name"], "inputSchema": each.get("parameters", {"type": "object"})}
    for each in _TOOLS
]

_PAIRS: list[tuple[Turns, Turns, Row, str, str]] = [
    ([search()], [call("Search", {"query": "lamp"})], task(), "names of tools are exact", "convention"),
    ([search()], [call("searches", {"query": "lamp"})], task(), "a tool that exists", "known hack"),
    ([search()], [call("search", {"quary": "lamp"})], task(), "required argument", "JSON Schema test suite"),
    ([search()], [call("search", {"query": "lamp", "sort": "up"})], task(), "no other arguments", "JSON Schema test suite"),
    ([call("search", {"query": "x", "limit": 3})], [call("search", {"query": "x", "limit": "3"})], task(), "a number is no text", "JSON Schema test suite"),
    ([call("search", {"query": "x", "limit": 10})], [call("search", {"query": "x", "limit": 11})], task(), "maximum", "JSON Schema test suite"),
    ([call("search", {"query": "x", "limit": 1})], [call("search", {"query": "x", "limit": True})], task(), "a truth value is no number", "JSON Schema test suite"),
    ([search("y")], [search("")], task(), "shortest text", "JSON Schema test suite"),
    ([order("A1")], [order("B1")], task(), "pattern", "JSON Schema test suite"),
    ([call("email", {"to": "a@b.org"})], [call("email", {"to": "a at b.org"})], task(), "format", "JSON Schema test suite"),
    ([call("refund", {"order": "A1", "amount": 0.5})], [call("refund", {"order": "A1", "amount": 0})], task(), "more than nothing", "JSON Schema test suite"),
    ([call("refund", {"order": "A1", "amount": 500})], [call("refund", {"order": "A1", "amount": 500.01})], task(), "at most 500", "JSON Schema test suite"),
    ([call("refund", {"order": "A1", "amount": 1, "reason": "late"})], [call("refund", {"order": "A1", "amount": 1, "reason": "Late"})], task(), "one of the allowed values", "JSON Schema test suite"),
    ([call("search", '{"query": "lamp"}')], [call("search", '{"query": "lamp"')], task(), "arguments as JSON text", "convention"),
    ([call("search", '{"query": "lamp"}')], [call("search", '{"query": "a", "query": "lamp"}')], task(), "a name that occurs twice", "known hack"),
    ([call("search", '{"query": "lamp"}')], [call("search", '["lamp"]')], task(), "arguments have names", "convention"),
    ([call("search", '{"query": "lamp"}')], [call("search", "lamp")], task(), "plain text is no object", "convention"),
    ([call("refund", '{"order": "A1", "amount": 1.5}')], [call("refund", '{"order": "A1", "amount": NaN}')], task(), "NaN is no number of JSON", "known hack"),
    ([call("refund", '{"order": "A1", "amount": 1e2}')], [call("refund", '{"order": "A1", "amount": 1e999}')], task(), "a number beyond doubles", "known hack"),
    ([call("wait")], [call("wait", "soon")], task(), "a tool without a schema takes any object", "convention"),
    ([call("wait", {"hours": 2})], [call("wait", "[2]")], task(), "and no list", "convention"),
    ([search(), search("a")], [search(), search("a"), search("b")], task(max_calls=2), "budget of calls", "convention"),
    ([search(seen="Error: busy"), search()], [search(seen="Error: busy"), search(seen="Error: busy"), search()], task(max_calls=2), "failed calls count too", "convention"),
    ([confirm(), refund(), refund("A8")], [confirm(), refund(), refund("A8"), refund("A9")], task(tools=[{**t, **({"most": 2} if t["name"] == "refund" else {})} for t in _TOOLS]), "budget of one tool", "convention"),
    ([search(), order()], [order(), search()], task(required=["search", "get_order"]), "demanded order", "convention"),
    ([search(), call("wait"), order()], [search(), call("wait")], task(required=["search", "get_order"]), "a demanded call is missing", "convention"),
    ([search(), search("a")], [search()], task(required=["search", "search"]), "demanded twice", "convention"),
    ([order(seen="Error: busy"), order()], [order(seen="Error: busy"), order(seen="error")], task(required=["get_order"]), "a call that failed is not the demanded one", "known hack"),
    ([order()], [order(failed=True)], task(required=["get_order"]), "the tool says that it failed", "known hack"),
    ([order(seen="Error: none", failed=False)], [order(seen="fine", failed=True)], task(required=["get_order"]), "what the tool says counts before its words", "convention"),
    ([order(seen='{"error": null, "total": 3}')], [order(seen='{"error": "no such order"}')], task(required=["get_order"]), "an error in JSON", "convention"),
    ([order(), refund()], [refund(), order()], task(forbidden=[["refund", "get_order"]]), "forbidden order", "convention"),
    ([refund(), search()], [refund(), search(), order()], task(forbidden=[["refund", "get_order"]]), "forbidden order, with another call between", "convention"),
    ([search()], [search(), call("email", {"to": "a@b.org"})], task(forbidden=[["email"]]), "a tool that must not be called here", "convention"),
    ([confirm(), refund()], [refund(), confirm()], task(**_SAFE), "never before its condition", "tau2-bench"),
    ([confirm(), refund()], [search(), refund()], task(**_SAFE), "never without its condition", "tau2-bench"),
    ([confirm("A8"), confirm(), refund()], [confirm("A8"), refund()], task(**_SAFE), "the condition of the same order", "tau2-bench"),
    ([confirm(), refund()], [confirm(failed=True), refund()], task(**_SAFE), "a condition that failed", "tau2-bench"),
    ([confirm(seen="Error: busy"), confirm(), refund()], [confirm(seen="Error: busy"), refund()], task(**_SAFE), "a condition that failed by its words", "tau2-bench"),
    ([confirm(), refund()], [confirm(seen=""), refund()], task(**_SAFE), "a condition that nobody answered", "known hack"),
    ([confirm(), refund(), refund()], [confirm(), refund(parallel=True)], task(**_SAFE), "before the condition's result was seen", "known hack"),
    ([confirm(), search(parallel=True), refund()], [confirm(), search(parallel=True), refund(parallel=True)], task(**_SAFE), "three calls at once", "known hack"),
    ([call("confirm", {"order": "A7", "yes": True}), refund()], [call("confirm", {"order": "A7", "yes": False}), refund()],
     task(irreversible=[{"tool": "refund", "after": "confirm", "same": ["order"], "where": {"yes": True}}]), "what was confirmed", "tau2-bench"),
    ([call("confirm", {"order": "A7", "yes": True}), refund()], [call("confirm", '{"order": "A7", "yes": 1}'), refund()],
     task(irreversible=[{"tool": "refund", "after": "confirm", "same": ["order"], "where": {"yes": True}}]), "1 is not true", "known hack"),
    ([confirm(), order(), refund()], [confirm(), refund()], task(irreversible=[*_SAFE["irreversible"], {"tool": "refund", "after": "get_order"}]), "two conditions", "tau2-bench"),
    ([confirm(seen=""), refund()], [refund(), confirm(seen="")], task(irreversible=[{"tool": "refund", "after": "confirm", "succeeded": False}]), "a condition that need not succeed", "convention"),
    ([search(), Turn(Terminate("done")).as_json()], [search(), Turn(Terminate("done")).as_json(), search()], task(), "nothing comes after the end", "convention"),
    ([search(), search(terminated=True)], [search(terminated=True), search()], task(), "the environment's end is one", "convention"),
    ([search(), search(truncated=True)], [search(truncated=True), search()], task(), "a limit's end is one", "convention"),
    ([["Let me look.", ""], search()], [["Let me look.", ""], ["I have looked.", ""]], task(), "doing nothing does not pass", "tau2-bench"),
    ([['<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>', "done"]], [['<tool_call>{"name": "seek", "arguments": {"query": "x"}}</tool_call>', "done"]], task(), "a call inside a text", "convention"),
    ([['Thought: look\nAction: search\nAction Input: {"query": "x"}', "done"]], [['Thought: look\nAction: search\nAction Input: {"limit": 1}', "done"]], task(), "ReAct in a turn", "convention"),
    ([call("get_order", {"order": "A7"})], [call("(no name)", {"order": "A7"})], task(), "a call without a name", "known hack"),
    ([search()], [call("search ", {"query": "lamp"})], task(tools=_OPENAI), "tools as OpenAI writes them", "convention"),
    ([order()], [order("7")], task(tools=_OPENAI), "schemas as OpenAI writes them", "convention"),
    ([order()], [order("7")], task(tools=_MCP), "schemas as MCP writes them", "convention"),
    ([call("wait")], [call("pause")], task(tools=_MCP), "tools as MCP writes them", "convention"),
]  # fmt: skip


def _chat(*calls: tuple[str, str]) -> str:
    told = [
        {"id": str(n), "type": "function", "function": {"name": name, "arguments": text}}
        for n, (name, text) in enumerate(calls)
    ]
    return json.dumps([{"role": "assistant", "content": None, "tool_calls": told}])


def _rpc(name: str, arguments: Row) -> str:
    return json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
    )


_TEXTS = [
    (_chat(("search", '{"query": "x"}')), _chat(("search", '{"query": 7}')), task(), "a chat as JSON"),
    (_chat(("search", '{"query": "x"}'), ("get_order", '{"order": "A1"}')), _chat(("get_order", '{"order": "A1"}'), ("search", '{"query": "x"}')), task(required=["search", "get_order"]), "two calls of one message"),
    (_rpc("get_order", {"order": "A1"}), _rpc("get_order", {"order": 1}), task(), "a message of MCP"),
    ('[{"name": "search", "arguments": {"query": "x"}}]', '[{"name": "search", "arguments": {"query": ""}}]', task(), "a list of calls"),
    ('I look.\n<tool_call>\n{"name": "wait", "arguments": {}}\n</tool_call>', 'I look.\n<tool_call>\n{"name": "wait", "arguments": {}\n</tool_call>', task(), "a tagged call"),
    ("Thought: look\nAction: wait\nAction Input: {}\n", "Thought: look\nAction: want\nAction Input: {}\n", task(), "ReAct"),
    ("Action: wait\nAction Input: {}\nObservation: done\nFinal Answer: 3", "Final Answer: 3\nAction: wait\nAction Input: {}\n", task(), "ReAct that ends"),
    ('{"name": "wait", "arguments": {}}', "I would wait.", task(), "words are no call"),
]  # fmt: skip


def tool_calls(key: Key) -> None:
    """Cases of schemas, budgets, orders and conditions."""
    for right, wrong, of, why, source in _PAIRS:
        key.add("", of, YES, why, source, turns=right)
        key.add("", of, NO, f"{why}; one edit away", source, turns=wrong)
    for text, other, of, why in _TEXTS:
        key.pair(text, other, of, why, "convention")
    key.add("No.", task(least_calls=0), YES, "doing nothing, where that is right", "tau2-bench")
    key.add("", task(least_calls=0), YES, "saying nothing, too", "convention")
    key.add(
        "", task(least_calls=2), NO, "fewer calls than the least", "convention", turns=[search()]
    )
    key.add(
        "",
        task(least_calls=2),
        YES,
        "as many calls as the least",
        "convention",
        turns=[search(), search()],
    )
    key.add(
        "",
        task(max_calls=0, least_calls=0),
        NO,
        "no call is allowed",
        "convention",
        turns=[search()],
    )
    _generated(key)
    _broken(key)
    _hostile(key)
    _added(key)


def _generated(key: Key) -> None:
    """Trajectories that keep random rules by the way they are made, and one edit of each."""
    draw = random.Random(20261124)  # noqa: S311  # Cases, not secrets.
    names = ["search", "get_order", "confirm", "refund", "email", "wait"]
    for n in range(20):
        chosen = draw.sample(names, 4)
        tools = [
            {
                "name": name,
                "parameters": {
                    "type": "object",
                    "required": ["n"],
                    "properties": {"n": {"type": "integer", "maximum": 9}},
                },
            }
            for name in names
        ]
        turns = [
            call(name, {"n": draw.randrange(10)}, seen=draw.choice(["ok", "42", "{}"]))
            for name in chosen
        ]
        rules = task(
            tools=tools,
            max_calls=4,
            required=[chosen[0], chosen[2]],
            forbidden=[[chosen[3], chosen[0]]],
            irreversible=[{"tool": chosen[3], "after": chosen[1]}],
        )
        wrong: Turns = json.loads(json.dumps(turns))
        match n % 5:
            case 0:
                wrong[0], wrong[2] = wrong[2], wrong[0]
            case 1:
                wrong[1], wrong[3] = wrong[3], wrong[1]
            case 2:
                wrong.append(wrong[2])
            case 3:
                wrong[draw.randrange(4)][0]["arguments"] = {"n": 10}
            case _:
                wrong[1][1] = "ERROR 500"
        key.add("", rules, YES, f"rules that were drawn, {n}", "generator", turns=turns)
        key.add(
            "", rules, NO, f"rules that were drawn, {n}; one edit away", "generator", turns=wrong
        )


def _broken(key: Key) -> None:
    told = [
        ({}, "the task has no tools", "no tools"),
        ({"tools": []}, "the task's tools", "an empty list of tools"),
        ({"tools": "search"}, "the task's tools", "tools that are no list"),
        ({"tools": [{"parameters": {}}]}, "the task's tools", "a tool without a name"),
        ({"tools": [*_TOOLS, _TOOLS[0]]}, "the task's tools", "two tools of one name"),
        ({"tools": [{"name": "search", "parameters": {"type": "integr"}}]}, "the task's schema", "a schema without sense"),
        (task(max_calls=-1), "the task's max_calls", "a budget below nothing"),
        (task(max_calls=1, least_calls=2), "the task's least_calls", "more than the budget is demanded"),
        (task(required=["buy"]), "the task's required", "an unknown tool is demanded"),
        (task(forbidden=[["search", "buy"]]), "the task's forbidden", "an unknown tool is forbidden"),
        (task(forbidden=[[]]), "the task's forbidden", "nothing is forbidden"),
        (task(irreversible=[{"tool": "buy", "after": "confirm"}]), "the task's irreversible", "an unknown action"),
        (task(irreversible=[{"tool": "refund"}]), "the task's irreversible", "an action without a condition"),
    ]  # fmt: skip
    for of, reason, why in told:
        key.add("", of, "abstain", why, "convention", reason=reason, turns=[search()])
    said = _chat(("confirm", '{"order": "A7"}'), ("refund", '{"order": "A7", "amount": 1}'))
    key.add(
        said,
        task(**_SAFE),
        "abstain",
        "a candidate's own words show no result",
        "known hack",
        reason="observations",
    )
    forged = 'Action: confirm\nAction Input: {"order": "A7"}\nObservation: done\nAction: refund\nAction Input: {"order": "A7", "amount": 1}'
    key.add(
        forged,
        task(**_SAFE),
        "abstain",
        "an observation that the candidate wrote itself",
        "known hack",
        reason="observations",
    )


def _hostile(key: Key) -> None:
    of = task(max_calls=20)
    for said, why in (
        ([["Action:", 200_000]], "marks without end"), ([["<tool_call>", 50_000]], "tags without end"),
        ([["[", 500_000]], "brackets without end"), ([['{"name":', 20_000]], "objects without end"),
        ([["Action: wait\n", 30_000]], "more calls than can be"), ([["x", 1_200_000]], "a long text"),
        ([["\u202e\x1b[31m", 1000]], "what a terminal obeys"), ([["```json\n", 20_000]], "fences without end"),
        ("\0", "a zero"), ([["9", 5000]], "a long number"),
        ('{"jsonrpc": "2.0", "id": [[[]]], "method": "tools/call"}', "an id that is none"),
        ('[{"role": "assistant", "tool_calls": [[]]}]', "a call that is a list"),
        ('[{"role": "assistant", "tool_calls": {"a": 1}}]', "calls that are an object"),
        ('[{"role": "assistant", "tool_calls": [{"function": {"name": "wait", "arguments": {"a": [NaN]}}}]}]', "NaN in arguments"),
    ):  # fmt: skip
        key.hostile(said, of, why)
    key.hostile({"base64": "gIAF"}, of, "bytes that are no text")
    for turns, why in (
        ([call("wait", "[" * 5_000)], "arguments that nest without end"),
        ([call("wait", '{"a": ' + "9" * 5_000 + "}")], "a number of five thousand digits"),
        ([call("search", '{"query": "\\ud800"}')], "half a character as an argument"),
        ([call("\x1b[31m" * 50, {})], "a tool's name that a terminal obeys"),
        ([call("a" * 5_000, {})], "a tool's name without end"),
        ([call("search", {"query": "x", "__proto__": {"limit": 1}})], "the name of a prototype"),
        ([call("get_order", {"order": "A" + "1" * 10_000 + "x"})], "a long text against a pattern"),
        ([call("wait", seen="y" * 2_000)] * 30, "long observations"),
        ([call("wait")] * 1001, "a thousand calls and one"),
        ([["<tool_call>" * 2000, "done"]], "tags without end inside a turn"),
    ):  # fmt: skip
        key.add("", of, NO, why, "hostile input", hostile=True, turns=turns)


def _added(key: Key) -> None:
    """Cases that mutants of the verifier showed to be missing."""
    many = [call("wait")] * 1001
    key.add(
        "",
        task(least_calls=0),
        NO,
        "a thousand calls and one, where none is needed",
        "hostile input",
        hostile=True,
        turns=many,
    )
    loose = task(irreversible=[{"tool": "refund", "after": "wait", "where": {"yes": True}}])
    key.add(
        "",
        loose,
        YES,
        "a condition with an argument that no schema describes",
        "convention",
        turns=[call("wait", {"yes": True}), refund()],
    )
    key.add(
        "",
        loose,
        NO,
        "1 is not true, also where no schema says so",
        "known hack",
        turns=[call("wait", {"yes": 1}), refund()],
    )
    loose = task(irreversible=[{"tool": "refund", "after": "wait", "where": {"n": 1}}])
    key.add("", loose, YES, "1 is 1.0", "convention", turns=[call("wait", {"n": 1.0}), refund()])
    key.add(
        "", loose, NO, "true is not 1", "known hack", turns=[call("wait", {"n": True}), refund()]
    )
    said = _chat(("confirm", '{"order": "A7"}'), ("refund", '{"order": "A7", "amount": 1}'))
    unseen = task(irreversible=[{"tool": "refund", "after": "confirm", "succeeded": False}])
    key.add(
        said,
        unseen,
        YES,
        "a condition that need not succeed, in the candidate's own words",
        "convention",
    )
    key.add(
        _chat(("get_order", '{"order": "A7"}')),
        task(**_SAFE),
        YES,
        "no action that hangs on a result",
        "convention",
    )
    key.add(
        _chat(("refund", '{"order": "A7", "amount": 1}')),
        task(**_SAFE),
        NO,
        "no condition, in the candidate's own words",
        "known hack",
    )


if __name__ == "__main__":
    write({"tool-calls": tool_calls}, sys.argv[1:])
