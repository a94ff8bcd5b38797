"""Numbers: what rows call verifiers and canonicalisers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Connection

Named = tuple[Any, ...] | bytes
"""A verifier by name, version, tier and unit; a canonicaliser by its digest."""
_PLACE = "verifier_ladder.numbers"


class Numbers:
    """Remembers numbers that are in the ledger for good.

    A number never changes once the transaction that gave it is committed, so it is asked for
    once. Those that a transaction gives are remembered when it has been committed.
    """

    def __init__(self, ask: Callable[..., Sequence[Any]]) -> None:
        """Know none yet; `ask` gives the rows of a statement that reads what is committed."""
        self._ask = ask
        self._units: dict[int, str] = {}
        self._known: dict[Named, int] = {}

    def unit(self, verifier: int) -> str:
        """The unit of a verifier that a row names."""
        if verifier not in self._units:
            self._units = dict(map(tuple, self._ask("SELECT id, unit FROM verifier")))
        return self._units[verifier]

    def canonicaliser(self, digest: bytes) -> int | None:
        """The number of a canonicaliser; None if it has told no alias yet."""
        if digest not in self._known:
            rows = self._ask("SELECT id FROM canonicaliser WHERE digest = ?", digest)
            self.note({digest: int(number) for (number,) in rows})  # noqa: B035 - one or none
        return self._known.get(digest)

    def note(self, committed: Mapping[Named, int]) -> None:
        """Remember what is committed."""
        self._known.update(committed)

    @contextmanager
    def lent(self, connection: Connection) -> Iterator[dict[Named, int]]:
        """Let a transaction use and add to what is known; to be noted once it is committed."""
        numbers, info = dict(self._known), connection.info
        info[_PLACE] = numbers
        try:
            yield numbers
        finally:
            info.pop(_PLACE, None)


def lend(connection: Connection) -> None:
    """Let a connection that nobody shares use and add to numbers of its own."""
    connection.info[_PLACE] = {}


def numbers_of(connection: Connection) -> MutableMapping[Named, int]:
    """The numbers that a transaction may use and add to."""
    found: MutableMapping[Named, int] = connection.info.get(_PLACE, {})
    return found
