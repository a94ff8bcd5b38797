r"""Make the answer keys of `json-schema` and `table-schema`.

Run: `python tools/document_keys.py [NAME…]`. Parquet files are bytes of the pyarrow that wrote
them: another release writes the same tables in other bytes.
"""
# ruff: noqa: E501  # Tables of cases are read by row.

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Callable
from itertools import cycle
from typing import Any

from keywriter import NO, YES, Key, Row, binary, write

SUITE = "JSON Schema test suite"


# ---- json-schema

_PAIRS: list[tuple[Any, str, str, str]] = [
    ({"type": "integer"}, "7", "7.5", "type integer"),
    ({"type": "integer"}, "7.0", '"7"', "an integer may be written with a zero fraction"),
    ({"type": "number"}, "-1.5e3", "true", "a truth value is no number"),
    ({"type": "boolean"}, "false", "0", "zero is no truth value"),
    ({"type": "null"}, "null", '"null"', "type null"),
    ({"type": ["string", "null"]}, "null", "0", "several types"),
    ({"const": 1}, "1.0", "true", "const 1 is not true"),
    ({"const": {"a": [1, 2]}}, '{"a": [1, 2]}', '{"a": [2, 1]}', "const of an array is ordered"),
    ({"enum": ["red", "amber"]}, '"amber"', '"green"', "enum"),
    ({"enum": [False]}, "false", "0", "enum false is not 0"),
    ({"multipleOf": 0.01}, "19.99", "19.995", "multipleOf a decimal is exact"),
    ({"maximum": 3}, "3", "3.0000000000000001", "maximum holds beyond a double's digits"),
    ({"exclusiveMinimum": 0}, "0.1", "0", "exclusiveMinimum"),
    ({"minimum": 9007199254740993}, "9007199254740993", "9007199254740992", "large integers"),
    ({"minLength": 2, "maxLength": 2}, '"\U0001f4a9\U0001f4a9"', '"\U0001f4a9"', "code points"),
    ({"pattern": "^a+$"}, '"aaa"', '"aab"', "pattern with anchors"),
    ({"pattern": "a+"}, '"xxaayy"', '"xxyy"', "a pattern is not anchored"),
    ({"pattern": "^(?!.*secret)"}, '"open"', '"a secret"', "a pattern that looks ahead"),
    ({"items": {"type": "integer"}}, "[1, 2]", '[1, "2"]', "items"),
    ({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
     '[1, "a"]', '[1, "a", 2]', "prefixItems, and no item beyond them"),
    ({"contains": {"const": 5}, "minContains": 2}, "[5, 4, 5]", "[5, 4, 3]", "minContains"),
    ({"uniqueItems": True}, "[1, true, 0, false]", "[1, 2, 1.0]", "uniqueItems: 1 is 1.0"),
    ({"minItems": 1}, "[null]", "[]", "minItems"),
    ({"type": "object", "required": ["name"]}, '{"name": null}', '{"nome": 1}', "required"),
    ({"properties": {"age": {"minimum": 0}}, "additionalProperties": False},
     '{"age": 3}', '{"age": 3, "height": 2}', "additionalProperties false"),
    ({"patternProperties": {"^x_": {"type": "integer"}}}, '{"x_a": 1}', '{"x_a": "1"}',
     "patternProperties"),
    ({"propertyNames": {"maxLength": 3}}, '{"abc": 1}', '{"abcd": 1}', "propertyNames"),
    ({"dependentRequired": {"card": ["address"]}}, '{"card": 1, "address": 2}', '{"card": 1}',
     "dependentRequired"),
    ({"minProperties": 2}, '{"a": 1, "b": 2}', '{"a": 1}', "minProperties"),
    ({"allOf": [{"minimum": 2}, {"maximum": 4}]}, "3", "5", "allOf"),
    ({"anyOf": [{"type": "string"}, {"minimum": 10}]}, "11", "9", "anyOf"),
    ({"oneOf": [{"multipleOf": 3}, {"multipleOf": 5}]}, "9", "15", "oneOf wants exactly one"),
    ({"not": {"type": "string"}}, "1", '"1"', "not"),
    ({"if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["x"]}},
     '{"k": "a", "x": 1}', '{"k": "a"}', "if and then"),
    ({"$defs": {"n": {"type": "integer"}}, "properties": {"v": {"$ref": "#/$defs/n"}}},
     '{"v": 1}', '{"v": 1.5}', "a reference"),
    ({"properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}}, "required": ["v"]},
     '{"v": 1, "next": {"v": 2}}', '{"v": 1, "next": {}}', "a reference to the whole"),
    ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
     '{"a": 1}', '{"a": 1, "b": 1}', "unevaluatedProperties"),
    ({"type": "string", "format": "date"}, '"2024-02-29"', '"2023-02-29"', "format date"),
    ({"type": "string", "format": "ipv4"}, '"127.0.0.1"', '"127.0.0.256"', "format ipv4"),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}],
      "additionalItems": False}, "[1]", "[1, 2]", "an array of items in draft 7"),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3,
      "exclusiveMaximum": True}, "2", "3", "exclusiveMaximum in draft 4"),
]  # fmt: skip
_OPEN = {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
_FRAMES = (
    "%s",
    "Here it is:\n```json\n%s\n```",
    "<answer>%s</answer>",
    '<think>Perhaps {"a": 0}?</think>\n%s',
    "```\n%s\n```\nThat is all.",
)


def json_schema(key: Key) -> None:
    """Keywords, JSON itself, and how it is found."""
    frames = cycle(_FRAMES)
    for schema, right, wrong, why in _PAIRS:
        key.pair(next(frames) % right, next(frames) % wrong, {"schema": schema}, why, SUITE)
    any_value: Row = {"schema": True}
    for text, why in [
        ("NaN", "NaN is no JSON"), ("[Infinity]", "infinity is no JSON"),
        ("-Infinity", "infinity is no JSON"), ('{"a": 1, "a": 2}', "a name occurs twice"),
        ('{"a": 1, "\\u0061": 1}', "a name occurs twice, once escaped"),
        ("[1, 2,]", "a comma too many"), ("{'a': 1}", "quotes of another language"),
        ('{"a": 1} // one', "a remark"), ("[01]", "a leading zero"), ("[+1]", "a plus sign"),
        ("[.5]", "no digit before the point"), ("[1.]", "no digit behind the point"),
        ('["\t"]', "a control character"), ('"\\ud800"', "half a character"),
        ("\ufeff[]", "a byte order mark"), ("[1] [2]", "two values"), ("", "nothing"),
        ("True", "a word of another language"), ("[\u0661]", "digits of another script"),
        ('["\\x41"]', "an escape that JSON does not have"), ("[1_000]", "an underscore"),
        ('{"a": 1', "an object that never ends"), ("\u00a0[]", "a space that JSON does not have"),
    ]:  # fmt: skip
        key.add(text, any_value, NO, why, "generator: grammar of RFC 8259")
    for text in ("[]", " {} ", '"\\ud83d\\ude00"', "-0", "1E+2", '"\\u0000"', '[[["\\/"]]]'):
        key.add(text, any_value, YES, "JSON of another form", "generator: grammar of RFC 8259")
    key.add(
        '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', _OPEN, NO, "two answers", "convention"
    )
    key.add('Sure! {"a": 1}', _OPEN, NO, "talk around JSON without a mark", "convention")
    key.add('<answer>{"a": 1}</answer> or <answer>{"a": 2}</answer>', _OPEN, NO, "a hedge",
            "known hack")  # fmt: skip
    key.add('```python\nprint(1)\n```\n```json\n{"a": 1}\n```', _OPEN, YES,
            "a block of another language is not the answer", "convention")  # fmt: skip
    key.add('<think>{"a": 1}', _OPEN, NO, "thought that never ends", "convention")
    key.add('~~~~json\n{"a": 1}\n~~~~', _OPEN, YES, "a fence of tildes", "convention")
    key.add('{"a": 1}', {"schema": json.dumps(_OPEN["schema"])}, YES, "a schema as text",
            "convention")  # fmt: skip
    key.add('{"b": 1}', {"schema": json.dumps(_OPEN["schema"])}, NO, "a schema as text",
            "convention")  # fmt: skip
    key.add(binary(b'{"a": 1}'), _OPEN, YES, "bytes", "convention")
    key.add(binary(b'{"a": "\xff"}'), _OPEN, NO, "bytes that are no text", "convention")
    broken = "the task's schema"
    key.broken('{"a": 1}', [
        ({}, "no schema", "no schema"),
        ({"schema": None}, "no schema", "an empty schema"),
        ({"schema": {"type": "integr"}}, broken, "a type that does not exist"),
        ({"schema": {"minimum": "3"}}, broken, "a bound that is text"),
        ({"schema": {"pattern": "("}}, broken, "a pattern that is none"),
        ({"schema": {"$ref": "#/$defs/gone"}}, broken, "a reference to nothing"),
        ({"schema": {"$ref": "https://127.0.0.1:9/schema"}}, broken, "a reference to the network"),
        ({"schema": {"$ref": "file:///etc/hostname"}}, broken, "a reference to a file"),
        ({"schema": "{"}, broken, "text that is no JSON"),
        ({"schema": 7}, broken, "a number"),
        ({"schema": ["a"]}, broken, "a list"),
        ({"schema": {"$schema": "https://example.com/mine"}}, broken, "an unknown dialect"),
    ])  # fmt: skip
    for parts, why in [
        ([["[", 100_000], ["]", 100_000]], "arrays 100,000 deep"),
        ([['{"a":', 100_000]], "objects 100,000 deep that never end"),
        ([["[", 100_000]], "brackets 100,000 deep"),
        ([["1", 1_000_000]], "an integer of a million digits"),
        ([["0.", 1], ["3", 1_000_000]], "a fraction of a million digits"),
        ([["1e999999999", 1]], "an exponent without end"),
        ([["[1e-999999999]", 1]], "an exponent without end, downwards"),
        ([['"', 1], ["x", 10_000_000], ['"', 1]], "ten million characters"),
        ([["[", 1], ["0,", 3_000_000], ["0]", 1]], "three million items"),
        ([['{"a": 1', 1], [', "a": 1', 10_000], ["}", 1]], "a name ten thousand times"),
        ([["\\", 1_000_000]], "backslashes"), ([['"\\u', 100_000]], "escapes that never end"),
        ([["```", 300_000]], "fences"), ([["<answer>", 100_000]], "marks"),
        ([["\u202e{}", 1]], "a mark that turns the direction of writing"),
        ([["\0", 1000]], "NUL"), ([["{}\0", 1]], "NUL behind JSON"),
    ]:  # fmt: skip
        key.hostile(parts, {"schema": {"type": ["object", "array"]}}, why)
    for schema, parts, why in [
        ({"pattern": "^(a+)+$"}, [['"', 1], ["a", 50_000], ['!"', 1]], "nested repetition"),
        ({"pattern": r"^(a|aa)+\1$"}, [['"', 1], ["a", 60], ['!"', 1]], "a back reference"),
        ({"pattern": "^(?=a)(a|a?)+$"}, [['"', 1], ["a", 60], ['!"', 1]], "a look ahead"),
        ({"not": {"pattern": r"^(a|aa)+\1$"}}, [['"', 1], ["a", 60], ['!"', 1]],
         "a pattern beyond bounds, negated"),
        ({"format": "email"}, [['"', 1], ["a@", 100_000], ['"', 1]], "an address without end"),
        ({"uniqueItems": True}, [["[", 1], ["[0],", 100_000], ["[0]]", 1]], "alike items"),
    ]:  # fmt: skip
        key.hostile(parts, {"schema": schema}, why)

    for depth, outcome in ((64, YES), (65, NO)):
        key.add("[" * depth + '"[{"' + "]" * depth, any_value, outcome,
                "depth, in which brackets in texts don't count", "generator: the bound")  # fmt: skip
        key.add("[[]," * depth + "0" + "]" * depth, any_value, NO if depth > 63 else YES,  # noqa: PLR2004
                "an array beside each array counts once", "generator: the bound")  # fmt: skip
    for text, outcome in (
        ("0." + "3" * 398, YES), ("0." + "3" * 399, NO), ("1e-400", YES), ("1E-401", NO),
    ):  # fmt: skip
        key.add(text, any_value, outcome, "bounds of a number", "generator: the bound")


# ---- table-schema


def _table(*columns: Any, **more: Any) -> Row:
    made = [{"name": c} if isinstance(c, str) else c for c in columns]
    return {"table": {"columns": made, **more}}


def _column(name: str, of: str, **more: Any) -> Row:
    return {"name": name, "type": of, **more}


def _parquet(data: dict[str, Any], types: dict[str, str] | None = None, **how: Any) -> Row:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {
        name: pa.array(
            values, type=getattr(pa, types[name])() if types and name in types else None
        )
        for name, values in data.items()
    }
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out, **how)
    return binary(out.getvalue())


_PLAIN = _table(_column("id", "integer"), _column("name", "text"))
_ROWS = "id,name\n1,ada\n2,bob\n"


def table_schema(key: Key) -> None:
    """Columns, types, nulls, keys, counts and ranges, in CSV and Parquet."""
    how = "generator: the file is made from the schema"
    one: Callable[..., Row] = lambda of, **more: _table(_column("v", of, **more))  # noqa: E731
    pairs: list[tuple[str, str, Row, str]] = [
        (_ROWS, "id,nome\n1,ada\n", _PLAIN, "a column's name"),
        (_ROWS, "name,id\nada,1\n", _PLAIN, "the order of columns"),
        (_ROWS, "id,name,age\n1,ada,3\n", _PLAIN, "a column too many"),
        (_ROWS, "id\n1\n", _PLAIN, "a column too few"),
        ('id,name\n1,"a,b"\n', "id,name\n1,a,b\n", _PLAIN, "a comma in a cell"),
        ('id,name\n1,"a\nb"\n', "id,name\n1,a\nb\n", _PLAIN, "a line break in a cell"),
        ("v\n7\n-3\n", "v\n7\n-3.0\n", one("integer"), "integers"),
        ("v\n0\n", "v\n00\n", one("integer"), "a leading zero"),
        ("v\n1000\n", "v\n1_000\n", one("integer"), "an underscore"),
        ("v\n9223372036854775807\n", "v\n9223372036854775808\n", one("integer"), "64 bits"),
        ("v\n1.5e3\n2\n", "v\n1.5e\n2\n", one("number"), "numbers"),
        ("v\n1e308\n", "v\n1e400\n", one("number"), "a number beyond doubles"),
        ("v\n0.5\n", "v\nNaN\n", one("number"), "NaN"),
        ("v\n-1\n", "v\n-inf\n", one("number"), "infinity"),
        ("v\ntrue\nfalse\n", "v\ntrue\n0\n", one("boolean"), "truth values"),
        ("v\n2024-02-29\n", "v\n2023-02-29\n", one("date"), "a day that exists"),
        ("v\n2024-03-01\n", "v\n01/03/2024\n", one("date"), "how a day is written"),
        ("v\n2024-03-01T10:00:00Z\n", "v\n2024-03-01T25:00:00Z\n", one("timestamp"), "an hour"),
        ("v\n1\n", 'v\n1\n""\n', one("integer"), "a quoted nothing is no integer"),
        ("v,w\n1,a\n,b\n", "v,w\n1,a\n?,b\n",
         _table(_column("v", "integer", nullable=True), _column("w", "text")), "a null"),
        ('v,w\n1,a\n2,""\n', "v,w\n1,a\n2,\n",
         _table(_column("v", "integer"), _column("w", "text")), "empty text is no null"),
        ("v\n0\n10\n", "v\n0\n11\n", one("integer", minimum=0, maximum=10), "a range"),
        ("v\n0.1\n", "v\n0.09\n", one("number", minimum=0.1), "a least number"),
        ("v\n2024-01-01\n", "v\n2023-12-31\n", one("date", minimum="2024-01-01"), "a first day"),
        ("v\n1\n2\n", "v\n1\n1\n", one("integer", unique=True), "distinct values"),
        ("v\nred\n", "v\nRed\n", one("text", values=["red", "blue"]), "allowed values"),
        ("v\n1\n", "v\n3\n", one("integer", values=[1, 2]), "allowed numbers"),
        ("a,b\n1,1\n1,2\n", "a,b\n1,1\n1,1\n",
         _table(_column("a", "integer"), _column("b", "integer"), key=["a", "b"]),
         "a key of two columns"),
        ("v\n1\n2\n", "v\n1\n", _table(_column("v", "integer"), least_rows=2), "fewest rows"),
        ("v\n1\n2\n", "v\n1\n2\n3\n", _table(_column("v", "integer"), most_rows=2), "most rows"),
        ("b,a\n1,2\n", "b,c\n1,2\n",
         _table(_column("a", "integer"), _column("b", "integer"), ordered=False), "any order"),
        ("a,z\n1,2\n", "z,z\n1,2\n", _table(_column("a", "integer"), other_columns=True),
         "other columns"),
        ("a;b\n1;2\n", "a,b\n1,2\n",
         _table(_column("a", "integer"), _column("b", "integer"), delimiter=";"), "a delimiter"),
    ]  # fmt: skip
    for right, wrong, task, why in pairs:
        key.pair(right, wrong, task, why, how)
    key.pair(f"```csv\n{_ROWS}```", f"```csv\n{_ROWS}```\n```csv\nid,name\n3,eve\n```", _PLAIN,
             "a block, and two of them", "convention")  # fmt: skip
    key.pair(f"<answer>\n{_ROWS}</answer>", f"Here you are:\n{_ROWS}", _PLAIN, "talk around it",
             "convention")  # fmt: skip
    for text, why in [
        ("", "nothing"), ("id,name", "a header without rows"), ("id,id\n1,2\n", "a name twice"),
        ("1,ada\n2,bob\n", "no header"), ("id,name\n1\n", "a short row"),
        ('id,name\n1,"ada\n', "a quote that never ends"), ("id,name\n\u0661,ada\n", "a script"),
        ("id,n\u0430me\n1,ada\n", "a letter that looks alike"),
        ("| id | name |\n|---|---|\n| 1 | ada |", "a table of Markdown"),
        ("id,name\n1, ada\n 2,bob\n", "a space before a number"),
    ]:  # fmt: skip
        key.add(text, _PLAIN, NO, why, "convention")
    key.add(binary(_ROWS.encode()), _PLAIN, YES, "bytes of CSV", "convention")
    key.add(binary(b"id,name\n1,\xff\n"), _PLAIN, NO, "bytes that are no text", "convention")
    file: Callable[..., Row] = lambda *c, **m: _table(*c, format="parquet", **m)  # noqa: E731
    both = file(_column("id", "integer"), _column("name", "text"))
    key.pair(
        _parquet({"id": [1, 2], "name": ["a", "b"]}),
        _parquet({"id": ["1", "2"], "name": ["a", "b"]}),
        both,
        "a type in Parquet",
        how,
    )
    key.pair(_parquet({"id": [1], "name": ["a"]}, compression="zstd"),
             _parquet({"id": [None], "name": ["a"]}, {"id": "int64"}), both,
             "a null in Parquet", how)  # fmt: skip
    number = file(_column("v", "number", minimum=0))
    key.pair(_parquet({"v": [0.0, 1.5]}), _parquet({"v": [0.0, float("nan")]}), number,
             "NaN in Parquet", how)  # fmt: skip
    key.pair(_parquet({"v": [0.0]}), _parquet({"v": [-5e-324]}), number, "a range in Parquet", how)
    key.pair(
        _parquet({"v": [1, 2]}, {"v": "int8"}),
        _parquet({"v": [1, 1]}, {"v": "int8"}),
        file(_column("v", "integer", unique=True)),
        "distinct values in Parquet",
        how,
    )
    key.pair(_parquet({"v": ["a"] * 9}, use_dictionary=True), _parquet({"v": [["a"]] * 9}),
             file(_column("v", "text")), "a list is no text", how)  # fmt: skip
    key.add(_ROWS, both, NO, "CSV where Parquet is wanted", "convention")
    key.add(binary(b"PAR1" + b"\0" * 40 + b"PAR1"), both, NO, "a broken file", "convention")
    key.add(_parquet({"id": [1], "name": ["a"]}), _PLAIN, NO, "Parquet where CSV is wanted",
            "convention")  # fmt: skip
    wrong = "the task's table"
    key.broken(_ROWS, [
        ({}, "no table", "no schema"),
        ({"table": {}}, wrong, "no columns"),
        ({"table": {"columns": []}}, wrong, "an empty list of columns"),
        (_table(_column("id", "int")), wrong, "an unknown type"),
        (_table(_column("id", "integer", minimum="a")), wrong, "a bound of another type"),
        (_table(_column("id", "integer"), _column("id", "text")), wrong, "a column twice"),
        (_table(_column("id", "integer"), key=["nr"]), wrong, "a key of no column"),
        (_table(_column("id", "integer"), rows=3), wrong, "an unknown field"),
        (_table(_column("id", "integer"), format="xlsx"), wrong, "an unknown format"),
        (_table(_column("id", "integer", minimum=3, maximum=2)), wrong, "an empty range"),
        (_table(_column("id", "integer"), least_rows=3, most_rows=2), wrong, "an empty count"),
    ])  # fmt: skip
    for parts, why in [
        ([["id,name\n", 1], ["1,a\n", 2_500_000]], "ten million characters"),
        ([["id,name\n1,", 1], ["9", 1_000_000], ["\n", 1]], "a cell of a million digits" ),
        ([["id,name\n", 1], ["9", 1_000_000], [",a\n", 1]], "an integer of a million digits"),
        ([["a,", 500_000], ["b\n", 1]], "half a million columns"),
        ([['"', 1_000_000]], "quotes"), ([["\n", 1_000_000]], "empty lines"),
        ([["id,name\n1,\0\n", 1], ["\0", 100], ["\n", 1]], "NUL"),
        ([["\ufeffid,name\n1,a,b\n", 1]], "a byte order mark and a cell too many"),
        ([["\u202eid,name\n1,a\n", 1]], "a mark that turns the direction of writing"),
        ([["id,name\n=HYPERLINK(1),a\n", 1]], "a formula for a number"),
        ([["[", 100_000]], "brackets"), ([["id,name\r", 300_000]], "returns"),
    ]:  # fmt: skip
        key.hostile(parts, _PLAIN, why)
    _hostile_parquet(key, both)
    key.pair("v\n2024-03-01 10:00:00\n2024-03-01T10:00:00+02:00\n",
             "v\n2024-03-01 10:00:00\n2024-03-01T10:00:00 +02:00\n", one("timestamp"),
             "times with and without a zone", how)  # fmt: skip
    key.pair("t\n2024-03-01T02:00:00+02:00\n", "t\n2024-03-01T01:59:59+02:00\n",
             _table(_column("t", "timestamp", minimum="2024-03-01T00:00:00")),
             "times are compared in UTC", how)  # fmt: skip
    key.pair("t\n2024-03-01T00:00:00Z\n", "t\n2024-03-01T00:00:00.000001Z\n",
             _table(_column("t", "timestamp", maximum="2024-03-01T00:00:00Z")),
             "a last moment", how)  # fmt: skip
    key.broken(_ROWS, [
        (_table(_column("id", "text", minimum="a")), wrong, "a bound of text"),
        (_table(_column("id", "boolean", maximum=True)), wrong, "a bound of truth values"),
        (_table(_column("id", "integer", minimum=True)), wrong, "a truth value for a number"),
        (_table(_column("id", "number", values=["1"])), wrong, "text for a number"),
        (_table(_column("id", "date", minimum="2024-13-01")), wrong, "a month that is none"),
        (_table(_column("id", "integer"), delimiter="ab"), wrong, "a delimiter of two signs"),
    ])  # fmt: skip
    key.add("a,b\n,1\n2,1\n", _table(_column("a", "integer", nullable=True),
            _column("b", "integer"), key=["a"]), NO, "a null in a key", how)  # fmt: skip
    key.add("a\n", _table(_column("a", "integer"), least_rows=0), YES, "no rows are allowed", how)
    key.add("a\n", _table(_column("a", "integer")), NO, "a table has a row", how)
    key.add("v\ntrue\n", one("boolean", values=[True]), YES, "an allowed truth value", how)
    key.add("v\nfalse\n", one("boolean", values=[True]), NO, "another truth value", how)
    key.add("v\n2024-01-02\n", one("date", maximum="2024-01-01"), NO, "a last day", how)
    empty = _parquet({"v": []}, {"v": "int64"})
    none = file(_column("v", "integer", minimum=3, values=[3], unique=True), least_rows=0)
    key.add(empty, none, YES, "a file without rows, where that is allowed", how)
    key.add(empty, file(_column("v", "integer")), NO, "a file without rows", how)
    dictionary = {"v": _dictionary(["a", "b", "a"])}
    key.pair(_parquet(dictionary), _parquet({"v": _dictionary([1, 2, 1])}),
             file(_column("v", "text")), "a dictionary of texts", how)  # fmt: skip
    key.pair("v,w\n1,\n2,\n", "v,w\n1,\n2,x\n",
             _table(_column("v", "integer"), _column("w", "number", nullable=True)),
             "a column of nulls", how)  # fmt: skip


def _dictionary(values: list[Any]) -> Any:
    """A column that a file holds as numbers into a dictionary."""
    import pyarrow as pa

    return pa.array(values).dictionary_encode()


def _hostile_parquet(key: Key, task: Row) -> None:
    import pyarrow as pa

    whole = base64.b64decode(_parquet({"id": [1, 2], "name": ["a", "b"]})["base64"])
    for at in (4, 8, len(whole) // 2, len(whole) - 60):
        key.hostile(binary(whole[:at] + b"\xff\xfe\xfd\xfc" + whole[at + 4 :]), task,
                    f"bytes overwritten at {at}")  # fmt: skip
    key.hostile(binary(whole[:-8] + b"\xff\xff\xff\x7fPAR1"), task, "a footer of two gigabytes")
    key.hostile(binary(whole[:-8] + b"\0\0\0\0PAR1"), task, "a footer of no bytes")
    key.hostile(binary(whole[: len(whole) // 2]), task, "half a file")
    bomb = ["x" * 100_000] * 2000
    key.hostile(
        _parquet({"id": list(range(2000)), "name": bomb}, compression="zstd",
                 use_dictionary=False, write_statistics=False), task,
        "200 MB of text in a few kilobytes",
    )  # fmt: skip
    key.hostile(
        _parquet({"id": [1] * 5_000_000, "name": pa.repeat("x", 5_000_000)},
                 row_group_size=5_000_000, data_page_size=1 << 30, compression="zstd"),
        task, "one group of five million rows",
    )  # fmt: skip
    wide = {f"c{n}": [1] for n in range(300)}
    small: Row = {"write_statistics": False, "store_schema": False, "use_dictionary": False}
    key.hostile(_parquet(wide, **small), task, "three hundred columns")
    nested: Any = 1
    for _ in range(60):
        nested = [nested]
    key.hostile(_parquet({"id": [nested], "name": ["a"]}), task, "lists sixty deep")


if __name__ == "__main__":
    write({"json-schema": json_schema, "table-schema": table_schema}, sys.argv[1:])
