"""Test code in fewer forms: it does the same, and what compares is a comparison."""

import ast
from typing import Any

import pytest

from verifier_ladder.tiers.fast.rewriting import rewritten

PATTERNS = """
match f(x):
    case 9 | '9':
        found = 'nine'
    case [9, 0 | None]:
        found = 'two'
    case [9, y] if y:
        found = y
    case {'a': 9}:
        found = 'a'
    case {'a': 1, **rest}:
        found = rest
    case int(8) | None:
        found = 'eight or none'
    case _:
        found = 'other'
"""


def text(code: str) -> str:
    return "\n".join(map(ast.unparse, rewritten(ast.parse(code).body)))


@pytest.mark.parametrize(
    ("code", "same"),
    [
        ("assert f(3) == 9 == x", "assert f(3) == 9 and 9 == x"),
        ("assert a < f() <= b", "assert a < (_value_1 := f()) and _value_1 <= b"),
        ("assert a == b", "assert a == b"),
        ("[x for x in f(a == g() == b)]", "[x for x in f(a == g() == b)]"),
        ("class A:\n    x = a == f() == b", "class A:\n    x = a == f() == b"),
        ("import operator\nassert operator.eq(f(3), 9)",
         "import operator\nassert (lambda one, two: one == two)(f(3), 9)"),
        ("from operator import ne as other\nx = map(other, y, z)",
         "from operator import ne as other\nx = map(lambda one, two: one != two, y, z)"),
        ("import operator as o\no.eq(f(3), 9)", "import operator as o\no.eq(f(3), 9)"),
        ("assert operator.eq(f(3), 9)", "assert operator.eq(f(3), 9)"),
        ("match x:\n    case [9, y] if y:\n        pass",
         "match x:\n    case [_value_1, y] if _value_1 == 9 and y:\n        pass"),
        ("match x:\n    case 8 | None:\n        pass",
         "match x:\n    case _value_1 if _value_1 == 8 or _value_1 is None:\n        pass"),
        ("match x:\n    case P(a=9) as p:\n        pass",
         "match x:\n    case P(a=_value_1) as p if _value_1 == 9:\n        pass"),
        ("match x:\n    case [9, y] | [y, 9]:\n        pass",
         "match x:\n    case [9, y] | [y, 9]:\n        pass"),
    ],
)  # fmt: skip
def test_what_compares_is_written_as_a_comparison(code: str, same: str) -> None:
    assert same == text(code)


@pytest.mark.parametrize("x", [9, 8, None, [9, 1], [9, 0], {"a": 9}, {"a": 1, "b": 2}, "9"])
@pytest.mark.parametrize(
    "code",
    [
        "found = f(x) == 9 == x",
        "found = [n for n in (8, 9) if n == f(x) == 9]",
        "found = operator.contains([9], f(x)) and not operator.ne(x, 9)",
        PATTERNS,
    ],
)
def test_it_does_the_same_and_computes_each_value_once(code: str, x: Any) -> None:
    told = []
    for body in (ast.parse(code).body, rewritten(ast.parse(f"import operator\n{code}").body)):
        asked: list[Any] = []
        space: dict[str, Any] = {"x": x, "f": lambda n, asked=asked: asked.append(n) or n}
        exec("import operator", space)  # noqa: S102
        exec(ast.unparse(ast.fix_missing_locations(ast.Module(body, []))), space)  # noqa: S102
        told.append((space["found"], asked))

    assert told[0] == told[1]
