r"""Tokens of mathematical text: LaTeX or plain notation, split into pairs of kind and value.

| Kind | Value |
|---|---|
| `num`, `thousands` | a number as it is written; `1,234` may also be two |
| `based` | a number with its base as index: `1011_2` |
| `gap` | the space behind a number |
| `sym`, `func`, `accent` | a name of one letter, that of a function, or of a sign above a name |
| `words` | a word, or words in `\text{…}` |
| `frac`, `binom`, `begin`, `end`, `row`, `reals`, `clock`, `dollar`, `percent` | as written |
| `numbers` | the letter of a set of numbers, as in `\mathbb{Z}` |
| `op` | any other sign, in one spelling for all ways to write it |
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from verifier_ladder.tiers.fast.mathunits import CURRENCIES, UNITS, unit_worth

LONGEST = 2000
"""Characters of the longest answer that is read."""
DEEPEST = 120
"""Steps into each other that one place of an answer may be away from its beginning.

A fraction in braces is five steps, a pair of brackets four, so 23 of them are read. A step is some
three calls, of which Python allows a thousand.
"""
_EXPONENT = 10_000
"""Largest power of ten that a number in scientific notation may have."""


class UnreadableError(ValueError):
    """Text that can't be read as mathematics; the message says where it went wrong."""


_SIGNS = {
    "−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~",
    "∈": " in ", "∪": "\\cup ", "∩": "\\cap ", "∞": "\\infty ", "π": "\\pi ", "±": "\\pm ",
    "∓": "\\mp ", "√": "\\sqrt ", "°": "^\\circ ", "…": "\\ldots ", "∅": "\\emptyset ",
    "ℝ": "\\mathbb{R}", "½": "\\frac12 ", "¼": "\\frac14 ", "¾": "\\frac34 ", "⅓": "\\frac13 ",
    "⅔": "\\frac23 ", "⅛": "\\frac18 ", "\u2124": "\\mathbb{Z}", "⋅": "*", "∠": "\\angle ",
    "α": "\\alpha ", "β": "\\beta ", "\u03b3": "\\gamma ", "δ": "\\delta ", "θ": "\\theta ",
    "λ": "\\lambda ", "μ": "\\mu ", "\u03c1": "\\rho ", "\u03c3": "\\sigma ", "τ": "\\tau ",
    "φ": "\\phi ", "ϕ": "\\phi ", "ω": "\\omega ", "Δ": "\\Delta ", "Ω": "\\Omega ",
    "\u00a0": "~", "\u2009": "~", "\u202f": "~", "′": "'", "\u2010": "-", "\u2011": "-",
}  # fmt: skip
"""Characters of typography; any other that is not ASCII makes the text unreadable."""
_TYPOGRAPHY = str.maketrans(_SIGNS)
_RAISED, _LOWERED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "₀₁₂₃₄₅₆₇₈₉"
TYPOGRAPHY = "".join(_SIGNS) + _RAISED + _LOWERED + CURRENCIES
_ON_THE_LINE = str.maketrans(_RAISED + _LOWERED, "0123456789+-0123456789")
_SCRIPTS = re.compile(f"([{_RAISED}]+)|[{_LOWERED}]+")
_ROOT = re.compile(r"√\s*(\d+)")
"""A root of typography, which reaches over all digits behind it."""
_SPACING = re.compile(
    r"(?<!\\)\\(?:[,;:! ]|\Z|quad\b|qquad\b|displaystyle\b|textstyle\b|left\b\.?|right\b\.?"
    r"|big\w*\b|Big\w*\b|limits\b|boldsymbol\b|bm\b|angle\b|triangle\b|checkmark\b)|~"
    r"|(?<!\\)\$|\*\*(?!\s*[\d(-]|(?<=[\w)}\]]\*\*)[A-Za-z{]|(?<=\s\*\*)\s+[A-Za-z{])|`"
)
_GROUPS = re.compile(r"(?<=\d)(?:\\[,; ]|,\\!|~)(?=\d{3}(?!\d))")
"""Separators of thousands that are spaces."""
_STOP = re.compile(r"(?:(?<=\.{3})|(?<!\.))\.\Z")
"""The end of a sentence, which is none of three dots."""
_MONEY = re.compile(r"\A\$(?=\d[^$]*\Z)")
"""A sign before a number that begins no formula."""
_DEGREE = re.compile(r"\^?\s*(?:\{\s*\\degree\s*\}|\\degree(?![A-Za-z]))")
_TEMPERATURE = re.compile(
    r"\^\s*(?:\{\s*\\circ\s*\}|\\circ)\s*"
    r"(?:\\(?:text|mathrm)\{\s*([CF])\.?\s*\}|([CF])(?![A-Za-z_^('])(?!\\?\{))"
)
"""The sign of degrees with the scale that they are of."""
_MEASURE = re.compile(r"(?<=\d)\s*([A-Za-z][A-Za-z0-9/*^{} -]*+)(?=[,;)\]=]|\Z)")
"""What stands in plain text behind a number and may be its unit, such as `km/h`."""
_SPELT = re.compile(r"/|[A-Za-z]{2}")
_BRACES = str.maketrans("", "", "{}")
_WRAPPED = re.compile(r"\*\*(.*)\*\*", re.DOTALL)
_BASES = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "sixteen": 16,
}  # fmt: skip
"""Words for the base that a number is written in."""
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<repeat>\d*\.\d*\\(?:overline|bar)(?:\{\s*\d+\s*\}|\s*\d))"
    r"|(?P<based>(?:\d+(?:\.\d+)?|\(\d+(?:\.\d+)?\))_(?:\d{1,2}(?!\d)|\{\s*\d{1,2}\s*\}"
    rf"|\{{?\s*\\(?:text|mathrm)\{{\s*(?:{'|'.join(_BASES)})\s*\}}\s*\}}?))"
    r"|(?P<clock>(?<![\d:])(?:[01]?\d|2[0-4]):[0-5]\d(?![\d:]))"
    r"|(?P<grouped>\d{1,3}(?:(?:\{,\}|\\,)\d{3})+(?:\.\d+)?(?!\d))"
    r"|(?P<thousands>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?!\d))"
    r"|(?P<science>(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+(?![\w^]))"
    r"|(?P<number>\d+\.\d+|\.\d+|\d+)"
    r"|(?P<text>\\(?:text|textbf|textit|textrm|texttt|mathrm|mathbf|mathit|mathsf|operatorname|mbox"
    r"|boxed|fbox)\*?\s*\{)"
    r"|(?P<reals>\\mathbb\s*\{?R\}?)|(?P<numbers>\\mathbb\s*\{?[CNQZ]\}?)"
    r"|(?P<begin>\\begin\{[pbB]?matrix\})|(?P<end>\\end\{[pbB]?matrix\})"
    r"|(?P<row>\\\\)"
    r"|(?P<brace>\\[{}]|\\lbrace|\\rbrace)"
    rf"|(?P<dollar>\\\$|[{CURRENCIES}])|(?P<percent>\\?%)"
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
_SYMBOLS = _words(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta kappa lambda mu nu xi "
    "rho sigma tau phi varphi chi psi omega "
    "Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell"
)
"""Commands that are names."""
_ACCENTS = _words("bar hat overline overrightarrow tilde vec widehat widetilde")
"""Commands for signs above a name."""
_COMMANDS = {
    "Pr": ("sym", "P"), "euro": ("dollar", "€"), "pounds": ("dollar", "£"), "yen": ("dollar", "¥"),
    "lfloor": ("op", "floor("), "rfloor": ("op", "floor)"), "lceil": ("op", "ceil("),
    "rceil": ("op", "ceil)"),
    **{name: ("sym", name) for name in _SYMBOLS},
    **{name: ("accent", name) for name in _ACCENTS},
    **{f"{kind}frac": ("frac", f"\\{kind}frac") for kind in ("", "d", "t", "c")},
    **{f"{kind}binom": ("binom", f"\\{kind}binom") for kind in ("", "d", "t")},
}  # fmt: skip
"""What other commands are."""
_OPERATORS = {
    "\\cdot": "*", "\\times": "*", "\\ast": "*", "\\div": "/", "\\le": "<=", "\\leq": "<=",
    "\\leqslant": "<=", "\\ge": ">=", "\\geq": ">=", "\\geqslant": ">=", "\\lt": "<", "\\gt": ">",
    "\\ne": "!=", "\\neq": "!=", "\\approx": "~", "\\sim": "~", "\\equiv": "=", "\\in": "in",
    "\\cup": "cup", "\\cap": "cap", "\\setminus": "without", "\\backslash": "without",
    "\\pm": "+-", "\\mp": "-+", "\\ldots": "...", "\\dots": "...", "\\cdots": "...",
    "\\infty": "inf", "\\pi": "pi", "\\emptyset": "empty", "\\varnothing": "empty", "**": "^",
    "\\mid": "|", "\\vert": "|", "\\lvert": "|", "\\rvert": "|", "\\lor": "or", "\\land": "and",
    "\\colon": ":", "\\circ": "circ", "\\langle": "(", "\\rangle": ")",
}  # fmt: skip
JOINTS = {",": ",", ";": ",", "and": "and", "or": "or", ", and": "and", ", or": "or"}
_WORDS_FOR = {"infinity": "inf", "infty": "inf", "inf": "inf", "pi": "pi", "in": "in",
              "and": "and", "or": "or", "union": "cup"}  # fmt: skip
_AS_WORD = frozenset({"yes", "no", "odd", "even", "true", "none", "not", "nan", "xor", "if", "is"})
_UPRIGHT = frozenset(_words("infinity pi e i n x y z"))
"""Numbers and unknowns that are written like words, and are no units."""
_NAMED = re.compile(r"[A-Za-z][A-Za-z .'/^0-9-]*")
_JOINED = frozenset("/^0123456789")
"""What follows the first letter of a formula, or of a unit, but of no word."""
_BRACED_POWER = re.compile(r"\^\{\s*(-?\d)\s*\}")
_SAYS = re.compile(r"[A-Za-z0-9]")
_CLINGING = ([("percent", "%")], [("percent", "\\%")], [("op", "^")])
"""Tokens that belong to a number before them."""
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


def tokens(text: str, *, units: Collection[str] | None = None) -> list[tuple[str, str]]:
    r"""Split an answer into pairs of kind and value.

    Args:
        text: LaTeX or plain notation, without the marks around it.
        units: Whether letters behind a number are its unit, as in `5 m`, and names of units beside
            those that are known; by default they are factors.

    Raises:
        UnreadableError: If a character is none of mathematics, or text is too long, nested too
            deep or empty.

    Example:
        >>> tokens(r"2 \cdot x")
        [('num', '2'), ('gap', ' '), ('op', '*'), ('sym', 'x')]
    """
    if len(text) > LONGEST:
        raise UnreadableError(f"the answer is longer than {LONGEST} characters")
    plain = text.strip()
    while inner := _WRAPPED.fullmatch(plain):
        plain = inner[1].strip()
    plain = _ROOT.sub(r"\\sqrt{\1}", _MONEY.sub(r"\\$", plain))
    plain = scripted(plain).translate(_TYPOGRAPHY)
    plain = _SPACING.sub(" ", _GROUPS.sub("{,}", plain))
    plain = _TEMPERATURE.sub(r" deg\1\2", _DEGREE.sub(r"^\\circ ", plain))
    plain = _STOP.sub("", plain.strip())
    if not plain:
        raise UnreadableError("the answer is empty")
    if units is None:
        return _split(plain)
    return _with_units(_split(_MEASURE.sub(lambda found: _measured(found, units), plain)))


def scripted(text: str) -> str:
    """Write raised digits as a power, and lowered ones as an index.

    Example:
        >>> scripted("10⁻³ x₁")
        '10^{-3} x_{1}'
    """

    def on_the_line(found: re.Match[str]) -> str:
        return f"{'^' if found[1] else '_'}{{{found[0].translate(_ON_THE_LINE)}}}"

    return _SCRIPTS.sub(on_the_line, text)


def _measured(found: re.Match[str], others: Collection[str]) -> str:
    """What stands behind a number, as words if it is a unit and no product of letters."""
    unit = found[1].strip().translate(_BRACES)
    is_known = _SPELT.search(unit) and unit_worth(unit) is not None
    return f"\\text{{{unit}}}" if is_known or unit in others else found[0]


def _with_units(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Single letters behind a number that are units."""
    made: list[tuple[str, str]] = []
    for token in found:
        if token[0] == "sym" and token[1] in UNITS and made and made[-1][0] in {"gap", "num"}:
            token = ("words", token[1])  # noqa: PLW2901
        made.append(token)
    return made


def _split(text: str, depth: int = 0) -> list[tuple[str, str]]:
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
            _append(found, _quoted(text[at:close], depth))
            at = close + 1
        elif kind != "space":
            _append(found, _token(kind, value))
        elif found and found[-1][0] == "num":
            found.append(("gap", " "))
    return found


def _append(found: list[tuple[str, str]], more: list[tuple[str, str]]) -> None:
    """Add tokens; a power or percent belongs to a number, with or without a space."""
    if found and found[-1][0] == "gap" and more[:1] in _CLINGING:
        found.pop()
    found += more


def _quoted(inner: str, depth: int) -> list[tuple[str, str]]:
    r"""What stands in `\text{…}`: a joint, words, signs, or mathematics."""
    plain = inner.strip(" .")
    joint = JOINTS.get(plain.strip(",").strip() or plain)
    if joint:
        return [("op", joint)]
    if (plain in _FUNCTIONS and plain not in UNITS) or plain in _UPRIGHT:
        return _letters(plain)
    if _is_unit(powered := _BRACED_POWER.sub(r"^\1", plain)):
        plain = powered
    if _NAMED.fullmatch(plain) and (not _JOINED & set(plain[1:2]) or _is_unit(plain)):
        return [("words", " ".join(plain.split()))]
    if not _SAYS.search(inner):
        return _split(_STOP.sub("", inner.strip()), depth + 1)
    return [("op", "{"), *_split(inner, depth + 1), ("op", "}")]


def _is_unit(text: str) -> bool:
    return all(part in UNITS for part in re.findall(r"[A-Za-z]+", text))


def _token(kind: str, value: str) -> list[tuple[str, str]]:  # noqa: PLR0911 - one for each kind
    if kind in {"grouped", "thousands"}:
        return [("num" if kind == "grouped" else "thousands", value)]
    if kind in {"number", "science", "repeat"}:
        return [("num", value)]
    if kind in {"based", "clock", "dollar", "percent", "reals", "begin", "end", "row"}:
        return [(kind, value)]
    if kind == "numbers":
        return [(kind, value.strip("{} ")[-1])]
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
    if name in _COMMANDS:
        return [_COMMANDS[name]]
    raise UnreadableError(f"{value} is not understood")


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
        head, _, period = plain.partition("\\overline")
        whole, _, digits = head.partition(".")
        period = period.strip("{} ")
        shown = Fraction(int((whole + digits) or "0"), 10 ** len(digits))
        return shown + Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(digits))
    mantissa, _, exponent = plain.lower().partition("e")
    if len(exponent) > len("-10000") or abs(int(exponent or 0)) > _EXPONENT:
        raise UnreadableError("a power of ten is too large")
    return Fraction(mantissa) * Fraction(10) ** int(exponent or 0)


def in_base(text: str) -> tuple[Fraction, int]:
    r"""The exact value of a number with its base as index, and the base.

    Raises:
        UnreadableError: If it has a digit that there is not in this base.

    Example:
        >>> in_base("1011_2"), in_base("(2516)_{8}"), in_base("0.1_2")
        ((Fraction(11, 1), 2), (Fraction(1358, 1), 8), (Fraction(1, 2), 2))
    """
    number, _, index = text.partition("_")
    base = int(_BASES.get(word := re.findall(r"\w+", index)[-1], word))
    whole, _, digits = number.strip("()").partition(".")
    if base < 2 or any(int(digit) >= base for digit in whole + digits):  # noqa: PLR2004
        raise UnreadableError("a digit is not one of the number's base")
    value = 0
    for digit in whole + digits:
        value = value * base + int(digit)
    return Fraction(value, base ** len(digits)), base
