"""Values of mathematical trees: exact where they are rational, else to as many digits as decide.

**Exact before approximate.** A value made of whole numbers by the four operations and whole powers
is a `Fraction`, and two of them are compared exactly. Any other value is computed by mpmath to
`Evaluator.digits` decimal digits. While it computes, the evaluator notes how large and how small
the numbers get that are met on the way (`Evaluator.wanted`), and the comparison is made again with
more digits where those need them: `sqrt(2)` and `sqrt(2) + 10**-600` differ as surely as 1 and 2.
Functions of small numbers come closer to each other than those are to zero, such as `sin(x)` and
`x`, so each takes more digits. A difference that is too small to count and too large for rounding
is looked at with more digits too, until it is either.

**Bounded.** Every size is looked at before it is computed, and every step is counted: a tree that
asks for too much raises `TooLargeError` after the same step on every machine, within about a
second. Nothing here runs text as code.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import comb, factorial, gcd, lcm, log2
from typing import Any

from verifier_ladder.errors import ToolError
from verifier_ladder.tiers.fast.mathtext import Tree

Number = Any
"""A Fraction, or a real or complex number of mpmath."""

DIGITS = 60
"""Decimal digits of a calculation that holds only small numbers."""
_SPARE = 10
_MOST_DIGITS = 8000
_PLAIN = 7.5
"""Digits of a number that is not fine: those that stand for unknowns have as many at most."""
_DECIMALS = 0.30103
"""Decimal digits of a binary one."""
_MOST_BITS = 40_000
"""Size of the largest exact whole number."""
_MOST_MAGNITUDE = 200_000
"""Largest power of two of an approximate number."""
_LARGEST_FACTORIAL = 3000
_STEPS = 60_000_000
"""What one comparison may take, counted in digits to the power of 1.6 for each function."""
POINTS = 12
_FEWEST = 4
"""At how many points two formulas are compared, and where both must have a value at least."""
_PER_STEP, _PER_ROOT = 500, 50
"""Squared digits that are one step: of a rational number, and of the search for its root."""
_NEARLY = 30
"""Binary digits of an estimate."""
_MOST_FAR_DIGITS, _FAR_STEPS = 1000, 3_000_000
"""What a comparison further out may take."""


class UndefinedError(ValueError):
    """A value that does not exist, such as one divided by zero."""


class TooLargeError(ValueError):
    """A value that would take too long, or too much memory."""


@cache
def mpmath() -> Any:
    """The library, loaded when it is first needed.

    Raises:
        ToolError: If it is not installed.
    """
    try:
        import mpmath as found
    except ImportError:
        raise ToolError("mpmath is not installed; pip install '.[math]' in a clone") from None
    return found


def names(tree: Any) -> frozenset[str]:
    """The free names in a tree."""
    if not isinstance(tree, tuple):
        return frozenset()
    if tree and tree[0] == "sym":
        return frozenset({tree[1]})
    return frozenset().union(*map(names, tree))


def _length(value: int) -> float:
    return abs(value).bit_length() * _DECIMALS


class Evaluator:
    """Computes trees with one precision, for one comparison.

    Example:
        >>> from verifier_ladder.tiers.fast.mathtext import read
        >>> tree = read("2/6")
        >>> Evaluator().value(tree)
        Fraction(1, 3)
    """

    def __init__(
        self,
        seed: str = "",
        *,
        digits: int = DIGITS,
        variables: Mapping[str, str] | None = None,
        log_base: Fraction | None = None,
        steps: int = _STEPS,
    ) -> None:
        """Choose the precision.

        Args:
            seed: What the values of unknowns are drawn with: both answers as they are written, so
                that nobody can foresee them who does not know both.
            digits: Decimal digits of values that are not rational.
            variables: What the task says of a name: `integer`, `positive` or `real`.
            log_base: What `log` without a base means; None for e.
            steps: What it may take.
        """
        self.digits = digits
        self._reach = 0.0
        self._finest = 0.0
        self._largest = 0
        self._functions: set[int] = set()
        self._is_unclear = False
        self._is_approximate = False
        self._variables = variables or {}
        self._log_base = log_base
        self._left = steps
        self._sign = 1
        self._env: Mapping[str, Fraction] = {}
        self._seed = seed

    def precision(self) -> AbstractContextManager[Any]:
        """What all its values are computed and compared in."""
        return mpmath().workdps(self.digits + _SPARE)  # type: ignore[no-any-return]

    # ---- Values

    def value(
        self, tree: Tree, env: Mapping[str, Fraction] | None = None, sign: int = 1
    ) -> Number:
        """Compute a tree.

        Args:
            tree: An expression.
            env: Values of its names.
            sign: What a plus-or-minus stands for.

        Raises:
            UndefinedError: If there is no such value.
            TooLargeError: If it is beyond bounds.
        """
        self._env, self._sign = env or {}, sign
        return self.compute(tree)

    def compute(self, tree: Tree) -> Number:
        """Compute a part of a tree, with the precision and the values that are set."""
        if tree[0] not in EXPRESSIONS:
            raise UndefinedError(f"a {tree[0]} has no value")
        self.spend(1)
        value = _bounded(getattr(self, f"_of_{tree[0]}")(tree))
        self._note(value)
        if tree[0] in {"call", "pow"} and not isinstance(value, Fraction):
            self._functions.add(id(tree))
        return value

    @property
    def wanted(self) -> int:
        """Digits that decide, by what was met so far; `digits` if those are enough.

        Raises:
            TooLargeError: If they are more than may be computed.
        """
        if not self._is_approximate:
            return self.digits
        needed = max(self._base, 2 * self.digits * self._is_unclear)
        if needed > max(self.digits, _MOST_DIGITS):
            raise TooLargeError("a number is too large, or too small")
        return max(self.digits, needed)

    @property
    def _base(self) -> int:
        """Digits that decide, by what was met and by how often functions are made of it."""
        needed = DIGITS + 2 * int(self._reach)
        return needed + 2 * int(self._finest) * len(self._functions)

    def _note(self, value: Number) -> None:
        """Note how large or small a value is."""
        far = self._far(value)
        self._reach = max(self._reach, far)
        if isinstance(value, Fraction):
            self.spend(_length(value.numerator) * _length(value.denominator) / _PER_STEP)
            return
        if value:
            self._largest = max(self._largest, mpmath().mag(value))

    def _far(self, value: Number) -> float:
        """How far from 1 a value lies, as a power of ten.

        What lies further than this precision can tell is what rounding leaves of a zero. It does
        not count, or every zero would ask for more digits, which make it smaller still.
        """
        if isinstance(value, Fraction):
            return max(_length(value.numerator), _length(value.denominator))
        power = float(mpmath().mag(value)) * _DECIMALS if value else 0.0
        return 0.0 if -power > self._reach + self.digits / 2 else abs(power)

    def _made_of(self, *arguments: Number) -> None:
        """Note how fine the differences are that a function is made of."""
        finest = max(map(self._far, arguments), default=0.0)
        if finest > _PLAIN:
            self._finest = max(self._finest, finest)

    def spend(self, steps: float) -> None:
        """Count steps.

        Raises:
            TooLargeError: If there were too many.
        """
        self._left -= int(steps)
        if self._left < 0:
            raise TooLargeError("the calculation takes too long")

    def real(self, value: Number) -> Any:
        """A Fraction as a number of mpmath."""
        if isinstance(value, Fraction):
            return mpmath().mpf(value.numerator) / value.denominator
        return value

    def _of_num(self, tree: Tree) -> Number:
        return tree[1]

    _of_based = _of_num

    def _of_neg(self, tree: Tree) -> Number:
        return -self.compute(tree[1])

    def _of_sym(self, tree: Tree) -> Number:
        try:
            return self._env[tree[1]]
        except KeyError:
            raise UndefinedError(f"{tree[1]} has no value") from None

    def _of_const(self, tree: Tree) -> Number:
        mp = mpmath()
        if tree[1] == "inf":
            raise UndefinedError("infinity is no number")
        return {"pi": +mp.pi, "e": +mp.e, "i": mp.mpc(0, 1)}[tree[1]]

    def _of_add(self, tree: Tree) -> Number:
        return self._both(tree, lambda a, b: a + b)

    def _of_mul(self, tree: Tree) -> Number:
        return self._both(tree, lambda a, b: a * b)

    def _both(self, tree: Tree, operation: Callable[[Any, Any], Any]) -> Number:
        left, right = self.compute(tree[1]), self.compute(tree[2])
        if not (isinstance(left, Fraction) and isinstance(right, Fraction)):
            left, right = self.real(left), self.real(right)
        return operation(left, right)

    def _of_div(self, tree: Tree) -> Number:
        right = self.compute(tree[2])
        if self.is_zero(right):
            raise UndefinedError("a division by zero")
        left = self.compute(tree[1])
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return left / right
        return self.real(left) / self.real(right)

    def _of_pow(self, tree: Tree) -> Number:
        base, exponent = self.compute(tree[1]), self.compute(tree[2])
        self._made_of(base, exponent)
        if isinstance(exponent, Fraction):
            if exponent.denominator == 1:
                return self._whole_power(base, int(exponent))
            if isinstance(base, Fraction) and base < 0 and exponent.denominator % 2:
                # The real root, as schools write it: (-8)^(1/3) is -2.
                sign = -1 if exponent.numerator % 2 else 1
                return sign * self._power(self.real(-base), self.real(exponent))
        if self.is_zero(base):
            if self._is_positive(exponent):
                return Fraction(0)
            raise UndefinedError("zero to a power that is not positive")
        return self._power(self.real(base), self.real(exponent))

    def _whole_power(self, base: Number, exponent: int) -> Number:
        if self.is_zero(base):
            if exponent > 0:
                return Fraction(0)
            raise UndefinedError("zero to a power that is not positive")
        if isinstance(base, Fraction):
            bits = max(base.numerator.bit_length(), base.denominator.bit_length())
            if abs(base) != 1 and bits * abs(exponent) > _MOST_BITS:
                raise TooLargeError("a power is too large")
            return base ** (exponent % 2 if abs(base) == 1 else exponent)
        return self._power(base, self.real(Fraction(exponent)))

    def _power(self, base: Any, exponent: Any) -> Any:
        mp = mpmath()
        if abs(mp.mag(base)) * abs(exponent) > _MOST_MAGNITUDE:
            raise TooLargeError("a power is too large")
        self.spend(self.digits**1.6)
        self._reach = max(self._reach, float(abs(mp.mag(base) * exponent)) * _DECIMALS)
        return mp.power(base, exponent)

    def _is_positive(self, value: Number) -> bool:
        return not isinstance(value, mpmath().mpc) and value > 0

    def _of_pm(self, tree: Tree) -> Number:
        value = self.compute(tree[2])
        return value if (self._sign > 0) == (tree[1] == "+-") else -value

    def _of_percent(self, tree: Tree) -> Number:
        return self.compute(tree[1]) / 100

    def _of_degree(self, tree: Tree) -> Number:
        return self.real(self.compute(tree[1])) * mpmath().pi / 180

    def _of_call(self, tree: Tree) -> Number:
        arguments = [self.compute(part) for part in tree[2:]]
        self._made_of(*arguments)
        name = tree[1]
        if name in _EXACT:
            return _EXACT[name](self, *_arity(name, arguments))
        if len(arguments) != 1:
            raise UndefinedError(f"{name} of {len(arguments)} numbers")
        return self._function(name, arguments[0])

    def _function(self, name: str, argument: Number) -> Number:
        mp = mpmath()
        value = self.real(argument)
        limit = 15 if name in {"exp", "sinh", "cosh", "tanh"} else 4000
        if mp.mag(value) > limit:
            raise TooLargeError(f"the argument of {name} is too large")
        self.spend(self.digits**1.6)
        if name in {"exp", "sinh", "cosh", "tanh"}:
            self._reach = max(self._reach, 2 * float(abs(value)) * _DECIMALS)
        if name in {"ln", "log"}:
            return self.logarithm(argument, self._log_base if name == "log" else None)
        if name in {"arcsin", "arccos", "arctan"}:
            return getattr(mp, "a" + name[3:])(value)
        if name in {"tan", "sec", "cot", "csc"}:
            below = mp.cos(value) if name in {"tan", "sec"} else mp.sin(value)
            if self.is_zero(below):
                raise UndefinedError(f"{name} is not defined there")
            above = {"tan": mp.sin, "cot": mp.cos}.get(name)
            return (above(value) if above else 1) / below
        return getattr(mp, name)(value)

    def logarithm(self, argument: Number, base: Number | None) -> Number:
        """A logarithm; the natural one without a base."""
        mp = mpmath()
        if self.is_zero(argument):
            raise UndefinedError("the logarithm of zero")
        self.spend(self.digits**1.6)
        found = mp.log(self.real(argument))
        if base is None:
            return found
        if self.is_zero(base) or self.is_zero(below := mp.log(self.real(base))):
            raise UndefinedError("a logarithm to this base")
        return found / below

    def root(self, value: Number, index: Number) -> Number:
        """A root; of a negative number the real one where the index is odd."""
        if not isinstance(index, Fraction) or index.denominator != 1 or not 1 <= index <= 1000:  # noqa: PLR2004
            raise UndefinedError("a root of this index")
        n = int(index)
        if isinstance(value, Fraction):
            self.spend(self._far(value) ** 2 / _PER_ROOT)
            if (exact := _exact_root(value, n)) is not None:
                return exact
        self.spend(self.digits**1.6)
        number, mp = self.real(value), mpmath()
        is_negative = not isinstance(number, mp.mpc) and number < 0
        if is_negative and n % 2:
            return -mp.root(-number, n)
        return mp.root(number, n)

    # ---- Comparing

    def is_zero(self, value: Number) -> bool:
        """Whether a value is zero, or can't be told from it."""
        if isinstance(value, Fraction):
            return not value
        return self._vanishes(value, mpmath().mpf(1))

    def same(self, left: Number, right: Number) -> bool:
        """Whether two values are equal: exactly, or in three quarters of the digits."""
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return left == right
        a, b = self.real(left), self.real(right)
        return self._vanishes(a - b, max(abs(a), abs(b), mpmath().mpf(1)))

    def _vanishes(self, difference: Any, largest: Any) -> bool:
        """Whether a difference is too small to count; it is unclear unless rounding explains it.

        Rounding leaves less the more digits there are, and a difference stays: so that this ends,
        more is put down to rounding in each round.
        """
        mp = mpmath()
        self._is_approximate = True
        if abs(difference) > largest * mp.mpf(10) ** (-0.75 * self.digits):
            return False
        spare = _SPARE / 2 + 0.1 * (self.digits - min(self.digits, self._base))
        rounding = self._largest - (self.digits - spare) / _DECIMALS
        self._is_unclear |= bool(difference) and mp.mag(difference) > rounding
        return True

    def close(self, left: Number, right: Number, tolerance: float) -> bool:
        """Whether `right` lies within a share of `left`; within as much of zero."""
        a, b = self.real(left), self.real(right)
        return bool(abs(a - b) <= tolerance * (abs(a) if a else 1))

    def is_real(self, value: Number) -> bool:
        """Whether a value has no imaginary part."""
        return not isinstance(value, mpmath().mpc) or self.is_zero(value.imag)

    def less(self, left: Number, right: Number) -> bool:
        """Whether a real value is smaller than another, and not equal."""
        if self.same(left, right):
            return False
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return left < right
        return bool(mpmath().re(self.real(left)) < mpmath().re(self.real(right)))

    def points(self, unknown: frozenset[str]) -> list[dict[str, Fraction]]:
        """Values for names, the same each time."""
        draw = random.Random(self._seed)  # noqa: S311  # The same each time is the point.
        return [{n: self._drawn(draw, n, at) for n in sorted(unknown)} for at in range(POINTS)]

    def _drawn(self, draw: random.Random, name: str, at: int) -> Fraction:
        said = self._variables.get(name, "real")
        if said == "integer":
            return Fraction(draw.randint(1, 40))
        size = Fraction(draw.randint(10**5, 10**6), 10**6 + 3) * (1 if at % 3 else 4)
        return size if said == "positive" or draw.random() < 0.7 else -size  # noqa: PLR2004

    def _far_points(self, unknown: frozenset[str]) -> tuple[dict[str, Fraction], ...]:
        """Two points further out; in one of them a name that stands alone is negative."""
        draw = random.Random(self._seed[::-1])  # noqa: S311
        points: tuple[dict[str, Fraction], ...] = ({}, {})
        for name, point in product(sorted(unknown), points):
            said = self._variables.get(name, "real")
            if said == "integer":
                point[name] = Fraction(draw.randint(41, 400))
            else:
                point[name] = Fraction(draw.randint(10**5, 10**6), 10**4 + 7)
            if said not in {"integer", "positive"} and len(unknown) == 1 and point is points[1]:
                point[name] = -point[name]
        return points

    def identical(self, left: Tree, right: Tree, signs: tuple[int, int] = (1, 1)) -> bool:
        """Whether two expressions have equal values, whatever their names stand for.

        The second must have a value, and a real one, wherever the first has one.

        Raises:
            UndefinedError: If they have no values to compare.
            TooLargeError: If one is beyond bounds.
        """
        unknown = names(left) | names(right)
        if not unknown:
            return self.same(self.value(left, sign=signs[0]), self.value(right, sign=signs[1]))
        points = self.points(unknown)
        for wants_real in (True, False):
            compared = self._agree(left, right, signs, points, wants_real=wants_real)
            if compared is not None:
                return compared and not self._part_far_out(
                    left, right, signs, wants_real=wants_real
                )
        raise UndefinedError("the formula has no value anywhere")

    def _part_far_out(
        self, left: Tree, right: Tree, signs: tuple[int, int], *, wants_real: bool
    ) -> bool:
        """Whether two expressions surely differ further out, as `|x - 9|` and `9 - x` do."""

        def values(point: dict[str, Fraction], other: Evaluator) -> tuple[Number, Number]:
            value = other.value(left, point, signs[0])
            if wants_real and not other.is_real(value):
                raise UndefinedError("it is not real")
            return value, other.value(right, point, signs[1])

        points = self._far_points(names(left) | names(right))
        return any(self._surely_differ(partial(values, point)) for point in points)

    def _surely_differ(self, values: Callable[[Evaluator], tuple[Number, Number]]) -> bool:
        """Whether two values differ; what has none, or takes long to compute, says nothing."""
        digits = DIGITS
        while digits <= _MOST_FAR_DIGITS:
            other = Evaluator(
                self._seed,
                digits=digits,
                variables=self._variables,
                log_base=self._log_base,
                steps=_FAR_STEPS,
            )
            try:
                with other.precision():
                    is_same = other.same(*values(other))
                wanted = other.wanted
            except (UndefinedError, TooLargeError):
                return False
            if wanted <= digits:
                return not is_same
            digits = wanted
        return False

    def _agree(
        self, left: Tree, right: Tree, signs: tuple[int, int],
        points: list[dict[str, Fraction]], *, wants_real: bool,
    ) -> bool | None:  # fmt: skip
        """Compare at all points where the first is real; None if those are too few."""
        compared = 0
        for env in points:
            try:
                a = self.value(left, env, signs[0])
            except UndefinedError:
                continue
            if wants_real and not self.is_real(a):
                continue
            if not self.same(a, self.value(right, env, signs[1])):
                return False
            compared += 1
        return True if compared >= _FEWEST else None

    def proportion(self, left: Tree, right: Tree, signs: tuple[int, int] = (1, 1)) -> int:
        """The sign of the number by which one expression is a multiple of another; 0 if none."""
        ratio: Number | None = None
        compared = 0
        for env in self.points(names(left) | names(right)):
            try:
                a, b = self.value(left, env, signs[0]), self.value(right, env, signs[1])
            except UndefinedError:
                continue
            if self.is_zero(a) or self.is_zero(b):
                return 0
            now = self.real(a) / self.real(b)
            if ratio is not None and not self.same(ratio, now):
                return 0
            ratio = now
            compared += 1
        if ratio is None or compared < _FEWEST or not self.is_real(ratio):
            return 0
        if self._bend_far_out(left, right, signs):
            return 0
        return 1 if self.less(Fraction(0), ratio) else -1

    def _bend_far_out(self, left: Tree, right: Tree, signs: tuple[int, int]) -> bool:
        """Whether two expressions surely have another proportion at each of two points far out."""
        near, *far = (
            *self.points(unknown := names(left) | names(right))[:1],
            *self._far_points(unknown),
        )

        def products(point: dict[str, Fraction], other: Evaluator) -> tuple[Number, Number]:
            a, b, c, d = (
                other.real(other.value(tree, at, sign))
                for at in (near, point)
                for tree, sign in zip((left, right), signs, strict=True)
            )
            return a * d, b * c

        return any(self._surely_differ(partial(products, point)) for point in far)


def _arity(name: str, arguments: list[Number]) -> list[Number]:
    wanted = {"factorial": 1, "abs": 1, "floor": 1, "ceil": 1}.get(name, 2)
    if name in {"gcd", "lcm", "min", "max"}:
        return arguments
    if len(arguments) != wanted:
        raise UndefinedError(f"{name} of {len(arguments)} numbers")
    return arguments


def _bounded(value: Number) -> Number:
    """A value that is neither too large nor infinite."""
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 2 * _MOST_BITS:
            raise TooLargeError("a number is too large")
        return value
    mp = mpmath()
    if not mp.isfinite(value):
        raise UndefinedError("the value is not finite")
    if isinstance(value, mp.mpc) and value.imag == 0:
        value = value.real
    if value and abs(mp.mag(value)) > _MOST_MAGNITUDE:
        raise TooLargeError("a number is too large")
    return value


def _exact_root(value: Fraction, n: int) -> Fraction | None:
    """The root, if it is rational."""
    sign = 1
    if value < 0:
        if n % 2 == 0:
            return None
        sign, value = -1, -value
    top, below = _whole_root(value.numerator, n), _whole_root(value.denominator, n)
    return None if top is None or below is None else Fraction(sign * top, below)


def _whole_root(value: int, n: int) -> int | None:
    """The root, if it is whole: Newton's steps from just above it, which doubles tell."""
    if value < 2 or n == 1:  # noqa: PLR2004
        return value
    whole, part = divmod(log2(value) / n, 1)
    found = (int(2 ** (part + _NEARLY)) + 1 << int(whole) >> _NEARLY) + 1
    while (nearer := ((n - 1) * found + value // found ** (n - 1)) // n) < found:
        found = nearer
    return found if found**n == value else None


def _factorial(evaluator: Evaluator, value: Number) -> Number:
    if isinstance(value, Fraction) and value.denominator == 1:
        if value < 0:
            raise UndefinedError("the factorial of a negative number")
        if value > _LARGEST_FACTORIAL:
            raise TooLargeError("a factorial is too large")
        return Fraction(factorial(int(value)))
    if abs(value) > 100:  # noqa: PLR2004
        raise TooLargeError("a factorial is too large")
    evaluator.spend(evaluator.digits**2)
    try:
        return mpmath().gamma(evaluator.real(value) + 1)
    except ValueError:
        raise UndefinedError("a factorial that does not exist") from None


def _binomial(evaluator: Evaluator, n: Number, k: Number) -> Number:
    wholes = all(isinstance(v, Fraction) and v.denominator == 1 and v >= 0 for v in (n, k))
    if wholes:
        if n > 10 * _LARGEST_FACTORIAL or min(k, n - k) > _LARGEST_FACTORIAL:
            raise TooLargeError("a binomial coefficient is too large")
        return Fraction(comb(int(n), int(k)))
    parts = [_factorial(evaluator, v) for v in (n, k, n - k)]
    return evaluator.real(parts[0]) / evaluator.real(parts[1]) / evaluator.real(parts[2])


def _rounded(direction: int) -> Callable[[Evaluator, Number], Number]:
    def rounded(evaluator: Evaluator, value: Number) -> Number:
        if isinstance(value, Fraction):
            return Fraction(-(-value // 1) if direction > 0 else value // 1)
        if not evaluator.is_real(value):
            raise UndefinedError("a complex number that is rounded")
        value = mpmath().re(value)
        near = mpmath().nint(value)
        if evaluator.same(value, near):
            return Fraction(int(near))
        return Fraction(int(mpmath().ceil(value) if direction > 0 else mpmath().floor(value)))

    return rounded


def _folded(operation: Callable[[int, int], int]) -> Callable[..., Number]:
    def folded(_evaluator: Evaluator, *values: Number) -> Number:
        if not all(isinstance(v, Fraction) and v.denominator == 1 for v in values):
            raise UndefinedError("a divisor of numbers that are not whole")
        found = 0 if operation is gcd else 1
        for value in values:
            found = operation(found, int(value))
        return Fraction(found)

    return folded


def _extreme(direction: int) -> Callable[..., Number]:
    def extreme(evaluator: Evaluator, *values: Number) -> Number:
        if not all(map(evaluator.is_real, values)):
            raise UndefinedError("an order of complex numbers")
        best = values[0]
        for value in values[1:]:
            if evaluator.less(best, value) == (direction > 0):
                best = value
        return best

    return extreme


_EXACT: dict[str, Callable[..., Number]] = {
    "factorial": _factorial, "binomial": _binomial, "root": Evaluator.root,
    "logbase": Evaluator.logarithm, "abs": lambda _, value: abs(value), "floor": _rounded(-1),
    "ceil": _rounded(1), "gcd": _folded(gcd), "lcm": _folded(lcm), "max": _extreme(1),
    "min": _extreme(-1),
}  # fmt: skip
EXPRESSIONS = frozenset(
    "num based sym const neg add mul div pow pm percent degree call".split()  # noqa: SIM905 - shorter
)
"""Kinds of tree that have a value."""
