r"""Answers to mathematical tasks: whether two of them say the same.

`Expected` holds what a task wants; `Expected.difference` compares one answer with it. What counts
as the same is decided by the kind of the expected answer:

- a **number** or **formula** wants one value. `x = 5` and `2 + 3 = 5` say 5; a chain whose parts
  are not equal says nothing; several values are a hedge;
- a **list** or **set** wants every member, once, in any order; `1 \pm \sqrt2` names two; values
  without names stand in the order of those that the expected answer names: `x = 1, y = 2`;
- a **tuple** wants its members in order, in round brackets; a set is none;
- an **interval**, union or inequality wants the same set of real numbers;
- an **equation** wants the same one up to a factor;
- a **quantity** wants a unit that converts to the expected one;
- a **ratio** may be multiplied by a number, and one of two parts written as quotient or decimal
  fraction; a time of day, a word or a letter is compared as such;
- a number **with a base** (`1011_2`) wants the same base, and one without wants ten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from verifier_ladder.tiers.fast.mathnames import (
    Statement,
    are_others,
    is_label,
    name_of,
    statement,
    tell_apart,
    unknown_of,
)
from verifier_ladder.tiers.fast.mathnumbers import (
    DIGITS,
    EXPRESSIONS,
    Evaluator,
    TooLargeError,
    UndefinedError,
    names,
)
from verifier_ladder.tiers.fast.mathsets import FLIPPED, NotSolvedError, RealLine, difference
from verifier_ladder.tiers.fast.mathtext import Tree, read
from verifier_ladder.tiers.fast.mathtokens import UnreadableError
from verifier_ladder.tiers.fast.mathunits import (
    CHANGING,
    CURRENCIES,
    NUMERALS,
    in_small_letters,
    unit_worth,
)

_MOST_MEMBERS = 40
_PARTS = frozenset({
    "halves", "thirds", "quarters", "fourths", "fifths", "sixths", "sevenths", "eighths", "ninths",
    "tenths", "hundredths", "thousandths", "millionths",
})  # fmt: skip
_NOT_COUNTED = CHANGING | _PARTS | {
    "is", "at", "or", "not", "maybe", "perhaps", "more", "less", "wrong", "base", "mod", "modulo",
    "percent", "percentage", "negative", "below", "zero", "doubled", "halved", "tripled",
    "inverted", "negated", "reciprocal", "approximately", "approx", "roughly", "nearly", "almost",
    "probably", "possibly", "but",
}  # fmt: skip
"""Words behind a number that change it or doubt it, so that they are no things counted."""
_GOES_ON = frozenset({
    "and", "to", "through", "over", "by", "choose", "point", "out", "divided", "multiplied",
})  # fmt: skip
"""Words behind a number after which it is another one, or one of several."""
_THING = re.compile(rf"(?:[A-Za-z ${CURRENCIES}'./^-]|(?<=[A-Za-z^-])\d(?!\d))+")
"""What is counted has no number but a power."""
_ARTICLES = (("sym", "A"), ("sym", "a"), ("sym", "I"))
"""Names that begin a sentence: words behind them are no things counted."""
NOT_EQUAL = "the answer is not equal to the expected one"


class DifferentError(ValueError):
    """Two answers that say different things; the message does not tell the expected one."""


@dataclass(frozen=True)
class Expected:
    """What a task wants.

    Example:
        >>> Expected("1/2").difference("0.5"), Expected("(1, 2)").difference("(2, 1)")
        ('', 'the answer is not equal to the expected one')
    """

    text: str
    tolerance: float = 0.0
    """Share of the expected value by which a number may differ; 0 for exact comparison."""
    form: str = ""
    """`interval` or `tuple`, where brackets may mean either."""
    unit: str = "required"
    """`optional` if an answer may leave out the unit that the task states."""
    variables: Mapping[str, str] = field(default_factory=dict)
    log_base: Fraction | None = None
    trees: tuple[Tree, ...] = field(init=False)
    """Its readings: letters behind a number, as in `5 m`, may be a unit or factors."""

    def __post_init__(self) -> None:
        """Read the answer, and compute it once to see that it has a value.

        Raises:
            UnreadableError: If it is not mathematics.
            UndefinedError: If it has no value.
            TooLargeError: If it is beyond bounds.
        """
        object.__setattr__(self, "trees", _readings(self.text))
        if reason := self.difference(self.text):
            raise UndefinedError(reason)

    @property
    def members(self) -> int:
        """How many values it names."""
        tree = statement(self.trees[0]).value
        return len(_members(tree)) if _is_many(tree) else 1

    def difference(self, text: str) -> str:
        """Compare an answer.

        Args:
            text: The answer, without the marks around it.

        Returns:
            Why it is another one, in words that don't tell the expected answer; "" if it is
            the same.

        Raises:
            UnreadableError: If the answer can't be read.
            UndefinedError: If it has no value.
            TooLargeError: If it is beyond bounds.
        """
        reasons: list[str] = []
        errors: list[UnreadableError | UndefinedError] = []
        for tree in self.trees:
            try:
                reasons.append(self._difference(tree, text))
            except (UnreadableError, UndefinedError) as error:
                errors.append(error)
            else:
                if not reasons[-1]:
                    return ""
        if reasons:
            return reasons[0]
        raise errors[0]

    def _difference(self, wanted: Tree, text: str) -> str:
        """Compare an answer with one reading."""
        said = read(text, units=_units_of(wanted) or None)
        digits = DIGITS
        while True:
            evaluator = Evaluator(
                f"{self.text}\0{text}",
                digits=digits,
                variables=self.variables,
                log_base=self.log_base,
            )
            try:
                with evaluator.precision():
                    _Comparison(self, evaluator).compare(wanted, said)
                reason = ""
            except DifferentError as different:
                reason = str(different)
            except UndefinedError:
                if evaluator.wanted <= digits:
                    raise
            if evaluator.wanted <= digits:
                return reason
            digits = evaluator.wanted


class _Comparison:
    """One comparison, with the precision that both answers need."""

    def __init__(self, expected: Expected, evaluator: Evaluator) -> None:
        self._expected = expected
        self._evaluator = evaluator

    def compare(self, wanted: Tree, said: Tree) -> None:
        """Compare two answers.

        Raises:
            DifferentError: If they don't say the same.
        """
        if _has_ellipsis(wanted) or _has_ellipsis(said):
            self._ellipses(wanted, said)
            return
        want, have = statement(wanted), statement(said)
        self._chain(said, have)
        self._labels(want, have)
        kinds = {
            "word": self._words, "clock": self._clocks, "reals": self._sets,
            "ratio": self._ratios, "matrix": self._matrices, "tuple": self._tuples,
            "pair": self._pairs, "set": self._many, "list": self._many, "empty": self._empty,
            "union": self._sets, "meet": self._sets, "without": self._sets,
            "quantity": self._quantities, "rel": self._relations,
        }  # fmt: skip
        if want.equation and not self._is_named(want):
            self._relations(want.value, have.value, want, have)
            return
        if self._is_many_relations(want.value):
            self._sets(want.value, have.value)
            return
        rule = kinds.get(want.value[0])
        if rule is not None and not _has_choice(want.value):
            rule(want.value, have.value)
        elif _has_choice(want.value):
            self._many(want.value, have.value)
        else:
            self._numbers(want.value, have.value)

    # ---- Names and chains

    def _chain(self, said: Tree, have: Statement) -> None:
        """All values of a chain of equals must be equal: `x = 4 = 5` says nothing."""
        if said[0] != "rel" or set(said[1]) != {"="}:
            return
        named = [part for part in said[2:] if is_label(part)]
        named += [part for part in said[2:] if part[0] not in EXPRESSIONS and names(part)]
        values = [part for part in said[2:] if part not in named]
        parts = [part for part in values if part[0] in EXPRESSIONS]
        if len(parts) < len(values) and any(self._are_apart(values[0], part) for part in values):
            raise DifferentError("the parts of the answer contradict each other")
        closed = [part for part in parts if not names(part)]
        for part in closed[1:]:
            if not self._evaluator.identical(closed[0], part):
                raise DifferentError("the parts of the answer contradict each other")
        if have.label and have.value[0] in EXPRESSIONS:
            for part in parts:
                if part is not have.value and not self._evaluator.identical(part, have.value):
                    raise DifferentError("the parts of the answer contradict each other")

    def _are_apart(self, one: Tree, other: Tree) -> bool:
        """Whether two parts of a chain that are no numbers say different things."""
        if one == other or one[0] != "quantity" or other[0] != "quantity":
            return bool(one != other)
        try:
            self._quantities(one, other)
        except DifferentError:
            return True
        return False

    def _labels(self, want: Statement, have: Statement) -> None:
        plain = want.label not in {"", "*"} and have.label not in {"", "*"}
        if plain and want.label != have.label:
            raise DifferentError("the answer is about another unknown")

    def _is_named(self, want: Statement) -> bool:
        """Whether an equation only names its value: `x = 5`, `f(x) = 2x`, but not `y = 2x`."""
        if not want.label:
            return False
        value = want.value
        return want.label == "*" or value[0] not in EXPRESSIONS or not names(value)

    def _is_many_relations(self, tree: Tree) -> bool:
        return tree[0] == "list" and all(p[0] == "rel" and p[1] != ("=",) for p in tree[2:])

    # ---- One value

    def _numbers(self, wanted: Tree, said: Tree) -> None:
        if said[0] == "quantity" and said[1] not in _ARTICLES and _is_counted(said[2]):
            said = said[1]
        if _is_many(said):
            raise DifferentError("several answers are given where one is wanted")
        if wanted[0] in EXPRESSIONS and said[0] == "ratio" and len(said) == 3:  # noqa: PLR2004
            said = ("div", said[1], said[2])
        self._need(said, EXPRESSIONS)
        if not self._equal(wanted, said):
            raise DifferentError(NOT_EQUAL)

    def _need(self, said: Tree, kinds: frozenset[str] | set[str]) -> None:
        if said[0] not in kinds:
            raise DifferentError("the answer is of another kind than the expected one")

    def _equal(self, wanted: Tree, said: Tree, signs: tuple[int, int] = (1, 1)) -> bool:
        if said[0] not in EXPRESSIONS or wanted[0] not in EXPRESSIONS:
            return wanted == said
        if _is_infinite(wanted) or _is_infinite(said):
            return wanted == said
        if _base(wanted) != _base(said):
            return False
        evaluator, tolerance = self._evaluator, self._expected.tolerance
        if tolerance and not names(wanted) and not names(said):
            left = evaluator.value(wanted, sign=signs[0])
            return evaluator.close(left, evaluator.value(said, sign=signs[1]), tolerance)
        return evaluator.identical(wanted, said, signs)

    def _words(self, wanted: Tree, said: Tree) -> None:
        if said[0] == "list" or wanted != said:
            raise DifferentError(NOT_EQUAL)

    def _clocks(self, wanted: Tree, said: Tree) -> None:
        """A time of day, or a ratio that looks like one: `1:10`."""
        if said not in (wanted, _as_ratio(wanted)):
            raise DifferentError(NOT_EQUAL)

    def _empty(self, wanted: Tree, said: Tree) -> None:
        if wanted != said:
            raise DifferentError(NOT_EQUAL)

    def _quantities(self, wanted: Tree, said: Tree) -> None:
        if said[0] != "quantity":
            if self._expected.unit != "optional":
                raise DifferentError("the unit is missing")
            self._numbers(wanted[1], said)
            return
        want, have = unit_worth(wanted[2]), unit_worth(said[2])
        if want is None or have is None:
            if _plural(wanted[2]) != _plural(said[2]):
                raise DifferentError("the unit is another one")
            self._numbers(wanted[1], said[1])
            return
        if want[1] != have[1]:
            raise DifferentError("the unit measures something else")
        self._numbers(wanted[1], ("mul", said[1], ("num", have[0] / want[0])))

    def _ratios(self, wanted: Tree, said: Tree) -> None:
        if len(wanted) == 3:  # noqa: PLR2004  # Of two parts.
            said = _as_ratio(said)
        self._need(said, {"ratio"})
        if len(said) != len(wanted):
            raise DifferentError("the ratio has another number of parts")
        if any(map(_has_choice, said[1:])):
            raise DifferentError("several answers are given where one is wanted")
        for at in range(2, len(wanted)):
            left = ("mul", wanted[1], said[at])
            right = ("mul", wanted[at], said[1])
            if not self._equal(left, right):
                raise DifferentError(NOT_EQUAL)
        if not self._evaluator.is_zero(self._evaluator.value(wanted[1])) and self._equal(
            said[1], ("num", Fraction(0))
        ):
            raise DifferentError(NOT_EQUAL)

    # ---- Several values

    def _tuples(self, wanted: Tree, said: Tree) -> None:
        self._need(said, {"tuple"})
        self._in_order(wanted[1:], said[1:])

    def _in_order(self, wanted: Sequence[Tree], said: Sequence[Tree]) -> None:
        if len(wanted) != len(said):
            raise DifferentError("the answer has another number of members")
        for want, have in zip(wanted, said, strict=True):
            self.compare(want, have)

    def _pairs(self, wanted: Tree, said: Tree) -> None:
        form = self._expected.form
        if form == "interval" or (form != "tuple" and _is_interval(wanted)):
            self._sets(wanted, said)
            return
        self._need(said, {"pair"})
        if said[1:3] != wanted[1:3]:
            raise DifferentError(NOT_EQUAL)
        self._in_order(wanted[3], said[3])

    def _matrices(self, wanted: Tree, said: Tree) -> None:
        self._need(said, {"matrix"})
        if [len(row) for row in wanted[1:]] != [len(row) for row in said[1:]]:
            raise DifferentError("the matrix has another shape")
        for want, have in zip(wanted[1:], said[1:], strict=True):
            self._in_order(want, have)

    def _many(self, wanted: Tree, said: Tree) -> None:
        if not _is_many(said):
            raise DifferentError("the answer is of another kind than the expected one")
        want, have = _members(wanted), _members(said)
        if len(want) != len(have):
            raise DifferentError("the answer has another number of members")
        if len(want) > _MOST_MEMBERS:
            raise TooLargeError("the answer has too many members")
        unknowns = {unknown_of(statement(t).label) for t, _ in [*want, *have]} - {"", "*"}
        if len(unknowns) > 1 and not _all_named(want):
            raise DifferentError("the answer is about another unknown")
        named = [name_of(tree) for tree, _ in want]
        if tell_apart(named) and not any(name_of(tree) or _has_choice(tree) for tree, _ in have):
            self._in_order([tree for tree, _ in want], [tree for tree, _ in have])
            return
        left = list(have)
        for member, name in zip(want, named, strict=True):
            others = {*named} - {name, None}
            fits = (each for each in left if name_of(each[0]) not in others)
            found = next((each for each in fits if self._is_member(member, each)), None)
            if found is None:
                raise DifferentError(NOT_EQUAL)
            left.remove(found)

    def _is_member(self, wanted: tuple[Tree, int], said: tuple[Tree, int]) -> bool:
        want, have = statement(wanted[0]), statement(said[0])
        if want.value[0] in EXPRESSIONS and have.value[0] in EXPRESSIONS:
            if are_others(want.label, have.label):
                return False
            return self._equal(want.value, have.value, (wanted[1], said[1]))
        try:
            self.compare(wanted[0], said[0])
        except DifferentError:
            return False
        return True

    def _ellipses(self, wanted: Tree, said: Tree) -> None:
        """Rows with dots are compared as they are written: what dots stand for is a guess."""
        if wanted[0] != said[0] or len(wanted) != len(said):
            raise DifferentError("dots stand for something that can't be compared")
        for want, have in zip(wanted[1:], said[1:], strict=True):
            if not isinstance(want, tuple) or not isinstance(have, tuple):
                continue
            if ("ellipsis",) in {want, have}:
                if want != have:
                    raise DifferentError("dots stand for something that can't be compared")
            else:
                self.compare(want, have)

    # ---- Relations and sets of real numbers

    def _relations(
        self,
        wanted: Tree,
        said: Tree,
        want: Statement | None = None,
        have: Statement | None = None,
    ) -> None:
        want, have = want or statement(wanted), have or statement(said)
        if want.equation is None or want.equation[0] != "=":
            self._sets_or_sides(wanted, said)
            return
        if have.equation is None:
            raise DifferentError("the answer is no equation")
        self._sides(want.equation, have.equation)

    def _sets_or_sides(self, wanted: Tree, said: Tree) -> None:
        if len(names(wanted)) == 1 and len(names(said)) <= 1:
            try:
                self._sets(wanted, said)
            except NotSolvedError:
                pass
            else:
                return
        want, have = statement(wanted).equation, statement(said).equation
        if want is None or have is None:
            raise DifferentError("the answer is of another kind than the expected one")
        self._sides(want, have)

    def _sides(self, want: tuple[str, Tree, Tree], have: tuple[str, Tree, Tree]) -> None:
        """Compare two relations as left side minus right side, up to a factor."""
        (operator, *sides), (said_operator, *said_sides) = want, have
        if any(part[0] not in EXPRESSIONS for part in (*sides, *said_sides)):
            raise DifferentError("the answer is of another kind than the expected one")
        left, right = difference(*sides), difference(*said_sides)
        if names(left) != names(right):
            raise DifferentError(NOT_EQUAL)
        is_open = _has_choice(left)
        ways = (((1, 1), (-1, -1)), ((1, -1), (-1, 1))) if is_open else (((1, 1),),)
        operators = operator, said_operator
        fits = is_open == _has_choice(right) and any(
            all(self._is_multiple(left, right, operators, signs) for signs in way) for way in ways
        )
        if not fits:
            raise DifferentError(NOT_EQUAL)

    def _is_multiple(
        self, left: Tree, right: Tree, operators: tuple[str, str], signs: tuple[int, int]
    ) -> bool:
        """Whether a relation is another one times a number; a negative one turns it round."""
        sign = self._evaluator.proportion(left, right, signs)
        wanted, said = operators
        return bool(sign) and said == (wanted if sign > 0 else FLIPPED.get(wanted))

    def _sets(self, wanted: Tree, said: Tree) -> None:
        about = names_of_relations(wanted), names_of_relations(said)
        if all(about) and about[0] != about[1]:
            raise DifferentError("the answer is about another unknown")
        line = RealLine(self._evaluator)
        try:
            want = line.segments(wanted)
        except NotSolvedError:
            self._parts(wanted, said)
            return
        try:
            have = line.segments(said)
        except NotSolvedError:
            raise DifferentError("the answer is of another kind than the expected one") from None
        if not line.same(want, have):
            raise DifferentError(NOT_EQUAL)

    def _parts(self, wanted: Tree, said: Tree) -> None:
        """Sets whose ends are no numbers, or relations of several unknowns: part by part.

        Raises:
            NotSolvedError: If it is one relation.
        """
        if wanted[0] == "list":
            self._many(wanted, said)
            return
        if wanted[0] == "rel":
            raise NotSolvedError
        self._need(said, {wanted[0]})
        if wanted[0] != "pair":
            self._in_order(wanted[1:], said[1:])
            return
        if said[1:3] != wanted[1:3]:
            raise DifferentError(NOT_EQUAL)
        self._in_order(wanted[3], said[3])


def _base(tree: Tree) -> int:
    """The base that a number is written in, ten unless it tells one; 0 for a calculation of those.

    To write a number in another base is what such a task asks for, so the question is no answer.
    """
    while tree[0] == "neg":
        tree = tree[1]
    if tree[0] == "based":
        return int(tree[2])
    return 0 if _holds_base(tree) else 10


def _holds_base(tree: Any) -> bool:
    return isinstance(tree, tuple) and (tree[:1] == ("based",) or any(map(_holds_base, tree)))


def _as_ratio(tree: Tree) -> Tree:
    """A quotient or a decimal fraction as a ratio; a whole number tells one part only.

    Where a ratio is wanted, `15:20` is one, and no time of day.
    """
    if tree[0] == "clock":
        return ("ratio", *(("num", Fraction(part)) for part in tree[1].split(":")))
    if tree[0] == "div":
        return ("ratio", tree[1], tree[2])
    if tree[0] == "num" and tree[1].denominator > 1:
        return ("ratio", tree, ("num", Fraction(1)))
    return tree


def _is_many(tree: Tree) -> bool:
    return tree[0] in {"list", "set", "empty"} or (tree[0] in EXPRESSIONS and _has_choice(tree))


def _has_choice(tree: Any) -> bool:
    """Whether a plus-or-minus stands in an expression."""
    if not isinstance(tree, tuple) or not tree or tree[0] not in EXPRESSIONS:
        return False
    return tree[0] == "pm" or any(map(_has_choice, tree[1:]))


def _members(tree: Tree) -> list[tuple[Tree, int]]:
    """The members of a list or set, each with the sign of its plus-or-minus."""
    if tree[0] == "empty":
        return []
    parts = tree[2:] if tree[0] == "list" else tree[1:] if tree[0] == "set" else (tree,)
    made: list[tuple[Tree, int]] = []
    for part in parts:
        signs = (1, -1) if _has_choice(statement(part).value) else (1,)
        made += [(part, sign) for sign in signs]
    return made


def _all_named(members: Sequence[tuple[Tree, int]]) -> bool:
    return all(statement(tree).label for tree, _ in members)


def _has_ellipsis(tree: Any) -> bool:
    return isinstance(tree, tuple) and (tree == ("ellipsis",) or any(map(_has_ellipsis, tree)))


def _is_interval(tree: Tree) -> bool:
    """Whether brackets can only mean an interval."""
    return "[" in tree[1:3] or "]" in tree[1:3] or any(map(_is_infinite, tree[3]))


def _is_infinite(tree: Tree) -> bool:
    return tree in {("const", "inf"), ("neg", ("const", "inf"))}


def names_of_relations(tree: Any) -> frozenset[str]:
    """The unknowns of the inequalities in a tree."""
    if not isinstance(tree, tuple) or not tree:
        return frozenset()
    if tree[0] == "rel":
        return names(tree)
    return frozenset().union(*map(names_of_relations, tree))


def _readings(text: str) -> tuple[Tree, ...]:
    """All ways to read an answer.

    Raises:
        UnreadableError: If there is none.
    """
    found: list[Tree] = []
    errors = []
    for units in ((), None):
        try:
            tree = read(text, units=units)
        except UnreadableError as error:
            errors.append(error)
        else:
            if tree not in found:
                found.append(tree)
    if not found:
        raise errors[0]
    return tuple(found)


def _units_of(tree: Any) -> frozenset[str]:
    """The units of the quantities in a tree."""
    if not isinstance(tree, tuple) or not tree:
        return frozenset()
    if tree[0] == "quantity":
        return frozenset({str(tree[2])})
    return frozenset().union(*map(_units_of, tree))


def _is_counted(unit: str) -> bool:
    """Whether what stands behind a number leaves it as it is."""
    words = re.sub(r"\^-?\d+", "", unit.lower()).split()
    if not words or len(words) > 3 or not _THING.fullmatch(unit):  # noqa: PLR2004
        return False
    if len(words) == 1 and (words[0] == "times" or f"{words[0]}s" in _PARTS):
        return words[0] == "times"
    if words[0] in _GOES_ON or words[0] in NUMERALS:
        return False
    return _NOT_COUNTED.isdisjoint(words)


def _plural(unit: str) -> str:
    """A unit as it is compared: words without the ending of a plural, abbreviations as is."""
    return " ".join(_singular(in_small_letters(word)) for word in unit.split())


def _singular(word: str) -> str:
    stem = word.removesuffix("s")
    return stem if len(stem) > 1 and stem.islower() else word


__all__ = ["DifferentError", "Expected", "TooLargeError", "UndefinedError", "UnreadableError"]
