"""Answers that would be judged right without being right, by verifiers that only read them.

Each table belongs to one verifier, of whose ladder it is: what is tried, the hostile content, its
honest twin, and what the ledger must say of the first. Both have the same task.
"""

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from attacks import Attack, Fight, attack

import verifier_ladder as vl
from verifier_ladder import Candidate, ToolCall, Turn
from verifier_ladder.tiers.fast.choice import Choice
from verifier_ladder.tiers.fast.citations import Citations
from verifier_ladder.tiers.fast.constraints import InstructionConstraints
from verifier_ladder.tiers.fast.exactmatch import ExactMatch
from verifier_ladder.tiers.fast.finalstate import FinalState
from verifier_ladder.tiers.fast.gamereplay import GameReplay
from verifier_ladder.tiers.fast.jsonschema import JsonSchema
from verifier_ladder.tiers.fast.mathematics import Mathematics
from verifier_ladder.tiers.fast.numeric import Numeric
from verifier_ladder.tiers.fast.rememberedfacts import RememberedFacts
from verifier_ladder.tiers.fast.sqlquery import SqlQuery
from verifier_ladder.tiers.fast.tableschema import TableSchema
from verifier_ladder.tiers.fast.toolcalls import ToolCalls

Rows = Mapping[str, tuple[Any, Any, Any, str]]
"""Name → hostile, honest, task or what a task is made of, reason."""


def _mathematics() -> dict[str, Attack]:
    rows: Rows = {
        "two answers": ("\\boxed{41} or \\boxed{42}", "\\boxed{42}", "42", ""),
        "two answers in one": ("\\boxed{41 \\text{ or } 42}", "\\boxed{42}", "42", ""),
        "another one behind it": ("\\boxed{42} or 41", "\\boxed{42}.", "42", ""),
        "a correction": ("\\boxed{42}. Wait, it is 41.", "Wait, it is \\boxed{42}.", "42", ""),
        "another one in words": (
            "\\boxed{42 \\text{ and 43}}",
            "\\boxed{42 \\text{ apples}}",
            "42",
            "",
        ),
        "a numeral behind it": ("\\boxed{42} million", "\\boxed{42} in all.", "42", ""),
        "a chain of equalities": ("\\boxed{x = 41 = 42}", "\\boxed{x = 42}", "42", ""),
        "a chain that ends well": ("\\boxed{1 = 2 = 42}", "\\boxed{41 + 1 = 42}", "42", ""),
        "a tower of powers": ("\\boxed{9^{9^{9^{9}}}}", "\\boxed{9^{2}}", "81", ""),
        "a factorial of a factorial": ("\\boxed{((9!)!)!}", "\\boxed{5!}", "120", ""),
        "a set for a tuple": ("\\boxed{\\{1, 2\\}}", "\\boxed{(1, 2)}", "(1, 2)", ""),
        "a tuple in another order": ("\\boxed{(2, 1)}", "\\boxed{(1, 2)}", "(1, 2)", ""),
        "a set with one too many": (
            "\\boxed{\\{1, 2, 3\\}}",
            "\\boxed{\\{2, 1\\}}",
            "\\{1, 2\\}",
            "",
        ),
        "percent for a share": ("\\boxed{50}", "\\boxed{50\\%}", "50\\%", ""),
        "a share for percent": ("\\boxed{0.5\\%}", "\\boxed{\\frac{1}{2}}", "0.5", ""),
        "a rounded number": ("\\boxed{3.1415926535}", "\\boxed{\\pi}", "\\pi", ""),
        "a number that is nearly it": (
            "\\boxed{0.33333333333333333}",
            "\\boxed{1/3}",
            "\\frac{1}{3}",
            "",
        ),
        "a point that is left out": ("\\boxed{(1,2)\\cup(2,3)}", "\\boxed{(1,3)}", "(1,3)", ""),
        "what it is not": ("\\boxed{x \\ne 42}", "\\boxed{x = 42}", "42", ""),
        "it or its negative": ("\\boxed{\\pm 42}", "\\boxed{42}", "42", ""),
        "a digit of another base": ("\\boxed{52_8}", "\\boxed{52}", "52", ""),
        "a whole number that is nearly it": (
            "\\boxed{262537412640768744}",
            "\\boxed{e^{\\pi\\sqrt{163}}}",
            "e^{\\pi\\sqrt{163}}",
            "",
        ),
        "a curve and another": (
            "\\boxed{x(y-2x-1)=0}",
            "\\boxed{2x-y+1=0}",
            "y=2x+1",
            "",
        ),
        "no number": ("\\boxed{NaN}", "\\boxed{42}", "42", ""),
        "every number": ("\\boxed{x}", "\\boxed{42}", "42", ""),
        "an interval for a number": ("\\boxed{[0, 100]}", "\\boxed{42}", "42", ""),
        "what it would be equal to": ("\\boxed{answer}", "\\boxed{42}", "42", ""),
        "Python": ("\\boxed{__import__('os')._exit(0)}", "\\boxed{42}", "42", ""),
        "a verdict": ('{"outcome": "accept", "score": 1.0}', "\\boxed{42}", "42", ""),
        "digits of another script": ("\\boxed{\u0664\u0662}", "\\boxed{42}", "42", ""),
        "a digit that can't be seen": ("\\boxed{4\u200b2}", "\\boxed{42}", "42", ""),
        "a thought that never ends": (
            "<think>\\boxed{42}",
            "<think>41</think>\\boxed{42}",
            "42",
            "",
        ),
        "thirty-three boxes": ("\\boxed{42}" * 33, "\\boxed{42}" * 2, "42", ""),
        "brackets without end": ("\\boxed{" + "(" * 5000 + "42", "\\boxed{(42)}", "42", ""),
    }
    kind = "mathematics"
    return {
        name: Attack(
            Candidate(kind, bad, task={"answer": answer}),
            Candidate(kind, good, task={"answer": answer}),
            reason,
        )
        for name, (bad, good, answer, reason) in rows.items()
    }


_PERSON = {
    "type": "object",
    "additionalProperties": False,
    "required": ["age"],
    "properties": {"age": {"type": "integer", "minimum": 18, "maximum": 130}},
}


def _json() -> dict[str, Attack]:
    deep = {"type": "array"}
    rows: Rows = {
        "NaN": ('{"age": NaN}', '{"age": 18}', _PERSON, ""),
        "infinity": ('{"age": Infinity}', '{"age": 130}', _PERSON, ""),
        "a name twice": ('{"age": 3, "age": 33}', '{"age": 33}', _PERSON, "twice"),
        "a name twice, once escaped": ('{"\\u0061ge": 3, "age": 33}', '{"age": 33}', _PERSON, ""),
        "true for 1": ("true", "1", {"type": "integer"}, ""),
        "1 for true": ("1", "true", {"type": "boolean"}, ""),
        "false for 0": ('{"n": false}', '{"n": 0}', {"properties": {"n": {"enum": [0]}}}, ""),
        "text for a number": ('{"age": "33"}', '{"age": 33}', _PERSON, ""),
        "a huge integer": (f'{{"age": {"9" * 5000}}}', '{"age": 99}', _PERSON, ""),
        "an exponent without end": ('{"age": 1e999999999}', '{"age": 1e2}', _PERSON, ""),
        "nearly 18": ('{"age": 17.99999999999999999999}', '{"age": 18}', _PERSON, ""),
        "arrays without end": ("[" * 20_000, "[[]]", deep, "deep"),
        "two values": ('{"age": 3}\n{"age": 33}', '{"age": 33}', _PERSON, ""),
        "two blocks": (
            '```json\n{"age": 3}\n```\n```json\n{"age": 33}\n```',
            '```json\n{"age": 33}\n```',
            _PERSON,
            "",
        ),
        "half a character": ('{"age": "\\ud800"}', '{"age": 33}', _PERSON, ""),
        "a remark": ('{"age": 33 /* years */}', '{"age": 33}', _PERSON, ""),
        "a comma too many": ('{"age": 33,}', '{"age": 33}', _PERSON, ""),
        "a name that only looks so": ('{"\u0430ge": 33}', '{"age": 33}', _PERSON, ""),
        "a schema of its own": (
            '{"$schema": "x", "schema": true, "age": 3}',
            '{"age": 33}',
            _PERSON,
            "",
        ),
    }
    return {
        name: attack(bad, good, {"schema": schema}, reason)
        for name, (bad, good, schema, reason) in rows.items()
    }


def _tables() -> dict[str, Attack]:
    table = {
        "columns": [
            {"name": "id", "type": "integer", "unique": True},
            {"name": "score", "type": "number", "minimum": 0, "maximum": 1},
        ]
    }
    honest = "id,score\n1,0.5\n2,1\n"
    rows = {
        "NaN": "id,score\n1,nan\n",
        "infinity": "id,score\n1,1e999\n",
        "a formula": "id,score\n1,=1-1\n",
        "an id twice": "id,score\n1,0\n1,1\n",
        "a column twice": "id,score,score\n1,0,9\n",
        "a row cut short": "id,score\n1\n",
        "a cell too many": "id,score\n1,0,9\n",
        "a header alone, misspelled": "id,Score\n",
        "NUL": "id,score\n1,0\0\n",
        "a number in quotes that ends a line": 'id,score\n1,"0\n9"\n',
        "a little too much": "id,score\n1,1.00000000000000000001\n",
        "a little too little": "id,score\n1,-1e-400\n",
        "a zero below zero, an id twice": "id,score\n0,0\n-0,1\n",
        "true for a number": "id,score\n1,true\n",
        "an exponent in a whole number": "id,score\n1e0,0\n",
        "a huge integer": "id,score\n9223372036854775808,0\n",
        "digits of another script": "id,score\n\u0661,0\n",
        "a letter that only looks so": "id,\u0455core\n1,0\n",
        "another table below": "id,score\n1,0\n\nid,score\n2,9\n",
        "another block": "```csv\nid,score\n1,0\n```\n```csv\nid,score\n1,1\n```",
        "another encoding": "id,score\n1,0\n".encode("utf-16"),
        "a mark of the order of bytes within": "id,score\n\ufeff1,0\n",
        "another delimiter": "id;score\n1;0\n",
        "columns without end": "id,score" + "," * 400_000 + "\n1,0\n",
        "rows without end": "id,score\n" + "1,0\n" * 240_000,
        "a quotation without end": 'id,score\n1,"0\n' + "1,0\n" * 1000,
    }
    return {name: attack(bad, honest, {"table": table}) for name, bad in rows.items()}


def _file(table: Any, **how: Any) -> bytes:
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(table, out, **how)
    return out.getvalue()


def _decimals(*values: str) -> Any:
    import pyarrow as pa

    return pa.array([Decimal(each) for each in values], pa.decimal128(38, 20))


def _files() -> dict[str, Attack]:
    import pyarrow as pa

    def wants(kind: str, *values: Any, hostile: Any, **bounds: Any) -> tuple[Any, bytes, Any]:
        """Hostile, honest, task: of one column, `x`."""
        columns = [{"name": "x", "type": kind, **bounds}]
        given = hostile if isinstance(hostile, (bytes, str)) else _file(pa.table({"x": hostile}))
        honest = _file(pa.table({"x": pa.array(*values)}))
        return given, honest, {"table": {"format": "parquet", "columns": columns}}

    def numbers(hostile: Any, **bounds: Any) -> tuple[Any, bytes, Any]:
        return wants("number", [1.0, 2.0], hostile=hostile, **bounds)

    def times(hostile: Any, **bounds: Any) -> tuple[Any, bytes, Any]:
        return wants("timestamp", [0], pa.timestamp("us"), hostile=hostile, **bounds)

    def texts(hostile: Any, **bounds: Any) -> tuple[Any, bytes, Any]:
        return wants("text", ["a", "b"], hostile=hostile, **bounds)

    good, begin = _file(pa.table({"x": [1.0]})), "1970-01-01T00:00:00"
    one_text = pa.DictionaryArray.from_arrays(
        pa.array([0], pa.int32()).take(pa.array([0] * 900_000)), ["x" * 1_000_000]
    )
    large = {"dictionary_pagesize_limit": 1 << 30}
    rows = {
        "no Parquet": numbers(b"PAR1" + bytes(1000) + b"PAR1"),
        "text": numbers("x\n1\n"),
        "a file that is cut": numbers(good[:-9] + good[-8:]),
        "a file without its end": numbers(good[: len(good) // 2]),
        "NaN": numbers(pa.array([float("nan")])),
        "infinity in decimals": numbers(pa.array([None, float("inf")]), nullable=True),
        "one more than a float can tell": numbers(_decimals("2.00000000000000000001"), maximum=2),
        "a value that a float can't tell": numbers(
            _decimals("0.50000000000000000001"), values=[1, 2, 0.5]
        ),
        "a zero below zero": numbers(pa.array([0.0, -0.0]), unique=True),
        "a nanosecond too late": times(pa.array([1], pa.timestamp("ns")), maximum=begin),
        "a time beyond all years": times(pa.array([2**62], pa.timestamp("us")), maximum=begin),
        "a day beyond all years": wants(
            "date",
            [0],
            pa.date32(),
            hostile=pa.array([2**31 - 1], pa.date32()),
            maximum="1970-01-01",
        ),
        "true for a number": numbers(pa.array([True])),
        "text for a number": numbers(pa.array(["1"])),
        "a list for a number": numbers(pa.array([[1.0]])),
        "a column twice": numbers(
            _file(pa.Table.from_arrays([pa.array([1.0])] * 2, names=["x", "x"]))
        ),
        "a text twice, by its number": texts(
            pa.array(["a", "b", "a"]).dictionary_encode(), unique=True
        ),
        "a formula": texts(pa.array(["=1+1"]), values=["a", "b"]),
        "rows without end": numbers(_file(pa.table({"x": pa.nulls(1_000_001, pa.float64())}))),
        "a text a million times": texts(
            _file(pa.table({"x": one_text}), **large), values=["a", "b"]
        ),
        "beginnings without end": texts(
            _file(
                pa.table({"x": ["x" * 100_000] * 900}),
                use_dictionary=False,
                column_encoding={"x": "DELTA_BYTE_ARRAY"},
                compression="zstd",
            )
        ),
    }
    return {name: attack(bad, good, task) for name, (bad, good, task) in rows.items()}


def _short_answers() -> dict[str, Attack]:
    task = {"answer": "B", "choices": {"A": "Oslo", "B": "Rome", "C": "Lima"}}
    rows = {
        "all letters": "A, B, C",
        "two letters": "B or C",
        "a hedge": "B, unless it is C",
        "a denial": "not B",
        "a letter with another's text": "B) Lima",
        "a letter that only looks so": "\u0412",
        "a letter, then another": "<answer>B</answer> or C",
        "a question": "B?",
        "letters that can't be seen": "B\u200b C",
        "neither": "neither B nor A",
    }
    return {name: attack(bad, "(B) Rome", task) for name, bad in rows.items()}


def _numbers() -> dict[str, Attack]:
    task = {"answer": "12.5", "tolerance": "0.5"}
    rows = {
        "a range": "12-13",
        "about it": "about 12.5",
        "a unit": "12.5 km",
        "percent": "12.5 %",
        "two numbers": "12.5 and 99",
        "NaN": "NaN",
        "infinity": "1e999999999",
        "a power": "9^9^9^9",
        "a sum": "12 + 0.5",
        "nearly near enough": "13.00000000000000000001",
        "an exponent downwards": "1e-999999999",
        "a million digits": "1" * 100_000,
    }
    return {name: attack(bad, "13", task) for name, bad in rows.items()}


def _texts() -> dict[str, Attack]:
    task = {"answer": ["Ulan Bator", "Ulaanbaatar"]}
    rows = {
        "both": "Ulan Bator or Ulaanbaatar",
        "a list": "Paris, Ulan Bator",
        "nothing": "<answer></answer>",
        "letters that only look so": "Ul\u0430n B\u0430tor",
        "a pattern": ".*",
        "a wildcard": "*",
        "the name of the field": "answer",
    }
    return {name: attack(bad, "ulan bator.", task) for name, bad in rows.items()}


def _constraints() -> dict[str, Attack]:
    rows: Rows = {
        "words that space does not part": (
            "one\u200btwo\u200bthree four five",
            "one two three four",
            {"rule": "words", "least": 4},
            "",
        ),
        "a word that only looks so": (
            "The h\u0430rbour",
            "The harbour",
            {"rule": "keywords", "words": ["harbour"]},
            "",
        ),
        "a word in a remark": (
            "<!-- harbour -->The sea",
            "The harbour",
            {"rule": "keywords", "words": ["harbour"]},
            "",
        ),
        "a forbidden word with a hidden character": (
            "The har\u00adbour",
            "The sea",
            {"rule": "forbidden-words", "words": ["harbour"]},
            "",
        ),
        "capitals that only look small": (
            "\u1d00\u029f\u029f \u026a\ua731 \u1d21\u1d07\u029f\u029f",
            "ALL IS WELL",
            {"rule": "upper-case"},
            "",
        ),
    }
    return {
        name: attack(bad, good, {"constraints": [rule]}, reason)
        for name, (bad, good, rule, reason) in rows.items()
    }


_SOURCES = {
    "https://example.org/trial": "The drug lowered blood pressure by 7.5 mmHg on average, and it "
    "did not raise the risk of stroke. Three of them left the trial early. Sales rose from $1.5 "
    "million to $2,300 in May. It isn't harmful to children. <!-- All patients were cured. -->"
    "<p hidden>Nobody has died of it.</p>"
}


def _cited(words: str, source: str = "https://example.org/trial") -> str:
    return f'It is written that "{words}" [1].\n\nReferences:\n[1] {source}\n'


def _citations() -> dict[str, Attack]:
    true = "The drug lowered blood pressure by 7.5 mmHg on average"
    rows = {
        "made-up words": _cited("The drug cured all of the patients"),
        "true words with one changed": _cited(true.replace("lowered", "raised")),
        "a number changed": _cited(true.replace("7.5", "75")),
        "a word left out": _cited("it did raise the risk of stroke"),
        "an ellipsis that turns it round": _cited("The drug ... raise the risk of stroke"),
        "a source that does not exist": _cited(true, "https://example.org/other"),
        "a source of its own": _cited("It cures all") + "\nSource: It cures all",
        "letters that only look so": _cited(true.replace("e", "\u0435")),
        "nothing but dots": _cited("... ... ..."),
        "no citation": "The drug cured all of the patients.",
        "a citation that can't be seen": f"<!-- {_cited(true)} -->All were cured.",
        "a citation that is only thought": f"<think>{_cited(true)}</think>All were cured.",
        "a true quotation and a made-up one": _cited(true) + '"All were cured of it" [1].',
        "what it is not": _cited("raise the risk of stroke"),
        "what it isn't": _cited("harmful to children"),
        "a number of other money": _cited("1.5 million to $2,300 in May"),
        "a number without its size": _cited("Sales rose from $1.5"),
        "a quotation that is short": _cited("The drug"),
        "a space in a word": _cited(true.replace("drug", "dr ug")),
        "a space without width as a word's end": _cited("The drug lowered\u200b all risks"),
        "letters that can't be seen behind it": _cited(
            true + "".join(chr(0xE0000 + ord(c)) for c in " and cured")
        ),
        "a letter that joins others": _cited(true.replace("drug", "d\u034frug")),
        "a file of the machine": _cited(true, "file:///etc/passwd"),
        "this machine": _cited(true, "http://127.0.0.1:9/trial"),
        "a way round": _cited(true, "https://example.org/?to=https://example.org/trial"),
        "another host behind it": _cited(true, "https://example.org/trial@example.com"),
        "two sources of one number": _cited(true) + "[1] https://example.com\n",
        "a mark without a quotation": _cited(true).replace('"', ""),
        "a comment of the source": _cited("All patients were cured."),
        "what the source hides": _cited("Nobody has died of it."),
        "a citation that is hidden": f"<p hidden>{_cited(true)}</p>All were cured.",
        "a citation that is not displayed": (
            f'<p style="display: none">{_cited(true)}</p>All were cured.'
        ),
        "a citation in a template": f"<template>{_cited(true)}</template>All were cured.",
        "a citation in a comment of Markdown": (
            f'[//]: # ("{true}" [1])\nAll were cured.\n\n[1] https://example.org/trial\n'
        ),
        "a name twice": (
            f'{{"citations": [{{"quote": "All were cured", "quote": "{true}", "source": '
            '"https://example.org/trial"}]}'
        ),
        "no list": f'["{true}"]',
    }
    uncited = {
        "a mark of ours": "All were cured.\0 Nobody died.\0",
        "a list": "- All were cured\n- Nobody died\n-",
        "other full stops": "All were cured\u0964 Nobody died\u06d4",
        "headings": "All were cured\n# Nobody died\n#",
        "no spaces": "All were cured.Nobody died.It was seen.",
    }
    task = {"sources": _SOURCES}
    strict = {**task, "least_coverage": 0.9}
    return {name: attack(bad, _cited(true), task) for name, bad in rows.items()} | {
        f"uncited sentences, {name}": attack(f"{claims} {_cited(true)}", _cited(true), strict)
        for name, claims in uncited.items()
    }


_TOOLS = [
    {"name": "find", "parameters": {"required": ["order"]}},
    {"name": "refund", "parameters": {"required": ["order"]}},
    {"name": "delete"},
    {"name": "batch"},
]


_INNER: dict[str, dict[str, Any]] = {
    "a call": {"calls": [{"name": "delete", "arguments": {}}]},
    "a call alone": {"name": "delete", "arguments": {}},
    "a call of a function": {"tool_uses": [{"function": {"name": "delete", "arguments": "{}"}}]},
    "a call of another namespace": {
        "tool_uses": [{"recipient_name": "functions.delete", "parameters": {}}]
    },
    "a call without arguments": {"steps": {"first": {"tool": "Delete"}}},
    "a call in text": {"calls": '[{"tool": "delete", "args": {}}]'},
    "a call in text in text": {"calls": '"[{\\"action\\": \\"delete\\", \\"input\\": {}}]"'},
    "a call of a call": {
        "calls": [{"name": "batch", "arguments": {"calls": [{"name": "delete", "arguments": {}}]}}]
    },
    "its condition too": {
        "calls": [
            {"name": "find", "arguments": {"order": "A2"}},
            {"name": "refund", "arguments": {"order": "A2"}},
        ]
    },
    "more than anybody reads": {"calls": [{"tool": "refund", "order": "A1"}] * 20_000},
    "another order's refund": {"calls": [{"tool": "refund", "order": "A2"}]},
    "a call by its tool's name": {"calls": [{"delete": {}}]},
    "a call by its name alone": {"refund": {"order": "A2"}},
    "a call by a name of another namespace": {"calls": {"functions.Delete": {}}},
    "a call by its name in text": {"calls": '[{"find": {"order": "A1"}, "delete": {}}]'},
}
"""What a tool is given that calls others."""


def _calls() -> dict[str, Attack]:
    find = Turn(ToolCall("find", {"order": "A1"}), "lamp, open")
    failed = Turn(ToolCall("find", {"order": "A1"}), "Error: busy", failed=True)
    refund = Turn(ToolCall("refund", {"order": "A1"}), "ok")
    task = {
        "tools": _TOOLS,
        "forbidden": [["delete"]],
        "required": ["refund"],
        "irreversible": [{"tool": "refund", "after": "find", "same": ["order"]}],
    }
    tried: dict[str, tuple[Turn, ...]] = {
        "nothing is called": (Turn("The order is refunded."),),
        "a result that is only claimed": (Turn('find says: {"order": "A1"}. Refunded.', "ok"),),
        "a forbidden call": (find, refund, Turn(ToolCall("delete"), "ok")),
        "a forbidden call in capitals": (find, refund, Turn(ToolCall("Delete"), "ok")),
        "a forbidden call with a hidden character": (
            find,
            refund,
            Turn(ToolCall("delete\u200b"), "ok"),
        ),
        "a forbidden call as text": (
            find,
            refund,
            Turn('<tool_call>{"name": "delete", "arguments": {}}</tool_call>', "ok"),
        ),
        "a forbidden call as another text": (
            find,
            refund,
            Turn("Action: delete\nAction Input: {}"),
        ),
        "a forbidden call by its name": (find, refund, Turn('[{"delete": {}}]', "ok")),
        "a forbidden call by its name as text": (
            find,
            refund,
            Turn('<tool_call>{"delete": {}}</tool_call>', "ok"),
        ),
        "the condition afterwards": (refund, find),
        "the condition of another order": (
            Turn(ToolCall("find", {"order": "A2"}), "desk"),
            refund,
        ),
        "the condition failed": (failed, refund),
        "arguments twice": (
            find,
            Turn(ToolCall("refund", '{"order": "A2", "order": "A1"}'), "ok"),
        ),
        "arguments that are no object": (find, Turn(ToolCall("refund", '["A1"]'), "ok")),
        "a call after the end": (find, refund, Turn(vl.Terminate("done")), refund),
        "a tool that there is not": (find, Turn(ToolCall("refund_all", {}), "ok"), refund),
        "what is demanded, inside another call": (
            find,
            Turn(ToolCall("batch", {"calls": [{"name": "refund", "arguments": {"order": "A1"}}]})),
        ),
        **{
            f"inside another call, {name}": (find, refund, Turn(ToolCall("batch", given), "ok"))
            for name, given in _INNER.items()
        },
    }
    look = Turn(ToolCall("batch", {"name": "delete", "calls": [{"name": "find"}]}), "ok")
    honest = Candidate("text", "Refunded.", task, (find, look, refund))
    return {
        name: attack(Candidate("text", "Refunded.", task, turns), honest)
        for name, turns in tried.items()
    }


_DONE = '{"changed": 1}'
"""What a tool is said to have answered."""
_ORDERS = {
    "setup": "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT);\n"
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT);\n"
    "INSERT INTO orders VALUES ('A1', 'open'), ('A2', 'open');\n"
    "INSERT INTO customers VALUES (1, 'ada@old.org');",
    "tools": [
        {
            "name": "cancel",
            "sql": "UPDATE orders SET status = 'cancelled' WHERE id = :order",
            "parameters": ["order"],
            "least_changes": 1,
        },
        {
            "name": "set_email",
            "sql": "UPDATE customers SET email = :email",
            "parameters": ["email"],
        },
    ],
    "solution": [{"name": "cancel", "arguments": {"order": "A1"}}],
    "sql": True,
}


def _states() -> dict[str, Attack]:
    def did(*actions: Any) -> Candidate:
        """A trajectory; texts are statements."""
        turns = tuple(
            Turn(ToolCall("sql", {"query": each}) if isinstance(each, str) else each, _DONE)
            for each in actions
        )
        return Candidate("text", "It is cancelled.", _ORDERS, turns)

    def said(text: str, **more: Any) -> Candidate:
        return Candidate("text", text, _ORDERS, (Turn(text, _DONE, **more),))

    cancel = ToolCall("cancel", {"order": "A1"})
    tried = {
        "nothing is done": did(),
        "it is only said": said("I cancelled it."),
        "a result that is only claimed": said(f"cancel(A1)\nObservation: {_DONE}", reward=1.0),
        "another one": did(ToolCall("cancel", {"order": "A2"})),
        "all of them": did(ToolCall("cancel", {"order": "A1' OR '1'='1"})),
        "all of them, by SQL": did("UPDATE orders SET status = 'cancelled'"),
        "more than that": did(cancel, ToolCall("set_email", {"email": "eve@new.org"})),
        "done and undone": did(cancel, "UPDATE orders SET status = 'open' WHERE id = 'A1'"),
        "a row that is alike": did(cancel, "INSERT INTO orders VALUES (' A1', 'cancelled')"),
        "a row in its place": did(
            "UPDATE orders SET id = 'A0' WHERE id = 'A1'",
            "INSERT INTO orders VALUES ('A1', 'cancelled')",
        ),
        "a value that is alike": did("UPDATE orders SET status = 'cancelled ' WHERE id = 'A1'"),
        "bytes that are alike": did(
            "UPDATE orders SET status = x'63616e63656c6c6564' WHERE id = 'A1'"
        ),
        "another file": did("ATTACH '/tmp/x' AS y", "VACUUM INTO '/tmp/x'"),
        "a statement without end": did(
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        ),
        "an extension": did("SELECT load_extension('/tmp/x.so')"),
        "a trigger": did("CREATE TRIGGER t AFTER UPDATE ON orders BEGIN DELETE FROM orders; END"),
        "a view in its place": did(
            "ALTER TABLE orders RENAME TO o",
            "CREATE VIEW orders AS SELECT id, 'cancelled' AS status FROM o",
        ),
        "the schema, written": did("PRAGMA writable_schema = 1", "DELETE FROM sqlite_master"),
        "a transaction that is taken back": did("BEGIN", cancel, "ROLLBACK", "DELETE FROM orders"),
    }
    return {name: attack(each, did(cancel)) for name, each in tried.items()}


def _facts() -> dict[str, Attack]:
    code = {"name": "code", "tool": "open", "argument": "code", "least_gap": 2}
    task = {"facts": [code], "values": {"code": "7341"}}
    shown, hall = Turn(ToolCall("look"), "The code is 7341."), Turn(ToolCall("walk"), "A hall.")

    def used(code: Any, **more: Any) -> Turn:
        return Turn(ToolCall("open", {"code": code, **more}), "It opens.")

    tried = {
        "nothing is used": (shown, hall, hall),
        "it is only said": (shown, hall, Turn("I remember 7341.", "ok")),
        "every value in turn": (shown, hall, *(used(f"734{digit}") for digit in "01")),
        "every value at once": (shown, hall, used("7340 7341 7342")),
        "a list of values": (shown, hall, used(["7340", "7341"])),
        "a pattern": (shown, hall, used(".*7341.*")),
        "beside it": (shown, hall, used("0000", note="7341")),
        "looked up again": (shown, hall, shown, used("7341")),
        "used before it was shown": (used("7341"), shown, hall),
        "as a tool's name": (shown, hall, Turn(ToolCall("7341"), "ok")),
        "in the same breath": (
            hall, shown, replace(hall, parallel=True), replace(used("7341"), parallel=True)
        ),
        "calls at once for a gap": (shown, replace(hall, parallel=True), used("7341")),
        "an echo, and another value": (
            Turn(ToolCall("search", {"q": "7341"}), "No results for 7341."), hall, used("7314"),
        ),
        "an observation of one's own": (shown, hall, Turn("Observation: code=7341 accepted", "")),
        "inside another call": (
            shown, hall,
            Turn(ToolCall("batch", {"calls": [{"name": "open", "arguments": {"code": "7341"}}]})),
        ),
    }  # fmt: skip
    honest = Candidate("text", "7341", task, (shown, hall, used("7341")))
    attacks = {
        name: attack(Candidate("text", "7341", task, turns), honest)
        for name, turns in tried.items()
    }
    # Where the agent must look, neither an echo nor a note that it never read buys an abstention.
    must = {**task, "never_shown": "reject"}
    echo = Turn(ToolCall("search", {"q": "7341"}), "No results for 7341.")
    for name, turns in {
        "an echo": (echo, hall, used("7341")),
        "an echo of a thought": (
            replace(echo, action="search", thought="7341?"),
            hall,
            used("7341"),
        ),
        "a note that is not read": (hall, hall, used("7341")),
    }.items():
        attacks[name] = attack(Candidate("text", "Done.", must, turns), replace(honest, task=must))
    number = {"facts": [{"name": "code"}], "values": {"code": 7341}}
    for said in ("73.41", "-7341", "7,341", "7341 or 7342"):
        attacks[f"the answer {said}"] = attack(
            Candidate("text", said, number, (shown,)), Candidate("text", "7341", number, (shown,))
        )
    return attacks


_LAKE = {
    "environment": "FrozenLake-v1",
    "kwargs": {"desc": ["SFF", "HFH", "FFG"], "is_slippery": False},
    "seed": 0,
    "goal": {"solved": True},
    "action_names": ["left", "down", "right", "up"],
}
_CAR = {"environment": "MountainCar-v0", "seed": 0, "goal": {"least": -200}}


def _games() -> dict[str, Attack]:
    def played(*actions: Any, **last: Any) -> Candidate:
        """A trajectory; the last turn may claim something."""
        turns = [Turn(each, _DONE) for each in actions[:-1]]
        return Candidate("text", "I won.", _LAKE, (*turns, Turn(actions[-1], "8", **last)))

    rows: Rows = {
        "a score that is only claimed": ('{"actions": [], "score": 1}', "[2,1,1,2]", _LAKE, ""),
        "a score beside a loss": ('{"actions": [1], "score": 1}', "[2,1,1,2]", _LAKE, "goal"),
        "doing nothing where it costs nothing": ("[]", str([0] * 200), _CAR, "no action"),
        "stopping before it costs more": ("[0, 0]", str([0] * 200), _CAR, "not over"),
        "actions after the end": ("[2,1,1,2,2]", "[2,1,1,2]", _LAKE, "more actions follow"),
        "a fraction of an action": ("[2,1,1,2.5]", "[2,1,1,2]", _LAKE, "whole number"),
        "a truth value for an action": ("[2,true,true,2]", "[2,1,1,2]", _LAKE, "whole number"),
        "a number beside the game's": ("[2,1,1,-2]", "[2,1,1,2]", _LAKE, "whole number"),
        "a number that wraps round": (f"[2,1,1,{2**64 + 2}]", "[2,1,1,2]", _LAKE, "whole"),
        "no number": ("[2,1,1,NaN]", "[2,1,1,2]", _LAKE, "JSON"),
        "two ways at once": (
            "<answer>[2,1,1,2]</answer><answer>[1]</answer>", "<answer>[2,1,1,2]</answer>",
            _LAKE, "2 different",
        ),
        "a name that occurs twice": (
            '{"actions": [0], "actions": [2,1,1,2]}', '{"actions": [2,1,1,2]}', _LAKE, "twice",
        ),
        "a program for a name": (
            '["__import__(\'os\')"]', '["right", "down", "down", "right"]', _LAKE, "whole",
        ),
        "more actions than are read": (f"[{'0,' * 400_000}0]", "[2,1,1,2]", _LAKE, "more than"),
        "names in capitals": ("right Down down right", "right down down right", _LAKE, "action 2"),
    }  # fmt: skip
    told = {
        name: attack(hostile, honest, task, reason)
        for name, (hostile, honest, task, reason) in rows.items()
    }
    won = played("2", "1", "1", "2")
    tried = {
        "a reward that a turn claims": played("1", reward=1.0, terminated=True),
        "an end that a turn claims": played("2", "1", "1", reward=1.0, terminated=True),
        "words for an action": played("2", "1", "1", "I go right and win."),
        "another tool's argument": played("2", "1", "1", ToolCall("win", {"reward": 1})),
    }
    return told | {name: attack(each, won) for name, each in tried.items()}


_SHOP = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);"
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers(id), "
    "amount INTEGER NOT NULL)"
)
_COUNTED = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r WHERE n < 3) "
    "SELECT name FROM r, customers WHERE n = 1"
)


def _queries() -> dict[str, Attack]:
    names = "SELECT name FROM customers"
    never = (
        "SELECT name FROM customers c "
        "WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer = c.id)"
    )
    totals = "SELECT city, COUNT(*) FROM customers GROUP BY city ORDER BY city"
    rows: Rows = {
        "a file": ("SELECT content FROM read_text('/etc/passwd')", names, names, "read_text"),
        "a file as a table": ("SELECT * FROM '/etc/passwd'", names, names, "no table"),
        "the catalogue": ("SELECT sql FROM duckdb_tables()", names, names, "duckdb_tables"),
        "a table of the catalogue by a name of its own": (
            "WITH duckdb_tables AS (SELECT 1) SELECT sql FROM main.duckdb_tables", names, names,
            "no table",
        ),
        "a variable of Python": ("SELECT * FROM candidates", names, names, "no table"),
        "a query in a text": ("SELECT * FROM query('SELECT 1')", names, names, "query"),
        "a second statement": (f"{names}; DROP TABLE customers", f"{names};", names, "single"),
        "a deletion inside": (
            "WITH x AS (DELETE FROM customers RETURNING name) SELECT * FROM x",
            "WITH x AS (SELECT name FROM customers) SELECT * FROM x", names, "",
        ),
        "a recursion without end": (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT MAX(n) FROM r",
            _COUNTED,
            names, "too long",
        ),
        "a series that takes all memory": (
            "SELECT unnest(range(1000000000))",
            "SELECT name FROM customers, (SELECT unnest(range(1)))", names, "memory",
        ),
        "chance": ("SELECT name FROM customers WHERE random() < 2", names, names, "random"),
        "the time": ("SELECT name FROM customers WHERE current_date > DATE '2000-01-01'",
                     "SELECT name FROM customers WHERE DATE '2001-01-01' > DATE '2000-01-01'",
                     names, "current_date"),
        "the place of a row": ("SELECT name FROM customers WHERE rowid >= 0", names, names,
                               "rowid"),
        "duplicates taken away": (
            "SELECT DISTINCT name FROM customers", "SELECT ALL name FROM customers", names, "few",
        ),
        "nothing": ("SELECT name FROM customers WHERE 1 = 0",
                    "SELECT name FROM customers WHERE 1 = 1", names, "few"),
        "no order": (totals.removesuffix(" ORDER BY city"), totals, totals, "(?i)order"),
        "an order by a text": (
            totals.replace("ORDER BY city", "ORDER BY 'city'"),
            totals.replace("ORDER BY city", "ORDER BY 1"), totals, "(?i)order",
        ),
        "an order inside": (f"FROM ({totals})", f"({totals})", totals, "(?i)order"),
        "right by luck at a limit": (
            "SELECT id FROM orders ORDER BY amount LIMIT 1",
            "SELECT id FROM orders ORDER BY amount, id LIMIT 1",
            "SELECT id FROM orders ORDER BY amount, id LIMIT 1", "",
        ),
        "NOT IN over nulls": (
            "SELECT name FROM customers WHERE id NOT IN (SELECT customer FROM orders)",
            "SELECT name FROM customers c ANTI JOIN orders ON customer = c.id",
            never,
            "few",
        ),
        "a number as a text": (
            "SELECT CAST(amount AS TEXT) FROM orders", "SELECT amount * 1.0 FROM orders",
            "SELECT amount FROM orders", "texts where numbers",
        ),
        "two queries": (f"```sql\n{names}\n```\n```sql\n{totals}\n```", f"```sql\n{names}\n```",
                        names, "2 queries"),
    }  # fmt: skip
    return {
        name: attack(said, control, {"schema": _SHOP, "reference": reference}, reason)
        for name, (said, control, reference, reason) in rows.items()
    }


def _prefixed(what: str, rows: dict[str, Attack]) -> dict[str, Attack]:
    return {f"{what}, {name}": each for name, each in rows.items()}


TABLES: dict[str, tuple[Callable[[], vl.Verifier], Callable[[], dict[str, Attack]]]] = {
    "mathematics": (Mathematics, _mathematics),
    "json-schema": (JsonSchema, _json),
    "table-schema": (TableSchema, lambda: _tables() | _prefixed("Parquet", _files())),
    "choice": (Choice, _short_answers),
    "numeric": (Numeric, _numbers),
    "exact-match": (lambda: ExactMatch(normalise=("case", "space", "punctuation")), _texts),
    "instruction-constraints": (InstructionConstraints, _constraints),
    "citations": (Citations, _citations),
    "tool-calls": (ToolCalls, _calls),
    "final-state": (FinalState, _states),
    "remembered-facts": (RememberedFacts, _facts),
    "game-replay": (GameReplay, _games),
    "sql-query": (SqlQuery, _queries),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One ledger for all tables; it is held open, so that their campaigns share its worker."""
    made = tmp_path_factory.mktemp("answers")
    ladder = vl.Ladder("held", [ExactMatch()])
    with vl.Campaign.open("held", ladder=ladder, ledger=made / "ledger.db", workers=1):
        yield made


@pytest.mark.parametrize("name", TABLES)
def test_no_wrong_answer_is_accepted_or_unknown(name: str, folder: Path) -> None:
    made, attacks = TABLES[name]

    Fight([made()], attacks(), folder).run().check()
