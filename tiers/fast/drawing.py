"""Inputs of programs, drawn outside: strategies that a task names, and what they give.

| `type` | Fields |
|---|---|
| `integers`, `floats` | `min`, `max`; floats are finite |
| `booleans` | |
| `text` | `alphabet`, `min_size`, `max_size` |
| `lists` | `of` one strategy, `min_size`, `max_size` |
| `tuples` | `of` several |

Two ways to draw: typical values are spread over what is allowed; telling ones are also those on
which programs go wrong: ends of a range, zeros and signs, powers of two, empty, sorted and
repeated lists. Both come from a `random.Random` alone, so that a seed gives the same on each
machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite, ldexp
from random import Random
from string import ascii_letters, digits, punctuation
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from verifier_ladder.tiers.sandbox.values import ValueTextError, encode
from verifier_ladder.tiers.tasks import TaskError

_STRICT = ConfigDict(strict=True, extra="forbid")
_Size = Annotated[int, Field(ge=0, le=100_000)]
LETTERS = f"{ascii_letters}{digits}{punctuation} \n\täßéñΩЖя中文あ한🙂🇫\u0301\u200d\u00a0"
"""What text is drawn from where a task names no letters."""
_LARGEST: Final = 300_000
"""Values of one input, those inside lists counted."""
_BITS = (2, 4, 8, 8, 16, 16, 32, 64, 128)
"""Of integers without an end; small ones more often."""
_TELLING = 0.25
"""Share of values that are drawn among those on which programs go wrong."""
_USUAL_SIZE = 6
"""Mean of the sizes of lists and texts that are to be telling: short ones tell most."""
_TRIES = 10
"""Draws for each input that is wanted and not yet there."""
_TINY = (5e-324, sys.float_info.min, sys.float_info.epsilon)
_FLOATS = (0.0, 1.0, 0.5, 0.1, 1 / 3, 2.0**53, 2.0**53 + 2, 1e16, sys.float_info.max, *_TINY)


class Integers(BaseModel):
    """Whole numbers."""

    model_config = _STRICT
    type: Literal["integers"]
    min: int | None = None
    max: int | None = None


class Floats(BaseModel):
    """Finite floats."""

    model_config = _STRICT
    type: Literal["floats"]
    min: FiniteFloat | None = None
    max: FiniteFloat | None = None


class Booleans(BaseModel):
    """Truth values."""

    model_config = _STRICT
    type: Literal["booleans"]


class Text(BaseModel):
    """Text of the letters that are given, or of `LETTERS`."""

    model_config = _STRICT
    type: Literal["text"]
    alphabet: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    min_size: _Size = 0
    max_size: _Size = 20


class Lists(BaseModel):
    """Lists whose members are alike."""

    model_config = _STRICT
    type: Literal["lists"]
    of: Strategy
    min_size: _Size = 0
    max_size: _Size = 20


class Tuples(BaseModel):
    """Tuples of one member from each strategy."""

    model_config = _STRICT
    type: Literal["tuples"]
    of: Annotated[list[Strategy], Field(max_length=16)]


Strategy = Annotated[
    Integers | Floats | Booleans | Text | Lists | Tuples, Field(discriminator="type")
]
Lists.model_rebuild()
Tuples.model_rebuild()


# ---- Inputs


def drawn(inputs: Sequence[Any], seed: int, count: int) -> list[tuple[Any, ...]]:
    """Draw telling arguments, each once, the shortest first.

    The simplest are among them, and those `at_ends`, as far as half of them go.

    Args:
        inputs: One strategy for each argument.
        seed: The same one draws the same.
        count: At most so many; fewer where there are no more.

    Raises:
        TaskError: If there is nothing that can be drawn.

    Example:
        >>> drawn([Booleans(type="booleans")], 0, 9)
        [(True,), (False,)]
    """
    rng, found = Random(seed), dict[bytes, tuple[Any, ...]]()  # noqa: S311 - no secret
    wanted = [tuple(map(simplest, inputs)), *at_ends(inputs, rng)]
    if len(wanted) > 1 + count // 2:
        wanted[1:] = rng.sample(wanted[1:], count // 2)
    for turn in range(_TRIES * count):
        given = tuple(Drawing(rng, telling=_TELLING).draw(each) for each in inputs)
        if turn < len(wanted):  # Drawn all the same, so that what is too large is refused.
            given = wanted[turn]
        found.setdefault(_encoded(given), given)
        if len(found) == count:
            break
    return [found[text] for text in sorted(found, key=lambda text: (len(text), text))]


def at_ends(inputs: Sequence[Any], rng: Random) -> Iterator[tuple[Any, ...]]:
    """Arguments of which one number stands at an end of its range, or one text at a blank.

    Each end comes once, and so do a blank before a text and one after it, if it may hold any.

    Example:
        >>> few = Integers(type="integers", min=3, max=5)
        >>> sorted(at_ends([few], Random(0)))
        [(3,), (5,)]
    """
    for place, each in enumerate(inputs):
        ends: Iterable[Any] = ()
        match each:
            case Integers() | Floats():
                ends = (end for end in _ordered(each.min, each.max) if end is not None)
            case Tuples():
                ends = at_ends(each.of, rng)
            case Text():
                ends = _beside_blanks(each, rng)
        for end in ends:
            given = [Drawing(rng, telling=_TELLING).draw(other) for other in inputs]
            yield (*given[:place], end, *given[place + 1 :])


def _beside_blanks(asked: Text, rng: Random) -> Iterator[str]:
    letters = asked.alphabet or LETTERS
    blanks = [letter for letter in letters if letter.isspace()]
    if blanks and asked.max_size:
        text = Drawing(rng, telling=_TELLING).draw(asked) or letters[0]
        yield rng.choice(blanks) + text[1:]
        yield text[:-1] + rng.choice(blanks)


def typical(inputs: Sequence[Any], seed: int) -> Iterator[tuple[Any, ...]]:
    """Draw arguments without end, spread over what is allowed.

    Raises:
        TaskError: If there is nothing that can be drawn.

    Example:
        >>> next(typical([Integers(type="integers", min=5, max=5)], 0))
        (5,)
    """
    rng = Random(seed)  # noqa: S311 - no secret
    while True:
        given = tuple(Drawing(rng).draw(each) for each in inputs)
        _encoded(given)
        yield given


def simplest(strategy: Any) -> Any:
    """The value of a strategy that is nearest to nothing; one of the inputs is made of them.

    Example:
        >>> simplest(Lists(type="lists", of=Integers(type="integers", min=3), min_size=2))
        [3, 3]
    """
    match strategy:
        case Text(alphabet=letters, min_size=size):
            return (letters or LETTERS)[0] * size
        case Lists(of=of, min_size=size):
            return [simplest(of) for _ in range(size)]
        case Tuples(of=several):
            return tuple(map(simplest, several))
        case Booleans():
            return False
    low, high = _ordered(strategy.min, strategy.max)
    nothing = 0.0 if isinstance(strategy, Floats) else 0
    if low is not None and low > nothing:
        return low
    return high if high is not None and high < nothing else nothing


def _encoded(given: tuple[Any, ...]) -> bytes:
    try:
        return encode(given)
    except ValueTextError as error:
        raise TaskError(f"the task's inputs make no sense: {error}") from None


class Drawing:
    """One input on its way: where its values come from, and how many there may still be."""

    def __init__(self, rng: Random, *, telling: float = 0.0) -> None:
        """Begin.

        Args:
            rng: Where all chance comes from.
            telling: Share of values on which programs go wrong.
        """
        self._rng, self._telling, self._left = rng, telling, _LARGEST

    def draw(self, strategy: Any) -> Any:
        """Draw a value.

        Raises:
            TaskError: If there is none, or it would be too large.
        """
        self._left -= 1
        if self._left < 0:
            raise TaskError(f"the task's inputs make no sense: more than {_LARGEST} values in one")
        kinds: dict[str, Callable[[Any], Any]] = {
            "integers": self._integer, "floats": self._float, "text": self._text,
            "booleans": lambda _: self._rng.random() < 0.5, "lists": self._list,  # noqa: PLR2004
            "tuples": lambda found: tuple(map(self.draw, found.of)),
        }  # fmt: skip
        return kinds[strategy.type](strategy)

    def _is_telling(self) -> bool:
        return self._rng.random() < self._telling

    def _integer(self, asked: Integers) -> int:
        low, high = _ordered(asked.min, asked.max)
        if self._is_telling():
            ends = [n + k for n in (low, high) if n is not None for k in (0, 1, -1)]
            power = 1 << self._rng.choice([1, 7, 8, 15, 16, 31, 32, 53, 63, 64])
            odd = [0, 1, -1, 2, 10, *ends, power, power - 1, -power]
            if allowed := [n for n in odd if _lies(n, low, high)]:
                return self._rng.choice(allowed)
        if low is not None and high is not None:
            return self._rng.randint(low, high)
        size = self._rng.getrandbits(self._rng.choice(_BITS))
        return _from_end(size, low, high, is_up=self._rng.random() < 0.5)  # noqa: PLR2004

    def _float(self, asked: Floats) -> float:
        low, high = _ordered(asked.min, asked.max)
        if self._is_telling():
            odd = [n for each in _FLOATS for n in (each, -each)]
            odd += [n for n in (low, high) if n is not None]
            if allowed := [n for n in odd if _lies(n, low, high)]:
                return self._rng.choice(allowed)
        if low is not None and high is not None:
            share = self._rng.random()  # The difference of the ends may be infinite.
            return min(max(low * (1 - share) + high * share, low), high)
        size = ldexp(self._rng.random(), self._rng.randint(-20, 60))
        found = _from_end(size, low, high, is_up=self._rng.random() < 0.5)  # noqa: PLR2004
        return found if isfinite(found) else (low or high or 0.0)

    def _text(self, asked: Text) -> str:
        letters = asked.alphabet or LETTERS
        if self._is_telling():
            letters = self._rng.choice(letters) + self._rng.choice(letters)
        size = self._size(asked)
        self._left -= size
        return "".join(self._rng.choices(letters, k=size))

    def _list(self, asked: Lists) -> list[Any]:
        found: list[Any] = []
        for _ in range(self._size(asked)):
            # Seldom is a program wrong on a list whose members all differ.
            again = found and self._is_telling()
            found.append(self._rng.choice(found) if again else self.draw(asked.of))
        if self._is_telling():
            found.sort(key=encode, reverse=self._rng.random() < 0.5)  # noqa: PLR2004
        return found

    def _size(self, asked: Text | Lists) -> int:
        if asked.min_size > asked.max_size:
            raise TaskError(
                f"the task's inputs make no sense: min_size {asked.min_size} is above max_size "
                f"{asked.max_size}"
            )
        if not self._telling:
            return self._rng.randint(asked.min_size, asked.max_size)
        if self._is_telling():
            sizes = {asked.min_size, min(asked.min_size + 1, asked.max_size), asked.max_size}
            return self._rng.choice(sorted(sizes))
        size = asked.min_size + int(self._rng.expovariate(1 / _USUAL_SIZE))
        return min(size, asked.max_size)


N = TypeVar("N", int, float)


def _ordered(low: N | None, high: N | None) -> tuple[N | None, N | None]:
    """The ends of a range.

    Raises:
        TaskError: If nothing lies between.
    """
    if low is not None and high is not None and low > high:
        raise TaskError(f"the task's inputs make no sense: min {low} is above max {high}")
    return low, high


def _from_end(size: N, low: N | None, high: N | None, *, is_up: bool) -> N:
    """So far from the one end that there is, or from 0."""
    if low is not None:
        return low + size
    if high is not None:
        return high - size
    return size if is_up else -size


def _lies(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or low <= value) and (high is None or value <= high)
