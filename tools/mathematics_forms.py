r"""More cases of `mathematics`: one value in two forms, and a twin that is an edit away.

Run: `python tools/mathematics_forms.py`; it writes the same bytes each time. The truth of each
case is in closed form: exact arithmetic makes both forms of a value, and the edit changes it.
"""
# ruff: noqa: E501  # Tables of cases are read by row.

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import cycle, product
from math import comb, isqrt
from typing import NamedTuple

from keywriter import NO, YES, Key, write

FRAMES = (
    "\\boxed{%s}",
    "Both forms agree, so the answer is $%s$.",
    "I work it out.\n#### %s",
    "<answer>%s</answer>",
    "Hence $x = \\boxed{%s}$.",
    "%s",
)
"""How a model states its answer; cases take them in turn."""


class Form(NamedTuple):
    """A value as the task has it, in another form, and with an edit."""

    answer: str
    right: str
    wrong: str


def fraction(value: Fraction, by: int = 1) -> str:
    """A fraction in LaTeX, expanded."""
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator) * by}}}{{{value.denominator * by}}}"


def proper(rng: random.Random) -> Fraction:
    """A fraction that is no whole number."""
    return rng.randint(-9, 9) + Fraction(rng.randint(1, 6), 7)


def root(radicand: int, factor: int = 1) -> str:
    """A square root with a factor."""
    return f"{factor if factor > 1 else ''}\\sqrt{{{radicand}}}"


def signed(number: int) -> str:
    """A number behind another one."""
    return f"+ {number}" if number >= 0 else f"- {-number}"


# ---- Numbers


def sums(rng: random.Random) -> Form:
    """A sum of two fractions."""
    one, other = proper(rng), proper(rng) + Fraction(1, 5)
    said = f"{fraction(one)} + {fraction(other)}".replace("+ -", "- ")
    return Form(fraction(one + other), said, said.replace("\\frac", "1\\frac", 1))


def expanded(rng: random.Random) -> Form:
    """A fraction that can be reduced."""
    value, by = proper(rng), rng.randint(2, 9)
    edit = fraction(value + Fraction(1, value.denominator * by))
    return Form(fraction(value), fraction(value, by), edit)


def decimals(rng: random.Random) -> Form:
    """A decimal fraction that ends."""
    digits = rng.randint(1, 9999) * 10 + 5
    return Form(
        fraction(Fraction(digits, 1000)), f"{digits / 1000:.3f}", f"{digits / 1000 + 0.001:.3f}"
    )


def repeating(rng: random.Random) -> Form:
    """A decimal fraction that repeats."""
    whole, period = rng.randint(0, 9), rng.randint(11, 98)
    said = f"{whole}.\\overline{{{period}}}"
    return Form(fraction(whole + Fraction(period, 99)), said, f"{whole}.{period}")


def percents(rng: random.Random) -> Form:
    """A share in percent."""
    value = Fraction(rng.randint(1, 399), 8)
    said = f"{float(value):g}"
    return Form(fraction(value / 100), f"{said}\\%", said)


def radicals(rng: random.Random) -> Form:
    """A square root with a square in it."""
    factor, rest = rng.randint(2, 9), rng.choice((2, 3, 5, 6, 7, 10, 11))
    return Form(root(factor**2 * rest), root(rest, factor), root(rest, factor + 1))


def rationalised(rng: random.Random) -> Form:
    """A root below a fraction."""
    top, below = rng.randint(2, 9), rng.choice((2, 3, 5, 7, 11, 13))
    right = f"\\frac{{{top}\\sqrt{{{below}}}}}{{{below}}}"
    return Form(f"\\frac{{{top}}}{{\\sqrt{{{below}}}}}", right, right.replace("\\sqrt", ""))


def nested(rng: random.Random) -> Form:
    """A root of a sum with a root."""
    one, other = rng.sample((2, 3, 5, 7, 11, 13), 2)
    said = f"\\sqrt{{{one + other} + 2\\sqrt{{{one * other}}}}}"
    return Form(f"{root(one)} + {root(other)}", said, said.replace("2\\sqrt", "3\\sqrt"))


def powers(rng: random.Random) -> Form:
    """A power with a fraction."""
    base, top, below = rng.randint(2, 5), rng.randint(2, 4), rng.choice((2, 3))
    said = f"{base**below}^{{{top}/{below}}}"
    return Form(f"{base**top}", said, f"{base**below}^{{{top + 1}/{below}}}")


def scientific(rng: random.Random) -> Form:
    """A power of ten."""
    digits, power = rng.randint(11, 99), rng.randint(2, 30)
    said = f"{digits // 10}.{digits % 10} \\times 10^{{%d}}"
    return Form(f"{digits * 10**power}", said % (power + 1), said % (power + 2))


def logarithms(rng: random.Random) -> Form:
    """A logarithm of a power."""
    base, power = rng.randint(2, 9), rng.randint(2, 8)
    return Form(
        f"{power}", f"\\log_{{{base}}} {base**power}", f"\\log_{{{base}}} {base**power + 1}"
    )


def binomials(rng: random.Random) -> Form:
    """A binomial coefficient."""
    n = rng.randint(5, 20)
    k = rng.randint(2, n - 3)
    return Form(f"{comb(n, k)}", f"\\binom{{{n}}}{{{n - k}}}", f"\\binom{{{n + 1}}}{{{k}}}")


def complex_products(rng: random.Random) -> Form:
    """A product of complex numbers."""
    a, b, c, d = (rng.randint(1, 9) for _ in range(4))
    right = f"({a} + {b}i)({c} + {d}i)"
    return Form(f"{a * c - b * d} + {a * d + b * c}i", right, right.replace("i)", ")", 1))


def bases(rng: random.Random) -> Form:
    """A number in a base."""
    value, (base, word) = rng.randint(5, 60), rng.choice(((2, "two"), (3, "three"), (8, "eight")))
    digits, rest = "", value
    while rest:
        digits, rest = f"{rest % base}{digits}", rest // base
    edit = digits[:-1] + str((value + 1) % base)
    name = f"_{{\\text{{{word}}}}}"
    return Form(f"{digits}_{{{base}}}", digits + name, edit + name)


def small(rng: random.Random) -> Form:
    """A function of a small number, which is no polynomial of it."""
    tiny = f"10^{{-{rng.randint(12, 60)}}}"
    return rng.choice((
        Form(f"\\sin(2 \\cdot {tiny})", f"2\\sin({tiny})\\cos({tiny})", f"2 \\cdot {tiny}"),
        Form(f"e^{{{tiny}}}", f"\\frac{{1}}{{e^{{-{tiny}}}}}", f"1 + {tiny}"),
        Form(f"\\ln(1 + {tiny})", f"2\\ln\\sqrt{{1 + {tiny}}}", tiny),
        Form(f"\\cos(2 \\cdot {tiny})", f"1 - 2\\sin({tiny})^2", "1"),
        Form(f"\\tan({tiny})", f"\\frac{{\\sin({tiny})}}{{\\cos({tiny})}}", tiny),
    ))  # fmt: skip


# ---- Formulas


def factors(rng: random.Random) -> Form:
    """A quadratic, with its factors."""
    a, b = rng.randint(-9, 9) or 1, rng.randint(1, 9)
    long = f"x^2 {signed(a + b)}x {signed(a * b)}"
    return Form(long, f"(x {signed(a)})(x {signed(b)})", f"(x {signed(a)})(x {signed(b + 1)})")


def squares(rng: random.Random) -> Form:
    """A square of a sum, the other way."""
    a, b = rng.randint(2, 9), rng.randint(1, 9)
    right = f"{a * a}x^2 + {2 * a * b}xy + {b * b}y^2"
    return Form(f"({a}x + {b}y)^2", right, right.replace("xy", "y"))


def parts(rng: random.Random) -> Form:
    """A fraction in parts."""
    a = rng.randint(2, 9)
    right = f"\\frac{{1}}{{x}} - \\frac{{1}}{{x + {a}}}"
    return Form(f"\\frac{{{a}}}{{x(x + {a})}}", right, right.replace("-", "+"))


# ---- Several values


def sets(rng: random.Random) -> Form:
    """A set, in another order and other forms."""
    a, b, c = rng.sample(range(-20, 20), 3)
    right = f"\\left\\{{{c}, \\frac{{{2 * a}}}{{2}}, {b}\\right\\}}"
    return Form(f"\\{{{a}, {b}, {c}\\}}", right, right.replace(f", {b}", f", {b + 41}"))


def tuples(rng: random.Random) -> Form:
    """A point, whose order counts."""
    a, b = rng.sample(range(1, 20), 2)
    return Form(f"({a}, -{b})", f"\\left({a}, -\\frac{{{2 * b}}}{{2}}\\right)", f"(-{b}, {a})")


def intervals(rng: random.Random) -> Form:
    """An interval, as an inequality."""
    low = rng.randint(-9, 9)
    high = low + rng.randint(1, 9)
    return Form(f"[{low}, {high})", f"{low} \\le x < {high}", f"{low} \\le x \\le {high}")


def rays(rng: random.Random) -> Form:
    """Half of the line, as an inequality with a factor."""
    end, by = rng.randint(-9, 9), rng.randint(2, 9)
    return Form(f"({end}, \\infty)", f"-{by}x < {-by * end}", f"{by}x < {by * end}")


def ratios(rng: random.Random) -> Form:
    """A ratio, multiplied by a number."""
    a, b, by = rng.randint(11, 40), rng.randint(2, 9), rng.randint(2, 9)
    return Form(f"{a}:{b}", f"{a * by}:{b * by}", f"{b * by}:{a * by}")


# ---- Units

_UNITS = (
    ("km", "m", 1000), ("m", "cm", 100), ("cm", "mm", 10), ("kg", "g", 1000), ("g", "mg", 1000),
    ("hours", "minutes", 60), ("minutes", "seconds", 60), ("days", "hours", 24),
    ("weeks", "days", 7), ("L", "mL", 1000), ("feet", "inches", 12), ("yards", "feet", 3),
    ("m^2", "cm^2", 10_000), ("km/h", "m/h", 1000),
)  # fmt: skip


def units(rng: random.Random) -> Form:
    """A quantity in another unit."""
    large, little, worth = rng.choice(_UNITS)
    count = rng.randint(2, 40)
    right = f"{count * worth} \\text{{ {little}}}"
    return Form(f"{count} \\text{{ {large}}}", right, f"{count * worth} \\text{{ {large}}}")


def speeds(rng: random.Random) -> Form:
    """Kilometres per hour as metres per second."""
    count = rng.randint(1, 20) * 5
    right = f"{count * 18 // 5} \\text{{ km/h}}"
    return Form(f"{count} \\text{{ m/s}}", right, f"{count} \\text{{ km/h}}")


PLAIN_FRAMES = ("\\boxed{%s}", "The answer is %s.", "I work it out.\n#### %s", "%s")
"""Frames without a formula, in which a unit may stand as it is written in plain text."""
_PLAIN: tuple[Callable[[int], Form], ...] = (
    lambda n: Form(f"{5 * n} \\text{{ m/s}}", f"{18 * n} km/h", f"{18 * n} m/s"),
    lambda n: Form(f"{5 * n} m/s", f"{18 * n} km per hour", f"{5 * n} km per hour"),
    lambda n: Form(f"{n} mph", f"{n} miles per hour", f"{n} km/h"),
    lambda n: Form(f"{n} \\text{{ mph}}", f"{n} mi/h", f"{n} mi/min"),
    lambda n: Form(f"{n} hours", f"{60 * n} min", f"{n} min"),
    lambda n: Form(f"\\${n}", f"{n} dollars", f"{n} cents"),
    lambda n: Form(f"{n} \\text{{ dollars}}", f"{100 * n} cents", f"{n} cents"),
    lambda n: Form(f"\\${n},500", f"${n}500", f"${n}501"),
    lambda n: Form(f"{n} \\text{{ cm}}^2", f"{n} sq cm", f"{n} cm"),
    lambda n: Form(f"{n} \\text{{ m/s}}^2", f"{n} meters per second squared", f"{n} m/s"),
    lambda n: Form(f"{n} \\text{{ kg/m}}^3", f"{n} kg/m^3", f"{n} kg/m^2"),
    lambda n: Form(f"{n} \\text{{ N}}", f"{n} N", f"{n} J"),
    lambda n: Form(f"{n} \\text{{ Pa}}", f"{n} Pa", f"{n} Hz"),
    lambda n: Form(f"{n}^\\circ", f"{n} °", f"{n + 1} °"),
)
"""A quantity in the form of a formula, and as people write it."""
_LETTERS: tuple[Callable[[int, str], Form], ...] = (
    lambda n, x: Form(f"{n}{x} + 1", f"1 + {n}{x}", f"{n} + {x}"),
    lambda n, x: Form(f"{n}{x}", f"{x} + {n - 1}{x}", f"{x} + {n}{x}"),
    lambda n, x: Form(f"{n * n}{x}^2", f"({n}{x})^2", f"{n}{x}^2"),
    lambda n, x: Form(
        f"\\frac12 {x}t^{n}", f"\\frac{{{x}t^{n}}}{{2}}", f"\\frac{{2}}{{{x}t^{n}}}"
    ),
)
"""A formula with letters that are units elsewhere."""


# ---- What stands around a box


def boxes(rng: random.Random) -> tuple[str, Fraction, Fraction]:
    """A formula around a box, its value, and what the box holds."""
    n, k = rng.randint(2, 30), rng.randint(2, 9)
    return rng.choice((
        (f"$-\\boxed{{{n}}}$", Fraction(-n), Fraction(n)),
        (f"-\\boxed{{{n}}}", Fraction(-n), Fraction(n)),
        (f"$-\\boxed {n}$", Fraction(-n), Fraction(n)),
        (f"${k}\\boxed{{{n}}}$", Fraction(k * n), Fraction(n)),
        (f"$x = {k} \\cdot \\boxed{{{n}}}$", Fraction(k * n), Fraction(n)),
        (f"$\\boxed{{{n}}}^{k}$", Fraction(n**k), Fraction(n)),
        (f"\\boxed{{{n}}}^{k}", Fraction(n**k), Fraction(n)),
        (f"$\\frac{{\\boxed{{{n}}}}}{{{n + k}}}$", Fraction(n, n + k), Fraction(n)),
        (f"$\\boxed{{{n}}} + {k}$", Fraction(n + k), Fraction(n)),
        (f"\\[x = {k} - \\boxed{{{n}}}\\]", Fraction(k - n), Fraction(n)),
        (f"\\(\\boxed{{{n}}}\\%\\)", Fraction(n, 100), Fraction(n)),
        (f"$\\sqrt{{\\boxed{{{n * n}}}}}$", Fraction(isqrt(n * n)), Fraction(n * n)),
    ))  # fmt: skip


# ---- Words behind a number

_NUMERALS: tuple[Callable[[int], Form], ...] = (
    lambda n: Form(f"{n}000000", f"{n} \\text{{ million}}", f"{n} \\text{{ billion}}"),
    lambda n: Form(f"{n} \\text{{ million}}", f"{n},000,000", f"{n}"),
    lambda n: Form(f"{n} \\text{{ thousand}}", f"{n} \\cdot 10^3", f"{n} \\text{{ hundred}}"),
    lambda n: Form(f"{12 * n}", f"{n} \\text{{ dozen eggs}}", f"{n + 1} \\text{{ dozen eggs}}"),
    lambda n: Form(f"{n} \\text{{ million dollars}}", f"\\${n}000000", f"\\${n}"),
    lambda n: Form(f"\\${n} \\text{{ million}}", f"{n}000000 \\text{{ dollars}}", f"\\${n}"),
    lambda n: Form(f"{n}\\%", f"{n} \\text{{ percent of them}}", f"{n} \\text{{ of them}}"),
)
"""A number with a numeral in words."""
_BEHIND: tuple[tuple[str, Fraction], ...] = (
    ("\\boxed{%d} million", Fraction(10**6)), ("$\\boxed{%d}$ thousand", Fraction(1000)),
    ("\\boxed{%d} percent", Fraction(1, 100)), ("$x = \\boxed{%d}$ %%", Fraction(1, 100)),
    ("\\(\\boxed{%d}\\) per cent of all.", Fraction(1, 100)), ("\\boxed{%d} dozen", Fraction(12)),
    ("\\boxed{%d}\\text{ thousand}", Fraction(1000)), ("**\\boxed{%d}** hundred", Fraction(100)),
)  # fmt: skip
"""A box and what stands behind it in plain text, with what that multiplies it by."""
_MEASURED: tuple[tuple[str, str, str], ...] = (
    ("\\boxed{%d} km/h", "km/h", "m/s"), ("$\\boxed{%d}$ miles per hour", "mph", "km/h"),
    ("\\(\\boxed{%d}\\) cm.", "cm", "m"), ("\\boxed{%d}\\text{ kg}", "kg", "g"),
    ("\\[\\boxed{%d}.\\] hours later it ends.", "hours", "minutes"),
    ("**\\boxed{%d}** square meters", "m^2", "m"), ("\\boxed{%d} dollars", "dollars", "cents"),
)  # fmt: skip
"""A box and the unit behind it in plain text, the unit as a task has it, and another one."""


_MAKERS: tuple[tuple[Callable[[random.Random], Form], int], ...] = (
    (sums, 6), (expanded, 5), (decimals, 8), (repeating, 10), (percents, 12), (radicals, 16),
    (rationalised, 8), (nested, 2), (powers, 12), (scientific, 16), (logarithms, 10),
    (binomials, 10), (complex_products, 6), (bases, 14), (small, 5), (factors, 12), (squares, 10),
    (parts, 6), (sets, 10), (tuples, 6), (intervals, 14), (rays, 10), (ratios, 12), (units, 36),
    (speeds, 8),
)  # fmt: skip
"""Makers, and how many pairs each makes."""


def rows() -> Iterator[tuple[str, Form, str]]:
    """Frames and forms, and why they say the same."""
    rng, frames = random.Random(27), cycle(FRAMES)  # noqa: S311  # The same each time is the point.
    for make, count in _MAKERS:
        for form in {make(rng): None for _ in range(count)}:
            yield next(frames), form, f"{make.__doc__}".rstrip(".").lower()


def forms(key: Key) -> None:
    """All cases in order."""
    for frame, form, why in rows():
        task = {"answer": form.answer}
        key.pair(frame % form.right, frame % form.wrong, task, why, "generator: two forms")
    rng, source = random.Random(28), "generator: a formula around a box"  # noqa: S311
    for said, value, held in {boxes(rng): None for _ in range(56)}:
        why = "what stands around a box belongs to it"
        key.add(said, {"answer": f"{value}"}, YES, why, source)
        key.add(said, {"answer": f"{held}"}, NO, f"{why}; the box alone", source)
    why = "a quantity as people write it"
    source, frames = "generator: units in plain text", cycle(PLAIN_FRAMES)
    for n, make in product((12, 25, 40), _PLAIN):
        frame, form = next(frames), make(n)
        key.pair(frame % form.right, frame % form.wrong, {"answer": form.answer}, why, source)
    why = "a formula in another order"
    source, frames = "generator: letters that are units elsewhere", cycle(FRAMES)
    for (n, letter), spell in product(
        ((3, "m"), (5, "g"), (4, "s"), (7, "h"), (6, "L")), _LETTERS
    ):
        frame, form = next(frames), spell(n, letter)
        key.pair(frame % form.right, frame % form.wrong, {"answer": form.answer}, why, source)
    words(key)
    notations(key)


def words(key: Key) -> None:
    """Numerals and units behind a number, and behind a box."""
    why, source = "a numeral in words multiplies", "generator: words behind a number"
    frames = cycle(("\\boxed{%s}", "<answer>%s</answer>"))
    for n, numeral in product((3, 14), _NUMERALS):
        frame, form = next(frames), numeral(n)
        key.pair(frame % form.right, frame % form.wrong, {"answer": form.answer}, why, source)
    why = "what stands behind a box in plain text"
    for n, (said, worth) in product((5, 42), _BEHIND):
        key.add(said % n, {"answer": f"{n * worth}"}, YES, why, source)
        key.add(said % n, {"answer": f"{n}"}, NO, f"{why}; the box alone", source)
    for n, (said, unit, other) in product((5, 42), _MEASURED):
        right, wrong = ({"answer": f"{n} \\text{{ {each}}}"} for each in (unit, other))
        key.add(said % n, right, YES, why, source)
        key.add(said % n, wrong, NO, f"{why}; another unit", source)


# ---- Other notations

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_NOTATIONS: tuple[Callable[[int], Form], ...] = (
    lambda n: Form(f"|x - {n % 9}|", f"|{n % 9} - x|", f"{n % 9} - x"),
    lambda n: Form(f"\\max(x, {n % 9})", f"\\max({n % 9}, x)", f"{n % 9}"),
    lambda n: Form(f"{n}|x|", f"|{n}x|", f"{n}x"),
    lambda n: Form(f"{n} < x", f"{n} < x < \\infty", f"|x| > {n}"),
    lambda n: Form(f"{n} \\text{{ s}}^{{-1}}", f"{n} \\text{{ s}}^{{-1}}", f"{n} \\text{{ s}}^{{-2}}"),
    lambda n: Form(f"{n} \\text{{ m/s}}^2", f"{n}\\,\\mathrm{{m\\,s^{{-2}}}}", f"{n}\\,\\mathrm{{m\\,s^{{-1}}}}"),
    lambda n: Form(f"{n} \\text{{ cm}}^3/\\text{{s}}", f"{60 * n} \\text{{ cm}}^3 \\text{{ per minute}}",
                   f"{60 * n} \\text{{ cm}}^2 \\text{{ per minute}}"),
    lambda n: Form(f"{n} \\text{{ N}}", f"{n}\\,\\text{{N}}", f"{n} \\text{{ Ns}}"),
    lambda n: Form(f"{60 + n} \\text{{ minutes}}", f"1 \\text{{ hour }} {n} \\text{{ minutes}}",
                   f"1 \\text{{ hour }} {n + 1} \\text{{ minutes}}"),
    lambda n: Form(f"{n}x", f"y = {n}x", f"x = {n}x"),
    lambda n: Form(f"x = {n}, y = {n + 1}", f"{n}, {n + 1}", f"{n + 1}, {n}"),
    lambda n: Form(f"{n}, {-n - 1}", f"x_1 = {n}, x_2 = {-n - 1}", f"x_1 = {n}, x_2 = {-n}"),
    lambda n: Form(f"({n + 1}, {n})", f"\\left({n + 1},\\, {n}\\right)", f"[{n + 2}, {n}]"),
    lambda n: Form(f"x > 0, x \\ne {n}", f"(0, {n}) \\cup ({n}, \\infty)", "(0, \\infty)"),
    lambda n: Form(f"\\frac{{{n}}}{{100}}", f"{n}\\,\\%", f"{n}"),
    lambda n: Form(f"{n}\\%", f"{n}\\text{{\\%}}", f"{n + 1} \\%"),
    lambda n: Form(f"10^{n}", f"10{str(n).translate(_RAISED)}", f"10{str(n + 1).translate(_RAISED)}"),
    lambda n: Form(f"\\sqrt{{{n + 20}}}", f"√{n + 20}", f"√{n + 21}"),
    lambda n: Form(f"{n}000000", f"{n}\u202f000\u202f000", f"{n}\u202f000\u202f001"),
    lambda n: Form(f"{n}^\\circ\\text{{C}}", f"{n} °C", f"{n} °F"),
    lambda n: Form(f"{n}^\\circ", f"{n}\\,^\\circ", f"{n + 1}\\,^\\circ"),
    lambda n: Form(f"{n}", f"\\bar{{x}} = {n}", f"\\bar{{x}} = {n + 1}"),
    lambda n: Form(f"\\frac{{1}}{{{n}}}", f"P(A \\mid B) = \\frac{{1}}{{{n}}}", f"P(A \\mid B) = \\frac{{2}}{{{n}}}"),
    lambda n: Form(f"€{n}", f"{n} \\text{{ euros}}", f"\\${n}"),
    lambda n: Form(f"-{n}", f"-\\${n}", f"\\${n}"),
    lambda n: Form(f"1:{n + 20}", f"1 : {n + 20}", f"{n + 20} : 1"),
)  # fmt: skip
"""A value, in another notation, and an edit."""


def notations(key: Key) -> None:
    """One value in two notations."""
    why, source = "one value in two notations", "generator: notations"
    for n, notation in product((3, 8, 14, 27, 45), _NOTATIONS):
        form = notation(n)
        key.pair(
            f"\\boxed{{{form.right}}}",
            f"\\boxed{{{form.wrong}}}",
            {"answer": form.answer},
            why,
            source,
        )


if __name__ == "__main__":
    write({"mathematics": forms}, sys.argv[1:])
