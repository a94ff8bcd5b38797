"""Terms of SMT-LIB 2: read within bounds, typed, and evaluated exactly.

    scope = Scope({"x": "Int", "light": ["red", "green"]})
    term = scope.term("(=> (= light red) (> x 3))")
    evaluated(term, {"x": 4, "light": "red"})     # True

Sorts are `Bool`, `Int`, `Real`, `BitVec n`, and finite domains: a list of names, or of whole
numbers. The operators are those of `OPERATORS`, and `let`; there are no quantifiers, functions,
quoted symbols or commands. Whole numbers and fractions have no limit of size, and bits wrap.

**Nothing here is partial.** `/`, `div` and `mod` divide by numerals other than 0 alone, so that
what dividing by nothing gives need not be decided; of bits SMT-LIB fixes it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any, Final, NamedTuple

DEEPEST: Final = 200
"""How deep a term may nest, its names for parts put in."""
MOST_SYMBOLS: Final = 50_000
"""Symbols of one term."""
LONGEST_NUMERAL: Final = 1000
"""Characters of a numeral."""
WIDEST: Final = 256
"""Bits of the widest value."""
_HIGHEST: Final = 64
"""Numbers that are multiplied with each other, at most: the degree of a polynomial."""
_MOST_VARIABLES: Final = 10_000
_BASES: Final = {"x": 4, "b": 1}
"""Bits of a digit, by the letter before it."""
_TOKEN = re.compile(r"[ \t\r\n]*(?:;[^\n]*(?:\n|\Z)[ \t\r\n]*)*([()]|[^ \t\r\n();]+)?")
_SYMBOL = re.compile(r"[A-Za-z~!@$%^&*_+=<>.?/-][A-Za-z0-9~!@$%^&*_+=<>.?/-]{0,99}")
_INTEGER = re.compile(r"0|[1-9][0-9]*")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]*)\.[0-9]+")
_BITS = re.compile(r"#(?:x[0-9a-fA-F]+|b[01]+)")
_NAMED_BITS = re.compile(r"bv(0|[1-9][0-9]*)")
_BITS_SORT = re.compile(r"BitVec ([1-9][0-9]{0,3})")
Expression = str | list["Expression"]
Value = bool | int | Fraction | str


class TermError(ValueError):
    """A text that is no term, in words that quote no more than one symbol of it."""


class Sort(NamedTuple):
    """What a term stands for."""

    kind: str
    """`Bool`, `Int`, `Real`, `BitVec` or `name`."""
    width: int = 0
    """Of bits: how many."""
    names: tuple[str, ...] = ()
    """Of a domain of names: which."""

    def __str__(self) -> str:
        """As a person writes it."""
        if self.names:
            return f"one of {', '.join(self.names)}"
        return f"BitVec {self.width}" if self.width else self.kind

    @property
    def is_number(self) -> bool:
        """Whether it has sums."""
        return self.kind in {"Int", "Real"}


BOOL, INT, REAL = Sort("Bool"), Sort("Int"), Sort("Real")


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A term whose parts have the sorts that its operator takes."""

    op: str
    """An operator, `variable` or `value`."""
    parts: tuple[Term, ...]
    sort: Sort
    depth: int
    """How deep it nests, as it was read."""
    degree: int
    """Numbers that it multiplies with each other, at most, as it was read."""
    value: Any = None
    """Of a value: itself. Of a variable: its name. Of `extract` and the like: its numbers."""

    def compared(self, how: str, value: Value) -> Term:
        """That a number is below or above a value, by `<` or `>`."""
        constant = Term("value", (), self.sort, 1, 1, value)
        return Term(how, (self, constant), BOOL, self.depth, self.degree)

    def differs_from(self, other: Term) -> Term:
        """That another of its sort has another value."""
        return Term("distinct", (self, other), BOOL, self.depth, self.degree)


# ---- Reading


def numeral(text: str) -> Value | None:
    """A whole number or a fraction as SMT-LIB writes it, without a sign; None for anything else.

    Raises:
        TermError: If it is too long.
    """
    if len(text) > LONGEST_NUMERAL and text[0].isdigit():
        raise TermError(f"a number has more than {LONGEST_NUMERAL} digits")
    if _INTEGER.fullmatch(text):
        return int(text)
    return Fraction(text) if _DECIMAL.fullmatch(text) else None


def bits(text: str) -> tuple[int, int] | None:
    """The value and width of bits such as `#x0f` and `#b1010`; None for anything else.

    Example:
        >>> bits("#x0f"), bits("#b101"), bits("7")
        ((15, 8), (5, 3), None)
    """
    if len(text) > WIDEST + 2 or not _BITS.fullmatch(text):
        return None
    each = _BASES[text[1]]
    return int(text[2:], 1 << each), each * len(text[2:])


def _expression(text: str, most: int) -> Expression:
    """The brackets of a text that is one term.

    Raises:
        TermError: If it is none.
    """
    open_lists: list[list[Expression]] = [[]]
    for count, token in enumerate(_tokens(text)):
        if count >= most:
            raise TermError(f"it has more than {most} symbols and brackets")
        if token == "(":  # noqa: S105 - a bracket
            open_lists.append([])
            if len(open_lists) > DEEPEST:
                raise TermError(f"it nests deeper than {DEEPEST}")
        elif token != ")":  # noqa: S105 - a bracket
            open_lists[-1].append(token)
        elif len(open_lists) == 1:
            raise TermError("a bracket is closed that was never opened")
        else:
            closed = open_lists.pop()
            open_lists[-1].append(closed)
    if len(open_lists) > 1:
        raise TermError("a bracket is never closed")
    if len(open_lists[0]) != 1:
        raise TermError(f"there are {len(open_lists[0])} terms; write one")
    return open_lists[0][0]


def _tokens(text: str) -> Iterator[str]:
    place = 0
    while (match := _TOKEN.match(text, place)) and match[1]:
        yield match[1]
        place = match.end()


class Scope:
    """The variables of a task and the names of their domains, in which terms are read.

    Example:
        >>> scope = Scope({"x": "Int", "n": [2, 3, 5]})
        >>> str(scope.term("(+ x n)").sort), sorted(scope.domains["n"])
        ('Int', [2, 3, 5])
    """

    def __init__(self, declared: Mapping[str, str | Sequence[str | int]]) -> None:
        """Declare variables.

        Args:
            declared: Each with its sort, or the list of its domain.

        Raises:
            TermError: If a sort or a name makes no sense, or one name would mean two things.
        """
        if not 1 <= len(declared) <= _MOST_VARIABLES:
            raise TermError(f"there are {len(declared)} variables; give 1 to {_MOST_VARIABLES}")
        self.variables: dict[str, Term] = {}
        self.domains: dict[str, frozenset[int]] = {}
        """Of variables that are one of some whole numbers: which."""
        self._names: dict[str, Term] = {}
        for name, given in declared.items():
            _check_name(name)
            sort = self._sort(name, given)
            self.variables[name] = Term("variable", (), sort, 1, int(sort.is_number), name)
        for term in self.variables.values():
            for name in term.sort.names:
                self._declare(name, term.sort)

    def _sort(self, name: str, given: str | Sequence[str | int]) -> Sort:
        if isinstance(given, str):
            return sort_of(given)
        if not given or len({*given}) < len(given):
            raise TermError(f"the domain of {name} is empty, or holds a value twice")
        if all(type(each) is int for each in given):
            self.domains[name] = frozenset(int(each) for each in given)
            return INT
        if not all(isinstance(each, str) for each in given):
            raise TermError(f"the domain of {name} holds neither names alone nor numbers alone")
        return Sort("name", names=tuple(map(str, given)))

    def _declare(self, name: str, sort: Sort) -> None:
        _check_name(name)
        known = self._names.setdefault(name, Term("value", (), sort, 1, 0, name))
        if known.sort != sort or name in self.variables:
            raise TermError(f"the name {name} means two things")

    def term(self, text: str, sort: Sort | None = None, most: int = MOST_SYMBOLS) -> Term:
        """Read one term.

        Args:
            text: What is written.
            sort: What it must stand for; anything by default.
            most: Symbols and brackets that it may have.

        Raises:
            TermError: If it is no term of this scope, or beyond bounds.
        """
        found = _read(_expression(text, most), {**self._names, **self.variables})
        if sort is not None and found.sort != sort:
            raise TermError(f"it stands for {found.sort}, and must for {sort}")
        return found


def sort_of(text: str) -> Sort:
    """The sort of a name such as `Int` or `BitVec 8`.

    Raises:
        TermError: If there is none.
    """
    found = _BITS_SORT.fullmatch(text)
    if found and int(found[1]) <= WIDEST:
        return Sort("BitVec", int(found[1]))
    if text not in {"Bool", "Int", "Real"}:
        raise TermError(
            f"{text[:40]!r} is no sort: give Bool, Int, Real, BitVec 1 to {WIDEST}, or a list"
        )
    return Sort(text)


def _check_name(name: str) -> None:
    if not _SYMBOL.fullmatch(name) or name in _WORDS or _NAMED_BITS.fullmatch(name):
        raise TermError(f"{name[:40]!r} can't be a name")


def symbols(text: str) -> int:
    """How many symbols a text has, brackets apart.

    Example:
        >>> symbols("(or p (not q))")
        4
    """
    return sum(token not in {"(", ")"} for token in _tokens(text))


def operators_of(term: Term) -> set[str]:
    """The operators that stand in a term."""
    return {each.op for each in inside(term)} - {"variable", "value", "to_real"}


def inside(term: Term) -> list[Term]:
    """All terms inside of one and itself, each once, parts before what they are parts of."""
    found: dict[int, Term] = {}

    def visit(each: Term) -> None:
        if id(each) not in found:
            for part in each.parts:
                visit(part)
            found[id(each)] = each

    visit(term)
    return [*found.values()]


def _read(given: Expression, scope: Mapping[str, Term]) -> Term:
    if isinstance(given, str):
        return scope[given] if given in scope else _constant(given)
    if not given:
        raise TermError("there are brackets around nothing")
    head, *rest = given
    if head == "let":
        return _let(rest, scope)
    if head == "_":
        return _bits_of(rest)
    name, numbers = _operator(head)
    return _applied(name, numbers, [_read(each, scope) for each in rest])


def _constant(text: str) -> Term:
    if text in {"true", "false"}:
        return Term("value", (), BOOL, 1, 0, text == "true")
    if (known := bits(text)) is not None:
        return Term("value", (), Sort("BitVec", known[1]), 1, 0, known[0])
    value = numeral(text)
    if value is None:
        raise TermError(f"{text[:40]!r} is not known")
    return Term("value", (), INT if isinstance(value, int) else REAL, 1, 1, value)


def _bits_of(rest: Sequence[Expression]) -> Term:
    """Bits as `(_ bv9 8)` writes them."""
    if len(rest) == 2 and isinstance(rest[0], str):  # noqa: PLR2004 - a value and a width
        found, width = _NAMED_BITS.fullmatch(rest[0][:LONGEST_NUMERAL]), _small(rest[1])
        if found and 1 <= width <= WIDEST and int(found[1]) < 1 << width:
            return Term("value", (), Sort("BitVec", width), 1, 0, int(found[1]))
    raise TermError(f"after _ stand bits, such as (_ bv9 8), of at most {WIDEST}")


def _small(given: Expression) -> int:
    """A number of a place or a width; -1 for anything else."""
    return int(given) if isinstance(given, str) and re.fullmatch("[0-9]{1,4}", given) else -1


def _operator(head: Expression) -> tuple[str, tuple[int, ...]]:
    """The name of an operator, and the numbers of one such as `(_ extract 7 4)`."""
    numbers: tuple[int, ...] = ()
    if isinstance(head, list) and len(head) > 1 and head[0] == "_":
        numbers, head = tuple(map(_small, head[2:])), head[1]
    if not isinstance(head, str) or head not in OPERATORS:
        raise TermError(
            f"{str(head)[:40]!r} is no operator; there are let, {', '.join(OPERATORS)}"
        )
    if len(numbers) != _NUMBERS.get(head, 0):
        raise TermError(f"{head} takes {_NUMBERS.get(head, 0)} numbers after _")
    return head, numbers


def _let(rest: Sequence[Expression], scope: Mapping[str, Term]) -> Term:
    if len(rest) != 2 or not isinstance(rest[0], list):  # noqa: PLR2004 - names and a body
        raise TermError("after let stand names for parts, and a term")
    inner = dict(scope)
    for each in rest[0]:
        if not isinstance(each, list) or len(each) != 2 or not isinstance(each[0], str):  # noqa: PLR2004
            raise TermError("in let stands a name with a term: (let ((s (+ x y))) …)")
        _check_name(each[0])
        if each[0] in inner:
            raise TermError(f"let gives {each[0]} another meaning")
        inner[each[0]] = _read(each[1], scope)
    return _read(rest[1], inner)


# ---- Typing


def _applied(name: str, numbers: tuple[int, ...], parts: Sequence[Term]) -> Term:
    """An operator with its parts.

    Raises:
        TermError: If they don't fit.
    """
    kind = OPERATORS[name]
    least, most = kind.counts
    if not least <= len(parts) <= most:
        raise TermError(f"{name} can't have {len(parts)} parts")
    if name == "-" and len(parts) == 1 and parts[0].op == "value" and parts[0].sort.is_number:
        return Term("value", (), parts[0].sort, 1, 1, -parts[0].value)
    parts, sort = kind.typed(name, numbers, _promoted(name, parts))
    depth = 1 + max(part.depth for part in parts)
    if depth > DEEPEST:
        raise TermError(f"it nests deeper than {DEEPEST}")
    degree = (sum if name == "*" else max)(part.degree for part in parts)
    if degree > _HIGHEST:
        raise TermError(f"it multiplies more than {_HIGHEST} numbers")
    return Term(name, tuple(parts), sort, depth, degree, numbers)


def _promoted(name: str, parts: Sequence[Term]) -> list[Term]:
    """Parts of which whole numbers are fractions where another is one, or the operator's is."""
    if name == "/" or (name != "to_real" and {p.sort for p in parts} >= {INT, REAL}):
        return [
            Term("to_real", (p,), REAL, p.depth + 1, p.degree, ()) if p.sort == INT else p
            for p in parts
        ]
    return [*parts]


Typed = tuple[Sequence[Term], Sort]


def _all(sort: Sort, gives: Sort) -> Callable[..., Typed]:
    def typed(name: str, _: Sequence[int], parts: Sequence[Term]) -> Typed:
        if any(part.sort != sort for part in parts):
            raise TermError(f"{name} takes {sort} only")
        return parts, gives

    return typed


def _alike(name: str, _: Sequence[int], parts: Sequence[Term]) -> Typed:
    if len({part.sort for part in parts}) > 1:
        raise TermError(f"{name} takes parts of one sort")
    return parts, BOOL


def _ite(name: str, _: Sequence[int], parts: Sequence[Term]) -> Typed:
    condition, one, other = parts
    if condition.sort != BOOL or one.sort != other.sort:
        raise TermError(f"{name} takes a Bool and two parts of one sort")
    return parts, one.sort


def _numbers(name: str, _: Sequence[int], parts: Sequence[Term]) -> Typed:
    if len({part.sort for part in parts}) > 1 or not parts[0].sort.is_number:
        raise TermError(f"{name} takes numbers only")
    return parts, parts[0].sort


def _compared(name: str, numbers: Sequence[int], parts: Sequence[Term]) -> Typed:
    return _numbers(name, numbers, parts)[0], BOOL


def _divided(sort: Sort) -> Callable[..., Typed]:
    def typed(name: str, _: Sequence[int], parts: Sequence[Term]) -> Typed:
        divisor = parts[1].parts[0] if parts[1].op == "to_real" else parts[1]
        if any(part.sort != sort for part in parts):
            raise TermError(f"{name} takes {sort} only")
        if divisor.op != "value" or not divisor.value:
            raise TermError(f"{name} can't divide by anything but a numeral other than 0")
        return parts, sort

    return typed


def _bitwise(gives: Sort | None) -> Callable[..., Typed]:
    def typed(name: str, _: Sequence[int], parts: Sequence[Term]) -> Typed:
        if len({part.sort for part in parts}) > 1 or not parts[0].sort.width:
            raise TermError(f"{name} takes bits of one width only")
        return parts, gives or parts[0].sort

    return typed


def _resized(width: Callable[[Sequence[int], Sequence[int]], int]) -> Callable[..., Typed]:
    """Typing of bits of another width, by the numbers of the operator and the parts' widths."""

    def typed(name: str, numbers: Sequence[int], parts: Sequence[Term]) -> Typed:
        widths = [part.sort.width for part in parts]
        made = width(numbers, widths) if all(widths) and -1 not in numbers else 0
        if not 1 <= made <= WIDEST:
            raise TermError(f"{name} can't make such bits; they have 1 to {WIDEST}")
        return parts, Sort("BitVec", made)

    return typed


def _extracted(numbers: Sequence[int], widths: Sequence[int]) -> int:
    high, low = numbers
    return high - low + 1 if high < widths[0] else 0


# ---- Values


def evaluated(term: Term, values: Mapping[str, Value]) -> Value:
    """The value of a term, exactly.

    Args:
        term: Of the scope that the values are for.
        values: Of each variable: a truth value, a whole number, a fraction, bits as the whole
            number that they are without a sign, or a name.

    Example:
        >>> evaluated(Scope({"x": "Int"}).term("(div x (- 3))"), {"x": 7})
        -2
    """
    known: dict[int, Value] = {}
    for each in inside(term):
        if each.op == "variable":
            known[id(each)] = values[each.value]
        elif each.op == "value":
            known[id(each)] = each.value
        else:
            parts = [known[id(part)] for part in each.parts]
            known[id(each)] = OPERATORS[each.op].value(each, *parts)
    return known[id(term)]


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _minus(_: Term, *values: Any) -> Any:
    return -values[0] if len(values) == 1 else reduce(operator.sub, values)


def _quotient(value: int, divisor: int) -> int:
    """Division such that the rest is not negative."""
    return value // divisor if divisor > 0 else -(value // -divisor)


def _chain(compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    return lambda _, *values: all(compare(a, b) for a, b in pairwise(values))


def _wrapped(compute: Callable[[Any, Any], int]) -> Callable[..., int]:
    return lambda term, *values: reduce(compute, values) % (1 << term.sort.width)


def _on_bits(compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    return lambda _, one, other: compare(one, other)


def _on_signed(compare: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def value(term: Term, one: int, other: int) -> bool:
        width = term.parts[0].sort.width
        return compare(_signed(one, width), _signed(other, width))

    return value


def _left(value: int, by: int) -> int:
    return value << min(by, WIDEST)


def _concatenated(term: Term, *values: int) -> int:
    made = 0
    for part, value in zip(term.parts, values, strict=True):
        made = made << part.sort.width | value
    return made


def _extension(term: Term, value: int) -> int:
    return _signed(value, term.parts[0].sort.width) % (1 << term.sort.width)


class Operator(NamedTuple):
    """How many parts an operator has, of which sorts, and what it stands for."""

    counts: tuple[int, int]
    typed: Callable[[str, Sequence[int], Sequence[Term]], Typed]
    value: Callable[..., Any]


_MANY = MOST_SYMBOLS
_TWO, _ANY = (2, 2), (2, _MANY)
OPERATORS: Final[Mapping[str, Operator]] = {
    "not": Operator((1, 1), _all(BOOL, BOOL), lambda _, a: not a),
    "and": Operator((1, _MANY), _all(BOOL, BOOL), lambda _, *v: all(v)),
    "or": Operator((1, _MANY), _all(BOOL, BOOL), lambda _, *v: any(v)),
    "xor": Operator(_ANY, _all(BOOL, BOOL), lambda _, *v: reduce(operator.xor, v)),
    "=>": Operator(_ANY, _all(BOOL, BOOL), lambda _, *v: v[-1] or not all(v[:-1])),
    "=": Operator(_ANY, _alike, _chain(operator.eq)),
    "distinct": Operator(_ANY, _alike, lambda _, *v: len({*v}) == len(v)),
    "ite": Operator((3, 3), _ite, lambda _, a, b, c: b if a else c),
    "+": Operator((1, _MANY), _numbers, lambda _, *v: sum(v[1:], v[0])),
    "-": Operator((1, _MANY), _numbers, _minus),
    "*": Operator((1, _MANY), _numbers, lambda _, *v: reduce(operator.mul, v)),
    "/": Operator(_TWO, _divided(REAL), lambda _, a, b: a / b),
    "div": Operator(_TWO, _divided(INT), lambda _, a, b: _quotient(a, b)),
    "mod": Operator(_TWO, _divided(INT), lambda _, a, b: a % abs(b)),
    "abs": Operator((1, 1), _numbers, lambda _, a: abs(a)),
    "<": Operator(_ANY, _compared, _chain(operator.lt)),
    "<=": Operator(_ANY, _compared, _chain(operator.le)),
    ">": Operator(_ANY, _compared, _chain(operator.gt)),
    ">=": Operator(_ANY, _compared, _chain(operator.ge)),
    "to_real": Operator((1, 1), _all(INT, REAL), lambda _, a: Fraction(a)),
    "to_int": Operator((1, 1), _all(REAL, INT), lambda _, a: a.__floor__()),
    "is_int": Operator((1, 1), _all(REAL, BOOL), lambda _, a: a.denominator == 1),
    "bvnot": Operator((1, 1), _bitwise(None), lambda t, a: ~a % (1 << t.sort.width)),
    "bvneg": Operator((1, 1), _bitwise(None), lambda t, a: -a % (1 << t.sort.width)),
    "bvand": Operator(_ANY, _bitwise(None), _wrapped(operator.and_)),
    "bvor": Operator(_ANY, _bitwise(None), _wrapped(operator.or_)),
    "bvxor": Operator(_ANY, _bitwise(None), _wrapped(operator.xor)),
    "bvadd": Operator(_ANY, _bitwise(None), _wrapped(operator.add)),
    "bvsub": Operator(_TWO, _bitwise(None), _wrapped(operator.sub)),
    "bvmul": Operator(_ANY, _bitwise(None), _wrapped(lambda a, b: a * b % (1 << WIDEST))),
    "bvudiv": Operator(_TWO, _bitwise(None), _wrapped(lambda a, b: a // b if b else -1)),
    "bvurem": Operator(_TWO, _bitwise(None), lambda _, a, b: a % b if b else a),
    "bvshl": Operator(_TWO, _bitwise(None), _wrapped(_left)),
    "bvlshr": Operator(_TWO, _bitwise(None), lambda _, a, b: a >> b),
    "bvashr": Operator(
        _TWO, _bitwise(None), lambda t, a, b: (_signed(a, t.sort.width) >> b) % (1 << t.sort.width)
    ),
    "bvult": Operator(_TWO, _bitwise(BOOL), _on_bits(operator.lt)),
    "bvule": Operator(_TWO, _bitwise(BOOL), _on_bits(operator.le)),
    "bvugt": Operator(_TWO, _bitwise(BOOL), _on_bits(operator.gt)),
    "bvuge": Operator(_TWO, _bitwise(BOOL), _on_bits(operator.ge)),
    "bvslt": Operator(_TWO, _bitwise(BOOL), _on_signed(operator.lt)),
    "bvsle": Operator(_TWO, _bitwise(BOOL), _on_signed(operator.le)),
    "bvsgt": Operator(_TWO, _bitwise(BOOL), _on_signed(operator.gt)),
    "bvsge": Operator(_TWO, _bitwise(BOOL), _on_signed(operator.ge)),
    "concat": Operator(_ANY, _resized(lambda _, widths: sum(widths)), _concatenated),
    "extract": Operator(
        (1, 1), _resized(_extracted), lambda t, a: a >> t.value[1] & (1 << t.sort.width) - 1
    ),
    "zero_extend": Operator((1, 1), _resized(lambda n, w: n[0] + w[0]), lambda _, a: a),
    "sign_extend": Operator((1, 1), _resized(lambda n, w: n[0] + w[0]), _extension),
}
"""All operators that there are, by name."""
_NUMBERS = {"extract": 2, "zero_extend": 1, "sign_extend": 1}
"""How many numbers stand behind `_` before the name of an operator, where there are any."""
_WORDS = frozenset({*OPERATORS, "let", "true", "false", "_", "!", "as", "par", "forall", "exists"})
"""What can't be a name."""
