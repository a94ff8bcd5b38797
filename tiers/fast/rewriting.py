"""Test code in fewer forms: what compares without a comparison is written as one.

| Written | Read as |
|---|---|
| `a == b == c` | `a == b and b == c`, where `b` is computed once |
| `match x:` with `case 9:` | `case other if other == 9:`, at every depth |
| `operator.eq`, `ne`, `contains` | `lambda one, two: one == two`, and so on |
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from typing import Any

from verifier_ladder.tiers.fast.literals import is_plain

_FUNCTIONS = {
    "eq": "lambda one, two: one == two",
    "ne": "lambda one, two: one != two",
    "contains": "lambda one, two: two in one",
}
"""What functions of `operator` compute."""


def rewritten(body: list[ast.stmt]) -> list[ast.stmt]:
    """Write statements in fewer forms; they do the same.

    Example:
        >>> body = ast.parse("assert f(3) == 9 == x").body
        >>> ast.unparse(rewritten(body)[0])
        'assert f(3) == 9 and 9 == x'
    """
    writer = _Writer(dict(_imported(body)))
    return [writer.visit(each) for each in body]


def _imported(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Names that stand for functions of `operator`, as they are written, and for which."""
    for node in ast.walk(ast.Module(body, [])):
        match node:
            case ast.Import(names):
                modules = [each.asname or each.name for each in names if each.name == "operator"]
                yield from ((f"{each}.{name}", name) for each in modules for name in _FUNCTIONS)
            case ast.ImportFrom("operator", names):
                yield from ((each.asname or each.name, each.name) for each in names)


class _Writer(ast.NodeTransformer):
    def __init__(self, functions: Mapping[str, str]) -> None:
        self._functions, self._names, self._is_bound = functions, 0, False

    # ---- Functions of `operator`

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._function(node) or node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return self._function(node) or self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Leave a call alone whose answer is dropped: it asserts nothing."""
        if isinstance(node.value, ast.Call) and self._function(node.value.func):
            return node
        return self.generic_visit(node)

    def _function(self, node: ast.expr) -> ast.expr | None:
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            return None
        text = _FUNCTIONS.get(self._functions.get(ast.unparse(node), ""))
        return ast.parse(text, mode="eval").body if text else None

    # ---- Chains

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        middle = node.comparators[:-1]
        if not middle or (self._is_bound and not all(map(_is_the_same_twice, middle))):
            return node
        pairs = [(each, copy.deepcopy(each)) if _is_the_same_twice(each) else self._kept(each)
                 for each in middle]  # fmt: skip
        rights = [*(first for first, _ in pairs), node.comparators[-1]]
        lefts = [node.left, *(again for _, again in pairs)]
        parts = zip(lefts, node.ops, rights, strict=True)
        return ast.BoolOp(
            ast.And(), [ast.Compare(left, [op], [right]) for left, op, right in parts]
        )

    def _kept(self, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """A value that is given a name, and the name."""
        name = self._name()
        return ast.NamedExpr(ast.Name(name, ast.Store()), value), ast.Name(name, ast.Load())

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        """Give no value a name where Python lets nobody do so."""
        node.ifs = [self.visit(each) for each in node.ifs]
        node.iter = self._bound(node.iter)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = [self._bound(each) for each in node.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        kept, self._is_bound = self._is_bound, False
        self.generic_visit(node)
        self._is_bound = kept
        return node

    def _bound(self, node: ast.AST) -> Any:
        kept, self._is_bound = self._is_bound, True
        made = self.visit(node)
        self._is_bound = kept
        return made

    # ---- Patterns

    def visit_match_case(self, node: ast.match_case) -> Any:
        self.generic_visit(node)
        tests: list[ast.expr] = []
        node.pattern = self._opened(node.pattern, tests)
        if tests:
            tests += [node.guard] if node.guard else []
            node.guard = ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0]
        return node

    def _opened(self, pattern: Any, tests: list[ast.expr]) -> Any:
        """A pattern in which values have become names, which the tests compare."""
        match pattern:
            case ast.MatchValue() | ast.MatchSingleton():
                return self._met([pattern], tests)
            case ast.MatchOr(patterns):
                simple = all(isinstance(p, (ast.MatchValue, ast.MatchSingleton)) for p in patterns)
                return self._met(patterns, tests) if simple else pattern
        for name, value in ast.iter_fields(pattern):
            if isinstance(value, list) and "patterns" in name:
                setattr(pattern, name, [self._opened(each, tests) for each in value])
            elif isinstance(value, ast.pattern):
                pattern.pattern = self._opened(value, tests)
        return pattern

    def _met(self, patterns: list[Any], tests: list[ast.expr]) -> ast.pattern:
        name = self._name()
        asked: list[ast.expr] = [
            ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [each.value])
            if isinstance(each, ast.MatchValue)
            else ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Constant(each.value)])
            for each in patterns
        ]
        tests.append(ast.BoolOp(ast.Or(), asked) if len(asked) > 1 else asked[0])
        return ast.MatchAs(name=name)

    def _name(self) -> str:
        self._names += 1
        return f"_value_{self._names}"


def _is_the_same_twice(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or is_plain(node)
