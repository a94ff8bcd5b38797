r"""Mathematical text: LaTeX or plain notation, read into a tree without evaluating anything.

The reader is our own because the libraries evaluate while they parse: SymPy's `parse_expr` runs
code, and latex2sympy computes `9^9^9^9` before a caller can look at it. Here nothing is computed,
so the only costs are the text's length and depth, and both are bounded.

A tree is a tuple that begins with the name of its kind:

- expressions: `num` (a Fraction), `sym`, `const` (pi, e, i, inf), `neg`, `add`, `mul`, `div`,
  `pow`, `call` (name, arguments), `pm` (sign), `percent`, `degree`
- collections: `list` (joined by, items), `set`, `tuple`, `pair` (left, right, items), `matrix`,
  `ratio`, `union`, `meet`, `without`, `reals`, `empty`, `ellipsis`
- statements: `rel` (operators, parts), `quantity` (expression, unit), `word`, `clock`
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from verifier_ladder.tiers.fast.mathunits import UNITS

Tree = tuple[Any, ...]

LONGEST = 2000
"""Characters of the longest answer that is read."""
DEEPEST = 120
"""Steps into each other that one place of an answer may be away from its beginning.

A fraction in braces is five steps, a pair of brackets four, so 23 of them are read. A step is some
three calls, of which Python allows a thousand.
"""
MOST_NODES = 600
_EXPONENT = 10_000
"""Largest power of ten that a number in scientific notation may have."""


class UnreadableError(ValueError):
    """Text that can't be read as mathematics; the message says where it went wrong."""


_SIGNS = {
    "−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~",
    "∈": " in ", "∪": "\\cup ", "∩": "\\cap ", "∞": "\\infty ", "π": "\\pi ", "±": "\\pm ",
    "∓": "\\mp ", "√": "\\sqrt ", "°": "^\\circ ", "…": "\\ldots ", "∅": "\\emptyset ",
    "ℝ": "\\mathbb{R}", "²": "^{2}", "³": "^{3}", "½": "\\frac12 ", "¼": "\\frac14 ",
    "¾": "\\frac34 ", "θ": "\\theta ", "λ": "\\lambda ", "α": "\\alpha ", "β": "\\beta ",
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "′": "'", "\u2010": "-",
}  # fmt: skip
"""Characters of typography; any other that is not ASCII makes the text unreadable."""
_TYPOGRAPHY = str.maketrans(_SIGNS)
_SPACING = re.compile(
    r"(?<!\\)\\(?:[,;:! ]|quad\b|qquad\b|displaystyle\b|textstyle\b|left\b\.?|right\b\.?"
    r"|big\w*\b|Big\w*\b|limits\b|boldsymbol\b|bm\b)|~|(?<!\\)\$|\*\*(?!\s*[\d(-])|`"
)
_GROUPS = re.compile(r"(?<=\d)(?:\\,|,\\!)(?=\d{3}(?!\d))")
"""Separators of thousands that are spaces."""
_WRAPPED = re.compile(r"\*\*(.*)\*\*", re.DOTALL)
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<repeat>\d*\.\d*\\(?:overline|bar)\{\d+\})"
    r"|(?P<clock>(?<![\d:])\d{1,2}:\d\d(?![\d:]))"
    r"|(?P<grouped>\d{1,3}(?:(?:\{,\}|\\,)\d{3})+(?:\.\d+)?(?!\d))"
    r"|(?P<thousands>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?!\d))"
    r"|(?P<science>(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+(?![\w^]))"
    r"|(?P<number>\d+\.\d+|\.\d+|\d+)"
    r"|(?P<text>\\(?:text|textbf|textit|textrm|texttt|mathrm|mathbf|mathit|mathsf|operatorname|mbox"
    r"|boxed|fbox)\*?\s*\{)"
    r"|(?P<reals>\\mathbb\s*\{?R\}?)"
    r"|(?P<begin>\\begin\{[pbvB]?matrix\})|(?P<end>\\end\{[pbvB]?matrix\})"
    r"|(?P<row>\\\\)"
    r"|(?P<brace>\\[{}]|\\lbrace|\\rbrace)"
    r"|(?P<dollar>\\\$)|(?P<percent>\\?%)"
    r"|(?P<command>\\[A-Za-z]+)"
    r"|(?P<letters>[A-Za-z]+)"
    r"|(?P<dots>\.\.\.+)"
    r"|(?P<op><=|>=|!=|\*\*|[-+*/^_=<>!~()\[\]{},;:|&'.])",
    re.ASCII,
)


def _words(text: str) -> list[str]:
    return text.split()


_FUNCTIONS = frozenset(
    _words(
        "sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan asin acos atan ln log lg exp "
        "sqrt abs floor ceil gcd lcm max min"
    )
)
_ALIASES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_GREEK = frozenset(
    _words(
        "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta kappa lambda mu nu xi "
        "rho sigma tau phi varphi chi psi omega "
        "Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell"
    )
)
_OPERATORS = {
    "\\cdot": "*", "\\times": "*", "\\ast": "*", "\\div": "/", "\\le": "<=", "\\leq": "<=",
    "\\leqslant": "<=", "\\ge": ">=", "\\geq": ">=", "\\geqslant": ">=", "\\lt": "<", "\\gt": ">",
    "\\ne": "!=", "\\neq": "!=", "\\approx": "~", "\\sim": "~", "\\equiv": "=", "\\in": "in",
    "\\cup": "cup", "\\cap": "cap", "\\setminus": "without", "\\backslash": "without",
    "\\pm": "+-", "\\mp": "-+", "\\ldots": "...", "\\dots": "...", "\\cdots": "...",
    "\\infty": "inf", "\\pi": "pi", "\\emptyset": "empty", "\\varnothing": "empty", "**": "^",
    "\\mid": "|", "\\vert": "|", "\\lvert": "|", "\\rvert": "|", "\\lor": "or", "\\land": "and",
    "\\colon": ":", "\\circ": "circ", "\\degree": "circ",
}  # fmt: skip
_RELATIONS = frozenset({"=", "<", ">", "<=", ">=", "!=", "~", "in"})
_JOINTS = {",": ",", ";": ",", "and": "and", "or": "or", ", and": "and", ", or": "or"}
_CONSTANTS = frozenset({"pi", "inf", "i", "e"})
_WORDS_FOR = {"infinity": "inf", "infty": "inf", "inf": "inf", "pi": "pi", "in": "in",
              "and": "and", "or": "or", "union": "cup"}  # fmt: skip
_AS_WORD = frozenset({"yes", "no", "odd", "even", "true", "none", "not", "nan", "xor", "if", "is"})
_NAMED = re.compile(r"[A-Za-z][A-Za-z .'/^0-9-]*")
_JOINED = frozenset("/^0123456789")
"""What follows the first letter of a formula, or of a unit, but of no word."""
_SHORT = 3
"""Letters that may be a product of names; longer runs are words."""


def _balanced(text: str, start: int) -> int:
    """Where the brace that was opened just before `start` closes."""
    depth = 1
    at = start
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if not depth:
                return at
        at += 1
    raise UnreadableError("a brace is never closed")


def tokens(text: str, depth: int = 0) -> list[tuple[str, str]]:
    """Split text into pairs of kind and value.

    Raises:
        UnreadableError: If a character is none of mathematics, or text is nested too deep.
    """
    if depth > DEEPEST:
        raise UnreadableError("the answer is nested too deep")
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise UnreadableError(f"unexpected {text[at]!r}")
        kind, value = str(match.lastgroup), match[0]
        at = match.end()
        if kind == "text":
            close = _balanced(text, at)
            found += _quoted(text[at:close], depth)
            at = close + 1
        elif kind != "space":
            found += _token(kind, value)
        elif found and found[-1][0] == "num":
            found.append(("gap", " "))
    return found


def _quoted(inner: str, depth: int) -> list[tuple[str, str]]:
    r"""What stands in `\text{…}`: a joint, words, or mathematics."""
    plain = inner.strip(" .")
    joint = _JOINTS.get(plain.strip(",").strip())
    if joint:
        return [("op", joint)]
    if (plain in _FUNCTIONS and plain not in UNITS) or plain in {"infinity", "pi"}:
        return _letters(plain)
    if _NAMED.fullmatch(plain) and (not _JOINED & set(plain[1:2]) or _is_unit(plain)):
        return [("words", " ".join(plain.split()))]
    return [("op", "{"), *tokens(inner, depth + 1), ("op", "}")]


def _is_unit(text: str) -> bool:
    return all(part in UNITS for part in re.findall(r"[A-Za-z]+", text))


def _token(kind: str, value: str) -> list[tuple[str, str]]:  # noqa: PLR0911 - one for each kind
    if kind in {"grouped", "thousands"}:
        return [("num" if kind == "grouped" else "thousands", value)]
    if kind in {"number", "science", "repeat"}:
        return [("num", value)]
    if kind in {"clock", "dollar", "percent", "reals", "begin", "end", "row"}:
        return [(kind, value)]
    if kind == "brace":
        return [("op", "\\{" if value in {"\\{", "\\lbrace"} else "\\}")]
    if kind == "dots":
        return [("op", "...")]
    if kind == "letters":
        return _letters(value)
    if kind == "command":
        return _command(value)
    return [("op", _OPERATORS.get(value, value))]


def _letters(run: str) -> list[tuple[str, str]]:
    name = run.lower()
    if run in _FUNCTIONS:
        return [("func", _ALIASES.get(run, run))]
    if name in _WORDS_FOR:
        return [("op", _WORDS_FOR[name])]
    if len(run) > _SHORT or (len(run) > 1 and name in _AS_WORD):
        return [("words", run)]
    if len(run) > 1 and (run in UNITS):
        return [("words", run)]
    return [("sym", letter) for letter in run]


def _command(value: str) -> list[tuple[str, str]]:
    name = value[1:]
    if value in _OPERATORS:
        return [("op", _OPERATORS[value])]
    if name in _FUNCTIONS:
        return [("func", name)]
    if name in {"frac", "dfrac", "tfrac", "cfrac"}:
        return [("frac", value)]
    if name in {"binom", "dbinom", "tbinom"}:
        return [("binom", value)]
    if name in _GREEK:
        return [("sym", name)]
    brackets = {"lfloor": "floor(", "rfloor": "floor)", "lceil": "ceil(", "rceil": "ceil)"}
    if name in brackets:
        return [("op", brackets[name])]
    raise UnreadableError(f"{value} is not understood")


class _Reader:
    """A recursive-descent parser over the tokens of one answer."""

    def __init__(self, found: list[tuple[str, str]]) -> None:
        self._tokens: list[tuple[str, Any]] = [*found, ("end", "")]
        self._at = 0
        self._depth = 0
        self._depth_of_brackets = 0
        self._nodes = 0

    # ---- Tokens

    def _peek(self) -> tuple[str, Any]:
        return self._tokens[self._at]

    def _next(self) -> tuple[str, Any]:
        token = self._tokens[self._at]
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
            joints.add(_JOINTS[joint])
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
        """An expression, and the unit behind it."""
        if self._peek()[0] == "dollar":
            self._next()
            return ("quantity", self._sum(), "$")
        tree = self._sum()
        self._skip_gap()
        kind, value = self._peek()
        if kind == "words" and tree[0] != "word":
            self._next()
            power = ""
            if self._take("^"):
                inner = self._script()
                power = f"^{inner[1]}" if inner[0] == "num" else "^?"
            while self._peek()[0] == "words":
                value += " " + self._next()[1]
            if value.lower() in {"percent", "per cent"} and not power:
                return ("percent", tree)
            return ("quantity", tree, value + power)
        if tree[0] == "degree":
            return ("quantity", tree[1], "degrees")
        return tree

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
        if kind in {"num", "thousands"}:
            raise UnreadableError("two numbers stand side by side")
        if kind == "op":
            return value in {"(", "{", "pi", "inf", "floor(", "ceil("}
        return kind in {"sym", "func", "frac", "binom", "read"}

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
            if self._take("circ"):
                base = ("degree", base)
            else:
                base = self._postfix(("pow", base, self._script()))
        self._depth -= 1
        return base

    def _postfix(self, tree: Tree) -> Tree:
        while True:
            kind, value = self._peek()
            if kind == "percent":
                tree = ("percent", tree)
            elif (kind, value) == ("op", "!"):
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
        return self._power()

    def _group(self) -> Tree:
        """The argument of a command: a group in braces, or one token; of digits, one digit."""
        self._skip_gap()
        kind, value = self._peek()
        if kind == "num" and value.isdigit() and len(value) > 1:
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
        if kind in {"num", "thousands"}:
            return self._number(kind, value)
        simple = {"frac": self._fraction, "binom": self._binomial, "begin": self._matrix}
        if kind in simple:
            return simple[kind]()
        if kind == "read":
            return value  # type: ignore[no-any-return]
        if kind == "sym":
            return self._symbol(value)
        if kind == "func":
            return self._function(value)
        if kind == "words":
            return self._word(value)
        if kind == "reals":
            return ("reals",)
        if kind == "clock":
            return ("clock", value)
        if kind == "op":
            return self._bracket(value)
        raise UnreadableError(f"unexpected {value!r}" if value else "something is missing")

    def _number(self, kind: str, value: str) -> Tree:
        if kind == "thousands" and self._depth_of_brackets:
            first, _, rest = value.partition(",")
            kind = "thousands" if "," in rest else "num"
            self._tokens[self._at : self._at] = [("op", ","), (kind, rest)]
            return ("num", Fraction(first))
        left = ("num", as_fraction(value))
        follows = self._peek()[0]
        if not value.isdigit():
            return left
        if follows == "frac" and (mixed := self._mixed()):
            return ("add", left, mixed)
        if follows == "gap" and (mixed := self._spaced()):
            return ("add", left, mixed)
        return left

    def _mixed(self) -> Tree | None:
        """A fraction of two whole numbers after a whole number, which is added."""
        start = self._at
        self._next()
        tree = self._fraction()
        if tree[1][0] == "num" and tree[2][0] == "num":
            return tree
        # A factor: kept as it was read, because to read twice at each level takes 2^depth steps.
        self._tokens[start : self._at] = [("read", tree)]
        self._at = start
        return None

    def _spaced(self) -> Tree | None:
        """`1/2` after a whole number and a space."""
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
        while self._peek()[0] in {"sym", "frac", "read"} or self._peek() == ("op", "pi"):
            left = ("mul", left, self._power())
        return (left,)

    def _signed_power(self) -> Tree:
        return ("neg", self._power()) if self._take("-") else self._power()

    def _word(self, value: str) -> Tree:
        if len(value) == 1:
            return ("const", value) if value in _CONSTANTS else ("sym", value)
        while self._peek()[0] in {"words", "sym"}:
            value += " " + self._next()[1]
        return ("word", " ".join(value.lower().split()))

    def _bracket(self, value: str) -> Tree:  # noqa: PLR0911 - one for each kind
        if value in {"pi", "inf"}:
            return ("const", value)
        if value == "empty":
            return ("empty",)
        if value == "...":
            return ("ellipsis",)
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
            tree = self._sum()
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
        items = self._inside()
        self._expect("\\}")
        return ("set", *items)

    def _parentheses(self, left: str) -> Tree:
        items = self._inside()
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


def as_fraction(text: str) -> Fraction:
    r"""The exact value of a number as it is written.

    Raises:
        UnreadableError: If its power of ten is beyond bounds.

    Example:
        >>> as_fraction(r"0.\overline{3}"), as_fraction("1,234"), as_fraction("1.5e3")
        (Fraction(1, 3), Fraction(1234, 1), Fraction(1500, 1))
    """
    plain = (
        text.replace("{,}", "").replace("\\,", "").replace(",", "").replace("\\bar", "\\overline")
    )
    if "\\overline" in plain:
        head, _, period = plain.partition("\\overline{")
        whole, _, digits = head.partition(".")
        period = period[:-1]
        shown = Fraction(int((whole + digits) or "0"), 10 ** len(digits))
        return shown + Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(digits))
    mantissa, _, exponent = plain.lower().partition("e")
    if len(exponent) > len("-10000") or abs(int(exponent or 0)) > _EXPONENT:
        raise UnreadableError("a power of ten is too large")
    return Fraction(mantissa) * Fraction(10) ** int(exponent or 0)


def read(text: str, *, units: bool = False) -> Tree:
    r"""Read an answer.

    Args:
        text: LaTeX or plain notation, without the marks around it.
        units: Whether a single letter after a number and a space is a unit, as in `5 m`.

    Returns:
        Its tree; nothing in it is evaluated.

    Raises:
        UnreadableError: If it is not mathematics, too long or nested too deep.

    Example:
        >>> read(r"\frac12 x")
        ('mul', ('div', ('num', Fraction(1, 1)), ('num', Fraction(2, 1))), ('sym', 'x'))
    """
    if len(text) > LONGEST:
        raise UnreadableError(f"the answer is longer than {LONGEST} characters")
    plain = text.strip()
    while inner := _WRAPPED.fullmatch(plain):
        plain = inner[1].strip()
    plain = _GROUPS.sub("{,}", plain.translate(_TYPOGRAPHY))
    plain = _SPACING.sub(" ", plain)
    plain = plain.strip().rstrip(".")
    if not plain:
        raise UnreadableError("the answer is empty")
    found = tokens(plain)
    if units:
        found = _with_units(found)
    return _Reader(found).answer()


def _with_units(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Single letters behind a number that are units."""
    made: list[tuple[str, str]] = []
    for token in found:
        if token[0] == "sym" and token[1] in UNITS and made and made[-1][0] in {"gap", "num"}:
            token = ("words", token[1])  # noqa: PLW2901
        made.append(token)
    return made
