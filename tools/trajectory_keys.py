r"""Make the answer keys of `tool-calls` and `final-state`.

Run: `python tools/trajectory_keys.py [NAME…]`.
"""
# ruff: noqa: E501, S608  # Tables of cases are read by row; their SQL is a case.

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
    _drawn(key)


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


_PROPERTIES: dict[str, tuple[Row, Any, Any]] = {
    "minimum": ({"type": "integer", "minimum": 3}, 3, 2),
    "exclusiveMaximum": ({"type": "number", "exclusiveMaximum": 3}, 2.5, 3),
    "multipleOf": ({"type": "integer", "multipleOf": 7}, 49, 50),
    "maxLength": ({"type": "string", "maxLength": 4}, "four", "fours"),
    "minLength": ({"type": "string", "minLength": 2}, "no", "n"),
    "pattern": ({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"}, "2026-11", "2026-1"),
    "enum": ({"enum": ["low", "high", None]}, None, "null"),
    "const": ({"const": 1}, 1.0, "1"),
    "type": ({"type": ["string", "null"]}, None, False),
    "items": ({"type": "array", "items": {"type": "integer"}}, [1, 2.0], [1, 2.5]),
    "prefixItems": ({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [1, "a"]),
    "maxItems": ({"type": "array", "maxItems": 2}, [1, 1], [1, 1, 1]),
    "uniqueItems": ({"type": "array", "uniqueItems": True}, [1, True, "1"], [1, True, 1.0]),
    "contains": ({"type": "array", "contains": {"const": "a"}}, ["b", "a"], ["b", "A"]),
    "required": ({"type": "object", "required": ["a", "b"]}, {"b": 1, "a": 2}, {"b": 1}),
    "additionalProperties": ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, {"A": 1}),
    "maxProperties": ({"type": "object", "maxProperties": 1}, {"a": 1}, {"a": 1, "b": 1}),
    "propertyNames": ({"propertyNames": {"maxLength": 2}}, {"ab": 1}, {"abc": 1}),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
    "not": ({"not": {"type": "string"}}, 5, "5"),
    "oneOf": ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, 4, 6),
    "if": ({"if": {"type": "integer"}, "then": {"maximum": 9}}, 9.5, 10),
}  # fmt: skip
"""Keyword → a schema, a value that it holds for, and one for which it does not."""


def _drawn(key: Key) -> None:
    """Calls of tools whose schemas are drawn keyword by keyword, and one edit of each call."""
    draw = random.Random(20261126)  # noqa: S311  # Cases, not secrets.
    for n, keyword in enumerate(_PROPERTIES):
        others = draw.sample([name for name in _PROPERTIES if name != keyword], 2)
        tools = [_tool(name) for name in (keyword, *others)]
        right = [(f"set_{name}", {"x": _PROPERTIES[name][1]}) for name in (*others, keyword)]
        wrong = [*right[:-1], (right[-1][0], {"x": _PROPERTIES[keyword][2]})]
        told = f"arguments that are drawn, {keyword}"
        source = "generator: a JSON schema's keywords"
        for calls, outcome, more in ((right, YES, ""), (wrong, NO, "; one edit away")):
            said = [(name, json.dumps(given)) for name, given in calls]
            forms: list[tuple[str, Row]] = [
                (_chat(*said), {}), ("", {"turns": [call(*each) for each in said]}),
                ("", {"turns": [call(*each) for each in calls]}),
            ]  # fmt: skip
            text, turns = forms[n % 3]
            key.add(text, task(tools=tools, max_calls=3), outcome, told + more, source, **turns)
    _ordered(key, draw)


def _tool(keyword: str) -> Row:
    """A tool with one argument, for which this keyword must hold."""
    schema = {"type": "object", "required": ["x"], "properties": {"x": _PROPERTIES[keyword][0]}}
    return {"name": f"set_{keyword}", "parameters": schema}


def _ordered(key: Key, draw: random.Random) -> None:
    """Actions that keep their conditions by the way they are made, and one edit of each."""
    names = [f"step_{letter}" for letter in "abcd"]
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    for n in range(16):
        before, act, *others = draw.sample(names, 4)
        number, other = draw.sample(range(100), 2)
        right = [call(name, {"n": draw.randrange(100)}) for name in others]
        right.insert(place := draw.randrange(3), call(before, {"n": number}))
        right.append(call(act, {"n": number}))
        wrong: Turns = json.loads(json.dumps(right))
        match n % 4:
            case 0:
                wrong[place][0]["arguments"]["n"] = other
                why = "another argument"
            case 1:
                wrong[place][1] = ""
                why = "a result that nobody saw"
            case 2:
                wrong.append(wrong.pop(place))
                why = "too late"
            case _:
                wrong[place][1] = "Error: busy"
                why = "it failed"
        of = task(
            tools=[{"name": name, "parameters": schema} for name in names],
            irreversible=[{"tool": act, "after": before, "same": ["n"]}],
        )
        told, source = "a condition that is drawn", "generator: a condition kept by construction"
        key.add("", of, YES, f"{told}, {n}", source, turns=right)
        key.add("", of, NO, f"{told}, {n}; one edit away: {why}", source, turns=wrong)


# ---- final-state

_SETUP = """CREATE TABLE orders (id TEXT PRIMARY KEY, item TEXT, status TEXT, cents INTEGER);
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
CREATE TABLE notes (order_id TEXT, text TEXT);
INSERT INTO orders VALUES ('A1', 'lamp', 'open', 2000), ('A2', 'desk', 'open', 9000), ('A3', 'chair', 'shipped', 500);
INSERT INTO customers VALUES (1, 'Ada', 'ada@old.org'), (2, 'Bob', NULL);"""
_DESK: list[Row] = [
    {"name": "get_order", "sql": "SELECT * FROM orders WHERE id = :order", "parameters": ["order"]},
    {"name": "cancel", "sql": "UPDATE orders SET status = 'cancelled' WHERE id = :order AND status = 'open'",
     "parameters": ["order"], "least_changes": 1},
    {"name": "set_email", "sql": "UPDATE customers SET email = :email WHERE id = :customer", "parameters": ["customer", "email"], "least_changes": 1},
    {"name": "note", "sql": "INSERT INTO notes VALUES (:order, :text)", "parameters": ["order", "text"]},
    {"name": "discount", "sql": ["UPDATE orders SET cents = cents - :cents WHERE id = :order", "INSERT INTO notes VALUES (:order, 'discount')"],
     "parameters": ["order", "cents"], "least_changes": 2},
]  # fmt: skip


def _shop(**more: Any) -> Row:
    return {"setup": _SETUP, "tools": _DESK, **more}


def _files(**more: Any) -> Row:
    return {
        "files": {
            "notes.txt": "milk\n",
            "config.json": '{"debug": true, "port": 80}',
            "old/a.txt": "a",
        },
        **more,
    }


_PAGE = "<html><body><h1>Cart</h1><ul id=items><li>lamp</li></ul><p id=total data-cents=2000>20 EUR</p></body></html>"


def _page(**more: Any) -> Row:
    return {"page": _PAGE, **more}


def _does(*calls: tuple[str, Row]) -> list[Row]:
    return [{"name": name, "arguments": arguments} for name, arguments in calls]


def get(number: str = "A1") -> list[Any]:
    """A turn that looks at an order."""
    return call("get_order", {"order": number}, seen="claimed")


def cancel(number: str = "A1", **more: Any) -> list[Any]:
    """A turn that cancels an order."""
    return call("cancel", {"order": number, **more}, seen='{"changed": 1}', failed=False)


def email(address: str = "ada@new.org", customer: int = 1) -> list[Any]:
    """A turn that changes a customer's address."""
    return call("set_email", {"customer": customer, "email": address}, seen='{"changed": 1}')


def note(text: str, number: str = "A1") -> list[Any]:
    """A turn that adds a note."""
    return call("note", {"order": number, "text": text})


def write_file(path: str, content: str) -> list[Any]:
    """A turn that writes a file."""
    return call("write_file", {"path": path, "content": content})


def ends(answer: str = "done") -> list[Any]:
    """A turn that declares the end."""
    return Turn(Terminate(answer)).as_json()


_A1 = _shop(solution=_does(("cancel", {"order": "A1"})))
_BOTH = _shop(solution=_does(("cancel", {"order": "A1"}), ("cancel", {"order": "A2"})))
_MAIL = _shop(solution=_does(("set_email", {"customer": 1, "email": "ada@new.org"})))
_STATUS = {"sql": "SELECT status FROM orders WHERE id = 'A1'", "rows": [["cancelled"]]}
_CHECKED = _shop(checks=[_STATUS], may_change=["orders"])
_LOOK = _shop(expects_no_change=True, answer="open")
_ONE_NOTE = _shop(solution=_does(("note", {"order": "A1", "text": "late"})))
_TWO_NOTES = _shop(
    solution=_does(("note", {"order": "A1", "text": "a"}), ("note", {"order": "A1", "text": "b"}))
)
_SQL = "```sql\nUPDATE orders SET status = 'cancelled' WHERE id = 'A1'\n```"
_DELETE = ["```sql\nDELETE FROM orders\n```", ""]
_CENTS = "SELECT cents FROM orders WHERE id = 'A1'"


def _tables() -> list[tuple[Turns, Turns, Row, str, str]]:
    other = {"sql": "SELECT status FROM orders WHERE id = 'A2'", "rows": [["open"]]}
    count = {"sql": "SELECT count(*) FROM orders WHERE status = 'cancelled'", "rows": [[1]]}
    emails = {
        "sql": "SELECT email FROM customers ORDER BY id",
        "rows": [["ada@new.org"], [None]],
        "ordered": True,
    }
    ids = {
        "sql": "SELECT id FROM orders WHERE status = 'cancelled' ORDER BY id DESC",
        "rows": [["A2"], ["A1"]],
        "ordered": True,
    }
    money = ["orders", "notes"]
    return [
        ([get(), cancel()], [get(), cancel("A2")], _A1, "the order that was asked for", "tau2-bench"),
        ([cancel()], [get()], _A1, "looking is not doing", "tau2-bench"),
        ([cancel()], [["It is cancelled.", ""]], _A1, "saying is not doing", "tau2-bench"),
        ([cancel()], [cancel(), email()], _A1, "nothing else may change", "tau2-bench"),
        ([cancel(), note("x"), cancel("A9")], [cancel(), note("x"), cancel("A2")], _shop(checks=[_STATUS, other], may_change=["orders", "notes"]), "an action that fails changes nothing", "convention"),
        ([cancel("A2"), cancel()], [cancel("A2")], _BOTH, "another order of actions, the same state", "tau2-bench"),
        ([email("x@y.org"), email()], [email(), email("x@y.org")], _MAIL, "the last value counts", "generator"),
        ([cancel()], [cancel(reason="late")], _A1, "a call that fails, whatever its turn claims", "known hack"),
        ([cancel()], [cancel("A1' OR '1'='1")], _A1, "arguments are values, not statements", "known hack"),
        ([cancel("A3"), cancel()], [cancel("A3")], _A1, "what is shipped can't be cancelled", "convention"),
        ([cancel()], [ends(), cancel()], _A1, "after the end nothing is done", "known hack"),
        ([cancel(), ends()], [email(), ends()], _A1, "with the end declared", "convention"),
        ([note("late")], [note("late"), note("late")], _ONE_NOTE, "a row twice is not a row", "SQL semantics"),
        ([note("b"), note("a")], [note("b"), note("b")], _TWO_NOTES, "rows have no order", "SQL semantics"),
        ([note("late")], [note("Late")], _ONE_NOTE, "capitals count", "convention"),
        ([cancel()], [cancel(), cancel("A2")], _shop(checks=[_STATUS, count], may_change=["orders"]), "a count of what was done", "SQL semantics"),
        ([cancel()], [cancel(), email()], _CHECKED, "a table outside of what may change", "tau2-bench"),
        ([cancel(), email()], [email()], _shop(checks=[_STATUS], may_change=["*"]), "anything else may change", "convention"),
        ([email()], [email("ada@new.com")], _shop(checks=[emails], may_change=["customers"]), "NULL is null", "SQL semantics"),
        ([cancel(), cancel("A2")], [cancel("A2")], _shop(checks=[ids], may_change=["orders"]), "rows in order", "SQL semantics"),
        ([call("discount", {"order": "A1", "cents": 500})], [call("discount", {"order": "A1", "cents": 501})], _shop(checks=[{"sql": _CENTS, "rows": [[1500.0]]}], may_change=money), "1500 is 1500.0", "SQL semantics"),
        ([call("discount", {"order": "A1", "cents": 1999})], [call("discount", {"order": "A1", "cents": "1998.0x"})], _shop(checks=[{"sql": _CENTS, "rows": [[1]]}], may_change=money), "the number that is wanted", "SQL semantics"),
        ([email("1")], [email("1.0")], _shop(checks=[{"sql": "SELECT email FROM customers WHERE id = 1", "rows": [["1"]]}], may_change=["customers"]), "text is compared as text", "SQL semantics"),
        ([call("refund", {}), cancel()], [call("refund", {})], _A1, "an unknown tool does nothing", "convention"),
        ([[_SQL, ""]], [[_SQL.replace("'A1'", "'A2'"), ""]], {**_A1, "sql": True}, "a statement, where statements are allowed", "convention"),
        ([cancel()], [[_SQL, ""]], _A1, "a statement, where only tools are", "known hack"),
        ([cancel(), _DELETE], [_DELETE], _A1, "a statement that is not allowed does nothing", "known hack"),
    ]  # fmt: skip


def _documents() -> list[tuple[Turns, Turns, Row, str, str]]:
    port = _files(
        checks=[{"file": "config.json", "json": {"port": 8080, "debug": True}}],
        may_change=["config.json"],
    )
    good = '{"port": 8080, "debug": true}'
    bread = _files(
        solution=_does(("write_file", {"path": "notes.txt", "content": "milk\nbread\n"}))
    )
    moved = _files(solution=_does(("move_file", {"path": "old/a.txt", "to": "new/a.txt"})))
    page = _files(
        checks=[{"file": "p.html", "select": "p.ok", "text": "yes"}], may_change=["p.html"]
    )
    return [
        ([write_file("config.json", good)], [write_file("config.json", '{"port": "8080", "debug": true}')], port, "JSON by its values", "convention"),
        ([write_file("config.json", '{"debug": true,\n "port": 8080.0}')], [write_file("config.json", '{"debug": 1, "port": 8080}')], port, "1 is not true", "known hack"),
        ([write_file("./config.json", good)], [write_file("../config.json", good)], port, "a path within the folder", "known hack"),
        ([write_file("config.json", good)], [write_file("config.json", good), write_file("new.txt", "")], port, "a file beside", "convention"),
        ([write_file("notes.txt", "milk\nbread\n")], [write_file("notes.txt", "milk\nbread")], _files(checks=[{"file": "notes.txt", "equals": "milk\nbread\n"}], may_change=["notes.txt"]), "every character", "convention"),
        ([call("append_file", {"path": "notes.txt", "content": "bread\n"})], [call("append_file", {"path": "notes.txt", "content": "bred\n"})], bread, "another way to the same files", "generator"),
        ([write_file("notes.txt", "bread")], [write_file("notes.txt", "bred")], _files(checks=[{"file": "notes.txt", "contains": "bread"}], may_change=["*"]), "a text within", "convention"),
        ([call("delete_file", {"path": "old/a.txt"})], [call("delete_file", {"path": "old/b.txt"})], _files(checks=[{"file": "old/a.txt", "absent": True}], may_change=["old/*"]), "a file that is gone", "convention"),
        ([call("move_file", {"path": "old/a.txt", "to": "new/a.txt"})], [write_file("new/a.txt", "a")], moved, "moved and not copied", "convention"),
        ([write_file("p.html", "<p class=ok>yes")], [write_file("p.html", "<!-- <p class=ok>yes -->")], page, "a page in a file", "known hack"),
    ]  # fmt: skip


_TOTAL = {"select": "#total", "text": "25 EUR"}


def _pages() -> list[tuple[str, str, Row, str]]:
    new = _PAGE.replace("20 EUR", "25 EUR")
    total = _page(checks=[_TOTAL], may_change=["#total"])

    def says(text: str) -> str:
        return _PAGE.replace("20 EUR", text)

    def lists(items: str) -> str:
        return _PAGE.replace("<li>lamp</li>", items)

    def counts(number: int) -> Row:
        return _page(checks=[{"select": "#items > li", "count": number}], may_change=["#items"])

    cents = _page(
        checks=[{"select": "#total", "attribute": "data-cents", "value": "2500"}],
        may_change=["#total"],
    )
    return [
        (new, says("26 EUR"), total, "the text of an element"),
        (says(" 25\n EUR "), says("<!-- 25 EUR -->20 EUR"), total, "a comment is not seen"),
        (says("25 <b>EUR</b>"), says("<template>25 EUR</template>"), total, "a template is not seen"),
        (new, says("<script>25 EUR</script>"), total, "a script is not seen"),
        (lists("<li>lamp<li>desk"), lists("<li>lamp, desk</li>"), counts(2), "tags that need not be closed"),
        (lists(""), lists("<li></li>"), counts(0), "nothing is left"),
        (_PAGE.replace("=2000", "=2500"), _PAGE.replace("data-cents=2000", "data-cent=2500"), cents, "an attribute"),
        (new, new.replace("Cart", "Card"), total, "nothing else may change"),
        (new, new.replace("<ul", "<p id=total>25 EUR</p><ul"), _page(checks=[{**_TOTAL, "count": 1}], may_change=["#total"]), "one element and not two"),
        (f"```html\n{new}\n```", f"```html\n{_PAGE}\n```", total, "a page in a block"),
        (new.replace("<h1>", "<h1 class='x'>"), "25 EUR", _page(checks=[_TOTAL], may_change=["*"]), "anything else may change"),
        (says("2&#53; EUR"), says("2&amp;#53; EUR"), total, "a character by its number"),
    ]  # fmt: skip


def final_state(key: Key) -> None:
    """Cases of databases, files and pages."""
    for right, wrong, of, why, source in [*_tables(), *_documents()]:
        key.add("Done.", of, YES, why, source, turns=right)
        key.add("Done.", of, NO, f"{why}; one edit away", source, turns=wrong)
    for page, other, of, why in _pages():
        key.pair(page, other, of, why, "HTML standard")
    _unchanged(key)
    _moves(key)
    _senseless(key)
    _attacks(key)
    _found_missing(key)


def _unchanged(key: Key) -> None:
    for said, turns, outcome, why in (
        ("open", [get()], YES, "looking, and the demanded answer"), ("open", [], YES, "the demanded answer alone"),
        ("The answer is open.", [get()], YES, "an answer in a sentence"), ("shipped", [get()], NO, "another answer"),
        ("", [get()], NO, "no answer"), ("open", [cancel()], NO, "something was changed"),
        ("open", [cancel("A3")], YES, "an action that failed changed nothing"),
        ("nothing", [get(), ends("open")], YES, "the answer of the end counts"), ("open", [get(), ends("shipped")], NO, "and it counts alone"),
        ("open or shipped", [get()], NO, "a hedge"),
    ):  # fmt: skip
        key.add(said, _LOOK, outcome, why, "tau2-bench", turns=turns)
    both = {**_A1, "answer": ["2000", "20 EUR"]}
    key.add("20 EUR", both, YES, "the state and the answer", "tau2-bench", turns=[cancel()])
    key.add("21 EUR", both, NO, "the state without the answer", "tau2-bench", turns=[cancel()])
    key.add("20 EUR", both, NO, "the answer without the state", "tau2-bench", turns=[get()])
    tagged = '<tool_call>{"name": "cancel", "arguments": {"order": "%s"}}</tool_call>'
    key.pair(tagged % "A1", tagged % "A2", _A1, "calls in the candidate's own text", "convention")
    held = {"select": "#total", "text": "20 EUR"}
    key.add(
        _PAGE,
        _page(checks=[held], may_change=["#total"]),
        NO,
        "a page that was not changed, though its checks hold",
        "tau2-bench",
    )
    three = {"sql": "SELECT count(*) FROM orders", "rows": [[3]]}
    key.add(
        "Done.",
        _shop(checks=[three], may_change=["*"]),
        NO,
        "a state that was not changed, though its checks hold",
        "tau2-bench",
        turns=[get()],
    )


def _moves(key: Key) -> None:
    """Transfers that are drawn: the state follows from sums, and an edit of one misses it."""
    draw = random.Random(77)  # noqa: S311  # Cases, not secrets.
    setup = (
        "CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO a VALUES "
        + ", ".join(f"({i}, 100)" for i in range(4))
    )
    tool = {
        "name": "move",
        "sql": ["UPDATE a SET n = n - :n WHERE id = :x", "UPDATE a SET n = n + :n WHERE id = :y"],
        "parameters": ["x", "y", "n"],
    }
    for n in range(8):
        moves = [
            {"x": draw.randrange(2), "y": 2 + draw.randrange(2), "n": draw.randrange(1, 30)}
            for _ in range(3)
        ]
        have = [100] * 4
        for each in moves:
            have[each["x"]] -= each["n"]
            have[each["y"]] += each["n"]
        check = {
            "sql": "SELECT n FROM a ORDER BY id",
            "rows": [[m] for m in have],
            "ordered": True,
        }
        of = {"setup": setup, "tools": [tool], "may_change": ["a"], "checks": [check]}
        right = [call("move", each) for each in moves]
        wrong: Turns = json.loads(json.dumps(right))
        wrong[n % 3][0]["arguments"]["n"] += 1
        key.add(
            "", of, YES, f"moves that were drawn, {n}", "generator", turns=draw.sample(right, 3)
        )
        key.add("", of, NO, f"moves that were drawn, {n}; one edit away", "generator", turns=wrong)


def _senseless(key: Key) -> None:
    told = [
        ({}, "the task has no state", "nothing to act on"), (_shop(**_files(), expects_no_change=True, answer="x"), "the task's state", "two states"),
        (_shop(), "the task's criteria are empty", "no criteria"), (_shop(checks=[]), "the task's criteria are empty", "an empty list of checks"),
        (_shop(solution=[]), "the task's criteria are empty", "an empty solution"), (_shop(may_change=["*"]), "the task's criteria are empty", "a basis alone"),
        (_shop(expects_no_change=True), "the task's expects_no_change", "doing nothing would pass"),
        (_shop(expects_no_change=True, answer="x", solution=_does(("cancel", {"order": "A1"}))), "the task's expects_no_change", "a solution, and no change"),
        (_shop(solution=_does(("get_order", {"order": "A1"}))), "the task's solution", "a solution that changes nothing"),
        (_shop(solution=_does(("cancel", {"order": "A9"}))), "the task's solution", "a solution that fails"),
        (_shop(checks=[_STATUS]), "the task's may_change", "nobody says what else may change"),
        (_shop(checks=[_STATUS], may_change=["order"]), "the task's may_change", "an unknown table"),
        (_shop(checks=[{"sql": "SELECT"}], may_change=["*"]), "the task's checks", "a check without what is wanted"),
        (_shop(checks=[{"sql": "SELEC 1", "rows": [[1]]}], may_change=["*"]), "the task's checks", "a check that is no statement"),
        (_shop(checks=[{"file": "a", "equals": ""}], may_change=["*"]), "the task's checks", "a file of a database"),
        (_page(checks=[{"select": "p[[", "count": 1}], may_change=["*"]), "the task's checks", "a selector that is none"),
        ({**_A1, "setup": "CREATE TABEL x"}, "the task's setup", "a setup that can't be run"), ({**_A1, "tools": [{"name": "x"}]}, "the task's tools", "a tool without a statement"),
    ]  # fmt: skip
    for of, reason, why in told:
        is_page = "page" in of
        key.add(
            _PAGE + "x" if is_page else "x",
            of,
            "abstain",
            why,
            "convention",
            reason=reason,
            turns=[] if is_page else [cancel()],
        )


def _attacks(key: Key) -> None:
    free = {**_A1, "sql": True}
    for query in (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) INSERT INTO notes SELECT x, x FROM c",
        "UPDATE orders SET item = zeroblob(900000000)", "ATTACH '/tmp/x' AS y", "DROP TABLE orders", "PRAGMA writable_schema = 1",
        "UPDATE orders SET status = 'cancelled'; DELETE FROM customers", "DELETE FROM sqlite_master", "SELECT load_extension('x')",
        "INSERT INTO notes SELECT hex(zeroblob(400000)), 1 FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g",
        "INSERT OR ROLLBACK INTO orders VALUES ('A1', 1, 1, 1)", "SELECT " + "(" * 2000, "COMMIT", "VACUUM INTO '/tmp/x'",
    ):  # fmt: skip
        key.add(
            "",
            free,
            NO,
            f"a hostile statement, {query[:20]}",
            "hostile input",
            hostile=True,
            turns=[call("sql", {"query": query})],
        )
    key.add(
        "",
        _A1,
        NO,
        "a thousand turns and one",
        "hostile input",
        hostile=True,
        turns=[get()] * 1001,
    )
    key.add(
        "",
        _A1,
        NO,
        "arguments that nest without end",
        "hostile input",
        hostile=True,
        turns=[call("cancel", "[" * 5000)],
    )
    key.add(
        "",
        _A1,
        NO,
        "a number beyond SQLite's",
        "hostile input",
        hostile=True,
        turns=[call("cancel", '{"order": 1' + "0" * 400 + "}")],
    )
    of = _files(solution=_does(("delete_file", {"path": "notes.txt"})))
    for path in (
        "/etc/passwd",
        "../../x",
        "a\0b",
        "C:\\x",
        "a//../../b",
        "x" * 5000,
        "",
        ".",
        "notes.txt/",
    ):
        key.add(
            "",
            of,
            NO,
            f"a hostile path, {path[:12]!r}",
            "hostile input",
            hostile=True,
            turns=[write_file(path, "x")],
        )
    many = [write_file(f"{n}.txt", "x" * 50) for n in range(900)]
    key.add("", of, NO, "nine hundred files", "hostile input", hostile=True, turns=many)
    of = _page(checks=[_TOTAL], may_change=["#total"])
    for said, why in (
        ([["<div>", 30_000]], "elements that nest without end"), ([["<b>", 100_000]], "elements that are opened again"),
        ([["x", 1_200_000]], "a long text"), ([["<p a=", 20_000]], "attributes without end"), ([["&", 100_000]], "characters without a name"),
        ([["<!--", 50_000]], "comments without end"), ([["<table><tr>", 10_000]], "tables in tables"), ("\0<p id=total>25 EUR\0", "zeros"),
        ([["<p id=total>25 EUR</p>", 5_000]], "five thousand totals"), ("<svg><p id=total>25 EUR", "another language"), ({"base64": "gIAF"}, "bytes that are no text"),
    ):  # fmt: skip
        key.hostile(said, of, why)


def _found_missing(key: Key) -> None:
    """Cases that mutants of the verifier showed to be missing."""
    cents = {"select": "#total", "attribute": "data-cents", "value": "2500"}
    of = _page(checks=[cents], may_change=["#total"])
    key.pair(
        _PAGE.replace("=2000", "='2500'"),
        _PAGE.replace("=2000", "=2600"),
        of,
        "the value of an attribute",
        "HTML standard",
    )
    there = _page(checks=[{"select": "#total", "attribute": "title"}], may_change=["#total"])
    key.pair(
        _PAGE.replace("data-cents=2000", "title"),
        _PAGE.replace("data-cents=2000", "titel"),
        there,
        "an attribute that must be there",
        "HTML standard",
    )
    listed = _files(checks=[{"file": "a.json", "json": [1, [2, 3]]}], may_change=["a.json"])
    key.add(
        "", listed, YES, "lists of JSON", "convention", turns=[write_file("a.json", "[1, [2, 3]]")]
    )
    for text in (
        "[1, [3, 2]]",
        "[1, [2, 3, 4]]",
        "[1, [2]]",
        "[1]",
        '{"0": 1}',
        "[1, 2]",
        "[1, [2, 3]",
        "1",
    ):
        key.add(
            "",
            listed,
            NO,
            "lists of JSON; one edit away",
            "convention",
            turns=[write_file("a.json", text)],
        )
    key.add(
        _PAGE,
        _page(
            checks=[_TOTAL],
            may_change=["*"],
            solution=_does(("write_file", {"path": "a", "content": "b"})),
        ),
        "abstain",
        "a page has no actions",
        "convention",
        reason="the task's solution",
    )
    key.add(
        "x",
        _shop(expects_no_change=True, answer="..."),
        "abstain",
        "an answer of which nothing is left",
        "convention",
        reason="the task's answer",
        turns=[get()],
    )
    key.add(
        "x",
        _shop(expects_no_change=True, answer=[]),
        "abstain",
        "no answer among none",
        "convention",
        reason="the task's",
        turns=[get()],
    )


if __name__ == "__main__":
    write({"tool-calls": tool_calls, "final-state": final_state}, sys.argv[1:])
