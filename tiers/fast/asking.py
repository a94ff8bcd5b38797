"""What a made test has beside it: it asks each comparison again, about another value.

That one value is equal to two that differ is a contradiction, whatever the test makes of it. So
beside each comparison of a test it is asked whether something in one of the two values is equal to
another value, too: each part of lists, tuples and dicts, and each attribute of objects of one
class, by itself. What is of Python's own plain types can't be, and is not asked.

A comparison that must be false, in a canary, is asked about another value instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

SAME, AMONG, NEAR = range(3)
"""How two values are compared: by `==`, by `in`, or by their distance."""
_TOOLS = """
from sys import getrecursionlimit, setrecursionlimit

SCALARS = {bool, int, float, complex, str, bytes, type(None)}
EXACT = {*SCALARS, list, tuple, set, frozenset, dict}
LISTED = {range, type({}.keys()), type({}.values()), type({}.items())}
SAME, AMONG, NEAR = range(3)
FACTORS = -9, -8, -7, -6, -5, -4, 4, 5, 6, 7, 8, 9
CHANGES = (
    lambda value: value + 1,
    lambda value: value + value,
    lambda value: value | {0: 1},
    lambda value: value[1:],
    lambda value: value / "a",
    lambda value: type(value).max,
    lambda value: next(each for each in type(value) if each is not value),
    lambda value: tuple.__new__(type(value), replaced(tuple.__iter__(value))),
)
FOREIGN = {"main", "unittest.mock"}
DEEPEST = 1000
drawn = [0]

def draw(most):
    drawn[0] = (drawn[0] * 6364136223846793005 + 1442695040888963407) % 2**64
    return (drawn[0] >> 32) * most >> 32

def tools(sites, false, seed, late):
    seen, drawn[0], first = [[0, 0, 0] for _ in range(sites)], seed, [late]

    def told():
        return "".join(
            "3" if lied else "2" if failed else "1" if held else "0" for held, failed, lied in seen
        )

    def ask(site, check, how, one, two, bound, own, asked, wanted):
        counts, pair, late = seen[site], (one, two), None
        if getrecursionlimit() < DEEPEST:
            setrecursionlimit(DEEPEST)
        if not SCALARS.issuperset(map(type, pair)):
            late = first.pop() if first else draw(2)
        if late == 0:
            counts[2] += doubtful(how, check, pair, bound, own, asked, wanted)
        try:
            if site in false:
                pair = altered(how, *pair, bound, own)
            said = check(*pair, bound)
        except Exception:
            counts[1] += 1
            if site not in false:
                raise
            if wanted is None:
                raise AssertionError from None
            return not wanted
        counts[0 if held(said, wanted) else 1] += 1
        if late == 1:
            counts[2] += doubtful(how, check, pair, bound, own, asked, wanted)
        return said

    return ask, told

def held(said, wanted):
    try:
        return wanted is None or bool(said) is wanted
    except Exception:
        return False

def doubtful(how, check, pair, bound, own, asked, wanted):
    try:
        if how == NEAR:
            both = pair, altered(how, *pair, bound, own)
            return not all(map(is_plain, pair)) and all(
                held(check(*each, bound), wanted) for each in both
            )
        if how == AMONG:
            return any(unlike(pair[0], each, asked, set()) for each in members(pair[1]))
        return unlike(*pair, asked, set())
    except Exception:
        return False

def unlike(one, two, asked, met):
    key = id(one), id(two)
    if one is two or key in met:
        return False
    met.add(key)
    if asked & 1 and type(one) not in EXACT and equal(one, other(two)) and equal(one, two):
        return True
    if asked & 2 and type(two) not in EXACT and equal(other(one), two) and equal(one, two):
        return True
    return any(unlike(*pair, asked, met) for pair in pairs(one, two))

def equal(one, two):
    try:
        return bool(one == two)
    except Exception:
        return False

def pairs(one, two):
    for kind in (list, tuple):
        if issubclass(type(one), kind) and issubclass(type(two), kind):
            found = zip(kind.__iter__(one), kind.__iter__(two))
            return [pair for pair in found if not SCALARS.issuperset(map(type, pair))]
    if issubclass(type(one), dict) and issubclass(type(two), dict):
        return [
            (dict.__getitem__(one, key), value)
            for key, value in dict.items(two) if dict.__contains__(one, key)
        ]
    if type(one) is type(two) and type(one) not in EXACT:
        return pairs(attributes(one), attributes(two))
    return []

def attributes(value):
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None

def members(values):
    for kind in (list, tuple, set, frozenset, dict):
        if issubclass(type(values), kind):
            return first(kind.__iter__(values))
    return first(iter(values)) if type(values) in LISTED else []

def first(values):
    return (each for _, each in zip(range(10_000), values))

def altered(how, one, two, bound, own):
    if own is None:
        own = 0 if is_plain(one) and not is_plain(two) else 1
    if how == AMONG:
        return one, others(two)
    value = two if own else one
    new = distant(value, bound, FACTORS[draw(len(FACTORS))]) if how == NEAR else other(value)
    return (one, new) if own else (new, two)

def others(values):
    try:
        len(values)
        return [new for new in map(other, first(iter(values))) if new not in values]
    except TypeError:
        return []

def other(value):
    try:
        return changed(value)
    except Exception:
        return value, {0}

def changed(value):
    kind = type(value)
    if kind is bool or value is None:
        return not value
    if kind is int:
        new = draw(2 * abs(value) + 9)
        new += new >= abs(value)
        return new if value >= 0 else -new
    if kind is float:
        above, below = value.as_integer_ratio()
        return other(above) / below
    if kind is complex:
        return complex(other(value.real), value.imag)
    if kind in (str, bytes):
        letter, place = bytes([97 + draw(26)]), draw(len(value) + 1)
        letter = letter if kind is bytes else letter.decode()
        new = value[:place] + letter + value[place + 1 :]
        return new if new.lower() != value.lower() else value + letter
    if kind is dict:
        return dict(zip(value, replaced(value.values()))) or {0: 0}
    if kind in (list, tuple, set, frozenset):
        return kind(replaced(value))
    return alike(value)

def replaced(values):
    values = [*values] or [0]
    place = draw(len(values))
    values[place] = other(values[place])
    return values

def alike(value):
    for change in CHANGES if type(value).__module__ not in FOREIGN else ():
        try:
            new = change(value)
        except Exception:
            continue
        if type(new) is type(value) and not equal(new, value):
            return new
    return value, {0}

def is_plain(value):
    kind = type(value)
    if kind is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    if kind in (list, tuple, set, frozenset):
        return all(map(is_plain, value))
    return kind in SCALARS

def distant(value, bound, factor):
    new = value + (max(abs(value), abs(bound)) + 1) * factor
    return new if new - new == 0 else 0
"""
"""It counts at each site how often it has held, how often not, and how often something was equal
to two values.

Another value is made of the test's own, or of the one that is plain where it is not known which
that is. Values that can't be compared are not equal. What is asked of a member of a container is
whether it is equal to two as well.
"""


class Names(NamedTuple):
    """What a made test calls its tools, and operands: nobody could know the names before."""

    ask: str
    told: str
    one: str
    two: str
    bound: str
    call: str

    @classmethod
    def drawn(cls, rng: Random) -> Names:
        """Draw them."""
        return cls(*(f"t{rng.getrandbits(64):016x}" for _ in cls._fields))


def tools(names: Names, sites: int, false: Iterable[int], rng: Random, *, late: bool) -> str:
    """The tools as source, with builtins that nobody can replace: those in the dict `_own`.

    Args:
        names: What they are called.
        sites: How many comparisons are asked.
        false: Those that are asked about another value instead.
        rng: Draws which other values, and whether before a comparison is answered or after it, so
            that no program knows which of two values that it is compared with is the right one.
        late: Whether the first one is asked again only after it has been answered.
    """
    return (
        f"_space = dict(_own)\nexec({_TOOLS!r}, _space)\n{names.ask}, {names.told} = "
        f"_space['tools']({sites}, {sorted(false)}, {rng.getrandbits(64)}, {int(late)})\n"
    )


_SPACE: dict[str, Any] = {}
exec(_TOOLS, _SPACE)  # noqa: S102 - the text above


def distant(value: float, bound: float, rng: Random) -> float:
    """A number that is too far away to be near to the same ones.

    Example:
        >>> distant(9, 1e-6, Random(0))
        49
    """
    made: float = _SPACE["distant"](value, bound, rng.choice(_SPACE["FACTORS"]))
    return made
