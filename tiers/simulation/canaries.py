"""Canaries: outputs whose grade is known, by which a judge is noticed to have shifted.

A provider can change a model behind its name, a server its weights or its chat template. What a
judge says of the same outputs tells that, whatever its fingerprint says.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from verifier_ladder.cost import Cost, seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.verdict import Verdict

_LOG = logging.getLogger("verifier_ladder")

FEWEST: Final = 12
"""Canaries that a judge needs: with fewer, chance is taken for a shift."""
BUILT_IN: Final = "built-in"
_MOST_OFF: Final = 0.1
"""Share of canaries whose grade may be off: one of 12 to 19, two of 20 to 29."""
_SHOWN: Final = 6
_APART, _APART_OF_KNOWN = 0.15, 0.4
"""Shares of the range by which a grade may be off."""


class Canary(BaseModel):
    """An output whose grade is known."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    prompt: Annotated[str, Field(min_length=1)]
    output: Annotated[str, Field(min_length=1)]
    grade: FiniteFloat
    """What the judge gives it; in the judge's own range."""
    reference: str | None = None

    @property
    def task(self) -> dict[str, Any]:
        """The task that it answers."""
        return {"prompt": self.prompt, "reference": self.reference}


class Look(NamedTuple):
    """What is known of a judge by its canaries."""

    shift: str = ""
    """Why the judge must not be asked; "" if it has not shifted."""
    off: int | None = None
    """How many canaries are graded otherwise, but not enough of them; None without canaries."""
    cost: Cost | None = None
    """What grading took, where it was done for this call and that is known."""


Grade = Callable[[Canary], Awaitable[Verdict]]


class CanaryWatch:
    """Has canaries graded when a period is over, and tells whether the judge has shifted.

    The first call of a process grades them, and so does the first one after each period; calls
    at the same time wait for it. A judge has shifted if more than a tenth of the grades are off
    by more than `apart`; a canary of which it has no opinion is off. What was found holds until
    they are graded again.

    All calls must come from one event loop.
    """

    def __init__(
        self, canaries: Sequence[Canary], *, apart: float, period: float, at_once: int
    ) -> None:
        """Watch; nothing is graded yet.

        Args:
            canaries: Whom to grade; none has nothing watched.
            apart: How far a grade may be off.
            period: Seconds after which they are graded again.
            at_once: How many are graded at once.
        """
        self.canaries = tuple(canaries)
        self._apart, self._period, self._at_once = apart, period, at_once
        self._begin()

    def _begin(self) -> None:
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._found = Look()
        self._graded: dict[int, Verdict] = {}
        """Of a grading that is not done, by the canary's place."""

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what was found here."""
        found = {"_lock", "_until", "_found", "_graded"}
        return {k: v for k, v in vars(self).items() if k not in found}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive with nothing graded."""
        vars(self).update(state)
        self._begin()

    async def look(self, grade: Grade) -> Look:
        """What is known of the judge, whose canaries are graded now if that is due.

        Args:
            grade: Has one judged.

        Raises:
            ToolError: If a canary can't be judged now.
        """
        if not self.canaries:
            return Look()
        async with self._lock:
            if time.monotonic() < self._until:
                return self._found
            verdicts = await self.graded(grade)
            self._found = self._of(verdicts)
            self._until = time.monotonic() + self._period
        if self._found.shift:
            _LOG.warning("ALARM: %s", self._found.shift)
        costs = [each.cost for each in verdicts if each.cost is not None]
        return self._found._replace(cost=sum(costs, Cost()) if costs else None)

    async def graded(self, grade: Grade) -> list[Verdict]:
        """A verdict on each canary now.

        If one can't be judged, the others stay graded: a service that is asked for too much at
        once would be asked for as much again, and never get through.

        Raises:
            ToolError: If one can't be judged now.
        """
        gate = asyncio.Semaphore(self._at_once)

        async def one(place: int) -> None:
            async with gate:
                self._graded[place] = await grade(self.canaries[place])

        places = range(len(self.canaries))
        left = [one(place) for place in places if place not in self._graded]
        for failure in await asyncio.gather(*left, return_exceptions=True):
            if failure is not None:
                raise failure
        return [self._graded.pop(place) for place in places]

    def _of(self, verdicts: Sequence[Verdict]) -> Look:
        pairs = list(zip(self.canaries, (each.score for each in verdicts), strict=True))
        off = [
            (canary.grade, now) for canary, now in pairs
            if now is None or abs(now - canary.grade) > self._apart
        ]  # fmt: skip
        if len(off) <= _MOST_OFF * len(pairs):
            return Look(off=len(off))
        told = ", ".join(
            f"{'none' if now is None else f'{now:g}'} for {known:g}" for known, now in off[:_SHOWN]
        )
        return Look(
            f"the judge has shifted: {len(off)} of {len(pairs)} canaries are graded otherwise "
            f"({told}); give the canaries the grades of now, which has everything judged again, "
            "or bring back the judge that gave those before; canaries=[] has none graded"
        )


# ---- Settings

_KNOWN: Final = (
    ("What is the capital of France?", "It is Paris.", "It is Lyon."),
    ("What is 17 + 25?", "17 + 25 = 42", "17 + 25 = 43"),
    ("Translate into English: Guten Morgen.", "Good morning.", "Good night."),
    ("How many days has a week?", "A week has seven days.", "A week has eight days."),
    ("Which is larger, 0.9 or 0.11?", "0.9 is larger.", "0.11 is larger."),
    ("Write the word stone backwards.", "enots", "enost"),
    ("What is the chemical symbol of gold?", "Au", "Ag"),
    ("What is the plural of mouse, the animal?", "mice", "mouses"),
    ("What does len([1, 2, 3]) give in Python?", "3", "2"),
    ("Who wrote the play Hamlet?", "William Shakespeare", "Charles Dickens"),
    ("Is 91 a prime number?", "No: 91 = 7 * 13.", "Yes, 91 is prime."),
    ("Sort in ascending order: 3, 1, 2.", "1, 2, 3", "3, 2, 1"),
)
"""Prompts with a right and a wrong answer."""


def built_in(low: float, high: float, *, compared: bool) -> tuple[Canary, ...]:
    """The canaries that come along: right answers with the best grade, wrong ones with the worst.

    Args:
        low: The worst grade.
        high: The best.
        compared: Whether each has the other answer as its reference.
    """
    return tuple(
        Canary(
            prompt=prompt, output=wrong if n % 2 else right, grade=low if n % 2 else high,
            reference=(right if n % 2 else wrong) if compared else None,
        )
        for n, (prompt, right, wrong) in enumerate(_KNOWN)
    )  # fmt: skip


def canary_watch(
    given: Sequence[Mapping[str, Any]] | str | None,
    known: Sequence[Canary],
    *,
    low: float,
    high: float,
    apart: float | None,
    period: float | str,
    at_once: int,
) -> CanaryWatch:
    """The watch that settings ask for.

    Args:
        given: Fields of each canary, or `"built-in"`, or none; if left out, those that come along.
        known: Those that come along; none where the judge has a question of its own.
        low: The least grade.
        high: The largest.
        apart: How far a grade may be off; by default 0.15 of the range, or 0.4 of it for those
            that come along, of which only right and wrong are known.
        period: Time after which they are graded again.
        at_once: How many are graded at once.

    Raises:
        ConfigError: If they are too few, or make no sense.
    """
    if given is None:
        given = BUILT_IN if known else ()
    canaries = _named(known) if given == BUILT_IN else _given(given, low, high)
    share = _APART_OF_KNOWN if given == BUILT_IN else _APART
    every = seconds(period)
    if every <= 0:
        raise ConfigError(f"canary_period={period!r}: give a time above 0")
    return CanaryWatch(
        canaries, apart=share * (high - low) if apart is None else apart, period=every,
        at_once=at_once,
    )  # fmt: skip


def _named(known: Sequence[Canary]) -> tuple[Canary, ...]:
    if not known:
        raise ConfigError(
            f'canaries="{BUILT_IN}": those are graded for the question that comes along; for '
            f"instructions or criteria of your own give {FEWEST} or more of your own"
        )
    return tuple(known)


def _given(
    given: Sequence[Mapping[str, Any]] | str, low: float, high: float
) -> tuple[Canary, ...]:
    if isinstance(given, str):
        raise ConfigError(f'canaries={given!r}: give a list of them, or "{BUILT_IN}"')
    try:
        made = tuple(Canary.model_validate(each) for each in given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ConfigError(
            "canaries: each has prompt, output and grade, and may have a reference: "
            f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from None
    if made and len(made) < FEWEST:
        raise ConfigError(f"canaries: give {FEWEST} or more; there are {len(made)}")
    if any(not low <= each.grade <= high for each in made):
        raise ConfigError(f"canaries: their grades must be from {low:g} to {high:g}")
    return made
