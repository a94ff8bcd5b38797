"""Values at which two terms are compared before a proof is tried; a difference needs none.

The values are the same for every task: 0, 1, -1, the ends of bits, and some by chance from a
digest of the variable's name. They only ever show a difference, and never that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Final

from verifier_ladder.tiers.fast.terms import Scope, Sort, Term, Value, evaluated, inside

_FIXED: Final = (0, 1, -1, 1 << 255, (1 << 255) - 1)
_DRAWN: Final = 8
_MOST_BITS: Final = 1 << 20
"""Of all numbers together that evaluating computes with; longer ones are left to z3."""
_OF_A_VARIABLE: Final = 16


def differing(
    scope: Scope, assumed: Sequence[Term], one: Term, other: Term
) -> Mapping[str, Value] | None:
    """Values for which two terms differ, and all that is assumed holds; None if none is found.

    Args:
        scope: Of the terms.
        assumed: Terms that hold.
        one: A term.
        other: Another of its sort.

    Example:
        >>> scope = Scope({"x": "Int"})
        >>> differing(scope, [], scope.term("(* x x)"), scope.term("x"))
        {'x': -1}
    """
    if sum(map(_bits_in, [*assumed, one, other])) > _MOST_BITS:
        return None
    for values in _points(scope):
        if evaluated(one, values) != evaluated(other, values) and all(
            evaluated(term, values) for term in assumed
        ):
            return values
    return None


def _bits_in(term: Term) -> int:
    """Bits of all numbers that a term computes with, at most."""
    bits: dict[int, int] = {}
    for each in inside(term):
        parts = [bits[id(part)] for part in each.parts]
        if each.op == "value" and each.sort.is_number:
            value = Fraction(each.value)
            bits[id(each)] = value.numerator.bit_length() + value.denominator.bit_length()
        elif not each.sort.is_number or not parts:
            bits[id(each)] = _OF_A_VARIABLE if each.op == "variable" else 1
        else:  # Denominators of a sum are multiplied, too.
            bits[id(each)] = sum(parts) if each.op == "*" or each.sort.kind == "Real" else (
                max(parts) + len(parts)
            )  # fmt: skip
    return sum(bits.values())


def _points(scope: Scope) -> Iterator[dict[str, Value]]:
    for place in range(len(_FIXED) + _DRAWN):
        yield {
            name: _at(term.sort, sorted(scope.domains.get(name, ())), _number(name, place))
            for name, term in scope.variables.items()
        }


def _number(name: str, place: int) -> int:
    if place < len(_FIXED):
        return _FIXED[place]
    return int.from_bytes(blake2b(f"{place} {name}".encode()).digest()[:32], "big")


def _at(sort: Sort, domain: Sequence[int], number: int) -> Value:
    """The value of a sort that a number stands for."""
    if domain or sort.names:
        values = domain or sort.names
        return values[number % len(values)]
    if sort.kind == "Bool":
        return number % 2 == 1
    if sort.width:
        return number >> (256 - sort.width) if number >> 200 > 0 else number % (1 << sort.width)
    whole = number if abs(number) < 2 else number % 201 - 100  # noqa: PLR2004 - 0, 1 and -1
    return whole if sort.kind == "Int" else Fraction(whole, 1 if abs(whole) < 2 else 7)  # noqa: PLR2004
