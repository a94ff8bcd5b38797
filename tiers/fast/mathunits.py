"""Units behind a number: what they are worth in metres, grams, seconds, degrees and money."""

from __future__ import annotations

import re
from fractions import Fraction

_BASES = ("metre", "gram", "second", "degree", "dollar", "euro", "pound", "yen", "rupee")
Powers = tuple[int, ...]
"""Of each of these; the pound is money."""


def _of(**powers: int) -> Powers:
    return tuple(powers.get(base, 0) for base in _BASES)


_METRE, _GRAM, _SECOND, _DEGREE = _of(metre=1), _of(gram=1), _of(second=1), _of(degree=1)
_LITRE, _SPEED = _of(metre=3), _of(metre=1, second=-1)
_TABLE = (
    ("m meter meters metre metres", "1", _METRE),
    ("cm centimeter centimeters centimetre centimetres", "1/100", _METRE),
    ("mm millimeter millimeters millimetre millimetres", "1/1000", _METRE),
    ("km kilometer kilometers kilometre kilometres", "1000", _METRE),
    ("in inch inches", "0.0254", _METRE),
    ("ft foot feet", "0.3048", _METRE),
    ("yd yard yards", "0.9144", _METRE),
    ("mi mile miles", "1609.344", _METRE),
    ("g gram grams", "1", _GRAM),
    ("kg kilogram kilograms", "1000", _GRAM),
    ("mg milligram milligrams", "1/1000", _GRAM),
    ("s sec second seconds", "1", _SECOND),
    ("ms millisecond milliseconds", "1/1000", _SECOND),
    ("min minute minutes", "60", _SECOND),
    ("h hr hrs hour hours", "3600", _SECOND),
    ("day days", "86400", _SECOND),
    ("week weeks", "604800", _SECOND),
    ("L l liter liters litre litres", "1/1000", _LITRE),
    ("mL ml milliliter milliliters", "1/1000000", _LITRE),
    ("mph", "1397/3125", _SPEED),
    ("kph kmh", "5/18", _SPEED),
    ("degree degrees deg", "1", _DEGREE),
    ("$ dollar dollars USD", "1", _of(dollar=1)),
    ("cent cents", "1/100", _of(dollar=1)),
    ("€ euro euros EUR", "1", _of(euro=1)),
    ("£ GBP", "1", _of(pound=1)),
    ("¥ yen JPY", "1", _of(yen=1)),
    ("₹ rupee rupees INR", "1", _of(rupee=1)),
)
UNITS: dict[str, tuple[Fraction, Powers]] = {
    name: (Fraction(worth), powers) for names, worth, powers in _TABLE for name in names.split()
}
"""What a unit is worth, and its powers."""
_SPELLINGS = (
    (r"\bper\b", "/"),
    (r"\b(?:square|sq) ([A-Za-z]+)", r"\1^2"),
    (r"\bcubic ([A-Za-z]+)", r"\1^3"),
    (r"\b([A-Za-z]+) squared\b", r"\1^2"),
    (r"\b([A-Za-z]+) cubed\b", r"\1^3"),
    (r"\*", " "),
    (r"[{}]", ""),
)
"""Words and signs between units, and what is read for them."""

NUMERALS: dict[str, Fraction] = {
    name + ending: Fraction(worth)
    for name, worth in (
        ("dozen", "12"), ("hundred", "100"), ("thousand", "1000"), ("million", "1e6"),
        ("billion", "1e9"), ("trillion", "1e12"),
    )
    for ending in ("", "s")
} | {"percent": Fraction(1, 100)}  # fmt: skip
"""Words behind a number by which it is multiplied."""
CHANGING = frozenset({
    "half", "quarter", "squared", "cubed", "factorial", "plus", "minus", "times",
})  # fmt: skip
"""Words behind a number that change it in other ways."""
CURRENCIES = "€£¥₹"
"""Signs of money beside the dollar's."""
_ABBREVIATED = 3
"""Letters of the longest word whose capitals count."""


def scaled(words: str) -> tuple[Fraction, str]:
    """Take numerals off the beginning of words: what they are worth, and the words that are left.

    Example:
        >>> scaled("million dollars"), scaled("per cent"), scaled("apples")
        ((Fraction(1000000, 1), 'dollars'), (Fraction(1, 100), ''), (Fraction(1, 1), 'apples'))
    """
    worth, left = Fraction(1), re.sub(r"(?i)\bper cent\b", "percent", words).split()
    while left and (numeral := NUMERALS.get(left[0].lower())):
        worth *= numeral
        del left[0]
    return worth, " ".join(left)


def unit_worth(text: str) -> tuple[Fraction, Powers] | None:
    """What a unit is worth, and its powers; None if it is unknown.

    Example:
        >>> unit_worth("km per hour") == unit_worth("km/h"), unit_worth("apples")
        (True, None)
    """
    worth, sign = Fraction(1), 1
    powers: Powers = (0,) * len(_BASES)
    words = text
    for written, read in _SPELLINGS:
        words = re.sub(written, read, words)
    for part in re.findall(r"/|[A-Za-z]+(?:\^?-?\d)?|\S", words):
        if part == "/":
            sign = -1
            continue
        match = re.fullmatch(rf"([A-Za-z]+|[${CURRENCIES}])(?:\^?(-?\d))?", part)
        if match is None or (known := UNITS.get(in_small_letters(match[1]))) is None:
            return None
        one, of = known
        power = sign * int(match[2] or 1)
        worth *= one**power
        powers = tuple(a + power * b for a, b in zip(powers, of, strict=True))
    return worth, powers


def in_small_letters(word: str) -> str:
    """A word that begins with a capital in small letters; an abbreviation as it is: `Pa`, `kWh`.

    Example:
        >>> in_small_letters("Hours"), in_small_letters("Pa")
        ('hours', 'Pa')
    """
    return word.lower() if len(word) > _ABBREVIATED and word[1:].islower() else word
