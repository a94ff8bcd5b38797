"""A query with one thing changed: what databases must tell apart from the query itself.

Where no database does, they say too little of the query: a condition that never holds on any of
them might as well be left out, or be the whole answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

_MOST = 40
"""Changed queries of one kind."""
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(.*)", re.DOTALL)
_DIGITS = re.compile(r"\d{1,9}")
_PLACES = {
    "Where": "WHERE", "Having": "HAVING", "Join": "ON", "Qualify": "QUALIFY", "If": "CASE",
    "Filter": "FILTER",
}  # fmt: skip
"""What a condition stands in, by sqlglot's name."""


@dataclass(frozen=True)
class Mutant:
    """A query with one thing changed."""

    tree: Any
    decides: bool = False
    """Whether a task can't be judged where nothing tells it from the query."""
    what: str = ""
    """What nothing tells then."""
    alone: tuple[Any, Any] | None = None
    """Two queries that differ where a part of a condition matters, were it the whole one."""


def mutants(tree: Any, checked: frozenset[str]) -> list[Mutant]:
    """Conditions that always hold or never, then constants and comparisons next to a query's own.

    Args:
        tree: The query's syntax tree.
        checked: Names of columns, in small letters, that the schema's checks speak of.

    Example:
        >>> import sqlglot
        >>> tree = sqlglot.parse_one("SELECT a FROM t WHERE a > 5")
        >>> [each.tree.sql() for each in mutants(tree, frozenset())][:2]
        ['SELECT a FROM t WHERE TRUE', 'SELECT a FROM t WHERE FALSE']
    """
    nodes = list(tree.walk())
    held = [each for root in _roots(nodes) for each in _held(tree, root, checked)]
    near = [Mutant(_with(tree, node, new)) for node in nodes for new in _next_to(node)]
    return [*held[:_MOST], *near[:_MOST]]


def _with(tree: Any, node: Any, new: Any) -> Any:
    """A copy of a tree with another node in one place."""
    path = []
    while node is not tree:
        path.append((node.arg_key, node.index))
        node = node.parent
    copy = found = tree.copy()
    for key, index in reversed(path):
        found = found.args[key] if index is None else found.args[key][index]
    found.replace(new.copy())
    return copy


# ---- Conditions


def _bare(node: Any) -> Any:
    """What stands in brackets."""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _roots(nodes: list[Any]) -> Iterator[Any]:
    """Whole conditions: of a clause, of a CASE, or a comparison that is a value."""
    from sqlglot import exp

    values = (exp.Predicate, exp.Connector, exp.Not)
    for node in nodes:
        parent = node.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        if isinstance(node, exp.Paren) or parent is None or node.find_ancestor(exp.Ordered):
            continue
        if isinstance(parent, (exp.Connector, exp.Not, exp.Any, exp.All)):
            continue
        is_condition = isinstance(node, values) and not isinstance(node, (exp.Any, exp.All))
        if (is_condition or _is_clause(node, parent)) and node.find(exp.Column):
            yield node


def _is_clause(node: Any, parent: Any) -> bool:
    """Whether a node is the condition of a clause."""
    from sqlglot import exp

    if isinstance(parent, exp.If):
        is_plain = isinstance(parent.parent, exp.Case) and parent.parent.this is not None
        return not is_plain and _bare(parent.this) is node
    if isinstance(parent, exp.Join):
        return _bare(parent.args.get("on")) is node
    return isinstance(parent, (exp.Where, exp.Having, exp.Qualify)) and _bare(parent.this) is node


def _held(tree: Any, root: Any, checked: frozenset[str]) -> Iterator[Mutant]:
    """A condition, and its parts, as if they always held or never did."""
    from sqlglot import exp

    waiting = [root]
    while waiting:
        node = _bare(waiting.pop(0))
        if isinstance(node, (exp.Connector, exp.Not)):
            waiting += [each for each in node.args.values() if isinstance(each, exp.Expression)]
        for value in (True, False):
            new = exp.Boolean(this=value)
            alone = None
            if node is not root:
                alone = (_with(tree, root, node), _with(tree, root, new))
            decides = node.find(exp.Column) is not None and not _is_given(node, value, checked)
            yield Mutant(_with(tree, node, new), decides, _words(root, fails=value), alone)


def _is_given(node: Any, value: bool, checked: frozenset[str]) -> bool:  # noqa: FBT001
    """Whether a schema may well be why a condition always holds, or never does."""
    from sqlglot import exp

    bare = _bare(node.this) if isinstance(node, exp.Not) else node
    if isinstance(bare, exp.Is):
        return True
    names = {column.name.lower() for column in node.find_all(exp.Column)}
    has_constant = node.find(exp.Literal) is not None
    return bool(names & checked) or (value and not has_constant)


def _words(root: Any, *, fails: bool) -> str:
    parent = root.parent
    while parent is not None and type(parent).__name__ == "Paren":
        parent = parent.parent
    if type(parent).__name__ == "Where" and type(parent.parent).__name__ == "Filter":
        parent = parent.parent
    place = _PLACES.get(type(parent).__name__, "")
    of = f"condition in its {place}" if place else "comparison among its values"
    return f"a {of} {'always holds' if fails else 'never holds'}"


# ---- Constants and comparisons


def _next_to(node: Any) -> Iterator[Any]:
    """What may stand for a constant or a comparison."""
    from sqlglot import exp

    swapped = {exp.LT: exp.LTE, exp.LTE: exp.LT, exp.GT: exp.GTE, exp.GTE: exp.GT}
    other = swapped.get(type(node))
    if other is not None:
        yield other(this=node.this.copy(), expression=node.expression.copy())
    is_place = isinstance(node.parent, (exp.Ordered, exp.Group))
    if isinstance(node, exp.Literal) and not is_place and not node.find_ancestor(exp.DataType):
        yield from _constants(node)


def _constants(node: Any) -> Iterator[Any]:
    from sqlglot import exp

    text, found = node.name, _ISO.fullmatch(node.name)
    if node.is_string and found:
        try:
            day = date.fromisoformat(found[1])
            days = [day - timedelta(1), day + timedelta(1)]
        except (ValueError, OverflowError):
            return
        yield from (exp.Literal.string(f"{each.isoformat()}{found[2]}") for each in days)
    elif _DIGITS.fullmatch(text):
        for number in (int(text) - 1, int(text) + 1):
            if number >= 0:
                new = str(number).zfill(len(text)) if node.is_string else str(number)
                yield exp.Literal(this=new, is_string=node.is_string)
