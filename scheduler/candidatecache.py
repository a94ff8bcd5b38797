"""What this process knows of the candidates it has seen, within a limit in bytes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter, is_not, methodcaller
from sys import getsizeof
from threading import Lock, RLock
from weakref import WeakSet

from verifier_ladder.memory import CANDIDATES, share, weigh
from verifier_ladder.scheduler.standing import Standing

_ENTRY, _CHECK = 600, 600
"""Bytes of one candidate beside its texts, and for each of its checks: digests, verdicts, rewards
and places in tables, as measured with one tier and with three."""
_PLACE = 200
"""Bytes of a spelling of one beside its text."""
_LEFT = 0.75
"""Share of the limit that is kept when the oldest are dropped."""
_SHORT = 256
"""Characters of a text that are within `_ENTRY`."""
_SUBJECT, _GIVEN = attrgetter("subject"), attrgetter("given")
_IS_AS_GIVEN = attrgetter("is_as_given")
_VERDICTS, _VALUES = attrgetter("verdicts"), methodcaller("values")
_WORDS = attrgetter("reason", "feedback", "evidence", "turns", "artifacts")
_caches: WeakSet[CandidateCache] = WeakSet()
"""Those of this process, which share the limit."""
_opening = Lock()
"""Held while one joins them: a set that others add to can't be gone through."""


class CandidateCache:
    """Candidates of one campaign by what was given and by what they are; the oldest go first.

    What is dropped is read from the ledger when it comes again. Nobody is told of a dropped
    candidate: those who are at work with it go on with theirs.

    **Threads.** Calls take the lock, which is the owner's.
    """

    def __init__(self, lock: RLock, limit: int | None = None) -> None:
        """Hold nothing.

        Args:
            lock: Guards all of it.
            limit: Bytes for all caches of this process; by default their share of
                `VLADDER_CACHE_MEMORY`.
        """
        self._lock = lock
        self._limit = share(CANDIDATES) if limit is None else limit
        self._given: dict[Hashable, Standing] = {}
        self._subjects: dict[Hashable, Standing] = {}
        self._bytes = 0
        with _opening:
            _caches.add(self)
            caches = list(_caches)
        for cache in caches:
            cache.make_room()

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        return self._bytes

    def given(self, keys: Sequence[Hashable]) -> list[Standing | None]:
        """The candidates of that spelling, task and turns; None where there is none."""
        return list(map(self._given.get, keys))

    def find(self, subjects: Sequence[Hashable]) -> list[Standing | None]:
        """The candidates by what they are; None where there is none."""
        with self._lock:
            return list(map(self._subjects.get, subjects))

    def add(self, new: Mapping[Hashable, Standing]) -> dict[Hashable, Standing]:
        """Hold new candidates, by subject; where another caller was quicker, the result is his."""
        with self._lock:
            if self._subjects.keys().isdisjoint(new):
                held = dict(new)
            else:
                held = {name: self._subjects.get(name, one) for name, one in new.items()}
                new = {n: one for n, one in new.items() if n not in self._subjects}
            self._subjects.update(new)
            self._bytes += _weights(new.values())
            self._trim()
            return held

    def name(self, keys: Mapping[Hashable, Standing]) -> None:
        """Find candidates by what was given, too, once they have their first verdicts."""
        with self._lock:
            ones = list(keys.values())
            held = self.find(list(map(_SUBJECT, ones)))
            if (
                held != ones
            ):  # Under one subject is one object, also where it was dropped meanwhile.
                keys = {
                    key: one
                    for (key, one), kept in zip(keys.items(), held, strict=True)
                    if kept is one
                }
            self._given.update(keys)
            self._bytes += sum(_spellings(keys).values())
            self.grown(ones)

    def grown(self, standings: Iterable[Standing]) -> None:
        """Note that candidates have got verdicts."""
        with self._lock:
            self._bytes += _weight_of_verdicts(standings)
            self._trim()

    def drop(self, standings: Iterable[Standing]) -> None:
        """Read candidates anew from the ledger when they come again.

        By what was given they are found until the oldest go, so their bytes count until then.
        """
        with self._lock:
            for standing in standings:
                self._subjects.pop(standing.subject, None)
                standing.lapsed = True

    def drop_content(self, content_key: bytes) -> None:
        """Read all candidates of one content anew: what is known of them was superseded."""
        with self._lock:
            held = self._subjects.values()
            self.drop([one for one in held if one.content_key == content_key])

    def make_room(self) -> None:
        """Keep to a smaller part of the limit; where others are at work, they do so next."""
        if self._lock.acquire(blocking=False):
            try:
                self._trim()
            finally:
                self._lock.release()

    def _trim(self) -> None:
        """Drop the oldest, many at once, when all caches together hold too much."""
        limit = self._limit // len(_caches)
        if self._bytes <= limit:
            return
        self._let_go_of_dropped()
        spelled = _spellings(self._given)
        excess, dropped = self._bytes - _LEFT * limit, 0
        for one in self._subjects.values():
            if excess <= 0:
                break
            excess -= weight(one) + spelled.get(id(one), 0)
            dropped += 1
        self._subjects = dict(islice(self._subjects.items(), dropped, None))
        self._let_go_of_dropped()

    def _let_go_of_dropped(self) -> None:
        """Find none by what was given that is not held any more, and count anew."""
        kept = self._subjects
        self._given = {key: o for key, o in self._given.items() if kept.get(o.subject) is o}
        self._bytes = _weights(kept.values()) + _weight_of_verdicts(kept.values())
        self._bytes += sum(_spellings(self._given).values())


def weight(standing: Standing) -> int:
    """About how many bytes a candidate takes.

    Example:
        >>> long = Standing("text", b"key", "x" * 100_000)
        >>> 100_000 < weight(long) < 105_000
        True
    """
    bytes_ = _ENTRY + _CHECK * len(standing.keys) + weigh(standing.given)
    if not standing.is_as_given:
        candidate = standing.candidate
        if candidate.content is not standing.given:
            bytes_ += weigh(candidate.content)
        bytes_ += weigh(candidate.task) + weigh(candidate.turns)
    return bytes_ + _weight_of_verdicts([standing])


def _weights(standings: Collection[Standing]) -> int:
    """Bytes of new candidates; most often they are texts, and take no loop of our own."""
    if not all(map(_IS_AS_GIVEN, standings)):
        return sum(map(weight, standings))
    checks = len(next(iter(standings)).keys) if standings else 0
    texts = list(map(_GIVEN, standings))
    is_plain = {str}.issuperset(map(type, texts)) and all(map(str.isascii, texts))
    bytes_ = sum(map(getsizeof if is_plain else weigh, texts))
    return bytes_ + (_ENTRY + _CHECK * checks) * len(standings)


def _spellings(given: Mapping[Hashable, Standing]) -> dict[int, int]:
    """Bytes of what was given and is not the text that its candidate holds, by its `id`."""
    if not any(map(is_not, given, map(_GIVEN, given.values()))):
        return {}
    found: dict[int, int] = {}
    for key, one in given.items():
        text = key[0] if isinstance(key, tuple) else key
        if text is not one.given:
            found[id(one)] = found.get(id(one), 0) + _PLACE + weigh(text)
    return found


def _weight_of_verdicts(standings: Iterable[Standing]) -> int:
    """Bytes of what verdicts say beside numbers."""
    told = chain.from_iterable(map(_VALUES, map(_VERDICTS, standings)))
    weighty = [
        v for v in told
        if v.evidence or v.feedback or v.turns or v.artifacts or len(v.reason) > _SHORT
    ]  # fmt: skip
    return sum(map(weigh, chain.from_iterable(map(_WORDS, weighty))))
