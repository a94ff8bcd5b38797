r"""Mathematical text: LaTeX or plain notation, read into a tree without evaluating anything.

The reader is our own because the libraries evaluate while they parse: SymPy's `parse_expr` runs
code, and latex2sympy computes `9^9^9^9` before a caller can look at it. Here nothing is computed,
so the only costs are the text's length and depth, and both are bounded.

A tree is a tuple that begins with the name of its kind:

- expressions: `num` (a Fraction), `based` (a Fraction, the base it is written in), `sym`, `const`
  (pi, e, i, inf), `neg`, `add`, `mul`, `div`, `pow`, `call` (name, arguments), `pm` (sign),
  `percent`, `degree`
- collections: `list` (joined by, items), `set`, `tuple`, `pair` (left, right, items), `matrix`,
  `ratio`, `union`, `meet`, `without`, `reals`, `empty`, `ellipsis`, `given` (what stands before a
  bar in brackets, and behind it)
- `circ`, the sign of degrees, which is no answer of its own
- statements: `rel` (operators, parts), `quantity` (expression, unit), `word`, `clock`
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from typing import Any

from verifier_ladder.tiers.fast.mathtokens import (
    DEEPEST,
    JOINTS,
    UnreadableError,
    as_fraction,
    in_base,
    tokens,
)
from verifier_ladder.tiers.fast.mathunits import scaled, unit_worth

Tree = tuple[Any, ...]

MOST_NODES = 600
_RELATIONS = frozenset({"=", "<", ">", "<=", ">=", "!=", "~", "in"})
_CONSTANTS = frozenset({"pi", "inf", "i", "e"})
_AS_WRITTEN = {"clock": "clock", "numbers": "word"}
"""Kinds of tokens that are compared as they are written, and their trees."""
_END = ("end", "")
"""The last token."""
_OPENING, _CLOSING = frozenset({"(", "[", "{", "\\{"}), frozenset({")", "]", "}", "\\}"})
_REALS = frozenset({"all real numbers", "all reals", "the real numbers", "real numbers"})
"""Words for the set of all real numbers."""


class _Reader:
    """A recursive-descent parser over the tokens of one answer."""

    def __init__(self, found: list[tuple[str, str]]) -> None:
        self._tokens: list[tuple[str, Any]] = [*found, _END]
        self._at = 0
        self._depth = 0
        self._depth_of_brackets = 0
        self._depth_of_bars = 0
        self._nodes = 0
        self._script_at = -1
        """Where a script without braces begins: a number there is all of it."""

    # ---- Tokens

    def _peek(self) -> tuple[str, Any]:
        return self._tokens[self._at]

    def _next(self) -> tuple[str, Any]:
        token = self._tokens[self._at]
        if token == _END:
            raise UnreadableError("something is missing")
        self._at += 1
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise UnreadableError("the answer is too long")
        return token

    def _take(self, *values: str) -> str:
        kind, value = self._peek()
        if kind == "op" and value in values:
            self._at += 1
            return str(value)
        return ""

    def _expect(self, value: str) -> None:
        if not self._take(value):
            raise UnreadableError(f"{value!r} is missing before {self._peek()[1]!r}")

    def _skip_gap(self) -> None:
        while self._peek()[0] == "gap":
            self._at += 1

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnreadableError("the answer is nested too deep")

    # ---- Statements

    def answer(self) -> Tree:
        """The whole text."""
        tree = self._items()
        if self._peek()[0] != "end":
            raise UnreadableError(f"unexpected {self._peek()[1]!r}")
        return tree

    def _items(self) -> Tree:
        """Statements joined by commas, `and`, `or`."""
        parts, joints = [self._relation()], set()
        while True:
            self._skip_gap()
            joint = self._take(",", ";", "and", "or")
            if not joint:
                break
            while following := self._take("and", "or"):
                joint = following
            joints.add(JOINTS[joint])
            parts.append(self._relation())
        if not joints:
            return parts[0]
        joined = "or" if "or" in joints else "and" if "and" in joints else ","
        return ("list", joined, *parts)

    def _relation(self) -> Tree:
        parts, operators = [self._ratio()], []
        while operator := self._take(*_RELATIONS):
            operators.append(operator)
            parts.append(self._ratio())
        return ("rel", tuple(operators), *parts) if operators else parts[0]

    def _ratio(self) -> Tree:
        parts = [self._sets()]
        while self._take(":"):
            parts.append(self._sets())
        return ("ratio", *parts) if len(parts) > 1 else parts[0]

    def _sets(self) -> Tree:
        left = self._measured()
        while operator := self._take("cup", "cap", "without"):
            kind = {"cup": "union", "cap": "meet", "without": "without"}[operator]
            left = (kind, left, self._measured())
        return left

    def _measured(self) -> Tree:
        """An expression and its unit, or several with smaller units each: `1 hour 30 minutes`."""
        tree = self._quantity()
        while tree[0] == "quantity" and self._peek()[0] == "num":
            tree = _compound(tree, self._quantity())
        return tree

    def _quantity(self) -> Tree:
        """An expression, and the unit before or behind it."""
        is_negative = self._peek() == ("op", "-") and self._tokens[self._at + 1][0] == "dollar"
        if is_negative:
            self._next()
        unit = self._money()
        tree = ("neg", self._product()) if is_negative else self._sum()
        self._skip_gap()
        if self._peek()[0] == "words" and tree[0] != "word":
            worth, behind = scaled(self._unit())
            if worth != 1:
                tree = ("mul", ("num", worth), tree)
            unit = f"{unit} {behind}".strip()
        unit = unit or self._money()
        if unit:
            return ("quantity", tree, unit)
        return ("quantity", tree[1], "degrees") if tree[0] == "degree" else tree

    def _money(self) -> str:
        """A sign of money; "" if there is none."""
        return str(self._next()[1]).lstrip("\\") if self._peek()[0] == "dollar" else ""

    def _unit(self) -> str:
        """Words behind a number, with powers, quotients and products of such."""
        unit = str(self._next()[1])
        while True:
            if self._take("^"):
                unit += f"^{self._power_of_unit()}"
                self._skip_gap()
            is_joined = self._peek() in {("op", "/"), ("op", "*")}
            if self._tokens[self._at + is_joined][0] != "words":
                return unit
            unit += "/" if self._take("/") else " "
            self._take("*")
            unit += str(self._next()[1])

    def _power_of_unit(self) -> int:
        script = self._script()
        sign, number = (-1, script[1]) if script[0] == "neg" else (1, script)
        if number[0] != "num" or number[1].denominator != 1:
            raise UnreadableError("the power of a unit is no whole number")
        return sign * int(number[1])

    # ---- Expressions

    def _sum(self) -> Tree:
        self._deeper()
        left = self._product()
        while operator := self._take("+", "-", "+-", "-+"):
            right = self._product()
            if operator == "-":
                right = ("neg", right)
            elif operator != "+":
                right = ("pm", operator, right)
            left = ("add", left, right)
        self._depth -= 1
        return left

    def _product(self) -> Tree:
        left = self._signed()
        while True:
            self._skip_gap()
            if self._take("*"):
                left = ("mul", left, self._signed())
            elif self._take("/"):
                left = ("div", left, self._signed())
            elif self._starts_factor():
                left = ("mul", left, self._power())
            else:
                return left

    def _starts_factor(self) -> bool:
        """Whether the next token multiplies what stands before it, without a sign."""
        kind, value = self._peek()
        if kind in {"num", "thousands", "based"}:
            raise UnreadableError("two numbers stand side by side")
        if kind == "op":
            return value in {"(", "{", "pi", "inf", "floor(", "ceil("} or self._opens_bars()
        return kind in {"sym", "func", "frac", "binom", "read", "accent"}

    def _opens_bars(self) -> bool:
        """Whether a bar behind a factor begins an absolute value, which ends as deep."""
        if self._depth_of_bars or self._peek() != ("op", "|"):
            return False
        depth = 0
        for kind, value in self._tokens[self._at + 1 :]:
            depth += (value in _OPENING) - (value in _CLOSING) if kind == "op" else 0
            if depth < 0:
                return False
            if not depth and (kind, value) == ("op", "|"):
                return True
        return False

    def _signed(self) -> Tree:
        self._skip_gap()
        self._deeper()
        operator = self._take("-", "+", "+-", "-+")
        if not operator:
            tree = self._power()
        elif operator == "-":
            tree = ("neg", self._signed())
        elif operator == "+":
            tree = self._signed()
        else:
            tree = ("pm", operator, self._signed())
        self._depth -= 1
        return tree

    def _power(self) -> Tree:
        self._deeper()
        base = self._postfix(self._atom())
        if self._take("^"):
            script = self._script()
            is_degree = script == ("circ",)
            base = ("degree", base) if is_degree else self._postfix(("pow", base, script))
        self._depth -= 1
        return base

    def _postfix(self, tree: Tree) -> Tree:
        while True:
            kind, value = self._peek()
            if kind == "percent":
                tree = ("percent", tree)
            elif (kind, value) == ("op", "!"):
                if self._tokens[self._at + 1] == ("op", "!"):
                    raise UnreadableError("a double factorial is not understood")
                tree = ("call", "factorial", tree)
            else:
                return tree
            self._next()

    def _script(self) -> Tree:
        """What follows `^`: one group, or a sign and one power."""
        if self._take("-"):
            return ("neg", self._script())
        if self._take("+"):
            return self._script()
        self._script_at = self._at
        return self._power()

    def _group(self) -> Tree:
        """The argument of a command: a group in braces, or one token; of digits, one digit."""
        self._skip_gap()
        kind, value = self._peek()
        if kind == "num" and value.isdigit():
            self._next()
            if value[1:]:
                self._at -= 1
                self._tokens[self._at] = ("num", value[1:])
            return ("num", Fraction(int(value[0])))
        if kind == "op" and value == "{":
            return self._braced()
        return self._atom()

    def _braced(self) -> Tree:
        self._deeper()
        self._expect("{")
        tree = self._items()
        self._expect("}")
        self._depth -= 1
        return tree

    def _atom(self) -> Tree:  # noqa: PLR0911 - one for each kind
        self._skip_gap()
        kind, value = self._next()
        if kind in {"num", "thousands", "based"}:
            return self._number(kind, value)
        simple = {"frac": self._fraction, "binom": self._binomial, "begin": self._matrix}
        if kind in simple:
            return simple[kind]()
        named = {"sym": self._symbol, "accent": self._accented, "func": self._function}
        if kind in named:
            return named[kind](value)
        if kind == "read":
            return value  # type: ignore[no-any-return]
        if kind == "words":
            return self._word(value)
        if kind == "reals":
            return ("reals",)
        if kind in _AS_WRITTEN:
            return (_AS_WRITTEN[kind], value)
        if kind == "op":
            return self._bracket(value)
        raise UnreadableError(f"unexpected {value!r}")

    def _number(self, kind: str, value: str) -> Tree:
        if kind == "thousands" and self._depth_of_brackets:
            first, _, rest = value.partition(",")
            kind = "thousands" if "," in rest else "num"
            self._tokens[self._at : self._at] = [("op", ","), (kind, rest)]
            return ("num", Fraction(first))
        if kind == "based":
            return _based(value)
        left = ("num", as_fraction(value))
        is_script = self._at - 1 == self._script_at
        if is_script or not value.isdigit():
            return left
        part = self._mixed() or self._spaced()
        return ("add", left, part) if part else left

    def _mixed(self) -> Tree | None:
        """A fraction of two whole numbers after a whole number, which is added."""
        start = self._at
        self._skip_gap()
        ahead = self._tokens[self._at : self._at + 2]
        if ahead[0][0] != "frac" and not (ahead[0] == ("op", "{") and ahead[1][0] == "frac"):
            self._at = start
            return None
        tree = self._atom()
        if tree[0] == "div" and tree[1][0] == tree[2][0] == "num":
            return tree
        # A factor: kept as it was read, because to read twice at each level takes 2^depth steps.
        self._tokens[start : self._at] = [("read", tree)]
        self._at = start
        return None

    def _spaced(self) -> Tree | None:
        """`1/2` after a whole number and a space."""
        if self._peek()[0] != "gap":
            return None
        ahead = self._tokens[self._at + 1 : self._at + 4]
        kinds = [kind for kind, _ in ahead]
        if kinds == ["num", "op", "num"] and ahead[1][1] == "/":
            self._at += 4
            return ("div", ("num", as_fraction(ahead[0][1])), ("num", as_fraction(ahead[2][1])))
        return None

    def _fraction(self) -> Tree:
        self._deeper()
        top = self._group()
        tree = ("div", top, self._group())
        self._depth -= 1
        return tree

    def _binomial(self) -> Tree:
        top = self._group()
        return ("call", "binomial", top, self._group())

    def _symbol(self, name: str) -> Tree:
        if self._take("_"):
            name += "_" + self._index()
        while self._take("'"):
            name += "'"
        if name in _CONSTANTS:
            return ("const", name)
        return ("sym", name)

    def _accented(self, accent: str) -> Tree:
        """A name with a sign above it."""
        name = self._index()
        if not any(map(str.isalpha, name)):
            raise UnreadableError("a sign stands above what is no name")
        return self._symbol(f"{accent} {name}")

    def _index(self) -> str:
        """A subscript as it is written; only letters and digits, few of them."""
        parts: list[str] = []
        if self._take("{"):
            while not self._take("}"):
                parts.append(self._next()[1])
        else:
            parts.append(self._next()[1])
        name = "".join(parts).strip()
        if not re.fullmatch(r"[A-Za-z0-9,+ -]{1,20}", name):
            raise UnreadableError("an index is not understood")
        return name

    def _function(self, name: str) -> Tree:
        self._deeper()
        index: Tree | None = None
        power: Tree | None = None
        if name == "sqrt" and self._take("["):
            index = self._sum()
            self._expect("]")
        elif name == "log" and self._take("_"):
            index = self._group()
        if self._take("^"):
            power = self._group() if name != "sqrt" else None
        if name == "sqrt" and self._peek() != ("op", "("):
            arguments: tuple[Tree, ...] = (self._group(),)
        else:
            arguments = self._arguments()
        tree = _call(name, index, arguments, power)
        self._depth -= 1
        return tree

    def _arguments(self) -> tuple[Tree, ...]:
        """In brackets, or a product of names and numbers without any."""
        self._skip_gap()
        if self._peek() in {("op", "("), ("op", "{")}:
            tree = self._power() if self._peek()[1] == "{" else self._atom()
            if tree[0] in {"list", "pair", "tuple"}:
                members = tree[3] if tree[0] == "pair" else tree[1:]
                return tuple(part for part in members if isinstance(part, tuple))
            return (tree,)
        left = self._signed_power()
        while (
            self._peek()[0] in {"sym", "frac", "read"}
            or self._peek() == ("op", "pi")
            or self._opens_bars()
        ):
            left = ("mul", left, self._power())
        return (left,)

    def _signed_power(self) -> Tree:
        return ("neg", self._power()) if self._take("-") else self._power()

    def _word(self, value: str) -> Tree:
        if len(value) == 1:
            return ("const", value) if value in _CONSTANTS else ("sym", value)
        while self._peek()[0] in {"words", "sym"}:
            value += " " + self._next()[1]
        word = " ".join(value.lower().split())
        return ("reals",) if word in _REALS else ("word", word)

    def _bracket(self, value: str) -> Tree:  # noqa: PLR0911 - one for each kind
        if value in {"pi", "inf"}:
            return ("const", value)
        if value == "empty":
            return ("empty",)
        if value == "...":
            return ("ellipsis",)
        if value == "circ":
            return ("circ",)
        if value == "{":
            self._at -= 1
            return self._braced()
        if value == "\\{":
            return self._braces()
        if value in {"(", "["}:
            return self._parentheses(value)
        if value in {"floor(", "ceil("}:
            tree = self._sum()
            self._expect(value[:-1] + ")")
            return ("call", value[:-1], tree)
        if value == "|":
            self._depth_of_bars += 1
            tree = self._sum()
            self._depth_of_bars -= 1
            self._expect("|")
            return ("call", "abs", tree)
        raise UnreadableError(f"unexpected {value!r}")

    def _inside(self) -> list[Tree]:
        """What stands in brackets, separated by commas."""
        self._deeper()
        self._depth_of_brackets += 1
        tree = self._items()
        self._depth_of_brackets -= 1
        self._depth -= 1
        return list(tree[2:]) if tree[0] == "list" else [tree]

    def _braces(self) -> Tree:
        if self._take("\\}"):
            return ("empty",)
        if self._begins_builder():
            return self._condition()
        items = self._inside()
        self._expect("\\}")
        return ("set", *items)

    def _begins_builder(self) -> bool:
        r"""Whether a set tells a condition, `\{x \mid x > 3\}`; if so, goes on behind the bar."""
        ahead = self._tokens[self._at : self._at + 4]
        kinds = [kind for kind, _ in ahead]
        bar = 3 if kinds[:3] == ["sym", "op", "reals"] else 1
        is_one = kinds[0] == "sym" and ahead[bar:][:1] in ([("op", "|")], [("op", ":")])
        if is_one:
            self._at += bar + 1
        return is_one

    def _condition(self) -> Tree:
        """What holds of the members of a set: relations, all of them or any."""
        tree = self._items()
        self._expect("\\}")
        parts = tree[2:] if tree[0] == "list" else (tree,)
        if any(part[0] != "rel" for part in parts):
            raise UnreadableError("the condition of a set is not understood")
        return tree if len(parts) == 1 else ("list", "or" if tree[1] == "or" else "and", *parts)

    def _parentheses(self, left: str) -> Tree:
        items = self._inside()
        if left == "(" and len(items) == 1 and self._take("|"):
            items = [("given", items[0], *self._inside())]
        right = self._take(")", "]")
        if not right:
            raise UnreadableError("a bracket is never closed")
        if len(items) == 1:
            if (left, right) not in {("(", ")"), ("[", "]")}:
                raise UnreadableError("brackets do not fit")
            return items[0]
        if all(item[0] == "pair" for item in items) and left == "[":
            return ("matrix", *(tuple(item[3]) for item in items))
        if len(items) == 2:  # noqa: PLR2004  # A pair.
            return ("pair", left, right, tuple(items))
        return ("tuple", *items)

    def _matrix(self) -> Tree:
        rows: list[tuple[Tree, ...]] = []
        row: list[Tree] = [self._sum()]
        while True:
            self._skip_gap()
            kind, value = self._next()
            if (kind, value) == ("op", "&"):
                row.append(self._sum())
            elif kind == "row":
                rows.append(tuple(row))
                row = [] if self._peek()[0] == "end" and self._peek()[1] else [self._sum()]
            elif kind == "end" and value:
                if row:
                    rows.append(tuple(row))
                return ("matrix", *rows)
            else:
                raise UnreadableError("a matrix is never closed")


def _compound(first: Tree, second: Tree) -> Tree:
    """The sum of two quantities that stand side by side, in the unit of the first.

    Raises:
        UnreadableError: If the second unit is no smaller one of the same kind.
    """
    unit = str(first[2]).removesuffix(" and")
    worth, other = unit_worth(unit), unit_worth(second[2]) if second[0] == "quantity" else None
    if worth is None or other is None or worth[1] != other[1] or worth[0] <= other[0]:
        raise UnreadableError("two numbers stand side by side")
    if first[1][0] == "neg":
        raise UnreadableError("it is not clear what a sign belongs to")
    part = ("mul", second[1], ("num", other[0] / worth[0]))
    return ("quantity", ("add", first[1], part), unit)


def _based(text: str) -> Tree:
    """A number with its base as index; in base ten it is one like any other."""
    value, base = in_base(text)
    return ("num", value) if base == 10 else ("based", value, base)  # noqa: PLR2004


def _call(name: str, index: Tree | None, arguments: tuple[Tree, ...], power: Tree | None) -> Tree:
    if name == "sqrt":
        return ("call", "root", arguments[0], index or ("num", Fraction(2)))
    if name == "log" and index:
        return ("call", "logbase", arguments[0], index)
    if name == "lg":
        return ("call", "logbase", arguments[0], ("num", Fraction(10)))
    if power == ("neg", ("num", Fraction(1))) and name in {"sin", "cos", "tan"}:
        return ("call", "arc" + name, *arguments)
    tree = ("call", name, *arguments)
    return ("pow", tree, power) if power else tree


def read(text: str, *, units: Collection[str] | None = None) -> Tree:
    r"""Read an answer.

    Args:
        text: LaTeX or plain notation, without the marks around it.
        units: Whether letters behind a number are its unit, and names of units beside those that
            are known (`tokens`).

    Returns:
        Its tree; nothing in it is evaluated.

    Raises:
        UnreadableError: If it is not mathematics, too long or nested too deep.

    Example:
        >>> read(r"\frac12 x")
        ('mul', ('div', ('num', Fraction(1, 1)), ('num', Fraction(2, 1))), ('sym', 'x'))
    """
    return _Reader(tokens(text, units=units)).answer()
