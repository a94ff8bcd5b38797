"""Tries: which samples a learner asks about again, because nothing was known of them."""

from __future__ import annotations

from threading import Lock
from time import monotonic
from typing import Any
from uuid import uuid4
from weakref import WeakSet

from verifier_ladder.errors import VerifierError

_PATIENCE = 600.0
"""Seconds after which a sample that was unknown is not asked about any more."""
_Failed = dict[str, tuple[int, float]]
_HERE: WeakSet[Any] = WeakSet()
"""All that are in this process."""
_LOCK = Lock()


class Tries:
    """Remembers the samples that their learner will ask about again.

    **Pickling.** A copy knows what this one knows, and what it learns there comes back: with an
    error that `unknown` made, or by `note`, when these arrive in this process. So a learner may
    ask another process of a pool each time.

    Example:
        >>> tries = Tries(most=2)
        >>> _ = tries.unknown("a", "why")
        >>> tries.is_another("a"), tries.is_another("b")
        (True, False)
        >>> _ = tries.unknown("a", "still")
        >>> tries.is_another("a")
        False
    """

    def __init__(self, most: int, token: str = "", failed: _Failed | None = None) -> None:
        """Know of none, or of what a copy has brought.

        Args:
            most: How often the learner asks about a sample in all.
            token: What all copies have in common.
            failed: How often each was asked about, and when it was last.
        """
        self._most, self._failed = most, failed or {}
        self.token = token or uuid4().hex
        with _LOCK:
            _HERE.add(self)

    def is_another(self, key: str) -> bool:
        """Whether it was asked about before, and will be until something is known of it."""
        _, since = self._failed.get(key, (0, -_PATIENCE))
        return monotonic() - since < _PATIENCE

    def unknown(self, key: str, why: str) -> VerifierError:
        """Note that nothing is known of a sample; the error that says so to the learner."""
        note(self.token, key, is_known=False)
        return _UnknownError(why, self.token, key)

    def note(self, key: str, *, is_known: bool) -> None:
        """Note what came of a try."""
        count = self._failed.pop(key, (0, 0.0))[0] + 1
        if not is_known and count < self._most:
            self._failed[key] = count, monotonic()

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with what is still asked about."""
        known = {key: failed for key, failed in list(self._failed.items()) if self.is_another(key)}
        return Tries, (self._most, self.token, known)


def note(token: str, key: str, *, is_known: bool) -> None:
    """Note what came of a try, with all copies that are in this process."""
    with _LOCK:
        copies = [one for one in _HERE if one.token == token]
    for one in copies:
        one.note(key, is_known=is_known)


class _UnknownError(VerifierError):
    """Nothing is known of a sample; arriving in another process it is noted there."""

    def __init__(self, message: str, token: str, key: str) -> None:
        super().__init__(message)
        self._told = message, token, key

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, self._told


def _arrived(message: str, token: str, key: str) -> VerifierError:
    note(token, key, is_known=False)
    return _UnknownError(message, token, key)
