"""Names before values: `x` of `x = 5`, `f(3)`, `AB`, `P(X = 2)`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from verifier_ladder.tiers.fast.mathnumbers import EXPRESSIONS, names
from verifier_ladder.tiers.fast.mathtext import Tree
from verifier_ladder.tiers.fast.mathunits import CHANGING

_FUNCTIONS = frozenset({"f", "g", "h", "F", "G", "P", "p", "q", "Q", "u", "v", "T"})
"""Letters before brackets that are functions, and no factors."""
_GIVEN = EXPRESSIONS - {"pm"} | {"pair", "tuple", "rel", "given"}
"""What a function is given."""


class Statement(NamedTuple):
    """An answer without the names before it."""

    label: str
    """`x` of `x = 5`; "" if there is none, `*` for one that can't be compared, such as `f(3)`."""
    value: Tree
    equation: tuple[str, Tree, Tree] | None
    """Operator and sides, of a relation."""


def statement(tree: Tree) -> Statement:  # noqa: PLR0911 - one for each form
    """Take the names before a value off."""
    if tree[0] == "list":
        return _named_list(tree)
    if tree[0] != "rel":
        return Statement("", tree, None)
    operators, parts = tree[1], tree[2:]
    if operators == ("in",) and is_label(parts[0]):
        return Statement(_label(parts[0]), parts[1], None)
    if set(operators) != {"="}:
        equation = (operators[0], parts[0], parts[1]) if len(parts) == 2 else None  # noqa: PLR2004
        return Statement("", tree, equation)
    equation = ("=", parts[0], parts[1]) if len(parts) == 2 else None  # noqa: PLR2004
    own = names(parts[0]) if parts[0][0] == "sym" else frozenset()
    if is_label(parts[0]) and own.isdisjoint(names(parts[-1])):
        return Statement(_label(parts[0]), parts[-1], equation)
    if len(parts) == 2 and parts[1][0] == "sym" and not names(parts[0]):  # noqa: PLR2004
        return Statement(_label(parts[1]), parts[0], equation)
    if not any(map(_is_about_names, parts)):
        return Statement("", parts[-1], None)
    return Statement("", tree, equation)


def _is_about_names(part: Tree) -> bool:
    """Whether a side of an equation keeps it from saying a value: it has unknowns, or denies."""
    if part[0] == "quantity":
        changes = not CHANGING.isdisjoint(part[2].split()) or "not" in part[2].split()
        return changes or bool(names(part) and not is_label(part[1]))
    return bool(names(part)) if part[0] in EXPRESSIONS else _is_denial(part)


def _is_denial(tree: Tree) -> bool:
    r"""Whether words deny what follows: `\text{not } x`."""
    return tree[0] == "word" and "not" in tree[1].split()


def _named_list(tree: Tree) -> Statement:
    """`n = 1, 2, 3`: the name belongs to all that follow."""
    first, rest = tree[2], tree[3:]
    if first[0] == "rel" and set(first[1]) == {"="} and all(part[0] != "rel" for part in rest):
        named = statement(first)
        if named.label:
            return Statement(named.label, ("list", tree[1], named.value, *rest), None)
    return Statement("", tree, None)


def is_label(tree: Tree) -> bool:
    r"""Whether a tree is a name: `x`, `f(3)`, `AB`, `|AB|`, `\frac{dy}{dx}`, words."""
    if tree[0] in {"sym", "word"}:
        return not _is_denial(tree)
    if tree[:2] == ("call", "abs"):
        return _is_figure(tree[2]) and tree[2][0] == "mul"
    if tree[0] == "div":
        return all(part[0] == "mul" and part[1] == ("sym", "d") for part in tree[1:])
    return bool(tree[0] == "mul") and (_is_call(*tree[1:]) or _is_figure(tree))


def _is_call(function: Tree, argument: Tree) -> bool:
    """Whether a product is the value of a function: `f(3)`, `f(g(x))`, `f^{-1}(x)`, `P(X = 2)`."""
    if function[0] == "pow" and function[2] == ("neg", ("num", Fraction(1))):
        function = function[1]
    is_function = function[0] == "sym" and function[1].rstrip("'") in _FUNCTIONS
    return bool(is_function and argument[0] in _GIVEN)


def _is_figure(tree: Tree) -> bool:
    """Whether a product is a figure by its corners: `AB`, `ABC`."""
    if tree[0] == "sym":
        return bool(tree[1].isupper())
    return bool(tree[0] == "mul") and all(map(_is_figure, tree[1:]))


def _label(tree: Tree) -> str:
    return str(tree[1]) if tree[0] == "sym" else "*"


def name_of(tree: Tree) -> Tree | None:
    """What stands before a value and an equals sign, if it is a name."""
    is_named = tree[0] == "rel" and set(tree[1]) == {"="} and is_label(tree[2])
    return tree[2] if is_named else None


def tell_apart(named: Sequence[Tree | None]) -> bool:
    """Whether each name is another unknown's, so that values without any stand in order."""
    unknowns = {unknown_of(name[1]) if name[0] == "sym" else name for name in named if name}
    return len(unknowns) == len(named) > 1


def unknown_of(label: str) -> str:
    """The letter of a name with an index: `x_1` and `x_2` may be two values of x."""
    return label.partition("_")[0]


def are_others(one: str, other: str) -> bool:
    """Whether two labels are those of different unknowns."""
    if not one or not other or one == other:
        return False
    return unknown_of(one) != unknown_of(other) or ("_" in one and "_" in other)
